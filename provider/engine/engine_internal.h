/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_internal.h - the inside of the engine.
 *
 *   engine.c	       the engines of this process: get, put, attach; multicast groups
 *   qp_records.c      numbers of queue pairs, and their records in the statistics page
 *   policy.c	       who makes progress, when a post leaves and when an ACK does
 *   progress.c	       the time, one step of the device, and the loop around the policy
 *   background.c      the background thread
 *   wait.c	       what the background thread sleeps on, its timer and its priority
 *   rocind_events.c   what comes and goes: link, addresses, local wires, captures, faults
 *   tx_batch.c	       joins packets into super-packets
 *   wire.c	       the back ends below the core, and what the network carries
 *   pcie.c	       finds the library of the simulated PCIe hierarchy
 *   settings.c	       settings from the environment
 *
 * The engine lock guards everything here unless a comment says otherwise.
 */
#ifndef RNP_ENGINE_INTERNAL_H
#define RNP_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "engine.h"
#include "pcie.h"
#include "policy.h"
#include "provider/raw/raw_socket.h"
#include "rocin/net.h"
#include "rocin/netdev.h"
#include "rocin/stats.h"
#include "rocin/types.h"
#include "settings.h"
#include "transport/io/shm/net_local.h"
#include "transport/io/udp/net_udp.h"
#include "tx_batch.h"

struct rn_attach;
struct rn_capture;
struct rn_capture_host;
struct rn_capture_log;
struct rn_dev_cfg;
struct rn_fault_host;
struct rn_fault_rules;
struct rn_rocind;
struct rn_rocind_tap;
struct rn_tap;
struct rn_uring;

/* ---------------------------------------------------------- what queue pairs have */
enum {
	RNP_QPN_COUNTERS = 65536,
	/* At most so many numbers rest; beyond that the oldest may be used again early.
	 */
	RNP_QPN_RESTING = 4096,
	RNP_STATS_QP_MAX = 65536,
};

/* A QP number rests for so long after its queue pair was destroyed: longer than a peer
 * goes on sending to a queue pair that does not answer, with the usual timeouts.
 */
#define RNP_QPN_REST RN_MSEC(4000)

/* Queue pair numbers of one process: (counter << 8) | slot. The counter runs through
 * 1..65535 and begins anew, so a number rests as long as it can. A number that was used
 * less than RNP_QPN_REST ago is passed over even then, since packets for its former queue
 * pair may still be on their way.
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

/* The statistics of one device in this process, where rocind and `rocin stat` can read
 * them (include/rocin/stats.h). The page grows for queue pairs without moving, because
 * address space for all of them is reserved at once. Where memfd_create() is forbidden
 * the page is private memory that nobody else sees.
 */
struct rnp_stats {
	struct rn_stats_page *page;
	int fd;	       /* -1: private memory */
	int share_fd;  /* of the same file, for readers; -1: none */
	uint32_t hint; /* index of the record to look at first */
	uint64_t used[RNP_STATS_QP_MAX / 64];
};

/* --------------------------------------------------------------- below the core */
/* The back ends of a device:
 *
 *	core -> [faults] -> [capture] -> [tap] -> [local wires] -> UDP sockets
 *
 * Tap and capture stand next to the wire: they show what really leaves. Faults and
 * captures come and go while the rest stays.
 */
struct rnp_wire {
	struct rn_net
		*net; /* the first of the chain; NULL before opening, after closing */
	struct rn_udp *udp;
	struct rn_local *local;	    /* NULL: all packets go by UDP */
	struct rn_tap *tap;	    /* NULL: no classic capture file */
	struct rn_capture *capture; /* NULL: nobody captures */
	struct rn_capture_log *log; /* file of @capture, which owns it; or NULL */
	struct rn_fault *fault;	    /* NULL: no rule is about packets */
};

enum {
	RNP_FAULT_CACHE = 256, /* QPs of peers whose local QP is remembered */
};

