/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_options.h - the command line of `rocin lab`. */
#ifndef RN_LAB_OPTIONS_H
#define RN_LAB_OPTIONS_H

#include "lab.h"

/* Ends with RN_EXIT_USAGE and a sentence if something is wrong. What @args points to
 * lives as long as @argv does; commands are never freed.
 */
void rn_lab_options_parse(int argc, char **argv, struct rn_lab_args *args);

#endif /* RN_LAB_OPTIONS_H */
