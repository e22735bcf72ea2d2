/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_netlink.c - what rocind asks the kernel and hears from it, where the other end of
 * the socket is the test's.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocind/net/route.h"
#include "tools/rocind/server/server.h"

enum {
	FLOOD = 100, /* more than is read in one go */
	SCOPE = 5,
	OIF = 9,
};

static const struct rn_gid far = { { [10] = 0xff, 0xff, 192, 0, 2, 1 } };

struct answer {
	struct nlmsghdr hdr;
	struct rtmsg rt;
	struct rtattr attr;
	uint32_t oif;
};

struct rig {
	struct rnd_router router;
	int kernel;
};

static int setup(void **state)
{
	static struct rig rig;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -1;
	rig = (struct rig){ .router = { .sock = pair[0] }, .kernel = pair[1] };
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	rnd_router_close(&rig->router);
	close(rig->kernel);
	return 0;
}

static void answer(struct rig *rig, uint32_t seq, uint32_t oif)
{
	const struct answer a = {
		.hdr = { .nlmsg_len = sizeof(a),
			 .nlmsg_type = RTM_NEWROUTE,
			 .nlmsg_seq = seq },
		.rt = { .rtm_type = RTN_UNICAST },
		.attr = { .rta_len = RTA_LENGTH(sizeof(oif)), .rta_type = RTA_OIF },
		.oif = oif,
	};

	assert_int_equal(send(rig->kernel, &a, sizeof(a), 0), sizeof(a));
}

static unsigned unread(int fd)
{
	char buf[256];
	unsigned count = 0;

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		count++;
	return count;
}

static void an_answer_to_an_older_question_is_passed_over(void **state)
{
	struct rig *rig = *state;
	struct rnd_ucma_route route;

	rig->router.seq = 6;
	answer(rig, 5, OIF + 1);
	answer(rig, 6, OIF + 2);
	answer(rig, 7, OIF);
	assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), 0);
	assert_int_equal(route.ifindex, OIF);
	assert_false(route.is_local);
}

static void a_socket_full_of_other_answers_is_given_up(void **state)
{
	struct rig *rig = *state;
	struct rnd_ucma_route route;
	int keep = dup(rig->router.sock);

	for (unsigned i = 0; i < FLOOD; i++)
		answer(rig, UINT32_MAX, OIF);
	assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), -EIO);
	assert_in_range(unread(keep), 1, FLOOD - 2);
	/* And the next question has one of its own, which the kernel answers. */
	assert_int_equal(rig->router.sock, -1);
	(void)rnd_route_is_local(&rig->router, &far);
	assert_true(rig->router.sock >= 0);
	close(keep);
}

static void an_answer_that_never_came_is_not_waited_for(void **state)
{
	struct rig *rig = *state;
	struct rnd_ucma_route route;

	assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), -EAGAIN);
	answer(rig, 1, OIF + 1); /* late */
	answer(rig, 2, OIF);
	assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), 0);
	assert_int_equal(route.ifindex, OIF);
}

/* The interface that is understood of an answer of @len bytes whose attribute has
 * @attr_len, 0 if none.
 */
static uint32_t understood(struct rig *rig, size_t len, unsigned short attr_len)
{
	struct {
		struct answer answer;
		uint32_t more;
	} a = { .answer = { .hdr = { .nlmsg_len = (uint32_t)len,
				     .nlmsg_type = RTM_NEWROUTE,
				     .nlmsg_seq = rig->router.seq + 1 },
			    .attr = { .rta_len = attr_len, .rta_type = RTA_OIF },
			    .oif = OIF } };
	struct rnd_ucma_route route;

	assert_int_equal(send(rig->kernel, &a, len, 0), len);
	assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), 0);
	return route.ifindex;
}

