/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event.c - the queue of a channel. */
#include <stdlib.h>

#include "id.h"

struct rnd_event *rnd_event_queue(struct rnd_id *id, enum rnd_event_type type, int status)
{
	struct rnd_ucma_channel *ch = id->ch;
	/* As long as the program has not accepted, it does not know the id. */
	struct rnd_event *ev = id->uid ? calloc(1, sizeof(*ev)) : NULL;

	if (!ev)
		return NULL;
	ev->id = id;
	ev->resp.uid = id->uid;
	ev->resp.id = id->number;
	ev->resp.event = type;
	ev->resp.status = (uint32_t)status;
	rn_list_init(&ev->link);
	rn_list_push_back(&ch->events, &ev->link);
	ch->event_count++;
	ch->ucma->cfg.ops->ready(ch->ucma->cfg.ctx, ch->user);
	return ev;
}

void rnd_event_free(struct rnd_event *ev)
{
	ev->id->ch->event_count--;
	rn_list_remove(&ev->link);
	free(ev);
}

void rnd_event_forget(struct rnd_id *id, const struct rnd_mcast *mcast, rn_ns now)
{
	struct rn_list *head = &id->ch->events;

	for (struct rn_list *l = head->next, *next; l != head; l = next) {
		struct rnd_event *ev = RN_CONTAINER_OF(l, struct rnd_event, link);
		struct rnd_id *asked_for = ev->new_id;

		next = l->next;
		if (ev->id != id || (mcast && ev->mcast != mcast))
			continue;
		rnd_event_free(ev);
		/* Nobody can answer that request any more. */
		if (asked_for)
			rnd_id_destroy(asked_for, now);
	}
}
