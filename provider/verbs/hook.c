/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook.c - verbs calls that fail because a rule says so. */
#include "hook.h"

#include "mw.h"
#include "provider.h"

/* In the order of rn_fault_calls. */
enum call {
	CALL_ALLOC_PD,
	CALL_REG_MR,
	CALL_CREATE_CQ,
	CALL_CREATE_SRQ,
	CALL_CREATE_QP,
	CALL_CREATE_AH,
	CALL_MODIFY_QP,
	CALL_POST_SEND,
	CALL_POST_RECV,
	CALL_POST_SRQ_RECV,
	CALL_REQ_NOTIFY_CQ,
	CALL_ALLOC_MW,
	CALL_RESIZE_CQ,
	CALL_MODIFY_SRQ,
};

/* Positive errno, or 0: the call is made. In a fork child ours says what is wrong. */
static int judge(struct ibv_context *context, enum call call)
{
	struct rnp_context *ctx = to_rnp_context(context);

	return rnp_is_copy(ctx) ? 0 : rnp_engine_judge_call(ctx->engine, call);
}

static bool fails(struct ibv_context *context, enum call call)
{
	int error = judge(context, call);

	if (error)
		errno = error;
	return error != 0;
}

/* -------------------------------------------------------------- pointers, or errno */
static struct ibv_pd *ask_alloc_pd(struct ibv_context *context)
{
	return fails(context, CALL_ALLOC_PD) ? NULL : rnp_alloc_pd(context);
}

static struct ibv_mr *ask_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				 uint64_t hca_va, int access)
{
	return fails(pd->context, CALL_REG_MR)
		       ? NULL
		       : rnp_reg_mr(pd, addr, length, hca_va, access);
}

static struct ibv_mr *ask_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access)
{
	return fails(pd->context, CALL_REG_MR)
		       ? NULL
		       : rnp_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

static struct ibv_cq *ask_create_cq(struct ibv_context *context, int cqe,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	return fails(context, CALL_CREATE_CQ)
		       ? NULL
		       : rnp_create_cq(context, cqe, channel, comp_vector);
}

static struct ibv_cq_ex *ask_create_cq_ex(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attr)
{
	return fails(context, CALL_CREATE_CQ) ? NULL : rnp_create_cq_ex(context, attr);
}

static struct ibv_srq *ask_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return fails(pd->context, CALL_CREATE_SRQ) ? NULL : rnp_create_srq(pd, attr);
}

static struct ibv_srq *ask_create_srq_ex(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attr)
{
	return fails(context, CALL_CREATE_SRQ) ? NULL : rnp_create_srq_ex(context, attr);
}

static struct ibv_qp *ask_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return fails(pd->context, CALL_CREATE_QP) ? NULL : rnp_create_qp(pd, attr);
}

static struct ibv_qp *ask_create_qp_ex(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr)
{
	return fails(context, CALL_CREATE_QP) ? NULL : rnp_create_qp_ex(context, attr);
}

static struct ibv_ah *ask_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return fails(pd->context, CALL_CREATE_AH) ? NULL : rnp_create_ah(pd, attr);
}

static struct ibv_mw *ask_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	return fails(pd->context, CALL_ALLOC_MW) ? NULL : rnp_alloc_mw(pd, type);
}

/* -------------------------------------------------------------------------- errnos */
static int ask_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	int error = judge(qp->context, CALL_MODIFY_QP);

	return error ? error : rnp_modify_qp(qp, attr, attr_mask);
}

static int ask_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad_wr)
{
	int error = judge(qp->context, CALL_POST_SEND);

	if (!error)
		return rnp_post_send(qp, wr, bad_wr);
	*bad_wr = wr;
	return error;
}

static int ask_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr)
{
	int error = judge(qp->context, CALL_POST_RECV);

	if (!error)
		return rnp_post_recv(qp, wr, bad_wr);
	*bad_wr = wr;
	return error;
}

static int ask_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr)
{
	int error = judge(srq->context, CALL_POST_SRQ_RECV);

	if (!error)
		return rnp_post_srq_recv(srq, wr, bad_wr);
	*bad_wr = wr;
	return error;
}

static int ask_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int error = judge(cq->context, CALL_REQ_NOTIFY_CQ);

	return error ? error : rnp_req_notify_cq(cq, solicited_only);
}

static int ask_resize_cq(struct ibv_cq *cq, int cqe)
{
	int error = judge(cq->context, CALL_RESIZE_CQ);

	return error ? error : rnp_resize_cq(cq, cqe);
}

static int ask_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int error = judge(srq->context, CALL_MODIFY_SRQ);

	return error ? error : rnp_modify_srq(srq, attr, mask);
}

/* ----------------------------------------------------------------------- operations */
#define ASK(name)                                         \
	{                                                 \
		RNP_OP_##name, (void (*)(void))ask_##name \
	}

static const struct rnp_abi_op ops[] = {
	ASK(alloc_pd),	   ASK(reg_mr),	    ASK(reg_dmabuf_mr), ASK(create_cq),
	ASK(create_cq_ex), ASK(create_srq), ASK(create_srq_ex), ASK(create_qp),
	ASK(create_qp_ex), ASK(create_ah),  ASK(alloc_mw),	ASK(modify_qp),
	ASK(post_send),	   ASK(post_recv),  ASK(post_srq_recv), ASK(req_notify_cq),
	ASK(resize_cq),	   ASK(modify_srq),
};

const struct rnp_abi_op *rnp_asking_ops(unsigned *count)
{
	*count = RN_ARRAY_SIZE(ops);
	return ops;
}
