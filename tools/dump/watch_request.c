/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_request.c - checks captured requests: each packet by itself, the sequence of
 * PSNs, the lengths of messages, and requests that are sent again.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "rocin/gsi.h"
#include "watch_internal.h"

/* --------------------------------------------------------- checks of single packets */
enum {
	PMTU_MIN = 256,
	PAYLOAD_MAX = 4096,
	PKEY_BASE = 0x7fff,
	DMALEN_MAX = 0x80000000,
};

static bool is_pmtu(uint64_t len)
{
	return len >= PMTU_MIN && len <= PAYLOAD_MAX && (len & (len - 1)) == 0;
}

/* Checks length, version and opcode. Returns false if nothing else can be checked. */
static bool check_form(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;

	switch (p->form) {
	case RN_PACKET_NO_BTH:
		rn_watch_say(job, RN_RULE_SHORT, "%" PRIu32 " bytes, a BTH has 12",
			     p->said);
		return false;
	case RN_PACKET_VERSION:
		rn_watch_say(job, RN_RULE_VERSION, "%s", "");
		return false;
	case RN_PACKET_NO_OPCODE:
		/* Manufacturers may define the opcodes of the classes above. */
		if (rn_opcode_class(p->bth.opcode) < RN_CLASS_MANUFACTURER_0)
			rn_watch_say(job, RN_RULE_OPCODE, "0x%02x", p->bth.opcode);
		return false;
	case RN_PACKET_SHORT:
		rn_watch_say(job, RN_RULE_SHORT, "%" PRIu32 " bytes, headers and ICRC %u",
			     p->said, p->op->hdr_len + p->bth.pad_cnt + RN_ICRC_LEN);
		return false;
	case RN_PACKET_CUT:
		return false;
	case RN_PACKET_WHOLE:
		break;
	}
	return true;
}

static void check_bth(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags;

	if (p->bth.dest_qpn == 0)
		rn_watch_say(job, RN_RULE_DEST_QP, "%s", "");
	if ((p->bth.pkey & PKEY_BASE) == 0)
		rn_watch_say(job, RN_RULE_PKEY, "0x%04x", p->bth.pkey);
	if (p->bth.solicited && !(flags & RN_OP_COMPLETES_RECV && flags & RN_OP_REQUEST))
		rn_watch_say(job, RN_RULE_SOLICITED, "%s", p->op->name);
	if (p->bth.dest_qpn == RN_QPN_MULTICAST && !(flags & RN_OP_DETH))
		rn_watch_say(job, RN_RULE_MULTICAST, "%s", p->op->name);
}

/* Checks that the length of the payload is allowed for the opcode and the packet's
 * position in the message.
 */
static void check_payload(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags, len = p->payload_len;

	if ((len + p->bth.pad_cnt) % 4)
		rn_watch_say(job, RN_RULE_PAD, "%" PRIu32 " bytes, PadCnt %u", len,
			     p->bth.pad_cnt);
	if (!(flags & RN_OP_PAYLOAD)) {
		if (len && !(flags & RN_OP_NOTIFY))
			rn_watch_say(job, RN_RULE_NO_PAYLOAD, "%" PRIu32 " bytes", len);
		return;
	}
	if (len > PAYLOAD_MAX)
		rn_watch_say(job, RN_RULE_PAYLOAD_MAX, "%" PRIu32, len);
	else if (!(flags & RN_OP_LAST) && !is_pmtu(len))
		rn_watch_say(job, RN_RULE_MTU_SIZE, "%" PRIu32, len);
	if (!(flags & RN_OP_FIRST) && flags & RN_OP_LAST && len == 0)
		rn_watch_say(job, RN_RULE_LAST_EMPTY, "%s", "");
}

static void check_reth(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags;

	if (p->reth.dma_len > DMALEN_MAX)
		rn_watch_say(job, RN_RULE_DMALEN, "%" PRIu32, p->reth.dma_len);
	if (p->op->kind == RN_OP_KIND_WRITE && flags & RN_OP_LAST &&
	    p->payload_len != p->reth.dma_len)
		rn_watch_say(job, RN_RULE_WRITE_LEN,
			     "DMALen %" PRIu32 ", payload %" PRIu32, p->reth.dma_len,
			     p->payload_len);
	if (flags & RN_OP_WORD) {
		if (p->reth.va % 8)
			rn_watch_say(job, RN_RULE_ATOMIC_ALIGN, "0x%" PRIx64, p->reth.va);
		if (p->payload_len != 8 || p->reth.dma_len != 8)
			rn_watch_say(job, RN_RULE_WORD_LEN,
				     "DMALen %" PRIu32 ", payload %" PRIu32,
				     p->reth.dma_len, p->payload_len);
	}
}

