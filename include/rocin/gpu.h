/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu.h - simulated GPU memory, for programs and tests of GPUDirect RDMA.
 *
 * A GPU is memory behind a PCIe BAR, and threads that play kernels. Its
 * memory has two addresses:
 *
 *   bar   for the CPU and for verbs programs: ibv_reg_mr() takes it, and a load of the
 *         CPU from it is a PCIe read. NICs write it through the fabric (pcie.h)
 *   dev   for kernels: it shows what the GPU itself sees at this moment, which may be
 *         older. The CPU must not use it
 *
 * Both show the same bytes once no write is on its way. With the layer off (mode strict,
 * or ROCIN_PCIE not set) it is plain coherent memory.
 *
 * While writes to a GPU or by it are on their way, its BAR pages are closed: a plain load
 * or store of the CPU then is a PCIe access, which pushes the writes that it must push
 * and no others. With ROCIN_PCIE_TRAP=off plain loads are no PCIe reads and push nothing;
 * use rn_gpu_bar_load(). A thread that loads from BAR memory must not block SIGSEGV.
 *
 * A system call that is given a closed page would fail with EFAULT. A program that is
 * linked to this library, or has it in LD_PRELOAD, may use these on BAR memory: read,
 * write, readv, writev, pread, pwrite, preadv, pwritev (and ...64), recv, recvfrom,
 * recvmsg, send, sendto, sendmsg, fread, fwrite; ibv_reg_mr() works, too. Not covered are
 * all other calls, syscall(), io_uring, and other processes that read this one's memory.
 *
 * Environment, read at the first call: ROCIN_GPUS, number of GPUs, 1 ..
 * 4 (4); ROCIN_GPU_MEMORY, bytes of each, with a suffix K, M or G (4G;
 * not allocated before use).
 *
 * Threads: every function from any thread, no lock needed. After fork() the child has no
 * GPUs: calls answer -ENODEV, and GPU memory is not mapped there.
 *
 * Errors are returned as -errno; rn_gpu_last_error() explains the last one.
 */
#ifndef RN_GPU_H
#define RN_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct rn_gpu;

/* One sentence about the last call of this thread that failed; "" if none did. */
const char *rn_gpu_last_error(void);

/* Number of GPUs: rn_gpu_open() takes 0 .. rn_gpu_count() - 1. */
int rn_gpu_count(void);

/* A GPU by its number; the same pointer each time, never to be closed. Return: NULL with
 * errno ENODEV (no such GPU, or a forked child) or ENOMEM.
 */
struct rn_gpu *rn_gpu_open(int number);

/* Number of the GPU, -1 for NULL. The functions below that take a GPU
 * return -ENODEV for NULL.
 */
int rn_gpu_number(const struct rn_gpu *gpu);

/* ----------------------------------------------------------------- memory */
enum rn_gpu_alloc_flag {
	/* The memory takes no room in the BAR and has no BAR address,
	 * so peers cannot reach it.
	 */
	RN_GPU_DEVICE_ONLY = 1 << 0,
};

/* One allocation. */
struct rn_gpu_buffer {
	void *bar; /* NULL with RN_GPU_DEVICE_ONLY */
	/* For all allocations of a GPU, the distance from bar to dev is the same. */
	void *dev;
	size_t len; /* as asked for */
	struct rn_gpu *gpu;
};

/**
 * rn_gpu_alloc() - Take zeroed device memory
 * @bytes:	1 or more; starts at a page, followed by a page that faults
 * @flags:	enum rn_gpu_alloc_flag
 * @out:	Filled on success; give back with rn_gpu_free()
 *
 * Return: 0; -EINVAL; -ENOMEM: the GPU is full, or the BAR is (knob bar=), or the process
 *	   has too many mappings; -ENODEV.
 */
int rn_gpu_alloc(struct rn_gpu *gpu, size_t bytes, unsigned flags,
		 struct rn_gpu_buffer *out);

/**
 * rn_gpu_free() - Give an allocation back
 * @ptr:	Its first byte, by either address
 *
 * Writes on their way to it are performed first. The addresses stay reserved for long: an
 * access to them is reported on stderr, once per allocation. A load or store of the CPU
 * then raises SIGSEGV; a kernel ends with -EFAULT; an access of a device fails as for
 * deregistered memory (a protection error or NAK).
 *
 * Return: 0; -EINVAL: no allocation begins there, or freed before; -ENODEV.
 */
