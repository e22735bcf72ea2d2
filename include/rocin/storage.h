/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage.h - simulated NVMe drives that read files into device memory, and write device
 * memory to files.
 *
 * The interface is like that of cuFile (GPUDirect Storage): open the driver, register a
 * descriptor, register a buffer, read and write at offsets; batches; calls ordered by a
 * stream. A drive works like a DMA engine on PCIe: it sends write TLPs to the buffer,
 * then writes a completion entry to host memory. Nothing makes a CPU that has seen the
 * completion wait for data that goes to another memory, so
 *
 *	a completed read says that the drive has sent the data, not that a kernel that is
 *	already running sees it.
 *
 * If a kernel is launched, rn_gpu_flush() is called, or memory is read by the same route
 * afterwards, the data is visible as far as the knobs of rocin/pcie.h allow that. With
 * PCIe simulation off, the data is visible when the call returns.
 *
 * Routes. A transfer takes the first of the following routes in the policy that is
 * possible for it:
 *
 *	direct	the drive reaches the buffer, below one switch (or in host memory)
 *	gpu	into a GPU below the drive's switch, from there to the buffer
 *	nvlink	like `gpu`, but only into a GPU that has an NVLink to the buffer's GPU
 *	host	"compatibility": into host memory, from there to the buffer
 *	p2p	the drive reaches the buffer through another root port
 *
 * A transfer by `gpu`, `nvlink` or `host` is complete when its second part, a copy, is.
 * So its data is visible when it completes, unlike with `direct` and `p2p`. A buffer that
 * is not registered, a piece that is not aligned to RN_STORAGE_ALIGNMENT or device memory
 * beyond the BAR takes `host` whatever the policy says. rn_storage_plan() returns the
 * route and the reason beforehand.
 *
 * Environment, read by rn_storage_driver_open():
 *	ROCIN_STORAGE_POLICY	routes in order of preference; default "direct,gpu,host"
 *	ROCIN_STORAGE_NEAR	GPUs below the switch of each drive, where rc.p2p says
 *				that a switch is not shared: "nvme0=gpu1,nvme1=gpu2+gpu3"
 *	ROCIN_STORAGE_PATHS	directories of the files of drives: "nvme0=/a,nvme1=/b/c";
 *				other files are on drive 0
 *	ROCIN_STORAGE_NVLINK	pairs of GPUs with an NVLink: "gpu0-gpu1,gpu2-gpu3"
 *
 * Errors are negative errno values. After fork() the child cannot use these
 * functions (-ENODEV).
 *
 * Threads: all functions may be called from any thread, but an object must not be
 * destroyed while another thread uses it.
 */
#ifndef RN_STORAGE_H
#define RN_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rocin/gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum {
	/* Alignment in bytes that transfers without a copy need: of the address in
	 * memory, the offset in the file, and the length.
	 */
	RN_STORAGE_ALIGNMENT = 4096,
	RN_STORAGE_BATCH_MAX = 128, /* largest number of transfers in one batch */
};

/* ---------------------------------- the driver: opening, settings and counters */
struct rn_storage_properties {
	unsigned drives; /* number of drives on which a file can be */
	/* alignment for transfers without a copy, RN_STORAGE_ALIGNMENT */
	size_t alignment;
	/* Maximum number of bytes of a command of a drive; longer transfers are split. */
	size_t direct_bytes_max;
	/* Number of bytes that are copied at a time by routes `gpu` and `host`. */
	size_t bounce_bytes;
	/* maximum number of transfers in a batch, RN_STORAGE_BATCH_MAX */
	unsigned batch_max;
	/* PCIe simulation is off: data is always visible before completions. */
	bool is_ordered;
	char policy[64];	    /* policy in force, as text */
	uint64_t direct, gpu, host; /* number of transfers by each route, since open */
	uint64_t p2p;
	/* number of TLPs of drives to memory that did not exist any more */
	uint64_t faults;
	uint64_t nvlink; /* number of transfers by this route, since open */
};

/**
 * rn_storage_driver_open() - Start using storage
 *
 * Calls are counted, and rn_storage_driver_close() has to be called as often. If the
 * driver is not open, the other functions open it once.
 *
 * Return: 0; -EINVAL: a variable of the environment is not understood, see
 *	   rn_storage_last_error(); -ENOMEM, -EAGAIN: no thread; -ENODEV: a forked child.
 */
int rn_storage_driver_open(void);

/* Stops using storage. Return: 0; -EBUSY: files, buffers, batches or streams still exist;
 * -EINVAL: not open.
 */
