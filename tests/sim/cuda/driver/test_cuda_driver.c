/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cuda_driver.c - devices, contexts, calls by name, kernels. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_kit.h"

static void test_before_init(void **state)
{
	CUcontext ctx;
	int n = 0;

	(void)state;
	setenv("ROCIN_GPUS", "2", 1);
	FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	FAILS(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&ctx));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	OK(cuDriverGetVersion(&n));
	assert_true(n >= 12000);
}

static void test_devices(void **state)
{
	CUuuid uuid[2];
	CUdevice device;
	char text[64];
	size_t bytes;
	int n;

	(void)state;
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 2);
	OK(cuDeviceGet(&device, 1));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(NULL, 0));
	OK(cuDeviceGetName(text, sizeof(text), 1));
	assert_string_equal(text, "Rocin simulated GPU");
	OK(cuDeviceGetName(text, 6, 1));
	assert_string_equal(text, "Rocin");
	OK(cuDeviceTotalMem_v2(&bytes, 0));
	assert_true(bytes > 1 << 30);
	OK(cuDeviceGetUuid_v2(&uuid[0], 0));
	OK(cuDeviceGetUuid(&uuid[1], 1));
	assert_memory_not_equal(&uuid[0], &uuid[1], sizeof(uuid[0]));
	OK(cuDeviceGetPCIBusId(text, sizeof(text), 1));
	assert_string_equal(text, "0000:42:00.0");
	OK(cuDeviceGetByPCIBusId(&device, text));
	assert_int_equal(device, 1);
	OK(cuDeviceGetByPCIBusId(&device, "41:00"));
	assert_int_equal(device, 0);
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:43:00.0"));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "gpu"));
	OK(cuDeviceCanAccessPeer(&n, 0, 1));
	assert_int_equal(n, 1);
}

static int attribute(CUdevice_attribute attr)
{
	int value = -7;

	OK(cuDeviceGetAttribute(&value, attr, 0));
	return value;
}

static void test_attributes(void **state)
{
	int value;

	(void)state;
	assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED), 1);
	assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED), 1);
	assert_int_equal(
		attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS), 3);
	assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING),
			 100);
	assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
	assert_int_equal(
		attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0);
	assert_int_equal(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), 0x41);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, 4711, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(NULL, 1, 0));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, 1, 9));
}

static void test_contexts(void **state)
{
	CUcontext mine = *state, other, now, primary;
	unsigned flags;
	CUdevice device;
	int active;

	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, mine);
	OK(cuCtxCreate_v2(&other, CU_CTX_SYNC_MEMOPS, 1));
	OK(cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	OK(cuCtxGetFlags(&flags));
	assert_int_equal(flags, CU_CTX_SYNC_MEMOPS);
	OK(cuCtxPopCurrent_v2(&now));
	assert_ptr_equal(now, other);
	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, mine);
	OK(cuCtxPushCurrent_v2(other));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxGetCurrent(&now));
	assert_ptr_equal(now, mine);
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(other));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(other));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)&active));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2(&other, 0, 5));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&other, 0x1000, 0));

	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 0);
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuDevicePrimaryCtxRetain(&now, 0));
	assert_ptr_equal(primary, now);
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(primary));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
}

/* A context that another thread has destroyed is no context of this one any more. */
static void test_destroyed_while_current(void **state)
{
	CUcontext ctx;
	CUdeviceptr ptr;

	(void)state;
	OK(cuDevicePrimaryCtxRetain(&ctx, 1));
	OK(cuCtxPushCurrent_v2(ctx));
	OK(cuDevicePrimaryCtxRelease_v2(1));
	FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&ptr, 100));
	OK(cuCtxPopCurrent_v2(NULL));
}

static void test_no_context(void **state)
{
	CUcontext mine;
	CUdeviceptr ptr;

	(void)state;
	OK(cuCtxPopCurrent_v2(&mine));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&ptr, 100));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(NULL));
	OK(cuCtxPushCurrent_v2(mine));
}

static void test_peers(void **state)
{
	CUcontext mine = *state, other;

	OK(cuCtxCreate_v2(&other, 0, 1));
	OK(cuCtxEnablePeerAccess(mine, 0));
	FAILS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(mine, 0));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(other, 0));
	OK(cuCtxDisablePeerAccess(mine));
	FAILS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(mine));
	OK(cuCtxDestroy_v2(other));
}

