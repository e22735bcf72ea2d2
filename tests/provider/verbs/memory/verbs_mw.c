/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_mw.c - memory windows of both types, invalidation, and null regions, used by a
 * program.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	LEN = 4096,
	SEND_WR = 1,
	RECV_WR,
	BIND_WR,
	INV_WR,
};

enum {
	BINDABLE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND
};
static const int peer = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/* Side 1 has a region without remote access. Side 0 accesses it through memory windows
 * only.
 */
struct mw {
	struct kit *k;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	uint8_t *mem;
};

static int mw_setup(void **state)
{
	struct mw *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	kit_setup((void **)&t->k);
	kit_pair(t->k, IBV_QPT_RC, t->qp);
	t->mem = aligned_alloc(LEN, LEN);
	assert_non_null(t->mem);
	memset(t->mem, 0x11, LEN);
	memset(t->k->buf, 0xab, KIT_HALF);
	t->mr = ibv_reg_mr(t->k->pd, t->mem, LEN, BINDABLE);
	assert_non_null(t->mr);
	*state = t;
	return 0;
}

static int mw_teardown(void **state)
{
	struct mw *t = *state;

	kit_destroy_pair(t->qp);
	assert_int_equal(ibv_dereg_mr(t->mr), 0);
	free(t->mem);
	kit_teardown((void **)&t->k);
	free(t);
	return 0;
}

static struct ibv_mw *alloc(const struct mw *t, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(t->k->pd, type);

	assert_non_null(mw);
	assert_ptr_equal(mw->context, t->k->ctx);
	assert_ptr_equal(mw->pd, t->k->pd);
	assert_int_equal(mw->type, type);
	return mw;
}

static struct ibv_mw_bind_info info_of(const struct mw *t, uint32_t offset, uint64_t len,
				       int access)
{
	return (struct ibv_mw_bind_info){ .mr = t->mr,
					  .addr = (uintptr_t)t->mem + offset,
					  .length = len,
					  .mw_access_flags = (unsigned)access };
}

static void bind_1(const struct mw *t, struct ibv_mw *mw, uint32_t offset, uint64_t len)
{
	struct ibv_mw_bind bind = { .wr_id = BIND_WR,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info_of(t, offset, len, peer) };
	uint32_t before = mw->rkey;

	assert_int_equal(ibv_bind_mw(t->qp[1], mw, &bind), 0);
	assert_int_equal(mw->rkey, ibv_inc_rkey(before));
	kit_expect(t->k->cq, BIND_WR, IBV_WC_BIND_MW);
}

static struct ibv_send_wr bind_wr(const struct mw *t, struct ibv_mw *mw, uint8_t key)
{
	return (struct ibv_send_wr){
		.wr_id = BIND_WR,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw,
			     .rkey = key,
			     .bind_info = info_of(t, 0, LEN, peer) },
	};
}

/* Binds a type 2 window. Returns its new R_Key. */
static uint32_t bind_2(const struct mw *t, struct ibv_mw *mw, uint8_t key)
{
	struct ibv_send_wr wr = bind_wr(t, mw, key);

	kit_post_send(t->qp[1], &wr);
	kit_expect(t->k->cq, BIND_WR, IBV_WC_BIND_MW);
	return (mw->rkey & ~UINT32_C(0xff)) | key;
}

static void post_write(const struct mw *t, uint32_t key, uint64_t va, uint32_t len)
{
	struct ibv_sge sge = kit_sge(t->k, 0, 0, len);
	struct ibv_send_wr wr = { .wr_id = SEND_WR,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .wr.rdma = { .remote_addr = va, .rkey = key } };

	kit_post_recv(t->k, t->qp[1], RECV_WR, kit_sge(t->k, 1, 0, 8));
	kit_post_send(t->qp[0], &wr);
}

/* A WRITE through the key succeeds. The receive of its immediate shows that the bytes
 * have arrived.
 */
