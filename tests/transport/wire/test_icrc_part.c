/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_icrc_part.c - packets sealed without reading their payload once more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/crc32.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/wire.h"

enum {
	EXTENSIONS_MAX = 32,
	LEN_MAX = RN_BTH_LEN + EXTENSIONS_MAX + RN_CRC32_PART_MAX,
};

static uint8_t whole[LEN_MAX + RN_ICRC_LEN], parted[LEN_MAX + RN_ICRC_LEN];

static struct rn_flow flow_of(bool ipv4)
{
	struct rn_flow f = { .sport = 0xc123 };

	for (unsigned i = 0; i < 16; i++) {
		f.src.raw[i] = (uint8_t)(0x20 + i);
		f.dst.raw[i] = (uint8_t)(0x90 + i);
	}
	if (!ipv4)
		return f;
	memset(f.src.raw, 0, 10);
	memset(f.src.raw + 10, 0xff, 2);
	memcpy(f.dst.raw, f.src.raw, 12);
	return f;
}

/* @extensions: bytes between BTH and payload. */
static void seal_both_ways(const struct rn_flow *f, size_t extensions, uint32_t payload)
{
	size_t at = RN_BTH_LEN + extensions, len = at + payload;
	struct rn_crc32_part part = { .len = 0 };

	for (size_t i = 0; i < len; i++)
		whole[i] = (uint8_t)(i * 31 + i / 256 + extensions);
	memset(parted, 0, sizeof(parted));
	memcpy(parted, whole, at);
	if (rn_crc32_can_copy(payload))
		rn_crc32_copy(parted + at, whole + at, payload, &part);
	else
		memcpy(parted + at, whole + at, payload);

	rn_icrc_seal(f, 0x1234, whole, len);
	rn_icrc_seal_with(f, 0x1234, parted, len, &part);
	assert_memory_equal(parted, whole, len + RN_ICRC_LEN);
}

/* Extensions of some lengths do not go together with a part. */
static void sealing_with_a_part_is_sealing(void **state)
{
	(void)state;
	for (int ipv4 = 0; ipv4 <= 1; ipv4++) {
		struct rn_flow f = flow_of(ipv4);

		for (size_t ext = 0; ext <= EXTENSIONS_MAX; ext += 4)
			for (uint32_t payload = 64; payload <= RN_CRC32_PART_MAX;
			     payload *= 2)
				seal_both_ways(&f, ext, payload);
	}
}

/* Proof that the part is used, and the payload not read. */
static void the_part_counts_and_not_the_payload(void **state)
{
	struct rn_flow f = flow_of(true);
	struct rn_crc32_part part;
	uint32_t sealed;

	(void)state;
	if (!rn_crc32_can_copy(1024))
		skip();
	memset(whole, 0x5a, sizeof(whole));
	rn_crc32_copy(parted, whole, 1024, &part);
	rn_icrc_seal_with(&f, 0, whole, RN_BTH_LEN + 1024, &part);
	sealed = rn_get_le32(whole + RN_BTH_LEN + 1024);
	whole[RN_BTH_LEN + 500] ^= 1;
	rn_icrc_seal_with(&f, 0, whole, RN_BTH_LEN + 1024, &part);
	assert_int_equal(rn_get_le32(whole + RN_BTH_LEN + 1024), sealed);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealing_with_a_part_is_sealing),
		cmocka_unit_test(the_part_counts_and_not_the_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
