/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_world_completions.c - completions and events that a world does not let pass. */
#include "rocin/cqe.h"
#include "world_kit.h"

/* A request that @e has posted, by its book. */
static struct rn_w_wr *post(struct rn_world *w, struct rn_w_end *e,
			    enum rn_wr_opcode opcode)
{
	struct rn_w_wr *wr = rn_w_new_wr(w, &e->sq, 0, e);

	wr->opcode = opcode;
	wr->signaled = true;
	wr->pattern = KIT_PATTERN;
	e->sq.tail++;
	e->alive = true;
	e->may_flush = false;
	return wr;
}

static struct rn_w_wr *post_bytes(struct rn_world *w, struct rn_w_end *e,
				  enum rn_wr_opcode opcode, uint32_t len)
{
	struct rn_w_wr *wr = post(w, e, opcode);

	wr->len = len;
	if (opcode == RN_WR_RDMA_WRITE)
		wr->remote_slot = rn_w_slot_take(&w->device[e->peer->dev], RN_W_TARGET,
						 e->peer->qpn, len, KIT_PATTERN);
	else
		wr->slot = rn_w_slot_take(&w->device[e->dev], RN_W_SINK, e->qpn, len,
					  KIT_PATTERN);
	return wr;
}

static void complete_with(struct rn_world *w, const struct rn_w_end *e, uint64_t id,
			  enum rn_wc_opcode opcode, enum rn_wc_status status,
			  uint32_t len)
{
	const struct rn_cqe cqe = { .wr_id = id,
				    .qpn = e->qpn,
				    .byte_len = len,
				    .ctl = rn_cqe_ctl(1, 0, (uint8_t)opcode,
						      (uint8_t)status) };

	rn_w_check_cqe(&w->device[e->dev], &cqe);
}

static void succeed(struct rn_world *w, const struct rn_w_end *e,
		    const struct rn_w_wr *wr, enum rn_wc_opcode opcode)
{
	complete_with(w, e, wr->id, opcode, RN_WC_SUCCESS, 0);
}

static void end_with(struct rn_world *w, const struct rn_w_end *e,
		     const struct rn_w_wr *wr, enum rn_wc_status status)
{
	complete_with(w, e, wr->id, RN_WC_SEND, status, 0);
}

/* ---------------------------------------------------------- what success means */
static void atomics(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr = post_bytes(w, e, RN_WR_ATOMIC_FETCH_AND_ADD, 8);

	e->atomics_posted = 1;
	e->atomic[0] = *wr;
	e->atomic[0].fetched = rn_w_slot_word(&w->device[0], wr->slot);
	succeed(w, e, wr, RN_WC_FETCH_ADD);
	kit_assert_says(w, "completes before it is carried out");

	e->atomics_done = 1;
	wr = post_bytes(w, e, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	succeed(w, e, wr, RN_WC_FETCH_ADD);
	kit_assert_says(w, "");

	e->atomic[0].fetched++;
	wr = post_bytes(w, e, RN_WR_ATOMIC_FETCH_AND_ADD, 8);
	succeed(w, e, wr, RN_WC_FETCH_ADD);
	kit_assert_says(w, "does not report what it found");
}

static void an_atomic_completes_once_done_and_reports_what_it_found(void **state)
{
	(void)state;
	kit_in_plain_world(atomics);
}

static void writes(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr = post_bytes(w, e, RN_WR_RDMA_WRITE, 32);

	kit_write(w, e->peer, rn_w_slot_address(&w->device[1], wr->remote_slot), 0, 31);
	succeed(w, e, wr, RN_WC_RDMA_WRITE);
	kit_assert_says(w, "its bytes are not at the target");

	wr = post_bytes(w, e, RN_WR_RDMA_WRITE, 32);
	kit_write(w, e->peer, rn_w_slot_address(&w->device[1], wr->remote_slot), 0, 32);
	succeed(w, e, wr, RN_WC_RDMA_WRITE);
	kit_assert_says(w, "");
}

static void a_write_completes_with_its_bytes_at_the_target(void **state)
{
	(void)state;
	kit_in_plain_world(writes);
}

static void reads(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr = post_bytes(w, e, RN_WR_RDMA_READ, 32);

	kit_write(w, e, rn_w_slot_address(&w->device[0], wr->slot) + 1, 1, 31);
	succeed(w, e, wr, RN_WC_RDMA_READ);
	kit_assert_says(w, "completes without its bytes");

	wr = post_bytes(w, e, RN_WR_RDMA_READ, 32);
	kit_write(w, e, rn_w_slot_address(&w->device[0], wr->slot), 0, 32);
	succeed(w, e, wr, RN_WC_RDMA_READ);
	kit_assert_says(w, "");
}

static void a_read_completes_with_its_bytes(void **state)
{
	(void)state;
	kit_in_plain_world(reads);
}

static void sends(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);

	succeed(w, e, post(w, e, RN_WR_SEND), RN_WC_SEND);
	kit_assert_says(w, "completes before its receive");
	e->peer->messages_got = 1;
	succeed(w, e, post(w, e, RN_WR_SEND), RN_WC_SEND);
	kit_assert_says(w, "");
	succeed(w, e, post(w, e, RN_WR_SEND), RN_WC_RDMA_READ);
	kit_assert_says(w, "as opcode 2");
	post(w, e, RN_WR_SEND)->bad = true;
	succeed(w, e, &e->sq.wr[e->sq.head % RN_W_WRS], RN_WC_SEND);
	kit_assert_says(w, "succeeds with a wrong key");
}

