/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ladder.c - draws sequence diagrams of captured packets, as text and as SVG: chooses
 * direction, kind and label of each row.
 */
#include "ladder.h"

#include <inttypes.h>
#include <string.h>

#include "tools/dump/packet.h"
#include "tools/rocin/common/html.h"

static enum rn_ladder_look look_of(const struct rn_dump_packet *d)
{
	const struct rn_opcode_info *op = d->p->op;

	if (op->flags & RN_OP_NOTIFY)
		return RN_LADDER_NOTIFY;
	if (op->flags & RN_OP_REQUEST)
		return d->verdict->cause != RN_CAUSE_NONE ? RN_LADDER_AGAIN
							  : RN_LADDER_REQUEST;
	if (op->kind != RN_OP_KIND_ACK)
		return RN_LADDER_DATA;
	return rn_aeth_type(d->p->aeth.syndrome) == RN_AETH_ACK ? RN_LADDER_ACK
								: RN_LADDER_NAK;
}

/* Removes the R_Key and the address from the text of a packet, to make it shorter. */
static void without_address(char *words)
{
	char *from = strstr(words, " va "), *to = strstr(words, " dmalen ");

	if (!to)
		to = strstr(words, " swap/add ");
	if (from && to && from < to)
		memmove(from, to, strlen(to) + 1);
}

/* Sets the label of the arrow to the text of the packet. Leaves out the name of the
 * transport service, and the QP, because the head of the diagram has both.
 */
static void set_label(struct rn_ladder_row *row, const struct rn_packet *p)
{
	char words[RN_PACKET_TEXT_MAX];
	const char *name = strchr(p->op->name, '_'), *rest, *message;

	rn_packet_words(p, words, sizeof(words));
	without_address(words);
	rest = strstr(words, " psn ");
	message = strstr(words, " CM ");
	if (message) {
		snprintf(row->label, sizeof(row->label), "%s", message + 1);
	} else if (p->op->kind == RN_OP_KIND_ACK) {
		/* In the text of the packet, the word after the opcode says whether it is
		 * an ACK or a NAK.
		 */
		const char *said = rest ? strchr(rest + 5, ' ') : NULL;

		snprintf(row->label, sizeof(row->label), "%s, psn %" PRIu32,
			 said ? said + 1 : "ACK", p->bth.psn.v);
	} else {
		snprintf(row->label, sizeof(row->label), "%s%s",
			 name ? name + 1 : p->op->name, rest ? rest : "");
	}
}

/* Shortens @text to at most @len bytes, without cutting a UTF-8 character. */
static void cut_text(char *text, size_t len)
{
	if (strlen(text) <= len)
		return;
	while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
		len--;
	text[len] = '\0';
}

static void add_comment(struct rn_ladder_row *row, const char *text)
{
	size_t at = strlen(row->comment), room = sizeof(row->comment) - at;
	char words[RN_DUMP_SAID_MAX];

	if (room < 8)
		return;
	snprintf(words, sizeof(words), "%s%s", at ? "; " : "", text);
	cut_text(words, room - 1);
	memcpy(row->comment + at, words, strlen(words) + 1);
}

/* Returns true if the device's comment on a packet says that the packet was dropped. */
static bool says_dropped(const char *comment)
{
	return comment && strstr(comment, "dropped");
}

bool rn_ladder_row(struct rn_ladder_row *row, const struct rn_dump_packet *d)
{
	const struct rn_watch_verdict *r = d->verdict;
	size_t len;

	if (r->half == RN_WATCH_NONE || d->p->form != RN_PACKET_WHOLE)
		return false;
	*row = (struct rn_ladder_row){ .number = d->number,
				       .at = d->at,
				       .half = r->half,
				       .is_response = r->is_response,
				       .look = look_of(d),
				       .missing = r->missing,
				       .findings = r->findings };
	set_label(row, d->p);
	rn_dump_note(r, row->note);
	/* Removes the brackets around the note, and the space before them. */
	len = strlen(row->note);
	if (len > 3) {
		memmove(row->note, row->note + 2, len - 3);
		row->note[len - 3] = '\0';
	}
	if (says_dropped(d->comment))
		row->drop =
			d->is_outbound ? RN_LADDER_DROP_SENDER : RN_LADDER_DROP_RECEIVER;
	if (d->comment)
		add_comment(row, d->comment);
	for (unsigned i = 0; i < r->findings; i++)
		if (i == 0 || r->finding[i].level > row->finding.level)
			row->finding = r->finding[i];
	return true;
}

