/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_activation.c - a socket that a service manager passed is taken if it is ours and
 * what clients look for.
 */
#include "tools/rocind/server/server.h"

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	PASSED_FD = 3, /* sd_listen_fds(3) */
};

#define NAME "rocind.sock"

static char dir[64], why[512];

static void path_of(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", dir, name);
}

static int setup(void **state)
{
	(void)state;
	why[0] = '\0';
	strcpy(dir, "/tmp/rocin-passed-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = { NAME, "other.sock" };
	char path[256];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		path_of(names[i], path);
		unlink(path);
	}
	dup2(STDERR_FILENO, PASSED_FD);
	return rmdir(dir);
}

/* A socket of this type becomes what was passed. */
static void pass(int type, const char *name, bool listens)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", dir, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	if (listens)
		assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(dup2(fd, PASSED_FD), PASSED_FD);
	close(fd);
}

static int take(pid_t whose, const char *count)
{
	char pid[16];
	int rc;

	snprintf(pid, sizeof(pid), "%d", (int)whose);
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", count, 1);
	rc = rnd_activation_take(dir, NAME, why, sizeof(why));
	/* Whatever rocind starts is not to take them for its own. */
	assert_null(getenv("LISTEN_PID"));
	assert_null(getenv("LISTEN_FDS"));
	return rc;
}

static void a_listening_socket_that_clients_find_is_taken(void **state)
{
	(void)state;
	pass(SOCK_SEQPACKET, NAME, true);
	assert_int_equal(take(getpid(), "1"), PASSED_FD);
	assert_int_equal(fcntl(PASSED_FD, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(PASSED_FD, F_GETFL) & O_NONBLOCK);
}

/* A parent's variables may be left: descriptor 3 is anything then. */
static void what_was_passed_to_another_process_is_not_ours(void **state)
{
	(void)state;
	pass(SOCK_SEQPACKET, NAME, true);
	assert_int_equal(take(getppid(), "1"), -ENOENT);
	assert_int_equal(take(getpid(), "0"), -ENOENT);
}

static void a_socket_of_another_kind_is_refused(void **state)
{
	static const struct {
		int type;
		bool listens;
	} kinds[] = { { SOCK_STREAM, true },
		      { SOCK_DGRAM, false },
		      { SOCK_SEQPACKET, false } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		pass(kinds[i].type, NAME, kinds[i].listens);
		assert_int_equal(take(getpid(), "1"), -EINVAL);
		assert_non_null(strstr(why, "ListenSequentialPacket="));
		assert_int_equal(teardown(state), 0);
		assert_int_equal(setup(state), 0);
	}
}

static void a_socket_that_clients_do_not_find_is_refused(void **state)
{
	char path[256];

	(void)state;
	pass(SOCK_SEQPACKET, "other.sock", true);
	assert_int_equal(take(getpid(), "1"), -EINVAL);
	assert_non_null(strstr(why, "make it a link to that"));
	path_of(NAME, path);
	assert_int_equal(symlink("other.sock", path), 0);
	assert_int_equal(take(getpid(), "1"), PASSED_FD);
}

static void of_several_sockets_none_is_taken(void **state)
{
	(void)state;
	pass(SOCK_SEQPACKET, NAME, true);
	assert_int_equal(take(getpid(), "2"), -EINVAL);
	assert_non_null(strstr(why, "2 sockets"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_listening_socket_that_clients_find_is_taken),
		TEST(what_was_passed_to_another_process_is_not_ours),
		TEST(a_socket_of_another_kind_is_refused),
		TEST(a_socket_that_clients_do_not_find_is_refused),
		TEST(of_several_sockets_none_is_taken),
	};

	/* Nothing else gets the number of the descriptor that is passed. */
	dup2(STDERR_FILENO, PASSED_FD);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
