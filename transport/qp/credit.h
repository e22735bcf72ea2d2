/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* credit.h - end-to-end flow control, the responder's side: what an ACK says of receives.
 *
 * The requester's side is rn_req_take_credits() and has_credit() in requester.c.
 */
#ifndef RN_CREDIT_H
#define RN_CREDIT_H

#include "qp.h"

/* Syndrome of an AETH of type ACK that leaves now. */
uint8_t rn_credit_syndrome(struct rn_qp *qp);

/* A receive was posted to the queue of @qp itself. */
void rn_credit_posted(struct rn_qp *qp);

#endif /* RN_CREDIT_H */
