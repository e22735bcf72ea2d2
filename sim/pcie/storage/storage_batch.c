/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* storage_batch.c - batches. The transfers of a batch are started together, and each is
 * reported when it has ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage_internal.h"

struct rn_storage_batch {
	unsigned max, used;
	/* Transfers that were started and have not ended, the oldest first. */
	struct rn_storage_req *waiting;
	/* Transfers that have ended and were not reported yet, in the order of
	 * their ends.
	 */
	struct rn_storage_req *done, **last;
	unsigned done_count;
};

int rn_storage_batch_setup(struct rn_storage_batch **batch, unsigned max)
{
	struct rn_storage_batch *b;
	int err;

	if (max == 0 || max > RN_STORAGE_BATCH_MAX)
		return rn_storage_fail(-EINVAL, "a batch of %u; 1 to %d are possible",
				       max, RN_STORAGE_BATCH_MAX);
	err = rn_storage_object_add();
	if (err)
		return err;
	b = calloc(1, sizeof(*b));
	if (!b) {
		rn_storage_object_remove();
		return rn_storage_fail(-ENOMEM, "no memory for a batch");
	}
	b->max = max;
	b->last = &b->done;
	*batch = b;
	return 0;
}

/* Moves a transfer from the list of started ones to the list of ended ones. Called with
 * the storage lock held.
 */
static void move_to_done(struct rn_storage_req *r)
{
	struct rn_storage_batch *b = r->owner;
	struct rn_storage_req **at = &b->waiting;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->next = NULL;
	*b->last = r;
	b->last = &r->next;
	b->done_count++;
}

static void free_list(struct rn_storage_req *r)
{
	while (r) {
		struct rn_storage_req *next = r->next;

		free(r);
		r = next;
	}
}

/* Makes a list of requests for the @count elements of @ios, in the same order. Returns
 * NULL if there is no memory.
 */
static struct rn_storage_req *make_list(struct rn_storage_batch *b, unsigned count,
					const struct rn_storage_io *ios)
{
	struct rn_storage_req *first = NULL;

	for (unsigned i = count; i > 0; i--) {
		struct rn_storage_req *r = calloc(1, sizeof(*r));

		if (!r) {
			free_list(first);
			return NULL;
		}
		r->io = ios[i - 1];
		r->owner = b;
		r->ended = move_to_done;
		r->next = first;
		first = r;
	}
	return first;
}

static void start_request(struct rn_storage_batch *b, struct rn_storage_req *r)
{
	struct rn_storage_req **at = &b->waiting;
	int err;

	rn_storage_lock();
	while (*at)
		at = &(*at)->next;
	r->next = NULL;
	*at = r;
	rn_storage_unlock();
	/* on success, @r may have ended and been freed already */
	err = rn_storage_req_start(r);
	if (!err)
		return;
	rn_storage_lock();
	r->status = RN_STORAGE_INVALID;
	r->result = err;
	move_to_done(r);
	rn_storage_unlock();
}

int rn_storage_batch_submit(struct rn_storage_batch *b, unsigned count,
			    const struct rn_storage_io *ios)
{
	struct rn_storage_req *list;
	bool has_room;

	if (count == 0)
		return rn_storage_fail(-EINVAL, "nothing to submit");
	list = make_list(b, count, ios);
	if (!list)
		return rn_storage_fail(-ENOMEM, "no memory for %u transfers", count);
	rn_storage_lock();
	has_room = count <= b->max - b->used;
	if (has_room)
		b->used += count;
	rn_storage_unlock();
	if (!has_room) {
		free_list(list);
		return rn_storage_fail(-EAGAIN, "%u of %u places are taken", b->used,
				       b->max);
	}
	while (list) {
		struct rn_storage_req *r = list;

		list = r->next;
		start_request(b, r);
	}
	return 0;
}

struct wanted {
	const struct rn_storage_batch *batch;
	unsigned count;
};

static bool has_wanted(const void *arg)
{
	const struct wanted *w = arg;

	return w->batch->done_count >= w->count || !w->batch->waiting;
}

/* Writes up to @max ended transfers of the batch to @events, and frees their requests.
 * Returns how many. Called with the storage lock held.
 */
static unsigned report_ended(struct rn_storage_batch *b, unsigned max,
			     struct rn_storage_event *events)
{
	unsigned n = 0;

	while (n < max && b->done) {
		struct rn_storage_req *r = b->done;

		b->done = r->next;
		if (!b->done)
			b->last = &b->done;
		b->done_count--;
		b->used--;
		events[n++] = (struct rn_storage_event){ .cookie = r->io.cookie,
							 .status = r->status,
							 .result = r->result,
							 .route = r->route };
		free(r);
	}
	return n;
}

int rn_storage_batch_status(struct rn_storage_batch *b, unsigned min, unsigned max,
			    struct rn_storage_event *events, int64_t timeout_ns)
{
	rn_ns deadline = timeout_ns < 0 ? 0 : rn_host_now() + (rn_ns)timeout_ns;
	struct wanted wanted = { b, min };
	unsigned n;

	if (min > max)
		return rn_storage_fail(-EINVAL, "at least %u and at most %u", min, max);
	rn_storage_wait(has_wanted, &wanted, deadline);
	rn_storage_lock();
	n = report_ended(b, max, events);
	rn_storage_unlock();
	return (int)n;
}

static struct rn_storage_req *find_request(struct rn_storage_req *r, const void *cookie)
{
	while (r && r->io.cookie != cookie)
		r = r->next;
	return r;
}

int rn_storage_batch_peek(struct rn_storage_batch *b, const void *cookie,
			  enum rn_storage_status *status)
{
	struct rn_storage_req *r;

	rn_storage_lock();
	r = find_request(b->done, cookie);
	if (!r)
		r = find_request(b->waiting, cookie);
	if (r) {
		*status = r->status;
		if (r->status == RN_STORAGE_WAITING && r->command.has_begun)
			*status = RN_STORAGE_PENDING;
	}
	rn_storage_unlock();
	return r ? 0 : rn_storage_fail(-ENOENT, "no such transfer");
}

int rn_storage_batch_cancel(struct rn_storage_batch *b)
{
	struct rn_storage_req *taken_back[RN_STORAGE_BATCH_MAX];
	unsigned count = 0, back = 0;

	rn_storage_lock();
	for (struct rn_storage_req *r = b->waiting; r; r = r->next) {
		count++;
		if (rn_storage_req_cancel(r))
			taken_back[back++] = r;
	}
	rn_storage_unlock();
	for (unsigned i = 0; i < back; i++)
		rn_storage_req_end_cancelled(taken_back[i]);
	return (int)count;
}

static bool has_none(const void *arg)
{
	const struct rn_storage_batch *b = arg;

	return !b->waiting;
}

void rn_storage_batch_destroy(struct rn_storage_batch *b)
{
	if (!b || rn_storage_need())
		return;
	rn_storage_batch_cancel(b);
	rn_storage_wait(has_none, b, 0);
	free_list(b->done);
	free(b);
	rn_storage_object_remove();
}
