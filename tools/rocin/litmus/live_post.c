/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_post.c - work requests and completions of a test. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "live.h"
#include "rocin/wire.h"
#include "rocin/work_request.h"

static struct ibv_sge sge_of(const struct rn_live *l, unsigned nic, unsigned loc,
			     uint32_t bytes)
{
	return (struct ibv_sge){ .addr = rn_live_name(l, loc),
				 .length = bytes,
				 .lkey = rn_live_mr(l, nic, loc)->lkey };
}

/* Memory of the node for element @element of work request @work. */
static struct ibv_sge staged(const struct rn_live *l, unsigned nic, unsigned work,
			     unsigned element, uint32_t bytes)
{
	unsigned memory = 0;
	size_t at = RN_LIVE_STAGE +
		    ((size_t)work * RN_LITMUS_ELEMENTS + element) * l->map.element;

	while (l->map.memory[memory].node != l->map.nic[nic].node ||
	       l->map.memory[memory].agent != RN_AGENT_CPU)
		memory++;
	return (struct ibv_sge){ .addr = (uintptr_t)l->memory[memory] + at,
				 .length = bytes,
				 .lkey = l->mr[nic][memory][0]->lkey };
}

static int64_t value_of(const struct rn_litmus_value *v, const int64_t *reg)
{
	return v->is_reg ? reg[v->reg] : v->number;
}

static void fill(const struct ibv_sge *sge, int64_t value)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	int64_t *at = (int64_t *)(uintptr_t)sge->addr;

	for (uint32_t i = 0; i < sge->length / sizeof(*at); i++)
		at[i] = value;
}

static uint32_t bytes_of(const struct rn_live *l, const struct rn_litmus_instr *in,
			 unsigned loc)
{
	return in->count > 1 ? l->map.element : l->map.place[loc].bytes;
}

/* Where the bytes come from or, of a READ, go to. */
static void local_sges(const struct rn_live *l, const struct rn_litmus_instr *in,
		       unsigned nic, const int64_t *reg, struct ibv_send_wr *wr)
{
	bool is_inline = true;
	uint32_t total = 0;

	for (unsigned i = 0; i < in->count; i++) {
		struct ibv_sge *sge = &wr->sg_list[i];
		uint32_t bytes = bytes_of(
			l, in, in->op == RN_LITMUS_READ ? in->src[i].loc : in->dst[i]);

		if (in->op == RN_LITMUS_READ) {
			*sge = sge_of(l, nic, in->dst[i], bytes);
			is_inline = false;
		} else if (in->src[i].is_inline) {
			*sge = staged(l, nic, in->work, i, bytes);
			fill(sge, value_of(&in->src[i].value, reg));
		} else {
			*sge = sge_of(l, nic, in->src[i].loc, bytes);
			is_inline = false;
		}
		total += bytes;
	}
	wr->num_sge = in->count;
	if (is_inline && total <= l->device[nic].max_inline)
		wr->send_flags |= IBV_SEND_INLINE;
}

static void remote_side(const struct rn_live *l, unsigned peer_nic, unsigned loc,
			uint64_t *addr, uint32_t *rkey)
{
	const struct rn_live_place *p = &l->map.place[loc];

	*addr = rn_live_name(l, loc);
	*rkey = l->shared->rkey[peer_nic][p->memory][rn_live_is_relaxed(l, loc)];
}

static void atomic_side(const struct rn_live *l, const struct rn_litmus_instr *in,
			unsigned nic, unsigned peer_nic, const int64_t *reg,
			struct ibv_send_wr *wr)
{
	wr->sg_list[0] = in->dst[0] == RN_LITMUS_NONE
				 ? staged(l, nic, in->work, 0, sizeof(int64_t))
				 : sge_of(l, nic, in->dst[0], sizeof(int64_t));
	wr->num_sge = 1;
	remote_side(l, peer_nic, in->loc, &wr->wr.atomic.remote_addr,
		    &wr->wr.atomic.rkey);
	wr->wr.atomic.compare_add = (uint64_t)value_of(&in->value, reg);
	if (in->op == RN_LITMUS_CAS)
		wr->wr.atomic.swap = (uint64_t)value_of(&in->value2, reg);
}

/* As provider/verbs/newer_verbs.h says: the library may be too old for ibv_wr_flush(). */
static void flush_side(const struct rn_live *l, const struct rn_litmus_instr *in,
		       unsigned peer_nic, struct ibv_send_wr *wr)
{
	wr->sg_list[0] = (struct ibv_sge){ .length = bytes_of(l, in, in->dst[0]) };
	wr->num_sge = 1;
	wr->imm_data = htonl(RN_FLUSH_GLOBAL);
	remote_side(l, peer_nic, in->dst[0], &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);
}

static enum ibv_wr_opcode opcode_of(const struct rn_litmus_instr *in)
{
	switch (in->op) {
	case RN_LITMUS_WRITE:
		return IBV_WR_RDMA_WRITE;
	case RN_LITMUS_IMM:
		return IBV_WR_RDMA_WRITE_WITH_IMM;
	case RN_LITMUS_SEND:
		return IBV_WR_SEND;
	case RN_LITMUS_READ:
		return IBV_WR_RDMA_READ;
	case RN_LITMUS_FAA:
		return IBV_WR_ATOMIC_FETCH_AND_ADD;
	case RN_LITMUS_AWRITE:
		return IBV_WR_ATOMIC_WRITE;
	case RN_LITMUS_FLUSH:
		return (enum ibv_wr_opcode)RN_WR_FLUSH;
	default:
		return IBV_WR_ATOMIC_CMP_AND_SWP;
	}
}

