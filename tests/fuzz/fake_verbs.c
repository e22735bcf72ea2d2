/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_verbs.c - see fake_verbs.h. An object that is destroyed while another needs it is
 * a mistake of the program under test.
 */
#include "fake_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "script.h"

static struct ibv_context context;
static uint8_t failures;
static unsigned objects;
static unsigned users_of_cqs, users_of_pds;

void fake_fail(uint8_t calls)
{
	failures = calls;
}

unsigned fake_objects(void)
{
	return objects;
}

static bool fails(void)
{
	bool now = failures & 1;

	failures >>= 1;
	if (now)
		errno = ENOMEM;
	return now;
}

static void *make(size_t size)
{
	void *object = calloc(1, size);

	require(object != NULL);
	objects++;
	return object;
}

static int destroy(void *object)
{
	require(object != NULL && objects > 0);
	objects--;
	free(object);
	return 0;
}

/* ------------------------------------------------------------------ objects */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *c;

	if (fails())
		return NULL;
	c = make(sizeof(*c));
	c->context = ctx;
	c->fd = dup(0);
	return c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	require(c->refcnt == 0);
	close(c->fd);
	return destroy(c);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	(void)vector;
	require(cqe > 0 && channel);
	if (fails())
		return NULL;
	channel->refcnt++;
	cq = make(sizeof(*cq));
	cq->channel = channel;
	cq->context = ctx;
	cq->cq_context = cq_context;
	cq->cqe = cqe;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	require(users_of_cqs == 0);
	cq->channel->refcnt--;
	return destroy(cq);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd;

	if (fails())
		return NULL;
	pd = make(sizeof(*pd));
	pd->context = ctx;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	require(users_of_pds == 0);
	return destroy(pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length)
{
	struct ibv_mr *mr;

	require(pd && addr && length);
	if (fails())
		return NULL;
	users_of_pds++;
	mr = make(sizeof(*mr));
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	return mr;
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access)
{
	(void)iova;
	(void)access;
	return reg_mr(pd, addr, length);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
				uint64_t iova, unsigned int access)
{
	(void)iova;
	(void)access;
	return reg_mr(pd, addr, length);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	users_of_pds--;
	return destroy(mr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *qp;

	require(pd && init->send_cq && init->recv_cq && init->qp_type == IBV_QPT_RC);
	if (fails())
		return NULL;
	users_of_pds++;
	users_of_cqs++;
	qp = make(sizeof(*qp));
	qp->context = pd->context;
	qp->pd = pd;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	users_of_pds--;
	users_of_cqs--;
	return destroy(qp);
}

/* -------------------------------------------------------------------- calls */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	require(qp && attr);
	(void)mask;
	return fails() ? EINVAL : 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	require(qp && init);
	(void)mask;
	*attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	return fails() ? EIO : 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	/* The library may follow what these point to. */
	require(qp && !(wr->send_flags & IBV_SEND_INLINE) && !wr->next);
	require(wr->opcode != IBV_WR_BIND_MW || !wr->bind_mw.mw);
	require(wr->opcode != IBV_WR_TSO || !wr->tso.hdr);
	*bad = wr;
	return fails() ? EINVAL : 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	require(qp && !wr->next);
	*bad = wr;
	return fails() ? ENOMEM : 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	require(cq && count == 1);
	*wc = (struct ibv_wc){ .wr_id = 1, .byte_len = 2, .wc_flags = IBV_WC_WITH_IMM };
	return fails() ? 1 : 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	require(cq && (solicited_only & ~1) == 0);
	return fails() ? EIO : 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
		     void **cq_context)
{
	require(channel != NULL);
	*cq = NULL;
	*cq_context = NULL;
	return fails() ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	require(count == 1);
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	static struct ibv_qp qp = { .qp_num = 7 };

	require(ctx == &context);
	*event = (struct ibv_async_event){ .event_type = IBV_EVENT_COMM_EST };
	event->element.qp = &qp;
	return fails() ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	require(event != NULL);
}

/* ------------------------------------------------------------------ devices */
struct ibv_device **ibv_get_device_list(int *count)
{
	if (count)
		*count = 0;
	return NULL;
}

void ibv_free_device_list(struct ibv_device **list)
{
	require(list == NULL);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	(void)device;
	return "fake";
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	(void)device;
	return NULL;
}

int ibv_close_device(struct ibv_context *ctx)
{
	(void)ctx;
	return 0;
}

int ibv_query_gid(struct ibv_context *ctx, uint8_t port, int index, union ibv_gid *gid)
{
	(void)ctx;
	(void)port;
	(void)index;
	*gid = (union ibv_gid){ .raw = { [15] = 1 } };
	return 0;
}

struct ibv_context *fake_context(void)
{
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	context.ops.poll_cq = poll_cq;
	context.ops.req_notify_cq = req_notify_cq;
	return &context;
}
