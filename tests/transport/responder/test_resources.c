/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_resources.c - READs and atomics, the peer's and its own, in memory that is lent as
 * they are agreed on; and as many as there can be.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/kit/device/rc0.h"
#include "transport/qp/qp.h"

static const struct pair_cfg without = { .mtu_max = 1024, .lent_resources = true };

enum {
	NAK_INV = 0x61,
	TO_RTR = RN_ATTR_STATE | RN_ATTR_AV | RN_ATTR_PATH_MTU | RN_ATTR_DEST_QPN |
		 RN_ATTR_RQ_PSN | RN_ATTR_MAX_DEST_RD_ATOMIC | RN_ATTR_MIN_RNR_TIMER,
	TO_RTS = RN_ATTR_STATE | RN_ATTR_TIMEOUT | RN_ATTR_RETRY_CNT | RN_ATTR_RNR_RETRY |
		 RN_ATTR_SQ_PSN | RN_ATTR_MAX_RD_ATOMIC,
};

/* Memory that a sanitizer or valgrind knows the end of. */
static void *room_for(uint32_t count)
{
	void *mem = malloc(rn_qp_resources_size(count));

	assert_non_null(mem);
	memset(mem, 0xee, rn_qp_resources_size(count));
	return mem;
}

static int modify(const struct rc0 *t, const struct rn_qp_attr *attr, uint32_t mask)
{
	return rn_qp_modify(t->r.p->dev[0], t->r.q->qp, t->r.p->net->now, attr, mask);
}

static void *room_for_own(uint32_t count)
{
	void *mem = malloc(rn_qp_reads_size(count));

	assert_non_null(mem);
	memset(mem, 0xee, rn_qp_reads_size(count));
	return mem;
}

/* From INIT on; what rc0_rts() has, but for the depth. */
static int to_rtr(const struct rc0 *t, uint8_t depth)
{
	struct rn_qp_attr attr = pair_attr(t->r.q, 1, RAW_PEER_QPN);

	attr.state = RN_QPS_RTR;
	attr.rq_psn = RAW_PSN_RX;
	attr.max_dest_rd_atomic = depth;
	return modify(t, &attr, TO_RTR);
}

/* Its own READs: @depth. */
static int to_rts(const struct rc0 *t, uint8_t depth)
{
	struct rn_qp_attr attr = pair_attr(t->r.q, 1, RAW_PEER_QPN);

	attr.state = RN_QPS_RTS;
	attr.sq_psn = RAW_PSN_TX;
	attr.max_rd_atomic = depth;
	return modify(t, &attr, TO_RTS);
}

/* In RTS with room for just @depth; @mem: out, the caller's to free. */
static struct rc0 rts_with(const struct pair_cfg *cfg, uint8_t depth, void **mem)
{
	struct rc0 t = rc0_new(cfg, RN_QPT_RC, RN_QPS_INIT, NULL);

	*mem = NULL;
	if (depth) {
		*mem = room_for(depth);
		assert_null(rn_qp_lend_resources(t.r.q->qp, *mem, depth));
	}
	assert_int_equal(to_rtr(&t, depth), 0);
	assert_int_equal(to_rts(&t, 0), 0);
	rc0_fill(&t, 0);
	return t;
}

/* In SQD the depth may be changed. */
static void change_depth(const struct rc0 *t, uint8_t depth)
{
	struct rn_qp_attr attr = { .state = RN_QPS_SQD, .max_dest_rd_atomic = depth };

	assert_int_equal(modify(t, &attr, RN_ATTR_STATE), 0);
	assert_int_equal(modify(t, &attr, RN_ATTR_STATE | RN_ATTR_MAX_DEST_RD_ATOMIC), 0);
	attr.state = RN_QPS_RTS;
	assert_int_equal(modify(t, &attr, RN_ATTR_STATE), 0);
}

