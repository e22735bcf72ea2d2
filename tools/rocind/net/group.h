/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* group.h - one device address: its SO_REUSEPORT group on port 4791.
 *
 * sock[i] is the socket with index i in the kernel's group, which is what the steering
 * program returns; so sockets are only ever added at the end, and each stays open here
 * as long as the group, whether or not a process holds a copy.
 *
 * A group that nobody uses is closed after a while. Copies of its sockets may be left (in
 * a fork child of the process that had one): they have SO_REUSEADDR from then on, by
 * which the next group of that address is let in beside them, and it gets the packets, as
 * the kernel asks the socket first that was bound last.
 *
 * sock[0] is ours. It is bound without SO_REUSEPORT and given the option afterwards: that
 * makes the ownership of the port exclusive, where a second daemon of this user with
 * the option set would join the group in silence and take packets.
 */
#ifndef RND_GROUP_H
#define RND_GROUP_H

#include <netinet/in.h>

#include "rocin/gid.h"
#include "transport/io/rocind/ctl.h"

struct rn_flow;

enum {
	RND_SLOT_COUNT = RN_CTL_SLOT_MAX + 1
};

struct rnd_groups; /* attach.h */

struct rnd_group {
	struct rnd_group *next;
	struct rn_gid gid;
	uint32_t scope; /* interface index of a link-local address, else 0 */
	unsigned sock_count;
	int sock[RND_SLOT_COUNT];
	bool taken[RND_SLOT_COUNT]; /* a process has this slot */
	/* Slots that are taken, and whoever is about to take one or reads packets: it is
	 * not closed meanwhile.
	 */
	unsigned users;
	rn_ns idle_from; /* when the last of them left */
	struct rnd_groups *groups;
};

/* An address of ours as text and as the kernel wants it. */
union rnd_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

socklen_t rnd_sockaddr(union rnd_sockaddr *sa, const struct rn_gid *gid, uint32_t scope);
void rnd_gid_text(const struct rn_gid *gid, char text[INET6_ADDRSTRLEN]);

/**
 * rnd_group_open() - Take port 4791 of an address
 * @deadline:	How long to wait where what holds the port looks like leftovers of a
 *		rocind that died, whose clients have yet to close their sockets
 * @err:	Out on failure: one sentence, with the holder of the port if it is found
 *
 * Return: 0 with *@out to be closed by rnd_group_close(), -EADDRINUSE, -EADDRNOTAVAIL,
 *	   -ENOMEM, or what a socket call failed with.
 */
int rnd_group_open(struct rnd_group **out, const struct rn_gid *gid, uint32_t scope,
		   rn_ns deadline, char *err, size_t err_len);

/* Make sockets until slot @slot has one, and steer to them.
 * Return: 0, or what a socket call failed with; the group is usable either way.
 */
int rnd_group_reach(struct rnd_group *group, unsigned slot);

/**
 * rnd_group_send() - Send a packet from slot 0
 * @flow:	@src is the group's address
 * @pkt:	First byte of the BTH
 *
 * Never waits. Return: true, or false with errno.
 */
bool rnd_group_send(const struct rnd_group *group, const struct rn_flow *flow,
		    const uint8_t *pkt, size_t len);

/**
 * rnd_group_receive() - Take a packet from slot 0
 * @flow:	Out
 *
 * Never waits. Return: its length, which may be more than @room bytes; or -1 with errno.
 */
ssize_t rnd_group_receive(const struct rnd_group *group, struct rn_flow *flow,
			  uint8_t *pkt, size_t room);

/* Throw away what waits in the socket of a slot, and make its receive buffer as large as
 * a new one has it: its last owner may have changed that.
 */
void rnd_group_drain(const struct rnd_group *group, unsigned slot);

void rnd_group_close(struct rnd_group *group);

#endif /* RND_GROUP_H */
