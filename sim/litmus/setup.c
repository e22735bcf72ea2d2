/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* setup.c - lookup of the names in a test, knobs for a run, and outcomes as text. */
#include <errno.h>
#include <string.h>

#include "parse_internal.h"
#include "sim/pcie/model/text.h"

/* ---- Lookup of objects by their names ---- */

uint8_t rn_litmus_find_location(const struct rn_litmus_test *t, const char *name)
{
	for (uint8_t i = 0; i < t->locations; i++)
		if (!strcmp(t->location[i].name, name))
			return i;
	return RN_LITMUS_NONE;
}

uint8_t rn_litmus_find_qp(const struct rn_litmus_test *t, const char *name)
{
	for (uint8_t i = 0; i < t->qps; i++)
		if (!strcmp(t->qp[i].name, name))
			return i;
	return RN_LITMUS_NONE;
}

uint8_t rn_litmus_find_cq(const struct rn_litmus_test *t, const char *name)
{
	for (uint8_t i = 0; i < t->cqs; i++)
		if (!strcmp(t->cq[i].name, name))
			return i;
	return RN_LITMUS_NONE;
}

uint8_t rn_litmus_find_rq(const struct rn_litmus_test *t, const char *name)
{
	for (uint8_t i = 0; i < t->rqs; i++)
		if (!strcmp(t->rq[i].name, name))
			return i;
	return RN_LITMUS_NONE;
}

uint8_t rn_litmus_find_thread(const struct rn_litmus_test *t, const char *name)
{
	for (uint8_t i = 0; i < t->threads; i++)
		if (!strcmp(t->thread[i].name, name))
			return i;
	return RN_LITMUS_NONE;
}

static uint8_t find_node(const struct rn_litmus_test *t, const char *name)
{
	for (uint8_t i = 0; i < t->nodes; i++)
		if (!strcmp(t->node[i], name))
			return i;
	return RN_LITMUS_NONE;
}

/* If @name is @prefix followed by one digit N, and N is less than @count, returns @first
 * + N. Otherwise returns NONE.
 */
static uint8_t numbered(const char *name, const char *prefix, unsigned first,
			unsigned count)
{
	size_t len = strlen(prefix);
	unsigned number;

	if (strncmp(name, prefix, len) != 0 || name[len] < '0' || name[len] > '9' ||
	    name[len + 1] != '\0')
		return RN_LITMUS_NONE;
	number = (unsigned)(name[len] - '0');
	return number < count ? (uint8_t)(first + number) : RN_LITMUS_NONE;
}

uint8_t rn_litmus_find_agent(const char *name)
{
	static const struct {
		const char *prefix;
		unsigned first, count;
	} kinds[] = {
		{ "gpu", RN_AGENT_GPU, RN_GPU_MAX },
		{ "nic", RN_AGENT_NIC, RN_NIC_MAX },
		{ "nvme", RN_AGENT_NVME, RN_NVME_MAX },
	};

	if (!strcmp(name, "host") || !strcmp(name, "cpu") ||
	    numbered(name, "cpu", 0, 10) != RN_LITMUS_NONE)
		return RN_AGENT_CPU;
	for (size_t i = 0; i < RN_ARRAY_SIZE(kinds); i++) {
		uint8_t agent =
			numbered(name, kinds[i].prefix, kinds[i].first, kinds[i].count);

		if (agent != RN_LITMUS_NONE)
			return agent;
	}
	return RN_LITMUS_NONE;
}

bool rn_lex_location(struct rn_litmus_parser *p, const struct rn_litmus_test *t,
		     uint8_t *loc)
{
	char name[RN_LITMUS_NAME];

	if (!rn_lex_word(p, "a location", name, sizeof(name)))
		return false;
	*loc = rn_litmus_find_location(t, name);
	if (*loc == RN_LITMUS_NONE)
		return rn_lex_fail_name(p, name, "no such location");
	return true;
}

bool rn_lex_thread_name(struct rn_litmus_parser *p, char *name, size_t len)
{
	char word[3][RN_LITMUS_NAME] = { "" };
	struct rn_text t;

	if (!rn_lex_word(p, "a thread, as A.cpu", word[0], sizeof(word[0])) ||
	    !rn_lex_char(p, '.') ||
	    !rn_lex_word(p, "cpu, gpu0, nvme0 ...", word[1], sizeof(word[1])))
		return false;
	rn_text_init(&t, name, len);
	rn_text_add(&t, word[0]);
	rn_text_char(&t, '.');
	rn_text_add(&t, word[1]);
	if (rn_lex_try_char(p, '.')) {
		if (!rn_lex_word(p, "a number", word[2], sizeof(word[2])))
			return false;
		rn_text_char(&t, '.');
		rn_text_add(&t, word[2]);
	}
	return t.used < len || rn_lex_fail(p, "a shorter name");
}

bool rn_lex_place(struct rn_litmus_parser *p, struct rn_litmus_test *t, uint8_t *node,
		  char *agent, size_t len)
{
	char name[RN_LITMUS_NAME];

	if (!rn_lex_word(p, "a host, as A", name, sizeof(name)))
		return false;
	*node = find_node(t, name);
	if (*node == RN_LITMUS_NONE) {
		if (t->nodes == RN_LITMUS_NODES)
			return rn_lex_fail(p, "at most 6 hosts");
		*node = t->nodes++;
		memcpy(t->node[*node], name, sizeof(name));
	}
	return rn_lex_char(p, '.') && rn_lex_word(p, "host, gpu0, nic0 ...", agent, len);
}

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

/* Reads the names in @list, such as x+y, up to a comma. Sets the bits of these locations
 * in @mask.
 */
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

/* Splits @words at commas. Adds the locations that relaxed= names to @relaxed, and
 * appends all other words to @rest.
 */
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

void rn_litmus_add_value(struct rn_text *text, const struct rn_litmus_test *t,
			 int64_t value)
{
	if (rn_litmus_is_address(value)) {
		rn_text_char(text, '&');
		rn_text_add(text, t->location[value - RN_LITMUS_ADDRESS].name);
		return;
	}
	if (value < 0)
		rn_text_char(text, '-');
	rn_text_number(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
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
		rn_litmus_add_value(&text, t, value);
		rn_text_char(&text, ';');
	}
}