static void an_attribute_of_a_wrong_length_is_passed_over(void **state)
{
	const size_t whole = sizeof(struct answer);
	struct rig *rig = *state;

	assert_int_equal(understood(rig, whole, RTA_LENGTH(4)), OIF);
	for (unsigned short len = 0; len < RTA_LENGTH(4); len++)
		assert_int_equal(understood(rig, whole, len), 0);
	assert_int_equal(understood(rig, whole + 4, RTA_LENGTH(8)), 0);
	assert_int_equal(understood(rig, whole, RTA_LENGTH(4) + 1), 0);
	assert_int_equal(understood(rig, whole, UINT16_MAX), 0);
	/* Cut off */
	for (unsigned cut = 1; cut <= RTA_LENGTH(4); cut++)
		assert_int_equal(understood(rig, whole - cut, RTA_LENGTH(4)), 0);
}

static void an_answer_without_a_body_is_none(void **state)
{
	static const uint32_t lengths[] = { 0,
					    NLMSG_HDRLEN - 1,
					    NLMSG_LENGTH(0),
					    NLMSG_LENGTH(sizeof(struct rtmsg) - 1),
					    NLMSG_HDRLEN + sizeof(struct rtmsg) + 1,
					    (uint32_t)INT32_MAX + NLMSG_HDRLEN,
					    UINT32_MAX - NLMSG_HDRLEN };
	struct rig *rig = *state;
	struct rnd_ucma_route route;

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct answer a = { .hdr = { .nlmsg_len = lengths[i],
						   .nlmsg_type = RTM_NEWROUTE,
						   .nlmsg_seq = i + 1 } };

		assert_int_equal(send(rig->kernel, &a, offsetof(struct answer, attr), 0),
				 offsetof(struct answer, attr));
		assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), -EIO);
	}
}

static void an_error_is_told_if_it_is_whole(void **state)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr error;
	} a = { .hdr = { .nlmsg_type = NLMSG_ERROR },
		.error = { .error = -EHOSTUNREACH } };
	struct rig *rig = *state;
	struct rnd_ucma_route route;

	for (uint32_t len = sizeof(a); len >= NLMSG_HDRLEN; len--) {
		a.hdr.nlmsg_len = len;
		a.hdr.nlmsg_seq = rig->router.seq + 1;
		assert_int_equal(send(rig->kernel, &a, len, 0), len);
		assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route),
				 len == sizeof(a) ? -EHOSTUNREACH : -EIO);
	}
}

/* The last attribute is not padded; an older answer has left another one behind it. */
static void what_lies_behind_an_answer_is_not_read(void **state)
{
	struct {
		struct answer answer;
		struct rtattr attr;
		uint32_t oif;
	} a = { .answer = { .hdr = { .nlmsg_len = sizeof(a),
				     .nlmsg_type = RTM_NEWROUTE,
				     .nlmsg_seq = 5 },
			    .attr = { .rta_len = RTA_LENGTH(1), .rta_type = RTA_TABLE } },
		.attr = { .rta_len = RTA_LENGTH(4), .rta_type = RTA_OIF },
		.oif = OIF };
	struct rig *rig = *state;
	struct rnd_ucma_route route;

	rig->router.seq = 5;
	assert_int_equal(send(rig->kernel, &a, sizeof(a), 0), sizeof(a));
	a.answer.hdr.nlmsg_seq = 6;
	a.answer.hdr.nlmsg_len = offsetof(struct answer, oif) + 1;
	assert_int_equal(send(rig->kernel, &a, a.answer.hdr.nlmsg_len, 0),
			 a.answer.hdr.nlmsg_len);
	assert_int_equal(rnd_route(&rig->router, &far, 0, NULL, &route), 0);
	assert_int_equal(route.ifindex, 0);
}

/* The interface that the question names, 0 if it names none. */
static uint32_t asked_for(struct rig *rig)
{
	union {
		char buf[256];
		struct nlmsghdr hdr;
	} q;
	ssize_t len = recv(rig->kernel, &q, sizeof(q), 0);
	uint32_t oif = 0;

	assert_true(len > 0 && NLMSG_OK(&q.hdr, len));
	assert_int_equal(q.hdr.nlmsg_type, RTM_GETROUTE);
	len = (ssize_t)RTM_PAYLOAD(&q.hdr);
	for (struct rtattr *a = RTM_RTA(NLMSG_DATA(&q.hdr)); RTA_OK(a, len);
	     a = RTA_NEXT(a, len))
		if (a->rta_type == RTA_OIF)
			memcpy(&oif, RTA_DATA(a), sizeof(oif));
	return oif;
}

