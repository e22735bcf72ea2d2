/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record_text.c - describes records as text; see record_text.h. */
#include "record_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/icrc.h"
#include "sim/scenario/describe.h"
#include "sim/scenario/packet.h"
#include "sim/scenario/scenario.h"

enum {
	BYTES_SHOWN = 16,
	PACKETS_SHOWN = 4,
};

struct out {
	char *text;
	size_t size, used;
};

static void add(struct out *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->text + o->used, o->size - o->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		o->used += (size_t)n;
	if (o->used >= o->size)
		o->used = o->size - 1;
}

static bool is_zero(const uint8_t *data, uint64_t len)
{
	while (len > 0 && data[len - 1] == 0)
		len--;
	return len == 0;
}

/* Called for each field of the record: appends it as text. Leaves out fields that are 0,
 * and the time, which is appended elsewhere.
 */
static void see(void *arg, const char *name, uint64_t value, const uint8_t *data)
{
	struct out *o = arg;

	if (value == 0 || (data && is_zero(data, value)) || !strcmp(name, "now"))
		return;
	if (data) {
		add(o, " %s=", name);
		for (uint64_t i = 0; i < value && i < BYTES_SHOWN; i++)
			add(o, "%02x", data[i]);
		if (value > BYTES_SHOWN)
			add(o, "...(%llu)", (unsigned long long)value);
	} else if (value < 100000) {
		add(o, " %s=%llu", name, (unsigned long long)value);
	} else {
		add(o, " %s=0x%llx", name, (unsigned long long)value);
	}
}

/* --------------------------------------------------------- packets as text */
/* Makes a packet from the @len bytes at @data. @sealed: the bytes end with an ICRC.
 * Otherwise this function appends one. Returns false if the bytes cannot be a packet.
 */
static bool make_packet(struct rn_scene_packet *p, const struct rn_flow *flow,
			const uint8_t *data, uint32_t len, bool sealed)
{
	if (len < RN_BTH_LEN || len > RN_PACKET_MAX ||
	    rn_gid_is_ipv4(&flow->src) != rn_gid_is_ipv4(&flow->dst))
		return false;
	p->flow = *flow;
	p->len = len;
	memcpy(p->bytes, data, len);
	if (!sealed) {
		rn_icrc_seal(flow, 0, p->bytes, len);
		p->len += RN_ICRC_LEN;
	}
	return true;
}

static void add_packet(struct out *o, const struct rn_flow *flow, const uint8_t *data,
		       uint32_t len, bool sealed)
{
	struct rn_scene_packet p;
	char text[400];

	if (!make_packet(&p, flow, data, len, sealed)) {
		add(o, " %u bytes", len);
		return;
	}
	rn_describe_received(&p, text, sizeof(text));
	add(o, " %s", text);
}

/* ---------------------------------------------------------- fields that differ */
enum {
	/* maximum number of fields that are compared; only a full RECEIVE has more */
	FIELDS = 512,
};

struct seen {
	const char *name;
	uint64_t value;
	const uint8_t *data;
};

struct list {
	unsigned count;
	struct seen seen[FIELDS];
};

/* Appends the value of a field to the text: a number, or up to eight bytes of it from
 * byte @at on.
 */
static void add_value(const struct seen *s, uint64_t at, char *text, size_t size)
{
	struct out o = { .text = text, .size = size };
	unsigned long long value = s->value;

	add(&o, s->data ? "%llu bytes" : "%llu", value);
	if (!s->data && value >= 10)
		add(&o, " (0x%llx)", value);
	if (s->data && at < value)
		add(&o, ", from %llu on:", (unsigned long long)at);
	for (uint64_t i = at; s->data && i < value && i < at + 8; i++)
		add(&o, " %02x", s->data[i]);
}

static void add_field(struct rn_replay_result *r, const struct seen *was,
		      const struct seen *is)
{
	struct rn_replay_field *f;
	uint64_t at = 0;

	if (r->fields == RN_REPLAY_FIELDS)
		return;
	f = &r->field[r->fields++];
	snprintf(f->name, sizeof(f->name), "%s", was->name);
	while (was->data && is->data && at < was->value && at < is->value &&
	       was->data[at] == is->data[at])
		at++;
	add_value(was, at, f->recorded, sizeof(f->recorded));
	add_value(is, at, f->replayed, sizeof(f->replayed));
}

static void keep(void *arg, const char *name, uint64_t value, const uint8_t *data)
{
	struct list *l = arg;

	if (l->count < FIELDS)
		l->seen[l->count++] = (struct seen){ name, value, data };
}

