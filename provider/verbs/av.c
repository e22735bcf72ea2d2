/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* av.c - from the address that a program gives to the one that the device uses. */
#include "av.h"

#include <errno.h>
#include <string.h>

enum {
	/* What Linux takes where the program names none (IPDEFTTL). */
	HOP_LIMIT_DEFAULT = 64,
	FLOW_LABEL_MASK = 0xfffff,
	SL_MASK = 0xf,
};

static_assert(sizeof(struct rn_gid) == sizeof(union ibv_gid), "GIDs are copied");

static bool is_unspecified(const struct rn_gid *gid)
{
	static const struct rn_gid zero;
	static const struct rn_gid zero_ipv4 = { .raw = { [10] = 0xff, [11] = 0xff } };

	return !memcmp(gid, &zero, sizeof(zero)) ||
	       !memcmp(gid, &zero_ipv4, sizeof(zero_ipv4));
}

/* As Linux has it (IP_DEFAULT_MULTICAST_TTL): a packet to a group stays on its link. */
static uint8_t default_hop_limit(const struct rn_gid *dgid)
{
	return rn_gid_is_multicast(dgid) ? 1 : HOP_LIMIT_DEFAULT;
}

int rnp_av_from_attr(const struct rn_netdev *dev, const struct ibv_ah_attr *attr,
		     struct rn_av *av)
{
	static const struct rn_gid unused;
	const struct rn_gid *sgid;
	struct rn_gid dgid;

	if (!attr->is_global || attr->port_num != 1)
		return -EINVAL;
	if (attr->grh.sgid_index >= RN_GID_MAX)
		return -EINVAL;
	sgid = &dev->gid[attr->grh.sgid_index];
	if (!memcmp(sgid, &unused, sizeof(unused)))
		return -EINVAL;
	memcpy(&dgid, &attr->grh.dgid, sizeof(dgid));
	if (is_unspecified(&dgid) || rn_gid_is_ipv4(sgid) != rn_gid_is_ipv4(&dgid))
		return -EINVAL;

	*av = (struct rn_av){
		.dgid = dgid,
		.flow_label = attr->grh.flow_label & FLOW_LABEL_MASK,
		.sgid_index = attr->grh.sgid_index,
		.hop_limit = attr->grh.hop_limit ? attr->grh.hop_limit
						 : default_hop_limit(&dgid),
		.tclass = attr->grh.traffic_class,
		.sl = attr->sl & SL_MASK,
	};
	return 0;
}

void rnp_av_to_attr(const struct rn_av *av, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){
		.grh.flow_label = av->flow_label,
		.grh.sgid_index = av->sgid_index,
		.grh.hop_limit = av->hop_limit,
		.grh.traffic_class = av->tclass,
		.sl = av->sl,
		.is_global = 1,
		.port_num = 1,
	};
	memcpy(&attr->grh.dgid, &av->dgid, sizeof(av->dgid));
}
