/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_socket.c - sends and receives Ethernet frames of raw packet QPs by packet sockets.
 */
#include "raw_socket.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame.h"
#include "rocin/netdev.h"
#include "rocin/raw_packet.h"
#include "rocin/stats.h"
#include "rocin/work_request.h"
#include "transport/io/host/own_fd.h"

enum {
	RCVBUF = 4 << 20,
	TAG_LEN = 4,	/* bytes of a VLAN tag: type and TCI */
	MACS_LEN = 12,	/* bytes of both addresses, which precede the tag */
	SEND_MAX = 256, /* maximum number of frames that one step sends */
	ALL_BYTES = 1 << 18,
	/* SO_MARK of frames that raw packet QPs send ("ROCR"); it tells them from frames
	 * of the kernel's network stack.
	 */
	MARK = 0x524f4352,
};

struct rnp_raw {
	struct rnp_steer steer;
	unsigned qps;
	int tx_fd, rx_fd; /* sockets to send and to receive; -1: none */
	/* the interface is lo, where frames that are sent are received, too */
	bool is_loopback;
	/* this process may set SO_MARK (MARK above) on the frames that it sends, and so
	 * probably may other processes with raw packet QPs
	 */
	bool has_mark;
	uint32_t len_max;  /* bytes of the longest frame that the MTU allows */
	uint32_t overflow; /* frames that were lost so far because rx_fd was full */
	/* bytes of the frame in @tx, which waits for room in the socket; 0: none */
	uint32_t tx_len;
	uint8_t tx[RN_FRAME_MAX];
	uint8_t rx[TAG_LEN + RN_FRAME_MAX];
};

/* --------------------------------------------------- opening and closing the sockets */
static struct sockaddr_ll address_of(const struct rnp_raw_link *l, uint16_t protocol)
{
	return (struct sockaddr_ll){ .sll_family = AF_PACKET,
				     .sll_protocol = protocol,
				     .sll_ifindex = (int)l->netdev->ifindex };
}

/* Opens a packet socket that receives nothing yet. Return: the socket or -errno. */
static int open_socket(void)
{
	int fd = rn_fd_own(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd >= 0)
		return fd;
	if (errno == EACCES)
		return -EPERM;
	return errno == EAFNOSUPPORT ? -EOPNOTSUPP : -errno;
}

static int look_at_interface(const struct rnp_raw_link *l, int fd, struct rnp_raw *raw)
{
	struct ifreq req = { 0 };

	memcpy(req.ifr_name, l->netdev->ifname, sizeof(req.ifr_name));
	if (ioctl(fd, SIOCGIFHWADDR, &req) < 0)
		return -errno;
	raw->is_loopback = req.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK;
	if (!raw->is_loopback && req.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return -EOPNOTSUPP;
	if (ioctl(fd, SIOCGIFMTU, &req) < 0)
		return -errno;
	raw->len_max = (uint32_t)req.ifr_mtu + ETH_HLEN + TAG_LEN;
	if (raw->len_max > RN_FRAME_MAX)
		raw->len_max = RN_FRAME_MAX;
	return 0;
}

static int open_tx(const struct rnp_raw_link *l, struct rnp_raw *raw)
{
	struct sockaddr_ll sll = address_of(l, 0);
	const uint32_t mark = MARK;
	int fd = open_socket();
	int rc;

	if (fd < 0)
		return fd;
	rc = look_at_interface(l, fd, raw);
	if (!rc && bind(fd, (struct sockaddr *)&sll, sizeof(sll)) < 0)
		rc = -errno;
	if (rc) {
		rn_fd_close(fd);
		return rc;
	}
	/* Before Linux 5.17 setting the mark needs CAP_NET_ADMIN. */
	raw->has_mark = setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) == 0;
	raw->tx_fd = fd;
	return 0;
}

