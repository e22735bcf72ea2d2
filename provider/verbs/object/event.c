/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.c - passes completion and asynchronous events from the core to the program.
 *
 * libibverbs reads records and dereferences the address of the object in them. So
 * before an object is freed, each of its records must have been read or purged, and
 * each that was read must have been acknowledged: destroying an object waits for that,
 * as in a kernel.
 */
#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "library.h"
#include "provider.h"
#include "provider/verbs/queue/cq.h"
#include "provider/verbs/queue/qp.h"
#include "provider/verbs/queue/srq.h"
#include "provider/verbs/queue/steering.h"
#include "rocin/cqe.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"

/* -------------------------------------------- pipes that carry the records of events */
/* Opening /proc/self/fd/N gives a new open file description of the same pipe with status
 * flags of its own, so writes and purges never block, whatever flags the program sets.
 * Without /proc the description is shared with the program.
 *
 * System calls are made by syscall(2), as read(), write(), open() and close() are
 * cancellation points.
 */
enum {
	/* maximum size of a pipe in bytes for an unprivileged process, see pipe(7) */
	PIPE_BYTES_MAX = 1 << 20,
	/* bytes that are read at a time; a multiple of every record length */
	PURGE_BATCH = 4096,
};

static ssize_t write_raw(int fd, const void *buf, size_t len)
{
	/* the program has closed the descriptor, and may have reused its number */
	if (!rn_own_fd_is_there(fd)) {
		errno = EBADF;
		return -1;
	}
	return (ssize_t)syscall(SYS_write, fd, buf, len);
}

static ssize_t read_raw(int fd, void *buf, size_t len)
{
	if (!rn_own_fd_is_there(fd)) {
		errno = EBADF;
		return -1;
	}
	return (ssize_t)syscall(SYS_read, fd, buf, len);
}

/* Moves a descriptor above the standard ones. Return: @fd or its duplicate, or -errno. */
static int above_stdio(int fd)
{
	return rn_own_fd_keep(rn_fd_raise(fd));
}

/* Opens a new file description of the pipe @fd. Returns its descriptor, which may be one
 * of 0, 1 and 2; or -errno.
 */
static int open_again(int fd, int flags)
{
	char path[32];
	long again;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags);
	return again < 0 ? -errno : (int)again;
}

static int reopen(int fd, int flags)
{
	int again = open_again(fd, flags);

	return again < 0 ? again : above_stdio(again);
}

int rnp_event_fd_new(void)
{
	int pair[2];
	int fd;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	/* The program gets this descriptor, and libibverbs closes it. */
	fd = open_again(pair[0], 0);
	if (fd >= 0)
		fd = rn_fd_raise(fd);
	rn_fd_close(pair[0]);
	rn_fd_close(pair[1]);
	return fd;
}

static void init_pipe(struct rnp_event_pipe *pipe, size_t record_len)
{
	pthread_mutex_init(&pipe->lock, NULL);
	pipe->record_len = record_len;
}

int rnp_event_pipe_attach(struct rnp_event_pipe *pipe, int fd, size_t record_len)
{
	int own = reopen(fd, O_NONBLOCK);

	pipe->shared = own < 0;
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (own < 0)
		return -errno;
	pipe->read_fd = pipe->write_fd = own;
	init_pipe(pipe, record_len);
	return 0;
}

/* Opens a pipe as two separate open files: the program gets a descriptor of the reading
 * end; the plugin keeps a copy of that, and the writing end. Returns the program's
 * descriptor, or -errno.
 */
