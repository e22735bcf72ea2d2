/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent.c - the device of rocin-conform-agent, and the objects of a scenario on it. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packet.h"

/* --------------------------------------------------------------------- device */
int rn_agent_open(struct rn_agent *a, const char *name, uint8_t gid_index)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	*a = (struct rn_agent){ .gid_index = gid_index };
	for (unsigned i = 0; list && list[i] && !a->ctx; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			a->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!a->ctx) {
		fprintf(stderr, "rocin-conform-agent: no device %s\n", name ? name : "");
		return -ENODEV;
	}
	if (ibv_query_gid(a->ctx, 1, gid_index, &a->gid) ||
	    fcntl(a->ctx->async_fd, F_SETFL, O_NONBLOCK)) {
		fprintf(stderr, "rocin-conform-agent: the device has no GID %u\n",
			gid_index);
		ibv_close_device(a->ctx);
		return -ENOENT;
	}
	return 0;
}

/* -------------------------------------------------------------------- objects */
static void free_mr(struct rn_agent_mr *m)
{
	if (m->mr)
		ibv_dereg_mr(m->mr);
	m->mr = NULL;
}

void rn_agent_clear(struct rn_agent *a)
{
	for (unsigned i = 0; i < a->qps; i++)
		ibv_destroy_qp(a->qp[i]);
	for (unsigned i = 0; i < a->mrs; i++) {
		free_mr(&a->mr[i]);
		free(a->mr[i].buf);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (a->cq[i])
			ibv_destroy_cq(a->cq[i]);
		if (a->channel[i])
			ibv_destroy_comp_channel(a->channel[i]);
		a->cq[i] = NULL;
		a->channel[i] = NULL;
	}
	for (unsigned i = 0; i < RN_AGENT_PDS; i++) {
		if (a->pd[i])
			ibv_dealloc_pd(a->pd[i]);
		a->pd[i] = NULL;
	}
	a->qps = a->mrs = 0;
}

static int begin(struct rn_agent *a, struct rn_conform_line *l)
{
	if (l->count != 3 || l->n[0] == 0 || l->n[0] > 1 << 16)
		return EPROTO;
	rn_agent_clear(a);
	memcpy(a->tester.raw, &l->n[1], sizeof(a->tester.raw));
	for (unsigned i = 0; i < 2; i++) {
		a->channel[i] = ibv_create_comp_channel(a->ctx);
		if (!a->channel[i] || fcntl(a->channel[i]->fd, F_SETFL, O_NONBLOCK))
			return ENOMEM;
		a->cq[i] = ibv_create_cq(a->ctx, (int)l->n[0], NULL, a->channel[i], 0);
		if (!a->cq[i])
			return errno;
	}
	l->count = 0;
	return 0;
}

static struct ibv_pd *domain(struct rn_agent *a, uint64_t number)
{
	if (number >= RN_AGENT_PDS)
		return NULL;
	if (!a->pd[number])
		a->pd[number] = ibv_alloc_pd(a->ctx);
	return a->pd[number];
}

static int add_mr(struct rn_agent *a, struct rn_conform_line *l)
{
	struct rn_agent_mr *m = &a->mr[a->mrs];
	uint64_t len = l->n[0], va = l->n[1];
	long page = sysconf(_SC_PAGESIZE);
	struct ibv_pd *pd;

	if (l->count != 4 || a->mrs == RN_SCN_MRS || !len || len > RN_AGENT_MR_MAX)
		return EPROTO;
	pd = domain(a, l->n[3]);
	if (!pd)
		return EPROTO;
	*m = (struct rn_agent_mr){ .len = len };
	if (posix_memalign((void **)&m->buf, (size_t)page, len))
		return ENOMEM;
	for (uint64_t i = 0; i < len; i++)
		m->buf[i] = rn_scene_fill(a->mrs, i);
	if (va == RN_CONFORM_ANYWHERE)
		va = l->n[2] & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)m->buf;
	m->mr = ibv_reg_mr_iova(pd, m->buf, len, va, (unsigned)l->n[2]);
	if (!m->mr) {
		free(m->buf);
		return errno;
	}
	a->mrs++;
	l->count = 2;
	l->n[0] = m->mr->rkey;
	l->n[1] = va;
	return 0;
}

