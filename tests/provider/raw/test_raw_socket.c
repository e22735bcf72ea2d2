/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_raw_socket.c - frames of raw packet QPs between the device and a packet socket.
 * This test replaces the socket, so it needs no privilege.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <malloc.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "provider/raw/raw_socket.h"
#include "rocin/netdev.h"
#include "rocin/raw_packet.h"
#include "rocin/stats.h"

enum {
	MTU = 1500,
	FRAME = 64,	 /* length in bytes */
	TAGGED = 0x8100, /* 802.1Q */
	TAG_LEN = 4,
	RAW_MARK = 0x524f4352, /* socket mark of frames that raw packet QPs send */
};

/* ------------------------------------------------------------------ the packet socket */
/* A frame in the socket's queue, with the auxiliary data that the kernel gives. */
struct waiting {
	uint8_t byte[FRAME];
	uint16_t tag;	   /* VLAN tag that the kernel has removed; 0: none */
	uint32_t overflow; /* number of frames that the socket has dropped so far */
};

static struct {
	struct waiting frame[8];
	unsigned count, at;
	unsigned opened, sent;
	unsigned short kind; /* type of the interface, ARPHRD_* */
	struct sock_filter filter[16];
	unsigned filter_len;
} kernel;

int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	(void)type;
	(void)protocol;
	assert_int_equal(domain, AF_PACKET);
	kernel.opened++;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd;
	(void)addr;
	(void)len;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, struct ifreq *req);
int __wrap_ioctl(int fd, unsigned long request, struct ifreq *req)
{
	(void)fd;
	if (request == SIOCGIFHWADDR)
		req->ifr_hwaddr.sa_family = kernel.kind;
	else if (request == SIOCGIFMTU)
		req->ifr_mtu = MTU;
	else
		return -1;
	return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	const struct sock_fprog *prog = value;

	(void)fd;
	(void)len;
	if (level != SOL_SOCKET || name != SO_ATTACH_FILTER)
		return 0;
	assert_true(prog->len <= RN_ARRAY_SIZE(kernel.filter));
	memcpy(kernel.filter, prog->filter, prog->len * sizeof(*prog->filter));
	kernel.filter_len = prog->len;
	return 0;
}

static struct cmsghdr *control_message(struct msghdr *msg, struct cmsghdr *after,
				       int level, int type, const void *what, size_t len)
{
	struct cmsghdr *c = after ? CMSG_NXTHDR(msg, after) : CMSG_FIRSTHDR(msg);

	assert_non_null(c);
	*c = (struct cmsghdr){ .cmsg_level = level,
			       .cmsg_type = type,
			       .cmsg_len = CMSG_LEN(len) };
	memcpy(CMSG_DATA(c), what, len);
	return c;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	const struct waiting *w = &kernel.frame[kernel.at];
	struct tpacket_auxdata aux = { .tp_status = TP_STATUS_USER };
	struct cmsghdr *c;

	(void)flags;
	assert_true(fd >= 0);
	if (kernel.at == kernel.count) {
		errno = EAGAIN;
		return -1;
	}
	kernel.at++;
	assert_true(msg->msg_iov[0].iov_len >= FRAME);
	memcpy(msg->msg_iov[0].iov_base, w->byte, FRAME);
	memset(msg->msg_control, 0, msg->msg_controllen);
	if (w->tag) {
		aux.tp_status |= TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID;
		aux.tp_vlan_tpid = TAGGED;
		aux.tp_vlan_tci = w->tag;
	}
	c = control_message(msg, NULL, SOL_PACKET, PACKET_AUXDATA, &aux, sizeof(aux));
	control_message(msg, c, SOL_SOCKET, SO_RXQ_OVFL, &w->overflow,
			sizeof(w->overflow));
	return FRAME;
}

ssize_t __wrap_sendto(int fd, const void *buf, size_t len, int flags,
		      const struct sockaddr *addr, socklen_t addr_len);
