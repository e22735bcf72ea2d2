/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* nvml.c - what NVML says of GPUs, and whether the driver says the same. */
#include "sim/cuda/api/nvml.h"
#include "kit.h"

static void show(const char *what, nvmlReturn_t result)
{
	printf("%-44s %s\n", what, nvmlErrorString(result));
}

static void same_gpu(nvmlDevice_t device)
{
	char text[96], other[96], uuid[96];
	nvmlDevice_t found = NULL;
	nvmlPciInfo_t pci;
	CUuuid id;
	size_t at;
	unsigned index = 77;

	show("PCI", nvmlDeviceGetPciInfo_v3(device, &pci));
	MUST(cuDeviceGetPCIBusId(other, sizeof(other), 0));
	kit_value("\tas the driver says", strcasecmp(pci.busIdLegacy, other) == 0);
	kit_value("\tand longer", strcasecmp(pci.busId + 4, other) == 0);
	show("device by it", nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &found));
	kit_value("\tthe same", found == device);
	show("by an address without one",
	     nvmlDeviceGetHandleByPciBusId_v2("0000:7E:1F.0", &found));
	show("UUID", nvmlDeviceGetUUID(device, uuid, sizeof(uuid)));
	MUST(cuDeviceGetUuid_v2(&id, 0));
	at = (size_t)sprintf(text, "GPU-");
	for (unsigned i = 0; i < 16; i++)
		at += (size_t)sprintf(text + at, "%02x%s", (unsigned char)id.bytes[i],
				      i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
	kit_value("\tas the driver says", strcmp(text, uuid) == 0);
	show("device by it", nvmlDeviceGetHandleByUUID(uuid, &found));
	kit_value("\tthe same", found == device);
	show("into too little room", nvmlDeviceGetUUID(device, uuid, 10));
	show("name", nvmlDeviceGetName(device, text, sizeof(text)));
	MUST(cuDeviceGetName(other, sizeof(other), 0));
	kit_value("\tas the driver says", strcmp(text, other) == 0);
	show("index", nvmlDeviceGetIndex(device, &index));
	kit_value("\tis", index);
}

int main(void)
{
	nvmlDevice_t device = NULL;
	nvmlBAR1Memory_t bar;
	nvmlMemory_t memory;
	unsigned count = 0;
	int version = 0, driver = 0;

	kit_begin();
	show("before initialisation", nvmlDeviceGetCount_v2(&count));
	show("initialisation", nvmlInit_v2());
	show("count", nvmlDeviceGetCount_v2(&count));
	kit_value("\tsome", count > 0);
	show("device 0", nvmlDeviceGetHandleByIndex_v2(0, &device));
	show("device 99", nvmlDeviceGetHandleByIndex_v2(99, &device));
	same_gpu(device);
	show("memory", nvmlDeviceGetMemoryInfo(device, &memory));
	kit_value("\tsome", memory.total >= memory.free && memory.free > 0);
	show("BAR", nvmlDeviceGetBAR1MemoryInfo(device, &bar));
	kit_value("\tsome", bar.bar1Total >= bar.bar1Free && bar.bar1Free > 0);
	show("version of CUDA", nvmlSystemGetCudaDriverVersion_v2(&version));
	MUST(cuDriverGetVersion(&driver));
	kit_value("\tas the driver says", version == driver);
	show("end", nvmlShutdown());
	show("and again", nvmlShutdown());
	return 0;
}
