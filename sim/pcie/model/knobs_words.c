/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs_words.c - MODE[,KNOB=VALUE]..., there and back, and contradictions. */
#include <errno.h>
#include <string.h>

#include "knobs.h"

enum {
	/* The longest useful word is replay=FILE. */
	WORD_MAX = sizeof(((struct rn_pcie_knobs *)0)->replay) + sizeof("replay=") - 1,
};

/* ---- Reading ---- */

/* "adv" is what litmus files say. */
static bool find_mode(struct rn_word w, enum rn_pcie_mode *mode)
{
	if (rn_word_is(w, "adv")) {
		*mode = RN_PCIE_ADVERSARIAL;
		return true;
	}
	for (unsigned i = 0; i < RN_PCIE_MODE_COUNT; i++)
		if (rn_word_is(w, rn_pcie_mode_name(i))) {
			*mode = i;
			return true;
		}
	return false;
}

static int refuse(struct rn_text *t, struct rn_word w, const char *why)
{
	rn_text_word(t, w);
	rn_text_add(t, why);
	return -EINVAL;
}

static int parse_knob(struct rn_pcie_knobs *k, struct rn_word word, struct rn_text *err)
{
	struct rn_word value = word, name = rn_word_trim(rn_word_cut(&value, '='));
	const char *choices;
	int knob = rn_knob_find(name, &choices);

	if (knob < 0)
		return refuse(err, word, ": no such knob");
	if (rn_knob_read(k, knob, choices, rn_word_trim(value)))
		return 0;
	refuse(err, word, ": ");
	rn_text_word(err, name);
	rn_text_add(err, " is ");
	rn_text_knob_range(err, knob, choices);
	return -EINVAL;
}

static int parse_word(struct rn_pcie_knobs *k, struct rn_word word, struct rn_text *err)
{
	struct rn_word value = word, name = rn_word_trim(rn_word_cut(&value, '='));
	enum rn_pcie_mode mode;
	bool is_mode = rn_word_is(name, "mode");

	if (word.len == 0)
		return refuse(err, word, ": a word is missing between commas");
	if (word.len > WORD_MAX)
		return refuse(err, word, ": too long");
	if (memchr(word.at, '\0', word.len))
		return refuse(err, word, ": has a NUL byte");
	if (value.at && !is_mode)
		return parse_knob(k, word, err);
	if (!find_mode(is_mode ? rn_word_trim(value) : word, &mode))
		return refuse(err, word,
			      ": a mode is strict, ibta, typical or adversarial, "
			      "a knob is KNOB=VALUE");
	rn_pcie_preset(k, mode);
	return 0;
}

int rn_knobs_parse_words(struct rn_pcie_knobs *k, struct rn_word text, char *err,
			 size_t err_len)
{
	struct rn_text t;
	int rc = 0;

	rn_text_init(&t, err, err_len);
	if (rn_word_trim(text).len == 0)
		return 0;
	while (rc == 0 && text.at)
		rc = parse_word(k, rn_word_trim(rn_word_cut(&text, ',')), &t);
	return rc;
}

/* ---- Contradictions ---- */

/* Pairs that mean nothing together. */
static const struct {
	const char *a, *b, *why;
} pairs[] = {
	{ "place=now", "nic.ooo=1", "nothing is out of order if nothing is on its way" },
	{ "place=now", "gpu.ordering=none", "nothing waits inside a GPU then" },
	{ "place=now", "driver=replay", "nothing is chosen then" },
};

/* Does the knob of "knob=value" have that value? */
static bool has(const struct rn_pcie_knobs *k, const char *word)
{
	struct rn_word value = { word, strlen(word) };
	struct rn_pcie_knobs with = *k;
	struct rn_word name = rn_word_cut(&value, '=');
	const char *choices;
	int knob = rn_knob_find(name, &choices);
	bool is_known = knob >= 0 && rn_knob_read(&with, knob, choices, value);

	assert(is_known);
	return is_known && !rn_knob_differs(k, &with, knob);
}

static int contradict(struct rn_text *err, const char *a, const char *b, const char *why)
{
	rn_text_add(err, a);
	rn_text_add(err, " contradicts ");
	rn_text_add(err, b);
	rn_text_add(err, ": ");
	rn_text_add(err, why);
	return -EINVAL;
}

static int check_each(const struct rn_pcie_knobs *k, struct rn_text *err)
{
	if ((unsigned)k->mode >= RN_PCIE_MODE_COUNT) {
		rn_text_add(err, "mode: no such mode");
		return -EINVAL;
	}
	for (int i = 0; rn_pcie_knob_list[i].name; i++) {
		if (rn_knob_is_valid(k, i))
			continue;
		rn_text_add(err, rn_pcie_knob_list[i].name);
		rn_text_add(err, " is ");
		rn_text_knob_range(err, i, rn_pcie_knob_list[i].values);
		return -EINVAL;
	}
	return 0;
}

int rn_pcie_check(const struct rn_pcie_knobs *k, char *err, size_t err_len)
{
	struct rn_text t;
	int rc;

	rn_text_init(&t, err, err_len);
	rc = check_each(k, &t);
	if (rc)
		return rc;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(pairs); i++)
		if (has(k, pairs[i].a) && has(k, pairs[i].b))
			return contradict(&t, pairs[i].a, pairs[i].b, pairs[i].why);
	if (k->granule > k->max_payload)
		return contradict(&t, "granule", "max_payload",
				  "a granule is not larger than a TLP");
	if (k->driver == RN_DRIVER_REPLAY && !k->replay[0])
		return contradict(&t, "driver=replay", "no replay",
				  "replay=FILE says what to replay");
	if (k->driver != RN_DRIVER_REPLAY && k->replay[0])
		return contradict(&t, "replay", "driver",
				  "a file is replayed by driver=replay only");
	if (k->place == RN_PLACE_NOW && k->record[0])
		return contradict(&t, "place=now", "record", "nothing is chosen then");
	if (k->record[0] && strcmp(k->record, k->replay) == 0)
		return contradict(&t, "record", "replay", "both name one file");
	return 0;
}

/* ---- Writing ---- */

int rn_pcie_format(const struct rn_pcie_knobs *k, char *buf, size_t len)
{
	struct rn_pcie_knobs preset;
	struct rn_text t;

	assert((unsigned)k->mode < RN_PCIE_MODE_COUNT);
	rn_text_init(&t, buf, len);
	rn_pcie_preset(&preset, k->mode);
	rn_text_add(&t, rn_pcie_mode_name(k->mode));
	for (int i = 0; rn_pcie_knob_list[i].name; i++) {
		if (!rn_knob_differs(k, &preset, i))
			continue;
		rn_text_char(&t, ',');
		rn_text_add(&t, rn_pcie_knob_list[i].name);
		rn_text_char(&t, '=');
		rn_text_knob_value(&t, k, i);
	}
	return (int)t.used;
}
