/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* net_fault.c - the layer that applies fault rules to packets; see net_fault.h.
 *
 * Each direction has two queues. A packet that may leave is in the queue "ready", from
 * which packets leave in order, as soon as the back end or the device accepts them. So a
 * full socket of the back end changes when packets leave, but not which faults hit them.
 * A packet that has to wait is in the queue "held", which is sorted by time.
 */
#include "net_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "fault_rules.h"
#include "rocin/gid.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/stats.h"
#include "transport/io/host/clock.h"

#define RETRY_AFTER RN_USEC(200) /* pause before a full socket is tried again */
/* maximum wait of a packet that a rule has put behind others (reorder) */
#define REORDER_WAITS RN_MSEC(10)

enum {
	HELD_MAX = 16 << 20, /* maximum bytes of packets that are held in one direction */
	/* Maximum number of orders to the device (struct pending) that can wait for the
	 * next call of receive().
	 */
	ORDERS_MAX = 64,
	ECN_CE = 3,
};

/* A packet in a queue. It waits for its time (@due), for other packets to leave first
 * (@behind), or until the back end or the device accepts it.
 */
struct item {
	TAILQ_ENTRY(item) link;
	rn_ns due;
	/* Number of packets that must leave before this one; 0: it does not wait for
	 * others, but for the time @due.
	 */
	uint32_t behind;
	struct rn_flow flow;
	uint32_t sgid_index;
	uint32_t len;
	/* Length of a packet in bytes, and number of packets. An item has several packets
	 * only if it is a super-packet of which the back end has sent a part.
	 */
	uint32_t seg_len, count;
	uint16_t gro_idx;
	bool has_fate;
	/* the fate of the packet, from which its random numbers are computed
	 * (rn_fault_fate())
	 */
	uint64_t fate;
	/* Not 0: the packet is an acknowledgement of a request of the peer, sent in
	 * place of the local QP with this number, and its MSN is still to be filled in.
	 */
	uint32_t answers_for;
	uint8_t data[];
};

TAILQ_HEAD(list, item);

/* The queues of one direction. */
struct queues {
	struct list ready, held;
	size_t held_bytes;
	bool has_reordered; /* a packet in @held waits until others have left */
};

/* An order: an effect of a rule on the device itself, such as an error of a QP. The next
 * call of receive() carries it out.
 */
struct pending {
	enum rn_fault_order what;
	uint32_t qpn;
};

struct rn_fault {
	struct rn_net net;
	struct rn_net *inner;
	uint64_t *stats;
	const struct rn_fault_host *host;
	void *host_ctx;
	struct queues queues[RN_FAULT_DIRS];
	/* received packets that the device is using until the next call of receive() */
	struct list given;
	bool wants_qp, wants_fate, has_counted;
	struct rn_fault_fates *fates;
	/* @inner has sent a part of the next super-packet, so the rest of it passes
	 * unchanged.
	 */
	bool has_begun;
	bool is_cut;
	rn_ns cut_until;
	uint64_t cut_by; /* id of the rule that has taken the link down */
	unsigned orders;
	struct pending order[ORDERS_MAX];
	struct rn_fault_rules rules;
};

/* The combined effect on one packet of all rules that hit it. */
struct plan {
	bool is_dropped;
	uint32_t copies, places;
	rn_ns delay;
	enum rn_fault_icrc icrc;
};

/* ------------------------------------------------------------- queues of packets */
/* Allocate an item with a copy of a packet of @len bytes. Return: the item, for free();
 * NULL: no memory.
 */
static struct item *new_item(const struct rn_flow *flow, const uint8_t *data,
			     uint32_t len)
{
	struct item *it = malloc(sizeof(*it) + len);

	if (!it)
		return NULL;
	it->behind = it->sgid_index = 0;
	it->gro_idx = 0;
	it->answers_for = 0;
	it->has_fate = false;
	it->flow = *flow;
	it->len = it->seg_len = len;
	it->count = 1;
	memcpy(it->data, data, len);
	return it;
}

static struct item *copy_item(const struct item *it)
{
	struct item *copy = new_item(&it->flow, it->data, it->len);

