/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kit.c - the verbs of the programs: NICs, connections, regions, requests, and a second
 * process.
 */
#include "kit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* FLUSH, by the numbers of verbs.h of release 45, which older ones do not have. */
enum {
	WR_FLUSH = 14,
	FLUSH_TO_GLOBAL = 1,
	ACCESS_FLUSH_GLOBAL = 1 << 8,
};

void vis_need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s\n", what);
	exit(2);
}

/* ---------------------------------------------------------------------------- NICs */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (unsigned i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

struct vis_nic *vis_open(unsigned number)
{
	struct vis_nic *nic = calloc(1, sizeof(*nic));
	char name[16];

	snprintf(name, sizeof(name), "rocin%u", number);
	vis_need(nic != NULL, "memory");
	nic->ctx = open_device(name);
	vis_need(nic->ctx != NULL,
		 "open a device; run me by: rocin run "
		 "-n lo:127.0.0.1,lo:127.0.0.2,lo:127.0.0.3 -- PROGRAM NAME");
	nic->pd = ibv_alloc_pd(nic->ctx);
	vis_need(nic->pd && !ibv_query_gid(nic->ctx, 1, 0, &nic->gid), "ibv_alloc_pd");
	return nic;
}

/* With VISIBILITY_EVENTS the program sleeps until a completion comes. */
static struct ibv_cq *make_cq(struct vis_nic *nic)
{
	struct ibv_comp_channel *channel = NULL;
	struct ibv_cq *cq;

	if (getenv("VISIBILITY_EVENTS")) {
		channel = ibv_create_comp_channel(nic->ctx);
		vis_need(channel != NULL, "ibv_create_comp_channel");
	}
	cq = ibv_create_cq(nic->ctx, 32, NULL, channel, 0);
	vis_need(cq != NULL, "ibv_create_cq");
	return cq;
}

static void make_end(struct vis_end *end, struct vis_nic *nic)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 64 },
	};

	end->nic = nic;
	end->send_cq = make_cq(nic);
	end->recv_cq = make_cq(nic);
	init.send_cq = end->send_cq;
	init.recv_cq = end->recv_cq;
	end->qp = ibv_create_qp(nic->pd, &init);
	vis_need(end->qp != NULL, "ibv_create_qp");
}

/* An ACK timeout of half a second: a machine that is very busy breaks no connection. */
static void connect_end(struct vis_end *end, const union ibv_gid *gid, uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC |
						       ACCESS_FLUSH_GLOBAL };

	vis_need(!ibv_modify_qp(end->qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS),
		 "INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = qpn,
				     .max_dest_rd_atomic = 4,
				     .min_rnr_timer = 12,
				     .ah_attr = {
					     .is_global = 1,
					     .port_num = 1,
					     .grh = { .hop_limit = 1, .dgid = *gid } } };
	vis_need(!ibv_modify_qp(end->qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		 "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 17,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	vis_need(!ibv_modify_qp(end->qp, &attr,
				IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_MAX_QP_RD_ATOMIC),
		 "RTS");
}

void vis_connect(struct vis_end *a, struct vis_nic *nic_a, struct vis_end *b,
		 struct vis_nic *nic_b)
{
	make_end(a, nic_a);
	make_end(b, nic_b);
	connect_end(a, &nic_b->gid, b->qp->qp_num);
	connect_end(b, &nic_a->gid, a->qp->qp_num);
}

void vis_connect_loopback(struct vis_end *end, struct vis_nic *nic)
{
	make_end(end, nic);
	connect_end(end, &nic->gid, end->qp->qp_num);
}

/* ------------------------------------------------------------------------- regions */
struct ibv_mr *vis_register(struct vis_nic *nic, void *mem, size_t len, unsigned access)
{
	struct ibv_mr *mr;

	access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | ACCESS_FLUSH_GLOBAL;
	mr = ibv_reg_mr(nic->pd, mem, len, access);
	vis_need(mr != NULL, "ibv_reg_mr");
	return mr;
}

static struct ibv_mr *register_new(struct vis_nic *nic, int value, size_t len)
{
	enum {
		PAGE = 4096,
		OFFSET = 16,
	};
	uint8_t *page = aligned_alloc(PAGE, (OFFSET + len + PAGE - 1) / PAGE * PAGE);