/* The rules about faults of one device. */
struct rnp_faults {
	struct rn_fault_rules *own, *live; /* of the environment, from rocind; or NULL */
	struct rn_fault_rules *calls;	   /* those of both about calls; or NULL */
	uint32_t first;	     /* counter of the first QP number of the process */
	bool is_cut, was_up; /* a rule has cut the link; the link without that rule */
	uint32_t cache[RNP_FAULT_CACHE]; /* indices of records in the statistics page */
};

/* Sockets that ask the kernel for the path MTU from each address of a device; zeros to
 * begin with. No call on them waits.
 */
struct rnp_path_mtu {
	struct {
		struct rn_gid src; /* the address that the socket is bound to */
		int fd;		   /* 0: none yet */
	} path[RN_GID_MAX];
};

/* The ICMP probe: is a peer silent because its host refuses packets to port 4791? A probe
 * is sent only after a queue pair has waited for its peer in vain, twice in a row.
 */
struct rnp_icmp_probe {
	int fd;		    /* of the last probe, while no answer has come; -1 */
	struct rn_gid peer; /* the host that was probed last */
	struct rn_gid said; /* the host that a line was logged about last */
	rn_ns next;	    /* no other probe is sent before that time */
};

/* ----------------------------------------------- what the background thread sleeps on */
enum {
	/* Descriptors: some for the device, a socket for each address, and those that
	 * were removed but whose requests to io_uring have not ended.
	 */
	RNP_WAIT_MAX = 4 * RN_GID_MAX,
	RNP_WAIT_TAGS = 31,
};

/* What rnp_wait_sleep() returns when the program has closed the epoll set. */
#define RNP_WAIT_BROKEN (1u << 31)

struct rnp_wait_source {
	int fd; /* -1: free */
	uint8_t tag;
	bool on;
	bool rests;	/* taken out of the epoll set while it is off */
	bool gone;	/* removed, but its request has not ended */
	bool pending;	/* a request is under way ... */
	bool cancelled; /* ... and another that ends it, which may fail */
};

/* A set of descriptors, in one of two forms: an epoll set, or requests to io_uring. They
 * behave alike: descriptors are looked at again each time, so one that was not read to
 * its end wakes the thread at once. One that was switched off may wake the thread once
 * more.
 *
 * The program's threads change the set while the background thread sleeps. An epoll set
 * they can change themselves. Requests to io_uring are served by the thread that made
 * them, so that thread is woken to make others. Switching the sockets off needs no
 * wake-up, as a request ends with the first packet and is not made again.
 */
struct rnp_wait {
	int epoll_fd;		/* an empty set while there is @uring */
	struct rn_uring *uring; /* NULL: epoll */
	bool has_begun;		/* the thread has made itself known to @uring */
	bool is_asleep;
	bool is_woken; /* by a change of the set */
	int wake_fd;
	struct rnp_wait_source source[RNP_WAIT_MAX];
};

/* What a descriptor in the set of an engine is. */
enum rnp_tag {
	RNP_TAG_TIMER,
	RNP_TAG_WAKE, /* the thread is to end, or memory has answered */
	RNP_TAG_ROCIND,
	RNP_TAG_SOCKET,
	RNP_TAG_LOCAL, /* a peer has put packets into a ring */
};

/* ----------------------------------------------------------------- the engine itself */
/* What there is once per process, and what a fork() child must not inherit. It lives in a
 * page that the kernel zeroes in a child (MADV_WIPEONFORK). In the child the lock is
 * free, the list of engines is empty, and the epoch is another: an engine that was made
 * in an older epoch belongs to the parent, whatever state its memory was copied in.
 */
struct rnp_process {
	pthread_mutex_t lock;	    /* guards: engines, the first store to epoch */
	_Atomic uint64_t epoch;	    /* 0: nobody has asked yet */
	struct rnp_engine *engines; /* linked through rnp_engine.next */
};

/* The time that the core was told last. */
struct rnp_clock {
	rn_ns now;
	uint64_t ticks; /* the processor's counter when a post or a poll read it last */
	bool is_exact;	/* a program reads times of completions */
};

