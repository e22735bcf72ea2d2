/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tour.c - opens and connects the two devices that a stop of the tour uses, and prints
 * its results.
 */
#include "tour.h"

#include <inttypes.h>
#include <rocin/pcie.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lines.h"

void tour_need(bool ok, const char *what)
{
	if (ok)
		return;
	printf("error %s: %m\n", what);
	fflush(stdout);
	exit(2);
}

/* ----------------------------------------------- opening and connecting the devices */
static void open_end(struct end *e, struct ibv_device *device)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	e->ctx = ibv_open_device(device);
	tour_need(e->ctx, "ibv_open_device");
	e->pd = ibv_alloc_pd(e->ctx);
	tour_need(e->pd, "ibv_alloc_pd");
	e->buf = aligned_alloc(4096, BUFFER);
	tour_need(e->buf, "memory");
	memset(e->buf, 0, BUFFER);
	e->mr = ibv_reg_mr(e->pd, e->buf, BUFFER,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	tour_need(e->mr, "ibv_reg_mr");
	e->cq = ibv_create_cq(e->ctx, 32, NULL, NULL, 0);
	tour_need(e->cq, "ibv_create_cq");
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	tour_need(e->qp, "ibv_create_qp");
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (bytes > 256) {
		bytes /= 2;
		mtu++;
	}
	return mtu;
}

static void connect_end(const struct tour *t, const struct end *e, const struct end *to)
{
	bool is_a = e == &t->a;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	tour_need(!ibv_modify_qp(e->qp, &attr,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					 IBV_QP_ACCESS_FLAGS),
		  "INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(t->mtu),
		.dest_qp_num = to->qp->qp_num,
		.rq_psn = is_a ? FIRST_PSN_B : FIRST_PSN_A,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = (uint8_t)t->rnr_timer,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } }
	};
	tour_need(!ibv_query_gid(to->ctx, 1, 0, &attr.ah_attr.grh.dgid), "GID");
	tour_need(!ibv_modify_qp(e->qp, &attr,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					 IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER),
		  "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = is_a ? FIRST_PSN_A : FIRST_PSN_B,
				     .timeout = t->timeout,
				     .retry_cnt = 7,
				     .rnr_retry = (uint8_t)t->rnr_retry,
				     .max_rd_atomic = 4 };
	tour_need(!ibv_modify_qp(e->qp, &attr,
				 IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					 IBV_QP_MAX_QP_RD_ATOMIC),
		  "RTS");
}

/* Finds a device by name. The list may also have devices of the kernel. */
static struct ibv_device *find_device(struct ibv_device **list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), name))
			return *list;
	return NULL;
}

void tour_open(struct tour *t)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *a, *b;

	tour_need(list, "ibv_get_device_list");
	a = find_device(list, "rocin0");
	b = find_device(list, "rocin1");
	tour_need(a && b, "the devices; run me by: rocin tour");
	t->a.name = "A";
	t->b.name = "B";
	open_end(&t->a, a);
	open_end(&t->b, b);
	ibv_free_device_list(list);
	connect_end(t, &t->a, &t->b);
	connect_end(t, &t->b, &t->a);
}

static void close_end(const struct end *e)
{
	ibv_destroy_qp(e->qp);
	ibv_destroy_cq(e->cq);
	ibv_dereg_mr(e->mr);
	ibv_dealloc_pd(e->pd);
	ibv_close_device(e->ctx);
	free(e->buf);
}

void tour_close(struct tour *t)
{
	close_end(&t->a);
	close_end(&t->b);
}

void tour_write_note(struct end *e, const char *text)
{
	memset(e->buf, '.', BUFFER);
	memcpy(e->buf, text, strlen(text));
}

/* ------------------------------------------------------------------ lines of output */
static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t tour_now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void tour_tell_range(const char *name, const void *addr, uint64_t len)
{
	printf("range %s %" PRIuPTR " %" PRIu64 "\n", name, (uintptr_t)addr, len);
}

void tour_tell_memory(const char *name, const char *when, const void *addr)
{
	const uint8_t *bytes = addr;

	printf("memory %s %s ", name, when);
	for (unsigned i = 0; i < RN_TOUR_SAMPLE; i++)
		printf("%02x", bytes[i]);
	putchar('\n');
}

void tour_tell_value(const char *name, uint64_t value)
{
	printf("value %s %" PRIu64 "\n", name, value);
}

#define NAME(x) [x] = #x

