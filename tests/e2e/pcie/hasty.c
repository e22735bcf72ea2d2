/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hasty.c - programs with small mistakes in the use of memory, and the same programs
 * without the mistake, for tests of the sanitizer. The argument is the name of one of
 * them. One process with two RC queue pairs.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	LEN = 256,
};

static struct loop l;
static uint8_t *here, *there; /* two registered buffers of LEN bytes */
static struct ibv_mr *mr;
static unsigned to_poll;

static void post(enum ibv_wr_opcode opcode, void *local, uint32_t len, const void *remote,
		 unsigned flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local,
			       .length = len,
			       .lkey = mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 0x70 + to_poll,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = opcode,
					.send_flags = flags };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)remote;
		wr.wr.atomic.rkey = mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)remote;
		wr.wr.rdma.rkey = mr->rkey;
	}
	EXPECT(ibv_post_send(l.qp[0], &wr, &bad) == 0);
	to_poll += (flags & IBV_SEND_SIGNALED) != 0;
}

static void poll_all(void)
{
	struct ibv_wc wc;
	int n;

	while (to_poll) {
		n = ibv_poll_cq(l.cq, 1, &wc);
		EXPECT(n >= 0);
		EXPECT(n == 0 || wc.status == IBV_WC_SUCCESS);
		to_poll -= (unsigned)n;
	}
}

static void write_there(void *local, unsigned flags)
{
	post(IBV_WR_RDMA_WRITE, local, LEN, there, IBV_SEND_SIGNALED | flags);
}

/* ------------------------------------------------------------- mistakes with buffers */
static void source(void)
{
	write_there(here, 0);
	here[0]++;
	poll_all();
}

static void last_byte(void)
{
	write_there(here, 0);
	here[LEN - 1]++;
	poll_all();
}

/* The buffer consists of whole pages, so the sanitizer can report the store itself. */
static void page(void)
{
	post(IBV_WR_RDMA_WRITE, here, 4096, there, IBV_SEND_SIGNALED);
	here[100]++;
	poll_all();
}

/* The second completion shows that the first request has completed, too. Before it,
 * nothing shows that.
 */
static void source_unsignaled(void)
{
	post(IBV_WR_RDMA_WRITE, here, LEN / 2, there, 0);
	write_there(here, 0);
	here[0]++;
	poll_all();
}

static void polled(void)
{
	post(IBV_WR_RDMA_WRITE, here, LEN / 2, there, 0);
	write_there(here, 0);
	poll_all();
	memset(here, 2, LEN);
	write_there(here, 0);
	poll_all();
}

static void inlined(void)
{
	post(IBV_WR_RDMA_WRITE, here, 32, there, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	memset(here, 2, LEN);
	poll_all();
}

/* No mistake: it is the device that writes to the buffer, not the program. */
static void received_into(void)
{
	write_there(here, 0);
	post(IBV_WR_RDMA_WRITE, there, LEN, here, IBV_SEND_SIGNALED);
	poll_all();
}

static void thrice(void)
{
	for (int i = 0; i < 3; i++)
		source();
}

/* -------------------------------------------------------------- mistakes with fences */
static void read_here(unsigned flags)
{
	post(IBV_WR_RDMA_READ, here, LEN, there, IBV_SEND_SIGNALED | flags);
}

static void fence_local(void)
{
	read_here(0);
	post(IBV_WR_RDMA_WRITE, here + 8, 8, there + LEN - 8, IBV_SEND_SIGNALED);
	poll_all();
}

static void fence_remote(void)
{
	read_here(0);
	post(IBV_WR_RDMA_WRITE, there, 8, there + 8, IBV_SEND_SIGNALED);
	poll_all();
}

static void fence_atomic(void)
{
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, here, 8, there, IBV_SEND_SIGNALED);
	post(IBV_WR_RDMA_WRITE, there + 64, 8, there, IBV_SEND_SIGNALED);
	poll_all();
}

