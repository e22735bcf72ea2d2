/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ports.c - socket addresses of rdma_cm programs, and the ports in use; see ports.h. */
#include "ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* ---- Socket addresses ---- */

size_t rnd_address_size(uint16_t family)
{
	if (family == AF_INET)
		return sizeof(struct sockaddr_in);
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

static void read_v4(struct rnd_address *a, const struct sockaddr_in *sin)
{
	a->port = ntohs(sin->sin_port);
	if (sin->sin_addr.s_addr == 0)
		return;
	a->gid.raw[10] = a->gid.raw[11] = 0xff;
	memcpy(&a->gid.raw[12], &sin->sin_addr, sizeof(sin->sin_addr));
}

static void read_v6(struct rnd_address *a, const struct sockaddr_in6 *sin6)
{
	a->port = ntohs(sin6->sin6_port);
	memcpy(a->gid.raw, &sin6->sin6_addr, sizeof(a->gid.raw));
	a->flowinfo = sin6->sin6_flowinfo;
	if (rn_gid_is_link_local(&a->gid))
		a->scope = sin6->sin6_scope_id;
}

int rnd_address_read(struct rnd_address *a, const void *sa, size_t len)
{
	struct rnd_address read = { 0 };
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (len < sizeof(read.family))
		return -EINVAL;
	memcpy(&read.family, sa, sizeof(read.family));
	if (!rnd_address_size(read.family))
		return -EAFNOSUPPORT;
	if (len < rnd_address_size(read.family))
		return -EINVAL;
	if (read.family == AF_INET) {
		memcpy(&v4, sa, sizeof(v4));
		read_v4(&read, &v4);
	} else {
		memcpy(&v6, sa, sizeof(v6));
		read_v6(&read, &v6);
	}
	*a = read;
	return 0;
}

size_t rnd_address_write(const struct rnd_address *a, uint8_t sa[RND_SOCKADDR_MAX])
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	memset(sa, 0, RND_SOCKADDR_MAX);
	if (a->family == AF_INET) {
		v4.sin_port = htons(a->port);
		memcpy(&v4.sin_addr, &a->gid.raw[12], sizeof(v4.sin_addr));
		memcpy(sa, &v4, sizeof(v4));
	} else if (a->family == AF_INET6) {
		v6.sin6_port = htons(a->port);
		v6.sin6_flowinfo = a->flowinfo;
		v6.sin6_scope_id = a->scope;
		memcpy(&v6.sin6_addr, a->gid.raw, sizeof(v6.sin6_addr));
		memcpy(sa, &v6, sizeof(v6));
	}
	return rnd_address_size(a->family);
}

bool rnd_address_is_any(const struct rnd_address *a)
{
	static const struct rn_gid any;

	return memcmp(&a->gid, &any, sizeof(any)) == 0;
}

bool rnd_address_is_localhost(const struct rnd_address *a)
{
	static const struct rn_gid v4 = { .raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	static const struct rn_gid v6 = { .raw = { [15] = 1 } };

	return memcmp(&a->gid, a->family == AF_INET ? &v4 : &v6, sizeof(a->gid)) == 0;
}

/* Compares family, address and scope, but not ports. */
static bool is_same_address(const struct rnd_address *a, const struct rnd_address *b)
{
	return a->family == b->family && a->scope == b->scope &&
	       memcmp(&a->gid, &b->gid, sizeof(a->gid)) == 0;
}

/* ---- Ports in use ---- */

void rnd_ports_init(struct rnd_ports *p, uint16_t first, uint16_t last, uint16_t free)
{
	*p = (struct rnd_ports){ .first = first, .last = last, .free = free };
	for (unsigned i = 0; i < RND_PORT_BUCKETS; i++)
		rn_list_init(&p->bucket[i]);
}

static struct rn_list *bucket(struct rnd_ports *p, uint16_t port)
{
	return &p->bucket[port % RND_PORT_BUCKETS];
}

static struct rnd_port_user *user_of(struct rn_list *link)
{
	return RN_CONTAINER_OF(link, struct rnd_port_user, link);
}

static bool speaks_one_family(const struct rnd_port_user *u)
{
	return u->v6only || u->src.family == AF_INET;
}

/* Returns 0 if @u may use @port together with the rdma_cm ids that already use it, or
 * -errno. @reuse: @u permits others to use the port, too.
 */
static int check(struct rnd_ports *p, const struct rnd_port_user *u, uint16_t port,
		 bool reuse)
{
	struct rn_list *head = bucket(p, port);

	for (struct rn_list *l = head->next; l != head; l = l->next) {
		const struct rnd_port_user *other = user_of(l);

		if (other == u || other->ps != u->ps || other->src.port != port ||
		    (reuse && other->reuse) ||
		    (speaks_one_family(u) && speaks_one_family(other) &&
		     u->src.family != other->src.family))
			continue;
		if (rnd_address_is_any(&u->src) || rnd_address_is_any(&other->src))
			return -EADDRNOTAVAIL;
		if (is_same_address(&u->src, &other->src))
			return -EADDRINUSE;
	}
	return 0;
}

static bool may_differ(const struct rnd_address *a, const struct rnd_address *b)
{
	return !rnd_address_is_any(a) && !rnd_address_is_any(b) && !is_same_address(a, b);
}

/* Returns true if @u may have the ephemeral port @port. Two rdma_cm ids that have a
 * destination may share a port if their sources or their destinations differ.
 */
static bool is_unique(struct rnd_ports *p, const struct rnd_port_user *u, uint16_t port)
{
	struct rn_list *head = bucket(p, port);

	for (struct rn_list *l = head->next; l != head; l = l->next) {
		const struct rnd_port_user *other = user_of(l);

		if (other->ps != u->ps || other->src.port != port)
			continue;
		if (!u->dst.port || u->dst.port == port)
			return false;
		if (other->dst.port && other->dst.port != u->dst.port)
			continue;
		if (!may_differ(&u->src, &other->src) &&
		    !may_differ(&u->dst, &other->dst))
			return false;
	}
	return true;
}

static void enter(struct rnd_ports *p, struct rnd_port_user *u, uint16_t port)
{
	u->src.port = port;
	rn_list_push_back(bucket(p, port), &u->link);
	p->count++;
}

static int take_any(struct rnd_ports *p, struct rnd_port_user *u, uint32_t random)
{
	uint32_t range = (uint32_t)p->last - p->first + 1;

	for (uint32_t i = 0; i < range; i++) {
		uint16_t port = (uint16_t)(p->first + (random % range + i) % range);

		if (is_unique(p, u, port)) {
			enter(p, u, port);
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

int rnd_port_take(struct rnd_ports *p, struct rnd_port_user *u, uint32_t random)
{
	int rc;

	assert(!rn_list_is_linked(&u->link));
	if (u->src.port == 0)
		return take_any(p, u, random);
	if (u->src.port < p->free)
		return -EACCES;
	rc = check(p, u, u->src.port, u->reuse);
	if (rc == 0)
		enter(p, u, u->src.port);
	return rc;
}

int rnd_port_listen(struct rnd_ports *p, struct rnd_port_user *u)
{
	int rc = u->reuse ? check(p, u, u->src.port, false) : 0;

	if (rc == 0)
		u->reuse = false;
	return rc;
}

void rnd_port_restore(struct rnd_ports *p, struct rnd_port_user *u)
{
	enter(p, u, u->src.port);
}

void rnd_port_release(struct rnd_ports *p, struct rnd_port_user *u)
{
	if (!rn_list_is_linked(&u->link))
		return;
	rn_list_remove(&u->link);
	p->count--;
}