static void a_send_completes_after_its_receive_and_with_right_keys_only(void **state)
{
	(void)state;
	kit_in_plain_world(sends);
}

/* ------------------------------------------------------------- order and number */
static void order(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr;

	w->ids = 40;
	post(w, e, RN_WR_RDMA_WRITE)->signaled = false;
	wr = post(w, e, RN_WR_RDMA_WRITE);
	succeed(w, e, wr, RN_WC_RDMA_WRITE);
	kit_assert_says(w, "");
	succeed(w, e, wr, RN_WC_RDMA_WRITE);
	kit_assert_says(w, "completes 42, which is not outstanding");

	post(w, e, RN_WR_RDMA_WRITE);
	succeed(w, e, post(w, e, RN_WR_RDMA_WRITE), RN_WC_RDMA_WRITE);
	kit_assert_says(w, "completes 44 before 43");

	e->sq.head = e->sq.tail;
	wr = post(w, e, RN_WR_RDMA_WRITE);
	wr->signaled = false;
	succeed(w, e, wr, RN_WC_RDMA_WRITE);
	kit_assert_says(w, "completes 45, which asked for no completion");
}

static void requests_complete_once_in_order_and_if_they_ask(void **state)
{
	(void)state;
	kit_in_plain_world(order);
}

static void ends(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);

	rn_w_check_done(w, e);
	kit_assert_says(w, "");
	post(w, e, RN_WR_RDMA_WRITE)->signaled = false;
	rn_w_check_done(w, e);
	kit_assert_says(w, "");
	post(w, e, RN_WR_RDMA_WRITE);
	rn_w_check_done(w, e);
	kit_assert_says(w, "never completes");

	e->rq.head = e->rq.tail;
	rn_w_check_flushed(w, e);
	kit_assert_says(w, "is not flushed");
	e->sq.head = e->sq.tail;
	rn_w_check_flushed(w, e);
	kit_assert_says(w, "");
	e->rq.tail++;
	rn_w_check_flushed(w, e);
	kit_assert_says(w, "1 receives of QP");
}

static void in_the_end_everything_has_completed_or_is_flushed(void **state)
{
	(void)state;
	kit_in_plain_world(ends);
}

/* ------------------------------------------------------------------------ errors */
static void flush(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr = post(w, e, RN_WR_SEND);

	end_with(w, e, wr, RN_WC_WR_FLUSH_ERR);
	kit_assert_says(w, "with status 5, for which there was no reason");
	wr = post(w, e, RN_WR_SEND);
	e->may_flush = true;
	end_with(w, e, wr, RN_WC_WR_FLUSH_ERR);
	kit_assert_says(w, "");
	assert_false(e->alive);
}

static void a_flush_has_a_reason(void **state)
{
	(void)state;
	kit_in_plain_world(flush);
}

static void retries(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr = post(w, e, RN_WR_SEND);

	e->account.attempts = KIT_RETRY + 1;
	e->pair->troubles = wr->troubles + KIT_RETRY;
	end_with(w, e, wr, RN_WC_RETRY_EXC_ERR);
	kit_assert_says(w, "with status 12, for which there was no reason");
	wr = post(w, e, RN_WR_SEND);
	e->pair->troubles = wr->troubles + KIT_RETRY + 1;
	end_with(w, e, wr, RN_WC_RETRY_EXC_ERR);
	kit_assert_says(w, "");
	wr = post(w, e, RN_WR_SEND);
	e->account.attempts = KIT_RETRY;
	e->pair->troubles = wr->troubles + KIT_RETRY + 1;
	end_with(w, e, wr, RN_WC_RETRY_EXC_ERR);
	kit_assert_says(w, "with status 12, for which there was no reason");
}

