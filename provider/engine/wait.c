/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wait.c - the set of descriptors, and waiting by epoll. */
#include "wait.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "fd.h"
#include "transport/io/host/log.h"
#include "transport/io/host/sentence.h"
#include "transport/io/host/uring.h"

static struct rnp_wait_source *find(struct rnp_wait *w, int fd)
{
	for (unsigned i = 0; fd >= 0 && i < RNP_WAIT_MAX; i++)
		if (w->source[i].fd == fd && !w->source[i].gone)
			return &w->source[i];
	return NULL;
}

static struct rnp_wait_source *find_free(struct rnp_wait *w)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++)
		if (w->source[i].fd < 0)
			return &w->source[i];
	return NULL;
}

static int control(const struct rnp_wait *w, int op, const struct rnp_wait_source *s)
{
	struct epoll_event ev = { .events = s->on ? (uint32_t)EPOLLIN : 0,
				  .data.u32 = s->tag };

	return epoll_ctl(w->epoll_fd, op, s->fd, &ev) < 0 ? -errno : 0;
}

/* -------------------------------------------------------------------- the set */
int rnp_wait_add(struct rnp_wait *w, int fd, unsigned tag, bool on)
{
	struct rnp_wait_source *s = find_free(w);
	int rc = 0;

	assert(fd >= 0 && tag < RNP_WAIT_TAGS);
	if (find(w, fd))
		return -EEXIST;
	if (!s)
		return -ENOSPC;
	*s = (struct rnp_wait_source){ .fd = fd, .tag = (uint8_t)tag, .on = on };
	if (w->uring)
		rnp_wait_uring_changed(w);
	else
		rc = control(w, EPOLL_CTL_ADD, s);
	if (rc)
		s->fd = -1;
	return rc;
}

int rnp_wait_switch(struct rnp_wait *w, int fd, bool on)
{
	struct rnp_wait_source *s = find(w, fd);
	int rc = 0;

	if (!s || (s->rests && !on))
		return 0;
	s->on = on;
	if (s->rests) {
		rc = control(w, EPOLL_CTL_ADD, s);
		s->rests = rc != 0;
		s->on = rc == 0;
	} else if (!w->uring) {
		control(w, EPOLL_CTL_MOD, s);
	} else if (on && !s->pending) {
		rnp_wait_uring_changed(w);
	}
	return rc;
}

void rnp_wait_rest(struct rnp_wait *w)
{
	for (unsigned i = 0; !w->uring && i < RNP_WAIT_MAX; i++) {
		struct rnp_wait_source *s = &w->source[i];

		if (s->fd >= 0 && !s->on && !s->rests)
			s->rests = control(w, EPOLL_CTL_DEL, s) == 0;
	}
}

void rnp_wait_remove(struct rnp_wait *w, int fd)
{
	struct rnp_wait_source *s = find(w, fd);

	if (!s)
		return;
	if (!w->uring && !s->rests)
		control(w, EPOLL_CTL_DEL, s);
	s->gone = s->pending;
	if (!s->gone)
		s->fd = -1;
	else
		rnp_wait_uring_changed(w);
}

/* ----------------------------------------------------------------- open, close */
void rnp_wait_init(struct rnp_wait *w)
{
	*w = (struct rnp_wait){ .epoll_fd = -1, .wake_fd = -1 };
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++)
		w->source[i].fd = -1;
}

int rnp_wait_open(struct rnp_wait *w, int wake_fd, bool uring, char *err, size_t err_len)
{
	int rc = 0;

	rnp_wait_init(w);
	w->epoll_fd = rnp_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (w->epoll_fd < 0)
		return rn_fail(err, err_len, -errno, "cannot make an epoll set: %m");
	w->wake_fd = wake_fd;
	if (uring)
		rc = rnp_wait_uring_open(w, err, err_len);
	if (rc)
		rnp_wait_close(w);
	return rc;
}

void rnp_wait_end(struct rnp_wait *w, pthread_mutex_t *lock)
{
	if (w->uring)
		rnp_wait_uring_end(w, lock);
}

void rnp_wait_close(struct rnp_wait *w)
{
	rn_uring_close(w->uring);
	if (w->epoll_fd >= 0)
		rn_fd_close(w->epoll_fd);
	rnp_wait_init(w);
}

void rnp_wait_fall_back(struct rnp_wait *w, int rc)
{
	rn_log(RN_LOG_WARN, "io_uring fails (%s); going on with epoll",
	       strerrordesc_np(-rc));
	rn_uring_close(w->uring);
	w->uring = NULL;
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++) {
		struct rnp_wait_source *s = &w->source[i];

		if (s->gone)
			s->fd = -1;
		s->gone = s->pending = s->cancelled = false;
		if (s->fd >= 0 && control(w, EPOLL_CTL_ADD, s) < 0)
			rn_log(RN_LOG_ERROR, "a descriptor cannot be waited for: %s",
			       strerrordesc_np(errno));
	}
}

/* ----------------------------------------------------------------------- sleep */
static uint32_t epoll_sleep(struct rnp_wait *w, pthread_mutex_t *lock)
{
	struct epoll_event ev[RNP_WAIT_MAX];
	uint32_t tags = 0;
	int count, err;

	pthread_mutex_unlock(lock);
	count = epoll_wait(w->epoll_fd, ev, RNP_WAIT_MAX, -1);
	err = errno;
	pthread_mutex_lock(lock);
	if (count < 0 && err != EINTR)
		return RNP_WAIT_BROKEN;
	for (int i = 0; i < count; i++)
		tags |= 1u << ev[i].data.u32;
	return tags;
}

uint32_t rnp_wait_sleep(struct rnp_wait *w, pthread_mutex_t *lock)
{
	return w->uring ? rnp_wait_uring_sleep(w, lock) : epoll_sleep(w, lock);
}
