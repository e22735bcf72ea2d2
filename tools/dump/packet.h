/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.h - a captured RoCEv2 packet, taken apart.
 *
 * Packets of any sender, whole or cut off by the capture, well-formed or not.
 *
 * Threads: any; nothing here has state.
 * Source: IBTA Vol 1 chapter 9, Annex A17.
 */
#ifndef RN_ROCE_PACKET_H
#define RN_ROCE_PACKET_H

#include "rocin/flow.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

/* How far a packet can be read. */
enum rn_packet_form {
	RN_PACKET_WHOLE,     /* all fields below are valid */
	RN_PACKET_NO_BTH,    /* shorter than a BTH; @bth is not valid */
	RN_PACKET_VERSION,   /* TVer is not 0; @bth is not valid */
	RN_PACKET_NO_OPCODE, /* nobody defined its opcode; headers are not valid */
	RN_PACKET_SHORT,     /* shorter than its headers, which are not valid */
	RN_PACKET_CUT, /* the capture ends within the headers, which are not valid */
};

enum rn_packet_icrc {
	RN_PACKET_ICRC_RIGHT,
	RN_PACKET_ICRC_WRONG,
	RN_PACKET_ICRC_NONE, /* no room for one */
	RN_PACKET_ICRC_CUT,  /* the capture does not hold all that it covers */
	RN_PACKET_ICRC_OPEN, /* IPv4 options, which the specification does not know: it
			      * fits neither with them nor without
			      */
};

struct rn_packet {
	struct rn_flow flow;
	bool is_ipv4;	  /* the header, whatever the addresses look like */
	bool has_df;	  /* IPv4: may not be fragmented; true for IPv6 */
	bool is_a_part;	  /* IPv4: the first fragment of several */
	bool has_options; /* IPv4 */
	enum rn_packet_form form;
	enum rn_packet_icrc icrc;
	const uint8_t *at; /* BTH */
	uint32_t said;	   /* bytes from BTH to ICRC by the UDP header */
	uint32_t have;	   /* of them in the capture; @said, or less */
	struct rn_bth bth;
	const struct rn_opcode_info *op; /* of bth.opcode */
	/* Those that op->flags names. */
	struct rn_reth reth;
	struct rn_atomic_eth atomic;
	struct rn_aeth aeth;
	struct rn_deth deth;
	struct rn_feth feth;
	uint32_t srqn, imm, invalidate;
	uint64_t original;
	const uint8_t *payload; /* @have bounds it */
	uint32_t payload_len;	/* without padding */
};

/**
 * rn_packet_parse() - Take a captured IP packet apart
 * @p:		Out: points into @ip
 * @ip:		First byte of the IPv4 or IPv6 header
 * @len:	Bytes captured from there
 *
 * Return: true if it is a RoCEv2 packet (UDP destination port 4791), well-formed or not;
 *	   false for anything else, with @p in any state. A datagram without payload is
 *	   no packet of any device.
 */
bool rn_packet_parse(struct rn_packet *p, const uint8_t *ip, size_t len);

/* Why a packet that a RoCEv2 device may have sent was not taken apart. */
enum rn_packet_skip {
	RN_PACKET_SKIP_OTHER,	  /* it is no such packet */
	RN_PACKET_SKIP_FRAGMENT,  /* of UDP, without the headers: they are in the first */
	RN_PACKET_SKIP_EXTENSION, /* IPv6 extension headers before UDP port 4791 */
	RN_PACKET_SKIP_ROCE_V1,
	RN_PACKET_SKIP_EMPTY, /* UDP without payload: it asks whether the port is there */
	RN_PACKET_SKIP_COUNT
};

/* Why, where rn_packet_parse() returned false. */
enum rn_packet_skip rn_packet_skipped(const uint8_t *ip, size_t len);

/* The payload, if the capture has @len bytes of it; NULL else. */
const uint8_t *rn_packet_payload(const struct rn_packet *p, uint32_t len);

#endif /* RN_ROCE_PACKET_H */
