/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_validate.c - the validation layer alone: events in, findings out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "provider/validate/model/model.h"

/* ------------------------------------------------------------------ the layer */
static struct {
	unsigned count;
	enum rn_val_rule rule;
	char what[400];
} found;

static bool sink(void *arg, const struct rn_val_finding *f)
{
	(void)arg;
	found.count++;
	found.rule = f->rule;
	strncpy(found.what, f->what, sizeof(found.what) - 1);
	return true;
}

static int setup(void **state)
{
	memset(&found, 0, sizeof(found));
	*state = rn_val_new(RN_VAL_ALL, sink, NULL);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	rn_val_free(*state);
	return 0;
}

static char handles[16]; /* addresses of objects */
enum {
	CONTEXT,
	PD,
	MR,
	CQ,
	QP,
	OTHER_MR,
	MW,
	OTHER_QP
};

static void make(struct rn_val *v, unsigned handle, struct rn_val_make m)
{
	struct rn_val_event e = { .kind = RN_VAL_MAKE,
				  .is_done = true,
				  .verb = "make",
				  .handle = &handles[handle],
				  .stack = 100 + handle,
				  .make = m };

	rn_val_event(v, &e);
}

static void make_all(struct rn_val *v)
{
	make(v, CONTEXT, (struct rn_val_make){ .kind = RN_VAL_CONTEXT });
	make(v, PD, (struct rn_val_make){ .kind = RN_VAL_PD, .number = 1 });
	make(v, MR,
	     (struct rn_val_make){ .kind = RN_VAL_MR,
				   .number = 7,
				   .parent = { &handles[PD] },
				   .mr = { .iova = 4096,
					   .len = 4096,
					   .lkey = 7,
					   .rkey = 8,
					   .has_memory = true } });
	make(v, CQ, (struct rn_val_make){ .kind = RN_VAL_CQ, .cq.size = 4 });
	make(v, QP,
	     (struct rn_val_make){
		     .kind = RN_VAL_QP,
		     .number = 17,
		     .parent = { &handles[PD], &handles[CQ], &handles[CONTEXT] },
		     .qp = { .type = IBV_QPT_RC,
			     .cap = { .max_send_wr = 4, .max_send_sge = 1 },
			     .send_cq = &handles[CQ],
			     .recv_cq = &handles[CQ] } });
	rn_val_lookup(v, &handles[QP])->qp.state = IBV_QPS_RTS;
}

/* Takes an asynchronous event of the QP, in that thread. */
static void take_event(struct rn_val *v, uint64_t thread)
{
	struct rn_val_event e = { .kind = RN_VAL_ASYNC_EVENT,
				  .is_done = true,
				  .verb = "take",
				  .handle = &handles[QP],
				  .thread = thread };

	rn_val_event(v, &e);
}

/* Tells of a call that destroys an object. */
static void destroy(struct rn_val *v, unsigned handle, uint32_t stack, int rc)
{
	static const uint32_t none;
	struct rn_val_event e = { .kind = RN_VAL_DESTROY,
				  .verb = "destroy",
				  .handle = &handles[handle],
				  .stack = stack,
				  .destroy = { .of = RN_VAL_QP, .async_acked = &none } };

	rn_val_event(v, &e);
	e.is_done = true;
	e.rc = rc;
	rn_val_event(v, &e);
}

/* Posts a list to the QP; with @rc, all of it is refused. */
static void post_list(struct rn_val *v, const struct rn_val_request *r, uint32_t count,
		      uint32_t stack, int rc)
{
	struct rn_val_event e = { .kind = RN_VAL_POST_SEND,
				  .verb = "post",
				  .handle = &handles[QP],
				  .stack = stack,
				  .post = { .count = count, .request = r } };

	rn_val_event(v, &e);
	e.is_done = true;
	e.rc = rc;
	e.post.accepted = rc ? 0 : count;
	rn_val_event(v, &e);
}

static void post(struct rn_val *v, uint64_t wr_id, unsigned flags, uint32_t stack, int rc)
{
	struct ibv_sge sge = { .addr = 4096, .length = 8, .lkey = 7 };
	struct rn_val_request r = { .wr_id = wr_id,
				    .opcode = IBV_WR_SEND,
				    .flags = flags,
				    .sge_count = 1,
				    .sge = &sge };

	post_list(v, &r, 1, stack, rc);
}

