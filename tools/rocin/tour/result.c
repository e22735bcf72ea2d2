/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* result.c - collects the result of a stop (a step of the tour): packets, TLPs,
 * completions and memory; see tour.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/pcie.h"
#include "sim/pcie/model/tlp.h"
#include "tour.h"

/* --------------------------------------------------- lines of output of the program */
static bool take_begin(struct rn_tour_result *r, const char *at)
{
	return sscanf(at, "%" SCNu64 " %" SCNu64, &r->begin_real, &r->begin_mono) == 2;
}

static bool take_range(struct rn_tour_result *r, const char *at)
{
	struct rn_tour_range *x = &r->range[r->ranges];

	if (r->ranges == RN_TOUR_RANGES_MAX ||
	    sscanf(at, "%15s %" SCNu64 " %" SCNu64, x->name, &x->addr, &x->len) != 3)
		return false;
	r->ranges++;
	return true;
}

static bool take_memory(struct rn_tour_result *r, const char *at)
{
	struct rn_tour_memory *x = &r->memory[r->memories];

	if (r->memories == RN_TOUR_MEMORIES_MAX ||
	    sscanf(at, "%15s %15s %63s", x->name, x->when, x->hex) != 3)
		return false;
	r->memories++;
	return true;
}

static bool take_wc(struct rn_tour_result *r, const char *at)
{
	struct rn_tour_wc *x = &r->wc[r->wcs];
	char end[2];

	if (r->wcs == RN_TOUR_WCS_MAX ||
	    sscanf(at, "%1s %47s %47s %" SCNu32 " %" SCNu32, end, x->status, x->opcode,
		   &x->bytes, &x->vendor_err) != 5)
		return false;
	x->end = end[0] == 'A' ? RN_TOUR_A : RN_TOUR_B;
	r->wcs++;
	return true;
}

static bool take_value(struct rn_tour_result *r, const char *at)
{
	struct rn_tour_value *x = &r->value[r->values];

	if (r->values == RN_TOUR_VALUES_MAX ||
	    sscanf(at, "%31s %" SCNu64, x->name, &x->number) != 2)
		return false;
	r->values++;
	return true;
}

static bool take_tlp(struct rn_tour_result *r, const char *at)
{
	struct rn_tour_move *more = realloc(r->move, (r->moves + 1) * sizeof(*more)), *m;
	uint64_t when;

	if (!more)
		return false;
	r->move = more;
	m = &more[r->moves];
	if (sscanf(at,
		   "%" SCNu64 " %" SCNu64 " %15s %u %15s %15s %" SCNu64 " %" SCNu32
		   " %31s %u",
		   &m->seq, &when, m->kind, &m->flags, m->from, m->to, &m->addr, &m->len,
		   m->queue, &m->purpose) != 10)
		return false;
	m->at = (rn_ns)(when - r->begin_mono);
	r->moves++;
	return true;
}

static const struct {
	const char *word;
	bool (*take)(struct rn_tour_result *r, const char *at);
} lines[] = {
	{ "begin ", take_begin }, { "range ", take_range }, { "memory ", take_memory },
	{ "wc ", take_wc },	  { "value ", take_value }, { "tlp ", take_tlp },
};

int rn_tour_take_line(struct rn_tour_result *r, const char *line, char *err,
		      size_t err_len)
{
	if (!strcmp(line, "end")) {
		r->is_whole = true;
		return 0;
	}
	if (!strncmp(line, "error ", 6)) {
		snprintf(err, err_len, "the program of this stop: %s", line + 6);
		return -ECANCELED;
	}
	for (size_t i = 0; i < RN_ARRAY_SIZE(lines); i++) {
		size_t len = strlen(lines[i].word);

		if (!strncmp(line, lines[i].word, len) && lines[i].take(r, line + len))
			return 0;
	}
	snprintf(err, err_len, "the program of this stop says \"%s\"", line);
	return -EPROTO;
}