static void retries_run_out_after_as_many_losses_and_attempts(void **state)
{
	(void)state;
	kit_in_plain_world(retries);
}

static void rnr_retries(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_wr *wr = post(w, e, RN_WR_SEND);

	e->rnrs = wr->rnrs + KIT_RETRY;
	end_with(w, e, wr, RN_WC_RNR_RETRY_EXC_ERR);
	kit_assert_says(w, "with status 13, for which there was no reason");
	wr = post(w, e, RN_WR_SEND);
	e->rnrs = wr->rnrs + KIT_RETRY + 1;
	end_with(w, e, wr, RN_WC_RNR_RETRY_EXC_ERR);
	kit_assert_says(w, "");
	wr = post(w, e, RN_WR_SEND);
	e->rnrs = wr->rnrs + 100;
	w->plan.pair[0].rnr_retry = 7; /* for ever */
	end_with(w, e, wr, RN_WC_RNR_RETRY_EXC_ERR);
	kit_assert_says(w, "with status 13, for which there was no reason");
}

static void rnr_retries_run_out_after_as_many_rnr_naks(void **state)
{
	(void)state;
	kit_in_plain_world(rnr_retries);
}

/* ---------------------------------------------------------------------- receives */
static void receive(struct rn_world *w, const struct rn_w_end *e,
		    const struct rn_w_wr *wr, uint32_t len)
{
	complete_with(w, e, wr->id, RN_WC_RECV, RN_WC_SUCCESS, len);
}

/* The peer of @e has sent a message that is its number @number, from 0. */
static void send_to(const struct rn_w_end *e, uint32_t number, uint32_t len)
{
	struct rn_w_end *from = e->peer;

	from->expected[number] = (struct rn_w_wr){
		.id = number + 1, .opcode = RN_WR_SEND, .len = len, .pattern = KIT_PATTERN
	};
	from->messages_sent = number + 1;
}

static void messages(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	const struct rn_w_wr *wr = e->rq.wr;

	receive(w, e, &wr[0], 0);
	kit_assert_says(w, "receives a message that was not sent");
	send_to(e, 0, 0);
	receive(w, e, &wr[1], 1);
	kit_assert_says(w, "receives 1 bytes of 1, which has 0");
	send_to(e, 1, 16);
	kit_write(w, e, rn_w_slot_address(&w->device[1], wr[2].slot), 0, 15);
	receive(w, e, &wr[2], 16);
	kit_assert_says(w, "receives 2, and the bytes are others");
	send_to(e, 2, 16);
	kit_write(w, e, rn_w_slot_address(&w->device[1], wr[3].slot), 0, 16);
	receive(w, e, &wr[3], 16);
	kit_assert_says(w, "");
	receive(w, e, &wr[3], 16);
	kit_assert_says(w, "completes a receive that is not the oldest");
}

static void a_receive_has_the_length_and_bytes_of_its_message(void **state)
{
	(void)state;
	kit_in_plain_world(messages);
}

static void receive_order(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 1);
	const struct rn_w_wr *wr = e->rq.wr;

	send_to(e, 0, 0);
	receive(w, e, &wr[1], 0);
	kit_assert_says(w, "completes a receive that is not the oldest");
	receive(w, e, &wr[0], 0);
	kit_assert_says(w, "");
}

static void receives_complete_in_order(void **state)
{
	(void)state;
	kit_in_plain_world(receive_order);
}

/* ------------------------------------------------------ events, completion queues */
static void srq_limit(struct rn_world *w)
{
	struct rn_w_device *d = &w->device[0];
	const struct rn_event ev = { .async = RN_EVENT_SRQ_LIMIT_REACHED,
				     .srq = d->srq[0].srq };

	d->srq[0].limit = 1;
	rn_w_check_event(d, &ev);
	kit_assert_says(w, "");
	assert_int_equal(d->srq[0].limit, 0);
	rn_w_check_event(d, &ev);
	kit_assert_says(w, "says that it runs empty");
}

static void an_srq_tells_of_its_limit_once(void **state)
{
	(void)state;
	kit_in_plain_world(srq_limit);
}

