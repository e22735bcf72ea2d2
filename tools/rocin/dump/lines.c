/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lines.c - prints captured packets as lines of text, and packets and statistics as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "dump.h"
#include "tools/dump/packet.h"

void rn_dump_note(const struct rn_watch_verdict *r, char note[RN_DUMP_NOTE_MAX])
{
	char time[RN_DUMP_TIME_MAX];

	note[0] = '\0';
	if (r->cause != RN_CAUSE_NONE && r->since > 0)
		snprintf(note, RN_DUMP_NOTE_MAX, " [again: %s, %s]",
			 rn_watch_cause_text(r->cause), rn_dump_time(r->since, time));
	else if (r->cause != RN_CAUSE_NONE)
		snprintf(note, RN_DUMP_NOTE_MAX, " [again: %s]",
			 rn_watch_cause_text(r->cause));
	else if (r->is_duplicate)
		snprintf(note, RN_DUMP_NOTE_MAX, " [nothing new]");
	else if (r->starts_anew)
		snprintf(note, RN_DUMP_NOTE_MAX, " [another connection]");
}

void rn_dump_finding(const struct rn_watch_finding *f, char text[RN_DUMP_FINDING_MAX])
{
	const struct rn_watch_rule_info *rule = &rn_watch_rule_info[f->rule];

	snprintf(text, RN_DUMP_FINDING_MAX, "%s (%s; IBTA %s): %s%s%s", rule->name,
		 rule->test, rule->source, rule->says, f->detail[0] ? ": " : "",
		 f->detail);
}

void rn_dump_owner_words(const struct rn_dump_packet *d, char text[RN_DUMP_SAID_MAX])
{
	const struct rn_gid *gid = d->is_outbound ? &d->p->flow.src : &d->p->flow.dst;
	const char *owner = rn_dump_owner(d->owners, gid, d->local_qpn);
	char address[RN_PACKET_ADDRESS_MAX];

	snprintf(text, RN_DUMP_SAID_MAX, "queue pair 0x%" PRIx32 " of %s: %s",
		 d->local_qpn, rn_packet_address(gid, address), owner ? owner : "?");
}

void rn_dump_arrival_words(const struct rn_dump_arrival *a, char text[RN_DUMP_SAID_MAX])
{
	if (a->p->form == RN_PACKET_WHOLE)
		snprintf(text, RN_DUMP_SAID_MAX, "psn %" PRIu32 " as it arrived: %s",
			 a->p->bth.psn.v, a->comment);
	else
		snprintf(text, RN_DUMP_SAID_MAX, "as it arrived: %s", a->comment);
}

static void print_comment(const struct rn_dump_lines *lines, const char *text)
{
	fprintf(lines->to, "%14s# %s\n", "", text);
}

void rn_dump_line_arrival(void *ctx, const struct rn_dump_arrival *a)
{
	const struct rn_dump_lines *lines = ctx;
	char text[RN_DUMP_SAID_MAX];

	if (lines->findings_only)
		return;
	rn_dump_arrival_words(a, text);
	print_comment(lines, text);
}

bool rn_dump_line(void *ctx, const struct rn_dump_packet *d)
{
	const struct rn_dump_lines *lines = ctx;
	char src[RN_PACKET_ADDRESS_MAX], dst[RN_PACKET_ADDRESS_MAX];
	char text[RN_PACKET_TEXT_MAX], note[RN_DUMP_NOTE_MAX], owner[RN_DUMP_SAID_MAX];

	if (lines->findings_only && !d->verdict->findings)
		return true;
	if (d->shows_owner && !lines->findings_only) {
		rn_dump_owner_words(d, owner);
		print_comment(lines, owner);
	}
	rn_packet_words(d->p, text, sizeof(text));
	rn_dump_note(d->verdict, note);
	fprintf(lines->to, "%12.6f  %s > %s  %s%s\n", (double)d->at / 1e9,
		rn_packet_address(&d->p->flow.src, src),
		rn_packet_address(&d->p->flow.dst, dst), text, note);
	if (d->comment && d->comment[0])
		print_comment(lines, d->comment);
	for (unsigned i = 0; i < d->verdict->findings; i++) {
		char finding[RN_DUMP_FINDING_MAX];

		rn_dump_finding(&d->verdict->finding[i], finding);
		fprintf(lines->to, "%14s%s %s\n", "",
			d->verdict->finding[i].level == RN_WATCH_VIOLATION
				? "! violation:"
				: "? suspicion:",
			finding);
	}
	return true;
}

/* ------------------------------------------------------------------- output as JSON */
static json_t *findings(const struct rn_watch_verdict *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->findings; i++) {
		const struct rn_watch_finding *f = &r->finding[i];
		const struct rn_watch_rule_info *rule = &rn_watch_rule_info[f->rule];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "rule",
					rule->name, "level",
					f->level == RN_WATCH_VIOLATION ? "violation"
								       : "suspicion",
					"test", rule->test, "source", rule->source,
					"says", rule->says, "detail", f->detail));
	}
	return list;
}

