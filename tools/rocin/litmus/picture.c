/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* picture.c - draws a witness: the steps that led to a final state of a litmus test.
 *
 * Each agent (CPU, GPU, NIC) and each PCIe queue has a lane, node by node; each step has
 * a row; time goes downward, not to scale. A TLP is a line from the agent that issues it,
 * through the queues in which it waits, to the place where it takes effect. Where a TLP
 * passed another, the name of the ordering rule that allows it is written.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "sim/pcie/model/topology.h"
#include "tools/rocin/common/html.h"

/* ----------------------------------------------------------------------- stale loads */
/* Returns true if the step is an instruction that loads from memory. */

static bool is_load(const struct rn_litmus_test *t, const struct rn_litmus_step *s)
{
	const struct rn_litmus_instr *in;

	if (s->kind != RN_STEP_INSTR || s->thread == RN_LITMUS_NONE)
		return false;
	in = &t->thread[s->thread].instr[s->instr];
	return in->op == RN_LITMUS_LD || in->op == RN_LITMUS_MRD;
}

static bool is_data_write(const struct rn_litmus_step *s)
{
	return s->tlp_kind == RN_TLP_WRITE && s->loc != RN_LITMUS_NONE &&
	       !(s->tlp_flags & (RN_TLP_CQE | RN_TLP_BELL));
}

/* Searches for a write to the location of step @load that was issued before this load and
 * became visible after it, so that the load has read old bytes. Fills in @stale, and
 * returns true if there is one.
 */
static bool find_late(const struct rn_report_state *s, size_t load,
		      struct rn_html_stale *stale)
{
	for (size_t i = 0; i < load; i++) {
		const struct rn_litmus_step *sent = &s->steps[i];
		bool is_there = false;

		if (sent->kind != RN_STEP_ISSUE || !is_data_write(sent) ||
		    sent->loc != s->steps[load].loc)
			continue;
		*stale = (struct rn_html_stale){ .step = load,
						 .tlp = sent->tlp,
						 .where = RN_LIST_COUNT };
		for (size_t j = i; j < load; j++) {
			const struct rn_litmus_step *at = &s->steps[j];

			if (at->tlp != sent->tlp || at->node != sent->node)
				continue;
			is_there |= at->kind == RN_STEP_PERFORM;
			if (at->kind == RN_STEP_MOVE)
				stale->where = at->to;
		}
		/* If the first move of the write came after the load, the write was still
		 * in the queue that it left by that move.
		 */
		for (size_t j = load; j < s->step_count && stale->where == RN_LIST_COUNT;
		     j++)
			if (s->steps[j].tlp == sent->tlp &&
			    s->steps[j].kind == RN_STEP_MOVE)
				stale->where = s->steps[j].from;
		if (!is_there)
			return true;
	}
	return false;
}

bool rn_html_find_stale(const struct rn_litmus_test *t, const struct rn_report_state *s,
			struct rn_html_stale *stale)
{
	for (size_t i = 0; i < s->step_count; i++)
		if (is_load(t, &s->steps[i]) && find_late(s, i, stale))
			return true;
	return false;
}

/* -------------------------------------------------------------- drawing the picture */
enum {
	LANES_MAX = 64,
	ROW = 22,
	TOP = 52, /* y coordinate of the first row */
	AGENT_WIDTH = 156,
	NIC_WIDTH = 96,
	QUEUE_WIDTH = 88,
	MARGIN = 60, /* width in pixels that is reserved at the right end for text */
	APART = 5,   /* distance between lines in the same lane */
	NODE_GAP = 14,
	ROWS_MAX = 400,
	NAME_MAX_LEN = 32,
	LOOK_MAX = 64,
	SMALLEST_PERCENT = 70, /* minimum size if the window of the browser is narrow */
};

struct lane {
	uint8_t node;
	bool is_queue;
	uint16_t id; /* number of the agent or queue */
	unsigned x, width;
};

