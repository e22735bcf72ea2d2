/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_gather.c - see stats_gather.h */
#include "stats_gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rn_drop_name[RN_ROCIND_DROP_COUNT] = {
	[RN_ROCIND_DROP_SHORT] = "short",
	[RN_ROCIND_DROP_QP0] = "qp0",
	[RN_ROCIND_DROP_QP1] = "qp1",
	[RN_ROCIND_DROP_RESERVED] = "reserved_qp",
	[RN_ROCIND_DROP_MULTICAST] = "multicast",
	[RN_ROCIND_DROP_UNKNOWN_SLOT] = "unknown_slot",
};

static int on_client(void *ctx, const struct rn_rocind_client *c)
{
	struct rn_stats_list *list = ctx;
	struct rn_stats_client *grown =
		reallocarray(list->client, list->count + 1, sizeof(*grown));

	if (!grown) {
		if (c->stats_fd >= 0)
			close(c->stats_fd);
		return -ENOMEM;
	}
	list->client = grown;
	grown += list->count++;
	*grown = (struct rn_stats_client){ .id = *c };
	/* A client without a readable page is shown all the same: it holds a slot. */
	if (c->stats_fd >= 0) {
		if (rn_stats_read(c->stats_fd, &grown->copy))
			rn_stats_free(&grown->copy);
		close(c->stats_fd);
	}
	grown->id.stats_fd = -1;
	return 0;
}

int rn_stats_gather(struct rn_rocind *daemon, struct rn_stats_list *list, char *err,
		    size_t err_len)
{
	*list = (struct rn_stats_list){ 0 };
	return rn_rocind_list(daemon, on_client, list, err, err_len);
}

void rn_stats_list_free(struct rn_stats_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		rn_stats_free(&list->client[i].copy);
	free(list->client);
	*list = (struct rn_stats_list){ 0 };
}

const struct rn_stats_client *rn_stats_find(const struct rn_stats_list *list,
					    const struct rn_stats_client *client)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct rn_stats_client *c = &list->client[i];

		if (c->id.pid == client->id.pid && c->id.slot == client->id.slot &&
		    strcmp(c->id.ibdev, client->id.ibdev) == 0)
			return c;
	}
	return NULL;
}
