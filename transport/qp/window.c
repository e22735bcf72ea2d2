/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* window.c - limits the bytes that queue pairs have in flight: the peer window and the
 * READ window.
 *
 * A peer window is the limit of unacknowledged bytes that all RC QPs of this device that
 * send to one process share. The process is identified by its address and slot (the low
 * byte of its QPNs). The size of the receive buffer of the peer's socket is not known, so
 * it is estimated as in TCP: the window doubles per round trip until the first loss.
 * After each loss it starts at its minimum again, doubles up to three quarters of the
 * size at which the loss occurred, and from there grows slowly: the buffer does not
 * change, so there is no hurry.
 *
 * A QP with nothing in flight may always send a packet, so that a few QPs make
 * progress whatever the other QPs do. Many QPs would overrun the peer's buffer in this
 * way; besides, a packet that arrives alone is acknowledged alone, which raises its
 * cost by half. So when RN_WINDOW_MANY QPs wait, they take turns, first come, first
 * served: in its turn, a QP may send a number of bytes (its grant); then it goes to
 * the end of the queue.
 *
 * The READ window is the limit of outstanding READ response bytes that all QPs of the
 * device share. A QP whose request does not fit is queued. When there is room, the first
 * QP of the queue is scheduled, and the room is reserved for it; otherwise a QP that has
 * just received a response would always be faster and take the room. If the room is too
 * small for the first QP, it stays the first.
 */
#include "window.h"

#include <string.h>

#include "qp.h"
#include "requester.h"
#include "rocin/hash.h"
#include "rocin/transport.h"

enum {
	/* Beyond the threshold the window grows in steps: by window / GROWTH in the
	 * first step, by twice that in the second, by three times that in the third, and
	 * so on.
	 */
	GROWTH = 32,
	/* Bytes that each packet is assumed to occupy in the window besides its payload.
	 * Used only to estimate how many waiting QPs to schedule.
	 */
	OVERHEAD = 64,
	/* Bytes. A QP may send in its turn as many bytes as there is free room, but not
	 * less than window / TURN_SHARE_MIN, and not more than window / TURN_SHARE_MAX or
	 * than TURN_MAX (a super-packet).
	 */
	TURN_SHARE_MIN = 16,
	TURN_SHARE_MAX = 4,
	TURN_MAX = 64 << 10,
	/* If a QP that uses the window alone has to wait, it waits until a whole burst
	 * fits: a super-packet, or window / BURST_SHARE if that is less. Sending a
	 * super-packet of a few packets costs nearly as much as sending a full one.
	 */
	BURST = 64 << 10,
	BURST_SHARE = 3,
	/* Number of bursts that are watched closely (probe.c) after a loss. If the loss
	 * was not caused by a full buffer, another packet is likely to be lost during
	 * these. The limit is a number of bursts, not a time, so that it also holds for
	 * a program that sends rarely.
	 */
	SUSPICION = 1000,
};

/* Shortest time between two steps of growth. A loss within this time after another one
 * may have the same cause.
 */
#define EPOCH RN_MSEC(1)

/* Time after which a waiting QP gets a turn although no acknowledgement has come. The
 * bytes in flight may never be acknowledged: the QP to which they were sent may not exist
 * any more, while the QP that sent them has no local ACK timeout.
 */
#define STUCK RN_MSEC(1)

/* Longest time for which a QP that has no READ in flight waits for room in the READ
 * window. The READs of other QPs that fill the window may never be answered, because
 * their peer is dead.
 */
#define PATIENCE RN_MSEC(1)