struct picture {
	FILE *to;
	const struct rn_litmus_test *t;
	const struct rn_litmus_step *step;
	size_t count;
	struct lane lane[LANES_MAX];
	unsigned lanes, width;
	struct rn_html_stale stale;
	bool has_stale;
};

/* ---- Lanes of agents and queues ---- */

static void add_lane(struct picture *p, unsigned node, bool is_queue, unsigned id)
{
	bool is_nic = !is_queue && rn_agent_is_nic(id);

	for (unsigned i = 0; i < p->lanes; i++)
		if (p->lane[i].node == node && p->lane[i].is_queue == is_queue &&
		    p->lane[i].id == id)
			return;
	if (p->lanes == LANES_MAX)
		return;
	p->lane[p->lanes++] = (struct lane){
		.node = (uint8_t)node,
		.is_queue = is_queue,
		.id = (uint16_t)id,
		.width = is_queue ? QUEUE_WIDTH
			 : is_nic ? NIC_WIDTH
				  : AGENT_WIDTH,
	};
}

static bool has_lane(const struct picture *p, unsigned node)
{
	for (unsigned i = 0; i < p->lanes; i++)
		if (p->lane[i].node == node)
			return true;
	return false;
}

static bool is_nic_of(const struct rn_litmus_test *t, unsigned node, unsigned agent)
{
	for (unsigned i = 0; i < t->qps; i++)
		if ((t->qp[i].node == node && t->qp[i].nic == agent) ||
		    (t->qp[i].peer == node && t->qp[i].peer_nic == agent))
			return true;
	return false;
}

static void add_threads(struct picture *p, unsigned node, bool is_cpu)
{
	for (unsigned i = 0; i < p->t->threads; i++)
		if (p->t->thread[i].node == node &&
		    (p->t->thread[i].agent == RN_AGENT_CPU) == is_cpu)
			add_lane(p, node, false, p->t->thread[i].agent);
}

/* Adds a lane for each queue of a node that a TLP has left, in the order in which the
 * first TLP leaves each.
 */
static void add_queues(struct picture *p, unsigned node)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->step[i].kind == RN_STEP_MOVE && p->step[i].node == node)
			add_lane(p, node, true, p->step[i].from);
}

static bool is_thread(const struct picture *p, unsigned node, unsigned agent)
{
	for (unsigned i = 0; i < p->t->threads; i++)
		if (p->t->thread[i].node == node && p->t->thread[i].agent == agent)
			return true;
	return false;
}

static void add_node(struct picture *p, unsigned node)
{
	add_threads(p, node, true);
	for (unsigned nic = RN_AGENT_NIC; nic < RN_AGENT_NVME; nic++)
		if (is_nic_of(p->t, node, nic))
			add_lane(p, node, false, nic);
	for (size_t i = 0; i < p->count; i++)
		if (p->step[i].node == node && p->step[i].kind == RN_STEP_ISSUE &&
		    !is_thread(p, node, p->step[i].agent))
			add_lane(p, node, false, p->step[i].agent);
	add_queues(p, node);
	add_threads(p, node, false);
}

/* Adds the lanes of all nodes. First come the nodes that have threads, in the order in
 * which the program of the test is printed.
 */
static void add_lanes(struct picture *p)
{
	unsigned x = 0;

	for (unsigned i = 0; i < p->t->threads; i++)
		if (!has_lane(p, p->t->thread[i].node))
			add_node(p, p->t->thread[i].node);
	for (unsigned node = 0; node < p->t->nodes; node++)
		if (!has_lane(p, node))
			add_node(p, node);
	for (unsigned i = 0; i < p->lanes; i++) {
		if (i > 0 && p->lane[i].node != p->lane[i - 1].node)
			x += NODE_GAP;
		p->lane[i].x = x;
		x += p->lane[i].width;
	}
	p->width = x + MARGIN;
}

