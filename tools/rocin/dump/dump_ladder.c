/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_ladder.c - rows of a sequence diagram: which way, which look, which words. */
#include <inttypes.h>
#include <string.h>

#include "dump_ladder.h"
#include "tools/rocin/common/gid_text.h"

static enum rn_ladder_look look_of(const struct rn_dump_packet *d)
{
	const struct rn_opcode_info *op = d->p->op;

	if (op->flags & RN_OP_NOTIFY)
		return RN_LADDER_NOTIFY;
	if (op->flags & RN_OP_REQUEST)
		return d->remark->cause != RN_CAUSE_NONE ? RN_LADDER_AGAIN
							 : RN_LADDER_REQUEST;
	if (op->kind != RN_OP_KIND_ACK)
		return RN_LADDER_DATA;
	return rn_aeth_type(d->p->aeth.syndrome) == RN_AETH_ACK ? RN_LADDER_ACK
								: RN_LADDER_NAK;
}

/* Keys and addresses are for the lines of a listing. */
static void without_address(char *words)
{
	char *from = strstr(words, " va "), *to = strstr(words, " dmalen ");

	if (!to)
		to = strstr(words, " swap/add ");
	if (from && to && from < to)
		memmove(from, to, strlen(to) + 1);
}

/* The words of a line, without the queue pair, which stands above, and without the class.
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
		/* The syndrome says ACK or NAK itself. */
		const char *said = rest ? strchr(rest + 5, ' ') : NULL;

		snprintf(row->label, sizeof(row->label), "%s, psn %" PRIu32,
			 said ? said + 1 : "ACK", p->bth.psn.v);
	} else {
		snprintf(row->label, sizeof(row->label), "%s%s",
			 name ? name + 1 : p->op->name, rest ? rest : "");
	}
}

static void add_comment(struct rn_ladder_row *row, const char *text)
{
	size_t at = strlen(row->comment), room = sizeof(row->comment) - at;
	char words[RN_DUMP_SAID_MAX];

	if (room < 8)
		return;
	snprintf(words, sizeof(words), "%s%s", at ? "; " : "", text);
	rn_dump_cut(words, room - 1);
	memcpy(row->comment + at, words, strlen(words) + 1);
}

bool rn_ladder_row(struct rn_ladder_row *row, const struct rn_dump_packet *d)
{
	const struct rn_watch_remark *r = d->remark;
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
	/* Without the brackets. */
	len = strlen(row->note);
	if (len > 3) {
		memmove(row->note, row->note + 2, len - 3);
		row->note[len - 3] = '\0';
	}
	if (d->comment)
		add_comment(row, d->comment);
	for (unsigned i = 0; i < r->findings; i++)
		if (i == 0 || r->finding[i].level > row->finding.level)
			row->finding = r->finding[i];
	return true;
}

void rn_ladder_row_arrived(struct rn_ladder_row *row, const struct rn_dump_arrival *a)
{
	add_comment(row, a->comment);
}

/* Datagrams have no connection: those of two hosts to one queue pair number, as the
 * connection manager's, are one diagram.
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
	/* The one that asked first is the left one. */
	if (!rn_watch_half(w, peer)->n.requests)
		return half;
	if (!rn_watch_half(w, half)->n.requests)
		return peer;
	return peer < half ? peer : half;
}

bool rn_ladder_is_to_right(const struct rn_watch *w, const struct rn_ladder_row *row)
{
	return (rn_ladder_of(w, row->half) == row->half) != row->is_response;
}

const char *rn_ladder_end(const struct rn_watch *w, uint32_t ladder, bool is_right,
			  char text[RN_LADDER_END_MAX])
{
	const struct rn_watch_half *h = rn_watch_half(w, ladder);
	char gid[RN_GID_TEXT_MAX];

	rn_gid_text(is_right ? &h->dst : &h->src, gid);
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
