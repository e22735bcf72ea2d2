/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections.h - hosts whose programs connect, in virtual time, and what must hold.
 *
 * Up to 8 hosts, each with a connection manager, listen and ask each other, as a seed has
 * it: they accept, refuse, ask for patience, offer other paths, disconnect, leave in the
 * middle of it. Messages are lost, doubled and late. Processes end without a word, which
 * their connection manager then says for them; hosts lose their memory and begin again
 * with the same addresses and queue pair numbers. Judged is:
 *
 * - what a program sees of a connection is a life that one can have: nothing twice,
 *   nothing behind its end, nothing that only the other side can see;
 * - a request is announced once, unless it was refused meanwhile;
 * - when a connection is made, both ends agree on what they have agreed on, and the
 *   peer's queue pair has no other;
 * - while few messages are lost nobody gives up an end that is still there, and every
 *   farewell is answered; who asks for what nobody offers is told so;
 * - time-wait lasts as long as the path's ACK timeout;
 * - when faults end, every connection ends, every program learns of it, and no entry is
 *   left in any table.
 *
 * Equal seeds give equal runs. Threads: no locks; a run allocates and frees.
 */
#ifndef RN_WORLD_CONNECTIONS_H
#define RN_WORLD_CONNECTIONS_H

#include "rocin/types.h"

enum {
	RN_CONNECTIONS_HOSTS = 8,
};

struct rn_connections_cfg {
	uint64_t seed;
	uint32_t hosts; /* 2 .. RN_CONNECTIONS_HOSTS; 0: as the seed has it */
	/* Is told what happens, a line each; or NULL. */
	void (*trace)(void *ctx, rn_ns at, const char *line);
	void *trace_ctx;
};

struct rn_connections_result {
	bool failed;
	const char *why; /* a sentence, if it failed */
	rn_ns at;	 /* when that was, or when all was quiet */
	uint64_t hash;	 /* of all that happened */
	uint64_t asked, established, resolved, refused, ended;
	uint64_t messages, lost, doubled, late, crashes, reboots;
};

/* Return: 0, or -ENOMEM. */
int rn_connections_run(const struct rn_connections_cfg *cfg,
		       struct rn_connections_result *result);

#endif /* RN_WORLD_CONNECTIONS_H */
