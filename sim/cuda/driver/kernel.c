/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel.c - the driver API: modules, functions and launches.
 *
 * Any image is taken for a module, since nothing of it is executed: its functions are the
 * C functions that the program has registered (rocin/cuda.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

/* NOLINTBEGIN(readability-function-size): the parameters are those of the API */

enum {
	BLOCK_MAX = 1024, /* threads of a block */
};

struct CUmod_st {
	struct rn_list link; /* in the context; the first member */
	struct CUctx_st *ctx;
};

struct CUfunc_st {
	struct rn_list link;
	struct CUmod_st *module;
	const struct rn_cu_kernel *kernel;
};

/* Functions outlive their modules, so that a handle that is used too late is recognised.
 */
static struct rn_list functions = { &functions, &functions };

/* ----------------------------------------------------------------- modules */
CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	struct CUctx_st *ctx;
	CUmodule m;
	CUresult rc = rn_cu_lock_context(&ctx);

	if (rc)
		return rc;
	if (!module || !image)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	m = calloc(1, sizeof(*m));
	if (!m)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	m->ctx = ctx;
	rn_list_init(&m->link);
	rn_list_push_back(&ctx->modules, &m->link);
	*module = m;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
			    int *options, void **values)
{
	if (count && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule *module, const char *file)
{
	if (!file)
		return CUDA_ERROR_INVALID_VALUE;
	return access(file, R_OK) ? CUDA_ERROR_FILE_NOT_FOUND
				  : cuModuleLoadData(module, file);
}

static bool is_module(CUmodule module)
{
	struct rn_list *c, *at;

	rn_list_for_each (c, &rn_cu.contexts)
		rn_list_for_each (at, &RN_CONTAINER_OF(c, struct CUctx_st, link)->modules)
			if (RN_CONTAINER_OF(at, struct CUmod_st, link) == module)
				return true;
	return false;
}

CUresult cuModuleUnload(CUmodule module)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!is_module(module))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	rn_list_remove(&module->link);
	free(module);
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
			      const char *name)
{
	CUresult rc = rn_cu_lock();

	(void)ptr;
	(void)bytes;
	if (rc)
		return rc;
	if (!is_module(module))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	return rn_cu_leave(name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE);
}

/* --------------------------------------------------------------- functions */
static bool is_function(CUfunction fn)
{
	struct rn_list *at;

	rn_list_for_each (at, &functions)
		if (RN_CONTAINER_OF(at, struct CUfunc_st, link) == fn)
			return is_module(fn->module);
	return false;
}

static void refuse_kernel(const char *name)
{
	fprintf(stderr,
		"rocin: kernel %s: the stand-in of the CUDA driver executes no code of a "
		"GPU; register a C function under this name by rn_cuda_register_kernel() "
		"(rocin-gpu(7))\n",
		name);
}

CUresult cuModuleGetFunction(CUfunction *fn, CUmodule module, const char *name)
{
	const struct rn_cu_kernel *k;
	CUfunction f;
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	if (!is_module(module))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!fn || !name)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	k = rn_cu_kernel_find(name);
	if (!k) {
		refuse_kernel(name);
		return rn_cu_leave(CUDA_ERROR_NOT_FOUND);
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	f->module = module;
	f->kernel = k;
	rn_list_init(&f->link);
	rn_list_push_back(&functions, &f->link);
	*fn = f;
	return rn_cu_leave(CUDA_SUCCESS);
}

