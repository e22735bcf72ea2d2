/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_table.h - the summary of `rocin litmus`: a row per test, a column per mode. */
#ifndef RN_LITMUS_TABLE_H
#define RN_LITMUS_TABLE_H

#include "litmus_report.h"

void rn_report_table(const struct rn_report *r, FILE *to);

#endif /* RN_LITMUS_TABLE_H */