struct rnp_owner {
	struct rnp_owner *next;
	void *owner;
};

struct rnp_engine {
	struct rnp_engine *next;     /* rnp_process.lock */
	struct rnp_process *process; /* constant */
	uint64_t epoch;		     /* constant: of the process that made the engine */

	pthread_mutex_t lock;
	const struct rnp_engine_hooks *hooks;
	struct rnp_owner *owners;
	struct rn_netdev netdev;
	struct rn_gid gid[RN_GID_MAX]; /* as the core has it; all zero: unused */
	struct rnp_path_mtu paths;
	struct rnp_settings set;
	char *tree; /* constant: the folder in which the preloaded library shows our
		     * files; or NULL
		     */
	struct rnp_stats stats;
	struct rnp_pcie pcie; /* constant */
	struct rn_dev *dev;

	bool attached;
	_Atomic bool dead;	  /* DEVICE_FATAL; set under the lock, read anywhere */
	struct rn_rocind *rocind; /* NULL: a test gave the sockets, or rocind has ended */
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
	/* The next packet is likely close behind, so a thread that polls in vain does not
	 * yield. Written under the lock, or because the lock was taken.
	 */
	atomic_bool is_lively;
	struct rnp_clock clock;
	rn_ns looked_at;     /* when the last step looked for packets */
	uint32_t not_dry;    /* steps in a row that left packets in the socket */
	bool is_blocked;     /* the socket took no more: packets wait */
	bool is_raw_blocked; /* likewise a frame */

	pthread_t thread;
	bool has_thread;
	int realtime; /* priority that was asked for the thread; 0: none */
	bool closing;
	struct rnp_wait wait;
	int timer_fd, wake_fd; /* -1: none */
};

/* Does the engine belong to the parent of this process? */
static inline bool rnp_is_inherited(const struct rnp_engine *e)
{
	return atomic_load_explicit(&e->process->epoch, memory_order_relaxed) != e->epoch;
}

/* False before attaching, and after the death of rocind. */
static inline bool rnp_has_sockets(const struct rnp_engine *e)
{
	return e->attached && e->wire.net;
}

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

/* ------------------------------------------------------------- qp_records.c */
/* None of these functions locks. */
void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter);

/* Return: 0 with *@qpn, or -ENOMEM: all numbers are in use or resting. */
int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn);

/* @qpn is free again after a rest. */
void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn);

/* Return: 0 or -ENOMEM. */
int rnp_stats_open(struct rnp_stats *s, const char *ibdev);

/* Unmaps and closes. */
void rnp_stats_close(struct rnp_stats *s);

/* A zeroed record, or NULL if memory for it is short: the queue pair works without one.
 */
struct rn_stats_qp *rnp_stats_take(struct rnp_stats *s);

/* NULL is ignored. */
void rnp_stats_give(struct rnp_stats *s, struct rn_stats_qp *rec);

/* --------------------------------------------------------------- progress.c */
/* A time for a poll: at most two microseconds ago, and not before what the core was told,
 * unless the program may see it: then now.
 */
rn_ns rnp_clock_poll_time(struct rnp_engine *e);

enum {
	RNP_DRAIN_APP = 8, /* super-packets per call of the program */
	RNP_DRAIN_BACKGROUND = 64,
};

/* Receive, expire, transmit, take events. Return: super-packets received. */
unsigned rnp_engine_step(struct rnp_engine *e, rn_ns now, unsigned drain,
			 enum rnp_acks acks);

void rnp_engine_take_events(struct rnp_engine *e);

/* One step by a thread of the program. */
void rnp_progress_poll(struct rnp_engine *e);

/* One step by the background thread, which was woken. */
void rnp_progress_background(struct rnp_engine *e, bool timer_fired);

/* Memory has answered: a step of the background thread, in either turn. */
void rnp_progress_memory(struct rnp_engine *e);

