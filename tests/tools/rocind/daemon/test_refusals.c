/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_refusals.c - what rocind and its client cannot do or do not understand. */
#include "tests/tools/rocind/kit/rocind_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/kit/system/hand_over.h"
#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/ctl_socket.h"

/* ---- Who holds the port ---- */

static int hold_port(const struct rn_gid *gid)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(RN_ROCE_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(&sa.sin_addr, gid->raw + 12, 4);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static void a_port_that_a_program_holds_is_refused_with_its_name(void **state)
{
	const struct rn_netdev dev = kit_device(2);
	struct rn_rocind *r = kit_connect();
	int fd = hold_port(&dev.gid[1]);
	char why[512] = "", who[64];
	struct rn_attach a;

	(void)state;
	assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, why, sizeof(why)),
			 -EADDRINUSE);
	snprintf(who, sizeof(who), "process %d (test_refusals)", (int)getpid());
	assert_non_null(strstr(why, who));
	assert_non_null(strstr(why, "UDP port 4791 of 127."));
	assert_non_null(strstr(why, "--netdev lo:127."));
	close(fd);
	assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, why, sizeof(why)), 0);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* Of the same user, which is what makes plain SO_REUSEPORT unsafe. */
static void a_second_rocind_cannot_join_an_address_of_the_first(void **state)
{
	const struct rn_netdev dev = kit_device(1);
	char why[512] = "";
	struct rn_attach a, b;
	struct rn_rocind *first = kit_attach(&dev, &a), *second;
	char first_daemon[64];
	pid_t pid;

	(void)state;
	snprintf(first_daemon, sizeof(first_daemon), "process %d (rocind)",
		 (int)kit_daemon(first));
	kit_use_inner_dir("second");
	second = kit_connect();
	pid = kit_daemon(second);
	assert_int_equal(rn_rocind_attach(second, &dev, -1, &b, why, sizeof(why)),
			 -EADDRINUSE);
	assert_non_null(strstr(why, first_daemon));
	assert_int_equal(rn_rocind_shutdown(second, NULL, 0), 0);
	rn_rocind_close(second);
	kit_await_end(pid);
	kit_send(&dev.gid[0], a.qpn_counter << 8 | a.slot, 16);
	assert_int_equal(kit_receive(a.sock[0]), a.qpn_counter << 8 | a.slot);
	kit_close_socks(&a);
	rn_rocind_close(first);
}

static void an_address_that_is_not_there_is_refused(void **state)
{
	struct rn_netdev dev = kit_device(1);
	struct rn_rocind *r = kit_connect();
	char why[512] = "";
	struct rn_attach a;

	(void)state;
	dev.gid[0].raw[12] = 192; /* 192.0.2.1: for documentation, nobody has it */
	dev.gid[0].raw[13] = 0;
	dev.gid[0].raw[14] = 2;
	dev.gid[0].raw[15] = 1;
	assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, why, sizeof(why)),
			 -EADDRNOTAVAIL);
	assert_non_null(strstr(why, "192.0.2.1"));
	rn_rocind_close(r);
}

static void a_device_without_name_or_with_wrong_addresses_is_refused(void **state)
{
	struct rn_netdev nameless = kit_device(1), empty = kit_device(0),
			 twice = kit_device(2);
	struct rn_rocind *r = kit_connect();
	struct rn_attach a;

	(void)state;
	nameless.ibdev[0] = '\0';
	twice.gid[1] = twice.gid[0];
	assert_int_equal(rn_rocind_attach(r, &nameless, -1, &a, NULL, 0), -EINVAL);
	assert_int_equal(rn_rocind_attach(r, &empty, -1, &a, NULL, 0), -EINVAL);
	assert_int_equal(rn_rocind_attach(r, &twice, -1, &a, NULL, 0), -EINVAL);
	assert_int_equal(rn_rocind_attach(r, &twice, 12345, &a, NULL, 0), -EBADF);
	rn_rocind_close(r);
}

/* rocind reads it, and must not wait: the log of the kernel has no end. */
static void statistics_that_are_no_memory_are_refused(void **state)
{
	static const char *const files[] = { "/proc/self/exe", "/dev/zero", "/dev/kmsg",
					     "/" };
	const struct rn_netdev dev = kit_device(1);
	struct rn_rocind *r = kit_connect();
	struct rn_attach a;
	struct statfs fs;
	int ends[2];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(files); i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);

		/* Not everybody may read the log, and a program may lie in memory. */
		if (fd < 0 || (fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC))
			continue;
		assert_int_equal(rn_rocind_attach(r, &dev, fd, &a, NULL, 0), -EINVAL);
		close(fd);
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(rn_rocind_attach(r, &dev, ends[0], &a, NULL, 0), -EINVAL);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(rn_rocind_attach(r, &dev, -1, &a, NULL, 0), 0);
	kit_close_socks(&a);
	rn_rocind_close(r);
}

