/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wc.h - from a completion entry in the ring to a work completion of verbs. */
#ifndef RNP_WC_H
#define RNP_WC_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include "rocin/transport.h"

static inline enum ibv_wc_status rnp_cqe_status(const struct rn_cqe *cqe)
{
	return (enum ibv_wc_status)(cqe->ctl & 0xff);
}

static inline enum ibv_wc_opcode rnp_cqe_opcode(const struct rn_cqe *cqe)
{
	return (enum ibv_wc_opcode)(cqe->ctl >> 8 & 0xff);
}

/* Only the flags that verbs knows. */
static inline unsigned rnp_cqe_flags(const struct rn_cqe *cqe)
{
	return (unsigned)(cqe->ctl >> 16) &
	       (RN_WC_GRH | RN_WC_WITH_IMM | RN_WC_IP_CSUM_OK | RN_WC_WITH_INV);
}

/* Network order for an immediate, host order for an invalidated R_Key, as verbs has it;
 * the core has plain numbers.
 */
static inline uint32_t rnp_cqe_imm(const struct rn_cqe *cqe)
{
	return rnp_cqe_flags(cqe) & RN_WC_WITH_INV ? cqe->imm : htonl(cqe->imm);
}

void rnp_wc_from_cqe(struct ibv_wc *wc, const struct rn_cqe *cqe);

#endif /* RNP_WC_H */
