/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runtime.h - declarations of those calls of the CUDA runtime API that the stand-ins
 * have.
 *
 * RN_CU_RUNTIME is the major version, 12 or 13, whose layouts are declared. Names,
 * numbers and layouts are those of the public API, as in driver.h.
 *
 * Source: the reference manual of the CUDA runtime API, releases 12.0 to 13.0.
 */
#ifndef RN_CU_RUNTIME_H
#define RN_CU_RUNTIME_H

#include "driver.h"

#ifndef RN_CU_RUNTIME
#define RN_CU_RUNTIME 13
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Errors have the numbers of the driver's; those that are named here are used by name. */
typedef enum {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInvalidPitchValue = 12,
	cudaErrorInvalidSymbol = 13,
	cudaErrorInvalidMemcpyDirection = 21,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorNoDevice = 100,
	cudaErrorInvalidDevice = 101,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorSymbolNotFound = 500,
	cudaErrorNotReady = 600,
	cudaErrorNotSupported = 801,
} cudaError_t;

typedef enum {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4,
} cudaMemcpyKind;

typedef enum {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3,
} cudaMemoryType;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *arg);

struct cudaPointerAttributes {
	cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
#if RN_CU_RUNTIME >= 13
	long reserved[8];
#endif
};

typedef struct {
	unsigned int x, y, z;
} rn_cu_dim3;

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
	int maxDynamicSharedSizeBytes, preferredShmemCarveout;
	int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
	int requiredClusterDepth, clusterSchedulingPolicyAllowed;
	int nonPortableClusterSizeAllowed, reserved[16];
};

