/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_ladder_svg.c - a sequence diagram as a picture.
 *
 * A row per packet, time downward and not to scale: silences have a row of their own. On
 * the left the time, on the right how many PSNs are under way, what came again and why,
 * and what is broken.
 */
#include <inttypes.h>
#include <string.h>

#include "dump_ladder.h"
#include "tools/rocin/litmus/litmus_html.h"

enum {
	LEFT = 96,   /* line of the left end */
	APART = 460, /* between the lines */
	RIGHT = LEFT + APART,
	WIDTH = RIGHT + 400,
	TOP = 52,
	ROW = 26,
	SLOPE = 6,	   /* an arrow takes its time */
	LABEL_UP = 5,	   /* of the label above its arrow, clear of it */
	PAUSE = 1000000,   /* ns */
	SILENCE = 26,	   /* height of its row */
	SILENCE_TEXT = 80, /* the line leaves so much for its length */
	FOOT = 16,
	NOTE_LEN = 62,	/* characters of what stands on the right */
	SAID_LEN = 56,	/* of them in small print */
	SAID_DOWN = 12, /* from there to what the devices thought */
};

static const char *const classes[RN_LADDER_LOOKS] = {
	[RN_LADDER_REQUEST] = "request", [RN_LADDER_AGAIN] = "again",
	[RN_LADDER_DATA] = "data",	 [RN_LADDER_ACK] = "ack",
	[RN_LADDER_NAK] = "nak",	 [RN_LADDER_NOTIFY] = "notify",
};

void rn_ladder_style(FILE *to)
{
	fputs("svg .end{font-weight:600}svg .life{stroke:#9aa4b0;stroke-width:1.5}"
	      "svg .n{fill:#7a869a;font-size:11px}svg .arrow{stroke-width:1.6;fill:none}"
	      "svg .request{stroke:#1d5fbf}svg .again{stroke:#d97706;stroke-dasharray:7 "
	      "3}"
	      "svg .data{stroke:#0e7490}svg .ack{stroke:#1a7f37}"
	      "svg .nak{stroke:#b42318;stroke-width:2.4}svg .notify{stroke:#7c3aed}"
	      "svg polygon.request{fill:#1d5fbf}svg polygon.again{fill:#d97706}"
	      "svg polygon.data{fill:#0e7490}svg polygon.ack{fill:#1a7f37}"
	      "svg polygon.nak{fill:#b42318}svg polygon.notify{fill:#7c3aed}"
	      "svg .label-nak{fill:#b42318;font-weight:600}svg .label-again{fill:#b45309}"
	      "svg text.bad{fill:#b42318;font-weight:600}svg text.doubt{fill:#b45309}"
	      "svg .said{fill:#475467;font-size:11px;font-style:italic}"
	      "svg .silence{stroke:#9aa4b0;stroke-dasharray:2 4}\n",
	      to);
}

static bool is_in(const struct rn_ladder_picture *p, const struct rn_ladder_row *row)
{
	return rn_ladder_of(p->w, row->half) == p->ladder;
}

static unsigned height_of(const struct rn_ladder_picture *p)
{
	unsigned height = TOP + FOOT;
	rn_ns at = -1;

	for (size_t i = 0; i < p->rows; i++) {
		if (!is_in(p, &p->row[i]))
			continue;
		if (at >= 0 && p->row[i].at - at >= PAUSE)
			height += SILENCE;
		at = p->row[i].at;
		height += ROW;
	}
	return height;
}

static void words(FILE *to, const char *class, unsigned x, unsigned y, const char *anchor,
		  const char *text)
{
	fprintf(to, "<text class='%s' x='%u' y='%u' text-anchor='%s'>", class, x, y,
		anchor);
	rn_html_text(to, text);
	fputs("</text>\n", to);
}

static void silence(FILE *to, unsigned y, rn_ns length)
{
	char text[RN_DUMP_TIME_MAX];

	for (unsigned i = 0; i < 2; i++) {
		unsigned from = i ? LEFT + (APART + SILENCE_TEXT) / 2 : LEFT;

		fprintf(to, "<line class='silence' x1='%u' y1='%u' x2='%u' y2='%u'/>\n",
			from, y + SILENCE / 2, from + (APART - SILENCE_TEXT) / 2,
			y + SILENCE / 2);
	}
	words(to, "n", LEFT + APART / 2, y + SILENCE / 2 + 4, "middle",
	      rn_dump_time(length, text));
}

static void arrow(FILE *to, const struct rn_ladder_row *row, bool to_right, unsigned y)
{
	unsigned from = to_right ? LEFT : RIGHT, end = to_right ? RIGHT : LEFT;
	unsigned back = to_right ? end - 9 : end + 9, tip = y + SLOPE;
	const char *class = classes[row->look];

	fprintf(to, "<line class='arrow %s' x1='%u' y1='%u' x2='%u' y2='%u'/>\n", class,
		from, y, end, tip);
	fprintf(to, "<polygon class='%s' points='%u,%u %u,%u %u,%u'/>\n", class, end, tip,
		back, tip - 5, back, tip + 4);
}