/* --------------------------------------------------------------- collecting packets */
int rn_tour_take_packet(struct rn_tour_result *r, enum rn_tour_end at,
			const struct rn_capture_packet *packet)
{
	struct rn_tour_packet *more =
		realloc(r->packet, (r->packets + 1) * sizeof(*more));
	struct rn_tour_packet *p;
	bool is_sent = packet->rec.flags & RN_CAPTURE_SENT;

	if (!more)
		return -ENOMEM;
	r->packet = more;
	p = &more[r->packets];
	*p = (struct rn_tour_packet){ .from = is_sent == (at == RN_TOUR_A) ? RN_TOUR_A
									   : RN_TOUR_B,
				      .at = (rn_ns)packet->rec.time,
				      .is_received = !is_sent,
				      .number = r->packets,
				      .len = packet->cap };
	p->frame = malloc(packet->cap);
	if (!p->frame)
		return -ENOMEM;
	memcpy(p->frame, packet->frame, packet->cap);
	snprintf(is_sent ? p->sender : p->receiver, sizeof(p->sender), "%s",
		 packet->comment);
	r->packets++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct rn_tour_packet *x = a, *y = b;

	if (x->at != y->at)
		return x->at > y->at ? 1 : -1;
	return x->number > y->number ? 1 : -1;
}

static bool is_same(const struct rn_tour_packet *x, const struct rn_tour_packet *y)
{
	return x->from == y->from && x->p.have == y->p.have &&
	       memcmp(x->p.at, y->p.at, x->p.have) == 0;
}

/* @got is a packet that its receiver has captured. Finds the capture of this packet by
 * its sender: the first packet with the same content that has no diagnostic of a receiver
 * yet. Copies the diagnostic of @got to it.
 */
static void match(struct rn_tour_result *r, const struct rn_tour_packet *got)
{
	for (unsigned i = 0; i < r->packets; i++) {
		struct rn_tour_packet *p = &r->packet[i];

		if (p == got || p->is_received || !is_same(p, got))
			continue;
		memcpy(p->receiver, got->receiver, sizeof(p->receiver));
		p->is_received = true;
		return;
	}
}

/* Removes the packets that were captured by their receivers, so that each packet is in
 * the list once, as it was sent.
 */
static void join_ends(struct rn_tour_result *r)
{
	unsigned kept = 0;
	bool *is_copy = calloc(r->packets + 1, sizeof(*is_copy));

	if (!is_copy)
		return;
	for (unsigned i = 0; i < r->packets; i++)
		is_copy[i] = r->packet[i].is_received;
	for (unsigned i = 0; i < r->packets; i++)
		if (is_copy[i])
			match(r, &r->packet[i]);
	for (unsigned i = 0; i < r->packets; i++) {
		if (is_copy[i])
			free(r->packet[i].frame);
		else
			r->packet[kept++] = r->packet[i];
	}
	r->packets = kept;
	free(is_copy);
}

static bool parse_frame(struct rn_tour_packet *p)
{
	return rn_packet_parse(&p->p, p->frame + RN_CAPTURE_LINK_HDR,
			       p->len - RN_CAPTURE_LINK_HDR) &&
	       p->p.form == RN_PACKET_WHOLE;
}

int rn_tour_finish(struct rn_tour_result *r)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < r->packets; i++) {
		if (parse_frame(&r->packet[i]))
			r->packet[kept++] = r->packet[i];
		else
			free(r->packet[i].frame);
	}
	r->packets = kept;
	if (r->packets)
		qsort(r->packet, r->packets, sizeof(*r->packet), by_time);
	join_ends(r);
	r->watch = rn_watch_open(false);
	if (!r->watch)
		return -ENOMEM;
	for (unsigned i = 0; i < r->packets; i++) {
		struct rn_tour_packet *p = &r->packet[i];

		p->number = i + 1;
		p->at -= (rn_ns)r->begin_real;
		rn_watch_packet(r->watch, p->at, &p->p, &p->verdict);
	}
	return 0;
}

void rn_tour_result_free(struct rn_tour_result *r)
{
	for (unsigned i = 0; i < r->packets; i++)
		free(r->packet[i].frame);
	free(r->packet);
	free(r->move);
	rn_watch_close(r->watch);
	*r = (struct rn_tour_result){ 0 };
}

