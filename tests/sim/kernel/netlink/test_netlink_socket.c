/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_netlink_socket.c - requests of RDMA netlink in a socket of the program: whose
 * socket it is, and the order and the number of the answers.
 */
#include <errno.h>
#include <rdma/rdma_netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/kernel/netlink/message.h"
#include "sim/kernel/netlink/socket.h"

static const char tree[] = "/nowhere/rocin"; /* without devices */
/* number of sends that find no room; the thread that sends later looks, too */
static atomic_uint sends_refused;

/* In place of the C library's: the receive buffer is full for as long as a test says. */
ssize_t send(int fd, const void *data, size_t len, int flags)
{
	if (atomic_load(&sends_refused)) {
		atomic_fetch_sub(&sends_refused, 1);
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_sendto, fd, data, len, flags, NULL, 0);
}

static int open_socket(void **state)
{
	static int fd;

	atomic_store(&sends_refused, 0);
	fd = rnk_nl_open(SOCK_RAW | SOCK_CLOEXEC, tree);
	*state = &fd;
	return 0;
}

static int close_socket(void **state)
{
	int fd = *(int *)*state;

	return fd < 0 ? 0 : close(fd);
}

/* Skips a test where programs get no netlink sockets. */
static int socket_of(void **state)
{
	int fd = *(int *)*state;

	if (fd < 0)
		skip();
	return fd;
}

/* Sends requests for what the system has, numbered from @first on, in one datagram. */
static void ask(int fd, uint32_t first, unsigned count)
{
	struct nlmsghdr h[4];
	struct iovec iov = { h, count * sizeof(h[0]) };
	const struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	for (unsigned i = 0; i < count; i++)
		h[i] = (struct nlmsghdr){
			.nlmsg_len = sizeof(h[0]),
			.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
								 RDMA_NLDEV_CMD_SYS_GET),
			.nlmsg_flags = NLM_F_REQUEST,
			.nlmsg_seq = first + i,
		};
	assert_int_equal(rnk_nl_request(fd, &msg, tree), iov.iov_len);
}

/* Waits for the next answer, which has to be that to request @seq. */
static void check_answer(int fd, uint32_t seq)
{
	_Alignas(8) uint8_t data[RNK_NL_DATAGRAM];
	struct nlmsghdr h;

	assert_true(recv(fd, data, sizeof(data), 0) >= (ssize_t)sizeof(h));
	memcpy(&h, data, sizeof(h));
	assert_int_equal(h.nlmsg_seq, seq);
}

static void sockets_of_other_services_are_not_ours(void **state)
{
	int route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(rnk_nl_is_ours(socket_of(state)));
	errno = 7;
	assert_false(rnk_nl_is_ours(route));
	assert_false(rnk_nl_is_ours(local));
	assert_false(rnk_nl_is_ours(-1));
	assert_int_equal(errno, 7);
	close(route);
	close(local);
}

/* Answers that nobody has read yet are there when the next request is sent. */
static void answers_stay_until_they_are_read(void **state)
{
	int fd = socket_of(state);

	ask(fd, 1, 1);
	ask(fd, 2, 1);
	check_answer(fd, 1);
	check_answer(fd, 2);
}

/* Those behind an answer that waits for room wait, too. */
static void answers_come_in_order(void **state)
{
	int fd = socket_of(state);

	atomic_store(&sends_refused, 1);
	ask(fd, 1, 3);
	for (uint32_t seq = 1; seq <= 3; seq++)
		check_answer(fd, seq);
}

/* The pieces count together, and what is too long is not read. */
static void requests_of_any_length_are_not_copied(void **state)
{
	static uint8_t byte;
	struct iovec iov[] = { { &byte, 1 }, { &byte, RNK_NL_REQUEST_MAX } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	int fd = socket_of(state);

	assert_int_equal(rnk_nl_request(fd, &msg, tree), -1);
	assert_int_equal(errno, EMSGSIZE);
	iov[1].iov_len = SIZE_MAX;
	assert_int_equal(rnk_nl_request(fd, &msg, tree), -1);
	assert_int_equal(errno, EMSGSIZE);
	msg.msg_iovlen = 1;
	assert_int_equal(rnk_nl_request(fd, &msg, tree), 1);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_socket, close_socket)
	const struct CMUnitTest tests[] = {
		TEST(sockets_of_other_services_are_not_ours),
		TEST(answers_stay_until_they_are_read),
		TEST(answers_come_in_order),
		TEST(requests_of_any_length_are_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