static void check_aeth(struct rn_watch_job *job)
{
	uint8_t syndrome = job->p->aeth.syndrome;
	enum rn_aeth_type type = rn_aeth_type(syndrome);

	if (type == RN_AETH_RESERVED)
		rn_watch_say(job, RN_RULE_SYNDROME, "0x%02x", syndrome);
	else if (type == RN_AETH_NAK && rn_aeth_value(syndrome) >= RN_NAK_INVALID_RD_REQ)
		rn_watch_say(job, RN_RULE_NAK_CODE, "%u", rn_aeth_value(syndrome));
	if (job->p->op->kind != RN_OP_KIND_ACK && type != RN_AETH_ACK)
		rn_watch_say(job, RN_RULE_RESPONSE_AETH, "syndrome 0x%02x", syndrome);
}

static void check_datagram(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;

	if (p->bth.dest_qpn != RN_QPN_GSI)
		return;
	if (p->payload_len != RN_MAD_LEN)
		rn_watch_say(job, RN_RULE_MAD, "%" PRIu32 " bytes", p->payload_len);
	else if (p->deth.qkey != RN_GSI_QKEY)
		rn_watch_say(job, RN_RULE_MAD, "Q_Key 0x%" PRIx32, p->deth.qkey);
}

static void check_cnp(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	const uint8_t *zero = p->at + RN_BTH_LEN;

	if (!p->bth.becn)
		rn_watch_say(job, RN_RULE_CNP, "BECN is 0");
	if (p->payload_len)
		rn_watch_say(job, RN_RULE_CNP, "%" PRIu32 " bytes too many",
			     p->payload_len);
	for (unsigned i = 0; i < RN_CNP_RESERVED_LEN; i++) {
		if (zero[i] != 0) {
			rn_watch_say(job, RN_RULE_CNP, "byte %u is 0x%02x",
				     RN_BTH_LEN + i, zero[i]);
			break;
		}
	}
}

void rn_watch_alone(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;

	if (p->icrc == RN_PACKET_ICRC_WRONG)
		rn_watch_say(job, RN_RULE_ICRC, "%s", "");
	if (p->is_a_part || !p->has_df)
		rn_watch_say(job, RN_RULE_FRAGMENT, "%s",
			     p->is_a_part ? "a fragment" : "DF is 0");
	if (p->has_options)
		rn_watch_say(job, RN_RULE_IP_OPTIONS, "%s", "");
	if (!check_form(job))
		return;
	/* If the ICRC is wrong, the fields mean nothing and are not checked. */
	if (p->icrc == RN_PACKET_ICRC_WRONG || p->icrc == RN_PACKET_ICRC_OPEN)
		return;
	check_bth(job);
	check_payload(job);
	if (p->op->flags & RN_OP_RETH)
		check_reth(job);
	if (p->op->flags & RN_OP_ATOMIC_ETH && p->atomic.va % 8)
		rn_watch_say(job, RN_RULE_ATOMIC_ALIGN, "0x%" PRIx64, p->atomic.va);
	if (p->op->flags & RN_OP_AETH)
		check_aeth(job);
	if (p->op->flags & RN_OP_DETH)
		check_datagram(job);
	if (p->op->flags & RN_OP_NOTIFY)
		check_cnp(job);
}

/* -------------------------------------------------- checks of the order of requests */
enum {
	RECORDS_FIRST = 64,
	PSN_HALF = 1 << 23,
	TIMEOUT_MIN = 8192, /* the shortest local ACK timeout in ns */
};

/* ---- Records of requests ---- */

