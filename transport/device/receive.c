/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* receive.c - checks a received packet and passes it to its queue pair, or to the members
 * of its multicast group.
 *
 * A packet that fails a check is counted and dropped; no other state changes. IBTA Vol 1,
 * 9.6.1 (packet header validation).
 */
#include <string.h>

#include "rocin/hash.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "transport/qp/qp.h"

/* ------------------------------------------------------------ multicast groups */
/* Returns a hash of the address of a multicast group. Addresses of groups usually differ
 * in their last bytes, so these are used.
 */
static uint32_t hash_group(const struct rn_gid *mgid)
{
	uint64_t hi = rn_get_be64(mgid->raw), lo = rn_get_be64(mgid->raw + 8);

	return (uint32_t)(rn_hash_word(lo ^ hi * 31) >> 32);
}

static uint32_t chain_of(uint32_t key)
{
	return key % RN_MCAST_CHAINS;
}

/* Returns the first member of the group @mgid in a hash chain, from the node @n on; NULL
 * if there is none.
 */
static struct rn_mcast *find_member(struct rn_hnode *n, uint32_t key,
				    const struct rn_gid *mgid)
{
	for (; n; n = n->next) {
		struct rn_mcast *m = RN_CONTAINER_OF(n, struct rn_mcast, node);

		if (n->key == key && memcmp(&m->mgid, mgid, sizeof(*mgid)) == 0)
			return m;
	}
	return NULL;
}

/* Returns the first member of the group; NULL if there is none. */
static struct rn_mcast *first_member(const struct rn_dev *dev, const struct rn_gid *mgid)
{
	uint32_t key = hash_group(mgid);

	return find_member(dev->mcasts[chain_of(key)], key, mgid);
}

/* Returns the next member of the same group; NULL if there is none. */
static struct rn_mcast *next_member(const struct rn_mcast *m)
{
	return find_member(m->node.next, m->node.key, &m->mgid);
}

struct rn_mcast *rn_mcast_find(const struct rn_dev *dev, const struct rn_qp *qp,
			       const struct rn_gid *mgid)
{
	struct rn_mcast *m = first_member(dev, mgid);

	while (m && m->qp != qp)
		m = next_member(m);
	return m;
}

uint32_t rn_mcast_members(const struct rn_dev *dev, const struct rn_gid *mgid)
{
	uint32_t count = 0;

	for (struct rn_mcast *m = first_member(dev, mgid); m; m = next_member(m))
		count++;
	return count;
}

void rn_mcast_attach(struct rn_dev *dev, struct rn_mcast *m, struct rn_qp *qp,
		     const struct rn_gid *mgid)
{
	struct rn_hnode **end;
	RN_SHOW_CALL(dev, .kind = RN_CALL_MCAST_ATTACH, .object = m,
		     .u.mcast = { qp, mgid });

	assert(qp->dev == dev && qp->type == RN_QPT_UD);
	assert(rn_gid_is_multicast(mgid));
	assert(!rn_mcast_find(dev, qp, mgid));
	*m = (struct rn_mcast){ .node.key = hash_group(mgid), .mgid = *mgid, .qp = qp };
	/* Append, because members receive their copies in the order in which they joined.
	 */
	end = &dev->mcasts[chain_of(m->node.key)];
	while (*end)
		end = &(*end)->next;
	*end = &m->node;
	qp->mcast_count++;
}

void rn_mcast_detach(struct rn_dev *dev, struct rn_mcast *m)
{
	struct rn_hnode **at = &dev->mcasts[chain_of(m->node.key)];
	RN_SHOW_CALL(dev, .kind = RN_CALL_MCAST_DETACH, .object = m);

	assert(m->qp->mcast_count > 0);
	while (*at != &m->node) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = m->node.next;
	m->qp->mcast_count--;
}

/* --------------------------------------------------------- checks of a packet */
/* Value that a check returns if the packet passes the check. */
#define FINE RN_STAT_COUNT

struct arrival {
	struct rn_dev *dev;
	rn_ns now;
	const struct rn_rx *rx;
	struct rn_packet p;
	/* For a multicast packet: the member of the group to which it is passed now. NULL
	 * for a unicast packet.
	 */
	struct rn_mcast *member;
	/* QP of a unicast packet, valid after find_qp(); or QP of @member. */
	struct rn_qp *qp;
};

