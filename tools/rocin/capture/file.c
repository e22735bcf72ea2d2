/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file.c - writes captured packets into pcapng or pcap files, and starts a new file when
 * one has its maximum size.
 */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "transport/io/capture/capture_blocks.h"
#include "transport/io/host/log.h"

enum {
	NAME_MAX_LEN = 4096,
};

static int last_error(void)
{
	return errno ? -errno : -EIO;
}

/* ------------------------------------------------------------------- names of files */
/* Makes the name of file @number. If there is a series of files, the second one of
 * "a.pcapng" is "a_00002.pcapng".
 */
static int make_name(const struct rn_capture_file *f, uint32_t number, char *name,
		     size_t len)
{
	const char *path = f->cfg.path;
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *dot = strrchr(base, '.');
	int stem, n;

	if (f->cfg.size == 0)
		return snprintf(name, len, "%s", path) < (int)len ? 0 : -ENAMETOOLONG;
	stem = (int)(dot && dot != base ? dot - path : (ptrdiff_t)strlen(path));
	n = snprintf(name, len, "%.*s_%05" PRIu32 "%s", stem, path, number, path + stem);
	return n >= 0 && n < (int)len ? 0 : -ENAMETOOLONG;
}

/* ------------------------------------------------------- opening and closing a file */
static int write_buffer(struct rn_capture_file *f)
{
	size_t len = f->buf.len;

	if (f->buf.failed)
		return -ENOMEM;
	errno = 0;
	if (fwrite(f->buf.data, 1, len, f->out) != len)
		return last_error();
	f->bytes += len;
	rn_pcapng_clear(&f->buf);
	return 0;
}

static int begin_classic(struct rn_capture_file *f)
{
	f->pcap = pcap_open_dead_with_tstamp_precision(DLT_LINUX_SLL, RN_CAPTURE_SNAPLEN,
						       PCAP_TSTAMP_PRECISION_NANO);
	f->dumper = f->pcap ? pcap_dump_fopen(f->pcap, f->out) : NULL;
	return f->dumper ? 0 : -ENOMEM;
}

static int begin_pcapng(struct rn_capture_file *f)
{
	rn_capture_blocks_begin(&f->buf);
	return write_buffer(f);
}

static int open_file(struct rn_capture_file *f)
{
	char name[NAME_MAX_LEN];
	int rc = make_name(f, ++f->number, name, sizeof(name));

	if (rc)
		return rc;
	f->out = strcmp(name, "-") == 0 ? stdout : fopen(name, "we");
	if (!f->out)
		return -errno;
	f->bytes = 0;
	f->interfaces = 0;
	f->full = false;
	return f->cfg.classic ? begin_classic(f) : begin_pcapng(f);
}

static int close_file(struct rn_capture_file *f)
{
	int rc = 0;

	errno = 0;
	/* pcap_dump_close() reports no errors of writing the last bytes, so fflush() is
	 * called first.
	 */
	if (f->dumper && fflush(f->out) != 0)
		rc = last_error();
	if (f->dumper)
		pcap_dump_close(f->dumper);
	else if (f->out && fclose(f->out) != 0)
		rc = last_error();
	if (f->pcap)
		pcap_close(f->pcap);
	f->out = NULL;
	f->dumper = f->pcap = NULL;
	return rc;
}

static int next_file(struct rn_capture_file *f)
{
	char name[NAME_MAX_LEN];
	int rc = close_file(f);

	if (!rc && f->cfg.files && f->number >= f->cfg.files &&
	    make_name(f, f->number + 1 - f->cfg.files, name, sizeof(name)) == 0)
		/* failure is ignored, because another process may have removed the file
		 */
		(void)unlink(name);
	return rc ? rc : open_file(f);
}

int rn_capture_file_open(struct rn_capture_file *f, const struct rn_capture_file_cfg *cfg,
			 char *err, size_t err_len)
{
	int rc;

	*f = (struct rn_capture_file){ .cfg = *cfg };
	rc = open_file(f);
	if (!rc)
		rc = rn_capture_file_flush(f);
	if (!rc)
		return 0;
	rn_fail(err, err_len, rc, "the capture cannot be written to %s: %s", cfg->path,
		strerrordesc_np(-rc));
	rn_capture_file_close(f);
	return rc;
}

/* ------------------------------------------------------------------ writing packets */
static void describe(struct rn_capture_file *f, struct rn_capture_source *s)
{
	const struct rn_capture_origin origin = { .ibdev = s->tap.ibdev,
						  .ifname = s->tap.ifname,
						  .program = s->program,
						  .pid = s->tap.pid,
						  .slot = s->tap.slot };

	if (s->file == f->number)
		return;
	rn_capture_blocks_interface(&f->buf, &origin, f->cfg.snaplen);
	s->file = f->number;
	s->interface = f->interfaces++;
}

static void write_statistics(struct rn_capture_file *f, struct rn_capture_source *s)
{
	uint64_t packets, missed;

	rn_capture_counts(&s->reader, &packets, &missed);
	describe(f, s);
	rn_capture_blocks_statistics(&f->buf, s->interface, packets, missed);
}

static void write_packet(struct rn_capture_file *f, struct rn_capture_source *s,
			 const struct rn_capture_packet *p)
{
	describe(f, s);
	rn_capture_blocks_packet(&f->buf, s->interface, p, f->cfg.snaplen);
}

static int write_classic(struct rn_capture_file *f, const struct rn_capture_packet *p)
{
	struct pcap_pkthdr hdr = { .caplen = p->cap, .len = p->len };

	if (f->cfg.snaplen && f->cfg.snaplen < p->cap)
		hdr.caplen = f->cfg.snaplen;
	hdr.ts.tv_sec = (time_t)(p->rec.time / 1000000000);
	/* tv_usec has nanoseconds here, because the file header declares that resolution
	 */
	hdr.ts.tv_usec = (suseconds_t)(p->rec.time % 1000000000);
	errno = 0;
	pcap_dump(f->dumper, &hdr, p->frame);
	f->bytes += sizeof(uint32_t) * 4 + hdr.caplen;
	return ferror(f->out) ? last_error() : 0;
}

int rn_capture_file_write(void *file, struct rn_capture_source *s,
			  const struct rn_capture_packet *p)
{
	struct rn_capture_file *f = file;
	int rc = p && f->full ? next_file(f) : 0;

	if (rc)
		return rc;
	if (f->cfg.classic) {
		rc = p ? write_classic(f, p) : 0;
	} else {
		if (p)
			write_packet(f, s, p);
		else
			write_statistics(f, s);
		rc = write_buffer(f);
	}
	f->packets += p != NULL;
	if (p)
		f->full = f->cfg.size && f->bytes >= f->cfg.size;
	return rc;
}

int rn_capture_file_flush(struct rn_capture_file *f)
{
	errno = 0;
	return fflush(f->out) == 0 ? 0 : last_error();
}

int rn_capture_file_close(struct rn_capture_file *f)
{
	int rc = close_file(f);

	rn_pcapng_free(&f->buf);
	return rc;
}
