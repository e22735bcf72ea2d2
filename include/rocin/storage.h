/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage.h - files read into device memory by a simulated NVMe drive, and back.
 *
 * The shape is that of cuFile (GPUDirect Storage): open the driver, register a
 * descriptor, register a buffer, read and write at offsets; batches; calls ordered by a
 * stream. What a drive does is what a DMA engine does on PCIe: write TLPs into the
 * buffer, then a completion entry into host memory. Nothing makes a CPU that has seen the
 * completion wait for data that goes to another memory, so
 *
 *	a completed read says that the drive has sent the data, not that a kernel that is
 *	already running sees it.
 *
 * Launching a kernel, rn_gpu_flush() or a read through the same route afterwards makes it
 * so, where the knobs of rocin/pcie.h let them. With the layer off data is there when the
 * call returns.
 *
 * Routes. A transfer takes the first way of the policy that is open to it:
 *
 *	direct	the drive reaches the buffer, below one switch (or in host memory)
 *	gpu	into a GPU below the drive's switch, from there to the buffer
 *	host	"compatibility": into host memory, from there to the buffer
 *	p2p	the drive reaches the buffer through another root port
 *
 * A bounced transfer is complete when the copy is, so it hides what `direct` and `p2p`
 * show. A buffer that is not registered, a piece that is not aligned to
 * RN_STORAGE_ALIGNMENT or device memory beyond the BAR takes `host` whatever the policy
 * says. rn_storage_plan() tells way and reason beforehand.
 *
 * Environment, read by rn_storage_driver_open():
 *	ROCIN_STORAGE_POLICY	ways in order of preference; default "direct,gpu,host"
 *	ROCIN_STORAGE_NEAR	GPUs below the switch of each drive, where rc.p2p says
 *				that a switch is not shared: "nvme0=gpu1,nvme1=gpu2+gpu3"
 *
 * Errors are negative errno values. After fork() the child can use none of it (-ENODEV).
 *
 * Threads: all functions may be called from any thread, except where one object must not
 * go while another thread uses it.
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
	/* Alignment in bytes of direct transfers: address in memory, offset
	 * in the file, and length.
	 */
	RN_STORAGE_ALIGNMENT = 4096,
	RN_STORAGE_BATCH_MAX = 128, /* transfers in one batch */
};

/* ------------------------------------------------------------------ the driver */
struct rn_storage_properties {
	unsigned drives;  /* number of drives that a file may be put on */
	size_t alignment; /* RN_STORAGE_ALIGNMENT */
	/* Largest command of the drive; longer transfers are split. */
	size_t direct_bytes_max;
	size_t bounce_bytes; /* bytes of one piece of a bounced transfer */
	unsigned batch_max;  /* RN_STORAGE_BATCH_MAX */
	bool is_ordered; /* the layer is off: data is always visible before completions */
	char policy[64]; /* policy in force */
	uint64_t direct, gpu, host; /* number of transfers by each route, since open */
	uint64_t p2p;
	uint64_t faults; /* TLPs of a drive to memory that was not there any more */
};

/**
 * rn_storage_driver_open() - Start using storage
 *
 * Calls are counted: as many calls of rn_storage_driver_close() are needed. The other
 * functions open the driver once by themselves if it is not open.
 *
 * Return: 0; -EINVAL: a variable of the environment is not understood, see
 *	   rn_storage_last_error(); -ENOMEM, -EAGAIN: no thread; -ENODEV: a forked child.
 */
int rn_storage_driver_open(void);

/* Stop using storage. Return: 0; -EBUSY: files, buffers, batches or streams are
 * left; -EINVAL: not open.
 */
int rn_storage_driver_close(void);

int rn_storage_driver_properties(struct rn_storage_properties *properties);

/* Set what the variables of the environment set; NULL: the default. Transfers under way
 * keep their routes. Return: 0; -EINVAL, see rn_storage_last_error().
 */
int rn_storage_set_policy(const char *policy);
int rn_storage_set_near(const char *near);

/* One sentence on the last failure of this thread, "" if there was none. Valid until the
 * next storage call of this thread.
 */
const char *rn_storage_last_error(void);

/* -------------------------------------------------------------- files and buffers */
struct rn_storage_file;

/**
 * rn_storage_handle_register() - Register an open file for transfers
 * @file:	Out
 * @fd:		Open regular file or block device; duplicated, so it may be closed.
 *		Opened with O_DIRECT or without
 *
 * Return: 0; -EBADF; -EINVAL: another kind of file; -ENOMEM, -EMFILE.
 */
int rn_storage_handle_register(struct rn_storage_file **file, int fd);

/* Forget the file, after transfers under way have ended. NULL is ignored. */
void rn_storage_handle_deregister(struct rn_storage_file *file);

