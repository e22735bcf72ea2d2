/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair.c - one or two devices on a simulated wire, in virtual time. */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "rocin/srq.h"
#include "rocin/transport.h"

enum {
	PD = 1,
	QKEY = 0x1ee7,
	KEY_BYTE = 0x5a,
	FIRST_SRQN = 0x81,
	/* Maximum number of steps at one instant. More steps mean that the devices send
	 * to each other without end.
	 */
	STEPS_MAX = 1000000,
	BATCH_MAX = 64,
};

/* --------------------------------------------------------- the wire and the clock */
void pair_set_hook(struct pair *p, pair_hook *hook, void *ctx)
{
	p->hook = hook;
	p->hook_ctx = ctx;
}

void pair_set_faults(struct pair *p, const struct pair_faults *faults)
{
	p->faults = *faults;
}

static bool happens(struct pair *p, unsigned of_10000)
{
	return of_10000 && test_random(&p->faults.seed) % 10000 < of_10000;
}

static struct pair_fate random_fate(struct pair *p)
{
	struct pair_fate f = { .copies = 1 };

	if (happens(p, p->faults.loss))
		f.copies = 0;
	if (happens(p, p->faults.duplicate))
		f.copies++;
	if (happens(p, p->faults.reorder))
		f.extra_ns = (rn_ns)(test_random(&p->faults.seed) % 50000);
	f.corrupt = happens(p, p->faults.corrupt);
	f.marked = happens(p, p->faults.mark);
	return f;
}

static struct pair_packet *copy_of(const struct pair_packet *pkt)
{
	struct pair_packet *c = malloc(offsetof(struct pair_packet, data) + pkt->len);

	assert_non_null(c);
	memcpy(c, pkt, offsetof(struct pair_packet, data) + pkt->len);
	return c;
}

static void record(struct pair *p, const struct pair_packet *pkt)
{
	if (p->record_off)
		return;
	if (p->record_count == PAIR_RECORD_MAX) {
		unsigned half = PAIR_RECORD_MAX / 2;

		for (unsigned i = 0; i < half; i++)
			free(p->record[i]);
		memmove(p->record, p->record + half, half * sizeof(p->record[0]));
		p->record_count -= half;
		p->record_taken = p->record_taken > half ? p->record_taken - half : 0;
	}
	p->record[p->record_count++] = copy_of(pkt);
}

/* Puts packet @out, whose record is @pkt, on the wire. If no device has its destination
 * address, it is only recorded, for the test.
 */
static void send_packet(struct pair *p, struct pair_packet *pkt,
			struct rn_vnet_packet *out)
{
	struct pair_fate f = { .copies = 1 };
	bool to_test = out->to == RN_VNET_NOBODY;

	if (p->hook)
		f = p->hook(p->hook_ctx, pkt);
	else if (p->faults.seed && !to_test)
		f = random_fate(p);
	pkt->copies = f.copies;
	record(p, pkt);
	if (f.marked && (out->flow.tclass & RN_ECN_MASK))
		out->flow.tclass |= RN_ECN_CE;
	for (unsigned i = 0; i < f.copies && !to_test; i++) {
		struct rn_vnet_packet *copy = rn_vnet_send(p->net, out, f.extra_ns);

		assert_non_null(copy);
		if (f.corrupt && i == 0)
			copy->bytes[copy->len / 2] ^= 0x10;
	}
}

void pair_print_tail(const struct pair *p, unsigned count)
{
	unsigned from = p->record_count > count ? p->record_count - count : 0;

	for (unsigned i = from; i < p->record_count; i++) {
		const struct pair_packet *k = p->record[i];
		const struct rn_opcode_info *op = &rn_opcode_info[k->data[0]];
		struct rn_bth b = { 0 };

		rn_bth_parse(&b, k->data, k->data + k->len);
		print_message("%12.3f us %d qp %x->%x %-22s psn %u%s len %u",
			      (double)k->at / 1e3, k->from, k->tx.src_qpn, b.dest_qpn,
			      op->name, b.psn.v, b.ack_req ? " A" : "", k->len);
		if (op->flags & RN_OP_AETH)
			print_message(" syndrome %02x msn %u", k->data[RN_BTH_LEN],
				      rn_get_be24(k->data + RN_BTH_LEN + 1));
		print_message("%s\n", k->copies == 0  ? " LOST"
				      : k->copies > 1 ? " TWICE"
						      : "");
	}
}

