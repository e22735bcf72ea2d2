/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_chaos.c - everything at any time: states, keys, memory, forged packets.
 *
 *	test_pair_chaos [FIRST_SEED COUNT]
 *
 * Programs misbehave and packets are forged (with a right ICRC). What must hold: no
 * assertion of the core fails; completions of a queue come in posting order, each work
 * request at most once, exactly once unless its QP was reset; memory that no key and no
 * receive opens is untouched; all accounts are balanced when the world ends
 * (rn_dev_fini() asserts that).
 */
#include "tests/kit/device/pair.h"
#include "tests/kit/seeds.h"
#include "transport/qp/qp.h"

#include <stdlib.h>

enum {
	QPS = 8,
	MRS = 4, /* per device */
	MWS = 4, /* per device, half of each type */
	MW_INDEX = 0x7000,
	PD = 1,
	STEPS = 400,
	MR_LEN = 40000,
	UNTOUCHED = 0xcc,
};

struct actor {
	struct pair_qp *q;
	enum rn_qp_type type;
	unsigned peer;			   /* index of another actor, or its own */
	uint64_t sent, received;	   /* posted ever */
	uint64_t sent_seen, received_seen; /* one more than the newest completed */
};

struct chaos {
	struct pair *p;
	uint64_t seed;
	struct actor actor[QPS];
	struct pair_cq *cq[2];
	struct pair_mr *mr[2][MRS];
	struct rn_mr mw[2][MWS];
	struct pair_mr *secret[2]; /* keys that nobody uses, no remote rights */
};

static uint64_t roll(struct chaos *c, uint64_t below)
{
	return test_random(&c->seed) % below;
}

static unsigned dev_of(const struct chaos *c, unsigned actor)
{
	return actor % c->p->cfg.devices;
}

/* ------------------------------------------------------------------- set-up */
static void create(struct chaos *c, unsigned i)
{
	struct actor *a = &c->actor[i];
	unsigned dev = dev_of(c, i);
	struct rn_qp_init init = { .type = a->type,
				   .send_cq = &c->cq[dev]->cq,
				   .recv_cq = &c->cq[dev]->cq,
				   .max_send_wr = 1 + (uint32_t)roll(c, 20),
				   .max_recv_wr = 1 + (uint32_t)roll(c, 20),
				   .sq_sig_all = roll(c, 2) };

	a->q = pair_qp_new_with(c->p, dev, &init);
}

static void connect(struct chaos *c, unsigned i)
{
	struct actor *a = &c->actor[i], *b = &c->actor[a->peer];
	struct rn_qp_attr attr = pair_attr(a->q, b->q->dev, b->q->qpn);

	if (rn_qp_state(a->q->qp) != RN_QPS_RESET)
		pair_modify_state(a->q, RN_QPS_RESET);
	attr.timeout = (uint8_t)(8 + roll(c, 4));
	attr.min_rnr_timer = (uint8_t)(1 + roll(c, 8));
	attr.rnr_retry = (uint8_t)roll(c, 8);
	attr.retry_cnt = (uint8_t)roll(c, 8);
	attr.max_rd_atomic = (uint8_t)roll(c, RN_RD_ATOMIC_MAX + 1);
	attr.max_dest_rd_atomic = (uint8_t)roll(c, RN_RD_ATOMIC_MAX + 1);
	attr.path_mtu = c->p->cfg.mtu_max >> (roll(c, 8) == 0 && c->p->cfg.mtu_max > 256);
	/* Mostly the PSN that the other side was told; sometimes near the wrap. */
	attr.sq_psn = 100 + i;
	attr.rq_psn = 100 + a->peer;
	if (roll(c, 10) == 0)
		attr.rq_psn = (uint32_t)test_random(&c->seed) & RN_PSN_MASK;
	pair_modify_until(a->q, &attr, roll(c, 10) ? RN_QPS_RTS : RN_QPS_RTR);
}

