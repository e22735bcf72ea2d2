/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* driver.h - declarations of those calls of the CUDA driver API that the stand-in has.
 *
 * Names, numbers and layouts are those of the public API, so that a program that was
 * built against the original header finds what it expects, and a program that was built
 * with this header runs on a real driver. A call with a suffix (_v2, _ptsz) is declared
 * by the name of its symbol. The documentation is that of the original.
 *
 * Source: the reference manual of the CUDA driver API, releases 11.8 to 13.0.
 */
#ifndef RN_CU_DRIVER_H
#define RN_CU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_MAP_FAILED = 205,
	CUDA_ERROR_ALREADY_MAPPED = 208,
	CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
	CUDA_ERROR_FILE_NOT_FOUND = 301,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
	CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_UNKNOWN = 999,
} CUresult;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;

#define CU_DEVICE_INVALID ((CUdevice)-2)
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#define CU_IPC_HANDLE_SIZE 64

typedef struct {
	char bytes[16];
} CUuuid;

typedef struct {
	char reserved[CU_IPC_HANDLE_SIZE];
} CUipcMemHandle, CUipcEventHandle;

typedef void (*CUhostFn)(void *user_data);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *user_data);

/* Attributes that this tree names; others are asked for by number. */
typedef enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
	CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
	CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
	CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES = 98,
	CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
	CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
	CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
	CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
} CUdevice_attribute;

typedef enum {
	CU_POINTER_ATTRIBUTE_CONTEXT = 1,
	CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
	CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
	CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
	CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
	CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
	CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
	CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
	CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
	CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
	CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
	CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
	CU_POINTER_ATTRIBUTE_MAPPED = 13,
	CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
	CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
	CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
	CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17,
	CU_POINTER_ATTRIBUTE_MAPPING_SIZE = 18,
	CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR = 19,
	CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID = 20,
} CUpointer_attribute;

typedef enum {
	CU_MEMORYTYPE_HOST = 1,
	CU_MEMORYTYPE_DEVICE = 2,
	CU_MEMORYTYPE_ARRAY = 3,
	CU_MEMORYTYPE_UNIFIED = 4,
} CUmemorytype;

enum {
	CU_CTX_SCHED_MASK = 0x7,
	CU_CTX_MAP_HOST = 0x8,
	CU_CTX_LMEM_RESIZE_TO_MAX = 0x10,
	CU_CTX_COREDUMP_ENABLE = 0x20,
	CU_CTX_USER_COREDUMP_ENABLE = 0x40,
	CU_CTX_SYNC_MEMOPS = 0x80,
	CU_CTX_FLAGS_MASK = 0xff,
};

enum {
	CU_STREAM_DEFAULT = 0,
	CU_STREAM_NON_BLOCKING = 1,
};

enum {
	CU_EVENT_DEFAULT = 0,
	CU_EVENT_BLOCKING_SYNC = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_EVENT_INTERPROCESS = 4,
};

enum {
	CU_MEMHOSTALLOC_PORTABLE = 1,
	CU_MEMHOSTALLOC_DEVICEMAP = 2,
	CU_MEMHOSTALLOC_WRITECOMBINED = 4,
	CU_MEMHOSTREGISTER_PORTABLE = 1,
	CU_MEMHOSTREGISTER_DEVICEMAP = 2,
	CU_MEMHOSTREGISTER_IOMEMORY = 4,
	CU_MEMHOSTREGISTER_READ_ONLY = 8,
	CU_MEM_ATTACH_GLOBAL = 1,
	CU_MEM_ATTACH_HOST = 2,
	CU_MEM_ATTACH_SINGLE = 4,
	CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 1,
};

typedef enum {
	CU_STREAM_WAIT_VALUE_GEQ = 0,
	CU_STREAM_WAIT_VALUE_EQ = 1,
	CU_STREAM_WAIT_VALUE_AND = 2,
	CU_STREAM_WAIT_VALUE_NOR = 3,
	CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30,
} CUstreamWaitValue_flags;

typedef enum {
	CU_STREAM_WRITE_VALUE_DEFAULT = 0,
	CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1,
} CUstreamWriteValue_flags;

typedef enum {
	CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
	CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
	CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
	CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
	CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
	CU_STREAM_MEM_OP_BARRIER = 6,
} CUstreamBatchMemOpType;

