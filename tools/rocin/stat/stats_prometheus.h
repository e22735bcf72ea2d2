/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_prometheus.h - counters as text in the exposition format of Prometheus, 0.0.4:
 * one family after the other, counters with _total, base units in the names.
 */
#ifndef RN_STATS_PROMETHEUS_H
#define RN_STATS_PROMETHEUS_H

#include <stdio.h>

#include "stats_gather.h"

/* Of every program in @list, and of rocind unless @daemon is NULL (there is none). */
void rn_prometheus_print(FILE *to, const struct rn_stats_list *list,
			 const struct rn_rocind_status *daemon);

#endif /* RN_STATS_PROMETHEUS_H */
