/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* player.c - replays a file record by record: makes the recorded calls, answers the
 * core's accesses to memory as recorded, and compares what the hook (hook.h) shows of
 * each call with the records. play_call.c makes the calls.
 */
#include "player.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player_internal.h"
#include "record_text.h"
#include "transport/io/host/log.h"

enum {
	PROGRESS_EVERY = 65536, /* calls between two reports */
};

#define TIME_MAX ((rn_ns)1 << 61) /* ns; sums of a time and a timeout stay below 2^63 */
#define MEMORY_MAX (UINT64_C(8) << 30)

/* Stops the player. Returns false. */
static bool stop_replay(struct player *p, enum rn_replay_end end, const char *why)
{
	if (p->stop)
		return false;
	p->stop = true;
	p->r->end = end;
	snprintf(p->r->why, sizeof(p->r->why), "%s", why);
	return false;
}

bool rn_play_broken(struct player *p, const char *why)
{
	return stop_replay(p, RN_REPLAY_BROKEN, why);
}

void *rn_play_alloc(struct player *p, size_t bytes)
{
	uint64_t max = p->cfg->max_memory ? p->cfg->max_memory : MEMORY_MAX;
	size_t rounded = (bytes + 63) & ~(size_t)63;
	void *block = NULL;

	if (p->memory + bytes <= max)
		block = aligned_alloc(64, rounded);
	if (!block) {
		stop_replay(p, RN_REPLAY_NO_MEMORY, "no memory");
		return NULL;
	}
	p->memory += malloc_usable_size(block);
	return memset(block, 0, rounded);
}

void rn_play_free(struct player *p, void *block)
{
	p->memory -= malloc_usable_size(block);
	free(block);
}

/* ------------------------------------------------------------ records of a call */

static bool get_record(struct player *p, uint64_t at, struct rn_rec *rec,
		       struct rn_rec_room *room)
{
	return rn_rec_get(p->data + at, p->len - at, rec, room) > 0 ||
	       rn_play_broken(p, "a record has other fields than its kind");
}

/* Finds the first record of device @number at or behind @*at, and moves @*at to it.
 * Returns the record's length, and sets its kind. 0: the device has no more records, or
 * the file is broken.
 */
static uint64_t next_record(struct player *p, uint8_t number, uint64_t *at,
			    unsigned *kind)
{
	uint8_t dev;
	ssize_t n;

	for (; (n = rn_rec_peek(p->data + *at, p->len - *at, kind, &dev)) > 0;
	     *at += (uint64_t)n)
		if (dev == number)
			return (uint64_t)n;
	if (n < 0)
		rn_play_broken(p, "there is no record where one should begin");
	return 0;
}

/* Reads the outcome of the call that device @d is making. Returns NULL if the file ends
 * before it.
 */
static const struct rn_rec *find_outcome(const struct device *d)
{
	struct player *p = d->p;
	enum rn_rec_class class = RN_REC_ACCESS;
	uint64_t at = p->cursor[d->number], n;
	unsigned kind;

	for (; (n = next_record(p, d->number, &at, &kind)) > 0; at += n) {
		class = rn_rec_info[kind].class;
		if (class != RN_REC_ACCESS)
			break;
	}
	if (class != RN_REC_OUTCOME || !get_record(p, at, &p->outcome, &p->outcome_room))
		return NULL;
	return &p->outcome;
}

/* ------------------------------------------------------------------- comparison */

/* Stops the replay with a difference: the core does @is (or nothing) where the next @n
 * bytes of the file are recorded (or nothing).
 */
static void differ(struct player *p, uint8_t number, uint64_t n, const struct rn_rec *is)
{
	struct rn_replay_result *r = p->r;
	struct rn_rec *was = n ? &p->expected : NULL;

	if (p->stop || (was && !get_record(p, p->cursor[number], was, &p->expected_room)))
		return;
	stop_replay(p, RN_REPLAY_DIFFERENT, "");
	snprintf(r->why, sizeof(r->why), "call %llu (%s) goes another way",
		 (unsigned long long)r->calls, rn_rec_info[p->rec.kind].name);
	if (was)
		rn_rec_text(was, r->recorded, sizeof(r->recorded));
	if (is)
		rn_rec_text(is, r->replayed, sizeof(r->replayed));
	if (was && is && was->kind == is->kind)
		rn_rec_compare(was, is, r);
}

static struct player *player_of(struct rn_hook_sink *s)
{
	static_assert(offsetof(struct player, sink) == 0, "the sink is a player");
	return (struct player *)s;
}

static void count_record(struct rn_replay_result *r, const struct rn_rec *is)
{
	r->accesses += rn_rec_info[is->kind].class == RN_REC_ACCESS;
	if (is->kind == RN_CALL_RECEIVE)
		r->packets_in += is->u.call.receive.count;
	else if (is->kind == RN_CALL_RECEIVE_FRAME)
		r->packets_in++;
	else if (is->kind == RN_REC_PACKET || is->kind == RN_REC_FRAME)
		r->packets_out += is->u.packet.len > 0;
	else if (is->kind == RN_REC_WRITE && (is->u.access.attr.flags & RN_MEM_CQE))
		r->completions++;
}

