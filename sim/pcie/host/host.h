/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host.h - the PCIe hierarchy of this process, inside librocin-gpu.so.
 *
 * host.c		the fabric, its lock, the payloads of TLPs and what TLPs do
 * host_bus.c		the thread that bounds how long a TLP is held
 * host_memory.c	finds the memory behind an address
 * host_access.c	accesses of NICs: the functions of rn_mem_ops, results for devices
 * host_nic.c		NICs: attaching, and forcing their TLPs when the program waits
 * host_dm.c		memory on a NIC
 * host_fetch.c		doorbells, and what NICs read for themselves: WQEs, translations
 * host_replay.c	records the choices of the fabric's driver, and repeats them
 * host_trace.c		the functions of rocin/pcie.h
 *
 * The folders ../page, ../gpu, ../sanitizer and ../storage build on this one, each also
 * on the folders named before it; ../host_api.c has the table of functions for devices.
 *
 * The functions of this file need the lock of rn_host_lock() unless a comment says
 * otherwise. A device may hold its engine lock when it calls in, so no function of this
 * folder calls a device while the host lock is held.
 */
#ifndef RN_HOST_H
#define RN_HOST_H

#include <pthread.h>

#include "rocin/host_api.h"
#include "sim/pcie/model/driver.h"
#include "sim/pcie/model/fabric.h"

enum {
	/* Number of TLPs that can be in flight at the same time. When one more is issued,
	 * the oldest one is forced, that is moved to the end of its route at once.
	 */
	RN_HOST_TLPS = 4096,
};

/* Payload of a TLP; rn_tlp.data is the index of the payload. */
struct rn_payload {
	/* For a write: a copy of the bytes. For a read: the buffer that gets the bytes.
	 */
	uint8_t *bytes;
	struct rn_host_nic *nic; /* NIC that issued the TLP, or NULL */
	/* Called under the host lock when the write has been performed, or the completion
	 * of the read has arrived; may be NULL. The function must not move TLPs.
	 */
	void (*done)(void *arg, const struct rn_tlp *tlp, enum rn_mem_result result);
	void *arg;
	enum rn_mem_result result;
};

struct rn_host;

/* Returns the PCIe hierarchy of this process, which the first call makes. Returns NULL if
 * it could not be made: no memory, or wrong knobs.
 */
struct rn_host *rn_host_get(void);

void rn_host_lock(struct rn_host *h);
/* Releases the host lock, then wakes the NICs that have results to collect. */
void rn_host_unlock(struct rn_host *h);

/* Returns true if this thread holds the host lock. For the SIGSEGV handler, which may
 * interrupt any code.
 */
bool rn_host_is_locked_by_me(const struct rn_host *h);

/* Returns true if the knob place=now turns the simulation off: each TLP is performed at
 * once, as by memcpy().
 */
bool rn_host_is_off(const struct rn_host *h);
const struct rn_pcie_knobs *rn_host_knobs(const struct rn_host *h);
struct rn_fabric *rn_host_fabric(struct rn_host *h);

/* Returns the time of CLOCK_MONOTONIC in ns. */
rn_ns rn_host_now(void);

/**
 * rn_host_issue() - Send a TLP with a payload
 * @tlp:	The caller has set kind, flags, requester, target, stream, msg, addr
 *	and len
 * @bytes:	Write: @len bytes, which are copied. Read: the buffer for the bytes, which
 *	must stay valid until @done is called. Atomic: a struct rn_host_atomic, which
 *	must stay valid likewise
 * @done:	See struct rn_payload
 *
 * If the fabric is full, the oldest TLP is forced first. After the issue, the driver
 * moves some TLPs, unless the caller is itself a @done function. With place=now the TLP
 * is performed and completed before the function returns.
 *
 * Return: the index of the TLP, or RN_TLP_NONE if it has been performed and completed
 *	already; -EHOSTUNREACH or -ENOMEM.
 */
int rn_host_issue(struct rn_host *h, struct rn_tlp *tlp, void *bytes,
		  void (*done)(void *arg, const struct rn_tlp *tlp,
			       enum rn_mem_result result),
		  void *arg);

/* Issues a read or an AtomicOp and forces it, for a caller that needs the result at once.
 * For a write, returns when it has arrived. Returns 0, or -EFAULT on any error.
 */
int rn_host_ask(struct rn_host *h, struct rn_tlp *tlp, void *bytes);

struct rn_host_atomic {
	struct rn_mem_atomic_req req;
	uint64_t found;
};

