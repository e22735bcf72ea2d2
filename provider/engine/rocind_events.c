/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rocind_events.c - handles changes while a device is in use, which rocind reports: the
 * link and the addresses, local wires (shared-memory links to other processes of this
 * machine), captures, and fault rules. It also starts the rules and the capture that the
 * environment asks for.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "sim/sysfs/sysfs_tree.h"
#include "transport/io/capture/capture_log.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/fault/fault_rules.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/rocind_client.h"

/* ------------------------------------------------------------- the link of the device */
static void tell_owners(struct rnp_engine *e, int ibv_event_type)
{
	for (const struct rnp_owner *o = e->owners; o; o = o->next)
		e->hooks->on_device_event(o->owner, ibv_event_type);
}

/* Writes the simulated sysfs files of the port anew. The engine calls this before it
 * tells the program of a change. Processes that share the files write the same contents.
 */
static void show_port(const struct rnp_engine *e)
{
	int rc = e->tree ? rn_sysfs_tree_update(e->tree, &e->netdev, 1) : 0;

	if (rc)
		rn_log(RN_LOG_WARN, "%s: port and GIDs in %s are out of date (errno %d)",
		       e->netdev.ibdev, e->tree, -rc);
}

static void set_link(struct rnp_engine *e, bool up)
{
	if (e->netdev.up == up)
		return;
	e->netdev.up = up;
	show_port(e);
	tell_owners(e, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

/* -------------------------------------------------------------------- local wires */
static int ask_for_wire(void *ctx, const struct rn_rocind_ends *ends, bool lost)
{
	const struct rnp_engine *e = ctx;

	return rn_rocind_ask_wire(e->rocind, ends, lost);
}

static int drop_wire(void *ctx, const struct rn_rocind_ends *ends)
{
	const struct rnp_engine *e = ctx;

	return rn_rocind_drop_wire(e->rocind, ends);
}

bool rnp_local_cfg(struct rnp_engine *e, unsigned slot, struct rn_local_cfg *cfg)
{
	if (e->set.local == RNP_LOCAL_OFF || !e->rocind)
		return false;
	*cfg = (struct rn_local_cfg){ .ifindex = e->netdev.ifindex,
				      .slot = slot,
				      .gid = e->gid,
				      .stats = e->stats.page->counter,
				      .ask = ask_for_wire,
				      .drop = drop_wire,
				      .ctx = e };
	return true;
}

/* Handles RN_ROCIND_WIRE, a new local wire (shared memory by which packets go to another
 * process of this machine), and RN_ROCIND_WIRE_DOWN, the end of one. Owns the descriptors
 * of @ev, which it keeps or closes.
 */
static void take_wire(struct rnp_engine *e, const struct rn_rocind_event *ev)
{
	struct rn_local *local = e->wire.local;
	bool is_first;
	int rc;

	if (!local) {
		if (ev->kind == RN_ROCIND_WIRE)
			rn_rocind_close_wire(&ev->wire);
		return;
	}
	if (ev->kind == RN_ROCIND_WIRE_DOWN) {
		rn_local_down(local, &ev->ends, ev->err);
		return;
	}
	is_first = rn_local_event_fd(local) < 0;
	rc = rn_local_up(local, &ev->ends, &ev->wire);
	if (rc)
		rn_log(RN_LOG_INFO, "%s: a local wire cannot be used (errno %d)",
		       e->netdev.ibdev, -rc);
	if (is_first && rn_local_event_fd(local) >= 0)
		rnp_background_add(e, rn_local_event_fd(local), RNP_TAG_LOCAL, true);
	rnp_progress_deadline(
		/* the deadline at which an unused local wire releases its memory has
		 * changed
		 */
		e, rnp_engine_now());
}

/* --------------------------------------------- lookups for fault rules and captures */
static rn_ns engine_time(void *ctx)
{
	(void)ctx;
	return rnp_engine_now();
}

static const struct rn_stats_qp *qp_record(const struct rnp_engine *e, uint32_t i)
{
	const char *page = (const char *)e->stats.page;

	return (const struct rn_stats_qp *)(const void *)(page + RN_STATS_QP_OFFSET) + i;
}

static struct rn_stats_faults *page_of(const struct rnp_engine *e)
{
	char *page = (char *)e->stats.page;

	return (struct rn_stats_faults *)(void *)(page + RN_STATS_FAULTS_OFFSET);
}

static bool is_sender(const struct rn_stats_qp *rec, const struct rn_flow *flow,
		      uint32_t dest_qpn)
{
	return rec->qpn != 0 && rec->dest_qpn == dest_qpn &&
	       memcmp(&rec->dest_gid, &flow->dst, sizeof(flow->dst)) == 0;
}

/* Finds the sender of a packet by the packet's destination QP @dest_qpn, because a packet
 * of a connected QP does not name its sender.
 */
uint32_t rnp_find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn)
{
	struct rnp_engine *e = ctx;
	uint32_t *hint = &e->faults.cache[(dest_qpn ^ dest_qpn >> 8) % RNP_FAULT_CACHE];
	uint32_t capacity = e->stats.qps.capacity;

	if (*hint < capacity && is_sender(qp_record(e, *hint), flow, dest_qpn))
		return qp_record(e, *hint)->qpn;
	for (uint32_t i = 0; i < capacity; i++) {
		if (!is_sender(qp_record(e, i), flow, dest_qpn))
			continue;
		*hint = i;
		return qp_record(e, i)->qpn;
	}
	return 0;
}

static uint32_t find_peer(void *ctx, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);
	struct rn_qp_attr attr;

	if (!qp)
		return 0;
	rn_qp_query(qp, &attr);
	return attr.dest_qpn;
}

