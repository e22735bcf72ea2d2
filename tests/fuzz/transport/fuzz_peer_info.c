/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_peer_info.c - any packet to QP1, long or short, and any MAD as an answer: a reply
 * is never longer than what it answers, no answer is answered, and what is read of one is
 * printable and ends.
 */
#include <stdlib.h>
#include <string.h>

#include "rocin/mad.h"
#include "rocin/peer_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	TID_LEN = 8,
};

static const struct rn_flow flow = {
	.src = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 1 } },
	.dst = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 2 } },
	.ifindex = 1,
	.sport = 0xd872,
};

static void read_answer(const uint8_t *mad, uint64_t tid)
{
	struct rn_peer_info info;

	if (rn_peer_answer_parse(mad, tid, &info) != RN_PEER_ANSWERS)
		return;
	assert(!rn_peer_is_ask(mad));
	assert(strnlen(info.version, sizeof(info.version)) < sizeof(info.version));
	for (const char *c = info.version; *c; c++)
		assert(*c > ' ' && *c < 0x7f);
	assert(info.icrc <= RN_PEER_ICRC_EXACT);
}

static void receive(uint8_t *pkt, size_t len)
{
	const struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_peer_info info = { .version = "1" };
	uint8_t mad[RN_MAD_LEN];
	struct rn_gsi_mad out;

	if (len >= RN_BTH_LEN + RN_ICRC_LEN && len % 4 == 0)
		rn_icrc_seal(&flow, 0, pkt, len - RN_ICRC_LEN);
	switch (rn_gsi_receive(&gsi, &flow, pkt, len, &out)) {
	case RN_GSI_PEER_INFO:
		assert(len >= RN_PEER_ASK_MIN && len <= RN_PEER_ASK_MAX);
		rn_peer_answer_emit(mad, out.mad, &info);
		assert(!rn_peer_is_ask(mad));
		/* fallthrough */
	case RN_GSI_REPLY:
		assert(len >= sizeof(out.reply));
		assert(!rn_peer_is_ask(out.reply + RN_GSI_MAD_AT));
		break;
	case RN_GSI_CM:
		assert(len == RN_GSI_PACKET_LEN);
		break;
	case RN_GSI_DROP_PACKET:
	case RN_GSI_DROP_ICRC:
	case RN_GSI_DROP_MAD:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 1)
		return 0;
	/* Exactly as long as it says, so that a byte too many is noticed. */
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (size >= TID_LEN + RN_MAD_LEN)
		read_answer(copy + TID_LEN, rn_get_be64(copy));
	receive(copy, size);
	free(copy);
	return 0;
}
