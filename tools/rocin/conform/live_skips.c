/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_skips.c - decides which conformance scenarios cannot be run on a device on the
 * network, and why.
 */
#include "conform.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"

/* the Q_Key that rdma_cm gives all datagram services */
#define RDMACM_UDP_QKEY UINT64_C(0x01234567)

uint64_t rn_live_cqes(const struct rn_scenario *s)
{
	uint64_t count = RN_LIVE_CQES;

	for (unsigned i = 0; i < s->qps; i++) {
		uint64_t wanted = rn_scn_get(&s->qp[i].line, RN_F_CQE, count);

		count = wanted < count ? wanted : count;
	}
	return count;
}

/* ------------------------------------------------------------- scenarios to skip */
/* Each of these functions returns the reason why a scenario cannot be run on this target,
 * or NULL if it can.
 */

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

/* Returns the reason why a scenario that needs the abilities @needed (bits of enum
 * rn_conform_can) cannot be run on a device with the abilities @can; NULL if it can.
 */
static const char *missing_ability(uint32_t can, uint32_t needed)
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
		{ RN_CONFORM_CAN_MIGRATE, "the device does not migrate to other paths" },
		{ RN_CONFORM_CAN_SOLVE, "sockets send identification 0, which it sees" },
		{ RN_CONFORM_CAN_UNMAP, "the device keeps the memory of a region" },
		{ RN_CONFORM_CAN_HEAR_GROUP, "the agent joins groups by verbs alone" },
		{ RN_CONFORM_CAN_BE_OURS, "the specification leaves it open" },
		{ RN_CONFORM_CAN_EXACT_SRQ,
		  "the device makes an SRQ larger than asked for" },
		{ RN_CONFORM_CAN_CONNECT,
		  "the agent has no librdmacm that connects by this device" },
#define X(symbol, bit, cap, ours, call, why) { RN_CONFORM_CAN_##symbol, why },
		RN_CONFORM_OPERATIONS(X)
#undef X
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(reasons); i++)
		if (reasons[i].ability & needed & ~can)
			return reasons[i].why;
	return NULL;
}

