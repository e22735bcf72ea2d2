/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* admission.h - decides which of the packets that were sent on this host are accepted.
 *
 * The source address says nothing about a sender on the same host: any user may send from
 * any address of the host, even by a socket that is bound to another one (IP_PKTINFO).
 * But a packet has the source port of the socket, and if a port is bound to the
 * unspecified address, no other user can bind it at any address. So each rocind binds a
 * port to the unspecified address, its "own port". All processes of its user send to this
 * host from that port and no other. A packet that came through the loopback interface, as
 * all packets from this host do, is accepted only if its source port belongs to an
 * admitted user. A socket filter and the steering program of a group refuse the other
 * packets, so that they wake no process.
 *
 * ROCIN_NEIGHBOURS says who is admitted: nobody; user, the user of this rocind (default);
 * group:NAME, also the members of that group; all. A process with CAP_NET_RAW or
 * CAP_NET_ADMIN in the network namespace can forge every packet, as on any network.
 */
#ifndef RND_ADMISSION_H
#define RND_ADMISSION_H

#include <linux/filter.h>
#include <sys/types.h>

#include "rocin/types.h"

enum {
	RND_PORTS_MAX = 64, /* maximum number of source ports that are admitted */
	RND_USERS_MAX = 64, /* maximum number of other users that are admitted */
	/* maximum number of instructions that test the source port */
	RND_ADMISSION_LEN = 6 + RND_PORTS_MAX,
	RND_ADMISSION_FILTER_LEN = RND_ADMISSION_LEN + 2,
};

struct rnd_admission {
	bool is_for_all; /* packets of all users are accepted */
	/* 1: questions of other hosts about this rocind are not answered
	 * (rocin/peer_info.h). The type is not bool, because a record from an older
	 * rocind has a byte of padding here.
	 */
	uint8_t is_silent;
	uint32_t loopback; /* interface index of the loopback interface */
	/* socket that keeps rocind's own port bound; -1: there is none */
	int hold;
	/* rocind's own port; 0: packets of all users are accepted, so none is needed */
	uint16_t own_port;
	/* source ports whose packets are accepted */
	uint16_t port[RND_PORTS_MAX];
	unsigned port_count;
	/* the other users that are admitted */
	uid_t user[RND_USERS_MAX];
	unsigned user_count;
};

/* Reads ROCIN_NEIGHBOURS and ROCIN_PEER_INFO, and takes the own port. Returns 0. On
 * failure, @err has an error text, and the result is -EINVAL (a setting is wrong, or
 * names a group that does not exist), -EADDRINUSE (other users have all ports that could
 * be taken), or an error of a socket call.
 */
int rnd_admission_open(struct rnd_admission *a, char *err, size_t err_len);
void rnd_admission_close(struct rnd_admission *a);

/* Finds the ports that other admitted users have bound now. Returns true if they have
 * changed since the last call. Then the caller must replace the socket filters and
 * steering programs, which contain the ports.
 */
bool rnd_admission_refresh(struct rnd_admission *a);

enum rnd_packet_view {
	RND_VIEW_PAYLOAD_IPV4, /* an IPv4 packet as a steering program gets it */
	RND_VIEW_PAYLOAD_IPV6,
	/* A packet as the filter of a socket sees it: from the UDP header on. */
	RND_VIEW_UDP,
};

/* Writes instructions that return @refusal if the packet is from a sender who is not
 * admitted. For other packets the BPF program goes on with the instructions after these.
 * Returns the number of instructions.
 */
unsigned rnd_admission_write(const struct rnd_admission *a, enum rnd_packet_view view,
			     uint32_t refusal,
			     struct sock_filter prog[RND_ADMISSION_LEN]);

/* Sets the filter by which the socket @fd drops refused packets. Return: 0 or -errno. */
int rnd_admission_filter(const struct rnd_admission *a, int fd);

#endif /* RND_ADMISSION_H */
