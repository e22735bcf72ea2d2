/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.h - the PCIe hierarchy of this process, inside librocin-gpu.so.
 *
 * host.c		the fabric, its lock, the payloads of TLPs and what TLPs do
 * host_bus.c		the thread that bounds how long a TLP is held
 * host_memory.c	finds the memory behind an address
 * host_nic.c		NICs: rn_mem_ops, and the results that devices collect
 * host_dm.c		memory on a NIC
 * host_replay.c	records the driver's choices, and makes them again
 * host_trace.c		the functions of rocin/pcie.h
 *
 * Other folders build on this one, each on those before it: ../page, ../gpu,
 * ../sanitizer, ../storage; then ../host_api.c, the table of functions for devices.
 *
 * rn_host_lock() guards everything here unless a comment says otherwise. A device may
 * hold its engine lock when it calls in, so nothing here calls a device while the host
 * lock is held.
 */
#ifndef RN_HOST_H
#define RN_HOST_H

#include <pthread.h>

#include "rocin/host_api.h"
#include "sim/pcie/model/driver.h"
#include "sim/pcie/model/fabric.h"

enum {
	/* TLPs on their way at the same time; to issue one more, the oldest is forced. */
	RN_HOST_TLPS = 4096,
};

/* The payload of a TLP; tlp.data is the index of its slot. */
struct rn_payload {
	uint8_t *bytes;		 /* write: the bytes, a copy; read: the reader's buffer */
	struct rn_host_nic *nic; /* the NIC that issued it, or NULL */
	/* Called under the host lock when a write has been performed, or the completion
	 * of a read has arrived; may be NULL. The function must not move TLPs.
	 */
	void (*done)(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result);
	void *arg;
	enum rn_mem_result result;
};

struct rn_host;

/* The hierarchy of this process, made at the first call. NULL if it could not be made: no
 * memory, or wrong knobs.
 */
struct rn_host *rn_host_get(void);

void rn_host_lock(struct rn_host *h);
/* Also wakes the NICs that have operations to collect. */
void rn_host_unlock(struct rn_host *h);

/* Does this thread hold the host lock? For the SIGSEGV handler, which may interrupt any
 * code.
 */
bool rn_host_is_locked_by_me(const struct rn_host *h);

/* True if the layer changes nothing (place=now): no TLP is ever on its way. */
bool rn_host_is_off(const struct rn_host *h);
const struct rn_pcie_knobs *rn_host_knobs(const struct rn_host *h);
struct rn_fabric *rn_host_fabric(struct rn_host *h);

/* CLOCK_MONOTONIC in ns. */
rn_ns rn_host_now(void);

/**
 * rn_host_issue() - Send a TLP with a payload
 * @tlp:	kind, flags, requester, target, stream, msg, addr and len are set
 * @bytes:	Write: @len bytes, which are copied. Read: the buffer for the bytes, which
 *	must stay valid until @done is called. Atomic: a struct rn_host_atomic, which
 *	must stay valid likewise
 * @done:	See struct rn_payload
 *
 * If the fabric is full, the oldest TLP is forced first. Afterwards the driver moves some
 * TLPs, unless the caller is itself a @done function. With place=now everything is done
 * before the function returns.
 *
 * Return: the index of the TLP, or RN_TLP_NONE if it is done already; -EHOSTUNREACH or
 *	-ENOMEM.
 */
int rn_host_issue(struct rn_host *h, struct rn_tlp *tlp, void *bytes,
		  void (*done)(void *arg, const struct rn_tlp *tlp,
			       enum rn_mem_result result),
		  void *arg);

/* Issues a read or an AtomicOp and forces it, for a caller that needs the result at once.
 * Returns 0 or -EFAULT.
 */
int rn_host_ask(struct rn_host *h, struct rn_tlp *tlp, void *bytes);

struct rn_host_atomic {
	struct rn_mem_atomic_req req;
	uint64_t found;
};

