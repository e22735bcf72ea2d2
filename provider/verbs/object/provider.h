/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* provider.h - the verbs objects of the libibverbs plugin.
 *
 * Each object begins with the struct that libibverbs and the program see; the fields of
 * the plugin follow. Behind a device is one engine per process and interface (engine.h),
 * which the contexts of a process share.
 *
 * A verb finds the objects that the program passes by rnp_handle_find() (handle.h), and
 * uses them under the same hold of the engine lock; or counts itself as their user first.
 *
 * Lock order, outermost first: rnp_cq.lock, the engine lock, rnp_event_pipe.lock. A
 * program may post while it is between ibv_start_poll() and ibv_end_poll(), which hold
 * the lock of the CQ; so nothing takes that lock with the engine lock held.
 *
 * Threads: every verb may be called by any thread at any time. Returns follow verbs:
 * a positive errno from int calls, NULL with errno from pointer calls. In a fork()
 * child every verb fails with EIO; verbs that destroy an object free its local
 * memory. Two verbs work in a child, as with a kernel's device: ibv_query_device()
 * and ibv_alloc_dm().
 */
#ifndef RNP_PROVIDER_H
#define RNP_PROVIDER_H

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "event.h"
#include "handle.h"
#include "library.h"
#include "provider/engine/engine.h"
#include "provider/engine/pcie.h"
#include "provider/raw/flow.h"
#include "rocin/cqe.h"
#include "rocin/mr.h"
#include "rocin/stats.h"
#include "rocin/work_request.h"

struct rn_qp_attr;
struct rn_srq;
struct rnp_hca; /* object numbers and limits of a device, which all its contexts share */
struct rnp_wr_list;

/* --------------------------------------------------------- the device and its events */
/* List of the open XRC domains of all contexts; guarded by the engine lock. See srq.c. */
LIST_HEAD(rnp_xrc_domains, rnp_xrc_domain);

/* Limits that ibv_query_device() reports and that are enforced here or in the core. */
enum {
	RNP_SRQ_MAX = 32768,
	/* maximum number of QPs: half of the QPNs of a process, as the others may be
	 * waiting for reuse
	 */
	RNP_QP_MAX = 32768,
	RNP_CQ_MAX = 65536,
	RNP_PD_MAX = 65536,
	RNP_AH_MAX = 65536,
	RNP_MR_MAX = 1 << 20,
	/* maximum number of multicast groups, each of which needs a socket */
	RNP_MCAST_GRP_MAX = 256,
	RNP_MCAST_QP_MAX = 256, /* maximum number of QPs in one group */
	RNP_MW_MAX = 1 << 20,
	/* maximum number of WQs: a quarter of the QPNs of a process */
	RNP_WQ_MAX = 16384,
	RNP_RWQ_TABLE_MAX = 16384,
	/* maximum size of a table of WQs: log2 of 512 entries */
	RNP_RWQ_TABLE_LOG_MAX = 9,
	RNP_COMP_VECTORS = 1,
	/* maximum number of CQEs, and of microseconds, for which an event may be delayed
	 */
	RNP_CQ_MOD_MAX = 65535,
	RNP_RATE_MIN = 1000, /* kbps; a smaller limit is probably a mistake in the unit */
	RNP_RATE_MAX = 100000000,
	RNP_DM_BYTES = 256 << 10, /* bytes of device memory of all contexts together */
};

enum rnp_hca_kind {
	RNP_HCA_AH,
	RNP_HCA_QP,
	RNP_HCA_SRQ,
	RNP_HCA_CQ,
	RNP_HCA_PD,
	RNP_HCA_MR,
	RNP_HCA_MCAST_GRP,
	RNP_HCA_MW,
	RNP_HCA_WQ,
	RNP_HCA_RWQ_TABLE,
	RNP_HCA_KINDS
};

/**
 * rnp_hca_open() - Share or create this process's device
 * @ibdev:	Name such as "rocin0"
 * @owner:	The context, as for rnp_engine_get()
 * @engine:	Out: the engine of the device
 * @err:	Out on failure: error text
 *
 * Return: the device (reference taken), or NULL with errno.
 */
struct rnp_hca *rnp_hca_open(const char *ibdev, const struct rnp_engine_hooks *hooks,
			     void *owner, struct rnp_engine **engine, char *err,
			     size_t err_len);

/* Drops @owner's reference to device and engine. In a fork() child nothing shared
 * is touched.
 */
void rnp_hca_close(struct rnp_hca *hca, void *owner);

/* Counts one more object of a kind, and enlarges the core's tables if needed. Engine lock
 * held. Return: 0, or -ENOMEM at the advertised limit or without memory.
 */
int rnp_hca_add(struct rnp_hca *hca, enum rnp_hca_kind kind);
void rnp_hca_remove(struct rnp_hca *hca, enum rnp_hca_kind kind);

