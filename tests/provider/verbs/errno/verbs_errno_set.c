/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_errno_set.c - the value of errno after each verb. It is the returned value if the
 * verb returned an error, any error if the verb returned NULL, and unchanged if the verb
 * succeeded.
 *
 * The table has each verb once. Each is called so that it fails, where arguments can make
 * it fail. Each is also called in a forked child, which has no device.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	BEFORE = 4242, /* a value that no call sets */
	ANY = -1,
	SKIP = -2,
	LIMIT = 1 << 30,
};

/* Objects to call the verbs with. */
struct things {
	struct kit *k;
	struct ibv_context *other; /* another context, with a protection domain */
	struct ibv_pd *other_pd, *parent;
	struct ibv_td *td;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq;
	struct ibv_qp *rc, *ud, *with_srq;
	struct ibv_qp_ex *ex;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	struct ibv_dm *dm;
	struct ibv_mr *dm_mr;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *xsrq;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_counters *counters;
};

/* ------------------------------------------------------------------------ numbers */
static int query_device(struct things *t)
{
	struct ibv_device_attr_ex attr;

	return ibv_query_device_ex(t->k->ctx, NULL, &attr);
}

static int query_port(struct things *t)
{
	struct ibv_port_attr attr;

	return ibv_query_port(t->k->ctx, 2, &attr);
}

static int dealloc_pd(struct things *t)
{
	return ibv_dealloc_pd(t->k->pd);
}

static int dealloc_td(struct things *t)
{
	return ibv_dealloc_td(t->td);
}

static int dereg_mr(struct things *t)
{
	return ibv_dereg_mr(t->k->mr);
}

static int rereg_mr(struct things *t)
{
	/* ibv_rereg_mr() has return codes of its own, which say what failed; the row
	 * compares errno.
	 */
	int rc = ibv_rereg_mr(t->k->mr, IBV_REREG_MR_CHANGE_PD, t->other_pd, NULL, 0, 0);

	return rc ? errno : 0;
}

static int advise_mr(struct things *t)
{
	struct ibv_sge sge = { .length = 1, .lkey = t->k->mr->lkey + 1 };

	return ibv_advise_mr(t->k->pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1);
}

static int bind_mw(struct things *t)
{
	struct ibv_mw_bind bind = {
		.bind_info = { .mr = t->k->mr, .addr = (uintptr_t)t->k->buf, .length = 8 }
	};

	return ibv_bind_mw(t->rc, t->mw, &bind); /* fails because the QP is in RESET */
}

static int free_dm(struct things *t)
{
	return ibv_free_dm(t->dm);
}

static int to_dm(struct things *t)
{
	uint64_t word = 0;

	return ibv_memcpy_to_dm(t->dm, 1 << 20, &word, sizeof(word));
}

static int from_dm(struct things *t)
{
	uint64_t word;

	return ibv_memcpy_from_dm(&word, t->dm, 1 << 20, sizeof(word));
}

static int destroy_cq(struct things *t)
{
	return ibv_destroy_cq(t->k->cq);
}

static int resize_cq(struct things *t)
{
	return ibv_resize_cq(t->k->cq, 0);
}

static int modify_cq(struct things *t)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = 1 << 20 };

	return ibv_modify_cq(t->k->cq, &attr);
}

static int start_poll(struct things *t)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	return ibv_start_poll(t->cq_ex, &attr);
}

static int modify_qp(struct things *t)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return ibv_modify_qp(t->rc, &attr, IBV_QP_STATE);
}

static int rate_limit(struct things *t)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1 };

	return ibv_modify_qp_rate_limit(t->rc, &attr);
}

static int set_ece(struct things *t)
{
	struct ibv_ece ece = { .vendor_id = 0xffffff };

	return ibv_set_ece(t->rc, &ece);
}

static int attach_mcast(struct things *t)
{
	union ibv_gid gid = kit_group(1);

	return ibv_attach_mcast(t->rc, &gid, 0);
}

