/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_channel.c - descriptors that programs hand to the connection manager, of any
 * kind and kept by the program too: rocind waits for none of them behind its
 * channel's end.
 */
#include "tests/tools/rocind/kit/server_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "rocin/cmdev.h"
#include "tests/kit/system/hand_over.h"
#include "tools/rocind/cm/cm.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/rocind/cm_board.h"

ssize_t __real_getrandom(void *buf, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags);

uid_t __wrap_geteuid(void);

static unsigned not_random; /* draws that give all the same */
static uid_t user;

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned flags)
{
	if (!not_random)
		return __real_getrandom(buf, len, flags);
	not_random--;
	memset(buf, 0x5a, len);
	return (ssize_t)len;
}

uid_t __wrap_geteuid(void)
{
	return user;
}

static int setup(void **state)
{
	not_random = 0;
	user = getuid();
	return server_setup(state);
}

static int open_channel_of(const char *netdevs)
{
	char why[256] = "";
	int fd = -1;
	int rc = rnd_cm_open(server.cm, netdevs, &fd, why, sizeof(why));

	if (rc)
		fail_msg("%s", why);
	return fd;
}

static int open_channel(void)
{
	return open_channel_of("lo:127.0.0.1");
}

static int open_channel_at(const struct rn_gid *gid)
{
	char netdevs[64] = "lo:";

	rn_gid_text(gid, netdevs + strlen(netdevs));
	return open_channel_of(netdevs);
}

static void open_pair(int type, int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
}

/* ---- Descriptors that the program keeps ---- */

