/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* page.c - writes an HTML page about a capture: findings, plots and sequence diagrams. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "ladder.h"
#include "tools/dump/packet.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/html.h"

enum {
	LADDERS = 64,	/* maximum number of diagrams on a page */
	ROWS = 20000,	/* maximum number of rows in all diagrams together */
	FINDINGS = 500, /* maximum number of findings in the list */
	/* if there are more findings than this, the list of them is folded at first */
	LIST_OPEN = 20,
	MTU_LEN = 12,
};

struct finding {
	uint64_t number;
	rn_ns at;
	struct rn_watch_finding what;
	char words[RN_PACKET_TEXT_MAX];
};

/* A sequence diagram, and the number of its rows so far. */
struct drawn {
	uint32_t ladder;
	uint64_t rows;
};

struct rn_dump_page {
	const char *file;
	struct rn_ladder_row *row;
	size_t rows, room;
	struct drawn drawn[LADDERS];
	unsigned ladders;
	struct finding *finding;
	unsigned findings;
	uint64_t packets, violations, suspicions;
	rn_ns last;
	const struct rn_dump_owners *owners; /* owners of the QPs, or NULL */
};

struct rn_dump_page *rn_dump_page_open(const char *file)
{
	struct rn_dump_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->file = file;
	page->finding = calloc(FINDINGS, sizeof(*page->finding));
	if (!page->finding) {
		free(page);
		return NULL;
	}
	return page;
}

void rn_dump_page_close(struct rn_dump_page *page)
{
	if (!page)
		return;
	free(page->finding);
	free(page->row);
	free(page);
}

/* ---- Collecting packets ---- */

static void add_findings(struct rn_dump_page *page, const struct rn_dump_packet *d)
{
	for (unsigned i = 0; i < d->verdict->findings; i++) {
		const struct rn_watch_finding *f = &d->verdict->finding[i];
		struct finding *to = &page->finding[page->findings];

		if (f->level == RN_WATCH_VIOLATION)
			page->violations++;
		else
			page->suspicions++;
		if (page->findings == FINDINGS)
			continue;
		page->findings++;
		to->number = d->number;
		to->at = d->at;
		to->what = *f;
		rn_packet_words(d->p, to->words, sizeof(to->words));
	}
}

/* Counts one more row in the diagram @ladder, which is made if it does not exist. Returns
 * false if there is no room for the row.
 */
static bool has_place(struct rn_dump_page *page, uint32_t ladder)
{
	for (unsigned i = 0; i < page->ladders; i++)
		if (page->drawn[i].ladder == ladder)
			return page->drawn[i].rows++ < RN_LADDER_ROWS;
	if (page->ladders == LADDERS)
		return false;
	page->drawn[page->ladders++] = (struct drawn){ ladder, 1 };
	return true;
}

static void add_row(struct rn_dump_page *page, const struct rn_ladder_row *row)
{
	if (page->rows == page->room) {
		size_t room = page->room ? 2 * page->room : 256;
		struct rn_ladder_row *more = NULL;

		if (room <= ROWS)
			more = realloc(page->row, room * sizeof(*more));
		if (!more)
			return;
		page->row = more;
		page->room = room;
	}
	page->row[page->rows++] = *row;
}

bool rn_dump_page_packet(void *ctx, const struct rn_dump_packet *d)
{
	struct rn_dump_page *page = ctx;
	struct rn_ladder_row row;

	page->packets++;
	page->owners = d->owners;
	page->last = d->at > page->last ? d->at : page->last;
	add_findings(page, d);
	if (rn_ladder_row(&row, d) && has_place(page, rn_ladder_of(d->watch, row.half)))
		add_row(page, &row);
	return true;
}

void rn_dump_page_arrival(void *ctx, const struct rn_dump_arrival *a)
{
	struct rn_dump_page *page = ctx;
	size_t i = page->rows;

	while (i > 0 && page->row[i - 1].number > a->number)
		i--;
	if (i > 0 && page->row[i - 1].number == a->number)
		rn_ladder_row_arrived(&page->row[i - 1], a);
}

/* ---- Writing the page ---- */

static void text(FILE *to, const char *t)
{
	rn_html_text(to, t);
}

