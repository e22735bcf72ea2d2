/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tso.h - a machine with store buffers, on which the atomic operations of code under test
 * run in every order.
 *
 * The code is compiled with this header in front (-include): its atomics become steps of
 * the machine. A store that is not sequentially consistent waits in the thread's buffer;
 * stores leave the buffer at any time, first in, first out (x86), or if so wished in any
 * order but for those to one place. Read-modify-writes and sequentially consistent stores
 * empty it. Loads are taken in program order. Memory is zero at the start.
 *
 * A thread is a function without arguments that decides by nothing but what its steps
 * return: it is run from the start for each of them.
 */
#ifndef RN_TSO_H
#define RN_TSO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TSO_THREADS = 3
};

struct tso_result {
	uint64_t states;
	uint64_t ends;	/* states in which every thread has returned */
	uint64_t stuck; /* in which none can go on, and one has not returned */
};

struct tso_rules {
	bool any_order; /* of stores to different places */
	/* Stores to it wait in the buffer, whatever the code says: to break it. Or NULL
	 */
	const volatile void *weak;
};

/* Every order of the steps of @count threads. Not reentrant. */
struct tso_result tso_explore(void (*const *thread)(void), unsigned count,
			      struct tso_rules rules);

/* ------------------------------------------------------------ steps of a thread */
uint64_t tso_load(const volatile void *at);
void tso_store(volatile void *at, uint64_t value, memory_order order);
uint64_t tso_exchange(volatile void *at, uint64_t value);
uint64_t tso_fetch_or(volatile void *at, uint64_t bits);

/* A write to an eventfd, and a read that waits for one. */
void tso_wake(void);
void tso_sleep(void);

#ifdef TSO_ATOMICS
#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_or
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_or_explicit
#define atomic_load(at) tso_load(at)
#define atomic_store(at, value) tso_store(at, value, memory_order_seq_cst)
#define atomic_exchange(at, value) tso_exchange(at, value)
#define atomic_fetch_or(at, bits) tso_fetch_or(at, bits)
#define atomic_load_explicit(at, order) tso_load(at)
#define atomic_store_explicit(at, value, order) tso_store(at, value, order)
#define atomic_fetch_or_explicit(at, bits, order) tso_fetch_or(at, bits)
#endif

#endif /* RN_TSO_H */
