/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cuda_memory.c - memory of all kinds: what is copied, what a pointer is, what bad
 * pointers give.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_kit.h"

enum {
	LEN = 100000
};

static void test_copies(void **state)
{
	uint8_t *host = malloc(LEN), *back = calloc(1, LEN);
	CUdeviceptr a, b, far;
	CUcontext other;

	(void)state;
	for (int i = 0; i < LEN; i++)
		host[i] = (uint8_t)(i * 7 + i / 256);
	OK(cuMemAlloc_v2(&a, LEN));
	OK(cuMemAlloc_v2(&b, LEN));
	OK(cuMemcpyHtoD_v2(a, host, LEN));
	OK(cuMemcpyDtoD_v2(b, a, LEN));
	OK(cuMemcpyDtoH_v2(back, b, LEN));
	assert_memory_equal(host, back, LEN);
	OK(cuCtxCreate_v2(&other, 0, 1));
	OK(cuMemAlloc_v2(&far, LEN));
	OK(cuMemcpyPeer(far, other, b, *state, LEN));
	memset(back, 0, LEN);
	OK(cuMemcpy((uintptr_t)back, far, LEN));
	assert_memory_equal(host, back, LEN);
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(far, other, b, NULL, LEN));
	OK(cuCtxDestroy_v2(other));
	OK(cuMemcpyHtoD_v2(a, host, 0));
	OK(cuMemFree_v2(a));
	OK(cuMemFree_v2(b));
	free(host);
	free(back);
}

static void test_rectangles(void **state)
{
	uint8_t from[8][10], to[6][16];
	CUDA_MEMCPY2D c = { .srcXInBytes = 2,
			    .srcY = 1,
			    .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = from,
			    .srcPitch = 10,
			    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			    .WidthInBytes = 5,
			    .Height = 4 };
	CUdeviceptr ptr;
	size_t pitch;

	(void)state;
	for (unsigned i = 0; i < sizeof(from); i++)
		((uint8_t *)from)[i] = (uint8_t)i;
	OK(cuMemAllocPitch_v2(&ptr, &pitch, 16, 6, 4));
	assert_int_equal(pitch % 512, 0);
	OK(cuMemsetD2D8_v2(ptr, pitch, 0xee, 16, 6));
	c.dstDevice = ptr;
	c.dstPitch = pitch;
	c.dstXInBytes = 3;
	c.dstY = 2;
	OK(cuMemcpy2D_v2(&c));
	c = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			     .srcDevice = ptr,
			     .srcPitch = pitch,
			     .dstMemoryType = CU_MEMORYTYPE_HOST,
			     .dstHost = to,
			     .WidthInBytes = 16,
			     .Height = 6 };
	OK(cuMemcpy2D_v2(&c));
	for (unsigned y = 0; y < 6; y++)
		for (unsigned x = 0; x < 16; x++) {
			bool is_inside = y >= 2 && x >= 3 && x < 8;

			assert_int_equal(to[y][x],
					 is_inside ? (y - 1) * 10 + x - 1 : 0xee);
		}
	c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&c));
	c.dstMemoryType = CU_MEMORYTYPE_HOST;
	c.srcPitch = 3;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&c));
	c.srcPitch = SIZE_MAX / 2;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&c));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(NULL));
	OK(cuMemFree_v2(ptr));
}

