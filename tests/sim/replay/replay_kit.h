/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* replay_kit.h - recordings for tests: made by a child, read into memory.
 *
 * What is linked with the recorder records every device of the program, in one file: so a
 * child makes it, and the parent, which has no ROCIN_RECORD, may replay.
 */
#ifndef RN_TESTS_REPLAY_KIT_H
#define RN_TESTS_REPLAY_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/replay/recording.h"

/* A child runs @body and ends with what it returns, which has to be 0. Return:
 * its number.
 */
static inline pid_t kit_in_child(int (*body)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		exit(body());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return child;
}

struct kit_file {
	uint8_t *data;
	size_t len;
};

/* The whole file; to be given to free(). */
static inline struct kit_file kit_load(const char *path)
{
	struct kit_file file = { 0 };
	FILE *f = fopen(path, "rbe");
	size_t room = 0, n;

	assert_non_null(f);
	do {
		room += 1 << 20;
		file.data = realloc(file.data, room);
		assert_non_null(file.data);
		n = fread(file.data + file.len, 1, room - file.len, f);
		file.len += n;
	} while (file.len == room);
	fclose(f);
	return file;
}

#endif /* RN_TESTS_REPLAY_KIT_H */
