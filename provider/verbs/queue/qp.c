/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp.c - creates and destroys queue pairs, and attaches UD QPs to multicast groups. */
#include "qp.h"

#include <stdlib.h>
#include <string.h>

#include "comp_cntr.h"
#include "cq.h"
#include "post.h"
#include "provider/engine/trace_points.h"
#include "provider/persona/persona.h"
#include "provider/raw/raw_socket.h"
#include "provider/verbs/object/device.h"
#include "provider/verbs/object/event.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "rocin/netdev.h"
#include "rocin/queue_pair.h"
#include "srq.h"
#include "steering.h"
#include "transport/io/udp/net_udp.h"

/* --------------------------------------------------------------- multicast groups */
/* Attaching and detaching fail with the errnos of a kernel (ib_attach_mcast() and the
 * uverbs layer, which has a list of each QP's groups). So attaching a QP to a group twice
 * is no error, and a QP that is in a group cannot be destroyed. Sockets are opened and
 * closed without the engine lock, as the kernel may block these calls and the data path
 * must not wait.
 */
struct rnp_mcast {
	LIST_ENTRY(rnp_mcast) link; /* guarded by the engine lock */
	struct rn_mcast core;
	uint16_t lid; /* LID as passed by the program; RoCE does not use it */
};

/* Resources for attaching a QP to a group, which are acquired before the engine lock is
 * taken. Those that turn out not to be needed are freed or closed afterwards.
 */
struct parts {
	struct rnp_mcast *m;
	int sock; /* socket of the group; -1: none */
};

/* Makes this process join a group, if no QP of the process is in it yet. The engine lock
 * is held. Returns 0 or -errno; -EAGAIN: the caller must first put a socket into @p.
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

/* Attaches the QP to a group. The engine lock is held. Returns 0 or -errno; -EAGAIN: the
 * caller must first put a socket into @p.
 */
static int attach_to_group(struct rnp_context *ctx, const struct ibv_qp *base,
			   const struct rn_gid *mgid, struct parts *p)
{
	struct rn_dev *dev = rnp_engine_dev(ctx->engine);
	struct rnp_qp *qp = rnp_qp_find(ctx, base);
	int rc;

	if (!qp)
		return -EINVAL;
	if (rnp_engine_dead(ctx->engine))
		return -EIO;
	if (rn_mcast_find(dev, qp->core, mgid))
		return 0;
	rc = join_group(ctx, mgid, p);
	if (rc)
		return rc;
	rn_mcast_attach(dev, &p->m->core, qp->core, mgid);
	LIST_INSERT_HEAD(&qp->mcasts, p->m, link);
	p->m = NULL;
	return 0;
}

int rnp_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_engine *e = ctx->engine;
	uint32_t ifindex = rnp_engine_netdev(e)->ifindex;
	struct parts p = { .sock = -1 };
	struct rn_gid mgid;
	int cancel, rc;

	if (rnp_is_fork_child(ctx))
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
	rc = attach_to_group(ctx, base, &mgid, &p);
	/* Repeated if the last member of the group has left while the engine lock was not
	 * held.
	 */
	while (rc == -EAGAIN) {
		rnp_engine_unlock(e);
		p.sock = rn_group_open(&mgid, ifindex);
		rnp_engine_lock(e);
		rc = p.sock < 0 ? p.sock : attach_to_group(ctx, base, &mgid, &p);
	}
	rnp_engine_unlock(e);
	rn_group_close(p.sock, &mgid, ifindex);
	free(p.m);
	pthread_setcancelstate(cancel, NULL);
	return -rc;
}

/* Detaches a QP from a group. The engine lock is held. Returns the socket of the group,
 * which the caller closes, if this was the last member in the process; otherwise -1.
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
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_engine *e = ctx->engine;
	struct rnp_mcast *m;
	struct rnp_qp *qp;
	struct rn_gid mgid;
	int cancel, sock = -1;
	bool found;

	if (rnp_is_fork_child(ctx))
		return EIO;
	memcpy(&mgid, gid, sizeof(mgid));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_lock(e);
	qp = rnp_qp_find(ctx, base);
	m = qp ? find_membership(qp, &mgid, lid) : NULL;
	found = m != NULL;
	if (found)
		sock = detach_from_group(qp, m);
	rnp_engine_unlock(e);
	rn_group_close(sock, &mgid, rnp_engine_netdev(e)->ifindex);
	pthread_setcancelstate(cancel, NULL);
	return found ? 0 : EINVAL;
}

/* Detaches a QP that is about to be removed from the device from all its groups. The
 * engine lock is held.
 */
