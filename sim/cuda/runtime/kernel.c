/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel.c - the runtime API: what a compiled program registers, and launches.
 *
 * The compiler of CUDA makes a function of the host for each kernel, and registers its
 * address with the kernel's name. A launch names the function of the host. The name leads
 * to the C function that the program has registered with the driver (rocin/cuda.h).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* NOLINTBEGIN(readability-function-size): the parameters are those of the API */

/* The error of a function that is no kernel, which has changed with the version. */
#if RN_CU_RUNTIME >= 13
#define NO_KERNEL cudaErrorInvalidResourceHandle
#else
#define NO_KERNEL cudaErrorInvalidDeviceFunction
#endif

struct registered {
	struct registered *next;
	const void *host_fn;
	char *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered *all;

/* What <<<...>>> leaves for the function of the host that it calls. */
static __thread struct {
	rn_cu_dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} configuration;

/* NOLINTBEGIN(cert-dcl51-cpp,cert-dcl37-c,bugprone-reserved-identifier): its names */
/* ------------------------------------------------------- calls of the compiler */
void **__cudaRegisterFatBinary(void *image)
{
	static void *handle;

	handle = image;
	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 0;
}

/* Kernels remain registered: an image is never unloaded before the process ends, in
 * practice.
 */
void __cudaRegisterFunction(void **handle, const char *host_fn, char *device_fn,
			    const char *name, int threads, void *tid, void *bid,
			    void *block, void *grid, int *warp)
{
	struct registered *r = calloc(1, sizeof(*r));

	(void)handle;
	(void)device_fn;
	(void)threads;
	(void)tid;
	(void)bid;
	(void)block;
	(void)grid;
	(void)warp;
	if (!r)
		return;
	r->host_fn = host_fn;
	r->name = strdup(name);
	pthread_mutex_lock(&lock);
	r->next = all;
	all = r;
	pthread_mutex_unlock(&lock);
}

/* A variable of a kernel has no memory here: cudaMemcpyToSymbol() is not there. */
void __cudaRegisterVar(void **handle, char *host_var, char *device_address,
		       const char *name, int ext, size_t size, int constant, int global)
{
	(void)handle;
	(void)host_var;
	(void)device_address;
	(void)name;
	(void)ext;
	(void)size;
	(void)constant;
	(void)global;
}

unsigned __cudaPushCallConfiguration(rn_cu_dim3 grid, rn_cu_dim3 block, size_t shared,
				     cudaStream_t stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared = shared;
	configuration.stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(rn_cu_dim3 *grid, rn_cu_dim3 *block,
				       size_t *shared, void *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	*(cudaStream_t *)stream = configuration.stream;
	return cudaSuccess;
}

/* ---------------------------------------------------------------- launches */
static const char *name_of(const void *host_fn)
{
	const char *name = NULL;

	pthread_mutex_lock(&lock);
	for (const struct registered *r = all; r && !name; r = r->next)
		if (r->host_fn == host_fn)
			name = r->name;
	pthread_mutex_unlock(&lock);
	return name;
}

/* Finds the function of the driver. Each context has a module of its own, in which all
 * names are found.
 */
static CUresult find_function(const void *host_fn, CUfunction *fn)
{
	static __thread struct {
		CUcontext ctx;
		unsigned long long id;
		CUmodule module;
	} known;
	const char *name = name_of(host_fn);
	unsigned long long id = 0;
	CUcontext ctx = NULL;
	CUresult rc;

	if (!name)
		return (CUresult)NO_KERNEL;
	rc = cuCtxGetCurrent(&ctx);
	if (!rc)
		rc = cuCtxGetId(ctx, &id);
	if (!rc && (known.ctx != ctx || known.id != id)) {
		rc = cuModuleLoadData(&known.module, "");
		known.ctx = ctx;
		known.id = id;
	}
	if (!rc)
		rc = cuModuleGetFunction(fn, known.module, name);
	/* A kernel without a function was refused with a sentence. */
	return rc == CUDA_ERROR_NOT_FOUND ? (CUresult)cudaErrorInvalidDeviceFunction : rc;
}

static CUresult launch(const void *host_fn, rn_cu_dim3 grid, rn_cu_dim3 block,
		       void **args, size_t shared, cudaStream_t stream)
{
	CUfunction fn = NULL;
	CUresult rc = find_function(host_fn, &fn);

	if (!rc)
		rc = cuLaunchKernel(fn, grid.x, grid.y, grid.z, block.x, block.y, block.z,
				    (unsigned)shared, stream, args, NULL);
	return rc == CUDA_ERROR_INVALID_VALUE ? (CUresult)cudaErrorInvalidConfiguration
					      : rc;
}

cudaError_t cudaLaunchKernel(const void *fn, rn_cu_dim3 grid, rn_cu_dim3 block,
			     void **args, size_t shared, cudaStream_t s)
{
	return RN_CU_RT(launch(fn, grid, block, args, shared, s));
}

cudaError_t cudaLaunchCooperativeKernel(const void *fn, rn_cu_dim3 grid, rn_cu_dim3 block,
					void **args, size_t shared, cudaStream_t s)
{
	return cudaLaunchKernel(fn, grid, block, args, shared, s);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *fn,
				void **args)
{
	if (!config)
		return rn_cu_rt_end(CUDA_ERROR_INVALID_VALUE);
	return cudaLaunchKernel(fn, config->gridDim, config->blockDim, args,
				config->dynamicSmemBytes, config->stream);
}

/* The handle of a kernel is the address of its function of the host. */
cudaError_t __cudaGetKernel(const void **kernel, const void *fn)
{
	*kernel = fn;
	return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(const void *kernel, rn_cu_dim3 grid, rn_cu_dim3 block,
			       void **args, size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(const void *kernel, rn_cu_dim3 grid, rn_cu_dim3 block,
				    void **args, size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel(kernel, grid, block, args, shared, rn_cu_rt_ptsz(stream));
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attrs, const void *fn)
{
	CUfunction function = NULL;
	cudaError_t error;

	if (!attrs)
		return rn_cu_rt_end(CUDA_ERROR_INVALID_VALUE);
	memset(attrs, 0, sizeof(*attrs));
	error = RN_CU_RT(find_function(fn, &function));
	if (error)
		return error;
	attrs->ptxVersion = attrs->binaryVersion = 90;
	return rn_cu_rt_end(cuFuncGetAttribute(&attrs->maxThreadsPerBlock, 0, function));
}

cudaError_t cudaFuncSetAttribute(const void *fn, int attr, int value)
{
	(void)attr;
	(void)value;
	return name_of(fn) ? cudaSuccess : rn_cu_rt_end((CUresult)NO_KERNEL);
}

/* ------------------------------------- calls for one default stream a thread */
#define DEFINE_SZ(name, params, call)  \
	cudaError_t name##_ptsz params \
	{                              \
		return name call;      \
	}
RN_CU_RT_ASYNC(DEFINE_SZ)
/* NOLINTEND(cert-dcl51-cpp,cert-dcl37-c,bugprone-reserved-identifier) */
/* NOLINTEND(readability-function-size) */
