/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.h - packets of a scenario: from the fields of a line to bytes, and back.
 *
 * Where a field is in a CM message says a table of this module's own, not that of the
 * device under test, so that a field in a wrong place is seen.
 */
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

/* What a line `>` says, in numbers, implied fields included. */
struct rn_scn_line rn_scene_wanted(const struct rn_scene_names *n,
				   const struct rn_scn_line *l);

/* ---------------------------------------------------------------- CM messages */
enum {
	RN_SCENE_MAD_KINDS = RN_CM_APR - RN_CM_REQ + 1,
};

/* What has been said of a connection until now. */
struct rn_scene_conn {
	uint32_t device_id; /* the device's communication ID; 0: not said yet */
	uint32_t device_qpn;
	uint32_t said; /* messages by the peer */
	/* The last of each kind, zeros before it; [0] the peer's, [1] the device's. */
	uint8_t last[2][RN_SCENE_MAD_KINDS][RN_MAD_LEN];
};

/* The peer's communication ID of a connection. */
uint32_t rn_scene_peer_id(unsigned conn);

/* Of the service that a connection is about. */
uint64_t rn_scene_service(const struct rn_scn_object *conn);

/* Eight letters as bytes, zeros behind. */
void rn_scene_letters(uint64_t value, uint8_t out[8]);

/* The letters of @len bytes of private data; UINT64_MAX if more is in it. */
uint64_t rn_scene_letters_of(const uint8_t *data, uint32_t len);

/* Make the message that @l (verb MAD_IN) describes, in its packet. What it does not give
 * has the value that a well-behaved peer would use. @conn learns of it.
 */
void rn_scene_mad_encode(const struct rn_scene_names *n, const struct rn_scn_object *o,
			 struct rn_scene_conn *conn, const struct rn_scn_line *l,
			 struct rn_scene_packet *out);

/* Whether a packet is one of queue pair 1's. */
bool rn_scene_is_mad(const struct rn_scene_packet *p);

/**
 * rn_scene_mad_decode() - Say what a packet of queue pair 1 holds
 * @n:		NULL: without the addresses
 * @l:		Out: opcode (enum rn_cm_attr), and every field that the message has
 *
 * Return: the MAD within the packet, or NULL with @l untouched: no UD SEND ONLY from
 *	   queue pair 1 with its Q_Key and a right ICRC, or no CM message.
 */
const uint8_t *rn_scene_mad_decode(const struct rn_scene_names *n,
				   const struct rn_scene_packet *p,
				   struct rn_scn_line *l);

/* What @l (verb MAD_OUT) expects: with the fields that a message of @conn must have. */
struct rn_scn_line rn_scene_mad_wanted(const struct rn_scene_conn *conn,
				       const struct rn_scn_line *l);

/* The device has sent this message of @conn. */
void rn_scene_mad_note(struct rn_scene_conn *conn, const struct rn_scn_line *came,
		       const uint8_t *mad);

#endif /* RN_SCENE_PACKET_H */
