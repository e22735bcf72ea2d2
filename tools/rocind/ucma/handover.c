/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handover.c - copies ids, connections, multicast groups and events for a successor of
 * this process, and restores them from these copies.
 *
 * Objects that may have changed are in lists. When the command, packet or timer that has
 * changed them has been processed, they are copied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "id.h"

enum {
	NOBODY = UINT32_MAX
};

struct numbers {
	uint64_t random, last_serial, last_order;
	struct rn_cm_numbers cm;
};

/* The saved state of an id: a copy of the struct, and the numbers of the objects to which
 * its pointers point. The pointers themselves mean nothing in the copy.
 */
struct saved_id {
	struct rnd_id id;
	uint64_t channel;
	uint32_t conn; /* index of the connection, or NOBODY */
	/* number of the rdma_cm id that rnd_id.asked_for points to, or NOBODY */
	uint32_t asked_for;
	bool has_port, has_dev;
	struct rn_netdev dev;
};

struct saved_mcast {
	uint32_t id, events_reported;
	uint64_t uid;
};

struct saved_event {
	uint32_t id, mcast, new_id; /* numbers of the objects; NOBODY: none */
	struct rdma_ucm_event_resp resp;
};

/* ---- Copying objects for a successor ---- */

static void keep(const struct rnd_ucma *ucma, enum rnd_ucma_kind kind, uint64_t number,
		 const void *data, size_t len)
{
	if (ucma->cfg.ops->keep)
		ucma->cfg.ops->keep(ucma->cfg.ctx, kind, number, data, len);
}

static void keep_mcast(const struct rnd_mcast *mc)
{
	const struct saved_mcast s = { .id = mc->id->number,
				       .events_reported = mc->events_reported,
				       .uid = mc->uid };

	keep(mc->id->ch->ucma, RND_UCMA_MCAST, mc->number, &s, sizeof(s));
}

void rnd_ucma_set_number(struct rnd_ucma_channel *ch, uint64_t number)
{
	ch->number = number;
}

unsigned rnd_ucma_devs(const struct rnd_ucma_channel *ch,
		       struct rn_netdev out[RN_NETDEV_MAX])
{
	for (unsigned i = 0; i < ch->dev_count; i++)
		out[i] = ch->dev[i]->nd;
	return ch->dev_count;
}

static void keep_id(const struct rnd_id *id)
{
	const struct rnd_ucma *ucma = id->ch->ucma;
	struct saved_id s;

	memset(&s, 0, sizeof(s));
	s.id = *id;
	s.channel = id->ch->number;
	s.conn = id->conn ? rn_cm_conn_index(ucma->cfg.cm, id->conn) : NOBODY;
	s.asked_for = id->asked_for ? id->asked_for->number : NOBODY;
	s.has_port = rn_list_is_linked(&id->port.link);
	s.has_dev = id->dev != NULL;
	if (id->dev)
		s.dev = id->dev->nd;
	keep(ucma, RND_UCMA_ID, id->number, &s, sizeof(s));
}

static void keep_event(const struct rnd_ucma *ucma, const struct rnd_event *ev)
{
	struct saved_event s;

	memset(&s, 0, sizeof(s));
	s.id = ev->id->number;
	s.mcast = ev->mcast ? ev->mcast->number : NOBODY;
	s.new_id = ev->new_id ? ev->new_id->number : NOBODY;
	s.resp = ev->resp;
	keep(ucma, RND_UCMA_EVENT, ev->order, &s, sizeof(s));
}

/* Returns the size of the saved state of a connection, which consists of the number of
 * its listener and what the protocol saves.
 */
static size_t conn_copy_len(void)
{
	return sizeof(uint32_t) + rn_cm_saved_len();
}

static void keep_conn(struct rnd_ucma *ucma, uint32_t index)
{
	struct rn_cm_conn *conn = rn_cm_conn_at(ucma->cfg.cm, index);
	const struct rn_cm_listener *l;
	uint32_t listener = NOBODY;

	if (!conn) {
		rnd_ucma_forget(ucma, RND_UCMA_CONN, index);
		return;
	}
	/* The buffer is allocated once and used for all connections, because thousands of
	 * them may change within a second.
	 */
	if (!ucma->conn_copy)
		ucma->conn_copy = malloc(conn_copy_len());
	if (!ucma->conn_copy)
		return;
	l = rn_cm_conn_listener(conn);
	if (l)
		listener = ((const struct rnd_id *)l->user)->number;
	memcpy(ucma->conn_copy, &listener, sizeof(listener));
	rn_cm_conn_save(conn, ucma->conn_copy + sizeof(listener));
	keep(ucma, RND_UCMA_CONN, index, ucma->conn_copy, conn_copy_len());
}

