/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.c - multicast groups: chains of members, by a hash of the MGID. */
#include "mcast.h"

#include <string.h>

#include "qp.h"

/* Groups differ in their last bytes. */
static uint32_t hash(const struct rn_gid *mgid)
{
	uint64_t hi = rn_get_be64(mgid->raw), lo = rn_get_be64(mgid->raw + 8);

	return (uint32_t)((lo ^ hi * 31) * 0x9e3779b97f4a7c15u >> 32);
}

static uint32_t chain_of(uint32_t key)
{
	return key % RN_MCAST_CHAINS;
}

/* The first entry from @n on that is of this group. */
static struct rn_mcast *search(struct rn_hnode *n, uint32_t key,
			       const struct rn_gid *mgid)
{
	for (; n; n = n->next) {
		struct rn_mcast *m = RN_CONTAINER_OF(n, struct rn_mcast, node);

		if (n->key == key && memcmp(&m->mgid, mgid, sizeof(*mgid)) == 0)
			return m;
	}
	return NULL;
}

struct rn_mcast *rn_mcast_first(const struct rn_dev *dev, const struct rn_gid *mgid)
{
	uint32_t key = hash(mgid);

	return search(dev->mcasts[chain_of(key)], key, mgid);
}

struct rn_mcast *rn_mcast_next(const struct rn_mcast *m)
{
	return search(m->node.next, m->node.key, &m->mgid);
}

struct rn_mcast *rn_mcast_find(const struct rn_dev *dev, const struct rn_qp *qp,
			       const struct rn_gid *mgid)
{
	struct rn_mcast *m = rn_mcast_first(dev, mgid);

	while (m && m->qp != qp)
		m = rn_mcast_next(m);
	return m;
}

uint32_t rn_mcast_members(const struct rn_dev *dev, const struct rn_gid *mgid)
{
	uint32_t count = 0;

	for (struct rn_mcast *m = rn_mcast_first(dev, mgid); m; m = rn_mcast_next(m))
		count++;
	return count;
}

void rn_mcast_attach(struct rn_dev *dev, struct rn_mcast *m, struct rn_qp *qp,
		     const struct rn_gid *mgid)
{
	struct rn_hnode **end;

	assert(qp->dev == dev && qp->type == RN_QPT_UD);
	assert(rn_gid_is_multicast(mgid));
	assert(!rn_mcast_find(dev, qp, mgid));
	*m = (struct rn_mcast){ .node.key = hash(mgid), .mgid = *mgid, .qp = qp };
	/* Members get their copies in the order in which they came. */
	end = &dev->mcasts[chain_of(m->node.key)];
	while (*end)
		end = &(*end)->next;
	*end = &m->node;
	qp->mcast_count++;
}

void rn_mcast_detach(struct rn_dev *dev, struct rn_mcast *m)
{
	struct rn_hnode **at = &dev->mcasts[chain_of(m->node.key)];

	assert(m->qp->mcast_count > 0);
	while (*at != &m->node) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = m->node.next;
	m->qp->mcast_count--;
}
