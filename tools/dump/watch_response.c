/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_response.c - checks captured responses against the requests that they answer. */
#include <inttypes.h>

#include "watch_internal.h"

/* ---- Message sequence number ---- */

/* Returns the difference of two MSNs. They have 24 bits and wrap like PSNs. */
static int32_t msn_diff(uint32_t a, uint32_t b)
{
	return rn_psn_diff(rn_psn(a), rn_psn(b));
}

/* Sets *@count to the number of messages that end with the request at @psn or before it.
 * For a NAK, only messages that end before it count. Returns false if the number is not
 * known.
 */
static bool messages_to(struct rn_watch_flow *f, struct rn_psn psn, bool is_nak,
			uint32_t *count)
{
	const struct rn_watch_record *r = rn_watch_record(f, psn);

	if (!r || rn_psn_before(psn, f->msn_since))
		return false;
	*count = r->messages - (is_nak && r->ends_message ? 1 : 0);
	return true;
}

/* Checks the MSN of a response. When the responder sends a response with PSN p, it has
 * completed all messages up to p, but none that the requester has not sent yet. If the
 * connection manager has set up the connection, the first MSN is known. Otherwise only
 * limits of it are known, which each AETH may narrow.
 */
static void check_msn(struct rn_watch_job *job, struct rn_watch_flow *f, bool is_nak)
{
	uint32_t msn = job->p->aeth.msn, least;
	int32_t high, low;

	if (!messages_to(f, job->p->bth.psn, is_nak, &least))
		return;
	if (!f->has_msn) {
		f->has_msn = true;
		f->msn_ref = (msn - least) & RN_PSN_MASK;
		f->msn_high = 0;
		f->msn_low = -(int32_t)(f->messages - least);
		return;
	}
	high = msn_diff(msn - least, f->msn_ref);
	low = high - (int32_t)(f->messages - least);
	if (high >= f->msn_low && low <= f->msn_high) {
		f->msn_high = high < f->msn_high ? high : f->msn_high;
		f->msn_low = low > f->msn_low ? low : f->msn_low;
		return;
	}
	if (high < f->msn_low)
		rn_watch_say(job, RN_RULE_MSN, "%" PRIu32 ", at least %" PRIu32, msn,
			     (f->msn_ref + (uint32_t)f->msn_low + least) & RN_PSN_MASK);
	else
		rn_watch_say(job, RN_RULE_MSN, "%" PRIu32 ", at most %" PRIu32, msn,
			     (f->msn_ref + (uint32_t)f->msn_high + f->messages) &
				     RN_PSN_MASK);
	f->has_msn = false;
}

static void take_credits(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	uint8_t code = rn_aeth_value(job->p->aeth.syndrome);
	uint32_t credits = rn_aeth_credits(code), limit;

	rn_watch_count_credits(f, job->at, credits);
	if (code == RN_AETH_NO_CREDIT || !f->has_msn) {
		f->has_credits = false;
		return;
	}
	/* Number of the last message that the requester may send now: the newest message
	 * that the MSN of the ACK may mean, plus the credits.
	 */
	limit = (uint32_t)msn_diff(job->p->aeth.msn - (uint32_t)f->msn_low, f->msn_ref) +
		credits;
	if (!f->has_credits || (int32_t)(limit - f->credit_limit) > 0)
		f->credit_limit = limit;
	f->has_credits = true;
}

/* ---- Acknowledged PSNs and round trip times ---- */

/* Marks all PSNs before @psn as acknowledged. */
static void advance(struct rn_watch_job *job, struct rn_watch_flow *f, struct rn_psn psn)
{
	uint32_t i = rn_watch_search(f, f->una);
	uint64_t bytes = 0;

	if (!rn_psn_before(f->una, psn)) {
		job->out->is_duplicate = true;
		f->half.n.duplicates++;
		return;
	}
	for (; i < f->count; i++) {
		struct rn_watch_record *r = rn_watch_at(f, i);

		if (!rn_psn_before(r->psn, psn))
			break;
		if (!rn_watch_is_answered(r->opcode)) {
			bytes += r->payload_len;
			continue;
		}
		/* This is no error: the READ or atomic was answered before, or @psn
		 * belongs to a response in the middle of this READ.
		 */
		if (r->is_done || rn_psn_before(psn, rn_psn_add(r->psn, r->span)))
			continue;
		rn_watch_say(job, RN_RULE_ACK_OVER, "%s of PSN %" PRIu32,
			     rn_opcode_info[r->opcode].name, r->psn.v);
		r->is_done = true;
	}
	f->una = psn;
	if (f->is_doubted && rn_psn_before(f->doubt_to, psn))
		rn_watch_believe(f);
	rn_watch_count_done(f, job->at, bytes);
}

