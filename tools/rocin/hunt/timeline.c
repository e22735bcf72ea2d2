/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timeline.c - makes a timeline of a run from its record
 * (sim/pcie/sanitizer/sanitize_schedule.c): the events around its late writes, in order,
 * from the issue of the first late write until the last one was performed.
 *
 * A read that came before a late write counts as early, unless it belongs to a polling
 * loop and that loop is the event that has performed the write.
 */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "tools/rocin/common/files.h"

static const struct {
	const char *begin;
	enum rn_hunt_row_kind kind;
	bool has_write, has_by;
} lines[] = {
	{ "late ", RN_HUNT_ISSUED, true, false },
	{ "landed ", RN_HUNT_LANDED, true, false },
	{ "read ", RN_HUNT_READ, true, true },
	{ "event ", RN_HUNT_EVENT, false, false },
	{ "ended ", RN_HUNT_PERFORMED, true, true },
};

static const char loop[] = "a load, seen by a loop, of ";

static struct rn_hunt_row *add_row(struct rn_hunt_timeline *t)
{
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct rn_hunt_row *row = realloc(t->row, room * sizeof(*row));

		if (!row)
			return NULL;
		t->row = row;
		t->room = room;
	}
	t->row[t->count] = (struct rn_hunt_row){ 0 };
	return &t->row[t->count++];
}

static void clear_row(struct rn_hunt_row *row)
{
	free(row->write);
	free(row->text);
}

static void drop_row(struct rn_hunt_timeline *t)
{
	clear_row(&t->row[--t->count]);
}

/* Fills in a row. @rest: the text of a line of the record behind its first word. Returns
 * false if the text is invalid, or if there is no memory.
 */
static bool fill_row(struct rn_hunt_row *row, size_t n, const char *rest)
{
	const char *by = lines[n].has_by ? strstr(rest, " by ") : NULL;
	size_t len = by ? (size_t)(by - rest) : strlen(rest);

	row->kind = lines[n].kind;
	if (lines[n].has_by && !by)
		return false;
	if (lines[n].has_write)
		row->write = strndup(rest, len);
	if (by)
		row->text = strdup(by + strlen(" by "));
	else if (!lines[n].has_write)
		row->text = strdup(rest);
	return (row->write || !lines[n].has_write) &&
	       (row->text || (lines[n].has_write && !by));
}

struct reading {
	struct rn_hunt_timeline *t;
	const struct rn_hunt_set *late;
};

/* Returns true if the row belongs to the timeline. Rows before the first late write do
 * not.
 */
static bool is_wanted(const struct reading *r, const struct rn_hunt_row *row)
{
	bool is_late = row->write && rn_hunt_has(r->late, row->write);

	switch (row->kind) {
	case RN_HUNT_ISSUED:
	case RN_HUNT_READ:
	case RN_HUNT_PERFORMED:
		return is_late;
	case RN_HUNT_LANDED:
	case RN_HUNT_EVENT:
		return r->t->count > 1;
	}
	return false;
}

/* Called when the last row says which event has performed (let arrive) a late write.
 * Removes the rows before it that say only that this event has happened.
 */
static void drop_event_before(struct rn_hunt_timeline *t)
{
	struct rn_hunt_row last = t->row[t->count - 1];

	while (t->count > 1 && t->row[t->count - 2].kind == RN_HUNT_EVENT &&
	       !strcmp(t->row[t->count - 2].text, last.text)) {
		clear_row(&t->row[t->count - 2]);
		t->row[t->count - 2] = last;
		t->count--;
	}
}

static int take_line(void *ctx, char *line, unsigned number)
{
	struct reading *r = ctx;

	(void)number;
	for (size_t i = 0; i < RN_ARRAY_SIZE(lines); i++) {
		size_t len = strlen(lines[i].begin);
		struct rn_hunt_row *row;

		if (strncmp(line, lines[i].begin, len) != 0)
			continue;
		row = add_row(r->t);
		if (row && (!fill_row(row, i, line + len) || !is_wanted(r, row)))
			drop_row(r->t);
		else if (row && row->kind == RN_HUNT_PERFORMED)
			drop_event_before(r->t);
	}
	return 0;
}

