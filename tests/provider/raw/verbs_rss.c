/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_rss.c - distribution of received frames to several receive work queues.
 *
 * Needs an interface as verbs_raw.c does.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/raw_kit.h"

enum {
	PORT = 4001,
	WQS = 4,
	LOG_ENTRIES = 3,
	ENTRIES = 1 << LOG_ENTRIES,
	IP_SRC = 14 + 12, /* offset in the frame */
	FLOWS = 64,
};

/* The key for which Microsoft's documentation gives hashes. */
static uint8_t key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* Entry i of the indirection table is work queue order[i]. */
static const unsigned order[ENTRIES] = { 0, 1, 2, 3, 3, 2, 1, 0 };

struct spread {
	struct kit *k;
	struct ibv_wq *wq[WQS];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *sender, *qp;
	struct ibv_flow *flow;
};

static void ready(struct ibv_wq *wq)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE,
				    .wq_state = IBV_WQS_RDY };

	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
}

static struct ibv_qp_init_attr_ex qp_attr(const struct spread *s, uint64_t fields)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = s->k->pd,
		.rwq_ind_tbl = s->table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask = fields },
	};
}

static struct spread begin(struct kit *k, uint64_t fields)
{
	struct spread s = { .k = k, .sender = raw_qp(k) };
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
					 .max_wr = KIT_WR,
					 .max_sge = 1,
					 .pd = k->pd,
					 .cq = k->cq };
	struct ibv_wq *entry[ENTRIES];
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = LOG_ENTRIES,
						     .ind_tbl = entry };
	struct ibv_qp_init_attr_ex init;

	for (unsigned i = 0; i < WQS; i++) {
		s.wq[i] = ibv_create_wq(k->ctx, &attr);
		assert_non_null(s.wq[i]);
		ready(s.wq[i]);
	}
	for (unsigned i = 0; i < ENTRIES; i++)
		entry[i] = s.wq[order[i]];
	s.table = ibv_create_rwq_ind_table(k->ctx, &table);
	assert_non_null(s.table);
	init = qp_attr(&s, fields);
	s.qp = ibv_create_qp_ex(k->ctx, &init);
	if (!s.qp)
		fail_msg("ibv_create_qp_ex: errno %d", errno);
	s.flow = raw_flow_port(s.qp, PORT);
	return s;
}

static void end(struct spread *s)
{
	raw_flow_end(s->flow);
	assert_int_equal(ibv_destroy_qp(s->qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(s->table), 0);
	for (unsigned i = 0; i < WQS; i++)
		assert_int_equal(ibv_destroy_wq(s->wq[i]), 0);
	raw_end(s->sender);
}

/* Posts a receive to work queue @n. Its memory is slot @n of side 1. */
static void post(const struct spread *s, unsigned n, uint32_t len)
{
	struct ibv_sge sge = kit_sge(s->k, 1, n * RAW_SLOT, len);
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_wq_recv(s->wq[n], &wr, &bad), 0);
}

static void post_all(const struct spread *s)
{
	for (unsigned i = 0; i < WQS; i++)
		post(s, i, RAW_SLOT);
}

/* Sends the frame at the start of side 0. Returns the number of the work queue that
 * received it, to which a new receive was posted.
 */
static unsigned which(const struct spread *s)
{
	struct ibv_wc wc;

	raw_send(s->k, s->sender, RAW_LEN);
	wc = kit_wait(s->k->cq);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, RAW_LEN);
	assert_true(wc.wr_id < WQS);
	assert_int_equal(wc.qp_num, s->wq[wc.wr_id]->wq_num);
	assert_memory_equal(s->k->buf + KIT_HALF + wc.wr_id * RAW_SLOT, s->k->buf,
			    RAW_LEN);
	kit_expect_none(s->k->cq);
	post(s, (unsigned)wc.wr_id, RAW_SLOT);
	return (unsigned)wc.wr_id;
}

static void set_addresses(struct kit *k, const uint8_t src_dst[8])
{
	memcpy(k->buf + IP_SRC, src_dst, 8);
}

/* ---------------------------------------------------------------------- spreading */
static void frames_are_spread_and_flows_stay_together(void **state)
{
	struct kit *k = *state;
	struct spread s = begin(k, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
	unsigned queue[FLOWS], count[WQS] = { 0 };

	post_all(&s);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < FLOWS; i++) {
			unsigned n;

			raw_write_frame(k, PORT, RAW_LEN, (uint8_t)(i + round));
			k->buf[IP_SRC + 3] = (uint8_t)i;
			n = which(&s);
			assert_true(round == 0 || queue[i] == n);
			queue[i] = n;
			count[n]++;
		}
	}
	for (unsigned i = 0; i < WQS; i++)
		assert_true(count[i] >= FLOWS / 8);
	end(&s);
}

