/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_inject.c - another user of this host, who knows all that can be known about a
 * connection, or all but some bits of a number, sends into it. With ROCIN_NEIGHBOURS=all
 * that succeeds; otherwise nothing of it counts.
 */
#include <stdio.h>
#include <unistd.h>

#include "forger.h"
#include "other_end.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	PSN = 0xfffffe, /* with which queue pairs of the kit begin */
	GREETINGS = 4,
	LENGTH = 16,
	FOREIGN = 0xee,	   /* the attacker's bytes */
	UNKNOWN_BITS = 10, /* of a PSN */
	ROUNDS = 3, /* in which each guess is tried once; some packets find no room */
};

static bool succeeds, is_local;

/* A connection: this end, and the other one. */
static struct {
	struct kit *kit;
	struct ibv_qp *qp;
	struct other_end other;
	uint32_t psn; /* of the next request, and of the other end's as well */
} c;

/* ---- The connection ---- */

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){ .wr_id = 7,
				     .sg_list = sge,
				     .num_sge = 1,
				     .opcode = opcode,
				     .send_flags = IBV_SEND_SIGNALED,
				     .wr.rdma = { .remote_addr = c.other.va + LENGTH,
						  .rkey = c.other.rkey } };
}

static void write_something(void)
{
	struct ibv_sge sge = kit_sge(c.kit, 0, 0, LENGTH);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge);

	kit_post_send(c.qp, &wr);
	kit_expect(c.kit->cq, wr.wr_id, IBV_WC_RDMA_WRITE);
	c.psn = (c.psn + 1) & RN_PSN_MASK;
}

/* Return: packets that the two ends have sent each other through shared memory. */
static unsigned long through_shared_memory(void)
{
	unsigned long count = 0;
	char line[256];
	FILE *f = popen("rocin stat --json", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "\"local_sent_pkts\": ");

		if (at)
			count += strtoul(at + strlen("\"local_sent_pkts\": "), NULL, 10);
	}
	assert_int_equal(pclose(f), 0);
	return count;
}

/* So that a request waits for half a minute for an end that is stopped. */
static void to_rts_with_patience(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = PSN,
				    .timeout = 20, /* 4.3 s */
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 4 };

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static int connect_ends(void **state)
{
	int rc = kit_setup(state);

	if (rc)
		return rc;
	c.kit = *state;
	c.other = other_end_create(IBV_QPT_RC);
	c.qp = kit_create_qp(c.kit, IBV_QPT_RC);
	c.psn = PSN;
	kit_to_init(c.qp);
	kit_to_rtr(c.kit, c.qp, c.other.qpn);
	to_rts_with_patience(c.qp);
	other_end_connect(c.qp->qp_num);
	for (unsigned i = 0; i < GREETINGS; i++)
		write_something();
	while (is_local && through_shared_memory() == 0)
		write_something();
	return 0;
}

static int disconnect_ends(void **state)
{
	assert_int_equal(ibv_destroy_qp(c.qp), 0);
	other_end_destroy();
	return kit_teardown(state);
}

/* Lets both ends take what has arrived. */
static void look(void)
{
	struct ibv_wc wc;

	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(ibv_poll_cq(c.kit->cq, 0, &wc), 0);
		usleep(100);
	}
}

/* ---- Forged packets ---- */

static uint8_t *begin_packet(struct forgery *f, uint8_t opcode, uint32_t qpn,
			     uint32_t psn)
{
	const struct rn_bth bth = {
		.opcode = opcode, .pkey = 0xffff, .dest_qpn = qpn, .psn = rn_psn(psn)
	};

	memset(f, 0, sizeof(*f));
	memcpy(f->src.raw, c.kit->gid.raw, sizeof(f->src.raw));
	f->dst = f->src;
	return rn_bth_emit(f->pkt, &bth);
}

static void end_packet(struct forgery *f, const uint8_t *end)
{
	f->len = (size_t)(end - f->pkt) + RN_ICRC_LEN;
}

static void forge_write(struct forgery *f, uint32_t psn)
{
	const struct rn_reth reth = { .va = c.other.va,
				      .rkey = c.other.rkey,
				      .dma_len = LENGTH };
	uint8_t *p = begin_packet(f, RN_RC_WRITE_ONLY, c.other.qpn, psn);

	p = rn_reth_emit(p, &reth);
	memset(p, FOREIGN, LENGTH);
	end_packet(f, p + LENGTH);
}

static void forge_ack(struct forgery *f, uint8_t syndrome, uint32_t psn)
{
	const struct rn_aeth aeth = { .syndrome = syndrome };
	uint8_t *p = begin_packet(f, RN_RC_ACK, c.qp->qp_num, psn);

	end_packet(f, rn_aeth_emit(p, &aeth));
}

static void sweep_psn(struct forgery *f)
{
	f->at = 9;
	f->bytes = 3;
	f->bits = UNKNOWN_BITS;
	f->pkt[11] ^= 0x80; /* not the true one to begin with */
}

/* ---- Data ---- */

static void data_is_written_into_a_connection(void **state)
{
	struct forgery f;

	(void)state;
	forge_write(&f, c.psn);
	forger_send(&f);
	if (!succeeds) {
		look();
		write_something();
		assert_int_equal(other_end_look().byte, 0);
		return;
	}
	while (other_end_look().byte != FOREIGN)
		;
}