void rn_ladder_row_arrived(struct rn_ladder_row *row, const struct rn_dump_arrival *a)
{
	if (says_dropped(a->comment))
		row->drop = RN_LADDER_DROP_RECEIVER;
	add_comment(row, a->comment);
}

/* If the half-connection @half is to share a diagram with another one although they are
 * no pair, returns the other one. Otherwise returns @half. Datagrams have no connection,
 * so UD half-connections are no pairs; but messages of the connection manager to QP 1 of
 * two hosts share a diagram.
 */
static uint32_t other_way(const struct rn_watch *w, uint32_t half)
{
	const struct rn_watch_half *h = rn_watch_half(w, half);

	if (h->class != RN_CLASS_UD || h->qpn != RN_QPN_GSI)
		return half;
	for (uint32_t i = 0; i < half; i++) {
		const struct rn_watch_half *o = rn_watch_half(w, i);

		if (o->class == RN_CLASS_UD && o->qpn == h->qpn &&
		    memcmp(&o->src, &h->dst, sizeof(o->src)) == 0 &&
		    memcmp(&o->dst, &h->src, sizeof(o->dst)) == 0)
			return i;
	}
	return half;
}

uint32_t rn_ladder_of(const struct rn_watch *w, uint32_t half)
{
	uint32_t peer = rn_watch_peer(w, half);

	if (peer == RN_WATCH_NONE)
		return other_way(w, half);
	/* Requests of the side that has sent the first request point to the right. */
	if (!rn_watch_half(w, peer)->n.requests)
		return half;
	if (!rn_watch_half(w, half)->n.requests)
		return peer;
	return peer < half ? peer : half;
}

static bool is_to_right(const struct rn_watch *w, const struct rn_ladder_row *row)
{
	return (rn_ladder_of(w, row->half) == row->half) != row->is_response;
}

const char *rn_ladder_end(const struct rn_watch *w, uint32_t ladder, bool is_right,
			  char text[RN_LADDER_END_MAX])
{
	const struct rn_watch_half *h = rn_watch_half(w, ladder);
	char gid[RN_PACKET_ADDRESS_MAX];

	rn_packet_address(is_right ? &h->dst : &h->src, gid);
	if (is_right || h->is_paired)
		snprintf(text, RN_LADDER_END_MAX, "%s qp 0x%" PRIx32, gid,
			 is_right ? h->qpn : h->peer_qpn);
	else
		snprintf(text, RN_LADDER_END_MAX, "%s", gid);
	return text;
}

const char *rn_ladder_owner(const struct rn_watch *w, uint32_t ladder, bool is_right,
			    const struct rn_dump_owners *owners)
{
	const struct rn_watch_half *h = rn_watch_half(w, ladder);

	if (is_right)
		return rn_dump_owner(owners, &h->dst, h->qpn);
	return h->is_paired ? rn_dump_owner(owners, &h->src, h->peer_qpn) : NULL;
}

/* ------------------------------------------------------------------ output as text */
enum {
	/* maximum number of columns between the two vertical lines of the diagram */
	WIDTH_MAX = 200,
	/* columns between these lines if the width of the terminal is unknown */
	TEXT_WIDTH = 76,
	INDENT = RN_LADDER_INDENT,
	/* In ns. If no packet comes for longer than this, the pause gets a row of its
	 * own.
	 */
	TEXT_PAUSE = 1000000,
};

/* Character and colour of each kind of arrow. */
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
	int width = t->columns ? (int)t->columns - INDENT - 2 : TEXT_WIDTH;

	return width < WIDTH_MAX ? width : WIDTH_MAX;
}

static void print_head(struct rn_ladder_text *t, const struct rn_watch *w,
		       uint32_t ladder)
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

/* Prints text beside the left vertical line of the diagram, wrapped if the width of a
 * line is known.
 */
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
		if (len == 0) /* the word is longer than the line */
			break;
		fprintf(t->to, "%*s|   %s%.*s\n", INDENT, "", indent, (int)len, at);
		at += len + 1;
		indent = "  ";
	}
	fprintf(t->to, "%*s|   %s%s\n", INDENT, "", indent, at);
}

