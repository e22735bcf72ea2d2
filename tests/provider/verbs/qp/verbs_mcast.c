/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_mcast.c - UD multicast inside one process: which QPs receive a copy. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/provider/kit/verbs_kit.h"

enum {
	MCAST_QPN = 0xffffff,
	QPS = 3,
	GRH_LEN = 40,
	SLOT = 256, /* length of a receive in bytes */
	LEN = 100,
	MARK = 0x5a5a,
};

static struct ibv_qp *ud_qp(struct kit *k)
{
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);

	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	return qp;
}

static struct ibv_ah *ah_of(struct kit *k, const union ibv_gid *dgid)
{
	struct ibv_ah_attr attr = kit_address(k);
	struct ibv_ah *ah;

	attr.grh.dgid = *dgid;
	ah = ibv_create_ah(k->pd, &attr);
	assert_non_null(ah);
	return ah;
}

/* Posts a receive with @wr_id to slot @wr_id of the second half of the buffer. */
static void post_recv(struct kit *k, struct ibv_qp *qp, unsigned wr_id)
{
	kit_post_recv(k, qp, wr_id, kit_sge(k, 1, wr_id * SLOT, SLOT));
}

static const uint8_t *slot_of(const struct kit *k, unsigned wr_id)
{
	return k->buf + KIT_HALF + (size_t)wr_id * SLOT;
}

static void post_send(struct kit *k, struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn,
		      uint32_t qkey, unsigned flags)
{
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_send_wr wr = {
		.wr_id = MARK,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey }
	};

	kit_post_send(qp, &wr);
}

static void send_to(struct kit *k, struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn,
		    uint32_t qkey)
{
	post_send(k, qp, ah, qpn, qkey, IBV_SEND_SIGNALED);
}

static void send_quietly(struct kit *k, struct ibv_qp *qp, struct ibv_ah *ah)
{
	post_send(k, qp, ah, MCAST_QPN, KIT_QKEY, 0);
}

/* Waits for the completions of the send and of the receives in @expected (a mask of
 * wr_ids).
 */
static void expect_copies(struct kit *k, unsigned expected, const union ibv_gid *group)
{
	bool sent = false;

	while (expected || !sent) {
		struct ibv_wc wc = kit_wait(k->cq);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == MARK) {
			assert_false(sent);
			sent = true;
			continue;
		}
		assert_true(expected & 1u << wc.wr_id);
		expected &= ~(1u << wc.wr_id);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, GRH_LEN + LEN);
		assert_true(wc.wc_flags & IBV_WC_GRH);
		assert_memory_equal(slot_of(k, (unsigned)wc.wr_id) + GRH_LEN, k->buf,
				    LEN);
		assert_memory_equal(slot_of(k, (unsigned)wc.wr_id) + GRH_LEN - 4,
				    group->raw + 12, 4);
	}
}

struct party {
	struct ibv_qp *qp[QPS];
	union ibv_gid group;
	struct ibv_ah *ah;
};

static void open_party(struct kit *k, struct party *p)
{
	p->group = kit_group(0);
	p->ah = ah_of(k, &p->group);
	for (unsigned i = 0; i < QPS; i++)
		p->qp[i] = ud_qp(k);
	for (unsigned i = 0; i < LEN; i++)
		k->buf[i] = (uint8_t)(i * 7 + 1);
}

static void close_party(struct party *p)
{
	for (unsigned i = 0; i < QPS; i++) {
		int rc = ibv_detach_mcast(p->qp[i], &p->group, 0);

		assert_true(rc == 0 || rc == EINVAL);
		assert_int_equal(ibv_destroy_qp(p->qp[i]), 0);
	}
	assert_int_equal(ibv_destroy_ah(p->ah), 0);
}

static void attach(struct party *p, unsigned i)
{
	assert_int_equal(ibv_attach_mcast(p->qp[i], &p->group, 0), 0);
}

/* To show that a QP received no copy of the first packet, a second packet follows on the
 * same path. All members receive it, in the receives that are still free.
 */
static void each_attached_qp_gets_one_copy_the_sender_included(void **state)
{
	struct kit *k = *state;
	struct party p;

	open_party(k, &p);
	attach(&p, 0);
	attach(&p, 1);
	for (unsigned i = 0; i < QPS; i++) {
		post_recv(k, p.qp[i], 2 * i);
		post_recv(k, p.qp[i], 2 * i + 1);
	}
	send_to(k, p.qp[0], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0 | 1u << 2, &p.group);
	attach(&p, 2);
	send_to(k, p.qp[0], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 1 | 1u << 3 | 1u << 4, &p.group);
	kit_expect_none(k->cq);
	close_party(&p);
}

