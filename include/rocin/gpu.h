/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu.h - simulated GPU memory, for programs and tests of GPUDirect RDMA.
 *
 * A GPU consists of memory behind a PCIe BAR, and of threads that run kernels. Its memory
 * has two addresses:
 *
 *   bar   for the CPU and for verbs programs: ibv_reg_mr() takes it, and a load of the
 *         CPU from it is a PCIe read. NICs write it through the fabric (pcie.h)
 *   dev   for kernels: a load returns what the GPU itself sees at this moment, which may
 *         be older. The CPU must not use it
 *
 * Both give the same bytes once no write is on its way. With PCIe simulation off (mode
 * strict, or ROCIN_PCIE not set) GPU memory is plain coherent memory.
 *
 * While writes to a GPU or by it are on their way, its BAR pages are protected
 * (PROT_NONE). A plain load or store of the CPU then faults and is performed as a PCIe
 * access, which pushes the writes that it must push and no others. With
 * ROCIN_PCIE_TRAP=off plain loads are no PCIe reads and push nothing; use
 * rn_gpu_bar_load(). A thread that loads from BAR memory must not block SIGSEGV.
 *
 * A system call that accesses a protected page would fail with EFAULT. A program that is
 * linked to this library, or has it in LD_PRELOAD, may use the following on BAR memory:
 * read, write, readv, writev, pread, pwrite, preadv, pwritev (and ...64), recv, recvfrom,
 * recvmsg, send, sendto, sendmsg, fread, fwrite; ibv_reg_mr() works, too. Not covered are
 * all other calls, syscall(), io_uring, and other processes that read this one's memory.
 *
 * Environment, read at the first call: ROCIN_GPUS, number of GPUs, 1 .. 4 (default 4);
 * ROCIN_GPU_MEMORY, bytes of each GPU, with a suffix K, M or G (default 4G; not allocated
 * before use).
 *
 * Threads: every function may be called from any thread, without a lock. After fork() the
 * child has no GPUs: calls answer -ENODEV, and GPU memory is not mapped there.
 *
 * Errors are returned as -errno; rn_gpu_last_error() returns a text about the last error.
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

/* Returns the text of the last error of this thread, one sentence; "" if there was none.
 */
const char *rn_gpu_last_error(void);

/* Returns the number of GPUs; rn_gpu_open() accepts the numbers 0 .. rn_gpu_count() - 1.
 */
int rn_gpu_count(void);

/* Returns a GPU by its number. It is the same pointer each time, and the caller must not
 * close it. Returns NULL with errno ENODEV (no such GPU, or called in a forked child) or
 * ENOMEM.
 */
struct rn_gpu *rn_gpu_open(int number);

/* Returns the number of the GPU; -1 for NULL. The functions below that take a GPU return
 * -ENODEV for NULL.
 */
int rn_gpu_number(const struct rn_gpu *gpu);

/* -------------------------------------------------------- memory of a GPU */
enum rn_gpu_alloc_flag {
	/* The memory occupies no space of the BAR and has no BAR address, so PCIe peers
	 * cannot access it.
	 */
	RN_GPU_DEVICE_ONLY = 1 << 0,
};

/* One allocation. */
struct rn_gpu_buffer {
	void *bar; /* BAR address; NULL with RN_GPU_DEVICE_ONLY */
	/* Device address. The distance from bar to dev is the same for all allocations of
	 * a GPU.
	 */
	void *dev;
	size_t len; /* number of bytes that were requested */
	struct rn_gpu *gpu;
};

/**
 * rn_gpu_alloc() - Allocate zeroed device memory
 * @bytes:	Number of bytes, 1 or more. The memory starts at a page boundary, and is
 *		followed by a page that faults
 * @flags:	enum rn_gpu_alloc_flag
 * @out:	Out: filled in on success; to be freed by rn_gpu_free()
 *
 * Return: 0; -EINVAL; -ENOMEM: the GPU or its BAR (knob bar=) is full, or the process has
 *	   too many mappings; -ENODEV.
 */
