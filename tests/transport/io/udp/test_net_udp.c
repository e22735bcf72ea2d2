/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_net_udp.c - packets through real sockets on loopback. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/stats.h"
#include "tests/kit/system/io_kind.h"
#include "tests/kit/system/roce_socket.h"
#include "tests/kit/system/wrap_syscall.h"
#include "transport/io/udp/net_udp.h"

enum {
	DATA = 200, /* BTH to pad; the ICRC comes behind */
	PACKET = DATA + RN_ICRC_LEN,
	VAIN = 20000, /* looks after which a socket counts as unused */
};

struct world {
	struct rn_udp *a, *b;
	struct rn_net *tx, *rx;
	struct rn_flow flow; /* from a to b */
	uint64_t stats[RN_STAT_COUNT];
	struct rn_rx got[RN_RX_BATCH];
	uint8_t data[RN_SUPER_BYTES];
};

static struct rn_udp *open_end(struct world *w, const struct rn_gid *gid, unsigned count)
{
	int sock[RN_GID_MAX];
	struct rn_udp_cfg cfg = { .sock_count = count,
				  .sock = sock,
				  .gid = gid,
				  .ifindex = 1,
				  .gso = true,
				  .uring = io_by_uring(),
				  .stats = w->stats };

	for (unsigned i = 0; i < count; i++)
		sock[i] = roce_socket(&gid[i]);
	return sock[0] < 0 ? NULL : rn_udp_new(&cfg);
}

/* Two ends; NULL if this machine has no such addresses. */
static struct world *open_world(const struct rn_gid *a, const struct rn_gid *b)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->a = open_end(w, a, 1);
	w->b = a == b ? NULL : open_end(w, b, 1);
	w->flow = (struct rn_flow){
		.src = *a, .dst = *b, .ifindex = 1, .sport = RN_ROCE_PORT, .hop_limit = 64
	};
	if (!w->a) {
		free(w);
		return NULL;
	}
	w->tx = rn_udp_net(w->a);
	w->rx = rn_udp_net(w->b ? w->b : w->a);
	return w;
}

static int setup(void **state)
{
	struct rn_gid a = roce_gid(0), b = roce_gid(1);

	*state = open_world(&a, &b);
	assert_non_null(*state);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	rn_udp_free(w->a);
	rn_udp_free(w->b);
	free(w);
	return 0;
}

/* @count packets of PACKET bytes, the last of @last, each with its number and its ICRC.
 */
static struct rn_super make_super(struct world *w, uint32_t count, uint32_t last)
{
	struct rn_super s = { .flow = &w->flow, .data = w->data, .seg_len = PACKET };

	for (uint32_t i = 0; i < count; i++) {
		uint32_t len = i + 1 == count ? last : PACKET;
		uint8_t *p = w->data + i * PACKET;

		memset(p, (int)i, len);
		rn_icrc_seal(&w->flow, w->tx->gso ? (uint16_t)i : 0, p,
			     len - RN_ICRC_LEN);
		s.len += len;
	}
	s.count = count;
	if (count == 1)
		s.seg_len = s.len;
	return s;
}

static int transmit(struct world *w, const struct rn_super *s)
{
	return w->tx->ops->transmit(w->tx->ctx, s);
}

/* Loopback delivers before sendmsg() returns. */
static int receive(struct world *w)
{
	return w->rx->ops->receive(w->rx->ctx, w->got);
}

static void check_packets(struct world *w, int n, uint32_t first, bool gso)
{
	for (int i = 0; i < n; i++) {
		struct rn_icrc_hint hint = { 0 };

		assert_int_equal(w->got[i].data[0], first + (uint32_t)i);
		assert_int_equal(rn_icrc_check(&hint, w->got[i].flow, w->got[i].data,
					       w->got[i].len, w->got[i].gro_idx, true),
				 RN_ICRC_OK);
		assert_int_equal(hint.last_id, gso ? w->got[i].gro_idx : 0);
	}
}

