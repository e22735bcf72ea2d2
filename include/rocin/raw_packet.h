/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_packet.h - queue pairs of type RAW_PACKET, which send and receive whole
 * Ethernet frames.
 *
 * These QPs have queues, states and completions like all others, but do not use the RoCE
 * transport: their frames are sent and received by the functions below, never by
 * rn_dev_transmit() and rn_dev_receive(). The caller decides which frame is for which QP.
 *
 * Threads: nothing here locks; one device belongs to one thread at a time.
 */
#ifndef RN_RAW_PACKET_H
#define RN_RAW_PACKET_H

#include "rocin/types.h"

struct rn_dev;
struct rn_qp;

enum {
	/* Minimum length of a frame that is posted: addresses and Ethernet type. */
	RN_FRAME_MIN = 14,
	/* MTU of the interface lo, plus Ethernet header and a VLAN tag. */
	RN_FRAME_MAX = 65536 + 18,
};

/**
 * rn_dev_transmit_frame() - Fetch the next frame to be sent
 * @dev:	Device
 * @now:	Time
 * @buf:	Out: the frame from the destination address to the last byte of the
 *		payload, as the program wrote it, without padding and FCS
 * @cap:	At least RN_FRAME_MAX
 * @flags:	Out: enum rn_send_flag of the work request; the caller computes checksums
 *
 * The work request completes, as with a NIC that has read the frame. A frame of a length
 * outside of RN_FRAME_MIN .. RN_FRAME_MAX fails with LOC_LEN_ERR, a frame whose memory
 * cannot be read with LOC_PROT_ERR, and the QP goes to SQE. Several QPs are served
 * in turn.
 *
 * Return: bytes in @buf; 0: nothing may leave now.
 */
uint32_t rn_dev_transmit_frame(struct rn_dev *dev, rn_ns now, uint8_t *buf, size_t cap,
			       uint32_t *flags);

/* A frame that was received for a QP. */
struct rn_rx_frame {
	const uint8_t *data; /* the frame; the device does not need it after the call */
	uint32_t len;	     /* length of the frame in bytes, 1 .. RN_FRAME_MAX */
	bool checksums_ok;   /* checksums are right: sets RN_WC_IP_CSUM_OK */
	/* Tag of the flow rule that selected the QP; goes into rn_cqe.imm. */
	uint32_t tag;
};

/**
 * rn_qp_receive_frame() - Deliver a frame to a QP of type RAW_PACKET
 *
 * The frame takes one receive WQE. It is counted and dropped if the QP's state does not
 * allow receiving (RESET, INIT, ERR), or if no receive is posted. If the receive is too
 * short, it completes with LOC_LEN_ERR, and nothing is written; if its memory cannot be
 * written, with LOC_PROT_ERR. In both cases the QP goes to ERR, as with hardware.
 *
 * Return: true if the frame was received.
 */
bool rn_qp_receive_frame(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
			 const struct rn_rx_frame *f);

#endif /* RN_RAW_PACKET_H */
