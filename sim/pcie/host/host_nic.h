/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_nic.h - a NIC below the hierarchy; host_nic.c and host_nic_ops.c share it.
 *
 * Threads: everything under the host lock unless it says otherwise.
 */
#ifndef RN_HOST_NIC_H
#define RN_HOST_NIC_H

#include "host_internal.h"

enum {
	/* tlp.tag of the halves of an atomic that is made under a lock of the NIC. */
	RN_NIC_LOCKED = 1,
};

/* A read or atomic that the device waits for. */
struct rn_nic_op {
	struct rn_nic_op *next; /* free, ended, or waiting for the lock */
	struct rn_nic_op *next_active, *prev_active;
	struct rn_host_nic *nic;
	uint64_t tag;
	uint32_t qpn;
	struct rn_mem_attr attr; /* atomics */
	unsigned left;		 /* TLPs to come */
	bool is_pending;	 /* the device was told so */
	enum rn_mem_result result;
	uint64_t *orig; /* atomics: the value found goes here */
	struct rn_host_atomic atomic;
};

/* An address on which an atomic is under way. */
struct rn_nic_lock {
	struct rn_nic_lock *next;
	struct rn_host_nic *nic;
	rn_iova addr;
	struct rn_nic_op *waiting, **waiting_tail;
};

struct rn_nic_block {
	struct rn_nic_block *next;
	struct rn_nic_op op[];
};

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

/* A new operation; the caller counts @left up for each TLP. NULL: no memory. */
struct rn_nic_op *rn_nic_op_take(struct rn_host_nic *nic, uint32_t qpn, uint64_t tag);

/* All TLPs of @op are sent: what to tell the device. DONE, FAULT: @op is gone. */
enum rn_mem_result rn_nic_op_begun(struct rn_nic_op *op);

/* One of the things that @left counts has happened. */
void rn_nic_op_ended(struct rn_nic_op *op);

#endif /* RN_HOST_NIC_H */
