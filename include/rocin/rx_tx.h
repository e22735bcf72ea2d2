/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rx_tx.h - packets as a device takes them off the wire and builds them for it. */
#ifndef RN_RX_TX_H
#define RN_RX_TX_H

#include "rocin/crc32.h"

struct rn_flow;

enum {
	RN_MTU_MAX = 4096,
	/* BTH, the longest extension headers, payload, pad and ICRC, rounded up. */
	RN_PACKET_MAX = 12 + 28 + 16 + RN_MTU_MAX + 3 + 4 + 17,
	RN_PKEY_DEFAULT = 0xffff,
};

/* How the ICRC of a packet is checked. */
enum rn_rx_icrc {
	/* struct rn_dev_cfg says whether identifications may be solved for. */
	RN_RX_ICRC_SOLVE,
	/* The sender's numbering is known: identifications are not solved for. */
	RN_RX_ICRC_EXACT,
	/* Not at all: shared memory is the wire, and both ends have agreed. */
	RN_RX_ICRC_NONE,
};

/* One received packet. @data stays the caller's and is not kept. */
struct rn_rx {
	/* Src: the sender; dst: our address or a multicast group. */
	const struct rn_flow *flow;
	const uint8_t *data; /* from the BTH to the ICRC */
	uint32_t len;	     /* bytes, ICRC included */
	/* Position in its super-packet (UDP_GRO), 0 for a single packet. */
	uint16_t gro_idx;
	uint8_t icrc;		   /* enum rn_rx_icrc */
	struct rn_crc32_part part; /* for rn_icrc_check_with() */
};

/* One packet to be sent: what the IP layer must know about it. */
struct rn_tx {
	const struct rn_flow *flow; /* valid until the next call into the device */
	uint32_t dest_qpn;
	uint32_t src_qpn;
	bool response;		   /* an acknowledgement, or a READ or atomic response */
	struct rn_crc32_part part; /* for rn_icrc_seal_with() */
};

#endif /* RN_RX_TX_H */
