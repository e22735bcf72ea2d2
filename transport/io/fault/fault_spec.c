/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_spec.c - faults in whatever form a user gives them: a file, rules, or the short
 * form, which is probabilities in one word.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault_rules.h"
#include "fault_words.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/sentence.h"

/* ---------------------------------------------------------------- the short form */
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

/* The same as rules. Each kind has dice of its own, whatever the others are. */
static void make_rules(const struct rn_fault_spec *spec, struct rn_fault_rules *rules)
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

/* ------------------------------------------------------------------------- files */
enum {
	PATIENCE_MS = 10000, /* of a pipe, until its writer says something */
};

/* read() from what was opened without waiting; a pipe that has a writer is waited for. */
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

/* 0, -EFBIG, or -errno. */
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

/* Read them from a file. Return: 0, -EINVAL, or -errno of open() and read(), -EFBIG. */
static int load_rules(const char *path, struct rn_fault_rules *rules, char *err,
		      size_t err_len)
{
	char *text = rn_fault_file(path, err, err_len);
	int rc;

	if (!text)
		return -errno;
	rc = rn_fault_rules_parse(text, path, rules, err, err_len);
	free(text);
	return rc;
}

/* ---------------------------------------------------------------------- any form */
int rn_fault_read(const char *text, struct rn_fault_rules *rules, char *err,
		  size_t err_len)
{
	struct rn_fault_spec spec;

	if (*text == '@')
		return load_rules(text + 1, rules, err, err_len);
	if (rn_fault_parse(text, &spec, err, err_len) == 0) {
		make_rules(&spec, rules);
		return 0;
	}
	/* One word that is no rule either was meant as the short form. */
	if (!strpbrk(text, " \t\n;") && strchr(text, '=') &&
	    rn_fault_rules_parse(text, "rule", rules, NULL, 0))
		return -EINVAL;
	return rn_fault_rules_parse(text, "rule", rules, err, err_len);
}
