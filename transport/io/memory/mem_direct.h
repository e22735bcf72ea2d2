/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_direct.h - memory operations on the memory of this process, with
 * nothing in between.
 *
 * An address is a virtual address of the process. Writes become visible at once, in
 * address order, the last aligned word with release semantics; atomics are those of the
 * CPU. Memory that is not there any more, or cannot be written, answers FAULT
 * (mem_guard.h). If no signal handler can be installed, copies go through
 * process_vm_readv() and process_vm_writev(), which are slower and not atomic.
 *
 * Threads: any.
 */
#ifndef RN_MEM_DIRECT_H
#define RN_MEM_DIRECT_H

#include "rocin/mem.h"

/* The context argument is not used: NULL. */
extern const struct rn_mem_ops rn_mem_direct_ops;

/* Install the fault handler, see rn_guard_install(). If that fails, the slow
 * functions are used.
 */
int rn_mem_direct_init(void);

#endif /* RN_MEM_DIRECT_H */
