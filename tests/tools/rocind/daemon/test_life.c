/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_life.c - how rocind begins and ends, and that programs see none of it. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/ctl.h"
#include "transport/io/rocind/rocind_client.h"

/* ---- Beginning ---- */

static void it_starts_on_demand_and_ends_when_idle(void **state)
{
	struct rn_rocind *r;
	char why[128] = "";
	pid_t pid;

	(void)state;
	setenv("ROCIN_IDLE_MS", "1", 1);
	assert_null(rn_rocind_connect_running(why, sizeof(why)));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(why, "rocind is not running");
	r = kit_connect();
	pid = kit_daemon(r);
	rn_rocind_close(r);
	kit_await_end(pid);
	assert_null(rn_rocind_connect_running(NULL, 0));
	assert_int_equal(errno, ENOENT);
}

/* With an idle time of 1 ms many connections meet a daemon that is about to end. */
static void a_client_that_comes_at_the_end_is_served_by_the_next(void **state)
{
	const struct rn_netdev dev = kit_device(1);

	(void)state;
	setenv("ROCIN_IDLE_MS", "1", 1);
	for (unsigned i = 0; i < 300; i++) {
		struct rn_attach a;
		struct rn_rocind *r = kit_attach(&dev, &a);

		kit_close_socks(&a);
		rn_rocind_close(r);
		for (unsigned yields = 0; yields < i % 50; yields++)
			sched_yield();
		if (i % 3 == 0) /* about the idle time, to meet the end itself */
			poll(NULL, 0, 1);
	}
}

/* Its starter had no processor for longer than the idle time. */
static void it_waits_for_who_has_started_it(void **state)
{
	struct rn_rocind *r;
	char path[4096], why[512] = "";
	pid_t pid;

	(void)state;
	setenv("ROCIN_IDLE_MS", "1", 1);
	assert_int_equal(rn_rocind_find(NULL, path, sizeof(path), why, sizeof(why)), 0);
	assert_int_equal(
		rn_rocind_start(path, kit_runtime_dir(), KIT_WAIT_MS, why, sizeof(why)),
		0);
	poll(NULL, 0, 300);
	r = rn_rocind_connect_running(why, sizeof(why));
	if (!r)
		fail_msg("%s", why);
	pid = kit_daemon(r);
	rn_rocind_close(r);
	kit_await_end(pid);
}

static void many_processes_that_start_at_once_get_one_rocind(void **state)
{
	enum {
		COUNT = 12
	};
	int ends[2], go[2];
	pid_t daemons[COUNT];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(go), 0);
	for (unsigned i = 0; i < COUNT; i++) {
		if (fork() == 0) {
			struct rn_rocind_status status = { 0 };
			struct rn_rocind *r;
			char byte;

			close(go[1]);
			(void)!read(go[0], &byte, 1); /* end of file: all begin */
			r = rn_rocind_connect(NULL, NULL, 0);
			if (r)
				rn_rocind_status(r, &status, NULL, 0);
			(void)!write(ends[1], &status.pid, sizeof(status.pid));
			_exit(0);
		}
	}
	close(go[0]);
	close(go[1]);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(read(ends[0], &daemons[i], sizeof(pid_t)),
				 sizeof(pid_t));
		assert_int_not_equal(daemons[i], 0);
		assert_int_equal(daemons[i], daemons[0]);
	}
	close(ends[0]);
	close(ends[1]);
	while (wait(NULL) > 0)
		;
}

static void a_program_that_cannot_be_started_is_named(void **state)
{
	char why[512] = "";

	(void)state;
	assert_null(rn_rocind_connect("/nonexistent/rocind", why, sizeof(why)));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why, "/nonexistent/rocind cannot be started"));
	assert_null(rn_rocind_connect("/bin/false", why, sizeof(why)));
	assert_int_equal(errno, EIO);
	setenv("ROCIN_ROCIND", "/nonexistent/other", 1);
	assert_null(rn_rocind_connect(NULL, why, sizeof(why)));
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why, "/nonexistent/other"));
}

