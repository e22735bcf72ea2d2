/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* device.c - the device: tables, outgoing packets, timers. receive.c handles
 * incoming packets.
 */
#include <errno.h>
#include <string.h>

#include "rocin/cqe.h"
#include "rocin/srq.h"
#include "rocin/transport.h"
#include "transport/object/memory.h"
#include "transport/qp/requester.h"

/* Largest number of packets that one QP may send in a row: as many as a
 * super-packet holds.
 */
enum {
	QUANTUM = 64
};

size_t rn_dev_size(void)
{
	return sizeof(struct rn_dev);
}

static bool mtu_is_legal(uint32_t mtu)
{
	return mtu >= 256 && mtu <= RN_MTU_MAX && (mtu & (mtu - 1)) == 0;
}

static bool cfg_is_sane(const struct rn_dev_cfg *c)
{
	if (c->gid_count < 1 || c->gid_count > RN_GID_MAX || !mtu_is_legal(c->mtu_max))
		return false;
	if (c->window_min == 0 || c->window_start < c->window_min ||
	    c->window_max < c->window_start)
		return false;
	/* The length of a window plus that of a packet must stay below 2^32 bytes. */
	if (c->window_max > RN_MSG_MAX || c->read_window > RN_MSG_MAX)
		return false;
	if (c->read_chunk < c->mtu_max || c->read_window < c->read_chunk)
		return false;
	if (c->timeout_scale > RN_TIMEOUT_SCALE_MAX)
		return false;
	if (c->cc > RN_CC_ON || c->cc_line > RN_DCQCN_LINE_MAX)
		return false;
	return c->mem && c->mem->write && c->mem->read && c->mem->atomic && c->stats;
}

int rn_dev_init(struct rn_dev *dev, const struct rn_dev_cfg *cfg)
{
	if (!cfg_is_sane(cfg))
		return -EINVAL;
	memset(dev, 0, sizeof(*dev));
	dev->cfg = *cfg;
	if (rn_call_hook.attach)
		dev->hook = rn_call_hook.attach(&dev->cfg);
	if (!cfg->timeout_scale)
		dev->cfg.timeout_scale = 1;
	rn_htab_init(&dev->qps, dev->qp_bucket0, RN_ARRAY_SIZE(dev->qp_bucket0));
	rn_htab_init(&dev->mrs, dev->mr_bucket0, RN_ARRAY_SIZE(dev->mr_bucket0));
	rn_htab_init(&dev->srqs, dev->srq_bucket0, RN_ARRAY_SIZE(dev->srq_bucket0));
	rn_list_init(&dev->work);
	dev->more_at = RN_NEVER;
	rn_list_init(&dev->acks);
	rn_list_init(&dev->frames);
	rn_list_init(&dev->cnps);
	if (cfg->cc)
		rn_dcqcn_defaults(&dev->cc, cfg->cc_line ? cfg->cc_line : RN_CC_LINE);
	rn_list_init(&dev->qp_events);
	rn_list_init(&dev->srq_events);
	rn_list_init(&dev->read_waiting);
	dev->cq_events_tail = &dev->cq_events;
	return 0;
}

void rn_dev_fini(struct rn_dev *dev)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_DEV_FINI);

	assert(dev->qps.count == 0);
	assert(dev->mrs.count == 0);
	assert(dev->srqs.count == 0);
	assert(!dev->cq_events);
	assert(rn_list_is_empty(&dev->cnps));
	assert(dev->read_in_flight == 0 && !dev->read_turn);
	assert(rn_dev_deadline(dev) == RN_NEVER);
}

void rn_dev_set_gid(struct rn_dev *dev, uint32_t index, const struct rn_gid *gid)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_SET_GID, .u.set_gid = { index, *gid });

	assert(index < dev->cfg.gid_count);
	dev->cfg.gid[index] = *gid;
}

/* ----------------------------------------- tables of QPs, regions and SRQs */

/* Moves one of the key tables (@which) to the larger array @bucket of @count pointers.
 * Return: the old array, which the caller may free; NULL if the old one is part of the
 * device.
 */
static void **grow_table(struct rn_dev *dev, enum rn_call_table which, void **bucket,
			 uint32_t count)
{
	struct rn_htab *const tab[] = { &dev->qps, &dev->mrs, &dev->srqs };
	struct rn_hnode **const builtin[] = { dev->qp_bucket0, dev->mr_bucket0,
					      dev->srq_bucket0 };
	struct rn_hnode **old;
	RN_SHOW_CALL(dev, .kind = RN_CALL_GROW, .u.grow = { which, count });

	old = rn_htab_rehash(tab[which], (struct rn_hnode **)bucket, count);
	return old == builtin[which] ? NULL : (void **)old;
}

