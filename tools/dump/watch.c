/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* watch.c - the table of rules by which captured packets are checked, the table of
 * half-connections (see watch.h), the function that passes each packet to the checks, and
 * the counters.
 */
#include "watch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rocin/hash.h"
#include "watch_internal.h"

/* ---------------------------------------------- table of the rules of the transport */

const struct rn_watch_rule_info rn_watch_rule_info[RN_RULE_COUNT] = {
#define X(r, n, t, s, l, text)                   \
	[RN_RULE_##r] = { .name = (n),           \
			  .test = (t),           \
			  .source = (s),         \
			  .level = RN_WATCH_##l, \
			  .says = (text) },
	RN_WATCH_RULES(X)
#undef X
};

/* -------------------------------- half-connections and the packets assigned to them */
enum {
	ROOM_FIRST = 16
};

/* ---- Table of half-connections ---- */

/* The hash has no secret key. Its input comes from a capture file, whose author would
 * gain nothing by making this table slow.
 */
static uint32_t hash(const struct rn_gid *src, const struct rn_gid *dst, uint32_t qpn)
{
	uint64_t h = rn_hash_bytes(RN_HASH_BEGIN, src->raw, sizeof(src->raw));

	h = rn_hash_bytes(h, dst->raw, sizeof(dst->raw));
	h = rn_hash_bytes(h, &qpn, sizeof(qpn));
	return (uint32_t)(h ^ h >> 32);
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

static void put_into_index(struct rn_watch *w, uint32_t number)
{
	const struct rn_watch_half *h = &w->flow[number]->half;
	uint32_t mask = 2 * w->room - 1, i = hash(&h->src, &h->dst, h->qpn) & mask;

	while (w->index[i])
		i = (i + 1) & mask;
	w->index[i] = number + 1;
}

static bool grow_flow_table(struct rn_watch *w)
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
		put_into_index(w, i);
	return true;
}

static struct rn_watch_flow *add_half(struct rn_watch *w, const struct rn_gid *src,
				      const struct rn_gid *dst, uint32_t qpn)
{
	struct rn_watch_flow *f;

	if (w->flows == w->room && !grow_flow_table(w))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->half = (struct rn_watch_half){ .src = *src, .dst = *dst, .qpn = qpn };
	f->half.n.credits = RN_CREDITS_UNLIMITED;
	f->peer = RN_WATCH_NONE;
	f->depth = RN_WATCH_NO_DEPTH;
	w->flow[w->flows] = f;
	put_into_index(w, w->flows++);
	return f;
}

static struct rn_watch_flow *find_half(struct rn_watch *w, const struct rn_gid *src,
				       const struct rn_gid *dst, uint32_t qpn, bool make)
{
	uint32_t mask = 2 * w->room - 1, i;

	if (w->room) {
		for (i = hash(src, dst, qpn) & mask; w->index[i]; i = (i + 1) & mask)
			if (is_key(w->flow[w->index[i] - 1], src, dst, qpn))
				return w->flow[w->index[i] - 1];
	}
	return make ? add_half(w, src, dst, qpn) : NULL;
}

uint32_t rn_watch_number(const struct rn_watch *w, const struct rn_watch_flow *f)
{
	const struct rn_watch_half *h = &f->half;
	uint32_t mask = 2 * w->room - 1, i = hash(&h->src, &h->dst, h->qpn) & mask;

	while (w->flow[w->index[i] - 1] != f)
		i = (i + 1) & mask;
	return w->index[i] - 1;
}

/* ---- Processing of a packet ---- */

/* -------------------------------------------------- statistics of a half-connection */
enum {
	/* number of buckets for each doubling of the round trip time */
	RTT_STEPS = 4,
	BUCKET_FIRST = 1000, /* width of a time slice at first, in ns */
};

static const char *const cause_texts[RN_CAUSE_COUNT] = {
	[RN_CAUSE_DOUBLE] = "twice",
	[RN_CAUSE_LATE] = "it fills a gap",
	[RN_CAUSE_NAK] = "after a NAK",
	[RN_CAUSE_RNR] = "after an RNR NAK",
	[RN_CAUSE_READ_GAP] = "the rest of a READ",
	[RN_CAUSE_TIMEOUT] = "after a timeout",
	[RN_CAUSE_GO_BACK] = "going back",
};

const char *rn_watch_cause_text(enum rn_watch_cause cause)
{
	return cause_texts[cause];
}

/* ---- Time slices ---- */