static uint32_t find_first_psn(void *ctx, uint32_t qpn, bool of_peer)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);

	return qp ? rn_qp_first_psn(qp, of_peer) : RN_FAULT_NO_PSN;
}

static uint32_t find_msn(void *ctx, uint32_t qpn, uint32_t psn, bool of_peer)
{
	struct rnp_engine *e = ctx;
	const struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);

	if (!qp)
		return 0;
	return of_peer ? rn_qp_peer_msn(qp, rn_psn(psn)) : rn_qp_msn(qp);
}

/* Returns which QP of the process @qpn is, in the order of creation and counted from 1;
 * 0: there is no such QP. QPs get their numbers by a counter that ascends, see
 * rnp_qpns_take().
 */
static uint32_t find_place(void *ctx, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	uint32_t counter;

	if ((qpn & 0xff) != e->qpns.slot || qpn >> 8 == 0)
		return 0;
	counter = rnp_qpns_counter(&e->qpns, qpn);
	return (counter + RNP_QPN_COUNTERS - 1 - e->faults.first) %
		       (RNP_QPN_COUNTERS - 1) +
	       1;
}

static uint32_t find_sgid(void *ctx, const struct rn_gid *gid)
{
	const struct rnp_engine *e = ctx;
	uint32_t i = 0;

	while (i < RN_GID_MAX && memcmp(&e->gid[i], gid, sizeof(*gid)) != 0)
		i++;
	return i;
}

/* ----------------------------------------------------------------------- captures */
static const struct rn_capture_host capture_host = {
	.sender = rnp_find_sender,
	.peer = find_peer,
};

/* Passes a diagnostic of the core about a packet to the captures. */
static void on_diagnostic(void *ctx, const struct rn_diagnostic *diagnostic,
			  const struct rn_rx *rx)
{
	struct rnp_engine *e = ctx;

	if (e->wire.capture)
		rn_capture_diagnostic(e->wire.capture, diagnostic, rx);
}

static void tell_capture(void *ctx, const struct rn_fault_news *news)
{
	const struct rnp_engine *e = ctx;

	rn_capture_fault(e->wire.capture, news);
}

