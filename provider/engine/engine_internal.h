/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_internal.h - inside of the engine.
 *
 *   engine.c	       the engines of this process: get, put, attach; QP numbers, groups
 *   policy.c	       whose step it is, when a post leaves and when an ACK does
 *   progress.c	       the time, one step of the device, and the loop around the policy
 *   background.c      the thread that sleeps until it is its turn, and its priority
 *   wait.c	       how it sleeps
 *   rocind_events.c   what rocind says: addresses, link, local wires, end
 *   tx_batch.c	       packets -> super-packets
 *   wire.c	       core + memory + network, captures
 *   fault.c	       rules about faults
 *   path.c	       what the network carries, and why a peer is silent
 *
 * Everything here is guarded by rnp_engine.lock unless it says otherwise.
 */
#ifndef RNP_ENGINE_INTERNAL_H
#define RNP_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "engine.h"
#include "fault.h"
#include "path.h"
#include "pcie.h"
#include "policy.h"
#include "provider/raw/raw_socket.h"
#include "rocin/netdev.h"
#include "rocin/types.h"
#include "settings.h"
#include "stats_page.h"
#include "tx_batch.h"
#include "wait.h"
#include "wire.h"

struct rn_attach;
struct rn_rocind;
struct rn_rocind_event;
struct rnp_engine;

/* What there is once per process, and what a fork() child must not inherit. It lives in a
 * page that the kernel zeroes in a child (MADV_WIPEONFORK). There the lock is free, the
 * list of engines empty, and the epoch another: an engine made in an older epoch belongs
 * to the parent, whatever state its memory was copied in.
 */
struct rnp_process {
	pthread_mutex_t lock;	    /* guards: engines, epoch's first store */
	_Atomic uint64_t epoch;	    /* 0: nobody has asked yet */
	struct rnp_engine *engines; /* linked through rnp_engine.next */
};

enum {
	RNP_QPN_COUNTERS = 65536,
	RNP_QPN_RESTING = 4096, /* at most; the oldest wakes early beyond that */
};

/* Longer than a peer goes on sending to a queue pair that does not answer, with the usual
 * timeouts.
 */
#define RNP_QPN_REST RN_MSEC(4000)

/* Queue pair numbers of one process: (counter << 8) | slot. The counter runs
 * through 1..65535 and begins anew, so a number rests as long as it can; one that was
 * used a moment ago is passed over even then, since packets of its last life may still be
 * on their way.
 */
struct rnp_qpns {
	unsigned slot;			      /* 1..255 */
	uint32_t next;			      /* counter to try next */
	uint32_t live;			      /* numbers given out */
	uint64_t busy[RNP_QPN_COUNTERS / 64]; /* given out, or resting */
	struct {
		uint16_t counter;
		rn_ns since;
	} rest[RNP_QPN_RESTING];
	uint32_t rest_head, rest_tail; /* count up for ever */
};

/* What the core was told last about the time. */
struct rnp_clock {
	rn_ns now;
	uint64_t ticks; /* of the processor when it was last read for a post or a poll */
	bool shows;	/* a program reads times of completions */
};

struct rnp_owner {
	struct rnp_owner *next;
	void *owner;
};

struct rnp_engine {
	struct rnp_engine *next;     /* process->lock */
	struct rnp_process *process; /* constant */
	uint64_t epoch;		     /* constant: of the process that made it */

	pthread_mutex_t lock;
	const struct rnp_engine_hooks *hooks;
	struct rnp_owner *owners;
	struct rn_netdev netdev;
	struct rn_gid gid[RN_GID_MAX]; /* as the core has it; all zero: unused */
	struct rnp_path_mtu paths;
	struct rnp_settings set;
	char *tree; /* constant: where the kernel stand-in shows our files; or NULL */
	struct rnp_stats stats;
	struct rnp_pcie pcie; /* constant */
	struct rn_dev *dev;

	bool attached;
	_Atomic bool dead;	  /* DEVICE_FATAL; set under the lock, read anywhere */
	struct rn_rocind *rocind; /* NULL: sockets of a test, or gone */
	struct rnp_qpns qpns;
	struct rnp_wire wire;
	struct rnp_faults faults;
	struct rnp_tx_batch batch;
	struct rnp_icmp_probe icmp_probe;
	struct rnp_raw_link raw; /* Ethernet frames of raw packet QPs */
	struct rnp_policy policy;
	uint32_t polls;	  /* of the program */
	clockid_t poller; /* CPU time of the thread that renewed the lease */
	int poller_at;	  /* real-time: the processor that polled last */
	/* The next packet is close behind: who polls keeps the processor. Written under
	 * the lock, or because it was taken.
	 */
	atomic_bool is_lively;
	struct rnp_clock clock;
	rn_ns looked_at;     /* the last step looked for packets then */
	uint32_t not_dry;    /* steps in a row that left packets in the socket */
	bool is_blocked;     /* the socket took no more: something waits */
	bool is_raw_blocked; /* likewise a frame */

