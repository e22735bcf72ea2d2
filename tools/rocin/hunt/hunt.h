/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hunt.h - `rocin hunt`: schedules of late writes, runs under a schedule, and the search
 * for the smallest schedule with which a program goes wrong.
 *
 * A schedule is a set of late writes; all other writes land at once. The sanitizer's
 * library executes and records schedules (sim/pcie/sanitizer/sanitize_schedule.c, which
 * also explains the names of writes).
 */
#ifndef RN_HUNT_H
#define RN_HUNT_H

#include <limits.h>
#include <stdio.h>

#include "rocin/types.h"

/* ----------------------------------------------------------------- schedule.c */
/* A set of names of writes, each once, in the order in which they were added. */
struct rn_hunt_set {
	char **name;
	size_t count, room;
	/* Hash table with open addressing: numbers of names plus 1; 0: free. It has twice
	 * as many entries as there is room for names.
	 */
	uint32_t *table;
};

/* Adds a copy of the name, if it is new. Ends the program if there is no memory. */
void rn_hunt_add(struct rn_hunt_set *set, const char *name);
bool rn_hunt_has(const struct rn_hunt_set *set, const char *name);
void rn_hunt_clear(struct rn_hunt_set *set);

/* Adds what follows @word in the lines of a file that begin with it. Returns 0 or -errno.
 */
int rn_hunt_read(struct rn_hunt_set *set, const char *path, const char *word);

/* Writes the lines "late NAME" to a file, after the lines of @head unless it is NULL.
 * Returns 0 or -errno.
 */
int rn_hunt_write(const struct rn_hunt_set *set, const char *path, const char *head);

/* ---------------------------------------------------------------------- run.c */
struct rn_hunt {
	char **program;
	const char *checker; /* shell command; NULL: the exit status decides */
	double limit;	     /* seconds of one run */
	double budget;	     /* seconds after which no schedule is tried; 0: none */
	bool shows_progress;
	char folder[PATH_MAX - 64]; /* for files of the runs */
	unsigned runs;		    /* runs so far */
	char how[160];	    /* rn_hunt_end.how of the newest run that went wrong */
	rn_ns began, shown; /* @shown is 0 if no progress is on the screen */
};

/* What a run says. */
struct rn_hunt_end {
	bool is_wrong;
	char how[160]; /* such as "ends with status 1" */
	/* From a record: the writes that were late, and the writes that landed at once.
	 */
	struct rn_hunt_set late, landed;
};

/* Makes the folder. Returns 0 or -errno. */
int rn_hunt_begin(struct rn_hunt *h);
/* Removes the folder. */
void rn_hunt_finish(struct rn_hunt *h);

/* Removes the progress from the screen. */
void rn_hunt_erase(struct rn_hunt *h);

/* Returns the number of the signal that has asked this program to end, or 0. */
int rn_hunt_stopped(void);

/* Runs the program once; @late: NULL, everything is late. Fills in @end, which must be
 * cleared. Returns 0; -EINTR after a signal; or -errno if the program could not be run.
 */
int rn_hunt_run(struct rn_hunt *h, const struct rn_hunt_set *late,
		struct rn_hunt_end *end);
void rn_hunt_end_clear(struct rn_hunt_end *end);

/* Names of files of the newest run: "log" (the sanitizer's reports), "record", "output".
 */
const char *rn_hunt_path(const struct rn_hunt *h, const char *name, char *path);

/* ------------------------------------------------------------------- search.c */
/* Runs the program under at most @runs schedules, or as many as the budget allows:
 * everything late, nothing late, then subsets drawn from @seed. Returns 1 and the
 * schedule if it went wrong, 0 if it did not, or -errno.
 */
int rn_hunt_search(struct rn_hunt *h, unsigned runs, uint64_t seed,
		   struct rn_hunt_set *found);

/* Removes writes from the schedule for as long as the program goes wrong with the rest,
 * in two runs of two. Returns 1; 0 if it does not go wrong with @set itself; or -errno.
 */
int rn_hunt_shrink(struct rn_hunt *h, struct rn_hunt_set *set);

#endif /* RN_HUNT_H */
