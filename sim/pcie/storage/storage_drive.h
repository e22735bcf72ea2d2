/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_drive.h - an NVMe-like DMA engine.
 *
 * A drive takes commands from a queue in order. It moves the bytes by TLPs of its own
 * (writes into memory; reads of memory, late) and at the end writes a completion entry
 * into a ring in host memory. An entry does not overtake data on its way to host memory;
 * to device memory it does, because that is another route.
 *
 * Locks: rn_storage_lock() guards all of this. The host lock is taken first where both
 * are: nothing of host.h may be called with the storage lock held.
 */
#ifndef RN_STORAGE_DRIVE_H
#define RN_STORAGE_DRIVE_H

#include <sys/types.h>

#include "rocin/storage.h"
#include "sim/pcie/model/tlp.h"

enum {
	RN_DRIVE_PIECE = 128 * 1024, /* bytes that a drive holds at one time */
	RN_DRIVE_COMMAND_MAX = 16 * 1024 * 1024,
};

struct rn_storage_req;

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

#endif /* RN_STORAGE_DRIVE_H */