static void leave_all_groups(struct rnp_qp *qp)
{
	uint32_t ifindex = rnp_engine_netdev(qp->ctx->engine)->ifindex;
	struct rnp_mcast *next;

	for (struct rnp_mcast *m = LIST_FIRST(&qp->mcasts); m; m = next) {
		struct rn_gid mgid = m->core.mgid;

		next = LIST_NEXT(m, link);
		rn_group_close(detach_from_group(qp, m), &mgid, ifindex);
	}
}

/* Frees the records of memberships in local memory, in a fork() child. */
static void free_memberships(struct rnp_qp *qp)
{
	struct rnp_mcast *next;

	for (struct rnp_mcast *m = LIST_FIRST(&qp->mcasts); m; m = next) {
		next = LIST_NEXT(m, link);
		free(m);
	}
	LIST_INIT(&qp->mcasts);
}

/* ----------------------------------------------------------- creation and destruction */
RNP_SAME(RN_QPT_RC, IBV_QPT_RC);
RNP_SAME(RN_QPT_UC, IBV_QPT_UC);
RNP_SAME(RN_QPT_UD, IBV_QPT_UD);
RNP_SAME(RN_QPT_RAW_PACKET, IBV_QPT_RAW_PACKET);
RNP_SAME(RN_QPT_XRC_SEND, IBV_QPT_XRC_SEND);
RNP_SAME(RN_QPT_XRC_RECV, IBV_QPT_XRC_RECV);
RNP_SAME(RNP_RSS_SRC_IP4, IBV_RX_HASH_SRC_IPV4);
RNP_SAME(RNP_RSS_DST_IP4, IBV_RX_HASH_DST_IPV4);
RNP_SAME(RNP_RSS_SRC_IP6, IBV_RX_HASH_SRC_IPV6);
RNP_SAME(RNP_RSS_DST_IP6, IBV_RX_HASH_DST_IPV6);
RNP_SAME(RNP_RSS_SRC_PORT_TCP, IBV_RX_HASH_SRC_PORT_TCP);
RNP_SAME(RNP_RSS_DST_PORT_TCP, IBV_RX_HASH_DST_PORT_TCP);
RNP_SAME(RNP_RSS_SRC_PORT_UDP, IBV_RX_HASH_SRC_PORT_UDP);
RNP_SAME(RNP_RSS_DST_PORT_UDP, IBV_RX_HASH_DST_PORT_UDP);

enum {
	QP_ALIGN = 64 /* alignment in bytes that rn_qp_create() needs */
};

static bool is_target(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_RECV;
}

static bool is_xrc(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND || is_target(type);
}

/* Returns those attributes of @in that apply to a QP of its type. All others are ignored,
 * as by a kernel.
 */
static struct ibv_qp_init_attr relevant_attr(const struct ibv_qp_init_attr *in)
{
	struct ibv_qp_init_attr a = *in;

	if (is_xrc(a.qp_type)) {
		a.recv_cq = NULL;
		a.srq = NULL;
	}
	if (is_xrc(a.qp_type) || a.srq)
		a.cap.max_recv_wr = a.cap.max_recv_sge = 0;
	if (is_target(a.qp_type)) {
		a.send_cq = NULL;
		a.cap = (struct ibv_qp_cap){ 0 };
	}
	return a;
}

/* Objects that a new QP belongs to, as the program has passed them. */
struct home {
	struct rnp_context *ctx;
	struct ibv_pd *pd;     /* protection domain; NULL for a target QP */
	struct ibv_xrcd *xrcd; /* XRC domain of a target QP, or NULL */
	struct rnp_wq *wq;     /* the WQ that the QP implements, or NULL */
	/* table for RSS, whose QP has no queues; or NULL */
	struct ibv_rwq_ind_table *table;
	struct rnp_rss rss;
};

static bool has_sq(const struct home *home, const struct ibv_qp_init_attr *attr)
{
	return !is_target(attr->qp_type) && !home->wq && !home->table;
}

static bool has_rq(const struct home *home, const struct ibv_qp_init_attr *attr)
{
	return !is_xrc(attr->qp_type) && !home->table;
}

