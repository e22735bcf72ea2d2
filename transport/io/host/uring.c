/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uring.c - io_uring by liburing, if Rocin was built with its header; see uring.h. */
#include "uring.h"

#include <errno.h>

#include "log.h"

#if RN_HAS_LIBURING
#include <dlfcn.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "own_fd.h"

/* These flags came with Linux 5.18 to 6.1, so the headers of some distributions
 * lack them.
 */
enum {
	SETUP_SUBMIT_ALL = 1 << 7,
	SETUP_COOP_TASKRUN = 1 << 8,
	SETUP_SINGLE_ISSUER = 1 << 12,
	SETUP_DEFER_TASKRUN = 1 << 13,
};

struct uring_api {
	__typeof__(&io_uring_queue_init_params) init;
	__typeof__(&io_uring_queue_exit) exit;
	__typeof__(&io_uring_ring_dontfork) dontfork;
	__typeof__(&io_uring_submit) submit;
	__typeof__(&io_uring_submit_and_wait) submit_and_wait;
	__typeof__(&io_uring_register) enroll;
};

struct rn_uring {
	struct io_uring ring;
};

/* ------------------------------------------------------ loading of liburing */
static struct uring_api api;
static bool has_api;

/* Load liburing and find its functions. The library is never unloaded, because a program
 * may open and close devices often.
 */
static void load_liburing(void)
{
	void *lib = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const struct {
		const char *name;
		void *slot;
	} wanted[] = {
		{ "io_uring_queue_init_params", &api.init },
		{ "io_uring_queue_exit", &api.exit },
		{ "io_uring_ring_dontfork", &api.dontfork },
		{ "io_uring_submit", &api.submit },
		{ "io_uring_submit_and_wait", &api.submit_and_wait },
		/* Exported by liburing 2.3 and later. In earlier versions struct
		 * io_uring lacks members that the inline functions of the header use.
		 */
		{ "io_uring_register", &api.enroll },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(wanted); i++) {
		void *sym = lib ? dlsym(lib, wanted[i].name) : NULL;

		if (!sym)
			return;
		memcpy(wanted[i].slot, &sym, sizeof(sym));
	}
	has_api = true;
}

/* ---------------------------------------------- opening and closing of a queue */
/* Make a queue. Of the sets of `flags` for @use, takes the first that this kernel
 * accepts. The kernel returns EINVAL for flags that it does not know. Return: as
 * io_uring_queue_init().
 */
static int init_ring(struct rn_uring *u, enum rn_uring_use use, unsigned entries)
{
	static const unsigned flags[][3] = {
		[RN_URING_SLEEPER] = { IORING_SETUP_R_DISABLED | SETUP_SINGLE_ISSUER |
					       SETUP_DEFER_TASKRUN,
				       IORING_SETUP_R_DISABLED | SETUP_COOP_TASKRUN,
				       IORING_SETUP_R_DISABLED },
		[RN_URING_AT_ONCE] = { SETUP_SUBMIT_ALL | SETUP_COOP_TASKRUN,
				       SETUP_SUBMIT_ALL, 0 },
	};
	int rc = -EINVAL;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(flags[0]) && rc == -EINVAL; i++) {
		struct io_uring_params p = { .flags = flags[use][i] };

		rc = api.init(entries, &u->ring, &p);
		if (rc < 0)
			continue;
		/* Linux 5.7, which has this feature, has everything else that is used
		 * here.
		 */
		if (p.features & IORING_FEAT_FAST_POLL)
			return 0;
		api.exit(&u->ring);
		return -ENOSYS;
	}
	return rc == -EINVAL ? -ENOSYS : rc;
}

static void leave_ring(struct rn_uring *u)
{
	if (!rn_own_fd_forget(u->ring.ring_fd))
		/* The program has closed the descriptor: another file has its number now.
		 */
		u->ring.ring_fd = -1;
	api.exit(&u->ring);
}

/* Move the queue's descriptor above the standard ones, and keep fork children from
 * inheriting the queue's memory. Return: 0 or -errno.
 */
static int keep_ring_fd(struct rn_uring *u)
{
	int fd = rn_fd_raise(u->ring.ring_fd);

	u->ring.ring_fd = u->ring.enter_ring_fd = rn_own_fd_keep(fd);
	if (fd < 0)
		return fd;
	return api.dontfork(&u->ring);
}

