/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan.c - draws the plan of a world from a seed. */
#include "plan.h"

static const char *const do_names[] = { "send",	 "recv", "error", "reconnect", "death",
					"stall", "jump", "drain", "pace",      "srq",
					"group", "poll", "key" };
static const char *const harm_names[] = { "loss",  "duplicate", "reorder", "corrupt",
					  "delay", "mark",	"flap" };

static_assert(RN_ARRAY_SIZE(do_names) == RN_DO_COUNT, "each has a name");
static_assert(RN_ARRAY_SIZE(harm_names) == RN_HARM_COUNT, "each has a name");

const char *rn_plan_do_name(enum rn_plan_do what)
{
	return do_names[what];
}

const char *rn_plan_harm_name(enum rn_plan_harm harm)
{
	return harm_names[harm];
}

static enum rn_qp_type choose_type(struct rn_random *r)
{
	uint32_t n = rn_random_below(r, 20);

	if (n < 12)
		return RN_QPT_RC;
	return n < 14 ? RN_QPT_UC : n < 17 ? RN_QPT_UD : RN_QPT_XRC_SEND;
}

static void make_pair(struct rn_plan *plan, struct rn_random *r, struct rn_plan_pair *p)
{
	uint32_t a = rn_random_below(r, plan->devices);
	uint32_t b = rn_random_below(r, plan->devices - 1);

	p->dev[0] = (uint8_t)a;
	p->dev[1] = (uint8_t)(b + (b >= a));
	p->type = choose_type(r);
	for (unsigned i = 0; i < 2; i++)
		p->psn[i] = rn_random_below(r, 2) ? 0xffffff - rn_random_below(r, 64)
						  : rn_random_below(r, 1 << 24);
	p->mtu = 256u << rn_random_below(r, 3);
	p->timeout = (uint8_t)(6 + rn_random_below(r, 5));
	p->retry = (uint8_t)(rn_random_below(r, 4) ? 7 : rn_random_below(r, 8));
	p->rnr_retry = (uint8_t)(rn_random_below(r, 4) ? 7 : rn_random_below(r, 7));
	p->rnr_timer = (uint8_t)(1 + rn_random_below(r, 14));
	p->depth = (uint8_t)(1 + rn_random_below(r, 4));
	p->srq = p->type == RN_QPT_XRC_SEND || !rn_random_below(r, 4);
	if (!p->srq && p->type != RN_QPT_UD && !rn_random_below(r, 4))
		p->own_cq = (uint8_t)(1 + rn_random_below(r, 3));
	p->tclass = (uint8_t)(rn_random_below(r, 2) ? 2 : rn_random_below(r, 256));
	p->recvs = (uint8_t)rn_random_below(r, 16);
}

/* Chooses the kind of a step. Most steps post work. If @rough (see rn_plan.rough), some
 * steps change the state of QPs or hosts.
 */
static enum rn_plan_do choose_step(struct rn_random *r, bool rough)
{
	uint32_t n = rn_random_below(r, 100);

	if (n < 55 || (n >= 92 && !rough))
		return RN_DO_SEND;
	if (n < 58)
		return n == 55 ? RN_DO_DRAIN : n == 56 ? RN_DO_PACE : RN_DO_SRQ;
	if (n < 69)
		return RN_DO_KEY;
	if (n < 89)
		return RN_DO_RECV;
	if (n < 92)
		return rn_random_below(r, 3) ? RN_DO_POLL : RN_DO_GROUP;
	if (n < 94)
		return RN_DO_ERROR;
	if (n < 97)
		return RN_DO_RECONNECT;
	if (n < 98)
		return RN_DO_STALL;
	return n < 99 ? RN_DO_JUMP : RN_DO_DEATH;
}

static void make_steps(struct rn_plan *plan, struct rn_random *r)
{
	uint32_t pace = 1u << (8 + rn_random_below(r, 9));
	rn_ns at = RN_USEC(10);

	plan->rough = rn_random_below(r, 2);
	plan->steps = 24 + rn_random_below(r, RN_PLAN_STEPS - 24);
	for (uint32_t i = 0; i < plan->steps; i++) {
		/* Steps come in bursts. Pauses between them let timers expire. */
		if (rn_random_below(r, 3))
			at += rn_random_below(r, pace);
		if (!rn_random_below(r, 40))
			at += RN_USEC(rn_random_below(r, 5000));
		plan->step[i] = (struct rn_plan_step){
			.at = at,
			.what = choose_step(r, plan->rough),
			.pair = (uint8_t)rn_random_below(r, plan->pairs),
			.side = (uint8_t)rn_random_below(r, 2),
			.seed = rn_random_next(r),
		};
	}
	plan->end = at;
}

