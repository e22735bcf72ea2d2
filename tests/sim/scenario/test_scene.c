/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_scene.c - a scenario that is not as the device does it fails, and says how;
 * requests that a device only sends once more, in real time, are no failure.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "sim/scenario/virtual.h"

static struct rn_scene_result run_by(const struct rn_scene_ops *ops, const char *setup,
				     const char *lines)
{
	static struct rn_scenario s;
	struct rn_virtual *v = rn_virtual_new();
	struct rn_scene_result result;
	struct rn_scn_error err;
	char text[2048];
	int len;

	len = snprintf(text, sizeof(text), "# X1: y\nsetup %s\n%s", setup, lines);
	if (rn_scenario_parse(&s, text, (size_t)len, &err))
		fail_msg("%u:%u: %s", err.line, err.column, err.sentence);
	assert_non_null(v);
	rn_scene_run(&s, ops, v, &result);
	rn_virtual_free(v);
	return result;
}

static struct rn_scene_result run(const char *setup, const char *lines)
{
	return run_by(&rn_virtual_ops, setup, lines);
}

#define SEND "+0 < 1 RC_SEND_ONLY psn 100 len 64 ack\n"
#define ACK "+0 > 1 RC_ACK psn 100 msn 1\n"
#define WC "+0 wc 1 wr 1 success len 64\n"

