/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_many.c - many connections by librdmacm, which are kept, or made and ended as fast as
 * possible.
 *
 * usage: cm_many serve ADDRESS PORT
 *		accept all connections until a byte or end of file on standard input, or
 *		until the device is gone
 *	  cm_many hold ADDRESS PORT COUNT
 *		make COUNT connections; end when each of them was disconnected by the
 *		peer and has flushed its receive, or has reported that the device is gone
 *	  cm_many storm ADDRESS PORT SECONDS AT-A-TIME
 *		make and end connections, AT-A-TIME of them at once; if SECONDS is 0,
 *		until a byte or end of file on standard input; print their number so far
 *		every second
 *	  cm_many ids ADDRESS PORT SECONDS
 *		create and destroy ids: two commands to rocind, one after the other
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	RESOLVE_MS = 300000,
	BUF_LEN = 64,
	EVENTS_AT_ONCE = 64,
};

static struct {
	struct rdma_event_channel *ch;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct sockaddr_in to;
	char buf[BUF_LEN];
	double until; /* storm: time after which no connection is begun; otherwise 0 */
	bool holds;
	unsigned alive, established, disconnected, removed, flushed, failed;
	unsigned long made;
} my;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the processor time that this process has used. */
static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Creates the QP of a connection. All connections share a completion queue, so that a
 * connection needs only a QP.
 */
static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	if (!my.pd) {
		EXPECT(my.pd = ibv_alloc_pd(id->verbs));
		EXPECT(my.cq = ibv_create_cq(id->verbs, 16384, NULL, NULL, 0));
		EXPECT(my.mr = ibv_reg_mr(my.pd, my.buf, sizeof(my.buf),
					  IBV_ACCESS_LOCAL_WRITE));
	}
	attr.send_cq = attr.recv_cq = my.cq;
	EXPECT(rdma_create_qp(id, my.pd, &attr) == 0);
	if (!my.holds)
		return;
	sge = (struct ibv_sge){ (uintptr_t)my.buf, BUF_LEN, my.mr->lkey };
	recv.sg_list = &sge;
	EXPECT(ibv_post_recv(id->qp, &recv, &bad) == 0);
}

static void begin(void)
{
	struct rdma_cm_id *id;

	EXPECT(rdma_create_id(my.ch, &id, NULL, RDMA_PS_TCP) == 0);
	my.alive++;
	EXPECT(rdma_resolve_addr(id, NULL, (struct sockaddr *)&my.to, RESOLVE_MS) == 0);
}

static void end(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	EXPECT(rdma_destroy_id(id) == 0);
	my.alive--;
}

static void count_flushed(void)
{
	struct ibv_wc wc;

	while (my.cq && ibv_poll_cq(my.cq, 1, &wc) == 1) {
		EXPECT(wc.status == IBV_WC_WR_FLUSH_ERR);
		my.flushed++;
	}
}

static const struct rdma_conn_param param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

/* ---- Events ---- */

static void on_established(struct rdma_cm_id *id)
{
	my.established++;
	my.made++;
	if (my.until > 0)
		EXPECT(rdma_disconnect(id) == 0);
}

/* The event may be the answer to this program's own rdma_disconnect(). */
static void on_disconnected(struct rdma_cm_id *id)
{
	my.disconnected++;
	rdma_disconnect(id);
	if (my.holds)
		return;
	end(id);
	if (my.until > now())
		begin();
}

/* Handles an event. Actions that are possible only after the event was acknowledged come
 * after that.
 */
static void on_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct rdma_conn_param p = param;

	switch ((int)type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		EXPECT(rdma_resolve_route(id, RESOLVE_MS) == 0);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		make_qp(id);
		EXPECT(rdma_connect(id, &p) == 0);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		my.alive++;
		make_qp(id);
		/* The program that has sent the request may have ended. */
		if (rdma_accept(id, &p)) {
			EXPECT(errno == EINVAL);
			my.failed++;
			end(id);
		}
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		on_disconnected(id);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		my.removed++;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		printf("%s, status %d\n", rdma_event_str(type), status);
		my.failed++;
		end(id);
		break;
	}
}

