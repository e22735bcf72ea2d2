/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.h - memory windows (bind, invalidate), and copying between packets and
 * SGE lists.
 *
 * A window is a struct rn_mr in the same key table as the regions, so a check of a key
 * finds either.
 *
 *   type 1   can be bound again at any time; a bind of 0 bytes ends the binding; the key
 *            opens memory to all queue pairs of the protection domain
 *   type 2B  free -> bound by BIND_MW -> free by an invalidation; the key opens memory to
 *            the queue pair that bound it, and the binding ends with the queue pair
 *
 * Source: IBTA Vol 1, 10.6.7.2; each check in memory.c names its compliance statement.
 */
#ifndef RN_MEMORY_H
#define RN_MEMORY_H

#include "rocin/cqe.h"
#include "rocin/mem.h"
#include "transport/qp/qp.h"

/* ------------------------------------------------------------------- memory windows */
/* Executes a BIND_MW. Return: RN_WC_SUCCESS, or RN_WC_MW_BIND_ERR with nothing changed.
 */
enum rn_wc_status rn_mw_bind(struct rn_qp *qp, struct rn_send_wqe *wqe);

/* Ends the binding of the type 2 window that has exactly the key @key. Called for a
 * LOCAL_INV, and for a SEND with invalidate from the peer. Has no effect on a window that
 * is not bound. Return: true; false, with nothing changed, if there is no such window, or
 * if it belongs to another protection domain or is bound to another queue pair.
 */
bool rn_mw_invalidate(struct rn_qp *qp, uint32_t key);

/* Ends the bindings of all type 2 windows that are bound to the queue pair. */
void rn_mw_forget_qp(struct rn_qp *qp);

/* -------------------------------------------------------------- lists of SGEs */
/* Copies @len bytes from @src to the memory that the SGEs describe, beginning at offset
 * @offset of it. The L_Keys of the SGEs must grant LOCAL_WRITE. Return: RN_WC_SUCCESS;
 * RN_WC_LOC_LEN_ERR: the list is too short; RN_WC_LOC_PROT_ERR: a key, bounds or a right
 * is wrong, or the memory does not exist any more.
 */
enum rn_wc_status rn_scatter(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, const void *src, uint32_t len);

/* Copies the data of a READ or atomic response to memory, as rn_scatter() does. The SGEs
 * belong to @wqe, which must be the oldest WQE of the send queue.
 */
enum rn_wc_status rn_scatter_response(struct rn_qp *qp, struct rn_send_wqe *wqe,
				      uint32_t offset, const void *src, uint32_t len);

/* Reads memory by rn_mem_ops.read. If @part is not NULL and the memory back end has a
 * function read_part, reads by that, which also computes the CRC of the bytes.
 */
enum rn_mem_result rn_mem_read(struct rn_dev *dev, void *dst, rn_iova src, uint32_t len,
			       struct rn_mem_attr attr, uint64_t tag,
			       struct rn_crc32_part *part);

/* Returns the flags (enum rn_mem_flag) for accesses to a region. */
static inline uint32_t rn_mem_flags(const struct rn_mr *mr)
{
	return mr->access & RN_ACCESS_RELAXED_ORDERING ? RN_MEM_RELAXED : 0;
}

/* Copies bytes [@offset, @offset + @len) of the memory that the SGEs describe to @dst.
 * Return: RN_MEM_DONE; RN_MEM_FAULT, also if a key is wrong; RN_MEM_PENDING if some reads
 * have not ended yet: their number is added to *@outstanding, and the memory back end
 * ends each of them by rn_dev_mem_done() with @tag. @part: NULL, or where the CRC of the
 * copied bytes is stored if the memory back end computes it; see rn_mem_read().
 */
enum rn_mem_result rn_gather(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, void *dst, uint32_t len, uint64_t tag,
			     uint32_t *outstanding, struct rn_crc32_part *part);

/* ------------------------------------------------- tags of pending accesses */
/* Which part of a QP made an access to memory that is pending. The tag of the access is
 * QPN << 8 | part.
 */
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
