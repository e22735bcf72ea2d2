/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_live_skips.c - which scenarios a target behind a network cannot show, and why.
 */
#include <stdio.h>

#include "conform_live_internal.h"
#include "sim/scenario/fields.h"

static const char *why_not_address(const struct rn_live_side *side, bool ipv6)
{
	if (!side->has_device)
		return ipv6 ? "of IPv6, and the device has no such address"
			    : "of IPv4, and the device has no such address";
	if (!side->has_peer)
		return ipv6 ? "of IPv6, and the tester has no such address"
			    : "of IPv4, and the tester has no such address";
	return NULL;
}

/* An ability that objects or posts need, and what one says who lacks it. */
static const char *lacks(uint32_t can, uint32_t needed)
{
	static const struct {
		uint32_t ability;
		const char *why;
	} reasons[] = {
		{ RN_CONFORM_CAN_SRQ, "the device has no shared receive queues" },
		{ RN_CONFORM_CAN_XRC, "the device has no XRC" },
		{ RN_CONFORM_CAN_MW1, "the device has no memory windows of type 1" },
		{ RN_CONFORM_CAN_MW2, "the device has no memory windows of type 2" },
		{ RN_CONFORM_CAN_GROUP, "the device joins no multicast groups" },
		{ RN_CONFORM_CAN_FLUSH, "the agent cannot post a FLUSH there" },
		{ RN_CONFORM_CAN_ATOMIC_WRITE, "the device has no ATOMIC WRITE" },
		{ RN_CONFORM_CAN_MIGRATE, "the device does not migrate to other paths" },
		{ RN_CONFORM_CAN_SOLVE, "sockets send identification 0, which it sees" },
		{ RN_CONFORM_CAN_UNMAP, "the device keeps the memory of a region" },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(reasons); i++)
		if (reasons[i].ability & needed & ~can)
			return reasons[i].why;
	return NULL;
}

static uint32_t objects_need(const struct rn_scenario *s)
{
	uint32_t needed = s->srqs ? RN_CONFORM_CAN_SRQ : 0;

	for (unsigned i = 0; i < s->mrs; i++)
		if (s->mr[i].line.verb == RN_SCN_MW)
			needed |= rn_scn_get(&s->mr[i].line, RN_F_TYPE, 2) == 1
					  ? RN_CONFORM_CAN_MW1
					  : RN_CONFORM_CAN_MW2;
	for (unsigned i = 0; i < s->qps; i++)
		if (s->qp[i].type == RN_QPT_XRC_SEND || s->qp[i].type == RN_QPT_XRC_RECV)
			needed |= RN_CONFORM_CAN_XRC;
	return needed;
}

static bool is_to(const struct rn_scn_line *l, uint64_t to)
{
	return rn_scn_has(l, RN_F_TO) && l->value[RN_F_TO] == to;
}

static uint32_t line_needs(const struct rn_scn_line *l)
{
	uint64_t kind = rn_scn_get(l, RN_F_KIND, RN_WR_SEND);

	if (l->verb == RN_SCN_JOIN || is_to(l, RN_SCN_TO_GROUP))
		return RN_CONFORM_CAN_GROUP;
	if (rn_scn_has(l, RN_F_ALT))
		return RN_CONFORM_CAN_MIGRATE;
	if (rn_scn_get(l, RN_F_ID, 0))
		return RN_CONFORM_CAN_SOLVE;
	if (l->verb == RN_SCN_UNMAP)
		return RN_CONFORM_CAN_UNMAP;
	if (l->verb != RN_SCN_POST)
		return 0;
	return kind == RN_WR_FLUSH	    ? RN_CONFORM_CAN_FLUSH
	       : kind == RN_WR_ATOMIC_WRITE ? RN_CONFORM_CAN_ATOMIC_WRITE
					    : 0;
}

