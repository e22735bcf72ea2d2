/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_squatters.c - another user of the machine has taken the names and the ports that
 * Rocin would take: directories, files, links and sockets where the runtime directory is
 * to be, and UDP port 4791 of an address, or of all.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rocin/cmdev.h"
#include "tests/tools/rocind/kit/netns.h"
#include "tests/tools/rocind/kit/rocind_kit.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/runtime_dir.h"

enum {
	SQUATTER = 65534,
	VICTIM = 65533,
	MANY = 2000,
};

/* Runs a function as a user, in a process of its own. Return: what it returns, 0 to 255.
 */
static int as_user(uid_t uid, int (*act)(const void *arg), const void *arg)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgid(uid) || setuid(uid))
			_exit(255);
		umask(0);
		_exit(act(arg));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* ---- The runtime directory ---- */

enum squat {
	OPEN_DIRECTORY,
	CLOSED_DIRECTORY,
	FILE_THERE,
	LINK_TO_NOTHING,
	LINK_TO_A_DIRECTORY,
	LINK_TO_THE_VICTIMS,
	FIFO,
	SOCKET,
	MANY_BESIDE,
	SQUATS
};

static char name[64], theirs[128]; /* the name to be taken; a directory of the victim */

static int bind_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	return bind(socket(AF_UNIX, SOCK_SEQPACKET, 0), (struct sockaddr *)&addr,
		    sizeof(addr));
}

static int squat(const void *arg)
{
	char path[128];

	switch (*(const enum squat *)arg) {
	case OPEN_DIRECTORY:
		return mkdir(name, 0777) != 0;
	case CLOSED_DIRECTORY:
		return mkdir(name, 0700) != 0;
	case FILE_THERE:
		return open(name, O_CREAT | O_WRONLY, 0666) < 0;
	case LINK_TO_NOTHING:
		return symlink("/dev/shm/nothing", name) != 0;
	case LINK_TO_A_DIRECTORY:
		return symlink("/tmp", name) != 0;
	case LINK_TO_THE_VICTIMS:
		return symlink(theirs, name) != 0;
	case FIFO:
		return mkfifo(name, 0666) != 0;
	case SOCKET:
		return bind_socket(name) != 0;
	case MANY_BESIDE:
		for (unsigned i = 0; i < MANY; i++) {
			snprintf(path, sizeof(path), "%s.%06u", name, i);
			if (mkdir(path, 0777))
				return 1;
		}
		return mkdir(name, 0777) != 0;
	case SQUATS:
		break;
	}
	return 1;
}

/* Return: 0 if it has a private directory, and the same one each time. */
static int find_directory(const void *arg)
{
	char first[256], again[256], why[512] = "";
	struct stat st;

	(void)arg;
	if (rn_runtime_dir(first, sizeof(first), why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (rn_runtime_dir(again, sizeof(again), why, sizeof(why)) ||
	    strcmp(first, again) != 0)
		return 2;
	if (lstat(first, &st) || !S_ISDIR(st.st_mode) || st.st_uid != VICTIM ||
	    st.st_mode & 077)
		return 3;
	return strcmp(first, theirs) == 0 ? 4 : 0;
}

static int make_theirs(const void *arg)
{
	(void)arg;
	return mkdir(theirs, 0700) != 0;
}

static void a_taken_name_costs_nobody_a_directory(void **state)
{
	(void)state;
	unsetenv("ROCIN_RUNTIME_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("TMPDIR");
	snprintf(name, sizeof(name), "/dev/shm/rocin-%d", VICTIM);
	snprintf(theirs, sizeof(theirs), "/dev/shm/elsewhere");
	for (enum squat how = 0; how < SQUATS; how++) {
		if (mount("none", "/dev/shm", "tmpfs", 0, "mode=1777"))
			skip();
		assert_int_equal(as_user(VICTIM, make_theirs, NULL), 0);
		assert_int_equal(as_user(SQUATTER, squat, &how), 0);
		assert_int_equal(as_user(VICTIM, find_directory, NULL), 0);
		assert_int_equal(umount("/dev/shm"), 0);
	}
}

/* ---- The port ---- */

struct port {
	struct rn_gid gid;
	bool shares; /* SO_REUSEPORT and SO_REUSEADDR */
};

/* Holds the port until the pipe on standard input is closed. */
static int hold_port(const void *arg)
{
	const struct port *port = arg;
	const int on = 1;
	union rn_sockaddr sa;
	socklen_t len = rn_gid_sockaddr(&sa, &port->gid, RN_ROCE_PORT, 0);
	int fd = socket(sa.sa.sa_family, SOCK_DGRAM, 0);
	char byte = 0;

	if (port->shares) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	}
	if (bind(fd, &sa.sa, len) || write(STDOUT_FILENO, "b", 1) != 1)
		return 1;
	return read(STDIN_FILENO, &byte, 1) < 0;
}

/* Return: the process; *@hold keeps it there. */
static pid_t start_holding(const struct port *port, int *hold)
{
	int in[2], out[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		_exit(setgid(SQUATTER) || setuid(SQUATTER) ? 255 : hold_port(port));
	}
	close(in[0]);
	close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(out[0]);
	*hold = in[1];
	return pid;
}

static void refuse_then_attach(const struct port *port, bool others_are_free)
{
	struct rn_netdev dev = kit_device(1);
	struct rn_attach a;
	struct rn_rocind *r = kit_connect();
	char why[512] = "";
	int hold, status;
	pid_t pid = start_holding(port, &hold);

	assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, why, sizeof(why)),
			 -EADDRINUSE);
	assert_non_null(strstr(why, "is held by process"));
	print_message("%s\n", why);
	if (others_are_free) {
		dev.gid[0] = kit_gid(1);
		assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, why, sizeof(why)), 0);
		kit_close_socks(&a);
	}
	close(hold);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Once it has gone, the address is to be had. */
	rn_rocind_close(r);
	dev.gid[0] = kit_gid(0);
	r = kit_attach(&dev, &a);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* Nor does anybody wait for it, or get its packets. */
