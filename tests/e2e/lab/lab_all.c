/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_all.c - a program of several ranks, one on each host of a lab: each pair of ranks
 * connects by librdmacm. Each rank writes a pattern to all others, reads it back, and
 * checks every byte that others have written to it.
 *
 * usage: rocin lab --hosts N -- lab_all [BYTES]
 */
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/e2e/kit/expect.h"

enum {
	RANKS_MAX = 64,
	PORT = 7471,
	BACKLOG = RANKS_MAX
};

/* The address at which a rank lets the other one write. It is also the message by which a
 * rank says that it has finished.
 */
struct word {
	uint64_t address;
	uint32_t rkey;
	uint32_t rank;
};

struct peer {
	struct rdma_cm_id *id;
	struct word mine, theirs;
	/* buffers: written by the peer; written to the peer; read from the peer */
	uint8_t *in, *out, *back;
	struct ibv_mr *word_mr, *in_mr, *out_mr, *back_mr;
};

static unsigned rank, size;
static size_t bytes = 256 << 10;
static struct peer peers[RANKS_MAX];

static unsigned number(const char *variable)
{
	const char *text = getenv(variable);

	if (!text) {
		fprintf(stderr, "lab_all: %s is not set; start it by rocin lab\n",
			variable);
		exit(64);
	}
	return (unsigned)strtoul(text, NULL, 10);
}

static uint8_t pattern(unsigned from, unsigned to, size_t i)
{
	return (uint8_t)(from * 31 + to * 7 + i + i / 251);
}

static struct rdma_cm_id *endpoint(const char *host)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP,
				       .ai_flags = host ? 0 : RAI_PASSIVE };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	char port[16];

	snprintf(port, sizeof(port), "%d", PORT);
	EXPECT(rdma_getaddrinfo(host, port, &hints, &res) == 0);
	EXPECT(rdma_create_ep(&id, res, NULL, &attr) == 0);
	rdma_freeaddrinfo(res);
	return id;
}

static struct ibv_mr *registered(struct peer *p, void *memory, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(p->id->pd, memory, len,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ);

	EXPECT(mr != NULL);
	return mr;
}

/* Registers the memory, and posts the receive for the first message of the peer. */
static void furnish(struct peer *p)
{
	p->in = calloc(3, bytes);
	EXPECT(p->in != NULL);
	p->out = p->in + bytes;
	p->back = p->out + bytes;
	p->word_mr = registered(p, &p->mine, 2 * sizeof(p->mine));
	p->in_mr = registered(p, p->in, bytes);
	p->out_mr = registered(p, p->out, bytes);
	p->back_mr = registered(p, p->back, bytes);
	p->mine = (struct word){ (uintptr_t)p->in, p->in_mr->rkey, rank };
	EXPECT(rdma_post_recv(p->id, NULL, &p->theirs, sizeof(p->theirs), p->word_mr) ==
	       0);
}

static void complete(int n)
{
	EXPECT(n == 1);
}

static void wait_send(struct peer *p)
{
	struct ibv_wc wc;

	complete(rdma_get_send_comp(p->id, &wc));
	if (wc.status)
		fprintf(stderr, "lab_all: %s\n", ibv_wc_status_str(wc.status));
	EXPECT(wc.status == IBV_WC_SUCCESS);
}

static void wait_recv(struct peer *p)
{
	struct ibv_wc wc;

	complete(rdma_get_recv_comp(p->id, &wc));
	EXPECT(wc.status == IBV_WC_SUCCESS);
}