static int add_middleware(struct rnp_engine *e)
{
	if (!e->wire.capture) {
		/* Sends the packets that were built in a local wire's memory (a ring
		 * shared with the peer) before the chain of back ends changes.
		 */
		(void)rnp_tx_batch_flush(&e->batch, e->wire.net);
		if (rnp_wire_add_capture(&e->wire, &capture_host, e))
			return -ENOMEM;
	}
	rn_dev_set_diagnostic(e->dev, on_diagnostic, e);
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

static int add_reader(struct rnp_engine *e, const struct rn_rocind_tap *tap)
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

static void begin_capture(struct rnp_engine *e, const struct rn_rocind_tap *tap)
{
	int rc = e->wire.net ? add_reader(e, tap) : 0;

	rn_rocind_close_tap(tap);
	if (rc)
		rn_log(RN_LOG_WARN, "%s cannot be captured: %s", e->netdev.ibdev,
		       strerrordesc_np(-rc));
	drop_if_idle(e);
}

static void end_capture(struct rnp_engine *e, const struct rn_rocind_tap *tap)
{
	if (e->wire.capture)
		rn_capture_remove(e->wire.capture, tap->id);
	drop_if_idle(e);
}

/* --------------------------------- effects of fault rules, and their counters */
static void cut_link(struct rnp_engine *e, bool down)
{
	struct rnp_faults *f = &e->faults;

	if (f->is_cut == down)
		return;
	if (down)
		f->was_up = e->netdev.up;
	f->is_cut = down;
	set_link(e, !down && f->was_up);
}

void rnp_fault_link(struct rnp_engine *e, bool up)
{
	if (e->faults.is_cut)
		e->faults.was_up = up;
	else
		set_link(e, up);
}

static void execute_order(void *ctx, enum rn_fault_order order, uint32_t qpn)
{
	struct rnp_engine *e = ctx;
	struct rn_qp *qp = rn_dev_find_qp(e->dev, qpn);
	rn_ns now = rnp_engine_now();

	switch (order) {
	case RN_FAULT_ORDER_KILL:
		if (qp)
			rn_qp_fail(e->dev, qp, now);
		break;
	case RN_FAULT_ORDER_OVERRUN_SEND:
	case RN_FAULT_ORDER_OVERRUN_RECV:
		if (qp)
			rn_qp_overrun(e->dev, qp, now,
				      order == RN_FAULT_ORDER_OVERRUN_SEND);
		break;
	case RN_FAULT_ORDER_LINK_DOWN:
		cut_link(e, true);
		break;
	case RN_FAULT_ORDER_LINK_UP:
		cut_link(e, false);
		break;
	}
}

static uint64_t show_rules(const struct rnp_engine *e, const struct rn_fault_rules *rules,
			   bool of_calls)
{
	struct rn_stats_faults *page = page_of(e);
	unsigned own = e->faults.own ? e->faults.own->count : 0;
	uint64_t own_hits = 0;

	for (unsigned i = 0; i < rules->count; i++) {
		const struct rn_fault_rule *r = &rules->rule[i];

		if ((r->act == RN_FAULT_FAIL) != of_calls)
			continue;
		if (i < own) {
			own_hits += r->hits;
			continue;
		}
		__atomic_store_n(&page->seen[r->number], r->seen, __ATOMIC_RELAXED);
		__atomic_store_n(&page->hits[r->number], r->hits, __ATOMIC_RELAXED);
	}
	return own_hits;
}

/* Writes the counters of all fault rules to the statistics page, where rocind and `rocin
 * fault` read them.
 */
static void show_all_rules(const struct rnp_engine *e)
{
	uint64_t own_hits = 0;

	if (e->wire.fault)
		own_hits += show_rules(e, rn_fault_rules(e->wire.fault), false);
	if (e->faults.calls)
		own_hits += show_rules(e, e->faults.calls, true);
	__atomic_store_n(&page_of(e)->own_hits, own_hits, __ATOMIC_RELAXED);
}

static void show_packet_rules(void *ctx, const struct rn_fault_rules *rules)
{
	(void)rules;
	show_all_rules(ctx);
}

static const struct rn_fault_host fault_host = {
	.now = engine_time,
	.sender = rnp_find_sender,
	.peer = find_peer,
	.first_psn = find_first_psn,
	.msn = find_msn,
	.place = find_place,
	.sgid = find_sgid,
	.obey = execute_order,
	.show = show_packet_rules,
	.tell = tell_capture,
};

/* -------------------------------------------------------------------- fault rules */
static int insert_faults(struct rnp_engine *e)
{
	/* If the socket is full, a part of a super-packet may have been sent. */
	bool has_begun = rnp_tx_batch_flush(&e->batch, e->wire.net) != 0;

	return rnp_wire_add_fault(&e->wire, has_begun, e->stats.page->counter,
				  &fault_host, e);
}

/* Removes the back end that applied fault rules, because there are no rules any more.
 * First receives the packets that it has delayed.
 */
static void remove_faults(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();
	struct rn_rx rx[RN_RX_BATCH];
	int n = 1;

	/* If more packets are delayed than this loop receives, the back end stays in the
	 * chain, without rules, until the next change of the rules.
	 */
	for (unsigned i = 0; i < RNP_DRAIN_BACKGROUND && n != 0; i++) {
		n = e->wire.net->ops->receive(e->wire.net->ctx, rx);
		if (n > 0)
			rn_dev_receive(e->dev, now, rx, (unsigned)n);
	}
	rnp_wire_remove_fault(&e->wire);
	rnp_engine_take_events(e);
}

static int apply_to_packets(struct rnp_engine *e, const struct rn_fault_rules *all)
{
	int rc = 0;

	if (!e->wire.net)
		return 0;
	if (!e->wire.fault && rn_fault_rules_meet_packets(all))
		rc = insert_faults(e);
	if (!e->wire.fault)
		return rc;
	rn_fault_set_rules(e->wire.fault, all);
	if (!rn_fault_rules_meet_packets(all))
		remove_faults(e);
	return 0;
}

/* Makes the verbs calls obey those of the rules in @all that are about verbs calls. Owns
 * @all.
 */
static void apply_to_calls(struct rnp_engine *e, struct rn_fault_rules *all)
{
	struct rn_fault_rules *old = e->faults.calls;
	bool ask = rn_fault_rules_meet_calls(all);

	if (ask && old)
		rn_fault_rules_carry(all, old);
	e->faults.calls = ask ? all : NULL;
	if (!ask)
		free(all);
	if (ask != (old != NULL))
		for (const struct rnp_owner *o = e->owners; o; o = o->next)
			if (e->hooks->on_call_faults)
				e->hooks->on_call_faults(o->owner, ask);
	free(old);
}

/* Applies the fault rules of the environment, and after them those of rocind. Return: 0
 * or -ENOMEM.
 */
static int apply_rules(struct rnp_engine *e)
{
	const struct rnp_faults *f = &e->faults;
	struct rn_fault_rules *all = calloc(1, sizeof(*all));
	int rc;

	if (!all)
		return -ENOMEM;
	if (f->own)
		*all = *f->own;
	if (f->live)
		rn_fault_rules_append(all, f->live);
	rc = apply_to_packets(e, all);
	apply_to_calls(e, all);
	show_all_rules(e);
	return rc;
}

bool rnp_engine_has_call_faults(const struct rnp_engine *e)
{
	return e->faults.calls != NULL;
}

int rnp_engine_call_error(struct rnp_engine *e, unsigned call)
{
	int cancel, error = 0;

	if (!atomic_load_explicit(&e->faults.calls, memory_order_relaxed))
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_front_lock(&e->front);
	if (e->faults.calls) {
		error = rn_fault_judge_call(e->faults.calls, call);
		show_all_rules(e);
	}
	rnp_front_unlock(&e->front);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

static void select_rules(const struct rnp_engine *e, struct rn_fault_rules *rules)
{
	rn_fault_rules_select(rules, e->netdev.ibdev, getpid(),
			      program_invocation_short_name);
	rn_log(RN_LOG_INFO, "%s: %u rules about faults, seed %llu", e->netdev.ibdev,
	       rules->count, (unsigned long long)rules->seed);
}

int rnp_fault_open(struct rnp_engine *e, char *err, size_t err_len)
{
	struct rnp_faults *f = &e->faults;

	if (!e->set.has_fault)
		return 0;
	f->own = malloc(sizeof(*f->own));
	if (f->own) {
		*f->own = e->set.fault;
		select_rules(e, f->own);
	}
	if (f->own && apply_rules(e) == 0)
		return 0;
	return rn_fail(err, err_len, -ENOMEM, "no memory for faults");
}

int rnp_fault_start(struct rnp_engine *e, uint32_t first, char *err, size_t err_len)
{
	e->faults.first = first;
	return apply_rules(e) ? rn_fail(err, err_len, -ENOMEM, "no memory for faults")
			      : 0;
}

/* Reads the fault rules in the file @fd. Returns NULL if they cannot be read, which is
 * logged.
 */
static struct rn_fault_rules *read_live(const struct rnp_engine *e, int fd)
{
	struct rn_fault_rules *rules = malloc(sizeof(*rules));
	char *text = malloc(RN_FAULT_TEXT_MAX), err[400];
	ssize_t n = text ? pread(fd, text, RN_FAULT_TEXT_MAX - 1, 0) : -1;
	int rc = rules && n >= 0 ? 0 : -ENOMEM;

	if (!rc) {
		text[n] = '\0';
		rc = rn_fault_rules_parse(text, "rules", rules, err, sizeof(err));
	}
	free(text);
	if (!rc) {
		select_rules(e, rules);
		return rules;
	}
	rn_log(RN_LOG_ERROR, "%s: faults cannot be read: %s", e->netdev.ibdev,
	       rc == -EINVAL ? err : strerrordesc_np(-rc));
	free(rules);
	return NULL;
}

void rnp_fault_live(struct rnp_engine *e, int fd, uint64_t generation)
{
	struct rnp_faults *f = &e->faults;
	struct rn_stats_faults *page = page_of(e);

	free(f->live);
	f->live = fd >= 0 ? read_live(e, fd) : NULL;
	if (fd >= 0)
		close(fd);
	memset(page->seen, 0, sizeof(page->seen));
	memset(page->hits, 0, sizeof(page->hits));
	if (apply_rules(e))
		rn_log(RN_LOG_ERROR, "%s: no memory for faults", e->netdev.ibdev);
	__atomic_store_n(&page->generation, generation, __ATOMIC_RELEASE);
	if (e->attached)
		rnp_progress_deadline(e, rnp_engine_now());
}

void rnp_fault_free(struct rnp_engine *e)
{
	free(e->faults.own);
	free(e->faults.live);
	free(e->faults.calls);
	e->faults = (struct rnp_faults){ 0 };
}

/* ------------------------------------------------------------------------- events */
static void set_gid(struct rnp_engine *e, unsigned idx, const struct rn_gid *gid,
		    int sock)
{
	rnp_background_remove(e, rn_udp_fd(e->wire.udp, idx));
	rnp_limit_socket(e, sock);
	rn_udp_set(e->wire.udp, idx, sock, gid);
	e->gid[idx] = e->netdev.gid[idx] = *gid;
	if (idx >= e->netdev.gid_count)
		e->netdev.gid_count = idx + 1;
	rn_dev_set_gid(e->dev, idx, gid);
	show_port(e);
}

static void add_gid(struct rnp_engine *e, const struct rn_rocind_event *ev)
{
	if (ev->gid_idx >= RN_GID_MAX) { /* the GID table has no such index */
		if (ev->sock >= 0)
			close(ev->sock);
		return;
	}
	set_gid(e, ev->gid_idx, &ev->gid, ev->sock);
	if (ev->sock >= 0)
		rnp_background_add(e, ev->sock, RNP_TAG_SOCKET,
				   e->policy.turn == RNP_ARMED);
	tell_owners(e, IBV_EVENT_GID_CHANGE);
}

static void remove_gid(struct rnp_engine *e, const struct rn_rocind_event *ev)
{
	static const struct rn_gid none;

	if (ev->gid_idx >= RN_GID_MAX)
		return;
	set_gid(e, ev->gid_idx, &none, -1);
	tell_owners(e, IBV_EVENT_GID_CHANGE);
}

enum {
	/* Maximum number of events that one call handles. There is a limit because every
	 * thread of the program waits meanwhile. The connection to rocind queues fewer
	 * events while it waits for an answer (RN_ROCIND_EVENT_MAX). Events beyond the
	 * limit wake the background thread again.
	 */
	EVENTS_MAX = 512,
};

void rnp_rocind_events(struct rnp_engine *e)
{
	struct rn_rocind_event ev;

	for (unsigned i = 0;
	     i < EVENTS_MAX && e->rocind && rn_rocind_event(e->rocind, &ev) == 0; i++) {
		switch (ev.kind) {
		case RN_ROCIND_GONE:
			rnp_engine_die(e, false);
			break;
		case RN_ROCIND_GID_ADDED:
			add_gid(e, &ev);
			break;
		case RN_ROCIND_GID_REMOVED:
			remove_gid(e, &ev);
			break;
		case RN_ROCIND_FAULTS:
			rnp_fault_live(e, ev.text, ev.generation);
			break;
		case RN_ROCIND_WIRE:
		case RN_ROCIND_WIRE_DOWN:
			take_wire(e, &ev);
			break;
		case RN_ROCIND_TAP:
			begin_capture(e, &ev.tap);
			break;
		case RN_ROCIND_TAP_END:
			end_capture(e, &ev.tap);
			break;
		/* meant for the process of `rocin capture`; an engine does not expect it
		 */
		case RN_ROCIND_TAP_SOURCE:
			rn_rocind_close_tap(&ev.tap);
			break;
		case RN_ROCIND_PORT_UP:
			rnp_fault_link(e, true);
			break;
		case RN_ROCIND_PORT_DOWN:
			rnp_fault_link(e, false);
			break;
		}
	}
}
