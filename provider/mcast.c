/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.c - multicast: attaching queue pairs to groups.
 *
 * Errnos are those of the kernel's ib_attach_mcast() and of its uverbs layer, which keeps
 * the list of a QP's groups: attaching twice is no error, and a QP that is in a group
 * cannot be destroyed.
 */
#include <stdlib.h>
#include <string.h>

#include "provider.h"
#include "rocin/mcast.h"

struct rnp_mcast {
	LIST_ENTRY(rnp_mcast) link; /* engine lock */
	struct rn_mcast core;
	uint16_t lid; /* as it was given: RoCE has no use for it */
};

/* The first member brings the packets of a group to this process. */
static int join(struct rnp_context *ctx, const struct rn_gid *mgid)
{
	uint32_t members = rn_mcast_members(rnp_engine_dev(ctx->engine), mgid);
	int rc;

	if (members > 0)
		return members < RNP_MCAST_QP_MAX ? 0 : -ENOMEM;
	rc = rnp_hca_add(ctx->hca, RNP_HCA_MCAST_GRP);
	if (rc)
		return rc;
	rc = rnp_engine_join(ctx->engine, mgid);
	if (rc)
		rnp_hca_remove(ctx->hca, RNP_HCA_MCAST_GRP);
	return rc;
}

/* Engine lock held. */
static void detach(struct rnp_qp *qp, struct rnp_mcast *m)
{
	struct rnp_context *ctx = qp->ctx;
	struct rn_gid mgid = m->core.mgid;

	rn_mcast_detach(rnp_engine_dev(ctx->engine), &m->core);
	LIST_REMOVE(m, link);
	free(m);
	if (rn_mcast_members(rnp_engine_dev(ctx->engine), &mgid) > 0)
		return;
	rnp_engine_leave(ctx->engine, &mgid);
	rnp_hca_remove(ctx->hca, RNP_HCA_MCAST_GRP);
}

static int attach(struct rnp_qp *qp, const struct rn_gid *mgid, uint16_t lid)
{
	struct rn_dev *dev = rnp_engine_dev(qp->ctx->engine);
	struct rnp_mcast *m;
	int rc;

	if (rnp_engine_dead(qp->ctx->engine))
		return -EIO;
	if (rn_mcast_find(dev, qp->core, mgid))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	rc = join(qp->ctx, mgid);
	if (rc) {
		free(m);
		return rc;
	}
	m->lid = lid;
	rn_mcast_attach(dev, &m->core, qp->core, mgid);
	LIST_INSERT_HEAD(&qp->mcasts, m, link);
	return 0;
}

int rnp_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rn_gid mgid;
	int cancel, rc;

	if (rnp_is_copy(qp->ctx))
		return EIO;
	memcpy(&mgid, gid, sizeof(mgid));
	if (base->qp_type != IBV_QPT_UD || !rn_gid_is_multicast(&mgid))
		return EINVAL;
	cancel = rnp_enter(qp->ctx->engine);
	rc = attach(qp, &mgid, lid);
	rnp_leave(qp->ctx->engine, cancel);
	return -rc;
}

int rnp_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_mcast *m;
	int cancel, rc = EINVAL;

	if (rnp_is_copy(qp->ctx))
		return EIO;
	cancel = rnp_enter(qp->ctx->engine);
	LIST_FOREACH(m, &qp->mcasts, link)
	if (m->lid == lid && !memcmp(&m->core.mgid, gid, sizeof(*gid)))
		break;
	if (m) {
		detach(qp, m);
		rc = 0;
	}
	rnp_leave(qp->ctx->engine, cancel);
	return rc;
}

void rnp_mcast_detach_all(struct rnp_qp *qp)
{
	struct rnp_mcast *m;

	while ((m = LIST_FIRST(&qp->mcasts)))
		detach(qp, m);
}

void rnp_mcast_free_all(struct rnp_qp *qp)
{
	struct rnp_mcast *m;

	while ((m = LIST_FIRST(&qp->mcasts))) {
		LIST_REMOVE(m, link);
		free(m);
	}
}
