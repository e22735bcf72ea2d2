/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_log.c - silent unless asked, one line a call, and nothing disturbed.
 *
 * ROCIN_LOG is read once per process, so each case runs in a child, whose exit code is
 * the number of the condition that failed.
 */
#include "transport/io/host/log.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char log_path[64];
static char written[1 << 20]; /* what the last child wrote to standard error */

/* Runs @body with ROCIN_LOG=@spec and standard error caught. */
static void in_child(const char *spec, int (*body)(void))
{
	FILE *err = tmpfile();
	size_t len;
	int status;
	pid_t pid = fork();

	assert_non_null(err);
	if (pid == 0) {
		dup2(fileno(err), STDERR_FILENO);
		if (spec)
			setenv("ROCIN_LOG", spec, 1);
		else
			unsetenv("ROCIN_LOG");
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rewind(err);
	len = fread(written, 1, sizeof(written) - 1, err);
	written[len] = '\0';
	fclose(err);
}

static int log_all(void)
{
	rn_log(RN_LOG_ERROR, "%d broken", 1);
	rn_log(RN_LOG_WARN, "odd");
	rn_log(RN_LOG_TRACE, "detail");
	return 0;
}

static void it_is_silent_unless_asked(void **state)
{
	(void)state;
	in_child(NULL, log_all);
	assert_string_equal(written, "");
	in_child("", log_all);
	assert_string_equal(written, "");
}

static void levels_choose_what_is_written(void **state)
{
	(void)state;
	in_child("error", log_all);
	assert_non_null(strstr(written, "1 broken\n"));
	assert_null(strstr(written, "odd"));
	in_child("warn", log_all);
	assert_non_null(strstr(written, "]: odd\n"));
	assert_null(strstr(written, "detail"));
	in_child("trace", log_all);
	assert_non_null(strstr(written, "detail"));
}

static void a_level_that_does_not_exist_is_said_once(void **state)
{
	(void)state;
	in_child("loud", log_all);
	assert_non_null(strstr(written, "not loud\n"));
	assert_null(strstr(written, "broken"));
	assert_ptr_equal(strchr(written, '\n'), strrchr(written, '\n'));
}

static int log_to_file(void)
{
	char line[64] = "";
	FILE *f;

	if (rn_log_file_fd() < 3)
		return 1;
	log_all();
	f = fopen(log_path, "r");
	if (!f || !fgets(line, sizeof(line), f))
		return 2;
	fclose(f);
	return strstr(line, "1 broken") ? 0 : 3;
}

static void a_file_can_be_named(void **state)
{
	char spec[80];

	(void)state;
	snprintf(log_path, sizeof(log_path), "/tmp/rocin-log-test-%d", (int)getpid());
	snprintf(spec, sizeof(spec), "info:%s", log_path);
	in_child(spec, log_to_file);
	assert_string_equal(written, "");
	unlink(log_path);
	in_child("info:/nonexistent/file", log_all);
	assert_non_null(strstr(written, "cannot write to /nonexistent/file"));
}

static int log_with_errno(void)
{
	errno = ENOENT;
	rn_log(RN_LOG_ERROR, "%m");
	return errno == ENOENT && rn_log_on(RN_LOG_ERROR) && errno == ENOENT ? 0 : 1;
}

static void errno_is_kept_and_can_be_printed(void **state)
{
	(void)state;
	in_child("info", log_with_errno);
	assert_non_null(strstr(written, strerror(ENOENT)));
}

static int log_long_line(void)
{
	char text[5000];

	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rn_log(RN_LOG_ERROR, "%s", text);
	rn_log(RN_LOG_ERROR, "next");
	return 0;
}

static void a_long_line_is_cut_and_ends_all_the_same(void **state)
{
	(void)state;
	in_child("info", log_long_line);
	assert_int_equal(strchr(written, '\n') - written, RN_LOG_LINE_MAX - 2);
	assert_non_null(strstr(written, "]: next\n"));
}

static int log_to_closed_pipe(void)
{
	int ends[2];

	if (pipe(ends) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		return 1;
	close(ends[0]);
	close(ends[1]);
	rn_log(RN_LOG_ERROR, "nobody reads"); /* SIGPIPE would end the child */
	return 0;
}

static void a_closed_pipe_raises_no_signal(void **state)
{
	(void)state;
	in_child("info", log_to_closed_pipe);
}

static void *log_many(void *arg)
{
	for (unsigned i = 0; i < 1000; i++)
		rn_log(RN_LOG_ERROR, "thread %c %s", *(char *)arg, "0123456789abcdef");
	return NULL;
}

static int log_from_threads(void)
{
	char names[] = "abcd";
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, log_many, &names[i]);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void lines_of_threads_do_not_mix(void **state)
{
	unsigned count = 0;

	(void)state;
	in_child("info", log_from_threads);
	for (char *line = strtok(written, "\n"); line; line = strtok(NULL, "\n")) {
		const char *text = strstr(line, "]: thread ");

		assert_non_null(text);
		assert_string_equal(text + 11, " 0123456789abcdef");
		count++;
	}
	assert_int_equal(count, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_silent_unless_asked),
		cmocka_unit_test(levels_choose_what_is_written),
		cmocka_unit_test(a_level_that_does_not_exist_is_said_once),
		cmocka_unit_test(a_file_can_be_named),
		cmocka_unit_test(errno_is_kept_and_can_be_printed),
		cmocka_unit_test(a_long_line_is_cut_and_ends_all_the_same),
		cmocka_unit_test(a_closed_pipe_raises_no_signal),
		cmocka_unit_test(lines_of_threads_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