static const struct lane *find_lane(const struct picture *p, unsigned node, bool is_queue,
				    unsigned id)
{
	for (unsigned i = 0; i < p->lanes; i++)
		if (p->lane[i].node == node && p->lane[i].is_queue == is_queue &&
		    p->lane[i].id == id)
			return &p->lane[i];
	return NULL;
}

static unsigned lane_middle(const struct lane *lane)
{
	return lane->x + lane->width / 2;
}

static unsigned row_y(size_t row)
{
	return TOP + (unsigned)row * ROW + ROW / 2;
}

static const char *lane_name(const struct lane *lane, char name[NAME_MAX_LEN])
{
	return lane->is_queue ? rn_queue_name(lane->id, name, NAME_MAX_LEN)
			      : rn_agent_name(lane->id, name, NAME_MAX_LEN);
}

static void draw_lanes(const struct picture *p)
{
	unsigned bottom = row_y(p->count);

	for (unsigned node = 0; node < p->t->nodes; node++) {
		unsigned left = p->width, right = 0;

		for (unsigned i = 0; i < p->lanes; i++) {
			const struct lane *l = &p->lane[i];

			if (l->node != node)
				continue;
			left = l->x < left ? l->x : left;
			right = l->x + l->width;
		}
		if (right == 0)
			continue;
		rn_svg_rect(p->to, "class='band' rx='6'",
			    (struct rn_svg_box){ left, 0, right - left, bottom }, NULL);
		rn_svg_text(p->to, "class='head'", left + 8, 18, NULL, "node %s",
			    p->t->node[node]);
	}
	for (unsigned i = 0; i < p->lanes; i++) {
		const struct lane *l = &p->lane[i];
		char name[NAME_MAX_LEN];

		rn_svg_line(p->to, "class='lane'", lane_middle(l), TOP - 6,
			    lane_middle(l), bottom);
		rn_svg_text(p->to, l->is_queue ? "class='dim'" : "class='head'",
			    lane_middle(l), 38, "middle", "%s", lane_name(l, name));
	}
}

/* ---- Drawing a TLP ---- */

static const char *class_of(const struct rn_litmus_step *s)
{
	if (s->tlp_flags & RN_TLP_CQE)
		return "cqe";
	return s->tlp_kind == RN_TLP_WRITE ? "data" : "read";
}

/* Writes the name of a TLP, such as "MWr d", to @name: it is the text of the step that
 * issues the TLP, without " is sent".
 */
static const char *short_name(const struct rn_litmus_step *s, char name[RN_LITMUS_TEXT])
{
	const char *end = strstr(s->text, " is sent");
	size_t len = end ? (size_t)(end - s->text) : strlen(s->text);

	if (len >= RN_LITMUS_TEXT)
		len = RN_LITMUS_TEXT - 1;
	memcpy(name, s->text, len);
	name[len] = '\0';
	return name;
}

/* Draws the name of the ordering rule that a step uses, such as "A2b" for "A2b: a write
 * with RO passes a write". The full text is in the tooltip.
 */
static void draw_rule(const struct picture *p, const struct rn_litmus_step *s, unsigned x,
		      unsigned y)
{
	const char *colon;
	char name[16];
	size_t len;

	if (!s->rule || s->passed == UINT16_MAX)
		return;
	colon = strchr(s->rule, ':');
	len = colon ? (size_t)(colon - s->rule) : strlen(s->rule);
	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, s->rule, len);
	name[len] = '\0';
	rn_svg_text_with_title(p->to, "class='rule'", x + 5, y + 4, name, s->rule);
}

struct point {
	unsigned x, y;
};

static void draw_line(const struct picture *p, const struct rn_litmus_step *s,
		      struct point a, struct point b)
{
	bool is_wait = a.x == b.x && b.y - a.y > ROW;

	char look[LOOK_MAX];

	snprintf(look, sizeof(look), "class='%s%s%s'", class_of(s),
		 is_wait ? " wait" : "",
		 s->tlp_kind == RN_TLP_COMPLETION ? " answer" : "");
	rn_svg_line(p->to, look, a.x, a.y, b.x, b.y);
}

