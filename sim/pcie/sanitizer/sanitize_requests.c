/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_requests.c - the QPs, their requests and their CQEs, and the checks made when
 * a request is posted and when it completes.
 *
 * The program must not change a source buffer until it has taken the completion. To check
 * this, a digest of the buffer is computed when the request is posted, and compared with
 * one that is computed at the completion. Of a range longer than WHOLE bytes, only the
 * first and last WHOLE/2 bytes are compared. A request is not checked if a device has
 * written to its buffer in between, because the program may not be the one who has
 * changed it.
 */
#include <stdlib.h>
#include <string.h>

#include "rocin/hash.h"
#include "sanitize_internal.h"
#include "sim/pcie/host/host_internal.h"
#include "sim/pcie/page/page.h"
#include "transport/io/report/stacks.h"

enum {
	BUCKETS = 256,
	WRS_MIN = 16,
	WRS_MAX = 4096, /* number of requests kept per QP; older requests are forgotten */
	CQES_MIN = 1024,
	CQES_MAX = 1 << 20,
	WHOLE = 64 * 1024, /* bytes; a longer range enters the digest only in part */
	PIECE = 4096,	   /* bytes of the source buffer that are read at a time */
	LANES = 4,	   /* number of independent parts of a digest, see mix_words() */
	FILTER = 1 << 16,
};

static struct rn_san_qp *buckets[BUCKETS];

/* ----------------------------------------------- sources that devices write to */
/* Element i: number of source buffers that have bytes in pages whose hash is i. For most
 * writes of devices this is 0, and then the requests need not be searched.
 */
static uint32_t sources_in[FILTER];

static uint32_t *sources_of(rn_iova page)
{
	return &sources_in[(page / RN_PAGE_SIZE * UINT64_C(0x9e3779b97f4a7c15) >> 40) %
			   FILTER];
}

static void count_source(struct rn_san_wr *wr, bool is_counted)
{
	if (wr->is_counted == is_counted)
		return;
	wr->is_counted = is_counted;
	for (unsigned i = 0; i < wr->range_count; i++) {
		const struct rn_host_range *r = &wr->range[i];

		for (rn_iova at = rn_page_down(r->addr); at < r->addr + r->len;
		     at += RN_PAGE_SIZE)
			*sources_of(at) += is_counted ? 1U : -1U;
	}
}

static bool may_be_source(rn_iova addr, uint64_t len)
{
	for (rn_iova at = rn_page_down(addr); at < addr + len; at += RN_PAGE_SIZE)
		if (*sources_of(at))
			return true;
	return false;
}

/* Returns true if the source of the request has bytes in the range. */
static bool is_source(const struct rn_san_wr *wr, rn_iova addr, uint64_t len)
{
	for (unsigned i = 0; i < wr->range_count; i++)
		if (wr->range[i].addr < addr + len &&
		    addr < wr->range[i].addr + wr->range[i].len)
			return true;
	return false;
}

void rn_san_note_write(rn_iova addr, uint64_t len)
{
	if (!may_be_source(addr, len))
		return;
	for (unsigned b = 0; b < BUCKETS; b++)
		for (struct rn_san_qp *q = buckets[b]; q; q = q->next)
			for (uint32_t i = 0; i < q->room; i++)
				if (q->wr[i].is_counted &&
				    is_source(&q->wr[i], addr, len))
					q->wr[i].has_digest = false;
}

/* Called when the program may change the source buffer of the request again. */
static void let_go_of_source(struct rn_san_wr *wr)
{
	count_source(wr, false);
	rn_san_source_hold(wr, false);
	rn_san_early_free(wr);
}

/* ------------------------------------------------------------ lookup of QPs */

static struct rn_san_qp **bucket_of_qp(unsigned agent, uint32_t qpn)
{
	return &buckets[(qpn ^ qpn >> 8 ^ agent << 4) % BUCKETS];
}

struct rn_san_qp *rn_san_qp(unsigned agent, uint32_t qpn, bool make)
{
	struct rn_san_qp **head = bucket_of_qp(agent, qpn);
	struct rn_san_qp *q = *head;

	while (q && (q->agent != agent || q->qpn != qpn))
		q = q->next;
	if (q || !make)
		return q;
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->agent = agent;
	q->qpn = qpn;
	q->next = *head;
	*head = q;
	return q;
}

