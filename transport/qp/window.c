/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window.c - how much queue pairs may have in flight: the peer window and
 * the READ window.
 *
 * A peer window is shared by all RC QPs that send to one process (address and slot). The
 * size of the receive buffer of the peer's socket is not known, so it is found out as TCP
 * does: the window doubles per round trip until the first loss. After each loss it starts
 * at its minimum again, doubles up to three quarters of the size that was too much, and
 * from there grows slowly: the buffer does not change, so there is no hurry.
 *
 * A QP with nothing in flight may always send a packet, so that a few QPs make progress
 * whatever the others do. Many QPs would overrun the peer's buffer that way, and a packet
 * that arrives alone is acknowledged alone, which costs half as much again. So when many
 * QPs wait, they take turns in the order in which they came: each may send a number of
 * bytes (its grant) and then queues again.
 *
 * The READ window is the room for READ responses that all QPs of the device share. A QP
 * whose request does not fit is queued. The first of the queue is scheduled when there is
 * room, and that room is reserved for it: otherwise a QP that has just received a
 * response would take it time and again, because it always comes first. A QP that needs
 * more room keeps its place.
 */
#include "window.h"

#include <string.h>

#include "qp.h"
#include "requester.h"

enum {
	/* Beyond the threshold the window grows by window / GROWTH, then by twice that,
	 * three times that, and so on.
	 */
	GROWTH = 32,
	/* Bytes that a packet is assumed to take in the window besides its payload, when
	 * we estimate how many waiting QPs to wake.
	 */
	OVERHEAD = 64,
	/* Bytes of a turn: the free room, but at least window / TURN_SHARE_MIN and at
	 * most window / TURN_SHARE_MAX, and not more than a super-packet.
	 */
	TURN_SHARE_MIN = 16,
	TURN_SHARE_MAX = 4,
	TURN_MAX = 64 << 10,
	/* A QP that has the window for itself and must wait goes on when a whole burst
	 * fits again: a super-packet, or window / BURST_SHARE if that is less. A
	 * super-packet of a few packets costs nearly as much to send as a full one.
	 */
	BURST = 64 << 10,
	BURST_SHARE = 3,
	/* Number of bursts that are watched closely after a loss. If the loss was not
	 * that of a full buffer, at least one packet in this many bursts will be lost
	 * again. Bursts are counted, rather than time, so that this also holds for a
	 * program that sends seldom.
	 */
	SUSPICION = 1000,
};

/* Time between two steps of growth. Losses within this time after a
 * loss may be echoes of it.
 */
#define EPOCH RN_MSEC(1)

/* Bytes in flight may never be acknowledged: to QPs that are gone, or from QPs whose
 * local ACK timeout is 0. A QP that waits behind such bytes gets a turn after this time.
 */
#define STUCK RN_MSEC(1)

/* The longest time that a QP with no READ in flight waits for READs of other QPs, whose
 * peer may be dead.
 */
#define PATIENCE RN_MSEC(1)

/* ------------------------------------------------------------------ the peers */
static uint32_t hash_peer(const struct rn_gid *gid, uint8_t slot)
{
	uint64_t hi = rn_get_be64(gid->raw), lo = rn_get_be64(gid->raw + 8);

	lo = (lo ^ (uint64_t)slot << 56) * 0x9e3779b97f4a7c15u;
	return (uint32_t)((lo ^ hi) * 0xbf58476d1ce4e5b9u >> 32);
}

static struct rn_hnode **bucket_of(struct rn_dev *dev, uint32_t key)
{
	return &dev->peer_bucket[key % RN_ARRAY_SIZE(dev->peer_bucket)];
}

static struct rn_peer *find_peer(struct rn_dev *dev, const struct rn_gid *gid,
				 uint8_t slot)
{
	uint32_t key = hash_peer(gid, slot);

	for (struct rn_hnode *n = *bucket_of(dev, key); n; n = n->next) {
		struct rn_peer *peer = RN_CONTAINER_OF(n, struct rn_peer, node);

		if (n->key == key && peer->slot == slot &&
		    memcmp(&peer->gid, gid, sizeof(*gid)) == 0)
			return peer;
	}
	return NULL;
}

