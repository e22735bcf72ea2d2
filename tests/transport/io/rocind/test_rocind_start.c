/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_rocind_start.c - starting a daemon: what it is given, and what is made of its
 * words.
 *
 * The daemon is a shell script; waiting for it takes the test's time.
 */
#include "transport/io/rocind/rocind_client.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocin/types.h"
#include "tests/kit/system/descriptors.h"

enum {
	WAIT_MS = 60000,
	SIGNAL_EVERY_MS = 10,
};

static char dir[64], script[128], why[512];

/* ---- Signals, and time ---- */

static unsigned signals; /* that come before anything else, one for each wait */
static bool time_is_ours;
static rn_ns now;

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (signals == 0)
		return __real_poll(fds, count, timeout);
	signals--;
	if (timeout < SIGNAL_EVERY_MS) {
		now += RN_MSEC(timeout);
		return 0;
	}
	now += RN_MSEC(SIGNAL_EVERY_MS);
	errno = EINTR;
	return -1;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!time_is_ours)
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = now / RN_MSEC(1000);
	ts->tv_nsec = now % RN_MSEC(1000);
	return 0;
}

/* ---- The daemon ---- */

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/rocin-start-XXXXXX");
	why[0] = '\0';
	signals = 0;
	time_is_ours = false;
	now = RN_MSEC(1000);
	unsetenv("ROCIN_IDLE_MS");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	unlink(script);
	return rmdir(dir);
}

/* @commands: of the shell; descriptor 3 is where it says that it listens. */
static int start(const char *commands, int timeout_ms)
{
	FILE *f;

	snprintf(script, sizeof(script), "%s/script", dir);
	f = fopen(script, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", commands);
	fchmod(fileno(f), 0700);
	fclose(f);
	return rn_rocind_start(script, dir, timeout_ms, why, sizeof(why));
}

#define SAYS_THAT_IT_LISTENS "echo >&3"

static void a_daemon_that_listens_is_there(void **state)
{
	unsigned before = count_descriptors();

	(void)state;
	assert_int_equal(start(SAYS_THAT_IT_LISTENS, WAIT_MS), 0);
	assert_string_equal(why, "");
	assert_int_equal(count_descriptors(), before);
}

static void a_daemon_that_cannot_listen_says_why(void **state)
{
	unsigned before = count_descriptors();

	(void)state;
	assert_int_equal(start("printf 'the port is taken' >&3", WAIT_MS), -EIO);
	assert_string_equal(why, "the port is taken");
	assert_int_equal(count_descriptors(), before);
}

static void a_program_that_is_none_leaves_nothing_open(void **state)
{
	unsigned before = count_descriptors();

	(void)state;
	assert_int_equal(rn_rocind_start("/nonexistent", dir, WAIT_MS, why, sizeof(why)),
			 -ENOENT);
	assert_string_equal(why,
			    "/nonexistent cannot be started: No such file or directory");
	assert_int_equal(rn_rocind_start(dir, dir, WAIT_MS, why, sizeof(why)), -EACCES);
	assert_int_equal(count_descriptors(), before);
}

/* Whatever comes of it. */
static void errno_of_the_program_is_left_alone(void **state)
{
	(void)state;
	errno = EDOM;
	(void)rn_rocind_start("/nonexistent", dir, WAIT_MS, why, sizeof(why));
	assert_int_equal(errno, EDOM);
	(void)rn_rocind_start("/bin/true", dir, WAIT_MS, why, sizeof(why));
	assert_int_equal(errno, EDOM);
}

/* A timer of the program's, say. */
static void a_signal_does_not_end_the_wait(void **state)
{
	(void)state;
	signals = 3;
	assert_int_equal(start(SAYS_THAT_IT_LISTENS, WAIT_MS), 0);
	assert_int_equal(signals, 0);
}

static void signals_do_not_prolong_the_wait(void **state)
{
	enum {
		MANY = 1000,
		TIMEOUT = 95,
	};
	const rn_ns begin = now;

	(void)state;
	time_is_ours = true;
	signals = MANY;
	assert_int_equal(start("exit 0", TIMEOUT), -ETIMEDOUT);
	assert_string_equal(why, "rocind did not start within 95 ms");
	assert_true(now - begin == RN_MSEC(TIMEOUT));
	assert_int_equal(MANY - signals, TIMEOUT / SIGNAL_EVERY_MS + 1);
}

/* A daemon must not fail for a slip in a variable. */
static void an_idle_time_is_passed_on_if_it_is_one(void **state)
{
	static const char *const no_times[] = {
		"", "x", "12x", "-1", " 1", "1234567890"
	};

	(void)state;
	assert_int_equal(start("printf '%s' \"$*\" >&3", WAIT_MS), -EIO);
	assert_string_equal(why, "--ready-fd=3");
	setenv("ROCIN_IDLE_MS", "123456789", 1);
	assert_int_equal(start("printf '%s' \"$*\" >&3", WAIT_MS), -EIO);
	assert_string_equal(why, "--ready-fd=3 --idle-ms=123456789");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(no_times); i++) {
		setenv("ROCIN_IDLE_MS", no_times[i], 1);
		assert_int_equal(start("printf '%s' \"$*\" >&3", WAIT_MS), -EIO);
		assert_string_equal(why, "--ready-fd=3");
	}
}

static void of_the_environment_it_gets_what_it_needs(void **state)
{
	char want[128];

	(void)state;
	setenv("ROCIN_LOG", "error", 1);
	setenv("LD_LIBRARY_PATH", "/nowhere", 1);
	snprintf(want, sizeof(want), "%s error none", dir);
	assert_int_equal(start("printf '%s' \"$ROCIN_RUNTIME_DIR $ROCIN_LOG "
			       "${LD_LIBRARY_PATH-none}\" >&3",
			       WAIT_MS),
			 -EIO);
	assert_string_equal(why, want);
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("ROCIN_LOG");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_daemon_that_listens_is_there),
		TEST(a_daemon_that_cannot_listen_says_why),
		TEST(a_program_that_is_none_leaves_nothing_open),
		TEST(errno_of_the_program_is_left_alone),
		TEST(a_signal_does_not_end_the_wait),
		TEST(signals_do_not_prolong_the_wait),
		TEST(an_idle_time_is_passed_on_if_it_is_one),
		TEST(of_the_environment_it_gets_what_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
