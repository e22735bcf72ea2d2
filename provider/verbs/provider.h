/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* provider.h - the verbs objects of the libibverbs plugin.
 *
 * Each object is the struct that libibverbs and the program see, followed by ours. The
 * device behind them is one engine per process and interface (engine.h), which several
 * contexts of a process share.
 *
 * Lock order, outermost first: rnp_cq.lock, the engine lock, rnp_event_pipe.lock. A
 * program may post while it is between ibv_start_poll() and ibv_end_poll(), which hold
 * the lock of the CQ; so nothing takes that lock with the engine lock held.
 *
 * Threads: every verb may be called by any thread at any time. Returns follow verbs: a
 * positive errno from int calls, NULL with errno from pointer calls. In a fork child
 * every verb fails with EIO; those that destroy free the local memory. Two do work there,
 * because they do with kernel devices: ibv_query_device() and ibv_alloc_dm().
 */
#ifndef RNP_PROVIDER_H
#define RNP_PROVIDER_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "cq.h"
#include "device.h"
#include "event.h"
#include "library.h"
#include "pd.h"
#include "provider/engine/engine.h"
#include "provider/engine/pcie.h"
#include "provider/raw/rss.h"
#include "rocin/mr.h"
#include "rocin/work_request.h"

struct rn_srq;
struct rnp_rwq_table;
struct rnp_wq;
struct rnp_wr_list;

/* A completion channel that at least one CQ of ours uses. */
struct rnp_channel {
	LIST_ENTRY(rnp_channel) link;
	const struct ibv_comp_channel *key;
	unsigned refs; /* CQs; guarded by rnp_context.channel_lock */
	atomic_uint
		owed; /* CQs whose event found it full; written under the engine lock */
	struct rnp_event_pipe pipe;
};

struct rnp_context {
	struct ibv_context base; /* the library's part of the block stands before it */
	const struct rnp_library *library;
	struct rnp_engine *engine;
	struct rnp_hca *hca;
	struct rnp_event_pipe async;
	bool has_async;		      /* @async is open; engine lock */
	LIST_ENTRY(rnp_context) open; /* of this process; guarded by open_lock */
	uint64_t file; /* contexts with the same number share cmd_fd's open file */
	pthread_mutex_t channel_lock; /* guards: channels; innermost */
	LIST_HEAD(, rnp_channel) channels;
	/* Everything that lives in the device; guarded by the engine lock. */
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
	int last_rwq_table; /* number */
};

struct rnp_mr {
	struct rnp_abi_mr base;
	struct rn_mr core;
	LIST_ENTRY(rnp_mr) link;
	struct rnp_mr
		*origin; /* of an import: what it stands for; no field below counts */
	unsigned held;	 /* the program, the device, imports; engine lock */
	bool gone;	 /* removed from the device; engine lock */
	void *map;	 /* of a descriptor, unmapped with the region; or NULL */
	size_t map_len;
	struct rnp_dm *dm; /* whose memory it is; NULL: the program's */
};

/* Memory on the NIC. */
struct rnp_dm {
	struct ibv_dm base;
	LIST_ENTRY(rnp_dm) link; /* engine lock */
	unsigned mrs;		 /* regions of it; engine lock */
	struct rnp_dm *origin;	 /* of an import: what it stands for, or NULL */
	unsigned held;		 /* the program, the device, imports; engine lock */
	atomic_bool gone;	 /* out of the device; written under the engine lock */
	bool is_local;		 /* of a fork child: no device knows of it */
	rn_iova addr;		 /* as the device names it */
	uint64_t len;		 /* bytes asked for */
	uint64_t room;		 /* bytes taken from the device */
	void *map;
	size_t map_len;
};

struct rnp_ah {
	struct ibv_ah base;
	LIST_ENTRY(rnp_ah) link; /* engine lock */
	struct rn_av av;
};

struct rnp_cq {
	union rnp_abi_cq base;
	struct rnp_context *ctx;
	struct rnp_channel *channel; /* NULL: no events wanted */
	LIST_ENTRY(rnp_cq) link;
	struct rn_cq core;

	pthread_mutex_t lock; /* guards: ring as a reader, core.consumer, current */
	struct rn_cqe *ring;  /* = ring_mem.addr */
	struct rnp_buffer ring_mem;
	struct ibv_pd *parent; /* domain whose allocator is asked, or NULL */
	uint32_t lap_shift;    /* log2 of the capacity */
	bool single_threaded;  /* as the program promised: ibv_start_poll() locks nothing
				*/
	struct rn_cqe current; /* between ibv_start_poll() and ibv_end_poll() */
	/* The time of day of @current, once it was asked for; guarded as it is. */
	struct rnp_wall_clock wall;
	uint64_t wall_ns;
	bool has_wall_ns;