/* Put the file on a drive (at first it is on drive 0). Return: 0; -EINVAL:
 * no such drive.
 */
int rn_storage_handle_set_drive(struct rn_storage_file *file, unsigned drive);

/**
 * rn_storage_buffer_register() - Let drives reach a buffer
 * @base:	GPU memory by its BAR pointer or its device pointer, which name the same
 *		buffer; or host memory
 * @len:	Bytes, at least 1
 *
 * Return: 0; -EINVAL: @len 0 or a range that wraps; -EEXIST: overlaps a registered
 *	   buffer; -EFAULT: not memory of one kind, or not accessible; -ENOMEM: beyond the
 *	   BAR.
 */
int rn_storage_buffer_register(void *base, size_t len);

/* Return: 0; -ENOENT: @base is not the start of a registered buffer; -EBUSY: a transfer
 * to or from it is under way.
 */
int rn_storage_buffer_deregister(void *base);

/* -------------------------------------------------------------------- routes */
enum rn_storage_way {
	RN_STORAGE_DIRECT,
	RN_STORAGE_GPU,
	RN_STORAGE_HOST,
	RN_STORAGE_P2P,
	RN_STORAGE_WAY_COUNT,
};

/* Why the first route of the policy was not taken; RN_STORAGE_PREFERRED if it was. */
enum rn_storage_reason {
	RN_STORAGE_PREFERRED,
	RN_STORAGE_UNREGISTERED, /* buffer not registered */
	RN_STORAGE_UNALIGNED,	 /* address, offset or length is not aligned */
	RN_STORAGE_BEYOND_BAR,	 /* device memory that peers cannot reach */
	RN_STORAGE_ROOT_PORTS,	 /* drive and GPU are below different root ports */
	/* Drive and GPU are below different root ports, and the root complex does not
	 * route peer-to-peer traffic between them.
	 */
	RN_STORAGE_NOT_ROUTED,
	/* No other GPU below the drive's switch to bounce through. */
	RN_STORAGE_NO_OTHER_GPU,
	RN_STORAGE_REASON_COUNT,
};

struct rn_storage_route {
	enum rn_storage_way way;
	enum rn_storage_reason reason;
	unsigned drive;
	int gpu;     /* GPU that the buffer belongs to; -1: host memory */
	int via_gpu; /* RN_STORAGE_GPU: the GPU through which it bounces; else -1 */
};

/* A name or text such as "direct" and "buffer not registered"; never NULL. */
const char *rn_storage_way_name(enum rn_storage_way way);
const char *rn_storage_reason_text(enum rn_storage_reason reason);

/* The route in one line, such as "nvme0 -> host memory -> gpu1 (host): drive and
 * GPU are below different root ports". Return: bytes needed without the
 * terminator, as snprintf().
 */
int rn_storage_route_text(const struct rn_storage_route *route, char *buf, size_t len);

/**
 * rn_storage_plan() - Which route would this transfer take, and why?
 *
 * Arguments as of rn_storage_read(). Return: 0; the errors of rn_storage_read() that need
 * no transfer; -EHOSTUNREACH: the policy leaves no way.
 */
int rn_storage_plan(const struct rn_storage_file *file, const void *base, size_t size,
		    off_t file_offset, off_t buf_offset, struct rn_storage_route *route);

/* ----------------------------------------------------------------- one transfer */
/**
 * rn_storage_read() - Read from the file into memory
 * @base:	Start of a registered buffer, or of any memory
 * @size:	Bytes
 * @file_offset, @buf_offset: Where to begin, bytes
 *
 * Return: bytes, fewer at the end of the file, 0 behind it; what was read before an error
 *	   counts as a short transfer. -EINVAL: a negative offset, a range outside of the
 *	   registered buffer; -EBADF: the descriptor is not open for it; -EFAULT: memory
 *	   that is not there or was freed meanwhile; -EHOSTUNREACH: the policy leaves no
 *	   way; -EIO and what else the file says; -ENOMEM.
 */
ssize_t rn_storage_read(struct rn_storage_file *file, void *base, size_t size,
			off_t file_offset, off_t buf_offset);

/* Write from memory to the file. As rn_storage_read(), and also -ENOSPC, -EFBIG.
 * The drive reads the bytes at some time during the call, so the buffer must not
 * change before it returns.
 */
ssize_t rn_storage_write(struct rn_storage_file *file, const void *base, size_t size,
			 off_t file_offset, off_t buf_offset);

/* Wait until all data that drives have sent is in memory and visible to
 * GPUs. For tests.
 */
void rn_storage_settle(void);

/* ---------------------------------------------------------------------- batches */
enum rn_storage_op {
	RN_STORAGE_READ,
	RN_STORAGE_WRITE
};