/* Checks the attributes. Returns 0, or a positive errno if such a QP cannot exist. */
static int check_init(const struct home *home, const struct ibv_qp_init_attr *attr,
		      uint64_t send_ops)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD && attr->qp_type != IBV_QPT_RAW_PACKET &&
	    !is_xrc(attr->qp_type))
		return EOPNOTSUPP;
	if (has_sq(home, attr) && !attr->send_cq)
		return EINVAL;
	if (has_rq(home, attr) && !attr->recv_cq)
		return EINVAL;
	if (cap->max_send_wr > RN_WR_MAX || cap->max_recv_wr > RN_WR_MAX ||
	    cap->max_send_sge > RN_SGE_MAX || cap->max_recv_sge > RN_SGE_MAX ||
	    cap->max_inline_data > RN_INLINE_MAX)
		return EINVAL;
	return rnp_persona_check_qp(rnp_engine_persona(home->ctx->engine), attr->qp_type,
				    cap, attr->srq, send_ops);
}

/* Raises the program's limit of inline data to the bytes that the SGEs in a WQE occupy
 * anyway. Hardware, too, provides a few bytes without being asked, and some programs rely
 * on them.
 */
static void give_inline(const struct rnp_context *ctx, struct ibv_qp_cap *cap)
{
	uint32_t room =
		rnp_persona_inline(rnp_engine_persona(ctx->engine),
				   cap->max_send_sge * (uint32_t)sizeof(struct rn_sge));

	if (cap->max_send_wr && cap->max_inline_data < room)
		cap->max_inline_data = room < RN_INLINE_MAX ? room : RN_INLINE_MAX;
}

static struct rn_cq *core_cq(struct ibv_cq *cq)
{
	return cq ? &to_rnp_cq(cq)->core : NULL;
}

static struct rn_qp_init init_of(struct rnp_qp *qp)
{
	const struct ibv_qp *base = &qp->base.qp;

	return (struct rn_qp_init){
		.type = (enum rn_qp_type)base->qp_type,
		.pd = qp->pd ? to_rnp_pd(qp->pd)->number : 0,
		.send_cq = core_cq(base->send_cq),
		.recv_cq = core_cq(base->recv_cq),
		.srq = base->srq ? to_rnp_srq(base->srq)->core : NULL,
		.xrcd = qp->xrcd ? qp->xrcd->number : 0,
		.max_send_wr = qp->cap.max_send_wr,
		.max_recv_wr = qp->cap.max_recv_wr,
		.max_send_sge = qp->cap.max_send_sge,
		.max_recv_sge = qp->cap.max_recv_sge,
		.max_inline = qp->cap.max_inline_data,
		.sq_sig_all = qp->sq_sig_all,
		/* rnp_modify_qp() lends the resources for READs and atomics */
		.lent_resources = true,
		.owner = qp,
	};
}

/* Allocates the memory block for the core's part of the QP, by the program's own
 * allocator if its domain @pd has one. Returns 0 or a positive errno.
 */
static int alloc_block(struct rnp_qp *qp, struct ibv_pd *pd)
{
	struct rn_qp_init init = init_of(qp);
	int cancel = rnp_lock_engine(qp->ctx->engine);

	qp->block.len = rn_qp_size(rnp_engine_dev(qp->ctx->engine), &init);
	rnp_unlock_engine(qp->ctx->engine, cancel);
	if (qp->block.len == 0)
		return EINVAL;
	qp->block.engine = qp->ctx->engine;
	qp->block.resource = qp->wq ? RNP_RESOURCE_WQ : RNP_RESOURCE_QP;
	return -rnp_buffer_alloc(&qp->block, pd, QP_ALIGN);
}

/* Does the QP need packet sockets? Raw packet QPs do, except one that implements a WQ: it
 * gets frames from the QPs whose tables contain that WQ.
 */
static bool has_sockets(const struct rnp_qp *qp)
{
	return qp->base.qp.qp_type == IBV_QPT_RAW_PACKET && !qp->wq;
}

static enum rnp_hca_kind kind_of(const struct rnp_qp *qp)
{
	return qp->wq ? RNP_HCA_WQ : RNP_HCA_QP;
}

/* Allocates a QPN, and counts a raw packet QP as user of the packet sockets. The engine
 * lock is held. Returns 0 or a positive errno.
 */
