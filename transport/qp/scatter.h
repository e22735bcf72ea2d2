/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scatter.h - lists of SGEs: payload into memory and out of it. */
#ifndef RN_SCATTER_H
#define RN_SCATTER_H

#include "qp.h"

/* ---------------------------------------------------------------- scatter.c */
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

#endif /* RN_SCATTER_H */
