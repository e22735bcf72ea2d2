/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_fate.h - what makes a packet the same packet in another run of a program, so that
 * the same seed does the same to it.
 *
 * QPNs, PSNs, ports and the order of packets of several queue pairs differ from run to
 * run. What stays: the queue pair by the order in which its process made them; the way
 * the packet goes; whether it asks or answers; its PSN counted from the first of the
 * connection; and how often this PSN has passed before. Datagrams, whose PSNs mean
 * nothing to who receives them, are counted as they pass.
 *
 * Threads: none of these functions locks.
 */
#ifndef RN_FAULT_FATE_H
#define RN_FAULT_FATE_H

#include "fault_rules.h"

enum {
	RN_FAULT_NO_PSN = UINT32_MAX
};

struct rn_fault_fates;

/* NULL without memory. */
struct rn_fault_fates *rn_fault_fates_new(void);
void rn_fault_fates_free(struct rn_fault_fates *fates);

/**
 * rn_fault_fate() - The number that @p has in every run
 * @first:	PSN that the requests of its connection and direction begin with, or
 *		RN_FAULT_NO_PSN: that of the first that passed
 *
 * Counts it as having passed. Without memory for a queue pair that is new all its packets
 * have the same number.
 */
uint64_t rn_fault_fate(struct rn_fault_fates *fates, const struct rn_fault_packet *p,
		       uint32_t first);

/* Does a packet with this opcode belong to what the peer asks, not to what we ask? */
bool rn_fault_is_of_peer(const struct rn_fault_packet *p);

#endif /* RN_FAULT_FATE_H */