	if (copy) {
		copy->sgid_index = it->sgid_index;
		copy->gro_idx = it->gro_idx;
	}
	return copy;
}

static void drop_all(struct list *list)
{
	struct item *it, *next;

	for (it = TAILQ_FIRST(list); it; it = next) {
		next = TAILQ_NEXT(it, link);
		free(it);
	}
	TAILQ_INIT(list);
}

static void release_held(struct queues *q, struct item *it)
{
	TAILQ_REMOVE(&q->held, it, link);
	q->held_bytes -= it->len;
	if (it->behind)
		q->has_reordered = false;
	TAILQ_INSERT_TAIL(&q->ready, it, link);
}

/* Put a packet into the queue "held", where it waits until the time @it->due or until
 * @it->behind packets have left. If more than HELD_MAX bytes are held then, packets are
 * released early, those that are due first.
 */
static void hold_back(struct queues *q, struct item *it)
{
	struct item *before = TAILQ_LAST(&q->held, list);

	while (before && before->due > it->due)
		before = TAILQ_PREV(before, list, link);
	if (before)
		TAILQ_INSERT_AFTER(&q->held, before, it, link);
	else
		TAILQ_INSERT_HEAD(&q->held, it, link);
	q->held_bytes += it->len;
	if (it->behind)
		q->has_reordered = true;
	while (q->held_bytes > HELD_MAX)
		release_held(q, TAILQ_FIRST(&q->held));
}

/* Move the packets that are due at @now from the queue "held" to "ready". */
static void release_due(struct queues *q, rn_ns now)
{
	struct item *it;

	while ((it = TAILQ_FIRST(&q->held)) && it->due <= now)
		release_held(q, it);
}

/* Called when a packet leaves. If a packet in "held" waits for a number of packets to
 * leave first, decrements that number, and releases the packet at 0.
 */
static void go_ahead(struct queues *q)
{
	struct item *it;

	if (!q->has_reordered)
		return;
	TAILQ_FOREACH(it, &q->held, link)
	if (it->behind)
		break;
	assert(it);
	if (it->behind > 1)
		it->behind--;
	else
		release_held(q, it);
}

/* --------------------------------------------------------------- effects of rules */
static rn_ns time_now(const struct rn_fault *f)
{
	return f->host ? f->host->now(f->host_ctx) : rn_clock(CLOCK_MONOTONIC);
}

static void queue_order(struct rn_fault *f, enum rn_fault_order what, uint32_t qpn)
{
	if (f->host && f->orders < ORDERS_MAX)
		f->order[f->orders++] = (struct pending){ what, qpn };
}

/* Take the link down because of rule @r. */
static void begin_cut(struct rn_fault *f, const struct rn_fault_rule *r)
{
	if (!f->is_cut)
		queue_order(f, RN_FAULT_ORDER_LINK_DOWN, 0);
	f->is_cut = true;
	f->cut_until = r->time ? time_now(f) + r->time : RN_NEVER;
	f->cut_by = r->id;
}

/* Bring the link up again. */
static void end_cut(struct rn_fault *f)
{
	f->is_cut = false;
	queue_order(f, RN_FAULT_ORDER_LINK_UP, 0);
}

/* Return: number of the local QP that sends or receives a packet; 0: not known. */
static uint32_t find_qp(const struct rn_fault *f, enum rn_fault_dir dir,
			const struct rn_flow *flow, const uint8_t *pkt, uint32_t len)
{
	uint32_t dest = rn_get_be24(pkt + 5);

	if (dir == RN_FAULT_RX)
		return dest;
	if (rn_opcode_info[pkt[0]].flags & RN_OP_DETH)
		return len >= RN_BTH_LEN + RN_DETH_LEN ? rn_get_be24(pkt + 17) : 0;
	return f->host ? f->host->sender(f->host_ctx, flow, dest) : 0;
}

/* Send a NAK to the sender of the packet @it, in place of its receiver. With @dir
 * RN_FAULT_RX, the sender is the peer; with RN_FAULT_TX, it is a local QP.
 */
