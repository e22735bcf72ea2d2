/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_local.h - packets to processes of the same rocind through shared memory, all others
 * through the UDP sockets behind it.
 *
 * The packets are the same on both wires, byte for byte. The first packet to a process
 * makes this back end ask for a wire; until rocind has laid it, and where there is none,
 * packets go by UDP. Everything to and from one address of a process changes over
 * together: what is in the sockets is read before the first packet out of a new ring, so
 * nothing is overtaken.
 *
 * A ring takes more memory when it is full again and again. What has not been used for
 * RN_LOCAL_REST gives back all but its first page, and begins small when it is used
 * again.
 *
 * A ring that is full is -EAGAIN, as a full socket is. Where the peer has not read for
 * RN_LOCAL_PATIENCE, packets to it go by UDP until it does, where the kernel drops what
 * is too much: the others must not wait for a process that is stopped.
 *
 * Where both ends say so, packets that are built in a ring have no ICRC. One without from
 * anybody else has a wrong one.
 *
 * A peer that breaks the rules of a ring loses the wire, and gets none again: both go on
 * by UDP. Nothing it writes can do more (ring.h, doorbell.h).
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_LOCAL_H
#define RN_NET_LOCAL_H

#include "transport/io/rocind/rocind_client.h"
#include "transport/io/udp/net_udp.h"

#define RN_LOCAL_PATIENCE RN_MSEC(50)
#define RN_LOCAL_REST RN_MSEC(1000) /* at least, and at most twice as long */

struct rn_local;

struct rn_local_cfg {
	struct rn_udp *udp; /* outlives it */
	uint32_t ifindex;
	unsigned slot;		  /* own: packets to it need no wire */
	const struct rn_gid *gid; /* own addresses, RN_GID_MAX of them */
	uint64_t *stats; /* RN_STAT_COUNT counters: those of LOCAL_* are written */
	/* Ask for a wire, and say that one is broken; as rn_rocind_ask_wire() and
	 * rn_rocind_drop_wire().
	 */
	int (*ask)(void *ctx, const struct rn_rocind_ends *ends, bool lost);
	int (*drop)(void *ctx, const struct rn_rocind_ends *ends);
	void *ctx;
};

/* Return: the back end, or NULL with errno ENOMEM. */
struct rn_local *rn_local_new(const struct rn_local_cfg *cfg);

/* Takes leave of the peers and unmaps all memory. NULL is ignored. */
void rn_local_free(struct rn_local *l);

struct rn_net *rn_local_net(struct rn_local *l);

/* Say of each peer that lives and has not read all that lies in its ring how much it has
 * read: for rn_dev_peer_holds().
 */
typedef void rn_local_holds(void *ctx, const struct rn_rocind_ends *ends, uint64_t taken);
void rn_local_who_holds(struct rn_local *l, rn_local_holds *holds, void *ctx);

/* There is a wire. The descriptors of @wire are owned from now on, also on failure.
 * Return: 0, or -errno: it cannot be used, which rocind has been told.
 */
int rn_local_up(struct rn_local *l, const struct rn_rocind_ends *ends,
		const struct rn_rocind_wire *wire);

/* There is none, for this reason (0: the peer has gone). What the peer has sent by then
 * is still received.
 */
void rn_local_down(struct rn_local *l, const struct rn_rocind_ends *ends, int err);

/* For epoll: readable when a peer woke us; -1 before the first wire, then always the
 * same. To be read empty. Stays owned by @l.
 */
int rn_local_event_fd(const struct rn_local *l);

/* From now on peers wake us. Return: false, and nobody will, if something waits already.
 */
bool rn_local_announce(struct rn_local *l);

/* Nobody need wake us. */
void rn_local_awake(struct rn_local *l);

/* The sockets are read until they are dry, though rings are what is busy. */
void rn_local_look_everywhere(struct rn_local *l);

/* Whether what finds a ring full goes by UDP, rather than wait: last words of a QP or of
 * the program are not said later. They may overtake what is in the ring.
 */
void rn_local_hurry(struct rn_local *l, bool hurry);

/* From now on packets that came without an ICRC have one when they are given: somebody
 * looks at them.
 */
void rn_local_seal(struct rn_local *l, bool on);

/* Rings have been looked at in vain only a few times since the last packet, so the next
 * is a moment away: giving up the processor would take longer.
 */
bool rn_local_is_lively(const struct rn_local *l);

/* When rn_local_rest() is next worth calling; RN_NEVER if no ring has memory to give
 * back.
 */
rn_ns rn_local_rest_due(const struct rn_local *l);

/* Give back the memory of rings that have not been used since the last call, which should
 * be RN_LOCAL_REST ago.
 */
void rn_local_rest(struct rn_local *l);

/* Wires that are up. */
unsigned rn_local_wires(const struct rn_local *l);

#endif /* RN_NET_LOCAL_H */
