/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wall_clock.h - what the wall clock showed at an instant of the monotonic one.
 *
 * Both clocks run at one rate, so their distance is constant until somebody sets the wall
 * clock. It cannot be read, only be enclosed: by reading the wall clock between two
 * readings of the other. The distance that was found first is kept for as long as what is
 * read later agrees with it, so that the same instant is the same time of day however
 * often it is asked for, and order is kept.
 */
#ifndef RNP_WALL_CLOCK_H
#define RNP_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* All-zero: nothing is known yet. One thread at a time. */
struct rnp_wall_clock {
	uint64_t low, width; /* ns; the distance is in [low, low + width] */
	bool is_known;
};

/**
 * rnp_wall_clock_at() - The time of day of an instant
 * @mono_ns:	The instant, of CLOCK_MONOTONIC
 *
 * Return: CLOCK_REALTIME in ns, wrong by half the time at most that reading both clocks
 *	   took at the quickest of some tries; by what the wall clock shows now, if it was
 *	   set since the instant.
 */
uint64_t rnp_wall_clock_at(struct rnp_wall_clock *c, uint64_t mono_ns);

#endif /* RNP_WALL_CLOCK_H */