static void a_sender_that_is_not_attached_gets_none(void **state)
{
	struct kit *k = *state;
	struct party p;

	open_party(k, &p);
	attach(&p, 1);
	post_recv(k, p.qp[0], 0);
	post_recv(k, p.qp[1], 1);
	send_to(k, p.qp[0], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 1, &p.group);
	kit_expect_none(k->cq);
	close_party(&p);
}

static void a_wrong_qkey_and_a_full_queue_cost_only_that_qp_its_copy(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_attr other = { .qkey = KIT_QKEY + 1 };
	struct party p;

	open_party(k, &p);
	for (unsigned i = 0; i < QPS; i++)
		attach(&p, i);
	assert_int_equal(ibv_modify_qp(p.qp[0], &other, IBV_QP_QKEY), 0);
	post_recv(k, p.qp[0], 0);
	post_recv(k, p.qp[2], 4);
	post_recv(k, p.qp[2], 5);
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 4, &p.group);
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 5, &p.group);
	/* This Q_Key is valid only for the first QP. */
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY + 1);
	expect_copies(k, 1u << 0, &p.group);
	kit_expect_none(k->cq);
	close_party(&p);
}

static void after_detaching_no_copies_come(void **state)
{
	struct kit *k = *state;
	struct party p;

	open_party(k, &p);
	attach(&p, 0);
	attach(&p, 1);
	for (unsigned i = 0; i < 2; i++)
		post_recv(k, p.qp[i], i);
	assert_int_equal(ibv_detach_mcast(p.qp[0], &p.group, 0), 0);
	send_to(k, p.qp[0], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 1, &p.group);
	assert_int_equal(ibv_detach_mcast(p.qp[1], &p.group, 0), 0);
	assert_int_equal(ibv_detach_mcast(p.qp[1], &p.group, 0), EINVAL);
	/* Attaching again joins the group again. */
	attach(&p, 0);
	send_to(k, p.qp[0], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0, &p.group);
	kit_expect_none(k->cq);
	close_party(&p);
}

static void a_qpn_of_its_own_is_reached_by_the_group_address(void **state)
{
	struct kit *k = *state;
	struct party p;

	open_party(k, &p);
	attach(&p, 0);
	for (unsigned i = 0; i < QPS; i++)
		post_recv(k, p.qp[i], i);
	send_to(k, p.qp[0], p.ah, p.qp[2]->qp_num, KIT_QKEY);
	expect_copies(k, 1u << 2, &p.group);
	kit_expect_none(k->cq);
	close_party(&p);
}

static void groups_of_two_contexts_are_both_served(void **state)
{
	struct kit *k = *state, *other = NULL;
	struct party p;
	struct ibv_qp *qp;

	assert_int_equal(kit_setup((void **)&other), 0);
	open_party(k, &p);
	qp = ud_qp(other);
	attach(&p, 0);
	assert_int_equal(ibv_attach_mcast(qp, &p.group, 0), 0);
	post_recv(k, p.qp[0], 0);
	post_recv(other, qp, 1);
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0, &p.group);
	kit_expect(other->cq, 1, IBV_WC_RECV);
	assert_memory_equal(slot_of(other, 1) + GRH_LEN, k->buf, LEN);
	/* The QP of one context is detached; that of the other context stays attached. */
	assert_int_equal(ibv_detach_mcast(qp, &p.group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(kit_teardown((void **)&other), 0);
	post_recv(k, p.qp[0], 0);
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0, &p.group);
	close_party(&p);
}

