/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_fault.h - lose, repeat, swap and damage packets on purpose, on their way out.
 *
 * Each packet is judged on its own, so super-packets leave as single packets. The same
 * seed and the same packets give the same faults; each kind of fault draws from a stream
 * of its own, so that changing one probability does not move the others.
 *
 * Threads: as net.h.
 */
#ifndef RN_NET_FAULT_H
#define RN_NET_FAULT_H

#include "rocin/net.h"

/* Probabilities in parts per million. */
struct rn_fault_spec {
	uint32_t drop;
	uint32_t dup;	  /* sent twice */
	uint32_t reorder; /* sent after the next one */
	uint32_t corrupt; /* one bit inverted */
	uint64_t seed;
};

/**
 * rn_fault_parse() - Read "drop=1%,dup=0.5%,reorder=1%,corrupt=0.1%,seed=7"
 * @text:	Any of these, in any order, each at most once; percentages of 0 to 100
 * with up to four decimals. What is not named is 0; the seed is 1
 * @spec:	Out; untouched on failure
 * @err:	Out on failure: one sentence
 *
 * Return: 0 or -EINVAL.
 */
int rn_fault_parse(const char *text, struct rn_fault_spec *spec, char *err,
		   size_t err_len);

struct rn_fault;

/**
 * rn_fault_new() - Put faults in front of a back end
 * @inner:	What really transmits; must outlive the result
 * @spec:	Copied
 * @stats:	RN_STAT_COUNT counters: FAULT_DROPPED is written
 *
 * Return: the middleware, or NULL with errno ENOMEM.
 */
struct rn_fault *rn_fault_new(struct rn_net *inner, const struct rn_fault_spec *spec,
			      uint64_t *stats);

/* Packets held back are lost. @inner is not freed. NULL is ignored. */
void rn_fault_free(struct rn_fault *f);

struct rn_net *rn_fault_net(struct rn_fault *f);

#endif /* RN_NET_FAULT_H */
