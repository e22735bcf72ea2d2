/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stream.c - the runtime API: streams and events. */
#include "runtime.h"

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
					 int priority)
{
	return RN_CU_RT(cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	return RN_CU_RT(cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return cudaStreamCreateWithFlags(stream, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return RN_CU_RT(cuStreamDestroy_v2(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	return RN_CU_RT(cuStreamSynchronize(s));
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
	return RN_CU_RT(cuStreamQuery(s));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned int flags)
{
	return RN_CU_RT(cuStreamWaitEvent(s, event, flags));
}

/* The numbers of the two kinds of errors are the same. */
cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t fn, void *arg,
				  unsigned int flags)
{
	return RN_CU_RT(
		cuStreamAddCallback(s, (CUstreamCallback)(void (*)(void))fn, arg, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned int *flags)
{
	return RN_CU_RT(cuStreamGetFlags(s, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t s, int *priority)
{
	return RN_CU_RT(cuStreamGetPriority(s, priority));
}

cudaError_t cudaStreamGetId(cudaStream_t s, unsigned long long *id)
{
	return RN_CU_RT(cuStreamGetId(s, id));
}

cudaError_t cudaStreamGetDevice(cudaStream_t s, int *device)
{
	return RN_CU_RT(cuStreamGetDevice(s, device));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, int *status)
{
	return RN_CU_RT(cuStreamIsCapturing(s, status));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(int *mode)
{
	return rn_cu_rt_end(cuThreadExchangeStreamCaptureMode(mode));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *arg)
{
	return RN_CU_RT(cuLaunchHostFunc(s, fn, arg));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return RN_CU_RT(cuEventCreate(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return RN_CU_RT(cuEventDestroy_v2(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RN_CU_RT(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RN_CU_RT(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return RN_CU_RT(cuEventElapsedTime(ms, start, end));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s,
				     unsigned int flags)
{
	return RN_CU_RT(cuEventRecordWithFlags(event, s, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t s)
{
	return cudaEventRecordWithFlags(event, s, 0);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **fn,
					     unsigned int version,
					     unsigned long long flags,
					     CUdriverProcAddressQueryResult *status)
{
	CUresult rc = cuGetProcAddress_v2(symbol, fn, (int)version, flags, status);

	/* That there is no such call is no error here, but what *@status says. */
	return rc == CUDA_ERROR_NOT_FOUND && status ? cudaSuccess : rn_cu_rt_end(rc);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **fn,
				    unsigned long long flags,
				    CUdriverProcAddressQueryResult *status)
{
	return cudaGetDriverEntryPointByVersion(
		symbol, fn, RN_CU_RUNTIME >= 13 ? 13000 : 12080, flags, status);
}