static void a_taken_port_is_named_and_others_work(void **state)
{
	(void)state;
	for (unsigned shares = 0; shares < 2; shares++) {
		const struct port all = { { .raw = { [10] = 0xff, 0xff } }, shares };

		refuse_then_attach(&(struct port){ kit_gid(0), shares }, true);
		kit_teardown(state);
		kit_setup(state);
		refuse_then_attach(&all, false);
		kit_teardown(state);
		kit_setup(state);
	}
}

/* ---- Abstract names ---- */

/* Every process of the network namespace can bind them. This namespace is the test's, so
 * all that are there are Rocin's. Return: how many; the last one in @last.
 */
static unsigned read_names(char last[64])
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[256];
	unsigned count = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const char *at = strchr(line, '@');

		if (!at)
			continue;
		/* The only ones; each has 32 bits that nobody can guess. */
		assert_int_equal(
			strncmp(at + 1, RN_CMDEV_NAME, sizeof(RN_CMDEV_NAME) - 1), 0);
		snprintf(last, 64, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
		assert_int_equal(strlen(last), RN_CMDEV_NAME_LEN);
		count++;
	}
	fclose(f);
	return count;
}

static int bind_name(const char *abstract)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(abstract);

	memcpy(addr.sun_path + 1, abstract, len);
	return bind(socket(AF_UNIX, SOCK_SEQPACKET, 0), (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

/* Succeeds if the name is held by somebody else. */
static int cannot_bind(const void *arg)
{
	return bind_name(arg) == 0 || errno != EADDRINUSE;
}

/* All that were seen, and those beside them. */
static pid_t start_squatting_beside(const char *seen, int *hold)
{
	int in[2], out[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char beside[64];
		int rc = setgid(SQUATTER) || setuid(SQUATTER) ? 255 : 0;

		snprintf(beside, sizeof(beside), "%s", seen);
		rc |= bind_name(beside) != 0;
		for (unsigned i = 0; i < 256; i++) {
			snprintf(beside + strlen(seen) - 2, 3, "%02x", i);
			bind_name(beside);
		}
		rc |= write(out[1], "b", 1) != 1;
		close(in[1]);
		_exit(read(in[0], &byte, 1) < 0 ? 1 : rc);
	}
	close(in[0]);
	close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(out[0]);
	*hold = in[1];
	return pid;
}

static int open_channel(struct rn_rocind *r)
{
	char why[512] = "";
	int board = -1,
	    fd = rn_rocind_open_cm(r, "lo:127.0.0.1", &board, why, sizeof(why));

	if (fd < 0)
		fail_msg("%s", why);
	close(board);
	return fd;
}

static void names_that_were_seen_are_of_no_use(void **state)
{
	struct rn_rocind *r = kit_connect();
	char seen[64] = "", now[64] = "";
	int channel = open_channel(r), hold, status;
	pid_t pid;

	(void)state;
	assert_int_equal(read_names(seen), 1);
	assert_int_equal(as_user(SQUATTER, cannot_bind, seen), 0);
	close(channel);
	while (read_names(now)) /* rocind sees the end */
		usleep(1000);
	pid = start_squatting_beside(seen, &hold);
	for (unsigned i = 0; i < 10; i++) {
		channel = open_channel(r);
		close(channel);
	}
	close(hold);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rn_rocind_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_that_were_seen_are_of_no_use,
						kit_setup, kit_teardown),
		cmocka_unit_test(a_taken_name_costs_nobody_a_directory),
		cmocka_unit_test_setup_teardown(a_taken_port_is_named_and_others_work,
						kit_setup, kit_teardown),
	};

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || !netns_enter()) {
		printf("skipped: becoming another user in namespaces of one's own needs "
		       "root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