/* A fence of a request between the two others is sufficient for both. */
static void fenced(void)
{
	read_here(0);
	post(IBV_WR_RDMA_WRITE, here, 8, there, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	post(IBV_WR_RDMA_WRITE, here, 8, there, IBV_SEND_SIGNALED);
	poll_all();
	read_here(0);
	poll_all();
	write_there(here, 0);
	poll_all();
	/* These two have no bytes in common. */
	post(IBV_WR_RDMA_READ, here, 8, there, IBV_SEND_SIGNALED);
	post(IBV_WR_RDMA_WRITE, here + 8, 8, there + 8, IBV_SEND_SIGNALED);
	/* These two are executed in order even without a fence. */
	post(IBV_WR_RDMA_WRITE, here + 16, 8, there + 16, IBV_SEND_SIGNALED);
	post(IBV_WR_RDMA_READ, here + 24, 8, there + 16, IBV_SEND_SIGNALED);
	poll_all();
}

static void both(void)
{
	source();
	fence_local();
}

/* 320 mistakes, each at another place in the code. */
#define FOUR(calls) calls calls calls calls
static void many(void)
{
	void (*volatile mistake)(void) = source;

	FOUR(FOUR(FOUR(FOUR(mistake();))))
	FOUR(FOUR(FOUR(mistake();)))
}

/* ---------------------------------------------------- handlers of the program's own */
static void end_at_once(int sig)
{
	(void)sig;
	_exit(9);
}

/* struct sigaction as the kernel defines it. */
struct kernel_action {
	void (*handler)(int sig);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* Sets a handler by a system call, as programs do whose language has a runtime without
 * libc.
 */
static void handle_by_system_call(int sig)
{
	struct kernel_action a = { .handler = end_at_once,
				   .flags = 0x04000000, /* SA_RESTORER */
				   .restorer = abort };

	EXPECT(syscall(SYS_rt_sigaction, sig, &a, NULL, sizeof(a.mask)) == 0);
}

static void handler(void)
{
	EXPECT(signal(SIGSEGV, end_at_once) != SIG_ERR);
	page();
	EXPECT(signal(SIGSEGV, end_at_once) == end_at_once);
}

static void raw_handler(void)
{
	handle_by_system_call(SIGSEGV);
	page();
}

/* Reads the target of WRITEs before a completion shows that their data has arrived. */
static void look(void)
{
	volatile uint8_t *at = there;

	for (unsigned round = 0; round < 3; round++) {
		write_there(here, 0);
		poll_all();
		EXPECT(at[0] + at[1] + at[2] > 0);
	}
}

static void trap_handler(void)
{
	EXPECT(signal(SIGTRAP, end_at_once) != SIG_ERR);
	look();
}

static void trap_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	EXPECT(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	look();
}

/* ------------------------------------------------------------------ the end */
static void fails(void)
{
	source();
	exit(3);
}

/* The child process makes no mistake and ends with status 0. */
static void forks(void)
{
	int status;
	pid_t pid;

	source();
	pid = fork();
	EXPECT(pid >= 0);
	if (pid == 0)
		exit(0);
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "source", source },
	{ "source-last-byte", last_byte },
	{ "page", page },
	{ "source-unsignaled", source_unsignaled },
	{ "polled", polled },
	{ "inlined", inlined },
	{ "received-into", received_into },
	{ "thrice", thrice },
	{ "fence-local", fence_local },
	{ "fence-remote", fence_remote },
	{ "fence-atomic", fence_atomic },
	{ "fenced", fenced },
	{ "both", both },
	{ "many", many },
	{ "look", look },
	{ "handler", handler },
	{ "raw-handler", raw_handler },
	{ "trap-handler", trap_handler },
	{ "trap-blocked", trap_blocked },
	{ "fails", fails },
	{ "forks", forks },
};

int main(int argc, char **argv)
{
	bool found = false;

	EXPECT(argc == 2);
	loop_open(&l);
	here = aligned_alloc(4096, 8192);
	EXPECT(here);
	memset(here, 1, 8192);
	there = here + 4096;
	mr = ibv_reg_mr(l.pd, here, 8192,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	EXPECT(mr);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		cases[i].run();
		found = true;
	}
	EXPECT(found);
	ibv_dereg_mr(mr);
	free(here);
	loop_close(&l);
	return 0;
}
