/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* connections.h - simulated hosts whose programs connect through the connection manager,
 * and the checks of the events that the programs get.
 *
 * Up to 8 hosts, each with a connection manager (CM), listen for connections and request
 * connections from each other; a seed decides which and when. The programs accept
 * connections, refuse them, ask for more time (MRA), offer alternate paths (LAP),
 * disconnect, or give up in the middle of the exchange. CM messages are lost, duplicated
 * and delayed. Processes crash, and then the CM of the host rejects or disconnects their
 * connections; hosts reboot, which loses their connections without any message, and use
 * the same addresses and QP numbers again. The run checks that:
 *
 * - the events of each connection are ones that the protocol allows: no event occurs
 *   twice or after the end of the connection, and no event occurs on the wrong side;
 * - a connection request is reported once, unless it was refused in between;
 * - once a connection is established, both ends have the same parameters, and the peer's
 *   QP has no other connection;
 * - as long as few messages are lost, no CM gives up a peer that still has the
 *   connection, and every disconnect request is answered; a request for a service without
 *   a listener is rejected for that reason;
 * - time-wait lasts as long as the ACK timeout of the path;
 * - after the faults have ended, every connection ends, every program gets the event of
 *   the end, and all tables are empty.
 *
 * Equal seeds give equal runs. Threads: no locks; a run allocates memory and frees it.
 */
#ifndef RN_WORLD_CONNECTIONS_H
#define RN_WORLD_CONNECTIONS_H

#include "rocin/types.h"

enum {
	RN_CONNECTIONS_HOSTS = 8,
};

struct rn_connections_cfg {
	uint64_t seed;
	/* Number of hosts, 2 .. RN_CONNECTIONS_HOSTS; 0: the seed decides. */
	uint32_t hosts;
	/* Called with each event as a line of text; NULL: no trace. */
	void (*trace)(void *ctx, rn_ns at, const char *line);
	void *trace_ctx;
};

struct rn_connections_result {
	bool failed;
	const char *why; /* if the run failed: the reason, as text */
	rn_ns at;	 /* time of the failure, or of the last event */
	uint64_t hash;	 /* hash of all events of the run */
	uint64_t asked, established, resolved, refused, ended;
	uint64_t messages, lost, doubled, late, crashes, reboots;
};

/* Makes one run. Returns 0 or -ENOMEM. */
int rn_connections_run(const struct rn_connections_cfg *cfg,
		       struct rn_connections_result *result);

#endif /* RN_WORLD_CONNECTIONS_H */
