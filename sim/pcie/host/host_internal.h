/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_internal.h - declarations shared by the files host*.c. */
#ifndef RN_HOST_INTERNAL_H
#define RN_HOST_INTERNAL_H

#include <stdatomic.h>

#include "host.h"

enum {
	RN_HOST_INLINE = 64, /* bytes of a payload that are kept in its slot */
	/* Number of counters of empty polls. CQ rings share counters by a hash; a TLP of
	 * a shared counter may be released earlier than hold.polls says, never later.
	 */
	RN_HOST_RINGS = 16,
};

/* The payload of a TLP, and the poll counters at the time of its issue. */
struct rn_host_slot {
	struct rn_payload payload;
	uint32_t polls[RN_HOST_RINGS]; /* rn_host.ring_polls at the time of issue */
	uint16_t next;		       /* index of the next free slot */
	uint8_t bytes[RN_HOST_INLINE];
};

/* The recording of choices (record=FILE) and their replay (driver=replay). */
struct rn_host_tape {
	uint64_t events; /* events so far: calls of the program that issue or move TLPs */
	int fd;		 /* file that is recorded to, or -1 */
	size_t used;
	char text[4096]; /* text that is not written to the file yet */

	rn_ns last_event;

	bool is_on; /* recording or replaying; read without the lock */
	bool is_replaying;
	bool is_frozen; /* replay=/dev/null: TLPs move only when they are forced */
	struct rn_host_choice *choices;
	uint32_t count, room, next;
	uint64_t end; /* number of the event at which the recording ended */
	uint32_t idle_ticks;
};

struct rn_host {
	pthread_mutex_t lock;
	struct rn_fabric *fabric;
	/* Knobs of the fabric; devices keep pointers to them. */
	struct rn_pcie_knobs knobs;
	struct rn_driver driver;
	struct rn_host_tape tape;
	bool by_time; /* the bus thread moves TLPs now, not a call of the program */

	struct rn_host_slot *slots;
	uint32_t slot_count;
	uint16_t free_slot;
	uint8_t *large;	      /* payloads too long for their slots, indexed by slot */
	uint32_t large_bytes; /* size of each; no payload is longer */

	/* In a callback of the fabric, which may issue TLPs but must not move any. */
	bool is_busy;
	/* Number of TLPs on their way at the last unlock; read without the lock. */
	_Atomic uint32_t on_way;
	uint64_t polls; /* polls so far that found no new completion */
	uint32_t ring_polls[RN_HOST_RINGS];
	uint64_t now;  /* time in ns, read once while the lock is held; 0: not read yet */
	bool wake_due; /* some NIC has results and has not been woken */
	struct rn_host_nic *nics[RN_NIC_MAX];

	const struct rn_host_hooks *hooks[RN_HOST_HOOKS_MAX];
	unsigned hook_count;

	/* Regions, sorted by address. */
	struct rn_host_region **regions;
	unsigned region_count, region_room;

	/* Fields of host_bus.c. */
	pthread_t bus;
	pthread_cond_t bus_work;
	bool bus_is_running;
	bool bus_is_missing; /* the thread could not be made: TLPs are forced at once */
	bool bus_is_asleep;  /* until a signal, or bus_sleeps_until */
	rn_ns bus_sleeps_until;
	unsigned waiting; /* operations for which a device got RN_MEM_PENDING */
	rn_ns leaked_at;  /* adversarial: when a TLP was last let go before its time */
	uint64_t leaked_polls;
	/* The next one to let go early is the oldest TLP, not the youngest. */
	bool leak_oldest;

	struct rn_pcie_counters counters;
	/* The trace of host_trace.c; NULL if tracing is off. */
	struct rn_pcie_move *trace;
	uint32_t trace_size;
	uint64_t trace_count;
};

/* ---------------------------------------------------------------- host.c */
/* Returns the hierarchy as rn_host_get() does; if it returns NULL, @err gets a sentence
 * with the reason.
 */
struct rn_host *rn_host_make(char *err, size_t err_len);

/* True in a child of fork(), where the hierarchy does not work. */
bool rn_host_is_forked(void);

/* Makes a new fabric with these knobs; no TLP may be on its way. The tape goes on.
 * Returns 0, or -ENOMEM, and then nothing has changed.
 */
int rn_host_restart(struct rn_host *h, const struct rn_pcie_knobs *knobs);

/* Restarts the hierarchy as rn_host_restart() does, with a new recording (tape). Returns
 * 0; or -errno with a sentence in @err, and then nothing has changed.
 */
int rn_host_restart_with_tape(struct rn_host *h, const struct rn_pcie_knobs *knobs,
			      char *err, size_t err_len);

/* Moves the TLP one place, or, if @is_forced, until it is done; the choice is recorded.
 */
void rn_host_move(struct rn_host *h, unsigned index, bool is_forced);

static inline struct rn_host_slot *rn_host_slot_of(struct rn_host *h,
						   const struct rn_tlp *tlp)
{
	assert(tlp->data < h->slot_count);
	return &h->slots[tlp->data];
}

/* ------------------------------------------------------------ host_memory.c */
/* Performs an atomic on the word at req.dst, in the memory that rn_host_store() would
 * use.
 */
enum rn_mem_result rn_host_modify(struct rn_host *h, struct rn_host_atomic *a);

