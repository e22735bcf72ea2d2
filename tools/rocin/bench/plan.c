/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan.c - chooses what a run of `rocin bench' measures: the table of kinds of
 * measurements ("items"), the list of measurements with their parameters ("cells",
 * plan.h), and their texts.
 */
#include "plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const struct rn_bench_item_info rn_bench_item_info[RN_BENCH_ITEM_COUNT] = {
#define X(sym, name, what, kind, family, len, most) \
	[RN_BENCH_##sym] = { name, what, RN_BENCH_##kind, RN_BENCH_##family, len, most },
	RN_BENCH_ITEMS(X)
#undef X
};
/* clang-format on */

const char *rn_bench_unit(enum rn_bench_kind kind)
{
	static const char *const unit[] = {
		[RN_BENCH_BW] = "GB/s",
		[RN_BENCH_LAT] = "us",
		[RN_BENCH_RATE] = "M/s",
	};

	return unit[kind];
}

double rn_bench_cpu_each(enum rn_bench_kind kind, double value, double cores,
			 unsigned pairs)
{
	/* @value is the time of a round trip. Each pair performs one at a time. */
	return kind == RN_BENCH_LAT ? cores / pairs * value : cores / value;
}

const char *rn_bench_cpu_unit(enum rn_bench_kind kind)
{
	return kind == RN_BENCH_BW ? "s/GB" : "us";
}

unsigned rn_bench_copies(const struct rn_bench_cell *cell)
{
	switch (rn_bench_item_info[cell->item].family) {
	case RN_BENCH_VERBS:
		/* Over UDP: from memory into the packet, into the kernel, out of the
		 * kernel, and into memory. Over the local wire: into the packet, into the
		 * ring, and into memory. The number is not known for another device; an
		 * RNIC, for instance, does not use processors for it.
		 */
		return cell->wire == RN_BENCH_OVER_UDP	   ? 4
		       : cell->wire == RN_BENCH_OVER_LOCAL ? 3
							   : RN_BENCH_COPIES_UNKNOWN;
	case RN_BENCH_TCP: /* into the kernel and out of it */
		return 2;
	/* into the kernel and out of it; UDP_CRC_BW also copies at each end */
	case RN_BENCH_UDP:
		return cell->item == RN_BENCH_UDP_CRC_BW ? 4 : 2;
	case RN_BENCH_MEMORY:
		return cell->item == RN_BENCH_RING_BW	  ? 2
		       : cell->item == RN_BENCH_MEMCPY_BW ? 1
							  : RN_BENCH_COPIES_UNKNOWN;
	}
	return RN_BENCH_COPIES_UNKNOWN;
}

bool rn_bench_more_is_better(enum rn_bench_kind kind)
{
	return kind != RN_BENCH_LAT;
}

/* ---- Message sizes as text ---- */

int rn_bench_read_size(const char *text, uint32_t min, uint32_t max, uint32_t *size)
{
	unsigned long long v;
	unsigned shift = 0;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *text < '0' || *text > '9' || v > UINT32_MAX)
		return -EINVAL;
	if (*end == 'K')
		shift = 10;
	else if (*end == 'M')
		shift = 20;
	if (end[shift > 0] || v << shift < min || v << shift > max)
		return -EINVAL;
	*size = (uint32_t)(v << shift);
	return 0;
}

void rn_bench_write_size(uint32_t size, char text[16])
{
	unsigned shift = 0;
	const char *unit = "";

	if (size && size % (1 << 20) == 0) {
		shift = 20;
		unit = "M";
	} else if (size && size % (1 << 10) == 0) {
		shift = 10;
		unit = "K";
	}
	snprintf(text, 16, "%u%s", size >> shift, unit);
}

/* ---- Cells ---- */

static const char *const wire_name[RN_BENCH_WIRE_COUNT] = {
	[RN_BENCH_OVER_UDP] = "udp",
	[RN_BENCH_OVER_LOCAL] = "local",
	[RN_BENCH_OVER_BESIDE] = "beside",
};

static const char *const sharing_name[RN_BENCH_SHARINGS] = {
	[RN_BENCH_OWN_CQ] = "",
	[RN_BENCH_THREAD_DOMAIN] = "td",
	[RN_BENCH_SHARED_CQ] = "shared",
};

static const char *text_after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static int read_wire(struct rn_bench_cell *cell, const char *word)
{
	for (unsigned i = 0; i < RN_BENCH_WIRE_COUNT; i++)
		if (strcmp(word, wire_name[i]) == 0) {
			cell->wire = (enum rn_bench_wire)i;
			return 0;
		}
	return -EINVAL;
}

static int read_processes(struct rn_bench_cell *cell, const char *value)
{
	uint32_t processes;

	if (rn_bench_read_size(value, 2, 2 * RN_BENCH_PAIRS_MAX, &processes) ||
	    processes % 2)
		return -EINVAL;
	cell->pairs = processes / 2;
	return 0;
}

/* Parses a word of the text of a cell that is a flag, such as "local", into @cell. */
static int read_flag(struct rn_bench_cell *cell, const char *word)
{
	if (strcmp(word, "packed") == 0) {
		cell->packed = true;
		return 0;
	}
	for (unsigned i = RN_BENCH_THREAD_DOMAIN; i < RN_BENCH_SHARINGS; i++)
		if (strcmp(word, sharing_name[i]) == 0) {
			cell->sharing = (enum rn_bench_sharing)i;
			return 0;
		}
	return read_wire(cell, word);
}

/* Parses one word of the text of a cell, such as "qps=4", into @cell. */
static int read_word(struct rn_bench_cell *cell, const char *word)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell->item];
	const char *value;

	value = text_after(word, "qps=");
	if (value)
		return rn_bench_read_size(value, 1, RN_BENCH_QPS_MAX, &cell->qps);
	value = text_after(word, "processes=");
	if (value)
		return read_processes(cell, value);
	value = text_after(word, "threads=");
	if (value)
		return rn_bench_read_size(value, 1, RN_BENCH_THREADS_MAX, &cell->threads);
	value = text_after(word, "rcvbuf=");
	if (value)
		return rn_bench_read_size(value, RN_BENCH_RCVBUF_MIN, 1 << 30,
					  &cell->rcvbuf);
	if (*word >= '0' && *word <= '9')
		return rn_bench_read_size(word, RN_BENCH_LEN_MIN, info->len_max,
					  &cell->len);
	return read_flag(cell, word);
}

static int read_item(struct rn_bench_cell *cell, const char *name)
{
	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++)
		if (strcmp(name, rn_bench_item_info[i].name) == 0) {
			*cell = (struct rn_bench_cell){ .item = (enum rn_bench_item)i,
							.len = rn_bench_item_info[i].len,
							.qps = 1,
							.pairs = 1,
							.threads = 1 };
			return 0;
		}
	return -EINVAL;
}

static bool can_spread(enum rn_bench_item item)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[item];

	return info->family == RN_BENCH_VERBS && info->kind != RN_BENCH_LAT;
}

/* Sets each parameter of the cell that has no effect on its item to the default, so that
 * two cells that measure the same are equal.
 */
static void normalize_cell(struct rn_bench_cell *cell)
{
	enum rn_bench_family family = rn_bench_item_info[cell->item].family;

	if (family != RN_BENCH_VERBS)
		cell->wire = RN_BENCH_OVER_UDP;
	if (!can_spread(cell->item))
		cell->qps = cell->threads = 1;
	if (cell->threads > 1)
		cell->qps = 1;
	if (cell->threads == 1 && cell->sharing == RN_BENCH_SHARED_CQ)
		cell->sharing = RN_BENCH_OWN_CQ;
	if (!can_spread(cell->item))
		cell->sharing = RN_BENCH_OWN_CQ;
	if (cell->pairs == 1)
		cell->packed = false;
	if (family != RN_BENCH_UDP && family != RN_BENCH_VERBS)
		cell->rcvbuf = 0;
	if (cell->wire != RN_BENCH_OVER_UDP)
		cell->rcvbuf = 0;
}

int rn_bench_cell_read(struct rn_bench_cell *cell, const char *text, char *err,
		       size_t err_len)
{
	char copy[RN_BENCH_CELL_TEXT], *rest = copy, *word;

	if (strlen(text) >= sizeof(copy)) {
		snprintf(err, err_len, "\"%.40s...\" is no item", text);
		return -EINVAL;
	}
	memcpy(copy, text, strlen(text) + 1);
	word = strsep(&rest, ":");
	if (read_item(cell, word)) {
		snprintf(err, err_len, "there is no item \"%s\"", word);
		return -EINVAL;
	}
	while ((word = strsep(&rest, ":")) != NULL)
		if (read_word(cell, word)) {
			snprintf(err, err_len,
				 "\"%s\" of \"%s\" is no size from 8 to %u, qps=N, "
				 "processes=N (even), packed, threads=N (up to 32), td, "
				 "shared, rcvbuf=BYTES, local or beside",
				 word, text, rn_bench_item_info[cell->item].len_max);
			return -EINVAL;
		}
	normalize_cell(cell);
	return 0;
}

bool rn_bench_cell_equal(const struct rn_bench_cell *a, const struct rn_bench_cell *b)
{
	return a->item == b->item && a->wire == b->wire && a->len == b->len &&
	       a->qps == b->qps && a->pairs == b->pairs && a->packed == b->packed &&
	       a->threads == b->threads && a->sharing == b->sharing &&
	       a->rcvbuf == b->rcvbuf;
}

void rn_bench_cell_write(const struct rn_bench_cell *cell, char text[RN_BENCH_CELL_TEXT])
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell->item];
	char len[16] = "", qps[24] = "", pairs[32] = "", rcvbuf[32] = "", size[16];
	char threads[32] = "";

	if (cell->len != info->len) {
		rn_bench_write_size(cell->len, size);
		snprintf(len, sizeof(len), ":%.14s", size);
	}
	if (cell->qps != 1)
		snprintf(qps, sizeof(qps), ":qps=%u", cell->qps);
	if (cell->pairs != 1)
		snprintf(pairs, sizeof(pairs), ":processes=%u%s", 2 * cell->pairs,
			 cell->packed ? ":packed" : "");
	if (cell->threads != 1 || cell->sharing != RN_BENCH_OWN_CQ)
		snprintf(threads, sizeof(threads), ":threads=%u%s%s", cell->threads,
			 cell->sharing == RN_BENCH_OWN_CQ ? "" : ":",
			 sharing_name[cell->sharing]);
	if (cell->rcvbuf) {
		rn_bench_write_size(cell->rcvbuf, size);
		snprintf(rcvbuf, sizeof(rcvbuf), ":rcvbuf=%s", size);
	}
	snprintf(text, RN_BENCH_CELL_TEXT, "%s%s%s%s%s%s%s%s", info->name, len, qps,
		 pairs, threads, rcvbuf, cell->wire == RN_BENCH_OVER_UDP ? "" : ":",
		 cell->wire == RN_BENCH_OVER_UDP ? "" : wire_name[cell->wire]);
}

/* ------------------------------------------------------------------ making the plan */
static const char no_local[] = "not built";

/* Ratios that a device of Rocin should reach. The denominator of each is a limit of this
 * machine, measured in the same run. The ratios are reported, but a low one does not make
 * the run fail, because measurements on a shared machine prove nothing.
 */
/* clang-format off */
static const struct bar {
	/* What is measured, in words, and the two cells whose values are compared. Cells
	 * NULL: the ratio is not measured here, because a test checks it.
	 */
	const char *work, *over, *under;
	enum rn_bench_measure measure;
	enum rn_bench_meant meant;
	double bar;
	/* The ratio is judged only if the value of this measurement is at least as good
	 * as that of @under; NULL: always.
	 */
	const char *only_if;
} bars[] = {
	{ "WRITE 1 MiB over UDP",
	  "write_bw", "udp_crc_bw", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.9, NULL },
	{ "READ 1 MiB over UDP",
	  "read_bw", "udp_crc_bw", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.9, NULL },
	{ "SEND 1 MiB over UDP",
	  "send_bw", "udp_crc_bw", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.9, NULL },
	{ "WRITE 64 KiB over UDP",
	  "write_bw:64K", "udp_crc_bw:64K", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.81, NULL },
	{ "WRITE 32 KiB over UDP",
	  "write_bw:32K", "udp_crc_bw:32K", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.81, NULL },
	{ "WRITE 1 MiB over UDP, of raw UDP",
	  "write_bw", "udp_bw", RN_BENCH_QUOTIENT, RN_BENCH_NOTHING_MEANT, 0, NULL },
	{ "WRITE 1 MiB over UDP, of TCP",
	  "write_bw", "tcp_bw", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 1, "udp_bw" },
	{ "SEND 64 B ping-pong over UDP, polling",
	  "send_lat", "udp_lat", RN_BENCH_QUOTIENT, RN_BENCH_AT_MOST, 1.5, NULL },
	{ "SEND 64 B ping-pong, completion events",
	  "event_lat", "send_lat", RN_BENCH_QUOTIENT, RN_BENCH_AT_MOST, 1.3, NULL },
	{ "WRITE 8 B ping-pong, spin on memory",
	  "write_lat", "udp_lat", RN_BENCH_QUOTIENT, RN_BENCH_AT_MOST, 1.5, NULL },
	{ "SEND 64 B one-way over UDP, one by one",
	  "send_rate", "udp_rate", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 10, NULL },
	{ "WRITE 1 MiB over the local wire",
	  "write_bw:local", "ring_bw", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.85, NULL },
	{ "WRITE 1 MiB over the local wire, of TCP",
	  "write_bw:local", "tcp_poll_bw", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 1, "ring_bw" },
	{ "SEND 64 B ping-pong, local wire, us more",
	  "send_lat:local", "line_lat", RN_BENCH_BEYOND_LINES, RN_BENCH_AT_MOST, 0.4, NULL },
	{ "instructions in the core, 10000 QPs to 1",
	  NULL, NULL, RN_BENCH_QUOTIENT, RN_BENCH_AT_MOST, 1.3, NULL },
	{ "time of a message, 10000 QPs to 1",
	  "burst_rate", "burst_rate:qps=10000", RN_BENCH_QUOTIENT, RN_BENCH_AT_MOST, 2, NULL },
	{ "WRITE 1 MiB, as with rmem_max 212992",
	  "write_bw:rcvbuf=208K", "udp_crc_bw:rcvbuf=208K", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 0.9, NULL },
	{ "SEND 64 B one-way, as with rmem_max 212992",
	  "send_rate:rcvbuf=208K", "udp_rate:rcvbuf=208K", RN_BENCH_QUOTIENT, RN_BENCH_AT_LEAST, 10, NULL },
	{ "SEND 64 B ping-pong, 4 processes on 2 cores",
	  "send_lat:processes=4:packed", "send_lat", RN_BENCH_QUOTIENT, RN_BENCH_AT_MOST, 3, NULL },
	{ "the same, p99.9 later than raw UDP's, us",
	  "send_lat:processes=4:packed", "udp_lat:processes=4:packed", RN_BENCH_TAIL_LATER, RN_BENCH_AT_MOST, 1000, NULL },
};

/* For each kind of measurement, the items with which an item over verbs is compared. The
 * comparison is made if the run has both, with the same size and number of processes.
 */
static const struct {
	enum rn_bench_kind kind;
	enum rn_bench_item item;
} yardsticks[] = {
	{ RN_BENCH_BW,   RN_BENCH_TCP_BW },
	{ RN_BENCH_BW,   RN_BENCH_UDP_BW },
	{ RN_BENCH_LAT,  RN_BENCH_UDP_LAT },
	{ RN_BENCH_LAT,  RN_BENCH_TCP_POLL_LAT },
	{ RN_BENCH_RATE, RN_BENCH_UDP_RATE },
	{ RN_BENCH_RATE, RN_BENCH_UDP_WINDOW_RATE },
};

static const uint32_t sweep_sizes[] = {
	8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 8 << 20,
};
/* clang-format on */

/* ---- Cells ---- */

static bool there_is(const struct rn_bench_machine *machine,
		     const struct rn_bench_cell *cell)
{
	switch (cell->wire) {
	case RN_BENCH_OVER_LOCAL:
		return machine->local_wire;
	case RN_BENCH_OVER_BESIDE:
		return machine->beside;
	case RN_BENCH_OVER_UDP:
	case RN_BENCH_WIRE_COUNT:
		break;
	}
	return true;
}

static int find_cell(const struct rn_bench_plan *plan, const struct rn_bench_cell *cell)
{
	for (unsigned i = 0; i < plan->cells; i++)
		if (rn_bench_cell_equal(&plan->cell[i], cell))
			return (int)i;
	return -1;
}

/* Adds a cell (a measurement with its parameters), unless the plan has an equal one.
 * Returns the index of the cell in the plan, or -E2BIG.
 */
static int add_cell(struct rn_bench_plan *plan, const struct rn_bench_cell *cell)
{
	int at = find_cell(plan, cell);

	if (at >= 0)
		return at;
	if (plan->cells == RN_BENCH_CELLS_MAX)
		return -E2BIG;
	plan->cell[plan->cells] = *cell;
	return (int)plan->cells++;
}

/* What the options say about the parameters of cells. If a list of @args is empty, each
 * cell keeps its own value.
 */
struct choices {
	const struct rn_bench_args *args;
	const struct rn_bench_machine *machine;
	/* The user has named the cell on the command line, so it is an error if the cell
	 * cannot be measured.
	 */
	bool by_name;
};

static uint32_t value_or(const struct rn_bench_list *list, unsigned i, uint32_t otherwise)
{
	return list->count ? list->value[i] : otherwise;
}

static unsigned choice_count(const struct rn_bench_list *list)
{
	return list->count ? list->count : 1;
}

static int add_wires(struct rn_bench_plan *plan, const struct choices *c,
		     struct rn_bench_cell cell)
{
	const bool *wire = c->args->wire;
	bool any = wire[0] || wire[1] || wire[2];

	for (unsigned i = 0; i < RN_BENCH_WIRE_COUNT; i++) {
		struct rn_bench_cell one = cell;
		int rc;

		if (any ? !wire[i] : i != cell.wire)
			continue;
		one.wire = (enum rn_bench_wire)i;
		normalize_cell(&one);
		if (!there_is(c->machine, &one)) {
			if (c->by_name || any)
				return -ENODEV;
			continue;
		}
		rc = add_cell(plan, &one);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_sizes(struct rn_bench_plan *plan, const struct choices *c,
		     struct rn_bench_cell cell)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell.item];
	uint32_t own = cell.len;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < choice_count(&c->args->sizes); i++) {
		cell.len = value_or(&c->args->sizes, i, own);
		if (cell.len <= info->len_max)
			rc = add_wires(plan, c, cell);
	}
	return rc;
}

/* Adds a cell for each number of threads that the options name, and for each way in which
 * threads may share queues: a CQ for each thread, the same with thread domains, and one
 * CQ.
 */
static int add_threads(struct rn_bench_plan *plan, const struct choices *c,
		       struct rn_bench_cell cell)
{
	int rc = 0;

	if (!c->args->threads.count)
		return add_sizes(plan, c, cell);
	for (unsigned i = 0; rc == 0 && i < c->args->threads.count; i++)
		for (unsigned k = 0; rc == 0 && k < RN_BENCH_SHARINGS; k++) {
			cell.threads = c->args->threads.value[i];
			cell.sharing = (enum rn_bench_sharing)k;
			rc = add_sizes(plan, c, cell);
		}
	return rc;
}

static int add_choices(struct rn_bench_plan *plan, const struct choices *c,
		       struct rn_bench_cell cell)
{
	uint32_t qps = cell.qps, pairs = cell.pairs;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < choice_count(&c->args->qps); i++)
		for (unsigned j = 0; rc == 0 && j < choice_count(&c->args->processes);
		     j++) {
			cell.qps = value_or(&c->args->qps, i, qps);
			cell.pairs = value_or(&c->args->processes, j, 2 * pairs) / 2;
			rc = add_threads(plan, c, cell);
		}
	return rc;
}

static struct rn_bench_cell standard_cell(enum rn_bench_item item)
{
	return (struct rn_bench_cell){
		.item = item,
		.len = rn_bench_item_info[item].len,
		.qps = 1,
		.pairs = 1,
		.threads = 1,
	};
}

static int add_standard(struct rn_bench_plan *plan, const struct choices *c)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < RN_BENCH_ITEM_COUNT; i++) {
		struct rn_bench_cell cell = standard_cell((enum rn_bench_item)i);

		rc = add_choices(plan, c, cell);
		for (unsigned w = RN_BENCH_OVER_LOCAL; rc == 0 && w < RN_BENCH_WIRE_COUNT;
		     w++) {
			cell.wire = (enum rn_bench_wire)w;
			rc = add_choices(plan, c, cell);
		}
	}
	return rc;
}

/* Adds the cells of a sweep over message sizes, one size after the other, so that cells
 * of one size, which are compared with each other, are measured soon after each other.
 */
static int add_sweep(struct rn_bench_plan *plan, const struct choices *c)
{
	struct rn_bench_args one = *c->args;
	struct choices with_size = { .args = &one, .machine = c->machine };
	unsigned sizes =
		c->args->sizes.count ? c->args->sizes.count : RN_ARRAY_SIZE(sweep_sizes);

	for (unsigned k = 0; k < sizes; k++) {
		one.sizes.count = 1;
		one.sizes.value[0] = value_or(&c->args->sizes, k, 0);
		if (!c->args->sizes.count)
			one.sizes.value[0] = sweep_sizes[k];
		for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++) {
			struct rn_bench_cell cell = standard_cell((enum rn_bench_item)i);

			if (rn_bench_item_info[i].kind == RN_BENCH_RATE)
				continue;
			for (unsigned w = 0; w < RN_BENCH_WIRE_COUNT; w++) {
				int rc;

				cell.wire = (enum rn_bench_wire)w;
				rc = add_choices(plan, &with_size, cell);
				if (rc)
					return rc;
			}
		}
	}
	return 0;
}

/* ---- Ratios of two cells ---- */

/* There is room for the ratios of all cells: a cell is compared with three others at
 * most.
 */
static_assert((int)RN_BENCH_RATIOS_MAX >= 3 * (int)RN_BENCH_CELLS_MAX,
	      "there is room for the ratios of all cells");

static void add_ratio(struct rn_bench_plan *plan, const struct rn_bench_ratio *ratio)
{
	assert(plan->ratios < RN_BENCH_RATIOS_MAX);
	plan->ratio[plan->ratios++] = *ratio;
}

static int add_bar_cell(struct rn_bench_plan *plan,
			const struct rn_bench_machine *machine, const char *text,
			struct rn_bench_ratio *ratio)
{
	struct rn_bench_cell cell;
	char err[64];
	int rc;

	if (ratio->why_not)
		return 0;
	rc = rn_bench_cell_read(&cell, text, err, sizeof(err));
	if (rc)
		return rc;
	if (!there_is(machine, &cell)) {
		ratio->why_not = no_local;
		return 0;
	}
	return add_cell(plan, &cell);
}

static int add_bars(struct rn_bench_plan *plan, const struct rn_bench_machine *machine)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(bars); i++) {
		const struct bar *bar = &bars[i];
		struct rn_bench_ratio ratio = { .work = bar->work,
						.measure = bar->measure,
						.meant = bar->meant,
						.bar = bar->bar };
		int over, under, only_if = 0;

		if (!bar->over)
			ratio.why_not = "counted by tests";
		over = add_bar_cell(plan, machine, bar->over, &ratio);
		under = add_bar_cell(plan, machine, bar->under, &ratio);
		if (bar->only_if)
			only_if = add_bar_cell(plan, machine, bar->only_if, &ratio);
		if (over < 0 || under < 0 || only_if < 0)
			return over < 0 ? over : under < 0 ? under : only_if;
		ratio.over = (unsigned)over;
		ratio.under = (unsigned)under;
		ratio.has_condition = bar->only_if != NULL;
		ratio.only_if = (unsigned)only_if;
		add_ratio(plan, &ratio);
	}
	return 0;
}

static void add_yardsticks(struct rn_bench_plan *plan, unsigned over)
{
	const struct rn_bench_cell *cell = &plan->cell[over];
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell->item];

	for (size_t i = 0; i < RN_ARRAY_SIZE(yardsticks); i++) {
		struct rn_bench_cell other = { .item = yardsticks[i].item,
					       .len = cell->len,
					       .qps = 1,
					       .pairs = cell->pairs,
					       .packed = cell->packed,
					       .threads = 1,
					       .rcvbuf = cell->rcvbuf };
		uint32_t standard = rn_bench_item_info[other.item].len;
		int under;

		if (yardsticks[i].kind != info->kind)
			continue;
		normalize_cell(&other);
		under = find_cell(plan, &other);
		/* If no measurement of TCP or UDP has this message size, this one is
		 * compared with that of the standard size, because 8 bytes take as long
		 * as 64.
		 */
		if (under < 0 && other.len < standard) {
			other.len = standard;
			under = find_cell(plan, &other);
		}
		if (under >= 0)
			add_ratio(plan, &(struct rn_bench_ratio){
						.over = over, .under = (unsigned)under });
	}
}

/* Compares a cell of several pairs of processes, or of several threads, with the same
 * work of one pair and one thread.
 */
static void add_scaling(struct rn_bench_plan *plan, unsigned over)
{
	struct rn_bench_cell one = plan->cell[over];
	int under;

	if (one.pairs == 1 && one.threads == 1)
		return;
	one.pairs = one.threads = 1;
	one.sharing = RN_BENCH_OWN_CQ;
	normalize_cell(&one);
	under = find_cell(plan, &one);
	if (under >= 0)
		add_ratio(plan, &(struct rn_bench_ratio){ .over = over,
							  .under = (unsigned)under });
}

static void add_ratios(struct rn_bench_plan *plan)
{
	for (unsigned i = 0; i < plan->cells; i++) {
		if (rn_bench_item_info[plan->cell[i].item].family == RN_BENCH_VERBS)
			add_yardsticks(plan, i);
		add_scaling(plan, i);
	}
}

void rn_bench_ratio_write(const struct rn_bench_plan *plan,
			  const struct rn_bench_ratio *ratio, char *text, size_t len)
{
	char over[RN_BENCH_CELL_TEXT], under[RN_BENCH_CELL_TEXT];

	if (ratio->why_not) {
		snprintf(text, len, "%s", ratio->work);
		return;
	}
	rn_bench_cell_write(&plan->cell[ratio->over], over);
	rn_bench_cell_write(&plan->cell[ratio->under], under);
	if (ratio->measure == RN_BENCH_BEYOND_LINES)
		snprintf(text, len, "%s - %d x %s", over, RN_BENCH_LINES, under);
	else
		snprintf(text, len, "%s %c %s", over,
			 ratio->measure == RN_BENCH_QUOTIENT ? '/' : '-', under);
}

/* ---- Length and number of time slices ---- */

/* Chooses the length and the number of the time slices. In each slice a fifth of the time
 * is a warm-up, and there are pauses between slices.
 */
static void choose_slices(const struct rn_bench_args *args, struct rn_bench_plan *plan)
{
	static const unsigned slice_ms[] = {
		[RN_BENCH_STANDARD] = 50, [RN_BENCH_BARS] = 100, [RN_BENCH_SWEEP] = 15
	};
	const unsigned least_ms = 5, least_rounds = 5, most_ms = 500;
	double ms;

	plan->rounds = args->rounds;
	plan->slice_ms = args->slice_ms ? args->slice_ms : slice_ms[args->set];
	if (args->only_count && !args->slice_ms)
		plan->slice_ms = 100;
	if (!args->time_s)
		return;
	ms = args->time_s * 1000.0 / plan->cells / 1.3;
	if (!args->slice_ms)
		plan->slice_ms = (unsigned)(ms / plan->rounds);
	if (plan->slice_ms < least_ms)
		plan->slice_ms = least_ms;
	if (plan->slice_ms > most_ms)
		plan->slice_ms = most_ms;
	plan->rounds = (unsigned)(ms / plan->slice_ms);
	if (plan->rounds < least_rounds)
		plan->rounds = least_rounds;
	if (plan->rounds > RN_BENCH_ROUNDS_MAX)
		plan->rounds = RN_BENCH_ROUNDS_MAX;
}

int rn_bench_plan_make(const struct rn_bench_args *args,
		       const struct rn_bench_machine *machine, struct rn_bench_plan *plan,
		       char *err, size_t err_len)
{
	struct choices c = { .args = args, .machine = machine };
	int rc = 0;

	plan->cells = plan->ratios = 0;
	if (args->only_count) {
		c.by_name = true;
		for (unsigned i = 0; rc == 0 && i < args->only_count; i++)
			rc = add_choices(plan, &c, args->only[i]);
	} else if (args->set == RN_BENCH_BARS) {
		rc = add_bars(plan, machine);
	} else if (args->set == RN_BENCH_SWEEP) {
		rc = add_sweep(plan, &c);
	} else {
		rc = add_standard(plan, &c);
	}
	if (rc == 0 && plan->ratios == 0)
		add_ratios(plan);
	if (rc == 0 && plan->cells == 0)
		rc = -ENODEV;
	if (rc == -ENODEV)
		snprintf(err, err_len,
			 "nothing of what was asked for is there: this machine has %s "
			 "local wire and %s other device",
			 machine->local_wire ? "a" : "no", machine->beside ? "an" : "no");
	else if (rc)
		snprintf(err, err_len, "that is more than %d cells; choose fewer",
			 RN_BENCH_CELLS_MAX);
	else
		choose_slices(args, plan);
	return rc;
}
