/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* incast_picture.c - rates and queue of an incast over time, as a picture. */
#include <inttypes.h>

#include "sim_incast.h"

enum {
	COLUMN = 480, /* of a run */
	LEFT = 64,    /* room for numbers */
	RIGHT = 12,
	PLOT = COLUMN - LEFT - RIGHT,
	TOP = 34,
	RATES = 200, /* heights */
	QUEUE = 90,
	GAP = 34,
	FOOT = 40,
	HEIGHT = TOP + RATES + GAP + QUEUE + FOOT,
	STEPS = 4, /* lines of the grid */
};

/* One panel: where it lies and what its axis ends with. */
struct panel {
	unsigned x, y, height;
	double top; /* value at the upper edge */
	const char *unit;
};

static void style(FILE *to)
{
	fputs("<style>text{font:12px system-ui,sans-serif;fill:#333}"
	      ".title{font-weight:600;font-size:14px}.n{fill:#777;font-size:11px}"
	      ".grid{stroke:#ddd}.frame{fill:none;stroke:#999}"
	      ".rate{fill:none;stroke-width:1.4}.queue{fill:#7a869a;fill-opacity:.55}"
	      "</style>\n",
	      to);
}

static void frame(FILE *to, const struct panel *p)
{
	for (unsigned i = 0; i <= STEPS; i++) {
		unsigned y = p->y + p->height - i * p->height / STEPS;

		fprintf(to, "<line class='grid' x1='%u' y1='%u' x2='%u' y2='%u'/>\n",
			p->x, y, p->x + PLOT, y);
		fprintf(to,
			"<text class='n' x='%u' y='%u' text-anchor='end'>%.3g%s</text>\n",
			p->x - 6, y + 4, p->top * i / STEPS, i == STEPS ? p->unit : "");
	}
	fprintf(to, "<rect class='frame' x='%u' y='%u' width='%u' height='%u'/>\n", p->x,
		p->y, (unsigned)PLOT, p->height);
}

static void point(FILE *to, const struct panel *p, const struct rn_incast_result *r,
		  uint32_t k, double value)
{
	double share = value < p->top ? value / p->top : 1;

	fprintf(to, "%.1f,%.1f ", p->x + PLOT * (k + 0.5) / r->samples,
		p->y + p->height * (1 - share));
}

static void rates(FILE *to, const struct panel *p, const struct rn_incast_result *r)
{
	for (uint32_t i = 0; i < r->cfg.senders; i++) {
		fprintf(to, "<polyline class='rate' stroke='hsl(%u 70%% 42%%)' points='",
			360 * i / r->cfg.senders);
		for (uint32_t k = 0; k < r->samples; k++)
			point(to, p, r, k, r->sample[k].kbps[i] / 1e6);
		fputs("'/>\n", to);
	}
}

static void queue(FILE *to, const struct panel *p, const struct rn_incast_result *r)
{
	fputs("<polygon class='queue' points='", to);
	point(to, p, r, 0, 0);
	for (uint32_t k = 0; k < r->samples; k++)
		point(to, p, r, k, r->sample[k].queue / 1e6);
	point(to, p, r, r->samples - 1, 0);
	fputs("'/>\n", to);
}

static void column(FILE *to, const struct rn_incast_picture *pic, unsigned left)
{
	const struct rn_incast_result *r = pic->result;
	const struct panel above = { left + LEFT, TOP, RATES,
				     (double)r->cfg.link.rate / 1e9, " Gbit/s" };
	const struct panel below = { left + LEFT, TOP + RATES + GAP, QUEUE,
				     r->cfg.link.queue / 1e6, " MB" };

	fprintf(to, "<text class='title' x='%u' y='20'>%s</text>\n", above.x, pic->title);
	frame(to, &above);
	rates(to, &above, r);
	frame(to, &below);
	queue(to, &below, r);
	fprintf(to,
		"<text x='%u' y='%u'>bytes in the queue of the link; %" PRIu64
		" packets dropped</text>\n",
		below.x, below.y - 8, r->dropped);
	for (unsigned i = 0; i <= STEPS; i++)
		fprintf(to,
			"<text class='n' x='%u' y='%u' "
			"text-anchor='middle'>%.3g%s</text>\n",
			below.x + i * PLOT / STEPS, below.y + QUEUE + 16,
			(double)r->cfg.end / 1e6 * i / STEPS, i == STEPS ? " ms" : "");
}

void rn_incast_draw(FILE *to, const struct rn_incast_picture *p, unsigned count)
{
	fprintf(to,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u' "
		"viewBox='0 0 %u %u' role='img'>\n<title>Rates of senders that share a "
		"link</title>\n",
		count * COLUMN + RIGHT, (unsigned)HEIGHT, count * COLUMN + RIGHT,
		(unsigned)HEIGHT);
	style(to);
	fprintf(to, "<rect width='100%%' height='100%%' fill='#fff'/>\n");
	for (unsigned i = 0; i < count; i++)
		column(to, &p[i], i * COLUMN);
	fputs("</svg>\n", to);
}