static const struct {
	const char *setup, *lines;
	unsigned line;
	const char *what, *expected, *came;
} failures[] = {
	/* what nobody expects */
	{ "rc0", SEND WC "end\n", 5, "a packet left that no line expects", "",
	  "RC_ACK psn 100 msn 1 ack" },
	{ "rc0", SEND ACK "end\n", 5, "a completion came that no line expects", "",
	  "wc wr 1 success len 64" },
	{ "rc0", "qp 1 rtr\n" SEND ACK WC "end\n", 7, "an event was raised", "",
	  "comm_est" },
	{ "rc0", "+0 arm recv\n" SEND ACK WC "end\n", 7,
	  "a completion event came that no line expects", "", "" },
	{ "rc0", "+0 arm recv\n" SEND ACK WC "+0 comp send\nend\n", 7,
	  "no completion event came", "", "" },
	{ "rc",
	  "+0 post 1 send wr 1 len 8\n+0 > 1 RC_SEND_ONLY psn 200 len 8\nend quiet\n", 5,
	  "a packet left that no line expects, 268435.456us after", "",
	  "RC_SEND_ONLY psn 200 len 8 ack" },
	/* what does not come */
	{ "rc0", "+1ms > 1 RC_ACK psn 100\nend\n", 3, "nothing left", "RC_ACK psn 100",
	  "" },
	{ "rc0", "+1ms wc 1 wr 1\nend\n", 3, "no completion came", "", "" },
	{ "rc0", "+1ms event 1 comm_est\nend\n", 3, "no event was raised", "", "" },
	{ "rc0", "+1ms comp recv\nend\n", 3, "no completion event came", "", "" },
	/* connections */
	{ "asked", "+1ms event c rep\nend\n", 3, "the program learns of nothing", "",
	  "" },
	{ "asked", "+0 < c REP\nend\n", 4, "the program learns what no line expects", "",
	  "event rep" },
	{ "asked", "+0 < c REJ about req reason 28\n+0 event c rejected status 8\nend\n",
	  4, "another status", "", "event rejected status 28" },
	{ "asked", "+0 < c REP private a\n+0 event c rep private b\nend\n", 4,
	  "other private data", "", "event rep" },
	{ "asked", "+0 < c REP\n+0 event c rejected\nend\n", 4, "another event", "",
	  "event rep" },
	{ "asked", "conn d\n+0 < c REP\n+0 event d rep\nend\n", 5,
	  "an event of another connection", "", "event rep" },
	{ "asked", "conn d\n+0 listen d\n+0 < d REQ\n+0 event c req\nend\n", 6,
	  "an event of another connection", "", "event req" },
	{ "asked",
	  "+0 < c REJ about req reason 28 ari 4\n"
	  "+0 event c rejected status 28 ari 5\nend\n",
	  4, "more or less additional information", "", "event rejected status 28" },
	{ "answered", "+0 ready c private a\n+0 > c RTU\nend\n", 4,
	  "private is not as expected", "RTU", "private a" },
	{ "answered", "+0 ready c\n+0 > c REP\nend\n", 4, "another message", "REP",
	  "RTU" },
	{ "active", "+0 < c REP again\nend\n", 4, "a packet left that no line expects",
	  "", "RTU" },
	{ "active", "+0 > c DREQ\nend\n", 3, "nothing left", "DREQ", "" },
	{ "active", "+0 state c idle\nend\n", 3, "another state", "", "established" },
	{ "active", "+0 query c dest 1\nend\n", 3, "the queue pair is told 145", "",
	  "dest" },
	{ "active", "+0 count cm_stale\nend\n", 3, "the counter is 0", "", "" },
	/* what is other than expected */
	{ "rc0", SEND "+0 > 1 RC_ACK psn 101 msn 1\nend\n", 4, "psn is not as expected",
	  "RC_ACK psn 101 len 0 msn 1 ack", "RC_ACK psn 100 msn 1 ack" },
	{ "rc0", SEND "+0 > 1 RC_ACK psn 100 nak inv\nend\n", 4, "nak is not as expected",
	  "nak inv", "msn 1 ack" },
	{ "rc0", SEND "+0 > 1 RC_READ_RESPONSE_ONLY psn 100\nend\n", 4, "another opcode",
	  "RC_READ_RESPONSE_ONLY", "RC_ACK" },
	{ "rc0",
	  "+0 < 1 RC_READ_REQUEST psn 100 dmalen 8 ack\n"
	  "+0 > 1 RC_READ_RESPONSE_ONLY psn 100 len 8 data m+1\nend\n",
	  4, "the payload is not what the memory holds", "", "RC_READ_RESPONSE_ONLY" },
	{ "rc0", SEND ACK "+0 wc 1 wr 2 success\nend\n", 5, "another request", "",
	  "wc wr 1" },
	{ "rc0", SEND ACK "+0 wc 1 wr 1 loc_len_err\nend\n", 5, "another status", "",
	  "success" },
	{ "rc0", SEND ACK "+0 wc 1 wr 1 len 63\nend\n", 5, "another length", "",
	  "len 64" },
	{ "rc0", SEND ACK "+0 wc 1 wr 1 imm 7\nend\n", 5, "another immediate", "", "" },
	{ "rc0", "+0 modify 1 err\n+0 wc 1 wr 1\nend\n", 4, "another status", "",
	  "wr_flush_err" },
	{ "rc0",
	  "qp 2 rc rts epsn 5 psn 6 mtu 256 timeout 14 retry 3 rnr_retry 3 rnr_timer 12 "
	  "rd 2 dest_rd 2\n" SEND ACK "+0 wc 2 wr 1\nend\n",
	  6, "a completion of another queue pair", "", "wc wr 1" },
	{ "rc0", "+0 < 1 RC_SEND_ONLY psn 102 ack\n+0 > 1 RC_ACK psn 100\nend\n", 4,
	  "ack is not as expected", "RC_ACK psn 100", "nak psn_seq" },
	{ "rc0", SEND ACK WC "+0 state 1 err\nend\n", 6, "another state", "", "rts" },
	{ "rc0", SEND ACK WC "+0 query 1 epsn 100\nend\n", 6, "the PSN expected is 101",
	  "", "" },
	{ "rc0", SEND ACK WC "+0 check r+0 len 64 is fill\nend\n", 6,
	  "the memory differs from byte 0", "0x1f", "0x64" },
	{ "rc0", SEND ACK WC "+0 check r+0 len 65 is payload psn 100\nend\n", 6,
	  "the memory differs from byte 64", "0xa4", "0xdf" },
	{ "rc0", SEND ACK WC "+0 check r+32760 len 9\nend\n", 6,
	  "that is not in the region", "", "" },
	{ "rc0", "+0 count bad_pkey\nend\n", 3, "the counter is 0", "", "" },
	/* what comes at another time */
	{ "rc",
	  "+0 post 1 send wr 1 len 8\n+0 > 1 RC_SEND_ONLY psn 200 len 8\n"
	  "+5T..6T > 1 RC_SEND_ONLY psn 200 len 8\nend\n",
	  5, "too early: 268435.456us", "", "" },
	/* calls */
	{ "rc", "+0 post 1 send wr 1 error EINVAL\nend\n", 3, "the call succeeded", "",
	  "" },
	{ "rc", "qp 1 init\n+0 post 1 send wr 1\nend\n", 4, "failed with errno 22", "",
	  "" },
	/* a device that cannot be made */
	{ "rc", "qp 1 mtu 77\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "mr x access write\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "mr x error EINVAL\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "mw x type 3\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "srq s rq 99999\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "srq s xrcd 1\nqp 1 srq s\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "qp 1 srq 81\nend\n", 1, "cannot be prepared", "", "" },
	{ "rc", "qp 2 xrc_recv\nend\n", 1, "cannot be prepared", "", "" },
	/* groups */
	{ "rc", "+0 join 1\nend\n", 3, "failed with errno 22", "", "" },
	{ "ud0", "+0 leave 1\nend\n", 3, "failed with errno 22", "", "" },
	{ "ud0", "+0 post 1 send to group\n+0 > 1 UD_SEND_ONLY\nend\n", 4,
	  "another address", "", "" },
};

