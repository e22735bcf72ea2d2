/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ops.c - the operations that libibverbs calls, and how they report a failure.
 *
 * By the manual pages, verbs that return a number return the value of errno on failure,
 * and verbs that return a pointer set errno; programs look at either, and call perror().
 * So each operation, whatever it returns, sets errno if it fails and keeps it if it
 * succeeds; the wrappers in this file do that for all of them. Functions that the program
 * calls by pointers of the extended objects (ibv_start_poll(), ibv_wr_complete()) call
 * rnp_set_errno() themselves. So do the verbs that post, for speed; if they succeed,
 * errno may have changed.
 */
#include "driver_abi.h"

#include <assert.h>

#include "provider/verbs/object/provider.h"
#include "provider/verbs/verbs.h"

/* Called after an operation, which has returned @rc. Sets errno to @rc if that is an
 * error; otherwise restores @saved_errno, because the operation may have handled failures
 * that set errno. Programs depend on that: rdma_accept() moves a QP to ERR between its
 * own failure and its return. Returns @rc.
 */
static int set_errno(int rc, int saved_errno)
{
	errno = rc > 0 ? rc : saved_errno;
	return rc;
}

#define RETURNS_ERRNO(op, params, args)                       \
	static int op_##op params                             \
	{                                                     \
		const int saved_errno = errno;                \
                                                              \
		return set_errno(rnp_##op args, saved_errno); \
	}

// NOLINTBEGIN(bugprone-macro-parentheses): a type has none
#define RETURNS_POINTER(type, op, params, args) \
	static type *op_##op params             \
	{                                       \
		const int saved_errno = errno;  \
		type *made;                     \
                                                \
		errno = 0;                      \
		made = rnp_##op args;           \
		assert(made || errno);          \
		if (made)                       \
			errno = saved_errno;    \
		return made;                    \
	}
// NOLINTEND(bugprone-macro-parentheses)

/* clang-format off */
RETURNS_ERRNO(advise_mr,
	(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge),
	(pd, advice, flags, sg_list, num_sge))
RETURNS_ERRNO(attach_counters_point_flow,
	(struct ibv_counters *base, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow),
	(base, attr, flow))
RETURNS_ERRNO(attach_mcast,
	(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid),
	(base, gid, lid))
RETURNS_ERRNO(bind_mw,
	(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind),
	(base, mw, bind))
RETURNS_ERRNO(close_xrcd,
	(struct ibv_xrcd *base),
	(base))
RETURNS_ERRNO(dealloc_dmah,
	(struct rnp_abi_dmah *base),
	(base))
RETURNS_ERRNO(dealloc_mw,
	(struct ibv_mw *base),
	(base))
RETURNS_ERRNO(dealloc_pd,
	(struct ibv_pd *base),
	(base))
RETURNS_ERRNO(dealloc_td,
	(struct ibv_td *base),
	(base))
RETURNS_ERRNO(dereg_mr,
	(struct rnp_abi_mr *base),
	(base))
RETURNS_ERRNO(destroy_ah,
	(struct ibv_ah *base),
	(base))
RETURNS_ERRNO(destroy_comp_cntr,
	(struct rnp_abi_comp_cntr *base),
	(base))
RETURNS_ERRNO(destroy_counters,
	(struct ibv_counters *base),
	(base))
RETURNS_ERRNO(destroy_cq,
	(struct ibv_cq *base),
	(base))
RETURNS_ERRNO(destroy_flow,
	(struct ibv_flow *base),
	(base))
RETURNS_ERRNO(destroy_qp,
	(struct ibv_qp *base),
	(base))
RETURNS_ERRNO(destroy_rwq_ind_table,
	(struct ibv_rwq_ind_table *base),
	(base))
RETURNS_ERRNO(destroy_srq,
	(struct ibv_srq *base),
	(base))
RETURNS_ERRNO(destroy_wq,
	(struct ibv_wq *base),
	(base))
RETURNS_ERRNO(detach_mcast,
	(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid),
	(base, gid, lid))
RETURNS_ERRNO(free_dm,
	(struct ibv_dm *base),
	(base))
RETURNS_ERRNO(get_srq_num,
	(struct ibv_srq *base, uint32_t *srq_num),
	(base, srq_num))
RETURNS_ERRNO(inc_comp_cntr,
	(struct rnp_abi_comp_cntr *base, uint64_t amount),
	(base, amount))
RETURNS_ERRNO(inc_err_comp_cntr,
	(struct rnp_abi_comp_cntr *base, uint64_t amount),
	(base, amount))
RETURNS_ERRNO(modify_cq,
	(struct ibv_cq *base, struct ibv_modify_cq_attr *attr),
	(base, attr))
RETURNS_ERRNO(modify_qp,
	(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask),
	(base, attr, attr_mask))
RETURNS_ERRNO(modify_qp_rate_limit,
	(struct ibv_qp *base, struct ibv_qp_rate_limit_attr *attr),
	(base, attr))
RETURNS_ERRNO(modify_srq,
	(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask),
	(base, attr, mask))
RETURNS_ERRNO(modify_wq,
	(struct ibv_wq *base, struct ibv_wq_attr *attr),
	(base, attr))
RETURNS_ERRNO(qp_attach_comp_cntr,
	(struct ibv_qp *base, struct rnp_abi_comp_cntr *comp_cntr, struct rnp_abi_comp_cntr_attach *attr),
	(base, comp_cntr, attr))
RETURNS_ERRNO(query_comp_cntr_caps,
	(struct ibv_context *context, struct rnp_abi_comp_cntr_caps *caps, size_t caps_size),
	(context, caps, caps_size))
RETURNS_ERRNO(query_device_ex,
	(struct ibv_context *context, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr, size_t attr_size),
	(context, input, attr, attr_size))
RETURNS_ERRNO(query_ece,
	(struct ibv_qp *base, struct ibv_ece *ece),
	(base, ece))
RETURNS_ERRNO(query_port,
	(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr),
	(context, port_num, attr))
RETURNS_ERRNO(query_port_speed,
	(struct ibv_context *context, uint32_t port_num, uint64_t *speed),
	(context, port_num, speed))
RETURNS_ERRNO(query_qp,
	(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init_attr),
	(base, attr, attr_mask, init_attr))
RETURNS_ERRNO(query_rt_values,
	(struct ibv_context *context, struct ibv_values_ex *values),
	(context, values))
RETURNS_ERRNO(query_srq,
	(struct ibv_srq *base, struct ibv_srq_attr *attr),
	(base, attr))
RETURNS_ERRNO(read_comp_cntr,
	(struct rnp_abi_comp_cntr *base, uint64_t *value),
	(base, value))
RETURNS_ERRNO(read_err_comp_cntr,
	(struct rnp_abi_comp_cntr *base, uint64_t *value),
	(base, value))
RETURNS_ERRNO(read_counters,
	(struct ibv_counters *base, uint64_t *values, uint32_t count, uint32_t flags),
	(base, values, count, flags))
RETURNS_ERRNO(rereg_mr,
	(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd, void *addr, size_t length, int access),
	(base, flags, pd, addr, length, access))
RETURNS_ERRNO(resize_cq,
	(struct ibv_cq *base, int cqe),
	(base, cqe))
RETURNS_ERRNO(set_comp_cntr,
	(struct rnp_abi_comp_cntr *base, uint64_t value),
	(base, value))
RETURNS_ERRNO(set_err_comp_cntr,
	(struct rnp_abi_comp_cntr *base, uint64_t value),
	(base, value))
RETURNS_ERRNO(set_ece,
	(struct ibv_qp *base, struct ibv_ece *ece),
	(base, ece))
RETURNS_ERRNO(req_notify_cq,
	(struct ibv_cq *base, int solicited_only),
	(base, solicited_only))
RETURNS_POINTER(struct ibv_dm, alloc_dm,
	(struct ibv_context *context, struct ibv_alloc_dm_attr *attr),
	(context, attr))
RETURNS_POINTER(struct rnp_abi_dmah, alloc_dmah,
	(struct ibv_context *context, struct rnp_abi_dmah_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_mw, alloc_mw,
	(struct ibv_pd *pd, enum ibv_mw_type type),
	(pd, type))
RETURNS_POINTER(struct ibv_mr, alloc_null_mr,
	(struct ibv_pd *pd),
	(pd))
RETURNS_POINTER(struct ibv_pd, alloc_parent_domain,
	(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_pd, alloc_pd,
	(struct ibv_context *context),
	(context))
RETURNS_POINTER(struct ibv_td, alloc_td,
	(struct ibv_context *context, struct ibv_td_init_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_ah, create_ah,
	(struct ibv_pd *pd, struct ibv_ah_attr *attr),
	(pd, attr))
RETURNS_POINTER(struct rnp_abi_comp_cntr, create_comp_cntr,
	(struct ibv_context *context, struct rnp_abi_comp_cntr_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_counters, create_counters,
	(struct ibv_context *context, struct ibv_counters_init_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_cq, create_cq,
	(struct ibv_context *context, int cqe, struct ibv_comp_channel *channel, int comp_vector),
	(context, cqe, channel, comp_vector))
RETURNS_POINTER(struct ibv_cq_ex, create_cq_ex,
	(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_flow, create_flow,
	(struct ibv_qp *base, struct ibv_flow_attr *attr),
	(base, attr))
RETURNS_POINTER(struct ibv_qp, create_qp,
	(struct ibv_pd *pd, struct ibv_qp_init_attr *attr),
	(pd, attr))
RETURNS_POINTER(struct ibv_qp, create_qp_ex,
	(struct ibv_context *context, struct ibv_qp_init_attr_ex *ex),
	(context, ex))
RETURNS_POINTER(struct ibv_rwq_ind_table, create_rwq_ind_table,
	(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_srq, create_srq,
	(struct ibv_pd *pd, struct ibv_srq_init_attr *attr),
	(pd, attr))
RETURNS_POINTER(struct ibv_srq, create_srq_ex,
	(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_wq, create_wq,
	(struct ibv_context *context, struct ibv_wq_init_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_dm, import_dm,
	(struct ibv_context *context, uint32_t dm_handle),
	(context, dm_handle))
RETURNS_POINTER(struct ibv_mr, import_mr,
	(struct ibv_pd *pd, uint32_t mr_handle),
	(pd, mr_handle))
RETURNS_POINTER(struct ibv_pd, import_pd,
	(struct ibv_context *context, uint32_t pd_handle),
	(context, pd_handle))
RETURNS_POINTER(struct ibv_qp, open_qp,
	(struct ibv_context *context, struct ibv_qp_open_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_xrcd, open_xrcd,
	(struct ibv_context *context, struct ibv_xrcd_init_attr *attr),
	(context, attr))
RETURNS_POINTER(struct ibv_mr, reg_dm_mr,
	(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset, size_t length, unsigned int access),
	(pd, base, offset, length, access))
RETURNS_POINTER(struct ibv_mr, reg_dmabuf_mr,
	(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access),
	(pd, offset, length, iova, fd, access))
RETURNS_POINTER(struct ibv_mr, reg_mr_ex,
	(struct ibv_pd *pd, struct rnp_abi_mr_attr *attr),
	(pd, attr))
RETURNS_POINTER(struct ibv_mr, reg_mr,
	(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va, int access),
	(pd, addr, length, hca_va, access))

/* Operations that are not in this table keep the library's default, which fails
 * with EOPNOTSUPP.
 */
#define OP(name) { RNP_OP_##name, (void (*)(void))op_##name }
#define QUICK(name) { RNP_OP_##name, (void (*)(void))rnp_##name }
/* Operations whose errno needs no wrapper, as they do not return a positive errno.
 * rnp_poll_cq() returns a negative one, and sets errno itself.
 */
#define PLAIN(name) { RNP_OP_##name, (void (*)(void))rnp_##name }
static const struct rnp_abi_op ops[] = {
	PLAIN(cq_event),
	PLAIN(dm_export_dmabuf_fd),
	PLAIN(poll_cq),
	PLAIN(query_qp_data_in_order),
	PLAIN(unimport_dm),
	PLAIN(unimport_mr),
	PLAIN(unimport_pd),
	OP(advise_mr),
	OP(alloc_dm),
	OP(alloc_dmah),
	OP(alloc_mw),
	OP(alloc_null_mr),
	OP(alloc_parent_domain),
	OP(alloc_pd),
	OP(alloc_td),
	OP(attach_counters_point_flow),
	OP(attach_mcast),
	OP(bind_mw),
	OP(close_xrcd),
	OP(create_ah),
	OP(create_comp_cntr),
	OP(create_counters),
	OP(create_cq),
	OP(create_cq_ex),
	OP(create_flow),
	OP(create_qp),
	OP(create_qp_ex),
	OP(create_rwq_ind_table),
	OP(create_srq),
	OP(create_srq_ex),
	OP(create_wq),
	OP(dealloc_dmah),
	OP(dealloc_mw),
	OP(dealloc_pd),
	OP(dealloc_td),
	OP(dereg_mr),
	OP(destroy_ah),
	OP(destroy_comp_cntr),
	OP(destroy_counters),
	OP(destroy_cq),
	OP(destroy_flow),
	OP(destroy_qp),
	OP(destroy_rwq_ind_table),
	OP(destroy_srq),
	OP(destroy_wq),
	OP(detach_mcast),
	OP(free_dm),
	OP(get_srq_num),
	OP(import_dm),
	OP(import_mr),
	OP(import_pd),
	OP(inc_comp_cntr),
	OP(inc_err_comp_cntr),
	OP(modify_cq),
	OP(modify_qp),
	OP(modify_qp_rate_limit),
	OP(modify_srq),
	OP(modify_wq),
	OP(open_qp),
	OP(open_xrcd),
	QUICK(post_recv),
	QUICK(post_send),
	QUICK(post_srq_recv),
	OP(qp_attach_comp_cntr),
	OP(query_comp_cntr_caps),
	OP(query_device_ex),
	OP(query_ece),
	OP(query_port),
	OP(query_port_speed),
	OP(query_qp),
	OP(query_rt_values),
	OP(query_srq),
	OP(read_comp_cntr),
	OP(read_counters),
	OP(read_err_comp_cntr),
	OP(reg_dm_mr),
	OP(reg_dmabuf_mr),
	OP(reg_mr),
	OP(reg_mr_ex),
	OP(req_notify_cq),
	OP(rereg_mr),
	OP(resize_cq),
	OP(set_comp_cntr),
	OP(set_ece),
	OP(set_err_comp_cntr),
};
/* clang-format on */

const struct rnp_abi_op *rnp_ops(unsigned *count)
{
	*count = RN_ARRAY_SIZE(ops);
	return ops;
}

/* ------------------------------------------- calls that fault rules can make fail */

/* Indices in rn_fault_calls. */
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

/* Asks the fault rules whether the call must fail. Returns the positive errno to fail
 * with, and sets errno to it; or 0. A fork() child has no rules: there the call itself
 * fails.
 */
static int injected_error(struct ibv_context *context, enum call call)
{
	struct rnp_context *ctx = to_rnp_context(context);

	return rnp_is_fork_child(ctx)
		       ? 0
		       : rnp_set_errno(rnp_engine_call_error(ctx->engine, call));
}

/* ------------------------------------------------------- calls that return a pointer */
static struct ibv_pd *inject_alloc_pd(struct ibv_context *context)
{
	return injected_error(context, CALL_ALLOC_PD) ? NULL : op_alloc_pd(context);
}

static struct ibv_mr *inject_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				    uint64_t hca_va, int access)
{
	return injected_error(pd->context, CALL_REG_MR)
		       ? NULL
		       : op_reg_mr(pd, addr, length, hca_va, access);
}

static struct ibv_mr *inject_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					   size_t length, uint64_t iova, int fd,
					   int access)
{
	return injected_error(pd->context, CALL_REG_MR)
		       ? NULL
		       : op_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

static struct ibv_mr *inject_reg_mr_ex(struct ibv_pd *pd, struct rnp_abi_mr_attr *attr)
{
	return injected_error(pd->context, CALL_REG_MR) ? NULL : op_reg_mr_ex(pd, attr);
}

static struct ibv_cq *inject_create_cq(struct ibv_context *context, int cqe,
				       struct ibv_comp_channel *channel, int comp_vector)
{
	return injected_error(context, CALL_CREATE_CQ)
		       ? NULL
		       : op_create_cq(context, cqe, channel, comp_vector);
}

static struct ibv_cq_ex *inject_create_cq_ex(struct ibv_context *context,
					     struct ibv_cq_init_attr_ex *attr)
{
	return injected_error(context, CALL_CREATE_CQ) ? NULL
						       : op_create_cq_ex(context, attr);
}

static struct ibv_srq *inject_create_srq(struct ibv_pd *pd,
					 struct ibv_srq_init_attr *attr)
{
	return injected_error(pd->context, CALL_CREATE_SRQ) ? NULL
							    : op_create_srq(pd, attr);
}

static struct ibv_srq *inject_create_srq_ex(struct ibv_context *context,
					    struct ibv_srq_init_attr_ex *attr)
{
	return injected_error(context, CALL_CREATE_SRQ) ? NULL
							: op_create_srq_ex(context, attr);
}

static struct ibv_qp *inject_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return injected_error(pd->context, CALL_CREATE_QP) ? NULL
							   : op_create_qp(pd, attr);
}

static struct ibv_qp *inject_create_qp_ex(struct ibv_context *context,
					  struct ibv_qp_init_attr_ex *attr)
{
	return injected_error(context, CALL_CREATE_QP) ? NULL
						       : op_create_qp_ex(context, attr);
}

static struct ibv_ah *inject_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return injected_error(pd->context, CALL_CREATE_AH) ? NULL
							   : op_create_ah(pd, attr);
}

static struct ibv_mw *inject_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	return injected_error(pd->context, CALL_ALLOC_MW) ? NULL : op_alloc_mw(pd, type);
}

/* -------------------------------------------------------- calls that return an errno */
static int inject_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	int error = injected_error(qp->context, CALL_MODIFY_QP);

	return error ? error : op_modify_qp(qp, attr, attr_mask);
}

static int inject_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			    struct ibv_send_wr **bad_wr)
{
	int error = injected_error(qp->context, CALL_POST_SEND);

	if (!error)
		return rnp_post_send(qp, wr, bad_wr);
	*bad_wr = wr;
	return error;
}

static int inject_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr)
{
	int error = injected_error(qp->context, CALL_POST_RECV);

	if (!error)
		return rnp_post_recv(qp, wr, bad_wr);
	*bad_wr = wr;
	return error;
}

static int inject_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad_wr)
{
	int error = injected_error(srq->context, CALL_POST_SRQ_RECV);

	if (!error)
		return rnp_post_srq_recv(srq, wr, bad_wr);
	*bad_wr = wr;
	return error;
}

static int inject_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int error = injected_error(cq->context, CALL_REQ_NOTIFY_CQ);

	return error ? error : op_req_notify_cq(cq, solicited_only);
}

static int inject_resize_cq(struct ibv_cq *cq, int cqe)
{
	int error = injected_error(cq->context, CALL_RESIZE_CQ);

	return error ? error : op_resize_cq(cq, cqe);
}

static int inject_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int error = injected_error(srq->context, CALL_MODIFY_SRQ);

	return error ? error : op_modify_srq(srq, attr, mask);
}

/* ------------------------------------------------------------------------ operations */
#define INJECT(name)                                         \
	{                                                    \
		RNP_OP_##name, (void (*)(void))inject_##name \
	}

static const struct rnp_abi_op fault_ops[] = {
	INJECT(alloc_pd),      INJECT(reg_mr),	      INJECT(reg_dmabuf_mr),
	INJECT(reg_mr_ex),     INJECT(create_cq),     INJECT(create_cq_ex),
	INJECT(create_srq),    INJECT(create_srq_ex), INJECT(create_qp),
	INJECT(create_qp_ex),  INJECT(create_ah),     INJECT(alloc_mw),
	INJECT(modify_qp),     INJECT(post_send),     INJECT(post_recv),
	INJECT(post_srq_recv), INJECT(req_notify_cq), INJECT(resize_cq),
	INJECT(modify_srq),
};

const struct rnp_abi_op *rnp_fault_ops(unsigned *count)
{
	*count = RN_ARRAY_SIZE(fault_ops);
	return fault_ops;
}
