/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timeline.h - the events around the late writes (hunt.h) of a run, in order of time. */
#ifndef RN_HUNT_TIMELINE_H
#define RN_HUNT_TIMELINE_H

#include "hunt.h"

enum {
	RN_HUNT_AGENT_MAX = 32
};

enum rn_hunt_row_kind {
	RN_HUNT_ISSUED, /* a late write was issued */
	RN_HUNT_LANDED, /* another write was issued, and landed at once */
	RN_HUNT_READ,	/* an agent read bytes that a late write had not changed yet */
	/* an event, such as a poll of a completion or the launch of a kernel */
	RN_HUNT_EVENT,
	RN_HUNT_PERFORMED, /* a late write reached its memory */
};

struct rn_hunt_row {
	enum rn_hunt_row_kind kind;
	char *write; /* name of the write; NULL for an event */
	/* For a read: the reader. For an event: a description. For a late write that was
	 * performed: the event that has performed it. Otherwise NULL.
	 */
	char *text;
	bool is_early; /* the read got old bytes, and does not belong to a polling loop */
};

struct rn_hunt_timeline {
	struct rn_hunt_row *row;
	size_t count, room;
};

/* Reads the timeline of the writes @late from the record of a run in the file @record. If
 * memory is short, some rows are left out.
 */
void rn_hunt_timeline_read(struct rn_hunt_timeline *t, const char *record,
			   const struct rn_hunt_set *late);
void rn_hunt_timeline_clear(struct rn_hunt_timeline *t);

/* Returns the word for a kind of row, such as "issued". It is never NULL. */
const char *rn_hunt_row_word(enum rn_hunt_row_kind kind);

/* rn_hunt_row_agent() writes the name of the agent that acts in a row, such as "rocin1"
 * or "cpu" (the program). rn_hunt_row_memory() writes the name of the memory to which the
 * write of a row goes, such as "host" or "gpu0"; for an event, an empty text.
 */
void rn_hunt_row_agent(const struct rn_hunt_row *row, char name[RN_HUNT_AGENT_MAX]);
void rn_hunt_row_memory(const struct rn_hunt_row *row, char name[RN_HUNT_AGENT_MAX]);

/* ------------------------------------------------ picture of a timeline (picture.c) */
/* Writes the timeline as an SVG picture to the file @path. @title says how the program
 * ended. Returns 0 or -errno.
 */
int rn_hunt_picture(const struct rn_hunt_timeline *t, const char *path,
		    const char *title);

#endif /* RN_HUNT_TIMELINE_H */
