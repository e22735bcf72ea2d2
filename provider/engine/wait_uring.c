/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wait_uring.c - waiting by io_uring.
 *
 * For each descriptor that is on there is one request to poll it, which ends when it is
 * readable. All that have ended are made anew by the same system call that waits for the
 * next, and look at their descriptor at once: none is overlooked.
 *
 * The timer stays a timerfd, which any thread can set; a timeout of io_uring could be
 * moved by the sleeping thread alone.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "transport/io/host/own_fd.h"
#include "transport/io/host/uring.h"
#include "wait.h"

enum {
	ENTRIES = 2 * RNP_WAIT_MAX, /* a request and its cancellation */
	CANCEL = 1 << 16,	    /* in the tag: the end of a cancellation */
};

int rnp_wait_uring_open(struct rnp_wait *w, char *err, size_t err_len)
{
	w->uring = rn_uring_open(RN_URING_SLEEPER, ENTRIES, err, err_len);
	return w->uring ? 0 : -errno;
}

void rnp_wait_uring_changed(struct rnp_wait *w)
{
	if (!w->is_asleep || w->is_woken)
		return;
	w->is_woken = true;
	/* It may be awake already. */
	if (rn_own_fd_is_there(w->wake_fd))
		(void)eventfd_write(w->wake_fd, 1);
}

/* What the set asks for and is not under way. There is room: each sleep submits all. */
static void prepare(struct rnp_wait *w)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++) {
		struct rnp_wait_source *s = &w->source[i];
		bool fits = true;

		if (s->gone && !s->cancelled)
			fits = s->cancelled = rn_uring_unpoll(w->uring, i, CANCEL | i);
		else if (s->fd >= 0 && s->on && !s->pending)
			fits = s->pending = rn_uring_poll(w->uring, s->fd, i);
		assert(fits);
	}
}

/* Return: bit of its tag, or 0; or -errno in @rc. */
static uint32_t ended(struct rnp_wait *w, uint64_t idx, int result, int *rc)
{
	struct rnp_wait_source *s = &w->source[idx];

	assert(idx < RNP_WAIT_MAX && s->pending);
	s->pending = s->cancelled = false;
	if (s->gone) {
		s->gone = false;
		s->fd = -1;
		return 0;
	}
	if (result < 0)
		*rc = result;
	return s->on ? 1u << s->tag : 0;
}

static uint32_t collect(struct rnp_wait *w, int *rc)
{
	uint32_t tags = 0;
	uint64_t tag;
	int result;

	while (rn_uring_next(w->uring, &tag, &result))
		if (!(tag & CANCEL))
			tags |= ended(w, tag, result, rc);
	return tags;
}

static int sleep_once(struct rnp_wait *w, pthread_mutex_t *lock)
{
	int rc;

	if (!w->has_begun) {
		rc = rn_uring_begin(w->uring);
		if (rc)
			return rc;
		w->has_begun = true;
	}
	prepare(w);
	w->is_asleep = true;
	pthread_mutex_unlock(lock);
	rc = rn_uring_submit(w->uring, 1);
	pthread_mutex_lock(lock);
	w->is_asleep = w->is_woken = false;
	return rc == -EINTR ? 0 : rc;
}

uint32_t rnp_wait_uring_sleep(struct rnp_wait *w, pthread_mutex_t *lock)
{
	int rc = sleep_once(w, lock);
	uint32_t tags = rc ? 0 : collect(w, &rc);

	if (rc)
		rnp_wait_fall_back(w, rc);
	return tags;
}

static bool has_pending(const struct rnp_wait *w)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++)
		if (w->source[i].pending)
			return true;
	return false;
}

void rnp_wait_uring_end(struct rnp_wait *w, pthread_mutex_t *lock)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++) {
		struct rnp_wait_source *s = &w->source[i];

		s->gone = s->pending;
		if (!s->gone)
			s->fd = -1;
	}
	while (w->uring && has_pending(w))
		rnp_wait_uring_sleep(w, lock);
}
