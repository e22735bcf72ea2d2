/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* congestion.c - limits the rate at which a queue pair sends: congestion control
 * and pacing.
 *
 * Congestion control is DCQCN. As its notification point, the device sends a
 * congestion notification (CNP) to the sender of a packet that a switch has marked. A CNP
 * has no PSN, is never acknowledged and is sent before all other packets. Marked requests
 * and marked responses both cause a CNP, even if they are duplicates or out of order.
 * Marked multicast packets cause none, because every member of the group would send one.
 * As the reaction point, the device cuts the rate of the queue pair to which a CNP is
 * addressed; the rate then recovers.
 *
 * Pacing lets packets leave at the lower of two rates: the limit that the program has
 * set, and the one that congestion control allows. pace.next is the time at which
 * everything sent so far would have left at exactly that rate; the next packet waits
 * until then. After a pause, pace.next may lie in the past by at most the time of one
 * burst, so a pause allows no more than one burst at full speed. Acknowledgements are
 * never held back. Responses to READs and atomics are held back only by congestion
 * control: the program's limit is for its own requests. pace.on is false if neither limit
 * applies; such a queue pair executes only one extra branch per packet.
 */
#include "congestion.h"

#include <string.h>

#include "qp.h"

/* --------------------------------------------------------- DCQCN: rate control */
void rn_dcqcn_defaults(struct rn_dcqcn_params *p, uint32_t line)
{
	/* The paper (see congestion.h) increases by 40 Mbit/s on a port of 40 Gbit/s,
	 * which is 1/1000 of the port's rate.
	 */
	const uint32_t step = line / 1000 ? line / 1000 : 1;

	assert(line > 0 && line <= RN_DCQCN_LINE_MAX);
	*p = (struct rn_dcqcn_params){
		.line = line,
		.min = line < 1000 ? line : 1000,
		.ai = step,
		.hai = 10 * step,
		.bytes = 10000000,
		.gain = 8,
		.fast = 5,
		.alpha_period = RN_USEC(55),
		.increase_period = RN_USEC(55),
		.cut_period = RN_USEC(50),
	};
}

static void decay_alpha(struct rn_dcqcn *d, const struct rn_dcqcn_params *p)
{
	d->alpha -= d->alpha >> p->gain;
}

static uint32_t at_most(uint64_t rate, uint32_t limit)
{
	return rate < limit ? (uint32_t)rate : limit;
}

static void count_step(uint16_t *steps)
{
	if (*steps < UINT16_MAX)
		++*steps;
}

/* Increases the rate in one step, which is due because of time or because of bytes sent.
 * The size of the step depends on the number of steps of each of these two kinds since
 * the last cut.
 */
static void increase_rate(struct rn_dcqcn *d, const struct rn_dcqcn_params *p)
{
	const uint32_t most = d->times > d->fills ? d->times : d->fills;
	const uint32_t least = d->times < d->fills ? d->times : d->fills;
	uint64_t rise = 0;

	if (most < p->fast) {
		d->phase = RN_DCQCN_RECOVERY;
	} else if (least > p->fast) {
		d->phase = RN_DCQCN_HYPER;
		rise = (uint64_t)(least - p->fast) * p->hai;
	} else {
		d->phase = RN_DCQCN_ADDITIVE;
		rise = p->ai;
	}
	d->target = at_most(d->target + rise, p->line);
	/* Rounded up. Rounded down, the rate would never reach that of the port. */
	d->rate = (uint32_t)(((uint64_t)d->target + d->rate + 1) / 2);
	if (d->rate >= p->line)
		d->phase = RN_DCQCN_FREE;
}

void rn_dcqcn_advance(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now)
{
	while (rn_dcqcn_limits(d) && d->increase_at <= now) {
		d->increase_at += p->increase_period;
		count_step(&d->times);
		increase_rate(d, p);
	}
	while (rn_dcqcn_limits(d) && d->alpha_at <= now) {
		d->alpha_at += p->alpha_period;
		decay_alpha(d, p);
	}
}

void rn_dcqcn_sent(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, uint32_t bytes)
{
	if (!rn_dcqcn_limits(d))
		return;
	d->sent += bytes;
	while (rn_dcqcn_limits(d) && d->sent >= p->bytes) {
		d->sent -= p->bytes;
		count_step(&d->fills);
		increase_rate(d, p);
	}
}