int rn_storage_driver_close(void);

int rn_storage_driver_properties(struct rn_storage_properties *properties);

/* Set a value in place of the environment variable ROCIN_STORAGE_POLICY,
 * ROCIN_STORAGE_NEAR or ROCIN_STORAGE_NVLINK; NULL: the default. Transfers that have
 * begun keep their routes. Return: 0; -EINVAL, see rn_storage_last_error().
 */
int rn_storage_set_policy(const char *policy);
int rn_storage_set_near(const char *near);
int rn_storage_set_nvlinks(const char *links);

/* Returns the text of the last error of this thread, one sentence; "" if there was none.
 * Valid until the next storage call of this thread.
 */
const char *rn_storage_last_error(void);

/* -------------------------------------------------------------- files and buffers */
struct rn_storage_file;

/**
 * rn_storage_handle_register() - Register an open file for transfers
 * @file:	Out: the registered file
 * @fd:		Open regular file or block device; duplicated, so it may be closed.
 *		Opened with O_DIRECT or without
 *
 * Return: 0; -EBADF; -EINVAL: another kind of file; -ENOMEM, -EMFILE.
 */
int rn_storage_handle_register(struct rn_storage_file **file, int fd);

/* Operations of a file on another machine, whose bytes an RDMA NIC transfers. The NIC,
 * not a drive of the simulation, accesses the memory. Called by the thread of the file's
 * drive, one at a time. read() and write() return the number of bytes, or -errno; close()
 * is called once, when the file is deregistered.
 */
struct rn_storage_remote {
	ssize_t (*read)(void *ctx, void *memory, size_t len, off_t offset);
	ssize_t (*write)(void *ctx, const void *memory, size_t len, off_t offset);
	void (*close)(void *ctx);
};

/* Registers a file on another machine. @ops must stay valid; @ctx is passed to it.
 * Return: 0; -ENOMEM; -ENODEV: a forked child.
 */
int rn_storage_handle_register_remote(struct rn_storage_file **file,
				      const struct rn_storage_remote *ops, void *ctx);

/* Ends the registration of a file. Waits first until the transfers that have begun have
 * ended. NULL is ignored.
 */
void rn_storage_handle_deregister(struct rn_storage_file *file);

/* Sets the drive on which the file is. Without this call it is the one whose directory in
 * ROCIN_STORAGE_PATHS contains the file (the longest one counts), or drive 0. Return:
 * 0; -EINVAL: no such drive.
 */
int rn_storage_handle_set_drive(struct rn_storage_file *file, unsigned drive);

/* Sets the routes of transfers of this file, in the words of ROCIN_STORAGE_POLICY; NULL:
 * those of rn_storage_set_policy(). Return: 0; -EINVAL, see rn_storage_last_error().
 */
int rn_storage_handle_set_policy(struct rn_storage_file *file, const char *policy);

/**
 * rn_storage_buffer_register() - Allow drives to access a buffer
 * @base:	GPU memory by its BAR pointer or its device pointer, which name the same
 *		buffer; or host memory
 * @len:	Bytes, at least 1
 *
 * Return: 0; -EINVAL: @len 0 or a range that wraps; -EEXIST: overlaps a registered
 *	   buffer; -EFAULT: not all of one kind of memory, or not accessible; -ENOMEM: not
 *	   reachable through the BAR.
 */
int rn_storage_buffer_register(void *base, size_t len);

/* Ends the registration of a buffer. Return: 0; -ENOENT: @base is not the start of a
 * registered buffer; -EBUSY: a transfer to or from it has not ended.
 */
int rn_storage_buffer_deregister(void *base);

/* ------------------------------------------------------- routes of transfers */
enum rn_storage_way {
	RN_STORAGE_DIRECT,
	RN_STORAGE_GPU,
	RN_STORAGE_HOST,
	RN_STORAGE_P2P,
	RN_STORAGE_NVLINK,
	RN_STORAGE_WAY_COUNT,
};

/* Reason why the first route of the policy is not used; RN_STORAGE_PREFERRED if it is. */
enum rn_storage_reason {
	RN_STORAGE_PREFERRED,
	RN_STORAGE_UNREGISTERED, /* the buffer is not registered */
	RN_STORAGE_UNALIGNED,	 /* address, offset or length is not aligned */
	/* Part of the device memory is not reachable through the BAR. */
	RN_STORAGE_BEYOND_BAR,
	RN_STORAGE_ROOT_PORTS, /* drive and GPU are below different root ports */
	/* Drive and GPU are below different root ports, and the root complex does not
	 * route peer-to-peer traffic between them.
	 */
	RN_STORAGE_NOT_ROUTED,
	/* The drive's switch has no other GPU whose memory could be used for copying. */
	RN_STORAGE_NO_OTHER_GPU,
	/* No GPU below the drive's switch has an NVLink to the GPU. */
	RN_STORAGE_NO_NVLINK,
	RN_STORAGE_REASON_COUNT,
};

