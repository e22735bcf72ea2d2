/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player.h - replays a recorded run (recording.h) in virtual time.
 *
 * Every call is made again, with the time, the packets and the answers of memory that it
 * had, and what the core does is compared: accesses to memory with their bytes
 * (completions among them), packets, events and return values. The first difference ends
 * the replay.
 *
 * No byte of a file can make it do what the core forbids its callers: then the file is
 * broken. What the core does not survive although its caller keeps the rules is what a
 * replay is for: an assertion ends the program as it ended the recorded one.
 *
 * Threads: none.
 */
#ifndef RN_PLAYER_H
#define RN_PLAYER_H

#include "recording.h"

enum rn_replay_end {
	RN_REPLAY_SAME,
	RN_REPLAY_DIFFERENT,
	RN_REPLAY_BROKEN, /* not a recording, or of a run that cannot have been */
	RN_REPLAY_NO_MEMORY,
};

/* A field of which the core made something else. Numbers as text. */
struct rn_replay_field {
	char name[24], recorded[64], replayed[64];
};

enum {
	RN_REPLAY_FIELDS = 24, /* that are told apart; more are not */
};

struct rn_replay_result {
	enum rn_replay_end end;
	char why[240];	    /* not SAME: a sentence */
	char recorded[240]; /* DIFFERENT: what it was ... */
	char replayed[240]; /* ... and is; one of the two may be empty */
	unsigned fields;    /* in which these differ */
	struct rn_replay_field field[RN_REPLAY_FIELDS];
	uint64_t calls; /* number of the last call that was made, from 1 */
	uint64_t at;	/* offset of its record in the file */
	uint64_t packets_in, packets_out, completions, accesses;
	rn_ns first, last; /* times of the first and last call that has one */
	bool cut_off;	   /* the file ends within a call: the program was ended there */
	bool limited;	   /* the file reached its limit; the run went on */
};

struct rn_replay_cfg {
	uint64_t until;	     /* stop after so many calls; 0: do not */
	uint64_t max_memory; /* bytes for objects; 0: 8 GiB */
	/* NULL, or told every record before it is made to happen. */
	void (*trace)(void *arg, uint64_t call, const struct rn_rec *rec);
	/* NULL, or told now and then how far it is. */
	void (*progress)(void *arg, uint64_t at, uint64_t len);
	void *arg;
};

/* Replay @len bytes at @data. */
void rn_replay(const uint8_t *data, size_t len, const struct rn_replay_cfg *cfg,
	       struct rn_replay_result *result);

#endif /* RN_PLAYER_H */
