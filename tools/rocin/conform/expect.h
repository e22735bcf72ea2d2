/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* expect.h - signatures, by which failures with the same cause are recognised, and
 * profiles, which list the known deviations of a device.
 *
 * A profile is a text file. A line is a word and a text; '#' begins a comment.
 *
 *	deviation NAME		begins a deviation; the lines below are about it
 *	says SENTENCE		what the device does
 *	rule SENTENCE		what it should do, according to which section
 *	source SENTENCE		where the device's source does it
 *	fails FILE SIGNATURE	a scenario that fails because of it, and how it fails
 *
 * FILE is GROUP/NAME.scn; FILE and SIGNATURE are patterns of fnmatch(3).
 */
#ifndef RN_CONFORM_EXPECT_H
#define RN_CONFORM_EXPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/scenario/scene.h"

enum {
	RN_CONFORM_SIGNATURE = 200, /* maximum size of a signature in bytes */
};

/* Writes the signature of a failure to @buf: its text, the event that has come, and the
 * one that was expected, all without numbers and times. If one defect of the device makes
 * several scenarios fail, their signatures are usually equal.
 */
void rn_conform_signature(const struct rn_scene_result *r, char *buf, size_t size);

/* Returns the last two parts of a path: GROUP/NAME.scn. */
const char *rn_conform_short_name(const char *path);

struct rn_expect_deviation {
	char *name, *says, *rule, *source;
	/* number of scenarios that failed because of this deviation */
	unsigned scenarios;
};

struct rn_expect_failure {
	size_t deviation;
	char *file, *signature;
	/* @was_run: a scenario to which this line of the profile applies was run.
	 * @was_seen: one of them has failed as the line says.
	 */
	bool was_run, was_seen;
};

struct rn_expect {
	struct rn_expect_deviation *deviation;
	struct rn_expect_failure *failure;
	size_t deviations, failures;
};

enum {
	RN_EXPECT_NONE = -1
};

/* Reads a profile, a file that lists the known deviations of a device. Returns 0, or
 * -errno after an error message.
 */
int rn_expect_read(struct rn_expect *e, const char *path);

/* Called after the scenario in @file was run. @signature: that of its failure; NULL: it
 * has passed. Returns the index of the deviation in the profile that explains the
 * failure, or RN_EXPECT_NONE.
 */
int rn_expect_note(struct rn_expect *e, const char *file, const char *signature);

/* Returns true if scenarios to which this line of the profile applies were run, and none
 * of them has failed in this way. The device was probably repaired.
 */
bool rn_expect_is_repaired(const struct rn_expect_failure *f);

void rn_expect_free(struct rn_expect *e);

#endif /* RN_CONFORM_EXPECT_H */