/* ---- Garbage to the daemon ---- */

static int raw_connect(void)
{
	struct sockaddr_un addr;
	char name[64];
	int dir_fd;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	rn_runtime_name(name, sizeof(name), "rocind", ".sock");
	assert_int_equal(rn_ctl_address(&addr, kit_runtime_dir(), name, &dir_fd), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static int await_message(int fd, struct rn_ctl_packet *pkt)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, KIT_WAIT_MS), 1);
	return rn_ctl_receive(fd, pkt);
}

/* Reads until the daemon closes; a refusal may or may not come before. */
static void expect_end(int fd)
{
	struct rn_ctl_packet pkt;
	int rc;

	while ((rc = await_message(fd, &pkt)) == 0)
		assert_int_equal(pkt.msg.hdr.type, RN_CTL_REFUSED);
	assert_int_equal(rc, -ECONNRESET);
	close(fd);
}

static void expect_end_after(const void *bytes, size_t len)
{
	int fd = raw_connect();

	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
	expect_end(fd);
}

static void garbage_ends_its_connection_and_nothing_else(void **state)
{
	struct rn_rocind *r = kit_connect();
	pid_t daemon = kit_daemon(r);
	struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) }, bad;
	struct rn_ctl_attach attach = { .hdr = rn_ctl_hdr(RN_CTL_ATTACH) };
	uint8_t noise[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 167 + 13);
	expect_end_after(noise, 1);
	expect_end_after(noise, sizeof(struct rn_ctl_hdr));
	expect_end_after(noise, sizeof(noise));
	expect_end_after(&hello, sizeof(hello.hdr)); /* cut short */
	expect_end_after(&attach, sizeof(attach));   /* before HELLO */
	for (unsigned type = 0; type < 256; type++) {
		if (type == RN_CTL_HELLO)
			continue;
		bad = hello;
		bad.hdr.type = (uint16_t)type;
		expect_end_after(&bad, sizeof(bad));
	}
	bad = hello;
	bad.hdr.len++;
	expect_end_after(&bad, sizeof(bad));
	bad = hello;
	bad.hdr.magic ^= 1;
	expect_end_after(&bad, sizeof(bad));
	assert_int_equal(kit_daemon(r), daemon);
	rn_rocind_close(r);
}

static unsigned count_descriptors(pid_t pid)
{
	char path[64];
	unsigned count = 0;

	for (unsigned fd = 0; fd < 256; fd++) {
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
		count += lstat(path, &st) == 0;
	}
	return count;
}

static void descriptors_that_nobody_asked_for_are_closed(void **state)
{
	struct rn_rocind *r = kit_connect();
	unsigned before = count_descriptors(kit_daemon(r));
	struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) };
	struct rn_ctl_hello wrong = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) };
	int fds[RN_CTL_FD_MAX] = { 0 };
	struct rn_ctl_packet pkt;
	int fd = raw_connect();

	(void)state;
	assert_int_equal(rn_ctl_send(fd, &hello, fds, RN_CTL_FD_MAX), 0);
	assert_int_equal(await_message(fd, &pkt), 0);
	assert_int_equal(pkt.msg.hdr.type, RN_CTL_WELCOME);
	/* The connection and its pidfd are there, and nothing else. */
	assert_int_equal(count_descriptors(kit_daemon(r)), before + 2);
	close(fd);
	fd = raw_connect();
	wrong.hdr.magic = 0;
	assert_int_equal(rn_ctl_send(fd, &wrong, fds, RN_CTL_FD_MAX), 0);
	expect_end(fd);
	assert_int_equal(count_descriptors(kit_daemon(r)), before);
	rn_rocind_close(r);
}

static void expect_refusal(int fd, const void *request, const int *fds, unsigned fd_count,
			   const char *words)
{
	struct rn_ctl_packet pkt;

	assert_int_equal(rn_ctl_send(fd, request, fds, fd_count), 0);
	assert_int_equal(await_message(fd, &pkt), 0);
	assert_int_equal(pkt.msg.hdr.type, RN_CTL_REFUSED);
	assert_int_equal(pkt.msg.refused.err, EINVAL);
	assert_non_null(strstr(pkt.msg.refused.text, words));
}

