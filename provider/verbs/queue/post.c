/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.c - passes work requests from the program to the core: ibv_post_send(),
 * ibv_post_recv(), ibv_post_srq_recv(), ibv_bind_mw(), and requests that are built
 * by ibv_wr_*().
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
#define IBV_WR_FLUSH RNP_WR_FLUSH /* release 44 has no name for it */
#define X(symbol, number, word, name, words) RNP_SAME(RN_WR_##symbol, IBV_WR_##symbol);
RN_WR_OPCODES(X)
#undef X
RNP_SAME(RN_SEND_FENCE, IBV_SEND_FENCE);
RNP_SAME(RN_SEND_SIGNALED, IBV_SEND_SIGNALED);
RNP_SAME(RN_SEND_SOLICITED, IBV_SEND_SOLICITED);
RNP_SAME(RN_SEND_INLINE, IBV_SEND_INLINE);
RNP_SAME(RN_SEND_IP_CSUM, IBV_SEND_IP_CSUM);

/* The core can read the program's scatter lists as they are, because the structs are
 * equal.
 */
RNP_SAME(sizeof(struct rn_sge), sizeof(struct ibv_sge));
RNP_SAME(offsetof(struct rn_sge, addr), offsetof(struct ibv_sge, addr));
RNP_SAME(offsetof(struct rn_sge, len), offsetof(struct ibv_sge, length));
RNP_SAME(offsetof(struct rn_sge, lkey), offsetof(struct ibv_sge, lkey));

enum {
	KNOWN_FLAGS =
		RN_SEND_FENCE | RN_SEND_SIGNALED | RN_SEND_SOLICITED | RN_SEND_INLINE,
};

/* Member of the union in struct ibv_send_wr that an opcode uses, if any. */
enum part {
	PART_REFUSED, /* no QP supports the opcode */
	PART_NONE,
	PART_ADDRESS, /* used by UD QPs only */
	PART_RDMA,
	PART_ATOMIC,
	PART_BIND,
	PART_FLUSH,
};

struct opcode_rule {
	enum part part;
	bool imm; /* the request has imm_data in network order, not invalidate_rkey */
};

/* clang-format off */
static const struct opcode_rule rules[] = {
	[IBV_WR_SEND]                 = { PART_ADDRESS, false },
	[IBV_WR_SEND_WITH_IMM]        = { PART_ADDRESS, true },
	[IBV_WR_SEND_WITH_INV]        = { PART_ADDRESS, false },
	[IBV_WR_LOCAL_INV]            = { PART_NONE,    false },
	[IBV_WR_BIND_MW]              = { PART_BIND,    false },
	[IBV_WR_RDMA_WRITE]           = { PART_RDMA,    false },
	[IBV_WR_RDMA_WRITE_WITH_IMM]  = { PART_RDMA,    true },
	[IBV_WR_RDMA_READ]            = { PART_RDMA,    false },
	[IBV_WR_ATOMIC_CMP_AND_SWP]   = { PART_ATOMIC,  false },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { PART_ATOMIC,  false },
	[IBV_WR_ATOMIC_WRITE]         = { PART_RDMA,    false },
	[IBV_WR_FLUSH]                = { PART_FLUSH,   false },
};
/* clang-format on */

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

/* Fills in the fields of BIND_MW, except wr_id and flags. Only the key byte of @rkey is
 * used; the index is the window's.
 */
static void bind_request(const struct ibv_mw *mw, uint32_t rkey,
			 const struct ibv_mw_bind_info *info, struct rn_send_wr *wr)
{
	wr->opcode = RN_WR_BIND_MW;
	wr->rkey = (mw->rkey & ~(uint32_t)UINT8_MAX) | (rkey & UINT8_MAX);
	wr->remote_addr = info->addr;
	wr->bind_length = info->length;
	wr->bind_region = info->mr ? info->mr->lkey : 0;
	wr->bind_access = info->mw_access_flags;
	wr->num_sge = 0;
}

/* Converts a bind request for a window of type 2. Windows of type 1 are bound by
 * ibv_bind_mw().
 */
