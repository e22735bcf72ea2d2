/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* engine_internal.h - declarations that the files of the engine share.
 *
 *	engine.c	  the engines of this process: get, put, attach; multicast groups
 *	qp_records.c	  numbers of queue pairs, and their records in the statistics page
 *	progress.c	  the time, one step of the device, and the loop around the policy
 *	pause.c		  what a thread of the program does when a poll has found nothing
 *	background.c	  the background thread
 *	lock/front.h	  the first part of an engine: its lock, and short polls
 *	lock/lock.c	  the lock itself
 *	wait.c		  the descriptors that the background thread waits for, its timer
 *			  and its priority
 *	rocind_events.c	  changes of link and addresses, local wires, captures, faults
 *	tx_batch.c	  joins packets into super-packets
 *	wire.c		  the back ends below the core, and the MTU of the network
 *	pcie.c		  finds the library of the simulated PCIe hierarchy
 *	pin.c		  the limit on pinned memory
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
#include "lock/front.h"
#include "pcie.h"
#include "provider/policy/policy.h"
#include "provider/raw/raw_socket.h"
#include "provider/settings/settings.h"
#include "rocin/net.h"
#include "rocin/netdev.h"
#include "rocin/permutation.h"
#include "rocin/stats.h"
#include "rocin/types.h"
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

/* --------------------------------------------- numbers and records of queue pairs */
enum {
	RNP_QPN_COUNTERS = 65536,
	/* Maximum number of QP numbers that rest, that is, are not used again for a while
	 * after their release. If more are released, the oldest of them may be used again
	 * early.
	 */
	RNP_QPN_RESTING = 4096,
};

/* How long, in ns, a QP number "rests", that is, is not used again, after its queue pair
 * was destroyed. A peer with the usual timeouts goes on sending to a queue pair that does
 * not answer for less than this time.
 */
#define RNP_QPN_REST RN_MSEC(4000)

/* Allocator of the queue pair numbers of one process: (number << 8) | slot. A counter
 * runs through 1..65535 again and again, and a secret permutation turns each of its
 * values into the number. So a number stays unused for as long as possible, and nobody
 * can guess it. A number that was released less than RNP_QPN_REST ago is skipped, since
 * packets for its former queue pair may still be on their way.
 */
struct rnp_qpns {
	struct rn_permutation order;
	unsigned slot; /* number of the process at its address, 1..255 */
	uint32_t next; /* the value of the counter that is tried next */
	uint32_t live; /* number of QP numbers in use */
	/* Bit set, indexed by the number (the QP number without its low byte): the number
	 * is in use, or was released less than RNP_QPN_REST ago.
	 */
	uint64_t busy[RNP_QPN_COUNTERS / 64];
	struct {
		uint16_t number;
		rn_ns since;
	} rest[RNP_QPN_RESTING];
	/* Head and tail of the ring @rest, which has the released numbers that are not
	 * used again yet. Both only increase; modulo RNP_QPN_RESTING they are indices.
	 */
	uint32_t rest_head, rest_tail;
};

/* The records of one kind in a statistics page: those of QPs, or those of other objects.
 * Finding a free record takes equally long however many there are.
 */
struct rnp_records {
	/* Bit sets. A bit in @used says that the record with this index is in use. A bit
	 * in @full says that the word of @used with this index has all 64 bits set.
	 */
	uint64_t used[RN_STATS_RECORDS_MAX / 64];
	uint64_t full[RN_STATS_RECORDS_MAX / 64 / 64];
	/* Number of records that have memory. Readers have a copy of this number in the
	 * page, but the engine does not use the copy: another process of this user may
	 * have overwritten it.
	 */
	uint32_t capacity;
};

/* Statistics of one device in this process, in memory that rocind and `rocin stat` can
 * read (include/rocin/stats.h). The page grows for queue pairs and other objects without
 * moving, because address space for all of them is reserved at once. Where memfd_create()
 * is forbidden the page is private memory that no other process sees.
 */
struct rnp_stats {
	struct rn_stats_page *page;
	int fd;	      /* memfd of the page; -1: private memory */
	int share_fd; /* the same file, opened for reading only; -1: there is none */
	struct rnp_records qps, objects;
};