static void expect_open(const struct mw *t, uint32_t key, uint32_t offset, uint32_t len)
{
	post_write(t, key, (uintptr_t)t->mem + offset, len);
	kit_expect(t->k->cq, RECV_WR, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_memory_equal(t->mem + offset, t->k->buf, len);
}

/* A WRITE through the key fails. Both QPs are in the error state afterwards. */
static void expect_shut(const struct mw *t, uint32_t key, uint32_t offset, uint32_t len)
{
	bool refused = false;

	post_write(t, key, (uintptr_t)t->mem + offset, len);
	for (int i = 0; i < 2; i++) {
		struct ibv_wc wc = kit_wait(t->k->cq);

		refused |= wc.wr_id == SEND_WR && wc.status == IBV_WC_REM_ACCESS_ERR;
		assert_int_not_equal(wc.status, IBV_WC_SUCCESS);
	}
	assert_true(refused);
}

static void local_inv(const struct mw *t, uint32_t key)
{
	struct ibv_send_wr wr = { .wr_id = INV_WR,
				  .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = key };

	kit_post_send(t->qp[1], &wr);
	kit_expect(t->k->cq, INV_WR, IBV_WC_LOCAL_INV);
}

/* -------------------------------------------------------------------- tests */
static void the_device_says_that_it_has_windows(void **state)
{
	const unsigned flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			       IBV_DEVICE_MEM_MGT_EXTENSIONS;
	const struct mw *t = *state;
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(t->k->ctx, &attr), 0);
	assert_int_equal(attr.device_cap_flags & flags, flags);
	assert_int_equal(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A, 0);
	assert_true(attr.max_mw > 0);
	assert_null(ibv_alloc_mw(t->k->pd, (enum ibv_mw_type)3));
	assert_int_equal(errno, EINVAL);
}

static void mw_type_1_is_bound_moved_and_taken_back(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_1);
	struct ibv_mw_bind none = { .wr_id = BIND_WR, .send_flags = IBV_SEND_SIGNALED };

	bind_1(t, mw, 0, 64);
	expect_open(t, mw->rkey, 0, 64);
	bind_1(t, mw, 64, 64);
	expect_open(t, mw->rkey, 64, 64);
	assert_int_equal(ibv_bind_mw(t->qp[1], mw, &none), 0);
	kit_expect(t->k->cq, BIND_WR, IBV_WC_BIND_MW);
	expect_shut(t, mw->rkey, 64, 64);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void mw_type_2_is_bound_by_a_request_with_a_key_byte(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_2);
	uint32_t key = bind_2(t, mw, 0x5a);

	expect_open(t, key, 0, LEN);
	expect_shut(t, key ^ 1, 0, 8);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void mw_type_2_is_bound_again_after_a_local_invalidation(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_2);
	uint32_t first = bind_2(t, mw, 1), second;

	expect_open(t, first, 0, 8);
	local_inv(t, first);
	second = bind_2(t, mw, 2);
	expect_open(t, second, 8, 8);
	expect_shut(t, first, 0, 8);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void mw_type_2_is_invalidated_by_a_send_of_the_peer(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_2);
	uint32_t key = bind_2(t, mw, 1);
	struct ibv_sge sge = kit_sge(t->k, 0, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV,
				  .invalidate_rkey = key,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_wc wc;

	kit_post_recv(t->k, t->qp[1], RECV_WR, kit_sge(t->k, 1, 0, 8));
	kit_post_send(t->qp[0], &wr);
	wc = kit_expect(t->k->cq, RECV_WR, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, key);
	expect_shut(t, key, 0, 8);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_window_that_is_deallocated_opens_nothing(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_2);
	uint32_t key = bind_2(t, mw, 1);

	expect_open(t, key, 0, 8);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	expect_shut(t, key, 0, 8);
}