static int take_bind(const struct ibv_send_wr *wr, const struct ibv_qp *qp,
		     struct rn_send_wr *out)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (!mw || mw->type != IBV_MW_TYPE_2 || mw->context != qp->context)
		return -EINVAL;
	bind_request(mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info, out);
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
	struct opcode_rule rule;

	if ((unsigned)wr->opcode >= RN_ARRAY_SIZE(rules) ||
	    wr->send_flags & ~(KNOWN_FLAGS | frames) || wr->num_sge < 0)
		return -EINVAL;
	rule = rules[wr->opcode];
	*out = (struct rn_send_wr){
		.wr_id = wr->wr_id,
		.opcode = (enum rn_wr_opcode)wr->opcode,
		.flags = wr->send_flags,
		.imm = rule.imm ? ntohl(wr->imm_data) : wr->invalidate_rkey,
		.sg = (const struct rn_sge *)wr->sg_list,
		.num_sge = (uint32_t)wr->num_sge,
	};
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		out->remote_srqn = wr->qp_type.xrc.remote_srqn;
	switch (rule.part) {
	case PART_NONE:
		return 0;
	case PART_ADDRESS:
		return qp->qp_type == IBV_QPT_UD ? take_address(wr, qp, out) : 0;
	case PART_RDMA:
		out->remote_addr = wr->wr.rdma.remote_addr;
		out->rkey = wr->wr.rdma.rkey;
		return 0;
	case PART_ATOMIC:
		out->remote_addr = wr->wr.atomic.remote_addr;
		out->rkey = wr->wr.atomic.rkey;
		out->compare_add = wr->wr.atomic.compare_add;
		out->swap = wr->wr.atomic.swap;
		return 0;
	case PART_FLUSH:
		return take_flush(wr, out);
	case PART_BIND:
		return take_bind(wr, qp, out);
	case PART_REFUSED:
		break;
	}
	return -EINVAL;
}

/* Tells the sanitizer that request number @msg of the send queue was posted; engine lock
 * held.
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
 * Tells the sanitizer of the PCIe layer, if there is one, and passes the trace point.
 * Engine lock held: no packet of the request leaves before the sanitizer knows of it, so
 * no READ is served that it takes for the peer's own.
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
 * packet has been built. Engine lock held; only if there is a simulated PCIe.
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

/* -------------------------------------------------------------------- post functions */
/* Takes the engine lock. Returns true if it has disabled cancellation, which is slow.
 * That is needed only with the PCIe layer: without it a post reaches no cancellation
 * point before rnp_engine_posted(), which disables cancellation itself.
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

/* Ends a post to an object that was destroyed. A post does not look its object up, as it
 * costs time and a kernel does not see posts; the memory of the object is still readable.
 */
static __attribute__((noinline)) int post_nowhere(struct rnp_engine *e, bool disabled,
						  int cancel)
{
	unlock_posted(e, disabled, cancel);
	return rnp_set_errno(EINVAL);
}

int rnp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct rnp_qp *qp = to_rnp_qp(base);
	struct rnp_engine *e = qp->ctx->engine;
	struct rnp_posted posted = { 0 };
	struct rn_send_wr core_wr;
	int rc = 0, cancel = 0;
	bool disabled;

	if (rnp_is_fork_child(qp->ctx)) {
		*bad_wr = wr;
		return rnp_set_errno(EIO);
	}
	disabled = lock_to_post(e, &cancel);
	if (!qp->core) {
		*bad_wr = wr;
		return post_nowhere(e, disabled, cancel);
	}
	rnp_pcie_doorbell(rnp_engine_pcie(e));
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
	if (disabled)
		ring_doorbell(qp, posted.count);
	rnp_engine_posted(e, qp->core, &posted);
	unlock_posted(e, disabled, cancel);
	return rnp_set_errno(-rc);
}

static void kick_uncancelled(struct rnp_engine *e)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_kick(e);
	pthread_setcancelstate(cancel, NULL);
}

/* Converts a receive request for the core; it refers to the scatter list of @wr. */
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
	struct rn_dev *dev;
	int rc = 0, cancel = 0;
	bool disabled;
	rn_ns now;

	if (rnp_is_fork_child(qp->ctx)) {
		*bad_wr = wr;
		return rnp_set_errno(EIO);
	}
	disabled = lock_to_post(e, &cancel);
	if (!qp->core) {
		*bad_wr = wr;
		return post_nowhere(e, disabled, cancel);
	}
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	dev = rnp_engine_dev(e);
	now = rnp_engine_recv_time(e, qp->core);
	for (; wr; wr = wr->next) {
		const struct rn_recv_wr core_wr = recv_wr_from(wr);

		rc = rn_qp_post_recv(dev, qp->core, now, &core_wr);
		rn_trace_post_recv(base->qp_num, wr->wr_id, -rc);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	/* In ERR the receives were flushed, so an armed CQ must raise its event; with
	 * credits an ACK tells the peer that there are receives again.
	 */
	if (rn_qp_state(qp->core) == RN_QPS_ERR || rnp_engine_sends_credits(e))
		kick_uncancelled(e);
	unlock_posted(e, disabled, cancel);
	return rnp_set_errno(-rc);
}

