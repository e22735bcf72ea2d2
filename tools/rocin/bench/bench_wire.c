/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_wire.c - see bench_wire.h */
#include "bench_wire.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/rocin/stat/stats_gather.h"

static bool is_member(const struct rn_bench_team *team, pid_t pid)
{
	for (unsigned i = 0; i < 2 * team->pairs; i++)
		if (team->pair[i / 2].pid[i % 2] == pid)
			return true;
	return false;
}

/* Return: processes of @team that rocind knows, or a negative errno with the sentence. */
static int add_up(struct rn_rocind *daemon, const struct rn_bench_team *team,
		  struct rn_bench_sent *sum, char *err, size_t err_len)
{
	struct rn_stats_list list;
	int rc = rn_stats_gather(daemon, &list, err, err_len), found = 0;

	for (size_t i = 0; rc == 0 && i < list.count; i++) {
		const uint64_t *counter = list.client[i].copy.page.counter;

		if (!is_member(team, list.client[i].id.pid))
			continue;
		sum->all += counter[RN_STAT_TX_PACKETS];
		sum->local += counter[RN_STAT_LOCAL_TX_PACKETS];
		found++;
	}
	rn_stats_list_free(&list);
	return rc ? rc : found;
}

int rn_bench_wire_check(struct rn_rocind **daemon, struct rn_bench_team *team,
			const struct rn_bench_cell *cell, char *err, size_t err_len)
{
	struct rn_bench_sent sum = { 0 }, now;
	char text[RN_BENCH_CELL_TEXT];
	int rc;

	if (rn_bench_item_info[cell->item].family != RN_BENCH_VERBS ||
	    cell->wire == RN_BENCH_OVER_BESIDE)
		return 0;
	if (!*daemon)
		*daemon = rn_rocind_connect_running(err, err_len);
	if (!*daemon)
		return -1;
	rc = add_up(*daemon, team, &sum, err, err_len);
	if (rc < 0)
		return -1;
	now = (struct rn_bench_sent){ sum.all - team->sent.all,
				      sum.local - team->sent.local };
	team->sent = sum;
	if (rc < (int)(2 * team->pairs))
		return 0; /* a device that is not ours, or of another rocind */
	if (cell->wire == RN_BENCH_OVER_LOCAL ? now.all > 0 && now.local * 2 >= now.all
					      : now.local == 0)
		return 0;
	rn_bench_cell_write(cell, text);
	snprintf(err, err_len,
		 "%s: %" PRIu64 " of %" PRIu64 " packets took the local wire, so that is "
		 "not what was measured; \"rocin doctor\" may say why",
		 text, now.local, now.all);
	return -1;
}
