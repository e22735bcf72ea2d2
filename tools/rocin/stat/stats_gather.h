/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_gather.h - the stats pages of all programs that rocind serves, at one moment. */
#ifndef RN_STATS_GATHER_H
#define RN_STATS_GATHER_H

#include "stats_read.h"
#include "transport/io/rocind/rocind_client.h"

struct rn_stats_client {
	struct rn_rocind_client id; /* stats_fd is closed: -1 */
	struct rn_stats_copy copy;  /* all zero if the page cannot be read */
};

struct rn_stats_list {
	struct rn_stats_client *client; /* owned */
	size_t count;
};

/* Word for why rocind dropped a packet. */
extern const char *const rn_drop_name[RN_ROCIND_DROP_COUNT];

/**
 * rn_stats_gather() - Read them
 * @daemon:	Connection
 * @list:	Out, whatever is returned; to be given back by rn_stats_list_free()
 *
 * Return: 0, -ENOMEM, or as rn_rocind_list(), with the sentence in @err.
 */
int rn_stats_gather(struct rn_rocind *daemon, struct rn_stats_list *list, char *err,
		    size_t err_len);
void rn_stats_list_free(struct rn_stats_list *list);

/* The same device of the same process in another list; NULL: not there. */
const struct rn_stats_client *rn_stats_find(const struct rn_stats_list *list,
					    const struct rn_stats_client *client);

#endif /* RN_STATS_GATHER_H */
