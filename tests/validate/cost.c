/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cost.c - sends messages from a queue pair of one device to one of another device, as
 * ib_send_bw does: single posts, some of them signaled, and receives posted again one by
 * one. cost.sh counts the instructions that this takes.
 *
 * Both ends are in one thread, and neither waits for the other: a burst is sent, then
 * received, then completed. So the counts hardly depend on the machine. The devices are
 * two, as the layer knows more of a connection within one device than of others.
 *
 * usage: validate_cost BYTES BURSTS
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BURST = 32, /* messages */
	BATCH = 16, /* completions that a poll asks for, as in ib_send_bw */
	PORT = 1,
};

/* One end of the connection. */
struct end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_sge sge;
};

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	(void)fprintf(stderr, "cost: %s failed\n", what);
	exit(1);
}

static void make_end(struct end *end, struct ibv_device *device, size_t len)
{
	struct ibv_context *context = device ? ibv_open_device(device) : NULL;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 2 * BURST,
						  .max_recv_wr = 2 * BURST,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	void *memory = calloc(1, len);

	must(memory != NULL, "calloc");
	must(context != NULL, "ibv_open_device");
	end->pd = ibv_alloc_pd(context);
	must(end->pd != NULL, "ibv_alloc_pd");
	end->cq = ibv_create_cq(context, 4 * BURST, NULL, NULL, 0);
	must(end->cq != NULL, "ibv_create_cq");
	end->mr = ibv_reg_mr(end->pd, memory, len, IBV_ACCESS_LOCAL_WRITE);
	must(end->mr != NULL, "ibv_reg_mr");
	end->sge = (struct ibv_sge){ (uintptr_t)memory, (uint32_t)len, end->mr->lkey };
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	must(end->qp != NULL, "ibv_create_qp");
	must(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS),
	     "ibv_modify_qp to INIT");
}

static void connect_end(const struct end *end, const struct end *to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = PORT, .grh = { .hop_limit = 1 } }
	};

	must(!ibv_query_gid(to->qp->context, PORT, 0, &attr.ah_attr.grh.dgid),
	     "ibv_query_gid");
	must(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "ibv_modify_qp to RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 6,
				     .max_rd_atomic = 1 };
	must(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC),
	     "ibv_modify_qp to RTS");
}

static void post_receive(struct end *end)
{
	struct ibv_recv_wr wr = { .sg_list = &end->sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(end->qp, &wr, &bad), "ibv_post_recv");
}

__attribute__((noinline)) static void send_burst(struct end *end)
{
	for (unsigned i = 0; i < BURST; i++) {
		struct ibv_send_wr wr = { .sg_list = &end->sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = i == BURST - 1 ? IBV_SEND_SIGNALED
								       : 0 },
				   *bad;

		must(!ibv_post_send(end->qp, &wr, &bad), "ibv_post_send");
	}
}

__attribute__((noinline)) static void receive_burst(struct end *end)
{
	struct ibv_wc wc[BATCH];

	for (int got = 0, n; got < BURST; got += n) {
		n = ibv_poll_cq(end->cq, BATCH, wc);
		must(n >= 0, "ibv_poll_cq");
		for (int i = 0; i < n; i++) {
			must(wc[i].status == IBV_WC_SUCCESS, "a receive");
			post_receive(end);
		}
	}
}

__attribute__((noinline)) static void complete_burst(struct end *end)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (n == 0);
	must(n == 1 && wc.status == IBV_WC_SUCCESS, "a send");
}

static struct ibv_context *close_pd(const struct end *end)
{
	struct ibv_context *context = end->pd->context;

	must(!ibv_dealloc_pd(end->pd), "ibv_dealloc_pd");
	return context;
}

static void free_end(struct end *end)
{
	must(!ibv_destroy_qp(end->qp), "ibv_destroy_qp");
	must(!ibv_destroy_cq(end->cq), "ibv_destroy_cq");
	must(!ibv_dereg_mr(end->mr), "ibv_dereg_mr");
	must(!ibv_close_device(close_pd(end)), "ibv_close_device");
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): what make_end() has stored */
	free((void *)(uintptr_t)end->sge.addr);
}

int main(int argc, char **argv)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct end from, to;

	must(argc == 3, "reading the arguments");
	must(count == 2, "finding two devices");
	make_end(&from, list[0], strtoul(argv[1], NULL, 10));
	make_end(&to, list[1], strtoul(argv[1], NULL, 10));
	connect_end(&from, &to);
	connect_end(&to, &from);
	for (unsigned i = 0; i < BURST; i++)
		post_receive(&to);
	for (unsigned long i = strtoul(argv[2], NULL, 10); i; i--) {
		send_burst(&from);
		receive_burst(&to);
		complete_burst(&from);
	}
	free_end(&from);
	free_end(&to);
	ibv_free_device_list(list);
	return 0;
}
