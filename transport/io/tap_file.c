/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap_file.c - a capture file: its name, its lock, and libpcap at arm's length.
 *
 * libpcap writes classic files, pcapng.h the others, to a stdio stream; ours ends in a
 * write() of our own, so that a fork child, which inherits the buffer, does not write it
 * a second time at its exit.
 */
#include "tap_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "free_name.h"
#include "pcapng.h"
#include "sentence.h"

enum {
	SNAPLEN = 65535,
	LINK_TYPE_RAW = 101, /* in files; DLT_RAW is another number */
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
	struct rn_pcapng ng;   /* the block that is being made, if is_ng */
	bool is_ng;
	uint64_t packets, missed,
		told; /* missed: no memory; told: of them, in the file */
	FILE *stream;
	int fd;
	pid_t pid;
	char path[RN_FREE_NAME_MAX];
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

/* Return: was it made? A full disk shortens the capture, nothing else. */
static bool put_blocks(struct rn_tap_file *f)
{
	bool is_made = !f->ng.failed;

	if (f->ng.len)
		(void)fwrite(f->ng.data, 1, f->ng.len, f->stream);
	rn_pcapng_clear(&f->ng);
	return is_made;
}

static int start_ng(struct rn_tap_file *f)
{
	char text[64];

	snprintf(text, sizeof(text), "%.32s, process %d", program_invocation_short_name,
		 (int)f->pid);
	rn_pcapng_section(&f->ng, NULL, NULL, "rocin");
	rn_pcapng_interface(&f->ng, LINK_TYPE_RAW, "rocin", text, SNAPLEN);
	return put_blocks(f) ? 0 : -ENOMEM;
}

static bool ends_in(const char *path, const char *end)
{
	size_t len = strlen(path), end_len = strlen(end);

	return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

static uint64_t realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void write_ng(struct rn_tap_file *f, const uint8_t *data, uint32_t len,
		     bool is_sent)
{
	rn_pcapng_packet(&f->ng,
			 &(struct rn_pcapng_packet){ .time = realtime(),
						     .len = len,
						     .cap = len,
						     .data = data,
						     .is_outbound = is_sent,
						     .missed = f->missed - f->told });
	f->packets++;
	if (put_blocks(f))
		f->told = f->missed;
	else
		f->missed++;
}

static int start_dump(struct rn_tap_file *f)
{
	const cookie_io_functions_t io = { .write = stream_write, .close = stream_close };

	f->stream = fopencookie(f, "w", io);
	if (!f->stream)
		return -ENOMEM;
	if (f->is_ng)
		return start_ng(f);
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
	rn_pcapng_free(&f->ng);
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
	f->is_ng = ends_in(path, ".pcapng");
	if (!f->is_ng && !load_libpcap(f)) {
		rc = rn_fail(
			err, err_len, -ENOENT,
			"a capture to %s needs libpcap (package libpcap0.8 or libpcap)",
			path);
	} else {
		f->fd = rn_free_name_open(f->path, sizeof(f->path), path);
		rc = f->fd < 0 ? f->fd : start_dump(f);
		if (rc == -ENAMETOOLONG)
			rn_fail(err, err_len, rc, "the capture file name is too long");
		else if (rc)
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
	if (f->is_ng) {
		rn_pcapng_statistics(&f->ng, 0, realtime(), f->packets, f->missed);
		(void)put_blocks(f);
		(void)fclose(f->stream);
	} else {
		f->api.dump_close(f->dumper); /* closes the stream and the descriptor */
	}
	f->stream = NULL;
	f->fd = -1;
	discard(f);
}

void rn_tap_file_write(struct rn_tap_file *f, const uint8_t *data, uint32_t len,
		       bool is_sent)
{
	struct pcap_pkthdr hdr = { .caplen = len, .len = len };
	struct timespec ts;

	if (f->is_ng) {
		write_ng(f, data, len, is_sent);
		return;
	}
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
