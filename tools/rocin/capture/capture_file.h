/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_file.h - where captured packets go: a file, a pipe, or one file after the
 * other.
 */
#ifndef RN_CAPTURE_FILE_H
#define RN_CAPTURE_FILE_H

#include <stdio.h>

#include "capture_source.h"
#include "transport/io/capture/pcapng.h"

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

#endif /* RN_CAPTURE_FILE_H */
