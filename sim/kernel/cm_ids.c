/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_ids.c - see cm_ids.h. A tree by channel, kind and number (tsearch(3)). */
#include "cm_ids.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* enum rdma_cm_event_type, <rdma/rdma_cma.h> */
enum {
	EV_ADDR_RESOLVED = 0,
	EV_CONNECT_REQUEST = 4,
	EV_DEVICE_REMOVAL = 11,
	EV_MULTICAST_JOIN = 12,
	EV_MULTICAST_ERROR = 13,
};

enum kind {
	ID,
	MCAST,
};

struct known {
	uint64_t channel;
	enum kind kind;
	uint32_t number;
	uint64_t uid; /* 0: the program has not accepted it yet */
	uint32_t events_reported;
	bool has_device, is_removed;
	uint32_t joined_by; /* of MCAST: its id */
};

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

/* ---- The tree ---- */

static int by_number(const void *a_, const void *b_)
{
	const struct known *a = a_, *b = b_;

	if (a->channel != b->channel)
		return a->channel < b->channel ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static struct known *find(uint64_t channel, enum kind kind, uint32_t number)
{
	const struct known key = { .channel = channel, .kind = kind, .number = number };
	void *node = tfind(&key, &tree, by_number);

	return node ? *(struct known **)node : NULL;
}

/* Out of memory: it will not hear of the device's end. */
static struct known *enter(uint64_t channel, enum kind kind, uint32_t number)
{
	struct known *k = find(channel, kind, number);

	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k)
			return NULL;
		k->channel = channel;
		k->kind = kind;
		k->number = number;
		if (!tsearch(k, &tree, by_number)) {
			free(k);
			return NULL;
		}
	}
	*k = (struct known){ .channel = channel, .kind = kind, .number = number };
	return k;
}

static uint32_t forget(struct known *k)
{
	uint32_t events_reported = k->events_reported;

	tdelete(k, &tree, by_number);
	free(k);
	return events_reported;
}

struct search {
	uint64_t channel;
	uint32_t joined_by;
	bool (*is)(const struct search *s, const struct known *k);
	struct known *found;
};

static void look_at(const void *node, VISIT which, void *arg)
{
	struct known *k = *(struct known *const *)node;
	struct search *s = arg;

	if ((which == postorder || which == leaf) && !s->found &&
	    k->channel == s->channel && s->is(s, k))
		s->found = k;
}

/* The first that the search is for. */
static struct known *search(struct search *s)
{
	s->found = NULL;
	twalk_r(tree, look_at, s);
	return s->found;
}

static bool is_joined_by(const struct search *s, const struct known *k)
{
	return k->kind == MCAST && k->joined_by == s->joined_by;
}

static bool is_to_be_removed(const struct search *s, const struct known *k)
{
	(void)s;
	return k->kind == ID && k->has_device && k->uid && !k->is_removed;
}

/* ---- What commands say ---- */

/* As much as there is; the rest is zero. */
static void take(const struct rnk_cm_deed *d, void *cmd, size_t len)
{
	memset(cmd, 0, len);
	memcpy(cmd, d->in, d->in_len < len ? d->in_len : len);
}

static uint32_t number_at(const struct rnk_cm_deed *d, size_t at)
{
	uint32_t number = 0;

	if (d->in_len >= at + sizeof(number))
		memcpy(&number, (const char *)d->in + at, sizeof(number));
	return number;
}

