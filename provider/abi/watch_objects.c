/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_objects.c - reports to the validation layer that objects are made, changed and
 * destroyed. Has the table of all operations that report calls to the validation layer.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "provider/verbs/object/provider.h"
#include "provider/verbs/verbs.h"
#include "rocin/netdev.h"
#include "transport/io/report/stacks.h"
#include "watch.h"

/* ----------------------------------------------------------- destroying objects */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and parameters have none */
/* Defines an operation that destroys an object. The variable arguments fill in
 * rn_val_event.destroy: where libibverbs counts the events of the object that the program
 * has acknowledged, and (of) the kind of object that has these counters. The validation
 * layer reads them only if it knows the object as one of that kind.
 */
#define DESTROYS_AS(op, type, of_verb, ...)                                \
	static int watch_##op(type *base)                                  \
	{                                                                  \
		struct rn_val_event e = { .kind = RN_VAL_DESTROY,          \
					  .verb = (of_verb),               \
					  .handle = base,                  \
					  .stack = rn_stacks_take_again(), \
					  .destroy = { __VA_ARGS__ } };    \
		int rc;                                                    \
                                                                           \
		rnp_watch_before_destroy(&e);                              \
		rc = RNP_NEXT(op)(base);                                   \
		rnp_watch_after(&e, rc);                                   \
		return rc;                                                 \
	}
#define DESTROYS(op, type) DESTROYS_AS(op, type, "ibv_" #op, .acked = NULL)

DESTROYS(close_xrcd, struct ibv_xrcd)
DESTROYS(dealloc_mw, struct ibv_mw)
DESTROYS(dealloc_pd, struct ibv_pd)
DESTROYS(dealloc_td, struct ibv_td)
DESTROYS(dereg_mr, struct rnp_abi_mr)
DESTROYS(destroy_ah, struct ibv_ah)
DESTROYS(destroy_counters, struct ibv_counters)
DESTROYS_AS(destroy_cq, struct ibv_cq, "ibv_destroy_cq", .of = RN_VAL_CQ,
	    .acked = &base->comp_events_completed,
	    .async_acked = &base->async_events_completed)
DESTROYS(destroy_flow, struct ibv_flow)
DESTROYS_AS(destroy_qp, struct ibv_qp, "ibv_destroy_qp", .of = RN_VAL_QP,
	    .async_acked = &base->events_completed)
DESTROYS(destroy_rwq_ind_table, struct ibv_rwq_ind_table)
DESTROYS_AS(destroy_srq, struct ibv_srq, "ibv_destroy_srq", .of = RN_VAL_SRQ,
	    .async_acked = &base->events_completed)
DESTROYS(destroy_wq, struct ibv_wq)
DESTROYS(free_dm, struct ibv_dm)

#define UNIMPORTS(op, type)                                                  \
	static void watch_##op(type *base)                                   \
	{                                                                    \
		struct rn_val_event e = { .kind = RN_VAL_DESTROY,            \
					  .verb = "ibv_" #op,                \
					  .handle = base,                    \
					  .stack = rn_stacks_take_again() }; \
                                                                             \
		rnp_watch_before(&e);                                        \
		RNP_NEXT(op)(base);                                          \
		rnp_watch_after(&e, 0);                                      \
	}

UNIMPORTS(unimport_dm, struct ibv_dm)
UNIMPORTS(unimport_mr, struct ibv_mr)
UNIMPORTS(unimport_pd, struct ibv_pd)

/* ---------------------------------------------------------------- using objects */
/* Tells the validation layer that a call uses an object. */
static void tell_use(const char *verb, const void *handle, uint32_t stack)
{
	struct rn_val_event e = {
		.kind = RN_VAL_USE, .verb = verb, .handle = handle, .stack = stack
	};

	rnp_watch_before(&e);
}