/* Sends the next packet of device @i. Returns false if there is none. */
static bool transmit_one(struct pair *p, unsigned i, unsigned what)
{
	struct pair_packet pkt = { .at = p->net->now, .from = (int)i };
	struct rn_vnet_packet out;

	if (!rn_vnet_build(p->net, i, what, &out, &pkt.tx))
		return false;
	assert_true(out.len <= sizeof(pkt.data));
	pkt.flow = out.flow;
	pkt.len = out.len;
	memcpy(pkt.data, out.bytes, out.len);
	send_packet(p, &pkt, &out);
	return true;
}

static void collect_events(struct pair *p)
{
	struct rn_event ev;

	for (unsigned i = 0; i < p->cfg.devices; i++)
		while (rn_dev_event(p->dev[i], &ev)) {
			assert_true(p->event_count < PAIR_EVENTS_MAX);
			p->event[p->event_count].dev = i;
			p->event[p->event_count++].ev = ev;
		}
}

static void flush_devices(struct pair *p, unsigned what)
{
	unsigned steps = 0;

	if (p->frozen)
		return;
	for (unsigned i = 0; i < p->cfg.devices; i++)
		while (transmit_one(p, i, what))
			assert_true(++steps < STEPS_MAX);
}

void pair_flush(struct pair *p)
{
	flush_devices(p, p->cfg.hold_acks ? RN_TX_WORK : RN_TX_ALL);
	collect_events(p);
}

void pair_inject(struct pair *p, unsigned dev, const struct rn_flow *flow,
		 const uint8_t *data, uint32_t len)
{
	struct rn_rx rx = { .flow = flow, .data = data, .len = len };

	rn_dev_receive(p->dev[dev], p->net->now, &rx, 1);
	pair_flush(p);
}

static void give_batch(struct pair *p)
{
	struct rn_rx rx[BATCH_MAX];
	unsigned count = p->batched;

	for (unsigned i = 0; i < count; i++)
		rx[i] = (struct rn_rx){ .flow = &p->batch[i].flow,
					.data = p->batch[i].bytes,
					.len = p->batch[i].len };
	p->batched = 0;
	if (count)
		rn_dev_receive(p->dev[p->batch_to], p->net->now, rx, count);
}

static void arrive(void *ctx, uint32_t host, struct rn_vnet_packet *packet)
{
	struct pair *p = ctx;

	if (p->batch_to != host)
		give_batch(p);
	p->batch_to = host;
	memcpy(&p->batch[p->batched++], packet,
	       offsetof(struct rn_vnet_packet, bytes) + packet->len);
}

/* Delivers the packets that have arrived by now. Passes up to rx_batch packets to a
 * device in one call.
 */
static bool deliver(struct pair *p)
{
	bool any = false;

	while (p->batched < p->cfg.rx_batch &&
	       rn_heap_next(&p->net->heap) <= p->net->now) {
		rn_vnet_step(p->net);
		any = true;
	}
	give_batch(p);
	return any;
}

/* Called when memory or a timer of a device is due. Completes one memory operation; if
 * there is none, processes the timers.
 */
static void expire(void *ctx, uint32_t host)
{
	struct pair *p = ctx;
	enum rn_mem_result result;
	uint64_t tag;

	if (arena_step(&p->arena[host], p->net->now, &tag, &result))
		rn_dev_mem_done(p->dev[host], p->net->now, tag, result);
	else
		rn_dev_expire(p->dev[host], p->net->now);
}

static rn_ns deadline(void *ctx, uint32_t host)
{
	struct pair *p = ctx;
	rn_ns memory = arena_deadline(&p->arena[host]),
	      timer = rn_dev_deadline(p->dev[host]);

	return memory < timer ? memory : timer;
}

/* Returns the time of the next event. Asks the devices for it anew, because the test may
 * have changed them.
 */
static rn_ns next_instant(struct pair *p)
{
	for (unsigned i = 0; i < p->cfg.devices; i++)
		rn_vnet_rearm(p->net, i);
	return rn_vnet_next(p->net);
}

/* Processes all events of the current instant. */
static void settle(struct pair *p)
{
	unsigned steps = 0;

	for (;;) {
		assert_true(++steps < STEPS_MAX);
		pair_flush(p);
		if (deliver(p))
			continue;
		if (next_instant(p) <= p->net->now) {
			rn_vnet_step(p->net);
			continue;
		}
		if (!p->cfg.hold_acks)
			break;
		flush_devices(p, RN_TX_ALL);
		if (rn_heap_next(&p->net->heap) > p->net->now)
			break;
	}
	collect_events(p);
}

