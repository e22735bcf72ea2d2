/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_comp_cntr.c - completion counters, which libibverbs may have in releases after the
 * installed one. The tests call the provider's functions as libibverbs would, in virtual
 * time.
 */
#include "tests/provider/kit/virtual_verbs_kit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEND = 1 << RN_TALLY_SEND,
	RECV = 1 << RN_TALLY_RECV,
	READ = 1 << RN_TALLY_READ,
	REMOTE_READ = 1 << RN_TALLY_REMOTE_READ,
	WRITE = 1 << RN_TALLY_WRITE,
	REMOTE_WRITE = 1 << RN_TALLY_REMOTE_WRITE,
	ALL = (1 << RN_TALLY_COUNT) - 1,
	LEN = 5000, /* several packets with each path MTU */
};

static char bytes[2][LEN];
static struct ibv_mr *mrs[2];

/* Counters that the test has made; some may have been destroyed. */
static struct rnp_abi_comp_cntr *made[2 * RN_TALLY_COUNT];
static unsigned made_count;

static struct rnp_abi_comp_cntr *new_counter(unsigned n, uint32_t type)
{
	struct rnp_abi_comp_cntr_attr attr = { .type = type };
	struct rnp_abi_comp_cntr *c =
		rnp_create_comp_cntr(&vverbs_devices[n].ctx.base, &attr);

	assert_non_null(c);
	assert_true(made_count < RN_ARRAY_SIZE(made));
	made[made_count++] = c;
	return c;
}

static int attach_to(struct ibv_qp *qp, struct rnp_abi_comp_cntr *c, uint32_t ops)
{
	struct rnp_abi_comp_cntr_attach attr = { .op_mask = ops };

	return rnp_qp_attach_comp_cntr(qp, c, &attr);
}

/* The QPs signal only requests with IBV_SEND_SIGNALED. */
static int setup(void **state)
{
	int rc = vverbs_setup(state);

	for (unsigned n = 0; n < 2; n++) {
		struct vverbs_device *d = &vverbs_devices[n];
		struct ibv_qp_init_attr attr = { .send_cq = d->cq,
						 .recv_cq = d->cq,
						 .cap = { 4, 4, 1, 1, 0 },
						 .qp_type = IBV_QPT_RC };

		assert_int_equal(rnp_destroy_qp(d->qp), 0);
		d->qp = rnp_create_qp(d->pd, &attr);
		assert_non_null(d->qp);
	}
	return rc;
}

static int teardown(void **state)
{
	for (unsigned n = 0; n < 2; n++) {
		if (vverbs_devices[n].qp)
			assert_int_equal(rnp_destroy_qp(vverbs_devices[n].qp), 0);
		vverbs_devices[n].qp = NULL;
	}
	while (made_count > 0)
		(void)rnp_destroy_comp_cntr(made[--made_count]);
	for (unsigned n = 0; n < 2; n++) {
		if (mrs[n])
			(void)rnp_dereg_mr((struct rnp_abi_mr *)mrs[n]);
		mrs[n] = NULL;
	}
	return vverbs_teardown(state);
}

/* Makes a counter and attaches it to the QP of device @n. @ops: the kinds of completions
 * that it counts.
 */
static struct rnp_abi_comp_cntr *counter_of(unsigned n, uint32_t ops, uint32_t type)
{
	struct rnp_abi_comp_cntr *c = new_counter(n, type);

	assert_int_equal(attach_to(vverbs_devices[n].qp, c, ops), 0);
	return c;
}

static uint64_t done(struct rnp_abi_comp_cntr *c)
{
	uint64_t value = UINT64_MAX;

	assert_int_equal(rnp_read_comp_cntr(c, &value), 0);
	return value;
}

static uint64_t failed(struct rnp_abi_comp_cntr *c)
{
	uint64_t value = UINT64_MAX;

	assert_int_equal(rnp_read_err_comp_cntr(c, &value), 0);
	return value;
}

