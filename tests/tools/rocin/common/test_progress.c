/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_progress.c - when a command says how far it is: at a terminal, after two seconds,
 * and not too often.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/progress.h"

static void it_comes_after_two_seconds_and_not_too_often(void **state)
{
	struct rn_progress p = { .is_on = true, .began = RN_MSEC(100) };

	(void)state;
	assert_false(rn_progress_is_due(&p, RN_MSEC(100)));
	assert_false(rn_progress_is_due(&p, RN_MSEC(2099)));
	assert_true(rn_progress_is_due(&p, RN_MSEC(2100)));
	p.shown_at = RN_MSEC(2100);
	assert_false(rn_progress_is_due(&p, RN_MSEC(2299)));
	assert_true(rn_progress_is_due(&p, RN_MSEC(2300)));
	p.is_on = false;
	assert_false(rn_progress_is_due(&p, RN_MSEC(5000)));
}

/* Shows a line with standard error at @fd, and erases it. Returns 0 if nothing is left.
 */
static long written(int fd, bool wanted, bool late)
{
	struct rn_progress p;
	int old = dup(STDERR_FILENO);

	assert_true(old >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	rn_progress_begin(&p, wanted);
	if (late)
		p.began -= RN_MSEC(3000);
	rn_progress_show(&p, "%d of 2", 1);
	rn_progress_show(&p, "%d of 2", 2);
	rn_progress_erase(&p);
	fflush(stderr);
	dup2(old, STDERR_FILENO);
	close(old);
	return p.shown_at;
}

static void what_is_no_terminal_sees_nothing(void **state)
{
	char name[] = "/tmp/rocin-progress-XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(written(fd, true, true), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
}

/* The line is there once, and is taken away again. */
static void a_terminal_sees_one_line_at_a_time(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	static const char want[] = "\r\033[K1 of 2\r\033[K";
	char text[sizeof(want)] = "";
	size_t got = 0;

	(void)state;
	if (master < 0 || grantpt(master) || unlockpt(master))
		skip();
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
	written(slave, true, false);
	written(slave, false, true);
	assert_int_equal(read(master, text, sizeof(text)), -1);
	written(slave, true, true);
	/* It comes in pieces. */
	assert_int_equal(fcntl(master, F_SETFL, 0), 0);
	while (got < strlen(want)) {
		ssize_t more = read(master, text + got, strlen(want) - got);

		assert_true(more > 0);
		got += (size_t)more;
	}
	assert_string_equal(text, want);
	close(slave);
	close(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_after_two_seconds_and_not_too_often),
		cmocka_unit_test(what_is_no_terminal_sees_nothing),
		cmocka_unit_test(a_terminal_sees_one_line_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
