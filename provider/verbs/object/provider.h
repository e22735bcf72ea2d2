/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* provider.h - what all verbs objects of the libibverbs plugin share: their context, and
 * the engine lock.
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

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "event.h"
#include "handle.h"
#include "provider/engine/engine.h"
#include "rocin/stats.h"

struct rnp_hca;
struct rnp_library;

struct rnp_context {
	struct ibv_context base; /* the library's part of the memory block precedes it */
	const struct rnp_library *library;
	struct rnp_engine *engine;
	struct rnp_hca *hca;
	struct rnp_event_pipe async;
	bool has_async; /* @async is open; guarded by the engine lock */
	/* list of all contexts of the process; guarded by open_lock */
	LIST_ENTRY(rnp_context) open;
	/* Number that identifies the open file of cmd_fd. Contexts that share the open
	 * file have equal numbers.
	 */
	uint64_t file;
	/* guards @channels; taken as the last of several locks */
	pthread_mutex_t channel_lock;
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
	/* handle of the completion counter that was created last, and how many there are
	 */
	uint32_t last_comp_cntr, comp_cntrs;
	struct rnp_handle_table handles;
	/* The context was closed. Its memory remains, because objects that the program
	 * did not destroy still refer to it.
	 */
	bool is_closed;
	/* link in the list of closed contexts in plugin.c */
	LIST_ENTRY(rnp_context) closed;
};

/* Returns @rc, the errno of a call or 0. If it is not 0, stores it in errno, too, since
 * programs read either.
 */
static inline int rnp_set_errno(int rc)
{
	if (rc)
		errno = rc;
	return rc;
}

static inline struct rnp_context *to_rnp_context(struct ibv_context *c)
{
	return (struct rnp_context *)c;
}

/* Has this process inherited the context by fork()? Then a verb may use nothing but
 * memory of this process.
 */
static inline bool rnp_is_fork_child(const struct rnp_context *ctx)
{
	return rnp_engine_forked(ctx->engine);
}

/* Adds @by to the number of users in the record of an object, which `rocin stat` shows.
 * @record may be NULL. Any thread may call it.
 */
static inline void rnp_record_users(struct rn_stats_object *record, int by)
{
	if (record)
		__atomic_fetch_add(&record->users, (uint32_t)by, __ATOMIC_RELAXED);
}

/* Takes the engine lock, and disables cancellation: a thread that was cancelled would
 * keep the lock. Return: the old cancel state, for rnp_unlock_engine().
 */
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

/* Takes the engine lock to destroy an object. Return: as rnp_lock_engine(). In a fork()
 * child, or if the context was closed, takes no lock and returns RNP_NO_LOCK; then the
 * caller may only free the memory of the object.
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

#endif /* RNP_PROVIDER_H */