static void insert_peer(struct rn_dev *dev, struct rn_peer *peer)
{
	struct rn_hnode **head = bucket_of(dev, peer->node.key);

	peer->node.next = *head;
	*head = &peer->node;
}

static void remove_peer(struct rn_dev *dev, struct rn_peer *peer)
{
	struct rn_hnode **at = bucket_of(dev, peer->node.key);

	while (*at != &peer->node)
		at = &(*at)->next;
	*at = peer->node.next;
}

static struct rn_peer *create_peer(struct rn_qp *qp, const struct rn_gid *gid,
				   uint8_t slot)
{
	struct rn_peer *peer = &qp->own_peer;

	*peer = (struct rn_peer){
		.node.key = hash_peer(gid, slot),
		.gid = *gid,
		.slot = slot,
		.window = qp->dev->cfg.window_start,
		.threshold = qp->dev->cfg.window_max,
		.holds_at = RN_NEVER,
	};
	rn_list_init(&peer->members);
	rn_list_init(&peer->busy);
	rn_list_init(&peer->waiting);
	insert_peer(qp->dev, peer);
	return peer;
}

void rn_window_join(struct rn_qp *qp)
{
	uint8_t slot = (uint8_t)qp->attr.dest_qpn;
	struct rn_peer *peer = find_peer(qp->dev, &qp->attr.av.dgid, slot);

	assert(!qp->peer && qp->req.in_flight == 0);
	if (!peer)
		peer = create_peer(qp, &qp->attr.av.dgid, slot);
	qp->peer = peer;
	rn_list_push_back(&peer->members, &qp->peer_link);
}

void rn_dev_peer_holds(struct rn_dev *dev, rn_ns now, const struct rn_gid *gid,
		       uint8_t slot, uint64_t taken)
{
	struct rn_peer *peer = find_peer(dev, gid, slot);
	RN_SHOW_CALL(dev, .kind = RN_CALL_PEER_HOLDS, .now = now,
		     .u.peer_holds = { *gid, slot, taken });

	if (!peer)
		return;
	peer->holds_at = now;
	/* Only a change of the counter matters, so 32 bits of it are enough. */
	peer->taken = (uint32_t)(taken ^ taken >> 32);
}

bool rn_window_holds(struct rn_qp *qp, rn_ns now)
{
	struct rn_requester *req = &qp->req;
	const struct rn_peer *peer = qp->peer;
	bool reads_on;

	if (!peer || peer->holds_at != now)
		return false;
	reads_on = req->knows_taken && req->taken != peer->taken;
	req->knows_taken = !reads_on;
	req->taken = peer->taken;
	return !reads_on;
}

/* ---------------------------------------------------------------------- turns */
static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Bytes that a full packet takes of the window. */
static uint32_t packet_of(const struct rn_qp *qp)
{
	return qp->attr.path_mtu + RN_PACKET_COST;
}

/* Bytes of the window that are neither in flight nor granted. */
static uint32_t room_in(const struct rn_peer *peer)
{
	uint64_t used = (uint64_t)peer->in_flight + peer->granted;

	return used < peer->window ? (uint32_t)(peer->window - used) : 0;
}

/* Bytes that @qp may send when its turn has come: at least a packet. */
static uint32_t turn_of(const struct rn_peer *peer, const struct rn_qp *qp)
{
	uint32_t room = room_in(peer), least = peer->window / TURN_SHARE_MIN;
	uint32_t most = min_u32(peer->window / TURN_SHARE_MAX, TURN_MAX);
	uint32_t turn = min_u32(room > least ? room : least, most);

	return turn > packet_of(qp) ? turn : packet_of(qp);
}

/* Take the QP off the list of waiting QPs, if it is there. */
static void stop_waiting(struct rn_qp *qp)
{
	if (!rn_list_is_linked(&qp->window_link))
		return;
	rn_list_remove(&qp->window_link);
	qp->peer->waiters--;
}