struct rn_storage_route {
	enum rn_storage_way way;
	enum rn_storage_reason reason;
	unsigned drive;
	int gpu; /* number of the GPU that the buffer belongs to; -1: host memory */
	/* RN_STORAGE_GPU and RN_STORAGE_NVLINK: number of the GPU whose memory is used
	 * for copying; else -1.
	 */
	int via_gpu;
};

/* Return a name or text, such as "direct" or "buffer not registered"; never NULL. */
const char *rn_storage_way_name(enum rn_storage_way way);
const char *rn_storage_reason_text(enum rn_storage_reason reason);

/* Writes the route as one line of text, such as "nvme0 -> host memory -> gpu1 (host):
 * drive and GPU are below different root ports". Return: bytes needed without the
 * terminator, as for snprintf().
 */
int rn_storage_route_text(const struct rn_storage_route *route, char *buf, size_t len);

/**
 * rn_storage_plan() - Find the route that a transfer would take, and the reason
 *
 * The arguments are those of rn_storage_read(). Return: 0; the errors of
 * rn_storage_read() that are found before a transfer; -EHOSTUNREACH: no route of the
 * policy is possible.
 */
int rn_storage_plan(const struct rn_storage_file *file, const void *base, size_t size,
		    off_t file_offset, off_t buf_offset, struct rn_storage_route *route);

/* ----------------------------------------------------------------- one transfer */
/**
 * rn_storage_read() - Read from the file into memory
 * @base:	Start of a registered buffer, or address of any memory
 * @size:	Bytes
 * @file_offset, @buf_offset: Where to begin, bytes
 *
 * Return: number of bytes read, fewer than @size at the end of the file, 0 behind it. If
 *	   an error follows after some bytes, their number is returned. -EINVAL: a
 *	   negative offset, a range outside of the registered buffer; -EBADF: the
 *	   descriptor is not open for reading; -EFAULT: the memory does not exist, or was
 *	   freed meanwhile; -EHOSTUNREACH: no route of the policy is possible; -EIO and
 *	   other errors of the file; -ENOMEM.
 */
ssize_t rn_storage_read(struct rn_storage_file *file, void *base, size_t size,
			off_t file_offset, off_t buf_offset);

/* Writes from memory to the file; works like rn_storage_read(), with the additional
 * errors -ENOSPC and -EFBIG. The drive reads the memory at some time during the call, so
 * the memory must not change before the call returns.
 */
ssize_t rn_storage_write(struct rn_storage_file *file, const void *base, size_t size,
			 off_t file_offset, off_t buf_offset);

/* Waits until all data that drives have sent is in memory and visible to GPUs. For tests.
 */
void rn_storage_settle(void);

/* Waits until all data that drives have sent to the @len bytes at @ptr is in memory and
 * visible to GPUs, as an operation of a stream does for those that follow it. Return: 0;
 * -EFAULT: an address of a GPU that is not allocated; -ENODEV: a forked child.
 */
int rn_storage_settle_memory(const void *ptr, size_t len);

/* ---------------------------------------------------------------------- batches */
enum rn_storage_op {
	RN_STORAGE_READ,
	RN_STORAGE_WRITE
};

enum rn_storage_status {
	RN_STORAGE_WAITING,  /* the transfer waits in the queue of the drive */
	RN_STORAGE_PENDING,  /* the drive has begun the transfer */
	RN_STORAGE_COMPLETE, /* the transfer has succeeded: result >= 0 */
	RN_STORAGE_FAILED,   /* the transfer has failed: result < 0 */
	/* The transfer was cancelled: result is -ECANCELED; some bytes may have
	 * been transferred.
	 */
	RN_STORAGE_CANCELED,
	/* The transfer was refused by rn_storage_batch_submit(): result is -EINVAL or
	 * another -errno.
	 */
	RN_STORAGE_INVALID,
};

struct rn_storage_io {
	enum rn_storage_op op;
	struct rn_storage_file *file;
	void *base;
	size_t size;
	off_t file_offset, buf_offset;
	void *cookie; /* any value of the caller, which is repeated in the event */
};

