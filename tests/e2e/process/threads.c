/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads.c - many threads on one device, with or without ThreadSanitizer.
 *
 *	workers	each has a pair of QPs; all share one CQ, so whoever polls finds the
 *		others' completions
 *	crowd	two threads post to one QP
 *	events	one thread sleeps in ibv_get_cq_event()
 *	churn	one thread makes, uses and destroys QPs on the shared CQ, CQs and MRs
 *
 * The thread that has requested a transfer checks it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	WORKERS = 3,
	CROWD = 2,
	CROWD_DEPTH = 8, /* number of requests of each thread; the QP has room for 16 */
	MESSAGE = 3000,	 /* length of a message: three packets */
	RUN_MS = 3000,
	GIVE_UP_S = 900,
};

/* The thread that has posted a request. It is in wr_id, with bit 8 set for receives. */
enum owner {
	WORKER_0,
	CROWD_0 = WORKER_0 + WORKERS,
	CHURN = CROWD_0 + CROWD,
	OWNERS
};
enum {
	IS_RECV = 0x100
};

static struct loop shared; /* its QPs belong to the crowd; all threads share its CQ */
static _Atomic unsigned sends_done[OWNERS], recvs_done[OWNERS];
static _Atomic bool over;
static _Atomic uint64_t transfers;

static uint64_t crowd_sum;
static struct ibv_mr *crowd_sum_mr;
static _Atomic uint64_t crowd_posted;

/* Takes one completion of the shared CQ, and counts it for its owner. */
static void poll_shared(void)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(shared.cq, 1, &wc);

	EXPECT(n >= 0);
	if (n == 0)
		return;
	if (wc.status != IBV_WC_SUCCESS)
		fprintf(stderr, "wr_id 0x%llx: %s\n", (unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status));
	EXPECT(wc.status == IBV_WC_SUCCESS);
	EXPECT((wc.wr_id & 0xff) < OWNERS);
	if (wc.wr_id & IS_RECV)
		atomic_fetch_add(&recvs_done[wc.wr_id & 0xff], 1);
	else
		atomic_fetch_add(&sends_done[wc.wr_id & 0xff], 1);
}

/* A pair of QPs on @cq, and a region with source and target buffers. */
struct pair {
	struct loop loop;
	struct ibv_mr *mr;
	uint8_t from[MESSAGE], to[MESSAGE];
	_Alignas(8) uint64_t counter;
};

static void pair_open(struct pair *p, struct ibv_cq *cq)
{
	memset(p, 0, sizeof(*p));
	p->loop = shared;
	p->loop.cq = cq;
	p->mr = ibv_reg_mr(shared.pd, p, sizeof(*p),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	EXPECT(p->mr);
	for (unsigned i = 0; i < 2; i++) {
		p->loop.qp[i] = loop_create_qp(&p->loop);
		EXPECT(p->loop.qp[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		loop_connect(&p->loop, p->loop.qp[i], p->loop.qp[!i]->qp_num);
}

static void pair_close(struct pair *p)
{
	for (unsigned i = 0; i < 2; i++)
		EXPECT(!ibv_destroy_qp(p->loop.qp[i]));
	EXPECT(!ibv_dereg_mr(p->mr));
}

static void post_recv(struct pair *p, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)p->to,
			       .length = MESSAGE,
			       .lkey = p->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	EXPECT(!ibv_post_recv(p->loop.qp[1], &wr, &bad));
}

static void post(struct pair *p, enum ibv_wr_opcode opcode, uint64_t wr_id)
{
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	bool read = opcode == IBV_WR_RDMA_READ;
	struct ibv_sge sge = { .addr = (uintptr_t)(read ? p->to : p->from),
			       .length = atomic ? 8 : MESSAGE,
			       .lkey = p->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)&p->counter;
		wr.wr.atomic.rkey = p->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)(read ? p->from : p->to);
		wr.wr.rdma.rkey = p->mr->rkey;
	}
	EXPECT(!ibv_post_send(p->loop.qp[0], &wr, &bad));
}

/* Makes one transfer from p->from to p->to, or an atomic addition, and waits for it by
 * the counts of @owner.
 */
static void transfer(struct pair *p, enum ibv_wr_opcode opcode, unsigned owner,
		     unsigned n)
{
	unsigned sends = atomic_load(&sends_done[owner]) + 1;
	unsigned recvs = atomic_load(&recvs_done[owner]) + (opcode == IBV_WR_SEND);
	uint64_t before = p->counter, got;

	memset(p->from, (int)(n & 0xff), MESSAGE);
	memset(p->to, (int)(~n & 0xff), MESSAGE);
	if (opcode == IBV_WR_SEND)
		post_recv(p, owner | IS_RECV);
	post(p, opcode, owner);
	while (atomic_load(&sends_done[owner]) != sends ||
	       atomic_load(&recvs_done[owner]) != recvs)
		poll_shared();
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		memcpy(&got, p->from, sizeof(got));
		EXPECT(got == before && p->counter == before + 1);
	} else {
		EXPECT(!memcmp(p->from, p->to, MESSAGE));
	}
	atomic_fetch_add(&transfers, 1);
}

static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_SEND,
					      IBV_WR_RDMA_READ,
					      IBV_WR_ATOMIC_FETCH_AND_ADD };

