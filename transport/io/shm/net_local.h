/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_local.h - packets to processes of the same rocind through shared memory, all others
 * through the UDP sockets behind it.
 *
 * The packets are the same on both, byte for byte. With the first packet to a process,
 * this back end asks rocind for a wire (a pair of rings). Until rocind has made it, and
 * if it cannot, packets go by UDP. All traffic to and from one address of a process
 * changes over together: what is in the sockets is read before the first packet out of a
 * new ring, so no packet is overtaken.
 *
 * A ring grows when it is full again and again. A ring that has not been used
 * for RN_LOCAL_IDLE gives back all but its first page, and begins small when it
 * is used again.
 *
 * A full ring is reported as -EAGAIN, as a full socket is. If the peer has not read for
 * RN_LOCAL_PATIENCE, packets to it go by UDP until it does, and the kernel drops what is
 * too much: other peers must not wait for a process that is stopped.
 *
 * If both ends have agreed, packets that are built in a ring have no ICRC. From any other
 * peer, a packet without ICRC counts as one with a wrong ICRC.
 *
 * A peer that breaks the protocol of a ring loses the wire and gets none again: both go
 * on by UDP. Nothing that it writes can do more harm (ring.h, doorbell.h).
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_LOCAL_H
#define RN_NET_LOCAL_H

#include "transport/io/rocind/rocind_client.h"
#include "transport/io/udp/net_udp.h"

#define RN_LOCAL_PATIENCE RN_MSEC(50)
/* An idle ring is trimmed after this time at the earliest, after twice this time
 * at the latest.
 */
#define RN_LOCAL_IDLE RN_MSEC(1000)

struct rn_local;

struct rn_local_cfg {
	struct rn_udp *udp; /* must outlive this back end */
	uint32_t ifindex;
	unsigned slot;		  /* our own slot: packets to it need no wire */
	const struct rn_gid *gid; /* our own addresses, RN_GID_MAX of them */
	/* RN_STAT_COUNT counters, of which those of LOCAL_* are written. */
	uint64_t *stats;
	/* Ask for a wire, or tell that one is broken; as rn_rocind_ask_wire() and
	 * rn_rocind_drop_wire().
	 */
	int (*ask)(void *ctx, const struct rn_rocind_ends *ends, bool lost);
	int (*drop)(void *ctx, const struct rn_rocind_ends *ends);
	void *ctx;
};

/* Return: the back end, or NULL with errno ENOMEM. */
struct rn_local *rn_local_new(const struct rn_local_cfg *cfg);

/* Closes the rings, so that the peers notice, and unmaps all memory. NULL is ignored. */
void rn_local_free(struct rn_local *l);

struct rn_net *rn_local_net(struct rn_local *l);

/* Call @holds for each live peer that has not read all of its ring, with the number of
 * bytes that it has read: for rn_dev_peer_holds().
 */
typedef void rn_local_holds(void *ctx, const struct rn_rocind_ends *ends, uint64_t taken);
void rn_local_who_holds(struct rn_local *l, rn_local_holds *holds, void *ctx);

/* rocind has made a wire. The descriptors of @wire are owned from now on, also on
 * failure. Return: 0, or -errno: the wire cannot be used, and rocind has been told.
 */
int rn_local_up(struct rn_local *l, const struct rn_rocind_ends *ends,
		const struct rn_rocind_wire *wire);

/* The wire has ended, or there is none, for the reason @err (0: the peer has gone). What
 * the peer has sent before is still received.
 */
void rn_local_down(struct rn_local *l, const struct rn_rocind_ends *ends, int err);

/* A descriptor for epoll: readable when a peer has woken us. -1 before the first wire,
 * then always the same. The caller reads it until it is empty. Stays owned by @l.
 */
int rn_local_event_fd(const struct rn_local *l);

/* From now on peers wake us. Return: false if something waits already; then
 * nobody wakes us.
 */
bool rn_local_announce(struct rn_local *l);

/* Peers need not wake us any more. */
void rn_local_awake(struct rn_local *l);

/* The next calls of receive() read the sockets until they are empty, even while
 * rings are busy.
 */
void rn_local_look_everywhere(struct rn_local *l);

/* @hurry: a packet that finds its ring full goes by UDP instead of waiting, because its
 * QP or the program is about to end. It may overtake packets in the ring.
 */
void rn_local_hurry(struct rn_local *l, bool hurry);

/* @on: packets that came without an ICRC get one before they are delivered, because
 * something inspects them.
 */
void rn_local_seal(struct rn_local *l, bool on);

/* Have the rings been found empty only a few times since the last packet? Then the next
 * packet is probably near, and yielding the processor would take longer.
 */
bool rn_local_is_lively(const struct rn_local *l);

/* Time at which rn_local_trim() is next worth calling; RN_NEVER if no ring has
 * memory to give back.
 */
rn_ns rn_local_trim_due(const struct rn_local *l);

/* Give back the memory of rings that have not been used since the last call, which should
 * be RN_LOCAL_IDLE ago.
 */
void rn_local_trim(struct rn_local *l);

/* Number of wires. */
unsigned rn_local_wires(const struct rn_local *l);

#endif /* RN_NET_LOCAL_H */
