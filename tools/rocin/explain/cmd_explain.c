/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_explain.c - `rocin explain`: lists the rules of the validation layer, or explains
 * one of them.
 */
#include <stdio.h>
#include <string.h>

#include "examples.h"
#include "provider/validate/validate.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/report/nearest.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const char **rule = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*rule)
		argp_error(state, "one rule at a time, please: \"%s\" is one too many",
			   arg);
	*rule = arg;
	return 0;
}

static const struct argp argp = {
	.parser = parse_option,
	.args_doc = "[RULE]",
	.doc = "Explain a rule of the validation layer (rocin run --validate) with an "
	       "example that is wrong and then mended; without RULE, list all of them by "
	       "category.",
};

static void list_rules(void)
{
	for (unsigned c = 0; c < RN_VAL_CATEGORY_COUNT; c++) {
		printf("%s%s: %s\n", c ? "\n" : "", rn_val_category_name(c),
		       rn_val_category_text(c));
		for (unsigned i = 0; i < RN_VAL_RULE_COUNT; i++) {
			const struct rn_val_rule_info *r = rn_val_rule_info(i);

			if (r->category == c)
				printf("  %-32s %-12s %s\n", r->name,
				       rn_val_severity_name(r->severity), r->text);
		}
	}
}

static void explain(const struct rn_val_rule_info *r)
{
	size_t len;
	const char *example = rn_rule_example(r->name, &len);

	printf("%s (%s: %s)\n\n%s\n\nSource: %s\nRemedy: %s\n", r->name,
	       rn_val_severity_name(r->severity), rn_val_severity_text(r->severity),
	       r->text, r->source, r->remedy);
	if (example)
		printf("\n%.*s\n", (int)len, example);
}

int rn_cmd_explain(int argc, char **argv)
{
	const char *name = NULL;

	if (rn_argp_parse(&argp, argc, argv, 0, &name))
		return RN_EXIT_USAGE;
	if (!name) {
		list_rules();
		return 0;
	}
	for (unsigned i = 0; i < RN_VAL_RULE_COUNT; i++) {
		if (strcmp(rn_val_rule_info(i)->name, name) != 0)
			continue;
		explain(rn_val_rule_info(i));
		return 0;
	}
	rn_complain("there is no rule \"%s\"; the nearest is %s", name,
		    rn_nearest(name, rn_val_rule_name, NULL, RN_VAL_RULE_COUNT));
	return RN_EXIT_USAGE;
}
