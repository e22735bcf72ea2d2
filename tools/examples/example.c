/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* example.c - functions that the examples share (example.h): opens the device, connects
 * sender and receiver, and runs GPU kernels.
 */
#include "example.h"

#include <rocin/gpu.h>
#include <rocin/storage.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void example_need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

/* -------------------------- opening the device, connecting QPs, posting and polling */
static void make_qp(struct example *e, unsigned i)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	e->cq[i] = ibv_create_cq(e->ctx, 32, NULL, NULL, 0);
	example_need(e->cq[i], "ibv_create_cq");
	init.send_cq = init.recv_cq = e->cq[i];
	e->qp[i] = ibv_create_qp(e->pd, &init);
	example_need(e->qp[i], "ibv_create_qp");
}

static void connect_qp(struct example *e, struct ibv_qp *qp, struct ibv_qp *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ };

	example_need(!ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					    IBV_QP_ACCESS_FLAGS),
		     "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } }
	};
	example_need(!ibv_query_gid(e->ctx, 1, 0, &attr.ah_attr.grh.dgid), "GID");
	example_need(!ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					    IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER),
		     "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	example_need(!ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC),
		     "RTS");
}

bool example_is_mended(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "--mended");
}

void example_open(struct example *e, int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	*e = (struct example){ .is_mended = example_is_mended(argc, argv) };
	example_need(list && list[0], "no RDMA device; run me by: rocin example");
	e->ctx = ibv_open_device(list[0]);
	example_need(e->ctx, "ibv_open_device");
	ibv_free_device_list(list);
	e->pd = ibv_alloc_pd(e->ctx);
	example_need(e->pd, "ibv_alloc_pd");
	for (unsigned i = 0; i < QP_COUNT; i++)
		make_qp(e, i);
	connect_qp(e, e->qp[SENDER], e->qp[RECEIVER]);
	connect_qp(e, e->qp[RECEIVER], e->qp[SENDER]);
	connect_qp(e, e->qp[LOOPBACK], e->qp[LOOPBACK]);
}

struct ibv_mr *example_region(struct example *e, void *mem, size_t len)
{
	struct ibv_mr *mr;

	if (!mem)
		mem = aligned_alloc(4096, (len + 4095) / 4096 * 4096);
	example_need(mem, "memory");
	mr = ibv_reg_mr(e->pd, mem, len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ);
	example_need(mr, "ibv_reg_mr");
	return mr;
}

void example_post(struct example *e, unsigned qp, struct example_request r)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r.local->addr + r.local_offset,
			       .length = r.len,
			       .lkey = r.local->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = r.opcode,
				  .send_flags = IBV_SEND_SIGNALED | r.flags },
			   *bad;

	if (r.remote) {
		wr.wr.rdma.remote_addr = (uintptr_t)r.remote->addr + r.remote_offset;
		wr.wr.rdma.rkey = r.remote->rkey;
	}
	example_need(!ibv_post_send(e->qp[qp], &wr, &bad), "ibv_post_send");
}

void example_post_recv(struct example *e, unsigned qp, struct ibv_mr *mr, uint32_t len)
{
	struct ibv_sge sge = { .addr = mr ? (uintptr_t)mr->addr : 0,
			       .length = len,
			       .lkey = mr ? mr->lkey : 0 };
	struct ibv_recv_wr wr = { .sg_list = mr ? &sge : NULL, .num_sge = mr ? 1 : 0 };
	struct ibv_recv_wr *bad;

	example_need(!ibv_post_recv(e->qp[qp], &wr, &bad), "ibv_post_recv");
}

void example_poll(struct example *e, unsigned qp)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(e->cq[qp], 1, &wc);
	} while (n == 0);
	example_need(n == 1 && wc.status == IBV_WC_SUCCESS, "a completion");
}

/* Prints the verdict and ends the program by _exit(), without cleaning up. PCIe writes
 * that the simulation still delays are lost; they do not matter any more.
 */
void example_end(bool is_right, const char *fmt, ...)
{
	va_list ap;

	printf("verdict: %s - ", is_right ? "right" : "wrong");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(is_right ? 0 : 1);
}

/* ----------------------------------------------------- kernels, and memory of a GPU */
void example_count(void *kernel)
{
	struct example_kernel *k = kernel;
	unsigned count = 0;

	for (unsigned i = 0; i < DATA; i++)
		count += rn_gpu_load(&k->data[i], 1) == NEW;
	k->new_bytes = count;
}

void example_wait_and_count(void *kernel)
{
	struct example_kernel *k = kernel;

	if (!rn_gpu_wait_host(&k->flag, 1, sizeof(k->flag), -1))
		example_count(k);
}

void example_raise(struct example_kernel *k)
{
	__atomic_store_n(&k->flag, 1, __ATOMIC_RELEASE);
}

void example_gpu_memory(struct rn_gpu_buffer *buffer)
{
	struct rn_gpu *gpu = rn_gpu_open(0);

	example_need(gpu && !rn_gpu_alloc(gpu, DATA, 0, buffer), "GPU memory");
}

void example_end_kernel(const struct rn_gpu_buffer *buffer,
			const struct example_kernel *k)
{
	example_need(!rn_gpu_synchronize(buffer->gpu), "the kernel");
	example_end(k->new_bytes == DATA, "the kernel read %u new bytes of %d",
		    k->new_bytes, DATA);
}

/* ----------------------------------------------- a file for the examples of storage */
struct rn_storage_file *example_file(void)
{
	struct rn_storage_file *file;
	int fd = memfd_create("example", MFD_CLOEXEC);
	char bytes[DATA];

	memset(bytes, NEW, DATA);
	example_need(write(fd, bytes, DATA) == DATA, "make a file");
	example_need(!rn_storage_handle_register(&file, fd), "register a file");
	close(fd);
	return file;
}
