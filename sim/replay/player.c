/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player.c - replays a file record by record: finds where a call begins and ends, and
 * compares what the core does with the records.
 */
#include "player.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player_internal.h"
#include "record_text.h"

enum {
	PROGRESS_EVERY = 65536, /* calls between two reports */
};

#define TIME_MAX ((rn_ns)1 << 61) /* ns; sums of a time and a timeout stay below 2^63 */
#define MEMORY_MAX (UINT64_C(8) << 30)

bool rn_player_broken(struct rn_player *p, const char *why)
{
	if (p->stop)
		return false;
	p->stop = true;
	p->r->end = RN_REPLAY_BROKEN;
	snprintf(p->r->why, sizeof(p->r->why), "%s", why);
	return false;
}

bool rn_player_no_memory(struct rn_player *p)
{
	if (p->stop)
		return false;
	p->stop = true;
	p->r->end = RN_REPLAY_NO_MEMORY;
	snprintf(p->r->why, sizeof(p->r->why), "no memory");
	return false;
}

void *rn_player_alloc(struct rn_player *p, size_t bytes)
{
	uint64_t max = p->cfg->max_memory ? p->cfg->max_memory : MEMORY_MAX;
	size_t rounded = (bytes + 63) & ~(size_t)63;
	void *block = NULL;

	if (bytes <= max - p->memory)
		block = aligned_alloc(64, rounded);
	if (!block) {
		rn_player_no_memory(p);
		return NULL;
	}
	memset(block, 0, rounded);
	p->memory += bytes;
	return block;
}

void rn_player_free(struct rn_player *p, void *block, size_t bytes)
{
	free(block);
	p->memory -= bytes;
}

/* --------------------------------------------------- description of a difference */
enum {
	/* most fields of a record that are compared; only a full RECEIVE has more */
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

/* Describes up to eight bytes from @at on. */
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

/* Adds a header field in which two packets differ. */
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

/* Stops the replay with a difference: the core did @is where @was is recorded. */
static void differ(struct rn_player *p, const struct rn_rec *was, const struct rn_rec *is)
{
	struct rn_replay_result *r = p->r;

	if (p->stop)
		return;
	p->stop = true;
	r->end = RN_REPLAY_DIFFERENT;
	snprintf(r->why, sizeof(r->why), "call %llu (%s) goes another way",
		 (unsigned long long)r->calls, rn_rec_name(p->rec.kind));
	rn_rec_text(was, r->recorded, sizeof(r->recorded));
	if (is)
		rn_rec_text(is, r->replayed, sizeof(r->replayed));
	if (was && is && was->kind == is->kind)
		add_fields(r, was, is);
}

/* Are two records equal? Most are. */
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
		differ(p, was, is);
}

/* -------------------------------------------------------- records of a call */
/* Reads kind and device of the record at @at. Returns its length; 0 at the end of the
 * file, or if the file is broken.
 */
static uint64_t peek(struct rn_player *p, uint64_t at, unsigned *kind, uint8_t *dev)
{
	ssize_t n = rn_rec_peek(p->data + at, p->len - at, kind, dev);

	if (n < 0)
		rn_player_broken(p, "there is no record where one should begin");
	return n > 0 ? (uint64_t)n : 0;
}

static bool get(struct rn_player *p, uint64_t at, struct rn_rec *rec)
{
	return rn_rec_get(p->data + at, p->len - at, rec) > 0 ||
	       rn_player_broken(p, "a record has other fields than its kind");
}

struct rn_rec *rn_player_next(struct rn_player_dev *d)
{
	struct rn_player *p = d->p;
	unsigned kind;
	uint64_t n;
	uint8_t dev;

	for (; (n = peek(p, d->cursor, &kind, &dev)) > 0; d->cursor += n) {
		enum rn_rec_class class = rn_rec_class(kind);

		if (dev != d->number || class == RN_REC_NOTE)
			continue;
		if (class != RN_REC_ACCESS || !get(p, d->cursor, &p->expected))
			return NULL;
		d->cursor += n;
		return &p->expected;
	}
	return NULL;
}

/* Prepares a CQ that was full in this call: it accepts as many CQEs as are recorded, and
 * loses the next.
 */
static bool prepare_overrun(struct rn_player_dev *d, uint64_t at, uint64_t begin)
{
	struct rn_player *p = d->p;
	struct rn_player_object *o;
	struct rn_rec *rec;

	if (!get(p, at, &p->expected))
		return false;
	o = rn_player_find(p, RN_PLAYER_CQ, p->expected.id);
	if (!o || o->dev != d)
		return rn_player_broken(p, "the CQ that was full is not known");
	o->fills_up = true;
	o->room = 0;
	d->cursor = begin;
	while ((rec = rn_player_next(d))) {
		uint64_t offset = rec->u.write.dst - o->cq.ring;

		if (rec->kind == RN_REC_WRITE && (rec->u.write.attr.flags & RN_MEM_CQE) &&
		    offset < (uint64_t)o->cq.capacity * sizeof(struct rn_cqe))
			o->room++;
	}
	if (o->room == 0)
		atomic_store(&o->cq.consumer, o->cq.producer - o->cq.capacity);
	return !p->stop;
}

