/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* queues.c - cases of the category queues. */
#include "cases.h"

static void signal_nothing(struct kit *k)
{
	struct val_pair p = val_pair(k);
	int rc = 0;

	for (unsigned i = 0; i < 1000 && !rc; i++)
		rc = val_write(k, p.qp[0], 0, 1);
}

static void signal_some(struct kit *k)
{
	struct val_pair p = val_pair(k);

	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(val_write(k, p.qp[0], 0, 7), 0);
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		(void)kit_wait(k->cq);
	}
	val_destroy_pair(&p);
}

/* Posts receives to a QP whose CQ has room for @entries. */
static void post_to_cq(struct kit *k, int entries)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, entries, NULL, NULL, 0);
	struct ibv_qp *qp = val_create_qp(k, cq, 4, 512);

	kit_to_init(qp);
	for (unsigned i = 0; i < 512; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 0, 0, 64));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void post_to_small_cq(struct kit *k)
{
	post_to_cq(k, 16);
}

static void post_to_large_cq(struct kit *k)
{
	post_to_cq(k, 516);
}

static void write_and_wait(struct kit *k, struct ibv_qp *qp)
{
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(val_write(k, qp, IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
}

/* Arms the CQ again while the completion of a WRITE is in it, and waits for the event of
 * another WRITE, behind a poll or not.
 */
static void wait_for_event(struct kit *k, bool polls)
{
	struct val_pair p = val_pair(k);
	struct ibv_wc wc;
	int got = 0;

	kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 0, 64));
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	write_and_wait(k, p.qp[0]);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	if (polls)
		got = ibv_poll_cq(k->cq, 1, &wc);
	write_and_wait(k, p.qp[0]);
	for (int i = got; i < 2; i++)
		(void)kit_wait(k->cq);
	val_destroy_pair(&p);
}

static void wait_without_poll(struct kit *k)
{
	wait_for_event(k, false);
}

static void wait_after_poll(struct kit *k)
{
	wait_for_event(k, true);
}

/* --------------------------------------------------------------- full queues */
/* In one call: none of them completes before the last is posted. */
static void post_beyond_room(struct kit *k)
{
	static struct ibv_send_wr wr[1024];
	struct val_pair p = val_pair(k);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr *bad;

	for (unsigned i = 0; i < sizeof(wr) / sizeof(wr[0]); i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < sizeof(wr) / sizeof(wr[0]) ? &wr[i + 1] : NULL,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
				     .rkey = k->mr->rkey }
		};
	assert_int_equal(ibv_post_send(p.qp[0], wr, &bad), ENOMEM);
}

static int post_receives(struct kit *k, unsigned count)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_sge sge = kit_sge(k, 0, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	int rc = 0;

	kit_to_init(qp);
	for (unsigned i = 0; i < count && !rc; i++)
		rc = ibv_post_recv(qp, &wr, &bad);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	return rc;
}

static void post_receives_until_full(struct kit *k)
{
	val_refused(post_receives(k, 1000));
}

static void post_receives_as_asked(struct kit *k)
{
	assert_int_equal(post_receives(k, 4), 0);
}

static int post_sges(struct kit *k, int count)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_sge sge[2] = { kit_sge(k, 0, 0, 64), kit_sge(k, 0, 64, 64) };
	struct ibv_recv_wr *bad, wr = { .sg_list = sge, .num_sge = count };
	int rc;

	kit_to_init(qp);
	rc = ibv_post_recv(qp, &wr, &bad);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	return rc;
}

static void post_two_sges(struct kit *k)
{
	val_refused(post_sges(k, 2));
}

static void post_one_sge(struct kit *k)
{
	assert_int_equal(post_sges(k, 1), 0);
}

/* ------------------------------------------------------------------- receives */
/* Sends a message to a QP with or without a receive. */
static void send_to(struct kit *k, enum ibv_qp_type type, bool has_receive)
{
	struct ibv_qp *qp[2];

	kit_pair(k, type, qp);
	if (has_receive)
		kit_post_recv(k, qp[1], 1, kit_sge(k, 1, 0, 64));
	assert_int_equal(val_send(k, qp[0], IBV_SEND_SIGNALED, 64), 0);
	for (unsigned i = 0; i < 2 && has_receive; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	kit_destroy_pair(qp);
}

static void send_without_receive(struct kit *k)
{
	send_to(k, IBV_QPT_RC, false);
}

static void send_with_receive(struct kit *k)
{
	send_to(k, IBV_QPT_RC, true);
}

static void send_unreliably_without_receive(struct kit *k)
{
	send_to(k, IBV_QPT_UC, false);
}

static void send_unreliably_with_receive(struct kit *k)
{
	send_to(k, IBV_QPT_UC, true);
}

static void send_without_retries(struct kit *k)
{
	struct val_end end[2] = { val_end(k), val_end(k) };
	struct ibv_cq *const cq[2] = { k->cq, k->cq };
	struct val_pair p;

	end[0].rnr_retry = 0;
	p = val_pair_of(k, end, cq);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 64), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void receive_short(struct kit *k)
{
	struct val_pair p = val_pair(k);
	bool is_seen = false;

	kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 0, 64));
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED, 128), 0);
	for (unsigned i = 0; i < 2; i++)
		is_seen = kit_wait(k->cq).status == IBV_WC_LOC_LEN_ERR || is_seen;
	assert_true(is_seen);
}