static void a_depth_without_room_is_refused_and_changes_nothing(void **state)
{
	struct rc0 t = rc0_new(&without, RN_QPT_RC, RN_QPS_INIT, NULL);
	void *one = room_for(1), *three = room_for(3);
	struct rn_qp_attr now;

	(void)state;
	assert_int_equal(to_rtr(&t, 1), -ENOMEM);
	assert_int_equal(rc0_state(&t), RN_QPS_INIT);
	rn_qp_query(t.r.q->qp, &now);
	assert_int_equal(now.max_dest_rd_atomic, 0);
	/* What is wrong in any case is wrong first. */
	assert_int_equal(to_rtr(&t, RN_RD_ATOMIC_MAX + 1), -EINVAL);

	assert_int_equal(rn_qp_resources(t.r.q->qp), 0);
	assert_null(rn_qp_lend_resources(t.r.q->qp, one, 1));
	assert_int_equal(rn_qp_resources(t.r.q->qp), 1);
	assert_int_equal(to_rtr(&t, 2), -ENOMEM);
	assert_ptr_equal(rn_qp_lend_resources(t.r.q->qp, three, 3), one);
	assert_int_equal(to_rtr(&t, 3), 0);
	rc0_free(&t);
	free(one);
	free(three);
}

static void without_any_a_read_is_refused_and_messages_are_not(void **state)
{
	void *mem;
	struct rc0 t = rts_with(&without, 0, &mem);

	(void)state;
	rc0_post(&t, 2);
	rc0_send(&t, 100);
	rc0_expect_receive(&t, 1, 0);
	raw_expect_ack(&t.r, 100, 1);
	/* A duplicate, which is looked for among them. */
	rc0_send(&t, 100);
	raw_expect_ack(&t.r, 100, 1);
	rc0_read(&t, 100, 0, 8);
	rc0_expect_nothing(&t);
	rc0_read(&t, 101, 0, 8);
	rc0_expect_fatal(&t, NAK_INV, 101, 1, 2);
	rc0_free(&t);
}

static void as_many_are_kept_as_there_is_room_for(void **state)
{
	(void)state;
	for (uint8_t depth = 1; depth <= RN_RD_ATOMIC_MAX; depth++) {
		void *mem;
		struct rc0 t = rts_with(&without, depth, &mem);
		uint32_t count = 300; /* indices wrap at 256 */

		for (uint32_t i = 0; i < count; i++) {
			rc0_read(&t, 100 + i, i, 8);
			rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1,
					    i, 8);
		}
		for (uint32_t i = count - depth; i < count; i++) {
			rc0_read(&t, 100 + i, i, 8);
			rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1,
					    i, 8);
		}
		rc0_read(&t, 100 + count - depth - 1, count - depth - 1u, 8);
		rc0_expect_nothing(&t);
		rc0_free(&t);
		free(mem);
	}
}

static void what_is_kept_moves_to_larger_memory(void **state)
{
	void *two, *sixteen = room_for(16);
	struct rc0 t = rts_with(&without, 2, &two);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		rc0_read(&t, 100 + i, 8 * i, 8);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1, 8 * i,
				    8);
	}
	assert_ptr_equal(rn_qp_lend_resources(t.r.q->qp, sixteen, 16), two);
	memset(two, 0xee, rn_qp_resources_size(2));
	free(two);
	change_depth(&t, 16);
	for (uint32_t i = 1; i < 3; i++) {
		rc0_read(&t, 100 + i, 8 * i, 8);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1, 8 * i,
				    8);
	}
	for (uint32_t i = 3; i < 20; i++) {
		rc0_read(&t, 100 + i, 8 * i, 8);
		rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100 + i, i + 1, 8 * i,
				    8);
	}
	rc0_free(&t);
	free(sixteen);
}