int rn_gpu_alloc(struct rn_gpu *gpu, size_t bytes, unsigned flags,
		 struct rn_gpu_buffer *out);

/**
 * rn_gpu_free() - Free an allocation
 * @ptr:	First byte of the allocation, by its BAR or device address
 *
 * Writes that are on their way to the allocation are performed first. The addresses of
 * the allocation stay reserved for a long time, and an access to them is reported on
 * stderr, once per allocation. A load or store of the CPU raises SIGSEGV; a kernel that
 * accesses them ends with -EFAULT; an access of a device fails as for deregistered memory
 * (a protection error or NAK).
 *
 * Return: 0; -EINVAL: no allocation begins there, or it has been freed; -ENODEV.
 */
int rn_gpu_free(void *ptr);

/* The allocation to which an address belongs, see rn_gpu_find(). */
struct rn_gpu_where {
	struct rn_gpu *gpu;
	/* The allocation. For declared memory, bar and dev are both its start. */
	struct rn_gpu_buffer buffer;
	size_t offset; /* offset of the address in the allocation */
	bool by_bar;   /* true: the address was a BAR address; false: a device address */
	/* The memory is ordinary memory that was declared to be a GPU's by
	 * ROCIN_PCIE_DEVICE.
	 */
	bool is_declared;
};

/* Finds the device memory to which @ptr belongs. Return: 0, with *@out filled in (unless
 * NULL); -ENOENT: @ptr is in host memory; -EFAULT: an address of a GPU that is not
 * allocated; -ENODEV.
 */
int rn_gpu_find(const volatile void *ptr, struct rn_gpu_where *out);

/**
 * rn_gpu_export_dmabuf() - Make a descriptor for ibv_reg_dmabuf_mr()
 * @ptr:	BAR or device address, page-aligned
 * @len:	Multiple of the page size, inside one allocation (rounded up to pages)
 *
 * Offset 0 of the descriptor is @ptr. The descriptor is valid in this process only, and
 * does not keep the memory allocated: when it is freed, accesses of an MR to it fail.
 *
 * Return: a descriptor, close-on-exec, to be closed when no longer needed (MRs stay
 *	   valid); -EINVAL: not aligned or not in one allocation; -ENOMEM: no BAR address;
 *	   -EMFILE; -ENODEV.
 */
int rn_gpu_export_dmabuf(const void *ptr, size_t len);

/* ----------------------------------- kernels and their accesses to memory */
/* Function of a kernel, which runs in a thread of its own. All signals are blocked there,
 * except those that faults raise. The function may load from and store to device
 * addresses of its own GPU directly. If such an access goes to device memory that is not
 * allocated, the kernel ends with -EFAULT, without unwinding. For all other accesses it
 * must use the functions below.
 */
typedef void rn_gpu_kernel_fn(void *arg);

/**
 * rn_gpu_launch() - Start a kernel
 *
 * A launch is a doorbell write of the CPU. The kernel sees all writes that are ahead of
 * the doorbell on its route to the GPU, since it pushes these. Kernels run concurrently
 * with each other.
 *
 * Return: number of the kernel, > 0, for rn_gpu_wait_kernel(); -EAGAIN: no thread;
 *	   -EINVAL: @fn is NULL; -ENOMEM; -ENODEV.
 */
int64_t rn_gpu_launch(struct rn_gpu *gpu, rn_gpu_kernel_fn *fn, void *arg);

/* rn_gpu_doorbell(): The CPU writes to the GPU's doorbell, as it does when it submits
 * work that is no kernel (a copy, a wait). Pushes what rn_gpu_launch() pushes. Return: 0;
 * -ENODEV.
 */
int rn_gpu_doorbell(struct rn_gpu *gpu);

