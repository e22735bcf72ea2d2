/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* speed.c - measures copying with a CRC; see speed.h. */
#include "speed.h"

#include <stdlib.h>
#include <string.h>

#include "transport/io/host/clock.h"

enum {
	/* Packets of one measurement. Together they are as long as a burst, and fit into
	 * the L2 cache.
	 */
	PACKETS = 8,
	/* Measurements, of which the fastest counts: in the others the thread may have
	 * been interrupted. The first one also brings the memory into the cache.
	 */
	ROUNDS = 6,
};

struct room {
	_Alignas(64) uint8_t from[PACKETS][RN_SPEED_LEN];
	_Alignas(64) uint8_t to[PACKETS][RN_SPEED_LEN];
};

static uint32_t copy_and_sum(enum rn_crc32_means means, uint8_t *to, const uint8_t *from)
{
	static const uint64_t head[RN_CRC32_HEAD / 8];
	struct rn_crc32_part part;

	if (means < RN_CRC32_BY_32) {
		memcpy(to, from, RN_SPEED_LEN);
		return rn_crc32_by(means, head, to, RN_SPEED_LEN);
	}
	rn_crc32_copy_by(means, to, from, RN_SPEED_LEN, &part);
	return rn_crc32_with(head, NULL, 0, &part);
}

static uint64_t time_of_round(enum rn_crc32_means means, struct room *room)
{
	rn_ns begun = rn_clock(CLOCK_MONOTONIC);
	uint32_t sum = 0;

	for (unsigned i = 0; i < PACKETS; i++)
		sum ^= copy_and_sum(means, room->to[i], room->from[i]);
	/* The compiler must not leave out a sum that nobody uses. */
	__asm__ volatile("" : : "r"(sum));
	return (uint64_t)(rn_clock(CLOCK_MONOTONIC) - begun);
}

bool rn_speed_measure(struct rn_speed *s)
{
	struct room *room = aligned_alloc(64, sizeof(*room));

	*s = (struct rn_speed){ 0 };
	if (!room)
		return false;
	memset(room, 1, sizeof(*room));
	for (unsigned means = 0; means <= rn_crc32_best(); means++) {
		uint64_t least = UINT64_MAX;

		for (unsigned i = 0; i < ROUNDS; i++) {
			uint64_t took = time_of_round((enum rn_crc32_means)means, room);

			least = took < least ? took : least;
		}
		/* A clock that stands still must not look like a missing one. */
		s->ns[means] = least / PACKETS + 1;
	}
	free(room);
	return true;
}

enum rn_crc32_means rn_speed_fastest(const struct rn_speed *s)
{
	unsigned fastest = RN_CRC32_MEANS_COUNT - 1;

	while (fastest > 0 && s->ns[fastest] == 0)
		fastest--;
	for (unsigned i = fastest; i-- > 0;)
		if (s->ns[i] + s->ns[i] / RN_SPEED_MARGIN < s->ns[fastest])
			fastest = i;
	return (enum rn_crc32_means)fastest;
}
