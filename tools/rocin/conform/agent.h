/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.h - rocin-conform-agent: does on a device what a tester asks for, by public
 * verbs. One scenario at a time.
 */
#ifndef RN_AGENT_H
#define RN_AGENT_H

#include <infiniband/verbs.h>

#include "sim/scenario/scenario.h"
#include "wire.h"

enum {
	RN_AGENT_PDS = 4,
	RN_AGENT_XRCDS = 8,
	RN_AGENT_MR_MAX = 1 << 24, /* bytes of a region */
	RN_AGENT_GID_NONE = -1,
};

/* A region with its bytes, or a window. */
struct rn_agent_mr {
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint8_t *buf;
	uint64_t len, va;
	bool unmapped; /* the bytes cannot be touched any more */
};

struct rn_agent_qp {
	struct ibv_qp *qp;
	unsigned pd;
	bool joined;
};

struct rn_agent_srq {
	struct ibv_srq *srq;
	uint32_t number; /* on the wire, or any if it is of no XRC domain */
};

/* To the tester and to the group, of a protection domain. */
struct rn_agent_ah {
	struct ibv_ah *ah[2];
};

struct rn_agent {
	struct ibv_context *ctx;
	int gid_index[2];     /* IPv4, IPv6; or NONE */
	union ibv_gid gid[2]; /* zero if there is none */
	uint32_t can;	      /* enum rn_conform_can */

	union ibv_gid tester, other, group;
	struct ibv_comp_channel *channel[2]; /* sends, receives */
	struct ibv_cq *cq[2];
	struct ibv_pd *pd[RN_AGENT_PDS];
	struct rn_agent_ah ah[RN_AGENT_PDS];
	struct ibv_xrcd *xrcd[RN_AGENT_XRCDS];
	struct rn_agent_mr mr[RN_SCN_MRS];
	struct rn_agent_srq srq[RN_SCN_SRQS];
	struct rn_agent_qp qp[RN_SCN_QPS];
	unsigned mrs, srqs, qps;
};

/* Open device @name (NULL: the first); 0 or -errno after a sentence on standard error.
 * The other family's GID is the first one of RoCEv2 that is of no link.
 */
int rn_agent_open(struct rn_agent *a, const char *name, uint8_t gid_index);

/* Do what @l asks for and make it the answer. Whatever the line says, nothing but the
 * objects of the scenario is touched.
 */
void rn_agent_answer(struct rn_agent *a, struct rn_conform_line *l);

/* Destroy what a scenario made. */
void rn_agent_clear(struct rn_agent *a);

/* Requests of wire.h about objects. Return: 0 or an errno, the answer in @l. */
int rn_agent_add_mr(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_add_mw(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_add_srq(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_add_qp(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_dereg(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_unmap(struct rn_agent *a, struct rn_conform_line *l);

/* Index of the tester's family in gid_index. */
static inline unsigned rn_agent_family(const struct rn_agent *a)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return __builtin_memcmp(a->tester.raw, prefix, sizeof(prefix)) ? 1 : 0;
}

#endif /* RN_AGENT_H */
