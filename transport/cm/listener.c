/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* listener.c - listeners: finds the listener that a request is for, and keeps, for each
 * listener, the connections that the program has not accepted yet.
 */
#include "cm.h"

enum {
	/* in an IP CM header: the byte whose upper 4 bits are the IP version */
	IP_VERSION_BYTE = 1,
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
	/* The 12 bytes in front of an IPv4 address are undefined and not compared. */
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
	while (l->pending) {
		rn_cm_touch(cm, l->pending);
		rn_cm_taken(l->pending);
	}
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