uint32_t rn_watch_search(struct rn_watch_flow *f, struct rn_psn psn)
{
	uint32_t low = 0, high = f->count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct rn_watch_record *r = rn_watch_at(f, mid);
		uint32_t span = r->span ? r->span : 1;

		if (rn_psn_diff(psn, rn_psn_add(r->psn, span)) >= 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct rn_watch_record *rn_watch_record(struct rn_watch_flow *f, struct rn_psn psn)
{
	uint32_t i = rn_watch_search(f, psn);
	struct rn_watch_record *r;

	if (i == f->count)
		return NULL;
	r = rn_watch_at(f, i);
	return rn_psn_before(psn, r->psn) ? NULL : r;
}

static bool make_record_room(struct rn_watch_flow *f)
{
	uint32_t room = f->room ? 2 * f->room : RECORDS_FIRST;
	struct rn_watch_record *ring;

	if (f->count < f->room)
		return true;
	if (room > RN_WATCH_RECORDS_MAX)
		return false;
	ring = calloc(room, sizeof(*ring));
	if (!ring)
		return false;
	for (uint32_t i = 0; i < f->count; i++)
		ring[i] = *rn_watch_at(f, i);
	free(f->record);
	f->record = ring;
	f->room = room;
	f->head = 0;
	return true;
}

static void drop_oldest(struct rn_watch_flow *f)
{
	f->head++;
	f->count--;
	f->oldest = f->count ? rn_watch_at(f, 0)->psn : f->next;
}

/* Drops the oldest records if their PSNs are half of the PSN space behind the newest one:
 * PSNs wrap around, so they would count as newer. One READ may use that many PSNs.
 */
static void forget_oldest(struct rn_watch_flow *f)
{
	while (f->count > 1 && ((f->next.v - rn_watch_at(f, 0)->psn.v) & RN_PSN_MASK) >=
				       PSN_HALF - RN_WATCH_FAR) {
		drop_oldest(f);
	}
}

static void add_record(struct rn_watch_flow *f, const struct rn_watch_record *r)
{
	if (!make_record_room(f)) {
		if (!f->count)
			return;
		drop_oldest(f);
	}
	*rn_watch_at(f, f->count) = *r;
	f->count++;
}

/* ---- Path MTU, and the numbers of PSNs of READs ---- */

static uint32_t read_span(uint32_t dma_len, uint32_t pmtu)
{
	return dma_len <= pmtu ? 1 : (dma_len - 1) / pmtu + 1;
}

/* Sets the number of PSNs that READ @r uses, or an upper limit of that number. */
static void set_span(struct rn_watch_flow *f, struct rn_watch_record *r, uint32_t span)
{
	r->span = span;
	f->next = rn_psn_add(r->psn, span);
	forget_oldest(f);
}

/* Called when the path MTU has become known. Checks those READs whose number of PSNs was
 * inferred from the next request. If a READ needs more PSNs than that, the state becomes
 * uncertain; if it needs fewer, the capture has missed a request in between.
 */
static void settle_spans(struct rn_watch_flow *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		struct rn_watch_record *r = rn_watch_at(f, i);
		uint32_t span = read_span(r->dma_len, f->half.pmtu);

		if (!r->is_span_inferred)
			continue;
		r->is_span_inferred = false;
		if (span > r->span)
			rn_watch_doubt(f);
		else
			r->span = span;
	}
}

/* Stores the path MTU, and computes how many PSNs the newest request uses if that is
 * open.
 */
static void learn_mtu(struct rn_watch_flow *f, uint32_t pmtu)
{
	struct rn_watch_record *r = f->count ? rn_watch_at(f, f->count - 1) : NULL;

	f->half.pmtu = pmtu;
	settle_spans(f);
	if (r && !r->span && read_span(r->dma_len, pmtu) < PSN_HALF)
		set_span(f, r, read_span(r->dma_len, pmtu));
}

void rn_watch_learn_mtu(struct rn_watch_flow *f, uint32_t len)
{
	if (len >= PMTU_MIN && len <= PAYLOAD_MAX)
		learn_mtu(f, len);
}

/* If @p requests the rest of READ @r again, from its response @k (0: the first) on,
 * returns the path MTU, which the addresses of both requests show. Otherwise returns 0.
 */
static uint32_t pmtu_of_rest(const struct rn_watch_record *r, const struct rn_packet *p,
			     uint32_t k)
{
	uint64_t done = p->reth.va - r->va;

	if (p->op->kind != RN_OP_KIND_READ || p->reth.rkey != r->rkey ||
	    done >= r->dma_len || p->reth.dma_len != r->dma_len - done)
		return 0;
	return done % k == 0 && is_pmtu(done / k) ? (uint32_t)(done / k) : 0;
}

/* Called when the capture has missed requests before @psn. How many messages they were is
 * unknown, and so are now the message counts and the message in progress.
 */
static void lose_counts(struct rn_watch_flow *f, struct rn_psn psn)
{
	f->knows_message = f->has_msn = f->has_credits = false;
	f->kind = 0;
	f->msn_since = psn;
}

/* If the newest request is a READ whose number of PSNs is not known, infers that number
 * from the next packet @p: either @p requests the rest of the READ, or the PSN of @p
 * gives an upper limit. The number is not certain, because the capture may have missed
 * requests in between.
 */
static void infer_span(struct rn_watch_flow *f, const struct rn_packet *p)
{
	struct rn_watch_record *r = f->count ? rn_watch_at(f, f->count - 1) : NULL;
	uint32_t most, pmtu;
	int32_t span;

	if (!r || r->span)
		return;
	span = rn_psn_diff(p->bth.psn, r->psn);
	if (span <= 0)
		return;
	pmtu = pmtu_of_rest(r, p, (uint32_t)span);
	if (pmtu) {
		learn_mtu(f, pmtu);
		return;
	}
	most = read_span(r->dma_len, PMTU_MIN);
	r->is_span_inferred = true;
	set_span(f, r, (uint32_t)span < most ? (uint32_t)span : most);
	lose_counts(f, p->bth.psn);
}

static void check_mtu(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	const struct rn_packet *p = job->p;
	bool is_full = !(p->op->flags & RN_OP_LAST);

	if (!(p->op->flags & RN_OP_PAYLOAD))
		return;
	if (!f->half.pmtu) {
		if (is_full)
			rn_watch_learn_mtu(f, p->payload_len);
		return;
	}
	if (is_full ? p->payload_len != f->half.pmtu : p->payload_len > f->half.pmtu)
		rn_watch_say(job, RN_RULE_MTU, "path MTU %" PRIu32 ", payload %" PRIu32,
			     f->half.pmtu, p->payload_len);
}

/* ---- Checks of messages: sequence, length, credits, number of READs ---- */

static const char *const kind_words[] = {
	[RN_OP_KIND_SEND] = "a SEND",
	[RN_OP_KIND_WRITE] = "a WRITE",
};

static void check_sequence(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	const struct rn_opcode_info *op = job->p->op;
	bool is_first = (op->flags & RN_OP_FIRST) != 0;

	if (f->knows_message && is_first && f->kind)
		rn_watch_say(job, RN_RULE_SEQUENCE, "%s within %s", op->name,
			     kind_words[f->kind]);
	if (f->knows_message && !is_first && f->kind != op->kind) {
		rn_watch_say(job, RN_RULE_SEQUENCE, "%s %s %s", op->name,
			     f->kind ? "within" : "without",
			     f->kind ? kind_words[f->kind] : "a first packet");
		f->knows_message = false;
	}
	if (is_first) {
		f->knows_message = true;
		f->message_len = 0;
		f->dma_len = op->flags & RN_OP_RETH ? job->p->reth.dma_len : 0;
	}
	f->kind = op->flags & RN_OP_LAST ? 0 : op->kind;
}

/* Checks that the payloads of a WRITE have as many bytes in total as its RETH says. */
static void check_length(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags;

	f->message_len += p->payload_len;
	if (p->op->kind != RN_OP_KIND_WRITE || !f->knows_message ||
	    (flags & RN_OP_FIRST && flags & RN_OP_LAST))
		return;
	if (flags & RN_OP_LAST ? f->message_len != f->dma_len
			       : f->message_len >= f->dma_len)
		rn_watch_say(job, RN_RULE_MESSAGE_LEN,
			     "DMALen %" PRIu32 ", %" PRIu32 " bytes%s", f->dma_len,
			     f->message_len, flags & RN_OP_LAST ? "" : " and no end");
}

/* Checks the use of credits. Without a credit the requester may send any number of
 * requests that consume no receive WQE, but only one that consumes one (9.7.7.2). A
 * request that consumes no receive WQE counts as one that uses a credit and gives it back
 * at once.
 */
static void check_credit(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	int32_t ahead = (int32_t)(f->messages - f->credit_limit);

	if (!f->has_credits)
		return;
	if (!(job->p->op->flags & RN_OP_COMPLETES_RECV)) {
		if (ahead > 0)
			f->credit_limit++;
	} else if (ahead > 1) {
		rn_watch_say(job, RN_RULE_CREDIT, "%" PRId32 " ahead", ahead);
	}
}

static void check_depth(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	uint32_t open = 0;

	if (f->depth == RN_WATCH_NO_DEPTH || !rn_watch_is_answered(job->p->bth.opcode))
		return;
	for (uint32_t i = rn_watch_search(f, f->una); i < f->count; i++) {
		const struct rn_watch_record *r = rn_watch_at(f, i);

		if (rn_watch_is_answered(r->opcode) && !r->is_done)
			open++;
	}
	if (open >= f->depth)
		rn_watch_say(job, RN_RULE_DEPTH,
			     "%" PRIu32 " of %" PRIu32 " are under way", open, f->depth);
}

/* ---- New requests ---- */

static uint32_t span_of(const struct rn_watch_flow *f, const struct rn_packet *p)
{
	if (p->op->kind != RN_OP_KIND_READ || p->reth.dma_len <= 256)
		return 1;
	if (!f->half.pmtu || p->reth.dma_len > 0x80000000u)
		return 0;
	return read_span(p->reth.dma_len, f->half.pmtu);
}

static void note_request(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags, span = span_of(f, p);

	check_sequence(job, f);
	check_mtu(job, f);
	check_length(job, f);
	check_depth(job, f);
	if (flags & RN_OP_LAST) {
		f->messages++;
		f->half.n.messages++;
		check_credit(job, f);
	}
	if (f->half.class != RN_CLASS_UC)
		add_record(f, &(struct rn_watch_record){
				      .psn = p->bth.psn,
				      .span = span,
				      .opcode = p->bth.opcode,
				      .payload_len = p->payload_len,
				      .va = flags & RN_OP_ATOMIC_ETH ? p->atomic.va
								     : p->reth.va,
				      .rkey = flags & RN_OP_ATOMIC_ETH ? p->atomic.rkey
								       : p->reth.rkey,
				      .dma_len = p->reth.dma_len,
				      .swap_add = p->atomic.swap_add,
				      .compare = p->atomic.compare,
				      .messages = f->messages,
				      .ends_message = (flags & RN_OP_LAST) != 0,
				      .first_at = job->at,
				      .last_at = job->at,
			      });
	f->next = rn_psn_add(p->bth.psn, span ? span : 1);
	forget_oldest(f);
	job->out->is_new = true;
	f->half.n.sent_bytes += p->payload_len;
}

static void note_gap(struct rn_watch_job *job, struct rn_watch_flow *f, uint32_t missing)
{
	lose_counts(f, job->p->bth.psn);
	f->half.n.missing += missing;
	job->out->missing = missing;
	rn_watch_say(job, RN_RULE_GAP, "%" PRIu32 " missing before %" PRIu32, missing,
		     job->p->bth.psn.v);
}

/* ---- Requests that are sent again ---- */

/* Returns the first PSN of the message that contains @psn. If the record of that PSN was
 * dropped, returns the oldest PSN of the message that has a record.
 */
static struct rn_psn message_start(struct rn_watch_flow *f, struct rn_psn psn)
{
	uint32_t i = rn_watch_search(f, psn);

	if (i == f->count || rn_psn_before(psn, rn_watch_at(f, i)->psn))
		return psn;
	while (i > 0) {
		const struct rn_watch_record *r = rn_watch_at(f, i - 1);

		if (r->ends_message ||
		    rn_psn_add(r->psn, r->span).v != rn_watch_at(f, i)->psn.v)
			break;
		i--;
	}
	return rn_watch_at(f, i)->psn;
}

/* Returns true if the last NAK explains that @psn is sent again. The requester sends
 * again from the PSN of the NAK on; many requesters begin earlier, at the first packet of
 * the message that contains this PSN.
 */
static bool is_wanted_back(struct rn_watch_flow *f, struct rn_psn psn)
{
	if (!f->nak.is_seq && !f->nak.is_rnr)
		return false;
	if (f->nak.psn.v == psn.v)
		return true;
	return !f->nak.is_heeded && rn_psn_before(psn, f->nak.psn) &&
	       !rn_psn_before(psn, message_start(f, f->nak.psn));
}

static bool is_going_back(const struct rn_watch_flow *f, struct rn_psn psn)
{
	return !rn_psn_before(psn, f->resent_to) && rn_psn_before(psn, f->recover);
}

static enum rn_watch_cause find_cause(struct rn_watch_flow *f, struct rn_psn psn,
				      const struct rn_watch_record *r, rn_ns at)
{
	if (is_wanted_back(f, psn) && !(f->nak.is_heeded && is_going_back(f, psn)))
		return f->nak.is_rnr ? RN_CAUSE_RNR : RN_CAUSE_NAK;
	if (is_going_back(f, psn))
		return RN_CAUSE_GO_BACK;
	if (r && at - r->last_at < TIMEOUT_MIN)
		return RN_CAUSE_DOUBLE;
	if (!r)
		return RN_CAUSE_LATE;
	if (rn_opcode_info[r->opcode].kind == RN_OP_KIND_READ && r->got > 0 &&
	    r->psn.v != psn.v)
		return RN_CAUSE_READ_GAP;
	return RN_CAUSE_TIMEOUT;
}

/* Called when READ @r is requested again, from its response @from (0: the first) on. */
static void note_anew(struct rn_watch_record *r, uint32_t from)
{
	uint32_t seen = r->got > r->beyond ? r->got : r->beyond;

	if (r->is_asked_anew)
		r->is_anew_known = r->is_anew_known && from == r->anew_at;
	else
		r->is_anew_known = !r->is_resent && seen > from;
	r->is_asked_anew = true;
	r->anew_at = from;
}

/* Checks that a repeated READ requests a part of READ @r that reaches to its end. */
static void check_read_again(struct rn_watch_job *job, struct rn_watch_flow *f,
			     struct rn_watch_record *r)
{
	const struct rn_packet *p = job->p;
	uint64_t done = (uint64_t)rn_psn_diff(p->bth.psn, r->psn) * f->half.pmtu;

	if (p->op->kind != RN_OP_KIND_READ) {
		rn_watch_say(job, RN_RULE_RESEND, "%s was a READ", p->op->name);
		return;
	}
	if (p->bth.psn.v != r->psn.v || p->reth.dma_len != r->dma_len)
		note_anew(r, (uint32_t)rn_psn_diff(p->bth.psn, r->psn));
	if (p->bth.psn.v != r->psn.v && !f->half.pmtu)
		return;
	if (p->reth.rkey != r->rkey)
		rn_watch_say(job, RN_RULE_READ_AGAIN,
			     "R_Key 0x%" PRIx32 " was 0x%" PRIx32, p->reth.rkey, r->rkey);
	if (p->reth.va != r->va + done)
		rn_watch_say(job, RN_RULE_READ_AGAIN,
			     "address 0x%" PRIx64 ", the rest begins at 0x%" PRIx64,
			     p->reth.va, r->va + done);
	if (done + p->reth.dma_len > r->dma_len)
		rn_watch_say(job, RN_RULE_READ_AGAIN,
			     "DMALen %" PRIu32 ", the rest has %" PRIu64, p->reth.dma_len,
			     done < r->dma_len ? r->dma_len - done : 0);
}

/* Compares address and operands of a repeated request with the first one's. */
static void check_same(struct rn_watch_job *job, struct rn_watch_record *r)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags;
	bool is_atomic = (flags & RN_OP_ATOMIC_ETH) != 0;

	if (p->bth.opcode != r->opcode) {
		rn_watch_say(job, RN_RULE_RESEND, "%s was %s", p->op->name,
			     rn_opcode_info[r->opcode].name);
		return;
	}
	if (p->payload_len != r->payload_len)
		rn_watch_say(job, RN_RULE_RESEND, "%" PRIu32 " bytes were %" PRIu32,
			     p->payload_len, r->payload_len);
	if (flags & RN_OP_RETH && (p->reth.va != r->va || p->reth.rkey != r->rkey ||
				   p->reth.dma_len != r->dma_len))
		rn_watch_say(job, RN_RULE_RESEND, "another RETH");
	if (is_atomic &&
	    (p->atomic.va != r->va || p->atomic.rkey != r->rkey ||
	     p->atomic.swap_add != r->swap_add || p->atomic.compare != r->compare))
		rn_watch_say(job, RN_RULE_RESEND, "another AtomicETH");
}

