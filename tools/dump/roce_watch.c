/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* roce_watch.c - see roce_watch.h: the table of halves, and the way of a packet. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce_watch_internal.h"

enum {
	ROOM_FIRST = 16
};

/* ---- Table of halves ---- */

/* FNV-1a: captures are files, and their makers gain nothing from a slow reader. */
static uint32_t hash(const struct rn_gid *src, const struct rn_gid *dst, uint32_t qpn)
{
	uint32_t h = 2166136261u;

	for (unsigned i = 0; i < sizeof(src->raw); i++)
		h = (h ^ src->raw[i]) * 16777619u;
	for (unsigned i = 0; i < sizeof(dst->raw); i++)
		h = (h ^ dst->raw[i]) * 16777619u;
	for (unsigned i = 0; i < 3; i++)
		h = (h ^ (qpn >> 8 * i & 0xff)) * 16777619u;
	return h ^ h >> 15;
}

static bool is_gid(const struct rn_gid *a, const struct rn_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool is_key(const struct rn_watch_flow *f, const struct rn_gid *src,
		   const struct rn_gid *dst, uint32_t qpn)
{
	return f->half.qpn == qpn && is_gid(&f->half.src, src) &&
	       is_gid(&f->half.dst, dst);
}

static void put(struct rn_watch *w, uint32_t number)
{
	const struct rn_watch_half *h = &w->flow[number]->half;
	uint32_t mask = 2 * w->room - 1, i = hash(&h->src, &h->dst, h->qpn) & mask;

	while (w->index[i])
		i = (i + 1) & mask;
	w->index[i] = number + 1;
}

static bool grow(struct rn_watch *w)
{
	uint32_t room = w->room ? 2 * w->room : ROOM_FIRST;
	struct rn_watch_flow **flow;
	uint32_t *index;

	if (room > RN_WATCH_HALVES_MAX)
		return false;
	index = calloc(2 * (size_t)room, sizeof(*index));
	flow = realloc(w->flow, room * sizeof(struct rn_watch_flow *));
	if (flow)
		w->flow = flow;
	if (!index || !flow) {
		free(index);
		return false;
	}
	free(w->index);
	w->index = index;
	w->room = room;
	for (uint32_t i = 0; i < w->flows; i++)
		put(w, i);
	return true;
}

static struct rn_watch_flow *add(struct rn_watch *w, const struct rn_gid *src,
				 const struct rn_gid *dst, uint32_t qpn)
{
	struct rn_watch_flow *f;

	if (w->flows == w->room && !grow(w))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->half = (struct rn_watch_half){ .src = *src, .dst = *dst, .qpn = qpn };
	f->half.n.credits = RN_CREDITS_UNLIMITED;
	f->peer = RN_WATCH_NONE;
	f->depth = RN_WATCH_NO_DEPTH;
	w->flow[w->flows] = f;
	put(w, w->flows++);
	return f;
}

struct rn_watch_flow *rn_watch_find(struct rn_watch *w, const struct rn_gid *src,
				    const struct rn_gid *dst, uint32_t qpn, bool make)
{
	uint32_t mask = 2 * w->room - 1, i;

	if (w->room) {
		for (i = hash(src, dst, qpn) & mask; w->index[i]; i = (i + 1) & mask)
			if (is_key(w->flow[w->index[i] - 1], src, dst, qpn))
				return w->flow[w->index[i] - 1];
	}
	return make ? add(w, src, dst, qpn) : NULL;
}

uint32_t rn_watch_number(const struct rn_watch *w, const struct rn_watch_flow *f)
{
	const struct rn_watch_half *h = &f->half;
	uint32_t mask = 2 * w->room - 1, i = hash(&h->src, &h->dst, h->qpn) & mask;

	while (w->flow[w->index[i] - 1] != f)
		i = (i + 1) & mask;
	return w->index[i] - 1;
}

/* ---- A packet ---- */

void rn_watch_say(struct rn_watch_job *job, enum rn_watch_rule rule, const char *fmt, ...)
{
	struct rn_watch_remark *out = job->out;
	struct rn_watch_finding *f;
	va_list ap;

	if (out->findings == RN_WATCH_FINDINGS || job->is_muted)
		return;
	f = &out->finding[out->findings++];
	f->rule = rule;
	f->level =
		job->w->is_strict ? RN_WATCH_VIOLATION : rn_watch_rule_info[rule].level;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, ap);
	va_end(ap);
}

