/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icrc.c - the ICRC: a CRC-32 over the packet in which fields that routers may change are
 * replaced by ones.
 */
#include <endian.h>

#include "rocin/crc32.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"

enum {
	IPV4_LEN = 20,
	UDP_LEN = 8,

	IPV4_ID = 4, /* byte offset of the identification in the IPv4 header */
	IPV4_VERSION_IHL = 0x45,
	IPV4_DF = 0x4000,
	IP_PROTO_UDP = 17,

	/* Number of bytes from the identification to the BTH. */
	ID_TO_BTH = IPV4_LEN - IPV4_ID + UDP_LEN,
};

/* Four bytes of ones, which stand for fields that may change on the way. The
 * specification puts eight such bytes before the IP header, in place of an LRH. The
 * initial value of the CRC cancels the first four of them, so only the other four are
 * written.
 */
#define ONES 0xffffffffu

/* Returns two 32-bit words, both in big-endian order, as one 64-bit word. */
static uint64_t pair(uint32_t first, uint32_t second)
{
	return htobe64((uint64_t)first << 32 | second);
}

/* Writes what precedes the UDP header: the remaining four bytes of ones in place of the
 * LRH, and the IPv4 header except for the last four bytes of its destination.
 */
static void put_ipv4(uint64_t *w, const struct rn_flow *f, uint16_t id, uint32_t udp_len)
{
	uint32_t ip_len = IPV4_LEN + udp_len;

	w[0] = w[1] = 0;
	w[2] = pair(0, ONES);
	/* IPv4 header: version, IHL, ToS, length; then identification and fragmentation
	 */
	w[3] = pair(IPV4_VERSION_IHL << 24 | 0xff << 16 | ip_len,
		    (uint32_t)id << 16 | IPV4_DF);
	/* IPv4 header: TTL, protocol and checksum; then the source address */
	w[4] = pair(0xff00ffff | IP_PROTO_UDP << 16, rn_get_be32(f->src.raw + 12));
}

static void put_ipv6(uint64_t *w, const struct rn_flow *f, uint32_t udp_len)
{
	const uint8_t *src = f->src.raw, *dst = f->dst.raw;

	/* IPv6 header: version, traffic class and flow label */
	w[0] = pair(ONES, 0x6fffffff);
	/* IPv6 header: payload length, next header and hop limit; then the addresses */
	w[1] = pair(udp_len << 16 | IP_PROTO_UDP << 8 | 0xff, rn_get_be32(src));
	w[2] = pair(rn_get_be32(src + 4), rn_get_be32(src + 8));
	w[3] = pair(rn_get_be32(src + 12), rn_get_be32(dst));
	w[4] = pair(rn_get_be32(dst + 4), rn_get_be32(dst + 8));
}

/* Writes what the ICRC covers in front of the payload, from the place of the LRH up to
 * the BTH, whose bytes are at @bth. @len: number of bytes that the ICRC covers from the
 * BTH on.
 */
static void put_head(uint64_t *w, const struct rn_flow *f, uint16_t ip_id,
		     const uint8_t *bth, size_t len)
{
	uint32_t udp_len = (uint32_t)(UDP_LEN + len + RN_ICRC_LEN);

	assert(len >= RN_BTH_LEN);
	assert(len <= RN_ICRC_DATA_MAX);
	assert(rn_gid_is_ipv4(&f->src) == rn_gid_is_ipv4(&f->dst));

	if (rn_flow_is_ipv4(f))
		put_ipv4(w, f, ip_id, udp_len);
	else
		put_ipv6(w, f, udp_len);
	w[5] = pair(rn_get_be32(f->dst.raw + 12),
		    (uint32_t)f->sport << 16 | RN_ROCE_PORT);
	/* Length and checksum of UDP, and the BTH, in which FECN, BECN and reserved bits
	 * are replaced.
	 */
	w[6] = pair(udp_len << 16 | 0xffff, rn_get_be32(bth));
	w[7] = pair(0xff000000 | rn_get_be32(bth + 4), rn_get_be32(bth + 8));
}

/* Computes the ICRC as rn_icrc() does. If @part has the CRC of the payload, uses that and
 * does not read the payload again.
 */