static void measure_rtt(struct rn_watch_job *job, struct rn_watch_flow *f,
			const struct rn_watch_record *r)
{
	/* If a request was sent twice, it is not known which transmission was answered,
	 * so it gives no round trip time (Karn's algorithm).
	 */
	if (!r || r->is_resent || rn_psn_before(job->p->bth.psn, f->una))
		return;
	job->out->since = job->at - r->first_at;
	if (job->out->since > 0)
		rn_watch_count_rtt(f, job->at, job->out->since);
}

/* ---- ACKs and NAKs ---- */

static void acknowledge(struct rn_watch_job *job, struct rn_watch_flow *f,
			struct rn_watch_record *r)
{
	f->half.n.acks++;
	/* A READ or atomic that was answered before may be acknowledged again by an ACK,
	 * which then has the last PSN of the request.
	 */
	if (r && rn_watch_is_answered(r->opcode)) {
		uint32_t k = (uint32_t)rn_psn_diff(job->p->bth.psn, r->psn);

		if (r->is_span_inferred) {
			rn_watch_doubt(f);
		} else if (k + 1 < r->span) {
			rn_watch_say(job, RN_RULE_ACK_KIND, "%" PRIu32 " of %" PRIu32,
				     k + 1, r->span);
			return;
		}
	} else {
		measure_rtt(job, f, r);
	}
	advance(job, f, rn_psn_add(job->p->bth.psn, 1));
}

static void refuse_for_now(struct rn_watch_job *job, struct rn_watch_flow *f,
			   const struct rn_watch_record *r)
{
	struct rn_psn psn = job->p->bth.psn;
	uint8_t syndrome = job->p->aeth.syndrome;

	if (f->nak.is_rnr && f->nak.psn.v == psn.v)
		rn_watch_say(job, RN_RULE_NAK_AGAIN, "an RNR NAK before");
	if (r && !(rn_opcode_info[r->opcode].flags & RN_OP_RECV_WQE_TAKEN))
		rn_watch_say(job, RN_RULE_RNR_KIND, "%s", rn_opcode_info[r->opcode].name);
	f->half.n.rnr_naks++;
	if (f->nak.is_fatal)
		return;
	f->nak.is_rnr = true;
	f->nak.is_seq = f->nak.is_heeded = false;
	f->nak.psn = psn;
	f->nak.until = job->at + rn_rnr_timer_ns(rn_aeth_value(syndrome));
}

static void note_nak(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_psn psn = job->p->bth.psn;

	if (rn_aeth_value(job->p->aeth.syndrome) != RN_NAK_PSN_SEQ) {
		f->half.n.fatal_naks++;
		if (!f->nak.is_fatal)
			f->nak = (struct rn_watch_nak){ .is_fatal = true, .psn = psn };
		return;
	}
	f->half.n.seq_naks++;
	if (f->nak.is_fatal)
		return;
	if ((f->nak.is_seq || f->nak.is_rnr) && f->nak.psn.v == psn.v)
		rn_watch_say(job, RN_RULE_NAK_AGAIN, "%s NAK before",
			     f->nak.is_rnr ? "an RNR" : "a sequence");
	/* An RNR NAK for the same PSN stays valid, because it contains the time to wait
	 * before the request is sent again.
	 */
	if (!f->nak.is_rnr || f->nak.psn.v != psn.v)
		f->nak = (struct rn_watch_nak){ .is_seq = true, .psn = psn };
}

static void note_ack(struct rn_watch_job *job, struct rn_watch_flow *f,
		     struct rn_watch_record *r)
{
	enum rn_aeth_type type = rn_aeth_type(job->p->aeth.syndrome);

	if (type == RN_AETH_RESERVED)
		return;
	check_msn(job, f, type != RN_AETH_ACK);
	if (type == RN_AETH_ACK) {
		take_credits(job, f);
		acknowledge(job, f, r);
		return;
	}
	rn_watch_count_nak(f, job->at);
	/* A NAK may come after some of the responses to a READ. It acknowledges the PSNs
	 * before its own.
	 */
	if (rn_psn_before(f->una, job->p->bth.psn))
		advance(job, f, job->p->bth.psn);
	if (type == RN_AETH_RNR)
		refuse_for_now(job, f, r);
	else
		note_nak(job, f);
}