static void packet_arrives_with_the_facts_of_its_ip_header(void **state)
{
	struct world *w = *state;
	struct rn_super s;

	w->flow.tclass = 0x6a;
	w->flow.hop_limit = 17;
	s = make_super(w, 1, PACKET);
	assert_int_equal(transmit(w, &s), 0);
	assert_int_equal(receive(w), 1);
	assert_int_equal(w->got[0].len, PACKET);
	assert_memory_equal(w->got[0].data, w->data, PACKET);
	assert_memory_equal(w->got[0].flow, &w->flow, sizeof(w->flow));
	assert_int_equal(receive(w), 0);
}

/* Such packets come from a port of their own, and their ICRC says so even if the layer
 * above has sealed them for port 4791.
 */
static void packets_to_the_own_host_are_sealed_anew(void **state)
{
	enum {
		OWN_PORT = 14791
	};
	const struct rn_gid from = roce_gid(2);
	struct world *w = *state;
	int sock = roce_socket(&from), n = 0, got;
	struct rn_udp_cfg cfg = { .sock_count = 1,
				  .sock = &sock,
				  .gid = &from,
				  .ifindex = 1,
				  .own_port = OWN_PORT,
				  .gso = true,
				  .uring = io_by_uring(),
				  .stats = w->stats };
	struct rn_super s;

	assert_true(sock >= 0);
	rn_udp_free(w->a);
	w->a = rn_udp_new(&cfg);
	assert_non_null(w->a);
	w->tx = rn_udp_net(w->a);
	w->flow.src = from;
	s = make_super(w, 3, PACKET);
	assert_int_equal(transmit(w, &s), 0);
	while ((got = receive(w)) > 0) {
		check_packets(w, got, (uint32_t)n, w->tx->gso);
		assert_int_equal(w->got[0].flow->sport, OWN_PORT);
		n += got;
	}
	assert_int_equal(n, 3);
}

/* Whatever the socket itself would say. */
static void traffic_class_of_the_flow_is_said_also_where_it_is_0(void **state)
{
	static const uint8_t classes[] = { 0, 0x68, 0x20, 0 };
	const struct rn_gid from = roce_gid(2);
	struct world *w = *state;
	int sock = roce_socket(&from);
	struct rn_udp_cfg cfg = { .sock_count = 1,
				  .sock = &sock,
				  .gid = &from,
				  .ifindex = 1,
				  .gso = true,
				  .uring = io_by_uring(),
				  .stats = w->stats };

	assert_true(sock >= 0);
	roce_option(sock, IPPROTO_IP, IP_TOS, 0x68);
	rn_udp_free(w->a);
	w->a = rn_udp_new(&cfg);
	assert_non_null(w->a);
	w->tx = rn_udp_net(w->a);
	w->flow.src = from;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(classes); i++) {
		struct rn_super s;

		w->flow.tclass = classes[i];
		s = make_super(w, 1, PACKET);
		assert_int_equal(transmit(w, &s), 0);
		assert_int_equal(receive(w), 1);
		assert_int_equal(w->got[0].flow->tclass, classes[i]);
	}
}

static void super_packet_arrives_as_packets_in_order(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 10, 100);

	assert_int_equal(transmit(w, &s), 0);
	assert_int_equal(receive(w), 10);
	check_packets(w, 10, 0, true);
	assert_int_equal(w->got[8].len, PACKET);
	assert_int_equal(w->got[9].len, 100);
	assert_int_equal(w->got[9].gro_idx, 9);
}

static void longest_super_packet_passes(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, RN_SUPER_SEGMENTS, PACKET);

	w->flow.hop_limit = 1;
	w->flow.tclass = 3;
	assert_int_equal(transmit(w, &s), 0);
	assert_int_equal(receive(w), RN_SUPER_SEGMENTS);
	assert_int_equal(w->got[RN_SUPER_SEGMENTS - 1].gro_idx, RN_SUPER_SEGMENTS - 1);
	assert_int_equal(w->got[0].flow->hop_limit, 1);
	assert_int_equal(w->got[0].flow->tclass, 3);
}

