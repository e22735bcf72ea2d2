/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* world.c - a simulated world: packets and their faults, the event loop, the checks that
 * are made while no packet is in flight, and a whole run.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/transport.h"
#include "world_internal.h"

enum {
	/* Maximum number of events of a run. A run with more events is taken to be
	 * endless, and fails.
	 */
	EVENTS_MAX = 400000,
	/* Time in seconds after the last fault by which all requests and timers must
	 * have ended.
	 */
	QUIET_WITHIN = 600,
};

#define SECOND RN_MSEC(1000)

void rn_w_say(struct rn_world *w, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (!w->trace)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	w->trace(w->trace_ctx, w->net->now, line);
}

void rn_w_fail(struct rn_world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->result->failed)
		return;
	w->result->failed = true;
	w->result->at = w->net->now;
	w->result->check = fmt;
	va_start(ap, fmt);
	vsnprintf(w->result->why, sizeof(w->result->why), fmt, ap);
	va_end(ap);
}

void rn_w_hash(struct rn_world *w, uint64_t a, uint64_t b)
{
	uint64_t h = w->result->hash;

	h = rn_random_mix(h ^ (uint64_t)w->net->now);
	h = rn_random_mix(h ^ a);
	w->result->hash = rn_random_mix(h ^ b);
}

struct rn_w_end *rn_w_find(struct rn_world *w, uint32_t dev, uint32_t qpn)
{
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		if (e->qp && e->dev == dev && e->qpn == qpn)
			return e;
	}
	return NULL;
}

/* ------------------------------------------------ packets and their faults */
static struct rn_w_end *addressee(struct rn_world *w, const struct rn_vnet_packet *p)
{
	return rn_w_find(w, p->to, rn_get_be24(p->bytes + 5));
}

/* Notes that @p is lost, damaged or overtaken. This may cause up to @count retries. */
static void note_trouble(struct rn_world *w, const struct rn_vnet_packet *p,
			 uint32_t count)
{
	struct rn_w_end *e = addressee(w, p);
	bool request = rn_opcode_info[p->bytes[0]].flags & RN_OP_REQUEST;

	if (!e)
		return;
	e->pair->troubles += count;
	rn_w_account_lost(request ? e->peer : e, count);
}

/* Called when a packet of an earlier connection arrives. Notes that the packet may cause
 * a retry, and that the answer to it may cause another.
 */
static void note_stale(struct rn_world *w, const struct rn_vnet_packet *p)
{
	note_trouble(w, p, 1);
	rn_w_account_lost(addressee(w, p), 1);
	addressee(w, p)->pair->stale++;
}

/* Notes that packet @p arrives @by ns late. Meanwhile several timeouts may expire, each
 * of which is counted as a retry.
 */
static void note_delay(struct rn_world *w, const struct rn_vnet_packet *p, rn_ns by)
{
	struct rn_w_end *e = addressee(w, p);
	rn_ns timeout = e ? (rn_ns)4096 << e->pair->plan->timeout : RN_NEVER;

	if (by * 4 > timeout)
		e->pair->troubles += 1 + (uint32_t)(by / timeout);
}

struct fate {
	bool lost, twice, damaged, marked;
	rn_ns extra, again;
};

static void apply_fault(const struct rn_plan_fault *f, struct rn_random *r,
			struct fate *fate)
{
	rn_ns by = rn_random_below(r, (uint32_t)f->by);

	switch (f->harm) {
	case RN_HARM_LOSS:
	case RN_HARM_FLAP:
		fate->lost = true;
		break;
	case RN_HARM_DUPLICATE:
		fate->twice = true;
		fate->again = by;
		break;
	case RN_HARM_REORDER:
	case RN_HARM_DELAY:
		fate->extra += by;
		break;
	case RN_HARM_CORRUPT:
		fate->damaged = true;
		break;
	case RN_HARM_MARK:
		fate->marked = true;
		break;
	case RN_HARM_COUNT:
		assert(false);
	}
}

