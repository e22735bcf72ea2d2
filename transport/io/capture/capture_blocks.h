/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_blocks.h - the blocks of a capture file: what `rocin capture` writes of the
 * programs that run, and ROCIN_PCAP of its own.
 *
 * No I/O. Threads: as pcapng.h.
 */
#ifndef RN_CAPTURE_BLOCKS_H
#define RN_CAPTURE_BLOCKS_H

#include "capture_packet.h"
#include "pcapng.h"

enum {
	RN_CAPTURE_SNAPLEN = RN_CAPTURE_BODY_MAX + RN_CAPTURE_HDR_MAX,
};

/* Whose packets. */
struct rn_capture_origin {
	const char *ibdev, *ifname;
	const char *program; /* any bytes; empty: not known */
	int32_t pid;
	unsigned slot; /* 0: the connection manager's */
};

/* What a file begins with. */
void rn_capture_blocks_begin(struct rn_pcapng *p);

/* @snaplen: bytes of a record at most; 0: all */
void rn_capture_blocks_interface(struct rn_pcapng *p, const struct rn_capture_origin *o,
				 uint32_t snaplen);

/* @interface: in the order of their descriptions, from 0 */
void rn_capture_blocks_packet(struct rn_pcapng *p, uint32_t interface,
			      const struct rn_capture_packet *packet, uint32_t snaplen);

/* @packets: that are in the file, or would be; @missed: that no memory was for */
void rn_capture_blocks_statistics(struct rn_pcapng *p, uint32_t interface,
				  uint64_t packets, uint64_t missed);

#endif /* RN_CAPTURE_BLOCKS_H */
