/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform_stats.c - see conform_stats.h */
#include "conform_stats.h"

#include <string.h>
#include <unistd.h>

#include "tools/rocin/stat/stats_read.h"
#include "transport/io/rocind/rocind_client.h"

static bool is_it(const struct rn_conform_stats *c, const struct rn_rocind_client *client)
{
	if (client->pid != c->pid || client->stats_fd < 0)
		return false;
	for (unsigned i = 0; i < client->gid_count; i++)
		for (unsigned k = 0; k < 2; k++)
			if (!memcmp(&client->gid[i], &c->gid[k], sizeof(c->gid[k])))
				return true;
	return false;
}

static int on_client(void *ctx, const struct rn_rocind_client *client)
{
	struct rn_conform_stats *c = ctx;

	if (c->fd < 0 && is_it(c, client))
		c->fd = client->stats_fd;
	else if (client->stats_fd >= 0)
		close(client->stats_fd);
	return 0;
}

static void find(struct rn_conform_stats *c)
{
	c->looked = true;
	c->daemon = rn_rocind_connect_running(NULL, 0);
	if (c->daemon)
		rn_rocind_list(c->daemon, on_client, c, NULL, 0);
}

static bool read_now(struct rn_conform_stats *c, uint64_t *counter)
{
	struct rn_rocind_status status;
	struct rn_stats_copy copy;
	bool good;

	if (c->fd < 0)
		return false;
	good = !rn_stats_read(c->fd, &copy) && copy.counter_count == RN_STAT_COUNT &&
	       !rn_rocind_status(c->daemon, &status, NULL, 0);
	if (good) {
		memcpy(counter, copy.page.counter, RN_STAT_COUNT * sizeof(*counter));
		counter[RN_STAT_RX_UNKNOWN_QP] +=
			status.drops[RN_ROCIND_DROP_UNKNOWN_SLOT];
	}
	rn_stats_free(&copy);
	return good;
}

void rn_conform_stats_begin(struct rn_conform_stats *c)
{
	if (!c->looked)
		find(c);
	if (!read_now(c, c->base))
		memset(c->base, 0, sizeof(c->base));
}

bool rn_conform_stats_get(struct rn_conform_stats *c, enum rn_stat stat, uint64_t *value)
{
	uint64_t counter[RN_STAT_COUNT];

	if (!read_now(c, counter))
		return false;
	*value = counter[stat] - c->base[stat];
	return true;
}

void rn_conform_stats_close(struct rn_conform_stats *c)
{
	if (c->fd >= 0)
		close(c->fd);
	rn_rocind_close(c->daemon);
}