/* Returns what is remembered of how the sender of a packet numbers its IPv4 packets (the
 * identification, which the ICRC covers). The hash table has several entries for each
 * hash: two senders that shared an entry would make each other's numbers unpredictable.
 */
static struct rn_icrc_hint *hint_of(struct rn_dev *dev, const struct rn_flow *flow)
{
	const uint8_t *src = flow->src.raw;
	uint64_t h = rn_hash_word(rn_get_be64(src) ^ rn_get_be64(src + 8) ^ flow->sport);
	struct rn_sender *set =
		&dev->sender[(h >> 32) % (RN_SENDERS / RN_SENDER_WAYS) * RN_SENDER_WAYS];
	uint16_t tag = (uint16_t)(h >> 48 | 1);

	for (unsigned i = 0; i < RN_SENDER_WAYS; i++)
		if (set[i].tag == tag)
			return &set[i].hint;
	set += dev->sender_turn++ % RN_SENDER_WAYS;
	*set = (struct rn_sender){ .tag = tag };
	return &set->hint;
}

static enum rn_stat check_size(struct arrival *a)
{
	return a->rx->len < RN_BTH_LEN + RN_ICRC_LEN ? RN_STAT_RX_SHORT : FINE;
}

static enum rn_stat check_icrc(struct arrival *a)
{
	const struct rn_rx *rx = a->rx;
	struct rn_dev *dev = a->dev;

	if (rx->icrc == RN_RX_ICRC_NONE)
		return FINE;
	switch (rn_icrc_check_with(
		hint_of(dev, rx->flow), rx->flow, rx->data, rx->len, rx->gro_idx,
		dev->cfg.icrc_exact || rx->icrc == RN_RX_ICRC_EXACT, &rx->part)) {
	case RN_ICRC_OK:
		return FINE;
	case RN_ICRC_OK_SOLVED:
		rn_count(dev, RN_STAT_RX_ICRC_SOLVED);
		return FINE;
	case RN_ICRC_BAD:
		break;
	}
	return RN_STAT_RX_ICRC;
}

static enum rn_stat check_bth(struct arrival *a)
{
	const uint8_t *data = a->rx->data;

	if (rn_bth_parse(&a->p.bth, data, data + a->rx->len))
		return RN_STAT_RX_BAD_TVER;
	a->p.op = &rn_opcode_info[a->p.bth.opcode];
	return FINE;
}

static enum rn_stat take_cnp(struct arrival *a);

/* Checks the opcode. Undefined opcodes of RC and XRC pass, because the responder has to
 * answer them with a NAK.
 */
static enum rn_stat check_opcode(struct arrival *a)
{
	uint8_t opcode = a->p.bth.opcode;

	if (opcode == RN_CNP)
		return take_cnp(a);
	if (rn_opcode_class(opcode) == RN_CLASS_RC ||
	    rn_opcode_class(opcode) == RN_CLASS_XRC)
		return FINE;
	return rn_opcode_is_known(opcode) ? FINE : RN_STAT_RX_BAD_OPCODE;
}

static enum rn_stat find_group(struct arrival *a)
{
	if (!rn_gid_is_multicast(&a->rx->flow->dst))
		return RN_STAT_RX_UNKNOWN_QP;
	a->member = first_member(a->dev, &a->rx->flow->dst);
	return a->member ? FINE : RN_STAT_RX_UNKNOWN_QP;
}

static enum rn_stat find_qp(struct arrival *a)
{
	uint32_t qpn = a->p.bth.dest_qpn;
	struct rn_dev *dev = a->dev;
	struct rn_hnode *node;

	if (!dev->last_qp || dev->last_qp->qpn != qpn) {
		if (qpn == RN_QPN_MULTICAST)
			return find_group(a);
		node = rn_htab_find(&dev->qps, qpn);
		if (!node)
			return RN_STAT_RX_UNKNOWN_QP;
		dev->last_qp = RN_CONTAINER_OF(node, struct rn_qp, node);
	}
	a->qp = dev->last_qp;
	return FINE;
}

