/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_capture.c - see lab_capture.h */
#include "lab_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/rocin/common/cmd.h"
#include "transport/io/capture/pcapng.h"
#include "transport/io/host/sentence.h"

enum {
	SNAPLEN = 65535,
	BUFFER = 32 << 20,
	BLOCK_MS = 10, /* the kernel shows packets in blocks: how old one becomes */
	FLUSH_AT = 1 << 16,
	LAST_LOOKS = 50,
};

#define PORT "br0"

struct capture {
	pcap_t *pcap;
	int fd;
	struct rn_pcapng buf;
	uint64_t packets;
	int rc; /* of writing */
};

static void flush(struct capture *c)
{
	const uint8_t *at = c->buf.data;
	size_t left = c->buf.len;

	while (left && !c->rc) {
		ssize_t n = write(c->fd, at, left);

		if (n < 0 && errno != EINTR)
			c->rc = -errno;
		if (n < 0)
			continue;
		at += n;
		left -= (size_t)n;
	}
	if (c->buf.failed)
		c->rc = -ENOMEM;
	rn_pcapng_clear(&c->buf);
}

static void on_packet(u_char *ctx, const struct pcap_pkthdr *hdr, const u_char *bytes)
{
	struct capture *c = (struct capture *)(void *)ctx;
	/* With nanoseconds asked for, tv_usec has them. */
	const struct rn_pcapng_packet packet = {
		.time = (uint64_t)hdr->ts.tv_sec * 1000000000 + (uint64_t)hdr->ts.tv_usec,
		.len = hdr->len,
		.cap = hdr->caplen,
		.data = bytes,
	};

	rn_pcapng_packet(&c->buf, &packet);
	c->packets++;
	if (c->buf.len >= FLUSH_AT)
		flush(c);
}

static int open_port(struct capture *c, char *err, size_t err_len)
{
	char why[PCAP_ERRBUF_SIZE] = "no memory";

	c->pcap = pcap_create(PORT, why);
	if (!c->pcap)
		return rn_fail(err, err_len, -EIO, "the switch cannot be captured: %s",
			       why);
	pcap_set_snaplen(c->pcap, SNAPLEN);
	pcap_set_promisc(c->pcap, 1);
	pcap_set_timeout(c->pcap, BLOCK_MS);
	pcap_set_buffer_size(c->pcap, BUFFER);
	pcap_set_tstamp_precision(c->pcap, PCAP_TSTAMP_PRECISION_NANO);
	if (pcap_activate(c->pcap) < 0 || pcap_setnonblock(c->pcap, 1, why) < 0)
		return rn_fail(err, err_len, -EIO, "the switch cannot be captured: %s",
			       pcap_geterr(c->pcap));
	return 0;
}

static int open_file(struct capture *c, const char *path, char *err, size_t err_len)
{
	c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (c->fd < 0)
		return rn_fail(err, err_len, -errno, "%s cannot be written: %m", path);
	rn_pcapng_section(&c->buf, NULL, NULL, "rocin lab " ROCIN_VERSION);
	rn_pcapng_interface(&c->buf, DLT_EN10MB, "switch", "All hosts of the lab",
			    SNAPLEN);
	flush(c);
	return 0;
}

static int take_all(struct capture *c)
{
	int n, all = 0;

	while (!c->rc && (n = pcap_dispatch(c->pcap, -1, on_packet, (u_char *)c)) > 0)
		all += n;
	flush(c);
	return all;
}

/* Until SIGTERM, and then what the kernel has. */
_Noreturn static void write_packets(struct capture *c, int signals, bool quiet)
{
	struct pollfd p[] = { { .fd = signals, .events = POLLIN },
			      { .fd = pcap_get_selectable_fd(c->pcap),
				.events = POLLIN } };
	struct pcap_stat stat = { 0 };

	while (!c->rc && !(p[0].revents & POLLIN)) {
		poll(p, RN_ARRAY_SIZE(p), -1);
		take_all(c);
	}
	/* Who goes on sending does not keep us. */
	for (unsigned i = 0; i < LAST_LOOKS && poll(p + 1, 1, 3 * BLOCK_MS) > 0; i++)
		take_all(c);
	pcap_stats(c->pcap, &stat);
	if (c->rc)
		rn_complain("the capture cannot be written: %s", strerror(-c->rc));
	else if (!quiet)
		fprintf(stderr, "rocin lab: %llu packets captured, %u missed\n",
			(unsigned long long)c->packets, stat.ps_drop);
	_exit(c->rc ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Signals are to be blocked already. */
int rn_lab_capture_start(const char *path, bool quiet, pid_t *pid, char *err,
			 size_t err_len)
{
	struct capture c = { 0 };
	sigset_t term;
	int rc = open_port(&c, err, err_len);

	if (!rc)
		rc = open_file(&c, path, err, err_len);
	if (rc)
		return rc;
	*pid = fork();
	if (*pid == 0) {
		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		write_packets(&c, signalfd(-1, &term, SFD_CLOEXEC), quiet);
	}
	rc = *pid < 0 ? -errno : 0;
	pcap_close(c.pcap);
	close(c.fd);
	rn_pcapng_free(&c.buf);
	return rc ? rn_fail(err, err_len, rc, "the capture cannot be started: %m") : 0;
}

int rn_lab_capture_stop(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	return status ? -EIO : 0;
}