/* ----------------------------------------------------- back ends below the core */
/* The back ends of a device, which carry its packets:
 *
 * core -> [faults] -> [capture] -> [tap] -> [local wires] -> UDP sockets
 *
 * Faults and captures are inserted and removed while the device is in use. Tap and
 * capture stand behind the faults, so that they record what really leaves. Local wires
 * are shared-memory links to other processes of this machine.
 */
struct rnp_wire {
	/* first back end of the chain; NULL before opening and after closing */
	struct rn_net *net;
	struct rn_udp *udp;
	struct rn_local *local;	    /* local wires; NULL: all packets go by UDP */
	struct rn_tap *tap;	    /* simple capture file (ROCIN_PCAP); NULL: none */
	struct rn_capture *capture; /* captures of packets; NULL: none is running */
	/* capture file, written from @capture, which owns it; NULL: none */
	struct rn_capture_log *log;
	struct rn_fault *fault; /* applies fault rules; NULL: no rule is about packets */
};

enum {
	RNP_FAULT_CACHE = 256, /* number of entries of rnp_faults.cache */
};

/* The fault rules of one device. */
struct rnp_faults {
	/* rules of ROCIN_FAULT, and rules received from rocind; NULL: none */
	struct rn_fault_rules *own, *live;
	/* The rules of @own and @live that are about verbs calls; NULL: none. The pointer
	 * is changed with the engine lock held, and read without it.
	 */
	struct rn_fault_rules *_Atomic calls;
	/* value of the counter of struct rnp_qpns from which the first QP number of the
	 * process was made
	 */
	uint32_t first;
	/* @is_cut: a fault rule has taken the link down; @was_up: the state that the link
	 * would have without that rule
	 */
	bool is_cut, was_up;
	/* hash of the remote QP number -> index of a record in the statistics page */
	uint32_t cache[RNP_FAULT_CACHE];
};

/* Sockets by which the kernel is asked for the path MTU, one for each address of a
 * device. Zero-initialized. No call on them blocks.
 */
struct rnp_path_mtu {
	struct {
		struct rn_gid src; /* the address that the socket is bound to */
		int fd;		   /* the socket; 0: not opened yet */
	} path[RN_GID_MAX];
};

/* The ICMP probe: a datagram that finds out whether a peer is silent because its host
 * refuses packets to port 4791. The engine sends it only when rn_dev_silent() has
 * reported such a peer.
 */
struct rnp_icmp_probe {
	int fd; /* socket of the last probe, while no answer has come; -1: none */
	struct rn_gid peer; /* host that was probed last */
	struct rn_gid said; /* host whose refusal was logged last */
	rn_ns next;	    /* time before which no other probe is sent */
};

/* ----------------------------------- descriptors that the background thread waits for */
enum {
	/* Maximum number of descriptors in a set: some of the device, a socket for each
	 * address, and those that were removed while io_uring has not yet ended their
	 * requests.
	 */
	RNP_WAIT_MAX = 4 * RN_GID_MAX,
	RNP_WAIT_TAGS = 31,
};

/* Returned by rnp_wait_sleep() when the program has closed the epoll set. */
#define RNP_WAIT_BROKEN (1u << 31)

struct rnp_wait_source {
	int fd; /* the descriptor; -1: this entry is free */
	uint8_t tag;
	bool on;
	/* taken out of the epoll set while it is switched off, see rnp_wait_rest() */
	bool rests;
	/* removed by rnp_wait_remove(), but its request to io_uring has not ended */
	bool gone;
	bool pending; /* an io_uring request to poll @fd is under way */
	/* a request to cancel the poll request is under way; it may fail */
	bool cancelled;
};

/* A set of descriptors, in one of two forms: an epoll set, or poll requests to io_uring.
 * Both are level-triggered: a descriptor that was not read to its end wakes the thread at
 * once. A descriptor that was switched off may wake the thread once more.
 *
 * The program's threads change the set while the background thread sleeps. They change an
 * epoll set themselves. Requests to io_uring can be made only by the thread that waits
 * for them, so that thread is woken to make them. Switching the sockets off needs no
 * wake-up, as a request ends with the first packet and is not made again.
 */