static int take_number(const struct rnp_qp *qp, uint32_t *qpn)
{
	struct rnp_engine *e = qp->ctx->engine;
	int rc = has_sockets(qp) ? -rnp_raw_get(rnp_engine_raw(e)) : 0;

	if (rc)
		return rc;
	rc = -rnp_engine_new_qpn(e, qpn);
	if (rc && has_sockets(qp))
		rnp_raw_put(rnp_engine_raw(e));
	return rc;
}

/* Adds @by to the use counts of the QP's CQs, SRQ, RSS table (of WQs) and XRC domain. The
 * engine lock is held.
 */
static void count_uses(struct rnp_qp *qp, int by)
{
	const struct ibv_qp *base = &qp->base.qp;

	if (base->send_cq)
		rnp_cq_count_users(to_rnp_cq(base->send_cq), by);
	if (base->recv_cq)
		rnp_cq_count_users(to_rnp_cq(base->recv_cq), by);
	if (base->srq) {
		to_rnp_srq(base->srq)->qps += (unsigned)by;
		rnp_record_users(to_rnp_srq(base->srq)->record, by);
	}
	if (qp->table)
		qp->table->qps += (unsigned)by;
	if (qp->xrcd)
		atomic_fetch_add(&qp->xrcd->refs, (unsigned)by);
}

static bool is_there(const struct rnp_context *ctx, enum rnp_kind kind,
		     const void *object)
{
	return !object || rnp_handle_find(ctx, kind, object);
}

/* Finds the CQs and other objects that the new QP refers to. The engine lock is held.
 * Returns 0, or EINVAL if one of them does not exist in this context.
 */
static int find_home(struct rnp_qp *qp, const struct home *home)
{
	const struct rnp_context *ctx = home->ctx;
	const struct ibv_qp *base = &qp->base.qp;

	qp->xrcd = rnp_handle_find(ctx, RNP_KIND_XRCD, home->xrcd);
	qp->table = rnp_handle_find(ctx, RNP_KIND_RWQ_TABLE, home->table);
	if ((home->pd && !rnp_pd_find(ctx, home->pd)) || (home->xrcd && !qp->xrcd) ||
	    (home->table && !qp->table) || !is_there(ctx, RNP_KIND_CQ, base->send_cq) ||
	    !is_there(ctx, RNP_KIND_CQ, base->recv_cq) ||
	    !is_there(ctx, RNP_KIND_SRQ, base->srq))
		return EINVAL;
	return base->srq && to_rnp_srq(base->srq)->xrcd ? EINVAL : 0;
}

/* Finds the objects that the QP refers to, and counts the QP as their user, so that none
 * is destroyed while the QP exists. Returns 0 or a positive errno.
 */
static int enter_home(struct rnp_qp *qp, const struct home *home)
{
	int cancel = rnp_lock_engine(qp->ctx->engine);
	int rc = find_home(qp, home);

	if (!rc) {
		count_uses(qp, 1);
		qp->pd = home->pd;
		if (qp->pd)
			rnp_pd_get(qp->pd);
		if (qp->rss) {
			qp->rss->size = qp->table->size;
			qp->rss->table = qp->table->core;
		}
	}
	rnp_unlock_engine(qp->ctx->engine, cancel);
	return rc;
}

/* Undoes enter_home() for a QP that was not added to the device. */
static void leave_home(struct rnp_qp *qp)
{
	int cancel = rnp_lock_engine(qp->ctx->engine);

	count_uses(qp, -1);
	rnp_unlock_engine(qp->ctx->engine, cancel);
	if (qp->pd)
		rnp_pd_put(qp->pd);
}

/* Adds the QP to the device. The engine lock is held. Returns 0 or a positive errno. */
static int add_qp(struct rnp_qp *qp)
{
	struct rnp_context *ctx = qp->ctx;
	struct rn_dev *dev = rnp_engine_dev(ctx->engine);
	struct rn_qp_init init = init_of(qp);
	int rc = -rnp_hca_add(ctx->hca, kind_of(qp));

	if (rc)
		return rc;
	rc = take_number(qp, &init.qpn);
	if (rc) {
		rnp_hca_remove(ctx->hca, kind_of(qp));
		return rc;
	}
	qp->stats = init.stats = rnp_engine_stats_qp(ctx->engine);
	qp->core = rn_qp_create(dev, qp->block.addr, &init);
	if (qp->stats)
		qp->stats->pdn = init.pd;
	qp->base.qp.qp_num = qp->base.qp.handle = init.qpn;
	LIST_INSERT_HEAD(&ctx->qps, qp, link);
	rnp_handle_add(ctx, RNP_KIND_QP, qp);
	return 0;
}

