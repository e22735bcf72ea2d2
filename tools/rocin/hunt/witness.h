/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness.h - prints what happened in a run with late writes (hunt.h). */
#ifndef RN_HUNT_WITNESS_H
#define RN_HUNT_WITNESS_H

#include "hunt.h"

/* Prints how the newest run has ended, its late writes, the event that has let each of
 * them arrive, and what the sanitizer has reported.
 */
void rn_hunt_print(const struct rn_hunt *h, const struct rn_hunt_set *late,
		   const struct rn_hunt_end *end);

/* Prints that no set of late writes was found with which the program goes wrong. Also
 * prints what the sanitizer has reported in the newest run, because the program may use
 * memory too early and still not go wrong.
 */
void rn_hunt_print_nothing(const struct rn_hunt *h);

/* Draws the newest run as an SVG picture. Returns 0 or -errno. */
int rn_hunt_draw(const struct rn_hunt *h, const struct rn_hunt_set *late,
		 const struct rn_hunt_end *end, const char *file);

/* Prints the result of a hunt as JSON. @file: path of the file with the schedule (set of
 * late writes); NULL if none was found.
 */
void rn_hunt_print_json(const struct rn_hunt *h, const struct rn_hunt_set *late,
			const struct rn_hunt_end *end, const char *file);

#endif /* RN_HUNT_WITNESS_H */
