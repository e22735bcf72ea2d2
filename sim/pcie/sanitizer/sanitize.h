/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sanitize.h - the visibility sanitizer: finds programs that use memory too early.
 *
 *	stale read	bytes were read that were still on their way although a program
 *			had taken a completion that covers them, and the read did not push
 *			them
 *	unordered read	the same with no completion (ROCIN_SANITIZE=all only)
 *	source changed	the buffer of a SEND or WRITE changed before its completion was
 *			taken
 *	missing fence	a SEND or WRITE without fence behind a READ or atomic that it
 *			depends on and that had not completed
 *
 * Reads that are seen: those of NICs, drives and rn_gpu_*() calls, plain loads of the CPU
 * from device memory (../gpu/trap.c) and of kernels from device memory with covered bytes
 * on their way; with ROCIN_SANITIZE=all plain loads from registered host memory, too.
 *
 * ROCIN_SANITIZE=on|all[,exitcode=N][,log=FILE]: what is found goes to FILE (%p: the
 * process id), else to stderr; a program that would end with 0 ends with N (66).
 *
 * Threads: everything under the host lock unless it says otherwise.
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
	int exit_code; /* 0 .. 255; 0: leave the program's */
	char log[256]; /* path; empty: stderr */
};

/* 0; -EINVAL with one sentence in @err. Empty text: off. */
int rn_sanitize_parse(struct rn_sanitize_options *o, const char *text, char *err,
		      size_t err_len);

/* Any thread, no lock. */
bool rn_sanitize_is_on(void);

/* rn_host_api.posted and polled. Host lock not held. */
void rn_sanitize_posted(struct rn_host_nic *nic, const struct rn_host_wr *wr);
void rn_sanitize_polled(struct rn_host_nic *nic, const struct rn_host_cqe *cqe);

/* The completion of what drive @agent wrote to [addr, addr + len) has been taken. Host
 * lock not held.
 */
void rn_sanitize_stored(struct rn_host *h, unsigned agent, rn_iova addr, uint64_t len);

/* Host memory that a NIC or peer may write. Host lock not held. */
void rn_sanitize_region_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
			    uint64_t len);
void rn_sanitize_region_remove(const struct rn_host_nic *nic, uint32_t key);

/* Findings so far: different ones, and all. Any thread, no lock. */
struct rn_sanitize_counts {
	_Atomic uint64_t findings, occurrences;
};
extern struct rn_sanitize_counts rn_sanitize_counts;

#endif /* RN_SANITIZE_H */