#define USES(op, handle, params, args)                                \
	static int watch_##op params                                  \
	{                                                             \
		tell_use("ibv_" #op, handle, rn_stacks_take_again()); \
		return RNP_NEXT(op) args;                             \
	}

/* clang-format off */
USES(attach_mcast, base, (struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid), (base, gid, lid))
USES(detach_mcast, base, (struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid), (base, gid, lid))
USES(modify_cq, base, (struct ibv_cq *base, struct ibv_modify_cq_attr *attr), (base, attr))
USES(modify_wq, base, (struct ibv_wq *base, struct ibv_wq_attr *attr), (base, attr))
USES(query_qp, base, (struct ibv_qp *base, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init), (base, attr, mask, init))
USES(query_srq, base, (struct ibv_srq *base, struct ibv_srq_attr *attr), (base, attr))
USES(get_srq_num, base, (struct ibv_srq *base, uint32_t *number), (base, number))
/* clang-format on */

/* NOLINTEND(bugprone-macro-parentheses) */

/* ------------------------------------------------------------- creating objects */
/* Initializes the event of an object that is about to be created. */
#define MAKING(verb_, kind_, ...)                                                      \
	{                                                                              \
		.kind = RN_VAL_MAKE, .verb = (verb_), .stack = rn_stacks_take_again(), \
		.make = {                                                              \
			.kind = RN_VAL_##kind_,                                        \
			.parent = { __VA_ARGS__ }                                      \
		}                                                                      \
	}

/* Tells the validation layer whether the object was created, and returns the object. */
static void *made(struct rn_val_event *e, void *object)
{
	e->handle = object;
	rnp_watch_after(e, object ? 0 : errno);
	return object;
}

/* NOLINTNEXTLINE(readability-function-size): what ibv_reg_mr() is given, one by one */
static void set_mr(struct rn_val_event *e, const struct ibv_mr *mr, const void *addr,
		   uint64_t iova, uint64_t len, unsigned access, bool has_memory)
{
	struct rlimit limit;

	e->make.mr.addr = (uintptr_t)addr;
	e->make.mr.iova = iova;
	e->make.mr.len = len;
	e->make.mr.access = access;
	e->make.mr.has_memory = has_memory;
	if (has_memory && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		e->make.mr.may_lock = limit.rlim_cur ? limit.rlim_cur : 1;
	if (!mr)
		return;
	e->make.number = mr->lkey;
	e->make.mr.lkey = mr->lkey;
	e->make.mr.rkey = mr->rkey;
}

static struct ibv_mr *watch_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				   uint64_t hca_va, int access)
{
	struct rn_val_event e = MAKING("ibv_reg_mr", MR, pd, pd->context);
	struct ibv_mr *mr;

	tell_use(e.verb, pd, e.stack);
	mr = RNP_NEXT(reg_mr)(pd, addr, length, hca_va, access);
	set_mr(&e, mr, addr, hca_va, length, (unsigned)access, true);
	/* If the program registers its whole address space, there is no range to check.
	 */
	e.make.mr.has_memory = !(access & IBV_ACCESS_ZERO_BASED) && length != SIZE_MAX;
	return made(&e, mr);
}

static struct ibv_mr *watch_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					  size_t length, uint64_t iova, int fd,
					  int access)
{
	struct rn_val_event e = MAKING("ibv_reg_dmabuf_mr", MR, pd, pd->context);
	struct ibv_mr *mr = RNP_NEXT(reg_dmabuf_mr)(pd, offset, length, iova, fd, access);

	set_mr(&e, mr, NULL, iova, length, (unsigned)access, true);
	return made(&e, mr);
}

static struct ibv_mr *watch_reg_mr_ex(struct ibv_pd *pd, struct rnp_abi_mr_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_reg_mr_ex", MR, pd, pd->context);
	const bool is_file = attr->comp_mask & RNP_REG_MR_FD;
	const void *addr = is_file ? NULL : attr->addr;
	struct ibv_mr *mr;

	tell_use(e.verb, pd, e.stack);
	mr = RNP_NEXT(reg_mr_ex)(pd, attr);
	set_mr(&e, mr, addr,
	       attr->comp_mask & RNP_REG_MR_IOVA ? attr->iova : (uintptr_t)addr,
	       attr->length, (unsigned)attr->access, true);
	e.make.mr.has_memory = is_file || (!(attr->access & IBV_ACCESS_ZERO_BASED) &&
					   attr->length != SIZE_MAX);
	return made(&e, mr);
}

static struct ibv_mr *watch_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
				      uint64_t offset, size_t length, unsigned int access)
{
	struct rn_val_event e = MAKING("ibv_reg_dm_mr", MR, pd, pd->context, dm);
	struct ibv_mr *mr = RNP_NEXT(reg_dm_mr)(pd, dm, offset, length, access);

	set_mr(&e, mr, NULL, 0, length, access, false);
	return made(&e, mr);
}

