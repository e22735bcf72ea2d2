/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* diagnostic.h - what the device tells a capture about packets. Counters become
 * diagnostics by themselves, see rn_count().
 */
#ifndef RN_TRANSPORT_DIAGNOSTIC_H
#define RN_TRANSPORT_DIAGNOSTIC_H

#include "transport/qp/responder.h"

/* The request that is being received is refused. */
void rn_diagnostic_refused(struct rn_qp *qp, const struct rn_request *q,
			   enum rn_verdict v);

/* A request packet is sent again. */
void rn_diagnostic_resent(struct rn_qp *qp, struct rn_psn psn);

/* An acknowledgement leaves: told only if it is a NAK or RNR NAK. */
void rn_diagnostic_nak(struct rn_qp *qp, uint8_t syndrome, struct rn_psn psn);

#endif /* RN_TRANSPORT_DIAGNOSTIC_H */