/* Its answer comes when the resource has another place. */
static void an_atomic_under_way_moves_too(void **state)
{
	static const struct pair_cfg slow = { .mtu_max = 1024,
					      .lent_resources = true,
					      .mem_delay = 1000 };
	void *one, *four = room_for(4);
	struct rc0 t = rts_with(&slow, 1, &one);

	(void)state;
	rc0_store(&t, 0, 10);
	raw_send(&t.r, RAW(.op = RN_RC_FETCH_ADD, .psn = 100,
			   .atomic = rc0_atomic(&t, 0, 5, 0)));
	raw_expect_silence(&t.r);
	assert_ptr_equal(rn_qp_lend_resources(t.r.q->qp, four, 4), one);
	memset(one, 0xee, rn_qp_resources_size(1));
	free(one);
	pair_run_for(t.r.p, RN_USEC(10));
	assert_int_equal(raw_expect(&t.r, RN_RC_ATOMIC_ACK, 100)->atomic_ack, 10);
	assert_int_equal(rc0_load(&t, 0), 15);
	rc0_free(&t);
	free(four);
}

static void reset_keeps_the_memory_and_forgets_what_is_in_it(void **state)
{
	const struct rn_qp_attr init = { .state = RN_QPS_INIT,
					 .port_num = 1,
					 .access = RN_ACCESS_REMOTE_MASK };
	const struct rn_qp_attr reset = { .state = RN_QPS_RESET };
	void *mem;
	struct rc0 t = rts_with(&without, 2, &mem);

	(void)state;
	rc0_read(&t, 100, 0, 8);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 0, 8);
	assert_int_equal(modify(&t, &reset, RN_ATTR_STATE), 0);
	assert_int_equal(modify(&t, &init,
				RN_ATTR_STATE | RN_ATTR_PKEY_INDEX | RN_ATTR_PORT |
					RN_ATTR_ACCESS_FLAGS),
			 0);
	assert_int_equal(to_rtr(&t, 2), 0);
	assert_int_equal(to_rts(&t, 0), 0);
	rc0_read(&t, 100, 8, 8);
	rc0_expect_response(&t, RN_RC_READ_RESPONSE_ONLY, 100, 1, 8, 8);
	rc0_free(&t);
	free(mem);
}

/* ---------------------------------------------------------------- its own */
static void its_own_depth_without_room_is_refused_and_changes_nothing(void **state)
{
	struct rc0 t = rc0_new(&without, RN_QPT_RC, RN_QPS_INIT, NULL);
	void *one = room_for_own(1), *three = room_for_own(3);
	struct rn_qp_attr now;

	(void)state;
	assert_int_equal(to_rtr(&t, 0), 0);
	assert_int_equal(to_rts(&t, 1), -ENOMEM);
	assert_int_equal(rc0_state(&t), RN_QPS_RTR);
	rn_qp_query(t.r.q->qp, &now);
	assert_int_equal(now.max_rd_atomic, 0);
	assert_int_equal(to_rts(&t, RN_RD_ATOMIC_MAX + 1), -EINVAL);

	assert_int_equal(rn_qp_reads(t.r.q->qp), 0);
	assert_null(rn_qp_lend_reads(t.r.q->qp, one, 1));
	assert_int_equal(rn_qp_reads(t.r.q->qp), 1);
	assert_int_equal(to_rts(&t, 2), -ENOMEM);
	assert_ptr_equal(rn_qp_lend_reads(t.r.q->qp, three, 3), one);
	assert_int_equal(rn_qp_reads(t.r.q->qp), 4);
	assert_int_equal(to_rts(&t, 3), 0);
	rc0_free(&t);
	free(one);
	free(three);
}

static int post_read(struct pair_qp *q, const struct pair_mr *to,
		     const struct pair_mr *from, uint32_t offset, uint32_t len)
{
	struct rn_sge sge = pair_sge(to, offset, len);
	struct rn_send_wr wr = { .wr_id = offset,
				 .opcode = RN_WR_RDMA_READ,
				 .flags = RN_SEND_SIGNALED,
				 .sg = &sge,
				 .num_sge = 1,
				 .remote_addr = from->mr.va + offset,
				 .rkey = from->mr.lkey };

	return pair_post_send(q, &wr);
}