ssize_t __wrap_sendto(int fd, const void *buf, size_t len, int flags,
		      const struct sockaddr *addr, socklen_t addr_len)
{
	(void)fd;
	(void)buf;
	(void)flags;
	(void)addr;
	(void)addr_len;
	kernel.sent++;
	return (ssize_t)len;
}

static struct waiting *arrives(uint32_t overflow)
{
	struct waiting *w = &kernel.frame[kernel.count];

	for (unsigned i = 0; i < FRAME; i++)
		w->byte[i] = (uint8_t)(i + 1);
	w->overflow = overflow;
	kernel.count++;
	return w;
}

/* ------------------------------------------------------------------------- the device */
static struct rn_rx_frame got; /* the last received frame; its bytes are in got_byte */
static uint8_t got_byte[FRAME + TAG_LEN];

bool __wrap_rn_qp_receive_frame(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
				const struct rn_rx_frame *frame);
bool __wrap_rn_qp_receive_frame(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
				const struct rn_rx_frame *frame)
{
	(void)dev;
	(void)qp;
	(void)now;
	got = *frame;
	assert_true(frame->len <= sizeof(got_byte));
	memcpy(got_byte, frame->data, frame->len);
	return true;
}

/* The device has no posted frames. */
uint32_t __wrap_rn_dev_transmit_frame(struct rn_dev *dev, rn_ns now, uint8_t *buf,
				      size_t cap, uint32_t *flags);
uint32_t __wrap_rn_dev_transmit_frame(struct rn_dev *dev, rn_ns now, uint8_t *buf,
				      size_t cap, uint32_t *flags)
{
	(void)dev;
	(void)now;
	(void)buf;
	(void)cap;
	(void)flags;
	return 0;
}

static int watch(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	return 0;
}

static void unwatch(void *arg, int fd)
{
	(void)arg;
	(void)fd;
}

static struct rn_netdev netdev;
static uint64_t counter[RN_STAT_COUNT];
static struct rnp_raw_link l;
static struct rnp_rule rule; /* a rule that matches all frames */

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	memset(&got, 0, sizeof(got));
	kernel.kind = ARPHRD_ETHER;
	rule = (struct rnp_rule){ .kind = RNP_RULE_ALL_DEFAULT };
	memset(counter, 0, sizeof(counter));
	l = (struct rnp_raw_link){
		.netdev = &netdev, .counter = counter, .watch = watch, .unwatch = unwatch
	};
	return 0;
}

static void close_retired(void)
{
	rnp_raw_close(&l.retired);
	l.retired = (struct rnp_raw_retired){ 0 };
}

static int teardown(void **state)
{
	(void)state;
	close_retired();
	return 0;
}

static void begin(void)
{
	assert_int_equal(rnp_raw_get(&l), 0);
	assert_int_equal(rnp_raw_add_rule(&l, &rule), 0);
}

static void end(void)
{
	rnp_raw_remove_rule(&l, &rule);
	rnp_raw_put(&l);
}

static void frames_that_the_socket_has_lost_are_counted_once(void **state)
{
	const uint64_t *lost = &counter[RN_STAT_SOCK_OVERFLOW];

	(void)state;
	begin();
	arrives(0);
	arrives(5);
	arrives(5);
	arrives(7);
	assert_int_equal(rnp_raw_receive(&l, 0, 2), 2);
	assert_int_equal(*lost, 5);
	assert_int_equal(rnp_raw_receive(&l, 0, 8), 2);
	assert_int_equal(*lost, 7);
	end();
	assert_int_equal(*lost, 7);
}

/* The tag is inserted behind the two addresses. All other bytes stay as they are, up to
 * the last.
 */
