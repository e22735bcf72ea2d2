/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooked.h - checks that run inside a program under the preload library.
 *
 * No test framework here: its own signal handlers and allocator would be part of what is
 * tested. A failed check says what it was and ends the program with status 1.
 */
#ifndef RN_TEST_HOOKED_H
#define RN_TEST_HOOKED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS "/sys/class/infiniband"
#define IBDEV CLASS "/rocin0"
#define PORT IBDEV "/ports/1"
#define NODE "/dev/infiniband/uverbs_rocin0"
#define REAL_IBDEV "/sys/devices/virtual/rocin/rocin0.nic/infiniband/rocin0"

#define CHECK(cond)                                                             \
	do {                                                                    \
		if (!(cond)) {                                                  \
			int errno_ = errno;                                     \
                                                                                \
			printf("%s:%d: %s is false (errno %d, %s)\n", __FILE__, \
			       __LINE__, #cond, errno_, strerror(errno_));      \
			exit(1);                                                \
		}                                                               \
	} while (0)

#define CHECK_TEXT(got, want)                                                            \
	do {                                                                             \
		const char *got_ = (got);                                                \
                                                                                         \
		if (!got_ || strcmp(got_, (want))) {                                     \
			printf("%s:%d: %s is \"%s\", want \"%s\"\n", __FILE__, __LINE__, \
			       #got, got_ ? got_ : "NULL", (want));                      \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

struct check {
	const char *name;
	void (*run)(void);
};

extern const struct check path_checks[]; /* end with a NULL name */
extern const struct check life_checks[];
extern const struct check signal_checks[];

/* Ask the stand-in as libibverbs does. Return: 0 or errno. */
int verbs_probe(int fd);

/* A new completion channel of the device open as @fd. */
int verbs_comp_channel(int fd);

#endif /* RN_TEST_HOOKED_H */
