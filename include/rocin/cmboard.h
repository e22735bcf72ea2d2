/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmboard.h - what rocind shows of the ids of rdma_cm, so that nobody need ask.
 *
 * More than a third of the commands that librdmacm writes for a connection ask what
 * rocind knows and nothing else: QUERY_ROUTE and INIT_QP_ATTR. rocind keeps the answers
 * in memory that all programs of its user may read, and brings them up to date before it
 * answers a command or announces an event. Refusals are not shown: who finds no answer
 * here asks. DISCONNECT needs no answer where it cannot be refused (cmdev.h, @one_way).
 *
 * Answers are in the layout of <rdma/rdma_user_cm.h>, host byte order.
 */
#ifndef RN_CMBOARD_H
#define RN_CMBOARD_H

#include "rocin/types.h"

enum {
	RN_CMBOARD_ROUTE_LEN = 200, /* struct rdma_ucm_query_route_resp to ibdev_index */
	RN_CMBOARD_QP_LEN = 144,    /* struct ib_uverbs_qp_attr */
	RN_CMBOARD_QP_STATES = 3,   /* INIT, RTR, RTS: enum ibv_qp_state from 1 on */
};

/* Of one id. */
struct rn_cm_answers {
	uint64_t channel;  /* number in the name of its descriptor, cmdev.h; 0: no id */
	uint64_t birth;	   /* no other id has it, whatever its number */
	uint32_t has_qp;   /* bit for each of @qp that there is */
	uint32_t has_conn; /* not 0: DISCONNECT gives 0 */
	uint8_t route[RN_CMBOARD_ROUTE_LEN];
	uint8_t qp[RN_CMBOARD_QP_STATES][RN_CMBOARD_QP_LEN];
};
static_assert(sizeof(struct rn_cm_answers) % sizeof(uint64_t) == 0, "whole words");

#endif /* RN_CMBOARD_H */