static void forget_in(struct rn_san_qp **at, unsigned agent, uint32_t qpn)
{
	struct rn_san_qp *q;

	while ((q = *at)) {
		if (q->agent != agent || (qpn && q->qpn != qpn)) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		rn_san.fetches -= q->reads_open;
		for (uint32_t i = 0; i < q->room; i++)
			let_go_of_source(&q->wr[i]);
		free(q->wr);
		free(q);
	}
}

void rn_san_forget(struct rn_host *h, unsigned agent, uint32_t qpn)
{
	(void)h;
	for (unsigned i = 0; i < BUCKETS; i++)
		forget_in(&buckets[i], agent, qpn);
}

/* -------------------------------------------------------- requests of a QP */
struct rn_san_wr *rn_san_wr_find(const struct rn_san_qp *q, uint32_t msg)
{
	struct rn_san_wr *wr = q && q->room ? &q->wr[msg % q->room] : NULL;

	return wr && wr->is_used && wr->msg == msg ? wr : NULL;
}

static bool grow_queue(struct rn_san_qp *q)
{
	uint32_t room = q->room ? 2 * q->room : WRS_MIN;
	struct rn_san_wr *wr = calloc(room, sizeof(*wr));

	if (!wr)
		return false;
	for (uint32_t i = 0; i < q->room; i++)
		if (q->wr[i].is_used)
			wr[q->wr[i].msg % room] = q->wr[i];
	free(q->wr);
	q->wr = wr;
	q->room = room;
	return true;
}

bool rn_san_may_serve(const struct rn_tlp *tlp, const struct rn_san_wr *wr)
{
	if (tlp->kind == RN_TLP_WRITE || !rn_agent_is_nic(tlp->requester))
		return false;
	/* The length of a FLUSH is not known here, so the range is not compared; the kind
	 * of the read is enough.
	 */
	if (wr->opcode == RN_WR_FLUSH)
		return (tlp->flags & RN_TLP_FLUSH) != 0;
	return rn_tlp_touches(tlp, wr->remote_addr, wr->len);
}

static bool is_open_answer(const struct rn_san_wr *wr)
{
	return wr->is_used && !wr->is_done && rn_san_is_answered(wr->opcode);
}

const struct rn_san_wr *rn_san_fetch_of(const struct rn_tlp *tlp)
{
	for (unsigned b = 0; b < BUCKETS && rn_san.fetches; b++)
		for (const struct rn_san_qp *q = buckets[b]; q; q = q->next)
			for (uint32_t i = 0; i < q->room && q->reads_open; i++)
				if (is_open_answer(&q->wr[i]) &&
				    rn_san_may_serve(tlp, &q->wr[i]))
					return &q->wr[i];
	return NULL;
}

const struct rn_san_wr *rn_san_atomic_of(const struct rn_tlp *tlp)
{
	for (unsigned b = 0; b < BUCKETS && rn_san.fetches; b++)
		for (const struct rn_san_qp *q = buckets[b]; q; q = q->next)
			for (uint32_t i = 0; i < q->room && q->reads_open; i++)
				if (is_open_answer(&q->wr[i]) &&
				    rn_wr_is_atomic(q->wr[i].opcode) &&
				    q->wr[i].remote_addr == tlp->addr)
					return &q->wr[i];
	return NULL;
}

static void count_fetch(struct rn_san_qp *q, int change)
{
	q->reads_open += (unsigned)change;
	rn_san.fetches += (unsigned)change;
}

/* Makes a record for request @msg. Returns NULL if there is no memory. */
static struct rn_san_wr *add_request(struct rn_san_qp *q, uint32_t msg)
{
	struct rn_san_wr *wr;

	if (!q->has_posted) {
		q->has_posted = true;
		q->oldest = msg;
	}
	while (!q->room || (q->room < WRS_MAX && q->wr[msg % q->room].is_used &&
			    !q->wr[msg % q->room].is_done))
		if (!grow_queue(q))
			return NULL;
	wr = &q->wr[msg % q->room];
	if (is_open_answer(wr))
		count_fetch(q, -1);
	let_go_of_source(wr);
	*wr = (struct rn_san_wr){ .is_used = true, .msg = msg };
	q->past = msg + 1;
	return wr;
}

static bool source_holds(const struct rn_san_wr *wr, uintptr_t addr)
{
	for (unsigned i = 0; wr->is_held && i < wr->range_count; i++)
		if (addr - wr->range[i].addr < wr->range[i].len)
			return true;
	return false;
}

