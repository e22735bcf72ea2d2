/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_xrc.c - XRC with public verbs: domains, both kinds of QPs, and data. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "srq_kit.h"

/* Both ends of an XRC connection, in one context. */
struct xrc {
	struct kit *k;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq; /* CQ of the SRQ */
	struct ibv_srq *srq;
	uint32_t srqn;
	struct ibv_qp *ini, *tgt;
};

static struct ibv_xrcd *open_domain(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	return ibv_open_xrcd(ctx, &attr);
}

static struct ibv_srq *new_xrc_srq(struct ibv_pd *pd, struct ibv_xrcd *xrcd,
				   struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 32, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};

	return ibv_create_srq_ex(xrcd->context, &attr);
}

static struct ibv_qp *new_target(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return ibv_create_qp_ex(xrcd->context, &attr);
}

static struct ibv_qp *new_initiator(struct kit *k)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = k->cq,
		.cap = { .max_send_wr = KIT_WR,
			 .max_recv_wr = 5, /* ignored for this type of QP */
			 .max_send_sge = KIT_SGE,
			 .max_inline_data = KIT_INLINE },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = k->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, 0);
	return qp;
}

static struct xrc xrc_new(struct kit *k)
{
	struct xrc x = { .k = k, .xrcd = open_domain(k->ctx, -1, O_CREAT) };

	assert_non_null(x.xrcd);
	x.cq = ibv_create_cq(k->ctx, 64, NULL, NULL, 0);
	assert_non_null(x.cq);
	x.srq = new_xrc_srq(k->pd, x.xrcd, x.cq);
	assert_non_null(x.srq);
	assert_int_equal(ibv_get_srq_num(x.srq, &x.srqn), 0);
	x.tgt = new_target(x.xrcd);
	assert_non_null(x.tgt);
	x.ini = new_initiator(k);
	kit_to_init(x.ini);
	kit_to_init(x.tgt);
	kit_to_rts(k, x.ini, x.tgt->qp_num);
	kit_to_rts(k, x.tgt, x.ini->qp_num);
	return x;
}

static void xrc_free(struct xrc *x)
{
	assert_int_equal(ibv_destroy_qp(x->ini), 0);
	assert_int_equal(ibv_destroy_qp(x->tgt), 0);
	assert_int_equal(ibv_destroy_srq(x->srq), 0);
	assert_int_equal(ibv_destroy_cq(x->cq), 0);
	assert_int_equal(ibv_close_xrcd(x->xrcd), 0);
}

static void send_xrc(struct xrc *x, enum ibv_wr_opcode op, uint32_t len, uint32_t srqn)
{
	struct ibv_sge sge = kit_sge(x->k, 0, 0, len);
	struct ibv_send_wr wr = { .wr_id = 77,
				  .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };

	wr.qp_type.xrc.remote_srqn = srqn;
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)x->k->buf + KIT_HALF;
		wr.wr.atomic.rkey = x->k->mr->rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)x->k->buf + KIT_HALF;
		wr.wr.rdma.rkey = x->k->mr->rkey;
	}
	kit_post_send(x->ini, &wr);
}

/* ----------------------------------------------------------------- XRC domains */
static int new_file(void)
{
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	fd = dup(fileno(f));
	assert_true(fd >= 0);
	assert_int_equal(fclose(f), 0);
	return fd;
}