int rn_gpu_free(void *ptr);

/* The memory that an address belongs to. */
struct rn_gpu_where {
	struct rn_gpu *gpu;
	/* The allocation; for declared memory, bar == dev == its start. */
	struct rn_gpu_buffer buffer;
	size_t offset; /* of the address in the allocation */
	bool by_bar;   /* the address was a BAR address */
	/* Ordinary memory that was declared as a GPU's, ROCIN_PCIE_DEVICE. */
	bool is_declared;
};

/* Find the device memory at @ptr. Return: 0, with *@out filled in (unless NULL); -ENOENT:
 * host memory; -EFAULT: an address of a GPU, but not allocated; -ENODEV.
 */
int rn_gpu_find(const volatile void *ptr, struct rn_gpu_where *out);

/**
 * rn_gpu_export_dmabuf() - A descriptor for ibv_reg_dmabuf_mr()
 * @ptr:	Page-aligned, by either address
 * @len:	A multiple of the page, inside one allocation (rounded up to pages)
 *
 * Byte 0 of the descriptor is @ptr. It is valid in this process only. It does not keep
 * the memory: accesses of an MR to it fail once the memory is freed.
 *
 * Return: a descriptor, close-on-exec, close() it when no longer needed (MRs stay);
 *	   -EINVAL: not aligned or not in one allocation; -ENOMEM: no BAR address;
 *	   -EMFILE; -ENODEV.
 */
int rn_gpu_export_dmabuf(const void *ptr, size_t len);

/* ---------------------------------------------------------------- kernels */
/* A kernel. It runs in a thread of its own in which every signal but those of faults is
 * blocked. It may load and store device addresses of its GPU plainly; an access to device
 * memory that is not there ends it without unwinding (-EFAULT). All other accesses go
 * through the functions below.
 */
typedef void rn_gpu_kernel_fn(void *arg);

/**
 * rn_gpu_launch() - Start a kernel
 *
 * A launch is a doorbell write of the CPU: the writes that it pushes on its route to the
 * GPU are visible to the kernel. Kernels run concurrently with each other.
 *
 * Return: number of the kernel, > 0, for rn_gpu_wait_kernel(); -EAGAIN: no thread;
 *	   -EINVAL: @fn is NULL; -ENOMEM; -ENODEV.
 */
int64_t rn_gpu_launch(struct rn_gpu *gpu, rn_gpu_kernel_fn *fn, void *arg);

/* Wait until one kernel, or all that were launched before the call, have ended. The
 * stores of the kernel to host memory are visible then.
 * Return: 0; -EFAULT: one of them was ended by a bad access, reported once; -ENOENT: no
 * such kernel (or waited for already); -EDEADLK: called by a kernel; -ENODEV.
 */
int rn_gpu_wait_kernel(struct rn_gpu *gpu, int64_t kernel);
int rn_gpu_synchronize(struct rn_gpu *gpu);

/* The GPU whose kernel runs in this thread; NULL in any other thread. */
struct rn_gpu *rn_gpu_current(void);

/* From now on the calling thread is a kernel of @gpu, without a launch (nothing is
 * pushed); NULL: no longer. For programs that bring their own threads. A plain access to
 * device memory that is not there raises SIGSEGV.
 * Return: 0; -EFAULT: with NULL, if an rn_gpu_load() or rn_gpu_store() has failed since
 * the thread became a kernel; -ENODEV.
 */
int rn_gpu_become(struct rn_gpu *gpu);

/**
 * rn_gpu_load(), rn_gpu_store() - Access of a kernel
 * @addr:	Naturally aligned. Device memory of this GPU, by either address, is
 *		accessed at once; other device memory and host memory over PCIe
 * @size:	1, 2, 4 or 8 bytes
 *
 * A load of host memory is a read whose completion comes back behind the writes that are
 * queued towards this GPU. A store to host memory is a posted write: it arrives later, in
 * the order of the stores.
 *
 * Return: the value, zero-extended; all ones if nothing answers (the kernel goes on, and
 * its end is -EFAULT), and in a thread that plays no kernel (errno EPERM).
 */
uint64_t rn_gpu_load(const volatile void *addr, unsigned size);
void rn_gpu_store(volatile void *addr, uint64_t value, unsigned size);

/* Wait until the value at @addr is @value. @addr is a flag in host memory, last read by
 * an rn_gpu_load(), or in device memory.
 * Return: 0; -ETIMEDOUT after @timeout_ms (< 0: never); -EPERM: not in a kernel; -EINVAL:
 * size or alignment; -EFAULT.
 */