static uint32_t icrc_with(const struct rn_flow *f, uint16_t ip_id, const uint8_t *bth,
			  size_t len, const struct rn_crc32_part *part)
{
	uint64_t head[RN_CRC32_HEAD / 8];
	size_t extensions;

	assert(len >= RN_BTH_LEN + part->len);
	extensions = len - RN_BTH_LEN - part->len;
	put_head(head, f, ip_id, bth, len);
	if (part->len == 0 || extensions % 16 != 0)
		return rn_crc32(head, bth + RN_BTH_LEN, len - RN_BTH_LEN);
	return rn_crc32_with(head, bth + RN_BTH_LEN, extensions, part);
}

uint32_t rn_icrc(const struct rn_flow *f, uint16_t ip_id, const uint8_t *bth, size_t len)
{
	return icrc_with(f, ip_id, bth, len, &(struct rn_crc32_part){ 0 });
}

void rn_icrc_seal(const struct rn_flow *f, uint16_t ip_id, uint8_t *pkt, size_t len)
{
	rn_put_le32(pkt + len, rn_icrc(f, ip_id, pkt, len));
}

void rn_icrc_move(const struct rn_flow *from, const struct rn_flow *to, uint16_t ip_id,
		  uint8_t *pkt, size_t len)
{
	uint32_t old = rn_icrc(from, ip_id, pkt, len), new = rn_icrc(to, ip_id, pkt, len);

	rn_put_le32(pkt + len, rn_get_le32(pkt + len) ^ old ^ new);
}

void rn_icrc_seal_with(const struct rn_flow *f, uint16_t ip_id, uint8_t *pkt, size_t len,
		       const struct rn_crc32_part *part)
{
	rn_put_le32(pkt + len, icrc_with(f, ip_id, pkt, len, part));
}

/* Returns the product of the polynomials @a and @b over GF(2), modulo the CRC-32
 * polynomial. Bit 31 of an operand is the coefficient of x^0.
 */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (int i = 0; i < 32; i++) {
		product ^= b & -(a >> 31);
		a <<= 1;
		b = b >> 1 ^ (0xedb88320u & -(b & 1));
	}
	return product;
}

/* Computes a difference of two CRC registers back over @len bytes that are equal in both
 * messages. Returns the difference before these bytes, if it is @diff behind them. Each
 * byte multiplies the difference by x^8, so this multiplies @diff by x^-8 to the power
 * @len.
 */
static uint32_t move_back(uint32_t diff, size_t len)
{
	/* back[i] is x^(-8 * 2^i). The order of x is 2^32 - 1, so that is x^(2^32 - 1 - 8
	 * * 2^i).
	 */
	static const uint32_t back[16] = {
		0x6567cb95, 0xd7125358, 0x5b358fd3, 0x2e9bb40b, 0x12a59a49, 0x8df9403d,
		0x5139de12, 0xba340226, 0x29c45641, 0x12fbc105, 0xecd30c55, 0x3755ebd8,
		0x24ee460c, 0x23783fcf, 0x479933fc, 0xa39442a5,
	};

	static_assert(RN_ICRC_DATA_MAX + ID_TO_BTH < 1 << RN_ARRAY_SIZE(back),
		      "one factor for each bit of the length");
	for (unsigned i = 0; len >> i; i++)
		if (len >> i & 1)
			diff = multiply(diff, back[i]);
	return diff;
}

/* Finds by which change of the IPv4 identification the ICRC of a packet of @len bytes
 * would change by @diff. The CRC register takes in a byte by XOR into its low 8 bits. So
 * if only the two bytes of the identification differ, the difference of the registers,
 * computed back to just before these bytes, lies within the low 16 bits. Return: false if
 * no change of the identification gives @diff.
 */
static bool solve_id(uint32_t diff, size_t len, uint16_t *id_diff)
{
	uint32_t before = move_back(diff, ID_TO_BTH + len);

	/* The first byte of the identification is in the low bits. */
	*id_diff = (uint16_t)(before << 8 | before >> 8);
	return before <= 0xffff;
}

/* How a sender chooses the identifications of its IPv4 packets. */
enum habit {
	HABIT_POSITION, /* position in the super-packet, 0 for a single packet */
	HABIT_ZERO,
	HABIT_COUNTER, /* value of a counter of all packets */
	/* A counter of super-packets, plus the position in the super-packet. */
	HABIT_SUPERS,
};

