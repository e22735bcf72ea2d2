/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* source.c - reads the packets of a capture; finds packets that are in it twice, and the
 * owners of QPs.
 */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"
#include "rocin/hash.h"
#include "rocin/wire.h"
#include "tools/rocin/common/cmd.h"

/* ------------------------------------- packets captured by both sender and receiver */
enum {
	SLOTS = 1 << 16,
	/* packet type of outgoing packets in the header of Linux cooked mode */
	SENT_BY_US = 4,
	SENT_TO_US = 0,
	/* Two captures are taken for the same packet if this number of bytes at their
	 * beginning is equal, and TAIL bytes at their end.
	 */
	HEAD = 128,
	/* These bytes at the end are the ICRC, unless the capture has cut it off. */
	TAIL = 4,
};

/* An entry of a hash table of packets. It is used for all packets with the checksum @sum.
 * @left: number of those that their sender has captured, minus those that their receiver
 * has captured.
 */
struct slot {
	uint64_t sum;
	uint32_t left;
	/* number that the caller has stored for the last one of these packets */
	uint64_t number;
};

struct copies {
	struct slot slot[SLOTS];
};

/* Returns an empty table, or NULL if there is no memory. */
static struct copies *new_copies(void)
{
	return calloc(1, sizeof(struct copies));
}

static void free_copies(struct copies *c)
{
	free(c);
}

/* Returns a checksum of a packet. It leaves out the fields that routers change. */
static uint64_t sum_of(const uint8_t *p, uint32_t len)
{
	/* Those fields are before the addresses in the IP header; @skip is the offset of
	 * the addresses.
	 */
	uint32_t skip = p[0] >> 4 == 4 ? 12 : 8;
	uint64_t sum = RN_HASH_BEGIN;

	if (len <= skip)
		return sum;
	sum = rn_hash_bytes(sum, p + skip, (len < HEAD ? len : HEAD) - skip);
	return len > HEAD + TAIL ? rn_hash_bytes(sum, p + len - TAIL, TAIL) : sum;
}

/**
 * is_copy_of_sent() - Was this packet already captured by its sender?
 * @sll:	16-byte header of Linux cooked mode, which has the direction of the packet
 * @packet:	IP header and what follows
 * @len:	Bytes of @packet
 * @number:	Out: the variable in which the caller may store a number for a packet
 *		that its sender has captured (0 at first). For the copy, it is the same
 *		variable. NULL if the packet has no such variable
 *
 * Each packet of a sender matches one copy. If another packet has overwritten the entry
 * of the sender's packet, the function does not recognise the copy, so the copy is shown.
 */
static bool is_copy_of_sent(struct copies *c, const uint8_t *sll, const uint8_t *packet,
			    uint32_t len, uint64_t **number)
{
	uint64_t sum = sum_of(packet, len);
	struct slot *s = &c->slot[sum % SLOTS];

	*number = NULL;
	switch (rn_get_be16(sll)) {
	case SENT_BY_US:
		if (s->sum != sum)
			*s = (struct slot){ .sum = sum };
		s->left++;
		s->number = 0;
		*number = &s->number;
		return false;
	case SENT_TO_US:
		if (s->sum != sum || s->left == 0)
			return false;
		s->left--;
		*number = &s->number;
		return true;
	default:
		return false;
	}
}

/* -------------------------------------------------------------------- owners of QPs */
enum {
	TEXT_LEN = 176
};

struct owner {
	struct rn_gid gid;
	uint32_t qpn;
	char text[TEXT_LEN];
};

struct rn_dump_owners {
	void *tree; /* root of a tree that tsearch() manages */
};

static int compare(const void *left, const void *right)
{
	const struct owner *a = left, *b = right;
	int order = memcmp(&a->gid, &b->gid, sizeof(a->gid));

	return order ? order : (a->qpn > b->qpn) - (a->qpn < b->qpn);
}

/* Returns an empty table, or NULL if there is no memory. */
static struct rn_dump_owners *new_owners(void)
{
	return calloc(1, sizeof(struct rn_dump_owners));
}

