/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mappings.h - the mappings of this process, as /proc/self/maps lists them.
 *
 * Threads: any thread may open a list; only one at a time may read from it.
 */
#ifndef RN_MAPPINGS_H
#define RN_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rn_mapping {
	uintptr_t lo, hi;
	char rights[5]; /* such as "rw-p"; the last letter: s(hared) or p(rivate) */
	unsigned long long inode;
	bool is_stack;
};

/* Opens the list, to be closed by fclose(). Returns NULL with errno. */
FILE *rn_mappings_open(void);

/* Reads the next mapping. Returns false at the end. */
bool rn_mappings_next(FILE *maps, struct rn_mapping *m);

#endif /* RN_MAPPINGS_H */