int rnp_post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct rnp_srq *srq = to_rnp_srq(base);
	struct rnp_engine *e = srq->ctx->engine;
	int rc = 0, cancel;

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
	for (; wr; wr = wr->next) {
		const struct rn_recv_wr core_wr = recv_wr_from(wr);

		rc = rn_srq_post_recv(srq->core, &core_wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	rnp_unlock_engine(e, cancel);
	return rnp_set_errno(-rc);
}

/* ----------------------------------------------------------------- ibv_bind_mw() */
/* Checks a bind request of ibv_bind_mw(), as far as libibverbs has not: it has checked
 * the type of the window, the domain and the region. Engine lock held. Returns 0 or a
 * positive errno.
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
	bind_request(mw, ibv_inc_rkey(mw->rkey), &bind->bind_info, &wr);
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

/* ------------------------------------------------------------------------ ibv_wr_*() */
/* Returns the list of requests of a QP. From ibv_wr_start() on the requests are collected
 * in this list, with the bytes of inline data. A lock of the QP guards the list, so a
 * program that works slowly between the calls does not block the engine.
 * ibv_wr_complete() posts all requests or, if one of them is refused, none.
 */
static struct rnp_wr_list *list_of(struct ibv_qp_ex *ex)
{
	return to_rnp_qp(&ex->qp_base)->wr;
}

static void *append_items(struct rnp_wr_array *a, size_t item_size, size_t n)
{
	size_t room = a->room ? a->room : 16;
	void *item;

	while (room < a->count + n)
		room *= 2;
	if (room > a->room) {
		item = realloc(a->item, room * item_size);
		if (!item)
			return NULL;
		a->item = item;
		a->room = room;
	}
	a->count += n;
	return (char *)a->item + (a->count - n) * item_size;
}

static struct rnp_wr_entry *last_wr(struct rnp_wr_list *list)
{
	struct rnp_wr_entry *entry = list->entries.item;

	if (list->err)
		return NULL;
	if (list->entries.count == 0) {
		/* a function such as ibv_wr_set_sge() was called before any request was
		 * begun
		 */
		list->err = EINVAL;
		return NULL;
	}
	return &entry[list->entries.count - 1];
}

/* -------------------------------------------------------------------------- requests */
static struct rnp_wr_entry *begin_wr(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode)
{
	struct rnp_wr_list *list = list_of(ex);
	struct rnp_wr_entry *entry;

	if (list->err)
		return NULL;
	if (ex->wr_flags &
	    ~(unsigned)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
			IBV_SEND_INLINE | IBV_SEND_IP_CSUM)) {
		list->err = EINVAL;
		return NULL;
	}
	entry = append_items(&list->entries, sizeof(*entry), 1);
	if (!entry) {
		list->err = ENOMEM;
		return NULL;
	}
	/* Only ibv_wr_set_inline_data() makes data inline, not IBV_SEND_INLINE. */
	*entry = (struct rnp_wr_entry){
		.wr = { .wr_id = ex->wr_id,
			.opcode = opcode,
			.flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE },
		.sge_at = list->sges.count,
	};
	return entry;
}