/* ---- READ and atomic responses ---- */

static const char *const wants[] = {
	[RN_ANSWER_NONE] = "nothing",
	[RN_ANSWER_ACK] = "an ACK",
	[RN_ANSWER_DATA] = "READ responses",
	[RN_ANSWER_ATOMIC] = "an atomic acknowledge",
	[RN_ANSWER_EMPTY] = "a READ response without data",
};

static bool is_fit(struct rn_watch_job *job, const struct rn_watch_record *r)
{
	enum rn_op_answer answer = (enum rn_op_answer)rn_opcode_info[r->opcode].answer;
	const struct rn_packet *p = job->p;
	bool fits = false;

	switch (answer) {
	case RN_ANSWER_DATA:
		fits = p->op->kind == RN_OP_KIND_READ_RESPONSE;
		break;
	case RN_ANSWER_ATOMIC:
		fits = p->op->kind == RN_OP_KIND_ATOMIC_ACK;
		break;
	case RN_ANSWER_EMPTY:
		fits = rn_opcode_operation(p->bth.opcode) == RN_RC_READ_RESPONSE_ONLY &&
		       p->payload_len == 0;
		break;
	case RN_ANSWER_ACK:
	case RN_ANSWER_NONE:
		break;
	}
	if (!fits)
		rn_watch_say(job, RN_RULE_RESPONSE_KIND, "%s to %s; it wants %s",
			     p->op->name, rn_opcode_info[r->opcode].name, wants[answer]);
	return fits;
}

/* Learns from response number @k (from 0) to READ @r: the path MTU from any response
 * except the last one, and the number of PSNs of @r from the last one. Learns nothing if
 * the response may answer another request.
 */
static void learn_sizes(struct rn_watch_job *job, struct rn_watch_flow *f,
			struct rn_watch_record *r, uint32_t k)
{
	const struct rn_packet *p = job->p;

	if (job->is_muted)
		return;
	if (!(p->op->flags & RN_OP_LAST)) {
		if (!f->half.pmtu)
			rn_watch_learn_mtu(f, p->payload_len);
	} else if (r->is_span_inferred) {
		r->is_span_inferred = false;
		r->span = k + 1;
	} else if (!r->span && k == 0 && p->payload_len == r->dma_len) {
		r->span = 1;
	}
}

/* Checks that READ response number @k (from 0) has the opcode and the length that READ @r
 * demands at this place.
 */
static void check_read(struct rn_watch_job *job, struct rn_watch_flow *f,
		       const struct rn_watch_record *r, uint32_t k)
{
	const struct rn_packet *p = job->p;
	bool is_end = k + 1 == r->span;
	uint32_t left = r->dma_len - k * f->half.pmtu, want = f->half.pmtu;

	/* If the requester has requested parts of the READ again, the READ has more than
	 * one first and one last response.
	 */
	if (!r->is_asked_anew && (((p->op->flags & RN_OP_FIRST) != 0) != (k == 0) ||
				  ((p->op->flags & RN_OP_LAST) != 0) != is_end))
		rn_watch_say(job, RN_RULE_READ_ORDER, "%s is %" PRIu32 " of %" PRIu32,
			     p->op->name, k + 1, r->span);
	if (r->is_anew_known && k == r->anew_at && !(p->op->flags & RN_OP_FIRST))
		rn_watch_say(job, RN_RULE_READ_RESTART, "%s at PSN %" PRIu32, p->op->name,
			     p->bth.psn.v);
	if (is_end && r->span == 1)
		want = r->dma_len;
	else if (!f->half.pmtu ||
		 (!is_end && r->is_asked_anew && p->op->flags & RN_OP_LAST))
		return;
	else if (is_end)
		want = left;
	if (p->payload_len != want)
		rn_watch_say(job, RN_RULE_READ_LEN, "%" PRIu32 " bytes, not %" PRIu32,
			     p->payload_len, want);
}

/* Reports a gap in the responses to a READ, each gap only once. */
static void read_gap(struct rn_watch_job *job, struct rn_watch_flow *f,
		     struct rn_watch_record *r, uint32_t k)
{
	uint32_t from = r->beyond > r->got ? r->beyond : r->got;

