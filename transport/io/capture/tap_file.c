/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap_file.c - a classic capture file: its name, its lock, and libpcap at arm's length.
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

#include "transport/io/host/free_name.h"
#include "transport/io/host/own_file.h"
#include "transport/io/host/sentence.h"

enum {
	SNAPLEN = 65535,
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
	FILE *stream; /* owns fd */
	struct rn_own_file own;
	int fd;
	pcap_dumper_t *dumper; /* owns stream */
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

static ssize_t stream_write(void *cookie, const char *buf, size_t len)
{
	struct rn_tap_file *f = cookie;

	rn_own_file_write(&f->own, buf, len);
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

	rn_own_file_init(&f->own, f->fd);
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
	if (!load_libpcap(f)) {
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
