/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_kit.c - two engines in virtual time, in one thread. */
#include "virtual_kit.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "rocin/queue_pair.h"
#include "rocin/transport.h"

enum {
	/* maximum number of super-packets on the wire to one end */
	QUEUE = 1024,
	CPU_CLOCK = 0x7fff0001, /* a clockid_t that the kernel does not have */
	/* maximum number of steps of background threads at one instant */
	SPIN = 10000,
};

struct super {
	rn_ns at; /* time at which the super-packet can be received */
	struct rn_flow flow;
	uint32_t len, seg_len, count;
	uint8_t *data;
};

struct machine_end {
	struct virtual_end public;
	struct kit_end *kit;
	struct rn_net net;
	struct super queue[QUEUE];
	unsigned head, tail; /* counters that are never reset */
	uint8_t *received;   /* data that the last receive() has returned */
	bool is_running;     /* the background thread of this end runs */
};

struct virtual_machine virtual_machine;

static const struct virtual_machine usual = {
	.wire = RN_USEC(2),
	.wake = RN_USEC(20),
	.yield = RN_USEC(1),
	.spins = true,
};

static struct machine_end machine_ends[2];
/* end whose background thread runs; NULL: a program runs */
static struct machine_end *current;
static rn_ns clock_now;
static unsigned steps; /* number of steps since the clock has advanced */
static rn_ns cpu_used; /* processor time that the program's thread has used */

static struct machine_end *end_of(const struct rnp_engine *e)
{
	struct machine_end *m = &machine_ends[0];

	return m->kit->e == e ? m : m + 1;
}

static struct machine_end *peer_of(const struct machine_end *m)
{
	return &machine_ends[m == &machine_ends[0]];
}

struct virtual_end *virtual_end(const struct kit_end *k)
{
	return &end_of(k->e)->public;
}

/* --------------------------------------------------------------------- the clocks */
rn_ns virtual_now(void)
{
	return clock_now;
}

/* Sets the virtual clock, and that of the engines, which cannot read it by the
 * processor's counter.
 */
static void set_clock(rn_ns now, bool computes)
{
	assert_true(now >= clock_now);
	if (now > clock_now)
		steps = 0;
	if (computes)
		cpu_used += now - clock_now;
	clock_now = now;
	for (unsigned i = 0; i < 2; i++)
		if (machine_ends[i].kit)
			machine_ends[i].kit->e->clock.now = now;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	rn_ns now = id == CPU_CLOCK ? cpu_used : clock_now;

	ts->tv_sec = now / 1000000000;
	ts->tv_nsec = now % 1000000000;
	return 0;
}

int __wrap_pthread_getcpuclockid(pthread_t thread, clockid_t *id);
int __wrap_pthread_getcpuclockid(pthread_t thread, clockid_t *id)
{
	(void)thread;
	*id = CPU_CLOCK;
	return 0;
}

rn_ns virtual_cpu(void)
{
	return cpu_used;
}

/* --------------------------------------------------------------------- the policy */
struct rnp_facts virtual_facts(const struct kit_end *k)
{
	const struct rn_dev *dev = rnp_engine_dev(k->e);

	return (struct rnp_facts){ .has_acks_due = rn_dev_acks_due(dev),
				   .is_amid_message = rn_dev_is_amid_message(dev),
				   .is_asked_unacked = rn_qp_unacked(k->qp) };
}

bool virtual_would_leave(const struct kit_end *k)
{
	struct rnp_policy p = k->e->policy;
	struct rnp_facts f = virtual_facts(k);

	p.turn = RNP_LEASED;
	return rnp_policy_polled(&p, clock_now, f, RN_NEVER) & RNP_GIVE_SOCKETS;
}

bool virtual_would_lease_early(const struct kit_end *k)
{
	struct rnp_policy p = k->e->policy;
	struct rnp_facts f = virtual_facts(k);

	p.turn = RNP_ARMED;
	f.is_asked_unacked = true;
	return rnp_policy_polled(&p, clock_now, f, RN_NEVER) & RNP_TAKE_SOCKETS &&
	       p.lease.is_early;
}