struct rnp_wait {
	int epoll_fd;		/* the epoll set; empty while @uring is used */
	struct rn_uring *uring; /* io_uring; NULL: epoll is used */
	bool has_begun;		/* the thread that sleeps has registered with @uring */
	bool is_asleep;
	bool is_woken; /* @wake_fd was written to, because the set has changed */
	int wake_fd;
	struct rnp_wait_source source[RNP_WAIT_MAX];

	/* @nappers: number of threads of the program that nap, that is, sleep until the
	 * background thread has received packets. @calls: the futex on which they sleep;
	 * it counts how often they were woken.
	 */
	_Atomic uint32_t nappers, calls;
};

/* Kind of a descriptor in the set of an engine. */
enum rnp_tag {
	RNP_TAG_TIMER,
	RNP_TAG_WAKE, /* the thread must end, or accesses to memory have completed */
	RNP_TAG_ROCIND,
	RNP_TAG_SOCKET,
	RNP_TAG_LOCAL, /* pipe: a peer has put packets into a ring in shared memory */
};

/* ----------------------------------------------------------------- the engine itself */
/* State that exists once per process and that a fork() child must not inherit: it lives
 * in a page that the kernel zeroes in the child (MADV_WIPEONFORK). In the child the lock
 * is free, the list of engines is empty, and the epoch is a new one. In a child, an
 * engine of an older epoch belongs to the parent; its copied memory may be in any state,
 * and is not used.
 */
struct rnp_process {
	pthread_mutex_t lock; /* guards: the list @engines, and setting @epoch */
	/* time at which the process first used Rocin; 0: not used yet */
	_Atomic uint64_t epoch;
	struct rnp_engine *engines; /* linked through rnp_engine.next */
	/* pages that count as pinned by the process, of devices with ROCIN_PIN=limit */
	_Atomic uint64_t pinned;
};

/* The time that was passed to the core last, and how it was read. */
struct rnp_clock {
	rn_ns now;
	/* the processor's cycle counter at @now, if a post or a poll set it */
	uint64_t ticks;
	bool is_exact; /* the program reads completion timestamps */
};

struct rnp_owner {
	struct rnp_owner *next;
	void *owner;
};

struct rnp_engine {
	struct rnp_front front;
	struct rnp_engine *next;     /* list of rnp_process; guarded by its lock */
	struct rnp_process *process; /* the process that made the engine; never changes */
	uint64_t epoch; /* never changes: epoch of the process that made the engine */

	const struct rnp_engine_hooks *hooks;
	struct rnp_owner *owners;
	struct rn_netdev netdev;
	struct rn_gid gid[RN_GID_MAX]; /* the core's GID table; all zero: unused */
	struct rnp_path_mtu paths;
	struct rnp_settings set;
	/* Folder with the simulated sysfs files, which the engine keeps up to date; NULL:
	 * none. Never changes.
	 */
	char *tree;
	struct rnp_stats stats;
	struct rnp_pcie pcie; /* PCIe hierarchy; never changes */
	struct rn_dev *dev;

	bool attached;
	/* IBV_EVENT_DEVICE_FATAL was raised; set under the lock, read without it */
	_Atomic bool dead;
	/* connection to rocind; NULL: not attached, or rocind has ended, or a test has
	 * given the sockets without rocind
	 */
	struct rn_rocind *rocind;
	struct rnp_qpns qpns;
	struct rnp_wire wire;
	struct rnp_faults faults;
	struct rnp_tx_batch batch;
	struct rnp_icmp_probe icmp_probe;
	struct rnp_raw_link raw; /* Ethernet frames of raw packet QPs */
	struct rnp_policy policy;
	rn_ns descriptors_seen; /* time of the last poll that checked the descriptors */
	/* CPU-time clock of the thread whose poll renewed the lease last. (A lease is a
	 * time for which polls receive, and not the background thread.)
	 */
	clockid_t poller;
	/* processor on which a real-time thread polled last; -1: not known */
	int poller_at;
	/* Number of yields since the last expensive one (RNP_YIELD_DEAR); every
	 * TIMED_YIELDS-th of them is timed (pause.c). Threads may overwrite each other's
	 * count.
	 */
	_Atomic uint32_t yields;
	struct rnp_clock clock;
	rn_ns looked_at; /* when a step last looked for packets */
	/* number of steps in a row that left packets in the socket */
	uint32_t not_dry;
	bool is_blocked;     /* the socket was full, so packets wait */
	bool is_raw_blocked; /* the packet socket was full, so a frame waits */

