/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_raw_death.c - raw packet queue pairs when rocind ends.
 *
 * Needs an interface as verbs_raw.c does, and `rocin` in PATH.
 */
#include <poll.h>
#include <time.h>

#include "tests/provider/kit/raw_kit.h"

enum {
	PORT = 4001,
	FRAMES = 200,
};

static void await_fatal(struct kit *k)
{
	struct pollfd p = { .fd = k->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	assert_int_equal(poll(&p, 1, 300000), 1);
	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
}

/* The process has used almost no processor time since @from. A background thread that
 * still waited for a socket which it no longer serves would use all of it.
 */
static void expect_idle(const struct timespec *from)
{
	struct timespec now;
	int64_t used_ms;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	used_ms = (now.tv_sec - from->tv_sec) * 1000 +
		  (now.tv_nsec - from->tv_nsec) / 1000000;
	assert_true(used_ms < 200);
}

struct spread {
	struct ibv_wq_init_attr wq_attr;
	struct ibv_rwq_ind_table_init_attr table_attr;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
};

static struct ibv_qp *create_spreading(struct kit *k, struct spread *s)
{
	uint8_t key[40] = { 1 };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = k->pd,
		.rwq_ind_tbl = s->table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key },
	};

	return ibv_create_qp_ex(k->ctx, &attr);
}

/* Creates one work queue and posts a receive with wr_id 7 to it. */
static void spread_begin(struct kit *k, struct spread *s)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE,
				     .wq_state = IBV_WQS_RDY };
	struct ibv_sge sge = kit_sge(k, 1, 7 * RAW_SLOT, RAW_SLOT);
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;

	*s = (struct spread){ .wq_attr = { .wq_type = IBV_WQT_RQ,
					   .max_wr = 4,
					   .max_sge = 1,
					   .pd = k->pd,
					   .cq = k->cq } };
	s->wq = ibv_create_wq(k->ctx, &s->wq_attr);
	assert_non_null(s->wq);
	s->table_attr.ind_tbl = &s->wq;
	s->table = ibv_create_rwq_ind_table(k->ctx, &s->table_attr);
	assert_non_null(s->table);
	s->qp = create_spreading(k, s);
	assert_non_null(s->qp);
	assert_int_equal(ibv_modify_wq(s->wq, &ready), 0);
	assert_int_equal(ibv_post_wq_recv(s->wq, &wr, &bad), 0);
}

/* Creating objects fails with EIO now; destroying the existing ones succeeds. */
static void spread_end(struct kit *k, struct spread *s)
{
	errno = 0;
	assert_null(ibv_create_wq(k->ctx, &s->wq_attr));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(ibv_create_rwq_ind_table(k->ctx, &s->table_attr));
	assert_int_equal(errno, EIO);
	errno = 0;
	assert_null(create_spreading(k, s));
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_destroy_qp(s->qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(s->table), 0);
	assert_int_equal(ibv_destroy_wq(s->wq), 0);
}

/* The receives of the QP and of the work queue are flushed, in either order. */
static void expect_flushes(struct kit *k)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2; i++) {
		struct ibv_wc wc = kit_wait(k->cq);

		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		sum += wc.wr_id;
	}
	assert_int_equal(sum, 1 + 7);
}

static void a_dead_device_flushes_and_lets_go(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct timespec start;
	struct spread spread;
	int fd = raw_outside();

	spread_begin(k, &spread);
	raw_post(k, qp, 0);
	raw_post(k, qp, 1);
	raw_send_to(k, qp, PORT);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	// NOLINTNEXTLINE(cert-env33-c): the test's own tool
	assert_int_equal(system("rocin stop >/dev/null"), 0);
	await_fatal(k);
	expect_flushes(k);

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (unsigned i = 0; i < FRAMES; i++)
		raw_send_from(fd, k, RAW_LEN);
	assert_int_equal(poll(NULL, 0, 500), 0);
	expect_idle(&start);
	kit_expect_none(k->cq);
	errno = 0;
	assert_null(ibv_create_flow(qp, &rule.attr));
	assert_int_equal(errno, EIO);
	spread_end(k, &spread);
	raw_flow_end(flow);
	raw_end(qp);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_dead_device_flushes_and_lets_go),
	};

	raw_need_privilege();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
