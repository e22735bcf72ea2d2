/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_internal.h - what the parts of storage share.
 *
 *	storage.c		driver, files, buffers
 *	storage_route.c		which way, and why
 *	storage_io.c		one transfer: commands of a drive and copies, step by step
 *	storage_drive.c		the DMA engine
 *	storage_batch.c		many transfers
 *	storage_stream.c	work in order
 *
 * Locks: rn_storage_lock() guards all of this. The host lock is taken first where both
 * are: nothing of host.h may be called with the storage lock held.
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
	RN_STORAGE_BOUNCE = 256 * 1024, /* bytes of one piece of a bounced transfer */
};

struct rn_storage_file {
	int fd;
	int plain_fd; /* without O_DIRECT, for what is not aligned */
	unsigned drive;
	unsigned active; /* transfers under way */
};

struct rn_storage_buffer {
	struct rn_storage_buffer *next;
	uintptr_t base; /* as the user named it: found by that after its memory is gone */
	size_t len;
	uint64_t addr; /* as drives name it */
	int gpu;       /* -1: host memory */
	unsigned active;
};

struct rn_storage {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* an entry was written, a transfer ended, a queue grew */
	unsigned opens;
	bool is_implicit; /* opened by a call that needed it */
	unsigned objects; /* files, buffers, batches, streams */
	struct rn_storage_policy policy;
	struct rn_storage_near near;
	struct rn_storage_buffer *buffers;
	struct rn_storage_gpu_bounce *bounces; /* not in use */
	uint64_t taken[RN_STORAGE_WAY_COUNT];  /* transfers by way */
	uint64_t faults;
	struct rn_host *host;
	pid_t pid;
};
extern struct rn_storage rn_storage;

void rn_storage_lock(void);
void rn_storage_unlock(void);

/* Remember a sentence for rn_storage_last_error(); gives @error back. */
int rn_storage_fail(int error, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A thread that no signal of the program reaches. 0, -EAGAIN, -ENOMEM. */
int rn_storage_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* Open if nobody has. 0 or -errno; what rn_storage_driver_open() says. */
int rn_storage_need(void);
/* rn_storage_need(), and one object more, or one less. */
int rn_storage_object_add(void);
void rn_storage_object_remove(void);

/* The registered buffer that holds @addr, as drives name it; NULL: none. With the lock
 * held.
 */
struct rn_storage_buffer *rn_storage_buffer_of(uint64_t addr);

/* What memory begins at @base? 0, -EFAULT: none. */
struct rn_storage_place {
	uint64_t addr; /* as drives name it */
	int gpu;       /* -1: host memory */
	bool is_beyond_bar;
};
int rn_storage_place_of(uintptr_t base, struct rn_storage_place *place);

/* Memory of a GPU to bounce through, RN_STORAGE_BOUNCE bytes; kept until the driver is
 * closed. NULL: none is left.
 */
struct rn_storage_gpu_bounce *rn_storage_gpu_bounce_get(int gpu, uint64_t *addr);
void rn_storage_gpu_bounce_put(struct rn_storage_gpu_bounce *bounce);

struct rn_storage_req;

/* ------------------------------------------------------------- storage_drive.c */
enum {
	RN_DRIVE_PIECE = 128 * 1024, /* bytes that a drive holds at one time */
	RN_DRIVE_COMMAND_MAX = 16 * 1024 * 1024,
};

struct rn_drive_command {
	struct rn_drive_command *next; /* in the queue */
	struct rn_storage_req *req;    /* told when the completion entry is taken */
	enum rn_storage_op op;
	int fd;
	uint64_t addr; /* of the memory, as drives name it */
	size_t len;
	off_t offset;
	uint8_t target; /* agent whose memory it is */
	uint8_t flags;	/* of its TLPs: RN_TLP_NEAR or 0 */
	uint8_t drive;

	/* The drive's. */
	uint16_t id;
	bool has_begun, is_cancelled;
	bool has_faulted; /* a TLP found no memory */
	unsigned reads;	  /* read TLPs whose completion has not arrived */
};

/* Queue a command; starts the drive's thread at first. With the storage lock held.
 * -EAGAIN: no thread or too many commands.
 */
int rn_drive_submit(struct rn_drive_command *c);

/* Take back a command that has not begun; else ask it to stop soon. With the lock held.
 * Return: true if taken back: it will not be told of.
 */
bool rn_drive_cancel(struct rn_drive_command *c);

/* Look at the completion rings: takes one entry and says what it tells. With the lock
 * held.
 *
 * Return: the command, NULL: nothing there.
 * @count: Out: bytes moved
 * @error: Out: 0 or a positive errno
 */
struct rn_drive_command *rn_drive_take(size_t *count, int *error);

/* End the threads; no command may be queued. With the lock held, which is let go. */
void rn_drive_stop_all(void);

/* What a drive reads from and writes to; tests put others in their place. */
struct rn_drive_backing {
	ssize_t (*read)(int fd, void *buf, size_t len, off_t offset);
	ssize_t (*write)(int fd, const void *buf, size_t len, off_t offset);
};
extern struct rn_drive_backing rn_drive_backing;

/* ------------------------------------------------------------------ storage_io.c */
struct rn_storage_req {
	struct rn_storage_io io;
	struct rn_storage_route route;
	struct rn_storage_buffer *buffer; /* NULL: not registered */
	struct rn_storage_place place;	  /* of the first byte that moves */
	enum rn_storage_status status;	  /* guarded by the lock */
	ssize_t result;
	size_t moved;
	bool is_cancelled;
	uint64_t bounce; /* as drives name it; 0: none */
	void *host_bounce;
	struct rn_storage_gpu_bounce *gpu_bounce;
	struct rn_drive_command command;
	/* Called with the lock held when the transfer has ended; may be NULL. */
	void (*ended)(struct rn_storage_req *r);
	void *owner;
	struct rn_storage_req *next; /* the owner's */
};

/* Begin the transfer of @r->io. 0; else -errno: it has not begun and ends nowhere. */
int rn_storage_req_start(struct rn_storage_req *r);

/* With the lock held. True: the drive had not begun; the caller ends it by
 * rn_storage_req_end_cancelled() without the lock.
 */
bool rn_storage_req_cancel(struct rn_storage_req *r);
void rn_storage_req_end_cancelled(struct rn_storage_req *r);
static inline bool rn_storage_req_has_ended(const struct rn_storage_req *r)
{
	return r->status != RN_STORAGE_WAITING && r->status != RN_STORAGE_PENDING;
}

/* Take completion entries and act on them until @is_over(@arg), asked with the lock held.
 * @deadline: rn_host_now() at which to give up; 0: never. False: given up.
 */
bool rn_storage_wait(bool (*is_over)(const void *arg), const void *arg, rn_ns deadline);

/* All that drives have sent to [addr, addr + len) is where its reader sees it. */
void rn_storage_settle_range(uint64_t addr, uint64_t len);

/* Start, wait, result. */
ssize_t rn_storage_run(struct rn_storage_req *r);

#endif /* RN_STORAGE_INTERNAL_H */
