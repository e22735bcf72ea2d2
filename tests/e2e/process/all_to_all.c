/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* all_to_all.c - many processes on one device. In each round, each of them sends messages
 * to each other one: first by UDP, then by local wires. When no process sends, the wires
 * must release memory.
 *
 * usage: all_to_all COUNT ROUNDS
 *
 * Each process has an RC queue pair for each other process.
 */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crowd.h"

enum {
	COUNT_MAX = 250,
	LEN = 64,
	AT_A_TIME = 8, /* number of requests that are in progress at once */
	REST_S = 3,    /* seconds; a ring releases unused memory in less time */
	LIMIT_S = 900, /* time limit of a round in seconds */
};

struct message {
	uint32_t from, to, round;
	uint8_t rest[LEN - 12];
};

static_assert(sizeof(struct message) == LEN, "no padding");

/* The data that the processes exchange. */
struct board {
	pthread_barrier_t barrier;
	double begin;
	struct place {
		/* numbers of the QPs that lead to the other processes */
		uint32_t qpn[COUNT_MAX];
		/* seconds from the common start until the device was open */
		double opened;
		size_t memory; /* bytes of memory that only this process has */
		/* this process's share of the memory of local wires, in bytes */
		size_t wires;
		size_t resting; /* the same while no process sends */
		unsigned files;
	} place[COUNT_MAX];
};

struct member {
	struct loop l;
	struct ibv_qp *qp[COUNT_MAX];
	struct ibv_mr *mr;
	unsigned self;
	struct message out[COUNT_MAX], in[COUNT_MAX];
};

static struct board *board;
static unsigned count, rounds;

/* ---- Memory of the processes ---- */
/* Returns the share of this process in the memory of local wires. Of a page that two
 * processes use, it is half, so that the sum over all processes is the total memory. A
 * page that only the other end has touched is counted there.
 */
static size_t wire_memory(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	bool is_wire = false;
	size_t sum = 0;
	char line[512];

	EXPECT(f);
	while (fgets(line, sizeof(line), f)) {
		size_t kib, from, to;

		if (sscanf(line, "%zx-%zx ", &from, &to) == 2)
			is_wire = strstr(line, "memfd:rocin-wire");
		if (is_wire && sscanf(line, "Pss: %zu kB", &kib) == 1)
			sum += kib << 10;
	}
	fclose(f);
	return sum;
}

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- One process ---- */
static void open_device(struct member *m)
{
	struct place *p = &board->place[m->self];
	struct loop *l = &m->l;

	m->mr = crowd_open(l, 2 * COUNT_MAX, m, sizeof(*m));
	for (unsigned i = 0; i < count; i++) {
		if (i == m->self)
			continue;
		m->qp[i] = loop_create_qp(l);
		EXPECT(m->qp[i]);
		p->qpn[i] = m->qp[i]->qp_num;
	}
	p->opened = crowd_now_s() - board->begin;
}

static void connect_all(struct member *m)
{
	for (unsigned i = 0; i < count; i++)
		if (i != m->self)
			loop_connect(&m->l, m->qp[i], board->place[i].qpn[m->self]);
}

static void post_receives(struct member *m)
{
	for (unsigned i = 0; i < count; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)&m->in[i],
				       .length = LEN,
				       .lkey = m->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
		struct ibv_recv_wr *bad;

		if (i != m->self)
			EXPECT(!ibv_post_recv(m->qp[i], &wr, &bad));
	}
}

static void post_send(struct member *m, unsigned to, unsigned round)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&m->out[to],
			       .length = LEN,
			       .lkey = m->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	m->out[to] = (struct message){ .from = m->self, .to = to, .round = round };
	memset(m->out[to].rest, (int)(m->self ^ to ^ round), sizeof(m->out[to].rest));
	EXPECT(!ibv_post_send(m->qp[to], &wr, &bad));
}

static void check(const struct member *m, const struct message *got, unsigned round,
		  bool *seen)
{
	EXPECT(got->from < count && got->to == m->self && got->round == round);
	EXPECT(!seen[got->from]);
	seen[got->from] = true;
	for (unsigned i = 0; i < sizeof(got->rest); i++)
		EXPECT(got->rest[i] == (uint8_t)(got->from ^ m->self ^ round));
}

static void one_round(struct member *m, unsigned round)
{
	unsigned next = 1, sent = 0, received = 0;
	bool seen[COUNT_MAX] = { false };
	double end = crowd_now_s() + LIMIT_S;

	post_receives(m);
	crowd_meet(&board->barrier);
	while (sent < count - 1 || received < count - 1) {
		struct ibv_wc wc;
		int n;

		if (next < count && next - 1 - sent < AT_A_TIME)
			post_send(m, (m->self + next++) % count, round);
		n = ibv_poll_cq(m->l.cq, 1, &wc);
		EXPECT(n >= 0 && crowd_now_s() < end);
		if (n == 0)
			continue;
		EXPECT(wc.status == IBV_WC_SUCCESS);
		if (wc.opcode & IBV_WC_RECV) {
			check(m, &m->in[wc.wr_id], round, seen);
			received++;
		} else {
			sent++;
		}
	}
	crowd_meet(&board->barrier);
}

static void live(unsigned self)
{
	struct member *m = calloc(1, sizeof(*m));
	struct place *p = &board->place[self];

	EXPECT(m);
	m->self = self;
	open_device(m);
	crowd_meet(&board->barrier);
	connect_all(m);
	crowd_meet(&board->barrier);
	for (unsigned i = 0; i < rounds; i++)
		one_round(m, i);
	p->files = open_files();
	p->memory = crowd_own_memory();
	p->wires = wire_memory();
	crowd_meet(&board->barrier);
	sleep(REST_S);
	p->resting = wire_memory();
	crowd_meet(&board->barrier);
	one_round(m, rounds);
	for (unsigned i = 0; i < count; i++)
		EXPECT(i == self || !ibv_destroy_qp(m->qp[i]));
	crowd_close(&m->l, m->mr);
	free(m);
}

static pid_t start(unsigned self)
{
	pid_t pid = crowd_enter();

	if (pid > 0)
		return pid;
	live(self);
	crowd_leave();
}

static void report(void)
{
	size_t memory = 0, wires = 0, resting = 0;
	double opened = 0;
	unsigned files = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct place *p = &board->place[i];

		opened = p->opened > opened ? p->opened : opened;
		files = p->files > files ? p->files : files;
		memory += p->memory / count;
		wires += p->wires;
		resting += p->resting;
	}
	printf("%u processes, all to all: all open after %.2f s, each with %zu KiB of "
	       "its own, "
	       "at most %u descriptors; local wires of all: %zu KiB, at rest %zu KiB\n",
	       count, opened, memory >> 10, files, wires >> 10, resting >> 10);
}

int main(int argc, char **argv)
{
	static pid_t pid[COUNT_MAX];

	count = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	EXPECT(count >= 2 && count <= COUNT_MAX && rounds > 0);
	board = crowd_share(sizeof(*board));
	crowd_init_meeting(&board->barrier, count);
	board->begin = crowd_now_s();
	for (unsigned i = 0; i < count; i++)
		pid[i] = start(i);
	for (unsigned i = 0; i < count; i++) {
		int status;

		EXPECT(waitpid(pid[i], &status, 0) == pid[i]);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	report();
	return 0;
}