int rn_gpu_wait_host(const volatile void *addr, uint64_t value, unsigned size,
		     int timeout_ms);
int rn_gpu_wait_device(const volatile void *addr, uint64_t value, unsigned size,
		       int timeout_ms);

/* ---------------------------------------------------------------- the CPU */
/* Explicit MMIO of the CPU to 1, 2, 4 or 8 aligned bytes of a BAR address (or of declared
 * memory). A read waits for its completion; a write is posted and arrives later, behind
 * the CPU's earlier writes. Return: all ones and errno EFAULT if nothing answers.
 */
uint64_t rn_gpu_bar_load(const volatile void *bar, unsigned size);
void rn_gpu_bar_store(volatile void *bar, uint64_t value, unsigned size);

/* To whom writes of peers become visible: CUflushGPUDirectRDMAWritesScope. */
enum rn_gpu_flush_scope {
	RN_GPU_TO_OWNER = 100,
	RN_GPU_TO_ALL_DEVICES = 200,
};

/* Which memory is flushed: CUflushGPUDirectRDMAWritesTarget. */
enum rn_gpu_flush_target {
	RN_GPU_FLUSH_THIS = 0,
};

/**
 * rn_gpu_flush() - Make writes that have arrived at the GPU visible, as
 * cuFlushGPUDirectRDMAWrites()
 *
 * Takes the CPU's route to the GPU: writes that come by another route (rc.p2p=split,
 * gpu.link=c2c) and have not arrived are not pushed. Does nothing if @scope lies within
 * RN_GPU_ATTR_WRITES_ORDERING.
 *
 * Return: 0; -EINVAL; -ENODEV.
 */
int rn_gpu_flush(struct rn_gpu *gpu, enum rn_gpu_flush_target target,
		 enum rn_gpu_flush_scope scope);

enum rn_gpu_attr {
	RN_GPU_ATTR_WRITES_ORDERING, /* 0 none, 100 owner, 200 all devices */
	RN_GPU_ATTR_FLUSH_OPTIONS,   /* bits: 1 rn_gpu_flush(), 2 RN_GPU_WAIT_FLUSH */
	RN_GPU_ATTR_BAR_SIZE,	     /* bytes that peers can reach */
	RN_GPU_ATTR_BAR_FREE,
	RN_GPU_ATTR_MEMORY_SIZE, /* bytes */
	RN_GPU_ATTR_MEMORY_FREE,
};

/* Return: 0; -EINVAL: no such attribute; -ENODEV. */
int rn_gpu_get_attr(struct rn_gpu *gpu, enum rn_gpu_attr attr, uint64_t *value);

enum rn_gpu_wait_flag {
	RN_GPU_WAIT_GEQ = 0, /* (int)(*addr - value) >= 0 */
	RN_GPU_WAIT_EQ = 1,
	RN_GPU_WAIT_AND = 2, /* (*addr & value) != 0 */
	/* Flush remote writes after waiting, so that later work sees them. */
	RN_GPU_WAIT_FLUSH = 1 << 30,
};

/**
 * rn_gpu_wait_value32() - Memory operation of a stream, as cuStreamWaitValue32()
 * @addr:	Host memory, or device memory of this GPU; 4-byte aligned
 *
 * The GPU's front end waits; the calling thread stands for a stream.
 *
 * Return: 0; -EINVAL; -ETIMEDOUT after @timeout_ms (< 0: never); -EFAULT; -ENODEV.
 */
int rn_gpu_wait_value32(struct rn_gpu *gpu, const volatile uint32_t *addr, uint32_t value,
			unsigned flags, int timeout_ms);

/* Counts since the process started. */
struct rn_gpu_counters {
	uint64_t launches;
	uint64_t bar_reads, bar_writes; /* by rn_gpu_bar_load() and rn_gpu_bar_store() */
	uint64_t flushes, flushes_skipped;
	uint64_t closings;	  /* times that a GPU's BAR pages were closed */
	uint64_t loads_trapped;	  /* plain loads and stores that met a closed page */
	uint64_t syscalls_opened; /* system calls for which pages were opened */
	uint64_t not_closed;	  /* times that pages could not be closed */
	uint64_t freed_accesses;  /* accesses to memory that is not allocated */
};
void rn_gpu_get_counters(struct rn_gpu_counters *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* RN_GPU_H */
