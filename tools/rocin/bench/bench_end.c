/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_end.c - one of the two processes: how they meet, fail and measure time. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench.h"
#include "rocin/random.h"

static const uint64_t patience_ns = 10 * 1000000000ull;

int rn_bench_fail(struct rn_bench_end *end, const char *fmt, ...)
{
	char *to = end->shared->sentence[end->role];
	va_list ap;

	if (!*to) {
		size_t len = sizeof(end->shared->sentence[0]);
		char cell[RN_BENCH_CELL_TEXT];
		int n = 0;

		if (end->cell) {
			rn_bench_cell_write(end->cell, cell);
			n = snprintf(to, len, "%s: ", cell);
		}
		va_start(ap, fmt);
		vsnprintf(to + n, len - (size_t)n, fmt, ap);
		va_end(ap);
	}
	atomic_store(&end->shared->failed, true);
	return -1;
}

/* The other process has ended; it has said why, unless it was killed. */
static int gone(struct rn_bench_end *end)
{
	atomic_store(&end->shared->failed, true);
	return -1;
}

int rn_bench_exchange(struct rn_bench_end *end, const void *mine, void *theirs,
		      size_t len)
{
	ssize_t n;

	/* MSG_WAITALL and a socket buffer that holds all of it: one call each. */
	do
		n = send(end->meet_fd, mine, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len)
		return gone(end);
	do
		n = recv(end->meet_fd, theirs, len, MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : gone(end);
}

int rn_bench_meet(struct rn_bench_end *end)
{
	char mine = 'm', theirs;

	return rn_bench_exchange(end, &mine, &theirs, 1);
}

bool rn_bench_stopped(const struct rn_bench_end *end)
{
	return atomic_load_explicit(&end->shared->stop, memory_order_acquire) ||
	       atomic_load_explicit(&end->shared->failed, memory_order_relaxed);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int patience_at(struct rn_bench_meter *m, uint64_t now)
{
	if (atomic_load_explicit(&m->end->shared->failed, memory_order_relaxed))
		return -1;
	if (now < m->give_up_ns)
		return 0;
	return rn_bench_fail(m->end, "nothing has moved for ten seconds");
}

int rn_bench_meter_patience(struct rn_bench_meter *m)
{
	return patience_at(m, now_ns());
}

void rn_bench_meter_start(struct rn_bench_meter *m, struct rn_bench_end *end)
{
	uint64_t now = now_ns();

	*m = (struct rn_bench_meter){
		.end = end,
		.warm_ns = now + end->slice_ns / 5,
		.end_ns = now + end->slice_ns / 5 + end->slice_ns,
		.give_up_ns = now + 2 * end->slice_ns + patience_ns,
	};
}

void rn_bench_meter_start_trips(struct rn_bench_meter *m, struct rn_bench_end *end)
{
	rn_bench_meter_start(m, end);
	m->times = true;
}

bool rn_bench_meter_runs(struct rn_bench_meter *m, uint64_t done)
{
	uint64_t now = now_ns();

	if (!m->start_ns && now >= m->warm_ns) {
		m->start_ns = now;
		m->start_at = done;
		m->end_ns = now + m->end->slice_ns;
	} else if (m->times && m->start_ns) {
		rn_bench_times_add(&m->end->shared->times, now - m->last_ns);
	}
	m->last_ns = now;
	/* However slow the machine is, something is counted. */
	if (now < m->end_ns || done == m->start_at)
		return patience_at(m, now) == 0;
	m->stop_ns = now;
	m->stop_at = done;
	return false;
}

double rn_bench_meter_per_ns(const struct rn_bench_meter *m)
{
	return (double)(m->stop_at - m->start_at) / (double)(m->stop_ns - m->start_ns);
}

double rn_bench_meter_us_each(const struct rn_bench_meter *m)
{
	return 1e-3 / rn_bench_meter_per_ns(m);
}

/* The bytes at position @i. */
static uint64_t pattern_at(uint64_t seed, size_t i)
{
	return rn_random_at((seed << 32) + i, 0);
}

void rn_bench_pattern(uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = pattern_at(seed, i);

		memcpy(buf + i, &v, len - i < 8 ? len - i : 8);
	}
}

bool rn_bench_is_pattern(const uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t v = pattern_at(seed, i);

		if (memcmp(buf + i, &v, len - i < 8 ? len - i : 8) != 0)
			return false;
	}
	return true;
}
