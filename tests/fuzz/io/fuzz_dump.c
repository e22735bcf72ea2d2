/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_dump.c - captures of anything, watched: raw bytes, and packets with a right ICRC
 * and nearly right fields between a few queue pairs, so that conversations come about.
 */
#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "tests/fuzz/script.h"
#include "tools/dump/packet.h"
#include "tools/dump/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PACKETS_MAX = 600,
	IP_MAX = 28 + 80 + 4096 + 8,
	RAW = 0x80, /* of the first byte of a packet: bytes as they are follow */
};

static uint8_t *put_headers(struct script *s, uint8_t *p, uint32_t flags)
{
	uint32_t len = (uint32_t)take8(s) << take8(s) % 12;

	if (flags & RN_OP_DETH)
		p = rn_deth_emit(p, &(struct rn_deth){ 0x80010000, take8(s) });
	if (flags & RN_OP_XRCETH)
		p = rn_xrceth_emit(p, take8(s));
	if (flags & RN_OP_FETH)
		p = rn_feth_emit(p, &(struct rn_feth){ .placement = RN_FLUSH_GLOBAL });
	if (flags & RN_OP_RETH)
		p = rn_reth_emit(p, &(struct rn_reth){ take8(s) * 256u, 1, len });
	if (flags & RN_OP_ATOMIC_ETH)
		p = rn_atomic_eth_emit(p, &(struct rn_atomic_eth){ take8(s), 1, len, 0 });
	if (flags & RN_OP_AETH)
		p = rn_aeth_emit(p, &(struct rn_aeth){ take8(s), take8(s) });
	if (flags & RN_OP_ATOMIC_ACK_ETH)
		p = rn_atomic_ack_eth_emit(p, 1);
	if (flags & RN_OP_IMM)
		p = rn_imm_emit(p, 1);
	if (flags & RN_OP_IETH)
		p = rn_ieth_emit(p, 1);
	if (flags & RN_OP_NOTIFY) {
		memset(p, 0, RN_CNP_RESERVED_LEN);
		p += RN_CNP_RESERVED_LEN;
	}
	return p;
}

/* Bytes of an IPv4 packet at @ip. @side: who sends, and to which queue pair. */
static size_t compose(struct script *s, uint8_t side, uint8_t *ip)
{
	static const uint16_t lens[] = { 0, 4, 8, 256, 512, 1024, 4096, 13 };
	uint8_t op = take8(s), from = side & 1, shape = take8(s);
	uint32_t len = lens[shape & 7], psn = take8(s);
	struct rn_flow flow = {
		.src = { { [10] = 0xff, 0xff, 10, 0, 0, from } },
		.dst = { { [10] = 0xff, 0xff, 10, 0, 0, !from } },
		.sport = 0xc001,
	};
	struct rn_bth bth = {
		.opcode = op,
		.pad_cnt = rn_pad_cnt(len),
		.pkey = 0xffff,
		.dest_qpn = 1 + (side >> 1 & 3),
		.psn = rn_psn((shape & 8 ? 0xffff80 : 0) +
			      (shape & 16 ? psn << 12 : psn)),
	};
	uint8_t *at = ip + 28,
		*p = put_headers(s, rn_bth_emit(at, &bth), rn_opcode_info[op].flags);

	memset(p, 0, len + bth.pad_cnt);
	len += (uint32_t)(p - at) + bth.pad_cnt;
	rn_icrc_seal(&flow, 0, at, len);
	memset(ip, 0, 28);
	ip[0] = 0x45;
	ip[6] = 0x40;
	ip[9] = 17;
	memcpy(ip + 12, flow.src.raw + 12, 4);
	memcpy(ip + 16, flow.dst.raw + 12, 4);
	rn_put_be16(ip + 20, flow.sport);
	rn_put_be16(ip + 22, RN_ROCE_PORT);
	rn_put_be16(ip + 24, (uint16_t)(8 + len + RN_ICRC_LEN));
	return 28 + len + RN_ICRC_LEN;
}

static void check_verdict(const struct rn_watch *w, const struct rn_watch_verdict *r)
{
	require(r->half == RN_WATCH_NONE || r->half < rn_watch_halves(w));
	require(r->findings <= RN_WATCH_FINDINGS);
	for (unsigned i = 0; i < r->findings; i++) {
		require(r->finding[i].rule < RN_RULE_COUNT);
		require(memchr(r->finding[i].detail, '\0', RN_WATCH_DETAIL) != NULL);
	}
	require((r->cause == RN_CAUSE_NONE) == (rn_watch_cause_text(r->cause) == NULL));
	require(!r->is_new || r->cause == RN_CAUSE_NONE);
}

/* A copy of the exact length: a sanitizer sees a read behind it. */
static void look(struct rn_watch *w, rn_ns at, const uint8_t *ip, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	char text[RN_PACKET_TEXT_MAX];
	struct rn_watch_verdict verdict;
	struct rn_packet p;

	require(copy != NULL);
	memcpy(copy, ip, len);
	if (rn_packet_parse_ib(&p, copy, len)) {
		rn_watch_packet(w, at, &p, &verdict);
		check_verdict(w, &verdict);
		rn_packet_words(&p, text, sizeof(text));
		require(strlen(text) + 1 < sizeof(text));
	}
	if (rn_packet_parse(&p, copy, len)) {
		rn_watch_packet(w, at, &p, &verdict);
		check_verdict(w, &verdict);
		rn_packet_words(&p, text, sizeof(text));
		require(strlen(text) + 1 < sizeof(text));
	} else {
		require(rn_packet_skipped(copy, len) < RN_PACKET_SKIP_COUNT);
	}
	free(copy);
}

/* What was counted whole is what the slices of time hold. */
static void check_half(const struct rn_watch *w, uint32_t i)
{
	const struct rn_watch_half *h = rn_watch_half(w, i);
	uint32_t peer = rn_watch_peer(w, i);
	uint64_t bytes = 0, resends = 0;

	require(h->is_paired == (peer != RN_WATCH_NONE));
	require(peer == RN_WATCH_NONE || rn_watch_peer(w, peer) == i);
	for (unsigned k = 0; h->bucket && k < RN_WATCH_BUCKETS; k++)
		bytes += h->bucket[k].bytes;
	require(bytes == h->n.done_bytes);
	for (unsigned k = 0; k < RN_CAUSE_COUNT; k++)
		resends += h->n.resends[k];
	require(resends == h->n.resent && h->n.resent <= h->n.requests);
	require(rn_watch_rtt(h, 0.5) <= rn_watch_rtt(h, 0.99));
	require(rn_watch_rtt(h, 0.99) <= h->n.rtt_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };
	bool is_strict = take8(&s) & 1;
	struct rn_watch *w = rn_watch_open(is_strict);
	uint8_t *ip = malloc(IP_MAX);
	rn_ns now = 0;

	require(w && ip);
	for (unsigned i = 0; i < PACKETS_MAX && !script_is_over(&s); i++) {
		uint8_t side = take8(&s);
		size_t len;

		now += (rn_ns)take8(&s) << (side >> 3 & 15) * 2;
		if (side & RAW) {
			len = take16(&s) % 600;
			len = len < script_left(&s) ? len : script_left(&s);
			take_bytes(&s, ip, len);
		} else {
			len = compose(&s, side, ip);
		}
		look(w, now, ip, len);
	}
	for (uint32_t i = 0; i < rn_watch_halves(w); i++)
		check_half(w, i);
	rn_watch_close(w);
	free(ip);
	return 0;
}
