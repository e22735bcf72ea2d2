/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.h - inside of librocin-gpu.so: the PCIe hierarchy of this process.
 *
 *	host.c		one fabric, its lock, what TLPs carry and do
 *	host_bus.c	the thread that bounds how long TLPs are held
 *	host_memory.c	which address belongs to which memory
 *	host_nic.c	NICs: rn_mem_ops, results that are fetched
 *	host_dm.c	memory on a NIC
 *	host_replay.c	choices that are recorded, and made again
 *	host_trace.c	rocin/pcie.h
 *
 * Above it, each using what stands before it: ../page, ../gpu, ../sanitizer, ../storage,
 * and ../host_api.c, the table for devices.
 *
 * Everything here is guarded by rn_host_lock() unless it says otherwise. Outside locks: a
 * device may hold its engine lock when it calls in; nothing here calls out with the lock
 * held.
 */
#ifndef RN_HOST_H
#define RN_HOST_H

#include <pthread.h>

#include "rocin/host_api.h"
#include "sim/pcie/model/driver.h"
#include "sim/pcie/model/fabric.h"

enum {
	RN_HOST_TLPS = 4096, /* on their way at once; the oldest is forced beyond */
};

/* What a TLP carries; tlp.data is its index. */
struct rn_payload {
	uint8_t *bytes;		 /* of a write: a copy; of a read: the reader's buffer */
	struct rn_host_nic *nic; /* or NULL */
	/* Called under the host lock when the TLP has been performed (writes) or its
	 * completion has arrived (reads); may be NULL. It must not move TLPs.
	 */
	void (*done)(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result);
	void *arg;
	enum rn_mem_result result;
};

struct rn_host;

/* The hierarchy of this process, made at the first call. NULL: no memory. */
struct rn_host *rn_host_get(void);

void rn_host_lock(struct rn_host *h);
/* Also wakes the NICs for which something has ended. */
void rn_host_unlock(struct rn_host *h);

/* Does this thread hold the lock? For a handler of SIGSEGV, which may run anywhere. */
bool rn_host_is_locked_by_me(const struct rn_host *h);

/* true: mode strict and nothing else asked for; nothing is ever on its way. */
bool rn_host_is_off(const struct rn_host *h);
const struct rn_pcie_knobs *rn_host_knobs(const struct rn_host *h);
struct rn_fabric *rn_host_fabric(struct rn_host *h);

/* CLOCK_MONOTONIC in ns. */
rn_ns rn_host_now(void);

/**
 * rn_host_issue() - Send a TLP with a payload
 * @tlp:	kind, flags, requester, target, stream, msg, addr, len
 * @bytes:	Of a write: @len bytes, copied. Of a read: where they go; must stay valid
 *		until @done. Of an atomic: a struct rn_host_atomic, likewise
 * @done:	See struct rn_payload
 *
 * Makes room by forcing the oldest, and lets the driver move some TLPs afterwards, unless
 * called from a @done. With place=now everything is done before return.
 *
 * Return: index of the TLP (RN_TLP_NONE: done already), -EHOSTUNREACH, -ENOMEM.
 */
int rn_host_issue(struct rn_host *h, struct rn_tlp *tlp, void *bytes,
		  void (*done)(void *arg, const struct rn_tlp *tlp,
			       enum rn_mem_result result),
		  void *arg);

/* The same for a read or atomic whose answer cannot be waited for: forced. 0 or -EFAULT.
 */
int rn_host_ask(struct rn_host *h, struct rn_tlp *tlp, void *bytes);

struct rn_host_atomic {
	struct rn_mem_atomic_req req;
	uint64_t found;
};

/* Let a TLP arrive now, with all that it may not overtake; all TLPs that @match accepts;
 * or everything that is in flight.
 */
void rn_host_force(struct rn_host *h, unsigned index);
void rn_host_force_if(struct rn_host *h,
		      bool (*match)(const struct rn_tlp *tlp, const void *arg),
		      const void *arg);
void rn_host_force_all(struct rn_host *h);

/* Force what is on its way to @r, and what asks for bytes of it. */
struct rn_host_region;
void rn_host_force_region(struct rn_host *h, const struct rn_host_region *r);

/* Let the driver make up to @moves choices. */
void rn_host_step(struct rn_host *h, unsigned moves);

/* ------------------------------------------------------------ host_memory.c */
/* Memory of an agent other than the CPU, or of a region with a flag of its own. */
struct rn_host_region {
	struct rn_host_region *next;
	rn_iova addr; /* first byte as NICs and CPU name it */
	uint64_t len;
	unsigned target; /* agent whose memory it is */
	/* Where bytes are stored: addr + shift is the engine's own mapping (the BAR view
	 * of a GPU may be closed by the trap). 0: at the address itself.
	 */
	int64_t shift;
	bool declared; /* from outside, not an allocation of ours */
};

/* @r stays the caller's, until rn_host_region_unlink(). */
void rn_host_region_link(struct rn_host *h, struct rn_host_region *r);
void rn_host_region_unlink(struct rn_host *h, struct rn_host_region *r);

/* The region that holds @addr, NULL: host memory. */
const struct rn_host_region *rn_host_region_of(const struct rn_host *h, rn_iova addr);

/* Copy to or from the memory behind @addr, by the engine's mapping where there is one.
 * Faults are caught. Writes are made granule by granule, each of up to 8 aligned bytes as
 * one store.
 */
enum rn_mem_result rn_host_store(struct rn_host *h, rn_iova addr, const void *src,
				 uint32_t len);
enum rn_mem_result rn_host_load(struct rn_host *h, void *dst, rn_iova addr, uint32_t len);

/* ------------------------------------------------------------------- hooks */
/* Who wants to know what happens to TLPs. issued() and performed() are not called with
 * place=now, where nothing is ever on its way.
 */
struct rn_host_hooks {
	void (*issued)(struct rn_host *h, const struct rn_tlp *tlp);
	void (*performed)(struct rn_host *h, const struct rn_tlp *tlp);
	/* The TLP is about to leave a queue for the next one on its route. */
	void (*moving)(struct rn_host *h, const struct rn_tlp *tlp);
	/* A read or AtomicOp takes its bytes now; @tlp is not among those on their way
	 * any more, or has pushed what it pushes.
	 */
	void (*reading)(struct rn_host *h, const struct rn_tlp *tlp);
	/* The hierarchy is about to use host memory [addr, addr + len) itself. */
	void (*touching)(struct rn_host *h, rn_iova addr, uint64_t len, bool to_store);
	/* A QP (0: the NIC) of @agent has been drained and counts anew, or is gone. */
	void (*drained)(struct rn_host *h, unsigned agent, uint32_t qpn);
};

enum {
	RN_HOST_HOOKS_MAX = 4
};

/* @hooks must live for ever. */
void rn_host_add_hooks(struct rn_host *h, const struct rn_host_hooks *hooks);

/* Call @start once, without the lock, when the hierarchy has been made and nothing is on
 * its way yet. For constructors of this library.
 */
void rn_host_at_start(void (*start)(struct rn_host *h));

/* This thread looks at memory again and again, until a value is there: such reads are no
 * errors of the program. Does not nest; any thread, no lock.
 */
void rn_host_set_polling(bool is_polling);
bool rn_host_is_polling(void);

#endif /* RN_HOST_H */
