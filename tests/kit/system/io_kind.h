/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* io_kind.h - helpers for tests that run twice: with the usual system calls and, if
 * ROCIN_IO is "uring", with io_uring.
 */
#ifndef RN_TEST_IO_KIND_H
#define RN_TEST_IO_KIND_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/io/host/uring.h"

static inline bool io_by_uring(void)
{
	const char *io = getenv("ROCIN_IO");

	return io && strcmp(io, "uring") == 0;
}

/* For main() of such a test: returns 77 (the test is skipped), after a message, if the
 * test needs io_uring and the kernel does not offer it. Otherwise returns 0.
 */
static inline int io_missing(void)
{
	struct rn_uring *u;
	char why[300];

	if (!io_by_uring())
		return 0;
	u = rn_uring_open(RN_URING_AT_ONCE, 1, why, sizeof(why));
	if (!u) {
		printf("skipped: %s\n", why);
		return 77;
	}
	rn_uring_close(u);
	return 0;
}

#endif /* RN_TEST_IO_KIND_H */
