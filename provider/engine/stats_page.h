/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_page.h - this process's statistics of one device, where rocind and `rocin stat`
 * can read them (include/rocin/stats.h).
 *
 * The page grows for queue pairs without moving: address space for all of them is
 * reserved at once. Where memfd is forbidden the page is private memory and nobody else
 * sees it.
 *
 * Threads: none of these functions locks.
 */
#ifndef RNP_STATS_PAGE_H
#define RNP_STATS_PAGE_H

#include "rocin/stats.h"

enum {
	RNP_STATS_QP_MAX = 65536
};

struct rnp_stats {
	struct rn_stats_page *page;
	int fd;	       /* -1: private memory */
	int share_fd;  /* of the same file, for readers; -1: none */
	uint32_t hint; /* record to look at first */
	uint64_t used[RNP_STATS_QP_MAX / 64];
};

/* Return: 0 or -ENOMEM. */
int rnp_stats_open(struct rnp_stats *s, const char *ibdev);

/* Unmaps and closes. */
void rnp_stats_close(struct rnp_stats *s);

/* A zeroed record, or NULL if memory for it is short: it is for show only. */
struct rn_stats_qp *rnp_stats_take(struct rnp_stats *s);

/* NULL is ignored. */
void rnp_stats_give(struct rnp_stats *s, struct rn_stats_qp *rec);

#endif /* RNP_STATS_PAGE_H */
