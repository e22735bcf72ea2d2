/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player.h - replays a recorded run (recording.h) in virtual time.
 *
 * Every recorded call into the core is made again, with the recorded time, packets and
 * results of memory accesses. What the core does is compared with the records: accesses
 * to memory and their bytes (which include completions), packets, events and return
 * values. The first difference ends the replay.
 *
 * A file that would make the player break the rules for callers of the core is reported
 * as broken. If an assertion of the core has ended the recorded program, it ends the
 * replaying program, too, so that the failure can be examined.
 *
 * Threads: no locks; a replay belongs to one thread.
 */
#ifndef RN_PLAYER_H
#define RN_PLAYER_H

#include "recording.h"

enum rn_replay_end {
	RN_REPLAY_SAME,
	RN_REPLAY_DIFFERENT,
	/* the file is no recording, or its records contradict each other */
	RN_REPLAY_BROKEN,
	RN_REPLAY_NO_MEMORY,
};

/* A field of a record whose value differs between the recording and the replay, as text.
 */
struct rn_replay_field {
	char name[24], recorded[64], replayed[64];
};

enum {
	RN_REPLAY_FIELDS = 24, /* maximum number of differing fields that are listed */
};

struct rn_replay_result {
	enum rn_replay_end end;
	char why[240]; /* error text; set unless the end is RN_REPLAY_SAME */
	/* text of the recorded action if the end is DIFFERENT; may be empty */
	char recorded[240];
	/* text of the replayed action if the end is DIFFERENT; may be empty */
	char replayed[240];
	unsigned fields; /* number of fields in which the two actions differ */
	struct rn_replay_field field[RN_REPLAY_FIELDS];
	uint64_t calls; /* number of the last call that was made, from 1 */
	uint64_t at;	/* offset of the record of that call in the file */
	uint64_t packets_in, packets_out, completions, accesses;
	rn_ns first, last; /* times of the first and the last call that has a time */
	/* the file ends within a call, because the recorded program was killed there */
	bool cut_off;
	bool limited; /* the file had reached its size limit while the program went on */
};

struct rn_replay_cfg {
	/* number of calls after which the replay stops; 0: it goes on to the end */
	uint64_t until;
	uint64_t max_memory; /* maximum bytes of memory for objects; 0: 8 GiB */
	/* Called with every record before it is replayed; NULL: not called. */
	void (*trace)(void *arg, uint64_t call, const struct rn_rec *rec);
	/* Called repeatedly with the offset that the replay has reached; NULL:
	 * not called.
	 */
	void (*progress)(void *arg, uint64_t at, uint64_t len);
	void *arg;
};

/* Replays the file of @len bytes at @data. */
void rn_replay(const uint8_t *data, size_t len, const struct rn_replay_cfg *cfg,
	       struct rn_replay_result *result);

#endif /* RN_PLAYER_H */
