/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_kit.c - a device and queue pairs, for tests that use only public verbs. */
#include "verbs_kit.h"

#include <time.h>
#include <unistd.h>

enum {
	WAIT_S = 300
};

struct ibv_context *kit_open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	assert_non_null(list);
	for (unsigned i = 0; list[i] && !ctx; i++)
		if (!strncmp(ibv_get_device_name(list[i]), "rocin", 5))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	assert_non_null(ctx);
	return ctx;
}

int kit_setup(void **state)
{
	struct kit *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	k->ctx = kit_open_device();
	k->pd = ibv_alloc_pd(k->ctx);
	assert_non_null(k->pd);
	k->channel = ibv_create_comp_channel(k->ctx);
	assert_non_null(k->channel);
	k->cq = ibv_create_cq(k->ctx, 4 * KIT_WR, k, k->channel, 0);
	assert_non_null(k->cq);
	k->buf = aligned_alloc(4096, KIT_BUF_LEN);
	assert_non_null(k->buf);
	memset(k->buf, 0, KIT_BUF_LEN);
	k->mr = ibv_reg_mr(k->pd, k->buf, KIT_BUF_LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(k->mr);
	assert_int_equal(ibv_query_gid(k->ctx, 1, 0, &k->gid), 0);
	assert_int_equal(ibv_query_port(k->ctx, 1, &k->port), 0);
	*state = k;
	return 0;
}

int kit_teardown(void **state)
{
	struct kit *k = *state;

	assert_int_equal(ibv_destroy_cq(k->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(k->channel), 0);
	assert_int_equal(ibv_dereg_mr(k->mr), 0);
	assert_int_equal(ibv_dealloc_pd(k->pd), 0);
	assert_int_equal(ibv_close_device(k->ctx), 0);
	free(k->buf);
	free(k);
	return 0;
}

struct ibv_qp *kit_create_qp(struct kit *k, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = KIT_WR,
			 .max_send_sge = KIT_SGE,
			 .max_recv_sge = KIT_SGE,
			 .max_inline_data = KIT_INLINE },
		.qp_type = type,
		.sq_sig_all = 0,
	};
	struct ibv_qp *qp = ibv_create_qp(k->pd, &attr);

	if (!qp)
		fail_msg("ibv_create_qp: errno %d", errno);
	return qp;
}

static bool is_reliable(const struct ibv_qp *qp)
{
	return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND ||
	       qp->qp_type == IBV_QPT_XRC_RECV;
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int rc = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);

	if (rc)
		fail_msg("ibv_modify_qp to state %d: %d", attr->qp_state, rc);
}

void kit_to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (qp->qp_type == IBV_QPT_UD) {
		attr.qkey = KIT_QKEY;
		mask |= IBV_QP_QKEY;
	} else {
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (is_reliable(qp))
			attr.qp_access_flags |=
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	modify(qp, &attr, mask);
}

struct ibv_ah_attr kit_address(const struct kit *k)
{
	return (struct ibv_ah_attr){ .is_global = 1,
				     .port_num = 1,
				     .grh = { .dgid = k->gid, .hop_limit = 1 } };
}

union ibv_gid kit_group(unsigned n)
{
	unsigned pid = (unsigned)getpid();

	return (union ibv_gid){ .raw = { [10] = 0xff,
					 [11] = 0xff,
					 [12] = (uint8_t)(239 - n / 256),
					 [13] = (uint8_t)n,
					 [14] = (uint8_t)(pid >> 8),
					 [15] = (uint8_t)pid } };
}

void kit_to_rtr(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = k->port.active_mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = 0xfffffe, /* so that it wraps soon */
		.ah_attr = kit_address(k),
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};
	int mask = 0;

	if (qp->qp_type != IBV_QPT_UD)
		mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (is_reliable(qp))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	modify(qp, &attr, mask);
}

void kit_to_rts(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 0xfffffe,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_SQ_PSN;

	kit_to_rtr(k, qp, dest_qpn);
	if (is_reliable(qp))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	modify(qp, &attr, mask);
}

void kit_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	modify(qp, &attr, 0);
}

void kit_pair(struct kit *k, enum ibv_qp_type type, struct ibv_qp *qp[2])
{
	for (unsigned i = 0; i < 2; i++) {
		qp[i] = kit_create_qp(k, type);
		kit_to_init(qp[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		kit_to_rts(k, qp[i], qp[1 - i]->qp_num);
}

void kit_destroy_pair(struct ibv_qp *qp[2])
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
}

struct ibv_sge kit_sge(const struct kit *k, unsigned side, uint32_t offset, uint32_t len)
{
	return (struct ibv_sge){ .addr = (uintptr_t)k->buf + side * KIT_HALF + offset,
				 .length = len,
				 .lkey = k->mr->lkey };
}

void kit_post_recv(struct kit *k, struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;

	(void)k;
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

void kit_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
}

struct ibv_wc kit_wait(struct ibv_cq *cq)
{
	time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		if (time(NULL) > end)
			fail_msg("no completion after %d s", WAIT_S);
	assert_int_equal(n, 1);
	return wc;
}

struct ibv_wc kit_expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = kit_wait(cq);

	if (wc.status != IBV_WC_SUCCESS)
		fail_msg("wr %lu: %s", (unsigned long)wc.wr_id,
			 ibv_wc_status_str(wc.status));
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.opcode, opcode);
	return wc;
}

void kit_expect_none(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}