static void answer_sender(struct rn_fault *f, enum rn_fault_dir dir,
			  const struct item *it, uint8_t syndrome)
{
	uint32_t qpn = find_qp(f, dir, &it->flow, it->data, it->len);
	struct rn_flow flow = it->flow;
	uint8_t nak[RN_FAULT_NAK_LEN];
	struct rn_aeth aeth = { .syndrome = syndrome };
	struct item *reply;
	uint32_t own = qpn;

	if (!f->host || qpn == 0)
		return;
	if (dir == RN_FAULT_RX)
		qpn = f->host->peer(f->host_ctx, qpn);
	else
		aeth.msn =
			f->host->msn(f->host_ctx, own, rn_get_be24(it->data + 9), true);
	flow.src = it->flow.dst;
	flow.dst = it->flow.src;
	rn_fault_answer(nak, it->data, &flow, qpn, &aeth);
	reply = qpn ? new_item(&flow, nak, sizeof(nak)) : NULL;
	if (!reply)
		return;
	/* The MSN of the NAK depends on packets before the request, which the device has
	 * not handled yet. close_answer() fills it in later.
	 */
	reply->answers_for = dir == RN_FAULT_RX ? own : 0;
	reply->sgid_index = f->host->sgid(f->host_ctx, &flow.src);
	TAILQ_INSERT_TAIL(
		&f->queues[dir == RN_FAULT_TX ? RN_FAULT_RX : RN_FAULT_TX].ready, reply,
		link);
}

static bool is_reliable(uint8_t opcode)
{
	return rn_opcode_class(opcode) == RN_CLASS_RC ||
	       rn_opcode_class(opcode) == RN_CLASS_XRC;
}

/* Apply the rule @r to the packet @it: what takes effect at once is done, and the rest
 * is added to @plan.
 */
static void apply_rule(struct rn_fault *f, enum rn_fault_dir dir, struct rn_fault_rule *r,
		       struct item *it, struct plan *plan)
{
	switch (r->act) {
	case RN_FAULT_DROP:
		plan->is_dropped = true;
		break;
	case RN_FAULT_DUPLICATE:
		plan->copies += r->copies;
		break;
	case RN_FAULT_DELAY:
		plan->delay += r->time;
		break;
	case RN_FAULT_REORDER:
		plan->places = r->places;
		break;
	case RN_FAULT_CORRUPT:
	case RN_FAULT_SET:
		rn_fault_edit(r, it->has_fate ? &it->fate : NULL, it->data, it->len,
			      &plan->icrc);
		break;
	case RN_FAULT_MARK:
		it->flow.tclass |= ECN_CE;
		break;
	case RN_FAULT_NAK:
		if (is_reliable(it->data[0]))
			answer_sender(f, dir, it, r->syndrome);
		plan->is_dropped = true;
		break;
	case RN_FAULT_KILL:
		queue_order(f, RN_FAULT_ORDER_KILL,
			    find_qp(f, dir, &it->flow, it->data, it->len));
		plan->is_dropped = true;
		break;
	case RN_FAULT_OVERRUN:
		queue_order(f,
			    r->of_send_cq ? RN_FAULT_ORDER_OVERRUN_SEND
					  : RN_FAULT_ORDER_OVERRUN_RECV,
			    find_qp(f, dir, &it->flow, it->data, it->len));
		break;
	case RN_FAULT_CUT:
		begin_cut(f, r);
		plan->is_dropped = true;
		break;
	case RN_FAULT_FAIL:
	case RN_FAULT_ACTS:
		break;
	}
}

/* ---------------------------------------------------- sending the queued packets */
static void count_dropped(struct rn_fault *f, uint32_t packets)
{
	uint64_t *n = &f->stats[RN_STAT_FAULT_DROPPED];

	__atomic_store_n(n, *n + packets, __ATOMIC_RELAXED);
}

static void show_counts(struct rn_fault *f)
{
	if (f->has_counted && f->host)
		f->host->show(f->host_ctx, &f->rules);
	f->has_counted = false;
}

