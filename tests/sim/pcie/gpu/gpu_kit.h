/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_kit.h - a NIC that is nothing but TLPs, and one process per set of knobs. */
#ifndef GPU_KIT_H
#define GPU_KIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/pcie/gpu/gpu_internal.h"

/* Nothing moves unless a rule or the test moves it. */
#define GPU_KIT_HELD ",driver=adversarial,hold=inf,hold.polls=inf"

/* Runs tests in a child with ROCIN_PCIE=@knobs; returns how many groups failed, 0 or 1.
 */
static inline int gpu_kit_run(const char *knobs, const struct CMUnitTest *tests,
			      size_t count)
{
	int status = 0;
	pid_t pid = fork();

	assert(pid >= 0);
	if (pid == 0) {
		setenv("ROCIN_PCIE", knobs, 1);
		print_message("knobs: %s\n", knobs);
		exit(_cmocka_run_group_tests(knobs, tests, count, NULL, NULL) != 0);
	}
	assert(waitpid(pid, &status, 0) == pid);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* A posted write of 8 bytes by NIC @nic. */
static inline void gpu_kit_nic_write(unsigned nic, void *addr, uint64_t value,
				     unsigned flags)
{
	struct rn_host *h = rn_host_get();
	const struct rn_host_region *r;
	struct rn_tlp tlp = {
		.kind = RN_TLP_WRITE,
		.flags = (uint8_t)flags,
		.requester = (uint8_t)(RN_AGENT_NIC + nic),
		.addr = (uintptr_t)addr,
		.len = sizeof(value),
	};
	int index;

	if (rn_host_is_off(h)) { /* as rn_mem_direct_ops do */
		__atomic_store_n((uint64_t *)addr, value, __ATOMIC_RELEASE);
		return;
	}
	rn_host_lock(h);
	r = rn_host_region_of(h, tlp.addr);
	tlp.target = (uint8_t)(r ? r->target : RN_AGENT_CPU);
	index = rn_host_issue(h, &tlp, &value, NULL, NULL);
	assert(index >= 0);
	if (flags & RN_TLP_CQE && index != RN_TLP_NONE)
		rn_host_force(h, (unsigned)index);
	rn_host_unlock(h);
}

/* A message of one word and its completion, which the program has seen. */
static inline void gpu_kit_receive(unsigned nic, void *addr, uint64_t value)
{
	static uint64_t cqe;

	gpu_kit_nic_write(nic, addr, value, RN_TLP_DATA);
	gpu_kit_nic_write(nic, &cqe, 1, RN_TLP_CQE);
	assert_int_equal(__atomic_load_n(&cqe, __ATOMIC_ACQUIRE), 1);
}

static inline void gpu_kit_land_all(void)
{
	struct rn_host *h = rn_host_get();

	if (rn_host_is_off(h))
		return;
	rn_host_lock(h);
	rn_host_force_all(h);
	rn_host_unlock(h);
}

static inline struct rn_gpu_buffer gpu_kit_alloc(int number, size_t bytes)
{
	struct rn_gpu_buffer b;

	assert_int_equal(rn_gpu_alloc(rn_gpu_open(number), bytes, 0, &b), 0);
	return b;
}

#endif /* GPU_KIT_H */
