/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mads.h - CM messages of a scenario: from the fields of a line to bytes, and back.
 *
 * Where a field is in a message says a table of this module's own, not that of the device
 * under test, so that a field in a wrong place is seen.
 */
#ifndef RN_SCENE_MADS_H
#define RN_SCENE_MADS_H

#include "fields.h"
#include "packet.h"

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

/* The peer's communication ID of a connection, and its QPN. */
uint32_t rn_scene_peer_id(unsigned conn);
uint32_t rn_scene_peer_qpn(unsigned conn);

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

#endif /* RN_SCENE_MADS_H */