/* What no client of ours says, though it looks well. */
static void a_device_with_too_much_of_something_is_refused(void **state)
{
	const struct rn_ctl_hello hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO) };
	struct rn_ctl_attach attach = { .hdr = rn_ctl_hdr(RN_CTL_ATTACH),
					.ibdev = "rocin0",
					.ifname = "lo",
					.ifindex = 1,
					.gid_count = RN_GID_MAX + 1 };
	const struct rn_gid mine = kit_gid(0);
	const int fds[2] = { STDIN_FILENO, STDIN_FILENO };
	struct rn_rocind *r = kit_connect();
	unsigned before = count_descriptors(kit_daemon(r));
	struct rn_ctl_packet pkt;
	int fd = raw_connect();

	(void)state;
	assert_int_equal(rn_ctl_send(fd, &hello, NULL, 0), 0);
	assert_int_equal(await_message(fd, &pkt), 0);
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		attach.gid[i] = kit_gid(i % 8);
	for (unsigned i = 8; i < RN_GID_MAX; i++)
		attach.gid[i].raw[12] ^= 1;
	expect_refusal(fd, &attach, NULL, 0, "a device needs 1 to");
	attach.gid_count = UINT32_MAX;
	expect_refusal(fd, &attach, NULL, 0, "a device needs 1 to");
	attach.gid_count = 0;
	expect_refusal(fd, &attach, NULL, 0, "a device needs 1 to");
	attach.gid_count = 1;
	attach.gid[0] = mine;
	expect_refusal(fd, &attach, fds, 2, "more than one descriptor");
	/* The connection and its pidfd are there, and nothing else. */
	assert_int_equal(count_descriptors(kit_daemon(r)), before + 2);
	close(fd);
	rn_rocind_close(r);
}

/* Return: channels that could be opened, each with a way of which all copies stay here.
 */
static unsigned open_all_channels(struct rn_rocind *r, int *fd, unsigned max)
{
	int pair[2], board;
	unsigned n = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (; n < max; n++) {
		fd[n] = rn_rocind_open_cm(r, "lo:127.0.0.1", &board, NULL, 0);
		if (fd[n] < 0)
			break;
		if (board >= 0)
			close(board);
		assert_int_equal(hand_over(fd[n], pair[0], 0), 1);
	}
	for (unsigned i = 0; i < n; i++)
		close(fd[i]);
	/* Whatever rocind waits for now hears of this. */
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
	close(pair[0]);
	close(pair[1]);
	return n;
}

static void a_program_that_takes_all_descriptors_harms_nobody_for_long(void **state)
{
	enum {
		LIMIT = 64
	};
	const struct rlimit limit = { LIMIT, LIMIT };
	const struct rn_netdev dev = kit_device(1);
	struct rn_attach mine, other;
	struct rn_rocind *r = kit_attach(&dev, &mine), *hostile;
	pid_t daemon = kit_daemon(r);
	int channel[LIMIT];

	(void)state;
	assert_int_equal(prlimit(daemon, RLIMIT_NOFILE, &limit, NULL), 0);
	for (unsigned round = 0; round < 20; round++) {
		hostile = kit_connect();
		assert_in_range(open_all_channels(hostile, channel, LIMIT), 4, LIMIT - 1);
		rn_rocind_close(hostile);
		hostile = kit_attach(&dev, &other);
		kit_close_socks(&other);
		rn_rocind_close(hostile);
	}
	assert_int_equal(kit_daemon(r), daemon);
	kit_send(&dev.gid[0], 0x300 | mine.slot, 16);
	assert_int_equal(kit_receive(mine.sock[0]), 0x300 | mine.slot);
	kit_close_socks(&mine);
	rn_rocind_close(r);
}

static void a_client_of_another_version_gets_a_sentence(void **state)
{
	struct rn_rocind *r = kit_connect();
	struct {
		struct rn_ctl_hello hello;
		char more[100]; /* later versions may say more */
	} msg = { .hello = { .hdr = rn_ctl_hdr(RN_CTL_HELLO), .version = "9.8.7" } };
	struct rn_ctl_packet pkt;
	int fd = raw_connect();

	(void)state;
	msg.hello.hdr.version = RN_CTL_VERSION + 1;
	msg.hello.hdr.len = sizeof(msg);
	assert_int_equal(send(fd, &msg, sizeof(msg), 0), sizeof(msg));
	assert_int_equal(await_message(fd, &pkt), 0);
	assert_int_equal(pkt.msg.hdr.type, RN_CTL_REFUSED);
	assert_int_equal(pkt.msg.refused.err, EPROTONOSUPPORT);
	assert_non_null(strstr(pkt.msg.refused.text, "9.8.7"));
	assert_non_null(strstr(pkt.msg.refused.text, ROCIN_VERSION));
	expect_end(fd);
	rn_rocind_close(r);
}

/* ---- Garbage to the client ---- */

/* A daemon of the test's own: answers each connection's HELLO with the given bytes. */
struct impostor {
	int listener;
	const void *bytes;
	size_t len;
	pthread_t thread;
};