static struct ibv_mr *watch_alloc_null_mr(struct ibv_pd *pd)
{
	struct rn_val_event e = MAKING("ibv_alloc_null_mr", MR, pd, pd->context);
	struct ibv_mr *mr = RNP_NEXT(alloc_null_mr)(pd);

	set_mr(&e, mr, NULL, 0, 0, 0, false);
	return made(&e, mr);
}

static struct ibv_mr *watch_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct rn_val_event e = MAKING("ibv_import_mr", MR, pd, pd->context);
	struct ibv_mr *mr = RNP_NEXT(import_mr)(pd, handle);

	set_mr(&e, mr, NULL, 0, 0, 0, false);
	return made(&e, mr);
}

static int watch_rereg_mr(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd,
			  void *addr, size_t length, int access)
{
	struct rn_val_event e = { .kind = RN_VAL_REREG,
				  .verb = "ibv_rereg_mr",
				  .handle = base,
				  .stack = rn_stacks_take_again(),
				  .rereg = { .flags = flags,
					     .addr = (uintptr_t)addr,
					     .len = length,
					     .access = (unsigned)access,
					     .pd = pd } };
	int rc;

	rnp_watch_before(&e);
	rc = RNP_NEXT(rereg_mr)(base, flags, pd, addr, length, access);
	e.rereg.lkey = base->ibv_mr.lkey;
	e.rereg.rkey = base->ibv_mr.rkey;
	rnp_watch_after(&e, rc);
	return rc;
}

static struct ibv_pd *watch_alloc_pd(struct ibv_context *context)
{
	struct rn_val_event e = MAKING("ibv_alloc_pd", PD, context);
	struct ibv_pd *pd = RNP_NEXT(alloc_pd)(context);

	e.make.number = pd ? to_rnp_pd(pd)->number : 0;
	return made(&e, pd);
}

static struct ibv_pd *watch_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct rn_val_event e = MAKING("ibv_import_pd", PD, context);
	struct ibv_pd *pd = RNP_NEXT(import_pd)(context, handle);

	e.make.number = pd ? to_rnp_pd(pd)->number : 0;
	return made(&e, pd);
}

static struct ibv_pd *watch_alloc_parent_domain(struct ibv_context *context,
						struct ibv_parent_domain_init_attr *attr)
{
	struct rn_val_event e =
		MAKING("ibv_alloc_parent_domain", PD, context, attr->pd, attr->td);
	struct ibv_pd *pd = RNP_NEXT(alloc_parent_domain)(context, attr);

	e.make.number = pd ? to_rnp_pd(pd)->number : 0;
	return made(&e, pd);
}

static struct ibv_td *watch_alloc_td(struct ibv_context *context,
				     struct ibv_td_init_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_alloc_td", TD, context);

	return made(&e, RNP_NEXT(alloc_td)(context, attr));
}

static struct ibv_dm *watch_alloc_dm(struct ibv_context *context,
				     struct ibv_alloc_dm_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_alloc_dm", DM, context);

	return made(&e, RNP_NEXT(alloc_dm)(context, attr));
}

static struct ibv_dm *watch_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct rn_val_event e = MAKING("ibv_import_dm", DM, context);

	return made(&e, RNP_NEXT(import_dm)(context, handle));
}

static struct ibv_mw *watch_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct rn_val_event e = MAKING("ibv_alloc_mw", MW, pd, pd->context);
	struct ibv_mw *mw = RNP_NEXT(alloc_mw)(pd, type);

	e.make.mw.type = type;
	e.make.mw.rkey = mw ? mw->rkey : 0;
	e.make.number = e.make.mw.rkey >> 8;
	return made(&e, mw);
}

