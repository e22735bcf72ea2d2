/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_files.h - litmus files and directories on disk. */
#ifndef RN_LITMUS_FILES_H
#define RN_LITMUS_FILES_H

#include "litmus_report.h"

/**
 * rn_litmus_read() - Add all tests of a file, or of the *.litmus in a directory
 *
 * Files of a directory come in the order of their names.
 *
 * Return: 0; -errno after a complaint, -EINVAL of a file that is not understood.
 */
int rn_litmus_read(struct rn_report *r, const char *path);

void rn_report_free(struct rn_report *r);

#endif /* RN_LITMUS_FILES_H */
