/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - what `rocin litmus` has found, for text, JSON and HTML.
 *
 *	report -> test -> run (one set of knobs) -> final states, verdicts
 *
 * A back end fills runs; cmd_litmus.c owns all memory and frees it at the end. A back end
 * adds with the functions below, which end the process when memory runs out.
 */
#ifndef RN_LITMUS_REPORT_H
#define RN_LITMUS_REPORT_H

#include <stdio.h>

#include "sim/litmus/litmus.h"

/* A final state that was seen. */
struct rn_report_state {
	struct rn_litmus_outcome outcome;
	uint64_t count; /* runs that ended so; explorer: 1 */
	uint64_t seed;	/* of the first run that ended so; explorer: 0 */
	/* How it came about, in order of time; NULL if not known. */
	struct rn_litmus_step *steps;
	size_t step_count;
};

enum rn_report_status {
	RN_REPORT_OK,		  /* as expected */
	RN_REPORT_FORBIDDEN_SEEN, /* a state that must not occur did */
	RN_REPORT_UNREACHABLE, /* explorer, complete: an allowed state does not occur */
	RN_REPORT_UNSEEN,      /* allowed, but not seen: coverage, no error */
	RN_REPORT_CUT,	       /* explorer stopped at its bound: cannot say */
	RN_REPORT_SKIPPED,     /* cannot be observed by this back end: see `why' */
	RN_REPORT_STATUS_COUNT,
};

/* A verdict of the file that speaks of this run's knobs. */
struct rn_report_verdict {
	const struct rn_litmus_verdict *verdict; /* in the test */
	enum rn_report_status status;
	uint64_t seen; /* runs (explorer: states) in which the condition held */
	size_t state;  /* the first state in which it held; SIZE_MAX: none */
};

/* One test under one set of knobs. */
struct rn_report_run {
	struct rn_litmus_setup setup;
	char knobs[128]; /* as text, with relaxed= */
	uint64_t runs;	 /* how often it ran; explorer: 0 */
	uint64_t states; /* explorer: visited; else 0 */
	bool complete;	 /* explorer: all schedules were tried */
	uint64_t seed;	 /* of the first run */
	double seconds;
	char why[160]; /* skipped or cut: one sentence; else "" */
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

/* Count a final state; returns the state (valid until the next call), with steps == NULL
 * when it is new.
 */
struct rn_report_state *rn_report_add_state(const struct rn_litmus_test *t,
					    struct rn_report_run *run,
					    const struct rn_litmus_outcome *outcome,
					    uint64_t seed);

/* Takes a copy of @steps. */
void rn_report_set_steps(struct rn_report_state *state,
			 const struct rn_litmus_step *steps, size_t count);

/* Judge all verdicts of the run from its states. With @why nothing could be observed. */
void rn_report_judge(struct rn_report_run *run, const char *why);

/* ---- Back ends ---- */

struct rn_litmus_options {
	const char *backend;
	uint64_t runs; /* per test and set of knobs; explorer: bound of states */
	uint64_t seed;
	bool witness;	   /* collect steps of every state, not only of surprising ones */
	unsigned budget_s; /* stop after so many seconds; 0: no */
	const char
		*state_file; /* live: continue where an earlier call stopped; or NULL */
	bool processes;	     /* live: one process per node */
};

/**
 * rn_litmus_back_end - Run one test under one set of knobs
 * @run:	setup, knobs and verdict[].verdict are filled; the back end adds states,
 *		runs, states, complete, seed, seconds and calls rn_report_judge()
 *
 * Called from one thread at a time, tests of a file in order.
 *
 * Return: 0; -errno: the back end cannot work at all (it has complained already).
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

/* ---- Showing ---- */

/* What a rule says, and what to do when it bites: "GV1" -> ...; NULL if unknown. */
struct rn_litmus_rule {
	const char *name;   /* "GV1" */
	const char *says;   /* one sentence */
	const char *remedy; /* one sentence */
};
const struct rn_litmus_rule *rn_litmus_find_rule(const char *name, size_t len);

/* The wording of a status: "ok", "FORBIDDEN", ... */
const char *rn_report_status_name(enum rn_report_status status);

bool rn_report_is_failure(enum rn_report_status status);

void rn_report_text(const struct rn_report *r, FILE *to, bool witness);
int rn_report_json(const struct rn_report *r, FILE *to, bool witness);

/* The page is also well-formed XML. It needs no script and nothing from outside. */
int rn_report_html(const struct rn_report *r, FILE *to);

/* A stale look: an instruction that read bytes of which newer ones were on their way. */
struct rn_html_stale {
	size_t step;	/* the load */
	uint16_t tlp;	/* the write that it came too early for */
	uint16_t where; /* queue that the write was in; RN_LIST_COUNT: none yet */
};

/* Find the first one. A load of a value that the condition of @v asks for comes first.
 */
bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale);

/* The picture of a witness: lanes for agents and queues, time downward. @s->steps must be
 * there.
 */
void rn_html_picture(FILE *to, const struct rn_litmus_test *t,
		     const struct rn_report_state *s);

/* ------------------------------------------------------------------------ the memory */
/* A file that remembers what runs of litmus tests have ended in, so that
 * a later call goes on where this one stopped.
 *
 * Text: a line "run DIGEST RUNS NAME" and a line "state COUNT SEED ABSENT VALUE..." per
 * final state. Records are appended; the last one with a digest counts.
 */

struct rn_litmus_memory;

/* What @path holds, nothing if there is no such file. NULL with errno. */
struct rn_litmus_memory *rn_litmus_memory_open(const char *path);
void rn_litmus_memory_close(struct rn_litmus_memory *m);

/* Test, knobs, back end and seed in one number. */
uint64_t rn_litmus_digest(const struct rn_litmus_options *o,
			  const struct rn_litmus_test *t,
			  const struct rn_report_run *run);

/* Add what is remembered to @run. Return: runs. */
uint64_t rn_litmus_recall(const struct rn_litmus_memory *m, uint64_t digest,
			  const struct rn_litmus_test *t, struct rn_report_run *run);

/* Append @run. Return: 0 or -errno. */
int rn_litmus_remember(struct rn_litmus_memory *m, uint64_t digest,
		       const struct rn_litmus_test *t, const struct rn_report_run *run);

#endif /* RN_LITMUS_REPORT_H */