static int detach_mcast(struct things *t)
{
	union ibv_gid gid = kit_group(1);

	return ibv_detach_mcast(t->ud, &gid, 0);
}

static int post_send(struct things *t)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	return ibv_post_send(t->rc, &wr, &bad);
}

static int post_recv(struct things *t)
{
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;

	return ibv_post_recv(t->rc, &wr, &bad);
}

static int wr_complete(struct things *t)
{
	ibv_wr_start(t->ex);
	ibv_wr_send(t->ex);
	return ibv_wr_complete(t->ex);
}

static int post_srq_recv(struct things *t)
{
	struct ibv_sge sge[2] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;

	return ibv_post_srq_recv(t->srq, &wr, &bad);
}

static int modify_srq(struct things *t)
{
	struct ibv_srq_attr attr = { .srq_limit = LIMIT };

	return ibv_modify_srq(t->srq, &attr, IBV_SRQ_LIMIT);
}

static int destroy_srq(struct things *t)
{
	return ibv_destroy_srq(t->srq);
}

static int close_xrcd(struct things *t)
{
	return ibv_close_xrcd(t->xrcd);
}

static int modify_wq(struct things *t)
{
	struct ibv_wq_attr attr = { .attr_mask = 1 << 20 };

	return ibv_modify_wq(t->wq, &attr);
}

static int destroy_wq(struct things *t)
{
	return ibv_destroy_wq(t->wq);
}

static int attach_counters(struct things *t)
{
	struct ibv_counter_attach_attr attr = { .comp_mask = 1 };

	return ibv_attach_counters_point_flow(t->counters, &attr, NULL);
}

/* Functions with right arguments: they succeed in the parent. */
static int query_qp(struct things *t)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(t->rc, &attr, 0, &init);
}

static int query_srq(struct things *t)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(t->srq, &attr);
}

static int query_ece(struct things *t)
{
	struct ibv_ece ece;

	return ibv_query_ece(t->rc, &ece);
}

static int query_values(struct things *t)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	return ibv_query_rt_values_ex(t->k->ctx, &values);
}

static int req_notify(struct things *t)
{
	return ibv_req_notify_cq(t->k->cq, 0);
}

static int srq_number(struct things *t)
{
	uint32_t number;

	return ibv_get_srq_num(t->xsrq, &number);
}

static int read_counters(struct things *t)
{
	uint64_t value;

	return ibv_read_counters(t->counters, &value, 1, 1u << 20);
}

static int destroy_ah(struct things *t)
{
	struct ibv_ah_attr attr = kit_address(t->k);
	struct ibv_ah *ah = ibv_create_ah(t->k->pd, &attr);

	return ah ? ibv_destroy_ah(ah) : errno;
}

static int dealloc_mw(struct things *t)
{
	struct ibv_mw *mw = ibv_alloc_mw(t->k->pd, IBV_MW_TYPE_1);

	return mw ? ibv_dealloc_mw(mw) : errno;
}

