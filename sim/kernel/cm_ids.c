/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_ids.c - the rdma_cm ids as this process sees them, also after rocind has ended; see
 * cm_ids.h.
 */
#include "cm_ids.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	EV_DEVICE_REMOVAL = 11, /* enum rdma_cm_event_type, <rdma/rdma_cma.h> */
};

/* ---- Boards: memory that rocind shares for reading ---- */

/* A mapped board: a table of rdma_cm ids that rocind shares with this process for reading
 * (cm_board.h). The list has the board of each rocind to which this process has opened a
 * channel, the newest first. When another rocind replaces a running one, it takes over
 * the channels, and has a board of its own. If two boards have entries for the same
 * channel, the newer board is valid. A list entry is complete before it becomes visible,
 * and is never removed, because another thread may be reading it.
 */
struct board {
	const struct rn_cm_board_memory *mem;
	struct board *next;
};
static _Atomic(struct board *) boards;

/* Maps a board, unless it is mapped already. If there is no memory for the mapping, the
 * board is not used. Then queries go to rocind, and when rocind ends, the program gets no
 * DEVICE_REMOVAL.
 */
void rnk_cm_ids_take_board(int fd)
{
	struct board *head = atomic_load(&boards), *b;
	const struct rn_cm_board_memory *mem;

	for (b = head; b; b = b->next)
		if (rn_cm_board_is_in(b->mem, fd))
			return;
	mem = rn_cm_board_map(fd);
	b = mem ? malloc(sizeof(*b)) : NULL;
	if (!b)
		return;
	*b = (struct board){ .mem = mem, .next = head };
	while (!atomic_compare_exchange_weak(&boards, &b->next, b))
		;
}

/* Returns the board that shows the ids of the channel, or NULL. */
static const struct rn_cm_board_memory *board_of(uint64_t channel)
{
	const struct board *b = atomic_load(&boards);

	while (b && !rn_cm_board_is_of(b->mem, channel))
		b = b->next;
	return b ? b->mem : NULL;
}

bool rnk_cm_ids_read(uint64_t channel, uint32_t number, struct rn_cm_answers *out)
{
	return rn_cm_board_read(board_of(channel), channel, number, out);
}

bool rnk_cm_ids_read_life(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
			  struct rn_cm_life *out)
{
	return rn_cm_board_read_life(board_of(channel), kind, channel, number, out);
}

/* ---- Ids that were removed or destroyed since rocind ended ---- */

struct since {
	uint64_t channel;
	enum rn_cm_kind kind;
	uint32_t number;
	/* the program was told that the id's device was removed (DEVICE_REMOVAL) */
	bool is_told;
	bool has_ended;
};

/* Tree (tsearch(3)) of struct since, sorted by channel, kind and number. It has an entry
 * for each id for which DEVICE_REMOVAL was reported, or which was destroyed, after rocind
 * had ended.
 */
static void *tree;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void prepare_for_fork(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

static int by_number(const void *a_, const void *b_)
{
	const struct since *a = a_, *b = b_;

	if (a->channel != b->channel)
		return a->channel < b->channel ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static struct since *find(enum rn_cm_kind kind, uint64_t channel, uint32_t number)
{
	const struct since key = { .channel = channel, .kind = kind, .number = number };
	void *node = tfind(&key, &tree, by_number);

	return node ? *(struct since **)node : NULL;
}

/* Returns the entry of an id in the tree, which is added if there is none. Returns NULL
 * if there is no memory.
 */
static struct since *enter(enum rn_cm_kind kind, uint64_t channel, uint32_t number)
{
	struct since *s = find(kind, channel, number);

	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct since){ .channel = channel, .kind = kind, .number = number };
	if (tsearch(s, &tree, by_number))
		return s;
	free(s);
	return NULL;
}

/* ---- Answers in place of rocind, after it has ended ---- */

/* Returns true if DEVICE_REMOVAL must be reported for the id and has not been yet. It is
 * reported once for each id that is bound to a device and has a uid.
 */
static bool is_to_be_told(uint64_t channel, uint32_t number, struct rn_cm_life *life)
{
	const struct since *s;

	if (!rnk_cm_ids_read_life(RN_CM_KIND_ID, channel, number, life) ||
	    !life->has_device || !life->uid)
		return false;
	s = find(RN_CM_KIND_ID, channel, number);
	return !s || !(s->is_told || s->has_ended);
}

static bool find_untold(uint64_t channel, uint32_t *number, struct rn_cm_life *life)
{
	const struct rn_cm_board_memory *mem = board_of(channel);
	uint32_t count = mem ? rn_cm_board_lives(mem, RN_CM_KIND_ID) : 0;

	for (*number = 0; *number < count; ++*number)
		if (is_to_be_told(channel, *number, life))
			return true;
	return false;
}

static int tell_one(uint64_t channel, struct rdma_ucm_event_resp *resp)
{
	struct rn_cm_life life;
	struct since *s;
	uint32_t number;

	if (!find_untold(channel, &number, &life))
		return -ENODEV;
	s = enter(RN_CM_KIND_ID, channel, number);
	if (!s)
		return -ENODEV;
	s->is_told = true;
	*resp = (struct rdma_ucm_event_resp){ .event = EV_DEVICE_REMOVAL,
					      .uid = life.uid,
					      .id = number };
	return 0;
}

int rnk_cm_ids_get_event(uint64_t channel, void *out, size_t out_len)
{
	const size_t len = offsetof(struct rdma_ucm_event_resp, reserved);
	struct rdma_ucm_event_resp resp;
	int rc;

	if (out_len < len)
		return -ENOSPC;
	pthread_once(&fork_once, prepare_for_fork);
	pthread_mutex_lock(&lock);
	rc = tell_one(channel, &resp);
	pthread_mutex_unlock(&lock);
	if (rc == 0)
		memcpy(out, &resp, out_len < sizeof(resp) ? len : sizeof(resp));
	return rc;
}

static int end_one(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
		   uint32_t *events_reported)
{
	struct since *s = enter(kind, channel, number);

	if (!s || s->has_ended)
		return -ENODEV;
	s->has_ended = true;
	*events_reported += s->is_told;
	return 0;
}

int rnk_cm_ids_end(enum rn_cm_kind kind, uint64_t channel, uint32_t number,
		   const struct rn_cm_life *life, void *out, size_t out_len)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rn_cm_life last;
	int rc;

	if (rnk_cm_ids_read_life(kind, channel, number, &last))
		life = &last;
	if (!life)
		return -ENODEV;
	if (out_len < sizeof(resp))
		return -ENOSPC;
	resp.events_reported = life->events_reported;
	pthread_once(&fork_once, prepare_for_fork);
	pthread_mutex_lock(&lock);
	rc = end_one(kind, channel, number, &resp.events_reported);
	pthread_mutex_unlock(&lock);
	if (rc == 0)
		memcpy(out, &resp, sizeof(resp));
	return rc;
}
