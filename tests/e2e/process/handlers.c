/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* handlers.c - a program that sets handlers of SIGSEGV and SIGBUS and blocks these
 * signals, while a peer writes to memory that the program has unmapped. The program must
 * survive, its handlers must be called only for its own faults, and sigaction() must
 * report the handlers that the program has set.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"
#include "tests/kit/apart.h"

/* old programs use such functions */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum {
	LEN = 65536
};

static struct loop l;
static uint8_t *good;
static struct ibv_mr *good_mr;
static sigjmp_buf escape;
static uint8_t *hole; /* unmapped memory that the program itself accesses */

static void set_up(void)
{
	loop_open(&l);
	good_mr = ibv_reg_mr(l.pd, good, LEN, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(good_mr);
}

static void tear_down(void)
{
	EXPECT(!ibv_dereg_mr(good_mr));
	loop_close(&l);
}

/* Registers memory and unmaps it. The device notices this only by a fault of its own. */
static struct ibv_mr *gone_memory(void)
{
	void *mem = map_apart(LEN, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;

	EXPECT(mem);
	mr = ibv_reg_mr(l.pd, mem, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	EXPECT(mr);
	munmap(mem, LEN);
	return mr;
}

static void write_to(struct ibv_mr *mr)
{
	struct loop_request r = { .opcode = IBV_WR_RDMA_WRITE,
				  .local = good,
				  .len = LEN,
				  .lkey = good_mr->lkey,
				  .remote = mr->addr,
				  .rkey = mr->rkey };
	enum ibv_wc_status status = loop_run(&l, &r, NULL);

	EXPECT(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_OP_ERR);
}

/* Checks that the program survives. @meanwhile is called between the registration and the
 * WRITE of the peer.
 */
static void lives(void (*meanwhile)(void))
{
	struct ibv_mr *mr;

	set_up();
	mr = gone_memory();
	meanwhile();
	write_to(mr);
	EXPECT(!ibv_dereg_mr(mr));
	tear_down();
}

/* ------------------------------------------------------------------------ handlers */
static void plain(int sig)
{
	siglongjmp(escape, sig);
}

static void with_info(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	if (info->si_addr < (void *)hole || info->si_addr >= (void *)(hole + 4096))
		_exit(9); /* the handler was called for a fault of the device */
	siglongjmp(escape, sig);
}

static struct sigaction action(unsigned flags)
{
	struct sigaction act = { .sa_flags = (int)flags };

	if (flags & SA_SIGINFO)
		act.sa_sigaction = with_info;
	else
		act.sa_handler = plain;
	return act;
}

static void set_by_sigaction(void)
{
	const struct sigaction act = action(SA_SIGINFO);

	EXPECT(!sigaction(SIGSEGV, &act, NULL) && !sigaction(SIGBUS, &act, NULL));
}

static void set_by_signal(void)
{
	EXPECT(signal(SIGSEGV, plain) != SIG_ERR && signal(SIGBUS, plain) != SIG_ERR);
}

static void set_to_default(void)
{
	EXPECT(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
	EXPECT(sigignore(SIGBUS) == 0);
}

static void set_by_sysv_signal(void)
{
	EXPECT(sysv_signal(SIGSEGV, plain) != SIG_ERR);
	EXPECT(sigset(SIGBUS, plain) != SIG_ERR);
}

/* Sets more different handlers than the library remembers. */
static void set_many(void)
{
	struct sigaction act = action(SA_SIGINFO), was;

	for (int sig = 32; sig < 64; sig++)
		for (int other = sig + 1; other < 64; other += 4) {
			sigemptyset(&act.sa_mask);
			sigaddset(&act.sa_mask, sig);
			sigaddset(&act.sa_mask, other);
			EXPECT(!sigaction(SIGSEGV, &act, NULL));
			EXPECT(!sigaction(SIGSEGV, NULL, &was));
			EXPECT(was.sa_sigaction == with_info);
		}
}

/* sigaction() must report what the program has set. */
static void handlers_are_what_they_were_set_to(void)
{
	struct sigaction first = action(SA_SIGINFO), second = action(SA_RESTART), was;

	EXPECT(!sigaction(SIGSEGV, &first, NULL));
	EXPECT(!sigaction(SIGSEGV, &second, &was));
	EXPECT(was.sa_sigaction == with_info && was.sa_flags & SA_SIGINFO);
	EXPECT(!sigaction(SIGSEGV, NULL, &was));
	EXPECT(was.sa_handler == plain && was.sa_flags & SA_RESTART);
	EXPECT(signal(SIGSEGV, SIG_DFL) == plain);
	EXPECT(signal(SIGSEGV, plain) == SIG_DFL);
	EXPECT(sigaction(SIGKILL, &first, NULL) < 0);
}

static void own_faults_reach_the_own_handler(void)
{
	int sig = sigsetjmp(escape, 1);

	if (!sig) {
		set_by_sigaction();
		*(volatile uint8_t *)hole = 1;
	}
	EXPECT(sig == SIGSEGV);
	sig = sigsetjmp(escape, 1);
	if (!sig) {
		set_by_sysv_signal();
		*(volatile uint8_t *)hole = 1;
	}
	EXPECT(sig == SIGSEGV);
	/* the handler was for one signal only */
	EXPECT(signal(SIGSEGV, plain) == SIG_DFL);
}

/* Sets handlers all the time while the device works. */
static atomic_bool done;

static void *sets_handlers(void *arg)
{
	(void)arg;
	while (!atomic_load(&done)) {
		set_by_sigaction();
		set_by_signal();
		set_to_default();
	}
	return NULL;
}

static void another_thread_sets_handlers_all_the_time(void)
{
	pthread_t thread;

	EXPECT(!pthread_create(&thread, NULL, sets_handlers, NULL));
	for (unsigned i = 0; i < 50; i++) {
		struct ibv_mr *mr;

		set_up();
		mr = gone_memory();
		write_to(mr);
		EXPECT(!ibv_dereg_mr(mr));
		tear_down();
	}
	atomic_store(&done, true);
	pthread_join(thread, NULL);
}

/* --------------------------------------------------------------------------- masks */
static void change(int how)
{
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGSEGV);
	sigaddset(&both, SIGBUS);
	EXPECT(!pthread_sigmask(how, &both, NULL));
}

static bool is_blocked(void)
{
	sigset_t now;

	EXPECT(!sigprocmask(SIG_BLOCK, NULL, &now));
	return sigismember(&now, SIGSEGV) == 1;
}

/* Lets the device use memory, so that it has examined the signal mask just before. */
static void use(void)
{
	static uint8_t target[64];
	struct ibv_mr *mr = ibv_reg_mr(l.pd, target, sizeof(target),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct loop_request r = { .opcode = IBV_WR_RDMA_WRITE,
				  .local = good,
				  .len = sizeof(target),
				  .lkey = good_mr->lkey,
				  .remote = target };

	EXPECT(mr);
	r.rkey = mr->rkey;
	for (unsigned i = 0; i < 10; i++)
		EXPECT(loop_run(&l, &r, NULL) == IBV_WC_SUCCESS);
	EXPECT(!ibv_dereg_mr(mr));
}

static void block(void)
{
	use();
	change(SIG_BLOCK);
}

static void block_by_jump(void)
{
	change(SIG_BLOCK);
	if (sigsetjmp(escape, 1))
		return;
	change(SIG_UNBLOCK);
	use();
	siglongjmp(escape, 1);
}

static void block_by_context(void)
{
	static ucontext_t ctx;
	static volatile bool again;

	again = false;
	change(SIG_BLOCK);
	EXPECT(!getcontext(&ctx));
	if (again)
		return;
	again = true;
	change(SIG_UNBLOCK);
	use();
	setcontext(&ctx);
}

static void lives_while_blocked(void (*by)(void))
{
	lives(by);
	EXPECT(is_blocked()); /* the mask must still be that of the program */
	change(SIG_UNBLOCK);
}

int main(void)
{
	static void (*const set[])(void) = { set_by_sigaction, set_by_signal,
					     set_to_default, set_by_sysv_signal };

	good = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(good != MAP_FAILED && hole != MAP_FAILED);
	for (unsigned i = 0; i < sizeof(set) / sizeof(set[0]); i++)
		lives(set[i]);
	lives(handlers_are_what_they_were_set_to);
	lives(own_faults_reach_the_own_handler);
	another_thread_sets_handlers_all_the_time();
	lives_while_blocked(block);
	lives_while_blocked(block_by_jump);
	lives_while_blocked(block_by_context);
	lives(set_many);
	puts("handlers: all as it should be");
	return 0;
}
