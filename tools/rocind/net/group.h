/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* group.h - the group of a device address, that is its SO_REUSEPORT sockets on port 4791,
 * and the rule by which the kernel chooses one of them for a packet.
 *
 * sock[i] is the socket with index i in the kernel's group. The steering program, a BPF
 * program that chooses the socket, returns this index. So sockets are only added at the
 * end, and rocind keeps each of them open as long as the group exists, even if no process
 * has a copy of it.
 *
 * A group without users is closed after a while. Copies of its sockets may stay open, for
 * instance in a fork child of a process that had one, or for a moment in rocind's keeper
 * (the process that starts a successor if rocind dies). When the group is closed its
 * sockets get SO_REUSEADDR, so that the next group of the address can bind beside the
 * remaining copies. The new group gets the packets, because the kernel prefers the socket
 * that was bound last.
 *
 * sock[0] is rocind's own. It is bound without SO_REUSEPORT and gets the option
 * afterwards, so that the bind fails if another rocind has the port. If sock[0] had the
 * option before, a second rocind of the same user would join the group unnoticed and take
 * packets.
 */
#ifndef RND_GROUP_H
#define RND_GROUP_H

#include <linux/filter.h>
#include <string.h>
#include <sys/types.h>

#include "admission.h"
#include "rocin/gid.h"
#include "transport/io/rocind/ctl.h"
#include "transport/io/rocind/rocind_client.h"

struct rn_flow;

enum {
	RND_SLOT_COUNT = RN_CTL_SLOT_MAX + 1,
	/* number of destinations for which a group remembers whether they are on this
	 * host
	 */
	RND_PLACES = 16,
};

/* A destination of packets, and whether it is an address of this host. */
struct rnd_place {
	struct rn_gid gid;
	uint32_t ifindex;
	bool is_known, is_own;
};

struct rnd_groups; /* The groups of all addresses, see attach.h. */

struct rnd_group {
	struct rnd_group *next;
	struct rn_gid gid;
	uint32_t scope; /* interface index of a link-local address, else 0 */
	unsigned sock_count;
	int sock[RND_SLOT_COUNT];
	bool taken[RND_SLOT_COUNT]; /* slots that processes have */
	/* Number of users: processes that have a slot, and functions that are about to
	 * give a slot or that read packets. A group with users is not closed.
	 */
	unsigned users;
	rn_ns idle_from; /* time at which the last user left */
	struct rnd_groups *groups;
	/* number that no other group has; the keeper knows the group by it
	 * (server/handover.c)
	 */
	uint64_t number;
	/* number of sockets of this group of which the keeper has copies */
	unsigned kept;
	/* decides whose packets are received; NULL: those of all senders are */
	const struct rnd_admission *admission;
	/* Socket that sends packets to this host from rocind's own port (admission.h).
	 * -1: it is not open yet.
	 */
	int own_sock;
	/* What the kernel has answered about destinations. Valid until this host gets or
	 * loses an address.
	 */
	struct rnd_place place[RND_PLACES];
};

/**
 * rnd_group_open() - Bind to port 4791 of an address
 * @deadline:	If the sockets on the port seem to belong to clients of a rocind that has
 *	died, the bind is tried until this time, because these clients will close them
 * @err:	Out on failure: error text, which names the process that has the port if
 *	it is found
 *
 * Return: 0, with *@out, which the caller must close by rnd_group_close();
 *	-EADDRINUSE, -EADDRNOTAVAIL, -ENOMEM, or an error of a socket call.
 */
int rnd_group_open(struct rnd_group **out, const struct rn_gid *gid, uint32_t scope,
		   rn_ns deadline, char *err, size_t err_len);

/* Makes a group of sockets that a rocind which has died had bound. @sock: the sockets,
 * which belong to the group from now on; index 0 is rocind's own, the others are those of
 * processes. The caller must then call rnd_group_guard(). Returns NULL if there is no
 * memory.
 */
struct rnd_group *rnd_group_restore(const struct rn_gid *gid, uint32_t scope,
				    const int *sock, unsigned count);

/* Makes the group accept only packets that rnd_group.admission accepts. Must be called
 * again when the set of admitted ports has changed. Returns 0, or -errno of a socket
 * call.
 */
int rnd_group_guard(struct rnd_group *group);

/* Returns the number of packets to slot 0 that were lost: those that were refused
 * (admission.h), and those for which the receive buffer had no room.
 */
uint64_t rnd_group_refused(const struct rnd_group *group);

/* Adds sockets to the group until slot @slot has one, and replaces the steering program.
 * Returns 0, or -errno of a socket call; the group can still be used then.
 */
int rnd_group_reach(struct rnd_group *group, unsigned slot);

/**
 * rnd_group_send() - Send a packet from slot 0
 * @flow:	Addresses of the packet; @src is the address of the group
 * @pkt:	First byte of the BTH
 *
 * Does not block. Returns true, or false with errno.
 */
bool rnd_group_send(struct rnd_group *group, const struct rn_flow *flow,
		    const uint8_t *pkt, size_t len);

/**
 * rnd_group_receive() - Receive a packet that was sent to slot 0
 * @flow:	Out: addresses of the packet
 *
 * Does not block. Returns the length of the packet, which may be more than @room; or -1
 * with errno.
 */
ssize_t rnd_group_receive(const struct rnd_group *group, struct rn_flow *flow,
			  uint8_t *pkt, size_t room);

/* Drops all packets in the socket of a slot. Also sets the size of its receive buffer to
 * that of a new socket, because the last process that had the slot may have changed it.
 */
void rnd_group_drain(const struct rnd_group *group, unsigned slot);

/* Forgets which destinations are addresses of this host. Called when the host has got or
 * lost an address.
 */
static inline void rnd_group_forget_places(struct rnd_group *group)
{
	memset(group->place, 0, sizeof(group->place));
}

void rnd_group_close(struct rnd_group *group);

/* ---- Steering packets to processes ---- */

/* The rule that decides which process gets a packet. A BPF program applies the rule, and
 * a function says why it has sent a packet to slot 0.
 *
 * QPN = counter << 8 | slot. Slot 0 is rocind: it gets datagrams that are not RoCEv2
 * packets, packets for the special QPs, and packets for a slot that has no socket.
 */

enum {
	/* number of instructions of the steering program, without those that test the
	 * source port (admission.h)
	 */
	RND_STEER_PROGRAM_LEN = 10,
};

/* Writes the BPF program for an SO_REUSEPORT group of @slot_count sockets (1..256). The
 * kernel runs it on the UDP payload of a packet, and delivers the packet to the socket
 * whose index the program returns.
 */
void rnd_steer_program(struct sock_filter prog[RND_STEER_PROGRAM_LEN],
		       unsigned slot_count);

/* Returns the reason why a packet came to slot 0, rocind's own socket. @len is the length
 * of the whole packet. Only its first RN_BTH_LEN bytes are read, or fewer if it is
 * shorter.
 */
enum rn_rocind_drop rnd_steer_reason(const uint8_t *payload, size_t len);

/* ---- Who has bound the port, if it cannot be bound; for an error message ---- */

/* Writes "UDP port 4791 of ADDRESS is held by WHO; stop it or ..." to @err. WHO comes
 * from /proc, as far as that can be read. Always returns -EADDRINUSE.
 */
int rnd_port_owner_explain(const struct rn_gid *gid, char *err, size_t err_len);

#endif /* RND_GROUP_H */