	if (k > from) {
		rn_watch_say(job, RN_RULE_READ_GAP, "%" PRIu32 " missing", k - from);
		f->half.n.missing += k - from;
	}
	r->beyond = k + 1;
}

static void read_response(struct rn_watch_job *job, struct rn_watch_flow *f,
			  struct rn_watch_record *r)
{
	struct rn_psn psn = job->p->bth.psn;
	uint32_t k = (uint32_t)rn_psn_diff(psn, r->psn);

	learn_sizes(job, f, r, k);
	if (!r->span || r->is_span_inferred) {
		if (job->is_muted)
			rn_watch_doubt(f);
		return;
	}
	check_read(job, f, r, k);
	if (k > r->got) {
		read_gap(job, f, r, k);
	} else if (k < r->got) {
		job->out->is_duplicate = true;
		f->half.n.duplicates++;
		return;
	}
	if (k == 0)
		measure_rtt(job, f, r);
	/* A response behind a gap is not counted: the requester will request it again. */
	if (k > r->got)
		return;
	r->got = k + 1;
	r->is_done = r->got == r->span;
	rn_watch_count_done(f, job->at, job->p->payload_len);
	if (rn_psn_before(f->una, rn_psn_add(psn, 1)))
		advance(job, f, rn_psn_add(psn, 1));
}

static void note_response(struct rn_watch_job *job, struct rn_watch_flow *f,
			  struct rn_watch_record *r)
{
	const struct rn_packet *p = job->p;

	f->half.n.read_responses++;
	if (!r)
		return;
	/* The response may answer a request that the capture has missed. */
	if (r->is_span_inferred && p->op->kind != RN_OP_KIND_READ_RESPONSE) {
		rn_watch_doubt(f);
		return;
	}
	if (!is_fit(job, r))
		return;
	if (p->op->flags & RN_OP_AETH && rn_aeth_type(p->aeth.syndrome) == RN_AETH_ACK) {
		check_msn(job, f, false);
		take_credits(job, f);
	}
	if (rn_opcode_info[r->opcode].kind == RN_OP_KIND_READ) {
		read_response(job, f, r);
		return;
	}
	measure_rtt(job, f, r);
	r->is_done = true;
	advance(job, f, rn_psn_add(p->bth.psn, 1));
}

/* ---- Responses of any kind ---- */

/* Checks that the response answers a PSN that was sent. Returns false if it does not. */
static bool check_sent(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	const struct rn_watch_record *newest =
		f->count ? rn_watch_at(f, f->count - 1) : NULL;
	int32_t ahead = rn_psn_diff(job->p->bth.psn, f->next);

	/* This cannot be checked if the number of PSNs of the newest request is not
	 * known.
	 */
	if (ahead < 0 || (newest && !newest->span))
		return true;
	rn_watch_say(job, RN_RULE_UNSENT, "PSN %" PRIu32 ", %" PRId32 " too far",
		     job->p->bth.psn.v, ahead + 1);
	return false;
}

static bool is_positive(const struct rn_packet *p)
{
	return !(p->op->flags & RN_OP_AETH) ||
	       rn_aeth_type(p->aeth.syndrome) == RN_AETH_ACK;
}

/* Reports a response that has come after a fatal NAK, and has a PSN behind that of the
 * NAK: the responder must not send such responses. A response with the PSN of the NAK
 * itself is no error: it may be a duplicate, or may have been sent before the NAK.
 */
static void check_after_nak(struct rn_watch_job *job, const struct rn_watch_flow *f)
{
	const struct rn_packet *p = job->p;

	if (!f->nak.is_fatal || rn_psn_before(p->bth.psn, f->nak.psn) ||
	    (p->bth.psn.v == f->nak.psn.v && !is_positive(p)))
		return;
	rn_watch_say(job, RN_RULE_AFTER_NAK, "PSN %" PRIu32 " had a NAK", f->nak.psn.v);
}

void rn_watch_response(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	const struct rn_packet *p = job->p;
	struct rn_watch_record *r;

	f->half.n.responses++;
	if (!f->has_begun || !check_sent(job, f))
		return;
	check_after_nak(job, f);
	r = rn_watch_record(f, p->bth.psn);
	if (p->op->kind == RN_OP_KIND_ACK)
		note_ack(job, f, r);
	else
		note_response(job, f, r);
	rn_watch_count_window(f, job->at);
}
