/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* place.c - lays out the locations of a litmus test in memory, and finds out which tests
 * cannot run on devices.
 */
#include <stdio.h>

#include "live.h"

enum {
	HEAD_ALIGN = 256, /* alignment in bytes of the first element of a message */
	SMALLEST_ELEMENT = 64,
};

/* State while rn_live_map() places the locations of a test in memory. */
struct layout {
	const struct rn_litmus_test *t;
	struct rn_live_map *map;
	/* The elements of a message form a list. For each location: the element after it
	 * and the element before it; RN_LITMUS_NONE at the ends of the list.
	 */
	uint8_t next[RN_LITMUS_LOCATIONS], prev[RN_LITMUS_LOCATIONS];
	/* True: the location is the beginning of a page that a DMA engine (simulated
	 * drive) writes.
	 */
	bool is_dma[RN_LITMUS_LOCATIONS];
	uint32_t used[RN_LIVE_MEMORIES];
	char *why;
	size_t why_len;
};

static bool set_reason(struct layout *y, const char *sentence)
{
	snprintf(y->why, y->why_len, "%s", sentence);
	return false;
}

unsigned rn_live_find_nic(const struct rn_live_map *map, unsigned node, unsigned agent)
{
	unsigned i = 0;

	while (i < map->nics && (map->nic[i].node != node || map->nic[i].agent != agent))
		i++;
	return i;
}

static bool add_nic(struct layout *y, unsigned node, unsigned agent)
{
	struct rn_live_map *map = y->map;

	if (rn_live_find_nic(map, node, agent) < map->nics)
		return true;
	if (map->nics == RN_LIVE_NICS)
		return set_reason(y, "needs more NICs than one process has");
	map->nic[map->nics++] = (struct rn_live_nic_name){ .node = (uint8_t)node,
							   .agent = (uint8_t)agent };
	return true;
}

/* Returns the index of the memory of agent @agent on node @node in the map; adds the
 * memory if it is new. Returns RN_LIVE_MEMORIES if there are too many.
 */
static unsigned add_memory(struct rn_live_map *map, unsigned node, unsigned agent)
{
	unsigned i = 0, gpus = 0;

	for (; i < map->memories; i++) {
		if (map->memory[i].node == node && map->memory[i].agent == agent)
			return i;
		gpus += rn_agent_is_gpu(map->memory[i].agent);
	}
	if (i == RN_LIVE_MEMORIES || (rn_agent_is_gpu(agent) && gpus == RN_GPU_MAX))
		return RN_LIVE_MEMORIES;
	map->memory[map->memories++] = (struct rn_live_memory){ .node = (uint8_t)node,
								.agent = (uint8_t)agent,
								.gpu = (uint8_t)gpus };
	return i;
}

static bool add_agents(struct layout *y)
{
	const struct rn_litmus_test *t = y->t;

	for (unsigned i = 0; i < t->qps; i++)
		if (!add_nic(y, t->qp[i].node, t->qp[i].nic) ||
		    !add_nic(y, t->qp[i].peer, t->qp[i].peer_nic))
			return false;
	/* The host memory of each node is needed even without locations, because it
	 * contains the area for inline data. So it is added first.
	 */
	for (unsigned i = 0; i < t->nodes; i++)
		add_memory(y->map, i, RN_AGENT_CPU);
	for (unsigned i = 0; i < t->locations; i++) {
		unsigned agent = t->location[i].agent, memory;

		if (agent >= RN_AGENT_NVME)
			return set_reason(y,
					  "a drive has no memory that others can name");
		if (rn_agent_is_nic(agent) && !add_nic(y, t->location[i].node, agent))
			return false;
		memory = add_memory(y->map, t->location[i].node, agent);
		if (memory == RN_LIVE_MEMORIES)
			return set_reason(y, "needs more memories than one process has");
		y->map->place[i].memory = (uint8_t)memory;
	}
	/* A kernel needs its GPU even if no location is in the memory of that GPU. */
	for (unsigned i = 0; i < t->threads; i++)
		if (rn_agent_is_gpu(t->thread[i].agent) &&
		    add_memory(y->map, t->thread[i].node, t->thread[i].agent) ==
			    RN_LIVE_MEMORIES)
			return set_reason(y, "needs more GPUs than one process has");
	return true;
}

static const char side_by_side[] =
	"one message goes to locations that cannot lie side by side";