/**
 * rn_gpu_copy(), rn_gpu_fill() - Copy or fill memory by the copy engine of a GPU
 * @to, @from:	Host memory, or memory of any GPU by its BAR or device address. The two
 *		ranges must not overlap
 * @len:	Bytes; 0 does nothing
 * @value:	The lower @size bytes are written @count times
 * @size:	1, 2 or 4 bytes; @to is a multiple of it
 *
 * The engine reads and writes the memory of @gpu directly, and sees it as a kernel does.
 * It reads other memory by PCIe reads and writes it by posted writes; these are performed
 * when the call returns. The doorbell is not written: see rn_gpu_doorbell(). The calling
 * thread represents the engine; memory that is freed meanwhile is an error of the call.
 *
 * Return: 0; -EFAULT: a part is not mapped, and the copy may have been made in part;
 *	   -EINVAL: @size or alignment; -ENODEV.
 */
int rn_gpu_copy(struct rn_gpu *gpu, void *to, const void *from, size_t len);
int rn_gpu_fill(struct rn_gpu *gpu, void *to, uint32_t value, unsigned size,
		size_t count);

/* Waits until one kernel, or all that were launched before the call, have ended. Their
 * stores to host memory are visible afterwards. Return: 0; -EFAULT: a kernel was ended by
 * an invalid access (reported once); -ENOENT: no such kernel, or it has been waited for
 * already; -EDEADLK: called by a kernel; -ENODEV.
 */
int rn_gpu_wait_kernel(struct rn_gpu *gpu, int64_t kernel);
int rn_gpu_synchronize(struct rn_gpu *gpu);

/* Returns the GPU whose kernel runs in this thread; NULL in any other thread. */
struct rn_gpu *rn_gpu_current(void);

/* Makes the calling thread a kernel of @gpu without a launch, so no writes are pushed.
 * For programs that create threads of their own. With @gpu NULL, the thread stops being a
 * kernel. A direct access of such a thread to device memory that is not allocated raises
 * SIGSEGV. Return: 0; -EFAULT: @gpu is NULL, and an rn_gpu_load() or rn_gpu_store() has
 * failed since the thread became a kernel; -ENODEV.
 */
int rn_gpu_become(struct rn_gpu *gpu);

/**
 * rn_gpu_load(), rn_gpu_store() - Access memory from a kernel
 * @addr:	Naturally aligned. Device memory of this GPU, by its BAR or device
 *		address, is accessed directly; other device memory and host memory
 *		over PCIe
 * @size:	1, 2, 4 or 8 bytes
 *
 * A load of host memory is a PCIe read; its completion arrives behind the writes that are
 * queued towards this GPU. A store to host memory is a posted write: it arrives later, in
 * the order of the stores.
 *
 * Return: the value, zero-extended; all ones if there is no memory at @addr (the kernel
 * goes on, and ends with -EFAULT) or if the thread is no kernel (errno EPERM).
 */
uint64_t rn_gpu_load(const volatile void *addr, unsigned size);
void rn_gpu_store(volatile void *addr, uint64_t value, unsigned size);

/* Waits until the value at @addr is @value. rn_gpu_wait_host() is for host memory, which
 * it reads over PCIe, as rn_gpu_load() does. rn_gpu_wait_device() is for device memory.
 * Return: 0; -ETIMEDOUT after @timeout_ms (< 0: wait for ever); -EPERM: not called in a
 * kernel; -EINVAL: wrong size or alignment; -EFAULT.
 */
int rn_gpu_wait_host(const volatile void *addr, uint64_t value, unsigned size,
		     int timeout_ms);
int rn_gpu_wait_device(const volatile void *addr, uint64_t value, unsigned size,
		       int timeout_ms);

/* ---------------------------------------------------------- accesses of the CPU */
/* rn_gpu_bar_load() and rn_gpu_bar_store() access a BAR address (or memory that the user
 * has declared to be device memory) from the CPU: 1, 2, 4 or 8 aligned bytes. A read
 * waits for its completion. A write is posted, and arrives later, behind the CPU's
 * earlier writes. Return: the value read; all ones and errno EFAULT if there is no
 * memory.
 */