static int open_two_ends(struct rnp_event_pipe *pipe, size_t record_len)
{
	int pair[2];
	int fd;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	fd = fcntl(pair[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0) {
		fd = -errno;
		rn_fd_close(pair[0]);
		rn_fd_close(pair[1]);
		return fd;
	}
	pipe->read_fd = above_stdio(pair[0]);
	pipe->write_fd = above_stdio(pair[1]);
	if (pipe->read_fd < 0 || pipe->write_fd < 0) {
		if (pipe->read_fd >= 0)
			rn_fd_close(pipe->read_fd);
		if (pipe->write_fd >= 0)
			rn_fd_close(pipe->write_fd);
		rn_fd_close(fd);
		return -EMFILE;
	}
	pipe->shared = true;
	init_pipe(pipe, record_len);
	return fd;
}

int rnp_event_pipe_open(struct rnp_event_pipe *pipe, size_t record_len)
{
	int fd = rnp_event_fd_new();
	int rc;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return fd;
	if (fd < 0)
		return open_two_ends(pipe, record_len);
	rc = rnp_event_pipe_attach(pipe, fd, record_len);
	if (rc) {
		rn_fd_close(fd);
		return rc;
	}
	return fd;
}

void rnp_event_pipe_close(struct rnp_event_pipe *pipe)
{
	rn_fd_close(pipe->read_fd);
	if (pipe->write_fd != pipe->read_fd)
		rn_fd_close(pipe->write_fd);
	pthread_mutex_destroy(&pipe->lock);
}

static bool has_room(const struct rnp_event_pipe *pipe)
{
	struct pollfd p = { .fd = pipe->write_fd, .events = POLLOUT };
	static const struct timespec at_once;

	/* A write can block only if the open file is shared with the program (it may have
	 * cleared O_NONBLOCK). No other thread fills the pipe between this check and the
	 * write.
	 */
	if (!pipe->shared)
		return true;
	return syscall(SYS_ppoll, &p, 1, &at_once, NULL, 8) == 1 && (p.revents & POLLOUT);
}

static bool enlarge(const struct rnp_event_pipe *pipe)
{
	int size = fcntl(pipe->write_fd, F_GETPIPE_SZ);

	return size > 0 && size < PIPE_BYTES_MAX &&
	       fcntl(pipe->write_fd, F_SETPIPE_SZ, 2 * size) > size;
}

/* Writes a record. It is far shorter than PIPE_BUF, so it is written whole or not at all.
 * Returns whether it was written.
 */
static bool write_locked(struct rnp_event_pipe *pipe, const void *record)
{
	for (;;) {
		if (has_room(pipe)) {
			ssize_t n = write_raw(pipe->write_fd, record, pipe->record_len);

			if (n == (ssize_t)pipe->record_len)
				return true;
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN)
				return false;
		}
		if (!enlarge(pipe))
			return false;
	}
}

bool rnp_event_pipe_write(struct rnp_event_pipe *pipe, const void *record)
{
	int saved_errno = errno;
	bool ok;

	pthread_mutex_lock(&pipe->lock);
	ok = write_locked(pipe, record);
	pthread_mutex_unlock(&pipe->lock);
	errno = saved_errno;
	return ok;
}

/* ------------------------------------------------- removing the records of an object */
static bool is_of(const void *record, const void *object)
{
	uint64_t element;

	memcpy(&element, record, sizeof(element));
	return element == (uintptr_t)object;
}

/* Reads whole records, up to @len bytes, without waiting. Returns the number of bytes
 * that were read, or 0 if the pipe is empty.
 */