/* Reserves device memory. Engine lock held. Return: 0, or -ENOMEM if less is left. */
int rnp_hca_take_dm(struct rnp_hca *hca, uint64_t bytes);
void rnp_hca_give_dm(struct rnp_hca *hca, uint64_t bytes);

/* Return numbers that no existing object has. Engine lock held. */
uint32_t rnp_hca_new_dm(struct rnp_hca *hca);
uint32_t rnp_hca_new_pd(struct rnp_hca *hca);
uint32_t rnp_hca_new_key(struct rnp_hca *hca);
uint32_t rnp_hca_new_srqn(struct rnp_hca *hca);
uint32_t rnp_hca_new_cq(struct rnp_hca *hca);
uint32_t rnp_hca_new_xrcd(struct rnp_hca *hca);

struct rnp_xrc_domains *rnp_hca_xrc_domains(struct rnp_hca *hca);

/* The writing side of a completion channel that at least one CQ uses. */
struct rnp_channel {
	LIST_ENTRY(rnp_channel) link;
	const struct ibv_comp_channel *key;
	unsigned refs; /* number of CQs that use the channel; guarded by channel_lock */
	/* CQs with an event that could not be written yet; written under the engine lock
	 */
	atomic_uint pending;
	struct rnp_event_pipe pipe;
};

struct rnp_context {
	struct ibv_context base; /* the library's part of the memory block precedes it */
	const struct rnp_library *library;
	struct rnp_engine *engine;
	struct rnp_hca *hca;
	struct rnp_event_pipe async;
	bool has_async; /* @async is open; guarded by the engine lock */
	/* list of all contexts of the process; guarded by open_lock */
	LIST_ENTRY(rnp_context) open;
	/* number of cmd_fd's open file; contexts that share the file have equal numbers
	 */
	uint64_t file;
	pthread_mutex_t channel_lock; /* guards: channels; innermost */
	LIST_HEAD(, rnp_channel) channels;
	/* All objects that exist in the device; guarded by the engine lock. */
	LIST_HEAD(, rnp_qp) qps;
	LIST_HEAD(, rnp_srq) srqs;
	LIST_HEAD(, rnp_xrcd) xrcds;
	LIST_HEAD(, rnp_cq) cqs;
	LIST_HEAD(, rnp_mr) mrs;
	LIST_HEAD(, rnp_dm) dms;
	LIST_HEAD(, rnp_flow) flows;
	LIST_HEAD(, rnp_ah) ahs;
	LIST_HEAD(, rnp_pd) pds;
	LIST_HEAD(, rnp_mw) mws;
	LIST_HEAD(, rnp_rwq_table) rwq_tables;
	int last_rwq_table; /* number of the table that was created last */
	uint32_t last_ah;   /* handle of the AH that was created last */
	struct rnp_handle_table handles;
	/* The context was closed. Its memory remains, so that objects that were not
	 * destroyed do not refer to freed memory.
	 */
	bool is_closed;
	LIST_ENTRY(rnp_context) closed; /* see plugin.c */
};

/* ----------------------------------------------------------------- protection domains A
 * protection domain of the device is a number (struct rnp_pd). What the program has is a
 * handle on it: the one that ibv_alloc_pd() returned, a parent domain, or an import.
 * Objects are created with a handle and belong to its domain.
 *
 * A thread domain has no effect: an object without a lock of its own would still share
 * the engine lock with other threads. All objects may be used by any thread.
 */

/* A protection domain of the device. */
struct rnp_pd {
	uint32_t number;
	/* number of objects in the domain, which cannot be deallocated while there
	 * are any
	 */
	atomic_uint refs;
	/* number of handles, plus one until the domain is deallocated */
	atomic_uint held;
	/* record of the domain in the statistics page, or NULL; set before the domain has
	 * handles, cleared when the domain is deallocated
	 */
	struct rn_stats_object *record;
	struct rnp_engine *engine; /* of the record; valid while there is one */
	/* the domain was deallocated; guarded by the engine lock */
	bool gone;
	/* entry in rnp_context.pds; guarded by the engine lock */
	LIST_ENTRY(rnp_pd) link;
};

enum rnp_pd_kind {
	RNP_PD_PLAIN, /* handle of ibv_alloc_pd(), or an imported one */
	RNP_PD_PARENT,
};

/* A handle on a domain, which the program has. Only @refs changes. */
struct rnp_pd_handle {
	struct ibv_pd base;
	struct rnp_handle handle;
	struct rnp_pd *pd;
	enum rnp_pd_kind kind;
	/* one reference of the handle itself, and one for each object that was created
	 * with it
	 */
	atomic_uint refs;

