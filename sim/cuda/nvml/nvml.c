/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nvml.c - the stand-in of NVML: what a program asks to find GPUs. All GPUs are alike,
 * and none has NVLink.
 */
#include "sim/cuda/api/nvml.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "rocin/gpu.h"
#include "rocin/types.h"
#include "sim/cuda/api/driver.h"

enum {
	DEVICES_MAX = 4,
	UUID_LEN = 41, /* "GPU-" and a UUID, with the byte at the end */
	PCIE_GENERATION = 4,
	PCIE_WIDTH = 16,
};

struct nvmlDevice_st {
	int number;
};

static struct nvmlDevice_st devices[DEVICES_MAX] = { { 0 }, { 1 }, { 2 }, { 3 } };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;

/* ---------------------------------------------------------- initialisation */
nvmlReturn_t nvmlInit_v2(void)
{
	CUresult rc = cuInit(0);

	if (rc)
		return NVML_ERROR_DRIVER_NOT_LOADED;
	pthread_mutex_lock(&lock);
	users++;
	pthread_mutex_unlock(&lock);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit(void)
{
	return nvmlInit_v2();
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
	(void)flags;
	return nvmlInit_v2();
}

static bool is_initialized(void)
{
	bool yes;

	pthread_mutex_lock(&lock);
	yes = users > 0;
	pthread_mutex_unlock(&lock);
	return yes;
}

nvmlReturn_t nvmlShutdown(void)
{
	nvmlReturn_t rc = NVML_ERROR_UNINITIALIZED;

	pthread_mutex_lock(&lock);
	if (users) {
		users--;
		rc = NVML_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	}
	return "Unknown Error";
}

/* Returns the error of a call about @device. */
static nvmlReturn_t check(nvmlDevice_t device, const void *out)
{
	if (!is_initialized())
		return NVML_ERROR_UNINITIALIZED;
	if (!out || device < devices || device >= devices + rn_gpu_count())
		return NVML_ERROR_INVALID_ARGUMENT;
	return NVML_SUCCESS;
}

static nvmlReturn_t put_text(char *to, unsigned int len, const char *text)
{
	if (!is_initialized())
		return NVML_ERROR_UNINITIALIZED;
	if (!to)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= len)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(to, text, strlen(text) + 1);
	return NVML_SUCCESS;
}

/* ------------------------------------------------------------------ system */
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int len)
{
	return put_text(version, len, "580.0 (Rocin " ROCIN_VERSION ")");
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int len)
{
	return put_text(version, len, "13.580.0");
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return version && !cuDriverGetVersion(version) ? NVML_SUCCESS
						       : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
	return nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!is_initialized())
		return NVML_ERROR_UNINITIALIZED;
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = (unsigned)rn_gpu_count();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
	return nvmlDeviceGetCount_v2(count);
}

/* ------------------------------------------------------- which GPU is which */
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (!is_initialized())
		return NVML_ERROR_UNINITIALIZED;
	if (!device || index >= (unsigned)rn_gpu_count())
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = &devices[index];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
	CUdevice number;

	if (!is_initialized())
		return NVML_ERROR_UNINITIALIZED;
	if (!id || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (cuDeviceGetByPCIBusId(&number, id))
		return NVML_ERROR_NOT_FOUND;
	*device = &devices[number];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *device)
{
	return nvmlDeviceGetHandleByPciBusId_v2(id, device);
}

static void format_uuid(int number, char *text)
{
	CUuuid uuid = { { 0 } };
	size_t at;

	(void)cuDeviceGetUuid(&uuid, number);
	at = (size_t)sprintf(text, "GPU");
	for (unsigned i = 0; i < sizeof(uuid.bytes); i++)
		at += (size_t)sprintf(
			text + at, "%s%02x",
			i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			(unsigned char)uuid.bytes[i]);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int len)
{
	char text[UUID_LEN];
	nvmlReturn_t rc = check(device, uuid);

	if (rc)
		return rc;
	format_uuid(device->number, text);
	return put_text(uuid, len, text);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	char text[UUID_LEN];

	if (!is_initialized())
		return NVML_ERROR_UNINITIALIZED;
	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < rn_gpu_count(); i++) {
		format_uuid(i, text);
		if (strcmp(text, uuid) != 0)
			continue;
		*device = &devices[i];
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	nvmlReturn_t rc = check(device, index);

	if (!rc)
		*index = (unsigned)device->number;
	return rc;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *number)
{
	return nvmlDeviceGetIndex(device, number);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int len)
{
	char text[64] = "";
	nvmlReturn_t rc = check(device, name);

	if (rc)
		return rc;
	(void)cuDeviceGetName(text, sizeof(text), device->number);
	return put_text(name, len, text);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	nvmlReturn_t rc = check(device, pci);
	int bus = 0;

	if (rc)
		return rc;
	(void)cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device->number);
	memset(pci, 0, sizeof(*pci));
	pci->bus = (unsigned)bus;
	snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0",
		 (unsigned)bus & 0xff);
	snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0",
		 (unsigned)bus & 0xff);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major,
						int *minor)
{
	nvmlReturn_t rc = check(device, major);

	if (rc || !minor)
		return rc ? rc : NVML_ERROR_INVALID_ARGUMENT;
	(void)cuDeviceComputeCapability(major, minor, device->number);
	return NVML_SUCCESS;
}