static int watch_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct rn_val_request r = { .wr_id = bind->wr_id,
				    .opcode = IBV_WR_BIND_MW,
				    .flags = bind->send_flags,
				    .bind = { .mw = mw,
					      .mr = bind->bind_info.mr,
					      .addr = bind->bind_info.addr,
					      .len = bind->bind_info.length,
					      .access =
						      bind->bind_info.mw_access_flags } };
	struct rn_val_event e = { .kind = RN_VAL_POST_SEND,
				  .verb = "ibv_bind_mw",
				  .handle = base,
				  .stack = rn_stacks_take_again(),
				  .post = { .count = 1, .request = &r } };
	int rc;

	rnp_watch_before(&e);
	rc = RNP_NEXT(bind_mw)(base, mw, bind);
	e.post.accepted = rc == 0;
	if (!rc)
		r.bind.rkey = mw->rkey;
	rnp_watch_after(&e, rc);
	return rc;
}

/* Returns what the validation layer has to know about the address @attr: MTU of the port,
 * source GID, and whether the destination is the device itself.
 */
static struct rn_val_path path_of(struct ibv_context *context,
				  const struct ibv_ah_attr *attr)
{
	struct rnp_engine *engine = to_rnp_context(context)->engine;
	const struct rn_netdev *dev = rnp_engine_netdev(engine);
	struct rn_val_path path = { .mtu = rnp_port_mtu(dev) };
	int cancel;

	if (!attr->is_global)
		return path;
	cancel = rnp_lock_engine(engine);
	if (attr->grh.sgid_index < RN_GID_MAX)
		memcpy(&path.sgid, &dev->gid[attr->grh.sgid_index], sizeof(path.sgid));
	for (uint32_t i = 0; i < RN_GID_MAX; i++)
		path.is_to_self |=
			!memcmp(&dev->gid[i], &attr->grh.dgid, sizeof(dev->gid[i]));
	rnp_unlock_engine(engine, cancel);
	return path;
}

static struct ibv_ah *watch_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_create_ah", AH, pd, pd->context);

	e.make.ah.attr = *attr;
	e.make.ah.path = path_of(pd->context, attr);
	return made(&e, RNP_NEXT(create_ah)(pd, attr));
}

static struct ibv_xrcd *watch_open_xrcd(struct ibv_context *context,
					struct ibv_xrcd_init_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_open_xrcd", XRCD, context);

	return made(&e, RNP_NEXT(open_xrcd)(context, attr));
}

/* ---------------------------------------------------- creating CQs, SRQs and QPs */
static void set_cq(struct rn_val_event *e, const struct ibv_cq *cq, unsigned asked,
		   const struct ibv_comp_channel *channel, unsigned vector)
{
	e->make.cq.asked = asked;
	e->make.cq.channel = channel;
	e->make.cq.vector = vector;
	e->make.cq.size = cq ? (uint32_t)cq->cqe : 0;
}

static struct ibv_cq *watch_create_cq(struct ibv_context *context, int cqe,
				      struct ibv_comp_channel *channel, int vector)
{
	struct rn_val_event e = MAKING("ibv_create_cq", CQ, context, channel);
	struct ibv_cq *cq;

	rnp_watch_channel(channel, e.stack);
	cq = RNP_NEXT(create_cq)(context, cqe, channel, vector);

	set_cq(&e, cq, (unsigned)cqe, channel, (unsigned)vector);
	return made(&e, cq);
}

static struct ibv_cq_ex *watch_create_cq_ex(struct ibv_context *context,
					    struct ibv_cq_init_attr_ex *attr)
{
	struct rn_val_event e = MAKING("ibv_create_cq_ex", CQ, context, attr->channel);
	struct ibv_cq_ex *cq;

	rnp_watch_channel(attr->channel, e.stack);
	cq = RNP_NEXT(create_cq_ex)(context, attr);

	set_cq(&e, cq ? ibv_cq_ex_to_cq(cq) : NULL, attr->cqe, attr->channel,
	       attr->comp_vector);
	if (cq)
		rnp_watch_cq_ex(cq);
	(void)made(&e, cq ? ibv_cq_ex_to_cq(cq) : NULL);
	return cq;
}

static int watch_resize_cq(struct ibv_cq *base, int cqe)
{
	struct rn_val_event e = { .kind = RN_VAL_RESIZE_CQ,
				  .verb = "ibv_resize_cq",
				  .handle = base,
				  .stack = rn_stacks_take_again() };
	int rc;

	rnp_watch_before(&e);
	rc = RNP_NEXT(resize_cq)(base, cqe);
	e.resize_cq.entries = rc ? cqe : base->cqe;
	rnp_watch_after(&e, rc);
	return rc;
}

