/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* without_uring.c - run a program in a sandbox that has no io_uring.
 *
 * usage: without_uring EPERM|ENOSYS PROGRAM [ARGUMENT...]
 *
 * Ends with 77 where there are no such sandboxes.
 */
#include <stdio.h>
#include <string.h>

#include "forbid_uring.h"

int main(int argc, char **argv)
{
	int rc;

	if (argc < 3)
		return 64;
	rc = forbid_uring(strcmp(argv[1], "ENOSYS") ? EPERM : ENOSYS);
	if (rc) {
		fprintf(stderr, "without_uring: no sandbox: %s\n", strerror(-rc));
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