/* Returns true if no packet is on the wire and no memory operation is pending. */
static bool is_wire_idle(const struct pair *p)
{
	for (unsigned i = 0; i < p->cfg.devices; i++)
		if (arena_deadline(&p->arena[i]) != RN_NEVER)
			return false;
	return rn_heap_next(&p->net->heap) == RN_NEVER;
}

/* Runs until no event is left or, if @wire, until the wire is idle. Returns false if
 * there are still events at the time @limit.
 */
static bool run(struct pair *p, rn_ns limit, bool wire)
{
	for (;;) {
		rn_ns next;

		settle(p);
		next = next_instant(p);
		if (next == RN_NEVER || (wire && is_wire_idle(p)))
			return true;
		if (next > limit)
			return false;
		p->net->now = next;
	}
}

bool pair_run_until(struct pair *p, rn_ns limit)
{
	return run(p, limit, false);
}

void pair_run_until_quiet(struct pair *p)
{
	assert_true(run(p, p->net->now + 3600 * RN_MSEC(1000), false));
}

void pair_run_for(struct pair *p, rn_ns ns)
{
	rn_ns end = p->net->now + ns;

	run(p, end, false);
	p->net->now = end;
	settle(p);
}

void pair_run_wire(struct pair *p)
{
	assert_true(run(p, p->net->now + 3600 * RN_MSEC(1000), true));
}

/* -------------------------------------------------------------------- two devices */
static void set_defaults(struct pair_cfg *c)
{
	c->devices = c->devices ? c->devices : 2;
	c->mtu_max = c->mtu_max ? c->mtu_max : 4096;
	c->link_ns = c->link_ns ? c->link_ns : RN_USEC(10);
	c->window_start = c->window_start ? c->window_start : 128 << 10;
	c->window_min = c->window_min ? c->window_min : 16 << 10;
	c->window_max = c->window_max ? c->window_max : 1 << 20;
	c->read_window = c->read_window ? c->read_window : 1 << 20;
	c->read_chunk = c->read_chunk ? c->read_chunk : 64 << 10;
	c->rx_batch = c->rx_batch ? c->rx_batch : 1;
	assert_true(c->rx_batch <= BATCH_MAX);
}

/* Returns an address of device @dev. Its last byte is the number by which
 * rn_vnet_host_of() finds the device.
 */
static struct rn_gid device_gid(unsigned dev, bool ipv6)
{
	struct rn_gid gid = { { [10] = 0xff, [11] = 0xff, [12] = 127 } };

	if (ipv6)
		gid = (struct rn_gid){ { 0xfe, 0x80, [8] = 2 } };
	gid.raw[15] = (uint8_t)(dev + 1);
	return gid;
}

static void init_device(struct pair *p, unsigned i)
{
	const struct pair_cfg *c = &p->cfg;
	struct rn_dev_cfg cfg = {
		.gid = { p->gid[i] },
		.gid_count = 1,
		.ifindex = 7,
		.mtu_max = c->mtu_max,
		.credits = c->credits,
		.window_start = c->window_start,
		.window_min = c->window_min,
		.window_max = c->window_max,
		.read_window = c->read_window,
		.read_chunk = c->read_chunk,
		.cc = c->cc,
		.cc_line = c->cc_line,
		.timeout_scale = c->timeout_scale,
		.mem = c->mem_delay ? &arena_pending_ops : &arena_direct_ops,
		.mem_ctx = &p->arena[i],
		.before_ack = c->before_ack,
		.stats = p->stats[i],
	};

	p->dev[i] = aligned_alloc(64, (rn_dev_size() + 63) & ~(size_t)63);
	assert_non_null(p->dev[i]);
	assert_int_equal(rn_dev_init(p->dev[i], &cfg), 0);
}

static void init_wire(struct pair *p)
{
	static const struct rn_vnet_ops ops = {
		.arrive = arrive,
		.expire = expire,
		.deadline = deadline,
	};
	const struct rn_vnet_cfg cfg = {
		.hosts = p->cfg.devices,
		.switches = 1,
		.switch_ports = 2,
		.packets = PAIR_LINK_MAX,
		.ops = &ops,
		.ctx = p,
	};

	p->net = rn_vnet_new(&cfg);
	p->batch = calloc(p->cfg.rx_batch, sizeof(*p->batch));
	assert_non_null(p->net);
	assert_non_null(p->batch);
	rn_vnet_clear(p->net, RN_MSEC(1));
}