static void write_head(FILE *to, const struct rn_dump_page *page)
{
	char time[RN_DUMP_TIME_MAX];

	rn_html_begin(to, page->file,
		      (const char *const[]){ rn_ladder_style, rn_dump_plot_style, NULL });
	fprintf(to,
		"<p class='dim'>Packets of RoCE and InfiniBand, told by rocin "
		"dump.</p><div "
		"class='cards'><div><b>%" PRIu64
		"</b>packets</div><div><b>%s</b>from first "
		"to last</div><div><b class='%s'>%" PRIu64 "</b>violations</div><div><b "
		"class='%s'>%" PRIu64 "</b>suspicions</div></div>\n",
		page->packets, rn_dump_time(page->last, time),
		page->violations ? "bad" : "ok", page->violations,
		page->suspicions ? "warn" : "ok", page->suspicions);
}

static void list_findings(FILE *to, const struct rn_dump_page *page)
{
	if (!page->findings)
		return;
	fprintf(to,
		"<h2>Rules that were broken</h2>\n<p class='dim'>A violation is the "
		"sender's; a suspicion may be a network that loses, doubles or "
		"reorders.</p><details%s><summary>The list</summary><div "
		"class='scroll'><table><tr><th>Packet<th>Time, "
		"s<th>Rule<th>What<th>Words\n",
		page->findings <= LIST_OPEN ? " open" : "");
	for (unsigned i = 0; i < page->findings; i++) {
		const struct finding *f = &page->finding[i];
		const struct rn_watch_rule_info *rule = &rn_watch_rule_info[f->what.rule];

		fprintf(to,
			"<tr><td class='number'>%" PRIu64 "<td class='number'>%.6f<td "
			"class='%s'>%s (%s)<td>",
			f->number, (double)f->at / 1e9,
			f->what.level == RN_WATCH_VIOLATION ? "bad" : "warn", rule->name,
			rule->test);
		text(to, rule->says);
		if (f->what.detail[0]) {
			fputs(": ", to);
			text(to, f->what.detail);
		}
		fputs("<td class='code'>", to);
		text(to, f->words);
		fputc('\n', to);
	}
	fputs("</table></div></details>\n", to);
	if (page->findings < page->violations + page->suspicions)
		fprintf(to, "<p class='dim'>The first %u of %" PRIu64 ".</p>\n",
			page->findings, page->violations + page->suspicions);
}

/* Returns the path MTU as text. It is empty if no packet has shown the path MTU, for
 * instance if there are only atomics.
 */
static const char *path_mtu(const struct rn_watch_half *h, char text[MTU_LEN])
{
	snprintf(text, MTU_LEN, "%" PRIu32, h->pmtu);
	return h->pmtu ? text : "";
}

static void write_counts(FILE *to, const struct rn_watch *w)
{
	fputs("<h2>Queue pairs</h2>\n<div class='scroll'><table><tr><th>Requests "
	      "of<th>MTU<th>Messages<th>Packets<th>Bytes<th>Gbit/"
	      "s<th>Again<th>ACKs<th>NAKs: "
	      "sequence, RNR, fatal<th>Window<th>Round trip: median, p99\n",
	      to);
	for (uint32_t i = 0; i < rn_watch_halves(w); i++) {
		const struct rn_watch_half *h = rn_watch_half(w, i);
		char name[RN_DUMP_NAME_MAX], half[RN_DUMP_TIME_MAX],
			late[RN_DUMP_TIME_MAX], mtu[MTU_LEN];

		if (!rn_dump_is_told(h))
			continue;
		fprintf(to, "<tr><td>%s ", rn_dump_class(h));
		text(to, rn_dump_name(h, name));
		fprintf(to,
			"<td class='number'>%s<td class='number'>%" PRIu64
			"<td class='number'>%" PRIu64 "<td class='number'>%" PRIu64
			"<td class='number'>%.3g",
			path_mtu(h, mtu), h->n.messages, h->n.requests, h->n.done_bytes,
			rn_dump_goodput(h));
		fprintf(to,
			"<td class='number'>%" PRIu64 "<td class='number'>%" PRIu64
			"<td class='number'>%" PRIu64 ", %" PRIu64 ", %" PRIu64
			"<td class='number'>%" PRIu32 "<td>",
			h->n.resent, h->n.acks, h->n.seq_naks, h->n.rnr_naks,
			h->n.fatal_naks, h->n.window_max);
		if (h->n.rtts)
			fprintf(to, "%s, %s", rn_dump_time(rn_watch_rtt(h, 0.5), half),
				rn_dump_time(rn_watch_rtt(h, 0.99), late));
		fputc('\n', to);
	}
	fputs("</table></div>\n", to);
}

