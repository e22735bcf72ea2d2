/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_ladder_text.c - a sequence diagram in a terminal. */
#include <inttypes.h>
#include <string.h>

#include "dump_ladder.h"

enum {
	WIDTH_MAX = 200, /* between the two lines */
	WIDTH = 76,	 /* unless the caller says how much */
	INDENT = RN_LADDER_INDENT,
	PAUSE = 1000000, /* ns: a silence that is shown */
};

/* The stroke of an arrow and its colour. */
static const struct {
	char stroke;
	const char *colour;
} looks[RN_LADDER_LOOKS] = {
	[RN_LADDER_REQUEST] = { '-', "" },	[RN_LADDER_AGAIN] = { '=', "\033[33m" },
	[RN_LADDER_DATA] = { '-', "\033[36m" }, [RN_LADDER_ACK] = { '-', "\033[32m" },
	[RN_LADDER_NAK] = { '~', "\033[31m" },	[RN_LADDER_NOTIFY] = { '~', "\033[35m" },
};

static int width_of(const struct rn_ladder_text *t)
{
	int width = t->columns ? (int)t->columns - INDENT - 2 : WIDTH;

	return width < WIDTH_MAX ? width : WIDTH_MAX;
}

static void head(struct rn_ladder_text *t, const struct rn_watch *w, uint32_t ladder)
{
	char end[RN_LADDER_END_MAX], right[RN_LADDER_END_MAX + 16];
	int used, room;

	fprintf(t->to, "%s%*s", t->ladder == RN_WATCH_NONE ? "" : "\n", INDENT, "");
	used = fprintf(t->to, "%s%s%s", t->left ? t->left : "", t->left ? ": " : "",
		       rn_ladder_end(w, ladder, false, end));
	snprintf(right, sizeof(right), "%.13s%s%s", t->right ? t->right : "",
		 t->right ? ": " : "", rn_ladder_end(w, ladder, true, end));
	room = width_of(t) + 2 - used;
	fprintf(t->to, "%*s\n", room > 0 ? room : 0, right);
	t->ladder = ladder;
}

/* Words beside the left line; in a line of known length they go on in the next. */
static void side_words(const struct rn_ladder_text *t, const char *mark, const char *text)
{
	char words[RN_DUMP_SAID_MAX + 32];
	const char *at = words, *indent = "";
	size_t room = t->columns ? (size_t)width_of(t) - 3 : sizeof(words);

	snprintf(words, sizeof(words), "%s%s%s", mark, mark[0] ? " " : "", text);
	while (strlen(at) + strlen(indent) > room) {
		size_t len = room - strlen(indent);

		while (len > 0 && at[len] != ' ')
			len--;
		if (len == 0) /* a word without end */
			break;
		fprintf(t->to, "%*s|   %s%.*s\n", INDENT, "", indent, (int)len, at);
		at += len + 1;
		indent = "  ";
	}
	fprintf(t->to, "%*s|   %s%s\n", INDENT, "", indent, at);
}

/* "--- SEND_ONLY psn 17 len 8 ------------->" between two lines. A note that has no room
 * stands below.
 */
static void arrow(const struct rn_ladder_text *t, const struct rn_ladder_row *row,
		  bool to_right)
{
	char body[WIDTH_MAX + 1], text[RN_LADDER_LABEL_MAX + RN_DUMP_NOTE_MAX + 8];
	size_t len, width = (size_t)width_of(t), room = width - 8;
	bool has_note =
		row->note[0] && strlen(row->label) + strlen(row->note) + 5 <= room;

	snprintf(text, sizeof(text), " %s%s%s%s ", row->label, has_note ? " (" : "",
		 has_note ? row->note : "", has_note ? ")" : "");
	len = strlen(text);
	if (len > room) {
		len = room;
		text[len - 1] = ' ';
		text[len - 2] = text[len - 3] = '.';
	}
	memset(body, looks[row->look].stroke, width);
	body[width] = '\0';
	memcpy(body + 4, text, len);
	body[to_right ? width - 1 : 0] = to_right ? '>' : '<';
	fprintf(t->to, "%*.6f  |%s%s%s|\n", INDENT - 2, (double)row->at / 1e9,
		t->has_colour ? looks[row->look].colour : "", body,
		t->has_colour && looks[row->look].colour[0] ? "\033[0m" : "");
	if (row->note[0] && !has_note)
		side_words(t, "", row->note);
}

/* What belongs to no connection is a line as ever. */
static void stray(struct rn_ladder_text *t, const struct rn_dump_packet *d)
{
	rn_dump_line(&(struct rn_dump_lines){ .to = t->to }, d);
	t->ladder = RN_WATCH_NONE;
}

bool rn_ladder_print(void *ctx, const struct rn_dump_packet *d)
{
	struct rn_ladder_text *t = ctx;
	struct rn_ladder_row row;
	uint32_t ladder;
	char text[RN_DUMP_SAID_MAX];

	if (!rn_ladder_row(&row, d)) {
		stray(t, d);
		return true;
	}
	ladder = rn_ladder_of(d->watch, row.half);
	if (ladder != t->ladder)
		head(t, d->watch, ladder);
	else if (row.at - t->at >= PAUSE)
		side_words(t, ":", rn_dump_time(row.at - t->at, text));
	if (d->shows_owner) {
		rn_dump_owner_words(d, text);
		side_words(t, "#", text);
	}
	arrow(t, &row, rn_ladder_is_to_right(d->watch, &row));
	if (d->comment && d->comment[0])
		side_words(t, "#", d->comment);
	for (unsigned i = 0; i < d->remark->findings; i++) {
		rn_dump_finding(&d->remark->finding[i], text);
		side_words(t,
			   d->remark->finding[i].level == RN_WATCH_VIOLATION
				   ? "! violation:"
				   : "? suspicion:",
			   text);
	}
	t->at = row.at;
	return true;
}

void rn_ladder_print_arrival(void *ctx, const struct rn_dump_arrival *a)
{
	const struct rn_ladder_text *t = ctx;
	char text[RN_DUMP_SAID_MAX];

	if (t->ladder == RN_WATCH_NONE) {
		rn_dump_line_arrival(&(struct rn_dump_lines){ .to = t->to }, a);
		return;
	}
	rn_dump_arrival_words(a, text);
	side_words(t, "#", text);
}
