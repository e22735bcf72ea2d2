/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet_text.h - formats RoCEv2 packets as one line with the field names of the
 * specification.
 */
#ifndef RN_PACKET_TEXT_H
#define RN_PACKET_TEXT_H

#include "tools/dump/packet.h"
#include "transport/io/host/gid_sockaddr.h"

enum {
	RN_PACKET_TEXT_MAX = 400
};

/**
 * rn_packet_text() - Describe an IP packet
 * @ip:	First byte of the IPv4 or IPv6 header
 * @len:	Number of captured bytes from there
 * @text:	Out: one line without a newline, always terminated
 * @text_len:	Size of @text; RN_PACKET_TEXT_MAX bytes are enough for every packet
 *
 * Return: true if it is a RoCEv2 packet (UDP destination port 4791), well-formed or not;
 *	false for anything else, and then nothing is written.
 */
bool rn_packet_text(const uint8_t *ip, size_t len, char *text, size_t text_len);

/* Describes a parsed packet, without its addresses. */
void rn_packet_words(const struct rn_packet *p, char *text, size_t text_len);

#endif /* RN_PACKET_TEXT_H */
