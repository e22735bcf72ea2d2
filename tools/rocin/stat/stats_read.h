/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_read.h - read the stats page of another process, which may be anything.
 *
 * Everything is copied by pread() and checked: the page belongs to a program that may be
 * of another version, be stopped, die or truncate it meanwhile.
 */
#ifndef RN_STATS_READ_H
#define RN_STATS_READ_H

#include "rocin/stats.h"

struct rn_stats_copy {
	struct rn_stats_page page; /* strings are terminated, qp_capacity is checked */
	uint32_t counter_count;	   /* of page.counter, at most RN_STAT_COUNT */
	struct rn_stats_qp *qp;	   /* QPs in use only; owned by the copy */
	uint32_t qp_count;
};

/* Return: 0, or -EPROTO (not a stats page of this version), -ENOMEM, -errno of pread().
 */
int rn_stats_read(int fd, struct rn_stats_copy *copy);
void rn_stats_free(struct rn_stats_copy *copy);

#endif /* RN_STATS_READ_H */
