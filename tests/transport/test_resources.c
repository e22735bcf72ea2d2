/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_resources.c - responder resources in memory that is lent as they are agreed on. */
#include <errno.h>
#include <stdlib.h>

#include "rc0.h"

static const struct pair_cfg without = { .mtu_max = 1024, .lent_resources = true };

enum {
	NAK_INV = 0x61,
	TO_RTR = RN_ATTR_STATE | RN_ATTR_AV | RN_ATTR_PATH_MTU | RN_ATTR_DEST_QPN |
		 RN_ATTR_RQ_PSN | RN_ATTR_MAX_DEST_RD_ATOMIC | RN_ATTR_MIN_RNR_TIMER,
	TO_RTS = RN_ATTR_STATE | RN_ATTR_TIMEOUT | RN_ATTR_RETRY_CNT | RN_ATTR_RNR_RETRY |
		 RN_ATTR_SQ_PSN | RN_ATTR_MAX_RD_ATOMIC,
};

/* Memory that a sanitizer or valgrind knows the end of. */
static void *room_for(uint32_t count)
{
	void *mem = malloc(rn_qp_resources_size(count));

	assert_non_null(mem);
	memset(mem, 0xee, rn_qp_resources_size(count));
	return mem;
}

static int modify(const struct rc0 *t, const struct rn_qp_attr *attr, uint32_t mask)
{
	return rn_qp_modify(t->r.p->dev[0], t->r.q->qp, t->r.p->now, attr, mask);
}

/* From INIT on; what rc0_rts() has, but for the depth. */
static int to_rtr(const struct rc0 *t, uint8_t depth)
{
	struct rn_qp_attr attr = pair_attr(t->r.q, 1, RAW_PEER_QPN);

	attr.state = RN_QPS_RTR;
	attr.rq_psn = RAW_PSN_RX;
	attr.max_dest_rd_atomic = depth;
	return modify(t, &attr, TO_RTR);
}

static void to_rts(const struct rc0 *t)
{
	struct rn_qp_attr attr = pair_attr(t->r.q, 1, RAW_PEER_QPN);

	attr.state = RN_QPS_RTS;
	attr.sq_psn = RAW_PSN_TX;
	assert_int_equal(modify(t, &attr, TO_RTS), 0);
}

/* In RTS with room for just @depth; @mem: out, the caller's to free. */
static struct rc0 rts_with(const struct pair_cfg *cfg, uint8_t depth, void **mem)
{
	struct rc0 t = rc0_new(cfg, RN_QPT_RC, RN_QPS_INIT, NULL);

	*mem = NULL;
	if (depth) {
		*mem = room_for(depth);
		assert_null(rn_qp_lend_resources(t.r.q->qp, *mem, depth));
	}
	assert_int_equal(to_rtr(&t, depth), 0);
	to_rts(&t);
	rc0_fill(&t, 0);
	return t;
}

/* In SQD the depth may be changed. */
static void change_depth(const struct rc0 *t, uint8_t depth)
{
	struct rn_qp_attr attr = { .state = RN_QPS_SQD, .max_dest_rd_atomic = depth };

	assert_int_equal(modify(t, &attr, RN_ATTR_STATE), 0);
	assert_int_equal(modify(t, &attr, RN_ATTR_STATE | RN_ATTR_MAX_DEST_RD_ATOMIC), 0);
	attr.state = RN_QPS_RTS;
	assert_int_equal(modify(t, &attr, RN_ATTR_STATE), 0);
}

static void a_depth_without_room_is_refused_and_changes_nothing(void **state)
{
	struct rc0 t = rc0_new(&without, RN_QPT_RC, RN_QPS_INIT, NULL);
	void *one = room_for(1), *three = room_for(3);
	struct rn_qp_attr now;

	(void)state;
	assert_int_equal(to_rtr(&t, 1), -ENOMEM);
	assert_int_equal(rc0_state(&t), RN_QPS_INIT);
	rn_qp_query(t.r.q->qp, &now);
	assert_int_equal(now.max_dest_rd_atomic, 0);
	/* What is wrong in any case is wrong first. */
	assert_int_equal(to_rtr(&t, RN_RD_ATOMIC_MAX + 1), -EINVAL);

	assert_int_equal(rn_qp_resources(t.r.q->qp), 0);
	assert_null(rn_qp_lend_resources(t.r.q->qp, one, 1));
	assert_int_equal(rn_qp_resources(t.r.q->qp), 1);
	assert_int_equal(to_rtr(&t, 2), -ENOMEM);
	assert_ptr_equal(rn_qp_lend_resources(t.r.q->qp, three, 3), one);
	assert_int_equal(to_rtr(&t, 3), 0);
	rc0_free(&t);
	free(one);
	free(three);
}

