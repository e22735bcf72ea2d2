/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* life.c - cases of the category life. */
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "tests/kit/apart.h"

static void destroy_pd_of_mr(struct kit *k)
{
	val_refused(ibv_dealloc_pd(k->pd));
}

static void destroy_in_order(struct kit *k)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);

	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void destroy_twice(struct kit *k)
{
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	assert_int_equal(ibv_destroy_qp(qp), 0);
	val_refused(ibv_destroy_qp(qp));
}

static void destroy_once(struct kit *k)
{
	assert_int_equal(ibv_destroy_qp(val_create_qp(k, k->cq, 4, 4)), 0);
}

/* Posts a receive with an MR of another PD than that of the QP. */
static void post_with_domain(struct kit *k, bool is_foreign)
{
	struct ibv_pd *pd = ibv_alloc_pd(k->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = is_foreign ? mr->lkey : k->mr->lkey };

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void post_with_foreign_mr(struct kit *k)
{
	post_with_domain(k, true);
}

static void post_with_own_mr(struct kit *k)
{
	post_with_domain(k, false);
}

static void dereg_under_receive(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = mr->lkey };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void dereg_after_destroy(struct kit *k)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = mr->lkey };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* Waits until the layer has found the rule, or gives up. */
static void wait_for(const char *rule)
{
	const unsigned most = 60000; /* ms */

	for (unsigned i = 0; i < most && !val_found(rule); i++)
		usleep(1000);
}

/* Takes an event of a completion, and acknowledges it before the CQ is destroyed, or from
 * another thread, as otherwise the call would wait for ever.
 */
