/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_source.c - packets out of pcap and pcapng files. */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>

#include "cmd.h"
#include "dump.h"
#include "dump_copies.h"

#define NS_PER_S 1000000000
/* Stamps beyond this, some 127 years, are wrong, and their sums would not fit. */
#define SECONDS_MAX 4000000000

/* Bytes of the link header before the IP header; -1: this packet is not IP. */
static int link_header(int dlt, const uint8_t *p, uint32_t len)
{
	uint32_t at = 12;

	switch (dlt) {
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return 0;
	case DLT_NULL:
	case DLT_LOOP:
		return 4;
	case DLT_LINUX_SLL:
		return 16;
	case DLT_LINUX_SLL2:
		return 20;
	case DLT_EN10MB:
		/* 802.1Q and 802.1ad tags */
		while (at + 4 <= len && ((p[at] == 0x81 && p[at + 1] == 0x00) ||
					 (p[at] == 0x88 && p[at + 1] == 0xa8)))
			at += 4;
		return (int)at + 2;
	default:
		return -1;
	}
}

static rn_ns stamp(const struct pcap_pkthdr *h)
{
	rn_ns s = h->ts.tv_sec;

	if (s < 0 || s > SECONDS_MAX || h->ts.tv_usec < 0 || h->ts.tv_usec >= NS_PER_S)
		return 0;
	return s * NS_PER_S + h->ts.tv_usec;
}

static bool is_wanted(const struct rn_dump_source *source, const struct rn_dump_packet *d)
{
	const struct rn_watch_half *h;

	if (!source->has_qp || d->p->bth.dest_qpn == source->qp)
		return true;
	if (d->remark->half == RN_WATCH_NONE)
		return d->p->op->flags & RN_OP_DETH && d->p->deth.src_qpn == source->qp;
	h = rn_watch_half(d->watch, d->remark->half);
	return h->qpn == source->qp || (h->is_paired && h->peer_qpn == source->qp);
}

static void add_findings(struct rn_dump_total *total, const struct rn_watch_remark *r)
{
	for (unsigned i = 0; i < r->findings; i++) {
		if (r->finding[i].level == RN_WATCH_VIOLATION)
			total->violations++;
		else
			total->suspicions++;
	}
}

/* Returns what pcap_next_ex() does: 1 if no more are wanted, an error, or the end. */
static int read_packets(pcap_t *pcap, struct rn_watch *w, struct rn_dump_copies *copies,
			const struct rn_dump_source *source,
			const struct rn_dump_form *form, struct rn_dump_total *total)
{
	int dlt = pcap_datalink(pcap), rc;
	struct pcap_pkthdr *h;
	const uint8_t *data;
	uint64_t number = 0;
	rn_ns start = 0;

	while ((rc = pcap_next_ex(pcap, &h, &data)) == 1) {
		int skip = link_header(dlt, data, h->caplen);
		struct rn_watch_remark remark;
		struct rn_packet p;
		struct rn_dump_packet d = { .p = &p, .remark = &remark, .watch = w };

		if (skip < 0 || (uint32_t)skip >= h->caplen)
			continue;
		if (dlt == DLT_LINUX_SLL && copies &&
		    rn_dump_is_copy(copies, data, data + skip,
				    h->caplen - (uint32_t)skip))
			continue;
		if (!rn_packet_parse(&p, data + skip, h->caplen - (uint32_t)skip)) {
			total->skipped[rn_packet_skipped(data + skip,
							 h->caplen - (uint32_t)skip)]++;
			continue;
		}
		if (number++ == 0)
			start = stamp(h);
		d.number = number;
		d.at = stamp(h) - start;
		rn_watch_packet(w, d.at, &p, &remark);
		if (!is_wanted(source, &d))
			continue;
		total->packets++;
		add_findings(total, &remark);
		if (!form->packet(form->ctx, &d) || total->packets == source->count)
			return 1;
	}
	return rc;
}

static pcap_t *open_file(const char *file)
{
	char err[PCAP_ERRBUF_SIZE];
	/* Nanoseconds in tv_usec, whatever the file has. */
	pcap_t *pcap = pcap_open_offline_with_tstamp_precision(
		file, PCAP_TSTAMP_PRECISION_NANO, err);

	if (!pcap) {
		rn_complain("%s", err);
		return NULL;
	}
	if (link_header(pcap_datalink(pcap), (const uint8_t[16]){ 0 }, 16) < 0) {
		rn_complain("%s: link type %d is not one that carries IP here", file,
			    pcap_datalink(pcap));
		pcap_close(pcap);
		return NULL;
	}
	return pcap;
}

int rn_dump_read(const struct rn_dump_source *source, const struct rn_dump_form *form,
		 struct rn_dump_total *total)
{
	pcap_t *pcap = open_file(source->file);
	struct rn_dump_copies *copies;
	struct rn_watch *w;
	int rc = 0, end;

	*total = (struct rn_dump_total){ 0 };
	if (!pcap)
		return -EINVAL;
	w = rn_watch_open(source->is_strict);
	if (!w) {
		pcap_close(pcap);
		rn_complain("%s", "out of memory");
		return -ENOMEM;
	}
	copies = source->has_copies ? NULL : rn_dump_copies_new();
	if (read_packets(pcap, w, copies, source, form, total) == PCAP_ERROR) {
		rn_complain("%s: %s", source->file, pcap_geterr(pcap));
		rc = -EIO;
	}
	end = form->end ? form->end(form->ctx, w) : 0;
	rn_dump_copies_free(copies);
	rn_watch_close(w);
	pcap_close(pcap);
	return rc ? rc : end;
}
