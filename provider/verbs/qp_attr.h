/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_attr.h - attributes of queue pairs between verbs and the core. */
#ifndef RNP_QP_ATTR_H
#define RNP_QP_ATTR_H

#include <infiniband/verbs.h>

struct rn_netdev;
struct rn_qp_attr;

/**
 * rnp_qp_attr_from() - Convert what a program wants to change
 * @dev:	Whose GID table attr->ah_attr refers to
 * @mask:	enum ibv_qp_attr_mask; only fields named there are looked at
 * @out:	Out; undefined on failure
 *
 * Return: 0; -EINVAL: a value that the core has no form for (state, MTU), capabilities;
 *	   what rnp_av_from_attr() returns. rn_qp_modify() judges the rest.
 */
int rnp_qp_attr_from(const struct rn_netdev *dev, const struct ibv_qp_attr *attr,
		     uint32_t mask, struct rn_qp_attr *out);

/* All of @attr but cap, which the core does not know. */
void rnp_qp_attr_to(const struct rn_qp_attr *in, struct ibv_qp_attr *attr);

#endif /* RNP_QP_ATTR_H */