static void test_memsets(void **state)
{
	uint16_t back[8];
	CUdeviceptr ptr;

	(void)state;
	OK(cuMemAlloc_v2(&ptr, 16));
	OK(cuMemsetD16_v2(ptr, 0x1234, 8));
	OK(cuMemsetD32_v2(ptr + 4, 0xabcd0001, 1));
	OK(cuMemsetD8_v2(ptr + 15, 0xff, 1));
	OK(cuMemcpyDtoH_v2(back, ptr, 16));
	assert_memory_equal(back,
			    ((uint16_t[]){ 0x1234, 0x1234, 1, 0xabcd, 0x1234, 0x1234,
					   0x1234, 0xff34 }),
			    16);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(ptr + 2, 0, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(ptr, 0, SIZE_MAX / 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(ptr, 0, 17));
	OK(cuMemFree_v2(ptr));
}

/* Each of these is an error code, and none of them a crash. */
static void test_bad_pointers(void **state)
{
	uint8_t *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CUdeviceptr ptr, gone, base;
	size_t size;
	uint8_t byte = 0;

	(void)state;
	OK(cuMemAlloc_v2(&ptr, 100));
	OK(cuMemAlloc_v2(&gone, 100));
	OK(cuMemFree_v2(gone));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(gone));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(ptr + 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2((uintptr_t)&byte));
	OK(cuMemFree_v2(0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(gone, &byte, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&byte, gone, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy(ptr, gone, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(ptr + 50, &byte, 51));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2((uintptr_t)&byte, &byte, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(ptr, hole, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(hole, ptr, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(ptr, NULL, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&ptr, 0));
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&base, SIZE_MAX / 2));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(NULL, 1));
	FAILS(CUDA_ERROR_NOT_FOUND,
	      cuMemGetAddressRange_v2(&base, &size, (uintptr_t)&byte));
	OK(cuMemGetAddressRange_v2(&base, &size, ptr + 99));
	assert_true(base == ptr && size == 100);
	/* The context has not suffered. */
	OK(cuCtxSynchronize());
	OK(cuMemFree_v2(ptr));
	munmap(hole, 4096);
}

static void test_host_memory(void **state)
{
	char *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	CUdeviceptr at;
	unsigned flags;
	void *host;

	(void)state;
	OK(cuMemHostAlloc(&host, 100, CU_MEMHOSTALLOC_PORTABLE));
	memset(host, 1, 100);
	OK(cuMemHostGetFlags(&flags, host));
	assert_int_equal(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	OK(cuMemHostGetDevicePointer_v2(&at, host, 0));
	assert_true(at == (uintptr_t)host);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister(host));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost((char *)host + 1));
	OK(cuMemFreeHost(host));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(host));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&host, 0, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&host, 10, 8));

	OK(cuMemHostRegister_v2(own + 100, 5000, 0));
	FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      cuMemHostRegister_v2(own + 5000, 200, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(own + 100));
	OK(cuMemHostUnregister(own + 100));
	FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own + 100));
	munmap(own + 4096, 4096);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(own, 8192, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2(NULL, 8192, 0));
	munmap(own, 4096);
}