static void without_gso_packets_leave_one_by_one(void **state)
{
	struct world *w = *state;
	struct rn_super s;

	w->tx->gso = false;
	s = make_super(w, 5, 60);
	assert_int_equal(transmit(w, &s), 0);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(receive(w), 1);
		assert_int_equal(w->got[0].len, i < 4 ? PACKET : 60);
		check_packets(w, 1, i, false);
	}
	assert_int_equal(receive(w), 0);
}

static void kernel_that_refuses_gso_gets_single_packets_signed_anew(void **state)
{
	struct world *w = *state;
	struct rn_super s;

	/* A socket without checksums is what the kernel refuses it for. */
	roce_option(rn_udp_fd(w->a, 0), SOL_SOCKET, SO_NO_CHECK, 1);
	s = make_super(w, 5, PACKET);
	assert_true(w->tx->gso);
	assert_int_equal(transmit(w, &s), 0);
	assert_false(w->tx->gso);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(receive(w), 1);
		check_packets(w, 1, i, false);
	}
}

static void
destination_that_cannot_be_reached_is_an_error_and_no_reason_to_give_up_gso(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 3, PACKET);
	const struct rn_gid outside = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };

	w->flow.dst = outside;
	assert_true(transmit(w, &s) < 0);
	assert_true(w->tx->gso);
}

static void socket_that_is_gone_is_an_error(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 1, PACKET);

	rn_udp_set(w->a, 0, -1, NULL);
	assert_int_equal(rn_udp_fd(w->a, 0), -1);
	assert_int_equal(transmit(w, &s), -EADDRNOTAVAIL);
}

/* A socket with little room gets more than it takes. Return: packets that are lost. */
static unsigned overflow(struct world *w)
{
	enum {
		SENT = 100
	};
	struct rn_super s = make_super(w, 1, PACKET);
	unsigned got = 0;

	roce_option(rn_udp_fd(w->b, 0), SOL_SOCKET, SO_RCVBUF, 4096);
	for (unsigned i = 0; i < SENT; i++)
		assert_int_equal(transmit(w, &s), 0);
	while (receive(w) > 0)
		got++;
	assert_int_equal(transmit(w, &s), 0); /* this one brings the news */
	assert_int_equal(receive(w), 1);
	assert_in_range(got, 1, SENT - 1);
	return SENT - got;
}

static void packets_that_the_kernel_drops_are_counted(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 1, PACKET);
	unsigned lost = overflow(w);

	assert_int_equal(w->stats[RN_STAT_SOCK_OVERFLOW], lost);
	/* Each packet from now on says as much, and it is counted once. */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(transmit(w, &s), 0);
		assert_int_equal(receive(w), 1);
		assert_int_equal(w->stats[RN_STAT_SOCK_OVERFLOW], lost);
	}
}

/* The kernel counts for each socket, and the device for all that it has had. */
static void the_next_socket_of_an_address_counts_from_nothing(void **state)
{
	struct world *w = *state;
	unsigned lost = 0;

	for (unsigned i = 0; i < 3; i++) {
		lost += overflow(w);
		assert_int_equal(w->stats[RN_STAT_SOCK_OVERFLOW], lost);
		rn_udp_set(w->b, 0, -1, NULL);
		rn_udp_set(w->b, 0, roce_socket(&w->flow.dst), &w->flow.dst);
	}
}

/* ------------------------------------------------------------- several sockets */
static void packet_at_a_socket_not_in_use_is_found_soon(void **state)
{
	struct world *w = *state;
	struct rn_gid gid[4] = { roce_gid(2), roce_gid(3), roce_gid(4), roce_gid(5) };
	struct rn_udp *many = open_end(w, gid, 4);
	struct rn_super s = make_super(w, 1, PACKET);
	unsigned calls;

	assert_non_null(many);
	w->rx = rn_udp_net(many);
	for (unsigned i = 0; i < 4; i++) {
		w->flow.dst = gid[3 - i];
		assert_int_equal(transmit(w, &s), 0);
		for (calls = 1; receive(w) == 0; calls++)
			assert_true(calls <= RN_UDP_LOOK_EVERY);
		assert_memory_equal(&w->got[0].flow->dst, &gid[3 - i], sizeof(gid[0]));
	}
	rn_udp_free(many);
}

