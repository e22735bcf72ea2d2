/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_internal.h - what the files host*.c share. */
#ifndef RN_HOST_INTERNAL_H
#define RN_HOST_INTERNAL_H

#include <stdatomic.h>

#include "host.h"

enum {
	RN_HOST_INLINE = 64, /* bytes of a payload that lie in its slot */
	/* Counters of empty polls. Rings that share one let go of TLPs earlier than the
	 * bound, never later.
	 */
	RN_HOST_RINGS = 16,
};

/* What a TLP carries, and when it was sent. */
struct rn_host_slot {
	struct rn_payload payload;
	uint32_t polls[RN_HOST_RINGS]; /* rn_host.ring_polls when it was sent */
	uint16_t next;		       /* free slots */
	uint8_t bytes[RN_HOST_INLINE];
};

/* Choices that are recorded, and those that are made again. */
struct rn_host_tape {
	uint64_t events; /* what the program has asked for, ever */
	int fd;		 /* recording; -1 */
	size_t used;
	char text[4096]; /* not written yet */

	rn_ns last_event;

	bool is_on; /* recording or replaying; read without the lock */
	bool is_replaying;
	bool is_frozen; /* /dev/null: nothing moves unless it is forced */
	struct rn_host_choice *choices;
	uint32_t count, room, next;
	uint64_t end; /* event at which the recording ended */
	uint32_t idle_ticks;
};

struct rn_host {
	pthread_mutex_t lock;
	struct rn_fabric *fabric;
	struct rn_pcie_knobs knobs; /* of the fabric; devices keep pointers to them */
	struct rn_driver driver;
	struct rn_host_tape tape;
	bool by_time; /* the thread that lets time pass moves */

	struct rn_host_slot *slots;
	uint32_t slot_count;
	uint16_t free_slot;
	uint8_t *large;	      /* payloads that do not lie in their slots, by slot */
	uint32_t large_bytes; /* of each: no payload is longer */

	/* The fabric calls back: TLPs may be issued, none may be moved. */
	bool is_busy;
	_Atomic uint32_t on_way; /* TLPs, as of the last unlock */
	uint64_t polls;		 /* empty ones, ever */
	uint32_t ring_polls[RN_HOST_RINGS];
	uint64_t now;  /* ns, since the lock was taken; 0: nobody has asked */
	bool wake_due; /* some NIC has results that nobody was told of */
	struct rn_host_nic *nics[RN_NIC_MAX];

	const struct rn_host_hooks *hooks[RN_HOST_HOOKS_MAX];
	unsigned hook_count;

	/* Sorted by address. */
	struct rn_host_region **regions;
	unsigned region_count, region_room;

	/* host_bus.c */
	pthread_t bus;
	pthread_cond_t bus_work;
	bool bus_is_running;
	bool bus_is_missing; /* there is no thread for it: nothing stays on its way */
	bool bus_is_asleep;  /* until somebody signals, or a time */
	rn_ns bus_sleeps_until;
	unsigned waiting; /* operations that a device was told are PENDING */
	rn_ns leaked_at;  /* adversarial: when a TLP was last let go by age */
	uint64_t leaked_polls;
	bool leak_oldest; /* next time */

	struct rn_pcie_counters counters;
	/* host_trace.c; NULL: off */
	struct rn_pcie_move *trace;
	uint32_t trace_size;
	uint64_t trace_count;
};

/* ---------------------------------------------------------------- host.c */
/* The same as rn_host_get(); NULL with a sentence in @err, also for wrong knobs. */
struct rn_host *rn_host_make(char *err, size_t err_len);

/* True in a child of fork(): nothing works there. */
bool rn_host_is_forked(void);

/* Everything has been performed: begin again with these. The tape goes on. 0 or -ENOMEM,
 * unchanged then.
 */
int rn_host_restart(struct rn_host *h, const struct rn_pcie_knobs *knobs);

/* The same with another tape: 0, or -errno and a sentence, unchanged then. */
int rn_host_restart_with_tape(struct rn_host *h, const struct rn_pcie_knobs *knobs,
			      char *err, size_t err_len);

/* A choice: move the TLP one place, or all the way. */
void rn_host_move(struct rn_host *h, unsigned index, bool is_forced);

