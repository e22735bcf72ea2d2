/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* checksum.c - the checksums of an Ethernet frame, as a NIC fills and checks them. */
#include "checksum.h"

#include <string.h>

enum {
	ETH_LEN = 14,
	TAG_LEN = 4,
	TAGS_MAX = 2,
	IP4_LEN = 20,
	IP4_SUM_AT = 10,
	IP6_LEN = 40,
	TCP_LEN = 20,
	TCP_SUM_AT = 16,
	UDP_LEN = 8,
	UDP_SUM_AT = 6,

	TYPE_IP4 = 0x0800,
	TYPE_VLAN = 0x8100,
	TYPE_IP6 = 0x86dd,
	TYPE_QINQ = 0x88a8,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	FRAGMENT = 0x3fff, /* MF and the offset */
};

/* Where things stand in a frame, from its start; 0 bytes: not there. */
struct parts {
	size_t ip4, ip4_len;	 /* the header */
	size_t addrs, addrs_len; /* both addresses */
	size_t l4, l4_len;	 /* header and data of TCP or UDP */
	size_t sum;		 /* its checksum */
	uint8_t proto;
};

static unsigned be16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static void find_l4(struct parts *p, size_t at, size_t len, uint8_t proto)
{
	if (proto == PROTO_TCP && len >= TCP_LEN)
		p->sum = at + TCP_SUM_AT;
	else if (proto == PROTO_UDP && len >= UDP_LEN)
		p->sum = at + UDP_SUM_AT;
	else
		return;
	p->l4 = at;
	p->l4_len = len;
	p->proto = proto;
}

/* @left: bytes from @at to the end of the frame, padding included. */
static void find_ip4(struct parts *p, const uint8_t *frame, size_t at, size_t left)
{
	const uint8_t *ip = frame + at;
	size_t header, total;

	if (left < IP4_LEN)
		return;
	header = (size_t)(ip[0] & 0xf) * 4;
	total = be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < IP4_LEN || header > total || total > left)
		return;
	p->ip4 = at;
	p->ip4_len = header;
	p->addrs = at + 12;
	p->addrs_len = 8;
	if (!(be16(ip + 6) & FRAGMENT))
		find_l4(p, at + header, total - header, ip[9]);
}

static void find_ip6(struct parts *p, const uint8_t *frame, size_t at, size_t left)
{
	const uint8_t *ip = frame + at;

	if (left < IP6_LEN || ip[0] >> 4 != 6 || be16(ip + 4) > left - IP6_LEN)
		return;
	p->addrs = at + 8;
	p->addrs_len = 32;
	find_l4(p, at + IP6_LEN, be16(ip + 4), ip[6]);
}

static struct parts find_parts(const uint8_t *frame, size_t len)
{
	struct parts p = { 0 };
	size_t at = ETH_LEN;
	unsigned type;

	if (len < ETH_LEN)
		return p;
	type = be16(frame + at - 2);
	for (unsigned i = 0; i < TAGS_MAX && (type == TYPE_VLAN || type == TYPE_QINQ);
	     i++) {
		if (len - at < TAG_LEN)
			return p;
		at += TAG_LEN;
		type = be16(frame + at - 2);
	}
	if (type == TYPE_IP4)
		find_ip4(&p, frame, at, len - at);
	else if (type == TYPE_IP6)
		find_ip6(&p, frame, at, len - at);
	return p;
}

static uint64_t add(uint64_t sum, const uint8_t *bytes, size_t len)
{
	for (; len >= 2; bytes += 2, len -= 2)
		sum += be16(bytes);
	return len ? sum + ((unsigned)bytes[0] << 8) : sum;
}

static unsigned fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (unsigned)sum ^ 0xffff;
}

/* Over the pseudo header and all of TCP or UDP: 0 if what stands there is right. */
static unsigned l4_sum(const struct parts *p, const uint8_t *frame)
{
	uint64_t sum = add(0, frame + p->addrs, p->addrs_len) + p->proto + p->l4_len;

	return fold(add(sum, frame + p->l4, p->l4_len));
}

static void put(uint8_t *at, unsigned n)
{
	at[0] = (uint8_t)(n >> 8);
	at[1] = (uint8_t)n;
}

void rnp_checksum_fill(uint8_t *frame, size_t len)
{
	struct parts p = find_parts(frame, len);
	unsigned sum;

	if (p.ip4_len) {
		put(frame + p.ip4 + IP4_SUM_AT, 0);
		put(frame + p.ip4 + IP4_SUM_AT, fold(add(0, frame + p.ip4, p.ip4_len)));
	}
	if (!p.l4_len)
		return;
	put(frame + p.sum, 0);
	sum = l4_sum(&p, frame);
	/* 0 says that there is none. */
	put(frame + p.sum, sum == 0 && p.proto == PROTO_UDP ? 0xffff : sum);
}

bool rnp_checksum_ok(const uint8_t *frame, size_t len)
{
	struct parts p = find_parts(frame, len);

	if (!p.ip4_len || !p.l4_len || fold(add(0, frame + p.ip4, p.ip4_len)) != 0)
		return false;
	return (p.proto == PROTO_UDP && be16(frame + p.sum) == 0) ||
	       l4_sum(&p, frame) == 0;
}