static void a_region_with_windows_and_a_domain_with_one_are_busy(void **state)
{
	const struct mw *t = *state;
	struct ibv_pd *pd = ibv_alloc_pd(t->k->ctx);
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_2), *other;

	assert_non_null(pd);
	other = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	assert_non_null(other);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(other), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);

	bind_2(t, mw, 1);
	assert_int_equal(ibv_dereg_mr(t->mr), EBUSY);
	assert_int_not_equal(
		ibv_rereg_mr(t->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, BINDABLE),
		0);
	assert_int_equal(errno, EBUSY);
	expect_open(t, (mw->rkey & ~UINT32_C(0xff)) | 1, 0, 8);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_bind_that_breaks_a_rule_says_so(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *one = alloc(t, IBV_MW_TYPE_1), *two = alloc(t, IBV_MW_TYPE_2);
	struct ibv_pd *pd = ibv_alloc_pd(t->k->ctx);
	struct ibv_mw *foreign = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = info_of(t, 0, LEN, peer) };
	struct ibv_qp *ud = kit_create_qp(t->k, IBV_QPT_UD);
	uint32_t key = one->rkey;
	struct ibv_send_wr wr, *bad;

	assert_int_equal(ibv_bind_mw(t->qp[1], two, &bind), EINVAL);
	assert_int_equal(ibv_bind_mw(t->qp[1], foreign, &bind), EPERM);
	kit_to_init(ud);
	kit_to_rts(t->k, ud, 0);
	assert_int_equal(ibv_bind_mw(ud, one, &bind), EINVAL);
	bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	assert_int_equal(ibv_bind_mw(t->qp[1], one, &bind), EINVAL);
	wr = bind_wr(t, one, 1);
	assert_int_equal(ibv_post_send(t->qp[1], &wr, &bad), EINVAL);
	wr = bind_wr(t, NULL, 1);
	assert_int_equal(ibv_post_send(t->qp[1], &wr, &bad), EINVAL);
	assert_int_equal(one->rkey, key);
	kit_expect_none(t->k->cq);

	/* Errors that only the device can detect are reported in a completion. */
	wr = bind_wr(t, two, 1);
	wr.bind_mw.bind_info.length++;
	kit_post_send(t->qp[1], &wr);
	assert_int_equal(kit_wait(t->k->cq).status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(ibv_destroy_qp(ud), 0);
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(ibv_dealloc_mw(two), 0);
	assert_int_equal(ibv_dealloc_mw(foreign), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static struct ibv_qp *create_ex(const struct mw *t, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = t->k->cq,
		.recv_cq = t->k->cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = t->k->pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(t->k->ctx, &attr);

	assert_non_null(qp);
	kit_to_init(qp);
	kit_to_rts(t->k, qp, qp->qp_num);
	return qp;
}

static void ibv_wr_binds_and_invalidates(void **state)
{
	const struct mw *t = *state;
	struct ibv_qp *qp =
		create_ex(t, IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_mw_bind_info info = info_of(t, 0, LEN, peer);
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_2), *one = alloc(t, IBV_MW_TYPE_1);
	uint32_t key = ibv_inc_rkey(mw->rkey);

	ibv_wr_start(ex);
	ex->wr_id = BIND_WR;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(ex, mw, key, &info);
	ex->wr_id = INV_WR;
	ibv_wr_local_inv(ex, key);
	assert_int_equal(ibv_wr_complete(ex), 0);
	kit_expect(t->k->cq, BIND_WR, IBV_WC_BIND_MW);
	kit_expect(t->k->cq, INV_WR, IBV_WC_LOCAL_INV);

	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, one, one->rkey, &info);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_mw(one), 0);
}

static void a_child_of_fork_has_no_windows(void **state)
{
	const struct mw *t = *state;
	struct ibv_mw *mw = alloc(t, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .bind_info = info_of(t, 0, LEN, peer) };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		bool ok = !ibv_alloc_mw(t->k->pd, IBV_MW_TYPE_1) && errno == EIO &&
			  !ibv_alloc_null_mr(t->k->pd) && errno == EIO &&
			  ibv_bind_mw(t->qp[1], mw, &bind) == EIO &&
			  ibv_dealloc_mw(mw) == 0;

		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	bind_1(t, mw, 0, 64);
	expect_open(t, mw->rkey, 0, 64);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_null_mr_gives_zeros_and_takes_anything(void **state)
{
	static const uint8_t zeros[64];
	const struct mw *t = *state;
	struct ibv_mr *null = ibv_alloc_null_mr(t->k->pd);
	struct ibv_sge sge, out[2], in[2];
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = out, .num_sge = 2 };
	struct ibv_recv_wr recv = { .wr_id = RECV_WR, .sg_list = in, .num_sge = 2 }, *bad;

	assert_non_null(null);
	sge = (struct ibv_sge){ .length = 64, .lkey = null->lkey };
	/* The message is 64 zeros and then 64 bytes. The receive stores its first half in
	 * the buffer, and the null region drops the second half.
	 */
	out[0] = sge;
	out[1] = kit_sge(t->k, 0, 0, 64);
	in[0] = kit_sge(t->k, 1, 0, 64);
	in[1] = sge;
	memset(t->k->buf + KIT_HALF, 0x22, 128);
	assert_int_equal(ibv_post_recv(t->qp[1], &recv, &bad), 0);
	kit_post_send(t->qp[0], &wr);
	assert_int_equal(kit_expect(t->k->cq, RECV_WR, IBV_WC_RECV).byte_len, 128);
	assert_memory_equal(t->k->buf + KIT_HALF, zeros, 64);
	assert_int_equal(t->k->buf[KIT_HALF + 64], 0x22);
	expect_shut(t, null->rkey, 0, 8);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, mw_setup, mw_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_says_that_it_has_windows),
		TEST(mw_type_1_is_bound_moved_and_taken_back),
		TEST(mw_type_2_is_bound_by_a_request_with_a_key_byte),
		TEST(mw_type_2_is_bound_again_after_a_local_invalidation),
		TEST(mw_type_2_is_invalidated_by_a_send_of_the_peer),
		TEST(a_window_that_is_deallocated_opens_nothing),
		TEST(a_region_with_windows_and_a_domain_with_one_are_busy),
		TEST(a_bind_that_breaks_a_rule_says_so),
		TEST(ibv_wr_binds_and_invalidates),
		TEST(a_child_of_fork_has_no_windows),
		TEST(a_null_mr_gives_zeros_and_takes_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
