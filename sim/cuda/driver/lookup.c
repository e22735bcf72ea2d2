/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lookup.c - the driver API: calls by their names, and the names of errors. */
#include <string.h>

#include "driver.h"

typedef void call_fn(void);

static const struct call {
	const char *name;
	int version;
	call_fn *fn, *per_thread;
} calls[] = {
#define CALL(name, version, symbol, per_thread, difference) \
	{ #name, version, (call_fn *)(symbol), (call_fn *)(per_thread) },
#define TOPIC(title)
#define ABSENT(topic, names, instead)
#include "calls.def"
#undef CALL
#undef TOPIC
#undef ABSENT
};

/* Returns the newest call of that name that is not newer than @version. Sets *@is_named
 * if there is any.
 */
static const struct call *find_call(const char *name, int version, bool *is_named)
{
	const struct call *found = NULL;

	*is_named = false;
	for (size_t i = 0; i < RN_ARRAY_SIZE(calls); i++) {
		if (strcmp(calls[i].name, name) != 0)
			continue;
		*is_named = true;
		if (calls[i].version <= version)
			found = &calls[i];
	}
	return found;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SUCCESS;
	const struct call *call;
	call_fn *at;
	bool is_named;

	if (!symbol || !fn || flags > 3)
		return CUDA_ERROR_INVALID_VALUE;
	call = find_call(symbol, version, &is_named);
	if (!call)
		result = is_named ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (status)
		*status = result;
	*fn = NULL;
	if (!call)
		return CUDA_ERROR_NOT_FOUND;
	at = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? call->per_thread
								   : call->fn;
	memcpy(fn, &at, sizeof(at));
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, fn, version, flags, NULL);
}

/* The tables that the static runtime library asks for are not documented. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

/* ------------------------------------------------------------------ errors */
static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define ERROR(name, text)         \
	{                         \
		name, #name, text \
	}
	ERROR(CUDA_SUCCESS, "no error"),
	ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
	ERROR(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
	ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
	      "peer access is not supported between these two devices"),
	ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
	ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
	ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
	ERROR(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
	ERROR(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
	      "cannot set while device is active in this process"),
	ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
	      "part or all of the requested memory range is already mapped"),
	ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
	      "pointer does not correspond to a registered memory region"),
	ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
	ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};

/* Returns the index of an error in the table, or -1. */
static int index_of(CUresult error)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(errors); i++)
		if (errors[i].code == error)
			return (int)i;
	return -1;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
	int i = index_of(error);

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = i < 0 ? NULL : errors[i].name;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	int i = index_of(error);

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = i < 0 ? NULL : errors[i].text;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
