/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - the results of `rocin litmus`, for output as text, JSON and HTML.
 *
 * 	report -> test -> run (one set of knobs) -> final states, verdicts
 *
 * A back end fills in the runs by the functions below. If there is no memory, these
 * functions end the process. cmd_litmus.c owns all memory and frees it at the end.
 */
#ifndef RN_LITMUS_REPORT_H
#define RN_LITMUS_REPORT_H

#include <stdio.h>

#include "sim/litmus/litmus.h"

/* A final state of a test (values of locations and registers) that has occurred. */
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
	/* The results of the runs agree with the verdict in the test file. */
	RN_REPORT_OK,
	RN_REPORT_FORBIDDEN_SEEN, /* a forbidden state occurred */
	/* an allowed state cannot occur: the explorer has tried all schedules */
	RN_REPORT_UNREACHABLE,
	/* An allowed state has not occurred. This is no error, because this back end does
	 * not try all schedules.
	 */
	RN_REPORT_UNSEEN,
	/* The explorer has stopped at its limit, so it is not known whether the state can
	 * occur.
	 */
	RN_REPORT_CUT,
	RN_REPORT_SKIPPED, /* this back end cannot run the test; `why' has the reason */
	RN_REPORT_STATUS_COUNT,
};

/* A verdict of the test file (a condition, and whether it is allowed) that applies to the
 * knobs of this run.
 */
struct rn_report_verdict {
	/* the verdict, which is a part of the test */
	const struct rn_litmus_verdict *verdict;
	enum rn_report_status status;
	/* number of runs (explorer: of states) in which the condition held */
	uint64_t seen;
	/* index of the first state in which the condition held; SIZE_MAX: none */
	size_t state;
};

/* The result of one test under one set of knobs (PCIe settings). */
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
 * If this is the first time that the state occurs, member @steps of the entry is NULL,
 * and the caller may set it.
 */
struct rn_report_state *rn_report_add_state(const struct rn_litmus_test *t,
					    struct rn_report_run *run,
					    const struct rn_litmus_outcome *outcome,
					    uint64_t seed);

/* Stores a copy of @steps in @state. */
void rn_report_set_steps(struct rn_report_state *state,
			 const struct rn_litmus_step *steps, size_t count);

/* Compares the final states of the run with its verdicts, and sets the status of each
 * verdict. @why: the reason why the run was skipped; NULL if it was not.
 */
void rn_report_judge(struct rn_report_run *run, const char *why);

/* ---- Back ends ---- */

struct rn_litmus_options {
	const char *backend;
	/* Number of runs for each test and set of PCIe settings (knobs). For the
	 * explorer: maximum number of states.
	 */
	uint64_t runs;
	uint64_t seed;
	/* collect the steps of every final state, not only of unexpected ones */
	bool witness;
	unsigned budget_s; /* time limit in seconds; 0: none */
	const char
		/* For the back end `live': name of the state file, which has the results
		 * of earlier calls and gets those of this call; or NULL.
		 */
		*state_file;
	bool processes; /* for the back end `live': each node has a process of its own */
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

/* Runs nothing: prints the test and its knobs as facts of answer-set programming
 * (facts.c).
 */
int rn_litmus_facts_run(const struct rn_litmus_options *o,
			const struct rn_report_test *test, struct rn_report_run *run);

int rn_litmus_live_run(const struct rn_litmus_options *o,
		       const struct rn_report_test *test, struct rn_report_run *run);

/* ---- Output ---- */

/* A rule of memory ordering that tests may name. rn_litmus_find_rule() returns NULL if
 * there is no rule with the name.
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

/* A stale load: a load of a test's thread that has read old bytes although a newer write
 * had been issued.
 */
struct rn_html_stale {
	size_t step;	/* index of the load among the steps */
	uint16_t tlp;	/* number of the TLP by which the newer write travelled */
	uint16_t where; /* queue in which this TLP was; RN_LIST_COUNT: in none yet */
};

/* Finds the first stale load among the steps that led to the final state @s, and fills in
 * @stale. Returns false if there is none.
 */
bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale);

/* Draws the steps that led to the final state @s as a picture, with a lane for each agent
 * and queue. Time runs downward. @s->steps must not be NULL.
 */
void rn_html_picture(FILE *to, const struct rn_litmus_test *t,
		     const struct rn_report_state *s);

/* -------------------------------------------------------------------- the state file */
/* The state file: the results of litmus runs, so that a later call can continue.
 *
 * It is text: a line "run DIGEST RUNS NAME", and a line "state COUNT SEED ABSENT
 * VALUE..." for each final state. Results are appended; of several records with one
 * digest, the last one is valid.
 */

struct rn_litmus_memory;

/* Reads the state file. A file that does not exist counts as empty. Returns NULL with
 * errno if it cannot be read.
 */
struct rn_litmus_memory *rn_litmus_memory_open(const char *path);
void rn_litmus_memory_close(struct rn_litmus_memory *m);

/* Returns the number under which the state file stores the results of a test: a hash of
 * the test, its PCIe settings (knobs), the back end and the seed.
 */
uint64_t rn_litmus_digest(const struct rn_litmus_options *o,
			  const struct rn_litmus_test *t,
			  const struct rn_report_run *run);

/* Adds the results that the state file has for a test to @run. @digest: that of the test
 * and its settings, from rn_litmus_digest(). Returns the number of runs of those results.
 */
uint64_t rn_litmus_recall(const struct rn_litmus_memory *m, uint64_t digest,
			  const struct rn_litmus_test *t, struct rn_report_run *run);

/* Appends the results of @run to the state file. Returns 0 or -errno. */
int rn_litmus_remember(struct rn_litmus_memory *m, uint64_t digest,
		       const struct rn_litmus_test *t, const struct rn_report_run *run);

#endif /* RN_LITMUS_REPORT_H */