static void *answer_hello(void *arg)
{
	const struct impostor *impostor = arg;
	struct rn_ctl_hello hello;
	int fd = accept(impostor->listener, NULL, NULL);

	if (recv(fd, &hello, sizeof(hello), 0) > 0 && impostor->len)
		send(fd, impostor->bytes, impostor->len, MSG_NOSIGNAL);
	recv(fd, &hello, sizeof(hello), 0); /* until the client has closed */
	close(fd);
	return NULL;
}

static int impostor_listen(void)
{
	struct sockaddr_un addr;
	char name[64];
	int dir_fd;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	rn_runtime_name(name, sizeof(name), "rocind", ".sock");
	assert_int_equal(rn_ctl_address(&addr, kit_runtime_dir(), name, &dir_fd), 0);
	unlink(addr.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static int connect_to_impostor(const void *bytes, size_t len, char *why, size_t why_len)
{
	struct impostor impostor = { .listener = impostor_listen(),
				     .bytes = bytes,
				     .len = len };
	struct rn_rocind *r;
	int err;

	assert_int_equal(pthread_create(&impostor.thread, NULL, answer_hello, &impostor),
			 0);
	r = rn_rocind_connect(NULL, why, why_len);
	err = r ? 0 : errno;
	rn_rocind_close(r);
	pthread_join(impostor.thread, NULL);
	close(impostor.listener);
	return err;
}

static void a_client_believes_a_refusal_of_any_version(void **state)
{
	struct rn_ctl_refused refused = { .hdr = rn_ctl_hdr(RN_CTL_REFUSED),
					  .err = EPROTONOSUPPORT,
					  .text = "this rocind is of the future" };
	char why[512] = "";

	(void)state;
	refused.hdr.version = 77;
	assert_int_equal(connect_to_impostor(&refused, sizeof(refused), why, sizeof(why)),
			 EPROTONOSUPPORT);
	assert_string_equal(why, "this rocind is of the future");
}

static void a_client_survives_garbage(void **state)
{
	struct rn_ctl_welcome future = { .hdr = rn_ctl_hdr(RN_CTL_WELCOME) };
	struct rn_ctl_refused endless = { .hdr = rn_ctl_hdr(RN_CTL_REFUSED),
					  .err = EPERM };
	struct rn_ctl_gid_change event = { .hdr = rn_ctl_hdr(RN_CTL_GID_CHANGE),
					   .added = 1 };
	char why[512] = "";

	(void)state;
	future.hdr.version = 77;
	memset(endless.text, 'x', sizeof(endless.text)); /* no final NUL */
	assert_int_equal(connect_to_impostor("?", 1, why, sizeof(why)), EBADMSG);
	assert_int_equal(connect_to_impostor(&future, sizeof(future), why, sizeof(why)),
			 EBADMSG);
	assert_int_equal(connect_to_impostor(&event, sizeof(event), why, sizeof(why)),
			 EBADMSG); /* promises a socket and brings none */
	assert_int_equal(connect_to_impostor(&endless, sizeof(endless), why, sizeof(why)),
			 EPERM);
	assert_int_equal(strlen(why), RN_CTL_TEXT_LEN);
}

static void *close_before_welcome(void *arg)
{
	const struct impostor *impostor = arg;
	struct rn_ctl_hello hello;
	int fd = accept(impostor->listener, NULL, NULL);

	(void)!recv(fd, &hello, sizeof(hello), 0);
	close(fd);
	close(impostor->listener);
	return NULL;
}

/* What a client meets that comes when a daemon is about to end. */
static void a_client_that_is_not_taken_in_starts_another(void **state)
{
	struct impostor impostor = { .listener = impostor_listen() };
	struct rn_rocind *r;

	(void)state;
	assert_int_equal(
		pthread_create(&impostor.thread, NULL, close_before_welcome, &impostor),
		0);
	r = kit_connect();
	assert_int_not_equal(kit_daemon(r), getpid());
	pthread_join(impostor.thread, NULL);
	rn_rocind_close(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_port_that_a_program_holds_is_refused_with_its_name),
		TEST(a_second_rocind_cannot_join_an_address_of_the_first),
		TEST(an_address_that_is_not_there_is_refused),
		TEST(a_device_without_name_or_with_wrong_addresses_is_refused),
		TEST(statistics_that_are_no_memory_are_refused),
		TEST(garbage_ends_its_connection_and_nothing_else),
		TEST(descriptors_that_nobody_asked_for_are_closed),
		TEST(a_device_with_too_much_of_something_is_refused),
		TEST(a_program_that_takes_all_descriptors_harms_nobody_for_long),
		TEST(a_client_of_another_version_gets_a_sentence),
		TEST(a_client_believes_a_refusal_of_any_version),
		TEST(a_client_survives_garbage),
		TEST(a_client_that_is_not_taken_in_starts_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