/* In RNP_ARMED the timer carries the deadlines of the core, which may have changed. */
void rnp_progress_deadline(struct rnp_engine *e, rn_ns now);

/* The device is dead: rocind has ended, or the program has closed descriptors (@robbed).
 */
void rnp_engine_die(struct rnp_engine *e, bool robbed);

/* Has the program closed a descriptor of the device by a bare system call? Then
 * the device is dead, and no number is used that may be another file's now. It makes some
 * system calls: to be called now and then.
 */
void rnp_check_descriptors(struct rnp_engine *e);

/* ------------------------------------------------------------- background.c */
/* Opens the set, the timer and the wake-up, and starts the thread. Return: 0 or -errno
 * with a sentence.
 */
int rnp_background_start(struct rnp_engine *e, char *err, size_t err_len);

/* Ends the thread, waits for it, and closes the descriptors; lock not held. Return: false
 * if the thread could not be ended: then @e must stay.
 */
bool rnp_background_stop(struct rnp_engine *e);

/* --------------------------------------------------------------------- wait.c */
/* Switch all sockets in the set on or off. Return: false if the kernel has no room for a
 * socket that rested, so all are off.
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

/* Make the thread collect what memory has answered; any thread, never blocks. */
void rnp_background_wake(struct rnp_engine *e);

/* If the calling thread is in a real-time class the background thread is above it from
 * now on, as far as the process may.
 */
void rnp_background_outrank(struct rnp_engine *e);

/* The set alone. All calls are under one lock, which rnp_wait_sleep() gives up meanwhile,
 * as pthread_cond_wait() does. One thread sleeps.
 *
 * After rnp_wait_init() nothing is open: rnp_wait_close(), rnp_wait_remove() and
 * rnp_wait_switch() do nothing.
 */
void rnp_wait_init(struct rnp_wait *w);

/**
 * rnp_wait_open() - Make a set
 * @wake_fd:	An eventfd of the caller's that is in the set: written to when the thread
 *		must look at the set anew
 * @uring:	By io_uring
 *
 * Return: 0 or -errno; of io_uring, with a sentence, as rn_uring_open() has them.
 */
int rnp_wait_open(struct rnp_wait *w, int wake_fd, bool uring, char *err, size_t err_len);

/* The thread that slept and will not sleep again ends its requests, so that sockets that
 * are closed afterwards are gone.
 */
void rnp_wait_end(struct rnp_wait *w, pthread_mutex_t *lock);

/* The thread is gone, or there never was one. */
void rnp_wait_close(struct rnp_wait *w);

/* @tag < RNP_WAIT_TAGS. Return: 0, -EEXIST, -ENOSPC, or why epoll refuses @fd. */
int rnp_wait_add(struct rnp_wait *w, int fd, unsigned tag, bool on);

/* Wake the thread for @fd, or do not. A descriptor that is not in the set is ignored.
 * Return: 0, or why epoll does not take back a descriptor that rested: it is off still.
 */
int rnp_wait_switch(struct rnp_wait *w, int fd, bool on);

/* What is off will stay so for a while, so it leaves the epoll set: a sender reports each
 * packet to a set that the socket is in, even while it is off.
 */
void rnp_wait_rest(struct rnp_wait *w);

/* Before @fd is closed: a fork() child may hold a copy, which would keep it in an epoll
 * set for ever. A descriptor that is not in the set is ignored.
 */
void rnp_wait_remove(struct rnp_wait *w, int fd);

/* Gives up @lock and sleeps until a descriptor is readable. Return: bits of their tags,
 * which may be none; or RNP_WAIT_BROKEN alone.
 */
uint32_t rnp_wait_sleep(struct rnp_wait *w, pthread_mutex_t *lock);

/* ---------------------------------------------------------- rocind_events.c */
/* Take all that rocind has said. */
void rnp_rocind_events(struct rnp_engine *e);

/* False: the engine wants no local wires. */
bool rnp_local_cfg(struct rnp_engine *e, unsigned slot, struct rn_local_cfg *cfg);

