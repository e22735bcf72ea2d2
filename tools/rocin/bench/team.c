/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* team.c - teams of processes, which make the measurements (bench.h): how a process
 * executes orders, and how the process that gives the orders starts, controls and ends
 * the others.
 */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/rocin/common/child.h"
#include "transport/io/host/clock.h"

/* ----------------------------------------------------------- one process of a team */
static const struct rn_bench_ops *const ops_of[RN_BENCH_ITEM_COUNT] = {
	[RN_BENCH_WRITE_BW] = &rn_bench_stream_ops,
	[RN_BENCH_READ_BW] = &rn_bench_stream_ops,
	[RN_BENCH_SEND_BW] = &rn_bench_stream_ops,
	[RN_BENCH_TCP_BW] = &rn_bench_tcp_bw_ops,
	[RN_BENCH_TCP_POLL_BW] = &rn_bench_tcp_bw_ops,
	[RN_BENCH_UDP_BW] = &rn_bench_udp_bw_ops,
	[RN_BENCH_UDP_MMSG_BW] = &rn_bench_udp_bw_ops,
	[RN_BENCH_UDP_CRC_BW] = &rn_bench_udp_bw_ops,
	[RN_BENCH_RING_BW] = &rn_bench_ring_ops,
	[RN_BENCH_MEMCPY_BW] = &rn_bench_memcpy_ops,
	[RN_BENCH_SEND_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_EVENT_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_WRITE_LAT] = &rn_bench_ping_pong_ops,
	[RN_BENCH_READ_LAT] = &rn_bench_alone_ops,
	[RN_BENCH_ATOMIC_LAT] = &rn_bench_alone_ops,
	[RN_BENCH_UDP_LAT] = &rn_bench_udp_lat_ops,
	[RN_BENCH_LINE_LAT] = &rn_bench_line_ops,
	[RN_BENCH_TCP_LAT] = &rn_bench_tcp_lat_ops,
	[RN_BENCH_TCP_POLL_LAT] = &rn_bench_tcp_lat_ops,
	[RN_BENCH_SEND_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_WRITE_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_ATOMIC_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_BURST_RATE] = &rn_bench_stream_ops,
	[RN_BENCH_UDP_RATE] = &rn_bench_udp_bw_ops,
	[RN_BENCH_UDP_WINDOW_RATE] = &rn_bench_udp_bw_ops,
};

struct member {
	struct rn_bench_end *end;
	const struct rn_bench_plan *plan;
	bool pin;
	void *state[RN_BENCH_CELLS_MAX];
};

/* Two clocks, read at one moment: the CPU time of all threads of the process, and the
 * monotonic clock.
 */
struct clocks {
	rn_ns cpu, wall;
};

static struct clocks read_clocks(void)
{
	return (struct clocks){ rn_clock(CLOCK_PROCESS_CPUTIME_ID),
				rn_clock(CLOCK_MONOTONIC) };
}

static const struct rn_bench_ops *ops_for(const struct rn_bench_cell *cell)
{
	return cell->threads > 1 || cell->sharing == RN_BENCH_THREAD_DOMAIN
		       ? &rn_bench_threads_ops
		       : ops_of[cell->item];
}

static int run_slice(struct rn_bench_end *end, void *state,
		     struct rn_bench_answer *answer)
{
	struct clocks before, after;
	const struct rn_bench_ops *ops = ops_for(end->cell);
	struct rn_bench_shared *shared = end->shared;

	if (end->role == RN_BENCH_SENDER) {
		atomic_store(&shared->received, 0);
		atomic_store(&shared->sent, 0);
		atomic_store(&shared->stop, false);
		memset(&shared->times, 0, sizeof(shared->times));
	}
	if (ops->fill)
		ops->fill(end, state);
	if (rn_bench_meet(end))
		return -1;
	before = read_clocks();
	if (ops->run(end, state, &answer->value))
		return -1;
	after = read_clocks();
	answer->cpu_ns = (uint64_t)(after.cpu - before.cpu);
	answer->wall_ns = (uint64_t)(after.wall - before.wall);
	if (end->role == RN_BENCH_SENDER)
		atomic_store_explicit(&shared->stop, true, memory_order_release);
	if (rn_bench_meet(end) || (ops->check && ops->check(end, state)))
		return -1;
	/* Waits until the other process has checked its data, too, because the next slice
	 * overwrites them.
	 */
	return rn_bench_meet(end);
}

/* Binds the process to a processor (CPU), unless it is bound already. Called after the
 * devices were opened, so that the plugin's own thread is not bound. @cell: any cell of
 * the team, because all of them have the same numbers of pairs and threads. Threads bind
 * themselves (threads.c).
 */