/* Also where the program itself finds it: rocind has no LD_LIBRARY_PATH. */
static void a_shared_library_that_is_missing_is_named(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char why[512] = "";

		assert_null(rn_rocind_connect(LACKING, why, sizeof(why)));
		assert_int_equal(errno, EIO);
		assert_non_null(strstr(why, LACKING " ended before it listened: "));
		assert_non_null(strstr(why, "librocin_test_lacking.so"));
		assert_int_equal(strcspn(why, "\n"), strlen(why));
		setenv("LD_LIBRARY_PATH", LACKING_DIR, 1);
	}
	unsetenv("LD_LIBRARY_PATH");
}

static void expect_words(const char *script, int err, const char *end)
{
	char path[128], why[2048] = "", *words;
	FILE *f;

	snprintf(path, sizeof(path), "%s/script", kit_runtime_dir());
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fchmod(fileno(f), 0700);
	fclose(f);
	assert_null(rn_rocind_connect(path, why, sizeof(why)));
	assert_int_equal(errno, err);
	words = strstr(why, "/script ended before it listened: ");
	words = words ? strchr(words, ':') + 2 : why;
	if (strncmp(words, end, strlen(end)) != 0)
		fail_msg("%s", why);
	assert_in_range(strlen(words), 1, RN_CTL_TEXT_LEN);
}

static void what_it_says_before_it_ends_is_said_in_one_line(void **state)
{
	(void)state;
	expect_words("echo one >&2; printf 'two\\a\\n\\n' >&2; exit 1", EIO, "one two");
	expect_words("exit 1", EIO, "rocind ended before it said a word");
	/* More than a pipe holds, and nobody reads meanwhile. */
	expect_words(
		"dd if=/dev/zero bs=65536 count=4 2>/dev/null | tr '\\0' x >&2; exit 1",
		EIO, "xxxxxxxx");
}

static void it_is_found_in_path(void **state)
{
	char path[512], *slash, *old = strdup(getenv("PATH"));
	struct rn_rocind *r;

	(void)state;
	snprintf(path, sizeof(path), "%s", getenv("ROCIN_ROCIND"));
	slash = strrchr(path, '/');
	assert_non_null(slash);
	*slash = '\0';
	unsetenv("ROCIN_ROCIND");
	setenv("PATH", path, 1);
	r = kit_connect();
	assert_int_not_equal(kit_daemon(r), 0);
	rn_rocind_close(r);
	setenv("PATH", old, 1);
	free(old);
}

static void a_runtime_directory_with_a_long_path_works(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	char name[201];
	struct rn_attach a;
	struct rn_rocind *r;
	pid_t pid;

	(void)state;
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	kit_use_inner_dir(name);
	r = kit_attach(&dev, &a);
	pid = kit_daemon(r);
	kit_close_socks(&a);
	assert_int_equal(rn_rocind_shutdown(r, NULL, 0), 0);
	rn_rocind_close(r);
	kit_await_end(pid);
}

static void a_runtime_directory_open_to_others_is_refused(void **state)
{
	char why[512] = "";

	(void)state;
	assert_int_equal(chmod(kit_runtime_dir(), 0755), 0);
	assert_null(rn_rocind_connect(NULL, why, sizeof(why)));
	assert_int_equal(errno, EPERM);
	assert_non_null(strstr(why, "chmod 700"));
	assert_int_equal(chmod(kit_runtime_dir(), 0700), 0);
}

/* ---- Unseen by the program ---- */

static volatile sig_atomic_t children_signalled;

static void on_sigchld(int sig)
{
	(void)sig;
	children_signalled++;
}

static void the_program_never_sees_a_child(void **state)
{
	struct rn_rocind *r;
	pid_t pid;

	(void)state;
	children_signalled = 0;
	signal(SIGCHLD, on_sigchld);
	r = kit_connect();
	assert_int_equal(waitpid(-1, NULL, WNOHANG | (int)__WALL), -1);
	assert_int_equal(errno, ECHILD);
	pid = kit_daemon(r);
	kill(pid, SIGKILL);
	assert_int_equal(kit_event(r).kind, RN_ROCIND_GONE);
	kit_await_end(pid);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | (int)__WALL), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(children_signalled, 0);
	rn_rocind_close(r);
	signal(SIGCHLD, SIG_DFL);
}

static unsigned long read_status_mask(pid_t pid, const char *field)
{
	char path[64], line[256];
	unsigned long mask = ~0ul;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, field, strlen(field)) == 0)
			mask = strtoul(line + strlen(field), NULL, 16);
	fclose(f);
	return mask;
}

