/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_icrc.c - the ICRC of any bytes: nothing outside of the packet is read, wherever it
 * lies; the CRC is that of its definition; what is sealed is accepted; a flipped bit is
 * found.
 *
 * Packets lie against pages that cannot be read, since libraries and vector loads are
 * not all under ASan's eyes.
 */
#include <sys/mman.h>

#include "rocin/crc32.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PAGE = 65536, /* a multiple of every page size */
	ROOM = 2 * PAGE,
	BTH_VARIANT = 4, /* byte that the ICRC does not cover */
};

/* ROOM bytes between two pages without access. */
static uint8_t *guarded_room(void)
{
	static uint8_t *room;

	if (room)
		return room;
	room = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(room != MAP_FAILED);
	room += PAGE;
	require(mprotect(room, ROOM, PROT_READ | PROT_WRITE) == 0);
	return room;
}

/* As IEEE 802.3 defines it, bit by bit. */
static uint32_t crc_by_definition(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

static void check_crc(const uint8_t *p, size_t len, uint64_t start)
{
	const uint64_t head[RN_CRC32_HEAD / 8] = { start, ~start, 0, 1, 2, 3, 4, start };
	uint32_t crc = crc_by_definition(UINT32_MAX, (const uint8_t *)head, sizeof(head));

	require(rn_crc32(head, p, len) == crc_by_definition(crc, p, len));
}

static struct rn_flow take_flow(struct script *s, uint8_t shape)
{
	struct rn_flow flow = { .sport = take16(s) };

	take_bytes(s, flow.src.raw, sizeof(flow.src.raw));
	take_bytes(s, flow.dst.raw, sizeof(flow.dst.raw));
	if (shape & 1) {
		memset(flow.src.raw, 0, 12);
		flow.src.raw[10] = flow.src.raw[11] = 0xff;
	}
	if (shape & 2)
		memcpy(flow.dst.raw, flow.src.raw, 12);
	return flow;
}

/* Seal @len bytes at @p, behind which there is room for the ICRC. */
static void check_seal(const struct rn_flow *f, uint8_t *p, size_t len, uint32_t bit)
{
	size_t total = len + RN_ICRC_LEN;
	enum rn_icrc_verdict verdict;

	rn_icrc_seal(f, 0, p, len);
	require(rn_icrc_check(NULL, f, p, total, 0, true) == RN_ICRC_OK);
	require(rn_icrc_check(NULL, f, p, total, 0, false) == RN_ICRC_OK);
	bit %= (uint32_t)total * 8;
	p[bit / 8] ^= (uint8_t)(1u << bit % 8);
	verdict = rn_icrc_check(NULL, f, p, total, 0, true);
	require((verdict == RN_ICRC_OK) == (bit / 8 == BTH_VARIANT));
	p[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };
	uint8_t *room = guarded_room(), *front, *back;
	uint8_t shape = take8(&s);
	uint16_t gro_idx = take16(&s), at = take16(&s);
	struct rn_icrc_hint hint = { .last_id = take16(&s),
				     .first_id = at,
				     .habit = take8(&s) % 4 },
			    same;
	struct rn_flow flow = take_flow(&s, shape);
	bool exact = shape & 4, one_family;
	size_t len = script_left(&s);
	enum rn_icrc_verdict verdict;

	if (len > PAGE)
		return 0;
	front = room;
	back = room + ROOM - len;
	memcpy(front, s.at, len);
	memcpy(back, s.at, len);
	check_crc(front, len, 0);
	check_crc(back, len, at);

	same = hint;
	verdict = rn_icrc_check(&hint, &flow, front, len, gro_idx, exact);
	require(verdict == rn_icrc_check(&same, &flow, back, len, gro_idx, exact));
	require(hint.last_id == same.last_id && hint.first_id == same.first_id &&
		hint.habit == same.habit);
	one_family = rn_gid_is_ipv4(&flow.src) == rn_gid_is_ipv4(&flow.dst);
	if (!one_family || len < RN_BTH_LEN + RN_ICRC_LEN)
		require(verdict == RN_ICRC_BAD);
	if (one_family && len >= RN_BTH_LEN && len <= RN_ICRC_DATA_MAX) {
		memmove(back - RN_ICRC_LEN, back, len);
		check_seal(&flow, back - RN_ICRC_LEN, len, at);
	}
	return 0;
}
