/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* account.c - the account of retries: what a queue pair charges against its retry counter
 * is a loss that the world made, once, or a timeout that has run out; and it gives up
 * only what it has asked for retry_cnt + 1 times.
 *
 * What is outstanding follows from the packets on the wire alone: every PSN before that
 * of an answer is acknowledged, but for READs and atomics, which have answers of their
 * own.
 */
#include <string.h>

#include "world_internal.h"

static rn_ns local(const struct rn_w_end *e)
{
	return rn_w_local(&e->pair->w->device[e->dev]);
}

void rn_w_account_reset(struct rn_w_end *e, struct rn_psn psn)
{
	struct rn_w_account *a = &e->account;

	memset(a, 0, sizeof(*a));
	a->una = a->heard = psn;
}

void rn_w_account_lost(struct rn_w_end *e, uint32_t count)
{
	e->account.losses += count;
}

/* A request that takes @count PSNs leaves; @alone: its answer is its own. */
void rn_w_account_asked(struct rn_w_end *e, struct rn_psn psn, uint32_t count, bool alone)
{
	struct rn_w_account *a = &e->account;

	for (uint32_t i = 0; i < count; i++)
		a->alone[(psn.v + i) % RN_W_PSNS] = alone;
	if (psn.v != a->una.v)
		return;
	if (a->una.v == e->next_psn.v)
		a->since = local(e);
	a->attempts++;
}

static void advance(struct rn_w_end *e, struct rn_psn target, bool is_answer)
{
	struct rn_w_account *a = &e->account;
	struct rn_psn from = a->una;

	while (rn_psn_before(a->una, target) && !a->alone[a->una.v % RN_W_PSNS])
		a->una = rn_psn_add(a->una, 1);
	if (is_answer && a->una.v == target.v)
		a->una = rn_psn_add(a->una, 1);
	if (a->una.v == from.v)
		return;
	a->attempts = rn_psn_before(a->una, e->next_psn);
	a->since = local(e);
	if (rn_psn_before(a->heard, a->una))
		a->heard = a->una;
}

/* An answer with PSN @psn comes. @is_answer: to that PSN alone; @accepts: an ACK. */
void rn_w_account_answered(struct rn_w_end *e, struct rn_psn psn, bool is_answer,
			   bool accepts)
{
	struct rn_w_account *a = &e->account;

	if (!e->qp || rn_qp_state(e->qp) == RN_QPS_ERR || rn_psn_before(psn, a->una) ||
	    !rn_psn_before(psn, e->next_psn))
		return;
	advance(e, is_answer || !accepts ? psn : rn_psn_add(psn, 1), is_answer);
	if (!rn_psn_before(a->heard, psn))
		return;
	/* Behind a gap: it shows that the peer is at work. */
	a->heard = psn;
	a->since = local(e);
}

static void check_timeouts(struct rn_world *w, struct rn_w_end *e,
			   const struct rn_retries *now)
{
	struct rn_w_account *a = &e->account;
	rn_ns least = (rn_ns)4096 << e->pair->plan->timeout;

	if (now->timeouts == a->seen.timeouts)
		return;
	if (now->timeouts != a->seen.timeouts + 1 || local(e) - a->since < least)
		rn_w_fail(w, "QP %x counts a timeout %lld ns after its peer was heard of",
			  e->qpn, (long long)(local(e) - a->since));
}

void rn_w_account_check(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_account *a = &e->account;
	struct rn_retries now;

	if (!rn_w_is_reliable(e))
		return;
	rn_qp_retries(e->qp, &now);
	if (now.naks == a->seen.naks && now.implied == a->seen.implied &&
	    now.timeouts == a->seen.timeouts)
		return;
	check_timeouts(w, e, &now);
	if (now.naks + now.implied > a->losses)
		rn_w_fail(w,
			  "QP %x charges %u NAKs and %u gaps as retries, and %u packets "
			  "were lost",
			  e->qpn, now.naks, now.implied, a->losses);
	a->seen = now;
	a->since = local(e);
}

bool rn_w_account_is_spent(const struct rn_w_end *e)
{
	return e->account.attempts > e->pair->plan->retry;
}
