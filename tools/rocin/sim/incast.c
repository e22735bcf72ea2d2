/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* incast.c - `rocin sim --incast`: simulates several senders that share a link, first
 * without and then with congestion control.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/html.h"

/* ------------------------------------------------------- picture of rates and queue */
/* The functions below draw a picture: the rates of the senders, and the length of the
 * queue of the link that they share, over time.
 */

enum {
	COLUMN = 480, /* width in pixels of the drawing of a run */
	LEFT = 64,    /* width of the numbers beside the axis */
	RIGHT = 12,
	PLOT = COLUMN - LEFT - RIGHT,
	TOP = 34,
	/* Heights in pixels. RATES: panel with the rates. QUEUE: panel with the length of
	 * the queue.
	 */
	RATES = 200,
	QUEUE = 90,
	GAP = 34,
	FOOT = 40,
	HEIGHT = TOP + RATES + GAP + QUEUE + FOOT,
	STEPS = 4, /* number of intervals between grid lines */
};

/* One of the columns of the picture. Each shows a run: the rates above the length of the
 * queue. The runs without and with congestion control are side by side.
 */
struct column {
	const char *title;
	const struct rn_incast_result *result;
};

/* Position and axis of one panel. */
struct panel {
	unsigned x, y, height;
	double top; /* value at the upper end of the axis */
	const char *unit;
};

static const char style[] =
	"text{font:12px system-ui,sans-serif;fill:#333}"
	".title{font-weight:600;font-size:14px}.n{fill:#777;font-size:11px}"
	".grid{stroke:#ddd}.frame{fill:none;stroke:#999}"
	".rate{fill:none;stroke-width:1.4}.queue{fill:#7a869a;fill-opacity:.55}";

static void draw_frame(FILE *to, const struct panel *p)
{
	for (unsigned i = 0; i <= STEPS; i++) {
		unsigned y = p->y + p->height - i * p->height / STEPS;

		rn_svg_line(to, "class='grid'", p->x, y, p->x + PLOT, y);
		rn_svg_text(to, "class='n'", p->x - 6, y + 4, "end", "%.3g%s",
			    p->top * i / STEPS, i == STEPS ? p->unit : "");
	}
	rn_svg_rect(to, "class='frame'",
		    (struct rn_svg_box){ p->x, p->y, PLOT, p->height }, NULL);
}

static void draw_point(FILE *to, const struct panel *p, const struct rn_incast_result *r,
		       uint32_t k, double value)
{
	double share = value < p->top ? value / p->top : 1;

	rn_svg_point(to, p->x + PLOT * (k + 0.5) / r->samples,
		     p->y + p->height * (1 - share));
}

static void rates(FILE *to, const struct panel *p, const struct rn_incast_result *r)
{
	for (uint32_t i = 0; i < r->cfg.senders; i++) {
		char look[64];

		snprintf(look, sizeof(look), "class='rate' stroke='hsl(%u 70%% 42%%)'",
			 360 * i / r->cfg.senders);
		rn_svg_points_begin(to, "polyline", look);
		for (uint32_t k = 0; k < r->samples; k++)
			draw_point(to, p, r, k, r->sample[k].kbps[i] / 1e6);
		rn_svg_points_end(to);
	}
}

static void queue(FILE *to, const struct panel *p, const struct rn_incast_result *r)
{
	rn_svg_points_begin(to, "polygon", "class='queue'");
	draw_point(to, p, r, 0, 0);
	for (uint32_t k = 0; k < r->samples; k++)
		draw_point(to, p, r, k, r->sample[k].queue / 1e6);
	draw_point(to, p, r, r->samples - 1, 0);
	rn_svg_points_end(to);
}

static void draw_column(FILE *to, const struct column *pic, unsigned left)
{
	const struct rn_incast_result *r = pic->result;
	const struct panel above = { left + LEFT, TOP, RATES,
				     (double)r->cfg.link.rate / 1e9, " Gbit/s" };
	const struct panel below = { left + LEFT, TOP + RATES + GAP, QUEUE,
				     r->cfg.link.queue / 1e6, " MB" };

	rn_svg_text(to, "class='title'", above.x, 20, NULL, "%s", pic->title);
	draw_frame(to, &above);
	rates(to, &above, r);
	draw_frame(to, &below);
	queue(to, &below, r);
	rn_svg_text(to, "", below.x, below.y - 8, NULL,
		    "bytes in the queue of the link; %" PRIu64 " packets dropped",
		    r->dropped);
	for (unsigned i = 0; i <= STEPS; i++)
		rn_svg_text(to, "class='n'", below.x + (double)i * PLOT / STEPS,
			    below.y + QUEUE + 16, "middle", "%.3g%s",
			    (double)r->cfg.end / 1e6 * i / STEPS,
			    i == STEPS ? " ms" : "");
}

