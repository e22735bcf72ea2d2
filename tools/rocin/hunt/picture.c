/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* picture.c - draws a timeline of a run. Each agent and each memory has a lane, each
 * event has a row, and time runs downward. A late write is an arrow from the row in which
 * it was issued to the row in which it reached its memory. A read that came too early is
 * marked.
 */
#include <errno.h>
#include <string.h>

#include "timeline.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/html.h"

enum {
	LANES_MAX = 16,
	LANE_WIDTH = 110,
	WORDS_WIDTH = 640, /* width of the column of sentences beside the lanes */
	ROW = 24,
	TOP = 64, /* y coordinate of the first row */
	TIP = 12, /* length of the last, horizontal part of an arrow */
	ROWS_MAX = 60,
	WORDS_MAX = 512,
};

static const char style[] =
	"svg{background:#fff}"
	"svg text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#222}"
	"svg .head{font-weight:600}svg .lane{stroke:#ccc}svg .dim{fill:#777}"
	"svg line.late{stroke:#b35900;stroke-width:2}svg polygon.late{fill:#b35900}"
	"svg line.never{stroke:#b35900;stroke-width:2;stroke-dasharray:5 3}"
	"svg line.landed{stroke:#2060a0}svg polygon.landed{fill:#2060a0}"
	"svg line.read{stroke:#888;stroke-dasharray:2 3}svg circle{fill:#444}"
	"svg .mark{fill:#fde4e1;stroke:#b00020}svg text.early{fill:#b00020;"
	"font-weight:700}";

struct picture {
	FILE *to;
	const struct rn_hunt_timeline *t;
	const char *title;
	char lane[LANES_MAX][RN_HUNT_AGENT_MAX];
	unsigned lanes;
	/* true: rows of kind RN_HUNT_LANDED, or of kind RN_HUNT_EVENT, are drawn */
	bool has_landed, has_events;
};

/* -------------------------------------------------------------- rows of the picture */
static bool is_drawn(const struct picture *p, const struct rn_hunt_row *row)
{
	return (row->kind != RN_HUNT_LANDED || p->has_landed) &&
	       (row->kind != RN_HUNT_EVENT || p->has_events);
}

static size_t drawn_rows(const struct picture *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->t->count; i++)
		count += is_drawn(p, &p->t->row[i]);
	return count;
}

/* Leaves out rows if there are more than ROWS_MAX: first writes that were not late, then
 * events. These rows tell least about the error.
 */
static void choose_rows(struct picture *p)
{
	p->has_landed = p->has_events = true;
	if (drawn_rows(p) > ROWS_MAX)
		p->has_landed = false;
	if (drawn_rows(p) > ROWS_MAX)
		p->has_events = false;
}

static size_t rows_of(const struct picture *p)
{
	size_t count = drawn_rows(p);

	return count < ROWS_MAX ? count : ROWS_MAX;
}

/* Returns the y coordinate of row @i of the timeline, or 0 if this row is not drawn. */
static double row_y(const struct picture *p, size_t i)
{
	size_t place = 0;

	if (!is_drawn(p, &p->t->row[i]))
		return 0;
	for (size_t k = 0; k < i; k++)
		place += is_drawn(p, &p->t->row[k]);
	return place < ROWS_MAX ? TOP + (double)place * ROW + ROW / 2.0 : 0;
}

static double bottom_of(const struct picture *p)
{
	return TOP + (double)rows_of(p) * ROW + ROW;
}

/* ----------------------------------------------------- lanes of agents and memories */
static unsigned find_lane(const struct picture *p, const char *name)
{
	unsigned i = 0;

	while (i < p->lanes && strcmp(p->lane[i], name) != 0)
		i++;
	return i;
}

static void add_lane(struct picture *p, const char *name)
{
	if (!*name || find_lane(p, name) < p->lanes || p->lanes == LANES_MAX)
		return;
	snprintf(p->lane[p->lanes++], RN_HUNT_AGENT_MAX, "%s", name);
}

/* Adds the lanes (columns of agents and memories) to the picture: first those of the
 * devices that write, then those of the agents that read, then those of the memories.
 */
