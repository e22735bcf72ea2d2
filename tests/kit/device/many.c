/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* many.c - two devices with many connected QPs. */
#include "many.h"

#include <stdlib.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/queue_pair.h"
#include "sim/vnet/host.h"
#include "transport/io/memory/mem_direct.h"

enum {
	SLOT = 256, /* maximum number of bytes that a packet takes in a queue */
	/* maximum number of batches that a device receives in a step */
	RECEIVE_MAX = 8,
	TRANSMIT_MAX = 2048, /* maximum number of packets that a device sends in a step */
	ACK_EVERY = 64,
	MESSAGE = 64,
	PD = 1,
	KEY = 0x1ab,
};

struct many_packet {
	struct rn_flow flow;
	uint32_t len;
	uint8_t data[SLOT];
};

/* The receive queue of a simulated socket. */
struct many_queue {
	uint32_t head, tail, capacity; /* @capacity: number of elements, a power of two */
	struct many_packet packet[];
};

static uint32_t power_of_two(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static void *zeroed(size_t len)
{
	void *p = aligned_alloc(64, (len + 63) & ~(size_t)63);

	assert(p);
	memset(p, 0, len);
	return p;
}

/* ------------------------------------------------------------------- set-up */
static unsigned qps_of(const struct many *m, unsigned side)
{
	return side == 1 && m->cfg.is_peer_gone ? 0 : m->cfg.qps;
}

static struct rn_gid gid_of(unsigned side)
{
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = (uint8_t)(side + 2) }
	};
}

/* Returns the QPN of QP @i. As in the provider, its low byte is the number of the
 * process, here of the side.
 */
static uint32_t qpn_of(unsigned side, unsigned i)
{
	return (i + 1) << 8 | (side + 1);
}

static void init_side(struct many *m, unsigned k)
{
	struct many_side *s = &m->side[k];
	uint32_t cqes = power_of_two((uint64_t)m->cfg.qps * m->cfg.depth);
	uint32_t packets = power_of_two(m->cfg.room);
	size_t bytes = (size_t)m->cfg.qps * MESSAGE;
	struct rn_dev_cfg cfg = {
		.gid = { gid_of(k) },
		.gid_count = 1,
		.mtu_max = 1024,
		.window_start = 128 << 10,
		.window_min = 16 << 10,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 64 << 10,
		.mem = &rn_mem_direct_ops,
		.stats = s->stats,
	};

	s->dev = zeroed(rn_dev_size());
	assert(rn_dev_init(s->dev, &cfg) == 0);
	s->memory = zeroed(bytes);
	s->send_ring = zeroed(cqes * sizeof(struct rn_cqe));
	s->recv_ring = zeroed(cqes * sizeof(struct rn_cqe));
	rn_cq_init(&s->send_cq, (uintptr_t)s->send_ring, cqes, s);
	rn_cq_init(&s->recv_cq, (uintptr_t)s->recv_ring, cqes, s);
	assert(rn_mr_init(&s->mr,
			  &(struct rn_mr_attr){ .key = KEY,
						.pd = PD,
						.va = (uintptr_t)s->memory,
						.length = bytes,
						.iova_base = (uintptr_t)s->memory,
						.access = RN_ACCESS_LOCAL_WRITE }) == 0);
	rn_dev_add_mr(s->dev, &s->mr);
	s->in = zeroed(sizeof(*s->in) + packets * sizeof(struct many_packet));
	s->in->capacity = packets;
	s->table = zeroed(power_of_two(m->cfg.qps) * sizeof(void *));
	if (m->cfg.qps > 16)
		rn_dev_grow_qp_table(s->dev, s->table, power_of_two(m->cfg.qps));
}

