/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime.c - the runtime API: devices, memory, streams, errors. Where a value differs
 * between GPUs, prints whether two calls agree on it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cuda/api/runtime.h"

enum {
	LEN = 1 << 20
};

static cudaError_t show(const char *what, cudaError_t error)
{
	printf("%-44s %s\n", what, cudaGetErrorName(error));
	return error;
}

static void must(const char *what, cudaError_t error)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

#define MUST(call) must(#call, call)

static void agree(const char *what, long long a, long long b)
{
	printf("%-44s %s\n", what, a == b ? "agrees" : "DIFFERS");
	if (a != b)
		fprintf(stderr, "%s: %lld, %lld\n", what, a, b);
}

static void property(const char *what, long long value, int attr)
{
	int other = -1;

	MUST(cudaDeviceGetAttribute(&other, attr, 0));
	agree(what, value, other);
}

static cudaError_t get_properties(struct cudaDeviceProp *prop, int device)
{
#if RN_CU_RUNTIME >= 13
	return cudaGetDeviceProperties(prop, device);
#else
	return cudaGetDeviceProperties_v2(prop, device);
#endif
}

static void devices(void)
{
	struct cudaDeviceProp prop;
	char id[32];
	int count = 0, device = 77, driver = 0, runtime = 0;
	size_t free_bytes, total;

	show("count of devices", cudaGetDeviceCount(&count));
	printf("\tsome: %d\n", count > 0);
	show("device 99", cudaSetDevice(99));
	show("the last error", cudaPeekAtLastError());
	show("again", cudaGetLastError());
	show("and then", cudaGetLastError());
	show("device 0", cudaSetDevice(0));
	show("which device", cudaGetDevice(&device));
	printf("\tit is %d\n", device);
	show("versions", cudaDriverGetVersion(&driver));
	show("of the runtime", cudaRuntimeGetVersion(&runtime));
	printf("\tmajor version of the runtime: %d\n", runtime / 1000);
	show("properties", get_properties(&prop, 0));
	printf("\tname: %d\n", prop.name[0] != '\0');
	property("warp size", prop.warpSize, 10);
	property("threads of a block", prop.maxThreadsPerBlock, 1);
	property("z of a block", prop.maxThreadsDim[2], 4);
	property("y of a grid", prop.maxGridSize[1], 6);
	property("major version", prop.major, 75);
	property("multiprocessors", prop.multiProcessorCount, 16);
	property("bus", prop.pciBusID, 33);
	property("copy engines", prop.asyncEngineCount, 40);
	property("L2 cache", prop.l2CacheSize, 38);
	property("registers of a multiprocessor", prop.regsPerMultiprocessor, 82);
	property("managed memory", prop.managedMemory, 83);
	property("shared memory, opt-in", (long long)prop.sharedMemPerBlockOptin, 97);
	property("reserved shared memory", (long long)prop.reservedSharedMemPerBlock,
		 111);
	property("registration", prop.hostRegisterSupported, 99);
	property("pools", prop.memoryPoolsSupported, 115);
	property("GPUDirect RDMA", prop.gpuDirectRDMASupported, 116);
	property("ways to flush", prop.gpuDirectRDMAFlushWritesOptions, 117);
	property("order of writes", prop.gpuDirectRDMAWritesOrdering, 118);
	property("clusters", prop.clusterLaunch, 120);
	property("unified function pointers", prop.unifiedFunctionPointers, 129);
	show("bus id", cudaDeviceGetPCIBusId(id, sizeof(id), 0));
	show("device by it", cudaDeviceGetByPCIBusId(&device, id));
	printf("\tit is %d\n", device);
	show("memory", cudaMemGetInfo(&free_bytes, &total));
	printf("\tenough: %d\n", total >= free_bytes && free_bytes > LEN);
	show("a flush", cudaDeviceFlushGPUDirectRDMAWrites(0, 100));
	show("a wrong flush", cudaDeviceFlushGPUDirectRDMAWrites(0, 1));
}

static void describe(const char *what, const void *ptr)
{
	struct cudaPointerAttributes attrs;

	if (show(what, cudaPointerGetAttributes(&attrs, ptr)))
		return;
	printf("\ttype %d, device %d, device pointer %d, host pointer %d\n", attrs.type,
	       attrs.device, attrs.devicePointer == ptr, attrs.hostPointer == ptr);
}

