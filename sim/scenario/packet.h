/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet.h - encodes packets of a scenario from the fields of a line, and decodes packets
 * into fields.
 *
 * packet.c has its own table of the places of fields in a CM message, and does not use
 * that of Rocin's connection manager. So a test notices if the connection manager puts a
 * field in a wrong place.
 */
#ifndef RN_SCENE_PACKET_H
#define RN_SCENE_PACKET_H

#include "rocin/rx_tx.h"
#include "scenario.h"

enum {
	RN_SCENE_PACKET_MAX = RN_PACKET_MAX + 64, /* bytes, including the ICRC */
};

/* Values that the names in a scenario have during one run. */
struct rn_scene_names {
	struct rn_gid device, peer, other, group; /* addresses, all IPv4 or all IPv6 */
	uint32_t ifindex;
	uint32_t qpn[RN_SCN_QPS]; /* QPNs of the device under test */
	uint32_t peer_qpn;	  /* QPN of the peer, to which the device sends */
	/* @rkey: R_Keys of the regions and memory windows. @lkey: L_Keys of the regions.
	 * Both are stored, because on many devices the two keys of a region differ, or
	 * one of them is 0.
	 */
	uint32_t rkey[RN_SCN_MRS], lkey[RN_SCN_MRS];
	uint32_t srqn[RN_SCN_SRQS]; /* numbers of the SRQs of the device */
	uint64_t va[RN_SCN_MRS];    /* first address of each region, as peers give it */
	/* Added to all ACK timeout codes. Not 0 in a second run, which has slower timers.
	 */
	uint8_t slower;
	/* Number of the run, below RN_SCENE_RUNS. The communication IDs and the GUID of
	 * the peer depend on it. So a live device does not take the peer for that of an
	 * earlier run, whose connections may still be in time-wait.
	 */
	uint32_t run;
};

/* A packet that was sent or received. */
struct rn_scene_packet {
	rn_ns at;
	struct rn_flow flow;
	uint32_t len; /* length in bytes from BTH to ICRC */
	uint8_t bytes[RN_SCENE_PACKET_MAX];
};

/* Returns byte @i of the payload that the peer sends in the packet with PSN @psn. */
static inline uint8_t rn_scene_payload(uint32_t psn, uint32_t i)
{
	return (uint8_t)(psn + i);
}

/* Returns byte @i of region @mr as it is when the scenario begins. */
static inline uint8_t rn_scene_fill(unsigned mr, uint64_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) + (uint64_t)mr * 31);
}

/* Returns the number that field @f of line @l stands for. The field is an address, a key,
 * or the name of an SRQ.
 */
uint64_t rn_scene_value(const struct rn_scene_names *n, const struct rn_scn_line *l,
			enum rn_scn_field f);

/* Returns byte @i of the memory contents that @l, a line `check`, expects. */
uint8_t rn_scene_content(const struct rn_scene_names *n, const struct rn_scn_line *l,
			 uint32_t i);

/* Makes the packet that line @l (`<': it arrives at the device) describes, including its
 * ICRC and its faults. Fields that the line does not give get the values that a correct
 * peer would send.
 */
void rn_scene_encode(const struct rn_scene_names *n, const struct rn_scn_line *l,
		     struct rn_scene_packet *out);

/**
 * rn_scene_decode() - Decode a packet into the fields of a line
 * @l:		Out: opcode and every field that the packet has
 * @payload:	Out: first byte of the payload
 *
 * Return: 0; -EMSGSIZE (shorter than its headers), -EPROTO (wrong TVer, or an undefined
 *	   opcode), -EBADMSG (wrong ICRC).
 */
int rn_scene_decode(const struct rn_scene_packet *p, struct rn_scn_line *l,
		    const uint8_t **payload);

/* Returns line @l (`>': a packet that the device must send) with the values of its fields
 * as numbers, and with those fields added that the line implies.
 */
struct rn_scn_line rn_scene_wanted(const struct rn_scene_names *n,
				   const struct rn_scn_line *l);

