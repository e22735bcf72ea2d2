/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tap.c - writes the capture file through libpcap, and is the layer that records every
 * packet; see tap.h.
 */
#include "tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "as_sent.h"
#include "pcapng.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"

enum {
	SNAPLEN = 65535,
	/* Bytes that are collected before a write. A packet with a full payload at a
	 * path MTU of 4096 takes a record of 4156 bytes, so there is one write for
	 * fifteen of them.
	 */
	BUFFER = 65536,
};

/* The functions of libpcap that are called. */
struct pcap_api {
	__typeof__(&pcap_open_dead_with_tstamp_precision) open_dead;
	__typeof__(&pcap_dump_fopen) dump_fopen;
	__typeof__(&pcap_dump) dump;
	__typeof__(&pcap_dump_close) dump_close;
	__typeof__(&pcap_close) close;
};

struct tap_file {
	struct pcap_api api;
	void *lib;
	pcap_t *pcap;
	FILE *stream; /* stream for libpcap, without a buffer of its own; owns @fd */
	struct rn_own_file own;
	int fd;
	pcap_dumper_t *dumper; /* writer of libpcap; owns @stream */
	char path[RN_FREE_NAME_MAX];
	size_t used; /* bytes in @buffer that have not been written */
	char buffer[BUFFER];
};

/* ------------------------------------------------------ loading of libpcap */
static bool find_symbols(struct tap_file *f)
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

static bool load_libpcap(struct tap_file *f)
{
	/* names of libpcap: on Debian, and elsewhere */
	static const char *const names[] = { "libpcap.so.0.8", "libpcap.so.1",
					     "libpcap.so" };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(names) && !f->lib; i++)
		f->lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return f->lib && find_symbols(f);
}

static void write_buffer(struct tap_file *f)
{
	rn_own_file_write(&f->own, f->buffer, f->used);
	f->used = 0;
}

static ssize_t stream_write(void *cookie, const char *buf, size_t len)
{
	struct tap_file *f = cookie;

	if (len > sizeof(f->buffer) - f->used)
		write_buffer(f);
	if (len > sizeof(f->buffer)) {
		rn_own_file_write(&f->own, buf, len);
	} else {
		memcpy(f->buffer + f->used, buf, len);
		f->used += len;
	}
	return (ssize_t)len;
}

static int stream_close(void *cookie)
{
	struct tap_file *f = cookie;

	write_buffer(f);
	return close(f->fd);
}

static int start_dump(struct tap_file *f)
{
	const cookie_io_functions_t io = { .write = stream_write, .close = stream_close };

	rn_own_file_init(&f->own, f->fd);
	f->stream = fopencookie(f, "w", io);
	if (!f->stream)
		return -ENOMEM;
	/* The stream gets no buffer of its own. At exit() libc writes out the buffers of
	 * streams without taking their locks, while another thread may be recording.
	 */
	(void)setvbuf(f->stream, NULL, _IONBF, 0);
	f->pcap = f->api.open_dead(DLT_RAW, SNAPLEN, PCAP_TSTAMP_PRECISION_NANO);
	f->dumper = f->pcap ? f->api.dump_fopen(f->pcap, f->stream) : NULL;
	return f->dumper ? 0 : -ENOMEM;
}

/* -------------------------------------------------------- the capture file */
static void free_file(struct tap_file *f)
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

/* Open the capture file. Arguments and errors are those of rn_tap_open(). */
static struct tap_file *open_capture_file(const char *path, char *err, size_t err_len)
{
	struct tap_file *f = calloc(1, sizeof(*f));
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
	free_file(f);
	errno = -rc;
	return NULL;
}

static void close_file(struct tap_file *f)
{
	if (!f)
		return;
	/* this call also closes the stream and the descriptor */
	f->api.dump_close(f->dumper);
	f->stream = NULL;
	f->fd = -1;
	free_file(f);
}

/* Write a record with the present time. @data: @len bytes, beginning with the IP header.
 */
static void write_record(struct tap_file *f, const uint8_t *data, uint32_t len)
{
	struct pcap_pkthdr hdr = { .caplen = len, .len = len };
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	hdr.ts.tv_sec = ts.tv_sec;
	/* nanoseconds, despite the name of the member: the file header says so */
	hdr.ts.tv_usec = ts.tv_nsec;
	f->api.dump((u_char *)f->dumper, &hdr, data);
}

