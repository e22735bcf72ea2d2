/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.c - see capture.h. */
#include "capture.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/wire.h"
#include "transport/io/capture/capture_log.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/log.h"
#include "transport/io/host/sentence.h"
#include "transport/io/rocind/rocind_client.h"

static const struct rn_capture_host host = {
	.sender = rnp_fault_find_sender,
	.peer = rnp_fault_find_peer,
};

/* What the core thinks. */
static void hear(void *ctx, const struct rn_remark *remark, const struct rn_rx *rx)
{
	struct rnp_engine *e = ctx;

	if (e->wire.capture)
		rn_capture_remark(e->wire.capture, remark, rx);
}

void rnp_capture_tell(void *ctx, const struct rn_fault_news *news)
{
	const struct rn_rx rx = { .data = news->packet, .len = news->len };
	struct rn_remark what = news->what;
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
	rn_capture_remark(e->wire.capture, &what, &rx);
}

static int add_middleware(struct rnp_engine *e)
{
	if (!e->wire.capture) {
		/* What was built in the wire's own memory leaves by it. */
		(void)rnp_stage_flush(&e->stage, e->wire.net);
		if (rnp_wire_add_capture(&e->wire, &host, e))
			return -ENOMEM;
	}
	rn_dev_set_remark(e->dev, hear, e);
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
	rn_dev_set_remark(e->dev, NULL, NULL);
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
