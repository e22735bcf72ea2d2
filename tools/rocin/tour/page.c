/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.c - prints a stop (a step of the tour) and its result: as text, in parts that fit
 * a small terminal, or as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rocin/dump/ladder.h"
#include "tools/tour/lines.h"
#include "tour.h"

enum {
	INDENT = 2,
	CODE_INDENT = 4,
	BYTES = 16, /* maximum number of bytes of memory that are shown */
};

static const char *bold(const struct rn_tour_look *look)
{
	return look->has_colour ? "\033[1m" : "";
}

static const char *plain(const struct rn_tour_look *look)
{
	return look->has_colour ? "\033[0m" : "";
}

/* Writes @text with line breaks between words. The first line begins with @first, the
 * others with @next.
 */
static void wrap(FILE *to, const struct rn_tour_look *look, const char *first,
		 const char *next, const char *text)
{
	size_t column = strlen(first);
	bool is_begun = false;

	fputs(first, to);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (is_begun && column + 1 + len > look->width) {
			fprintf(to, "\n%s", next);
			column = strlen(next);
			is_begun = false;
		}
		fprintf(to, "%s%.*s", is_begun ? " " : "", (int)len, text);
		column += len + is_begun;
		is_begun = true;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

void rn_tour_wrap(FILE *to, const struct rn_tour_look *look, unsigned indent,
		  const char *text)
{
	char space[16];

	snprintf(space, sizeof(space), "%*s", (int)indent, "");
	wrap(to, look, space, space, text);
}

static void print_head(FILE *to, const struct rn_tour_look *look, const char *text)
{
	fprintf(to, "%s%s%s\n", bold(look), text, plain(look));
}

/* ---------------------------------------------- title, and the calls of the program */
static void show_title(FILE *to, const struct rn_tour_look *look,
		       const struct rn_tour_checks *c)
{
	const struct rn_tour_stop *s = c->v->stop;

	fprintf(to, "%s%u of %d  %s%s\n\n", bold(look), (unsigned)(s - rn_tour_stops) + 1,
		RN_TOUR_STOPS, s->title, plain(look));
	rn_tour_wrap(to, look, INDENT, s->what);
	if (!c->v->is_changed)
		return;
	fprintf(to, "\n%*sWith", INDENT, "");
	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && s->setting[i].key; i++)
		if (strcmp(s->setting[i].preset, c->v->value[i]) != 0)
			fprintf(to, " %s=%s", s->setting[i].key, c->v->value[i]);
	fputs(".\n", to);
}

static void show_calls(FILE *to, const struct rn_tour_look *look,
		       const struct rn_tour_checks *c)
{
	const char *code = rn_tour_code(c->v->stop->name);
	bool has_values = false;

	print_head(to, look, "The calls");
	rn_tour_wrap(to, look, INDENT, c->v->stop->calls);
	fputc('\n', to);
	while (code && *code) {
		int len = (int)strcspn(code, "\n");

		fprintf(to, "%*s%.*s\n", len ? CODE_INDENT : 0, "", len, code);
		code += len + (code[len] == '\n');
	}
	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && c->v->stop->setting[i].key;
	     i++) {
		if (c->v->stop->setting[i].knob)
			continue;
		fprintf(to, "%s%s is %s", has_values ? ", " : "\n  Here ",
			c->v->stop->setting[i].key, c->v->value[i]);
		has_values = true;
	}
	if (has_values)
		fputs(".\n", to);
	if (rn_tour_value(c->r, "rkey"))
		fprintf(to,
			"  mr->addr is 0x%" PRIx64 ", mr->length %" PRIu64
			",\n  mr->lkey 0x%" PRIx64 ", mr->rkey 0x%" PRIx64 ".\n",
			rn_tour_value(c->r, "address"), rn_tour_value(c->r, "length"),
			rn_tour_value(c->r, "lkey"), rn_tour_value(c->r, "rkey"));
}

/* -------------------------------------------------------------- packets of the stop */
/* Prints what the devices have reported about a packet (its diagnostics), unless the line
 * of the packet contains the same.
 */
static void show_said(FILE *to, const struct rn_tour_look *look,
		      const struct rn_tour_packet *p)
{
	const char *const by_a = "              |   A: ", *const by_b =
								  "              |   B: ";
	const char *const more = "              |      ";
	bool is_from_a = p->from == RN_TOUR_A;

	if (p->sender[0] && !p->verdict.is_response && p->verdict.cause == RN_CAUSE_NONE)
		wrap(to, look, is_from_a ? by_a : by_b, more, p->sender);
	if (p->receiver[0])
		wrap(to, look, is_from_a ? by_b : by_a, more, p->receiver);
}