/* Fill in the MSN of @it, a NAK that is sent in place of a local QP. The device has
 * handled all packets before the request by now.
 */
static void close_answer(const struct rn_fault *f, struct item *it)
{
	uint32_t psn = rn_get_be24(it->data + 9);

	rn_fault_answer_msn(it->data, &it->flow,
			    f->host->msn(f->host_ctx, it->answers_for, psn, false));
	it->answers_for = 0;
}

/* Send the packets in the queue "ready". Return: 0 or -EAGAIN. */
static int send_ready(struct rn_fault *f)
{
	struct list *ready = &f->queues[RN_FAULT_TX].ready;
	struct item *it, *next;

	if (f->has_begun)
		return -EAGAIN;
	for (it = TAILQ_FIRST(ready); it; it = next) {
		struct rn_super one = { .flow = &it->flow,
					.sgid_index = it->sgid_index,
					.data = it->data,
					.len = it->len,
					.seg_len = it->seg_len,
					.count = it->count };

		next = TAILQ_NEXT(it, link);
		if (it->answers_for)
			close_answer(f, it);
		if (f->inner->ops->transmit(f->inner->ctx, &one) == -EAGAIN)
			return -EAGAIN;
		TAILQ_REMOVE(ready, it, link);
		free(it);
	}
	return 0;
}

static void hand_on(struct rn_fault *f, enum rn_fault_dir dir, struct item *it,
		    const struct plan *plan)
{
	struct queues *q = &f->queues[dir];

	if (plan->delay > 0) {
		it->due = time_now(f) + plan->delay;
		hold_back(q, it);
	} else if (plan->places > 0 && !q->has_reordered) {
		it->behind = plan->places;
		it->due = time_now(f) + REORDER_WAITS;
		hold_back(q, it);
	} else {
		TAILQ_INSERT_TAIL(&q->ready, it, link);
		go_ahead(q);
	}
}

static void tell_host(const struct rn_fault *f, enum rn_fault_dir dir,
		      const struct item *it, enum rn_diagnostic_fault what,
		      uint64_t verdict)
{
	bool is_sent = dir == RN_FAULT_TX;
	struct rn_fault_news news = { .flow = &it->flow,
				      .packet = it->data,
				      .len = it->len,
				      .is_unsent =
					      is_sent && what == RN_DIAGNOSTIC_DROPPED };

	if (!f->host || !f->host->tell)
		return;
	news.what = (struct rn_diagnostic){ .kind = RN_DIAGNOSTIC_FAULT,
					    .is_sent = is_sent,
					    .code = what };
	if (verdict)
		news.what.key = f->rules.rule[__builtin_ctzll(verdict)].number + 1;
	f->host->tell(f->host_ctx, &news);
}

static enum rn_diagnostic_fault done_to(const struct plan *plan)
{
	return plan->delay > 0 || plan->places > 0 ? RN_DIAGNOSTIC_DELAYED
						   : RN_DIAGNOSTIC_CHANGED;
}

/* Apply the rules whose bits are set in @verdict to the packet @it. Then queue the
 * packet, unless they drop it. This function owns @it.
 */
static void carry_out(struct rn_fault *f, enum rn_fault_dir dir, struct item *it,
		      uint64_t verdict)
{
	struct plan plan = { 0 };

	for (uint64_t left = verdict; left; left &= left - 1)
		apply_rule(f, dir, &f->rules.rule[__builtin_ctzll(left)], it, &plan);
	if (plan.is_dropped || f->is_cut) {
		/* Earlier packets are sent first, so that a capture has them before the
		 * dropped packet.
		 */
		if (dir == RN_FAULT_TX)
			(void)send_ready(f);
		tell_host(f, dir, it, RN_DIAGNOSTIC_DROPPED, verdict);
		count_dropped(f, 1);
		free(it);
		return;
	}
	if (plan.icrc == RN_FAULT_ICRC_STALE) {
		it->gro_idx = 0;
		rn_icrc_seal(&it->flow, 0, it->data, it->len - RN_ICRC_LEN);
	}
	if (verdict && plan.copies == 0)
		tell_host(f, dir, it, done_to(&plan), verdict);
	for (; plan.copies > 0; plan.copies--) {
		struct item *copy = copy_item(it);

		tell_host(f, dir, it, RN_DIAGNOSTIC_INJECTED, verdict);
		if (copy)
			TAILQ_INSERT_TAIL(&f->queues[dir].ready, copy, link);
	}
	hand_on(f, dir, it, &plan);
}

