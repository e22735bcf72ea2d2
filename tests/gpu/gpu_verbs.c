/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gpu_verbs.c - memory of GPUs in verbs, between two queue pairs of one process.
 *
 * usage: gpu_verbs [early|late [MIB [flush|lossy]]]
 *
 * With "early" the CUDA driver is in the process before the device is opened, with "late"
 * only when memory is registered. MIB: length of the large transfers, 0: none. With
 * "flush" writes are flushed by a read before the GPU is looked at, as they may be late
 * with the PCIe layer. With "lossy"
 * packets may be lost, also those that tell of an error. Prints a line for each check;
 * the last line is "gpu_verbs: ok".
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "../e2e/kit/loop.h"
#include "cuda_api.h"

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	GRAIN = 1 << 16, /* memory of a GPU is allocated in such pieces */
};

static struct cuda_api cu;
static struct loop loop;
static int is_lossy;
static int flushes; /* writes are flushed before the GPU is looked at */

#define CU(call) EXPECT((call) == 0)

static void *pointer(cu_ptr ptr)
{
	return (void *)(uintptr_t)ptr;
}

/* A buffer of the GPU, of the CPU beside it, and their regions. */
struct both {
	size_t len;
	cu_ptr gpu;
	uint8_t *cpu;
	struct ibv_mr *gpu_mr, *cpu_mr;
};

static void make(struct both *b, size_t len)
{
	b->len = len;
	CU(cu.alloc(&b->gpu, len));
	b->cpu = malloc(len);
	EXPECT(b->cpu);
	b->gpu_mr = ibv_reg_mr(loop.pd, pointer(b->gpu), len, ACCESS);
	EXPECT(b->gpu_mr);
	b->cpu_mr = ibv_reg_mr(loop.pd, b->cpu, len, ACCESS);
	EXPECT(b->cpu_mr);
}

static void unmake(struct both *b)
{
	EXPECT(!ibv_dereg_mr(b->gpu_mr));
	EXPECT(!ibv_dereg_mr(b->cpu_mr));
	CU(cu.free(b->gpu));
	free(b->cpu);
}

/* Fills a buffer with bytes that depend on @seed, which are found again by compare(). */
static void pattern(uint8_t *p, size_t len, unsigned seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)(x >> 24);
	}
}

static void compare(const char *what, const uint8_t *p, size_t len, unsigned seed)
{
	uint8_t *want = malloc(len);

	EXPECT(want);
	pattern(want, len, seed);
	if (memcmp(p, want, len) != 0) {
		size_t i = 0;

		while (p[i] == want[i])
			i++;
		fprintf(stderr, "%s: byte %zu of %zu is 0x%02x, not 0x%02x\n", what, i,
			len, p[i], want[i]);
		exit(1);
	}
	free(want);
}

static void set_gpu(cu_ptr at, size_t len, unsigned seed)
{
	uint8_t *p = malloc(len);

	EXPECT(p);
	pattern(p, len, seed);
	CU(cu.to_device(at, p, len));
	free(p);
}

static enum ibv_wc_status request(enum ibv_wr_opcode op, void *local, size_t len,
				  const struct ibv_mr *lmr, const void *remote,
				  const struct ibv_mr *rmr)
{
	const struct loop_request r = {
		.opcode = op,
		.local = local,
		.len = (uint32_t)len,
		.lkey = lmr->lkey,
		.remote = remote,
		.rkey = rmr->rkey,
	};

	return loop_run(&loop, &r, NULL);
}

/* Reads a byte of the region: a read pushes the writes of the NIC before it. Programs
 * need that where writes may be late; only with "flush" it is done.
 */
static void flush(cu_ptr at, const struct ibv_mr *mr)
{
	static uint8_t byte;
	struct ibv_mr *mine;

	if (!flushes)
		return;
	mine = ibv_reg_mr(loop.pd, &byte, 1, ACCESS);
	EXPECT(mine);
	EXPECT(request(IBV_WR_RDMA_READ, &byte, 1, mine, pointer(at), mr) ==
	       IBV_WC_SUCCESS);
	EXPECT(!ibv_dereg_mr(mine));
}