static struct pair_mr *region(struct chaos *c, unsigned dev)
{
	uint32_t access = RN_ACCESS_LOCAL_WRITE;

	access |= roll(c, 8) ? RN_ACCESS_REMOTE_WRITE : 0;
	access |= roll(c, 8) ? RN_ACCESS_REMOTE_READ : 0;
	access |= roll(c, 8) ? RN_ACCESS_REMOTE_ATOMIC : 0;
	access |= roll(c, 8) ? RN_ACCESS_MW_BIND : 0;
	access |= roll(c, 2) ? RN_ACCESS_FLUSH_GLOBAL : 0;
	return pair_mr_new(c->p, dev, MR_LEN, access);
}

static void add_window(struct chaos *c, unsigned dev, unsigned k)
{
	rn_mw_init(&c->mw[dev][k], k % 2 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2,
		   (MW_INDEX + k) << RN_KEY_INDEX_SHIFT, PD);
	rn_dev_add_mr(c->p->dev[dev], &c->mw[dev][k]);
}

static struct chaos *chaos_new(uint64_t seed)
{
	struct chaos *c = calloc(1, sizeof(*c));
	struct pair_cfg cfg = { 0 };

	assert_non_null(c);
	c->seed = seed;
	cfg.mtu_max = 256u << roll(c, 5);
	cfg.devices = roll(c, 3) ? 2 : 1;
	cfg.mem_delay = roll(c, 2) ? 1 + (rn_ns)roll(c, 30000) : 0;
	cfg.hold_acks = roll(c, 2);
	cfg.rx_batch = 1 + (unsigned)roll(c, 10);
	cfg.window_start = 1 + (uint32_t)roll(c, 100000);
	cfg.window_min = 1;
	cfg.read_chunk = cfg.mtu_max * (1 + (uint32_t)roll(c, 4));
	cfg.read_window = cfg.read_chunk * (1 + (uint32_t)roll(c, 4));
	cfg.cc = (enum rn_cc_mode)(seed % 3);
	cfg.cc_line = seed % 5 ? 0 : 20000;
	c->p = pair_new(&cfg);
	for (unsigned d = 0; d < cfg.devices; d++) {
		c->p->arena[d].seed = seed + d;
		/* Now and then too small for all. */
		c->cq[d] = pair_cq_new(c->p, d, roll(c, 10) ? 4096 : 16);
		for (unsigned k = 0; k < MRS; k++)
			c->mr[d][k] = region(c, d);
		for (unsigned k = 0; k < MWS; k++)
			add_window(c, d, k);
		c->secret[d] = pair_mr_new(c->p, d, 4096, RN_ACCESS_LOCAL_WRITE);
		memset(c->secret[d]->data, UNTOUCHED, 4096);
	}
	for (unsigned i = 0; i < QPS; i++) {
		static const enum rn_qp_type type[QPS / 2] = { RN_QPT_RC, RN_QPT_RC,
							       RN_QPT_UC, RN_QPT_UD };

		c->actor[i].type = type[i / 2];
		c->actor[i].peer = i ^ 1;
		create(c, i);
	}
	if (roll(c, 2)) /* one that talks to itself */
		c->actor[0].peer = 0;
	for (unsigned i = 0; i < QPS; i++)
		connect(c, i);
	if (roll(c, 2))
		pair_set_faults(c->p, &(struct pair_faults){ .seed = seed | 1,
							     .loss = 300,
							     .duplicate = 300,
							     .reorder = 1000,
							     .mark = 1000 });
	return c;
}

/* ------------------------------------------------------------------- actions */
static struct rn_sge random_sge(struct chaos *c, unsigned dev, uint32_t len)
{
	struct rn_sge s = pair_sge(c->mr[dev][roll(c, MRS)], 0, len);

	s.addr += roll(c, MR_LEN - len);
	if (roll(c, 60) == 0)
		s.addr += MR_LEN;
	if (roll(c, 60) == 0)
		s.lkey ^= 1u << roll(c, 32);
	return s;
}