static bool chain_locations(struct layout *y, unsigned first, unsigned second)
{
	/* A list of elements must not become a ring: no location can be behind itself. */
	for (unsigned i = second; i != RN_LITMUS_NONE; i = y->next[i])
		if (i == first)
			return set_reason(y, side_by_side);
	if (y->next[first] == second)
		return true;
	if (y->next[first] != RN_LITMUS_NONE || y->prev[second] != RN_LITMUS_NONE ||
	    y->map->place[first].memory != y->map->place[second].memory)
		return set_reason(y, side_by_side);
	y->next[first] = (uint8_t)second;
	y->prev[second] = (uint8_t)first;
	return true;
}

/* Links the remote elements of a message to a list. A request has only one remote
 * address, so the elements must lie one behind the other in memory. Returns false if that
 * is not possible.
 */
static bool chain_elements(struct layout *y, const struct rn_litmus_instr *in)
{
	bool is_write = in->op == RN_LITMUS_WRITE || in->op == RN_LITMUS_IMM;

	if (!is_write && in->op != RN_LITMUS_READ)
		return true;
	for (unsigned i = 0; i + 1 < in->count; i++)
		if (!chain_locations(y, is_write ? in->dst[i] : in->src[i].loc,
				     is_write ? in->dst[i + 1] : in->src[i + 1].loc))
			return false;
	return true;
}

/* Returns true if location @loc is in device memory on a NIC other than @agent. @loc may
 * be RN_LITMUS_NONE.
 */
static bool is_on_other(const struct layout *y, unsigned loc, unsigned agent)
{
	unsigned of = loc == RN_LITMUS_NONE ? RN_AGENT_CPU : y->t->location[loc].agent;

	return rn_agent_is_nic(of) && of != agent;
}

static bool names_location(const struct rn_litmus_instr *in)
{
	return in->op <= RN_LITMUS_MWR ? in->op != RN_LITMUS_MFENCE
				       : in->op == RN_LITMUS_DMA;
}

/* Returns true if the instruction can access its locations on devices. Device memory on a
 * NIC can be accessed through that NIC, and by the CPU with copies.
 */
static bool can_reach(struct layout *y, const struct rn_litmus_thread *thread,
		      const struct rn_litmus_instr *in)
{
	const struct rn_litmus_qp *q = &y->t->qp[in->qp];
	bool is_atomic = rn_litmus_is_atomic(in->op);
	bool is_read = in->op == RN_LITMUS_READ;
	bool is_flush = in->op == RN_LITMUS_FLUSH;
	bool ok = true;

	if (!rn_litmus_is_work(in->op))
		return !names_location(in) ||
		       (thread->agent == RN_AGENT_CPU && in->op != RN_LITMUS_DMA) ||
		       !is_on_other(y, in->loc, RN_AGENT_CPU) ||
		       set_reason(y, "no kernel and no drive can name memory on a NIC");
	if (is_atomic)
		ok = !is_on_other(y, in->loc, q->peer_nic) &&
		     !is_on_other(y, in->dst[0], q->nic);
	for (unsigned i = 0; i < in->count && !is_atomic; i++)
		ok = ok && !is_on_other(y, in->dst[i], is_read ? q->nic : q->peer_nic) &&
		     (is_flush || in->src[i].is_inline ||
		      !is_on_other(y, in->src[i].loc, is_read ? q->peer_nic : q->nic));
	return ok || set_reason(y, "memory on a NIC can be named through that NIC only");
}

/* Returns true if the instruction accesses a location that is longer than a word as if it
 * were one word. Only loads of a CPU from host memory or from device memory of a NIC read
 * all words of a location.
 */
static bool is_cut_short(const struct layout *y, const struct rn_litmus_thread *thread,
			 const struct rn_litmus_instr *in)
{
	const struct rn_litmus_location *l = &y->t->location[in->loc];

	if (in->op > RN_LITMUS_MWR || in->op == RN_LITMUS_MFENCE ||
	    l->size <= sizeof(int64_t))
		return false;
	return in->op == RN_LITMUS_ST || in->op == RN_LITMUS_MWR ||
	       rn_agent_is_gpu(thread->agent) || rn_agent_is_gpu(l->agent);
}

/* Returns true if the instruction stores the address of device memory on a NIC in a WQE,
 * or if its WQE is in such memory: a NIC could not fetch from there.
 */
static bool is_fetched_on_nic(const struct layout *y, const struct rn_litmus_instr *in)
{
	int64_t address = in->value.number;

	if ((in->op == RN_LITMUS_BELL || in->op == RN_LITMUS_RECV) &&
	    is_on_other(y, in->loc, RN_AGENT_CPU))
		return true;
	return (in->op == RN_LITMUS_ST || in->op == RN_LITMUS_BLUE) &&
	       !in->value.is_reg && rn_litmus_is_address(address) &&
	       is_on_other(y, (unsigned)(address - RN_LITMUS_ADDRESS), RN_AGENT_CPU);
}

