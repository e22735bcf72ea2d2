/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* post.c - work requests from the program to the core. */
#include <arpa/inet.h>

#include "provider.h"
#include "provider/engine/trace_points.h"
#include "send_wr.h"
#include "watch.h"

/* Posting comes to no cancellation point before the engine takes over, unless it is told
 * to the PCIe layer: then as rnp_enter(). Changing the state is dear.
 */
static bool enter(struct rnp_engine *e, int *cancel)
{
	bool disabled = rnp_pcie_is_on(rnp_engine_pcie(e));

	if (disabled)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	rnp_engine_lock(e);
	return disabled;
}

static void leave(struct rnp_engine *e, bool disabled, int cancel)
{
	rnp_engine_unlock(e);
	if (disabled)
		pthread_setcancelstate(cancel, NULL);
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

	if (rnp_is_copy(qp->ctx)) {
		*bad_wr = wr;
		return EIO;
	}
	disabled = enter(e, &cancel);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	posted.now = rnp_engine_send_time(e, qp->core);
	for (; wr; wr = wr->next) {
		rc = rnp_send_wr_from(wr, base, &core_wr);
		if (!rc)
			rc = rnp_watch_post_send(qp, posted.now, &core_wr);
		if (rc) {
			*bad_wr = wr;
			break;
		}
		rnp_posted_add(&posted, &core_wr);
	}
	/* Those before the bad one have been posted. */
	rnp_engine_posted(e, qp->core, &posted);
	leave(e, disabled, cancel);
	return -rc;
}

static void kick(struct rnp_engine *e)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rnp_engine_kick(e);
	pthread_setcancelstate(cancel, NULL);
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

	if (rnp_is_copy(qp->ctx)) {
		*bad_wr = wr;
		return EIO;
	}
	disabled = enter(e, &cancel);
	rnp_pcie_doorbell(rnp_engine_pcie(e));
	dev = rnp_engine_dev(e);
	now = rnp_engine_recv_time(e, qp->core);
	for (; wr; wr = wr->next) {
		struct rn_recv_wr core_wr = {
			.wr_id = wr->wr_id,
			.sg = (const struct rn_sge *)wr->sg_list,
			.num_sge = (uint32_t)wr->num_sge,
		};

		rc = rn_qp_post_recv(dev, qp->core, now, &core_wr);
		rn_trace_post_recv(base->qp_num, wr->wr_id, -rc);
		if (rc) {
			*bad_wr = wr;
			break;
		}
	}
	/* In ERR the requests have been flushed, which an armed CQ wants to know; a peer
	 * without credits wants to know of receives.
	 */
	if (rn_qp_state(qp->core) == RN_QPS_ERR || rnp_engine_tells_credits(e))
		kick(e);
	leave(e, disabled, cancel);
	return -rc;
}