static void free_owners(struct rn_dump_owners *o)
{
	if (o)
		tdestroy(o->tree, free);
	free(o);
}

/* Stores the owner of a QP: copies of the name and the description of the interface.
 * Returns true if the owner is new. Returns false if it was known, if there is no memory,
 * or if the interface has no description.
 */
static bool add_owner(struct rn_dump_owners *o, const struct rn_gid *gid, uint32_t qpn,
		      const char *interface, const char *description)
{
	struct owner key = { .gid = *gid, .qpn = qpn }, *own, **in_tree;

	if (!description[0])
		return false;
	snprintf(key.text, sizeof(key.text), "%s%s%s", interface,
		 interface[0] ? ", " : "", description);
	in_tree = tfind(&key, &o->tree, compare);
	if (in_tree) {
		/* The QP is in the tree already. If the texts differ, another program now
		 * has a QP with this QPN.
		 */
		if (strcmp((*in_tree)->text, key.text) == 0)
			return false;
		**in_tree = key;
		return true;
	}
	own = malloc(sizeof(*own));
	if (!own)
		return false;
	*own = key;
	if (tsearch(own, &o->tree, compare))
		return true;
	free(own);
	return false;
}

const char *rn_dump_owner(const struct rn_dump_owners *o, const struct rn_gid *gid,
			  uint32_t qpn)
{
	struct owner key = { .gid = *gid, .qpn = qpn }, **in_tree;

	in_tree = o ? tfind(&key, &o->tree, compare) : NULL;
	return in_tree ? (*in_tree)->text : NULL;
}

/* -------------------------------------------------------- packets other than RoCEv2 */
enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	PROTOCOL_ICMP = 1,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_ICMPV6 = 58,
};

static const char *const words[RN_DUMP_OTHERS] = {
	[RN_DUMP_TCP] = "of TCP",      [RN_DUMP_UDP] = "of UDP",
	[RN_DUMP_ICMP] = "of ICMP",    [RN_DUMP_IP] = "of other protocols of IP",
	[RN_DUMP_NO_IP] = "not of IP",
};

/* Returns the class of a packet that is not RoCEv2. @ip: the @len bytes behind the link
 * header.
 */
static enum rn_dump_other class_of(const uint8_t *ip, size_t len)
{
	uint8_t protocol;

	if (len >= IPV4_LEN && ip[0] >> 4 == 4)
		protocol = ip[9];
	else if (len >= IPV6_LEN && ip[0] >> 4 == 6)
		protocol = ip[6];
	else
		return RN_DUMP_NO_IP;
	switch (protocol) {
	case PROTOCOL_TCP:
		return RN_DUMP_TCP;
	case PROTOCOL_UDP:
		return RN_DUMP_UDP;
	case PROTOCOL_ICMP:
	case PROTOCOL_ICMPV6:
		return RN_DUMP_ICMP;
	default:
		return RN_DUMP_IP;
	}
}

void rn_dump_others_text(const uint64_t count[RN_DUMP_OTHERS],
			 char text[RN_DUMP_OTHERS_MAX])
{
	uint64_t all = 0;
	size_t at;

	for (unsigned i = 0; i < RN_DUMP_OTHERS; i++)
		all += count[i];
	if (all == 0) {
		snprintf(text, RN_DUMP_OTHERS_MAX, "it holds no packet at all");
		return;
	}
	at = (size_t)snprintf(text, RN_DUMP_OTHERS_MAX, "its %" PRIu64 " packet%s", all,
			      all == 1 ? " is" : "s are");
	for (unsigned i = 0; i < RN_DUMP_OTHERS && at < RN_DUMP_OTHERS_MAX; i++) {
		if (!count[i])
			continue;
		at += (size_t)snprintf(text + at, RN_DUMP_OTHERS_MAX - at,
				       "%s %" PRIu64 " %s", all == 0 ? "," : "", count[i],
				       words[i]);
		all = 0;
	}
}

