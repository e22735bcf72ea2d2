/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handle.c - tables of the objects that a program can name, and the memory of objects;
 * see handle.h.
 */
#include "handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pd.h"
#include "provider.h"
#include "provider/verbs/memory/mr.h"
#include "provider/verbs/queue/comp_cntr.h"
#include "provider/verbs/queue/cq.h"
#include "provider/verbs/queue/qp.h"
#include "provider/verbs/queue/srq.h"
#include "provider/verbs/queue/steering.h"
#include "rocin/hash.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#endif

/* A function of the address sanitizer's runtime, present only if the program uses that
 * sanitizer.
 */
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): its own name
void __lsan_disable(void) __attribute__((weak));

/* ------------------------------------------------------------------ kinds of objects */
enum {
	UNNUMBERED = -1, /* libibverbs has no handle of such objects */
};

struct kind {
	size_t size;   /* bytes of the whole object */
	size_t handle; /* offset of its struct rnp_handle */
	int number;    /* offset of the handle in the public struct, or UNNUMBERED */
	/* True: the verbs of the data path read an object of this kind without looking it
	 * up first, even if it was destroyed.
	 */
	bool is_read_dead;
};

#define KIND(type, base_number)                                               \
	.size = sizeof(struct type), .handle = offsetof(struct type, handle), \
	.number = (base_number)

static const struct kind kinds[RNP_KINDS] = {
	[RNP_KIND_PD] = { KIND(rnp_pd_handle, offsetof(struct ibv_pd, handle)),
			  .is_read_dead = true },
	[RNP_KIND_TD] = { KIND(rnp_td, UNNUMBERED) },
	[RNP_KIND_MR] = { KIND(rnp_mr, offsetof(struct ibv_mr, handle)) },
	[RNP_KIND_MW] = { KIND(rnp_mw, offsetof(struct ibv_mw, handle)) },
	[RNP_KIND_DM] = { KIND(rnp_dm, offsetof(struct ibv_dm, handle)),
			  .is_read_dead = true },
	[RNP_KIND_AH] = { KIND(rnp_ah, offsetof(struct ibv_ah, handle)) },
	[RNP_KIND_CQ] = { KIND(rnp_cq, offsetof(struct ibv_cq, handle)),
			  .is_read_dead = true },
	[RNP_KIND_SRQ] = { KIND(rnp_srq, offsetof(struct ibv_srq, handle)),
			   .is_read_dead = true },
	[RNP_KIND_XRCD] = { KIND(rnp_xrcd, UNNUMBERED) },
	[RNP_KIND_QP] = { KIND(rnp_qp, offsetof(struct ibv_qp, handle)),
			  .is_read_dead = true },
	[RNP_KIND_WQ] = { KIND(rnp_wq, offsetof(struct ibv_wq, handle)),
			  .is_read_dead = true },
	[RNP_KIND_RWQ_TABLE] = { KIND(
		rnp_rwq_table, offsetof(struct ibv_rwq_ind_table, ind_tbl_handle)) },
	[RNP_KIND_FLOW] = { KIND(rnp_flow, offsetof(struct ibv_flow, handle)) },
	[RNP_KIND_COUNTERS] = { KIND(rnp_counters, UNNUMBERED) },
	[RNP_KIND_COMP_CNTR] = { KIND(rnp_comp_cntr,
				      offsetof(struct rnp_abi_comp_cntr, handle)) },
	[RNP_KIND_DMAH] = { KIND(rnp_dmah, UNNUMBERED) },
};

static struct rnp_handle *handle_of(enum rnp_kind kind, const void *object)
{
	return (struct rnp_handle *)((char *)object + kinds[kind].handle);
}

static void *object_of(const struct rnp_handle *h)
{
	return (char *)h - kinds[h->kind].handle;
}