typedef struct {
	rn_cu_dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	void *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

/* Fields of struct cudaDeviceProp in their order: INT(name, attribute of the driver),
 * INTS(name, length), SIZE(name, attribute), and what one version has only. An attribute
 * 0 is none: the field is zero, or is set by its name.
 */
#if RN_CU_RUNTIME >= 13
#define RN_CU_ONLY_12(field)
#define RN_CU_ONLY_13(field) field
#else
#define RN_CU_ONLY_12(field) field
#define RN_CU_ONLY_13(field)
#endif
#define RN_CU_PROPS(INT, INTS, SIZE)                             \
	SIZE(totalGlobalMem, 0)                                  \
	SIZE(sharedMemPerBlock, 8)                               \
	INT(regsPerBlock, 12)                                    \
	INT(warpSize, 10)                                        \
	SIZE(memPitch, 11)                                       \
	INT(maxThreadsPerBlock, 1)                               \
	INTS(maxThreadsDim, 3)                                   \
	INTS(maxGridSize, 3)                                     \
	RN_CU_ONLY_12(INT(clockRate, 13))                        \
	SIZE(totalConstMem, 9)                                   \
	INT(major, 75)                                           \
	INT(minor, 76)                                           \
	SIZE(textureAlignment, 14)                               \
	SIZE(texturePitchAlignment, 51)                          \
	RN_CU_ONLY_12(INT(deviceOverlap, 15))                    \
	INT(multiProcessorCount, 16)                             \
	RN_CU_ONLY_12(INT(kernelExecTimeoutEnabled, 17))         \
	INT(integrated, 18)                                      \
	INT(canMapHostMemory, 19)                                \
	RN_CU_ONLY_12(INT(computeMode, 20))                      \
	INTS(maxTexture1D, 1)                                    \
	INTS(maxTexture1DMipmap, 1)                              \
	RN_CU_ONLY_12(INTS(maxTexture1DLinear, 1))               \
	INTS(maxTexture2D, 2)                                    \
	INTS(maxTexture2DMipmap, 2)                              \
	INTS(maxTexture2DLinear, 3)                              \
	INTS(maxTexture2DGather, 2)                              \
	INTS(maxTexture3D, 3)                                    \
	INTS(maxTexture3DAlt, 3)                                 \
	INTS(maxTextureCubemap, 1)                               \
	INTS(maxTexture1DLayered, 2)                             \
	INTS(maxTexture2DLayered, 3)                             \
	INTS(maxTextureCubemapLayered, 2)                        \
	INTS(maxSurface1D, 1)                                    \
	INTS(maxSurface2D, 2)                                    \
	INTS(maxSurface3D, 3)                                    \
	INTS(maxSurface1DLayered, 2)                             \
	INTS(maxSurface2DLayered, 3)                             \
	INTS(maxSurfaceCubemap, 1)                               \
	INTS(maxSurfaceCubemapLayered, 2)                        \
	SIZE(surfaceAlignment, 14)                               \
	INT(concurrentKernels, 31)                               \
	INT(ECCEnabled, 32)                                      \
	INT(pciBusID, 33)                                        \
	INT(pciDeviceID, 34)                                     \
	INT(pciDomainID, 50)                                     \
	INT(tccDriver, 35)                                       \
	INT(asyncEngineCount, 40)                                \
	INT(unifiedAddressing, 41)                               \
	RN_CU_ONLY_12(INT(memoryClockRate, 36))                  \
	INT(memoryBusWidth, 37)                                  \
	INT(l2CacheSize, 38)                                     \
	INT(persistingL2CacheMaxSize, 108)                       \
	INT(maxThreadsPerMultiProcessor, 39)                     \
	INT(streamPrioritiesSupported, 78)                       \
	INT(globalL1CacheSupported, 79)                          \
	INT(localL1CacheSupported, 80)                           \
	SIZE(sharedMemPerMultiprocessor, 81)                     \
	INT(regsPerMultiprocessor, 82)                           \
	INT(managedMemory, 83)                                   \
	INT(isMultiGpuBoard, 84)                                 \
	INT(multiGpuBoardGroupID, 85)                            \
	INT(hostNativeAtomicSupported, 86)                       \
	RN_CU_ONLY_12(INT(singleToDoublePrecisionPerfRatio, 87)) \
	INT(pageableMemoryAccess, 88)                            \
	INT(concurrentManagedAccess, 89)                         \
	INT(computePreemptionSupported, 90)                      \
	INT(canUseHostPointerForRegisteredMem, 91)               \
	INT(cooperativeLaunch, 95)                               \
	RN_CU_ONLY_12(INT(cooperativeMultiDeviceLaunch, 96))     \
	SIZE(sharedMemPerBlockOptin, 97)                         \
	INT(pageableMemoryAccessUsesHostPageTables, 100)         \
	INT(directManagedMemAccessFromHost, 101)                 \
	INT(maxBlocksPerMultiProcessor, 106)                     \
	INT(accessPolicyMaxWindowSize, 109)                      \
	SIZE(reservedSharedMemPerBlock, 111)                     \
	INT(hostRegisterSupported, 99)                           \
	INT(sparseCudaArraySupported, 112)                       \
	INT(hostRegisterReadOnlySupported, 113)                  \
	INT(timelineSemaphoreInteropSupported, 114)              \
	INT(memoryPoolsSupported, 115)                           \
	INT(gpuDirectRDMASupported, 116)                         \
	INT(gpuDirectRDMAFlushWritesOptions, 117)                \
	INT(gpuDirectRDMAWritesOrdering, 118)                    \
	INT(memoryPoolSupportedHandleTypes, 119)                 \
	INT(deferredMappingCudaArraySupported, 121)              \
	INT(ipcEventSupported, 125)                              \
	INT(clusterLaunch, 120)                                  \
	INT(unifiedFunctionPointers, 129)                        \
	RN_CU_ONLY_13(INT(deviceNumaConfig, 130))                \
	RN_CU_ONLY_13(INT(deviceNumaId, 131))                    \
	RN_CU_ONLY_13(INT(mpsEnabled, 133))                      \
	RN_CU_ONLY_13(INT(hostNumaId, 134))                      \
	RN_CU_ONLY_13(INTS(gpuPciDeviceID, 1))                   \
	RN_CU_ONLY_13(INTS(gpuPciSubsystemID, 1))                \
	RN_CU_ONLY_13(INTS(hostNumaMultinodeIpcSupported, 1))

#define RN_CU_PROP_INT(name, attr) int name;
#define RN_CU_PROP_INTS(name, length) int name[length];
#define RN_CU_PROP_SIZE(name, attr) size_t name;
struct cudaDeviceProp {
	char name[256];
	CUuuid uuid;
	char luid[8];
	unsigned int luidDeviceNodeMask;
	RN_CU_PROPS(RN_CU_PROP_INT, RN_CU_PROP_INTS, RN_CU_PROP_SIZE)
#if RN_CU_RUNTIME >= 13
	int reserved[56];
#else
	int reserved[63];
#endif
};

/* Of one version each. */
#if RN_CU_RUNTIME >= 13
_Static_assert(sizeof(struct cudaDeviceProp) == 1008, "as the library of CUDA 13");
#else
_Static_assert(sizeof(struct cudaDeviceProp) == 1032, "as the library of CUDA 12");
#endif

/* ------------------------------------------------------- devices and errors */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
#if RN_CU_RUNTIME >= 13
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
#else
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device);
#endif
cudaError_t cudaDeviceGetAttribute(int *value, int attr, int device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceGetLimit(size_t *value, int limit);
cudaError_t cudaDeviceSetLimit(int limit, size_t value);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int *value, int attr, int from, int to);
cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* ------------------------------------------------------------------- memory */
cudaError_t cudaMalloc(void **ptr, size_t bytes);
cudaError_t cudaFree(void *ptr);
cudaError_t cudaMallocHost(void **ptr, size_t bytes);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned int flags);
cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *ptr);
cudaError_t cudaHostGetDevicePointer(void **device_ptr, void *ptr, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *ptr);
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned int flags);
cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attrs,
				     const void *ptr);