static struct fate fate_of(struct rn_world *w, const struct rn_vnet_packet *p)
{
	struct fate fate = { 0 };

	for (uint32_t i = 0; i < w->plan.faults; i++) {
		const struct rn_plan_fault *f = &w->plan.fault[i];

		if (!f->off && f->dev == p->to && f->from <= w->net->now &&
		    w->net->now < f->until && rn_random_ppm(&w->fault_random[i], f->ppm))
			apply_fault(f, &w->fault_random[i], &fate);
	}
	return fate;
}

/* Inverts one bit of the packet, but not in byte 4, which the ICRC does not cover. */
static void damage(struct rn_vnet_packet *p, uint64_t random)
{
	uint32_t at = (uint32_t)(random >> 8) % p->len;

	p->bytes[at == 4 ? 5 : at] ^= (uint8_t)(1u << (random & 7));
	p->damaged = true;
}

/* Sends a copy of @pkt from its device's port to the switch. */
static void send_copy(struct rn_world *w, const struct rn_vnet_packet *pkt,
		      const struct fate *fate, rn_ns extra)
{
	struct rn_vnet_packet *p = rn_vnet_send(w->net, pkt, extra);

	if (!p)
		return;
	if (fate->marked && (p->flow.tclass & 3))
		p->flow.tclass |= 3;
	if (fate->damaged) {
		note_trouble(w, pkt, 1);
		damage(p, w->result->hash);
	}
	/* A packet that comes late may cause one retry because it is missing for a time,
	 * and another because packets that were sent after it arrive before it.
	 */
	if (extra)
		note_trouble(w, pkt, 2);
}

static bool is_of(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static uint32_t count_members(struct rn_world *w, uint32_t dev)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		const struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		count += e->qp && e->dev == dev && e->member;
	}
	return count;
}

/* Sends @pkt to the device @pkt->to, unless a fault of the plan loses it. */
static void send_out(struct rn_world *w, const struct rn_vnet_packet *pkt)
{
	struct fate fate = fate_of(w, pkt);

	if (fate.lost) {
		rn_w_say(w, "    is lost");
		note_trouble(w, pkt, 1);
	} else {
		send_copy(w, pkt, &fate, fate.extra);
	}
	if (fate.twice) {
		rn_w_say(w, "    comes again after %lld ns", (long long)fate.again);
		fate.damaged = false;
		send_copy(w, pkt, &fate, fate.again);
	}
}

static void send_to_group(struct rn_world *w, struct rn_vnet_packet *pkt)
{
	rn_w_observe_leaves(w, pkt);
	for (pkt->to = 0; pkt->to < w->plan.devices; pkt->to++)
		if (count_members(w, pkt->to))
			send_out(w, pkt);
}

void rn_w_leave(struct rn_w_device *d, struct rn_vnet_packet *pkt)
{
	struct rn_world *w = d->w;

	pkt->from = d->number;
	pkt->tag = 0;
	w->result->packets++;
	rn_w_hash(w, (uint64_t)pkt->from << 32 | pkt->len,
		  rn_get_be32(pkt->bytes + pkt->len - RN_ICRC_LEN));
	if (is_of(&pkt->flow.dst, rn_w_group(w))) {
		send_to_group(w, pkt);
		return;
	}
	pkt->to = rn_vnet_host_of(w->net, &pkt->flow.dst);
	if (pkt->to == RN_VNET_NOBODY) {
		rn_w_fail(w, "device %u sends to an address that nobody has", d->number);
		return;
	}
	if (addressee(w, pkt))
		pkt->tag = addressee(w, pkt)->pair->connection;
	rn_w_observe_leaves(w, pkt);
	send_out(w, pkt);
}

static void on_queued(void *ctx, const struct rn_vnet_packet *p,
		      const struct rn_vnet_port *port, rn_ns by)
{
	(void)port;
	note_delay(ctx, p, by);
}

static void on_loss(void *ctx, const struct rn_vnet_packet *p,
		    const struct rn_vnet_port *port, enum rn_vnet_loss why)
{
	(void)port, (void)why;
	note_trouble(ctx, p, 1);
}

