/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write_all.h - writes all bytes to a descriptor, whatever signals come.
 *
 * It is inline because the library that simulates GPUs has a write() of its own: so each
 * library calls the write() that it is linked with.
 *
 * Threads: any; no state. May be called in a signal handler.
 */
#ifndef RN_WRITE_ALL_H
#define RN_WRITE_ALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Returns true, or false with errno if a byte could not be written. */
static inline bool rn_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

#endif /* RN_WRITE_ALL_H */