static void test_calls_by_name(void **state)
{
	CUdriverProcAddressQueryResult why;
	void *fn;

	(void)state;
	OK(cuGetProcAddress_v2("cuMemAlloc", &fn, 12000, 0, &why));
	assert_true(fn == (void *)cuMemAlloc_v2);
	assert_int_equal(why, CU_GET_PROC_ADDRESS_SUCCESS);
	OK(cuGetProcAddress("cuStreamSynchronize", &fn, 12000,
			    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	assert_true(fn == (void *)cuStreamSynchronize_ptsz);
	OK(cuGetProcAddress("cuCtxCreate", &fn, 11000, 0));
	assert_true(fn == (void *)cuCtxCreate_v2);
	OK(cuGetProcAddress("cuCtxCreate", &fn, 13000, 0));
	assert_true(fn == (void *)cuCtxCreate_v4);
	FAILS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuMemMap", &fn, 12000, 0, &why));
	assert_int_equal(why, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(fn);
	FAILS(CUDA_ERROR_NOT_FOUND,
	      cuGetProcAddress_v2("cuMemAllocAsync", &fn, 11000, 0, &why));
	assert_int_equal(why, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress(NULL, &fn, 12000, 0));
}

static void test_error_names(void **state)
{
	const char *text;

	(void)state;
	OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	assert_string_equal(text, "CUDA_ERROR_OUT_OF_MEMORY");
	OK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
	assert_string_equal(text, "invalid argument");
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
	assert_null(text);
}

/* ----------------------------------------------------------------- kernels */
static void scale(const struct rn_cuda_launch *l)
{
	CUdeviceptr at = *(CUdeviceptr *)l->params[0];
	uint32_t factor = *(uint8_t *)l->params[1];

	for (unsigned i = 0; i < l->grid[0] * l->block[0]; i++) {
		uint32_t *word = (uint32_t *)(uintptr_t)at + i;

		rn_gpu_store(word, factor * rn_gpu_load(word, 4), 4);
	}
}

static void touch_nothing(const struct rn_cuda_launch *l)
{
	rn_gpu_store(*(uint32_t **)l->params[0], 1, 4);
}

static void test_kernel(void **state)
{
	static const size_t sizes[] = { 8, 1 };
	struct {
		CUdeviceptr at;
		uint8_t factor;
	} packed = { .factor = 5 };
	size_t len = sizeof(packed);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &len, CU_LAUNCH_PARAM_END };
	CUmodule module;
	CUfunction fn;
	CUdeviceptr ptr;
	uint32_t words[8];
	uint8_t factor = 3;
	void *params[] = { &ptr, &factor };

	(void)state;
	assert_int_equal(rn_cuda_register_kernel("scale", scale, sizes, 2), 0);
	OK(cuModuleLoadData(&module, "any image"));
	OK(cuModuleGetFunction(&fn, module, "scale"));
	OK(cuMemAlloc_v2(&ptr, sizeof(words)));
	OK(cuMemsetD32_v2(ptr, 7, 8));
	OK(cuLaunchKernel(fn, 2, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
	packed.at = ptr;
	OK(cuLaunchKernel(fn, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, extra));
	factor = 9; /* the first launch has its own copy */
	OK(cuMemcpyDtoH_v2(words, ptr, sizeof(words)));
	assert_int_equal(words[0], 105);
	assert_int_equal(words[7], 21);
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fn, 0, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fn, 1, 1, 1, 512, 4, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fn, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, NULL));
	len = 3;
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fn, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, extra));
	FAILS(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel((CUfunction)&len, 1, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
	OK(cuModuleUnload(module));
	FAILS(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel(fn, 1, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
}

static void test_unknown_kernel(void **state)
{
	CUmodule module;
	CUfunction fn;

	(void)state;
	OK(cuModuleLoadData(&module, "any image"));
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&fn, module, "not_there"));
	FAILS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/no/such/file.cubin"));
	assert_int_equal(rn_cuda_register_kernel("", scale, NULL, 0), -EINVAL);
	assert_int_equal(rn_cuda_register_kernel("x", scale, NULL, 1), -EINVAL);
	assert_int_equal(rn_cuda_register_kernel("x", scale, (const size_t[]){ 4097 }, 1),
			 -EINVAL);
	assert_int_equal(rn_cuda_register_kernel("x", scale, NULL, 0), 0);
	OK(cuModuleGetFunction(&fn, module, "x"));
	assert_int_equal(rn_cuda_register_kernel("x", NULL, NULL, 0), 0);
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&fn, module, "x"));
}

/* A kernel that fails makes the context useless, and no other one. */
static void test_failed_kernel(void **state)
{
	static const size_t size = 8;
	CUmodule module;
	CUfunction fn;
	CUdeviceptr ptr;
	void *nowhere = NULL, *params[] = { &nowhere };
	CUcontext ctx;

	(void)state;
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	assert_int_equal(rn_cuda_register_kernel("touch", touch_nothing, &size, 1), 0);
	OK(cuModuleLoadData(&module, "any image"));
	OK(cuModuleGetFunction(&fn, module, "touch"));
	OK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&ptr, 100));
	OK(cuCtxDestroy_v2(ctx));
	OK(cuMemAlloc_v2(&ptr, 100));
}

static void test_in_a_forked_child(void **state)
{
	int status, n;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(cuDeviceGetCount(&n) != CUDA_ERROR_NOT_INITIALIZED ||
		      cuInit(0) != CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_init),
		CUDA_KIT_TEST(test_devices),
		CUDA_KIT_TEST(test_attributes),
		CUDA_KIT_TEST(test_contexts),
		CUDA_KIT_TEST(test_destroyed_while_current),
		CUDA_KIT_TEST(test_no_context),
		CUDA_KIT_TEST(test_peers),
		CUDA_KIT_TEST(test_calls_by_name),
		CUDA_KIT_TEST(test_error_names),
		CUDA_KIT_TEST(test_kernel),
		CUDA_KIT_TEST(test_unknown_kernel),
		CUDA_KIT_TEST(test_failed_kernel),
		CUDA_KIT_TEST(test_in_a_forked_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
