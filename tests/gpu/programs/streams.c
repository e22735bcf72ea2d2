/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* streams.c - the order of streams, events, host functions and memory operations. */
#include <stdatomic.h>

#include "kit.h"

enum {
	LEN = 1 << 20
};

struct gate {
	_Atomic bool is_open;
};

static void wait_at_gate(void *arg)
{
	struct gate *g = arg;

	while (!g->is_open)
		usleep(100);
}

static char notes[100];

static void note(void *arg)
{
	strncat(notes, arg, sizeof(notes) - strlen(notes) - 1);
}

static void order_of_one_stream(void)
{
	struct gate gate = { 0 };
	CUdeviceptr ptr;
	uint8_t *host;
	CUstream s;

	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc_v2(&ptr, LEN));
	MUST(cuMemAllocHost_v2((void **)&host, LEN));
	memset(host, 1, LEN);
	MUST(cuLaunchHostFunc(s, wait_at_gate, &gate));
	MUST(cuMemcpyHtoDAsync_v2(ptr, host, LEN, s));
	MUST(cuMemsetD8Async(ptr, 2, LEN / 2, s));
	MUST(cuMemcpyDtoHAsync_v2(host, ptr, LEN, s));
	SHOW("a stream that waits", cuStreamQuery(s));
	memset(host, 3, LEN);
	gate.is_open = true;
	SHOW("its end", cuStreamSynchronize(s));
	SHOW("and then", cuStreamQuery(s));
	printf("\tthe halves have %d and %d\n", host[0], host[LEN - 1]);
	MUST(cuMemFreeHost(host));
	MUST(cuMemFree_v2(ptr));
	MUST(cuStreamDestroy_v2(s));
}

static void events(void)
{
	struct gate gate = { 0 };
	CUevent event, untimed;
	CUstream a, b;
	float ms;

	MUST(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	MUST(cuEventCreate(&event, CU_EVENT_DEFAULT));
	MUST(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	SHOW("an event that was never recorded", cuEventQuery(event));
	SHOW("time of it", cuEventElapsedTime(&ms, event, event));
	MUST(cuLaunchHostFunc(a, wait_at_gate, &gate));
	MUST(cuLaunchHostFunc(a, note, "a"));
	MUST(cuEventRecord(event, a));
	MUST(cuStreamWaitEvent(b, event, 0));
	MUST(cuLaunchHostFunc(b, note, "b"));
	SHOW("an event that has not come", cuEventQuery(event));
	SHOW("the stream that waits for it", cuStreamQuery(b));
	SHOW("time between events that have not come",
	     cuEventElapsedTime(&ms, event, event));
	gate.is_open = true;
	SHOW("wait for the stream", cuStreamSynchronize(b));
	SHOW("the event", cuEventQuery(event));
	printf("\tthe order was %s\n", notes);
	MUST(cuEventRecord(untimed, a));
	MUST(cuEventSynchronize(untimed));
	SHOW("time with an event without times", cuEventElapsedTime(&ms, event, untimed));
	SHOW("time from an event to itself", cuEventElapsedTime(&ms, event, event));
	SHOW("an event for processes with times", cuEventCreate(&event, 4));
	SHOW("unknown flags of a stream", cuStreamCreate(&a, 64));
	SHOW("a host function that is none", cuLaunchHostFunc(b, NULL, NULL));
}

static void default_streams(void)
{
	struct gate gate = { 0 };
	CUstream blocking;

	notes[0] = '\0';
	MUST(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	MUST(cuLaunchHostFunc(blocking, wait_at_gate, &gate));
	MUST(cuLaunchHostFunc(blocking, note, "1"));
	MUST(cuLaunchHostFunc(NULL, note, "2"));
	MUST(cuLaunchHostFunc(blocking, note, "3"));
	SHOW("the default stream behind another one", cuStreamQuery(NULL));
	gate.is_open = true;
	SHOW("the whole context", cuCtxSynchronize());
	printf("\tthe order was %s\n", notes);
	SHOW("end of a stream", cuStreamDestroy_v2(blocking));
}

/* Not every GPU can flush in a wait; an attribute says which. */
static void wait_with_a_flush(CUstream s, CUdeviceptr at)
{
	unsigned flags = CU_STREAM_WAIT_VALUE_EQ | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
	int can = -1;
	CUresult result;

	MUST(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
	result = cuStreamWaitValue32_v2(s, at, 6, flags);
	kit_value("wait with a flush is as the attribute says",
		  result == (can ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED));
}

static void memory_operations(void)
{
	volatile uint32_t *flag;
	CUdeviceptr at;
	CUstream s;

	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	MUST(cuMemHostAlloc((void **)&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer_v2(&at, (void *)flag, 0));
	memset((void *)flag, 0, 4096);
	SHOW("wait for a value",
	     cuStreamWaitValue32_v2(s, at, 5, CU_STREAM_WAIT_VALUE_GEQ));
	SHOW("write of a value", cuStreamWriteValue32_v2(s, at + 4, 9, 0));
	SHOW("write of a wide value", cuStreamWriteValue64_v2(s, at + 8, 1ULL << 40, 0));
	usleep(10000);
	SHOW("the stream before the value", cuStreamQuery(s));
	kit_value("\tnothing was written", flag[1] == 0);
	flag[0] = 6;
	SHOW("the stream after it", cuStreamSynchronize(s));
	printf("\twritten: %u %u %u\n", flag[1], flag[2], flag[3]);
	wait_with_a_flush(s, at);
	SHOW("its end", cuStreamSynchronize(s));
	SHOW("wait at an address that is not aligned",
	     cuStreamWaitValue32_v2(s, at + 2, 0, 0));
	SHOW("write with unknown flags", cuStreamWriteValue32_v2(s, at, 0, 64));
	SHOW("flush to the owner", cuFlushGPUDirectRDMAWrites(0, 100));
	SHOW("flush to somebody else", cuFlushGPUDirectRDMAWrites(0, 77));
}

static void in_stream_order(void)
{
	CUdeviceptr ptr;
	uint8_t byte = 0;
	CUstream s;

	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	SHOW("allocation by a stream", cuMemAllocAsync(&ptr, LEN, s));
	SHOW("memset", cuMemsetD8Async(ptr, 7, LEN, s));
	SHOW("copy", cuMemcpyDtoHAsync_v2(&byte, ptr + LEN - 1, 1, s));
	SHOW("free", cuMemFreeAsync(ptr, s));
	SHOW("end", cuStreamSynchronize(s));
	kit_value("\tbyte", byte);
}

int main(void)
{
	kit_begin();
	order_of_one_stream();
	events();
	default_streams();
	memory_operations();
	in_stream_order();
	return 0;
}
