/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_spec.c - the short form: probabilities in one word. */
#include <errno.h>
#include <string.h>

#include "fault_words.h"
#include "net_fault.h"
#include "transport/io/host/sentence.h"

struct item {
	const char *name;
	size_t offset; /* of the uint32_t in struct rn_fault_spec */
};

static const struct item items[] = {
	{ "drop", offsetof(struct rn_fault_spec, drop) },
	{ "dup", offsetof(struct rn_fault_spec, dup) },
	{ "reorder", offsetof(struct rn_fault_spec, reorder) },
	{ "corrupt", offsetof(struct rn_fault_spec, corrupt) },
};

enum {
	SEED_ITEM = RN_ARRAY_SIZE(items)
};

/* Index of items that "NAME" names, SEED_ITEM, or -1. */
static int find_item(const char *name, size_t len)
{
	for (unsigned i = 0; i < RN_ARRAY_SIZE(items); i++)
		if (strlen(items[i].name) == len && memcmp(items[i].name, name, len) == 0)
			return (int)i;
	return len == 4 && memcmp(name, "seed", 4) == 0 ? SEED_ITEM : -1;
}

/* One "NAME=VALUE" of @len bytes. */
static bool parse_item(const char *s, size_t len, struct rn_fault_spec *spec,
		       unsigned *seen)
{
	const char *eq = memchr(s, '=', len);
	size_t name_len = eq ? (size_t)(eq - s) : 0;
	int item = eq ? find_item(s, name_len) : -1;
	uint64_t value;

	if (item < 0 || *seen & 1u << item)
		return false;
	*seen |= 1u << item;
	if (item == SEED_ITEM)
		return rn_fault_decimal(eq + 1, len - name_len - 1, &spec->seed);
	if (!rn_fault_percent(eq + 1, len - name_len - 1, &value))
		return false;
	*(uint32_t *)(void *)((char *)spec + items[item].offset) = (uint32_t)value;
	return true;
}

int rn_fault_parse(const char *text, struct rn_fault_spec *spec, char *err,
		   size_t err_len)
{
	struct rn_fault_spec out = { .seed = 1 };
	unsigned seen = 0;

	for (const char *s = text;; s++) {
		size_t len = strcspn(s, ",");

		if (!parse_item(s, len, &out, &seen))
			return rn_fail(
				err, err_len, -EINVAL,
				"\"%.*s\" is no fault; a list such as "
				"drop=1%%,dup=0.5%%,reorder=1%%,corrupt=0.1%%,seed=7 "
				"is expected",
				(int)len, s);
		s += len;
		if (*s == '\0')
			break;
	}
	*spec = out;
	return 0;
}

void rn_fault_of_spec(const struct rn_fault_spec *spec, struct rn_fault_rules *rules)
{
	const struct {
		enum rn_fault_act act;
		uint32_t ppm;
	} kinds[] = {
		{ RN_FAULT_DROP, spec->drop },
		{ RN_FAULT_DUPLICATE, spec->dup },
		{ RN_FAULT_REORDER, spec->reorder },
		{ RN_FAULT_CORRUPT, spec->corrupt },
	};
	struct rn_fault_rules out = { .seed = spec->seed };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(kinds); i++) {
		if (kinds[i].ppm == 0)
			continue;
		out.rule[out.count++] =
			(struct rn_fault_rule){ .act = kinds[i].act,
						.in_dir = { [RN_FAULT_TX] = true },
						.ops = { ~0ull, ~0ull, ~0ull, ~0ull },
						.nth = 1,
						.every = 1,
						.chance = kinds[i].ppm,
						.copies = 1,
						.places = 1,
						.number = i,
						.id = i };
	}
	*rules = (struct rn_fault_rules){ .seed = spec->seed };
	rn_fault_rules_append(rules, &out);
}
