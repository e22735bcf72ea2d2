/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spoken.h - a command of `rocin` is run in this process, and what it says is kept.
 *
 * What it complains of ends in @complaint, what it prints in @printed.
 */
#ifndef RN_TEST_TOOLS_SPOKEN_H
#define RN_TEST_TOOLS_SPOKEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rocin/common/cmd.h"

static char complaint[512], printed[65536];

void rn_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
}

/* Words up to a NULL, behind the command's name. Return: the exit status. */
static int spoken(int (*command)(int argc, char **argv), const char *const *words)
{
	char name[] = "rocin", *argv[20] = { name };
	int argc = 1, out = memfd_create("out", MFD_CLOEXEC), saved, status;
	ssize_t len;

	for (; words[argc - 1]; argc++) {
		assert_in_range(argc, 1, 18);
		argv[argc] = strdup(words[argc - 1]);
	}
	complaint[0] = '\0';
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(saved >= 0 && out >= 0 && dup2(out, STDOUT_FILENO) >= 0);
	status = command(argc, argv);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	len = pread(out, printed, sizeof(printed) - 1, 0);
	assert_in_range(len, 0, sizeof(printed) - 2);
	printed[len] = '\0';
	close(out);
	/* argp moves options to the front: they may be anywhere by now. */
	for (int i = 0; i < argc; i++)
		if (argv[i] != name)
			free(argv[i]);
	return status;
}

#define RUN(command, ...) spoken((command), (const char *const[]){ __VA_ARGS__, NULL })

#endif /* RN_TEST_TOOLS_SPOKEN_H */