static void set_integer(json_t *o, const char *key, json_int_t value)
{
	json_object_set_new(o, key, json_integer(value));
}

static void set_headers(json_t *o, const struct rn_packet *p)
{
	uint32_t flags = p->op->flags;

	if (flags & RN_OP_RETH) {
		json_object_set_new(o, "va", json_sprintf("0x%" PRIx64, p->reth.va));
		set_integer(o, "rkey", p->reth.rkey);
		set_integer(o, "dmalen", p->reth.dma_len);
	}
	if (flags & RN_OP_ATOMIC_ETH) {
		json_object_set_new(o, "va", json_sprintf("0x%" PRIx64, p->atomic.va));
		set_integer(o, "rkey", p->atomic.rkey);
	}
	if (flags & RN_OP_AETH) {
		set_integer(o, "syndrome", p->aeth.syndrome);
		set_integer(o, "msn", p->aeth.msn);
	}
	if (flags & RN_OP_DETH) {
		set_integer(o, "qkey", p->deth.qkey);
		set_integer(o, "src_qp", p->deth.src_qpn);
	}
	if (flags & RN_OP_IMM)
		set_integer(o, "imm", p->imm);
	if (flags & RN_OP_IETH)
		set_integer(o, "invalidate", p->invalidate);
	if (flags & RN_OP_PAYLOAD)
		set_integer(o, "len", p->payload_len);
}

static void set_packet(json_t *o, const struct rn_packet *p)
{
	char text[RN_PACKET_TEXT_MAX];

	rn_packet_words(p, text, sizeof(text));
	json_object_set_new(o, "format", json_string(rn_packet_format_name(p)));
	json_object_set_new(o, "text", json_string(text));
	json_object_set_new(o, "icrc",
			    p->icrc == RN_PACKET_ICRC_CUT ||
					    p->icrc == RN_PACKET_ICRC_OPEN
				    ? json_null()
				    : json_boolean(p->icrc == RN_PACKET_ICRC_RIGHT));
	if (p->form == RN_PACKET_NO_BTH || p->form == RN_PACKET_VERSION ||
	    p->have < RN_BTH_LEN)
		return;
	set_integer(o, "opcode", p->bth.opcode);
	set_integer(o, "qp", p->bth.dest_qpn);
	set_integer(o, "psn", p->bth.psn.v);
	json_object_set_new(o, "ackreq", json_boolean(p->bth.ack_req));
	if (p->form != RN_PACKET_WHOLE)
		return;
	json_object_set_new(o, "name", json_string(p->op->name));
	set_headers(o, p);
}

/* Adds those texts that a pcapng file has for the packet: comment, interface, and owner
 * of the QP.
 */
static void set_said(json_t *o, const struct rn_dump_packet *d)
{
	if (d->comment && d->comment[0])
		json_object_set_new(o, "comment", json_string(d->comment));
	if (d->interface && d->interface[0])
		json_object_set_new(o, "interface", json_string(d->interface));
	if (d->owner && d->owner[0])
		json_object_set_new(o, "owner", json_string(d->owner));
	if (d->local_qpn)
		set_integer(o, "local_qp", d->local_qpn);
}

void rn_dump_json_arrival(void *ctx, const struct rn_dump_arrival *a)
{
	json_t *o =
		json_pack("{s:I, s:f, s:b, s:s}", "number", (json_int_t)a->number, "time",
			  (double)a->at / 1e9, "arrived", 1, "comment", a->comment);

	if (!o)
		return;
	json_dumpf(o, ctx, JSON_COMPACT);
	fputc('\n', ctx);
	json_decref(o);
}

bool rn_dump_json_packet(void *ctx, const struct rn_dump_packet *d)
{
	char src[RN_PACKET_ADDRESS_MAX], dst[RN_PACKET_ADDRESS_MAX];
	const struct rn_watch_verdict *r = d->verdict;
	json_t *o = json_pack("{s:I, s:f, s:s, s:s}", "number", (json_int_t)d->number,
			      "time", (double)d->at / 1e9, "src",
			      rn_packet_address(&d->p->flow.src, src), "dst",
			      rn_packet_address(&d->p->flow.dst, dst));

	if (!o)
		return false;
	set_packet(o, d->p);
	if (r->half != RN_WATCH_NONE)
		set_integer(o, "half", r->half);
	if (r->cause != RN_CAUSE_NONE)
		json_object_set_new(o, "again",
				    json_string(rn_watch_cause_text(r->cause)));
	if (r->since > 0)
		json_object_set_new(o, r->is_response ? "rtt" : "since",
				    json_real((double)r->since / 1e9));
	if (r->is_duplicate)
		json_object_set_new(o, "nothing_new", json_true());
	if (r->missing)
		set_integer(o, "missing", r->missing);
	json_object_set_new(o, "findings", findings(r));
	set_said(o, d);
	json_dumpf(o, ctx, JSON_COMPACT);
	fputc('\n', ctx);
	json_decref(o);
	return true;
}