/* --------------------------------------------------------------- host_bus.c */
/* Starts the bus thread unless it runs. A device calls this before it issues any TLP: the
 * memory that a new thread needs must not be mapped later at an address that the program
 * has registered and unmapped, where late writes would hit it.
 */
void rn_host_bus_start(struct rn_host *h);

/* To be called when a TLP has been issued: makes sure that the bus thread wakes in time
 * to bound how long the TLP is held.
 */
void rn_host_bus_poke(struct rn_host *h);

/* A device waits for an operation: keeps the bus thread awake until the operation has
 * ended, because perhaps no call of the program moves TLPs.
 */
void rn_host_bus_hurry(struct rn_host *h);

/* Do completion entries still wait for a poll of their CQ ring, so that data goes before
 * them?
 */
bool rn_host_do_entries_wait(struct rn_host *h, rn_ns now);

/* Forces TLPs that have been held for long enough: by time, if @now is not 0, and by
 * polls.
 */
void rn_host_release(struct rn_host *h, rn_ns now);

/* --------------------------------------------------------------- host_nic.c */
struct rn_host_nic {
	struct rn_host *host;
	unsigned number;
	char name[32];
	void (*wake)(void *arg);
	void *arg;
	uint32_t next_txn, last_packet;

	struct rn_nic_op *active; /* operations that have not ended */
	struct rn_nic_op *ended, **ended_tail;
	struct rn_nic_op *free;
	struct rn_nic_block *blocks;
	struct rn_nic_lock *locks;

	/* Writes of the CPU to this NIC's memory that are on their way. */
	_Atomic uint32_t dm_writes;

	/* These two fields describe the operations that have ended since the last
	 * rn_host_collect().
	 */
	bool is_told;
	_Atomic bool has_ended;	 /* there are ended operations; read without the lock */
	_Atomic unsigned waking; /* calls of wake() that run at the moment */
};

static inline unsigned rn_nic_agent(const struct rn_host_nic *nic)
{
	return RN_AGENT_NIC + nic->number;
}

extern const struct rn_mem_ops rn_host_nic_ops;

struct rn_host_nic *rn_host_attach(const struct rn_host_nic_cfg *cfg);
void rn_host_detach(struct rn_host_nic *nic);
unsigned rn_host_collect(struct rn_host_nic *nic,
			 void (*done)(void *arg, uint64_t tag, enum rn_mem_result result),
			 void *arg);
void rn_host_polled_empty(struct rn_host_nic *nic, rn_iova ring);
void rn_host_settle_ring(struct rn_host_nic *nic, rn_iova ring, uint64_t len);
void rn_host_settle_acked(struct rn_host_nic *nic, uint32_t qpn);
void rn_host_drain(struct rn_host_nic *nic, uint32_t qpn);

/* Is the NIC to be told that operations have ended? If so, the caller must release the
 * lock and call rn_host_nic_wake(). Host lock held.
 */
bool rn_host_nic_wants_wake(struct rn_host_nic *nic);
void rn_host_nic_wake(struct rn_host_nic *nic);

/* ---------------------------------------------------------------- host_dm.c */
/* rocin/host_api.h describes these functions. */
int rn_host_dm_add(struct rn_host_nic *nic, rn_iova addr, uint64_t len);
void rn_host_dm_remove(struct rn_host_nic *nic, rn_iova addr);
int rn_host_dm_write(struct rn_host_nic *nic, rn_iova addr, const void *src,
		     uint64_t len);
int rn_host_dm_read(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len);
void rn_host_doorbell(struct rn_host_nic *nic);

/* ------------------------------------------------------------ host_replay.c */
/* Opens the files of the knobs record=FILE and replay=FILE. Returns 0, or -errno with a
 * sentence in @err.
 */
int rn_host_tape_open(const struct rn_pcie_knobs *k, struct rn_host_tape *t, char *err,
		      size_t err_len);
void rn_host_tape_close(struct rn_host_tape *t);

/* Replaces the recording of choices (tape) of the hierarchy by @t, and closes the old
 * one.
 */
void rn_host_tape_insert(struct rn_host *h, const struct rn_host_tape *t);

/* Counts an event: a call of the program that issues or moves TLPs. */
void rn_host_event(struct rn_host *h);

/* May the bus thread move TLPs now, without making a recording that cannot be replayed?
 */
bool rn_host_may_time_move(const struct rn_host *h, rn_ns now);

/* Records a choice that is being made. */
void rn_host_record(struct rn_host *h, unsigned index, bool is_forced);
void rn_host_record_flush(struct rn_host *h);

/* Makes the recorded choices that are due now: those of the bus thread (@by_time), or
 * those of the last event.
 */
void rn_host_replay(struct rn_host *h, bool by_time);

/* After rn_host_restart(): goes on at random if the recorded choices are used up. */
void rn_host_replay_resume(struct rn_host *h);

/* Called by the bus thread. @is_time_due: it would move TLPs now if it did not replay. */
void rn_host_replay_tick(struct rn_host *h, bool is_time_due);

/* ------------------------------------------------------------- host_trace.c */
/* Adds a row to the trace: @tlp is about to leave @queue. */
void rn_host_trace(struct rn_host *h, const struct rn_tlp *tlp, unsigned queue);

#endif /* RN_HOST_INTERNAL_H */
