/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names.c - names of a litmus test and the numbers behind them. */
#include <string.h>

#include "parse_internal.h"
#include "sim/pcie/model/text.h"

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

/* "gpu3" with @prefix "gpu": @first + 3. A number is one digit. */
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
