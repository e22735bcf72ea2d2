/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dcqcn.c - how fast a queue pair may send: the reaction point of DCQCN. */
#include "dcqcn.h"

void rn_dcqcn_defaults(struct rn_dcqcn_params *p, uint32_t line)
{
	const uint32_t step = line / 1000 ? line / 1000 : 1; /* 40 Mbit/s of 40 Gbit/s */

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

static void decay(struct rn_dcqcn *d, const struct rn_dcqcn_params *p)
{
	d->alpha -= d->alpha >> p->gain;
}

static uint32_t at_most(uint64_t rate, uint32_t limit)
{
	return rate < limit ? (uint32_t)rate : limit;
}

static void count(uint16_t *steps)
{
	if (*steps < UINT16_MAX)
		++*steps;
}

/* One of the two counts has gone up. */
static void increase(struct rn_dcqcn *d, const struct rn_dcqcn_params *p)
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
	/* Rounded up, or the line would never be reached. */
	d->rate = (uint32_t)(((uint64_t)d->target + d->rate + 1) / 2);
	if (d->rate >= p->line)
		d->phase = RN_DCQCN_FREE;
}

void rn_dcqcn_advance(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, rn_ns now)
{
	while (rn_dcqcn_limits(d) && d->increase_at <= now) {
		d->increase_at += p->increase_period;
		count(&d->times);
		increase(d, p);
	}
	while (rn_dcqcn_limits(d) && d->alpha_at <= now) {
		d->alpha_at += p->alpha_period;
		decay(d, p);
	}
}

void rn_dcqcn_sent(struct rn_dcqcn *d, const struct rn_dcqcn_params *p, uint32_t bytes)
{
	if (!rn_dcqcn_limits(d))
		return;
	d->sent += bytes;
	while (rn_dcqcn_limits(d) && d->sent >= p->bytes) {
		d->sent -= p->bytes;
		count(&d->fills);
		increase(d, p);
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
	decay(d, p);
	d->alpha += RN_DCQCN_ONE >> p->gain;
	d->times = d->fills = 0;
	d->sent = 0;
	d->alpha_at = now + p->alpha_period;
	d->increase_at = now + p->increase_period;
	d->cut_at = now + p->cut_period;
	return true;
}
