/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* frame.c - parses Ethernet frames, matches them with flow rules, and computes checksums.
 */
#include "frame.h"

#include <assert.h>
#include <string.h>

enum {
	MAC_LEN = 6,
	MACS_LEN = 2 * MAC_LEN,
	TYPE_LEN = 2,
	ETH_LEN = MACS_LEN + TYPE_LEN,
	TCI_LEN = 2,
	TAG_LEN = TCI_LEN + TYPE_LEN,
	TAGS_MAX = 2,
	IP4_LEN = 20,
	IP4_SUM_AT = 10,
	IP4_FRAGMENT = 0x3fff, /* mask of the MF flag and the fragment offset */
	IP6_LEN = 40,
	TCP_LEN = 20,
	TCP_SUM_AT = 16,
	UDP_LEN = 8,
	UDP_SUM_AT = 6,
	EXTENSIONS_MAX = 8,
	EXTENSION_UNIT = 8, /* unit of the length of an extension header, bytes */
	AH_UNIT = 4,
	PORTS_LEN = 4,

	TYPE_IP4 = 0x0800,
	TYPE_VLAN = 0x8100,
	TYPE_IP6 = 0x86dd,
	TYPE_QINQ = 0x88a8,

	NEXT_HOP_BY_HOP = 0,
	NEXT_TCP = 6,
	NEXT_UDP = 17,
	NEXT_ROUTING = 43,
	NEXT_FRAGMENT = 44,
	NEXT_AH = 51,
	NEXT_DESTINATION = 60,
};

static_assert(sizeof(struct rnp_flow_fields) == 6 + 6 + 2 + 2 + 8 + 4 + 32 + 4 + 3 + 4,
	      "fields are compared as bytes");

/* The rest of the frame, which has not been parsed yet. */
struct rest {
	const uint8_t *at;
	size_t len;
};

/* Returns the next @n bytes of the frame and skips them; NULL if there are fewer. */
static const uint8_t *pull(struct rest *r, size_t n)
{
	const uint8_t *at = r->at;

	if (r->len < n)
		return NULL;
	r->at += n;
	r->len -= n;
	return at;
}

static unsigned be16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static void parse_l4(struct rnp_frame_view *v, struct rest *r, unsigned proto)
{
	const uint8_t *p;

	if (proto != NEXT_TCP && proto != NEXT_UDP)
		return;
	p = pull(r, PORTS_LEN);
	if (!p)
		return;
	memcpy(v->field.src_port, p, 2);
	memcpy(v->field.dst_port, p + 2, 2);
	v->layers |= proto == NEXT_TCP ? RNP_LAYER_TCP : RNP_LAYER_UDP;
}

static void parse_ip4(struct rnp_frame_view *v, struct rest *r)
{
	struct rnp_flow_fields *f = &v->field;
	const uint8_t *p = pull(r, IP4_LEN);
	unsigned words, fragment;

	if (!p || p[0] >> 4 != 4 || (p[0] & 0xf) < IP4_LEN / 4)
		return;
	words = p[0] & 0xf;
	fragment = be16(p + 6);
	f->ip4_tos[0] = p[1];
	if (fragment & 0x4000)
		f->ip4_flags[0] |= RNP_IP4_DONT_FRAG;
	if (fragment & 0x2000)
		f->ip4_flags[0] |= RNP_IP4_MORE_FRAG;
	f->ip4_ttl[0] = p[8];
	f->ip4_proto[0] = p[9];
	memcpy(f->ip4_src, p + 12, 4);
	memcpy(f->ip4_dst, p + 16, 4);
	v->layers |= RNP_LAYER_IP4;
	if (fragment & 0x3fff)
		v->layers |= RNP_LAYER_FRAGMENT;
	if (!(fragment & 0x1fff) && pull(r, (size_t)words * 4 - IP4_LEN))
		parse_l4(v, r, f->ip4_proto[0]);
}

/* Skips one IPv6 extension header, of type *@next. Returns false if *@next is no
 * extension header, or if nothing behind the header can be parsed, because the header is
 * cut short or the frame is a later fragment.
 */