	/* The next members are used by parent domains only. */
	/* handle of the domain that the parent domain was created with */
	struct ibv_pd *below;
	struct rnp_td *td; /* thread domain of the parent domain, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type); /* NULL: the default allocator */
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

struct rnp_td {
	struct ibv_td base;
	struct rnp_handle handle;
	atomic_uint refs; /* number of parent domains that use the thread domain */
};

/* Returns the domain of a handle of any kind. */
static inline struct rnp_pd *to_rnp_pd(struct ibv_pd *pd)
{
	return ((struct rnp_pd_handle *)pd)->pd;
}

static inline bool rnp_pd_is_parent(struct ibv_pd *pd)
{
	return ((struct rnp_pd_handle *)pd)->kind == RNP_PD_PARENT;
}

/* Purpose of a buffer: the argument @resource_type of the program's allocator. The upper
 * half of that argument is the number of the kernel driver, and Rocin has none.
 */
enum rnp_resource {
	RNP_RESOURCE_QP = 1, /* for both queues of a QP */
	RNP_RESOURCE_CQ = 2, /* for the ring of a CQ */
	RNP_RESOURCE_SRQ = 3,
	RNP_RESOURCE_WQ = 4,
};

/* A buffer that the program may want to allocate. */
struct rnp_buffer {
	void *addr;
	size_t len;
	/* parent domain whose allocator has allocated it; NULL: none */
	struct ibv_pd *from;
	enum rnp_resource resource;
	/* engine of the device whose driver would pin the memory */
	struct rnp_engine *engine;
	uint64_t pinned; /* number of the buffer's pages that count as pinned */
};

/* ----------------------------------------------------------- memory and addresses */
struct rnp_mr {
	struct rnp_abi_mr base;
	struct rnp_handle handle;
	struct rn_mr core;
	LIST_ENTRY(rnp_mr) link;
	/* the domain; the program might change base.ibv_mr.pd */
	struct ibv_pd *pd;
	/* for an import, the region itself, and the fields below are not used;
	 * otherwise NULL
	 */
	struct rnp_mr *origin;
	/* number of users: the program, the device, imports; guarded by the engine lock
	 */
	unsigned held;
	/* the region was removed from the device; guarded by the engine lock */
	bool gone;
	void *map; /* mapping of a file descriptor, unmapped with the region; or NULL */
	size_t map_len;
	/* device memory that is registered; NULL: memory of the program */
	struct rnp_dm *dm;
	/* The next members are guarded by the engine lock. */
	bool is_on_gpu;	 /* the memory is a simulated GPU's */
	uint64_t pinned; /* number of the region's pages that count as pinned */
	struct rn_stats_object *record;
};

/* A memory window. Windows of type 2 are type 2B, bound to domain and queue pair, as in
 * almost all devices: another queue pair that learns the key cannot use it.
 */
struct rnp_mw {
	struct ibv_mw base;
	struct rnp_handle handle;
	struct rn_mr core;
	struct ibv_pd *pd;	 /* the program might change base.pd */
	LIST_ENTRY(rnp_mw) link; /* guarded by the engine lock */
	struct rn_stats_object *record;
};

/* Device memory (memory on the NIC). */
struct rnp_dm {
	struct ibv_dm base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_dm) link; /* guarded by the engine lock */
	/* number of regions of this memory; guarded by the engine lock */
	unsigned mrs;
	/* for an import, the device memory itself; otherwise NULL */
	struct rnp_dm *origin;
	/* number of users: the program, the device, imports; guarded by the engine lock
	 */
	unsigned held;
	/* the memory was removed from the device; written under the engine lock */
	atomic_bool gone;
	bool is_local; /* allocated in a fork() child, which has no device */
	rn_iova addr;  /* address by which the device accesses the memory */
	uint64_t len;  /* bytes that the program has requested */
	uint64_t room; /* bytes allocated from the device, a multiple of 64 */
	void *map;
	size_t map_len;
};

struct rnp_ah {
	struct ibv_ah base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_ah) link; /* guarded by the engine lock */
	struct ibv_pd *pd;	 /* the program might change base.pd */
	struct rn_av av;
};

/* -------------------------------------------------------- completion queues */
/* Offset of the wall clock from the monotonic clock. Both run at one rate, so the offset
 * is constant until the wall clock is set. It is measured by reading the wall clock
 * between two readings of the monotonic one, which gives a range. The range that was
 * found first is kept as long as later readings are consistent with it: so the same
 * instant gives the same time of day each time, and the order of instants is kept.
 *
 * All-zero: nothing has been measured yet. One thread at a time.
 */
struct rnp_wall_clock {
	uint64_t low, width; /* ns; the offset is in [low, low + width] */
	bool is_known;
};

struct rnp_cq {
	union rnp_abi_cq base;
	struct rnp_handle handle;
	struct rnp_context *ctx;
	struct rnp_channel *channel; /* NULL: the CQ has no completion channel */
	LIST_ENTRY(rnp_cq) link;
	struct rn_cq core;

