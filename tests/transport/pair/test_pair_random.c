/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_random.c - random work over a wire that loses, doubles and reorders.
 *
 *	test_pair_random [FIRST_SEED COUNT]
 *
 * Every work request completes once and in posting order; what completed with success has
 * arrived, where and as often as it should (atomics!), and nothing else was written.
 */
#include "tests/kit/device/pair.h"
#include "tests/kit/seeds.h"
#include "transport/qp/qp.h"

#include <stdlib.h>

enum {
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
	      RN_ACCESS_REMOTE_ATOMIC,
	OPS = 40,	  /* per QP */
	CHANNELS_MAX = 8, /* QPs that send; two per connection */
	COUNTERS = 64,	  /* bytes at the end of the far region: words for atomics */
	UNTOUCHED = 0xcc,
	/* Where a fifth of the packets is lost and a queue has room for one receive,
	 * 20000 rounds are not enough (seed 2254).
	 */
	ROUNDS_MAX = 200000,
};

struct op {
	enum rn_wr_opcode opcode;
	uint32_t len;
	uint32_t imm;
	bool signaled, solicited;
	uint64_t compare; /* CMP_SWAP */
};

/* One direction of a connection. */
struct channel {
	struct world *w;
	struct pair_qp *q, *peer;
	struct pair_mr *near; /* slot of each op: what is sent, or what a READ brings */
	struct pair_mr *far;  /* slot of each op: what is written or read; counters */
	struct pair_mr *recv; /* slot of each receive at the peer */
	struct op op[OPS];
	unsigned posted, completed, recv_posted, received;
	unsigned recv_op; /* op that the next receive CQE belongs to */
	bool failed;
	uint64_t swaps; /* CMP_SWAPs that have completed: expected value of the word */
	uint64_t adds_seen; /* sum of what FETCH_ADDs must have found */
	uint32_t slot;
};

struct world {
	struct pair *p;
	uint64_t seed;
	unsigned channels;
	struct channel ch[CHANNELS_MAX];
	bool receives_first;  /* nobody ever waits for a receive */
	bool lossless_enough; /* no retry counter may run out */
};

static uint64_t roll(struct world *w, uint64_t below)
{
	return test_random(&w->seed) % below;
}

static uint8_t pattern(const struct channel *c, unsigned op, uint32_t i)
{
	return (uint8_t)(op * 37 + i * 3 + (i >> 8) * 11 + c->q->qpn);
}