bool rn_dcqcn_notify(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now)
{
	uint64_t cut;

	rn_dcqcn_advance(d, p, now);
	if (rn_dcqcn_limits(d) && now < d->cut_at)
		return false;
	if (!rn_dcqcn_limits(d))
		*d = (struct rn_dcqcn){ .rate = p->line, .alpha = RN_DCQCN_ONE };
	cut = (uint64_t)d->rate * d->alpha / (2 * (uint64_t)RN_DCQCN_ONE);
	d->phase = RN_DCQCN_RECOVERY;
	d->target = d->rate;
	d->rate -= (uint32_t)cut;
	if (d->rate < p->min)
		d->rate = p->min;
	decay_alpha(d, p);
	d->alpha += RN_DCQCN_ONE >> p->gain;
	d->times = d->fills = 0;
	d->sent = 0;
	d->alpha_at = now + p->alpha_period;
	d->increase_at = now + p->increase_period;
	d->cut_at = now + p->cut_period;
	return true;
}

/* ---------------------------------------------------------------- pacing of packets */
/* After a pause a QP may send faster than its rate, to make up for the pause. These are
 * the longest pauses for which it may do so, if the program has set no burst size. If
 * they were zero, the QP would never reach its rate, because the thread that sends may
 * wake up late.
 */
#define CREDIT RN_MSEC(1)
#define CREDIT_CONGESTED RN_USEC(200)

/* Returns the time in ns that sending @bytes takes at the present rate. It does not
 * overflow: 2^32 bytes take less than 2^63 ns even at 1 kbit/s.
 */
static rn_ns time_of(const struct rn_qp *qp, uint32_t bytes)
{
	return (rn_ns)(bytes * UINT64_C(8000000) / qp->req.pace.kbps);
}

/* Returns true if congestion control has computed a rate limit for the QP. A device may
 * be configured to compute such limits without obeying them.
 */
static bool is_limited(const struct rn_qp *qp)
{
	return qp->cc && rn_dcqcn_limits(&qp->cc->rate);
}

static bool is_obeyed(const struct rn_qp *qp)
{
	return is_limited(qp) && qp->dev->cfg.cc == RN_CC_ON;
}

static void publish_rate(struct rn_qp *qp)
{
	const struct rn_dcqcn *d = &qp->cc->rate;
	struct rn_stats_qp *s = qp->stats;

	if (!s)
		return;
	__atomic_store_n(&s->cc_phase, d->phase, __ATOMIC_RELAXED);
	__atomic_store_n(&s->cc_rate, rn_dcqcn_limits(d) ? d->rate : 0, __ATOMIC_RELAXED);
}

static void follow_rate(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	const uint32_t before = req->pace.kbps;
	uint32_t kbps = req->pace.limit;

	if (is_obeyed(qp) && (kbps == 0 || qp->cc->rate.rate < kbps))
		kbps = qp->cc->rate.rate;
	/* pace.next is at most the time of one packet ahead of now. What is left of that
	 * time is converted to the new rate.
	 */
	if (before == 0 || (kbps == 0 && req->pace.next > now))
		req->pace.next = now;
	else if (req->pace.next > now && kbps != before)
		req->pace.next = now + (req->pace.next - now) * before / kbps;
	req->pace.kbps = kbps;
	req->pace.on = kbps || is_limited(qp);
	if (qp->cc)
		publish_rate(qp);
}

void rn_qp_pace(struct rn_qp *qp, rn_ns now, uint32_t kbps, uint32_t burst)
{
	struct rn_requester *req = &qp->req;
	RN_SHOW_CALL(qp->dev, .kind = RN_CALL_QP_PACE, .object = qp, .now = now,
		     .u.pace = { kbps, burst });

	req->pace.limit = kbps;
	req->pace.burst = burst;
	/* If congestion control limits the rate as well, the next packet still waits
	 * until the last one would have left at that rate.
	 */
	if (!is_obeyed(qp))
		req->pace.next = now;
	req->pace.deadline = RN_NEVER;
	follow_rate(qp, now);
	rn_dev_schedule(qp->dev, qp);
}

uint32_t rn_qp_rate(const struct rn_qp *qp)
{
	return qp->req.pace.limit;
}

void rn_pace_reset(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;

	req->pace.limit = req->pace.burst = 0;
	follow_rate(qp, req->pace.next);
}

/* Sets the timer to the time at which the next packet may leave, or at which the rate
 * increases next, if that is earlier: a higher rate lets the packet leave earlier.
 */
static void wait_for_rate(struct rn_qp *qp)
{
	struct rn_requester *req = &qp->req;
	rn_ns at = req->pace.next;

	if (is_obeyed(qp) && qp->cc->rate.increase_at < at)
		at = qp->cc->rate.increase_at;
	if (req->pace.deadline == at)
		return;
	req->pace.deadline = at;
	rn_dev_arm_timer(qp->dev, qp);
}

bool rn_pace_may_send(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;

	if (is_limited(qp)) {
		rn_dcqcn_advance(&qp->cc->rate, &qp->dev->cc, now);
		follow_rate(qp, now);
	}
	if (req->pace.kbps == 0 || req->pace.next <= now)
		return true;
	wait_for_rate(qp);
	return false;
}