/* The hashes that Microsoft's documentation gives for addresses without ports. They do
 * not depend on the protocol.
 */
static void the_hash_is_the_one_that_is_published(void **state)
{
	static const struct {
		uint8_t src_dst[8];
		uint32_t hash;
	} answers[] = {
		{ { 66, 9, 149, 187, 161, 142, 100, 80 }, 0x323e8fc2 },
		{ { 199, 92, 111, 2, 65, 69, 140, 83 }, 0xd718262a },
		{ { 24, 19, 198, 95, 12, 22, 207, 184 }, 0xd2d0a5de },
		{ { 38, 27, 205, 30, 209, 142, 163, 6 }, 0x82989176 },
		{ { 153, 39, 163, 191, 202, 188, 127, 2 }, 0x5d1809c5 },
	};
	struct kit *k = *state;
	struct spread s = begin(k, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);

	post_all(&s);
	for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		raw_write_frame(k, PORT, RAW_LEN, 1);
		set_addresses(k, answers[i].src_dst);
		assert_int_equal(which(&s), order[answers[i].hash % ENTRIES]);
	}
	end(&s);
}

static void only_the_wanted_fields_count(void **state)
{
	struct kit *k = *state;
	struct spread s = begin(k, IBV_RX_HASH_SRC_PORT_UDP);
	unsigned first, others = 0;

	post_all(&s);
	raw_write_frame(k, PORT, RAW_LEN, 1);
	first = which(&s);
	for (unsigned i = 0; i < FLOWS; i++) {
		raw_write_frame(k, PORT, RAW_LEN, 1);
		k->buf[IP_SRC + 3] = (uint8_t)i;
		assert_int_equal(which(&s), first);
		k->buf[IP_SRC + 9] = (uint8_t)i; /* low byte of the UDP source port */
		others += which(&s) != first;
	}
	assert_true(others >= FLOWS / 4);
	end(&s);
}

static void without_fields_the_first_entry_gets_all(void **state)
{
	static const uint64_t fields[] = { 0, IBV_RX_HASH_SRC_IPV6,
					   IBV_RX_HASH_DST_PORT_TCP };
	struct kit *k = *state;

	for (unsigned f = 0; f < sizeof(fields) / sizeof(fields[0]); f++) {
		struct spread s = begin(k, fields[f]);

		post_all(&s);
		for (unsigned i = 0; i < 8; i++) {
			raw_write_frame(k, PORT, RAW_LEN, (uint8_t)i);
			k->buf[IP_SRC + 3] = (uint8_t)i;
			assert_int_equal(which(&s), order[0]);
		}
		end(&s);
	}
}

static void a_frame_wakes_who_waits(void **state)
{
	struct kit *k = *state;
	struct spread s = begin(k, 0);
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	post_all(&s);
	raw_write_frame(k, PORT, RAW_LEN, 1);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	assert_int_equal(ibv_poll_cq(k->cq, 1, &wc), 0);
	raw_send(k, s.sender, RAW_LEN);
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	assert_ptr_equal(cq, k->cq);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(kit_wait(k->cq).qp_num, s.wq[order[0]]->wq_num);
	end(&s);
}

static void a_queue_in_error_loses_its_share_alone(void **state)
{
	struct kit *k = *state;
	struct spread s = begin(k, IBV_RX_HASH_SRC_IPV4);
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE,
				    .wq_state = IBV_WQS_RESET };
	struct ibv_wc wc;
	unsigned n, other;

	post_all(&s);
	raw_write_frame(k, PORT, RAW_LEN, 1);
	n = which(&s);
	/* A receive that is too short moves its work queue to the error state. */
	assert_int_equal(ibv_modify_wq(s.wq[n], &attr), 0);
	ready(s.wq[n]);
	post(&s, n, RAW_LEN - 1);
	raw_send(k, s.sender, RAW_LEN);
	wc = kit_wait(k->cq);
	assert_int_equal(wc.wr_id, n);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	attr.wq_state = IBV_WQS_RDY;
	assert_int_equal(ibv_modify_wq(s.wq[n], &attr), EINVAL);

	/* dropped, because the work queue is in the error state */
	raw_send(k, s.sender, RAW_LEN);
	for (unsigned i = 0; i < FLOWS; i++) {
		uint8_t before = k->buf[IP_SRC + 3];

		k->buf[IP_SRC + 3] = (uint8_t)(before + 1);
		raw_send(k, s.sender, RAW_LEN);
	}
	for (other = n; other == n;)
		other = (unsigned)kit_wait(k->cq).wr_id;
	attr.wq_state = IBV_WQS_RESET;
	assert_int_equal(ibv_modify_wq(s.wq[n], &attr), 0);
	ready(s.wq[n]);
	end(&s);
}