/* The verdict on a packet (a bit for each rule that hits it), and its fate. */
struct judged {
	uint64_t verdict, fate;
};

static void find_fate(struct rn_fault *f, struct rn_fault_packet *p)
{
	uint32_t first = RN_FAULT_NO_PSN;

	if (p->qpn && f->host && f->host->first_psn)
		first = f->host->first_psn(f->host_ctx, p->qpn, rn_fault_is_of_peer(p));
	p->has_fate = true;
	p->fate = rn_fault_fate(f->fates, p, first);
}

static struct judged judge_packet(struct rn_fault *f, enum rn_fault_dir dir,
				  const struct rn_flow *flow, const uint8_t *pkt,
				  uint32_t len)
{
	struct rn_fault_packet p = { .dir = dir };

	if (!rn_fault_look(pkt, len, &p))
		return (struct judged){ 0 };
	if (f->wants_qp || f->wants_fate)
		p.qpn = find_qp(f, dir, flow, pkt, len);
	if (p.qpn && f->host)
		p.qp = f->host->place(f->host_ctx, p.qpn);
	if (f->wants_fate)
		find_fate(f, &p);
	f->has_counted = true;
	return (struct judged){ rn_fault_judge(&f->rules, &p), p.fate };
}

static void set_fate(const struct rn_fault *f, struct item *it, const struct judged *j)
{
	it->has_fate = f->wants_fate;
	it->fate = j->fate;
}

/* ---------------------------------------------------------------------- transmit() */
/* Apply the rules to each packet of @super, and send it by itself, with the ICRC that is
 * right for a packet that is sent alone.
 */
static void send_split(struct rn_fault *f, const struct rn_super *super,
		       const struct judged *judged)
{
	/* In a super-packet, the IPv4 identification of a packet is its position, and the
	 * ICRC was computed for that.
	 */
	bool was_joined = f->net.gso && rn_flow_is_ipv4(super->flow);

	for (uint32_t i = 0; i < super->count; i++) {
		uint32_t at = i * super->seg_len, len = rn_super_packet_len(super, at);
		struct item *it = new_item(super->flow, super->data + at, len);

		if (!it) {
			count_dropped(f, 1);
			continue;
		}
		it->sgid_index = super->sgid_index;
		if (was_joined && i > 0)
			rn_icrc_seal(&it->flow, 0, it->data, len - RN_ICRC_LEN);
		set_fate(f, it, &judged[i]);
		carry_out(f, RN_FAULT_TX, it, judged[i].verdict);
	}
}

/* Queue @super as a whole, because @inner may have sent a part of it. Return: false if
 * there is no memory.
 */
static bool keep_whole(struct rn_fault *f, const struct rn_super *super)
{
	struct item *it = new_item(super->flow, super->data, super->len);

	if (!it)
		return false;
	it->sgid_index = super->sgid_index;
	it->seg_len = super->seg_len;
	it->count = super->count;
	TAILQ_INSERT_TAIL(&f->queues[RN_FAULT_TX].ready, it, link);
	return true;
}

static int pass_whole(struct rn_fault *f, const struct rn_super *super)
{
	int rc = f->inner->ops->transmit(f->inner->ctx, super);

	/* The rules have been applied to these packets, and must not be applied a second
	 * time. So the packets are accepted even if the socket is full.
	 */
	if (rc == -EAGAIN && keep_whole(f, super))
		rc = 0;
	f->net.gso = f->inner->gso;
	return rc;
}