struct rn_san_wr *rn_san_wr_holding(uintptr_t addr, struct rn_san_qp **qp)
{
	for (unsigned b = 0; b < BUCKETS; b++)
		for (*qp = buckets[b]; *qp; *qp = (*qp)->next)
			for (uint32_t i = 0; i < (*qp)->room; i++)
				if (source_holds(&(*qp)->wr[i], addr))
					return &(*qp)->wr[i];
	return NULL;
}

/* ---------------------------------------- CQEs by their slots in the rings */
/* Hash table of CQEs, with open addressing. The key is the address of the slot of the CQE
 * in the CQ ring. An entry is replaced when the slot gets a new CQE, and never removed.
 */
static struct {
	struct rn_san_cqe *entry;
	uint32_t room, count;
} cqes;

static struct rn_san_cqe *cqe_place(struct rn_san_cqe *entry, uint32_t room, rn_iova slot)
{
	uint32_t at = (uint32_t)(rn_hash_word(slot) >> 32) & (room - 1);

	while (entry[at].slot && entry[at].slot != slot)
		at = (at + 1) & (room - 1);
	return &entry[at];
}

static bool make_room_for_cqe(void)
{
	uint32_t room = cqes.room ? 2 * cqes.room : CQES_MIN;
	struct rn_san_cqe *entry;

	if (cqes.room && cqes.count < cqes.room / 4 * 3)
		return true;
	/* The table is full of CQEs of rings that no longer exist. It is emptied. */
	if (room > CQES_MAX) {
		memset(cqes.entry, 0, cqes.room * sizeof(*cqes.entry));
		cqes.count = 0;
		return true;
	}
	entry = calloc(room, sizeof(*entry));
	if (!entry)
		return false;
	for (uint32_t i = 0; i < cqes.room; i++)
		if (cqes.entry[i].slot)
			*cqe_place(entry, room, cqes.entry[i].slot) = cqes.entry[i];
	free(cqes.entry);
	cqes.entry = entry;
	cqes.room = room;
	return true;
}

void rn_san_cqe_sent(const struct rn_san_cqe *cqe)
{
	struct rn_san_cqe *place;

	if (!make_room_for_cqe())
		return;
	place = cqe_place(cqes.entry, cqes.room, cqe->slot);
	cqes.count += place->slot == 0;
	*place = *cqe;
}

const struct rn_san_cqe *rn_san_cqe_at(rn_iova slot)
{
	const struct rn_san_cqe *place;

	if (!cqes.room)
		return NULL;
	place = cqe_place(cqes.entry, cqes.room, slot);
	return place->slot ? place : NULL;
}

/* ----------------------------------------------- digest of a source buffer */
static uint64_t mix_word(uint64_t digest, uint64_t word)
{
	digest = rn_hash_word(digest ^ word);
	return digest ^ digest >> 29;
}

/* Mixes words into a digest. The words are spread over several independent lanes. So a
 * multiplication depends only on the previous one of the same lane, and the processor can
 * overlap them.
 */
static uint64_t mix_words(uint64_t digest, const uint64_t *words, uint32_t count)
{
	uint64_t lane[LANES] = { digest };

	for (uint32_t i = 0; i < count; i += LANES)
		for (uint32_t k = 0; k < LANES; k++)
			lane[k] = mix_word(lane[k], words[i + k]);
	for (uint32_t k = 1; k < LANES; k++)
		lane[0] = mix_word(lane[0], lane[k]);
	return lane[0];
}

/* Loads bytes as they are without the withheld writes to them. */
static bool load_old(rn_iova addr, void *bytes, uint32_t len)
{
	enum rn_mem_result result;

	rn_san.old_read = (struct rn_host_range){ .addr = addr, .len = len };
	result = rn_host_load(rn_san.host, bytes, addr, len);
	rn_san.old_read.len = 0;
	return result == RN_MEM_DONE;
}

static bool digest_piece(rn_iova addr, uint32_t len, uint64_t *digest)
{
	uint64_t words[PIECE / sizeof(uint64_t)];
	uint32_t size = LANES * sizeof(*words);
	uint32_t rounded = (len + size - 1) / size * size;

	memset((uint8_t *)words + rounded - size, 0, size);
	if (!load_old(addr, words, len))
		return false;
	*digest = mix_words(*digest, words, rounded / (uint32_t)sizeof(*words));
	return true;
}

static bool digest_range(rn_iova addr, uint64_t len, uint64_t *digest)
{
	while (len) {
		uint32_t n = len < PIECE ? (uint32_t)len : PIECE;

		if (!digest_piece(addr, n, digest))
			return false;
		addr += n;
		len -= n;
	}
	return true;
}

