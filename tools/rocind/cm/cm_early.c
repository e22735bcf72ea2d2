/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_early.c - see cm_early.h. */
#include <string.h>

#include "cm_early.h"

bool rnd_cm_early_hold(struct rnd_cm_early *e, rn_ns now, const struct rn_cm_rx *rx)
{
	struct rnd_cm_early_req *req = &e->req[e->count];

	if (e->count == RND_CM_EARLY_MAX)
		return false;
	req->until = now + RND_CM_EARLY_FOR;
	req->flow = *rx->flow;
	req->src_qpn = rx->src_qpn;
	memcpy(req->mad, rx->mad, sizeof(req->mad));
	e->count++;
	return true;
}

void rnd_cm_early_take(struct rnd_cm_early *e, unsigned at, struct rnd_cm_early_req *out)
{
	*out = e->req[at];
	e->count--;
	memmove(&e->req[at], &e->req[at + 1], (e->count - at) * sizeof(e->req[0]));
}

rn_ns rnd_cm_early_due(const struct rnd_cm_early *e)
{
	return e->count ? e->req[0].until : RN_NEVER;
}

struct rn_cm_rx rnd_cm_early_rx(const struct rnd_cm_early_req *req)
{
	return (struct rn_cm_rx){
		.flow = &req->flow,
		.src_qpn = req->src_qpn,
		.mad = req->mad,
	};
}