static void complete(struct rn_val *v, uint64_t wr_id)
{
	struct ibv_wc wc = { .wr_id = wr_id, .qp_num = 17 };
	struct rn_val_event e = { .kind = RN_VAL_COMPLETION,
				  .is_done = true,
				  .verb = "poll",
				  .handle = &handles[CQ],
				  .completion.wc = &wc };

	rn_val_event(v, &e);
}

/* A message arrives, in a receive that the model does not know. */
static void receive(struct rn_val *v, unsigned wc_flags, uint32_t invalidated_rkey)
{
	struct ibv_wc wc = { .qp_num = 17,
			     .opcode = IBV_WC_RECV,
			     .wc_flags = wc_flags,
			     .invalidated_rkey = invalidated_rkey };
	struct rn_val_event e = { .kind = RN_VAL_COMPLETION,
				  .is_done = true,
				  .verb = "poll",
				  .handle = &handles[CQ],
				  .completion = { .wc = &wc, .is_recv = true } };

	rn_val_event(v, &e);
}

static const struct rn_val_queue *sends(const struct rn_val *v)
{
	return &rn_val_lookup(v, &handles[QP])->qp.send;
}

/* ---------------------------------------------------------------------- tests */
static void a_site_is_reported_once_and_counted(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	destroy(v, PD, 1, EBUSY);
	destroy(v, PD, 1, EBUSY);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_LIFE_DESTROY_ORDER);
	assert_int_equal(rn_val_totals(v).occurrences, 2);
	destroy(v, PD, 2, EBUSY);
	assert_int_equal(found.count, 2);
	assert_int_equal(rn_val_totals(v).findings, 2);
}

static void what_is_gone_is_told_until_its_address_is_used_again(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	destroy(v, QP, 1, 0);
	destroy(v, QP, 2, ENOENT);
	assert_int_equal(found.rule, RN_VAL_LIFE_USE_AFTER_DESTROY);
	make(v, QP, (struct rn_val_make){ .kind = RN_VAL_QP, .number = 18 });
	destroy(v, QP, 3, 0);
	assert_int_equal(found.count, 1);
}

/* A poll is told once, when it has returned. */
static void a_poll_of_a_queue_that_is_gone_is_found(void **state)
{
	struct rn_val *v = *state;
	struct rn_val_event e = { .kind = RN_VAL_POLL,
				  .is_done = true,
				  .verb = "poll",
				  .handle = &handles[CQ],
				  .poll.got = -EINVAL };

	make(v, CQ, (struct rn_val_make){ .kind = RN_VAL_CQ, .cq.size = 4 });
	rn_val_event(v, &e);
	assert_int_equal(found.count, 0);
	destroy(v, CQ, 1, 0);
	e.object = NULL;
	rn_val_event(v, &e);
	assert_int_equal(found.rule, RN_VAL_LIFE_USE_AFTER_DESTROY);
}

/* Whoever tells that an object is destroyed has waited for other threads. */
static void an_event_that_nobody_acknowledges_is_a_finding(void **state)
{
	static const uint32_t acked = 1;
	struct rn_val *v = *state;
	struct rn_val_event e = { .kind = RN_VAL_DESTROY,
				  .verb = "destroy",
				  .handle = &handles[QP],
				  .destroy = { .of = RN_VAL_QP, .async_acked = &acked } };

	make_all(v);
	take_event(v, 2);
	assert_false(rn_val_is_unacked(v, &e));
	rn_val_event(v, &e);
	assert_int_equal(found.count, 0);
	take_event(v, 2);
	assert_true(rn_val_is_unacked(v, &e));
	rn_val_event(v, &e);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_LIFE_ASYNC_UNACKED);
}

/* Counters of an object that is no such thing are not there. */
static void counters_of_another_kind_are_not_read(void **state)
{
	struct rn_val *v = *state;
	const uint32_t *nowhere = (const uint32_t *)1;
	struct rn_val_event e = {
		.kind = RN_VAL_DESTROY,
		.verb = "ibv_destroy_cq",
		.handle = &handles[PD],
		.destroy = { .of = RN_VAL_CQ, .acked = nowhere, .async_acked = nowhere }
	};

	make_all(v);
	rn_val_event(v, &e);
	assert_int_equal(found.count, 0);
}