static void a_way_that_the_program_keeps_is_forgotten_with_its_channel(void **state)
{
	int channel = open_channel(), pair[2];

	(void)state;
	open_pair(SOCK_SEQPACKET, pair);
	assert_int_equal(hand_over_all(channel, &pair[0], 1, 0), 1);
	serve();
	close(channel);
	serve();
	assert_false(rnd_cm_is_open(server.cm));
	assert_int_equal(send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(serve(), 0);
	close(pair[0]);
	close(pair[1]);
}

/* The same one often, and each of them closed for what comes by it. */
static void a_way_that_ends_is_forgotten_though_the_program_keeps_it(void **state)
{
	int channel = open_channel(), pair[2];

	(void)state;
	open_pair(SOCK_SEQPACKET, pair);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(hand_over_all(channel, &pair[0], 1, 0), 1);
	serve();
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
	serve();
	assert_int_equal(send(pair[1], "x", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(serve(), 0);
	close(channel);
	serve();
	close(pair[0]);
	close(pair[1]);
}

/* ---- Descriptors of odd kinds ---- */

/* Who hands over its own end of the channel, and no other, would have it for ever. */
static void a_channel_does_not_keep_itself(void **state)
{
	int channel = open_channel();

	(void)state;
	assert_int_equal(hand_over_all(channel, &channel, 1, 0), 1);
	close(channel);
	serve();
	assert_false(rnd_cm_is_open(server.cm));
}

static int datagram_to_itself(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

/* Readable for ever with nothing to read, which would keep rocind busy. */
static int shut_datagram(void)
{
	int fd = datagram_to_itself();

	assert_int_equal(shutdown(fd, SHUT_RD), 0);
	return fd;
}

static int listening(void)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)),
			 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static int one_of_pair(int type, bool other_is_closed)
{
	static int kept = -1;
	int pair[2];

	open_pair(type, pair);
	if (kept >= 0)
		close(kept);
	kept = -1;
	if (other_is_closed)
		close(pair[1]);
	else
		kept = pair[1];
	return pair[0];
}

static int odd_descriptor(unsigned kind)
{
	int ends[2];

	switch (kind) {
	case 0:
		return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	case 1:
		return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case 2:
		return open("/", O_PATH | O_CLOEXEC);
	case 3:
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	case 4: /* a pipe that blocks; both ways round */
	case 5:
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		close(ends[kind == 4]);
		return ends[kind == 5];
	case 6:
		return epoll_create1(EPOLL_CLOEXEC);
	case 7:
		return eventfd(1, EFD_CLOEXEC);
	case 8:
		return datagram_to_itself();
	case 9:
		return shut_datagram();
	case 10:
		return listening();
	case 11:
		return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	case 12:
		return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	case 13:
		return one_of_pair(SOCK_STREAM, false);
	case 14:
		return one_of_pair(SOCK_DGRAM, false);
	case 15:
		return one_of_pair(SOCK_SEQPACKET, true);
	default:
		return -1;
	}
}

static void descriptors_of_odd_kinds_are_given_up_at_once(void **state)
{
	int channel = open_channel(), fd;

	(void)state;
	for (unsigned kind = 0; (fd = odd_descriptor(kind)) >= 0; kind++) {
		assert_int_equal(hand_over_all(channel, &fd, 1, 0), 1);
		serve();
		close(fd);
		serve();
	}
	close(channel);
	serve();
	assert_false(rnd_cm_is_open(server.cm));
}

/* Whoever closes a socket that lingers waits for its peer, which never reads here: an
 * hour is longer than this test may take.
 */
static int lingering(int *peer)
{
	const struct linger hour = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char much[65536];

	assert_int_equal(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	*peer = accept(listener, NULL, NULL);
	close(listener);
	while (send(fd, much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)), 0);
	return fd;
}

static void a_socket_that_lingers_holds_nobody_up(void **state)
{
	int channel = open_channel(), peer, fd = lingering(&peer);

	(void)state;
	assert_int_equal(hand_over_all(channel, &fd, 1, 0), 1);
	close(fd);
	serve();
	close(channel);
	serve();
	close(peer);
}

static void more_descriptors_than_asked_are_closed(void **state)
{
	int channel = open_channel(), fds[8], pair[2];
	unsigned before = open_descriptors();

	(void)state;
	open_pair(SOCK_SEQPACKET, pair);
	for (unsigned i = 0; i < 8; i++)
		fds[i] = pair[0];
	assert_int_equal(hand_over_all(channel, fds, 8, 0), 1);
	serve();
	close(pair[0]);
	close(pair[1]);
	serve();
	assert_int_equal(open_descriptors(), before);
	close(channel);
	serve();
}

/* ---- Messages ---- */

static void commands_cut_short_or_too_long_end_their_way_only(void **state)
{
	static const size_t lengths[] = { 1, sizeof(struct rn_cmdev_call) - 1,
					  sizeof(struct rn_cmdev_call) + RN_CMDEV_IN_MAX +
						  RN_CMDEV_OPTION_MAX + 1,
					  65536 };
	static const char noise[65536] = { 1 };
	int channel = open_channel(), pair[2];
	unsigned before = open_descriptors();

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(lengths); i++) {
		open_pair(SOCK_SEQPACKET, pair);
		assert_int_equal(hand_over_all(channel, &pair[0], 1, 0), 1);
		close(pair[0]);
		assert_int_equal(send(pair[1], noise, lengths[i], MSG_NOSIGNAL),
				 lengths[i]);
		serve();
		assert_int_equal(recv(pair[1], &(char){ 0 }, 1, MSG_DONTWAIT), 0);
		close(pair[1]);
	}
	assert_int_equal(open_descriptors(), before);
	assert_true(rnd_cm_is_open(server.cm));
	close(channel);
	serve();
}

/* ---- Names ---- */

static uint64_t number_of(int fd)
{
	struct sockaddr_un addr = { 0 };
	socklen_t len = sizeof(addr) - 1;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(len,
			 offsetof(struct sockaddr_un, sun_path) + 1 + RN_CMDEV_NAME_LEN);
	assert_memory_equal(addr.sun_path, "\0" RN_CMDEV_NAME, sizeof(RN_CMDEV_NAME));
	return strtoull(addr.sun_path + sizeof(RN_CMDEV_NAME), NULL, 16);
}

/* What another user of the namespace can bind before us. */
static int take_name(uint64_t number)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "%s%016llx", RN_CMDEV_NAME,
		 (unsigned long long)number);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					  RN_CMDEV_NAME_LEN)),
			 0);
	return fd;
}

static void nobody_can_take_the_names_of_channels_beforehand(void **state)
{
	uint64_t first = (uint64_t)(uint32_t)getpid() << 32, a, b;
	int taken[64], fd[2];

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		taken[i] = take_name(first + i);
	fd[0] = open_channel();
	fd[1] = open_channel();
	a = number_of(fd[0]);
	b = number_of(fd[1]);
	assert_true(a && b && a != b && a + 1 != b);
	for (unsigned i = 0; i < 64; i++)
		close(taken[i]);
	close(fd[0]);
	close(fd[1]);
	serve();
}

static void a_name_that_is_taken_all_the_same_is_drawn_again(void **state)
{
	int taken = take_name((uint64_t)(uint32_t)getpid() << 32 | 0x5a5a5a5a), fd;

	(void)state;
	fd = open_channel(); /* the first one seeds its own generator, too */
	not_random = 1;
	close(open_channel());
	assert_int_equal(not_random, 0);
	close(taken);
	close(fd);
	serve();
}

