/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.h - rocin-conform-agent: does on a device what a tester asks for, by public
 * verbs. One scenario at a time.
 */
#ifndef RN_AGENT_H
#define RN_AGENT_H

#include <infiniband/verbs.h>

#include "conform_wire.h"
#include "scenario.h"

enum {
	RN_AGENT_PDS = 4,
	RN_AGENT_MR_MAX = 1 << 24, /* bytes of a region */
};

struct rn_agent_mr {
	struct ibv_mr *mr;
	uint8_t *buf;
	uint64_t len;
};

struct rn_agent {
	struct ibv_context *ctx;
	uint8_t gid_index;
	union ibv_gid gid, tester;
	struct ibv_comp_channel *channel[2]; /* sends, receives */
	struct ibv_cq *cq[2];
	struct ibv_pd *pd[RN_AGENT_PDS];
	struct rn_agent_mr mr[RN_SCN_MRS];
	struct ibv_qp *qp[RN_SCN_QPS];
	unsigned mrs, qps;
};

/* Open device @name (NULL: the first); 0 or -errno after a sentence on standard error. */
int rn_agent_open(struct rn_agent *a, const char *name, uint8_t gid_index);

/* Do what @l asks for and make it the answer. Whatever the line says, nothing but the
 * objects of the scenario is touched.
 */
void rn_agent_answer(struct rn_agent *a, struct rn_conform_line *l);

/* Destroy what a scenario made. */
void rn_agent_clear(struct rn_agent *a);

/* agent_calls.c: `modify', `post', `recv', `poll'; 0 or an errno, the answer in @l. */
int rn_agent_modify(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_post(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_recv(struct rn_agent *a, struct rn_conform_line *l);
int rn_agent_poll(struct rn_agent *a, struct rn_conform_line *l);

#endif /* RN_AGENT_H */
