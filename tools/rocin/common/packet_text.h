/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet_text.h - formats addresses, and RoCEv2 packets as one line with the field names
 * of the specification.
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

/* ------------------------------------------------------------------------- addresses */
enum {
	RN_GID_TEXT_MAX = INET6_ADDRSTRLEN
};

/* Writes "127.0.0.1" for a mapped IPv4 address, IPv6 notation for others. Returns @text.
 */
static inline const char *rn_gid_text(const struct rn_gid *gid,
				      char text[RN_GID_TEXT_MAX])
{
	bool v4 = rn_gid_is_ipv4(gid);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? gid->raw + 12 : gid->raw, text,
			 RN_GID_TEXT_MAX);
}

#endif /* RN_PACKET_TEXT_H */
