/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* id.c - the table of ids. */
#include "id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t rnd_ucma_random(struct rnd_ucma *ucma)
{
	return (uint32_t)(rn_random_next(&ucma->random) >> 32);
}

static bool grow(struct rnd_table *t)
{
	uint32_t more = t->max ? 2 * t->max : 16;
	void **at = (void **)realloc((void *)t->at, more * sizeof(*at));

	if (!at)
		return false;
	memset((void *)(at + t->max), 0, (more - t->max) * sizeof(*at));
	t->at = at;
	t->max = more;
	return true;
}

bool rnd_table_add(struct rnd_table *t, void *object, uint32_t *number)
{
	uint32_t i = 0;

	if (t->count == t->max) {
		i = t->max;
		if (!grow(t))
			return false;
	}
	while (t->at[i])
		i++;
	t->at[i] = object;
	t->count++;
	*number = i;
	return true;
}

void rnd_table_remove(struct rnd_table *t, uint32_t number)
{
	assert(rnd_table_get(t, number));
	t->at[number] = NULL;
	t->count--;
}

void *rnd_table_get(const struct rnd_table *t, uint32_t number)
{
	return number < t->max ? t->at[number] : NULL;
}

struct rnd_id *rnd_id_new(struct rnd_ucma_channel *ch, enum rn_cm_port_space ps,
			  uint8_t qp_type)
{
	struct rnd_ucma *ucma = ch->ucma;
	struct rnd_id *id = calloc(1, sizeof(*id));

	if (!id || !rnd_table_add(&ucma->ids, id, &id->number)) {
		free(id);
		return NULL;
	}
	id->ch = ch;
	id->serial = ++ucma->last_serial;
	id->port.ps = ps;
	id->qp_type = qp_type;
	id->port.v6only = ucma->cfg.v6only;
	id->psn = rnd_ucma_random(ucma) & 0xffffff;
	rn_list_init(&id->link);
	rn_list_init(&id->mcasts);
	rn_list_init(&id->port.link);
	rn_list_push_back(&ch->ids, &id->link);
	return id;
}

int rnd_id_find(struct rnd_ucma_channel *ch, uint32_t number, struct rnd_id **id)
{
	struct rnd_id *found = rnd_table_get(&ch->ucma->ids, number);

	/* One that is asked for is there when the program has seen the request. */
	if (!found || found->asked_for)
		return -ENOENT;
	if (found->ch != ch)
		return -EINVAL;
	ch->ucma->named = found;
	*id = found;
	return 0;
}

void rnd_id_destroy(struct rnd_id *id, rn_ns now)
{
	struct rnd_ucma *ucma = id->ch->ucma;

	if (ucma->named == id)
		ucma->named = NULL;
	if (ucma->reported == id)
		ucma->reported = NULL;
	rnd_id_hide(id);
	rnd_event_forget(id, NULL, now);
	while (!rn_list_is_empty(&id->mcasts))
		rnd_mcast_free(RN_CONTAINER_OF(id->mcasts.next, struct rnd_mcast, link));
	if (id->state == RND_ID_LISTEN)
		rn_cm_unlisten(ucma->cm, &id->listener);
	if (id->conn)
		rn_cm_close(ucma->cm, now, id->conn);
	rnd_port_release(&ucma->ports, &id->port);
	rn_list_remove(&id->link);
	rnd_table_remove(&ucma->ids, id->number);
	free(id);
}

static void move_id(struct rnd_id *id, struct rnd_ucma_channel *to)
{
	rn_list_remove(&id->link);
	rn_list_push_back(&to->ids, &id->link);
	id->ch = to;
}

/* Ids that are asked for stay behind their listener, which must be destroyed first. */
void rnd_id_migrate(struct rnd_id *id, struct rnd_ucma_channel *to)
{
	struct rnd_ucma_channel *from = id->ch;

	move_id(id, to);
	for (struct rn_list *l = id->mcasts.next; l != &id->mcasts; l = l->next)
		rnd_mcast_show(RN_CONTAINER_OF(l, struct rnd_mcast, link));
	for (struct rn_list *l = from->events.next, *next; l != &from->events; l = next) {
		struct rnd_event *ev = RN_CONTAINER_OF(l, struct rnd_event, link);

		next = l->next;
		if (ev->id != id)
			continue;
		if (ev->new_id)
			move_id(ev->new_id, to);
		rn_list_remove(l);
		from->event_count--;
		rn_list_push_back(&to->events, l);
		to->event_count++;
		to->ucma->cfg.ops->ready(to->ucma->cfg.ctx, to->user);
	}
}
