/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* replica.c - keeps a copy of a log in the memory of another process.
 *
 * usage: replica PORT          keep the copy: wait for a writer, and check what it wrote
 *        replica PORT HOST     write 200 records to the copy at HOST
 *
 * The ends tell each other where they are by TCP. A record is an RDMA WRITE; a SEND
 * behind the last one says that all are there. The program has a mistake, for which
 * tools/docs/mistakes.md looks ("A mistake, from symptom to repair").
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RECORDS = 200,
	RECORD_LEN = 256,
	LOG_LEN = RECORDS * RECORD_LEN,
	QUEUE_LEN = 32,	   /* requests that the send queue holds */
	SIGNAL_EVERY = 64, /* requests, one of which tells that it is done */
};

/* What the other end has to know. */
struct end {
	uint32_t qpn, psn, rkey, mtu;
	uint64_t addr;
	union ibv_gid gid;
};

struct replica {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *log;
	struct end self, peer;
	unsigned posted, done; /* requests of the writer */
};

static void die(const char *what, int error)
{
	(void)fprintf(stderr, "replica: %s: %s\n", what, strerror(error));
	exit(1);
}

static void must(bool holds, const char *what)
{
	if (!holds)
		die(what, errno);
}

/* ------------------------------------------------------------------------- TCP */
static int wait_for_writer(const char *port)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_port = htons((uint16_t)atoi(port)) };
	int one = 1, listening = socket(AF_INET, SOCK_STREAM, 0), fd;

	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(!bind(listening, (struct sockaddr *)&any, sizeof(any)), "bind");
	must(!listen(listening, 1), "listen");
	fd = accept(listening, NULL, NULL);
	must(fd >= 0, "accept");
	close(listening);
	return fd;
}

static int find_copy(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM },
			*found;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(!getaddrinfo(host, port, &hints, &found), host);
	must(!connect(fd, found->ai_addr, found->ai_addrlen), host);
	freeaddrinfo(found);
	return fd;
}

static void exchange(int fd, const void *mine, void *other, size_t len)
{
	must(write(fd, mine, len) == (ssize_t)len, "write");
	must(recv(fd, other, len, MSG_WAITALL) == (ssize_t)len, "recv");
}

/* ----------------------------------------------------------------------- verbs */
static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;

	must(list && list[0], "no device");
	ctx = ibv_open_device(list[0]);
	must(ctx, "ibv_open_device");
	ibv_free_device_list(list);
	return ctx;
}

static void create(struct replica *r)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = QUEUE_LEN,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_port_attr port;

	r->ctx = open_device();
	r->pd = ibv_alloc_pd(r->ctx);
	must(r->pd, "ibv_alloc_pd");
	r->cq = ibv_create_cq(r->ctx, QUEUE_LEN + 1, NULL, NULL, 0);
	must(r->cq, "ibv_create_cq");
	init.send_cq = init.recv_cq = r->cq;
	r->qp = ibv_create_qp(r->pd, &init);
	must(r->qp, "ibv_create_qp");
	r->log = calloc(RECORDS, RECORD_LEN);
	must(r->log, "calloc");
	r->mr = ibv_reg_mr(r->pd, r->log, LOG_LEN,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(r->mr, "ibv_reg_mr");
	must(!ibv_query_port(r->ctx, 1, &port), "ibv_query_port");
	r->self = (struct end){ .qpn = r->qp->qp_num,
				.psn = (uint32_t)getpid() & 0xffffff,
				.rkey = r->mr->rkey,
				.mtu = port.active_mtu,
				.addr = (uintptr_t)r->log };
	must(!ibv_query_gid(r->ctx, 1, 0, &r->self.gid), "ibv_query_gid");
}

static void modify(struct replica *r, struct ibv_qp_attr attr, int mask)
{
	int error = ibv_modify_qp(r->qp, &attr, mask | IBV_QP_STATE);

	if (error)
		die("ibv_modify_qp", error);
}

