/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* observe.c - checks of all packets that are sent: sequence numbers, windows, answers,
 * and the retries that each QP counts.
 */
#include <stdio.h>
#include <string.h>

#include "world_internal.h"

/* ---- The check of retries ---- */
/* A QP may count a retry only for a loss that the world caused, once for each loss, or
 * for a timeout that has really expired. It may give up a PSN only if it has sent that
 * PSN retry_cnt + 1 times. The check learns from the packets alone which PSNs are
 * unanswered: an answer acknowledges all earlier PSNs except those of READs and atomics,
 * which need answers of their own.
 */
static rn_ns local_time(const struct rn_w_end *e)
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

/* Called when a request is sent that takes @count PSNs from @psn on. @alone: the request
 * is a READ or atomic, which only its own response acknowledges.
 */
void rn_w_account_asked(struct rn_w_end *e, struct rn_psn psn, uint32_t count, bool alone)
{
	struct rn_w_account *a = &e->account;

	for (uint32_t i = 0; i < count; i++)
		a->alone[(psn.v + i) % RN_W_PSNS] = alone;
	if (psn.v != a->una.v)
		return;
	if (a->una.v == e->next_psn.v)
		a->since = local_time(e);
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
	a->since = local_time(e);
	if (rn_psn_before(a->heard, a->una))
		a->heard = a->una;
}

/* Called when an answer with PSN @psn has reached @e. @is_answer: the answer is the
 * response to the READ or atomic at that PSN. @accepts: it is an ACK, not a NAK.
 */
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
	/* Earlier responses are missing, but this one shows that the peer is alive, so
	 * the requester restarts its timer.
	 */
	a->heard = psn;
	a->since = local_time(e);
}

static void check_timeouts(struct rn_world *w, struct rn_w_end *e,
			   const struct rn_retries *now)
{
	struct rn_w_account *a = &e->account;
	rn_ns least = (rn_ns)4096 << e->pair->plan->timeout;

	if (now->timeouts == a->seen.timeouts)
		return;
	if (now->timeouts != a->seen.timeouts + 1 || local_time(e) - a->since < least)
		rn_w_fail(w, "QP %x counts a timeout %lld ns after its peer was heard of",
			  e->qpn, (long long)(local_time(e) - a->since));
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
	a->since = local_time(e);
}

bool rn_w_account_is_spent(const struct rn_w_end *e)
{
	return e->account.attempts > e->pair->plan->retry;
}

/* ------------------------------------------------------- checks of packets */
void rn_w_observe_reset(struct rn_w_end *e, uint32_t psn)
{
	e->next_psn = e->arrived = e->answered = rn_psn(psn);
	e->started = e->msn = 0;
	e->asked = false;
	e->taken = e->arrived;
	e->told = rn_psn_add(e->arrived, RN_PSN_MASK);
	e->notified_at = 0;
	e->lacked_recv = false;
	e->rd_head = e->rd_tail = 0;
	rn_w_account_reset(e, e->next_psn);
	memset(e->payload, 0, sizeof(e->payload));
	memset(e->ended, 0, sizeof(e->ended));
}

/* A packet, split into its headers and payload, with the QPs at both ends. */
struct seen {
	struct rn_bth bth;
	const struct rn_opcode_info *op;
	const uint8_t *ext; /* extension headers behind the BTH */
	uint32_t payload_len;
	const uint8_t *payload;
	struct rn_w_end *from, *to;
};

static bool take_apart(struct rn_world *w, const struct rn_vnet_packet *pkt,
		       struct seen *s)
{
	if (rn_bth_parse(&s->bth, pkt->bytes, pkt->bytes + pkt->len))
		return false;
	s->op = &rn_opcode_info[s->bth.opcode];
	s->ext = pkt->bytes + RN_BTH_LEN;
	if (s->op->flags & RN_OP_XRCETH)
		s->ext += RN_XRCETH_LEN;
	s->payload = pkt->bytes + s->op->hdr_len;
	s->payload_len = pkt->len - s->op->hdr_len - s->bth.pad_cnt - RN_ICRC_LEN;
	s->to = rn_w_find(w, pkt->to, s->bth.dest_qpn);
	s->from = s->to ? s->to->peer : NULL;
	return s->to && rn_opcode_is_known(s->bth.opcode);
}

