/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.h - the results of `rocin conform' (conformance scenarios), and the reports of
 * them.
 */
#ifndef RN_CONFORM_REPORT_H
#define RN_CONFORM_REPORT_H

#include <stdio.h>

#include "expect.h"
#include "sim/scenario/scene.h"

/* A scenario, and its result. */
struct rn_conform_case {
	char *file;
	char title[160];
	char rule[RN_SCN_RULES][RN_SCN_NAME];
	unsigned rules;
	struct rn_scene_result result;
	double seconds; /* duration of the run in seconds */
	/* For a scenario that has failed: the signature of the failure; the index of the
	 * deviation in the profile that explains it, or RN_EXPECT_NONE; and the trace of
	 * the packets in both directions (NULL in virtual time).
	 */
	char signature[RN_CONFORM_SIGNATURE];
	int deviation;
	char *trace;
};

struct rn_live_target;

struct rn_conform {
	struct rn_conform_case *run;
	/* Numbers of scenarios. @count: all that were run. Of these, @failed have failed
	 * unexpectedly, @expected have failed in a way that the profile lists, @skipped
	 * were skipped, and @slowly have passed only with slower timers.
	 */
	size_t count, failed, expected, skipped, slowly;
	double seconds;
	bool progress; /* report each scenario when it has run */
	/* The files to run. */
	char **file;
	size_t files;
	/* live target; NULL: the scenarios run in virtual time */
	struct rn_live_target *live;
	/* address of the live target; NULL: none */
	const char *target;
	struct rn_expect expect;
	/* name of the profile (known deviations of a device); NULL: none was given */
	const char *profile;
	/* Names of the rules in the list of rules that the user has given. NULL: no list
	 * was given.
	 */
	char **rule;
	size_t rule_count;
};

/* Returns true if the scenario has failed, whether or not the profile expects that. */
static inline bool rn_conform_has_failed(const struct rn_conform_case *k)
{
	return !k->result.passed && !k->result.skipped;
}

/* Returns true if case @i is the first one with its signature, so that it begins a
 * finding (a group of failures with one signature). Sets *@count to the number of cases
 * in the group.
 */
bool rn_conform_is_finding(const struct rn_conform *c, size_t i, size_t *count);

/* Prints the failures, grouped into findings; totals; and the rules that no scenario
 * covers. @all: also prints each scenario.
 */
void rn_conform_print_text(const struct rn_conform *c, FILE *to, bool all);

/* Prints an element of the list of scenarios: name, rules and title. It is a line of
 * text, or an element of a JSON array; the caller must print the "]" at the end. Returns
 * 0 or -errno.
 */
int rn_conform_print_listed(const struct rn_scenario *s, const char *name, bool is_first,
			    bool as_json, FILE *to);

/* Prints the results as JSON. Returns 0, or -1 if there is no memory or @to cannot be
 * written.
 */
int rn_conform_print_json(const struct rn_conform *c, FILE *to);

/* Prints @cases, a struct rn_conform, as JUnit XML. Returns 0 or -EIO. */
int rn_conform_print_junit(FILE *to, const void *cases);

/* Prints @cases, a struct rn_conform, as a page of HTML. Returns 0 or -EIO. */
int rn_conform_print_html(FILE *to, const void *cases);

/* Prints the deviations of the device from the specification as Markdown, for its
 * developers: each deviation in the profile, and each other finding, with its packets and
 * the way to reproduce it. Returns 0 or -EIO.
 */
int rn_conform_print_markdown(FILE *to, const void *cases);

#endif /* RN_CONFORM_REPORT_H */