uint64_t rn_tour_value(const struct rn_tour_result *r, const char *name)
{
	for (unsigned i = 0; i < r->values; i++)
		if (!strcmp(r->value[i].name, name))
			return r->value[i].number;
	return 0;
}

/* --------------------------------------------------------------------- rows of TLPs */
/* Returns the name of an agent (a CPU, NIC or GPU that sends TLPs) for the table of TLPs.
 */

static const char *name_requester(const char *agent)
{
	return !strcmp(agent, "nic0")	? "A's NIC"
	       : !strcmp(agent, "nic1") ? "B's NIC"
	       : !strcmp(agent, "gpu0") ? "GPU"
					: "CPU";
}

/* Returns the name of the memory of an agent (CPU, NIC or GPU). The memory of the CPU is
 * called "memory".
 */
static const char *name_target(const char *agent)
{
	return !strcmp(agent, "cpu") ? "memory" : name_requester(agent);
}

static const char *what_lies_at(const struct rn_tour_result *r,
				const struct rn_tour_move *m)
{
	switch (m->purpose) {
	case RN_PCIE_DOORBELL:
		return m->len > sizeof(uint32_t) ? "doorbell with the WQE" : "doorbell";
	case RN_PCIE_WQE:
		return "WQE";
	case RN_PCIE_TRANSLATION:
		return "translation of a page";
	case RN_PCIE_TABLE:
		return "place of a page table";
	default:
		break;
	}
	if (m->flags & RN_TLP_CQE)
		return !strcmp(m->from, "nic0") ? "CQE of A" : "CQE of B";
	for (unsigned i = 0; i < r->ranges; i++) {
		const struct rn_tour_range *x = &r->range[i];

		if (m->addr < x->addr || m->addr >= x->addr + x->len)
			continue;
		return !strcmp(x->name, "A")   ? "A's buffer"
		       : !strcmp(x->name, "B") ? "B's buffer"
					       : "GPU memory";
	}
	return strstr(m->from, "gpu") || strstr(m->to, "gpu") ? "the kernels' flags"
							      : "other memory";
}

/* Returns true if move @i (the movement of a TLP out of a queue) is the last one of its
 * TLP. A read and its completion are two TLPs.
 */
static bool is_done(const struct rn_tour_result *r, unsigned i)
{
	for (unsigned k = i + 1; k < r->moves; k++)
		if (r->move[k].seq == r->move[i].seq &&
		    !strcmp(r->move[k].kind, r->move[i].kind))
			return false;
	return true;
}

static struct rn_tour_row describe(const struct rn_tour_result *r,
				   const struct rn_tour_move *m)
{
	bool is_answer = !strcmp(m->kind, "CplD");

	return (struct rn_tour_row){
		.kind = m->kind,
		.from = is_answer ? name_target(m->from) : name_requester(m->from),
		.to = is_answer ? name_requester(m->to) : name_target(m->to),
		.what = m->flags & RN_TLP_FLUSH ? "a read that flushes"
						: what_lies_at(r, m),
		.first = m->at,
	};
}

static bool is_alike(const struct rn_tour_row *a, const struct rn_tour_row *b)
{
	return !strcmp(a->kind, b->kind) && !strcmp(a->from, b->from) &&
	       !strcmp(a->to, b->to) && !strcmp(a->what, b->what);
}

static int by_last(const void *a, const void *b)
{
	const struct rn_tour_row *x = a, *y = b;

	return x->last == y->last ? 0 : x->last > y->last ? 1 : -1;
}

unsigned rn_tour_rows(const struct rn_tour_result *r,
		      struct rn_tour_row row[RN_TOUR_ROWS_MAX])
{
	unsigned rows = 0;

	for (unsigned i = 0; i < r->moves; i++) {
		struct rn_tour_row now;
		unsigned k = 0;

		if (!is_done(r, i))
			continue;
		now = describe(r, &r->move[i]);
		while (k < rows && !is_alike(&row[k], &now))
			k++;
		if (k == RN_TOUR_ROWS_MAX)
			continue;
		if (k == rows)
			row[rows++] = now;
		row[k].bytes += r->move[i].len;
		row[k].tlps++;
		row[k].last = r->move[i].at;
	}
	qsort(row, rows, sizeof(*row), by_last);
	return rows;
}
