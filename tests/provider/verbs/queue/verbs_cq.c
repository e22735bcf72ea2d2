/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_cq.c - attributes of a completion queue: moderation, fields of its entries,
 * clocks.
 */
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	PERIOD_US = 20000,
	PERIOD_MAX_US = 65535
};

/* Simulated clocks of this thread. Other threads, and the device's, have the kernel's
 * clocks.
 */
static _Thread_local struct {
	/* each second reading of the wall clock loses the processor for this time */
	uint64_t lost_ns;
	uint64_t late_ns; /* sum of the lost time, added to both clocks */
	uint64_t set_ns;  /* the wall clock was moved forward by this */
	unsigned walls;
} clocks;

static void add_ns(struct timespec *ts, uint64_t ns)
{
	ns += (uint64_t)ts->tv_nsec;
	ts->tv_sec += (time_t)(ns / 1000000000u);
	ts->tv_nsec = (long)(ns % 1000000000u);
}

/* This function precedes that of the C library. */
int __attribute__((visibility("default")))
clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ts);

	if (rc)
		return rc;
	add_ns(ts, clocks.late_ns);
	if (clock != CLOCK_REALTIME)
		return 0;
	add_ns(ts, clocks.set_ns);
	if (clocks.walls++ % 2)
		clocks.late_ns += clocks.lost_ns;
	return 0;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool event_waits(struct kit *k, int timeout_ms)
{
	struct pollfd p = { .fd = k->channel->fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void take_event(struct kit *k)
{
	struct ibv_cq *cq;
	void *context;

	assert_true(event_waits(k, 20000));
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	assert_ptr_equal(cq, k->cq);
	ibv_ack_cq_events(cq, 1);
}

static void moderate(struct ibv_cq *cq, uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period_us },
	};

	assert_int_equal(ibv_modify_cq(cq, &attr), 0);
}

/* Sends a message from qp[0]. When this function returns, its receive has completed. */
static void receive_one(struct kit *k, struct ibv_qp *qp[2])
{
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };

	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	kit_post_send(qp[0], &wr);
	kit_expect(k->cq, 1, IBV_WC_RECV);
}

static void an_event_waits_for_the_count(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];
	uint64_t begin;

	kit_pair(k, IBV_QPT_RC, qp);
	moderate(k->cq, 3, PERIOD_MAX_US);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	begin = now_ns(CLOCK_MONOTONIC);
	receive_one(k, qp);
	receive_one(k, qp);
	/* If an event has come, the machine was so slow that the period is over. */
	if (event_waits(k, 0))
		assert_true(now_ns(CLOCK_MONOTONIC) - begin >= PERIOD_MAX_US * 1000ull);
	receive_one(k, qp);
	take_event(k);
	assert_false(event_waits(k, 0));

	moderate(k->cq, 0, 0);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	receive_one(k, qp);
	take_event(k);
	kit_destroy_pair(qp);
}

static void an_event_waits_for_the_period_at_most(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];
	uint64_t begin;

	kit_pair(k, IBV_QPT_RC, qp);
	moderate(k->cq, 1000, PERIOD_US);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
		begin = now_ns(CLOCK_MONOTONIC);
		receive_one(k, qp);
		take_event(k);
		assert_true(now_ns(CLOCK_MONOTONIC) - begin >= PERIOD_US * 1000ull);
	}
	/* Held-back events come at once when moderation is switched off. */
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	receive_one(k, qp);
	moderate(k->cq, 0, 0);
	take_event(k);
	kit_destroy_pair(qp);
}

static void moderation_goes_as_far_as_advertised(void **state)
{
	struct kit *k = *state;
	struct ibv_modify_cq_attr attr = { .attr_mask = 0 };
	struct ibv_device_attr_ex dev;

	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &dev), 0);
	assert_int_equal(dev.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(dev.cq_mod_caps.max_cq_period, UINT16_MAX);
	moderate(k->cq, UINT16_MAX, UINT16_MAX);
	moderate(k->cq, 0, 0);
	assert_int_equal(ibv_modify_cq(k->cq, &attr), EINVAL);
	attr.attr_mask = IBV_CQ_ATTR_MODERATE | 1u << 5;
	assert_int_equal(ibv_modify_cq(k->cq, &attr), EOPNOTSUPP);
}

static uint64_t raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	assert_int_equal(ibv_query_rt_values_ex(ctx, &values), 0);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(values.raw_clock.tv_sec, 0);
	return (uint64_t)values.raw_clock.tv_nsec;
}