static void look_everywhere_finds_it_at_once(void **state)
{
	struct world *w = *state;
	struct rn_gid gid[4] = { roce_gid(2), roce_gid(3), roce_gid(4), roce_gid(5) };
	struct rn_udp *many = open_end(w, gid, 4);
	struct rn_super s = make_super(w, 1, PACKET);

	w->rx = rn_udp_net(many);
	w->flow.dst = gid[3];
	assert_int_equal(transmit(w, &s), 0);
	rn_udp_look_everywhere(many);
	assert_int_equal(receive(w), 1);
	rn_udp_free(many);
}

static void busy_socket_does_not_starve_another(void **state)
{
	struct world *w = *state;
	struct rn_gid gid[2] = { roce_gid(2), roce_gid(3) };
	struct rn_udp *two = open_end(w, gid, 2);
	struct rn_super s = make_super(w, 1, PACKET);
	bool found = false;

	w->rx = rn_udp_net(two);
	for (unsigned i = 0; i < 2; i++) { /* both are in use */
		w->flow.dst = gid[i];
		assert_int_equal(transmit(w, &s), 0);
		rn_udp_look_everywhere(two);
		assert_int_equal(receive(w), 1);
	}
	for (unsigned i = 0; i < 100; i++) {
		w->flow.dst = gid[0];
		assert_int_equal(transmit(w, &s), 0);
	}
	w->flow.dst = gid[1];
	assert_int_equal(transmit(w, &s), 0);
	for (unsigned i = 0; i < 20 && !found; i++) {
		assert_int_equal(receive(w), 1);
		found = memcmp(&w->got[0].flow->dst, &gid[1], sizeof(gid[1])) == 0;
	}
	assert_true(found);
	rn_udp_free(two);
}

static void socket_not_in_use_is_looked_at_though_the_others_never_run_dry(void **state)
{
	struct world *w = *state;
	struct rn_gid gid[3] = { roce_gid(2), roce_gid(3), roce_gid(4) };
	struct rn_udp *many = open_end(w, gid, 3);
	struct rn_super s = make_super(w, 1, PACKET);
	bool found = false;

	w->rx = rn_udp_net(many);
	w->flow.dst = gid[2];
	assert_int_equal(transmit(w, &s), 0);
	w->flow.dst = gid[0];
	for (unsigned i = 0; i < 1000 && !found; i++) {
		assert_int_equal(transmit(w, &s), 0);
		assert_int_equal(receive(w), 1);
		found = memcmp(&w->got[0].flow->dst, &gid[2], sizeof(gid[2])) == 0;
	}
	assert_true(found);
	rn_udp_free(many);
}

static void look_in_vain(struct world *w, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		assert_int_equal(receive(w), 0);
}

/* Each has the same packets. Return: how often another one's came than before. */
static unsigned count_changes(struct world *w, unsigned packets)
{
	struct rn_gid last = { 0 };
	unsigned changes = 0;

	for (unsigned i = 0; i < packets; i++) {
		assert_int_equal(receive(w), 1);
		changes += memcmp(&w->got[0].flow->dst, &last, sizeof(last)) != 0;
		last = w->got[0].flow->dst;
	}
	return changes;
}

static void a_turn_is_of_several_packets_each_time(void **state)
{
	enum {
		EACH = 40
	};
	struct world *w = *state;
	struct rn_gid gid[2] = { roce_gid(2), roce_gid(3) };
	struct rn_udp *two = open_end(w, gid, 2);
	struct rn_super s = make_super(w, 1, PACKET);

	w->rx = rn_udp_net(two);
	for (unsigned i = 0; i < 2 * (EACH + 1); i++) {
		w->flow.dst = gid[i % 2];
		assert_int_equal(transmit(w, &s), 0);
		if (i >= 2)
			continue;
		rn_udp_look_everywhere(two); /* now it is in use */
		assert_int_equal(receive(w), 1);
	}
	assert_in_range(count_changes(w, 2 * EACH), 4, 2 * EACH / 4);
	rn_udp_free(two);
}

