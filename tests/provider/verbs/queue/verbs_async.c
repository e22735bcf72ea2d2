/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_async.c - each asynchronous event of a queue: what causes it, that it is read
 * once, and its acknowledgement.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "tests/provider/kit/verbs_kit.h"

static bool event_waits(const struct ibv_context *ctx, int timeout_ms)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

/* Reads the next event, which must be @type for @qp. Does not acknowledge it. */
static struct ibv_async_event take(struct ibv_context *ctx, enum ibv_event_type type,
				   const struct ibv_qp *qp)
{
	struct ibv_async_event ev;

	assert_true(event_waits(ctx, 20000));
	assert_int_equal(ibv_get_async_event(ctx, &ev), 0);
	if (ev.event_type != type)
		fail_msg("%s", ibv_event_type_str(ev.event_type));
	assert_ptr_equal(ev.element.qp, qp);
	return ev;
}

static void expect_event(struct ibv_context *ctx, enum ibv_event_type type,
			 const struct ibv_qp *qp)
{
	struct ibv_async_event ev = take(ctx, type, qp);

	ibv_ack_async_event(&ev);
}

static void send_one(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };

	kit_post_send(qp, &wr);
}

/* Sends one message. Both completions must succeed. */
static void pass_one(struct kit *k, struct ibv_qp *qp[2])
{
	kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 0, 64));
	send_one(k, qp[0]);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
}

/* Moves @qp from INIT to RTR only. */
static void to_rtr(struct kit *k, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = k->port.active_mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = 0xfffffe,
		.ah_attr = kit_address(k),
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

static void comm_est_comes_with_the_first_message_before_rts(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	for (unsigned i = 0; i < 2; i++) {
		qp[i] = kit_create_qp(k, IBV_QPT_RC);
		kit_to_init(qp[i]);
	}
	to_rtr(k, qp[1], qp[0]->qp_num);
	kit_to_rts(k, qp[0], qp[1]->qp_num);
	pass_one(k, qp);
	pass_one(k, qp);
	expect_event(k->ctx, IBV_EVENT_COMM_EST, qp[1]);
	assert_false(event_waits(k->ctx, 0));
	kit_destroy_pair(qp);
}

static void set_sqd(struct ibv_qp *qp, bool notify)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = notify };

	assert_int_equal(
		ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
}

static void wait_until_drained(struct ibv_qp *qp)
{
	time_t end = time(NULL) + 20;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	do {
		assert_true(time(NULL) < end);
		assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, IBV_QPS_SQD);
	} while (attr.sq_draining);
}

static void sq_drained_comes_once_for_each_time_it_was_asked_for(void **state)
{
	struct kit *k = *state;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned n = 0; n < 10; n++) {
			kit_post_recv(k, qp[1], 2, kit_sge(k, 1, 0, 64));
			send_one(k, qp[0]);
		}
		set_sqd(qp[0], i != 1);
		wait_until_drained(qp[0]);
		if (i != 1)
			expect_event(k->ctx, IBV_EVENT_SQ_DRAINED, qp[0]);
		assert_false(event_waits(k->ctx, 0));
		/* Requests that had not begun before SQD are performed now. */
		kit_to_state(qp[0], IBV_QPS_RTS);
		for (unsigned n = 0; n < 20; n++)
			assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	kit_destroy_pair(qp);
}

/* Sends a packet that this test has made, from the device's address to the device itself.
 */
static void inject(struct kit *k, const struct ibv_qp *qp, uint8_t opcode)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rn_flow flow = { .sport = 0 };
	struct rn_bth bth = { .opcode = opcode,
			      .migreq = true,
			      .pkey = 0xffff,
			      .dest_qpn = qp->qp_num,
			      .psn = rn_psn(0xfffffe) };
	uint8_t packet[RN_BTH_LEN + 256 + RN_ICRC_LEN] = { 0 };
	socklen_t addr_len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	/* makes the identification field of the IP header 0 */
	int never_fragment = IP_PMTUDISC_DO;

	assert_true(fd >= 0);
	memcpy(&addr.sin_addr, k->gid.raw + 12, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &never_fragment,
				    sizeof(never_fragment)),
			 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &addr_len), 0);
	memcpy(&flow.src, &k->gid, sizeof(flow.src));
	flow.dst = flow.src;
	flow.sport = ntohs(addr.sin_port);
	rn_bth_emit(packet, &bth);
	rn_icrc_seal(&flow, 0, packet, RN_BTH_LEN + 256);
	addr.sin_port = htons(RN_ROCE_PORT);
	assert_int_equal(sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&addr,
				sizeof(addr)),
			 sizeof(packet));
	close(fd);
}