static inline struct rn_host_slot *rn_host_slot_of(struct rn_host *h,
						   const struct rn_tlp *tlp)
{
	assert(tlp->data < h->slot_count);
	return &h->slots[tlp->data];
}

/* ------------------------------------------------------------ host_memory.c */
/* Read-modify-write of the word behind req.dst, as rn_host_store(). */
enum rn_mem_result rn_host_modify(struct rn_host *h, struct rn_host_atomic *a);

/* --------------------------------------------------------------- host_bus.c */
/* Start the thread, unless it runs. A device does it before it sends anything: what the
 * thread needs must not come to lie where a program has unmapped what it registered.
 */
void rn_host_bus_start(struct rn_host *h);

/* A TLP was issued: somebody must see to it that it is not held for ever. */
void rn_host_bus_poke(struct rn_host *h);

/* A device waits for an operation: the thread shall not sleep until that has ended, as
 * perhaps nobody calls.
 */
void rn_host_bus_hurry(struct rn_host *h);

/* Do completion entries wait for a poll of their ring, with data let go before them? */
bool rn_host_do_entries_wait(struct rn_host *h, rn_ns now);

/* Let go what has been held long enough by @now (0: do not ask the clock's bound). */
void rn_host_release(struct rn_host *h, rn_ns now);

/* --------------------------------------------------------------- host_nic.c */
struct rn_host_nic {
	struct rn_host *host;
	unsigned number;
	char name[32];
	void (*wake)(void *arg);
	void *arg;
	uint32_t next_txn, last_packet;

	struct rn_nic_op *active; /* not ended */
	struct rn_nic_op *ended, **ended_tail;
	struct rn_nic_op *free;
	struct rn_nic_block *blocks;
	struct rn_nic_lock *locks;

	_Atomic uint32_t dm_writes; /* of the CPU to its memory, on their way */

	bool is_told;		 /* of the ended ones, since the last collect() */
	_Atomic bool has_ended;	 /* read without the lock */
	_Atomic unsigned waking; /* calls of wake() under way */
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

/* Lock held: is the NIC to be told that something has ended? Then it must be, by
 * rn_host_nic_wake() without the lock.
 */
bool rn_host_nic_wants_wake(struct rn_host_nic *nic);
void rn_host_nic_wake(struct rn_host_nic *nic);

/* ---------------------------------------------------------------- host_dm.c */
/* As in rocin/host_api.h. */
int rn_host_dm_add(struct rn_host_nic *nic, rn_iova addr, uint64_t len);
void rn_host_dm_remove(struct rn_host_nic *nic, rn_iova addr);
int rn_host_dm_write(struct rn_host_nic *nic, rn_iova addr, const void *src,
		     uint64_t len);
int rn_host_dm_read(struct rn_host_nic *nic, void *dst, rn_iova addr, uint64_t len);
void rn_host_doorbell(struct rn_host_nic *nic);

/* ------------------------------------------------------------ host_replay.c */
/* What record=FILE and replay=FILE ask for. 0, or -errno and a sentence. */
int rn_host_tape_open(const struct rn_pcie_knobs *k, struct rn_host_tape *t, char *err,
		      size_t err_len);
void rn_host_tape_close(struct rn_host_tape *t);

/* @t takes the place of the tape before it, which ends. */
void rn_host_tape_insert(struct rn_host *h, const struct rn_host_tape *t);

/* The program asks for something that moves TLPs or sends some. */
void rn_host_event(struct rn_host *h);

/* May the thread that lets time pass move something, by what is recorded? */
bool rn_host_may_time_move(const struct rn_host *h, rn_ns now);

/* A choice that is being made. */
void rn_host_record(struct rn_host *h, unsigned index, bool is_forced);
void rn_host_record_flush(struct rn_host *h);

/* Make the choices that were made here: by time, or within the last event. */
void rn_host_replay(struct rn_host *h, bool by_time);

/* After rn_host_restart(): nothing is left to replay? */
void rn_host_replay_resume(struct rn_host *h);

/* Time goes by. @is_time_due: it would move something. */
void rn_host_replay_tick(struct rn_host *h, bool is_time_due);

/* ------------------------------------------------------------- host_trace.c */
/* @tlp is about to leave @queue. */
void rn_host_trace(struct rn_host *h, const struct rn_tlp *tlp, unsigned queue);

#endif /* RN_HOST_INTERNAL_H */