static uint16_t guess_id(const struct rn_icrc_hint *hint, uint16_t gro_idx)
{
	if (!hint || hint->habit == HABIT_POSITION)
		return gro_idx;
	if (hint->habit == HABIT_SUPERS)
		return (uint16_t)(hint->first_id + (gro_idx ? gro_idx : 1));
	return hint->habit == HABIT_ZERO ? 0 : (uint16_t)(hint->last_id + 1);
}

/* Returns true if @id is the identification of a packet of this sender's last
 * super-packet, or of one that the sender may have sent soon after that.
 */
static bool is_of_supers(const struct rn_icrc_hint *hint, uint16_t id, uint16_t gro_idx)
{
	uint16_t ahead = (uint16_t)(id - gro_idx - hint->first_id);

	return ahead <= RN_ICRC_ID_AHEAD && (ahead > 0 || gro_idx > 0);
}

static bool is_expected(const struct rn_icrc_hint *hint, uint16_t id, uint16_t gro_idx)
{
	if (id == 0 || id == gro_idx)
		return true;
	return hint && ((uint16_t)(id - hint->last_id - 1) < RN_ICRC_ID_AHEAD ||
			is_of_supers(hint, id, gro_idx));
}

/* Used for exact checking, in which a packet with an unexpected identification is
 * refused. Returns true if @id follows shortly after the identification of a packet that
 * was refused. If it does not, this packet is refused, too, and its @id is remembered.
 */
static bool follows_refused(struct rn_icrc_hint *hint, uint16_t id)
{
	bool follows;

	if (!hint)
		return false;
	follows = hint->has_next && (uint16_t)(id - hint->next_id) < RN_ICRC_ID_AHEAD;
	hint->has_next = !follows;
	hint->next_id = (uint16_t)(id + 1);
	return follows;
}

/* Returns the way of numbering packets by which the identification @id can be explained.
 * Called when the way that was assumed for this sender has led to a wrong guess.
 */
static uint8_t habit_of(const struct rn_icrc_hint *hint, uint16_t id, uint16_t gro_idx)
{
	if (id == gro_idx)
		return HABIT_POSITION;
	if (id == 0)
		return HABIT_ZERO;
	return hint->habit == HABIT_COUNTER && is_of_supers(hint, id, gro_idx)
		       ? HABIT_SUPERS
		       : HABIT_COUNTER;
}

// NOLINTNEXTLINE(readability-function-size): each parameter is needed
enum rn_icrc_verdict rn_icrc_check_with(struct rn_icrc_hint *hint,
					const struct rn_flow *f, const uint8_t *pkt,
					size_t len, uint16_t gro_idx, bool exact,
					const struct rn_crc32_part *part)
{
	size_t data_len = len - RN_ICRC_LEN;
	uint16_t guess = guess_id(hint, gro_idx), id_diff = 0, id;
	uint32_t diff;
	bool expected;

	if (len < RN_BTH_LEN + RN_ICRC_LEN || data_len > RN_ICRC_DATA_MAX)
		return RN_ICRC_BAD;
	/* An IPv6 header may have an IPv4-mapped address as source. Not every kernel
	 * drops such packets, so they are refused here.
	 */
	if (rn_gid_is_ipv4(&f->src) != rn_gid_is_ipv4(&f->dst))
		return RN_ICRC_BAD;
	diff = rn_get_le32(pkt + data_len) ^ icrc_with(f, guess, pkt, data_len, part);
	if (!rn_flow_is_ipv4(f))
		return diff == 0 ? RN_ICRC_OK : RN_ICRC_BAD;
	if (diff != 0 && !solve_id(diff, data_len, &id_diff))
		return RN_ICRC_BAD;

	id = guess ^ id_diff;
	expected = is_expected(hint, id, gro_idx) || (exact && follows_refused(hint, id));
	if (exact && !expected)
		return RN_ICRC_BAD;
	if (hint) {
		if (id_diff != 0)
			hint->habit = habit_of(hint, id, gro_idx);
		hint->last_id = id;
		hint->first_id = (uint16_t)(id - gro_idx);
	}
	return expected ? RN_ICRC_OK : RN_ICRC_OK_SOLVED;
}

enum rn_icrc_verdict rn_icrc_check(struct rn_icrc_hint *hint, const struct rn_flow *f,
				   const uint8_t *pkt, size_t len, uint16_t gro_idx,
				   bool exact)
{
	static const struct rn_crc32_part none;

	return rn_icrc_check_with(hint, f, pkt, len, gro_idx, exact, &none);
}