static void memory(void)
{
	uint8_t *from = malloc(LEN), *to = calloc(1, LEN);
	void *a, *b, *host, *managed, *nothing = &a;
	size_t pitch;

	memset(from, 9, LEN);
	show("device memory", cudaMalloc(&a, LEN));
	MUST(cudaMalloc(&b, LEN));
	describe("what it is", a);
	show("host memory", cudaMallocHost(&host, LEN));
	describe("what it is", host);
	show("managed memory", cudaMallocManaged(&managed, LEN, 1));
	describe("what it is", managed);
	describe("memory of the program", from);
	show("nothing", cudaMalloc(&nothing, 0));
	printf("\tis NULL: %d\n", nothing == NULL);
	show("too much", cudaMalloc(&nothing, (size_t)1 << 46));
	show("host to device", cudaMemcpy(a, from, LEN, cudaMemcpyHostToDevice));
	show("device to device", cudaMemcpy(b, a, LEN, cudaMemcpyDeviceToDevice));
	show("by the addresses", cudaMemcpy(to, b, LEN, cudaMemcpyDefault));
	printf("\tsame: %d\n", memcmp(from, to, LEN) == 0);
	show("memset", cudaMemset(a, 5, LEN));
	show("host to host", cudaMemcpy(to, from, LEN, cudaMemcpyHostToHost));
	show("an unknown kind", cudaMemcpy(to, a, LEN, (cudaMemcpyKind)9));
	show("beyond the end", cudaMemcpy(a, from, 64 << 20, cudaMemcpyHostToDevice));
	show("rectangle", cudaMallocPitch(&nothing, &pitch, 100, 10));
	show("copy of it",
	     cudaMemcpy2D(nothing, pitch, from, 100, 100, 10, cudaMemcpyHostToDevice));
	show("with a pitch that is too small",
	     cudaMemcpy2D(nothing, 50, from, 100, 100, 10, cudaMemcpyHostToDevice));
	show("free", cudaFree(a));
	show("and again", cudaFree(a));
	show("free of nothing", cudaFree(NULL));
	show("free of host memory", cudaFreeHost(host));
	show("free of managed memory", cudaFree(managed));
	(void)cudaGetLastError();
	MUST(cudaFree(b));
	MUST(cudaFree(nothing));
	free(from);
	free(to);
}

static void append(void *arg)
{
	*(int *)arg = 10 * *(int *)arg + 1;
}

static void streams(void)
{
	cudaStream_t s;
	cudaEvent_t start, end;
	void *ptr, *host;
	int calls = 0;
	float ms = -1;

	show("stream", cudaStreamCreateWithFlags(&s, 1));
	MUST(cudaEventCreate(&start));
	MUST(cudaEventCreateWithFlags(&end, 0));
	MUST(cudaMallocHost(&host, LEN));
	show("event", cudaEventRecord(start, s));
	show("allocation", cudaMallocAsync(&ptr, LEN, s));
	show("memset", cudaMemsetAsync(ptr, 3, LEN, s));
	show("copy", cudaMemcpyAsync(host, ptr, LEN, cudaMemcpyDeviceToHost, s));
	show("free", cudaFreeAsync(ptr, s));
	show("function", cudaLaunchHostFunc(s, append, &calls));
	show("event", cudaEventRecord(end, s));
	show("end", cudaStreamSynchronize(s));
	show("query", cudaStreamQuery(s));
	printf("\tbyte %d, calls %d\n", ((uint8_t *)host)[LEN - 1], calls);
	show("time", cudaEventElapsedTime(&ms, start, end));
	printf("\tmore than nothing: %d\n", ms > 0);
	show("the whole device", cudaDeviceSynchronize());
	show("an event that is none", cudaEventRecord(NULL, s));
	(void)cudaGetLastError();
	MUST(cudaStreamDestroy(s));
	MUST(cudaFreeHost(host));
}

static void host_side_of_a_kernel(void)
{
}

static void kernels(void)
{
	const rn_cu_dim3 one = { 1, 1, 1 };

	show("a function that is no kernel",
	     cudaLaunchKernel((const void *)host_side_of_a_kernel, one, one, NULL, 0,
			      NULL));
	(void)cudaGetLastError();
	show("and the device is well", cudaDeviceSynchronize());
}

int main(void)
{
	int count = 0;

	if (cudaGetDeviceCount(&count) || !count)
		return 77;
	devices();
	memory();
	streams();
	kernels();
	return 0;
}
