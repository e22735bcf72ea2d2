/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - the results of `rocin litmus`, for output as text, JSON and HTML.
 *
 *	report -> test -> run (one set of knobs) -> final states, verdicts
 *
 * A back end fills runs, with the functions below, which end the process if there is no
 * memory. cmd_litmus.c owns all memory and frees it at the end.
 */
#ifndef RN_LITMUS_REPORT_H
#define RN_LITMUS_REPORT_H

#include <stdio.h>

#include "sim/litmus/litmus.h"

/* A final state that occurred. */
struct rn_report_state {
	struct rn_litmus_outcome outcome;
	uint64_t count; /* number of runs with this final state; explorer: 1 */
	uint64_t seed;	/* seed of the first run with this final state; explorer: 0 */
	/* The steps that led to it, in the order of time; NULL: unknown. */
	struct rn_litmus_step *steps;
	size_t step_count;
};

enum rn_report_status {
	/* The outcome is as the verdict in the test file says. */
	RN_REPORT_OK,
	RN_REPORT_FORBIDDEN_SEEN, /* a forbidden state occurred */
	RN_REPORT_UNREACHABLE,	  /* explorer, complete: an allowed state cannot occur */
	/* Allowed, but did not occur: lack of coverage, no error. */
	RN_REPORT_UNSEEN,
	/* The explorer stopped at its limit, so the answer is unknown. */
	RN_REPORT_CUT,
	RN_REPORT_SKIPPED, /* this back end cannot run the test: see `why' */
	RN_REPORT_STATUS_COUNT,
};

/* A verdict of the file that is about the knobs of this run. */
struct rn_report_verdict {
	const struct rn_litmus_verdict *verdict; /* points into the test */
	enum rn_report_status status;
	uint64_t seen; /* number of runs (explorer: states) in which the condition held */
	size_t state;  /* index of the first state in which it held; SIZE_MAX: none */
};

/* One test under one set of knobs. */
struct rn_report_run {
	struct rn_litmus_setup setup;
	char knobs[128]; /* the knobs as text, with relaxed= */
	uint64_t runs;	 /* number of runs; explorer: 0 */
	uint64_t states; /* explorer: states visited; else 0 */
	bool complete;	 /* explorer: all schedules were explored */
	uint64_t seed;	 /* seed of the first run */
	double seconds;
	/* One sentence if the run was skipped or stopped at a limit; else "". */
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
	const char *backend; /* "explore", "model", "live", "hw" */
	uint64_t seed;
	struct rn_report_test **test;
	size_t test_count;
};

/* ---- Filling ---- */

/* Counts a final state. Returns its entry, valid until the next call; a new entry has
 * steps == NULL.
 */
struct rn_report_state *rn_report_add_state(const struct rn_litmus_test *t,
					    struct rn_report_run *run,
					    const struct rn_litmus_outcome *outcome,
					    uint64_t seed);

/* Copies @steps into @state. */
void rn_report_set_steps(struct rn_report_state *state,
			 const struct rn_litmus_step *steps, size_t count);

/* Judges all verdicts of the run by its states. If @why is not NULL the run was skipped.
 */
void rn_report_judge(struct rn_report_run *run, const char *why);

/* ---- Back ends ---- */

struct rn_litmus_options {
	const char *backend;
	uint64_t runs; /* per test and set of knobs; explorer: maximum number of states */
	uint64_t seed;
	bool witness;	   /* collect steps of every state, not only of unexpected ones */
	unsigned budget_s; /* time limit in seconds; 0: none */
	const char
		/* Live: file with results of earlier calls, to go on from; or NULL. */
		*state_file;
	bool processes; /* live: one process per node */
};

/**
 * rn_litmus_back_end - Run one test under one set of knobs
 * @run:	setup, knobs and verdict[].verdict are set; the back end adds states,
 *	runs, states, complete, seed and seconds, and calls rn_report_judge()
 *
 * Called from one thread, with the tests of a file in order.
 *
 * Return: 0, or -errno, after an error message, if the back end cannot work at all.
 */
typedef int (*rn_litmus_back_end)(const struct rn_litmus_options *o,
				  const struct rn_report_test *test,
				  struct rn_report_run *run);

int rn_litmus_explore_run(const struct rn_litmus_options *o,
			  const struct rn_report_test *test, struct rn_report_run *run);
int rn_litmus_model_run(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run);

int rn_litmus_live_run(const struct rn_litmus_options *o,
		       const struct rn_report_test *test, struct rn_report_run *run);

/* ---- Output ---- */

/* A rule such as "GV1", and a remedy. rn_litmus_find_rule() returns NULL for an unknown
 * name.
 */
struct rn_litmus_rule {
	const char *name;   /* name of the rule, such as "GV1" */
	const char *says;   /* what the rule says, in one sentence */
	const char *remedy; /* what a program must do, in one sentence */
};
const struct rn_litmus_rule *rn_litmus_find_rule(const char *name, size_t len);

/* Text for a status, such as "ok" or "FORBIDDEN". */
const char *rn_report_status_name(enum rn_report_status status);

bool rn_report_is_failure(enum rn_report_status status);

void rn_report_text(const struct rn_report *r, FILE *to, bool witness);
int rn_report_json(const struct rn_report *r, FILE *to, bool witness);

/* Writes an HTML page, which is also well-formed XML and needs no scripts and no other
 * files.
 */
int rn_report_html(const struct rn_report *r, FILE *to);

/* A stale load: newer bytes were on their way when it read. */
struct rn_html_stale {
	size_t step;	/* index of the load among the steps */
	uint16_t tlp;	/* number of the write that was still on its way */
	uint16_t where; /* queue that the write was in; RN_LIST_COUNT: none yet */
};

/* Finds the first stale load of a state. */
bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale);

/* Draws the steps of a state: lanes for agents and queues, time downward. @s->steps must
 * exist.
 */
void rn_html_picture(FILE *to, const struct rn_litmus_test *t,
		     const struct rn_report_state *s);

/* -------------------------------------------------------------------- the state file */
/* A file with the results of litmus runs, so that a later call can go on from there.
 *
 * It is text: a line "run DIGEST RUNS NAME", and a line "state COUNT SEED ABSENT
 * VALUE..." for each final state. Records are appended; the last one with a digest is
 * valid.
 */

struct rn_litmus_memory;

/* Reads the file; an absent file counts as empty. NULL with errno on failure. */
struct rn_litmus_memory *rn_litmus_memory_open(const char *path);
void rn_litmus_memory_close(struct rn_litmus_memory *m);

/* A hash of test, knobs, back end and seed. */
uint64_t rn_litmus_digest(const struct rn_litmus_options *o,
			  const struct rn_litmus_test *t,
			  const struct rn_report_run *run);

/* Adds the results in the file to @run. Returns the number of runs. */
uint64_t rn_litmus_recall(const struct rn_litmus_memory *m, uint64_t digest,
			  const struct rn_litmus_test *t, struct rn_report_run *run);

/* Appends the results of @run. Returns 0 or -errno. */
int rn_litmus_remember(struct rn_litmus_memory *m, uint64_t digest,
		       const struct rn_litmus_test *t, const struct rn_report_run *run);

#endif /* RN_LITMUS_REPORT_H */
