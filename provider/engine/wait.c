/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wait.c - the set of descriptors that the background thread waits for, by epoll or by
 * io_uring; and what other threads do with it: they change the set, set the timer, wake
 * the thread, and set its priority. Also the engine's clock.
 */
#include "engine_internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "rocin/queue_pair.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/host/uring.h"

enum {
	/* number of requests to io_uring: two for each descriptor, a poll request and its
	 * cancellation
	 */
	ENTRIES = 2 * RNP_WAIT_MAX,
	CANCEL = 1 << 16, /* flag in the user data: completion of a cancellation */
};

/* ---------------------------------------------------------- entries of the set */
static struct rnp_wait_source *find_source(struct rnp_wait *w, int fd)
{
	for (unsigned i = 0; fd >= 0 && i < RNP_WAIT_MAX; i++)
		if (w->source[i].fd == fd && !w->source[i].gone)
			return &w->source[i];
	return NULL;
}

static struct rnp_wait_source *find_free_source(struct rnp_wait *w)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++)
		if (w->source[i].fd < 0)
			return &w->source[i];
	return NULL;
}

static int control_epoll(const struct rnp_wait *w, int op,
			 const struct rnp_wait_source *s)
{
	struct epoll_event ev = { .events = s->on ? (uint32_t)EPOLLIN : 0,
				  .data.u32 = s->tag };

	return epoll_ctl(w->epoll_fd, op, s->fd, &ev) < 0 ? -errno : 0;
}

/* Uses the epoll set from now on, after io_uring has failed. */
static void fall_back(struct rnp_wait *w, int rc)
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
		if (s->fd >= 0 && control_epoll(w, EPOLL_CTL_ADD, s) < 0)
			rn_log(RN_LOG_ERROR, "a descriptor cannot be waited for: %s",
			       strerrordesc_np(errno));
	}
}

/* ------------------------------------------------------------ waiting by io_uring */
/* Opens io_uring. For each descriptor that is on there is one poll request, which
 * completes when the descriptor is readable. Requests that have completed are made anew
 * by the system call that waits for the next completion. A new request checks its
 * descriptor at once, so no packet is overlooked.
 *
 * The timer is a timerfd, which any thread can set; a timeout of io_uring could be
 * changed only by the thread that sleeps.
 */
static int uring_open(struct rnp_wait *w, char *err, size_t err_len)
{
	w->uring = rn_uring_open(RN_URING_SLEEPER, ENTRIES, err, err_len);
	return w->uring ? 0 : -errno;
}

/* Wakes the sleeping thread so that it makes or cancels requests, because a source was
 * added, switched on or removed.
 */
static void uring_changed(struct rnp_wait *w)
{
	if (!w->is_asleep || w->is_woken)
		return;
	w->is_woken = true;
	/* The thread may be awake already. */
	if (rn_own_fd_is_there(w->wake_fd))
		(void)eventfd_write(w->wake_fd, 1);
}

/* Makes the poll requests that are wanted and not yet under way. The submission queue has
 * room for them, since each sleep submits all requests.
 */
static void make_requests(struct rnp_wait *w)
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

/* Handles the completion of the request of source @idx. Return: the bit of the source's
 * tag, or 0. If the request failed, *@rc is set to its -errno.
 */
static uint32_t end_request(struct rnp_wait *w, uint64_t idx, int result, int *rc)
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

/* Allows that a request is cancelled once more. The kernel has found no request to
 * cancel, because the request was just being completed. But if another thread has read
 * the packet meanwhile, the request goes on waiting and has to be cancelled again.
 */
static void cancel_again(struct rnp_wait *w, uint64_t idx)
{
	assert(idx < RNP_WAIT_MAX);
	w->source[idx].cancelled = false;
}

static uint32_t collect_requests(struct rnp_wait *w, int *rc)
{
	uint32_t tags = 0;
	uint64_t tag;
	int result;

	while (rn_uring_next(w->uring, &tag, &result))
		if (!(tag & CANCEL))
			tags |= end_request(w, tag, result, rc);
		else if (result < 0)
			cancel_again(w, tag & ~(uint64_t)CANCEL);
	return tags;
}

