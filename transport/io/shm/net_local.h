/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_local.h - sends packets to processes of the same rocind through shared memory, and
 * all others through the UDP sockets.
 *
 * A packet consists of the same bytes in both cases. At the first packet to a process,
 * this back end requests a local wire from rocind: two rings in shared memory, one for
 * each direction. Packets go by UDP until rocind has made it, and always if rocind
 * cannot. All traffic between an address of this process and the peer then goes through
 * the rings. Packets are not reordered by the change, because the receiver empties its
 * sockets before it reads the first packet from a new ring.
 *
 * A ring grows if it is full again and again. A ring that has not been used for
 * RN_LOCAL_IDLE gives back the memory of its data, and begins small when it is
 * used again.
 *
 * If a ring is full, transmit() returns -EAGAIN, as for a full socket. If the peer has
 * not read for RN_LOCAL_PATIENCE, packets to it go by UDP until it reads again, and the
 * kernel drops those that its socket cannot hold: other peers must not wait for a process
 * that is stopped.
 *
 * If both ends have agreed, packets that are built for a ring have no ICRC. From any
 * other peer, a packet without ICRC counts as one with a wrong ICRC.
 *
 * If a peer breaks the protocol of a ring, the local wire is removed and not made again;
 * both sides continue by UDP. Nothing that the peer writes to the memory can do more harm
 * (ring.h).
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_LOCAL_H
#define RN_NET_LOCAL_H

#include "transport/io/rocind/rocind_client.h"
#include "transport/io/udp/net_udp.h"

#define RN_LOCAL_PATIENCE RN_MSEC(50)
/* A ring that is not used any more gives back its memory after this time at the
 * earliest, and after twice this time at the latest.
 */
#define RN_LOCAL_IDLE RN_MSEC(1000)

struct rn_local;
struct rn_ring_watch;

struct rn_local_cfg {
	/* the UDP back end, for other packets; must outlive this back end */
	struct rn_udp *udp;
	uint32_t ifindex;
	unsigned slot;		  /* slot of this process: the low byte of its QPNs */
	const struct rn_gid *gid; /* addresses of this device, RN_GID_MAX of them */
	/* RN_STAT_COUNT counters; those with LOCAL_ in their name are written */
	uint64_t *stats;
	/* Requests a local wire (a link by shared memory), or reports that one is
	 * broken; rn_rocind_ask_wire() and rn_rocind_drop_wire() describe the arguments.
	 */
	int (*ask)(void *ctx, const struct rn_rocind_ends *ends, bool lost);
	int (*drop)(void *ctx, const struct rn_rocind_ends *ends);
	void *ctx;
};

/* Return: the back end, or NULL with errno ENOMEM. */
struct rn_local *rn_local_new(const struct rn_local_cfg *cfg);

/* Close the rings, which the peers will notice, and unmap all memory. NULL is ignored. */
void rn_local_free(struct rn_local *l);

struct rn_net *rn_local_net(struct rn_local *l);

/* Return: true if the next packets to a destination can be built in a ring without any
 * preparation, so that reserve(), commit() and publish() are no cancellation points.
 */
bool rn_local_is_ready(struct rn_local *l, const struct rn_flow *flow,
		       uint32_t dest_slot);

/* Call @holds for each live peer that has not read all packets in the ring to it yet,
 * with arguments for rn_dev_peer_holds(). @taken: number of bytes that the peer has read
 * from the ring since it was made.
 */
typedef void rn_local_holds(void *ctx, const struct rn_rocind_ends *ends, uint64_t taken);
void rn_local_who_holds(struct rn_local *l, rn_local_holds *holds, void *ctx);

/* Set up a local wire (two rings in shared memory) that rocind has made. @l owns the
 * descriptors of @wire from now on, also on failure. Return: 0; -errno if the wire
 * cannot be used, which this function then has reported to rocind.
 */
int rn_local_up(struct rn_local *l, const struct rn_rocind_ends *ends,
		const struct rn_rocind_wire *wire);

/* Process RN_ROCIND_WIRE_DOWN: the local wire has ended, or rocind has refused to make
 * one. @err: the reason, as in that event. If @err is 0, the peer has gone, and packets
 * that it has sent are still received. Otherwise a wire that exists is removed at once,
 * with all packets in it that were not read.
 */
void rn_local_down(struct rn_local *l, const struct rn_rocind_ends *ends, int err);

/* Return: a descriptor for epoll, which @l owns; -1 before the first local wire. It
 * never changes afterwards. It becomes readable when a peer wakes this process, and
 * stays so until the caller has read it.
 */
int rn_local_event_fd(const struct rn_local *l);

/* Prepare to sleep: from now on peers wake this process when they have put a packet into
 * a ring. Return: true; false if a ring has packets already, and then peers do not wake
 * this process.
 */
bool rn_local_announce(struct rn_local *l);

/* End what rn_local_announce() has begun: this process is awake, so peers need not wake
 * it.
 */
void rn_local_awake(struct rn_local *l);

/* Make the next calls of receive() read the sockets until they are empty, even while
 * rings have packets.
 */
void rn_local_look_everywhere(struct rn_local *l);

/* Sets how a full ring is handled. @hurry: a packet that finds its ring full is sent by
 * UDP instead of waiting, because its QP or the program is about to end. The packet may
 * overtake packets in the ring.
 */
void rn_local_hurry(struct rn_local *l, bool hurry);

/* Sets whether packets that came without an ICRC get one before they are delivered. They
 * must if a capture or a fault rule looks at packets.
 */
void rn_local_seal(struct rn_local *l, bool on);

/* Return: true if the rings have been polled only a few times since the last packet.
 * Then the next packet probably comes so soon that yielding the processor would take
 * longer.
 */
bool rn_local_is_lively(const struct rn_local *l);

/* Stores the tails of all rings in @watch. The caller may then call rn_ring_is_still()
 * instead of receive(), until it passes @l to another function. Return: true; false if
 * packets may wait in a ring, if there are too many rings to look at each of them, or if
 * there is no ring.
 */
bool rn_local_watch(const struct rn_local *l, struct rn_ring_watch *watch);

/* Notes that the caller has called rn_ring_is_still() @times times instead of receive().
 */
void rn_local_polled_shortly(struct rn_local *l, uint32_t times);

/* Return: the time at which the caller should call rn_local_trim() next; RN_NEVER if no
 * ring has memory to give back.
 */
rn_ns rn_local_trim_due(const struct rn_local *l);

/* Give back the memory of rings that have not been used since the last call. Called
 * every RN_LOCAL_IDLE.
 */
void rn_local_trim(struct rn_local *l);

/* Return: the number of local wires (links by shared memory). */
unsigned rn_local_wires(const struct rn_local *l);

#endif /* RN_NET_LOCAL_H */
