/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.h - the writing side of a completion channel or an asynchronous event queue.
 *
 * The program reads whole records from a pipe: 8 bytes for a completion channel, 16 for
 * asynchronous events. libibverbs dereferences the address in a record, so records of an
 * object that is being destroyed are purged.
 *
 * Threads: the functions on one pipe serialise themselves, against the program's readers
 * too. None is a cancellation point or raises SIGPIPE; errno is kept.
 */
#ifndef RNP_EVENT_H
#define RNP_EVENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RNP_EVENT_LEN_MAX = 16
}; /* bytes of one record */

struct rnp_event_pipe {
	pthread_mutex_t lock; /* guards: order of writes against purges */
	int read_fd, write_fd;
	bool shared; /* the program has the same open file: restore its status flags */
	size_t record_len; /* bytes, 1 .. RNP_EVENT_LEN_MAX */
};

/**
 * rnp_event_pipe_open() - Make a pipe and its first descriptor, for the program
 * @pipe:	Out
 * @record_len:	Bytes of one record
 *
 * Return: descriptor for the program to read, or -errno. The program may set O_NONBLOCK;
 *	   the caller closes it, before or after rnp_event_pipe_close().
 */
int rnp_event_pipe_open(struct rnp_event_pipe *pipe, size_t record_len);

/**
 * rnp_event_pipe_attach() - Become the writer of a pipe that somebody else made
 * @fd:		Open for reading and writing; stays the caller's
 *
 * Return: 0 or -errno.
 */
int rnp_event_pipe_attach(struct rnp_event_pipe *pipe, int fd, size_t record_len);

void rnp_event_pipe_close(struct rnp_event_pipe *pipe);

/* Write one record. False if the pipe is full and cannot be enlarged, or is closed. */
bool rnp_event_pipe_write(struct rnp_event_pipe *pipe, const void *record);

/**
 * rnp_event_pipe_purge() - Take out the records of one object
 * @object:	Records whose first 8 bytes are this address
 *
 * The others keep their order, unless a reader takes some at the same time. A reader may
 * find the pipe empty for a moment.
 * Return: number of records taken out.
 */
unsigned rnp_event_pipe_purge(struct rnp_event_pipe *pipe, const void *object);

/* Counters of the events of one object: those that the program has read, and those that
 * it has acknowledged, as libibverbs counts them.
 */
struct rnp_awaited {
	pthread_mutex_t *mutex; /* guards: *acked */
	pthread_cond_t *cond;	/* *acked has changed */
	const uint32_t *acked;
	uint32_t read;
};

/* Waits until the program has acknowledged all events that it has read, as a kernel does
 * before an object goes. The object has left the device and its unread events were
 * purged. No lock held.
 */
void rnp_await_acks(const struct rnp_awaited *acks);

/* A pipe that one descriptor reads and writes; -errno where there is no /proc.
 * Close-on-exec and above 2, like all descriptors of the plugin.
 */
int rnp_event_fd_new(void);

#endif /* RNP_EVENT_H */
