/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_gpu.c - simulated GPU memory in a verbs program: it is registered by its BAR
 * address or by a descriptor, read, written, and freed too early.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rocin/gpu.h"
#include "tests/provider/kit/verbs_kit.h"

enum {
	PAGE = 4096,
	LEN = 3000,
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

static struct rn_gpu_buffer take(size_t bytes)
{
	struct rn_gpu_buffer b;

	assert_int_equal(rn_gpu_alloc(rn_gpu_open(0), bytes, 0, &b), 0);
	return b;
}

static void fill(struct kit *k, unsigned salt)
{
	for (unsigned i = 0; i < KIT_HALF; i++)
		k->buf[i] = (uint8_t)(i * 5 + salt);
}

/* Performs @opcode between the first half of the kit's buffer and @addr. */
static struct ibv_wc run(struct kit *k, struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			 uint64_t addr, uint32_t rkey)
{
	struct ibv_sge local = kit_sge(k, opcode == IBV_WR_RDMA_READ, 0, LEN);
	struct ibv_send_wr wr = { .wr_id = 7,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = addr, .rkey = rkey } };

	kit_post_send(qp, &wr);
	return kit_wait(k->cq);
}

/* WRITEs bytes and READs them back, which is ordered behind the WRITE. Compares them,
 * also with what the CPU sees in the BAR.
 */
static void write_and_check(struct kit *k, struct ibv_qp *qp, uint64_t addr,
			    uint32_t rkey, const uint8_t *bar)
{
	static unsigned salt;

	fill(k, ++salt);
	assert_int_equal(run(k, qp, IBV_WR_RDMA_WRITE, addr, rkey).status,
			 IBV_WC_SUCCESS);
	assert_int_equal(run(k, qp, IBV_WR_RDMA_READ, addr, rkey).status, IBV_WC_SUCCESS);
	assert_memory_equal(k->buf + KIT_HALF, k->buf, LEN);
	/* The READ's data is in host memory, so the data of the WRITE before it is in GPU
	 * memory.
	 */
	assert_memory_equal(bar, k->buf, LEN);
}

