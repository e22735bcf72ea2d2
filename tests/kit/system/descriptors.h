/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptors.h - counts the open descriptors of the process, so that a test notices a
 * descriptor that was not closed.
 */
#ifndef RN_TEST_DESCRIPTORS_H
#define RN_TEST_DESCRIPTORS_H

#include <fcntl.h>

/* Returns the number of open descriptors below 1024. */
static inline unsigned count_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

#endif /* RN_TEST_DESCRIPTORS_H */
