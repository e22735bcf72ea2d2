/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine.h - drives one device of the sans-IO core inside one process.
 *
 * There is one engine per process and device, shared by all contexts that the program
 * opens on the device. The program's own threads make progress inside verbs calls, and a
 * background thread does, which sleeps otherwise; policy.h decides whose turn it is.
 *
 * Lock order: see provider.h. Under the engine lock no lock of the verbs objects is taken
 * but that of the writing side of an event queue. A verbs call that takes the engine lock
 * is no cancellation point while it holds it.
 */
#ifndef RNP_ENGINE_H
#define RNP_ENGINE_H

#include "rocin/types.h"
#include "rocin/work_request.h"

struct rn_av;
struct rn_dev;
struct rn_event;
struct rn_gid;
struct rn_netdev;
struct rn_qp;
struct rn_stats_qp;

struct rnp_engine;
struct rnp_path_mtu;
struct rnp_pcie;
struct rnp_raw_link;

/* Calls from the engine into the verbs objects, with the engine lock held. */
struct rnp_engine_hooks {
	/* rn_dev_event() had something: write to the completion channel or async_fd. */
	void (*on_event)(const struct rn_event *ev);
	/* DEVICE_FATAL, PORT_ERR, PORT_ACTIVE, GID_CHANGE (numbers of ibv_event_type) for
	 * every open context of this engine; @owner as given to rnp_engine_get().
	 */
	void (*on_device_event)(void *owner, int ibv_event_type);
	/* @ask: from now on the verbs calls of every owner must call
	 * rnp_engine_call_error(), or need not. NULL: they never do.
	 */
	void (*on_call_faults)(void *owner, bool ask);
};

/**
 * rnp_engine_get() - Share or create this process's engine for a device
 * @ibdev:	"rocin0"; the device is looked up again by ROCIN_NETDEVS
 * @owner:	The context; registered for device events
 * @err:	Out on failure: one sentence
 *
 * Opens no socket and starts no thread: that happens at rnp_engine_attach().
 * Return: the engine (reference taken) or NULL with errno.
 */
struct rnp_engine *rnp_engine_get(const char *ibdev, const struct rnp_engine_hooks *hooks,
				  void *owner, char *err, size_t err_len);

/* Drop @owner's reference. The last one sends deferred acknowledgements, stops the
 * background thread and returns the slot. In a fork child nothing that is shared is
 * touched.
 */
void rnp_engine_put(struct rnp_engine *e, void *owner);

/* True in a process that inherited the engine through fork(): every verb but the ones
 * that free local memory answers EIO and touches no lock, socket or daemon.
 */
bool rnp_engine_forked(const struct rnp_engine *e);

/* Lock held: are there fault rules about verbs calls, so that they must call
 * rnp_engine_call_error()?
 */
bool rnp_engine_has_call_faults(const struct rnp_engine *e);

/* A call of this kind (number in rn_fault_calls) begins. Lock not held. Return: the
 * positive errno that a fault rule lets it fail with, or 0.
 */
int rnp_engine_call_error(struct rnp_engine *e, unsigned call);

/* Before the first QP: get a slot and sockets from rocind, start the background thread.
 * Takes the lock itself. Idempotent. Return: 0 or -errno with a sentence logged at error
 * level and in @err.
 */
int rnp_engine_attach(struct rnp_engine *e, char *err, size_t err_len);

const struct rn_netdev *rnp_engine_netdev(const struct rnp_engine *e);
struct rnp_path_mtu *rnp_engine_paths(struct rnp_engine *e); /* with the lock held */
struct rn_dev *rnp_engine_dev(struct rnp_engine *e);	     /* use with the lock held */
rn_ns rnp_engine_now(void);				     /* CLOCK_MONOTONIC */
/* Times for work requests, with the lock held. Sending: at most two microseconds ago if
 * the queue pair is in RTS, which costs a third of reading the clock. Receiving: now if
 * the queue pair is in ERR; otherwise the time that the core was told last, as nothing
 * depends on it.
 */
rn_ns rnp_engine_send_time(struct rnp_engine *e, const struct rn_qp *qp);
rn_ns rnp_engine_recv_time(const struct rnp_engine *e, const struct rn_qp *qp);
/* The program reads times of completions, which are exact from now on. Lock held. */
void rnp_engine_keep_exact_time(struct rnp_engine *e);
const struct rnp_pcie *rnp_engine_pcie(const struct rnp_engine *e);
struct rnp_raw_link *rnp_engine_raw(struct rnp_engine *e); /* use with the lock held */
/* Close the sockets of raw packet QPs that are not used any more; lock not held. */
void rnp_engine_close_raw(struct rnp_engine *e);
bool rnp_engine_dead(const struct rnp_engine *e); /* device fatal was raised */

