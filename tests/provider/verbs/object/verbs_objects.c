/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_objects.c - creating, changing and destroying objects: limits, order, and what
 * they leave behind.
 */
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kit/apart.h"
#include "tests/provider/kit/verbs_kit.h"

static void flushed_receives(struct kit *k, struct ibv_qp *qp, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
}

static void reset_takes_the_completions_with_it(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	flushed_receives(k, qp[0], 3);
	kit_to_state(qp[0], IBV_QPS_RESET);
	kit_expect_none(k->cq);
	kit_destroy_pair(qp);
}

static void destroy_takes_the_completions_with_it_and_leaves_the_others(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	flushed_receives(k, qp[0], 3);
	flushed_receives(k, qp[1], 2);
	assert_int_equal(ibv_destroy_qp(qp[0]), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_wc wc = kit_wait(k->cq);

		assert_int_equal(wc.qp_num, qp[1]->qp_num);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	kit_expect_none(k->cq);
	assert_int_equal(ibv_destroy_qp(qp[1]), 0);
}

static void resizing_a_queue_keeps_what_is_in_it(void **state)
{
	enum {
		WAITING = 21
	};
	struct kit *k = *state;
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 32, NULL, NULL, 0), *plain = k->cq;
	struct ibv_qp *qp;

	assert_non_null(cq);
	k->cq = cq;
	qp = kit_create_qp(k, IBV_QPT_RC);
	k->cq = plain;
	kit_to_init(qp);
	/* Moves the ring's positions forward, so that the waiting entries wrap around its
	 * end.
	 */
	flushed_receives(k, qp, 25);
	for (unsigned i = 0; i < 25; i++)
		assert_int_equal(kit_wait(cq).wr_id, i);
	flushed_receives(k, qp, WAITING);
	assert_int_equal(kit_wait(cq).wr_id, 0);
	assert_int_equal(ibv_resize_cq(cq, WAITING - 2), EINVAL);
	assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
	assert_int_equal(ibv_resize_cq(cq, 1000), 0);
	assert_in_range(cq->cqe, 1000, 1 << 22);
	for (unsigned i = 1; i < 10; i++)
		assert_int_equal(kit_wait(cq).wr_id, i);
	assert_int_equal(ibv_resize_cq(cq, WAITING), 0);
	for (unsigned i = 10; i < WAITING; i++)
		assert_int_equal(kit_wait(cq).wr_id, i);
	kit_expect_none(cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void what_is_in_use_cannot_be_destroyed(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UC);
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_ah *ah;

	assert_int_equal(ibv_destroy_cq(k->cq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(k->pd), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(k->channel), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);

	assert_non_null(pd);
	ah = ibv_create_ah(pd, &attr);
	assert_non_null(ah);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void queues_beyond_the_limits_are_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr dev;

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	assert_null(ibv_create_cq(k->ctx, 0, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(k->ctx, dev.max_cqe + 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(k->ctx, 1, NULL, NULL, k->ctx->num_comp_vectors));
	assert_int_equal(errno, EINVAL);
	for (unsigned i = 0; i < 5; i++) {
		struct ibv_qp_init_attr attr = { .send_cq = k->cq,
						 .recv_cq = k->cq,
						 .cap = { 1, 1, 1, 1, 0 },
						 .qp_type = IBV_QPT_RC };

		/* One limit is exceeded at a time. */
		attr.cap.max_send_wr += i == 0 ? (uint32_t)dev.max_qp_wr : 0;
		attr.cap.max_recv_wr += i == 1 ? (uint32_t)dev.max_qp_wr : 0;
		attr.cap.max_send_sge += i == 2 ? (uint32_t)dev.max_sge : 0;
		attr.cap.max_recv_sge += i == 3 ? (uint32_t)dev.max_sge : 0;
		attr.cap.max_inline_data += i == 4 ? 1u << 20 : 0;
		assert_null(ibv_create_qp(k->pd, &attr));
		assert_int_equal(errno, EINVAL);
	}
}

static void kinds_of_qp_that_are_not_offered_are_not_supported(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_DRIVER };

	assert_null(ibv_create_qp(k->pd, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void the_largest_qp_reports_its_capabilities(void **state)
{
	struct kit *k = *state;
	struct ibv_device_attr dev;
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .qp_type = IBV_QPT_UD,
					 .qp_context = k,
					 .sq_sig_all = 1 },
				init;
	struct ibv_qp_attr now;
	struct ibv_qp *qp;

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	attr.cap.max_send_wr = attr.cap.max_recv_wr = (uint32_t)dev.max_qp_wr;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = (uint32_t)dev.max_sge;
	attr.cap.max_inline_data = 1024;
	qp = ibv_create_qp(k->pd, &attr);
	assert_non_null(qp);
	assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&init.cap, &attr.cap, sizeof(attr.cap));
	assert_memory_equal(&now.cap, &attr.cap, sizeof(attr.cap));
	assert_ptr_equal(init.qp_context, k);
	assert_int_equal(init.sq_sig_all, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void a_list_is_posted_up_to_its_first_bad_request(void **state)
{
	struct kit *k = *state;
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr[3] = {
		{ .wr_id = 1, .next = &wr[1], .opcode = IBV_WR_RDMA_WRITE },
		{ .wr_id = 2, .next = &wr[2], .opcode = IBV_WR_BIND_MW },
		{ .wr_id = 3, .opcode = IBV_WR_RDMA_WRITE },
	};
	struct ibv_recv_wr recv[2] = {
		{ .wr_id = 4, .next = &recv[1], .sg_list = &sge, .num_sge = 1 },
		{ .wr_id = 5, .sg_list = &sge, .num_sge = KIT_SGE + 1 },
	};
	struct ibv_send_wr *bad_send = NULL;
	struct ibv_recv_wr *bad_recv = NULL;
	struct ibv_qp *qp[2];

	for (unsigned i = 0; i < 3; i++) {
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)k->buf + KIT_HALF;
		wr[i].wr.rdma.rkey = k->mr->rkey;
	}
	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_post_send(qp[0], wr, &bad_send), EINVAL);
	assert_ptr_equal(bad_send, &wr[1]);
	kit_expect(k->cq, 1, IBV_WC_RDMA_WRITE);
	assert_int_equal(ibv_post_recv(qp[0], recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv[1]);
	kit_to_state(qp[0], IBV_QPS_ERR);
	assert_int_equal(kit_wait(k->cq).wr_id, 4);
	kit_expect_none(k->cq);
	kit_destroy_pair(qp);
}

/* Programs that set max_inline_data to 0 use a few inline bytes nevertheless, which fit
 * into the room of the SGEs.
 */
static void inline_data_has_the_room_of_the_sges(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_sge sge = kit_sge(k, 0, 0, 16);
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = (uintptr_t)k->buf + KIT_HALF,
			     .rkey = k->mr->rkey },
	};
	struct ibv_send_wr *bad;
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_inline_data, 16);
	kit_to_init(qp);
	kit_to_rts(k, qp, qp->qp_num);
	sge.lkey = 0; /* is ignored for inline data */
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	kit_expect(k->cq, 0, IBV_WC_RDMA_WRITE);
	sge.length = 17;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void a_path_without_grh_is_refused(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = { .dlid = 1, .port_num = 1 } };
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			 IBV_QP_RQ_PSN;

	kit_to_init(qp);
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), EINVAL);
	assert_null(ibv_create_ah(k->pd, &attr.ah_attr));
	assert_int_equal(errno, EINVAL);
	attr.ah_attr = kit_address(k);
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void memory_is_checked_when_it_is_registered(void **state)
{
	struct kit *k = *state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *mem = map_apart(2 * page, PROT_READ);
	struct ibv_mr *mr;

	assert_non_null(mem);
	assert_int_equal(munmap(mem + page, page), 0);
	mr = ibv_reg_mr(k->pd, mem, page, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_mr(k->pd, mem, page, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	assert_null(ibv_reg_mr(k->pd, mem, page + 1, 0));
	assert_int_equal(errno, EFAULT);
	assert_int_equal(munmap(mem, page), 0);
}

static enum ibv_wc_status write_to(struct kit *k, struct ibv_qp *qp,
				   const struct ibv_mr *mr)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 64);
	struct ibv_send_wr wr = {
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)mr->addr, .rkey = mr->rkey },
	};

	kit_post_send(qp, &wr);
	return kit_wait(k->cq).status;
}

