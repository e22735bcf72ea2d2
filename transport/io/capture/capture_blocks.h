/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_blocks.h - converts packets from a ring to blocks of a pcapng capture
 * file; used by `rocin capture` for running programs, and by ROCIN_PCAP for a
 * program's own packets.
 *
 * No I/O. Threads: a buffer belongs to one thread.
 */
#ifndef RN_CAPTURE_BLOCKS_H
#define RN_CAPTURE_BLOCKS_H

#include <sys/queue.h>

#include "capture_ring.h"
#include "pcapng.h"
#include "rocin/diagnostic.h"

enum {
	RN_CAPTURE_COMMENT_MAX = 600,
	/* DLT_LINUX_SLL (Linux cooked mode). RoCEv2 packets are captured without a
	 * link-layer header. This link type has a header of its own, which says the
	 * direction of a packet even in a classic capture file. (Link type RAW would not
	 * do: libpcap cannot read a file with two interfaces of that type.)
	 */
	RN_CAPTURE_LINK_TYPE = 113,
	RN_CAPTURE_LINK_HDR = 16,
	RN_CAPTURE_HDR_MAX = RN_CAPTURE_LINK_HDR + RN_FRAME_HDR_MAX,
};

struct rn_capture_packet {
	TAILQ_ENTRY(rn_capture_packet) link;
	struct rn_capture_record rec;
	/* texts of the diagnostics about the packet; empty: there are none */
	char comment[RN_CAPTURE_COMMENT_MAX];
	/* bytes of the packet on the wire, with all headers */
	uint32_t len;
	uint32_t cap; /* number of bytes in frame[] */
	uint8_t frame[];
};

/**
 * rn_capture_packet_new() - Put link, IP and UDP headers around a record's packet
 * @rec:	Record of kind RN_CAPTURE_PACKET, checked by the reader
 * @body:	Its rec->cap bytes
 *
 * If the record has only a part of the packet, the UDP checksum is 0, and the IPv4
 * identification of a received packet is its position in its super-packet, because both
 * would have to be computed from the whole packet.
 *
 * Return: a packet for free(), or NULL: no memory.
 */
struct rn_capture_packet *rn_capture_packet_new(const struct rn_capture_record *rec,
						const uint8_t *body);

/* Append the text of @diagnostic to the comment of a packet. */
void rn_capture_packet_diagnostic(struct rn_capture_packet *p,
				  const struct rn_diagnostic *diagnostic);

/* ----------------------------------------------------------------- blocks of a file */
enum {
	RN_CAPTURE_SNAPLEN = RN_CAPTURE_BODY_MAX + RN_CAPTURE_HDR_MAX,
};

/* The device that captured packets belong to. */
struct rn_capture_origin {
	const char *ibdev, *ifname;
	const char *program; /* name of the program, any bytes; empty: not known */
	int32_t pid;
	/* slot of the process (low byte of its QPNs); 0: rocind's connection manager */
	unsigned slot;
};

/* Write the section header, with which a file begins. */
void rn_capture_blocks_begin(struct rn_pcapng *p);

/* Write an interface description. @snaplen: maximum number of bytes that are recorded of
 * each packet; 0: all bytes.
 */
void rn_capture_blocks_interface(struct rn_pcapng *p, const struct rn_capture_origin *o,
				 uint32_t snaplen);

/* Write a packet. @interface: number of its interface description, from 0. */
void rn_capture_blocks_packet(struct rn_pcapng *p, uint32_t interface,
			      const struct rn_capture_packet *packet, uint32_t snaplen);

/* Write interface statistics. @packets: number of packets in the file. @missed: number
 * of packets that are not in it, because there was no memory for them.
 */
void rn_capture_blocks_statistics(struct rn_pcapng *p, uint32_t interface,
				  uint64_t packets, uint64_t missed);

#endif /* RN_CAPTURE_BLOCKS_H */
