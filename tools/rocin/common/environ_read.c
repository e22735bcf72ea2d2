/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* environ_read.c - see environ_read.h */
#include "environ_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/io/host/sentence.h"

int rn_environ_take(pid_t pid, char *err, size_t err_len)
{
	char path[64], *text = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	if (!f) {
		rc = -errno;
		return rn_fail(err, err_len, rc,
			       "the environment of process %d cannot be read: %s",
			       (int)pid, strerror(-rc));
	}
	clearenv();
	while (getdelim(&text, &size, '\0', f) > 0) {
		/* Without '=' putenv() would remove a variable. */
		if (!strchr(text, '='))
			continue;
		putenv(text);
		text = NULL; /* the environment's from now on */
		size = 0;
	}
	free(text);
	rc = ferror(f) ? -EIO : 0;
	fclose(f);
	return rc ? rn_fail(err, err_len, rc,
			    "the environment of process %d cannot be read to its end",
			    (int)pid)
		  : 0;
}
