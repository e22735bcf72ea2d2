/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* processes.c - many processes on one device, in a ring: each sends to the next one and
 * to the next but one. Half of them are killed. The others must get errors only on the
 * QPs that lead to killed processes. New processes take the places of the killed ones.
 *
 * usage: processes COUNT	even
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crowd.h"

enum {
	COUNT_MAX = 255,
	MESSAGES = 8,
	LEN = 64,
	TO_NEXT = 0, /* QPs of a process: this one sends to the next process */
	FROM_LAST,   /* receives from the process before */
	TO_SECOND,   /* the same for the next process but one */
	FROM_SECOND,
	QPS,
};

/* The groups of processes that wait for each other. The parent belongs to all of them. */
enum meeting {
	ALL,
	SURVIVORS,
	NEWCOMERS,
	MEETINGS
};

/* The data that the processes exchange. */
struct board {
	pthread_barrier_t barrier[MEETINGS];
	struct place {
		uint32_t qpn[QPS];
		/* seconds from the start of the process until its QPs exist */
		double opened;
		size_t memory; /* bytes of memory that only this process has */
	} place[COUNT_MAX];
};

struct member {
	struct loop l;
	struct ibv_qp *qp[QPS];
	struct ibv_mr *mr;
	uint8_t out[LEN], in[2 * MESSAGES][LEN];
};

static struct board *board;
static unsigned count;

static void meet(enum meeting who)
{
	crowd_meet(&board->barrier[who]);
}

static unsigned place_at(unsigned self, int offset)
{
	return (unsigned)((int)(self + count) + offset) % count;
}

static void open_device(struct member *m, unsigned self)
{
	double start = crowd_now_s();
	struct loop *l = &m->l;

	m->mr = crowd_open(l, 64, m, sizeof(*m));
	for (unsigned i = 0; i < QPS; i++) {
		m->qp[i] = loop_create_qp(l);
		EXPECT(m->qp[i]);
		board->place[self].qpn[i] = m->qp[i]->qp_num;
	}
	board->place[self].opened = crowd_now_s() - start;
	board->place[self].memory = crowd_own_memory();
}

/* Connects the QPs. Of its neighbours, a newcomer can reach only the next process but
 * one, because the direct neighbours no longer have QPs for it.
 */
static void connect_ring(struct member *m, unsigned self, bool newcomer)
{
	const struct place *p = board->place;

	if (!newcomer) {
		loop_connect(&m->l, m->qp[TO_NEXT], p[place_at(self, 1)].qpn[FROM_LAST]);
		loop_connect(&m->l, m->qp[FROM_LAST], p[place_at(self, -1)].qpn[TO_NEXT]);
	}
	loop_connect(&m->l, m->qp[TO_SECOND], p[place_at(self, 2)].qpn[FROM_SECOND]);
	loop_connect(&m->l, m->qp[FROM_SECOND], p[place_at(self, -2)].qpn[TO_SECOND]);
}

static void post_recv(struct member *m, struct ibv_qp *qp, unsigned i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)m->in[i],
			       .length = LEN,
			       .lkey = m->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	EXPECT(!ibv_post_recv(qp, &wr, &bad));
}

