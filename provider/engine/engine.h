/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine.h - runs one device of the transport core, which does no I/O itself, in
 * one process.
 *
 * There is one engine per process and device, shared by all contexts that the program
 * opens on the device. Packets are received and sent by the program's threads inside
 * verbs calls, and by a background thread that sleeps otherwise; policy.h decides which
 * of them.
 *
 * Lock order: see provider.h. A thread that holds the engine lock takes no lock of the
 * verbs objects, except rnp_event_pipe.lock to write an event. A verbs call that holds
 * the engine lock is no cancellation point.
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
struct rnp_persona;
struct rnp_pcie;
struct rnp_raw_link;

/* Calls from the engine into the verbs objects, with the engine lock held. */
struct rnp_engine_hooks {
	/* An event came from rn_dev_event(): write it to the completion channel
	 * or async_fd.
	 */
	void (*on_event)(const struct rn_event *ev);
	/* Called for every open context of the engine with DEVICE_FATAL, PORT_ERR,
	 * PORT_ACTIVE or GID_CHANGE (numbers of ibv_event_type). @owner is the context,
	 * as passed to rnp_engine_get().
	 */
	void (*on_device_event)(void *owner, int ibv_event_type);
	/* Called with @ask true when the first fault rule about verbs calls comes into
	 * being, and with @ask false when there are none any more. In between, the verbs
	 * calls of @owner must call rnp_engine_call_error(). NULL: the owner does not
	 * want to know.
	 */
	void (*on_call_faults)(void *owner, bool ask);
};

/**
 * rnp_engine_get() - Share or create this process's engine for a device
 * @ibdev:	Such as "rocin0"; the device is looked up again by ROCIN_NETDEVS
 * @owner:	The context, which gets the events of the device
 * @err:	Out on failure: error text
 *
 * Opens no socket and starts no thread: that happens at rnp_engine_attach().
 * Return: the engine (reference taken) or NULL with errno.
 */
struct rnp_engine *rnp_engine_get(const char *ibdev, const struct rnp_engine_hooks *hooks,
				  void *owner, char *err, size_t err_len);

/* Drops @owner's reference. When the last reference is dropped, sends deferred
 * acknowledgements, stops the background thread, and releases the slot (the number of
 * this process at its address). In a fork() child it touches nothing that is shared with
 * the parent.
 */
void rnp_engine_put(struct rnp_engine *e, void *owner);

/* Has this process inherited the engine through fork()? Then every verb fails with EIO
 * and touches no lock, socket or daemon. Verbs that free local memory still free it.
 */
bool rnp_engine_forked(const struct rnp_engine *e);

/* Returns a substitute engine, which contexts have once they are closed: verbs on such a
 * context fail as in a fork() child.
 */
struct rnp_engine *rnp_engine_gone(void);

/* Are there fault rules about verbs calls, so that the calls must ask
 * rnp_engine_call_error()? The engine lock is held.
 */
bool rnp_engine_has_call_faults(const struct rnp_engine *e);

/* Asks the fault rules whether the verbs call that begins must fail. @call is the index
 * of the call in rn_fault_calls. The engine lock is not held. Return: the positive errno
 * to fail with, or 0.
 */
int rnp_engine_call_error(struct rnp_engine *e, unsigned call);

/* Gets a slot (number of the process) and sockets from rocind and starts the background
 * thread. To be called before the first QP is made. Takes the engine lock itself. Does
 * nothing if the engine is attached already. Return: 0, or -errno with an error text in
 * @err and in the log.
 */
int rnp_engine_attach(struct rnp_engine *e, char *err, size_t err_len);

const struct rn_netdev *rnp_engine_netdev(const struct rnp_engine *e);
/* Returns the path MTU sockets of the device; use them with the engine lock held. */
struct rnp_path_mtu *rnp_engine_paths(struct rnp_engine *e);
/* Returns the device of the core; use it with the engine lock held. */
struct rn_dev *rnp_engine_dev(struct rnp_engine *e);
rn_ns rnp_engine_now(void); /* current time of CLOCK_MONOTONIC */
/* Returns the counter @stat (enum rn_stat) of the device. Any thread may call it, with or
 * without the engine lock.
 */
uint64_t rnp_engine_counter(const struct rnp_engine *e, unsigned stat);
/* Return the time to pass to the core with work requests. The engine lock is held. For
 * sends to a queue pair in RTS, the time is at most two microseconds old, which costs a
 * third of reading the clock. For receives, it is the current time if the queue pair is
 * in ERR; otherwise it is the time that was passed to the core last, as nothing depends
 * on it.
 */
