/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr.h - what the files behind ibv_wr_*() share.
 *
 * Requests that a release of libibverbs may not have stand in wr_place.c.
 */
#ifndef RNP_WR_H
#define RNP_WR_H

#include "provider.h"

/* Begin a request towards remote memory; NULL once something has gone wrong. Valid until
 * the next request begins.
 */
struct rn_send_wr *rnp_wr_begin(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
				uint32_t rkey, uint64_t remote_addr);
/* Bytes of the request that was begun; copied. */
void rnp_wr_inline(struct ibv_qp_ex *ex, const void *data, size_t len);
/* The batch cannot be posted: ibv_wr_complete() will say @err. */
void rnp_wr_fail(struct ibv_qp_ex *ex, int err);

/* Bits of send_ops_flags for ATOMIC WRITE and FLUSH that this library has a place for. */
uint64_t rnp_wr_place_ops(const struct rnp_abi *abi);
/* Fill in those places. */
void rnp_wr_init_place(union rnp_abi_qp *qp, uint64_t ops);

#endif /* RNP_WR_H */
