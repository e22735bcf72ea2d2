/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_modify.c - attributes and states of queue pairs. */
#include "tests/kit/device/raw.h"
#include "transport/qp/qp.h"

#include <errno.h>

static const struct pair_cfg one = { .devices = 1, .mtu_max = 1024 };

static void spoil_port(struct rn_qp_attr *a)
{
	a->port_num = 2;
}

static void spoil_pkey(struct rn_qp_attr *a)
{
	a->pkey_index = 1;
}

static void spoil_sgid(struct rn_qp_attr *a)
{
	a->av.sgid_index = 1;
}

static void spoil_family(struct rn_qp_attr *a)
{
	a->av.dgid.raw[0] = 0x20;
}

static void spoil_mtu(struct rn_qp_attr *a)
{
	a->path_mtu = 2048;
}

static void spoil_mtu_odd(struct rn_qp_attr *a)
{
	a->path_mtu = 1000;
}

static void spoil_dest(struct rn_qp_attr *a)
{
	a->dest_qpn = 1 << 24;
}

static void spoil_rq_psn(struct rn_qp_attr *a)
{
	a->rq_psn = 1 << 24;
}

static void spoil_sq_psn(struct rn_qp_attr *a)
{
	a->sq_psn = 1 << 24;
}

static void spoil_dest_rd(struct rn_qp_attr *a)
{
	a->max_dest_rd_atomic = RN_RD_ATOMIC_MAX + 1;
}

static void spoil_rd(struct rn_qp_attr *a)
{
	a->max_rd_atomic = RN_RD_ATOMIC_MAX + 1;
}

static void spoil_rnr_timer(struct rn_qp_attr *a)
{
	a->min_rnr_timer = 32;
}

static void spoil_timeout(struct rn_qp_attr *a)
{
	a->timeout = 32;
}

static void spoil_retry(struct rn_qp_attr *a)
{
	a->retry_cnt = 8;
}

static void spoil_rnr_retry(struct rn_qp_attr *a)
{
	a->rnr_retry = 8;
}

static const uint32_t rc_step[RN_QPS_COUNT] = {
	[RN_QPS_INIT] = RN_ATTR_PKEY_INDEX | RN_ATTR_PORT | RN_ATTR_ACCESS_FLAGS,
	[RN_QPS_RTR] = RN_ATTR_AV | RN_ATTR_PATH_MTU | RN_ATTR_DEST_QPN | RN_ATTR_RQ_PSN |
		       RN_ATTR_MAX_DEST_RD_ATOMIC | RN_ATTR_MIN_RNR_TIMER,
	[RN_QPS_RTS] = RN_ATTR_TIMEOUT | RN_ATTR_RETRY_CNT | RN_ATTR_RNR_RETRY |
		       RN_ATTR_SQ_PSN | RN_ATTR_MAX_RD_ATOMIC,
};

/* tests/rules.md L1 to L3: a refused call changes nothing. */
static void value_out_of_range_changes_nothing(void **state)
{
	static const struct {
		enum rn_qp_state step; /* that takes the attribute */
		void (*spoil)(struct rn_qp_attr *);
	} rows[] = {
		{ RN_QPS_INIT, spoil_port },	 { RN_QPS_INIT, spoil_pkey },
		{ RN_QPS_RTR, spoil_sgid },	 { RN_QPS_RTR, spoil_family },
		{ RN_QPS_RTR, spoil_mtu },	 { RN_QPS_RTR, spoil_mtu_odd },
		{ RN_QPS_RTR, spoil_dest },	 { RN_QPS_RTR, spoil_rq_psn },
		{ RN_QPS_RTR, spoil_dest_rd },	 { RN_QPS_RTR, spoil_rnr_timer },
		{ RN_QPS_RTS, spoil_sq_psn },	 { RN_QPS_RTS, spoil_rd },
		{ RN_QPS_RTS, spoil_timeout },	 { RN_QPS_RTS, spoil_retry },
		{ RN_QPS_RTS, spoil_rnr_retry },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct pair *p = pair_new(&one);
		struct pair_qp *q = pair_qp_new(p, 0, RN_QPT_RC);
		struct rn_qp_attr attr = pair_attr(q, 1, 0x99), bad, was, is;
		uint32_t mask = rc_step[rows[i].step] | RN_ATTR_STATE;

		if (rows[i].step > RN_QPS_INIT)
			pair_modify_until(q, &attr, rows[i].step - 1);
		rn_qp_query(q->qp, &was);
		bad = attr;
		bad.state = rows[i].step;
		rows[i].spoil(&bad);
		assert_int_equal(rn_qp_modify(p->dev[0], q->qp, p->net->now, &bad, mask),
				 -EINVAL);
		rn_qp_query(q->qp, &is);
		assert_memory_equal(&was, &is, sizeof(is));

		/* And the same call with good values works. */
		attr.state = rows[i].step;
		assert_int_equal(rn_qp_modify(p->dev[0], q->qp, p->net->now, &attr, mask),
				 0);
		pair_free(p);
	}
}