/* Put the QP at the end of the list of waiting QPs, unless it is there already. */
static void wait_for_turn(struct rn_qp *qp, rn_ns now)
{
	struct rn_peer *peer = qp->peer;

	if (rn_list_is_linked(&qp->window_link))
		return;
	rn_list_push_back(&peer->waiting, &qp->window_link);
	peer->waiters++;
	if (rn_window_takes_turns(peer) && !rn_timer_is_armed(&peer->watch)) {
		peer->moved = false;
		rn_timer_add(&qp->dev->watches, &peer->watch, now + STUCK);
	}
}

/* The QP does not use the rest of its grant. */
static void return_grant(struct rn_qp *qp)
{
	assert(qp->req.grant <= qp->peer->granted);
	qp->peer->granted -= qp->req.grant;
	qp->req.grant = 0;
}

static struct rn_qp *first_waiter(const struct rn_peer *peer)
{
	struct rn_list *link = rn_list_first(&peer->waiting);

	assert(link);
	return RN_CONTAINER_OF(link, struct rn_qp, window_link);
}

/* Give the turn to the QP that has waited longest. */
static void give_turn(struct rn_peer *peer)
{
	struct rn_qp *qp = first_waiter(peer);
	uint32_t grant = turn_of(peer, qp);

	assert(qp->req.grant == 0);
	stop_waiting(qp);
	qp->req.grant = grant;
	qp->req.grant_cuts = peer->cuts;
	peer->granted += grant;
	rn_dev_schedule(qp->dev, qp);
}

/* May the first waiting QP have its turn? Room for a packet is enough: the QP whose
 * packet closed the window has asked for an acknowledgement, which need not be of more
 * than that. While more is in flight than the window now allows, much of which is likely
 * lost, half of the bytes that leave the window may be replaced: if no QP went on, all
 * would wait for their timers.
 */
static bool may_admit(struct rn_peer *peer)
{
	const struct rn_qp *qp = first_waiter(peer);
	uint32_t turn;

	if ((peer->in_flight == 0 && peer->granted == 0) ||
	    room_in(peer) >= packet_of(qp))
		return true;
	/* The whole turn has to fit in, or even more would be in flight. */
	turn = turn_of(peer, qp);
	if (peer->replace < turn)
		return false;
	peer->replace -= turn;
	return true;
}

/* --------------------------------------------------------------------- bursts */
static uint32_t burst_of(const struct rn_peer *peer)
{
	return min_u32(BURST, peer->window / BURST_SHARE);
}

/* Bytes of the burst with another packet of @len, which begins a new burst if
 * the present one is full.
 */
static uint32_t burst_with(const struct rn_qp *qp, uint32_t len)
{
	uint32_t sent = qp->req.burst + len;

	return sent <= burst_of(qp->peer) ? sent : len;
}

/* Would the next packet, after one of @before bytes, begin a burst for which the window
 * has too little room? Then it is better to wait. This is only so for a QP that has the
 * window for itself: with others there may be no other way than to send what fits.
 */
static bool burst_is_too_little(const struct rn_qp *qp, uint32_t before)
{
	const struct rn_peer *peer = qp->peer;
	uint32_t sent = before ? burst_with(qp, before) : qp->req.burst;
	uint32_t burst = burst_of(peer);

	if (peer->in_flight != qp->req.in_flight ||
	    (sent > 0 && sent + packet_of(qp) <= burst))
		return false;
	return (uint64_t)peer->in_flight + before + burst > peer->window;
}

/* Must @qp wait because the next burst does not fit? Room will come, because the last
 * packet has asked for an acknowledgement.
 */
static bool burst_waits(const struct rn_qp *qp)
{
	return qp->req.in_flight > 0 && qp->req.since_ack_req == 0 &&
	       burst_is_too_little(qp, 0);
}

/* ---------------------------------------------------------------- who goes on */
/* Schedule as many of the waiting QPs as can send a packet each. */
static void wake_few(struct rn_peer *peer)
{
	uint32_t room = room_in(peer);

	if (peer->waiters == 1 && burst_waits(first_waiter(peer)))
		return;
	while (room && peer->waiters > 0) {
		struct rn_qp *qp = first_waiter(peer);
		uint32_t need = qp->attr.path_mtu + OVERHEAD;

		stop_waiting(qp);
		rn_dev_schedule(qp->dev, qp);
		room = room > need ? room - need : 0;
	}
}