static void new_qp(struct many *m, unsigned k, unsigned i)
{
	struct many_side *s = &m->side[k];
	struct rn_qp_init init = {
		.type = RN_QPT_RC,
		.qpn = qpn_of(k, i),
		.pd = PD,
		.send_cq = &s->send_cq,
		.recv_cq = &s->recv_cq,
		.max_send_wr = m->cfg.depth,
		.max_recv_wr = m->cfg.depth,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.sq_sig_all = true,
		.stats = &m->records[k][i],
	};

	m->block[k][i] = aligned_alloc(64, rn_qp_size(s->dev, &init));
	assert(m->block[k][i]);
	m->qp[k][i] = rn_qp_create(s->dev, m->block[k][i], &init);
}

static void connect_qp(struct many *m, unsigned k, unsigned i)
{
	struct rn_qp_attr attr = {
		.path_mtu = 1024,
		.dest_qpn = qpn_of(!k, i),
		.av = { .dgid = gid_of(!k), .hop_limit = 64 },
		.port_num = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	for (unsigned state = RN_QPS_INIT; state <= RN_QPS_RTS; state++) {
		attr.state = (enum rn_qp_state)state;
		assert(rn_qp_modify(m->side[k].dev, m->qp[k][i], m->now, &attr,
				    rn_qp_required(RN_QPT_RC, attr.state)) == 0);
	}
}

static struct rn_sge sge_of(const struct many *m, unsigned k, unsigned i)
{
	return (struct rn_sge){ .addr = (uintptr_t)&m->side[k].memory[i * MESSAGE],
				.len = m->cfg.len,
				.lkey = KEY };
}

static void post_recv(struct many *m, unsigned i)
{
	struct rn_sge sge = sge_of(m, 1, i);
	struct rn_recv_wr wr = { .wr_id = i, .sg = &sge, .num_sge = 1 };

	assert(rn_qp_post_recv(m->side[1].dev, m->qp[1][i], m->now, &wr) == 0);
}

struct many *many_new(const struct many_cfg *cfg)
{
	struct many *m = zeroed(sizeof(*m));

	assert(cfg->len <= MESSAGE && rn_mem_direct_init() == 0);
	m->cfg = *cfg;
	m->now = RN_MSEC(1);
	m->random.state = 1;
	m->posted = zeroed(cfg->qps * sizeof(*m->posted));
	m->completed = zeroed(cfg->qps * sizeof(*m->completed));
	m->received = zeroed(cfg->qps * sizeof(*m->received));
	for (unsigned k = 0; k < 2; k++) {
		m->qp[k] = zeroed(cfg->qps * sizeof(void *));
		m->block[k] = zeroed(cfg->qps * sizeof(void *));
		m->records[k] = zeroed(cfg->qps * sizeof(struct rn_stats_qp));
		init_side(m, k);
		for (unsigned i = 0; i < qps_of(m, k); i++)
			new_qp(m, k, i);
		for (unsigned i = 0; i < qps_of(m, k); i++)
			connect_qp(m, k, i);
	}
	for (unsigned i = 0; i < qps_of(m, 1); i++)
		for (unsigned n = 0; n < cfg->depth; n++)
			post_recv(m, i);
	return m;
}

static void free_side(struct many *m, unsigned k)
{
	struct many_side *s = &m->side[k];

	for (unsigned i = 0; i < qps_of(m, k); i++) {
		rn_qp_destroy(s->dev, m->qp[k][i]);
		free(m->block[k][i]);
	}
	rn_dev_remove_mr(s->dev, &s->mr);
	rn_cq_fini(s->dev, &s->send_cq);
	rn_cq_fini(s->dev, &s->recv_cq);
	rn_dev_fini(s->dev);
	free(s->dev);
	free(s->memory);
	free(s->send_ring);
	free(s->recv_ring);
	free(s->in);
	free(s->table);
	free(m->qp[k]);
	free(m->block[k]);
	free(m->records[k]);
}

void many_free(struct many *m)
{
	free_side(m, 0);
	free_side(m, 1);
	free(m->posted);
	free(m->completed);
	free(m->received);
	free(m);
}

/* -------------------------------------------------------------------- steps */
static void transmit(struct many *m, unsigned k, unsigned what)
{
	struct many_queue *q = m->side[!k].in;
	uint8_t buf[RN_PACKET_MAX + RN_ICRC_LEN];

	for (unsigned n = 0; n < TRANSMIT_MAX; n++) {
		struct many_packet *p = &q->packet[q->tail & (q->capacity - 1)];
		struct rn_flow flow;
		struct rn_tx tx;
		uint32_t len =
			rn_vhost_transmit(m->side[k].dev, m->now, what, buf, &flow, &tx);

		if (len == 0)
			return;
		if (rn_random_ppm(&m->random, m->cfg.loss_pct * 10000))
			continue;
		if (q->tail - q->head >= m->cfg.room) {
			m->overflows++;
			continue;
		}
		assert(len <= SLOT);
		p->flow = flow;
		p->len = len;
		memcpy(p->data, buf, len);
		q->tail++;
	}
}

/* Receives a batch of packets. Returns their number. */
static unsigned receive(struct many *m, unsigned k)
{
	struct many_queue *q = m->side[k].in;
	struct rn_rx rx[64];
	unsigned count = 0;

	while (count < RN_ARRAY_SIZE(rx) && q->head != q->tail) {
		const struct many_packet *p = &q->packet[q->head++ & (q->capacity - 1)];

		rx[count++] = (struct rn_rx){ .flow = &p->flow,
					      .data = p->data,
					      .len = p->len };
	}
	rn_dev_receive(m->side[k].dev, m->now, rx, count);
	return count;
}

static void step_side(struct many *m, unsigned k)
{
	struct many_side *s = &m->side[k];
	unsigned what = RN_TX_WORK, found = 0;

	for (unsigned n = 0; n < RECEIVE_MAX && s->in->head != s->in->tail; n++)
		found += receive(m, k);
	s->unacked += found;
	if (s->in->head == s->in->tail)
		rn_dev_expire(s->dev, m->now);
	if (found == 0 || s->unacked >= ACK_EVERY) {
		what = RN_TX_ALL;
		s->unacked = 0;
	}
	transmit(m, k, what);
}

/* Takes the oldest CQE from the CQ. Returns NULL if there is none. */
static const struct rn_cqe *take(struct rn_cq *cq, const struct rn_cqe *ring)
{
	uint32_t index = atomic_load_explicit(&cq->consumer, memory_order_relaxed);

	if (index == cq->producer)
		return NULL;
	atomic_store_explicit(&cq->consumer, index + 1, memory_order_release);
	return &ring[index & (cq->capacity - 1)];
}

static void take_completions(struct many *m)
{
	const struct rn_cqe *cqe;

	while ((cqe = take(&m->side[0].send_cq, m->side[0].send_ring))) {
		if ((cqe->ctl & 0xff) == RN_WC_SUCCESS)
			m->completed[cqe->wr_id]++;
		else
			m->failures++;
		m->completions++;
	}
	while ((cqe = take(&m->side[1].recv_cq, m->side[1].recv_ring))) {
		if ((cqe->ctl & 0xff) != RN_WC_SUCCESS)
			continue; /* the QP of this completion is in the error state */
		m->received[cqe->wr_id]++;
		post_recv(m, (unsigned)cqe->wr_id);
	}
}

bool many_post(struct many *m, unsigned i)
{
	struct rn_sge sge = sge_of(m, 0, i);
	struct rn_send_wr wr = {
		.wr_id = i, .opcode = RN_WR_SEND, .sg = &sge, .num_sge = 1
	};

	if (rn_qp_post_send(m->side[0].dev, m->qp[0][i], m->now, &wr) != 0)
		return false;
	m->posted[i]++;
	return true;
}

void many_step(struct many *m)
{
	step_side(m, 0);
	step_side(m, 1);
	m->now += m->cfg.step_ns;
	take_completions(m);
}

void many_round(struct many *m, unsigned burst)
{
	uint64_t end = m->completions + (uint64_t)m->cfg.qps * burst;

	for (unsigned i = 0; i < m->cfg.qps; i++)
		for (unsigned n = 0; n < burst; n++)
			assert(many_post(m, i));
	while (m->completions < end)
		many_step(m);
}
