/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.c - passes work requests from the program to the core: ibv_post_send(),
 * ibv_post_recv(), ibv_post_srq_recv(), ibv_bind_mw(), and requests that wr.c has
 * collected.
 */
#include "post.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "provider/engine/pcie.h"
#include "provider/engine/trace_points.h"
#include "provider/verbs/object/handle.h"
#include "provider/verbs/object/library.h"
#include "provider/verbs/object/pd.h"
#include "provider/verbs/object/provider.h"
#include "qp.h"
#include "rocin/queue_pair.h"
#include "rocin/srq.h"
#include "srq.h"

/* ------------------------------------------ conversion of send requests for the core */
#define X(symbol, number, operands, word, name, words) \
	RNP_SAME(RN_WR_##symbol, IBV_WR_##symbol);
RN_WR_OPCODES(X)
#undef X
RNP_SAME(RN_SEND_FENCE, IBV_SEND_FENCE);
RNP_SAME(RN_SEND_SIGNALED, IBV_SEND_SIGNALED);
RNP_SAME(RN_SEND_SOLICITED, IBV_SEND_SOLICITED);
RNP_SAME(RN_SEND_INLINE, IBV_SEND_INLINE);
RNP_SAME(RN_SEND_IP_CSUM, IBV_SEND_IP_CSUM);

/* The core reads the program's scatter lists as they are, without a copy, because its
 * struct rn_sge is laid out like struct ibv_sge.
 */
RNP_SAME(sizeof(struct rn_sge), sizeof(struct ibv_sge));
RNP_SAME(offsetof(struct rn_sge, addr), offsetof(struct ibv_sge, addr));
RNP_SAME(offsetof(struct rn_sge, len), offsetof(struct ibv_sge, length));
RNP_SAME(offsetof(struct rn_sge, lkey), offsetof(struct ibv_sge, lkey));

enum {
	KNOWN_FLAGS =
		RN_SEND_FENCE | RN_SEND_SIGNALED | RN_SEND_SOLICITED | RN_SEND_INLINE,
};

/* Returns true if a request with this opcode has imm_data, in network order; the other
 * member of that union is invalidate_rkey.
 */
static bool has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int take_address(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
			struct rn_send_wr *out)
{
	if (!wr->wr.ud.ah || to_rnp_pd(wr->wr.ud.ah->pd) != to_rnp_pd(qp->pd))
		return -EINVAL;
	out->av = &to_rnp_ah(wr->wr.ud.ah)->av;
	out->remote_qpn = wr->wr.ud.remote_qpn;
	out->remote_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

/* Converts a bind request, which is for a window of type 2. (Windows of type 1 are bound
 * by ibv_bind_mw().) Returns 0 or -errno.
 */
static int take_bind(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (!mw || mw->type != IBV_MW_TYPE_2 || mw->context != qp->context)
		return -EINVAL;
	rnp_bind_request(mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info, out);
	return 0;
}

/* Converts a FLUSH request of ibv_post_send(), see library.h. */
static int take_flush(const struct ibv_send_wr *wr, struct rn_send_wr *out)
{
	uint32_t how = ntohl(wr->imm_data);
	uint64_t len = 0;

	for (int i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (len > UINT32_MAX || how > UINT16_MAX)
		return -EINVAL;
	out->remote_addr = wr->wr.rdma.remote_addr;
	out->rkey = wr->wr.rdma.rkey;
	out->flush_length = (uint32_t)len;
	out->flush_placement = how & UINT8_MAX;
	out->flush_selectivity = (uint8_t)(how >> 8);
	out->num_sge = 0;
	return 0;
}

int rnp_send_wr_from(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out)
{
	const unsigned frames = qp->qp_type == IBV_QPT_RAW_PACKET ? RN_SEND_IP_CSUM : 0;
	const enum rn_wr_operands operands = rn_wr_operands(wr->opcode);

	if (wr->send_flags & ~(KNOWN_FLAGS | frames) || wr->num_sge < 0)
		return -EINVAL;
	*out = (struct rn_send_wr){
		.wr_id = wr->wr_id,
		.opcode = (enum rn_wr_opcode)wr->opcode,
		.flags = wr->send_flags,
		.imm = has_imm(wr->opcode) ? ntohl(wr->imm_data) : wr->invalidate_rkey,
		.sg = (const struct rn_sge *)wr->sg_list,
		.num_sge = (uint32_t)wr->num_sge,
	};
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		out->remote_srqn = wr->qp_type.xrc.remote_srqn;
	switch (operands) {
	case RN_WR_OPERANDS_NONE:
		return 0;
	case RN_WR_OPERANDS_ADDRESS:
		return qp->qp_type == IBV_QPT_UD ? take_address(wr, qp, out) : 0;
	case RN_WR_OPERANDS_RDMA:
		out->remote_addr = wr->wr.rdma.remote_addr;
		out->rkey = wr->wr.rdma.rkey;
		return 0;
	case RN_WR_OPERANDS_ATOMIC:
		out->remote_addr = wr->wr.atomic.remote_addr;
		out->rkey = wr->wr.atomic.rkey;
		out->compare_add = wr->wr.atomic.compare_add;
		out->swap = wr->wr.atomic.swap;
		return 0;
	case RN_WR_OPERANDS_FLUSH:
		return take_flush(wr, out);
	case RN_WR_OPERANDS_BIND:
		return take_bind(wr, qp, out);
	case RN_WR_OPERANDS_UNKNOWN:
		break;
	}
	return -EINVAL;
}

/* Tells the sanitizer that request number @msg of the send queue was posted. The engine
 * lock is held.
 */
static void tell_sanitizer(const struct rnp_qp *qp, const struct rn_send_wr *wr,
			   uint32_t msg)
{
	const struct rnp_pcie *pcie = rnp_engine_pcie(qp->ctx->engine);
	struct rn_host_range local[RN_SGE_MAX];
	struct rn_host_wr told = {
		.qpn = qp->base.qp.qp_num,
		.wr_id = wr->wr_id,
		.msg = msg,
		.opcode = (uint8_t)wr->opcode,
		.fence = (wr->flags & RN_SEND_FENCE) != 0,
		.is_signaled = (wr->flags & RN_SEND_SIGNALED) != 0,
		.local = local,
		.remote_addr = wr->remote_addr,
		.rkey = wr->rkey,
	};

	/* Inline data has been copied already, so the program may change its source. */
	if (!(wr->flags & RN_SEND_INLINE))
		for (uint32_t i = 0; i < wr->num_sge; i++) {
			struct rn_host_range *r = &local[told.local_count];

			r->len = wr->sg[i].len;
			if (r->len && rn_qp_sge_address(qp->core, &wr->sg[i], &r->addr))
				told.local_count++;
		}
	pcie->api->posted(pcie->nic, &told);
}

/**
 * post_one() - Post one request to the core
 * @posted:	@posted->now is the current time; the request is added to the counts
 *
 * Tells the sanitizer of the PCIe layer, if there is one, and passes the trace point. The
 * caller holds the engine lock, so no packet of the request leaves before the sanitizer
 * knows of the request. Otherwise, if the responder is in this process, too, the
 * sanitizer would take a READ for one that a remote peer has sent.
 *
 * Return: 0 or -errno of rn_qp_post_send().
 */
static inline int post_one(const struct rnp_qp *qp, struct rnp_posted *posted,
			   const struct rn_send_wr *wr)
{
	struct rnp_engine *e = qp->ctx->engine;
	const bool watched = rnp_pcie_is_watched(rnp_engine_pcie(e));
	const uint32_t msg = watched ? rn_qp_sq_next(qp->core) : 0;
	int rc = rn_qp_post_send(rnp_engine_dev(e), qp->core, posted->now, wr);

	if (watched && !rc)
		tell_sanitizer(qp, wr, msg);
	rn_trace_post_send(qp->base.qp.qp_num, wr->wr_id, wr->opcode, wr->flags, -rc);
	if (!rc)
		rnp_posted_add(posted, wr);
	return rc;
}

static struct rn_host_range wqe_range(const void *qp, uint32_t number)
{
	const void *at;
	uint32_t len = rn_qp_sq_wqe(qp, number, &at);

	return (struct rn_host_range){ .addr = (uintptr_t)at, .len = len };
}

/* Rings the doorbell of the simulated PCIe for the last @count requests, of which no
 * packet has been built yet. Called only if there is a simulated PCIe. The engine lock is
 * held.
 */
static void ring_doorbell(const struct rnp_qp *qp, uint32_t count)
{
	const struct rn_host_bell bell = {
		.qpn = qp->base.qp.qp_num,
		.first = rn_qp_sq_next(qp->core) - count,
		.count = count,
		.wqe = wqe_range,
		.arg = qp->core,
	};

	rnp_pcie_ring(rnp_engine_pcie(qp->ctx->engine), &bell);
}

static struct rn_host_range receive_range(const void *qp, uint32_t number)
{
	const void *at;
	uint32_t len = rn_qp_rq_wqe(qp, number, &at);

	return (struct rn_host_range){ .addr = (uintptr_t)at, .len = len };
}

static struct rn_host_range srq_range(const void *srq, uint32_t number)
{
	const void *at;
	uint32_t len = rn_srq_wqe(srq, number, &at);

	return (struct rn_host_range){ .addr = (uintptr_t)at, .len = len };
}

/* Rings the doorbell of the simulated PCIe for the last @count receives of a QP or of its
 * SRQ, which no message has consumed yet. Called only if there is a simulated PCIe. The
 * engine lock is held.
 */
static void ring_for_receives(const struct rnp_qp *qp, uint32_t count)
{
	const struct rn_host_bell bell = {
		.qpn = qp->base.qp.qp_num,
		.is_recv = true,
		.first = rn_qp_rq_next(qp->core) - count,
		.count = count,
		.wqe = receive_range,
		.arg = qp->core,
	};

	rnp_pcie_ring(rnp_engine_pcie(qp->ctx->engine), &bell);
}

static void ring_for_srq(const struct rnp_srq *srq, uint32_t count)
{
	const struct rn_host_bell bell = {
		.is_recv = true,
		.first = rn_srq_next(srq->core) - count,
		.count = count,
		.wqe = srq_range,
		.arg = srq->core,
	};

	rnp_pcie_ring(rnp_engine_pcie(srq->ctx->engine), &bell);
}

/* ---------------------------------------------------------- verbs that post requests */
/* Takes the engine lock. Disables cancellation of the thread only if there is a simulated
 * PCIe, as that takes time: without PCIe a post reaches no cancellation point before
 * rnp_engine_posted(), which disables cancellation itself. Returns true if it has
 * disabled cancellation; the earlier state is in *@cancel.
 */
static bool lock_to_post(struct rnp_engine *e, int *cancel)
{
	bool disabled = rnp_pcie_is_on(rnp_engine_pcie(e));

	if (disabled)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	rnp_engine_lock(e);
	return disabled;
}

static void unlock_posted(struct rnp_engine *e, bool disabled, int cancel)
{
	rnp_engine_unlock(e);
	if (disabled)
		pthread_setcancelstate(cancel, NULL);
}

/* Ends with EINVAL a post to an object that was destroyed. Posts do not look up their
 * object: that would take time, and a kernel, which does not see posts, cannot check them
 * either. But the memory of a destroyed object is still readable, and shows that the
 * object was destroyed.
 */
static __attribute__((noinline)) int post_nowhere(struct rnp_engine *e, bool disabled,
						  int cancel)
{
	unlock_posted(e, disabled, cancel);
	return rnp_set_errno(EINVAL);
}

/* The state that a post to a queue pair stores while it holds the engine lock. */
struct lock_state {
	bool disabled; /* lock_to_post() has disabled cancellation */
	int cancel;    /* the cancel state of the thread before the call */
};

/* Begins a post to a queue pair. Returns 0, and then holds the engine lock; or the
 * positive errno with which the post fails, without the lock.
 */
static inline int begin_post(const struct rnp_qp *qp, struct lock_state *lock)
{
	struct rnp_engine *e = qp->ctx->engine;

	if (rnp_is_fork_child(qp->ctx))
		return rnp_set_errno(EIO);
	lock->disabled = lock_to_post(e, &lock->cancel);
	if (!qp->core)
		return post_nowhere(e, lock->disabled, lock->cancel);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	return 0;
}

int rnp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_posted posted = { 0 };
	struct lock_state lock = { 0 };
	struct rn_send_wr core_wr;
	int rc = begin_post(qp, &lock);

	if (rc) {
		*bad_wr = wr;
		return rc;
	}
	posted.now = rnp_engine_send_time(e, qp->core);
	for (; wr; wr = wr->next) {
		rc = rnp_send_wr_from(wr, base, &core_wr);
		if (!rc)
			rc = post_one(qp, &posted, &core_wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	/* Requests before the bad one have been posted. */
	if (lock.disabled)
		ring_doorbell(qp, posted.count);
	rnp_engine_posted(e, qp->core, &posted);
	unlock_posted(e, lock.disabled, lock.cancel);
	return rnp_set_errno(-rc);
}

static void kick_uncancelled(struct rnp_engine *e)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_kick(e);
	pthread_setcancelstate(cancel, NULL);
}

/* Converts a receive request for the core. The result refers to the scatter list of @wr,
 * which must stay valid while it is used.
 */
static struct rn_recv_wr recv_wr_from(const struct ibv_recv_wr *wr)
{
	return (struct rn_recv_wr){
		.wr_id = wr->wr_id,
		.sg = (const struct rn_sge *)wr->sg_list,
		.num_sge = (uint32_t)wr->num_sge,
	};
}

int rnp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rn_dev *dev = rnp_engine_dev(e);
	struct lock_state lock = { 0 };
	int rc = begin_post(qp, &lock);
	uint32_t count = 0;
	rn_ns now;

	if (rc) {
		*bad_wr = wr;
		return rc;
	}
	now = rnp_engine_recv_time(e, qp->core);
	for (; wr; wr = wr->next, count++) {
		const struct rn_recv_wr core_wr = recv_wr_from(wr);

		rc = rn_qp_post_recv(dev, qp->core, now, &core_wr);
		rn_trace_post_recv(base->qp_num, wr->wr_id, -rc);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	if (lock.disabled)
		ring_for_receives(qp, count);
	/* Packets and events leave at once in two cases. In ERR the core has flushed
	 * these receives, so an armed CQ must raise its event. With credits an ACK tells
	 * the peer that there are receives again.
	 */
	if (rn_qp_state(qp->core) == RN_QPS_ERR || rnp_engine_sends_credits(e))
		kick_uncancelled(e);
	unlock_posted(e, lock.disabled, lock.cancel);
	return rnp_set_errno(-rc);
}

int rnp_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct rnp_srq *srq = to_rnp_srq(base);
	struct rnp_engine *e = srq->ctx->engine;
	int rc = 0, cancel;
	uint32_t count = 0;

	if (rnp_is_fork_child(srq->ctx)) {
		*bad_wr = wr;
		return rnp_set_errno(EIO);
	}
	cancel = rnp_lock_engine(e);
	if (!srq->core) {
		*bad_wr = wr;
		return post_nowhere(e, true, cancel);
	}
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	for (; wr; wr = wr->next, count++) {
		const struct rn_recv_wr core_wr = recv_wr_from(wr);

		rc = rn_srq_post_recv(srq->core, &core_wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	if (rnp_pcie_is_on(rnp_engine_pcie(e)))
		ring_for_srq(srq, count);
	rnp_unlock_engine(e, cancel);
	return rnp_set_errno(-rc);
}

/* ----------------------------------------------------------------- ibv_bind_mw() */
/* Checks what libibverbs has not checked of a request of ibv_bind_mw(): it has checked
 * the type of the window, the domain and the region. The engine lock is held. Returns 0
 * or a positive errno.
 */
static int check_bind(const struct rnp_qp *qp, const struct ibv_mw *mw,
		      const struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	const unsigned known = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;

	if (!qp->core || !rnp_handle_is_object(qp->ctx, RNP_KIND_MW, mw))
		return EINVAL;
	if (info->mr && !rnp_handle_is_object(qp->ctx, RNP_KIND_MR, info->mr))
		return EINVAL;
	return info->mw_access_flags & IBV_ACCESS_ZERO_BASED || bind->send_flags & ~known
		       ? EINVAL
		       : 0;
}

int rnp_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rn_send_wr wr = { .wr_id = bind->wr_id, .flags = bind->send_flags };
	struct rnp_posted posted = { 0 };
	int rc, cancel;

	if (rnp_is_fork_child(qp->ctx))
		return EIO;
	cancel = rnp_lock_engine(e);
	rc = check_bind(qp, mw, bind);
	if (rc)
		goto out;
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	rnp_bind_request(mw, ibv_inc_rkey(mw->rkey), &bind->bind_info, &wr);
	posted.now = rnp_engine_now();
	rc = -post_one(qp, &posted, &wr);
	if (!rc) {
		mw->rkey = wr.rkey;
		if (rnp_pcie_is_on(rnp_engine_pcie(e)))
			ring_doorbell(qp, posted.count);
		rnp_engine_posted(e, qp->core, &posted);
	}
out:
	rnp_unlock_engine(e, cancel);
	return rc;
}

/* ----------------------------------------- requests that ibv_wr_*() have collected */
/* Turns the indices in @entry into pointers, now that the arrays of @list do not move any
 * more. Inline data becomes one SGE, *@inline_sge, which must exist as long as the
 * request is used.
 */
static void point_at_data(const struct rnp_wr_list *list, struct rnp_wr_entry *entry,
			  struct rn_sge *inline_sge)
{
	struct rn_send_wr *wr = &entry->wr;

	if (wr->av)
		wr->av = &entry->av;
	if (wr->flags & RN_SEND_INLINE) {
		*inline_sge = (struct rn_sge){
			.addr = (uintptr_t)list->bytes.item + entry->inline_at,
			.len = entry->inline_len,
		};
		wr->sg = inline_sge;
	} else {
		wr->sg = (const struct rn_sge *)list->sges.item + entry->sge_at;
	}
}

/* Posts all requests that ibv_wr_*() have collected or, if @posted is NULL, only checks
 * them. The engine lock is held. Returns 0 or a positive errno.
 */
static int check_or_post(struct rnp_qp *qp, struct rnp_posted *posted)
{
	struct rnp_wr_list *list = qp->wr;
	struct rnp_wr_entry *entry = list->entries.item;
	int rc = 0;

	for (size_t i = 0; i < list->entries.count && !rc; i++) {
		struct rn_send_wr *wr = &entry[i].wr;
		struct rn_sge inline_sge;

		point_at_data(list, &entry[i], &inline_sge);
		rc = posted ? post_one(qp, posted, wr) : rn_qp_check_send(qp->core, wr);
	}
	return -rc;
}

int rnp_post_list(struct rnp_qp *qp)
{
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_posted posted = { 0 };
	int cancel = rnp_lock_engine(e);
	int rc = 0;

	if (!qp->core)
		return post_nowhere(e, true, cancel);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	if (qp->wr->entries.count > rn_qp_sq_room(qp->core))
		rc = ENOMEM;
	if (!rc)
		rc = check_or_post(qp, NULL);
	posted.now = rnp_engine_send_time(e, qp->core);
	if (!rc)
		rc = check_or_post(qp, &posted);
	if (!rc && rnp_pcie_is_on(rnp_engine_pcie(e)))
		ring_doorbell(qp, posted.count);
	if (!rc)
		rnp_engine_posted(e, qp->core, &posted);
	rnp_unlock_engine(e, cancel);
	return rc;
}
