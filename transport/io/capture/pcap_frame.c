/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pcap_frame.c - IP and UDP headers around a packet. RFC 791, 8200, 768, 1071. */
#include "pcap_frame.h"

#include <string.h>

#include "rocin/wire.h"

enum {
	IP4_LEN = 20,
	IP6_LEN = 40,
	UDP_LEN = 8,
	PROTO_UDP = 17,
	HOPS_DEFAULT = 64,
};

/* One's complement sum of 16-bit words; an odd last byte is padded with zero. */
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
	/* 0 would mean that there is no checksum. */
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
