/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize_options.c - parser of ROCIN_SANITIZE. This file needs no other file of the
 * library, so tools can be linked with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sanitize.h"

enum {
	WORD_MAX = 300,
};

static int set_path(char path[256], const char *text)
{
	if (!*text || strlen(text) >= 256)
		return -EINVAL;
	snprintf(path, 256, "%s", text);
	return 0;
}

const char *rn_san_class_name(unsigned class)
{
	static const char *const names[RN_SAN_CLASS_COUNT] = {
#define X(symbol, name, knobs, what) [RN_SAN_CLASS_##symbol] = (name),
		RN_SAN_CLASSES(X)
#undef X
	};

	return names[class];
}

static int add_class(struct rn_sanitize_options *o, const char *word)
{
	for (unsigned i = 0; i < RN_SAN_CLASS_COUNT; i++) {
		if (strcmp(word, rn_san_class_name(i)) != 0)
			continue;
		o->classes |= 1U << i;
		return 0;
	}
	return -EINVAL;
}

static int take_word(struct rn_sanitize_options *o, const char *word)
{
	if (strcmp(word, "on") == 0)
		o->level = RN_SANITIZE_ON;
	else if (strcmp(word, "all") == 0)
		o->level = RN_SANITIZE_ALL;
	else if (strcmp(word, "off") == 0)
		o->level = RN_SANITIZE_OFF;
	else if (strncmp(word, "late=", 5) == 0)
		return set_path(o->late, word + 5);
	else if (strncmp(word, "record=", 7) == 0)
		return set_path(o->record, word + 7);
	else
		return rn_report_option(&o->report, word) ? 0 : add_class(o, word);
	return 0;
}

int rn_sanitize_parse(struct rn_sanitize_options *o, const char *text, char *err,
		      size_t err_len)
{
	struct rn_sanitize_options parsed = { .level = RN_SANITIZE_OFF,
					      .report.exit_code = RN_REPORT_EXIT_CODE };
	char word[WORD_MAX];

	/* If the text has other words but no level, the level is `on'. */
	if (*text)
		parsed.level = RN_SANITIZE_ON;
	while (*text) {
		size_t len = strcspn(text, ",");

		if (len < sizeof(word)) {
			memcpy(word, text, len);
			word[len] = '\0';
		}
		if (len >= sizeof(word) || take_word(&parsed, word)) {
			snprintf(err, err_len,
				 "\"%.*s\" is not on, all, off, " RN_REPORT_WORDS
				 ", late=FILE, record=FILE, nor a "
				 "class: given, switch, "
				 "switch.none, ports, c2c, relaxed",
				 (int)(len < 80 ? len : 80), text);
			return -EINVAL;
		}
		text += len;
		text += *text == ',';
	}
	if (!parsed.classes)
		parsed.classes = 1U << RN_SAN_CLASS_GIVEN;
	*o = parsed;
	return 0;
}
