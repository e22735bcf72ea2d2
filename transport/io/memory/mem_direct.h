/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mem_direct.h - memory operations (struct rn_mem_ops) by plain loads and stores in the
 * memory of this process.
 *
 * An address is a virtual address of the process. Writes become visible at once, in
 * address order, the last aligned word with release semantics; atomics are those of the
 * CPU. An access to memory that is not mapped any more, or may not be accessed in this
 * way, returns RN_MEM_FAULT (mem_guard.h). If no signal handler can be installed, copies
 * go through process_vm_readv() and process_vm_writev(), which are slower and not atomic.
 *
 * Threads: any.
 */
#ifndef RN_MEM_DIRECT_H
#define RN_MEM_DIRECT_H

#include "rocin/mem.h"

/* The operations. Their context argument is not used and may be NULL. */
extern const struct rn_mem_ops rn_mem_direct_ops;

/* Install the fault handler. Return: that of rn_guard_install(). If it has failed, the
 * operations copy by system calls.
 */
int rn_mem_direct_init(void);

#endif /* RN_MEM_DIRECT_H */