/* Force TLPs to arrive now, with all TLPs that they must not pass: the one at @index, all
 * that @match accepts, or all that are on their way.
 */
void rn_host_force(struct rn_host *h, unsigned index);
void rn_host_force_if(struct rn_host *h,
		      bool (*match)(const struct rn_tlp *tlp, const void *arg),
		      const void *arg);
void rn_host_force_all(struct rn_host *h);

/* Force all TLPs that write to @r or read from it. */
struct rn_host_region;
void rn_host_force_region(struct rn_host *h, const struct rn_host_region *r);

/* Let the driver make up to @moves choices. */
void rn_host_step(struct rn_host *h, unsigned moves);

/* ------------------------------------------------------------ host_memory.c */
/* A range of memory that is not the CPU's plain memory: the memory of another agent, or
 * declared memory that needs a mapping or a flag of its own.
 */
struct rn_host_region {
	struct rn_host_region *next;
	rn_iova addr; /* first byte, as NICs and the CPU address it */
	uint64_t len;
	unsigned target; /* agent whose memory it is */
	/* The simulation accesses the bytes at addr + shift, in a mapping of its own,
	 * because pages of the mapping at addr may be closed to the program (GPU memory).
	 * 0: the bytes are accessed at addr itself.
	 */
	int64_t shift;
	/* Memory of the program that it declared; we did not allocate it. */
	bool declared;
};

/* @r belongs to the caller and must stay valid until rn_host_region_unlink(). */
void rn_host_region_link(struct rn_host *h, struct rn_host_region *r);
void rn_host_region_unlink(struct rn_host *h, struct rn_host_region *r);

/* The region that holds @addr, or NULL if @addr is host memory. */
const struct rn_host_region *rn_host_region_of(const struct rn_host *h, rn_iova addr);

/* Copy to or from the memory behind @addr, through the region's own mapping if it has
 * one. Faults are caught and give RN_MEM_FAULT. A write is made in aligned stores of up
 * to 8 bytes, granule by granule.
 */
enum rn_mem_result rn_host_store(struct rn_host *h, rn_iova addr, const void *src,
				 uint32_t len);
enum rn_mem_result rn_host_load(struct rn_host *h, void *dst, rn_iova addr, uint32_t len);

/* ------------------------------------------------------------------- hooks */
/* Callbacks about TLPs. With place=now issued() and performed() are not called, because
 * no TLP is ever on its way.
 */
struct rn_host_hooks {
	void (*issued)(struct rn_host *h, const struct rn_tlp *tlp);
	void (*performed)(struct rn_host *h, const struct rn_tlp *tlp);
	/* The TLP is about to leave a queue for the next one on its route. */
	void (*moving)(struct rn_host *h, const struct rn_tlp *tlp);
	/* A read or AtomicOp takes its bytes now. TLPs that it pushes have been performed
	 * before the call.
	 */
	void (*reading)(struct rn_host *h, const struct rn_tlp *tlp);
	/* The hierarchy itself is about to access host memory [addr, addr + len). */
	void (*touching)(struct rn_host *h, rn_iova addr, uint64_t len, bool to_store);
	/* QP @qpn of NIC @agent has been drained or destroyed; its counts begin anew.
	 * @qpn 0 stands for the whole NIC.
	 */
	void (*drained)(struct rn_host *h, unsigned agent, uint32_t qpn);
};

enum {
	RN_HOST_HOOKS_MAX = 4
};

/* @hooks must stay valid until the process ends. */
void rn_host_add_hooks(struct rn_host *h, const struct rn_host_hooks *hooks);

/* Calls @start once, without the lock, when the hierarchy has been made and no TLP is on
 * its way yet. For constructors of this library.
 */
void rn_host_at_start(void (*start)(struct rn_host *h));

/* Says that this thread reads a memory location again and again until it has a certain
 * value; the sanitizer does not report such reads. Calls do not nest. Any thread, no
 * lock.
 */
void rn_host_set_polling(bool is_polling);
bool rn_host_is_polling(void);

#endif /* RN_HOST_H */
