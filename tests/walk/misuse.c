/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* misuse.c - arguments that no device takes: each must be refused, and by a
 * right errno.
 */
#include "walk.h"

#define REFUSED(what, pointer, ...)                                 \
	do {                                                        \
		errno = 0;                                          \
		if (pointer)                                        \
			wrong("%s succeeds", what);                 \
		may(what, errno, (const int[]){ __VA_ARGS__, -1 }); \
	} while (0)

static void misuse_ports(struct walker *w, struct object *ctx)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	MAY("ibv_query_port of no port",
	    ibv_query_port(ctx->context, (uint8_t)(2 + below(w, 200)), &port), EINVAL);
	MUST(ibv_query_gid(ctx->context, 1, 1000000, &gid));
	MUST(ibv_query_pkey(ctx->context, 1, 1 << 20, &pkey));
}

static void misuse_cqs(struct walker *w, struct object *ctx)
{
	const int max = world.attr.max_cqe;

	REFUSED("ibv_create_cq of no entries",
		ibv_create_cq(ctx->context, -(int)below(w, 3), NULL, NULL, 0), EINVAL);
	REFUSED("ibv_create_cq above max_cqe",
		ibv_create_cq(ctx->context, max + 1, NULL, NULL, 0), EINVAL);
	REFUSED("ibv_create_cq with no such vector",
		ibv_create_cq(ctx->context, 16, NULL, NULL,
			      ctx->context->num_comp_vectors + (int)below(w, 9)),
		EINVAL);
}

static void misuse_mrs(struct walker *w, struct object *pd)
{
	REFUSED("remote writing without local",
		ibv_reg_mr(pd->pd, w->scratch, 64, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REFUSED("remote atomics without local writing",
		ibv_reg_mr(pd->pd, w->scratch, 64, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	REFUSED("no memory there", ibv_reg_mr(pd->pd, (void *)4096, 4096, 0), EFAULT,
		EINVAL);
	REFUSED("memory that ends behind the last address",
		ibv_reg_mr(pd->pd, (void *)(UINTPTR_MAX - 8), 4096, 0), EFAULT, EINVAL);
}

static void misuse_ahs(struct walker *w, struct object *pd)
{
	struct ibv_ah_attr attr = { .port_num = 1 };

	REFUSED("an AH without GRH", ibv_create_ah(pd->pd, &attr), EINVAL);
	attr.is_global = 1;
	attr.grh.dgid = world.gid;
	attr.port_num = (uint8_t)(2 + below(w, 100));
	REFUSED("an AH of another port", ibv_create_ah(pd->pd, &attr), EINVAL);
	attr.port_num = 1;
	attr.grh.sgid_index = (uint8_t)(200 + below(w, 50));
	REFUSED("an AH of no source GID", ibv_create_ah(pd->pd, &attr), EINVAL);
}

static void misuse_qps(struct walker *w, struct object *pd)
{
	struct object *cq = pin(w, CQ, pd->ctx);
	struct ibv_qp_init_attr good = { .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC },
				attr;

	if (!cq)
		return;
	good.send_cq = good.recv_cq = cq->cq;
	attr = good;
	switch (below(w, 6)) {
	case 0:
		attr.cap.max_send_wr = (uint32_t)world.attr.max_qp_wr + 1;
		break;
	case 1:
		attr.cap.max_recv_wr = UINT32_MAX;
		break;
	case 2:
		attr.cap.max_send_sge = (uint32_t)world.attr.max_sge + 1;
		break;
	case 3:
		attr.cap.max_recv_sge = 1u << 31;
		break;
	case 4:
		attr.cap.max_inline_data = 1u << 24;
		break;
	default:
		attr.qp_type = (enum ibv_qp_type)(100 + below(w, 50));
		break;
	}
	REFUSED("ibv_create_qp above a limit", ibv_create_qp(pd->pd, &attr), EINVAL,
		EOPNOTSUPP, ENOMEM);
	unpin(cq);
}

static void misuse_posts(struct walker *w)
{
	struct object *o = pin(w, QP, NULL);
	struct ibv_sge sge[40] = { { 0 } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 40 }, *bad = NULL;
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 40 }, *bad_recv = NULL;

	if (!o)
		return;
	pthread_mutex_lock(&o->post_lock);
	if (o->type != IBV_QPT_UD) {
		if (chance(w, 50)) {
			wr.opcode = (enum ibv_wr_opcode)(60 + below(w, 60));
			wr.num_sge = 0;
		}
		/* ENOMEM: the queue is full, which may be seen first. */
		MAY("ibv_post_send of nonsense", ibv_post_send(o->qp, &wr, &bad), EINVAL,
		    ENOMEM);
		MUST(bad == &wr);
	}
	MAY("ibv_post_recv of nonsense", ibv_post_recv(o->qp, &recv, &bad_recv), EINVAL,
	    ENOMEM);
	MUST(bad_recv == &recv);
	pthread_mutex_unlock(&o->post_lock);
	unpin(o);
}

void misuse(struct walker *w)
{
	struct object *pd = pin(w, PD, NULL), *ctx = pin(w, CTX, NULL);

	if (pd && ctx) {
		switch (below(w, 6)) {
		case 0:
			misuse_ports(w, ctx);
			break;
		case 1:
			misuse_cqs(w, ctx);
			break;
		case 2:
			misuse_mrs(w, pd);
			break;
		case 3:
			misuse_ahs(w, pd);
			break;
		case 4:
			misuse_qps(w, pd);
			break;
		default:
			misuse_posts(w);
			break;
		}
	}
	unpin(ctx);
	unpin(pd);
}