static void the_last_socket_in_use_stays_so_however_silent(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 1, PACKET);

	for (unsigned i = 0; i < 3; i++) {
		look_in_vain(w, VAIN + i);
		assert_int_equal(transmit(w, &s), 0);
		assert_int_equal(receive(w), 1); /* at once */
	}
}

static void sockets_that_fell_silent_are_found_all_the_same(void **state)
{
	struct world *w = *state;
	struct rn_gid gid[3] = { roce_gid(2), roce_gid(3), roce_gid(4) };
	struct rn_udp *three = open_end(w, gid, 3);
	struct rn_super s = make_super(w, 1, PACKET);

	w->rx = rn_udp_net(three);
	for (unsigned i = 0; i < 6; i++) {
		unsigned calls = 1;

		if (i == 3)
			look_in_vain(w, VAIN);
		w->flow.dst = gid[i % 3];
		assert_int_equal(transmit(w, &s), 0);
		for (; receive(w) == 0; calls++)
			assert_true(calls <= RN_UDP_LOOK_EVERY);
		assert_memory_equal(&w->got[0].flow->dst, &gid[i % 3], sizeof(gid[0]));
	}
	rn_udp_free(three);
}

static void super_packets_pass_over_ipv6(void **state)
{
	struct rn_gid lo6 = roce_gid_loopback6();
	struct world *w = open_world(&lo6, &lo6);
	struct rn_super s;
	void *box = w;

	(void)state;
	if (!w)
		skip(); /* no IPv6, or somebody else has the port of ::1 */
	w->flow.tclass = 0x2a;
	w->flow.hop_limit = 9;
	s = make_super(w, 7, 64);
	assert_int_equal(transmit(w, &s), 0);
	assert_int_equal(receive(w), 7);
	assert_memory_equal(w->got[0].flow, &w->flow, sizeof(w->flow));
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(rn_icrc_check(NULL, w->got[i].flow, w->got[i].data,
					       w->got[i].len, 0, true),
				 RN_ICRC_OK);
	teardown(&box);
}

/* ------------------------------------------------------------------------ io_uring */
static int submit_fails; /* -errno; 0: it does not */

int __real_rn_uring_submit(struct rn_uring *u, unsigned ends);
int __wrap_rn_uring_submit(struct rn_uring *u, unsigned ends);

int __wrap_rn_uring_submit(struct rn_uring *u, unsigned ends)
{
	return submit_fails ? submit_fails : __real_rn_uring_submit(u, ends);
}

/* A socket that takes some packets of those at hand and then no more, a few times. */
static unsigned room, tries_without;

/* A super-packet of more packets than one call delivers, in place of the next datagram.
 */
enum {
	LARGE = RN_RX_BATCH + 6,
	SHORT = 64,
};
static bool next_is_large;

static long deliver_large(struct msghdr *msg)
{
	struct cmsghdr *c = msg->msg_control;
	const int cut = SHORT;

	assert_true(msg->msg_iov->iov_len >= LARGE * SHORT);
	memset(msg->msg_iov->iov_base, 0, LARGE * SHORT);
	memset(msg->msg_name, 0, msg->msg_namelen);
	((struct sockaddr *)msg->msg_name)->sa_family = AF_INET;
	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_UDP,
			       .cmsg_type = UDP_GRO,
			       .cmsg_len = CMSG_LEN(sizeof(cut)) };
	memcpy(CMSG_DATA(c), &cut, sizeof(cut));
	msg->msg_controllen = CMSG_SPACE(sizeof(cut));
	next_is_large = false;
	return LARGE * SHORT;
}

/* What the next message to leave says beside its data; it does not leave. */
static struct {
	bool is_wanted;
	size_t len;
	_Alignas(struct cmsghdr) uint8_t control[256];
} told;