static json_t *resends_json(const struct rn_watch_counts *n)
{
	json_t *o = json_object();

	for (unsigned i = RN_CAUSE_NONE + 1; i < RN_CAUSE_COUNT; i++)
		set_integer(o, rn_watch_cause_text(i), (json_int_t)n->resends[i]);
	return o;
}

static json_t *over_time(const struct rn_watch_half *h)
{
	json_t *list = json_array();
	rn_ns end = h->n.last - h->bucket_start;

	for (unsigned i = 0;
	     h->bucket && i < RN_WATCH_BUCKETS && (rn_ns)i * h->bucket_width <= end;
	     i++) {
		const struct rn_watch_bucket *b = &h->bucket[i];

		json_array_append_new(
			list,
			json_pack("{s:f, s:I, s:i, s:i, s:i, s:o, s:f}", "time",
				  (double)(h->bucket_start + (rn_ns)i * h->bucket_width) /
					  1e9,
				  "bytes", (json_int_t)b->bytes, "resent", (int)b->resent,
				  "naks", (int)b->naks, "window", (int)b->window,
				  "credits",
				  b->credits ? json_integer(b->credits - 1) : json_null(),
				  "rtt",
				  b->rtts ? (double)b->rtt_sum / b->rtts / 1e9 : 0.0));
	}
	return list;
}

static void set_counts(json_t *o, const struct rn_watch_counts *n)
{
	const struct {
		const char *key;
		uint64_t value;
	} all[] = {
		{ "messages", n->messages },
		{ "requests", n->requests },
		{ "sent_bytes", n->sent_bytes },
		{ "done_bytes", n->done_bytes },
		{ "resent", n->resent },
		{ "resent_bytes", n->resent_bytes },
		{ "missing", n->missing },
		{ "responses", n->responses },
		{ "acks", n->acks },
		{ "data_responses", n->read_responses },
		{ "seq_naks", n->seq_naks },
		{ "rnr_naks", n->rnr_naks },
		{ "fatal_naks", n->fatal_naks },
		{ "nothing_new", n->duplicates },
		{ "marked", n->marked },
		{ "cnps", n->cnps },
		{ "window_max", n->window_max },
		{ "violations", n->violations },
		{ "suspicions", n->suspicions },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(all); i++)
		set_integer(o, all[i].key, (json_int_t)all[i].value);
	if (n->credits != RN_CREDITS_UNLIMITED)
		set_integer(o, "credits", n->credits);
}

static json_t *half_json(const struct rn_watch_half *h)
{
	char src[RN_PACKET_ADDRESS_MAX], dst[RN_PACKET_ADDRESS_MAX];
	const struct rn_watch_counts *n = &h->n;
	json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:f, s:f, s:f}", "transport",
			      rn_dump_class(h), "src", rn_packet_address(&h->src, src),
			      "dst", rn_packet_address(&h->dst, dst), "qp", (int)h->qpn,
			      "first", (double)n->first / 1e9, "last",
			      (double)n->last / 1e9, "goodput_gbps", rn_dump_goodput(h));

	if (!o)
		return NULL;
	if (h->is_paired)
		set_integer(o, "src_qp", h->peer_qpn);
	if (h->pmtu)
		set_integer(o, "pmtu", h->pmtu);
	set_counts(o, n);
	json_object_set_new(o, "resends", resends_json(n));
	if (n->rtts)
		json_object_set_new(o, "rtt",
				    json_pack("{s:I, s:f, s:f, s:f, s:f}", "count",
					      (json_int_t)n->rtts, "min",
					      (double)n->rtt_min / 1e9, "median",
					      (double)rn_watch_rtt(h, 0.5) / 1e9, "p99",
					      (double)rn_watch_rtt(h, 0.99) / 1e9, "max",
					      (double)n->rtt_max / 1e9));
	json_object_set_new(o, "over_time", over_time(h));
	return o;
}

int rn_dump_json_stats(void *ctx, const struct rn_watch *w)
{
	json_t *list = json_array(), *all;
	int rc;

	for (uint32_t i = 0; i < rn_watch_halves(w); i++) {
		json_t *o = rn_dump_is_told(rn_watch_half(w, i))
				    ? half_json(rn_watch_half(w, i))
				    : NULL;

		if (o) {
			set_integer(o, "half", i);
			json_array_append_new(list, o);
		}
	}
	all = json_pack("{s:o}", "halves", list);
	rc = all ? json_dumpf(all, ctx, JSON_INDENT(1)) : -1;
	fputc('\n', ctx);
	json_decref(all);
	return rc || fflush(ctx) || ferror((FILE *)ctx) ? -EIO : 0;
}