/* ----------------------------------------------------------------------- the wire */
static int transmit(void *ctx, const struct rn_super *super)
{
	struct machine_end *m = ctx, *peer = peer_of(m);
	struct super *s = &peer->queue[peer->tail % QUEUE];

	if (m->public.is_full)
		return -EAGAIN;
	assert_true(peer->tail - peer->head < QUEUE);
	*s = (struct super){ .at = clock_now + virtual_machine.wire,
			     .flow = *super->flow,
			     .len = super->len,
			     .seg_len = super->seg_len,
			     .count = super->count,
			     .data = malloc(super->len) };
	assert_non_null(s->data);
	memcpy(s->data, super->data, super->len);
	peer->tail++;
	m->public.supers++;
	m->public.packets += super->count;
	return 0;
}

static int receive(void *ctx, struct rn_rx *rx)
{
	struct machine_end *m = ctx;
	struct super *s = &m->queue[m->head % QUEUE];

	if (m->head == m->tail || s->at > clock_now)
		return 0;
	if (clock_now - s->at > m->public.longest_wait)
		m->public.longest_wait = clock_now - s->at;
	free(m->received);
	m->received = s->data;
	m->head++;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t start = i * s->seg_len;
		uint32_t left = s->len - start;

		rx[i] = (struct rn_rx){ .flow = &s->flow,
					.data = s->data + start,
					.len = left < s->seg_len ? left : s->seg_len,
					.gro_idx = (uint16_t)i };
	}
	return (int)s->count;
}

static const struct rn_net_ops ops = { .transmit = transmit, .receive = receive };

unsigned virtual_waiting(const struct kit_end *k)
{
	const struct machine_end *m = end_of(k->e);

	return m->tail - m->head;
}

/* --------------------------------------------------------- the background thread */
int __wrap_rnp_background_start(struct rnp_engine *e, char *err, size_t err_len);
int __wrap_rnp_background_start(struct rnp_engine *e, char *err, size_t err_len)
{
	(void)err;
	(void)err_len;
	end_of(e)->public.listens = true;
	return 0;
}

bool __wrap_rnp_background_stop(struct rnp_engine *e);
bool __wrap_rnp_background_stop(struct rnp_engine *e)
{
	(void)e;
	return true;
}

bool __wrap_rnp_background_listen(struct rnp_engine *e, bool on);
bool __wrap_rnp_background_listen(struct rnp_engine *e, bool on)
{
	end_of(e)->public.listens = on;
	return true;
}

void __wrap_rnp_background_rest(struct rnp_engine *e);
void __wrap_rnp_background_rest(struct rnp_engine *e)
{
	(void)e;
}

void __wrap_rnp_background_set_timer(struct rnp_engine *e, rn_ns at);
void __wrap_rnp_background_set_timer(struct rnp_engine *e, rn_ns at)
{
	end_of(e)->public.timer = at;
	end_of(e)->public.timers++;
}

/* Returns the time at which the thread of @m runs next; RN_NEVER if it sleeps. */
static rn_ns wakes_at(const struct machine_end *m)
{
	rn_ns at = RN_NEVER;

	if (m->is_running || m->public.is_stopped)
		return RN_NEVER;
	if (m->public.timer != 0)
		at = m->public.timer;
	if (m->public.listens && m->head != m->tail && m->queue[m->head % QUEUE].at < at)
		at = m->queue[m->head % QUEUE].at;
	return at == RN_NEVER ? at : at + virtual_machine.wake;
}

static void run_background(struct machine_end *m)
{
	struct machine_end *before = current;
	struct rnp_engine *e = m->kit->e;
	bool fired = m->public.timer != 0 && m->public.timer <= clock_now;

	if (fired)
		m->public.timer = 0;
	m->public.wakes++;
	m->is_running = true;
	current = m;
	rnp_engine_lock(e);
	rnp_progress_background(e, fired);
	rnp_engine_unlock(e);
	rnp_wait_call(&e->wait);
	m->is_running = false;
	current = before;
}

bool virtual_step(rn_ns until)
{
	struct machine_end *m = &machine_ends[0];
	rn_ns at;

	if (wakes_at(m + 1) < wakes_at(m))
		m++;
	at = wakes_at(m);
	if (at > until) {
		if (until > clock_now)
			set_clock(until, virtual_machine.spins);
		return false;
	}
	if (at > clock_now)
		set_clock(at, virtual_machine.spins);
	if (++steps > SPIN)
		fail_msg("a background thread spins");
	run_background(m);
	return true;
}

