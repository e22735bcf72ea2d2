/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_raw_death.c - raw packet queue pairs when rocind ends.
 *
 * Wants an interface as verbs_raw.c does, and `rocin` in the path.
 */
#include <poll.h>
#include <time.h>

#include "raw_kit.h"

enum {
	PORT = 4001,
	FRAMES = 200,
};

static void await_fatal(struct kit *k)
{
	struct pollfd p = { .fd = k->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
}

/* Nobody is left to serve the sockets: a thread that would still wait on one would run.
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

static void a_dead_device_flushes_and_lets_go(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp = raw_qp(k);
	struct ibv_flow *flow = raw_flow_port(qp, PORT);
	struct raw_rule rule = raw_rule_new(IBV_FLOW_ATTR_NORMAL, 0);
	struct timespec start;
	int fd = raw_outside();
	struct ibv_wc wc;

	raw_post(k, qp, 0);
	raw_post(k, qp, 1);
	raw_send_to(k, qp, PORT);
	raw_expect(k, qp, 0, PORT, RAW_LEN);
	// NOLINTNEXTLINE(cert-env33-c): the test's own tool
	assert_int_equal(system("rocin stop >/dev/null"), 0);
	await_fatal(k);
	wc = kit_wait(k->cq);
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (unsigned i = 0; i < FRAMES; i++)
		raw_send_from(fd, k, RAW_LEN);
	assert_int_equal(poll(NULL, 0, 500), 0);
	expect_idle(&start);
	kit_expect_none(k->cq);
	errno = 0;
	assert_null(ibv_create_flow(qp, &rule.attr));
	assert_int_equal(errno, EIO);
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