/* Computes the digest of the source buffer. Returns false if a part of it is not mapped.
 */
static bool digest_source(const struct rn_san_wr *wr, uint64_t *digest)
{
	*digest = 1;
	for (unsigned i = 0; i < wr->range_count; i++) {
		const struct rn_host_range *r = &wr->range[i];
		uint64_t head = r->len <= WHOLE ? r->len : WHOLE / 2;
		uint64_t tail = r->len <= WHOLE ? 0 : WHOLE / 2;

		if (!digest_range(r->addr, head, digest) ||
		    !digest_range(r->addr + r->len - tail, tail, digest))
			return false;
	}
	return true;
}

static void judge_source(const struct rn_san_qp *q, const struct rn_san_wr *wr)
{
	uint64_t digest;

	if (digest_source(wr, &digest) && digest != wr->digest)
		rn_san_report_source(q, wr, 0);
}

/* -------------------------------------------------- completion of requests */
static void end_request(struct rn_san_qp *q, struct rn_san_wr *wr)
{
	if (!wr || wr->is_done)
		return;
	if (is_open_answer(wr)) {
		count_fetch(q, -1);
		rn_san_class_fetch_done(wr);
		if (rn_wr_is_atomic(wr->opcode))
			rn_san_class_atomic_executed(wr);
	}
	wr->is_done = true;
	let_go_of_source(wr);
	if (wr->has_digest)
		judge_source(q, wr);
}

void rn_san_requests_done(struct rn_san_qp *q, uint32_t msg)
{
	if (!q->has_posted)
		return;
	while ((int32_t)(msg - q->oldest) >= 0 && q->oldest != q->past) {
		end_request(q, rn_san_wr_find(q, q->oldest));
		q->oldest++;
	}
}

