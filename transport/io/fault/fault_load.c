/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fault_load.c - faults from a file, or in whatever form a user gives them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net_fault.h"
#include "transport/io/host/fd_close.h"
#include "transport/io/host/sentence.h"

enum {
	PATIENCE_MS = 10000, /* of a pipe, until its writer says something */
};

/* read() from what was opened without waiting; a pipe that has a writer is waited for. */
static ssize_t read_some(int fd, char *buf, size_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (;;) {
		ssize_t n = read(fd, buf, size);

		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return n < 0 ? -errno : n;
		if (errno == EAGAIN && poll(&wait, 1, PATIENCE_MS) == 0)
			return -ETIMEDOUT;
	}
}

/* 0, -EFBIG, or -errno. */
static int read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0 && used < size) {
		n = read_some(fd, buf + used, size - used);
		if (n > 0)
			used += (size_t)n;
	}
	rn_fd_close(fd);
	if (n < 0)
		return (int)n;
	if (used == size)
		return -EFBIG;
	buf[used] = '\0';
	return strlen(buf) == used ? 0 : -EINVAL;
}

char *rn_fault_file(const char *path, char *err, size_t err_len)
{
	char *text = malloc(RN_FAULT_TEXT_MAX);
	int rc = text ? read_file(path, text, RN_FAULT_TEXT_MAX) : -ENOMEM;

	if (rc == 0)
		return text;
	free(text);
	if (rc == -EFBIG)
		rn_fail(err, err_len, rc, "%s: longer than %d bytes", path,
			RN_FAULT_TEXT_MAX - 1);
	else if (rc == -EINVAL)
		rn_fail(err, err_len, rc, "%s: not a text", path);
	else
		rn_fail(err, err_len, rc, "%s cannot be read: %m", path);
	errno = -rc;
	return NULL;
}

int rn_fault_rules_load(const char *path, struct rn_fault_rules *rules, char *err,
			size_t err_len)
{
	char *text = rn_fault_file(path, err, err_len);
	int rc;

	if (!text)
		return -errno;
	rc = rn_fault_rules_parse(text, path, rules, err, err_len);
	free(text);
	return rc;
}

int rn_fault_read(const char *text, struct rn_fault_rules *rules, char *err,
		  size_t err_len)
{
	struct rn_fault_spec spec;

	if (*text == '@')
		return rn_fault_rules_load(text + 1, rules, err, err_len);
	if (rn_fault_parse(text, &spec, err, err_len) == 0) {
		rn_fault_of_spec(&spec, rules);
		return 0;
	}
	/* One word that is no rule either was meant as the short form. */
	if (!strpbrk(text, " \t\n;") && strchr(text, '=') &&
	    rn_fault_rules_parse(text, "rule", rules, NULL, 0))
		return -EINVAL;
	return rn_fault_rules_parse(text, "rule", rules, err, err_len);
}