static long take_told(const struct msghdr *msg)
{
	told.is_wanted = false;
	told.len = msg->msg_controllen;
	assert_true(told.len <= sizeof(told.control));
	memcpy(told.control, msg->msg_control, told.len);
	return (long)msg->msg_iov->iov_len;
}

static bool is_too_long; /* so ICMP has said of the next message to leave */

static bool answer_syscall(long number, long arg[KIT_SYSCALL_ARGS], long *rc)
{
	if (number == SYS_sendmsg && is_too_long) {
		is_too_long = false;
		errno = EMSGSIZE;
		*rc = -1;
		return true;
	}
	if (number == SYS_recvmsg && next_is_large) {
		*rc = deliver_large((struct msghdr *)arg[1]);
		return true;
	}
	if (number == SYS_sendmsg && told.is_wanted) {
		*rc = take_told((const struct msghdr *)arg[1]);
		return true;
	}
	if (number == SYS_sendmmsg && tries_without > 0) {
		if (room == 0) {
			tries_without--;
			room = 3;
			errno = EAGAIN;
			*rc = -1;
			return true;
		}
		if (arg[2] > room)
			arg[2] = room;
		room -= (unsigned)arg[2];
	}
	return false;
}

static int discovery_of(const struct rn_udp *u)
{
	int how = -1;
	socklen_t len = sizeof(how);

	assert_int_equal(
		getsockopt(rn_udp_fd(u, 0), IPPROTO_IP, IP_MTU_DISCOVER, &how, &len), 0);
	return how;
}

/* ICMP may be forged: what the route carries is sent all the same. But that is looked at
 * for each packet; the socket goes on obeying the route.
 */
static void
a_packet_that_icmp_calls_too_long_is_sent_if_the_route_carries_it(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 1, PACKET);

	if (io_by_uring())
		skip(); /* there the kernel is asked in another way */
	roce_option(rn_udp_fd(w->a, 0), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	is_too_long = true;
	assert_int_equal(transmit(w, &s), 0);
	assert_false(is_too_long);
	assert_int_equal(receive(w), 1);
	assert_int_equal(discovery_of(w->a), IP_PMTUDISC_DO);
}

static void what_has_left_before_a_full_socket_does_not_leave_again(void **state)
{
	struct world *w = *state;
	struct rn_super s;
	unsigned refused = 0;

	w->tx->gso = false;
	s = make_super(w, 20, PACKET);
	room = 3;
	tries_without = 4;
	while (transmit(w, &s) == -EAGAIN) {
		refused++;
		assert_int_equal(w->tx->sent, 3 * refused);
	}
	assert_int_equal(refused, 4);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(receive(w), 1);
		check_packets(w, 1, i, false);
	}
	assert_int_equal(receive(w), 0);
}

/* The kernel has refused the super-packet: the identification of each packet is 0. */
static void what_a_full_socket_left_of_a_refused_super_packet_is_signed_anew(void **state)
{
	struct world *w = *state;
	struct rn_super s;
	unsigned refused = 0;

	/* A socket without checksums is what the kernel refuses it for. */
	roce_option(rn_udp_fd(w->a, 0), SOL_SOCKET, SO_NO_CHECK, 1);
	s = make_super(w, 20, PACKET);
	room = 3;
	tries_without = 4;
	while (transmit(w, &s) == -EAGAIN) {
		refused++;
		assert_true(w->tx->gso);
	}
	assert_int_equal(refused, 4);
	assert_false(w->tx->gso);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(receive(w), 1);
		check_packets(w, 1, i, false);
	}
	assert_int_equal(receive(w), 0);
}

/* Three packets have left when the address goes: the others are lost, not those of the
 * next super-packet.
 */
static void a_super_packet_that_lost_its_socket_takes_nothing_from_the_next(void **state)
{
	struct world *w = *state;
	struct rn_super s;

	w->tx->gso = false;
	s = make_super(w, 20, PACKET);
	room = 3;
	tries_without = 1;
	assert_int_equal(transmit(w, &s), -EAGAIN);
	rn_udp_set(w->a, 0, -1, NULL);
	assert_int_equal(transmit(w, &s), -EADDRNOTAVAIL);
	rn_udp_set(w->a, 0, roce_socket(&w->flow.src), &w->flow.src);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(receive(w), 1);
	s = make_super(w, 2, PACKET);
	assert_int_equal(transmit(w, &s), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(receive(w), 1);
		check_packets(w, 1, i, false);
	}
	assert_int_equal(receive(w), 0);
}