static void a_vlan_tag_is_put_back_where_it_was(void **state)
{
	struct waiting *w;

	(void)state;
	begin();
	arrives(0);
	assert_int_equal(rnp_raw_receive(&l, 0, 8), 1);
	assert_int_equal(got.len, FRAME);
	w = arrives(0);
	w->tag = 0x6123;
	assert_int_equal(rnp_raw_receive(&l, 0, 8), 1);
	assert_int_equal(got.len, FRAME + TAG_LEN);
	assert_memory_equal(got_byte, w->byte, 12);
	assert_memory_equal(got_byte + 12, "\x81\x00\x61\x23", TAG_LEN);
	assert_memory_equal(got_byte + 12 + TAG_LEN, w->byte + 12, FRAME - 12);
	end();
}

static void a_socket_that_is_closed_is_read_no_more(void **state)
{
	(void)state;
	begin();
	assert_int_equal(kernel.opened, 2); /* one socket to send, one to receive */
	assert_true(rnp_raw_fd(&l) >= 0);
	rnp_raw_remove_rule(&l, &rule);
	assert_int_equal(rnp_raw_fd(&l), -1);
	arrives(0);
	assert_int_equal(rnp_raw_receive(&l, 0, 8), 0);
	close_retired();
	/* The next rule opens another socket. */
	assert_int_equal(rnp_raw_add_rule(&l, &rule), 0);
	assert_int_equal(kernel.opened, 3);
	assert_int_equal(rnp_raw_receive(&l, 0, 8), 1);
	end();
}

/* This holds whatever the allocated memory contained before. */
static void a_queue_pair_without_posts_sends_nothing(void **state)
{
	(void)state;
	mallopt(M_PERTURB, 0xee);
	begin();
	mallopt(M_PERTURB, 0);
	assert_true(rnp_raw_transmit(&l, 0));
	assert_int_equal(kernel.sent, 0);
	end();
}

/* Runs the socket filter on a frame. Returns the number of bytes that it accepts; 0:
 * none.
 */
static uint32_t judge(uint8_t type, uint32_t mark)
{
	uint32_t a = 0;

	for (unsigned at = 0; at < kernel.filter_len; at++) {
		const struct sock_filter *s = &kernel.filter[at];

		switch (s->code) {
		case BPF_LD | BPF_B | BPF_ABS:
			assert_true(s->k == (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
			a = type;
			break;
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(s->k == (uint32_t)(SKF_AD_OFF + SKF_AD_MARK));
			a = mark;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == s->k ? s->jt : s->jf;
			break;
		case BPF_RET | BPF_K:
			return s->k;
		default:
			fail_msg("instruction 0x%x", s->code);
		}
	}
	fail_msg("the filter has no end");
	return 0;
}

/* The filter accepts all frames from outside. Of the frames that this host sends it
 * accepts only those of raw packet QPs.
 */
static void of_frames_that_leave_those_of_queue_pairs_are_taken(void **state)
{
	(void)state;
	begin();
	assert_true(judge(PACKET_HOST, 0) > 0);
	assert_true(judge(PACKET_BROADCAST, 0) > 0);
	assert_true(judge(PACKET_OTHERHOST, RAW_MARK) > 0);
	assert_true(judge(PACKET_OUTGOING, RAW_MARK) > 0);
	assert_int_equal(judge(PACKET_OUTGOING, 0), 0);
	end();
}

/* On the loopback interface each sent frame is received as well, so that the filter
 * accepts it only when it is received.
 */
static void on_the_loopback_interface_a_frame_is_taken_once(void **state)
{
	(void)state;
	kernel.kind = ARPHRD_LOOPBACK;
	begin();
	assert_true(judge(PACKET_HOST, 0) > 0);
	assert_true(judge(PACKET_HOST, RAW_MARK) > 0);
	assert_int_equal(judge(PACKET_OUTGOING, 0), 0);
	assert_int_equal(judge(PACKET_OUTGOING, RAW_MARK), 0);
	end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_that_the_socket_has_lost_are_counted_once),
		TEST(a_vlan_tag_is_put_back_where_it_was),
		TEST(a_socket_that_is_closed_is_read_no_more),
		TEST(a_queue_pair_without_posts_sends_nothing),
		TEST(of_frames_that_leave_those_of_queue_pairs_are_taken),
		TEST(on_the_loopback_interface_a_frame_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
