/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine.h - drives one device of the sans-IO core inside one process.
 *
 * One engine per process and device, shared by all contexts that the program opens on it.
 * Progress is made by the program's own threads inside verbs calls and by one sleeping
 * background thread; who is to make it is decided in policy.h.
 *
 * Lock order: provider.h; nothing of the verbs objects is locked under the engine lock
 * but the writing side of an event queue. A verbs call that takes the engine lock is no
 * cancellation point while it holds it.
 */
#ifndef RNP_ENGINE_H
#define RNP_ENGINE_H

#include "rocin/work_request.h"

struct rn_dev;
struct rn_event;
struct rn_netdev;
struct rn_qp;
struct rn_stats_qp;
struct rnp_engine;
struct rnp_pcie;
struct rnp_raw_link;

/* What the engine tells the verbs objects; called with the engine lock held. */
struct rnp_engine_hooks {
	/* rn_dev_event() had something: write to the completion channel or async_fd. */
	void (*on_event)(const struct rn_event *ev);
	/* DEVICE_FATAL, PORT_ERR, PORT_ACTIVE, GID_CHANGE (numbers of ibv_event_type) for
	 * every open context of this engine; @owner as given to rnp_engine_get().
	 */
	void (*on_device_event)(void *owner, int ibv_event_type);
	/* Verbs calls must ask rnp_engine_judge_call(), or need not; for every owner.
	 * NULL: none ever does.
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

/* Drop @owner's reference. The last one flushes deferred acknowledgements, stops the
 * background thread and returns the slot. In a fork child: forgets, touches nothing
 * shared.
 */
void rnp_engine_put(struct rnp_engine *e, void *owner);

/* True in a process that inherited the engine through fork(): every verb but the ones
 * that free local memory answers EIO and touches no lock, socket or daemon.
 */
bool rnp_engine_forked(const struct rnp_engine *e);

/* Lock held: must verbs calls ask rnp_engine_judge_call()? */
bool rnp_engine_fails_calls(const struct rnp_engine *e);

/* The next call of this kind (number in rn_fault_calls) begins. Lock not held. Return:
 * positive errno that it is to fail with, or 0.
 */
int rnp_engine_judge_call(struct rnp_engine *e, unsigned call);

/* Before the first QP: get a slot and sockets from rocind, start the background thread.
 * Takes the lock itself. Idempotent. Return: 0 or -errno with a sentence logged at error
 * level and in @err.
 */
int rnp_engine_attach(struct rnp_engine *e, char *err, size_t err_len);

const struct rn_netdev *rnp_engine_netdev(const struct rnp_engine *e);
struct rnp_path_mtu *rnp_engine_paths(struct rnp_engine *e); /* with the lock held */
struct rn_dev *rnp_engine_dev(struct rnp_engine *e);	     /* use with the lock held */
rn_ns rnp_engine_now(void);				     /* CLOCK_MONOTONIC */
/* For work requests, with the lock held. Sending: at most two microseconds ago if the
 * queue pair is ready to send; it costs a third. Receiving: now if the queue pair is in
 * ERR; otherwise when the core was last told, for nothing will depend on it.
 */
rn_ns rnp_engine_send_time(struct rnp_engine *e, const struct rn_qp *qp);
rn_ns rnp_engine_recv_time(const struct rnp_engine *e, const struct rn_qp *qp);
/* The program reads when its completions came: from now on that is exact. Lock held. */
void rnp_engine_shows_time(struct rnp_engine *e);
const struct rnp_pcie *rnp_engine_pcie(const struct rnp_engine *e);
struct rnp_raw_link *rnp_engine_raw(struct rnp_engine *e); /* use with the lock held */
/* Close the sockets of raw packet QPs that are not used any more; lock not held. */
void rnp_engine_close_raw(struct rnp_engine *e);
bool rnp_engine_dead(const struct rnp_engine *e); /* device fatal was raised */

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

/* Progress by a program's thread in poll_cq: try-lock; drain (bounded), run the core,
 * transmit what gathered, renew the lease. Never blocks. Returns false if another thread
 * holds the lock.
 */
bool rnp_engine_poll(struct rnp_engine *e);

/* What one call of the program has posted to a send queue. */
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

/* Give a socket of rocind the receive buffer that the settings ask for. */
void rnp_engine_limit_socket(const struct rnp_engine *e, int fd);

/* Whether ACKs tell how many receives are posted (ROCIN_CREDITS). */
bool rnp_engine_tells_credits(const struct rnp_engine *e);

/* After anything else that may have given the core work (modify, destroy ...); lock held:
 * transmits all, acknowledgements included, and takes events.
 */
void rnp_engine_kick(struct rnp_engine *e);

/* The same before something goes that its peer has yet to hear of: acknowledgements do
 * not wait for a local wire that is full, either. Lock held.
 */
void rnp_engine_say_last(struct rnp_engine *e);

/* Before a QP's block or CQEs go (@qpn 0: a memory region): what is on its way between
 * memory and device is performed, reads and atomics have ended. Lock held.
 * Return: whether some ended; what waited for them may be transmitted now.
 */
bool rnp_engine_settle(struct rnp_engine *e, uint32_t qpn);

/* Before a QP, or all, stop receiving: all that lies in sockets and rings is received, as
 * hardware would have when it came. Lock held.
 */
void rnp_engine_take_all(struct rnp_engine *e);

/* The program armed a CQ and may go to sleep: the socket is served by the background
 * thread from now on. Lock held, the socket has been drained by the caller through
 * rnp_engine_drain().
 */
void rnp_engine_drain(struct rnp_engine *e);
void rnp_engine_cq_armed(struct rnp_engine *e);
void rnp_engine_cq_unarmed(struct rnp_engine *e); /* an armed CQ fired or was destroyed */

/* First empty poll after req_notify: poll for a bounded time, then arm
 * the socket. @has_entry is asked between polls. Lock not held. Returns true if
 * @has_entry became true.
 */
bool rnp_engine_linger(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg);

/* Packets to a multicast group come to this process by @sock (rn_group_open(), without
 * the lock), and no more; not joined yet. Lock held, attached. Return: 0 (@sock is the
 * engine's), -EIO (the device is dead), -ENOMEM, -EMFILE.
 */
int rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock);
/* Return: the socket, the caller's again; -1 if the device is dead. */
int rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid);

/* Yield the processor after an empty poll, unless the next packet is a moment away. */
void rnp_engine_yield(struct rnp_engine *e);

#endif /* RNP_ENGINE_H */
