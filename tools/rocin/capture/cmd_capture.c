/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_capture.c - `rocin capture`: writes the packets of running programs to a file, as
 * they are sent and received.
 */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	OPT_DURATION = 0x100,
	OPT_FILE_SIZE,
	OPT_FILES,
	OPT_FORMAT,
	OPT_BUFFER,
	OPT_QUIET,
	BUFFER_DEFAULT_KIB = 32 << 10,
	/* Intervals in ms at which the rings are read: BUSY_MS if the last reading has
	 * found packets, otherwise IDLE_MS. This process polls, because the devices do
	 * not wake it when they write packets.
	 */
	BUSY_MS = 1,
	IDLE_MS = 10,
	/* Returned when as many packets have been captured as the user has asked for. */
	DONE = 1,
};

struct capture_args {
	const char *path, *device, *filter;
	bool classic, is_quiet;
	uint64_t qpn, pid, snaplen, count, buffer_kib, file_size, files;
	double duration; /* duration of the capture in seconds; 0: no limit */
};

static const struct argp_option options[] = {
	{ "write", 'w', "FILE", 0, "Write to FILE; \"-\" is standard output", 0 },
	{ "device", 'd', "DEVICE", 0, "Capture this device alone, e.g. rocin0", 0 },
	{ "interface", 'i', "DEVICE", 0, "The same as --device; \"any\" is all devices",
	  0 },
	{ "pid", 'p', "PID", 0, "Capture this process alone", 0 },
	{ "qp", 'q', "N", 0,
	  "Capture packets to and from queue pair N alone, at either end", 0 },
	{ "filter", 'f', "EXPRESSION", 0,
	  "Capture packets that pass this filter alone, e.g. \"outbound and host "
	  "127.0.0.2\"; pcap-filter(7)",
	  0 },
	{ "count", 'c', "N", 0, "End after N packets", 0 },
	{ "duration", OPT_DURATION, "SECONDS", 0, "End after this time", 0 },
	{ "snaplen", 's', "BYTES", 0, "Keep at most so much of each packet", 0 },
	{ "format", OPT_FORMAT, "FORMAT", 0,
	  "pcapng (the default) or pcap, which has no comments", 0 },
	{ "file-size", OPT_FILE_SIZE, "KB", 0,
	  "Begin another file after so many 1000 bytes: FILE_00001, FILE_00002 ...", 0 },
	{ "files", OPT_FILES, "N", 0, "Keep the last N of these only", 0 },
	{ "buffer", OPT_BUFFER, "KIB", 0,
	  "Memory for packets on their way, for each program (default 32768)", 0 },
	{ "quiet", OPT_QUIET, NULL, 0, "Say nothing but what goes wrong", 0 },
	{ 0 },
};

static bool read_format(const char *text, bool *classic)
{
	*classic = strcmp(text, "pcap") == 0;
	return *classic || strcmp(text, "pcapng") == 0;
}

