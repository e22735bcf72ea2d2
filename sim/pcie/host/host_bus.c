/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_bus.c - the bus thread. It moves TLPs when no call of the program does, and limits
 * how long a TLP is held in its queues.
 *
 * A program that waits by reading memory makes no calls. It must see each write at most
 * hold_ns (the bound) after the write was issued. The adversarial driver would hold all
 * TLPs for this long and then let them go at once, so that no reordering could be seen.
 * So when the oldest TLP has been held for half of the bound, single TLPs are forced
 * early ("leaked"), the youngest and the oldest in turn: the last bytes of a message
 * arrive, then the first ones, while the middle is still missing. With hold=inf the
 * thread moves TLPs only while somebody waits for one (rn_tlp_is_wanted()). With
 * hold=event the sanitizer withholds writes, which then do not enter the queues; other
 * TLPs are held for the default bound.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "host_internal.h"

enum {
	/* Time in ns from one turn of the thread to the next while an agent or the
	 * program waits for a TLP.
	 */
	TICK_NS = 50 * 1000,
	STEPS_PER_TICK = 32,
	/* Maximum number of TLPs that are leaked, that is forced early, within one bound.
	 */
	LEAKS = 64,
	STACK = 128 * 1024,
	/* CQEs are held no longer than this, in ns, even if hold is longer: a program
	 * that sleeps until a completion arrives does not poll. The value is the default
	 * of hold.
	 */
	ENTRY_WAIT_NS = 2 * 1000 * 1000,
};

/* Returns the bound, the time in ns for which a TLP may be held; 0: no limit. */
static uint64_t bound_ns(const struct rn_pcie_knobs *k)
{
	return k->hold_ns == RN_PCIE_HOLD_EVENT ? ENTRY_WAIT_NS : k->hold_ns;
}

/* ----------------------------------------- the bound on holding TLPs */
/* Returns the number of empty polls since @tlp was issued. If the program polled several
 * CQ rings, this is the number of the ring that it polled most.
 */
static uint32_t polls_of(struct rn_host *h, const struct rn_tlp *tlp)
{
	const uint32_t *before = rn_host_slot_of(h, tlp)->polls;
	uint32_t most = 0;

	for (unsigned i = 0; i < RN_HOST_RINGS; i++)
		if (h->ring_polls[i] - before[i] > most)
			most = h->ring_polls[i] - before[i];
	return most;
}

/* Returns true if the TLP has been held for 1/@part of what the knobs allow: of the time
 * (hold) or of the number of empty polls (hold.polls).
 */
static bool is_held(struct rn_host *h, const struct rn_tlp *tlp, rn_ns now, unsigned part)
{
	const struct rn_pcie_knobs *k = rn_host_knobs(h);

	if (k->hold_polls && polls_of(h, tlp) >= k->hold_polls / part)
		return true;
	return bound_ns(k) && now && (uint64_t)now >= tlp->stamp + bound_ns(k) / part;
}

static bool is_leak_due(struct rn_host *h, rn_ns now)
{
	const struct rn_pcie_knobs *k = rn_host_knobs(h);

	if (k->hold_polls && h->polls - h->leaked_polls >= k->hold_polls / LEAKS)
		return true;
	return bound_ns(k) && now && now - h->leaked_at >= (rn_ns)(bound_ns(k) / LEAKS);
}

/* Returns the youngest write of data. Returns the youngest TLP, which may be a CQE, only
 * if no data is in flight: forcing a CQE would push all data in front of it to memory,
 * too.
 */
static unsigned youngest_data(const struct rn_fabric *f)
{
	unsigned i = rn_fabric_youngest(f);

	while (i != RN_TLP_NONE && rn_tlp_is_wanted(rn_fabric_tlp(f, i)))
		i = rn_fabric_older(f, i);
	return i == RN_TLP_NONE ? rn_fabric_youngest(f) : i;
}

static void leak_one(struct rn_host *h, rn_ns now)
{
	unsigned oldest = rn_fabric_oldest(h->fabric);

	if (oldest == RN_TLP_NONE ||
	    !is_held(h, rn_fabric_tlp(h->fabric, oldest), now, 2) || !is_leak_due(h, now))
		return;
	if (now)
		h->leaked_at = now;
	h->leaked_polls = h->polls;
	h->counters.released++;
	rn_host_move(h, h->leak_oldest ? oldest : youngest_data(h->fabric), true);
	h->leak_oldest = !h->leak_oldest;
}

void rn_host_release(struct rn_host *h, rn_ns now)
{
	unsigned oldest;

	if (h->tape.is_replaying)
		/* The recorded choices that are repeated include the TLPs that were
		 * forced in the recorded run.
		 */
		return;
	while ((oldest = rn_fabric_oldest(h->fabric)) != RN_TLP_NONE &&
	       is_held(h, rn_fabric_tlp(h->fabric, oldest), now, 1)) {
		h->counters.released++;
		rn_host_move(h, oldest, true);
	}
	if (h->driver.kind == RN_DRIVER_ADVERSARIAL)
		leak_one(h, now);
}

