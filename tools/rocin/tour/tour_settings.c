/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_settings.c - KEY=VALUE of the stops. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tour.h"

void rn_tour_presets(struct rn_tour_values *v, const struct rn_tour_stop *stop)
{
	*v = (struct rn_tour_values){ .stop = stop };
	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key; i++)
		snprintf(v->value[i], sizeof(v->value[i]), "%s", stop->setting[i].preset);
}

static unsigned find(const struct rn_tour_stop *stop, const char *key, size_t len)
{
	unsigned i = 0;

	while (i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key &&
	       (strncmp(stop->setting[i].key, key, len) != 0 ||
		stop->setting[i].key[len] != '\0'))
		i++;
	return i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key ? i
								: RN_TOUR_SETTINGS_MAX;
}

static bool is_one_of(const char *words, const char *word, size_t len)
{
	while (words) {
		size_t n = strcspn(words, "|");

		if (n == len && !strncmp(words, word, n))
			return true;
		words = words[n] ? words + n + 1 : NULL;
	}
	return false;
}

static bool is_number_in(const struct rn_tour_setting *s, const char *word, size_t len)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)word[0]))
		return false;
	errno = 0;
	n = strtoul(word, &end, 10);
	return !errno && end == word + len && n >= s->min && n <= s->max;
}

static int complain(const struct rn_tour_setting *s, const char *word, int len, char *err,
		    size_t err_len)
{
	if (s->words)
		snprintf(err, err_len, "%s is one of %s, not \"%.*s\"", s->key, s->words,
			 len, word);
	else
		snprintf(err, err_len,
			 "%s is a number from %" PRIu32 " to %" PRIu32 ", not \"%.*s\"",
			 s->key, s->min, s->max, len, word);
	return -EINVAL;
}

static int unknown(const struct rn_tour_stop *stop, const char *word, int len, char *err,
		   size_t err_len)
{
	size_t used = (size_t)snprintf(err, err_len,
				       "the stop \"%s\" has no setting \"%.*s\"; it has",
				       stop->name, len, word);

	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && stop->setting[i].key; i++)
		if (used < err_len)
			used += (size_t)snprintf(err + used, err_len - used, "%s %s",
						 i ? "," : "", stop->setting[i].key);
	return -EINVAL;
}

int rn_tour_set(struct rn_tour_values *v, const char *words, char *err, size_t err_len)
{
	struct rn_tour_values now = *v;

	for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
		size_t len = strcspn(words, " "), key = strcspn(words, "=");
		const char *value = words + key + 1;
		unsigned i = find(v->stop, words, key);
		size_t value_len;

		if (key >= len || i == RN_TOUR_SETTINGS_MAX)
			return unknown(v->stop, words, (int)len, err, err_len);
		value_len = len - key - 1;
		if (value_len >= RN_TOUR_VALUE_MAX ||
		    !(v->stop->setting[i].words
			      ? is_one_of(v->stop->setting[i].words, value, value_len)
			      : is_number_in(&v->stop->setting[i], value, value_len)))
			return complain(&v->stop->setting[i], value, (int)value_len, err,
					err_len);
		snprintf(now.value[i], sizeof(now.value[i]), "%.*s", (int)value_len,
			 value);
		now.is_changed = true;
		words += len;
	}
	*v = now;
	return 0;
}

const char *rn_tour_word(const struct rn_tour_values *v, const char *key)
{
	unsigned i = find(v->stop, key, strlen(key));

	return i < RN_TOUR_SETTINGS_MAX ? v->value[i] : "";
}

uint32_t rn_tour_number(const struct rn_tour_values *v, const char *key)
{
	return (uint32_t)strtoul(rn_tour_word(v, key), NULL, 10);
}

const char *rn_tour_knobs(const struct rn_tour_values *v)
{
	static char knobs[256];
	size_t used = (size_t)snprintf(knobs, sizeof(knobs), "%s", v->stop->knobs);

	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && v->stop->setting[i].key; i++)
		if (v->stop->setting[i].knob && used < sizeof(knobs))
			used += (size_t)snprintf(knobs + used, sizeof(knobs) - used,
						 ",%s=%s", v->stop->setting[i].knob,
						 v->value[i]);
	return knobs;
}
