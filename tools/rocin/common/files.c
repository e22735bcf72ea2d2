/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files.c - reads and writes whole files. */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* initial size of the buffer in bytes, which is doubled while the file is longer
	 */
	FIRST_ROOM = 1 << 16,
};

/* Reads @from to its end into newly allocated memory, and appends a NUL. Sets *@bytes to
 * this memory, which the caller must free. Returns the number of bytes without the NUL,
 * or -errno (-EFBIG: there are more than @max bytes).
 */
static ssize_t read_all(FILE *from, size_t max, char **bytes)
{
	size_t room = 0, len = 0;

	do {
		char *more;

		room = room ? 2 * room : FIRST_ROOM;
		room = room < max + 2 ? room : max + 2;
		more = realloc(*bytes, room);
		if (!more)
			return -ENOMEM;
		*bytes = more;
		errno = 0;
		len += fread(*bytes + len, 1, room - 1 - len, from);
	} while (len == room - 1 && len <= max);
	if (ferror(from))
		return errno ? -errno : -EIO;
	(*bytes)[len] = '\0';
	return len > max ? -EFBIG : (ssize_t)len;
}

ssize_t rn_stream_read(FILE *from, size_t max, char **bytes)
{
	ssize_t len;

	*bytes = NULL;
	len = read_all(from, max, bytes);
	if (len < 0) {
		free(*bytes);
		*bytes = NULL;
	}
	return len;
}

ssize_t rn_file_read(const char *path, size_t max, char **bytes)
{
	FILE *from = fopen(path, "re");
	ssize_t len;

	*bytes = NULL;
	if (!from)
		return -errno;
	len = rn_stream_read(from, max, bytes);
	fclose(from);
	return len;
}

long rn_file_number(const char *path)
{
	FILE *from = fopen(path, "re");
	long number;

	if (!from)
		return -1;
	if (fscanf(from, "%ld", &number) != 1)
		number = -1;
	fclose(from);
	return number;
}

int rn_file_lines(const char *path, rn_file_line line, void *ctx)
{
	FILE *from = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	int rc = 0;

	if (!from)
		return -errno;
	for (unsigned n = 1; rc == 0 && getline(&text, &room, from) >= 0; n++) {
		text[strcspn(text, "\n")] = '\0';
		rc = line(ctx, text, n);
	}
	free(text);
	fclose(from);
	return rc;
}

int rn_file_write(const char *path, rn_file_print print, const void *what)
{
	FILE *to = fopen(path, "we");
	int rc;

	if (!to)
		return -errno;
	errno = 0;
	rc = print(to, what);
	if (ferror(to)) /* ferror() also reports the failure of an earlier write */
		rc = errno ? -errno : -EIO;
	if (fclose(to) && !rc)
		rc = -errno;
	return rc;
}
