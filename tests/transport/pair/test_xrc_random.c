/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_xrc_random.c - whatever a peer sends, to QPs of an XRC domain and to QPs with a
 * shared receive queue: nothing but what is open changes, and every receive that was
 * posted to a queue that lives completes at most once.
 */
#include "rocin/srq.h"
#include "tests/kit/device/raw.h"
#include "transport/object/srq.h"

enum {
	DOMAIN = 5,
	SRQS = 4,
	BUF = 4096,
	STEPS = 3000,
	UNTOUCHED = 0x6b,
};

struct world {
	struct raw r;
	struct pair_qp *tgt[2], *rc, *uc;
	struct pair_srq *srq[SRQS], *basic;
	struct pair_mr *open, *closed, *foreign;
	uint64_t rnd, posted, completed, ok;
	bool done[STEPS * 8];
};

static uint32_t any(struct world *w, uint32_t n)
{
	return (uint32_t)(test_random(&w->rnd) % n);
}

static void ready(struct world *w, struct pair_qp *q)
{
	struct rn_qp_attr attr = pair_attr(q, 1, RAW_PEER_QPN);

	(void)w;
	attr.rq_psn = RAW_PSN_RX;
	assert_int_equal(pair_modify_state(q, RN_QPS_RESET), 0);
	pair_modify_until(q, &attr, RN_QPS_RTS);
}

static struct pair_srq *new_srq(struct world *w, uint32_t i)
{
	const struct rn_srq_init init = { .srqn = 1 + i,
					  .max_wr = 8,
					  .xrcd = DOMAIN + i / 3 };

	return pair_srq_new_with(w->r.p, 0, &init);
}

static struct world *make(uint64_t seed)
{
	const struct rn_qp_init tgt = { .type = RN_QPT_XRC_RECV, .xrcd = DOMAIN };
	struct rn_qp_init init = { .type = RN_QPT_RC };
	struct world *w = test_calloc(1, sizeof(*w));
	struct pair *p = pair_new(&(struct pair_cfg){
		.devices = 1, .mtu_max = 256, .mem_delay = seed % 2 ? 1000 : 0 });
	const uint32_t all = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
			     RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC;

	w->rnd = seed;
	w->r.p = p;
	for (uint32_t i = 0; i < SRQS; i++)
		w->srq[i] = new_srq(w, i);
	w->basic = pair_srq_new_with(
		p, 0, &(struct rn_srq_init){ .srqn = SRQS + 1, .max_wr = 8 });
	w->r.mr = w->open = pair_mr_new(p, 0, BUF, all);
	w->closed = pair_mr_new(p, 0, BUF, 0);
	w->foreign = pair_mr_new_in(p, 0, 2, BUF, all);
	memset(w->closed->data, UNTOUCHED, BUF);
	memset(w->foreign->data, UNTOUCHED, BUF);
	w->tgt[0] = w->r.q = pair_qp_new_with(p, 0, &tgt);
	w->tgt[1] = pair_qp_new_with(p, 0, &tgt);
	init.srq = w->basic->srq;
	w->rc = pair_qp_new_with(p, 0, &init);
	init.type = RN_QPT_UC;
	w->uc = pair_qp_new_with(p, 0, &init);
	return w;
}

static struct pair_qp *any_qp(struct world *w)
{
	struct pair_qp *const all[] = { w->tgt[0], w->tgt[1], w->rc, w->uc };

	return all[any(w, RN_ARRAY_SIZE(all))];
}

static uint64_t any_address(struct world *w, const struct pair_mr *m)
{
	return m->mr.va + any(w, BUF + 64) - any(w, 2) * 8;
}

/* One that goes on with the message, as a rule. */
static uint8_t likely_op(struct world *w, const struct pair_qp *q)
{
	static const uint8_t ops[3][4] = {
		[RN_MSG_NONE] = { RN_RC_SEND_FIRST, RN_RC_SEND_ONLY_IMM,
				  RN_RC_WRITE_FIRST, RN_RC_READ_REQUEST },
		[RN_MSG_SEND] = { RN_RC_SEND_MIDDLE, RN_RC_SEND_LAST, RN_RC_SEND_LAST_IMM,
				  RN_RC_SEND_LAST },
		[RN_MSG_WRITE] = { RN_RC_WRITE_MIDDLE, RN_RC_WRITE_LAST,
				   RN_RC_WRITE_LAST_IMM, RN_RC_WRITE_LAST_IMM },
	};

	return any(w, 8) ? ops[q->qp->rsp.message][any(w, 4)] : (uint8_t)any(w, 0x20);
}