static int fault_transmit(void *ctx, const struct rn_super *super)
{
	struct rn_fault *f = ctx;
	struct judged judged[RN_SUPER_SEGMENTS];
	uint64_t any = 0;

	assert(super->count <= RN_SUPER_SEGMENTS);
	if (f->has_begun) {
		f->has_begun = false;
		return pass_whole(f, super);
	}
	release_due(&f->queues[RN_FAULT_TX], time_now(f));
	if (send_ready(f))
		return -EAGAIN;
	for (uint32_t i = 0; i < super->count; i++) {
		uint32_t at = i * super->seg_len;

		judged[i] = judge_packet(f, RN_FAULT_TX, super->flow, super->data + at,
					 rn_super_packet_len(super, at));
		any |= judged[i].verdict;
	}
	show_counts(f);
	if (f->is_cut) {
		count_dropped(f, super->count);
		return 0;
	}
	if (!any && !f->queues[RN_FAULT_TX].has_reordered)
		return pass_whole(f, super);
	send_split(f, super, judged);
	send_ready(f);
	return 0;
}

/* ----------------------------------------------------------------------- receive() */
static int give_ready(struct rn_fault *f, struct rn_rx *rx)
{
	struct list *ready = &f->queues[RN_FAULT_RX].ready;
	struct item *it;
	int n = 0;

	while (n < RN_RX_BATCH && (it = TAILQ_FIRST(ready))) {
		TAILQ_REMOVE(ready, it, link);
		TAILQ_INSERT_TAIL(&f->given, it, link);
		rx[n++] = (struct rn_rx){ .flow = &it->flow,
					  .data = it->data,
					  .len = it->len,
					  .gro_idx = it->gro_idx };
	}
	return n;
}

/* Apply the rules to a batch of received packets. Return: true if packets were queued or
 * dropped; false if the whole batch passes unchanged.
 */
static bool sort_out(struct rn_fault *f, const struct rn_rx *rx, int n)
{
	struct judged judged[RN_RX_BATCH];
	uint64_t any = 0;

	for (int i = 0; i < n; i++) {
		judged[i] =
			judge_packet(f, RN_FAULT_RX, rx[i].flow, rx[i].data, rx[i].len);
		any |= judged[i].verdict;
	}
	if (f->is_cut) {
		count_dropped(f, (uint32_t)n);
		return true;
	}
	if (!any && !f->queues[RN_FAULT_RX].has_reordered)
		return false;
	for (int i = 0; i < n; i++) {
		struct item *it = new_item(rx[i].flow, rx[i].data, rx[i].len);

		if (!it) {
			count_dropped(f, 1);
			continue;
		}
		it->gro_idx = rx[i].gro_idx;
		set_fate(f, it, &judged[i]);
		carry_out(f, RN_FAULT_RX, it, judged[i].verdict);
	}
	return true;
}

/* Do what is due because of time: give orders to the device, end a cut of the link, and
 * release packets.
 */
static void serve_due(struct rn_fault *f)
{
	rn_ns now = time_now(f);

	if (f->is_cut && f->cut_until <= now)
		end_cut(f);
	for (unsigned i = 0; i < f->orders; i++)
		f->host->obey(f->host_ctx, f->order[i].what, f->order[i].qpn);
	f->orders = 0;
	release_due(&f->queues[RN_FAULT_TX], now);
	release_due(&f->queues[RN_FAULT_RX], now);
	send_ready(f);
	show_counts(f);
}

static int fault_receive(void *ctx, struct rn_rx *rx)
{
	struct rn_fault *f = ctx;

	int n;

	drop_all(&f->given);
	serve_due(f);
	n = give_ready(f, rx);
	if (n > 0)
		return n;
	n = f->inner->ops->receive(f->inner->ctx, rx);
	if (n <= 0 || !sort_out(f, rx, n))
		return n;
	n = give_ready(f, rx);
	return n > 0 ? n : -EAGAIN;
}

/* ------------------------------------------------------------- replacing the rules */
static bool has_rule(const struct rn_fault_rules *rules, uint64_t id)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (rules->rule[i].id == id)
			return true;
	return false;
}

