/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_item.c - see bench_item.h */
#include "bench_item.h"

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

bool rn_bench_more_is_better(enum rn_bench_kind kind)
{
	return kind != RN_BENCH_LAT;
}

/* ---- Sizes ---- */

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

static const char *after(const char *text, const char *prefix)
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

/* One word between colons. */
static int read_word(struct rn_bench_cell *cell, const char *word)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell->item];
	const char *value;
	uint32_t processes;

	value = after(word, "qps=");
	if (value)
		return rn_bench_read_size(value, 1, RN_BENCH_QPS_MAX, &cell->qps);
	value = after(word, "processes=");
	if (value) {
		if (rn_bench_read_size(value, 2, 2 * RN_BENCH_PAIRS_MAX, &processes) ||
		    processes % 2)
			return -EINVAL;
		cell->pairs = processes / 2;
		return 0;
	}
	value = after(word, "rcvbuf=");
	if (value)
		return rn_bench_read_size(value, RN_BENCH_RCVBUF_MIN, 1 << 30,
					  &cell->rcvbuf);
	if (*word >= '0' && *word <= '9')
		return rn_bench_read_size(word, RN_BENCH_LEN_MIN, info->len_max,
					  &cell->len);
	return read_wire(cell, word);
}

static int read_item(struct rn_bench_cell *cell, const char *name)
{
	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++)
		if (strcmp(name, rn_bench_item_info[i].name) == 0) {
			*cell = (struct rn_bench_cell){ .item = (enum rn_bench_item)i,
							.len = rn_bench_item_info[i].len,
							.qps = 1,
							.pairs = 1 };
			return 0;
		}
	return -EINVAL;
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
				 "processes=N (even), rcvbuf=BYTES, local or beside",
				 word, text, rn_bench_item_info[cell->item].len_max);
			return -EINVAL;
		}
	rn_bench_cell_normal(cell);
	return 0;
}

static bool spreads(enum rn_bench_item item)
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[item];

	return info->family == RN_BENCH_VERBS && info->kind != RN_BENCH_LAT;
}

void rn_bench_cell_normal(struct rn_bench_cell *cell)
{
	enum rn_bench_family family = rn_bench_item_info[cell->item].family;

	if (family != RN_BENCH_VERBS)
		cell->wire = RN_BENCH_OVER_UDP;
	if (!spreads(cell->item))
		cell->qps = 1;
	if (family != RN_BENCH_UDP && family != RN_BENCH_VERBS)
		cell->rcvbuf = 0;
	if (cell->wire != RN_BENCH_OVER_UDP)
		cell->rcvbuf = 0;
}

bool rn_bench_cell_equal(const struct rn_bench_cell *a, const struct rn_bench_cell *b)
{
	return a->item == b->item && a->wire == b->wire && a->len == b->len &&
	       a->qps == b->qps && a->pairs == b->pairs && a->rcvbuf == b->rcvbuf;
}

void rn_bench_cell_write(const struct rn_bench_cell *cell, char text[RN_BENCH_CELL_TEXT])
{
	const struct rn_bench_item_info *info = &rn_bench_item_info[cell->item];
	char len[16] = "", qps[24] = "", pairs[24] = "", rcvbuf[32] = "", size[16];

	if (cell->len != info->len) {
		rn_bench_write_size(cell->len, size);
		snprintf(len, sizeof(len), ":%.14s", size);
	}
	if (cell->qps != 1)
		snprintf(qps, sizeof(qps), ":qps=%u", cell->qps);
	if (cell->pairs != 1)
		snprintf(pairs, sizeof(pairs), ":processes=%u", 2 * cell->pairs);
	if (cell->rcvbuf) {
		rn_bench_write_size(cell->rcvbuf, size);
		snprintf(rcvbuf, sizeof(rcvbuf), ":rcvbuf=%s", size);
	}
	snprintf(text, RN_BENCH_CELL_TEXT, "%s%s%s%s%s%s%s", info->name, len, qps, pairs,
		 rcvbuf, cell->wire == RN_BENCH_OVER_UDP ? "" : ":",
		 cell->wire == RN_BENCH_OVER_UDP ? "" : wire_name[cell->wire]);
}