static void without_a_name_it_says_why(void **state)
{
	int taken = take_name((uint64_t)(uint32_t)getpid() << 32 | 0x5a5a5a5a),
	    first = open_channel(), fd;
	char why[256] = "";

	(void)state;
	not_random = 1000;
	assert_int_equal(rnd_cm_open(server.cm, "lo:127.0.0.1", &fd, why, sizeof(why)),
			 -EADDRINUSE);
	assert_non_null(strstr(why, "no name"));
	close(taken);
	close(first);
	serve();
}

/* ---- Addresses ---- */

/* An address of its own: another rocind of the host may have port 4791 of any other. */
static void an_address_stays_as_long_as_a_channel_has_it(void **state)
{
	const struct rn_gid gid = server_gid(0);
	int channel = open_channel_at(&gid);
	char why[256] = "";

	(void)state;
	assert_int_equal(rnd_group_hold(&server.groups, &gid, 0, why, sizeof(why)), 0);
	rnd_groups_give_back(&server.groups, RN_NEVER, 0);
	assert_int_equal(rnd_groups_count(&server.groups), 1);
	close(channel);
	serve();
	rnd_groups_give_back(&server.groups, RN_NEVER, 0);
	assert_int_equal(rnd_groups_count(&server.groups), 0);
	assert_null(server.slot0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, server_teardown)

/* ---- Calls that are not as long as they say ---- */

static const struct rdma_ucm_create_id new_id = { .ps = RDMA_PS_TCP };

/* A way of a new channel; the other end is the test's alone. */
static int open_way(int *channel)
{
	int pair[2];

	*channel = open_channel();
	open_pair(SOCK_SEQPACKET, pair);
	assert_int_equal(hand_over_all(*channel, &pair[0], 1, 0), 1);
	serve();
	close(pair[0]);
	return pair[1];
}

static void close_channel(int channel, int way)
{
	close(way);
	close(channel);
	serve();
	assert_false(rnd_cm_is_open(server.cm));
}

/* CREATE_ID with @more bytes behind it, which it says nothing of. */
static void call_create_id(int way, size_t more)
{
	static char data[RN_CMDEV_IN_MAX + RN_CMDEV_OPTION_MAX + 64];
	struct rn_cmdev_call call = { .cmd = RDMA_USER_CM_CMD_CREATE_ID,
				      .in_len = sizeof(new_id),
				      .out_len = RN_CMDEV_OUT_MAX };
	struct iovec iov[] = { { &call, sizeof(call) }, { data, sizeof(new_id) + more } };
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	assert_true(more <= sizeof(data) - sizeof(new_id));
	memcpy(data, &new_id, sizeof(new_id));
	assert_true(sendmsg(way, &msg, MSG_NOSIGNAL) > 0);
	serve();
}

static int answer_of(int way)
{
	struct {
		struct rn_cmdev_answer head;
		char data[RN_CMDEV_OUT_MAX];
	} answer;

	assert_true(recv(way, &answer, sizeof(answer), MSG_DONTWAIT) >=
		    (ssize_t)sizeof(answer.head));
	return answer.head.rc;
}

static void expect_end(int way)
{
	char byte;

	assert_int_equal(recv(way, &byte, sizeof(byte), MSG_DONTWAIT), 0);
}

static void a_call_that_is_not_as_long_as_it_says_is_refused(void **state)
{
	int channel, way = open_way(&channel);

	(void)state;
	call_create_id(way, 0);
	assert_int_equal(answer_of(way), 0);
	call_create_id(way, 8);
	assert_int_equal(answer_of(way), -EINVAL);
	close_channel(channel, way);
}

static void a_call_longer_than_any_ends_its_way(void **state)
{
	int channel, way = open_way(&channel);

	(void)state;
	call_create_id(way, RN_CMDEV_IN_MAX + RN_CMDEV_OPTION_MAX);
	expect_end(way);
	close_channel(channel, way);
}

static void a_call_shorter_than_its_header_ends_its_way(void **state)
{
	const struct rn_cmdev_call call = { .cmd = RDMA_USER_CM_CMD_CREATE_ID };
	int channel, way = open_way(&channel);

	(void)state;
	assert_int_equal(send(way, &call, sizeof(call) - 1, MSG_NOSIGNAL),
			 sizeof(call) - 1);
	serve();
	expect_end(way);
	close_channel(channel, way);
}

static void a_descriptor_that_comes_with_a_call_is_closed(void **state)
{
	int channel, way = open_way(&channel), ends[2];
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(int)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	struct rn_cmdev_call call = { .cmd = RDMA_USER_CM_CMD_GET_EVENT };
	struct iovec iov = { &call, sizeof(call) };
	const struct msghdr msg = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof(control.buf) };
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	memcpy(CMSG_DATA(&control.hdr), &ends[1], sizeof(ends[1]));
	assert_int_equal(sendmsg(way, &msg, MSG_NOSIGNAL), sizeof(call));
	close(ends[1]);
	serve();
	assert_int_equal(read(ends[0], &byte, sizeof(byte)), 0);
	close(ends[0]);
	close_channel(channel, way);
}