static void every_difference_is_found_and_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(failures); i++) {
		struct rn_scene_result r = run(failures[i].setup, failures[i].lines);

		assert_false(r.passed);
		if (!strstr(r.what, failures[i].what) ||
		    !strstr(r.expected, failures[i].expected) ||
		    !strstr(r.came, failures[i].came) || r.line != failures[i].line)
			fail_msg("case %zu: line %u: %s; expected %s, came %s", i, r.line,
				 r.what, r.expected, r.came);
	}
}

static void what_may_come_need_not(void **state)
{
	struct rn_scene_result r;

	(void)state;
	r = run("rc0", SEND "+0 >? 1 RC_ACK psn 99\n" ACK WC "end quiet\n");
	assert_true(r.passed);
	r = run("rc0", SEND "+0 >? 1 RC_ACK psn 100 msn 1\n" WC "end quiet\n");
	assert_true(r.passed);
}

/* The line before a completion passed time; the completion came before that. */
static void a_completion_has_the_time_at_which_it_came(void **state)
{
	struct rn_scene_result r;

	(void)state;
	r = run("rc0", SEND ACK "+1ms >? 1 RC_ACK psn 99\n" WC "end quiet\n");
	assert_string_equal(r.what, "");
	assert_true(r.passed);
}

#define POST "+0 post 1 send wr 1 len 8\n+0 > 1 RC_SEND_ONLY psn 200 len 8\n"

/* In real time: whoever is slow sees requests that are sent again. */
static void a_request_that_is_sent_again_is_no_surprise_in_real_time(void **state)
{
	struct rn_scene_ops slack = rn_virtual_ops;
	struct rn_scene_result r;

	(void)state;
	slack.slack = 1000;
	r = run_by(&slack, "rc", POST "+7T quiet\nend\n");
	assert_string_equal(r.what, "");
	assert_true(r.passed);
	r = run("rc", POST "+7T quiet\nend\n");
	assert_non_null(strstr(r.what, "a packet left that no line expects"));
	r = run_by(&slack, "rc", POST "+0 post 1 send wr 2 len 8\n+0 quiet\nend\n");
	assert_non_null(strstr(r.what, "a packet left that no line expects"));
}

/* Two MSNs are right, and another device may answer with either. */
static void our_device_answers_with_the_first_of_two_msns(void **state)
{
	struct rn_scene_ops slack = rn_virtual_ops;
	struct rn_scene_result r;

	(void)state;
	slack.slack = 1000;
	r = run("rc0", SEND "+0 > 1 RC_ACK psn 100 msn 1 or_msn 2\n" WC "end\n");
	assert_string_equal(r.what, "");
	r = run("rc0", SEND "+0 > 1 RC_ACK psn 100 msn 2 or_msn 1\n" WC "end\n");
	assert_string_equal(r.what, "msn is not as expected");
	r = run_by(&slack, "rc0",
		   SEND "+0 > 1 RC_ACK psn 100 msn 2 or_msn 1\n" WC "end\n");
	assert_string_equal(r.what, "");
	r = run_by(&slack, "rc0",
		   SEND "+0 > 1 RC_ACK psn 100 msn 2 or_msn 3\n" WC "end\n");
	assert_string_equal(r.what, "msn is not as expected");
}

