/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* suppress.h - reads the file that lists the findings that are not to be reported.
 *
 * Each line is a rule, and optionally patterns as of glob(7) for a function and a module
 * of the stack of the call; a "#" begins a comment:
 *
 *	life/leak-at-exit
 *	state/attr-missing	connect_*
 *	queues/nothing-signaled	*	libucx*.so*
 *
 * The rule may be a pattern, too, such as "performance/ *" without the blank.
 */
#ifndef RN_SUPPRESS_H
#define RN_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RN_SUPPRESS_MAX = 128, /* maximum number of lines in the file */
	RN_SUPPRESS_WORD = 96, /* bytes of a word, with the final 0 */
};

struct rn_suppress {
	unsigned count;
	struct {
		char rule[RN_SUPPRESS_WORD];
		char function[RN_SUPPRESS_WORD], module[RN_SUPPRESS_WORD];
	} line[RN_SUPPRESS_MAX];
};

/* The names of all rules. */
struct rn_rule_names {
	const char *(*name)(const void *arg, size_t i);
	const void *arg;
	size_t count;
};

/**
 * rn_suppress_read() - Read a suppression file
 * @s:		Out
 * @rules:	Rules that a line may name; NULL: any
 * @err:	Out on failure: error text, which names the file and line, and suggests
 *		the most similar name for an unknown rule
 *
 * Return: 0 or -errno.
 */
int rn_suppress_read(struct rn_suppress *s, const char *path,
		     const struct rn_rule_names *rules, char *err, size_t err_len);

/* Return: true if the file suppresses a finding of @rule whose stack has a frame of
 * @function in @module. For callers that know the names of functions without a dynamic
 * symbol, from debug information.
 */
bool rn_suppress_has_frame(const struct rn_suppress *s, const char *rule,
			   const char *function, const char *module);

/* Return: true if the file suppresses a finding of @rule with this stack, so that it is
 * not to be reported.
 */
bool rn_suppress_has(const struct rn_suppress *s, const char *rule, uint32_t stack);

#endif /* RN_SUPPRESS_H */
