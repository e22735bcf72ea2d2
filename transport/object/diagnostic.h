/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* diagnostic.h - reports about single packets to a capture. Reports that a counter was
 * incremented are made by rn_count().
 */
#ifndef RN_TRANSPORT_DIAGNOSTIC_H
#define RN_TRANSPORT_DIAGNOSTIC_H

#include "transport/qp/responder.h"

/* Reports that the request being received is refused. */
void rn_diagnostic_refused(struct rn_qp *qp, const struct rn_request *q,
			   enum rn_verdict v);

/* Reports that a request packet is sent again. */
void rn_diagnostic_resent(struct rn_qp *qp, struct rn_psn psn);

/* Reports that a NAK or RNR NAK is sent. Does nothing if @syndrome is that of an ACK. */
void rn_diagnostic_nak(struct rn_qp *qp, uint8_t syndrome, struct rn_psn psn);

#endif /* RN_TRANSPORT_DIAGNOSTIC_H */
