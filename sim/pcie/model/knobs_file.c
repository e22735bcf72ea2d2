/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* knobs_file.c - reads knobs from a text, or from a file that the text names. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "knobs.h"

enum {
	/* Maximum size of a file of knobs in bytes, enough for many comments. */
	FILE_MAX = 16384,
	/* time in ms for which the writer of a FIFO may send nothing */
	PATIENCE_MS = 10000,
};

/* ---- Knobs in a file ---- */
/* Reads from a file that the caller has opened with O_NONBLOCK, so that opening a FIFO
 * that has no writer does not hang. If a FIFO has a writer, waits up to PATIENCE_MS for
 * bytes. Returns the number of bytes, 0 at the end of the file, or -errno.
 */
static ssize_t read_some(int fd, char *buf, size_t size)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n = read(fd, buf, size);

	while (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		int ready = errno == EINTR ? 1 : poll(&wait, 1, PATIENCE_MS);

		if (ready == 0)
			return -ETIMEDOUT;
		if (ready < 0 && errno != EINTR)
			break;
		n = read(fd, buf, size);
	}
	return n < 0 ? -errno : n;
}

/* Reads the whole file into @buf. Returns its length, -EFBIG or another -errno. */
static ssize_t read_file(const char *name, char *buf, size_t size)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0 && used < size) {
		n = read_some(fd, buf + used, size - used);
		if (n > 0)
			used += (size_t)n;
	}
	if (n >= 0)
		n = used < size ? (ssize_t)used : -EFBIG;
	close(fd);
	return n;
}

static int parse_lines(struct rn_pcie_knobs *k, const char *name, struct rn_token text,
		       struct rn_text *err)
{
	char why[256];

	for (unsigned number = 1; text.at; number++) {
		struct rn_token line = rn_token_cut(&text, '\n');
		struct rn_token words = rn_token_cut(&line, '#');
		int rc = rn_knobs_parse_words(k, words, why, sizeof(why));

		if (rc == 0)
			continue;
		rn_text_add(err, name);
		rn_text_char(err, ':');
		rn_text_number(err, number);
		rn_text_add(err, ": ");
		rn_text_add(err, why);
		return rc;
	}
	return 0;
}

static int parse_file(struct rn_pcie_knobs *k, const char *name, struct rn_text *err)
{
	char buf[FILE_MAX + 1] = "";
	ssize_t len = read_file(name, buf, sizeof(buf));

	if (len >= 0)
		return parse_lines(k, name, (struct rn_token){ buf, (size_t)len }, err);
	rn_text_add(err, name);
	rn_text_add(err, ": ");
	rn_text_add(err, len == -EFBIG ? "longer than 16384 bytes" : strerror((int)-len));
	return (int)len;
}

int rn_pcie_parse(struct rn_pcie_knobs *k, const char *text, char *err, size_t err_len)
{
	struct rn_pcie_knobs read = *k;
	struct rn_text t;
	int rc;

	rn_text_init(&t, err, err_len);
	if (text[0] == '@')
		rc = parse_file(&read, text + 1, &t);
	else
		rc = rn_knobs_parse_words(&read, (struct rn_token){ text, strlen(text) },
					  err, err_len);
	if (rc == 0)
		rc = rn_pcie_check(&read, err, err_len);
	if (rc == 0)
		*k = read;
	return rc;
}
