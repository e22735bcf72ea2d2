/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_dm.c - device memory: allocation, copies, regions, and messages to and from it.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
		 IBV_ACCESS_ZERO_BASED,
	LEN = 16384, /* several packets long */
	FIRST = 100, /* offset of a region inside the device memory */
};

static struct ibv_dm *alloc(struct ibv_context *ctx, size_t len)
{
	struct ibv_alloc_dm_attr attr = { .length = len };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);

	if (!dm)
		fail_msg("ibv_alloc_dm of %zu bytes: errno %d", len, errno);
	return dm;
}

static struct ibv_mr *reg(struct kit *k, struct ibv_dm *dm, uint64_t offset, size_t len)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(k->pd, dm, offset, len, RIGHTS);

	if (!mr)
		fail_msg("ibv_reg_dm_mr: errno %d", errno);
	return mr;
}

static void end(struct ibv_dm *dm, struct ibv_mr *mr)
{
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void fill(uint8_t *at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)(i * 7 + i / 256 + seed);
}

static size_t most(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex a;

	assert_int_equal(ibv_query_device_ex(ctx, NULL, &a), 0);
	assert_true(a.max_dm_size >= LEN);
	return a.max_dm_size;
}

/* ---------------------------------------------------------------------- allocation */
static void refuse_alloc(struct ibv_context *ctx, int why, struct ibv_alloc_dm_attr attr)
{
	errno = 0;
	assert_null(ibv_alloc_dm(ctx, &attr));
	assert_int_equal(errno, why);
}

static void there_is_as_much_as_the_device_says(void **state)
{
	struct kit *k = *state;
	size_t all = most(k->ctx);
	struct ibv_dm *whole = alloc(k->ctx, all), *half[2];

	refuse_alloc(k->ctx, ENOMEM, (struct ibv_alloc_dm_attr){ .length = 1 });
	assert_int_equal(ibv_free_dm(whole), 0);
	half[0] = alloc(k->ctx, all / 2);
	half[1] = alloc(k->ctx, all / 2);
	assert_int_not_equal(half[0]->handle, half[1]->handle);
	assert_ptr_equal(half[0]->context, k->ctx);
	refuse_alloc(k->ctx, ENOMEM, (struct ibv_alloc_dm_attr){ .length = 1 });
	assert_int_equal(ibv_free_dm(half[0]), 0);
	assert_int_equal(ibv_free_dm(half[1]), 0);
}

static void contexts_share_it(void **state)
{
	struct kit *k = *state;
	struct ibv_context *other = kit_open_device();
	struct ibv_dm *dm = alloc(other, most(k->ctx));

	refuse_alloc(k->ctx, ENOMEM, (struct ibv_alloc_dm_attr){ .length = 1 });
	assert_int_equal(ibv_free_dm(dm), 0);
	/* Closing a context frees the device memory that it still had. */
	dm = alloc(other, most(k->ctx));
	assert_int_equal(ibv_close_device(other), 0);
	free(dm);
	dm = alloc(k->ctx, most(k->ctx));
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void what_cannot_be_allocated_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_alloc_dm_attr largest = { .length = 64, .log_align_req = 18 };
	struct ibv_dm *dm = ibv_alloc_dm(k->ctx, &largest);

	assert_non_null(dm);
	assert_int_equal(ibv_free_dm(dm), 0);
	refuse_alloc(k->ctx, ENOMEM,
		     (struct ibv_alloc_dm_attr){ .length = most(k->ctx) + 1 });
	refuse_alloc(k->ctx, ENOMEM, (struct ibv_alloc_dm_attr){ .length = SIZE_MAX });
	refuse_alloc(k->ctx, EINVAL, (struct ibv_alloc_dm_attr){ .length = 0 });
	refuse_alloc(k->ctx, EINVAL,
		     (struct ibv_alloc_dm_attr){ .length = 64, .log_align_req = 19 });
	refuse_alloc(k->ctx, EINVAL,
		     (struct ibv_alloc_dm_attr){ .length = 64, .comp_mask = 1 });
}

/* -------------------------------------------------------------------------- copies */
struct range {
	uint64_t offset;
	size_t len;
};