static void fold(struct rn_watch_bucket *into, const struct rn_watch_bucket *b)
{
	into->bytes += b->bytes;
	into->resent += b->resent;
	into->naks += b->naks;
	into->window = b->window > into->window ? b->window : into->window;
	if (b->credits && (!into->credits || b->credits < into->credits))
		into->credits = b->credits;
	into->rtts += b->rtts;
	into->rtt_sum += b->rtt_sum;
}

/* Doubles the width of the time slices: adds up each pair of them, so that they fill half
 * of the array.
 */
static void coarsen(struct rn_watch_flow *f)
{
	for (unsigned i = 0; i < RN_WATCH_BUCKETS / 2; i++) {
		struct rn_watch_bucket b = f->bucket[(size_t)2 * i];

		fold(&b, &f->bucket[(size_t)2 * i + 1]);
		f->bucket[i] = b;
	}
	memset(&f->bucket[RN_WATCH_BUCKETS / 2], 0,
	       sizeof(*f->bucket) * (RN_WATCH_BUCKETS / 2));
	f->half.bucket_width *= 2;
}

static struct rn_watch_bucket *bucket_at(struct rn_watch_flow *f, rn_ns at)
{
	if (!f->bucket) {
		f->bucket = calloc(RN_WATCH_BUCKETS, sizeof(*f->bucket));
		if (!f->bucket)
			return NULL;
		f->half.bucket = f->bucket;
		f->half.bucket_start = at;
		f->half.bucket_width = BUCKET_FIRST;
	}
	/* A captured packet may have an earlier time than the first one of the capture.
	 */
	if (at <= f->half.bucket_start)
		return f->bucket;
	while ((at - f->half.bucket_start) / f->half.bucket_width >= RN_WATCH_BUCKETS)
		coarsen(f);
	return &f->bucket[(at - f->half.bucket_start) / f->half.bucket_width];
}

/* ---- Counters ---- */

static void note_seen(struct rn_watch_flow *f, rn_ns at)
{
	struct rn_watch_counts *n = &f->half.n;

	if (n->requests + n->responses == 0)
		n->first = n->last = at;
	if (at > n->last)
		n->last = at;
	if (at < n->first)
		n->first = at;
}

void rn_watch_count_request(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_watch_counts *n = &f->half.n;
	struct rn_watch_bucket *b;

	n->requests++;
	if (job->out->cause == RN_CAUSE_NONE)
		return;
	n->resent++;
	n->resent_bytes += job->p->payload_len;
	n->resends[job->out->cause]++;
	b = bucket_at(f, job->at);
	if (b)
		b->resent++;
}

void rn_watch_count_done(struct rn_watch_flow *f, rn_ns at, uint64_t bytes)
{
	struct rn_watch_bucket *b = bucket_at(f, at);

	f->half.n.done_bytes += bytes;
	if (b)
		b->bytes += bytes;
}

void rn_watch_count_nak(struct rn_watch_flow *f, rn_ns at)
{
	struct rn_watch_bucket *b = bucket_at(f, at);

	if (b)
		b->naks++;
}

void rn_watch_count_window(struct rn_watch_flow *f, rn_ns at)
{
	int32_t window = rn_psn_diff(f->next, f->una);
	struct rn_watch_bucket *b = bucket_at(f, at);

	if (window <= 0)
		return;
	if ((uint32_t)window > f->half.n.window_max)
		f->half.n.window_max = (uint32_t)window;
	if (b && (uint32_t)window > b->window)
		b->window = (uint32_t)window;
}

void rn_watch_count_credits(struct rn_watch_flow *f, rn_ns at, uint32_t credits)
{
	struct rn_watch_bucket *b = bucket_at(f, at);

	f->half.n.credits = credits;
	if (b && credits != RN_CREDITS_UNLIMITED &&
	    (!b->credits || credits + 1 < b->credits))
		b->credits = credits + 1;
}

/* ---- Round trips ---- */

/* Returns the number of the histogram bucket for a round trip time. There are RTT_STEPS
 * buckets for each doubling of the time.
 */
static unsigned rtt_bucket(rn_ns rtt)
{
	unsigned log = 63u - (unsigned)__builtin_clzll((unsigned long long)rtt);
	unsigned quarter = log >= 2 ? (unsigned)(rtt >> (log - 2)) & 3 : 0;
	unsigned i = log * RTT_STEPS + quarter;

	return i < RN_WATCH_RTT_BUCKETS ? i : RN_WATCH_RTT_BUCKETS - 1;
}