static void add_lanes(struct picture *p)
{
	char name[RN_HUNT_AGENT_MAX];

	for (unsigned turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < p->t->count; i++) {
			const struct rn_hunt_row *row = &p->t->row[i];
			bool is_write = row->kind == RN_HUNT_ISSUED ||
					row->kind == RN_HUNT_LANDED;

			if (!is_drawn(p, row) || (turn == 0 && !is_write))
				continue;
			if (turn < 2)
				rn_hunt_row_agent(row, name);
			else
				rn_hunt_row_memory(row, name);
			add_lane(p, name);
		}
}

static double lane_x(const struct picture *p, const char *name)
{
	return (find_lane(p, name) + 0.5) * LANE_WIDTH;
}

static double agent_x(const struct picture *p, const struct rn_hunt_row *row)
{
	char name[RN_HUNT_AGENT_MAX];

	rn_hunt_row_agent(row, name);
	return lane_x(p, name);
}

static double memory_x(const struct picture *p, const struct rn_hunt_row *row)
{
	char name[RN_HUNT_AGENT_MAX];

	rn_hunt_row_memory(row, name);
	return lane_x(p, name);
}

static const char *shown_name(const char *lane)
{
	if (!strcmp(lane, "cpu"))
		return "program";
	return strcmp(lane, "host") != 0 ? lane : "host memory";
}

static void draw_lanes(const struct picture *p)
{
	for (unsigned i = 0; i < p->lanes; i++) {
		double x = (i + 0.5) * LANE_WIDTH;

		rn_svg_text(p->to, "class='head'", x, TOP - 14, "middle", "%s",
			    shown_name(p->lane[i]));
		rn_svg_line(p->to, "class='lane'", x, TOP - 6, x, bottom_of(p));
	}
}

/* ----------------------------------------------------------------- drawing each row */
/* Draws an arrow whose last part is horizontal. @at: x and y of its start, then x and y
 * of its end.
 */
static void draw_arrow(const struct picture *p, const char *look, const char *line_look,
		       const double at[4])
{
	double side = at[2] < at[0] ? 1 : -1, x = at[2] + side * TIP;

	rn_svg_line(p->to, line_look, at[0], at[1], x, at[3]);
	rn_svg_line(p->to, line_look, x, at[3], at[2], at[3]);
	rn_svg_triangle(p->to, look,
			(const double[6]){ at[2], at[3], at[2] + side * 8, at[3] - 4,
					   at[2] + side * 8, at[3] + 4 },
			NULL);
}

/* Returns the y coordinate of the row in which the last part of a late write has reached
 * its memory; 0 if there is no such row. @i: number of the row in which the write was
 * issued.
 */
static double arrival_y(const struct picture *p, size_t i)
{
	double end = 0;

	for (size_t k = i + 1; k < p->t->count; k++) {
		const struct rn_hunt_row *row = &p->t->row[k];

		if (!row->write || strcmp(row->write, p->t->row[i].write) != 0)
			continue;
		if (row->kind == RN_HUNT_ISSUED && end > 0)
			break;
		if (row->kind == RN_HUNT_PERFORMED)
			end = row_y(p, k);
	}
	return end;
}

/* Draws the arrow of a late write, from row @i, in which it was issued, to its memory. */
static void draw_late(const struct picture *p, size_t i)
{
	const struct rn_hunt_row *row = &p->t->row[i];
	double end = arrival_y(p, i);

	draw_arrow(p, "class='late'", end > 0 ? "class='late'" : "class='never'",
		   (const double[4]){ agent_x(p, row), row_y(p, i), memory_x(p, row),
				      end > 0 ? end : bottom_of(p) });
}

static void draw_row(const struct picture *p, size_t i)
{
	const struct rn_hunt_row *row = &p->t->row[i];
	double y = row_y(p, i), x = agent_x(p, row);

	if (row->is_early)
		rn_svg_rect(p->to, "class='mark' rx='4'",
			    (struct rn_svg_box){ x - LANE_WIDTH / 2.0 + 6, y - 10,
						 LANE_WIDTH - 12, 20 },
			    NULL);
	if (row->kind == RN_HUNT_ISSUED)
		draw_late(p, i);
	if (row->kind == RN_HUNT_LANDED)
		draw_arrow(p, "class='landed'", "class='landed'",
			   (const double[4]){ x, y, memory_x(p, row), y });
	if (row->kind == RN_HUNT_READ)
		rn_svg_line(p->to, "class='read'", memory_x(p, row), y, x, y);
	rn_svg_circle(p->to, "", row->kind == RN_HUNT_PERFORMED ? memory_x(p, row) : x, y,
		      3, NULL);
}

