/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wire.c - puts the parts together, and lets captures come and go. */
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "pcie.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "transport/io/capture/capture_log.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/capture/tap.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/log.h"
#include "transport/io/host/sentence.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/rocind/rocind_client.h"

static int add_tap(struct rnp_wire *w, const struct rnp_settings *set, char *err,
		   size_t err_len)
{
	if (!set->pcap || rn_capture_log_is_name(set->pcap))
		return 0;
	w->tap = rn_tap_open(set->pcap, w->net, err, err_len);
	if (!w->tap)
		return -errno;
	w->net = rn_tap_net(w->tap);
	rn_log(RN_LOG_INFO, "packets are recorded in %s", rn_tap_path(w->tap));
	return 0;
}

/* Where packets leave and come in. */
static struct rn_net *base(const struct rnp_wire *w)
{
	return w->local ? rn_local_net(w->local) : rn_udp_net(w->udp);
}

static int add_local(struct rnp_wire *w, const struct rn_local_cfg *local)
{
	struct rn_local_cfg cfg = *local;

	cfg.udp = w->udp;
	w->local = rn_local_new(&cfg);
	return w->local ? 0 : -ENOMEM;
}

/* Who looks at packets on their way sees what they would be on a network. */
static void settle(struct rnp_wire *w)
{
	if (w->local)
		rn_local_seal(w->local, w->net != base(w));
}

int rnp_wire_open(struct rnp_wire *w, const struct rn_udp_cfg *cfg,
		  const struct rn_local_cfg *local, const struct rnp_settings *set,
		  char *err, size_t err_len)
{
	int rc;

	*w = (struct rnp_wire){ .udp = rn_udp_new(cfg) };
	if (!w->udp)
		return rn_fail(err, err_len, -ENOMEM, "no memory for sockets");
	if (local && add_local(w, local)) {
		rnp_wire_close(w);
		return rn_fail(err, err_len, -ENOMEM, "no memory for local wires");
	}
	w->net = base(w);
	rc = add_tap(w, set, err, err_len);
	if (rc)
		rnp_wire_close(w);
	else
		settle(w);
	return rc;
}

/* What faults are put in front of. */
static struct rn_net *under_fault(const struct rnp_wire *w)
{
	if (w->capture)
		return rn_capture_net(w->capture);
	return w->tap ? rn_tap_net(w->tap) : base(w);
}

/* What is under the faults has changed. */
static void join(struct rnp_wire *w)
{
	w->net = under_fault(w);
	if (w->fault) {
		rn_fault_set_inner(w->fault, w->net);
		w->net = rn_fault_net(w->fault);
	}
	settle(w);
}

int rnp_wire_add_capture(struct rnp_wire *w, const struct rn_capture_host *host,
			 void *host_ctx)
{
	assert(!w->capture);
	w->capture = rn_capture_new(under_fault(w), host, host_ctx);
	if (!w->capture)
		return -ENOMEM;
	join(w);
	return 0;
}

void rnp_wire_remove_capture(struct rnp_wire *w)
{
	rn_capture_free(w->capture);
	w->capture = NULL;
	w->log = NULL;
	join(w);
}

int rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
		       const struct rn_fault_host *host, void *host_ctx)
{
	assert(!w->fault);
	w->fault = rn_fault_new(w->net, has_begun, stats, host, host_ctx);
	if (!w->fault)
		return -ENOMEM;
	w->net = rn_fault_net(w->fault);
	settle(w);
	return 0;
}

void rnp_wire_remove_fault(struct rnp_wire *w)
{
	if (!rn_fault_is_idle(w->fault))
		return;
	rn_fault_free(w->fault);
	w->fault = NULL;
	join(w);
}

rn_ns rnp_wire_flush_due(const struct rnp_wire *w)
{
	if (w->log)
		return rn_capture_log_flush_due(w->log);
	return w->tap ? rn_tap_flush_due(w->tap) : RN_NEVER;
}

void rnp_wire_flush(struct rnp_wire *w)
{
	if (w->log)
		rn_capture_log_flush(w->log);
	else if (w->tap)
		rn_tap_flush(w->tap);
}

void rnp_wire_say_last(struct rnp_wire *w)
{
	if (w->log)
		rn_capture_log_finish(w->log);
	rnp_wire_flush(w);
}

void rnp_wire_close(struct rnp_wire *w)
{
	rn_fault_free(w->fault);
	rn_capture_free(w->capture);
	rn_tap_close(w->tap);
	rn_local_free(w->local);
	rn_udp_free(w->udp);
	*w = (struct rnp_wire){ 0 };
}