static void read_link(pid_t pid, const char *name, char *target, size_t len)
{
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	got = readlink(path, target, len - 1);
	target[got < 0 ? 0 : got] = '\0';
}

static void expect_clean_environment(pid_t pid)
{
	static const char *const allowed[] = {
		"PATH=",	   "TMPDIR=",		"XDG_RUNTIME_DIR=",
		"ROCIN_LOG=",	   "ROCIN_NEIGHBOURS=", "ROCIN_RUNTIME_DIR=",
		"ROCIN_PEER_INFO="
	};
	char path[64], text[16384];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[len] = '\0';
	for (const char *var = text; var < text + len; var += strlen(var) + 1) {
		bool is_allowed = false;

		for (unsigned i = 0; i < RN_ARRAY_SIZE(allowed); i++)
			is_allowed |= strncmp(var, allowed[i], strlen(allowed[i])) == 0;
		if (!is_allowed)
			fail_msg("the daemon has %s", var);
	}
}

static void it_inherits_nothing(void **state)
{
	char target[256], name[16];
	struct rn_rocind *r;
	sigset_t set, old;
	pid_t pid;
	int low = open("/dev/zero", O_RDWR);
	int fd = fcntl(low, F_DUPFD, 100); /* not close-on-exec */

	(void)state;
	signal(SIGUSR1, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	setenv("LD_PRELOAD", "", 1);
	r = kit_connect();
	pid = kit_daemon(r);

	read_link(pid, "fd/100", target, sizeof(target));
	assert_string_equal(target, "");
	for (unsigned std = 0; std < 3; std++) {
		snprintf(name, sizeof(name), "fd/%u", std);
		read_link(pid, name, target, sizeof(target));
		assert_string_equal(target, "/dev/null");
	}
	read_link(pid, "cwd", target, sizeof(target));
	assert_string_equal(target, "/");
	assert_int_equal(read_status_mask(pid, "SigIgn:"), 1ul << (SIGPIPE - 1) |
								   1ul << (SIGXFSZ - 1) |
								   1ul << (SIGCHLD - 1));
	assert_int_equal(read_status_mask(pid, "SigBlk:") & (1ul << (SIGUSR2 - 1)), 0);
	assert_int_not_equal(getsid(pid), getsid(0));
	expect_clean_environment(pid);

	unsetenv("LD_PRELOAD");
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGUSR1, SIG_DFL);
	rn_rocind_close(r);
	close(fd);
	close(low);
}

/* Nobody else may connect, also where the directory was opened to them afterwards. */
static void its_files_are_private_whatever_the_programs_umask_is(void **state)
{
	static const char *const suffix[] = { ".sock", ".lock" };
	mode_t mask = umask(0);
	struct rn_rocind *r = kit_connect();
	char name[64], path[256];

	(void)state;
	umask(mask);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(suffix); i++) {
		struct stat st;

		rn_runtime_name(name, sizeof(name), "rocind", suffix[i]);
		snprintf(path, sizeof(path), "%s/%s", kit_runtime_dir(), name);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0077, 0);
	}
	rn_rocind_close(r);
}

static void no_descriptor_of_the_client_is_inherited_by_programs(void **state)
{
	const struct rn_netdev dev = kit_device(3);
	int first = dup(0);
	struct rn_attach a;
	struct rn_rocind *r = kit_attach(&dev, &a);

	(void)state;
	assert_true(rn_rocind_fd(r) > 2);
	assert_int_equal(fcntl(rn_rocind_fd(r), F_GETFD), FD_CLOEXEC);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(a.sock[i] > 2);
		assert_int_equal(fcntl(a.sock[i], F_GETFD), FD_CLOEXEC);
	}
	kit_close_socks(&a);
	rn_rocind_close(r);
	close(first);
	assert_int_equal(dup(0), first); /* nothing stayed open */
	close(first);
}

/* A program that runs with its standard files closed. */
static void standard_files_that_are_closed_stay_free(void **state)
{
	const struct rn_netdev dev = kit_device(2);
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct rn_attach a;
		struct rn_rocind *r;
		int free_fds;

		for (int fd = 0; fd < 3; fd++)
			close(fd);
		r = rn_rocind_connect(NULL, NULL, 0);
		if (!r || rn_rocind_attach(r, &dev, -1, &a, NULL, 0))
			_exit(100);
		for (free_fds = 0; free_fds < 3; free_fds++)
			if (fcntl(free_fds, F_GETFD) != -1)
				break;
		_exit(free_fds);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
}