/* -------------------------------------------------------------------- link headers */
/* The result of parsing a link header. */
struct link {
	uint32_t len; /* length of the header in bytes */
	bool is_ib;   /* true: an LRH follows; false: an IP header or a GRH follows */
	/* What follows the header is not known: the header is cut off, or its type is
	 * none that contains network packets.
	 */
	bool is_opaque;
};

enum {
	/* Length in bytes of the header of an ERF record (Extensible Record Format), of
	 * each extension header that may follow it, and of the padding before an Ethernet
	 * header.
	 */
	ERF_LEN = 16,
	ERF_EXTENSION_LEN = 8,
	ERF_ETHERNET_PAD = 2,
	/* Values of the type in an ERF record: Ethernet and InfiniBand packets. */
	ERF_ETHERNET = 2,
	ERF_INFINIBAND = 21,
	ERF_MORE = 0x80, /* flag in the type: an extension header follows */
};

/* Returns the length of an Ethernet header with its 802.1Q and 802.1ad tags. */
static uint32_t ethernet_len(const uint8_t *p, uint32_t len)
{
	uint32_t at = 12;

	while (at + 4 <= len && ((p[at] == 0x81 && p[at + 1] == 0x00) ||
				 (p[at] == 0x88 && p[at + 1] == 0xa8)))
		at += 4;
	return at + 2;
}

/* Parses the header of an ERF record, which DAG cards and ibdump write. */
static struct link parse_erf(const uint8_t *p, uint32_t len)
{
	struct link l = { .len = ERF_LEN };
	uint8_t type = len >= ERF_LEN ? p[8] : 0;
	bool more = type & ERF_MORE;

	while (more && l.len + ERF_EXTENSION_LEN <= len) {
		more = p[l.len] & ERF_MORE;
		l.len += ERF_EXTENSION_LEN;
	}
	type &= ERF_MORE - 1;
	l.is_ib = type == ERF_INFINIBAND;
	l.is_opaque = more || l.len > len || (!l.is_ib && type != ERF_ETHERNET);
	if (!l.is_ib && !l.is_opaque && l.len + ERF_ETHERNET_PAD <= len) {
		l.len += ERF_ETHERNET_PAD;
		l.len += ethernet_len(p + l.len, len - l.len);
	}
	return l;
}

/* ---------------------------------------------------------------- reading a capture */
/* Parses a link header. Returns false if the link type is not supported. */
static bool parse_link(int dlt, const uint8_t *p, uint32_t len, struct link *l)
{
	*l = (struct link){ 0 };
	switch (dlt) {
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return true;
	case DLT_NULL:
	case DLT_LOOP:
		l->len = 4;
		return true;
	case DLT_LINUX_SLL:
		l->len = 16;
		return true;
	case DLT_LINUX_SLL2:
		l->len = 20;
		return true;
	case DLT_EN10MB:
		l->len = ethernet_len(p, len);
		return true;
	case DLT_INFINIBAND:
		l->is_ib = true;
		return true;
	case DLT_ERF:
		*l = parse_erf(p, len);
		return true;
	default:
		return false;
	}
}

static bool is_wanted(const struct rn_dump_source *source, const struct rn_dump_packet *d)
{
	const struct rn_watch_half *h;

	if (!source->has_qp || d->p->bth.dest_qpn == source->qp)
		return true;
	if (d->verdict->half == RN_WATCH_NONE)
		return d->p->op->flags & RN_OP_DETH && d->p->deth.src_qpn == source->qp;
	h = rn_watch_half(d->watch, d->verdict->half);
	return h->qpn == source->qp || (h->is_paired && h->peer_qpn == source->qp);
}

static void add_findings(struct rn_dump_total *total, const struct rn_watch_verdict *r)
{
	for (unsigned i = 0; i < r->findings; i++) {
		if (r->finding[i].level == RN_WATCH_VIOLATION)
			total->violations++;
		else
			total->suspicions++;
	}
}

