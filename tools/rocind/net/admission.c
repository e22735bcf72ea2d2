/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* admission.c - decides which packets from this host are accepted: takes rocind's own
 * port, finds the ports of admitted users, and writes the socket filters; see
 * admission.h.
 */
#include "admission.h"

#include <errno.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rocin/random.h"
#include "transport/io/host/log.h"
#include "udp_table.h"

enum {
	/* rocind's own port, the source port of packets to this host, is chosen from this
	 * range. By default the kernel assigns no ports in it.
	 */
	PORT_FIRST = 0xf000,
	PORT_COUNT = 0x1000,
};

/* ---- Parsing ROCIN_NEIGHBOURS ---- */

static void admit_user(struct rnd_admission *a, uid_t user)
{
	if (user == geteuid() || a->user_count == RND_USERS_MAX)
		return;
	for (unsigned i = 0; i < a->user_count; i++)
		if (a->user[i] == user)
			return;
	a->user[a->user_count++] = user;
}

/* Admits the members of the user group @name: the users that the group lists, and those
 * who have it as primary group. Returns 0, or -errno with an error text in @err.
 */
static int admit_group(struct rnd_admission *a, const char *name, char *err,
		       size_t err_len)
{
	const struct group *group = getgrnam(name);
	const struct passwd *user;
	gid_t gid;

	if (!group)
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_NEIGHBOURS names the group \"%s\", which does not "
			       "exist",
			       name);
	gid = group->gr_gid;
	for (char **member = group->gr_mem; *member; member++) {
		user = getpwnam(*member);
		if (user)
			admit_user(a, user->pw_uid);
	}
	setpwent();
	while ((user = getpwent()))
		if (user->pw_gid == gid)
			admit_user(a, user->pw_uid);
	endpwent();
	return 0;
}

/* ---- The own port ---- */

/* Binds the UDP port at all addresses. Only sockets of the same user can then bind it,
 * too (SO_REUSEPORT). Returns the socket, which receives nothing, or -errno.
 */
