/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hunt.h - `rocin hunt`: schedules of late writes, runs under a schedule, and the search
 * for the smallest schedule with which a program goes wrong.
 *
 * A late write is a write or atomic of a device that is withheld from the program until
 * an event, such as a completion that the program polls, makes it reach its memory. A
 * schedule is a set of late writes; all other writes reach their memory at once ("land").
 * The sanitizer's library executes schedules and records the events of a run
 * (sim/pcie/sanitizer/sanitize_schedule.c, which also explains the names of writes).
 */
#ifndef RN_HUNT_H
#define RN_HUNT_H

#include <limits.h>
#include <stdio.h>

#include "rocin/types.h"
#include "tools/rocin/common/progress.h"

/* ------------------------------------------------------ sets of writes (schedule.c) */
/* A set of names of writes. Each name is in it once; they are in the order in which they
 * were added.
 */
struct rn_hunt_set {
	char **name;
	size_t count, room;
	/* Hash table with open addressing. An entry is the index of a name plus 1, or 0
	 * if it is free. The table has twice as many entries as there is room for names.
	 */
	uint32_t *table;
};

/* Adds a copy of the name, unless the set has the name already. Ends the program if there
 * is no memory.
 */
void rn_hunt_add(struct rn_hunt_set *set, const char *name);
bool rn_hunt_has(const struct rn_hunt_set *set, const char *name);
void rn_hunt_clear(struct rn_hunt_set *set);

/* Reads a file, and adds the rest of each line whose first word is @word to the set.
 * Returns 0 or -errno.
 */
int rn_hunt_read(struct rn_hunt_set *set, const char *path, const char *word);

/* Writes a line "late NAME" for each name to a file. @head: lines that come before these;
 * NULL: none. Returns 0 or -errno.
 */
int rn_hunt_write(const struct rn_hunt_set *set, const char *path, const char *head);

/* ------------------------------------------------------ runs of the program (run.c) */
struct rn_hunt {
	char **program;
	const char *checker; /* shell command; NULL: the exit status decides */
	double limit;	     /* time limit of one run in seconds */
	/* time in seconds after which the search tries no further schedule; 0: no limit
	 */
	double budget;
	char folder[PATH_MAX - 64]; /* directory for the files of the runs */
	unsigned runs;		    /* number of runs so far */
	char how[160]; /* rn_hunt_end.how of the newest run that went wrong */
	rn_ns began;
	struct rn_progress progress;
};

/* The result of a run. */
struct rn_hunt_end {
	bool is_wrong;
	char how[160]; /* how the program ended, such as "ends with status 1" */
	/* From the record of the run: the names of the writes that were late, and of
	 * those that reached their memory at once.
	 */
	struct rn_hunt_set late, landed;
};

/* Creates the directory for the files of the runs. Returns 0 or -errno. */
int rn_hunt_begin(struct rn_hunt *h);
/* Removes the directory that rn_hunt_begin() has created. */
void rn_hunt_finish(struct rn_hunt *h);

/* Removes the progress line from the screen. */
void rn_hunt_erase(struct rn_hunt *h);

/* Returns the number of the signal that has asked this program to end, or 0. */
int rn_hunt_stopped(void);

/* Runs the program once with the schedule @late; NULL: all writes are late. Fills in
 * @end, which the caller must free by rn_hunt_end_clear(). Returns 0; -EINTR if a signal
 * has ended the hunt; or -errno if the program could not be run.
 */
int rn_hunt_run(struct rn_hunt *h, const struct rn_hunt_set *late,
		struct rn_hunt_end *end);
void rn_hunt_end_clear(struct rn_hunt_end *end);

/* Writes the path of a file of the newest run to @path, and returns @path. @name says
 * which file: "log" (the sanitizer's reports), "record" or "output".
 */
const char *rn_hunt_path(const struct rn_hunt *h, const char *name, char *path);

/* ------------------------------------------------- search for a schedule (search.c) */
/* Searches for a schedule (set of late writes) with which the program goes wrong. Runs
 * the program with all writes late, with no write late, and then with random subsets of
 * late writes, which follow from @seed. Makes at most @runs runs in total, or as many as
 * rn_hunt.budget allows. Returns 1 with the schedule in @found; 0 if the program has
 * never gone wrong; or -errno.
 */
int rn_hunt_search(struct rn_hunt *h, unsigned runs, uint64_t seed,
		   struct rn_hunt_set *found);

/* Removes writes from the schedule @set if the program also goes wrong without them, in
 * each of two runs. Returns 1; 0 if the program does not go wrong with @set itself; or
 * -errno.
 */
int rn_hunt_shrink(struct rn_hunt *h, struct rn_hunt_set *set);

#endif /* RN_HUNT_H */