/* Starts a poll at the next entry. The caller must call ibv_end_poll(). */
static void start_poll(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr none = { 0 };
	time_t end = time(NULL) + 20;
	int rc;

	while ((rc = ibv_start_poll(cq, &none)) == ENOENT)
		assert_true(time(NULL) < end);
	assert_int_equal(rc, 0);
}

static void timestamps_are_of_the_clocks_that_can_be_queried(void **state)
{
	struct kit *k = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &attr);
	struct ibv_cq *plain = k->cq;
	struct ibv_device_attr_ex dev;
	uint64_t raw, wall, stamp;
	struct ibv_qp *qp;

	assert_non_null(cq);
	assert_int_equal(ibv_query_device_ex(k->ctx, NULL, &dev), 0);
	assert_int_equal(dev.completion_timestamp_mask, UINT64_MAX);
	/* in kHz: a tick is a nanosecond */
	assert_int_equal(dev.hca_core_clock, 1000000);
	k->cq = ibv_cq_ex_to_cq(cq);
	qp = kit_create_qp(k, IBV_QPT_RC);
	k->cq = plain;
	kit_to_init(qp);
	raw = raw_clock(k->ctx);
	wall = now_ns(CLOCK_REALTIME);
	kit_post_recv(k, qp, 1, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
	start_poll(cq);
	assert_int_equal(cq->status, IBV_WC_WR_FLUSH_ERR);
	stamp = ibv_wc_read_completion_ts(cq);
	assert_in_range(stamp, raw, raw_clock(k->ctx));
	stamp = ibv_wc_read_completion_wallclock_ns(cq);
	/* The two clocks are read at slightly different times, which the tolerance allows
	 * for.
	 */
	assert_in_range(stamp, wall - 1000000, now_ns(CLOCK_REALTIME) + 1000000);
	ibv_end_poll(cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static struct ibv_cq_ex *cq_with_clocks(struct kit *k)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &attr);

	assert_non_null(cq);
	return cq;
}

/* Makes a QP on @cq, and posts and flushes @count receives. */
static struct ibv_qp *flush_into(struct kit *k, struct ibv_cq_ex *cq, unsigned count)
{
	struct ibv_cq *plain = k->cq;
	struct ibv_qp *qp;

	k->cq = ibv_cq_ex_to_cq(cq);
	qp = kit_create_qp(k, IBV_QPT_RC);
	k->cq = plain;
	kit_to_init(qp);
	for (unsigned i = 0; i < count; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
	return qp;
}

/* The wall-clock time of a completion is the same each time that it is read, even if the
 * thread loses the processor between readings. Two completions are equally far apart on
 * both clocks.
 */
static void the_time_of_day_of_a_completion_is_one(void **state)
{
	enum {
		COUNT = 8,
		READS = 1000
	};
	struct kit *k = *state;
	struct ibv_cq_ex *cq = cq_with_clocks(k);
	uint64_t begin = now_ns(CLOCK_REALTIME), distance = 0;
	struct ibv_qp *qp = flush_into(k, cq, COUNT);

	start_poll(cq);
	clocks.lost_ns = 228000000;
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t wall = ibv_wc_read_completion_wallclock_ns(cq);
		uint64_t ts = ibv_wc_read_completion_ts(cq);

		assert_in_range(wall, begin - 1000000, now_ns(CLOCK_REALTIME));
		for (unsigned r = 0; r < READS; r++)
			assert_int_equal(ibv_wc_read_completion_wallclock_ns(cq), wall);
		if (i > 0)
			assert_int_equal(wall - ts, distance);
		distance = wall - ts;
		assert_int_equal(ibv_next_poll(cq), i + 1 < COUNT ? 0 : ENOENT);
	}
	clocks.lost_ns = clocks.late_ns = 0;
	ibv_end_poll(cq);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void the_time_of_day_follows_a_clock_that_is_set(void **state)
{
	const uint64_t hour = UINT64_C(3600000000000);
	struct kit *k = *state;
	struct ibv_cq_ex *cq = cq_with_clocks(k);
	struct ibv_qp *qp = flush_into(k, cq, 3);
	uint64_t wall[3], ts[3];

	start_poll(cq);
	for (unsigned i = 0; i < 3; i++) {
		clocks.set_ns = i == 1 ? hour : 0;
		wall[i] = ibv_wc_read_completion_wallclock_ns(cq);
		ts[i] = ibv_wc_read_completion_ts(cq);
		assert_int_equal(ibv_next_poll(cq), i < 2 ? 0 : ENOENT);
	}
	ibv_end_poll(cq);
	/* The tolerance of a millisecond covers the reading of two clocks on a busy
	 * machine.
	 */
	assert_in_range(wall[1] - wall[0] - (ts[1] - ts[0]), hour - 1000000,
			hour + 1000000);
	assert_in_range(wall[2] - wall[0] - (ts[2] - ts[0]) + 1000000, 0, 2000000);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void values_that_are_not_known_are_left_out(void **state)
{
	struct kit *k = *state;
	struct ibv_values_ex values = { .comp_mask = 0 };

	assert_int_equal(ibv_query_rt_values_ex(k->ctx, &values), 0);
	assert_int_equal(values.comp_mask, 0);
}

static void a_datagram_has_all_fields(void **state)
{
	struct kit *k = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(k->ctx, &attr);
	struct ibv_ah_attr to = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &to);
	struct ibv_sge local = kit_sge(k, 0, 0, 24);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = 0x01020304 };
	struct ibv_cq *plain = k->cq;
	struct ibv_qp *qp[2];