/* ------------------------------------------------------------------------ SRQs */
/* Two connected QPs, of which the second takes its receives from an SRQ. */
struct shared {
	struct ibv_srq *srq;
	struct val_pair p;
};

static void post_shared(struct kit *k, struct shared *s, unsigned count)
{
	struct ibv_sge sge = kit_sge(k, 1, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
}

static struct shared share(struct kit *k)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { .max_send_wr = 16, .max_send_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct val_end end = val_end(k);
	struct shared s = { .srq = ibv_create_srq(k->pd, &init) };

	assert_non_null(s.srq);
	attr.srq = s.srq;
	s.p.qp[0] = val_create_qp(k, k->cq, 16, 16);
	s.p.qp[1] = ibv_create_qp(k->pd, &attr);
	assert_non_null(s.p.qp[1]);
	for (unsigned i = 0; i < 2; i++)
		val_connect(k, s.p.qp[i], s.p.qp[!i]->qp_num, &end);
	return s;
}

static void end_share(struct shared *s)
{
	val_destroy_pair(&s->p);
	assert_int_equal(ibv_destroy_srq(s->srq), 0);
}

static void send_shared(struct kit *k, struct shared *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(val_send(k, s->p.qp[0], IBV_SEND_SIGNALED, 64), 0);
		(void)kit_wait(k->cq);
		(void)kit_wait(k->cq);
	}
}

static int set_limit(struct shared *s, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(s->srq, &attr, IBV_SRQ_LIMIT);
}

static void post_beside_srq(struct kit *k)
{
	struct shared s = share(k);
	struct ibv_sge sge = kit_sge(k, 1, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	val_refused(ibv_post_recv(s.p.qp[1], &wr, &bad));
}

static void post_to_srq(struct kit *k)
{
	struct shared s = share(k);

	post_shared(k, &s, 1);
	end_share(&s);
}

static void fill_when_empty(struct kit *k)
{
	struct shared s = share(k);

	post_shared(k, &s, 2);
	send_shared(k, &s, 2);
	post_shared(k, &s, 2);
}

static void fill_in_time(struct kit *k)
{
	struct shared s = share(k);

	post_shared(k, &s, 2);
	send_shared(k, &s, 1);
	post_shared(k, &s, 1);
	end_share(&s);
}

/* Takes the event of the limit, sets it again or not, and lets the SRQ run empty. */
static void use_limit(struct kit *k, bool sets_again)
{
	struct shared s = share(k);
	struct ibv_async_event event;

	assert_int_equal(set_limit(&s, 2), 0);
	post_shared(k, &s, 2);
	send_shared(k, &s, 1);
	assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	if (sets_again) {
		post_shared(k, &s, 2);
		assert_int_equal(set_limit(&s, 1), 0);
		send_shared(k, &s, 3);
	} else {
		send_shared(k, &s, 1);
	}
	post_shared(k, &s, 1);
	end_share(&s);
}

static void forget_limit(struct kit *k)
{
	use_limit(k, false);
}

static void set_limit_again(struct kit *k)
{
	use_limit(k, true);
}

static void set_high_limit(struct kit *k)
{
	struct shared s = share(k);

	val_refused(set_limit(&s, 4096));
}

/* ----------------------------------------------------------------- completions */
/* Sends a message to a QP whose CQ is armed for solicited ones. */
static void send_to_sleeper(struct kit *k, unsigned flags)
{
	const struct val_end end[2] = { val_end(k), val_end(k) };
	struct ibv_cq *cq[2] = { k->cq, ibv_create_cq(k->ctx, 16, NULL, k->channel, 0) };
	struct val_pair p = val_pair_of(k, end, cq);

	kit_post_recv(k, p.qp[1], 1, kit_sge(k, 1, 0, 64));
	assert_int_equal(ibv_req_notify_cq(cq[1], 1), 0);
	assert_int_equal(val_send(k, p.qp[0], IBV_SEND_SIGNALED | flags, 64), 0);
	for (unsigned i = 0; i < 2; i++)
		(void)kit_wait(cq[i]);
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(cq[1]), 0);
}