/* Bind a window of ours, or invalidate one: of ours, or with a SEND of the peer's. */
static void use_window(struct chaos *c, unsigned dev, struct rn_send_wr *wr)
{
	const struct pair_mr *mr = c->mr[dev][roll(c, MRS)];
	unsigned far = c->p->cfg.devices - 1 - dev, k = (unsigned)roll(c, MWS);
	uint32_t length = (uint32_t)roll(c, MR_LEN);

	if (roll(c, 3)) {
		wr->opcode = roll(c, 3) ? RN_WR_LOCAL_INV : RN_WR_SEND_WITH_INV;
		if (wr->opcode == RN_WR_LOCAL_INV)
			far = dev;
		wr->imm = roll(c, 8) ? c->mw[far][k].lkey : mr->mr.lkey;
		if (roll(c, 4))
			return;
	}
	wr->opcode = RN_WR_BIND_MW;
	wr->rkey = c->mw[dev][k].lkey ^ (uint32_t)roll(c, 256);
	wr->remote_addr = mr->mr.va + roll(c, MR_LEN - length);
	wr->bind_length = roll(c, 8) ? length : 0;
	wr->bind_region = mr->mr.lkey;
	wr->bind_access = RN_ACCESS_REMOTE_WRITE | (uint32_t)(roll(c, 4) << 2);
}

static void post_send(struct chaos *c, unsigned i)
{
	static const enum rn_wr_opcode kinds[] = {
		RN_WR_SEND,	  RN_WR_SEND_WITH_IMM,	     RN_WR_RDMA_WRITE,
		RN_WR_RDMA_READ,  RN_WR_RDMA_WRITE_WITH_IMM, RN_WR_RDMA_READ,
		RN_WR_RDMA_WRITE, RN_WR_ATOMIC_CMP_AND_SWP,  RN_WR_ATOMIC_FETCH_AND_ADD,
		RN_WR_FLUSH,	  RN_WR_ATOMIC_WRITE,
	};
	struct actor *a = &c->actor[i], *b = &c->actor[a->peer];
	uint32_t len = (uint32_t)roll(c, roll(c, 2) ? 200 : 5 * c->p->cfg.mtu_max);
	struct rn_sge sge[3];
	struct rn_av av = { .dgid = c->p->gid[b->q->dev], .hop_limit = 1 };
	struct rn_send_wr wr = { .wr_id = a->sent,
				 .opcode = kinds[roll(c, RN_ARRAY_SIZE(kinds))],
				 .flags = (uint32_t)roll(
					 c, 8), /* fence, signaled, solicited */
				 .sg = sge,
				 .num_sge = (uint32_t)roll(c, 4),
				 .av = &av,
				 .remote_qpn = b->q->qpn,
				 .remote_qkey = roll(c, 10) ? 0x1ee7 : 1 };
	struct rn_sge far = random_sge(c, b->q->dev, len > MR_LEN ? MR_LEN : len);

	if (roll(c, 20) == 0)
		use_window(c, a->q->dev, &wr);
	if (roll(c, 4) == 0)
		far.lkey = c->mw[b->q->dev][roll(c, MWS)].lkey;
	if (a->type == RN_QPT_UD && roll(c, 4))
		wr.opcode = RN_WR_SEND;
	if (wr.opcode == RN_WR_ATOMIC_CMP_AND_SWP ||
	    wr.opcode == RN_WR_ATOMIC_FETCH_AND_ADD || wr.opcode == RN_WR_ATOMIC_WRITE) {
		wr.num_sge = 1;
		len = 8;
		far.addr &= roll(c, 10) ? ~7ull : ~0ull;
	}
	for (uint32_t k = 0; k < wr.num_sge; k++)
		sge[k] = random_sge(c, a->q->dev, k ? len % 77 : len);
	if (wr.opcode != RN_WR_BIND_MW) {
		wr.remote_addr = far.addr;
		wr.rkey = far.lkey;
	}
	wr.flush_length = len;
	wr.flush_placement = RN_FLUSH_GLOBAL;
	wr.flush_selectivity = (uint8_t)roll(c, 2);
	if (rn_qp_post_send(c->p->dev[a->q->dev], a->q->qp, c->p->net->now, &wr) == 0)
		a->sent++;
}