static void set_srq(struct rn_val_event *e, const struct ibv_srq_attr *attr)
{
	e->make.srq.max_wr = attr->max_wr;
	e->make.srq.max_sge = attr->max_sge;
	e->make.srq.limit = attr->srq_limit;
}

static struct ibv_srq *watch_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_create_srq", SRQ, pd, pd->context);
	struct ibv_srq *srq = RNP_NEXT(create_srq)(pd, attr);

	set_srq(&e, &attr->attr);
	return made(&e, srq);
}

static struct ibv_srq *watch_create_srq_ex(struct ibv_context *context,
					   struct ibv_srq_init_attr_ex *attr)
{
	struct rn_val_event e = MAKING("ibv_create_srq_ex", SRQ, context);
	struct ibv_srq *srq;
	unsigned n = 1;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)
		e.make.parent[n++] = attr->pd;
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD && attr->xrcd)
		e.make.parent[n++] = attr->xrcd;
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq)
		e.make.parent[n++] = attr->cq;
	srq = RNP_NEXT(create_srq_ex)(context, attr);
	set_srq(&e, &attr->attr);
	return made(&e, srq);
}

static int watch_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct rn_val_event e = { .kind = RN_VAL_MODIFY_SRQ,
				  .verb = "ibv_modify_srq",
				  .handle = base,
				  .stack = rn_stacks_take_again(),
				  .modify_srq = { .attr = attr, .mask = mask } };
	int rc;

	rnp_watch_before(&e);
	rc = RNP_NEXT(modify_srq)(base, attr, mask);
	rnp_watch_after(&e, rc);
	return rc;
}

/* Stores the objects that the new object uses: those of @parent that are not NULL, each
 * once.
 */
static void set_parents(struct rn_val_event *e, const void *const *parent, unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		bool is_known = !parent[i];

		for (unsigned k = 0; k < n; k++)
			is_known = is_known || e->make.parent[k] == parent[i];
		if (!is_known)
			e->make.parent[n++] = parent[i];
	}
}

enum {
	QP_PARENTS = 6
};

/* Stores in @e the arguments with which a QP is created. @parents: its PD, the context,
 * the CQs of sends and of receives, its SRQ, and an XRC domain or an RWQ indirection
 * table; each may be NULL.
 */
static void set_qp(struct rn_val_event *e, const void *const parents[QP_PARENTS],
		   enum ibv_qp_type type, const struct ibv_qp_cap *cap)
{
	set_parents(e, parents, QP_PARENTS);
	e->make.qp.type = type;
	e->make.qp.asked = *cap;
	e->make.qp.send_cq = parents[2];
	e->make.qp.recv_cq = parents[3];
	e->make.qp.srq = parents[4];
}

/* Tells the validation layer whether a QP was created, and returns the QP. */
static struct ibv_qp *made_qp(struct rn_val_event *e, struct ibv_qp *qp,
			      const struct ibv_qp_cap *cap, bool sq_sig_all)
{
	e->make.qp.cap = *cap;
	e->make.qp.sq_sig_all = sq_sig_all;
	if (qp) {
		e->make.number = qp->qp_num;
		rnp_watch_qp_ex(qp);
	}
	return made(e, qp);
}

static struct ibv_qp *watch_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const void *parents[QP_PARENTS] = { pd, pd->context, attr->send_cq, attr->recv_cq,
					    attr->srq };
	struct rn_val_event e = MAKING("ibv_create_qp", QP, NULL);
	struct ibv_qp *qp;

	set_qp(&e, parents, attr->qp_type, &attr->cap);
	qp = RNP_NEXT(create_qp)(pd, attr);
	return made_qp(&e, qp, &attr->cap, attr->sq_sig_all);
}

static struct ibv_qp *watch_create_qp_ex(struct ibv_context *context,
					 struct ibv_qp_init_attr_ex *attr)
{
	const void *pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	const void *xrcd = attr->comp_mask & IBV_QP_INIT_ATTR_XRCD ? attr->xrcd : NULL;
	const void *table =
		attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE ? attr->rwq_ind_tbl : NULL;
	const void *parents[QP_PARENTS] = {
		pd, context, attr->send_cq, attr->recv_cq, attr->srq, xrcd ? xrcd : table
	};
	struct rn_val_event e = MAKING("ibv_create_qp_ex", QP, NULL);
	struct ibv_qp *qp;