static void severities_that_were_not_asked_for_are_not_found(void **state)
{
	struct rn_val *v = rn_val_new(1U << RN_VAL_LEAK, sink, NULL);

	(void)state;
	make_all(v);
	destroy(v, PD, 1, EBUSY);
	assert_int_equal(found.count, 0);
	assert_int_equal(rn_val_totals(v).occurrences, 0);
	rn_val_free(v);
}

static bool hide(void *arg, const struct rn_val_finding *f)
{
	(void)arg;
	(void)f;
	return false;
}

static void what_is_not_shown_is_counted_apart(void **state)
{
	struct rn_val *v = rn_val_new(RN_VAL_ALL, hide, NULL);

	(void)state;
	make_all(v);
	destroy(v, PD, 1, EBUSY);
	destroy(v, PD, 1, EBUSY);
	destroy(v, PD, 2, EBUSY);
	assert_int_equal(rn_val_totals(v).findings, 0);
	assert_int_equal(rn_val_totals(v).occurrences, 0);
	assert_int_equal(rn_val_totals(v).suppressed, 2);
	assert_int_equal(rn_val_totals(v).suppressed_occurrences, 3);
	rn_val_free(v);
}

/* A success is that of a request that was to tell, whatever the names of the others. */
static void a_completion_ends_all_requests_before(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	post(v, 5, 0, 1, 0);
	post(v, 5, IBV_SEND_SIGNALED, 1, 0);
	post(v, 6, 0, 1, 0);
	assert_int_equal(sends(v)->count, 3);
	assert_int_equal(rn_val_lookup(v, &handles[CQ])->cq.promised, 1);
	complete(v, 5);
	assert_int_equal(sends(v)->count, 1);
	assert_int_equal(rn_val_queued(sends(v), 0)->wr_id, 6);
	assert_int_equal(rn_val_lookup(v, &handles[CQ])->cq.promised, 0);
	assert_int_equal(found.count, 0);
}

/* A process with two devices may have QPs of one number. */
static void a_completion_is_of_the_device_of_its_queue(void **state)
{
	static char context[2], cq[2], qp[2];
	struct rn_val *v = *state;
	struct ibv_wc wc = { .wr_id = 1, .qp_num = 17 };
	struct rn_val_event e = { .kind = RN_VAL_COMPLETION,
				  .is_done = true,
				  .verb = "poll",
				  .handle = &cq[0],
				  .completion = { .wc = &wc } };

	for (unsigned i = 0; i < 2; i++) {
		const struct rn_val_make made[] = {
			{ .kind = RN_VAL_CONTEXT, .number = 1 + i },
			{ .kind = RN_VAL_CQ, .parent = { &context[i] }, .cq.size = 4 },
			{ .kind = RN_VAL_QP,
			  .number = 17,
			  .parent = { &context[i], &cq[i] },
			  .qp = { .send_cq = &cq[i], .recv_cq = &cq[i] } }
		};
		const char *at[] = { &context[i], &cq[i], &qp[i] };

		for (unsigned k = 0; k < 3; k++)
			rn_val_event(v, &(struct rn_val_event){ .kind = RN_VAL_MAKE,
								.is_done = true,
								.verb = "make",
								.handle = at[k],
								.make = made[k] });
	}
	rn_val_event(v, &e);
	assert_ptr_equal(e.completion.qp, rn_val_lookup(v, &qp[0]));
	e.object = NULL;
	e.handle = &cq[1];
	rn_val_event(v, &e);
	assert_ptr_equal(e.completion.qp, rn_val_lookup(v, &qp[1]));
}

static void a_refused_request_is_taken_back(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	post(v, 1, IBV_SEND_SIGNALED, 1, 0);
	post(v, 2, IBV_SEND_SIGNALED, 1, ENOMEM);
	assert_int_equal(sends(v)->count, 1);
	assert_int_equal(rn_val_queued(sends(v), 0)->wr_id, 1);
	assert_int_equal(rn_val_lookup(v, &handles[CQ])->cq.promised, 1);
}

