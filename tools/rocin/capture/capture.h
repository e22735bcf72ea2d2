/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture.h - the devices from which `rocin capture' gets packets, filters for packets,
 * and the files to which packets are written.
 */
#ifndef RN_CAPTURE_H
#define RN_CAPTURE_H

#include <stdio.h>

#include "transport/io/capture/capture_blocks.h"
#include "transport/io/capture/pcapng.h"
#include "transport/io/rocind/rocind_client.h"

/* ------------------------------------------------------ sources of captured packets */
/* The devices that are captured. The packets in their rings are merged into one stream,
 * in the order of their times.
 */

enum {
	/* maximum number of packets that are read in advance from a ring */
	RN_CAPTURE_AHEAD = 128,
};

/* How long (in ns) a packet from one device is held back, because an older packet from
 * another device may still be read.
 */
#define RN_CAPTURE_HOLD 10000000u

TAILQ_HEAD(rn_capture_queue, rn_capture_packet);

struct rn_capture_source {
	struct rn_capture_source *next;
	/* Ring and names of the device. The descriptors in @tap are closed: the ring has
	 * been mapped and the names have been read.
	 */
	struct rn_rocind_tap tap;
	/* name of the program that has opened the device; may contain any bytes */
	char program[32];
	/* The device no longer exists, but its ring may still have packets. */
	bool has_ended;
	bool is_dry;	/* the ring was empty when it was last read */
	bool is_broken; /* the ring had invalid content and is not read any more */
	unsigned queued;
	struct rn_capture_queue queue; /* packets read from the ring, the oldest first */
	struct rn_capture_reader reader;
	/* For rn_capture_file_write(): number of the file in which this device was
	 * described last, and number of its interface in that file.
	 */
	uint32_t file, interface;
};

struct rn_capture_sources {
	struct rn_capture_source *first;
	/* packet counts of devices that have been removed from the list */
	uint64_t packets, missed;
};

/* Adds a device whose packets are to be read. Takes over the descriptors in @tap; they
 * are closed in any case. Returns 0, or -errno if the device cannot be captured.
 */
int rn_capture_sources_add(struct rn_capture_sources *all,
			   const struct rn_rocind_tap *tap);

/* Marks the device @id, or all devices, as no longer existing. Packets that are left in
 * their rings are still read.
 */
void rn_capture_sources_end(struct rn_capture_sources *all, uint64_t id);
void rn_capture_sources_end_all(struct rn_capture_sources *all);

/* Function that is called for each packet, and with @packet NULL after the last packet of
 * a device that no longer exists. Returns 0, or another value to stop the reading.
 */
typedef int (*rn_capture_on_packet)(void *ctx, struct rn_capture_source *source,
				    const struct rn_capture_packet *packet);

/**
 * rn_capture_sources_read() - Pass on the packets that have been captured, ordered
 * by time
 * @now:	CLOCK_REALTIME in ns. Packets younger than RN_CAPTURE_HOLD are kept for
 *	the next call. UINT64_MAX: all packets are passed on
 *
 * Return: 0, or the value of @on_packet that stopped the reading.
 */
int rn_capture_sources_read(struct rn_capture_sources *all, uint64_t now,
			    rn_capture_on_packet on_packet, void *ctx);

/* Sets *@packets to the number of packets so far, and *@missed to the number of those
 * that were lost because a ring was full.
 */
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

/* Returns true if the packet passes the filter @f; if @f is NULL, every packet passes.
 * Bytes that the capture has cut off are not examined.
 */
bool rn_capture_filter_passes(const struct rn_capture_filter_code *f,
			      const struct rn_capture_packet *packet);

/* Frees a filter; NULL is ignored. */
void rn_capture_filter_free(struct rn_capture_filter_code *f);

/* ----------------------------------------------- files to which packets are written */
/* The destination of captured packets: a file, a pipe, or a series of files. */

struct rn_capture_file_cfg {
	const char *path; /* path of the file; "-": standard output */
	/* True: the file is a pcap file, which has no comments and no interface names.
	 * False: it is a pcapng file.
	 */
	bool classic;
	uint32_t snaplen; /* maximum bytes of a record; 0: no limit */
	/* size in bytes at which a file is full and the next one begins; 0: all packets
	 * go into one file
	 */
	uint64_t size;
	/* number of files that are kept: if there are more, the oldest is removed; 0: all
	 * are kept
	 */
	unsigned files;
};

struct rn_capture_file {
	struct rn_capture_file_cfg cfg;
	FILE *out;
	uint32_t number;     /* number of the current file, from 1 */
	uint32_t interfaces; /* number of interfaces described in the current file */
	uint64_t bytes;
	bool full;	  /* the file is full, so the next packet begins the next file */
	uint64_t packets; /* packets written, in all files together */
	struct rn_pcapng buf;
	void *pcap, *dumper; /* objects of libpcap that write a classic file */
};

/* Opens the first file. Returns 0, or -errno with an error text in @err. */
int rn_capture_file_open(struct rn_capture_file *f, const struct rn_capture_file_cfg *cfg,
			 char *err, size_t err_len);

/* Writes a packet. The function can be used as rn_capture_on_packet, with the file as
 * @ctx. Returns 0 or -errno.
 */
int rn_capture_file_write(void *file, struct rn_capture_source *source,
			  const struct rn_capture_packet *packet);

/* Flushes buffers, so that other processes see what was written. Returns 0 or -errno. */
int rn_capture_file_flush(struct rn_capture_file *f);

/* Closes the file. Returns 0, or -errno if something could not be written. */
int rn_capture_file_close(struct rn_capture_file *f);

#endif /* RN_CAPTURE_H */
