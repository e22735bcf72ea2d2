/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* setup.c - knobs of a run, and outcomes in words. */
#include <errno.h>
#include <string.h>

#include "parse_internal.h"
#include "sim/pcie/model/text.h"

static int complain(char *err, size_t err_len, const char *name, const char *sentence)
{
	struct rn_text t;

	rn_text_init(&t, err, err_len);
	rn_text_add(&t, name);
	rn_text_add(&t, sentence);
	return -EINVAL;
}

static size_t word_length(const char *words, const char *stops)
{
	size_t n = 0;

	while (words[n] && !strchr(stops, words[n]))
		n++;
	return n;
}

/* x+y, up to a comma */
static int read_relaxed(const struct rn_litmus_test *t, const char *list, uint32_t *mask,
			char *err, size_t err_len)
{
	while (*list && *list != ',') {
		size_t len = word_length(list, "+,");
		char name[RN_LITMUS_NAME] = "";
		uint8_t loc = RN_LITMUS_NONE;

		if (len > 0 && len < sizeof(name)) {
			memcpy(name, list, len);
			loc = rn_litmus_find_location(t, name);
		}
		if (loc == RN_LITMUS_NONE)
			return complain(err, err_len, name,
					": no such location (relaxed=)");
		*mask |= UINT32_C(1) << loc;
		list += len;
		list += *list == '+';
	}
	return 0;
}

/* Each word between commas: ours is taken, the others are gathered in @rest. */
static int split(const struct rn_litmus_test *t, const char *words, struct rn_text *rest,
		 uint32_t *relaxed, char *err, size_t err_len)
{
	static const char ours[] = "relaxed=";

	while (*words) {
		size_t len = word_length(words, ",");

		while (len > 0 && *words == ' ') {
			words++;
			len--;
		}
		if (!strncmp(words, ours, strlen(ours))) {
			int rc = read_relaxed(t, words + strlen(ours), relaxed, err,
					      err_len);

			if (rc)
				return rc;
		} else if (len > 0) {
			if (rest->used > 0)
				rn_text_char(rest, ',');
			for (size_t i = 0; i < len; i++)
				rn_text_char(rest, words[i]);
		}
		words += len;
		words += *words == ',';
	}
	return 0;
}

int rn_litmus_setup(const struct rn_litmus_test *t, const char *words,
		    struct rn_litmus_setup *setup, char *err, size_t err_len)
{
	char knobs[4 * RN_LITMUS_TEXT];
	struct rn_text rest;
	int rc;

	*setup = (struct rn_litmus_setup){ 0 };
	rn_pcie_preset(&setup->knobs, RN_PCIE_TYPICAL);
	for (unsigned i = 0; i < t->locations; i++)
		setup->relaxed |= (uint32_t)t->location[i].relaxed << i;
	rn_text_init(&rest, knobs, sizeof(knobs));
	rc = split(t, t->opt, &rest, &setup->relaxed, err, err_len);
	if (!rc)
		rc = split(t, words, &rest, &setup->relaxed, err, err_len);
	if (rc)
		return rc;
	if (rest.used >= rest.size)
		return complain(err, err_len, words, ": too many knobs");
	if (strchr(knobs, '@'))
		return complain(err, err_len, knobs, ": a litmus test reads no @FILE");
	return rest.used ? rn_pcie_parse(&setup->knobs, knobs, err, err_len) : 0;
}

int rn_litmus_verdict_setup(const struct rn_litmus_test *t,
			    const struct rn_litmus_verdict *v,
			    struct rn_litmus_setup *setup, char *err, size_t err_len)
{
	return rn_litmus_setup(t, v->knobs, setup, err, err_len);
}

bool rn_litmus_same_setup(const struct rn_litmus_setup *a,
			  const struct rn_litmus_setup *b)
{
	char one[512], other[512];

	rn_pcie_format(&a->knobs, one, sizeof(one));
	rn_pcie_format(&b->knobs, other, sizeof(other));
	return a->relaxed == b->relaxed && !strcmp(one, other);
}

void rn_litmus_setup_text(const struct rn_litmus_test *t,
			  const struct rn_litmus_setup *setup, char *buf, size_t len)
{
	struct rn_text text = { .buf = buf, .size = len };
	const char *before = ",relaxed=";

	text.used = (size_t)rn_pcie_format(&setup->knobs, buf, len);
	for (unsigned i = 0; i < t->locations; i++) {
		if (!(setup->relaxed >> i & 1))
			continue;
		rn_text_add(&text, before);
		rn_text_add(&text, t->location[i].name);
		before = "+";
	}
}

bool rn_litmus_same_outcome(const struct rn_litmus_test *t,
			    const struct rn_litmus_outcome *a,
			    const struct rn_litmus_outcome *b)
{
	if (a->absent != b->absent)
		return false;
	return !memcmp(a->value, b->value, t->observeds * sizeof(a->value[0]));
}

static bool term_holds(const struct rn_litmus_term *term,
		       const struct rn_litmus_outcome *outcome)
{
	if (outcome->absent >> term->observed & 1)
		return false;
	return (outcome->value[term->observed] == term->value) != term->is_not;
}

bool rn_litmus_holds(const struct rn_litmus_verdict *v,
		     const struct rn_litmus_outcome *outcome)
{
	for (unsigned i = 0; i < v->count; i++)
		if (!term_holds(&v->term[i], outcome))
			return false;
	return true;
}

void rn_litmus_outcome_text(const struct rn_litmus_test *t,
			    const struct rn_litmus_outcome *outcome, char *buf,
			    size_t len)
{
	struct rn_text text;

	rn_text_init(&text, buf, len);
	for (unsigned i = 0; i < t->observeds; i++) {
		int64_t value = outcome->value[i];

		if (outcome->absent >> i & 1)
			continue;
		if (text.used)
			rn_text_char(&text, ' ');
		rn_text_add(&text, t->observed[i].name);
		rn_text_char(&text, '=');
		if (value < 0)
			rn_text_char(&text, '-');
		rn_text_number(&text, value < 0 ? -(uint64_t)value : (uint64_t)value);
		rn_text_char(&text, ';');
	}
}
