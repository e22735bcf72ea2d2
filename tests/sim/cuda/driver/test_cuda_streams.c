/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cuda_streams.c - work in the order of streams: events, host functions, waits for
 * values. A host function that waits for a flag of the test holds a stream where it is.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "cuda_kit.h"

struct gate {
	_Atomic bool is_open, is_entered;
};

static void wait_at_gate(void *arg)
{
	struct gate *g = arg;

	g->is_entered = true;
	while (!g->is_open)
		;
}

static void note(void *arg)
{
	*(_Atomic bool *)arg = true;
}

static void test_order_and_query(void **state)
{
	struct gate gate = { 0 };
	uint8_t *host, back[64];
	CUdeviceptr ptr;
	CUstream stream;

	(void)state;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&ptr, 64));
	OK(cuMemAllocHost_v2((void **)&host, 64));
	memset(host, 5, 64);
	OK(cuLaunchHostFunc(stream, wait_at_gate, &gate));
	OK(cuMemcpyHtoDAsync_v2(ptr, host, 64, stream));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
	/* The legacy stream does not wait for this one. */
	OK(cuMemcpyDtoH_v2(back, ptr, 64));
	assert_int_equal(back[0], 0);
	gate.is_open = true;
	OK(cuStreamSynchronize(stream));
	OK(cuStreamQuery(stream));
	OK(cuMemcpyDtoH_v2(back, ptr, 64));
	assert_memory_equal(back, host, 64);
	OK(cuStreamDestroy_v2(stream));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(stream));
	OK(cuMemFreeHost(host));
	OK(cuMemFree_v2(ptr));
}

static void test_events(void **state)
{
	struct gate gate = { 0 };
	_Atomic bool has_run = false;
	CUevent event, later;
	CUstream a, b;
	float ms = -1;

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, 0));
	OK(cuEventCreate(&later, 0));
	OK(cuEventQuery(event)); /* never recorded */
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, later));
	OK(cuLaunchHostFunc(a, wait_at_gate, &gate));
	OK(cuEventRecord(event, a));
	OK(cuStreamWaitEvent(b, event, 0));
	OK(cuLaunchHostFunc(b, note, &has_run));
	OK(cuEventRecord(later, b));
	FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	FAILS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, event, later));
	/* What an event stood for when it was waited for counts. */
	OK(cuEventDestroy_v2(event));
	assert_false(has_run);
	gate.is_open = true;
	OK(cuEventSynchronize(later));
	assert_true(has_run);
	OK(cuEventElapsedTime(&ms, later, later));
	assert_true(ms == 0);
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, a));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(NULL));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(a, (CUevent)&ms, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, 4));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuEventRecord(event, NULL));
	OK(cuEventSynchronize(event));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, event, later));
	OK(cuEventDestroy_v2(event));
	OK(cuEventDestroy_v2(later));
}

/* The default stream and blocking streams order each other. */
static void test_default_stream(void **state)
{
	struct gate gate = { 0 };
	_Atomic bool has_run = false, of_thread = false;
	CUstream blocking;

	(void)state;
	OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(cuLaunchHostFunc(blocking, wait_at_gate, &gate));
	OK(cuLaunchHostFunc(NULL, note, &has_run));
	OK(cuLaunchHostFunc_ptsz(NULL, note, &of_thread));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_LEGACY));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
	assert_false(has_run || of_thread);
	gate.is_open = true;
	OK(cuStreamSynchronize(NULL));
	assert_true(has_run);
	OK(cuStreamSynchronize_ptsz(NULL));
	assert_true(of_thread);
	OK(cuStreamDestroy_v2(blocking));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(NULL));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(CU_STREAM_PER_THREAD));
}

/* A stream that is destroyed does its work first. */
static void test_destroy_with_work(void **state)
{
	_Atomic bool has_run = false;
	struct gate gate = { 0 };
	CUstream stream;

	(void)state;
	OK(cuStreamCreate(&stream, 0));
	OK(cuLaunchHostFunc(stream, wait_at_gate, &gate));
	OK(cuLaunchHostFunc(stream, note, &has_run));
	OK(cuStreamDestroy_v2(stream));
	gate.is_open = true;
	OK(cuCtxSynchronize());
	assert_true(has_run);
}