/* Parses an option with a value. Returns false if the value is wrong. */
static bool parse_value(int key, const char *arg, struct capture_args *args)
{
	switch (key) {
	case 'p':
		return rn_read_number(arg, 1, INT32_MAX, &args->pid);
	case 'q':
		return rn_read_number(arg, 1, 0xffffff, &args->qpn);
	case 'c':
		return rn_read_number(arg, 1, UINT64_MAX, &args->count);
	case 's':
		return rn_read_number(arg, 1, 65535, &args->snaplen);
	case OPT_FORMAT:
		return read_format(arg, &args->classic);
	case OPT_BUFFER:
		return rn_read_number(arg, RN_CAPTURE_SIZE_MIN >> 10,
				      RN_CAPTURE_SIZE_MAX >> 10, &args->buffer_kib);
	case OPT_DURATION:
		return rn_read_seconds(arg, 1e-9, 1e9, &args->duration);
	case OPT_FILE_SIZE:
		return rn_read_number(arg, 1, UINT64_MAX / 1000, &args->file_size);
	default: /* the option is OPT_FILES */
		return rn_read_number(arg, 1, UINT32_MAX, &args->files);
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct capture_args *args = state->input;

	switch (key) {
	case 'w':
		args->path = arg;
		return 0;
	case 'd':
	case 'i':
		args->device = key == 'i' && strcmp(arg, "any") == 0 ? NULL : arg;
		return 0;
	case 'f':
		args->filter = arg;
		return 0;
	case OPT_QUIET:
		args->is_quiet = true;
		return 0;
	case 'p':
	case 'q':
	case 'c':
	case 's':
	case OPT_FORMAT:
	case OPT_BUFFER:
	case OPT_DURATION:
	case OPT_FILE_SIZE:
	case OPT_FILES:
		if (!parse_value(key, arg, args))
			rn_bad_value(state, options, key, arg);
		return 0;
	case ARGP_KEY_END:
		if (args->files && !args->file_size)
			argp_error(state, "--files needs --file-size");
		if (!args->path && isatty(STDOUT_FILENO))
			argp_error(state, "where to? -w FILE, or | rocin dump -");
		if (args->file_size && (!args->path || strcmp(args->path, "-") == 0))
			argp_error(state, "--file-size needs -w FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Capture the packets of every program of this user and network namespace "
	       "that uses a Rocin device, of those that run and those to come, in both "
	       "directions, as they are on the wire.\vOne record for each RoCEv2 packet, "
	       "also where none goes through the kernel. Comments in a pcapng file say "
	       "what the device thought of a packet. Ends on Ctrl-C, or as told.",
};

/* ----------------------------------------- capturing, and the command's entry point */
struct capture {
	const struct capture_args *args;
	struct rn_rocind *rocind;
	struct rn_capture_sources sources;
	struct rn_capture_file file;
	/* filter that packets must pass; NULL: all packets pass */
	struct rn_capture_filter_code *filter;
	int signals;
	/* time at which the capture ends, of CLOCK_REALTIME in ns; 0: none */
	uint64_t end;
	bool is_over;
};

static uint64_t realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void take_events(struct capture *c)
{
	struct rn_rocind_event ev;

	while (!c->is_over && rn_rocind_event(c->rocind, &ev) == 0) {
		int rc = 0;

		if (ev.kind == RN_ROCIND_TAP_SOURCE)
			rc = rn_capture_sources_add(&c->sources, &ev.tap);
		else if (ev.kind == RN_ROCIND_TAP_END)
			rn_capture_sources_end(&c->sources, ev.tap.id);
		else if (ev.kind == RN_ROCIND_GONE)
			c->is_over = true;
		if (rc)
			rn_complain("process %d cannot be captured: %s", ev.tap.pid,
				    strerrordesc_np(-rc));
	}
}

static int on_packet(void *ctx, struct rn_capture_source *source,
		     const struct rn_capture_packet *packet)
{
	struct capture *c = ctx;
	int rc;

	if (packet && !rn_capture_filter_passes(c->filter, packet))
		return 0;
	rc = rn_capture_file_write(&c->file, source, packet);
	if (!rc && c->args->count && c->file.packets >= c->args->count)
		return DONE;
	return rc;
}

static int read_all(struct capture *c, uint64_t now)
{
	int rc = rn_capture_sources_read(&c->sources, now, on_packet, c);
	int flushed = rn_capture_file_flush(&c->file);

	return rc ? rc : flushed;
}

/* Captures until a signal, a limit or an error ends it. Returns 0, DONE, or -errno if the
 * file could not be written.
 */
static int capture_to_end(struct capture *c)
{
	struct pollfd pfd[] = {
		{ .fd = c->signals, .events = POLLIN },
		{ .fd = rn_rocind_fd(c->rocind), .events = POLLIN },
		/* The output, which may be a pipe: no events are requested, so poll()
		 * reports only POLLERR, when the reader of the pipe has closed it.
		 */
		{ .events = 0 }
	};

	take_events(c);
	while (!c->is_over) {
		uint64_t before = c->file.packets;
		int rc = read_all(c, realtime());

		if (rc)
			return rc;
		pfd[2].fd = fileno(c->file.out);
		poll(pfd, RN_ARRAY_SIZE(pfd),
		     c->file.packets > before ? BUSY_MS : IDLE_MS);
		take_events(c);
		c->is_over |= (pfd[0].revents & POLLIN) || (pfd[2].revents & POLLERR) ||
			      realtime() >= c->end;
	}
	rn_capture_sources_end_all(&c->sources);
	return read_all(c, UINT64_MAX);
}

/* Blocks the signals that end a capture, and returns a descriptor from which they can be
 * read. Ignores SIGPIPE, so that writing to a closed pipe fails.
 */
static int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static uint32_t ring_size(uint64_t kib)
{
	uint32_t size = RN_CAPTURE_SIZE_MIN;

	while (size < kib << 10 && size < RN_CAPTURE_SIZE_MAX)
		size <<= 1;
	return size;
}

static int begin_capture(struct capture *c, char *err, size_t err_len)
{
	const struct capture_args *args = c->args;
	const struct rn_rocind_capture what = { .ibdev = args->device,
						.pid = (int32_t)args->pid,
						.qpn = (uint32_t)args->qpn,
						.snaplen = (uint32_t)args->snaplen,
						.size = ring_size(args->buffer_kib) };
	const struct rn_capture_file_cfg file = { .path = args->path ? args->path : "-",
						  .classic = args->classic,
						  .snaplen = (uint32_t)args->snaplen,
						  .size = args->file_size * 1000,
						  .files = (unsigned)args->files };
	int rc;

	if (args->filter) {
		char why[PCAP_ERRBUF_SIZE];

		c->filter = rn_capture_filter_new(args->filter, why, sizeof(why));
		if (!c->filter)
			return rn_fail(err, err_len, -errno,
				       "\"%s\" is no filter: %s; pcap-filter(7)",
				       args->filter, why);
	}
	c->rocind = rn_rocind_connect(NULL, err, err_len);
	if (!c->rocind)
		return -errno;
	/* The capture is started before the file is opened, because a process that waits
	 * for the file may conclude from its header that packets are being captured.
	 */
	rc = rn_rocind_capture(c->rocind, &what, err, err_len);
	return rc ? rc : rn_capture_file_open(&c->file, &file, err, err_len);
}

/* Ends the capture after capture_to_end() has returned @rc, and prints how many packets
 * were captured and missed. Returns the exit status.
 */
static int finish(struct capture *c, int rc)
{
	uint64_t packets, missed;
	int closed;

	rn_capture_sources_count(&c->sources, &packets, &missed);
	closed = rn_capture_file_close(&c->file);
	if (!rc)
		rc = closed;
	if (!c->args->is_quiet)
		fprintf(stderr, "%" PRIu64 " packets captured, %" PRIu64 " missed\n",
			c->file.packets, missed);
	if (rc >= 0 || rc == -EPIPE) /* -EPIPE: the reader of the pipe has closed it */
		return 0;
	rn_complain("the capture cannot be written: %s", strerrordesc_np(-rc));
	return RN_EXIT_FAILURE;
}

int rn_cmd_capture(int argc, char **argv)
{
	struct capture_args args = { .buffer_kib = BUFFER_DEFAULT_KIB };
	struct capture c = { .args = &args, .end = UINT64_MAX };
	char err[512] = "";
	int status = RN_EXIT_FAILURE;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	c.signals = block_signals();
	if (args.duration > 0)
		c.end = realtime() + (uint64_t)(args.duration * 1e9);
	if (begin_capture(&c, err, sizeof(err))) {
		rn_complain("%s", err);
	} else {
		if (!args.is_quiet)
			fprintf(stderr, "capturing to %s\n", c.file.cfg.path);
		status = finish(&c, capture_to_end(&c));
	}
	rn_capture_sources_free(&c.sources);
	rn_capture_filter_free(c.filter);
	rn_rocind_close(c.rocind);
	close(c.signals);
	return status;
}
