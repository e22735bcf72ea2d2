/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.h - parses a captured packet of InfiniBand or RoCE, and writes it as text. The
 * formats differ in the headers before the BTH, and in which of their fields the ICRC
 * covers; `rocin formats` shows them side by side.
 *
 * The packet may come from any sender; it may be malformed, or cut off by the capture.
 *
 * Threads: any; nothing here has state.
 * Source: IBTA Vol 1 chapters 7 to 9, Annexes A16 (RoCE v1) and A17 (RoCEv2).
 */
#ifndef RN_ROCE_PACKET_H
#define RN_ROCE_PACKET_H

#include "rocin/gid.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum rn_packet_format {
	RN_PACKET_ROCE_V2, /* IPv4 or IPv6 header, UDP header, BTH */
	RN_PACKET_ROCE_V1, /* GRH behind an Ethernet header, BTH */
	RN_PACKET_IB,	   /* LRH, with or without a GRH behind it, BTH */
	RN_PACKET_FORMATS
};

/* How many of the fields of struct rn_packet are valid. */
enum rn_packet_form {
	RN_PACKET_WHOLE,   /* all fields below are valid */
	RN_PACKET_NO_BTH,  /* the packet is shorter than a BTH; @bth is not valid */
	RN_PACKET_VERSION, /* TVer of the BTH is not 0; @bth is not valid */
	/* bth.opcode is not defined; the headers below @op are not valid */
	RN_PACKET_NO_OPCODE,
	/* the packet is shorter than the headers of its opcode, which are not valid */
	RN_PACKET_SHORT,
	RN_PACKET_CUT, /* the capture ends within the headers, which are not valid */
};

enum rn_packet_icrc {
	RN_PACKET_ICRC_RIGHT,
	RN_PACKET_ICRC_WRONG,
	RN_PACKET_ICRC_NONE, /* the packet is too short to have an ICRC */
	RN_PACKET_ICRC_CUT,  /* the capture lacks bytes that the ICRC covers */
	/* The packet has IPv4 options, for which the specification defines no ICRC. The
	 * ICRC is not right, whether it is computed with the options or without them.
	 */
	RN_PACKET_ICRC_OPEN,
};

struct rn_packet {
	enum rn_packet_format format;
	/* InfiniBand: fields of the LRH. If the packet has no GRH, the addresses in @flow
	 * stand for its LIDs, see rn_packet_address().
	 */
	uint16_t slid, dlid;
	uint8_t vl, sl;
	struct rn_flow flow;
	/* The IP header is of IPv4. False: it is of IPv6. The addresses in @flow do not
	 * show this, because both have the same form there.
	 */
	bool is_ipv4;
	bool has_df;	  /* IPv4: the don't-fragment bit is set; always true for IPv6 */
	bool is_a_part;	  /* IPv4: the packet is the first fragment of a datagram */
	bool has_options; /* the IPv4 header has options */
	enum rn_packet_form form;
	enum rn_packet_icrc icrc;
	const uint8_t *at; /* first byte of the BTH */
	/* Length in bytes from the BTH to the end of the ICRC, as the UDP header, the GRH
	 * (RoCE v1) or the LRH says.
	 */
	uint32_t said;
	uint32_t have; /* number of those @said bytes that were captured */
	struct rn_bth bth;
	const struct rn_opcode_info *op; /* table entry of bth.opcode */
	/* Headers behind the BTH. Those whose flag is set in op->flags are valid. */
	struct rn_reth reth;
	struct rn_atomic_eth atomic;
	struct rn_aeth aeth;
	struct rn_deth deth;
	struct rn_feth feth;
	uint32_t srqn, imm, invalidate;
	uint64_t original;
	/* First byte of the payload. Fewer bytes than @payload_len may have been
	 * captured, see @have.
	 */
	const uint8_t *payload;
	uint32_t payload_len; /* length of the payload in bytes, without padding */
};

/**
 * rn_packet_parse() - Parse a captured IP packet, or one of RoCE v1
 * @p:	Out: the packet; points into @ip
 * @ip:	First byte of the IPv4 or IPv6 header, or of the GRH
 * @len:	Number of captured bytes from there
 *
 * Return: true if this is a packet of RoCEv2 (UDP destination port 4791) or RoCE v1 (a
 *	GRH with next header 27), even if it is malformed. False if it is another packet;
 *	the content of @p is undefined then. An empty datagram to port 4791 is no RoCEv2
 *	packet: no device sends one.
 */
bool rn_packet_parse(struct rn_packet *p, const uint8_t *ip, size_t len);

/* Like rn_packet_parse(), parses a captured InfiniBand packet, whose first byte is at
 * @lrh. Returns false for packets without a BTH: raw packets and flow control packets.
 */
bool rn_packet_parse_ib(struct rn_packet *p, const uint8_t *lrh, size_t len);

enum {
	RN_PACKET_ADDRESS_MAX = 46 /* as INET6_ADDRSTRLEN */
};

/* Writes an address of rn_packet.flow, such as "10.0.0.1", or "lid 17" for a LID. */
const char *rn_packet_address(const struct rn_gid *gid, char text[RN_PACKET_ADDRESS_MAX]);

/* Returns "RoCE v2", "RoCE v1" or "InfiniBand". */
const char *rn_packet_format_name(const struct rn_packet *p);

/* Why a captured packet was not parsed although a RoCEv2 device may have sent it. */
enum rn_packet_skip {
	RN_PACKET_SKIP_OTHER, /* not a packet of RoCE */
	/* A fragment that is not the first one, so it has no UDP header. */
	RN_PACKET_SKIP_FRAGMENT,
	/* An IPv6 packet to UDP port 4791 that has extension headers before the UDP
	 * header.
	 */
	RN_PACKET_SKIP_EXTENSION,
	/* An empty UDP datagram, sent to test whether the port is open. */
	RN_PACKET_SKIP_EMPTY,
	RN_PACKET_SKIP_COUNT
};

/* Returns the reason why rn_packet_parse() returned false for this packet. */
enum rn_packet_skip rn_packet_skipped(const uint8_t *ip, size_t len);

/* Returns the payload, or NULL if fewer than @len bytes of it were captured. */
const uint8_t *rn_packet_payload(const struct rn_packet *p, uint32_t len);

/* ---- One line with the field names of the specification ---- */

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
 * Return: the result of rn_packet_parse(). If it is false, @text is unchanged.
 */
bool rn_packet_text(const uint8_t *ip, size_t len, char *text, size_t text_len);

/* Describes a parsed packet, without its addresses. */
void rn_packet_words(const struct rn_packet *p, char *text, size_t text_len);

#endif /* RN_ROCE_PACKET_H */
