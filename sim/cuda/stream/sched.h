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
 * The caller executes operations: rn_cu_next() chooses one, rn_cu_done() ends it.
 * Operations without a unit (waits and marks) are ended by rn_cu_next() itself.
 *
 * Which of several streams is next: with seed 0 the one whose operation was submitted
 * first; else one that a random generator with that seed draws, so that tests see many
 * orders, and each again.
 *
 * Memory: nothing is allocated. Operations and streams belong to the caller; those that
 * have ended are on rn_cu_sched.ended, from where the caller takes them.
 * Threads: none of these functions locks.
 *
 * Source: CUDA C++ programming guide, "Streams", and CUDA driver API, "Stream
 * synchronization behavior".
 */
#ifndef RN_CU_SCHED_H
#define RN_CU_SCHED_H

#include "rocin/types.h"
#include "transport/container/list.h"

/* Who executes an operation. Operations of different units run beside each other. */
enum rn_cu_unit {
	RN_CU_UNIT_NONE,   /* a mark or a wait: nothing to execute */
	RN_CU_UNIT_ENGINE, /* the front end and the copy engines of the GPU */
	RN_CU_UNIT_HOST,   /* a function of the program on the host */
};

/* A point in a stream, which is reached when the operation that carries it has ended. It
 * is shared by an event, by operations that wait for it and by threads that do.
 */
struct rn_cu_mark {
	unsigned users;
	bool is_reached;
	int error; /* of the operation that carried the mark; 0: none */
	rn_ns when;
};

struct rn_cu_stream;

struct rn_cu_op {
	struct rn_list
		link; /* in the queue of the stream, or in the list of ended ones */
	struct rn_cu_stream *stream;
	enum rn_cu_unit unit;
	/* Order of submission within the group; set by rn_cu_push(). */
	uint64_t seq;
	/* Set by the caller, or NULL: the operation begins when @waits_for is reached,
	 * and its end reaches @carries.
	 */
	struct rn_cu_mark *waits_for, *carries;
	/* The operation begins when the callback of rn_cu_next() says so. */
	bool is_conditional;
	bool is_running;
};

enum rn_cu_stream_kind {
	RN_CU_BLOCKING,
	RN_CU_NON_BLOCKING,
	RN_CU_LEGACY, /* at most one in a group */
};

struct rn_cu_group {
	struct rn_cu_stream *legacy;
	uint64_t next_seq;
};

struct rn_cu_stream {
	struct rn_list link; /* in the list of all streams of the GPU */
	struct rn_list ops;  /* not ended; the first one may be running */
	struct rn_cu_group *group;
	enum rn_cu_stream_kind kind;
	int priority; /* a lower number is preferred with seed 0 */
};

struct rn_cu_sched {
	struct rn_list streams;
	struct rn_list ended;
	uint64_t random; /* state of the generator; 0: order of submission */
};

/* Says whether an operation with is_conditional may begin. It must not call the functions
 * of this file.
 */
typedef bool rn_cu_is_met_fn(const struct rn_cu_op *op, void *arg);

void rn_cu_sched_init(struct rn_cu_sched *s, uint64_t seed);
void rn_cu_stream_add(struct rn_cu_sched *s, struct rn_cu_stream *stream,
		      struct rn_cu_group *group, enum rn_cu_stream_kind kind);

/* Takes away a stream, which must be idle. */
void rn_cu_stream_remove(struct rn_cu_stream *stream);

static inline bool rn_cu_stream_is_idle(const struct rn_cu_stream *stream)
{
	return rn_list_is_empty(&stream->ops);
}

/* Puts an operation behind the others of its stream. */
void rn_cu_push(struct rn_cu_stream *stream, struct rn_cu_op *op);

/**
 * rn_cu_next() - Choose an operation to execute
 * @unit:	Who would execute it; not RN_CU_UNIT_NONE
 * @is_met:	See above; may be NULL if no operation is conditional
 *
 * Ends all marks and waits that can end.
 *
 * Return: the operation, which is now running; NULL: none can begin now.
 */
struct rn_cu_op *rn_cu_next(struct rn_cu_sched *s, enum rn_cu_unit unit, rn_ns now,
			    rn_cu_is_met_fn *is_met, void *arg);

/* Ends a running operation. @error is kept in its mark. */
void rn_cu_done(struct rn_cu_sched *s, struct rn_cu_op *op, int error, rn_ns now);

/* Returns true if an operation waits only for its condition. */
bool rn_cu_is_polling(const struct rn_cu_sched *s);

#endif /* RN_CU_SCHED_H */
