/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_spec.c - the text that describes faults. */
#include <errno.h>
#include <string.h>

#include "net_fault.h"
#include "sentence.h"

/* "12.5%" to parts per million. No strtod(): the program may have set a locale in which
 * the decimal point is a comma. False if it is not a percentage.
 */
static bool parse_percent(const char *s, size_t len, uint64_t *ppm)
{
	uint64_t value = 0, unit = 10000;
	size_t digits = 0, i = 0;

	for (; i < len && s[i] >= '0' && s[i] <= '9' && digits < 3; i++, digits++)
		value = value * 10 + (uint64_t)(s[i] - '0');
	if (digits == 0)
		return false;
	*ppm = value * unit;
	if (i < len && s[i] == '.') {
		size_t first = ++i;

		for (; i < len && s[i] >= '0' && s[i] <= '9' && unit > 1; i++) {
			unit /= 10;
			*ppm += (uint64_t)(s[i] - '0') * unit;
		}
		if (i == first)
			return false;
	}
	return i + 1 == len && s[i] == '%' && *ppm <= 1000000;
}

static bool parse_number(const char *s, size_t len, uint64_t *value)
{
	if (len == 0 || len > 19)
		return false;
	*value = 0;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*value = *value * 10 + (uint64_t)(s[i] - '0');
	}
	return true;
}

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
		return parse_number(eq + 1, len - name_len - 1, &spec->seed);
	if (!parse_percent(eq + 1, len - name_len - 1, &value))
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