rn_ns rnp_engine_send_time(struct rnp_engine *e, const struct rn_qp *qp);
rn_ns rnp_engine_recv_time(const struct rnp_engine *e, const struct rn_qp *qp);
/* Makes the times of polls exact from now on, because the program reads completion
 * timestamps. The engine lock is held.
 */
void rnp_engine_keep_exact_time(struct rnp_engine *e);
const struct rnp_pcie *rnp_engine_pcie(const struct rnp_engine *e);
/* Gives the device access to memory of real GPUs, see rnp_pcie_join_cuda(). The engine
 * lock is not held.
 */
int rnp_engine_join_cuda(struct rnp_engine *e);
/* Returns the persona (ROCIN_AS): the device of another maker whose limits this device
 * has. NULL: the device has its own limits.
 */
const struct rnp_persona *rnp_engine_persona(const struct rnp_engine *e);
/* Returns the packet sockets and flow rules of raw packet QPs; use them with the engine
 * lock held.
 */
struct rnp_raw_link *rnp_engine_raw(struct rnp_engine *e);
/* Closes the sockets that raw packet QPs do not use any more. The engine lock is not
 * held.
 */
void rnp_engine_close_raw(struct rnp_engine *e);
/* has IBV_EVENT_DEVICE_FATAL been raised? */
bool rnp_engine_dead(const struct rnp_engine *e);

/**
 * rnp_port_mtu() - Largest path MTU for the current MTU of a device's interface
 *
 * Return: bytes, 256 .. 4096. Never more than the value when the device was opened, as
 *	   its buffers have that size. If the interface cannot be queried, that value.
 */
uint32_t rnp_port_mtu(const struct rn_netdev *dev);

/**
 * rnp_path_carries() - Does the kernel send packets of a path MTU to an address?
 * @av:		Address vector of @dev
 * @path_mtu:	Bytes of payload
 *
 * The kernel would not if the MTU of the interface has become smaller, or if the route
 * has a smaller MTU of its own. An MTU that a router has reported by ICMP does not count
 * (route_mtu.h). No packet is sent. Each call looks up the route again, by a socket that
 * all QPs with the same source address share.
 *
 * Return: false if the kernel would refuse the packets; true if it would not, or if that
 *	   cannot be found out.
 */
bool rnp_path_carries(struct rnp_path_mtu *p, const struct rn_netdev *dev,
		      const struct rn_av *av, uint32_t path_mtu);

void rnp_engine_lock(struct rnp_engine *e);
void rnp_engine_unlock(struct rnp_engine *e);

/* Allocates a QPN. Its low byte is the slot of the process, and its upper 16 bits are a
 * number that no other QP of the process has. The engine lock is held, and the engine is
 * attached. Return: 0 with *@qpn, or -ENOMEM if all are in use.
 */
int rnp_engine_new_qpn(struct rnp_engine *e, uint32_t *qpn);
/* Allocates a record in the statistics page for a new QP. The page grows in place. The
 * engine lock is held. Returns NULL if there is not enough memory.
 */
struct rn_stats_qp *rnp_engine_stats_qp(struct rnp_engine *e);
/* The first function records an object other than a QP in the statistics page, as @o
 * describes it. It returns NULL if there is no memory or room; the object then has no
 * record. The second function releases the record; NULL is ignored. The engine lock is
 * held.
 */
struct rn_stats_object *rnp_engine_record(struct rnp_engine *e,
					  const struct rn_stats_object *o);
void rnp_engine_forget(struct rnp_engine *e, struct rn_stats_object *rec);
/* Releases the QPN and the statistics record of a QP that is about to be destroyed. The
 * QPN is not used again for a while (RNP_QPN_REST). The caller holds the engine lock, and
 * removes the QP from the core afterwards.
 */
void rnp_engine_retire_qp(struct rnp_engine *e, struct rn_qp *qp,
			  struct rn_stats_qp *rec);

/* Upper limit in ns of the time that pinning is simulated to take. The limit is reached
 * by 40 million pages at 250 ns each, that is, by regions of 160 GB.
 */
#define RNP_PIN_WAIT_MAX (10 * RN_MSEC(1000))

/* Returns the number of pages in which a range of memory lies. */
uint64_t rnp_pin_pages(uint64_t addr, uint64_t len);
/* Counts @pages pages as pinned by this process, if ROCIN_PIN requests that. Any thread
 * may call it, with or without locks. Return: 0; -ENOMEM, with a message in the log: the
 * pages would exceed RLIMIT_MEMLOCK; -EPERM: that limit is 0.
 */