/* ---------------------------------------------------------------------- connections */
static struct rdma_conn_param parameters(const uint32_t *own)
{
	return (struct rdma_conn_param){ .private_data = own,
					 .private_data_len = sizeof(*own),
					 .responder_resources = 4,
					 .initiator_depth = 4,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
}

static void connect_to(unsigned other)
{
	struct rdma_conn_param param = parameters(&rank);
	char host[16];

	snprintf(host, sizeof(host), "h%u", other + 1);
	peers[other].id = endpoint(host);
	furnish(&peers[other]);
	EXPECT(rdma_connect(peers[other].id, &param) == 0);
}

static void accept_one(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = parameters(&rank);
	struct rdma_cm_id *id;
	uint32_t other;

	EXPECT(rdma_get_request(listener, &id) == 0);
	EXPECT(id->event->param.conn.private_data_len >= sizeof(other));
	memcpy(&other, id->event->param.conn.private_data, sizeof(other));
	EXPECT(other < size && other > rank && !peers[other].id);
	peers[other].id = id;
	furnish(&peers[other]);
	EXPECT(rdma_accept(id, &param) == 0);
}

/* A rank listens for connections of higher ranks, and connects to the lower ones. */
static void connect_all(void)
{
	struct rdma_cm_id *listener = endpoint(NULL);

	EXPECT(rdma_listen(listener, BACKLOG) == 0);
	for (unsigned other = 0; other < rank; other++)
		connect_to(other);
	for (unsigned other = rank + 1; other < size; other++)
		accept_one(listener);
	rdma_destroy_ep(listener);
}

/* --------------------------------------------------------------------------- work */
static void say(struct peer *p)
{
	EXPECT(rdma_post_send(p->id, NULL, &p->mine, sizeof(p->mine), p->word_mr, 0) ==
	       0);
	wait_send(p);
}

static void write_to(struct peer *p, unsigned other)
{
	for (size_t i = 0; i < bytes; i++)
		p->out[i] = pattern(rank, other, i);
	EXPECT(p->theirs.rank == other);
	EXPECT(rdma_post_recv(p->id, NULL, &p->theirs, sizeof(p->theirs), p->word_mr) ==
	       0);
	EXPECT(rdma_post_write(p->id, NULL, p->out, bytes, p->out_mr, 0,
			       p->theirs.address, p->theirs.rkey) == 0);
	EXPECT(rdma_post_read(p->id, NULL, p->back, bytes, p->back_mr, 0,
			      p->theirs.address, p->theirs.rkey) == 0);
}

static size_t wrong_bytes(const struct peer *p, unsigned other)
{
	size_t wrong = 0;

	for (size_t i = 0; i < bytes; i++) {
		wrong += p->in[i] != pattern(other, rank, i);
		wrong += p->back[i] != pattern(rank, other, i);
	}
	return wrong;
}

static void for_others(void (*work)(struct peer *p, unsigned other))
{
	for (unsigned other = 0; other < size; other++)
		if (other != rank)
			work(&peers[other], other);
}

static void greet(struct peer *p, unsigned other)
{
	(void)other;
	say(p);
}

static void hear(struct peer *p, unsigned other)
{
	(void)other;
	wait_recv(p);
}

static void finish_write(struct peer *p, unsigned other)
{
	(void)other;
	wait_send(p);
	wait_send(p);
	say(p);
}

/* ------------------------------------------------------------------------- the end */
/* A rank whose last acknowledgement was lost sends its request again, so the other rank
 * must still exist then. For this, all ranks wait at the end until all have finished.
 */
static int open_meeting(void)
{
	const struct sockaddr_in here = { .sin_family = AF_INET,
					  .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	EXPECT(fd >= 0 && bind(fd, (const struct sockaddr *)&here, sizeof(here)) == 0 &&
	       listen(fd, BACKLOG) == 0);
	return fd;
}

/* Rank 0 lets all ranks end when all of them have connected. */
static void lead_meeting(int listener)
{
	int fds[RANKS_MAX];

	for (unsigned i = 1; i < size; i++)
		EXPECT((fds[i] = accept(listener, NULL, NULL)) >= 0);
	for (unsigned i = 1; i < size; i++)
		EXPECT(write(fds[i], "", 1) == 1);
}

static void go_to_meeting(void)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *there;
	char port[16], go;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	snprintf(port, sizeof(port), "%d", PORT);
	EXPECT(getaddrinfo("h1", port, &hints, &there) == 0);
	EXPECT(connect(fd, there->ai_addr, there->ai_addrlen) == 0);
	EXPECT(read(fd, &go, 1) == 1);
	freeaddrinfo(there);
}

int main(int argc, char **argv)
{
	int listener = -1;
	size_t wrong = 0;

	rank = number("ROCIN_LAB_RANK");
	size = number("ROCIN_LAB_SIZE");
	EXPECT(size <= RANKS_MAX && rank < size);
	if (argc > 1)
		bytes = strtoul(argv[1], NULL, 10);
	if (rank == 0)
		listener = open_meeting();
	connect_all();
	for_others(greet);
	for_others(hear);
	for_others(write_to);
	for_others(finish_write);
	for_others(hear); /* after this message, the data of the rank has arrived */
	for (unsigned other = 0; other < size; other++)
		if (other != rank)
			wrong += wrong_bytes(&peers[other], other);
	if (rank == 0)
		lead_meeting(listener);
	else
		go_to_meeting();
	printf("rank %u of %u: %zu bytes from each, %zu wrong\n", rank, size, bytes,
	       wrong);
	return wrong ? 1 : 0;
}