static void a_full_queue_without_signals_is_found(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	for (unsigned i = 0; i < 4; i++)
		post(v, i, 0, 1, 0);
	assert_int_equal(found.count, 0);
	post(v, 4, 0, 1, ENOMEM);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_QUEUES_NOTHING_SIGNALED);
}

static void reset_empties_the_queues(void **state)
{
	struct rn_val *v = *state;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct rn_val_event e = { .kind = RN_VAL_MODIFY,
				  .is_done = true,
				  .verb = "modify",
				  .handle = &handles[QP],
				  .modify = { .attr = &attr, .mask = IBV_QP_STATE } };

	make_all(v);
	post(v, 1, IBV_SEND_SIGNALED, 1, 0);
	rn_val_event(v, &e);
	assert_int_equal(sends(v)->count, 0);
	assert_int_equal(rn_val_lookup(v, &handles[CQ])->cq.promised, 0);
	assert_int_equal(rn_val_lookup(v, &handles[QP])->qp.state, IBV_QPS_RESET);
}

static void destroyed_objects_are_forgotten_at_last(void **state)
{
	struct rn_val *v = *state;
	static char many[2 * RN_VAL_GONE];

	for (size_t i = 0; i < sizeof(many); i++) {
		struct rn_val_event e = { .kind = RN_VAL_MAKE,
					  .is_done = true,
					  .handle = &many[i],
					  .make.kind = RN_VAL_PD };

		rn_val_event(v, &e);
		e = (struct rn_val_event){ .kind = RN_VAL_DESTROY, .handle = &many[i] };
		rn_val_event(v, &e);
		e.is_done = true;
		rn_val_event(v, &e);
	}
	assert_null(rn_val_lookup(v, &many[0]));
	assert_non_null(rn_val_lookup(v, &many[sizeof(many) - 1]));
	assert_int_equal(found.count, 0);
}

/* A request, and behind it a registration that ends at once, @count times. */
static void register_behind_requests(struct rn_val *v, unsigned count)
{
	const struct rn_val_make mr = { .kind = RN_VAL_MR,
					.number = 9,
					.parent = { &handles[PD] },
					.mr = { .iova = 8192, .len = 4096, .lkey = 9 } };

	for (unsigned i = 0; i < count; i++) {
		post(v, i, IBV_SEND_SIGNALED, 1, 0);
		complete(v, i);
		make(v, OTHER_MR, mr);
		destroy(v, OTHER_MR, 1, 0);
	}
}

static void memory_that_is_often_registered_behind_requests_is_found(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	register_behind_requests(v, 200);
	assert_int_equal(found.count, 0);
	register_behind_requests(v, 100);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_PERFORMANCE_REG_IN_DATA_PATH);
}

/* What the kernel does with pages is not the same on every machine. */
static void a_fork_with_registered_memory_is_found(void **state)
{
	struct rn_val *v = *state;
	struct rn_val_event e = {
		.kind = RN_VAL_FORK, .is_done = true, .verb = "fork", .fork.is_safe = true
	};

	make_all(v);
	rn_val_lookup(v, &handles[MR])->mr.addr = 4096;
	rn_val_event(v, &e);
	assert_int_equal(found.count, 0);
	e.fork.is_safe = false;
	rn_val_event(v, &e);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_LIFE_FORK_WITHOUT_INIT);
}

static bool copies_nothing(uint64_t addr, uint64_t len)
{
	return addr != 4096 || len != 4096;
}

static void a_fork_with_shared_memory_is_no_finding(void **state)
{
	struct rn_val *v = *state;
	struct rn_val_event e = { .kind = RN_VAL_FORK, .is_done = true, .verb = "fork" };

	make_all(v);
	rn_val_lookup(v, &handles[MR])->mr.addr = 4096;
	rn_val_set_fork_probe(v, copies_nothing);
	rn_val_event(v, &e);
	assert_int_equal(found.count, 0);
}

/* librdmacm closes its contexts when it is unloaded. */
static void a_context_without_objects_is_no_leak(void **state)
{
	struct rn_val *v = *state;
	struct rn_val_event e = { .kind = RN_VAL_EXIT, .is_done = true, .verb = "exit" };

	make(v, QP, (struct rn_val_make){ .kind = RN_VAL_CONTEXT });
	rn_val_event(v, &e);
	assert_int_equal(found.count, 0);
	make(v, PD,
	     (struct rn_val_make){ .kind = RN_VAL_PD, .parent = { &handles[QP] } });
	rn_val_event(v, &e);
	assert_int_equal(found.count, 2);
}

