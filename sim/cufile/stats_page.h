/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stats_page.h - the statistics of one process, as `rocin gds stats` reads them.
 *
 * The page is the file RUNTIME_DIR/cufile-PID.stats, which the library maps while the
 * driver is open and removes when the process ends. The library writes it under its lock;
 * a reader may see a number of a moment before.
 */
#ifndef RN_CUFILE_STATS_PAGE_H
#define RN_CUFILE_STATS_PAGE_H

#include "cufile.h"

#define RN_CUFILE_PAGE_MAGIC UINT32_C(0x52434631) /* "RCF1" */
#define RN_CUFILE_PAGE_STEM "cufile-"
#define RN_CUFILE_PAGE_SUFFIX ".stats"

enum {
	RN_CUFILE_WAYS = 5, /* routes of rocin/storage.h */
};

struct rn_cufile_page {
	uint32_t magic;
	uint32_t bytes; /* size of this struct, so that another build is told */
	int32_t pid;
	int32_t level;	    /* level of statistics, 0 to 3 */
	uint32_t is_active; /* between cuFileStatsStart() and cuFileStatsStop() */
	uint32_t files, buffers, batches; /* registered at present */
	char program[64];
	char policy[64];	       /* routes of transfers, in order */
	uint64_t ways[RN_CUFILE_WAYS]; /* transfers by enum rn_storage_way */
	uint64_t active_ns;	       /* time for which statistics were active before */
	uint64_t started_ns;	       /* CLOCK_MONOTONIC of the last start */
	CUfileStatsLevel3_t stats;
};

#endif /* RN_CUFILE_STATS_PAGE_H */
