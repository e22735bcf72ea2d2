/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* table.c - the table of connections and the hash chains to find them; and finding the
 * listener of a request, by service ID and leading bytes of private data.
 */
#include "cm.h"

enum {
	BLOCK_ALIGN = 16,
	CHAINS_MAX = 1 << 20,
};

/* Number of hash chains, a power of two, so that a chain has one or two entries if the
 * table is full.
 */
static uint32_t chain_count(uint32_t conn_max)
{
	uint32_t n = 16;

	while (n < conn_max && n < CHAINS_MAX)
		n *= 2;
	return n;
}

static size_t align_up(size_t size)
{
	return (size + BLOCK_ALIGN - 1) & ~(size_t)(BLOCK_ALIGN - 1);
}

size_t rn_cm_size(uint32_t conn_max)
{
	return align_up(sizeof(struct rn_cm)) +
	       3 * (size_t)chain_count(conn_max) * sizeof(struct rn_hnode *) +
	       (size_t)conn_max * sizeof(struct rn_cm_conn);
}

struct rn_cm *rn_cm_init(void *block, const struct rn_cm_cfg *cfg)
{
	struct rn_cm *cm = block;
	uint32_t chains = chain_count(cfg->conn_max);
	struct rn_hnode **bucket = (void *)((char *)block + align_up(sizeof(*cm)));

	assert(cfg->conn_max > 0);
	memset(cm, 0, sizeof(*cm));
	memset(bucket, 0, 3 * (size_t)chains * sizeof(struct rn_hnode *));
	cm->cfg = *cfg;
	if (!cm->cfg.resp_timeout)
		cm->cfg.resp_timeout = RN_CM_RESP_TIMEOUT;
	if (!cm->cfg.ack_delay)
		cm->cfg.ack_delay = RN_CM_ACK_DELAY_DEFAULT;
	if (!cm->cfg.max_retries)
		cm->cfg.max_retries = RN_CM_MAX_RETRIES;
	if (!cm->cfg.timeout_scale)
		cm->cfg.timeout_scale = 1;
	assert(cm->cfg.timeout_scale <= 1000);
	assert(cm->cfg.resp_timeout <= 31);
	assert(cm->cfg.ack_delay <= 31);
	assert(cm->cfg.max_retries <= 15);
	cm->random.state = cfg->seed;
	cm->secret = rn_random_next(&cm->random);
	cm->tid_count = rn_random_next(&cm->random) >> 40;
	rn_list_init(&cm->tx);
	rn_list_init(&cm->events);
	cm->by_id = (struct rn_cm_index){ bucket, chains - 1 };
	cm->by_peer = (struct rn_cm_index){ bucket + chains, chains - 1 };
	cm->by_qpn = (struct rn_cm_index){ bucket + 2 * (size_t)chains, chains - 1 };
	cm->conns = (void *)(bucket + 3 * (size_t)chains);
	return cm;
}

uint32_t rn_cm_conn_count(const struct rn_cm *cm)
{
	return cm->count;
}

/* ---- Chains ---- */

static struct rn_hnode **chain(const struct rn_cm_index *index, uint32_t key)
{
	return &index->bucket[key & index->mask];
}

static void link_in(struct rn_cm_index *index, struct rn_hnode *node, uint32_t key)
{
	struct rn_hnode **head = chain(index, key);

	node->key = key;
	node->next = *head;
	*head = node;
}

static void take_out(struct rn_cm_index *index, struct rn_hnode *node)
{
	struct rn_hnode **at = chain(index, node->key);

	while (*at != node) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = node->next;
}

/* Peers choose their communication IDs and QPNs. The hash contains a secret, so that
 * nobody can choose them so as to make long chains.
 */
static uint32_t hash(const struct rn_cm *cm, const struct rn_gid *addr, uint64_t guid,
		     uint32_t number)
{
	uint64_t z = rn_random_mix(cm->secret ^ rn_get_be64(addr->raw));

	z = rn_random_mix(z ^ rn_get_be64(addr->raw + 8));
	z = rn_random_mix(z ^ guid);
	return (uint32_t)rn_random_mix(z ^ number);
}

static struct rn_cm_conn *find_id(const struct rn_cm *cm, uint32_t id)
{
	for (struct rn_hnode *n = *chain(&cm->by_id, id); n; n = n->next)
		if (n->key == id)
			return RN_CONTAINER_OF(n, struct rn_cm_conn, by_id);
	return NULL;
}

static bool is_from(const struct rn_cm_conn *conn, const struct rn_gid *addr,
		    uint64_t guid)
{
	return conn->info.remote_guid == guid &&
	       rn_cm_same_gid(&conn->info.flow.dst, addr);
}

