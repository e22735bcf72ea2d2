/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_options.c - parser of ROCIN_VALIDATE. */
#include "watch_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct rn_rule_names rnp_watch_rules = { .name = rn_val_rule_name,
					       .count = RN_VAL_RULE_COUNT };

enum {
	WORD_MAX = 300
};

int rnp_watch_parse(struct rnp_watch_options *o, const char *text, char *err,
		    size_t err_len)
{
	struct rnp_watch_options parsed = { .rules.is_on = *text != '\0',
					    .report.exit_code = RN_REPORT_EXIT_CODE };
	char word[WORD_MAX];

	while (*text) {
		size_t len = strcspn(text, ",");

		(void)snprintf(word, sizeof(word), "%.*s",
			       (int)(len < sizeof(word) ? len : sizeof(word) - 1), text);
		if (len >= sizeof(word) || (!rn_val_option(&parsed.rules, word) &&
					    !rn_report_option(&parsed.report, word))) {
			(void)snprintf(err, err_len,
				       "\"%.80s\" is not on, off, all, error, "
				       "portability, performance, leak, " RN_REPORT_WORDS,
				       word);
			return -EINVAL;
		}
		text += len;
		text += *text == ',';
	}
	if (!parsed.rules.severities)
		parsed.rules.severities = RN_VAL_DEFAULT;
	*o = parsed;
	return 0;
}