/* ---- End ---- */

static void a_stop_is_told_and_frees_the_port(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	const struct rn_netdev dev = kit_device(1);

	(void)state;
	for (unsigned i = 0; i <= RN_ARRAY_SIZE(signals); i++) {
		struct rn_attach a;
		struct rn_rocind *r = kit_attach(&dev, &a), *stopper = kit_connect();
		struct rn_rocind_event event;
		pid_t pid = kit_daemon(r);

		assert_int_equal(rn_rocind_event(r, &event), -EAGAIN);
		if (i < RN_ARRAY_SIZE(signals))
			kill(pid, signals[i]);
		else
			assert_int_equal(rn_rocind_shutdown(stopper, NULL, 0), 0);
		assert_int_equal(kit_event(r).kind, RN_ROCIND_GONE);
		assert_int_equal(kit_event(r).kind, RN_ROCIND_GONE);
		assert_int_equal(rn_rocind_detach(r, NULL, 0), -ECONNRESET);
		kit_close_socks(&a);
		kit_await_end(pid);
		rn_rocind_close(r);
		rn_rocind_close(stopper);
	}
}

static void *close_socks(void *arg)
{
	kit_close_socks(arg);
	return NULL;
}

/* The next rocind may come before the clients of the dead one closed their sockets. */
static void a_new_rocind_waits_for_the_sockets_of_a_dead_one(void **state)
{
	const struct rn_netdev dev = kit_device(2);
	struct rn_attach old, new;
	struct rn_rocind *r = kit_attach(&dev, &old), *next;
	pthread_t closer;
	pid_t pid = kit_daemon(r);

	(void)state;
	kill(pid, SIGKILL);
	assert_int_equal(kit_event(r).kind, RN_ROCIND_GONE);
	rn_rocind_close(r);
	next = kit_connect();
	assert_int_equal(pthread_create(&closer, NULL, close_socks, &old), 0);
	assert_int_equal(rn_rocind_attach(next, &dev, -1, &new, NULL, 0), 0);
	assert_int_not_equal(kit_daemon(next), pid);
	pthread_join(closer, NULL);
	kit_close_socks(&new);
	rn_rocind_close(next);
}

static void it_does_not_wait_for_ever(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach old, new;
	struct rn_rocind *r = kit_attach(&dev, &old), *next;
	char why[512] = "", who[64];

	(void)state;
	kill(kit_daemon(r), SIGKILL);
	assert_int_equal(kit_event(r).kind, RN_ROCIND_GONE);
	rn_rocind_close(r);
	next = kit_connect();
	assert_int_equal(rn_rocind_attach(next, &dev, -1, &new, why, sizeof(why)),
			 -EADDRINUSE);
	snprintf(who, sizeof(who), "process %d (test_life)", (int)getpid());
	assert_non_null(strstr(why, who));
	kit_close_socks(&old);
	rn_rocind_close(next);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)
#define MORTAL(f) cmocka_unit_test_setup_teardown(f, kit_setup_mortal, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_starts_on_demand_and_ends_when_idle),
		TEST(a_client_that_comes_at_the_end_is_served_by_the_next),
		TEST(it_waits_for_who_has_started_it),
		TEST(many_processes_that_start_at_once_get_one_rocind),
		TEST(a_program_that_cannot_be_started_is_named),
		TEST(a_shared_library_that_is_missing_is_named),
		TEST(what_it_says_before_it_ends_is_said_in_one_line),
		TEST(it_is_found_in_path),
		TEST(a_runtime_directory_with_a_long_path_works),
		TEST(a_runtime_directory_open_to_others_is_refused),
		MORTAL(the_program_never_sees_a_child),
		TEST(it_inherits_nothing),
		TEST(its_files_are_private_whatever_the_programs_umask_is),
		TEST(no_descriptor_of_the_client_is_inherited_by_programs),
		TEST(standard_files_that_are_closed_stay_free),
		TEST(a_stop_is_told_and_frees_the_port),
		MORTAL(a_new_rocind_waits_for_the_sockets_of_a_dead_one),
		MORTAL(it_does_not_wait_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
