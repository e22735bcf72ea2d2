/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* wr_batch.c - requests gather from ibv_wr_start() on and are posted by
 * ibv_wr_complete().
 *
 * They gather here, with the bytes of inline data, under a lock of the QP: the engine is
 * not held up by a program that takes its time. ibv_wr_complete() posts all or, if any
 * cannot be posted, none.
 */
#include <stdlib.h>

#include "watch.h"
#include "wr.h"

void *rnp_wr_append(struct rnp_wr_array *a, size_t item_size, size_t n)
{
	size_t room = a->room ? a->room : 16;
	void *item;

	while (room < a->count + n)
		room *= 2;
	if (room > a->room) {
		item = realloc(a->item, room * item_size);
		if (!item)
			return NULL;
		a->item = item;
		a->room = room;
	}
	a->count += n;
	return (char *)a->item + (a->count - n) * item_size;
}

struct rnp_wr_entry *rnp_wr_last(struct rnp_wr_list *list)
{
	struct rnp_wr_entry *entry = list->entries.item;

	if (list->err)
		return NULL;
	if (list->entries.count == 0) {
		list->err = EINVAL; /* a setter before any request */
		return NULL;
	}
	return &entry[list->entries.count - 1];
}

/* ---------------------------------------------------------------- start and complete */
static void forget(struct rnp_wr_list *list)
{
	list->entries.count = list->sges.count = list->bytes.count = 0;
	list->err = 0;
}

static bool in_copy(struct ibv_qp_ex *ex)
{
	return rnp_is_copy(to_rnp_qp(&ex->qp_base)->ctx);
}

void rnp_wr_start(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		pthread_mutex_lock(&rnp_wr_list_of(ex)->lock);
	forget(rnp_wr_list_of(ex));
}

void rnp_wr_abort(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		pthread_mutex_unlock(&rnp_wr_list_of(ex)->lock);
}

/* The arrays no longer move: turn places into pointers. Inline data becomes one entry,
 * @inline_sge, which must live as long as the request is looked at.
 */
static void settle(const struct rnp_wr_list *list, struct rnp_wr_entry *entry,
		   struct rn_sge *inline_sge)
{
	struct rn_send_wr *wr = &entry->wr;

	if (wr->av)
		wr->av = &entry->av;
	if (wr->flags & RN_SEND_INLINE) {
		*inline_sge = (struct rn_sge){
			.addr = (uintptr_t)list->bytes.item + entry->inline_at,
			.len = entry->inline_len,
		};
		wr->sg = inline_sge;
	} else {
		wr->sg = (const struct rn_sge *)list->sges.item + entry->sge_at;
	}
}

/* Engine lock held. @posted: NULL: only ask whether it would work. A positive errno. */
static int walk(struct rnp_qp *qp, struct rnp_posted *posted)
{
	struct rnp_wr_list *list = qp->wr;
	struct rnp_wr_entry *entry = list->entries.item;
	int rc = 0;

	for (size_t i = 0; i < list->entries.count && !rc; i++) {
		struct rn_send_wr *wr = &entry[i].wr;
		struct rn_sge inline_sge;

		settle(list, &entry[i], &inline_sge);
		rc = posted ? rnp_watch_post_send(qp, posted->now, wr)
			    : rn_qp_check_send(qp->core, wr);
		if (posted)
			rnp_posted_add(posted, wr);
	}
	return -rc;
}

static int post_list(struct rnp_qp *qp)
{
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_posted posted = { 0 };
	int cancel = rnp_enter(e);
	int rc = 0;

	rnp_pcie_doorbell(rnp_engine_pcie(e));
	if (qp->wr->entries.count > rn_qp_sq_room(qp->core))
		rc = ENOMEM;
	if (!rc)
		rc = walk(qp, NULL);
	posted.now = rnp_engine_send_time(e, qp->core);
	if (!rc)
		rc = walk(qp, &posted);
	if (!rc)
		rnp_engine_posted(e, qp->core, &posted);
	rnp_leave(e, cancel);
	return rc;
}

int rnp_wr_complete(struct ibv_qp_ex *ex)
{
	struct rnp_qp *qp = to_rnp_qp(&ex->qp_base);
	struct rnp_wr_list *list = qp->wr;
	int rc = list->err;

	if (in_copy(ex))
		return rnp_tell_errno(EIO);
	if (!rc && list->entries.count)
		rc = post_list(qp);
	pthread_mutex_unlock(&list->lock);
	return rnp_tell_errno(rc);
}

/* ------------------------------------------------------------------- life of a batch */
int rnp_wr_batch_new(struct rnp_qp *qp)
{
	qp->wr = calloc(1, sizeof(*qp->wr));
	if (!qp->wr)
		return ENOMEM;
	pthread_mutex_init(&qp->wr->lock, NULL);
	return 0;
}

void rnp_wr_fini(struct rnp_qp *qp)
{
	if (!qp->wr)
		return;
	free(qp->wr->entries.item);
	free(qp->wr->sges.item);
	free(qp->wr->bytes.item);
	free(qp->wr);
}
