/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live_dm.c - memory on NICs (ibv_alloc_dm), which the CPU copies from and to. */
#include <errno.h>
#include <string.h>

#include "live.h"

enum {
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
		 IBV_ACCESS_ZERO_BASED,
};

static bool device_has(struct rn_live *l, const struct rn_live_memory *m)
{
	unsigned nic = rn_live_find_nic(&l->map, m->node, m->agent);
	const struct rn_live_device *d = rn_live_device(l, nic);
	struct ibv_device_attr_ex attr;

	return d && !ibv_query_device_ex(d->ctx, NULL, &attr) &&
	       attr.max_dm_size >= RN_LIVE_DM;
}

bool rn_live_has_dm(struct rn_live *l)
{
	bool ok = true;

	for (unsigned i = 0; i < l->map.memories && !l->request->processes; i++)
		if (rn_agent_is_nic(l->map.memory[i].agent))
			ok = ok && device_has(l, &l->map.memory[i]);
	return ok;
}

int rn_live_take_dm(struct rn_live *l, unsigned nic, unsigned memory)
{
	/* Where a location lies in it can be told from an address of a trace then. */
	struct ibv_alloc_dm_attr attr = { .length = RN_LIVE_DM,
					  .log_align_req = RN_LIVE_DM_LOG };

	l->dm[memory] = ibv_alloc_dm(l->device[nic].ctx, &attr);
	if (!l->dm[memory])
		return rn_live_fail(l, "ibv_alloc_dm: %s", strerror(errno));
	l->shared->address[memory] = 0; /* zero based */
	for (unsigned relaxed = 0; relaxed < 2; relaxed++) {
		unsigned more = (relaxed ? IBV_ACCESS_RELAXED_ORDERING : 0) |
				l->device[nic].flush_access;
		struct ibv_mr *mr = ibv_reg_dm_mr(l->device[nic].pd, l->dm[memory], 0,
						  RN_LIVE_DM, ACCESS | more);

		if (!mr)
			return rn_live_fail(l, "ibv_reg_dm_mr: %s", strerror(errno));
		l->mr[nic][memory][relaxed] = mr;
		l->shared->rkey[nic][memory][relaxed] = mr->rkey;
	}
	return 0;
}

void rn_live_free_dm(struct rn_live *l)
{
	for (unsigned i = 0; i < RN_LIVE_MEMORIES; i++)
		if (l->dm[i])
			ibv_free_dm(l->dm[i]);
	memset(l->dm, 0, sizeof(l->dm));
}

bool rn_live_is_dm(const struct rn_live *l, unsigned loc)
{
	return rn_agent_is_nic(l->map.memory[l->map.place[loc].memory].agent);
}

static struct ibv_dm *dm_of(const struct rn_live *l, unsigned loc)
{
	return l->dm[l->map.place[loc].memory];
}

int64_t rn_live_dm_load(struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];
	int64_t word[RN_LIVE_PAGE / sizeof(int64_t)] = { 0 };

	if (ibv_memcpy_from_dm(word, dm_of(l, loc), p->offset, p->bytes)) {
		rn_live_fail(l, "ibv_memcpy_from_dm: %s", strerror(errno));
		return RN_LIVE_TORN;
	}
	for (uint32_t i = 1; i < p->bytes / sizeof(*word); i++)
		if (word[i] != word[0])
			return RN_LIVE_TORN;
	return word[0];
}

void rn_live_dm_store(struct rn_live *l, unsigned loc, int64_t value)
{
	if (ibv_memcpy_to_dm(dm_of(l, loc), l->map.place[loc].offset, &value,
			     sizeof(value)))
		rn_live_fail(l, "ibv_memcpy_to_dm: %s", strerror(errno));
}

void rn_live_dm_reset(struct rn_live *l, unsigned loc)
{
	const struct rn_live_place *p = &l->map.place[loc];
	uint32_t bytes = p->bytes < l->map.element ? l->map.element : p->bytes;
	int64_t word[RN_LIVE_PAGE / sizeof(int64_t)];

	for (uint32_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = l->test->location[loc].init;
	if (ibv_memcpy_to_dm(dm_of(l, loc), p->offset, word, bytes))
		rn_live_fail(l, "ibv_memcpy_to_dm: %s", strerror(errno));
	(void)rn_live_dm_load(l, loc); /* the copy is posted: this one comes behind it */
}
