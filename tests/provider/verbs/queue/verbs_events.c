/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_events.c - completion channels and asynchronous events, both read and unread. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void send_from(struct ibv_qp *qp, struct kit *k, unsigned flags)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 32);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = flags };

	kit_post_send(qp, &wr);
}

static void expect_event(struct kit *k, struct ibv_cq *want)
{
	struct ibv_cq *cq = NULL;
	void *cq_context = NULL;

	assert_true(readable(k->channel->fd, 20000));
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &cq_context), 0);
	assert_ptr_equal(cq, want);
	ibv_ack_cq_events(cq, 1);
}

static void an_armed_queue_fires_once(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	for (unsigned i = 0; i < 3; i++) {
		kit_post_recv(k, qp[1], i, kit_sge(k, 1, 0, 64));
		send_from(qp[0], k, 0);
	}
	expect_event(k, k->cq);
	for (unsigned i = 0; i < 3; i++)
		kit_expect(k->cq, i, IBV_WC_RECV);
	assert_false(readable(k->channel->fd, 0));
	kit_destroy_pair(qp);
}

static void sleeping_and_waking_many_times_loses_nothing(void **state)
{
	enum {
		ROUNDS = 500
	};
	struct kit *k = *state;
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		kit_post_recv(k, qp[1], i, kit_sge(k, 1, 0, 64));
		send_from(qp[0], k, 0);
		expect_event(k, k->cq);
		assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
		/* Polls the queue, as programs must after they have armed it. */
		assert_int_equal(ibv_poll_cq(k->cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(ibv_poll_cq(k->cq, 1, &wc), 0);
	}
	kit_destroy_pair(qp);
}

static void forget_event(struct kit *k, int timeout_ms)
{
	struct ibv_cq *cq;
	void *cq_context;

	if (!readable(k->channel->fd, timeout_ms))
		return;
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &cq_context), 0);
	ibv_ack_cq_events(cq, 1);
}

/* A completion before the CQ is armed raises no event, so that the poll after arming must
 * find it.
 */
static void arming_while_a_completion_is_on_its_way_loses_nothing(void **state)
{
	enum {
		ROUNDS = 500
	};
	struct kit *k = *state;
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < ROUNDS; i++) {
		kit_post_recv(k, qp[1], i, kit_sge(k, 1, 0, 64));
		send_from(qp[0], k, 0);
		assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
		/* The event may belong to the completion of the round before, because an
		 * event follows its entry.
		 */
		while (ibv_poll_cq(k->cq, 1, &wc) == 0)
			expect_event(k, k->cq);
		assert_int_equal(wc.wr_id, i);
		forget_event(k, 0);
	}
	kit_destroy_pair(qp);
	forget_event(k, 50);
}

static void only_a_solicited_message_wakes_for_solicited_only(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *quiet = ibv_create_cq(k->ctx, 16, NULL, k->channel, 0);
	struct ibv_cq *plain = k->cq;
	struct ibv_qp *qp[2];

	assert_non_null(quiet);
	k->cq = quiet;
	kit_pair(k, IBV_QPT_RC, qp);
	k->cq = plain;
	for (unsigned i = 0; i < 2; i++)
		kit_post_recv(k, qp[1], i, kit_sge(k, 1, 0, 64));
	assert_int_equal(ibv_req_notify_cq(quiet, 1), 0);
	send_from(qp[0], k, 0);
	kit_expect(quiet, 0, IBV_WC_RECV);
	assert_false(readable(k->channel->fd, 0));
	send_from(qp[0], k, IBV_SEND_SOLICITED);
	expect_event(k, quiet);
	kit_expect(quiet, 1, IBV_WC_RECV);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(quiet), 0);
}

