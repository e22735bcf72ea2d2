/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls.c - makes calls of the data path whose instructions valgrind counts. It counts
 * only those within counted(), which never waits. So neither the load of the machine nor
 * the speed of the peer changes the numbers.
 *
 * usage: calls peer SOCKET | calls WHAT SOCKET ROUNDS
 *
 * The peer listens at the UNIX socket SOCKET and does what each round asks of it. Prints
 * "calls N", the number of calls or messages that were counted. WHAT is
 *	poll	polls of an empty CQ
 *	post	posts of an inline SEND of 64 bytes that leaves at once
 *
 *	send	SENDs of a burst, posted one by one, with the poll that lets the last
 *		leave and the poll that finds their completion
 *
 *	receive	SENDs of a burst that are there already, with the polls that find
 *		them
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	LEN = 64,
	BURST = 64,
	EMPTY = 256, /* number of polls in a round */
	/* number of polls before the first round, after which the device treats the
	 * program as one that polls all the time
	 */
	WARM_UP = 4096,
	WARM_UP_SENDS = 8,
	/* number of polls after which the program's own polls receive packets */
	LEASE = 64,
	SEND = 's',    /* request to the peer: send a burst */
	RECEIVE = 'r', /* request to the peer: receive a burst */
	ONE = '1',     /* request to the peer: receive one message */
};

/* Time in ns after which a peer that has answered has nothing more to do. */
#define SETTLED 2000000

struct end {
	struct loop l;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t buf[LEN];
	int fd;
};

static void send_bytes(int fd, const void *data, size_t len)
{
	EXPECT(write(fd, data, len) == (ssize_t)len);
}

static void recv_bytes(int fd, void *data, size_t len)
{
	EXPECT(recv(fd, data, len, MSG_WAITALL) == (ssize_t)len);
}

static void connect_qp(struct end *e)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 2 * BURST,
						  .max_recv_wr = 2 * BURST,
						  .max_send_sge = 1,
						  .max_recv_sge = 1,
						  .max_inline_data = LEN } };
	struct {
		uint32_t qpn;
		union ibv_gid gid;
	} own, other;

	memset(&own, 0, sizeof(own));
	e->l.ctx = loop_open_device();
	e->l.pd = ibv_alloc_pd(e->l.ctx);
	e->l.cq = ibv_create_cq(e->l.ctx, 4 * BURST, NULL, NULL, 0);
	EXPECT(e->l.pd && e->l.cq);
	init.send_cq = init.recv_cq = e->l.cq;
	e->qp = ibv_create_qp(e->l.pd, &init);
	e->mr = ibv_reg_mr(e->l.pd, e->buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	EXPECT(e->qp && e->mr);
	EXPECT(!ibv_query_gid(e->l.ctx, 1, 0, &own.gid));
	own.qpn = e->qp->qp_num;
	send_bytes(e->fd, &own, sizeof(own));
	recv_bytes(e->fd, &other, sizeof(other));
	e->l.gid = other.gid;
	loop_connect(&e->l, e->qp, other.qpn);
}

static void post_receives(struct end *e, unsigned count)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buf,
			       .length = LEN,
			       .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (count-- > 0)
		EXPECT(!ibv_post_recv(e->qp, &wr, &bad));
}

/* Posts @count SENDs one by one. Only the last one is signaled. */
static void post_sends(struct end *e, unsigned count)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buf, .length = LEN };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE },
			   *bad;

	for (; count > 0; count--) {
		if (count == 1)
			wr.send_flags |= IBV_SEND_SIGNALED;
		EXPECT(!ibv_post_send(e->qp, &wr, &bad));
	}
}

static void take_completions(struct end *e, unsigned count)
{
	struct ibv_wc wc[16];

	while (count > 0) {
		int n = ibv_poll_cq(e->l.cq, count < 16 ? (int)count : 16, wc);

		EXPECT(n >= 0);
		for (int i = 0; i < n; i++)
			EXPECT(wc[i].status == IBV_WC_SUCCESS);
		count -= (unsigned)n;
	}
}

static void poll_in_vain(struct end *e, unsigned count)
{
	struct ibv_wc wc;

	while (count-- > 0)
		EXPECT(ibv_poll_cq(e->l.cq, 1, &wc) == 0);
}

