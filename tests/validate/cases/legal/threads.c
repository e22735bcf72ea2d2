/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads.c - right programs of several threads that share objects: one posts, another
 * one polls, and a third one gives back what has completed.
 *
 * Threads hand over to each other by semaphores. A case in which one has to be blocked in
 * a call waits until /proc shows that this thread sleeps.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/validate/cases/cases.h"

enum {
	ROUNDS = 100,
	FEW = 8,
};

/* What the threads of a case share. */
struct shared {
	struct kit *k;
	struct val_pair p;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	sem_t turn[3]; /* of each thread */
	pid_t waiting; /* the thread that is about to wait */
};

static struct shared share(struct kit *k)
{
	struct shared s = { .k = k };

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(sem_init(&s.turn[i], 0, 0), 0);
	return s;
}

static pthread_t start(void *(*fn)(void *), struct shared *s)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, s), 0);
	return thread;
}

static void end(pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void wait_turn(struct shared *s, unsigned turn)
{
	while (sem_wait(&s->turn[turn]))
		assert_int_equal(errno, EINTR);
}

/* Waits until a thread of this process sleeps, which may be before it is in the call that
 * is meant: a test may then miss something, and finds nothing wrong.
 */
static void wait_for_sleep(pid_t tid)
{
	char path[64], state = 'R';

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	while (state != 'S') {
		FILE *f = fopen(path, "re");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		(void)fclose(f);
		(void)sched_yield();
	}
}

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void take_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
}

/* ------------------------------------------------------ one posts, polls, gives back */
static void *poll_for_others(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(kit_wait(s->k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(sem_post(&s->turn[1]), 0);
	}
	return NULL;
}

static void *give_back(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_turn(s, 1);
		assert_int_equal(ibv_dereg_mr(s->mr), 0);
		assert_int_equal(sem_post(&s->turn[0]), 0);
	}
	return NULL;
}

static void hand_over(struct kit *k)
{
	struct shared s = share(k);
	pthread_t poller, last;

	s.p = val_pair(k);
	poller = start(poll_for_others, &s);
	last = start(give_back, &s);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = kit_sge(k, 0, 0, 8);

		s.mr = ibv_reg_mr(k->pd, k->buf, 64, 0);
		assert_non_null(s.mr);
		sge.lkey = s.mr->lkey;
		kit_post_send(
			s.p.qp[0],
			&(struct ibv_send_wr){
				.opcode = IBV_WR_RDMA_WRITE,
				.send_flags = IBV_SEND_SIGNALED,
				.sg_list = &sge,
				.num_sge = 1,
				.wr.rdma = { .remote_addr = kit_sge(k, 1, 0, 8).addr,
					     .rkey = k->mr->rkey } });
		wait_turn(&s, 0);
	}
	end(poller);
	end(last);
	val_destroy_pair(&s.p);
}

/* -------------------------------------------------------- a QP for each in its turn */
static void *destroy_behind_last(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < FEW; i++) {
		wait_turn(s, 0);
		val_destroy_pair(&s->p);
		assert_int_equal(sem_post(&s->turn[1]), 0);
	}
	return NULL;
}

/* One makes QPs and sees their last completions, another one destroys them. */
static void destroy_elsewhere(struct kit *k)
{
	struct shared s = share(k);
	pthread_t other = start(destroy_behind_last, &s);

	for (unsigned i = 0; i < FEW; i++) {
		s.p = val_pair(k);
		assert_int_equal(val_write(k, s.p.qp[0], IBV_SEND_SIGNALED, FEW), 0);
		for (unsigned n = 0; n < FEW; n++)
			assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(sem_post(&s.turn[0]), 0);
		wait_turn(&s, 1);
	}
	end(other);
}

