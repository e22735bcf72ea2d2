/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* work.h - measures the work of a function call in units that are the same on every
 * machine.
 *
 * If a test is linked by rn_count_work() (tests/CMakeLists.txt), the product's code is
 * compiled so that each basic block that runs adds one unit. The code is not optimized,
 * so each compiler makes the same basic blocks. Some operations take longer than their
 * basic blocks show, so they add units of their own: copying, filling and checksumming of
 * bytes, and system calls. All code of the product is counted, so a loop that is added
 * later is counted, too.
 *
 * Optimized code takes 0.5 to 1 ns for a unit if its data is in the cache, and up to 5 ns
 * otherwise (60 000 queue pairs, Xeon). So 200 000 units take up to 1 ms.
 */
#ifndef RN_TEST_WORK_H
#define RN_TEST_WORK_H

#include <stdint.h>

enum {
	WORK_BYTES = 8, /* number of bytes that count as one unit */
	/* units of a system call, and of each datagram that it sends or receives */
	WORK_SYSCALL = 1000,
	/* Limits for the work of one event, in units. */
	WORK_TIMER = 1000,     /* one of 65 536 timers expires */
	WORK_PACKET = 5000,    /* a packet of 4 KiB is received or built */
	WORK_COMPLETION = 500, /* a request completes or is flushed */
	WORK_CALL = 500,       /* a call has nothing to do */
	WORK_MESSAGE = 50000,  /* rocind processes a message, a connection or a timer */
};

/* Sets the number of counted units to 0. */
void work_begin(void);

/* Returns the number of units since work_begin(). */
uint64_t work_done(void);

/* Adds units, for a function of the test that replaces another one. */
void work_add(uint64_t more);

/* Fails the test if more than @most units were counted since work_begin(). Also fails it
 * if none were counted, except in builds with sanitizers or fuzzers: these use the
 * compiler's basic blocks themselves, so no unit is counted there.
 */
void assert_work(uint64_t most);

/* The same for a call that has processed @inputs inputs, each of which may take @each
 * units.
 */
static inline void assert_work_of(uint64_t inputs, uint64_t each)
{
	assert_work(WORK_CALL + inputs * each);
}

#endif /* RN_TEST_WORK_H */