static void wrong_current_state_and_alternate_path_are_refused(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	/* The other path leads nowhere. */
	struct rn_qp_attr attr = { .cur_state = RN_QPS_RTR, .access = 0 };
	uint32_t mask = RN_ATTR_CUR_STATE | RN_ATTR_ACCESS_FLAGS;

	(void)state;
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.q->qp, 0, &attr, mask), -EINVAL);
	attr.cur_state = RN_QPS_RTS;
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.q->qp, 0, &attr, mask), 0);
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.q->qp, 0, &attr, RN_ATTR_ALT_PATH),
			 -EINVAL);
	attr.alt.av = r.q->qp->attr.av;
	attr.alt.port_num = 1;
	attr.alt.timeout = 32;
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.q->qp, 0, &attr, RN_ATTR_ALT_PATH),
			 -EINVAL);
	attr.alt.timeout = 31;
	assert_int_equal(rn_qp_modify(r.p->dev[0], r.q->qp, 0, &attr, RN_ATTR_ALT_PATH),
			 0);
	raw_free(&r);
}

/* IBTA Vol 1, 10.3.1.5: in SQD the address vector may change. */
static void a_drained_qp_takes_another_path(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	const struct rn_gid other = {
		{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 0x77 }
	};
	struct rn_qp_attr attr = pair_attr(r.q, 1, RAW_PEER_QPN);
	const struct pair_packet *sent;

	(void)state;
	assert_int_equal(pair_modify_state(r.q, RN_QPS_SQD), 0);
	attr.av.dgid = other;
	attr.av.hop_limit = 3;
	assert_int_equal(
		rn_qp_modify(r.p->dev[0], r.q->qp, r.p->net->now, &attr, RN_ATTR_AV), 0);
	assert_int_equal(pair_modify_state(r.q, RN_QPS_RTS), 0);
	assert_int_equal(
		pair_post_send(r.q, &(struct rn_send_wr){ .opcode = RN_WR_SEND }), 0);
	sent = r.p->record[r.p->record_count - 1];
	assert_int_equal(sent->data[0], RN_RC_SEND_ONLY);
	assert_memory_equal(&sent->flow.dst, &other, sizeof(other));
	assert_int_equal(sent->flow.hop_limit, 3);
	raw_free(&r);
}

/* tests/rules.md L6. */
static void query_tells_the_current_psns(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);
	struct rn_qp_attr attr;

	(void)state;
	pair_post_recv_mr(r.q, 1, r.mr, 0, 100);
	raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 4));
	pair_post_send(r.q, &(struct rn_send_wr){ .opcode = RN_WR_SEND });
	rn_qp_query(r.q->qp, &attr);
	assert_int_equal(attr.state, RN_QPS_RTS);
	assert_int_equal(attr.cur_state, RN_QPS_RTS);
	assert_int_equal(attr.rq_psn, 101);
	assert_int_equal(attr.sq_psn, 201);
	assert_int_equal(attr.dest_qpn, RAW_PEER_QPN);
	assert_int_equal(attr.path_mtu, 1024);
	raw_free(&r);
}

/* Sent and received packets move the PSNs that query tells, and not these. */
static void each_end_s_first_psn_is_known_for_good(void **state)
{
	struct raw r = raw_new(NULL, RN_QPT_RC, RN_QPS_RTS, NULL);

	(void)state;
	pair_post_recv_mr(r.q, 1, r.mr, 0, 100);
	raw_send(&r, RAW(.op = RN_RC_SEND_ONLY, .psn = 100, .ack_req = true, .len = 4));
	pair_post_send(r.q, &(struct rn_send_wr){ .opcode = RN_WR_SEND });
	assert_int_equal(rn_qp_first_psn(r.q->qp, true), 100);
	assert_int_equal(rn_qp_first_psn(r.q->qp, false), 200);
	raw_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_out_of_range_changes_nothing),
		cmocka_unit_test(wrong_current_state_and_alternate_path_are_refused),
		cmocka_unit_test(a_drained_qp_takes_another_path),
		cmocka_unit_test(query_tells_the_current_psns),
		cmocka_unit_test(each_end_s_first_psn_is_known_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
