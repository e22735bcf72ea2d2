/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* output.c - copies the output of the programs of a lab, line by line, with a prefix. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lab.h"

void rn_lab_stream_open(struct rn_lab_stream *s, int from, int to, const char *prefix)
{
	s->from = from;
	s->to = to;
	s->used = 0;
	snprintf(s->prefix, sizeof(s->prefix), "%s", prefix);
}

/* Removes the first @n bytes from the @count buffers of @iov, which writev() has written.
 */
static void advance(struct iovec *iov, size_t count, size_t n)
{
	for (size_t i = 0; i < count; i++) {
		size_t part = n < iov[i].iov_len ? n : iov[i].iov_len;

		iov[i].iov_base = (char *)iov[i].iov_base + part;
		iov[i].iov_len -= part;
		n -= part;
	}
}

/* Writes a line with its prefix by one system call, so that output of other processes
 * cannot come between.
 */
static int write_line(const struct rn_lab_stream *s, const char *line, size_t len)
{
	struct iovec iov[] = { { (char *)s->prefix, strlen(s->prefix) },
			       { (char *)line, len },
			       { (char *)"\n", 1 } };
	size_t left = iov[0].iov_len + len + 1;

	while (left) {
		struct pollfd p = { .fd = s->to, .events = POLLOUT };
		ssize_t n = writev(s->to, iov, RN_ARRAY_SIZE(iov));

		if (n >= 0) {
			advance(iov, RN_ARRAY_SIZE(iov), (size_t)n);
			left -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* Writes the complete lines that are in the buffer. If an incomplete line fills the
 * buffer, writes that line, too.
 */
static int write_lines(struct rn_lab_stream *s)
{
	size_t done = 0;
	int rc = 0;

	while (!rc && done < s->used) {
		const char *line = s->line + done;
		const char *end = memchr(line, '\n', s->used - done);
		size_t len = end ? (size_t)(end - line) : s->used - done;

		if (!end && (done > 0 || s->used < sizeof(s->line)))
			break;
		rc = write_line(s, line, len);
		done += len + (end ? 1 : 0);
	}
	s->used -= done;
	memmove(s->line, s->line + done, s->used);
	return rc;
}

static void close_stream(struct rn_lab_stream *s)
{
	close(s->from);
	s->from = -1;
}

int rn_lab_stream_read(struct rn_lab_stream *s)
{
	int rc = 0;

	while (s->from >= 0 && !rc) {
		ssize_t n = read(s->from, s->line + s->used, sizeof(s->line) - s->used);

		if (n > 0) {
			s->used += (size_t)n;
			rc = write_lines(s);
		} else if (n == 0) {
			close_stream(s);
		} else if (errno != EINTR) {
			if (errno != EAGAIN)
				close_stream(s);
			break;
		}
	}
	if (!rc && s->from < 0 && s->used) {
		rc = write_line(s, s->line, s->used);
		s->used = 0;
	}
	return rc;
}

int rn_lab_stream_end(struct rn_lab_stream *s)
{
	int rc = rn_lab_stream_read(s);

	if (s->from >= 0)
		close_stream(s);
	return rc ? rc : rn_lab_stream_read(s);
}
