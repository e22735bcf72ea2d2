/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_gone.c - what a request needs is gone when its turn comes: judged again, it is
 * refused like one that came too late.
 */
#include "tests/kit/device/rc0.h"

enum {
	NAK_ACC = 0x62,
	LEN = 64,
};

static const uint8_t word[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* Requests for the second region; the first one keeps the memory busy. */
static struct raw_packet fetch_add(const struct pair_mr *mr)
{
	return (struct raw_packet){
		.op = RN_RC_FETCH_ADD,
		.psn = 101,
		.atomic = { .va = mr->mr.va, .rkey = mr->mr.lkey, .swap_add = 1 },
	};
}

static struct raw_packet atomic_write(const struct pair_mr *mr)
{
	return (struct raw_packet){
		.op = RN_RC_ATOMIC_WRITE,
		.psn = 101,
		.reth = { .va = mr->mr.va, .rkey = mr->mr.lkey, .dma_len = 8 },
		.payload = word,
		.len = sizeof(word),
	};
}

static struct raw_packet flush(const struct pair_mr *mr)
{
	return (struct raw_packet){
		.op = RN_RC_FLUSH,
		.psn = 101,
		.feth = { RN_FLUSH_GLOBAL, 0 },
		.reth = { .va = mr->mr.va, .rkey = mr->mr.lkey, .dma_len = LEN },
	};
}

static void send_first(struct rc0 *t)
{
	raw_send(&t->r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			    .atomic = { .va = t->r.mr->mr.va,
					.rkey = t->r.mr->mr.lkey,
					.swap_add = 7 }));
}

static void an_operation_that_waits_loses_its_region(void **state)
{
	static struct raw_packet (*const requests[])(const struct pair_mr *) = {
		fetch_add,
		atomic_write,
		flush,
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(requests); i++)
		for (unsigned gone = 0; gone < 2; gone++) {
			struct rc0 t =
				rc0_new(&(struct pair_cfg){ .mem_delay = RN_USEC(10) },
					RN_QPT_RC, RN_QPS_RTS, NULL);
			struct pair_mr *mr = pair_mr_new(t.r.p, 0, LEN,
							 RN_ACCESS_LOCAL_WRITE |
								 RN_ACCESS_REMOTE_MASK);
			struct raw_packet request = requests[i](mr);
			struct rn_event ev;

			print_message("%s, %s\n", rn_opcode_info[request.op].name,
				      gone ? "gone" : "there");
			send_first(&t);
			raw_send(&t.r, &request);
			raw_expect_silence(&t.r);
			if (gone)
				pair_mr_remove(mr);
			pair_run_wire(t.r.p);
			raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100);
			if (gone) {
				pair_expect_async(t.r.q, RN_EVENT_QP_ACCESS_ERR);
				rc0_expect_fatal(&t, NAK_ACC, 101, 1, 1);
				for (unsigned b = 0; b < LEN; b++)
					assert_int_equal(mr->data[b], 0);
			} else {
				assert_true(raw_next(&t.r, &request));
				assert_int_equal(request.psn, 101);
				assert_int_equal(rc0_state(&t), RN_QPS_RTS);
			}
			assert_false(pair_next_event(t.r.p, &ev));
			rc0_free(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operation_that_waits_loses_its_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
