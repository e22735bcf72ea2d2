/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_conform_wire.c - lines between a tester and the target's agent, as TCP brings
 * them: in pieces, several at once, and from whom it may be.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/types.h"
#include "tools/rocin/conform/wire.h"

static struct rn_conform_wire wire;
static int peer;
/* What stands behind the numbers of a line is not the line's. */
static struct {
	struct rn_conform_line line;
	uint64_t behind[4];
} got;

static int connect_them(void **state)
{
	int pair[2];

	(void)state;
	wire = (struct rn_conform_wire){ 0 };
	got = (typeof(got)){ .behind = { 1, 2, 3, 4 } };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	wire.fd = pair[0];
	peer = pair[1];
	return 0;
}

static int part(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(got.behind); i++)
		assert_int_equal(got.behind[i], i + 1);
	return close(wire.fd) || (peer >= 0 && close(peer));
}

static void bytes(const char *text, size_t len)
{
	assert_int_equal(send(peer, text, len, MSG_NOSIGNAL), len);
}

static void text(const char *line)
{
	bytes(line, strlen(line));
}

static int receive(void)
{
	return rn_conform_receive(&wire, &got.line, 0);
}

static void a_line_arrives_as_it_was_sent(void **state)
{
	struct rn_conform_wire other = { .fd = peer };
	struct rn_conform_line line = { .word = "elevenbytes",
					.count = RN_CONFORM_NUMBERS };

	(void)state;
	for (unsigned i = 0; i < line.count; i++)
		line.n[i] = i % 2 ? UINT64_MAX - i : i;
	assert_int_equal(rn_conform_send(&other, &line), 0);
	assert_int_equal(receive(), 0);
	assert_memory_equal(&got.line, &line, sizeof(line));
}

static void of_lines_that_come_together_none_is_lost(void **state)
{
	(void)state;
	text("poll\nok 1 2\nno");
	assert_int_equal(receive(), 0);
	assert_string_equal(got.line.word, "poll");
	assert_int_equal(got.line.count, 0);
	assert_int_equal(receive(), 0);
	assert_string_equal(got.line.word, "ok");
	assert_int_equal(got.line.count, 2);
	assert_int_equal(got.line.n[1], 2);
	assert_int_equal(receive(), -ETIMEDOUT);
	text(" 16\n");
	assert_int_equal(receive(), 0);
	assert_string_equal(got.line.word, "no");
	assert_int_equal(got.line.n[0], 0x16);
}

static void what_is_no_line_is_refused_and_the_next_one_taken(void **state)
{
	static const char *const wrong[] = {
		"\n",	     " ok\n",	 "ok \n",	   "ok  1\n", "ok 1 \n",
		"ok x\n",    "ok 1,2\n", "ok -1\n",	   "ok +1\n", "ok 1\r\n",
		"ok 0x1g\n", "ok 1 g\n", "twelve_bytes\n",
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		text(wrong[i]);
		text("ok 7\n");
		if (receive() != -EPROTO)
			fail_msg("taken: %s", wrong[i]);
		assert_int_equal(receive(), 0);
		assert_int_equal(got.line.n[0], 7);
	}
	bytes("ok 1\0 2\n", 8);
	assert_int_equal(receive(), -EPROTO);
}

static void a_line_has_no_more_numbers_than_there_is_room_for(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		text("ok");
		for (unsigned i = 0; i < RN_CONFORM_NUMBERS + more; i++)
			text(" f");
		text("\n");
		assert_int_equal(receive(), more ? -EPROTO : 0);
	}
}

/* More than a line may have, and it has not ended. */
static void a_line_without_an_end_is_not_waited_for(void **state)
{
	char much[RN_CONFORM_LINE];

	(void)state;
	memset(much, 'a', sizeof(much));
	bytes(much, sizeof(much) - 1);
	assert_int_equal(receive(), -ETIMEDOUT);
	bytes(much, 1);
	assert_int_equal(receive(), -EPROTO);
	text("\n");
	assert_int_equal(receive(), -EPROTO);
}

static void a_peer_that_has_gone_is_told_from_one_that_is_slow(void **state)
{
	(void)state;
	assert_int_equal(receive(), -ETIMEDOUT);
	text("ok 1\nok");
	close(peer);
	peer = -1;
	assert_int_equal(receive(), 0);
	assert_int_equal(receive(), -EPIPE);
	assert_int_equal(rn_conform_send(&wire, &got.line), -EPIPE);
}

#define WIRE_TEST(f) cmocka_unit_test_setup_teardown(f, connect_them, part)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WIRE_TEST(a_line_arrives_as_it_was_sent),
		WIRE_TEST(of_lines_that_come_together_none_is_lost),
		WIRE_TEST(what_is_no_line_is_refused_and_the_next_one_taken),
		WIRE_TEST(a_line_has_no_more_numbers_than_there_is_room_for),
		WIRE_TEST(a_line_without_an_end_is_not_waited_for),
		WIRE_TEST(a_peer_that_has_gone_is_told_from_one_that_is_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
