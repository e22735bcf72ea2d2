/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.h - what is captured, which of it is wanted, and where it goes. */
#ifndef RN_CAPTURE_H
#define RN_CAPTURE_H

#include <stdio.h>

#include "transport/io/capture/capture_blocks.h"
#include "transport/io/capture/pcapng.h"
#include "transport/io/rocind/rocind_client.h"

/* --------------------------------------------------------------------------- sources */
/* The devices that are captured: their rings, joined to one stream in
 * the order of time.
 */

enum {
	RN_CAPTURE_AHEAD = 128, /* packets taken out of a ring in advance */
};

/* How long a packet waits for an earlier one of another device. */
#define RN_CAPTURE_HOLD 10000000u /* ns */

TAILQ_HEAD(rn_capture_queue, rn_capture_packet);

struct rn_capture_source {
	struct rn_capture_source *next;
	struct rn_rocind_tap tap; /* its descriptors are closed */
	char program[32];	  /* any bytes */
	bool has_ended;		  /* the device has gone */
	bool is_dry;		  /* its ring was empty when it was last looked at */
	bool is_broken; /* nonsense in its ring: nothing of it is read any more */
	unsigned queued;
	struct rn_capture_queue queue; /* oldest first */
	struct rn_capture_reader reader;
	/* Of whoever writes: which file knows this interface, and by which number. */
	uint32_t file, interface;
};

struct rn_capture_sources {
	struct rn_capture_source *first;
	uint64_t packets, missed; /* of those that have gone */
};

/* A device comes: takes the descriptors of @tap. Return: 0 or -errno; it is not captured
 * then.
 */
int rn_capture_sources_add(struct rn_capture_sources *all,
			   const struct rn_rocind_tap *tap);

/* It goes; what it has left behind is still read. */
void rn_capture_sources_end(struct rn_capture_sources *all, uint64_t id);
void rn_capture_sources_end_all(struct rn_capture_sources *all);

/* Called for each packet, and with @packet NULL when a device and all its packets have
 * gone. A value other than 0 stops.
 */
typedef int (*rn_capture_on_packet)(void *ctx, struct rn_capture_source *source,
				    const struct rn_capture_packet *packet);

/**
 * rn_capture_sources_read() - Hand on what is there
 * @now:	CLOCK_REALTIME in ns; packets younger than RN_CAPTURE_HOLD stay.
 *		UINT64_MAX: all
 *
 * Return: 0, or what @on_packet returned.
 */
int rn_capture_sources_read(struct rn_capture_sources *all, uint64_t now,
			    rn_capture_on_packet on_packet, void *ctx);

/* Packets that there were and those that did not fit into a ring, up to now. */
void rn_capture_sources_count(const struct rn_capture_sources *all, uint64_t *packets,
			      uint64_t *missed);

void rn_capture_sources_free(struct rn_capture_sources *all);

/* --------------------------------------------------------------------------- filters */
/* Which captured packets are wanted, in the words of pcap-filter(7).
 *
 * Threads: a filter belongs to one; libpcap's parser has state of its own, so that
 * rn_capture_filter_new() is for one thread at a time.
 */

struct rn_capture_filter_code;

/**
 * rn_capture_filter_new() - Understand an expression
 * @text:	E.g. "host 127.0.0.2 and outbound"; empty: every packet
 * @err:	Out on failure: what libpcap says, without a newline
 *
 * Return: the filter, or NULL with errno: EINVAL (no expression), ENOMEM.
 */
struct rn_capture_filter_code *rn_capture_filter_new(const char *text, char *err,
						     size_t err_len);

/* NULL is a filter that every packet passes. What was cut off is not looked at. */
bool rn_capture_filter_passes(const struct rn_capture_filter_code *f,
			      const struct rn_capture_packet *packet);

/* NULL is ignored. */
void rn_capture_filter_free(struct rn_capture_filter_code *f);

/* ----------------------------------------------------------------------------- files */
/* Where captured packets go: a file, a pipe, or one file after the
 * other.
 */

struct rn_capture_file_cfg {
	const char *path; /* "-": standard output */
	bool classic;	  /* pcap instead of pcapng: no comments, no interfaces */
	uint32_t snaplen; /* bytes of a record at most; 0: all */
	uint64_t size;	  /* bytes, after which the next file begins; 0: one file */
	unsigned files;	  /* of them, how many are kept; 0: all */
};

struct rn_capture_file {
	struct rn_capture_file_cfg cfg;
	FILE *out;
	uint32_t number;     /* of the file, from 1 */
	uint32_t interfaces; /* that it knows */
	uint64_t bytes;
	uint64_t packets; /* in all files */
	struct rn_pcapng buf;
	void *pcap, *dumper; /* libpcap's, of a classic file */
};

/* Return: 0 or -errno with a sentence. */
int rn_capture_file_open(struct rn_capture_file *f, const struct rn_capture_file_cfg *cfg,
			 char *err, size_t err_len);

/* rn_capture_on_packet with the file as @ctx. Return: 0 or -errno of writing. */
int rn_capture_file_write(void *file, struct rn_capture_source *source,
			  const struct rn_capture_packet *packet);

/* Let others see what was written. Return: 0 or -errno. */
int rn_capture_file_flush(struct rn_capture_file *f);

/* Return: 0 or -errno of what could not be written. */
int rn_capture_file_close(struct rn_capture_file *f);

#endif /* RN_CAPTURE_H */