	pthread_mutex_t lock; /* guards: reading of the ring, core.consumer, current */
	struct rn_cqe *ring;  /* CQEs, at ring_mem.addr */
	struct rnp_buffer ring_mem;
	/* the ring of a destroyed CQ that another thread was reading */
	struct rnp_buffer late_ring;
	/* parent domain whose allocator allocates the ring, or NULL */
	struct ibv_pd *parent;
	/* log2 of the capacity; index >> lap_shift is the number of the lap */
	uint32_t lap_shift;
	/* the program uses the CQ in one thread only, so ibv_start_poll() does not lock
	 */
	bool single_threaded;
	/* the CQE that the program reads between ibv_start_poll() and ibv_end_poll() */
	struct rn_cqe current;
	/* Time of day of @current, after the program has read it; guarded as @current. */
	struct rnp_wall_clock wall;
	uint64_t wall_ns;
	bool has_wall_ns;

	/* Hints, written with relaxed order by threads that poll or arm the CQ. */
	/* number of polls that found CQEs, modulo 16 */
	atomic_uint since_drain;
	/* ibv_req_notify_cq() was called, and no poll was empty since */
	atomic_bool linger;
	atomic_bool was_empty; /* the last poll found nothing */

	/* The next members are guarded by the engine lock. */
	/* QPs and SRQs that complete here; counted twice if both queues of a QP do */
	unsigned qp_refs;
	uint32_t number;
	struct rn_stats_object *record;
	bool counted_armed; /* the engine counts this CQ as armed */
	bool event_pending; /* an event could not be written, as the channel was full */
	/* number of completion events written, less those that were purged */
	uint32_t comp_events;
	uint32_t async_events;
};

/* -------------------------------------------------------------- queue pairs */
struct rnp_srq {
	struct ibv_srq base;
	struct rnp_handle handle;
	struct rnp_context *ctx;
	LIST_ENTRY(rnp_srq) link; /* guarded by the engine lock */
	/* the core's SRQ, in memory of its own; NULL: the SRQ was destroyed */
	struct rn_srq *core;
	struct ibv_pd *pd; /* the program might change base.pd */
	struct rnp_buffer ring;
	/* number of the SRQ and maximum SGEs of a WQE; they do not change */
	uint32_t number, max_sge;
	/* domain of an XRC SRQ; NULL for other SRQs */
	struct rnp_xrcd *xrcd;
	struct rnp_cq *cq;
	/* number of QPs that use the SRQ; guarded by the engine lock */
	unsigned qps;
	/* number of asynchronous events written, less those that were purged; guarded by
	 * the engine lock
	 */
	uint32_t async_events;
	struct rn_stats_object *record;
};

/* A handle on an XRC domain: one call of ibv_open_xrcd(). */
struct rnp_xrcd {
	struct ibv_xrcd base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_xrcd) link; /* guarded by the engine lock */
	struct rnp_xrc_domain *domain;
	uint32_t number;  /* number of @domain; does not change */
	atomic_uint refs; /* number of SRQs and QPs that use the handle */
};

struct rnp_qp {
	union rnp_abi_qp base;
	struct rnp_handle handle;
	struct rnp_context *ctx;
	/* the core's QP, at the start of @block; NULL: the QP was destroyed, or its
	 * context closed. Guarded by the engine lock.
	 */
	struct rn_qp *core;
	/* the domain, or NULL for a target QP; the program might change base.qp.pd */
	struct ibv_pd *pd;
	struct rnp_buffer block;
	/* Memory lent to @core for incoming and for outgoing READs and atomics, or
	 * NULL. If there are several handles on a QP, this memory and @block belong to
	 * one of them.
	 */
	void *resources, *reads;
	struct rn_stats_qp *stats;
	LIST_ENTRY(rnp_qp) link; /* guarded by the engine lock */
	/* memberships in multicast groups; guarded by the engine lock */
	LIST_HEAD(, rnp_mcast) mcasts;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	/* Rate limit and burst that the program has set, in kbps and bytes, and the
	 * static rates of its address vectors; the lowest rate is used. Guarded by the
	 * engine lock.
	 */
	uint32_t rate_limit, burst;
	uint8_t static_rate, alt_static_rate; /* enum ibv_rate */
	/* number of flow rules of this QP; guarded by the engine lock */
	unsigned flows;
	struct rnp_xrcd *xrcd; /* XRC domain of an XRC target QP, or NULL */
	struct rnp_wq *wq;     /* the WQ that this hidden QP implements, or NULL */
	/* table of WQs to which RSS distributes frames; or NULL */
	struct rnp_rwq_table *table;
	struct rnp_rss *rss; /* hash key and fields; NULL without @table */
	/* Circular list of all handles on this QP of the device, see ibv_open_qp();
	 * guarded by the engine lock.
	 */
	struct rnp_qp *next_handle;
	/* number of asynchronous events written, less those that were purged; guarded by
	 * the engine lock
	 */
	uint32_t async_events;
	/* requests built by ibv_wr_*(); NULL: the QP was created without these functions
	 */
	struct rnp_wr_list *wr;
};

/* ---------------------------------------------------------------- receive work queues A
 * work queue is implemented by a hidden raw packet QP with the same number that only
 * receives. A QP with an indirection table has no queues of its own and no state: frames
 * that match its flow rules go to a work queue of the table (flow.h).
 */