/* What stands right of the diagram: the worst first. */
static void remark(FILE *to, const struct rn_ladder_row *row, unsigned y)
{
	const struct rn_watch_finding *f = &row->finding;
	const struct rn_watch_rule_info *rule = &rn_watch_rule_info[f->rule];
	char text[RN_DUMP_FINDING_MAX];

	if (!row->findings) {
		words(to, row->look == RN_LADDER_AGAIN ? "label-again" : "n", RIGHT + 12,
		      y, "start", row->note);
		return;
	}
	snprintf(text, sizeof(text), "%s %s%s%s",
		 f->level == RN_WATCH_VIOLATION ? "violation:" : "suspicion:", rule->name,
		 f->detail[0] ? ": " : "", f->detail);
	if (strlen(text) > NOTE_LEN)
		text[NOTE_LEN] = '\0';
	fprintf(to, "<g><title>%s (%s; IBTA %s): %s</title>", rule->name, rule->test,
		rule->source, rule->says);
	words(to, f->level == RN_WATCH_VIOLATION ? "bad" : "doubt", RIGHT + 12, y,
	      "start", text);
	fputs("</g>\n", to);
}

static void tooltip(FILE *to, const char *text)
{
	fputs("<title>", to);
	rn_html_text(to, text);
	fputs("</title>", to);
}

/* What the devices thought, below; whole if the mouse is there. */
static void said(FILE *to, const struct rn_ladder_row *row, unsigned y)
{
	bool is_alone = !row->findings && !row->note[0];
	bool is_long = strlen(row->comment) > SAID_LEN;
	char start[RN_LADDER_COMMENT_MAX], text[RN_LADDER_COMMENT_MAX + 4];

	snprintf(start, sizeof(start), "%s", row->comment);
	rn_dump_cut(start, is_long ? SAID_LEN - 3 : SAID_LEN);
	snprintf(text, sizeof(text), "%s%s", start, is_long ? "..." : "");
	words(to, "said", RIGHT + 12, is_alone ? y : y + SAID_DOWN, "start", text);
}

static void packet(FILE *to, const struct rn_ladder_row *row, bool to_right, unsigned y)
{
	char text[RN_LADDER_LABEL_MAX];

	snprintf(text, sizeof(text), "%.6f", (double)row->at / 1e9);
	fputs("<g>", to);
	if (row->comment[0])
		tooltip(to, row->comment);
	words(to, "n", LEFT - 10, y + 8, "end", text);
	arrow(to, row, to_right, y);
	snprintf(text, sizeof(text), "%s", row->label);
	if (strlen(text) > NOTE_LEN)
		text[NOTE_LEN] = '\0';
	words(to, row->look == RN_LADDER_NAK ? "label-nak" : "label", LEFT + APART / 2,
	      y - LABEL_UP, "middle", text);
	if (row->comment[0])
		said(to, row, y + 8);
	fputs("</g>\n", to);
	remark(to, row, y + 8);
}

static void frame(FILE *to, const struct rn_ladder_picture *p, unsigned height)
{
	char end[RN_LADDER_END_MAX];

	for (unsigned i = 0; i < 2; i++) {
		const char *owner = rn_ladder_owner(p->w, p->ladder, i == 1, p->owners);

		fputs("<g>", to);
		if (owner)
			tooltip(to, owner);
		words(to, "end", i ? RIGHT : LEFT, 20, "middle",
		      rn_ladder_end(p->w, p->ladder, i == 1, end));
		fputs("</g>\n", to);
		fprintf(to, "<line class='life' x1='%u' y1='28' x2='%u' y2='%u'/>\n",
			i ? RIGHT : LEFT, i ? RIGHT : LEFT, height - 4);
	}
}

void rn_ladder_draw(FILE *to, const struct rn_ladder_picture *p, bool is_file)
{
	unsigned height = height_of(p), y = TOP;
	rn_ns at = -1;

	fprintf(to,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %u %u' "
		"width='%u' height='%u'>\n",
		WIDTH, height, WIDTH, height);
	if (is_file) {
		fputs("<style>svg{background:#fff}svg text{font:12px "
		      "ui-monospace,Menlo,Consolas,monospace;stroke:#fff;stroke-width:"
		      "3px;"
		      "paint-order:stroke}",
		      to);
		rn_ladder_style(to);
		fputs("</style>\n", to);
	}
	frame(to, p, height);
	for (size_t i = 0; i < p->rows; i++) {
		const struct rn_ladder_row *row = &p->row[i];

		if (!is_in(p, row))
			continue;
		if (at >= 0 && row->at - at >= PAUSE) {
			silence(to, y - 12, row->at - at);
			y += SILENCE;
		}
		packet(to, row, rn_ladder_is_to_right(p->w, row), y);
		at = row->at;
		y += ROW;
	}
	fputs("</svg>\n", to);
}