static void *work(void *arg)
{
	static struct pair pairs[WORKERS];
	unsigned owner = (unsigned)(uintptr_t)arg;
	struct pair *p = &pairs[owner - WORKER_0];

	pair_open(p, shared.cq);
	for (unsigned n = owner; !atomic_load(&over); n++)
		transfer(p, opcodes[n % 4], owner, n);
	pair_close(p);
	return NULL;
}

static void post_addition(unsigned owner, uint64_t *result, uint32_t lkey)
{
	struct ibv_sge sge = { .addr = (uintptr_t)result, .length = 8, .lkey = lkey };
	struct ibv_send_wr wr = { .wr_id = owner,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)&crowd_sum;
	wr.wr.atomic.rkey = crowd_sum_mr->rkey;
	wr.wr.atomic.compare_add = 1;
	EXPECT(!ibv_post_send(shared.qp[0], &wr, &bad));
}

static void *crowd(void *arg)
{
	static uint64_t results[CROWD][CROWD_DEPTH];
	unsigned owner = (unsigned)(uintptr_t)arg, posted = 0;
	uint64_t *result = results[owner - CROWD_0];
	struct ibv_mr *mr =
		ibv_reg_mr(shared.pd, result, sizeof(results[0]), IBV_ACCESS_LOCAL_WRITE);

	EXPECT(mr);
	while (!atomic_load(&over)) {
		while (posted - atomic_load(&sends_done[owner]) < CROWD_DEPTH)
			post_addition(owner, &result[posted++ % CROWD_DEPTH], mr->lkey);
		poll_shared();
	}
	while (atomic_load(&sends_done[owner]) != posted)
		poll_shared();
	atomic_fetch_add(&crowd_posted, posted);
	EXPECT(!ibv_dereg_mr(mr));
	return NULL;
}

static void wait_for_event(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct ibv_cq *which;
	void *cookie;

	EXPECT(!ibv_get_cq_event(channel, &which, &cookie));
	EXPECT(which == cq && cookie == channel);
	ibv_ack_cq_events(which, 1);
}

static void *events(void *arg)
{
	static struct pair p;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(shared.ctx);
	struct ibv_cq *cq;
	struct ibv_wc wc;

	(void)arg;
	EXPECT(channel);
	cq = ibv_create_cq(shared.ctx, 4, channel, channel, 0);
	EXPECT(cq);
	pair_open(&p, cq);
	for (unsigned n = 0; !atomic_load(&over); n++) {
		memset(p.from, (int)(n & 0xff), MESSAGE);
		EXPECT(!ibv_req_notify_cq(cq, 0));
		post(&p, IBV_WR_RDMA_WRITE, n);
		wait_for_event(channel, cq);
		EXPECT(ibv_poll_cq(cq, 1, &wc) == 1);
		EXPECT(wc.status == IBV_WC_SUCCESS && wc.wr_id == n);
		EXPECT(!memcmp(p.from, p.to, MESSAGE));
		atomic_fetch_add(&transfers, 1);
	}
	pair_close(&p);
	EXPECT(!ibv_destroy_cq(cq));
	EXPECT(!ibv_destroy_comp_channel(channel));
	return NULL;
}

static void *churn(void *arg)
{
	static struct pair p;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	(void)arg;
	for (unsigned n = 0; !atomic_load(&over); n++) {
		struct ibv_cq *own = ibv_create_cq(shared.ctx, 8, NULL, NULL, 0);

		EXPECT(own);
		pair_open(&p, shared.cq);
		transfer(&p, opcodes[n % 4], CHURN, n);
		EXPECT(!ibv_query_qp(p.loop.qp[n % 2], &attr, IBV_QP_STATE, &init));
		EXPECT(attr.qp_state == IBV_QPS_RTS);
		pair_close(&p);
		EXPECT(!ibv_destroy_cq(own));
	}
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *arg), unsigned owner)
{
	EXPECT(!pthread_create(
		thread, NULL, run,
		(void *)(uintptr_t)owner)); // NOLINT(performance-no-int-to-ptr)
}

int main(void)
{
	pthread_t thread[WORKERS + CROWD + 2];
	struct timespec run = { .tv_sec = RUN_MS / 1000,
				.tv_nsec = RUN_MS % 1000 * 1000000L };
	unsigned n = 0;

	alarm(GIVE_UP_S);
	loop_open(&shared);
	crowd_sum_mr = ibv_reg_mr(shared.pd, &crowd_sum, sizeof(crowd_sum),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	EXPECT(crowd_sum_mr);
	for (unsigned i = 0; i < WORKERS; i++)
		start(&thread[n++], work, WORKER_0 + i);
	for (unsigned i = 0; i < CROWD; i++)
		start(&thread[n++], crowd, CROWD_0 + i);
	start(&thread[n++], events, 0);
	start(&thread[n++], churn, 0);
	nanosleep(&run, NULL); /* the duration of the test */
	atomic_store(&over, true);
	while (n > 0)
		EXPECT(!pthread_join(thread[--n], NULL));
	EXPECT(crowd_sum == atomic_load(&crowd_posted));
	EXPECT(!ibv_dereg_mr(crowd_sum_mr));
	loop_close(&shared);
	EXPECT(atomic_load(&transfers) > 0 && crowd_sum > 0);
	printf("threads: %llu transfers, %llu additions, all as it should be\n",
	       (unsigned long long)atomic_load(&transfers),
	       (unsigned long long)crowd_sum);
	return 0;
}