static bool is_datagram(const struct rn_vnet_packet *pkt)
{
	return rn_opcode_class(pkt->bytes[0]) == RN_CLASS_UD;
}

/* Returns the number of PSNs that a request takes. */
static uint32_t packets_of(const struct seen *s)
{
	uint32_t mtu = s->from->pair->plan->mtu;
	struct rn_reth reth;

	if (s->op->kind != RN_OP_KIND_READ)
		return 1;
	if (rn_reth_parse(&reth, s->ext, s->ext + RN_RETH_LEN) || reth.dma_len == 0)
		return 1;
	return (reth.dma_len + mtu - 1) / mtu;
}

static uint32_t payload_sum(const struct seen *s)
{
	uint64_t h = s->payload_len + 1;

	for (uint32_t i = 0; i + 8 <= s->payload_len; i += 8)
		h = rn_random_mix(h ^ rn_get_be64(s->payload + i));
	for (uint32_t i = s->payload_len & ~7u; i < s->payload_len; i++)
		h = rn_random_mix(h ^ s->payload[i]);
	return (uint32_t)h | 1;
}

static bool is_answered_alone(const struct seen *s)
{
	return s->op->flags & RN_OP_ANSWERED;
}

/* Checks how many READs and atomics are in progress: no more than the responder allows,
 * and none when a request with a fence is sent.
 */
static void check_depth(struct rn_world *w, const struct seen *s)
{
	struct rn_w_end *e = s->from;
	struct rn_psn last = rn_psn_add(s->bth.psn, packets_of(s) - 1);
	bool begins = s->bth.psn.v == e->next_psn.v && (s->op->flags & RN_OP_FIRST);

	/* The requester has gone back to this PSN, and sends the READs and atomics from
	 * here on again.
	 */
	while (e->rd_tail != e->rd_head &&
	       !rn_psn_before(e->rd_last[(e->rd_tail - 1) % RN_W_DEPTH], s->bth.psn))
		e->rd_tail--;
	if (begins && e->fence[e->started % (2 * RN_W_WRS)] && e->rd_tail != e->rd_head)
		rn_w_fail(w, "QP %x sends PSN %06x in spite of a fence", e->qpn,
			  s->bth.psn.v);
	if (!is_answered_alone(s))
		return;
	if (e->rd_tail - e->rd_head >= e->pair->plan->depth) {
		rn_w_fail(w, "QP %x has more than %u READs and atomics under way", e->qpn,
			  e->pair->plan->depth);
		return;
	}
	e->rd_last[e->rd_tail++ % RN_W_DEPTH] = last;
}

static void request_leaves(struct rn_world *w, const struct seen *s)
{
	struct rn_w_end *e = s->from;
	struct rn_psn psn = s->bth.psn;
	uint32_t *known = &e->payload[psn.v % RN_W_PSNS];
	int32_t ahead = rn_psn_diff(psn, e->next_psn);
	bool payload = s->op->kind == RN_OP_KIND_SEND || s->op->kind == RN_OP_KIND_WRITE;

	check_depth(w, s);
	rn_w_account_asked(e, psn, packets_of(s), is_answered_alone(s));
	if (ahead > 0)
		rn_w_fail(w, "QP %x sends PSN %06x before %06x", e->qpn, psn.v,
			  e->next_psn.v);
	if (ahead < 0 && !rn_w_is_reliable(e))
		rn_w_fail(w, "QP %x sends PSN %06x again", e->qpn, psn.v);
	if (payload && ahead < 0 && *known && *known != payload_sum(s))
		rn_w_fail(w, "QP %x sends other bytes again under PSN %06x", e->qpn,
			  psn.v);
	*known = payload ? payload_sum(s) : 0;
	if (ahead == 0 && (s->op->flags & RN_OP_FIRST)) {
		e->started++;
		if (e->sqd != RN_W_RUNS)
			rn_w_fail(w, "QP %x begins PSN %06x in SQD", e->qpn, psn.v);
	}
	if (ahead == 0)
		for (uint32_t i = 0; i < packets_of(s); i++)
			e->ended[(psn.v + i) % RN_W_PSNS] =
				e->started - !(s->op->flags & RN_OP_LAST);
	if (!rn_psn_before(rn_psn_add(psn, packets_of(s)), e->next_psn))
		e->next_psn = rn_psn_add(psn, packets_of(s));
	if (s->payload_len > e->pair->plan->mtu)
		rn_w_fail(w, "QP %x sends %u bytes in a packet", e->qpn, s->payload_len);
}