int rnp_engine_pin(struct rnp_engine *e, uint64_t pages);
void rnp_engine_unpin(struct rnp_engine *e, uint64_t pages);
/* Waits until as much time has passed since @begun as a driver takes to pin @pages pages,
 * if one page takes the time that ROCIN_PIN gives. Waits for RNP_PIN_WAIT_MAX at most.
 * The engine lock is not held.
 */
void rnp_engine_await_pinning(const struct rnp_engine *e, uint64_t pages, rn_ns begun);

/* Performs one step of the engine for ibv_poll_cq(): receives a bounded number of
 * packets, runs the core, sends gathered packets and renews the lease (the time for which
 * polls, not the background thread, receive; policy.h). Never blocks. Return: false, with
 * nothing done, if another thread holds the lock.
 */
bool rnp_engine_poll(struct rnp_engine *e);

/* Requests that one call of the program has posted to a send queue. */
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

/* Sends the packets of the requests that the program has just posted to @qp, or lets them
 * gather. Gathered packets leave with the next poll, when 64 of them have gathered, or
 * after some tens of microseconds. The engine lock is held.
 */
void rnp_engine_posted(struct rnp_engine *e, struct rn_qp *qp,
		       const struct rnp_posted *posted);

/* Do ACKs carry credits, the number of posted receive WQEs (ROCIN_CREDITS)? */
bool rnp_engine_sends_credits(const struct rnp_engine *e);

/* Sends all packets, acknowledgements included, and handles the core's events. Called by
 * verbs other than posts (modify, destroy ...) after they have changed something. The
 * engine lock is held.
 */
void rnp_engine_kick(struct rnp_engine *e);

/* Does what rnp_engine_kick() does, and sends acknowledgements even if the shared memory
 * ring to a peer on this machine is full. Called before a queue pair or a device is
 * destroyed. The engine lock is held.
 */
void rnp_engine_send_last(struct rnp_engine *e);

/* Completes the accesses to memory that are under way for the QP @qpn, or for all QPs if
 * @qpn is 0. Called before memory or CQEs that such accesses use are freed, or a memory
 * region is removed. The engine lock is held. Return: true if reads or atomics have
 * ended; then packets that waited for them may be sent.
 */
bool rnp_engine_settle(struct rnp_engine *e, uint32_t qpn);

/* Receives all packets that have arrived in sockets and rings. Called before QPs stop
 * receiving, because hardware would have received these packets as soon as they came. The
 * engine lock is held.
 */
void rnp_engine_receive_all(struct rnp_engine *e);

/* Receives packets that have arrived, before a CQ is armed. The engine lock is held. */
void rnp_engine_drain(struct rnp_engine *e);
/* Notes that the program has armed a CQ after rnp_engine_drain() and may go to sleep.
 * From now on the background thread receives, unless the program first lingers, that is,
 * polls for a moment longer. The engine lock is held.
 */
void rnp_engine_cq_armed(struct rnp_engine *e);
/* Notes that an armed CQ has raised its event or was destroyed. */
void rnp_engine_cq_unarmed(struct rnp_engine *e);

/* Lingers: polls for a bounded time after the first empty poll that follows
 * ibv_req_notify_cq(), and then lets the background thread receive. Between polls it asks
 * @has_entry(@arg) whether the CQ has an entry. The engine lock is not held. Return: true
 * if @has_entry returned true.
 */
bool rnp_engine_linger(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg);

/* Joins the multicast group @mgid. Its packets come by @sock, which the caller has opened
 * by rn_group_open() without holding the engine lock. The engine lock is held, the engine
 * is attached, and the group is not joined yet. Return: 0 (the engine owns @sock now),
 * -EIO (the device is dead), -ENOMEM, -EMFILE.
 */
int rnp_engine_join(struct rnp_engine *e, const struct rn_gid *mgid, int sock);
/* Leaves the multicast group @mgid. Return: the socket of the group, which the caller
 * closes; -1 if the device is dead.
 */
int rnp_engine_leave(struct rnp_engine *e, const struct rn_gid *mgid);

/* Gives the processor to other threads after an empty poll, unless the next packet is
 * expected soon: yields, or on a crowded machine sleeps for at most RNP_NAP. Before a
 * sleep it asks @has_entry(@arg) whether the CQ has an entry; if so, it does not sleep.
 * The engine lock is not held.
 */
void rnp_engine_pause(struct rnp_engine *e, bool (*has_entry)(void *arg), void *arg);

#endif /* RNP_ENGINE_H */