/* Returns the handle in the public struct, which the program may have overwritten. */
static uint32_t number_of(const struct kind *k, const void *object)
{
	uint32_t number = 0;

	if (k->number != UNNUMBERED)
		memcpy(&number, (const char *)object + k->number, sizeof(number));
	return number;
}

/* ---------------------------------------------------- quarantine of destroyed objects */
/* Destroyed objects of one kind, the oldest first. They stay reachable from here, so that
 * leak checkers do not report them.
 */
struct quarantine {
	struct rnp_handle *first, *last;
	unsigned count;
};

/* guards @dead; taken as the last of several locks */
static pthread_mutex_t dead_lock = PTHREAD_MUTEX_INITIALIZER;
static struct quarantine dead[RNP_KINDS];

static void lock_dead(void)
{
	pthread_mutex_lock(&dead_lock);
}

static void unlock_dead(void)
{
	pthread_mutex_unlock(&dead_lock);
}

/* Takes the lock of the quarantine while fork() runs, so that a child never gets a copy
 * of the quarantine that another thread was just changing.
 */
static void watch_fork(void)
{
	pthread_atfork(lock_dead, unlock_dead, unlock_dead);
}

/* Removes the oldest object from the quarantine and returns it. Returns NULL if the
 * quarantine has no more than RNP_QUARANTINE objects.
 */
static struct rnp_handle *take_oldest(struct quarantine *q)
{
	struct rnp_handle *h = NULL;

	pthread_mutex_lock(&dead_lock);
	if (q->count > RNP_QUARANTINE) {
		h = q->first;
		q->first = h->next;
		q->count--;
	}
	pthread_mutex_unlock(&dead_lock);
	return h;
}

/* Under the address sanitizer, makes every further access to a destroyed object an error.
 * Members that libibverbs and rnp_handle_find() read are left out.
 */
static void poison(const struct kind *k, void *object)
{
	const size_t from = k->handle + sizeof(struct rnp_handle);

	if (!k->is_read_dead)
		ASAN_POISON_MEMORY_REGION((char *)object + from, k->size - from);
}

/* Returns zeroed memory for an object: that of an object of the same kind that was
 * destroyed long ago; NULL if there is none. Under the address sanitizer such an object
 * is freed instead: the sanitizer keeps freed memory for long, and its report of a leak
 * must show the call that created the object.
 */
static void *reuse(enum rnp_kind kind, void (*scrub)(void *object))
{
	struct rnp_handle *h = take_oldest(&dead[kind]);
	void *object = h ? object_of(h) : NULL;

	if (!object)
		return NULL;
	ASAN_UNPOISON_MEMORY_REGION(object, kinds[kind].size);
	if (scrub)
		scrub(object);
	if (__lsan_disable) {
		free(object);
		return NULL;
	}
	memset(object, 0, kinds[kind].size);
	h->was_named = true;
	return object;
}

void *rnp_object_new(enum rnp_kind kind, void (*scrub)(void *object))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *object;

	pthread_once(&once, watch_fork);
	object = reuse(kind, scrub);
	if (!object)
		object = calloc(1, kinds[kind].size);
	if (object)
		handle_of(kind, object)->kind = (uint8_t)kind;
	return object;
}

static void put_last(struct quarantine *q, struct rnp_handle *h)
{
	h->next = NULL;
	pthread_mutex_lock(&dead_lock);
	if (q->count++)
		q->last->next = h;
	else
		q->first = h;
	q->last = h;
	pthread_mutex_unlock(&dead_lock);
}

void rnp_object_free(enum rnp_kind kind, void *object)
{
	const struct kind *k = &kinds[kind];

	if (!object)
		return;
	if (!handle_of(kind, object)->was_named) {
		free(object);
		return;
	}
	poison(k, object);
	put_last(&dead[kind], handle_of(kind, object));
}

/* ------------------------------------------------- table of the objects of a context */
static struct rnp_handle **buckets_of(struct rnp_handle_table *t)
{
	return t->bucket ? t->bucket : t->first;
}

