/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_report.h - what a lab says of itself, at its beginning and at its end. */
#ifndef RN_LAB_REPORT_H
#define RN_LAB_REPORT_H

#include "lab_program.h"

/* The hosts, and what their links do, and by what: @by is RN_LAB_BY_... */
void rn_lab_report_begin(const struct rn_lab_args *args, unsigned by);

/* How the programs ended, in one line. @failed: the first of those that failed, NULL. */
void rn_lab_report_end(const struct rn_lab_args *args, const struct rn_lab_program *all,
		       unsigned count, const struct rn_lab_program *failed, rn_ns time);

/* The same as JSON, in the file that args->json names. Return: 0 or -errno, having
 * complained.
 */
int rn_lab_report_json(const struct rn_lab_args *args, const struct rn_lab_program *all,
		       unsigned count, unsigned by, int status, rn_ns time);

#endif /* RN_LAB_REPORT_H */