/* Both members use the same SRQ, and each takes one receive from it. */
static void members_with_a_shared_receive_queue_take_a_receive_each(void **state)
{
	struct kit *k = *state;
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &srq_attr);
	struct ibv_qp_init_attr attr = {
		.send_cq = k->cq, .recv_cq = k->cq, .srq = srq, .qp_type = IBV_QPT_UD
	};
	struct ibv_qp *member[2];
	struct party p;

	assert_non_null(srq);
	open_party(k, &p);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_sge sge = kit_sge(k, 1, i * SLOT, SLOT);
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
		struct ibv_recv_wr *bad;

		member[i] = ibv_create_qp(k->pd, &attr);
		assert_non_null(member[i]);
		kit_to_init(member[i]);
		kit_to_rts(k, member[i], 0);
		assert_int_equal(ibv_attach_mcast(member[i], &p.group, 0), 0);
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	}
	send_to(k, p.qp[0], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0 | 1u << 1, &p.group);
	kit_expect_none(k->cq);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ibv_detach_mcast(member[i], &p.group, 0), 0);
		assert_int_equal(ibv_destroy_qp(member[i]), 0);
	}
	close_party(&p);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void a_request_built_by_calls_reaches_the_group(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.recv_cq = k->cq,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct ibv_qp *sender = ibv_create_qp_ex(k->ctx, &attr);
	struct ibv_sge sge = kit_sge(k, 0, 0, LEN);
	struct ibv_qp_ex *ex;
	struct party p;

	assert_non_null(sender);
	kit_to_init(sender);
	kit_to_rts(k, sender, 0);
	open_party(k, &p);
	attach(&p, 0);
	post_recv(k, p.qp[0], 0);
	ex = ibv_qp_to_qp_ex(sender);
	ibv_wr_start(ex);
	ex->wr_id = MARK;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(ex, 0x12345678);
	ibv_wr_set_ud_addr(ex, p.ah, MCAST_QPN, KIT_QKEY);
	ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_copies(k, 1u << 0, &p.group);
	assert_int_equal(ibv_destroy_qp(sender), 0);
	close_party(&p);
}

/* The background thread waits for packets of the group's socket, too. */
static void a_copy_wakes_a_program_that_sleeps(void **state)
{
	struct kit *k = *state;
	struct ibv_cq *cq = NULL;
	void *context;
	struct party p;

	open_party(k, &p);
	attach(&p, 1);
	for (unsigned round = 0; round < 3; round++) {
		post_recv(k, p.qp[1], 1);
		assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
		kit_expect_none(k->cq);
		send_quietly(k, p.qp[0], p.ah);
		assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
		assert_ptr_equal(cq, k->cq);
		ibv_ack_cq_events(cq, 1);
		kit_expect(k->cq, 1, IBV_WC_RECV);
	}
	close_party(&p);
}

/* ------------------------------------------------------------------ other lives */
/* The child has the parent's structs, but cannot attach or detach, because the device
 * belongs to the parent.
 */
static void in_child(struct party *p)
{
	union ibv_gid another = kit_group(1);
	bool ok = ibv_attach_mcast(p->qp[0], &another, 0) == EIO &&
		  ibv_detach_mcast(p->qp[0], &p->group, 0) == EIO &&
		  ibv_destroy_qp(p->qp[0]) == 0;

	_exit(ok ? 0 : 1);
}

static void a_fork_child_changes_nothing_for_the_parent(void **state)
{
	struct kit *k = *state;
	struct party p;
	int status = -1;
	pid_t child;

	open_party(k, &p);
	attach(&p, 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		in_child(&p);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	post_recv(k, p.qp[0], 0);
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0, &p.group);
	close_party(&p);
}

/* Functions of LeakSanitizer; NULL without it. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

/* Closes a context with an attached QP. The memory of the objects leaks, as with other
 * providers.
 */
static void leave_member_behind(void)
{
	struct ibv_context *ctx = kit_open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_recv_wr = 4, .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_UD };
	union ibv_gid group = kit_group(0);
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void a_context_closes_with_members_left(void **state)
{
	struct kit *k = *state;
	struct party p;

	if (__lsan_disable)
		__lsan_disable();
	leave_member_behind();
	if (__lsan_enable)
		__lsan_enable();
	open_party(k, &p);
	attach(&p, 0);
	post_recv(k, p.qp[0], 0);
	send_to(k, p.qp[1], p.ah, MCAST_QPN, KIT_QKEY);
	expect_copies(k, 1u << 0, &p.group);
	close_party(&p);
}

#define KIT_TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(each_attached_qp_gets_one_copy_the_sender_included),
		KIT_TEST(a_sender_that_is_not_attached_gets_none),
		KIT_TEST(a_wrong_qkey_and_a_full_queue_cost_only_that_qp_its_copy),
		KIT_TEST(after_detaching_no_copies_come),
		KIT_TEST(a_qpn_of_its_own_is_reached_by_the_group_address),
		KIT_TEST(groups_of_two_contexts_are_both_served),
		KIT_TEST(members_with_a_shared_receive_queue_take_a_receive_each),
		KIT_TEST(a_request_built_by_calls_reaches_the_group),
		KIT_TEST(a_copy_wakes_a_program_that_sleeps),
		KIT_TEST(a_fork_child_changes_nothing_for_the_parent),
		KIT_TEST(a_context_closes_with_members_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