/* Connects the QP of device @n. The peer may perform READs and any other access. */
static void connect_to_other(unsigned n)
{
	struct ibv_qp *qp = vverbs_devices[n].qp;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ };

	assert_int_equal(rnp_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	attr = vverbs_towards(!n);
	attr.max_rd_atomic = attr.max_dest_rd_atomic = 1;
	assert_int_equal(rnp_modify_qp(qp, &attr, VVERBS_TO_RTR), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(rnp_modify_qp(qp, &attr, VVERBS_TO_RTS), 0);
}

static void connect_with_memory(void)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	for (unsigned n = 0; n < 2; n++) {
		struct vverbs_device *d = &vverbs_devices[n];

		mrs[n] = rnp_reg_mr(d->pd, bytes[n], LEN, (uintptr_t)bytes[n], access);
		assert_non_null(mrs[n]);
		mrs[n]->context = &d->ctx.base;
		mrs[n]->pd = d->pd;
	}
	connect_to_other(0);
	connect_to_other(1);
}

static void post_recv(unsigned n)
{
	struct ibv_sge sge = { (uintptr_t)bytes[n], LEN, mrs[n]->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(rnp_post_recv(vverbs_devices[n].qp, &wr, &bad), 0);
}

static void post(enum ibv_wr_opcode opcode, uint32_t len, unsigned flags)
{
	struct ibv_sge sge = { (uintptr_t)bytes[0], len, mrs[0]->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = flags },
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)bytes[1];
	wr.wr.rdma.rkey = mrs[1]->rkey;
	if (rnp_post_send(vverbs_devices[0].qp, &wr, &bad))
		fail_msg("opcode %d of %u bytes is not posted", opcode, len);
	virtual_run(RN_MSEC(10));
}

/* ----------------------------------------------------------------------- what counts */
/* Counters count unsignaled requests too: their purpose is requests without a CQE. */
static void each_kind_counts_its_own(void **state)
{
	struct rnp_abi_comp_cntr *ours[RN_TALLY_COUNT], *theirs[RN_TALLY_COUNT];

	(void)state;
	for (unsigned i = 0; i < RN_TALLY_COUNT; i++) {
		ours[i] = counter_of(0, 1u << i, RNP_COMP_CNTR_WRS);
		theirs[i] = counter_of(1, 1u << i, RNP_COMP_CNTR_WRS);
	}
	connect_with_memory();
	for (unsigned i = 0; i < 4; i++)
		post_recv(1);
	post(IBV_WR_SEND, 100, 0);
	post(IBV_WR_SEND, LEN, IBV_SEND_SIGNALED);
	post(IBV_WR_SEND_WITH_IMM, 0, 0);
	for (unsigned i = 0; i < 4; i++)
		post(IBV_WR_RDMA_WRITE, LEN, 0);
	post(IBV_WR_RDMA_WRITE_WITH_IMM, 1, IBV_SEND_SIGNALED);
	for (unsigned i = 0; i < 7; i++)
		post(IBV_WR_RDMA_READ, LEN, i == 6 ? IBV_SEND_SIGNALED : 0);
	assert_int_equal(done(ours[RN_TALLY_SEND]), 3);
	assert_int_equal(done(ours[RN_TALLY_WRITE]), 5);
	assert_int_equal(done(ours[RN_TALLY_READ]), 7);
	assert_int_equal(done(ours[RN_TALLY_RECV]), 0);
	assert_int_equal(done(ours[RN_TALLY_REMOTE_READ]), 0);
	assert_int_equal(done(ours[RN_TALLY_REMOTE_WRITE]), 0);
	assert_int_equal(done(theirs[RN_TALLY_SEND]), 0);
	assert_int_equal(done(theirs[RN_TALLY_WRITE]), 0);
	assert_int_equal(done(theirs[RN_TALLY_READ]), 0);
	assert_int_equal(done(theirs[RN_TALLY_RECV]), 4);
	assert_int_equal(done(theirs[RN_TALLY_REMOTE_READ]), 7);
	assert_int_equal(done(theirs[RN_TALLY_REMOTE_WRITE]), 5);
	for (unsigned i = 0; i < RN_TALLY_COUNT; i++) {
		assert_int_equal(failed(ours[i]), 0);
		assert_int_equal(failed(theirs[i]), 0);
	}
}