static bool skip_extension(struct rnp_frame_view *v, struct rest *r, unsigned *next)
{
	const uint8_t *p;
	size_t len;

	switch (*next) {
	case NEXT_HOP_BY_HOP:
	case NEXT_ROUTING:
	case NEXT_DESTINATION:
	case NEXT_FRAGMENT:
	case NEXT_AH:
		break;
	default:
		return false;
	}
	p = pull(r, EXTENSION_UNIT);
	if (p && *next == NEXT_FRAGMENT && be16(p + 2) & 0xfff9)
		v->layers |= RNP_LAYER_FRAGMENT;
	if (!p || (*next == NEXT_FRAGMENT && be16(p + 2) & 0xfff8)) {
		r->len = 0; /* the header is cut short, or that of a later fragment */
		return false;
	}
	len = 0;
	if (*next == NEXT_AH)
		len = p[1] > 0 ? (size_t)(p[1] + 2) * AH_UNIT - EXTENSION_UNIT : 0;
	else if (*next != NEXT_FRAGMENT)
		len = (size_t)p[1] * EXTENSION_UNIT;
	if (!pull(r, len)) {
		r->len = 0;
		return false;
	}
	*next = p[0];
	return true;
}

static void parse_ip6(struct rnp_frame_view *v, struct rest *r)
{
	struct rnp_flow_fields *f = &v->field;
	const uint8_t *p = pull(r, IP6_LEN);
	unsigned next;

	if (!p || p[0] >> 4 != 6)
		return;
	f->ip6_class[0] = (uint8_t)(p[0] << 4 | p[1] >> 4);
	f->ip6_label[1] = p[1] & 0xf;
	memcpy(f->ip6_label + 2, p + 2, 2);
	f->ip6_next[0] = p[6];
	f->ip6_hops[0] = p[7];
	memcpy(f->ip6_src, p + 8, 16);
	memcpy(f->ip6_dst, p + 24, 16);
	v->layers |= RNP_LAYER_IP6;
	next = p[6];
	for (unsigned i = 0; i < EXTENSIONS_MAX; i++)
		if (!skip_extension(v, r, &next))
			break;
	parse_l4(v, r, next);
}

void rnp_frame_parse(struct rnp_frame_view *v, const uint8_t *frame, size_t len)
{
	struct rest r = { .at = frame, .len = len };
	const uint8_t *p = pull(&r, ETH_LEN);
	unsigned type;

	*v = (struct rnp_frame_view){ 0 };
	if (!p)
		return;
	v->layers = RNP_LAYER_ETH;
	memcpy(v->field.dst_mac, p, MAC_LEN);
	memcpy(v->field.src_mac, p + MAC_LEN, MAC_LEN);
	type = be16(p + MACS_LEN);
	for (unsigned i = 0; i < TAGS_MAX && (type == TYPE_VLAN || type == TYPE_QINQ);
	     i++) {
		p = pull(&r, TAG_LEN);
		if (!p)
			break;
		if (i == 0)
			memcpy(v->field.vlan_tag, p, TCI_LEN);
		v->layers |= RNP_LAYER_VLAN;
		type = be16(p + TCI_LEN);
	}
	v->field.ether_type[0] = (uint8_t)(type >> 8);
	v->field.ether_type[1] = (uint8_t)type;
	if (type == TYPE_IP4)
		parse_ip4(v, &r);
	else if (type == TYPE_IP6)
		parse_ip6(v, &r);
}

bool rnp_flow_matches(const struct rnp_flow_match *match,
		      const struct rnp_frame_view *view)
{
	const uint8_t *value = (const uint8_t *)&match->value;
	const uint8_t *mask = (const uint8_t *)&match->mask;
	const uint8_t *field = (const uint8_t *)&view->field;
	uint8_t differs = 0;

	if ((view->layers & match->layers) != match->layers)
		return false;
	for (size_t i = 0; i < sizeof(view->field); i++)
		differs |= (uint8_t)((field[i] ^ value[i]) & mask[i]);
	return !differs;
}

bool rnp_frame_is_multicast(const struct rnp_frame_view *view)
{
	return view->layers & RNP_LAYER_ETH && view->field.dst_mac[0] & 1;
}

/* ------------------------------------------------------------------------- checksums */
/* Offsets in bytes of headers from the start of a frame, and their lengths in bytes.
 * Length 0 means that the header is absent.
 */
struct parts {
	size_t ip4, ip4_len;	 /* IPv4 header */
	size_t addrs, addrs_len; /* source and destination address of IPv4 or IPv6 */
	size_t l4, l4_len;	 /* header and data of TCP or UDP */
	size_t sum;		 /* checksum field of TCP or UDP */
	uint8_t proto;
};