static void without_any_a_read_is_refused_and_messages_are_not(void **state)
{
	void *mem;
	struct rc0 t = rts_with(&without, 0, &mem);

	(void)state;
	rc0_post(&t, 2);
	rc0_send(&t, 100);
	rc0_expect_receive(&t, 1, 0);
	raw_expect_ack(&t.r, 100, 1);
	/* A duplicate, which is looked for among them. */
	rc0_send(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	rc0_read(&t, 100, 0, 8);
	rc0_expect_nothing(&t);
	rc0_read(&t, 101, 0, 8);
	rc0_expect_fatal(&t, NAK_INV, 101, 1, 2);
	rc0_free(&t);
}

static void as_many_are_kept_as_there_is_room_for(void **state)
{
	(void)state;
	for (uint8_t depth = 1; depth <= RN_RD_ATOMIC_MAX; depth++) {
		void *mem;
		struct rc0 t = rts_with(&without, depth, &mem);
		uint32_t count = 300; /* indices wrap at 256 */

		for (uint32_t i = 0; i < count; i++) {
			rc0_read(&t, 100 + i, i, 8);
			rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1,
					    i, 8);
		}
		for (uint32_t i = count - depth; i < count; i++) {
			rc0_read(&t, 100 + i, i, 8);
			rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1,
					    i, 8);
		}
		rc0_read(&t, 100 + count - depth - 1, count - depth - 1u, 8);
		rc0_expect_nothing(&t);
		rc0_free(&t);
		free(mem);
	}
}

static void what_is_kept_moves_to_larger_memory(void **state)
{
	void *two, *sixteen = room_for(16);
	struct rc0 t = rts_with(&without, 2, &two);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		rc0_read(&t, 100 + i, 8 * i, 8);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1, 8 * i,
				    8);
	}
	assert_ptr_equal(rn_qp_lend_resources(t.r.q->qp, sixteen, 16), two);
	memset(two, 0xee, rn_qp_resources_size(2));
	free(two);
	change_depth(&t, 16);
	for (uint32_t i = 1; i < 3; i++) {
		rc0_read(&t, 100 + i, 8 * i, 8);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1, 8 * i,
				    8);
	}
	for (uint32_t i = 3; i < 20; i++) {
		rc0_read(&t, 100 + i, 8 * i, 8);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1, 8 * i,
				    8);
	}
	rc0_free(&t);
	free(sixteen);
}

/* Its answer comes when the resource has another place. */
static void an_atomic_under_way_moves_too(void **state)
{
	static const struct pair_cfg slow = { .mtu_max = 1024,
					      .lent_resources = true,
					      .mem_delay = 1000 };
	void *one, *four = room_for(4);
	struct rc0 t = rts_with(&slow, 1, &one);

	(void)state;
	rc0_store(&t, 0, 10);
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 5, 0)));
	raw_expect_silence(&t.r);
	assert_ptr_equal(rn_qp_lend_resources(t.r.q->qp, four, 4), one);
	memset(one, 0xee, rn_qp_resources_size(1));
	free(one);
	pair_run_for(t.r.p, RN_USEC(10));
	assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack, 10);
	assert_int_equal(rc0_load(&t, 0), 15);
	rc0_free(&t);
	free(four);
}

static void reset_keeps_the_memory_and_forgets_what_is_in_it(void **state)
{
	const struct rn_qp_attr init = { .state = RN_QPS_INIT,
					 .port_num = 1,
					 .access = RN_ACCESS_REMOTE_MASK };
	const struct rn_qp_attr reset = { .state = RN_QPS_RESET };
	void *mem;
	struct rc0 t = rts_with(&without, 2, &mem);

	(void)state;
	rc0_read(&t, 100, 0, 8);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 0, 8);
	assert_int_equal(modify(&t, &reset, RN_ATTR_STATE), 0);
	assert_int_equal(modify(&t, &init,
				RN_ATTR_STATE | RN_ATTR_PKEY_INDEX | RN_ATTR_PORT |
					RN_ATTR_ACCESS_FLAGS),
			 0);
	assert_int_equal(to_rtr(&t, 2), 0);
	to_rts(&t);
	rc0_read(&t, 100, 8, 8);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 8, 8);
	rc0_free(&t);
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_depth_without_room_is_refused_and_changes_nothing),
		cmocka_unit_test(without_any_a_read_is_refused_and_messages_are_not),
		cmocka_unit_test(as_many_are_kept_as_there_is_room_for),
		cmocka_unit_test(what_is_kept_moves_to_larger_memory),
		cmocka_unit_test(an_atomic_under_way_moves_too),
		cmocka_unit_test(reset_keeps_the_memory_and_forgets_what_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
