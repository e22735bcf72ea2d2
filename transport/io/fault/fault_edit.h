/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_edit.h - what a rule does to the bytes of one packet. Threads: any. */
#ifndef RN_FAULT_EDIT_H
#define RN_FAULT_EDIT_H

#include "fault_rules.h"
#include "rocin/flow.h"
#include "rocin/wire.h"

enum {
	RN_FAULT_NAK_LEN = 20, /* BTH, AETH, ICRC */
};

/* What became of the ICRC of a packet. */
enum rn_fault_icrc {
	RN_FAULT_ICRC_KEPT,  /* as it was */
	RN_FAULT_ICRC_STALE, /* to be made right */
	RN_FAULT_ICRC_WRONG, /* left wrong on purpose */
};

/* Opcode and PSN for the judge. False: shorter than a BTH with its ICRC; nothing is
 * written.
 */
bool rn_fault_look(const uint8_t *pkt, uint32_t len, struct rn_fault_packet *p);

/* Carry out CORRUPT or SET on @len bytes, BTH to ICRC. Bytes and fields that the packet
 * does not reach stay. @icrc is brought up to date; WRONG stays.
 */
void rn_fault_edit(struct rn_fault_rule *rule, const uint64_t *fate, uint8_t *pkt,
		   uint32_t len, enum rn_fault_icrc *icrc);

/* The acknowledgement with @aeth to a request, signed for identification 0.
 * @request: at least a BTH; @flow: of the answer; @dest_qpn: the requester.
 */
void rn_fault_answer(uint8_t nak[RN_FAULT_NAK_LEN], const uint8_t *request,
		     const struct rn_flow *flow, uint32_t dest_qpn,
		     const struct rn_aeth *aeth);

/* Give an answer another MSN, and sign it again. */
void rn_fault_answer_msn(uint8_t nak[RN_FAULT_NAK_LEN], const struct rn_flow *flow,
			 uint32_t msn);

#endif /* RN_FAULT_EDIT_H */
