/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portability.c - cases of the category portability. */
#include <sys/resource.h>

#include "cases.h"

static void create_with_inline(struct kit *k, uint32_t bytes)
{
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = bytes },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void create_with_256(struct kit *k)
{
	create_with_inline(k, 256);
}

static void create_with_32(struct kit *k)
{
	create_with_inline(k, 32);
}

/* What is asked for may be refused: only that it is asked for counts. */
static void ask_for_qp(struct kit *k, struct ibv_qp_cap cap, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = k->cq, .recv_cq = k->cq, .cap = cap, .qp_type = type
	};
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	if (qp)
		assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void ask_for_type(struct kit *k, enum ibv_qp_type type)
{
	ask_for_qp(k,
		   (struct ibv_qp_cap){ .max_send_wr = 1,
					.max_recv_wr = 1,
					.max_send_sge = 1,
					.max_recv_sge = 1 },
		   type);
}

static void ask_for_sges(struct kit *k, uint32_t sges)
{
	ask_for_qp(k,
		   (struct ibv_qp_cap){ .max_send_wr = 1,
					.max_recv_wr = 1,
					.max_send_sge = sges,
					.max_recv_sge = 1 },
		   IBV_QPT_RC);
}

static void ask_for_7_sges(struct kit *k)
{
	ask_for_sges(k, 7);
}

static void ask_for_6_sges(struct kit *k)
{
	ask_for_sges(k, 6);
}

static void ask_for_uc(struct kit *k)
{
	ask_for_type(k, IBV_QPT_UC);
}

static void ask_for_xrc(struct kit *k)
{
	ask_for_type(k, IBV_QPT_XRC_SEND);
}

static void ask_for_raw(struct kit *k)
{
	ask_for_type(k, IBV_QPT_RAW_PACKET);
}

static void ask_for_rc(struct kit *k)
{
	ask_for_type(k, IBV_QPT_RC);
}

static void ask_for_window(struct kit *k)
{
	(void)ibv_alloc_mw(k->pd, IBV_MW_TYPE_1);
}

static void ask_for_device_memory(struct kit *k)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };

	(void)ibv_alloc_dm(k->ctx, &attr);
}

static void ask_for_counters(struct kit *k)
{
	struct ibv_counters_init_attr attr = { 0 };

	(void)ibv_create_counters(k->ctx, &attr);
}

static void ask_for_work_queue(struct kit *k)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = k->pd, .cq = k->cq
	};

	(void)ibv_create_wq(k->ctx, &attr);
}

static void ask_for_null_mr(struct kit *k)
{
	(void)ibv_alloc_null_mr(k->pd);
}

/* At a place of its own: what is found twice at one place is reported once. */
static void register_instead(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void ask_for_srq(struct kit *k)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	(void)ibv_create_srq(k->pd, &attr);
}

static void ask_for_paging(struct kit *k)
{
	(void)ibv_reg_mr(k->pd, k->buf, KIT_HALF,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
}

static void register_plainly(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, KIT_HALF, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* A QP with resources for so many READs. */
static void read_many(struct kit *k, uint8_t count)
{
	struct val_end end = val_end(k);
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .max_rd_atomic = count };

	val_connect(k, qp, qp->qp_num, &end);
	(void)ibv_modify_qp(qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void read_32(struct kit *k)
{
	read_many(k, 32);
}

static void read_16(struct kit *k)
{
	read_many(k, 16);
}

/* Posts one request of eight bytes for each entry. */
static void post_op(struct kit *k, enum ibv_wr_opcode opcode, int sges)
{
	struct ibv_qp *qp[2];
	struct ibv_sge sge[2] = { kit_sge(k, 0, 0, 8), kit_sge(k, 0, 64, 8) };
	struct ibv_send_wr wr = { .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = sge,
				  .num_sge = sges };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = kit_sge(k, 1, 0, 8).addr;
		wr.wr.atomic.rkey = k->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = kit_sge(k, 1, 0, 8).addr;
		wr.wr.rdma.rkey = k->mr->rkey;
	}
	kit_pair(k, IBV_QPT_RC, qp);
	kit_post_send(qp[0], &wr);
	(void)kit_wait(k->cq);
	kit_destroy_pair(qp);
}

static void read_to_two(struct kit *k)
{
	post_op(k, IBV_WR_RDMA_READ, 2);
}

static void read_to_one(struct kit *k)
{
	post_op(k, IBV_WR_RDMA_READ, 1);
}

static void add_remotely(struct kit *k)
{
	post_op(k, IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
}

static void join_group(struct kit *k)
{
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);
	union ibv_gid group = kit_group(1);

	kit_to_init(qp);
	(void)ibv_attach_mcast(qp, &group, 0);
}

static void connect_by(struct kit *k, int alternate)
{
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = k->port.active_mtu,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = kit_address(k),
				    .alt_ah_attr = kit_address(k),
				    .alt_port_num = 1,
				    .alt_timeout = 14,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 1 };

	kit_to_init(qp);
	(void)ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER | alternate);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void connect_by_two_paths(struct kit *k)
{
	connect_by(k, IBV_QP_ALT_PATH);
}

static void connect_by_one_path(struct kit *k)
{
	connect_by(k, 0);
}

/* ------------------------------------------------------------------ locked memory */
/* Registers all of the buffer, which is registered once already. */
static void register_with_limit(struct kit *k, rlim_t bytes)
{
	struct rlimit before, now;
	struct ibv_mr *mr;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &before), 0);
	now = before;
	now.rlim_cur = bytes < before.rlim_max ? bytes : before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &now), 0);
	mr = ibv_reg_mr(k->pd, k->buf, KIT_BUF_LEN, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &before), 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void register_beyond_limit(struct kit *k)
{
	register_with_limit(k, KIT_BUF_LEN);
}

static void register_within_limit(struct kit *k)
{
	register_with_limit(k, 4 * KIT_BUF_LEN);
}

static const struct val_case cases[] = {
	{ "portability/inline-large", create_with_256, create_with_32, false },
	{ "portability/sges-many", ask_for_7_sges, ask_for_6_sges, false },
	{ "portability/uc", ask_for_uc, ask_for_rc, false },
	{ "portability/xrc", ask_for_xrc, ask_for_rc, false },
	{ "portability/raw-packet", ask_for_raw, ask_for_rc, false },
	{ "portability/window", ask_for_window, register_plainly, false },
	{ "portability/device-memory", ask_for_device_memory, register_plainly, false },
	{ "portability/counters", ask_for_counters, register_plainly, false },
	{ "portability/work-queue", ask_for_work_queue, ask_for_rc, false },
	{ "portability/null-mr", ask_for_null_mr, register_instead, false },
	{ "portability/srq", ask_for_srq, ask_for_rc, false },
	{ "portability/on-demand", ask_for_paging, register_plainly, false },
	{ "portability/rd-atomic-large", read_32, read_16, false },
	{ "portability/read-sges", read_to_two, read_to_one, false },
	{ "portability/atomics", add_remotely, read_to_one, false },
	{ "portability/multicast", join_group, ask_for_rc, false },
	{ "portability/alternate-path", connect_by_two_paths, connect_by_one_path,
	  false },
	{ "portability/memlock", register_beyond_limit, register_within_limit, true },
};
const struct val_cases portability_cases = VAL_CASES(cases);
