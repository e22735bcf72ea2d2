/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sched.h - the order in which the work of one GPU's streams is done, without I/O.
 *
 * A stream is a queue of operations. At most one operation of a stream runs at a time, in
 * the order of submission. Between streams nothing is ordered, except by marks (what an
 * event records, and a stream waits for) and by the legacy default stream of a group: an
 * operation of the legacy stream begins when all operations that were submitted to the
 * blocking streams of its group before it have ended, and the other way round. A group is
 * a context of CUDA.
 *
 * The caller executes operations: rn_cuda_next() chooses one, rn_cuda_done() ends it.
 * Operations without a unit (waits and marks) are ended by rn_cuda_next() itself.
 *
 * Which of several streams is next: with seed 0 the one whose operation was submitted
 * first; else one that a random generator with that seed draws, so that tests see many
 * orders, and each again.
 *
 * Memory: nothing is allocated. Operations and streams belong to the caller; those that
 * have ended are on rn_cuda_sched.ended, from where the caller takes them.
 * Threads: none of these functions locks.
 *
 * Source: CUDA C++ programming guide, "Streams", and CUDA driver API, "Stream
 * synchronization behavior".
 */
#ifndef RN_CUDA_SCHED_H
#define RN_CUDA_SCHED_H

#include "rocin/types.h"
#include "transport/container/list.h"

/* Who executes an operation. Operations of different units run beside each other. */
enum rn_cuda_unit {
	RN_CUDA_UNIT_NONE,   /* a mark or a wait: nothing to execute */
	RN_CUDA_UNIT_ENGINE, /* the front end and the copy engines of the GPU */
	RN_CUDA_UNIT_HOST,   /* a function of the program on the host */
};

/* A point in a stream, which is reached when the operation that carries it has ended. It
 * is shared by an event, by operations that wait for it and by threads that do.
 */
struct rn_cuda_mark {
	unsigned users;
	bool is_reached;
	int error; /* of the operation that carried the mark; 0: none */
	rn_ns when;
};

struct rn_cuda_stream;

struct rn_cuda_op {
	struct rn_list
		link; /* in the queue of the stream, or in the list of ended ones */
	struct rn_cuda_stream *stream;
	enum rn_cuda_unit unit;
	/* Order of submission within the group; set by rn_cuda_push(). */
	uint64_t seq;
	/* Set by the caller, or NULL: the operation begins when @waits_for is reached,
	 * and its end reaches @carries.
	 */
	struct rn_cuda_mark *waits_for, *carries;
	/* The operation begins when the callback of rn_cuda_next() says so. */
	bool is_conditional;
	bool is_running;
};

enum rn_cuda_stream_kind {
	RN_CUDA_BLOCKING,
	RN_CUDA_NON_BLOCKING,
	RN_CUDA_LEGACY, /* at most one in a group */
};

struct rn_cuda_group {
	struct rn_cuda_stream *legacy;
	uint64_t next_seq;
};

struct rn_cuda_stream {
	struct rn_list link; /* in the list of all streams of the GPU */
	struct rn_list ops;  /* not ended; the first one may be running */
	struct rn_cuda_group *group;
	enum rn_cuda_stream_kind kind;
	int priority; /* a lower number is preferred with seed 0 */
};

struct rn_cuda_sched {
	struct rn_list streams;
	struct rn_list ended;
	uint64_t random; /* state of the generator; 0: order of submission */
};

/* Says whether an operation with is_conditional may begin. It must not call the functions
 * of this file.
 */
typedef bool rn_cuda_is_met_fn(const struct rn_cuda_op *op, void *arg);

void rn_cuda_sched_init(struct rn_cuda_sched *s, uint64_t seed);
void rn_cuda_stream_add(struct rn_cuda_sched *s, struct rn_cuda_stream *stream,
			struct rn_cuda_group *group, enum rn_cuda_stream_kind kind);

/* Takes away a stream, which must be idle. */
void rn_cuda_stream_remove(struct rn_cuda_stream *stream);

static inline bool rn_cuda_stream_is_idle(const struct rn_cuda_stream *stream)
{
	return rn_list_is_empty(&stream->ops);
}

/* Puts an operation behind the others of its stream. */
void rn_cuda_push(struct rn_cuda_stream *stream, struct rn_cuda_op *op);

/**
 * rn_cuda_next() - Choose an operation to execute
 * @unit:	Who would execute it; not RN_CUDA_UNIT_NONE
 * @is_met:	See above; may be NULL if no operation is conditional
 *
 * Ends all marks and waits that can end.
 *
 * Return: the operation, which is now running; NULL: none can begin now.
 */
struct rn_cuda_op *rn_cuda_next(struct rn_cuda_sched *s, enum rn_cuda_unit unit,
				rn_ns now, rn_cuda_is_met_fn *is_met, void *arg);

/* Ends a running operation. @error is kept in its mark. */
void rn_cuda_done(struct rn_cuda_sched *s, struct rn_cuda_op *op, int error, rn_ns now);

/* Returns true if an operation waits only for its condition. */
bool rn_cuda_is_polling(const struct rn_cuda_sched *s);

#endif /* RN_CUDA_SCHED_H */
