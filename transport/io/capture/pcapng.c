/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcapng.c - writes IP and UDP headers, and blocks of pcapng files; see pcapng.h. Section
 * numbers are those of the pcapng draft.
 */
#include "pcapng.h"

#include <stdlib.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"

/* ---------------------------------------------------------- IP and UDP headers */
enum {
	IP4_LEN = 20,
	IP6_LEN = 40,
	UDP_LEN = 8,
	PROTO_UDP = 17,
	HOPS_DEFAULT = 64,
};

/* Return: the one's complement sum of @sum and the 16-bit words at @p. If @len is odd, a
 * zero byte is added.
 */
static uint32_t sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	uint64_t s = sum;

	for (; len >= 2; p += 2, len -= 2)
		s += rn_get_be16(p);
	if (len)
		s += (uint32_t)*p << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint32_t)s;
}

static uint16_t udp_checksum(const struct rn_flow *f, const uint8_t *udp,
			     const uint8_t *payload, size_t len)
{
	bool v4 = rn_flow_is_ipv4(f);
	size_t skip = v4 ? 12 : 0;
	uint32_t sum = PROTO_UDP + (uint32_t)(UDP_LEN + len);

	sum = sum16(sum, f->src.raw + skip, 16 - skip);
	sum = sum16(sum, f->dst.raw + skip, 16 - skip);
	sum = sum16(sum, udp, UDP_LEN);
	sum = sum16(sum, payload, len);
	/* In UDP a checksum of 0 means that there is no checksum, so a computed 0 is
	 * written as 0xffff.
	 */
	return sum == 0xffff ? 0xffff : (uint16_t)~sum;
}

static void ip4_header(uint8_t *p, const struct rn_flow *f, uint16_t ip_id,
		       size_t udp_len)
{
	memset(p, 0, IP4_LEN);
	p[0] = 0x45;
	p[1] = f->tclass;
	rn_put_be16(p + 2, (uint16_t)(IP4_LEN + udp_len));
	rn_put_be16(p + 4, ip_id);
	rn_put_be16(p + 6, 0x4000);
	p[8] = f->hop_limit ? f->hop_limit : HOPS_DEFAULT;
	p[9] = PROTO_UDP;
	memcpy(p + 12, f->src.raw + 12, 4);
	memcpy(p + 16, f->dst.raw + 12, 4);
	rn_put_be16(p + 10, (uint16_t)~sum16(0, p, IP4_LEN));
}

static void ip6_header(uint8_t *p, const struct rn_flow *f, size_t udp_len)
{
	rn_put_be32(p, 6u << 28 | (uint32_t)f->tclass << 20);
	rn_put_be16(p + 4, (uint16_t)udp_len);
	p[6] = PROTO_UDP;
	p[7] = f->hop_limit ? f->hop_limit : HOPS_DEFAULT;
	memcpy(p + 8, f->src.raw, 16);
	memcpy(p + 24, f->dst.raw, 16);
}

size_t rn_frame_headers(uint8_t *out, const struct rn_flow *f, uint16_t ip_id,
			const uint8_t *payload, size_t len)
{
	size_t ip_len = rn_flow_is_ipv4(f) ? IP4_LEN : IP6_LEN;
	uint8_t *udp = out + ip_len;

	if (ip_len == IP4_LEN)
		ip4_header(out, f, ip_id, UDP_LEN + len);
	else
		ip6_header(out, f, UDP_LEN + len);
	rn_put_be16(udp, f->sport);
	rn_put_be16(udp + 2, RN_ROCE_PORT);
	rn_put_be16(udp + 4, (uint16_t)(UDP_LEN + len));
	rn_put_be16(udp + 6, 0);
	if (payload)
		rn_put_be16(udp + 6, udp_checksum(f, udp, payload, len));
	return ip_len + UDP_LEN;
}

uint16_t rn_frame_ip_id(const struct rn_flow *f, const uint8_t *packet, uint32_t len,
			uint16_t place)
{
	struct rn_icrc_hint hint = { 0 };

	return rn_icrc_check(&hint, f, packet, len, place, false) == RN_ICRC_BAD
		       ? 0
		       : hint.last_id;
}

/* ------------------------------------------------- types and options of blocks */
enum block {
	BLOCK_SECTION = 0x0a0d0d0a, /* section 4.1 */
	BLOCK_INTERFACE = 1,	    /* section 4.2 */
	BLOCK_STATISTICS = 5,	    /* section 4.6 */
	BLOCK_PACKET = 6,	    /* section 4.3 */
};

enum {
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	NANOSECONDS = 9,
	MIN_ROOM = 4096,
};

enum option {
	OPT_END = 0,
	OPT_COMMENT = 1,
	SHB_HARDWARE = 2,
	SHB_OS = 3,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_TSRESOL = 9,
	EPB_FLAGS = 2,
	EPB_DROPCOUNT = 4,
	EPB_QUEUE = 6,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
};

enum {
	FLAG_INBOUND = 1,
	FLAG_OUTBOUND = 2,
};