/* Finds the outcome of the call whose accesses begin at @begin. */
static bool look_ahead(struct rn_player_dev *d, uint64_t begin)
{
	struct rn_player *p = d->p;
	uint64_t at = begin, n;
	unsigned kind;
	uint8_t dev;

	d->has_outcome = false;
	for (; (n = peek(p, at, &kind, &dev)) > 0; at += n) {
		enum rn_rec_class class = rn_rec_class(kind);

		if (dev != d->number)
			continue;
		if (class == RN_REC_CALL)
			return rn_player_broken(p, "a call begins within another");
		if (kind == RN_REC_OVERRUN && !prepare_overrun(d, at, begin))
			return false;
		if (class != RN_REC_OUTCOME)
			continue;
		d->has_outcome = true;
		at += n;
		if (!get(p, at - n, &p->outcome))
			return false;
		break;
	}
	p->r->cut_off = p->r->cut_off || !d->has_outcome;
	d->cursor = begin;
	p->next[d->number] = at;
	return !p->stop;
}

void rn_player_outcome(struct rn_player_dev *d, struct rn_rec *is)
{
	struct rn_player *p = d->p;
	const struct rn_rec *left;

	is->dev = d->number;
	if (p->stop)
		return;
	left = rn_player_next(d);
	if (left)
		differ(p, left, is);
	else if (!p->stop && d->has_outcome)
		rn_player_compare(p, d->came, is);
}

/* --------------------------------------------------------- making of calls */
static bool take_time(struct rn_player *p, const struct rn_rec *rec)
{
	struct rn_replay_result *r = p->r;

	if (rec->now < 0 || rec->now > TIME_MAX)
		return rn_player_broken(p, "a time is out of range");
	if (rec->now == 0)
		return true;
	if (r->first == 0)
		r->first = rec->now;
	r->last = rec->now;
	return true;
}

static bool make_call(struct rn_player *p, uint64_t behind)
{
	const struct rn_rec *rec = &p->rec;
	struct rn_player_dev *d;

	if (rec->dev == RN_REC_NO_DEV || p->r->at < p->next[rec->dev])
		return rn_player_broken(p, "a call is out of place");
	if (rec->kind == RN_CALL_DEV_INIT && !rn_player_add_dev(p, rec))
		return false;
	d = p->dev[rec->dev];
	if (!d)
		return rn_player_broken(p, "there is no such device");
	if (!look_ahead(d, behind))
		return false;
	if (rec->now && rec->now < d->now)
		return rn_player_broken(p, "time goes backwards");
	d->now = rec->now ? rec->now : d->now;
	return rn_player_make_call(p, d, rec);
}

/* Skips a record that is part of a call that was made already. */
static bool skip(struct rn_player *p, uint64_t at)
{
	if (p->rec.kind == RN_REC_LIMIT) {
		p->r->limited = true;
		return true;
	}
	if (p->rec.dev == RN_REC_NO_DEV || at >= p->next[p->rec.dev])
		return rn_player_broken(p, "part of a call stands alone");
	return true;
}

static bool is_call(enum rn_rec_class class)
{
	return class == RN_REC_CALL || class == RN_REC_LONE;
}

static void begin_call(struct rn_player *p, uint64_t at)
{
	const struct rn_replay_cfg *cfg = p->cfg;

	p->r->calls++;
	p->r->at = at;
	if (cfg->progress && p->r->calls % PROGRESS_EVERY == 0)
		cfg->progress(cfg->arg, at, p->len);
}

/* Processes one record. False: the replay is over. */
static bool step(struct rn_player *p, uint64_t *at)
{
	const struct rn_replay_cfg *cfg = p->cfg;
	ssize_t n = rn_rec_get(p->data + *at, p->len - *at, &p->rec);
	enum rn_rec_class class;
	bool go_on;

	if (n == 0)
		return false;
	if (n < 0)
		return rn_player_broken(p, "there is no record where one should begin");
	class = rn_rec_class(p->rec.kind);
	if (is_call(class)) {
		if (cfg->until && p->r->calls >= cfg->until)
			return false;
		begin_call(p, *at);
	}
	if (cfg->trace)
		cfg->trace(cfg->arg, p->r->calls, &p->rec);
	if (!is_call(class))
		go_on = skip(p, *at);
	else if (!take_time(p, &p->rec))
		go_on = false;
	else if (class == RN_REC_CALL)
		go_on = make_call(p, *at + (uint64_t)n);
	else
		go_on = rn_player_make_call(p, NULL, &p->rec);
	*at += (uint64_t)n;
	return go_on && !p->stop;
}

static uint64_t read_header(struct rn_player *p)
{
	struct rn_rec_header h;
	ssize_t n = rn_rec_get_header(p->data, p->len, &h);
	char why[160];

	if (n == -ENOTSUP) {
		snprintf(why, sizeof(why),
			 "it has version %u of the format, written by rocin %.*s; this "
			 "rocin (%s) reads version %d",
			 h.version, (int)(h.rocin_len < 32 ? h.rocin_len : 32),
			 (const char *)h.rocin, ROCIN_VERSION, RN_REC_VERSION);
		rn_player_broken(p, why);
	} else if (n < 0) {
		rn_player_broken(p, "it is not a recorded run");
	}
	return n < 0 ? 0 : (uint64_t)n;
}

void rn_replay(const uint8_t *data, size_t len, const struct rn_replay_cfg *cfg,
	       struct rn_replay_result *result)
{
	struct rn_player *p = calloc(1, sizeof(*p));
	uint64_t at;

	*result = (struct rn_replay_result){ .end = RN_REPLAY_SAME };
	if (!p) {
		result->end = RN_REPLAY_NO_MEMORY;
		snprintf(result->why, sizeof(result->why), "no memory");
		return;
	}
	p->data = data;
	p->len = len;
	p->cfg = cfg;
	p->r = result;
	at = read_header(p);
	while (!p->stop && step(p, &at))
		continue;
	rn_player_remove_all(p);
	free(p);
}