static size_t read_waiting(const struct rnp_event_pipe *pipe, char *buf, size_t len)
{
	int flags = pipe->shared ? fcntl(pipe->read_fd, F_GETFL) : -1;
	bool change = flags >= 0 && !(flags & O_NONBLOCK);
	ssize_t n;

	if (change)
		fcntl(pipe->read_fd, F_SETFL, flags | O_NONBLOCK);
	do
		n = read_raw(pipe->read_fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (change)
		fcntl(pipe->read_fd, F_SETFL, flags);
	return n < 0 ? 0 : (size_t)n;
}

/* Removes the records of @object: reads each record in the pipe once, and writes back
 * those of other objects. There is room for these, because no other thread writes
 * meanwhile. Returns the number of records removed.
 */
static unsigned purge_locked(struct rnp_event_pipe *pipe, const void *object)
{
	char buf[PURGE_BATCH];
	unsigned count = 0;
	int waiting = 0;
	size_t left, n;

	if (ioctl(pipe->read_fd, FIONREAD, &waiting) < 0 || waiting < 0)
		return 0;
	for (left = (size_t)waiting; left > 0; left -= n) {
		n = read_waiting(pipe, buf, left < sizeof(buf) ? left : sizeof(buf));
		if (n == 0)
			break;
		for (size_t at = 0; at < n; at += pipe->record_len) {
			if (is_of(buf + at, object))
				count++;
			else
				write_locked(pipe, buf + at);
		}
	}
	return count;
}

unsigned rnp_event_pipe_purge(struct rnp_event_pipe *pipe, const void *object)
{
	int saved_errno = errno;
	unsigned count;

	pthread_mutex_lock(&pipe->lock);
	count = purge_locked(pipe, object);
	pthread_mutex_unlock(&pipe->lock);
	errno = saved_errno;
	return count;
}

/* ------------------------------------------------------------ layouts of the records */
/* Records that ibv_get_cq_event() and ibv_get_async_event() read. */
struct comp_record {
	uint64_t cq;
};

struct async_record {
	uint64_t element; /* address of the object, or number of the port */
	uint32_t event_type;
	uint32_t reserved;
};

static_assert(sizeof(struct comp_record) == 8, "read by libibverbs");
static_assert(sizeof(struct async_record) == 16, "read by libibverbs");
RNP_SAME(RN_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR);
RNP_SAME(RN_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL);
RNP_SAME(RN_EVENT_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
RNP_SAME(RN_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
RNP_SAME(RN_EVENT_COMM_EST, IBV_EVENT_COMM_EST);
RNP_SAME(RN_EVENT_SQ_DRAINED, IBV_EVENT_SQ_DRAINED);
RNP_SAME(RN_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG);
RNP_SAME(RN_EVENT_PATH_MIG_ERR, IBV_EVENT_PATH_MIG_ERR);
RNP_SAME(RN_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR);
RNP_SAME(RN_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
RNP_SAME(RN_EVENT_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);
RNP_SAME(RN_EVENT_WQ_FATAL, IBV_EVENT_WQ_FATAL);

/* --------------------------------------------------------------- completion channels */
static struct rnp_channel *find_channel_locked(struct rnp_context *ctx,
					       const struct ibv_comp_channel *key)
{
	struct rnp_channel *channel;

	LIST_FOREACH(channel, &ctx->channels, link)
	if (channel->key == key)
		return channel;
	return NULL;
}

static struct rnp_channel *new_channel(const struct ibv_comp_channel *key)
{
	struct rnp_channel *channel = calloc(1, sizeof(*channel));
	int rc;

	if (!channel)
		return NULL;
	channel->key = key;
	rc = rnp_event_pipe_attach(&channel->pipe, key->fd, sizeof(struct comp_record));
	if (rc) {
		free(channel);
		errno = -rc;
		return NULL;
	}
	return channel;
}

struct rnp_channel *rnp_channel_get(struct rnp_context *ctx,
				    const struct ibv_comp_channel *key)
{
	struct rnp_channel *channel;

	pthread_mutex_lock(&ctx->channel_lock);
	channel = find_channel_locked(ctx, key);
	if (!channel) {
		channel = new_channel(key);
		if (channel)
			LIST_INSERT_HEAD(&ctx->channels, channel, link);
	}
	if (channel)
		channel->refs++;
	pthread_mutex_unlock(&ctx->channel_lock);
	return channel;
}

void rnp_channel_put(struct rnp_context *ctx, struct rnp_channel *channel)
{
	bool last;

	pthread_mutex_lock(&ctx->channel_lock);
	last = --channel->refs == 0;
	if (last)
		LIST_REMOVE(channel, link);
	pthread_mutex_unlock(&ctx->channel_lock);
	if (!last)
		return;
	rnp_event_pipe_close(&channel->pipe);
	free(channel);
}

/* ----------------------------------------------- writing of events, engine lock held */
static void set_event_pending(struct rnp_cq *cq, bool pending)
{
	if (pending && !cq->event_pending)
		atomic_fetch_add(&cq->channel->pending, 1);
	else if (!pending && cq->event_pending)
		atomic_fetch_sub(&cq->channel->pending, 1);
	cq->event_pending = pending;
}

static void write_completion(struct rnp_cq *cq)
{
	struct comp_record record = { .cq = (uintptr_t)&cq->base.cq };
	bool written;

	if (!cq->channel)
		return;
	rnp_cq_settle_ring(cq);
	written = rnp_event_pipe_write(&cq->channel->pipe, &record);
	if (written)
		cq->comp_events++;
	set_event_pending(cq, !written);
}

void rnp_cq_write_pending_event(struct rnp_cq *cq)
{
	if (cq->event_pending)
		write_completion(cq);
}

void rnp_cq_drop_pending_event(struct rnp_cq *cq)
{
	if (cq->event_pending)
		set_event_pending(cq, false);
}

/* Is the pipe of asynchronous events open? In an imported context it may be opened here:
 * libibverbs makes that pipe itself, after the plugin has opened the context.
 */
static bool has_async(struct rnp_context *ctx)
{
	if (!ctx->has_async && ctx->base.async_fd >= 0)
		ctx->has_async = rnp_event_pipe_attach(&ctx->async, ctx->base.async_fd,
						       sizeof(struct async_record)) == 0;
	return ctx->has_async;
}

static void write_async(struct rnp_context *ctx, uint64_t element, int type,
			uint32_t *count)
{
	struct async_record record = { .element = element, .event_type = (uint32_t)type };

	if (!has_async(ctx) || !rnp_event_pipe_write(&ctx->async, &record))
		rn_log(RN_LOG_WARN, "an asynchronous event was lost: nobody reads them");
	else if (count)
		++*count;
}

static void on_completion(struct rnp_cq *cq)
{
	if (cq->counted_armed)
		rnp_engine_cq_unarmed(cq->ctx->engine);
	cq->counted_armed = false;
	write_completion(cq);
}

static void on_cq_error(struct rnp_cq *cq)
{
	write_async(cq->ctx, (uintptr_t)&cq->base.cq, IBV_EVENT_CQ_ERR,
		    &cq->async_events);
}

static void on_qp_event(struct rnp_qp *qp, enum rn_async_event type)
{
	struct rnp_qp *handle = qp;

	if (qp->wq) {
		/* The only event of a WQ: its CQ was full and lost a completion. */
		assert(type == RN_EVENT_QP_FATAL);
		write_async(qp->ctx, (uintptr_t)&qp->wq->base, IBV_EVENT_WQ_FATAL,
			    &qp->async_events);
		return;
	}
	/* Each handle on the QP gets the event. */
	do {
		write_async(handle->ctx, (uintptr_t)&handle->base.qp, (int)type,
			    &handle->async_events);
		handle = handle->next_handle;
	} while (handle != qp);
}

static void on_srq_limit(struct rnp_srq *srq)
{
	write_async(srq->ctx, (uintptr_t)&srq->base, IBV_EVENT_SRQ_LIMIT_REACHED,
		    &srq->async_events);
}

static void on_event(const struct rn_event *ev)
{
	if (ev->completion)
		on_completion(ev->cq->owner);
	else if (ev->async == RN_EVENT_CQ_ERR)
		on_cq_error(ev->cq->owner);
	else if (ev->async == RN_EVENT_SRQ_LIMIT_REACHED)
		on_srq_limit(rn_srq_owner(ev->srq));
	else
		on_qp_event(rn_qp_owner(ev->qp), ev->async);
}

static void on_device_event(void *owner, int ibv_event_type)
{
	struct rnp_context *ctx = owner;

	write_async(ctx, 1, ibv_event_type, NULL); /* element 1: the device, or port 1 */
}

static void on_call_faults(void *owner, bool ask)
{
	struct rnp_context *ctx = owner;

	ctx->library->set_call_faults(ctx, ask);
}

const struct rnp_engine_hooks rnp_hooks = {
	.on_event = on_event,
	.on_device_event = on_device_event,
	.on_call_faults = on_call_faults,
};

/* ----------------------------------------------------------------- reading of events */
/* Writes events for which the channel had no room. ibv_get_cq_event() calls this after it
 * has read a record, so now there is room.
 */
void rnp_cq_event(struct ibv_cq *base)
{
	struct rnp_cq *cq = to_rnp_cq(base), *other;
	struct rnp_context *ctx = cq->ctx;
	int cancel;

	/* This event keeps @cq alive: destroying the CQ waits until the program has
	 * acknowledged the event.
	 */
	if (rnp_is_fork_child(ctx) || atomic_load(&cq->channel->pending) == 0)
		return;
	cancel = rnp_lock_engine(ctx->engine);
	LIST_FOREACH(other, &ctx->cqs, link)
	if (other->channel == cq->channel)
		rnp_cq_write_pending_event(other);
	rnp_unlock_engine(ctx->engine, cancel);
}

/* -------------------------------------------- waiting for acknowledgements of events */
void rnp_await_acks(const struct rnp_awaited *a)
{
	int cancel_state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(a->mutex);
	while (*a->acked != a->read)
		pthread_cond_wait(a->cond, a->mutex);
	pthread_mutex_unlock(a->mutex);
	pthread_setcancelstate(cancel_state, NULL);
}