struct rn_cm_conn *rn_cm_find(struct rn_cm *cm, const struct rn_cm_in *in,
			      uint32_t local_id, uint32_t remote_id)
{
	struct rn_cm_conn *conn = find_id(cm, local_id);

	if (!conn || (conn->info.remote_id && conn->info.remote_id != remote_id))
		return NULL;
	return rn_cm_same_gid(&conn->info.flow.dst, &in->flow->src) ? conn : NULL;
}

struct rn_cm_conn *rn_cm_find_peer(struct rn_cm *cm, const struct rn_gid *addr,
				   uint64_t guid, uint32_t remote_id)
{
	uint32_t key = hash(cm, addr, guid, remote_id);

	for (struct rn_hnode *n = *chain(&cm->by_peer, key); n; n = n->next) {
		struct rn_cm_conn *c = RN_CONTAINER_OF(n, struct rn_cm_conn, by_peer);

		if (c->info.remote_id == remote_id && is_from(c, addr, guid))
			return c;
	}
	return NULL;
}

struct rn_cm_conn *rn_cm_find_qpn(struct rn_cm *cm, const struct rn_gid *addr,
				  uint64_t guid, uint32_t qpn)
{
	uint32_t key = hash(cm, addr, guid, qpn);

	for (struct rn_hnode *n = *chain(&cm->by_qpn, key); n; n = n->next) {
		struct rn_cm_conn *c = RN_CONTAINER_OF(n, struct rn_cm_conn, by_qpn);

		if (c->info.qp.dest_qpn == qpn && is_from(c, addr, guid))
			return c;
	}
	return NULL;
}

void rn_cm_index_peer(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	assert(!conn->in_peer);
	link_in(&cm->by_peer, &conn->by_peer,
		hash(cm, &conn->info.flow.dst, conn->info.remote_guid,
		     conn->info.remote_id));
	conn->in_peer = true;
}

void rn_cm_index_qpn(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	assert(!conn->in_qpn);
	link_in(&cm->by_qpn, &conn->by_qpn,
		hash(cm, &conn->info.flow.dst, conn->info.remote_guid,
		     conn->info.qp.dest_qpn));
	conn->in_qpn = true;
}

void rn_cm_unindex_qpn(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (conn->in_qpn)
		take_out(&cm->by_qpn, &conn->by_qpn);
	conn->in_qpn = false;
}

void rn_cm_unindex(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	rn_cm_unindex_qpn(cm, conn);
	if (conn->in_peer)
		take_out(&cm->by_peer, &conn->by_peer);
	conn->in_peer = false;
}

/* ---- Entries ---- */

struct rn_cm_conn *rn_cm_conn_new(struct rn_cm *cm)
{
	struct rn_cm_conn *conn = cm->free;
	uint32_t id;

	if (conn)
		cm->free = conn->next;
	else if (cm->fresh < cm->cfg.conn_max)
		conn = &cm->conns[cm->fresh++];
	else
		return NULL;
	memset(conn, 0, sizeof(*conn));
	rn_list_init(&conn->tx);
	rn_list_init(&conn->ev);
	do
		id = (uint32_t)rn_random_next(&cm->random);
	while (!id || find_id(cm, id));
	conn->info.local_id = id;
	conn->is_open = true;
	conn->max_retries = cm->cfg.max_retries;
	link_in(&cm->by_id, &conn->by_id, id);
	cm->count++;
	return conn;
}

void rn_cm_conn_release(struct rn_cm *cm, struct rn_cm_conn *conn)
{
	if (conn->is_open || conn->info.state != RN_CM_IDLE ||
	    rn_list_is_linked(&conn->tx))
		return;
	assert(!conn->listener);
	assert(!conn->in_peer && !conn->in_qpn);
	assert(!rn_list_is_linked(&conn->ev));
	assert(!rn_timer_is_armed(&conn->timer));
	take_out(&cm->by_id, &conn->by_id);
	conn->next = cm->free;
	cm->free = conn;
	assert(cm->count > 0);
	cm->count--;
}

uint64_t rn_cm_new_tid(struct rn_cm *cm, const struct rn_cm_conn *conn)
{
	return ++cm->tid_count << 32 | conn->info.local_id;
}

enum {
	IP_VERSION_BYTE = 1, /* in an IP CM header, upper 4 bits */
	IP_DST_BYTE = 20,
	IP_V4_BYTE = 12, /* start of an IPv4 address in the 16 bytes of its field */
};

