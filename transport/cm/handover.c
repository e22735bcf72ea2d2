/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handover.c - copies connections for a successor of this process; in the successor, puts
 * such copies into the table of connections.
 */
#include "cm.h"

struct rn_cm_numbers rn_cm_numbers(const struct rn_cm *cm)
{
	return (struct rn_cm_numbers){ .random = cm->random.state,
				       .secret = cm->secret,
				       .tid_count = cm->tid_count };
}

void rn_cm_set_numbers(struct rn_cm *cm, const struct rn_cm_numbers *numbers)
{
	cm->random.state = numbers->random;
	cm->secret = numbers->secret;
	cm->tid_count = numbers->tid_count;
}

uint32_t rn_cm_conn_index(const struct rn_cm *cm, const struct rn_cm_conn *conn)
{
	return (uint32_t)(conn - cm->conns);
}

struct rn_cm_conn *rn_cm_conn_at(struct rn_cm *cm, uint32_t index)
{
	return index < cm->fresh && cm->conns[index].in_use ? &cm->conns[index] : NULL;
}

struct rn_cm_listener *rn_cm_conn_listener(const struct rn_cm_conn *conn)
{
	return conn->listener;
}

bool rn_cm_next_changed(struct rn_cm *cm, uint32_t *index)
{
	struct rn_list *node = rn_list_pop_front(&cm->changed);

	if (!node)
		return false;
	*index = rn_cm_conn_index(cm, RN_CONTAINER_OF(node, struct rn_cm_conn, changed));
	return true;
}

void rn_cm_mark_changed(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	rn_cm_touch(cm, conn);
}

void rn_cm_mark_all_changed(struct rn_cm *cm)
{
	for (uint32_t i = 0; i < cm->fresh; i++)
		rn_cm_touch(cm, &cm->conns[i]);
}

/* A copy is the struct rn_cm_conn itself, without its links to other objects. */
struct saved {
	struct rn_cm_conn conn;
	bool is_armed, has_to_send;
	rn_ns deadline;
};

size_t rn_cm_saved_len(void)
{
	return sizeof(struct saved);
}

void rn_cm_conn_save(const struct rn_cm_conn *conn, void *out)
{
	struct saved s;

	memset(&s, 0, sizeof(s));
	s.conn = *conn;
	s.is_armed = rn_timer_is_armed(&conn->timer);
	s.deadline = conn->timer.deadline;
	s.has_to_send = rn_list_is_linked(&conn->tx);
	memset(&s.conn.timer, 0, sizeof(s.conn.timer));
	s.conn.info.user = NULL;
	s.conn.listener = NULL;
	s.conn.next = NULL;
	memcpy(out, &s, sizeof(s));
}

/* Initialise the entries of the table up to @index. Those among them that were not in use
 * before are put into the free list.
 */
static void extend(struct rn_cm *cm, uint32_t index)
{
	while (cm->fresh <= index) {
		struct rn_cm_conn *conn = &cm->conns[cm->fresh++];

		memset(conn, 0, sizeof(*conn));
		rn_list_init(&conn->changed);
		conn->next = cm->free;
		cm->free = conn;
	}
}

static bool take_from_free(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	struct rn_cm_conn **at = &cm->free;

	while (*at && *at != conn)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = conn->next;
	return true;
}

static bool is_valid(const struct saved *s)
{
	return s->conn.info.state < RN_CM_STATE_COUNT &&
	       s->conn.ari_len <= RN_CM_ARI_LEN && s->conn.laps_heard <= RN_CM_LAPS;
}

static void link_again(struct rn_cm *cm, struct rn_cm_conn *conn, const struct saved *s)
{
	rn_list_init(&conn->tx);
	rn_list_init(&conn->ev);
	rn_list_init(&conn->changed);
	rn_cm_index_id(cm, conn);
	conn->in_peer = conn->in_qpn = false;
	if (s->conn.in_peer)
		rn_cm_index_peer(cm, conn);
	if (s->conn.in_qpn)
		rn_cm_index_qpn(cm, conn);
	if (conn->events)
		rn_list_push_back(&cm->events, &conn->ev);
	if (s->has_to_send)
		rn_cm_say_again(cm, conn);
	if (s->is_armed)
		rn_timer_add(&cm->timers, &conn->timer, s->deadline);
}

struct rn_cm_conn *rn_cm_conn_restore(struct rn_cm *cm, uint32_t index, const void *saved,
				      size_t len, struct rn_cm_listener *listener,
				      void *user)
{
	struct rn_cm_conn *conn;
	struct saved s;

	if (len != sizeof(s) || index >= cm->cfg.conn_max)
		return NULL;
	memcpy(&s, saved, sizeof(s));
	extend(cm, index);
	conn = &cm->conns[index];
	if (!is_valid(&s) || !take_from_free(cm, conn))
		return NULL;
	*conn = s.conn;
	conn->in_use = true;
	conn->info.user = user;
	link_again(cm, conn, &s);
	if (listener) {
		conn->listener = listener;
		conn->next = listener->pending;
		listener->pending = conn;
		listener->pending_count++;
	}
	cm->count++;
	return conn;
}
