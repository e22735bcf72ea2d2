/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.h - sources of captured packets, filters, and the files that they are written
 * to.
 */
#ifndef RN_CAPTURE_H
#define RN_CAPTURE_H

#include <stdio.h>

#include "transport/io/capture/capture_blocks.h"
#include "transport/io/capture/pcapng.h"
#include "transport/io/rocind/rocind_client.h"

/* --------------------------------------------------------------------------- sources */
/* The captured devices: their rings, merged into one stream in the order of time. */

enum {
	RN_CAPTURE_AHEAD = 128, /* packets read from a ring in advance */
};

/* How long a packet is held back in case a packet of another device is older. */
#define RN_CAPTURE_HOLD 10000000u /* in ns */

TAILQ_HEAD(rn_capture_queue, rn_capture_packet);

struct rn_capture_source {
	struct rn_capture_source *next;
	struct rn_rocind_tap tap; /* its descriptors are closed */
	char program[32];	  /* name of the program; may contain any bytes */
	/* The device is gone; its ring may still hold packets. */
	bool has_ended;
	bool is_dry;	/* its ring was empty at the last look */
	bool is_broken; /* its ring has invalid content, so it is not read any more */
	unsigned queued;
	struct rn_capture_queue queue; /* packets read from the ring, the oldest first */
	struct rn_capture_reader reader;
	/* Fields of the writer: the file in which this source was last described, and the
	 * number of its interface there.
	 */
	uint32_t file, interface;
};

struct rn_capture_sources {
	struct rn_capture_source *first;
	uint64_t packets, missed; /* of sources that were freed */
};

/* Adds a device; takes over the descriptors of @tap. Returns 0, or -errno, and then the
 * device is not captured.
 */
int rn_capture_sources_add(struct rn_capture_sources *all,
			   const struct rn_rocind_tap *tap);

/* A device is gone; the packets left in its ring are still read. */
void rn_capture_sources_end(struct rn_capture_sources *all, uint64_t id);
void rn_capture_sources_end_all(struct rn_capture_sources *all);

/* Called for each packet, and with @packet NULL when a device is gone and all its packets
 * have been handed over. A value other than 0 stops.
 */
typedef int (*rn_capture_on_packet)(void *ctx, struct rn_capture_source *source,
				    const struct rn_capture_packet *packet);

/**
 * rn_capture_sources_read() - Hand over the packets that are there, in the order of time
 * @now:	CLOCK_REALTIME in ns; packets younger than RN_CAPTURE_HOLD stay.
 *	UINT64_MAX: all packets
 *
 * Return: 0, or what @on_packet returned.
 */
int rn_capture_sources_read(struct rn_capture_sources *all, uint64_t now,
			    rn_capture_on_packet on_packet, void *ctx);

/* The number of packets so far, and of those that did not fit into a ring. */
void rn_capture_sources_count(const struct rn_capture_sources *all, uint64_t *packets,
			      uint64_t *missed);

void rn_capture_sources_free(struct rn_capture_sources *all);

/* --------------------------------------------------------------------------- filters */
/* Filters for captured packets, in the language of pcap-filter(7).
 *
 * Threads: a filter belongs to one thread. rn_capture_filter_new() may be called by one
 * thread at a time, because libpcap's parser has global state.
 */

struct rn_capture_filter_code;

/**
 * rn_capture_filter_new() - Compile a filter expression
 * @text:	Such as "host 127.0.0.2 and outbound"; empty: every packet passes
 * @err:	Out on failure: the message of libpcap, without a newline
 *
 * Return: the filter, or NULL with errno EINVAL (wrong expression) or ENOMEM.
 */
struct rn_capture_filter_code *rn_capture_filter_new(const char *text, char *err,
						     size_t err_len);

/* Does the packet pass? NULL is a filter that every packet passes. Bytes that were cut
 * off are not examined.
 */
bool rn_capture_filter_passes(const struct rn_capture_filter_code *f,
			      const struct rn_capture_packet *packet);

/* Frees a filter; NULL is ignored. */
void rn_capture_filter_free(struct rn_capture_filter_code *f);

/* ----------------------------------------------------------------------------- files */
/* The destination of captured packets: a file, a pipe, or a series of files. */

struct rn_capture_file_cfg {
	const char *path; /* path of the file; "-": standard output */
	bool classic;	  /* pcap instead of pcapng: without comments and interfaces */
	uint32_t snaplen; /* maximum bytes of a record; 0: no limit */
	uint64_t size;	  /* bytes after which the next file begins; 0: one file */
	unsigned files;	  /* number of files that are kept; 0: all */
};

struct rn_capture_file {
	struct rn_capture_file_cfg cfg;
	FILE *out;
	uint32_t number;     /* number of the current file, from 1 */
	uint32_t interfaces; /* interfaces described in the current file */
	uint64_t bytes;
	uint64_t packets; /* packets written, in all files together */
	struct rn_pcapng buf;
	void *pcap, *dumper; /* objects of libpcap for a classic file */
};

/* Returns 0, or -errno with a sentence in @err. */
int rn_capture_file_open(struct rn_capture_file *f, const struct rn_capture_file_cfg *cfg,
			 char *err, size_t err_len);

/* Writes a packet; for use as rn_capture_on_packet, with the file as @ctx. Returns 0 or
 * -errno.
 */
int rn_capture_file_write(void *file, struct rn_capture_source *source,
			  const struct rn_capture_packet *packet);

/* Flushes buffers, so that other processes see what was written. Returns 0 or -errno. */
int rn_capture_file_flush(struct rn_capture_file *f);

/* Returns 0, or -errno if something could not be written. */
int rn_capture_file_close(struct rn_capture_file *f);

#endif /* RN_CAPTURE_H */
