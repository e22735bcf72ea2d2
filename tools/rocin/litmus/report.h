/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - the results of `rocin litmus`, for output as text, JSON and HTML.
 *
 * 	report -> test -> run (one set of knobs) -> final states, verdicts
 *
 * A back end fills in the runs by means of the functions below, which end the process if
 * there is no memory. cmd_litmus.c owns all memory and frees it at the end.
 */
#ifndef RN_LITMUS_REPORT_H
#define RN_LITMUS_REPORT_H

#include <stdio.h>

#include "sim/litmus/litmus.h"

/* A final state that has occurred. */
struct rn_report_state {
	struct rn_litmus_outcome outcome;
	uint64_t count; /* number of runs with this final state; explorer: always 1 */
	/* seed of the first run with this final state; explorer: always 0 */
	uint64_t seed;
	/* The steps that led to this state, ordered by time; NULL: unknown. */
	struct rn_litmus_step *steps;
	size_t step_count;
};

enum rn_report_status {
	/* The outcome agrees with the verdict in the test file. */
	RN_REPORT_OK,
	RN_REPORT_FORBIDDEN_SEEN, /* a forbidden state occurred */
	/* an allowed state cannot occur, as the explorer has tried all schedules */
	RN_REPORT_UNREACHABLE,
	/* An allowed state has not occurred. That is no error, because not everything was
	 * tried.
	 */
	RN_REPORT_UNSEEN,
	/* The explorer has stopped at its limit, so it is not known whether the state can
	 * occur.
	 */
	RN_REPORT_CUT,
	RN_REPORT_SKIPPED, /* this back end cannot run the test; `why' has the reason */
	RN_REPORT_STATUS_COUNT,
};

/* A verdict in the test file that applies to the knobs of this run. */
struct rn_report_verdict {
	/* the verdict, which is a part of the test */
	const struct rn_litmus_verdict *verdict;
	enum rn_report_status status;
	/* number of runs (explorer: of states) in which the condition held */
	uint64_t seen;
	/* index of the first state in which the condition held; SIZE_MAX: none */
	size_t state;
};

/* One test under one set of knobs. */
struct rn_report_run {
	struct rn_litmus_setup setup;
	char knobs[128]; /* the knobs as text, as for --knobs */
	uint64_t runs;	 /* number of runs that were made; explorer: always 0 */
	uint64_t states; /* explorer: number of states that were visited; otherwise 0 */
	bool complete;	 /* explorer: all schedules have been explored */
	uint64_t seed;	 /* seed of the first run */
	double seconds;
	/* Reason why the run was skipped or stopped at a limit; otherwise "". */
	char why[160];
	struct rn_report_state *state;
	size_t state_count;
	struct rn_report_verdict *verdict;
	size_t verdict_count;
};

struct rn_report_test {
	char *file;
	struct rn_litmus_test test;
	struct rn_report_run *run;
	size_t run_count;
};

struct rn_report {
	/* name of the back end: "explore", "model", "live" or "hw" */
	const char *backend;
	uint64_t seed;
	struct rn_report_test **test;
	size_t test_count;
};

/* ---- Filling in a run ---- */

/* Counts a final state of the run. Returns its entry, which is valid until the next call.
 * If the entry is new, its member @steps is NULL, and the caller may set it.
 */
struct rn_report_state *rn_report_add_state(const struct rn_litmus_test *t,
					    struct rn_report_run *run,
					    const struct rn_litmus_outcome *outcome,
					    uint64_t seed);

/* Stores a copy of @steps in @state. */
void rn_report_set_steps(struct rn_report_state *state,
			 const struct rn_litmus_step *steps, size_t count);

/* Sets the status of all verdicts of the run, as its final states demand. @why: the
 * reason why the run was skipped; NULL: it was not.
 */
void rn_report_judge(struct rn_report_run *run, const char *why);

/* ---- Back ends ---- */

struct rn_litmus_options {
	const char *backend;
	/* Number of runs for each test and set of knobs. For the explorer: maximum number
	 * of states.
	 */
	uint64_t runs;
	uint64_t seed;
	/* collect the steps of every final state, not only of unexpected ones */
	bool witness;
	unsigned budget_s; /* time limit in seconds; 0: none */
	const char
		/* For the back end `live': name of a file with results of earlier calls,
		 * to which the results of this call are added; or NULL.
		 */
		*state_file;
	bool processes; /* live: each node has a process of its own */
};