static void scrub_qp(void *object)
{
	struct rnp_qp *qp = object;

	/* @was_named = false lets rnp_wr_fini() destroy the lock of ibv_wr_start(). No
	 * thread holds that lock any more: the QP was destroyed long ago, and its memory
	 * is reused now.
	 */
	qp->handle.was_named = false;
	rnp_wr_fini(qp);
}

struct rnp_qp *rnp_qp_alloc(struct rnp_context *ctx, struct ibv_pd *pd,
			    const struct ibv_qp_init_attr *attr)
{
	struct rnp_qp *qp = rnp_object_new(RNP_KIND_QP, scrub_qp);
	struct ibv_qp *base;

	if (!qp)
		return NULL;
	base = &qp->base.qp;
	base->context = &ctx->base;
	base->qp_context = attr->qp_context;
	base->pd = pd;
	base->send_cq = attr->send_cq;
	base->recv_cq = attr->recv_cq;
	base->srq = attr->srq;
	base->state = IBV_QPS_RESET;
	base->qp_type = attr->qp_type;
	pthread_mutex_init(&base->mutex, NULL);
	pthread_cond_init(&base->cond, NULL);
	qp->ctx = ctx;
	qp->next_handle = qp;
	qp->cap = attr->cap;
	qp->sq_sig_all = attr->sq_sig_all != 0;
	return qp;
}

static void free_qp(struct rnp_qp *qp)
{
	free_memberships(qp);
	rnp_wr_fini(qp);
	rnp_buffer_free(&qp->block);
	free(qp->resources);
	free(qp->reads);
	free(qp->rss);
	rnp_object_free(RNP_KIND_QP, qp);
}

/* Stores the attributes of RSS. Returns 0 or a positive errno. */
static int init_spread(struct rnp_qp *qp, const struct home *home)
{
	qp->rss = malloc(sizeof(*qp->rss));
	if (!qp->rss)
		return ENOMEM;
	*qp->rss = home->rss;
	return 0;
}

/* Creates a QP of any type. @send_ops_flags: 0 for a QP without ibv_wr_*(). @wanted->cap:
 * the capacities wanted; out: those of the QP. Returns NULL with errno on failure.
 */
static struct ibv_qp *new_qp(const struct home *home, struct ibv_qp_init_attr *wanted,
			     uint64_t send_ops_flags)
{
	const struct ibv_qp_init_attr init = relevant_attr(wanted), *attr = &init;
	struct rnp_context *ctx = home->ctx;
	struct rnp_qp *qp;
	char err[256];
	int cancel;
	int rc = rnp_is_fork_child(ctx) ? EIO : check_init(home, attr, send_ops_flags);

	if (rc)
		goto err_errno;
	qp = rnp_qp_alloc(ctx, home->pd, attr);
	if (!qp)
		return NULL;
	qp->wq = home->wq;
	if (home->table)
		rc = init_spread(qp, home);
	if (!rc)
		rc = enter_home(qp, home);
	if (rc)
		goto err_free;
	if (has_sq(home, attr))
		give_inline(ctx, &qp->cap);
	if (send_ops_flags)
		rc = rnp_wr_init(qp, send_ops_flags);
	if (rc)
		goto err_home;
	rc = -rnp_engine_attach(ctx->engine, err, sizeof(err));
	if (rc) {
		rnp_tell_user("%s", err);
		goto err_home;
	}
	rc = alloc_block(qp, home->pd);
	if (rc)
		goto err_home;
	cancel = rnp_lock_engine(ctx->engine);
	rc = add_qp(qp);
	rnp_unlock_engine(ctx->engine, cancel);
	if (rc)
		goto err_home;
	wanted->cap = qp->cap;
	rn_trace_qp_create(qp->base.qp.qp_num, (uint32_t)wanted->qp_type);
	return &qp->base.qp;

err_home:
	leave_home(qp);
err_free:
	free_qp(qp);
err_errno:
	errno = rc;
	return NULL;
}

