/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_errno.c - calls with one wrong argument, and the errno that they return.
 *
 * The first row of each table has only right arguments, which shows that each of the
 * other rows fails because of its own argument.
 */
#include "tests/provider/kit/verbs_kit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* A second context. Its objects cannot be combined with those of the first. */
struct foreign {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
};

static void foreign_open(struct foreign *f)
{
	f->ctx = kit_open_device();
	f->pd = ibv_alloc_pd(f->ctx);
	f->channel = ibv_create_comp_channel(f->ctx);
	f->cq = ibv_create_cq(f->ctx, 1, NULL, NULL, 0);
	assert_non_null(f->pd);
	assert_non_null(f->channel);
	assert_non_null(f->cq);
}

static void foreign_close(struct foreign *f)
{
	assert_int_equal(ibv_destroy_cq(f->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(f->channel), 0);
	assert_int_equal(ibv_dealloc_pd(f->pd), 0);
	assert_int_equal(ibv_close_device(f->ctx), 0);
}

/* ------------------------------------------------------------------------- queries */
static void queries_of_what_is_not_there(void **state)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct kit *k = *state;
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	assert_int_equal(ibv_query_port(k->ctx, 0, &port), EINVAL);
	assert_int_equal(ibv_query_port(k->ctx, 2, &port), EINVAL);
	assert_int_equal(ibv_query_port(k->ctx, 255, &port), EINVAL);
	assert_int_equal(ibv_query_device_ex(k->ctx, &input, &dev), EINVAL);
	assert_int_not_equal(ibv_query_gid(k->ctx, 1, k->port.gid_tbl_len, &gid), 0);
	assert_int_not_equal(ibv_query_gid(k->ctx, 2, 0, &gid), 0);
	assert_int_equal(ibv_query_pkey(k->ctx, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_not_equal(ibv_query_pkey(k->ctx, 1, k->port.pkey_tbl_len, &pkey), 0);
}

/* --------------------------------------------------------------- completion queues */
static void completion_queues(void **state)
{
	struct kit *k = *state;
	struct foreign f;
	struct ibv_device_attr dev;
	const struct {
		int cqe, vector, err;
	} rows[] = {
		{ 1, 0, 0 },
		{ 0, 0, EINVAL },
		{ -1, 0, EINVAL },
		{ INT32_MIN, 0, EINVAL },
		{ INT32_MAX, 0, EINVAL },
		{ 1, -1, EINVAL },
		{ 1, k->ctx->num_comp_vectors, EINVAL },
	};

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct ibv_cq_init_attr_ex attr = {
			.cqe = (uint32_t)rows[i].cqe,
			.comp_vector = (uint32_t)rows[i].vector,
		};
		struct ibv_cq *cq =
			ibv_create_cq(k->ctx, rows[i].cqe, NULL, NULL, rows[i].vector);
		struct ibv_cq_ex *ex;

		if (cq ? rows[i].err : errno != rows[i].err)
			fail_msg("row %u: %d", i, cq ? 0 : errno);
		if (cq) {
			assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
			assert_int_equal(ibv_resize_cq(cq, -1), EINVAL);
			assert_int_equal(ibv_resize_cq(cq, dev.max_cqe + 1), EINVAL);
			assert_int_equal(ibv_destroy_cq(cq), 0);
		}
		ex = ibv_create_cq_ex(k->ctx, &attr);
		if (ex ? rows[i].err : errno != rows[i].err)
			fail_msg("row %u, ex: %d", i, ex ? 0 : errno);
		if (ex)
			assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
	foreign_open(&f);
	assert_null(ibv_create_cq(k->ctx, 1, NULL, f.channel, 0));
	assert_int_equal(errno, EINVAL);
	foreign_close(&f);
}

/* --------------------------------------------------------------------- queue pairs */
static void queue_pairs(void **state)
{
	enum {
		LIMIT = 1 << 30
	};
	struct kit *k = *state;
	struct foreign f;
	struct ibv_qp_init_attr good = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp_init_attr rows[10];
	struct ibv_qp *qp;

	foreign_open(&f);
	for (unsigned i = 0; i < COUNT(rows); i++)
		rows[i] = good;
	rows[1].send_cq = NULL;
	rows[2].recv_cq = NULL;
	rows[3].send_cq = f.cq;
	rows[4].recv_cq = f.cq;
	rows[5].cap.max_send_wr = LIMIT;
	rows[6].cap.max_recv_wr = LIMIT;
	rows[7].cap.max_send_sge = LIMIT;
	rows[8].cap.max_recv_sge = LIMIT;
	rows[9].cap.max_inline_data = LIMIT;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		qp = ibv_create_qp(k->pd, &rows[i]);
		if (qp ? i > 0 : errno != EINVAL)
			fail_msg("row %u: %d", i, qp ? 0 : errno);
		if (qp)
			assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	/* A QP cannot have CQs of another context than its protection domain. */
	assert_null(ibv_create_qp(f.pd, &good));
	assert_int_equal(errno, EINVAL);
	/* Calls that failed have left no references, so that the objects can be
	 * destroyed.
	 */
	foreign_close(&f);
}

static void queue_pairs_by_the_extended_call(void **state)
{
	struct kit *k = *state;
	struct foreign f;
	struct ibv_qp_init_attr_ex good = { .send_cq = k->cq,
					    .recv_cq = k->cq,
					    .cap = { 1, 1, 1, 1, 0 },
					    .qp_type = IBV_QPT_RC,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = k->pd };
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &good);

	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	foreign_open(&f);
	attr = good;
	attr.pd = f.pd;
	assert_null(ibv_create_qp_ex(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr = good;
	attr.comp_mask = 0;
	assert_null(ibv_create_qp_ex(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr = good;
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = 1u << 30;
	assert_null(ibv_create_qp_ex(k->ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = good;
	attr.comp_mask |= 1u << 30;
	assert_null(ibv_create_qp_ex(k->ctx, &attr));
	/* libibverbs decides which */
	assert_true(errno == EOPNOTSUPP || errno == EINVAL);
	foreign_close(&f);
}

/* QP0 and QP1 belong to the subnet manager and the connection manager. libibverbs has no
 * names for their types.
 */
static void special_queue_pairs_are_not_for_programs(void **state)
{
	struct kit *k = *state;

	for (unsigned type = 0; type < 2; type++) {
		struct ibv_qp_init_attr attr = { .send_cq = k->cq,
						 .recv_cq = k->cq,
						 .cap = { 1, 1, 1, 1, 0 },
						 .qp_type = (enum ibv_qp_type)type };
		struct ibv_qp_init_attr_ex ex = { .send_cq = k->cq,
						  .recv_cq = k->cq,
						  .cap = { 1, 1, 1, 1, 0 },
						  .qp_type = (enum ibv_qp_type)type,
						  .comp_mask = IBV_QP_INIT_ATTR_PD,
						  .pd = k->pd };

		errno = 0;
		assert_null(ibv_create_qp(k->pd, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
		errno = 0;
		assert_null(ibv_create_qp_ex(k->ctx, &ex));
		assert_int_equal(errno, EOPNOTSUPP);
	}
}

/* ----------------------------------------------------------------- address handles */
static void address_handles(void **state)
{
	struct kit *k = *state;
	struct ibv_ah_attr good = kit_address(k), rows[8];
	struct ibv_ah *ah;

	for (unsigned i = 0; i < COUNT(rows); i++)
		rows[i] = good;
	rows[1].is_global = 0;
	rows[2].port_num = 0;
	rows[3].port_num = 2;
	rows[4].grh.sgid_index = (uint8_t)k->port.gid_tbl_len;
	/* a GID index without an entry */
	rows[5].grh.sgid_index = (uint8_t)(k->port.gid_tbl_len - 1);
	memset(&rows[6].grh.dgid, 0, sizeof(rows[6].grh.dgid));
	rows[7].grh.dgid.raw[10] ^= 0xff; /* an IPv6 destination for an IPv4 source */
	for (unsigned i = 0; i < COUNT(rows); i++) {
		ah = ibv_create_ah(k->pd, &rows[i]);
		if (ah ? i > 0 : errno != EINVAL)
			fail_msg("row %u: %d", i, ah ? 0 : errno);
		if (ah)
			assert_int_equal(ibv_destroy_ah(ah), 0);
	}
}

/* ----------------------------------------------------------------------- posting */
static int post(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int rc = ibv_post_send(qp, &wr, &bad);

	assert_ptr_equal(bad, rc ? &wr : NULL);
	return rc;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr wr)
{
	struct ibv_recv_wr *bad = NULL;
	int rc = ibv_post_recv(qp, &wr, &bad);

	assert_ptr_equal(bad, rc ? &wr : NULL);
	return rc;
}

static void posting_to_a_connection(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge[KIT_SGE + 1];
	struct ibv_send_wr good = { .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND },
			   rows[6];
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 1 };
	struct ibv_qp *fresh = kit_create_qp(k, IBV_QPT_RC), *qp[2];

	for (unsigned i = 0; i < COUNT(sge); i++)
		sge[i] = kit_sge(k, 0, 0, 64);
	assert_int_equal(post_recv(fresh, recv), EINVAL);
	assert_int_equal(post(fresh, good), EINVAL);
	kit_to_init(fresh);
	assert_int_equal(post(fresh, good), EINVAL);
	recv.num_sge = KIT_SGE + 1;
	assert_int_equal(post_recv(fresh, recv), EINVAL);
	recv.num_sge = -1;
	assert_int_equal(post_recv(fresh, recv), EINVAL);
	recv.num_sge = KIT_SGE;
	for (unsigned i = 0; i < KIT_WR; i++)
		assert_int_equal(post_recv(fresh, recv), 0);
	assert_int_equal(post_recv(fresh, recv), ENOMEM);
	assert_int_equal(ibv_destroy_qp(fresh), 0);

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < COUNT(rows); i++)
		rows[i] = good;
	rows[0].num_sge = KIT_SGE + 1;
	rows[1].num_sge = -1;
	rows[2].opcode = (enum ibv_wr_opcode)77;
	rows[3].send_flags = 1u << 20;
	rows[4].send_flags = IBV_SEND_INLINE;
	rows[4].num_sge = 3; /* 192 bytes, more than the 128 that may be inline */
	rows[5].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD; /* its length is not 8 bytes */
	for (unsigned i = 0; i < COUNT(rows); i++)
		if (post(qp[0], rows[i]) != EINVAL)
			fail_msg("row %u", i);
	/* No receives are posted, so that no request completes and the queue becomes
	 * full.
	 */
	for (unsigned i = 0; i < KIT_WR; i++)
		assert_int_equal(post(qp[0], good), 0);
	assert_int_equal(post(qp[0], good), ENOMEM);
	kit_destroy_pair(qp);
}

static void posting_datagrams(void **state)
{
	struct kit *k = *state;
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_ah_attr to = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &to), *other = ibv_create_ah(pd, &to);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr good = { .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .wr.ud = { .ah = ah, .remote_qpn = 0xffffff } },
			   wr;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);

	assert_non_null(ah);
	assert_non_null(other);
	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	wr = good;
	wr.wr.ud.ah = NULL;
	assert_int_equal(post(qp, wr), EINVAL);
	wr.wr.ud.ah = other; /* an address handle of another protection domain */
	assert_int_equal(post(qp, wr), EINVAL);
	wr = good;
	wr.wr.ud.remote_qpn = 1 << 24;
	assert_int_equal(post(qp, wr), EINVAL);
	wr = good;
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(post(qp, wr), EINVAL);
	assert_int_equal(post(qp, good), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_ah(other), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* ---------------------------------------------------------------- regions, handles */
static void regions(void **state)
{
	struct kit *k = *state;
	struct foreign f;
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	foreign_open(&f);
	assert_null(ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_REMOTE_ATOMIC));
	assert_int_equal(errno, EINVAL);
	assert_int_not_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, f.pd, NULL, 0, 0),
			     0);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	foreign_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_of_what_is_not_there),
		cmocka_unit_test(completion_queues),
		cmocka_unit_test(queue_pairs),
		cmocka_unit_test(queue_pairs_by_the_extended_call),
		cmocka_unit_test(special_queue_pairs_are_not_for_programs),
		cmocka_unit_test(address_handles),
		cmocka_unit_test(posting_to_a_connection),
		cmocka_unit_test(posting_datagrams),
		cmocka_unit_test(regions),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