/* A program can only say what it has; a socket can only send so much. */
static const char *why_not_line(const struct rn_live_side *side,
				const struct rn_scn_line *l)
{
	if (l->verb == RN_SCN_POST &&
	    rn_scn_get(l, RN_F_KIND, RN_WR_SEND) == RN_WR_BIND_MW &&
	    (l->region[RN_F_RKEY] == RN_SCN_ABSOLUTE ||
	     l->region[RN_F_REGION] == RN_SCN_ABSOLUTE || l->value[RN_F_REGION]))
		return "programs bind windows and regions that they have, not keys";
	if (rn_scn_is_cm_call(l->verb))
		return "of a program that connects, and the agent does not";
	if (l->verb == RN_SCN_HOLD)
		return "nobody can hold back the packets of a live device";
	if (l->verb == RN_SCN_INJECT && !rn_scn_get(l, RN_F_SPORT, 1))
		return "no socket sends from port 0";
	if (!side->has_other && (rn_scn_get(l, RN_F_FROM, 0) ||
				 rn_scn_get(l, RN_F_ALT, 0) || is_to(l, RN_SCN_TO_OTHER)))
		return "the tester has no second address";
	if (is_to(l, RN_SCN_TO_GROUP) && side->group_fd < 0)
		return "the tester cannot join a multicast group";
	return NULL;
}

/* Whether a region goes while a window is bound to it. */
static bool frees_bound(const struct rn_scenario *s)
{
	bool bound[RN_SCN_MRS] = { false };

	for (unsigned i = 0; i < s->lines; i++) {
		const struct rn_scn_line *l = &s->line[i];

		if (l->verb == RN_SCN_POST && rn_scn_has(l, RN_F_REGION) &&
		    l->region[RN_F_REGION] < RN_SCN_MRS)
			bound[l->region[RN_F_REGION]] = true;
		if (l->verb == RN_SCN_DEREG && bound[l->subject])
			return true;
	}
	return false;
}

/* Programs name all attributes of RC for both halves of XRC, and verbs leave out what one
 * of them has no use for. Whether a call is to be refused that gives only too much.
 */
static bool is_lenient(const struct rn_scenario *s, const struct rn_scn_line *l)
{
	const rn_scn_set asks =
		RN_F_BIT(RN_F_RETRY) | RN_F_BIT(RN_F_RNR_RETRY) | RN_F_BIT(RN_F_RD);
	const rn_scn_set answers = RN_F_BIT(RN_F_DEST_RD) | RN_F_BIT(RN_F_RNR_TIMER);
	enum rn_qp_type type;

	if (l->verb != RN_SCN_MODIFY || !rn_scn_has(l, RN_F_ERROR))
		return false;
	type = s->qp[l->subject].type;
	return (type == RN_QPT_XRC_SEND && l->given & answers) ||
	       (type == RN_QPT_XRC_RECV && l->given & asks);
}

static const char *why_not(struct rn_live_target *t, const struct rn_scenario *s)
{
	const struct rn_live_side *side = &t->side[s->ipv6];
	const char *why = why_not_address(side, s->ipv6);
	uint32_t needed = objects_need(s);
	uint64_t cqes;

	if (!why && (s->credits || s->exact || s->cc))
		why = "of a device with other settings";
	for (unsigned i = 0; i < s->lines && !why; i++) {
		why = why_not_line(side, &s->line[i]);
		needed |= line_needs(&s->line[i]);
		if (!why && is_lenient(s, &s->line[i]))
			why = "verbs leave out what a half of XRC has no use for";
	}
	if (!why)
		why = lacks(t->can, needed);
	if (!why && frees_bound(s))
		why = "verbs keep a region that a window is bound to";
	if (!why && rn_live_cqes(s) < RN_LIVE_CQES && !rn_live_make_queues(t, s, &cqes) &&
	    cqes > rn_live_cqes(s))
		why = "the device makes completion queues larger than asked for";
	return why;
}

bool rn_live_skips(void *ctx, const struct rn_scenario *s, char *why, size_t why_len)
{
	const char *reason = why_not(ctx, s);

	if (reason)
		snprintf(why, why_len, "%s", reason);
	return reason;
}