static void copies_bring_back_what_they_wrote(void **state)
{
	static const struct range rows[] = { { 0, 4 },	     { 4, 8 },	 { 60, 8 },
					     { 100, 1000 },  { 0, LEN }, { 36, 4000 },
					     { LEN - 4, 4 }, { LEN, 0 } };
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, LEN);
	static uint8_t expected[LEN], got[LEN];

	assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, LEN), 0);
	/* device memory that was not written is zero */
	assert_memory_equal(got, expected, LEN);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fill(expected + rows[i].offset, rows[i].len, i);
		assert_int_equal(ibv_memcpy_to_dm(dm, rows[i].offset,
						  expected + rows[i].offset, rows[i].len),
				 0);
		assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, LEN), 0);
		assert_memory_equal(got, expected, LEN);
	}
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void copies_stay_within(void **state)
{
	static const struct range rows[] = {
		{ 0, 104 },
		{ 104, 0 },
		{ 100, 4 },
		{ UINT64_MAX - 3, 4 },
		{ 4, SIZE_MAX - 3 }, /* offset plus length overflows */
		{ 2, 4 },
		{ 4, 2 }, /* no multiple of 4, the unit of access */
	};
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, 100);
	uint8_t bytes[128] = { 0 };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(ibv_memcpy_to_dm(dm, rows[i].offset, bytes, rows[i].len),
				 EINVAL);
		assert_int_equal(
			ibv_memcpy_from_dm(bytes, dm, rows[i].offset, rows[i].len),
			EINVAL);
	}
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, bytes, 100), 0);
	assert_int_equal(ibv_memcpy_from_dm(bytes, dm, 100, 0), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* ------------------------------------------------------------------------- regions */
static void a_region_holds_the_memory(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, LEN);
	struct ibv_mr *mr[2] = { reg(k, dm, 0, LEN), reg(k, dm, FIRST, 64) };

	assert_ptr_equal(mr[0]->context, k->ctx);
	assert_ptr_equal(mr[0]->pd, k->pd);
	assert_null(mr[0]->addr);
	assert_int_equal(mr[1]->length, 64);
	assert_int_equal(mr[0]->lkey, mr[0]->rkey);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr[0]), 0);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_rereg_mr(mr[1], IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dereg_mr(mr[1]), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

struct request {
	uint64_t offset;
	size_t len;
	unsigned access;
};

static void refuse_reg(struct ibv_pd *pd, struct ibv_dm *dm, struct request r)
{
	errno = 0;
	assert_null(ibv_reg_dm_mr(pd, dm, r.offset, r.len, r.access));
	assert_int_equal(errno, EINVAL);
}

static void what_cannot_be_registered_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, 100);
	struct ibv_context *other = kit_open_device();
	struct ibv_pd *foreign = ibv_alloc_pd(other);

	refuse_reg(k->pd, dm, (struct request){ 0, 104, RIGHTS });
	refuse_reg(k->pd, dm, (struct request){ 1, 100, RIGHTS });
	refuse_reg(k->pd, dm, (struct request){ 101, 0, RIGHTS });
	refuse_reg(k->pd, dm, (struct request){ UINT64_MAX, 2, RIGHTS });
	refuse_reg(k->pd, dm, (struct request){ 4, SIZE_MAX, RIGHTS });
	refuse_reg(k->pd, dm,
		   (struct request){ 0, 100, RIGHTS & ~IBV_ACCESS_ZERO_BASED });
	refuse_reg(k->pd, dm, (struct request){ 0, 100, RIGHTS | IBV_ACCESS_ON_DEMAND });
	refuse_reg(k->pd, dm, (struct request){ 0, 100, RIGHTS | IBV_ACCESS_MW_BIND });
	refuse_reg(k->pd, dm,
		   (struct request){ 0, 100,
				     IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE });
	refuse_reg(foreign, dm, (struct request){ 0, 100, RIGHTS });
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	assert_int_equal(ibv_close_device(other), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* ------------------------------------------------------------------------ messages */
struct side {
	uint64_t addr;
	uint32_t key;
};

static void post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_sge local,
		 struct side remote)
{
	struct ibv_send_wr wr = { .wr_id = 9,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = remote.addr,
					       .rkey = remote.key } };

	kit_post_send(qp, &wr);
}

static void transfer(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		     struct ibv_sge local, struct side remote)
{
	post(qp, opcode, local, remote);
	kit_expect(k->cq, 9,
		   opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ : IBV_WC_RDMA_WRITE);
}