void rn_cm_listener_ip(struct rn_cm_listener *l, enum rn_cm_port_space ps, uint16_t port,
		       const struct rn_gid *addr)
{
	unsigned skip;

	*l = (struct rn_cm_listener){
		.service_id = rn_cm_service_id(ps, port),
		.service_mask = UINT64_MAX,
	};
	if (!addr)
		return;
	/* The 12 bytes before an IPv4 address are undefined. */
	skip = rn_gid_is_ipv4(addr) ? IP_V4_BYTE : 0;
	l->compare[IP_VERSION_BYTE] = skip ? 4 << 4 : 6 << 4;
	l->compare_mask[IP_VERSION_BYTE] = 0xf0;
	memcpy(l->compare + IP_DST_BYTE + skip, addr->raw + skip,
	       sizeof(addr->raw) - skip);
	memset(l->compare_mask + IP_DST_BYTE + skip, 0xff, sizeof(addr->raw) - skip);
}

static uint32_t bits_of(uint64_t v)
{
	uint32_t bits = 0;

	for (; v; v &= v - 1)
		bits++;
	return bits;
}

static uint32_t count_bits(const struct rn_cm_listener *l)
{
	uint32_t bits = bits_of(l->service_mask) + bits_of(l->ifindex ? UINT32_MAX : 0);

	for (unsigned i = 0; i < RN_CM_COMPARE_LEN; i++)
		bits += bits_of(l->compare_mask[i]);
	return bits;
}

static bool is_same(const struct rn_cm_listener *a, const struct rn_cm_listener *b)
{
	if (a->service_mask != b->service_mask || a->ifindex != b->ifindex ||
	    ((a->service_id ^ b->service_id) & a->service_mask) != 0)
		return false;
	for (unsigned i = 0; i < RN_CM_COMPARE_LEN; i++)
		if (a->compare_mask[i] != b->compare_mask[i] ||
		    ((a->compare[i] ^ b->compare[i]) & a->compare_mask[i]) != 0)
			return false;
	return true;
}

int rn_cm_listen(struct rn_cm *cm, struct rn_cm_listener *l)
{
	struct rn_cm_listener **at = &cm->listeners;

	for (const struct rn_cm_listener *o = cm->listeners; o; o = o->next)
		if (is_same(o, l))
			return -EADDRINUSE;
	l->pending = NULL;
	l->pending_count = 0;
	l->bits = count_bits(l);
	while (*at && (*at)->bits >= l->bits)
		at = &(*at)->next;
	l->next = *at;
	*at = l;
	return 0;
}

void rn_cm_unlisten(struct rn_cm *cm, struct rn_cm_listener *l)
{
	struct rn_cm_listener **at = &cm->listeners;

	while (*at != l) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = l->next;
	while (l->pending)
		rn_cm_taken(l->pending);
}

static bool matches(const struct rn_cm_listener *l, const uint8_t *data)
{
	for (unsigned i = 0; i < RN_CM_COMPARE_LEN; i++)
		if ((l->compare[i] ^ data[i]) & l->compare_mask[i])
			return false;
	return true;
}

struct rn_cm_listener *rn_cm_match(struct rn_cm *cm, const struct rn_cm_in *in,
				   uint64_t service_id, const uint8_t *data, bool *known)
{
	*known = false;
	for (struct rn_cm_listener *l = cm->listeners; l; l = l->next) {
		if ((service_id ^ l->service_id) & l->service_mask)
			continue;
		if (l->ifindex && l->ifindex != in->flow->ifindex)
			continue;
		*known = true;
		if (matches(l, data))
			return l;
	}
	return NULL;
}

static bool is_full(const struct rn_cm_listener *l)
{
	return l->backlog && l->pending_count >= l->backlog;
}

struct rn_cm_conn *rn_cm_conn_wanted(struct rn_cm *cm, struct rn_cm_listener *l)
{
	struct rn_cm_conn *conn = is_full(l) ? NULL : rn_cm_conn_new(cm);

	if (!conn) {
		rn_cm_stat(cm, RN_CM_STAT_DROP_FULL);
		return NULL;
	}
	conn->listener = l;
	conn->next = l->pending;
	l->pending = conn;
	l->pending_count++;
	return conn;
}

void rn_cm_taken(struct rn_cm_conn *conn)
{
	struct rn_cm_listener *l = conn->listener;
	struct rn_cm_conn **at;

	if (!l)
		return;
	at = &l->pending;
	while (*at != conn) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = conn->next;
	conn->next = NULL;
	conn->listener = NULL;
	assert(l->pending_count > 0);
	l->pending_count--;
}
