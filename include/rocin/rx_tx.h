/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rx_tx.h - packets as a device receives them and builds them. */
#ifndef RN_RX_TX_H
#define RN_RX_TX_H

#include "rocin/crc32.h"

struct rn_flow;

enum {
	RN_MTU_MAX = 4096,
	/* Maximum length of a packet in bytes, rounded up: BTH, longest extension
	 * headers, payload, pad and ICRC.
	 */
	RN_PACKET_MAX = 12 + 28 + 16 + RN_MTU_MAX + 3 + 4 + 17,
	RN_PKEY_DEFAULT = 0xffff,
};

/* How the ICRC of a packet is checked. */
enum rn_rx_icrc {
	/* If the ICRC is wrong for each IPv4 identification that can be guessed, compute
	 * the identification from the ICRC (icrc.h), unless rn_dev_cfg.icrc_exact is set.
	 */
	RN_RX_ICRC_SOLVE,
	/* Never compute the IPv4 identification from the ICRC: the receiver knows how the
	 * sender numbers its packets.
	 */
	RN_RX_ICRC_EXACT,
	/* The ICRC was not checked. The packet came through shared memory, and sender and
	 * receiver have agreed to leave the ICRC out.
	 */
	RN_RX_ICRC_NONE,
};

/* One received packet. The device does not need @data after the call. */
struct rn_rx {
	/* The sender (src), and the local address or multicast group (dst). */
	const struct rn_flow *flow;
	const uint8_t *data; /* the packet, from the BTH to the ICRC */
	uint32_t len;	     /* length of the packet in bytes, ICRC included */
	/* Position of the packet in its UDP_GRO super-packet; 0 for a single packet. */
	uint16_t gro_idx;
	uint8_t icrc;		   /* how to check the ICRC, enum rn_rx_icrc */
	struct rn_crc32_part part; /* CRC of the payload, for rn_icrc_check_with() */
};

/* What the caller must know about a packet to be sent. */
struct rn_tx {
	/* addresses of the packet; valid until the next call into the device */
	const struct rn_flow *flow;
	uint32_t dest_qpn;
	uint32_t src_qpn;
	/* The packet is an acknowledgement, or a READ or atomic response. */
	bool response;
	struct rn_crc32_part part; /* CRC of the payload, for rn_icrc_seal_with() */
};

#endif /* RN_RX_TX_H */
