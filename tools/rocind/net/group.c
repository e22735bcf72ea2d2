/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* group.c - opens and closes the sockets of a device address, which form an SO_REUSEPORT
 * group, and writes the BPF program that chooses the socket of a packet. If the port is
 * taken, finds out which process has it.
 */
#include "group.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/peer_info.h"
#include "rocin/wire.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/gid_sockaddr.h"
#include "transport/io/host/log.h"
#include "transport/io/udp/own_port.h"
#include "udp_table.h"

enum {
	/* Requested size of socket buffers in bytes; the kernel limits it to rmem_max and
	 * wmem_max.
	 */
	BUFFER_BYTES = 8 << 20,
	/* Interval in ms between attempts to bind, while sockets of a rocind that has
	 * died are being closed.
	 */
	BIND_RETRY_MS = 10,
	DRAIN_PACKETS_MAX =
		/* Maximum number of packets that rnd_group_drain() drops: more than any
		 * receive buffer contains, but limited, so that a flood of packets does
		 * not keep the caller busy for ever.
		 */
		1 << 16,
};

/* ---- Steering by the destination QPN ---- */

#define QPN_FIRST_ORDINARY 256u
#define SLOT_MASK 0xffu

void rnd_steer_program(struct sock_filter prog[RND_STEER_PROGRAM_LEN],
		       unsigned slot_count)
{
	enum {
		TO_ROCIND = RND_STEER_PROGRAM_LEN - 1
	};
	/* Distance of a jump from instruction @at to the instruction that chooses slot 0,
	 * rocind's own socket. BPF counts from the instruction after the jump.
	 */
#define ELSE_ROCIND(at) ((uint8_t)(TO_ROCIND - (at)-1))
	const struct sock_filter text[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, RN_BTH_LEN, 0, ELSE_ROCIND(1)),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, RN_QPN_MASK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RN_QPN_MULTICAST, ELSE_ROCIND(4), 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, QPN_FIRST_ORDINARY, 0,
			 ELSE_ROCIND(5)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SLOT_MASK),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, slot_count, ELSE_ROCIND(7), 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
#undef ELSE_ROCIND

	static_assert(RN_ARRAY_SIZE(text) == RND_STEER_PROGRAM_LEN, "length as promised");
	for (unsigned i = 0; i < RND_STEER_PROGRAM_LEN; i++)
		prog[i] = text[i];
}

enum rn_rocind_drop rnd_steer_reason(const uint8_t *payload, size_t len)
{
	uint32_t qpn;

	if (len < RN_BTH_LEN)
		return RN_ROCIND_DROP_SHORT;
	qpn = rn_get_be24(payload + 5);
	if (qpn == 0)
		return RN_ROCIND_DROP_QP0;
	if (qpn == RN_QPN_GSI)
		return RN_ROCIND_DROP_QP1;
	if (qpn == RN_QPN_MULTICAST)
		return RN_ROCIND_DROP_MULTICAST;
	if (qpn < QPN_FIRST_ORDINARY)
		return RN_ROCIND_DROP_RESERVED;
	return RN_ROCIND_DROP_UNKNOWN_SLOT;
}

/* ---- Which process has bound the port, from /proc ---- */

/* A socket that is bound to port 4791, as a table of /proc/net lists it. */
struct entry {
	bool found;
	struct rnd_udp_socket socket;
};

/* Parses an address of a table in /proc/net. The kernel prints it as 32-bit words in host
 * byte order, in hexadecimal. Returns false if @hex is no address.
 */
static bool parse_address(const char *hex, struct rn_gid *gid)
{
	static const struct rn_gid mapped = { .raw = { [10] = 0xff, [11] = 0xff } };
	unsigned words = strlen(hex) == 8 ? 1 : 4;

	*gid = mapped;
	for (unsigned i = 0; i < words; i++) {
		uint32_t word;

		if (sscanf(hex + 8 * (size_t)i, "%8x", &word) != 1)
			return false;
		memcpy(gid->raw + (words == 1 ? 12 : 4 * (size_t)i), &word, sizeof(word));
	}
	return true;
}

/* Returns true if a socket that is bound to @theirs would prevent a bind to @ours. The
 * IPv6 wildcard also receives IPv4 packets, unless its socket has IPV6_V6ONLY.
 */
