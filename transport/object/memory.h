/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.h - memory windows (bind, invalidate), and copying
 * between packets and SGE lists.
 *
 * A window is a struct rn_mr in the same key table as the regions, so a
 * check of a key finds either.
 *
 *   type 1   bound and bound again at any time; 0 bytes end the binding; the key opens
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

/* End the binding of the window of type 2 that has exactly this key, because of a
 * LOCAL_INV, or a SEND with invalidate of the peer. A free window stays free. Return:
 * false, with nothing changed, if there is no such window, or it belongs to another
 * protection domain, or is bound to another queue pair.
 */
bool rn_mw_invalidate(struct rn_qp *qp, uint32_t key);

/* End the bindings of all type 2 windows that are bound to the queue pair. */
void rn_mw_forget_qp(struct rn_qp *qp);

/* -------------------------------------------------------------- lists of SGEs */
/* Copy @len bytes from @src to offset @offset of the list of SGEs, whose L_Keys must
 * grant LOCAL_WRITE. Return: RN_WC_SUCCESS, RN_WC_LOC_LEN_ERR (the list is too short) or
 * RN_WC_LOC_PROT_ERR (wrong key, bounds or right, or the memory is not there).
 */
enum rn_wc_status rn_scatter(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, const void *src, uint32_t len);

/* As rn_scatter(), for the data of a READ or atomic response; @wqe is the
 * oldest in the send queue.
 */
enum rn_wc_status rn_scatter_response(struct rn_qp *qp, struct rn_send_wqe *wqe,
				      uint32_t offset, const void *src, uint32_t len);

/* Read memory by rn_mem_ops.read, or by rn_mem_ops.read_part if there is
 * one and @part is not NULL.
 */
enum rn_mem_result rn_mem_read(struct rn_dev *dev, void *dst, rn_iova src, uint32_t len,
			       struct rn_mem_attr attr, uint64_t tag,
			       struct rn_crc32_part *part);

/* Flags (enum rn_mem_flag) of an access to a region. */
static inline uint32_t rn_mem_flags(const struct rn_mr *mr)
{
	return mr->access & RN_ACCESS_RELAXED_ORDERING ? RN_MEM_RELAXED : 0;
}

/* Copy bytes [@offset, @offset + @len) of the list of SGEs to @dst. Return:
 * RN_MEM_PENDING if some reads have not ended yet: their number is added to
 * *@outstanding, and each ends with rn_dev_mem_done(@tag). RN_MEM_FAULT also stands for
 * wrong keys. @part: as for rn_mem_read().
 */
enum rn_mem_result rn_gather(struct rn_qp *qp, const struct rn_sge *sg, uint32_t num_sge,
			     uint32_t offset, void *dst, uint32_t len, uint64_t tag,
			     uint32_t *outstanding, struct rn_crc32_part *part);

/* --------------------------------------------------------------- mem tags */
/* The tag of a pending access to memory is QPN << 8 | part. */
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
