/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* suppress.c - see suppress.h. */
#include "suppress.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "stacks.h"
#include "transport/io/host/log.h"

/* Returns true if the word is the name of a rule, or a pattern that matches one. */
static bool is_rule(const struct rn_rule_names *rules, const char *word)
{
	for (size_t i = 0; i < rules->count; i++)
		if (fnmatch(word, rules->name(rules->arg, i), 0) == 0)
			return true;
	return false;
}

static int take_line(struct rn_suppress *s, char *line, const struct rn_rule_names *rules,
		     char *err, size_t err_len)
{
	char rule[RN_SUPPRESS_WORD] = "", function[RN_SUPPRESS_WORD] = "*";
	char module[RN_SUPPRESS_WORD] = "*", rest[2];
	int words;

	line[strcspn(line, "#\n")] = '\0';
	words = sscanf(line, "%95s %95s %95s %1s", rule, function, module, rest);
	if (words <= 0)
		return 0;
	if (words > 3)
		return rn_fail(err, err_len, -EINVAL,
			       "a suppression is RULE [FUNCTION [MODULE]]");
	if (rules && !is_rule(rules, rule))
		return rn_fail(err, err_len, -EINVAL,
			       "there is no rule \"%s\"; the nearest is %s", rule,
			       rn_nearest(rule, rules->name, rules->arg, rules->count));
	if (s->count == RN_SUPPRESS_MAX)
		return rn_fail(err, err_len, -E2BIG, "more than %d suppressions",
			       RN_SUPPRESS_MAX);
	memcpy(s->line[s->count].rule, rule, sizeof(rule));
	memcpy(s->line[s->count].function, function, sizeof(function));
	memcpy(s->line[s->count].module, module, sizeof(module));
	s->count++;
	return 0;
}

int rn_suppress_read(struct rn_suppress *s, const char *path,
		     const struct rn_rule_names *rules, char *err, size_t err_len)
{
	FILE *f = fopen(path, "re");
	char line[512], text[256];
	int rc = 0;

	s->count = 0;
	if (!f)
		return rn_fail(err, err_len, -errno, "cannot read suppressions: %s: %s",
			       path, strerror(errno));
	for (unsigned number = 1; !rc && fgets(line, sizeof(line), f); number++) {
		rc = take_line(s, line, rules, text, sizeof(text));
		if (rc)
			rn_fail(err, err_len, rc, "%s:%u: %s", path, number, text);
	}
	fclose(f);
	return rc;
}

/* ----------------------------------- matching findings with the entries of the file */
struct wanted {
	const char *function, *module;
};

static int is_wanted_frame(void *arg, const char *function, const char *module)
{
	const struct wanted *w = arg;

	return fnmatch(w->function, function, 0) == 0 &&
	       fnmatch(w->module, module, 0) == 0;
}

bool rn_suppress_has_frame(const struct rn_suppress *s, const char *rule,
			   const char *function, const char *module)
{
	for (unsigned i = 0; i < s->count; i++) {
		struct wanted w = { s->line[i].function, s->line[i].module };

		if (fnmatch(s->line[i].rule, rule, 0) == 0 &&
		    is_wanted_frame(&w, function, module))
			return true;
	}
	return false;
}

bool rn_suppress_has(const struct rn_suppress *s, const char *rule, uint32_t stack)
{
	for (unsigned i = 0; i < s->count; i++) {
		struct wanted w = { s->line[i].function, s->line[i].module };

		if (fnmatch(s->line[i].rule, rule, 0) != 0)
			continue;
		if (strcmp(w.function, "*") == 0 && strcmp(w.module, "*") == 0)
			return true;
		if (rn_stacks_each(stack, is_wanted_frame, &w))
			return true;
	}
	return false;
}