	/* Hints, written by whoever polls or arms; relaxed. */
	atomic_uint
		since_drain;   /* polls that found something and left the engine alone */
	atomic_bool linger;    /* req_notify was called, the obligatory poll was not */
	atomic_bool was_empty; /* the last poll found nothing */

	/* Guarded by the engine lock. */
	unsigned qp_refs;     /* queues that complete here */
	bool counted_armed;   /* the engine counts it as armed */
	bool event_owed;      /* the channel was full */
	uint32_t comp_events; /* records written and not taken out again */
	uint32_t async_events;
};

struct rnp_srq {
	struct ibv_srq base;
	struct rnp_context *ctx;
	LIST_ENTRY(rnp_srq) link; /* engine lock */
	struct rn_srq *core;	  /* a block of its own */
	struct rnp_buffer ring;
	uint32_t number, max_sge; /* constant */
	/* Of an XRC domain, or NULL. */
	struct rnp_xrcd *xrcd;
	struct rnp_cq *cq;
	unsigned qps;	       /* made with it; engine lock */
	uint32_t async_events; /* as in struct rnp_cq; engine lock */
};

/* One opening of an XRC domain. */
struct rnp_xrcd {
	struct ibv_xrcd base;
	LIST_ENTRY(rnp_xrcd) link; /* engine lock */
	struct rnp_xrc_domain *domain;
	uint32_t number;  /* of @domain; constant */
	atomic_uint refs; /* SRQs and QPs */
};

struct rnp_qp {
	union rnp_abi_qp base;
	struct rnp_context *ctx;
	struct rn_qp *core; /* at the start of @block */
	struct rnp_buffer block;
	/* Lent to @core, or NULL; of the handle that has @block. */
	void *resources, *reads;
	struct rn_stats_qp *stats;
	LIST_ENTRY(rnp_qp) link;       /* engine lock */
	LIST_HEAD(, rnp_mcast) mcasts; /* groups that it is in; engine lock */
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	/* As the program asked for, kbps and bytes, and as its address vectors have it;
	 * the lower rate counts. Engine lock.
	 */
	uint32_t rate_limit, burst;
	uint8_t static_rate, alt_static_rate; /* enum ibv_rate */
	unsigned flows;			      /* rules that steer here; engine lock */
	struct rnp_xrcd *xrcd;		      /* of a target QP, or NULL */
	struct rnp_wq *wq;		      /* whose queue this is, or NULL; see wq.h */
	struct rnp_rwq_table *table;	      /* that it spreads frames over, or NULL */
	struct rnp_rss *rss;		      /* how, if so; NULL without @table */
	/* Ring of all that have this QP of the device open, see ibv_open_qp(); engine
	 * lock.
	 */
	struct rnp_qp *next_handle;
	uint32_t async_events;	/* as in struct rnp_cq; engine lock */
	struct rnp_wr_list *wr; /* ibv_wr_*() in the making; NULL: not asked for */
};

/* For what returns an errno, 0 if it succeeds: a program may look there, too. */
static inline int rnp_tell_errno(int rc)
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
static inline struct rnp_ah *to_rnp_ah(struct ibv_ah *ah) { return (struct rnp_ah *)ah; }
static inline struct rnp_cq *to_rnp_cq(struct ibv_cq *cq) { return (struct rnp_cq *)cq; }
static inline struct rnp_srq *to_rnp_srq(struct ibv_srq *srq) { return (struct rnp_srq *)srq; }
static inline struct rnp_xrcd *to_rnp_xrcd(struct ibv_xrcd *x) { return (struct rnp_xrcd *)x; }
static inline struct rnp_qp *to_rnp_qp(struct ibv_qp *qp) { return (struct rnp_qp *)qp; }
/* clang-format on */

/* CQEs on their way into the ring arrive, as they do before an interrupt. Engine lock
 * held.
 */
static inline void rnp_cq_land_cqes(const struct rnp_cq *cq)
{
	rnp_pcie_settle_ring(rnp_engine_pcie(cq->ctx->engine), cq->core.ring,
			     (size_t)cq->core.capacity * sizeof(struct rn_cqe));
}

/* Is this a copy that fork() made? Then nothing may be touched but local memory. */
static inline bool rnp_is_copy(const struct rnp_context *ctx)
{
	return rnp_engine_forked(ctx->engine);
}