struct rnp_wq {
	struct ibv_wq base;
	struct rnp_handle handle;
	struct rnp_qp *queue;
	/* number of entries of tables that refer to this queue; guarded by the
	 * engine lock
	 */
	unsigned tables;
};

struct rnp_rwq_table {
	struct ibv_rwq_ind_table base;
	struct rnp_handle handle;
	LIST_ENTRY(rnp_rwq_table) link; /* guarded by the engine lock */
	unsigned qps; /* number of QPs that use the table; guarded by the engine lock */
	/* The members below do not change. */
	uint32_t size;
	struct rnp_wq **wq;
	void **core; /* the core's QP of each WQ in @wq */
};

/* ------------------------------------------------------------------ flow rules */
enum {
	/* maximum number of counter points of one counters object, and of its indices */
	RNP_COUNTER_POINTS = 32,
};

/* A kind of value that is counted, and the index at which ibv_read_counters() returns it.
 */
struct rnp_counter_point {
	enum ibv_counter_description desc;
	uint32_t index;
};

struct rnp_counters {
	struct ibv_counters base;
	struct rnp_handle handle;
	/* The next members are guarded by the engine lock. */
	struct rnp_tally tally;
	struct rnp_counter_point point[RNP_COUNTER_POINTS];
	unsigned points;
	unsigned flows; /* number of flow rules that use these counters */
};

struct rnp_flow {
	struct ibv_flow base;
	struct rnp_handle handle;
	struct rnp_qp *qp;
	struct rnp_counters *counters; /* counters that the rule uses, or NULL */
	struct rnp_rule rule;
	/* entry in rnp_context.flows; guarded by the engine lock */
	LIST_ENTRY(rnp_flow) link;
};

/* Returns the errno of a call, and sets errno if the call failed: programs read either.
 */
static inline int rnp_set_errno(int rc)
{
	if (rc)
		errno = rc;
	return rc;
}

/* clang-format off */
static inline struct rnp_context *to_rnp_context(struct ibv_context *c)
{
	return (struct rnp_context *)c;
}
static inline struct rnp_mr *to_rnp_mr(struct rnp_abi_mr *mr) { return (struct rnp_mr *)mr; }
static inline struct rnp_mw *to_rnp_mw(struct ibv_mw *mw) { return (struct rnp_mw *)mw; }
static inline struct rnp_wq *to_rnp_wq(struct ibv_wq *wq) { return (struct rnp_wq *)wq; }
static inline struct rnp_counters *to_rnp_counters(struct ibv_counters *counters)
{
	return (struct rnp_counters *)counters;
}
static inline struct rnp_ah *to_rnp_ah(struct ibv_ah *ah) { return (struct rnp_ah *)ah; }
static inline struct rnp_cq *to_rnp_cq(struct ibv_cq *cq) { return (struct rnp_cq *)cq; }
static inline struct rnp_srq *to_rnp_srq(struct ibv_srq *srq) { return (struct rnp_srq *)srq; }
static inline struct rnp_xrcd *to_rnp_xrcd(struct ibv_xrcd *x) { return (struct rnp_xrcd *)x; }
static inline struct rnp_qp *to_rnp_qp(struct ibv_qp *qp) { return (struct rnp_qp *)qp; }
/* clang-format on */

/* Lets CQEs that are still under way in the simulated PCIe hierarchy reach the ring, as
 * they do before an interrupt. Engine lock held.
 */
static inline void rnp_cq_settle_ring(const struct rnp_cq *cq)
{
	rnp_pcie_settle_ring(rnp_engine_pcie(cq->ctx->engine), cq->core.ring,
			     (size_t)cq->core.capacity * sizeof(struct rn_cqe));
}

/* Has this process inherited the context by fork()? Then only memory of this process may
 * be used.
 */
static inline bool rnp_is_fork_child(const struct rnp_context *ctx)
{
	return rnp_engine_forked(ctx->engine);
}

/* Adds @by to the number of users of an object, which `rocin stat` shows. Any thread. */
static inline void rnp_record_users(struct rn_stats_object *record, int by)
{
	if (record)
		__atomic_fetch_add(&record->users, (uint32_t)by, __ATOMIC_RELAXED);
}

/* Takes the engine lock, with cancellation disabled: a cancelled thread would keep it. */
static inline int rnp_lock_engine(struct rnp_engine *e)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	rnp_engine_lock(e);
	return cancel_state;
}

static inline void rnp_unlock_engine(struct rnp_engine *e, int cancel_state)
{
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel_state, NULL);
}

enum {
	RNP_NO_LOCK = -1,
};

/* Takes the engine lock to destroy an object. Return: as rnp_lock_engine(); RNP_NO_LOCK,
 * with nothing locked, in a fork() child and if the context was closed: then only the
 * memory of the object may be freed.
 */
static inline int rnp_lock_to_destroy(const struct rnp_context *ctx)
{
	return rnp_is_fork_child(ctx) ? RNP_NO_LOCK : rnp_lock_engine(ctx->engine);
}

