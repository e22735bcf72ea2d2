/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.h - packets of a scenario: from the fields of a line to bytes, and back. */
#ifndef RN_SCENE_PACKET_H
#define RN_SCENE_PACKET_H

#include "rocin/rx_tx.h"
#include "scenario.h"

enum {
	RN_SCENE_PACKET_MAX = RN_PACKET_MAX + 64, /* bytes, ICRC included */
};

/* What the words of a scenario stand for in one run of it. */
struct rn_scene_names {
	struct rn_gid device, peer, other, group; /* addresses; one family */
	uint32_t ifindex;
	uint32_t qpn[RN_SCN_QPS];   /* of the device under test */
	uint32_t peer_qpn;	    /* what the device sends to */
	uint32_t key[RN_SCN_MRS];   /* R_Key and L_Key */
	uint32_t srqn[RN_SCN_SRQS]; /* of the device */
	uint64_t va[RN_SCN_MRS];    /* first address, as peers name it */
	uint8_t slower;		    /* codes that ACK timeouts are longer than said */
};

/* A packet as it is on the wire. */
struct rn_scene_packet {
	rn_ns at;
	struct rn_flow flow;
	uint32_t len; /* bytes, BTH to ICRC */
	uint8_t bytes[RN_SCENE_PACKET_MAX];
};

/* Byte @i of the payload of every packet with PSN @psn that a scenario sends. */
static inline uint8_t rn_scene_payload(uint32_t psn, uint32_t i)
{
	return (uint8_t)(psn + i);
}

/* Byte @i of region @mr at the start. */
static inline uint8_t rn_scene_fill(unsigned mr, uint64_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) + (uint64_t)mr * 31);
}

/* An address, key or number of an SRQ of a line, in numbers. */
uint64_t rn_scene_value(const struct rn_scene_names *n, const struct rn_scn_line *l,
			enum rn_scn_field f);

/* Byte @i of what @l (verb CHECK) says of memory. */
uint8_t rn_scene_content(const struct rn_scn_line *l, uint32_t i);

/* Make the packet that @l (verb INJECT) describes, ICRC included, faults and all. What it
 * does not give has the value that a well-behaved peer would use.
 */
void rn_scene_encode(const struct rn_scene_names *n, const struct rn_scn_line *l,
		     struct rn_scene_packet *out);

/* Finish a packet that @l makes and that ends at @p: its addresses, ICRC, and faults. */
void rn_scene_seal(const struct rn_scene_names *n, const struct rn_scn_line *l,
		   struct rn_scene_packet *out, uint8_t *p);

/**
 * rn_scene_decode() - Say what a packet holds, as a line of a scenario would
 * @l:		Out: opcode, and every field that the packet has; others are not given
 * @payload:	Out: first byte of the payload
 *
 * Return: 0; -EMSGSIZE (shorter than its headers), -EPROTO (TVer, or an opcode that
 *	   nobody defined), -EBADMSG (wrong ICRC).
 */
int rn_scene_decode(const struct rn_scene_packet *p, struct rn_scn_line *l,
		    const uint8_t **payload);

#endif /* RN_SCENE_PACKET_H */