int rnp_raw_get(struct rnp_raw_link *l)
{
	struct rnp_raw *raw = l->raw;
	int rc;

	if (raw) {
		raw->qps++;
		return 0;
	}
	raw = malloc(sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	rnp_steer_init(&raw->steer);
	raw->qps = 1;
	raw->tx_fd = raw->rx_fd = -1;
	raw->tx_len = 0;
	rc = open_tx(l, raw);
	if (rc) {
		free(raw);
		return rc;
	}
	l->raw = raw;
	return 0;
}

/* Puts the socket *@fd into @l->retired, so that it can be closed later without the
 * engine lock. If too many sockets are kept there already, which is rare, closes it at
 * once.
 */
static void retire(struct rnp_raw_link *l, int *fd)
{
	int *slot = l->retired.fd;

	while (slot < l->retired.fd + RNP_RAW_RETIRED_MAX && *slot)
		slot++;
	if (slot < l->retired.fd + RNP_RAW_RETIRED_MAX)
		*slot = *fd;
	else
		rn_fd_close(*fd);
	*fd = -1;
}

void rnp_raw_close(const struct rnp_raw_retired *retired)
{
	for (unsigned i = 0; i < RNP_RAW_RETIRED_MAX; i++)
		if (retired->fd[i])
			rn_fd_close(retired->fd[i]);
}

static void close_rx(struct rnp_raw_link *l)
{
	l->unwatch(l->arg, l->raw->rx_fd);
	if (l->raw->rx_fd >= 0)
		retire(l, &l->raw->rx_fd);
}

void rnp_raw_shut(struct rnp_raw_link *l)
{
	if (!l->raw)
		return;
	close_rx(l);
	if (l->raw->tx_fd >= 0)
		retire(l, &l->raw->tx_fd);
	l->raw->tx_len = 0;
}

void rnp_raw_put(struct rnp_raw_link *l)
{
	assert(l->raw && l->raw->qps > 0);
	if (--l->raw->qps > 0)
		return;
	assert(rnp_steer_is_empty(&l->raw->steer));
	rnp_raw_shut(l);
	free(l->raw);
	l->raw = NULL;
}

/* --------------------------------------------- filter and memberships for flow rules */
/* Sets a filter on the receiving socket @fd. Of the frames that this host sends, the
 * socket then receives only those of raw packet QPs. On the interface lo it receives no
 * outgoing frames at all, since each of them comes in there, too.
 */
static int set_filter(const struct rnp_raw *raw, int fd)
{
	const uint32_t type = (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE);
	const uint32_t mark = (uint32_t)(SKF_AD_OFF + SKF_AD_MARK);
	/* If this process cannot set the mark, other processes with raw packet QPs
	 * probably cannot either. Then unmarked outgoing frames are received, too.
	 */
	uint8_t unmarked = raw->has_mark || raw->is_loopback ? 1 : 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, type),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, mark),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, unmarked),
		BPF_STMT(BPF_RET | BPF_K, ALL_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { .len = RN_ARRAY_SIZE(code), .filter = code };

	if (raw->is_loopback)
		code[1].jt = RN_ARRAY_SIZE(code) - 3;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0
		       ? -errno
		       : 0;
}

static int start_rx(struct rnp_raw_link *l, int fd)
{
	struct sockaddr_ll sll = address_of(l, htons(ETH_P_ALL));
	const int on = 1, size = RCVBUF;
	int rc = look_at_interface(l, fd, l->raw);

	if (!rc)
		rc = set_filter(l->raw, fd);
	if (rc)
		return rc;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
	if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&sll, sizeof(sll)) < 0)
		return -errno;
	return l->watch(l->arg, fd);
}

static int open_rx(struct rnp_raw_link *l)
{
	int fd, rc;

	if (l->raw->rx_fd >= 0)
		return 0;
	fd = open_socket();
	if (fd < 0)
		return fd;
	rc = start_rx(l, fd);
	if (rc)
		rn_fd_close(fd);
	else
		l->raw->rx_fd = fd;
	l->raw->overflow = 0;
	return rc;
}

/* Returns the packet-socket membership by which the interface receives the frames that
 * the rule matches. If mr_type of the result is 0, the rule needs no membership.
 */