static inline void rnp_unlock_destroyed(const struct rnp_context *ctx, int lock)
{
	if (lock != RNP_NO_LOCK)
		rnp_unlock_engine(ctx->engine, lock);
}

/* ------------------------------------------------------------------------- context.c */
/**
 * rnp_context_open() - Connect a context to its device
 * @ctx:	Made by the library, which has filled in @ctx->base; the rest is zeroed
 * @library:	The libibverbs that has opened the context
 * @origin:	The context whose open file it shares, locked by rnp_open_with(), or NULL
 * @err:	Out: error text if the call fails, or if the device works without
 * something that the environment requests
 *
 * Return: 0, or -errno with the context unchanged.
 */
int rnp_context_open(struct rnp_context *ctx, const struct rnp_library *library,
		     const struct rnp_context *origin, char *err, size_t err_len);

/* Closes a context; frees everything but the library's part of its memory block. */
void rnp_context_close(struct rnp_context *ctx);

/* Adds a context to the list of this process. It shares the open file of @origin; NULL:
 * it has a file of its own.
 */
void rnp_open_add(struct rnp_context *ctx, const struct rnp_context *origin);
/* Removes a context from the list before it is closed. Objects that other contexts of the
 * same file may have imported are moved to one of these, if there is one.
 */
void rnp_open_remove(struct rnp_context *ctx);
/* Calls @fn with the context whose cmd_fd shares its open file with @cmd_fd, or with NULL
 * if there is none. The context stays open until @fn returns.
 */
void *rnp_open_with(int cmd_fd, void *(*fn)(struct rnp_context *origin, void *arg),
		    void *arg);

struct ibv_pd *rnp_import_pd(struct ibv_context *context, uint32_t pd_handle);
void rnp_unimport_pd(struct ibv_pd *base);
struct ibv_mr *rnp_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void rnp_unimport_mr(struct ibv_mr *base);
struct ibv_dm *rnp_import_dm(struct ibv_context *context, uint32_t dm_handle);
void rnp_unimport_dm(struct ibv_dm *base);

/* -------------------------------------------------------------------------- device.c */
/* Writes a message to standard error, for failures that no errno describes. */
void rnp_tell_user(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int rnp_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);
int rnp_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr);
int rnp_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* ------------------------------------------------------------------------------ pd.c */
/* Count one more object that uses this handle and its domain, or one less. A handle that
 * was unimported meanwhile is freed with its last object.
 */
void rnp_pd_get(struct ibv_pd *pd);
void rnp_pd_put(struct ibv_pd *pd);

/* Returns the domain of a handle that the program has passed; NULL: this context has no
 * such handle. Engine lock held.
 */
const struct rnp_pd *rnp_pd_find(const struct rnp_context *ctx, const struct ibv_pd *pd);

/* Creates a handle on @pd, which the caller counts in @pd->held and adds to its context.
 * NULL: not enough memory.
 */
struct rnp_pd_handle *rnp_pd_new_handle(struct ibv_context *context, struct rnp_pd *pd);

/* Removes a domain from the device: no handle can be used any more. Engine lock held. */
void rnp_pd_detach(struct rnp_context *ctx, struct rnp_pd *pd);

/**
 * rnp_buffer_alloc() - Allocate memory for an object
 * @buf:	Out; the caller has zeroed it and set @resource, @len and @engine
 * @pd:		Handle that the object is created with, or NULL
 * @align:	Bytes, a power of two, at least 8
 *
 * Uses the allocator of @pd, if it is a parent domain that has one. Lock not held: the
 * allocator may call verbs. The memory is zeroed. It counts as pinned, as the queues of
 * all drivers do that put them into memory of the program.
 *
 * Return: 0, -ENOMEM, or an error of rnp_engine_pin().
 */
int rnp_buffer_alloc(struct rnp_buffer *buf, struct ibv_pd *pd, size_t align);

/* Frees a buffer, before rnp_pd_put() of its object. Lock not held. Does nothing if no
 * memory was allocated.
 */
void rnp_buffer_free(struct rnp_buffer *buf);

/* Counts the memory as pinned no more: no device uses it. */
static inline void rnp_buffer_unpin(struct rnp_buffer *buf)
{
	if (buf->pinned)
		rnp_engine_unpin(buf->engine, buf->pinned);
	buf->pinned = 0;
}

/**
 * rnp_av_from_attr() - Check and convert an address
 * @dev:	Device whose GID table @attr refers to
 * @av:		Out; untouched on failure
 *
 * Return: 0; -EINVAL: no GRH (RoCE has no other address), port not 1, an unused entry of
 *	   the GID table, an unspecified destination, addresses of different families.
 *	   A multicast destination is right for UD only.
 */
int rnp_av_from_attr(const struct rn_netdev *dev, const struct ibv_ah_attr *attr,
		     struct rn_av *av);