/* Writes the arrow of a row into @body: "---- SEND_ONLY psn 17 len 8 ------------->". If
 * the packet was dropped, the arrow ends with an X instead of a point: at the receiver,
 * or close to the sender if the packet was never on the wire.
 */
static void draw_text(char *body, size_t width, const struct rn_ladder_row *row,
		      const char *text, size_t len, bool to_right)
{
	size_t label = 4, end = to_right ? width - 1 : 0;

	if (row->drop == RN_LADDER_DROP_SENDER) {
		end = len + 2 * label < width ? len + 2 * label : width - 1;
		label = to_right ? label : width - len - label;
		end = to_right ? end : width - 1 - end;
	}
	memset(body, ' ', width);
	memset(to_right ? body : body + end, looks[row->look].stroke,
	       to_right ? end : width - end);
	memcpy(body + label, text, len);
	body[end] = 'X';
	if (!row->drop)
		body[end] = to_right ? '>' : '<';
	body[width] = '\0';
}

/* Prints a row with an arrow between the two vertical lines. If the note does not fit
 * beside the arrow, prints it in the next line.
 */
static void text_arrow(const struct rn_ladder_text *t, const struct rn_ladder_row *row,
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
	draw_text(body, width, row, text, len, to_right);
	fprintf(t->to, "%*.6f  |%s%s%s|\n", INDENT - 2, (double)row->at / 1e9,
		t->has_colour ? looks[row->look].colour : "", body,
		t->has_colour && looks[row->look].colour[0] ? "\033[0m" : "");
	if (row->note[0] && !has_note)
		side_words(t, "", row->note);
}

