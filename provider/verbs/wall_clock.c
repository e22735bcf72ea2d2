/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wall_clock.c - the distance of the two clocks. */
#include "wall_clock.h"

#include <time.h>

enum {
	/* Reading both takes some 70 ns; a thread that loses the processor meanwhile does
	 * not do so eight times in a row.
	 */
	TRIES = 8,
	ROUNDING_NS = 2, /* each reading is rounded down by itself */
};

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct rnp_wall_clock enclose(void)
{
	uint64_t before = read_clock(CLOCK_MONOTONIC);
	uint64_t wall = read_clock(CLOCK_REALTIME);
	uint64_t after = read_clock(CLOCK_MONOTONIC);

	return (struct rnp_wall_clock){ .low = wall - after,
					.width = after - before,
					.is_known = true };
}

static struct rnp_wall_clock enclose_narrowly(void)
{
	struct rnp_wall_clock best = enclose();

	for (unsigned i = 1; i < TRIES; i++) {
		struct rnp_wall_clock c = enclose();

		if (c.width < best.width)
			best = c;
	}
	return best;
}

/* Can one distance be in both? They wrap, since the wall clock may be behind. */
static bool agree(const struct rnp_wall_clock *a, const struct rnp_wall_clock *b)
{
	return (int64_t)(a->low + a->width + ROUNDING_NS - b->low) >= 0 &&
	       (int64_t)(b->low + b->width + ROUNDING_NS - a->low) >= 0;
}

uint64_t rnp_wall_clock_at(struct rnp_wall_clock *c, uint64_t mono_ns)
{
	const struct rnp_wall_clock now = enclose();

	if (!c->is_known || !agree(c, &now))
		*c = enclose_narrowly();
	return mono_ns + c->low + c->width / 2;
}
