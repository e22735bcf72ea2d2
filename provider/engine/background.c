/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* background.c - the background thread, which receives while the program does not poll.
 *
 * The thread blocks in rnp_wait_sleep() and for the engine lock, nowhere else, and never
 * spins. As it runs in the program's process, it takes no signal (except those of its own
 * faults, which cannot be blocked), has a small stack, and may run on all processors of
 * the process, not only on those that the thread which opened the device was pinned to.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine_internal.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	STACK = 256 * 1024,
	JOIN_SECONDS = 1,
	SLICE_NS = 100 * 1000, /* the shortest time slice that the kernel grants */
};

/* CPU affinity of the process when the plugin was loaded, which is probably before the
 * program pinned a thread.
 */
static cpu_set_t process_cpus;
static bool has_process_cpus;

static void __attribute__((constructor)) note_affinity(void)
{
	has_process_cpus =
		sched_getaffinity(getpid(), sizeof(process_cpus), &process_cpus) == 0;
}

/* -------------------------------------------------------- main loop of the thread */
/* Reads the timer. Returns true if the timer has fired; false if it was set anew after it
 * woke the thread.
 */
static bool take_timer(const struct rnp_engine *e)
{
	uint64_t times;

	return rn_own_fd_is_there(e->timer_fd) &&
	       read(e->timer_fd, &times, sizeof(times)) == (ssize_t)sizeof(times);
}

/* Resets the eventfd by which other threads wake the background thread. A memory access
 * that ends from here on wakes the thread again.
 */
static void take_wake(const struct rnp_engine *e)
{
	uint64_t times;

	/* A failed read does no harm: the counter may be 0, or the program may have
	 * closed the descriptor.
	 */
	if (rn_own_fd_is_there(e->wake_fd))
		(void)!read(e->wake_fd, &times, sizeof(times));
}

/* Empties the pipe or eventfd by which peers on this machine wake this process after they
 * have put packets into a ring in shared memory (local wires). What is read does not
 * matter, since a peer may write anything: the packets are in the rings.
 */
static void take_local(const struct rnp_engine *e)
{
	char wakes[512]; /* room for 64 wake-ups of an eventfd, of 8 bytes each */

	if (e->wire.local && rn_own_fd_is_there(rn_local_event_fd(e->wire.local)))
		(void)!read(rn_local_event_fd(e->wire.local), wakes, sizeof(wakes));
}

static void handle_wakeup(struct rnp_engine *e, uint32_t tags)
{
	bool timer_fired = (tags & 1u << RNP_TAG_TIMER) && take_timer(e);

	if (tags & 1u << RNP_TAG_ROCIND)
		rnp_rocind_events(e);
	if (tags & 1u << RNP_TAG_LOCAL)
		take_local(e);
	if (tags & 1u << RNP_TAG_WAKE) {
		take_wake(e);
		rnp_progress_memory(e);
	}
	rnp_progress_background(e, timer_fired);
}

/* First version of the kernel's struct sched_attr, which glibc does not declare
 * before 2.41.
 */
struct sched_attr_v0 {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Requests short time slices of the scheduler for the calling thread, the background one.
 * So when it is woken, it preempts a program that computes or looks at memory (Linux 6.12
 * and later; older kernels ignore the request). It runs for microseconds only.
 */
static void ask_for_short_slices(void)
{
	struct sched_attr_v0 attr = { .size = sizeof(attr) };

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) != 0 ||
	    attr.policy != SCHED_OTHER)
		return;
	attr.size = sizeof(attr);
	attr.runtime_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* Writes to the statistics page whether the engine uses io_uring. That may change at any
 * time, since a sandbox may begin to forbid it.
 */
static void note_io(struct rnp_engine *e)
{
	uint32_t io = RN_STATS_IO_PLAIN;

	if (e->set.io == RNP_IO_URING)
		io = e->wait.uring && (!e->wire.udp || rn_udp_by_uring(e->wire.udp))
			     ? RN_STATS_IO_URING
			     : RN_STATS_IO_REFUSED;
	__atomic_store_n(&e->stats.page->io, io, __ATOMIC_RELAXED);
}

static void *background_main(void *arg)
{
	struct rnp_engine *e = arg;
	uint32_t tags;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (has_process_cpus)
		sched_setaffinity(0, sizeof(process_cpus), &process_cpus);
	ask_for_short_slices();
	rnp_front_lock(&e->front);
	for (;;) {
		tags = rnp_wait_sleep(&e->wait, &e->front.lock);
		rnp_front_end_short_polls(&e->front);
		note_io(e);
		if (e->closing)
			break;
		if (tags == RNP_WAIT_BROKEN) {
			rnp_check_descriptors(e);
			break;
		}
		if (tags)
			handle_wakeup(e, tags);
	}
	rnp_wait_end(&e->wait, &e->front.lock);
	rnp_front_unlock(&e->front);
	return NULL;
}

