/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_objects.c - creates the objects (MRs, QPs and so on) that a conformance scenario
 * needs on the device, and destroys them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "agent.h"
#include "sim/scenario/packet.h"

static struct ibv_pd *domain(struct rn_agent *a, uint64_t number)
{
	if (number >= RN_AGENT_PDS)
		return NULL;
	if (!a->pd[number])
		a->pd[number] = ibv_alloc_pd(a->ctx);
	return a->pd[number];
}

static struct ibv_xrcd *xrc_domain(struct rn_agent *a, uint64_t number)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	if (number >= RN_AGENT_XRCDS)
		return NULL;
	if (!a->xrcd[number])
		a->xrcd[number] = ibv_open_xrcd(a->ctx, &attr);
	return a->xrcd[number];
}

/* ------------------------------------------------------- memory regions and windows */
int rn_agent_add_mr(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_mr *m = &a->mr[a->mrs];
	uint64_t len = l->n[0], va = l->n[1];
	struct ibv_pd *pd;

	if (l->count != 4 || a->mrs == RN_SCN_MRS || !len || len > RN_AGENT_MR_MAX)
		return EPROTO;
	pd = domain(a, l->n[3]);
	if (!pd)
		return EPROTO;
	*m = (struct rn_agent_mr){ .len = len };
	m->buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (m->buf == MAP_FAILED)
		return ENOMEM;
	for (uint64_t i = 0; i < len; i++)
		m->buf[i] = rn_scene_fill(a->mrs, i);
	if (va == RN_CONFORM_ANYWHERE)
		va = l->n[2] & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)m->buf;
	m->va = va;
	m->mr = ibv_reg_mr_iova(pd, m->buf, len, va, (unsigned)l->n[2]);
	/* the MR is counted even if its registration has failed, because the tester
	 * counts it, too
	 */
	a->mrs++;
	if (!m->mr)
		return errno;
	l->count = 3;
	l->n[0] = m->mr->rkey;
	l->n[1] = va;
	l->n[2] = m->mr->lkey;
	return 0;
}

int rn_agent_add_mw(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_mr *m = &a->mr[a->mrs];
	struct ibv_pd *pd;

	if (l->count != 2 || a->mrs == RN_SCN_MRS || l->n[0] < 1 || l->n[0] > 2)
		return EPROTO;
	pd = domain(a, l->n[1]);
	if (!pd)
		return EPROTO;
	*m = (struct rn_agent_mr){ .mw = ibv_alloc_mw(pd, l->n[0] == 1 ? IBV_MW_TYPE_1
								       : IBV_MW_TYPE_2) };
	if (!m->mw)
		return errno;
	a->mrs++;
	l->count = 1;
	l->n[0] = m->mw->rkey;
	return 0;
}

int rn_agent_dereg(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_mr *m = &a->mr[l->n[0] % RN_SCN_MRS];
	int rc = 0;

	if (l->count != 1 || l->n[0] >= a->mrs)
		return EPROTO;
	if (m->mr)
		rc = ibv_dereg_mr(m->mr);
	else if (m->mw)
		rc = ibv_dealloc_mw(m->mw);
	if (rc)
		return rc;
	m->mr = NULL;
	m->mw = NULL;
	l->count = 0;
	return 0;
}

/* Unmaps the memory of an MR without deregistering it. An inaccessible mapping replaces
 * the memory, so that no other memory can be mapped to its addresses.
 */