/* ---- A program that uses its channel ---- */

struct program {
	int channel, way;
	struct sockaddr_in6 addr; /* of its device; port 0 */
};

static struct program start_program(void)
{
	const struct rn_gid gid = server_gid(0);
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct program p;
	int pair[2];

	p.channel = open_channel_at(&gid);
	p.addr = (struct sockaddr_in6){ 0 };
	memcpy(&sin.sin_addr, gid.raw + 12, sizeof(sin.sin_addr));
	memcpy(&p.addr, &sin, sizeof(sin));
	open_pair(SOCK_SEQPACKET, pair);
	assert_int_equal(hand_over_all(p.channel, &pair[0], 1, 0), 1);
	serve();
	close(pair[0]);
	p.way = pair[1];
	return p;
}

static int call(const struct program *p, uint32_t cmd, const void *in, size_t len,
		void *out, size_t out_len)
{
	struct rn_cmdev_call head = { .cmd = cmd,
				      .in_len = (uint32_t)len,
				      .out_len = RN_CMDEV_OUT_MAX };
	struct iovec iov[] = { { &head, sizeof(head) }, { (void *)in, len } };
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct {
		struct rn_cmdev_answer head;
		char data[RN_CMDEV_OUT_MAX];
	} answer;

	assert_true(sendmsg(p->way, &msg, MSG_NOSIGNAL) > 0);
	serve();
	assert_true(recv(p->way, &answer, sizeof(answer), MSG_DONTWAIT) > 0);
	if (out)
		memcpy(out, answer.data, out_len);
	return answer.head.rc;
}

static uint32_t create_id(const struct program *p)
{
	const struct rdma_ucm_create_id cmd = { .uid = 1, .ps = RDMA_PS_TCP };
	struct rdma_ucm_create_id_resp resp;

	assert_int_equal(call(p, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd), &resp,
			      sizeof(resp)),
			 0);
	return resp.id;
}

static int bind_id(const struct program *p, uint32_t id, uint16_t port)
{
	struct rdma_ucm_bind_ip cmd = { .id = id, .addr = p->addr };

	cmd.addr.sin6_port = htons(port);
	return call(p, RDMA_USER_CM_CMD_BIND_IP, &cmd, sizeof(cmd), NULL, 0);
}

static int get_event(const struct program *p)
{
	const struct rdma_ucm_get_event cmd = { 0 };

	return call(p, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd), NULL, 0);
}

/* Of each id that is bound. */
static void cause_event(void)
{
	rnd_cm_addresses_changed(server.cm, if_nametoindex("lo"));
}

static bool read_mark(const struct program *p)
{
	char mark;

	return recv(p->channel, &mark, 1, MSG_DONTWAIT) == 1;
}

static unsigned read_marks(const struct program *p)
{
	unsigned n = 0;

	while (read_mark(p))
		n++;
	return n;
}

static void end_program(struct program *p)
{
	close_channel(p->channel, p->way);
}

/* The socket has room for so many, however many events there are. */
static void events_beyond_a_number_are_announced_when_others_are_taken(void **state)
{
	enum {
		EVENTS = RN_CMDEV_MARKS_MAX + 30
	};
	struct program p = start_program();

	(void)state;
	assert_int_equal(bind_id(&p, create_id(&p), 0), 0);
	for (unsigned i = 0; i < EVENTS; i++)
		cause_event();
	assert_int_equal(read_marks(&p), RN_CMDEV_MARKS_MAX);
	for (unsigned i = 0; i < EVENTS; i++) {
		assert_int_equal(get_event(&p), 0);
		assert_int_equal(read_marks(&p), i < EVENTS - RN_CMDEV_MARKS_MAX);
	}
	assert_int_equal(get_event(&p), -EAGAIN);
	end_program(&p);
}