/**
 * rnp_port_mtu() - Path MTU that the interface of a device carries now
 *
 * Return: bytes, 256 .. 4096, never more than when the device was opened: its buffers are
 *	   made for that. The same if the interface cannot be asked.
 */
uint32_t rnp_port_mtu(const struct rn_netdev *dev);

/**
 * rnp_path_carries() - Does the kernel send packets of a path MTU to an address?
 * @av:		Address vector of @dev
 * @path_mtu:	Bytes of payload
 *
 * The MTU of the interface may have become smaller, the route may have an MTU of its own,
 * or a router may have said that it carries less. No packet is sent. Thousands of QPs ask
 * by one socket for each address of the device, which looks for the route anew each time.
 *
 * Return: false if the kernel would refuse them; true if it would not, or if that cannot
 *	   be found out.
 */
bool rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
		      const struct rn_av *av, uint32_t path_mtu);

void rnp_engine_lock(struct rnp_engine *e);
void rnp_engine_unlock(struct rnp_engine *e);

/* A QPN not in use: (counter << 8) | slot. Lock held, attached. -ENOMEM if none. */
int rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn);
/* A record in the stats page for a new QP, or NULL; lock held. The page grows in place.
 */
struct rn_stats_qp *rnp_engine_stats_qp(struct rnp_engine *e);
/* A QP is about to be destroyed (lock held, still registered): its QPN rests before it is
 * given out again, its stats record is freed.
 */
void rnp_engine_retire_qp(struct rnp_engine *e, struct rn_qp *qp,
			  struct rn_stats_qp *rec);

/* Progress by a thread of the program in ibv_poll_cq(): tries the lock, receives
 * (bounded), runs the core, sends gathered packets, renews the lease. Never blocks.
 * Returns false if another thread holds the lock.
 */
bool rnp_engine_poll(struct rnp_engine *e);

/* The requests that one call of the program has posted to a send queue. */
struct rnp_posted {
	rn_ns now;
	uint32_t count;
	uint64_t bytes;
};

static inline void rnp_posted_add(struct rnp_posted *posted, const struct rn_send_wr *wr)
{
	posted->count++;
	for (uint32_t i = 0; i < wr->num_sge; i++)
		posted->bytes += wr->sg[i].len;
}

/* After posting to a send queue; lock held. Decides whether packets leave now or gather
 * until the next poll, 64 packets, or some tens of microseconds.
 */
void rnp_engine_posted(struct rnp_engine *e, struct rn_qp *qp,
		       const struct rnp_posted *posted);

/* Do ACKs have credits, the number of receives that are posted (ROCIN_CREDITS)? */
bool rnp_engine_sends_credits(const struct rnp_engine *e);

/* After other verbs that may have given the core work (modify, destroy ...): sends all
 * packets, acknowledgements included, and takes events. Lock held.
 */
void rnp_engine_kick(struct rnp_engine *e);

/* The same before a queue pair or a device goes: acknowledgements leave even by a local
 * wire that is full. Lock held.
 */
void rnp_engine_send_last(struct rnp_engine *e);

/* Before a QP's block or CQEs go (@qpn 0: a memory region): accesses that are on their
 * way between memory and device are performed; reads and atomics end. Lock held. Return:
 * true if reads or atomics have ended, so that packets that waited for them may be sent.
 */
bool rnp_engine_settle(struct rnp_engine *e, uint32_t qpn);

/* Before QPs stop receiving: packets that have arrived in sockets and rings are received,
 * as hardware would have done when they came. Lock held.
 */
void rnp_engine_receive_all(struct rnp_engine *e);

/* Receive what has arrived, before a CQ is armed. Lock held. */
void rnp_engine_drain(struct rnp_engine *e);
/* The program has armed a CQ after rnp_engine_drain() and may go to sleep: from now on
 * the background thread serves the sockets. Lock held.
 */
void rnp_engine_cq_armed(struct rnp_engine *e);
void rnp_engine_cq_unarmed(struct rnp_engine *e); /* an armed CQ fired or was destroyed */

/* First empty poll after req_notify: poll for a bounded time, then arm
 * the socket. @has_entry is asked between polls. Lock not held. Returns true if
 * @has_entry became true.
 */
bool rnp_engine_linger(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg);

/* Join a multicast group, whose packets come by @sock, which rn_group_open() made without
 * the lock. Lock held, attached, not joined yet. Return: 0 (the engine owns @sock now),
 * -EIO (the device is dead), -ENOMEM, -EMFILE.
 */
int rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock);
/* Leave the group. Return: its socket, which the caller closes; -1 if the device is dead.
 */
int rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid);

/* Yield the processor after an empty poll, unless the next packet is likely close behind.
 */
void rnp_engine_yield(struct rnp_engine *e);

#endif /* RNP_ENGINE_H */
