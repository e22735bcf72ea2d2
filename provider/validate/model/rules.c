/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rules.c - the table of rules, built from the lists in rules/, and the words that select
 * rules in options. The file depends on no other file of the library, so that tools can
 * link it.
 */
#include <string.h>

#include "provider/validate/validate.h"

#define RULE_OF(category, name, severity, text, source, remedy) \
	{ RN_VAL_OF_##category, RN_VAL_##severity, name, text, source, remedy },

static const struct rn_val_rule_info rules[RN_VAL_RULE_COUNT] = {
#define RULE(symbol, name, ...) RULE_OF(LIFE, "life/" name, __VA_ARGS__)
#include "provider/validate/rules/life.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(STATE, "state/" name, __VA_ARGS__)
#include "provider/validate/rules/state.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(QUEUES, "queues/" name, __VA_ARGS__)
#include "provider/validate/rules/queues.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(MEMORY, "memory/" name, __VA_ARGS__)
#include "provider/validate/rules/memory.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(ADDRESSING, "addressing/" name, __VA_ARGS__)
#include "provider/validate/rules/addressing.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(PORTABILITY, "portability/" name, __VA_ARGS__)
#include "provider/validate/rules/portability.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(PERFORMANCE, "performance/" name, __VA_ARGS__)
#include "provider/validate/rules/performance.def"
#undef RULE
#define RULE(symbol, name, ...) RULE_OF(VISIBILITY, "visibility/" name, __VA_ARGS__)
#include "provider/validate/rules/visibility.def"
#undef RULE
};

static const struct {
	const char *name, *text;
} severities[] = {
#define X(symbol, name, what) { name, what },
	RN_VAL_SEVERITIES(X)
#undef X
};

static const struct {
	const char *name, *text;
} categories[] = {
#define X(symbol, name, what) { #name, what },
	RN_VAL_ALL_CATEGORIES(X)
#undef X
};

const struct rn_val_rule_info *rn_val_rule_info(unsigned rule)
{
	return &rules[rule];
}

const char *rn_val_rule_name(const void *unused, size_t rule)
{
	(void)unused;
	return rules[rule].name;
}

const char *rn_val_severity_name(enum rn_val_severity severity)
{
	return severities[severity].name;
}

const char *rn_val_severity_text(enum rn_val_severity severity)
{
	return severities[severity].text;
}

const char *rn_val_category_name(enum rn_val_category category)
{
	return categories[category].name;
}

const char *rn_val_category_text(enum rn_val_category category)
{
	return categories[category].text;
}

bool rn_val_option(struct rn_val_options *o, const char *word)
{
	for (unsigned i = 0; i < RN_VAL_SEVERITY_COUNT; i++) {
		if (strcmp(word, severities[i].name) != 0)
			continue;
		o->severities |= 1U << i;
		o->is_on = true;
		return true;
	}
	if (strcmp(word, "all") == 0)
		o->severities = RN_VAL_ALL;
	else if (strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return false;
	o->is_on = strcmp(word, "off") != 0;
	return true;
}