typedef union {
	CUstreamBatchMemOpType operation;
	struct {
		CUstreamBatchMemOpType operation;
		CUdeviceptr address;
		union {
			uint32_t value;
			uint64_t value64;
		};
		unsigned int flags;
		CUdeviceptr alias;
	} waitValue;
	struct {
		CUstreamBatchMemOpType operation;
		CUdeviceptr address;
		union {
			uint32_t value;
			uint64_t value64;
		};
		unsigned int flags;
		CUdeviceptr alias;
	} writeValue;
	struct {
		CUstreamBatchMemOpType operation;
		unsigned int flags;
	} flushRemoteWrites, memoryBarrier;
	uint64_t pad[6];
} CUstreamBatchMemOpParams;

typedef enum {
	CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX = 0,
} CUflushGPUDirectRDMAWritesTarget;

typedef enum {
	CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER = 100,
	CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES = 200,
} CUflushGPUDirectRDMAWritesScope;

typedef enum {
	CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1,
} CUmemRangeHandleType;

enum {
	CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE = 1,
};

typedef enum {
	CU_GET_PROC_ADDRESS_SUCCESS = 0,
	CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
	CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
} CUdriverProcAddressQueryResult;

enum {
	CU_GET_PROC_ADDRESS_DEFAULT = 0,
	CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
	CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2,
};

typedef struct {
	size_t srcXInBytes, srcY;
	CUmemorytype srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	void *srcArray;
	size_t srcPitch;
	size_t dstXInBytes, dstY;
	CUmemorytype dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	void *dstArray;
	size_t dstPitch;
	size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef enum {
	CU_MEM_ALLOCATION_TYPE_PINNED = 1,
} CUmemAllocationType;

typedef enum {
	CU_MEM_LOCATION_TYPE_INVALID = 0,
	CU_MEM_LOCATION_TYPE_DEVICE = 1,
	CU_MEM_LOCATION_TYPE_HOST = 2,
} CUmemLocationType;

typedef struct {
	CUmemLocationType type;
	int id;
} CUmemLocation;

typedef struct {
	CUmemAllocationType allocType;
	int handleTypes;
	CUmemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
} CUmemPoolProps;

typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;

typedef enum {
	CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC = 2,
	CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
	CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
	CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
	CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH = 6,
	CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
	CU_MEMPOOL_ATTR_USED_MEM_HIGH = 8,
} CUmemPool_attribute;

typedef struct {
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	void *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

/* Two values of the array @extra of cuLaunchKernel(), and its end. */
#define CU_LAUNCH_PARAM_END ((void *)0x0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x2)

/* ------------------------------------------------- the library, and devices */
CUresult cuInit(unsigned int flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuGetErrorName(CUresult error, const char **text);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags,
			     CUdriverProcAddressQueryResult *status);
CUresult cuGetExportTable(const void **table, const CUuuid *id);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetName(char *name, int len, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attr, CUdevice device);
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id);
CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice device);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
CUresult cuDeviceGetP2PAttribute(int *value, int attr, CUdevice from, CUdevice to);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
				    CUflushGPUDirectRDMAWritesScope scope);

/* ---------------------------------------------------------------- contexts */
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active);
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *ctx, void *affinity, int count, unsigned int flags,
			CUdevice device);
CUresult cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned int flags,
			CUdevice device);
CUresult cuCtxDestroy(CUcontext ctx);
CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuCtxPushCurrent(CUcontext ctx);
CUresult cuCtxPushCurrent_v2(CUcontext ctx);
CUresult cuCtxPopCurrent(CUcontext *ctx);
CUresult cuCtxPopCurrent_v2(CUcontext *ctx);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxGetCurrent(CUcontext *ctx);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx);
CUresult cuCtxGetFlags(unsigned int *flags);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id);
CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int *version);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxGetLimit(size_t *value, int limit);
CUresult cuCtxSetLimit(int limit, size_t value);
CUresult cuCtxGetCacheConfig(int *config);
CUresult cuCtxSetCacheConfig(int config);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext ctx);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxDisablePeerAccess(CUcontext peer);

/* ------------------------------------------------------------------ memory */
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			    unsigned int element);
CUresult cuMemFree_v2(CUdeviceptr ptr);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr);
CUresult cuMemAllocHost_v2(void **ptr, size_t bytes);
CUresult cuMemFreeHost(void *ptr);
CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device_ptr, void *ptr,
				      unsigned int flags);
CUresult cuMemHostGetFlags(unsigned int *flags, void *ptr);
CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags);
CUresult cuMemHostUnregister(void *ptr);
CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags);
CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice to, CUstream stream);
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr ptr, size_t bytes, CUdevice to,
				 CUstream stream);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation to,
			       unsigned int flags, CUstream stream);
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr ptr, size_t bytes, CUmemLocation to,
				    unsigned int flags, CUstream stream);
CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, int advice, CUdevice device);
CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation to);
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr);
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attrs,
				void **data, CUdeviceptr ptr);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attr,
			       CUdeviceptr ptr);
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t size,
				       CUmemRangeHandleType type,
				       unsigned long long flags);
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle,
			       unsigned int flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr ptr);
CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event);
CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle);

/* ------------------------------------------- memory in the order of streams */
CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr ptr, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				 CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				      CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location);

/* ------------------------------------------------------- copies and memsets */
/* Each of these exists three times: as in the list, with _ptds (if synchronous) or _ptsz
 * (if asynchronous) for programs whose default stream is that of the thread.
 */
#define RN_CU_COPIES(X)                                                               \
	X(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t len), (to, from, len))  \
	X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t len),            \
	  (to, from, len))                                                            \
	X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t len), (to, from, len)) \
	X(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t len),            \
	  (to, from, len))                                                            \
	X(cuMemcpyPeer,                                                               \
	  (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,    \
	   size_t len),                                                               \
	  (to, to_ctx, from, from_ctx, len))                                          \
	X(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy), (copy))                         \
	X(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *copy), (copy))                \
	X(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count),         \
	  (to, value, count))                                                         \
	X(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count),       \
	  (to, value, count))                                                         \
	X(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count),         \
	  (to, value, count))                                                         \
	X(cuMemsetD2D8_v2,                                                            \
	  (CUdeviceptr to, size_t pitch, unsigned char value, size_t width,           \
	   size_t height),                                                            \
	  (to, pitch, value, width, height))

#define RN_CU_ASYNC_COPIES(X)                                                      \
	X(cuMemcpyAsync,                                                           \
	  (CUdeviceptr to, CUdeviceptr from, size_t len, CUstream stream),         \
	  (to, from, len, rn_cu_ptsz(stream)))                                     \
	X(cuMemcpyHtoDAsync_v2,                                                    \
	  (CUdeviceptr to, const void *from, size_t len, CUstream stream),         \
	  (to, from, len, rn_cu_ptsz(stream)))                                     \
	X(cuMemcpyDtoHAsync_v2,                                                    \
	  (void *to, CUdeviceptr from, size_t len, CUstream stream),               \
	  (to, from, len, rn_cu_ptsz(stream)))                                     \
	X(cuMemcpyDtoDAsync_v2,                                                    \
	  (CUdeviceptr to, CUdeviceptr from, size_t len, CUstream stream),         \
	  (to, from, len, rn_cu_ptsz(stream)))                                     \
	X(cuMemcpyPeerAsync,                                                       \
	  (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, \
	   size_t len, CUstream stream),                                           \
	  (to, to_ctx, from, from_ctx, len, rn_cu_ptsz(stream)))                   \
	X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream),        \
	  (copy, rn_cu_ptsz(stream)))                                              \
	X(cuMemsetD8Async,                                                         \
	  (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),    \
	  (to, value, count, rn_cu_ptsz(stream)))                                  \
	X(cuMemsetD16Async,                                                        \
	  (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),   \
	  (to, value, count, rn_cu_ptsz(stream)))                                  \
	X(cuMemsetD32Async,                                                        \
	  (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),     \
	  (to, value, count, rn_cu_ptsz(stream)))                                  \
	X(cuMemsetD2D8Async,                                                       \
	  (CUdeviceptr to, size_t pitch, unsigned char value, size_t width,        \
	   size_t height, CUstream stream),                                        \
	  (to, pitch, value, width, height, rn_cu_ptsz(stream)))

/* ------------------------------------------------------- streams and events */
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuEventCreate(CUevent *event, unsigned int flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end);
CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end);
CUresult cuThreadExchangeStreamCaptureMode(int *mode);

