/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* icrc_packet.h - packets with an ICRC, at random. */
#ifndef RN_ICRC_PACKET_H
#define RN_ICRC_PACKET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "rocin/icrc.h"

enum {
	PKT_MAX = 4200
};

/* A packet and what is known of its outer headers. */
struct pkt {
	struct rn_flow flow;
	uint16_t ip_id;
	size_t len; /* BTH to pad, without ICRC */
	uint8_t data[PKT_MAX];
};

static inline void set_ipv4(struct rn_gid *gid, const uint8_t *address)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, address, 4);
}

static uint32_t seed;

static inline uint32_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

/* Sealed with its ip_id. */
static inline struct pkt random_packet(bool ipv4, size_t len)
{
	struct pkt pkt = { .len = len };

	for (unsigned i = 0; i < 16; i++) {
		pkt.flow.src.raw[i] = (uint8_t)next_random();
		pkt.flow.dst.raw[i] = (uint8_t)next_random();
	}
	if (ipv4) {
		set_ipv4(&pkt.flow.src, pkt.flow.src.raw);
		set_ipv4(&pkt.flow.dst, pkt.flow.dst.raw);
	}
	pkt.ip_id = (uint16_t)next_random();
	pkt.flow.sport = (uint16_t)next_random();
	pkt.flow.tclass = (uint8_t)next_random();
	pkt.flow.hop_limit = (uint8_t)next_random();
	for (size_t i = 0; i < len; i++)
		pkt.data[i] = (uint8_t)next_random();
	rn_icrc_seal(&pkt.flow, pkt.ip_id, pkt.data, len);
	return pkt;
}

static inline void reseal(struct pkt *pkt, uint16_t ip_id)
{
	pkt->ip_id = ip_id;
	rn_icrc_seal(&pkt->flow, ip_id, pkt->data, pkt->len);
}

static inline enum rn_icrc_verdict check(struct rn_icrc_hint *hint, const struct pkt *pkt,
					 uint16_t gro_idx, bool exact)
{
	return rn_icrc_check(hint, &pkt->flow, pkt->data, pkt->len + RN_ICRC_LEN, gro_idx,
			     exact);
}

static inline int set_up(void **state)
{
	(void)state;
	seed = 4791;
	return 0;
}

#endif /* RN_ICRC_PACKET_H */