	pthread_t thread;
	bool has_thread;
	int realtime; /* real-time priority requested for the thread; 0: none */
	bool closing;
	struct rnp_wait wait;
	/* timerfd and eventfd of the background thread; -1: none */
	int timer_fd, wake_fd;
};

/* Does the engine belong to the parent of this process? */
static inline bool rnp_is_inherited(const struct rnp_engine *e)
{
	return atomic_load_explicit(&e->process->epoch, memory_order_relaxed) != e->epoch;
}

/* Does the engine have sockets? It has none before attaching, and after rocind has ended.
 */
static inline bool rnp_has_sockets(const struct rnp_engine *e)
{
	return e->attached && e->wire.net;
}

/* ----------------------------------------------------------------- engine.c */
/* Opens the back ends and starts the background thread: the part of rnp_engine_attach()
 * after rocind's answer. The engine lock is held. The engine owns the sockets of @a from
 * now on, also on failure.
 */
int rnp_engine_start(struct rnp_engine *e, const struct rn_attach *a, char *err,
		     size_t err_len);

/* Returns the struct rnp_process of this process, which it creates if there is none yet.
 * Returns NULL if there is not enough memory.
 */
struct rnp_process *rnp_process(void);

/* Takes @p->lock, and sets the epoch of this process if it has none. */
void rnp_process_lock(struct rnp_process *p);
void rnp_process_unlock(struct rnp_process *p);

/* ------------------------------------------------------------- qp_records.c */
/* The functions of this section take no lock. rnp_qpns_init() initializes the allocator.
 */
void rnp_qpns_init(struct rnp_qpns *q, unsigned slot, uint32_t counter, uint64_t secret);

/* Returns the counter, 1..65535, from which a QP number of this process was made. */
uint32_t rnp_qpns_counter(const struct rnp_qpns *q, uint32_t qpn);

/* Allocates a QP number. Return: 0 with *@qpn, or -ENOMEM: all numbers are in use, or
 * were released less than RNP_QPN_REST ago.
 */
int rnp_qpns_take(struct rnp_qpns *q, rn_ns now, uint32_t *qpn);

/* Releases @qpn, which is not used again for RNP_QPN_REST. */
void rnp_qpns_give(struct rnp_qpns *q, rn_ns now, uint32_t qpn);

/* Creates and maps the statistics page of device @ibdev. Return: 0 or -ENOMEM. */
int rnp_stats_open(struct rnp_stats *s, const char *ibdev);

/* Unmaps the page and closes its descriptors. */
void rnp_stats_close(struct rnp_stats *s);

/* Allocates a zeroed record for a queue pair. Returns NULL if there is not enough memory;
 * the queue pair then works without a record.
 */
struct rn_stats_qp *rnp_stats_take(struct rnp_stats *s);

/* Releases a record; NULL is ignored. */
void rnp_stats_give(struct rnp_stats *s, struct rn_stats_qp *rec);

/* Records an object other than a queue pair in the statistics page, as @o describes it.
 * Returns NULL if there is not enough memory or room, which a counter in the page counts;
 * the object then works without a record.
 */
struct rn_stats_object *rnp_stats_record(struct rnp_stats *s,
					 const struct rn_stats_object *o);
/* Releases the record of an object; does nothing if @rec is NULL. */
void rnp_stats_forget(struct rnp_stats *s, struct rn_stats_object *rec);

/* --------------------------------------------------------------- progress.c */
/* Returns the time for a poll. It is at most two microseconds old, and not before the
 * time that was passed to the core last. If the program reads completion timestamps, it
 * is exact.
 */
rn_ns rnp_clock_poll_time(struct rnp_engine *e);

enum {
	/* maximum number of super-packets that one call of the program receives */
	RNP_DRAIN_APP = 8,
	RNP_DRAIN_BACKGROUND = 64,
};