/* Handles one event. Returns false if there is none. */
static bool take_event(void)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	enum rdma_cm_event_type type;
	int status;

	if (rdma_get_cm_event(my.ch, &ev)) {
		EXPECT(errno == EAGAIN || errno == ENODEV);
		return false;
	}
	id = ev->id;
	type = ev->event;
	status = ev->status;
	rdma_ack_cm_event(ev);
	on_event(id, type, status);
	return true;
}

static void open_channel(void)
{
	EXPECT(my.ch = rdma_create_event_channel());
	EXPECT(fcntl(my.ch->fd, F_SETFL, O_NONBLOCK) == 0);
}

/* Waits for events, and handles a limited number of them, so that the caller can continue
 * even if new events always come.
 */
static void wait_for_event(void)
{
	struct pollfd p = { .fd = my.ch->fd, .events = POLLIN };
	unsigned left = EVENTS_AT_ONCE;

	poll(&p, 1, 100);
	while (left > 0 && take_event())
		left--;
}

/* ---- The modes of the program ---- */

static int serve(void)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .fd = 0, .events = POLLIN } };
	struct rdma_cm_id *listener;

	p[0].fd = my.ch->fd;
	EXPECT(rdma_create_id(my.ch, &listener, NULL, RDMA_PS_TCP) == 0);
	if (rdma_bind_addr(listener, (struct sockaddr *)&my.to)) {
		printf("cannot bind: errno %d\n", errno);
		return 1;
	}
	EXPECT(rdma_listen(listener, 1024) == 0);
	printf("listening\n");
	while (poll(p, 2, -1) > 0 && !p[1].revents && !my.removed)
		while (take_event())
			;
	printf("accepted %lu, %u alive, %u failed\n", my.made, my.alive, my.failed);
	EXPECT(rdma_destroy_id(listener) == 0);
	return 0;
}

static int hold(unsigned count)
{
	my.holds = true;
	for (unsigned i = 0; i < count; i++)
		begin();
	while (my.established + my.failed < count)
		wait_for_event();
	printf("held %u\n", my.established);
	while (my.disconnected + my.removed < my.established ||
	       my.flushed < my.established) {
		wait_for_event();
		count_flushed();
	}
	printf("told %u disconnected, %u removed, %u flushed\n", my.disconnected,
	       my.removed, my.flushed);
	return my.failed != 0;
}

static int storm(double seconds, unsigned at_a_time)
{
	double start = now(), cpu = cpu_time(), report = start + 1;
	struct pollfd input = { .fd = 0, .events = POLLIN };

	my.until = seconds > 0 ? start + seconds : INFINITY;
	for (unsigned i = 0; i < at_a_time; i++)
		begin();
	while (my.alive) {
		wait_for_event();
		if (now() < report)
			continue;
		printf("made %lu at %.3f\n", my.made, now() - start);
		report = now() + 1;
		if (isinf(my.until) && poll(&input, 1, 0) == 1)
			my.until = start;
	}
	printf("connections %lu failed %u cpu_ms %.0f per_second %.0f\n", my.made,
	       my.failed, 1e3 * (cpu_time() - cpu), (double)my.made / (now() - start));
	return my.failed != 0;
}

static int make_ids(double seconds)
{
	double start = now(), cpu = cpu_time();
	unsigned long ids = 0;
	struct rdma_cm_id *id;

	for (; now() - start < seconds; ids++) {
		EXPECT(rdma_create_id(my.ch, &id, NULL, RDMA_PS_TCP) == 0);
		EXPECT(rdma_destroy_id(id) == 0);
	}
	printf("ids %lu cpu_ms %.0f\n", ids, 1e3 * (cpu_time() - cpu));
	return 0;
}

int main(int argc, char **argv)
{
	int rc = 64;

	if (argc < 4 || inet_pton(AF_INET, argv[2], &my.to.sin_addr) != 1)
		return rc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	my.to.sin_family = AF_INET;
	my.to.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10));
	open_channel();
	if (strcmp(argv[1], "serve") == 0)
		rc = serve();
	else if (strcmp(argv[1], "hold") == 0 && argc == 5)
		rc = hold((unsigned)strtoul(argv[4], NULL, 10));
	else if (strcmp(argv[1], "storm") == 0 && argc == 6)
		rc = storm(strtod(argv[4], NULL), (unsigned)strtoul(argv[5], NULL, 10));
	else if (strcmp(argv[1], "ids") == 0 && argc == 5)
		rc = make_ids(strtod(argv[4], NULL));
	return rc;
}
