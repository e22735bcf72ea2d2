/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize.h - the visibility sanitizer: finds programs that use memory too early.
 *
 * stale read		bytes were read that were still on their way although the program
 *			had taken a completion that covers them, and the read did not push
 *			them
 * unordered read	the same without such a completion (ROCIN_SANITIZE=all only)
 * source changed	the buffer of a SEND or WRITE changed before its completion was
 *			taken
 * missing fence	a SEND or WRITE without a fence was posted behind a READ or atomic
 *			that it depends on and that had not completed
 *
 * These reads are checked: those of NICs, drives and rn_gpu_*() calls; plain loads of the
 * CPU from device memory (../gpu/trap.c); plain loads of kernels from device memory if
 * covered bytes are on their way to it; with ROCIN_SANITIZE=all also plain loads from
 * registered host memory.
 *
 * ROCIN_SANITIZE=on|all[,exitcode=N][,log=FILE]: reports go to FILE (%p stands for the
 * process id), or to stderr; a program with findings that would exit with 0 exits with N
 * (66).
 *
 * Threads: everything runs under the host lock unless a comment says otherwise.
 */
#ifndef RN_SANITIZE_H
#define RN_SANITIZE_H

#include "sim/pcie/host/host.h"

enum rn_sanitize_level {
	RN_SANITIZE_OFF,
	RN_SANITIZE_ON,
	RN_SANITIZE_ALL,
};

struct rn_sanitize_options {
	enum rn_sanitize_level level;
	int exit_code; /* 0 .. 255; 0: keep the exit code of the program */
	char log[256]; /* path of the log file; empty: standard error */
};

/* Parses ROCIN_SANITIZE. Returns 0, or -EINVAL with a sentence in @err. Empty text means
 * off.
 */
int rn_sanitize_parse(struct rn_sanitize_options *o, const char *text, char *err,
		      size_t err_len);

/* May be called from any thread, without a lock. */
bool rn_sanitize_is_on(void);

/* Implement rn_host_api.posted and polled. Host lock not held. */
void rn_sanitize_posted(struct rn_host_nic *nic, const struct rn_host_wr *wr);
void rn_sanitize_polled(struct rn_host_nic *nic, const struct rn_host_cqe *cqe);

/* The program has taken the completion of a transfer in which drive @agent wrote to
 * [addr, addr + len). Host lock not held.
 */
void rn_sanitize_stored(struct rn_host *h, unsigned agent, rn_iova addr, uint64_t len);

/* Adds and removes registered host memory, which a NIC may write. Host lock not held. */
void rn_sanitize_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			    uint64_t len);
void rn_sanitize_region_remove(const struct rn_host_nic *nic, uint32_t key);

/* The number of different findings, and of all occurrences. Any thread, no lock. */
struct rn_sanitize_counts {
	_Atomic uint64_t findings, occurrences;
};
extern struct rn_sanitize_counts rn_sanitize_counts;

#endif /* RN_SANITIZE_H */