static void reply(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_watch_flow *requests = rn_watch_asker(job, f);

	job->out->is_response = true;
	if (!requests)
		return;
	job->out->half = rn_watch_number(job->w, requests);
	rn_watch_seen(requests, job->at);
	if (requests->is_doubted)
		job->is_muted = true;
	rn_watch_response(job, requests);
}

/* A CNP goes to the sender of what was marked. */
static void notify(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	if (f->peer == RN_WATCH_NONE)
		return;
	job->out->half = f->peer;
	job->out->is_response = true;
	job->w->flow[f->peer]->half.n.cnps++;
}

static void request(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	job->out->half = rn_watch_number(job->w, f);
	f->half.class = rn_opcode_class(job->p->bth.opcode);
	rn_watch_seen(f, job->at);
	if (rn_flow_is_marked(&job->p->flow))
		f->half.n.marked++;
	if (f->half.class == RN_CLASS_UD) {
		rn_watch_datagram(job, f);
		rn_watch_mad(job);
	} else {
		rn_watch_request(job, f);
	}
}

static void count_findings(const struct rn_watch_job *job)
{
	struct rn_watch_counts *n;

	if (job->out->half == RN_WATCH_NONE)
		return;
	n = &job->w->flow[job->out->half]->half.n;
	for (unsigned i = 0; i < job->out->findings; i++) {
		if (job->out->finding[i].level == RN_WATCH_VIOLATION)
			n->violations++;
		else
			n->suspicions++;
	}
}

/* What no receiver would take tells nothing about a connection. */
static bool is_taken(const struct rn_packet *p)
{
	return p->form == RN_PACKET_WHOLE && !p->is_a_part &&
	       (p->icrc == RN_PACKET_ICRC_RIGHT || p->icrc == RN_PACKET_ICRC_CUT);
}

void rn_watch_packet(struct rn_watch *w, rn_ns at, const struct rn_packet *p,
		     struct rn_watch_remark *out)
{
	struct rn_watch_job job = { .w = w, .at = at, .p = p, .out = out };
	struct rn_watch_flow *f;

	*out = (struct rn_watch_remark){ .half = RN_WATCH_NONE };
	w->packets++;
	rn_watch_alone(&job);
	if (!is_taken(p))
		return;
	f = rn_watch_find(w, &p->flow.src, &p->flow.dst, p->bth.dest_qpn, true);
	if (!f)
		return;
	if (p->op->flags & RN_OP_REQUEST)
		request(&job, f);
	else if (p->op->flags & RN_OP_RESPONSE)
		reply(&job, f);
	else
		notify(&job, f);
	count_findings(&job);
}

struct rn_watch *rn_watch_open(bool is_strict)
{
	struct rn_watch *w = calloc(1, sizeof(*w));

	if (w)
		w->is_strict = is_strict;
	return w;
}

void rn_watch_close(struct rn_watch *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->flows; i++) {
		free(w->flow[i]->record);
		free(w->flow[i]->bucket);
		free(w->flow[i]);
	}
	free(w->flow);
	free(w->index);
	free(w);
}

uint32_t rn_watch_halves(const struct rn_watch *w)
{
	return w->flows;
}

const struct rn_watch_half *rn_watch_half(const struct rn_watch *w, uint32_t i)
{
	return &w->flow[i]->half;
}

uint32_t rn_watch_peer(const struct rn_watch *w, uint32_t i)
{
	return w->flow[i]->peer;
}