/* ---------------------------------------------------------------- CM messages */
enum {
	RN_SCENE_MAD_KINDS = RN_CM_APR - RN_CM_REQ + 1,
	RN_SCENE_RUNS = 1 << 20,
	/* Communication ID of the first connection in run 0. The IDs of one run are
	 * consecutive; the next run has the IDs after them.
	 */
	RN_SCENE_PEER_ID = 0x0a000001,
	/* What the program on the device offers unless a line says otherwise: number of
	 * the queue pair of its first connection, responder resources, initiator depth,
	 * retry counts.
	 */
	RN_SCENE_CM_QPN = 0x31,
	RN_SCENE_CM_RESP = 4,
	RN_SCENE_CM_DEPTH = 2,
	RN_SCENE_CM_RETRY = 7,
	RN_SCENE_CM_RNR_RETRY = 6,
};

/* What the peer and the device have sent on a connection so far, on which later messages
 * of the connection depend.
 */
struct rn_scene_conn {
	uint32_t run;	    /* rn_scene_names.run */
	uint32_t device_id; /* the device's communication ID; 0: not known yet */
	uint32_t device_qpn;
	uint32_t said; /* number of messages that the peer has sent on the connection */
	/* The last message of each kind; zeros: there was none. [0] sent by the peer, [1]
	 * sent by the device.
	 */
	uint8_t last[2][RN_SCENE_MAD_KINDS][RN_MAD_LEN];
};

/* Returns the peer's communication ID of connection @conn. */
static inline uint32_t rn_scene_peer_id(uint32_t run, unsigned conn)
{
	return RN_SCENE_PEER_ID + run * RN_SCN_CONNS + conn;
}

/* Returns true if @id is a communication ID of the peer in another run than @run. */
static inline bool rn_scene_is_of_other_run(uint32_t run, uint32_t id)
{
	uint32_t of = (id - RN_SCENE_PEER_ID) / RN_SCN_CONNS;

	return of < RN_SCENE_RUNS && of != run;
}

/* Returns the service ID in the REQ of a connection. */
uint64_t rn_scene_service(const struct rn_scn_object *conn);

/* Writes the letters of a field RN_F_PRIVATE, up to eight, to @out, followed by zeros. */
void rn_scene_letters(uint64_t value, uint8_t out[8]);

/* Returns the letters that are in @len bytes of private data, in the form of field
 * RN_F_PRIVATE. Returns UINT64_MAX if the data is not up to eight letters followed by
 * zeros.
 */
uint64_t rn_scene_letters_of(const uint8_t *data, uint32_t len);

/* Makes the packet with the CM message that line @l (`<': it arrives at the device)
 * describes, and stores the message in @conn. Fields that the line does not give get the
 * values that a correct peer would send.
 */
void rn_scene_mad_encode(const struct rn_scene_names *n, const struct rn_scn_object *o,
			 struct rn_scene_conn *conn, const struct rn_scn_line *l,
			 struct rn_scene_packet *out);

/* Returns true if the packet is for queue pair 1. */
bool rn_scene_is_mad(const struct rn_scene_packet *p);

/**
 * rn_scene_mad_decode() - Decode a CM message that queue pair 1 has sent
 * @n:		Addresses of the scenario; NULL: do not decode the GIDs
 * @l:		Out: opcode (enum rn_cm_attr), and every field that the message has
 *
 * Return: the MAD within the packet, or NULL, with @l unchanged, if the packet is no
 *	   UD SEND ONLY from queue pair 1 with its Q_Key and a correct ICRC, or has no
 *	   CM message.
 */
const uint8_t *rn_scene_mad_decode(const struct rn_scene_names *n,
				   const struct rn_scene_packet *p,
				   struct rn_scn_line *l);

/* Returns line @l (`>': a packet that the device must send) with those fields added that
 * every message of connection @conn must have.
 */
struct rn_scn_line rn_scene_mad_wanted(const struct rn_scene_conn *conn,
				       const struct rn_scn_line *l);

/* Stores in @conn that the device has sent this message. */
void rn_scene_mad_note(struct rn_scene_conn *conn, const struct rn_scn_line *came,
		       const uint8_t *mad);

#endif /* RN_SCENE_PACKET_H */