static void registered_by_bar_address(void **state)
{
	struct kit *k = *state;
	struct rn_gpu_buffer b = take(4 * PAGE);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, b.bar, b.len, RIGHTS);
	struct ibv_qp *qp[2];

	assert_non_null(mr);
	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 20; i++)
		write_and_check(k, qp[0], (uint64_t)(uintptr_t)b.bar + 500 * i, mr->rkey,
				(uint8_t *)b.bar + 500 * (size_t)i);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void registered_by_descriptor(void **state)
{
	const uint64_t iova = 0x700000000000 + 100;
	struct kit *k = *state;
	struct rn_gpu_buffer b = take(4 * PAGE);
	int fd = rn_gpu_export_dmabuf((char *)b.bar + PAGE, 3 * PAGE);
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;

	assert_true(fd > 2);
	mr = ibv_reg_dmabuf_mr(k->pd, PAGE + 100, PAGE, iova, fd, RIGHTS);
	assert_non_null(mr);
	close(fd);
	kit_pair(k, IBV_QPT_RC, qp);
	write_and_check(k, qp[0], iova + 50, mr->rkey,
			(uint8_t *)b.bar + 2 * (size_t)PAGE + 150);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

static void refused(void **state)
{
	struct kit *k = *state;
	struct rn_gpu_buffer b = take(PAGE), hidden;
	int fd = rn_gpu_export_dmabuf(b.bar, PAGE);

	assert_int_equal(rn_gpu_alloc(b.gpu, PAGE, RN_GPU_DEVICE_ONLY, &hidden), 0);
	errno = 0;
	assert_null(ibv_reg_dmabuf_mr(k->pd, 0, PAGE + 1, 0, fd, RIGHTS));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	errno = 0;
	assert_null(ibv_reg_dmabuf_mr(k->pd, 0, PAGE, 0, fd, RIGHTS));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(ibv_reg_mr(k->pd, b.bar, PAGE, RIGHTS));
	assert_int_equal(errno, EFAULT);
	close(fd);
	assert_int_equal(rn_gpu_free(hidden.dev), 0);
}

/* An MR whose GPU memory was freed: peers get the same errors as with unmapped host
 * memory.
 */
static void freed_under_a_registration(void **state)
{
	struct kit *k = *state;
	struct rn_gpu_buffer b = take(2 * PAGE);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, b.bar, b.len, RIGHTS);
	uint64_t addr = (uint64_t)(uintptr_t)b.bar;
	struct ibv_qp *qp[2];

	assert_non_null(mr);
	assert_int_equal(rn_gpu_free(b.bar), 0);
	for (int op = IBV_WR_RDMA_WRITE; op <= IBV_WR_RDMA_READ;
	     op += IBV_WR_RDMA_READ - IBV_WR_RDMA_WRITE) {
		struct ibv_wc wc;

		kit_pair(k, IBV_QPT_RC, qp);
		wc = run(k, qp[0], (enum ibv_wr_opcode)op, addr, mr->rkey);
		assert_true(wc.status == IBV_WC_REM_ACCESS_ERR ||
			    wc.status == IBV_WC_REM_OP_ERR);
		kit_destroy_pair(qp);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* While WRITEs to the GPU arrive, other pages of its BAR are registered, and the BAR is
 * written to a file, read from a file and touched.
 */
static void used_while_writes_arrive(void **state)
{
	struct kit *k = *state;
	struct rn_gpu_buffer b = take(4 * PAGE);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, b.bar, PAGE, RIGHTS), *other;
	uint64_t addr = (uint64_t)(uintptr_t)b.bar;
	FILE *file = tmpfile();
	struct ibv_qp *qp[2];

	assert_non_null(mr);
	assert_non_null(file);
	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 50; i++) {
		fill(k, i);
		assert_int_equal(run(k, qp[0], IBV_WR_RDMA_WRITE, addr, mr->rkey).status,
				 IBV_WC_SUCCESS);
		other = ibv_reg_mr(k->pd, (char *)b.bar + PAGE, 2 * PAGE, RIGHTS);
		assert_non_null(other);
		assert_int_equal(pwrite(fileno(file), b.bar, b.len, 0), b.len);
		((volatile char *)b.bar)[3 * PAGE] = (char)i;
		assert_int_equal(pread(fileno(file), b.bar, LEN, 0), LEN);
		assert_int_equal(ibv_dereg_mr(other), 0);
	}
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	(void)fclose(file);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

struct sum {
	const uint8_t *dev;
	uint64_t bytes;
};

/* Loads of device memory, as a kernel performs them. */
static void add_up(void *arg)
{
	struct sum *s = arg;

	for (unsigned i = 0; i < LEN; i++)
		s->bytes += s->dev[i];
}

/* Rules G4 and G5: after a READ of the written bytes, a kernel that is launched sees all
 * of them.
 */
static void kernel_after_a_read(void **state)
{
	struct kit *k = *state;
	struct rn_gpu_buffer b = take(PAGE);
	struct ibv_mr *mr = ibv_reg_mr(k->pd, b.bar, b.len, RIGHTS);
	struct sum s = { .dev = b.dev };
	uint64_t expected = 0;
	struct ibv_qp *qp[2];

	assert_non_null(mr);
	kit_pair(k, IBV_QPT_RC, qp);
	write_and_check(k, qp[0], (uint64_t)(uintptr_t)b.bar, mr->rkey, b.bar);
	for (unsigned i = 0; i < LEN; i++)
		expected += k->buf[i];
	assert_true(rn_gpu_launch(b.gpu, add_up, &s) > 0);
	assert_int_equal(rn_gpu_synchronize(b.gpu), 0);
	assert_int_equal(s.bytes, expected);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(rn_gpu_free(b.bar), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registered_by_bar_address),
		cmocka_unit_test(registered_by_descriptor),
		cmocka_unit_test(refused),
		cmocka_unit_test(freed_under_a_registration),
		cmocka_unit_test(used_while_writes_arrive),
		cmocka_unit_test(kernel_after_a_read),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
