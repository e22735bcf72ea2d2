/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_packet.h - queue pairs of type RAW_PACKET: whole Ethernet frames, in
 * both directions.
 *
 * They have queues, states and completions like all others, but do not use the RoCE
 * transport: their frames leave and arrive by the functions here, never by
 * rn_dev_transmit() and rn_dev_receive(). The caller decides which frame is for which QP.
 *
 * Threads: as transport.h.
 */
#ifndef RN_RAW_PACKET_H
#define RN_RAW_PACKET_H

#include "rocin/types.h"

struct rn_dev;
struct rn_qp;

enum {
	RN_FRAME_MIN = 14, /* addresses and type; shorter frames are padded on the wire */
	/* The MTU of lo, plus Ethernet header and a VLAN tag. */
	RN_FRAME_MAX = 65536 + 18,
};

/**
 * rn_dev_transmit_frame() - Take the next frame that may leave
 * @dev:	Device
 * @now:	Time
 * @buf:	Out: from the destination address to the last byte of the payload, as the
 *		program wrote it: no padding, no FCS
 * @cap:	At least RN_FRAME_MAX
 * @flags:	Out: enum rn_send_flag of the work request; checksums are the caller's
 *
 * The work request is complete with that, as it is once a NIC has read the frame. A frame
 * of a length outside of RN_FRAME_MIN .. RN_FRAME_MAX fails with LOC_LEN_ERR, a frame
 * whose memory cannot be read with LOC_PROT_ERR, and the QP goes to SQE. QPs take turns.
 *
 * Return: bytes in @buf; 0: nothing may leave now.
 */
uint32_t rn_dev_transmit_frame(struct rn_dev *dev, rn_ns now, uint8_t *buf, size_t cap,
			       uint32_t *flags);

/* A frame that was steered to a QP. */
struct rn_rx_frame {
	const uint8_t *data; /* not kept */
	uint32_t len;	     /* bytes, 1 .. RN_FRAME_MAX */
	bool checksums_ok;   /* for RN_WC_IP_CSUM_OK */
	uint32_t tag; /* for rn_cqe.imm: tag of the flow rule that steered the frame */
};

/**
 * rn_qp_receive_frame() - Give a frame to a QP of type RAW_PACKET
 *
 * It takes one receive. In a state that does not receive (RESET, INIT, ERR), or without a
 * posted receive, it is counted and dropped. A receive that is too short completes with
 * LOC_LEN_ERR and nothing is written; memory that cannot be written: LOC_PROT_ERR; the QP
 * goes to ERR, as the receive queues of hardware do.
 *
 * Return: whether the frame was received.
 */
bool rn_qp_receive_frame(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
			 const struct rn_rx_frame *f);

#endif /* RN_RAW_PACKET_H */