void **rn_dev_grow_qp_table(struct rn_dev *dev, void **bucket, uint32_t count)
{
	return grow_table(dev, RN_CALL_TABLE_QP, bucket, count);
}

void **rn_dev_grow_mr_table(struct rn_dev *dev, void **bucket, uint32_t count)
{
	return grow_table(dev, RN_CALL_TABLE_MR, bucket, count);
}

void **rn_dev_grow_srq_table(struct rn_dev *dev, void **bucket, uint32_t count)
{
	return grow_table(dev, RN_CALL_TABLE_SRQ, bucket, count);
}

bool rn_dev_has_srqn(const struct rn_dev *dev, uint32_t srqn)
{
	return rn_htab_find(&dev->srqs, srqn) != NULL;
}

bool rn_dev_has_qpn(const struct rn_dev *dev, uint32_t qpn)
{
	return rn_htab_find(&dev->qps, qpn) != NULL;
}

struct rn_qp *rn_dev_find_qp(const struct rn_dev *dev, uint32_t qpn)
{
	struct rn_hnode *node = rn_htab_find(&dev->qps, qpn);

	return node ? RN_CONTAINER_OF(node, struct rn_qp, node) : NULL;
}

/* ------------------------------------------------- transmission of packets */

bool rn_dev_acks_due(const struct rn_dev *dev)
{
	return !rn_list_is_empty(&dev->acks);
}

bool rn_dev_has_packets(const struct rn_dev *dev, unsigned what)
{
	return !rn_list_is_empty(&dev->cnps) ||
	       (what & RN_TX_ACKS && !rn_list_is_empty(&dev->acks)) ||
	       (what & RN_TX_WORK && !rn_list_is_empty(&dev->work));
}

uint32_t rn_dev_requests(const struct rn_dev *dev)
{
	return dev->requests;
}

uint32_t rn_dev_received(const struct rn_dev *dev)
{
	return dev->received;
}

bool rn_dev_is_amid_message(const struct rn_dev *dev)
{
	const struct rn_qp *qp = dev->last_qp;

	return qp && (qp->rsp.message != RN_MSG_NONE || qp->rsp.nak_pending);
}

static void address_packet(struct rn_qp *qp, struct rn_tx *tx, bool response)
{
	tx->flow = &qp->flow;
	tx->dest_qpn = qp->attr.dest_qpn;
	tx->src_qpn = qp->qpn;
	tx->response = response;
	tx->part.len = 0;
}

static void count_tx(struct rn_qp *qp, uint32_t len)
{
	struct rn_stats_qp *s = qp->stats;

	rn_count(qp->dev, RN_STAT_TX_PACKETS);
	rn_count_n(qp->dev, RN_STAT_TX_BYTES, len + RN_ICRC_LEN);
	if (s)
		__atomic_store_n(&s->tx_packets, s->tx_packets + 1, __ATOMIC_RELAXED);
}

static uint32_t transmit_ack(struct rn_dev *dev, rn_ns now, struct rn_build *b)
{
	struct rn_list *link;

	while ((link = rn_list_pop_front(&dev->acks))) {
		struct rn_qp *qp = RN_CONTAINER_OF(link, struct rn_qp, ack_link);
		uint32_t len;

		address_packet(qp, b->tx, true);
		len = rn_rsp_build_ack(qp, now, b);
		if (len) {
			count_tx(qp, len);
			return len;
		}
	}
	return 0;
}

static uint32_t transmit_cnp(struct rn_dev *dev, struct rn_build *b)
{
	struct rn_qp *qp;
	uint32_t len;

	if (rn_list_is_empty(&dev->cnps))
		return 0;
	len = rn_cnp_build(dev, b, &qp);
	count_tx(qp, len);
	return len;
}

static uint32_t build_response(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	const bool paced = qp->req.pace.on;
	uint32_t len;

	/* Is there no READ or atomic to answer? */
	if (!paced && qp->rsp.res_cur == qp->rsp.res_tail)
		return 0;
	if (paced && !rn_pace_may_respond(qp, now))
		return 0;
	address_packet(qp, b->tx, true);
	len = rn_rsp_build(qp, now, b);
	if (paced && len)
		rn_pace_responded(qp, now, len);
	return len;
}

static uint32_t build_request(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	const bool paced = qp->req.pace.on;
	uint32_t len;

	if (paced && !rn_pace_may_send(qp, now))
		return 0;
	address_packet(qp, b->tx, false);
	len = rn_req_build(qp, now, b);
	if (paced && len)
		rn_pace_sent(qp, now, len);
	return len;
}