static const char *end_name(const struct picture *p, const struct rn_litmus_step *s)
{
	if (s->tlp_flags & RN_TLP_CQE)
		return "CQE";
	return s->loc == RN_LITMUS_NONE ? "" : p->t->location[s->loc].name;
}

/* Draws a dot where a TLP takes effect. */
static void draw_end(const struct picture *p, const struct rn_litmus_step *s,
		     struct point at)
{
	char look[LOOK_MAX];

	snprintf(look, sizeof(look), "class='%s'", class_of(s));
	rn_svg_circle(p->to, look, at.x, at.y, 4, s->text);
	if (s->kind == RN_STEP_PERFORM && s->tlp_kind == RN_TLP_WRITE)
		rn_svg_text(p->to, look, at.x + 8, at.y + 4, NULL, "%s visible",
			    end_name(p, s));
}

/* Returns the distance in pixels from the middle of a lane at which the TLP of a step is
 * drawn, so that TLPs in one queue are drawn side by side.
 */
static unsigned tlp_offset(const struct rn_litmus_step *s)
{
	return s->tlp % 3 * APART;
}

/* Draws the path of a TLP through the queues. @from: the step in which the TLP is issued.
 */
static void draw_tlp(const struct picture *p, size_t from)
{
	const struct rn_litmus_step *sent = &p->step[from];
	const struct lane *lane = find_lane(p, sent->node, false, sent->agent);
	struct point at = { lane ? lane_middle(lane) : 0, row_y(from) }, to;

	for (size_t i = from + 1; i < p->count; i++) {
		const struct rn_litmus_step *s = &p->step[i];

		if (s->tlp != sent->tlp || s->node != sent->node)
			continue;
		if (s->kind == RN_STEP_MOVE) {
			lane = find_lane(p, s->node, true, s->from);
			if (!lane)
				continue;
			/* The TLP has entered this queue at the time when it left the
			 * queue before.
			 */
			to = (struct point){ lane_middle(lane) + tlp_offset(s),
					     at.y + ROW / 2 };
			draw_line(p, s, at, to);
			at = (struct point){ to.x, row_y(i) };
			draw_line(p, s, to, at);
			draw_rule(p, s, at.x, at.y);
		}
		if (s->kind == RN_STEP_PERFORM || s->kind == RN_STEP_COMPLETE) {
			lane = find_lane(p, sent->node, false, sent->agent);
			to = (struct point){ at.x, row_y(i) };
			if (s->kind == RN_STEP_COMPLETE && lane)
				to.x = lane_middle(lane);
			draw_line(p, s, at, to);
			draw_end(p, s, to);
			at = to;
		}
	}
}

static void draw_sent(const struct picture *p, size_t i)
{
	const struct rn_litmus_step *s = &p->step[i];
	const struct lane *lane = find_lane(p, s->node, false, s->agent);
	char name[RN_LITMUS_TEXT], look[LOOK_MAX];

	if (!lane)
		return;
	snprintf(look, sizeof(look), "class='%s'", class_of(s));
	rn_svg_text(p->to, look, lane_middle(lane) - 6, row_y(i) + 4, "end", "%s",
		    short_name(s, name));
	draw_tlp(p, i);
}

/* ---- Drawing instructions ---- */

/* Returns true if the step is that the post of a work request leaves the store buffer of
 * the CPU. Such a step is not drawn.
 */
static bool is_post_leaving(const struct rn_litmus_test *t,
			    const struct rn_litmus_step *s)
{
	return s->kind == RN_STEP_STORE && s->thread != RN_LITMUS_NONE &&
	       rn_litmus_is_work(t->thread[s->thread].instr[s->instr].op);
}

