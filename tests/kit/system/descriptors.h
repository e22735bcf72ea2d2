/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptors.h - how many descriptors are open: who leaves one open is found by it. */
#ifndef RN_TEST_DESCRIPTORS_H
#define RN_TEST_DESCRIPTORS_H

#include <fcntl.h>

/* Of those that a test comes to have. */
static inline unsigned count_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

#endif /* RN_TEST_DESCRIPTORS_H */
