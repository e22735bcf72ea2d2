/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump_source.c - packets out of pcap and pcapng files. */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>

#include "dump.h"
#include "dump_copies.h"
#include "dump_file.h"
#include "tools/rocin/common/cmd.h"

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

/* A capture that is read. */
struct reading {
	const struct rn_dump_source *source;
	const struct rn_dump_form *form;
	struct rn_dump_total *total;
	struct rn_watch *w;
	struct rn_dump_copies *copies; /* NULL: they are shown */
	struct rn_dump_owners *owners;
	uint64_t number; /* of packets so far */
	rn_ns start;
};

/* Of a packet that was shown when it left: only what its receiver thought is new. */
static void tell_arrival(struct reading *r, const struct rn_pcapng_found *found,
			 const struct rn_packet *p, uint64_t number)
{
	const struct rn_dump_arrival a = { .number = number,
					   .at = found->time - r->start,
					   .p = p,
					   .comment = found->comment };

	if (number && found->comment[0] && r->form->arrival)
		r->form->arrival(r->form->ctx, &a);
}

/* Return: false if no more are wanted. @kept: where its number is kept, or NULL. */
static bool tell(struct reading *r, const struct rn_pcapng_found *found,
		 const struct rn_packet *p, uint64_t *kept)
{
	const struct rn_gid *own = found->is_outbound ? &p->flow.src : &p->flow.dst;
	struct rn_watch_remark remark;
	struct rn_dump_packet d = { .p = p,
				    .remark = &remark,
				    .watch = r->w,
				    .comment = found->comment,
				    .interface = found->name,
				    .owner = found->description,
				    .local_qpn = found->queue,
				    .is_outbound = found->is_outbound,
				    .owners = r->owners };

	if (r->number++ == 0)
		r->start = found->time;
	d.number = r->number;
	d.at = found->time - r->start;
	rn_watch_packet(r->w, d.at, p, &remark);
	if (!is_wanted(r->source, &d))
		return true;
	if (kept)
		*kept = d.number;
	if (found->queue)
		d.shows_owner = rn_dump_owners_add(r->owners, own, found->queue,
						   found->name, found->description);
	r->total->packets++;
	add_findings(r->total, &remark);
	return r->form->packet(r->form->ctx, &d) && r->total->packets != r->source->count;
}

/* Return: 0 at the end or if no more are wanted; -EIO, with a sentence. */
static int read_packets(struct reading *r, struct rn_dump_file *file)
{
	struct rn_pcapng_found found;
	int rc;

	while ((rc = rn_dump_file_next(file, &found)) == 1) {
		int skip = link_header(found.link_type, found.data, found.cap);
		uint64_t *kept = NULL;
		const uint8_t *ip;
		struct rn_packet p;
		bool is_copy;
		uint32_t len;

		if (skip < 0) {
			r->total->no_link++;
			r->total->link_type = found.link_type;
		}
		if (skip < 0 || (uint32_t)skip >= found.cap)
			continue;
		ip = found.data + skip;
		len = found.cap - (uint32_t)skip;
		is_copy = found.link_type == DLT_LINUX_SLL && r->copies &&
			  rn_dump_is_copy(r->copies, found.data, ip, len, &kept);
		if (!rn_packet_parse(&p, ip, len)) {
			r->total->skipped[rn_packet_skipped(ip, len)] += !is_copy;
			r->total->other[rn_dump_other(ip, len)]++;
			continue;
		}
		r->total->roce++;
		if (is_copy)
			tell_arrival(r, &found, &p, *kept);
		else if (!tell(r, &found, &p, kept))
			return 0;
	}
	return rc;
}

/* Return: 0 or -ENOMEM. */
static int begin(struct reading *r)
{
	r->w = rn_watch_open(r->source->is_strict);
	r->owners = rn_dump_owners_new();
	r->copies = r->source->has_copies ? NULL : rn_dump_copies_new();
	if (r->w && r->owners)
		return 0;
	rn_complain("%s", "out of memory");
	return -ENOMEM;
}

int rn_dump_read(const struct rn_dump_source *source, const struct rn_dump_form *form,
		 struct rn_dump_total *total)
{
	struct reading r = { .source = source, .form = form, .total = total };
	struct rn_dump_file *file = rn_dump_file_open(source->file);
	int rc, end = 0;

	*total = (struct rn_dump_total){ 0 };
	if (!file)
		return -EINVAL;
	rc = begin(&r);
	if (!rc) {
		rc = read_packets(&r, file);
		end = form->end ? form->end(form->ctx, r.w) : 0;
	}
	rn_dump_copies_free(r.copies);
	rn_dump_owners_free(r.owners);
	if (r.w)
		rn_watch_close(r.w);
	rn_dump_file_close(file);
	return rc ? rc : end;
}
