/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_lib.h - librocin-gpu.so as rocin-litmus uses it: by dlopen(), so that the program
 * also runs where there is none.
 */
#ifndef RN_LIVE_LIB_H
#define RN_LIVE_LIB_H

#include "rocin/gpu.h"
#include "rocin/pcie.h"
#include "rocin/storage.h"

/* X(function): must be there. */
#define RN_LIVE_LIB_FUNCTIONS(X)        \
	X(rn_pcie_set_knobs)            \
	X(rn_pcie_seed)                 \
	X(rn_pcie_drain)                \
	X(rn_pcie_trace_start)          \
	X(rn_pcie_trace_read)           \
	X(rn_pcie_queue_name)           \
	X(rn_pcie_agent_name)           \
	X(rn_gpu_last_error)            \
	X(rn_gpu_count)                 \
	X(rn_gpu_open)                  \
	X(rn_gpu_alloc)                 \
	X(rn_gpu_free)                  \
	X(rn_gpu_launch)                \
	X(rn_gpu_wait_kernel)           \
	X(rn_gpu_become)                \
	X(rn_gpu_load)                  \
	X(rn_gpu_store)                 \
	X(rn_gpu_bar_load)              \
	X(rn_gpu_bar_store)             \
	X(rn_storage_driver_open)       \
	X(rn_storage_driver_close)      \
	X(rn_storage_set_policy)        \
	X(rn_storage_last_error)        \
	X(rn_storage_settle)            \
	X(rn_storage_handle_register)   \
	X(rn_storage_handle_deregister) \
	X(rn_storage_buffer_register)   \
	X(rn_storage_buffer_deregister) \
	X(rn_storage_batch_setup)       \
	X(rn_storage_batch_submit)      \
	X(rn_storage_batch_status)      \
	X(rn_storage_batch_destroy)

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name
#define RN_LIVE_LIB_MEMBER(f) __typeof__(&f) f;

struct rn_live_lib {
	void *handle; /* NULL: there is none */
	RN_LIVE_LIB_FUNCTIONS(RN_LIVE_LIB_MEMBER)
};

/* Load it from the folder of this program. Return: 0, also if there is none; -1 with a
 * sentence if it lacks a function.
 */
int rn_live_lib_open(struct rn_live_lib *lib, char *err, size_t err_len);

#endif /* RN_LIVE_LIB_H */