void rnd_ucma_keep_changes(struct rnd_ucma *ucma)
{
	bool any = false;
	struct rn_list *l;
	uint32_t index;

	while ((l = rn_list_pop_front(&ucma->changed))) {
		keep_id(RN_CONTAINER_OF(l, struct rnd_id, changed));
		any = true;
	}
	while ((l = rn_list_pop_front(&ucma->changed_mcasts))) {
		keep_mcast(RN_CONTAINER_OF(l, struct rnd_mcast, changed));
		any = true;
	}
	while ((l = rn_list_pop_front(&ucma->changed_events))) {
		keep_event(ucma, RN_CONTAINER_OF(l, struct rnd_event, changed));
		any = true;
	}
	while (rn_cm_next_changed(ucma->cfg.cm, &index)) {
		keep_conn(ucma, index);
		any = true;
	}
	if (any) {
		const struct numbers n = { .random = ucma->random.state,
					   .last_serial = ucma->last_serial,
					   .last_order = ucma->last_order,
					   .cm = rn_cm_numbers(ucma->cfg.cm) };

		keep(ucma, RND_UCMA_NUMBERS, 0, &n, sizeof(n));
	}
}

void rnd_ucma_mark_all_changed(struct rnd_ucma *ucma)
{
	struct rn_list *c, *l;

	for (uint32_t i = 0; i < ucma->ids.max; i++)
		if (ucma->ids.at[i])
			rnd_id_touch(ucma->ids.at[i]);
	for (uint32_t i = 0; i < ucma->mcasts.max; i++)
		if (ucma->mcasts.at[i])
			rnd_mcast_touch(ucma->mcasts.at[i]);
	rn_list_for_each (c, &ucma->channels) {
		struct rnd_ucma_channel *ch =
			RN_CONTAINER_OF(c, struct rnd_ucma_channel, link);

		rn_list_for_each (l, &ch->events)
			rnd_event_touch(ucma, RN_CONTAINER_OF(l, struct rnd_event, link));
	}
	rn_cm_mark_all_changed(ucma->cfg.cm);
}

/* ---- Restoring objects from copies ---- */

static struct rnd_ucma_channel *find_channel(const struct rnd_ucma *ucma, uint64_t number)
{
	struct rn_list *l;

	rn_list_for_each (l, &ucma->channels) {
		struct rnd_ucma_channel *ch =
			RN_CONTAINER_OF(l, struct rnd_ucma_channel, link);

		if (ch->number == number)
			return ch;
	}
	return NULL;
}

static int restore_numbers(struct rnd_ucma *ucma, const struct numbers *n)
{
	ucma->random.state = n->random;
	ucma->last_serial = n->last_serial;
	ucma->last_order = n->last_order;
	rn_cm_set_numbers(ucma->cfg.cm, &n->cm);
	return 0;
}

/* While objects are restored, the pointers of an rdma_cm id to its connection and its
 * listener have the numbers of these objects, plus 1, as their values.
 * rnd_ucma_restored() replaces them by real pointers.
 */
static void *number_as_pointer(uint32_t number)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced */
	return number == NOBODY ? NULL : (void *)((uintptr_t)number + 1);
}

static uint32_t pointer_as_number(const void *p)
{
	return p ? (uint32_t)((uintptr_t)p - 1) : NOBODY;
}

static void link_id(struct rnd_ucma *ucma, struct rnd_id *id, const struct saved_id *s,
		    struct rnd_ucma_channel *ch)
{
	rn_list_init(&id->link);
	rn_list_init(&id->changed);
	rn_list_init(&id->mcasts);
	rn_list_init(&id->port.link);
	id->ch = ch;
	rn_list_push_back(&ch->ids, &id->link);
	id->conn = number_as_pointer(s->conn);
	id->asked_for = number_as_pointer(s->asked_for);
	if (s->has_port)
		rnd_port_restore(&ucma->ports, &id->port);
	id->listener.user = id;
	if (id->state == RND_ID_LISTEN && rn_cm_listen(ucma->cfg.cm, &id->listener))
		id->state = RND_ID_BOUND;
}

static int restore_id(struct rnd_ucma *ucma, uint64_t number, const struct saved_id *s)
{
	struct rnd_ucma_channel *ch = find_channel(ucma, s->channel);
	struct rnd_id *id;

	if (!ch || number != s->id.number || s->id.state > RND_ID_DISCONNECT)
		return -EINVAL;
	id = malloc(sizeof(*id));
	if (!id)
		return -ENOMEM;
	*id = s->id;
	id->dev = s->has_dev ? rnd_know_dev(ucma, &s->dev) : NULL;
	if ((s->has_dev && !id->dev) || !rnd_table_put(&ucma->ids, id, id->number)) {
		free(id);
		return -ENOMEM;
	}
	link_id(ucma, id, s, ch);
	return 0;
}

