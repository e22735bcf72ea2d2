/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rx_tx.h - packets as a device takes them off the wire and builds them for it. */
#ifndef RN_RX_TX_H
#define RN_RX_TX_H

#include "rocin/crc32.h"

struct rn_flow;

enum {
	RN_MTU_MAX = 4096,
	/* BTH, the longest extension headers, payload, pad, ICRC, rounded up. */
	RN_PACKET_MAX = 12 + 28 + 16 + RN_MTU_MAX + 3 + 4 + 17,
	RN_PKEY_DEFAULT = 0xffff,
};

/* What is to be thought of the ICRC of a packet. */
enum rn_rx_icrc {
	RN_RX_ICRC_SOLVE, /* struct rn_dev_cfg says whether identifications are solved for
			   */
	RN_RX_ICRC_EXACT, /* the sender's habits are known: they are not */
	RN_RX_ICRC_NONE, /* memory is the wire, and both ends do without: not looked at */
};

/* One packet off the wire. @data stays the caller's and is not kept. */
struct rn_rx {
	const struct rn_flow *flow; /* src: the sender; dst: our address or group */
	const uint8_t *data;	    /* BTH to ICRC */
	uint32_t len;		    /* bytes, ICRC included */
	uint16_t gro_idx;	    /* position in the super-packet, 0 if alone */
	uint8_t icrc;		    /* enum rn_rx_icrc */
	struct rn_crc32_part part;  /* for rn_icrc_check_with() */
};

/* One packet for the wire: what the IP layer must know about it. */
struct rn_tx {
	const struct rn_flow *flow; /* valid until the next call into the device */
	uint32_t dest_qpn;
	uint32_t src_qpn;
	bool response;		   /* acknowledgement or READ/atomic response */
	struct rn_crc32_part part; /* for rn_icrc_seal_with() */
};

#endif /* RN_RX_TX_H */