cudaError_t cudaIpcGetMemHandle(CUipcMemHandle *handle, void *ptr);
cudaError_t cudaIpcOpenMemHandle(void **ptr, CUipcMemHandle handle, unsigned int flags);
cudaError_t cudaIpcCloseMemHandle(void *ptr);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const CUmemPoolProps *props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attr, void *value);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attr, void *value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const CUmemAccessDesc *map,
				 size_t count);
cudaError_t cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, CUmemLocation *at);

/* --------------------------------------------------------- streams and events */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
					 int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **fn,
				    unsigned long long flags,
				    CUdriverProcAddressQueryResult *status);
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **fn,
					     unsigned int version,
					     unsigned long long flags,
					     CUdriverProcAddressQueryResult *status);

/* Calls that also exist with _ptds: the name, its parameters, and a call of it. */
#define RN_CU_RT_SYNC(X)                                                                 \
	X(cudaMemcpy, (void *to, const void *from, size_t len, cudaMemcpyKind kind),     \
	  (to, from, len, kind))                                                         \
	X(cudaMemcpy2D,                                                                  \
	  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, \
	   size_t height, cudaMemcpyKind kind),                                          \
	  (to, to_pitch, from, from_pitch, width, height, kind))                         \
	X(cudaMemset, (void *to, int value, size_t count), (to, value, count))           \
	X(cudaMemset2D,                                                                  \
	  (void *to, size_t pitch, int value, size_t width, size_t height),              \
	  (to, pitch, value, width, height))