static bool is_in_the_way(const struct rn_gid *theirs, const struct rn_gid *ours)
{
	static const struct rn_gid any6;
	static const struct rn_gid any4 = { .raw = { [10] = 0xff, [11] = 0xff } };

	return memcmp(theirs, ours, sizeof(*ours)) == 0 ||
	       memcmp(theirs, &any6, sizeof(any6)) == 0 ||
	       (rn_gid_is_ipv4(ours) && memcmp(theirs, &any4, sizeof(any4)) == 0);
}

/* Searches one table of /proc/net for the socket that occupies the port. If several
 * sockets do, returns the one that was opened first. In the group of another rocind, this
 * is the socket of that rocind, not one of a client.
 */
static struct entry search_table(const char *table, const struct rn_gid *ours)
{
	struct entry first = { 0 };
	FILE *f = fopen(table, "re");
	struct rnd_udp_socket s;
	struct rn_gid theirs;

	while (rnd_udp_table_next(f, &s))
		if (s.port == RN_ROCE_PORT && parse_address(s.address, &theirs) &&
		    is_in_the_way(&theirs, ours) &&
		    (!first.found || s.inode < first.socket.inode))
			first = (struct entry){ .found = true, .socket = s };
	if (f)
		fclose(f);
	return first;
}

static bool has_descriptor(const char *pid, unsigned long inode)
{
	char path[300], want[64], link[64];
	bool found = false;
	struct dirent *fd;
	DIR *dir;

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (fd = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), fd->d_name, link, sizeof(link) - 1);

		if (len > 0) {
			link[len] = '\0';
			found = strcmp(link, want) == 0;
		}
	}
	if (dir)
		closedir(dir);
	return found;
}

static void read_name(const char *pid, char *name, size_t name_len)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, (int)name_len, f))
		snprintf(name, name_len, "?");
	name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
}

static bool name_process(unsigned long inode, char *who, size_t who_len)
{
	DIR *proc = opendir("/proc");
	bool found = false;
	struct dirent *d;

	while (proc && !found && (d = readdir(proc))) {
		char name[32];

		if (!isdigit((unsigned char)d->d_name[0]) ||
		    !has_descriptor(d->d_name, inode))
			continue;
		read_name(d->d_name, name, sizeof(name));
		snprintf(who, who_len, "process %.20s (%s)", d->d_name, name);
		found = true;
	}
	if (proc)
		closedir(proc);
	return found;
}

static void describe(const struct rn_gid *gid, char *who, size_t who_len)
{
	struct entry entry = search_table("/proc/net/udp6", gid);

	if (!entry.found && rn_gid_is_ipv4(gid))
		entry = search_table("/proc/net/udp", gid);
	if (!entry.found)
		snprintf(who, who_len, "another program");
	else if (entry.socket.inode == 0)
		snprintf(who, who_len, "the kernel (a device of the module rdma_rxe?)");
	else if (!name_process(entry.socket.inode, who, who_len))
		snprintf(who, who_len, "a process of user %u", entry.socket.uid);
}

int rnd_port_owner_explain(const struct rn_gid *gid, char *err, size_t err_len)
{
	char who[96], address[RN_GID_TEXT_MAX], hint[RN_GID_TEXT_MAX + 8] = "IF:ADDRESS";
	struct rn_gid next = *gid;

	describe(gid, who, sizeof(who));
	rn_gid_text(gid, address);
	if (rn_gid_is_ipv4(gid) && gid->raw[12] == 127) {
		next.raw[15] = gid->raw[15] % 250 + 1;
		memcpy(hint, "lo:", 4);
		rn_gid_text(&next, hint + 3);
	}
	return rn_fail(
		err, err_len, -EADDRINUSE,
		"UDP port %d of %s is held by %s; stop it or choose another address "
		"with --netdev %s",
		RN_ROCE_PORT, address, who, hint);
}

/* ---- Opening the sockets of a group ---- */

static bool set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/* Sets a socket option that only affects speed or a counter, so that a failure does no
 * harm.
 */
static void try_option(int fd, int level, int name, int value)
{
	if (!set_int(fd, level, name, value))
		rn_log(RN_LOG_DEBUG, "socket option %d of level %d: %m", name, level);
}

static void enlarge_receive_buffer(int fd)
{
	if (!set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES))
		try_option(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
}