static void check_rnr_wait(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	if (job->out->cause == RN_CAUSE_RNR && job->at < f->nak.until)
		rn_watch_say(job, RN_RULE_RNR_WAIT, "%.3f ms too early",
			     (double)(f->nak.until - job->at) / 1e6);
}

/* Counts a request that comes late, after others with higher PSNs. Does nothing if its
 * PSN was acknowledged before, because the request was counted then.
 */
static void fill_gap(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	if (rn_psn_before(job->p->bth.psn, f->una))
		return;
	f->half.n.sent_bytes += job->p->payload_len;
	if (job->p->op->flags & RN_OP_LAST)
		f->half.n.messages++;
	rn_watch_count_done(f, job->at, job->p->payload_len);
}

/* Returns true if the repeated request agrees with its first transmission @r. */
static bool is_same(struct rn_watch_job *job, struct rn_watch_flow *f,
		    struct rn_watch_record *r)
{
	unsigned before = job->out->findings;

	if (rn_opcode_info[r->opcode].kind == RN_OP_KIND_READ)
		check_read_again(job, f, r);
	else
		check_same(job, r);
	return job->out->findings == before;
}

static void note_retransmission(struct rn_watch_job *job, struct rn_watch_flow *f,
				struct rn_watch_record *r)
{
	struct rn_psn psn = job->p->bth.psn;
	bool is_read = r && rn_opcode_info[r->opcode].kind == RN_OP_KIND_READ;