/* ------------------------------------------------------------------------ refusals */
static void refuse(const struct spread *s, struct ibv_qp_init_attr_ex *attr, int why)
{
	errno = 0;
	assert_null(ibv_create_qp_ex(s->k->ctx, attr));
	assert_int_equal(errno, why);
}

static void hashes_that_cannot_be_are_refused(void **state)
{
	struct spread s = begin(*state, 0);
	struct ibv_qp_init_attr_ex a;

	a = qp_attr(&s, IBV_RX_HASH_IPSEC_SPI);
	refuse(&s, &a, EOPNOTSUPP);
	a = qp_attr(&s, IBV_RX_HASH_INNER | IBV_RX_HASH_SRC_IPV4);
	refuse(&s, &a, EOPNOTSUPP);
	a = qp_attr(&s, 0), a.rx_hash_conf.rx_hash_function = 2;
	refuse(&s, &a, EOPNOTSUPP);
	a = qp_attr(&s, 0), a.rx_hash_conf.rx_hash_key_len = 39;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.rx_hash_conf.rx_hash_key = NULL;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV6);
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP);
	refuse(&s, &a, EINVAL);
	end(&s);
}

static void queue_pairs_that_cannot_spread_are_refused(void **state)
{
	struct kit *k = *state;
	struct spread s = begin(k, 0);
	struct ibv_qp_init_attr_ex a;

	a = qp_attr(&s, 0), a.qp_type = IBV_QPT_UD;
	refuse(&s, &a, EOPNOTSUPP);
	a = qp_attr(&s, 0), a.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_RX_HASH;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_IND_TABLE;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.rwq_ind_tbl = NULL;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.pd = NULL;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.send_cq = k->cq;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.cap.max_recv_wr = 1;
	refuse(&s, &a, EINVAL);
	a = qp_attr(&s, 0), a.send_ops_flags = IBV_QP_EX_WITH_SEND;
	a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	refuse(&s, &a, EOPNOTSUPP);
	end(&s);
}

static void it_has_no_queues_and_no_states(void **state)
{
	struct kit *k = *state;
	struct spread s = begin(k, 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;

	assert_int_equal(ibv_modify_qp(s.qp, &attr, IBV_QP_STATE | IBV_QP_PORT),
			 EOPNOTSUPP);
	assert_int_equal(ibv_query_qp(s.qp, &attr, IBV_QP_STATE, &init), EOPNOTSUPP);
	assert_int_equal(ibv_post_recv(s.qp, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(s.qp, &send, &bad_send), EINVAL);
	end(&s);
}

static void what_is_in_use_cannot_go(void **state)
{
	struct spread s = begin(*state, 0);

	/* because a flow rule refers to it */
	assert_int_equal(ibv_destroy_qp(s.qp), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(s.table), EBUSY);
	assert_int_equal(ibv_destroy_wq(s.wq[3]), EBUSY);
	end(&s);
}

static void a_child_of_fork_only_frees(void **state)
{
	struct spread s = begin(*state, 0);
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct ibv_qp_init_attr_ex a = qp_attr(&s, 0);
		bool ok = !ibv_create_qp_ex(s.k->ctx, &a) && errno == EIO;

		ok = ok && ibv_destroy_wq(s.wq[0]) == 0;
		ok = ok && ibv_destroy_rwq_ind_table(s.table) == 0;
		ok = ok && ibv_destroy_qp(s.qp) == 0;
		_exit(ok ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	post_all(&s);
	raw_write_frame(s.k, PORT, RAW_LEN, 1);
	assert_int_equal(which(&s), order[0]);
	end(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_are_spread_and_flows_stay_together),
		TEST(the_hash_is_the_one_that_is_published),
		TEST(only_the_wanted_fields_count),
		TEST(without_fields_the_first_entry_gets_all),
		TEST(a_frame_wakes_who_waits),
		TEST(a_queue_in_error_loses_its_share_alone),
		TEST(hashes_that_cannot_be_are_refused),
		TEST(queue_pairs_that_cannot_spread_are_refused),
		TEST(it_has_no_queues_and_no_states),
		TEST(what_is_in_use_cannot_go),
		TEST(a_child_of_fork_only_frees),
	};

	raw_need_privilege();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
