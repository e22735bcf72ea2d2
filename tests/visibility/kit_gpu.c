/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kit_gpu.c - the GPUs and drives of the programs. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

/* ---------------------------------------------------------------------------- GPUs */
struct ibv_mr *vis_gpu_memory(struct rn_gpu_buffer *buffer, struct vis_nic *nic,
			      int number)
{
	struct rn_gpu *gpu = rn_gpu_open(number);

	vis_need(gpu && !rn_gpu_alloc(gpu, DATA, 0, buffer), "GPU memory");
	return nic ? vis_register(nic, buffer->bar, DATA, 0) : NULL;
}

void vis_kernel_look_at(const void *dev)
{
	const uint64_t *word = dev;

	for (size_t i = 0; i < DATA / sizeof(*word); i++)
		if (!rn_gpu_load(&word[i], sizeof(*word)))
			vis_see_wrong();
}

void vis_kernel_fill(void *dev)
{
	uint64_t *word = dev, value;

	memset(&value, NEW, sizeof(value));
	for (size_t i = 0; i < DATA / sizeof(*word); i++)
		rn_gpu_store(&word[i], value, sizeof(*word));
}

void vis_kernel_read(void *kernel)
{
	vis_kernel_look_at(((const struct vis_kernel *)kernel)->data);
}

void vis_kernel_wait_and_read(void *kernel)
{
	struct vis_kernel *k = kernel;

	vis_need(!rn_gpu_wait_host(&k->flag, 1, sizeof(k->flag), -1), "rn_gpu_wait_host");
	vis_kernel_look_at(k->data);
}

void vis_launch(const struct rn_gpu_buffer *buffer, rn_gpu_kernel_fn *fn, void *arg)
{
	vis_need(rn_gpu_launch(buffer->gpu, fn, arg) > 0, "rn_gpu_launch");
}

void vis_raise(struct vis_kernel *kernel)
{
	__atomic_store_n(&kernel->flag, 1, __ATOMIC_RELEASE);
}

void vis_synchronize(const struct rn_gpu_buffer *buffer)
{
	vis_need(!rn_gpu_synchronize(buffer->gpu), "rn_gpu_synchronize");
}

/* ------------------------------------------------------------------------- storage */
struct rn_storage_file *vis_file(void)
{
	struct rn_storage_file *file;
	int fd = memfd_create("visibility", MFD_CLOEXEC);
	char bytes[DATA];

	memset(bytes, NEW, DATA);
	vis_need(write(fd, bytes, DATA) == DATA, "make a file");
	vis_need(!rn_storage_set_policy("direct,p2p"), "rn_storage_set_policy");
	vis_need(!rn_storage_handle_register(&file, fd), "rn_storage_handle_register");
	close(fd);
	return file;
}

void vis_storage_buffer(void *mem)
{
	vis_need(!rn_storage_buffer_register(mem, DATA), "rn_storage_buffer_register");
}

void vis_load(struct rn_storage_file *file, void *mem)
{
	vis_need(rn_storage_read(file, mem, DATA, 0, 0) == DATA, "rn_storage_read");
}

void vis_load_by_stream(struct rn_storage_file *file, void *mem,
			struct rn_storage_stream *stream)
{
	static const size_t size = DATA;
	static const off_t start = 0;

	vis_need(!rn_storage_read_async(file, mem, &size, &start, &start, NULL, stream),
		 "rn_storage_read_async");
}
