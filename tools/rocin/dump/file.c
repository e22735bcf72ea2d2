/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file.c - reads a capture file packet by packet. */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "rocin/types.h"
#include "tools/rocin/common/cmd.h"

enum {
	/* first byte of a pcapng file; no pcap file begins with it */
	SECTION_BEGINS = 0x0a,
	/* Link type of raw IP packets in pcapng files. In libpcap, DLT_RAW has another
	 * value.
	 */
	LINKTYPE_RAW = 101,
};

#define NS_PER_S 1000000000
/* Time in seconds since 1970, in the year 2096. A packet with a later time counts as one
 * without a time, because sums of such times could overflow.
 */
#define SECONDS_MAX 4000000000

struct rn_dump_file {
	const char *path;
	FILE *in;
	pcap_t *pcap; /* reader of libpcap; NULL: the file is pcapng */
	struct rn_pcapng_reader reader;
	uint64_t at;  /* offset of the next block in the file */
	int64_t last; /* time of the last packet */
	uint8_t *block;
	uint32_t room;
};

/* ----------------------------------------------------------------------- pcap files */
/* First bytes of compressed files, and the programs that decompress them. */
static const struct {
	uint8_t first;
	const char *name, *reader;
} packers[] = {
	{ 0x1f, "gzip", "zcat" },
	{ 0x28, "zstd", "zstdcat" },
	{ 0x42, "bzip2", "bzcat" },
	{ 0xfd, "xz", "xzcat" },
};

static void explain(const struct rn_dump_file *f, int first, const char *err)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(packers); i++) {
		if (first != packers[i].first)
			continue;
		rn_complain("%s is no pcap or pcapng file; if it was packed by %s: %s %s "
			    "| rocin dump -",
			    f->path, packers[i].name, packers[i].reader, f->path);
		return;
	}
	if (first == EOF)
		rn_complain("%s is empty: not even the header of a capture is in it",
			    f->path);
	else if (strstr(err, "truncated"))
		rn_complain("%s: it breaks off in the middle of its header", f->path);
	else if (strstr(err, "unknown file format"))
		rn_complain("%s is no pcap or pcapng file", f->path);
	else
		rn_complain("%s: %s", f->path, err);
}

static int open_pcap(struct rn_dump_file *f, int first)
{
	char err[PCAP_ERRBUF_SIZE];

	/* libpcap now stores nanoseconds in tv_usec, even if the file has microseconds.
	 */
	f->pcap = pcap_fopen_offline_with_tstamp_precision(
		f->in, PCAP_TSTAMP_PRECISION_NANO, err);
	if (f->pcap)
		return 0;
	explain(f, first, err);
	return -EINVAL;
}

static int64_t time_of(const struct pcap_pkthdr *h)
{
	if (h->ts.tv_usec < 0 || h->ts.tv_usec >= NS_PER_S || h->ts.tv_sec < 0 ||
	    h->ts.tv_sec > SECONDS_MAX)
		return 0;
	return (int64_t)h->ts.tv_sec * NS_PER_S + h->ts.tv_usec;
}

static int next_of_pcap(struct rn_dump_file *f, struct rn_pcapng_found *found)
{
	struct pcap_pkthdr *h;
	const uint8_t *data;
	int rc = pcap_next_ex(f->pcap, &h, &data);

	if (rc == PCAP_ERROR) {
		rn_complain("%s: %s", f->path, pcap_geterr(f->pcap));
		return -EIO;
	}
	if (rc != 1)
		return 0;
	*found = (struct rn_pcapng_found){ .link_type = (uint16_t)pcap_datalink(f->pcap),
					   .time = time_of(h),
					   .len = h->len,
					   .cap = h->caplen,
					   .data = data,
					   .name = "",
					   .description = "" };
	return 1;
}