static void plots(FILE *to, const struct rn_watch *w, uint32_t ladder)
{
	uint32_t peer = rn_watch_peer(w, ladder);
	const uint32_t both[] = { ladder, peer == ladder ? RN_WATCH_NONE : peer };

	for (unsigned i = 0; i < 2; i++) {
		const struct rn_watch_half *h =
			both[i] == RN_WATCH_NONE ? NULL : rn_watch_half(w, both[i]);
		char name[RN_DUMP_NAME_MAX];

		if (!h || !rn_dump_is_told(h) || !h->bucket ||
		    h->bucket_start == h->n.last)
			continue;
		fputs("<h3>", to);
		text(to, rn_dump_name(h, name));
		fputs("</h3>\n<div class='scroll'>", to);
		rn_dump_plot(to, h);
		fputs("</div>\n", to);
	}
}

static void write_owner(FILE *to, const struct rn_dump_page *page,
			const struct rn_watch *w, uint32_t ladder, bool is_right)
{
	const char *owner = rn_ladder_owner(w, ladder, is_right, page->owners);
	char end[RN_LADDER_END_MAX];

	if (!owner)
		return;
	fputs("<p class='dim'>", to);
	text(to, rn_ladder_end(w, ladder, is_right, end));
	fputs(": ", to);
	text(to, owner);
	fputs("</p>\n", to);
}

static void diagram(FILE *to, const struct rn_dump_page *page, const struct rn_watch *w,
		    const struct drawn *drawn)
{
	const struct rn_ladder_picture picture = { w, drawn->ladder, page->row,
						   page->rows, page->owners };
	char end[RN_LADDER_END_MAX];

	fputs("<h2>", to);
	text(to, rn_ladder_end(w, drawn->ladder, false, end));
	fputs(" and ", to);
	text(to, rn_ladder_end(w, drawn->ladder, true, end));
	fputs("</h2>\n", to);
	for (unsigned i = 0; i < 2; i++)
		write_owner(to, page, w, drawn->ladder, i == 1);
	plots(to, w, drawn->ladder);
	if (drawn->rows > RN_LADDER_ROWS)
		fprintf(to, "<p class='dim'>The first %d of %" PRIu64 " packets:</p>\n",
			RN_LADDER_ROWS, drawn->rows);
	fputs("<div class='scroll'>", to);
	rn_ladder_draw(to, &picture, false);
	fputs("</div>\n", to);
}

/* A page, and the struct rn_watch that has checked its packets. */
struct watched {
	const struct rn_dump_page *page;
	const struct rn_watch *w;
};

static int print_page(FILE *to, const void *watched)
{
	const struct rn_dump_page *page = ((const struct watched *)watched)->page;
	const struct rn_watch *w = ((const struct watched *)watched)->w;

	write_head(to, page);
	write_counts(to, w);
	list_findings(to, page);
	/* Two half-connections may become a pair after each of them has got a diagram.
	 * Then they share the first of the two diagrams, and the second one is left out.
	 */
	for (unsigned i = 0; i < page->ladders; i++)
		if (rn_ladder_of(w, page->drawn[i].ladder) == page->drawn[i].ladder)
			diagram(to, page, w, &page->drawn[i]);
	rn_html_end(to);
	return 0;
}

int rn_dump_page_write(struct rn_dump_page *page, const struct rn_watch *w,
		       const char *path)
{
	return rn_file_write(path, print_page, &(struct watched){ page, w });
}

static int print_ladder(FILE *to, const void *picture)
{
	rn_ladder_draw(to, picture, true);
	return 0;
}

int rn_dump_page_write_ladder(struct rn_dump_page *page, const struct rn_watch *w,
			      const char *path)
{
	struct rn_ladder_picture picture = { w, RN_WATCH_NONE, page->row, page->rows,
					     page->owners };
	uint64_t most = 0;

	for (unsigned i = 0; i < page->ladders; i++) {
		if (page->drawn[i].rows <= most ||
		    rn_ladder_of(w, page->drawn[i].ladder) != page->drawn[i].ladder)
			continue;
		most = page->drawn[i].rows;
		picture.ladder = page->drawn[i].ladder;
	}
	if (picture.ladder == RN_WATCH_NONE)
		return -ENODATA;
	return rn_file_write(path, print_ladder, &picture);
}
