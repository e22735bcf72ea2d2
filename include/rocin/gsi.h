/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gsi.h - queue pair 1, the general services interface: MADs in RoCEv2 packets.
 *
 * A MAD travels alone in a UD SEND ONLY packet to QPN 1 with a well-known Q_Key. Those of
 * the CM are for cm.h. What asks for something of another class, or for what we do not
 * have, is told so, as a port of a RoCE card tells it; the rest is dropped.
 *
 * Threads: as transport.h; a struct rn_gsi belongs to one thread.
 * Source: IBTA Vol 1, 13.5.3 and 16.7.3 (ClassPortInfo of the CM); Annex A17.
 */
#ifndef RN_GSI_H
#define RN_GSI_H

#include "rocin/icrc.h"
#include "rocin/mad.h"
#include "rocin/wire.h"

struct rn_flow;

#define RN_GSI_QKEY 0x80010000u

enum {
	/* BTH to ICRC of a packet with a MAD. */
	RN_GSI_PACKET_LEN = RN_BTH_LEN + RN_DETH_LEN + RN_MAD_LEN + RN_ICRC_LEN,
};

enum rn_gsi_verdict {
	RN_GSI_CM,	    /* for rn_cm_receive() */
	RN_GSI_REPLY,	    /* to be answered with what rn_gsi_receive() has written */
	RN_GSI_DROP_PACKET, /* no UD SEND ONLY to QPN 1, P_Key, Q_Key, or length */
	RN_GSI_DROP_ICRC,
	RN_GSI_DROP_MAD, /* base version, a class that is not for QP1, no question */
	RN_GSI_VERDICT_COUNT
};

/* Word for a counter of verdicts, such as "drop_icrc". */
const char *rn_gsi_verdict_name(enum rn_gsi_verdict verdict);

struct rn_gsi {
	struct rn_psn psn;    /* of the next packet */
	uint8_t resp_timeout; /* code of the CM's answers, for its ClassPortInfo */
	uint64_t count[RN_GSI_VERDICT_COUNT];
};

struct rn_gsi_mad {
	uint32_t src_qpn;
	const uint8_t *mad;	   /* within the packet */
	uint8_t reply[RN_MAD_LEN]; /* with RN_GSI_REPLY: to @src_qpn of the sender */
};

/**
 * rn_gsi_receive() - Look at a packet to QPN 1
 * @flow:	As received
 * @pkt:	First byte of the BTH
 * @len:	Bytes from BTH to the last byte of the ICRC, any value
 * @out:	Out with RN_GSI_CM and RN_GSI_REPLY
 */
enum rn_gsi_verdict rn_gsi_receive(struct rn_gsi *gsi, const struct rn_flow *flow,
				   const uint8_t *pkt, size_t len,
				   struct rn_gsi_mad *out);

/**
 * rn_gsi_emit() - Make the packet of a MAD
 * @flow:	Addresses that it will have, and the UDP source port, which the ICRC
 *		covers: if that is 0, one is chosen and set
 * @pkt:	Out: RN_GSI_PACKET_LEN bytes, ICRC included (IPv4 identification 0)
 */
void rn_gsi_emit(struct rn_gsi *gsi, struct rn_flow *flow, uint32_t dest_qpn,
		 const uint8_t *mad, uint8_t *pkt);

#endif /* RN_GSI_H */
