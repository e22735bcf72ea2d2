/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_requester_payload.c - payload from inline bytes and from memory that
 * answers later. */
#include "tests/kit/device/req_kit.h"

static void inline_bytes_are_those_of_the_moment_of_posting(void **state)
{
	struct raw r = req_new(NULL);
	uint8_t bytes[20] = "twenty bytes of text";
	struct rn_sge sge = { .addr = (uintptr_t)bytes, .len = 20 };
	struct rn_send_wr wr = {
		.opcode = RN_WR_SEND, .flags = RN_SEND_INLINE, .sg = &sge, .num_sge = 1
	};

	(void)state;
	r.p->frozen = true;
	assert_int_equal(pair_post_send(r.q, &wr), 0);
	memset(bytes, 0, sizeof(bytes));
	r.p->frozen = false;
	pair_flush(r.p);
	assert_memory_equal(raw_expect(&r, RN_RC_SEND_ONLY, 200)->payload,
			    "twenty bytes of text", 20);
	req_free(&r);
}

/* ------------------------------------------------------- memory that is late */
static struct raw new_with_late_memory(void)
{
	struct raw r =
		raw_new(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = RN_USEC(5) },
			RN_QPT_RC, RN_QPS_RTS, NULL);

	for (uint32_t i = 0; i < r.mr->len; i++)
		r.mr->data[i] = (uint8_t)(i + i / 256);
	return r;
}

static void packets_wait_for_memory_that_answers_later(void **state)
{
	struct raw r = new_with_late_memory();

	(void)state;
	post(&r, 2500, RN_WR_SEND, 2500);
	raw_expect_silence(&r);
	pair_run_wire(r.p);
	check_message(&r, 200, 2500, RN_RC_SEND_FIRST, RN_RC_SEND_ONLY);
	req_free(&r);
}

static void going_back_while_memory_is_late_sends_the_right_bytes(void **state)
{
	struct raw r = new_with_late_memory();
	const struct raw_packet *k;

	(void)state;
	post(&r, 1, RN_WR_SEND, 1024);
	pair_run_wire(r.p);
	raw_expect(&r, RN_RC_SEND_ONLY, 200);
	/* The first payload of this one is being fetched when the NAK comes. */
	post_sge(&r, 2, RN_WR_SEND, pair_sge(r.mr, 2048, 2048), RN_SEND_SIGNALED);
	raw_nak(&r, 0x60, 200, 0);
	r.mr->data[0] = 0xee;
	pair_run_wire(r.p);
	k = raw_expect(&r, RN_RC_SEND_ONLY, 200);
	assert_memory_equal(k->payload, r.mr->data, 1024);
	k = raw_expect(&r, RN_RC_SEND_FIRST, 201);
	assert_memory_equal(k->payload, r.mr->data + 2048, 1024);
	k = raw_expect(&r, RN_RC_SEND_LAST, 202);
	assert_memory_equal(k->payload, r.mr->data + 3072, 1024);
	raw_ack(&r, 202, 2);
	req_free(&r);
}

static void reset_while_memory_is_late_forgets_the_payload(void **state)
{
	struct raw r = new_with_late_memory();
	struct rn_qp_attr attr = pair_attr(r.q, 1, RAW_PEER_QPN);

	(void)state;
	attr.sq_psn = 200;
	post(&r, 1, RN_WR_SEND, 1024);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RESET), 0);
	pair_modify_until(r.q, &attr, RN_QPS_RTS);
	post_sge(&r, 2, RN_WR_SEND, pair_sge(r.mr, 4096, 8), RN_SEND_SIGNALED);
	pair_run_wire(r.p);
	assert_memory_equal(raw_expect(&r, RN_RC_SEND_ONLY, 200)->payload,
			    r.mr->data + 4096, 8);
	raw_ack(&r, 200, 1);
	pair_expect_wc(r.q->scq, 2, RN_WC_SUCCESS);
	req_free(&r);
}

static void late_memory_that_turns_out_to_be_gone_fails_the_request(void **state)
{
	struct raw r = new_with_late_memory();

	(void)state;
	post(&r, 1, RN_WR_SEND, 1024);
	arena_unmap(&r.p->arena[0], r.mr->data);
	pair_run_wire(r.p);
	raw_expect_silence(&r);
	pair_expect_wc(r.q->scq, 1, RN_WC_LOC_PROT_ERR);
	req_free(&r);
}

static void a_payload_that_is_on_its_way_is_not_fetched_twice(void **state)
{
	struct raw r = new_with_late_memory();

	(void)state;
	post(&r, 1, RN_WR_SEND, 1024);
	post(&r, 2, RN_WR_SEND, 1024);
	post(&r, 3, RN_WR_SEND, 1024);
	assert_int_equal(r.p->arena[0].reads, 1);
	pair_run_wire(r.p);
	assert_int_equal(r.p->arena[0].reads, 3);
	raw_ack(&r, 202, 3);
	req_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inline_bytes_are_those_of_the_moment_of_posting),
		cmocka_unit_test(packets_wait_for_memory_that_answers_later),
		cmocka_unit_test(going_back_while_memory_is_late_sends_the_right_bytes),
		cmocka_unit_test(reset_while_memory_is_late_forgets_the_payload),
		cmocka_unit_test(late_memory_that_turns_out_to_be_gone_fails_the_request),
		cmocka_unit_test(a_payload_that_is_on_its_way_is_not_fetched_twice),
	};

	return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