/* Force TLPs: move them to the end of their route now, each together with all TLPs that
 * it must not pass. rn_host_force(): the TLP at @index. rn_host_force_if(): all TLPs that
 * @match accepts. rn_host_force_all(): all TLPs in flight.
 */
void rn_host_force(struct rn_host *h, unsigned index);
void rn_host_force_if(struct rn_host *h,
		      bool (*match)(const struct rn_tlp *tlp, const void *arg),
		      const void *arg);
void rn_host_force_all(struct rn_host *h);

/* Tells the hooks (the sanitizer) that all writes to the range have become visible. The
 * caller has forced all TLPs to the range before. Used for bounce buffers and in tests.
 */
void rn_host_tell_emptied(struct rn_host *h, rn_iova addr, uint64_t len);

/* Waits for @cond until the time @until of CLOCK_MONOTONIC; RN_NEVER: without a limit.
 * Returns false when the time is over. The implementation must not call
 * pthread_cond_wait(): this library exports a wrapper of that name
 * (../page/page_calls.c), so its own calls have no symbol version. If the library is
 * loaded by a plugin, such a call reaches the oldest version of the function in the C
 * library, and pthread_cond_signal() of the newest version does not wake it.
 * pthread_cond_clockwait() has only one version.
 */
bool rn_host_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, rn_ns until);

/* Forces all TLPs in flight. Tells the hooks (the sanitizer) that all writes are
 * visible, although the program has not synchronised with them. Used by tests.
 */
void rn_host_settle(struct rn_host *h);

/* Forces all TLPs that read or write the region @r (rn_host_force()). */
struct rn_host_region;
void rn_host_force_region(struct rn_host *h, const struct rn_host_region *r);

/* Lets the fabric's driver move up to @moves TLPs. */
void rn_host_step(struct rn_host *h, unsigned moves);

/* ------------------------------------------------------------ host_memory.c */
/* A range of memory that is not ordinary host memory: memory of another agent, or memory
 * that the program declared and that needs its own mapping or flag.
 */
struct rn_host_region {
	struct rn_host_region *next;
	/* Address of the first byte. It is the same for NICs and for the CPU. */
	rn_iova addr;
	uint64_t len;
	unsigned target; /* agent (enum rn_agent) whose memory this is */
	/* Distance in bytes from the mapping at @addr to the second mapping of the same
	 * memory. The simulation accesses the second mapping, because pages of the first
	 * may be closed to the program (GPU memory). 0: there is no second mapping.
	 */
	int64_t shift;
	/* The program allocated the memory and declared it. */
	bool declared;
};

/* Adds a region. @r belongs to the caller and must stay valid
 * until rn_host_region_unlink().
 */
void rn_host_region_link(struct rn_host *h, struct rn_host_region *r);
void rn_host_region_unlink(struct rn_host *h, struct rn_host_region *r);

/* Lets the hierarchy reach memory of real GPUs (transport/io/cuda). The host lock is
 * held. Returns false if there is no memory.
 */
bool rn_host_open_real(struct rn_host *h);

/* Returns the region that contains @addr, or NULL if @addr is host memory. */
const struct rn_host_region *rn_host_region_of(const struct rn_host *h, rn_iova addr);

/* Copy bytes to or from the memory at @addr, through the region's second mapping if it
 * has one. If the access faults, they return RN_MEM_FAULT. rn_host_store() uses aligned
 * stores of up to 8 bytes, and writes granule by granule.
 */
enum rn_mem_result rn_host_store(struct rn_host *h, rn_iova addr, const void *src,
				 uint32_t len);
enum rn_mem_result rn_host_load(struct rn_host *h, void *dst, rn_iova addr, uint32_t len);

/* --------------------------------------------- hooks: callbacks about TLPs */
/* Callbacks about TLPs. With place=now issued() and performed() are not called, because
 * no TLP is ever in flight.
 */
