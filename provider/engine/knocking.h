/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knocking.h - why a peer is silent, if its host says so by ICMP. Nothing of this happens
 * before a queue pair has waited for its peer in vain, twice in a row.
 *
 * Under the engine's lock.
 */
#ifndef RNP_KNOCKING_H
#define RNP_KNOCKING_H

#include "rocin/transport.h"

struct rnp_engine;

struct rnp_knocking {
	int fd;		    /* of the last knock, while no answer has come; -1 */
	struct rn_gid peer; /* at whose port */
	struct rn_gid said; /* about whom something was logged last */
	rn_ns next;	    /* no other knock before that */
};

void rnp_knocking_init(struct rnp_knocking *k);
void rnp_knocking_end(struct rnp_knocking *k);

/* Timers have run out: is it about a silent peer? The answer to a knock is looked for at
 * once, as on loopback it has come, and when the next timer runs out.
 */
void rnp_knock_silent(struct rnp_engine *e, rn_ns now);

#endif /* RNP_KNOCKING_H */