/* A thread that yields lets the others run, while time passes. */
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	rn_ns until = clock_now + virtual_machine.yield;

	if (current)
		current->public.yields++;
	while (virtual_step(until))
		;
	return 0;
}

/* A program that naps lets the others run until it is called or the nap is over. */
void __wrap_rnp_wait_nap(struct rnp_wait *wait, uint32_t begun, rn_ns ns);
void __wrap_rnp_wait_nap(struct rnp_wait *wait, uint32_t begun, rn_ns ns)
{
	struct machine_end *m = &machine_ends[wait != &machine_ends[0].kit->e->wait];
	bool spins = virtual_machine.spins;
	rn_ns until = clock_now + ns;

	assert_true(m->public.listens);
	m->public.naps++;
	virtual_machine.spins = false;
	while (atomic_load(&wait->calls) == begun && virtual_step(until))
		;
	virtual_machine.spins = spins;
	set_clock(clock_now + virtual_machine.late, false);
}

/* -------------------------------------------------------------------- the programs */
void virtual_compute(rn_ns duration)
{
	set_clock(clock_now + duration, true);
}

void virtual_run(rn_ns duration)
{
	rn_ns until = clock_now + duration;

	while (virtual_step(until))
		;
}

bool virtual_poll(struct kit_end *k, struct rn_cqe *cqe)
{
	bool found = kit_poll(k, cqe);

	virtual_run(VIRTUAL_POLL);
	return found;
}

static void not_forever(rn_ns since)
{
	if (clock_now - since > VIRTUAL_WAIT)
		fail_msg("nothing came for %lld ns of virtual time",
			 (long long)VIRTUAL_WAIT);
}

struct rn_cqe virtual_await(struct kit_end *k, enum rn_wc_status status)
{
	rn_ns start = clock_now;
	struct rn_cqe cqe;

	while (!virtual_poll(k, &cqe))
		not_forever(start);
	assert_int_equal((uint8_t)cqe.ctl, status);
	return cqe;
}

void virtual_await_byte(struct kit_end *k, unsigned at, uint8_t value)
{
	rn_ns start = clock_now;

	while (k->buf[at] != value) {
		virtual_run(VIRTUAL_POLL);
		not_forever(start);
	}
}

/* -------------------------------------------------------------------------- a pair */
static void attach(struct kit_end *k)
{
	struct machine_end *m = end_of(k->e);
	struct rn_attach a = { .slot = 1, .qpn_counter = 1 };
	char err[300] = "";

	rnp_engine_lock(k->e);
	if (rnp_engine_start(k->e, &a, err, sizeof(err)))
		fail_msg("%s", err);
	m->net = (struct rn_net){ .ops = &ops, .ctx = m, .gso = true };
	k->e->wire.net = &m->net;
	rnp_engine_unlock(k->e);
}

void virtual_pair(struct kit_end k[2], uint8_t timeout)
{
	memset(machine_ends, 0, sizeof(machine_ends));
	virtual_machine = usual;
	clock_now = RN_MSEC(1000);
	cpu_used = 0;
	/* With a fixed window, the receive buffers that the machine grants have no
	 * effect.
	 */
	setenv("ROCIN_WINDOW", "192K:64K:1M", 0);
	kit_environment(0);
	for (unsigned i = 0; i < 2; i++) {
		kit_open(&k[i], i);
		machine_ends[i].kit = &k[i];
	}
	for (unsigned i = 0; i < 2; i++) {
		attach(&k[i]);
		kit_make_qp(&k[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		kit_connect(&k[i], &k[1 - i].gid, k[1 - i].qpn, timeout);
}

void virtual_close_pair(struct kit_end k[2])
{
	kit_close_pair(k);
	for (unsigned i = 0; i < 2; i++) {
		struct machine_end *m = &machine_ends[i];

		while (m->head != m->tail)
			free(m->queue[m->head++ % QUEUE].data);
		free(m->received);
	}
	memset(machine_ends, 0, sizeof(machine_ends));
}
