/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rx_split.h - from what one recvmsg() delivered to packets: control messages, addresses,
 * and the cutting of a super-packet that UDP_GRO has put together.
 *
 * No I/O. Threads: any; no state but the caller's.
 */
#ifndef RN_RX_SPLIT_H
#define RN_RX_SPLIT_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "rocin/net.h"

/* What the control messages said. */
struct rn_rx_meta {
	uint32_t seg_len;  /* bytes of each packet but the last; 0: there is one packet */
	uint32_t overflow; /* packets dropped by this socket so far; see has_overflow */
	bool has_overflow;
	uint8_t tclass;
	uint8_t hop_limit; /* 0: not told */
	uint32_t ifindex;  /* that it came in by; 0: not told */
};

void rn_rx_meta(struct msghdr *msg, struct rn_rx_meta *meta);

/* Source of a packet: IPv4 or IPv6 socket address to GID and port. */
void rn_rx_source(const struct sockaddr *from, struct rn_flow *flow);

/* A super-packet being cut; @next is the first byte not delivered yet. */
struct rn_rx_split {
	const uint8_t *data;
	uint32_t len;
	uint32_t seg_len; /* at least 1 */
	uint32_t next;
	uint16_t idx; /* position of the packet at @next */
};

/* @seg_len 0: one packet, which may be empty. */
void rn_rx_split_init(struct rn_rx_split *s, const uint8_t *data, uint32_t len,
		      uint32_t seg_len);

/* Fill up to RN_RX_BATCH entries of @rx. Return: how many; 0 when nothing is left. */
unsigned rn_rx_split_next(struct rn_rx_split *s, const struct rn_flow *flow,
			  struct rn_rx *rx);

#endif /* RN_RX_SPLIT_H */