/* Prints a packet that belongs to no half-connection as a plain line. */
static void print_stray(struct rn_ladder_text *t, const struct rn_dump_packet *d)
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
		print_stray(t, d);
		return true;
	}
	ladder = rn_ladder_of(d->watch, row.half);
	if (ladder != t->ladder)
		print_head(t, d->watch, ladder);
	else if (row.at - t->at >= TEXT_PAUSE)
		side_words(t, ":", rn_dump_time(row.at - t->at, text));
	if (d->shows_owner) {
		rn_dump_owner_words(d, text);
		side_words(t, "#", text);
	}
	text_arrow(t, &row, is_to_right(d->watch, &row));
	if (d->comment && d->comment[0])
		side_words(t, "#", d->comment);
	for (unsigned i = 0; i < d->verdict->findings; i++) {
		rn_dump_finding(&d->verdict->finding[i], text);
		side_words(t,
			   d->verdict->finding[i].level == RN_WATCH_VIOLATION
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

/* --------------------------------------------------------------- output as a picture */
/* A sequence diagram as SVG.
 *
 * Each packet is a row. Time runs downward, but not to scale: a long time without packets
 * takes one row. The time of each packet is on the left; on the right are the number of
 * PSNs in flight, the reason why a packet was sent again, and findings.
 */

enum {
	LEFT = 96,   /* x coordinate of the left vertical line */
	APART = 460, /* distance between the two vertical lines */
	RIGHT = LEFT + APART,
	WIDTH = RIGHT + 400,
	TOP = 52,
	ROW = 26,
	/* Vertical distance in pixels between the two ends of an arrow. Arrows slope,
	 * because a packet takes time.
	 */
	SLOPE = 6,
	LABEL_UP = 5, /* distance of a label above its arrow */
	/* In ns. If no packet comes for longer than this, the pause gets a row of its
	 * own.
	 */
	PAUSE = 1000000,
	SILENCE = 26, /* height of the row of a pause */
	/* gap in the vertical lines, in which the length of the pause is written */
	SILENCE_TEXT = 80,
	/* height of the space below the last arrow, which has the legend */
	FOOT = 40,
	CROSS = 5,     /* half the size of the cross at which a dropped packet ends */
	STUMP = 46,    /* length of the arrow of a packet that was never on the wire */
	NOTE_LEN = 62, /* maximum number of characters in a note on the right */
	SAID_LEN = 56, /* maximum number of characters in a comment in small print */
	LOOK_MAX = 64,
	SAID_DOWN = 12, /* distance of the comment below the note */
};

static const char *const classes[RN_LADDER_LOOKS] = {
	[RN_LADDER_REQUEST] = "request", [RN_LADDER_AGAIN] = "again",
	[RN_LADDER_DATA] = "data",	 [RN_LADDER_ACK] = "ack",
	[RN_LADDER_NAK] = "nak",	 [RN_LADDER_NOTIFY] = "notify",
};

const char rn_ladder_style[] =
	"svg .end{font-weight:600}svg .life{stroke:#9aa4b0;stroke-width:1.5}"
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
	"svg .drop{stroke:#b42318;stroke-width:2.4}"
	"svg .silence{stroke:#9aa4b0;stroke-dasharray:2 4}";

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

static void write_words(FILE *to, const char *class, unsigned x, unsigned y,
			const char *anchor, const char *text)
{
	char look[LOOK_MAX];

	snprintf(look, sizeof(look), "class='%s'", class);
	rn_svg_text(to, look, x, y, anchor, "%s", text);
}

static void draw_silence(FILE *to, unsigned y, rn_ns length)
{
	char text[RN_DUMP_TIME_MAX];

	for (unsigned i = 0; i < 2; i++) {
		unsigned from = i ? LEFT + (APART + SILENCE_TEXT) / 2 : LEFT;

		rn_svg_line(to, "class='silence'", from, y + SILENCE / 2.0,
			    from + (APART - SILENCE_TEXT) / 2.0, y + SILENCE / 2.0);
	}
	write_words(to, "n", LEFT + APART / 2, y + SILENCE / 2 + 4, "middle",
		    rn_dump_time(length, text));
}

/* Draws the end of an arrow whose packet was dropped there. */
static void draw_cross(FILE *to, double x, double y)
{
	rn_svg_line(to, "class='drop'", x - CROSS, y - CROSS, x + CROSS, y + CROSS);
	rn_svg_line(to, "class='drop'", x - CROSS, y + CROSS, x + CROSS, y - CROSS);
}

static void draw_arrow(FILE *to, const struct rn_ladder_row *row, bool to_right,
		       unsigned y)
{
	unsigned from = to_right ? LEFT : RIGHT, end = to_right ? RIGHT : LEFT;
	unsigned back = to_right ? end - 9 : end + 9, tip = y + SLOPE;
	char look[LOOK_MAX];

	snprintf(look, sizeof(look), "class='arrow %s'", classes[row->look]);
	if (row->drop == RN_LADDER_DROP_SENDER) {
		end = to_right ? from + STUMP : from - STUMP;
		tip = y + SLOPE * STUMP / APART;
	}
	rn_svg_line(to, look, from, y, end, tip);
	if (row->drop) {
		draw_cross(to, end, tip);
		return;
	}
	snprintf(look, sizeof(look), "class='%s'", classes[row->look]);
	rn_svg_triangle(to, look,
			(const double[]){ end, tip, back, tip - 5.0, back, tip + 4.0 },
			NULL);
}

/* Writes a line on the right of the arrow: the most serious finding about the packet or,
 * if there is none, the note of the row.
 */
static void verdict(FILE *to, const struct rn_ladder_row *row, unsigned y)
{
	const struct rn_watch_finding *f = &row->finding;
	const struct rn_watch_rule_info *rule = &rn_watch_rule_info[f->rule];
	char text[RN_DUMP_FINDING_MAX];

	if (!row->findings) {
		write_words(to, row->look == RN_LADDER_AGAIN ? "label-again" : "n",
			    RIGHT + 12, y, "start", row->note);
		return;
	}
	snprintf(text, sizeof(text), "%s %s%s%s",
		 f->level == RN_WATCH_VIOLATION ? "violation:" : "suspicion:", rule->name,
		 f->detail[0] ? ": " : "", f->detail);
	if (strlen(text) > NOTE_LEN)
		text[NOTE_LEN] = '\0';
	fprintf(to, "<g><title>%s (%s; IBTA %s): %s</title>", rule->name, rule->test,
		rule->source, rule->says);
	write_words(to, f->level == RN_WATCH_VIOLATION ? "bad" : "doubt", RIGHT + 12, y,
		    "start", text);
	fputs("</g>\n", to);
}

static void write_tooltip(FILE *to, const char *text)
{
	fputs("<title>", to);
	rn_html_text(to, text);
	fputs("</title>", to);
}

/* Writes what the devices have reported about the packet in small print below the note.
 * If the text is too long, it is cut, and the tooltip has all of it.
 */
static void write_comment(FILE *to, const struct rn_ladder_row *row, unsigned y)
{
	bool is_alone = !row->findings && !row->note[0];
	bool is_long = strlen(row->comment) > SAID_LEN;
	char start[RN_LADDER_COMMENT_MAX], text[RN_LADDER_COMMENT_MAX + 4];

	snprintf(start, sizeof(start), "%s", row->comment);
	cut_text(start, is_long ? SAID_LEN - 3 : SAID_LEN);
	snprintf(text, sizeof(text), "%s%s", start, is_long ? "..." : "");
	write_words(to, "said", RIGHT + 12, is_alone ? y : y + SAID_DOWN, "start", text);
}

static void packet(FILE *to, const struct rn_ladder_row *row, bool to_right, unsigned y)
{
	char text[RN_LADDER_LABEL_MAX];

	snprintf(text, sizeof(text), "%.6f", (double)row->at / 1e9);
	fputs("<g>", to);
	if (row->comment[0])
		write_tooltip(to, row->comment);
	write_words(to, "n", LEFT - 10, y + 8, "end", text);
	draw_arrow(to, row, to_right, y);
	snprintf(text, sizeof(text), "%s", row->label);
	if (strlen(text) > NOTE_LEN)
		text[NOTE_LEN] = '\0';
	write_words(to, row->look == RN_LADDER_NAK ? "label-nak" : "label",
		    LEFT + APART / 2, y - LABEL_UP, "middle", text);
	if (row->comment[0])
		write_comment(to, row, y + 8);
	fputs("</g>\n", to);
	verdict(to, row, y + 8);
}

static void draw_frame(FILE *to, const struct rn_ladder_picture *p, unsigned height)
{
	char end[RN_LADDER_END_MAX];

	for (unsigned i = 0; i < 2; i++) {
		const char *owner = rn_ladder_owner(p->w, p->ladder, i == 1, p->owners);

		fputs("<g>", to);
		if (owner)
			write_tooltip(to, owner);
		write_words(to, "end", i ? RIGHT : LEFT, 20, "middle",
			    rn_ladder_end(p->w, p->ladder, i == 1, end));
		fputs("</g>\n", to);
		rn_svg_line(to, "class='life'", i ? RIGHT : LEFT, 28, i ? RIGHT : LEFT,
			    height - FOOT + 10);
	}
}

/* Says below the diagram what the colours of the arrows stand for. */
static void draw_legend(FILE *to, unsigned y)
{
	static const char *const name[RN_LADDER_LOOKS] = {
		[RN_LADDER_REQUEST] = "request", [RN_LADDER_AGAIN] = "sent again",
		[RN_LADDER_DATA] = "data",	 [RN_LADDER_ACK] = "ACK",
		[RN_LADDER_NAK] = "NAK",	 [RN_LADDER_NOTIFY] = "CNP",
	};
	double x = LEFT;
	char look[LOOK_MAX];

	for (unsigned i = 0; i < RN_LADDER_LOOKS; i++) {
		snprintf(look, sizeof(look), "class='%s'", classes[i]);
		rn_svg_line(to, look, x, y, x + 24, y);
		rn_svg_text(to, "class='n'", x + 30, y + 4, "start", "%s", name[i]);
		x += 30 + 7.0 * (double)strlen(name[i]) + 20;
	}
	draw_cross(to, x + 6, y);
	rn_svg_text(to, "class='n'", x + 20, y + 4, "start", "dropped here");
}

static const char file_style[] =
	"svg{background:#fff}svg text{font:12px "
	"ui-monospace,Menlo,Consolas,monospace;stroke:#fff;stroke-width:3px;"
	"paint-order:stroke}";

void rn_ladder_draw(FILE *to, const struct rn_ladder_picture *p, bool is_file)
{
	unsigned height = height_of(p), y = TOP;
	rn_ns at = -1;

	rn_svg_begin(to,
		     &(struct rn_svg_picture){
			     .width = WIDTH,
			     .height = height,
			     .style = { is_file ? file_style : NULL, rn_ladder_style },
		     });
	draw_frame(to, p, height);
	for (size_t i = 0; i < p->rows; i++) {
		const struct rn_ladder_row *row = &p->row[i];

		if (!is_in(p, row))
			continue;
		if (at >= 0 && row->at - at >= PAUSE) {
			draw_silence(to, y - 12, row->at - at);
			y += SILENCE;
		}
		packet(to, row, is_to_right(p->w, row), y);
		at = row->at;
		y += ROW;
	}
	draw_legend(to, height - 14);
	rn_svg_end(to);
}