/* -------------------------------------------------------------- table of peers */
static uint32_t hash_peer(const struct rn_gid *gid, uint8_t slot)
{
	uint64_t hi = rn_get_be64(gid->raw), lo = rn_get_be64(gid->raw + 8);

	lo = rn_hash_word(lo ^ (uint64_t)slot << 56);
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
	/* Callers only compare whether the number has changed, so 32 bits of it are
	 * enough.
	 */
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

/* ------------------------------------------------------------- turns of waiting QPs */
static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the number of bytes that a packet of full size takes in the window. */
static uint32_t packet_of(const struct rn_qp *qp)
{
	return qp->attr.path_mtu + RN_PACKET_COST;
}

/* Returns how many bytes of the peer window are neither in flight nor granted to a QP
 * (that it may send in its turn).
 */
static uint32_t room_in(const struct rn_peer *peer)
{
	uint64_t used = (uint64_t)peer->in_flight + peer->granted;

	return used < peer->window ? (uint32_t)(peer->window - used) : 0;
}

/* Returns the number of bytes that @qp may send in its turn. That is enough for at least
 * one packet.
 */
static uint32_t turn_of(const struct rn_peer *peer, const struct rn_qp *qp)
{
	uint32_t room = room_in(peer), least = peer->window / TURN_SHARE_MIN;
	uint32_t most = min_u32(peer->window / TURN_SHARE_MAX, TURN_MAX);
	uint32_t turn = min_u32(room > least ? room : least, most);

	return turn > packet_of(qp) ? turn : packet_of(qp);
}

/* Removes the QP from the list of waiting QPs. Harmless if it is not on the list. */
static void stop_waiting(struct rn_qp *qp)
{
	if (!rn_list_is_linked(&qp->window_link))
		return;
	rn_list_remove(&qp->window_link);
	qp->peer->waiters--;
}

/* Puts the QP at the end of the list of waiting QPs, unless it is on the list already. */
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

/* Gives back to the peer window the bytes that the QP was granted and has not sent. */
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

/* Grants a part of the peer window to the QP that has waited longest, and schedules it.
 */
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

/* Returns true if the first waiting QP may have its turn. Room for one packet is enough,
 * because when the window became full, one QP asked for an acknowledgement, which may
 * free no more than that. After a loss the window is smaller than what is in flight, and
 * many of these bytes are probably lost. If the QPs waited until enough of them are
 * acknowledged, they would wait for their timers. So half of the bytes that leave the
 * window meanwhile may be replaced by new ones (peer->replace).
 */
static bool may_admit(struct rn_peer *peer)
{
	const struct rn_qp *qp = first_waiter(peer);
	uint32_t turn;

	if ((peer->in_flight == 0 && peer->granted == 0) ||
	    room_in(peer) >= packet_of(qp))
		return true;
	/* peer->replace must cover the whole turn. Otherwise the number of bytes in
	 * flight would grow.
	 */
	turn = turn_of(peer, qp);
	if (peer->replace < turn)
		return false;
	peer->replace -= turn;
	return true;
}

/* ---------------------------------------- bursts of a QP that uses the window alone */
static uint32_t burst_of(const struct rn_peer *peer)
{
	return min_u32(BURST, peer->window / BURST_SHARE);
}

/* Returns the length of @qp's present burst (the bytes that a QP sends in one go)
 * including another packet of @len bytes. If the burst is full already, the packet begins
 * a new one, so the result is @len.
 */
static uint32_t burst_with(const struct rn_qp *qp, uint32_t len)
{
	uint32_t sent = qp->req.burst + len;

	return sent <= burst_of(qp->peer) ? sent : len;
}

/* Returns true if the next packet of @qp would begin a burst (the bytes that a QP sends
 * in one go) that does not fit into the window. @before: bytes of a packet that leaves
 * before that one; 0: none. Always false if other QPs use the window as well, because
 * there may never be room for a whole burst then.
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

/* Returns true if @qp has to wait because its next burst does not fit into the window.
 * There will be room, because the last packet of @qp has asked for an acknowledgement.
 */
static bool burst_waits(const struct rn_qp *qp)
{
	return qp->req.in_flight > 0 && qp->req.since_ack_req == 0 &&
	       burst_is_too_little(qp, 0);
}

/* ----------------------------------------------------- scheduling of waiting QPs */
/* Schedules as many waiting QPs as can send about one packet each. */
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

/* Called when @freed bytes are no longer in flight: schedules waiting QPs that may send
 * now.
 */
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
	/* @qp itself may be the first of the queue. It is scheduled only if it could
	 * send a packet.
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

/* Returns true if the window lets the QP send a packet of @len bytes, behind @before
 * bytes that it sends first.
 */
static inline bool is_open(const struct rn_qp *qp, uint32_t before, uint32_t len)
{
	const struct rn_peer *peer = qp->peer;
	uint64_t need = (uint64_t)before + len;

	/* A grant (bytes that the QP may send in its turn) is no longer valid if the
	 * window was reduced after it was given.
	 */
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

/* ----------------------------------------------------------- size of the window */
static void grow_window(struct rn_peer *peer, rn_ns now, uint32_t max, uint32_t len)
{
	uint32_t add = len;

	/* A window that has not made a QP wait is large enough, so it does not grow. */
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

/* Measures the round trip time from the first packet of a burst to its first
 * acknowledgement. If packets were sent again, the acknowledgement may be that of an
 * earlier copy, and the measured time too short. So the estimate follows longer values
 * at once and shorter ones slowly.
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

/* Returns the size in bytes up to which the window doubles after a loss; beyond it the
 * window grows slowly.
 */
static uint32_t lower_threshold(const struct rn_peer *peer, rn_ns now, uint32_t min)
{
	bool again = peer->cuts > 0 && now - peer->cut_at < EPOCH &&
		     peer->window < peer->threshold;
	/* @again: the window was still doubling, and another loss had occurred shortly
	 * before. Then packets that were sent before that other loss were probably still
	 * in the peer's buffer, so the present size of the window says little about the
	 * size of the buffer. The threshold is lowered by 1/8 only.
	 */
	uint32_t less = again ? peer->threshold - peer->threshold / 8
			      : peer->window - peer->window / 4;

	return less > min ? less : min;
}

bool rn_window_loss(struct rn_qp *qp, rn_ns now)
{
	struct rn_peer *peer = qp->peer;

	/* Several QPs notice the same overflow of the buffer, at different times. Only
	 * the first one reduces the window.
	 */
	if (!peer || (peer->cuts != qp->cuts_seen && now - peer->cut_at < EPOCH))
		return false;
	peer->threshold = lower_threshold(peer, now, qp->dev->cfg.window_min);
	/* The window starts at its minimum again, because packets that were sent before
	 * may still be in the peer's buffer, although the QPs that went back no longer
	 * count them as in flight.
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

/* -------------------------------------------------------------- leaving a window */
/* Called when the QP that holds the struct of a peer window leaves it: moves the struct
 * into the member that joined last. (QPs are mostly destroyed in the order in which they
 * were created, so that one probably stays longest.)
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
	/* The QP no longer has to wait for room in this window. If its path changes,
	 * there may be room in the window of the new peer.
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

/* ------------------------------------------------------------------ the READ window */
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

/* Returns true if @qp may send its READ request now. Requests with @bytes 0, such as
 * atomics, need no room.
 */
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
