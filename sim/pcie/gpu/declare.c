/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* declare.c - parses the rules that make registered memory count as a GPU's memory, and
 * finds the rule that matches a registration; see declare.h.
 */
#include "declare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/mr.h"

enum {
	WORD_MAX = 128,
	GPUS = 4,
};

struct parser {
	char *err;
	size_t err_len;
};

static int refuse_word(const struct parser *p, const char *word, const char *why)
{
	if (p->err_len > 0)
		snprintf(p->err, p->err_len, "device memory rule: \"%s\" %s", word, why);
	return -EINVAL;
}

/* ------------------------------------------ values of the words of a rule */
static bool read_size(const char *text, uint64_t *value)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno)
		return false;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (*end || *value > UINT64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

/* Parses a hexadecimal number that begins with 0x and ends at character @stop. */
static bool read_address(const char *text, char stop, const char **after, uint64_t *value)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0)
		return false;
	errno = 0;
	*value = strtoull(text, &end, 16);
	if (errno || *end != stop || end == text + 2)
		return false;
	*after = end + (stop != '\0');
	return true;
}

static bool set_size_min(struct rn_declare_rule *r, const char *value)
{
	return read_size(value, &r->size_min);
}

static bool set_size_max(struct rn_declare_rule *r, const char *value)
{
	return read_size(value, &r->size_max);
}

static bool set_range(struct rn_declare_rule *r, const char *value)
{
	return read_address(value, '-', &value, &r->lo) &&
	       read_address(value, '\0', &value, &r->hi) && r->lo < r->hi;
}

static bool set_access(struct rn_declare_rule *r, const char *value)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} flags[] = {
		{ "relaxed", RN_ACCESS_RELAXED_ORDERING },
		{ "remote-write", RN_ACCESS_REMOTE_WRITE },
		{ "remote-read", RN_ACCESS_REMOTE_READ },
		{ "remote-atomic", RN_ACCESS_REMOTE_ATOMIC },
		{ "local-write", RN_ACCESS_LOCAL_WRITE },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(flags); i++) {
		if (strcmp(value, flags[i].name) == 0) {
			r->access |= flags[i].flag;
			return true;
		}
	}
	return false;
}

static bool set_program(struct rn_declare_rule *r, const char *value)
{
	size_t len = strlen(value);

	if (!len || len >= sizeof(r->program))
		return false;
	memcpy(r->program, value, len + 1);
	return true;
}

static bool set_gpu(struct rn_declare_rule *r, const char *value)
{
	if (value[0] < '0' || value[0] >= '0' + GPUS || value[1])
		return false;
	r->gpu = value[0] - '0';
	return true;
}

static const struct word {
	const char *prefix;
	bool (*set)(struct rn_declare_rule *r, const char *value);
	const char *wants;
} words[] = {
	{ "size>=", set_size_min, "is not size>=BYTES (suffix K, M or G)" },
	{ "size<=", set_size_max, "is not size<=BYTES (suffix K, M or G)" },
	{ "range=", set_range, "is not range=0xFIRST-0xEND" },
	{ "access=", set_access,
	  "is not access=relaxed, remote-write, remote-read, remote-atomic or "
	  "local-write" },
	{ "program=", set_program, "is not program=NAME of at most 63 bytes" },
	{ "gpu=", set_gpu, "is not gpu=0 to gpu=3" },
};

/* Parses one rule, which ends before '|' or at the end of the text. */
static int parse_word(struct rn_declare_rule *r, const char *word, const struct parser *p)
{
	if (strcmp(word, "all") == 0)
		return 0;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i].prefix);

		if (strncmp(word, words[i].prefix, len) == 0)
			return words[i].set(r, word + len)
				       ? 0
				       : refuse_word(p, word, words[i].wants);
	}
	return refuse_word(
		p, word,
		"is none of all, size>=, size<=, range=, access=, program=, gpu=");
}

/* Copies the text from *@at up to the next character of @stops into @word, and moves *@at
 * to that character.
 */
static int next_word(const char **at, const char *stops, char word[WORD_MAX],
		     const struct parser *p)
{
	size_t len = strcspn(*at, stops);

	if (len == 0)
		return refuse_word(p, *at, "begins with an empty word");
	if (len >= WORD_MAX)
		return refuse_word(p, *at, "has a word that is too long");
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return 0;
}

/* Parses one rule, up to '|' or the end. */
static int parse_rule(struct rn_declare_rule *r, const char **at, const struct parser *p)
{
	char word[WORD_MAX];
	int err;

	*r = (struct rn_declare_rule){ .size_max = UINT64_MAX, .hi = UINT64_MAX };
	for (;;) {
		err = next_word(at, ";|", word, p);
		if (!err)
			err = parse_word(r, word, p);
		if (err || **at != ';')
			return err;
		++*at;
	}
}

int rn_declare_parse(struct rn_declare *out, const char *text, char *err, size_t err_len)
{
	struct parser p = { .err = err, .err_len = err_len };
	struct rn_declare d = { 0 };
	const char *at = text;
	int failed;

	for (;;) {
		if (d.count == RN_DECLARE_RULES)
			return refuse_word(&p, at, "is one rule too many (16 at most)");
		failed = parse_rule(&d.rule[d.count++], &at, &p);
		if (failed)
			return failed;
		if (*at != '|')
			break;
		at++;
	}
	*out = d;
	return 0;
}

/* ------------------------ search for the rule that matches a registration */
static bool is_match(const struct rn_declare_rule *r, const char *program, uint64_t addr,
		     uint64_t len, uint32_t access)
{
	return len >= r->size_min && len <= r->size_max && addr >= r->lo &&
	       addr <= r->hi && len <= r->hi - addr &&
	       (access & r->access) == r->access &&
	       (!r->program[0] || strcmp(r->program, program) == 0);
}

int rn_declare_match(const struct rn_declare *d, const char *program, uint64_t addr,
		     uint64_t len, uint32_t access)
{
	for (unsigned i = 0; i < d->count; i++)
		if (is_match(&d->rule[i], program, addr, len, access))
			return d->rule[i].gpu;
	return -1;
}
