/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_internal.h - declarations shared by the files of simulated GPU-direct storage.
 *
 * storage.c		driver, files, buffers
 * storage_route.c	chooses the route of a transfer, and says why
 * storage_io.c		one transfer: commands to a drive and copies, step by step
 * storage_drive.c	the DMA engine of a drive
 * storage_batch.c	batches: transfers started together
 * storage_stream.c	streams: transfers and kernels in order
 *
 * Locks: rn_storage_lock() takes the storage lock, which guards all that this file
 * declares. A thread that needs both locks takes the host lock first. So code that holds
 * the storage lock must call no function of host.h.
 */
#ifndef RN_STORAGE_INTERNAL_H
#define RN_STORAGE_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "rocin/storage.h"
#include "sim/pcie/host/host.h"
#include "sim/pcie/model/tlp.h"
#include "storage_route.h"

enum {
	/* Size of a bounce buffer, that is the number of bytes that a transfer copies at
	 * a time.
	 */
	RN_STORAGE_BOUNCE = 256 * 1024,
};

struct rn_storage_file {
	int fd;
	int plain_fd; /* file descriptor without O_DIRECT, for unaligned accesses */
	unsigned drive;
	unsigned active; /* number of transfers in progress that use the file */
	/* Of a file on another machine, which has no descriptor here; otherwise NULL. */
	const struct rn_storage_remote *remote;
	void *remote_ctx;
	/* Routes of the transfers of this file; without any, those of the driver. */
	struct rn_storage_policy policy;
};

struct rn_storage_buffer {
	struct rn_storage_buffer *next;
	/* Address that the program has registered. rn_storage_buffer_deregister() finds
	 * the buffer by this address, even if the memory was freed meanwhile.
	 */
	uintptr_t base;
	size_t len;
	uint64_t addr; /* address by which drives access the memory */
	int gpu;       /* number of the GPU that has the memory; -1: host memory */
	unsigned active;
};

struct rn_storage {
	pthread_mutex_t lock;
	/* Signalled when a drive has written a completion entry, a transfer has ended,
	 * or work was queued.
	 */
	pthread_cond_t changed;
	unsigned opens;
	/* The driver was opened by the first call that needed it, not by
	 * rn_storage_driver_open().
	 */
	bool is_implicit;
	unsigned objects; /* number of files, buffers, batches and streams */
	struct rn_storage_policy policy;
	struct rn_storage_near near;
	struct rn_storage_nvlinks nvlinks;
	struct rn_storage_buffer *buffers;
	/* Bounce buffers in GPU memory that are not in use; a list. */
	struct rn_storage_gpu_bounce *bounces;
	/* number of transfers so far on each route */
	uint64_t taken[RN_STORAGE_WAY_COUNT];
	uint64_t faults;
	struct rn_host *host;
	pid_t pid;
};
extern struct rn_storage rn_storage;

void rn_storage_lock(void);
void rn_storage_unlock(void);

/* Sets the text that rn_storage_last_error() returns, as printf() would. Returns @error.
 */
