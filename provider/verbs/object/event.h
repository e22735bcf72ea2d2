/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.h - the writing side of a completion channel or an asynchronous event queue.
 *
 * The program reads whole records from a pipe: 8 bytes for a completion channel, 16 for
 * asynchronous events. libibverbs dereferences the address in a record, so the records of
 * an object that is being destroyed are removed (purged).
 *
 * Threads: functions on one pipe may be called by several threads at the same time, and
 * while the program reads. None is a cancellation point or raises SIGPIPE; errno is kept.
 */
#ifndef RNP_EVENT_H
#define RNP_EVENT_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct rnp_context;
struct rnp_cq;
struct rnp_engine_hooks;

enum {
	RNP_EVENT_LEN_MAX = 16 /* maximum length of a record in bytes */
};

struct rnp_event_pipe {
	/* held while records are written to the pipe or purged from it */
	pthread_mutex_t lock;
	int read_fd, write_fd;
	/* True: the plugin and the program share one open file, so the plugin must
	 * restore its status flags after a change.
	 */
	bool shared;
	size_t record_len; /* length of a record in bytes, 1 .. RNP_EVENT_LEN_MAX */
};

/**
 * rnp_event_pipe_open() - Open a pipe, and a descriptor of it for the program
 * @pipe:	Out
 * @record_len:	Bytes of one record
 *
 * Return: descriptor for the program to read, or -errno. The program may set O_NONBLOCK;
 *	   the caller closes it, before or after rnp_event_pipe_close().
 */
int rnp_event_pipe_open(struct rnp_event_pipe *pipe, size_t record_len);

/**
 * rnp_event_pipe_attach() - Open a pipe that exists already, to write records to it
 * @fd:		Descriptor of the pipe, open for reading and writing; the caller still
 *		owns it
 *
 * Return: 0 or -errno.
 */
int rnp_event_pipe_attach(struct rnp_event_pipe *pipe, int fd, size_t record_len);

void rnp_event_pipe_close(struct rnp_event_pipe *pipe);

/* Writes one record. Return: true; false if the pipe is closed, or full and cannot be
 * enlarged.
 */
bool rnp_event_pipe_write(struct rnp_event_pipe *pipe, const void *record);

/**
 * rnp_event_pipe_purge() - Remove the records of one object
 * @object:	Address of the object, in the first 8 bytes of its records
 *
 * The records of other objects keep their order, unless a reader reads some at the same
 * time. A reader may find the pipe empty for a moment.
 * Return: number of records removed.
 */
unsigned rnp_event_pipe_purge(struct rnp_event_pipe *pipe, const void *object);

/* Counters of the events of one object, as libibverbs counts them. */
struct rnp_awaited {
	pthread_mutex_t *mutex; /* guards *@acked */
	pthread_cond_t *cond;	/* signalled when *@acked has changed */
	const uint32_t *acked;
	uint32_t read;
};

/* Waits until the program has acknowledged all events of an object that it has read, as a
 * kernel does before it destroys the object. Before this call the caller removes the
 * object from the device and purges its unread events. The caller holds no lock.
 */
void rnp_await_acks(const struct rnp_awaited *acks);

/* Opens a pipe that one descriptor reads and writes. The descriptor is close-on-exec and
 * above 2, like all descriptors of the plugin. Return: the descriptor; -errno, for
 * example where there is no /proc.
 */
int rnp_event_fd_new(void);

/* -------------------------------------------------- channels, and events of objects */
/* The writing side of a completion channel that at least one CQ uses. */
struct rnp_channel {
	LIST_ENTRY(rnp_channel) link;
	const struct ibv_comp_channel *key;
	unsigned refs; /* number of CQs that use the channel; guarded by channel_lock */
	/* Number of CQs whose event could not be written yet, because the channel was
	 * full. Written under the engine lock.
	 */
	atomic_uint pending;
	struct rnp_event_pipe pipe;
};

extern const struct rnp_engine_hooks rnp_hooks;
void rnp_cq_event(struct ibv_cq *base);
/* The channel was full when a completion event of @cq was to be written.
 * rnp_cq_write_pending_event() writes that event if there is room now;
 * rnp_cq_drop_pending_event() drops it. The engine lock is held.
 */
void rnp_cq_write_pending_event(struct rnp_cq *cq);
void rnp_cq_drop_pending_event(struct rnp_cq *cq);
/* Returns the writing side of the channel @key, which all CQs that use the channel share.
 * Returns NULL with errno on failure.
 */
struct rnp_channel *rnp_channel_get(struct rnp_context *ctx,
				    const struct ibv_comp_channel *key);
void rnp_channel_put(struct rnp_context *ctx, struct rnp_channel *channel);

#endif /* RNP_EVENT_H */