static void *acknowledge_late(void *cq)
{
	wait_for("life/events-unacked");
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

static void take_event(struct kit *k, bool is_late)
{
	struct val_pair p = val_pair(k);
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	assert_int_equal(val_write(k, p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	assert_int_equal(ibv_get_cq_event(k->channel, &cq, &context), 0);
	(void)kit_wait(k->cq);
	val_destroy_pair(&p);
	if (!is_late) {
		ibv_ack_cq_events(cq, 1);
		return;
	}
	assert_int_equal(pthread_create(&thread, NULL, acknowledge_late, cq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void destroy_unacked(struct kit *k)
{
	take_event(k, true);
}

static void destroy_acked(struct kit *k)
{
	take_event(k, false);
}

static void leave_qp(struct kit *k)
{
	(void)val_create_qp(k, k->cq, 4, 4);
}

/* --------------------------------------------------------- events of an SRQ */
static struct ibv_async_event limit_event;

static void *acknowledge_limit_late(void *unused)
{
	wait_for("life/async-unacked");
	ibv_ack_async_event(&limit_event);
	return unused;
}

/* Takes the event of a limit: it comes with the first message. */
static void take_limit_event(struct kit *k, bool is_late)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_srq *srq = ibv_create_srq(k->pd, &init);
	struct ibv_qp_init_attr qp_attr = { .send_cq = k->cq,
					    .recv_cq = k->cq,
					    .srq = srq,
					    .cap = { .max_send_wr = 4,
						     .max_send_sge = 1 },
					    .qp_type = IBV_QPT_RC };
	struct ibv_sge sge = kit_sge(k, 1, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct val_end end = val_end(k);
	struct ibv_qp *qp = ibv_create_qp(k->pd, &qp_attr);
	pthread_t thread;

	assert_non_null(qp);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	val_connect(k, qp, qp->qp_num, &end);
	assert_int_equal(val_send(k, qp, IBV_SEND_SIGNALED, 64), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_get_async_event(k->ctx, &limit_event), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	if (!is_late) {
		ibv_ack_async_event(&limit_event);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		return;
	}
	assert_int_equal(pthread_create(&thread, NULL, acknowledge_limit_late, NULL), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void destroy_srq_unacked(struct kit *k)
{
	take_limit_event(k, true);
}

static void destroy_srq_acked(struct kit *k)
{
	take_limit_event(k, false);
}

/* ------------------------------------------------------------ what is in use */
static void attach(struct kit *k, bool detaches)
{
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);
	union ibv_gid group = kit_group(1);

	kit_to_init(qp);
	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	if (!detaches) {
		assert_int_equal(ibv_destroy_qp(qp), EBUSY);
		return;
	}
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void destroy_attached(struct kit *k)
{
	attach(k, false);
}

static void destroy_detached(struct kit *k)
{
	attach(k, true);
}

static void bind_window(struct kit *k, bool is_in_order)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(k->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = mr,
						   .addr = (uintptr_t)k->buf,
						   .length = 64,
						   .mw_access_flags =
							   IBV_ACCESS_REMOTE_READ } };
	struct val_pair p = val_pair(k);

	assert_int_equal(ibv_bind_mw(p.qp[0], mw, &bind), 0);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	if (!is_in_order)
		assert_int_equal(ibv_dereg_mr(mr), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	val_destroy_pair(&p);
}

static void dereg_before_window(struct kit *k)
{
	bind_window(k, false);
}

static void dereg_after_window(struct kit *k)
{
	bind_window(k, true);
}

static void rereg(struct kit *k, bool is_posted)
{
	struct ibv_mr *mr = ibv_reg_mr(k->pd, k->buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)k->buf,
			       .length = 64,
			       .lkey = mr->lkey };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	if (is_posted)
		kit_post_recv(k, qp, 1, sge);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
			 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void rereg_under_receive(struct kit *k)
{
	rereg(k, true);
}

static void rereg_unused(struct kit *k)
{
	rereg(k, false);
}

/* Sends a datagram to itself, and destroys the address before or after it is polled. */
static void send_datagram(struct kit *k, bool polls)
{
	struct ibv_qp *qp = kit_create_qp(k, IBV_QPT_UD);
	struct ibv_ah_attr address = kit_address(k);
	struct ibv_ah *ah = ibv_create_ah(k->pd, &address);
	struct ibv_sge sge = kit_sge(k, 0, 0, 8);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = KIT_QKEY }
	};

	kit_to_init(qp);
	kit_to_rts(k, qp, 0);
	kit_post_recv(k, qp, 1, kit_sge(k, 1, 0, 64));
	kit_post_send(qp, &wr);
	for (unsigned i = 0; i < 2 && polls; i++)
		(void)kit_wait(k->cq);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void destroy_ah_early(struct kit *k)
{
	send_datagram(k, false);
}

static void destroy_ah_late(struct kit *k)
{
	send_datagram(k, true);
}

/* ---------------------------------------------------------------------- memory */
enum {
	PAGES_LEN = 1 << 16
};

static void *map_pages(void)
{
	void *pages = map_apart(PAGES_LEN, PROT_READ | PROT_WRITE);

	assert_non_null(pages);
	return pages;
}

static void unmap_registered(struct kit *k)
{
	void *pages = map_pages();
	struct ibv_mr *mr = ibv_reg_mr(k->pd, pages, PAGES_LEN, IBV_ACCESS_LOCAL_WRITE);

	assert_int_equal(munmap(pages, PAGES_LEN), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void unmap_deregistered(struct kit *k)
{
	void *pages = map_pages();
	struct ibv_mr *mr = ibv_reg_mr(k->pd, pages, PAGES_LEN, IBV_ACCESS_LOCAL_WRITE);

	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(munmap(pages, PAGES_LEN), 0);
}

/* A receive is flushed behind the end of its memory, or before. */
static void flush_receive(struct kit *k, bool is_early)
{
	void *pages = map_pages();
	struct ibv_mr *mr = ibv_reg_mr(k->pd, pages, PAGES_LEN, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)pages, .length = 64, .lkey = mr->lkey };
	struct ibv_qp *qp = val_create_qp(k, k->cq, 4, 4);

	kit_to_init(qp);
	kit_post_recv(k, qp, 1, sge);
	if (is_early)
		assert_int_equal(munmap(pages, PAGES_LEN), 0);
	kit_to_state(qp, IBV_QPS_ERR);
	assert_int_equal(kit_wait(k->cq).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	if (!is_early)
		assert_int_equal(munmap(pages, PAGES_LEN), 0);
}

static void unmap_posted(struct kit *k)
{
	flush_receive(k, true);
}

static void unmap_flushed(struct kit *k)
{
	flush_receive(k, false);
}

extern char **environ;

/* Kernels that copy pages when a program forks need no ibv_fork_init(). */
static void fork_unprepared(struct kit *k)
{
	int status;
	pid_t pid;

	(void)k;
	if (ibv_is_fork_initialized() != IBV_FORK_DISABLED)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void spawn(struct kit *k)
{
	char *argv[] = { (char[]){ "true" }, NULL };
	int status;
	pid_t pid;

	(void)k;
	assert_int_equal(posix_spawnp(&pid, "true", NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* --------------------------------------------------------------------- contexts */
static void use_two_contexts(struct kit *k)
{
	struct ibv_context *other = kit_open_device();
	struct ibv_cq *cq = ibv_create_cq(other, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_send_wr = 4, .max_send_sge = 1 },
					 .qp_type = IBV_QPT_RC };

	assert_null(ibv_create_qp(k->pd, &attr));
}

static void use_one_context(struct kit *k)
{
	struct ibv_context *other = kit_open_device();
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 4, NULL, NULL, 0);

	assert_int_equal(ibv_destroy_qp(val_create_qp(k, cq, 4, 4)), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static void close_other(bool is_empty)
{
	static struct ibv_pd *left[2]; /* a leak that tools do not report */
	struct ibv_context *other = kit_open_device();

	left[is_empty] = ibv_alloc_pd(other);
	assert_non_null(left[is_empty]);
	if (is_empty)
		assert_int_equal(ibv_dealloc_pd(left[is_empty]), 0);
	assert_int_equal(ibv_close_device(other), 0);
}

static void close_with_pd(struct kit *k)
{
	(void)k;
	close_other(false);
}

static void close_empty(struct kit *k)
{
	(void)k;
	close_other(true);
}

/* The channel of a kit is destroyed behind `keep', and its descriptor is used again. */
static void leave_channel(struct kit *k)
{
	(void)k;
}

static void use_channel(struct kit *k)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(k->ctx);
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 4, NULL, channel, 0);
	int pipe_of_program[2], number = channel->fd;

	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	assert_int_equal(pipe(pipe_of_program), 0);
	assert_int_equal(dup2(pipe_of_program[0], number), number);
}

static const struct val_case cases[] = {
	{ "life/destroy-order", destroy_pd_of_mr, destroy_in_order, false },
	{ "life/use-after-destroy", destroy_twice, destroy_once, false },
	{ "life/foreign-pd", post_with_foreign_mr, post_with_own_mr, false },
	{ "life/dereg-in-use", dereg_under_receive, dereg_after_destroy, false },
	{ "life/events-unacked", destroy_unacked, destroy_acked, false },
	{ "life/leak-at-exit", leave_qp, destroy_once, true },
	{ "life/async-unacked", destroy_srq_unacked, destroy_srq_acked, false },
	{ "life/destroy-attached", destroy_attached, destroy_detached, false },
	{ "life/dereg-bound", dereg_before_window, dereg_after_window, false },
	{ "life/rereg-in-use", rereg_under_receive, rereg_unused, false },
	{ "life/ah-in-use", destroy_ah_early, destroy_ah_late, false },
	{ "life/memory-unmapped", unmap_registered, unmap_deregistered, false },
	{ "life/unmapped-in-request", unmap_posted, unmap_flushed, false },
	{ "life/fork-without-init", fork_unprepared, spawn, false },
	{ "life/foreign-context", use_two_contexts, use_one_context, false },
	{ "life/close-with-objects", close_with_pd, close_empty, false },
	{ "life/channel-leak", leave_channel, use_channel, true },
};
const struct val_cases life_cases = VAL_CASES(cases);
