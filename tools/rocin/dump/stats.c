/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.c - writes statistics of each half-connection (the requests in one direction, and
 * the responses to them), as a paragraph of text and as plots over time.
 */
#include "dump.h"

#include <errno.h>
#include <inttypes.h>

#include "tools/dump/packet.h"
#include "tools/rocin/common/html.h"

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

enum {
	SPARK = 60 /* number of characters of a plot in a line of text */
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
	char src[RN_PACKET_ADDRESS_MAX], dst[RN_PACKET_ADDRESS_MAX], peer[24] = "";

	if (h->is_paired)
		snprintf(peer, sizeof(peer), " qp 0x%" PRIx32, h->peer_qpn);
	snprintf(text, RN_DUMP_NAME_MAX, "%s%s > %s qp 0x%" PRIx32,
		 rn_packet_address(&h->src, src), peer, rn_packet_address(&h->dst, dst),
		 h->qpn);
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

/* Prints a bar chart in one line of text. Each bar stands for a part of the time; its
 * height shows the bytes that were transferred, in eighths of the maximum.
 */
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

/* -------------------------------------------------------------------- plots over time */
/* Plots of goodput, unacknowledged PSNs, credits and round trip times of a
 * half-connection over time, one below the other.
 */

enum {
	WIDTH = 760,
	LEFT = 92, /* width of the numbers to the left of the axis */
	PLOT = WIDTH - LEFT - 16,
	TOP = 26,
	PANEL = 84,
	GAP = 42, /* space for marks and the title of the next plot */
	FOOT = 30,
	PANELS = 4,
};

/* A plot of one value against time. */
struct panel {
	const char *title, *look;
	/* Returns the value for a time slice; a negative value means that the slice has
	 * none.
	 */
	double (*value)(const struct rn_watch_half *h, const struct rn_watch_bucket *b);
	/* True: the value is drawn as a line, with gaps where it is not known. False: it
	 * is drawn as an area.
	 */
	bool is_line;
	bool has_marks;
	bool is_optional; /* the plot is left out if it has no values */
};

static double goodput(const struct rn_watch_half *h, const struct rn_watch_bucket *b)
{
	return (double)b->bytes * 8 / (double)h->bucket_width;
}

static double window(const struct rn_watch_half *h, const struct rn_watch_bucket *b)
{
	(void)h;
	return b->window;
}

static double trip(const struct rn_watch_half *h, const struct rn_watch_bucket *b)
{
	(void)h;
	return b->rtts ? (double)b->rtt_sum / b->rtts / 1e3 : -1;
}

static double credits(const struct rn_watch_half *h, const struct rn_watch_bucket *b)
{
	(void)h;
	return (double)b->credits - 1;
}

static const struct panel panels[PANELS] = {
	{ "goodput, Gbit/s", "class='good'", goodput, .has_marks = true },
	{ "PSNs under way, at most", "class='under'", window, .is_line = false },
	{ "credits in the ACKs, at least", "class='credit'", credits, .is_line = true,
	  .is_optional = true },
	{ "round trip, us, mean", "class='trip'", trip, .is_line = true },
};

const char rn_dump_plot_style[] =
	"svg .n{fill:#7a869a;font-size:11px}svg .frame{fill:none;stroke:#9aa4b0}"
	"svg .grid{stroke:#9aa4b0;stroke-opacity:.3}"
	"svg .good{fill:#1d5fbf;fill-opacity:.55}svg .under{fill:#0e7490;"
	"fill-opacity:.45}svg .trip{fill:#7c3aed}svg .credit{fill:#1a7f37}svg "
	".mark-again{fill:#d97706}"
	"svg .mark-nak{fill:#b42318}";

static unsigned slices(const struct rn_watch_half *h)
{
	rn_ns used = (h->n.last - h->bucket_start) / h->bucket_width + 1;

	return used < 1 ? 1 : used > RN_WATCH_BUCKETS ? RN_WATCH_BUCKETS : (unsigned)used;
}

static double highest(const struct rn_watch_half *h, const struct panel *p,
		      unsigned count)
{
	double top = 0;

	for (unsigned i = 0; i < count; i++) {
		double v = p->value(h, &h->bucket[i]);

		top = v > top ? v : top;
	}
	return top > 0 ? top : 1;
}

static bool is_empty(const struct rn_watch_half *h, const struct panel *p, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (p->value(h, &h->bucket[i]) >= 0)
			return false;
	return true;
}

/* Writes the meaning of the marks (see marks()) to the right of the title. */
static void legend(FILE *to, double y)
{
	double x = LEFT + PLOT;

	rn_svg_triangle(
		to, "class='mark-again'",
		(const double[]){ x - 130, y - 7, x - 133, y - 1, x - 127, y - 1 }, NULL);
	rn_svg_text(to, "class='n'", x - 122, y, NULL, "sent again");
	rn_svg_rect(to, "class='mark-nak'", (struct rn_svg_box){ x - 40, y - 6, 5, 5 },
		    NULL);
	rn_svg_text(to, "class='n'", x - 30, y, NULL, "NAK");
}

/* Draws a mark at each time slice in which packets were sent again or NAKs were sent. */
static void marks(FILE *to, const struct rn_watch_half *h, unsigned count, double y)
{
	for (unsigned i = 0; i < count; i++) {
		double x = LEFT + PLOT * (i + 0.5) / count;
		char title[32];

		if (h->bucket[i].resent) {
			snprintf(title, sizeof(title), "%" PRIu32 " sent again",
				 h->bucket[i].resent);
			rn_svg_triangle(
				to, "class='mark-again'",
				(const double[]){ x, y + 2, x - 3, y + 8, x + 3, y + 8 },
				title);
		}
		if (h->bucket[i].naks) {
			snprintf(title, sizeof(title), "%" PRIu32 " NAKs",
				 h->bucket[i].naks);
			rn_svg_rect(to, "class='mark-nak'",
				    (struct rn_svg_box){ x - 2.5, y + 10, 5, 5 }, title);
		}
	}
}

static void curve(FILE *to, const struct rn_watch_half *h, const struct panel *p,
		  unsigned count, unsigned y, double top)
{
	double slice = (double)PLOT / count;

	for (unsigned i = 0; i < count; i++) {
		double v = p->value(h, &h->bucket[i]), height = v / top * PANEL;
		double x = LEFT + slice * i;

		if (v < 0 || (v == 0 && !p->is_line))
			continue;
		if (p->is_line)
			rn_svg_circle(to, p->look, x + slice / 2, y + PANEL - height, 2.2,
				      NULL);
		else
			rn_svg_rect(to, p->look,
				    (struct rn_svg_box){ x, y + PANEL - height, slice,
							 height },
				    NULL);
	}
}

static void panel(FILE *to, const struct rn_watch_half *h, const struct panel *p,
		  unsigned count, unsigned y)
{
	double top = highest(h, p, count);

	rn_svg_text(to, "", LEFT, y - 7, NULL, "%s", p->title);
	for (unsigned i = 0; i <= 2; i++) {
		unsigned at = y + PANEL - i * PANEL / 2;

		rn_svg_line(to, "class='grid'", LEFT, at, LEFT + PLOT, at);
		rn_svg_text(to, "class='n'", LEFT - 6, at + 4, "end", "%.4g",
			    top * i / 2);
	}
	curve(to, h, p, count, y, top);
	rn_svg_rect(to, "class='frame'", (struct rn_svg_box){ LEFT, y, PLOT, PANEL },
		    NULL);
	if (p->has_marks) {
		marks(to, h, count, y + PANEL);
		legend(to, y - 7);
	}
}

void rn_dump_plot(FILE *to, const struct rn_watch_half *h)
{
	unsigned count = slices(h), y = TOP, height = TOP + FOOT - GAP;
	bool is_left_out[PANELS];
	char time[RN_DUMP_TIME_MAX];

	for (unsigned i = 0; i < PANELS; i++) {
		is_left_out[i] = panels[i].is_optional && is_empty(h, &panels[i], count);
		height += is_left_out[i] ? 0 : PANEL + GAP;
	}
	rn_svg_begin(to, &(struct rn_svg_picture){
				 .width = WIDTH,
				 .height = height,
			 });
	for (unsigned i = 0; i < PANELS; i++) {
		if (is_left_out[i])
			continue;
		panel(to, h, &panels[i], count, y);
		y += PANEL + GAP;
	}
	for (unsigned i = 0; i <= 4; i++)
		rn_svg_text(to, "class='n'", LEFT + i * PLOT / 4.0, height - 12,
			    i == 4 ? "end" : "middle", "%s",
			    rn_dump_time(count * h->bucket_width * i / 4, time));
	rn_svg_end(to);
}
