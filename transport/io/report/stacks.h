/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks.h - the stacks that reports name, each stored once and known by a number.
 *
 * Number 0 means that there is no stack. Any thread may call; rn_stacks_init() comes
 * first. After that, all functions may be called in signal handlers that interrupt none
 * of them.
 */
#ifndef RN_STACKS_H
#define RN_STACKS_H

#include <stddef.h>
#include <stdint.h>

/* Prepares the unwinder, whose first use allocates memory, and makes the store of stacks
 * safe for fork(). A second call does nothing.
 */
void rn_stacks_init(void);

/* Stores the caller's stack, which the unwinder finds, and returns its number. */
uint32_t rn_stacks_take(void);

/* Does what rn_stacks_take_again() does. @site: the address to which the caller of that
 * function will return.
 */
uint32_t rn_stacks_take_at(const void *site) __attribute__((noinline));

/* Returns the same number as rn_stacks_take(), and costs only a few loads if this thread
 * has called from the same place before. The first time, it remembers where in memory
 * the return addresses of the stack are stored. Later it only compares what is there
 * now: if all are equal, the stack is the same. Not for signal handlers.
 */
static inline __attribute__((always_inline)) uint32_t rn_stacks_take_again(void)
{
	return rn_stacks_take_at(__builtin_return_address(0));
}

/* Writes the frames of a stack into @buf. Leaves out frames of Rocin's libraries and of
 * the compiler's sanitizers. Returns the number of bytes written.
 */
size_t rn_stacks_text(uint32_t stack, char *buf, size_t len);

/* Calls @fn with the function and the module of each frame that rn_stacks_text() writes,
 * until @fn returns a value other than 0; returns that value. Names may be empty.
 */
int rn_stacks_each(uint32_t stack,
		   int (*fn)(void *arg, const char *function, const char *module),
		   void *arg);

#endif /* RN_STACKS_H */