static int destroy_qp(struct things *t)
{
	struct ibv_qp_init_attr attr = { .send_cq = t->k->cq,
					 .recv_cq = t->k->cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(t->k->pd, &attr);

	return qp ? ibv_destroy_qp(qp) : errno;
}

static int destroy_table(struct things *t)
{
	struct ibv_rwq_ind_table_init_attr attr = { .ind_tbl = &t->wq };
	struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(t->k->ctx, &attr);

	return table ? ibv_destroy_rwq_ind_table(table) : errno;
}

static int destroy_counters(struct things *t)
{
	struct ibv_counters_init_attr attr = { 0 };
	struct ibv_counters *counters = ibv_create_counters(t->k->ctx, &attr);

	return counters ? ibv_destroy_counters(counters) : errno;
}

/* ----------------------------------------------------------------------- pointers */
static void *alloc_pd(struct things *t)
{
	struct ibv_pd *pd = ibv_alloc_pd(t->k->ctx);

	if (pd) {
		assert_int_equal(ibv_dealloc_pd(pd), 0);
		return t;
	}
	return NULL;
}

static void *alloc_td(struct things *t)
{
	struct ibv_td_init_attr attr = { .comp_mask = 1 };

	return ibv_alloc_td(t->k->ctx, &attr);
}

static void *alloc_parent(struct things *t)
{
	struct ibv_parent_domain_init_attr attr = { .pd = t->other_pd };

	return ibv_alloc_parent_domain(t->k->ctx, &attr);
}

static void *reg_mr(struct things *t)
{
	return ibv_reg_mr(t->k->pd, t->k->buf, 8, IBV_ACCESS_REMOTE_WRITE);
}

static void *reg_dmabuf(struct things *t)
{
	return ibv_reg_dmabuf_mr(t->k->pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
}

static void *reg_dm(struct things *t)
{
	return ibv_reg_dm_mr(t->k->pd, t->dm, 1 << 20, 8, IBV_ACCESS_ZERO_BASED);
}

static void *null_mr(struct things *t)
{
	return ibv_alloc_null_mr(t->k->pd);
}

static void *alloc_mw(struct things *t)
{
	return ibv_alloc_mw(t->k->pd, (enum ibv_mw_type)7);
}

static void *alloc_dm(struct things *t)
{
	struct ibv_alloc_dm_attr attr = { .length = SIZE_MAX / 2 };

	return ibv_alloc_dm(t->k->ctx, &attr);
}

static void *create_ah(struct things *t)
{
	struct ibv_ah_attr attr = { .port_num = 2 };

	return ibv_create_ah(t->k->pd, &attr);
}

static void *create_cq(struct things *t)
{
	return ibv_create_cq(t->k->ctx, 0, NULL, NULL, 0);
}

static void *create_cq_ex(struct things *t)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = UINT64_MAX };

	return ibv_create_cq_ex(t->k->ctx, &attr);
}

static void *create_qp(struct things *t)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };

	return ibv_create_qp(t->k->pd, &attr);
}

static void *create_qp_ex(struct things *t)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = t->k->pd };

	return ibv_create_qp_ex(t->k->ctx, &attr);
}

static void *create_srq(struct things *t)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = LIMIT, .max_sge = 1 } };

	return ibv_create_srq(t->k->pd, &attr);
}

static void *create_srq_ex(struct things *t)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = LIMIT, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = t->k->pd,
		.xrcd = t->xrcd,
		.cq = t->k->cq,
	};

	return ibv_create_srq_ex(t->k->ctx, &attr);
}

static void *open_xrcd(struct things *t)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = 9999,
	};

	return ibv_open_xrcd(t->k->ctx, &attr);
}

static void *open_qp(struct things *t)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = 0xfffff0,
		.xrcd = t->xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(t->k->ctx, &attr);
}

static void *create_wq(struct things *t)
{
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
					 .max_wr = LIMIT,
					 .max_sge = 1,
					 .pd = t->k->pd,
					 .cq = t->k->cq };

	return ibv_create_wq(t->k->ctx, &attr);
}

static void *create_table(struct things *t)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 30,
						    .ind_tbl = &t->wq };

	return ibv_create_rwq_ind_table(t->k->ctx, &attr);
}

static void *create_flow(struct things *t)
{
	struct ibv_flow_attr attr = { .size = sizeof(attr), .port = 1 };

	return ibv_create_flow(t->rc, &attr);
}

static void *create_counters(struct things *t)
{
	struct ibv_counters_init_attr attr = { .comp_mask = 1 };

	return ibv_create_counters(t->k->ctx, &attr);
}

static void *import_pd(struct things *t)
{
	return ibv_import_pd(t->k->ctx, UINT32_MAX);
}

static void *import_mr(struct things *t)
{
	return ibv_import_mr(t->k->pd, UINT32_MAX);
}

