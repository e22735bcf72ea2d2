/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* many_qps.c - limits the time and the memory for 10 000 RC queue pairs in one process.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	COUNT = 10000,
	WRS = 16,
	/* Memory of a QP in bytes: 2 KiB, and 64 bytes for each WQE. The peer may have 4
	 * READs or atomics outstanding.
	 */
	BUDGET = 2048 + 2 * WRS * 64,
#ifdef __SANITIZE_ADDRESS__
	INSTRUMENTED = true,
#elif defined(__SANITIZE_THREAD__)
	INSTRUMENTED = true,
#else
	INSTRUMENTED = false,
#endif
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t resident(void)
{
	unsigned long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	EXPECT(f && fscanf(f, "%lu %lu", &size, &pages) == 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
	static struct ibv_qp *qp[COUNT];
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = WRS,
						  .max_recv_wr = WRS,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct loop l = { .ctx = loop_open_device() };
	double start, seconds;
	size_t before, per_qp;

	l.pd = ibv_alloc_pd(l.ctx);
	l.cq = ibv_create_cq(l.ctx, 64, NULL, NULL, 0);
	EXPECT(l.pd && l.cq);
	init.send_cq = init.recv_cq = l.cq;
	EXPECT(!ibv_query_gid(l.ctx, 1, 0, &l.gid));
	before = resident();
	start = now_s();
	for (unsigned i = 0; i < COUNT; i++) {
		qp[i] = ibv_create_qp(l.pd, &init);
		EXPECT(qp[i]);
	}
	for (unsigned i = 0; i < COUNT; i++)
		loop_connect(&l, qp[i], qp[i ^ 1]->qp_num);
	seconds = now_s() - start;
	per_qp = (resident() - before) / COUNT;
	printf("%d RC QPs of %d + %d WRs in RTS: %.2f s, %zu bytes each (at most %d)\n",
	       COUNT, WRS, WRS, seconds, per_qp, (int)BUDGET);
	EXPECT(INSTRUMENTED || per_qp <= BUDGET);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(!ibv_destroy_qp(qp[i]));
	EXPECT(!ibv_destroy_cq(l.cq) && !ibv_dealloc_pd(l.pd) &&
	       !ibv_close_device(l.ctx));
	return 0;
}
