/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cnp.c - congestion notifications, in both directions.
 *
 * A notification has no PSN, is never acknowledged and leaves before anything else. It is
 * sent for requests and responses alike, whether or not they were expected. Groups are
 * not answered: every member would be.
 */
#include <string.h>

#include "qp.h"

void rn_cc_init(struct rn_qp *qp)
{
	if (!qp->cc)
		return;
	*qp->cc = (struct rn_cc){ .qp = qp };
	rn_list_init(&qp->cc->due);
}

void rn_cc_reset(struct rn_qp *qp)
{
	if (!qp->cc)
		return;
	rn_list_remove(&qp->cc->due);
	rn_cc_init(qp);
}

uint8_t rn_cc_tclass(const struct rn_dev *dev, uint8_t tclass)
{
	if (!dev->cfg.cc)
		return tclass;
	return (uint8_t)((tclass & ~RN_ECN_MASK) | RN_ECN_ECT0);
}

/* ------------------------------------------------------- notification point */
static uint32_t sender_of(const struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_deth deth;

	if (qp->type != RN_QPT_UD)
		return qp->attr.dest_qpn;
	if (rn_deth_parse(&deth, p->ext, p->payload))
		assert(false); /* op->hdr_len was compared with the packet */
	return deth.src_qpn;
}

void rn_cnp_answer(struct rn_qp *qp, rn_ns now, const struct rn_packet *p)
{
	const struct rn_flow *in = p->flow;
	struct rn_cc *cc = qp->cc;

	rn_count(qp->dev, RN_STAT_NP_ECN_MARKED);
	if (now < cc->next_cnp || rn_gid_is_multicast(&in->dst))
		return;
	cc->next_cnp = now + RN_CNP_PERIOD;
	cc->to = (struct rn_flow){
		.src = in->dst,
		.dst = in->src,
		.ifindex = in->ifindex,
		.sport = RN_ROCE_PORT,
		.tclass = RN_CNP_TCLASS,
		.hop_limit = 64,
	};
	cc->to_qpn = sender_of(qp, p);
	if (!rn_list_is_linked(&cc->due))
		rn_list_push_back(&qp->dev->cnps, &cc->due);
}

uint32_t rn_cnp_build(struct rn_dev *dev, struct rn_build *b, struct rn_qp **qp)
{
	struct rn_cc *cc = RN_CONTAINER_OF(dev->cnps.next, struct rn_cc, due);
	const struct rn_bth bth = {
		.opcode = RN_CNP,
		.becn = true,
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = cc->to_qpn,
	};
	uint8_t *p = rn_bth_emit(b->buf, &bth);

	rn_list_remove(&cc->due);
	memset(p, 0, RN_CNP_RESERVED_LEN);
	*b->tx = (struct rn_tx){
		.flow = &cc->to,
		.dest_qpn = cc->to_qpn,
		.src_qpn = cc->qp->qpn,
		.response = true,
	};
	rn_count(dev, RN_STAT_NP_CNP_SENT);
	*qp = cc->qp;
	return (uint32_t)(p - b->buf) + RN_CNP_RESERVED_LEN;
}

/* ----------------------------------------------------------- reaction point */
void rn_cnp_receive(struct rn_qp *qp, rn_ns now)
{
	if (!rn_dcqcn_notify(&qp->cc->rate, &qp->dev->cc, now))
		return;
	rn_pace_follow(qp, now);
	/* A pause before the congestion is worth nothing. */
	if (qp->req.pace.next < now)
		qp->req.pace.next = now;
}