static void make_fault(struct rn_plan *plan, struct rn_random *r, struct rn_plan_fault *f)
{
	uint32_t span = (uint32_t)plan->end + RN_USEC(200);

	f->harm = (enum rn_plan_harm)rn_random_below(r, RN_HARM_COUNT);
	f->dev = (uint8_t)rn_random_below(r, plan->devices);
	f->from = rn_random_below(r, span);
	f->until = f->from + rn_random_below(r, span);
	f->ppm = rn_random_below(r, 2) ? 20000 : rn_random_below(r, 300000);
	f->by = 1 + rn_random_below(r, rn_random_below(r, 3) ? 50000 : 3000000);
	if (f->harm == RN_HARM_FLAP) {
		f->ppm = 1000000;
		f->until = f->from + RN_USEC(1 + rn_random_below(r, 20000));
	}
	if (f->until > plan->end)
		plan->end = f->until;
}

/* In one of five plans, gives the links queues that hold 10 to 200 ms of packets and lose
 * packets when they are full. Also multiplies all other times by one factor, so that some
 * of the timeouts are longer and some shorter than the time that packets wait in these
 * queues.
 */
static void lengthen_queues(struct rn_plan *plan)
{
	struct rn_random r = rn_random_of(plan->seed, 'q');
	const uint32_t slower = 32;
	uint32_t ms;

	if (rn_random_below(&r, 5))
		return;
	ms = 10 + rn_random_below(&r, 191);
	plan->link.queue = 16384u << rn_random_below(&r, 4);
	plan->link.rate = UINT64_C(8000) * plan->link.queue / ms;
	plan->window_max = 32768u << rn_random_below(&r, 4);
	plan->read_window = 8192u << rn_random_below(&r, 5);
	for (uint32_t i = 0; i < plan->pairs; i++)
		plan->pair[i].timeout = (uint8_t)(10 + rn_random_below(&r, 8));
	for (uint32_t i = 0; i < plan->steps; i++)
		plan->step[i].at *= slower;
	for (uint32_t i = 0; i < plan->faults; i++) {
		plan->fault[i].from *= slower;
		plan->fault[i].until *= slower;
	}
	plan->end *= slower;
}

void rn_plan_make(struct rn_plan *plan, uint64_t seed, uint32_t devices)
{
	struct rn_random r = rn_random_of(seed, 'p');

	*plan = (struct rn_plan){ .seed = seed };
	plan->devices = 2 + (rn_random_below(&r, 3) ? 0 : rn_random_below(&r, 4));
	if (devices)
		plan->devices = devices;
	assert(plan->devices >= 2 && plan->devices <= RN_PLAN_DEVICES);
	plan->pairs = 1 + rn_random_below(&r, 5) + (plan->devices - 2);
	plan->mem_delay = rn_random_below(&r, 3) ? 0 : 1 + rn_random_below(&r, 20000);
	plan->acks_late = !rn_random_below(&r, 3);
	plan->window_max = 16384u << rn_random_below(&r, 4);
	plan->read_window = 8192u << rn_random_below(&r, 3);
	plan->link = (struct rn_link_cfg){
		.rate = UINT64_C(1000000000) << rn_random_below(&r, 7),
		.delay = 100 + rn_random_below(&r, 20000),
		.queue = rn_random_below(&r, 4) ? 0 : 65536,
	};
	if (rn_random_below(&r, 2)) {
		plan->link.ecn_min = rn_random_below(&r, 8192);
		plan->link.ecn_max = plan->link.ecn_min + rn_random_below(&r, 65536);
		plan->link.ecn_ppm = rn_random_below(&r, 1000000);
	}
	plan->ipv6 = !rn_random_below(&r, 3);
	plan->credits = rn_random_below(&r, 2);
	if (!rn_random_below(&r, 3))
		plan->cc = rn_random_below(&r, 4) ? RN_CC_ON : RN_CC_OBSERVE;
	for (uint32_t i = 0; i < plan->pairs; i++)
		make_pair(plan, &r, &plan->pair[i]);
	make_steps(plan, &r);
	plan->faults = rn_random_below(&r, 4) ? rn_random_below(&r, 10) : 0;
	for (uint32_t i = 0; i < plan->faults; i++)
		make_fault(plan, &r, &plan->fault[i]);
	lengthen_queues(plan);
}

uint32_t rn_plan_size(const struct rn_plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->steps; i++)
		n += !plan->step[i].off;
	for (uint32_t i = 0; i < plan->faults; i++)
		n += !plan->fault[i].off;
	for (uint32_t i = 0; i < plan->pairs; i++)
		n += !plan->pair[i].off;
	return n;
}