static int sleep_once(struct rnp_wait *w, struct rnp_lock *lock)
{
	int rc;

	if (!w->has_begun) {
		rc = rn_uring_begin(w->uring);
		if (rc)
			return rc;
		w->has_begun = true;
	}
	make_requests(w);
	w->is_asleep = true;
	rnp_lock_give(lock);
	rnp_wait_call(w);
	rc = rn_uring_submit(w->uring, 1);
	rnp_lock_take(lock);
	w->is_asleep = w->is_woken = false;
	return rc == -EINTR ? 0 : rc;
}

static uint32_t uring_sleep(struct rnp_wait *w, struct rnp_lock *lock)
{
	int rc = sleep_once(w, lock);
	uint32_t tags = rc ? 0 : collect_requests(w, &rc);

	if (rc)
		fall_back(w, rc);
	return tags;
}

static bool has_pending(const struct rnp_wait *w)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++)
		if (w->source[i].pending)
			return true;
	return false;
}

static void uring_end(struct rnp_wait *w, struct rnp_lock *lock)
{
	for (unsigned i = 0; i < RNP_WAIT_MAX; i++) {
		struct rnp_wait_source *s = &w->source[i];

		s->gone = s->pending;
		if (!s->gone)
			s->fd = -1;
	}
	while (w->uring && has_pending(w))
		uring_sleep(w, lock);
}

/* --------------------------------------------------------- set of descriptors */
int rnp_wait_add(struct rnp_wait *w, int fd, unsigned tag, bool on)
{
	struct rnp_wait_source *s = find_free_source(w);
	int rc = 0;

	assert(fd >= 0 && tag < RNP_WAIT_TAGS);
	if (find_source(w, fd))
		return -EEXIST;
	if (!s)
		return -ENOSPC;
	*s = (struct rnp_wait_source){ .fd = fd, .tag = (uint8_t)tag, .on = on };
	if (w->uring)
		uring_changed(w);
	else
		rc = control_epoll(w, EPOLL_CTL_ADD, s);
	if (rc)
		s->fd = -1;
	return rc;
}

int rnp_wait_switch(struct rnp_wait *w, int fd, bool on)
{
	struct rnp_wait_source *s = find_source(w, fd);
	int rc = 0;

	if (!s || (s->rests && !on))
		return 0;
	s->on = on;
	if (s->rests) {
		rc = control_epoll(w, EPOLL_CTL_ADD, s);
		s->rests = rc != 0;
		s->on = rc == 0;
	} else if (!w->uring) {
		control_epoll(w, EPOLL_CTL_MOD, s);
	} else if (on && !s->pending) {
		uring_changed(w);
	}
	return rc;
}

void rnp_wait_rest(struct rnp_wait *w)
{
	for (unsigned i = 0; !w->uring && i < RNP_WAIT_MAX; i++) {
		struct rnp_wait_source *s = &w->source[i];

		if (s->fd >= 0 && !s->on && !s->rests)
			s->rests = control_epoll(w, EPOLL_CTL_DEL, s) == 0;
	}
}

void rnp_wait_remove(struct rnp_wait *w, int fd)
{
	struct rnp_wait_source *s = find_source(w, fd);

	if (!s)
		return;
	if (!w->uring && !s->rests)
		control_epoll(w, EPOLL_CTL_DEL, s);
	s->gone = s->pending;
	if (!s->gone)
		s->fd = -1;
	else
		uring_changed(w);
}

/* ------------------------------------------------- opening and closing the set */
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
	w->epoll_fd = rn_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (w->epoll_fd < 0)
		return rn_fail(err, err_len, -errno, "cannot make an epoll set: %m");
	w->wake_fd = wake_fd;
	if (uring)
		rc = uring_open(w, err, err_len);
	if (rc)
		rnp_wait_close(w);
	return rc;
}

