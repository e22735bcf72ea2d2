/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portability.c - rules about programs that work with this card and not with others; see
 * rules/portability.def. These rules also judge calls that this card accepts.
 */
#include "model/model.h"

#include <string.h>

/* Limits that some common card does not exceed; the sources of the rules name these
 * cards. X722 and efa have even lower limits.
 */
enum {
	INLINE_OF_MOST = 96,	/* bytes of inline data: bnxt_re; irdma takes 101 */
	SGES_OF_MOST = 6,	/* SGEs of a request: bnxt_re with WQEs of fixed size */
	RD_ATOMIC_OF_MOST = 16, /* max_qp_rd_atom of mlx4 and mlx5 */
};

/* ---------------------------------------------------------------------- objects */
/* Kinds of objects that not all cards support. */
static const struct {
	enum rn_val_kind kind;
	enum rn_val_rule rule;
} rare_kinds[] = {
	{ RN_VAL_MW, RN_VAL_PORTABILITY_WINDOW },
	{ RN_VAL_DM, RN_VAL_PORTABILITY_DEVICE_MEMORY },
	{ RN_VAL_COUNTERS, RN_VAL_PORTABILITY_COUNTERS },
	{ RN_VAL_WQ, RN_VAL_PORTABILITY_WORK_QUEUE },
	{ RN_VAL_SRQ, RN_VAL_PORTABILITY_SRQ },
};

/* Types of QPs that not all cards support. */
static const struct {
	enum ibv_qp_type type;
	enum rn_val_rule rule;
} rare_types[] = {
	{ IBV_QPT_UC, RN_VAL_PORTABILITY_UC },
	{ IBV_QPT_XRC_SEND, RN_VAL_PORTABILITY_XRC },
	{ IBV_QPT_XRC_RECV, RN_VAL_PORTABILITY_XRC },
	{ IBV_QPT_RAW_PACKET, RN_VAL_PORTABILITY_RAW_PACKET },
};

static void check_qp(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_qp_cap *asked = &e->make.qp.asked;
	uint32_t sges = asked->max_send_sge > asked->max_recv_sge ? asked->max_send_sge
								  : asked->max_recv_sge;

	if (asked->max_inline_data > INLINE_OF_MOST)
		rn_val_find(v, e, RN_VAL_PORTABILITY_INLINE_LARGE, e->object,
			    "max_inline_data is %u bytes", asked->max_inline_data);
	if (sges > SGES_OF_MOST)
		rn_val_find(v, e, RN_VAL_PORTABILITY_SGES_MANY, e->object,
			    "max_send_sge is %u, and max_recv_sge is %u",
			    asked->max_send_sge, asked->max_recv_sge);
	for (size_t i = 0; i < sizeof(rare_types) / sizeof(*rare_types); i++)
		if (e->make.qp.type == rare_types[i].type)
			rn_val_find(v, e, rare_types[i].rule, e->object,
				    "%s() got a qp_type of %d", e->verb,
				    (int)e->make.qp.type);
}

static void check_mr(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->make.mr.access & IBV_ACCESS_ON_DEMAND)
		rn_val_find(v, e, RN_VAL_PORTABILITY_ON_DEMAND, e->object,
			    "%s() got access flags %#x", e->verb, e->make.mr.access);
	if (!strcmp(e->verb, "ibv_alloc_null_mr"))
		rn_val_find(v, e, RN_VAL_PORTABILITY_NULL_MR, e->object,
			    "%s() was called", e->verb);
}

/* Checks whether the registered memory exceeds RLIMIT_MEMLOCK. The new region is in the
 * model already.
 */
static void check_locked(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->object && e->make.mr.may_lock && v->registered > e->make.mr.may_lock)
		rn_val_find(v, e, RN_VAL_PORTABILITY_MEMLOCK, e->object,
			    "%llu bytes are registered in %u MRs, and RLIMIT_MEMLOCK is "
			    "%llu",
			    (unsigned long long)v->registered, v->living_of[RN_VAL_MR],
			    (unsigned long long)e->make.mr.may_lock);
}

static void check_make(struct rn_val *v, const struct rn_val_event *e)
{
	for (size_t i = 0; i < sizeof(rare_kinds) / sizeof(*rare_kinds); i++)
		if (e->make.kind == rare_kinds[i].kind)
			rn_val_find(v, e, rare_kinds[i].rule, e->object,
				    "%s() was called", e->verb);
	if (e->make.kind == RN_VAL_QP)
		check_qp(v, e);
	if (e->make.kind == RN_VAL_MR) {
		check_mr(v, e);
		check_locked(v, e);
	}
}

/* --------------------------------------------------------------- what QPs are used for
 */
static void check_modify(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_qp_attr *a = e->modify.attr;

	if ((e->modify.mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	     a->max_rd_atomic > RD_ATOMIC_OF_MOST) ||
	    (e->modify.mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	     a->max_dest_rd_atomic > RD_ATOMIC_OF_MOST))
		rn_val_find(v, e, RN_VAL_PORTABILITY_RD_ATOMIC_LARGE, e->object,
			    "%s() got a number above %d", e->verb, RD_ATOMIC_OF_MOST);
	if (e->modify.mask & IBV_QP_ALT_PATH)
		rn_val_find(v, e, RN_VAL_PORTABILITY_ALTERNATE_PATH, e->object,
			    "%s() got IBV_QP_ALT_PATH", e->verb);
}

static void check_request(struct rn_val *v, const struct rn_val_event *e,
			  const struct rn_val_request *r)
{
	if (r->opcode == IBV_WR_RDMA_READ && r->sge_count > 1)
		rn_val_find(v, e, RN_VAL_PORTABILITY_READ_SGES, e->object,
			    "an RDMA READ with %u entries", r->sge_count);
	if (rn_wr_is_atomic(r->opcode))
		rn_val_find(v, e, RN_VAL_PORTABILITY_ATOMICS, e->object, "%s",
			    rn_val_opcode_name(r->opcode));
}

void rn_val_check_portability(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_MAKE)
		check_make(v, e);
	if (e->kind == RN_VAL_MODIFY && !e->is_done)
		check_modify(v, e);
	if (e->kind == RN_VAL_USE && !strcmp(e->verb, "ibv_attach_mcast"))
		rn_val_find(v, e, RN_VAL_PORTABILITY_MULTICAST, e->object,
			    "%s() was called", e->verb);
	if (e->kind == RN_VAL_POST_SEND && !e->is_done)
		for (uint32_t i = 0; i < e->post.count; i++)
			check_request(v, e, &e->post.request[i]);
}
