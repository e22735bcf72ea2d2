/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mr.h - memory regions and memory windows: keys, bounds, access rights.
 *
 * A key is index << 8 | key byte. The index is the key of the region in the device's key
 * table; the key byte distinguishes successive uses of one index. The L_Key and R_Key of
 * a region are equal.
 *
 * Threads: none of these functions locks.
 */
#ifndef RN_MR_H
#define RN_MR_H

#include "rocin/hnode.h"
#include "rocin/types.h"

struct rn_dev;
struct rn_htab;

/* Access rights of memory regions and queue pairs. The bits have the values
 * of IBV_ACCESS_*.
 */
#define RN_ACCESS_LOCAL_WRITE (1u << 0)
#define RN_ACCESS_REMOTE_WRITE (1u << 1)
#define RN_ACCESS_REMOTE_READ (1u << 2)
#define RN_ACCESS_REMOTE_ATOMIC (1u << 3)
#define RN_ACCESS_MW_BIND (1u << 4)
#define RN_ACCESS_ZERO_BASED (1u << 5) /* addresses in the region count from 0 */
#define RN_ACCESS_ON_DEMAND (1u << 6)
#define RN_ACCESS_HUGETLB (1u << 7)
#define RN_ACCESS_FLUSH_GLOBAL (1u << 8)
#define RN_ACCESS_FLUSH_PERSISTENT (1u << 9)
#define RN_ACCESS_RELAXED_ORDERING (1u << 20)

/* Mask of optional bits (IBV_ACCESS_OPTIONAL_RANGE): a device ignores those of these bits
 * that it does not know.
 */
#define RN_ACCESS_OPTIONAL_RANGE 0x3ff00000u

/* Rights of the peer. The access flags of a QP may contain only these. */
#define RN_ACCESS_REMOTE_MASK                                                       \
	(RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC | \
	 RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT)

enum {
	RN_KEY_INDEX_SHIFT = 8,
	RN_KEY_INDEX_MAX = 0xffffff,
};

/* Kind of object that a key belongs to. */
enum rn_mr_kind {
	RN_MR_KIND_MR,
	/* Memory window of type 1, accessible through all QPs of its protection domain.
	 */
	RN_MR_KIND_MW1,
	/* Memory window of type 2, accessible through the QP that bound it. */
	RN_MR_KIND_MW2,
	RN_MR_KIND_NULL, /* null region: reads as zeros, discards writes; has no R_Key */
};

/* A memory region, a null region, or a memory window. A bound window has bounds and
 * access rights of its own.
 */
struct rn_mr {
	/* Link in the key table; its key is the index part of @lkey. */
	struct rn_hnode node;
	uint32_t lkey;	   /* L_Key, and R_Key with the same value */
	uint32_t pd;	   /* number of the protection domain */
	uint64_t va;	   /* first address, as used by peers and in work requests */
	uint64_t length;   /* length in bytes */
	rn_iova iova_base; /* device address of @va */
	uint32_t access;   /* access rights, RN_ACCESS_* */
	enum rn_mr_kind kind;
	/* False: every access is refused, because the region is being deregistered or the
	 * window is not bound.
	 */
	bool valid;
	/* MR: number of windows bound to it; must be 0 before it is freed. */
	uint32_t windows;
	/* The members below are for memory windows only. Each QP has a list of the type 2
	 * windows that are bound to it.
	 */
	/* The region to which the window is bound; NULL: not bound. */
	struct rn_mr *region;
	uint32_t qpn; /* type 2: number of the QP to which the window is bound */
	struct rn_mr *next_window, **window_link;
};

/* Properties of a memory region that is to be made. */
struct rn_mr_attr {
	uint32_t key;
	uint32_t pd;
	/* address of the first byte; ignored with RN_ACCESS_ZERO_BASED, as addresses
	 * count from 0
	 */
	uint64_t va;
	/* length in bytes; if 0, only accesses to 0 bytes are within bounds */
	uint64_t length;
	rn_iova iova_base;
	uint32_t access;
};

/**
 * rn_mr_init() - Make a memory region, without adding it to a key table
 * @mr:		Memory of the caller for the region, overwritten
 * @attr:	Properties of the region
 *
 * The caller inserts &@mr->node into the key table (-EEXIST there: the index is in use)
 * and removes it before it frees the memory. The caller has checked that the memory
 * exists and may be accessed.
 *
 * Return: 0; -EINVAL if the range wraps past 2^64, a bit of @access is unknown and not in
 *	   RN_ACCESS_OPTIONAL_RANGE, or REMOTE_WRITE or REMOTE_ATOMIC comes without
 *	   LOCAL_WRITE (IBTA Vol 1, memory registration).
 */
int rn_mr_init(struct rn_mr *mr, const struct rn_mr_attr *attr);

/* Makes a null region, whose bounds contain every address. The arguments are those
 * of rn_mr_init().
 */
void rn_mr_init_null(struct rn_mr *mr, uint32_t key, uint32_t pd);