/* The device is opened: rules of the environment, as far as they are about calls, begin.
 * Return: 0 or -ENOMEM with a sentence.
 */
int rnp_fault_open(struct rnp_engine *e, char *err, size_t err_len);

/* The device has its sockets: rules about packets begin. @first: counter of the first QP
 * number. Return: as above.
 */
int rnp_fault_start(struct rnp_engine *e, uint32_t first, char *err, size_t err_len);

/* Other rules from rocind: a text in @fd, which is closed; -1: none. A text that cannot
 * be understood is logged, and means no rules.
 */
void rnp_fault_live(struct rnp_engine *e, int fd, uint64_t generation);

/* The interface's link is up or down now: the device's own stays down while a rule has
 * cut it.
 */
void rnp_fault_link(struct rnp_engine *e, bool up);

/* The device ends. */
void rnp_fault_free(struct rnp_engine *e);

/* The local QP of the engine @ctx that is connected to QP @dest_qpn at the other end of
 * @flow; 0: none.
 */
uint32_t rnp_find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);

/* Begin the log that ROCIN_PCAP asks for, if it does; see rn_capture_log_open(). Return:
 * 0 or -errno with a sentence.
 */
int rnp_capture_start(struct rnp_engine *e, unsigned slot, char *err, size_t err_len);

/* --------------------------------------------------------------------- wire.c */
/**
 * rnp_wire_open() - Build the chain on sockets
 * @w:		Out
 * @cfg:	Sockets; owned from now on, also on failure
 * @local:	Local wires, but for the field @udp; NULL: none
 * @set:	Capture, if it is a classic one
 *
 * Return: 0 or -errno with a sentence.
 */
int rnp_wire_open(struct rnp_wire *w, const struct rn_udp_cfg *cfg,
		  const struct rn_local_cfg *local, const struct rnp_settings *set,
		  char *err, size_t err_len);

/* Put faults in front, which are not there yet; see rn_fault_new(). Return: 0 or -ENOMEM.
 */
int rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
		       const struct rn_fault_host *host, void *host_ctx);

/* Take them away if they are idle. */
void rnp_wire_remove_fault(struct rnp_wire *w);

/* The same for captures: see rn_capture_new(). */
int rnp_wire_add_capture(struct rnp_wire *w, const struct rn_capture_host *host,
			 void *host_ctx);
void rnp_wire_remove_capture(struct rnp_wire *w);

/* Does this process write a capture to a file? */
static inline bool rnp_wire_has_file(const struct rnp_wire *w)
{
	return w->log || w->tap;
}

/* When rnp_wire_flush() should be called, for the captures of this process; RN_NEVER if
 * nothing is buffered.
 */
rn_ns rnp_wire_flush_due(const struct rnp_wire *w);
void rnp_wire_flush(struct rnp_wire *w);

/* The same, and as if no packet came any more: the program may end. */
void rnp_wire_finish_files(struct rnp_wire *w);

/* Closes the sockets and ends the capture. Harmless if nothing is open. */
void rnp_wire_close(struct rnp_wire *w);

/* Give a socket of rocind the receive buffer that the settings ask for. */
void rnp_limit_socket(const struct rnp_engine *e, int fd);

/* Fill in the memory of a device: what reaches it, and how; see struct rn_dev_cfg. */
void rnp_set_memory(struct rn_dev_cfg *cfg, const struct rnp_pcie *pcie);

void rnp_path_mtu_close(struct rnp_path_mtu *p);

void rnp_icmp_probe_init(struct rnp_icmp_probe *k);
void rnp_icmp_probe_end(struct rnp_icmp_probe *k);

/* Timers have run out: if that is about a silent peer, probe it. The answer to a probe is
 * looked for at once, as on loopback it has come, and when the next timer runs out.
 */
void rnp_icmp_probe_silent(struct rnp_engine *e, rn_ns now);

#endif /* RNP_ENGINE_INTERNAL_H */
