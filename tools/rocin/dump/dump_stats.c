/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_stats.c - a paragraph for each half: what went, what came back, how long it took.
 */
#include <errno.h>
#include <inttypes.h>

#include "dump_stats.h"
#include "tools/rocin/common/gid_text.h"

enum {
	SPARK = 60 /* characters of a line over time */
};

double rn_dump_goodput(const struct rn_watch_half *h)
{
	rn_ns length = h->n.last - h->n.first;

	return length > 0 ? (double)h->n.done_bytes * 8 / (double)length : 0;
}

bool rn_dump_is_told(const struct rn_watch_half *h)
{
	return h->n.requests > 0;
}

const char *rn_dump_class(const struct rn_watch_half *h)
{
	switch (h->class) {
	case RN_CLASS_RC:
		return "RC";
	case RN_CLASS_UC:
		return "UC";
	case RN_CLASS_UD:
		return "UD";
	case RN_CLASS_XRC:
		return "XRC";
	case RN_CLASS_RD:
	case RN_CLASS_CNP:
	case RN_CLASS_MANUFACTURER_0:
	case RN_CLASS_MANUFACTURER_1:
		break;
	}
	return "?";
}

const char *rn_dump_name(const struct rn_watch_half *h, char text[RN_DUMP_NAME_MAX])
{
	char src[RN_GID_TEXT_MAX], dst[RN_GID_TEXT_MAX], peer[24] = "";

	if (h->is_paired)
		snprintf(peer, sizeof(peer), " qp 0x%" PRIx32, h->peer_qpn);
	snprintf(text, RN_DUMP_NAME_MAX, "%s%s > %s qp 0x%" PRIx32,
		 rn_gid_text(&h->src, src), peer, rn_gid_text(&h->dst, dst), h->qpn);
	return text;
}

static void print_resends(FILE *to, const struct rn_watch_counts *n)
{
	const char *between = "";

	fprintf(to, "  sent again   %" PRIu64 " packets, %" PRIu64 " bytes", n->resent,
		n->resent_bytes);
	if (n->resent)
		fputs(": ", to);
	for (unsigned i = RN_CAUSE_NONE + 1; i < RN_CAUSE_COUNT; i++) {
		if (!n->resends[i])
			continue;
		fprintf(to, "%s%" PRIu64 " %s", between, n->resends[i],
			rn_watch_cause_text(i));
		between = ", ";
	}
	fputc('\n', to);
	if (n->missing)
		fprintf(to, "  missing      %" PRIu64 " packets came late or never\n",
			n->missing);
}

static void print_answers(FILE *to, const struct rn_watch_counts *n)
{
	fprintf(to,
		"  answered by  %" PRIu64 " ACKs, %" PRIu64
		" responses with data; NAKs: %" PRIu64 " sequence, %" PRIu64
		" RNR, %" PRIu64 " fatal; %" PRIu64 " nothing new\n",
		n->acks, n->read_responses, n->seq_naks, n->rnr_naks, n->fatal_naks,
		n->duplicates);
	if (n->credits != RN_CREDITS_UNLIMITED)
		fprintf(to, "  credits      %" PRIu32 " at the end\n", n->credits);
}

static void print_trips(FILE *to, const struct rn_watch_half *h)
{
	const struct rn_watch_counts *n = &h->n;
	char least[RN_DUMP_TIME_MAX], half[RN_DUMP_TIME_MAX], most[RN_DUMP_TIME_MAX],
		late[RN_DUMP_TIME_MAX];

	if (!n->rtts)
		return;
	fprintf(to,
		"  round trip   %s least, %s median, %s p99, %s most, of %" PRIu64 "\n",
		rn_dump_time(n->rtt_min, least), rn_dump_time(rn_watch_rtt(h, 0.5), half),
		rn_dump_time(rn_watch_rtt(h, 0.99), late), rn_dump_time(n->rtt_max, most),
		n->rtts);
}

/* Bytes over time in eighths of the highest. */
static void print_spark(FILE *to, const struct rn_watch_half *h)
{
	static const char *const level[] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
	};
	rn_ns length = h->n.last - h->bucket_start;
	uint64_t sum[SPARK] = { 0 }, top = 0;
	unsigned used;
	char time[RN_DUMP_TIME_MAX];

	if (!h->bucket || length <= 0 || !h->n.done_bytes)
		return;
	used = (unsigned)(length / h->bucket_width) + 1;
	used = used < RN_WATCH_BUCKETS ? used : RN_WATCH_BUCKETS;
	for (unsigned i = 0; i < used; i++)
		sum[i * SPARK / used] += h->bucket[i].bytes;
	for (unsigned i = 0; i < SPARK; i++)
		top = sum[i] > top ? sum[i] : top;
	fputs("  over time    ", to);
	for (unsigned i = 0; i < SPARK; i++)
		fputs(level[(sum[i] * 8 + top - 1) / top], to);
	fprintf(to, " %s\n", rn_dump_time(length, time));
}

static void print_half(FILE *to, const struct rn_watch_half *h)
{
	const struct rn_watch_counts *n = &h->n;
	char name[RN_DUMP_NAME_MAX], time[RN_DUMP_TIME_MAX];

	fprintf(to, "%s %s", rn_dump_class(h), rn_dump_name(h, name));
	if (h->pmtu)
		fprintf(to, ", path MTU %" PRIu32, h->pmtu);
	fprintf(to,
		"\n  sent         %" PRIu64 " messages, %" PRIu64 " packets, %" PRIu64
		" bytes\n",
		n->messages, n->requests, n->sent_bytes);
	fprintf(to, "  goodput      %.4g Gbit/s: %" PRIu64 " bytes in %s\n",
		rn_dump_goodput(h), n->done_bytes,
		rn_dump_time(n->last - n->first, time));
	print_spark(to, h);
	if (h->class == RN_CLASS_RC || h->class == RN_CLASS_XRC) {
		print_resends(to, n);
		print_answers(to, n);
		print_trips(to, h);
		fprintf(to, "  window       %" PRIu32 " PSNs under way at most\n",
			n->window_max);
	}
	if (n->marked || n->cnps)
		fprintf(to,
			"  congestion   %" PRIu64 " packets marked, %" PRIu64 " CNPs\n",
			n->marked, n->cnps);
	if (n->violations || n->suspicions)
		fprintf(to,
			"  rules        %" PRIu64 " violations, %" PRIu64 " suspicions\n",
			n->violations, n->suspicions);
}

int rn_dump_stats_print(void *ctx, const struct rn_watch *w)
{
	for (uint32_t i = 0; i < rn_watch_halves(w); i++)
		if (rn_dump_is_told(rn_watch_half(w, i)))
			print_half(ctx, rn_watch_half(w, i));
	return fflush(ctx) || ferror((FILE *)ctx) ? -EIO : 0;
}