void rn_fault_set_rules(struct rn_fault *f, const struct rn_fault_rules *rules)
{
	struct rn_fault_rules old = f->rules;

	f->rules = *rules;
	rn_fault_rules_carry(&f->rules, &old);
	f->wants_qp = rn_fault_rules_want_qp(&f->rules);
	f->wants_fate = rn_fault_rules_have_chance(&f->rules);
	f->has_counted = true;
	release_due(&f->queues[RN_FAULT_TX], RN_NEVER);
	release_due(&f->queues[RN_FAULT_RX], RN_NEVER);
	if (f->is_cut && !has_rule(&f->rules, f->cut_by))
		end_cut(f);
	for (unsigned i = 0; i < f->rules.count; i++) {
		struct rn_fault_rule *r = &f->rules.rule[i];

		if (r->act != RN_FAULT_CUT || !r->is_unconditional || r->hits > 0)
			continue;
		r->seen = r->hits = 1;
		begin_cut(f, r);
	}
}

struct rn_fault_rules *rn_fault_rules(struct rn_fault *f)
{
	return &f->rules;
}

/* Returns the socket of a packet only if the packet goes to this host. For other packets
 * returns "no connected socket", although the inner back end may have one. The ICRC of a
 * packet depends on the number (IPv4 identification) that a connected socket gives to its
 * next packet. That number is not known here, because rules may still drop or delay
 * earlier packets.
 */
static struct rn_tx_socket fault_tx_socket(void *ctx, const struct rn_flow *flow,
					   uint32_t sgid_index, uint32_t dest_slot)
{
	const struct rn_fault *f = ctx;
	struct rn_tx_socket s = rn_net_tx_socket(f->inner, flow, sgid_index, dest_slot);

	return s.id == RN_TX_OWN_HOST ? s : (struct rn_tx_socket){ 0 };
}

static const struct rn_net_ops fault_ops = {
	.transmit = fault_transmit,
	.receive = fault_receive,
	.tx_socket = fault_tx_socket,
};

struct rn_fault *rn_fault_new(struct rn_net *inner, bool has_begun, uint64_t *stats,
			      const struct rn_fault_host *host, void *host_ctx)
{
	struct rn_fault *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fates = rn_fault_fates_new();
	if (!f->fates) {
		free(f);
		return NULL;
	}
	f->net = (struct rn_net){ .ops = &fault_ops, .ctx = f, .gso = inner->gso };
	f->inner = inner;
	f->has_begun = has_begun;
	f->stats = stats;
	f->host = host;
	f->host_ctx = host_ctx;
	TAILQ_INIT(&f->given);
	for (unsigned i = 0; i < RN_FAULT_DIRS; i++) {
		TAILQ_INIT(&f->queues[i].ready);
		TAILQ_INIT(&f->queues[i].held);
	}
	return f;
}

void rn_fault_free(struct rn_fault *f)
{
	if (!f)
		return;
	drop_all(&f->given);
	for (unsigned i = 0; i < RN_FAULT_DIRS; i++) {
		drop_all(&f->queues[i].ready);
		drop_all(&f->queues[i].held);
	}
	rn_fault_fates_free(f->fates);
	free(f);
}

struct rn_net *rn_fault_net(struct rn_fault *f)
{
	return &f->net;
}

void rn_fault_set_inner(struct rn_fault *f, struct rn_net *inner)
{
	f->inner = inner;
}

static rn_ns earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

rn_ns rn_fault_due(const struct rn_fault *f, rn_ns now)
{
	rn_ns at = f->is_cut ? f->cut_until : RN_NEVER;

	if (f->orders > 0 || !TAILQ_EMPTY(&f->queues[RN_FAULT_RX].ready))
		return now;
	if (!TAILQ_EMPTY(&f->queues[RN_FAULT_TX].ready))
		at = earlier(at, now + RETRY_AFTER);
	for (unsigned i = 0; i < RN_FAULT_DIRS; i++)
		if (!TAILQ_EMPTY(&f->queues[i].held))
			at = earlier(at, TAILQ_FIRST(&f->queues[i].held)->due);
	return at;
}

bool rn_fault_is_idle(const struct rn_fault *f)
{
	return f->rules.count == 0 && rn_fault_due(f, 0) == RN_NEVER;
}