static void aeth_leaves(struct rn_world *w, const struct seen *s)
{
	struct rn_w_end *e = s->to; /* the requester that gets the response */
	struct rn_aeth aeth;

	if (rn_aeth_parse(&aeth, s->ext, s->ext + RN_AETH_LEN))
		return;
	if (rn_aeth_type(aeth.syndrome) != RN_AETH_ACK) {
		e->taken = s->bth.psn;
		e->asked = false;
	}
	if (rn_psn_before(e->told, s->bth.psn))
		e->told = s->bth.psn;
	/* An answer to a duplicate request may repeat the MSN of the first answer. */
	if (!rn_psn_before(s->bth.psn, e->answered)) {
		/* A READ counts as a message when its first response packet leaves. It
		 * may still be refused afterwards, by a NAK whose MSN does not count the
		 * READ.
		 */
		if (aeth.msn < e->msn && !(rn_aeth_type(aeth.syndrome) == RN_AETH_NAK &&
					   aeth.msn + 1 == e->msn))
			rn_w_fail(w, "QP %x counts messages backwards: MSN %u after %u",
				  s->from->qpn, aeth.msn, e->msn);
		e->answered = s->bth.psn;
		e->msn = aeth.msn;
	}
	if (aeth.msn > e->started)
		rn_w_fail(w, "QP %x has counted %u messages, of %u that have begun",
			  s->from->qpn, aeth.msn, e->started);
	if (s->op->kind == RN_OP_KIND_ACK && rn_aeth_type(aeth.syndrome) == RN_AETH_ACK &&
	    e->started && rn_psn_before(s->bth.psn, e->next_psn) &&
	    aeth.msn < e->ended[s->bth.psn.v % RN_W_PSNS])
		rn_w_fail(w,
			  "QP %x acknowledges PSN %06x with MSN %u, and %u messages end "
			  "there",
			  s->from->qpn, s->bth.psn.v, aeth.msn,
			  e->ended[s->bth.psn.v % RN_W_PSNS]);
	if (rn_aeth_type(aeth.syndrome) == RN_AETH_ACK &&
	    !rn_psn_before(s->bth.psn, e->arrived))
		rn_w_fail(w, "QP %x acknowledges PSN %06x, and %06x has not come",
			  s->from->qpn, s->bth.psn.v, e->arrived.v);
	if (rn_aeth_type(aeth.syndrome) == RN_AETH_RNR) {
		if (!s->from->lacked_recv)
			rn_w_fail(w, "QP %x says that it has no receive, and has %u",
				  s->from->qpn, s->from->rq.tail - s->from->rq.head);
		s->from->lacked_recv = s->from->rq.head == s->from->rq.tail;
	}
}

/* Checks a CNP that a device sends. It may send at most as many CNPs as it has received
 * packets with a CE mark, and a QP must wait at least 50 us between two CNPs.
 */
