/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dest.c - the window shared by all QPs towards one destination process.
 *
 * Nobody knows the receive buffer of a peer's socket, so it is found out as TCP does:
 * the window doubles per round trip until the first loss. After each loss it starts anew
 * at its minimum, doubles up to three quarters of what was too much, and feels its way
 * from there: the buffer does not change, so there is no hurry.
 *
 * Whom it stops waits for his turn: dest_turns.c.
 */
#include "dest_turns.h"

#include <string.h>

enum {
	/* Beyond the threshold: by window / GROWTH, then twice that, three times ... */
	GROWTH = 32,
};

/* Time between two steps of growth, and between a loss and the last echo of it. */
#define EPOCH RN_MSEC(1)

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
		.holds_at = RN_NEVER,
	};
	rn_list_init(&d->members);
	rn_list_init(&d->busy);
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

void rn_dev_peer_holds(struct rn_dev *dev, rn_ns now, const struct rn_gid *gid,
		       uint8_t slot, uint64_t taken)
{
	struct rn_dest *d = find(dev, gid, slot);

	if (!d)
		return;
	d->holds_at = now;
	/* That it is another is all that matters. */
	d->taken = (uint32_t)(taken ^ taken >> 32);
}

bool rn_dest_holds(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	const struct rn_dest *d = qp->dest;
	bool reads_on;

	if (!d || d->holds_at != now)
		return false;
	reads_on = req->knows_taken && req->taken != d->taken;
	req->knows_taken = !reads_on;
	req->taken = d->taken;
	return !reads_on;
}

/* The window outlives the QP that lent it room: the youngest member lends it next. (The
 * youngest, because QPs are mostly destroyed in the order in which they were made.)
 */
static void move_to_heir(struct rn_dest *old)
{
	struct rn_list *link = rn_list_last(&old->members);
	struct rn_qp *heir;
	struct rn_dest *d;

	assert(link);
	heir = RN_CONTAINER_OF(link, struct rn_qp, dest_link);
	d = &heir->own_dest;
	*d = *old;
	rn_list_init(&d->members);
	rn_list_init(&d->busy);
	rn_list_init(&d->waiting);
	rn_list_splice_back(&d->members, &old->members);
	rn_list_splice_back(&d->busy, &old->busy);
	rn_list_splice_back(&d->waiting, &old->waiting);
	d->watch = (struct rn_timer){ 0 };
	if (rn_timer_is_armed(&old->watch)) {
		rn_timer_add(&heir->dev->watches, &d->watch, old->watch.deadline);
		rn_timer_remove(&heir->dev->watches, &old->watch);
	}
	insert(heir->dev, d);
	rn_list_for_each (link, &d->members)
		RN_CONTAINER_OF(link, struct rn_qp, dest_link)->dest = d;
}

void rn_dest_leave(struct rn_qp *qp)
{
	struct rn_dest *d = qp->dest;

	if (!d)
		return;
	/* By another path it may not have to wait. */
	if (rn_list_is_linked(&qp->window_link))
		rn_dev_schedule(qp->dev, qp);
	rn_dest_uncharge(qp, qp->req.in_flight);
	rn_dest_withdraw(qp);
	rn_list_remove(&qp->busy_link);
	rn_list_remove(&qp->dest_link);
	qp->dest = NULL;
	if (d != &qp->own_dest)
		return;
	remove_node(qp->dev, d);
	if (!rn_list_is_empty(&d->members))
		move_to_heir(d);
	else
		rn_timer_remove(&qp->dev->watches, &d->watch);
}

/* May it send a packet of @len, after having sent @before? */
static inline bool is_open(const struct rn_qp *qp, uint32_t before, uint32_t len)
{
	const struct rn_dest *d = qp->dest;
	uint64_t need = (uint64_t)before + len;

	/* The window may have become smaller since it was granted. */
	if (qp->req.grant >= need && qp->req.grant_cuts == d->cuts)
		return true;
	if (rn_dest_takes_turns(d))
		return d->in_flight == 0 && before == 0;
	if (qp->req.in_flight == 0 && before == 0)
		return true;
	if (before > 0 ? rn_burst_is_too_little(qp, before) : rn_burst_waits(qp))
		return false;
	return d->in_flight + need + (d->granted - qp->req.grant) <= d->window;
}

bool rn_dest_may_send(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_dest *d = qp->dest;

	if (!d)
		return true;
	if (is_open(qp, 0, len)) {
		rn_dest_stop_waiting(qp);
		return true;
	}
	d->limited = true;
	rn_dest_return_grant(qp);
	rn_dest_wait(qp, now);
	return false;
}