bool rn_host_do_entries_wait(struct rn_host *h, rn_ns now)
{
	unsigned oldest = rn_fabric_oldest(h->fabric);

	return rn_host_knobs(h)->hold_ns && oldest != RN_TLP_NONE &&
	       (uint64_t)now < rn_fabric_tlp(h->fabric, oldest)->stamp + ENTRY_WAIT_NS;
}

/* ------------------------------------------------------- the bus thread */
/* Returns true if the bus thread may move TLPs because time has passed. It may if the
 * time for which a TLP is held is limited, or if somebody waits for a TLP.
 */
static bool does_time_move(const struct rn_host *h)
{
	return rn_host_knobs(h)->hold_ns || rn_fabric_wanted(h->fabric) > 0;
}

/* Returns the time at which the bus thread has to run next. RN_NEVER: it need not run
 * before another TLP is issued.
 */
static rn_ns next_look(struct rn_host *h, rn_ns now)
{
	const struct rn_pcie_knobs *k = rn_host_knobs(h);
	unsigned oldest = rn_fabric_oldest(h->fabric);
	rn_ns at;

	if (oldest == RN_TLP_NONE)
		return RN_NEVER;
	if (h->tape.is_replaying)
		return now + TICK_NS;
	if (!does_time_move(h))
		return RN_NEVER;
	if (h->driver.kind == RN_DRIVER_RANDOM || rn_fabric_wanted(h->fabric) > 0)
		return now + TICK_NS;
	at = (rn_ns)(rn_fabric_tlp(h->fabric, oldest)->stamp + bound_ns(k) / 2);
	return at > now + TICK_NS ? at : now + TICK_NS;
}

bool rn_host_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, rn_ns until)
{
	struct timespec t = { .tv_sec = until / 1000000000,
			      .tv_nsec = until % 1000000000 };

	return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &t) == 0;
}

static void sleep_until(struct rn_host *h, rn_ns when)
{
	rn_host_record_flush(h);
	h->by_time = false;
	h->bus_is_asleep = true;
	h->bus_sleeps_until = when;
	(void)rn_host_cond_wait(&h->bus_work, &h->lock, when);
	h->bus_is_asleep = false;
}

static void let_time_pass(struct rn_host *h, rn_ns now)
{
	h->driver.is_sending = rn_host_do_entries_wait(h, now);
	if (does_time_move(h))
		rn_host_step(h, STEPS_PER_TICK);
	h->driver.is_sending = false;
	rn_host_release(h, now);
}

static void *run_bus(void *arg)
{
	struct rn_host *h = arg;
	bool must_hurry;
	rn_ns now;

	for (;;) {
		rn_host_lock(h);
		h->by_time = true;
		now = rn_host_now();
		if (h->tape.is_replaying)
			rn_host_replay_tick(h, does_time_move(h));
		else if (rn_host_may_time_move(h, now))
			let_time_pass(h, now);
		rn_host_resume_by_time(h, now);
		must_hurry = h->waiting && !h->tape.is_on;
		if (!h->wake_due && !must_hurry)
			sleep_until(h, next_look(h, now));
		h->by_time = false;
		/* This also wakes the NICs that have results to collect. */
		rn_host_unlock(h);
		if (must_hurry)
			sched_yield();
	}
	return NULL;
}

/* Starts the thread with all signals blocked, so that handlers of the program never run
 * in it. Only SIGSEGV and SIGBUS are not blocked: this thread's own copies may fault.
 */
static int start_thread(struct rn_host *h)
{
	pthread_condattr_t clock;
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&h->bus_work, &clock);
	pthread_condattr_destroy(&clock);

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&h->bus, &attr, run_bus, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pthread_setname_np(h->bus, "rocin-pcie");
	return err;
}

void rn_host_bus_start(struct rn_host *h)
{
	if (h->bus_is_running)
		return;
	h->bus_is_running = true;
	h->bus_is_missing = start_thread(h) != 0;
}

static void wake_bus(struct rn_host *h)
{
	/* cleared here, so that the thread is signalled only once while it sleeps */
	h->bus_is_asleep = false;
	pthread_cond_signal(&h->bus_work);
}

/* Wakes the thread if its sleep is too long: it sleeps until it is signalled, or, while
 * an agent or the program waits for a TLP, for longer than TICK_NS. A TLP for which
 * nobody waits stays until the thread wakes by itself.
 */
void rn_host_bus_poke(struct rn_host *h)
{
	rn_host_bus_start(h);
	if (!h->bus_is_asleep)
		return;
	if (h->bus_sleeps_until == RN_NEVER ||
	    (rn_fabric_wanted(h->fabric) > 0 &&
	     h->bus_sleeps_until > (rn_ns)h->now + TICK_NS))
		wake_bus(h);
}

void rn_host_bus_hurry(struct rn_host *h)
{
	if (h->bus_is_asleep)
		wake_bus(h);
}
