/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cuda_driver.c - looks up the functions of libcuda.so.1, if the process has it loaded;
 * see cuda_driver.h.
 */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "rocin/host_api.h"
#include "rocin/types.h"
#include "transport/io/host/log.h"

/* Name of a function, and the offset of its pointer in struct rn_cu_driver. */
struct symbol {
	const char *name;
	size_t at;
};

#define SYMBOL(symbol, member)                                \
	{                                                     \
		symbol, offsetof(struct rn_cu_driver, member) \
	}

static const struct symbol symbols[] = {
	SYMBOL("cuPointerGetAttributes", get_attributes),
	SYMBOL("cuPointerSetAttribute", set_attribute),
	SYMBOL("cuCtxPushCurrent_v2", ctx_push),
	SYMBOL("cuCtxPopCurrent_v2", ctx_pop),
	SYMBOL("cuCtxGetCurrent", ctx_current),
	SYMBOL("cuCtxGetDevice", ctx_device),
	SYMBOL("cuDeviceGet", device_get),
	SYMBOL("cuDevicePrimaryCtxRetain", primary_retain),
	SYMBOL("cuStreamCreate", stream_create),
	SYMBOL("cuStreamDestroy_v2", stream_destroy),
	SYMBOL("cuStreamSynchronize", stream_synchronize),
	SYMBOL("cuStreamWaitEvent", stream_wait_event),
	SYMBOL("cuLaunchHostFunc", launch_host),
	SYMBOL("cuEventCreate", event_create),
	SYMBOL("cuEventDestroy_v2", event_destroy),
	SYMBOL("cuEventRecord", event_record),
	SYMBOL("cuEventQuery", event_query),
	SYMBOL("cuMemcpyHtoDAsync_v2", to_device),
	SYMBOL("cuMemcpyDtoHAsync_v2", to_host),
	SYMBOL("cuMemHostRegister_v2", host_register),
	SYMBOL("cuMemHostUnregister", host_unregister),
	SYMBOL("cuThreadExchangeStreamCaptureMode", capture_mode),
	SYMBOL("cuGetErrorName", error_name),
};

static_assert(sizeof(struct rn_cu_driver) == RN_ARRAY_SIZE(symbols) * sizeof(void *),
	      "each function has a symbol");

static struct rn_cu_driver found;
/* Points to @found once all of its members are set. Several threads may set them at the
 * same time; they store the same values.
 */
static _Atomic(const struct rn_cu_driver *) driver;

static bool look_up(void *library)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol) {
			rn_log(RN_LOG_WARN,
			       RN_CUDA_LIBRARY
			       " has no %s; memory of GPUs cannot be "
			       "registered with this CUDA driver, which is "
			       "older than 10.1",
			       symbols[i].name);
			return false;
		}
		__atomic_store_n((void **)((char *)&found + symbols[i].at), symbol,
				 __ATOMIC_RELAXED);
	}
	return true;
}

static int is_driver(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *file = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)arg;
	/* The file may also be libcuda.so or libcuda.so.580.65. */
	return strncmp(file ? file + 1 : info->dlpi_name, "libcuda.so",
		       strlen("libcuda.so")) == 0;
}

/* The loaded libraries are looked through, because a dlopen() that finds nothing would
 * replace the text that the program may be about to get from dlerror().
 */
bool rn_cu_is_in_process(void)
{
	return dl_iterate_phdr(is_driver, NULL) != 0;
}

const struct rn_cu_driver *rn_cu_driver(void)
{
	static atomic_bool is_useless;
	const struct rn_cu_driver *known =
		atomic_load_explicit(&driver, memory_order_acquire);
	void *library;

	if (known || atomic_load(&is_useless) || !rn_cu_is_in_process())
		return known;
	/* The library stays loaded from now on, as copies may be under way at any time.
	 */
	library = dlopen(RN_CUDA_LIBRARY, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (!library)
		return NULL;
	/* What stands in for the driver on machines without a GPU is built on simulated
	 * GPUs, whose memory the device reaches as that of the program.
	 */
	if (dlsym(library, RN_HOST_API_SYMBOL) || !look_up(library)) {
		atomic_store(&is_useless, true);
		return NULL;
	}
	atomic_store_explicit(&driver, &found, memory_order_release);
	return &found;
}
