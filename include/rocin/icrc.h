/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icrc.h - computes and checks the invariant CRC of a RoCEv2 packet whose IP header is
 * known only in part.
 *
 * A UDP socket shows neither the IP header that the kernel will build for a packet nor
 * that of a packet that arrived. The fields of that header that the ICRC covers follow
 * from struct rn_flow and the length, except for the IPv4 identification. Senders make it
 * predictable: an unconnected socket with IP_PMTUDISC_DO uses 0, and i in segment i of a
 * GSO send. Receivers guess the identification. If the guess is wrong, they solve for it:
 * the ICRC is linear, so from the difference between the received and the computed ICRC
 * the difference of the identifications can be computed. If no identification gives the
 * received ICRC, the packet is damaged.
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
	RN_ICRC_LEN = 4 /* length of the ICRC, which is behind the last pad byte */
};

/* Bytes from BTH to last pad byte of the longest packet that fits an IPv4 datagram. */
enum {
	RN_ICRC_DATA_MAX = 65535 - 20 - 8 - RN_ICRC_LEN
};

/**
 * rn_icrc() - Compute the ICRC of a packet
 * @f:		What is known of the IP and UDP headers
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

/* Computes the ICRC of @pkt (@len bytes from BTH to the last pad byte) and stores it in
 * the RN_ICRC_LEN bytes at @pkt + @len.
 */
void rn_icrc_seal(const struct rn_flow *f, uint16_t ip_id, uint8_t *pkt, size_t len);

/* Converts the ICRC of a packet that was sealed for the flow @from into the ICRC that is
 * right for the flow @to. If the ICRC was wrong, the result is wrong, too.
 */
void rn_icrc_move(const struct rn_flow *from, const struct rn_flow *to, uint16_t ip_id,
		  uint8_t *pkt, size_t len);

/* Stores the ICRC as rn_icrc_seal() does. The last @part->len bytes of the packet, whose
 * CRC is in @part, are not read (0: all bytes are read).
 */
void rn_icrc_seal_with(const struct rn_flow *f, uint16_t ip_id, uint8_t *pkt, size_t len,
		       const struct rn_crc32_part *part);

enum rn_icrc_verdict {
	RN_ICRC_OK,
	/* The ICRC is right for some IPv4 identification, but not for one that was
	 * guessed (rn_icrc_check()). That is also so for one in 2^16 damaged packets, so
	 * these packets are counted separately.
	 */
	RN_ICRC_OK_SOLVED,
	RN_ICRC_BAD,
};

/* What a receiver remembers of one flow, so that its first guess of a packet's IPv4
 * identification is mostly right; initially all zeros. It affects how fast the check is
 * and, through @last_id, whether an identification counts as guessed or as solved, but
 * never whether a packet is found damaged.
 */
struct rn_icrc_hint {
	uint16_t last_id; /* identification of the last packet accepted */
	/* Identification of the first packet in the super-packet that contained the
	 * packet of @last_id.
	 */
	uint16_t first_id;
	/* Identification of the last packet that was refused, plus 1; valid if @has_next.
	 */
	uint16_t next_id;
	uint8_t habit; /* enum habit in icrc.c: how the sender numbers its packets */
	bool has_next;
};

/* Largest number of IPv4 identifications that a sender may skip between two packets to
 * this host: if it numbers the packets to all destinations by one counter, it may have
 * sent packets to other hosts.
 */
enum {
	RN_ICRC_ID_AHEAD = 16
};

/**
 * rn_icrc_check() - Verify the ICRC of a received packet
 * @hint:	Data that the receiver stores about this flow, updated if the packet is
 *		accepted; or NULL
 * @f:		What is known of the IP and UDP headers; @f->src is not trusted
 * @pkt:	First byte of the BTH
 * @len:	Bytes from BTH to the last byte of the ICRC, any value
 * @gro_idx:	Position of the packet in the super-packet of UDP_GRO; 0 if alone
 * @exact:	Refuse identifications that can only be solved for
 *
 * An IPv4 identification counts as guessed, not as solved for, if it is 0, or
 *   @gro_idx, or
 *   the last one of this flow plus 1..RN_ICRC_ID_AHEAD, or
 *   @gro_idx plus the first one of the last super-packet plus 0..RN_ICRC_ID_AHEAD (but
 *   not of the same packet), or
 *   with @exact, up to RN_ICRC_ID_AHEAD after that of a packet that was refused: a
 *   sender whose counter began with an unknown number loses only one packet, and two
 *   numbers in sequence are no accident.
 *
 * The packet is read once, whatever the outcome.
 *
 * Return: RN_ICRC_OK, RN_ICRC_OK_SOLVED (IPv4 and not @exact), or RN_ICRC_BAD, also for
 *	   a packet too short to hold a BTH or too long for an IPv4 datagram, and for
 *	   addresses of two families.
 */
enum rn_icrc_verdict rn_icrc_check(struct rn_icrc_hint *hint, const struct rn_flow *f,
				   const uint8_t *pkt, size_t len, uint16_t gro_idx,
				   bool exact);

/* Verifies the ICRC as rn_icrc_check() does. The last @part->len bytes before the ICRC,
 * whose CRC is in @part, are not read (0: all bytes are read).
 */
enum rn_icrc_verdict rn_icrc_check_with(struct rn_icrc_hint *hint,
					const struct rn_flow *f, const uint8_t *pkt,
					size_t len, uint16_t gro_idx, bool exact,
					const struct rn_crc32_part *part);

#endif /* RN_ICRC_H */
