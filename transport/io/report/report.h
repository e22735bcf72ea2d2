/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - writes the findings of checks of a program: as text, as JSON and as JUnit.
 *
 * A report is a head line, lines "  LABEL       TEXT" with continuations below TEXT, and
 * stacks, each a line "  stack       WHAT" and the frames. All outputs are made of that
 * text. The frames are written with functions and lines, if they can be found.
 *
 * A writer is used by one thread at a time. It allocates nothing, so that it may be used
 * in a signal handler; its files are complete after each finding.
 */
#ifndef RN_REPORT_H
#define RN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "suppress.h"

enum {
	/* longest text of a finding in bytes, before functions and lines are added */
	RN_REPORT_TEXT = 8192,
	RN_REPORT_PATH = 256,
	RN_REPORT_EXIT_CODE = 66, /* exit code if the user gives none */
};

/* Where reports go, and what happens after a finding. A user sets them by the words
 * exitcode=N, log=FILE, json=FILE, junit=FILE, suppress=FILE, symbolize=off, summary,
 * break. In names of files %p is replaced by the process id.
 */
struct rn_report_options {
	char log[RN_REPORT_PATH]; /* empty: standard error */
	char json[RN_REPORT_PATH], junit[RN_REPORT_PATH], suppress[RN_REPORT_PATH];
	/* addresses in stacks are not turned into functions and lines */
	bool is_raw;
	bool has_summary; /* the summary is written even if nothing was found */
	bool is_breaking; /* the first finding raises SIGTRAP */
	/* Exit code of a program with findings, 1 .. 255; 0: the program's own. */
	int exit_code;
};

#define RN_REPORT_WORDS                                                     \
	"exitcode=0..255, log=FILE, json=FILE, junit=FILE, suppress=FILE, " \
	"summary, symbolize=off, break"

/* Applies a word of a setting. Returns false if the word is none of RN_REPORT_WORDS. */
bool rn_report_option(struct rn_report_options *o, const char *word);

struct rn_report_finding {
	const char *rule;     /* such as "life/destroy-order" */
	const char *severity; /* such as "error" */
	const char *what;     /* one sentence */
	/* the lines and stacks of the report */
	const char *body;
	/* number of the stack (stacks.h) of the call that the finding is about, which
	 * suppressions may name; 0: there is none
	 */
	uint32_t stack;
};

struct rn_report {
	struct rn_report_options options;
	struct rn_suppress suppress;
	/* environment variable that the options come from, for error messages */
	const char *setting;
	const char *suite; /* name of the JUnit test suite */
	int log_fd, json_fd, junit_fd;
	/* offset in the JUnit file at which the next finding is written */
	off_t junit_end;
	pid_t process;
	/* the user has been told that source lines cannot be found */
	bool is_told;
	/* numbers of reports that were written, and that were suppressed */
	unsigned count, suppressed;
	size_t used;
	char text[RN_REPORT_TEXT], named[4 * RN_REPORT_TEXT];
	char escaped[8 * RN_REPORT_TEXT];
};

/* Opens the files that @r->options names. The caller has set @r->options, @r->setting and
 * @r->suite before. If a file cannot be opened, that is said on standard error, and the
 * writer goes on without it. @rules: as for rn_suppress_read().
 */
void rn_report_open(struct rn_report *r, const struct rn_rule_names *rules);

/* Writes a finding to all outputs. Returns true; false if the finding is suppressed: then
 * only the JUnit file gets it, as skipped.
 */
bool rn_report_write(struct rn_report *r, const struct rn_report_finding *f);

/* Adds text to the log only. rn_report_flush() writes what was added. */
void rn_report_add(struct rn_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rn_report_flush(struct rn_report *r);

/* Totals of a run. A finding may occur many times. */
struct rn_report_counts {
	unsigned long long findings, occurrences;
	unsigned long long suppressed, suppressed_occurrences;
};

/* Writes the summary of a run, and ends the files. @is_said: the log gets the summary,
 * too: "N findings (M occurrences) in PROGRAM, process PID", and the number of
 * suppressed findings, if there were any.
 */
void rn_report_summary(struct rn_report *r, const struct rn_report_counts *c,
		       bool is_said);

/* ---- Bodies of findings ---- */
struct rn_report_body {
	size_t used;
	char text[RN_REPORT_TEXT];
};

/* Adds a line. @text may contain newlines; its second and later lines are indented. */
void rn_report_line(struct rn_report_body *b, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds the stack with the number @stack (stacks.h). Adds nothing if @stack is 0. */
void rn_report_stack(struct rn_report_body *b, const char *what, uint32_t stack);

#endif /* RN_REPORT_H */