static int pin_for(struct member *m, unsigned cell)
{
	const struct rn_bench_cell *c = &m->plan->cell[cell];
	struct rn_bench_end *end = m->end;

	end->pins = m->pin;
	if (!m->pin || end->pinned || c->threads > 1)
		return 0;
	end->pinned = c->packed ? rn_bench_pin_packed()
				: rn_bench_pin(2 * end->pair + end->role, 2 * c->pairs);
	return 0;
}

static void carry_out(struct member *m, const struct rn_bench_order *order,
		      struct rn_bench_answer *answer)
{
	struct rn_bench_end *end = m->end;
	void **state = &m->state[order->cell];

	end->cell = &m->plan->cell[order->cell];
	end->round = order->round;
	if (order->path_mtu)
		end->path_mtu = order->path_mtu;
	answer->value = NAN;
	switch (order->what) {
	case RN_BENCH_ORDER_OPEN:
		answer->rc = ops_for(end->cell)->open(end, state);
		break;
	case RN_BENCH_ORDER_PIN:
		answer->rc = pin_for(m, order->cell);
		break;
	case RN_BENCH_ORDER_SLICE:
		answer->rc = run_slice(end, *state, answer);
		break;
	case RN_BENCH_ORDER_END:
		break;
	}
	answer->path_mtu = end->path_mtu;
	answer->pinned = end->pinned;
}

static void close_all(struct member *m)
{
	for (unsigned i = 0; i < m->plan->cells; i++)
		if (m->state[i])
			ops_for(&m->plan->cell[i])->close(m->state[i]);
}

static bool next_order(int fd, struct rn_bench_order *order)
{
	ssize_t n;

	do
		n = recv(fd, order, sizeof(*order), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*order) && order->what != RN_BENCH_ORDER_END;
}

/* Executes the orders that come from @fd, until RN_BENCH_ORDER_END comes or the process
 * that sends orders has ended. Then ends this process.
 */
