/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_cm.h - /dev/infiniband/rdma_cm, which rocind serves.
 *
 * A program that opens it gets a socket to rocind (rocin/cmdev.h). What it writes there
 * goes to rocind as a command; all that the device does is done there. A descriptor is
 * recognised by its name, so fork(), dup(), close() and close_range() need no watching;
 * only so that other descriptors cost nothing, those that were given out are remembered.
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
	/* A miscellaneous device (Documentation/admin-guide/devices.txt: 10), with a
	 * number that kernels give dynamically.
	 */
	RNK_CM_MAJOR = 10,
	RNK_CM_MINOR = 62,
};
#define RNK_CM_MODE (S_IFCHR | 0666)
#define RNK_CM_DEVICE makedev(RNK_CM_MAJOR, RNK_CM_MINOR)

/* Is this the node's place in the tree? */
bool rnk_cm_is_node(const char *mapped);

/**
 * rnk_cm_open() - Open the device
 * @flags:	As of open(); O_NONBLOCK counts
 *
 * Starts rocind if there is none. Close-on-exec if the program asks for it.
 *
 * Return: a descriptor, or -1 with errno as open() sets it: ENXIO where rocind cannot be
 *	   reached (ROCIN_LOG says why), EMFILE, ENOMEM.
 */
int rnk_cm_open(int flags);

/* The number of such a descriptor; 0: it is none. Keeps errno. */
uint64_t rnk_cm_number(int fd);

/**
 * rnk_cm_write() - Have a command done
 *
 * @number:	rnk_cm_number() of it
 *
 * A cancellation point where it waits for an event, as the kernel's is.
 *
 * Return: @len, or -1 with errno as the kernel sets it. When rocind has
 *	   gone, what cm_ids.h says.
 */
ssize_t rnk_cm_write(int fd, uint64_t number, const void *buf, size_t len);

/* ---- Paths of commands ---- */

/* The path of a thread's commands to rocind (rocin/cmdev.h).
 *
 * Each thread has one for each of the channels that it used last, closed when it ends. A
 * path is not trusted to be still there: programs close whatever they find, and children
 * of fork() have paths that are their parents'.
 *
 * Threads: any; no locks.
 */

struct rnk_cm_path;

/**
 * rnk_cm_path_get() - The calling thread's path to a channel
 * @channel_fd:	Descriptor of the channel, over which a new path is handed to rocind
 * @number:	The number in its name
 * @path:	Out: the thread's until its next call of this function
 *
 * Return: 0, -ESHUTDOWN (rocind has gone), -EMFILE, -ENOMEM ...
 */
int rnk_cm_path_get(int channel_fd, uint64_t number, struct rnk_cm_path **path);

int rnk_cm_path_fd(const struct rnk_cm_path *path);

/* A number for the next command, which the answer has too. */
uint32_t rnk_cm_path_next_seq(struct rnk_cm_path *path);

/* rocind has closed it. */
void rnk_cm_path_close(struct rnk_cm_path *path);

#endif /* RNK_RDMA_CM_H */
