/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* without_call.c - runs a program in a sandbox in which a system call fails, as with the
 * seccomp profiles of containers.
 *
 * usage: without_call CALL EPERM|ENOSYS PROGRAM [ARGUMENT...]
 *
 * CALL is io_uring, memfd_create or pidfd_open. Ends with status 77 if the system has no
 * such sandboxes.
 */
#include <stdio.h>
#include <string.h>

#include "tests/kit/system/forbid_calls.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static const struct {
	const char *name;
	unsigned first, last;
} calls[] = {
	{ "io_uring", SYS_io_uring_setup, SYS_io_uring_register },
	{ "memfd_create", SYS_memfd_create, SYS_memfd_create },
	{ "pidfd_open", SYS_pidfd_open, SYS_pidfd_open },
};

int main(int argc, char **argv)
{
	int rc = -EINVAL;

	if (argc < 4)
		return 64;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, argv[1]) == 0)
			rc = forbid_calls(calls[i].first, calls[i].last,
					  strcmp(argv[2], "ENOSYS") ? EPERM : ENOSYS);
	if (rc) {
		fprintf(stderr, "without_call: no sandbox: %s\n", strerror(-rc));
		return rc == -EINVAL ? 64 : 77;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