static void obey_orders(struct rn_bench_end *end, const struct rn_bench_plan *plan,
			bool pin, int fd)
{
	static struct member m;
	struct rn_bench_order order;
	int rc = 0;

	m = (struct member){ .end = end, .plan = plan, .pin = pin };
	while (rc == 0 && next_order(fd, &order)) {
		struct rn_bench_answer answer = { 0 };

		carry_out(&m, &order, &answer);
		rc = answer.rc;
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			rc = -1;
	}
	/* Connections are closed only after the other process has received its last data.
	 */
	if (rc == 0)
		rc = rn_bench_meet(end);
	close_all(&m);
	exit(rc ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* ----------------------------------------------- control of the processes of a team */
enum {
	/* Time in ms that a team may take for an order, in addition to the time slice. It
	 * suffices even if each of its processes gets only a fiftieth of a processor.
	 */
	ANSWER_MS = 600000,
	/* ms that a team may take to close everything; 10000 QPs take long */
	END_MS = 20000
};

bool rn_bench_same_team(const struct rn_bench_cell *a, const struct rn_bench_cell *b)
{
	enum rn_bench_family fa = rn_bench_item_info[a->item].family;
	enum rn_bench_family fb = rn_bench_item_info[b->item].family;

	if (a->pairs != b->pairs || a->packed != b->packed || a->threads != b->threads ||
	    (fa == RN_BENCH_VERBS) != (fb == RN_BENCH_VERBS))
		return false;
	/* Measurements without verbs need no settings of a device, so one team of
	 * processes makes all of them.
	 */
	return fa != RN_BENCH_VERBS ||
	       (a->wire == b->wire && a->qps == b->qps && a->rcvbuf == b->rcvbuf);
}

/* ---- Starting the processes of a team ---- */

/* Sets the environment variables ROCIN_*, which the plugin reads when the device is
 * opened later.
 */
static void set_environment(const struct rn_bench_cell *cell)
{
	const char *local = getenv("ROCIN_LOCAL");
	char rcvbuf[16];

	if (rn_bench_item_info[cell->item].family != RN_BENCH_VERBS)
		return;
	/* If the user has set ROCIN_LOCAL=no-icrc, that setting stays for cells over the
	 * local wire.
	 */
	if (cell->wire != RN_BENCH_OVER_LOCAL)
		setenv("ROCIN_LOCAL", "off", 1);
	else if (!local || strcmp(local, "no-icrc") != 0)
		setenv("ROCIN_LOCAL", "auto", 1);
	if (!cell->rcvbuf)
		return;
	snprintf(rcvbuf, sizeof(rcvbuf), "%u", cell->rcvbuf);
	setenv("ROCIN_RCVBUF", rcvbuf, 1);
}

struct start {
	const struct rn_bench_args *args;
	const struct rn_bench_plan *plan;
	const struct rn_bench_cell *cell;
	pid_t parent;
	unsigned pair; /* number of the pair that is started, from 0 */
};

static void become_member(const struct start *s, struct rn_bench_pair *pair,
			  enum rn_bench_role role, int meet_fd, int order_fd)
{
	struct rn_bench_end end = {
		.role = role,
		.pair = s->pair,
		.shared = pair->shared,
		.meet_fd = meet_fd,
		.slice_ns = s->plan->slice_ms * UINT64_C(1000000),
		.path_mtu = 4096,
		.device = s->cell->wire == RN_BENCH_OVER_BESIDE ? s->args->beside : NULL,
	};

	rn_end_with_parent(s->parent);
	set_environment(s->cell);
	obey_orders(&end, s->plan, s->args->pin, order_fd);
}

static int start_process(const struct start *s, struct rn_bench_pair *pair,
			 enum rn_bench_role role, int meet_fd)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	pair->pid[role] = fork();
	if (pair->pid[role] == 0) {
		close(fd[0]);
		/* The parent's socket to the sender must be closed in the receiver. If it
		 * stayed open, the sender would not notice when the parent ends.
		 */
		if (role == RN_BENCH_RECEIVER)
			close(pair->fd[RN_BENCH_SENDER]);
		become_member(s, pair, role, meet_fd, fd[1]);
	}
	close(fd[1]);
	pair->fd[role] = fd[0];
	if (pair->pid[role] > 0)
		return 0;
	pair->pid[role] = 0;
	return -errno;
}

static int start_pair(const struct start *s, struct rn_bench_pair *pair)
{
	int fd[2], rc;

	pair->shared = mmap(NULL, sizeof(*pair->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pair->shared == MAP_FAILED) {
		pair->shared = NULL;
		return -ENOMEM;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -errno;
	rc = start_process(s, pair, RN_BENCH_SENDER, fd[0]);
	close(fd[0]);
	if (!rc)
		rc = start_process(s, pair, RN_BENCH_RECEIVER, fd[1]);
	close(fd[1]);
	return rc;
}

int rn_bench_team_start(struct rn_bench_team *team, const struct rn_bench_args *args,
			const struct rn_bench_plan *plan,
			const struct rn_bench_cell *cell)
{
	struct start s = { .args = args, .plan = plan, .cell = cell, .parent = getpid() };
	int rc = 0;

	*team = (struct rn_bench_team){ .like = *cell,
					.plan = plan,
					.pairs = cell->pairs };
	for (unsigned i = 0; i < team->pairs; i++)
		team->pair[i].fd[0] = team->pair[i].fd[1] = -1;
	for (unsigned i = 0; rc == 0 && i < team->pairs; i++) {
		s.pair = i;
		rc = start_pair(&s, &team->pair[i]);
	}
	return rc;
}

/* ---- Giving orders to the processes ---- */

static void fail_all(struct rn_bench_team *team)
{
	for (unsigned i = 0; i < team->pairs; i++)
		if (team->pair[i].shared)
			atomic_store(&team->pair[i].shared->failed, true);
}

/* Writes the reason of a failure to @err: the error text that a process has stored or, if
 * there is none, how process number @ended has ended (-1: none has ended). Returns -1.
 */
static int explain(struct rn_bench_team *team, int ended, char *err, size_t err_len)
{
	siginfo_t info = { 0 };

	fail_all(team);
	for (unsigned i = 0; i < team->pairs; i++)
		for (unsigned role = 0; role < 2; role++)
			if (*team->pair[i].shared->sentence[role]) {
				snprintf(err, err_len, "%s",
					 team->pair[i].shared->sentence[role]);
				return -1;
			}
	if (ended < 0) {
		snprintf(err, err_len, "a measuring process does not answer");
		return -1;
	}
	/* The process has closed its socket, so it has ended or will soon. */
	if (waitid(P_PID, (id_t)team->pair[ended / 2].pid[ended % 2], &info,
		   WEXITED | WNOWAIT) == 0 &&
	    info.si_code != CLD_EXITED)
		snprintf(err, err_len, "the %s process died of signal %d",
			 ended % 2 ? "receiving" : "sending", info.si_status);
	else
		snprintf(err, err_len, "the %s process ended too early",
			 ended % 2 ? "receiving" : "sending");
	return -1;
}

static struct rn_bench_pair *pair_of(struct rn_bench_team *team, unsigned i)
{
	return &team->pair[i / 2];
}

/* The answers of a team's processes after a slice. @value: the results of the senders.
 * @cores: CPU time of all processes together, divided by the time of the slice.
 */
struct answers {
	double value[RN_BENCH_PAIRS_MAX];
	double cores;
};

static void gather(struct rn_bench_team *team, const struct rn_bench_order *order,
		   const struct answers *a, struct rn_bench_value *value)
{
	static struct rn_bench_times all;
	enum rn_bench_kind kind =
		rn_bench_item_info[team->plan->cell[order->cell].item].kind;
	double sum = 0;

	memset(&all, 0, sizeof(all));
	for (unsigned i = 0; i < team->pairs; i++) {
		sum += a->value[i];
		rn_bench_times_merge(&all, &team->pair[i].shared->times);
	}
	*value = (struct rn_bench_value){
		.value = kind == RN_BENCH_LAT ? sum / team->pairs : sum,
		.cores = a->cores,
		.p50 = rn_bench_times_quantile(&all, 0.5) * 1e-3,
		.p99 = rn_bench_times_quantile(&all, 0.99) * 1e-3,
		.p99_9 = rn_bench_times_quantile(&all, 0.999) * 1e-3,
	};
	value->cpu = rn_bench_cpu_each(kind, value->value, a->cores, team->pairs);
}

int rn_bench_team_do(struct rn_bench_team *team, const struct rn_bench_order *order,
		     struct rn_bench_value *value, struct rn_bench_answer *answer,
		     char *err, size_t err_len)
{
	struct pollfd fds[2 * RN_BENCH_PAIRS_MAX];
	unsigned count = 2 * team->pairs, left = count;
	struct answers answers = { 0 };
	int patience = ANSWER_MS + 3 * (int)team->plan->slice_ms;

	for (unsigned i = 0; i < count; i++) {
		fds[i] = (struct pollfd){ pair_of(team, i)->fd[i % 2], POLLIN, 0 };
		if (send(fds[i].fd, order, sizeof(*order), MSG_NOSIGNAL) < 0)
			return explain(team, (int)i, err, err_len);
	}
	while (left > 0) {
		int n = poll(fds, count, patience);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return explain(team, -1, err, err_len);
		for (unsigned i = 0; i < count; i++) {
			if (!fds[i].revents)
				continue;
			if (recv(fds[i].fd, answer, sizeof(*answer), 0) !=
				    sizeof(*answer) ||
			    answer->rc)
				return explain(team, (int)i, err, err_len);
			if (i % 2 == RN_BENCH_SENDER)
				answers.value[i / 2] = answer->value;
			if (answer->wall_ns)
				answers.cores +=
					(double)answer->cpu_ns / (double)answer->wall_ns;
			fds[i].fd = -1;
			left--;
		}
	}
	gather(team, order, &answers, value);
	return 0;
}

/* ---- Ending the processes of a team ---- */

/* Waits until the process at the other end of @fd ends, which closes its socket. Returns
 * false if that takes too long.
 */
static bool await_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = 0 };
	int n;

	do
		n = poll(&p, 1, END_MS);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static int end_process(struct rn_bench_pair *pair, unsigned role, bool failed)
{
	int status = 0;

	if (pair->pid[role]) {
		/* After a failure the process may be waiting for something that will
		 * never come, so it is killed.
		 */
		if (failed || !await_end(pair->fd[role]))
			kill(pair->pid[role], SIGKILL);
		while (waitpid(pair->pid[role], &status, 0) < 0 && errno == EINTR)
			;
	}
	if (pair->fd[role] >= 0)
		close(pair->fd[role]);
	return status ? -1 : 0;
}

int rn_bench_team_end(struct rn_bench_team *team)
{
	static const struct rn_bench_order end = { .what = RN_BENCH_ORDER_END };
	bool failed = false;
	int rc = 0;

	for (unsigned i = 0; i < 2 * team->pairs; i++) {
		struct rn_bench_pair *pair = pair_of(team, i);

		failed |= !pair->shared || atomic_load(&pair->shared->failed);
		if (pair->fd[i % 2] >= 0)
			(void)send(pair->fd[i % 2], &end, sizeof(end), MSG_NOSIGNAL);
	}
	for (unsigned i = 0; i < 2 * team->pairs; i++)
		rc |= end_process(pair_of(team, i), i % 2, failed);
	for (unsigned i = 0; i < team->pairs; i++)
		if (team->pair[i].shared)
			munmap(team->pair[i].shared, sizeof(*team->pair[i].shared));
	return rc;
}