/* ---------------------------------------------------------- missing fences */
static bool ranges_touch(rn_iova a, uint64_t a_len, rn_iova b, uint64_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

static bool local_ranges_touch(const struct rn_san_wr *a, const struct rn_san_wr *b)
{
	for (unsigned i = 0; i < a->range_count; i++)
		for (unsigned j = 0; j < b->range_count; j++)
			if (ranges_touch(a->range[i].addr, a->range[i].len,
					 b->range[j].addr, b->range[j].len))
				return true;
	return false;
}

static bool remote_ranges_touch(const struct rn_san_wr *a, const struct rn_san_wr *b)
{
	/* A request of a kind like @b's, an ATOMIC WRITE, is executed by the peer only
	 * after all earlier requests, so after an atomic @b is in order. But after a
	 * READ, @b may be executed while the peer still sends the responses.
	 */
	if (rn_wr_writes_in_turn(b->opcode) && a->opcode != RN_WR_RDMA_READ)
		return false;
	return rn_wr_writes(b->opcode) && a->rkey == b->rkey &&
	       ranges_touch(a->remote_addr, a->len, b->remote_addr, b->len);
}

/* Returns the request before @wr in its queue, to go backwards through the requests for
 * which @wr does not wait. Returns NULL at the end of these requests: if @wr is the
 * oldest request, if no READ or atomic is outstanding, or if @wr has a fence, which waits
 * for all READs and atomics before it.
 */
static struct rn_san_wr *unordered_before(const struct rn_san_qp *q,
					  const struct rn_san_wr *wr)
{
	if (!q->reads_open || wr->has_fence || wr->msg == q->oldest)
		return NULL;
	return rn_san_wr_find(q, wr->msg - 1);
}

/* Reports the new request if it depends on a READ or atomic that has not completed. */
static void judge_fence(const struct rn_san_qp *q, const struct rn_san_wr *wr)
{
	for (const struct rn_san_wr *first = unordered_before(q, wr); first;
	     first = unordered_before(q, first)) {
		bool is_local;

		if (!rn_wr_brings_data(first->opcode))
			continue;
		is_local = local_ranges_touch(first, wr);
		if (is_local || remote_ranges_touch(first, wr)) {
			rn_san_report_fence(q, first, wr, is_local);
			return;
		}
	}
}

/* Copies those source bytes of the new request that the results of earlier READs and
 * atomics of its QP will overwrite, because the new request may be executed before them.
 * READs and atomics before the last request with a fence do not count: that request waits
 * for them.
 */
static void keep_from_own_qp(const struct rn_san_qp *q, struct rn_san_wr *wr)
{
	for (const struct rn_san_wr *first = unordered_before(q, wr); first;
	     first = unordered_before(q, first))
		if (rn_wr_brings_data(first->opcode))
			rn_san_early_keep(wr, first, load_old);
}

/* Copies those source bytes of the new request that the results of requests of other QPs
 * will overwrite. A fence does not order requests of different QPs.
 */
static void keep_from_other_qps(const struct rn_san_qp *own, struct rn_san_wr *wr)
{
	for (unsigned b = 0; b < BUCKETS && rn_san.fetches > own->reads_open; b++)
		for (const struct rn_san_qp *q = buckets[b]; q; q = q->next)
			for (uint32_t i = 0; q != own && q->reads_open && i < q->room;
			     i++)
				if (is_open_answer(&q->wr[i]) &&
				    rn_wr_brings_data(q->wr[i].opcode))
					rn_san_early_keep(wr, &q->wr[i], load_old);
}

/* Notes for each atomic before the new request that the request waits for it. */
static void wait_for_atomics(const struct rn_san_qp *q, const struct rn_san_wr *wr)
{
	struct rn_san_wr *first;
	uint32_t msg = wr->msg;

	while (q->reads_open && msg != q->oldest) {
		first = rn_san_wr_find(q, --msg);
		if (!first)
			return;
		if (is_open_answer(first) && rn_wr_is_atomic(first->opcode)) {
			first->is_waited_for = true;
			rn_san_class_atomic_executed(first);
		}
	}
}

static void overtake_one(struct rn_san_wr *first)
{
	first->is_overtaken = true;
	rn_san_class_fetch_overtaken(first);
	if (rn_wr_is_atomic(first->opcode) && !first->is_waited_for)
		rn_san_class_atomic_overtaken(first);
}

/* Called for a new request. If it does not wait for the READs, FLUSHes and atomics before
 * it, marks these as overtaken.
 */
static void overtake(const struct rn_san_qp *q, const struct rn_san_wr *wr)
{
	/* Requests with a fence and ATOMIC WRITEs wait for all requests before them. */
	if (wr->has_fence || rn_wr_writes_in_turn(wr->opcode)) {
		wait_for_atomics(q, wr);
		return;
	}
	for (struct rn_san_wr *first = unordered_before(q, wr); first;
	     first = unordered_before(q, first))
		if (is_open_answer(first) && !first->is_overtaken)
			overtake_one(first);
}

/* ----------------------------------------------------- posting of requests */
static void fill_request(struct rn_san_wr *to, const struct rn_host_wr *wr,
			 uint32_t stack)
{
	to->wr_id = wr->wr_id;
	to->opcode = wr->opcode;
	to->has_fence = wr->fence;
	to->remote_addr = wr->remote_addr;
	to->rkey = wr->rkey;
	to->stack = stack;
	to->when = rn_host_now();
	for (unsigned i = 0; i < wr->local_count; i++) {
		to->len += wr->local[i].len;
		if (to->range_count < RN_SAN_RANGES && wr->local[i].len)
			to->range[to->range_count++] = wr->local[i];
	}
}

void rn_sanitize_posted(struct rn_host_nic *nic, const struct rn_host_wr *wr)
{
	struct rn_host *h = nic->host;
	struct rn_san_wr *r;
	struct rn_san_qp *q;
	uint32_t stack;

	if (wr->recv) {
		rn_host_lock(h);
		(void)rn_san_qp_order(rn_nic_agent(nic), wr->qpn);
		rn_host_unlock(h);
		return;
	}
	stack = rn_san.options.level == RN_SANITIZE_SILENT ? 0 : rn_stacks_take();
	rn_host_lock(h);
	(void)rn_san_qp_order(rn_nic_agent(nic), wr->qpn);
	q = rn_san_qp(rn_nic_agent(nic), wr->qpn, true);
	r = q ? add_request(q, wr->msg) : NULL;
	if (r) {
		fill_request(r, wr, stack);
		if (rn_san_is_gather(r->opcode)) {
			judge_fence(q, r);
			overtake(q, r);
			if (rn_san_waits_for_events(h)) {
				keep_from_own_qp(q, r);
				keep_from_other_qps(q, r);
			}
		}
		if (rn_san_is_answered(r->opcode))
			count_fetch(q, 1);
		if (rn_san_is_gather(r->opcode) && r->range_count &&
		    rn_san.options.level != RN_SANITIZE_SILENT) {
			r->has_digest = digest_source(r, &r->digest);
			count_source(r, r->has_digest);
			rn_san_source_hold(r, r->has_digest);
		}
	}
	rn_host_unlock(h);
}
