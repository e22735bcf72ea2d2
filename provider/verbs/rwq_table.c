/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rwq_table.c - tables of receive work queues, over which a QP spreads frames. */
#include <stdlib.h>
#include <string.h>

#include "wq.h"

#define SAME(ours, theirs) static_assert((int)(ours) == (int)(theirs), "verbs numbers")

SAME(RNP_RSS_SRC_IP4, IBV_RX_HASH_SRC_IPV4);
SAME(RNP_RSS_DST_IP4, IBV_RX_HASH_DST_IPV4);
SAME(RNP_RSS_SRC_IP6, IBV_RX_HASH_SRC_IPV6);
SAME(RNP_RSS_DST_IP6, IBV_RX_HASH_DST_IPV6);
SAME(RNP_RSS_SRC_PORT_TCP, IBV_RX_HASH_SRC_PORT_TCP);
SAME(RNP_RSS_DST_PORT_TCP, IBV_RX_HASH_DST_PORT_TCP);
SAME(RNP_RSS_SRC_PORT_UDP, IBV_RX_HASH_SRC_PORT_UDP);
SAME(RNP_RSS_DST_PORT_UDP, IBV_RX_HASH_DST_PORT_UDP);

/* A positive errno if such a table cannot be. */
static int check_init(const struct rnp_context *ctx,
		      const struct ibv_rwq_ind_table_init_attr *attr)
{
	if (rnp_is_copy(ctx))
		return EIO;
	if (attr->comp_mask)
		return EOPNOTSUPP;
	if (attr->log_ind_tbl_size > RNP_RWQ_TABLE_LOG_MAX || !attr->ind_tbl)
		return EINVAL;
	for (uint32_t i = 0; i < 1u << attr->log_ind_tbl_size; i++)
		if (!attr->ind_tbl[i] || attr->ind_tbl[i]->context != &ctx->base)
			return EINVAL;
	return 0;
}

static void free_table(struct rnp_rwq_table *t)
{
	free((void *)t->core);
	free((void *)t->wq);
	free(t);
}

static struct rnp_rwq_table *new_table(struct rnp_context *ctx,
				       const struct ibv_rwq_ind_table_init_attr *attr)
{
	struct rnp_rwq_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->base.context = &ctx->base;
	t->size = 1u << attr->log_ind_tbl_size;
	t->wq = (struct rnp_wq **)calloc(t->size, sizeof(struct rnp_wq *));
	t->core = (void **)calloc(t->size, sizeof(*t->core));
	if (!t->wq || !t->core) {
		free_table(t);
		return NULL;
	}
	for (uint32_t i = 0; i < t->size; i++) {
		t->wq[i] = to_rnp_wq(attr->ind_tbl[i]);
		t->core[i] = t->wq[i]->queue->core;
	}
	return t;
}

/* Engine lock held. A positive errno on failure. */
static int attach(struct rnp_context *ctx, struct rnp_rwq_table *t)
{
	int rc = rnp_engine_dead(ctx->engine) ? EIO
					      : -rnp_hca_add(ctx->hca, RNP_HCA_RWQ_TABLE);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < t->size; i++)
		t->wq[i]->tables++;
	t->base.ind_tbl_num = t->base.ind_tbl_handle = ++ctx->last_rwq_table;
	LIST_INSERT_HEAD(&ctx->rwq_tables, t, link);
	return 0;
}

struct ibv_rwq_ind_table *
rnp_create_rwq_ind_table(struct ibv_context *context,
			 struct ibv_rwq_ind_table_init_attr *attr)
{
	struct rnp_context *ctx = to_rnp_context(context);
	struct rnp_rwq_table *t;
	int rc = check_init(ctx, attr);
	int cancel;

	if (rc) {
		errno = rc;
		return NULL;
	}
	t = new_table(ctx, attr);
	if (!t)
		return NULL;
	cancel = rnp_enter(ctx->engine);
	rc = attach(ctx, t);
	rnp_leave(ctx->engine, cancel);
	if (rc) {
		free_table(t);
		errno = rc;
		return NULL;
	}
	return &t->base;
}

void rnp_rwq_table_detach(struct rnp_context *ctx, struct rnp_rwq_table *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		t->wq[i]->tables--;
	LIST_REMOVE(t, link);
	rnp_hca_remove(ctx->hca, RNP_HCA_RWQ_TABLE);
}

void rnp_rwq_table_count(struct rnp_rwq_table *t, int by)
{
	t->qps += (unsigned)by;
}

int rnp_destroy_rwq_ind_table(struct ibv_rwq_ind_table *base)
{
	struct rnp_rwq_table *t = (struct rnp_rwq_table *)base;
	struct rnp_context *ctx = to_rnp_context(base->context);
	bool busy = false;
	int cancel;

	if (!rnp_is_copy(ctx)) {
		cancel = rnp_enter(ctx->engine);
		busy = t->qps > 0;
		if (!busy)
			rnp_rwq_table_detach(ctx, t);
		rnp_leave(ctx->engine, cancel);
	}
	if (busy)
		return EBUSY;
	free_table(t);
	return 0;
}

/* -------------------------------------------------------------------- queue pairs */
static bool has_queues(const struct ibv_qp_init_attr_ex *ex)
{
	return ex->send_cq || ex->recv_cq || ex->srq || ex->cap.max_send_wr ||
	       ex->cap.max_recv_wr || ex->cap.max_send_sge || ex->cap.max_recv_sge ||
	       ex->cap.max_inline_data;
}

static int check_hash(const struct ibv_rx_hash_conf *conf)
{
	uint64_t fields = conf->rx_hash_fields_mask;

	if (conf->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
	    fields & ~(uint64_t)RNP_RSS_FIELDS)
		return EOPNOTSUPP;
	if (conf->rx_hash_key_len != RNP_TOEPLITZ_KEY_LEN || !conf->rx_hash_key)
		return EINVAL;
	if ((fields & RNP_RSS_IP4 && fields & RNP_RSS_IP6) ||
	    (fields & RNP_RSS_TCP && fields & RNP_RSS_UDP))
		return EINVAL;
	return 0;
}

int rnp_rss_judge(struct ibv_context *context, const struct ibv_qp_init_attr_ex *ex,
		  struct rnp_rwq_table **table, struct rnp_rss *rss)
{
	const uint32_t both = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
	int rc;

	if (ex->qp_type != IBV_QPT_RAW_PACKET ||
	    ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return EOPNOTSUPP;
	if ((ex->comp_mask & both) != both || !ex->rwq_ind_tbl ||
	    ex->rwq_ind_tbl->context != context || has_queues(ex))
		return EINVAL;
	rc = check_hash(&ex->rx_hash_conf);
	if (rc)
		return rc;
	*table = (struct rnp_rwq_table *)ex->rwq_ind_tbl;
	rss->fields = (uint32_t)ex->rx_hash_conf.rx_hash_fields_mask;
	rss->size = (*table)->size;
	rss->table = (*table)->core;
	memcpy(rss->key, ex->rx_hash_conf.rx_hash_key, sizeof(rss->key));
	return 0;
}