void rn_watch_count_rtt(struct rn_watch_flow *f, rn_ns at, rn_ns rtt)
{
	struct rn_watch_counts *n = &f->half.n;
	struct rn_watch_bucket *b = bucket_at(f, at);

	n->rtt_min = n->rtts && n->rtt_min < rtt ? n->rtt_min : rtt;
	n->rtt_max = n->rtt_max > rtt ? n->rtt_max : rtt;
	n->rtts++;
	n->rtt_sum += rtt;
	n->rtt_bucket[rtt_bucket(rtt)]++;
	if (b) {
		b->rtts++;
		b->rtt_sum += rtt;
	}
}

rn_ns rn_watch_rtt(const struct rn_watch_half *half, double share)
{
	const struct rn_watch_counts *n = &half->n;
	double want = share * (double)n->rtts;
	uint64_t seen = 0;
	unsigned i = 0;
	rn_ns upper;

	if (!n->rtts)
		return 0;
	while (i < RN_WATCH_RTT_BUCKETS - 1 &&
	       ((seen += n->rtt_bucket[i]) == 0 || (double)seen < want))
		i++;
	upper = ((rn_ns)(RTT_STEPS + i % RTT_STEPS + 1) << (i / RTT_STEPS)) / RTT_STEPS;
	/* The last bucket has no upper limit. */
	return i < RN_WATCH_RTT_BUCKETS - 1 && upper < n->rtt_max ? upper : n->rtt_max;
}

/* ------------------------------------------------ packets of the connection manager */
/* Messages of the connection manager say which two QPs are connected, and with which PSNs
 * they begin.
 */

enum {
	MTU_CODE_MAX = 5
};

static uint32_t mtu_bytes(uint8_t code)
{
	return code >= 1 && code <= MTU_CODE_MAX ? 128u << code : 0;
}

static struct rn_watch_call *find_call(struct rn_watch *w, const struct rn_gid *src,
				       const struct rn_gid *dst, uint32_t local_id)
{
	for (unsigned i = 0; i < RN_WATCH_CALLS; i++) {
		struct rn_watch_call *c = &w->call[i];

		if (c->is_used && c->local_id == local_id &&
		    memcmp(&c->src, src, sizeof(*src)) == 0 &&
		    memcmp(&c->dst, dst, sizeof(*dst)) == 0)
			return c;
	}
	return NULL;
}

/* Stores a REQ (message of the connection manager) until its REP comes. If the same REQ
 * is stored already, overwrites it: the REQ was sent again, with the same content.
 */
static void note_req(struct rn_watch_job *job, const struct rn_cm_req *req)
{
	const struct rn_flow *flow = &job->p->flow;
	struct rn_watch *w = job->w;
	struct rn_watch_call *c = find_call(w, &flow->src, &flow->dst, req->local_id);

	if (!c)
		c = &w->call[w->next_call++ % RN_WATCH_CALLS];
	*c = (struct rn_watch_call){
		.is_used = true,
		.src = flow->src,
		.dst = flow->dst,
		.local_id = req->local_id,
		.qpn = req->qpn,
		.start_psn = req->start_psn,
		.pmtu = mtu_bytes(req->mtu),
		.transport = req->transport,
		.resp_res = req->resp_res,
		.init_depth = req->init_depth,
	};
}

