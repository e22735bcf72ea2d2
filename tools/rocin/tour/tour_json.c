/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour_json.c - a stop and its run for programs. */
#include <errno.h>
#include <jansson.h>

#include "tour.h"

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
		const char *again = rn_watch_cause_text(p->remark.cause);
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
