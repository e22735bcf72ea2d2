/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.h - memory regions and windows: keys, bounds, access rights.
 *
 * A key is index << 8 | key byte. The index finds the region in the device's key
 * table, the byte distinguishes successive uses of one index. The L_Key and
 * R_Key of a region are equal.
 *
 * Threads: none of these functions locks.
 */
#ifndef RN_MR_H
#define RN_MR_H

#include "rocin/access.h"
#include "rocin/hnode.h"

struct rn_dev;
struct rn_htab;

enum {
	RN_KEY_INDEX_SHIFT = 8,
	RN_KEY_INDEX_MAX = 0xffffff,
};

/* What a key stands for. */
enum rn_mr_kind {
	RN_MR_KIND_MR,
	/* Memory window of type 1: its key is for the whole protection domain. */
	RN_MR_KIND_MW1,
	RN_MR_KIND_MW2, /* memory window of type 2: its key is for the QP that bound it */
	RN_MR_KIND_NULL, /* reads as zeros, discards writes; has no R_Key */
};

/* A memory region, a null region, or a memory window. A bound window has bounds and
 * access rights of its own.
 */
struct rn_mr {
	/* In the key table, where the key is the index of the L_Key. */
	struct rn_hnode node;
	uint32_t lkey;	   /* the R_Key is the same */
	uint32_t pd;	   /* number of the protection domain */
	uint64_t va;	   /* first address, as used by peers and in work requests */
	uint64_t length;   /* bytes */
	rn_iova iova_base; /* device address of @va */
	uint32_t access;   /* RN_ACCESS_* */
	enum rn_mr_kind kind;
	/* False: the region is being deregistered, or the window is not bound;
	 * every access is refused.
	 */
	bool valid;
	uint32_t
		/* MR: number of windows bound to it; must be 0 before it is freed. */
		windows;
	/* The fields below are for windows. The QP keeps a list of its
	 * bound windows of type 2.
	 */
	struct rn_mr *region; /* region that the window is bound to; NULL: not bound */
	uint32_t qpn;	      /* type 2, while bound: the QP */
	struct rn_mr *next_window, **window_link;
};

/* Properties of a region to be made. */
struct rn_mr_attr {
	uint32_t key;
	uint32_t pd;
	uint64_t va;	 /* ignored with RN_ACCESS_ZERO_BASED: addresses count from 0 */
	uint64_t length; /* bytes; may be 0, then only empty ranges lie in it */
	rn_iova iova_base;
	uint32_t access;
};

/**
 * rn_mr_init() - Make a memory region, not yet in a table
 * @mr:		Caller's memory, overwritten
 * @attr:	Its properties
 *
 * The caller inserts &@mr->node into the key table (-EEXIST there: the index is in use)
 * and removes it before it frees the memory. Whether the memory exists and may be
 * accessed has been checked by the caller.
 *
 * Return: 0; -EINVAL if the range wraps past 2^64, a bit of @access is unknown and not in
 *	   RN_ACCESS_OPTIONAL_RANGE, or REMOTE_WRITE or REMOTE_ATOMIC comes without
 *	   LOCAL_WRITE (IBTA Vol 1, memory registration).
 */
int rn_mr_init(struct rn_mr *mr, const struct rn_mr_attr *attr);

/* Make a null region, which contains every address. Otherwise as rn_mr_init(). */
void rn_mr_init_null(struct rn_mr *mr, uint32_t key, uint32_t pd);

/* Make a window that is not bound; @kind: RN_MR_KIND_MW1 or MW2. Otherwise as
 * rn_mr_init(). Binding takes a work request and may change the key byte of @mr->lkey.
 */
void rn_mw_init(struct rn_mr *mr, enum rn_mr_kind kind, uint32_t key, uint32_t pd);

/* Does [@va, @va + @len) lie in the region? Compared as offsets, which cannot wrap once
 * the start is known to lie inside.
 */
static inline bool rn_mr_contains(const struct rn_mr *mr, uint64_t va, uint64_t len)
{
	uint64_t offset = va - mr->va;

	return va >= mr->va && offset <= mr->length && len <= mr->length - offset;
}