static void a_region_registered_again_has_its_new_rights(void **state)
{
	const int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct kit *k = *state;
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	uint8_t *place = k->buf + KIT_HALF;
	struct ibv_mr *mr = ibv_reg_mr(k->pd, place, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp[2];

	assert_non_null(other);
	assert_non_null(mr);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights), 0);
	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(write_to(k, qp[0], mr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				      place + 1000, 100, 0),
			 0);
	assert_ptr_equal(mr->addr, place + 1000);
	assert_int_equal(write_to(k, qp[0], mr), IBV_WC_SUCCESS);
	/* A failed change leaves the region as it was. */
	assert_int_not_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
					  (void *)1, 100, 0),
			     0);
	assert_int_equal(write_to(k, qp[0], mr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	assert_int_equal(write_to(k, qp[0], mr), IBV_WC_REM_ACCESS_ERR);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_dealloc_pd(other), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
}

/* Posts one request to a new QP that is connected to itself. Returns the status of its
 * completion.
 */
static enum ibv_wc_status run_one(struct kit *k, enum ibv_wr_opcode op,
				  struct ibv_sge sge, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};
	enum ibv_wc_status status;
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 0;
		wr.wr.atomic.rkey = rkey;
	}
	kit_pair(k, IBV_QPT_RC, qp);
	if (op == IBV_WR_SEND)
		kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 0, 64));
	kit_post_send(qp[0], &wr);
	do {
		wc = kit_wait(k->cq);
	} while (wc.wr_id != 1);
	status = wc.status;
	kit_destroy_pair(qp);
	return status;
}

