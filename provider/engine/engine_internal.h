/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_internal.h - inside of the engine.
 *
 *   engine.c	       the engines of this process: get, put, attach
 *   pump.c	       one step: packets in, core, packets out, events
 *   progress.c	       whose step it is: lease, armed socket, linger
 *   poller.c	       what the thread that polled does when it does not
 *   answers.c	       what a program that looks at memory does next
 *   posting.c	       when a post leaves, and what leaves with it
 *   clock.c	       the time, and how not to ask for it
 *   background.c      the thread that sleeps until it is its turn
 *   realtime.c	       its priority in programs of a real-time class
 *   groups.c	       multicast groups whose packets come here
 *   local.c	       wires in shared memory, to processes of the same rocind
 *   rocind_events.c   what rocind says: addresses, link, end
 *   stage.c	       packets -> super-packets
 *   knocking.c	       why a peer is silent, if its host says so
 *   compose.c	       core + memory + network
 *
 * Everything here is guarded by rnp_engine.lock unless it says otherwise.
 */
#ifndef RNP_ENGINE_INTERNAL_H
#define RNP_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "compose.h"
#include "engine.h"
#include "fault.h"
#include "knocking.h"
#include "path_mtu.h"
#include "pcie.h"
#include "process.h"
#include "provider/raw/raw_socket.h"
#include "qpn.h"
#include "settings.h"
#include "stage.h"
#include "stats_page.h"
#include "wait.h"

struct rn_attach;
struct rn_rocind;
struct rn_rocind_event;

/* Durations of the hand-over; one set for all, others only in tests. */
struct rnp_lease_times {
	rn_ns lease;	     /* after a fresh start */
	rn_ns long_lease;    /* once polling is steady */
	rn_ns steady;	     /* polling without a gap for so long is steady */
	uint32_t streak;     /* polls that take an armed socket back ... */
	uint32_t streak_max; /* ... and as many at most, of a program that often stays
				away */
};

enum rnp_turn {
	RNP_ARMED,  /* the background thread waits for packets */
	RNP_LEASED, /* the program's threads poll; the timer runs out if they stop */
};

/* Who is responsible for the socket. True whenever the lock is free:
 * ARMED and the sockets are enabled in the epoll set, or LEASED and the timer is pending
 * at most cur_lease ahead.
 */
struct rnp_progress {
	struct rnp_lease_times times;
	enum rnp_turn turn;
	rn_ns timer_at;	 /* true expiry of the timer; 0: fired and not set again */
	rn_ns cur_lease; /* times.lease or times.long_lease */
	rn_ns lease_set; /* when the lease was renewed */
	uint32_t polls;	 /* of the program */
	rn_ns last_poll;
	clockid_t poller;   /* CPU time of the thread that renewed the lease ... */
	rn_ns poller_cpu;   /* ... and what it had used by then */
	int poller_at;	    /* real-time: the processor that polled last */
	rn_ns steady_since; /* polling has had no gap since */
	uint32_t streak;    /* polls with the sockets armed */
	uint32_t streak_need;
	uint32_t armed_cqs;

	rn_ns found_at;	   /* by the background thread, and no post since; 0: none */
	uint32_t requests; /* of the core when it was found */
	uint32_t answered; /* how often a post followed soon, lately */
	uint32_t requests_posted, received_posted; /* of the core at the last post */
	bool sees_memory; /* between the last two posts came what only memory shows */
	rn_ns held_since; /* acknowledgements wait for that post; 0: none do */
	const struct rn_qp *asked; /* posted to last and not acknowledged yet, or NULL */
	bool has_left;		   /* rnp_answers_leaves(), and no post or poll since */
	rn_ns asked_at;
	bool is_early; /* the lease was taken because the program will be seen to leave */
	uint32_t look_ban; /* wake-ups after which the thread sleeps at once; its own */
	bool did_spin;	   /* ... because of a poller that looks at memory */
	rn_ns spun_cpu, spun_at; /* rnp_poller_lets_look() */
	uint32_t early_ban;	 /* posts without such a lease, after one that ran out */

	uint32_t linger_missed; /* lingers in a row that outlasted their time */
	uint32_t linger_skipped;

