/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_handover.c - a table of connections goes on in another process, which has
 * copies of what changed.
 */
#include "cm_kit.h"

static struct kit kit;
static struct rn_cm_conn *active, *passive;

static int setup(void **state)
{
	(void)state;
	kit_open(&kit, KIT_CONNS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_close(&kit);
	return 0;
}

/* All connections of b, in a new table, with their users and the listener. */
static void succeed(void)
{
	const struct rn_cm_cfg cfg = { .conn_max = KIT_CONNS,
				       .seed = 3,
				       .stats = kit.b.stats };
	const struct rn_cm_numbers numbers = rn_cm_numbers(kit.b.cm);
	void *saved = malloc(rn_cm_saved_len()), *block;
	struct rn_cm *heir;

	assert_non_null(saved);
	assert_int_equal(posix_memalign(&block, 16, rn_cm_size(KIT_CONNS)), 0);
	heir = rn_cm_init(block, &cfg);
	rn_cm_set_numbers(heir, &numbers);
	rn_cm_listener_ip(&kit.listener, RN_CM_PS_TCP, KIT_PORT, NULL);
	assert_int_equal(rn_cm_listen(heir, &kit.listener), 0);
	for (uint32_t i = 0; i < KIT_CONNS; i++) {
		struct rn_cm_conn *conn = rn_cm_conn_at(kit.b.cm, i), *copy;

		if (!conn)
			continue;
		rn_cm_conn_save(conn, saved);
		copy = rn_cm_conn_restore(
			heir, i, saved, rn_cm_saved_len(),
			rn_cm_conn_listener(conn) ? &kit.listener : NULL, NULL);
		assert_non_null(copy);
		passive = passive == conn ? copy : passive;
	}
	free(saved);
	free(kit.b.block);
	kit.b.block = block;
	kit.b.cm = heir;
}

static void a_repeated_request_makes_no_second_connection(void **state)
{
	struct kit_message req;
	struct rn_cm_msg msg;

	(void)state;
	active = kit_connect(&kit);
	req = kit_take(&kit.a, RN_CM_REQ, &msg);
	kit_give(&kit, &kit.b, &req);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	succeed();
	assert_int_equal(kit.listener.pending_count, 1);
	kit_give(&kit, &kit.b, &req);
	kit_no_event(&kit.b);
	kit_quiet(&kit.b); /* nor is it refused as one of a QP that is connected */
	assert_int_equal(rn_cm_conn_count(kit.b.cm), 1);
	assert_int_equal(kit_state(passive), RN_CM_REQ_RCVD);
}

static void drop_changes(struct rn_cm *cm)
{
	uint32_t index;

	while (rn_cm_next_changed(cm, &index))
		continue;
}

/* Its program has the id still, so nothing else happens to it. */
static void the_end_of_timewait_is_a_change(void **state)
{
	uint32_t index;

	(void)state;
	kit_establish(&kit, &active, &passive);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	kit_pass(&kit, &kit.a, &kit.b, RN_CM_DREQ);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	kit_pass(&kit, &kit.b, &kit.a, RN_CM_DREP);
	assert_int_equal(kit_state(passive), RN_CM_TIMEWAIT);
	drop_changes(kit.b.cm);
	kit_next_deadline(&kit, &kit.b);
	kit_event(&kit.b, RN_CM_EV_TIMEWAIT_EXIT);
	assert_true(rn_cm_next_changed(kit.b.cm, &index));
	assert_ptr_equal(rn_cm_conn_at(kit.b.cm, index), passive);
	succeed();
	assert_int_equal(kit_state(passive), RN_CM_IDLE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_repeated_request_makes_no_second_connection),
		TEST(the_end_of_timewait_is_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
