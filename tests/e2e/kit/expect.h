/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* expect.h - the check by which test programs end if a condition is false. */
#ifndef RN_EXPECT_H
#define RN_EXPECT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If @cond is false, prints the place, the condition and errno, and ends the program with
 * status 1.
 */
#define EXPECT(cond)                                                                    \
	do {                                                                            \
		if (!(cond)) {                                                          \
			fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, \
				#cond, strerror(errno));                                \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#endif