/* Where each command has the number of its id. */
static const struct {
	bool has_id;
	uint16_t at;
} id_place[] = {
#define AT(cmd, type, field) [RDMA_USER_CM_CMD_##cmd] = { true, offsetof(type, field) }
	AT(DESTROY_ID, struct rdma_ucm_destroy_id, id),
	AT(BIND_IP, struct rdma_ucm_bind_ip, id),
	AT(RESOLVE_IP, struct rdma_ucm_resolve_ip, id),
	AT(RESOLVE_ROUTE, struct rdma_ucm_resolve_route, id),
	AT(QUERY_ROUTE, struct rdma_ucm_query, id),
	AT(INIT_QP_ATTR, struct rdma_ucm_init_qp_attr, id),
	AT(LISTEN, struct rdma_ucm_listen, id),
	AT(REJECT, struct rdma_ucm_reject, id),
	AT(DISCONNECT, struct rdma_ucm_disconnect, id),
	AT(SET_OPTION, struct rdma_ucm_set_option, id),
	AT(NOTIFY, struct rdma_ucm_notify, id),
	AT(JOIN_IP_MCAST, struct rdma_ucm_join_ip_mcast, id),
	AT(MIGRATE_ID, struct rdma_ucm_migrate_id, id),
	AT(QUERY, struct rdma_ucm_query, id),
	AT(BIND, struct rdma_ucm_bind, id),
	AT(RESOLVE_ADDR, struct rdma_ucm_resolve_addr, id),
	AT(JOIN_MCAST, struct rdma_ucm_join_mcast, id),
	AT(CONNECT, struct rdma_ucm_connect, id),
	AT(ACCEPT, struct rdma_ucm_accept, id),
#undef AT
};

/* Of the id that the command names; NULL: it names none that is known. */
static struct known *named(const struct rnk_cm_deed *d)
{
	if (d->cmd >= sizeof(id_place) / sizeof(id_place[0]) || !id_place[d->cmd].has_id)
		return NULL;
	return find(d->channel, ID, number_at(d, id_place[d->cmd].at));
}

static bool is_wildcard(const void *sa)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	memcpy(&v6, sa, sizeof(v6));
	memcpy(&v4, sa, sizeof(v4));
	return v6.sin6_family == AF_INET ? v4.sin_addr.s_addr == INADDR_ANY
					 : IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

/* ---- Learning ---- */

static void note_new_id(const struct rnk_cm_deed *d)
{
	struct rdma_ucm_create_id cmd;
	struct rdma_ucm_create_id_resp resp;
	struct known *k;

	take(d, &cmd, sizeof(cmd));
	memcpy(&resp, d->out, sizeof(resp));
	k = enter(d->channel, ID, resp.id);
	if (k)
		k->uid = cmd.uid;
}

static void note_join(const struct rnk_cm_deed *d)
{
	const struct known *id = named(d);
	struct rdma_ucm_create_id_resp resp;
	struct known *k;

	memcpy(&resp, d->out, sizeof(resp));
	k = enter(d->channel, MCAST, resp.id);
	if (k && id)
		k->joined_by = id->number;
}

static void note_bind(const struct rnk_cm_deed *d)
{
	struct known *k = named(d);
	struct rdma_ucm_bind_ip ip;
	struct rdma_ucm_bind any;

	take(d, &ip, sizeof(ip));
	take(d, &any, sizeof(any));
	if (k && !is_wildcard(d->cmd == RDMA_USER_CM_CMD_BIND ? (void *)&any.addr
							      : (void *)&ip.addr))
		k->has_device = true;
}

static void note_accept(const struct rnk_cm_deed *d)
{
	struct rdma_ucm_accept cmd;
	struct known *k = named(d);

	take(d, &cmd, sizeof(cmd));
	if (k && cmd.conn_param.valid)
		k->uid = cmd.uid;
}

static void note_event(const struct rnk_cm_deed *d)
{
	struct known *k = find(d->channel, ID, d->about);
	struct rdma_ucm_event_resp resp = { 0 };

	memcpy(&resp, d->out, offsetof(struct rdma_ucm_event_resp, param));
	if (k) {
		k->events_reported++;
		k->has_device |= resp.event == EV_ADDR_RESOLVED;
	}
	if (resp.event == EV_CONNECT_REQUEST) {
		k = enter(d->channel, ID, resp.id);
		if (k)
			k->has_device = true;
	} else if (resp.event == EV_MULTICAST_JOIN || resp.event == EV_MULTICAST_ERROR) {
		k = find(d->channel, MCAST, resp.id);
		if (k)
			k->events_reported++;
	}
}

