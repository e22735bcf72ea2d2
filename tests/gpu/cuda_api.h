/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_api.h - what the programs of this folder call of the public CUDA driver API, in
 * declarations of their own. Source: CUDA Driver API, reference manual.
 *
 * A program finds the functions at run time, so that the same binary runs on a machine
 * with a GPU, with the double of tests/gpu/double, and without either (then it says that
 * it is skipped).
 */
#ifndef RN_TEST_CUDA_API_H
#define RN_TEST_CUDA_API_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_LIBRARY "libcuda.so.1"

typedef uint64_t cu_ptr;

/* CUdevice_attribute, CUpointer_attribute, CUmemRangeHandleType */
enum {
	CU_DEVICE_DMA_BUF_SUPPORTED = 124,
	CU_POINTER_SYNC_MEMOPS = 6,
	CU_RANGE_DMA_BUF_FD = 1,
};

struct cuda_api {
	int (*init)(unsigned flags);
	int (*device_count)(int *count);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int len, int device);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*primary_retain)(void **ctx, int device);
	int (*primary_reset)(int device);
	int (*ctx_create)(void **ctx, unsigned flags, int device);
	int (*ctx_destroy)(void *ctx);
	int (*ctx_set)(void *ctx);
	int (*alloc)(cu_ptr *ptr, size_t len);
	int (*free)(cu_ptr ptr);
	int (*to_device)(cu_ptr dst, const void *src, size_t len);
	int (*to_host)(void *dst, cu_ptr src, size_t len);
	int (*ctx_synchronize)(void);
	int (*get_attribute)(void *value, int attribute, cu_ptr ptr);
	/* NULL if the driver is older than 11.7 */
	int (*export_range)(void *handle, cu_ptr ptr, size_t len, int type,
			    unsigned long long flags);
};

static inline void *cuda_symbol(void *lib, const char *name)
{
	void *symbol = dlsym(lib, name);

	if (!symbol && strcmp(name, "cuMemGetHandleForAddressRange") != 0) {
		fprintf(stderr, "%s has no %s\n", CUDA_LIBRARY, name);
		exit(1);
	}
	return symbol;
}

/* Loads the library and initialises it. Returns 0 if there is no GPU. */
static inline int cuda_open(struct cuda_api *cu)
{
	static const struct {
		const char *name;
		size_t at;
	} symbols[] = {
#define SYMBOL(name, member) { name, offsetof(struct cuda_api, member) }
		SYMBOL("cuInit", init),
		SYMBOL("cuDeviceGetCount", device_count),
		SYMBOL("cuDeviceGet", device_get),
		SYMBOL("cuDeviceGetName", device_name),
		SYMBOL("cuDeviceGetAttribute", device_attribute),
		SYMBOL("cuDevicePrimaryCtxRetain", primary_retain),
		SYMBOL("cuDevicePrimaryCtxReset_v2", primary_reset),
		SYMBOL("cuCtxCreate_v2", ctx_create),
		SYMBOL("cuCtxDestroy_v2", ctx_destroy),
		SYMBOL("cuCtxSetCurrent", ctx_set),
		SYMBOL("cuMemAlloc_v2", alloc),
		SYMBOL("cuMemFree_v2", free),
		SYMBOL("cuMemcpyHtoD_v2", to_device),
		SYMBOL("cuMemcpyDtoH_v2", to_host),
		SYMBOL("cuCtxSynchronize", ctx_synchronize),
		SYMBOL("cuPointerGetAttribute", get_attribute),
		SYMBOL("cuMemGetHandleForAddressRange", export_range),
#undef SYMBOL
	};
	void *lib = dlopen(CUDA_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
	int count = 0;

	if (!lib)
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = cuda_symbol(lib, symbols[i].name);

		memcpy((char *)cu + symbols[i].at, &symbol, sizeof(symbol));
	}
	return !cu->init(0) && !cu->device_count(&count) ? count : 0;
}

#endif /* RN_TEST_CUDA_API_H */