/* libibverbs would dereference the pointer of a destroyed queue in an unread event. */
static void unread_events_go_with_their_queue(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *doomed = ibv_create_cq(k->ctx, 16, NULL, k->channel, 0);
	struct ibv_cq *plain = k->cq;
	struct ibv_qp *qp[2], *other[2];

	assert_non_null(doomed);
	kit_pair(k, IBV_QPT_RC, other);
	k->cq = doomed;
	kit_pair(k, IBV_QPT_RC, qp);
	k->cq = plain;
	assert_int_equal(ibv_req_notify_cq(doomed, 0), 0);
	assert_int_equal(ibv_req_notify_cq(plain, 0), 0);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	kit_post_recv(k, other[1], 2, kit_sge(k, 1, 0, 64));
	send_from(qp[0], k, 0);
	kit_expect(doomed, 1, IBV_WC_RECV);
	assert_true(readable(k->channel->fd, 20000));
	send_from(other[0], k, 0);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(doomed), 0);
	expect_event(k, plain);
	kit_expect(plain, 2, IBV_WC_RECV);
	assert_false(readable(k->channel->fd, 0));
	kit_destroy_pair(other);
}

/* Fills the channel with events of @cq that the provider has not counted. */
static void stuff(struct kit *k, struct ibv_cq *cq)
{
	uint64_t records[512];
	size_t len = sizeof(records);

	for (unsigned i = 0; i < 512; i++)
		records[i] = (uintptr_t)cq;
	fcntl(k->channel->fd, F_SETPIPE_SZ, 1 << 20);
	assert_int_equal(fcntl(k->channel->fd, F_SETFL, O_NONBLOCK), 0);
	while (len >= sizeof(records[0])) {
		if (write(k->channel->fd, records, len) != (ssize_t)len)
			len /= 2;
	}
}

static void an_event_that_found_the_channel_full_comes_later(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *late = ibv_create_cq(k->ctx, 16, NULL, k->channel, 0);
	struct ibv_cq *plain = k->cq, *cq = NULL;
	struct ibv_qp *qp[2];
	void *context;

	assert_non_null(late);
	k->cq = late;
	kit_pair(k, IBV_QPT_RC, qp);
	k->cq = plain;
	stuff(k, plain);
	assert_int_equal(ibv_req_notify_cq(late, 0), 0);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	send_from(qp[0], k, 0);
	kit_expect(late, 1, IBV_WC_RECV);
	do
		assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	while (cq == plain);
	assert_ptr_equal(cq, late);
	ibv_ack_cq_events(late, 1);
	assert_false(readable(k->channel->fd, 0));
	assert_int_equal(fcntl(k->channel->fd, F_SETFL, 0), 0);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(late), 0);
}

struct doomed {
	struct ibv_cq *cq;
	atomic_bool gone;
};

static void *destroy_it(void *arg)
{
	struct doomed *d = arg;

	if (ibv_destroy_cq(d->cq))
		return d;
	atomic_store(&d->gone, true);
	return NULL;
}

static void destroying_a_queue_waits_for_the_acknowledgement(void **state)
{
	enum {
		MEANWHILE = 300
	};
	struct kit *k = *state;
	struct doomed d = { .cq = ibv_create_cq(k->ctx, 16, NULL, k->channel, 0) };
	struct ibv_cq *plain = k->cq, *got;
	struct ibv_qp *qp[2], *other[2];
	void *context, *failed;
	pthread_t thread;

	assert_non_null(d.cq);
	kit_pair(k, IBV_QPT_RC, other);
	k->cq = d.cq;
	kit_pair(k, IBV_QPT_RC, qp);
	k->cq = plain;
	assert_int_equal(ibv_req_notify_cq(d.cq, 0), 0);
	kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	send_from(qp[0], k, 0);
	assert_int_equal(ibv_get_cq_event(k->channel, &got, &context), 0);
	assert_ptr_equal(got, d.cq);
	kit_destroy_pair(qp);
	assert_int_equal(pthread_create(&thread, NULL, destroy_it, &d), 0);
	/* These messages give the other thread enough time, without a measurement of
	 * time.
	 */
	for (unsigned i = 0; i < MEANWHILE; i++) {
		kit_post_recv(k, other[1], i, kit_sge(k, 1, 0, 64));
		send_from(other[0], k, IBV_SEND_SIGNALED);
		for (unsigned n = 0; n < 2; n++)
			assert_int_equal(kit_wait(plain).status, IBV_WC_SUCCESS);
	}
	assert_false(atomic_load(&d.gone));
	ibv_ack_cq_events(d.cq, 1);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	kit_destroy_pair(other);
}