/* Take the engine lock so that no cancellation can leave it taken. */
static inline int rnp_enter(struct rnp_engine *e)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	rnp_engine_lock(e);
	return cancel_state;
}

static inline void rnp_leave(struct rnp_engine *e, int cancel_state)
{
	rnp_engine_unlock(e);
	pthread_setcancelstate(cancel_state, NULL);
}

/* ------------------------------------------------------------------------- context.c */
/**
 * rnp_context_open() - Give a context its device
 * @ctx:	Made by the library, which has filled in @ctx->base; the rest is zeroed
 * @library:	That library
 * @origin:	The context whose open file it shares, locked by rnp_open_with(), or NULL
 * @err:	Out: a sentence if it fails, or if it works, but not as was asked for
 *
 * Return: 0 or -errno; then the context is as it was.
 */
int rnp_context_open(struct rnp_context *ctx, const struct rnp_library *library,
		     const struct rnp_context *origin, char *err, size_t err_len);

/* All of it but the library's part. */
void rnp_context_close(struct rnp_context *ctx);

/* The contexts of this process. A new one has a file of its own, or that of @origin. */
void rnp_open_add(struct rnp_context *ctx, const struct rnp_context *origin);
/* Before the context goes. What others may have imported from it moves to a context of
 * the same file, if there is one.
 */
void rnp_open_remove(struct rnp_context *ctx);
/* Call @fn with the context that @cmd_fd is a copy of the descriptor of, or NULL; it
 * stays open for that time.
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
/* One sentence on standard error: for what the program cannot say by an errno. */
void rnp_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int rnp_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);
int rnp_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr);
int rnp_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* ------------------------------------------------------------------------------ pd.c */
struct ibv_pd *rnp_alloc_pd(struct ibv_context *context);
int rnp_dealloc_pd(struct ibv_pd *base);
struct ibv_td *rnp_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int rnp_dealloc_td(struct ibv_td *base);
struct ibv_pd *rnp_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);
int rnp_dealloc_parent_domain(struct ibv_pd *base);

struct ibv_ah *rnp_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int rnp_destroy_ah(struct ibv_ah *base);
void rnp_ah_detach(struct rnp_context *ctx, struct rnp_ah *ah);

/* ------------------------------------------------------------------------------ mr.c */
struct ibv_mr *rnp_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			  int access);
/* What all ways to register have in common; @attr->key is filled in. @dm: it is memory on
 * the NIC, or NULL. NULL with -errno in @rc.
 */
struct rnp_mr *rnp_mr_register(struct ibv_pd *pd, struct rn_mr_attr *attr,
			       enum rnp_abi_mr_type type, struct rnp_dm *dm, int *rc);
struct ibv_mr *rnp_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access);
int rnp_rereg_mr(struct rnp_abi_mr *base, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access);
struct ibv_mr *rnp_alloc_null_mr(struct ibv_pd *pd);
int rnp_dereg_mr(struct rnp_abi_mr *base);
/* Remove from the device; engine lock held. Local memory stays. Likewise for CQ and QP.
 */
void rnp_mr_detach(struct rnp_mr *mr);
/* So many holders less; the last one frees it. Engine lock held. */
void rnp_mr_release(struct rnp_mr *mr, unsigned holders);

int rnp_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sge);

/* ------------------------------------------------------------------------------ dm.c */
struct ibv_dm *rnp_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int rnp_free_dm(struct ibv_dm *base);
struct ibv_mr *rnp_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset,
			     size_t length, unsigned int access);
/* As rnp_mr_detach(), after its regions. */
void rnp_dm_detach(struct rnp_dm *dm);
void rnp_dm_release(struct rnp_dm *dm, unsigned holders);
/* A handle that copies to and from the memory of @origin, or NULL. */
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
int rnp_req_notify_cq(struct ibv_cq *base, int solicited_only);
int rnp_poll_cq(struct ibv_cq *base, int num_entries, struct ibv_wc *wc);
/* CQEs of a QP that was reset or destroyed are not for the program. Engine lock held. */
void rnp_cq_skip_qp(struct rnp_cq *cq, uint32_t qpn);

/* --------------------------------------------------------------------------- event.c */
extern const struct rnp_engine_hooks rnp_hooks;
void rnp_cq_event(struct ibv_cq *base);
/* An event that found the channel full: try again, or forget it. Engine lock held. */
void rnp_cq_write_owed(struct rnp_cq *cq);
void rnp_cq_forget_owed(struct rnp_cq *cq);
/* The channel's writing side, shared by its CQs; NULL with errno. */
struct rnp_channel *rnp_channel_get(struct rnp_context *ctx,
				    const struct ibv_comp_channel *key);
