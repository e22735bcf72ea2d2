/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sim_connections.h - `rocin sim --connections`: worlds of hosts whose programs connect,
 * seed by seed.
 */
#ifndef RN_SIM_CONNECTIONS_H
#define RN_SIM_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct rn_sim_connections {
	uint64_t first, last; /* seeds */
	uint32_t hosts;	      /* 0: as each seed has it */
	bool trace, json, hashes;
};

/* Return: exit status of the program. */
int rn_sim_connections(const struct rn_sim_connections *args);

#endif /* RN_SIM_CONNECTIONS_H */