/* Connects the devices to a switch. Only the link from a device to the switch has a
 * delay; the link from the switch has none.
 */
static void join_devices(struct pair *p)
{
	const struct rn_link_cfg up = { .delay = p->cfg.link_ns }, down = { 0 };
	uint32_t node = rn_vnet_add_switch(p->net);

	for (unsigned i = 0; i < p->cfg.devices; i++) {
		uint32_t host = rn_vnet_add_host(p->net, p->dev[i], &p->gid[i]);

		rn_vnet_join(p->net, &(struct rn_vnet_side){ host, 0, &up, 0 },
			     &(struct rn_vnet_side){ node, i, &down, 0 });
		rn_vnet_route(p->net, node, host, i, 1);
	}
}

struct pair *pair_new(const struct pair_cfg *cfg)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->cfg = *cfg;
	set_defaults(&p->cfg);
	init_wire(p);
	for (unsigned i = 0; i < 2; i++) {
		arena_init(&p->arena[i], &p->net->now);
		p->arena[i].delay = p->cfg.mem_delay;
		p->gid[i] = device_gid(i, p->cfg.ipv6);
	}
	for (unsigned i = 0; i < p->cfg.devices; i++)
		init_device(p, i);
	join_devices(p);
	return p;
}

void pair_free(struct pair *p)
{
	for (unsigned i = 0; i < p->qp_count; i++)
		if (p->qp[i])
			pair_qp_destroy(p->qp[i]);
	for (unsigned i = 0; i < p->srq_count; i++)
		if (p->srq[i])
			pair_srq_destroy(p->srq[i]);
	for (unsigned i = 0; i < p->mr_count; i++) {
		if (p->mr[i]->mr.valid)
			rn_dev_remove_mr(p->dev[p->mr[i]->dev], &p->mr[i]->mr);
		free(p->mr[i]);
	}
	for (unsigned i = 0; i < p->cq_count; i++) {
		rn_cq_fini(p->dev[p->cq[i]->dev], &p->cq[i]->cq);
		free(p->cq[i]);
	}
	for (unsigned i = 0; i < 2; i++) {
		assert_true(arena_guards_intact(&p->arena[i]));
		arena_fini(&p->arena[i]);
		if (p->dev[i])
			rn_dev_fini(p->dev[i]);
		free(p->dev[i]);
	}
	for (unsigned i = 0; i < p->record_count; i++)
		free(p->record[i]);
	rn_vnet_free(p->net);
	free(p->batch);
	free(p);
}

/* ------------------------------------------------------------------------ objects */
struct pair_cq *pair_cq_new(struct pair *p, unsigned dev, uint32_t capacity)
{
	struct pair_cq *cq = calloc(1, sizeof(*cq));

	assert_non_null(cq);
	assert_true(p->cq_count < PAIR_OBJECTS);
	cq->p = p;
	cq->dev = dev;
	cq->ring = arena_alloc(&p->arena[dev], capacity * sizeof(struct rn_cqe));
	rn_cq_init(&cq->cq, (uintptr_t)cq->ring, capacity, cq);
	p->cq[p->cq_count++] = cq;
	return cq;
}

static void take_over(struct rn_qp_init *to, const struct rn_qp_init *from)
{
	to->type = from->type;
	to->qpn = from->qpn ? from->qpn : to->qpn;
	to->pd = from->pd ? from->pd : to->pd;
	to->send_cq = from->send_cq ? from->send_cq : to->send_cq;
	to->recv_cq = from->recv_cq ? from->recv_cq : to->recv_cq;
	to->max_send_wr = from->max_send_wr ? from->max_send_wr : to->max_send_wr;
	to->max_recv_wr = from->max_recv_wr ? from->max_recv_wr : to->max_recv_wr;
	to->max_send_sge = from->max_send_sge ? from->max_send_sge : to->max_send_sge;
	to->max_recv_sge = from->max_recv_sge ? from->max_recv_sge : to->max_recv_sge;
	to->max_inline = from->max_inline ? from->max_inline : to->max_inline;
	to->sq_sig_all = from->sq_sig_all;
	to->srq = from->srq;
	to->xrcd = from->xrcd;
	if (to->srq || to->type == RN_QPT_XRC_SEND || to->type == RN_QPT_XRC_RECV)
		to->max_recv_wr = to->max_recv_sge = 0;
	if (to->type == RN_QPT_XRC_RECV)
		to->max_send_wr = to->max_send_sge = 0;
}