int rn_storage_fail(int error, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Starts a thread with all signals blocked. Returns 0, -EAGAIN or -ENOMEM. */
int rn_storage_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* Opens the storage driver if it is not open. Returns 0 or -errno, as
 * rn_storage_driver_open() does.
 */
int rn_storage_need(void);
/* rn_storage_object_add() counts a new object (file, buffer, batch or stream), and opens
 * the storage driver if it is not open. Returns 0 or -errno, as rn_storage_need() does.
 * rn_storage_object_remove() is called when an object has ended.
 */
int rn_storage_object_add(void);
void rn_storage_object_remove(void);

/* Returns the registered buffer that contains @addr, an address that drives use, or
 * NULL. Called with the storage lock held.
 */
struct rn_storage_buffer *rn_storage_buffer_of(uint64_t addr);

/* The memory to which an address @base of the program belongs. rn_storage_place_of()
 * finds it, and returns 0, or -EFAULT if nothing is allocated at @base.
 */
struct rn_storage_place {
	uint64_t addr; /* address at which drives access the memory */
	int gpu;       /* number of the GPU that has the memory; -1: host memory */
	bool is_beyond_bar;
};
int rn_storage_place_of(uintptr_t base, struct rn_storage_place *place);

/* Takes a bounce buffer of RN_STORAGE_BOUNCE bytes from the free list or from the memory
 * of @gpu. The buffers are kept until the driver is closed. Returns NULL if the GPU has
 * no memory left.
 */
struct rn_storage_gpu_bounce *rn_storage_gpu_bounce_get(int gpu, uint64_t *addr);
void rn_storage_gpu_bounce_put(struct rn_storage_gpu_bounce *bounce);

struct rn_storage_req;

/* ------------------------------------------------------------- storage_drive.c */
enum {
	RN_DRIVE_PIECE = 128 * 1024, /* number of bytes that a drive buffers at a time */
	RN_DRIVE_COMMAND_MAX = 16 * 1024 * 1024,
};

struct rn_drive_command {
	struct rn_drive_command *next; /* next command in the queue of the drive */
	/* The transfer to which this command belongs, and which continues when the
	 * command has ended.
	 */
	struct rn_storage_req *req;
	enum rn_storage_op op;
	int fd;
	/* Of a file on another machine, instead of fd. */
	const struct rn_storage_remote *remote;
	void *remote_ctx;
	uint64_t addr; /* address at which drives access the memory */
	size_t len;
	off_t offset;
	uint8_t target; /* agent (enum rn_agent) that owns the memory */
	uint8_t flags;	/* flags of the command's TLPs: RN_TLP_NEAR or 0 */
	uint8_t drive;

	/* The fields from here on are used only by storage_drive.c. */
	uint16_t id;
	bool has_begun, is_cancelled;
	bool has_faulted; /* a TLP of this command hit an unmapped address */
	unsigned reads;	  /* number of read TLPs whose completion has not arrived */
};

/* Queues a command; the first command of a drive starts the drive's thread. Called with
 * the storage lock held. Returns 0, or -EAGAIN if the thread cannot be started or there
 * are too many commands.
 */
int rn_drive_submit(struct rn_drive_command *c);

/* If the drive has not begun the command, removes it from the queue and returns true.
 * Otherwise asks the drive to end it soon, and returns false; rn_drive_take() then
 * returns the command. Called with the storage lock held.
 */
bool rn_drive_cancel(struct rn_drive_command *c);

/* Takes one completion entry from the rings of the drives. Called with the storage lock
 * held.
 *
 * Return: the command that the entry completes; NULL if there is no entry.
 * @count:	Out: bytes that were transferred
 * @error:	Out: 0 or a positive errno
 */
struct rn_drive_command *rn_drive_take(size_t *count, int *error);

/* Ends the threads of all drives. No command may be queued. The caller holds the storage
 * lock; this function releases it.
 */
void rn_drive_stop_all(void);

/* Functions by which a drive accesses its files; tests replace them. */
struct rn_drive_backing {
	ssize_t (*read)(int fd, void *buf, size_t len, off_t offset);
	ssize_t (*write)(int fd, const void *buf, size_t len, off_t offset);
};
extern struct rn_drive_backing rn_drive_backing;

/* ------------------------------------------------------------------ storage_io.c */
struct rn_storage_req {
	struct rn_storage_io io;
	struct rn_storage_route route;
	/* Registered buffer that contains the memory; NULL: the memory is not
	 * registered.
	 */
	struct rn_storage_buffer *buffer;
	/* where the first byte of the transfer lies in memory */
	struct rn_storage_place place;
	/* result of the transfer; guarded by the storage lock */
	enum rn_storage_status status;
	ssize_t result;
	size_t moved;
	bool is_cancelled;
	/* Address of the bounce buffer, as drives use it; 0: no bounce buffer. */
	uint64_t bounce;
	void *host_bounce;
	struct rn_storage_gpu_bounce *gpu_bounce;
	struct rn_drive_command command;
	/* Called with the storage lock held when the transfer has ended; may be NULL. */
	void (*ended)(struct rn_storage_req *r);
	void *owner;
	/* Next request in the list of the batch or stream to which this one belongs. */
	struct rn_storage_req *next;
};

/* Begins the transfer of @r->io. Returns 0 or -errno. After an error the transfer has not
 * begun, and r->ended() is not called.
 */
int rn_storage_req_start(struct rn_storage_req *r);

/* Cancels a transfer. Called with the storage lock held. Returns true if the drive had
 * not begun with the transfer; the caller must then release the lock and call
 * rn_storage_req_end_cancelled().
 */
bool rn_storage_req_cancel(struct rn_storage_req *r);
void rn_storage_req_end_cancelled(struct rn_storage_req *r);
static inline bool rn_storage_req_has_ended(const struct rn_storage_req *r)
{
	return r->status != RN_STORAGE_WAITING && r->status != RN_STORAGE_PENDING;
}

/* Takes completion entries and continues the transfers to which they belong, until
 * @is_over(@arg) returns true or the time @deadline of rn_host_now() comes (0: no
 * deadline). Calls @is_over with the storage lock held. Returns false if the deadline
 * came first.
 */
bool rn_storage_wait(bool (*is_over)(const void *arg), const void *arg, rn_ns deadline);

/* Forces all writes that drives have issued to [addr, addr + len), so that they are
 * visible when this function returns.
 */
void rn_storage_settle_range(uint64_t addr, uint64_t len);

/* Starts a transfer, waits for its end and returns its result. */
ssize_t rn_storage_run(struct rn_storage_req *r);

#endif /* RN_STORAGE_INTERNAL_H */
