/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap_file.c - a capture file: its name, its lock, and libpcap at arm's length.
 *
 * libpcap writes to a stdio stream; ours ends in a write() of our own, so that a fork
 * child, which inherits the buffer, does not write it a second time at its exit.
 */
#include "tap_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "sentence.h"

enum {
	SNAPLEN = 65535,
	NAME_TRIES = 64, /* captures of one process under one name */
};

struct pcap_api {
	__typeof__(&pcap_open_dead_with_tstamp_precision) open_dead;
	__typeof__(&pcap_dump_fopen) dump_fopen;
	__typeof__(&pcap_dump) dump;
	__typeof__(&pcap_dump_close) dump_close;
	__typeof__(&pcap_close) close;
};

struct rn_tap_file {
	struct pcap_api api;
	void *lib;
	pcap_t *pcap;
	pcap_dumper_t *dumper; /* owns stream */
	FILE *stream;
	int fd;
	pid_t pid;
	char path[RN_TAP_PATH_MAX];
};

/* ----------------------------------------------------------------- libpcap */
static bool find_symbols(struct rn_tap_file *f)
{
	const struct {
		const char *name;
		void *slot;
	} wanted[] = {
		{ "pcap_open_dead_with_tstamp_precision", &f->api.open_dead },
		{ "pcap_dump_fopen", &f->api.dump_fopen },
		{ "pcap_dump", &f->api.dump },
		{ "pcap_dump_close", &f->api.dump_close },
		{ "pcap_close", &f->api.close },
	};

	for (unsigned i = 0; i < RN_ARRAY_SIZE(wanted); i++) {
		void *sym = dlsym(f->lib, wanted[i].name);

		if (!sym)
			return false;
		memcpy(wanted[i].slot, &sym, sizeof(sym));
	}
	return true;
}

static bool load_libpcap(struct rn_tap_file *f)
{
	/* Debian's name, and everybody else's. */
	static const char *const names[] = { "libpcap.so.0.8", "libpcap.so.1",
					     "libpcap.so" };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(names) && !f->lib; i++)
		f->lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return f->lib && find_symbols(f);
}

/* -------------------------------------------------------------------- name */
/* @path with "%p" replaced; false if it does not fit. */
static bool expand(char *out, size_t out_len, const char *path)
{
	size_t n = 0;

	while (*path && n < out_len) {
		if (path[0] == '%' && path[1] == 'p') {
			n += (size_t)snprintf(out + n, out_len - n, "%d", (int)getpid());
			path += 2;
		} else {
			out[n++] = *path++;
		}
	}
	if (n >= out_len)
		return false;
	out[n] = '\0';
	return true;
}

/* Open and lock one name. -EWOULDBLOCK: another capture writes there. */
static int open_locked(const char *name)
{
	int low = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int fd, err = 0;

	if (low < 0)
		return -errno;
	fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || ftruncate(fd, 0) < 0)
		err = -errno;
	close(low);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

static int open_free_name(struct rn_tap_file *f)
{
	size_t base = strlen(f->path);
	int fd = open_locked(f->path);

	for (unsigned i = 0; fd == -EWOULDBLOCK && i < NAME_TRIES; i++) {
		char tail[32];
		int n = i == 0 ? snprintf(tail, sizeof(tail), ".%d", (int)getpid())
			       : snprintf(tail, sizeof(tail), ".%d.%u", (int)getpid(), i);

		if (base + (size_t)n >= sizeof(f->path))
			return -ENAMETOOLONG;
		memcpy(f->path + base, tail, (size_t)n + 1);
		fd = open_locked(f->path);
	}
	return fd;
}

/* ------------------------------------------------------------------ stream */
static ssize_t stream_write(void *cookie, const char *buf, size_t len)
{
	const struct rn_tap_file *f = cookie;

	for (size_t done = 0; done < len && getpid() == f->pid;) {
		ssize_t n = write(f->fd, buf + done, len - done);

		if (n < 0 && errno != EINTR)
			return 0;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)len;
}

static int stream_close(void *cookie)
{
	const struct rn_tap_file *f = cookie;

	return close(f->fd);
}

static int start_dump(struct rn_tap_file *f)
{
	const cookie_io_functions_t io = { .write = stream_write, .close = stream_close };

	f->stream = fopencookie(f, "w", io);
	if (!f->stream)
		return -ENOMEM;
	f->pcap = f->api.open_dead(DLT_RAW, SNAPLEN, PCAP_TSTAMP_PRECISION_NANO);
	f->dumper = f->pcap ? f->api.dump_fopen(f->pcap, f->stream) : NULL;
	return f->dumper ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------- public */
static void discard(struct rn_tap_file *f)
{
	if (f->stream)
		(void)fclose(f->stream);
	else if (f->fd >= 0)
		close(f->fd);
	if (f->pcap)
		f->api.close(f->pcap);
	if (f->lib)
		dlclose(f->lib);
	free(f);
}

struct rn_tap_file *rn_tap_file_open(const char *path, char *err, size_t err_len)
{
	struct rn_tap_file *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (!f) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for a capture");
		return NULL;
	}
	f->fd = -1;
	f->pid = getpid();
	if (!load_libpcap(f)) {
		rc = rn_fail(
			err, err_len, -ENOENT,
			"a capture to %s needs libpcap (package libpcap0.8 or libpcap)",
			path);
	} else if (!expand(f->path, sizeof(f->path), path)) {
		rc = rn_fail(err, err_len, -ENAMETOOLONG,
			     "the capture file name is too long");
	} else {
		f->fd = open_free_name(f);
		rc = f->fd < 0 ? f->fd : start_dump(f);
		if (rc)
			rn_fail(err, err_len, rc, "cannot write the capture file %s: %s",
				f->path, strerrordesc_np(-rc));
	}
	if (!rc)
		return f;
	discard(f);
	errno = -rc;
	return NULL;
}

void rn_tap_file_close(struct rn_tap_file *f)
{
	if (!f)
		return;
	f->api.dump_close(f->dumper); /* closes the stream and the descriptor */
	f->stream = NULL;
	f->fd = -1;
	discard(f);
}

void rn_tap_file_write(struct rn_tap_file *f, const uint8_t *data, uint32_t len)
{
	struct pcap_pkthdr hdr = { .caplen = len, .len = len };
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	hdr.ts.tv_sec = ts.tv_sec;
	hdr.ts.tv_usec = ts.tv_nsec; /* the file says that these are nanoseconds */
	f->api.dump((u_char *)f->dumper, &hdr, data);
}

void rn_tap_file_flush(struct rn_tap_file *f)
{
	(void)fflush(f->stream); /* a full disk shortens the capture, nothing else */
}

const char *rn_tap_file_path(const struct rn_tap_file *f)
{
	return f->path;
}
