/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icrc.h - the invariant CRC of a RoCEv2 packet whose IP header is known only in part.
 *
 * A UDP socket shows neither the IP header that the kernel will build nor the one that
 * arrived. All that the ICRC covers of it follows from struct rn_flow and the length,
 * except the IPv4 identification. Senders make that known (unconnected socket with
 * IP_PMTUDISC_DO: 0, and i in segment i of a GSO send). Receivers guess, and if every
 * guess fails, solve for it: the ICRC is linear, so the difference between the received
 * and the computed value, moved back to where the identification stands, *is* the
 * difference of identifications, or the packet is damaged.
 *
 * Threads: any; the only state is the caller's struct rn_icrc_hint.
 * Source: IBTA Vol 1, 7.8.1 and Annex A17.
 */
#ifndef RN_ICRC_H
#define RN_ICRC_H

#include "rocin/types.h"

struct rn_crc32_part;
struct rn_flow;

enum {
	RN_ICRC_LEN = 4, /* bytes on the wire, behind the last pad byte */
	/* Longest packet, BTH to last pad byte, that fits an IPv4 datagram. */
	RN_ICRC_DATA_MAX = 65535 - 20 - 8 - RN_ICRC_LEN
};

/**
 * rn_icrc() - Compute the ICRC of a packet
 * @f:		IP and UDP facts
 * @ip_id:	IPv4 identification, host order; ignored for IPv6
 * @bth:	First byte of the BTH
 * @len:	Bytes from BTH to the last pad byte: RN_BTH_LEN .. RN_ICRC_DATA_MAX
 *
 * Assumes an IPv4 header without options and with DF, or an IPv6 header without
 * extension headers. ToS, TTL, flow label, UDP checksum and byte 4 of the BTH (FECN,
 * BECN) do not matter: they may change on the way.
 *
 * Return: the value to be stored by rn_put_le32().
 */
uint32_t rn_icrc(const struct rn_flow *f, uint16_t ip_id, const uint8_t *bth, size_t len);

/* Compute the ICRC of @pkt (@len bytes, as rn_icrc()) and store it in the RN_ICRC_LEN
 * bytes at @pkt + @len.
 */
void rn_icrc_seal(const struct rn_flow *f, uint16_t ip_id, uint8_t *pkt, size_t len);

/* The same, if the last @part->len bytes (0: none) are those that @part is about: they
 * need not be read again.
 */
void rn_icrc_seal_with(const struct rn_flow *f, uint16_t ip_id, uint8_t *pkt, size_t len,
		       const struct rn_crc32_part *part);

enum rn_icrc_verdict {
	RN_ICRC_OK,
	/* Some identification makes it right. So it does for one in 2^16 damaged packets:
	 * count these apart.
	 */
	RN_ICRC_OK_SOLVED,
	RN_ICRC_BAD,
};

/* What a receiver remembers of one flow to make the first guess right. All zeros to start
 * with. It changes how fast the answer comes, and through @last_id whether an
 * identification counts as guessed or as solved; never whether a packet is damaged.
 */
struct rn_icrc_hint {
	uint16_t last_id;  /* of the last packet accepted */
	uint16_t first_id; /* of the super-packet that it came in */
	uint16_t next_id;  /* behind that of a packet that was refused, if @has_next */
	uint8_t habit;	   /* how the sender numbers its packets; private to icrc.c */
	bool has_next;
};

/* A sender that counts may have sent this many packets to others since the last to us. */
enum {
	RN_ICRC_ID_AHEAD = 16
};

/**
 * rn_icrc_check() - Verify the ICRC of a received packet
 * @hint:	Memory of this flow, updated when the packet is accepted; or NULL
 * @f:		IP and UDP facts; @f->src is the sender, which may claim to be anyone
 * @pkt:	First byte of the BTH
 * @len:	Bytes from BTH to the last byte of the ICRC, any value
 * @gro_idx:	Position of the packet in the super-packet of UDP_GRO; 0 if alone
 * @exact:	Refuse identifications that can only be solved for
 *
 * An IPv4 identification is guessed right if it is 0, @gro_idx, the last of this flow
 * plus 1..RN_ICRC_ID_AHEAD, or @gro_idx more than the first one of the super-packet of
 * that plus 0..RN_ICRC_ID_AHEAD (but not the same packet). With @exact also if it is one
 * of the next after a packet that was refused: whoever counts from anywhere has lost one,
 * and two numbers in sequence are no accident. The packet is read once, whatever the
 * outcome.
 *
 * Return: RN_ICRC_OK, RN_ICRC_OK_SOLVED (IPv4 and not @exact), or RN_ICRC_BAD, also for a
 *	   packet too short to hold a BTH or too long for an IPv4 datagram, and for
 *	   addresses of two families.
 */
enum rn_icrc_verdict rn_icrc_check(struct rn_icrc_hint *hint, const struct rn_flow *f,
				   const uint8_t *pkt, size_t len, uint16_t gro_idx,
				   bool exact);

/* The same, if the last @part->len bytes before the ICRC (0: none) are those that @part
 * is about: they need not be read again.
 */
enum rn_icrc_verdict rn_icrc_check_with(struct rn_icrc_hint *hint,
					const struct rn_flow *f, const uint8_t *pkt,
					size_t len, uint16_t gro_idx, bool exact,
					const struct rn_crc32_part *part);

#endif /* RN_ICRC_H */