static void bytes_are_those_of_the_messages(void **state)
{
	struct rnp_abi_comp_cntr *sent =
		counter_of(0, SEND | WRITE | READ, RNP_COMP_CNTR_BYTES);
	struct rnp_abi_comp_cntr *read = counter_of(1, REMOTE_READ, RNP_COMP_CNTR_BYTES);
	struct rnp_abi_comp_cntr *put = counter_of(1, REMOTE_WRITE, RNP_COMP_CNTR_BYTES);
	struct rnp_abi_comp_cntr *received = counter_of(1, RECV, RNP_COMP_CNTR_BYTES);

	(void)state;
	connect_with_memory();
	post_recv(1);
	post(IBV_WR_SEND, 3, 0);
	post(IBV_WR_RDMA_WRITE, LEN, 0);
	post(IBV_WR_RDMA_READ, LEN - 1, 0);
	assert_int_equal(done(received), 3);
	assert_int_equal(done(put), LEN);
	assert_int_equal(done(read), LEN - 1);
	assert_int_equal(done(sent), 3 + LEN + LEN - 1);
}

static void requests_that_fail_or_are_flushed_count_as_errors(void **state)
{
	struct rnp_abi_comp_cntr *c = counter_of(0, ALL, RNP_COMP_CNTR_BYTES);

	(void)state;
	connect_with_memory();
	post_recv(0);
	post_recv(0);
	assert_int_equal(rnp_dereg_mr((struct rnp_abi_mr *)mrs[0]), 0);
	post(IBV_WR_RDMA_WRITE, 8, 0); /* fails because the L_Key is not valid */
	mrs[0] = NULL;
	assert_int_equal(done(c), 0);
	assert_int_equal(failed(c), 3);
}

static void counter_is_shared_by_queue_pairs(void **state)
{
	struct rnp_abi_comp_cntr *c = counter_of(0, SEND, RNP_COMP_CNTR_WRS);
	struct ibv_qp *other = vverbs_new_qp(&vverbs_devices[0], IBV_QPT_RC);

	(void)state;
	assert_non_null(other);
	assert_int_equal(attach_to(other, c, SEND | RECV), 0);
	connect_with_memory();
	post_recv(1);
	post(IBV_WR_SEND, 1, 0);
	vverbs_to_init(other);
	vverbs_to_state(other, IBV_QPS_ERR);
	{
		struct ibv_recv_wr wr = { 0 }, *bad;

		assert_int_equal(rnp_post_recv(other, &wr, &bad), 0);
	}
	virtual_run(RN_MSEC(1));
	assert_int_equal(done(c), 1);
	assert_int_equal(failed(c), 1);
	/* The counter can be destroyed when no QP has it any more. */
	assert_int_equal(rnp_destroy_comp_cntr(c), EBUSY);
	assert_int_equal(rnp_destroy_qp(other), 0);
	assert_int_equal(rnp_destroy_comp_cntr(c), EBUSY);
	assert_int_equal(rnp_destroy_qp(vverbs_devices[0].qp), 0);
	vverbs_devices[0].qp = NULL;
	assert_int_equal(rnp_destroy_comp_cntr(c), 0);
}

/* Only the program's thread receives packets, and nobody polls a CQ. So reading the
 * counter must receive them.
 */
static void reading_makes_progress(void **state)
{
	struct rnp_abi_comp_cntr *c = counter_of(1, REMOTE_WRITE, RNP_COMP_CNTR_WRS);
	struct rnp_abi_comp_cntr *own = counter_of(0, WRITE, RNP_COMP_CNTR_WRS);
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE },
			   *bad;
	unsigned reads = 0;

	(void)state;
	connect_with_memory();
	sge = (struct ibv_sge){ (uintptr_t)bytes[0], LEN, mrs[0]->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)bytes[1];
	wr.wr.rdma.rkey = mrs[1]->rkey;
	memset(bytes[0], 'x', LEN);
	memset(bytes[1], 0, LEN);
	assert_int_equal(rnp_post_send(vverbs_devices[0].qp, &wr, &bad), 0);
	while (done(c) == 0 || done(own) == 0) {
		assert_true(reads++ < 1000);
		virtual_compute(virtual_machine.wire);
	}
	assert_memory_equal(bytes[0], bytes[1], LEN);
}