int rn_agent_unmap(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_mr *m = &a->mr[l->n[0] % RN_SCN_MRS];

	if (l->count != 1 || l->n[0] >= a->mrs || !m->buf)
		return EPROTO;
	if (mmap(m->buf, m->len, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		return errno;
	m->unmapped = true;
	l->count = 0;
	return 0;
}

/* ------------------------------------------------------------ shared receive queues */
static struct ibv_srq *make_srq(struct rn_agent *a, struct ibv_pd *pd, uint32_t depth,
				struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = depth, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex ex = {
		.attr = plain.attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = a->cq[1],
	};

	return xrcd ? ibv_create_srq_ex(a->ctx, &ex) : ibv_create_srq(pd, &plain);
}

int rn_agent_add_srq(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_srq *s = &a->srq[a->srqs];
	struct ibv_xrcd *xrcd = NULL;
	struct ibv_pd *pd;

	if (l->count != 3 || a->srqs == RN_SCN_SRQS || !a->cq[1])
		return EPROTO;
	pd = domain(a, l->n[0]);
	if (l->n[2])
		xrcd = xrc_domain(a, l->n[2]);
	if (!pd || (l->n[2] && !xrcd))
		return EPROTO;
	*s = (struct rn_agent_srq){ .srq = make_srq(a, pd, (uint32_t)l->n[1], xrcd),
				    .number = a->srqs + 1 };
	if (!s->srq)
		return errno;
	a->srqs++;
	if (xrcd)
		ibv_get_srq_num(s->srq, &s->number);
	l->count = 1;
	l->n[0] = s->number;
	return 0;
}

/* ---------------------------------------------------------------- queue pairs */
/* Returns the flags for ibv_qp_init_attr_ex.send_ops_flags: those of the functions
 * ibv_wr_*() by which this agent posts requests that ibv_post_send() does not accept.
 */
static uint64_t calls(void)
{
	uint64_t flags = 0;

	for (unsigned opcode = 0; opcode < RN_WR_COUNT; opcode++) {
		const struct rn_conform_operation *op = rn_conform_operation(opcode);

		flags |= op ? op->call : 0;
	}
	return flags;
}

/* Creates a QP by ibv_create_qp_ex(), which is needed for XRC receive QPs and for QPs
 * that are used by ibv_wr_*().
 */
static struct ibv_qp *make_qp_ex(struct rn_agent *a, const struct ibv_qp_init_attr *from,
				 struct ibv_pd *pd, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = from->send_cq,
		.recv_cq = from->recv_cq,
		.srq = from->srq,
		.cap = from->cap,
		.qp_type = from->qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags =
			IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | calls(),
	};

	if (from->qp_type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = xrcd;
		init.pd = NULL;
		init.send_cq = init.recv_cq = NULL;
		init.cap = (struct ibv_qp_cap){ 0 };
	}
	return ibv_create_qp_ex(a->ctx, &init);
}

static struct ibv_qp *make_qp(struct rn_agent *a, const uint64_t *n, struct ibv_pd *pd,
			      struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr init = {
		.send_cq = a->cq[0],
		.recv_cq = a->cq[1],
		.srq = n[RN_CONFORM_QP_SRQ] ? a->srq[n[RN_CONFORM_QP_SRQ] - 1].srq : NULL,
		.qp_type = (enum ibv_qp_type)n[RN_CONFORM_QP_TYPE],
		.cap = { .max_send_wr = (uint32_t)n[RN_CONFORM_QP_SQ],
			 .max_recv_wr = (uint32_t)n[RN_CONFORM_QP_RQ],
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = (uint32_t)n[RN_CONFORM_QP_INLINE] },
	};

	if (init.qp_type == IBV_QPT_XRC_SEND) {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	}
	if (init.srq)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	if (init.qp_type == IBV_QPT_XRC_RECV || n[RN_CONFORM_QP_EX])
		return make_qp_ex(a, &init, pd, xrcd);
	return ibv_create_qp(pd, &init);
}

static bool is_qp_type(uint64_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD ||
	       type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

int rn_agent_add_qp(struct rn_agent *a, struct rn_conform_line *l)
{
	const uint64_t *n = l->n;
	struct rn_agent_qp *q = &a->qp[a->qps];
	struct ibv_xrcd *xrcd = NULL;
	struct ibv_pd *pd;

	if (l->count != RN_CONFORM_QP_NUMBERS || a->qps == RN_SCN_QPS || !a->cq[1] ||
	    !is_qp_type(n[RN_CONFORM_QP_TYPE]) || n[RN_CONFORM_QP_SRQ] > a->srqs)
		return EPROTO;
	pd = domain(a, n[RN_CONFORM_QP_PD]);
	if (n[RN_CONFORM_QP_TYPE] == IBV_QPT_XRC_RECV)
		xrcd = xrc_domain(a, n[RN_CONFORM_QP_XRCD]);
	if (!pd || (n[RN_CONFORM_QP_TYPE] == IBV_QPT_XRC_RECV && !xrcd))
		return EPROTO;
	*q = (struct rn_agent_qp){ .qp = make_qp(a, n, pd, xrcd),
				   .pd = (unsigned)n[RN_CONFORM_QP_PD] };
	if (!q->qp)
		return errno;
	a->qps++;
	l->count = 1;
	l->n[0] = q->qp->qp_num;
	return 0;
}

/* --------------------------------------------- destroying all objects of a scenario */
static void clear_queues(struct rn_agent *a)
{
	for (unsigned i = 0; i < a->qps; i++) {
		if (a->qp[i].joined)
			ibv_detach_mcast(a->qp[i].qp, &a->group, 0);
		ibv_destroy_qp(a->qp[i].qp);
	}
	for (unsigned i = 0; i < a->srqs; i++)
		ibv_destroy_srq(a->srq[i].srq);
	for (unsigned i = 0; i < 2; i++) {
		if (a->cq[i])
			ibv_destroy_cq(a->cq[i]);
		if (a->channel[i])
			ibv_destroy_comp_channel(a->channel[i]);
		a->cq[i] = NULL;
		a->channel[i] = NULL;
	}
}

/* Destroys memory windows and regions. Windows are destroyed first, because they may be
 * bound to regions.
 */
static void clear_memory(struct rn_agent *a)
{
	for (unsigned i = 0; i < a->mrs; i++)
		if (a->mr[i].mw)
			ibv_dealloc_mw(a->mr[i].mw);
	for (unsigned i = 0; i < a->mrs; i++) {
		if (a->mr[i].mr)
			ibv_dereg_mr(a->mr[i].mr);
		if (a->mr[i].buf)
			munmap(a->mr[i].buf, a->mr[i].len);
		a->mr[i] = (struct rn_agent_mr){ 0 };
	}
}

static void clear_handles(struct rn_agent *a)
{
	for (unsigned i = 0; i < RN_AGENT_PDS; i++) {
		for (unsigned k = 0; k < 2; k++) {
			if (a->ah[i].ah[k])
				ibv_destroy_ah(a->ah[i].ah[k]);
			a->ah[i].ah[k] = NULL;
		}
	}
}

static void clear_domains(struct rn_agent *a)
{
	for (unsigned i = 0; i < RN_AGENT_PDS; i++) {
		if (a->pd[i])
			ibv_dealloc_pd(a->pd[i]);
		a->pd[i] = NULL;
	}
	for (unsigned i = 0; i < RN_AGENT_XRCDS; i++) {
		if (a->xrcd[i])
			ibv_close_xrcd(a->xrcd[i]);
		a->xrcd[i] = NULL;
	}
}

void rn_agent_clear(struct rn_agent *a)
{
	rn_agent_cm_clear(a);
	clear_queues(a);
	clear_memory(a);
	clear_handles(a);
	clear_domains(a);
	a->qps = a->srqs = a->mrs = 0;
}
