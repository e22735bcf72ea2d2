/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_world_network.c - packets of a world on their way, and the account of retries. */
#include "world_kit.h"

#define LEAST ((rn_ns)4096 << KIT_TIMEOUT) /* that a requester waits for */

/* A SEND of end 0, without data. */
static struct rn_vnet_packet send_only(struct rn_world *w, uint32_t psn)
{
	const struct rn_bth bth = { .opcode = RN_RC_SEND_ONLY,
				    .pkey = 0xffff,
				    .dest_qpn = kit_end(w, 1)->qpn,
				    .psn = rn_psn(psn) };
	struct rn_vnet_packet p = { .to = 1, .len = RN_BTH_LEN + RN_ICRC_LEN };

	p.flow = (struct rn_flow){ .src = w->net->host[0].gid,
				   .dst = w->net->host[1].gid,
				   .ifindex = 7,
				   .tclass = RN_ECN_ECT0,
				   .hop_limit = 64 };
	rn_bth_emit(p.bytes, &bth);
	rn_icrc_seal(&p.flow, 0, p.bytes, RN_BTH_LEN);
	return p;
}

enum where {
	AT_SWITCH,
	AT_DEVICE,
};

/* The link from the switch to device 1. */
static struct rn_link *down_link(struct rn_world *w)
{
	return &w->net->port[rn_vnet_port_of(w->net, RN_VNET_SWITCH, 1)].link;
}

/* What happens next is that a packet comes there. Return: the packet. */
static struct rn_vnet_packet *go_on(struct rn_world *w, enum where where)
{
	struct rn_vnet_packet *p = &w->net->packet[w->net->heap.item[0].arg];

	assert_int_equal(rn_vnet_next(w->net), rn_heap_next(&w->net->heap));
	assert_ptr_equal(&w->net->port[p->port].link,
			 where == AT_SWITCH ? &w->net->port[0].link : down_link(w));
	rn_vnet_step(w->net);
	return p;
}

/* What happens to one in the whole. */
static void every_packet_is(struct rn_world *w, enum rn_plan_harm harm)
{
	w->plan.fault[0] = (struct rn_plan_fault){
		.harm = harm, .dev = 1, .until = RN_NEVER, .ppm = 1000000, .by = 1
	};
	w->fault_random[0] = (struct rn_random){ 1 };
	w->plan.faults = 1;
}

static void damage(struct rn_world *w)
{
	struct rn_vnet_packet p = send_only(w, KIT_PSN);
	struct rn_w_end *e = kit_end(w, 0);

	every_packet_is(w, RN_HARM_CORRUPT);
	rn_w_leave(&w->device[0], &p);
	assert_true(go_on(w, AT_SWITCH)->damaged);
	go_on(w, AT_DEVICE);
	assert_int_equal(e->arrived.v, KIT_PSN);
	assert_int_equal(e->pair->troubles, 1);
	assert_int_equal(e->account.losses, 1);

	w->plan.faults = 0;
	e->expected[0] = (struct rn_w_wr){ .opcode = RN_WR_SEND };
	e->messages_sent = 1;
	rn_w_leave(&w->device[0], &p);
	assert_false(go_on(w, AT_SWITCH)->damaged);
	go_on(w, AT_DEVICE);
	assert_int_equal(e->arrived.v, KIT_PSN + 1);
	assert_int_equal(e->pair->troubles, 1);
	kit_assert_says(w, "");
}

static void a_damaged_packet_has_not_arrived(void **state)
{
	(void)state;
	kit_in_plain_world(damage);
}

static void marks(struct rn_world *w)
{
	const struct rn_link_cfg busy = { .rate = 1000000000,
					  .ecn_min = 1,
					  .ecn_max = 1 };
	struct rn_vnet_packet p = send_only(w, KIT_PSN);

	rn_link_init(down_link(w), &busy, 1);
	rn_w_leave(&w->device[0], &p);
	assert_int_equal(go_on(w, AT_SWITCH)->flow.tclass, RN_ECN_ECT0);
	rn_heap_take(&w->net->heap);
	rn_w_leave(&w->device[0], &p);
	rn_link_send(down_link(w), rn_heap_next(&w->net->heap), 1000, false);
	assert_int_equal(go_on(w, AT_SWITCH)->flow.tclass, RN_ECN_CE);
}

static void both_links_mark(void **state)
{
	(void)state;
	kit_in_plain_world(marks);
}

/* Troubles that a packet makes which is so long on the link to its device. */
static uint32_t troubles_after(struct rn_world *w, rn_ns delay)
{
	const struct rn_link_cfg slow = { .delay = delay };
	struct rn_vnet_packet p = send_only(w, KIT_PSN);
	uint32_t before = kit_end(w, 0)->pair->troubles;

	rn_link_init(down_link(w), &slow, 1);
	rn_w_leave(&w->device[0], &p);
	go_on(w, AT_SWITCH);
	rn_heap_take(&w->net->heap);
	return kit_end(w, 0)->pair->troubles - before;
}