static void draw_columns(FILE *to, const struct column *p, unsigned count)
{
	rn_svg_begin(to, &(struct rn_svg_picture){
				 .width = count * COLUMN + RIGHT,
				 .height = HEIGHT,
				 .title = "Rates of senders that share a link",
				 .style = { style },
			 });
	rn_svg_background(to);
	for (unsigned i = 0; i < count; i++)
		draw_column(to, &p[i], i * COLUMN);
	rn_svg_end(to);
}

/* ------------------------------------------- running the simulation, and its output */
enum {
	MODES = 2
};

static const struct {
	enum rn_cc_mode cc;
	const char *name, *title;
} modes[MODES] = {
	{ RN_CC_OFF, "off", "without congestion control" },
	{ RN_CC_ON, "on", "DCQCN" },
};

static void print(const struct rn_incast_result *r)
{
	const struct rn_incast_cfg *c = &r->cfg;

	printf("%u senders begin every %lld ms at a link of %.3g Gbit/s; %lld ms in all, "
	       "shares of the last quarter\n\n%-4s %8s %7s %10s %8s %8s %8s %8s\n",
	       c->senders, (long long)(c->apart / RN_MSEC(1)), (double)c->link.rate / 1e9,
	       (long long)(c->end / RN_MSEC(1)), "CC", "FAIRNESS", "USED", "QUEUE",
	       "DROPPED", "RESENT", "MARKED", "CNPS");
	for (unsigned i = 0; i < MODES; i++)
		printf("%-4s %8.3f %5.1f %% %7.1f kB %8" PRIu64 " %8" PRIu64 " %8" PRIu64
		       " %8" PRIu64 "\n",
		       modes[i].name, r[i].fairness / 1e6, r[i].used / 1e4,
		       r[i].queue_last / 1e3, r[i].dropped, r[i].retransmitted,
		       r[i].marked, r[i].cnps);
}

static json_t *run_json(const struct rn_incast_result *r, const char *name)
{
	json_t *shares = json_array(), *samples = json_array();

	for (uint32_t i = 0; i < r->cfg.senders; i++)
		json_array_append_new(shares, json_integer(r->share[i]));
	for (uint32_t k = 0; k < r->samples; k++) {
		json_t *rates = json_array();

		for (uint32_t i = 0; i < r->cfg.senders; i++)
			json_array_append_new(rates, json_integer(r->sample[k].kbps[i]));
		json_array_append_new(samples,
				      json_pack("{s:o, s:I}", "kbps", rates, "queue",
						(json_int_t)r->sample[k].queue));
	}
	return json_pack("{s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, "
			 "s:o}",
			 "cc", name, "fairness", r->fairness / 1e6, "used", r->used / 1e6,
			 "queue_last", (json_int_t)r->queue_last, "queue_max",
			 (json_int_t)r->queue_max, "dropped", (json_int_t)r->dropped,
			 "retransmitted", (json_int_t)r->retransmitted, "marked",
			 (json_int_t)r->marked, "cnps", (json_int_t)r->cnps, "failed",
			 (json_int_t)r->failed, "share_kbps", shares, "sample_ns",
			 (json_int_t)r->cfg.sample, "samples", samples);
}

static int print_json(const struct rn_incast_result *r)
{
	json_t *runs = json_array();
	json_t *all = json_pack("{s:i, s:I, s:o}", "senders", (int)r->cfg.senders,
				"link_bps", (json_int_t)r->cfg.link.rate, "runs", runs);
	int rc;

	for (unsigned i = 0; i < MODES; i++)
		json_array_append_new(runs, run_json(&r[i], modes[i].name));
	rc = json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
	return rc;
}

static int draw(FILE *to, const void *results)
{
	const struct rn_incast_result *r = results;
	struct column c[MODES];

	for (unsigned i = 0; i < MODES; i++)
		c[i] = (struct column){ modes[i].title, &r[i] };
	draw_columns(to, c, MODES);
	return 0;
}

static int write_picture(const char *file, const struct rn_incast_result *r)
{
	int rc = rn_file_write(file, draw, r);

	if (rc)
		rn_complain("%s: %s", file, strerror(-rc));
	return rc;
}

int rn_sim_incast(const struct rn_sim_incast *args)
{
	struct rn_incast_result *r = calloc(MODES, sizeof(*r));
	struct rn_incast_cfg cfg;
	int rc = r ? 0 : -ENOMEM;

	rn_incast_defaults(&cfg, args->senders);
	cfg.seed = args->seed;
	for (unsigned i = 0; i < MODES && !rc; i++) {
		cfg.cc = modes[i].cc;
		rc = rn_incast_run(&cfg, &r[i]);
	}
	if (rc) {
		rn_complain("%s", strerror(-rc));
	} else {
		if (args->plot)
			rc = write_picture(args->plot, r);
		if (args->json)
			rc |= print_json(r);
		else
			print(r);
	}
	free(r);
	return rc ? RN_EXIT_FAILURE : 0;
}