/* Likewise with _ptsz. */
#define RN_CU_RT_ASYNC(X)                                                                \
	X(cudaMemcpyAsync,                                                               \
	  (void *to, const void *from, size_t len, cudaMemcpyKind kind, cudaStream_t s), \
	  (to, from, len, kind, rn_cu_rt_ptsz(s)))                                       \
	X(cudaMemcpy2DAsync,                                                             \
	  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, \
	   size_t height, cudaMemcpyKind kind, cudaStream_t s),                          \
	  (to, to_pitch, from, from_pitch, width, height, kind, rn_cu_rt_ptsz(s)))       \
	X(cudaMemsetAsync, (void *to, int value, size_t count, cudaStream_t s),          \
	  (to, value, count, rn_cu_rt_ptsz(s)))                                          \
	X(cudaMemset2DAsync,                                                             \
	  (void *to, size_t pitch, int value, size_t width, size_t height,               \
	   cudaStream_t s),                                                              \
	  (to, pitch, value, width, height, rn_cu_rt_ptsz(s)))                           \
	X(cudaMallocAsync, (void **ptr, size_t bytes, cudaStream_t s),                   \
	  (ptr, bytes, rn_cu_rt_ptsz(s)))                                                \
	X(cudaMallocFromPoolAsync,                                                       \
	  (void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t s),                \
	  (ptr, bytes, pool, rn_cu_rt_ptsz(s)))                                          \
	X(cudaFreeAsync, (void *ptr, cudaStream_t s), (ptr, rn_cu_rt_ptsz(s)))           \
	X(cudaStreamSynchronize, (cudaStream_t s), (rn_cu_rt_ptsz(s)))                   \
	X(cudaStreamQuery, (cudaStream_t s), (rn_cu_rt_ptsz(s)))                         \
	X(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t event, unsigned int flags),  \
	  (rn_cu_rt_ptsz(s), event, flags))                                              \
	X(cudaStreamAddCallback,                                                         \
	  (cudaStream_t s, cudaStreamCallback_t fn, void *arg, unsigned int flags),      \
	  (rn_cu_rt_ptsz(s), fn, arg, flags))                                            \
	X(cudaStreamGetFlags, (cudaStream_t s, unsigned int *flags),                     \
	  (rn_cu_rt_ptsz(s), flags))                                                     \
	X(cudaStreamGetPriority, (cudaStream_t s, int *priority),                        \
	  (rn_cu_rt_ptsz(s), priority))                                                  \
	X(cudaStreamGetId, (cudaStream_t s, unsigned long long *id),                     \
	  (rn_cu_rt_ptsz(s), id))                                                        \
	X(cudaStreamGetDevice, (cudaStream_t s, int *device),                            \
	  (rn_cu_rt_ptsz(s), device))                                                    \
	X(cudaStreamIsCapturing, (cudaStream_t s, int *status),                          \
	  (rn_cu_rt_ptsz(s), status))                                                    \
	X(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t fn, void *arg),              \
	  (rn_cu_rt_ptsz(s), fn, arg))                                                   \
	X(cudaEventRecord, (cudaEvent_t event, cudaStream_t s),                          \
	  (event, rn_cu_rt_ptsz(s)))                                                     \
	X(cudaEventRecordWithFlags,                                                      \
	  (cudaEvent_t event, cudaStream_t s, unsigned int flags),                       \
	  (event, rn_cu_rt_ptsz(s), flags))                                              \
	X(cudaLaunchKernel,                                                              \
	  (const void *fn, rn_cu_dim3 grid, rn_cu_dim3 block, void **args,               \
	   size_t shared, cudaStream_t s),                                               \
	  (fn, grid, block, args, shared, rn_cu_rt_ptsz(s)))                             \
	X(cudaLaunchCooperativeKernel,                                                   \
	  (const void *fn, rn_cu_dim3 grid, rn_cu_dim3 block, void **args,               \
	   size_t shared, cudaStream_t s),                                               \
	  (fn, grid, block, args, shared, rn_cu_rt_ptsz(s)))

#define RN_CU_RT_DECLARE_DS(name, params, call) \
	cudaError_t name params;                \
	cudaError_t name##_ptds params;
#define RN_CU_RT_DECLARE_SZ(name, params, call) \
	cudaError_t name params;                \
	cudaError_t name##_ptsz params;
RN_CU_RT_SYNC(RN_CU_RT_DECLARE_DS)
RN_CU_RT_ASYNC(RN_CU_RT_DECLARE_SZ)

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
			   size_t len);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
				int from_device, size_t len, cudaStream_t stream);

/* ------------------------------------------------------------------- kernels */
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *fn,
				void **args);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attrs, const void *fn);
cudaError_t cudaFuncSetAttribute(const void *fn, int attr, int value);

/* What a program that the compiler of CUDA has made calls by itself. */
/* NOLINTBEGIN(cert-dcl51-cpp,cert-dcl37-c,bugprone-reserved-identifier): its names */
cudaError_t __cudaGetKernel(const void **kernel, const void *fn);
cudaError_t __cudaLaunchKernel(const void *kernel, rn_cu_dim3 grid, rn_cu_dim3 block,
			       void **args, size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(const void *kernel, rn_cu_dim3 grid, rn_cu_dim3 block,
				    void **args, size_t shared, cudaStream_t stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host_fn, char *device_fn,
			    const char *name, int threads, void *tid, void *bid,
			    void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host_var, char *device_address,
		       const char *name, int ext, size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(rn_cu_dim3 grid, rn_cu_dim3 block, size_t shared,
				     cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(rn_cu_dim3 *grid, rn_cu_dim3 *block,
				       size_t *shared, void *stream);
/* NOLINTEND(cert-dcl51-cpp,cert-dcl37-c,bugprone-reserved-identifier) */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* RN_CU_RUNTIME_H */