/* Removes the rows at the end, behind the last one that is about a late write. */
static void end_timeline(struct rn_hunt_timeline *t)
{
	while (t->count && (t->row[t->count - 1].kind == RN_HUNT_EVENT ||
			    t->row[t->count - 1].kind == RN_HUNT_LANDED))
		drop_row(t);
}

/* Row @i is a read of bytes that a late write will change. Returns true if the read
 * belongs to a polling loop, and this loop is the event that later performs the write.
 */
static bool is_of_loop(const struct rn_hunt_timeline *t, size_t i)
{
	for (size_t j = i; j < t->count; j++) {
		const struct rn_hunt_row *row = &t->row[j];

		if (row->kind == RN_HUNT_PERFORMED &&
		    !strcmp(row->write, t->row[i].write))
			return !strncmp(row->text, loop, strlen(loop)) &&
			       !strcmp(row->text + strlen(loop), t->row[i].text);
	}
	return false;
}

void rn_hunt_timeline_read(struct rn_hunt_timeline *t, const char *record,
			   const struct rn_hunt_set *late)
{
	struct reading r = { .t = t, .late = late };

	*t = (struct rn_hunt_timeline){ 0 };
	/* If there is no record, the timeline is empty. */
	(void)rn_file_lines(record, take_line, &r);
	end_timeline(t);
	for (size_t i = 0; i < t->count; i++)
		t->row[i].is_early = t->row[i].kind == RN_HUNT_READ && !is_of_loop(t, i);
}

void rn_hunt_timeline_clear(struct rn_hunt_timeline *t)
{
	while (t->count)
		drop_row(t);
	free(t->row);
	*t = (struct rn_hunt_timeline){ 0 };
}

const char *rn_hunt_row_word(enum rn_hunt_row_kind kind)
{
	static const char *const words[] = {
		[RN_HUNT_ISSUED] = "issued",	   [RN_HUNT_LANDED] = "landed",
		[RN_HUNT_READ] = "read",	   [RN_HUNT_EVENT] = "event",
		[RN_HUNT_PERFORMED] = "performed",
	};

	return words[kind];
}

/* ----------------------------------------------------- names of agents and memories */
/* Copies a word of @text to @name. @n counts words from the end of @text: 0 is the last
 * word.
 */
static void copy_word_from_end(const char *text, unsigned n, char name[RN_HUNT_AGENT_MAX])
{
	const char *end = text + strlen(text), *from;

	for (;;) {
		from = end;
		while (from > text && from[-1] != ' ')
			from--;
		if (n-- == 0 || from == text)
			break;
		end = from - 1;
	}
	snprintf(name, RN_HUNT_AGENT_MAX, "%.*s", (int)(end - from), from);
}

void rn_hunt_row_agent(const struct rn_hunt_row *row, char name[RN_HUNT_AGENT_MAX])
{
	static const char *const of_agent[] = { loop, "a read of " };

	switch (row->kind) {
	case RN_HUNT_ISSUED:
	case RN_HUNT_LANDED:
		snprintf(name, RN_HUNT_AGENT_MAX, "%.*s", (int)strcspn(row->write, " "),
			 row->write);
		return;
	case RN_HUNT_READ:
		snprintf(name, RN_HUNT_AGENT_MAX, "%s", row->text);
		return;
	case RN_HUNT_EVENT:
	case RN_HUNT_PERFORMED:
		snprintf(name, RN_HUNT_AGENT_MAX, "cpu");
		for (size_t i = 0; i < RN_ARRAY_SIZE(of_agent); i++)
			if (!strncmp(row->text, of_agent[i], strlen(of_agent[i])))
				copy_word_from_end(row->text, 0, name);
		return;
	}
}

/* The name of a write ends in "MEMORY page N". */
void rn_hunt_row_memory(const struct rn_hunt_row *row, char name[RN_HUNT_AGENT_MAX])
{
	*name = '\0';
	if (row->write)
		copy_word_from_end(row->write, 2, name);
}
