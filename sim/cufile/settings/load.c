/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* load.c - the settings of a process: defaults, cufile.json, environment. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rocin/types.h"
#include "sim/cufile/settings/settings.h"

static int read_flag(const char *text)
{
	static const char *const yes[] = { "true", "1", "on", "yes" };
	static const char *const no[] = { "false", "0", "off", "no" };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(yes); i++) {
		if (!strcasecmp(text, yes[i]))
			return 1;
		if (!strcasecmp(text, no[i]))
			return 0;
	}
	return -1;
}

static void read_environment(struct rn_cufile_settings *s, rn_cufile_remark_fn *remark,
			     void *ctx)
{
	const char *text;
	char sentence[RN_CUFILE_TEXT];

	for (unsigned i = 0; i < RN_CUFILE_FLAGS; i++) {
		const char *variable = rn_cufile_flag_variable(i);
		int value;

		text = variable ? getenv(variable) : NULL;
		if (!text)
			continue;
		value = read_flag(text);
		if (value < 0) {
			snprintf(sentence, sizeof(sentence),
				 "%s is \"%s\", which is neither true nor false; it is "
				 "not used",
				 variable, text);
			remark(ctx, sentence);
		} else {
			s->flag[i] = value != 0;
		}
	}
	text = getenv("CUFILE_LOGGING_LEVEL");
	if (text)
		snprintf(s->string[CUFILE_PARAM_LOGGING_LEVEL], RN_CUFILE_TEXT, "%s",
			 text);
	text = getenv("CUFILE_LOGFILE_PATH");
	if (text)
		snprintf(s->string[CUFILE_PARAM_ENV_LOGFILE_PATH], RN_CUFILE_TEXT, "%s",
			 text);
}

int rn_cufile_load(struct rn_cufile_settings *s, rn_cufile_remark_fn *remark, void *ctx,
		   char *err, size_t err_len)
{
	const char *named = getenv("CUFILE_ENV_PATH_JSON");
	const char *path = named ? named : "/etc/cufile.json";
	char sentence[RN_CUFILE_TEXT * 2];
	int rc;

	rn_cufile_defaults(s);
	rc = rn_cufile_read_json(s, path, remark, ctx, err, err_len);
	if (rc && rc != -EINVAL && named) {
		snprintf(sentence, sizeof(sentence),
			 "CUFILE_ENV_PATH_JSON names \"%s\", which cannot be read: %s; "
			 "the defaults are used",
			 path, strerror(-rc));
		remark(ctx, sentence);
	}
	read_environment(s, remark, ctx);
	return rc == -EINVAL ? rc : 0;
}