/* ------------------------------------------------------------------------ the peer */
static void serve(struct end *e)
{
	char asked;

	while (read(e->fd, &asked, 1) == 1) {
		unsigned count = asked == ONE ? 1 : BURST;

		if (asked == SEND) {
			/* so that it collects its posts into a burst */
			poll_in_vain(e, LEASE);
			post_sends(e, BURST);
			/* A poll sends the posts that were collected. The other end waits
			 * for them.
			 */
			poll_in_vain(e, 1);
			send_bytes(e->fd, &asked, 1);
			take_completions(e, 1);
			continue;
		}
		post_receives(e, count);
		send_bytes(e->fd, &asked, 1);
		take_completions(e, count);
		poll_in_vain(e, 16); /* so that the last ACK is sent */
		send_bytes(e->fd, &asked, 1);
	}
}

/* ------------------------------------------------------------------- what is counted */
enum step {
	POLL,
	POST,
	POST_BURST,
	COMPLETION,
	RECEIVED
};

/* Executes a step. Valgrind counts only the instructions of this function. */
__attribute__((noinline, noclone)) static void counted(struct end *e, enum step step)
{
	switch (step) {
	case POLL:
		poll_in_vain(e, EMPTY);
		break;
	case POST:
		post_sends(e, 1);
		break;
	case POST_BURST:
		post_sends(e, BURST);
		poll_in_vain(e, 1);
		break;
	case COMPLETION:
		take_completions(e, 1);
		break;
	case RECEIVED:
		take_completions(e, BURST);
		break;
	}
}

static void settle(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = SETTLED }, NULL);
}

static void ask(const struct end *e, char what)
{
	send_bytes(e->fd, &what, 1);
	recv_bytes(e->fd, &what, 1);
}

/* Waits until the peer has executed the request, and its packets have arrived. */
static void wait_for_peer(const struct end *e)
{
	char done;

	recv_bytes(e->fd, &done, 1);
	settle();
}

/* Makes one round. Returns the number of calls or messages that were counted. */
static unsigned run_round(struct end *e, const char *what)
{
	if (!strcmp(what, "poll")) {
		counted(e, POLL);
		return EMPTY;
	}
	if (!strcmp(what, "post")) {
		ask(e, ONE);
		counted(e, POST);
		wait_for_peer(e);
		take_completions(e, 1);
		poll_in_vain(e, 1);
		return 1;
	}
	if (!strcmp(what, "send")) {
		ask(e, RECEIVE);
		counted(e, POST_BURST);
		wait_for_peer(e);
		counted(e, COMPLETION);
		return BURST;
	}
	EXPECT(!strcmp(what, "receive"));
	post_receives(e, BURST);
	ask(e, SEND);
	settle();
	counted(e, RECEIVED);
	poll_in_vain(e, 16);
	return BURST;
}

/* Sends a few messages, so that a local wire is set up. Then polls until the device
 * treats the program as one that polls all the time.
 */
static void warm_up(struct end *e)
{
	for (unsigned i = 0; i < WARM_UP_SENDS; i++) {
		ask(e, ONE);
		post_sends(e, 1);
		wait_for_peer(e);
		take_completions(e, 1);
		/* Without this poll, the device would treat eight posts as a stream, and
		 * the next post would be sent by a poll.
		 */
		poll_in_vain(e, 1);
	}
	poll_in_vain(e, WARM_UP);
}

/* ------------------------------------------------------------------------------ main */
static int socket_at(const char *path, bool listens)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	EXPECT(fd >= 0 && strlen(path) < sizeof(at.sun_path));
	strcpy(at.sun_path, path);
	if (!listens) {
		EXPECT(!connect(fd, (struct sockaddr *)&at, sizeof(at)));
		return fd;
	}
	EXPECT(!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1));
	return accept(fd, NULL, NULL);
}

int main(int argc, char **argv)
{
	static struct end e;
	unsigned long rounds;
	unsigned calls = 0;

	EXPECT(argc > 2);
	e.fd = socket_at(argv[2], !strcmp(argv[1], "peer"));
	EXPECT(e.fd >= 0);
	connect_qp(&e);
	ask(&e, ONE); /* the answer shows that the peer is in RTS, too */
	if (!strcmp(argv[1], "peer")) {
		serve(&e);
		return 0;
	}
	EXPECT(argc > 3);
	rounds = strtoul(argv[3], NULL, 10);
	warm_up(&e);
	for (unsigned long i = 0; i < rounds; i++)
		calls += run_round(&e, argv[1]);
	printf("calls %u\n", calls);
	return 0;
}