/* One that comes back meanwhile sends what is left. */
static void a_super_packet_goes_on_by_the_next_socket_of_its_address(void **state)
{
	struct world *w = *state;
	struct rn_super s;

	w->tx->gso = false;
	s = make_super(w, 8, PACKET);
	room = 3;
	tries_without = 1;
	assert_int_equal(transmit(w, &s), -EAGAIN);
	rn_udp_set(w->a, 0, -1, NULL);
	rn_udp_set(w->a, 0, roce_socket(&w->flow.src), &w->flow.src);
	assert_int_equal(transmit(w, &s), 0);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(receive(w), 1);
		check_packets(w, 1, i, false);
	}
	assert_int_equal(receive(w), 0);
}

static void the_rest_of_a_large_super_packet_comes_with_the_next_call(void **state)
{
	struct world *w = *state;

	if (io_by_uring())
		return;
	next_is_large = true;
	assert_int_equal(receive(w), RN_RX_BATCH);
	assert_int_equal(receive(w), LARGE - RN_RX_BATCH);
	assert_int_equal(w->got[0].gro_idx, RN_RX_BATCH);
	assert_int_equal(receive(w), 0);
}

/* Nothing is handed up from an address that the device has no more. */
static void the_rest_of_a_super_packet_goes_with_its_socket(void **state)
{
	struct world *w = *state;

	if (io_by_uring())
		return;
	next_is_large = true;
	assert_int_equal(receive(w), RN_RX_BATCH);
	rn_udp_set(w->b, 0, -1, NULL);
	assert_int_equal(receive(w), 0);
}

/* The message of that type among what was told; of @len bytes. */
static void read_told(int level, int type, void *value, size_t len)
{
	struct msghdr msg = { .msg_control = told.control, .msg_controllen = told.len };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != level || c->cmsg_type != type)
			continue;
		assert_int_equal(c->cmsg_len, CMSG_LEN(len));
		memcpy(value, CMSG_DATA(c), len);
		return;
	}
	fail_msg("nothing is said of level %d type %d", level, type);
}

/* Where routes lead elsewhere, or nowhere. */
static void a_packet_to_a_group_names_its_interface_and_its_source(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 1, PACKET);
	struct in_pktinfo info;

	if (io_by_uring())
		return;
	w->flow.dst.raw[12] = 239;
	for (uint32_t ifindex = 0; ifindex < 9; ifindex += 4) {
		w->flow.ifindex = ifindex;
		told.is_wanted = true;
		assert_int_equal(transmit(w, &s), 0);
		read_told(IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
		/* That of the device, where the flow has none. */
		assert_int_equal(info.ipi_ifindex, ifindex ? ifindex : 1);
		assert_memory_equal(&info.ipi_spec_dst, w->flow.src.raw + 12, 4);
	}
}

static void a_packet_to_an_ipv6_group_names_them_too(void **state)
{
	struct rn_gid lo6 = roce_gid_loopback6();
	struct world *w = open_world(&lo6, &lo6);
	struct in6_pktinfo info;
	struct rn_super s;
	void *box = w;

	(void)state;
	if (!w)
		skip(); /* no IPv6, or somebody else has the port of ::1 */
	if (!io_by_uring()) {
		s = make_super(w, 1, PACKET);
		w->flow.dst = (struct rn_gid){ .raw = { 0xff, 0x05, [15] = 1 } };
		w->flow.ifindex = 7;
		told.is_wanted = true;
		assert_int_equal(transmit(w, &s), 0);
		read_told(IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
		assert_int_equal(info.ipi6_ifindex, 7);
		assert_memory_equal(&info.ipi6_addr, &lo6, 16);
	}
	teardown(&box);
}

static void transmit_one_by_one(struct world *w, unsigned count)
{
	struct rn_super s;

	w->tx->gso = false;
	s = make_super(w, count, PACKET);
	assert_int_equal(transmit(w, &s), 0);
}

/* Whoever sleeps on the socket must know. */
static void what_is_taken_ahead_is_told(void **state)
{
	struct world *w = *state;
	bool held = false;

	assert_int_equal(rn_udp_by_uring(w->a), io_by_uring());
	transmit_one_by_one(w, 40);
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(receive(w), 1);
		check_packets(w, 1, i, false);
		held |= rn_udp_holds(w->b);
	}
	assert_int_equal(held, io_by_uring());
	assert_int_equal(receive(w), 0);
	assert_false(rn_udp_holds(w->b));
}