void rnp_compose_memory(struct rn_dev_cfg *cfg, const struct rnp_pcie *pcie)
{
	int rc = rn_mem_direct_init();

	if (rc)
		rn_log(RN_LOG_WARN,
		       "no handler for memory faults (errno %d); copies are slow", -rc);
	cfg->mem = rnp_pcie_is_on(pcie) ? pcie->api->mem : &rn_mem_direct_ops;
	cfg->mem_ctx = pcie->nic;
	cfg->before_ack = rnp_pcie_before_ack(pcie);
}

/* ----------------------------------------------------------------------- captures */
static const struct rn_capture_host host = {
	.sender = rnp_fault_find_sender,
	.peer = rnp_fault_find_peer,
};

/* What the core thinks. */
static void hear(void *ctx, const struct rn_diagnostic *diagnostic,
		 const struct rn_rx *rx)
{
	struct rnp_engine *e = ctx;

	if (e->wire.capture)
		rn_capture_diagnostic(e->wire.capture, diagnostic, rx);
}

void rnp_capture_tell(void *ctx, const struct rn_fault_news *news)
{
	const struct rn_rx rx = { .data = news->packet, .len = news->len };
	struct rn_diagnostic what = news->what;
	struct rnp_engine *e = ctx;

	if (!e->wire.capture)
		return;
	if (news->is_unsent) {
		rn_capture_unsent(e->wire.capture, &what, news->flow, news->packet,
				  news->len);
		return;
	}
	if (news->len < RN_BTH_LEN)
		return;
	what.dest_qpn = rn_get_be24(news->packet + 5);
	what.psn = rn_get_be24(news->packet + 9);
	what.is_response = rn_capture_is_response(news->packet);
	rn_capture_diagnostic(e->wire.capture, &what, &rx);
}

static int add_middleware(struct rnp_engine *e)
{
	if (!e->wire.capture) {
		/* What was built in the wire's own memory leaves by it. */
		(void)rnp_tx_batch_flush(&e->batch, e->wire.net);
		if (rnp_wire_add_capture(&e->wire, &host, e))
			return -ENOMEM;
	}
	rn_dev_set_diagnostic(e->dev, hear, e);
	return 0;
}

int rnp_capture_start(struct rnp_engine *e, unsigned slot, char *err, size_t err_len)
{
	const struct rn_capture_origin origin = { .ibdev = e->netdev.ibdev,
						  .ifname = e->netdev.ifname,
						  .program = e->stats.page->comm,
						  .pid = getpid(),
						  .slot = slot };
	struct rn_capture_log *log;

	if (!e->set.pcap || !rn_capture_log_is_name(e->set.pcap))
		return 0;
	log = rn_capture_log_open(e->set.pcap, &origin, err, err_len);
	if (!log)
		return -errno;
	if (add_middleware(e)) {
		rn_capture_log_close(log);
		return rn_fail(err, err_len, -ENOMEM, "no memory for a capture");
	}
	rn_capture_set_log(e->wire.capture, log);
	e->wire.log = log;
	rn_log(RN_LOG_INFO, "packets are recorded in %s", rn_capture_log_path(log));
	return 0;
}

static int add(struct rnp_engine *e, const struct rn_rocind_tap *tap)
{
	const struct rn_capture_filter filter = { .qpn = tap->qpn,
						  .snaplen = tap->snaplen };

	if (add_middleware(e))
		return -ENOMEM;
	return rn_capture_add(e->wire.capture, tap->id, tap->ring, tap->size, &filter);
}

static void drop_if_idle(struct rnp_engine *e)
{
	if (!e->wire.capture || !rn_capture_is_idle(e->wire.capture))
		return;
	rn_dev_set_diagnostic(e->dev, NULL, NULL);
	rnp_wire_remove_capture(&e->wire);
}

void rnp_capture_begin(struct rnp_engine *e, const struct rn_rocind_tap *tap)
{
	int rc = e->wire.net ? add(e, tap) : 0;

	rn_rocind_close_tap(tap);
	if (rc)
		rn_log(RN_LOG_WARN, "%s cannot be captured: %s", e->netdev.ibdev,
		       strerrordesc_np(-rc));
	drop_if_idle(e);
}

void rnp_capture_end(struct rnp_engine *e, const struct rn_rocind_tap *tap)
{
	if (e->wire.capture)
		rn_capture_remove(e->wire.capture, tap->id);
	drop_if_idle(e);
}
