/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* source.c - reads packets from the rings in shared memory into which devices write them,
 * and merges them into one stream; compiles and applies filters.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "rocin/net.h"
#include "rocin/stats.h"

/* ------------------------------------------------------ sources of captured packets */
static_assert((int)RN_CAPTURE_AHEAD > (int)RN_RX_BATCH, "diagnostics are within reach");

/* ---------------------------------------------------- addition and removal of sources */
static void read_program(struct rn_capture_source *s, int stats_fd)
{
	struct rn_stats_page page;

	if (stats_fd < 0 ||
	    pread(stats_fd, &page, sizeof(page), 0) != (ssize_t)sizeof(page))
		return;
	memcpy(s->program, page.comm, sizeof(s->program) - 1);
}

static int open_ring(struct rn_capture_source *s)
{
	size_t bytes = rn_capture_ring_bytes(s->tap.size);
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->tap.ring, 0);
	int rc;

	if (mem == MAP_FAILED)
		return -errno;
	rc = rn_capture_reader_init(&s->reader, mem, s->tap.size);
	if (rc)
		munmap(mem, bytes);
	return rc;
}

int rn_capture_sources_add(struct rn_capture_sources *all,
			   const struct rn_rocind_tap *tap)
{
	struct rn_capture_source **last = &all->first;
	struct rn_capture_source *s = calloc(1, sizeof(*s));
	int rc = -ENOMEM;

	if (s) {
		s->tap = *tap;
		TAILQ_INIT(&s->queue);
		read_program(s, tap->stats_fd);
		rc = open_ring(s);
	}
	rn_rocind_close_tap(tap);
	if (rc) {
		free(s);
		return rc;
	}
	while (*last)
		last = &(*last)->next;
	*last = s;
	return 0;
}

void rn_capture_sources_end(struct rn_capture_sources *all, uint64_t id)
{
	for (struct rn_capture_source *s = all->first; s; s = s->next)
		if (s->tap.id == id)
			s->has_ended = true;
}

void rn_capture_sources_end_all(struct rn_capture_sources *all)
{
	for (struct rn_capture_source *s = all->first; s; s = s->next)
		s->has_ended = true;
}

static void drop_first(struct rn_capture_source *s)
{
	struct rn_capture_packet *p = TAILQ_FIRST(&s->queue);

	TAILQ_REMOVE(&s->queue, p, link);
	free(p);
	s->queued--;
}

static void count_source(const struct rn_capture_source *s, uint64_t *packets,
			 uint64_t *missed)
{
	uint64_t p, m;

	rn_capture_counts(&s->reader, &p, &m);
	*packets += p;
	*missed += m;
}

static void free_source(struct rn_capture_sources *all, struct rn_capture_source *s)
{
	struct rn_capture_source **at = &all->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	count_source(s, &all->packets, &all->missed);
	while (s->queued)
		drop_first(s);
	munmap(s->reader.shared, rn_capture_ring_bytes(s->tap.size));
	free(s);
}

void rn_capture_sources_count(const struct rn_capture_sources *all, uint64_t *packets,
			      uint64_t *missed)
{
	*packets = all->packets;
	*missed = all->missed;
	for (const struct rn_capture_source *s = all->first; s; s = s->next)
		count_source(s, packets, missed);
}

void rn_capture_sources_free(struct rn_capture_sources *all)
{
	while (all->first)
		free_source(all, all->first);
}

/* ---------------------------------------------------------------- reading the rings */
static void take_diagnostic(struct rn_capture_source *s)
{
	struct rn_capture_packet *p;
	struct rn_diagnostic diagnostic;

	memcpy(&diagnostic, s->reader.body, sizeof(diagnostic));
	TAILQ_FOREACH_REVERSE(p, &s->queue, rn_capture_queue, link)
	{
		if (p->rec.number != s->reader.rec.number)
			continue;
		rn_capture_packet_diagnostic(p, &diagnostic);
		return;
	}
}

/* Moves a packet from the ring of @s to its queue. Returns 0, or -ENOMEM; then the packet
 * stays in the ring.
 */
