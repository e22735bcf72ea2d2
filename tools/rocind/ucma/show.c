/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* show.c - what may be asked about an id is shown where programs look it up
 * (rocin/cmboard.h): the very answers that QUERY_ROUTE and INIT_QP_ATTR would give.
 */
#include <infiniband/verbs.h>
#include <string.h>

#include "id.h"

static_assert(offsetof(struct rdma_ucm_query_route_resp, ibdev_index) ==
		      RN_CMBOARD_ROUTE_LEN,
	      "as <rdma/rdma_user_cm.h> has it");
static_assert(sizeof(struct ib_uverbs_qp_attr) == RN_CMBOARD_QP_LEN,
	      "as <rdma/rdma_user_cm.h> has it");

void rnd_id_show(struct rnd_id *id)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;
	struct rdma_ucm_query_route_resp route = { 0 };
	struct rn_cm_answers answers = { 0 };

	/* Nobody may know of one that is only asked for. */
	if (!cfg->ops->show || id->asked_for)
		return;
	answers.birth = id->birth;
	answers.has_conn = id->conn != NULL;
	rnd_answer_route(id, &route);
	memcpy(answers.route, &route, sizeof(answers.route));
	for (unsigned i = 0; i < RN_CMBOARD_QP_STATES; i++) {
		struct ib_uverbs_qp_attr attr;

		if (rnd_answer_qp_attr(id, IBV_QPS_INIT + i, &attr))
			continue;
		memcpy(answers.qp[i], &attr, sizeof(attr));
		answers.has_qp |= 1u << i;
	}
	cfg->ops->show(cfg->ctx, id->ch->user, id->number, &answers);
}

void rnd_id_hide(const struct rnd_id *id)
{
	const struct rnd_ucma_cfg *cfg = &id->ch->ucma->cfg;

	if (cfg->ops->show)
		cfg->ops->show(cfg->ctx, id->ch->user, id->number, NULL);
}