/* Blocks all signals except those that a fault of this thread raises: the memory guard
 * (mem_guard.h) handles those, and the kernel kills a process if the signal of a fault
 * is blocked.
 */
static void block_signals(sigset_t *old)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	sigset_t set;

	sigfillset(&set);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(faults); i++)
		sigdelset(&set, faults[i]);
	pthread_sigmask(SIG_SETMASK, &set, old);
}

static int start_thread(struct rnp_engine *e)
{
	pthread_attr_t attr;
	sigset_t old;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	pthread_attr_setstacksize(&attr, STACK);
	block_signals(&old); /* the new thread inherits the mask */
	rc = pthread_create(&e->thread, &attr, background_main, e);
	/* the stack may be too small for the program's thread-local storage */
	if (rc == EINVAL || rc == EAGAIN)
		rc = pthread_create(&e->thread, NULL, background_main, e);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		return -rc;
	e->has_thread = true;
	pthread_setname_np(e->thread, "rocin-bg");
	rnp_background_outrank(e);
	return 0;
}

/* ---------------------------------------------------------------- start and stop */
static int open_wait(struct rnp_engine *e, char *err, size_t err_len)
{
	char why[300];
	int rc;

	if (e->set.io == RNP_IO_URING) {
		rc = rnp_wait_open(&e->wait, e->wake_fd, true, why, sizeof(why));
		if (!rc)
			return 0;
		rn_log(RN_LOG_WARN, "%s: %s; going on with epoll", e->netdev.ibdev, why);
	}
	return rnp_wait_open(&e->wait, e->wake_fd, false, err, err_len);
}

static int open_descriptors(struct rnp_engine *e, char *err, size_t err_len)
{
	int rc = 0;

	e->timer_fd =
		rn_fd_own(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	e->wake_fd = rn_fd_own(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	if (e->timer_fd < 0 || e->wake_fd < 0)
		return -errno;
	rc = open_wait(e, err, err_len);
	if (!rc)
		rc = rnp_background_add(e, e->timer_fd, RNP_TAG_TIMER, true);
	if (!rc)
		rc = rnp_background_add(e, e->wake_fd, RNP_TAG_WAKE, true);
	if (!rc && e->rocind)
		rc = rnp_background_add(e, rn_rocind_fd(e->rocind), RNP_TAG_ROCIND, true);
	for (unsigned i = 0; i < RN_GID_MAX && !rc; i++)
		if (rn_udp_fd(e->wire.udp, i) >= 0)
			rc = rnp_background_add(e, rn_udp_fd(e->wire.udp, i),
						RNP_TAG_SOCKET, true);
	return rc;
}

static void close_descriptors(struct rnp_engine *e)
{
	int *fds[] = { &e->timer_fd, &e->wake_fd };

	rnp_wait_close(&e->wait);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			rn_fd_close(*fds[i]);
		*fds[i] = -1;
	}
}

int rnp_background_start(struct rnp_engine *e, char *err, size_t err_len)
{
	int rc = open_descriptors(e, err, err_len);

	note_io(e);
	if (!rc)
		rc = start_thread(e);
	if (!rc)
		return 0;
	close_descriptors(e);
	return rn_fail(err, err_len, rc, "cannot start the background thread of %s: %s",
		       e->netdev.ibdev, strerrordesc_np(-rc));
}

/* Waits for the thread to end. Returns false if the program has closed every descriptor
 * that could wake the thread: then the thread sleeps for ever, and its engine must not be
 * freed.
 */
static bool join_thread(struct rnp_engine *e)
{
	struct timespec until;

	if (rn_own_fd_is_there(e->wake_fd) && rn_own_fd_is_there(e->wait.epoll_fd))
		return pthread_join(e->thread, NULL) == 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOIN_SECONDS;
	if (pthread_timedjoin_np(e->thread, NULL, &until) == 0)
		return true;
	pthread_detach(e->thread);
	return false;
}

bool rnp_background_stop(struct rnp_engine *e)
{
	bool ended = true;

	if (e->has_thread) {
		rnp_background_wake(e);
		ended = join_thread(e);
		e->has_thread = false;
	}
	close_descriptors(e);
	return ended;
}