/* As in the kernel (ib_umem_get()), a region of length 0 pins the page that contains its
 * address, but no page if its address is the start of one.
 */
static void a_region_of_no_bytes_lies_within_a_page(void **state)
{
	const unsigned int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct kit *k = *state;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *mem = map_apart(2 * page, PROT_READ | PROT_WRITE);
	struct ibv_sge here, there = kit_sge(k, 0, 0, 8), none = kit_sge(k, 0, 0, 0);
	struct ibv_mr *mr;
	uint64_t at;

	assert_non_null(mem);
	assert_int_equal(munmap(mem + page, page), 0);
	assert_null(ibv_reg_mr(k->pd, mem, 0, rights));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(k->pd, NULL, 0, rights));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(k->pd, mem + page + 8, 0, rights));
	assert_int_equal(errno, EFAULT);
	mr = ibv_reg_mr(k->pd, mem + 8, 0, rights);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, mem + 8);
	assert_int_equal(mr->length, 0);

	at = (uintptr_t)mem + 8;
	here = (struct ibv_sge){ .addr = at, .lkey = mr->lkey };
	assert_int_equal(run_one(k, IBV_WR_RDMA_WRITE, none, at, mr->rkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(run_one(k, IBV_WR_RDMA_READ, none, at, mr->rkey),
			 IBV_WC_SUCCESS);
	assert_int_equal(run_one(k, IBV_WR_SEND, here, 0, 0), IBV_WC_SUCCESS);
	/* No byte can be accessed, neither before nor behind the address. */
	there.length = 1;
	for (int off = -1; off < 1; off++) {
		uint64_t byte = at + (uint64_t)off;

		here = (struct ibv_sge){ .addr = byte, .length = 1, .lkey = mr->lkey };
		assert_int_equal(run_one(k, IBV_WR_RDMA_WRITE, there, byte, mr->rkey),
				 IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(run_one(k, IBV_WR_RDMA_READ, there, byte, mr->rkey),
				 IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(run_one(k, IBV_WR_SEND, here, 0, 0),
				 IBV_WC_LOC_PROT_ERR);
	}
	there.length = 8;
	assert_int_equal(run_one(k, IBV_WR_ATOMIC_FETCH_AND_ADD, there, at, mr->rkey),
			 IBV_WC_REM_ACCESS_ERR);
	for (size_t i = 0; i < page; i++)
		assert_int_equal(mem[i], 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(munmap(mem, page), 0);
}

/* Brings @qp from RESET towards RTS with @depth READs in each direction. @err: the error
 * of the first call that fails; 0: none fails.
 */
static void modify_with_depth(struct kit *k, struct ibv_qp *qp, uint8_t depth, int err)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = k->port.active_mtu,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = kit_address(k),
				    .max_dest_rd_atomic = depth,
				    .max_rd_atomic = depth,
				    .timeout = 14 };
	int rc;

	kit_to_init(qp);
	rc = ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	if (rc == 0)
		rc = ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					   IBV_QP_MAX_QP_RD_ATOMIC);
	assert_int_equal(rc, err);
	kit_to_state(qp, IBV_QPS_RESET);
}

/* Function of the sanitizers; NULL without them. mallinfo2() does not know their
 * allocators.
 */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
	return __sanitizer_get_current_allocated_bytes
		       ? __sanitizer_get_current_allocated_bytes()
		       : mallinfo2().uordblks;
}