bool rn_dest_closes(const struct rn_qp *qp, uint32_t len)
{
	return !is_open(qp, len, rn_dest_packet_of(qp));
}

void rn_dest_charge(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_dest *d = qp->dest;
	uint32_t granted;

	if (!d)
		return;
	if (d->in_flight == 0)
		d->limited = d->waiters > 0;
	if (qp->req.in_flight == 0) {
		qp->cuts_seen = d->cuts;
		qp->burst_at = now;
		if (!rn_list_is_linked(&qp->busy_link))
			rn_list_push_back(&d->busy, &qp->busy_link);
		rn_probe_burst(qp, now);
	}
	qp->req.burst = qp->req.in_flight ? rn_burst_with(qp, len) : len;
	granted = qp->req.grant < len ? qp->req.grant : len;
	qp->req.grant -= granted;
	d->granted -= granted;
	qp->req.in_flight += len;
	d->in_flight += len;
}

static void release(struct rn_qp *qp, uint32_t len)
{
	struct rn_dest *d = qp->dest;

	assert(len <= qp->req.in_flight);
	assert(qp->req.in_flight <= d->in_flight);
	qp->req.in_flight -= len;
	d->in_flight -= len;
	if (qp->req.in_flight == 0 && rn_list_is_linked(&qp->window_link) &&
	    !rn_dest_takes_turns(d)) {
		rn_dest_stop_waiting(qp);
		rn_dev_schedule(qp->dev, qp);
	}
}

static void grow(struct rn_dest *d, rn_ns now, uint32_t max, uint32_t len)
{
	uint32_t add = len;

	/* A window that is not used says nothing about a larger one. */
	if (d->window >= max || !d->limited)
		return;
	if (d->window >= d->threshold) {
		d->acked += len < d->window ? len : d->window;
		if (d->acked < d->window || now - d->grown_at < EPOCH)
			return;
		d->acked = 0;
		d->grown_at = now;
		add = d->window / GROWTH * ++d->steps + 1;
	}
	d->window = add < max - d->window ? d->window + add : max;
}

/* The first acknowledgement of a burst tells the round trip. After going back it may
 * be of the first copy, and then tells too little: so the longest one counts, for a
 * while.
 */
static void measure(struct rn_qp *qp, rn_ns now)
{
	struct rn_dest *d = qp->dest;
	rn_ns rtt = now - qp->burst_at;

	if (qp->burst_at == RN_NEVER)
		return;
	qp->burst_at = RN_NEVER;
	d->rtt -= d->rtt / 8;
	if (d->rtt < rtt)
		d->rtt = rtt;
	if (d->rtt_least > rtt || d->rtt_least == 0)
		d->rtt_least = rtt;
}

void rn_dest_credit(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	if (!qp->dest)
		return;
	measure(qp, now);
	qp->dest->moved = true;
	release(qp, len);
	grow(qp->dest, now, qp->dev->cfg.window_max, len);
	rn_dest_wake(qp->dest, len);
}

void rn_dest_uncharge(struct rn_qp *qp, uint32_t len)
{
	if (!qp->dest || len == 0)
		return;
	release(qp, len);
	rn_dest_wake(qp->dest, len);
}

/* Where doubling is to end after a loss. */
static uint32_t lower_threshold(const struct rn_dest *d, rn_ns now, uint32_t min)
{
	bool again = d->cuts > 0 && now - d->cut_at < EPOCH && d->window < d->threshold;
	/* Soon after another loss, while still doubling: much of the former burst was
	 * still in the way, so the present window tells nothing about the room.
	 */
	uint32_t less =
		again ? d->threshold - d->threshold / 8 : d->window - d->window / 4;

	return less > min ? less : min;
}

bool rn_dest_loss(struct rn_qp *qp, rn_ns now)
{
	struct rn_dest *d = qp->dest;

	/* Several QPs notice one overflow, each when it hears of its own packets. */
	if (!d || (d->cuts != qp->cuts_seen && now - d->cut_at < EPOCH))
		return false;
	d->threshold = lower_threshold(d, now, qp->dev->cfg.window_min);
	/* What was sent before stands in the peer's buffer still, though it is not
	 * counted any more when a QP has gone back: so from small beginnings.
	 */
	d->window = qp->dev->cfg.window_min;
	d->acked = 0;
	d->steps = 0;
	d->cuts++;
	d->cut_at = now;
	return true;
}