static int add_qp(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_qp_init_attr init = {
		.send_cq = a->cq[0],
		.recv_cq = a->cq[1],
		.qp_type = (enum ibv_qp_type)l->n[0],
		.cap = { .max_send_wr = (uint32_t)l->n[2],
			 .max_recv_wr = (uint32_t)l->n[3],
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_pd *pd;

	if (l->count != 4 || a->qps == RN_SCN_QPS || !a->cq[1] || l->n[0] != IBV_QPT_RC)
		return EPROTO;
	pd = domain(a, l->n[1]);
	if (!pd)
		return EPROTO;
	a->qp[a->qps] = ibv_create_qp(pd, &init);
	if (!a->qp[a->qps])
		return errno;
	l->count = 1;
	l->n[0] = a->qp[a->qps++]->qp_num;
	return 0;
}

/* ------------------------------------------------------------ looking at things */
static int query(struct rn_agent *a, struct rn_conform_line *l)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int rc;

	if (l->count != 1 || l->n[0] >= a->qps)
		return EPROTO;
	rc = ibv_query_qp(a->qp[l->n[0]], &attr,
			  IBV_QP_STATE | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN, &init);
	if (rc)
		return rc;
	l->count = 3;
	l->n[0] = attr.qp_state;
	l->n[1] = attr.rq_psn;
	l->n[2] = attr.sq_psn;
	return 0;
}

static int memory(struct rn_agent *a, struct rn_conform_line *l)
{
	uint64_t offset = l->n[1], len = l->n[2];
	const struct rn_agent_mr *m = &a->mr[l->n[0] % RN_SCN_MRS];

	if (l->count != 3 || l->n[0] >= a->mrs || len > RN_CONFORM_READ_MAX)
		return EPROTO;
	if (offset > m->len || len > m->len - offset)
		return EFAULT;
	memset(l->n, 0, sizeof(l->n));
	memcpy(l->n, m->buf + offset, len);
	l->count = (unsigned)(len + 7) / 8;
	return 0;
}

static int hello(struct rn_agent *a, struct rn_conform_line *l)
{
	l->count = 3;
	l->n[0] = RN_CONFORM_VERSION;
	memcpy(&l->n[1], a->gid.raw, sizeof(a->gid.raw));
	return 0;
}

static int dereg(struct rn_agent *a, struct rn_conform_line *l)
{
	if (l->count != 1 || l->n[0] >= a->mrs)
		return EPROTO;
	free_mr(&a->mr[l->n[0]]);
	l->count = 0;
	return 0;
}

static int arm(struct rn_agent *a, struct rn_conform_line *l)
{
	if (l->count != 2 || l->n[0] > 1 || !a->cq[l->n[0]])
		return EPROTO;
	return ibv_req_notify_cq(a->cq[l->n[0]], l->n[1] != 0);
}

void rn_agent_answer(struct rn_agent *a, struct rn_conform_line *l)
{
	static const struct {
		const char *word;
		int (*run)(struct rn_agent *a, struct rn_conform_line *l);
	} verbs[] = {
		{ "hello", hello },
		{ "begin", begin },
		{ "mr", add_mr },
		{ "qp", add_qp },
		{ "modify", rn_agent_modify },
		{ "post", rn_agent_post },
		{ "recv", rn_agent_recv },
		{ "poll", rn_agent_poll },
		{ "query", query },
		{ "memory", memory },
		{ "dereg", dereg },
		{ "arm", arm },
	};
	int rc = EPROTO;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(l->word, verbs[i].word))
			rc = verbs[i].run(a, l);
	if (rc) {
		l->count = 1;
		l->n[0] = (uint64_t)(unsigned)rc;
	}
	memcpy(l->word, rc ? "no" : "ok", sizeof("ok"));
}