static void move(struct known *k, uint64_t to)
{
	struct known moved = *k;

	forget(k);
	moved.channel = to;
	k = enter(to, moved.kind, moved.number);
	if (k)
		*k = moved;
}

/* With the groups that it has joined. */
static void note_migration(const struct rnk_cm_deed *d)
{
	uint32_t number = number_at(d, offsetof(struct rdma_ucm_migrate_id, id));
	struct search s = { .channel = d->from, .joined_by = number, .is = is_joined_by };
	struct known *k = find(d->from, ID, number);

	if (!k || d->from == d->channel)
		return;
	move(k, d->channel);
	while ((k = search(&s)))
		move(k, d->channel);
}

static void note(const struct rnk_cm_deed *d)
{
	struct known *k;

	switch (d->cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		note_new_id(d);
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
	case RDMA_USER_CM_CMD_BIND:
		note_bind(d);
		break;
	case RDMA_USER_CM_CMD_ACCEPT:
		note_accept(d);
		break;
	case RDMA_USER_CM_CMD_GET_EVENT:
		note_event(d);
		break;
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
	case RDMA_USER_CM_CMD_JOIN_MCAST:
		note_join(d);
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		note_migration(d);
		break;
	case RDMA_USER_CM_CMD_DESTROY_ID:
		k = named(d);
		if (k)
			forget(k);
		break;
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		k = find(d->channel, MCAST,
			 number_at(d, offsetof(struct rdma_ucm_destroy_id, id)));
		if (k)
			forget(k);
		break;
	default:
		break;
	}
}

void rnk_cm_ids_note(const struct rnk_cm_deed *deed)
{
	pthread_once(&fork_once, prepare_for_fork);
	pthread_mutex_lock(&lock);
	note(deed);
	pthread_mutex_unlock(&lock);
}

/* ---- In rocind's place ---- */

static int get_event(const struct rnk_cm_deed *d)
{
	const size_t len = offsetof(struct rdma_ucm_event_resp, reserved);
	struct rdma_ucm_event_resp resp = { .event = EV_DEVICE_REMOVAL };
	struct search s = { .channel = d->channel, .is = is_to_be_removed };
	struct known *k;

	if (d->out_len < len)
		return -ENOSPC;
	k = search(&s);
	if (!k)
		return -ENODEV;
	k->is_removed = true;
	k->events_reported++;
	resp.uid = k->uid;
	resp.id = k->number;
	memcpy(d->out, &resp, d->out_len < sizeof(resp) ? len : sizeof(resp));
	return 0;
}

static int destroy(const struct rnk_cm_deed *d, struct known *k)
{
	struct rdma_ucm_destroy_id_resp resp;

	if (!k)
		return -ENODEV;
	if (d->out_len < sizeof(resp))
		return -ENOSPC;
	resp.events_reported = forget(k);
	memcpy(d->out, &resp, sizeof(resp));
	return 0;
}

static int obey(const struct rnk_cm_deed *d)
{
	const struct known *k;

	switch (d->cmd) {
	case RDMA_USER_CM_CMD_GET_EVENT:
		return get_event(d);
	case RDMA_USER_CM_CMD_DESTROY_ID:
		return destroy(d, named(d));
	case RDMA_USER_CM_CMD_LEAVE_MCAST:
		return destroy(
			d, find(d->channel, MCAST,
				number_at(d, offsetof(struct rdma_ucm_destroy_id, id))));
	default:
		k = named(d);
		return k && k->has_device ? -EIO : -ENODEV;
	}
}

int rnk_cm_ids_obey(const struct rnk_cm_deed *deed)
{
	int rc;

	pthread_once(&fork_once, prepare_for_fork);
	pthread_mutex_lock(&lock);
	rc = obey(deed);
	pthread_mutex_unlock(&lock);
	return rc;
}