	assert_non_null(cq);
	assert_non_null(ah);
	k->cq = ibv_cq_ex_to_cq(cq);
	kit_pair(k, IBV_QPT_UD, qp);
	k->cq = plain;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[1]->qp_num;
	wr.wr.ud.remote_qkey = KIT_QKEY;
	kit_post_recv(k, qp[1], 7, kit_sge(k, 1, 0, 64));
	kit_post_send(qp[0], &wr);
	start_poll(cq);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(cq->wr_id, 7);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_equal(ibv_wc_read_byte_len(cq), 24 + sizeof(struct ibv_grh));
	assert_int_equal(ibv_wc_read_imm_data(cq), 0x01020304);
	assert_int_equal(ibv_wc_read_flow_tag(cq), 0); /* no flow rule has set a tag */
	assert_int_equal(ibv_wc_read_qp_num(cq), qp[1]->qp_num);
	assert_int_equal(ibv_wc_read_src_qp(cq), qp[0]->qp_num);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_slid(cq), 0);
	/* RoCE has no SL. The field has the type of the IP header instead: UDP over IPv4.
	 */
	assert_int_equal(ibv_wc_read_sl(cq), 8 | 2);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
	ibv_end_poll(cq);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void fields_and_flags_that_are_not_offered_are_not_supported(void **state)
{
	static const struct ibv_cq_init_attr_ex rows[] = {
		{ .cqe = 1, .wc_flags = IBV_WC_EX_WITH_TM_INFO },
		{ .cqe = 1, .wc_flags = 1ull << 40 },
		{ .cqe = 1,
		  .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		  .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN },
		{ .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1u << 20 },
	};
	struct kit *k = *state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_cq_init_attr_ex attr = rows[i];

		errno = 0;
		assert_null(ibv_create_cq_ex(k->ctx, &attr));
		if (errno != EOPNOTSUPP)
			fail_msg("row %u: errno %d", i, errno);
	}
}

static void connection_enhancements_have_no_options(void **state)
{
	struct kit *k = *state;
	struct ibv_ece ece = { .vendor_id = 1, .options = 1, .comp_mask = 1 };
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_RC);

	assert_int_equal(ibv_query_ece(qp, &ece), 0);
	assert_int_equal(ece.vendor_id, 0x524f43);
	assert_int_equal(ece.options, 0);
	assert_int_equal(ece.comp_mask, 0);
	ece.options = 5;
	assert_int_equal(ibv_set_ece(qp, &ece), 0);
	assert_int_equal(ibv_query_ece(qp, &ece), 0);
	assert_int_equal(ece.options, 0);
	ece.comp_mask = 1;
	assert_int_equal(ibv_set_ece(qp, &ece), EINVAL);
	ece = (struct ibv_ece){ 0 };
	/* the error is that of libibverbs: the device has no vendor ID for ECE */
	assert_int_equal(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	ece.vendor_id = 0x15b3;
	assert_int_equal(ibv_set_ece(qp, &ece), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_waits_for_the_count),
		cmocka_unit_test(an_event_waits_for_the_period_at_most),
		cmocka_unit_test(moderation_goes_as_far_as_advertised),
		cmocka_unit_test(timestamps_are_of_the_clocks_that_can_be_queried),
		cmocka_unit_test(the_time_of_day_of_a_completion_is_one),
		cmocka_unit_test(the_time_of_day_follows_a_clock_that_is_set),
		cmocka_unit_test(values_that_are_not_known_are_left_out),
		cmocka_unit_test(a_datagram_has_all_fields),
		cmocka_unit_test(fields_and_flags_that_are_not_offered_are_not_supported),
		cmocka_unit_test(connection_enhancements_have_no_options),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