	vis_need(page != NULL, "memory");
	memset(page + OFFSET, value, len);
	return vis_register(nic, page + OFFSET, len, 0);
}

struct ibv_mr *vis_source(struct vis_nic *nic)
{
	return register_new(nic, NEW, DATA);
}

struct ibv_mr *vis_target(struct vis_nic *nic)
{
	return register_new(nic, 0, DATA);
}

struct ibv_mr *vis_word(struct vis_nic *nic, uint64_t value)
{
	struct ibv_mr *mr = register_new(nic, 0, sizeof(value));

	memcpy(mr->addr, &value, sizeof(value));
	return mr;
}

/* ------------------------------------------------------------------------ requests */
static void post(struct vis_end *end, struct ibv_send_wr *wr, struct ibv_mr *local,
		 size_t len, int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local->addr,
			       .length = (uint32_t)len,
			       .lkey = local->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = (unsigned)(flags & ~VIS_UNSIGNALED);
	if (!(flags & VIS_UNSIGNALED))
		wr->send_flags |= IBV_SEND_SIGNALED;
	vis_need(!ibv_post_send(end->qp, wr, &bad), "ibv_post_send");
}

static void post_rdma(struct vis_end *end, enum ibv_wr_opcode opcode,
		      struct ibv_mr *local, struct ibv_mr *remote, int flags)
{
	struct ibv_send_wr wr = { .opcode = opcode };

	wr.wr.rdma.remote_addr = (uintptr_t)remote->addr;
	wr.wr.rdma.rkey = remote->rkey;
	post(end, &wr, local,
	     local->length < remote->length ? local->length : remote->length, flags);
}

void vis_write(struct vis_end *end, struct ibv_mr *from, struct ibv_mr *to, int flags)
{
	post_rdma(end, IBV_WR_RDMA_WRITE, from, to, flags);
}

void vis_write_imm(struct vis_end *end, struct ibv_mr *from, struct ibv_mr *to, int flags)
{
	post_rdma(end, IBV_WR_RDMA_WRITE_WITH_IMM, from, to, flags);
}

void vis_read(struct vis_end *end, struct ibv_mr *to, struct ibv_mr *from, int flags)
{
	post_rdma(end, IBV_WR_RDMA_READ, to, from, flags);
}

void vis_send(struct vis_end *end, struct ibv_mr *from, int flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	post(end, &wr, from, from->length, flags);
}

void vis_fetch_add(struct vis_end *end, struct ibv_mr *old, struct ibv_mr *word,
		   int flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	wr.wr.atomic.remote_addr = (uintptr_t)word->addr;
	wr.wr.atomic.rkey = word->rkey;
	wr.wr.atomic.compare_add = 1;
	post(end, &wr, old, sizeof(uint64_t), flags);
}

void vis_flush(struct vis_end *end, struct ibv_mr *target, int flags)
{
	struct ibv_mr nothing = { .length = target->length };
	struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)WR_FLUSH,
				  .imm_data = htonl(FLUSH_TO_GLOBAL) };

	wr.wr.rdma.remote_addr = (uintptr_t)target->addr;
	wr.wr.rdma.rkey = target->rkey;
	post(end, &wr, &nothing, target->length, flags);
}

void vis_atomic_write(struct vis_end *end, struct ibv_mr *from, struct ibv_mr *word,
		      int flags)
{
	post_rdma(end, IBV_WR_ATOMIC_WRITE, from, word, flags);
}

void vis_post_recv(struct vis_end *end, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = mr ? (uintptr_t)mr->addr : 0,
			       .length = mr ? (uint32_t)mr->length : 0,
			       .lkey = mr ? mr->lkey : 0 };
	struct ibv_recv_wr wr = { .sg_list = mr ? &sge : NULL, .num_sge = mr ? 1 : 0 };
	struct ibv_recv_wr *bad;

	vis_need(!ibv_post_recv(end->qp, &wr, &bad), "ibv_post_recv");
}

/* Returns what ibv_poll_cq() does. Before it returns 0 it has slept until an event came,
 * if the CQ has a channel.
 */