static uint32_t objects_need(const struct rn_scenario *s)
{
	uint32_t needed = (s->srqs ? RN_CONFORM_CAN_SRQ : 0) |
			  (s->open ? RN_CONFORM_CAN_BE_OURS : 0);

	for (unsigned i = 0; i < s->lines; i++)
		if (s->line[i].verb == RN_SCN_LIMIT &&
		    rn_scn_has(&s->line[i], RN_F_ERROR))
			needed |= RN_CONFORM_CAN_EXACT_SRQ;
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

/* @l is a line of a scenario that sends a packet with a request of the peer. Returns the
 * abilities (bits of enum rn_conform_can) that the device must have to execute this
 * request.
 */
static uint32_t packet_needs(const struct rn_scn_line *l)
{
	for (unsigned wr = 0; wr < RN_WR_COUNT; wr++) {
		const struct rn_conform_operation *op = rn_conform_operation(wr);

		if (op && rn_wr_info[wr].only == rn_opcode_operation(l->opcode))
			return op->ability;
	}
	return 0;
}

static uint32_t line_needs(const struct rn_scn_line *l)
{
	const struct rn_conform_operation *op;

	if (rn_scn_is_cm_call(l->verb))
		return RN_CONFORM_CAN_CONNECT;
	if (l->verb == RN_SCN_INJECT && is_to(l, RN_SCN_TO_GROUP))
		return RN_CONFORM_CAN_GROUP | RN_CONFORM_CAN_HEAR_GROUP;
	if (l->verb == RN_SCN_JOIN || is_to(l, RN_SCN_TO_GROUP))
		return RN_CONFORM_CAN_GROUP;
	if (rn_scn_has(l, RN_F_ALT))
		return RN_CONFORM_CAN_MIGRATE;
	if (rn_scn_get(l, RN_F_ID, 0))
		return RN_CONFORM_CAN_SOLVE;
	if (l->verb == RN_SCN_UNMAP)
		return RN_CONFORM_CAN_UNMAP;
	if (l->verb == RN_SCN_INJECT)
		return packet_needs(l);
	if (l->verb != RN_SCN_POST)
		return 0;
	op = rn_conform_operation(rn_scn_get(l, RN_F_KIND, RN_WR_SEND));
	return op ? op->ability : 0;
}

/* Returns the reason why a program that uses librdmacm cannot send the answer of line @l
 * to a lookup; NULL if it can.
 */
static const char *why_not_answer(const struct rn_scn_line *l)
{
	uint64_t status = rn_scn_get(l, RN_F_CM_STATUS, RN_CM_SIDR_SUCCESS);

	if (status != RN_CM_SIDR_SUCCESS && status != RN_CM_SIDR_REJECTED)
		return "librdmacm refuses a lookup with one status alone";
	if (status == RN_CM_SIDR_SUCCESS &&
	    rn_scn_get(l, RN_F_QKEY, RDMACM_UDP_QKEY) != RDMACM_UDP_QKEY)
		return "librdmacm gives all datagram services the same Q_Key";
	return NULL;
}

/* Returns true if rdma_cm itself sends the MRA that line @l (a call `mra') requests. It
 * sends an MRA when a REQ or REP is repeated, always with the same time. So the line must
 * come directly after the event about the message, and have that time.
 */
static bool is_own_mra(const struct rn_scn_line *l)
{
	return rn_scn_has(l, RN_F_DELAYED) &&
	       rn_scn_get(l, RN_F_WAIT, RN_CM_MRA_TIMEOUT) == RN_CM_MRA_TIMEOUT;
}

/* Returns the reason why a program that uses librdmacm cannot make the call of line @l;
 * NULL if it can.
 */
static const char *why_not_cm_call(const struct rn_scn_line *l)
{
	const rn_scn_set chosen =
		RN_F_BIT(RN_F_MTU) | RN_F_BIT(RN_F_TRANSPORT) | RN_F_BIT(RN_F_EXT);

	switch ((int)l->verb) {
	case RN_SCN_OFFER_PATH:
	case RN_SCN_ANSWER_PATH:
		return "librdmacm neither offers nor answers alternate paths";
	case RN_SCN_MRA:
		return is_own_mra(l)
			       ? NULL
			       : "programs with librdmacm send no MRA, rdma_cm does";
	case RN_SCN_READY:
		return rn_scn_has(l, RN_F_PRIVATE) ? "librdmacm sends no data in an RTU"
						   : NULL;
	case RN_SCN_DISCONNECT:
		return rn_scn_has(l, RN_F_PRIVATE)
			       ? "librdmacm sends no data in a DREQ or DREP"
			       : NULL;
	case RN_SCN_REJECT:
		return rn_scn_get(l, RN_F_REASON, RN_CM_REJ_CONSUMER) ==
				       RN_CM_REJ_CONSUMER
			       ? NULL
			       : "librdmacm rejects with one reason alone";
	case RN_SCN_ANSWER:
		return why_not_answer(l);
	default:
		if (rn_scn_has(l, RN_F_PSN))
			return "librdmacm chooses the PSNs";
		return l->given & chosen ? "librdmacm chooses path and transport" : NULL;
	}
}

/* Returns the reason why a live device cannot make the connections of the scenario; NULL
 * if it can.
 */
static const char *why_not_conns(const struct rn_scenario *s)
{
	bool calls = false;

	for (unsigned i = 0; i < s->lines; i++) {
		const struct rn_scn_line *l = &s->line[i];

		if (l->verb == RN_SCN_CM_EVENT && l->name == RN_CM_EV_LAP)
			return "librdmacm does not tell of alternate paths";
		/* In earlier scenarios, the device has already received answers from the
		 * tester, so it knows this peer.
		 */
		if (l->verb == RN_SCN_CM_COUNT && l->name == RN_CM_STAT_UNPROVEN)
			return "of a peer that the device has never heard of";
		calls = calls || rn_scn_is_cm_call(l->verb);
	}
	for (unsigned i = 0; i < s->conns && calls; i++) {
		if (rn_scn_has(&s->conn[i].line, RN_F_SERVICE))
			return "librdmacm knows services of IP alone";
		if (rn_scn_has(&s->conn[i].line, RN_F_LIFETIME))
			return "librdmacm finds the lifetime of packets by itself";
	}
	return NULL;
}

/* Returns the reason why neither a program that uses verbs nor a socket can execute the
 * line; NULL if one of them can.
 */
static const char *why_not_line(const struct rn_live_side *side,
				const struct rn_scn_line *l)
{
	if (l->verb == RN_SCN_POST &&
	    rn_scn_get(l, RN_F_KIND, RN_WR_SEND) == RN_WR_BIND_MW &&
	    (l->region[RN_F_RKEY] == RN_SCN_ABSOLUTE ||
	     l->region[RN_F_REGION] == RN_SCN_ABSOLUTE || l->value[RN_F_REGION]))
		return "programs bind windows and regions that they have, not keys";
	if (rn_scn_is_cm_call(l->verb))
		return why_not_cm_call(l);
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

/* Returns true if the scenario deregisters a region to which a window is bound. */
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

/* Returns how long a scenario with connections takes if the device does everything at the
 * time in the lines; 0: the scenario has no connections.
 */
static rn_ns duration(const struct rn_scenario *s)
{
	rn_ns sum = 0;

	for (unsigned i = 0; i < s->lines && s->conns; i++) {
		const struct rn_scn_line *l = &s->line[i];
		bool waits = l->verb == RN_SCN_MAD_OUT || l->verb == RN_SCN_CM_EVENT;
		rn_ns time = l->to.ns + (rn_ns)l->to.timeouts *
						rn_ack_timeout_ns(RN_CM_RESP_TIMEOUT);
		rn_ns longest = rn_live_cm_longest(l);

		sum += waits || time < longest ? time : longest;
	}
	return sum;
}

/* Returns true if the scenario expects an error that has only superfluous attributes as
 * its cause. On a live device it does not occur: programs set all attributes of RC for
 * both kinds of XRC QPs, and libibverbs removes those that do not apply.
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

const char *rn_live_why_not(const struct rn_live_target *t, const struct rn_scenario *s)
{
	const struct rn_live_side *side = &t->side[s->ipv6];
	const char *why = why_not_address(side, s->ipv6);
	uint32_t needed = objects_need(s);

	if (!why && (s->credits || s->exact || s->cc))
		why = "of a device with other settings";
	if (!why)
		why = why_not_conns(s);
	for (unsigned i = 0; i < s->lines && !why; i++) {
		why = why_not_line(side, &s->line[i]);
		needed |= line_needs(&s->line[i]);
		if (!why && is_lenient(s, &s->line[i]))
			why = "verbs leave out what a half of XRC has no use for";
	}
	if (!why)
		why = missing_ability(t->can, needed);
	if (!why && frees_bound(s))
		why = "verbs keep a region that a window is bound to";
	if (!why && duration(s) > (rn_ns)t->options.longest_s * RN_MSEC(1000))
		why = "its timers run for longer than --longest allows";
	return why;
}