	set_qp(&e, parents, attr->qp_type, &attr->cap);
	qp = RNP_NEXT(create_qp_ex)(context, attr);
	return made_qp(&e, qp, &attr->cap, attr->sq_sig_all);
}

static struct ibv_qp *watch_open_qp(struct ibv_context *context,
				    struct ibv_qp_open_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_open_qp", QP, context, attr->xrcd);
	struct ibv_qp *qp = RNP_NEXT(open_qp)(context, attr);

	e.make.qp.type = IBV_QPT_XRC_RECV;
	e.make.number = qp ? qp->qp_num : 0;
	e.make.qp.state = qp ? qp->state : IBV_QPS_RESET;
	return made(&e, qp);
}

static int watch_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask)
{
	struct rn_val_event e = { .kind = RN_VAL_MODIFY,
				  .verb = "ibv_modify_qp",
				  .handle = base,
				  .stack = rn_stacks_take_again(),
				  .modify = { .attr = attr, .mask = attr_mask } };
	int rc;

	rnp_watch_before(&e);
	if (attr_mask & IBV_QP_AV)
		e.modify.path = path_of(base->context, &attr->ah_attr);
	rc = RNP_NEXT(modify_qp)(base, attr, attr_mask);
	rnp_watch_after(&e, rc);
	return rc;
}

/* -------------------------------------- objects for raw packets and flow steering */
static struct ibv_wq *watch_create_wq(struct ibv_context *context,
				      struct ibv_wq_init_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_create_wq", WQ, context, attr->pd, attr->cq);

	return made(&e, RNP_NEXT(create_wq)(context, attr));
}

static struct ibv_rwq_ind_table *
watch_create_rwq_ind_table(struct ibv_context *context,
			   struct ibv_rwq_ind_table_init_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_create_rwq_ind_table", RWQ_TABLE, context);

	return made(&e, RNP_NEXT(create_rwq_ind_table)(context, attr));
}

static struct ibv_flow *watch_create_flow(struct ibv_qp *base, struct ibv_flow_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_create_flow", FLOW, base, base->context);

	return made(&e, RNP_NEXT(create_flow)(base, attr));
}

static struct ibv_counters *watch_create_counters(struct ibv_context *context,
						  struct ibv_counters_init_attr *attr)
{
	struct rn_val_event e = MAKING("ibv_create_counters", COUNTERS, context);

	return made(&e, RNP_NEXT(create_counters)(context, attr));
}

/* ------------------------ table of the operations that tell the validation layer */
#define OP(name)                                            \
	{                                                   \
		RNP_OP_##name, (void (*)(void))watch_##name \
	}
#define QUEUE(name)                                             \
	{                                                       \
		RNP_OP_##name, (void (*)(void))rnp_watch_##name \
	}

static const struct rnp_abi_op ops[] = {
	QUEUE(async_event),
	QUEUE(cq_event),
	QUEUE(poll_cq),
	QUEUE(post_recv),
	QUEUE(post_send),
	QUEUE(post_srq_recv),
	QUEUE(req_notify_cq),
	OP(alloc_dm),
	OP(alloc_mw),
	OP(alloc_null_mr),
	OP(alloc_parent_domain),
	OP(alloc_pd),
	OP(alloc_td),
	OP(attach_mcast),
	OP(bind_mw),
	OP(close_xrcd),
	OP(create_ah),
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
	OP(dealloc_mw),
	OP(dealloc_pd),
	OP(dealloc_td),
	OP(dereg_mr),
	OP(destroy_ah),
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
	OP(modify_cq),
	OP(modify_qp),
	OP(modify_srq),
	OP(modify_wq),
	OP(open_qp),
	OP(open_xrcd),
	OP(query_qp),
	OP(query_srq),
	OP(reg_dm_mr),
	OP(reg_dmabuf_mr),
	OP(reg_mr),
	OP(reg_mr_ex),
	OP(rereg_mr),
	OP(resize_cq),
	OP(unimport_dm),
	OP(unimport_mr),
	OP(unimport_pd),
};

const struct rnp_abi_op *rnp_watch_ops(unsigned *count)
{
	*count = RN_ARRAY_SIZE(ops);
	return ops;
}
