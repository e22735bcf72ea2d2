/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handle_kit.h - one object of each kind that verbs have, for tests that misuse them. */
#ifndef RN_HANDLE_KIT_H
#define RN_HANDLE_KIT_H

#include "tests/provider/kit/verbs_kit.h"

/* A kind of object: the functions that make and destroy it, and the offset of its handle.
 */
struct subject {
	const char *name;
	void *(*make)(struct kit *k);
	int (*destroy)(void *object);
	size_t size; /* size of its public struct */
	int handle;  /* offset of the handle in the struct; -1: it has none */
};

static inline void *made(void *object, const char *what)
{
	if (!object)
		fail_msg("%s: errno %d", what, errno);
	return object;
}

#define MADE(call) made((call), #call)

static inline void *make_pd(struct kit *k)
{
	return MADE(ibv_alloc_pd(k->ctx));
}

static inline void *make_parent(struct kit *k)
{
	struct ibv_parent_domain_init_attr attr = { .pd = k->pd };

	return MADE(ibv_alloc_parent_domain(k->ctx, &attr));
}

static inline void *make_td(struct kit *k)
{
	struct ibv_td_init_attr attr = { 0 };

	return MADE(ibv_alloc_td(k->ctx, &attr));
}

static inline void *make_mr(struct kit *k)
{
	return MADE(ibv_reg_mr(k->pd, k->buf, 4096,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_MW_BIND));
}

static inline void *make_null_mr(struct kit *k)
{
	return MADE(ibv_alloc_null_mr(k->pd));
}

static inline void *make_mw1(struct kit *k)
{
	return MADE(ibv_alloc_mw(k->pd, IBV_MW_TYPE_1));
}

static inline void *make_mw2(struct kit *k)
{
	return MADE(ibv_alloc_mw(k->pd, IBV_MW_TYPE_2));
}

static inline void *make_dm(struct kit *k)
{
	struct ibv_alloc_dm_attr attr = { .length = 256 };

	return MADE(ibv_alloc_dm(k->ctx, &attr));
}

static inline void *make_ah(struct kit *k)
{
	struct ibv_ah_attr attr = kit_address(k);

	return MADE(ibv_create_ah(k->pd, &attr));
}

static inline void *make_cq(struct kit *k)
{
	return MADE(ibv_create_cq(k->ctx, 16, NULL, k->channel, 0));
}

static inline void *make_cq_ex(struct kit *k)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };

	return MADE(ibv_create_cq_ex(k->ctx, &attr));
}

static inline void *make_srq(struct kit *k)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };

	return MADE(ibv_create_srq(k->pd, &attr));
}

static inline void *make_xrcd(struct kit *k)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};

	return MADE(ibv_open_xrcd(k->ctx, &attr));
}

static inline void *make_qp(struct kit *k)
{
	return kit_create_qp(k, IBV_QPT_RC);
}

static inline void *make_qp_ex(struct kit *k)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { 16, 16, 1, 1, 0 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return MADE(ibv_create_qp_ex(k->ctx, &attr));
}

static inline void *make_wq(struct kit *k)
{
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
					 .max_wr = 16,
					 .max_sge = 1,
					 .pd = k->pd,
					 .cq = k->cq };

	return MADE(ibv_create_wq(k->ctx, &attr));
}

static inline void *make_counters(struct kit *k)
{
	struct ibv_counters_init_attr attr = { 0 };

	return MADE(ibv_create_counters(k->ctx, &attr));
}

static inline int destroy_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static inline int destroy_td(void *object)
{
	return ibv_dealloc_td(object);
}

static inline int destroy_mr(void *object)
{
	return ibv_dereg_mr(object);
}

static inline int destroy_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static inline int destroy_dm(void *object)
{
	return ibv_free_dm(object);
}

static inline int destroy_ah(void *object)
{
	return ibv_destroy_ah(object);
}

static inline int destroy_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static inline int destroy_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static inline int destroy_xrcd(void *object)
{
	return ibv_close_xrcd(object);
}

static inline int destroy_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static inline int destroy_wq(void *object)
{
	return ibv_destroy_wq(object);
}

static inline int destroy_counters(void *object)
{
	return ibv_destroy_counters(object);
}

#define OF(type, member) sizeof(struct type), (int)offsetof(struct type, member)

static const struct subject subjects[] = {
	{ "pd", make_pd, destroy_pd, OF(ibv_pd, handle) },
	{ "parent domain", make_parent, destroy_pd, OF(ibv_pd, handle) },
	{ "td", make_td, destroy_td, sizeof(struct ibv_td), -1 },
	{ "mr", make_mr, destroy_mr, OF(ibv_mr, handle) },
	{ "null mr", make_null_mr, destroy_mr, OF(ibv_mr, handle) },
	{ "mw of type 1", make_mw1, destroy_mw, OF(ibv_mw, handle) },
	{ "mw of type 2", make_mw2, destroy_mw, OF(ibv_mw, handle) },
	{ "dm", make_dm, destroy_dm, OF(ibv_dm, handle) },
	{ "ah", make_ah, destroy_ah, OF(ibv_ah, handle) },
	{ "cq", make_cq, destroy_cq, OF(ibv_cq, handle) },
	{ "extended cq", make_cq_ex, destroy_cq, OF(ibv_cq, handle) },
	{ "srq", make_srq, destroy_srq, OF(ibv_srq, handle) },
	{ "xrcd", make_xrcd, destroy_xrcd, sizeof(struct ibv_xrcd), -1 },
	{ "qp", make_qp, destroy_qp, OF(ibv_qp, handle) },
	{ "extended qp", make_qp_ex, destroy_qp, OF(ibv_qp, handle) },
	{ "wq", make_wq, destroy_wq, OF(ibv_wq, handle) },
	{ "counters", make_counters, destroy_counters, sizeof(struct ibv_counters), -1 },
};

enum {
	SUBJECTS = sizeof(subjects) / sizeof(subjects[0])
};

#endif /* RN_HANDLE_KIT_H */
