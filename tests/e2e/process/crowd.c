/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* crowd.c - see crowd.h. */
#include "crowd.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static bool ended_well;

double crowd_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

size_t crowd_own_memory(void)
{
	unsigned long size = 0, pages = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	EXPECT(f && fscanf(f, "%lu %lu %lu", &size, &pages, &shared) == 3);
	fclose(f);
	return (pages - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

void *crowd_share(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	EXPECT(mem != MAP_FAILED);
	return mem;
}

void crowd_init_meeting(pthread_barrier_t *meeting, unsigned count)
{
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	EXPECT(!pthread_barrier_init(meeting, &attr, count));
	pthread_barrierattr_destroy(&attr);
}

void crowd_meet(pthread_barrier_t *meeting)
{
	int rc = pthread_barrier_wait(meeting);

	EXPECT(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void tell_parent(void)
{
	if (!ended_well)
		kill(getppid(), SIGTERM);
}

pid_t crowd_enter(void)
{
	pid_t parent = getpid(), pid = fork();

	EXPECT(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	EXPECT(getppid() == parent && !atexit(tell_parent));
	return 0;
}

void crowd_leave(void)
{
	ended_well = true;
	exit(0);
}

struct ibv_mr *crowd_open(struct loop *l, int cqes, void *memory, size_t len)
{
	struct ibv_mr *mr;

	l->ctx = loop_open_device();
	l->pd = ibv_alloc_pd(l->ctx);
	l->cq = ibv_create_cq(l->ctx, cqes, NULL, NULL, 0);
	EXPECT(l->pd && l->cq && !ibv_query_gid(l->ctx, 1, 0, &l->gid));
	mr = ibv_reg_mr(l->pd, memory, len, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(mr);
	return mr;
}

void crowd_close(struct loop *l, struct ibv_mr *mr)
{
	EXPECT(!ibv_dereg_mr(mr) && !ibv_destroy_cq(l->cq) && !ibv_dealloc_pd(l->pd) &&
	       !ibv_close_device(l->ctx));
}