static bool look_at(struct layout *y, const struct rn_litmus_thread *thread,
		    const struct rn_litmus_instr *in)
{
	if (in->op == RN_LITMUS_DMACQE &&
	    (in == thread->instr || in[-1].op != RN_LITMUS_DMA))
		return set_reason(y, "a drive reports a transfer, once");
	if (is_fetched_on_nic(y, in))
		return set_reason(y, "the address of memory on a NIC, from which it "
				     "would fetch, is not known");
	if (in->op == RN_LITMUS_FLUSH && in->count > 1)
		return set_reason(y, "a FLUSH names one range of memory");
	if (is_cut_short(y, thread, in))
		return set_reason(y, "a store, and a load of a GPU, is of one word");
	if (in->op == RN_LITMUS_DMA)
		y->is_dma[in->loc] = true;
	return can_reach(y, thread, in) && chain_elements(y, in);
}

static bool look_at_program(struct layout *y)
{
	const struct rn_litmus_test *t = y->t;

	for (unsigned i = 0; i < t->threads; i++)
		for (unsigned j = 0; j < t->thread[i].count; j++)
			if (!look_at(y, &t->thread[i], &t->thread[i].instr[j]))
				return false;
	return true;
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

/* Returns how many bytes after a granule boundary the location is placed (a granule is
 * the number of bytes that become visible together). This is the alignment of the
 * location if it is small: the next boundary then divides the location. Otherwise it is
 * 0.
 */
static uint32_t past_granule(const struct layout *y, unsigned loc)
{
	uint32_t align = y->t->location[loc].align;

	return align > 0 && align < SMALLEST_ELEMENT ? align : 0;
}

/* Places the locations of the list that begins with @loc. Returns false if that is not
 * possible.
 */
static bool place_chain(struct layout *y, unsigned loc)
{
	unsigned memory = y->map->place[loc].memory;
	uint32_t align = y->t->location[loc].align, at;
	bool is_chain = y->next[loc] != RN_LITMUS_NONE;

	if (align < HEAD_ALIGN)
		align = HEAD_ALIGN;
	if (y->is_dma[loc] && align < RN_LIVE_PAGE)
		align = RN_LIVE_PAGE;
	at = round_up(y->used[memory], align) + past_granule(y, loc);
	for (; loc != RN_LITMUS_NONE; loc = y->next[loc]) {
		uint32_t size = y->t->location[loc].size;

		if (size == 0)
			size = sizeof(int64_t);
		if (at % SMALLEST_ELEMENT != past_granule(y, loc) % SMALLEST_ELEMENT)
			return set_reason(y, side_by_side);
		if (y->is_dma[loc] && is_chain)
			return set_reason(y, "a drive writes a page, in which no other "
					     "element of a message can lie");
		y->map->place[loc].bytes = size;
		y->map->place[loc].offset = at;
		at += y->is_dma[loc] ? RN_LIVE_PAGE : y->map->element;
	}
	y->used[memory] = at;
	return at <= (rn_agent_is_nic(y->map->memory[memory].agent) ? RN_LIVE_DM
								    : RN_LIVE_STAGE) ||
	       set_reason(y, "its locations need more memory than a test has here");
}

bool rn_live_map(const struct rn_litmus_test *t, uint32_t granule,
		 struct rn_live_map *map, char *why, size_t why_len)
{
	struct layout y = { .t = t, .map = map, .why = why, .why_len = why_len };

	*map = (struct rn_live_map){ .element = granule > SMALLEST_ELEMENT
							? granule
							: SMALLEST_ELEMENT };
	for (unsigned i = 0; i < RN_LITMUS_LOCATIONS; i++)
		y.next[i] = y.prev[i] = RN_LITMUS_NONE;
	for (unsigned i = 0; i < t->locations; i++)
		if (t->location[i].size > map->element)
			map->element = round_up(t->location[i].size, SMALLEST_ELEMENT);
	if (map->element > RN_LIVE_PAGE)
		return set_reason(&y,
				  "its locations need more memory than a test has here");
	if (!add_agents(&y) || !look_at_program(&y))
		return false;
	for (unsigned i = 0; i < t->locations; i++)
		if (y.prev[i] == RN_LITMUS_NONE && !place_chain(&y, i))
			return false;
	return true;
}
