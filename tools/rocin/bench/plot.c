/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plot.c - draws the results of `rocin bench': bandwidth, latency and rate over message
 * size, with logarithmic axes.
 */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "tools/rocin/common/html.h"

enum {
	COLUMN = 570, /* width of the panel for one kind of measurement */
	LEFT = 58,    /* width of the numbers to the left of the axis */
	RIGHT = 14,
	PLOT = COLUMN - LEFT - RIGHT,
	TOP = 40,
	HEIGHT = 340, /* height of a panel */
	FOOT = 46,
	LEGEND_LINE = 18,
	LEGEND_COLUMNS = 2,
	/* Positions of the two columns of the legend. The longest name needs nearly half
	 * of the width.
	 */
	LEGEND_LEFT = 2,
	LEGEND_STEP = 284,
	SERIES_MAX = 64,
	KINDS = 3,
	LOOK_MAX = 96, /* bytes for the attributes of an element */
};

/* A curve: measurements that differ only in message size. */
struct series {
	/* one of the measurements, but with the default message size */
	struct rn_bench_cell like;
	unsigned number;
};

struct panel {
	enum rn_bench_kind kind;
	unsigned x;
	/* Ranges of the axes, as logarithms: of the size to base 2, of the value to
	 * base 10.
	 */
	double low_len, high_len, low, high;
	struct series series[SERIES_MAX];
	unsigned count;
};

/* clang-format off */
static const char *const colour[RN_BENCH_ITEM_COUNT] = {
	[RN_BENCH_WRITE_BW] = "#1d4ed8",   [RN_BENCH_READ_BW] = "#0e7490",
	[RN_BENCH_SEND_BW] = "#7c3aed",    [RN_BENCH_TCP_BW] = "#c2410c",
	[RN_BENCH_TCP_POLL_BW] = "#f59e0b", [RN_BENCH_UDP_BW] = "#15803d",
	[RN_BENCH_UDP_MMSG_BW] = "#84cc16", [RN_BENCH_MEMCPY_BW] = "#6b7280",
	[RN_BENCH_SEND_LAT] = "#7c3aed",   [RN_BENCH_EVENT_LAT] = "#db2777",
	[RN_BENCH_WRITE_LAT] = "#1d4ed8",  [RN_BENCH_READ_LAT] = "#0e7490",
	[RN_BENCH_ATOMIC_LAT] = "#111827", [RN_BENCH_UDP_LAT] = "#15803d",
	[RN_BENCH_TCP_LAT] = "#c2410c",    [RN_BENCH_TCP_POLL_LAT] = "#f59e0b",
	[RN_BENCH_SEND_RATE] = "#7c3aed",  [RN_BENCH_WRITE_RATE] = "#1d4ed8",
	[RN_BENCH_ATOMIC_RATE] = "#111827", [RN_BENCH_BURST_RATE] = "#db2777",
	[RN_BENCH_UDP_RATE] = "#15803d",
	[RN_BENCH_UDP_WINDOW_RATE] = "#4d7c0f",
};
/* clang-format on */

static void curve_look(const struct rn_bench_cell *cell, char look[LOOK_MAX])
{
	static const char *const of_wire[] = {
		[RN_BENCH_OVER_UDP] = "",
		[RN_BENCH_OVER_LOCAL] = " stroke-dasharray='7 3'",
		[RN_BENCH_OVER_BESIDE] = " stroke-dasharray='2 3'",
	};

	snprintf(look, LOOK_MAX, "class='curve' stroke='%s'%s", colour[cell->item],
		 of_wire[cell->wire]);
}

static enum rn_bench_kind kind_of(const struct rn_bench_cell *cell)
{
	return rn_bench_item_info[cell->item].kind;
}

static struct rn_bench_cell without_size(struct rn_bench_cell cell)
{
	cell.len = rn_bench_item_info[cell.item].len;
	return cell;
}

/* ---- Layout of the panels ---- */

static void add_series(struct panel *p, const struct rn_bench_cell *cell)
{
	struct rn_bench_cell like = without_size(*cell);

	for (unsigned i = 0; i < p->count; i++)
		if (rn_bench_cell_equal(&p->series[i].like, &like))
			return;
	if (p->count < SERIES_MAX) {
		p->series[p->count] = (struct series){ like, p->count };
		p->count++;
	}
}

static void widen(struct panel *p, const struct rn_bench_cell *cell,
		  const struct rn_bench_summary *s)
{
	p->low_len = fmin(p->low_len, log2(cell->len));
	p->high_len = fmax(p->high_len, log2(cell->len));
	p->low = fmin(p->low, log10(s->q1));
	p->high = fmax(p->high, log10(s->q3));
}

/* Lays out the panel of the picture that shows the measurements of @kind, at @x. Returns
 * false if the report has none of this kind.
 */
static bool lay_out(struct panel *p, const struct rn_bench_report *r,
		    enum rn_bench_kind kind, unsigned x)
{
	*p = (struct panel){ .kind = kind,
			     .x = x,
			     .low_len = INFINITY,
			     .high_len = -INFINITY,
			     .low = INFINITY,
			     .high = -INFINITY };
	for (unsigned i = 0; i < r->plan->cells; i++) {
		const struct rn_bench_cell *cell = &r->plan->cell[i];

		if (kind_of(cell) != kind || !(r->cell[i].value.q1 > 0))
			continue;
		add_series(p, cell);
		widen(p, cell, &r->cell[i].value);
	}
	if (p->count == 0)
		return false;
	p->low = floor(p->low * 4) / 4 - 0.05;
	p->high = ceil(p->high * 4) / 4 + 0.05;
	p->low_len -= 0.5;
	p->high_len += 0.5;
	return true;
}

static double x_of(const struct panel *p, double len)
{
	return p->x + LEFT + PLOT * (log2(len) - p->low_len) / (p->high_len - p->low_len);
}

static double y_of(const struct panel *p, double value)
{
	return TOP + HEIGHT * (1 - (log10(value) - p->low) / (p->high - p->low));
}

/* ---- Axes and grid ---- */

static void draw_grid(FILE *to, const struct panel *p)
{
	static const int steps[] = { 1, 2, 5 };
	double left = p->x + LEFT;

	for (int d = (int)floor(p->low); d <= (int)ceil(p->high); d++)
		for (unsigned k = 0; k < RN_ARRAY_SIZE(steps); k++) {
			double v = steps[k] * pow(10, d);

			/* If the axis spans more than 3.5 decades, only powers of 10 have
			 * lines.
			 */
			if (log10(v) < p->low || log10(v) > p->high ||
			    (steps[k] != 1 && p->high - p->low > 3.5))
				continue;
			rn_svg_line(to, "class='grid'", left, y_of(p, v), left + PLOT,
				    y_of(p, v));
			rn_svg_text(to, "class='n'", left - 6, y_of(p, v) + 4, "end",
				    "%g", v);
		}
	for (unsigned shift = 0; shift < 32; shift += 3) {
		double len = ldexp(1, (int)shift);
		char text[16];

		if (log2(len) < p->low_len || log2(len) > p->high_len)
			continue;
		rn_bench_write_size((uint32_t)1 << shift, text);
		rn_svg_line(to, "class='grid'", x_of(p, len), TOP, x_of(p, len),
			    TOP + HEIGHT);
		rn_svg_text(to, "class='n'", x_of(p, len), TOP + HEIGHT + 16, "middle",
			    "%s", text);
	}
	rn_svg_text(to, "class='n'", left + PLOT / 2.0, TOP + HEIGHT + 34, "middle",
		    "bytes of a message");
}

static void draw_frame(FILE *to, const struct panel *p)
{
	static const char *const title[] = {
		[RN_BENCH_BW] = "Bandwidth, GB/s",
		[RN_BENCH_LAT] = "Round trip, us",
		[RN_BENCH_RATE] = "Messages, millions a second",
	};

	rn_svg_text(to, "class='title'", p->x + LEFT, 22, NULL, "%s", title[p->kind]);
	draw_grid(to, p);
	rn_svg_rect(to, "class='frame'",
		    (struct rn_svg_box){ p->x + LEFT, TOP, PLOT, HEIGHT }, NULL);
}

/* ---- Curves ---- */

/* Writes the indices of the measurements of a curve, sorted by message size, to @cells;
 * -1 ends the list.
 */
static void sort_cells(const struct rn_bench_report *r, const struct series *s,
		       int cells[RN_BENCH_CELLS_MAX + 1])
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->plan->cells; i++) {
		struct rn_bench_cell like = without_size(r->plan->cell[i]);
		unsigned at = n;

		if (!rn_bench_cell_equal(&like, &s->like) || !(r->cell[i].value.q1 > 0))
			continue;
		for (; at > 0 && r->plan->cell[cells[at - 1]].len > r->plan->cell[i].len;
		     at--)
			cells[at] = cells[at - 1];
		cells[at] = (int)i;
		n++;
	}
	cells[n] = -1;
}

static void draw_points(FILE *to, const struct panel *p, const struct rn_bench_report *r,
			const int *cells, size_t field)
{
	for (; *cells >= 0; cells++) {
		const void *s = &r->cell[*cells].value;

		rn_svg_point(to, x_of(p, r->plan->cell[*cells].len),
			     y_of(p, *(const double *)((const char *)s + field)));
	}
}

/* Draws a curve: a band from the lower to the upper quartile, and a line through the
 * medians, with a dot at each message size.
 */
static void draw_series(FILE *to, const struct panel *p, const struct rn_bench_report *r,
			const struct series *s)
{
	int cells[RN_BENCH_CELLS_MAX + 1], back[RN_BENCH_CELLS_MAX + 1];
	const char *ink = colour[s->like.item];
	char look[LOOK_MAX];
	unsigned n = 0;

	sort_cells(r, s, cells);
	while (cells[n] >= 0)
		n++;
	for (unsigned i = 0; i < n; i++)
		back[i] = cells[n - 1 - i];
	back[n] = -1;
	snprintf(look, sizeof(look), "fill='%s' fill-opacity='.16'", ink);
	rn_svg_points_begin(to, "polygon", look);
	draw_points(to, p, r, cells, offsetof(struct rn_bench_summary, q3));
	draw_points(to, p, r, back, offsetof(struct rn_bench_summary, q1));
	rn_svg_points_end(to);
	curve_look(&s->like, look);
	rn_svg_points_begin(to, "polyline", look);
	draw_points(to, p, r, cells, offsetof(struct rn_bench_summary, median));
	rn_svg_points_end(to);
	snprintf(look, sizeof(look), "fill='%s'", ink);
	for (unsigned i = 0; i < n; i++)
		rn_svg_circle(to, look, x_of(p, r->plan->cell[cells[i]].len),
			      y_of(p, r->cell[cells[i]].value.median), 2.6, NULL);
}

static void draw_legend(FILE *to, const struct panel *p, const struct series *s)
{
	unsigned x = p->x + LEGEND_LEFT + s->number % LEGEND_COLUMNS * LEGEND_STEP;
	unsigned y = TOP + HEIGHT + FOOT + s->number / LEGEND_COLUMNS * LEGEND_LINE + 10;
	char name[RN_BENCH_CELL_TEXT], look[LOOK_MAX];

	rn_bench_cell_write(&s->like, name);
	curve_look(&s->like, look);
	rn_svg_line(to, look, x, y, x + 24, y);
	rn_svg_text_in_two(to, "class='l'", x + 30, y + 4,
			   rn_bench_item_info[s->like.item].what,
			   strchr(name, ':') ? strchr(name, ':') : "");
}

static void draw_head(FILE *to, const struct rn_bench_report *r, unsigned width,
		      unsigned height)
{
	char title[96];

	snprintf(title, sizeof(title),
		 "rocin bench: %u rounds of %u ms; medians, quartiles as bands",
		 r->plan->rounds, r->plan->slice_ms);
	rn_svg_begin(to,
		     &(struct rn_svg_picture){
			     .width = width,
			     .height = height,
			     .title = title,
			     .style = { "text{font:12px system-ui,sans-serif;fill:#333}"
					".l{font-size:11px}.title{font-weight:600;"
					"font-size:14px}.n{fill:#777;font-size:11px}"
					".grid{stroke:#e5e5e5}.frame{fill:none;"
					"stroke:#999}.curve{fill:none;"
					"stroke-width:1.8}" },
		     });
	rn_svg_background(to);
}

void rn_bench_draw(FILE *to, const struct rn_bench_report *r)
{
	static struct panel panel[KINDS];
	unsigned panels = 0, lines = 0;

	for (unsigned kind = 0; kind < KINDS; kind++)
		if (lay_out(&panel[panels], r, (enum rn_bench_kind)kind, panels * COLUMN))
			panels++;
	for (unsigned i = 0; i < panels; i++) {
		unsigned need = (panel[i].count + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS;

		lines = need > lines ? need : lines;
	}
	draw_head(to, r, panels * COLUMN, TOP + HEIGHT + FOOT + lines * LEGEND_LINE + 10);
	for (unsigned i = 0; i < panels; i++) {
		draw_frame(to, &panel[i]);
		for (unsigned k = 0; k < panel[i].count; k++) {
			draw_series(to, &panel[i], r, &panel[i].series[k]);
			draw_legend(to, &panel[i], &panel[i].series[k]);
		}
	}
	rn_svg_end(to);
}