static void find_l4(struct parts *p, size_t at, size_t len, uint8_t proto)
{
	if (proto == NEXT_TCP && len >= TCP_LEN)
		p->sum = at + TCP_SUM_AT;
	else if (proto == NEXT_UDP && len >= UDP_LEN)
		p->sum = at + UDP_SUM_AT;
	else
		return;
	p->l4 = at;
	p->l4_len = len;
	p->proto = proto;
}

/* Finds the IPv4 header at @at. @left: bytes from @at to the end of the frame,
 * padding included.
 */
static void find_ip4(struct parts *p, const uint8_t *frame, size_t at, size_t left)
{
	const uint8_t *ip = frame + at;
	size_t header, total;

	if (left < IP4_LEN)
		return;
	header = (size_t)(ip[0] & 0xf) * 4;
	total = be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < IP4_LEN || header > total || total > left)
		return;
	p->ip4 = at;
	p->ip4_len = header;
	p->addrs = at + 12;
	p->addrs_len = 8;
	if (!(be16(ip + 6) & IP4_FRAGMENT))
		find_l4(p, at + header, total - header, ip[9]);
}

static void find_ip6(struct parts *p, const uint8_t *frame, size_t at, size_t left)
{
	const uint8_t *ip = frame + at;

	if (left < IP6_LEN || ip[0] >> 4 != 6 || be16(ip + 4) > left - IP6_LEN)
		return;
	p->addrs = at + 8;
	p->addrs_len = 32;
	find_l4(p, at + IP6_LEN, be16(ip + 4), ip[6]);
}

static struct parts find_parts(const uint8_t *frame, size_t len)
{
	struct parts p = { 0 };
	size_t at = ETH_LEN;
	unsigned type;

	if (len < ETH_LEN)
		return p;
	type = be16(frame + at - 2);
	for (unsigned i = 0; i < TAGS_MAX && (type == TYPE_VLAN || type == TYPE_QINQ);
	     i++) {
		if (len - at < TAG_LEN)
			return p;
		at += TAG_LEN;
		type = be16(frame + at - 2);
	}
	if (type == TYPE_IP4)
		find_ip4(&p, frame, at, len - at);
	else if (type == TYPE_IP6)
		find_ip6(&p, frame, at, len - at);
	return p;
}

static uint64_t sum_words(uint64_t sum, const uint8_t *bytes, size_t len)
{
	for (; len >= 2; bytes += 2, len -= 2)
		sum += be16(bytes);
	return len ? sum + ((unsigned)bytes[0] << 8) : sum;
}

static unsigned fold_sum(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (unsigned)sum ^ 0xffff;
}

/* Returns the checksum over the pseudo header and the whole TCP or UDP part of a frame,
 * including its checksum field. It is 0 if the field is right.
 */
static unsigned l4_sum(const struct parts *p, const uint8_t *frame)
{
	uint64_t sum =
		sum_words(0, frame + p->addrs, p->addrs_len) + p->proto + p->l4_len;

	return fold_sum(sum_words(sum, frame + p->l4, p->l4_len));
}

static void put_be16(uint8_t *at, unsigned n)
{
	at[0] = (uint8_t)(n >> 8);
	at[1] = (uint8_t)n;
}

void rnp_checksum_fill(uint8_t *frame, size_t len)
{
	struct parts p = find_parts(frame, len);
	unsigned sum;

	if (p.ip4_len) {
		put_be16(frame + p.ip4 + IP4_SUM_AT, 0);
		put_be16(frame + p.ip4 + IP4_SUM_AT,
			 fold_sum(sum_words(0, frame + p.ip4, p.ip4_len)));
	}
	if (!p.l4_len)
		return;
	put_be16(frame + p.sum, 0);
	sum = l4_sum(&p, frame);
	/* In UDP the value 0 means that there is no checksum. */
	put_be16(frame + p.sum, sum == 0 && p.proto == NEXT_UDP ? 0xffff : sum);
}

bool rnp_checksum_ok(const uint8_t *frame, size_t len)
{
	struct parts p = find_parts(frame, len);

	if (!p.ip4_len || !p.l4_len ||
	    fold_sum(sum_words(0, frame + p.ip4, p.ip4_len)) != 0)
		return false;
	return (p.proto == NEXT_UDP && be16(frame + p.sum) == 0) ||
	       l4_sum(&p, frame) == 0;
}