static void req_err_comes_when_a_message_begins_in_its_middle(void **state)
{
	const uint8_t write_middle = 7;
	struct kit *k = *state;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	inject(k, qp[1], write_middle);
	expect_event(k->ctx, IBV_EVENT_QP_REQ_ERR, qp[1]);
	assert_int_equal(ibv_query_qp(qp[1], &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_false(event_waits(k->ctx, 0));
	kit_destroy_pair(qp);
}

static void provoke_access_error(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_sge local = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = { .sg_list = &local,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = { .remote_addr = local.addr, .rkey = 1 } };

	kit_post_send(qp, &wr);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_REM_ACCESS_ERR);
}

static void events_go_to_the_context_of_their_queue(void **state)
{
	struct kit *k = *state;
	void *other_state;
	struct ibv_qp *qp[2], *quiet[2];
	struct kit *other;

	kit_setup(&other_state);
	other = other_state;
	kit_pair(k, IBV_QPT_RC, qp);
	kit_pair(other, IBV_QPT_RC, quiet);
	provoke_access_error(k, qp[0]);
	expect_event(k->ctx, IBV_EVENT_QP_ACCESS_ERR, qp[1]);
	assert_false(event_waits(k->ctx, 0));
	assert_false(event_waits(other->ctx, 0));
	provoke_access_error(other, quiet[0]);
	expect_event(other->ctx, IBV_EVENT_QP_ACCESS_ERR, quiet[1]);
	assert_false(event_waits(k->ctx, 0));
	kit_destroy_pair(qp);
	kit_destroy_pair(quiet);
	kit_teardown(&other_state);
}

static void reading_without_waiting_says_that_there_is_none(void **state)
{
	struct kit *k = *state;
	int flags = fcntl(k->ctx->async_fd, F_GETFL);
	struct ibv_async_event ev;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	assert_int_equal(fcntl(k->ctx->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
	assert_int_equal(ibv_get_async_event(k->ctx, &ev), -1);
	assert_int_equal(errno, EAGAIN);
	provoke_access_error(k, qp[0]);
	expect_event(k->ctx, IBV_EVENT_QP_ACCESS_ERR, qp[1]);
	assert_int_equal(ibv_get_async_event(k->ctx, &ev), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(k->ctx->async_fd, F_SETFL, flags), 0);
	kit_destroy_pair(qp);
}

/* More events than fit into the pipe of a new descriptor. */
static void events_that_nobody_reads_for_long_are_all_there(void **state)
{
	enum {
		EVENTS = 6000
	};
	struct kit *k = *state;
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);

	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	for (unsigned i = 0; i < EVENTS; i++) {
		set_sqd(qp, true);
		kit_to_state(qp, IBV_QPS_RTS);
	}
	for (unsigned i = 0; i < EVENTS; i++)
		expect_event(k->ctx, IBV_EVENT_SQ_DRAINED, qp);
	assert_false(event_waits(k->ctx, 0));
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* ------------------------------------------------------- destroy waits for the ack */
struct doomed {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	atomic_bool gone;
};

static void *destroy_it(void *arg)
{
	struct doomed *d = arg;

	if (d->qp ? ibv_destroy_qp(d->qp) : ibv_destroy_cq(d->cq))
		return d;
	atomic_store(&d->gone, true);
	return NULL;
}

/* Another thread destroys @d. The call must not return before the event is acknowledged.
 */
static void expect_destroy_waits(struct kit *k, struct doomed *d,
				 struct ibv_async_event *ev)
{
	enum {
		MEANWHILE = 300
	};
	struct ibv_qp *other[2];
	pthread_t thread;
	void *failed;

	kit_pair(k, IBV_QPT_RC, other);
	assert_int_equal(pthread_create(&thread, NULL, destroy_it, d), 0);
	/* These messages give the other thread enough time, without a measurement of
	 * time.
	 */
	for (unsigned i = 0; i < MEANWHILE; i++)
		pass_one(k, other);
	assert_false(atomic_load(&d->gone));
	ibv_ack_async_event(ev);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	kit_destroy_pair(other);
}

static void destroying_a_qp_waits_for_the_acknowledgement(void **state)
{
	struct kit *k = *state;
	struct ibv_async_event ev;
	struct ibv_qp *qp[2];

	kit_pair(k, IBV_QPT_RC, qp);
	provoke_access_error(k, qp[0]);
	ev = take(k->ctx, IBV_EVENT_QP_ACCESS_ERR, qp[1]);
	expect_destroy_waits(k, &(struct doomed){ .qp = qp[1] }, &ev);
	assert_int_equal(ibv_destroy_qp(qp[0]), 0);
}

static void destroying_an_overrun_cq_waits_for_the_acknowledgement(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *tiny = ibv_create_cq(k->ctx, 1, NULL, NULL, 0), *plain = k->cq;
	struct ibv_async_event ev;
	struct ibv_qp *qp;

	assert_non_null(tiny);
	k->cq = tiny;
	qp = kit_create_qp(k, IBV_QPT_RC);
	k->cq = plain;
	kit_to_init(qp);
	for (int i = 0; i < tiny->cqe + 3; i++)
		kit_post_recv(k, qp, 0, kit_sge(k, 1, 0, 64));
	kit_to_state(qp, IBV_QPS_ERR);
	assert_true(event_waits(k->ctx, 20000));
	assert_int_equal(ibv_get_async_event(k->ctx, &ev), 0);
	assert_int_equal(ev.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(ev.element.cq, tiny);
	/* There is one event, however many entries were lost. The QP reports none,
	 * because it was in the error state already.
	 */
	assert_false(event_waits(k->ctx, 0));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	expect_destroy_waits(k, &(struct doomed){ .cq = tiny }, &ev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comm_est_comes_with_the_first_message_before_rts),
		cmocka_unit_test(sq_drained_comes_once_for_each_time_it_was_asked_for),
		cmocka_unit_test(req_err_comes_when_a_message_begins_in_its_middle),
		cmocka_unit_test(events_go_to_the_context_of_their_queue),
		cmocka_unit_test(reading_without_waiting_says_that_there_is_none),
		cmocka_unit_test(events_that_nobody_reads_for_long_are_all_there),
		cmocka_unit_test(destroying_a_qp_waits_for_the_acknowledgement),
		cmocka_unit_test(destroying_an_overrun_cq_waits_for_the_acknowledgement),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