/* An object at the address of a channel: nobody told that the channel was destroyed. */
static void an_address_that_is_used_again_ends_its_channel(void **state)
{
	struct rn_val *v = *state;

	make(v, CQ, (struct rn_val_make){ .kind = RN_VAL_CHANNEL });
	make(v, CQ, (struct rn_val_make){ .kind = RN_VAL_PD });
	assert_int_equal(v->living_of[RN_VAL_CHANNEL], 0);
	destroy(v, CQ, 1, 0);
	assert_int_equal(found.count, 0);
	destroy(v, CQ, 2, ENOENT);
	assert_int_equal(found.rule, RN_VAL_LIFE_USE_AFTER_DESTROY);
}

/* Another registration may get the key of a region that is gone. */
static void a_late_completion_is_not_of_memory_with_the_same_key(void **state)
{
	const struct rn_val_make again = {
		.kind = RN_VAL_MR,
		.number = 7,
		.parent = { &handles[PD] },
		.mr = { .iova = 4096, .len = 4096, .lkey = 7, .rkey = 8 }
	};
	struct rn_val *v = *state;

	make_all(v);
	post(v, 1, IBV_SEND_SIGNALED, 1, 0);
	destroy(v, MR, 1, 0);
	make(v, OTHER_MR, again);
	post(v, 2, IBV_SEND_SIGNALED, 1, 0);
	complete(v, 1);
	assert_int_equal(rn_val_lookup(v, &handles[OTHER_MR])->outstanding, 1);
	complete(v, 2);
	assert_int_equal(rn_val_lookup(v, &handles[OTHER_MR])->outstanding, 0);
}

static void a_key_that_the_peer_has_invalidated_is_not_bound(void **state)
{
	struct rn_val *v = *state;
	struct rn_val_object *mw;

	make_all(v);
	make(v, MW,
	     (struct rn_val_make){ .kind = RN_VAL_MW,
				   .number = 0x9,
				   .parent = { &handles[PD], &handles[CONTEXT] },
				   .mw = { .type = IBV_MW_TYPE_2, .rkey = 0x901 } });
	mw = rn_val_lookup(v, &handles[MW]);
	mw->mw.is_bound = true;
	receive(v, 0, 0x901); /* immediate data, perhaps */
	assert_true(mw->mw.is_bound);
	receive(v, IBV_WC_WITH_INV, 0x902); /* the key of another bind */
	assert_true(mw->mw.is_bound);
	receive(v, IBV_WC_WITH_INV, 0x901);
	assert_false(mw->mw.is_bound);
}

/* A process that opens a target QP gets a handle on one that may be connected. */
static void a_second_handle_on_a_qp_has_its_attributes(void **state)
{
	const struct rn_val_make target = { .kind = RN_VAL_QP,
					    .number = 17,
					    .parent = { &handles[CONTEXT] },
					    .qp.type = IBV_QPT_XRC_RECV };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct rn_val_event e = { .kind = RN_VAL_MODIFY,
				  .is_done = true,
				  .verb = "modify",
				  .handle = &handles[QP],
				  .modify = { .attr = &attr,
					      .mask = IBV_QP_STATE | IBV_QP_PORT } };
	struct rn_val *v = *state;

	make(v, CONTEXT, (struct rn_val_make){ .kind = RN_VAL_CONTEXT });
	make(v, QP, target);
	rn_val_event(v, &e);
	make(v, OTHER_QP, target);
	assert_int_equal(rn_val_lookup(v, &handles[OTHER_QP])->qp.state, IBV_QPS_INIT);
	assert_int_equal(rn_val_lookup(v, &handles[OTHER_QP])->qp.mask, e.modify.mask);
	assert_int_equal(rn_val_lookup(v, &handles[OTHER_QP])->qp.attr.port_num, 1);
}

