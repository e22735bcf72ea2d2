/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats.h - the counters of programs: their stats pages, read and printed. */
#ifndef RN_STAT_STATS_H
#define RN_STAT_STATS_H

#include <stdio.h>

#include "rocin/stats.h"
#include "transport/io/rocind/rocind_client.h"

/* -------------------------------------------------------------------------- one page */
/* Read the stats page of another process, which may be anything.
 *
 * Everything is copied by pread() and checked: the page belongs to a program that may be
 * of another version, be stopped, die or truncate it meanwhile.
 */

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

/* ------------------------------------------------------------------------- all pages */
/* Those of all programs that rocind serves, at one moment. */

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

/* ------------------------------------------------------------------------ Prometheus */
/* Counters as text in the exposition format of Prometheus, 0.0.4:
 * one family after the other, counters with _total, base units in the names.
 */

/* Of every program in @list, and of rocind unless @daemon is NULL (there is none). */
void rn_prometheus_print(FILE *to, const struct rn_stats_list *list,
			 const struct rn_rocind_status *daemon);

#endif /* RN_STAT_STATS_H */