/* Performs one step: receives, lets timers expire, sends, and handles the core's events.
 * @drain: maximum number of super-packets to receive. @acks says whether acknowledgements
 * leave in this step. Return: number of super-packets received.
 */
unsigned rnp_engine_step(struct rnp_engine *e, rn_ns now, unsigned drain,
			 enum rnp_acks acks);

void rnp_engine_take_events(struct rnp_engine *e);

/* Performs a step in a poll of the program, and tells the policy. */
void rnp_progress_poll(struct rnp_engine *e);

/* Performs a step in the background thread, which was woken. */
void rnp_progress_background(struct rnp_engine *e, bool timer_fired);

/* Hands completed accesses to memory to the core, and sends the packets that had to wait
 * for these accesses. The background thread calls it, whether it or the program receives
 * packets at the time.
 */
void rnp_progress_memory(struct rnp_engine *e);

/* Sets the timer for the next deadline of the core, which may have changed. Does nothing
 * unless the background thread waits for packets (RNP_ARMED).
 */
void rnp_progress_deadline(struct rnp_engine *e, rn_ns now);

/* Performs the actions @todo of the policy (bits of enum rnp_action, not 0), except those
 * that receive packets or look for them again.
 */
void rnp_progress_perform(struct rnp_engine *e, unsigned todo);

/* Performs RNP_GIVE_SOCKETS: switches the sockets on, so that the background thread
 * receives from now on, and then receives the packets that came before. @todo: the
 * actions of which this is one. Return: number of super-packets received.
 */
unsigned rnp_progress_give_sockets(struct rnp_engine *e, rn_ns now, unsigned todo);

/* Makes the device dead: closes its sockets and raises IBV_EVENT_DEVICE_FATAL. @robbed:
 * the program has closed descriptors of the device; otherwise rocind has ended.
 */
void rnp_engine_die(struct rnp_engine *e, bool robbed);

/* Makes the device dead if the program has closed one of its descriptors by a bare system
 * call, because the number of such a descriptor may be that of another file now. The
 * engine calls it every DESCRIPTORS_EVERY and not with each step, as it makes some system
 * calls.
 */
void rnp_check_descriptors(struct rnp_engine *e);

/* ------------------------------------------------------------- background.c */
/* Opens the set of descriptors, the timer and the eventfd of the background thread, and
 * starts the thread. Return: 0, or -errno with an error text.
 */
int rnp_background_start(struct rnp_engine *e, char *err, size_t err_len);

/* Ends the background thread, waits for it, and closes its descriptors. The engine lock
 * is not held. Return: false if the thread could not be ended; then @e must not be freed.
 */
bool rnp_background_stop(struct rnp_engine *e);

/* --------------------------------------------------------------------- wait.c */
/* Switches all sockets in the set on or off: only those that are on wake the background
 * thread. Return: false if a socket could not be added to the epoll set again; then all
 * are off.
 */
bool rnp_background_listen(struct rnp_engine *e, bool on);

/* Removes the sockets from the epoll set. They are off, and the caller expects them to
 * stay off for a while.
 */
void rnp_background_rest(struct rnp_engine *e);

/* Adds a descriptor to the set. Return: 0 or -errno. */
int rnp_background_add(struct rnp_engine *e, int fd, enum rnp_tag tag, bool on);

/* Removes a descriptor from the set. The caller must do so before it closes the
 * descriptor, since a copy in a fork() child would keep it in the set for ever. -1 is
 * ignored.
 */
void rnp_background_remove(struct rnp_engine *e, int fd);

void rnp_background_set_timer(struct rnp_engine *e, rn_ns at);

/* Wakes the background thread; from any thread, never blocks. */
void rnp_background_wake(struct rnp_engine *e);

/* If the calling thread is in a real-time class, gives the background thread a higher
 * priority than that thread has, as far as the process may.
 */
void rnp_background_outrank(struct rnp_engine *e);

/* The set of descriptors, without an engine. The caller holds the same lock in all calls;
 * rnp_wait_sleep() releases it while it sleeps, as pthread_cond_wait() does. Only one
 * thread sleeps.
 *
 * After rnp_wait_init() nothing is open: rnp_wait_close(), rnp_wait_remove() and
 * rnp_wait_switch() do nothing.
 */