/* Stores the QP, in the place of a destroyed one if there is one. */
static void keep(struct pair *p, struct pair_qp *q)
{
	unsigned i = 0;

	while (i < p->qp_count && p->qp[i])
		i++;
	assert_true(i < PAIR_OBJECTS);
	p->qp[i] = q;
	if (i == p->qp_count)
		p->qp_count++;
}

struct pair_qp *pair_qp_new_with(struct pair *p, unsigned dev,
				 const struct rn_qp_init *init)
{
	struct pair_qp *q = calloc(1, sizeof(*q));
	struct rn_qp_init in = {
		.qpn = 0x11 + p->qpns++,
		.pd = PD,
		.max_send_wr = PAIR_WR_DEFAULT,
		.max_recv_wr = PAIR_WR_DEFAULT,
		.max_send_sge = PAIR_SGE_DEFAULT,
		.max_recv_sge = PAIR_SGE_DEFAULT,
		.max_inline = 64,
		.lent_resources = p->cfg.lent_resources,
		.stats = &q->stats,
		.owner = q,
	};
	size_t size;

	assert_non_null(q);
	if (!init->send_cq && init->type != RN_QPT_XRC_RECV) {
		q->scq = pair_cq_new(p, dev, PAIR_CQ_DEFAULT);
		in.send_cq = &q->scq->cq;
	}
	if (!init->recv_cq && init->type != RN_QPT_XRC_SEND &&
	    init->type != RN_QPT_XRC_RECV) {
		q->rcq = pair_cq_new(p, dev, PAIR_CQ_DEFAULT);
		in.recv_cq = &q->rcq->cq;
	}
	take_over(&in, init);
	q->scq = in.send_cq ? in.send_cq->owner : NULL;
	q->rcq = in.recv_cq ? in.recv_cq->owner : NULL;
	size = rn_qp_size(p->dev[dev], &in);
	assert_int_not_equal(size, 0);
	q->size = (size + 63) & ~(size_t)63;
	q->block = aligned_alloc(64, q->size);
	assert_non_null(q->block);
	memset(q->block, 0xee, size);
	q->qp = rn_qp_create(p->dev[dev], q->block, &in);
	q->p = p;
	q->dev = dev;
	q->qpn = in.qpn;
	q->type = in.type;
	keep(p, q);
	return q;
}

struct pair_qp *pair_qp_new(struct pair *p, unsigned dev, enum rn_qp_type type)
{
	return pair_qp_new_with(p, dev, &(struct rn_qp_init){ .type = type });
}

void pair_qp_destroy(struct pair_qp *q)
{
	struct pair *p = q->p;

	rn_qp_destroy(p->dev[q->dev], q->qp);
	arena_cancel(&p->arena[q->dev], q->block, q->size);
	for (unsigned i = 0; i < p->qp_count; i++)
		if (p->qp[i] == q)
			p->qp[i] = NULL;
	free(q->block);
	free(q);
}

struct rn_qp_attr pair_attr(const struct pair_qp *q, unsigned dev, uint32_t dest_qpn)
{
	bool first = q->qpn <= dest_qpn;

