/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_driver.h - the part of the public CUDA driver API that Rocin calls, in
 * declarations written for Rocin.
 *
 * The library libcuda.so.1 belongs to the driver of the machine. Rocin neither links to
 * it nor loads it: only a process that has it loaded already can have memory of a GPU.
 *
 * Source: CUDA Driver API, reference manual (types, values and names of functions).
 */
#ifndef RN_CUDA_DRIVER_H
#define RN_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RN_CUDA_LIBRARY "libcuda.so.1"

/* CUresult. All other values are errors, too. */
enum {
	RN_CU_SUCCESS = 0,
	RN_CU_ERROR_NOT_READY = 600,
};

/* CUmemorytype */
enum {
	RN_CU_MEMORY_HOST = 1,
	RN_CU_MEMORY_DEVICE = 2,
};

/* CUpointer_attribute */
enum {
	RN_CU_POINTER_CONTEXT = 1,
	RN_CU_POINTER_MEMORY_TYPE = 2,
	RN_CU_POINTER_SYNC_MEMOPS = 6,
	RN_CU_POINTER_BUFFER_ID = 7,
	RN_CU_POINTER_IS_MANAGED = 8,
	RN_CU_POINTER_DEVICE_ORDINAL = 9,
	RN_CU_POINTER_RANGE_START = 11,
	RN_CU_POINTER_RANGE_SIZE = 12,
};

enum {
	RN_CU_STREAM_NON_BLOCKING = 1,
	RN_CU_EVENT_DISABLE_TIMING = 2,
	RN_CU_CAPTURE_MODE_RELAXED = 2, /* CUstreamCaptureMode */
};

typedef uint64_t rn_cu_ptr; /* CUdeviceptr */
typedef int rn_cu_device;   /* CUdevice */

struct rn_cu_context;
struct rn_cu_stream;
struct rn_cu_event;

/* Functions of the driver. Each returns a CUresult. The name of the symbol stands behind
 * the member: several functions have a version in their symbol.
 */
struct rn_cu_driver {
	int (*get_attributes)(unsigned count, const int *attributes, void **data,
			      rn_cu_ptr ptr); /* cuPointerGetAttributes */
	int (*set_attribute)(const void *value, int attribute,
			     rn_cu_ptr ptr);		      /* cuPointerSetAttribute */
	int (*ctx_push)(struct rn_cu_context *ctx);	      /* cuCtxPushCurrent_v2 */
	int (*ctx_pop)(struct rn_cu_context **ctx);	      /* cuCtxPopCurrent_v2 */
	int (*ctx_current)(struct rn_cu_context **ctx);	      /* cuCtxGetCurrent */
	int (*ctx_device)(rn_cu_device *device);	      /* cuCtxGetDevice */
	int (*device_get)(rn_cu_device *device, int ordinal); /* cuDeviceGet */
	int (*primary_retain)(struct rn_cu_context **ctx,
			      rn_cu_device device); /* cuDevicePrimaryCtxRetain */
	int (*stream_create)(struct rn_cu_stream **stream,
			     unsigned flags);			/* cuStreamCreate */
	int (*stream_destroy)(struct rn_cu_stream *stream);	/* cuStreamDestroy_v2 */
	int (*stream_synchronize)(struct rn_cu_stream *stream); /* cuStreamSynchronize */
	int (*stream_wait_event)(struct rn_cu_stream *stream, struct rn_cu_event *event,
				 unsigned flags); /* cuStreamWaitEvent */
	int (*launch_host)(struct rn_cu_stream *stream, void (*fn)(void *arg),
			   void *arg); /* cuLaunchHostFunc */
	int (*event_create)(struct rn_cu_event **event,
			    unsigned flags);		 /* cuEventCreate */
	int (*event_destroy)(struct rn_cu_event *event); /* cuEventDestroy_v2 */
	int (*event_record)(struct rn_cu_event *event,
			    struct rn_cu_stream *stream); /* cuEventRecord */
	int (*event_query)(struct rn_cu_event *event);	  /* cuEventQuery */
	int (*to_device)(rn_cu_ptr dst, const void *src, size_t len,
			 struct rn_cu_stream *stream); /* cuMemcpyHtoDAsync_v2 */
	int (*to_host)(void *dst, rn_cu_ptr src, size_t len,
		       struct rn_cu_stream *stream); /* cuMemcpyDtoHAsync_v2 */
	int (*host_register)(void *addr, size_t len,
			     unsigned flags); /* cuMemHostRegister_v2 */
	int (*host_unregister)(void *addr);   /* cuMemHostUnregister */
	int (*capture_mode)(int *mode);	      /* cuThreadExchangeStreamCaptureMode */
	int (*error_name)(int result, const char **name); /* cuGetErrorName */
};

/* Has the process loaded the library, whether that of a driver or one that stands in for
 * it?
 */
bool rn_cu_is_in_process(void);

/**
 * rn_cu_driver() - Find the driver API of this process
 *
 * The first call that finds the library looks up its functions; later ones take one load.
 *
 * Return: the functions; NULL: the process has not loaded the library; or it is too
 * old and lacks a function (CUDA 10.1 has all of them); or it stands in for the driver on
 * simulated GPUs.
 *
 * Threads: any.
 */
const struct rn_cu_driver *rn_cu_driver(void);

#endif /* RN_CUDA_DRIVER_H */
