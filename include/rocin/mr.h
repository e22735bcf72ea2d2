/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.h - memory regions and windows: keys, bounds, rights.
 *
 * A key is index << 8 | key byte. The index finds the region in the device's key table,
 * the byte distinguishes successive uses of one index. L_Key and R_Key of a region are
 * equal.
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
	RN_MR_KIND_MW1,	 /* memory window of type 1: opens memory to its domain */
	RN_MR_KIND_MW2,	 /* of type 2: to the queue pair that bound it */
	RN_MR_KIND_NULL, /* reads as zeros, swallows writes; local keys only */
};

/* A region, a null region, or a window: what is bound of a region has bounds and rights
 * of its own.
 */
struct rn_mr {
	struct rn_hnode node; /* in the key table; key: index of the L_Key */
	uint32_t lkey;	      /* and R_Key */
	uint32_t pd;	      /* number of the protection domain */
	uint64_t va;	      /* first address as peers and work requests name it */
	uint64_t length;      /* bytes */
	rn_iova iova_base;    /* device address of @va */
	uint32_t access;      /* RN_ACCESS_* */
	enum rn_mr_kind kind;
	/* False: being deregistered, or a window that is not bound; every use is refused.
	 */
	bool valid;
	uint32_t
		windows; /* MR: those bound to it; the region may go when there is none */
	/* Windows; the queue pair keeps a list of those of type 2 that it has bound. */
	struct rn_mr *region; /* NULL while not bound */
	uint32_t qpn;	      /* MW2, while bound */
	struct rn_mr *next_window, **window_link;
};

/* What a region shall be. */
struct rn_mr_attr {
	uint32_t key;
	uint32_t pd;
	uint64_t va;	 /* ignored with RN_ACCESS_ZERO_BASED: the region starts at 0 */
	uint64_t length; /* bytes; 0 is legal, and only empty ranges fit */
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

/* A null region: every address is in it. As rn_mr_init() otherwise. */
void rn_mr_init_null(struct rn_mr *mr, uint32_t key, uint32_t pd);

/* A window that is not bound; @kind: RN_MR_KIND_MW1 or MW2. As rn_mr_init() otherwise.
 * Binding takes a work request and may change the key byte of @mr->lkey.
 */
void rn_mw_init(struct rn_mr *mr, enum rn_mr_kind kind, uint32_t key, uint32_t pd);

/* Does [va, va + len) lie in the region? In offsets, which cannot wrap once the start is
 * known to lie inside.
 */
static inline bool rn_mr_contains(const struct rn_mr *mr, uint64_t va, uint64_t len)
{
	uint64_t offset = va - mr->va;

	return va >= mr->va && offset <= mr->length && len <= mr->length - offset;
}

/* Why a key does not open memory. Remotely all of these are one NAK. */
enum rn_key_result {
	RN_KEY_OK,
	RN_KEY_UNKNOWN, /* no such index, or another key byte */
	RN_KEY_INVALID, /* object is not valid, or not for this use */
	RN_KEY_PD,	/* of another protection domain */
	RN_KEY_QP,	/* window of another queue pair */
	RN_KEY_ACCESS,	/* a right is missing */
	RN_KEY_RANGE,	/* leaves the region */
	RN_KEY_RESULT_COUNT,
};

/* One wish to touch memory. */
struct rn_key_use {
	uint32_t key;	 /* as received or posted, host order */
	uint32_t pd;	 /* of the queue pair */
	uint32_t qpn;	 /* its number; matters to remote uses only */
	uint64_t va;	 /* first byte, in the address space of the region */
	uint64_t len;	 /* bytes */
	uint32_t access; /* RN_ACCESS_* bits all of which the region must grant */
	bool whole;	 /* all of the region, whatever @va and @len say */
};

/**
 * rn_mr_check_remote() - May a peer's request touch this memory?
 * @tab:	Key table of the device
 * @use:	What it wants; @use->access: at least one bit of RN_ACCESS_REMOTE_MASK
 * @iova:	Out: device address of the first byte; untouched on failure
 * @mr:		Out: the region; untouched on failure; NULL if not wanted
 *
 * Checks in the order of enum rn_key_result. A range that wraps past 2^64 leaves the
 * region. A request of length 0 is not checked at all (IBTA Vol 1: not even
 * its key), so the caller does not ask; if it does, 0 bytes are judged like any range.
 *
 * The answer is valid until the key table or the region changes: ask again per packet.
 *
 * Return: RN_KEY_OK or the first objection. IBTA Vol 1, R_Key validation.
 */
enum rn_key_result rn_mr_check_remote(const struct rn_htab *tab,
				      const struct rn_key_use *use, rn_iova *iova,
				      struct rn_mr **mr);

/**
 * rn_mr_check_local() - May a work request's scatter or gather entry touch this memory?
 * @tab:	Key table of the device
 * @use:	What it wants; @use->access: RN_ACCESS_LOCAL_WRITE to scatter, 0 to gather
 * @iova:	Out: device address of the first byte; untouched on failure
 * @mr:		Out: the region; untouched on failure; NULL if not wanted
 *
 * As rn_mr_check_remote(), for L_Keys; a window has none. A null region has no memory:
 * the caller looks at (*@mr)->kind, and @iova means nothing. Entries of length 0 are not
 * checked by the caller either.
 */
enum rn_key_result rn_mr_check_local(const struct rn_htab *tab,
				     const struct rn_key_use *use, rn_iova *iova,
				     struct rn_mr **mr);

/* For people: "unknown key"; never NULL. */
const char *rn_key_result_name(enum rn_key_result result);

/* Make @mr reachable by its keys (lkey == rkey, chosen by the caller, index not in use);
 * the block stays the caller's and must live until rn_dev_remove_mr(), which ends the
 * binding of a window, and of all windows that are bound to a region (@mr->windows).
 */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr);
void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr);

/* Key tables grow by a larger block: @count (a power of two) pointers, zeroed by the
 * callee. The old block, or NULL for the built-in first one, is returned to the caller.
 */
void **rn_dev_grow_mr_table(struct rn_dev *dev, void **bucket, uint32_t count);
bool rn_dev_has_mr_index(const struct rn_dev *dev, uint32_t key_index);
/* What has this index in its keys, of whatever kind; NULL: nothing. */
const struct rn_mr *rn_dev_find_mr(const struct rn_dev *dev, uint32_t key_index);

#endif /* RN_MR_H */