static void *import_dm(struct things *t)
{
	return ibv_import_dm(t->k->ctx, UINT32_MAX);
}

/* ---------------------------------------------------------------------- the table */
/* @err: the expected error; 0: none; ANY: any. In the child all verbs fail with EIO,
 * because it has no device. Those that destroy handles succeed there, and are not called
 * (SKIP) if later rows need the handle.
 */
static const struct row {
	const char *name;
	int (*number)(struct things *t);
	void *(*pointer)(struct things *t);
	int err, err_in_child;
} rows[] = {
#define NUMBER(call, err, in_child)              \
	{                                        \
#call, call, NULL, err, in_child \
	}
#define POINTER(call, err, in_child)             \
	{                                        \
#call, NULL, call, err, in_child \
	}
	NUMBER(query_device, 0, 0), /* its answer is constant, so it needs no device */
	NUMBER(query_port, EINVAL, EIO),
	NUMBER(dealloc_pd, EBUSY, SKIP),
	NUMBER(dealloc_td, EBUSY, SKIP),
	NUMBER(dereg_mr, EBUSY, SKIP),
	NUMBER(rereg_mr, EINVAL, ANY),
	NUMBER(advise_mr, EOPNOTSUPP, EIO),
	NUMBER(bind_mw, ANY, EIO),
	NUMBER(free_dm, EBUSY, SKIP),
	NUMBER(to_dm, EINVAL, EIO),
	NUMBER(from_dm, EINVAL, EIO),
	NUMBER(destroy_cq, EBUSY, SKIP),
	NUMBER(resize_cq, EINVAL, EIO),
	NUMBER(modify_cq, ANY, EIO),
	NUMBER(start_poll, EINVAL, EIO),
	NUMBER(modify_qp, EINVAL, EIO),
	NUMBER(rate_limit, EINVAL, EIO),
	NUMBER(set_ece, EINVAL, EIO),
	NUMBER(attach_mcast, EINVAL, EIO),
	NUMBER(detach_mcast, EINVAL, EIO),
	NUMBER(post_send, EINVAL, EIO),
	NUMBER(post_recv, EINVAL, EIO),
	NUMBER(wr_complete, EINVAL, EIO),
	NUMBER(post_srq_recv, EINVAL, EIO),
	NUMBER(modify_srq, EINVAL, EIO),
	NUMBER(destroy_srq, EBUSY, SKIP),
	NUMBER(close_xrcd, EBUSY, SKIP),
	NUMBER(modify_wq, ANY, EIO),
	NUMBER(destroy_wq, EBUSY, SKIP),
	NUMBER(attach_counters, ANY, ANY),
	NUMBER(query_qp, 0, EIO),
	NUMBER(query_srq, 0, EIO),
	NUMBER(query_ece, 0, EIO),
	NUMBER(query_values, 0, 0),
	NUMBER(req_notify, 0, EIO),
	NUMBER(srq_number, 0, 0),
	NUMBER(read_counters, ANY, ANY),
	NUMBER(destroy_ah, 0, EIO),
	NUMBER(dealloc_mw, 0, EIO),
	NUMBER(destroy_qp, 0, EIO),
	NUMBER(destroy_table, 0, EIO),
	NUMBER(destroy_counters, 0, EIO),
	POINTER(alloc_pd, 0, EIO),
	POINTER(alloc_td, ANY, ANY),
	POINTER(alloc_parent, EINVAL, EIO),
	POINTER(reg_mr, EINVAL, EIO),
	POINTER(reg_dmabuf, ANY, EIO),
	POINTER(reg_dm, EINVAL, EIO),
	POINTER(null_mr, 0, EIO),
	POINTER(alloc_mw, ANY, EIO),
	POINTER(alloc_dm, ENOMEM, ENOMEM),
	POINTER(create_ah, EINVAL, EIO),
	POINTER(create_cq, EINVAL, EIO),
	POINTER(create_cq_ex, ANY, ANY),
	POINTER(create_qp, EINVAL, EIO),
	POINTER(create_qp_ex, EINVAL, EIO),
	POINTER(create_srq, EINVAL, EIO),
	POINTER(create_srq_ex, EINVAL, EIO),
	POINTER(open_xrcd, EBADF, EIO),
	POINTER(open_qp, ANY, EIO),
	POINTER(create_wq, EINVAL, EIO),
	POINTER(create_table, EINVAL, EIO),
	POINTER(create_flow, ANY, EIO),
	POINTER(create_counters, EOPNOTSUPP, EIO),
	POINTER(import_pd, ENOENT, EIO),
	POINTER(import_mr, ENOENT, EIO),
	POINTER(import_dm, ENOENT, EIO),
#undef NUMBER
#undef POINTER
};