/* Takes the lock, and finds out whether there is such a function. */
static CUresult lock_function(CUfunction fn)
{
	CUresult rc = rn_cu_lock();

	if (rc)
		return rc;
	return is_function(fn) ? CUDA_SUCCESS : rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuFuncGetAttribute(int *value, int attr, CUfunction fn)
{
	enum {
		MAX_THREADS_PER_BLOCK = 0,
		PTX_VERSION = 5,
		BINARY_VERSION = 6,
		ATTRIBUTES = 16,
	};
	CUresult rc = lock_function(fn);

	if (rc)
		return rc;
	if (!value || attr < 0 || attr >= ATTRIBUTES)
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	*value = 0;
	if (attr == MAX_THREADS_PER_BLOCK)
		*value = BLOCK_MAX;
	if (attr == PTX_VERSION || attr == BINARY_VERSION)
		*value = 90;
	return rn_cu_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetAttribute(CUfunction fn, int attr, int value)
{
	CUresult rc = lock_function(fn);

	(void)value;
	if (rc)
		return rc;
	return rn_cu_leave(attr < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult cuFuncSetCacheConfig(CUfunction fn, int config)
{
	return cuFuncSetAttribute(fn, config, 0);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction fn)
{
	CUresult rc = lock_function(fn);

	if (rc)
		return rc;
	if (module)
		*module = fn->module;
	return rn_cu_leave(module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuFuncGetName(const char **name, CUfunction fn)
{
	CUresult rc = lock_function(fn);

	if (rc)
		return rc;
	if (name)
		*name = fn->kernel->name;
	return rn_cu_leave(name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---------------------------------------------------------------- launches */
static CUresult find_buffer(void **extra, const void **bytes, size_t *len)
{
	*bytes = NULL;
	*len = 0;
	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*bytes = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*len = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	return *bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Copies the parameters of a launch: the program may change them when it returns. */
static CUresult copy_params(struct rn_cu_start *s, void **params, void **extra)
{
	const struct rn_cu_kernel *k = s->kernel;
	const void *bytes = NULL;
	size_t len = 0;
	CUresult rc;

	if (!params == !extra && k->count)
		return CUDA_ERROR_INVALID_VALUE;
	s->params = calloc(k->count + 1, sizeof(void *));
	s->bytes = calloc(1, k->bytes + 1);
	if (!s->params || !s->bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (k->count && extra) {
		rc = find_buffer(extra, &bytes, &len);
		if (rc)
			return rc;
		if (len < k->bytes)
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(s->bytes, bytes, k->bytes);
	}
	for (unsigned i = 0; i < k->count; i++) {
		s->params[i] = s->bytes + rn_cu_kernel_offset(k, i);
		if (params && !params[i])
			return CUDA_ERROR_INVALID_VALUE;
		if (params)
			memcpy(s->params[i], params[i], k->sizes[i]);
	}
	s->launch.params = s->params;
	return CUDA_SUCCESS;
}

static bool is_shape(const struct rn_cuda_launch *l)
{
	unsigned long long threads = 1;

	for (unsigned i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > BLOCK_MAX)
			return false;
		threads *= l->block[i];
	}
	return threads <= BLOCK_MAX;
}

static CUresult launch(CUfunction fn, CUstream stream, const struct rn_cuda_launch *shape,
		       void **params, void **extra)
{
	struct rn_cu_work *w;
	struct CUstream_st *s;
	CUresult rc = rn_cu_lock_stream(stream, &s);

	if (rc)
		return rc;
	if (!is_function(fn))
		return rn_cu_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!is_shape(shape))
		return rn_cu_leave(CUDA_ERROR_INVALID_VALUE);
	w = rn_cu_work_new(RN_CU_KERNEL);
	if (!w)
		return rn_cu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	w->start.kernel = fn->kernel;
	w->start.launch = *shape;
	rc = copy_params(&w->start, params, extra);
	if (rc)
		rn_cu_work_free(w);
	else
		rc = rn_cu_submit(s, w, false);
	return rn_cu_leave(rc);
}

CUresult cuLaunchKernel(CUfunction fn, unsigned int grid_x, unsigned int grid_y,
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			unsigned int block_z, unsigned int shared, CUstream stream,
			void **params, void **extra)
{
	const struct rn_cuda_launch shape = { .grid = { grid_x, grid_y, grid_z },
					      .block = { block_x, block_y, block_z },
					      .shared_bytes = shared };

	return launch(fn, stream, &shape, params, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction fn, unsigned int grid_x,
				   unsigned int grid_y, unsigned int grid_z,
				   unsigned int block_x, unsigned int block_y,
				   unsigned int block_z, unsigned int shared,
				   CUstream stream, void **params)
{
	return cuLaunchKernel(fn, grid_x, grid_y, grid_z, block_x, block_y, block_z,
			      shared, stream, params, NULL);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **params,
			  void **extra)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	return cuLaunchKernel(fn, config->gridDimX, config->gridDimY, config->gridDimZ,
			      config->blockDimX, config->blockDimY, config->blockDimZ,
			      config->sharedMemBytes, config->hStream, params, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction fn, void **params,
			       void **extra)
{
	CUlaunchConfig copy;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	copy = *config;
	copy.hStream = rn_cu_ptsz(copy.hStream);
	return cuLaunchKernelEx(&copy, fn, params, extra);
}

/* --------------------------------- calls of streams for one default a thread */
#define DEFINE_SZ(name, params, call) \
	CUresult name##_ptsz params   \
	{                             \
		return name call;     \
	}
RN_CU_STREAM_CALLS(DEFINE_SZ)
/* NOLINTEND(readability-function-size) */
