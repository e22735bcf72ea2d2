/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* work.h - how much work one call is, in units that are the same on every machine.
 *
 * A test that is linked by rn_count_work() (tests/CMakeLists.txt) has the product's code
 * compiled so that each basic block of it adds a unit. It is not optimized, so the blocks
 * are those of the source, whatever compiler there is. What takes long without being many
 * blocks is added: bytes that are copied, filled or summed, and system calls. As
 * everything that runs is counted, a loop that somebody adds is, too.
 *
 * Optimized code takes 0.5 to 1 ns for a unit while what it reads is in the cache, and up
 * to 5 ns where it is not (60 000 queue pairs, Xeon). So 200 000 units are up to 1 ms.
 */
#ifndef RN_TEST_WORK_H
#define RN_TEST_WORK_H

#include <stdint.h>

enum {
	WORK_BYTES = 8,	     /* bytes that are one unit */
	WORK_SYSCALL = 1000, /* units of a system call, and of each datagram of one */
	/* Limits for one of each, in units. */
	WORK_TIMER = 1000,     /* one of 65 536 timers runs out */
	WORK_PACKET = 5000,    /* a packet of 4 KiB is received, or made */
	WORK_COMPLETION = 500, /* a request completes, or is flushed */
	WORK_CALL = 500,       /* a call that finds nothing to do */
	WORK_MESSAGE = 50000,  /* rocind serves a message, a connection or a timer */
};

/* Begins to count anew. */
void work_begin(void);

/* Units since work_begin(). */
uint64_t work_done(void);

/* Adds units: what a function does that a test has put in place of another one. */
void work_add(uint64_t more);

/* Fails the test if more than @most units were counted since work_begin(), or none where
 * they can be counted (sanitizers and fuzzers have blocks of their own).
 */
void assert_work(uint64_t most);

/* The same for an entry that has taken @inputs inputs, each of which may take @each. */
static inline void assert_work_of(uint64_t inputs, uint64_t each)
{
	assert_work(WORK_CALL + inputs * each);
}

#endif /* RN_TEST_WORK_H */