/* The newest requests count, and those that were refused do not. */
static void a_cq_without_room_for_the_newest_request_is_found(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	for (unsigned i = 0; i < 4; i++)
		post(v, i, IBV_SEND_SIGNALED, 1, 0);
	post(v, 4, IBV_SEND_SIGNALED, 1, EINVAL);
	assert_int_equal(found.count, 0);
	post(v, 5, IBV_SEND_SIGNALED, 1, 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_QUEUES_CQ_TOO_SMALL);
	assert_non_null(strstr(found.what, "5 requests can complete"));
}

/* A message from the peer shows that requests before it were carried out, not that those
 * behind it were.
 */
static void an_answer_is_one_to_what_was_posted_before(void **state)
{
	struct rn_val *v = *state;

	make_all(v);
	post(v, 1, 0, 1, 0);
	receive(v, 0, 0);
	destroy(v, QP, 1, EINVAL);
	assert_int_equal(found.count, 0);
	post(v, 2, 0, 1, 0);
	destroy(v, QP, 2, EINVAL);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_QUEUES_LAST_UNSIGNALED);
}

/* Arms the CQ of completions that wait, and gets its event. */
static void wait_for_event(struct rn_val *v, bool is_polling)
{
	struct rn_val_event e = { .kind = RN_VAL_NOTIFY,
				  .is_done = true,
				  .verb = "notify",
				  .handle = &handles[CQ],
				  .thread = 1,
				  .notify.waiting = 1 };

	rn_val_event(v, &e);
	e = (struct rn_val_event){ .kind = RN_VAL_CQ_EVENT,
				   .is_done = true,
				   .verb = "wait",
				   .handle = &handles[CQ],
				   .thread = 1,
				   .cq_event.is_polling = is_polling };
	rn_val_event(v, &e);
}

/* Another thread that polls may have taken what waited. */
static void a_wakeup_is_not_lost_while_somebody_polls(void **state)
{
	static char channel;
	struct rn_val *v = *state;

	make(v, CQ,
	     (struct rn_val_make){ .kind = RN_VAL_CQ,
				   .cq = { .size = 4, .channel = &channel } });
	wait_for_event(v, true);
	assert_int_equal(found.count, 0);
	wait_for_event(v, false);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_QUEUES_LOST_WAKEUP);
}

/* ... and a fence before it ends what is looked at. */
static void a_read_is_found_behind_other_requests(void **state)
{
	struct ibv_sge same = { .addr = 4096, .length = 8, .lkey = 7 };
	struct ibv_sge other = { .addr = 4196, .length = 8, .lkey = 7 };
	struct rn_val_request r[] = {
		{ .opcode = IBV_WR_RDMA_READ, .sge_count = 1, .sge = &same },
		{ .opcode = IBV_WR_SEND, .sge_count = 1, .sge = &other },
		{ .opcode = IBV_WR_SEND,
		  .flags = IBV_SEND_SIGNALED,
		  .sge_count = 1,
		  .sge = &same },
	};
	struct rn_val *v = *state;

	make_all(v);
	rn_val_lookup(v, &handles[MR])->mr.access = IBV_ACCESS_LOCAL_WRITE;
	r[1].flags = IBV_SEND_FENCE;
	post_list(v, r, 3, 1, 0);
	complete(v, 0);
	assert_int_equal(found.count, 0);
	r[1].flags = 0;
	post_list(v, r, 3, 1, 0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_MEMORY_READ_NOT_FENCED);
}

/* Requests that were posted behind the RNR NAK have not met it. */
static void only_requests_of_then_have_waited_for_receives(void **state)
{
	struct rn_val *v = *state;
	struct rn_val_event e = { .kind = RN_VAL_RNR,
				  .is_done = true,
				  .verb = "poll",
				  .handle = &handles[QP],
				  .rnr = { .received = 1, .waiting = 2, .wr_id = 1 } };

	make_all(v);
	for (unsigned i = 0; i < 4; i++)
		post(v, i, IBV_SEND_SIGNALED, 1, 0);
	rn_val_event(v, &e);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.rule, RN_VAL_QUEUES_RECEIVES_EXHAUSTED);
	assert_non_null(strstr(found.what, "request 0x1 of"));
	assert_non_null(strstr(found.what, "2 messages waited"));
}

/* --------------------------------------------------------------- other processes */
static uint32_t answering_process; /* 0: none publishes its objects */
static bool has_windows;

