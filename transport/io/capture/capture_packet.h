/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_packet.h - a packet out of a ring, as a capture file shows it. */
#ifndef RN_CAPTURE_PACKET_H
#define RN_CAPTURE_PACKET_H

#include <sys/queue.h>

#include "capture_ring.h"
#include "pcap_frame.h"
#include "rocin/remark.h"

enum {
	RN_CAPTURE_COMMENT_MAX = 600,
	/* Linux cooked mode, DLT_LINUX_SLL: there is no link header, and this one says
	 * which way a packet goes, in a classic file too. (libpcap reads no file with two
	 * interfaces of type RAW: it compares a number that it has mapped with one that
	 * it has not.)
	 */
	RN_CAPTURE_LINK_TYPE = 113,
	RN_CAPTURE_LINK_HDR = 16,
	RN_CAPTURE_HDR_MAX = RN_CAPTURE_LINK_HDR + RN_FRAME_HDR_MAX,
};

struct rn_capture_packet {
	TAILQ_ENTRY(rn_capture_packet) link;
	struct rn_capture_record rec;
	char comment[RN_CAPTURE_COMMENT_MAX]; /* empty: the device has said nothing */
	uint32_t len;			      /* with all headers, on the wire */
	uint32_t cap;			      /* bytes of frame[] */
	uint8_t frame[];
};

/**
 * rn_capture_packet_new() - Put link, IP and UDP headers around a record's packet
 * @rec:	Of kind RN_CAPTURE_PACKET, as a reader has found it
 * @body:	Its rec->cap bytes
 *
 * What is known only of a whole packet is left out of one that was cut: the UDP checksum
 * is 0, and the identification of one received is its place in its super-packet.
 *
 * Return: a packet for free(), or NULL: no memory.
 */
struct rn_capture_packet *rn_capture_packet_new(const struct rn_capture_record *rec,
						const uint8_t *body);

/* Append what @remark says to the comment. */
void rn_capture_packet_remark(struct rn_capture_packet *p,
			      const struct rn_remark *remark);

/* Words for @remark, which may be nonsense. Return: characters written, without NUL. */
size_t rn_remark_text(const struct rn_remark *remark, char *text, size_t len);

#endif /* RN_CAPTURE_PACKET_H */
