/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gsi.h - queue pair 1, the general services interface: MADs in RoCEv2 packets.
 *
 * A MAD travels alone in a UD SEND ONLY packet to QPN 1 with a well-known Q_Key. The
 * caller passes MADs of the CM to rn_cm_receive() (cm.h). A request of another management
 * class, or for an attribute that is not supported, is answered with an error status, as
 * by the port of a RoCE card; everything else is dropped. Questions of peer_info.h
 * may have longer packets.
 *
 * Threads: nothing here locks; a struct rn_gsi belongs to one thread.
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
	/* Offset of the MAD in its packet, and bytes of the packet from BTH to ICRC. */
	RN_GSI_MAD_AT = RN_BTH_LEN + RN_DETH_LEN,
	RN_GSI_PACKET_LEN = RN_GSI_MAD_AT + RN_MAD_LEN + RN_ICRC_LEN,
};

enum rn_gsi_verdict {
	RN_GSI_CM,    /* the packet contains a CM message: pass it to rn_cm_receive() */
	RN_GSI_REPLY, /* send the packet in rn_gsi_mad.reply */
	/* A question of peer_info.h. If the caller answers, the answer must have the
	 * length of the question; if not, it may send rn_gsi_mad.reply, which says that
	 * the question is not known.
	 */
	RN_GSI_PEER_INFO,
	/* Dropped: not a UD SEND ONLY to QPN 1, or wrong P_Key, Q_Key or length. */
	RN_GSI_DROP_PACKET,
	RN_GSI_DROP_ICRC,
	/* Dropped: wrong base version, a class that is not for QP1, or not a request. */
	RN_GSI_DROP_MAD,
};

struct rn_gsi {
	struct rn_psn psn; /* PSN of the next packet */
	/* Response time code of the CM, reported in its ClassPortInfo. */
	uint8_t resp_timeout;
};

struct rn_gsi_mad {
	uint32_t src_qpn;
	const uint8_t *mad; /* the MAD; points into the packet */
	/* With RN_GSI_REPLY and RN_GSI_PEER_INFO: a packet that contains the answer. The
	 * caller has to complete it by rn_gsi_seal(), and to send it to the QP @src_qpn
	 * of the sender.
	 */
	uint8_t reply[RN_GSI_PACKET_LEN];
};

/**
 * rn_gsi_receive() - Check a packet to QPN 1 and find its MAD
 * @flow:	Flow of the received packet
 * @pkt:	First byte of the BTH
 * @len:	Bytes from BTH to the last byte of the ICRC, any value
 * @out:	Out: valid with RN_GSI_CM, RN_GSI_REPLY and RN_GSI_PEER_INFO
 */
enum rn_gsi_verdict rn_gsi_receive(const struct rn_gsi *gsi, const struct rn_flow *flow,
				   const uint8_t *pkt, size_t len,
				   struct rn_gsi_mad *out);

/**
 * rn_gsi_find_mad() - Check a packet of a MAD to any QP
 * @flow, @pkt, @len:      As above
 * @qpn:	QPN of the receiver
 * @is_damaged:	Out: true if the packet would be accepted if its ICRC were right
 * @src_qpn:	Out: QPN of the sender
 *
 * Return: the MAD, which points into the packet; or NULL, and the packet is to be
 *	   dropped.
 */
const uint8_t *rn_gsi_find_mad(const struct rn_flow *flow, const uint8_t *pkt, size_t len,
			       uint32_t qpn, bool *is_damaged, uint32_t *src_qpn);

/* Returns the flow of an answer to a packet with flow @f: the addresses are exchanged,
 * the interface and the traffic class are the same, and the ECN bits are 0. The UDP
 * source port of the answer is 0.
 */
struct rn_flow rn_gsi_answer_flow(const struct rn_flow *f);

/**
 * rn_gsi_seal_long() - Write the headers and the ICRC of a packet that contains a MAD
 * @flow:	The packet's addresses and UDP source port, which the ICRC covers; if the
 *		port is 0, one is chosen and set
 * @pkt:	@len bytes with the MAD at RN_GSI_MAD_AT, and what follows it. The headers
 *		before the MAD and the ICRC at the end are written (IPv4 identification
 *		0); the MAD does not change, so a packet may be sealed again each time it
 *		is sent.
 * @len:	Bytes from BTH to ICRC: RN_GSI_PACKET_LEN; more, and a multiple of 4, only
 *		for MADs of peer_info.h
 */
void rn_gsi_seal_long(struct rn_gsi *gsi, struct rn_flow *flow, uint32_t src_qpn,
		      uint32_t dest_qpn, uint8_t *pkt, size_t len);

/* Writes headers and ICRC of a packet of RN_GSI_PACKET_LEN bytes that comes from QP1. */
static inline void rn_gsi_seal(struct rn_gsi *gsi, struct rn_flow *flow,
			       uint32_t dest_qpn, uint8_t *pkt)
{
	rn_gsi_seal_long(gsi, flow, RN_QPN_GSI, dest_qpn, pkt, RN_GSI_PACKET_LEN);
}

#endif /* RN_GSI_H */
