/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_files.c - finds scenario files, runs what they say; reads lists of rules. */
#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "tools/rocin/common/cmd.h"

enum {
	FILE_MAX = 1 << 16, /* bytes */
};

/* The whole file; its length or -errno. The caller frees @text. */
static ssize_t read_file(const char *path, char **text, size_t max)
{
	FILE *f = fopen(path, "re");
	ssize_t len = -errno;

	*text = NULL;
	if (!f)
		return len;
	*text = malloc(max + 1);
	len = *text ? (ssize_t)fread(*text, 1, max + 1, f) : -ENOMEM;
	if (len >= 0 && ferror(f))
		len = -EIO;
	else if (len > (ssize_t)max)
		len = -EFBIG;
	fclose(f);
	return len;
}

static int add_case(struct rn_conform *c, const char *file, const struct rn_scenario *s,
		    const struct rn_scene_result *result)
{
	struct rn_conform_case *more = realloc(c->run, (c->count + 1) * sizeof(*c->run));
	struct rn_conform_case *new;

	if (!more)
		return -ENOMEM;
	c->run = more;
	new = &c->run[c->count];
	*new = (struct rn_conform_case){ .file = strdup(file), .rules = s->rules };
	if (!new->file)
		return -ENOMEM;
	memcpy(new->title, s->title, sizeof(new->title));
	memcpy(new->rule, s->rule, sizeof(new->rule));
	new->result = *result;
	c->count++;
	c->skipped += result->skipped;
	c->failed += !result->passed && !result->skipped;
	c->slowly += result->slowly;
	return 0;
}

static void run(const struct rn_scenario *s, const struct rn_scene_ops *ops, void *ctx,
		struct rn_scene_result *result)
{
	rn_scene_run(s, ops, ctx, result);
	if (result->passed || result->skipped || !ops->slower)
		return;
	rn_scene_run(s, ops->slower, ctx, result);
	result->slowly = result->passed;
}

static int run_file(struct rn_conform *c, const char *file,
		    const struct rn_scene_ops *ops, void *ctx)
{
	struct rn_scenario *s = malloc(sizeof(*s));
	struct rn_scene_result result;
	struct rn_scn_error err;
	char *text = NULL;
	ssize_t len = s ? read_file(file, &text, FILE_MAX) : -ENOMEM;
	int rc = len < 0 ? (int)len : 0;

	if (rc) {
		rn_complain("%s: %s", file, strerror(-rc));
	} else {
		rc = rn_scenario_parse(s, text, (size_t)len, &err);
		if (rc)
			rn_complain("%s:%u:%u: %s", file, err.line, err.column,
				    err.sentence);
	}
	if (!rc) {
		run(s, ops, ctx, &result);
		rc = add_case(c, file, s, &result);
	}
	free(text);
	free(s);
	return rc;
}

static bool is_scenario(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".scn");
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int rn_conform_run(struct rn_conform *c, const char *path, const struct rn_scene_ops *ops,
		   void *ctx)
{
	char *paths[] = { strdup(path), NULL };
	FTS *tree = paths[0] ? fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name) : NULL;
	size_t before = c->count;
	FTSENT *e;
	int rc = tree ? 0 : -errno;

	while (!rc && (e = fts_read(tree))) {
		if (e->fts_info == FTS_F &&
		    (e->fts_level == FTS_ROOTLEVEL || is_scenario(e->fts_name)))
			rc = run_file(c, e->fts_path, ops, ctx);
		else if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR ||
			 e->fts_info == FTS_ERR) {
			rc = -e->fts_errno;
			rn_complain("%s: %s", e->fts_path, strerror(-rc));
		}
	}
	if (tree)
		fts_close(tree);
	free(paths[0]);
	if (!rc && c->count == before) {
		rn_complain("%s: no scenario, *.scn", path);
		rc = -ENOENT;
	}
	return rc;
}

/* ---------------------------------------------------------------------- rules */
static int add_rule(struct rn_conform *c, const char *at, size_t len)
{
	char **more = realloc(c->rule, (c->rule_count + 1) * sizeof(char *));

	if (!more)
		return -ENOMEM;
	c->rule = more;
	c->rule[c->rule_count] = strndup(at, len);
	return c->rule[c->rule_count++] ? 0 : -ENOMEM;
}

/* "| B5 | ..." names B5. */
static int rule_of_line(struct rn_conform *c, const char *line, const char *end)
{
	const char *at = line + 2, *to;

	if (end - line < 5 || strncmp(line, "| ", 2) != 0 || !isupper((unsigned char)*at))
		return 0;
	for (to = at + 1; to < end && isdigit((unsigned char)*to);)
		to++;
	if (to == at + 1 || to >= end || *to != ' ')
		return 0;
	return add_rule(c, at, (size_t)(to - at));
}

int rn_conform_read_rules(struct rn_conform *c, const char *path)
{
	char *text = NULL;
	ssize_t len = read_file(path, &text, 1 << 20);
	int rc = len < 0 ? (int)len : 0;

	for (char *line = text; !rc && line < text + len;) {
		char *newline = memchr(line, '\n', (size_t)(text + len - line));
		char *end = newline ? newline : text + len;

		rc = rule_of_line(c, line, end);
		line = end + 1;
	}
	if (!rc && !c->rule_count)
		rc = -ENOMSG;
	if (rc)
		rn_complain("%s: %s", path,
			    rc == -ENOMSG ? "no table with rules" : strerror(-rc));
	free(text);
	return rc;
}

bool rn_conform_covers(const struct rn_conform *c, const char *rule)
{
	for (size_t i = 0; i < c->count; i++)
		for (unsigned k = 0; c->run[i].result.passed && k < c->run[i].rules; k++)
			if (!strcmp(c->run[i].rule[k], rule))
				return true;
	return false;
}

void rn_conform_free(struct rn_conform *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->run[i].file);
	for (size_t i = 0; i < c->rule_count; i++)
		free(c->rule[i]);
	free(c->run);
	free(c->rule);
	*c = (struct rn_conform){ 0 };
}
