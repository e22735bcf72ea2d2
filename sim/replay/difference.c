/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* difference.c - what differs, in words. */
#include <stdio.h>
#include <string.h>

#include "player_internal.h"
#include "record_text.h"

enum {
	FIELDS = 512, /* of a record; a full RECEIVE is not compared */
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

static void see(void *arg, const char *name, uint64_t value, const uint8_t *data)
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

/* Up to eight bytes from @at on. */
static void bytes_text(const struct seen *s, uint64_t at, char *text, size_t size)
{
	int n = snprintf(text, size, "%llu bytes", (unsigned long long)s->value);

	if (at >= s->value || n < 0)
		return;
	n += snprintf(text + n, size - (size_t)n,
		      ", from %llu on:", (unsigned long long)at);
	for (uint64_t i = at; i < s->value && i < at + 8 && n < (int)size; i++)
		n += snprintf(text + n, size - (size_t)n, " %02x", s->data[i]);
}

static void value_text(const struct seen *s, char *text, size_t size)
{
	if (s->value < 10)
		snprintf(text, size, "%llu", (unsigned long long)s->value);
	else
		snprintf(text, size, "%llu (0x%llx)", (unsigned long long)s->value,
			 (unsigned long long)s->value);
}

static struct rn_replay_field *next_field(struct rn_replay_result *r, const char *name)
{
	struct rn_replay_field *f;

	if (r->fields == RN_REPLAY_FIELDS)
		return NULL;
	f = &r->field[r->fields++];
	snprintf(f->name, sizeof(f->name), "%s", name);
	return f;
}

static void add_field(struct rn_replay_result *r, const struct seen *was,
		      const struct seen *is)
{
	struct rn_replay_field *f = next_field(r, was->name);
	uint64_t at = 0;

	if (!f)
		return;
	if (!was->data || !is->data) {
		value_text(was, f->recorded, sizeof(f->recorded));
		value_text(is, f->replayed, sizeof(f->replayed));
		return;
	}
	while (at < was->value && at < is->value && was->data[at] == is->data[at])
		at++;
	bytes_text(was, at, f->recorded, sizeof(f->recorded));
	bytes_text(is, at, f->replayed, sizeof(f->replayed));
}

/* Fields of the headers, of two packets that can be read. */
static void add_packet_fields(void *arg, const char *name, uint64_t was, uint64_t is)
{
	const struct seen a = { name, was, NULL }, b = { name, is, NULL };

	add_field(arg, &a, &b);
}

static void add_fields(struct rn_replay_result *r, const struct rn_rec *was,
		       const struct rn_rec *is)
{
	struct list a = { 0 }, b = { 0 };

	rn_rec_list(was, see, &a);
	rn_rec_list(is, see, &b);
	for (unsigned i = 0; i < a.count && i < b.count; i++)
		if (!is_equal(&a.seen[i], &b.seen[i]))
			add_field(r, &a.seen[i], &b.seen[i]);
	if (was->kind == RN_REC_PACKET && was->u.packet.len > 0 && is->u.packet.len > 0)
		rn_rec_compare_packets(&was->u.packet, &is->u.packet, add_packet_fields,
				       r);
}

void rn_player_differs(struct rn_player *p, const struct rn_rec *was,
		       const struct rn_rec *is)
{
	struct rn_replay_result *r = p->r;

	if (p->stop)
		return;
	p->stop = true;
	r->end = RN_REPLAY_DIFFERENT;
	snprintf(r->why, sizeof(r->why), "call %llu (%s) goes another way",
		 (unsigned long long)r->calls, rn_rec_name(p->rec.kind));
	if (was)
		rn_rec_text(was, r->recorded, sizeof(r->recorded));
	if (is)
		rn_rec_text(is, r->replayed, sizeof(r->replayed));
	if (was && is && was->kind == is->kind)
		add_fields(r, was, is);
}

/* Equal without looking at names; most are. */
static bool same(const struct rn_rec *was, const struct rn_rec *is)
{
	struct list a, b;

	if (was->kind != is->kind)
		return false;
	a.count = b.count = 0;
	rn_rec_list(was, see, &a);
	rn_rec_list(is, see, &b);
	if (a.count != b.count)
		return false;
	for (unsigned i = 0; i < a.count; i++)
		if (!is_equal(&a.seen[i], &b.seen[i]))
			return false;
	return true;
}

void rn_player_compare(struct rn_player *p, const struct rn_rec *was,
		       const struct rn_rec *is)
{
	if (!p->stop && !same(was, is))
		rn_player_differs(p, was, is);
}
