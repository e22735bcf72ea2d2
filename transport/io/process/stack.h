/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stack.h - stacks of the program in reports: as addresses in modules, written by this
 * process, and with functions and lines, which another process looks up.
 *
 * A frame is a line in the form that the sanitizers of compilers use, so that their
 * symbolizers read it, too; the address is that of the call, not of the return:
 *
 *	    #0 0x55d36bc96c41 in main+0x31 (/path/of/module+0x1c41) (BuildId: 5b...)
 *
 * All functions may be called in signal handlers.
 */
#ifndef RN_STACK_H
#define RN_STACK_H

#include <stddef.h>
#include <sys/types.h>

#include "rocin/types.h"

/* Writes the line of frame @number, which is at the address @at, into @buf, with a
 * newline. @is_return: @at is a return address, so the call is just before it. Returns
 * the number of bytes; 0 if there is no room for all of them.
 */
size_t rn_stack_frame(unsigned number, void *at, bool is_return, char *buf, size_t len);

/* Copies @text into @named. Lines that are frames are replaced by lines with function,
 * file and line number, which the program rocin-symbolize looks up. Returns the number
 * of bytes, or -errno. After an error, all later calls fail, too.
 */
ssize_t rn_stack_symbolize(const char *text, size_t len, char *named, size_t named_len);

#endif /* RN_STACK_H */