/* Builds the next response or, if there is none, the next request. Responses are sent
 * first because the peer is already waiting for them.
 */
static uint32_t build_work(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	uint32_t len;

	if (rn_qp_is_reliable(qp) && qp->state >= RN_QPS_RTR) {
		len = build_response(qp, now, b);
		if (len)
			return len;
	}
	if (qp->state != RN_QPS_RTS && qp->state != RN_QPS_SQD)
		return 0;
	return build_request(qp, now, b);
}

/* Builds the acknowledgement of @qp that is sent together with its requests. It is sent
 * behind the last request: being shorter, it can be the last packet of the same
 * super-packet. (The peer's engine hands an ACK at the end of a super-packet to its core
 * first.) It is not sent behind a request that fills the window: a program that polls for
 * the acknowledgement would find it and stop polling before the remaining requests have
 * arrived.
 */
static uint32_t build_along(struct rn_qp *qp, rn_ns now, struct rn_build *b)
{
	rn_list_remove(&qp->ack_link);
	address_packet(qp, b->tx, true);
	return rn_rsp_build_ack(qp, now, b);
}

static bool may_go_along(const struct rn_qp *qp, unsigned what)
{
	return what & RN_TX_ALONG && rn_list_is_linked(&qp->ack_link);
}

/* Must the acknowledgement be sent before the next request? Yes if the peer's program is
 * notified of the request (it takes a receive WQE), and both packets cannot be in one
 * super-packet. Programs rely on the behaviour of hardware: the acknowledgement of a
 * request arrives before any answer of the peer's program, so when they receive the
 * answer, their own request has completed. (Without this, the iSCSI target tgt takes an
 * iSER command for a part of the login.)
 */
static bool goes_ahead(const struct rn_qp *qp, unsigned what)
{
	const struct rn_send_wqe *wqe;

	if (!may_go_along(qp, what) || !rn_qp_unsent(qp))
		return false;
	wqe = rn_wq_at(&qp->req.sq, qp->req.cur);
	return rn_wqe_info(wqe)->takes_recv &&
	       (what & RN_TX_SINGLY || wqe->length > qp->attr.path_mtu);
}

static bool goes_behind(const struct rn_qp *qp, unsigned what)
{
	return may_go_along(qp, what) && qp->burst > 0 && !rn_qp_unsent(qp);
}

/* Has the QP, which has just built a packet, no other one to build? */
static bool has_built_all(const struct rn_qp *qp, unsigned what)
{
	return qp->req.cur == qp->req.sq.tail && qp->rsp.res_cur == qp->rsp.res_tail &&
	       !may_go_along(qp, what);
}

/* Takes the QP from the list of those that may have packets to build. */
static void end_burst(struct rn_qp *qp)
{
	rn_list_remove(&qp->work_link);
	rn_window_yield(qp);
	rn_read_window_yield(qp);
}

static uint32_t transmit_work(struct rn_dev *dev, rn_ns now, unsigned what,
			      struct rn_build *b)
{
	struct rn_list *link;

	dev->more_at = RN_NEVER;
	while (dev->vain < RN_VAIN_MAX && (link = rn_list_first(&dev->work))) {
		struct rn_qp *qp = RN_CONTAINER_OF(link, struct rn_qp, work_link);
		uint32_t len;

		if (qp->burst >= QUANTUM) {
			rn_list_remove(link);
			rn_dev_schedule(dev, qp);
			/* goes_behind() sends an ACK behind requests only if burst is not
			 * 0. So burst is set to 1: the ACK may still go into one
			 * super-packet with the packets before it.
			 */
			qp->burst = 1;
			continue;
		}
		len = goes_ahead(qp, what) ? build_along(qp, now, b) : 0;
		if (!len) {
			len = build_work(qp, now, b);
			rn_dev_settle(dev, now);
		}
		if (!len && goes_behind(qp, what))
			len = build_along(qp, now, b);
		if (len) {
			qp->burst++;
			count_tx(qp, len);
			if (has_built_all(qp, what))
				end_burst(qp);
			return len;
		}
		end_burst(qp);
		if (qp->burst == 0)
			dev->vain++;
	}
	dev->vain = 0;
	if (!rn_list_is_empty(&dev->work))
		dev->more_at = now;
	return 0;
}

static uint32_t transmit(struct rn_dev *dev, rn_ns now, unsigned what, uint8_t *buf,
			 size_t cap, struct rn_tx *tx)
{
	struct rn_build b = { .buf = buf,
			      .cap = cap,
			      .tx = tx,
			      .part = what & RN_TX_NO_ICRC ? NULL : &tx->part };
	uint32_t len;

	assert(cap >= RN_PACKET_MAX);
	len = transmit_cnp(dev, &b);
	if (!len && (what & RN_TX_ACKS))
		len = transmit_ack(dev, now, &b);
	if (!len && (what & RN_TX_WORK))
		len = transmit_work(dev, now, what, &b);
	return len;
}