static struct packet_mreq membership_of(const struct rnp_raw_link *l,
					const struct rnp_rule *rule)
{
	static const uint8_t whole[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	const struct rnp_flow_match *m = &rule->match;
	struct packet_mreq req = { .mr_ifindex = (int)l->netdev->ifindex };

	switch (rule->kind) {
	case RNP_RULE_SNIFFER:
	case RNP_RULE_ALL_DEFAULT:
		req.mr_type = PACKET_MR_PROMISC;
		break;
	case RNP_RULE_MC_DEFAULT:
		req.mr_type = PACKET_MR_ALLMULTI;
		break;
	case RNP_RULE_NORMAL:
		if (memcmp(m->mask.dst_mac, whole, sizeof(whole)) != 0)
			break;
		req.mr_type =
			m->value.dst_mac[0] & 1 ? PACKET_MR_MULTICAST : PACKET_MR_UNICAST;
		req.mr_alen = sizeof(whole);
		memcpy(req.mr_address, m->value.dst_mac, sizeof(whole));
		break;
	}
	return req;
}

/* Adds or drops (@what) the membership for a rule. If the interface refuses to add it,
 * the rule still applies to the frames that come without a membership.
 */
static void change_membership(const struct rnp_raw_link *l, const struct rnp_rule *rule,
			      int what)
{
	struct packet_mreq req = membership_of(l, rule);

	if (req.mr_type || req.mr_alen)
		setsockopt(l->raw->rx_fd, SOL_PACKET, what, &req, sizeof(req));
}

int rnp_raw_add_rule(struct rnp_raw_link *l, struct rnp_rule *rule)
{
	int rc = open_rx(l);

	if (rc)
		return rc;
	change_membership(l, rule, PACKET_ADD_MEMBERSHIP);
	rnp_steer_add(&l->raw->steer, rule);
	return 0;
}

void rnp_raw_remove_rule(struct rnp_raw_link *l, struct rnp_rule *rule)
{
	if (l->raw->rx_fd >= 0)
		change_membership(l, rule, PACKET_DROP_MEMBERSHIP);
	rnp_steer_remove(&l->raw->steer, rule);
	if (rnp_steer_is_empty(&l->raw->steer))
		close_rx(l);
}

int rnp_raw_fd(const struct rnp_raw_link *l)
{
	return l->raw ? l->raw->rx_fd : -1;
}

/* ------------------------------------------------------------------ receiving frames */
static void add_stat(struct rnp_raw_link *l, enum rn_stat stat, uint32_t n)
{
	uint64_t *c = &l->counter[stat];

	__atomic_store_n(c, *c + n, __ATOMIC_RELAXED);
}

/* What the kernel delivers beside a frame: its own data about the frame, and the number
 * of frames that the socket has dropped so far.
 */
struct ancillary {
	struct tpacket_auxdata aux;
	uint32_t overflow;
};

static bool is_ancillary(const struct cmsghdr *c, int level, int type, size_t len)
{
	return c->cmsg_level == level && c->cmsg_type == type &&
	       c->cmsg_len >= CMSG_LEN(len);
}

static struct ancillary read_ancillary(struct msghdr *msg, uint32_t overflow)
{
	struct ancillary r = { .overflow = overflow };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (is_ancillary(c, SOL_PACKET, PACKET_AUXDATA, sizeof(r.aux)))
			memcpy(&r.aux, CMSG_DATA(c), sizeof(r.aux));
		else if (is_ancillary(c, SOL_SOCKET, SO_RXQ_OVFL, sizeof(r.overflow)))
			memcpy(&r.overflow, CMSG_DATA(c), sizeof(r.overflow));
	}
	return r;
}

/* Inserts the VLAN tag that the kernel has removed from the frame. The caller must
 * provide TAG_LEN bytes of room before @frame. Return: the new start of the frame.
 */
static uint8_t *put_tag(uint8_t *frame, const struct tpacket_auxdata *aux)
{
	uint8_t *start = frame - TAG_LEN;
	uint16_t type = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ? aux->tp_vlan_tpid
								   : ETH_P_8021Q;

	memmove(start, frame, MACS_LEN);
	start[MACS_LEN] = (uint8_t)(type >> 8);
	start[MACS_LEN + 1] = (uint8_t)type;
	start[MACS_LEN + 2] = (uint8_t)(aux->tp_vlan_tci >> 8);
	start[MACS_LEN + 3] = (uint8_t)aux->tp_vlan_tci;
	return start;
}