/* Schedule the QPs whose turn it is, now that @freed bytes are no longer in flight. */
static void wake_waiters(struct rn_peer *peer, uint32_t freed)
{
	if (peer->in_flight > peer->window)
		peer->replace += freed / 2;
	else
		peer->replace = 0;
	while (rn_window_takes_turns(peer)) {
		if (!may_admit(peer))
			return;
		give_turn(peer);
	}
	wake_few(peer);
}

void rn_window_yield(struct rn_qp *qp)
{
	struct rn_peer *peer = qp->peer;

	if (!peer || (qp->req.grant == 0 && peer->waiters == 0))
		return;
	return_grant(qp);
	/* @qp may itself be the first in the queue, so it is not woken for less
	 * than a packet.
	 */
	if (rn_window_takes_turns(peer) ||
	    (peer->waiters > 0 && room_in(peer) >= packet_of(first_waiter(peer))))
		wake_waiters(peer, 0);
}

void rn_window_withdraw(struct rn_qp *qp)
{
	if (!qp->peer)
		return;
	stop_waiting(qp);
	rn_window_yield(qp);
}

void rn_window_expire(struct rn_dev *dev, struct rn_timer *watch, rn_ns now)
{
	struct rn_peer *peer = RN_CONTAINER_OF(watch, struct rn_peer, watch);

	if (peer->waiters == 0)
		return;
	rn_timer_add(&dev->watches, watch, now + STUCK);
	if (!peer->moved)
		give_turn(peer);
	peer->moved = false;
}

/* May the QP send a packet of @len bytes, after having sent @before bytes? */
static inline bool is_open(const struct rn_qp *qp, uint32_t before, uint32_t len)
{
	const struct rn_peer *peer = qp->peer;
	uint64_t need = (uint64_t)before + len;

	/* The window may have become smaller since the grant was given. */
	if (qp->req.grant >= need && qp->req.grant_cuts == peer->cuts)
		return true;
	if (rn_window_takes_turns(peer))
		return peer->in_flight == 0 && before == 0;
	if (qp->req.in_flight == 0 && before == 0)
		return true;
	if (before > 0 ? burst_is_too_little(qp, before) : burst_waits(qp))
		return false;
	return peer->in_flight + need + (peer->granted - qp->req.grant) <= peer->window;
}

bool rn_window_may_send(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_peer *peer = qp->peer;

	if (!peer)
		return true;
	if (is_open(qp, 0, len)) {
		stop_waiting(qp);
		return true;
	}
	peer->limited = true;
	return_grant(qp);
	wait_for_turn(qp, now);
	return false;
}

bool rn_window_closes(const struct rn_qp *qp, uint32_t len)
{
	return !is_open(qp, len, packet_of(qp));
}

void rn_window_charge(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	struct rn_peer *peer = qp->peer;
	uint32_t granted;

	if (!peer)
		return;
	if (peer->in_flight == 0)
		peer->limited = peer->waiters > 0;
	if (qp->req.in_flight == 0) {
		qp->cuts_seen = peer->cuts;
		qp->burst_at = now;
		if (!rn_list_is_linked(&qp->busy_link))
			rn_list_push_back(&peer->busy, &qp->busy_link);
		rn_probe_burst(qp, now);
	}
	qp->req.burst = qp->req.in_flight ? burst_with(qp, len) : len;
	granted = qp->req.grant < len ? qp->req.grant : len;
	qp->req.grant -= granted;
	peer->granted -= granted;
	qp->req.in_flight += len;
	peer->in_flight += len;
}

static void release_bytes(struct rn_qp *qp, uint32_t len)
{
	struct rn_peer *peer = qp->peer;

	assert(len <= qp->req.in_flight);
	assert(qp->req.in_flight <= peer->in_flight);
	qp->req.in_flight -= len;
	peer->in_flight -= len;
	if (qp->req.in_flight == 0 && rn_list_is_linked(&qp->window_link) &&
	    !rn_window_takes_turns(peer)) {
		stop_waiting(qp);
		rn_dev_schedule(qp->dev, qp);
	}
}