static void lateness(struct rn_world *w)
{
	assert_int_equal(troubles_after(w, LEAST / 4), 0);
	assert_int_equal(troubles_after(w, LEAST / 4 + 1), 1);
	assert_int_equal(troubles_after(w, LEAST), 2);
	assert_int_equal(troubles_after(w, 5 * LEAST), 6);
}

static void a_late_packet_is_a_reason_for_as_many_timeouts_as_fit(void **state)
{
	(void)state;
	kit_in_plain_world(lateness);
}

/* ------------------------------------------------------------------ the account */
/* Requests with the PSNs KIT_PSN and up have left @e; the first is a READ if @read. */
static void ask(struct rn_w_end *e, uint32_t count, bool read)
{
	rn_w_account_reset(e, rn_psn(KIT_PSN));
	e->next_psn = rn_psn(KIT_PSN);
	for (uint32_t i = 0; i < count; i++) {
		rn_w_account_asked(e, e->next_psn, 1, read && i == 0);
		e->next_psn = rn_psn_add(e->next_psn, 1);
	}
}

static void answers(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);

	ask(e, 4, false);
	rn_w_account_answered(e, rn_psn(KIT_PSN + 1), false, true);
	assert_int_equal(e->account.una.v, KIT_PSN + 2);
	ask(e, 4, true);
	rn_w_account_answered(e, rn_psn(KIT_PSN + 1), false, true);
	assert_int_equal(e->account.una.v, KIT_PSN);
	rn_w_account_answered(e, rn_psn(KIT_PSN), true, true);
	assert_int_equal(e->account.una.v, KIT_PSN + 1);
}

static void an_ack_does_not_answer_a_read_in_front_of_it(void **state)
{
	(void)state;
	kit_in_plain_world(answers);
}

static void attempts(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);

	ask(e, 2, false);
	for (uint32_t i = 0; i < KIT_RETRY; i++) {
		assert_false(rn_w_account_is_spent(e));
		rn_w_account_asked(e, rn_psn(KIT_PSN + 1), 1, false);
		rn_w_account_asked(e, rn_psn(KIT_PSN), 1, false);
	}
	assert_true(rn_w_account_is_spent(e));
	rn_w_account_answered(e, rn_psn(KIT_PSN), false, true);
	assert_false(rn_w_account_is_spent(e));
}

static void a_request_is_given_up_after_so_many_attempts(void **state)
{
	(void)state;
	kit_in_plain_world(attempts);
}

/* The queue pair of @e counts a timeout: it has counted one more than we have seen. */
static void count_timeout(struct rn_world *w, struct rn_w_end *e)
{
	rn_qp_retries(e->qp, &e->account.seen);
	e->account.seen.timeouts--;
	rn_w_account_check(w, e);
}

static void timeouts(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);

	ask(e, 4, true);
	w->net->now += LEAST - 1;
	count_timeout(w, e);
	kit_assert_says(w, "counts a timeout 4194303 ns after its peer was heard of");

	ask(e, 4, true);
	w->net->now += LEAST;
	count_timeout(w, e);
	kit_assert_says(w, "");

	/* Behind a gap the peer is heard of. */
	ask(e, 4, true);
	w->net->now += LEAST;
	rn_w_account_answered(e, rn_psn(KIT_PSN + 2), false, true);
	count_timeout(w, e);
	kit_assert_says(w, "counts a timeout 0 ns after its peer was heard of");
}

static void a_timeout_comes_so_long_after_the_last_answer(void **state)
{
	(void)state;
	kit_in_plain_world(timeouts);
}

/* -------------------------------------------------------------------- whole runs */
/* Requests that one end posts while every eleventh packet is lost. */
static struct rn_plan lossy_plan(void)
{
	struct rn_plan plan = kit_plan();

	plan.steps = 60;
	for (uint32_t i = 0; i < plan.steps; i++)
		plan.step[i] = (struct rn_plan_step){
			.at = RN_USEC(10 + 20 * i),
			.what = i % 3 ? RN_DO_SEND : RN_DO_RECV,
			.side = i % 3 ? 0 : 1,
			.seed = i,
		};
	plan.end = RN_USEC(10 + 20 * plan.steps);
	plan.pair[0].retry = plan.pair[0].rnr_retry = 7;
	plan.fault[0] = (struct rn_plan_fault){
		.harm = RN_HARM_LOSS, .dev = 1, .until = plan.end, .ppm = 90000, .by = 1
	};
	plan.faults = 1;
	return plan;
}

