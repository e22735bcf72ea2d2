/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq.h - from a completion entry in the ring to a work completion of verbs. */
#ifndef RNP_CQ_H
#define RNP_CQ_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "rocin/cqe.h"

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

/* -------------------------------------------------------------------- the time of day
 * What the wall clock showed at an instant of the monotonic one. Both clocks run at one
 * rate, so their distance is constant until somebody sets the wall clock. It cannot be
 * read, only be enclosed: by reading the wall clock between two readings of the other.
 * The distance that was found first is kept for as long as what is read later agrees with
 * it, so that the same instant is the same time of day however often it is asked for, and
 * order is kept.
 */

/* All-zero: nothing is known yet. One thread at a time. */
struct rnp_wall_clock {
	uint64_t low, width; /* ns; the distance is in [low, low + width] */
	bool is_known;
};

/**
 * rnp_wall_clock_at() - The time of day of an instant
 * @mono_ns:	The instant, of CLOCK_MONOTONIC
 *
 * Return: CLOCK_REALTIME in ns, wrong by half the time at most that reading both clocks
 *	   took at the quickest of some tries; by what the wall clock shows now, if it was
 *	   set since the instant.
 */
uint64_t rnp_wall_clock_at(struct rnp_wall_clock *c, uint64_t mono_ns);

#endif /* RNP_CQ_H */
