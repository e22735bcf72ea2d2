/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda.h - kernels for programs that run on the stand-in of the CUDA driver.
 *
 * `rocin run --gpu=N` puts a libcuda.so.1 into the library path of a program that moves
 * data as the real one does, on simulated GPUs, but executes no machine code of a GPU. A
 * program that launches kernels registers a C function under the name of each one. The
 * call is in the stand-in only, so it is found by name:
 *
 *	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
 *	rn_cuda_register_kernel_fn *add = dlsym(lib, "rn_cuda_register_kernel");
 *
 *	if (add)
 *		add("scale", scale, (const size_t[]){ 8, 4 }, 2);
 *
 * On a real driver dlsym() returns NULL, and the kernel of the module runs.
 */
#ifndef RN_CUDA_H
#define RN_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One launch of a kernel. */
struct rn_cuda_launch {
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	/* Addresses of the parameters' values, as many as were registered; valid until
	 * the function returns.
	 */
	void *const *params;
};

/* Function that stands for a kernel. It is called once for each launch, in a thread of
 * its own, and does the work of all blocks and threads. A device pointer among its
 * parameters is the address that cuMemAlloc() returned: the function accesses it with
 * rn_gpu_load() and rn_gpu_store() of <rocin/gpu.h>, or directly at the address that
 * rn_gpu_find() has in buffer.dev. An access to memory that is not allocated ends the
 * kernel with CUDA_ERROR_ILLEGAL_ADDRESS.
 */
typedef void rn_cuda_kernel_fn(const struct rn_cuda_launch *launch);

/**
 * rn_cuda_register_kernel() - Give a kernel's name to a C function
 * @name:	As in cuModuleGetFunction(), or the mangled name of a C++ kernel; copied
 * @fn:		NULL: forget the name. A kernel that was found by it already stays
 * @sizes:	Bytes of each parameter, in order; copied. At most 4096 in all
 * @count:	Number of parameters, 0 .. 256
 *
 * A second registration of a name replaces the first. May be called before cuInit().
 *
 * Return: 0; -EINVAL; -ENOMEM. Threads: any.
 */
typedef int rn_cuda_register_kernel_fn(const char *name, rn_cuda_kernel_fn *fn,
				       const size_t *sizes, unsigned count);
__attribute__((visibility("default"))) rn_cuda_register_kernel_fn rn_cuda_register_kernel;

#ifdef __cplusplus
}
#endif

#endif /* RN_CUDA_H */
