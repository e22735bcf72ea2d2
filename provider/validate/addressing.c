/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* addressing.c - rules about address handles, GIDs, MTUs and keys; see
 * rules/addressing.def.
 */
#include "model/model.h"

#include <string.h>

enum {
	SL_MAX = 7,
	FLOW_LABEL_MAX = (1 << 20) - 1,
	QPN_MAX = (1 << 24) - 1,
	MULTICAST_QPN = QPN_MAX,
	/* MTU in bytes that a port is taken to have if nothing is known of it */
	MTU_MAX = 4096,
	/* MTU in bytes for value 0 of enum ibv_mtu; each higher value doubles the MTU */
	MTU_UNIT = 128,
};

#define QKEY_CONTROLLED UINT32_C(0x80000000)

static bool is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid none;

	return !memcmp(gid, &none, sizeof(none));
}

/* Is the GID an IPv4 address, ::ffff:a.b.c.d? */
static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t of_ipv4[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, of_ipv4, sizeof(of_ipv4));
}

/* Is the GID a multicast address: one of IPv6, or one of IPv4 (224.0.0.0/4) mapped into a
 * GID?
 */
static bool is_multicast(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (is_ipv4(gid) && gid->raw[12] >> 4 == 0xe);
}

static const char *family_name(const union ibv_gid *gid)
{
	return is_ipv4(gid) ? "an IPv4 address" : "an IPv6 address";
}

static void check_source(struct rn_val *v, const struct rn_val_event *e,
			 const struct ibv_global_route *grh,
			 const struct rn_val_path *path)
{
	if (!path->mtu)
		return;
	if (is_zero(&path->sgid))
		rn_val_find(v, e, RN_VAL_ADDRESSING_GID_INDEX, e->object,
			    "%s() got grh.sgid_index %u", e->verb, grh->sgid_index);
	else if (!is_zero(&grh->dgid) && is_ipv4(&path->sgid) != is_ipv4(&grh->dgid))
		rn_val_find(v, e, RN_VAL_ADDRESSING_GID_FAMILY, e->object,
			    "%s() got grh.sgid_index %u, which is %s, and a grh.dgid "
			    "that is %s",
			    e->verb, grh->sgid_index, family_name(&path->sgid),
			    family_name(&grh->dgid));
}

static void check_grh(struct rn_val *v, const struct rn_val_event *e,
		      const struct ibv_global_route *grh)
{
	if (is_zero(&grh->dgid))
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
			  const struct ibv_ah_attr *a, const struct rn_val_path *path)
{
	if (!a->is_global)
		rn_val_find(v, e, RN_VAL_ADDRESSING_NO_GRH, e->object,
			    "%s() got an address with is_global 0%s", e->verb,
			    a->dlid ? " and a LID, which RoCE does not have" : "");
	else {
		check_grh(v, e, &a->grh);
		check_source(v, e, &a->grh, path);
	}
	if (a->sl > SL_MAX)
		rn_val_find(v, e, RN_VAL_ADDRESSING_SL_WIDE, e->object,
			    "%s() got an address with sl %u", e->verb, a->sl);
}

static void check_mtu(struct rn_val *v, const struct rn_val_event *e)
{
	enum ibv_mtu mtu = e->modify.attr->path_mtu;
	uint32_t active = e->modify.path.mtu;

	if (!active || !(e->modify.mask & IBV_QP_PATH_MTU) || mtu < IBV_MTU_256 ||
	    mtu > IBV_MTU_4096 || (uint32_t)MTU_UNIT << mtu <= active)
		return;
	rn_val_find(v, e, RN_VAL_ADDRESSING_PATH_MTU_LARGE, e->object,
		    "path_mtu is %u bytes, and active_mtu of the port %u",
		    (uint32_t)MTU_UNIT << mtu, active);
}

static void check_modify(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_ah_attr *a = &e->modify.attr->ah_attr;

	check_address(v, e, a, &e->modify.path);
	check_mtu(v, e);
	if (a->is_global && is_multicast(&a->grh.dgid))
		rn_val_find(v, e, RN_VAL_ADDRESSING_CONNECTED_MULTICAST, e->object,
			    "%s() got the GID of a group", e->verb);
}