/* -------------------------------------------------------------------- asynchronous */
/* qp[0] WRITEs with an R_Key that no region has, so that qp[1] reports an error. */
static void provoke_access_error(struct kit *k, struct ibv_qp *qp[2])
{
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 5,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = local.addr, .rkey = 1 } };
	struct ibv_wc wc;

	kit_post_send(qp[0], &wr);
	wc = kit_wait(k->cq);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(wc.wr_id, 5);
}

static void an_access_error_is_reported_at_the_target(void **state)
{
	struct kit *k = *state;
	struct ibv_async_event event;
	struct ibv_qp *qp[2];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	kit_pair(k, IBV_QPT_RC, qp);
	provoke_access_error(k, qp);
	do {
		assert_true(readable(k->ctx->async_fd, 20000));
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		assert_ptr_equal(event.element.qp, qp[1]);
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(ibv_query_qp(qp[1], &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	kit_destroy_pair(qp);
}

static void unread_asynchronous_events_go_with_their_object(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	provoke_access_error(k, qp);
	assert_true(readable(k->ctx->async_fd, 20000));
	kit_destroy_pair(qp);
	assert_false(readable(k->ctx->async_fd, 0));
}

static void a_full_queue_is_an_event_of_the_queue_and_its_qp(void **state)
{
	enum {
		EVENTS = 4
	};
	struct kit *k = *state;
	struct ibv_cq *tiny = ibv_create_cq(k->ctx, 1, NULL, NULL, 0), *plain = k->cq;
	bool cq_err = false, qp_fatal = false;
	struct ibv_async_event event;
	struct ibv_qp *qp[2];

	assert_non_null(tiny);
	k->cq = tiny;
	kit_pair(k, IBV_QPT_RC, qp);
	k->cq = plain;
	/* Flushed receives complete at once. One more than the CQ has entries overruns
	 * it.
	 */
	for (int i = 0; i < tiny->cqe + 1; i++)
		kit_post_recv(k, qp[1], 0, kit_sge(k, 1, 0, 64));
	kit_to_state(qp[1], IBV_QPS_ERR);
	for (unsigned i = 0; i < EVENTS && readable(k->ctx->async_fd, 0); i++) {
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		if (event.event_type == IBV_EVENT_CQ_ERR) {
			assert_ptr_equal(event.element.cq, tiny);
			cq_err = true;
		} else if (event.event_type == IBV_EVENT_QP_FATAL) {
			qp_fatal = true;
		}
		ibv_ack_async_event(&event);
	}
	assert_true(cq_err);
	assert_true(qp_fatal);
	kit_destroy_pair(qp);
	assert_int_equal(ibv_destroy_cq(tiny), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_armed_queue_fires_once),
		cmocka_unit_test(sleeping_and_waking_many_times_loses_nothing),
		cmocka_unit_test(arming_while_a_completion_is_on_its_way_loses_nothing),
		cmocka_unit_test(only_a_solicited_message_wakes_for_solicited_only),
		cmocka_unit_test(unread_events_go_with_their_queue),
		cmocka_unit_test(an_event_that_found_the_channel_full_comes_later),
		cmocka_unit_test(destroying_a_queue_waits_for_the_acknowledgement),
		cmocka_unit_test(an_access_error_is_reported_at_the_target),
		cmocka_unit_test(unread_asynchronous_events_go_with_their_object),
		cmocka_unit_test(a_full_queue_is_an_event_of_the_queue_and_its_qp),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