	job->out->cause = find_cause(f, psn, r, job->at);
	if (job->out->cause == RN_CAUSE_RNR || job->out->cause == RN_CAUSE_NAK)
		f->nak.is_heeded = true;
	if (job->out->cause != RN_CAUSE_GO_BACK && job->out->cause != RN_CAUSE_DOUBLE)
		f->recover = f->next;
	check_rnr_wait(job, f);
	if (job->out->cause != RN_CAUSE_DOUBLE)
		f->resent_to = rn_psn_add(is_read ? r->psn : psn,
					  is_read && r->span ? r->span : 1);
	if (!r) {
		if (rn_psn_before(psn, f->oldest))
			f->oldest = psn;
		fill_gap(job, f);
		return;
	}
	job->out->since = job->at - r->last_at;
	r->is_resent = true;
	r->last_at = job->at;
}

/* ---- New connections ---- */

/* Returns true if the PSN alone shows that the packet belongs to a new connection. */
static bool is_elsewhere(const struct rn_watch_flow *f, const struct rn_watch_record *r,
			 const struct rn_packet *p)
{
	int32_t d = rn_psn_diff(p->bth.psn, f->next);
	bool begins = (p->op->flags & RN_OP_FIRST) != 0;

	if (d > RN_WATCH_FAR || (!r && d < -RN_WATCH_FAR))
		return true;
	if (d == 0 || !begins)
		return false;
	if (d > 0 && (f->may_restart || f->is_doubted))
		return true;
	if (f->half.class == RN_CLASS_UC && d < 0)
		return p->bth.psn.v == f->first.v || d < -RN_WATCH_FAR_MESSAGE;
	return d > RN_WATCH_FAR_MESSAGE;
}