/* --------------------------------------- the layer in front of the back end */
struct rn_tap {
	struct rn_net net;
	struct rn_net *inner;
	struct tap_file *file;
	rn_ns flush_due;
	uint8_t record[65536];
};

static void record_packet(struct rn_tap *t, const struct rn_flow *flow, uint16_t ip_id,
			  const uint8_t *packet, uint32_t len)
{
	size_t hdr = rn_frame_headers(t->record, flow, ip_id, packet, len);

	if (hdr + len > sizeof(t->record))
		return;
	memcpy(t->record + hdr, packet, len);
	write_record(t->file, t->record, (uint32_t)(hdr + len));
}

static void after_records(struct rn_tap *t)
{
	rn_ns now = rn_clock(CLOCK_MONOTONIC);

	if (t->flush_due == RN_NEVER)
		t->flush_due = now + RN_MSEC(1000);
	else if (now >= t->flush_due)
		rn_tap_flush(t);
}

/* Record the packets of @super from @first to @end - 1. */
static void record_super(struct rn_tap *t, const struct rn_super *super, uint32_t first,
			 uint32_t end, bool gso)
{
	struct rn_as_sent as;

	for (uint32_t i = first; i < end; i++) {
		rn_as_sent(&as, t->inner, super, gso, i);
		record_packet(t, super->flow, as.ip_id, as.packet, as.len);
	}
}

static int tap_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_tap *t = ctx;
	bool gso = t->inner->gso;
	uint32_t first = t->net.sent;
	int err = t->inner->ops->transmit(t->inner->ctx, super);

	t->net.gso = t->inner->gso;
	t->net.sent = err == -EAGAIN ? t->inner->sent : 0;
	t->net.is_alone = t->inner->is_alone;
	t->net.alone_at = t->inner->alone_at;
	if (err && err != -EAGAIN)
		return err;
	/* The peer may answer these packets before the rest of the super-packet is sent,
	 * so they are recorded now.
	 */
	record_super(t, super, first, err ? t->net.sent : super->count, gso);
	after_records(t);
	return err;
}

static int tap_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_tap *t = ctx;
	int n = t->inner->ops->receive(t->inner->ctx, rx);

	for (int i = 0; i < n; i++)
		record_packet(
			t, rx[i].flow,
			rn_frame_ip_id(rx[i].flow, rx[i].data, rx[i].len, rx[i].gro_idx),
			rx[i].data, rx[i].len);
	if (n > 0)
		after_records(t);
	return n;
}

static struct rn_tx_socket tap_tx_socket(void *ctx, const struct rn_flow *flow,
					 uint32_t sgid_index, uint32_t dest_slot)
{
	const struct rn_tap *t = ctx;

	return rn_net_tx_socket(t->inner, flow, sgid_index, dest_slot);
}

static const struct rn_net_ops tap_ops = {
	.transmit = tap_transmit,
	.tx_socket = tap_tx_socket,
	.receive = tap_receive,
};

struct rn_tap *rn_tap_open(const char *path, struct rn_net *inner, char *err,
			   size_t err_len)
{
	struct rn_tap *t = calloc(1, sizeof(*t));

	if (!t) {
		errno = -rn_fail(err, err_len, -ENOMEM, "no memory for a capture");
		return NULL;
	}
	t->file = open_capture_file(path, err, err_len);
	if (!t->file) {
		int saved = errno;

		free(t);
		errno = saved;
		return NULL;
	}
	t->net = (struct rn_net){ .ops = &tap_ops, .ctx = t, .gso = inner->gso };
	t->inner = inner;
	t->flush_due = RN_NEVER;
	return t;
}

void rn_tap_close(struct rn_tap *t)
{
	if (!t)
		return;
	close_file(t->file);
	free(t);
}

struct rn_net *rn_tap_net(struct rn_tap *t)
{
	return &t->net;
}

rn_ns rn_tap_flush_due(const struct rn_tap *t)
{
	return t->flush_due;
}

void rn_tap_flush(struct rn_tap *t)
{
	/* When the disk is full, the capture ends, without an error for the program. */
	write_buffer(t->file);
	t->flush_due = RN_NEVER;
}

const char *rn_tap_path(const struct rn_tap *t)
{
	return t->file->path;
}
