/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* identity.c - names, identifiers and attributes of the simulated GPUs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "process.h"

enum {
	/* Bus number of GPU 0; the others follow. Away from those of usual machines. */
	FIRST_BUS = 0x41,
};

void rn_cu_uuid(int device, CUuuid *uuid)
{
	/* A UUID of version 8 (own layout), the same in each process. */
	static const char base[16] = { 'r',	   'o', 'c',	    'i', 'n', '-',
				       (char)0x80, 'g', (char)0x80, 'p', 'u', 0,
				       0,	   0,	0,	    0 };

	memcpy(uuid->bytes, base, sizeof(base));
	uuid->bytes[15] = (char)device;
}

void rn_cu_name(int device, char *name, size_t len)
{
	(void)device;
	snprintf(name, len, "Rocin simulated GPU");
}

int rn_cu_bus(int device)
{
	return FIRST_BUS + device;
}

void rn_cu_bus_id(int device, char *id, size_t len)
{
	snprintf(id, len, "0000:%02X:00.0", (unsigned)rn_cu_bus(device));
}

int rn_cu_by_bus_id(const char *id)
{
	unsigned domain = 0, bus, slot, function = 0;
	int end = 0;

	if (sscanf(id, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &end) != 4) {
		domain = 0;
		end = 0;
		if (sscanf(id, "%x:%x%n", &bus, &slot, &end) != 2)
			return -1;
		if (id[end] == '.' && sscanf(id + end, ".%x", &function) != 1)
			return -1;
		end = 0;
	}
	if ((end && id[end]) || domain || slot || function || bus < FIRST_BUS ||
	    bus >= FIRST_BUS + (unsigned)rn_gpu_count())
		return -1;
	return (int)bus - FIRST_BUS;
}

/* What is the same for all GPUs: the numbers of the public API with their values. Those
 * about shapes of grids are those of a GPU of 2022, for programs that divide by them.
 */
static const struct {
	int attr, value;
} fixed[] = {
	{ 1, 1024 },					      /* threads of a block */
	{ 2, 1024 },					      /* x, y and z of a block */
	{ 3, 1024 },	    { 4, 64 },	   { 5, 2147483647 }, /* x, y and z of a grid */
	{ 6, 65535 },	    { 7, 65535 },  { 8, 49152 }, /* shared memory of a block */
	{ 9, 65536 },					 /* constant memory */
	{ 10, 32 },					 /* warp */
	{ 11, 2147483647 },				 /* pitch */
	{ 12, 65536 },					 /* registers of a block */
	{ 13, 1000000 },				 /* clock in kHz */
	{ 14, 512 },					 /* alignment of textures */
	{ 15, 1 },					 /* copies beside kernels */
	{ 16, 4 },					 /* multiprocessors */
	{ 17, 0 },			   /* limit on the time of kernels */
	{ 18, 0 },			   /* integrated with the host */
	{ 19, 1 },			   /* host memory can be mapped */
	{ 20, 0 },			   /* compute mode: default */
	{ 31, 1 },			   /* kernels beside each other */
	{ 32, 0 },			   /* ECC */
	{ 34, 0 },			   /* PCI device */
	{ 35, 0 },			   /* TCC, of Windows */
	{ 36, 1000000 },		   /* clock of the memory in kHz */
	{ 37, 256 },			   /* bits of its bus */
	{ 38, 4194304 },		   /* L2 cache */
	{ 39, 2048 },			   /* threads of a multiprocessor */
	{ 40, 1 },			   /* copy engines */
	{ 41, 1 },			   /* unified addressing */
	{ 50, 0 },			   /* PCI domain */
	{ 51, 32 },			   /* alignment of pitches of textures */
	{ 75, 9 },			   /* compute capability */
	{ 76, 0 },	    { 78, 1 },	   /* priorities of streams */
	{ 79, 1 },			   /* L1 cache, global and local */
	{ 80, 1 },	    { 81, 65536 }, /* shared memory of a multiprocessor */
	{ 82, 65536 },			   /* registers of a multiprocessor */
	{ 83, 1 },			   /* managed memory */
	{ 84, 0 },			   /* several GPUs on a board */
	{ 85, 0 },	    { 86, 0 },	   /* native atomics between host and GPU */
	{ 87, 2 },			   /* ratio of single to double precision */
	{ 88, 0 },			   /* pageable memory */
	{ 89, 0 }, /* managed memory used by both at the same time */
	{ 90, 0 }, /* preemption of kernels */
	{ 91, 1 }, /* pointers of the host to registered memory */
	{ 92, 1 }, /* stream memory operations, version 1 */
	{ 93, 1 },	    { 94, 1 },	   { 95, 0 }, /* cooperative launches */
	{ 96, 0 },	    { 97, 49152 }, /* shared memory of a block, opt-in */
	{ 98, 1 },			   /* remote writes can be flushed */
	{ 99, 1 },			   /* host memory can be registered */
	{ 100, 0 },			   /* page tables of the host */
	{ 101, 0 }, /* direct access of the host to managed memory */
	{ 102, 0 }, /* virtual memory management */
	{ 103, 0 }, /* its handles */
	{ 104, 0 },	    { 105, 0 },	   { 106, 32 }, /* blocks of a multiprocessor */
	{ 107, 0 },					/* compression */
	{ 108, 0 },					/* persisting L2 cache */
	{ 109, 0 },	    { 110, 0 }, /* GPUDirect RDMA with virtual memory management
					 */
	{ 111, 1024 },			/* reserved shared memory of a block */
	{ 112, 0 },			/* sparse arrays */
	{ 113, 0 },			/* registered memory that is read only */
	{ 114, 0 },			/* timeline semaphores */
	{ 115, 1 },			/* memory pools */
	{ 116, 1 },			/* GPUDirect RDMA */
	{ 119, 0 },			/* handles of memory pools */
	{ 120, 0 },			/* clusters */
	{ 121, 0 },			/* deferred mapping of arrays */
	{ 122, 1 }, /* stream memory operations of 64 bits, and with NOR */
	{ 123, 1 },	    { 124, 1 }, /* dma-buf */
	{ 125, 0 },			/* events of other processes */
	{ 126, 1 },			/* memory synchronization domains */
	{ 127, 0 },			/* tensor maps */
	{ 128, 0 },			/* fabric handles */
	{ 129, 0 },			/* unified function pointers */
	{ 130, 0 },			/* NUMA */
	{ 131, -1 },	    { 132, 0 }, /* multicast */
	{ 133, 0 },			/* MPS */
	{ 134, -1 },			/* NUMA node of the host */
};

static int from_gpu(struct rn_gpu *gpu, enum rn_gpu_attr attr, int *value)
{
	uint64_t wide = 0;
	int err = rn_gpu_get_attr(gpu, attr, &wide);

	*value = (int)wide;
	return err;
}

int rn_cu_attribute(struct rn_gpu *gpu, int device, int attr, int *value)
{
	if (attr == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
		*value = rn_cu_bus(device);
		return 0;
	}
	if (attr == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)
		return from_gpu(gpu, RN_GPU_ATTR_FLUSH_OPTIONS, value);
	if (attr == CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING)
		return from_gpu(gpu, RN_GPU_ATTR_WRITES_ORDERING, value);
	for (size_t i = 0; i < RN_ARRAY_SIZE(fixed); i++)
		if (fixed[i].attr == attr) {
			*value = fixed[i].value;
			return 0;
		}
	return -EINVAL;
}