enum rn_storage_status {
	RN_STORAGE_WAITING,  /* in the queue of the drive */
	RN_STORAGE_PENDING,  /* the drive has begun the transfer */
	RN_STORAGE_COMPLETE, /* result >= 0 */
	RN_STORAGE_FAILED,   /* result < 0 */
	RN_STORAGE_CANCELED, /* result -ECANCELED; some bytes may have moved */
	RN_STORAGE_INVALID, /* refused when submitted: result -EINVAL or another -errno */
};

struct rn_storage_io {
	enum rn_storage_op op;
	struct rn_storage_file *file;
	void *base;
	size_t size;
	off_t file_offset, buf_offset;
	void *cookie; /* any value of the caller, for the event */
};

struct rn_storage_event {
	void *cookie;
	enum rn_storage_status status;
	ssize_t result; /* bytes or -errno */
	struct rn_storage_route route;
};

struct rn_storage_batch;

/* Make a batch with room for @max transfers, 1 .. RN_STORAGE_BATCH_MAX.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int rn_storage_batch_setup(struct rn_storage_batch **batch, unsigned max);

/**
 * rn_storage_batch_submit() - Start transfers
 *
 * Copies @ios. They are independent of each other: any may end first. A transfer that is
 * refused ends as RN_STORAGE_INVALID and keeps no other from starting.
 *
 * Return: 0; -EINVAL: @count is 0; -EAGAIN: no room for @count, none was started;
 *	   -ENOMEM, likewise.
 */
int rn_storage_batch_submit(struct rn_storage_batch *batch, unsigned count,
			    const struct rn_storage_io *ios);

/**
 * rn_storage_batch_status() - Take the events of transfers that have ended
 * @min:	Wait until so many transfers have ended (or all that there are)
 * @max:	Room in @events
 * @timeout_ns:	How long to wait; < 0: for ever
 *
 * Reads the completion ring in host memory, as a program on hardware does. Each transfer
 * is reported once, in the order in which they ended; its place is free again.
 *
 * Return: events written, fewer than @min after the timeout; -EINVAL: @min > @max.
 */
int rn_storage_batch_status(struct rn_storage_batch *batch, unsigned min, unsigned max,
			    struct rn_storage_event *events, int64_t timeout_ns);

/* Status of the oldest transfer with this cookie that has not been reported yet. Return:
 * 0; -ENOENT: there is none.
 */
int rn_storage_batch_peek(struct rn_storage_batch *batch, const void *cookie,
			  enum rn_storage_status *status);

/* Cancel transfers: those that have not begun end as RN_STORAGE_CANCELED; those that
 * have begun do so soon, or complete. All are still reported. Return: number of
 * transfers that had not ended.
 */
int rn_storage_batch_cancel(struct rn_storage_batch *batch);

/* Cancel all transfers, wait for them, and free the batch. NULL is ignored. */
void rn_storage_batch_destroy(struct rn_storage_batch *batch);

/* ---------------------------------------------------------------------- streams */
/* A queue of work items that are done in order: each item begins when the one before it
 * has ended, and what a read has brought is visible to all later items of the stream.
 */
struct rn_storage_stream;

/* Return: 0, -ENOMEM, -EAGAIN: no thread. */
int rn_storage_stream_create(struct rn_storage_stream **stream);

/* Free the stream, after all queued items have ended. NULL is ignored. Not to be called
 * from a callback of the stream.
 */
void rn_storage_stream_destroy(struct rn_storage_stream *stream);

/**
 * rn_storage_read_async() - Queue a read
 * @size, @file_offset, @buf_offset: Read when the item begins, so an earlier item may
 *		still set them
 * @done:	Out, when the item has ended: bytes or -errno. May be NULL
 *
 * All pointers must stay valid until then. Return: 0, -ENOMEM.
 */
int rn_storage_read_async(struct rn_storage_file *file, void *base, const size_t *size,
			  const off_t *file_offset, const off_t *buf_offset,
			  ssize_t *done, struct rn_storage_stream *stream);
int rn_storage_write_async(struct rn_storage_file *file, const void *base,
			   const size_t *size, const off_t *file_offset,
			   const off_t *buf_offset, ssize_t *done,
			   struct rn_storage_stream *stream);

/* Queue a launch of a kernel (rn_gpu_launch()). The item ends, with the kernel's error,
 * when the kernel has ended.
 */
int rn_storage_stream_launch(struct rn_storage_stream *stream, struct rn_gpu *gpu,
			     rn_gpu_kernel_fn *kernel, void *arg);

/* Queue a call of @fn in the thread of the stream. */
int rn_storage_stream_callback(struct rn_storage_stream *stream, void (*fn)(void *arg),
			       void *arg);

/* Wait until all items queued so far have ended. Return: 0, or the first error of an item
 * (read, write or launch) since the last call.
 */
int rn_storage_stream_synchronize(struct rn_storage_stream *stream);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* RN_STORAGE_H */
