/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet_text.h - one RoCEv2 packet as one line in the specification's words. */
#ifndef RN_PACKET_TEXT_H
#define RN_PACKET_TEXT_H

#include "tools/dump/roce_packet.h"

enum {
	RN_PACKET_TEXT_MAX = 400
};

/**
 * rn_packet_text() - Describe an IP packet
 * @ip:		First byte of the IPv4 or IPv6 header
 * @len:	Bytes captured from there
 * @text:	Out: one line without a newline, always terminated
 * @text_len:	Bytes in @text; RN_PACKET_TEXT_MAX are enough for every
 *		packet
 *
 * Return: true if it is a RoCEv2 packet (UDP destination port 4791), well-formed or not;
 *	   false for anything else, with nothing written.
 */
bool rn_packet_text(const uint8_t *ip, size_t len, char *text, size_t text_len);

/* The same for a packet that was taken apart, without its addresses. */
void rn_packet_words(const struct rn_packet *p, char *text, size_t text_len);

#endif /* RN_PACKET_TEXT_H */
