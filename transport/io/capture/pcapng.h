/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcapng.h - writes parts of capture files: the IP and UDP headers, which the kernel
 * adds to a sent packet and removes from a received one, and the blocks of a pcapng
 * file. (libpcap can read these blocks, but not write them.)
 *
 * A file is one section: a section header, an interface description before the first
 * packet of each interface, packets, and statistics when an interface ends. Times are in
 * nanoseconds. The byte order is that of the host; the file says which.
 *
 * No I/O. Threads: a buffer belongs to one thread. Sources: draft-ietf-opsawg-pcapng-02;
 * RFC 791, 8200, 768, 1071.
 */
#ifndef RN_PCAPNG_H
#define RN_PCAPNG_H

#include "rocin/types.h"

struct rn_flow;

enum {
	RN_FRAME_HDR_MAX = 40 + 8
};

/**
 * rn_frame_headers() - Write IP and UDP header of a RoCEv2 packet
 * @out:	RN_FRAME_HDR_MAX bytes
 * @f:		Addresses, source port, ToS; a hop limit of 0 is written as 64
 * @ip_id:	IPv4 identification
 * @payload:	BTH to ICRC, for the UDP checksum; NULL: a checksum of 0, which says that
 *		there is none
 * @len:	Bytes from BTH to ICRC
 *
 * IPv4 has DF set and no options, IPv6 has flow label 0. The checksums are computed.
 *
 * Return: bytes written: 28 or 48.
 */
size_t rn_frame_headers(uint8_t *out, const struct rn_flow *f, uint16_t ip_id,
			const uint8_t *payload, size_t len);

/* Find the IPv4 identification of a received packet, which the socket does not report:
 * the one for which the ICRC of the packet is right. @place: position of the packet in
 * its super-packet, from 0. Return: the identification; 0 if there is none.
 */
uint16_t rn_frame_ip_id(const struct rn_flow *f, const uint8_t *packet, uint32_t len,
			uint16_t place);

/* A buffer for blocks; initially all zeros. It owns @data. */
struct rn_pcapng {
	uint8_t *data;
	size_t len, cap;
	bool failed; /* there was no memory, so the last block is missing */
};

/* Remove all blocks, but keep the memory of the buffer. */
void rn_pcapng_clear(struct rn_pcapng *p);
void rn_pcapng_free(struct rn_pcapng *p);

/* Write a section header. Each text may be NULL; at most 65535 bytes of each are written.
 */
void rn_pcapng_section(struct rn_pcapng *p, const char *hardware, const char *os,
		       const char *program);

/* Write an interface description. @link_type: a LINKTYPE_ number, see <pcap/dlt.h>. */
void rn_pcapng_interface(struct rn_pcapng *p, uint16_t link_type, const char *name,
			 const char *description, uint32_t snaplen);

struct rn_pcapng_packet {
	uint32_t interface; /* index of its interface description, from 0 */
	uint64_t time;	    /* ns since 1970 */
	uint32_t len;	    /* bytes of the packet on the wire */
	uint32_t cap;	    /* number of bytes in @data */
	const uint8_t *data;
	bool is_outbound;
	/* number of packets that are missing directly before this one */
	uint64_t missed;
	uint32_t queue;	     /* queue number, written if it is not 0 */
	const char *comment; /* comment of the packet in UTF-8, or NULL */
};

void rn_pcapng_packet(struct rn_pcapng *p, const struct rn_pcapng_packet *packet);

/* Write interface statistics. @received: number of packets of the interface, including
 * those that are missing in the file.
 */
void rn_pcapng_statistics(struct rn_pcapng *p, uint32_t interface, uint64_t time,
			  uint64_t received, uint64_t missed);

#endif /* RN_PCAPNG_H */