static int take_packet(struct rn_capture_source *s)
{
	struct rn_capture_packet *p =
		rn_capture_packet_new(&s->reader.rec, s->reader.body);

	if (!p)
		return -ENOMEM;
	TAILQ_INSERT_TAIL(&s->queue, p, link);
	s->queued++;
	return 0;
}

static void read_ahead(struct rn_capture_source *s)
{
	while (s->queued < RN_CAPTURE_AHEAD && !s->is_broken) {
		int rc = rn_capture_peek(&s->reader);

		if (!rc && s->reader.rec.kind == RN_CAPTURE_PACKET)
			rc = take_packet(s);
		else if (!rc)
			take_diagnostic(s);
		s->is_dry = rc == -EAGAIN;
		s->is_broken = rc == -EPROTO;
		if (rc)
			break;
		rn_capture_pass(&s->reader);
	}
	if (s->is_broken)
		s->has_ended = s->is_dry = true;
}

/* Returns the source whose next packet is the oldest, or NULL if no source has a packet.
 */
static struct rn_capture_source *oldest(const struct rn_capture_sources *all)
{
	struct rn_capture_source *found = NULL;

	for (struct rn_capture_source *s = all->first; s; s = s->next)
		if (s->queued && (!found || TAILQ_FIRST(&s->queue)->rec.time <
						    TAILQ_FIRST(&found->queue)->rec.time))
			found = s;
	return found;
}

static int free_ended_sources(struct rn_capture_sources *all,
			      rn_capture_on_packet on_packet, void *ctx)
{
	struct rn_capture_source *next;

	for (struct rn_capture_source *s = all->first; s; s = next) {
		int rc;

		next = s->next;
		if (!s->has_ended || !s->is_dry || s->queued)
			continue;
		rc = on_packet(ctx, s, NULL);
		free_source(all, s);
		if (rc)
			return rc;
	}
	return 0;
}

int rn_capture_sources_read(struct rn_capture_sources *all, uint64_t now,
			    rn_capture_on_packet on_packet, void *ctx)
{
	uint64_t until = now == UINT64_MAX ? now : now - RN_CAPTURE_HOLD;
	struct rn_capture_source *s;

	for (s = all->first; s; s = s->next)
		read_ahead(s);
	while ((s = oldest(all)) && TAILQ_FIRST(&s->queue)->rec.time <= until) {
		int rc = on_packet(ctx, s, TAILQ_FIRST(&s->queue));

		if (rc)
			return rc;
		drop_first(s);
		if (s->queued <= RN_CAPTURE_AHEAD / 2)
			read_ahead(s);
	}
	return free_ended_sources(all, on_packet, ctx);
}

/* --------------------------------------------------------------------------- filters */
struct rn_capture_filter_code {
	struct bpf_program program;
};

static int compile(struct bpf_program *program, const char *text, char *err,
		   size_t err_len)
{
	pcap_t *pcap = pcap_open_dead(RN_CAPTURE_LINK_TYPE, 65535 + RN_CAPTURE_HDR_MAX);
	int rc = 0;

	if (!pcap) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	if (pcap_compile(pcap, program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		snprintf(err, err_len, "%s", pcap_geterr(pcap));
		rc = -EINVAL;
	}
	pcap_close(pcap);
	return rc;
}

struct rn_capture_filter_code *rn_capture_filter_new(const char *text, char *err,
						     size_t err_len)
{
	struct rn_capture_filter_code *f = calloc(1, sizeof(*f));
	int rc;

	if (!f) {
		snprintf(err, err_len, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	rc = compile(&f->program, text, err, err_len);
	if (!rc)
		return f;
	free(f);
	errno = -rc;
	return NULL;
}

bool rn_capture_filter_passes(const struct rn_capture_filter_code *f,
			      const struct rn_capture_packet *packet)
{
	const struct pcap_pkthdr hdr = { .caplen = packet->cap, .len = packet->len };

	return !f || pcap_offline_filter(&f->program, &hdr, packet->frame) != 0;
}

void rn_capture_filter_free(struct rn_capture_filter_code *f)
{
	if (!f)
		return;
	pcap_freecode(&f->program);
	free(f);
}