static void xrc_domains_of_one_file_are_one(void **state)
{
	struct kit *k = *state;
	struct ibv_context *ctx = kit_open_device();
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	int fd = new_file(), copy = dup(fd);
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_xrcd *a, *b, *other;
	struct ibv_qp *qp, *same;

	assert_null(open_domain(k->ctx, fd, 0)); /* fails: the file has no domain yet */
	assert_int_equal(errno, EAGAIN);
	a = open_domain(k->ctx, fd, O_CREAT | O_EXCL);
	assert_non_null(a);
	assert_null(open_domain(ctx, copy, O_CREAT | O_EXCL));
	assert_int_equal(errno, EINVAL);
	b = open_domain(ctx, copy, 0);
	assert_non_null(b);
	other = open_domain(ctx, -1, O_CREAT);
	assert_non_null(other);

	qp = new_target(a);
	assert_non_null(qp);
	open_attr.qp_num = qp->qp_num;
	open_attr.xrcd = other;
	assert_null(ibv_open_qp(ctx, &open_attr));
	assert_int_equal(errno, EINVAL);
	open_attr.xrcd = b;
	same = ibv_open_qp(ctx, &open_attr);
	assert_non_null(same);
	assert_int_equal(ibv_close_xrcd(b), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(a), 0);
	assert_int_equal(ibv_destroy_qp(same), 0);
	assert_int_equal(ibv_close_xrcd(b), 0);
	assert_int_equal(ibv_close_xrcd(other), 0);

	/* fails: the domain ended with its last handle */
	assert_null(open_domain(k->ctx, fd, 0));
	assert_int_equal(errno, EAGAIN);
	close(fd);
	close(copy);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void xrc_domains_are_opened_as_the_manual_says(void **state)
{
	struct kit *k = *state;
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1 };
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;

	assert_null(ibv_open_xrcd(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_RESERVED;
	assert_null(ibv_open_xrcd(k->ctx, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(open_domain(k->ctx, 9999, O_CREAT));
	assert_int_equal(errno, EBADF);
	xrcd = open_domain(k->ctx, -1, O_CREAT);
	assert_non_null(xrcd);
	srq = new_xrc_srq(k->pd, xrcd, k->cq);
	assert_non_null(srq);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_cq(k->cq), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

/* An XRC target QP has no PD. But its struct keeps the PD that the program names, because
 * librdmacm uses it.
 */
static void a_target_qp_is_of_the_context_of_its_domain(void **state)
{
	struct kit *k = *state;
	struct ibv_context *other = kit_open_device();
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = open_domain(k->ctx, -1, O_CREAT),
	};
	struct ibv_qp *qp;

	assert_non_null(attr.xrcd);
	errno = 0;
	assert_null(ibv_create_qp_ex(other, &attr));
	assert_int_equal(errno, EINVAL);
	qp = ibv_create_qp_ex(k->ctx, &attr);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(attr.xrcd), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static void a_target_qp_remembers_a_pd(void **state)
{
	struct kit *k = *state;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD,
		.xrcd = open_domain(k->ctx, -1, O_CREAT),
		.pd = ibv_alloc_pd(k->ctx),
	};
	struct ibv_qp *qp = ibv_create_qp_ex(k->ctx, &attr);

	assert_non_null(qp);
	assert_ptr_equal(qp->pd, attr.pd);
	assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	qp = new_target(attr.xrcd);
	assert_non_null(qp);
	assert_null(qp->pd);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(attr.xrcd), 0);
}

/* ------------------------------------------------------------------------ data */
static void xrc_carries_every_operation(void **state)
{
	struct kit *k = *state;
	struct xrc x = xrc_new(k);
	struct ibv_wc wc;
	uint64_t sum;

	for (unsigned i = 0; i < 2; i++) {
		memset(k->buf, 0x11 + (int)i, 3000);
		assert_int_equal(post_long(k, x.srq, i, 4000), 0);
		send_xrc(&x, IBV_WR_SEND, 3000, x.srqn);
		wc = kit_expect(x.cq, i, IBV_WC_RECV);
		assert_int_equal(wc.qp_num, x.tgt->qp_num);
		assert_int_equal(wc.byte_len, 3000);
		kit_expect(k->cq, 77, IBV_WC_SEND);
		assert_memory_equal(k->buf, k->buf + KIT_HALF, 3000);
	}
	memset(k->buf, 0x22, 3000);
	send_xrc(&x, IBV_WR_RDMA_WRITE, 3000, x.srqn);
	kit_expect(k->cq, 77, IBV_WC_RDMA_WRITE);
	assert_int_equal(post_long(k, x.srq, 5, 4000), 0);
	send_xrc(&x, IBV_WR_RDMA_WRITE_WITH_IMM, 0, x.srqn);
	kit_expect(k->cq, 77, IBV_WC_RDMA_WRITE);
	kit_expect(x.cq, 5, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_memory_equal(k->buf, k->buf + KIT_HALF, 3000);
	memset(k->buf + KIT_HALF, 0x33, 3000);
	send_xrc(&x, IBV_WR_RDMA_READ, 3000, x.srqn);
	kit_expect(k->cq, 77, IBV_WC_RDMA_READ);
	assert_memory_equal(k->buf, k->buf + KIT_HALF, 3000);
	memset(k->buf + KIT_HALF, 0, 8);
	send_xrc(&x, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, x.srqn);
	kit_expect(k->cq, 77, IBV_WC_FETCH_ADD);
	memcpy(&sum, k->buf + KIT_HALF, sizeof(sum));
	assert_int_equal(sum, 5);
	xrc_free(&x);
}

static void xrc_works_with_the_new_way_to_post(void **state)
{
	struct kit *k = *state;
	struct xrc x = xrc_new(k);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(x.ini);

	assert_non_null(ex);
	assert_int_equal(post_long(k, x.srq, 1, 100), 0);
	ibv_wr_start(ex);
	ex->wr_id = 9;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, x.srqn);
	ibv_wr_set_sge(ex, k->mr->lkey, (uintptr_t)k->buf, 100);
	assert_int_equal(ibv_wr_complete(ex), 0);
	kit_expect(k->cq, 9, IBV_WC_SEND);
	kit_expect(x.cq, 1, IBV_WC_RECV);
	xrc_free(&x);
}

static void a_wrong_srq_number_ends_both_qps(void **state)
{
	struct kit *k = *state;
	struct xrc x = xrc_new(k);
	struct ibv_async_event ev;
	unsigned seen = 0;

	send_xrc(&x, IBV_WR_SEND, 8, x.srqn + 1);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_REM_INV_REQ_ERR);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(readable(k->ctx->async_fd, 20000));
		assert_int_equal(ibv_get_async_event(k->ctx, &ev), 0);
		assert_ptr_equal(ev.element.qp, x.tgt);
		seen |= 1u << ev.event_type;
		ibv_ack_async_event(&ev);
	}
	assert_int_equal(seen, 1u << IBV_EVENT_QP_REQ_ERR |
				       1u << IBV_EVENT_QP_LAST_WQE_REACHED);
	kit_expect_none(x.cq);
	xrc_free(&x);
}

static void a_target_qp_may_be_shared(void **state)
{
	struct kit *k = *state;
	struct xrc x = xrc_new(k);
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE | IBV_QP_OPEN_ATTR_CONTEXT,
		.qp_num = x.tgt->qp_num,
		.xrcd = x.xrcd,
		.qp_context = &attr,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr now;
	struct ibv_qp *same;

	attr.qp_type = IBV_QPT_RC;
	assert_null(ibv_open_qp(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.qp_num = x.ini->qp_num;
	assert_null(ibv_open_qp(k->ctx, &attr));
	assert_int_equal(errno, EINVAL);
	attr.qp_num = x.tgt->qp_num;
	same = ibv_open_qp(k->ctx, &attr);
	assert_non_null(same);
	assert_int_equal(same->qp_num, x.tgt->qp_num);
	assert_ptr_equal(same->qp_context, &attr);
	assert_int_equal(same->state, IBV_QPS_RTS);

	/* The QP exists without the handle that created it. */
	assert_int_equal(ibv_destroy_qp(x.tgt), 0);
	x.tgt = same;
	assert_int_equal(post_long(k, x.srq, 1, 100), 0);
	send_xrc(&x, IBV_WR_SEND, 8, x.srqn);
	kit_expect(x.cq, 1, IBV_WC_RECV);
	kit_expect(k->cq, 77, IBV_WC_SEND);

	/* A change through one handle is visible through all of them. Each handle gets
	 * the QP's events.
	 */
	same = ibv_open_qp(k->ctx, &attr);
	assert_non_null(same);
	kit_to_state(same, IBV_QPS_ERR);
	assert_int_equal(ibv_query_qp(x.tgt, &now, IBV_QP_STATE, &init), 0);
	assert_int_equal(now.qp_state, IBV_QPS_ERR);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_async_event ev;

		assert_true(readable(k->ctx->async_fd, 20000));
		assert_int_equal(ibv_get_async_event(k->ctx, &ev), 0);
		assert_int_equal(ev.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
		assert_true(ev.element.qp == same || ev.element.qp == x.tgt);
		ibv_ack_async_event(&ev);
	}
	assert_int_equal(ibv_destroy_qp(same), 0);
	xrc_free(&x);
}

static void xrc_qps_have_no_receive_queue(void **state)
{
	struct kit *k = *state;
	struct xrc x = xrc_new(k);
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = k->cq, .recv_cq = k->cq, .srq = x.srq
	};

	assert_int_equal(ibv_post_recv(x.ini, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_recv(x.tgt, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(x.tgt, &send, &bad_send), EINVAL);
	assert_null(ibv_create_qp(k->pd, &attr)); /* an RC QP cannot have an XRC SRQ */
	assert_int_equal(errno, EINVAL);
	attr.qp_type = IBV_QPT_XRC_RECV;
	assert_null(ibv_create_qp(k->pd, &attr));
	assert_int_equal(errno, EINVAL);
	xrc_free(&x);
}

static void a_fork_child_has_no_xrc(void **state)
{
	struct kit *k = *state;
	struct xrc x = xrc_new(k);
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct ibv_qp_open_attr attr = {
			.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
				     IBV_QP_OPEN_ATTR_TYPE,
			.qp_num = x.tgt->qp_num,
			.xrcd = x.xrcd,
			.qp_type = IBV_QPT_XRC_RECV,
		};
		bool ok = !open_domain(k->ctx, -1, O_CREAT) && errno == EIO &&
			  !ibv_open_qp(k->ctx, &attr) && errno == EIO &&
			  !new_xrc_srq(k->pd, x.xrcd, x.cq) && errno == EIO &&
			  ibv_close_xrcd(x.xrcd) == 0 && ibv_destroy_qp(x.tgt) == 0 &&
			  ibv_destroy_srq(x.srq) == 0;

		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	xrc_free(&x);
}

static void a_context_takes_its_xrc_objects_with_it(void **state)
{
	struct kit *k = *state;
	struct kit other = *k;
	struct xrc x = xrc_new(k);

	other.ctx = kit_open_device();
	expect_leaks(true);
	other.pd = ibv_alloc_pd(other.ctx);
	other.cq = ibv_create_cq(other.ctx, 8, NULL, NULL, 0);
	xrc_new(&other);
	expect_leaks(false);
	assert_int_equal(ibv_close_device(other.ctx), 0);
	assert_int_equal(post_long(k, x.srq, 1, 100), 0);
	send_xrc(&x, IBV_WR_SEND, 8, x.srqn);
	kit_expect(x.cq, 1, IBV_WC_RECV);
	xrc_free(&x);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, kit_teardown)
	const struct CMUnitTest tests[] = {
		TEST(xrc_domains_of_one_file_are_one),
		TEST(xrc_domains_are_opened_as_the_manual_says),
		TEST(xrc_carries_every_operation),
		TEST(xrc_works_with_the_new_way_to_post),
		TEST(a_wrong_srq_number_ends_both_qps),
		TEST(a_target_qp_may_be_shared),
		TEST(a_target_qp_is_of_the_context_of_its_domain),
		TEST(a_target_qp_remembers_a_pd),
		TEST(xrc_qps_have_no_receive_queue),
		TEST(a_fork_child_has_no_xrc),
		TEST(a_context_takes_its_xrc_objects_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
