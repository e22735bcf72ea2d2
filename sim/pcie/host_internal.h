/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_internal.h - what the files host*.c share. */
#ifndef RN_HOST_INTERNAL_H
#define RN_HOST_INTERNAL_H

#include <stdatomic.h>

#include "host.h"

enum {
	RN_HOST_INLINE = 64, /* bytes of a payload that lie in its slot */
};

/* What a TLP carries, and when it was sent. */
struct rn_host_slot {
	struct rn_payload payload;
	uint64_t polls; /* empty polls of this host when it was sent */
	uint16_t next;	/* free slots */
	uint8_t bytes[RN_HOST_INLINE];
};

struct rn_host {
	pthread_mutex_t lock;
	struct rn_fabric *fabric;
	struct rn_pcie_knobs knobs; /* of the fabric; devices keep pointers to them */
	struct rn_driver driver;
	uint16_t *choices; /* of driver=replay */

	struct rn_host_slot *slots;
	uint32_t slot_count;
	uint16_t free_slot;
	uint8_t *large;	      /* payloads that do not lie in their slots, by slot */
	uint32_t large_bytes; /* of each: no payload is longer */

	/* The fabric calls back: TLPs may be issued, none may be moved. */
	bool is_busy;
	_Atomic uint32_t on_way; /* TLPs, as of the last unlock */
	uint64_t polls;		 /* empty ones, ever */
	uint64_t now;		 /* ns, since the lock was taken; 0: nobody has asked */
	bool wake_due;		 /* some NIC has results that nobody was told of */
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
	bool bus_is_asleep; /* until somebody signals, or a time */
	bool bus_is_idle;   /* until somebody signals */
	unsigned waiting;   /* operations that a device was told are PENDING */
	rn_ns leaked_at;    /* adversarial: when a TLP was last let go by age */
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

/* Everything has been performed: begin again with these. 0 or -ENOMEM, unchanged then. */
int rn_host_restart(struct rn_host *h, const struct rn_pcie_knobs *knobs);

/* ------------------------------------------------------------ host_payload.c */
/* Slots for @count TLPs, each of up to @bytes. 0 or -ENOMEM. */
int rn_host_slots_make(struct rn_host *h, uint32_t count, uint32_t bytes);

/* A slot whose payload.bytes has room for @len bytes of the hierarchy's own (0: none).
 * NULL: none is free.
 */
struct rn_host_slot *rn_host_slot_take(struct rn_host *h, uint32_t len);
void rn_host_slot_give(struct rn_host *h, struct rn_host_slot *s);

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

/* Let go what has been held long enough by @now (0: do not ask the clock's bound). */
void rn_host_release(struct rn_host *h, rn_ns now);

/* --------------------------------------------------------------- host_nic.c */
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

/* ------------------------------------------------------------- host_trace.c */
/* @tlp is about to leave @queue. */
void rn_host_trace(struct rn_host *h, const struct rn_tlp *tlp, unsigned queue);

#endif /* RN_HOST_INTERNAL_H */