uint32_t rn_dev_transmit(struct rn_dev *dev, rn_ns now, unsigned what, uint8_t *buf,
			 size_t cap, struct rn_tx *tx)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_TRANSMIT, .now = now,
		     .u.transmit = { .buf = buf, .cap = cap, .tx = tx, .what = what });

	return RN_SHOW_RESULT(transmit(dev, now, what, buf, cap, tx));
}

/* ------------------------------------------------------------------ timers */

rn_ns rn_dev_deadline(const struct rn_dev *dev)
{
	rn_ns at = rn_earlier(rn_timer_next_deadline(&dev->timers),
			      rn_timer_next_deadline(&dev->watches));

	if (!rn_list_is_empty(&dev->work))
		at = rn_earlier(at, dev->more_at);
	return rn_earlier(at, rn_cq_held_deadline(dev));
}

bool rn_dev_silent(struct rn_dev *dev, struct rn_flow *flow)
{
	bool has = dev->has_silent;

	*flow = dev->silent;
	dev->has_silent = false;
	return has;
}

static void expire_qp(struct rn_dev *dev, struct rn_timer *t, rn_ns now)
{
	struct rn_qp *qp = RN_CONTAINER_OF(t, struct rn_qp, timer);

	rn_req_expire(qp, now);
	/* rn_req_expire() may have set the timer for a deadline that has passed by now.
	 */
	rn_timer_remove(&dev->timers, t);
	rn_dev_arm_timer(dev, qp);
	assert(!rn_timer_is_armed(t) || t->deadline > now);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
}

void rn_dev_expire(struct rn_dev *dev, rn_ns now)
{
	const uint32_t before = dev->completions;
	uint32_t served = 0;
	struct rn_timer *t;
	RN_SHOW_CALL(dev, .kind = RN_CALL_EXPIRE, .now = now);

	dev->more_at = RN_NEVER;
	for (; served + (dev->completions - before) < RN_EXPIRE_MAX; served++) {
		if ((t = rn_timer_pop(&dev->timers, now)))
			expire_qp(dev, t, now);
		else if ((t = rn_timer_pop(&dev->watches, now)))
			rn_window_expire(dev, t, now);
		else
			break;
	}
	rn_cq_fire_due(dev, now);
}

/* ---------------------------------------------- memory, and ends of its operations */
int rn_dev_set_memory(struct rn_dev *dev, const struct rn_mem_ops *mem, void *mem_ctx,
		      void (*before_ack)(void *mem_ctx, uint32_t qpn))
{
	if (dev->hook || mem->always_done != dev->cfg.mem->always_done)
		return -EBUSY;
	dev->cfg.mem = mem;
	dev->cfg.mem_ctx = mem_ctx;
	dev->cfg.before_ack = before_ack;
	return 0;
}

void rn_dev_mem_done(struct rn_dev *dev, rn_ns now, uint64_t tag,
		     enum rn_mem_result result)
{
	struct rn_hnode *node;
	struct rn_qp *qp;
	RN_SHOW_CALL(dev, .kind = RN_CALL_MEM_DONE, .now = now,
		     .u.mem_done = { tag, result });

	assert(result != RN_MEM_PENDING);
	if (rn_shown)
		tag = rn_shown->u.mem_done.tag;
	node = rn_htab_find(&dev->qps, (uint32_t)(tag >> 8));
	if (!node)
		return;
	qp = RN_CONTAINER_OF(node, struct rn_qp, node);
	if ((tag & 0xff) != RN_TAG_REQ) {
		rn_rsp_mem_done(qp, now, tag, result);
	} else {
		if (result == RN_MEM_FAULT) {
			rn_count(dev, RN_STAT_MEM_FAULT);
			qp->why = RN_SYN_LOCAL_MEMORY;
		}
		rn_req_mem_done(qp, now, result);
	}
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
}

void rn_dev_error(struct rn_dev *dev, rn_ns now)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_DEV_ERROR, .now = now);

	dev->unmoderated = true;
	rn_cq_fire_due(dev, RN_NEVER);
	for (struct rn_hnode *n = rn_htab_first(&dev->qps); n;
	     n = rn_htab_next(&dev->qps, n))
		rn_qp_error(RN_CONTAINER_OF(n, struct rn_qp, node), now);
	rn_dev_settle(dev, now);
}
