/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault.h - faults of one device: rules of the environment, and those that come and go
 * while it is in use.
 *
 * Threads: engine lock held.
 */
#ifndef RNP_FAULT_H
#define RNP_FAULT_H

#include "rocin/types.h"

struct rn_flow;
struct rnp_engine;

enum {
	RNP_FAULT_CACHE = 256, /* peers' QPs whose local QP is remembered */
};

struct rn_fault_rules;

struct rnp_faults {
	struct rn_fault_rules *own, *live; /* of the environment, from rocind; or NULL */
	struct rn_fault_rules *calls;	   /* those of both about calls; or NULL */
	uint64_t generation;		   /* of @live */
	uint32_t first;			   /* counter of the first QPN of the process */
	bool is_cut, was_up;		   /* by a rule; what the link is without it */
	uint32_t cache[RNP_FAULT_CACHE];   /* records in the stats page */
};

/* The device is opened: rules of the environment, as far as they are about calls, begin.
 * Return: 0 or -ENOMEM with a sentence.
 */
int rnp_fault_open(struct rnp_engine *e, char *err, size_t err_len);

/* It has its sockets: those about packets begin. @first: counter of the first QPN.
 * Return: as above.
 */
int rnp_fault_start(struct rnp_engine *e, uint32_t first, char *err, size_t err_len);

/* Other rules from rocind: a text in @fd, which is closed; -1: none. A text that cannot
 * be understood is logged, and means no rules.
 */
void rnp_fault_live(struct rnp_engine *e, int fd, uint64_t generation);

/* The device ends. */
void rnp_fault_free(struct rnp_engine *e);

/* When the engine must step though no packet comes; RN_NEVER. */
rn_ns rnp_fault_due(const struct rnp_engine *e, rn_ns now);

/* What the interface's link is now: the device's own stays down while a rule has cut it.
 */
void rnp_fault_link(struct rnp_engine *e, bool up);

/* Of an engine @ctx. The local QP that is connected to @dest_qpn of who is at the other
 * end of @flow, and whom a local QP is connected to; 0: none.
 */
uint32_t rnp_fault_find_sender(void *ctx, const struct rn_flow *flow, uint32_t dest_qpn);
uint32_t rnp_fault_find_peer(void *ctx, uint32_t qpn);

#endif /* RNP_FAULT_H */