/* ------------------------------------------------------------------- packets */
static const struct rn_scene_names names = {
	.device = { { [10] = 0xff, [11] = 0xff, [12] = 192, [15] = 1 } },
	.peer = { { [10] = 0xff, [11] = 0xff, [12] = 192, [15] = 2 } },
	.qpn = { 0x11 },
	.peer_qpn = 0x99,
};

/* The packet that the peer sends by @text, a line of a scenario. */
static struct rn_scene_packet packet_of(const char *text)
{
	static struct rn_scenario s;
	struct rn_scene_packet p;
	struct rn_scn_error err;
	char file[200];
	int len = snprintf(file, sizeof(file), "# X1: y\nsetup rc\n%s\nend\n", text);

	if (rn_scenario_parse(&s, file, (size_t)len, &err))
		fail_msg("%u:%u: %s", err.line, err.column, err.sentence);
	rn_scene_encode(&names, &s.line[0], &p);
	return p;
}

static void requests_of_the_peer_ask_for_an_ack_and_responses_do_not(void **state)
{
	struct rn_scene_packet p;

	(void)state;
	p = packet_of("+0 < 1 RC_SEND_ONLY psn 1 ack");
	assert_int_equal(p.bytes[8], 0x80);
	p = packet_of("+0 < 1 RC_SEND_ONLY psn 1");
	assert_int_equal(p.bytes[8], 0);
	p = packet_of("+0 < 1 RC_ACK psn 1 ack");
	assert_int_equal(p.bytes[8], 0);
}

/* In a packet with an AETH the word is about that, whatever the bit of the BTH is. */
static void a_nak_that_asks_for_an_ack_is_none(void **state)
{
	struct rn_scene_packet p = packet_of("+0 < 1 RC_ACK psn 1 nak psn_seq");
	struct rn_scn_line l;
	const uint8_t *payload;

	(void)state;
	p.bytes[8] |= 0x80;
	rn_icrc_seal(&p.flow, 0, p.bytes, p.len - RN_ICRC_LEN);
	assert_int_equal(rn_scene_decode(&p, &l, &payload), 0);
	assert_true(rn_scn_has(&l, RN_F_NAK));
	assert_false(rn_scn_has(&l, RN_F_ACK));
	p = packet_of("+0 < 1 RC_ACK psn 1");
	assert_int_equal(rn_scene_decode(&p, &l, &payload), 0);
	assert_true(rn_scn_has(&l, RN_F_ACK));
}

static void a_wrong_icrc_is_seen(void **state)
{
	struct rn_scene_packet p;
	struct rn_scn_line l;
	const uint8_t *payload;

	(void)state;
	p = packet_of("+0 < 1 RC_SEND_ONLY psn 1 len 8");
	assert_int_equal(rn_scene_decode(&p, &l, &payload), 0);
	assert_int_equal(l.value[RN_F_LEN], 8);
	p.bytes[RN_BTH_LEN] ^= 1;
	assert_int_equal(rn_scene_decode(&p, &l, &payload), -EBADMSG);
	p = packet_of("+0 < 1 RC_SEND_ONLY psn 1 len 8 bad_icrc");
	assert_int_equal(rn_scene_decode(&p, &l, &payload), -EBADMSG);
}

/* ------------------------------------------------ requests that come again */
static struct rn_scene_packet packet(uint8_t opcode, uint8_t psn, uint32_t len)
{
	return (struct rn_scene_packet){ .len = len, .bytes = { opcode, [11] = psn } };
}

static void a_request_that_was_taken_is_known_again(void **state)
{
	struct rn_scene_packet p = packet(RN_RC_READ_REQUEST, 7, 32), other = p;
	struct rn_repeats r = { 0 };

	(void)state;
	assert_false(rn_repeats_has(&r, &p));
	rn_repeats_note(&r, &p);
	assert_true(rn_repeats_has(&r, &p));
	other.bytes[8] = 0x80; /* asks for an acknowledgement now */
	assert_true(rn_repeats_has(&r, &other));
	other = packet(RN_RC_READ_REQUEST, 8, 32);
	assert_false(rn_repeats_has(&r, &other));
	other = packet(RN_RC_READ_REQUEST, 7, 36);
	assert_false(rn_repeats_has(&r, &other));
}

