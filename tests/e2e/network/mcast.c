/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.c - one end of a multicast group: sends numbered datagrams, checks what comes.
 *
 * usage: mcast [-s] [-r] [-d] [-x ERRNO] [-i GID-INDEX] [-n COUNT] [-t TAG] [-l HOPS]
 *	  GROUP READY GO
 *
 *	-r  attach to GROUP; every datagram with TAG must come, once and whole, and none
 *	    with another TAG. Datagrams of one sender come in order, so the last, number
 *	    COUNT, ends it.
 *	-s  send 0 to COUNT, once the file GO is there
 *	-d  attach, wait for the death of the device and look at what is left
 *	-x  attaching must fail with this error, e.g. ENOMEM
 *
 * The file READY is made when datagrams may come.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/kit/loop.h"

enum {
	MCAST_QPN = 0xffffff,
	QKEY = 0x1234,
	GRH_LEN = 40,
	LEN = 200, /* number of bytes in a datagram */
	SLOT = GRH_LEN + LEN,
	COUNT_MAX = 200,
	WAIT_S = 300,
	SEND_ID = COUNT_MAX + 1,
	IPV4_AT = 20,
};

struct datagram {
	uint32_t tag, number;
	uint8_t fill[LEN - 8];
};

struct end {
	bool sends, receives, dies;
	const char *refusal; /* expected error of attaching, or NULL */
	uint8_t gid_index, hops;
	uint32_t count, tag;
	union ibv_gid group;
	const char *ready, *go;

	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr, *send_mr;
	uint8_t (*slot)[SLOT];
	struct datagram out;
	uint32_t next; /* number of the datagram that must come next */
};

static void parse(struct end *e, int argc, char **argv)
{
	int c;

	*e = (struct end){ .hops = 1, .count = 20, .tag = 1 };
	while ((c = getopt(argc, argv, "srdx:i:n:t:l:")) >= 0) {
		e->sends |= c == 's';
		e->receives |= c == 'r';
		e->dies |= c == 'd';
		if (c == 'x')
			e->refusal = optarg;
		if (c == 'i')
			e->gid_index = (uint8_t)atoi(optarg);
		if (c == 'n')
			e->count = (uint32_t)atoi(optarg);
		if (c == 't')
			e->tag = (uint32_t)atoi(optarg);
		if (c == 'l')
			e->hops = (uint8_t)atoi(optarg);
	}
	EXPECT(argc - optind == 3 && e->count <= COUNT_MAX);
	if (inet_pton(AF_INET, argv[optind], e->group.raw + 12) == 1)
		e->group.raw[10] = e->group.raw[11] = 0xff;
	else
		EXPECT(inet_pton(AF_INET6, argv[optind], e->group.raw) == 1);
	e->ready = argv[optind + 1];
	e->go = argv[optind + 2];
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = QKEY };

	EXPECT(!ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	EXPECT(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	EXPECT(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void open_end(struct end *e)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD,
					 .cap = { .max_send_wr = 4,
						  .max_recv_wr = COUNT_MAX + 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	size_t len = (size_t)(COUNT_MAX + 1) * SLOT;

	e->ctx = loop_open_device();
	e->pd = ibv_alloc_pd(e->ctx);
	e->cq = ibv_create_cq(e->ctx, 2 * COUNT_MAX, NULL, NULL, 0);
	EXPECT(e->pd && e->cq);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &init);
	EXPECT(e->qp);
	to_rts(e->qp);
	e->slot = calloc(1, len);
	EXPECT(e->slot);
	e->mr = ibv_reg_mr(e->pd, e->slot, len, IBV_ACCESS_LOCAL_WRITE);
	e->send_mr = ibv_reg_mr(e->pd, &e->out, sizeof(e->out), 0);
	EXPECT(e->mr && e->send_mr);
	for (uint32_t i = 0; i <= e->count; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)e->slot[i],
				       .length = SLOT,
				       .lkey = e->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
		struct ibv_recv_wr *bad;

		EXPECT(!ibv_post_recv(e->qp, &wr, &bad));
	}
}

static void close_end(struct end *e)
{
	if (e->receives)
		EXPECT(!ibv_detach_mcast(e->qp, &e->group, 0));
	EXPECT(!e->ah || !ibv_destroy_ah(e->ah));
	EXPECT(!ibv_destroy_qp(e->qp));
	EXPECT(!ibv_dereg_mr(e->mr) && !ibv_dereg_mr(e->send_mr));
	EXPECT(!ibv_destroy_cq(e->cq));
	EXPECT(!ibv_dealloc_pd(e->pd));
	EXPECT(!ibv_close_device(e->ctx));
	free(e->slot);
}

/* Checks the header before the data: it must be that of a packet to the group, with the
 * hop limit of the sender.
 */
static void check_header(const struct end *e, const uint8_t *grh)
{
	if (e->group.raw[0] == 0xff) {
		EXPECT(grh[0] >> 4 == 6 && grh[7] == e->hops);
		EXPECT(!memcmp(grh + 24, e->group.raw, 16));
	} else {
		EXPECT(grh[IPV4_AT] == 0x45 && grh[IPV4_AT + 8] == e->hops);
		EXPECT(!memcmp(grh + IPV4_AT + 16, e->group.raw + 12, 4));
	}
}

static void take(struct end *e, const struct ibv_wc *wc)
{
	struct datagram d;

	if (wc->status != IBV_WC_SUCCESS) {
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
		exit(1);
	}
	EXPECT(wc->opcode == IBV_WC_RECV && wc->byte_len == SLOT);
	EXPECT(wc->wc_flags & IBV_WC_GRH);
	check_header(e, e->slot[wc->wr_id]);
	memcpy(&d, e->slot[wc->wr_id] + GRH_LEN, sizeof(d));
	if (d.tag != e->tag || d.number != e->next) {
		fprintf(stderr, "datagram %u of %u came; %u of %u is next\n", d.number,
			d.tag, e->next, e->tag);
		exit(1);
	}
	for (unsigned i = 0; i < sizeof(d.fill); i++)
		EXPECT(d.fill[i] == (uint8_t)(d.number + i));
	e->next++;
}

/* Waits for the next completion, and returns it. */
static struct ibv_wc await(const struct end *e)
{
	time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(e->cq, 1, &wc)) == 0) {
		if (time(NULL) > end) {
			fprintf(stderr, "nothing comes; %u is next\n", e->next);
			exit(1);
		}
	}
	EXPECT(n == 1);
	return wc;
}