/* Sets the options that are needed for packets. IP_PMTUDISC_DO is one of them: with it,
 * and without connect(), the kernel sends packets with the IPv4 identification 0. The
 * ICRC covers this field, so the sender must know its value. Returns 0 or -errno.
 */
static int set_options(int fd, int family)
{
	enlarge_receive_buffer(fd);
	if (!set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES))
		try_option(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
	try_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	if (family == AF_INET) {
		try_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
		try_option(fd, IPPROTO_IP, IP_RECVTTL, 1);
		return set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) ? 0
										: -errno;
	}
	try_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	try_option(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	try_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	if (!set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) ||
	    !set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO))
		return -errno;
	return 0;
}

enum manner {
	ALONE,
	/* other sockets may be on the port only if they were left by a group that was
	 * closed
	 */
	BESIDE_LEFTOVERS,
	JOIN, /* any other sockets of this user may be on the port */
};

/* Returns a socket that is bound to the address of the group, with SO_REUSEPORT and
 * without SO_REUSEADDR, or -errno.
 */
static int open_group_socket(const struct rnd_group *group, enum manner manner)
{
	union rn_sockaddr sa;
	socklen_t len = rn_gid_sockaddr(&sa, &group->gid, RN_ROCE_PORT, group->scope);
	int fd = socket(sa.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = set_options(fd, sa.sa.sa_family);
	if (rc == 0 && !set_int(fd, SOL_SOCKET, SO_REUSEPORT, manner == JOIN))
		rc = -errno;
	if (rc == 0 && !set_int(fd, SOL_SOCKET, SO_REUSEADDR, manner == BESIDE_LEFTOVERS))
		rc = -errno;
	if (rc == 0 && bind(fd, &sa.sa, len) < 0)
		rc = -errno;
	if (rc == 0 && !(set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) &&
			 set_int(fd, SOL_SOCKET, SO_REUSEADDR, 0)))
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* ---- Exclusive bind of the port ---- */

/* Returns true if sockets of this user have the port. To find out, tries to bind another
 * socket with SO_REUSEPORT: the kernel allows that only if all sockets on the port have
 * this option and the same user. A packet that arrives at this socket meanwhile is lost,
 * but it was for no process.
 */
static bool held_by_leftovers(const struct rnd_group *group)
{
	int fd = open_group_socket(group, JOIN);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Binds socket 0 to the port, even if sockets are on it that were left by a group which
 * was closed. Those have SO_REUSEADDR, so a socket with this option can be bound beside
 * them. Sockets of a group that is open do not have the option, and held_by_leftovers()
 * excludes sockets of other users. Returns 0 or -errno.
 */
static int take_port(struct rnd_group *group, rn_ns deadline)
{
	for (;;) {
		int fd = open_group_socket(group, ALONE);

		if (fd == -EADDRINUSE && held_by_leftovers(group))
			fd = open_group_socket(group, BESIDE_LEFTOVERS);
		else
			return fd;
		if (fd != -EADDRINUSE || rn_clock(CLOCK_MONOTONIC) >= deadline)
			return fd;
		poll(NULL, 0, BIND_RETRY_MS);
	}
}

static int explain(const struct rnd_group *group, int rc, char *err, size_t err_len)
{
	char address[RN_GID_TEXT_MAX];

	rn_gid_text(&group->gid, address);
	if (rc == -EADDRINUSE)
		return rnd_port_owner_explain(&group->gid, err, err_len);
	if (rc == -EADDRNOTAVAIL)
		return rn_fail(err, err_len, rc,
			       "%s is not an address of this network namespace (or its "
			       "interface is down, or the address is still being checked "
			       "for duplicates)",
			       address);
	return rn_fail(err, err_len, rc, "UDP port %d of %s cannot be opened: %m",
		       RN_ROCE_PORT, address);
}

int rnd_group_open(struct rnd_group **out, const struct rn_gid *gid, uint32_t scope,
		   rn_ns deadline, char *err, size_t err_len)
{
	struct rnd_group *group = calloc(1, sizeof(*group));
	int fd;

	if (!group)
		return rn_fail(err, err_len, -ENOMEM, "out of memory");
	group->gid = *gid;
	group->scope = scope;
	group->own_sock = -1;
	fd = take_port(group, deadline);
	if (fd < 0) {
		explain(group, fd, err, err_len);
		free(group);
		return fd;
	}
	group->sock[0] = fd;
	group->sock_count = 1;
	*out = group;
	return 0;
}

/* ---- Sockets of slots ---- */

/* Attaches the BPF program that chooses the socket of a packet to the group. It may be
 * replaced while packets arrive. The program sends packets of senders that are not
 * admitted to slot 0, whose filter drops them. So they are not counted as lost by the
 * sockets of processes.
 */
static int attach_program(const struct rnd_group *group)
{
	struct sock_filter text[RND_ADMISSION_LEN + RND_STEER_PROGRAM_LEN];
	struct sock_fprog prog = { .filter = text };
	unsigned n = 0;

	if (group->admission)
		n = rnd_admission_write(group->admission,
					rn_gid_is_ipv4(&group->gid)
						? RND_VIEW_PAYLOAD_IPV4
						: RND_VIEW_PAYLOAD_IPV6,
					0, text);
	rnd_steer_program(text + n, group->sock_count);
	prog.len = (unsigned short)(n + RND_STEER_PROGRAM_LEN);
	return setsockopt(group->sock[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog,
			  sizeof(prog)) < 0
		       ? -errno
		       : 0;
}

struct rnd_group *rnd_group_restore(const struct rn_gid *gid, uint32_t scope,
				    const int *sock, unsigned count)
{
	struct rnd_group *group = calloc(1, sizeof(*group));

	assert(count > 0 && count <= RND_SLOT_COUNT);
	if (!group)
		return NULL;
	group->gid = *gid;
	group->scope = scope;
	group->own_sock = -1;
	group->sock_count = count;
	memcpy(group->sock, sock, count * sizeof(*sock));
	return group;
}

int rnd_group_guard(struct rnd_group *group)
{
	int rc = rnd_admission_filter(group->admission, group->sock[0]);

	return rc || group->sock_count < 2 ? rc : attach_program(group);
}

uint64_t rnd_group_refused(const struct rnd_group *group)
{
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t len = sizeof(info);

	if (getsockopt(group->sock[0], SOL_SOCKET, SO_MEMINFO, info, &len) < 0 ||
	    len < sizeof(info))
		return 0;
	return info[SK_MEMINFO_DROPS];
}

int rnd_group_reach(struct rnd_group *group, unsigned slot)
{
	int rc = 0;

	assert(slot < RND_SLOT_COUNT);
	if (slot < group->sock_count)
		return 0;
	while (rc == 0 && group->sock_count <= slot) {
		int fd = open_group_socket(group, JOIN);

		if (fd < 0) {
			rc = fd;
			break;
		}
		try_option(fd, IPPROTO_UDP, UDP_GRO, 1);
		group->sock[group->sock_count++] = fd;
		/* The BPF program must be attached before a third socket is in the group:
		 * without it, the kernel would choose sockets by a hash.
		 */
		if (group->sock_count == 2)
			rc = attach_program(group);
	}
	return rc ? rc : attach_program(group);
}

void rnd_group_drain(const struct rnd_group *group, unsigned slot)
{
	char byte;

	assert(slot < group->sock_count);
	enlarge_receive_buffer(group->sock[slot]);
	for (unsigned i = 0; i < DRAIN_PACKETS_MAX; i++)
		if (recv(group->sock[slot], &byte, sizeof(byte), MSG_DONTWAIT) < 0 &&
		    errno == EAGAIN)
			return;
}

void rnd_group_close(struct rnd_group *group)
{
	/* Sockets are closed from the last to the first: when a socket leaves the group,
	 * the kernel gives its index to the last one of the group.
	 */
	for (unsigned i = group->sock_count; i-- > 0;) {
		try_option(group->sock[i], SOL_SOCKET, SO_REUSEADDR, 1);
		close(group->sock[i]);
	}
	if (group->own_sock >= 0)
		close(group->own_sock);
	free(group);
}

/* ---- Packets of slot 0 ---- */

/* Control message buffer for type of service and hop limit. */
union control {
	char buf[2 * CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void put_cmsg(struct msghdr *msg, int level, int type, int value)
{
	struct cmsghdr *c =
		(struct cmsghdr *)((char *)msg->msg_control + msg->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(c), &value, sizeof(value));
	msg->msg_controllen += CMSG_SPACE(sizeof(value));
}

/* Returns true if the destination is an address of this host. Remembers what the kernel
 * has answered, because many packets go to the same destination.
 */
static bool is_own_address(struct rnd_group *group, const struct rn_flow *flow)
{
	struct rnd_place *p = &group->place[flow->dst.raw[15] % RND_PLACES];

	if (!p->is_known || p->ifindex != flow->ifindex ||
	    memcmp(&p->gid, &flow->dst, sizeof(p->gid)) != 0)
		*p = (struct rnd_place){
			.gid = flow->dst,
			.ifindex = flow->ifindex,
			.is_known = true,
			.is_own = rn_is_own_address(&flow->dst, flow->ifindex),
		};
	return p->is_own;
}

/* Returns the socket that sends packets to this host from rocind's own port (the source
 * port that shows receivers which user sends, admission.h). Returns -1 if the socket
 * cannot be opened.
 */
static int own_socket(struct rnd_group *group)
{
	if (group->own_sock < 0)
		group->own_sock = rn_own_port_open(&group->gid, group->scope,
						   group->admission->own_port);
	return group->own_sock;
}

/* Sends a packet to this host from rocind's own port (the source port that shows
 * receivers which user sends): receivers on this host refuse packets from other ports
 * (admission.h). Returns true, or false with errno.
 */
static bool send_to_own_host(struct rnd_group *group, const struct rn_flow *flow,
			     const uint8_t *pkt, size_t len, struct msghdr *msg)
{
	struct rn_flow own = *flow;
	uint8_t copy[RN_PEER_ASK_MAX];

	if (own_socket(group) < 0 || len > sizeof(copy))
		return false;
	own.sport = group->admission->own_port;
	memcpy(copy, pkt, len);
	rn_icrc_move(flow, &own, 0, copy, len - RN_ICRC_LEN);
	*msg->msg_iov = (struct iovec){ copy, len };
	return sendmsg(group->own_sock, msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

bool rnd_group_send(struct rnd_group *group, const struct rn_flow *flow,
		    const uint8_t *pkt, size_t len)
{
	union rn_sockaddr sa;
	union control control = { 0 };
	struct iovec iov = { (void *)pkt, len };
	struct msghdr msg = {
		.msg_name = &sa,
		.msg_namelen =
			rn_gid_sockaddr_on(&sa, &flow->dst, RN_ROCE_PORT, flow->ifindex),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
	};
	bool is_v4 = rn_flow_is_ipv4(flow);

	put_cmsg(&msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TOS : IPV6_TCLASS,
		 flow->tclass);
	if (flow->hop_limit)
		put_cmsg(&msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6,
			 is_v4 ? IP_TTL : IPV6_HOPLIMIT, flow->hop_limit);
	if (group->admission && group->admission->own_port && is_own_address(group, flow))
		return send_to_own_host(group, flow, pkt, len, &msg);
	return sendmsg(group->sock[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Returns the value of a control message. The value of IP_TOS is one byte, other values
 * are an int.
 */
static uint8_t small_value(const struct cmsghdr *c)
{
	int value = 0;

	if (c->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(c);
	if (c->cmsg_len >= CMSG_LEN(sizeof(value)))
		memcpy(&value, CMSG_DATA(c), sizeof(value));
	return (uint8_t)value;
}

static void read_control(struct msghdr *msg, struct rn_flow *flow)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS))
			flow->tclass = small_value(c);
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT))
			flow->hop_limit = small_value(c);
	}
}

ssize_t rnd_group_receive(const struct rnd_group *group, struct rn_flow *flow,
			  uint8_t *pkt, size_t room)
{
	union rn_sockaddr sa = { 0 };
	/* Room for control messages of three kinds: type of service, hop limit, and the
	 * number of packets that the socket has lost (SO_RXQ_OVFL).
	 */
	union {
		char buf[3 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { pkt, room };
	struct msghdr msg = { .msg_name = &sa,
			      .msg_namelen = sizeof(sa),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t len = recvmsg(group->sock[0], &msg, MSG_DONTWAIT | MSG_TRUNC);

	if (len < 0)
		return -1;
	*flow = (struct rn_flow){ .dst = group->gid, .ifindex = group->scope };
	rn_flow_set_source(flow, &sa.sa);
	if (sa.sa.sa_family == AF_INET6)
		flow->ifindex = sa.in6.sin6_scope_id;
	read_control(&msg, flow);
	return len;
}