struct rn_host_hooks {
	void (*issued)(struct rn_host *h, const struct rn_tlp *tlp);
	void (*performed)(struct rn_host *h, const struct rn_tlp *tlp);
	/* Called when a TLP is about to leave a queue of its route. */
	void (*moving)(struct rn_host *h, const struct rn_tlp *tlp);
	/* Called when a read or AtomicOp is about to read its bytes. The TLPs that the
	 * read pushes have been performed before the call.
	 */
	void (*reading)(struct rn_host *h, const struct rn_tlp *tlp);
	/* Called when the simulation itself, not the program, needs a load or store at
	 * @addr. Returns true if the callback has made the access, false if the caller
	 * must make it.
	 */
	bool (*access)(struct rn_host *h, rn_iova addr, void *bytes, uint32_t len,
		       bool to_store);
	/* Returns true if the page that contains @addr is mapped, but the program may not
	 * access it now, because the part of the library that owns these hooks has closed
	 * it (../page). Devices can write to such a page. May be NULL.
	 */
	bool (*is_closed)(struct rn_host *h, rn_iova addr);
	/* Called when the simulation itself is about to access memory [addr, addr +
	 * len).
	 */
	void (*touching)(struct rn_host *h, rn_iova addr, uint64_t len, bool to_store);
	/* Called after the access that touching() announced, unless the memory belongs to
	 * a region (struct rn_host_region).
	 */
	void (*touched)(struct rn_host *h, rn_iova addr, uint64_t len);
	/* Called when no TLP of QP @qpn of NIC @agent is in flight any more, because the
	 * QP was drained or destroyed. @qpn 0: all QPs of the NIC. From then on, the
	 * numbers of the QP's messages (rn_tlp.msg) start at the beginning again.
	 */
	void (*drained)(struct rn_host *h, unsigned agent, uint32_t qpn);
	/* Called if the knob ack=placed is set, before NIC @agent acknowledges the data
	 * that QP @qpn has received. If the callback still withholds writes of that data
	 * (withholds()), it must store their bytes now.
	 */
	void (*placed)(struct rn_host *h, unsigned agent, uint32_t qpn);
	/* Called instead of issuing @flush, the read by which the program flushes writes
	 * to GPU memory. The read is not needed here: the simulated GPUs make writes
	 * visible in order to all agents in @scope (a value of
	 * rn_pcie_knobs.gpu_ordering). On machines with other GPUs the program may need
	 * it.
	 */
	void (*flush_skipped)(struct rn_host *h, const struct rn_tlp *flush,
			      unsigned scope);
	/* Called for a write, after issued(). Returns true if the callback withholds the
	 * write. Then the write does not go through the fabric, and the owner of the
	 * callback must call rn_host_end_withheld() for it later.
	 */
	bool (*withholds)(struct rn_host *h, const struct rn_tlp *tlp);
	/* Returns true if the TLP must be performed as soon as it is issued, together
	 * with all TLPs that it must not pass.
	 */
	bool (*hurries)(struct rn_host *h, const struct rn_tlp *tlp);
	/* @tlp is the next TLP of a NIC's write. Its length is not set yet. Returns true
	 * if the bytes that this TLP writes may cross granule boundaries. May be NULL.
	 */
	bool (*joins)(struct rn_host *h, const struct rn_tlp *tlp);
	/* Called when a NIC is about to read. @tlp stands for the whole read, which is
	 * not cut into TLPs yet. Returns true if the NIC must postpone the read until
	 * the program waits for something.
	 */
	bool (*postpones)(struct rn_host *h, const struct rn_tlp *tlp);
	/* Called when all TLPs to and from the range have been forced, either because the
	 * range is about to be freed or by rn_host_settle().
	 */
	void (*emptied)(struct rn_host *h, rn_iova addr, uint64_t len);
	/* Called after the knobs have changed; no TLP is in flight. */
	void (*restarted)(struct rn_host *h);
};

enum {
	RN_HOST_HOOKS_MAX = 4
};

/* Calls flush_skipped() of all hooks. */
void rn_host_tell_flush_skipped(struct rn_host *h, const struct rn_tlp *flush,
				unsigned scope);

/* Ends a write that a hook has withheld: stores its bytes if @is_stored, and then calls
 * the callbacks that a performed write calls.
 */
void rn_host_end_withheld(struct rn_host *h, const struct rn_tlp *tlp, bool is_stored);

/* Reports to the device that a withheld write is done, although its bytes are not in
 * memory yet. If another device accesses that memory, the bytes are stored first.
 */
void rn_host_free_withheld(struct rn_host *h, const struct rn_tlp *tlp);

/* Adds callbacks. @hooks must stay valid until the process ends. */
void rn_host_add_hooks(struct rn_host *h, const struct rn_host_hooks *hooks);

/* Registers @start. Called by constructors of this library. @start is called once,
 * without the host lock, when the hierarchy exists and no TLP has been issued yet.
 */
void rn_host_at_start(void (*start)(struct rn_host *h));

/* Says whether this thread is in a loop that reads a memory location until it has a
 * certain value. The sanitizer does not report such reads. Every call with true must be
 * followed by one with false, before the next one with true. Any thread may call this,
 * without a lock.
 */
void rn_host_set_polling(bool is_polling);
bool rn_host_is_polling(void);

#endif /* RN_HOST_H */