struct ibv_qp *rnp_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct home home = { .ctx = to_rnp_context(pd->context), .pd = pd };

	if (is_target(attr->qp_type)) {
		errno = EINVAL; /* needs an XRC domain, see rnp_create_qp_ex() */
		return NULL;
	}
	return new_qp(&home, attr, 0);
}

struct rnp_qp *rnp_qp_create_queue(struct rnp_wq *wq, struct ibv_wq_init_attr *in)
{
	const struct home home = { .ctx = to_rnp_context(in->pd->context),
				   .pd = in->pd,
				   .wq = wq };
	struct ibv_qp_init_attr attr = {
		.recv_cq = in->cq,
		.cap = { .max_recv_wr = in->max_wr, .max_recv_sge = in->max_sge },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp *qp = new_qp(&home, &attr, 0);

	if (!qp)
		return NULL;
	in->max_wr = attr.cap.max_recv_wr;
	in->max_sge = attr.cap.max_recv_sge;
	return to_rnp_qp(qp);
}

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

/* Reads the attributes of RSS. Returns 0 or a positive errno. EINVAL: there is a hash
 * without a table or a table without a hash, the table is of another device, the QP
 * itself has CQs or an SRQ, the key does not have the right length, or fields of IPv4 and
 * IPv6, or of TCP and UDP, are hashed at once. EOPNOTSUPP: the type of the QP, the hash
 * or a field is not supported, or ibv_wr_*() is requested.
 */
static int read_spread(const struct ibv_qp_init_attr_ex *ex, struct home *home)
{
	const uint32_t both = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
	int rc;

	if (ex->qp_type != IBV_QPT_RAW_PACKET ||
	    ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return EOPNOTSUPP;
	if ((ex->comp_mask & both) != both || !ex->rwq_ind_tbl || has_queues(ex))
		return EINVAL;
	rc = check_hash(&ex->rx_hash_conf);
	if (rc)
		return rc;
	home->table = ex->rwq_ind_tbl;
	home->rss.fields = (uint32_t)ex->rx_hash_conf.rx_hash_fields_mask;
	memcpy(home->rss.key, ex->rx_hash_conf.rx_hash_key, sizeof(home->rss.key));
	return 0;
}

static bool read_home(struct home *home, const struct ibv_qp_init_attr_ex *ex)
{
	if (is_target(ex->qp_type)) {
		if (ex->comp_mask & IBV_QP_INIT_ATTR_XRCD)
			home->xrcd = ex->xrcd;
		return home->xrcd;
	}
	if (ex->comp_mask & IBV_QP_INIT_ATTR_PD)
		home->pd = ex->pd;
	return home->pd;
}

struct ibv_qp *rnp_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *ex)
{
	const uint32_t spreads = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_XRCD |
			       spreads;
	struct home home = { .ctx = to_rnp_context(context) };
	struct ibv_qp *qp;
	struct ibv_qp_init_attr attr = {
		.qp_context = ex->qp_context,
		.send_cq = ex->send_cq,
		.recv_cq = ex->recv_cq,
		.srq = ex->srq,
		.cap = ex->cap,
		.qp_type = ex->qp_type,
		.sq_sig_all = ex->sq_sig_all,
	};
	uint64_t ops = 0;
	int rc = 0;