static bool find_no_qp(const union ibv_gid *gid, uint32_t qpn, struct rn_val_end *end)
{
	(void)gid;
	(void)qpn;
	(void)end;
	return false;
}

static bool find_no_mr(uint32_t process, uint32_t device, uint32_t rkey,
		       struct rn_val_end *end)
{
	(void)process;
	(void)device;
	(void)rkey;
	end->process = answering_process;
	end->has_windows = has_windows;
	return false;
}

/* Only of a process that tells of its objects, and has no windows, is a key unknown. */
static void a_key_is_unknown_to_a_process_of_which_something_is_known(void **state)
{
	static const struct rn_val_ends ends = { find_no_qp, find_no_mr };
	const struct rn_val_object peer = { .kind = RN_VAL_QP, .process = 70 };
	struct rn_val *v = *state;
	bool is_window = false;

	rn_val_set_ends(v, &ends);
	answering_process = 0;
	has_windows = false;
	assert_null(rn_val_mr_at(v, &peer, 5, &is_window));
	assert_true(is_window);
	answering_process = 70;
	assert_null(rn_val_mr_at(v, &peer, 5, &is_window));
	assert_false(is_window);
	has_windows = true;
	assert_null(rn_val_mr_at(v, &peer, 5, &is_window));
	assert_true(is_window);
}

static void rules_have_all_their_parts(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_VAL_RULE_COUNT; i++) {
		const struct rn_val_rule_info *r = rn_val_rule_info(i);
		const char *category = rn_val_category_name(r->category);

		assert_memory_equal(r->name, category, strlen(category));
		assert_int_equal(r->name[strlen(category)], '/');
		assert_true(*r->text && *r->source && *r->remedy);
		assert_string_equal(r->text + strlen(r->text) - 1, ".");
	}
}

static void words_choose_severities(void **state)
{
	struct rn_val_options o = { 0 };

	(void)state;
	assert_true(rn_val_option(&o, "portability"));
	assert_int_equal(o.severities, 1U << RN_VAL_PORTABILITY);
	assert_true(o.is_on);
	assert_true(rn_val_option(&o, "all"));
	assert_int_equal(o.severities, RN_VAL_ALL);
	assert_true(rn_val_option(&o, "off"));
	assert_false(o.is_on);
	assert_false(rn_val_option(&o, "eror"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define LAYER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
		LAYER(a_site_is_reported_once_and_counted),
		LAYER(what_is_gone_is_told_until_its_address_is_used_again),
		LAYER(a_poll_of_a_queue_that_is_gone_is_found),
		LAYER(an_event_that_nobody_acknowledges_is_a_finding),
		LAYER(counters_of_another_kind_are_not_read),
		LAYER(severities_that_were_not_asked_for_are_not_found),
		cmocka_unit_test(what_is_not_shown_is_counted_apart),
		LAYER(a_completion_ends_all_requests_before),
		LAYER(a_completion_is_of_the_device_of_its_queue),
		LAYER(a_refused_request_is_taken_back),
		LAYER(a_full_queue_without_signals_is_found),
		LAYER(reset_empties_the_queues),
		LAYER(destroyed_objects_are_forgotten_at_last),
		LAYER(memory_that_is_often_registered_behind_requests_is_found),
		LAYER(a_fork_with_registered_memory_is_found),
		LAYER(a_fork_with_shared_memory_is_no_finding),
		LAYER(a_context_without_objects_is_no_leak),
		LAYER(an_address_that_is_used_again_ends_its_channel),
		LAYER(a_late_completion_is_not_of_memory_with_the_same_key),
		LAYER(a_key_that_the_peer_has_invalidated_is_not_bound),
		LAYER(a_second_handle_on_a_qp_has_its_attributes),
		LAYER(a_cq_without_room_for_the_newest_request_is_found),
		LAYER(an_answer_is_one_to_what_was_posted_before),
		LAYER(a_wakeup_is_not_lost_while_somebody_polls),
		LAYER(a_read_is_found_behind_other_requests),
		LAYER(only_requests_of_then_have_waited_for_receives),
		LAYER(a_key_is_unknown_to_a_process_of_which_something_is_known),
		cmocka_unit_test(rules_have_all_their_parts),
		cmocka_unit_test(words_choose_severities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