static struct rnp_handle **bucket_of(struct rnp_handle_table *t, const void *object)
{
	uint32_t mask = (t->bucket ? t->room : RNP_HANDLE_BUCKETS) - 1;

	return &buckets_of(t)[(uint32_t)(rn_hash_word((uintptr_t)object) >> 32) & mask];
}

/* Doubles the number of buckets. Chains are moved object by object, so that a fork()
 * child, whenever it is made, finds no circle in its copy of them.
 */
static void grow(struct rnp_handle_table *t)
{
	const uint32_t room = t->bucket ? t->room : RNP_HANDLE_BUCKETS;
	struct rnp_handle_table larger = { .room = 2 * room };
	struct rnp_handle **old = buckets_of(t), **at, *h;

	larger.bucket = calloc(larger.room, sizeof(struct rnp_handle *));
	if (!larger.bucket)
		return;
	for (uint32_t i = 0; i < room; i++)
		while ((h = old[i])) {
			old[i] = h->next;
			at = bucket_of(&larger, object_of(h));
			h->next = *at;
			*at = h;
		}
	free(t->bucket);
	t->bucket = larger.bucket;
	t->room = larger.room;
}

static void insert(struct rnp_handle_table *t, struct rnp_handle *h)
{
	struct rnp_handle **at;

	if (++t->count > 2 * (t->bucket ? t->room : RNP_HANDLE_BUCKETS))
		grow(t);
	at = bucket_of(t, object_of(h));
	h->next = *at;
	*at = h;
	h->was_named = true;
	atomic_store(&h->is_live, true);
}

void rnp_handle_add(struct rnp_context *ctx, enum rnp_kind kind, void *object)
{
	struct rnp_handle *h = handle_of(kind, object);

	h->number = number_of(&kinds[kind], object);
	insert(&ctx->handles, h);
}

void rnp_handle_remove(struct rnp_context *ctx, enum rnp_kind kind, void *object)
{
	struct rnp_handle_table *t = &ctx->handles;
	struct rnp_handle *h = handle_of(kind, object), **at = bucket_of(t, object);

	atomic_store(&h->is_live, false);
	while (*at && *at != h)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = h->next;
	t->count--;
}

void rnp_handle_move(struct rnp_context *from, struct rnp_context *to, enum rnp_kind kind,
		     void *object)
{
	struct rnp_handle *h = handle_of(kind, object);
	const bool was_live = h->is_live;

	rnp_handle_remove(from, kind, object);
	if (was_live)
		insert(&to->handles, h);
}

/* Returns the handle of the live object @object of a kind, or NULL. If @ctx was closed,
 * it has no table to look in: then @object is trusted to be the address of an object,
 * destroyed or not.
 */
static struct rnp_handle *find(const struct rnp_context *ctx, enum rnp_kind kind,
			       const void *object)
{
	struct rnp_handle *h = object ? handle_of(kind, object) : NULL, *other;

	if (!h || ctx->is_closed)
		return h && h->is_live && h->kind == kind ? h : NULL;
	other = *bucket_of((struct rnp_handle_table *)&ctx->handles, object);
	while (other && object_of(other) != object)
		other = other->next;
	return other && other->kind == kind ? other : NULL;
}

void *rnp_handle_find(const struct rnp_context *ctx, enum rnp_kind kind,
		      const void *object)
{
	const struct rnp_handle *h = find(ctx, kind, object);

	return h && h->number == number_of(&kinds[kind], object) ? object_of(h) : NULL;
}

bool rnp_handle_is_object(const struct rnp_context *ctx, enum rnp_kind kind,
			  const void *object)
{
	return find(ctx, kind, object) != NULL;
}

void rnp_handle_close(struct rnp_context *ctx)
{
	free(ctx->handles.bucket);
	ctx->handles = (struct rnp_handle_table){ 0 };
	ctx->is_closed = true;
}
