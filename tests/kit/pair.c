/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair.c - one or two devices on a wire in virtual time: objects, posting, completions.
 */
#include "pair_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "rocin/transport.h"

enum {
	PD = 1,
	QKEY = 0x1ee7,
	KEY_BYTE = 0x5a
};

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
}

static struct rn_gid device_gid(unsigned dev, bool ipv6)
{
	if (ipv6)
		return (struct rn_gid){ { 0xfe,
					  0x80, [8] = 2, [15] = (uint8_t)(dev + 1) } };
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = (uint8_t)(dev + 2) }
	};
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

struct pair *pair_new(const struct pair_cfg *cfg)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->cfg = *cfg;
	set_defaults(&p->cfg);
	p->now = RN_MSEC(1);
	for (unsigned i = 0; i < 2; i++) {
		arena_init(&p->arena[i], &p->now);
		p->arena[i].delay = p->cfg.mem_delay;
		p->gid[i] = device_gid(i, p->cfg.ipv6);
	}
	pair_wire_init(p);
	for (unsigned i = 0; i < p->cfg.devices; i++)
		init_device(p, i);
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
	pair_wire_free(p);
	free(p);
}

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

/* In the place of one that was destroyed, if there is such a place. */
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
		assert_int_equal(rn_qp_modify(q->p->dev[q->dev], q->qp, q->p->now, &a,
					      rn_qp_required(q->type, s)),
				 0);
	}
	pair_collect_events(q->p);
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
	int rc = rn_qp_modify(q->p->dev[q->dev], q->qp, q->p->now,
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

int pair_post_send(struct pair_qp *q, const struct rn_send_wr *wr)
{
	int rc = rn_qp_post_send(q->p->dev[q->dev], q->qp, q->p->now, wr);

	pair_flush(q->p);
	return rc;
}

int pair_post_recv(struct pair_qp *q, const struct rn_recv_wr *wr)
{
	int rc = rn_qp_post_recv(q->p->dev[q->dev], q->qp, q->p->now, wr);

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
	pair_collect_events(p);
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