int rn_live_post(struct rn_live *l, const struct rn_litmus_instr *in, const int64_t *reg)
{
	const struct rn_litmus_qp *q = &l->test->qp[in->qp];
	unsigned nic = rn_live_find_nic(&l->map, q->node, q->nic);
	unsigned peer_nic = rn_live_find_nic(&l->map, q->peer, q->peer_nic);
	struct ibv_sge sge[RN_LITMUS_ELEMENTS];
	struct ibv_send_wr wr = { .wr_id = in->work,
				  .sg_list = sge,
				  .opcode = opcode_of(in) },
			   *bad;

	if (!in->unsignaled)
		wr.send_flags |= IBV_SEND_SIGNALED;
	if (in->fence)
		wr.send_flags |= IBV_SEND_FENCE;
	if (in->op == RN_LITMUS_FAA || in->op == RN_LITMUS_CAS) {
		atomic_side(l, in, nic, peer_nic, reg, &wr);
	} else if (in->op == RN_LITMUS_FLUSH) {
		flush_side(l, in, peer_nic, &wr);
	} else {
		local_sges(l, in, nic, reg, &wr);
		if (in->op != RN_LITMUS_SEND)
			remote_side(l, peer_nic,
				    in->op == RN_LITMUS_READ ? in->src[0].loc
							     : in->dst[0],
				    &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey);
	}
	if (in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM)
		atomic_fetch_add(&l->qp[in->qp].sends, 1);
	errno = ibv_post_send(l->qp[in->qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send of \"%s\": %s", in->text,
				    strerror(errno))
		     : 0;
}

int rn_live_post_empty(struct rn_live *l, unsigned qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;

	errno = ibv_post_send(l->qp[qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send: %s", strerror(errno)) : 0;
}

static int post_receive(struct rn_live *l, unsigned qp, struct ibv_sge *sge, int count)
{
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = count }, *bad;

	errno = ibv_post_recv(l->qp[qp].side[1], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_recv: %s", strerror(errno)) : 0;
}

/* The buffer of one SEND; an immediate takes a receive and none of its bytes. */
static int post_receive_of(struct rn_live *l, const struct rn_litmus_instr *in)
{
	const struct rn_litmus_qp *q = &l->test->qp[in->qp];
	unsigned nic = rn_live_find_nic(&l->map, q->peer, q->peer_nic);
	struct ibv_sge sge[RN_LITMUS_ELEMENTS];
	unsigned count = in->op == RN_LITMUS_SEND ? in->count : 0;

	for (unsigned i = 0; i < count; i++)
		sge[i] = sge_of(l, nic, in->dst[i], bytes_of(l, in, in->dst[i]));
	return post_receive(l, in->qp, sge, (int)count);
}

int rn_live_post_receives(struct rn_live *l, unsigned qp)
{
	const struct rn_litmus_test *t = l->test;

	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++) {
			const struct rn_litmus_instr *in = &t->thread[i].instr[j];

			if ((in->op == RN_LITMUS_SEND || in->op == RN_LITMUS_IMM) &&
			    in->qp == qp && post_receive_of(l, in))
				return -1;
		}
	return post_receive(l, qp, NULL, 0);
}

static int post_empty_send(struct rn_live *l, unsigned qp, uint64_t wr_id, unsigned flags)
{
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .opcode = IBV_WR_SEND,
				  .send_flags = flags },
			   *bad;

	errno = ibv_post_send(l->qp[qp].side[0], &wr, &bad);
	return errno ? rn_live_fail(l, "ibv_post_send: %s", strerror(errno)) : 0;
}

int rn_live_post_unsignaled(struct rn_live *l, unsigned qp)
{
	return post_empty_send(l, qp, 0, 0);
}

int rn_live_post_quiet(struct rn_live *l, unsigned qp, unsigned unused)
{
	for (unsigned i = 0; i < unused; i++)
		if (post_empty_send(l, qp, 0, 0))
			return -1;
	return post_empty_send(l, qp, RN_LIVE_QUIET_WR, IBV_SEND_SIGNALED);
}

int rn_live_poll(struct rn_live *l, unsigned cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(l->cq[cq], 1, wc);

	if (n < 0)
		return rn_live_fail(l, "ibv_poll_cq fails");
	if (n > 0 && wc->status == IBV_WC_RETRY_EXC_ERR && l->request->is_lossy)
		atomic_store(&l->shared->is_lost, true);
	if (n > 0 && wc->status != IBV_WC_SUCCESS)
		return rn_live_fail(l, "a work request ended with \"%s\"",
				    ibv_wc_status_str(wc->status));
	if (n > 0 && (wc->opcode & IBV_WC_RECV))
		atomic_fetch_add(&l->recv_seen[cq], 1);
	return n;
}
