/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.h - events that a device reports: completion events of armed CQs, and
 * asynchronous events.
 */
#ifndef RN_EVENT_H
#define RN_EVENT_H

#include "rocin/types.h"

struct rn_cq;
struct rn_qp;
struct rn_srq;

enum rn_async_event { /* numbers of enum ibv_event_type */
	RN_EVENT_CQ_ERR = 0,
	RN_EVENT_QP_FATAL = 1,
	RN_EVENT_QP_REQ_ERR = 2,
	RN_EVENT_QP_ACCESS_ERR = 3,
	RN_EVENT_COMM_EST = 4,
	RN_EVENT_SQ_DRAINED = 5,
	RN_EVENT_PATH_MIG = 6,
	RN_EVENT_PATH_MIG_ERR = 7,
	RN_EVENT_SRQ_LIMIT_REACHED = 15,
	RN_EVENT_LAST_WQE_REACHED = 16,
};

struct rn_event {
	bool completion; /* true: completion event of a CQ; false: asynchronous event */
	enum rn_async_event async; /* valid if !completion */
	struct rn_cq *cq;	   /* valid if completion, or for CQ_ERR */
	struct rn_srq *srq;	   /* valid for SRQ_LIMIT_REACHED */
	struct rn_qp *qp;	   /* valid for all other events */
};

#endif /* RN_EVENT_H */