void rnp_wait_init(struct rnp_wait *w);

/**
 * rnp_wait_open() - Create a set
 * @wake_fd: An eventfd that the caller adds to the set after this call; written to when
 *	the thread must look at the set anew
 * @uring: Use io_uring, not epoll
 *
 * Return: 0 or -errno; if io_uring fails, an error of rn_uring_open(), with an
 * error text.
 */
int rnp_wait_open(struct rnp_wait *w, int wake_fd, bool uring, char *err, size_t err_len);

/* Ends the requests to io_uring of the calling thread, which has slept on the set and
 * will not sleep again. Otherwise sockets that are closed afterwards would stay open.
 */
void rnp_wait_end(struct rnp_wait *w, struct rnp_lock *lock);

/* Closes the set, after the thread has ended or was never started. */
void rnp_wait_close(struct rnp_wait *w);

/* Adds @fd to the set, with a tag below RNP_WAIT_TAGS. Return: 0, -EEXIST, -ENOSPC, or
 * the error of epoll_ctl().
 */
int rnp_wait_add(struct rnp_wait *w, int fd, unsigned tag, bool on);

/* Switches on or off whether @fd wakes the thread. A descriptor that is not in the set is
 * ignored. Return: 0; or the error of epoll_ctl() if @fd was taken out of the epoll set
 * by rnp_wait_rest() and cannot be added again: @fd then remains off.
 */
int rnp_wait_switch(struct rnp_wait *w, int fd, bool on);

/* Removes the descriptors that are off from the epoll set. The caller expects them to
 * stay off for a while. A packet's sender spends time on every epoll set that the
 * receiving socket is in, even while the socket is off.
 */
void rnp_wait_rest(struct rnp_wait *w);

/* Removes @fd from the set. The caller must do so before it closes @fd, since a copy in a
 * fork() child would keep it in an epoll set for ever. A descriptor that is not in the
 * set is ignored.
 */
void rnp_wait_remove(struct rnp_wait *w, int fd);

/* Releases @lock, sleeps until a descriptor is readable, and takes @lock again. Return: a
 * bit mask of the tags of readable descriptors, which may be 0; or RNP_WAIT_BROKEN alone.
 */
uint32_t rnp_wait_sleep(struct rnp_wait *w, struct rnp_lock *lock);

/* Functions by which a thread of the program naps: it calls rnp_wait_nap_begin() with the
 * engine lock held, rnp_wait_nap() without it, and rnp_wait_nap_end(). The nap ends after
 * @ns, or at once if another thread has called rnp_wait_call() since it began. The
 * background thread calls that function whenever it has run.
 */
static inline uint32_t rnp_wait_nap_begin(struct rnp_wait *w)
{
	atomic_fetch_add(&w->nappers, 1);
	return atomic_load(&w->calls);
}

static inline void rnp_wait_nap_end(struct rnp_wait *w)
{
	atomic_fetch_sub(&w->nappers, 1);
}

void rnp_wait_nap(struct rnp_wait *w, uint32_t begun, rn_ns ns);
void rnp_wait_call(struct rnp_wait *w);

/* ---------------------------------------------------------- rocind_events.c */
/* Receives and handles all messages of rocind that have come. */
void rnp_rocind_events(struct rnp_engine *e);

/* Fills in @cfg, the settings of local wires (shared memory between processes of this
 * machine). Return: false if the engine uses none.
 */
bool rnp_local_cfg(struct rnp_engine *e, unsigned slot, struct rn_local_cfg *cfg);

/* Reads the fault rules of ROCIN_FAULT when the device is opened, and applies those about
 * verbs calls. Return: 0, or -ENOMEM with an error text.
 */
int rnp_fault_open(struct rnp_engine *e, char *err, size_t err_len);

/* Applies the fault rules about packets, now that the device has its sockets. @first:
 * value of the counter from which the first QP number of the process was made. Return: 0,
 * or -ENOMEM with an error text.
 */
int rnp_fault_start(struct rnp_engine *e, uint32_t first, char *err, size_t err_len);