static void show_wire(FILE *to, const struct rn_tour_look *look,
		      const struct rn_tour_checks *c)
{
	struct rn_ladder_text ladder = { .to = to,
					 .has_colour = look->has_colour,
					 .columns = look->width,
					 .left = "A",
					 .right = "B",
					 .ladder = RN_WATCH_NONE };

	print_head(to, look, "On the wire");
	rn_tour_wrap(to, look, INDENT, c->v->stop->wire);
	fputc('\n', to);
	for (unsigned i = 0; i < c->r->packets; i++) {
		const struct rn_tour_packet *p = &c->r->packet[i];
		const struct rn_dump_packet d = { .number = p->number,
						  .at = p->at,
						  .p = &p->p,
						  .verdict = &p->verdict,
						  .watch = c->r->watch };

		rn_ladder_print(&ladder, &d);
		show_said(to, look, p);
	}
}

/* ------------------------------------------------------ TLPs and memory of the stop */
static void show_pcie(FILE *to, const struct rn_tour_look *look,
		      const struct rn_tour_checks *c)
{
	struct rn_tour_row row[RN_TOUR_ROWS_MAX];
	unsigned rows = rn_tour_rows(c->r, row);

	print_head(to, look, "On PCIe");
	rn_tour_wrap(to, look, INDENT, c->v->stop->pcie);
	fprintf(to, "\n%*s  %-8s  %-7s    %-7s  %6s  %4s\n", RN_LADDER_INDENT - 2,
		"done at (s)", "TLP", "from", "to", "bytes", "TLPs");
	for (unsigned i = 0; i < rows; i++)
		fprintf(to, "%*.6f  %-8s  %-7s -> %-7s  %6" PRIu32 "  %4" PRIu32 "  %s\n",
			RN_LADDER_INDENT - 2, (double)row[i].last / 1e9, row[i].kind,
			row[i].from, row[i].to, row[i].bytes, row[i].tlps, row[i].what);
}

static void show_bytes(FILE *to, const char *label, const char *hex)
{
	char text[BYTES + 1] = "";

	fprintf(to, "    %-10s", label);
	for (unsigned i = 0; i < BYTES && hex[0] && hex[1]; i++, hex += 2) {
		const char digits[3] = { hex[0], hex[1], '\0' };
		char byte = (char)strtoul(digits, NULL, 16);

		fprintf(to, " %s", digits);
		text[i] = (char)(byte >= ' ' && byte <= '~' ? byte : '.');
	}
	fprintf(to, "  %s\n", text);
}

static void show_memory(FILE *to, const struct rn_tour_look *look,
			const struct rn_tour_checks *c)
{
	char label[40];

	print_head(to, look, "In memory");
	rn_tour_wrap(to, look, INDENT, c->v->stop->memory);
	fputc('\n', to);
	for (unsigned i = 0; i < c->r->memories; i++) {
		const struct rn_tour_memory *m = &c->r->memory[i];

		snprintf(label, sizeof(label), "%s %s", m->name, m->when);
		show_bytes(to, label, m->hex);
	}
}

/* ------------------------------------------------ claims, and suggested experiments */
static void show_claims(FILE *to, const struct rn_tour_look *look,
			const struct rn_tour_checks *c)
{
	const char *red = look->has_colour ? "\033[31m" : "";

	print_head(to, look, "What happened, checked");
	for (unsigned i = 0; i < c->count; i++)
		fprintf(to, "%s  [%s] %s%s\n", c->claim[i].is_so ? "" : red,
			c->claim[i].is_so ? "ok" : "NOT SO", c->claim[i].text,
			c->claim[i].is_so ? "" : plain(look));
}

static void show_tries(FILE *to, const struct rn_tour_look *look,
		       const struct rn_tour_checks *c)
{
	const struct rn_tour_stop *s = c->v->stop;

	print_head(to, look,
		   look->is_asking && s->attempt[0].words ? "Try this (t does the first)"
							  : "Try this");
	for (unsigned i = 0; i < RN_TOUR_TRIES_MAX; i++) {
		const struct rn_tour_try *t = &s->attempt[i];

		if (t->words)
			fprintf(to, "  $ rocin tour --stop %s %s\n", s->name, t->words);
		else if (t->command)
			fprintf(to, "  $ rocin %s\n", t->command);
		if (t->see)
			rn_tour_wrap(to, look, CODE_INDENT, t->see);
	}
}

