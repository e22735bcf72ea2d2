/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_spec.c - reads the short form of faults (a list of probabilities), numbers in it
 * and in rules, and files.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_rules.h"
#include "rocin/token.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"

/* ------------------------------------------------------------ numbers with units */
enum {
	HOUR_S = 3600,
};

/* Read a decimal number such as "12.5", with at most @digits digits before the point.
 * *@value: out: the number multiplied by @unit, a power of ten. Return: how many
 * characters were read; 0: the text is not a number.
 */
static size_t read_fixed(const char *s, size_t len, size_t digits, uint64_t unit,
			 uint64_t *value)
{
	size_t i = 0;

	for (*value = 0; i < len && rn_char_is_digit(s[i]) && i < digits; i++)
		*value = *value * 10 + (uint64_t)(s[i] - '0');
	if (i == 0)
		return 0;
	*value *= unit;
	if (i < len && s[i] == '.') {
		size_t first = ++i;

		for (; i < len && rn_char_is_digit(s[i]) && unit > 1; i++) {
			unit /= 10;
			*value += (uint64_t)(s[i] - '0') * unit;
		}
		if (i == first)
			return 0;
	}
	return i;
}

bool rn_fault_percent(const char *s, size_t len, uint64_t *ppm)
{
	uint64_t value;
	size_t used = read_fixed(s, len, 3, 10000, &value);

	if (used == 0 || used + 1 != len || s[used] != '%' || value > 1000000)
		return false;
	*ppm = value;
	return true;
}

bool rn_fault_time(const char *s, size_t len, rn_ns *time)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(units); i++) {
		uint64_t value;
		size_t used = read_fixed(s, len, 9, units[i].ns, &value);

		if (used == 0 || !rn_fault_is_word(s + used, len - used, units[i].name))
			continue;
		if (value == 0 || value > HOUR_S * 1000000000ull)
			return false;
		*time = (rn_ns)value;
		return true;
	}
	return false;
}

/* ---------------------------------------------------------- short form of faults */
struct item {
	const char *name;
	/* offset of the item's value, a uint32_t in struct rn_fault_spec */
	size_t offset;
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

/* Return: index of the item with this name in `items`; SEED_ITEM; or -1: unknown name. */
static int find_item(const char *name, size_t len)
{
	for (unsigned i = 0; i < RN_ARRAY_SIZE(items); i++)
		if (strlen(items[i].name) == len && memcmp(items[i].name, name, len) == 0)
			return (int)i;
	return len == 4 && memcmp(name, "seed", 4) == 0 ? SEED_ITEM : -1;
}

/* Read one item "NAME=VALUE" of @len bytes into @spec. @seen: bit set of the items so
 * far, to which this one is added; no item may come twice. Return: false if the item is
 * wrong.
 */
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

/* -------------------------------------------------------------- reading of files */
enum {
	PATIENCE_MS = 10000, /* maximum wait in ms for data from a pipe */
};

/* Read from a non-blocking descriptor; if it is a pipe, wait for its writer. */
static ssize_t read_some(int fd, char *buf, size_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (;;) {
		ssize_t n = read(fd, buf, size);

		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n < 0 ? -errno : n;
		if (errno == EAGAIN && poll(&wait, 1, PATIENCE_MS) == 0)
			return -ETIMEDOUT;
	}
}

/* Read a whole file. Return: 0, -EFBIG, or -errno. */
static int read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0 && used < size) {
		n = read_some(fd, buf + used, size - used);
		if (n > 0)
			used += (size_t)n;
	}
	rn_fd_close(fd);
	if (n < 0)
		return (int)n;
	if (used == size)
		return -EFBIG;
	buf[used] = '\0';
	return strlen(buf) == used ? 0 : -EINVAL;
}

char *rn_fault_file(const char *path, char *err, size_t err_len)
{
	char *text = malloc(RN_FAULT_TEXT_MAX);
	int rc = text ? read_file(path, text, RN_FAULT_TEXT_MAX) : -ENOMEM;

	if (rc == 0)
		return text;
	free(text);
	if (rc == -EFBIG)
		rn_fail(err, err_len, rc, "%s: longer than %d bytes", path,
			RN_FAULT_TEXT_MAX - 1);
	else if (rc == -EINVAL)
		rn_fail(err, err_len, rc, "%s: not a text", path);
	else
		rn_fail(err, err_len, rc, "%s cannot be read: %m", path);
	errno = -rc;
	return NULL;
}