static void post_send(struct member *m, struct ibv_qp *qp)
{
	struct ibv_sge sge = { .addr = (uintptr_t)m->out,
			       .length = LEN,
			       .lkey = m->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	EXPECT(!ibv_post_send(qp, &wr, &bad));
}

/* Sends MESSAGES messages by QP @out, and receives as many by QP @in from process @from.
 */
static void talk(struct member *m, struct ibv_qp *out, struct ibv_qp *in, int from)
{
	unsigned sent = 0, received = 0;
	struct ibv_wc wc;

	while (sent < MESSAGES || received < MESSAGES) {
		int n = ibv_poll_cq(m->l.cq, 1, &wc);

		EXPECT(n >= 0);
		if (n == 0)
			continue;
		EXPECT(wc.status == IBV_WC_SUCCESS);
		if (wc.opcode & IBV_WC_RECV) {
			EXPECT(wc.qp_num == in->qp_num && wc.byte_len == LEN);
			for (unsigned k = 0; k < LEN; k++)
				EXPECT(m->in[wc.wr_id][k] == (uint8_t)from);
			received++;
		} else {
			EXPECT(wc.qp_num == out->qp_num);
			sent++;
		}
	}
}

static void exchange(struct member *m, unsigned self, int step, enum meeting who)
{
	struct ibv_qp *out = m->qp[step == 1 ? TO_NEXT : TO_SECOND];
	struct ibv_qp *in = m->qp[step == 1 ? FROM_LAST : FROM_SECOND];

	for (unsigned i = 0; i < MESSAGES; i++)
		post_recv(m, in, i);
	meet(who);
	for (unsigned i = 0; i < MESSAGES; i++)
		post_send(m, out);
	talk(m, out, in, (int)place_at(self, -step));
	meet(who);
}

/* Called when the next process is dead: a request to it can only fail after all retries.
 */
static void notice_death(struct member *m)
{
	struct ibv_wc wc;
	int n;

	post_send(m, m->qp[TO_NEXT]);
	do
		n = ibv_poll_cq(m->l.cq, 1, &wc);
	while (n == 0);
	EXPECT(n == 1 && wc.qp_num == m->qp[TO_NEXT]->qp_num);
	EXPECT(wc.status == IBV_WC_RETRY_EXC_ERR);
}

static void close_device(struct member *m)
{
	for (unsigned i = 0; i < QPS; i++)
		EXPECT(!ibv_destroy_qp(m->qp[i]));
	crowd_close(&m->l, m->mr);
}

static void live(unsigned self, bool newcomer)
{
	enum meeting who = newcomer ? NEWCOMERS : ALL;
	struct member *m = calloc(1, sizeof(*m));

	EXPECT(m);
	memset(m->out, (int)self, LEN);
	open_device(m, self);
	meet(who);
	connect_ring(m, self, newcomer);
	if (!newcomer) {
		exchange(m, self, 1, ALL);
		meet(ALL);
		if (self % 2)
			pause(); /* until the process is killed */
		meet(SURVIVORS);
		notice_death(m);
		who = SURVIVORS;
	}
	exchange(m, self, 2, who);
	close_device(m);
	free(m);
}

static pid_t start(unsigned self, bool newcomer)
{
	pid_t pid = crowd_enter();

	if (pid > 0)
		return pid;
	live(self, newcomer);
	crowd_leave();
}

static void reap(pid_t pid, bool killed)
{
	int status;

	EXPECT(waitpid(pid, &status, 0) == pid);
	if (killed)
		EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void init_board(void)
{
	board = crowd_share(sizeof(*board));
	for (unsigned i = 0; i < MEETINGS; i++)
		crowd_init_meeting(&board->barrier[i],
				   i == ALL ? count + 1 : count / 2 + 1);
}

static void report(double seconds)
{
	double longest = 0;
	size_t memory = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct place *p = &board->place[i];

		longest = p->opened > longest ? p->opened : longest;
		memory += p->memory / count;
	}
	printf("%u processes with %d QPs each: all open after %.2f s (the slowest took "
	       "%.2f s), %zu KiB of memory of its own each\n",
	       count, QPS, seconds, longest, memory >> 10);
	fflush(stdout);
}

/* All slots but one are in use: the parent takes this one, and a child process gets none.
 */
static void fill_up(void)
{
	struct member *m = calloc(1, sizeof(*m));
	struct loop l;
	pid_t pid;

	EXPECT(m);
	open_device(m, count);
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0) {
		l = (struct loop){ .ctx = loop_open_device() };
		l.pd = ibv_alloc_pd(l.ctx);
		l.cq = ibv_create_cq(l.ctx, 64, NULL, NULL, 0);
		EXPECT(l.pd && l.cq && !loop_create_qp(&l));
		printf("the next process is refused: errno %d\n", errno);
		exit(0);
	}
	reap(pid, false);
	close_device(m);
	free(m);
}

int main(int argc, char **argv)
{
	static pid_t pid[COUNT_MAX];
	double begin = crowd_now_s();

	count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	EXPECT(count >= 4 && count < COUNT_MAX && count % 2 == 0);
	init_board();
	for (unsigned i = 0; i < count; i++)
		pid[i] = start(i, false);
	meet(ALL);
	report(crowd_now_s() - begin);
	if (count == COUNT_MAX - 1)
		fill_up();
	/* exchange() has two of these meetings, and one is before the killing */
	for (unsigned i = 0; i < 3; i++)
		meet(ALL);
	for (unsigned i = 1; i < count; i += 2)
		EXPECT(!kill(pid[i], SIGKILL));
	for (unsigned i = 1; i < count; i += 2)
		reap(pid[i], true);
	meet(SURVIVORS);
	for (unsigned i = 0; i < 2; i++)
		meet(SURVIVORS);
	/* As many processes as have died; the survivors do not communicate with them. */
	for (unsigned i = 1; i < count; i += 2)
		pid[i] = start(i, true);
	for (unsigned i = 0; i < 3; i++)
		meet(NEWCOMERS);
	for (unsigned i = 0; i < count; i++)
		reap(pid[i], false);
	printf("half of them killed: the others went on, as many new ones came\n");
	return 0;
}
