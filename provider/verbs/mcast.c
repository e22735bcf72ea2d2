/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mcast.c - multicast: attaching queue pairs to groups.
 *
 * Errnos are those of the kernel's ib_attach_mcast() and of its uverbs layer, which keeps
 * the list of a QP's groups: attaching twice is no error, and a QP that is in a group
 * cannot be destroyed. Sockets are opened and closed without the engine lock: the kernel
 * may make us wait, and the data path must not.
 */
#include <stdlib.h>
#include <string.h>

#include "provider.h"
#include "rocin/mcast.h"
#include "rocin/netdev.h"
#include "transport/io/udp/net_udp.h"

struct rnp_mcast {
	LIST_ENTRY(rnp_mcast) link; /* engine lock */
	struct rn_mcast core;
	uint16_t lid; /* as it was given: RoCE has no use for it */
};

/* What attaching may use up; what is left in the end is freed or closed. */
struct parts {
	struct rnp_mcast *m;
	int sock; /* of the group; -1: none */
};

/* The first member brings the packets of a group to this process; the engine lock is
 * held. Returns 0 or -errno; -EAGAIN: a socket is needed first.
 */
static int join_group(struct rnp_context *ctx, const struct rn_gid *mgid, struct parts *p)
{
	uint32_t members = rn_mcast_members(rnp_engine_dev(ctx->engine), mgid);
	int rc;

	if (members > 0)
		return members < RNP_MCAST_QP_MAX ? 0 : -ENOMEM;
	if (p->sock < 0)
		return -EAGAIN;
	rc = rnp_hca_add(ctx->hca, RNP_HCA_MCAST_GRP);
	if (rc)
		return rc;
	rc = rnp_engine_join(ctx->engine, mgid, p->sock);
	if (rc)
		rnp_hca_remove(ctx->hca, RNP_HCA_MCAST_GRP);
	else
		p->sock = -1;
	return rc;
}

/* Attach the QP. The engine lock is held. Returns 0 or -errno, -EAGAIN as above. */
static int attach_to_group(struct rnp_qp *qp, const struct rn_gid *mgid, struct parts *p)
{
	struct rn_dev *dev = rnp_engine_dev(qp->ctx->engine);
	int rc;

	if (rnp_engine_dead(qp->ctx->engine))
		return -EIO;
	if (rn_mcast_find(dev, qp->core, mgid))
		return 0;
	rc = join_group(qp->ctx, mgid, p);
	if (rc)
		return rc;
	rn_mcast_attach(dev, &p->m->core, qp->core, mgid);
	LIST_INSERT_HEAD(&qp->mcasts, p->m, link);
	p->m = NULL;
	return 0;
}

int rnp_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	uint32_t ifindex = rnp_engine_netdev(e)->ifindex;
	struct parts p = { .sock = -1 };
	struct rn_gid mgid;
	int cancel, rc;

	if (rnp_is_copy(qp->ctx))
		return EIO;
	memcpy(&mgid, gid, sizeof(mgid));
	if (base->qp_type != IBV_QPT_UD || !rn_gid_is_multicast(&mgid))
		return EINVAL;
	p.m = calloc(1, sizeof(*p.m));
	if (!p.m)
		return ENOMEM;
	p.m->lid = lid;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	rc = attach_to_group(qp, &mgid, &p);
	while (rc == -EAGAIN) { /* the members may have left meanwhile */
		rnp_engine_unlock(e);
		p.sock = rn_group_open(&mgid, ifindex);
		rnp_engine_lock(e);
		rc = p.sock < 0 ? p.sock : attach_to_group(qp, &mgid, &p);
	}
	rnp_engine_unlock(e);
	rn_group_close(p.sock, &mgid, ifindex);
	free(p.m);
	pthread_setcancelstate(cancel, NULL);
	return -rc;
}

/* Engine lock held. Return: the socket of the group if this was its last member here, to
 * be closed; or -1.
 */
static int detach_from_group(struct rnp_qp *qp, struct rnp_mcast *m)
{
	struct rnp_context *ctx = qp->ctx;
	struct rn_gid mgid = m->core.mgid;

	rn_mcast_detach(rnp_engine_dev(ctx->engine), &m->core);
	LIST_REMOVE(m, link);
	free(m);
	if (rn_mcast_members(rnp_engine_dev(ctx->engine), &mgid) > 0)
		return -1;
	rnp_hca_remove(ctx->hca, RNP_HCA_MCAST_GRP);
	return rnp_engine_leave(ctx->engine, &mgid);
}

static struct rnp_mcast *find_membership(const struct rnp_qp *qp,
					 const struct rn_gid *mgid, uint16_t lid)
{
	struct rnp_mcast *m;

	LIST_FOREACH(m, &qp->mcasts, link)
	if (m->lid == lid && !memcmp(&m->core.mgid, mgid, sizeof(*mgid)))
		return m;
	return NULL;
}

int rnp_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_mcast *m;
	struct rn_gid mgid;
	int cancel, sock = -1;
	bool found;

	if (rnp_is_copy(qp->ctx))
		return EIO;
	memcpy(&mgid, gid, sizeof(mgid));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	m = find_membership(qp, &mgid, lid);
	found = m != NULL;
	if (found)
		sock = detach_from_group(qp, m);
	rnp_engine_unlock(e);
	rn_group_close(sock, &mgid, rnp_engine_netdev(e)->ifindex);
	pthread_setcancelstate(cancel, NULL);
	return found ? 0 : EINVAL;
}

void rnp_mcast_detach_all(struct rnp_qp *qp)
{
	uint32_t ifindex = rnp_engine_netdev(qp->ctx->engine)->ifindex;
	struct rnp_mcast *next;

	for (struct rnp_mcast *m = LIST_FIRST(&qp->mcasts); m; m = next) {
		struct rn_gid mgid = m->core.mgid;

		next = LIST_NEXT(m, link);
		rn_group_close(detach_from_group(qp, m), &mgid, ifindex);
	}
}

void rnp_mcast_free_all(struct rnp_qp *qp)
{
	struct rnp_mcast *m;

	while ((m = LIST_FIRST(&qp->mcasts))) {
		LIST_REMOVE(m, link);
		free(m);
	}
}