static bool takes_recv(const struct op *o)
{
	return o->opcode == RN_WR_SEND || o->opcode == RN_WR_SEND_WITH_IMM ||
	       o->opcode == RN_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(const struct op *o)
{
	return o->opcode == RN_WR_ATOMIC_CMP_AND_SWP ||
	       o->opcode == RN_WR_ATOMIC_FETCH_AND_ADD;
}

static bool writes_far(const struct op *o)
{
	return o->opcode == RN_WR_RDMA_WRITE || o->opcode == RN_WR_RDMA_WRITE_WITH_IMM;
}

static struct op random_op(struct world *w, const struct channel *c)
{
	static const enum rn_wr_opcode kinds[] = {
		RN_WR_SEND,	  RN_WR_SEND_WITH_IMM,	     RN_WR_RDMA_WRITE,
		RN_WR_RDMA_READ,  RN_WR_RDMA_WRITE_WITH_IMM, RN_WR_RDMA_READ,
		RN_WR_RDMA_WRITE, RN_WR_ATOMIC_CMP_AND_SWP,  RN_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct op o = { .opcode = kinds[roll(w, RN_ARRAY_SIZE(kinds))],
			.imm = (uint32_t)test_random(&w->seed),
			.signaled = roll(w, 3) != 0,
			.solicited = roll(w, 2) };
	uint32_t mtu = w->p->cfg.mtu_max;

	o.len = (uint32_t)roll(w, 6) * mtu;
	if (roll(w, 2) && o.len)
		o.len -= (uint32_t)roll(w, mtu);
	if (roll(w, 3) == 0)
		o.len = (uint32_t)roll(w, 100);
	if (is_atomic(&o))
		o.len = 8;
	assert(o.len <= c->slot);
	return o;
}

static void fill_slots(struct channel *c)
{
	memset(c->near->data, UNTOUCHED, c->near->len);
	memset(c->far->data, UNTOUCHED, c->far->len - COUNTERS);
	memset(c->recv->data, UNTOUCHED, c->recv->len);
	for (unsigned k = 0; k < OPS; k++) {
		struct pair_mr *m = c->op[k].opcode == RN_WR_RDMA_READ ? c->far : c->near;

		for (uint32_t i = 0; i < c->op[k].len && !is_atomic(&c->op[k]); i++)
			m->data[k * c->slot + i] = pattern(c, k, i);
	}
}

static void make_channel(struct world *w, struct channel *c, struct pair_qp *q,
			 struct pair_qp *peer)
{
	uint64_t swaps = 0;

	*c = (struct channel){ .w = w, .q = q, .peer = peer };
	c->slot = 5 * w->p->cfg.mtu_max + 64;
	c->near = pair_mr_new(w->p, q->dev, OPS * c->slot, ALL);
	c->far = pair_mr_new(w->p, peer->dev, OPS * c->slot + COUNTERS, ALL);
	c->recv = pair_mr_new(w->p, peer->dev, OPS * c->slot, ALL);
	for (unsigned k = 0; k < OPS; k++) {
		c->op[k] = random_op(w, c);
		if (c->op[k].opcode == RN_WR_ATOMIC_CMP_AND_SWP)
			c->op[k].compare = swaps++;
	}
	fill_slots(c);
	while (c->recv_op < OPS && !takes_recv(&c->op[c->recv_op]))
		c->recv_op++;
}

static struct world *current;

static void spice(struct rn_qp_attr *a)
{
	a->timeout = (uint8_t)(8 + roll(current, 8)); /* 1 ms to 134 ms */
	a->min_rnr_timer = (uint8_t)(1 + roll(current, 12));
	a->path_mtu = current->p->cfg.mtu_max;
}

static struct pair_cfg random_cfg(struct world *w)
{
	struct pair_cfg c = { .cc = (enum rn_cc_mode)(w->seed % 3) };

	c.mtu_max = 256u << roll(w, 5);
	c.devices = roll(w, 4) ? 2 : 1;
	c.ipv6 = roll(w, 4) == 0;
	c.hold_acks = roll(w, 2);
	c.rx_batch = 1 + (unsigned)roll(w, 20);
	if (roll(w, 3) == 0)
		c.mem_delay = 1 + (rn_ns)roll(w, 30000);
	if (roll(w, 3) == 0) {
		c.window_start = 1 + (uint32_t)roll(w, 20000);
		c.window_min = 1 + (uint32_t)roll(w, c.window_start);
		c.window_max = c.window_start + (uint32_t)roll(w, 100000);
	}
	if (roll(w, 3) == 0) {
		c.read_chunk = c.mtu_max + (uint32_t)roll(w, 3 * c.mtu_max);
		c.read_window = c.read_chunk + (uint32_t)roll(w, 3 * c.mtu_max);
	}
	return c;
}

static struct pair_faults random_faults(struct world *w)
{
	static const unsigned loss[] = { 0, 0, 50, 100, 500, 2000 };
	struct pair_faults f = { .seed = test_random(&w->seed) | 1, .mark = 500 };

	f.loss = loss[roll(w, RN_ARRAY_SIZE(loss))];
	f.duplicate = roll(w, 2) ? (unsigned)roll(w, 1000) : 0;
	f.reorder = roll(w, 2) ? (unsigned)roll(w, 2000) : 0;
	f.corrupt = roll(w, 4) == 0 ? (unsigned)roll(w, 300) : 0;
	return f;
}

static void make_world(struct world *w, uint64_t seed)
{
	struct pair_faults faults;
	struct pair_cfg cfg;
	unsigned connections;

	*w = (struct world){ .seed = seed };
	current = w;
	cfg = random_cfg(w);
	w->p = pair_new(&cfg);
	w->p->record_off = !seeds_is_single();
	w->p->arena[0].seed = seed;
	w->p->arena[1].seed = seed + 1;
	connections = 1 + (unsigned)roll(w, CHANNELS_MAX / 2);
	w->receives_first = roll(w, 2);
	for (unsigned i = 0; i < connections; i++) {
		struct pair_qp *a, *b;
		struct rn_qp_init init = { .type = RN_QPT_RC,
					   .max_send_wr = 1 + (uint32_t)roll(w, 20),
					   .max_recv_wr = 1 + (uint32_t)roll(w, 20) };

		if (w->receives_first)
			init.max_recv_wr = OPS;
		a = pair_qp_new_with(w->p, 0, &init);
		b = pair_qp_new_with(w->p, w->p->cfg.devices - 1, &init);

		pair_connect_with(a, b, spice);
		make_channel(w, &w->ch[w->channels++], a, b);
		make_channel(w, &w->ch[w->channels++], b, a);
	}
	faults = random_faults(w);
	/* RNR NAKs are no progress: losses while waiting for a receive add up. */
	w->lossless_enough =
		faults.loss + faults.corrupt <= (w->receives_first ? 500 : 0);
	pair_set_faults(w->p, &faults);
}

/* The slot of @m in up to four pieces, an empty one among them perhaps. */
static unsigned cut(struct world *w, const struct pair_mr *m, uint32_t at, uint32_t len,
		    struct rn_sge *sge)
{
	unsigned n = 0;

	while (n < 3 && roll(w, 2)) {
		uint32_t piece = (uint32_t)roll(w, (uint64_t)len + 1);

		sge[n++] = pair_sge(m, at, piece);
		at += piece;
		len -= piece;
	}
	sge[n++] = pair_sge(m, at, len);
	return n;
}

static bool post_one(struct channel *c)
{
	struct world *w = c->w;
	unsigned k = c->posted;
	const struct op *o = &c->op[k];
	struct rn_sge sge[4];
	struct rn_send_wr wr = {
		.wr_id = k,
		.opcode = o->opcode,
		.imm = o->imm,
		.remote_addr = c->far->mr.va + k * c->slot,
		.rkey = c->far->mr.lkey,
		.compare_add = 1,
		.sg = sge,
	};
	int rc;

	if (k == OPS)
		return false;
	wr.flags = o->signaled || k == OPS - 1 ? RN_SEND_SIGNALED : 0;
	wr.flags |= o->solicited ? RN_SEND_SOLICITED : 0;
	wr.flags |= roll(w, 8) == 0 ? RN_SEND_FENCE : 0;
	wr.num_sge = cut(w, c->near, k * c->slot, o->len, sge);
	if (is_atomic(o))
		wr.remote_addr = c->far->mr.va + OPS * c->slot;
	if (o->opcode == RN_WR_ATOMIC_CMP_AND_SWP) {
		wr.remote_addr += 8;
		wr.compare_add = o->compare;
		wr.swap = o->compare + 1;
	}
	rc = rn_qp_post_send(w->p->dev[c->q->dev], c->q->qp, w->p->net->now, &wr);
	if (rc == -12)
		return false;
	assert_int_equal(rc, 0);
	c->posted++;
	return true;
}

static bool post_recv(struct channel *c)
{
	struct rn_sge sge[4];
	struct rn_recv_wr wr = { .wr_id = c->recv_posted, .sg = sge };
	int rc;

	if (c->recv_posted == OPS)
		return false;
	wr.num_sge = cut(c->w, c->recv, c->recv_posted * c->slot, c->slot, sge);
	rc = rn_qp_post_recv(c->w->p->dev[c->peer->dev], c->peer->qp, c->w->p->net->now,
			     &wr);
	if (rc)
		return false;
	c->recv_posted++;
	return true;
}

/* Bytes of a slot: @len of the pattern of @op, the rest untouched. */
static void check_slot(const struct channel *c, const struct pair_mr *m, unsigned slot,
		       unsigned op, uint32_t len)
{
	const uint8_t *data = m->data + slot * c->slot;

	for (uint32_t i = 0; i < c->slot; i++) {
		uint8_t want = i < len ? pattern(c, op, i) : UNTOUCHED;

		if (data[i] != want)
			print_error("op %u byte %u of %u\n", op, i, len);
		assert_int_equal(data[i], want);
	}
}

static void check_atomic(struct channel *c, unsigned k)
{
	uint64_t found;

	memcpy(&found, c->near->data + k * c->slot, 8);
	if (c->op[k].opcode == RN_WR_ATOMIC_CMP_AND_SWP) {
		assert_int_equal(found, c->op[k].compare);
		c->swaps++;
	} else {
		assert_int_equal(found, c->adds_seen);
		c->adds_seen++;
	}
}

static void check_success(struct channel *c, unsigned k)
{
	const struct op *o = &c->op[k];

	if (is_atomic(o))
		check_atomic(c, k);
	else if (o->opcode == RN_WR_RDMA_READ)
		check_slot(c, c->near, k, k, o->len);
	else if (writes_far(o))
		check_slot(c, c->far, k, k, o->len);
}

/* Ops up to the one that the CQE names are complete: all before it were unsignaled. */
static void on_send_cqe(struct channel *c, const struct rn_cqe *e)
{
	enum rn_wc_status status = pair_cqe_status(e);
	unsigned k = (unsigned)e->wr_id;

	assert_true(k >= c->completed && k < c->posted);
	for (unsigned i = c->completed; i < k; i++) {
		assert_false(c->op[i].signaled);
		assert_false(c->failed);
		check_success(c, i);
	}
	c->completed = k + 1;
	if (status == RN_WC_SUCCESS) {
		assert_false(c->failed);
		assert_true(c->op[k].signaled || k == OPS - 1);
		check_success(c, k);
		return;
	}
	if (status == RN_WC_RETRY_EXC_ERR && c->w->lossless_enough)
		fail_msg("request %u has used up its retries, and few packets are lost",
			 k);
	if (status == RN_WC_RETRY_EXC_ERR)
		assert_false(c->failed);
	else
		assert_int_equal(status, RN_WC_WR_FLUSH_ERR);
	c->failed = true;
}

static void on_recv_cqe(struct channel *c, const struct rn_cqe *e)
{
	const struct op *o = &c->op[c->recv_op];
	bool write = o->opcode == RN_WR_RDMA_WRITE_WITH_IMM;
	bool imm = write || o->opcode == RN_WR_SEND_WITH_IMM;

	assert_int_equal(e->wr_id, c->received);
	c->received++;
	if (pair_cqe_status(e) == RN_WC_WR_FLUSH_ERR)
		return;
	assert_int_equal(pair_cqe_status(e), RN_WC_SUCCESS);
	assert_true(c->recv_op < OPS);
	assert_int_equal(pair_cqe_opcode(e),
			 write ? RN_WC_RECV_RDMA_WITH_IMM : RN_WC_RECV);
	assert_int_equal(e->byte_len, o->len);
	assert_int_equal(pair_cqe_flags(e), imm ? RN_WC_WITH_IMM : 0);
	if (imm)
		assert_int_equal(e->imm, o->imm);
	check_slot(c, c->recv, (unsigned)e->wr_id, c->recv_op, write ? 0 : o->len);
	if (write)
		check_slot(c, c->far, c->recv_op, c->recv_op, o->len);
	do
		c->recv_op++;
	while (c->recv_op < OPS && !takes_recv(&c->op[c->recv_op]));
}

static void poll_all(struct world *w)
{
	struct rn_cqe e;

	for (unsigned i = 0; i < w->channels; i++) {
		struct channel *c = &w->ch[i];

		while (pair_poll(c->q->scq, &e))
			on_send_cqe(c, &e);
		while (pair_poll(c->peer->rcq, &e))
			on_recv_cqe(c, &e);
	}
}

static bool all_done(const struct world *w)
{
	for (unsigned i = 0; i < w->channels; i++)
		if (w->ch[i].completed < OPS)
			return false;
	return true;
}

static void post_some(struct world *w)
{
	for (unsigned n = (unsigned)roll(w, 30); n > 0; n--) {
		struct channel *c = &w->ch[roll(w, w->channels)];

		(roll(w, 2) ? post_one : post_recv)(c);
	}
}

/* A side whose peer has given up notices only if it sends something. */
static void give_up_on_failed(struct world *w)
{
	for (unsigned i = 0; i < w->channels; i++)
		if (w->ch[i].failed && rn_qp_state(w->ch[i].peer->qp) != RN_QPS_ERR)
			pair_modify_state(w->ch[i].peer, RN_QPS_ERR);
}

static void drive(struct world *w)
{
	unsigned rounds = 0;
	uint64_t way;

	for (unsigned i = 0; i < w->channels && w->receives_first; i++)
		while (post_recv(&w->ch[i]))
			;
	while (!all_done(w)) {
		assert_true(++rounds < ROUNDS_MAX);
		post_some(w);
		way = roll(w, 8);
		if (way == 0) /* not for ever: somebody may wait for a receive */
			pair_run_until(w->p, w->p->net->now + RN_MSEC(300));
		else if (way == 1)
			pair_run_wire(w->p);
		else
			pair_run_for(w->p, (rn_ns)roll(w, RN_USEC(200)));
		poll_all(w);
		give_up_on_failed(w);
	}
	pair_run_until_quiet(w->p);
	poll_all(w);
}

static void check_channel(const struct channel *c)
{
	uint64_t adds, swaps;

	assert_int_equal(c->q->qp->req.in_flight, 0);
	assert_true(rn_qp_sq_idle(c->q->qp));
	assert_false(rn_qp_unacked(c->q->qp));
	assert_int_equal(c->completed, OPS);
	if (c->failed || rn_qp_state(c->q->qp) == RN_QPS_ERR)
		return;
	memcpy(&adds, c->far->data + OPS * c->slot, 8);
	memcpy(&swaps, c->far->data + OPS * c->slot + 8, 8);
	assert_int_equal(adds, c->adds_seen);
	assert_int_equal(swaps, c->swaps);
	assert_int_equal(c->recv_op, OPS);
	for (unsigned k = 0; k < OPS; k++)
		if (!writes_far(&c->op[k]) && c->op[k].opcode != RN_WR_RDMA_READ)
			check_slot(c, c->far, k, k, 0);
}

static void run_seed(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	make_world(w, seed);
	drive(w);
	for (unsigned i = 0; i < w->channels; i++)
		check_channel(&w->ch[i]);
	assert_int_equal(w->p->dev[0]->read_in_flight, 0);
	pair_free(w->p);
	free(w);
}

static void report(void)
{
	pair_print_tail(current->p, 200);
}

int main(int argc, char **argv)
{
	static const struct seeds seeds = {
		.name = "every_request_completes_once_in_order_with_its_data",
		.count = 60,
		.run = run_seed,
		.report = report,
	};

	return seeds_main(argc, argv, &seeds);
}
