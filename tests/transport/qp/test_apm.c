/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_apm.c - path migration of two ends. The rules R1 to R8 are scenarios. */
#include "tests/kit/device/rc_pair.h"

/* The other path leads to the same address, so M tells which one a packet takes. */
static void arm(struct pair_qp *q)
{
	struct rn_qp_attr attr = { .mig_state = RN_MIG_REARM };

	attr.alt.av = q->qp->attr.av;
	attr.alt.port_num = 1;
	attr.alt.timeout = 15;
	assert_int_equal(rn_qp_modify(q->p->dev[q->dev], q->qp, q->p->net->now, &attr,
				      RN_ATTR_ALT_PATH | RN_ATTR_PATH_MIG_STATE),
			 0);
}

static struct rc armed_pair(const struct pair_cfg *cfg)
{
	struct rc r = rc_new(cfg);
	struct rn_sge sge;
	struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, 8);

	arm(r.a);
	arm(r.b);
	assert_int_equal(pair_post_send(r.a, &wr), 0);
	pair_run_until_quiet(r.p);
	pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
	assert_int_equal(r.a->qp->attr.mig_state, RN_MIG_ARMED);
	assert_int_equal(r.b->qp->attr.mig_state, RN_MIG_ARMED);
	return r;
}

/* The first path carries so many packets and then none. */
struct cut {
	unsigned left;
};

static struct pair_fate first_path_dies(void *ctx, const struct pair_packet *pkt)
{
	struct cut *cut = ctx;

	if (pkt->data[1] & 0x40)
		return (struct pair_fate){ .copies = 1 };
	if (cut->left == 0)
		return (struct pair_fate){ .copies = 0 };
	cut->left--;
	return (struct pair_fate){ .copies = 1 };
}

/* A WRITE, a READ and an atomic of A; SENDs of B. */
static void post_all(struct rc *r)
{
	struct rn_sge sge, back = pair_sge(r->mb, 0, 3000), word = pair_sge(r->ma, 0, 8);
	struct rn_send_wr wr = wr_to(r, RN_WR_RDMA_WRITE, &sge, BUF / 2);

	fill(r->ma, 1);
	fill(r->mb, 2);
	assert_int_equal(pair_post_send(r->a, &wr), 0);
	wr.opcode = RN_WR_RDMA_READ;
	wr.wr_id++;
	sge.addr += BUF / 2;
	wr.remote_addr += BUF / 2;
	sge.len = BUF / 2;
	assert_int_equal(pair_post_send(r->a, &wr), 0);
	wr.opcode = RN_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr_id++;
	wr.remote_addr = r->mb->mr.va;
	wr.compare_add = 1;
	wr.sg = &word;
	assert_int_equal(pair_post_send(r->a, &wr), 0);
	pair_post_recv_mr(r->a, 9, r->ma, 16, 3000);
	wr = (struct rn_send_wr){ .wr_id = 20,
				  .opcode = RN_WR_SEND,
				  .flags = RN_SEND_SIGNALED,
				  .sg = &back,
				  .num_sge = 1 };
	assert_int_equal(pair_post_send(r->b, &wr), 0);
}

static void assert_all_done(struct rc *r, uint64_t first_word)
{
	uint64_t word;

	for (unsigned i = 0; i < 3; i++)
		pair_expect_wc(r->a->scq, WR_ID + i, RN_WC_SUCCESS);
	pair_expect_wc(r->b->scq, 20, RN_WC_SUCCESS);
	pair_expect_wc(r->a->rcq, 9, RN_WC_SUCCESS);
	assert_memory_equal(r->ma->data + BUF / 2, r->mb->data + BUF / 2, BUF / 2);
	memcpy(&word, r->mb->data, sizeof(word));
	assert_true(word == first_word + 1); /* once */
	assert_quiet(r);
}

static void nothing_is_lost_or_done_twice_when_the_first_path_dies(void **state)
{
	(void)state;
	for (unsigned left = 0; left < 24; left++) {
		struct rc r = armed_pair(&(struct pair_cfg){ 0 });
		struct cut cut = { left };
		uint64_t first;

		pair_set_hook(r.p, first_path_dies, &cut);
		post_all(&r);
		memcpy(&first, r.ma->data, sizeof(first));
		pair_run_until_quiet(r.p);
		assert_all_done(&r, first);
		if (cut.left == 0 && r.a->qp->attr.mig_state == RN_MIG_MIGRATED) {
			struct rn_event ev;

			assert_true(pair_next_event(r.p, &ev));
			assert_int_equal(ev.async, RN_EVENT_PATH_MIG);
			assert_int_equal(r.a->qp->attr.timeout, 15);
		}
		pair_free(r.p);
	}
}

static void a_change_in_the_middle_of_everything_does_no_harm(void **state)
{
	struct rn_qp_attr attr = { .mig_state = RN_MIG_MIGRATED };

	(void)state;
	for (unsigned step = 0; step < 40; step++) {
		struct rc r = armed_pair(&(struct pair_cfg){ .mem_delay = step % 2 });
		struct pair_faults faults = { .seed = step, .loss = 300, .reorder = 500 };
		uint64_t first;

		pair_set_faults(r.p, &faults);
		post_all(&r);
		memcpy(&first, r.ma->data, sizeof(first));
		pair_run_for(r.p, step * 3000);
		assert_int_equal(rn_qp_modify(r.p->dev[0], r.a->qp, r.p->net->now, &attr,
					      RN_ATTR_PATH_MIG_STATE),
				 0);
		pair_flush(r.p);
		pair_run_until_quiet(r.p);
		assert_all_done(&r, first);
		assert_int_equal(r.a->qp->attr.mig_state, RN_MIG_MIGRATED);
		pair_free(r.p);
	}
}

/* Told to one end or the other, under loss, the other end follows each time. */
static void ends_migrate_together_again_and_again(void **state)
{
	struct rn_qp_attr attr = { .mig_state = RN_MIG_MIGRATED };
	struct rc r = rc_new(&(struct pair_cfg){ 0 });
	const struct pair_faults faults = {
		.seed = 5, .loss = 800, .duplicate = 300, .reorder = 300
	};

	(void)state;
	pair_set_faults(r.p, &faults);
	for (unsigned round = 0; round < 30; round++) {
		struct pair_qp *told = round % 2 ? r.a : r.b;
		struct rn_sge sge;
		struct rn_send_wr wr = wr_to(&r, RN_WR_RDMA_WRITE, &sge, BUF);

		arm(r.a);
		arm(r.b);
		fill(r.ma, round);
		for (unsigned turn = 0; turn < 2; turn++) {
			assert_int_equal(pair_post_send(r.a, &wr), 0);
			pair_run_until_quiet(r.p);
			pair_expect_wc(r.a->scq, WR_ID, RN_WC_SUCCESS);
			if (turn)
				break;
			assert_int_equal(told->qp->attr.mig_state, RN_MIG_ARMED);
			assert_int_equal(rn_qp_modify(r.p->dev[told->dev], told->qp,
						      r.p->net->now, &attr,
						      RN_ATTR_PATH_MIG_STATE),
					 0);
		}
		assert_int_equal(r.a->qp->attr.mig_state, RN_MIG_MIGRATED);
		assert_int_equal(r.b->qp->attr.mig_state, RN_MIG_MIGRATED);
		assert_memory_equal(r.ma->data, r.mb->data, BUF);
	}
	pair_free(r.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_done_twice_when_the_first_path_dies),
		cmocka_unit_test(ends_migrate_together_again_and_again),
		cmocka_unit_test(a_change_in_the_middle_of_everything_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