static void a_scope_is_part_of_the_question(void **state)
{
	static const struct rn_gid link_local = { { 0xfe, 0x80, [15] = 1 } };
	struct rig *rig = *state;
	struct rnd_ucma_route route;

	(void)rnd_route(&rig->router, &link_local, SCOPE, NULL, &route);
	assert_int_equal(asked_for(rig), SCOPE);
	(void)rnd_route(&rig->router, &far, 0, NULL, &route);
	assert_int_equal(asked_for(rig), 0);
}

/* The rest makes the socket readable again, and is read then. */
static void news_without_end_do_not_hold_rocind_up(void **state)
{
	const struct nlmsghdr noop = { .nlmsg_len = sizeof(noop),
				       .nlmsg_type = NLMSG_NOOP };
	struct rig *rig = *state;
	struct rnd_server server = { .netlink.fd = rig->router.sock };
	unsigned left;

	for (unsigned i = 0; i < FLOOD; i++)
		assert_int_equal(send(rig->kernel, &noop, sizeof(noop), 0), sizeof(noop));
	rnd_watch_changed(&server);
	left = unread(rig->router.sock);
	assert_in_range(left, 1, FLOOD - 1);

	for (unsigned i = 0; i < left; i++)
		assert_int_equal(send(rig->kernel, &noop, sizeof(noop), 0), sizeof(noop));
	rnd_watch_changed(&server);
	assert_int_equal(unread(rig->router.sock), 0);
}

struct link_news {
	struct nlmsghdr hdr;
	struct ifinfomsg info;
	char more[4];
	struct nlmsghdr next;
	struct ifinfomsg next_info;
};

/* A message whose length is wrong ends a datagram; another one lies behind it. */
static void a_message_of_a_wrong_length_is_the_last(void **state)
{
	const uint32_t link_len = NLMSG_LENGTH(sizeof(struct ifinfomsg));
	const uint32_t lengths[] = { 0,
				     NLMSG_HDRLEN - 1,
				     link_len + 1,
				     sizeof(struct link_news) + 1,
				     (uint32_t)INT32_MAX + NLMSG_HDRLEN,
				     UINT32_MAX - NLMSG_HDRLEN + 1 };
	struct link_news news = { .hdr = { .nlmsg_type = NLMSG_NOOP },
				  .next = { .nlmsg_len = link_len,
					    .nlmsg_type = RTM_NEWLINK },
				  .next_info = { .ifi_index = OIF } };
	struct rig *rig = *state;
	struct rnd_server server = { .netlink.fd = rig->router.sock };

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = lengths[i] == link_len + 1 ? link_len + 1 : sizeof(news);

		news.hdr.nlmsg_len = lengths[i];
		assert_int_equal(send(rig->kernel, &news, len, 0), len);
		rnd_watch_changed(&server);
		assert_int_equal(server.links.count, 0);
	}
	news.hdr.nlmsg_len = offsetof(struct link_news, next);
	assert_int_equal(send(rig->kernel, &news, sizeof(news), 0), sizeof(news));
	rnd_watch_changed(&server);
	assert_int_equal(server.links.count, 1);
	rnd_links_free(&server.links);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_to_an_older_question_is_passed_over),
		TEST(a_socket_full_of_other_answers_is_given_up),
		TEST(an_answer_that_never_came_is_not_waited_for),
		TEST(a_scope_is_part_of_the_question),
		TEST(an_attribute_of_a_wrong_length_is_passed_over),
		TEST(an_answer_without_a_body_is_none),
		TEST(an_error_is_told_if_it_is_whole),
		TEST(what_lies_behind_an_answer_is_not_read),
		TEST(a_message_of_a_wrong_length_is_the_last),
		TEST(news_without_end_do_not_hold_rocind_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