static void on_arrival(void *ctx, uint32_t device, struct rn_vnet_packet *p)
{
	struct rn_world *w = ctx;
	struct rn_w_device *d = &w->device[device];

	if (addressee(w, p))
		rn_w_key_tick(w, addressee(w, p));
	/* No device may send a CNP for a multicast packet, so it is not counted. */
	if (!p->damaged && (p->flow.tclass & 3) == 3)
		d->marked += !is_of(&p->flow.dst, rn_w_group(w));
	if (p->damaged)
		; /* a damaged packet must have no effect */
	else if (addressee(w, p) && addressee(w, p)->pair->connection != p->tag)
		note_stale(w, p);
	else
		rn_w_observe_arrives(w, p);
	rn_vnet_receive(w->net, device, p);
	rn_w_drain(d);
	rn_w_datagram_done(d);
}

/* ------------------------------------- checks while no packet is in flight */
static bool has_work(const struct rn_w_end *e)
{
	return e->qp && e->alive && !rn_qp_sq_idle(e->qp);
}

/* Returns true if @e is the only QP of its device that has work. If several have work,
 * the checks cannot tell which of them must send: the QPs share windows, and a QP whose
 * next packet does not fit into the window blocks the others for a moment.
 */
static bool is_alone(struct rn_world *w, const struct rn_w_end *e)
{
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		const struct rn_w_end *other = &w->pair[i / 2].end[i % 2];

		if (other != e && other->dev == e->dev && has_work(other))
			return false;
	}
	return true;
}

/* Called when no packet is in flight and no memory operation in progress. Checks that the
 * device has no packet of @e that it could send now. Such a packet would have been
 * forgotten: only a timer would make the device send it.
 */
static void check_asleep(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];
	uint8_t packet[RN_PACKET_MAX];
	struct rn_tx tx;

	if (!e->qp || d->dead || rn_w_is_stalled(d) || rn_qp_rate(e->qp))
		return;
	if (has_work(e) && !is_alone(w, e))
		return;
	/* rn_qp_pace() makes the device look whether the QP has packets to send. The call
	 * changes nothing else: the QP has no rate limit, and this sets none.
	 */
	rn_qp_pace(e->qp, rn_w_local(d), 0, 0);
	if (rn_dev_transmit(d->dev, rn_w_local(d), RN_TX_WORK, packet, sizeof(packet),
			    &tx))
		rn_w_fail(w, "QP %x has a packet to send, and nothing makes it leave",
			  e->qpn);
}

static bool is_up(const struct rn_world *w, const struct rn_w_end *e)
{
	const struct rn_w_device *d = &w->device[e->dev];

	return e->qp && e->alive && !d->dead && !rn_w_is_stalled(d);
}

/* If the peer of @e has received all that @e has sent, and @e has requested an
 * acknowledgement, checks that the peer has sent one.
 */
static void check_answered(struct rn_world *w, const struct rn_w_end *e)
{
	if (!rn_w_is_reliable(e) || !is_up(w, e) || !is_up(w, e->peer) || !e->asked ||
	    e->taken.v != e->next_psn.v)
		return;
	if (rn_psn_diff(e->told, e->taken) < -1)
		rn_w_fail(w, "QP %x has received %06x and does not answer", e->peer->qpn,
			  rn_psn_add(e->taken, RN_PSN_MASK).v);
}

void rn_w_check_rest(struct rn_world *w)
{
	/* With congestion control, packets may wait until their rate lets them leave. */
	if (rn_vnet_under_way(w->net) || w->mem_waiting || w->plan.cc == RN_CC_ON)
		return;
	for (uint32_t i = 0; i < 2 * w->plan.pairs && !w->result->failed; i++) {
		check_asleep(w, &w->pair[i / 2].end[i % 2]);
		check_answered(w, &w->pair[i / 2].end[i % 2]);
	}
}

/* Checks what is left of a device after its QPs and SRQs were destroyed, and destroys
 * it.
 */