	pthread_t thread;
	bool has_thread;
	int realtime; /* priority that was asked for it; 0: none */
	bool closing;
	struct rnp_wait wait;
	int timer_fd, wake_fd; /* -1: none */
};

/* What the background thread wakes for. */
enum rnp_tag {
	RNP_TAG_TIMER,
	RNP_TAG_WAKE, /* the end of the thread; memory has answered */
	RNP_TAG_ROCIND,
	RNP_TAG_SOCKET,
	RNP_TAG_LOCAL, /* a peer has put something into a ring */
};

/* The core is told of @now. */
static inline void rnp_tell_time(struct rnp_engine *e, rn_ns now)
{
	e->clock.now = now;
}

/* Not before attaching, and not after the death of rocind. */
static inline bool rnp_has_sockets(const struct rnp_engine *e)
{
	return e->attached && e->wire.net;
}

/* --------------------------------------------------------------- progress.c */
/* At most two microseconds ago, and not before what the core was told, unless the program
 * may see it: then now.
 */
rn_ns rnp_clock_poll_time(struct rnp_engine *e);

enum {
	RNP_DRAIN_APP = 8, /* super-packets per call of the program */
	RNP_DRAIN_BACKGROUND = 64,
};

/* Receive, expire, transmit, take events. Return: super-packets received. */
unsigned rnp_pump_step(struct rnp_engine *e, rn_ns now, unsigned drain,
		       enum rnp_acks acks);

void rnp_pump_events(struct rnp_engine *e);

/* One step by a thread of the program. */
void rnp_progress_app(struct rnp_engine *e);

/* One step by the background thread, which was woken. */
void rnp_progress_background(struct rnp_engine *e, bool timer_fired);

/* Memory has answered: a step of the background thread, whoever's turn it is. */
void rnp_progress_memory(struct rnp_engine *e);

/* In ARMED the timer carries the deadlines of the core: something may have changed them.
 */
void rnp_progress_deadline(struct rnp_engine *e, rn_ns now);

/* ------------------------------------------------------------- background.c */
/* The set that it waits for, timer, thread. Return: 0 or -errno with a sentence. */
int rnp_background_start(struct rnp_engine *e, char *err, size_t err_len);

/* Lock not held: ends the thread and waits for it; closes the descriptors. */
/* False: the thread could not be ended, and @e must stay. */
bool rnp_background_stop(struct rnp_engine *e);

/* Make the thread collect what memory has answered; any thread, never blocks. */
void rnp_background_wake(struct rnp_engine *e);
/* Has the program closed a descriptor of ours, past those who would have kept it from
 * that? Then the device is dead, and no number is used that may be another file's now.
 * Some system calls: to be called now and then.
 */
void rnp_look_at_descriptors(struct rnp_engine *e);

/* Switch all sockets in the set on or off. False: the kernel has no room for one that
 * rested, so all are off.
 */
bool rnp_background_listen(struct rnp_engine *e, bool on);

/* The sockets are off and will stay so for a while. */
void rnp_background_rest(struct rnp_engine *e);

/* Add a socket that appeared later. */
int rnp_background_add(struct rnp_engine *e, int fd, enum rnp_tag tag, bool on);

/* Before a descriptor in the set is closed: a fork() child may hold a copy, which would
 * keep it in the set for ever. -1 is ignored.
 */
void rnp_background_remove(struct rnp_engine *e, int fd);

void rnp_background_set_timer(struct rnp_engine *e, rn_ns at);

/* If the calling thread is in a real-time class the background thread is above it from
 * now on, as far as the process may.
 */
void rnp_realtime_follow(struct rnp_engine *e);

/* ---------------------------------------------------------- rocind_events.c */
/* Take all that rocind has said. */
void rnp_rocind_events(struct rnp_engine *e);

/* The link of the device, for the program. */
void rnp_set_link(struct rnp_engine *e, bool up);

/* False: the engine wants no local wires. */
bool rnp_local_cfg(struct rnp_engine *e, unsigned slot, struct rn_local_cfg *cfg);

/* ----------------------------------------------------------------- engine.c */
/* The part of rnp_engine_attach() that follows rocind's answer; lock held. @a's sockets
 * are taken over, also on failure.
 */
int rnp_engine_start(struct rnp_engine *e, const struct rn_attach *a, char *err,
		     size_t err_len);

/* Create the page if there is none yet. NULL if memory is short. */
struct rnp_process *rnp_process(void);

/* Lock, and give this process its epoch. */
void rnp_process_lock(struct rnp_process *p);
void rnp_process_unlock(struct rnp_process *p);

/* Of the numbers of queue pairs; none of these locks. */
void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter);

/* Return: 0 with *@qpn, or -ENOMEM: all numbers are in use or resting. */
int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn);

/* @qpn is free again after a rest. */
void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn);

#endif /* RNP_ENGINE_INTERNAL_H */