static void post_recv(struct chaos *c, unsigned i)
{
	struct actor *a = &c->actor[i];
	struct rn_sge sge[3];
	struct rn_recv_wr wr = { .wr_id = 1ull << 32 | a->received, .sg = sge };

	wr.num_sge = (uint32_t)roll(c, 4);
	for (uint32_t k = 0; k < wr.num_sge; k++)
		sge[k] = random_sge(c, a->q->dev,
				    (uint32_t)roll(c, roll(c, 4) ? MR_LEN : 500));
	if (rn_qp_post_recv(c->p->dev[a->q->dev], a->q->qp, c->p->net->now, &wr) == 0)
		a->received++;
}

static void change_state(struct chaos *c, unsigned i)
{
	struct actor *a = &c->actor[i];
	static const enum rn_qp_state to[] = { RN_QPS_RTS, RN_QPS_SQD, RN_QPS_RTS,
					       RN_QPS_ERR };
	enum rn_qp_state s = to[roll(c, roll(c, 5) ? 3 : 4)];

	if (roll(c, 4) == 0) {
		connect(c, i);
		if (roll(c, 2))
			connect(c, a->peer);
		return;
	}
	if (s == RN_QPS_RTS && rn_qp_state(a->q->qp) < RN_QPS_RTS)
		return;
	pair_modify_state(a->q, s); /* may well be refused */
}

static void recreate(struct chaos *c, unsigned i)
{
	struct actor *a = &c->actor[i];
	uint32_t qpn = a->q->qpn;

	pair_qp_destroy(a->q);
	for (unsigned k = 0; k < c->cq[dev_of(c, i)]->cq.capacity; k++)
		if (c->cq[dev_of(c, i)]->ring[k].qpn == qpn) /* what the provider does */
			c->cq[dev_of(c, i)]->ring[k].qpn = 0;
	create(c, i);
	a->sent = a->received = a->sent_seen = a->received_seen = 0;
	connect(c, i);
	for (unsigned k = 0; k < QPS; k++)
		if (c->actor[k].peer == i && k != i && roll(c, 4))
			connect(c, k);
}

/* A packet that was once sent, changed in places and sealed anew. */
static void forge(struct chaos *c)
{
	const struct pair_packet *k;
	uint8_t data[RN_PACKET_MAX + 64];
	uint32_t len;

	if (c->p->record_count == 0)
		return;
	k = c->p->record[roll(c, c->p->record_count)];
	len = k->len - RN_ICRC_LEN;
	memcpy(data, k->data, len);
	for (unsigned n = (unsigned)roll(c, 3); n > 0; n--)
		data[roll(c, len < 44 ? len : 44)] ^= (uint8_t)(1u << roll(c, 8));
	if (roll(c, 3) == 0)
		data[0] = (uint8_t)roll(c, 0x20);
	if (roll(c, 6) == 0)
		len = RN_BTH_LEN + (uint32_t)roll(c, len - RN_BTH_LEN + 1);
	rn_icrc_seal(&k->flow, 0, data, len);
	for (unsigned d = 0; d < c->p->cfg.devices; d++)
		if (memcmp(&k->flow.dst, &c->p->gid[d], sizeof(c->p->gid[d])) == 0)
			pair_inject(c->p, d, &k->flow, data, len + RN_ICRC_LEN);
}