void rnp_wait_end(struct rnp_wait *w, struct rnp_lock *lock)
{
	if (w->uring)
		uring_end(w, lock);
}

void rnp_wait_close(struct rnp_wait *w)
{
	rn_uring_close(w->uring);
	if (w->epoll_fd >= 0)
		rn_fd_close(w->epoll_fd);
	rnp_wait_init(w);
}

/* ------------------------------------------------------ naps of the program's threads */
void rnp_wait_nap(struct rnp_wait *w, uint32_t begun, rn_ns ns)
{
	struct timespec most = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	/* The result does not matter: the program polls again however the nap ends. */
	syscall(SYS_futex, &w->calls, FUTEX_WAIT_PRIVATE, begun, &most, NULL, 0);
}

void rnp_wait_call(struct rnp_wait *w)
{
	if (atomic_load_explicit(&w->nappers, memory_order_relaxed) == 0)
		return;
	atomic_fetch_add(&w->calls, 1);
	syscall(SYS_futex, &w->calls, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ------------------------------------- sleeping until a descriptor is readable */
static uint32_t epoll_sleep(struct rnp_wait *w, struct rnp_lock *lock)
{
	struct epoll_event ev[RNP_WAIT_MAX];
	uint32_t tags = 0;
	int count, err;

	rnp_lock_give(lock);
	rnp_wait_call(w);
	count = epoll_wait(w->epoll_fd, ev, RNP_WAIT_MAX, -1);
	err = errno;
	rnp_lock_take(lock);
	if (count < 0 && err != EINTR)
		return RNP_WAIT_BROKEN;
	for (int i = 0; i < count; i++)
		tags |= 1u << ev[i].data.u32;
	return tags;
}

uint32_t rnp_wait_sleep(struct rnp_wait *w, struct rnp_lock *lock)
{
	return w->uring ? uring_sleep(w, lock) : epoll_sleep(w, lock);
}

/* ------------------------------------------------ set, timer and wake-up of an engine */
int rnp_background_add(struct rnp_engine *e, int fd, enum rnp_tag tag, bool on)
{
	return rnp_wait_add(&e->wait, fd, tag, on);
}

static int switch_all(struct rnp_engine *e, bool on)
{
	int rc = 0;

	for (unsigned i = 0; i < RN_GID_MAX && !rc; i++)
		rc = rnp_wait_switch(&e->wait, rn_udp_fd(e->wire.udp, i), on);
	if (!rc)
		rc = rnp_wait_switch(&e->wait, rn_udp_groups_fd(e->wire.udp), on);
	if (!rc)
		rc = rnp_wait_switch(&e->wait, rnp_raw_fd(&e->raw), on);
	return rc;
}

bool rnp_background_listen(struct rnp_engine *e, bool on)
{
	if (switch_all(e, on) == 0)
		return true;
	/* Switch all sockets off, since not all could be switched on: a single socket
	 * that is on would wake this thread during a lease, in which the program
	 * receives.
	 */
	switch_all(e, false);
	return false;
}

void rnp_background_rest(struct rnp_engine *e)
{
	rnp_wait_rest(&e->wait);
}

void rnp_background_remove(struct rnp_engine *e, int fd)
{
	rnp_wait_remove(&e->wait, fd);
}

void rnp_background_set_timer(struct rnp_engine *e, rn_ns at)
{
	/* @at is not 0, which would disarm the timer. */
	struct itimerspec its = { .it_value = { .tv_sec = at / 1000000000,
						.tv_nsec = at % 1000000000 } };

	if (atomic_load(&e->dead) && !rn_own_fd_is_there(e->timer_fd))
		return;
	timerfd_settime(e->timer_fd, TFD_TIMER_ABSTIME, &its, NULL);
}

void rnp_background_wake(struct rnp_engine *e)
{
	uint64_t one = 1;

	if (e->wake_fd < 0 || !rn_own_fd_is_there(e->wake_fd))
		return;
	/* The thread may be awake already. */
	(void)!write(e->wake_fd, &one, sizeof(one));
}

/* ------------------------------------------- real-time priority of the thread */
/* A real-time thread of the program that spins keeps its processor from all threads of
 * lower priority, and from threads of the same priority for a tenth of a second or for
 * ever. Unlike a network card, the background thread needs a processor to receive the
 * packets that such a program waits for. So it gets a priority above those of the
 * program's threads. It sleeps unless there is something to do, and then runs for
 * microseconds.
 */

/* Writes to the statistics page which real-time priority the background thread has, or
 * that it was refused.
 */
static void tell_priority(struct rnp_engine *e, uint32_t what)
{
	__atomic_store_n(&e->stats.page->realtime, what, __ATOMIC_RELAXED);
}

static void raise_thread(struct rnp_engine *e)
{
	const struct sched_param param = { .sched_priority = e->realtime };
	int rc = pthread_setschedparam(e->thread, SCHED_RR, &param);

	tell_priority(e, rc ? RN_STATS_REALTIME_REFUSED : (uint32_t)e->realtime);
	if (rc)
		rn_log(RN_LOG_WARN,
		       "%s: cannot receive while the program spins in a real-time class: "
		       "priority %d is refused (%s); raise ulimit -r",
		       e->netdev.ibdev, e->realtime, strerrordesc_np(rc));
}

void rnp_background_outrank(struct rnp_engine *e)
{
	int policy = sched_getscheduler(0), most = sched_get_priority_max(SCHED_RR);
	struct sched_param param;

	if (policy < 0 || !e->has_thread)
		return;
	policy &= ~SCHED_RESET_ON_FORK;
	if ((policy != SCHED_FIFO && policy != SCHED_RR) || sched_getparam(0, &param) < 0)
		return;
	if (param.sched_priority < most)
		param.sched_priority++;
	/* A priority that was refused is not requested again. */
	if (param.sched_priority <= e->realtime)
		return;
	e->realtime = param.sched_priority;
	raise_thread(e);
}

/* ----------------------------------------------------------- reading the time */
enum {
	/* ticks of the processor's cycle counter, which runs at 1 GHz at least: so this
	 * is at most 2 us
	 */
	NEAR_TICKS = 2000,
};

/* Reads the clock. That takes a third of the time of a poll that finds nothing, and a
 * twentieth of a post in a stream. The functions below often avoid it: they read the
 * processor's cycle counter, which takes less, to see whether the time that was passed to
 * the core last is recent enough.
 */
rn_ns rnp_engine_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Updates and returns @e->clock.now, a time that is at most two microseconds old. */
static rn_ns nearly_now(struct rnp_engine *e)
{
#if defined(__x86_64__)
	uint64_t ticks = __builtin_ia32_rdtsc();

	/* If the thread has moved to another processor, the counter there may be less
	 * than @ticks; the unsigned difference is large then.
	 */
	if (ticks - e->clock.ticks < NEAR_TICKS)
		return e->clock.now;
	e->clock.ticks = ticks;
#endif
	e->clock.now = rnp_engine_now();
	return e->clock.now;
}

uint64_t rnp_engine_counter(const struct rnp_engine *e, unsigned stat)
{
	return __atomic_load_n(&e->stats.page->counter[stat], __ATOMIC_RELAXED);
}

rn_ns rnp_clock_poll_time(struct rnp_engine *e)
{
	return e->clock.is_exact ? rnp_engine_now() : nearly_now(e);
}

rn_ns rnp_engine_send_time(struct rnp_engine *e, const struct rn_qp *qp)
{
	if (rn_qp_state(qp) == RN_QPS_RTS)
		return nearly_now(e);
	e->clock.now = rnp_engine_now();
	return e->clock.now;
}

rn_ns rnp_engine_recv_time(const struct rnp_engine *e, const struct rn_qp *qp)
{
	return rn_qp_state(qp) == RN_QPS_ERR ? rnp_engine_now() : e->clock.now;
}

void rnp_engine_keep_exact_time(struct rnp_engine *e)
{
	e->clock.is_exact = true;
}