/**
 * rn_litmus_back_end - Run one test under one set of knobs
 * @run:	the caller sets setup, knobs and verdict[].verdict; the back end adds
 *		final states, runs, states, complete, seed and seconds, and calls
 *		rn_report_judge()
 *
 * Called from one thread, with the tests of a file in order.
 *
 * Return: 0, or -errno after an error message if the back end cannot work at all.
 */
typedef int (*rn_litmus_back_end)(const struct rn_litmus_options *o,
				  const struct rn_report_test *test,
				  struct rn_report_run *run);

int rn_litmus_explore_run(const struct rn_litmus_options *o,
			  const struct rn_report_test *test, struct rn_report_run *run);
int rn_litmus_model_run(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run);

/* Runs nothing: prints the test and its knobs as facts for the axioms (facts.c). */
int rn_litmus_facts_run(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run);

int rn_litmus_live_run(const struct rn_litmus_options *o,
		       const struct rn_report_test *test, struct rn_report_run *run);

/* ---- Output ---- */

/* A rule such as "GV1", and a remedy. rn_litmus_find_rule() returns NULL if no rule has
 * the name.
 */
struct rn_litmus_rule {
	const char *name;   /* name of the rule, such as "GV1" */
	const char *says;   /* the statement of the rule in one sentence */
	const char *remedy; /* what a program has to do about it, in one sentence */
};
const struct rn_litmus_rule *rn_litmus_find_rule(const char *name, size_t len);

/* Returns the text of a status, such as "ok" or "FORBIDDEN". */
const char *rn_report_status_name(enum rn_report_status status);

bool rn_report_is_failure(enum rn_report_status status);

void rn_report_text(const struct rn_report *r, FILE *to, bool witness);
int rn_report_json(const struct rn_report *r, FILE *to, bool witness);

/* Writes the report as an HTML page. The page is also well-formed XML, and needs no
 * scripts and no other files.
 */
int rn_report_html(const struct rn_report *r, FILE *to);

/* A stale load: a load that has read old bytes although a newer write had been issued. */
struct rn_html_stale {
	size_t step;	/* index of the load among the steps */
	uint16_t tlp;	/* number of the TLP of the write that had not arrived yet */
	uint16_t where; /* queue in which the write was; RN_LIST_COUNT: none yet */
};

/* Finds the first stale load among the steps of a state, and fills in @stale. Returns
 * false if there is none.
 */
bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale);

/* Draws the steps of a state as a picture, with a lane for each agent and queue. Time
 * runs downward. The caller must make sure that @s->steps is not NULL.
 */
void rn_html_picture(FILE *to, const struct rn_litmus_test *t,
		     const struct rn_report_state *s);

/* -------------------------------------------------------------------- the state file */
/* The state file: the results of litmus runs, so that a later call can continue.
 *
 * It is text: a line "run DIGEST RUNS NAME", and a line "state COUNT SEED ABSENT
 * VALUE..." for each final state. Records are appended; the last one with a digest
 * is valid.
 */

struct rn_litmus_memory;

/* Reads the state file. A file that does not exist counts as empty. Returns NULL with
 * errno if it cannot be read.
 */
struct rn_litmus_memory *rn_litmus_memory_open(const char *path);
void rn_litmus_memory_close(struct rn_litmus_memory *m);

/* Returns a hash of test, knobs, back end and seed. */
uint64_t rn_litmus_digest(const struct rn_litmus_options *o,
			  const struct rn_litmus_test *t,
			  const struct rn_report_run *run);

/* Adds the results that the state file has for @digest to @run. Returns the number of
 * their runs. @digest identifies a test and its knobs.
 */
uint64_t rn_litmus_recall(const struct rn_litmus_memory *m, uint64_t digest,
			  const struct rn_litmus_test *t, struct rn_report_run *run);

/* Appends the results of @run to the file. Returns 0 or -errno. */
int rn_litmus_remember(struct rn_litmus_memory *m, uint64_t digest,
		       const struct rn_litmus_test *t, const struct rn_report_run *run);

#endif /* RN_LITMUS_REPORT_H */