static void connect_qp(struct replica *r)
{
	uint32_t mtu = r->self.mtu < r->peer.mtu ? r->self.mtu : r->peer.mtu;

	modify(r,
	       (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT,
				     .port_num = 1,
				     .qp_access_flags = IBV_ACCESS_REMOTE_WRITE },
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(r,
	       (struct ibv_qp_attr){
		       .qp_state = IBV_QPS_RTR,
		       .path_mtu = (enum ibv_mtu)mtu,
		       .dest_qp_num = r->peer.qpn,
		       .rq_psn = r->peer.psn,
		       .max_dest_rd_atomic = 1,
		       .min_rnr_timer = 12,
		       .ah_attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .dgid = r->peer.gid, .hop_limit = 64 } } },
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(r,
	       (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = r->self.psn,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 },
	       IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC);
}

static void destroy(struct replica *r)
{
	must(!ibv_destroy_qp(r->qp), "ibv_destroy_qp");
	must(!ibv_destroy_cq(r->cq), "ibv_destroy_cq");
	must(!ibv_dereg_mr(r->mr), "ibv_dereg_mr");
	must(!ibv_dealloc_pd(r->pd), "ibv_dealloc_pd");
	must(!ibv_close_device(r->ctx), "ibv_close_device");
	free(r->log);
}

/* Waits for a completion. Its wr_id is the number of requests that are done with it. */
static void take_completion(struct replica *r)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(r->cq, 1, &wc)) == 0)
		;
	must(n == 1, "ibv_poll_cq");
	if (wc.status != IBV_WC_SUCCESS) {
		(void)fprintf(stderr, "replica: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
	r->done = (unsigned)wc.wr_id;
}

/* ------------------------------------------------------------------- the writer */
static void post(struct replica *r, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;
	char what[64];
	int error;

	wr.wr_id = ++r->posted;
	if (r->posted % SIGNAL_EVERY == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	error = ibv_post_send(r->qp, &wr, &bad);
	if (error) {
		(void)snprintf(what, sizeof(what), "record %u of %d: ibv_post_send",
			       r->posted, RECORDS);
		die(what, error);
	}
	if (wr.send_flags & IBV_SEND_SIGNALED)
		take_completion(r);
}

static void write_record(struct replica *r, unsigned n)
{
	char *record = r->log + n * RECORD_LEN;
	struct ibv_sge sge = { .addr = (uintptr_t)record,
			       .length = RECORD_LEN,
			       .lkey = r->mr->lkey };

	(void)snprintf(record, RECORD_LEN, "record %u", n);
	post(r, (struct ibv_send_wr){
			.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = { .remote_addr = r->peer.addr + n * RECORD_LEN,
				     .rkey = r->peer.rkey } });
}

static void write_log(struct replica *r)
{
	for (unsigned n = 0; n < RECORDS; n++)
		write_record(r, n);
	post(r, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
				      .send_flags = IBV_SEND_SIGNALED });
	printf("replica: %d records written\n", RECORDS);
}

/* --------------------------------------------------------------------- the copy */
static void expect_end(struct replica *r)
{
	struct ibv_recv_wr *bad, wr = { 0 };

	must(!ibv_post_recv(r->qp, &wr, &bad), "ibv_post_recv");
}

static void check_log(struct replica *r)
{
	char expected[RECORD_LEN];
	int right = 0;

	take_completion(r);
	for (int n = 0; n < RECORDS; n++) {
		(void)snprintf(expected, sizeof(expected), "record %d", n);
		right += !strcmp(r->log + n * RECORD_LEN, expected);
	}
	printf("replica: %d of %d records are there\n", right, RECORDS);
}

int main(int argc, char **argv)
{
	struct replica r = { 0 };
	bool is_writer = argc == 3;
	char ready = 0;
	int fd;

	if (argc < 2 || argc > 3)
		return 2;
	fd = is_writer ? find_copy(argv[2], argv[1]) : wait_for_writer(argv[1]);
	create(&r);
	exchange(fd, &r.self, &r.peer, sizeof(r.self));
	connect_qp(&r);
	if (!is_writer)
		expect_end(&r);
	exchange(fd, &ready, &ready, 1); /* the other end can receive */
	if (is_writer)
		write_log(&r);
	else
		check_log(&r);
	exchange(fd, &ready, &ready, 1); /* nobody leaves before the other one is done */
	destroy(&r);
	close(fd);
	return 0;
}