static void draw_instr(const struct picture *p, size_t i)
{
	const struct rn_litmus_step *s = &p->step[i];
	const struct lane *lane = find_lane(p, s->node, false, s->agent);
	bool is_stale = p->has_stale && p->stale.step == i;
	char note[2 * RN_LITMUS_TEXT];
	const char *text = s->text, *end;
	size_t len;

	if (!lane || is_post_leaving(p->t, s))
		return;
	if (is_stale)
		rn_svg_rect(p->to, "class='mark' rx='4'",
			    (struct rn_svg_box){ lane->x + 4, row_y(i) - ROW / 2.0 + 1,
						 lane->width - 8, ROW - 2 },
			    NULL);
	/* Leaves out the end of the text, which says that a write had not arrived yet:
	 * the picture shows this, and a text above the picture explains it.
	 */
	end = strstr(text, ", while ");
	len = end ? (size_t)(end - text) : strlen(text);
	if (len >= sizeof(note))
		len = sizeof(note) - 1;
	memcpy(note, text, len);
	note[len] = '\0';
	rn_svg_text(p->to,
		    is_stale		       ? "class='stale'"
		    : s->kind == RN_STEP_INSTR ? "class='head'"
					       : "class='dim'",
		    lane_middle(lane), row_y(i) + 4, "middle", "%s", note);
}

/* Draws a line from the row in which a completion became visible to the row of step
 * @poll, which polls it.
 */
static void draw_seen(const struct picture *p, size_t poll)
{
	const struct rn_litmus_step *s = &p->step[poll];
	const struct lane *to = find_lane(p, s->node, false, s->agent), *from = NULL;
	const struct rn_litmus_instr *in;
	char name[RN_LITMUS_TEXT];
	size_t made = 0;

	if (s->kind != RN_STEP_INSTR || s->thread == RN_LITMUS_NONE || !to)
		return;
	in = &p->t->thread[s->thread].instr[s->instr];
	if (in->op != RN_LITMUS_POLL)
		return;
	snprintf(name, sizeof(name), "CQE %s is visible", p->t->cq[in->cq].name);
	for (size_t i = 0; i < poll; i++)
		if (p->step[i].kind == RN_STEP_PERFORM && p->step[i].node == s->node &&
		    !strcmp(p->step[i].text, name))
			made = i;
	for (size_t i = 0; i < made; i++)
		if (p->step[i].kind == RN_STEP_MOVE &&
		    p->step[i].tlp == p->step[made].tlp &&
		    p->step[i].node == p->step[made].node)
			from = find_lane(p, p->step[i].node, true, p->step[i].from);
	if (from)
		rn_svg_line(p->to, "class='seen'", lane_middle(from), row_y(made),
			    lane_middle(to), row_y(poll) - 8);
}

void rn_html_picture(FILE *to, const struct rn_litmus_test *t,
		     const struct rn_report_state *s)
{
	struct picture p = { .to = to,
			     .t = t,
			     .step = s->steps,
			     .count = s->step_count < ROWS_MAX ? s->step_count
							       : ROWS_MAX };
	char look[LOOK_MAX];

	p.has_stale = rn_html_find_stale(t, s, &p.stale);
	add_lanes(&p);
	fputs("<div class='scroll'>", to);
	snprintf(look, sizeof(look), "style='min-width:%upx'",
		 p.width * SMALLEST_PERCENT / 100);
	rn_svg_begin(to, &(struct rn_svg_picture){
				 .width = p.width,
				 .height = row_y(p.count) + 4,
				 .look = look,
				 .title = "How the run went: time goes downward",
			 });
	draw_lanes(&p);
	for (size_t i = 0; i < p.count; i++)
		draw_seen(&p, i);
	for (size_t i = 0; i < p.count; i++)
		if (p.step[i].kind == RN_STEP_ISSUE)
			draw_sent(&p, i);
	for (size_t i = 0; i < p.count; i++)
		if (p.step[i].kind <= RN_STEP_NIC)
			draw_instr(&p, i);
	rn_svg_end(to);
	fputs("</div>\n", to);
	if (p.count < s->step_count)
		fprintf(to, "<p class='dim'>The last %zu steps are not shown.</p>\n",
			s->step_count - p.count);
}