/* Compares what the core does with the next record of its device. */
static bool compare_next(struct rn_hook_sink *s, const struct rn_rec *is)
{
	struct player *p = player_of(s);
	uint64_t *at = &p->cursor[is->dev], n;
	unsigned kind;

	if (p->stop)
		return true;
	count_record(p->r, is);
	n = next_record(p, is->dev, at, &kind);
	if (!n) /* the file ends in the middle of this call */
		p->r->cut_off = true;
	else if (*at != p->r->at && rn_rec_info[kind].class == RN_REC_CALL)
		rn_play_broken(p, "a call begins within another");
	else if (rn_rec_put(is, p->bytes, sizeof(p->bytes)) != n ||
		 memcmp(p->bytes, p->data + *at, n) != 0)
		differ(p, is->dev, n, is);
	*at += n;
	return true;
}

static int open_device(struct rn_hook_sink *s, struct rn_hook_dev *shown)
{
	struct player *p = player_of(s);

	shown->number = p->rec.dev;
	p->dev[p->rec.dev]->shown = shown;
	return 0;
}

static void close_device(struct rn_hook_sink *s, struct rn_hook_dev *shown)
{
	player_of(s)->dev[shown->number]->shown = NULL;
}

/* ------------------------------------------------------------------ memory */

/* Fills in the bytes that a read returns: from the recorded packet as far as the packet
 * was sent, or from the record.
 */
static void fill_read(struct device *d, const struct rn_rec_access *a, void *dst,
		      uint32_t len)
{
	const struct rn_rec *out = a->packet ? find_outcome(d) : NULL;
	bool has_packet =
		out && (out->kind == RN_REC_PACKET || out->kind == RN_REC_FRAME);
	uint32_t left = has_packet && a->offset < out->u.packet.len
				? out->u.packet.len - a->offset
				: 0;

	if (left)
		memcpy(dst, out->u.packet.data + a->offset, len < left ? len : left);
	else if (!a->packet && a->data_len == len)
		memcpy(dst, a->data, len);
	else if (!a->packet)
		rn_play_broken(d->p, "a read brought another number of bytes");
}

/* Gives the recorded result of an access in place of the memory. If the next record is of
 * another kind, compare_next() will report that, and the result does not matter.
 */
static enum rn_mem_result answer_as_recorded(struct rn_hook_sink *s,
					     const struct rn_rec *is, void *bytes)
{
	struct player *p = player_of(s);
	struct device *d = p->dev[is->dev];
	const struct rn_rec_access *a = &p->expected.u.access;
	const struct rn_rec_mem_done *end = &p->rec.u.mem_done;
	uint64_t *at = &p->cursor[is->dev];
	unsigned kind = is->kind;

	if (kind == RN_CALL_MEM_DONE && bytes && end->len == is->u.mem_done.len)
		memcpy(bytes, end->data, end->len);
	if (kind == RN_CALL_MEM_DONE)
		return end->result;
	if (bytes)
		memset(bytes, 0, is->u.access.len);
	if (p->stop || !next_record(p, is->dev, at, &kind) || kind != is->kind)
		return is->kind == RN_REC_OVERRUN ? RN_MEM_FAULT : RN_MEM_DONE;
	if (kind == RN_REC_OVERRUN ||
	    !get_record(p, *at, &p->expected, &p->expected_room))
		return RN_MEM_DONE;
	if (a->result != RN_MEM_DONE && a->result != RN_MEM_FAULT &&
	    (a->result != RN_MEM_PENDING || kind == RN_REC_WRITE || d->ops.always_done)) {
		rn_play_broken(p, "memory has no such answer");
		return RN_MEM_DONE;
	}
	if (kind == RN_REC_ATOMIC && bytes)
		memcpy(bytes, &a->orig, sizeof(a->orig));
	else if (bytes && a->result == RN_MEM_DONE)
		fill_read(d, a, bytes, is->u.access.len);
	return a->result;
}

/* Takes the place of each function of the device's memory. It is never called, because
 * the hook asks answer_as_recorded() first.
 */
static void never(void)
{
	abort();
}

/* ------------------------------------------------------------------ devices */

static bool add_dev(struct player *p)
{
	const struct rn_dev_cfg *cfg = p->rec.u.call.cfg;
	struct device *d;

	if (p->dev[p->rec.dev])
		return rn_play_broken(p, "there is such a device already");
	if (cfg->mem->read_part && !cfg->mem->always_done)
		return rn_play_broken(p, "there is no such kind of memory");
	d = rn_play_alloc(p, sizeof(*d));
	if (!d)
		return false;
	p->dev[p->rec.dev] = d;
	d->p = p;
	d->number = p->rec.dev;
	d->ops = *cfg->mem;
	d->ops.write = (void *)never;
	d->ops.read = (void *)never;
	d->ops.atomic = (void *)never;
	d->cfg = *cfg;
	d->cfg.mem = &d->ops;
	d->cfg.stats = d->stats;
	d->dev = rn_play_alloc(p, rn_dev_size());
	return d->dev;
}