/* ------------------------------------------------------------------ values, refusals */
static void values_are_set_and_added_to(void **state)
{
	struct rnp_abi_comp_cntr *c = new_counter(0, RNP_COMP_CNTR_WRS);
	uint64_t value;

	(void)state;
	assert_int_equal(done(c), 0);
	assert_int_equal(rnp_set_comp_cntr(c, 40), 0);
	assert_int_equal(rnp_inc_comp_cntr(c, 2), 0);
	assert_int_equal(rnp_inc_err_comp_cntr(c, 5), 0);
	assert_int_equal(done(c), 42);
	assert_int_equal(failed(c), 5);
	assert_int_equal(rnp_set_err_comp_cntr(c, 1), 0);
	assert_int_equal(failed(c), 1);
	assert_int_equal(done(c), 42);
	/* The counter wraps around at the greatest value that the device advertises. */
	assert_int_equal(rnp_set_comp_cntr(c, UINT64_MAX), 0);
	assert_int_equal(rnp_inc_comp_cntr(c, 1), 0);
	assert_int_equal(done(c), 0);
	assert_int_equal(rnp_destroy_comp_cntr(c), 0);
	assert_int_equal(rnp_destroy_comp_cntr(c), ENOENT);
	assert_int_equal(rnp_read_comp_cntr(c, &value), EINVAL);
	assert_int_equal(rnp_inc_comp_cntr(c, 1), EINVAL);
}

static void capabilities_are_what_works(void **state)
{
	struct ibv_context *context = &vverbs_devices[0].ctx.base;
	struct rnp_abi_comp_cntr_caps caps = { 0 };

	(void)state;
	assert_int_equal(rnp_query_comp_cntr_caps(context, &caps, sizeof(caps)), 0);
	assert_int_equal(caps.supported_qp_attach_ops, ALL);
	assert_true(caps.max_value == UINT64_MAX);
	assert_int_equal(caps.max_counters, RNP_COMP_CNTR_MAX);
	assert_int_equal(rnp_query_comp_cntr_caps(context, &caps, sizeof(caps) - 1),
			 EINVAL);
}

static void no_more_counters_than_the_device_has(void **state)
{
	struct rnp_abi_comp_cntr_attr attr = { 0 };

	(void)state;
	vverbs_parts.no_object = true;
	assert_null(rnp_create_comp_cntr(&vverbs_devices[0].ctx.base, &attr));
	assert_int_equal(errno, ENOMEM);
	vverbs_parts.no_object = false;
	for (unsigned field = 0; field < 3; field++) {
		attr = (struct rnp_abi_comp_cntr_attr){ .comp_mask = field == 0,
							.type = field == 1 ? 2 : 0,
							.flags = field == 2 };
		assert_null(rnp_create_comp_cntr(&vverbs_devices[0].ctx.base, &attr));
		assert_int_equal(errno, EINVAL);
	}
}

static void attaching_is_checked(void **state)
{
	struct rnp_abi_comp_cntr_attach attr = { .comp_mask = 1, .op_mask = SEND };
	struct rnp_abi_comp_cntr *c = new_counter(0, RNP_COMP_CNTR_WRS);
	struct rnp_abi_comp_cntr *foreign = new_counter(1, RNP_COMP_CNTR_WRS);
	struct ibv_qp *qp = vverbs_devices[0].qp;

	(void)state;
	assert_int_equal(rnp_qp_attach_comp_cntr(qp, c, &attr), EINVAL);
	assert_int_equal(attach_to(qp, c, 0), EINVAL);
	assert_int_equal(attach_to(qp, c, ALL + 1), EOPNOTSUPP);
	assert_int_equal(attach_to(qp, foreign, SEND), EINVAL);
	assert_int_equal(attach_to(qp, c, SEND | RECV), 0);
	/* A QP has at most one counter for each kind. A call that names a kind which has
	 * one attaches nothing.
	 */
	assert_int_equal(attach_to(qp, c, RECV | READ), EBUSY);
	assert_int_equal(attach_to(qp, c, READ), 0);
	vverbs_to_init(qp);
	assert_int_equal(attach_to(qp, c, WRITE), 0);
	vverbs_connect();
	assert_int_equal(attach_to(qp, c, REMOTE_WRITE), EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_counts_its_own),
		TEST(bytes_are_those_of_the_messages),
		TEST(requests_that_fail_or_are_flushed_count_as_errors),
		TEST(counter_is_shared_by_queue_pairs),
		TEST(reading_makes_progress),
		TEST(values_are_set_and_added_to),
		TEST(capabilities_are_what_works),
		TEST(no_more_counters_than_the_device_has),
		TEST(attaching_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