static int bind_everywhere(int family, uint16_t port)
{
	static const int on = 1, off = 0;
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog prog = { .len = 1, .filter = &nothing };
	const struct sockaddr_in6 six = { .sin6_family = AF_INET6,
					  .sin6_port = htons(port) };
	const struct sockaddr_in four = { .sin_family = AF_INET,
					  .sin_port = htons(port) };
	const bool is_six = family == AF_INET6;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	if ((is_six &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0 ||
	    bind(fd,
		 is_six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four,
		 is_six ? sizeof(six) : sizeof(four)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* Takes rocind's own port: the first port of the range that is free, or that this user
 * already has. The user id determines with which port the search begins. So several
 * rocinds of one user, and the successor of one that has died, use the same port. Returns
 * 0, or -errno with an error text in @err.
 */
static int take_own_port(struct rnd_admission *a, char *err, size_t err_len)
{
	const uint64_t start = rn_random_mix(geteuid());
	int rc = -EADDRINUSE;

	for (unsigned i = 0; i < PORT_COUNT && rc == -EADDRINUSE; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % PORT_COUNT);

		rc = bind_everywhere(AF_INET6, port);
		if (rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL)
			rc = bind_everywhere(AF_INET, port);
		a->own_port = port;
	}
	if (rc < 0) {
		a->own_port = 0;
		return rn_fail(err, err_len, rc,
			       "no UDP port can be held for this user alone: %s",
			       strerror(-rc));
	}
	a->hold = rc;
	return 0;
}

/* Reads ROCIN_PEER_INFO. Returns 0, or -EINVAL with an error text in @err. */
static int read_silence(struct rnd_admission *a, char *err, size_t err_len)
{
	const char *value = secure_getenv("ROCIN_PEER_INFO");

	a->is_silent = value && strcmp(value, "off") == 0;
	if (!value || !*value || a->is_silent || strcmp(value, "on") == 0)
		return 0;
	return rn_fail(err, err_len, -EINVAL,
		       "ROCIN_PEER_INFO is \"%.40s\"; on or off is expected", value);
}

int rnd_admission_open(struct rnd_admission *a, char *err, size_t err_len)
{
	const char *who = secure_getenv("ROCIN_NEIGHBOURS");
	int rc;

	*a = (struct rnd_admission){ .hold = -1, .loopback = if_nametoindex("lo") };
	rc = read_silence(a, err, err_len);
	if (rc)
		return rc;
	if (!who || !*who)
		who = "user";
	if (strcmp(who, "all") == 0) {
		a->is_for_all = true;
		return 0;
	}
	if (strncmp(who, "group:", 6) == 0) {
		rc = admit_group(a, who + 6, err, err_len);
		if (rc)
			return rc;
	} else if (strcmp(who, "user") != 0 && strcmp(who, "nobody") != 0) {
		return rn_fail(err, err_len, -EINVAL,
			       "ROCIN_NEIGHBOURS is \"%.40s\"; nobody, user, group:NAME "
			       "or all is expected",
			       who);
	}
	rc = take_own_port(a, err, err_len);
	if (rc || strcmp(who, "nobody") == 0)
		return rc;
	a->port[a->port_count++] = a->own_port;
	rnd_admission_refresh(a);
	return 0;
}

void rnd_admission_close(struct rnd_admission *a)
{
	if (a->hold >= 0)
		close(a->hold);
	*a = (struct rnd_admission){ .hold = -1, .is_for_all = true };
}

/* ---- The ports of other users ---- */

static bool is_admitted(const struct rnd_admission *a, uid_t user)
{
	for (unsigned i = 0; i < a->user_count; i++)
		if (a->user[i] == user)
			return true;
	return false;
}

/* Owners of the UDP ports of this network namespace, as bit masks. @held: ports that an
 * admitted user has bound at all addresses. @foreign: ports on which a user who is not
 * admitted has a socket.
 */
struct owners {
	uint8_t held[65536 / 8], foreign[65536 / 8];
};

static void read_owners(const struct rnd_admission *a, const char *table,
			struct owners *owners)
{
	FILE *f = fopen(table, "re");
	struct rnd_udp_socket s;

	while (rnd_udp_table_next(f, &s)) {
		if (s.port > UINT16_MAX)
			continue;
		if (!is_admitted(a, s.uid))
			owners->foreign[s.port / 8] |= (uint8_t)(1u << s.port % 8);
		else if (strspn(s.address, "0") == strlen(s.address))
			owners->held[s.port / 8] |= (uint8_t)(1u << s.port % 8);
	}
	if (f)
		fclose(f);
}

bool rnd_admission_refresh(struct rnd_admission *a)
{
	const struct rnd_admission before = *a;
	struct owners *owners;

	if (a->user_count == 0)
		return false;
	owners = calloc(1, sizeof(*owners));
	if (!owners)
		return false;
	read_owners(a, "/proc/net/udp", owners);
	read_owners(a, "/proc/net/udp6", owners);
	a->port_count = 1; /* port[0] is rocind's own port, which does not change */
	for (unsigned port = 1; port <= UINT16_MAX && a->port_count < RND_PORTS_MAX;
	     port++)
		if (owners->held[port / 8] & ~owners->foreign[port / 8] & 1u << port % 8)
			a->port[a->port_count++] = (uint16_t)port;
	free(owners);
	return memcmp(before.port, a->port, sizeof(a->port)) != 0 ||
	       before.port_count != a->port_count;
}

/* ---- Filters and steering programs ---- */

/* Writes instructions that load the source port of a packet into register A. A socket
 * filter gets the packet from the UDP header on. A steering program gets only the
 * payload, and reads the headers relative to the IP header (SKF_NET_OFF). Returns the
 * number of instructions.
 */
static unsigned write_load(enum rnd_packet_view view, uint32_t refusal,
			   struct sock_filter *prog)
{
	const uint32_t ip = (uint32_t)SKF_NET_OFF;
	unsigned n = 0;

	switch (view) {
	case RND_VIEW_PAYLOAD_IPV4:
		prog[n++] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ip);
		prog[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_IND, ip);
		break;
	/* Extension headers are not skipped, because RoCEv2 packets have none. */
	case RND_VIEW_PAYLOAD_IPV6:
		prog[n++] =
			(struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ip + 6);
		prog[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 IPPROTO_UDP, 1, 0);
		prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusal);
		prog[n++] =
			(struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ip + 40);
		break;
	case RND_VIEW_UDP:
		prog[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0);
		break;
	}
	return n;
}

unsigned rnd_admission_write(const struct rnd_admission *a, enum rnd_packet_view view,
			     uint32_t refusal, struct sock_filter prog[RND_ADMISSION_LEN])
{
	struct sock_filter load[4];
	unsigned loads = write_load(view, refusal, load), n = 0;

	if (a->is_for_all)
		return 0;
	prog[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 (uint32_t)(SKF_AD_OFF + SKF_AD_IFINDEX));
	prog[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, a->loopback,
						 0, (uint8_t)(loads + a->port_count + 1));
	memcpy(prog + n, load, loads * sizeof(load[0]));
	n += loads;
	for (unsigned i = 0; i < a->port_count; i++)
		prog[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 a->port[i],
							 (uint8_t)(a->port_count - i), 0);
	prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refusal);
	assert(n <= RND_ADMISSION_LEN);
	return n;
}

int rnd_admission_filter(const struct rnd_admission *a, int fd)
{
	struct sock_filter text[RND_ADMISSION_FILTER_LEN];
	unsigned n = rnd_admission_write(a, RND_VIEW_UDP, 0, text);
	struct sock_fprog prog = { .filter = text };

	if (n == 0)
		return 0;
	text[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	prog.len = (unsigned short)n;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) < 0
		       ? -errno
		       : 0;
}