void rnp_channel_put(struct rnp_context *ctx, struct rnp_channel *channel);

/* ----------------------------------------------------------- qp.c, qp_attr.c, post.c */
struct ibv_qp *rnp_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *rnp_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *ex);
int rnp_destroy_qp(struct ibv_qp *base);
int rnp_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask);
int rnp_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);
int rnp_modify_qp_rate_limit(struct ibv_qp *base, struct ibv_qp_rate_limit_attr *attr);
enum {
	/* Not an assigned OUI: the bit "locally administered" is set. ASCII "ROC". */
	RNP_VENDOR_ID = 0x524f43,
};
int rnp_set_ece(struct ibv_qp *base, struct ibv_ece *ece);
int rnp_query_ece(struct ibv_qp *base, struct ibv_ece *ece);
int rnp_query_qp_data_in_order(struct ibv_qp *base, enum ibv_wr_opcode op,
			       uint32_t flags);
int rnp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int rnp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
/* Its CQEs are not for the program any more; engine lock held. */
void rnp_qp_skip_cqes(struct rnp_qp *qp);
void rnp_qp_detach(struct rnp_qp *qp);
/* The QP behind a work queue, in RESET; NULL with errno. @in->max_*: Out: what it got.
 */
struct rnp_qp *rnp_qp_create_queue(struct rnp_wq *wq, struct ibv_wq_init_attr *in);
/* What creating and opening have in common: zeroed, but for what @attr says. */
struct rnp_qp *rnp_qp_alloc(struct rnp_context *ctx, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr);

/* ---------------------------------------------------------------------- srq.c, xrc.c */
struct ibv_srq *rnp_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
struct ibv_srq *rnp_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *attr);
int rnp_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask);
int rnp_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr);
int rnp_get_srq_num(struct ibv_srq *base, uint32_t *srq_num);
int rnp_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr);
int rnp_destroy_srq(struct ibv_srq *base);
void rnp_srq_detach(struct rnp_srq *srq);
struct ibv_xrcd *rnp_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr);
int rnp_close_xrcd(struct ibv_xrcd *base);
/* After its SRQs and QPs. */
void rnp_xrcd_detach(struct rnp_xrcd *xrcd);
struct ibv_qp *rnp_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* --------------------------------------------------------------------------- mcast.c */
int rnp_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid);
int rnp_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid);
/* Before the QP leaves the device; engine lock held. */
void rnp_mcast_detach_all(struct rnp_qp *qp);
/* In a fork child: the local memory alone. */
void rnp_mcast_free_all(struct rnp_qp *qp);

/* ------------------------------------------------------------------------------ wr.c */
/* Prepare for ibv_wr_*(): 0, EOPNOTSUPP for an operation that this type has not, ENOMEM.
 */
int rnp_wr_init(struct rnp_qp *qp, uint64_t send_ops_flags);
void rnp_wr_fini(struct rnp_qp *qp);

/* ---------------------------------------------------------------------------- flow.c */
struct rnp_flow;
struct ibv_flow *rnp_create_flow(struct ibv_qp *base, struct ibv_flow_attr *attr);
int rnp_destroy_flow(struct ibv_flow *base);
/* As rnp_mr_detach(), before its QP. */
void rnp_flow_detach(struct rnp_flow *flow);
struct ibv_counters *rnp_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr);
int rnp_destroy_counters(struct ibv_counters *base);
int rnp_attach_counters_point_flow(struct ibv_counters *base,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow);
int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags);

/* ------------------------------------------------------------------------------ wq.c */
struct ibv_wq *rnp_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int rnp_modify_wq(struct ibv_wq *base, struct ibv_wq_attr *attr);
int rnp_destroy_wq(struct ibv_wq *base);
struct ibv_rwq_ind_table *
rnp_create_rwq_ind_table(struct ibv_context *context,
			 struct ibv_rwq_ind_table_init_attr *attr);
int rnp_destroy_rwq_ind_table(struct ibv_rwq_ind_table *base);
/* As rnp_mr_detach(), after its QPs and while its work queues' memory is there. */
void rnp_rwq_table_detach(struct rnp_context *ctx, struct rnp_rwq_table *table);

#endif /* RNP_PROVIDER_H */