static void test_managed_memory(void **state)
{
	CUdeviceptr ptr;
	CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
	uint8_t *host;

	(void)state;
	OK(cuMemAllocManaged(&ptr, 100, CU_MEM_ATTACH_GLOBAL));
	host = (uint8_t *)(uintptr_t)ptr;
	OK(cuMemsetD8_v2(ptr, 9, 100));
	assert_int_equal(host[99], 9);
	OK(cuMemPrefetchAsync(ptr, 100, 0, NULL));
	OK(cuMemPrefetchAsync_v2(ptr, 100, gpu, 0, NULL));
	OK(cuMemAdvise(ptr, 100, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(ptr, 101, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&ptr, 100, 0));
	OK(cuMemFree_v2(ptr));
}

static void test_what_a_pointer_is(void **state)
{
	CUpointer_attribute attrs[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_RANGE_START_ADDR };
	unsigned type = 0, on = 1;
	int ordinal = 7;
	uint8_t managed = 7, yes = 0;
	CUdeviceptr ptr, start = 7, host_at;
	void *data[] = { &type, &ordinal, &managed, &start }, *host = &type;
	CUcontext ctx;
	unsigned long long id, again;

	OK(cuMemAlloc_v2(&ptr, 100));
	OK(cuPointerGetAttributes(4, attrs, data, ptr + 50));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(ordinal, 0);
	assert_int_equal(managed, 0);
	assert_true(start == ptr);
	OK(cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, ptr));
	assert_ptr_equal(ctx, *state);
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, ptr));
	OK(cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
				 ptr));
	assert_int_equal(yes, 1);
	OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, ptr));
	yes = 0;
	OK(cuPointerGetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, ptr));
	assert_int_equal(yes, 1);
	OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr));
	OK(cuMemFree_v2(ptr));
	OK(cuMemAlloc_v2(&ptr, 100));
	OK(cuPointerGetAttribute(&again, CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr));
	assert_true(id != again);

	/* Unknown memory: nothing for several attributes, an error for one. */
	OK(cuPointerGetAttributes(4, attrs, data, (uintptr_t)&type));
	assert_int_equal(type, 0);
	assert_int_equal(ordinal, CU_DEVICE_INVALID);
	assert_true(start == 0);
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuPointerGetAttribute(&type, attrs[0], (uintptr_t)&type));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, 99, ptr));

	OK(cuMemAllocHost_v2(&host, 100));
	OK(cuPointerGetAttribute(&type, attrs[0], (uintptr_t)host));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	OK(cuPointerGetAttribute(&host_at, CU_POINTER_ATTRIBUTE_HOST_POINTER,
				 (uintptr_t)host + 4));
	assert_true(host_at == (uintptr_t)host + 4);
}