uint64_t rn_gpu_bar_load(const volatile void *bar, unsigned size);
void rn_gpu_bar_store(volatile void *bar, uint64_t value, unsigned size);

/* To whom writes of PCIe peers become visible: CUflushGPUDirectRDMAWritesScope. */
enum rn_gpu_flush_scope {
	RN_GPU_TO_OWNER = 100,
	RN_GPU_TO_ALL_DEVICES = 200,
};

/* Which memory is flushed: CUflushGPUDirectRDMAWritesTarget. */
enum rn_gpu_flush_target {
	RN_GPU_FLUSH_THIS = 0,
};

/**
 * rn_gpu_flush() - Make writes that have arrived at the GPU visible, like
 * cuFlushGPUDirectRDMAWrites()
 *
 * The flush takes the CPU's route to the GPU, so it does not push writes that are
 * still on another route (rc.p2p=split, gpu.link=c2c). Does nothing if @scope lies
 * within RN_GPU_ATTR_WRITES_ORDERING.
 *
 * Return: 0; -EINVAL; -ENODEV.
 */
int rn_gpu_flush(struct rn_gpu *gpu, enum rn_gpu_flush_target target,
		 enum rn_gpu_flush_scope scope);

enum rn_gpu_attr {
	/* who sees remote writes in order; 0: nobody, 100: owner, 200: all devices */
	RN_GPU_ATTR_WRITES_ORDERING,
	/* Bit 0: rn_gpu_flush(), bit 1: RN_GPU_WAIT_FLUSH is supported. */
	RN_GPU_ATTR_FLUSH_OPTIONS,
	RN_GPU_ATTR_BAR_SIZE, /* bytes of memory that PCIe peers can access */
	RN_GPU_ATTR_BAR_FREE,
	RN_GPU_ATTR_MEMORY_SIZE, /* bytes of the GPU's memory */
	RN_GPU_ATTR_MEMORY_FREE,
};

/* Reads an attribute. Return: 0; -EINVAL: no such attribute; -ENODEV. */
int rn_gpu_get_attr(struct rn_gpu *gpu, enum rn_gpu_attr attr, uint64_t *value);

enum rn_gpu_wait_flag {
	RN_GPU_WAIT_GEQ = 0, /* waits until (int)(*addr - value) >= 0 */
	RN_GPU_WAIT_EQ = 1,
	RN_GPU_WAIT_AND = 2, /* waits until (*addr & value) != 0 */
	/* Flush remote writes after the wait, so that work that follows sees them. */
	RN_GPU_WAIT_FLUSH = 1 << 30,
};

/**
 * rn_gpu_wait_value32() - Wait until a word meets a condition, like cuStreamWaitValue32()
 * @addr:	Host memory, or device memory of this GPU; 4-byte aligned
 *
 * The calling thread represents a stream; on hardware the GPU's front end would wait.
 *
 * Return: 0; -EINVAL; -ETIMEDOUT after @timeout_ms (< 0: wait for ever);
 *	   -EFAULT; -ENODEV.
 */
int rn_gpu_wait_value32(struct rn_gpu *gpu, const volatile uint32_t *addr, uint32_t value,
			unsigned flags, int timeout_ms);

/* Counters of this process. */
struct rn_gpu_counters {
	uint64_t launches;
	/* Calls of rn_gpu_bar_load() and rn_gpu_bar_store(). */
	uint64_t bar_reads, bar_writes;
	uint64_t flushes, flushes_skipped;
	/* Number of times that a GPU's BAR pages were made inaccessible, so that direct
	 * loads and stores by the CPU fault.
	 */
	uint64_t closings;
	/* Direct loads and stores that faulted on a protected page. */
	uint64_t loads_trapped;
	/* number of system calls for which pages were made accessible */
	uint64_t syscalls_opened;
	uint64_t not_closed;	 /* number of times that pages could not be protected */
	uint64_t freed_accesses; /* number of accesses to memory that is not allocated */
};
void rn_gpu_get_counters(struct rn_gpu_counters *out);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* RN_GPU_H */