static struct rnp_wr_entry *begin_remote(struct ibv_qp_ex *ex, enum rn_wr_opcode opcode,
					 uint32_t rkey, uint64_t remote_addr)
{
	struct rnp_wr_entry *entry = begin_wr(ex, opcode);

	if (entry) {
		entry->wr.rkey = rkey;
		entry->wr.remote_addr = remote_addr;
	}
	return entry;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin_wr(ex, RN_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_SEND_WITH_IMM);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_SEND_WITH_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_LOCAL_INV);

	if (entry)
		entry->wr.imm = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct rnp_wr_entry *entry = begin_wr(ex, RN_WR_BIND_MW);

	if (!entry)
		return;
	if (mw->type != IBV_MW_TYPE_2 || mw->context != ex->qp_base.context)
		list_of(ex)->err = EINVAL;
	else
		bind_request(mw, rkey, bind_info, &entry->wr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, RN_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct rnp_wr_entry *entry =
		begin_remote(ex, RN_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (entry)
		entry->wr.imm = ntohl(imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_remote(ex, RN_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct rnp_wr_entry *entry =
		begin_remote(ex, RN_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	if (entry) {
		entry->wr.compare_add = compare;
		entry->wr.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	struct rnp_wr_entry *entry =
		begin_remote(ex, RN_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);

	if (entry)
		entry->wr.compare_add = add;
}

/* --------------------------------------------------------------------------- setters */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct rnp_wr_entry *entry = last_wr(list_of(ex));

	if (!entry)
		return;
	entry->ah = ah;
	entry->wr.remote_qpn = remote_qpn;
	entry->wr.remote_qkey = remote_qkey;
	if (!ah || to_rnp_pd(ah->pd) != to_rnp_pd(ex->qp_base.pd)) {
		list_of(ex)->err = EINVAL;
		return;
	}
	entry->av = to_rnp_ah(ah)->av;
	/* point_at_data() sets this pointer again, as realloc() may move the entries */
	entry->wr.av = &entry->av;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct rnp_wr_entry *entry = last_wr(list_of(ex));

	if (entry)
		entry->wr.remote_srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct rnp_wr_list *list = list_of(ex);
	struct rnp_wr_entry *entry = last_wr(list);
	struct rn_sge *sge;

	if (!entry)
		return;
	if (num_sge > RN_SGE_MAX) {
		list->err = EINVAL;
		return;
	}
	entry->sge_at = list->sges.count;
	sge = append_items(&list->sges, sizeof(*sge), num_sge);
	if (!sge) {
		list->err = ENOMEM;
		return;
	}
	for (size_t i = 0; i < num_sge; i++)
		sge[i] = (struct rn_sge){ .addr = sg_list[i].addr,
					  .len = sg_list[i].length,
					  .lkey = sg_list[i].lkey };
	entry->wr.num_sge = (uint32_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct rnp_wr_list *list = list_of(ex);
	struct rnp_wr_entry *entry = last_wr(list);
	size_t len = 0;
	char *to;

	if (!entry)
		return;
	for (size_t i = 0; i < num_buf && len <= RN_INLINE_MAX; i++)
		len = buf_list[i].length > RN_INLINE_MAX ? RN_INLINE_MAX + 1
							 : len + buf_list[i].length;
	if (len > RN_INLINE_MAX) {
		list->err = EINVAL;
		return;
	}
	entry->inline_at = list->bytes.count;
	to = append_items(&list->bytes, 1, len);
	if (!to) {
		list->err = ENOMEM;
		return;
	}
	for (size_t i = 0; i < num_buf; i++)
		if (buf_list[i].length)
			to = (char *)memcpy(to, buf_list[i].addr, buf_list[i].length) +
			     buf_list[i].length;
	entry->wr.flags |= RN_SEND_INLINE;
	entry->wr.num_sge = 1;
	entry->inline_len = (uint32_t)len;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* -------------------------------------------------------- requests of newer releases */
/* struct ibv_qp_ex has ibv_wr_atomic_write() since release 44 and ibv_wr_flush() since
 * 45; the memory behind its end belongs to libibverbs.
 */
typedef void flush_fn(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		      size_t len, uint8_t type, uint8_t level);

enum {
	ATOMIC_WRITE_AT = offsetof(struct ibv_qp_ex, wr_atomic_write),
	FLUSH_AT = ATOMIC_WRITE_AT + sizeof(void *),
	WORD = 8,
};

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	if (begin_remote(ex, RN_WR_ATOMIC_WRITE, rkey, remote_addr))
		wr_set_inline_data(ex, (void *)atomic_wr, WORD);
}

// NOLINTNEXTLINE(readability-function-size): libibverbs prescribes the parameters
static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
		     size_t len, uint8_t type, uint8_t level)
{
	struct rnp_wr_entry *entry = begin_remote(ex, RN_WR_FLUSH, rkey, remote_addr);

	if (!entry)
		return;
	if (len > UINT32_MAX)
		list_of(ex)->err = EINVAL;
	entry->wr.flush_length = (uint32_t)len;
	entry->wr.flush_placement = type;
	entry->wr.flush_selectivity = level;
}

static uint64_t newer_ops(const struct rnp_library *library)
{
	uint64_t ops = 0;

	if (library->qp_ex_len >= ATOMIC_WRITE_AT + sizeof(void *))
		ops |= IBV_QP_EX_WITH_ATOMIC_WRITE;
	if (library->qp_ex_len >= FLUSH_AT + sizeof(void *))
		ops |= RNP_QP_EX_WITH_FLUSH;
	return ops;
}

static void set_newer_requests(union rnp_abi_qp *qp, uint64_t ops)
{
	flush_fn *const flush = wr_flush;

	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qp->qp_ex.wr_atomic_write = wr_atomic_write;
	if (ops & RNP_QP_EX_WITH_FLUSH)
		memcpy(qp->room + FLUSH_AT, &flush, sizeof(flush));
}

/* ---------------------------------------------- ibv_wr_start() and ibv_wr_complete() */
static void empty_list(struct rnp_wr_list *list)
{
	list->entries.count = list->sges.count = list->bytes.count = 0;
	list->err = 0;
}

static bool in_copy(struct ibv_qp_ex *ex)
{
	return rnp_is_fork_child(to_rnp_qp(&ex->qp_base)->ctx);
}

static void start_list(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		pthread_mutex_lock(&list_of(ex)->lock);
	empty_list(list_of(ex));
}

static void abort_list(struct ibv_qp_ex *ex)
{
	if (!in_copy(ex))
		pthread_mutex_unlock(&list_of(ex)->lock);
}

/* Turns indices into pointers, when the arrays are not moved any more. Inline data
 * becomes one SGE, @inline_sge, which must exist as long as the request is used.
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

/* Posts all requests or, if @posted is NULL, only checks them. The engine lock is held.
 * Returns 0 or a positive errno.
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

static int post_list(struct rnp_qp *qp)
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

static int complete_list(struct ibv_qp_ex *ex)
{
	struct rnp_qp *qp = to_rnp_qp(&ex->qp_base);
	struct rnp_wr_list *list = qp->wr;
	int rc = list->err;

	if (in_copy(ex))
		return rnp_set_errno(EIO);
	if (!rc && list->entries.count)
		rc = post_list(qp);
	pthread_mutex_unlock(&list->lock);
	return rnp_set_errno(rc);
}

/* -------------------------------------------------------------------------- creation */
static int new_list(struct rnp_qp *qp)
{
	qp->wr = calloc(1, sizeof(*qp->wr));
	if (!qp->wr)
		return ENOMEM;
	pthread_mutex_init(&qp->wr->lock, NULL);
	return 0;
}

static void free_items(struct rnp_wr_array *a)
{
	free(a->item);
	*a = (struct rnp_wr_array){ 0 };
}

static void free_list(struct rnp_wr_list *list)
{
	free_items(&list->entries);
	free_items(&list->sges);
	free_items(&list->bytes);
}

void rnp_wr_fini(struct rnp_qp *qp)
{
	const bool all = !qp->handle.was_named;

	/* If it fails, some thread is between ibv_wr_start() and ibv_wr_complete(). */
	if (!qp->wr || (!all && pthread_mutex_trylock(&qp->wr->lock)))
		return;
	free_list(qp->wr);
	if (all)
		free(qp->wr);
	else
		pthread_mutex_unlock(&qp->wr->lock);
}

/* Returns the operations of a type of QP. @newer: operations of newer releases that this
 * libibverbs has.
 */
static uint64_t ops_of_type(enum ibv_qp_type type, uint64_t newer)
{
	const uint64_t ud = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t uc = ud | IBV_QP_EX_WITH_RDMA_WRITE |
			    IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			    IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW;
	const uint64_t rc = uc | IBV_QP_EX_WITH_RDMA_READ |
			    IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
			    IBV_QP_EX_WITH_SEND_WITH_INV | newer;

	if (type == IBV_QPT_RAW_PACKET)
		return IBV_QP_EX_WITH_SEND;
	if (type == IBV_QPT_UD)
		return ud;
	return type == IBV_QPT_UC ? uc : rc;
}

static void set_requests(struct ibv_qp_ex *ex, uint64_t ops)
{
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
}

int rnp_wr_init(struct rnp_qp *qp, uint64_t send_ops_flags)
{
	const struct rnp_library *library = qp->ctx->library;
	struct ibv_qp_ex *ex = &qp->base.qp_ex;
	int rc;

	if (send_ops_flags & ~ops_of_type(qp->base.qp.qp_type, newer_ops(library)))
		return EOPNOTSUPP;
	rc = new_list(qp);
	if (rc)
		return rc;
	set_requests(ex, send_ops_flags);
	set_newer_requests(&qp->base, send_ops_flags);
	if (qp->base.qp.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->base.qp.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = start_list;
	ex->wr_complete = complete_list;
	ex->wr_abort = abort_list;
	library->mark_qp_ex(&qp->base);
	return 0;
}
