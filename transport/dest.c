/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dest.c - the window shared by all QPs towards one destination process.
 *
 * Nobody knows the receive buffer of a peer's socket, so it is found out as TCP does:
 * the window doubles per round trip until the first loss. From then on it starts anew at
 * its minimum after each loss, doubles up to half of what was too much, and grows by a
 * step per round trip beyond.
 */
#include "qp.h"

#include <string.h>

enum {
	/* Growth per round trip after a loss: one large packet. */
	STEP = RN_MTU_MAX,
	/* What a packet takes in the window besides its payload when we guess how many
	 * waiting QPs to wake.
	 */
	OVERHEAD = 64,
};

/* Losses closer together than this are one event: the packets were in one window. */
#define RTT_GUESS RN_MSEC(1)

static uint32_t hash(const struct rn_gid *gid, uint8_t slot)
{
	uint64_t hi = rn_get_be64(gid->raw), lo = rn_get_be64(gid->raw + 8);

	lo = (lo ^ (uint64_t)slot << 56) * 0x9e3779b97f4a7c15u;
	return (uint32_t)((lo ^ hi) * 0xbf58476d1ce4e5b9u >> 32);
}

static struct rn_hnode **bucket_of(struct rn_dev *dev, uint32_t key)
{
	return &dev->dest_bucket[key % RN_ARRAY_SIZE(dev->dest_bucket)];
}

static struct rn_dest *find(struct rn_dev *dev, const struct rn_gid *gid, uint8_t slot)
{
	uint32_t key = hash(gid, slot);

	for (struct rn_hnode *n = *bucket_of(dev, key); n; n = n->next) {
		struct rn_dest *d = RN_CONTAINER_OF(n, struct rn_dest, node);

		if (n->key == key && d->slot == slot &&
		    memcmp(&d->gid, gid, sizeof(*gid)) == 0)
			return d;
	}
	return NULL;
}

static void insert(struct rn_dev *dev, struct rn_dest *d)
{
	struct rn_hnode **head = bucket_of(dev, d->node.key);

	d->node.next = *head;
	*head = &d->node;
}

static void remove_node(struct rn_dev *dev, struct rn_dest *d)
{
	struct rn_hnode **at = bucket_of(dev, d->node.key);

	while (*at != &d->node)
		at = &(*at)->next;
	*at = d->node.next;
}

static struct rn_dest *create(struct rn_qp *qp, const struct rn_gid *gid, uint8_t slot)
{
	struct rn_dest *d = &qp->own_dest;

	*d = (struct rn_dest){
		.node.key = hash(gid, slot),
		.gid = *gid,
		.slot = slot,
		.window = qp->dev->cfg.window_start,
		.threshold = qp->dev->cfg.window_max,
	};
	rn_list_init(&d->members);
	rn_list_init(&d->waiting);
	insert(qp->dev, d);
	return d;
}

void rn_dest_join(struct rn_qp *qp)
{
	uint8_t slot = (uint8_t)qp->attr.dest_qpn;
	struct rn_dest *d = find(qp->dev, &qp->attr.av.dgid, slot);

	assert(!qp->dest && qp->req.in_flight == 0);
	if (!d)
		d = create(qp, &qp->attr.av.dgid, slot);
	qp->dest = d;
	rn_list_push_back(&d->members, &qp->dest_link);
}

/* The window outlives the QP that lent it room: the youngest member lends it next. (The
 * youngest, because QPs are mostly destroyed in the order in which they were made.)
 */
static void move_to_heir(struct rn_dest *old)
{
	struct rn_list *link = rn_list_last(&old->members);
	struct rn_qp *heir = RN_CONTAINER_OF(link, struct rn_qp, dest_link);
	struct rn_dest *d = &heir->own_dest;

	*d = *old;
	rn_list_init(&d->members);
	rn_list_init(&d->waiting);
	rn_list_splice_back(&d->members, &old->members);
	rn_list_splice_back(&d->waiting, &old->waiting);
	insert(heir->dev, d);
	rn_list_for_each (link, &d->members)
		RN_CONTAINER_OF(link, struct rn_qp, dest_link)->dest = d;
}