static void end_device(struct rn_w_device *d)
{
	struct rn_world *w = d->w;

	if (rn_dev_deadline(d->dev) != RN_NEVER)
		rn_w_fail(w, "device %u has a timer without a queue pair", d->number);
	if (rn_dev_acks_due(d->dev))
		rn_w_fail(w, "device %u has an acknowledgement without a queue pair",
			  d->number);
	if (d->mr.windows)
		rn_w_fail(w, "device %u has %u windows bound, and none left", d->number,
			  d->mr.windows);
	if (w->result->failed)
		return;
	rn_dev_remove_mr(d->dev, &d->mr);
	rn_dev_remove_mr(d->dev, &d->counters);
	rn_cq_fini(d->dev, &d->cq.cq);
	rn_dev_fini(d->dev); /* aborts if the device still holds something */
}

/* ---- Packets and completions of a device ---- */
static void transmit(struct rn_w_device *d, unsigned what)
{
	struct rn_vnet_packet pkt;
	struct rn_w_end *e;
	struct rn_tx tx;

	while (!d->w->result->failed) {
		if (!rn_vnet_build(d->w->net, d->number, what, &pkt, &tx))
			return;
		rn_w_leave(d, &pkt);
		e = rn_w_find(d->w, d->number, tx.src_qpn);
		if (!e)
			continue;
		if (!tx.response)
			rn_w_check_pace(d->w, e, pkt.len);
		rn_w_key_tick(d->w, e);
	}
}

static void take_out(struct rn_w_device *d)
{
	struct rn_event ev;

	while (rn_dev_event(d->dev, &ev))
		rn_w_check_event(d, &ev);
	rn_w_cq_poll(d);
}

/* Called after an event that may have caused a retry: checks the counts of retries of
 * all QPs of @d.
 */
static void check_accounts(struct rn_w_device *d)
{
	struct rn_world *w = d->w;

	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		if (e->qp && e->dev == d->number)
			rn_w_account_check(w, e);
	}
}

void rn_w_drain(struct rn_w_device *d)
{
	check_accounts(d);
	take_out(d);
	if (rn_w_is_stalled(d))
		return;
	transmit(d, d->w->plan.acks_late ? RN_TX_WORK : RN_TX_ALL);
	take_out(d);
}

/* ----------------------------------------------------------- events and timers */
/* Called after each step, which may have changed any deadline: sets the timers of all
 * devices.
 */
static void rearm(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		rn_vnet_rearm(w->net, i);
}

static void happen(void *ctx, uint32_t what, uint32_t arg)
{
	struct rn_world *w = ctx;
	struct rn_w_device *d;

	switch ((enum rn_w_event)what) {
	case RN_W_STEP:
		rn_w_step(w, &w->plan.step[arg]);
		break;
	case RN_W_MEM_DONE:
		d = &w->device[arg >> 16];
		rn_w_mem_done(d, arg & 0xffff);
		rn_w_drain(d);
		break;
	case RN_W_WAKE:
		rn_w_drain(&w->device[arg]);
		break;
	case RN_W_RESUME:
		rn_w_resume(w, &w->pair[arg / 2].end[arg % 2]);
		break;
	}
}

static void on_expire(void *ctx, uint32_t device)
{
	struct rn_world *w = ctx;
	struct rn_w_device *d = &w->device[device];

	rn_dev_expire(d->dev, rn_w_local(d));
	rn_w_drain(d);
	rearm(w);
}

static const struct rn_vnet_ops network = {
	.arrive = on_arrival,
	.expire = on_expire,
	.happen = happen,
	.queued = on_queued,
	.lost = on_loss,
};

static void late_acks(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		if (!rn_w_is_stalled(&w->device[i]))
			transmit(&w->device[i], RN_TX_ALL);
}

/* Runs events until the time @limit. Returns true when no event is left before. Returns
 * false if @limit is reached or a check has failed.
 */
