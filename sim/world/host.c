/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.c - what programs do to their objects besides posting: drain a send queue, limit
 * its rate, tell and resize an SRQ.
 */
#include "rocin/srq.h"
#include "world_internal.h"

/* ------------------------------------------------------------------- draining */
static void to_state(struct rn_world *w, struct rn_w_end *e, enum rn_qp_state state)
{
	struct rn_w_device *d = &w->device[e->dev];
	const struct rn_qp_attr attr = { .state = state, .en_sqd_async_notify = true };
	uint32_t notify = state == RN_QPS_SQD ? RN_ATTR_EN_SQD_ASYNC_NOTIFY : 0;

	rn_w_say(w, "QP %x goes to %s", e->qpn, rn_qp_state_name(state));
	if (rn_qp_modify(d->dev, e->qp, rn_w_local(d), &attr, RN_ATTR_STATE | notify))
		rn_w_fail(w, "QP %x cannot be brought to %s", e->qpn,
			  rn_qp_state_name(state));
}

void rn_w_drain_step(struct rn_world *w, struct rn_w_end *e)
{
	if (!e->alive || e->sqd != RN_W_RUNS || rn_w_type(e) == RN_QPT_XRC_RECV)
		return;
	e->sqd = RN_W_DRAINS;
	to_state(w, e, RN_QPS_SQD);
}

/* Everything that had begun has completed: on with the rest in a moment. */
void rn_w_drained(struct rn_world *w, struct rn_w_end *e)
{
	uint32_t number = (uint32_t)(e->pair - w->pair) * 2 + e->number;

	if (e->sqd != RN_W_DRAINS || e->rd_head != e->rd_tail)
		rn_w_fail(w, "QP %x says that it has drained", e->qpn);
	e->sqd = RN_W_DRAINED;
	rn_w_put(w, w->net->now + RN_USEC(1 + rn_random_below(&w->host_random, 300)),
		 RN_W_RESUME, number);
}

void rn_w_resume(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];

	if (!e->qp || !e->alive || e->sqd != RN_W_DRAINED)
		return;
	if (rn_w_is_stalled(d)) {
		rn_w_put(w, w->net->host[d->number].stalled_until, RN_W_RESUME,
			 (uint32_t)(e->pair - w->pair) * 2 + e->number);
		return;
	}
	e->sqd = RN_W_RUNS;
	to_state(w, e, RN_QPS_RTS);
	rn_w_drain(d);
}

/* --------------------------------------------------------------------- pacing */
void rn_w_pace_step(struct rn_world *w, struct rn_w_end *e, struct rn_random *r)
{
	struct rn_w_device *d = &w->device[e->dev];
	struct rn_w_pace *p = &e->pace;

	if (!e->alive || rn_w_type(e) == RN_QPT_XRC_RECV)
		return;
	*p = (struct rn_w_pace){ .since = rn_w_local(d) };
	if (rn_random_below(r, 4))
		p->kbps = 1000000u << rn_random_below(r, 4);
	if (rn_random_below(r, 2))
		p->burst = 1 + rn_random_below(r, 20000);
	rn_w_say(w, "QP %x may send %u kbps, bursts of %u", e->qpn, p->kbps, p->burst);
	rn_qp_pace(e->qp, rn_w_local(d), p->kbps, p->burst);
}

/* No more than the rate gives, and a burst, and the packet that was begun. */
void rn_w_check_pace(struct rn_world *w, struct rn_w_end *e, uint32_t bytes)
{
	struct rn_w_pace *p = &e->pace;
	uint64_t ns, may;

	if (!p->kbps)
		return;
	/* By its own clock, which may go forward. */
	ns = (uint64_t)(rn_w_local(&w->device[e->dev]) - p->since);
	may = p->burst ? p->burst : p->kbps / 8;
	may += RN_PACKET_MAX + ns * p->kbps / 8000000;
	p->bytes += bytes;
	if (p->bytes > may)
		rn_w_fail(w, "QP %x sends faster than %u kbps", e->qpn, p->kbps);
}

/* ----------------------------------------------------------------------- SRQs */
static void resize(struct rn_world *w, struct rn_w_device *d, struct rn_w_srq *s,
		   const struct rn_srq_attr *attr, struct rn_random *r)
{
	uint32_t least = attr->posted > attr->limit ? attr->posted : attr->limit;
	uint32_t max = least + rn_random_below(r, RN_W_SRQ - least + 1);
	void *old;

	max = max ? max : 1;
	if (rn_srq_resize(s->srq, s->spare, max, &old)) {
		rn_w_fail(w, "the SRQ of device %u cannot be resized", d->number);
		return;
	}
	s->spare = old;
	rn_w_say(w, "device %u: an SRQ holds %u", d->number, max);
}

void rn_w_srq_step(struct rn_world *w, struct rn_w_device *d, struct rn_random *r)
{
	struct rn_w_srq *s = &d->srq[rn_random_below(r, RN_ARRAY_SIZE(d->srq))];
	struct rn_srq_attr attr;

	rn_srq_query(s->srq, &attr);
	if (rn_random_below(r, 2)) {
		resize(w, d, s, &attr, r);
		return;
	}
	s->limit = attr.posted ? 1 + rn_random_below(r, attr.posted) : 0;
	rn_w_say(w, "device %u: tell when an SRQ holds less than %u", d->number,
		 s->limit);
	if (rn_srq_set_limit(s->srq, s->limit))
		rn_w_fail(w, "the SRQ of device %u takes no limit", d->number);
}

void rn_w_srq_told(struct rn_w_device *d, struct rn_w_srq *s)
{
	if (!s->limit || rn_w_srq_posted(s) >= s->limit)
		rn_w_fail(d->w, "the SRQ of device %u says that it runs empty",
			  d->number);
	s->limit = 0;
}
