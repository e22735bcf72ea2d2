/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* roce_watch_count.c - the counts of a half, whole and over time. */
#include <stdlib.h>
#include <string.h>

#include "roce_watch_internal.h"

enum {
	RTT_STEPS = 4,	     /* buckets per doubling */
	BUCKET_FIRST = 1000, /* ns */
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

/* ---- Time ---- */

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

/* Slices of twice the width: the same time takes half of them. */
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
	/* Stamps may go back. */
	if (at <= f->half.bucket_start)
		return f->bucket;
	while ((at - f->half.bucket_start) / f->half.bucket_width >= RN_WATCH_BUCKETS)
		coarsen(f);
	return &f->bucket[(at - f->half.bucket_start) / f->half.bucket_width];
}

/* ---- What happens ---- */

void rn_watch_seen(struct rn_watch_flow *f, rn_ns at)
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

/* The quarter of a doubling that @rtt lies in. */
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
	/* The last bucket has no upper end. */
	return i < RN_WATCH_RTT_BUCKETS - 1 && upper < n->rtt_max ? upper : n->rtt_max;
}