static bool is_explained(const struct rn_watch_flow *f, enum rn_watch_cause cause)
{
	return cause == RN_CAUSE_RNR || cause == RN_CAUSE_NAK ||
	       (cause == RN_CAUSE_GO_BACK && !f->may_restart);
}

/* Called for a repeated request. Makes the state uncertain if no NAK explains the
 * repetition and the request was answered before, or is the first one and was only
 * answered by a fatal NAK. Either the answer was lost behind the place of the capture, or
 * one side uses a new QP. (f->may_restart: the peer does.)
 */
static void doubt_restart(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_psn psn = job->p->bth.psn;
	bool is_first = psn.v == f->first.v;

	if (is_first)
		rn_watch_loosen(job->w, f);
	if (is_explained(f, job->out->cause) ||
	    !(f->may_restart || rn_psn_before(psn, f->una) ||
	      (is_first && (f->nak.is_fatal || f->una.v == psn.v))))
		return;
	rn_watch_loosen(job->w, f);
	rn_watch_doubt(f);
	f->begun = job->w->packets;
	if (rn_psn_before(psn, f->doubt_from))
		f->doubt_from = psn;
	f->nak = (struct rn_watch_nak){ 0 };
	f->has_credits = false;
	f->half.pmtu = 0;
}

/* Called if a repeated request differs from its record. Returns true if the PSN may
 * belong to a new connection: the recorded request was answered, or refused, or never
 * answered.
 */
