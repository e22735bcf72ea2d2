/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* late.c - a stream that waits while a NIC writes: does it see what was written?
 *
 * The stream waits for a flag in host memory and then copies GPU memory to the host. Both
 * were submitted before. A NIC writes that GPU memory; the program sees the completion
 * and raises the flag. Whether the copy sees the data depends on the machine (attribute
 * GPU_DIRECT_RDMA_WRITES_ORDERING), unless the program flushes:
 *
 *	late none	nothing between completion and flag: wrong without order
 *	late flush	cuFlushGPUDirectRDMAWrites() between them: right everywhere
 *	late wait	the wait of the stream flushes: right everywhere
 *
 * Prints how many of the rounds were stale. The status is 0 unless a call fails.
 */
#include "rdma_kit.h"

enum {
	ROUNDS = 100,
	LEN = 4096,
};

struct host {
	uint32_t flag, pad[15];
	uint64_t seen[LEN / 8], source[LEN / 8];
};

static bool is_stale(const struct host *h, uint64_t round)
{
	for (unsigned i = 0; i < LEN / 8; i++)
		if (h->seen[i] != round)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	unsigned wait = CU_STREAM_WAIT_VALUE_EQ, stale = 0;
	volatile uint32_t *flag;
	struct ibv_mr *from, *to;
	struct rdma_pair p;
	CUdeviceptr target;
	struct host *h;
	CUstream s;

	kit_begin();
	rdma_open(&p);
	MUST(cuMemHostAlloc((void **)&h, sizeof(*h), CU_MEMHOSTALLOC_DEVICEMAP));
	MUST(cuMemAlloc_v2(&target, LEN));
	MUST(cuMemsetD8_v2(target, 0, LEN));
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	from = ibv_reg_mr(p.pd, h->source, LEN, RDMA_ACCESS);
	to = rdma_register(&p, target, LEN);
	if (!from || !to)
		rdma_fail("ibv_reg_mr");
	if (strcmp(how, "wait") == 0)
		wait |= (unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
	flag = &h->flag;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (unsigned i = 0; i < LEN / 8; i++)
			h->source[i] = round;
		MUST(cuStreamWaitValue32_v2(s, (uintptr_t)&h->flag, (uint32_t)round,
					    wait));
		MUST(cuMemcpyDtoHAsync_v2(h->seen, target, LEN, s));
		if (rdma_do(&p, IBV_WR_RDMA_WRITE, from, (uintptr_t)h->source, to, target,
			    LEN) != IBV_WC_SUCCESS)
			rdma_fail("WRITE");
		if (strcmp(how, "flush") == 0)
			MUST(cuFlushGPUDirectRDMAWrites(
				CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
				CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
		*flag = (uint32_t)round;
		MUST(cuStreamSynchronize(s));
		stale += is_stale(h, round);
	}
	printf("%s: %u of %d rounds were stale\n", how, stale, ROUNDS);
	return 0;
}