/* What is not the next packet is answered by a NAK, which a requester without requests
 * ignores.
 */
static void a_sweep_of_psns_finds_the_next_one(void **state)
{
	struct forgery f;

	(void)state;
	forge_write(&f, c.psn);
	sweep_psn(&f);
	forger_begin(&f);
	while (succeeds ? other_end_look().byte != FOREIGN : forger_rounds() < ROUNDS)
		;
	forger_end();
	if (succeeds)
		return;
	look();
	write_something();
	assert_int_equal(other_end_look().byte, 0);
}

static void a_message_is_received_that_nobody_sent(void **state)
{
	struct forgery f;
	uint8_t *p;

	(void)state;
	other_end_post();
	p = begin_packet(&f, RN_RC_SEND_ONLY, c.other.qpn, c.psn);
	memset(p, FOREIGN, LENGTH);
	end_packet(&f, p + LENGTH);
	forger_send(&f);
	if (!succeeds) {
		look();
		write_something();
		assert_false(other_end_look().is_received);
		return;
	}
	while (!other_end_look().is_received)
		;
	assert_int_equal(other_end_look().byte, FOREIGN);
}

/* The other end, which is stopped, has not even seen the request. */
static void a_read_brings_data_that_nobody_sent(void **state)
{
	const struct rn_aeth aeth = { .syndrome = rn_aeth_syndrome(RN_AETH_ACK, 31) };
	struct ibv_sge sge = kit_sge(c.kit, 1, 0, LENGTH);
	struct ibv_send_wr wr = request(IBV_WR_RDMA_READ, &sge);
	const uint8_t *to = c.kit->buf + KIT_HALF;
	struct forgery f;
	uint8_t *p;

	(void)state;
	other_end_freeze(true);
	kit_post_send(c.qp, &wr);
	p = begin_packet(&f, RN_RC_READ_RESPONSE_ONLY, c.qp->qp_num, c.psn);
	p = rn_aeth_emit(p, &aeth);
	memset(p, FOREIGN, LENGTH);
	end_packet(&f, p + LENGTH);
	forger_send(&f);
	if (!succeeds)
		other_end_freeze(false);
	kit_expect(c.kit->cq, wr.wr_id, IBV_WC_RDMA_READ);
	if (succeeds)
		other_end_freeze(false);
	assert_int_equal(to[0], succeeds ? FOREIGN : 0);
}

/* ---- Acknowledgements ---- */

/* A request that waits for a receive which nobody posts. */
static void post_send_without_receive(void)
{
	struct ibv_sge sge = kit_sge(c.kit, 0, 0, LENGTH);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge);

	kit_post_send(c.qp, &wr);
}

static void expect_end(enum ibv_wc_status status)
{
	if (succeeds)
		assert_int_equal(kit_wait(c.kit->cq).status, status);
	else
		look();
	kit_expect_none(c.kit->cq);
}

static void a_request_is_ended_by_a_nak(void **state)
{
	struct forgery f;

	(void)state;
	post_send_without_receive();
	forge_ack(&f, rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_INVALID_REQ), c.psn);
	forger_send(&f);
	expect_end(IBV_WC_REM_INV_REQ_ERR);
}

static void a_sweep_of_naks_ends_a_request(void **state)
{
	struct forgery f;

	(void)state;
	post_send_without_receive();
	forge_ack(&f, rn_aeth_syndrome(RN_AETH_NAK, RN_NAK_INVALID_REQ), c.psn);
	sweep_psn(&f);
	forger_begin(&f);
	if (succeeds)
		assert_int_equal(kit_wait(c.kit->cq).status, IBV_WC_REM_INV_REQ_ERR);
	while (!succeeds && forger_rounds() < ROUNDS)
		look();
	forger_end();
	look();
	kit_expect_none(c.kit->cq);
}

/* The message is lost, and its sender does not know. */
static void a_request_is_completed_by_an_ack(void **state)
{
	struct forgery f;

	(void)state;
	post_send_without_receive();
	forge_ack(&f, rn_aeth_syndrome(RN_AETH_ACK, 31), c.psn);
	forger_send(&f);
	expect_end(IBV_WC_SUCCESS);
}

int main(void)
{
#define ONE(f) cmocka_unit_test_setup_teardown(f, connect_ends, disconnect_ends)
	const struct CMUnitTest tests[] = {
		ONE(data_is_written_into_a_connection),
		ONE(a_sweep_of_psns_finds_the_next_one),
		ONE(a_message_is_received_that_nobody_sent),
		ONE(a_read_brings_data_that_nobody_sent),
		ONE(a_request_is_ended_by_a_nak),
		ONE(a_sweep_of_naks_ends_a_request),
		ONE(a_request_is_completed_by_an_ack),
	};
	const char *who = getenv("ROCIN_NEIGHBOURS"), *local = getenv("ROCIN_TEST_LOCAL");
	int failed;

	if (forger_start()) {
		printf("skipped: becoming another user needs root\n");
		return 77;
	}
	succeeds = who && strcmp(who, "all") == 0;
	is_local = local && strcmp(local, "off") != 0;
	if (local)
		setenv("ROCIN_LOCAL", local, 1);
	assert_int_equal(other_end_start(), 0);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	other_end_stop();
	forger_stop();
	return failed;
}
