/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* prometheus.h - prints the counters of all devices in the text format of Prometheus.
 *
 * The text follows the Prometheus exposition format 0.0.4: one family after the other,
 * counters with the suffix _total, base units in the names.
 */
#ifndef RN_STAT_PROMETHEUS_H
#define RN_STAT_PROMETHEUS_H

#include <stdio.h>

#include "transport/io/rocind/stats_pages.h"

/* Prints the counters of all programs in @list, and those of rocind unless @daemon is
 * NULL.
 */
void rn_prometheus_print(FILE *to, const struct rn_stats_list *list,
			 const struct rn_rocind_status *daemon);

#endif /* RN_STAT_PROMETHEUS_H */