	if (ex->comp_mask & ~known ||
	    ((ex->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && ex->create_flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (ex->comp_mask & spreads)
		rc = read_spread(ex, &home);
	if (!rc && !read_home(&home, ex))
		rc = EINVAL;
	if (rc) {
		errno = rc;
		return NULL;
	}
	if (ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ops = ex->send_ops_flags;
	qp = new_qp(&home, &attr, ops);
	if (!qp)
		return NULL;
	/* librdmacm uses the PD of a target QP for its SRQ. */
	if (ex->comp_mask & IBV_QP_INIT_ATTR_PD)
		qp->pd = ex->pd;
	ex->cap = attr.cap;
	return qp;
}

/* Hides the CQEs of a QP in its CQs. Those of an XRC target QP are in the CQs of SRQs,
 * and stay, as they belong to the SRQs.
 */
void rnp_qp_skip_cqes(struct rnp_qp *qp)
{
	struct ibv_cq *send_cq = qp->base.qp.send_cq, *recv_cq = qp->base.qp.recv_cq;

	if (send_cq)
		rnp_cq_skip_qp(to_rnp_cq(send_cq), qp->base.qp.qp_num);
	if (recv_cq && recv_cq != send_cq)
		rnp_cq_skip_qp(to_rnp_cq(recv_cq), qp->base.qp.qp_num);
}

/* Removes one handle on a QP that has other handles. So the QP stays in the device, and
 * one of the other handles gets the memory of the QP. The engine lock is held.
 */
static void leave_to_others(struct rnp_qp *qp)
{
	struct rnp_qp *before = qp->next_handle;

	while (before->next_handle != qp)
		before = before->next_handle;
	before->next_handle = qp->next_handle;
	if (rn_qp_owner(qp->core) == qp)
		rn_qp_set_owner(qp->core, before);
	if (qp->block.addr) {
		before->block = qp->block;
		before->resources = qp->resources;
		before->reads = qp->reads;
		before->counting = qp->counting;
		qp->counting = NULL;
		qp->block = (struct rnp_buffer){ 0 };
		qp->resources = qp->reads = NULL;
	}
	qp->next_handle = qp;
	qp->core = NULL;
}

void rnp_qp_detach(struct rnp_qp *qp)
{
	struct rnp_engine *e = qp->ctx->engine;

	LIST_REMOVE(qp, link);
	if (qp->next_handle != qp) {
		leave_to_others(qp);
		count_uses(qp, -1);
		return;
	}
	rn_trace_qp_destroy(qp->base.qp.qp_num);
	/* Receive packets that have arrived, and send the acknowledgements and requests
	 * that the peer waits for, before the QP is removed.
	 */
	rnp_engine_receive_all(e);
	rnp_engine_send_last(e);
	rnp_engine_settle(e, qp->base.qp.qp_num);
	leave_all_groups(qp);
	rnp_comp_cntr_detach(qp);
	rnp_engine_retire_qp(e, qp->core, qp->stats);
	rn_qp_destroy(rnp_engine_dev(e), qp->core);
	if (has_sockets(qp))
		rnp_raw_put(rnp_engine_raw(e));
	rnp_qp_skip_cqes(qp);
	count_uses(qp, -1);
	rnp_hca_remove(qp->ctx->hca, kind_of(qp));
	qp->core = NULL; /* later posts see that the QP was destroyed */
}

static void drain_events(struct rnp_qp *qp)
{
	struct ibv_qp *base = &qp->base.qp;
	/* the WQ that a hidden QP implements; the program sees the WQ instead of the QP
	 */
	struct ibv_wq *wq = qp->wq ? &qp->wq->base : NULL;
	void *seen = wq ? (void *)wq : (void *)base;
	struct rnp_awaited acks = { .mutex = wq ? &wq->mutex : &base->mutex,
				    .cond = wq ? &wq->cond : &base->cond,
				    .acked = wq ? &wq->events_completed
						: &base->events_completed };

	if (qp->async_events)
		qp->async_events -= rnp_event_pipe_purge(&qp->ctx->async, seen);
	acks.read = qp->async_events;
	rnp_await_acks(&acks);
}

/* Removes the QP from the device, and from the table by which the program names it. If
 * the engine lock is not held, because @lock is RNP_NO_LOCK, does only the latter.
 * Returns 0 or a positive errno.
 */
static int end_qp(struct rnp_context *ctx, struct rnp_qp *qp, int lock)
{
	if (!qp)
		return ENOENT;
	if (lock != RNP_NO_LOCK) {
		if (qp->flows > 0 || !LIST_EMPTY(&qp->mcasts))
			return EBUSY;
		rnp_qp_detach(qp);
	}
	rnp_handle_remove(ctx, RNP_KIND_QP, qp);
	return 0;
}

int rnp_destroy_qp(struct ibv_qp *base)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	int lock = rnp_lock_to_destroy(ctx);
	struct rnp_qp *qp = rnp_qp_find(ctx, base);
	int err = end_qp(ctx, qp, lock);
	struct ibv_pd *pd;

	rnp_unlock_destroyed(ctx, lock);
	if (err)
		return err;
	if (lock != RNP_NO_LOCK) {
		if (has_sockets(qp))
			rnp_engine_close_raw(ctx->engine);
		drain_events(qp);
		pthread_cond_destroy(&base->cond);
		pthread_mutex_destroy(&base->mutex);
	}
	pd = qp->pd;
	free_qp(qp);
	if (pd)
		rnp_pd_put(pd);
	return 0;
}
