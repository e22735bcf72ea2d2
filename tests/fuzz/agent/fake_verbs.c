/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fake_verbs.c - see fake_verbs.h. An object that is destroyed while another needs it is
 * a mistake of the program under test.
 */
#include "fake_verbs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fuzz/script.h"

static struct verbs_context extended = {
	.sz = sizeof(extended),
	.context.abi_compat = __VERBS_ABI_IS_EXTENDED,
};
static uint8_t failures;
static unsigned objects;
unsigned fake_users_of_cqs, fake_users_of_pds;

void fake_fail(uint8_t calls)
{
	failures = calls;
}

unsigned fake_objects(void)
{
	return objects;
}

bool fake_fails(void)
{
	bool now = failures & 1;

	failures >>= 1;
	if (now)
		errno = ENOMEM;
	return now;
}

void *fake_make(size_t size)
{
	void *object = calloc(1, size);

	require(object != NULL);
	objects++;
	return object;
}

int fake_destroy(void *object)
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

	if (fake_fails())
		return NULL;
	c = fake_make(sizeof(*c));
	c->context = ctx;
	c->fd = dup(0);
	return c;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *c)
{
	require(c->refcnt == 0);
	close(c->fd);
	return fake_destroy(c);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	(void)vector;
	require(cqe > 0 && channel);
	if (fake_fails())
		return NULL;
	channel->refcnt++;
	cq = fake_make(sizeof(*cq));
	cq->channel = channel;
	cq->context = ctx;
	cq->cq_context = cq_context;
	cq->cqe = cqe;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	require(fake_users_of_cqs == 0);
	cq->channel->refcnt--;
	return fake_destroy(cq);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd;

	if (fake_fails())
		return NULL;
	pd = fake_make(sizeof(*pd));
	pd->context = ctx;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	require(fake_users_of_pds == 0);
	return fake_destroy(pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length)
{
	struct ibv_mr *mr;

	require(pd && addr && length);
	if (fake_fails())
		return NULL;
	fake_users_of_pds++;
	mr = fake_make(sizeof(*mr));
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
	fake_users_of_pds--;
	return fake_destroy(mr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *qp;

	require(pd && init->send_cq &&
		(init->recv_cq || init->qp_type == IBV_QPT_XRC_SEND));
	if (fake_fails())
		return NULL;
	fake_users_of_pds++;
	fake_users_of_cqs++;
	qp = fake_make(sizeof(struct ibv_qp_ex));
	qp->context = pd->context;
	qp->pd = pd;
	qp->qp_type = init->qp_type;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	require(qp->handle == 0); /* in a group */
	fake_users_of_pds--;
	fake_users_of_cqs--;
	return fake_destroy(qp);
}

/* -------------------------------------------------------------------- calls */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	require(qp && attr);
	(void)mask;
	return fake_fails() ? EINVAL : 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	require(qp && init);
	(void)mask;
	*attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	return fake_fails() ? EIO : 0;
}

/* The library reads inline data, and follows what these point to. */
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	volatile uint8_t byte = 0;

	require(qp && !wr->next && wr->opcode != IBV_WR_TSO);
	require(wr->opcode != IBV_WR_BIND_MW || (wr->bind_mw.mw && wr->bind_mw.mw->pd));
	require(qp->qp_type != IBV_QPT_UD || wr->opcode == IBV_WR_BIND_MW ||
		wr->wr.ud.ah);
	if (wr->send_flags & IBV_SEND_INLINE)
		for (uint32_t i = 0; wr->num_sge && i < wr->sg_list->length; i++)
			byte ^= ((const uint8_t *)(uintptr_t)wr->sg_list->addr)[i];
	(void)byte;
	*bad = wr;
	return fake_fails() ? EINVAL : 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	require(qp && !wr->next);
	*bad = wr;
	return fake_fails() ? ENOMEM : 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	require(cq && count == 1);
	*wc = (struct ibv_wc){ .wr_id = 1, .byte_len = 2, .wc_flags = IBV_WC_WITH_IMM };
	return fake_fails() ? 1 : 0;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	require(cq && (solicited_only & ~1) == 0);
	return fake_fails() ? EIO : 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
		     void **cq_context)
{
	require(channel != NULL);
	*cq = NULL;
	*cq_context = NULL;
	return fake_fails() ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	require(count == 1);
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	static struct ibv_qp qp = { .qp_num = 7 };

	require(ctx == &extended.context);
	*event = (struct ibv_async_event){ .event_type = IBV_EVENT_COMM_EST };
	event->element.qp = &qp;
	return fake_fails() ? 0 : -1;
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

int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	(void)ctx;
	(void)port;
	(void)flags;
	require(size == sizeof(*entry));
	*entry = (struct ibv_gid_entry){ .gid_index = index, .gid.raw = { [15] = 1 } };
	return 0;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	(void)ctx;
	*attr = (struct ibv_device_attr){ .max_srq = 1 };
	return 0;
}

struct ibv_context *fake_context(void)
{
	extended.context.ops.post_send = post_send;
	extended.context.ops.post_recv = post_recv;
	extended.context.ops.poll_cq = poll_cq;
	extended.context.ops.req_notify_cq = req_notify_cq;
	fake_extend(&extended);
	return &extended.context;
}