static void receive(struct world *w)
{
	static const uint8_t classes[] = { RN_CLASS_RC, RN_CLASS_UC, RN_CLASS_XRC };
	const struct pair_mr *const mrs[] = { w->open, w->closed, w->foreign };
	const struct pair_mr *m = mrs[any(w, 8) ? 0 : any(w, 3)];
	struct pair_qp *q = any_qp(w);
	uint8_t class = q->type == RN_QPT_UC   ? RN_CLASS_UC
			: q->type == RN_QPT_RC ? RN_CLASS_RC
					       : RN_CLASS_XRC;
	struct raw_packet k = {
		.op = (any(w, 20) ? class : classes[any(w, 3)]) | likely_op(w, q),
		.dest_qpn = q->qpn,
		.psn = (q->qp->rsp.exp_psn.v + (any(w, 8) ? 0 : any(w, 9) - 4)) &
		       0xffffff,
		.ack_req = any(w, 2),
		.srqn = any(w, 8) ? 1 + any(w, 3) : any(w, SRQS + 3),
		.reth = { .va = any_address(w, m),
			  .rkey = m->mr.lkey,
			  .dma_len = any(w, 4) ? 256 * any(w, 4) : any(w, 1000) },
		.atomic = { .va = any_address(w, m) & ~7ull, .rkey = m->mr.lkey },
		.len = any(w, 3) ? 256 : any(w, 300),
	};

	/* A message goes on with its SRQ more often than not. */
	if (q->qp->rsp.taken_from && q->type == RN_QPT_XRC_RECV && any(w, 8))
		k.srqn = q->qp->rsp.taken_from->node.key;
	if (!(rn_opcode_info[k.op].flags & RN_OP_PAYLOAD) && any(w, 8))
		k.len = 0;
	raw_send(&w->r, &k);
}

static void post(struct world *w)
{
	struct pair_srq *s = any(w, 2) ? w->basic : w->srq[any(w, SRQS)];
	uint32_t len = any(w, 4) ? 1024 : any(w, 300);

	if (s && pair_post_srq_mr(s, w->posted, w->open, any(w, BUF - 1024), len) == 0)
		w->posted++;
}

/* Destroy an SRQ of a domain, or make it anew. */
static void change_srq(struct world *w)
{
	uint32_t i = any(w, SRQS);

	if (w->srq[i] && !any(w, 4)) {
		pair_srq_destroy(w->srq[i]);
		w->srq[i] = NULL;
	} else if (!w->srq[i] && w->r.p->srq_count < PAIR_OBJECTS) {
		w->srq[i] = new_srq(w, i);
	} else if (w->srq[i]) {
		rn_srq_set_limit(w->srq[i]->srq, any(w, 9));
	}
}

static void check(struct world *w)
{
	struct pair *p = w->r.p;
	struct rn_cqe e;

	for (unsigned i = 0; i < p->cq_count; i++)
		while (pair_poll(p->cq[i], &e)) {
			assert_true(e.wr_id < w->posted);
			assert_false(w->done[e.wr_id]);
			w->done[e.wr_id] = true;
			w->completed++;
			w->ok += pair_cqe_status(&e) == RN_WC_SUCCESS;
		}
	for (uint32_t i = 0; i < BUF; i++) {
		assert_int_equal(w->closed->data[i], UNTOUCHED);
		assert_int_equal(w->foreign->data[i], UNTOUCHED);
	}
	p->record_taken = p->record_count;
	p->event_taken = p->event_count = 0;
}

static void run(uint64_t seed)
{
	struct world *w = make(seed);

	w->r.p->record_off = true;
	for (unsigned i = 0; i < STEPS; i++) {
		struct pair_qp *q = any_qp(w);

		if (rn_qp_state(q->qp) == RN_QPS_RESET ||
		    rn_qp_state(q->qp) == RN_QPS_ERR || !any(w, 200))
			ready(w, q);
		switch (any(w, 16)) {
		case 0:
			change_srq(w);
			break;
		case 1:
		case 2:
		case 3:
		case 4:
			post(w);
			break;
		case 5:
			pair_run_for(w->r.p, RN_USEC(2));
			break;
		default:
			receive(w);
		}
		if (i % 64 == 0)
			check(w);
	}
	pair_run_for(w->r.p, RN_MSEC(1));
	check(w);
	assert_true(w->ok > 100 && w->completed > w->ok); /* it was no empty talk */
	pair_free(w->r.p);
	test_free(w);
}

static void nothing_that_a_peer_sends_opens_more_than_it_may(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_a_peer_sends_opens_more_than_it_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