static void describe_row(const struct rn_hunt_row *row, char words[WORDS_MAX])
{
	switch (row->kind) {
	case RN_HUNT_ISSUED:
		snprintf(words, WORDS_MAX, "issued, and late: %s", row->write);
		return;
	case RN_HUNT_LANDED:
		snprintf(words, WORDS_MAX, "lands at once: %s", row->write);
		return;
	case RN_HUNT_READ:
		snprintf(words, WORDS_MAX, "%s %s",
			 row->is_early ? "reads too early, before"
				       : "looks in a loop, before",
			 row->write);
		return;
	case RN_HUNT_EVENT:
		snprintf(words, WORDS_MAX, "%s", row->text);
		return;
	case RN_HUNT_PERFORMED:
		snprintf(words, WORDS_MAX, "arrives by %s", row->text);
		return;
	}
}

static void draw_words(const struct picture *p, size_t i)
{
	const struct rn_hunt_row *row = &p->t->row[i];
	char words[WORDS_MAX];

	describe_row(row, words);
	rn_svg_text(p->to,
		    row->is_early		 ? "class='early'"
		    : row->kind == RN_HUNT_EVENT ? "class='dim'"
						 : "",
		    p->lanes * LANE_WIDTH + 8.0, row_y(p, i) + 4, NULL, "%s", words);
}

/* Says below the picture what its lines stand for. */
static void draw_legend(const struct picture *p)
{
	static const struct {
		const char *look, *says;
	} row[] = {
		{ "class='late key'", "issued, and arrived late" },
		{ "class='never key'", "had not arrived at the end" },
		{ "class='landed key'", "arrived" },
		{ "class='read key'", "read" },
	};
	double x = 8, y = bottom_of(p) + ROW;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(row); i++) {
		rn_svg_line(p->to, row[i].look, x, y, x + 26, y);
		rn_svg_text(p->to, "class='dim'", x + 32, y + 4, NULL, "%s", row[i].says);
		x += 32 + 7.4 * (double)strlen(row[i].says) + 20;
	}
	rn_svg_rect(p->to, "class='mark key' rx='4'",
		    (struct rn_svg_box){ x, y - 7, 26, 14 }, NULL);
	rn_svg_text(p->to, "class='dim'", x + 32, y + 4, NULL, "read too early");
}

static int draw(FILE *to, const void *what)
{
	struct picture p = *(const struct picture *)what;
	size_t left_out;

	p.to = to;
	choose_rows(&p);
	add_lanes(&p);
	rn_svg_begin(to, &(struct rn_svg_picture){
				 .width = p.lanes * LANE_WIDTH + WORDS_WIDTH,
				 .height = (unsigned)bottom_of(&p) + 2 * ROW,
				 .title = p.title,
				 .style = { style },
			 });
	rn_svg_background(to);
	rn_svg_text(to, "class='head'", 8, 20, NULL, "%s", p.title);
	draw_lanes(&p);
	for (size_t i = 0; i < p.t->count; i++)
		if (row_y(&p, i) > 0)
			draw_row(&p, i);
	for (size_t i = 0; i < p.t->count; i++)
		if (row_y(&p, i) > 0)
			draw_words(&p, i);
	left_out = p.t->count - rows_of(&p);
	if (left_out)
		rn_svg_text(to, "class='dim'", p.lanes * LANE_WIDTH + 8.0, bottom_of(&p),
			    NULL, "%zu more events are not drawn", left_out);
	draw_legend(&p);
	rn_svg_end(to);
	return ferror(to) ? -EIO : 0;
}

int rn_hunt_picture(const struct rn_hunt_timeline *t, const char *path, const char *title)
{
	const struct picture p = { .t = t, .title = title };

	return rn_file_write(path, draw, &p);
}