static void append_bytes(struct rn_pcapng *p, const void *data, size_t len)
{
	if (p->failed)
		return;
	if (p->len + len > p->cap) {
		size_t cap = p->cap ? p->cap : MIN_ROOM;
		uint8_t *grown;

		while (p->len + len > cap)
			cap *= 2;
		grown = realloc(p->data, cap);
		if (!grown) {
			p->failed = true;
			return;
		}
		p->data = grown;
		p->cap = cap;
	}
	if (len)
		memcpy(p->data + p->len, data, len);
	p->len += len;
}

static void put16(struct rn_pcapng *p, uint16_t v)
{
	append_bytes(p, &v, sizeof(v));
}

static void put32(struct rn_pcapng *p, uint32_t v)
{
	append_bytes(p, &v, sizeof(v));
}

/* Append a time stamp. The high word comes first, whatever the byte order. */
static void put_time(struct rn_pcapng *p, uint64_t ns)
{
	put32(p, (uint32_t)(ns >> 32));
	put32(p, (uint32_t)ns);
}

/* Append @data, and zeros up to a multiple of 4 bytes, where the next option or block
 * begins.
 */
static void put_padded(struct rn_pcapng *p, const void *data, size_t len)
{
	static const uint8_t zeros[4];

	append_bytes(p, data, len);
	append_bytes(p, zeros, (4 - len % 4) % 4);
}

static void put_option(struct rn_pcapng *p, enum option code, const void *data,
		       size_t len)
{
	put16(p, (uint16_t)code);
	put16(p, (uint16_t)len);
	put_padded(p, data, len);
}

static void put_text(struct rn_pcapng *p, enum option code, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len)
		put_option(p, code, text, len < UINT16_MAX ? len : UINT16_MAX);
}

/* ---------------------------------------------------------------------- blocks */
/* Begin a block. Return: its offset in the buffer. */
static size_t begin_block(struct rn_pcapng *p, enum block type)
{
	size_t at = p->len;

	put32(p, (uint32_t)type);
	put32(p, 0);
	return at;
}

/* End the block that begins at the offset @at: write its length at its start and its
 * end. If there was not enough memory for the block, all of it is removed.
 */
static void end_block(struct rn_pcapng *p, size_t at)
{
	uint32_t len = (uint32_t)(p->len - at + sizeof(len));

	put32(p, len);
	if (p->failed)
		p->len = at;
	else
		memcpy(p->data + at + 4, &len, sizeof(len));
}

void rn_pcapng_clear(struct rn_pcapng *p)
{
	p->len = 0;
	p->failed = false;
}

void rn_pcapng_free(struct rn_pcapng *p)
{
	free(p->data);
	*p = (struct rn_pcapng){ 0 };
}

void rn_pcapng_section(struct rn_pcapng *p, const char *hardware, const char *os,
		       const char *program)
{
	const uint64_t unknown_len = UINT64_MAX;
	size_t at = begin_block(p, BLOCK_SECTION);

	put32(p, BYTE_ORDER_MAGIC);
	put16(p, 1); /* version 1.0 */
	put16(p, 0);
	append_bytes(p, &unknown_len, sizeof(unknown_len));
	put_text(p, SHB_HARDWARE, hardware);
	put_text(p, SHB_OS, os);
	put_text(p, SHB_USERAPPL, program);
	put_option(p, OPT_END, NULL, 0);
	end_block(p, at);
}

void rn_pcapng_interface(struct rn_pcapng *p, uint16_t link_type, const char *name,
			 const char *description, uint32_t snaplen)
{
	const uint8_t resolution = NANOSECONDS;
	size_t at = begin_block(p, BLOCK_INTERFACE);

	put16(p, link_type);
	put16(p, 0);
	put32(p, snaplen);
	put_text(p, IF_NAME, name);
	put_text(p, IF_DESCRIPTION, description);
	put_option(p, IF_TSRESOL, &resolution, sizeof(resolution));
	put_option(p, OPT_END, NULL, 0);
	end_block(p, at);
}

void rn_pcapng_packet(struct rn_pcapng *p, const struct rn_pcapng_packet *packet)
{
	const uint32_t flags = packet->is_outbound ? FLAG_OUTBOUND : FLAG_INBOUND;
	size_t at = begin_block(p, BLOCK_PACKET);

	put32(p, packet->interface);
	put_time(p, packet->time);
	put32(p, packet->cap);
	put32(p, packet->len);
	put_padded(p, packet->data, packet->cap);
	put_text(p, OPT_COMMENT, packet->comment);
	put_option(p, EPB_FLAGS, &flags, sizeof(flags));
	if (packet->missed)
		put_option(p, EPB_DROPCOUNT, &packet->missed, sizeof(packet->missed));
	if (packet->queue)
		put_option(p, EPB_QUEUE, &packet->queue, sizeof(packet->queue));
	put_option(p, OPT_END, NULL, 0);
	end_block(p, at);
}

void rn_pcapng_statistics(struct rn_pcapng *p, uint32_t interface, uint64_t time,
			  uint64_t received, uint64_t missed)
{
	size_t at = begin_block(p, BLOCK_STATISTICS);

	put32(p, interface);
	put_time(p, time);
	put_option(p, ISB_IFRECV, &received, sizeof(received));
	put_option(p, ISB_IFDROP, &missed, sizeof(missed));
	put_option(p, OPT_END, NULL, 0);
	end_block(p, at);
}
