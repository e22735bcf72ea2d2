/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* addressing.c - rules about address handles, GIDs, MTUs and keys; see
 * rules/addressing.def.
 */
#include "model.h"

#include <string.h>

enum {
	SL_MAX = 7,
	FLOW_LABEL_MAX = (1 << 20) - 1,
	QPN_MAX = (1 << 24) - 1,
	MULTICAST_QPN = QPN_MAX,
	MTU_MAX = 4096, /* bytes */
};

#define QKEY_CONTROLLED UINT32_C(0x80000000)

/* Multicast GIDs are those of IPv6, and 224.0.0.0/4 as an IPv4 address in a GID. */
static bool is_multicast(const union ibv_gid *gid)
{
	static const uint8_t of_ipv4[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff ||
	       (!memcmp(gid->raw, of_ipv4, sizeof(of_ipv4)) && gid->raw[12] >> 4 == 0xe);
}

static void check_grh(struct rn_val *v, const struct rn_val_event *e,
		      const struct ibv_global_route *grh)
{
	static const union ibv_gid none;

	if (!memcmp(&grh->dgid, &none, sizeof(none)))
		rn_val_find(v, e, RN_VAL_ADDRESSING_NO_DGID, e->object,
			    "%s() got an address with grh.dgid ::", e->verb);
	if (!grh->hop_limit)
		rn_val_find(v, e, RN_VAL_ADDRESSING_HOP_LIMIT_ZERO, e->object,
			    "%s() got an address with grh.hop_limit 0", e->verb);
	if (grh->flow_label > FLOW_LABEL_MAX)
		rn_val_find(v, e, RN_VAL_ADDRESSING_FLOW_LABEL_WIDE, e->object,
			    "%s() got flow label %#x", e->verb, grh->flow_label);
}

static void check_address(struct rn_val *v, const struct rn_val_event *e,
			  const struct ibv_ah_attr *a)
{
	if (!a->is_global)
		rn_val_find(v, e, RN_VAL_ADDRESSING_NO_GRH, e->object,
			    "%s() got an address with is_global 0%s", e->verb,
			    a->dlid ? " and a LID, which RoCE does not have" : "");
	else
		check_grh(v, e, &a->grh);
	if (a->sl > SL_MAX)
		rn_val_find(v, e, RN_VAL_ADDRESSING_SL_WIDE, e->object,
			    "%s() got an address with sl %u", e->verb, a->sl);
}

static void check_modify(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_ah_attr *a = &e->modify.attr->ah_attr;

	check_address(v, e, a);
	if (a->is_global && is_multicast(&a->grh.dgid))
		rn_val_find(v, e, RN_VAL_ADDRESSING_CONNECTED_MULTICAST, e->object,
			    "%s() got the GID of a group", e->verb);
}

/* --------------------------------------------------------------------- UD requests */
static void check_handle(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_request *r)
{
	const struct rn_val_object *ah = rn_val_lookup(v, r->ah);
	const struct rn_val_object *own = rn_val_pd_of(e->object), *its;

	if (!rn_val_is(ah, RN_VAL_AH) || ah->is_gone)
		return;
	its = rn_val_pd_of(ah);
	/* Handles of one PD have one number. */
	if (own && its && own->number != its->number)
		rn_val_find2(v, e, RN_VAL_ADDRESSING_AH_OF_OTHER_PD, e->object, ah,
			     "the address handle is of PD %u, and the QP of PD %u",
			     its->number, own->number);
	if (is_multicast(&ah->ah.attr.grh.dgid) && r->remote_qpn != MULTICAST_QPN)
		rn_val_find2(v, e, RN_VAL_ADDRESSING_MULTICAST_QPN, e->object, ah,
			     "remote_qpn is %#x", r->remote_qpn);
}

static void check_request(struct rn_val *v, const struct rn_val_event *e,
			  const struct rn_val_request *r)
{
	uint64_t len = 0;

	for (uint32_t i = 0; i < r->sge_count; i++)
		len += r->sge[i].length;
	if (len > MTU_MAX)
		rn_val_find(v, e, RN_VAL_ADDRESSING_UD_TOO_LONG, e->object,
			    "a UD message of %llu bytes", (unsigned long long)len);
	if (!r->ah)
		return;
	check_handle(v, e, r);
	if (r->qkey & QKEY_CONTROLLED)
		rn_val_find(v, e, RN_VAL_ADDRESSING_QKEY_CONTROLLED, e->object,
			    "remote_qkey is %#x", r->qkey);
	if (r->remote_qpn > QPN_MAX)
		rn_val_find(v, e, RN_VAL_ADDRESSING_QPN_WIDE, e->object,
			    "remote_qpn is %#x", r->remote_qpn);
}

void rn_val_check_addressing(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;

	if (e->kind == RN_VAL_MAKE && e->make.kind == RN_VAL_AH)
		check_address(v, e, &e->make.ah.attr);
	if (e->kind == RN_VAL_MODIFY && e->is_done && e->modify.mask & IBV_QP_AV)
		check_modify(v, e);
	if (e->kind == RN_VAL_POST_SEND && !e->is_done && rn_val_is(o, RN_VAL_QP) &&
	    !o->is_gone && o->qp.type == IBV_QPT_UD)
		for (uint32_t i = 0; i < e->post.count; i++)
			check_request(v, e, &e->post.request[i]);
}
