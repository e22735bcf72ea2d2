/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sched.c - chooses what the streams of a GPU do next. */
#include "sched.h"

#include <assert.h>

static struct rn_cu_op *op_of(struct rn_list *link)
{
	return RN_CONTAINER_OF(link, struct rn_cu_op, link);
}

static struct rn_cu_op *first_op(const struct rn_cu_stream *stream)
{
	return rn_cu_stream_is_idle(stream) ? NULL : op_of(rn_list_first(&stream->ops));
}

static struct rn_cu_stream *stream_of(struct rn_list *link)
{
	return RN_CONTAINER_OF(link, struct rn_cu_stream, link);
}

void rn_cu_sched_init(struct rn_cu_sched *s, uint64_t seed)
{
	rn_list_init(&s->streams);
	rn_list_init(&s->ended);
	s->random = seed;
}

void rn_cu_stream_add(struct rn_cu_sched *s, struct rn_cu_stream *stream,
		      struct rn_cu_group *group, enum rn_cu_stream_kind kind)
{
	rn_list_init(&stream->ops);
	stream->group = group;
	stream->kind = kind;
	if (kind == RN_CU_LEGACY)
		group->legacy = stream;
	rn_list_init(&stream->link);
	rn_list_push_back(&s->streams, &stream->link);
}

void rn_cu_stream_remove(struct rn_cu_stream *stream)
{
	assert(rn_cu_stream_is_idle(stream));
	if (stream->group->legacy == stream)
		stream->group->legacy = NULL;
	rn_list_remove(&stream->link);
}

void rn_cu_push(struct rn_cu_stream *stream, struct rn_cu_op *op)
{
	op->stream = stream;
	op->seq = ++stream->group->next_seq;
	op->is_running = false;
	rn_list_init(&op->link);
	rn_list_push_back(&stream->ops, &op->link);
}

/* ------------------------------------------------------- what may begin now */
/* Returns true if the stream has an operation that was submitted before @op. */
static bool has_earlier(const struct rn_cu_stream *stream, const struct rn_cu_op *op)
{
	const struct rn_cu_op *first = first_op(stream);

	return first && first->seq < op->seq;
}

/* Returns true if the default stream orders @op behind an operation that has not ended:
 * of the legacy stream, or, if @op is in that one, of any blocking stream.
 */
static bool is_held_by_default_stream(struct rn_cu_sched *s, const struct rn_cu_op *op)
{
	const struct rn_cu_stream *own = op->stream;

	if (own->kind == RN_CU_NON_BLOCKING)
		return false;
	if (own->kind == RN_CU_BLOCKING)
		return own->group->legacy && has_earlier(own->group->legacy, op);
	for (struct rn_list *at = s->streams.next; at != &s->streams; at = at->next) {
		const struct rn_cu_stream *other = stream_of(at);

		if (other->group == own->group && other->kind == RN_CU_BLOCKING &&
		    has_earlier(other, op))
			return true;
	}
	return false;
}

/* Returns the first operation of the stream if nothing but its condition holds it. */
static struct rn_cu_op *free_op(struct rn_cu_sched *s, struct rn_cu_stream *stream)
{
	struct rn_cu_op *op = first_op(stream);

	if (!op || op->is_running || (op->waits_for && !op->waits_for->is_reached) ||
	    is_held_by_default_stream(s, op))
		return NULL;
	return op;
}

/* Ends marks and waits at the heads of the streams until none is left that can end. */
static void pass_marks(struct rn_cu_sched *s, rn_ns now)
{
	bool has_moved = true;

	while (has_moved) {
		has_moved = false;
		for (struct rn_list *at = s->streams.next; at != &s->streams;
		     at = at->next) {
			struct rn_cu_op *op = free_op(s, stream_of(at));

			if (!op || op->unit != RN_CU_UNIT_NONE)
				continue;
			rn_cu_done(s, op, 0, now);
			has_moved = true;
		}
	}
}

/* Returns a random number below @count, by xorshift64*. */
static unsigned draw(struct rn_cu_sched *s, unsigned count)
{
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (unsigned)((s->random * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % count;
}

/* Returns true if @op comes before @best, which may be NULL. With a seed, each of the
 * @seen operations so far is kept with the same probability.
 */
static bool is_preferred(struct rn_cu_sched *s, const struct rn_cu_op *op,
			 const struct rn_cu_op *best, unsigned seen)
{
	if (!best)
		return true;
	if (s->random)
		return draw(s, seen) == 0;
	if (op->stream->priority != best->stream->priority)
		return op->stream->priority < best->stream->priority;
	return op->stream->group == best->stream->group && op->seq < best->seq;
}

struct rn_cu_op *rn_cu_next(struct rn_cu_sched *s, enum rn_cu_unit unit, rn_ns now,
			    rn_cu_is_met_fn *is_met, void *arg)
{
	struct rn_cu_op *best = NULL;
	unsigned seen = 0;

	assert(unit != RN_CU_UNIT_NONE);
	pass_marks(s, now);
	for (struct rn_list *at = s->streams.next; at != &s->streams; at = at->next) {
		struct rn_cu_op *op = free_op(s, stream_of(at));

		if (!op || op->unit != unit || (op->is_conditional && !is_met(op, arg)))
			continue;
		if (is_preferred(s, op, best, ++seen))
			best = op;
	}
	if (best)
		best->is_running = true;
	return best;
}

void rn_cu_done(struct rn_cu_sched *s, struct rn_cu_op *op, int error, rn_ns now)
{
	rn_list_remove(&op->link);
	rn_list_push_back(&s->ended, &op->link);
	if (!op->carries)
		return;
	op->carries->error = error;
	op->carries->when = now;
	op->carries->is_reached = true;
}

bool rn_cu_is_polling(const struct rn_cu_sched *s)
{
	for (struct rn_list *at = s->streams.next; at != &s->streams; at = at->next) {
		const struct rn_cu_op *op =
			first_op(RN_CONTAINER_OF(at, struct rn_cu_stream, link));

		if (op && op->is_conditional && !op->is_running)
			return true;
	}
	return false;
}
