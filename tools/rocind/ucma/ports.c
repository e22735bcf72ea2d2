/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ports.c - see ports.h. */
#include "ports.h"

#include <errno.h>
#include <sys/socket.h>

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

/* May @u have @port beside those who have it? */
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
		if (rnd_address_same(&u->src, &other->src))
			return -EADDRINUSE;
	}
	return 0;
}

static bool may_differ(const struct rnd_address *a, const struct rnd_address *b)
{
	return !rnd_address_is_any(a) && !rnd_address_is_any(b) &&
	       !rnd_address_same(a, b);
}

/* An ephemeral port may be shared by connections between different pairs of ends. */
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

void rnd_port_release(struct rnd_ports *p, struct rnd_port_user *u)
{
	if (!rn_list_is_linked(&u->link))
		return;
	rn_list_remove(&u->link);
	p->count--;
}
