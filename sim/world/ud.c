/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ud.c - UD in a world: the destination of each datagram, and the QPs that must deliver
 * it.
 *
 * A QP delivers a datagram when it arrives, or never. So the checks know at its arrival
 * what the QP must do: drop the datagram if its Q_Key is wrong, if no receive is posted,
 * or if it does not fit the receive.
 */
#include <string.h>

#include "world_internal.h"

enum {
	QKEY = 0x1111,
	OTHER_QKEY = 0x2222,
	/* If this bit of a work request's Q_Key is set, the Q_Key of the sending QP is
	 * used.
	 */
	OWN_QKEY = 1u << 31,
	IPV4_AT = RN_GRH_LEN - 20,
};

uint32_t rn_w_qkey(const struct rn_w_end *e)
{
	return (e->qpn >> 8) % 5 ? QKEY : OTHER_QKEY;
}

const struct rn_gid *rn_w_group(const struct rn_world *w)
{
	static const struct rn_gid ipv4 = { { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	static const struct rn_gid ipv6 = { { 0xff, 0x0e, [15] = 0x77 } };

	return w->plan.ipv6 ? &ipv6 : &ipv4;
}

void rn_w_join_or_leave(struct rn_world *w, struct rn_w_end *e)
{
	struct rn_w_device *d = &w->device[e->dev];

	if (rn_w_type(e) != RN_QPT_UD)
		return;
	if (e->member)
		rn_mcast_detach(d->dev, &e->mcast);
	else
		rn_mcast_attach(d->dev, &e->mcast, e->qp, rn_w_group(w));
	e->member = !e->member;
	rn_w_say(w, "QP %x %s the group", e->qpn, e->member ? "joins" : "leaves");
}

/* ------------------------------------------------------ sending of datagrams */
/* Chooses the destination: the peer, another UD QP, or NULL for the multicast group. */
static struct rn_w_end *choose_target(struct rn_world *w, struct rn_w_end *e,
				      struct rn_random *r)
{
	uint32_t n = rn_random_below(r, 8);
	struct rn_w_end *other;

	if (n < 4)
		return e->peer;
	if (n < 7)
		return NULL;
	n = rn_random_below(r, 2 * w->plan.pairs);
	other = &w->pair[n / 2].end[n % 2];
	return other->qp && rn_w_type(other) == RN_QPT_UD ? other : e->peer;
}

void rn_w_address(struct rn_world *w, struct rn_w_end *e, struct rn_w_wr *wr,
		  struct rn_send_wr *send, struct rn_av *av, struct rn_random *r)
{
	struct rn_w_end *to = choose_target(w, e, r);
	uint32_t key = rn_random_below(r, 8);

	wr->dgid = to ? w->net->host[to->dev].gid : *rn_w_group(w);
	wr->dest_qpn = to ? to->qpn : RN_QPN_MULTICAST;
	wr->qkey = to ? rn_w_qkey(to) : QKEY;
	if (key == 0)
		wr->qkey = rn_w_qkey(e);
	else if (key == 1)
		wr->qkey ^= 1;
	*av = (struct rn_av){ .dgid = wr->dgid,
			      .hop_limit = 64,
			      .tclass = e->pair->plan->tclass };
	send->av = av;
	send->remote_qpn = wr->dest_qpn;
	send->remote_qkey = key ? wr->qkey : OWN_QKEY;
	/* A datagram that is too long completes with success but is not sent. */
	if (wr->len > RN_W_DATAGRAM)
		return;
	wr->index = e->messages_sent++;
	e->expected[wr->index % RN_ARRAY_SIZE(e->expected)] = *wr;
}

struct seen {
	struct rn_bth bth;
	struct rn_deth deth;
	struct rn_w_end *from; /* sender's QP; NULL: it was destroyed */
	const struct rn_w_wr *sent;
};

static void take_apart(struct rn_world *w, const struct rn_vnet_packet *pkt,
		       struct seen *s)
{
	const uint8_t *end = pkt->bytes + pkt->len;
	uint32_t index;

	s->sent = NULL;
	if (rn_bth_parse(&s->bth, pkt->bytes, end) ||
	    rn_deth_parse(&s->deth, pkt->bytes + RN_BTH_LEN, end)) {
		rn_w_fail(w, "device %u sends no datagram", pkt->from);
		return;
	}
	s->from = rn_w_find(w, pkt->from, s->deth.src_qpn);
	if (!s->from)
		return;
	index = (uint32_t)rn_psn_diff(s->bth.psn, s->from->first_psn);
	if (index < s->from->messages_sent)
		s->sent = &s->from->expected[index % RN_ARRAY_SIZE(s->from->expected)];
}

void rn_w_datagram_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt)
{
	struct seen s;

	take_apart(w, pkt, &s);
	if (w->result->failed)
		return;
	rn_w_say(w, "%u > QP %x UD from QP %x psn %06x", pkt->from, s.bth.dest_qpn,
		 s.deth.src_qpn, s.bth.psn.v);
	if (!s.from || !s.sent || s.bth.psn.v != s.from->next_psn.v) {
		rn_w_fail(w, "QP %x sends datagram %06x, whose turn it is not",
			  s.deth.src_qpn, s.bth.psn.v);
		return;
	}
	s.from->next_psn = rn_psn_add(s.bth.psn, 1);
	if (s.from->sqd != RN_W_RUNS)
		rn_w_fail(w, "QP %x sends datagram %06x in SQD", s.from->qpn,
			  s.bth.psn.v);
	if (s.bth.dest_qpn != s.sent->dest_qpn || s.deth.qkey != s.sent->qkey ||
	    memcmp(&pkt->flow.dst, &s.sent->dgid, sizeof(s.sent->dgid)) != 0)
		rn_w_fail(w, "QP %x sends datagram %06x to somebody else", s.from->qpn,
			  s.bth.psn.v);
}

/* ---------------------------------------------------- receiving of datagrams */
static bool has_room(const struct rn_w_end *e, uint32_t shared, uint32_t len)
{
	if (e->pair->plan->srq)
		return shared;
	return e->rq.head != e->rq.tail &&
	       len + RN_GRH_LEN <= e->rq.wr[e->rq.head % RN_W_WRS].len;
}

void rn_w_datagram_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt)
{
	uint32_t shared = rn_w_srq_posted(&w->device[pkt->to].srq[0]);
	const struct rn_opcode_info *op = &rn_opcode_info[pkt->bytes[0]];
	uint32_t len = pkt->len - op->hdr_len - RN_ICRC_LEN;
	uint32_t sharers = 0;
	struct seen s;

	take_apart(w, pkt, &s);
	if (w->result->failed)
		return;
	len -= s.bth.pad_cnt;
	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];
		bool for_it = s.bth.dest_qpn == RN_QPN_MULTICAST
				      ? e->member
				      : e->qpn == s.bth.dest_qpn;

		if (!e->qp || e->dev != pkt->to || !e->alive || !for_it ||
		    rn_w_type(e) != RN_QPT_UD || rn_w_qkey(e) != s.deth.qkey ||
		    !has_room(e, shared, len))
			continue;
		e->due = (struct rn_w_due){ .is_due = true,
					    .known = s.sent,
					    .flow = pkt->flow,
					    .src_qpn = s.deth.src_qpn };
		if (s.sent)
			e->due.sent = *s.sent;
		sharers += e->pair->plan->srq;
	}
	w->due_less = sharers > shared ? sharers - shared : 0;
}