/* Memory for READs is allocated when their number is set, and replaced when the number
 * grows. At least 32 bytes would leak each time.
 */
static void modifying_gives_back_what_it_takes(void **state)
{
	enum {
		TIMES = 2000,
		WARM = 100,
		/* in bytes; buffers of other libraries may be allocated meanwhile */
		NOISE = 16 * 1024,
	};
	struct kit *k = *state;
	struct ibv_device_attr dev;
	size_t before = 0;

	assert_int_equal(ibv_query_device(k->ctx, &dev), 0);
	assert_int_equal(dev.max_qp_rd_atom, 128);
	assert_int_equal(dev.max_qp_init_rd_atom, 128);
	assert_int_equal(dev.max_res_rd_atom, 128 * dev.max_qp);
	for (unsigned i = 0; i < TIMES; i++) {
		struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);

		if (i == WARM)
			before = allocated();
		modify_with_depth(k, qp, 1, 0);
		modify_with_depth(k, qp, 0, 0);
		modify_with_depth(k, qp, 5, 0);
		modify_with_depth(k, qp, 129, EINVAL);
		modify_with_depth(k, qp, (uint8_t)dev.max_qp_rd_atom, 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	assert_in_range(allocated(), 0, before + NOISE);
}

static void thousands_of_objects_have_names_of_their_own(void **state)
{
	enum {
		QPS = 600,
		MRS = 3000
	};
	struct kit *k = *state;
	static struct ibv_qp *qp[QPS];
	static struct ibv_mr *mr[MRS];

	for (unsigned i = 0; i < QPS; i++) {
		qp[i] = kit_create_qp(k, IBV_QPT_RC);
		if (i && qp[i]->qp_num == qp[i - 1]->qp_num)
			fail_msg("QPN %u is given twice", qp[i]->qp_num);
	}
	for (unsigned i = 0; i < MRS; i++) {
		mr[i] = ibv_reg_mr(k->pd, k->buf, 16, 0);
		assert_non_null(mr[i]);
		if (i && mr[i]->lkey == mr[i - 1]->lkey)
			fail_msg("key %u is given twice", mr[i]->lkey);
	}
	for (unsigned i = 0; i < MRS; i++)
		assert_int_equal(ibv_dereg_mr(mr[i]), 0);
	for (unsigned i = 0; i < QPS; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
}

/* Functions of LeakSanitizer; NULL without it. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* Closes a device without destroying its objects. Their memory leaks, as with other
 * providers.
 */
static void leave_objects_behind(struct kit *k)
{
	struct ibv_context *ctx = kit_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_UC };
	struct ibv_qp *qp;
	struct ibv_mr *mr;

	assert_non_null(pd);
	assert_non_null(cq);
	mr = ibv_reg_mr(pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	qp = ibv_create_qp(pd, &attr);
	assert_non_null(qp);
	kit_to_init(qp);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void closing_a_context_with_objects_left_hurts_no_other(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];
	struct ibv_sge local = kit_sge(k, 0, 0, 100);
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &local,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = local.addr + KIT_HALF, .rkey = k->mr->rkey },
	};

	if (__lsan_disable)
		__lsan_disable();
	leave_objects_behind(k);
	if (__lsan_enable)
		__lsan_enable();

	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 1, IBV_WC_RDMA_WRITE);
	kit_destroy_pair(qp);
}