static enum rn_stat check_header_len(struct arrival *a)
{
	uint32_t hdr_len = a->p.op->flags ? a->p.op->hdr_len : RN_BTH_LEN;
	uint32_t rest = a->rx->len - RN_ICRC_LEN;

	if (rest < hdr_len + a->p.bth.pad_cnt)
		return RN_STAT_RX_SHORT;
	a->p.flow = a->rx->flow;
	a->p.ext = a->rx->data + RN_BTH_LEN;
	a->p.payload = a->rx->data + hdr_len;
	a->p.payload_len = rest - hdr_len - a->p.bth.pad_cnt;
	a->p.wire_len = a->rx->len;
	return FINE;
}

static bool is_response(const struct arrival *a)
{
	return (a->p.op->flags & RN_OP_RESPONSE) != 0;
}

/* Checks that the opcode is of the transport class of the QP. An XRC queue pair accepts
 * either requests or responses, depending on its type.
 */
static enum rn_stat check_class(struct arrival *a)
{
	static const uint8_t class_of[RN_QPT_COUNT] = {
		[RN_QPT_RC] = RN_CLASS_RC,
		[RN_QPT_UC] = RN_CLASS_UC,
		[RN_QPT_UD] = RN_CLASS_UD,
		[RN_QPT_RAW_PACKET] = 0xff, /* no class: accepts no RoCE packet */
		[RN_QPT_XRC_SEND] = RN_CLASS_XRC,
		[RN_QPT_XRC_RECV] = RN_CLASS_XRC,
	};

	if (rn_opcode_class(a->p.bth.opcode) != class_of[a->qp->type])
		return RN_STAT_RX_BAD_OPCODE;
	if (rn_qp_is_xrc(a->qp) && is_response(a) != (a->qp->type == RN_QPT_XRC_SEND))
		return RN_STAT_RX_BAD_OPCODE;
	return FINE;
}

static enum rn_stat check_state(struct arrival *a)
{
	enum {
		REQUESTS = 1,
		RESPONSES = 2
	};
	static const uint8_t takes[RN_QPS_COUNT] = {
		[RN_QPS_RTR] = REQUESTS,
		[RN_QPS_RTS] = REQUESTS | RESPONSES,
		[RN_QPS_SQD] = REQUESTS | RESPONSES,
		[RN_QPS_SQE] = REQUESTS,
	};

	return takes[a->qp->state] & (is_response(a) ? RESPONSES : REQUESTS)
		       ? FINE
		       : RN_STAT_RX_BAD_STATE;
}

/* Checks the P_Key. The local P_Key is always the default one with full membership, so
 * limited members may send to this device.
 */
static enum rn_stat check_pkey(struct arrival *a)
{
	return (a->p.bth.pkey & 0x7fff) == (RN_PKEY_DEFAULT & 0x7fff)
		       ? FINE
		       : RN_STAT_RX_BAD_PKEY;
}

static enum rn_stat check_source(struct arrival *a)
{
	if (a->qp->type == RN_QPT_UD || rn_flow_is_back(a->p.flow, &a->qp->flow))
		return FINE;
	return rn_apm_takes(a->qp, &a->p) ? FINE : RN_STAT_RX_BAD_SOURCE;
}

/* Checks a congestion notification (CNP) and passes it to congestion control. It is
 * counted even if it is dropped. A QP accepts it in more states than other packets,
 * because its responses, too, can cause CNPs. Returns the counter that is to be
 * incremented for the packet.
 */
static enum rn_stat take_cnp(struct arrival *a)
{
	enum rn_stat objection;

	if (!a->dev->cfg.cc)
		return RN_STAT_RP_CNP_IGNORED;
	objection = find_qp(a);
	if (objection != FINE)
		return objection;
	if (a->member || a->qp->type == RN_QPT_RAW_PACKET)
		return RN_STAT_RX_BAD_OPCODE;
	objection = check_header_len(a);
	if (objection == FINE)
		objection = check_pkey(a);
	if (objection == FINE &&
	    (a->qp->state < RN_QPS_RTR || a->qp->state == RN_QPS_ERR))
		objection = RN_STAT_RX_BAD_STATE;
	if (objection == FINE)
		objection = check_source(a);
	if (objection != FINE)
		return objection;
	rn_cnp_receive(a->qp, a->now);
	return RN_STAT_RP_CNP_HANDLED;
}

