/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_pair_unreliable.c - UC and UD end to end. */
#include "tests/kit/device/pair.h"
#include "transport/qp/qp.h"

enum {
	ALL = RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE,
	BUF = 6 * 4096,
	QKEY = 0x1ee7, /* of pair_attr() */
};

struct link {
	struct pair *p;
	struct pair_qp *a, *b;
	struct pair_mr *ma, *mb;
};

static struct link link_new(const struct pair_cfg *cfg, enum rn_qp_type type)
{
	struct link l = { .p = pair_new(cfg) };
	unsigned far = l.p->cfg.devices - 1;

	l.a = pair_qp_new(l.p, 0, type);
	l.b = pair_qp_new(l.p, far, type);
	l.ma = pair_mr_new(l.p, 0, BUF, ALL);
	l.mb = pair_mr_new(l.p, far, BUF, ALL);
	pair_connect(l.a, l.b);
	for (uint32_t i = 0; i < BUF; i++)
		l.ma->data[i] = (uint8_t)(i * 5 + (i >> 8) + 1);
	return l;
}

static void uc_op(struct link *l, enum rn_wr_opcode op, uint32_t len)
{
	struct rn_sge sge = pair_sge(l->ma, 0, len);
	bool write = op == RN_WR_RDMA_WRITE;
	struct rn_send_wr wr = { .wr_id = 1,
				 .opcode = op,
				 .flags = RN_SEND_SIGNALED,
				 .imm = 0xabcd,
				 .remote_addr = l->mb->mr.va,
				 .rkey = l->mb->mr.lkey,
				 .sg = &sge,
				 .num_sge = 1 };

	memset(l->mb->data, 0xcc, BUF);
	if (!write)
		assert_int_equal(pair_post_recv_mr(l->b, 2, l->mb, 0, BUF), 0);
	assert_int_equal(pair_post_send(l->a, &wr), 0);
	pair_run_until_quiet(l->p);
	pair_expect_wc(l->a->scq, 1, RN_WC_SUCCESS);
	if (!write)
		assert_int_equal(pair_expect_wc(l->b->rcq, 2, RN_WC_SUCCESS).byte_len,
				 len);
	assert_memory_equal(l->mb->data, l->ma->data, len);
	for (uint32_t i = len; i < BUF; i++)
		assert_int_equal(l->mb->data[i], 0xcc);
}

static void uc_data_arrives_at_every_mtu_and_size(void **state)
{
	static const enum rn_wr_opcode ops[] = { RN_WR_SEND, RN_WR_SEND_WITH_IMM,
						 RN_WR_RDMA_WRITE,
						 RN_WR_RDMA_WRITE_WITH_IMM };

	(void)state;
	for (uint32_t k = 0; k < 10; k++) {
		struct pair_cfg cfg = { .mtu_max = 256u << k / 2,
					.mem_delay = k % 2 * 9000 };
		struct link l = link_new(&cfg, RN_QPT_UC);
		uint32_t mtu = cfg.mtu_max;

		for (unsigned o = 0; o < RN_ARRAY_SIZE(ops); o++)
			for (uint32_t n = 0; n <= 5; n++) {
				uc_op(&l, ops[o], n * mtu);
				uc_op(&l, ops[o], n * mtu + 3);
			}
		pair_free(l.p);
	}
}

static void ud_send(struct link *l, uint32_t len)
{
	struct rn_sge sge = pair_sge(l->ma, 0, len);
	struct rn_av av = { .dgid = l->p->gid[l->b->dev],
			    .hop_limit = 9,
			    .tclass = 0x20 };
	struct rn_send_wr wr = { .wr_id = 1,
				 .opcode = RN_WR_SEND_WITH_IMM,
				 .flags = RN_SEND_SIGNALED,
				 .imm = 0xabcd,
				 .av = &av,
				 .remote_qpn = l->b->qpn,
				 .remote_qkey = QKEY,
				 .sg = &sge,
				 .num_sge = 1 };
	struct rn_cqe e;

	assert_int_equal(pair_post_recv_mr(l->b, 2, l->mb, 0, BUF), 0);
	assert_int_equal(pair_post_send(l->a, &wr), 0);
	pair_run_until_quiet(l->p);
	pair_expect_wc(l->a->scq, 1, RN_WC_SUCCESS);
	e = pair_expect_wc(l->b->rcq, 2, RN_WC_SUCCESS);
	assert_int_equal(e.byte_len, RN_GRH_LEN + len);
	assert_int_equal(e.src_qpn, l->a->qpn);
	assert_int_equal(e.imm, 0xabcd);
	assert_int_equal(pair_cqe_flags(&e), RN_WC_GRH | RN_WC_WITH_IMM);
	assert_memory_equal(l->mb->data + RN_GRH_LEN, l->ma->data, len);
}