/* Makes a memory window that is not bound; @kind: RN_MR_KIND_MW1 or MW2. The other
 * arguments are those of rn_mr_init(). The window is bound by a work request, which may
 * change the key byte of @mr->lkey.
 */
void rn_mw_init(struct rn_mr *mr, enum rn_mr_kind kind, uint32_t key, uint32_t pd);

/* Returns true if [@va, @va + @len) lies in the region. The code compares offsets, which
 * cannot wrap once it has found that @va lies inside.
 */
static inline bool rn_mr_contains(const struct rn_mr *mr, uint64_t va, uint64_t len)
{
	uint64_t offset = va - mr->va;

	return va >= mr->va && offset <= mr->length && len <= mr->length - offset;
}

/* Result of a key check: why an access is refused. A peer gets the same NAK for
 * all reasons.
 */
enum rn_key_result {
	RN_KEY_OK,
	RN_KEY_UNKNOWN, /* no object has this index, or the object has another key byte */
	/* the object is not valid, or its kind may not be used in this way */
	RN_KEY_INVALID,
	RN_KEY_PD,     /* the object belongs to another protection domain */
	RN_KEY_QP,     /* the window is bound to another QP */
	RN_KEY_ACCESS, /* an access right is missing */
	RN_KEY_RANGE,  /* the range is not inside the bounds of the region */
	RN_KEY_RESULT_COUNT,
};

/* An access to memory whose key is to be checked. */
struct rn_key_use {
	uint32_t key; /* the key as received or posted, in host order */
	uint32_t pd;  /* protection domain of the queue pair */
	uint32_t qpn; /* number of the queue pair; used for remote accesses only */
	/* Address of the first byte, as peers and work requests use it. */
	uint64_t va;
	uint64_t len;	 /* length of the access in bytes */
	uint32_t access; /* RN_ACCESS_* bits that the region must all grant */
	/* The access is to the whole region, and @va and @len are ignored. */
	bool whole;
};

/**
 * rn_mr_check_remote() - Check whether a peer's request may access memory
 * @tab:	Key table of the device
 * @use:	The access; @use->access: at least one bit of RN_ACCESS_REMOTE_MASK
 * @iova:	Out: device address of the first byte; untouched on failure
 * @mr:		Out: the region; untouched on failure; NULL if not wanted
 *
 * Checks in the order of enum rn_key_result. A range that wraps past 2^64 is not inside
 * the region. The caller does not call this function for a request of length 0, because
 * such a request is not checked at all (IBTA Vol 1: not even its key); if it does, 0
 * bytes are checked like any range.
 *
 * The result is valid until the key table or the region changes, so the caller checks
 * each packet.
 *
 * Return: RN_KEY_OK or the result of the first check that failed. IBTA Vol 1,
 * R_Key validation.
 */
enum rn_key_result rn_mr_check_remote(const struct rn_htab *tab,
				      const struct rn_key_use *use, rn_iova *iova,
				      struct rn_mr **mr);

/**
 * rn_mr_check_local() - Check whether the SGE of a work request may access memory
 * @tab:	Key table of the device
 * @use:	The access; @use->access: RN_ACCESS_LOCAL_WRITE to scatter, 0 to gather
 * @iova:	Out: device address of the first byte; untouched on failure
 * @mr:		Out: the region; untouched on failure; NULL if not wanted
 *
 * Works like rn_mr_check_remote(), but for L_Keys; a window has no L_Key. A null region
 * has no memory, so @iova is meaningless if (*@mr)->kind is RN_MR_KIND_NULL. The caller
 * does not call this function for SGEs of length 0 either.
 */
enum rn_key_result rn_mr_check_local(const struct rn_htab *tab,
				     const struct rn_key_use *use, rn_iova *iova,
				     struct rn_mr **mr);

/* Returns a text for people, such as "unknown key"; never NULL. */
const char *rn_key_result_name(enum rn_key_result result);

/* rn_dev_add_mr() adds @mr to the device's key table. The caller must have chosen a key
 * (lkey == rkey) whose index is not in use, and must keep the struct until
 * rn_dev_remove_mr() has returned. rn_dev_remove_mr() also ends the binding of a window,
 * or of all windows that are bound to the region (@mr->windows).
 */
void rn_dev_add_mr(struct rn_dev *dev, struct rn_mr *mr);
void rn_dev_remove_mr(struct rn_dev *dev, struct rn_mr *mr);

/* Moves the key table of the device to a larger array @bucket of @count pointers (a power
 * of two), which this function zeroes. Returns the old array, which the caller may free,
 * or NULL if the table was in the array that is part of the device.
 */
void **rn_dev_grow_mr_table(struct rn_dev *dev, void **bucket, uint32_t count);
/* Returns true if a region or window has this index in its key. */
bool rn_dev_has_mr_index(const struct rn_dev *dev, uint32_t key_index);
/* Returns the region or window that has this index in its key; NULL: none. */
const struct rn_mr *rn_dev_find_mr(const struct rn_dev *dev, uint32_t key_index);

#endif /* RN_MR_H */
