/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* first_request.c - finds out whether a QP that awaits an RTU has received a request of
 * its peer, or an answer to a request of its own. Either shows that the peer has got the
 * REP, as the RTU would.
 *
 * The kernel's rdma_cm learns this from the event COMM_EST, which a device raises for a
 * QP in RTR, and which the program passes on (rdma_notify()). But programs with librdmacm
 * have their QPs in RTS when they accept, so there is no such event. So before rocind
 * sends a REP again, it reads the records of QPs that each program keeps in its stats
 * page. Usually the RTU arrives in time, and nothing is read.
 */
#include "cm.h"
#include "cm_channel.h"
#include "rocin/queue_pair.h"
#include "transport/io/rocind/stats_pages.h"

enum {
	/* mask of the slot (number of the process) in a QPN, see RN_CTL_SLOT_MAX */
	SLOT_MASK = 0xff,
};

/* Returns the attachment (slot and addresses) of the process that has the QP @qpn, or
 * NULL.
 */
static struct rnd_attachment *find_owner(const struct rnd_cm *cm,
					 const struct rn_flow *flow, uint32_t qpn)
{
	uint32_t scope = rn_gid_is_link_local(&flow->src) ? flow->ifindex : 0;
	struct rnd_group *group = rnd_group_find(&cm->server->groups, &flow->src, scope);

	for (struct rnd_client *c = cm->server->clients; group && c; c = c->next) {
		struct rnd_attachment *a = &c->attachment;

		for (uint32_t i = 0; a->slot == (qpn & SLOT_MASK) && i < a->gid_count;
		     i++)
			if (a->group[i] == group)
				return a;
	}
	return NULL;
}

/* Returns true if the QP has received a request or an answer since it was connected to
 * this peer. There are three signs. If it has executed a request, the PSN that it expects
 * has advanced. If it has no receive for a request yet, its record has RN_STATS_NO_RECV.
 * Only the peer knows the first PSN, so no other sender can cause these two. If the
 * program has sent a request before the RTU came, which a QP in RTS allows, and the peer
 * has answered, its record has RN_STATS_ANSWERED.
 */
static bool has_moved(const struct rn_stats_qp *rec, const struct rn_cm_qp *qp)
{
	if (rec->state != RN_QPS_RTR && rec->state != RN_QPS_RTS &&
	    rec->state != RN_QPS_SQD)
		return false;
	return rec->dest_qpn == qp->dest_qpn && rec->rx_packets > 0 &&
	       rec->rq_psn != qp->rq_psn;
}

bool rnd_cm_has_request(void *ctx, const struct rn_cm_info *info, uint32_t qpn)
{
	struct rnd_cm *cm = ctx;
	struct rnd_attachment *a =
		qpn & SLOT_MASK ? find_owner(cm, &info->flow, qpn) : NULL;
	struct rn_stats_qp rec;

	return a && a->stats_fd >= 0 &&
	       rn_stats_find_qp(a->stats_fd, qpn, &a->next_record, &cm->records_left,
				&rec) &&
	       has_moved(&rec, &info->qp);
}