/* --------------------------------------------------------- two threads post to one QP */
static void *post_half(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_turn(s, 0);
		assert_int_equal(val_write(s->k, s->p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	}
	return NULL;
}

static void post_from_two(struct kit *k)
{
	struct shared s = share(k);
	pthread_t poster[2];

	s.p = val_pair(k);
	for (unsigned i = 0; i < KIT_WR; i++)
		assert_int_equal(sem_post(&s.turn[0]), 0);
	for (unsigned i = 0; i < 2; i++)
		poster[i] = start(post_half, &s);
	for (unsigned i = 0; i < 2 * ROUNDS; i++) {
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
		assert_int_equal(sem_post(&s.turn[0]), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		end(poster[i]);
	val_destroy_pair(&s.p);
}

/* ------------------------------------------------------------- one CQ, two that wait */
static void *wait_for_second(void *arg)
{
	struct shared *s = arg;

	take_event(s->k->channel);
	assert_int_equal(sem_post(&s->turn[0]), 0);
	return NULL;
}

/* One thread has an event and arms the CQ again. Before it polls, the next event wakes
 * the other one.
 */
static void wake_two(struct kit *k)
{
	struct shared s = share(k);
	pthread_t other;

	s.p = val_pair(k);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	assert_int_equal(val_write(k, s.p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	take_event(k->channel);
	other = start(wait_for_second, &s);
	assert_int_equal(ibv_req_notify_cq(k->cq, 0), 0);
	assert_int_equal(val_write(k, s.p.qp[0], IBV_SEND_SIGNALED, 1), 0);
	wait_turn(&s, 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(kit_wait(k->cq).status, IBV_WC_SUCCESS);
	end(other);
	val_destroy_pair(&s.p);
}

/* Two CQs have one channel, and two threads wait there for either. */
static void *serve_channel(void *arg)
{
	struct shared *s = arg;
	unsigned served = 0;

	while (!served) {
		struct ibv_wc wc;
		struct ibv_cq *cq;
		void *context;

		assert_int_equal(ibv_get_cq_event(s->k->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		while (ibv_poll_cq(cq, 1, &wc) > 0) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			served++;
		}
	}
	return NULL;
}

static void share_channel(struct kit *k)
{
	struct shared s = share(k);
	struct ibv_cq *second = ibv_create_cq(k->ctx, FEW, NULL, k->channel, 0);
	struct ibv_cq *const cqs[2] = { k->cq, second };
	struct val_end ends[2] = { val_end(k), val_end(k) };
	pthread_t server[2];

	assert_non_null(second);
	s.p = val_pair_of(k, ends, cqs);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ibv_req_notify_cq(cqs[i], 0), 0);
	for (unsigned i = 0; i < 2; i++) {
		server[i] = start(serve_channel, &s);
		assert_int_equal(val_write(k, s.p.qp[i], IBV_SEND_SIGNALED, 1), 0);
		end(server[i]);
	}
	val_destroy_pair(&s.p);
	assert_int_equal(ibv_destroy_cq(second), 0);
}

/* ------------------------------------------------------- events that others acknowledge
 */
enum {
	EVENTS = 3
};

/* Takes events and acknowledges them at once at its end, when the other one waits. */
static void *acknowledge_late(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < EVENTS; i++) {
		struct ibv_cq *cq;
		void *context;

		assert_int_equal(ibv_get_cq_event(s->k->channel, &cq, &context), 0);
		assert_int_equal(sem_post(&s->turn[0]), 0);
	}
	wait_turn(s, 1);
	wait_for_sleep(s->waiting);
	ibv_ack_cq_events(s->cq, EVENTS);
	return NULL;
}

/* A CQ is destroyed while another thread has its events: that is what the call waits for.
 */
static void destroy_while_others_acknowledge(struct kit *k)
{
	struct shared s = share(k);
	struct ibv_cq *cqs[2];
	struct val_end ends[2] = { val_end(k), val_end(k) };
	pthread_t other;

	s.cq = cqs[0] = cqs[1] = ibv_create_cq(k->ctx, 4 * KIT_WR, NULL, k->channel, 0);
	assert_non_null(s.cq);
	s.p = val_pair_of(k, ends, cqs);
	s.waiting = own_tid();
	other = start(acknowledge_late, &s);
	for (unsigned i = 0; i < EVENTS; i++) {
		assert_int_equal(ibv_req_notify_cq(s.cq, 0), 0);
		assert_int_equal(val_write(k, s.p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		wait_turn(&s, 0);
		assert_int_equal(kit_wait(s.cq).status, IBV_WC_SUCCESS);
	}
	val_destroy_pair(&s.p);
	assert_int_equal(sem_post(&s.turn[1]), 0);
	assert_int_equal(ibv_destroy_cq(s.cq), 0);
	end(other);
}

/* The same of asynchronous events. */
static void *acknowledge_async(void *arg)
{
	struct ibv_async_event event[EVENTS];
	struct shared *s = arg;

	for (unsigned i = 0; i < EVENTS; i++) {
		assert_int_equal(ibv_get_async_event(s->k->ctx, &event[i]), 0);
		assert_int_equal(sem_post(&s->turn[0]), 0);
	}
	wait_turn(s, 1);
	wait_for_sleep(s->waiting);
	for (unsigned i = 0; i < EVENTS; i++)
		ibv_ack_async_event(&event[i]);
	return NULL;
}

/* The events of a QP with an SRQ that goes to ERR again and again. */
static void destroy_qp_while_others_acknowledge(struct kit *k)
{
	struct shared s = share(k);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = FEW, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .send_cq = k->cq,
					 .recv_cq = k->cq,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp;
	pthread_t other;

	init.srq = ibv_create_srq(k->pd, &attr);
	assert_non_null(init.srq);
	qp = ibv_create_qp(k->pd, &init);
	assert_non_null(qp);
	s.waiting = own_tid();
	other = start(acknowledge_async, &s);
	for (unsigned i = 0; i < EVENTS; i++) {
		kit_to_init(qp);
		kit_to_rts(k, qp, qp->qp_num);
		kit_to_state(qp, IBV_QPS_ERR);
		wait_turn(&s, 0);
		kit_to_state(qp, IBV_QPS_RESET);
	}
	assert_int_equal(sem_post(&s.turn[1]), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	end(other);
	assert_int_equal(ibv_destroy_srq(init.srq), 0);
}

/* ---------------------------------------------------------------- an SRQ, refilled */
static void *refill(void *arg)
{
	struct shared *s = arg;
	struct ibv_sge sge = kit_sge(s->k, 1, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_turn(s, 0);
		assert_int_equal(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
		assert_int_equal(sem_post(&s->turn[1]), 0);
	}
	return NULL;
}

static void *send_as_filled(void *arg)
{
	struct shared *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_turn(s, 1);
		assert_int_equal(val_send(s->k, s->p.qp[0], IBV_SEND_SIGNALED, 8), 0);
	}
	return NULL;
}

static void refill_elsewhere(struct kit *k)
{
	struct shared s = share(k);
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = FEW, .max_sge = 1 } };
	pthread_t filler, sender;

	s.srq = ibv_create_srq(k->pd, &attr);
	assert_non_null(s.srq);
	/* The sender does not wait for its completions. */
	s.p = val_pair_of_srq(k, s.srq, ROUNDS);
	val_connect_pair(k, &s.p);
	filler = start(refill, &s);
	sender = start(send_as_filled, &s);
	for (unsigned i = 0; i < FEW; i++)
		assert_int_equal(sem_post(&s.turn[0]), 0);
	for (unsigned i = 0; i < 2 * ROUNDS; i++) {
		struct ibv_wc wc = kit_wait(k->cq);

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode == IBV_WC_RECV)
			assert_int_equal(sem_post(&s.turn[0]), 0);
	}
	end(filler);
	end(sender);
	val_destroy_pair(&s.p);
	assert_int_equal(ibv_destroy_srq(s.srq), 0);
}

/* ------------------------------------------------------------------------ full queues */
/* Two threads fill a queue each until it takes no more, of a CQ that has just the room:
 * what was refused will not complete.
 */
struct filler {
	struct kit *k;
	struct ibv_qp *qp;
	uint32_t room;
};

static void *fill(void *arg)
{
	struct filler *f = arg;

	for (unsigned i = 0; i < f->room; i++)
		assert_int_equal(val_send(f->k, f->qp, IBV_SEND_SIGNALED, 8), 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		assert_int_equal(val_send(f->k, f->qp, IBV_SEND_SIGNALED, 8), ENOMEM);
	return NULL;
}

static void fill_from_two(struct kit *k)
{
	struct ibv_cq *cq = ibv_create_cq(k->ctx, 4 * KIT_WR, NULL, NULL, 0);
	struct ibv_cq *const cqs[2] = { cq, cq };
	struct val_end ends[2] = { val_end(k), val_end(k) };
	struct ibv_qp_init_attr init;
	struct filler filler[2];
	struct ibv_qp_attr attr;
	pthread_t thread[2];
	struct val_pair p;

	assert_non_null(cq);
	p = val_pair_of(k, ends, cqs);
	assert_int_equal(ibv_query_qp(p.qp[0], &attr, IBV_QP_CAP, &init), 0);
	assert_int_equal(ibv_resize_cq(cq, 2 * (int)init.cap.max_send_wr), 0);
	for (unsigned i = 0; i < 2; i++) {
		filler[i] = (struct filler){ .k = k,
					     .qp = p.qp[i],
					     .room = init.cap.max_send_wr };
		assert_int_equal(pthread_create(&thread[i], NULL, fill, &filler[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		end(thread[i]);
	val_destroy_pair(&p);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* ------------------------------------------------------------------- QPs of all */
/* Each thread makes objects of all sorts, uses them and destroys them. */
static void *make_and_destroy(void *arg)
{
	struct shared *s = arg;
	struct kit own = *s->k;
	struct ibv_cq_init_attr_ex of_cq = { .cqe = KIT_WR,
					     .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr poll_attr = { 0 };

	for (unsigned i = 0; i < FEW; i++) {
		struct ibv_cq_ex *ex = ibv_create_cq_ex(own.ctx, &of_cq);
		struct ibv_qp_init_attr_ex of_qp = {
			.qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = 4, .max_send_sge = 1 },
			.comp_mask =
				IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.pd = own.pd,
			.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
		};
		struct ibv_qp *qp;
		struct ibv_qp_ex *qpx;

		assert_non_null(ex);
		of_qp.send_cq = of_qp.recv_cq = ibv_cq_ex_to_cq(ex);
		qp = ibv_create_qp_ex(own.ctx, &of_qp);
		assert_non_null(qp);
		kit_to_init(qp);
		kit_to_rts(&own, qp, qp->qp_num);
		qpx = ibv_qp_to_qp_ex(qp);
		ibv_wr_start(qpx);
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qpx, own.mr->rkey, kit_sge(&own, 1, 0, 8).addr);
		ibv_wr_set_sge(qpx, own.mr->lkey, (uintptr_t)own.buf, 8);
		assert_int_equal(ibv_wr_complete(qpx), 0);
		while (ibv_start_poll(ex, &poll_attr))
			;
		assert_int_equal(ex->status, IBV_WC_SUCCESS);
		ibv_end_poll(ex);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
	return NULL;
}

static void make_in_three(struct kit *k)
{
	struct shared s = share(k);
	pthread_t thread[3];

	for (unsigned i = 0; i < 3; i++)
		thread[i] = start(make_and_destroy, &s);
	for (unsigned i = 0; i < 3; i++)
		end(thread[i]);
}

/* ------------------------------------------------------------------------------- fork */
static void *post_until_told(void *arg)
{
	struct shared *s = arg;

	while (sem_trywait(&s->turn[0])) {
		assert_int_equal(val_write(s->k, s->p.qp[0], IBV_SEND_SIGNALED, 1), 0);
		assert_int_equal(kit_wait(s->k->cq).status, IBV_WC_SUCCESS);
	}
	return NULL;
}

/* Children come into being while another thread uses verbs. They ask for one thing, which
 * they do not get, and end.
 */
static void fork_beside_traffic(struct kit *k)
{
	struct shared s = share(k);
	pthread_t other;

	s.p = val_pair(k);
	other = start(post_until_told, &s);
	for (unsigned i = 0; i < FEW; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid)
			_exit(val_write(k, s.p.qp[1], IBV_SEND_SIGNALED, 1) == EIO ? 0
										   : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(sem_post(&s.turn[0]), 0);
	end(other);
	val_destroy_pair(&s.p);
}

static const struct val_case cases[] = {
	{ "life/dereg-in-use", NULL, hand_over, false },
	{ "life/use-after-destroy", NULL, destroy_elsewhere, false },
	{ "queues/cq-too-small", NULL, post_from_two, false },
	{ "queues/cq-too-small", NULL, fill_from_two, false },
	{ "queues/lost-wakeup", NULL, wake_two, false },
	{ "queues/lost-wakeup", NULL, share_channel, false },
	{ "life/events-unacked", NULL, destroy_while_others_acknowledge, false },
	{ "life/async-unacked", NULL, destroy_qp_while_others_acknowledge, false },
	{ "queues/receive-queue-full", NULL, refill_elsewhere, false },
	{ "life/destroy-order", NULL, make_in_three, false },
	{ "life/close-with-objects", NULL, fork_beside_traffic, false },
};
const struct val_cases legal_threads_cases = VAL_CASES(cases);