void rn_w_datagram_done(struct rn_w_device *d)
{
	struct rn_world *w = d->w;

	for (uint32_t i = 0; i < 2 * w->plan.pairs; i++) {
		struct rn_w_end *e = &w->pair[i / 2].end[i % 2];

		if (e->due.is_due && e->pair->plan->srq && w->due_less)
			/* Another QP that uses the SRQ has taken the last receive. */
			w->due_less--;
		else if (e->due.is_due)
			rn_w_fail(w, "QP %x does not deliver a datagram that has come",
				  e->qpn);
		e->due.is_due = false;
	}
}

/* Checks the 40 bytes before the data of a datagram. They must contain the IP header of
 * @flow; an IPv4 header is in the last 20 of them.
 */
static bool is_header_of(const uint8_t *grh, const struct rn_flow *flow)
{
	const uint8_t *ip = grh + IPV4_AT;

	if (rn_flow_is_ipv4(flow))
		return ip[0] == 0x45 && ip[1] == flow->tclass &&
		       memcmp(ip + 12, flow->src.raw + 12, 4) == 0 &&
		       memcmp(ip + 16, flow->dst.raw + 12, 4) == 0;
	return rn_get_be32(grh) >> 20 == (6u << 8 | flow->tclass) &&
	       memcmp(grh + 8, flow->src.raw, 16) == 0 &&
	       memcmp(grh + 24, flow->dst.raw, 16) == 0;
}

void rn_w_check_datagram(struct rn_world *w, struct rn_w_end *e,
			 const struct rn_w_wr *recv, const struct rn_cqe *cqe)
{
	const struct rn_w_wr *sent = &e->due.sent;
	const uint8_t *bytes = rn_w_slot_bytes(&w->device[e->dev], recv->slot);
	bool imm = cqe->ctl >> 16 & RN_WC_WITH_IMM;

	if (!e->due.is_due) {
		rn_w_fail(w, "QP %x receives a datagram that is not for it", e->qpn);
		return;
	}
	e->due.is_due = false;
	w->result->datagrams++;
	if (!is_header_of(bytes, &e->due.flow) || !(cqe->ctl >> 16 & RN_WC_GRH) ||
	    cqe->src_qpn != e->due.src_qpn)
		rn_w_fail(w, "QP %x receives a datagram as if another had sent it",
			  e->qpn);
	if (!e->due.known)
		return;
	if (cqe->byte_len != RN_GRH_LEN + sent->len ||
	    imm != (sent->opcode == RN_WR_SEND_WITH_IMM) ||
	    (imm && cqe->imm != sent->imm))
		rn_w_fail(w, "QP %x receives datagram %llu as something else", e->qpn,
			  (unsigned long long)sent->id);
	else if (!rn_w_matches(bytes + RN_GRH_LEN, sent->pattern, sent->len))
		rn_w_fail(w, "QP %x receives datagram %llu, and the bytes are others",
			  e->qpn, (unsigned long long)sent->id);
}