static struct ibv_qp *ud_on(struct kit *k, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { 16, 16, 2, 2, 64 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr);

	assert_non_null(qp);
	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	return qp;
}

/* Both ibv_post_send() and ibv_wr_set_ud_addr() compare the address handle's PD with the
 * PD of the parent domain, not with the parent domain itself.
 */
static void an_address_of_the_pd_serves_its_parent_domains(void **state)
{
	struct kit *k = *state;
	struct ibv_parent_domain_init_attr domain = { .pd = k->pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(k->ctx, &domain);
	struct ibv_pd *other = ibv_alloc_pd(k->ctx);
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &attr);
	struct ibv_ah *foreign = ibv_create_ah(other, &attr);
	struct ibv_qp *qp = ud_on(k, parent);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { foreign, qp->qp_num, KIT_QKEY } };
	struct ibv_send_wr *bad;

	assert_non_null(ah);
	assert_non_null(foreign);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	wr.wr.ud.ah = ah;
	kit_post_send(qp, &wr);
	kit_expect(k->cq, 1, IBV_WC_SEND);
	for (unsigned i = 0; i < 2; i++) {
		ibv_wr_start(ex);
		ex->wr_id = 2;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, i ? ah : foreign, qp->qp_num, KIT_QKEY);
		ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
		assert_int_equal(ibv_wr_complete(ex), i ? 0 : EINVAL);
	}
	kit_expect(k->cq, 2, IBV_WC_SEND);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_ah(foreign), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reset_takes_the_completions_with_it),
		cmocka_unit_test(
			destroy_takes_the_completions_with_it_and_leaves_the_others),
		cmocka_unit_test(resizing_a_queue_keeps_what_is_in_it),
		cmocka_unit_test(what_is_in_use_cannot_be_destroyed),
		cmocka_unit_test(queues_beyond_the_limits_are_refused),
		cmocka_unit_test(kinds_of_qp_that_are_not_offered_are_not_supported),
		cmocka_unit_test(the_largest_qp_reports_its_capabilities),
		cmocka_unit_test(a_list_is_posted_up_to_its_first_bad_request),
		cmocka_unit_test(inline_data_has_the_room_of_the_sges),
		cmocka_unit_test(a_path_without_grh_is_refused),
		cmocka_unit_test(an_address_of_the_pd_serves_its_parent_domains),
		cmocka_unit_test(memory_is_checked_when_it_is_registered),
		cmocka_unit_test(a_region_registered_again_has_its_new_rights),
		cmocka_unit_test(a_region_of_no_bytes_lies_within_a_page),
		cmocka_unit_test(modifying_gives_back_what_it_takes),
		cmocka_unit_test(thousands_of_objects_have_names_of_their_own),
		cmocka_unit_test(closing_a_context_with_objects_left_hurts_no_other),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
