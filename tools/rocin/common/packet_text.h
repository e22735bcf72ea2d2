/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet_text.h - addresses and RoCEv2 packets, the latter as one line in the
 * specification's words.
 */
#ifndef RN_PACKET_TEXT_H
#define RN_PACKET_TEXT_H

#include <arpa/inet.h>

#include "tools/dump/packet.h"

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

/* ------------------------------------------------------------------------- addresses */
enum {
	RN_GID_TEXT_MAX = INET6_ADDRSTRLEN
};

/* "127.0.0.1" for a mapped IPv4 address, otherwise IPv6 notation. Returns @text. */
static inline const char *rn_gid_text(const struct rn_gid *gid,
				      char text[RN_GID_TEXT_MAX])
{
	bool v4 = rn_gid_is_ipv4(gid);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, text,
			 RN_GID_TEXT_MAX);
}

#endif /* RN_PACKET_TEXT_H */