/* --------------------------------------------------------------- dma-buf, IPC */
static void test_dmabuf(void **state)
{
	CUdeviceptr ptr;
	void *host;
	int fd = -1;

	(void)state;
	OK(cuMemAlloc_v2(&ptr, 8192));
	OK(cuMemGetHandleForAddressRange(&fd, ptr + 4096, 4096,
					 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	assert_true(fd >= 0);
	close(fd);
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuMemGetHandleForAddressRange(&fd, ptr + 8, 4096, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuMemGetHandleForAddressRange(&fd, ptr, 12288, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemGetHandleForAddressRange(&fd, ptr, 0, 1, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuMemGetHandleForAddressRange(&fd, ptr, 4096, 2, 0));
	OK(cuMemAllocHost_v2(&host, 4096));
	FAILS(CUDA_ERROR_NOT_SUPPORTED,
	      cuMemGetHandleForAddressRange(&fd, (uintptr_t)host, 4096, 1, 0));
	OK(cuMemFree_v2(ptr));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuMemGetHandleForAddressRange(&fd, ptr, 4096, 1, 0));
}

/* Of a process that ends with the number of the line that failed. */
#define CHECK(call)                            \
	do {                                   \
		if (call)                      \
			_exit(__LINE__ % 256); \
	} while (0)

static void open_in_other_process(int from, int to)
{
	CUipcMemHandle handle;
	CUdeviceptr ptr, again;
	CUcontext ctx;
	uint8_t byte = 0;

	CHECK(cuInit(0));
	CHECK(cuCtxCreate_v2(&ctx, 0, 1));
	CHECK(read(from, &handle, sizeof(handle)) != sizeof(handle));
	CHECK(cuIpcOpenMemHandle_v2(&ptr, handle, 1));
	CHECK(cuIpcOpenMemHandle_v2(&again, handle, 1) || again != ptr);
	CHECK(cuMemcpyDtoH_v2(&byte, ptr + 4999, 1) || byte != 3);
	CHECK(cuMemsetD8_v2(ptr, 4, 5000));
	CHECK(cuMemsetD8_v2(ptr, 4, 5001) != CUDA_ERROR_INVALID_VALUE);
	CHECK(cuIpcCloseMemHandle(ptr) || cuIpcCloseMemHandle(ptr));
	CHECK(cuIpcCloseMemHandle(ptr) != CUDA_ERROR_INVALID_VALUE);
	CHECK(write(to, "x", 1) != 1);
	CHECK(read(from, &byte, 1) != 1);
	CHECK(cuIpcOpenMemHandle_v2(&ptr, handle, 1) != CUDA_ERROR_MAP_FAILED);
	memset(&handle, 7, sizeof(handle));
	CHECK(cuIpcOpenMemHandle_v2(&ptr, handle, 1) != CUDA_ERROR_INVALID_VALUE);
	_exit(0);
}

/* Memory of a GPU in two processes, until its owner frees it. The child is made before
 * the first call of CUDA.
 */
static void test_ipc(void **state)
{
	int down[2], up[2], status;
	CUipcMemHandle handle;
	CUdeviceptr ptr, same;
	CUcontext ctx;
	uint8_t byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(down) | pipe(up), 0);
	pid = fork();
	if (pid == 0)
		open_in_other_process(down[0], up[1]);
	close(up[1]);
	setenv("ROCIN_GPUS", "2", 1);
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&ctx, 0, 1));
	OK(cuMemAlloc_v2(&ptr, 5000));
	OK(cuMemsetD8_v2(ptr, 3, 5000));
	OK(cuIpcGetMemHandle(&handle, ptr + 100));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&same, handle, 1));
	assert_int_equal(write(down[1], &handle, sizeof(handle)), sizeof(handle));
	assert_int_equal(read(up[0], &byte, 1), 1);
	OK(cuMemcpyDtoH_v2(&byte, ptr + 4999, 1));
	assert_int_equal(byte, 4);
	OK(cuMemFree_v2(ptr));
	assert_int_equal(write(down[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	OK(cuCtxDestroy_v2(ctx));
}

/* -------------------------------------------------------------------- pools */
static void test_pools(void **state)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemoryPool pool, own, of_ptr;
	CUdeviceptr a, b;
	uint64_t used;
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, 0));
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAllocAsync(&a, 1000, s));
	OK(cuMemsetD8Async(a, 1, 1000, s));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 1000);
	OK(cuPointerGetAttribute(&of_ptr, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	assert_ptr_equal(of_ptr, pool);
	OK(cuMemFreeAsync(a, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(a, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(a, 1, 1000, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
	assert_int_equal(used, 1000);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));

	OK(cuMemPoolCreate(&own, &props));
	OK(cuMemAllocFromPoolAsync(&b, 500, own, s));
	OK(cuMemPoolTrimTo(own, 0));
	OK(cuMemPoolDestroy(own));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&a, 500, own, s));
	OK(cuMemFree_v2(b));
	props.location.id = 9;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&own, &props));
	OK(cuStreamDestroy_v2(s));
}

/* Memory belongs to a context and goes with it. */
static void test_goes_with_its_context(void **state)
{
	size_t before, after, total;
	CUdeviceptr ptr;
	CUcontext ctx;

	(void)state;
	OK(cuMemGetInfo_v2(&before, &total));
	OK(cuCtxCreate_v2(&ctx, 0, 0));
	OK(cuMemAlloc_v2(&ptr, 1 << 20));
	OK(cuMemGetInfo_v2(&after, &total));
	assert_int_equal(before - after, 1 << 20);
	OK(cuCtxDestroy_v2(ctx));
	OK(cuMemGetInfo_v2(&after, &total));
	assert_int_equal(before, after);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(ptr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipc), /* the first */
		CUDA_KIT_TEST(test_copies),
		CUDA_KIT_TEST(test_rectangles),
		CUDA_KIT_TEST(test_memsets),
		CUDA_KIT_TEST(test_bad_pointers),
		CUDA_KIT_TEST(test_host_memory),
		CUDA_KIT_TEST(test_managed_memory),
		CUDA_KIT_TEST(test_what_a_pointer_is),
		CUDA_KIT_TEST(test_dmabuf),
		CUDA_KIT_TEST(test_pools),
		CUDA_KIT_TEST(test_goes_with_its_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