/* Why an access with a key is refused. A peer gets the same NAK for all of these. */
enum rn_key_result {
	RN_KEY_OK,
	RN_KEY_UNKNOWN, /* no object with this index, or its key byte differs */
	RN_KEY_INVALID, /* the object is not valid, or not for this use */
	RN_KEY_PD,	/* it belongs to another protection domain */
	RN_KEY_QP,	/* it is a window of another QP */
	RN_KEY_ACCESS,	/* an access right is missing */
	RN_KEY_RANGE,	/* the range is not inside the region */
	RN_KEY_RESULT_COUNT,
};

/* An access to memory that is to be checked. */
struct rn_key_use {
	uint32_t key;	 /* as received or posted, host order */
	uint32_t pd;	 /* protection domain of the queue pair */
	uint32_t qpn;	 /* number of the queue pair; used for remote accesses only */
	uint64_t va;	 /* first byte, in the address space of the region */
	uint64_t len;	 /* bytes */
	uint32_t access; /* RN_ACCESS_* bits, all of which the region must grant */
	bool whole;	 /* the whole region, whatever @va and @len say */
};

/**
 * rn_mr_check_remote() - May a peer's request touch this memory?
 * @tab:	Key table of the device
 * @use:	The access; @use->access: at least one bit of RN_ACCESS_REMOTE_MASK
 * @iova:	Out: device address of the first byte; untouched on failure
 * @mr:		Out: the region; untouched on failure; NULL if not wanted
 *
 * Checks in the order of enum rn_key_result. A range that wraps past 2^64 leaves the
 * region. A request of length 0 is not checked at all (IBTA Vol 1: not even
 * its key), so the caller does not call this; if it does, 0 bytes are checked like any
 * range.
 *
 * The result is valid until the key table or the region changes, so each packet is
 * checked.
 *
 * Return: RN_KEY_OK or the result of the first check that failed. IBTA Vol 1, R_Key
 * validation.
 */
enum rn_key_result rn_mr_check_remote(const struct rn_htab *tab,
				      const struct rn_key_use *use, rn_iova *iova,
				      struct rn_mr **mr);

/**
 * rn_mr_check_local() - May a work request's scatter or gather entry touch this memory?
 * @tab:	Key table of the device
 * @use:	The access; @use->access: RN_ACCESS_LOCAL_WRITE to scatter, 0 to gather
 * @iova:	Out: device address of the first byte; untouched on failure
 * @mr:		Out: the region; untouched on failure; NULL if not wanted
 *
 * As rn_mr_check_remote(), for L_Keys; a window has none. A null region has no memory:
 * the caller looks at (*@mr)->kind, and @iova is meaningless. The caller does not check
 * entries of length 0 either.
 */
enum rn_key_result rn_mr_check_local(const struct rn_htab *tab,
				     const struct rn_key_use *use, rn_iova *iova,
				     struct rn_mr **mr);

/* A text for people, such as "unknown key"; never NULL. */
const char *rn_key_result_name(enum rn_key_result result);

/* struct rn_mr is in rocin/mr.h. rn_dev_add_mr() makes @mr accessible by its keys (lkey
 * == rkey, chosen by the caller, index not in use). The struct stays the caller's and
 * must live until rn_dev_remove_mr(), which also ends the binding of a window, or of all
 * windows that are bound to the region (@mr->windows).
 */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr);
void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr);

/* Move a key table to a larger array of @count (a power of two) pointers, which the
 * callee zeroes. Return: the old array, or NULL if that was the built-in one.
 */
void **rn_dev_grow_mr_table(struct rn_dev *dev, void **bucket, uint32_t count);
/* or NULL */
bool rn_dev_has_mr_index(const struct rn_dev *dev, uint32_t key_index);
/* The region or window that has this index in its keys; NULL: none. */
const struct rn_mr *rn_dev_find_mr(const struct rn_dev *dev, uint32_t key_index);

#endif /* RN_MR_H */