static const char *const statuses[] = {
	NAME(IBV_WC_SUCCESS),	     NAME(IBV_WC_LOC_LEN_ERR),
	NAME(IBV_WC_LOC_QP_OP_ERR),  NAME(IBV_WC_LOC_PROT_ERR),
	NAME(IBV_WC_WR_FLUSH_ERR),   NAME(IBV_WC_REM_INV_REQ_ERR),
	NAME(IBV_WC_REM_ACCESS_ERR), NAME(IBV_WC_REM_OP_ERR),
	NAME(IBV_WC_RETRY_EXC_ERR),  NAME(IBV_WC_RNR_RETRY_EXC_ERR)
};

static const char *const opcodes[] = { NAME(IBV_WC_SEND),
				       NAME(IBV_WC_RDMA_WRITE),
				       NAME(IBV_WC_RDMA_READ),
				       NAME(IBV_WC_COMP_SWAP),
				       NAME(IBV_WC_FETCH_ADD),
				       NAME(IBV_WC_RECV),
				       NAME(IBV_WC_RECV_RDMA_WITH_IMM) };

static const char *name_of(const char *const *names, size_t count, unsigned i)
{
	return i < count && names[i] ? names[i] : "other";
}

void tour_tell_wc(const struct end *e, const struct ibv_wc *wc)
{
	bool ok = wc->status == IBV_WC_SUCCESS;

	printf("wc %s %s %s %" PRIu32 " %" PRIu32 "\n", e->name,
	       name_of(statuses, sizeof(statuses) / sizeof(*statuses), wc->status),
	       /* With an error status, only status, wr_id, qp_num and vendor_err
		* are valid.
		*/
	       ok ? name_of(opcodes, sizeof(opcodes) / sizeof(*opcodes), wc->opcode)
		  : "-",
	       ok && wc->opcode != IBV_WC_SEND && wc->opcode != IBV_WC_RDMA_WRITE
		       ? wc->byte_len
		       : 0,
	       wc->vendor_err);
}

void tour_poll(const struct end *e)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(e->cq, 1, &wc);
	} while (n == 0);
	tour_need(n == 1, "ibv_poll_cq");
	tour_tell_wc(e, &wc);
}

void tour_look_for_none(const struct end *e)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(e->cq, 1, &wc);

	tour_need(n >= 0, "ibv_poll_cq");
	printf("value %s_left %d\n", e->name, n);
}

void tour_await(const char *what)
{
	char line[16];

	printf("await %s\n", what);
	fflush(stdout);
	tour_need(fgets(line, sizeof(line), stdin), what);
}

/* -------------------------------------------------------------------- recorded TLPs */
/* Reads both clocks at the same instant: CLOCK_REALTIME between two readings of
 * CLOCK_MONOTONIC. Does this several times, and uses the shortest interval, in which the
 * thread was most likely not interrupted.
 */
static void tell_begin(void)
{
	uint64_t real = 0, mono = 0, width = UINT64_MAX;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t before = clock_ns(CLOCK_MONOTONIC);
		uint64_t wall = clock_ns(CLOCK_REALTIME);
		uint64_t after = clock_ns(CLOCK_MONOTONIC);

		if (after - before >= width)
			continue;
		width = after - before;
		mono = before + width / 2;
		real = wall;
	}
	printf("begin %" PRIu64 " %" PRIu64 "\n", real, mono);
}

void tour_begin(struct tour *t)
{
	tour_tell_range("A", t->a.buf, BUFFER);
	tour_tell_range("B", t->b.buf, BUFFER);
	tour_need(!rn_pcie_trace_start(RN_TOUR_MOVES_MAX), "rn_pcie_trace_start");
	tell_begin();
}

static void tell_move(const struct rn_pcie_move *m)
{
	static const char *const kinds[] = { "MWr", "MRd", "AtomicOp", "CplD" };
	char queue[64], from[32], to[32];

	printf("tlp %" PRIu64 " %" PRIu64 " %s %u %s %s %" PRIu64 " %" PRIu32 " %s %u\n",
	       m->seq, m->when, kinds[m->kind % 4], m->flags,
	       rn_pcie_agent_name(m->requester, from, sizeof(from)),
	       rn_pcie_agent_name(m->target, to, sizeof(to)), m->addr, m->len,
	       rn_pcie_queue_name(m->queue, queue, sizeof(queue)), m->purpose);
}

void tour_end(struct tour *t)
{
	struct rn_pcie_move *moves = calloc(RN_TOUR_MOVES_MAX, sizeof(*moves));
	uint32_t count;

	(void)t;
	tour_need(moves, "memory");
	rn_pcie_drain();
	count = rn_pcie_trace_read(moves, RN_TOUR_MOVES_MAX);
	for (uint32_t i = 0; i < count; i++)
		tell_move(&moves[i]);
	free(moves);
}