static void begin_connected_half(struct rn_watch *w, struct rn_watch_flow *f,
				 uint32_t psn, uint32_t pmtu, uint32_t depth)
{
	rn_watch_begin(w, f, rn_psn(psn));
	f->knows_message = true;
	f->half.pmtu = pmtu;
	f->depth = depth;
	/* The MSN of a new connection starts at 0. */
	f->has_msn = true;
	f->msn_ref = 0;
	f->msn_low = f->msn_high = 0;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Handles a REP (message of the connection manager). The REP and the stored REQ together
 * contain the QPNs and first PSNs of both sides. Afterwards the REQ is forgotten, so a
 * REP that is sent again changes nothing.
 */
static void note_rep(struct rn_watch_job *job, const struct rn_cm_rep *rep)
{
	const struct rn_flow *flow = &job->p->flow;
	struct rn_watch *w = job->w;
	struct rn_watch_call *c = find_call(w, &flow->dst, &flow->src, rep->remote_id);
	struct rn_watch_flow *there, *back;

	if (!c)
		return;
	c->is_used = false;
	if (c->transport != RN_CM_TRANSPORT_RC && c->transport != RN_CM_TRANSPORT_UC)
		return;
	there = find_half(w, &c->src, &c->dst, rep->qpn, true);
	back = find_half(w, &c->dst, &c->src, c->qpn, true);
	if (!there || !back)
		return;
	rn_watch_pair(w, there, back, true);
	begin_connected_half(w, there, rep->start_psn, c->pmtu,
			     min_u32(c->init_depth, rep->resp_res));
	begin_connected_half(w, back, c->start_psn, c->pmtu,
			     min_u32(rep->init_depth, c->resp_res));
}

/* Handles a DREQ (message of the connection manager), which ends a connection. From now
 * on a packet with an unexpected PSN counts as the beginning of a new connection.
 */
static void note_dreq(struct rn_watch_job *job, const struct rn_cm_dreq *dreq)
{
	const struct rn_flow *flow = &job->p->flow;
	struct rn_watch_flow *f =
		find_half(job->w, &flow->src, &flow->dst, dreq->remote_qpn, false);

	if (!f || f->peer == RN_WATCH_NONE)
		return;
	f->may_restart = true;
	job->w->flow[f->peer]->may_restart = true;
}

static void watch_mad(struct rn_watch_job *job)
{
	const uint8_t *mad = rn_packet_payload(job->p, RN_MAD_LEN);
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;

	if (job->p->bth.dest_qpn != RN_QPN_GSI || !mad)
		return;
	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.mgmt_class != RN_MAD_CLASS_CM ||
	    rn_cm_msg_parse(&msg, hdr.attr_id, mad + RN_MAD_HDR_LEN))
		return;
	if (msg.attr == RN_CM_REQ)
		note_req(job, &msg.req);
	else if (msg.attr == RN_CM_REP)
		note_rep(job, &msg.rep);
	else if (msg.attr == RN_CM_DREQ)
		note_dreq(job, &msg.dreq);
}

/* ------------------------------------------- findings, and the check of each packet */
void rn_watch_say(struct rn_watch_job *job, enum rn_watch_rule rule, const char *fmt, ...)
{
	struct rn_watch_verdict *out = job->out;
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

static void watch_response(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	struct rn_watch_flow *requests = rn_watch_asker(job, f);

	job->out->is_response = true;
	if (!requests)
		return;
	job->out->half = rn_watch_number(job->w, requests);
	note_seen(requests, job->at);
	if (requests->is_doubted)
		job->is_muted = true;
	rn_watch_response(job, requests);
}

/* Counts a CNP, which a receiver sends when packets have the mark ECN CE. The CNP is
 * counted for the half-connection of the marked packets, which is the one in the other
 * direction.
 */
static void note_cnp(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	if (f->peer == RN_WATCH_NONE)
		return;
	job->out->half = f->peer;
	job->out->is_response = true;
	job->w->flow[f->peer]->half.n.cnps++;
}

static void watch_request(struct rn_watch_job *job, struct rn_watch_flow *f)
{
	job->out->half = rn_watch_number(job->w, f);
	f->half.class = rn_opcode_class(job->p->bth.opcode);
	note_seen(f, job->at);
	if (rn_flow_is_marked(&job->p->flow))
		f->half.n.marked++;
	if (f->half.class == RN_CLASS_UD) {
		rn_watch_datagram(job, f);
		watch_mad(job);
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

/* Returns true if a receiver would accept the packet. A packet that it would drop tells
 * nothing about the connection.
 */
static bool is_taken(const struct rn_packet *p)
{
	return p->form == RN_PACKET_WHOLE && !p->is_a_part &&
	       (p->icrc == RN_PACKET_ICRC_RIGHT || p->icrc == RN_PACKET_ICRC_CUT);
}

void rn_watch_packet(struct rn_watch *w, rn_ns at, const struct rn_packet *p,
		     struct rn_watch_verdict *out)
{
	struct rn_watch_job job = { .w = w, .at = at, .p = p, .out = out };
	struct rn_watch_flow *f;

	*out = (struct rn_watch_verdict){ .half = RN_WATCH_NONE };
	w->packets++;
	rn_watch_alone(&job);
	if (!is_taken(p))
		return;
	f = find_half(w, &p->flow.src, &p->flow.dst, p->bth.dest_qpn, true);
	if (!f)
		return;
	if (p->op->flags & RN_OP_REQUEST)
		watch_request(&job, f);
	else if (p->op->flags & RN_OP_RESPONSE)
		watch_response(&job, f);
	else
		note_cnp(&job, f);
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
