/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_rules.c - judges packets by rules. */
#include "fault_rules.h"

#include <string.h>

#include "rocin/mad.h"

enum {
	MILLION = 1000000
};

/* xorshift64*, Vigna 2014. */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* splitmix64: neighbouring seeds give unlike streams; never 0. */
static uint64_t stream_seed(uint64_t seed, uint64_t stream)
{
	uint64_t z = seed * 1000003 + stream + 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return z ? z : 1;
}

/* ------------------------------------------------------------------------- sets */
static bool is_for(const struct rn_fault_rule *r, const char *dev, int32_t pid,
		   const char *program)
{
	return (!r->dev[0] || strcmp(r->dev, dev) == 0) && (!r->pid || r->pid == pid) &&
	       (!r->program[0] || strcmp(r->program, program) == 0);
}

void rn_fault_rules_select(struct rn_fault_rules *rules, const char *dev, int32_t pid,
			   const char *program)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < rules->count; i++)
		if (is_for(&rules->rule[i], dev, pid, program))
			rules->rule[kept++] = rules->rule[i];
	rules->count = kept;
}

void rn_fault_rules_append(struct rn_fault_rules *rules,
			   const struct rn_fault_rules *more)
{
	for (unsigned i = 0; i < more->count && rules->count < RN_FAULT_RULES_MAX; i++) {
		struct rn_fault_rule *r = &rules->rule[rules->count++];

		*r = more->rule[i];
		r->seen = r->hits = 0;
		r->dice = stream_seed(more->seed, 2ull * r->number);
		r->where = stream_seed(more->seed, 2ull * r->number + 1);
	}
}

void rn_fault_rules_carry(struct rn_fault_rules *rules, const struct rn_fault_rules *old)
{
	bool taken[RN_FAULT_RULES_MAX] = { false };

	for (unsigned i = 0; i < rules->count; i++) {
		struct rn_fault_rule *r = &rules->rule[i];
		unsigned k = 0;

		while (k < old->count && (taken[k] || old->rule[k].id != r->id))
			k++;
		if (k == old->count)
			continue;
		taken[k] = true;
		r->seen = old->rule[k].seen;
		r->hits = old->rule[k].hits;
		r->dice = old->rule[k].dice;
		r->where = old->rule[k].where;
	}
}

bool rn_fault_rules_want_qp(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].qpn || rules->rule[i].qp)
			return true;
	return false;
}

bool rn_fault_rules_have_chance(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act != RN_FAULT_FAIL &&
		    (rules->rule[i].chance < MILLION ||
		     rules->rule[i].act == RN_FAULT_CORRUPT))
			return true;
	return false;
}

bool rn_fault_rules_meet_packets(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act != RN_FAULT_FAIL)
			return true;
	return false;
}

bool rn_fault_rules_meet_calls(const struct rn_fault_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].act == RN_FAULT_FAIL)
			return true;
	return false;
}

/* ---------------------------------------------------------------------- judging */
static bool is_psn_in(const struct rn_fault_rule *r, uint32_t psn)
{
	return ((psn - r->psn_first) & 0xffffff) <=
	       ((r->psn_last - r->psn_first) & 0xffffff);
}

static bool is_one_of(uint16_t mads, uint16_t mad)
{
	return mad >= RN_CM_REQ && mad <= RN_CM_APR && (mads >> (mad - RN_CM_REQ) & 1);
}

static bool matches(const struct rn_fault_rule *r, const struct rn_fault_packet *p)
{
	if (r->act == RN_FAULT_FAIL || (r->act == RN_FAULT_CUT && r->is_bare))
		return false;
	return r->in_dir[p->dir] && (r->ops[p->opcode / 64] >> p->opcode % 64 & 1) &&
	       (!r->qpn || r->qpn == p->qpn) && (!r->qp || r->qp == p->qp) &&
	       (!r->mads || is_one_of(r->mads, p->mad)) &&
	       (!r->has_psn || is_psn_in(r, p->psn));
}

/* The seen-th that matches: is it to be hit? */
static bool counts(const struct rn_fault_rule *r)
{
	if (r->seen < r->nth || (r->nth_last && r->seen > r->nth_last))
		return false;
	return (r->seen - r->nth) % r->every == 0;
}

static uint64_t throw(uint64_t * dice, const uint64_t *fate)
{
	return fate ? stream_seed(*dice, *fate) : draw(dice);
}

static bool hit(struct rn_fault_rule *r, const uint64_t *fate)
{
	r->seen++;
	if (!counts(r))
		return false;
	/* The die is thrown by every packet that comes so far, also beyond the limit. */
	if (r->chance < MILLION && (throw(&r->dice, fate) >> 32) % MILLION >= r->chance)
		return false;
	if (r->count && r->hits >= r->count)
		return false;
	r->hits++;
	return true;
}

uint64_t rn_fault_judge(struct rn_fault_rules *rules, const struct rn_fault_packet *p)
{
	const uint64_t *fate = p->has_fate ? &p->fate : NULL;
	uint64_t verdict = 0;

	for (unsigned i = 0; i < rules->count; i++)
		if (matches(&rules->rule[i], p) && hit(&rules->rule[i], fate))
			verdict |= 1ull << i;
	return verdict;
}

int rn_fault_judge_call(struct rn_fault_rules *rules, uint32_t call)
{
	int error = 0;

	for (unsigned i = 0; i < rules->count; i++) {
		struct rn_fault_rule *r = &rules->rule[i];

		if (r->act == RN_FAULT_FAIL && r->call == call && hit(r, NULL) && !error)
			error = r->error;
	}
	return error;
}

uint64_t rn_fault_draw(struct rn_fault_rule *rule, const uint64_t *fate)
{
	return throw(&rule->where, fate);
}
