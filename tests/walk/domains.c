/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* domains.c - thread, parent and XRC domains, memory on the NIC and windows. */
#include "walk.h"

#include <fcntl.h>

void make_td(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, CTX, NULL) }, *o = NULL;
	struct ibv_td_init_attr attr = { .comp_mask = 0 };

	if (parent[0])
		o = begin(TD, parent[0]->ctx);
	if (o) {
		o->td = ibv_alloc_td(o->ctx, &attr);
		MUST(o->td);
		made(o, parent);
	}
	unpin(parent[0]);
}

void make_parent(struct walker *w)
{
	struct object *pd = pin(w, PD, NULL), *td = NULL, *o = NULL;
	struct ibv_parent_domain_init_attr attr = { .comp_mask = 0 };

	/* A PD itself, for a parent domain is none. */
	if (pd && pd->domain == pd)
		o = begin(PD, pd->ctx);
	if (o) {
		td = chance(w, 50) ? pin(w, TD, pd->ctx) : NULL;
		attr.pd = pd->pd;
		attr.td = td ? td->td : NULL;
		o->domain = pd;
		o->pd = ibv_alloc_parent_domain(o->ctx, &attr);
		MUST(o->pd);
		made(o, (struct object *[PARENTS]){ pd, td });
	}
	unpin(td);
	unpin(pd);
}

void make_xrcd(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, CTX, NULL) }, *o = NULL;
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	if (parent[0])
		o = begin(XRCD, parent[0]->ctx);
	if (o) {
		o->xrcd = ibv_open_xrcd(o->ctx, &attr);
		MUST(o->xrcd);
		made(o, parent);
	}
	unpin(parent[0]);
}

void make_dm(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, CTX, NULL) }, *o = NULL;
	struct ibv_alloc_dm_attr attr = { .length = 1 + below(w, BLOCK_LEN) };

	if (parent[0])
		o = begin(DM, parent[0]->ctx);
	if (o) {
		o->to = (uint32_t)attr.length;
		o->dm = ibv_alloc_dm(o->ctx, &attr);
		MUST(o->dm);
		made(o, parent);
	}
	unpin(parent[0]);
}

static void register_dm(struct walker *w, struct object *dm)
{
	struct object *pd = pin(w, PD, dm->ctx), *o = NULL;
	uint32_t len = 1 + below(w, dm->to);

	if (pd)
		o = begin(MR, pd->ctx);
	if (o) {
		o->from = o->to = 0; /* nothing of its block is written */
		o->va = 0;
		o->on_dm = true;
		o->maybe_bound = false;
		o->domain = pd->domain;
		o->mr = ibv_reg_dm_mr(
			pd->pd, dm->dm, below(w, dm->to - len + 1) & ~3u, len,
			IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_ATOMIC);
		MUST(o->mr);
		made(o, (struct object *[PARENTS]){ pd, dm });
	}
	unpin(pd);
}

void use_dm(struct walker *w)
{
	struct object *dm = pin(w, DM, NULL);
	uint32_t at, len;

	if (!dm)
		return;
	at = below(w, dm->to) & ~3u;
	len = below(w, dm->to - at + 1);
	switch (below(w, 3)) {
	case 0:
		register_dm(w, dm);
		break;
	case 1:
		MAY("ibv_memcpy_to_dm", ibv_memcpy_to_dm(dm->dm, at, w->scratch, len), 0,
		    EINVAL);
		break;
	default:
		MAY("ibv_memcpy_from_dm", ibv_memcpy_from_dm(w->scratch, dm->dm, at, len),
		    0, EINVAL);
		break;
	}
	unpin(dm);
}

void make_mw(struct walker *w)
{
	struct object *parent[PARENTS] = { pin(w, PD, NULL) }, *o = NULL;

	if (parent[0])
		o = begin(MW, parent[0]->ctx);
	if (o) {
		o->mw_type = chance(w, 50) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2;
		o->domain = parent[0]->domain;
		o->mw = ibv_alloc_mw(parent[0]->pd, o->mw_type);
		MUST(o->mw && o->mw->type == o->mw_type);
		o->rkey = o->mw->rkey;
		made(o, parent);
	}
	unpin(parent[0]);
}

/* clang-format off */
void kill_td(struct walker *w) { kill_one(w, TD); }
void kill_xrcd(struct walker *w) { kill_one(w, XRCD); }
void kill_dm(struct walker *w) { kill_one(w, DM); }
void kill_mw(struct walker *w) { kill_one(w, MW); }
/* clang-format on */
