/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_post.c - what can be told when a request is posted, and when it completes.
 *
 * A source buffer belongs to the NIC until the completion has been taken: its digest at
 * post is compared then. Of a range longer than WHOLE bytes the first and the last half
 * count. What a device wrote there meanwhile is no store of the program: such requests
 * are not judged.
 */
#include "sanitize_internal.h"
#include "sim/pcie/host/host_nic.h"

enum {
	WHOLE = 64 * 1024,
	PIECE = 4096,
	LINE = 64,
	LINES = 1 << 16,
};

/* When (rn_san.written) a device last wrote a line, by hash. */
static uint32_t line_written[LINES];

static uint32_t *line_of(rn_iova addr)
{
	uint64_t line = addr / LINE;

	return &line_written[(line ^ line >> 16) % LINES];
}

void rn_san_note_write(rn_iova addr, uint64_t len)
{
	rn_san.written++;
	for (rn_iova at = addr & ~(rn_iova)(LINE - 1); at < addr + len; at += LINE)
		*line_of(at) = rn_san.written;
}

/* Has a device written into the range since? */
static bool was_written(const struct rn_host_range *r, uint32_t since)
{
	rn_iova at = r->addr & ~(rn_iova)(LINE - 1);

	if (rn_san.written == since)
		return false;
	if (r->len > (uint64_t)LINES * LINE / 4)
		return true;
	for (; at < r->addr + r->len; at += LINE)
		if ((int32_t)(*line_of(at) - since) > 0)
			return true;
	return false;
}

/* ------------------------------------------------------------------ digest */
static uint64_t mix(uint64_t digest, uint64_t word)
{
	digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return digest ^ digest >> 29;
}

static bool digest_piece(rn_iova addr, uint32_t len, uint64_t *digest)
{
	uint64_t words[PIECE / sizeof(uint64_t)];

	words[(len - 1) / sizeof(*words)] = 0;
	if (rn_host_load(rn_san.host, words, addr, len) != RN_MEM_DONE)
		return false;
	for (uint32_t i = 0; i * sizeof(*words) < len; i++)
		*digest = mix(*digest, words[i]);
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

/* false: some of it is not there. */
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

	for (unsigned i = 0; i < wr->range_count; i++)
		if (was_written(&wr->range[i], wr->written))
			return;
	if (digest_source(wr, &digest) && digest != wr->digest)
		rn_san_report_source(q, wr, 0);
}

/* -------------------------------------------------------------- completion */
static void end(struct rn_san_qp *q, struct rn_san_wr *wr)
{
	if (!wr || wr->is_done)
		return;
	wr->is_done = true;
	if (rn_san_is_fetch(wr->opcode))
		q->reads_open--;
	rn_san_source_hold(wr, false);
	if (wr->has_digest)
		judge_source(q, wr);
}

void rn_san_requests_done(struct rn_san_qp *q, uint32_t msg)
{
	if (!q->has_posted)
		return;
	while ((int32_t)(msg - q->oldest) >= 0 && q->oldest != q->past) {
		end(q, rn_san_wr_find(q, q->oldest));
		q->oldest++;
	}
}

/* ------------------------------------------------------------------- fence */
static bool touch(rn_iova a, uint64_t a_len, rn_iova b, uint64_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

static bool local_ranges_touch(const struct rn_san_wr *a, const struct rn_san_wr *b)
{
	for (unsigned i = 0; i < a->range_count; i++)
		for (unsigned j = 0; j < b->range_count; j++)
			if (touch(a->range[i].addr, a->range[i].len, b->range[j].addr,
				  b->range[j].len))
				return true;
	return false;
}

static bool remote_ranges_touch(const struct rn_san_wr *a, const struct rn_san_wr *b)
{
	/* The responder executes atomics and ATOMIC WRITEs in their order. */
	if (b->opcode == RN_WR_ATOMIC_WRITE && a->opcode != RN_WR_RDMA_READ)
		return false;
	return rn_san_is_write(b->opcode) && a->rkey == b->rkey &&
	       touch(a->remote_addr, a->len, b->remote_addr, b->len);
}

/* From the newest request back to the last fence: what is before it has completed when
 * the fenced one begins, and requests begin in order.
 */
static void judge_fence(const struct rn_san_qp *q, const struct rn_san_wr *wr)
{
	const struct rn_san_wr *first;
	uint32_t msg = wr->msg;

	if (!q->reads_open || wr->has_fence)
		return;
	while (msg != q->oldest) {
		first = rn_san_wr_find(q, --msg);
		if (!first)
			return;
		if (rn_san_is_fetch(first->opcode)) {
			bool is_local = local_ranges_touch(first, wr);

			if (is_local || remote_ranges_touch(first, wr)) {
				rn_san_report_fence(q, first, wr, is_local);
				return;
			}
		}
		if (first->has_fence)
			return;
	}
}

/* -------------------------------------------------------------------- post */
static void fill(struct rn_san_wr *to, const struct rn_host_wr *wr, uint32_t stack)
{
	to->wr_id = wr->wr_id;
	to->opcode = wr->opcode;
	to->has_fence = wr->fence;
	to->remote_addr = wr->remote_addr;
	to->rkey = wr->rkey;
	to->stack = stack;
	to->written = rn_san.written;
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

	if (wr->recv)
		return;
	stack = rn_san_stack();
	rn_host_lock(h);
	q = rn_san_qp(rn_nic_agent(nic), wr->qpn, true);
	r = q ? rn_san_wr_add(q, wr->msg) : NULL;
	if (r) {
		fill(r, wr, stack);
		if (rn_san_is_fetch(r->opcode))
			q->reads_open++;
		else if (rn_san_is_gather(r->opcode))
			judge_fence(q, r);
		if (rn_san_is_gather(r->opcode) && r->range_count) {
			r->has_digest = digest_source(r, &r->digest);
			rn_san_source_hold(r, r->has_digest);
		}
	}
	rn_host_unlock(h);
}