static int explain_error(int rc, char *err, size_t err_len)
{
	switch (-rc) {
	case ENOSYS:
		return rn_fail(err, err_len, rc,
			       "this kernel has no io_uring that can be used, or a "
			       "sandbox hides it");
	case EPERM:
	case EACCES:
		return rn_fail(err, err_len, -EPERM,
			       "io_uring is forbidden, by a sandbox (seccomp) or by "
			       "kernel.io_uring_disabled");
	case ENOMEM:
		return rn_fail(err, err_len, rc,
			       "no memory for io_uring; before Linux 5.12 ulimit -l "
			       "counts it");
	default:
		return rn_fail(err, err_len, rc, "io_uring cannot be used: %m");
	}
}

struct rn_uring *rn_uring_open(enum rn_uring_use use, unsigned entries, char *err,
			       size_t err_len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rn_uring *u;
	int rc;

	pthread_once(&once, load_liburing);
	if (!has_api) {
		errno = -rn_fail(err, err_len, -ENOENT,
				 "io_uring needs liburing.so.2 of 2.3 or later (package "
				 "liburing2 or liburing)");
		return NULL;
	}
	u = calloc(1, sizeof(*u));
	rc = u ? init_ring(u, use, entries) : -ENOMEM;
	if (!rc) {
		rc = keep_ring_fd(u);
		if (rc)
			leave_ring(u);
	}
	if (!rc)
		return u;
	free(u);
	errno = -explain_error(rc, err, err_len);
	return NULL;
}

void rn_uring_close(struct rn_uring *u)
{
	if (!u)
		return;
	leave_ring(u);
	free(u);
}

int rn_uring_begin(struct rn_uring *u)
{
	/* Does what io_uring_enable_rings() does, which liburing does not export. */
	return api.enroll((unsigned)u->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL,
			  0);
}

/* ------------------------------------------------- requests and completions */
bool rn_uring_poll(struct rn_uring *u, int fd, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (!sqe)
		return false;
	io_uring_prep_poll_add(sqe, fd, POLLIN);
	io_uring_sqe_set_data64(sqe, tag);
	return true;
}

bool rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (!sqe)
		return false;
	io_uring_prep_poll_remove(sqe, which);
	io_uring_sqe_set_data64(sqe, tag);
	return true;
}

bool rn_uring_recv(struct rn_uring *u, int fd, struct msghdr *msg, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (!sqe)
		return false;
	io_uring_prep_recvmsg(sqe, fd, msg, MSG_DONTWAIT);
	io_uring_sqe_set_data64(sqe, tag);
	return true;
}

bool rn_uring_send(struct rn_uring *u, int fd, const struct msghdr *msg, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (!sqe)
		return false;
	io_uring_prep_sendmsg(sqe, fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	io_uring_sqe_set_data64(sqe, tag);
	return true;
}

int rn_uring_submit(struct rn_uring *u, unsigned ends)
{
	int rc = ends ? api.submit_and_wait(&u->ring, ends) : api.submit(&u->ring);

	return rc < 0 ? rc : 0;
}

bool rn_uring_next(struct rn_uring *u, uint64_t *tag, int *result)
{
	struct io_uring_cqe *cqe;
	unsigned head;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		*tag = io_uring_cqe_get_data64(cqe);
		*result = cqe->res;
		io_uring_cq_advance(&u->ring, 1);
		return true;
	}
	return false;
}

#else /* built without liburing */

struct rn_uring *rn_uring_open(enum rn_uring_use use, unsigned entries, char *err,
			       size_t err_len)
{
	(void)use;
	(void)entries;
	errno = -rn_fail(err, err_len, -EOPNOTSUPP, "Rocin was built without liburing");
	return NULL;
}

void rn_uring_close(struct rn_uring *u)
{
	assert(!u);
}

int rn_uring_begin(struct rn_uring *u)
{
	(void)u;
	return -EOPNOTSUPP;
}

bool rn_uring_poll(struct rn_uring *u, int fd, uint64_t tag)
{
	(void)u;
	(void)fd;
	(void)tag;
	return false;
}

bool rn_uring_unpoll(struct rn_uring *u, uint64_t which, uint64_t tag)
{
	(void)u;
	(void)which;
	(void)tag;
	return false;
}

bool rn_uring_recv(struct rn_uring *u, int fd, struct msghdr *msg, uint64_t tag)
{
	(void)u;
	(void)fd;
	(void)msg;
	(void)tag;
	return false;
}

bool rn_uring_send(struct rn_uring *u, int fd, const struct msghdr *msg, uint64_t tag)
{
	(void)u;
	(void)fd;
	(void)msg;
	(void)tag;
	return false;
}

int rn_uring_submit(struct rn_uring *u, unsigned ends)
{
	(void)u;
	(void)ends;
	return -EOPNOTSUPP;
}

bool rn_uring_next(struct rn_uring *u, uint64_t *tag, int *result)
{
	(void)u;
	(void)tag;
	(void)result;
	return false;
}

#endif /* RN_HAS_LIBURING */