static void free_dev(struct device *d)
{
	struct player *p = d->p;

	for (size_t i = 0; i < RN_ARRAY_SIZE(d->bucket); i++)
		rn_play_free(p, d->bucket[i]);
	if (d->shown)
		rn_hook_free(d->shown);
	p->dev[d->number] = NULL;
	rn_play_free(p, d->dev);
	rn_play_free(p, d);
}

static void remove_all(struct player *p)
{
	for (unsigned i = 0; i < RN_REC_DEVS; i++)
		if (p->dev[i])
			free_dev(p->dev[i]);
	rn_play_forget_objects(p);
}

/* ------------------------------------------------------------------- records */

static bool take_time(struct player *p)
{
	struct rn_replay_result *r = p->r;
	rn_ns now = p->rec.now;

	if (now < 0 || now > TIME_MAX)
		return rn_play_broken(p, "a time is out of range");
	if (now == 0)
		return true;
	if (p->d && now < p->d->now)
		return rn_play_broken(p, "time goes backwards");
	if (p->d)
		p->d->now = now;
	if (r->first == 0)
		r->first = now;
	r->last = now;
	return true;
}

/* Makes the call whose record is at @at again. */
static bool replay_call(struct player *p, uint64_t at, uint64_t len)
{
	uint8_t number = p->rec.dev;
	bool is_lone = rn_rec_info[p->rec.kind].class == RN_REC_LONE;

	if ((number == RN_REC_NO_DEV) != is_lone)
		return rn_play_broken(p, "a call is out of place");
	if (p->rec.kind == RN_CALL_DEV_INIT && !add_dev(p))
		return false;
	p->d = is_lone ? NULL : p->dev[number];
	if (!p->d && !is_lone)
		return rn_play_broken(p, "there is no such device");
	p->cursor[number] = at;
	if (!take_time(p) || !rn_play_call(p))
		return false;
	if (p->cursor[number] == at) /* the call did nothing that is recorded */
		differ(p, number, len, NULL);
	if (p->d && !p->d->shown)
		free_dev(p->d);
	return true;
}

/* Processes one record. Returns false if the replay is over. */
static bool step(struct player *p, uint64_t *at)
{
	const struct rn_replay_cfg *cfg = p->cfg;
	ssize_t n = rn_rec_get(p->data + *at, p->len - *at, &p->rec, &p->rec_room);
	uint64_t begin = *at;
	enum rn_rec_class class;
	bool is_call;

	if (n == 0)
		return false;
	if (n < 0)
		return rn_play_broken(p, "there is no record where one should begin");
	*at += (uint64_t)n;
	class = rn_rec_info[p->rec.kind].class;
	is_call = class == RN_REC_CALL || class == RN_REC_LONE;
	if (is_call && cfg->until && p->r->calls >= cfg->until)
		return false;
	if (is_call) {
		p->r->at = begin;
		if (++p->r->calls % PROGRESS_EVERY == 0 && cfg->progress)
			cfg->progress(cfg->arg, begin, p->len);
	}
	if (cfg->trace)
		cfg->trace(cfg->arg, p->r->calls, &p->rec);
	if (is_call)
		return replay_call(p, begin, (uint64_t)n) && !p->stop;
	if (p->rec.kind == RN_REC_LIMIT)
		p->r->limited = true;
	/* the record is not part of any call that was made */
	else if (begin >= p->cursor[p->rec.dev])
		return rn_play_broken(p, "part of a call stands alone");
	return true;
}

static uint64_t read_header(struct player *p)
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
		rn_play_broken(p, why);
	} else if (n < 0) {
		rn_play_broken(p, "it is not a recorded run");
	}
	return n < 0 ? 0 : (uint64_t)n;
}

void rn_replay(const uint8_t *data, size_t len, const struct rn_replay_cfg *cfg,
	       struct rn_replay_result *result)
{
	struct player *p = calloc(1, sizeof(*p));
	struct rn_hook_sink *before;
	uint64_t at;

	*result = (struct rn_replay_result){ .end = RN_REPLAY_SAME };
	if (!p) {
		result->end = RN_REPLAY_NO_MEMORY;
		snprintf(result->why, sizeof(result->why), "no memory");
		return;
	}
	p->sink = (struct rn_hook_sink){ .open = open_device,
					 .close = close_device,
					 .put = compare_next,
					 .answer = answer_as_recorded,
					 .id = rn_play_id_of };
	p->data = data;
	p->len = len;
	p->cfg = cfg;
	p->r = result;
	before = rn_hook_set(&p->sink);
	at = read_header(p);
	while (!p->stop && step(p, &at))
		continue;
	rn_hook_set(before);
	remove_all(p);
	free(p);
}
