/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* diagnostic.h - diagnostics of the device about single packets, for captures: for
 * example why a packet was dropped, refused or sent again.
 *
 * The struct is passed in shared memory between processes of the same build, so it has a
 * fixed layout, in host byte order.
 */
#ifndef RN_DIAGNOSTIC_H
#define RN_DIAGNOSTIC_H

#include "rocin/types.h"

enum rn_diagnostic_kind {
	/* A received packet was counted; code: enum rn_stat, the counter. */
	RN_DIAGNOSTIC_COUNTED = 1,
	RN_DIAGNOSTIC_REFUSED, /* a request was refused; code: enum rn_objection */
	/* A request was sent again; code: enum rn_stat, the reason. */
	RN_DIAGNOSTIC_RESENT,
	RN_DIAGNOSTIC_NAK, /* a NAK was sent; code: AETH syndrome */
	/* A fault rule applied; code: enum rn_diagnostic_fault; key: number of the rule,
	 * from 1.
	 */
	RN_DIAGNOSTIC_FAULT,
};

/* Reason why a responder refuses a request. */
enum rn_objection {
	RN_OBJECTION_OTHER,
	RN_OBJECTION_UNSUPPORTED,
	RN_OBJECTION_SRQ,
	RN_OBJECTION_SEQUENCE,
	RN_OBJECTION_NOT_PERMITTED,
	RN_OBJECTION_PAYLOAD_LEN,
	RN_OBJECTION_RESOURCE,
	RN_OBJECTION_TOO_LONG,
	RN_OBJECTION_KEY,
	RN_OBJECTION_MISALIGNED,
	RN_OBJECTION_RECV_TOO_SHORT,
	RN_OBJECTION_DMA_LEN,
	RN_OBJECTION_RECV_PROT,
	RN_OBJECTION_MEM_FAULT,
	RN_OBJECTION_INVALIDATE,
	RN_OBJECTION_COUNT
};

/* Effect of a fault rule on a packet. */
enum rn_diagnostic_fault {
	RN_DIAGNOSTIC_DROPPED = 1,
	RN_DIAGNOSTIC_INJECTED, /* this packet is an additional copy, sent by the rule */
	RN_DIAGNOSTIC_CHANGED,
	RN_DIAGNOSTIC_DELAYED,
};

struct rn_diagnostic {
	uint16_t kind; /* enum rn_diagnostic_kind */
	uint8_t is_sent;
	uint8_t is_response; /* the sent packet is an acknowledgement or a response */
	uint32_t code;
	uint32_t dest_qpn, psn; /* QPN and PSN in the sent packet */
	/* RN_DIAGNOSTIC_REFUSED: remote memory that the request accesses; len 0: none. */
	uint32_t key, len;
	uint64_t va;
};

static_assert(sizeof(struct rn_diagnostic) == 32, "layout is shared between processes");

struct rn_rx;

/* Function that the device calls with a diagnostic about a packet. If @rx is not NULL, it
 * is one of the packets passed to rn_dev_receive(). If @rx is NULL, the diagnostic is
 * about the packet that rn_dev_transmit() is building. The function must not call into
 * the device.
 */
typedef void rn_diagnostic_fn(void *ctx, const struct rn_diagnostic *diagnostic,
			      const struct rn_rx *rx);

#endif /* RN_DIAGNOSTIC_H */