/* The ring is in the middle of its memory when it moves. */
static void its_own_that_are_on_the_wire_move_to_larger_memory(void **state)
{
	struct pair *p =
		pair_new(&(struct pair_cfg){ .mtu_max = 1024, .lent_resources = true });
	struct pair_qp *q[2] = { pair_qp_new(p, 0, RN_QPT_RC),
				 pair_qp_new(p, 1, RN_QPT_RC) };
	struct pair_mr *to = pair_mr_new(p, 0, 64, RN_ACCESS_LOCAL_WRITE);
	struct pair_mr *from = pair_mr_new(p, 1, 64, RN_ACCESS_REMOTE_READ);
	void *small[2] = { room_for_own(4), room_for_own(4) }, *large = room_for_own(8);
	void *res[2] = { room_for(4), room_for(4) };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_null(rn_qp_lend_reads(q[i]->qp, small[i], 4));
		assert_null(rn_qp_lend_resources(q[i]->qp, res[i], 4));
	}
	pair_connect(q[0], q[1]);
	for (uint32_t i = 0; i < 64; i++)
		from->data[i] = (uint8_t)(i + 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(post_read(q[0], to, from, i, 1), 0);
	pair_run_until_quiet(p);
	for (uint32_t i = 3; i < 7; i++)
		assert_int_equal(post_read(q[0], to, from, i, 1), 0);
	assert_int_equal(q[0]->qp->req.rd_count, 4);
	assert_ptr_equal(rn_qp_lend_reads(q[0]->qp, large, 8), small[0]);
	memset(small[0], 0xee, rn_qp_reads_size(4));
	pair_run_until_quiet(p);
	for (uint32_t i = 0; i < 7; i++)
		pair_expect_wc(q[0]->scq, i, RN_WC_SUCCESS);
	assert_memory_equal(to->data, from->data, 7);
	assert_int_equal(pair_stat(p, 0, RN_STAT_PACKET_SEQ_ERR), 0);
	pair_free(p);
	free(large);
	for (unsigned i = 0; i < 2; i++) {
		free(small[i]);
		free(res[i]);
	}
}

/* ------------------------------------------------------ as many as can be */
enum {
	MANY = 4 * RN_RD_ATOMIC_MAX, /* of each queue, half of them atomics */
	READ_LEN = 40,
};

struct many {
	struct pair *p;
	struct pair_qp *q[2];
	struct pair_mr *counter[2], *source[2], *sink[2];
	unsigned posted[2], completed[2], most[2];
	bool seen[2][MANY]; /* values that fetch and add found */
};

static void all_depths(struct rn_qp_attr *attr)
{
	attr->max_rd_atomic = attr->max_dest_rd_atomic = RN_RD_ATOMIC_MAX;
}

/* READs of disjoint bytes and fetch-and-adds of one word, by turns. */
static void post_one(struct many *m, unsigned side)
{
	unsigned i = m->posted[side]++, far = 1 - side;
	bool atomic = i % 2;
	struct rn_sge sge = pair_sge(m->sink[side], i * READ_LEN, atomic ? 8 : READ_LEN);
	struct rn_send_wr wr = {
		.wr_id = i,
		.opcode = atomic ? RN_WR_ATOMIC_FETCH_AND_ADD : RN_WR_RDMA_READ,
		.flags = RN_SEND_SIGNALED,
		.sg = &sge,
		.num_sge = 1,
		.remote_addr = atomic ? m->counter[far]->mr.va
				      : m->source[far]->mr.va + (uint64_t)i * READ_LEN,
		.rkey = atomic ? m->counter[far]->mr.lkey : m->source[far]->mr.lkey,
		.compare_add = 1,
	};

	assert_int_equal(pair_post_send(m->q[side], &wr), 0);
}

static void take_completions(struct many *m, unsigned side)
{
	struct rn_cqe cqe;

	while (pair_poll(m->q[side]->scq, &cqe)) {
		unsigned i = m->completed[side]++;
		const uint8_t *got = m->sink[side]->data + (size_t)i * READ_LEN;
		const uint8_t *want = m->source[1 - side]->data + (size_t)i * READ_LEN;
		uint64_t found;

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(pair_cqe_status(&cqe), RN_WC_SUCCESS);
		if (i % 2 == 0) {
			assert_memory_equal(got, want, READ_LEN);
			continue;
		}
		memcpy(&found, got, sizeof(found));
		assert_true(found < MANY / 2 && !m->seen[side][found]);
		m->seen[side][found] = true;
	}
}

