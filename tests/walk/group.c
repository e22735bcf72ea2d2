/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* group.c - UD queue pairs join and leave multicast groups. */
#include "walk.h"

union ibv_gid group_gid(uint32_t i)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, 239, 77, 1 } };

	gid.raw[15] = (uint8_t)(1 + i);
	return gid;
}

/* In the table a membership is a child of the QP: it cannot be destroyed. */
void change_group(struct walker *w)
{
	struct object *o = pin(w, QP, NULL);
	uint32_t i = below(w, GROUPS);
	union ibv_gid gid = group_gid(i);
	int rc;

	if (o && o->type == IBV_QPT_UD) {
		pthread_mutex_lock(&o->post_lock);
		if (chance(w, 60)) {
			rc = ibv_attach_mcast(o->qp, &gid, 0);
			MAY("ibv_attach_mcast", rc, 0);
			o->groups |= 1u << i;
		} else {
			rc = ibv_detach_mcast(o->qp, &gid, 0);
			MAY("ibv_detach_mcast", rc, o->groups & 1u << i ? 0 : EINVAL);
			o->groups &= ~(1u << i);
		}
		pthread_mutex_unlock(&o->post_lock);
	}
	unpin(o);
}

/* The caller has it alone. */
void leave_groups(struct object *o)
{
	for (uint32_t i = 0; i < GROUPS; i++) {
		union ibv_gid gid = group_gid(i);

		if (o->groups & 1u << i)
			MAY("ibv_detach_mcast", ibv_detach_mcast(o->qp, &gid, 0), 0);
	}
	o->groups = 0;
}
