/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma.c - WRITE, READ, SEND and atomics between memory of GPUs, registered by its
 * pointer and by a dma-buf.
 */
#include "rdma_kit.h"

enum {
	LEN = 256 * 1024, /* whole pages */
};

static uint8_t *host, *back;

static void fill(CUdeviceptr ptr, unsigned salt)
{
	for (unsigned i = 0; i < LEN; i++)
		host[i] = (uint8_t)(i * 13 + i / 256 + salt);
	MUST(cuMemcpyHtoD_v2(ptr, host, LEN));
}

/* Prints whether the memory has what fill() has written last. */
static void compare(const char *what, CUdeviceptr ptr)
{
	memset(back, 0, LEN);
	MUST(cuMemcpyDtoH_v2(back, ptr, LEN));
	printf("%-44s %s\n", what, memcmp(host, back, LEN) ? "DIFFERENT" : "same");
}

static void must_be_done(enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "completion: %s\n", ibv_wc_status_str(status));
	exit(1);
}

static void by_pointer(const struct rdma_pair *p, CUdeviceptr a, CUdeviceptr b)
{
	struct ibv_mr *from = rdma_register(p, a, LEN), *to = rdma_register(p, b, LEN);

	if (!from || !to)
		rdma_fail("ibv_reg_mr");
	fill(a, 1);
	must_be_done(rdma_do(p, IBV_WR_RDMA_WRITE, from, a, to, b, LEN));
	compare("WRITE", b);
	fill(b, 2);
	must_be_done(rdma_do(p, IBV_WR_RDMA_READ, from, a, to, b, LEN));
	compare("READ", a);
	ibv_dereg_mr(from);
	ibv_dereg_mr(to);
}

static void by_send(const struct rdma_pair *p, CUdeviceptr a, CUdeviceptr b)
{
	struct ibv_mr *from = rdma_register(p, a, LEN), *to = rdma_register(p, b, LEN);
	struct ibv_sge sge = { b, LEN, to->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	fill(a, 3);
	if (ibv_post_recv(p->qp[1], &wr, &bad))
		rdma_fail("ibv_post_recv");
	must_be_done(rdma_do(p, IBV_WR_SEND, from, a, from, 0, LEN));
	must_be_done(rdma_wait(p));
	compare("SEND", b);
	ibv_dereg_mr(from);
	ibv_dereg_mr(to);
}

static void by_atomic(const struct rdma_pair *p, CUdeviceptr a, CUdeviceptr b)
{
	struct ibv_mr *from = rdma_register(p, a, LEN), *to = rdma_register(p, b, LEN);
	uint64_t word = 1000;

	MUST(cuMemcpyHtoD_v2(b, &word, sizeof(word)));
	must_be_done(rdma_do(p, IBV_WR_ATOMIC_FETCH_AND_ADD, from, a, to, b, 8));
	MUST(cuMemcpyDtoH_v2(&word, a, sizeof(word)));
	kit_value("fetch and add found", (long long)word);
	MUST(cuMemcpyDtoH_v2(&word, b, sizeof(word)));
	kit_value("and left", (long long)word);
	ibv_dereg_mr(from);
	ibv_dereg_mr(to);
}

static void by_dmabuf(const struct rdma_pair *p, CUdeviceptr a, CUdeviceptr b)
{
	struct ibv_mr *from = rdma_register(p, a, LEN), *to;
	int fd = -1;

	if (SHOW("export of a dma-buf",
		 cuMemGetHandleForAddressRange(&fd, b, LEN,
					       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)))
		return;
	to = ibv_reg_dmabuf_mr(p->pd, 0, LEN, b, fd, RDMA_ACCESS);
	if (!to)
		rdma_fail("ibv_reg_dmabuf_mr");
	close(fd);
	fill(a, 4);
	must_be_done(rdma_do(p, IBV_WR_RDMA_WRITE, from, a, to, b, LEN));
	compare("WRITE through a dma-buf", b);
	MUST(cuMemsetD8_v2(a, 0, LEN));
	must_be_done(rdma_do(p, IBV_WR_RDMA_READ, from, a, to, b, LEN));
	compare("READ through a dma-buf", a);
	ibv_dereg_mr(from);
	ibv_dereg_mr(to);
}

/* What no GPU has, or has no more, is refused. */
static void refused(const struct rdma_pair *p)
{
	CUdeviceptr gone;

	MUST(cuMemAlloc_v2(&gone, LEN));
	MUST(cuMemFree_v2(gone));
	printf("%-44s %s\n", "ibv_reg_mr of freed memory",
	       rdma_register(p, gone, LEN) ? "done" : "refused");
}

int main(void)
{
	struct rdma_pair p;
	CUdeviceptr a, b;

	kit_begin();
	rdma_open(&p);
	host = malloc(LEN);
	back = malloc(LEN);
	MUST(cuMemAlloc_v2(&a, LEN));
	MUST(cuMemAlloc_v2(&b, LEN));
	by_pointer(&p, a, b);
	by_send(&p, a, b);
	by_atomic(&p, a, b);
	by_dmabuf(&p, a, b);
	refused(&p);
	free(host);
	free(back);
	return 0;
}