void rnp_av_to_attr(const struct rn_av *av, struct ibv_ah_attr *attr);

struct ibv_pd *rnp_alloc_pd(struct ibv_context *context);
int rnp_dealloc_pd(struct ibv_pd *base);
struct ibv_td *rnp_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int rnp_dealloc_td(struct ibv_td *base);
struct ibv_pd *rnp_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);

struct ibv_ah *rnp_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int rnp_destroy_ah(struct ibv_ah *base);
void rnp_ah_detach(struct rnp_context *ctx, struct rnp_ah *ah);

/* ------------------------------------------------------------------------------ mr.c */
struct ibv_mr *rnp_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			  int access);
/* Registers a region of any kind; fills in @attr->key and @attr->pd. @dm: the device
 * memory that is registered, which counts the region already; or NULL. Return: the
 * region, or NULL with -errno in @rc.
 */
struct rnp_mr *rnp_mr_register(struct ibv_pd *pd, struct rn_mr_attr *attr,
			       enum rnp_abi_mr_type type, struct rnp_dm *dm, int *rc);
struct ibv_mr *rnp_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access);
int rnp_rereg_mr(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access);
struct ibv_mr *rnp_alloc_null_mr(struct ibv_pd *pd);
int rnp_dereg_mr(struct rnp_abi_mr *base);
/* Removes the region from the device; engine lock held. The memory of the handle remains.
 * The detach functions of other objects do likewise.
 */
void rnp_mr_detach(struct rnp_mr *mr);
/* Drops @holders uses of a region; the last one frees it. Engine lock held. */
void rnp_mr_release(struct rnp_mr *mr, unsigned holders);

int rnp_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sge);

struct ibv_mw *rnp_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int rnp_dealloc_mw(struct ibv_mw *base);

/* Removes the window from the device; engine lock held. */
void rnp_mw_detach(struct rnp_mw *mw);

/* ------------------------------------------------------------------------------ dm.c */
struct ibv_dm *rnp_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int rnp_free_dm(struct ibv_dm *base);
struct ibv_mr *rnp_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
			     size_t length, unsigned int access);
/* Removes the memory from the device; only after all its regions. */
void rnp_dm_detach(struct rnp_dm *dm);
void rnp_dm_release(struct rnp_dm *dm, unsigned holders);
/* Creates a handle by which a program copies to and from the memory of @origin; or NULL.
 */
struct rnp_dm *rnp_dm_new_import(struct ibv_context *context, struct rnp_dm *origin);

/* ------------------------------------------------------------------------------ cq.c */
struct ibv_cq *rnp_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel, int comp_vector);
struct ibv_cq_ex *rnp_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr);
int rnp_resize_cq(struct ibv_cq *base, int cqe);
int rnp_modify_cq(struct ibv_cq *base, struct ibv_modify_cq_attr *attr);
int rnp_destroy_cq(struct ibv_cq *base);
void rnp_cq_detach(struct rnp_cq *cq);
/* Adds @by to the number of QPs and SRQs whose completions this CQ gets; engine
 * lock held.
 */
void rnp_cq_count_users(struct rnp_cq *cq, int by);
int rnp_req_notify_cq(struct ibv_cq *base, int solicited_only);
int rnp_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc);
/* Hides the CQEs of a QP that was reset or destroyed from the program. Engine lock held.
 */
void rnp_cq_skip_qp(struct rnp_cq *cq, uint32_t qpn);

void rnp_wc_from_cqe(struct ibv_wc *wc, const struct rn_cqe *cqe);

/**
 * rnp_wall_clock_at() - Convert an instant to time of day
 * @mono_ns:	The instant, of CLOCK_MONOTONIC
 *
 * Return: CLOCK_REALTIME in ns. The error is at most half the time that the quickest of
 *	   some readings of both clocks took. If the wall clock was set since the instant,
 *	   the result is by the new setting.
 */
uint64_t rnp_wall_clock_at(struct rnp_wall_clock *c, uint64_t mono_ns);

/* --------------------------------------------------------------------------- event.c */
extern const struct rnp_engine_hooks rnp_hooks;
void rnp_cq_event(struct ibv_cq *base);
/* Writes a completion event that found the channel full, if there is room now; the second
 * function drops the event. Engine lock held.
 */
void rnp_cq_write_pending_event(struct rnp_cq *cq);
void rnp_cq_drop_pending_event(struct rnp_cq *cq);
/* Returns the writing side of a channel, shared by its CQs; NULL with errno. */
struct rnp_channel *rnp_channel_get(struct rnp_context *ctx,
				    const struct ibv_comp_channel *key);
void rnp_channel_put(struct rnp_context *ctx, struct rnp_channel *channel);