static bool may_be_another(const struct rn_watch_flow *f, const struct rn_packet *p)
{
	struct rn_psn psn = p->bth.psn;

	if (f->is_doubted || f->may_restart)
		return true;
	if (!(p->op->flags & RN_OP_FIRST))
		return false;
	return f->nak.is_fatal || rn_psn_before(psn, f->una) ||
	       (psn.v == f->first.v && f->una.v == f->first.v);
}

/* Returns true if the packet begins a new connection. */
static bool is_another(struct rn_watch_job *job, struct rn_watch_flow *f,
		       struct rn_watch_record *r)
{
	unsigned before = job->out->findings;

	if (is_elsewhere(f, r, job->p))
		return true;
	if (!r || is_same(job, f, r) || !may_be_another(f, job->p))
		return false;
	job->out->findings = before;
	return true;
}

/* Begins a new connection at the PSN of @p. If packets before @p were taken for repeated
 * ones of the old connection, they may belong to the new one: f->oldest is then their
 * first PSN.
 */
static void start_anew(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_psn psn = job->p->bth.psn;
	struct rn_psn from = f->is_doubted ? f->doubt_from : psn;

	job->out->starts_anew = true;
	rn_watch_part(job->w, f);
	rn_watch_begin(job->w, f, psn);
	if (rn_psn_before(from, psn))
		f->oldest = from;
}