/* Replaces the fault rules that came from rocind by the text in the file @fd, and closes
 * @fd; if @fd is -1, by no rules. If the text cannot be understood, logs that, and there
 * are no rules from rocind.
 */
void rnp_fault_live(struct rnp_engine *e, int fd, uint64_t generation);

/* Notes that the link of the interface is up or down. While a fault rule has taken the
 * device's link down, it stays down.
 */
void rnp_fault_link(struct rnp_engine *e, bool up);

/* Frees the fault rules. */
void rnp_fault_free(struct rnp_engine *e);

/* Returns the number of the local QP of the engine @ctx that is connected to QP @dest_qpn
 * at the destination of @flow; 0 if there is none.
 */
uint32_t rnp_find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);

/* Starts the capture log if ROCIN_PCAP asks for one, see rn_capture_log_open(). Return:
 * 0, or -errno with an error text.
 */
int rnp_capture_start(struct rnp_engine *e, unsigned slot, char *err, size_t err_len);

/* --------------------------------------------------------------------- wire.c */
/**
 * rnp_wire_open() - Build the chain of back ends on sockets
 * @w: Out
 * @cfg: Sockets; the chain owns them from now on, also on failure
 * @local: Settings of local wires, except the field @udp; NULL: no local wires
 * @set: Settings; ROCIN_PCAP is used if it names a simple capture file (tap)
 *
 * Return: 0, or -errno with an error text.
 */
int rnp_wire_open(struct rnp_wire *w, const struct rn_udp_cfg *cfg,
		  const struct rn_local_cfg *local, const struct rnp_settings *set,
		  char *err, size_t err_len);

/* Inserts the back end that applies fault rules at the front of the chain. The chain must
 * not have one yet. The arguments are those of rn_fault_new(). Return: 0 or -ENOMEM.
 */
int rnp_wire_add_fault(struct rnp_wire *w, bool has_begun, uint64_t *stats,
		       const struct rn_fault_host *host, void *host_ctx);

/* Removes the back end of fault rules if it holds no packets back. */
void rnp_wire_remove_fault(struct rnp_wire *w);

/* Inserts the back end that captures packets; see rn_capture_new(). Return: 0 or -ENOMEM.
 */
int rnp_wire_add_capture(struct rnp_wire *w, const struct rn_capture_host *host,
			 void *host_ctx);
void rnp_wire_remove_capture(struct rnp_wire *w);

/* Does this process write a capture to a file? */
static inline bool rnp_wire_has_file(const struct rnp_wire *w)
{
	return w->log || w->tap;
}

/* Returns the time at which the caller should call rnp_wire_flush(), which writes the
 * buffered packets of captures to their files; RN_NEVER if nothing is buffered.
 */
rn_ns rnp_wire_flush_due(const struct rnp_wire *w);
void rnp_wire_flush(struct rnp_wire *w);

/* Writes all that captures have buffered, without waiting for more packets, because the
 * program may end now.
 */
void rnp_wire_finish_files(struct rnp_wire *w);

/* Frees the chain: closes the sockets and ends the captures. Does nothing if the chain is
 * not open.
 */
void rnp_wire_close(struct rnp_wire *w);

/* Sets the receive buffer of @fd, a socket that rocind has opened, to the size of
 * ROCIN_RCVBUF. Does nothing if that is not set.
 */
void rnp_limit_socket(const struct rnp_engine *e, int fd);

/* Sets the functions by which the device accesses memory, in struct rn_dev_cfg. */
void rnp_set_memory(struct rn_dev_cfg *cfg, const struct rnp_pcie *pcie);

void rnp_path_mtu_close(struct rnp_path_mtu *p);

void rnp_icmp_probe_init(struct rnp_icmp_probe *k);
void rnp_icmp_probe_end(struct rnp_icmp_probe *k);

/* Sends an ICMP probe if timers have run out because a peer is silent. Looks for the
 * answer at once, because on loopback it comes immediately; and again when the next timer
 * runs out.
 */
void rnp_icmp_probe_silent(struct rnp_engine *e, rn_ns now);

#endif /* RNP_ENGINE_INTERNAL_H */