/* ------------------------------------------------------------------ qp.c, qp_attr.c */
struct ibv_qp *rnp_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *rnp_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *ex);
int rnp_destroy_qp(struct ibv_qp *base);
int rnp_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask);
int rnp_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);
int rnp_modify_qp_rate_limit(struct ibv_qp *base, struct ibv_qp_rate_limit_attr *attr);
enum {
	/* ASCII "ROC"; not an assigned OUI, as the bit "locally administered" is set. */
	RNP_VENDOR_ID = 0x524f43,
};
int rnp_set_ece(struct ibv_qp *base, struct ibv_ece *ece);
int rnp_query_ece(struct ibv_qp *base, struct ibv_ece *ece);
int rnp_query_qp_data_in_order(struct ibv_qp *base, enum ibv_wr_opcode op,
			       uint32_t flags);
int rnp_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid);
int rnp_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid);
/* Returns the QP that the program has passed, or NULL. Engine lock held. */
static inline struct rnp_qp *rnp_qp_find(const struct rnp_context *ctx,
					 const struct ibv_qp *base)
{
	return rnp_handle_find(ctx, RNP_KIND_QP, base);
}

/* Hides the CQEs of the QP from the program; engine lock held. */
void rnp_qp_skip_cqes(struct rnp_qp *qp);
void rnp_qp_detach(struct rnp_qp *qp);
/* Creates the hidden QP that implements a work queue, in RESET; NULL with errno.
 * @in->max_*: out: its capacities.
 */
struct rnp_qp *rnp_qp_create_queue(struct rnp_wq *wq, struct ibv_wq_init_attr *in);
/* Allocates a QP with the fields of @attr, and zeros otherwise: the common part of
 * ibv_create_qp() and ibv_open_qp().
 */
struct rnp_qp *rnp_qp_alloc(struct rnp_context *ctx, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr);

/**
 * rnp_qp_attr_from() - Check and convert the attributes of ibv_modify_qp()
 * @dev:	Device whose GID table attr->ah_attr refers to
 * @mask:	enum ibv_qp_attr_mask; only fields named there are read
 * @out:	Out; undefined on failure
 *
 * Return: 0; -EINVAL: a state or MTU that does not exist, or capabilities; an error of
 *	   rnp_av_from_attr(). rn_qp_modify() checks the rest.
 */
int rnp_qp_attr_from(const struct rn_netdev *dev, const struct ibv_qp_attr *attr,
		     uint32_t mask, struct rn_qp_attr *out);

/* Converts the core's attributes to all of @attr but cap, which the core does not have.
 */
void rnp_qp_attr_to(const struct rn_qp_attr *in, struct ibv_qp_attr *attr);

/* ---------------------------------------------------------------------------- post.c */
int rnp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int rnp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int rnp_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);
/* Binds a window of type 1. The new key is in @mw->rkey when the request has been posted,
 * and is valid from its completion on.
 */
int rnp_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/* Prepares a QP for ibv_wr_*(). Return: 0; EOPNOTSUPP: a QP of this type has no such
 * operation; ENOMEM.
 */
int rnp_wr_init(struct rnp_qp *qp, uint64_t send_ops_flags);
/* Frees the requests that are collected in a QP. If the program has known the QP, the
 * lock of ibv_wr_start() remains, as other threads may hold it.
 */
void rnp_wr_fini(struct rnp_qp *qp);

/* ----------------------------------------------------------------------------- srq.c */
struct ibv_srq *rnp_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *rnp_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr);
int rnp_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask);
int rnp_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr);
int rnp_get_srq_num(struct ibv_srq *base, uint32_t *srq_num);
int rnp_destroy_srq(struct ibv_srq *base);
void rnp_srq_detach(struct rnp_srq *srq);
struct ibv_xrcd *rnp_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr);
int rnp_close_xrcd(struct ibv_xrcd *base);
/* Removes the domain handle from the device; only after its SRQs and QPs. */
void rnp_xrcd_detach(struct rnp_xrcd *xrcd);
struct ibv_qp *rnp_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* ------------------------------------------------------------------------ steering.c */
struct ibv_flow *rnp_create_flow(struct ibv_qp *base, struct ibv_flow_attr *attr);
int rnp_destroy_flow(struct ibv_flow *base);
/* Removes a flow rule from the device; only before its QP. */
void rnp_flow_detach(struct rnp_flow *flow);
struct ibv_counters *rnp_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr);
int rnp_destroy_counters(struct ibv_counters *base);
int rnp_attach_counters_point_flow(struct ibv_counters *base,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow);
int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags);

struct ibv_wq *rnp_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int rnp_modify_wq(struct ibv_wq *base, struct ibv_wq_attr *attr);
int rnp_destroy_wq(struct ibv_wq *base);
struct ibv_rwq_ind_table *
rnp_create_rwq_ind_table(struct ibv_context *context,
			 struct ibv_rwq_ind_table_init_attr *attr);
int rnp_destroy_rwq_ind_table(struct ibv_rwq_ind_table *base);
/* Removes a table from the device; only after the QPs that use it, and while its work
 * queues exist.
 */
void rnp_rwq_table_detach(struct rnp_context *ctx, struct rnp_rwq_table *table);

#endif /* RNP_PROVIDER_H */