static void a_socket_that_goes_takes_along_what_it_has_brought(void **state)
{
	struct world *w = *state;

	transmit_one_by_one(w, 40);
	for (uint32_t i = 0; i < 40 && !rn_udp_holds(w->b); i++)
		receive(w);
	rn_udp_set(w->b, 0, -1, NULL);
	assert_false(rn_udp_holds(w->b));
	assert_int_equal(receive(w), 0);
}

/* A program that shuts itself into a sandbox later on. */
static void packets_pass_when_io_uring_is_taken_away(void **state)
{
	struct world *w = *state;
	struct rn_super s = make_super(w, 10, PACKET);

	if (!io_by_uring())
		return;
	assert_int_equal(transmit(w, &s), 0);
	assert_int_equal(receive(w), 10);
	submit_fails = -EPERM;
	assert_int_equal(transmit(w, &s), 0);
	assert_false(rn_udp_by_uring(w->a));
	check_packets(w, 10, 0, true); /* of the first */
	assert_int_equal(receive(w), 10);
	assert_false(rn_udp_by_uring(w->b));
	check_packets(w, 10, 0, true);
	submit_fails = 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(packet_arrives_with_the_facts_of_its_ip_header),
		test(packets_to_the_own_host_are_sealed_anew),
		test(traffic_class_of_the_flow_is_said_also_where_it_is_0),
		test(super_packet_arrives_as_packets_in_order),
		test(longest_super_packet_passes),
		test(without_gso_packets_leave_one_by_one),
		test(kernel_that_refuses_gso_gets_single_packets_signed_anew),
		test(destination_that_cannot_be_reached_is_an_error_and_no_reason_to_give_up_gso),
		test(socket_that_is_gone_is_an_error),
		test(packets_that_the_kernel_drops_are_counted),
		test(the_next_socket_of_an_address_counts_from_nothing),
		test(packet_at_a_socket_not_in_use_is_found_soon),
		test(look_everywhere_finds_it_at_once),
		test(busy_socket_does_not_starve_another),
		test(socket_not_in_use_is_looked_at_though_the_others_never_run_dry),
		test(a_turn_is_of_several_packets_each_time),
		test(the_last_socket_in_use_stays_so_however_silent),
		test(sockets_that_fell_silent_are_found_all_the_same),
		cmocka_unit_test(super_packets_pass_over_ipv6),
		test(a_packet_that_icmp_calls_too_long_is_sent_if_the_route_carries_it),
		test(what_has_left_before_a_full_socket_does_not_leave_again),
		test(what_a_full_socket_left_of_a_refused_super_packet_is_signed_anew),
		test(a_super_packet_that_lost_its_socket_takes_nothing_from_the_next),
		test(a_super_packet_goes_on_by_the_next_socket_of_its_address),
		test(the_rest_of_a_large_super_packet_comes_with_the_next_call),
		test(the_rest_of_a_super_packet_goes_with_its_socket),
		test(a_packet_to_a_group_names_its_interface_and_its_source),
		cmocka_unit_test(a_packet_to_an_ipv6_group_names_them_too),
		test(what_is_taken_ahead_is_told),
		test(a_socket_that_goes_takes_along_what_it_has_brought),
		test(packets_pass_when_io_uring_is_taken_away),
	};
	int missing = io_missing();

	return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
