/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_threads.c - several threads use all verbs at once, on one context. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	WORKERS = 3,
	ROUNDS = 400,
	LEN = 600
};

struct worker {
	struct kit *k;
	unsigned idx;
	pthread_t thread;
};

/* Each worker has a CQ, a buffer and a pair of QPs in the common context. It makes and
 * destroys them several times.
 */
static void *send_receive_and_start_over(void *arg)
{
	struct worker *w = arg;
	struct kit mine = *w->k;

	for (unsigned life = 0; life < 4; life++) {
		struct ibv_qp *qp[2];
		struct ibv_sge local;
		struct ibv_send_wr wr = { .wr_id = 1,
					  .sg_list = &local,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };

		mine.cq = ibv_create_cq(mine.ctx, 32, NULL, NULL, 0);
		mine.buf = calloc(1, KIT_BUF_LEN);
		assert_non_null(mine.cq);
		assert_non_null(mine.buf);
		mine.mr = ibv_reg_mr(mine.pd, mine.buf, KIT_BUF_LEN,
				     IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(mine.mr);
		kit_pair(&mine, IBV_QPT_RC, qp);
		for (unsigned i = 0; i < ROUNDS / 4; i++) {
			local = kit_sge(&mine, 0, 0, LEN);
			memset(mine.buf, (int)(i + w->idx), LEN);
			kit_post_recv(&mine, qp[1], 2, kit_sge(&mine, 1, 0, LEN));
			kit_post_send(qp[0], &wr);
			for (unsigned done = 0; done < 2; done++)
				assert_int_equal(kit_wait(mine.cq).status,
						 IBV_WC_SUCCESS);
			assert_memory_equal(mine.buf, mine.buf + KIT_HALF, LEN);
		}
		kit_destroy_pair(qp);
		assert_int_equal(ibv_dereg_mr(mine.mr), 0);
		assert_int_equal(ibv_destroy_cq(mine.cq), 0);
		free(mine.buf);
	}
	return NULL;
}

static void threads_with_queues_of_their_own_do_not_disturb_each_other(void **state)
{
	struct worker w[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		w[i] = (struct worker){ .k = *state, .idx = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL,
						send_receive_and_start_over, &w[i]),
				 0);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
}

/* ------------------------------------------------ one queue, many pollers and posters */
struct shared {
	struct kit *k;
	struct ibv_qp *qp[2];
	atomic_uint sent, received, posted;
};

enum {
	MESSAGES = 3000,
	POSTED_AHEAD = 32
};

static void post_one(struct shared *s)
{
	struct ibv_sge local = kit_sge(s->k, 0, 0, 64);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	kit_post_recv(s->k, s->qp[1], 0, kit_sge(s->k, 1, 0, 64));
	kit_post_send(s->qp[0], &wr);
}

static void *poll_and_post(void *arg)
{
	struct shared *s = arg;
	struct ibv_wc wc[4];

	while (atomic_load(&s->sent) < MESSAGES || atomic_load(&s->received) < MESSAGES) {
		int n = ibv_poll_cq(s->k->cq, 4, wc);

		assert_in_range(n, 0, 4);
		for (int i = 0; i < n; i++) {
			assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
			if (wc[i].opcode == IBV_WC_RECV) {
				atomic_fetch_add(&s->received, 1);
				continue;
			}
			atomic_fetch_add(&s->sent, 1);
			if (atomic_fetch_add(&s->posted, 1) < MESSAGES)
				post_one(s);
		}
	}
	return NULL;
}

static void one_queue_polled_by_many_gives_each_completion_once(void **state)
{
	struct shared s = { .k = *state };
	pthread_t thread[WORKERS];

	kit_pair(s.k, IBV_QPT_RC, s.qp);
	atomic_store(&s.posted, POSTED_AHEAD);
	for (unsigned i = 0; i < POSTED_AHEAD; i++)
		post_one(&s);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, poll_and_post, &s), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(atomic_load(&s.sent), MESSAGES);
	assert_int_equal(atomic_load(&s.received), MESSAGES);
	kit_expect_none(s.k->cq);
	kit_destroy_pair(s.qp);
}

/* --------------------------------------------------------------- devices come and go */
static void *open_and_close(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 20; i++) {
		struct ibv_context *ctx = kit_open_device();
		struct ibv_pd *pd = ibv_alloc_pd(ctx);

		assert_non_null(pd);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
		assert_int_equal(ibv_close_device(ctx), 0);
	}
	return NULL;
}

static void contexts_open_and_close_while_others_work(void **state)
{
	struct worker w = { .k = *state };
	pthread_t thread[2];

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, open_and_close, NULL),
				 0);
	send_receive_and_start_over(&w);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			threads_with_queues_of_their_own_do_not_disturb_each_other),
		cmocka_unit_test(one_queue_polled_by_many_gives_each_completion_once),
		cmocka_unit_test(contexts_open_and_close_while_others_work),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