/* --------------------------------------------------------------------- UD requests */
/* Returns the AH that a UD request names, if the AH exists; else NULL. */
static const struct rn_val_object *handle_of(const struct rn_val *v,
					     const struct rn_val_request *r)
{
	const struct rn_val_object *ah = r->ah ? rn_val_lookup(v, r->ah) : NULL;

	return rn_val_is(ah, RN_VAL_AH) && !ah->is_gone ? ah : NULL;
}

static void check_handle(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_request *r, const struct rn_val_object *ah)
{
	const struct rn_val_object *own = rn_val_pd_of(e->object),
				   *its = rn_val_pd_of(ah);

	/* All handles on one PD (the PD, its imports, parent domains) have the same
	 * number.
	 */
	if (own && its && own->number != its->number)
		rn_val_find2(v, e, RN_VAL_ADDRESSING_AH_OF_OTHER_PD, e->object, ah,
			     "the address handle is of PD %u, and the QP of PD %u",
			     its->number, own->number);
	if (is_multicast(&ah->ah.attr.grh.dgid) && r->remote_qpn != MULTICAST_QPN)
		rn_val_find2(v, e, RN_VAL_ADDRESSING_MULTICAST_QPN, e->object, ah,
			     "remote_qpn is %#x", r->remote_qpn);
}

static void check_qkey(struct rn_val *v, const struct rn_val_event *e,
		       const struct rn_val_request *r, const struct rn_val_object *ah)
{
	const struct rn_val_object *to = rn_val_qp_beside(v, e->object, r->remote_qpn);
	uint32_t qkey = r->qkey & QKEY_CONTROLLED ? e->object->qp.attr.qkey : r->qkey;
	struct rn_val_text name;

	if (r->qkey & QKEY_CONTROLLED)
		rn_val_find(v, e, RN_VAL_ADDRESSING_QKEY_CONTROLLED, e->object,
			    "remote_qkey is %#x", r->qkey);
	if (ah && ah->ah.path.is_to_self && to && to->qp.type == IBV_QPT_UD &&
	    to->qp.mask & IBV_QP_QKEY && to->qp.attr.qkey != qkey)
		rn_val_find2(v, e, RN_VAL_ADDRESSING_WRONG_QKEY, e->object, to,
			     "a message with Q_Key %#x to %s, which has %#x", qkey,
			     rn_val_name(to, &name), to->qp.attr.qkey);
}

static void check_request(struct rn_val *v, const struct rn_val_event *e,
			  const struct rn_val_request *r)
{
	const struct rn_val_object *ah = handle_of(v, r);
	uint32_t mtu = ah && ah->ah.path.mtu ? ah->ah.path.mtu : MTU_MAX;
	uint64_t len = rn_val_length_of(r);

	if (len > mtu)
		rn_val_find(v, e, RN_VAL_ADDRESSING_UD_TOO_LONG, e->object,
			    "a UD message of %llu bytes, and an MTU of %u",
			    (unsigned long long)len, mtu);
	if (!r->ah)
		return;
	if (ah)
		check_handle(v, e, r, ah);
	check_qkey(v, e, r, ah);
	if (r->remote_qpn > QPN_MAX)
		rn_val_find(v, e, RN_VAL_ADDRESSING_QPN_WIDE, e->object,
			    "remote_qpn is %#x", r->remote_qpn);
}

void rn_val_check_addressing(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object;

	if (e->kind == RN_VAL_MAKE && e->make.kind == RN_VAL_AH)
		check_address(v, e, &e->make.ah.attr, &e->make.ah.path);
	if (e->kind == RN_VAL_MODIFY && e->is_done && e->modify.mask & IBV_QP_AV)
		check_modify(v, e);
	if (e->kind == RN_VAL_POST_SEND && !e->is_done && rn_val_is(o, RN_VAL_QP) &&
	    !o->is_gone && o->qp.type == IBV_QPT_UD)
		for (uint32_t i = 0; i < e->post.count; i++)
			check_request(v, e, &e->post.request[i]);
}
