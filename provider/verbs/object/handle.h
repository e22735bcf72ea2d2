/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handle.h - memory of verbs objects, and the table in which every verb looks up the
 * objects that the program names.
 *
 * A kernel finds an object by its handle in a table of the open device file. So a program
 * that destroys an object twice, goes on using it, uses it with another context, or has
 * overwritten the handle gets an error. Here the program names an object by its address.
 * Each context has a table of its objects; an address that is not in it, or whose struct
 * has another handle than the object was created with, is refused.
 *
 * libibverbs reads the context from the object before it calls the plugin. Therefore the
 * memory of an object is never given back: after a while it becomes another object of the
 * same kind, see rnp_object_new().
 */
#ifndef RNP_HANDLE_H
#define RNP_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct rnp_context;

/* Kinds of objects. A protection domain is a struct rnp_pd_handle. */
enum rnp_kind {
	RNP_KIND_PD,
	RNP_KIND_TD,
	RNP_KIND_MR,
	RNP_KIND_MW,
	RNP_KIND_DM,
	RNP_KIND_AH,
	RNP_KIND_CQ,
	RNP_KIND_SRQ,
	RNP_KIND_XRCD,
	RNP_KIND_QP,
	RNP_KIND_WQ,
	RNP_KIND_RWQ_TABLE,
	RNP_KIND_FLOW,
	RNP_KIND_COUNTERS,
	RNP_KIND_DMAH,
	RNP_KIND_COMP_CNTR,
	RNP_KINDS
};

/* Member of each object. */
struct rnp_handle {
	/* Next object in the same bucket of the table; for a destroyed object, the next
	 * one in the quarantine.
	 */
	struct rnp_handle *next;
	/* handle that the public struct of the object had when it was created */
	uint32_t number;
	uint8_t kind; /* enum rnp_kind */
	/* The program can name the object, which is in the table of its context. Written
	 * under the engine lock.
	 */
	atomic_bool is_live;
	/* The program knows the address, because it was given this object, or an earlier
	 * object at the same place.
	 */
	bool was_named;
};

enum {
	/* buckets of a table that needs no memory of its own; a power of two */
	RNP_HANDLE_BUCKETS = 16,
	/* Number of destroyed objects of a kind whose memory is kept unchanged. */
	RNP_QUARANTINE = 64,
};

/* The objects of one context by their addresses. All-zero: empty. Guarded by the engine
 * lock.
 */
struct rnp_handle_table {
	struct rnp_handle **bucket; /* NULL: @first is used */
	uint32_t room, count;	    /* number of buckets in @bucket, and of objects */
	struct rnp_handle *first[RNP_HANDLE_BUCKETS];
};

/**
 * rnp_object_new() - Allocate an object
 * @scrub:	Called with a destroyed object before its memory is reused, to free what
 *		the object has kept; NULL: nothing is kept
 *
 * The memory is zeroed. If more than RNP_QUARANTINE destroyed objects of this kind have
 * not been reused, the memory of the oldest of them is used; otherwise new memory is
 * allocated.
 *
 * Return: the object, or NULL with ENOMEM.
 */
void *rnp_object_new(enum rnp_kind kind, void (*scrub)(void *object));

/* Ends an object, which is not in the table any more, or never was. Its memory stays
 * readable until RNP_QUARANTINE more objects of this kind were destroyed; if the program
 * has never known the object, it is freed. NULL is ignored.
 */
void rnp_object_free(enum rnp_kind kind, void *object);

/* Adds the object to the table, so that the program can name it. The caller has already
 * stored the handle in its public struct. The engine lock is held, or the process is a
 * fork() child. The call does not fail: if there is no memory to enlarge the table,
 * look-ups become slower.
 */
void rnp_handle_add(struct rnp_context *ctx, enum rnp_kind kind, void *object);

/* Removes the object from the table: no verb finds it any more. Does nothing if the
 * object is not in the table. The engine lock is held, or the process is a fork() child.
 */
void rnp_handle_remove(struct rnp_context *ctx, enum rnp_kind kind, void *object);

/* Moves an object to the table of another context. The engine lock is held. */
void rnp_handle_move(struct rnp_context *from, struct rnp_context *to, enum rnp_kind kind,
		     void *object);

/**
 * rnp_handle_find() - Look up an object that the program has passed
 * @ctx:	Context that must own it
 * @object:	Address of its public struct; anything, also NULL
 *
 * The memory at @object is read only if there is an object. The engine lock is held, or
 * the process is a fork() child.
 *
 * Return: the object; NULL: there is none of that kind, or its handle was overwritten.
 */
void *rnp_handle_find(const struct rnp_context *ctx, enum rnp_kind kind,
		      const void *object);

/* Is there an object of that kind at @object? Unlike rnp_handle_find(), this does not
 * compare its handle. For verbs of the data path, in which a kernel sees no handles.
 */
bool rnp_handle_is_object(const struct rnp_context *ctx, enum rnp_kind kind,
			  const void *object);

/* Frees the table of a context that was closed. Objects that the program has not
 * destroyed remain allocated, and the program can still destroy them.
 */
void rnp_handle_close(struct rnp_context *ctx);

#endif /* RNP_HANDLE_H */