/* Receives one frame from the socket, and sets *@frame to its start. Return: the length
 * of the frame in bytes; 0: the socket is empty.
 */
static size_t take_frame(struct rnp_raw_link *l, const uint8_t **frame)
{
	struct rnp_raw *raw = l->raw;
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata)) +
		     CMSG_SPACE(sizeof(uint32_t))]
		__attribute__((aligned(_Alignof(struct cmsghdr))));
	struct iovec iov = { .iov_base = raw->rx + TAG_LEN, .iov_len = RN_FRAME_MAX };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(raw->rx_fd, &msg, MSG_DONTWAIT | MSG_TRUNC);
	struct ancillary said;
	uint8_t *at = raw->rx + TAG_LEN;

	if (n <= 0)
		return 0;
	said = read_ancillary(&msg, raw->overflow);
	add_stat(l, RN_STAT_SOCK_OVERFLOW, said.overflow - raw->overflow);
	raw->overflow = said.overflow;
	if (said.aux.tp_status & TP_STATUS_VLAN_VALID && n >= MACS_LEN) {
		at = put_tag(at, &said.aux);
		n += TAG_LEN;
	}
	if (said.aux.tp_status & TP_STATUS_CSUMNOTREADY && (size_t)n <= raw->len_max)
		rnp_checksum_fill(at, (size_t)n);
	*frame = at;
	return (size_t)n;
}

struct arrival {
	struct rnp_raw_link *link;
	rn_ns now;
	const uint8_t *frame;
	size_t len;
};

static void deliver(void *arg, void *qp, uint32_t tag)
{
	const struct arrival *a = arg;
	struct rn_rx_frame f = { .data = a->frame,
				 .len = (uint32_t)a->len,
				 .checksums_ok = rnp_checksum_ok(a->frame, a->len),
				 .tag = tag };

	(void)rn_qp_receive_frame(a->link->dev, qp, a->now, &f);
}

unsigned rnp_raw_receive(struct rnp_raw_link *l, rn_ns now, unsigned max)
{
	struct arrival a = { .link = l, .now = now };
	struct rnp_raw *raw = l->raw;
	unsigned taken = 0;

	if (!raw || raw->rx_fd < 0)
		return 0;
	while (taken < max && (a.len = take_frame(l, &a.frame)) > 0) {
		taken++;
		if (a.len > raw->len_max)
			add_stat(l, RN_STAT_RX_DROPPED, 1);
		else
			rnp_steer_frame(&raw->steer, a.frame, a.len, deliver, &a);
	}
	return taken;
}

/* -------------------------------------------------------------------- sending frames */
/* Sends the frame in @tx. Returns false if the socket is full; then the caller tries
 * again later.
 */
static bool send_frame(struct rnp_raw_link *l)
{
	struct rnp_raw *raw = l->raw;
	struct sockaddr_ll sll = address_of(l, 0);
	ssize_t n;

	memcpy(&sll.sll_protocol, raw->tx + MACS_LEN, sizeof(sll.sll_protocol));
	sll.sll_halen = ETH_ALEN;
	memcpy(sll.sll_addr, raw->tx, ETH_ALEN);
	n = sendto(raw->tx_fd, raw->tx, raw->tx_len, MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&sll, sizeof(sll));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* The send has failed because the frame is longer than the MTU, or because the
	 * link is down.
	 */
	if (n < 0)
		add_stat(l, RN_STAT_TX_DROPPED, 1);
	raw->tx_len = 0;
	return true;
}

bool rnp_raw_transmit(struct rnp_raw_link *l, rn_ns now)
{
	struct rnp_raw *raw = l->raw;

	if (!raw || raw->tx_fd < 0)
		return true;
	for (unsigned i = 0; i < SEND_MAX; i++) {
		uint32_t flags = 0;

		if (raw->tx_len == 0)
			raw->tx_len = rn_dev_transmit_frame(l->dev, now, raw->tx,
							    sizeof(raw->tx), &flags);
		if (flags & RN_SEND_IP_CSUM)
			rnp_checksum_fill(raw->tx, raw->tx_len);
		if (raw->tx_len == 0)
			return true;
		if (!send_frame(l))
			return false;
	}
	return false;
}
