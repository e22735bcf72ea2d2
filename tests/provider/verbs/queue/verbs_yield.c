/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_yield.c - a poll that has yielded the processor reports what came meanwhile.
 *
 * This program has its own sched_yield(), which precedes that of the C library. It sends
 * a message, as another program would while this one has no processor.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/provider/kit/verbs_kit.h"

static struct {
	struct ibv_qp *sender; /* NULL: the next yield sends nothing */
	struct ibv_send_wr *wr;
	pthread_t poller;
} others;

/* Only the polling thread's yields send. The background thread yields too. */
int __attribute__((visibility("default"))) sched_yield(void)
{
	struct ibv_qp *sender = others.sender;

	if (!pthread_equal(pthread_self(), others.poller) || !sender)
		return 0;
	others.sender = NULL;
	kit_post_send(sender, others.wr);
	return 0;
}

/* Polls until a yield has sent the message. Returns the number of completions that the
 * poll with this yield has found.
 */
static int poll_while_they_send(struct kit *k, struct ibv_qp *sender, bool extended)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)k->cq;
	struct ibv_sge from = kit_sge(k, 0, 0, 64);
	struct ibv_send_wr wr = { .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	int got = 0;

	others.poller = pthread_self();
	others.wr = &wr;
	others.sender = sender;
	while (others.sender) {
		if (!extended) {
			got = ibv_poll_cq(k->cq, 1, &wc);
			continue;
		}
		got = ibv_start_poll(ex, &attr) == 0;
		if (got)
			ibv_end_poll(ex);
	}
	return got;
}

/* If the device's threads get no processor in time, the message has not arrived when the
 * poll looks; then a later round finds it. If polls did not look after yielding, none of
 * the rounds would.
 */
static void expect_a_look_after_giving_way(struct kit *k, bool extended)
{
	struct ibv_qp *qp[2];
	int found = 0;

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned round = 0; round < 20 || (found == 0 && round < 2000); round++) {
		int got;

		kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 0, 64));
		got = poll_while_they_send(k, qp[0], extended);
		found += got;
		for (int i = got; i < 2;
		     /* takes what is left, so that the next round's send is not delayed
		      */
		     i++)
			kit_wait(k->cq);
	}
	assert_true(found > 0);
	kit_destroy_pair(qp);
}

static void a_poll_looks_after_giving_way(void **state)
{
	expect_a_look_after_giving_way(*state, false);
}

static void an_extended_poll_looks_after_giving_way(void **state)
{
	struct kit k = *(const struct kit *)*state;
	struct ibv_cq_init_attr_ex attr = { .cqe = KIT_WR };
	struct ibv_cq_ex *ex = ibv_create_cq_ex(k.ctx, &attr);

	assert_non_null(ex);
	k.cq = ibv_cq_ex_to_cq(ex);
	expect_a_look_after_giving_way(&k, true);
	assert_int_equal(ibv_destroy_cq(k.cq), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poll_looks_after_giving_way),
		cmocka_unit_test(an_extended_poll_looks_after_giving_way),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