static void disturb_memory(struct chaos *c)
{
	unsigned d = (unsigned)roll(c, c->p->cfg.devices), k = (unsigned)roll(c, MRS);

	if (c->p->mr_count + 2 >= PAIR_OBJECTS)
		return;
	if (roll(c, 3) == 0)
		arena_unmap(&c->p->arena[d], c->mr[d][k]->data);
	if (roll(c, 4) == 0) {
		unsigned m = (unsigned)roll(c, MWS);

		rn_dev_remove_mr(c->p->dev[d], &c->mw[d][m]);
		add_window(c, d, m);
	}
	/* The provider keeps one that has windows. */
	if (c->mr[d][k]->mr.windows == 0 && roll(c, 2)) {
		pair_mr_remove(c->mr[d][k]);
		c->mr[d][k] = region(c, d);
	}
}

/* ------------------------------------------------------------------- judgement */
static void on_cqe(struct chaos *c, unsigned dev, const struct rn_cqe *e)
{
	for (unsigned i = 0; i < QPS; i++) {
		struct actor *a = &c->actor[i];
		bool recv = (e->wr_id >> 32) != 0;
		uint64_t id = e->wr_id & 0xffffffff;
		uint64_t *seen = recv ? &a->received_seen : &a->sent_seen;

		if (a->q->qpn != e->qpn || dev_of(c, i) != dev)
			continue;
		assert_true(id >= *seen);
		assert_true(id < (recv ? a->received : a->sent));
		*seen = id + 1;
	}
}

static void poll_all(struct chaos *c)
{
	struct rn_cqe e;
	struct rn_event ev;

	for (unsigned d = 0; d < c->p->cfg.devices; d++) {
		while (pair_poll(c->cq[d], &e))
			on_cqe(c, d, &e);
		if (roll(c, 4) == 0)
			rn_cq_arm(&c->cq[d]->cq, RN_CQ_ARM_NEXT);
		for (uint32_t i = 0; i < 4096; i++)
			assert_int_equal(c->secret[d]->data[i], UNTOUCHED);
	}
	while (pair_next_event(c->p, &ev))
		;
	c->p->event_count = c->p->event_taken = 0;
}

static void step(struct chaos *c)
{
	unsigned i = (unsigned)roll(c, QPS);

	switch (roll(c, 40)) {
	case 0:
		recreate(c, i);
		break;
	case 1:
	case 2:
		change_state(c, i);
		break;
	case 3:
		disturb_memory(c);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		forge(c);
		break;
	case 8:
	case 9:
		poll_all(c);
		break;
	case 10:
		c->p->frozen = !c->p->frozen;
		break;
	case 11:
	case 12:
	case 13:
	case 14:
	case 15:
		pair_run_for(c->p, (rn_ns)roll(c, RN_USEC(300)));
		break;
	default:
		if (roll(c, 2))
			post_send(c, i);
		else
			post_recv(c, i);
	}
}

static void run_seed(uint64_t seed)
{
	struct chaos *c = chaos_new(seed);

	for (unsigned n = 0; n < STEPS; n++)
		step(c);
	c->p->frozen = false;
	pair_run_for(c->p, RN_MSEC(20));
	poll_all(c);
	for (unsigned i = 0; i < QPS; i++) {
		pair_modify_state(c->actor[i].q, RN_QPS_ERR);
		assert_int_equal(c->actor[i].q->qp->req.in_flight, 0);
	}
	pair_run_until_quiet(c->p);
	poll_all(c);
	for (unsigned d = 0; d < c->p->cfg.devices; d++)
		assert_int_equal(c->p->dev[d]->read_in_flight, 0);
	for (unsigned d = 0; d < c->p->cfg.devices; d++)
		for (unsigned k = 0; k < MWS; k++)
			rn_dev_remove_mr(c->p->dev[d], &c->mw[d][k]);
	pair_free(c->p);
	free(c);
}

int main(int argc, char **argv)
{
	static const struct seeds seeds = {
		.name = "nothing_breaks_whatever_happens",
		.count = 60,
		.run = run_seed,
	};

	return seeds_main(argc, argv, &seeds);
}