/* ----------------------------------------------------------------------- size */
static void grow_window(struct rn_peer *peer, rn_ns now, uint32_t max, uint32_t len)
{
	uint32_t add = len;

	/* A window that is not used up gives no reason to make it larger. */
	if (peer->window >= max || !peer->limited)
		return;
	if (peer->window >= peer->threshold) {
		peer->acked += len < peer->window ? len : peer->window;
		if (peer->acked < peer->window || now - peer->grown_at < EPOCH)
			return;
		peer->acked = 0;
		peer->grown_at = now;
		add = peer->window / GROWTH * ++peer->steps + 1;
	}
	peer->window = add < max - peer->window ? peer->window + add : max;
}

/* The first acknowledgement of a burst tells the round trip time. After going back, it
 * may be the acknowledgement of the first copy, and then the time is too short. So the
 * longest value counts, and fades slowly.
 */
static void measure_rtt(struct rn_qp *qp, rn_ns now)
{
	struct rn_peer *peer = qp->peer;
	rn_ns rtt = now - qp->burst_at;

	if (qp->burst_at == RN_NEVER)
		return;
	qp->burst_at = RN_NEVER;
	peer->rtt -= peer->rtt / 8;
	if (peer->rtt < rtt)
		peer->rtt = rtt;
	if (peer->rtt_least > rtt || peer->rtt_least == 0)
		peer->rtt_least = rtt;
}

void rn_window_credit(struct rn_qp *qp, rn_ns now, uint32_t len)
{
	if (!qp->peer)
		return;
	measure_rtt(qp, now);
	qp->peer->moved = true;
	release_bytes(qp, len);
	grow_window(qp->peer, now, qp->dev->cfg.window_max, len);
	wake_waiters(qp->peer, len);
}

void rn_window_uncharge(struct rn_qp *qp, uint32_t len)
{
	if (!qp->peer || len == 0)
		return;
	release_bytes(qp, len);
	wake_waiters(qp->peer, len);
}

/* The threshold after a loss, in bytes, where doubling is to end. */
static uint32_t lower_threshold(const struct rn_peer *peer, rn_ns now, uint32_t min)
{
	bool again = peer->cuts > 0 && now - peer->cut_at < EPOCH &&
		     peer->window < peer->threshold;
	/* This loss comes soon after another one, while the window still doubles: much of
	 * the former burst was still in the peer's buffer, so the size of the present
	 * window tells nothing about the room.
	 */
	uint32_t less = again ? peer->threshold - peer->threshold / 8
			      : peer->window - peer->window / 4;

	return less > min ? less : min;
}

bool rn_window_loss(struct rn_qp *qp, rn_ns now)
{
	struct rn_peer *peer = qp->peer;

	/* Several QPs notice one overflow, each when it learns of its own packets. */
	if (!peer || (peer->cuts != qp->cuts_seen && now - peer->cut_at < EPOCH))
		return false;
	peer->threshold = lower_threshold(peer, now, qp->dev->cfg.window_min);
	/* Packets sent before still lie in the peer's buffer, although they are not
	 * counted any more once a QP has gone back. So the window starts at its minimum.
	 */
	peer->window = qp->dev->cfg.window_min;
	peer->acked = 0;
	peer->steps = 0;
	peer->cuts++;
	peer->cut_at = now;
	return true;
}

void rn_window_suspect(struct rn_qp *qp)
{
	if (qp->peer)
		qp->peer->suspicion = SUSPICION;
}

/* -------------------------------------------------------------------- leaving */
/* The window outlives the QP that holds its struct: move the struct into the youngest
 * member. (QPs are mostly destroyed in the order in which they were created.)
 */
static void move_to_heir(struct rn_peer *old)
{
	struct rn_list *link = rn_list_last(&old->members);
	struct rn_qp *heir;
	struct rn_peer *peer;

	assert(link);
	heir = RN_CONTAINER_OF(link, struct rn_qp, peer_link);
	peer = &heir->own_peer;
	*peer = *old;
	rn_list_init(&peer->members);
	rn_list_init(&peer->busy);
	rn_list_init(&peer->waiting);
	rn_list_splice_back(&peer->members, &old->members);
	rn_list_splice_back(&peer->busy, &old->busy);
	rn_list_splice_back(&peer->waiting, &old->waiting);
	peer->watch = (struct rn_timer){ 0 };
	if (rn_timer_is_armed(&old->watch)) {
		rn_timer_add(&heir->dev->watches, &peer->watch, old->watch.deadline);
		rn_timer_remove(&heir->dev->watches, &old->watch);
	}
	insert_peer(heir->dev, peer);
	rn_list_for_each (link, &peer->members)
		RN_CONTAINER_OF(link, struct rn_qp, peer_link)->peer = peer;
}