static bool is_equal(const struct seen *a, const struct seen *b)
{
	if (a->value != b->value || strcmp(a->name, b->name) != 0)
		return false;
	return !a->data || memcmp(a->data, b->data, a->value) == 0;
}

/* Stores in @r the header fields in which two packets differ. */
static void compare_packets(const struct rn_rec_packet *a, const struct rn_rec_packet *b,
			    struct rn_replay_result *r)
{
	struct rn_scene_packet pa, pb;
	struct rn_scn_line la, lb;
	const uint8_t *payload;

	if (!make_packet(&pa, a->tx->flow, a->data, a->len, false) ||
	    !make_packet(&pb, b->tx->flow, b->data, b->len, false) ||
	    rn_scene_decode(&pa, &la, &payload) || rn_scene_decode(&pb, &lb, &payload))
		return;
	if (la.opcode != lb.opcode)
		add_field(r, &(struct seen){ "opcode", la.opcode, NULL },
			  &(struct seen){ "opcode", lb.opcode, NULL });
	for (unsigned f = 0; f < RN_F_COUNT; f++) {
		struct seen was = { .name = rn_scn_fields[f].name }, is = was;

		was.value = rn_scn_has(&la, f) ? la.value[f] : 0;
		is.value = rn_scn_has(&lb, f) ? lb.value[f] : 0;
		if (was.value != is.value)
			add_field(r, &was, &is);
	}
}

void rn_rec_compare(const struct rn_rec *was, const struct rn_rec *is,
		    struct rn_replay_result *r)
{
	struct list a = { 0 }, b = { 0 };

	rn_rec_list(was, keep, &a);
	rn_rec_list(is, keep, &b);
	for (unsigned i = 0; i < a.count && i < b.count; i++)
		if (!is_equal(&a.seen[i], &b.seen[i]))
			add_field(r, &a.seen[i], &b.seen[i]);
	if (was->kind == RN_REC_PACKET && was->u.packet.tx && is->u.packet.tx)
		compare_packets(&was->u.packet, &is->u.packet, r);
}

/* -------------------------------------------------------- text of a record */
/* Appends the text of a received packet. If both ends have agreed to send no ICRCs,
 * leaves out the last four bytes, which are in the place of the ICRC.
 */
static void add_received(struct out *o, const struct rn_rx *rx)
{
	bool sealed = rx->icrc != RN_RX_ICRC_NONE || rx->len < RN_ICRC_LEN;

	add_packet(o, rx->flow, rx->data, sealed ? rx->len : rx->len - RN_ICRC_LEN,
		   sealed);
}

static void add_receive(struct out *o, const struct rn_rx *rx, uint32_t count)
{
	for (uint32_t i = 0; i < count && i < PACKETS_SHOWN; i++) {
		add(o, i ? " |" : "");
		add_received(o, &rx[i]);
	}
	if (count > PACKETS_SHOWN)
		add(o, " | and %u more", count - PACKETS_SHOWN);
}

static void add_cqe(struct out *o, const struct rn_rec_access *w)
{
	struct rn_cqe cqe;

	memcpy(&cqe, w->data, sizeof(cqe));
	add(o, " dst=0x%llx cqe wr_id=0x%llx qpn=0x%x status=%u opcode=%u len=%u",
	    (unsigned long long)w->addr, (unsigned long long)cqe.wr_id, cqe.qpn,
	    (unsigned)(cqe.ctl & 0xff), (unsigned)(cqe.ctl >> 8 & 0xff), cqe.byte_len);
}

void rn_rec_text(const struct rn_rec *rec, char *text, size_t size)
{
	struct out o = { .text = text, .size = size };
	const struct rn_rec_packet *packet = &rec->u.packet;
	const struct rn_rec_access *w = &rec->u.access;

	add(&o, "%s", rn_rec_info[rec->kind].name);
	if (rec->kind == RN_CALL_RECEIVE && rec->u.call.receive.count <= RN_REC_RX_MAX)
		add_receive(&o, rec->u.call.receive.pkts, rec->u.call.receive.count);
	else if (rec->kind == RN_REC_PACKET && !packet->tx)
		add(&o, " none");
	else if (rec->kind == RN_REC_PACKET)
		add_packet(&o, packet->tx->flow, packet->data, packet->len, false);
	else if (rec->kind == RN_REC_WRITE && (w->attr.flags & RN_MEM_CQE) &&
		 w->data_len == sizeof(struct rn_cqe))
		add_cqe(&o, w);
	else if (rec->kind == RN_REC_RESULT)
		add(&o, " %d", rec->result);
	else
		rn_rec_list(rec, see, &o);
}
