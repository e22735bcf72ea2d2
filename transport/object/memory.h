/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.h - windows that are bound and invalidated; payload into memory and out of it.
 *
 * A window is a struct rn_mr in the key table beside the regions, so that whoever checks
 * a key finds it there.
 *
 *   type 1   bound and bound anew at any time; 0 bytes end the binding; the key opens
 *            memory to all queue pairs of the protection domain
 *   type 2B  free -> bound by BIND_MW -> free by an invalidation; the key opens memory to
 *            the queue pair that bound it, and the binding ends with the queue pair
 *
 * Source: IBTA Vol 1, 10.6.7.2; compliance statements stand at the checks.
 */
#ifndef RN_MEMORY_H
#define RN_MEMORY_H

#include "rocin/cqe.h"
#include "rocin/mem.h"
#include "transport/qp/qp.h"

/* ------------------------------------------------------------------- windows */
/* Execute a BIND_MW. Return: RN_WC_SUCCESS, or RN_WC_MW_BIND_ERR with nothing changed. */
enum rn_wc_status rn_mw_bind(struct rn_qp *qp, struct rn_send_wqe *wqe);

/* A LOCAL_INV, or a SEND of the peer, ends the binding of the window of type 2 that has
 * exactly this key. A free one stays free. False, with nothing changed: there is no such
 * window, it is of another protection domain, or bound to another queue pair.
 */
bool rn_mw_invalidate(struct rn_qp *qp, uint32_t key);

/* End the bindings that the queue pair has made of windows of type 2. */
void rn_mw_forget_qp(struct rn_qp *qp);

/* -------------------------------------------------------------- lists of SGEs */
/* Copy @len bytes at @offset of the list of SGEs; checks L_Keys (LOCAL_WRITE). Shared by
 * receives, READ and atomic results. Return RN_WC_SUCCESS, LOC_LEN_ERR (does not fit) or
 * LOC_PROT_ERR (key, bounds, right, or the memory is gone).
 */
enum rn_wc_status rn_scatter(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, const void *src, uint32_t len);

/* The same for what a READ or atomic brought back; @wqe is the oldest in the queue. */
enum rn_wc_status rn_scatter_response(struct rn_qp *qp, struct rn_send_wqe *wqe,
				      uint32_t offset, const void *src, uint32_t len);

/* By rn_mem_ops.read, or by read_part if there is that and @part is not NULL. */
enum rn_mem_result rn_mem_read(struct rn_dev *dev, void *dst, rn_iova src, uint32_t len,
			       struct rn_mem_attr attr, uint64_t tag,
			       struct rn_crc32_part *part);

/* enum rn_mem_flag of an access to a region. */
static inline uint32_t rn_mem_flags(const struct rn_mr *mr)
{
	return mr->access & RN_ACCESS_RELAXED_ORDERING ? RN_MEM_RELAXED : 0;
}

/* The opposite: gather bytes [offset, offset + len) of the list into @dst. PENDING: the
 * number of reads under way is added to *@outstanding and each ends with
 * rn_dev_mem_done(tag). FAULT covers bad keys as well. @part: see rn_mem_read().
 */
enum rn_mem_result rn_gather(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, void *dst, uint32_t len, uint64_t tag,
			     uint32_t *outstanding, struct rn_crc32_part *part);

/* --------------------------------------------------------------- mem tags */
/* tag = QPN << 8 | part */
enum rn_mem_part {
	RN_TAG_REQ = 1,
	RN_TAG_RSP_READ = 2,
	RN_TAG_RSP_ATOMIC = 3
};
static inline uint64_t rn_mem_tag(const struct rn_qp *qp, enum rn_mem_part part)
{
	return (uint64_t)qp->qpn << 8 | part;
}

#endif /* RN_MEMORY_H */