/* The same for calls of streams. */
#define RN_CU_STREAM_CALLS(X)                                                            \
	X(cuStreamSynchronize, (CUstream stream), (rn_cu_ptsz(stream)))                  \
	X(cuStreamQuery, (CUstream stream), (rn_cu_ptsz(stream)))                        \
	X(cuStreamGetFlags, (CUstream stream, unsigned int *flags),                      \
	  (rn_cu_ptsz(stream), flags))                                                   \
	X(cuStreamGetPriority, (CUstream stream, int *priority),                         \
	  (rn_cu_ptsz(stream), priority))                                                \
	X(cuStreamGetCtx, (CUstream stream, CUcontext * ctx), (rn_cu_ptsz(stream), ctx)) \
	X(cuStreamGetId, (CUstream stream, unsigned long long *id),                      \
	  (rn_cu_ptsz(stream), id))                                                      \
	X(cuStreamGetDevice, (CUstream stream, CUdevice * device),                       \
	  (rn_cu_ptsz(stream), device))                                                  \
	X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),       \
	  (rn_cu_ptsz(stream), event, flags))                                            \
	X(cuStreamAddCallback,                                                           \
	  (CUstream stream, CUstreamCallback fn, void *arg, unsigned int flags),         \
	  (rn_cu_ptsz(stream), fn, arg, flags))                                          \
	X(cuStreamIsCapturing, (CUstream stream, int *status),                           \
	  (rn_cu_ptsz(stream), status))                                                  \
	X(cuStreamGetCaptureInfo_v2,                                                     \
	  (CUstream stream, int *status, uint64_t *id, CUgraph *graph,                   \
	   const void **dependencies, size_t *count),                                    \
	  (rn_cu_ptsz(stream), status, id, graph, dependencies, count))                  \
	X(cuStreamGetCaptureInfo_v3,                                                     \
	  (CUstream stream, int *status, uint64_t *id, CUgraph *graph,                   \
	   const void **dependencies, const void **edges, size_t *count),                \
	  (rn_cu_ptsz(stream), status, id, graph, dependencies, edges, count))           \
	X(cuStreamAttachMemAsync,                                                        \
	  (CUstream stream, CUdeviceptr ptr, size_t len, unsigned int flags),            \
	  (rn_cu_ptsz(stream), ptr, len, flags))                                         \
	X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *arg),                   \
	  (rn_cu_ptsz(stream), fn, arg))                                                 \
	X(cuStreamWaitValue32_v2,                                                        \
	  (CUstream stream, CUdeviceptr at, uint32_t value, unsigned int flags),         \
	  (rn_cu_ptsz(stream), at, value, flags))                                        \
	X(cuStreamWaitValue64_v2,                                                        \
	  (CUstream stream, CUdeviceptr at, uint64_t value, unsigned int flags),         \
	  (rn_cu_ptsz(stream), at, value, flags))                                        \
	X(cuStreamWriteValue32_v2,                                                       \
	  (CUstream stream, CUdeviceptr at, uint32_t value, unsigned int flags),         \
	  (rn_cu_ptsz(stream), at, value, flags))                                        \
	X(cuStreamWriteValue64_v2,                                                       \
	  (CUstream stream, CUdeviceptr at, uint64_t value, unsigned int flags),         \
	  (rn_cu_ptsz(stream), at, value, flags))                                        \
	X(cuStreamBatchMemOp_v2,                                                         \
	  (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops,           \
	   unsigned int flags),                                                          \
	  (rn_cu_ptsz(stream), count, ops, flags))                                       \
	X(cuEventRecord, (CUevent event, CUstream stream), (event, rn_cu_ptsz(stream)))  \
	X(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),  \
	  (event, rn_cu_ptsz(stream), flags))                                            \
	X(cuLaunchKernel,                                                                \
	  (CUfunction fn, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, \
	   unsigned int block_x, unsigned int block_y, unsigned int block_z,             \
	   unsigned int shared, CUstream stream, void **params, void **extra),           \
	  (fn, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,                \
	   rn_cu_ptsz(stream), params, extra))                                           \
	X(cuLaunchCooperativeKernel,                                                     \
	  (CUfunction fn, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, \
	   unsigned int block_x, unsigned int block_y, unsigned int block_z,             \
	   unsigned int shared, CUstream stream, void **params),                         \
	  (fn, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,                \
	   rn_cu_ptsz(stream), params))

#define RN_CU_DECLARE_DS(name, params, call) \
	CUresult name params;                \
	CUresult name##_ptds params;
#define RN_CU_DECLARE_SZ(name, params, call) \
	CUresult name params;                \
	CUresult name##_ptsz params;
RN_CU_COPIES(RN_CU_DECLARE_DS)
RN_CU_ASYNC_COPIES(RN_CU_DECLARE_SZ)
RN_CU_STREAM_CALLS(RN_CU_DECLARE_SZ)

/* ------------------------------------------------------------------ kernels */
CUresult cuModuleLoad(CUmodule *module, const char *file);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
			    int *options, void **values);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *fn, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
			      const char *name);
CUresult cuFuncGetAttribute(int *value, int attr, CUfunction fn);
CUresult cuFuncSetAttribute(CUfunction fn, int attr, int value);
CUresult cuFuncGetModule(CUmodule *module, CUfunction fn);
CUresult cuFuncGetName(const char **name, CUfunction fn);
CUresult cuFuncSetCacheConfig(CUfunction fn, int config);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **params,
			  void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction fn, void **params,
			       void **extra);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* RN_CU_DRIVER_H */