/* ---- Processing of a request ---- */

/* Returns the record of the request if @p has been sent before, otherwise NULL. */
static struct rn_watch_record *find_first(struct rn_watch_flow *f,
					  const struct rn_packet *p)
{
	struct rn_watch_record *r = rn_watch_record(f, p->bth.psn);
	uint32_t k = r ? (uint32_t)rn_psn_diff(p->bth.psn, r->psn) : 0;

	if (k == 0 || !r->is_span_inferred || pmtu_of_rest(r, p, k))
		return r;
	/* READ @r ends before the PSN of @p. The capture has missed the packet that had
	 * this PSN first.
	 */
	r->span = k;
	return NULL;
}

static void place_request(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_psn psn = job->p->bth.psn;
	int32_t d = rn_psn_diff(psn, f->next);
	struct rn_watch_record *r = d < 0 ? find_first(f, job->p) : NULL;

	if (is_another(job, f, r)) {
		/* This READ may request the rest of one that the capture missed. */
		bool may_be_rest =
			job->p->op->kind == RN_OP_KIND_READ && (f->is_doubted || d < 0);

		start_anew(job, f);
		note_request(job, f);
		if (may_be_rest)
			rn_watch_doubt(f);
		return;
	}
	/* UC never repeats a request, so this one is new (9.8.2.2). */
	if (d < 0 && f->half.class != RN_CLASS_UC) {
		note_retransmission(job, f, r);
		doubt_restart(job, f);
		return;
	}
	if (d != 0)
		note_gap(job, f, d > 0 ? (uint32_t)d : 0);
	note_request(job, f);
}

void rn_watch_request(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_psn psn = job->p->bth.psn;
	unsigned before = job->out->findings;

	if (!f->has_begun) {
		/* Responses that may belong to an earlier connection have shown which
		 * half-connection is the peer of this one, so the peer is uncertain.
		 */
		rn_watch_loosen(job->w, f);
		rn_watch_begin(job->w, f, psn);
	}
	infer_span(f, job->p);
	place_request(job, f);
	f->asked = job->w->packets;
	if (f->is_doubted)
		job->out->findings = before;
	f->may_restart = false;
	/* The request that the NAK has demanded again has come. */
	if ((f->nak.is_seq || f->nak.is_rnr) && f->nak.psn.v == psn.v)
		f->nak.is_seq = f->nak.is_rnr = false;
	if (f->half.class == RN_CLASS_UC && job->out->is_new) {
		f->una = f->next;
		rn_watch_count_done(f, job->at, job->p->payload_len);
	}
	rn_watch_count_request(job, f);
	rn_watch_count_window(f, job->at);
}

void rn_watch_datagram(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	job->out->is_new = true;
	f->half.n.messages++;
	f->half.n.sent_bytes += job->p->payload_len;
	rn_watch_count_done(f, job->at, job->p->payload_len);
	rn_watch_count_request(job, f);
}