/* Calls the verb of @row. Returns the error, 0 if it succeeded, or -1 if errno
 * contradicts the result.
 */
static int call(const struct row *row, struct things *t)
{
	void *p;
	int rc;

	errno = BEFORE;
	if (row->pointer) {
		p = row->pointer(t);
		rc = errno;
		if (p)
			return rc == BEFORE ? 0 : -1;
		return rc > 0 && rc != BEFORE ? rc : -1;
	}
	rc = row->number(t);
	if (errno != (rc ? rc : BEFORE)) {
		print_error("%s: returns %d, errno is %d\n", row->name, rc, errno);
		return -1;
	}
	return rc;
}

static bool is_right(const struct row *row, struct things *t, int want)
{
	int got = want == SKIP ? SKIP : call(row, t);

	if (got == want || (want == ANY && got > 0))
		return true;
	print_error("%s: %d, not %d\n", row->name, got, want);
	return false;
}

/* ------------------------------------------------------------------------- set-up */
static void make_queues(struct things *t)
{
	struct kit *k = t->k;
	struct ibv_cq_init_attr_ex cq = { .cqe = 4 };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex xsrq = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = k->pd,
		.cq = k->cq,
	};
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	t->cq_ex = ibv_create_cq_ex(k->ctx, &cq);
	t->srq = ibv_create_srq(k->pd, &srq);
	t->xrcd = ibv_open_xrcd(k->ctx, &xrcd);
	xsrq.xrcd = t->xrcd;
	t->xsrq = ibv_create_srq_ex(k->ctx, &xsrq);
	t->rc = ibv_create_qp_ex(k->ctx, &ex);
	assert_true(t->cq_ex && t->srq && t->xrcd && t->xsrq && t->rc);
	t->ex = ibv_qp_to_qp_ex(t->rc);
	ex.srq = t->srq;
	t->with_srq = ibv_create_qp_ex(k->ctx, &ex);
	t->ud = kit_create_qp(k, IBV_QPT_UD);
	assert_non_null(t->with_srq);
}

static void bind_window(struct things *t)
{
	struct kit *k = t->k;
	struct ibv_mw_bind bind = { .wr_id = 1,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = k->mr,
						   .addr = (uintptr_t)k->buf,
						   .length = 8,
						   .mw_access_flags =
							   IBV_ACCESS_REMOTE_READ } };
	struct ibv_qp *qp[2];

	assert_int_equal(ibv_rereg_mr(k->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
					      IBV_ACCESS_MW_BIND),
			 0);
	t->mw = ibv_alloc_mw(k->pd, IBV_MW_TYPE_1);
	assert_non_null(t->mw);
	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_bind_mw(qp[0], t->mw, &bind), 0);
	kit_expect(k->cq, 1, IBV_WC_BIND_MW);
	kit_destroy_pair(qp);
}