static struct many many_new(const struct pair_cfg *cfg, const struct pair_faults *faults)
{
	const struct rn_qp_init init = { .type = RN_QPT_RC, .max_send_wr = MANY };
	struct many m = { .p = pair_new(cfg) };

	for (unsigned d = 0; d < 2; d++) {
		m.q[d] = pair_qp_new_with(m.p, d, &init);
		m.counter[d] = pair_mr_new(
			m.p, d, 8, RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_ATOMIC);
		m.source[d] = pair_mr_new(m.p, d, MANY * READ_LEN, RN_ACCESS_REMOTE_READ);
		m.sink[d] = pair_mr_new(m.p, d, MANY * READ_LEN, RN_ACCESS_LOCAL_WRITE);
		memset(m.counter[d]->data, 0, 8);
		for (uint32_t i = 0; i < MANY * READ_LEN; i++)
			m.source[d]->data[i] = (uint8_t)(i * 7 + i / 251 + d);
	}
	pair_connect_with(m.q[0], m.q[1], all_depths);
	if (faults)
		pair_set_faults(m.p, faults);
	return m;
}

static void run_many(const struct pair_cfg *cfg, const struct pair_faults *faults)
{
	struct many m = many_new(cfg, faults);

	while (m.posted[0] < MANY) {
		post_one(&m, 0);
		post_one(&m, 1);
		for (unsigned d = 0; d < 2; d++)
			if (m.q[d]->qp->req.rd_count > m.most[d])
				m.most[d] = m.q[d]->qp->req.rd_count;
	}
	pair_run_until_quiet(m.p);
	for (unsigned d = 0; d < 2; d++) {
		uint64_t count;

		take_completions(&m, d);
		assert_int_equal(m.completed[d], MANY);
		assert_int_equal(m.most[d], RN_RD_ATOMIC_MAX);
		memcpy(&count, m.counter[d]->data, sizeof(count));
		assert_int_equal(count, MANY / 2);
	}
	pair_free(m.p);
}

static void as_many_as_can_be_are_under_way_in_both_directions(void **state)
{
	(void)state;
	run_many(&(struct pair_cfg){ .mtu_max = 1024 }, NULL);
	run_many(&(struct pair_cfg){ .mtu_max = 1024, .mem_delay = 3000 }, NULL);
}

/* Each atomic is executed once whatever is lost: its answer is kept until no duplicate
 * can come, which is RN_RD_ATOMIC_MAX requests later.
 */
static void as_many_as_can_be_survive_loss_and_disorder(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		const struct pair_faults faults = { .seed = seed,
						    .loss = seed % 4 * 100,
						    .duplicate = seed % 3 * 200,
						    .reorder = seed % 5 * 100 };

		run_many(&(struct pair_cfg){ .mtu_max = 1024,
					     .mem_delay = seed % 2 ? 0 : 2000 },
			 &faults);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_depth_without_room_is_refused_and_changes_nothing),
		cmocka_unit_test(without_any_a_read_is_refused_and_messages_are_not),
		cmocka_unit_test(as_many_are_kept_as_there_is_room_for),
		cmocka_unit_test(what_is_kept_moves_to_larger_memory),
		cmocka_unit_test(an_atomic_under_way_moves_too),
		cmocka_unit_test(reset_keeps_the_memory_and_forgets_what_is_in_it),
		cmocka_unit_test(
			its_own_depth_without_room_is_refused_and_changes_nothing),
		cmocka_unit_test(its_own_that_are_on_the_wire_move_to_larger_memory),
		cmocka_unit_test(as_many_as_can_be_are_under_way_in_both_directions),
		cmocka_unit_test(as_many_as_can_be_survive_loss_and_disorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
