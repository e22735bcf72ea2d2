/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory.c - what calls give for memory of all kinds, and for pointers that are wrong. */
#include "kit.h"

enum {
	LEN = 2 << 20, /* what a real driver gives out whole */
};

static const char *type_name(unsigned type)
{
	static const char *const names[] = { "none", "host", "device", "array",
					     "unified" };

	return type < 5 ? names[type] : "?";
}

/* Prints what a pointer is by several attributes at once. */
static void describe(const char *what, CUdeviceptr ptr)
{
	CUpointer_attribute attrs[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					CU_POINTER_ATTRIBUTE_MAPPED,
					CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE };
	unsigned type = 77, managed = 0, mapped = 0, ipc = 0;
	int ordinal = 77;
	void *data[] = { &type, &managed, &ordinal, &mapped, &ipc };
	char name[100];

	snprintf(name, sizeof(name), "attributes of %s", what);
	if (SHOW(name, cuPointerGetAttributes(5, attrs, data, ptr)) == CUDA_SUCCESS)
		printf("\t%s, managed %u, GPU %d, mapped %u, IPC %u\n", type_name(type),
		       managed, ordinal, mapped, ipc);
}

static void kinds_of_memory(void)
{
	CUdeviceptr device, managed, at;
	void *host, *own = aligned_alloc(4096, 8192);
	unsigned flags = 0, type;

	MUST(cuMemAlloc_v2(&device, LEN));
	describe("device memory", device + 5);
	MUST(cuMemHostAlloc(&host, LEN, CU_MEMHOSTALLOC_PORTABLE));
	describe("host memory", (uintptr_t)host + 5);
	SHOW("flags of host memory", cuMemHostGetFlags(&flags, host));
	kit_value("\tare", flags);
	SHOW("its device pointer", cuMemHostGetDevicePointer_v2(&at, host, 0));
	kit_value("\tis the same", at == (uintptr_t)host);
	SHOW("registration", cuMemHostRegister_v2(own, 8192, 0));
	describe("registered memory", (uintptr_t)own);
	SHOW("registration again", cuMemHostRegister_v2(own, 8192, 0));
	SHOW("end of registration", cuMemHostUnregister(own));
	SHOW("end of registration again", cuMemHostUnregister(own));
	describe("memory of the program", (uintptr_t)own);
	SHOW("one attribute of it",
	     cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				   (uintptr_t)own));
	SHOW("managed memory", cuMemAllocManaged(&managed, LEN, CU_MEM_ATTACH_GLOBAL));
	describe("managed memory", managed);
	SHOW("its end", cuMemFree_v2(managed));
	SHOW("device memory freed as host memory",
	     cuMemFreeHost((void *)(uintptr_t)device));
	SHOW("host memory freed as device memory", cuMemFree_v2((uintptr_t)host));
	SHOW("end of host memory", cuMemFreeHost(host));
	SHOW("end of device memory", cuMemFree_v2(device));
	SHOW("and again", cuMemFree_v2(device));
	SHOW("end of no memory", cuMemFree_v2(0));
	free(own);
}

static void copies(void)
{
	uint8_t *from = malloc(LEN), *to = calloc(1, LEN);
	CUdeviceptr a, b, base;
	size_t size;

	for (unsigned i = 0; i < LEN; i++)
		from[i] = (uint8_t)(i * 29 + i / 256);
	MUST(cuMemAlloc_v2(&a, LEN));
	MUST(cuMemAlloc_v2(&b, LEN));
	SHOW("host to device", cuMemcpyHtoD_v2(a, from, LEN));
	SHOW("device to device", cuMemcpyDtoD_v2(b, a, LEN));
	SHOW("device to host", cuMemcpyDtoH_v2(to, b, LEN));
	kit_value("\tsame", memcmp(from, to, LEN) == 0);
	SHOW("memset of bytes", cuMemsetD8_v2(a, 0xab, LEN));
	SHOW("memset of words", cuMemsetD32_v2(a + 8, 0x01020304, 2));
	SHOW("unified copy", cuMemcpy((uintptr_t)to, a, LEN));
	printf("\t%02x %02x %02x %02x\n", to[7], to[8], to[15], to[16]);
	SHOW("memset of a word that is not aligned", cuMemsetD32_v2(a + 2, 0, 1));
	SHOW("copy of nothing", cuMemcpyHtoD_v2(a, from, 0));
	SHOW("address range", cuMemGetAddressRange_v2(&base, &size, a + 77));
	kit_value("\tis right", base == a && size == LEN);
	SHOW("address range of other memory",
	     cuMemGetAddressRange_v2(&base, &size, (uintptr_t)from));
	MUST(cuMemFree_v2(a));
	MUST(cuMemFree_v2(b));
	free(from);
	free(to);
}

static void mistakes(void)
{
	CUdeviceptr ptr, gone;
	CUmemoryPool pool;
	CUcontext ctx;
	uint8_t byte = 0;
	uint64_t used = 77;
	int value, fd;

	MUST(cuMemAlloc_v2(&ptr, LEN));
	MUST(cuMemAlloc_v2(&gone, LEN));
	MUST(cuMemFree_v2(gone));
	SHOW("allocation of nothing", cuMemAlloc_v2(&gone, 0));
	SHOW("allocation of too much", cuMemAlloc_v2(&gone, (size_t)1 << 46));
	SHOW("free in the middle", cuMemFree_v2(ptr + 256));
	SHOW("copy beyond the end", cuMemcpyHtoD_v2(ptr + LEN - 1, &byte, 4 << 20));
	SHOW("copy to a wrong address", cuMemcpyHtoD_v2(0x1234, &byte, 1));
	SHOW("free of a wrong address", cuMemFree_v2(0x1234));
	SHOW("attribute 9999 of a device", cuDeviceGetAttribute(&value, 9999, 0));
	SHOW("attribute of device 99", cuDeviceGetAttribute(&value, 1, 99));
	SHOW("device 99", cuDeviceGet(&value, 99));
	SHOW("dma-buf of a part of a page",
	     cuMemGetHandleForAddressRange(&fd, ptr + 64, 4096, 1, 0));
	SHOW("dma-buf of an unknown type",
	     cuMemGetHandleForAddressRange(&fd, ptr, 4096, 77, 0));
	SHOW("default pool", cuDeviceGetDefaultMemPool(&pool, 0));
	SHOW("its used memory",
	     cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	kit_value("\tis", (long long)used);
	SHOW("end of the default pool", cuMemPoolDestroy(pool));
	MUST(cuCtxPopCurrent_v2(&ctx));
	SHOW("allocation without a context", cuMemAlloc_v2(&gone, 100));
	SHOW("pop without a context", cuCtxPopCurrent_v2(NULL));
	MUST(cuCtxPushCurrent_v2(ctx));
	SHOW("and the context is well", cuCtxSynchronize());
	MUST(cuMemFree_v2(ptr));
}

int main(void)
{
	kit_begin();
	kinds_of_memory();
	copies();
	mistakes();
	return 0;
}