/* Performs the checks of the packet and of its destination, in the order of
 * the specification.
 */
static enum rn_stat check_packet(struct arrival *a)
{
	enum rn_stat objection = check_size(a);

	objection = objection == FINE ? check_icrc(a) : objection;
	objection = objection == FINE ? check_bth(a) : objection;
	objection = objection == FINE ? check_opcode(a) : objection;
	objection = objection == FINE ? find_qp(a) : objection;
	return objection == FINE ? check_header_len(a) : objection;
}

/* Performs the checks that depend on the QP. For a multicast packet they are performed
 * once for each member of the group.
 */
static enum rn_stat check_for_qp(struct arrival *a)
{
	enum rn_stat objection = check_class(a);

	objection = objection == FINE ? check_state(a) : objection;
	objection = objection == FINE ? check_pkey(a) : objection;
	return objection == FINE ? check_source(a) : objection;
}

/* ------------------------------------------------- delivery to the queue pair */
/* Raises the event COMM_EST when the first request comes to a QP in RTR. It tells the
 * program of the passive side that the active side is ready to send.
 */
static void note_first_request(struct rn_qp *qp)
{
	if (qp->state != RN_QPS_RTR || qp->type == RN_QPT_UD || qp->rsp.comm_est)
		return;
	qp->rsp.comm_est = true;
	rn_event_raise(qp, RN_EVENT_COMM_EST);
}

static void deliver_packet(const struct arrival *a, rn_ns now)
{
	struct rn_qp *qp = a->qp;

	if (is_response(a)) {
		rn_req_receive(qp, now, &a->p);
		return;
	}
	a->dev->requests++;
	note_first_request(qp);
	if (rn_qp_is_reliable(qp))
		rn_rsp_receive(qp, now, &a->p);
	else if (qp->type == RN_QPT_UC)
		rn_uc_receive(qp, now, &a->p);
	else
		rn_ud_receive(qp, now, &a->p);
}

static void hand_over(struct arrival *a, rn_ns now)
{
	enum rn_stat objection = check_for_qp(a);
	struct rn_stats_qp *s = a->qp->stats;

	if (objection != FINE) {
		rn_count(a->dev, objection);
		return;
	}
	rn_apm_received(a->qp, &a->p);
	if (a->qp->cc && rn_flow_is_marked(a->p.flow))
		rn_cnp_answer(a->qp, now, &a->p);
	deliver_packet(a, now);
	rn_dev_settle(a->dev, now);
	if (s) {
		__atomic_store_n(&s->rx_packets, s->rx_packets + 1, __ATOMIC_RELAXED);
		rn_qp_publish(a->qp);
	}
}

static void receive_one(struct rn_dev *dev, rn_ns now, const struct rn_rx *rx)
{
	struct arrival a = { .dev = dev, .now = now, .rx = rx };
	enum rn_stat objection = check_packet(&a);

	rn_count(dev, RN_STAT_RX_PACKETS);
	rn_count_n(dev, RN_STAT_RX_BYTES, rx->len);
	if (objection != FINE) {
		rn_count(dev, objection);
		return;
	}
	if (!a.member) {
		hand_over(&a, now);
		return;
	}
	rn_count(dev, RN_STAT_RX_MULTICAST);
	for (; a.member; a.member = next_member(a.member)) {
		a.qp = a.member->qp;
		hand_over(&a, now);
	}
}

/* Processes received packets. A recorder that is told of the call may reduce @count.
 * Return: the number of packets processed.
 */
static unsigned receive_some(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
			     unsigned count)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_RECEIVE, .now = now,
		     .u.receive = { pkts, count });

	if (rn_shown)
		count = rn_shown->u.receive.count;
	for (unsigned i = 0; i < count; i++) {
		dev->arriving = &pkts[i];
		receive_one(dev, now, &pkts[i]);
	}
	dev->arriving = NULL;
	return count;
}

void rn_dev_receive(struct rn_dev *dev, rn_ns now, const struct rn_rx *pkts,
		    unsigned count)
{
	unsigned taken;

	for (; count > 0; count -= taken, pkts += taken)
		taken = receive_some(dev, now, pkts, count);
}