static int poll_or_sleep(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, 1, wc);
	struct ibv_cq *told;
	void *context;

	if (n || !cq->channel)
		return n;
	vis_need(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	n = ibv_poll_cq(cq, 1, wc);
	if (n)
		return n;
	vis_need(!ibv_get_cq_event(cq->channel, &told, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(told, 1);
	return 0;
}

static void poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	do {
		n = poll_or_sleep(cq, &wc);
	} while (n == 0);
	vis_need(n == 1, "ibv_poll_cq");
	vis_need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

void vis_poll_send(struct vis_end *end)
{
	poll_cq(end->send_cq);
}

void vis_poll_recv(struct vis_end *end)
{
	poll_cq(end->recv_cq);
}

/* -------------------------------------------------------------------------- memory */
static unsigned wrong_seen;

void vis_see_wrong(void)
{
	__atomic_fetch_add(&wrong_seen, 1, __ATOMIC_RELAXED);
}

unsigned vis_wrong_seen(void)
{
	return __atomic_load_n(&wrong_seen, __ATOMIC_RELAXED);
}

/* Eight bytes at a time: all memory of the bank is aligned to that. */
static void look_unless(const volatile void *mem, size_t len, uint64_t wrong)
{
	const volatile uint64_t *word = mem;

	for (size_t i = 0; i < len / sizeof(*word); i++)
		if (word[i] == wrong)
			vis_see_wrong();
}

void vis_look_at(const volatile void *mem, size_t len)
{
	look_unless(mem, len, 0);
}

void vis_look(const struct ibv_mr *mr)
{
	look_unless(mr->addr, mr->length, 0);
}

void vis_look_unless(const struct ibv_mr *mr, uint8_t byte)
{
	look_unless(mr->addr, mr->length, 0x0101010101010101 * byte);
}

void vis_await_byte(const void *byte, uint8_t value)
{
	while (__atomic_load_n((const uint8_t *)byte, __ATOMIC_ACQUIRE) != value)
		;
}

/* ------------------------------------------------------------------- two processes */
static void give(const struct vis_peer *peer, const void *bytes, size_t len)
{
	vis_need(write(peer->fd, bytes, len) == (ssize_t)len, "write to the peer");
}

static void take(const struct vis_peer *peer, void *bytes, size_t len)
{
	vis_need(recv(peer->fd, bytes, len, MSG_WAITALL) == (ssize_t)len,
		 "read from the peer");
}

bool vis_fork(struct vis_peer *peer)
{
	int fds[2];

	vis_need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "socketpair");
	peer->child = fork();
	vis_need(peer->child >= 0, "fork");
	peer->fd = fds[peer->child == 0];
	close(fds[peer->child != 0]);
	return peer->child == 0;
}

void vis_connect_peer(const struct vis_peer *peer, struct vis_end *end,
		      struct vis_nic *nic)
{
	union ibv_gid gid;
	uint32_t qpn;

	make_end(end, nic);
	give(peer, &nic->gid, sizeof(gid));
	give(peer, &end->qp->qp_num, sizeof(qpn));
	take(peer, &gid, sizeof(gid));
	take(peer, &qpn, sizeof(qpn));
	connect_end(end, &gid, qpn);
	vis_tell(peer);
	vis_hear(peer);
}

void vis_give_region(const struct vis_peer *peer, const struct ibv_mr *mr)
{
	give(peer, mr, sizeof(*mr));
}

struct ibv_mr *vis_take_region(const struct vis_peer *peer)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	vis_need(mr != NULL, "memory");
	take(peer, mr, sizeof(*mr));
	return mr;
}

void vis_tell(const struct vis_peer *peer)
{
	give(peer, "", 1);
}

void vis_hear(const struct vis_peer *peer)
{
	char byte;

	take(peer, &byte, 1);
}

int vis_join(const struct vis_peer *peer)
{
	int status = 0;

	if (peer->child) {
		vis_tell(peer);
		vis_need(waitpid(peer->child, &status, 0) == peer->child, "waitpid");
		vis_need(WIFEXITED(status), "the child");
		return WEXITSTATUS(status);
	}
	vis_hear(peer); /* so the connection stays until the parent is done with it */
	return 0;
}