static bool run_until(struct rn_world *w, rn_ns limit)
{
	while (!w->result->failed) {
		rn_ns next;

		rearm(w);
		next = rn_vnet_next(w->net);
		if (next > w->net->now && w->plan.acks_late) {
			uint64_t before = w->result->packets;

			late_acks(w);
			if (w->result->packets != before)
				continue;
		}
		if (next > w->net->now)
			rn_w_check_rest(w);
		if (next == RN_NEVER)
			return true;
		if (next > limit)
			return false;
		if (++w->result->events > EVENTS_MAX) {
			rn_w_fail(w, "it does not come to an end");
			return false;
		}
		rn_vnet_step(w->net);
		if (w->net->overflowed)
			rn_w_fail(w, "too much happens at once");
	}
	return false;
}

/* ---------------------------------------------------------------- a whole run */
static void start_device(struct rn_world *w, uint32_t i, uint32_t its_switch)
{
	struct rn_w_device *d = &w->device[i];
	const uint64_t seed = w->plan.seed + 2 * (uint64_t)i;
	const struct rn_gid gid = rn_vnet_gid(i, w->plan.ipv6);
	struct rn_dev_cfg cfg = {
		.gid_count = 1,
		.ifindex = 7,
		.mtu_max = RN_MTU_MAX,
		.icrc_exact = true,
		.credits = w->plan.credits,
		.cc = w->plan.cc,
		.cc_line = (uint32_t)(w->plan.link.rate / 1000),
		.window_start = w->plan.window_max / 2,
		.window_min = 8192,
		.window_max = w->plan.window_max,
		.read_window = w->plan.read_window,
		.read_chunk = 1 << 13,
		.mem = w->plan.mem_delay ? &rn_w_mem_later : &rn_w_mem_now,
		.mem_ctx = d,
		.stats = d->stats,
	};
	int rc;

	memset(d->stats, 0, sizeof(d->stats));
	d->w = w;
	d->number = i;
	d->dead = false;
	d->marked = d->notified = 0;
	cfg.gid[0] = gid;
	rc = rn_dev_init(d->dev, &cfg);
	assert(rc == 0);
	rn_vnet_add_host(w->net, d->dev, &gid);
	w->net->host[i].skew = RN_MSEC(i);
	rn_vnet_join(w->net, &(struct rn_vnet_side){ i, 0, &w->plan.link, seed },
		     &(struct rn_vnet_side){ its_switch, i, &w->plan.link, seed + 1 });
	rn_vnet_route(w->net, its_switch, i, i, 1);
	rn_w_cq_start(d);
	rn_w_mem_init(d);
	rn_w_srq_create(d);
}

static void start_world(struct rn_world *w)
{
	uint32_t its_switch;

	rn_vnet_clear(w->net, RN_USEC(1));
	its_switch = rn_vnet_add_switch(w->net);
	w->calm = false;
	w->qpns = 0;
	w->ids = 0;
	w->mem_waiting = 0;
	w->memory_random = rn_random_of(w->plan.seed, 'm');
	w->host_random = rn_random_of(w->plan.seed, 'h');
	for (uint32_t i = 0; i < w->plan.faults; i++)
		w->fault_random[i] = rn_random_of(w->plan.seed, 100 + i);
	for (uint32_t i = 0; i < w->plan.devices; i++)
		start_device(w, i, its_switch);
	for (uint32_t i = 0; i < w->plan.pairs; i++)
		for (unsigned k = 0; k < 2; k++)
			w->pair[i].end[k].qp = NULL;
	for (uint32_t i = 0; i < w->plan.pairs; i++)
		if (!w->plan.pair[i].off)
			rn_w_make_pair(w, i);
	for (uint32_t i = 0; i < w->plan.steps; i++)
		if (!w->plan.step[i].off)
			rn_w_put(w, w->plan.step[i].at, RN_W_STEP, i);
}

typedef void each_end(struct rn_world *w, struct rn_w_end *e);

static void for_each_end(struct rn_world *w, each_end *f)
{
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++)
		if (w->pair[i / 2].end[i % 2].qp && !w->result->failed)
			f(w, &w->pair[i / 2].end[i % 2]);
}