static void called_back(CUstream stream, CUresult status, void *arg)
{
	*(CUresult *)arg = status;
	(void)stream;
}

static void test_properties(void **state)
{
	CUcontext ctx;
	CUdevice device;
	CUstream s;
	unsigned flags;
	unsigned long long id, other;
	int least, greatest, priority, capturing = 7;
	CUresult status = CUDA_ERROR_UNKNOWN;

	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest - 10));
	OK(cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, greatest);
	OK(cuStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetCtx(s, &ctx));
	assert_ptr_equal(ctx, *state);
	OK(cuStreamGetDevice(s, &device));
	assert_int_equal(device, 0);
	OK(cuStreamGetId(s, &id));
	OK(cuStreamGetId(NULL, &other));
	assert_true(id != other);
	OK(cuStreamIsCapturing(s, &capturing));
	assert_int_equal(capturing, 0);
	OK(cuStreamAddCallback(s, called_back, &status, 0));
	OK(cuStreamSynchronize(s));
	OK(status);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(s, NULL, NULL, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(s, NULL, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&s, 2));
}

/* ------------------------------------------------ stream memory operations */
static void test_wait_for_values(void **state)
{
	_Atomic uint64_t *flag;
	CUdeviceptr at;
	CUstream s;
	uint32_t back = 0;
	CUstreamBatchMemOpParams batch[3] = {
		{ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
				  .value = 77 } },
		{ .flushRemoteWrites = { .operation =
						 CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES } },
		{ .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
				  .value64 = UINT64_C(1) << 40 } },
	};

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemHostAlloc((void **)&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer_v2(&at, (void *)flag, 0));
	OK(cuStreamWaitValue32_v2(s, at, 5, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuStreamWriteValue32_v2(s, at + 8, 1, 0));
	assert_int_equal(flag[1], 0);
	*flag = 4;
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	*flag = 6;
	OK(cuStreamSynchronize(s));
	assert_int_equal(flag[1], 1);

	OK(cuStreamWaitValue64_v2(s, at, UINT64_C(1) << 40,
				  CU_STREAM_WAIT_VALUE_AND | CU_STREAM_WAIT_VALUE_FLUSH));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	*flag = UINT64_C(3) << 40;
	OK(cuStreamSynchronize(s));
	OK(cuStreamWaitValue32_v2(s, at, 0, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamWaitValue32_v2(s, at, 0xfffffffe, CU_STREAM_WAIT_VALUE_NOR));
	OK(cuStreamSynchronize(s));

	batch[0].writeValue.address = at + 16;
	batch[2].writeValue.address = at + 24;
	OK(cuStreamBatchMemOp_v2(s, 3, batch, 0));
	OK(cuStreamSynchronize(s));
	assert_int_equal(flag[2], 77);
	assert_true(flag[3] == UINT64_C(1) << 40);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(s, at + 2, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(s, at, 1, 8));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuStreamWriteValue32_v2(s, (uintptr_t)&back, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(s, 0, batch, 0));
	batch[0].operation = 99;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(s, 1, batch, 0));
	OK(cuStreamDestroy_v2(s));
}

/* A kernel that waits does not hold up copies. */
static _Atomic uint32_t released;

static void wait_for_release(const struct rn_cuda_launch *l)
{
	(void)l;
	while (!released)
		;
}

static void test_kernel_beside_copies(void **state)
{
	CUdeviceptr ptr;
	CUmodule module;
	CUfunction fn;
	CUstream a, b;

	(void)state;
	assert_int_equal(rn_cuda_register_kernel("wait", wait_for_release, NULL, 0), 0);
	OK(cuModuleLoadData(&module, "any image"));
	OK(cuModuleGetFunction(&fn, module, "wait"));
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&ptr, 4096));
	OK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
	OK(cuMemsetD8Async(ptr, 1, 4096, b));
	OK(cuStreamSynchronize(b));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	released = 1;
	OK(cuStreamSynchronize(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CUDA_KIT_TEST(test_order_and_query),
		CUDA_KIT_TEST(test_events),
		CUDA_KIT_TEST(test_default_stream),
		CUDA_KIT_TEST(test_destroy_with_work),
		CUDA_KIT_TEST(test_properties),
		CUDA_KIT_TEST(test_wait_for_values),
		CUDA_KIT_TEST(test_kernel_beside_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
