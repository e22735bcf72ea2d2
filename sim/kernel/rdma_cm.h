/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_cm.h - the device /dev/infiniband/rdma_cm, which rocind implements.
 *
 * A program that opens the device gets a socket to rocind, called a channel
 * (rocin/cmdev.h). A command that the program writes to the channel is executed by
 * rocind. A descriptor is recognised by the name of its socket, so fork(), dup(), close()
 * and close_range() need no hooks. Which descriptors this library has returned is
 * remembered only so that other descriptors need not be checked.
 *
 * Threads: any.
 */
#ifndef RNK_RDMA_CM_H
#define RNK_RDMA_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

enum {
	/* Device number: major 10, a miscellaneous device
	 * (Documentation/admin-guide/devices.txt), and a minor that kernels
	 * assign dynamically.
	 */
	RNK_CM_MAJOR = 10,
	RNK_CM_MINOR = 62,
};
#define RNK_CM_MODE (S_IFCHR | 0666)
#define RNK_CM_DEVICE makedev(RNK_CM_MAJOR, RNK_CM_MINOR)

/* Returns true if @mapped is the path of the device file rdma_cm in the tree of
 * simulated files.
 */
bool rnk_cm_is_node(const char *mapped);

/**
 * rnk_cm_open() - Open the device
 * @flags:	Flags of open(), of which O_NONBLOCK and O_CLOEXEC are used
 *
 * Starts rocind if it is not running.
 *
 * Return: a descriptor, or -1 with errno as open() sets it: ENXIO where rocind cannot be
 *	   reached (ROCIN_LOG says why), EMFILE, ENOMEM.
 */
int rnk_cm_open(int flags);

/* Returns the channel number of a descriptor, or 0 if it is not a descriptor of rdma_cm.
 * Keeps errno.
 */
uint64_t rnk_cm_number(int fd);

/**
 * rnk_cm_write() - Execute a command
 *
 * @number:	rnk_cm_number() of @fd
 *
 * Like a write to the kernel's device, this function is a cancellation point only while
 * it waits for an event.
 *
 * Return: @len, or -1 with errno as the kernel sets it. After rocind has ended, the
 * result comes from cm_ids.h.
 */
ssize_t rnk_cm_write(int fd, uint64_t number, const void *buf, size_t len);

/* ---- Command sockets ---- */

/* A command socket (also called path): the connection by which a thread sends commands
 * of one channel to rocind (rocin/cmdev.h).
 *
 * Each thread has a command socket for each of the few channels that it has used most
 * recently. The sockets are closed when the thread ends. A command socket may become
 * unusable at any time: programs close descriptors that they have not opened, and the
 * child of fork() must not use the copies that it has of its parent's sockets.
 *
 * Threads: any; no locks.
 */

struct rnk_cm_path {
	/* number of the channel that the socket serves; 0: unused entry */
	uint64_t number;
	int fd;
	/* number of the last command; rocind's answer to it has the same number */
	uint32_t seq;
	pid_t pid;
	ino_t inode; /* inode number, by which the socket is recognised */
};

/**
 * rnk_cm_path_get() - Find or open the calling thread's command socket of a channel
 * @channel_fd:	Descriptor of the channel, by which a new command socket is passed
 * to rocind
 * @number:	Number of the channel
 * @out:	Out: the command socket; valid until the thread calls this function again
 *
 * Return: 0, -ESHUTDOWN (rocind has ended), -EMFILE, -ENOMEM ...
 */
int rnk_cm_path_get(int channel_fd, uint64_t number, struct rnk_cm_path **out);

/* Closes a command socket whose other end rocind has closed. */
void rnk_cm_path_close(struct rnk_cm_path *path);

#endif /* RNK_RDMA_CM_H */
