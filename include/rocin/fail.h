/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fail.h - misfortunes that a device can be told to have, for those who test programs.
 *
 * Threads: as transport.h.
 */
#ifndef RN_FAIL_H
#define RN_FAIL_H

#include "rocin/types.h"

struct rn_dev;
struct rn_qp;

/* The device gives the QP up, as for an error of its own: it goes to ERR as by
 * rn_qp_modify(), and raises QP_FATAL. Nothing in RESET and ERR.
 */
void rn_qp_fail(struct rn_dev *dev, struct rn_qp *qp, rn_ns now);

/* The CQ of the QP's send or receive queue loses a completion as if it were full: CQ_ERR,
 * and every QP that completes there goes to ERR. Nothing if the QP has no such CQ.
 */
void rn_qp_overrun(struct rn_dev *dev, struct rn_qp *qp, rn_ns now, bool of_send_cq);

#endif /* RN_FAIL_H */