void rn_window_leave(struct rn_qp *qp)
{
	struct rn_peer *peer = qp->peer;

	if (!peer)
		return;
	/* The QP does not wait for this window any longer: its new path
	 * may have room.
	 */
	if (rn_list_is_linked(&qp->window_link))
		rn_dev_schedule(qp->dev, qp);
	rn_window_uncharge(qp, qp->req.in_flight);
	rn_window_withdraw(qp);
	rn_list_remove(&qp->busy_link);
	rn_list_remove(&qp->peer_link);
	qp->peer = NULL;
	if (peer != &qp->own_peer)
		return;
	remove_peer(qp->dev, peer);
	if (!rn_list_is_empty(&peer->members))
		move_to_heir(peer);
	else
		rn_timer_remove(&qp->dev->watches, &peer->watch);
}

/* ------------------------------------------------------------- READ responses */
static void call_next_reader(struct rn_dev *dev)
{
	struct rn_list *link;

	if (dev->read_turn || dev->read_in_flight >= dev->cfg.read_window)
		return;
	link = rn_list_pop_front(&dev->read_waiting);
	if (!link)
		return;
	dev->read_turn = RN_CONTAINER_OF(link, struct rn_qp, read_link);
	rn_dev_schedule(dev, dev->read_turn);
}

static bool is_readers_turn(const struct rn_qp *qp)
{
	const struct rn_dev *dev = qp->dev;
	const struct rn_list *first = rn_list_first(&dev->read_waiting);

	if (dev->read_turn)
		return dev->read_turn == qp;
	return !first || first == &qp->read_link;
}

static bool read_fits(const struct rn_dev *dev, uint32_t bytes)
{
	return dev->read_in_flight == 0 ||
	       (uint64_t)dev->read_in_flight + bytes <= dev->cfg.read_window;
}

/* The response to an atomic takes no room (@bytes is 0). */
static bool may_read(const struct rn_qp *qp, uint32_t bytes)
{
	return bytes == 0 || qp->req.read_pass ||
	       (is_readers_turn(qp) && read_fits(qp->dev, bytes));
}

static void stand_in_line(struct rn_qp *qp)
{
	struct rn_dev *dev = qp->dev;

	if (dev->read_turn == qp) {
		dev->read_turn = NULL;
		rn_list_push_front(&dev->read_waiting, &qp->read_link);
	} else if (!rn_list_is_linked(&qp->read_link)) {
		rn_list_push_back(&dev->read_waiting, &qp->read_link);
	}
}

bool rn_read_window_open(struct rn_qp *qp, rn_ns now, uint32_t bytes)
{
	struct rn_requester *req = &qp->req;

	if (may_read(qp, bytes))
		return true;
	stand_in_line(qp);
	if (req->rd_count == 0 && req->read_deadline == RN_NEVER) {
		req->read_deadline = now + PATIENCE;
		rn_dev_arm_timer(qp->dev, qp);
	}
	return false;
}

void rn_read_window_charge(struct rn_qp *qp, uint32_t bytes)
{
	qp->req.read_pass = false;
	qp->req.read_deadline = RN_NEVER;
	qp->dev->read_in_flight += bytes;
	rn_read_window_withdraw(qp);
}

void rn_read_window_credit(struct rn_dev *dev, uint32_t bytes)
{
	assert(dev->read_in_flight >= bytes);
	dev->read_in_flight -= bytes;
	call_next_reader(dev);
}

void rn_read_window_yield(struct rn_qp *qp)
{
	if (qp->dev->read_turn != qp)
		return;
	qp->dev->read_turn = NULL;
	call_next_reader(qp->dev);
}

void rn_read_window_withdraw(struct rn_qp *qp)
{
	rn_list_remove(&qp->read_link);
	rn_read_window_yield(qp);
}