/* A QP that READs after its WRITE gets the written bytes, whatever the PCIe knobs are. */
static void read_back(struct kit *k, struct ibv_qp *qp, struct side remote,
		      const uint8_t *expected, uint32_t len)
{
	uint8_t *to = k->buf + KIT_HALF;

	memset(to, 0, len);
	transfer(k, qp, IBV_WR_RDMA_READ, kit_sge(k, 1, 0, len), remote);
	assert_memory_equal(to, expected, len);
}

static void writes_and_reads_reach_it(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, LEN);
	struct ibv_mr *mr = reg(k, dm, FIRST, LEN - FIRST);
	static uint8_t got[LEN];
	struct ibv_qp *qp[2];

	fill(k->buf, LEN, 3);
	kit_pair(k, IBV_QPT_RC, qp);
	transfer(k, qp[0], IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, LEN - FIRST),
		 (struct side){ 0, mr->rkey });
	read_back(k, qp[0], (struct side){ 0, mr->rkey }, k->buf, LEN - FIRST);
	/* The READ has completed, so that the written bytes are visible to every reader.
	 */
	assert_int_equal(ibv_memcpy_from_dm(got, dm, FIRST, LEN - FIRST), 0);
	assert_memory_equal(got, k->buf, LEN - FIRST);
	read_back(k, qp[0], (struct side){ 50, mr->rkey }, k->buf + 50, 3000);
	kit_destroy_pair(qp);
	end(dm, mr);
}

static void it_is_gathered_from_and_scattered_to(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, 2 * LEN);
	struct ibv_mr *mr = reg(k, dm, 0, 2 * LEN);
	struct ibv_sge from = { .addr = 0, .length = LEN, .lkey = mr->lkey };
	struct ibv_sge to = { .addr = LEN, .length = LEN, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND
	};
	static uint8_t got[LEN];
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	fill(k->buf, LEN, 11);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, k->buf, LEN), 0);
	/* The copy consists of posted writes, and the doorbell is a posted write behind
	 * them. So the NIC has the bytes when it sees the doorbell.
	 */
	kit_post_recv(k, qp[1], 2, to);
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 2, IBV_WC_RECV);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, LEN, LEN), 0);
	assert_memory_equal(got, k->buf, LEN);
	/* A READ can deliver its bytes to device memory too. */
	fill(k->buf, LEN, 12);
	transfer(k, qp[0], IBV_WR_RDMA_READ, from,
		 (struct side){ (uintptr_t)k->buf, k->mr->rkey });
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, LEN), 0);
	assert_memory_equal(got, k->buf, LEN);
	kit_destroy_pair(qp);
	end(dm, mr);
}

static uint64_t atomic(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
		       struct side remote, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 5,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.atomic = { .remote_addr = remote.addr,
						 .rkey = remote.key,
						 .compare_add = compare_add,
						 .swap = swap } };
	uint64_t found;

	kit_post_send(qp, &wr);
	kit_expect(k->cq, 5,
		   opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP
						       : IBV_WC_FETCH_ADD);
	memcpy(&found, k->buf, sizeof(found));
	return found;
}

static void atomics_work_in_it(void **state)
{
	struct kit *k = *state;
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 3 };
	struct ibv_dm *dm = ibv_alloc_dm(k->ctx, &attr);
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	uint64_t word = 40;

	assert_non_null(dm);
	mr = reg(k, dm, 8, 56);
	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_memcpy_to_dm(dm, 16, &word, sizeof(word)), 0);
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 16, sizeof(word)), 0);
	assert_int_equal(word, 40);
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(atomic(k, qp[i % 2], IBV_WR_ATOMIC_FETCH_AND_ADD,
					(struct side){ 8, mr->rkey }, 2, 0),
				 40 + 2 * i);
	assert_int_equal(atomic(k, qp[0], IBV_WR_ATOMIC_CMP_AND_SWP,
				(struct side){ 8, mr->rkey }, 1, 7),
			 140);
	assert_int_equal(atomic(k, qp[0], IBV_WR_ATOMIC_CMP_AND_SWP,
				(struct side){ 8, mr->rkey }, 140, 7),
			 140);
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 16, sizeof(word)), 0);
	assert_int_equal(word, 7);
	kit_destroy_pair(qp);
	end(dm, mr);
}