void rn_tour_page(FILE *to, const struct rn_tour_look *look, unsigned part,
		  const struct rn_tour_checks *c)
{
	static void (*const show[RN_TOUR_PARTS])(FILE *, const struct rn_tour_look *,
						 const struct rn_tour_checks *) = {
		[RN_TOUR_PART_TITLE] = show_title,   [RN_TOUR_PART_CALLS] = show_calls,
		[RN_TOUR_PART_WIRE] = show_wire,     [RN_TOUR_PART_PCIE] = show_pcie,
		[RN_TOUR_PART_CLAIMS] = show_claims, [RN_TOUR_PART_TRIES] = show_tries,
	};

	show[part](to, look, c);
	fputc('\n', to);
	if (part == RN_TOUR_PART_PCIE && c->v->stop->memory) {
		show_memory(to, look, c);
		fputc('\n', to);
	}
}

/* ------------------------------------------------------------------- result as JSON */
static const char *const end_names[] = { [RN_TOUR_A] = "A", [RN_TOUR_B] = "B" };

static double seconds(rn_ns t)
{
	return (double)t / 1e9;
}

static json_t *settings_of(const struct rn_tour_values *v)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < RN_TOUR_SETTINGS_MAX && v->stop->setting[i].key; i++)
		json_object_set_new(o, v->stop->setting[i].key, json_string(v->value[i]));
	return o;
}

static json_t *packets_of(const struct rn_tour_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->packets; i++) {
		const struct rn_tour_packet *p = &r->packet[i];
		const char *again = rn_watch_cause_text(p->verdict.cause);
		char words[RN_PACKET_TEXT_MAX];
		json_t *o;

		rn_packet_words(&p->p, words, sizeof(words));
		o = json_pack("{s:f, s:s, s:s, s:i, s:s, s:s, s:s}", "time",
			      seconds(p->at), "from", end_names[p->from], "opcode",
			      p->p.op->name, "psn", (int)p->p.bth.psn.v, "words", words,
			      "sender_says", p->sender, "receiver_says", p->receiver);
		if (again)
			json_object_set_new(o, "again", json_string(again));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *tlps_of(const struct rn_tour_result *r)
{
	struct rn_tour_row row[RN_TOUR_ROWS_MAX];
	unsigned rows = rn_tour_rows(r, row);
	json_t *list = json_array();

	for (unsigned i = 0; i < rows; i++)
		json_array_append_new(
			list,
			json_pack("{s:f, s:f, s:s, s:s, s:s, s:s, s:i, s:i}", "first",
				  seconds(row[i].first), "last", seconds(row[i].last),
				  "tlp", row[i].kind, "from", row[i].from, "to",
				  row[i].to, "what", row[i].what, "bytes",
				  (int)row[i].bytes, "count", (int)row[i].tlps));
	return list;
}

static json_t *completions_of(const struct rn_tour_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->wcs; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:i}", "end",
						      end_names[r->wc[i].end], "status",
						      r->wc[i].status, "opcode",
						      r->wc[i].opcode, "bytes",
						      (int)r->wc[i].bytes, "vendor_err",
						      (int)r->wc[i].vendor_err));
	return list;
}

static json_t *memory_of(const struct rn_tour_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->memories; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "of",
						      r->memory[i].name, "when",
						      r->memory[i].when, "bytes",
						      r->memory[i].hex));
	return list;
}

static json_t *claims_of(const struct rn_tour_checks *c, bool *is_all_so)
{
	json_t *list = json_array();

	*is_all_so = true;
	for (unsigned i = 0; i < c->count; i++) {
		*is_all_so &= c->claim[i].is_so;
		json_array_append_new(list,
				      json_pack("{s:s, s:b}", "claim", c->claim[i].text,
						"is_so", (int)c->claim[i].is_so));
	}
	return list;
}

int rn_tour_json(FILE *to, const struct rn_tour_checks *c)
{
	const struct rn_tour_stop *stop = c->v->stop;
	bool is_all_so;
	json_t *claims = claims_of(c, &is_all_so);
	json_t *o =
		json_pack("{s:i, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:b}",
			  "number", (int)(stop - rn_tour_stops) + 1, "stop", stop->name,
			  "title", stop->title, "settings", settings_of(c->v), "pcie",
			  rn_tour_knobs(c->v), "packets", packets_of(c->r), "tlps",
			  tlps_of(c->r), "completions", completions_of(c->r), "memory",
			  memory_of(c->r), "claims", claims, "is_all_so", (int)is_all_so);
	int rc = o ? json_dumpf(o, to, JSON_COMPACT) : -1;

	json_decref(o);
	fputc('\n', to);
	return rc ? -ENOMEM : 0;
}