static void cnp_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt,
		       const struct seen *s)
{
	struct rn_w_device *d = &w->device[pkt->from];
	rn_ns now = rn_w_local(d);

	if (rn_w_type(s->from) != RN_QPT_UD) {
		if (s->from->notified_at && now - s->from->notified_at < RN_USEC(50))
			rn_w_fail(w, "QP %x tells of congestion too often", s->from->qpn);
		s->from->notified_at = now;
	}
	if (w->plan.cc == RN_CC_OFF || d->notified == d->marked)
		rn_w_fail(w, "device %u tells of congestion that was not", d->number);
	d->notified++;
}

static const char *aeth_text(const struct seen *s, char *to, size_t len)
{
	to[0] = '\0';
	if (s->op->flags & RN_OP_AETH)
		snprintf(to, len, " syndrome %02x msn %u", s->ext[0],
			 rn_get_be24(s->ext + 1));
	return to;
}

void rn_w_observe_leaves(struct rn_world *w, const struct rn_vnet_packet *pkt)
{
	struct seen s;
	char text[48];

	if (is_datagram(pkt)) {
		rn_w_datagram_leaves(w, pkt);
		return;
	}
	if (!take_apart(w, pkt, &s))
		return; /* the destination QP was destroyed */
	if (w->trace)
		rn_w_say(w, "%u > %u QP %x %s psn %06x%s len %u%s", pkt->from, pkt->to,
			 s.bth.dest_qpn, s.op->name, s.bth.psn.v,
			 s.bth.ack_req ? " ack" : "", s.payload_len,
			 aeth_text(&s, text, sizeof(text)));
	if (s.op->kind == RN_OP_KIND_CNP)
		cnp_leaves(w, pkt, &s);
	else if (s.op->flags & RN_OP_REQUEST)
		request_leaves(w, &s);
	else if (s.op->flags & RN_OP_AETH)
		aeth_leaves(w, &s);
}

/* Handles an answer that reaches the requester. The answer acknowledges all earlier
 * READs and atomics, too.
 */
static void answer_arrives(const struct seen *s)
{
	struct rn_w_end *e = s->to;
	bool is_ack = s->op->kind == RN_OP_KIND_ACK;

	if (s->op->kind != RN_OP_KIND_CNP)
		rn_w_account_answered(e, s->bth.psn, !is_ack,
				      rn_aeth_type(s->ext[0]) == RN_AETH_ACK);

	if ((s->op->flags & RN_OP_AETH) && rn_aeth_type(s->ext[0]) == RN_AETH_RNR)
		e->rnrs++;
	if ((s->op->flags & RN_OP_AETH) && rn_aeth_type(s->ext[0]) == RN_AETH_NAK &&
	    e->pair->stale) {
		e->pair->stale--;
		e->pair->troubles++;
		rn_w_account_lost(e, 1);
	}
	while (e->rd_head != e->rd_tail &&
	       !rn_psn_before(s->bth.psn, e->rd_last[e->rd_head % RN_W_DEPTH]))
		e->rd_head++;
}

void rn_w_observe_arrives(struct rn_world *w, const struct rn_vnet_packet *pkt)
{
	struct seen s;

	if (is_datagram(pkt)) {
		rn_w_datagram_arrives(w, pkt);
		return;
	}
	if (!take_apart(w, pkt, &s))
		return;
	if (s.op->flags & RN_OP_RESPONSE)
		answer_arrives(&s);
	if (!(s.op->flags & RN_OP_REQUEST))
		return;
	/* The device may send its RNR NAK later, behind other answers, when a receive has
	 * been posted again. So the check remembers now that no receive was posted when
	 * the request arrived.
	 */
	if (s.to->pair->plan->srq || s.to->rq.head == s.to->rq.tail)
		s.to->lacked_recv = true;
	if (s.bth.psn.v == s.from->arrived.v)
		s.from->arrived = rn_psn_add(s.bth.psn, packets_of(&s));
	if (s.bth.psn.v == s.from->taken.v) {
		s.from->taken = rn_psn_add(s.bth.psn, packets_of(&s));
		s.from->asked = s.bth.ack_req || is_answered_alone(&s);
	}
}