static void ud_data_arrives_behind_its_ip_header(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned slow = 0; slow < 2; slow++) {
			struct pair_cfg cfg = { .mtu_max = 1024,
						.ipv6 = v6,
						.mem_delay = slow * 9000 };
			struct link l = link_new(&cfg, RN_QPT_UD);
			const uint8_t *grh = l.mb->data;

			for (uint32_t len = 0; len <= 1024; len += 128)
				ud_send(&l, len);
			if (v6) {
				assert_int_equal(grh[0] >> 4, 6);
				assert_int_equal(grh[6], 17);
				assert_int_equal(grh[7], 9);
				assert_memory_equal(grh + 8, l.p->gid[0].raw, 16);
				assert_memory_equal(grh + 24, l.p->gid[1].raw, 16);
			} else {
				assert_int_equal(grh[20], 0x45);
				assert_int_equal(grh[21], 0x20);
				assert_int_equal(grh[28], 9);
				assert_memory_equal(grh + 32, l.p->gid[0].raw + 12, 4);
				assert_memory_equal(grh + 36, l.p->gid[1].raw + 12, 4);
			}
			pair_free(l.p);
		}
}

/* C10-93.1.1. */
static void ud_message_over_the_mtu_completes_and_is_not_sent(void **state)
{
	struct link l = link_new(&(struct pair_cfg){ .mtu_max = 256 }, RN_QPT_UD);
	struct rn_sge sge = pair_sge(l.ma, 0, 257);
	struct rn_av av = { .dgid = l.p->gid[1] };
	struct rn_send_wr wr = { .wr_id = 1,
				 .opcode = RN_WR_SEND,
				 .flags = RN_SEND_SIGNALED,
				 .av = &av,
				 .remote_qpn = l.b->qpn,
				 .sg = &sge,
				 .num_sge = 1 };

	(void)state;
	assert_int_equal(pair_post_send(l.a, &wr), 0);
	pair_expect_wc(l.a->scq, 1, RN_WC_SUCCESS);
	assert_int_equal(l.p->record_count, 0);
	pair_free(l.p);
}

/* UC over a bad wire: what arrives is whole, in order, and never twice in one receive. */
static void uc_messages_are_lost_whole_or_not_at_all(void **state)
{
	struct link l = link_new(&(struct pair_cfg){ .mtu_max = 256 }, RN_QPT_UC);
	uint64_t sent = 0, received = 0;
	struct rn_cqe e;

	(void)state;
	pair_set_faults(l.p, &(struct pair_faults){ .seed = 5, .loss = 500 });
	for (unsigned i = 0; i < 500; i++) {
		struct rn_sge sge = pair_sge(l.ma, (uint32_t)(sent * 64), 1000);
		struct rn_send_wr wr = { .wr_id = sent,
					 .opcode = RN_WR_SEND_WITH_IMM,
					 .imm = (uint32_t)sent,
					 .sg = &sge,
					 .num_sge = 1 };

		pair_post_recv_mr(l.b, sent, l.mb, 0, 1024);
		assert_int_equal(pair_post_send(l.a, &wr), 0);
		sent = (sent + 1) % 256;
		pair_run_until_quiet(l.p);
		if (!pair_poll(l.b->rcq, &e))
			continue;
		assert_int_equal(pair_cqe_status(&e), RN_WC_SUCCESS);
		assert_int_equal(e.byte_len, 1000);
		assert_int_equal(e.imm, (sent + 255) % 256);
		assert_memory_equal(l.mb->data, l.ma->data + e.imm * 64, 1000);
		received++;
	}
	assert_in_range(received, 300, 450); /* 0.95^4 of 500, less resynchronisation */
	pair_free(l.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uc_data_arrives_at_every_mtu_and_size),
		cmocka_unit_test(ud_data_arrives_behind_its_ip_header),
		cmocka_unit_test(ud_message_over_the_mtu_completes_and_is_not_sent),
		cmocka_unit_test(uc_messages_are_lost_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