/* Handles completions until datagram @number was received (or was sent, if @number is
 * SEND_ID).
 */
static void run_until(struct end *e, uint32_t number)
{
	while (number == SEND_ID || e->next <= number) {
		struct ibv_wc wc = await(e);

		if (wc.wr_id != SEND_ID) {
			take(e, &wc);
			continue;
		}
		EXPECT(wc.status == IBV_WC_SUCCESS);
		if (number == SEND_ID)
			return;
	}
}

static void send_all(struct end *e)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .dgid = e->group,
					     .sgid_index = e->gid_index,
					     .hop_limit = e->hops } };
	struct ibv_sge sge = { .addr = (uintptr_t)&e->out,
			       .length = LEN,
			       .lkey = e->send_mr->lkey };

	e->ah = ibv_create_ah(e->pd, &attr);
	EXPECT(e->ah);
	for (unsigned i = 0; i < 100 * WAIT_S && access(e->go, F_OK); i++)
		poll(NULL, 0, 10);
	for (uint32_t n = 0; n <= e->count; n++) {
		struct ibv_send_wr wr = { .wr_id = SEND_ID,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED,
					  .wr.ud = { .ah = e->ah,
						     .remote_qpn = MCAST_QPN,
						     .remote_qkey = QKEY } };
		struct ibv_send_wr *bad;

		e->out.tag = e->tag;
		e->out.number = n;
		for (unsigned i = 0; i < sizeof(e->out.fill); i++)
			e->out.fill[i] = (uint8_t)(n + i);
		EXPECT(!ibv_post_send(e->qp, &wr, &bad));
		run_until(e, SEND_ID);
	}
}

static void expect_refusal(struct end *e)
{
	int rc = ibv_attach_mcast(e->qp, &e->group, 0);

	if (!rc || strcmp(strerrorname_np(rc), e->refusal) != 0) {
		fprintf(stderr, "ibv_attach_mcast: %s, not %s\n", strerror(rc),
			e->refusal);
		exit(1);
	}
	EXPECT(ibv_detach_mcast(e->qp, &e->group, 0) == EINVAL);
}

/* After the death of the device, the QP can still be detached from its group, and cannot
 * be attached to another one.
 */
static void outlive_device(struct end *e)
{
	union ibv_gid another = e->group;
	struct ibv_async_event event;

	do {
		EXPECT(!ibv_get_async_event(e->ctx, &event));
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_DEVICE_FATAL);
	another.raw[14] ^= 1;
	EXPECT(ibv_attach_mcast(e->qp, &another, 0) == EIO);
	EXPECT(ibv_destroy_qp(e->qp) == EBUSY);
}

int main(int argc, char **argv)
{
	struct end e;
	int rc = 0;

	static_assert(sizeof(struct datagram) == LEN, "no padding");
	parse(&e, argc, argv);
	open_end(&e);
	e.receives |= e.dies;
	if (e.refusal)
		expect_refusal(&e);
	if (e.receives)
		rc = ibv_attach_mcast(e.qp, &e.group, 0);
	if (rc) {
		fprintf(stderr, "ibv_attach_mcast: %s\n", strerror(rc));
		return 1;
	}
	close(open(e.ready, O_CREAT | O_WRONLY, 0600));
	if (e.sends)
		send_all(&e);
	if (e.dies)
		outlive_device(&e);
	else if (e.receives)
		run_until(&e, e.count);
	close_end(&e);
	return 0;
}