/* Or a program would wait for an event that is there. */
static void marks_of_events_that_wait_are_not_taken_back(void **state)
{
	const struct rn_cmdev_call end = { .cmd = RN_CMDEV_END };
	struct program p = start_program();
	struct rdma_ucm_destroy_id destroy = { .id = create_id(&p) };
	struct iovec iov = { (void *)&end, sizeof(end) };
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr hdr;
	} control = { .hdr = { .cmsg_len = CMSG_LEN(sizeof(int)),
			       .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS } };
	const struct msghdr msg = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = &control,
				    .msg_controllen = sizeof(control.buf) };

	(void)state;
	assert_int_equal(bind_id(&p, destroy.id, 0), 0);
	assert_int_equal(bind_id(&p, create_id(&p), 0), 0);
	cause_event();
	cause_event();
	/* Two of the four events are gone with their id. */
	assert_int_equal(
		call(&p, RDMA_USER_CM_CMD_DESTROY_ID, &destroy, sizeof(destroy), NULL, 0),
		0);
	memcpy(CMSG_DATA(&control.hdr), &p.channel, sizeof(p.channel));
	assert_int_equal(sendmsg(p.way, &msg, MSG_NOSIGNAL), sizeof(end));
	serve();
	for (unsigned i = 0; i < 2; i++) {
		assert_true(read_mark(&p));
		assert_int_equal(get_event(&p), 0);
	}
	assert_false(read_mark(&p));
	assert_int_equal(get_event(&p), -EAGAIN);
	end_program(&p);
}

/* What a program needs of its ids then is on the board, which is its own. */
static void ids_are_known_when_rocind_has_ended_in_order(void **state)
{
	struct program p = start_program();
	uint32_t id = create_id(&p);
	const struct rn_cm_board_memory *mem =
		rn_cm_board_map(rnd_cm_board_fd(server.cm));
	uint64_t number = number_of(p.channel);
	struct rn_cm_life life;

	assert_non_null(mem);
	assert_int_equal(bind_id(&p, id, 0), 0);
	cause_event();
	assert_int_equal(get_event(&p), 0);
	assert_int_equal(get_event(&p), -EAGAIN);
	server_teardown(state);
	assert_true(rn_cm_board_read_life(mem, RN_CM_KIND_ID, number, id, &life));
	assert_int_equal(life.uid, 1);
	assert_int_equal(life.events_reported, 1);
	assert_int_equal(life.has_device, 1);
	close(p.channel);
	close(p.way);
	server_setup(state);
}

/* 1024, unless the administrator has said otherwise. */
static unsigned first_free_port(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	unsigned first = 1024;

	if (f) {
		assert_int_equal(fscanf(f, "%u", &first), 1);
		fclose(f);
	}
	return first;
}

static void privileged_ports_are_for_the_privileged(void **state)
{
	const int refused = first_free_port() > 1 ? -EACCES : 0;

	(void)state;
	for (user = 0; user < 2; user++) {
		struct program p = start_program();
		uint32_t id = create_id(&p);

		assert_int_equal(bind_id(&p, id, 1), user ? refused : 0);
		end_program(&p);
		server_teardown(state);
		server_setup(state);
	}
}

/* ---- Failures ---- */

static void a_channel_that_cannot_be_watched_leaves_nothing_open(void **state)
{
	int epoll = server.epoll_fd, fd;
	unsigned before = open_descriptors();
	char why[256] = "";

	(void)state;
	server.epoll_fd = -1;
	assert_int_equal(rnd_cm_open(server.cm, "lo:127.0.0.1", &fd, why, sizeof(why)),
			 -EBADF);
	server.epoll_fd = epoll;
	assert_int_equal(open_descriptors(), before);
	close(open_channel());
	serve();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_way_that_the_program_keeps_is_forgotten_with_its_channel),
		TEST(a_way_that_ends_is_forgotten_though_the_program_keeps_it),
		TEST(a_channel_does_not_keep_itself),
		TEST(descriptors_of_odd_kinds_are_given_up_at_once),
		TEST(a_socket_that_lingers_holds_nobody_up),
		TEST(more_descriptors_than_asked_are_closed),
		TEST(commands_cut_short_or_too_long_end_their_way_only),
		TEST(nobody_can_take_the_names_of_channels_beforehand),
		TEST(a_name_that_is_taken_all_the_same_is_drawn_again),
		TEST(without_a_name_it_says_why),
		TEST(an_address_stays_as_long_as_a_channel_has_it),
		TEST(a_call_that_is_not_as_long_as_it_says_is_refused),
		TEST(a_call_longer_than_any_ends_its_way),
		TEST(a_call_shorter_than_its_header_ends_its_way),
		TEST(a_descriptor_that_comes_with_a_call_is_closed),
		TEST(events_beyond_a_number_are_announced_when_others_are_taken),
		TEST(marks_of_events_that_wait_are_not_taken_back),
		TEST(ids_are_known_when_rocind_has_ended_in_order),
		TEST(privileged_ports_are_for_the_privileged),
		TEST(a_channel_that_cannot_be_watched_leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