static struct rn_scene_packet read_of(uint8_t psn, uint32_t va, uint32_t dma_len)
{
	struct rn_scene_packet p =
		packet(RN_RC_READ_REQUEST, psn, RN_BTH_LEN + RN_RETH_LEN);
	const struct rn_reth reth = { .va = va, .rkey = 1, .dma_len = dma_len };

	rn_reth_emit(p.bytes + RN_BTH_LEN, &reth);
	return p;
}

static void the_rest_of_a_read_is_a_repeat(void **state)
{
	struct rn_scene_packet whole = read_of(7, 0x1000, 3000),
			       rest = read_of(8, 0x1400, 1976),
			       shorter = read_of(8, 0x1400, 1975),
			       other = read_of(8, 0x1000, 3000);
	struct rn_repeats r = { 0 };

	(void)state;
	rn_repeats_note(&r, &rest);
	assert_false(rn_repeats_has(&r, &whole));
	r.count = 0;
	rn_repeats_note(&r, &whole);
	assert_true(rn_repeats_has(&r, &whole));
	assert_true(rn_repeats_has(&r, &rest));
	assert_false(rn_repeats_has(&r, &shorter));
	assert_false(rn_repeats_has(&r, &other));
}

static void answers_are_never_repeats(void **state)
{
	static const uint8_t opcode[] = { RN_RC_READ_RESPONSE_FIRST, RN_RC_ACK,
					  RN_RC_ATOMIC_ACK };
	struct rn_repeats r = { 0 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(opcode); i++) {
		struct rn_scene_packet p = packet(opcode[i], 1, 20);

		rn_repeats_note(&r, &p);
		assert_false(rn_repeats_has(&r, &p));
	}
	assert_int_equal(r.count, 0);
}

static void the_oldest_is_forgotten(void **state)
{
	struct rn_repeats r = { 0 };
	struct rn_scene_packet first = packet(RN_RC_SEND_ONLY, 0, 20);

	(void)state;
	for (uint8_t psn = 0; psn <= RN_REPEATS_MAX; psn++) {
		struct rn_scene_packet p = packet(RN_RC_SEND_ONLY, psn, 20);

		rn_repeats_note(&r, &p);
		assert_true(rn_repeats_has(&r, &p));
	}
	assert_false(rn_repeats_has(&r, &first));
}

static struct rn_scene_packet queue[3];
static unsigned next_in_queue, queued;

static const struct rn_scene_packet *next_packet(void *ctx)
{
	(void)ctx;
	return next_in_queue < queued ? &queue[next_in_queue] : NULL;
}

static void drop_packet(void *ctx)
{
	(void)ctx;
	next_in_queue++;
}

static void only_in_real_time_are_they_skipped(void **state)
{
	struct rn_scene_ops ops = { .packet = next_packet, .drop_packet = drop_packet };
	struct rn_repeats r = { 0 };

	(void)state;
	queue[0] = queue[1] = packet(RN_RC_SEND_ONLY, 1, 20);
	queue[2] = packet(RN_RC_SEND_ONLY, 2, 20);
	next_in_queue = 0;
	queued = 3;
	rn_repeats_note(&r, &queue[0]);
	assert_ptr_equal(rn_repeats_skip(&r, &ops, NULL), &queue[0]);
	ops.slack = 1;
	assert_ptr_equal(rn_repeats_skip(&r, &ops, NULL), &queue[2]);
	queued = 2;
	next_in_queue = 0;
	assert_null(rn_repeats_skip(&r, &ops, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_difference_is_found_and_named),
		cmocka_unit_test(what_may_come_need_not),
		cmocka_unit_test(a_completion_has_the_time_at_which_it_came),
		cmocka_unit_test(
			a_request_that_is_sent_again_is_no_surprise_in_real_time),
		cmocka_unit_test(our_device_answers_with_the_first_of_two_msns),
		cmocka_unit_test(
			requests_of_the_peer_ask_for_an_ack_and_responses_do_not),
		cmocka_unit_test(a_nak_that_asks_for_an_ack_is_none),
		cmocka_unit_test(a_wrong_icrc_is_seen),
		cmocka_unit_test(a_request_that_was_taken_is_known_again),
		cmocka_unit_test(the_rest_of_a_read_is_a_repeat),
		cmocka_unit_test(answers_are_never_repeats),
		cmocka_unit_test(the_oldest_is_forgotten),
		cmocka_unit_test(only_in_real_time_are_they_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