static void check_gpu(const char *what, const struct ibv_mr *mr, cu_ptr at, size_t len,
		      unsigned seed)
{
	uint8_t *p = malloc(len);

	EXPECT(p);
	flush(at, mr);
	CU(cu.to_host(p, at, len));
	compare(what, p, len, seed);
	free(p);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void say(const char *what, size_t len, double since)
{
	const double t = now() - since;

	printf("%-24s %9zu bytes %9.1f us %8.1f MB/s ok\n", what, len, t * 1e6,
	       (double)len / t / 1e6);
	fflush(stdout);
}

/* WRITE and READ with the GPU at either end and at both. */
static void transfers(size_t len)
{
	struct both a, b;
	double t;

	make(&a, len);
	make(&b, len);
	pattern(a.cpu, len, 1);
	t = now();
	EXPECT(request(IBV_WR_RDMA_WRITE, a.cpu, len, a.cpu_mr, pointer(b.gpu),
		       b.gpu_mr) == IBV_WC_SUCCESS);
	say("WRITE cpu to gpu", len, t);
	check_gpu("WRITE to gpu", b.gpu_mr, b.gpu, len, 1);

	set_gpu(a.gpu, len, 2);
	t = now();
	EXPECT(request(IBV_WR_RDMA_WRITE, pointer(a.gpu), len, a.gpu_mr, b.cpu,
		       b.cpu_mr) == IBV_WC_SUCCESS);
	say("WRITE gpu to cpu", len, t);
	flush((uintptr_t)b.cpu, b.cpu_mr);
	compare("WRITE from gpu", b.cpu, len, 2);

	set_gpu(a.gpu, len, 3);
	t = now();
	EXPECT(request(IBV_WR_RDMA_WRITE, pointer(a.gpu), len, a.gpu_mr, pointer(b.gpu),
		       b.gpu_mr) == IBV_WC_SUCCESS);
	say("WRITE gpu to gpu", len, t);
	check_gpu("WRITE between gpus", b.gpu_mr, b.gpu, len, 3);

	set_gpu(b.gpu, len, 4);
	t = now();
	EXPECT(request(IBV_WR_RDMA_READ, a.cpu, len, a.cpu_mr, pointer(b.gpu),
		       b.gpu_mr) == IBV_WC_SUCCESS);
	say("READ gpu to cpu", len, t);
	compare("READ from gpu", a.cpu, len, 4);

	pattern(b.cpu, len, 5);
	t = now();
	EXPECT(request(IBV_WR_RDMA_READ, pointer(a.gpu), len, a.gpu_mr, b.cpu,
		       b.cpu_mr) == IBV_WC_SUCCESS);
	say("READ cpu to gpu", len, t);
	check_gpu("READ into gpu", a.gpu_mr, a.gpu, len, 5);
	unmake(&a);
	unmake(&b);
}

/* SEND between GPUs. What a receive completion covers must be in the GPU. */
static void messages(size_t len)
{
	struct both a, b;
	struct ibv_wc wc = { 0 };

	make(&a, len);
	make(&b, len);
	for (unsigned i = 0; i < 20; i++) {
		const struct loop_request r = {
			.opcode = IBV_WR_SEND,
			.local = pointer(a.gpu),
			.len = (uint32_t)len,
			.lkey = a.gpu_mr->lkey,
		};

		set_gpu(a.gpu, len, 100 + i);
		loop_post_recv(&loop, pointer(b.gpu), (uint32_t)len, b.gpu_mr->lkey);
		EXPECT(loop_run(&loop, &r, &wc) == IBV_WC_SUCCESS);
		EXPECT(wc.status == IBV_WC_SUCCESS && wc.byte_len == len);
		check_gpu("SEND", b.gpu_mr, b.gpu, len, 100 + i);
	}
	printf("%-24s %9zu bytes, 20 of them ok\n", "SEND gpu to gpu", len);
	unmake(&a);
	unmake(&b);
}

/* A row of WRITEs into memory of the GPU, then one into memory of the CPU that says that
 * they are there. Who sees that must find the bytes in the GPU, without a completion.
 */
static void flags_in_order(void)
{
	const size_t len = 1 << 16;
	struct both a, b;
	volatile uint8_t *flag;

	make(&a, len);
	make(&b, len);
	flag = b.cpu;
	for (unsigned i = 1; i <= 20; i++) {
		struct ibv_sge sge[2] = {
			{ (uintptr_t)a.cpu, (uint32_t)len - 1, a.cpu_mr->lkey },
			{ (uintptr_t)a.cpu + len - 1, 1, a.cpu_mr->lkey },
		};
		struct ibv_send_wr wr[2] = {
			{ .next = &wr[1],
			  .sg_list = &sge[0],
			  .num_sge = 1,
			  .opcode = IBV_WR_RDMA_WRITE },
			{ .sg_list = &sge[1],
			  .num_sge = 1,
			  .opcode = IBV_WR_RDMA_WRITE,
			  .send_flags = IBV_SEND_SIGNALED },
		};
		struct ibv_send_wr *bad;
		struct ibv_wc wc;
		int n = 0;

		pattern(a.cpu, len - 1, i);
		a.cpu[len - 1] = (uint8_t)i;
		wr[0].wr.rdma.remote_addr = b.gpu;
		wr[0].wr.rdma.rkey = b.gpu_mr->rkey;
		wr[1].wr.rdma.remote_addr = (uintptr_t)b.cpu;
		wr[1].wr.rdma.rkey = b.cpu_mr->rkey;
		*flag = 0;
		EXPECT(!ibv_post_send(loop.qp[0], wr, &bad));
		while (*flag != (uint8_t)i && !n)
			n = ibv_poll_cq(loop.cq, 1, &wc);
		while (flushes && !n)
			n = ibv_poll_cq(loop.cq, 1, &wc);
		check_gpu("WRITE before a flag", b.gpu_mr, b.gpu, len - 1, i);
		while (!n)
			n = ibv_poll_cq(loop.cq, 1, &wc);
		EXPECT(n == 1 && wc.status == IBV_WC_SUCCESS);
	}
	printf("%-24s 20 times ok\n", "flag behind data");
	unmake(&a);
	unmake(&b);
}

static void atomics(void)
{
	uint64_t value = 40, found;
	struct both a, b;

	make(&a, 4096);
	make(&b, 4096);
	CU(cu.to_device(b.gpu + 8, &value, sizeof(value)));
	for (unsigned i = 0; i < 3; i++) {
		EXPECT(request(IBV_WR_ATOMIC_FETCH_AND_ADD, a.cpu, 8, a.cpu_mr,
			       pointer(b.gpu + 8), b.gpu_mr) == IBV_WC_SUCCESS);
		memcpy(&found, a.cpu, 8);
		EXPECT(found == 40 + i);
	}
	flush(b.gpu + 8, b.gpu_mr);
	CU(cu.to_host(&value, b.gpu + 8, sizeof(value)));
	EXPECT(value == 43);
	/* the value found goes into memory of the GPU, too */
	EXPECT(request(IBV_WR_ATOMIC_FETCH_AND_ADD, pointer(a.gpu), 8, a.gpu_mr,
		       pointer(b.gpu + 8), b.gpu_mr) == IBV_WC_SUCCESS);
	flush(a.gpu, a.gpu_mr);
	CU(cu.to_host(&found, a.gpu, sizeof(found)));
	EXPECT(found == 43);
	printf("%-24s ok\n", "FETCH_ADD in the gpu");
	unmake(&a);
	unmake(&b);
}

/* Registrations that must be refused, and what a registration asks of the driver. */
static void registrations(void)
{
	struct both a;
	unsigned is_set = 0;
	struct ibv_mr *mr;

	make(&a, GRAIN);
	EXPECT(!ibv_reg_mr(loop.pd, pointer(a.gpu), (size_t)1 << 40, ACCESS));
	mr = ibv_reg_mr(loop.pd, pointer(a.gpu + 100), 1000, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(mr && !ibv_dereg_mr(mr));
	(void)cu.get_attribute(&is_set, CU_POINTER_SYNC_MEMOPS, a.gpu);
	printf("%-24s ok, sync memops %u\n", "registrations", is_set);
	unmake(&a);
}

static void dma_buf(int device)
{
	const size_t len = GRAIN;
	struct ibv_mr *mr;
	struct both a;
	cu_ptr gpu;
	int fd = -1, has = 0;

	mr = ibv_reg_dmabuf_mr(loop.pd, 0, 0, 0, -1, 0);
	EXPECT(!mr && errno == EBADF);
	(void)cu.device_attribute(&has, CU_DEVICE_DMA_BUF_SUPPORTED, device);
	CU(cu.alloc(&gpu, len));
	if (!has || !cu.export_range ||
	    cu.export_range(&fd, gpu, len, CU_RANGE_DMA_BUF_FD, 0)) {
		printf("%-24s skipped: the driver exports none\n", "dma-buf");
		CU(cu.free(gpu));
		return;
	}
	mr = ibv_reg_dmabuf_mr(loop.pd, 0, len, gpu, fd, ACCESS);
	EXPECT(mr);
	close(fd);
	make(&a, len);
	pattern(a.cpu, len, 9);
	EXPECT(request(IBV_WR_RDMA_WRITE, a.cpu, len, a.cpu_mr, pointer(gpu), mr) ==
	       IBV_WC_SUCCESS);
	check_gpu("WRITE to a dma-buf", mr, gpu, len, 9);
	set_gpu(gpu, len, 10);
	EXPECT(request(IBV_WR_RDMA_READ, a.cpu, len, a.cpu_mr, pointer(gpu), mr) ==
	       IBV_WC_SUCCESS);
	compare("READ of a dma-buf", a.cpu, len, 10);
	EXPECT(!ibv_dereg_mr(mr));
	unmake(&a);
	CU(cu.free(gpu));
	printf("%-24s ok\n", "dma-buf");
}

static void reconnect(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	for (unsigned i = 0; i < 2; i++)
		EXPECT(!ibv_modify_qp(loop.qp[i], &attr, IBV_QP_STATE));
	while (ibv_poll_cq(loop.cq, 1, &wc) > 0)
		continue;
	for (unsigned i = 0; i < 2; i++)
		loop_connect(&loop, loop.qp[i], loop.qp[!i]->qp_num);
}

/* A queue pair that is reset counts its messages anew: bytes that were read for a message
 * of its former life must not be taken for those of another one with that number.
 */
static void counted_anew(void)
{
	const size_t len = 100000;
	struct both a, b;

	make(&a, len);
	make(&b, len);
	for (unsigned i = 0; i < 4; i++) {
		set_gpu(a.gpu, len, 70 + i);
		EXPECT(request(IBV_WR_RDMA_WRITE, pointer(a.gpu), len, a.gpu_mr, b.cpu,
			       b.cpu_mr) == IBV_WC_SUCCESS);
		flush((uintptr_t)b.cpu, b.cpu_mr);
		compare("WRITE after a reset", b.cpu, len, 70 + i);
		set_gpu(a.gpu, len, 80 + i);
		EXPECT(request(IBV_WR_RDMA_READ, b.cpu, len, b.cpu_mr, pointer(a.gpu),
			       a.gpu_mr) == IBV_WC_SUCCESS);
		compare("READ after a reset", b.cpu, len, 80 + i);
		reconnect();
	}
	printf("%-24s ok\n", "numbers counted anew");
	unmake(&a);
	unmake(&b);
}

/* Did the peer refuse the request? If its NAK is lost, the requester hears no more. */
static int is_refused(enum ibv_wc_status status)
{
	return status == IBV_WC_REM_ACCESS_ERR ||
	       (is_lossy && status == IBV_WC_RETRY_EXC_ERR);
}

/* Memory that was freed while it was registered: an error for whoever uses it, also when
 * another allocation has its address now.
 */
static void freed(void)
{
	const size_t len = 1 << 20;
	struct both a;
	struct ibv_mr *mr;
	cu_ptr gone, next;

	make(&a, len);
	CU(cu.alloc(&gone, len));
	mr = ibv_reg_mr(loop.pd, pointer(gone), len, ACCESS);
	EXPECT(mr);
	CU(cu.free(gone));
	EXPECT(is_refused(
		request(IBV_WR_RDMA_WRITE, a.cpu, len, a.cpu_mr, pointer(gone), mr)));
	reconnect();
	CU(cu.alloc(&next, len));
	EXPECT(is_refused(
		request(IBV_WR_RDMA_READ, a.cpu, len, a.cpu_mr, pointer(gone), mr)));
	reconnect();
	EXPECT(request(IBV_WR_RDMA_WRITE, pointer(gone), 64, mr, a.cpu, a.cpu_mr) ==
	       IBV_WC_LOC_PROT_ERR);
	reconnect();
	EXPECT(!ibv_dereg_mr(mr));
	CU(cu.free(next));
	printf("%-24s ok, next allocation at %s address\n", "freed memory",
	       next == gone ? "the same" : "another");
	unmake(&a);
}

/* A context of its own, destroyed while its memory is registered and writes are there. */
static void destroyed(int device, void *primary)
{
	const size_t len = 1 << 16;
	struct both a;
	struct ibv_mr *mr;
	cu_ptr gpu;
	void *ctx;

	make(&a, len);
	CU(cu.ctx_create(&ctx, 0, device));
	CU(cu.alloc(&gpu, len));
	mr = ibv_reg_mr(loop.pd, pointer(gpu), len, ACCESS);
	EXPECT(mr);
	pattern(a.cpu, len, 20);
	EXPECT(request(IBV_WR_RDMA_WRITE, a.cpu, len, a.cpu_mr, pointer(gpu), mr) ==
	       IBV_WC_SUCCESS);
	check_gpu("WRITE to another context", mr, gpu, len, 20);
	CU(cu.ctx_set(primary));
	/* between the contexts, while neither is the one of the other's memory */
	set_gpu(a.gpu, len, 21);
	EXPECT(request(IBV_WR_RDMA_WRITE, pointer(a.gpu), len, a.gpu_mr, pointer(gpu),
		       mr) == IBV_WC_SUCCESS);
	CU(cu.ctx_set(ctx));
	check_gpu("WRITE between contexts", mr, gpu, len, 21);
	CU(cu.ctx_destroy(ctx));
	CU(cu.ctx_set(primary));
	EXPECT(is_refused(
		request(IBV_WR_RDMA_WRITE, a.cpu, len, a.cpu_mr, pointer(gpu), mr)));
	reconnect();
	EXPECT(!ibv_dereg_mr(mr));
	/* the other context works as before */
	set_gpu(a.gpu, len, 22);
	EXPECT(request(IBV_WR_RDMA_READ, a.cpu, len, a.cpu_mr, pointer(a.gpu),
		       a.gpu_mr) == IBV_WC_SUCCESS);
	compare("READ after a context has ended", a.cpu, len, 22);
	printf("%-24s ok\n", "destroyed context");
	unmake(&a);
}

/* Programs that sleep for events: reads must wake the device by themselves. */
static void sleeping(size_t len)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(loop.ctx);
	struct ibv_cq *cq, *got, *old = loop.cq;
	struct ibv_qp *qps[2] = { loop.qp[0], loop.qp[1] };
	struct both a, b;
	void *arg;

	EXPECT(channel);
	cq = ibv_create_cq(loop.ctx, 16, NULL, channel, 0);
	EXPECT(cq);
	loop.cq = cq;
	for (unsigned i = 0; i < 2; i++)
		loop.qp[i] = loop_create_qp(&loop);
	for (unsigned i = 0; i < 2; i++)
		loop_connect(&loop, loop.qp[i], loop.qp[!i]->qp_num);
	make(&a, len);
	make(&b, len);
	for (unsigned i = 0; i < 5; i++) {
		struct ibv_sge sge = { a.gpu, (uint32_t)len, a.gpu_mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_RDMA_WRITE,
					  .send_flags = IBV_SEND_SIGNALED },
				   *bad;
		struct ibv_wc wc;

		set_gpu(a.gpu, len, 50 + i);
		wr.wr.rdma.remote_addr = b.gpu;
		wr.wr.rdma.rkey = b.gpu_mr->rkey;
		EXPECT(!ibv_req_notify_cq(cq, 0));
		EXPECT(!ibv_post_send(loop.qp[0], &wr, &bad));
		EXPECT(!ibv_get_cq_event(channel, &got, &arg));
		ibv_ack_cq_events(got, 1);
		EXPECT(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
		check_gpu("WRITE while asleep", b.gpu_mr, b.gpu, len, 50 + i);
	}
	unmake(&a);
	unmake(&b);
	for (unsigned i = 0; i < 2; i++)
		EXPECT(!ibv_destroy_qp(loop.qp[i]));
	EXPECT(!ibv_destroy_cq(cq));
	EXPECT(!ibv_destroy_comp_channel(channel));
	loop.cq = old;
	loop.qp[0] = qps[0], loop.qp[1] = qps[1];
	printf("%-24s ok\n", "sleeping for events");
}

int main(int argc, char **argv)
{
	const int is_late = argc > 1 && !strcmp(argv[1], "late");
	const size_t large = (size_t)(argc > 2 ? atoi(argv[2]) : 4) << 20;
	void *primary;
	int device;
	char name[128] = "";

	flushes = argc > 3 && !strcmp(argv[3], "flush");
	is_lossy = argc > 3 && !strcmp(argv[3], "lossy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_late)
		loop_open(&loop);
	if (!cuda_open(&cu)) {
		printf("gpu_verbs: skipped, there is no GPU\n");
		return 77;
	}
	CU(cu.device_get(&device, 0));
	CU(cu.device_name(name, sizeof(name), device));
	CU(cu.primary_retain(&primary, device));
	CU(cu.ctx_set(primary));
	if (!is_late)
		loop_open(&loop);
	printf("device %s, driver loaded %s\n", name, is_late ? "late" : "early");
	registrations();
	for (size_t len = 1; len <= large; len = len < 4096 ? len * 64 : len * 16)
		transfers(len);
	transfers(large + 12345);
	messages(5000);
	messages(large ? 1 << 20 : 1 << 14);
	flags_in_order();
	atomics();
	dma_buf(device);
	sleeping(1 << 18);
	counted_anew();
	freed();
	destroyed(device, primary);
	loop_close(&loop);
	printf("gpu_verbs: ok\n");
	return 0;
}
