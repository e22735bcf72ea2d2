/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_objects.c - the transport as the device of a scenario: regions, windows, shared
 * receive queues, multicast groups.
 */
#include <errno.h>
#include <stdlib.h>

#include "virtual_internal.h"

enum {
	KEY = 0x155a, /* of the first region; the others 0x100 further each */
	SRQN = 0x51,  /* of the first SRQ */
};

/* --------------------------------------------------------- regions and windows */
static int make_region(struct rn_virtual *v, unsigned i, uint64_t used)
{
	const struct rn_scn_line *l = &v->s->mr[i].line;
	const struct rn_mr_attr attr = {
		.key = KEY + (i << RN_KEY_INDEX_SHIFT),
		.pd = (uint32_t)rn_scn_get(l, RN_F_PD, RN_VIRTUAL_PD),
		.va = rn_scn_get(l, RN_F_VA, RN_VIRTUAL_BASE + used),
		.length = rn_scn_get(l, RN_F_LEN, 4096),
		.iova_base = RN_VIRTUAL_BASE + used,
		.access = (uint32_t)rn_scn_get(l, RN_F_ACCESS, 0),
	};

	if (attr.length > sizeof(v->memory) - used)
		return -ENOMEM;
	v->offset[i] = used;
	v->length[i] = attr.length;
	for (uint64_t k = 0; k < attr.length; k++)
		v->memory[used + k] = rn_scene_fill(i, k);
	return rn_mr_init(&v->mr[i], &attr);
}

static int make_window(struct rn_virtual *v, unsigned i)
{
	const struct rn_scn_line *l = &v->s->mr[i].line;
	uint64_t type = rn_scn_get(l, RN_F_TYPE, 2);

	if (type != 1 && type != 2)
		return -EINVAL;
	rn_mw_init(&v->mr[i], type == 1 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2,
		   KEY + (i << RN_KEY_INDEX_SHIFT),
		   (uint32_t)rn_scn_get(l, RN_F_PD, RN_VIRTUAL_PD));
	return 0;
}

int rn_virtual_add_region(struct rn_virtual *v, unsigned i, uint64_t *used,
			  struct rn_scene_names *n)
{
	const struct rn_scn_line *l = &v->s->mr[i].line;
	int rc = l->verb == RN_SCN_MW ? make_window(v, i) : make_region(v, i, *used);

	if (-rc != (int)rn_scn_get(l, RN_F_ERROR, 0))
		return rc ? rc : -EPROTO;
	v->gone[i] = true;
	if (rc)
		return 0;
	*used += (v->length[i] + 4095) & ~UINT64_C(4095);
	rn_dev_add_mr(v->dev, &v->mr[i]);
	v->gone[i] = false;
	n->key[i] = v->mr[i].lkey;
	n->va[i] = v->mr[i].va;
	return 0;
}

void rn_virtual_remove_region(struct rn_virtual *v, unsigned i)
{
	if (!v->gone[i])
		rn_dev_remove_mr(v->dev, &v->mr[i]);
	v->gone[i] = true;
}

/* ------------------------------------------------------- shared receive queues */
int rn_virtual_add_srq(struct rn_virtual *v, unsigned i, struct rn_scene_names *n)
{
	const struct rn_scn_line *l = &v->s->srq[i].line;
	const struct rn_srq_init init = {
		.srqn = SRQN + i,
		.pd = (uint32_t)rn_scn_get(l, RN_F_PD, RN_VIRTUAL_PD),
		.max_wr = (uint32_t)rn_scn_get(l, RN_F_RQ, RN_VIRTUAL_WRS),
		.max_sge = 4,
		.xrcd = (uint32_t)rn_scn_get(l, RN_F_XRCD, 0),
		.cq = rn_scn_get(l, RN_F_XRCD, 0) ? &v->cq[1] : NULL,
		.owner = &n->srqn[i],
	};
	size_t size = rn_srq_ring_size(init.max_wr, init.max_sge);
	void *ring = size ? malloc(size) : NULL;
	void *block = ring ? malloc(rn_srq_size()) : NULL;

	if (!block) {
		free(ring);
		return size ? -ENOMEM : -EINVAL;
	}
	v->srq_ring[i] = ring;
	v->srq[i] = rn_srq_create(v->dev, block, ring, &init);
	n->srqn[i] = init.srqn;
	return 0;
}

/* --------------------------------------------------------------------- groups */
int rn_virtual_join(struct rn_virtual *v, unsigned qp, bool join)
{
	struct rn_mcast *m = rn_mcast_find(v->dev, v->qp[qp], &v->names->group);

	if (v->s->qp[qp].type != RN_QPT_UD || join == (m != NULL))
		return -EINVAL;
	if (join)
		rn_mcast_attach(v->dev, &v->mcast[qp], v->qp[qp], &v->names->group);
	else
		rn_mcast_detach(v->dev, m);
	return 0;
}

/* ------------------------------------------------------------------------ end */
void rn_virtual_remove_objects(struct rn_virtual *v)
{
	for (unsigned i = 0; i < RN_SCN_SRQS; i++) {
		if (!v->srq[i])
			continue;
		rn_srq_destroy(v->srq[i]);
		free(v->srq[i]);
		free(v->srq_ring[i]);
		v->srq[i] = NULL;
	}
	/* Windows and regions alike: a region takes the windows on it along. */
	for (unsigned i = 0; i < v->regions; i++)
		rn_virtual_remove_region(v, i);
}
