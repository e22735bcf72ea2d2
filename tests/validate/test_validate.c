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

static char handles[8]; /* addresses of objects */
enum {
	PD,
	MR,
	CQ,
	QP,
	OTHER_MR
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
	     (struct rn_val_make){ .kind = RN_VAL_QP,
				   .number = 17,
				   .parent = { &handles[PD], &handles[CQ] },
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

static void post(struct rn_val *v, uint64_t wr_id, unsigned flags, uint32_t stack, int rc)
{
	struct ibv_sge sge = { .addr = 4096, .length = 8, .lkey = 7 };
	struct rn_val_request r = { .wr_id = wr_id,
				    .opcode = IBV_WR_SEND,
				    .flags = flags,
				    .sge_count = 1,
				    .sge = &sge };
	struct rn_val_event e = { .kind = RN_VAL_POST_SEND,
				  .verb = "post",
				  .handle = &handles[QP],
				  .stack = stack,
				  .post = { .count = 1, .request = &r } };

	rn_val_event(v, &e);
	e.is_done = true;
	e.rc = rc;
	e.post.accepted = rc == 0;
	rn_val_event(v, &e);
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
		cmocka_unit_test(rules_have_all_their_parts),
		cmocka_unit_test(words_choose_severities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
