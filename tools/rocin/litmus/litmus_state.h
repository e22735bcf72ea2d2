/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_state.h - a file that remembers what runs of litmus tests have ended in, so that
 * a later call goes on where this one stopped.
 *
 * Text: a line "run DIGEST RUNS NAME" and a line "state COUNT SEED ABSENT VALUE..." per
 * final state. Records are appended; the last one with a digest counts.
 */
#ifndef RN_LITMUS_STATE_H
#define RN_LITMUS_STATE_H

#include "litmus_report.h"

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

#endif /* RN_LITMUS_STATE_H */