/* ------------------------------------------------------------------ memory */
static unsigned long long attribute(nvmlDevice_t device, enum rn_gpu_attr attr)
{
	uint64_t value = 0;

	(void)rn_gpu_get_attr(rn_gpu_open(device->number), attr, &value);
	return value;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlReturn_t rc = check(device, memory);

	if (rc)
		return rc;
	memory->total = attribute(device, RN_GPU_ATTR_MEMORY_SIZE);
	memory->free = attribute(device, RN_GPU_ATTR_MEMORY_FREE);
	memory->used = memory->total - memory->free;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	nvmlMemory_t m;
	nvmlReturn_t rc = check(device, memory);

	if (!rc)
		rc = nvmlDeviceGetMemoryInfo(device, &m);
	if (rc)
		return rc;
	memory->total = m.total;
	memory->free = m.free;
	memory->used = m.used;
	memory->reserved = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
	nvmlReturn_t rc = check(device, memory);

	if (rc)
		return rc;
	memory->bar1Total = attribute(device, RN_GPU_ATTR_BAR_SIZE);
	memory->bar1Free = attribute(device, RN_GPU_ATTR_BAR_FREE);
	memory->bar1Used = memory->bar1Total - memory->bar1Free;
	return NVML_SUCCESS;
}

/* ---------------------------------------------------------------- topology */
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b,
						 int *level)
{
	enum {
		INTERNAL = 0,
		SINGLE_SWITCH = 10,
	};
	nvmlReturn_t rc = check(a, level);

	if (!rc)
		rc = check(b, level);
	if (!rc)
		*level = a == b ? INTERNAL : SINGLE_SWITCH;
	return rc;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, int index,
				    int *status)
{
	enum {
		READ = 0,
		WRITE = 1,
		NVLINK = 2,
		PCI = 4,
		OK = 0,
		NOT_SUPPORTED = 5,
	};
	nvmlReturn_t rc = check(a, status);

	if (!rc)
		rc = check(b, status);
	if (!rc && (index < READ || index > PCI))
		rc = NVML_ERROR_INVALID_ARGUMENT;
	if (!rc)
		*status = index == READ || index == WRITE || index == PCI ? OK
									  : NOT_SUPPORTED;
	return rc;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, int *state)
{
	nvmlReturn_t rc = check(device, state);

	(void)link;
	return rc ? rc : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link,
					   int capability, unsigned int *value)
{
	nvmlReturn_t rc = check(device, value);

	(void)link;
	(void)capability;
	return rc ? rc : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
						 nvmlPciInfo_t *pci)
{
	nvmlReturn_t rc = check(device, pci);

	(void)link;
	return rc ? rc : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, void *values)
{
	nvmlReturn_t rc = check(device, values);

	(void)count;
	return rc ? rc : NVML_ERROR_NOT_SUPPORTED;
}

/* All processors that this process may use are near all GPUs. */
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words,
				      unsigned long *set)
{
	nvmlReturn_t rc = check(device, set);
	size_t bits = 8 * sizeof(*set);
	cpu_set_t mine;

	if (rc || !words)
		return rc ? rc : NVML_ERROR_INVALID_ARGUMENT;
	if (sched_getaffinity(0, sizeof(mine), &mine))
		return NVML_ERROR_NOT_SUPPORTED;
	memset(set, 0, words * sizeof(*set));
	for (size_t i = 0; i < words * bits && i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &mine))
			set[i / bits] |= 1UL << i % bits;
	return NVML_SUCCESS;
}

static nvmlReturn_t put_number(nvmlDevice_t device, unsigned int *value, unsigned number)
{
	nvmlReturn_t rc = check(device, value);

	if (!rc)
		*value = number;
	return rc;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *value)
{
	return put_number(device, value, PCIE_GENERATION);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *value)
{
	return put_number(device, value, PCIE_WIDTH);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *value)
{
	return put_number(device, value, PCIE_GENERATION);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *value)
{
	return put_number(device, value, PCIE_WIDTH);
}
