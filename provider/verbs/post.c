/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.c - work requests from the program to the core: ibv_post_send(), ibv_post_recv().
 */
#include "post.h"

#include <arpa/inet.h>

#include "newer_verbs.h"
#include "provider.h"
#include "provider/engine/trace_points.h"

/* -------------------------------------------- a send request in the form of the core */
#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), "verbs numbers")

SAME(RN_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(RN_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(RN_WR_SEND, IBV_WR_SEND);
SAME(RN_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM);
SAME(RN_WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(RN_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(RN_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(RN_WR_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(RN_WR_BIND_MW, IBV_WR_BIND_MW);
SAME(RN_WR_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);
SAME(RN_WR_FLUSH, RNP_WR_FLUSH);
SAME(RN_WR_SEND_WITH_INV, IBV_WR_SEND_WITH_INV);
SAME(RN_SEND_FENCE, IBV_SEND_FENCE);
SAME(RN_SEND_SIGNALED, IBV_SEND_SIGNALED);
SAME(RN_SEND_SOLICITED, IBV_SEND_SOLICITED);
SAME(RN_SEND_INLINE, IBV_SEND_INLINE);
SAME(RN_SEND_IP_CSUM, IBV_SEND_IP_CSUM);

/* Scatter lists are passed through unchanged. */
SAME(sizeof(struct rn_sge), sizeof(struct ibv_sge));
SAME(offsetof(struct rn_sge, addr), offsetof(struct ibv_sge, addr));
SAME(offsetof(struct rn_sge, len), offsetof(struct ibv_sge, length));
SAME(offsetof(struct rn_sge, lkey), offsetof(struct ibv_sge, lkey));

enum {
	KNOWN_FLAGS =
		RN_SEND_FENCE | RN_SEND_SIGNALED | RN_SEND_SOLICITED | RN_SEND_INLINE,
};

/* What the union in struct ibv_send_wr holds. */
enum part {
	PART_REFUSED, /* no QP of ours has the opcode */
	PART_NONE,
	PART_ADDRESS, /* UD only, else nothing */
	PART_RDMA,
	PART_ATOMIC,
	PART_BIND,
	PART_FLUSH,
};

struct opcode_rule {
	enum part part;
	bool imm; /* a number in network order, not a key */
};

/* clang-format off */
static const struct opcode_rule rules[] = {
	[IBV_WR_SEND]                 = { PART_ADDRESS, false },
	[IBV_WR_SEND_WITH_IMM]        = { PART_ADDRESS, true },
	[IBV_WR_SEND_WITH_INV]        = { PART_ADDRESS, false },
	[IBV_WR_LOCAL_INV]            = { PART_NONE,    false },
	[IBV_WR_BIND_MW]              = { PART_BIND,    false },
	[IBV_WR_RDMA_WRITE]           = { PART_RDMA,    false },
	[IBV_WR_RDMA_WRITE_WITH_IMM]  = { PART_RDMA,    true },
	[IBV_WR_RDMA_READ]            = { PART_RDMA,    false },
	[IBV_WR_ATOMIC_CMP_AND_SWP]   = { PART_ATOMIC,  false },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { PART_ATOMIC,  false },
	[IBV_WR_ATOMIC_WRITE]         = { PART_RDMA,    false },
	[RNP_WR_FLUSH]                = { PART_FLUSH,   false },
};
/* clang-format on */

static int take_address(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
			struct rn_send_wr *out)
{
	if (qp->qp_type != IBV_QPT_UD)
		return 0;
	if (!wr->wr.ud.ah || to_rnp_pd(wr->wr.ud.ah->pd) != to_rnp_pd(qp->pd))
		return -EINVAL;
	out->av = &to_rnp_ah(wr->wr.ud.ah)->av;
	out->remote_qpn = wr->wr.ud.remote_qpn;
	out->remote_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

void rnp_send_wr_bind(const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info, struct rn_send_wr *wr)
{
	wr->opcode = RN_WR_BIND_MW;
	wr->rkey = (mw->rkey & ~(uint32_t)UINT8_MAX) | (rkey & UINT8_MAX);
	wr->remote_addr = info->addr;
	wr->bind_length = info->length;
	wr->bind_region = info->mr ? info->mr->lkey : 0;
	wr->bind_access = info->mw_access_flags;
	wr->num_sge = 0;
}

/* Windows of type 1 are bound by ibv_bind_mw(). */
static int take_bind(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (!mw || mw->type != IBV_MW_TYPE_2 || mw->context != qp->context)
		return -EINVAL;
	rnp_send_wr_bind(mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info, out);
	return 0;
}

/* newer_verbs.h says how a program asks for it. */
static int take_flush(const struct ibv_send_wr *wr, struct rn_send_wr *out)
{
	uint32_t how = ntohl(wr->imm_data);
	uint64_t len = 0;

	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (len > UINT32_MAX || how > UINT16_MAX)
		return -EINVAL;
	out->remote_addr = wr->wr.rdma.remote_addr;
	out->rkey = wr->wr.rdma.rkey;
	out->flush_length = (uint32_t)len;
	out->flush_placement = how & UINT8_MAX;
	out->flush_selectivity = (uint8_t)(how >> 8);
	out->num_sge = 0;
	return 0;
}

int rnp_send_wr_from(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out)
{
	const unsigned frames = qp->qp_type == IBV_QPT_RAW_PACKET ? RN_SEND_IP_CSUM : 0;
	struct opcode_rule rule;

	if ((unsigned)wr->opcode >= RN_ARRAY_SIZE(rules) ||
	    wr->send_flags & ~(KNOWN_FLAGS | frames) || wr->num_sge < 0)
		return -EINVAL;
	rule = rules[wr->opcode];
	*out = (struct rn_send_wr){
		.wr_id = wr->wr_id,
		.opcode = (enum rn_wr_opcode)wr->opcode,
		.flags = wr->send_flags,
		.imm = rule.imm ? ntohl(wr->imm_data) : wr->invalidate_rkey,
		.sg = (const struct rn_sge *)wr->sg_list,
		.num_sge = (uint32_t)wr->num_sge,
	};
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		out->remote_srqn = wr->qp_type.xrc.remote_srqn;
	switch (rule.part) {
	case PART_NONE:
		return 0;
	case PART_ADDRESS:
		return take_address(wr, qp, out);
	case PART_RDMA:
		out->remote_addr = wr->wr.rdma.remote_addr;
		out->rkey = wr->wr.rdma.rkey;
		return 0;
	case PART_ATOMIC:
		out->remote_addr = wr->wr.atomic.remote_addr;
		out->rkey = wr->wr.atomic.rkey;
		out->compare_add = wr->wr.atomic.compare_add;
		out->swap = wr->wr.atomic.swap;
		return 0;
	case PART_FLUSH:
		return take_flush(wr, out);
	case PART_BIND:
		return take_bind(wr, qp, out);
	case PART_REFUSED:
		break;
	}
	return -EINVAL;
}

void rnp_post_tell_sanitizer(const struct rnp_qp *qp, const struct rn_send_wr *wr,
			     uint32_t msg)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(qp->ctx->engine);
	struct rn_host_range local[RN_SGE_MAX];
	struct rn_host_wr told = {
		.qpn = qp->base.qp.qp_num,
		.wr_id = wr->wr_id,
		.msg = msg,
		.opcode = (uint8_t)wr->opcode,
		.fence = (wr->flags & RN_SEND_FENCE) != 0,
		.is_signaled = (wr->flags & RN_SEND_SIGNALED) != 0,
		.local = local,
		.remote_addr = wr->remote_addr,
		.rkey = wr->rkey,
	};

	/* Inline data has been copied: its source is the program's again. */
	if (!(wr->flags & RN_SEND_INLINE))
		for (uint32_t i = 0; i < wr->num_sge; i++) {
			struct rn_host_range *r = &local[told.local_count];

			r->len = wr->sg[i].len;
			if (r->len && rn_qp_sge_address(qp->core, &wr->sg[i], &r->addr))
				told.local_count++;
		}
	pcie->api->posted(pcie->nic, &told);
}

/* --------------------------------------------------------------------------- posting */
/* Posting reaches no cancellation point before the engine takes over, except with a PCIe
 * layer: only then is cancellation disabled, as in rnp_enter(), because that is slow.
 */
static bool lock_to_post(struct rnp_engine *e, int *cancel)
{
	bool disabled = rnp_pcie_is_on(rnp_engine_pcie(e));

	if (disabled)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	rnp_engine_lock(e);
	return disabled;
}

static void unlock_posted(struct rnp_engine *e, bool disabled, int cancel)
{
	rnp_engine_unlock(e);
	if (disabled)
		pthread_setcancelstate(cancel, NULL);
}

int rnp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_posted posted = { 0 };
	struct rn_send_wr core_wr;
	int rc = 0, cancel = 0;
	bool disabled;

	if (rnp_is_copy(qp->ctx)) {
		*bad_wr = wr;
		return EIO;
	}
	disabled = lock_to_post(e, &cancel);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	posted.now = rnp_engine_send_time(e, qp->core);
	for (; wr; wr = wr->next) {
		rc = rnp_send_wr_from(wr, base, &core_wr);
		if (!rc)
			rc = rnp_post_one(qp, &posted, &core_wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	/* Those before the bad one have been posted. */
	rnp_engine_posted(e, qp->core, &posted);
	unlock_posted(e, disabled, cancel);
	return -rc;
}

static void kick_uncancelled(struct rnp_engine *e)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_kick(e);
	pthread_setcancelstate(cancel, NULL);
}

int rnp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rn_dev *dev;
	int rc = 0, cancel = 0;
	bool disabled;
	rn_ns now;

	if (rnp_is_copy(qp->ctx)) {
		*bad_wr = wr;
		return EIO;
	}
	disabled = lock_to_post(e, &cancel);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	dev = rnp_engine_dev(e);
	now = rnp_engine_recv_time(e, qp->core);
	for (; wr; wr = wr->next) {
		const struct rn_recv_wr core_wr = rnp_recv_wr_from(wr);

		rc = rn_qp_post_recv(dev, qp->core, now, &core_wr);
		rn_trace_post_recv(base->qp_num, wr->wr_id, -rc);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	/* In ERR the requests have been flushed, which an armed CQ wants to know; a peer
	 * without credits wants to know of receives.
	 */
	if (rn_qp_state(qp->core) == RN_QPS_ERR || rnp_engine_tells_credits(e))
		kick_uncancelled(e);
	unlock_posted(e, disabled, cancel);
	return -rc;
}
