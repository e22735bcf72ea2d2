/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_lines.c - one line per packet, what it breaks below. */
#include <inttypes.h>
#include <string.h>

#include "dump.h"
#include "tools/rocin/common/gid_text.h"

const char *rn_dump_time(rn_ns t, char text[RN_DUMP_TIME_MAX])
{
	double ns = (double)t;

	if (t < 1000)
		snprintf(text, RN_DUMP_TIME_MAX, "%.0f ns", ns);
	else if (t < 1000000)
		snprintf(text, RN_DUMP_TIME_MAX, "%.3g us", ns / 1e3);
	else if (t < 1000000000)
		snprintf(text, RN_DUMP_TIME_MAX, "%.3g ms", ns / 1e6);
	else
		snprintf(text, RN_DUMP_TIME_MAX, "%.4g s", ns / 1e9);
	return text;
}

void rn_dump_note(const struct rn_watch_remark *r, char note[RN_DUMP_NOTE_MAX])
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

void rn_dump_cut(char *text, size_t len)
{
	if (strlen(text) <= len)
		return;
	while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
		len--;
	text[len] = '\0';
}

void rn_dump_owner_words(const struct rn_dump_packet *d, char text[RN_DUMP_SAID_MAX])
{
	const struct rn_gid *gid = d->is_outbound ? &d->p->flow.src : &d->p->flow.dst;
	const char *owner = rn_dump_owner(d->owners, gid, d->local_qpn);
	char address[RN_GID_TEXT_MAX];

	snprintf(text, RN_DUMP_SAID_MAX, "queue pair 0x%" PRIx32 " of %s: %s",
		 d->local_qpn, rn_gid_text(gid, address), owner ? owner : "?");
}

void rn_dump_arrival_words(const struct rn_dump_arrival *a, char text[RN_DUMP_SAID_MAX])
{
	if (a->p->form == RN_PACKET_WHOLE)
		snprintf(text, RN_DUMP_SAID_MAX, "psn %" PRIu32 " as it arrived: %s",
			 a->p->bth.psn.v, a->comment);
	else
		snprintf(text, RN_DUMP_SAID_MAX, "as it arrived: %s", a->comment);
}

static void said(const struct rn_dump_lines *lines, const char *text)
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
	said(lines, text);
}

bool rn_dump_line(void *ctx, const struct rn_dump_packet *d)
{
	const struct rn_dump_lines *lines = ctx;
	char src[RN_GID_TEXT_MAX], dst[RN_GID_TEXT_MAX];
	char text[RN_PACKET_TEXT_MAX], note[RN_DUMP_NOTE_MAX], owner[RN_DUMP_SAID_MAX];

	if (lines->findings_only && !d->remark->findings)
		return true;
	if (d->shows_owner && !lines->findings_only) {
		rn_dump_owner_words(d, owner);
		said(lines, owner);
	}
	rn_packet_words(d->p, text, sizeof(text));
	rn_dump_note(d->remark, note);
	fprintf(lines->to, "%12.6f  %s > %s  %s%s\n", (double)d->at / 1e9,
		rn_gid_text(&d->p->flow.src, src), rn_gid_text(&d->p->flow.dst, dst),
		text, note);
	if (d->comment && d->comment[0])
		said(lines, d->comment);
	for (unsigned i = 0; i < d->remark->findings; i++) {
		char finding[RN_DUMP_FINDING_MAX];

		rn_dump_finding(&d->remark->finding[i], finding);
		fprintf(lines->to, "%14s%s %s\n", "",
			d->remark->finding[i].level == RN_WATCH_VIOLATION
				? "! violation:"
				: "? suspicion:",
			finding);
	}
	return true;
}