static void forget_losses(void *ctx, rn_ns at, const char *line)
{
	struct rn_world *w = ctx;

	(void)at;
	(void)line;
	for (unsigned i = 0; i < 2; i++)
		kit_end(w, i)->account.losses = 0;
}

static void one_more_receive(void *ctx, rn_ns at, const char *line)
{
	struct rn_w_end *e = kit_end(ctx, 0);
	char moved[40];

	(void)at;
	snprintf(moved, sizeof(moved), "QP %x is moved to ERR", e->qpn);
	if (strcmp(line, moved) == 0)
		e->rq.tail++;
}

static void ignore(void *ctx, rn_ns at, const char *line)
{
	(void)ctx;
	(void)at;
	(void)line;
}

static void assert_run_says(const struct rn_plan *plan, rn_world_trace *meddle,
			    const char *text)
{
	struct rn_world *w = rn_world_new();
	struct rn_world_result r;

	assert_non_null(w);
	rn_world_run(w, plan, meddle, w, &r);
	if (!strstr(r.why, text) || r.failed != (text[0] != '\0'))
		fail_msg("'%s', not '%s'", r.why, text);
	rn_world_free(w);
}

static void a_retry_is_charged_for_what_was_lost(void **state)
{
	const struct rn_plan plan = lossy_plan();

	(void)state;
	assert_run_says(&plan, ignore, "");
	assert_run_says(&plan, forget_losses, "gaps as retries, and 0 packets were lost");
}

static void a_run_ends_with_every_receive_flushed(void **state)
{
	const struct rn_plan plan = kit_plan();

	(void)state;
	assert_run_says(&plan, ignore, "");
	assert_run_says(&plan, one_more_receive, "1 receives of QP");
}

/* --------------------------------------------------------------- while nothing moves */
/* A request of @e has been taken, and an answer asked for or not. */
static void be_taken(struct rn_w_end *e, bool asked)
{
	e->next_psn = e->taken = rn_psn(KIT_PSN + 1);
	e->told = rn_psn(KIT_PSN - 1);
	e->asked = asked;
}

#define SILENT "has received 000064 and does not answer"

static void silence(struct rn_world *w)
{
	struct rn_w_end *e = kit_end(w, 0);
	struct rn_w_device *answers = &w->device[e->peer->dev];

	rn_w_check_rest(w);
	kit_assert_says(w, ""); /* there was nothing to answer */
	be_taken(e, true);
	rn_w_check_rest(w);
	kit_assert_says(w, SILENT);
	e->told = rn_psn(KIT_PSN);
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	be_taken(e, false);
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	/* Another one is lost, and will be sent again. */
	be_taken(e, true);
	e->next_psn = rn_psn(KIT_PSN + 2);
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	/* Nobody is there. */
	be_taken(e, true);
	w->net->host[answers->number].stalled_until = w->net->now + 1;
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	w->net->host[answers->number].stalled_until = w->net->now;
	e->peer->alive = false;
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	e->peer->alive = true;
	/* The answer is on its way, or waits for memory or its time. */
	w->net->free_packets--;
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	w->net->free_packets++;
	w->mem_waiting++;
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	w->mem_waiting--;
	w->plan.cc = RN_CC_ON;
	rn_w_check_rest(w);
	kit_assert_says(w, "");
	w->plan.cc = RN_CC_OFF;
	rn_w_check_rest(w);
	kit_assert_says(w, SILENT);
	rn_w_observe_reset(e, KIT_PSN);
}

static void who_is_asked_for_an_answer_gives_one_before_the_world_rests(void **state)
{
	(void)state;
	kit_in_plain_world(silence);
}

static void failures(struct rn_world *w)
{
	struct rn_world_result *r = w->result;

	w->net->now = 5;
	rn_w_fail(w, "the %s", "first");
	w->net->now = 6;
	rn_w_fail(w, "the %s", "second");
	assert_string_equal(r->why, "the first");
	assert_int_equal(r->at, 5);
}

static void of_two_failures_the_first_is_shown(void **state)
{
	(void)state;
	kit_in_plain_world(failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_packet_has_not_arrived),
		cmocka_unit_test(both_links_mark),
		cmocka_unit_test(a_late_packet_is_a_reason_for_as_many_timeouts_as_fit),
		cmocka_unit_test(an_ack_does_not_answer_a_read_in_front_of_it),
		cmocka_unit_test(a_request_is_given_up_after_so_many_attempts),
		cmocka_unit_test(a_timeout_comes_so_long_after_the_last_answer),
		cmocka_unit_test(a_retry_is_charged_for_what_was_lost),
		cmocka_unit_test(a_run_ends_with_every_receive_flushed),
		cmocka_unit_test(
			who_is_asked_for_an_answer_gives_one_before_the_world_rests),
		cmocka_unit_test(of_two_failures_the_first_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
