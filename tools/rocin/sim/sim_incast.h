/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim_incast.h - `rocin sim --incast`: senders at one link, without and with congestion
 * control.
 */
#ifndef RN_SIM_INCAST_H
#define RN_SIM_INCAST_H

#include <stdio.h>

#include "sim/world/incast.h"

struct rn_sim_incast {
	uint32_t senders;
	uint64_t seed;
	const char *plot; /* file for a picture (SVG), or NULL */
	bool json;
};

/* Return: exit status of the program. */
int rn_sim_incast(const struct rn_sim_incast *args);

/* Runs side by side: rates above, the queue below, over time. */
struct rn_incast_picture {
	const char *title;
	const struct rn_incast_result *result;
};
void rn_incast_draw(FILE *to, const struct rn_incast_picture *p, unsigned count);

#endif /* RN_SIM_INCAST_H */
