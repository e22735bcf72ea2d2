/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* declared.h - ordinary memory that plays device memory because a rule says so.
 *
 * What a program registers and a rule (declare.h) matches belongs to a GPU from then on:
 * NICs reach it the GPU's way. Its whole pages are replaced by a mapping of a memfd with
 * the same contents, so that the hierarchy has a mapping of its own and the program's can
 * be closed (trap.h). Where that cannot be (shared memory, files, the stack, parts of
 * pages) the memory is the GPU's all the same, but plain loads of the CPU push nothing;
 * the log says so once.
 *
 * Replaced memory is shared with children of fork() from then on.
 */
#ifndef RN_DECLARED_H
#define RN_DECLARED_H

#include <stdatomic.h>

#include "gpu_memory.h"

/* A piece of it; registrations that overlap share pieces. Never freed, since handlers of
 * SIGSEGV walk the list without a lock.
 */
struct rn_declared {
	struct rn_declared *next;	 /* of all; set before it is published */
	struct rn_declared *next_of_gpu; /* rn_trap_space.declared */
	struct rn_gpu *gpu;		 /* does not change */
	uintptr_t lo, hi;		 /* do not change */
	_Atomic bool is_active;		 /* registered */
	unsigned users;			 /* registrations; host lock */
	struct rn_host_region region;
	char *engine; /* another mapping of the same pages; NULL: not replaced, or gone */
	ino_t inode;  /* of the memfd */
};

/* As rn_gpu_region_add(), for memory that is no allocation. */
int rn_declared_add(const struct rn_host_nic *nic, uint32_t key, rn_iova addr,
		    uint64_t len, uint32_t access);
void rn_declared_remove(const struct rn_host_nic *nic, uint32_t key);

/* As rn_gpu_find(). */
int rn_declared_find(uintptr_t addr, struct rn_gpu_where *out);

/* The GPU whose replaced page lies at @addr; NULL: none. Any thread, also in a handler of
 * SIGSEGV: no lock needed.
 */
struct rn_gpu *rn_declared_of(uintptr_t addr);

/* -------------------------------------------------------------- declared_pages.c */
/* Replace the pages of @d by a memfd's, with their contents; sets engine and inode.
 * Host lock held, @d active already: who stores meanwhile waits in the handler.
 * Return: 0; -ENOTSUP: not private anonymous memory; -ENOMEM.
 */
int rn_declared_replace(struct rn_declared *d);

/* Are the pages that rn_declared_replace() put there still in place? */
bool rn_declared_is_in_place(const struct rn_declared *d);

#endif /* RN_DECLARED_H */