static void make_things(struct things *t, struct kit *k)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr parent = { .pd = k->pd };
	struct ibv_ah_attr ah = kit_address(k);
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	struct ibv_counters_init_attr counters = { 0 };
	struct ibv_wq_init_attr wq = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = k->pd, .cq = k->cq
	};
	struct ibv_rwq_ind_table_init_attr table = { 0 };

	*t = (struct things){ .k = k, .other = kit_open_device() };
	t->other_pd = ibv_alloc_pd(t->other);
	t->td = parent.td = ibv_alloc_td(k->ctx, &td);
	t->parent = ibv_alloc_parent_domain(k->ctx, &parent);
	t->ah = ibv_create_ah(k->pd, &ah);
	t->dm = ibv_alloc_dm(k->ctx, &dm);
	t->counters = ibv_create_counters(k->ctx, &counters);
	t->wq = ibv_create_wq(k->ctx, &wq);
	table.ind_tbl = &t->wq;
	t->table = ibv_create_rwq_ind_table(k->ctx, &table);
	assert_true(t->other_pd && t->td && t->parent && t->ah && t->dm && t->counters &&
		    t->wq && t->table);
	t->dm_mr = ibv_reg_dm_mr(k->pd, t->dm, 0, 64, IBV_ACCESS_ZERO_BASED);
	assert_non_null(t->dm_mr);
	make_queues(t);
	bind_window(t);
}

static void drop_things(struct things *t)
{
	assert_int_equal(ibv_dealloc_mw(t->mw), 0);
	assert_int_equal(ibv_destroy_qp(t->rc), 0);
	assert_int_equal(ibv_destroy_qp(t->with_srq), 0);
	assert_int_equal(ibv_destroy_qp(t->ud), 0);
	assert_int_equal(ibv_destroy_srq(t->srq), 0);
	assert_int_equal(ibv_destroy_srq(t->xsrq), 0);
	assert_int_equal(ibv_close_xrcd(t->xrcd), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq_ex)), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(t->table), 0);
	assert_int_equal(ibv_destroy_wq(t->wq), 0);
	assert_int_equal(ibv_destroy_counters(t->counters), 0);
	assert_int_equal(ibv_dereg_mr(t->dm_mr), 0);
	assert_int_equal(ibv_free_dm(t->dm), 0);
	assert_int_equal(ibv_destroy_ah(t->ah), 0);
	assert_int_equal(ibv_dealloc_pd(t->parent), 0);
	assert_int_equal(ibv_dealloc_td(t->td), 0);
	assert_int_equal(ibv_dealloc_pd(t->other_pd), 0);
	assert_int_equal(ibv_close_device(t->other), 0);
}

/* Rows leave objects behind, which are freed when the process ends. */
static int setup(void **state)
{
	static struct things t;
	void *kit;
	int rc = kit_setup(&kit);

	if (rc)
		return rc;
	make_things(&t, kit);
	*state = &t;
	return 0;
}

static void a_verb_that_fails_sets_errno(void **state)
{
	struct things *t = *state;
	unsigned wrong = 0;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wrong += !is_right(&rows[i], t, rows[i].err);
	assert_int_equal(wrong, 0);
}

static void a_child_hears_so_from_every_verb(void **state)
{
	struct things *t = *state;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		unsigned wrong = 0;

		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			wrong += !is_right(&rows[i], t, rows[i].err_in_child);
		_exit(wrong != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_verb_that_succeeds_leaves_errno_alone(void **state)
{
	struct things *t = *state;
	struct kit *k = t->k;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	struct ibv_mr *mr;

	errno = BEFORE;
	mr = ibv_reg_mr(k->pd, k->buf, 64, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_modify_qp(t->rc, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	assert_int_equal(ibv_post_recv(t->rc, &wr, &bad), 0);
	attr.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(t->rc, &attr, IBV_QP_STATE), 0);
	assert_int_equal(ibv_resize_cq(k->cq, 700), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(errno, BEFORE);
	drop_things(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_hears_so_from_every_verb),
		cmocka_unit_test(a_verb_that_fails_sets_errno),
		cmocka_unit_test(a_verb_that_succeeds_leaves_errno_alone),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