void rn_dest_leave(struct rn_qp *qp)
{
	struct rn_dest *d = qp->dest;

	if (!d)
		return;
	rn_list_remove(&qp->window_link);
	rn_dest_uncharge(qp, qp->req.in_flight);
	rn_list_remove(&qp->dest_link);
	qp->dest = NULL;
	if (d != &qp->own_dest)
		return;
	remove_node(qp->dev, d);
	if (!rn_list_is_empty(&d->members))
		move_to_heir(d);
}

/* Schedule the first of @list, a list of window_link. */
static struct rn_qp *wake_first(struct rn_list *list)
{
	struct rn_list *link = rn_list_pop_front(list);
	struct rn_qp *qp = RN_CONTAINER_OF(link, struct rn_qp, window_link);

	rn_dev_schedule(qp->dev, qp);
	return qp;
}

/* Schedule as many of the waiting QPs as can send a packet each. One that then sends none
 * keeps the others waiting no longer than until the next acknowledgement: who waits has
 * packets of its own in flight.
 */
static void wake(struct rn_dest *d)
{
	uint32_t room = d->window > d->in_flight ? d->window - d->in_flight : 0;

	while (room && !rn_list_is_empty(&d->waiting)) {
		uint32_t need = wake_first(&d->waiting)->attr.path_mtu + OVERHEAD;

		room = room > need ? room - need : 0;
	}
}

bool rn_dest_may_send(struct rn_qp *qp, uint32_t len)
{
	struct rn_dest *d = qp->dest;

	if (!d || qp->req.in_flight == 0 || d->in_flight + len <= d->window)
		return true;
	if (!rn_list_is_linked(&qp->window_link))
		rn_list_push_back(&d->waiting, &qp->window_link);
	return false;
}

void rn_dest_charge(struct rn_qp *qp, uint32_t len)
{
	if (!qp->dest)
		return;
	qp->req.in_flight += len;
	qp->dest->in_flight += len;
}

static void release(struct rn_qp *qp, uint32_t len)
{
	struct rn_dest *d = qp->dest;

	assert(len <= qp->req.in_flight);
	assert(qp->req.in_flight <= d->in_flight);
	qp->req.in_flight -= len;
	d->in_flight -= len;
	if (qp->req.in_flight == 0 && rn_list_is_linked(&qp->window_link)) {
		rn_list_remove(&qp->window_link);
		rn_dev_schedule(qp->dev, qp);
	}
}

static void grow(struct rn_dest *d, uint32_t max, uint32_t len)
{
	uint32_t add = len;

	if (d->window >= max)
		return;
	if (d->window >= d->threshold) {
		d->acked += len;
		if (d->acked < d->window)
			return;
		d->acked = 0;
		add = STEP;
	}
	d->window = add < max - d->window ? d->window + add : max;
}

void rn_dest_credit(struct rn_qp *qp, uint32_t len)
{
	if (!qp->dest)
		return;
	release(qp, len);
	grow(qp->dest, qp->dev->cfg.window_max, len);
	wake(qp->dest);
}

void rn_dest_uncharge(struct rn_qp *qp, uint32_t len)
{
	if (!qp->dest || len == 0)
		return;
	release(qp, len);
	wake(qp->dest);
}

void rn_dest_loss(struct rn_qp *qp, rn_ns now)
{
	struct rn_dest *d = qp->dest;
	uint32_t min = qp->dev->cfg.window_min;

	if (!d || (d->cut && now - d->cut_at < RTT_GUESS))
		return;
	d->cut = true;
	d->cut_at = now;
	d->threshold = d->window / 2 > min ? d->window / 2 : min;
	/* What was sent before stands in the peer's buffer still, though it is not counted
	 * any more when a QP has gone back: so from small beginnings.
	 */
	d->window = min;
	d->acked = 0;
}