/* The state of rn_dump_read(). */
struct reading {
	const struct rn_dump_source *source;
	const struct rn_dump_form *form;
	struct rn_dump_total *total;
	struct rn_watch *w;
	/* packets that were captured by their sender; NULL: both captures of a packet are
	 * shown
	 */
	struct copies *copies;
	struct rn_dump_owners *owners;
	uint64_t number; /* number of packets so far */
	rn_ns start;
};

/* Reports the capture of a packet by its receiver. The packet itself was shown where its
 * sender captured it, so only the comment of the receiver is reported.
 */
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

/* Checks a packet and shows it. Returns false if no more packets are wanted. Stores the
 * number of the packet in *@kept, for the case that the file also has its capture by the
 * receiver. @kept may be NULL.
 */
static bool report_packet(struct reading *r, const struct rn_pcapng_found *found,
			  const struct rn_packet *p, uint64_t *kept)
{
	const struct rn_gid *own = found->is_outbound ? &p->flow.src : &p->flow.dst;
	struct rn_watch_verdict verdict;
	struct rn_dump_packet d = { .p = p,
				    .verdict = &verdict,
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
	rn_watch_packet(r->w, d.at, p, &verdict);
	if (!is_wanted(r->source, &d))
		return true;
	if (kept)
		*kept = d.number;
	if (found->queue)
		d.shows_owner = add_owner(r->owners, own, found->queue, found->name,
					  found->description);
	r->total->packets++;
	add_findings(r->total, &verdict);
	return r->form->packet(r->form->ctx, &d) && r->total->packets != r->source->count;
}

static bool parse_packet(struct rn_packet *p, const struct link *link, const uint8_t *at,
			 uint32_t len)
{
	return link->is_ib ? rn_packet_parse_ib(p, at, len) : rn_packet_parse(p, at, len);
}

/* Counts a packet that was not parsed. */
static void tell_other(struct rn_dump_total *total, const struct link *link,
		       const uint8_t *at, uint32_t len, bool is_copy)
{
	if (link->is_ib) {
		total->other[RN_DUMP_NO_IP]++;
		return;
	}
	total->skipped[rn_packet_skipped(at, len)] += !is_copy;
	total->other[class_of(at, len)]++;
}

/* Reads all packets of the file. Returns 0 at its end, or when no more packets are
 * wanted. Returns -EIO after an error message.
 */
static int read_packets(struct reading *r, struct rn_dump_file *file)
{
	struct rn_pcapng_found found;
	int rc;

	while ((rc = rn_dump_file_next(file, &found)) == 1) {
		uint64_t *kept = NULL;
		const uint8_t *ip;
		struct rn_packet p;
		struct link link;
		bool is_copy;
		uint32_t len;

		if (!parse_link(found.link_type, found.data, found.cap, &link)) {
			r->total->no_link++;
			r->total->link_type = found.link_type;
			continue;
		}
		if (link.is_opaque || link.len >= found.cap) {
			r->total->other[RN_DUMP_NO_IP]++;
			continue;
		}
		ip = found.data + link.len;
		len = found.cap - link.len;
		is_copy = found.link_type == DLT_LINUX_SLL && r->copies &&
			  is_copy_of_sent(r->copies, found.data, ip, len, &kept);
		if (!parse_packet(&p, &link, ip, len)) {
			tell_other(r->total, &link, ip, len, is_copy);
			continue;
		}
		r->total->roce++;
		if (is_copy)
			tell_arrival(r, &found, &p, *kept);
		else if (!report_packet(r, &found, &p, kept))
			return 0;
	}
	return rc;
}

/* Initialises the state. Returns 0 or -ENOMEM. */
static int begin_reading(struct reading *r)
{
	r->w = rn_watch_open(r->source->is_strict);
	r->owners = new_owners();
	r->copies = r->source->has_copies ? NULL : new_copies();
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
	rc = begin_reading(&r);
	if (!rc) {
		rc = read_packets(&r, file);
		end = form->end ? form->end(form->ctx, r.w) : 0;
	}
	free_copies(r.copies);
	free_owners(r.owners);
	if (r.w)
		rn_watch_close(r.w);
	rn_dump_file_close(file);
	return rc ? rc : end;
}