static void send_unsolicited(struct kit *k)
{
	send_to_sleeper(k, 0);
}

static void send_solicited(struct kit *k)
{
	send_to_sleeper(k, IBV_SEND_SOLICITED);
}

static void notify_silent_cq(struct kit *k)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 16, NULL, NULL, 0);

	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
}

static void notify_with_channel(struct kit *k)
{
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
}

/* Makes a CQ smaller or larger with 32 receives posted. */
static void resize_to(struct kit *k, int entries)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 64, NULL, NULL, 0);
	struct ibv_qp *qp = val_create_qp(k, cq, 4, 32);

	kit_to_init(qp);
	for (unsigned i = 0; i < 32; i++)
		kit_post_recv(k, qp, i, kit_sge(k, 0, 0, 64));
	(void)ibv_resize_cq(cq, entries);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void resize_below(struct kit *k)
{
	resize_to(k, 8);
}

static void resize_above(struct kit *k)
{
	resize_to(k, 128);
}

/* Posts @count signaled WRITEs to a CQ of its own, of 4 entries, and polls it or not. */
static struct val_pair write_to_own_cq(struct kit *k, unsigned count, bool polls)
{
	const struct val_end end[2] = { val_end(k), val_end(k) };
	struct ibv_cq *cq[2] = { ibv_create_cq(k->ctx, 4, NULL, NULL, 0), k->cq };
	struct val_pair p = val_pair_of(k, end, cq);

	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, count), 0);
	for (unsigned i = 0; i < count && polls; i++)
		(void)kit_wait(cq[0]);
	return p;
}

static void overflow(struct kit *k)
{
	struct ibv_async_event event;

	(void)write_to_own_cq(k, 32, false);
	do {
		assert_int_equal(ibv_get_async_event(k->ctx, &event), 0);
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
}

static void destroy_with_cq(struct val_pair p)
{
	struct ibv_cq *cq = p.qp[0]->send_cq;

	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void write_without_poll(struct kit *k)
{
	destroy_with_cq(write_to_own_cq(k, 1, false));
}

static void write_with_poll(struct kit *k)
{
	destroy_with_cq(write_to_own_cq(k, 4, true));
}

static void end_unsignaled(struct kit *k)
{
	struct val_pair p = val_pair(k);

	assert_int_equal(val_write(k, p.qp[0], 0, 1), 0);
	val_destroy_pair(&p);
}

/* Lets the peer end, so that a WRITE fails, and posts more. */
static void post_behind_failure(struct kit *k, unsigned count)
{
	struct val_pair p = val_impatient_pair(k);

	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(p.qp[1]), 0);
	for (unsigned i = 0; i < count + 1; i++) {
		assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		assert_int_not_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_destroy_qp(p.qp[0]), 0);
}

static void ignore_failure(struct kit *k)
{
	post_behind_failure(k, 100);
}

static void see_failure(struct kit *k)
{
	post_behind_failure(k, 1);
}

static const struct val_case cases[] = {
	{ "queues/nothing-signaled", signal_nothing, signal_some, false },
	{ "queues/cq-too-small", post_to_small_cq, post_to_large_cq, false },
	{ "queues/lost-wakeup", wait_without_poll, wait_after_poll, false },
	{ "queues/send-queue-full", post_beyond_room, signal_some, false },
	{ "queues/receive-queue-full", post_receives_until_full, post_receives_as_asked,
	  false },
	{ "queues/too-many-sges", post_two_sges, post_one_sge, false },
	{ "queues/receives-exhausted", send_without_receive, send_with_receive, false },
	{ "queues/message-lost", send_unreliably_without_receive,
	  send_unreliably_with_receive, false },
	{ "queues/rnr-exceeded", send_without_retries, send_with_receive, false },
	{ "queues/receive-too-short", receive_short, send_with_receive, false },
	{ "queues/receive-beside-srq", post_beside_srq, post_to_srq, false },
	{ "queues/srq-limit-unarmed", fill_when_empty, fill_in_time, false },
	{ "queues/srq-limit-spent", forget_limit, set_limit_again, false },
	{ "queues/srq-limit-above-size", set_high_limit, set_limit_again, false },
	{ "queues/solicited-missing", send_unsolicited, send_solicited, false },
	{ "queues/resize-too-small", resize_below, resize_above, false },
	{ "queues/overflow", overflow, post_to_large_cq, false },
	{ "queues/never-polled", write_without_poll, write_with_poll, false },
	{ "queues/last-unsignaled", end_unsignaled, signal_some, false },
	{ "queues/notify-without-channel", notify_silent_cq, notify_with_channel, false },
	{ "queues/status-ignored", ignore_failure, see_failure, false },
};
const struct val_cases queues_cases = VAL_CASES(cases);