	rn_ns gather_since; /* when the open super-packet began to wait; 0: none waits */
	/* Posts that leave at once, after one had to wait too long. */
	uint32_t gather_ban;
	uint32_t held;	     /* work requests that the core has not been asked to send */
	uint64_t held_bytes; /* of these */
	uint32_t posts;	     /* work requests since the program last polled */
	uint32_t run;	     /* ... between the polls before, if there were any */
	/* The next packet is close behind: who polls keeps the processor. Written under
	 * the lock, or because it was taken.
	 */
	atomic_bool is_lively;
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
	struct rnp_stage stage;
	struct rnp_knocking knocking;
	struct rnp_raw_link raw; /* Ethernet frames of raw packet QPs */
	struct rnp_progress progress;
	struct rnp_clock clock;
	uint32_t unacked;    /* packets received since acknowledgements last left */
	rn_ns looked_at;     /* the last step looked for packets then */
	uint32_t not_dry;    /* steps in a row that left packets in the socket */
	bool is_blocked;     /* the socket took no more: something is staged */
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

/* ------------------------------------------------------------------ clock.c */
/* At most two microseconds ago, and not before what the core was told; tells it. */
rn_ns rnp_clock_nearly_now(struct rnp_engine *e);

/* Likewise, unless the program may see it: then now. */
rn_ns rnp_clock_poll_time(struct rnp_engine *e);

/* ------------------------------------------------------------------- pump.c */
enum {
	RNP_DRAIN_APP = 8, /* super-packets per call of the program */
	RNP_DRAIN_BACKGROUND = 64,
	RNP_SEND_MAX = 32, /* super-packets out per step */
};

enum rnp_acks {
	RNP_ACKS_IF_DRY, /* acknowledgements leave if there was nothing to receive */
	RNP_ACKS_NOW,	 /* they leave: nobody may come by soon */
	RNP_ACKS_HELD,	 /* they wait for the program's answer, which is expected */
};

/* Receive, expire, transmit, take events. Return: super-packets received. */
unsigned rnp_pump_step(struct rnp_engine *e, rn_ns now, unsigned drain,
		       enum rnp_acks acks);

/* Transmit without receiving. @gather: leave the last super-packet open for more. */
void rnp_pump_transmit(struct rnp_engine *e, rn_ns now, unsigned what, bool gather);

void rnp_pump_events(struct rnp_engine *e);

/* Hand reads and atomics that have ended to the core. Return: how many. */
unsigned rnp_pump_collect(struct rnp_engine *e, rn_ns now);

/* Next time at which somebody must look: timers of the core, a socket that was full, a
 * capture to be written. RN_NEVER: not before a packet comes.
 */
rn_ns rnp_pump_deadline(const struct rnp_engine *e, rn_ns now);

/* --------------------------------------------------------------- progress.c */
extern const struct rnp_lease_times rnp_lease_times;

/* At attach: the background thread is responsible. */
void rnp_progress_init(struct rnp_engine *e);

/* One step by a thread of the program. */
void rnp_progress_app(struct rnp_engine *e);

/* One step by the background thread, which was woken. */
void rnp_progress_background(struct rnp_engine *e, bool timer_fired);

/* Set the timer; rnp_progress.timer_at tells. */
void rnp_progress_timer(struct rnp_engine *e, rn_ns at);

/* Memory has answered: a step of the background thread, whoever's turn it is. */
void rnp_progress_memory(struct rnp_engine *e);

/* In ARMED the timer carries the deadlines of the core: something may have changed them.
 */
void rnp_progress_deadline(struct rnp_engine *e, rn_ns now);

/* ----------------------------------------------------------------- poller.c */
/* This thread polls, and renews the lease. */
void rnp_poller_note(struct rnp_engine *e);

/* Did it go on with something else? Then it will again. If it slept, or had no
 * processor, its leaving says nothing.
 */
bool rnp_poller_is_busy(const struct rnp_progress *p, rn_ns now);

/* The background thread has yielded, and got the processor back late. */
void rnp_poller_ban(struct rnp_progress *p, rn_ns now);
/* Before it yields again. The ban ends early if it was this thread that had the
 * processor, and that sleeps now.
 */
bool rnp_poller_lets_look(struct rnp_progress *p, rn_ns now);

/* ---------------------------------------------------------------- answers.c */
/* The background thread has received something at @now: a post should follow, unless it
 * is in the middle of a message, or no request at all.
 */
void rnp_answers_expect(struct rnp_engine *e, rn_ns now);

/* The program posts at @now, and has posted to @qp. */
void rnp_answers_note(struct rnp_progress *p, rn_ns now);
void rnp_answers_posted(struct rnp_engine *e, const struct rn_qp *qp);

/* What becomes of acknowledgements while nobody polls: RNP_ACKS_NOW or RNP_ACKS_HELD. */
enum rnp_acks rnp_answers_acks(const struct rnp_progress *p);

/* The program's answer has left in part, and they go along with the end of it. */
bool rnp_answers_in_part(const struct rnp_engine *e, rn_ns now);

/* With the sockets on, those that are held leave in time by a timer. */
void rnp_answers_limit(struct rnp_engine *e, rn_ns now);

/* Have they been held for so long? Then it counts from anew. */
bool rnp_answers_waited(struct rnp_progress *p, rn_ns now);

/* After a poll: the program has what it polled for, and will stop polling. */
bool rnp_answers_leaves(struct rnp_engine *e);
/* Before that: if it was to stop, it has not. */
void rnp_answers_polled(struct rnp_progress *p);

/* May the program's threads have the sockets from its first empty poll on? */
bool rnp_answers_may_lease(const struct rnp_progress *p);

/* It had them, and stopped polling all the same. */
void rnp_answers_deceived(struct rnp_progress *p);

/* ---------------------------------------------------------------- posting.c */
/* A thread of the program polls. */
void rnp_posting_polled(struct rnp_engine *e);

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

/* --------------------------------------------------------------- realtime.c */
/* If the calling thread is in a real-time class the background thread is above it from
 * now on, as far as the process may.
 */
void rnp_realtime_follow(struct rnp_engine *e);

/* ---------------------------------------------------------- rocind_events.c */
/* Take all that rocind has said. */
void rnp_rocind_events(struct rnp_engine *e);

/* The link of the device, for the program. */
void rnp_set_link(struct rnp_engine *e, bool up);

/* ------------------------------------------------------------------ local.c */
/* False: the engine wants no local wires. */
bool rnp_local_cfg(struct rnp_engine *e, unsigned slot, struct rn_local_cfg *cfg);

/* RN_ROCIND_WIRE or RN_ROCIND_WIRE_DOWN; takes its descriptors. */
void rnp_local_event(struct rnp_engine *e, const struct rn_rocind_event *ev);

/* After a poll of the program, for rnp_engine_yield(). @found: packets, so that more are
 * likely on their way.
 */
void rnp_local_note_life(struct rnp_engine *e, bool found);

/* ----------------------------------------------------------------- engine.c */
/* The part of rnp_engine_attach() that follows rocind's answer; lock held. @a's sockets
 * are taken over, also on failure.
 */
int rnp_engine_start(struct rnp_engine *e, const struct rn_attach *a, char *err,
		     size_t err_len);

#endif /* RNP_ENGINE_INTERNAL_H */