struct rn_storage_event {
	void *cookie;
	enum rn_storage_status status;
	ssize_t result; /* number of bytes transferred, or -errno */
	struct rn_storage_route route;
};

struct rn_storage_batch;

/* Makes a batch with room for @max transfers, 1 .. RN_STORAGE_BATCH_MAX. Return: 0,
 * -EINVAL, -ENOMEM.
 */
int rn_storage_batch_setup(struct rn_storage_batch **batch, unsigned max);

/**
 * rn_storage_batch_submit() - Start transfers
 *
 * @ios is copied. The transfers are independent of each other and may end in any order. A
 * transfer that is refused ends as RN_STORAGE_INVALID; the others start all the same.
 *
 * Return: 0; -EINVAL: @count is 0; -EAGAIN: no room for @count transfers; -ENOMEM. In
 *	   case of an error, no transfer was started.
 */
int rn_storage_batch_submit(struct rn_storage_batch *batch, unsigned count,
			    const struct rn_storage_io *ios);

/**
 * rn_storage_batch_status() - Fetch the events of transfers that have ended
 * @min:	Wait until this number of transfers (or all in the batch) have ended
 * @max:	Number of elements in @events
 * @timeout_ns:	How long to wait; < 0: for ever
 *
 * Reads the completion ring in host memory, as a program on hardware does. Each transfer
 * is reported once, in the order in which they ended, and then removed from the batch.
 *
 * Return: number of events written, fewer than @min after the timeout; -EINVAL: @min
 *	   > @max.
 */
int rn_storage_batch_status(struct rn_storage_batch *batch, unsigned min, unsigned max,
			    struct rn_storage_event *events, int64_t timeout_ns);

/* Finds the oldest transfer with this cookie whose end has not been reported, and sets
 * *@status to its status. Return: 0; -ENOENT: there is none.
 */
int rn_storage_batch_peek(struct rn_storage_batch *batch, const void *cookie,
			  enum rn_storage_status *status);

/* Cancels the transfers of a batch. Those that have not begun end as RN_STORAGE_CANCELED;
 * those that have begun do so soon, or complete. All are still reported. Return: number
 * of transfers that had not ended.
 */
int rn_storage_batch_cancel(struct rn_storage_batch *batch);

/* Cancels all transfers, waits until they have ended, and frees the batch. NULL
 * is ignored.
 */
void rn_storage_batch_destroy(struct rn_storage_batch *batch);

/* ---------------------------------------------------------------------- streams */
/* A stream: a queue of operations that are executed in order. Each operation begins when
 * the previous one has ended, and the data of a read is visible to all later operations
 * of the stream.
 */
struct rn_storage_stream;

/* Makes a stream. Return: 0, -ENOMEM, -EAGAIN: no thread. */
int rn_storage_stream_create(struct rn_storage_stream **stream);

/* Frees the stream, after all queued operations have ended. NULL is ignored. Must not be
 * called from a callback of the stream.
 */
void rn_storage_stream_destroy(struct rn_storage_stream *stream);

/**
 * rn_storage_read_async() - Queue a read
 * @size, @file_offset, @buf_offset: Values are read when the operation begins, so an
 *		earlier operation may still set them
 * @done:	Out, when the operation has ended: number of bytes or -errno. May be NULL
 *
 * The caller must keep all pointers valid until the operation has ended. Return: 0,
 * -ENOMEM.
 */
int rn_storage_read_async(struct rn_storage_file *file, void *base, const size_t *size,
			  const off_t *file_offset, const off_t *buf_offset,
			  ssize_t *done, struct rn_storage_stream *stream);
int rn_storage_write_async(struct rn_storage_file *file, const void *base,
			   const size_t *size, const off_t *file_offset,
			   const off_t *buf_offset, ssize_t *done,
			   struct rn_storage_stream *stream);

/* Queues a launch of a kernel (rn_gpu_launch()). The operation ends when the kernel has
 * ended, with the error of the kernel.
 */
int rn_storage_stream_launch(struct rn_storage_stream *stream, struct rn_gpu *gpu,
			     rn_gpu_kernel_fn *kernel, void *arg);

/* Queues a call of @fn, which is made by the thread of the stream. */
int rn_storage_stream_callback(struct rn_storage_stream *stream, void (*fn)(void *arg),
			       void *arg);

/* Waits until all operations queued so far have ended. Return: 0, or the first error of
 * an operation (read, write or launch) since the last call.
 */
int rn_storage_stream_synchronize(struct rn_storage_stream *stream);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RN_STORAGE_H */