static int restore_conn(struct rnd_ucma *ucma, uint64_t index, const uint8_t *data,
			size_t len)
{
	struct rn_cm_listener *l = NULL;
	uint32_t listener;

	memcpy(&listener, data, sizeof(listener));
	if (listener != NOBODY) {
		struct rnd_id *id = rnd_table_get(&ucma->ids, listener);

		l = id && id->state == RND_ID_LISTEN ? &id->listener : NULL;
	}
	return rn_cm_conn_restore(ucma->cfg.cm, (uint32_t)index, data + sizeof(listener),
				  len - sizeof(listener), l, NULL)
		       ? 0
		       : -EINVAL;
}

static int restore_mcast(struct rnd_ucma *ucma, uint64_t number,
			 const struct saved_mcast *s)
{
	struct rnd_id *id = rnd_table_get(&ucma->ids, s->id);
	struct rnd_mcast *mc;

	if (!id)
		return -EINVAL;
	mc = calloc(1, sizeof(*mc));
	if (!mc || !rnd_table_put(&ucma->mcasts, mc, (uint32_t)number)) {
		free(mc);
		return -ENOMEM;
	}
	mc->number = (uint32_t)number;
	mc->id = id;
	mc->events_reported = s->events_reported;
	mc->uid = s->uid;
	rn_list_init(&mc->link);
	rn_list_init(&mc->changed);
	rn_list_push_back(&id->mcasts, &mc->link);
	return 0;
}

static int restore_event(struct rnd_ucma *ucma, uint64_t order,
			 const struct saved_event *s)
{
	struct rnd_id *id = rnd_table_get(&ucma->ids, s->id);
	struct rnd_event *ev;

	if (!id)
		return -EINVAL;
	ev = calloc(1, sizeof(*ev));
	if (!ev)
		return -ENOMEM;
	ev->id = id;
	ev->mcast = rnd_table_get(&ucma->mcasts, s->mcast);
	ev->new_id = rnd_table_get(&ucma->ids, s->new_id);
	ev->order = order;
	ev->resp = s->resp;
	rn_list_init(&ev->changed);
	rn_list_init(&ev->link);
	rn_list_push_back(&id->ch->events, &ev->link);
	id->ch->event_count++;
	return 0;
}

int rnd_ucma_restore(struct rnd_ucma *ucma, enum rnd_ucma_kind kind, uint64_t number,
		     const void *data, size_t len)
{
	union {
		struct numbers numbers;
		struct saved_id id;
		struct saved_mcast mcast;
		struct saved_event event;
	} s;
	const size_t want[] = {
		[RND_UCMA_NUMBERS] = sizeof(s.numbers),
		[RND_UCMA_ID] = sizeof(s.id),
		[RND_UCMA_CONN] = conn_copy_len(),
		[RND_UCMA_MCAST] = sizeof(s.mcast),
		[RND_UCMA_EVENT] = sizeof(s.event),
	};

	if (kind >= RND_UCMA_KINDS || len != want[kind])
		return -EINVAL;
	if (kind == RND_UCMA_CONN)
		return restore_conn(ucma, number, data, len);
	memcpy(&s, data, len);
	switch (kind) {
	case RND_UCMA_NUMBERS:
		return restore_numbers(ucma, &s.numbers);
	case RND_UCMA_ID:
		return restore_id(ucma, number, &s.id);
	case RND_UCMA_MCAST:
		return restore_mcast(ucma, number, &s.mcast);
	case RND_UCMA_EVENT:
		return restore_event(ucma, number, &s.event);
	case RND_UCMA_CONN:
	case RND_UCMA_KINDS:
		break;
	}
	return -EINVAL;
}

void rnd_ucma_restored(struct rnd_ucma *ucma)
{
	struct rn_list *l;

	for (uint32_t i = 0; i < ucma->ids.max; i++) {
		struct rnd_id *id = ucma->ids.at[i];

		if (!id)
			continue;
		id->asked_for =
			rnd_table_get(&ucma->ids, pointer_as_number(id->asked_for));
		id->conn = rn_cm_conn_at(ucma->cfg.cm, pointer_as_number(id->conn));
		if (id->conn)
			rn_cm_set_user(id->conn, id);
		/* The rdma_cm id of a connection request must be behind its listener in
		 * the list: when the channel is closed, ids are destroyed in the order of
		 * the list, and the listener must be destroyed first.
		 */
		if (id->asked_for) {
			rn_list_remove(&id->link);
			rn_list_push_back(&id->ch->ids, &id->link);
		}
	}
	for (uint32_t i = 0; i < ucma->ids.max; i++)
		if (ucma->ids.at[i])
			rnd_id_show(ucma->ids.at[i]);
	rn_list_for_each (l, &ucma->channels) {
		struct rnd_ucma_channel *ch =
			RN_CONTAINER_OF(l, struct rnd_ucma_channel, link);

		ucma->cfg.ops->ready(ucma->cfg.ctx, ch->user);
	}
}