	return (struct rn_qp_attr){
		.path_mtu = q->p->cfg.mtu_max,
		.qkey = QKEY,
		.sq_psn = first ? PAIR_PSN_DEFAULT_A : PAIR_PSN_DEFAULT_B,
		.rq_psn = first ? PAIR_PSN_DEFAULT_B : PAIR_PSN_DEFAULT_A,
		.dest_qpn = dest_qpn,
		.access = RN_ACCESS_REMOTE_MASK,
		.av = { .dgid = q->p->gid[dev], .hop_limit = 64 },
		.port_num = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

void pair_modify_until(struct pair_qp *q, const struct rn_qp_attr *attr,
		       enum rn_qp_state until)
{
	struct rn_qp_attr a = *attr;

	for (enum rn_qp_state s = RN_QPS_INIT; s <= until && s <= RN_QPS_RTS; s++) {
		a.state = s;
		assert_int_equal(rn_qp_modify(q->p->dev[q->dev], q->qp, q->p->net->now,
					      &a, rn_qp_required(q->type, s)),
				 0);
	}
	collect_events(q->p);
}

void pair_connect_with(struct pair_qp *a, struct pair_qp *b,
		       void (*change)(struct rn_qp_attr *))
{
	struct rn_qp_attr attr_a = pair_attr(a, b->dev, b->qpn);
	struct rn_qp_attr attr_b = pair_attr(b, a->dev, a->qpn);

	/* A QP connected to itself receives what it sends. */
	if (a == b)
		attr_a.rq_psn = attr_a.sq_psn;
	if (change) {
		change(&attr_a);
		change(&attr_b);
	}
	pair_modify_until(a, &attr_a, RN_QPS_RTS);
	if (a != b)
		pair_modify_until(b, &attr_b, RN_QPS_RTS);
}

void pair_connect(struct pair_qp *a, struct pair_qp *b)
{
	pair_connect_with(a, b, NULL);
}

int pair_modify_state(struct pair_qp *q, enum rn_qp_state state)
{
	int rc = rn_qp_modify(q->p->dev[q->dev], q->qp, q->p->net->now,
			      &(struct rn_qp_attr){ .state = state }, RN_ATTR_STATE);

	pair_flush(q->p);
	return rc;
}

struct pair_mr *pair_mr_new_in(struct pair *p, unsigned dev, uint32_t pd, uint32_t len,
			       uint32_t access)
{
	struct pair_mr *m = calloc(1, sizeof(*m));
	struct rn_mr_attr attr = {
		.key = (p->mr_count + 1) << RN_KEY_INDEX_SHIFT | KEY_BYTE,
		.pd = pd,
		.length = len,
		.access = access,
	};

	assert_non_null(m);
	assert_true(p->mr_count < PAIR_OBJECTS);
	m->p = p;
	m->dev = dev;
	m->len = len;
	m->data = arena_alloc(&p->arena[dev], len);
	attr.va = (uintptr_t)m->data;
	attr.iova_base = (uintptr_t)m->data;
	assert_int_equal(rn_mr_init(&m->mr, &attr), 0);
	rn_dev_add_mr(p->dev[dev], &m->mr);
	p->mr[p->mr_count++] = m;
	return m;
}

struct pair_mr *pair_mr_new(struct pair *p, unsigned dev, uint32_t len, uint32_t access)
{
	return pair_mr_new_in(p, dev, PD, len, access);
}

void pair_mr_remove(struct pair_mr *mr)
{
	rn_dev_remove_mr(mr->p->dev[mr->dev], &mr->mr);
	mr->mr.valid = false;
}

struct rn_sge pair_sge(const struct pair_mr *mr, uint32_t offset, uint32_t len)
{
	return (struct rn_sge){ .addr = mr->mr.va + offset,
				.len = len,
				.lkey = mr->mr.lkey };
}

/* ---------------------------------------------------------- shared receive queues */
struct pair_srq *pair_srq_new_with(struct pair *p, unsigned dev,
				   const struct rn_srq_init *init)
{
	struct pair_srq *s = calloc(1, sizeof(*s));
	struct rn_srq_init in = *init;
	void *mem = malloc(rn_srq_size());

	assert_non_null(s);
	assert_non_null(mem);
	assert_true(p->srq_count < PAIR_OBJECTS);
	in.srqn = in.srqn ? in.srqn : FIRST_SRQN + p->srq_count;
	in.pd = in.pd ? in.pd : PD;
	in.max_sge = in.max_sge ? in.max_sge : PAIR_SGE_DEFAULT;
	in.owner = s;
	if (in.xrcd && !in.cq)
		in.cq = &pair_cq_new(p, dev, PAIR_CQ_DEFAULT)->cq;
	s->cq = in.cq ? in.cq->owner : NULL;
	s->ring = malloc(rn_srq_ring_size(in.max_wr, in.max_sge));
	assert_non_null(s->ring);
	s->srq = rn_srq_create(p->dev[dev], mem, s->ring, &in);
	s->p = p;
	s->dev = dev;
	s->srqn = in.srqn;
	p->srq[p->srq_count++] = s;
	return s;
}

struct pair_srq *pair_srq_new(struct pair *p, unsigned dev, uint32_t max_wr,
			      uint32_t xrcd)
{
	return pair_srq_new_with(p, dev,
				 &(struct rn_srq_init){ .max_wr = max_wr, .xrcd = xrcd });
}

void pair_srq_destroy(struct pair_srq *s)
{
	struct pair *p = s->p;

	rn_srq_destroy(s->srq);
	for (unsigned i = 0; i < p->srq_count; i++)
		if (p->srq[i] == s)
			p->srq[i] = NULL;
	free(s->srq);
	free(s->ring);
	free(s);
}

int pair_post_srq_mr(struct pair_srq *s, uint64_t wr_id, const struct pair_mr *mr,
		     uint32_t offset, uint32_t len)
{
	struct rn_sge sge = pair_sge(mr, offset, len);

	return rn_srq_post_recv(
		s->srq, &(struct rn_recv_wr){ .wr_id = wr_id, .sg = &sge, .num_sge = 1 });
}

void pair_expect_limit(struct pair_srq *s)
{
	struct rn_event ev;

	assert_true(pair_next_event(s->p, &ev));
	assert_false(ev.completion);
	assert_int_equal(ev.async, RN_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(ev.srq, s->srq);
}

/* --------------------------------------------------- posting, completions, events */
int pair_post_send(struct pair_qp *q, const struct rn_send_wr *wr)
{
	int rc = rn_qp_post_send(q->p->dev[q->dev], q->qp, q->p->net->now, wr);

	pair_flush(q->p);
	return rc;
}

int pair_post_recv(struct pair_qp *q, const struct rn_recv_wr *wr)
{
	int rc = rn_qp_post_recv(q->p->dev[q->dev], q->qp, q->p->net->now, wr);

	pair_flush(q->p);
	return rc;
}

int pair_post_recv_mr(struct pair_qp *q, uint64_t wr_id, const struct pair_mr *mr,
		      uint32_t offset, uint32_t len)
{
	struct rn_sge sge = pair_sge(mr, offset, len);

	return pair_post_recv(
		q, &(struct rn_recv_wr){ .wr_id = wr_id, .sg = &sge, .num_sge = 1 });
}

bool pair_poll(struct pair_cq *cq, struct rn_cqe *cqe)
{
	uint32_t consumer = atomic_load_explicit(&cq->cq.consumer, memory_order_relaxed);
	const struct rn_cqe *slot = &cq->ring[consumer & (cq->cq.capacity - 1)];
	uint32_t lap = consumer / cq->cq.capacity + 1;

	if (slot->ctl >> 32 != lap)
		return false;
	*cqe = *slot;
	atomic_store_explicit(&cq->cq.consumer, consumer + 1, memory_order_release);
	return true;
}

struct rn_cqe pair_expect_wc_at(struct pair_cq *cq, uint64_t wr_id,
				enum rn_wc_status status, const char *file, int line)
{
	struct rn_cqe cqe = { 0 };

	if (!pair_poll(cq, &cqe)) {
		print_error("no completion, expected wr_id %llu status %d\n",
			    (unsigned long long)wr_id, (int)status);
		_fail(file, line);
	}
	_assert_int_equal(cqe.wr_id, wr_id, file, line);
	_assert_int_equal((LargestIntegralType)pair_cqe_status(&cqe),
			  (LargestIntegralType)status, file, line);
	return cqe;
}

void pair_expect_no_wc_at(struct pair_cq *cq, const char *file, int line)
{
	struct rn_cqe cqe;

	if (!pair_poll(cq, &cqe))
		return;
	print_error("unexpected completion: wr_id %llu status %d\n",
		    (unsigned long long)cqe.wr_id, (int)pair_cqe_status(&cqe));
	_fail(file, line);
}

bool pair_next_event(struct pair *p, struct rn_event *ev)
{
	collect_events(p);
	if (p->event_taken == p->event_count)
		return false;
	*ev = p->event[p->event_taken++].ev;
	return true;
}

void pair_expect_async_at(struct pair_qp *q, enum rn_async_event async, const char *file,
			  int line)
{
	struct rn_event ev = { .completion = true };

	if (!pair_next_event(q->p, &ev)) {
		print_error("no event, expected %d\n", (int)async);
		_fail(file, line);
	}
	_assert_int_equal(ev.completion, false, file, line);
	_assert_int_equal((LargestIntegralType)ev.async, (LargestIntegralType)async, file,
			  line);
	_assert_int_equal((uintptr_t)ev.qp, (uintptr_t)q->qp, file, line);
}

uint64_t pair_stat(const struct pair *p, unsigned dev, enum rn_stat stat)
{
	return p->stats[dev][stat];
}
