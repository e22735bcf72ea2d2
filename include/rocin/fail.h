/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fail.h - simulates errors of a device, to test how programs handle them.
 *
 * Threads: as transport.h.
 */
#ifndef RN_FAIL_H
#define RN_FAIL_H

#include "rocin/types.h"

struct rn_dev;
struct rn_qp;

/* Makes the QP fail as by an error of the device: it goes to ERR, as by rn_qp_modify(),
 * and raises QP_FATAL. Does nothing in RESET and ERR.
 */
void rn_qp_fail(struct rn_dev *dev, struct rn_qp *qp, rn_ns now);

/* Makes the CQ of the QP's send queue (@of_send_cq) or receive queue lose a completion as
 * if it were full: the CQ raises CQ_ERR, and every QP that completes to it goes to ERR.
 * Does nothing if the QP has no such CQ.
 */
void rn_qp_overrun(struct rn_dev *dev, struct rn_qp *qp, rn_ns now, bool of_send_cq);

#endif /* RN_FAIL_H */