/* --------------------------------------------------------------------- pcapng files */
static int complain_of_block(const struct rn_dump_file *f, int rc)
{
	if (rc == -ENOMEM)
		rn_complain("%s: out of memory", f->path);
	else if (rc == -EPIPE)
		rn_complain("%s: it breaks off in the middle of a block, at byte %llu",
			    f->path, (unsigned long long)f->at);
	else if (rc == -EIO)
		rn_complain("%s: %s", f->path, strerror(errno));
	else
		rn_complain("%s: the pcapng block at byte %llu is damaged", f->path,
			    (unsigned long long)f->at);
	return -EIO;
}

static int make_block_room(struct rn_dump_file *f, uint32_t len)
{
	uint8_t *more;

	if (len <= f->room)
		return 0;
	more = realloc(f->block, len);
	if (!more)
		return -ENOMEM;
	f->block = more;
	f->room = len;
	return 0;
}

/* Reads the next block into f->block. Returns its length in bytes; 0 at the end of the
 * file; or -errno (-EPIPE: the file ends within the block).
 */
static int read_block(struct rn_dump_file *f)
{
	size_t got = fread(f->block, 1, RN_PCAPNG_HEAD, f->in);
	uint32_t len;
	int rc;

	if (got < RN_PCAPNG_HEAD)
		return ferror(f->in) ? -EIO : got ? -EPIPE : 0;
	len = rn_pcapng_block_len(&f->reader, f->block);
	rc = len ? make_block_room(f, len) : -EINVAL;
	if (rc)
		return rc;
	got = fread(f->block + RN_PCAPNG_HEAD, 1, len - RN_PCAPNG_HEAD, f->in);
	if (got < len - RN_PCAPNG_HEAD)
		return ferror(f->in) ? -EIO : -EPIPE;
	return (int)len;
}

static int next_of_pcapng(struct rn_dump_file *f, struct rn_pcapng_found *found)
{
	int len, rc;

	do {
		len = read_block(f);
		if (len <= 0)
			return len ? complain_of_block(f, len) : 0;
		rc = rn_pcapng_block(&f->reader, f->block, (uint32_t)len, found);
		if (rc < 0)
			return complain_of_block(f, rc);
		f->at += (uint64_t)len;
	} while (rc == 0);
	if (found->link_type == LINKTYPE_RAW)
		found->link_type = DLT_RAW;
	if (found->time < 0 || found->time > SECONDS_MAX * NS_PER_S)
		found->time = 0;
	/* A packet without a time gets the time of the packet before it. */
	if (!found->time)
		found->time = f->last;
	f->last = found->time;
	return 1;
}

/* -------------------------------------------------------------- files of both formats */
static int open_by_format(struct rn_dump_file *f)
{
	int first;

	f->in = strcmp(f->path, "-") == 0 ? stdin : fopen(f->path, "re");
	if (!f->in) {
		rn_complain("%s: %s", f->path, strerror(errno));
		return -errno;
	}
	errno = 0;
	first = getc(f->in);
	if (first == EOF && ferror(f->in)) {
		rn_complain("%s: %s", f->path, strerror(errno));
		return -EIO;
	}
	ungetc(first, f->in);
	if (first != SECTION_BEGINS)
		return open_pcap(f, first);
	return make_block_room(f, RN_PCAPNG_HEAD);
}

struct rn_dump_file *rn_dump_file_open(const char *path)
{
	struct rn_dump_file *f = calloc(1, sizeof(*f));

	if (!f) {
		rn_complain("out of memory");
		return NULL;
	}
	f->path = path;
	if (open_by_format(f) == 0)
		return f;
	rn_dump_file_close(f);
	return NULL;
}

void rn_dump_file_close(struct rn_dump_file *f)
{
	if (f->pcap)
		/* pcap_close() also closes the stream, unless the stream is standard
		 * input.
		 */
		pcap_close(f->pcap);
	else if (f->in && f->in != stdin)
		fclose(f->in);
	rn_pcapng_reader_free(&f->reader);
	free(f->block);
	free(f);
}

int rn_dump_file_next(struct rn_dump_file *f, struct rn_pcapng_found *found)
{
	return f->pcap ? next_of_pcap(f, found) : next_of_pcapng(f, found);
}
