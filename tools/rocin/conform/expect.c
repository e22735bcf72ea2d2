/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* expect.c - signatures of failures, and profiles that list the known deviations of a
 * device; see expect.h.
 */
#include "expect.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"

/* ----------------------------------------------------------- signatures of failures */

/* Appends the words of @text to the signature @buf. Leaves out each number, together with
 * the name of the field before it. Only the number of an errno stays.
 */
static void add_words(char *buf, size_t size, const char *text)
{
	size_t used = strlen(buf), before = used;

	while (*text) {
		size_t space = strspn(text, " "), len = strcspn(text + space, " ");
		const char *word = text + space;
		bool is_errno = used >= 5 && !strncmp(buf + used - 5, "errno", 5);

		if (isdigit((unsigned char)*word) && !is_errno) {
			used = before;
		} else if (len > 0 && used + len + 2 < size) {
			before = used;
			if (used > 0)
				buf[used++] = ' ';
			memcpy(buf + used, word, len);
			used += len;
		}
		buf[used] = '\0';
		text = word + len;
	}
}

/* Returns true if the rest of @text, from offset @len on, is a number and not that of an
 * errno.
 */
static bool is_last_number(const char *text, size_t len)
{
	size_t digits = strspn(text + len, "0123456789");

	return digits > 0 && !text[len + digits] && len >= 6 &&
	       !isdigit((unsigned char)text[len - 1]) &&
	       strncmp(text + len - 6, "errno ", 6) != 0;
}

/* Returns true if @text begins with a time, such as ", 12us after the line before". */
static bool is_time(const char *text)
{
	return (*text == ',' || *text == ':') && text[1] == ' ' &&
	       isdigit((unsigned char)text[2]);
}

/* Appends the words of @what, the text of a failure, to the signature @buf. Leaves out a
 * time or a number at its end.
 */
static void add_what(char *buf, size_t size, const char *what)
{
	char text[sizeof(((struct rn_scene_result *)0)->what)];
	size_t len = 0;

	while (what[len] && len + 1 < sizeof(text) && !is_time(what + len) &&
	       !is_last_number(what, len)) {
		text[len] = what[len];
		len++;
	}
	while (len > 0 && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
	snprintf(buf, size, "%s", text);
}

void rn_conform_signature(const struct rn_scene_result *r, char *buf, size_t size)
{
	add_what(buf, size, r->what);
	if (*r->came) {
		add_words(buf, size, "| came");
		add_words(buf, size, r->came);
	}
	if (*r->expected) {
		add_words(buf, size, "| expected");
		add_words(buf, size, r->expected);
	}
}

const char *rn_conform_short_name(const char *path)
{
	const char *name = strrchr(path, '/');

	while (name && name > path && name[-1] != '/')
		name--;
	return name ? name : path;
}

/* ----------------------------------------------------- profiles of known deviations */
struct reader {
	struct rn_expect *e;
	const char *path;
};

static int complain_at(const struct reader *r, unsigned number, const char *what)
{
	rn_complain("%s:%u: %s", r->path, number, what);
	return -EINVAL;
}

static int add_deviation(struct rn_expect *e, const char *name)
{
	struct rn_expect_deviation *more =
		realloc(e->deviation, (e->deviations + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	e->deviation = more;
	more[e->deviations] = (struct rn_expect_deviation){ .name = strdup(name) };
	return more[e->deviations++].name ? 0 : -ENOMEM;
}

/* Adds a failure to the profile, from a line "fails FILE SIGNATURE". @text: the line
 * without its first word.
 */
static int add_failure(struct rn_expect *e, const char *text)
{
	size_t len = strcspn(text, " ");
	struct rn_expect_failure *more =
		realloc(e->failure, (e->failures + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	e->failure = more;
	more += e->failures++;
	*more = (struct rn_expect_failure){
		.deviation = e->deviations - 1,
		.file = strndup(text, len),
		.signature = strdup(text + len + strspn(text + len, " ")),
	};
	return more->file && more->signature ? 0 : -ENOMEM;
}

/* Appends @text to the sentences about a deviation in *@to. A sentence may take several
 * lines of the profile.
 */
static int add_text(char **to, const char *text)
{
	char *more = NULL;

	if (asprintf(&more, "%s%s%s", *to ? *to : "", *to ? " " : "", text) < 0)
		return -ENOMEM;
	free(*to);
	*to = more;
	return 0;
}

static int read_line(void *ctx, char *line, unsigned number)
{
	struct reader *r = ctx;
	struct rn_expect *e = r->e;
	struct rn_expect_deviation *d =
		e->deviations ? &e->deviation[e->deviations - 1] : NULL;
	size_t word = strcspn(line, " \t");
	char *text = line + word + strspn(line + word, " \t");

	if (*line == '#' || !*line)
		return 0;
	line[word] = '\0';
	if (!*text)
		return complain_at(r, number, "a word without a text");
	if (!strcmp(line, "deviation"))
		return add_deviation(e, text);
	if (!d)
		return complain_at(r, number, "no `deviation' before this line");
	if (!strcmp(line, "says"))
		return add_text(&d->says, text);
	if (!strcmp(line, "rule"))
		return add_text(&d->rule, text);
	if (!strcmp(line, "source"))
		return add_text(&d->source, text);
	if (!strcmp(line, "fails") && strchr(text, ' '))
		return add_failure(e, text);
	return complain_at(
		r, number,
		"neither deviation, says, rule, source, nor fails FILE SIGNATURE");
}

int rn_expect_read(struct rn_expect *e, const char *path)
{
	struct reader r = { e, path };
	int rc = rn_file_lines(path, read_line, &r);

	if (rc && rc != -EINVAL)
		rn_complain("%s: %s", path, strerror(-rc));
	return rc;
}

int rn_expect_note(struct rn_expect *e, const char *file, const char *signature)
{
	const char *name = rn_conform_short_name(file);
	int found = RN_EXPECT_NONE;

	for (size_t i = 0; i < e->failures; i++) {
		struct rn_expect_failure *f = &e->failure[i];

		if (fnmatch(f->file, name, 0) != 0)
			continue;
		f->was_run = true;
		if (!signature || fnmatch(f->signature, signature, 0) != 0)
			continue;
		f->was_seen = true;
		if (found == RN_EXPECT_NONE) {
			found = (int)f->deviation;
			e->deviation[found].scenarios++;
		}
	}
	return found;
}

bool rn_expect_is_repaired(const struct rn_expect_failure *f)
{
	return f->was_run && !f->was_seen;
}

void rn_expect_free(struct rn_expect *e)
{
	for (size_t i = 0; i < e->deviations; i++) {
		free(e->deviation[i].name);
		free(e->deviation[i].says);
		free(e->deviation[i].rule);
		free(e->deviation[i].source);
	}
	for (size_t i = 0; i < e->failures; i++) {
		free(e->failure[i].file);
		free(e->failure[i].signature);
	}
	free(e->deviation);
	free(e->failure);
	*e = (struct rn_expect){ 0 };
}