/* A completion stands at the place of the next one in @q. */
static void put_cqe(struct rn_w_device *d, const struct rn_w_cq *q, uint32_t index,
		    uint64_t id)
{
	const uint32_t lap = index / q->cq.capacity + 1;
	const struct rn_cqe cqe = {
		.wr_id = id,
		.qpn = d->w->pair[0].end[0].qpn,
		.ctl = rn_cqe_ctl(lap, 0, RN_WC_RDMA_WRITE, RN_WC_SUCCESS),
	};

	assert_true(rn_w_cq_write(d, q->cq.ring + index % q->cq.capacity * sizeof(cqe),
				  &cqe, sizeof(cqe)));
}

static void armed(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_device *d = &w->device[0];
	const struct rn_event ev = { .completion = true, .cq = &d->cq.cq };

	put_cqe(d, &d->cq, d->cq.seen, post(w, e, RN_WR_RDMA_WRITE)->id);
	rn_w_cq_poll(d);
	kit_assert_says(w, "");
	d->cq.armed = true;
	put_cqe(d, &d->cq, d->cq.seen, post(w, e, RN_WR_RDMA_WRITE)->id);
	rn_w_cq_poll(d);
	kit_assert_says(w, "has a completion and does not tell");

	rn_w_check_event(d, &ev);
	kit_assert_says(w, "");
	assert_false(d->cq.armed);
	rn_w_cq_poll(d);
	kit_assert_says(w, "tells of a completion that is not there");
	rn_w_check_event(d, &ev);
	kit_assert_says(w, "tells of a completion and was not asked");
}

static void an_armed_queue_tells_of_its_next_completion(void **state)
{
	(void)state;
	kit_in_plain_world(armed);
}

static void full(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_device *d = &w->device[0];
	struct rn_w_cq *q = &e->own_cq;
	const struct rn_event ev = { .async = RN_EVENT_CQ_ERR, .cq = &q->cq };
	const struct rn_event shared = { .async = RN_EVENT_CQ_ERR, .cq = &d->cq.cq };

	rn_w_check_event(d, &shared);
	kit_assert_says(w, "has lost a completion, with room for it");
	for (uint32_t i = 0; i < q->cq.capacity; i++) {
		rn_w_check_event(d, &ev);
		kit_assert_says(w, "has lost a completion, with room for it");
		assert_false(q->overrun || e->may_flush);
		put_cqe(d, q, i, 1);
	}
	rn_w_check_event(d, &ev);
	kit_assert_says(w, "");
	assert_true(q->overrun && e->may_flush && !e->alive);
}

static void a_queue_loses_completions_only_when_it_is_full(void **state)
{
	struct rn_plan plan = kit_plan();

	(void)state;
	plan.pair[0].own_cq = 1;
	kit_in_world(&plan, full);
}

static void overrun(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);

	e->own_cq.overrun = true;
	rn_w_cq_poll(&w->device[0]);
	kit_assert_says(w, "goes on without its completions");
	rn_w_to_error(w, e);
	rn_w_cq_poll(&w->device[0]);
	kit_assert_says(w, "");
}

static void a_queue_pair_ends_when_its_completions_are_lost(void **state)
{
	struct rn_plan plan = kit_plan();

	(void)state;
	plan.pair[0].own_cq = 1;
	kit_in_world(&plan, overrun);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_atomic_completes_once_done_and_reports_what_it_found),
		cmocka_unit_test(a_write_completes_with_its_bytes_at_the_target),
		cmocka_unit_test(a_read_completes_with_its_bytes),
		cmocka_unit_test(
			a_send_completes_after_its_receive_and_with_right_keys_only),
		cmocka_unit_test(requests_complete_once_in_order_and_if_they_ask),
		cmocka_unit_test(in_the_end_everything_has_completed_or_is_flushed),
		cmocka_unit_test(a_flush_has_a_reason),
		cmocka_unit_test(retries_run_out_after_as_many_losses_and_attempts),
		cmocka_unit_test(rnr_retries_run_out_after_as_many_rnr_naks),
		cmocka_unit_test(a_receive_has_the_length_and_bytes_of_its_message),
		cmocka_unit_test(receives_complete_in_order),
		cmocka_unit_test(an_srq_tells_of_its_limit_once),
		cmocka_unit_test(an_armed_queue_tells_of_its_next_completion),
		cmocka_unit_test(a_queue_loses_completions_only_when_it_is_full),
		cmocka_unit_test(a_queue_pair_ends_when_its_completions_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