/* Responses that are still to be sent in state ERR are not delayed. */
bool rn_pace_may_respond(struct rn_qp *qp, rn_ns now)
{
	return !is_obeyed(qp) || qp->state == RN_QPS_ERR || rn_pace_may_send(qp, now);
}

/* Returns the longest pause, in ns, for which the QP may make up by sending faster than
 * its rate afterwards.
 */
static rn_ns credit_of(const struct rn_qp *qp)
{
	if (is_obeyed(qp))
		return CREDIT_CONGESTED;
	return qp->req.pace.burst ? time_of(qp, qp->req.pace.burst) : CREDIT;
}

static void pay_for(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_requester *req = &qp->req;
	rn_ns credit;

	if (req->pace.kbps == 0)
		return;
	credit = credit_of(qp);
	if (req->pace.next < now - credit)
		req->pace.next = now - credit;
	req->pace.next += time_of(qp, len + RN_ICRC_LEN);
}

static void count_bytes(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	if (!is_limited(qp))
		return;
	rn_dcqcn_sent(&qp->cc->rate, &qp->dev->cc, len + RN_ICRC_LEN);
	follow_rate(qp, now);
}

void rn_pace_sent(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	pay_for(qp, now, len);
	count_bytes(qp, now, len);
}

void rn_pace_responded(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	if (is_obeyed(qp))
		pay_for(qp, now, len);
	count_bytes(qp, now, len);
}

void rn_pace_expire(struct rn_qp *qp, rn_ns now)
{
	if (qp->req.pace.deadline > now)
		return;
	qp->req.pace.deadline = RN_NEVER;
	rn_dev_schedule(qp->dev, qp);
}

/* --------------------------------------------------- congestion notifications */
void rn_cc_init(struct rn_qp *qp)
{
	if (!qp->cc)
		return;
	*qp->cc = (struct rn_cc){ .qp = qp };
	rn_list_init(&qp->cc->due);
}

void rn_cc_reset(struct rn_qp *qp)
{
	if (!qp->cc)
		return;
	rn_list_remove(&qp->cc->due);
	rn_cc_init(qp);
}

uint8_t rn_cc_tclass(const struct rn_dev *dev, uint8_t tclass)
{
	if (!dev->cfg.cc)
		return tclass;
	return (uint8_t)((tclass & ~RN_ECN_MASK) | RN_ECN_ECT0);
}

static uint32_t sender_of(const struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_deth deth;

	if (qp->type != RN_QPT_UD)
		return qp->attr.dest_qpn;
	if (rn_deth_parse(&deth, p->ext, p->payload))
		assert(false); /* receive.c has checked the packet against op->hdr_len */
	return deth.src_qpn;
}

void rn_cnp_answer(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	const struct rn_flow *in = p->flow;
	struct rn_cc *cc = qp->cc;

	rn_count(qp->dev, RN_STAT_NP_ECN_MARKED);
	if (now < cc->next_cnp || rn_gid_is_multicast(&in->dst))
		return;
	cc->next_cnp = now + RN_CNP_PERIOD;
	cc->to = (struct rn_flow){
		.src = in->dst,
		.dst = in->src,
		.ifindex = in->ifindex,
		.sport = RN_ROCE_PORT,
		.tclass = RN_CNP_TCLASS,
		.hop_limit = 64,
	};
	cc->to_qpn = sender_of(qp, p);
	if (!rn_list_is_linked(&cc->due))
		rn_list_push_back(&qp->dev->cnps, &cc->due);
}

uint32_t rn_cnp_build(struct rn_dev *dev, struct rn_build *b, struct rn_qp **qp)
{
	struct rn_cc *cc = RN_CONTAINER_OF(dev->cnps.next, struct rn_cc, due);
	const struct rn_bth bth = {
		.opcode = RN_CNP,
		.becn = true,
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = cc->to_qpn,
	};
	uint8_t *p = rn_bth_emit(b->buf, &bth);

	rn_list_remove(&cc->due);
	memset(p, 0, RN_CNP_RESERVED_LEN);
	*b->tx = (struct rn_tx){
		.flow = &cc->to,
		.dest_qpn = cc->to_qpn,
		.src_qpn = cc->qp->qpn,
		.response = true,
	};
	rn_count(dev, RN_STAT_NP_CNP_SENT);
	*qp = cc->qp;
	return (uint32_t)(p - b->buf) + RN_CNP_RESERVED_LEN;
}

void rn_cnp_receive(struct rn_qp *qp, rn_ns now)
{
	if (!rn_dcqcn_notify(&qp->cc->rate, &qp->dev->cc, now))
		return;
	follow_rate(qp, now);
	/* A pause in sending before this congestion must not allow a burst now. */
	if (qp->req.pace.next < now)
		qp->req.pace.next = now;
}
