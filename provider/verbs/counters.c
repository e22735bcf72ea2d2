/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters.c - counters objects: what flow rules have matched. */
#include <stdlib.h>

#include "flow.h"

struct ibv_counters *rnp_create_counters(struct ibv_context *context,
					 struct ibv_counters_init_attr *attr)
{
	struct rnp_counters *counters;

	if (rnp_is_copy(to_rnp_context(context))) {
		errno = EIO;
		return NULL;
	}
	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return NULL;
	counters->base.context = context;
	return &counters->base;
}

int rnp_destroy_counters(struct ibv_counters *base)
{
	struct rnp_counters *counters = to_rnp_counters(base);
	struct rnp_context *ctx = to_rnp_context(base->context);
	bool busy = false;
	int cancel;

	if (!rnp_is_copy(ctx)) {
		cancel = rnp_enter(ctx->engine);
		busy = counters->flows > 0;
		rnp_leave(ctx->engine, cancel);
	}
	if (busy)
		return EBUSY;
	free(counters);
	return 0;
}

/* Engine lock held. */
static int add_point(struct rnp_counters *counters, struct rnp_counter_point point)
{
	if (counters->flows)
		return EBUSY;
	if (counters->points == RNP_COUNTER_POINTS)
		return ENOMEM;
	counters->point[counters->points++] = point;
	return 0;
}

/* Only ahead of the rule, which names the object in an action: that is how devices do it.
 */
int rnp_attach_counters_point_flow(struct ibv_counters *base,
				   struct ibv_counter_attach_attr *attr,
				   struct ibv_flow *flow)
{
	struct rnp_context *ctx = to_rnp_context(base->context);
	struct rnp_counter_point point = { .desc = attr->counter_desc,
					   .index = attr->index };
	int cancel, rc;

	if (rnp_is_copy(ctx))
		return EIO;
	if (flow || attr->comp_mask ||
	    (attr->counter_desc != IBV_COUNTER_PACKETS &&
	     attr->counter_desc != IBV_COUNTER_BYTES))
		return EOPNOTSUPP;
	if (attr->index >= RNP_COUNTER_POINTS)
		return EINVAL;
	cancel = rnp_enter(ctx->engine);
	rc = add_point(to_rnp_counters(base), point);
	rnp_leave(ctx->engine, cancel);
	return rc;
}

/* Values at indices where nothing is attached are 0. */
int rnp_read_counters(struct ibv_counters *base, uint64_t *values, uint32_t count,
		      uint32_t flags)
{
	struct rnp_counters *counters = to_rnp_counters(base);
	struct rnp_context *ctx = to_rnp_context(base->context);
	int cancel, rc = 0;

	if (rnp_is_copy(ctx))
		return EIO;
	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return EINVAL;
	cancel = rnp_enter(ctx->engine);
	for (unsigned i = 0; i < counters->points; i++)
		if (counters->point[i].index >= count)
			rc = EINVAL;
	for (uint32_t i = 0; i < count && !rc; i++)
		values[i] = 0;
	for (unsigned i = 0; i < counters->points && !rc; i++) {
		const struct rnp_counter_point *p = &counters->point[i];

		values[p->index] += p->desc == IBV_COUNTER_PACKETS
					    ? counters->tally.frames
					    : counters->tally.bytes;
	}
	rnp_leave(ctx->engine, cancel);
	return rc;
}
