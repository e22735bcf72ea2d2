/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch_options.h - parses ROCIN_VALIDATE, which selects the checks of verbs calls and
 * what is done with the findings.
 */
#ifndef RNP_WATCH_OPTIONS_H
#define RNP_WATCH_OPTIONS_H

#include <stddef.h>

#include "provider/validate/validate.h"
#include "transport/io/report/report.h"

struct rnp_watch_options {
	struct rn_val_options rules;
	struct rn_report_options report;
};

/* Parses @text, the value of ROCIN_VALIDATE: words separated by commas. Empty text means
 * that the checks are off. Returns 0, or -EINVAL and an error text. The suppression file
 * is not read.
 */
int rnp_watch_parse(struct rnp_watch_options *o, const char *text, char *err,
		    size_t err_len);

/* Names of all rules, for rn_suppress_read(). */
extern const struct rn_rule_names rnp_watch_rules;

#endif /* RNP_WATCH_OPTIONS_H */