static void post_all_receives(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_random r = rn_random_of(w->plan.seed, e->qpn);

	if (e->alive)
		rn_w_post_recvs(w, e, RN_W_WRS, &r);
}

static void move_to_error(struct rn_world *w, struct rn_w_end *e)
{
	if (e->alive)
		rn_w_to_error(w, e);
}

static bool until_quiet(struct rn_world *w)
{
	for (uint32_t i = 0; i < w->plan.devices; i++)
		rn_w_drain(&w->device[i]);
	if (!run_until(w, w->net->now + QUIET_WITHIN * SECOND))
		rn_w_fail(w, "it does not become quiet");
	return !w->result->failed;
}

/* Called after the last fault of a run: lets time pass. Checks that every request that
 * can complete does so, and that no timer and no packet is left.
 */
static void finish(struct rn_world *w)
{
	rn_w_say(w, "faults end");
	w->calm = true;
	for_each_end(w, post_all_receives);
	if (!until_quiet(w))
		return;
	for_each_end(w, rn_w_check_done);
	for_each_end(w, move_to_error);
	if (!until_quiet(w))
		return;
	for_each_end(w, rn_w_check_flushed);
}

void rn_world_run(struct rn_world *w, const struct rn_plan *plan, rn_world_trace *trace,
		  void *trace_ctx, struct rn_world_result *result)
{
	*result = (struct rn_world_result){ 0 };
	w->plan = *plan;
	w->result = result;
	w->trace = trace;
	w->trace_ctx = trace_ctx;
	start_world(w);
	run_until(w, plan->end);
	if (!result->failed) {
		w->net->now = w->net->now < plan->end ? plan->end : w->net->now;
		finish(w);
	}
	if (!result->failed)
		result->at = w->net->now;
	/* After a failure the state of the devices may be inconsistent, so they are not
	 * destroyed. The next run initialises them again.
	 */
	if (result->failed)
		return;
	for (uint32_t i = 0; i < 2 * plan->pairs; i++)
		rn_w_close(w, &w->pair[i / 2].end[i % 2]);
	for (uint32_t i = 0; i < plan->devices; i++) {
		rn_w_srq_destroy(&w->device[i]);
		end_device(&w->device[i]);
	}
}

static struct rn_vnet *net_new(struct rn_world *w)
{
	return rn_vnet_new(&(struct rn_vnet_cfg){ .hosts = RN_PLAN_DEVICES,
						  .switches = 1,
						  .switch_ports = RN_PLAN_DEVICES,
						  .packets = RN_W_PACKETS,
						  .events = RN_W_EVENTS,
						  .ops = &network,
						  .ctx = w });
}

struct rn_world *rn_world_new(void)
{
	struct rn_world *w = calloc(1, sizeof(*w));
	size_t dev = (rn_dev_size() + 63) & ~(size_t)63;
	uint8_t *at;

	if (!w)
		return NULL;
	w->net = net_new(w);
	w->blocks = aligned_alloc(64, RN_PLAN_DEVICES * (dev + 2 * rn_w_srq_size()) +
					      (size_t)2 * RN_PLAN_PAIRS * RN_W_QP_BLOCK);
	if (!w->net || !w->blocks) {
		rn_world_free(w);
		return NULL;
	}
	at = w->blocks;
	for (uint32_t i = 0; i < RN_PLAN_DEVICES; i++) {
		w->device[i].dev = (struct rn_dev *)(void *)at;
		at += dev;
		for (uint32_t k = 0; k < RN_ARRAY_SIZE(w->device[i].srq); k++) {
			w->device[i].srq[k].block = at;
			at += rn_w_srq_size();
		}
	}
	for (uint32_t i = 0; i < 2 * RN_PLAN_PAIRS; i++, at += RN_W_QP_BLOCK)
		w->pair[i / 2].end[i % 2].block = at;
	return w;
}

void rn_world_free(struct rn_world *w)
{
	if (!w)
		return;
	rn_vnet_free(w->net);
	free(w->blocks);
	free(w);
}