/* A WRITE that the region does not allow fails, and the QP enters the error state. */
static void denied(struct kit *k, struct side remote, uint32_t len)
{
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	post(qp[0], IBV_WR_RDMA_WRITE, kit_sge(k, 0, 0, len), remote);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
}

static void rights_and_bounds_hold(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, 256);
	struct ibv_mr *mr = reg(k, dm, 64, 128), *readable;
	uint32_t stale = mr->rkey;
	uint8_t got[256];

	readable = ibv_reg_dm_mr(k->pd, dm, 0, 256,
				 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ);
	assert_non_null(readable);
	fill(k->buf, 256, 1);
	denied(k, (struct side){ 64, mr->rkey }, 65);
	denied(k, (struct side){ UINT64_MAX, mr->rkey }, 1);
	denied(k, (struct side){ 0, readable->rkey }, 1);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	denied(k, (struct side){ 0, stale }, 1);
	assert_int_equal(ibv_dereg_mr(readable), 0);
	assert_int_equal(ibv_memcpy_from_dm(got, dm, 0, 256), 0);
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(got[i], 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* A WRITE to host memory, and behind it a flag in device memory. A program that reads the
 * flag sees the data, because the answer to its read pushes the data ahead of itself.
 */
static void a_flag_in_it_comes_behind_data(void **state)
{
	enum {
		ROUNDS = 200,
		DATA = 1024,
	};
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, 8);
	struct ibv_mr *mr = reg(k, dm, 0, 8);
	const char *knobs = getenv("ROCIN_PCIE");
	/* With these knobs the data may wait in a queue that the answer does not push. */
	const bool is_any = knobs && (!strncmp(knobs, "adversarial", 11) ||
				      strstr(knobs, "nic.queues=perqp"));
	uint64_t *word = (uint64_t *)(void *)k->buf;
	struct ibv_sge data = kit_sge(k, 0, 0, DATA), flag = kit_sge(k, 0, DATA, 8);
	const struct side x = { (uintptr_t)k->buf + KIT_HALF, k->mr->rkey };
	const struct side m = { 0, mr->rkey };
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		uint64_t seen = 0;

		for (unsigned j = 0; j <= DATA / 8; j++)
			word[j] = i;
		post(qp[0], IBV_WR_RDMA_WRITE, data, x);
		post(qp[0], IBV_WR_RDMA_WRITE, flag, m);
		while (seen != i)
			assert_int_equal(ibv_memcpy_from_dm(&seen, dm, 0, 8), 0);
		for (unsigned j = 0; j < DATA / 8 && !is_any; j++)
			assert_int_equal(word[KIT_HALF / 8 + j], i);
		kit_expect(k->cq, 9, IBV_WC_RDMA_WRITE);
		kit_expect(k->cq, 9, IBV_WC_RDMA_WRITE);
	}
	kit_destroy_pair(qp);
	end(dm, mr);
}

/* ------------------------------------------------------------------------- leaving */
static void a_copy_of_the_process_has_none(void **state)
{
	struct kit *k = *state;
	struct ibv_dm *dm = alloc(k->ctx, 64);
	uint64_t word = 0;
	int status;
	pid_t child = fork();

	if (child == 0) {
		bool ok = ibv_memcpy_to_dm(dm, 0, &word, 8) == EIO &&
			  ibv_memcpy_from_dm(&word, dm, 0, 8) == EIO &&
			  !ibv_reg_dm_mr(k->pd, dm, 0, 64, RIGHTS) && errno == EIO &&
			  ibv_free_dm(dm) == 0;

		_exit(ok ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_as_much_as_the_device_says),
		cmocka_unit_test(contexts_share_it),
		cmocka_unit_test(what_cannot_be_allocated_is_refused),
		cmocka_unit_test(copies_bring_back_what_they_wrote),
		cmocka_unit_test(copies_stay_within),
		cmocka_unit_test(a_region_holds_the_memory),
		cmocka_unit_test(what_cannot_be_registered_is_refused),
		cmocka_unit_test(writes_and_reads_reach_it),
		cmocka_unit_test(it_is_gathered_from_and_scattered_to),
		cmocka_unit_test(atomics_work_in_it),
		cmocka_unit_test(rights_and_bounds_hold),
		cmocka_unit_test(a_flag_in_it_comes_behind_data),
		cmocka_unit_test(a_copy_of_the_process_has_none),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
