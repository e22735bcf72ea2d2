/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.c - routes of requests and completions, and names of queues and agents. */
#include "topology.h"
#include "text.h"

static void add_queue(struct rn_route *route, unsigned queue)
{
	assert(route->hops < RN_ROUTE_MAX && queue < RN_QUEUE_COUNT);
	route->queue[route->hops++] = (uint16_t)queue;
}

/* Returns the index of the list that holds the queue of a QP, by a hash of the QP number.
 * QPs of litmus tests, scenarios and unit tests have consecutive numbers. This hash puts
 * consecutive QPs of a NIC, and the first few QPs of different NICs, into different
 * lists.
 */
static unsigned stream_number(unsigned nic, uint32_t stream)
{
	uint32_t hash = (stream ^ stream >> 8) + (nic - RN_AGENT_NIC) * RN_NIC_MAX;

	return hash % RN_STREAM_QUEUES;
}

static bool is_c2c(const struct rn_pcie_knobs *knobs, unsigned agent)
{
	return knobs->gpu_link == RN_GPU_C2C && rn_agent_is_gpu(agent);
}

static void from_cpu(const struct rn_pcie_knobs *knobs, unsigned to,
		     struct rn_route *route)
{
	add_queue(route, (is_c2c(knobs, to) ? RN_QUEUE_C2C : RN_QUEUE_DOWN) + to);
}

static void to_cpu(const struct rn_pcie_knobs *knobs, unsigned from,
		   struct rn_route *route)
{
	if (is_c2c(knobs, from)) {
		add_queue(route, RN_QUEUE_C2C_UP + from);
		return;
	}
	add_queue(route, RN_QUEUE_UP + from);
	add_queue(route, RN_QUEUE_HOST + from);
}

static void to_peer(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
		    struct rn_route *route)
{
	add_queue(route, RN_QUEUE_UP + from);
	if (knobs->p2p == RN_P2P_SPLIT)
		add_queue(route, RN_QUEUE_SPLIT + to * RN_AGENT_COUNT + from);
	else
		add_queue(route, RN_QUEUE_DOWN + to);
}

/* Adds the queues between two agents to @route, for requests and completions alike. */
static void add_queues(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
		       struct rn_route *route)
{
	if (from == RN_AGENT_CPU)
		from_cpu(knobs, to, route);
	else if (to == RN_AGENT_CPU)
		to_cpu(knobs, from, route);
	else
		to_peer(knobs, from, to, route);
}

bool rn_topology_route(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
		       uint32_t stream, struct rn_route *route)
{
	bool peers = from != RN_AGENT_CPU && to != RN_AGENT_CPU;

	assert(from < RN_AGENT_COUNT && to < RN_AGENT_COUNT);
	*route = (struct rn_route){ 0 };
	if (from == to)
		return true;
	if (peers && knobs->p2p == RN_P2P_DENY)
		return false;
	if (knobs->nic_queues == RN_NIC_PERQP && rn_agent_is_nic(from) && stream != 0)
		add_queue(route, RN_QUEUE_STREAM + stream_number(from, stream));
	add_queues(knobs, from, to, route);
	return true;
}

void rn_topology_entry(const struct rn_pcie_knobs *knobs, unsigned nic, uint32_t stream,
		       struct rn_route *route)
{
	const struct rn_route rest = *route;

	if (knobs->place != RN_PLACE_ANY || !rn_agent_is_nic(nic) || rest.hops == 0)
		return;
	route->hops = 0;
	add_queue(route, RN_QUEUE_ENTRY + stream_number(nic, stream));
	for (unsigned i = 0; i < rest.hops; i++)
		add_queue(route, rest.queue[i]);
}

void rn_topology_answer(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
			struct rn_route *route)
{
	assert(from < RN_AGENT_COUNT && to < RN_AGENT_COUNT);
	*route = (struct rn_route){ 0 };
	if (from != to)
		add_queues(knobs, from, to, route);
}

/* ---- Names of queues and agents ---- */

static void add_agent(struct rn_text *t, unsigned agent)
{
	if (agent == RN_AGENT_CPU) {
		rn_text_add(t, "cpu");
	} else if (rn_agent_is_gpu(agent)) {
		rn_text_add(t, "gpu");
		rn_text_number(t, agent - RN_AGENT_GPU);
	} else if (rn_agent_is_nic(agent)) {
		rn_text_add(t, "nic");
		rn_text_number(t, agent - RN_AGENT_NIC);
	} else {
		rn_text_add(t, "nvme");
		rn_text_number(t, agent - RN_AGENT_NVME);
	}
}

/* Kinds of queues whose names contain one number, which is the queue number minus @first.
 */
static const struct {
	unsigned first, count;
	const char *name;
	bool of_agent;
} groups[] = {
	{ RN_QUEUE_UP, RN_AGENT_COUNT, "up:", true },
	{ RN_QUEUE_HOST, RN_AGENT_COUNT, "host<", true },
	{ RN_QUEUE_DOWN, RN_AGENT_COUNT, "dn:", true },
	{ RN_QUEUE_C2C, RN_AGENT_COUNT, "c2c:", true },
	{ RN_QUEUE_C2C_UP, RN_AGENT_COUNT, "c2cup:", true },
	{ RN_QUEUE_STREAM, RN_STREAM_QUEUES, "nq:", false },
	{ RN_QUEUE_ENTRY, RN_STREAM_QUEUES, "cq:", false },
	{ RN_QUEUE_COUNT, RN_AGENT_COUNT, "inside:", true },
};

static void add_group(struct rn_text *t, unsigned queue)
{
	for (unsigned i = 0; i < RN_ARRAY_SIZE(groups); i++) {
		unsigned number = queue - groups[i].first;

		if (queue < groups[i].first || number >= groups[i].count)
			continue;
		rn_text_add(t, groups[i].name);
		if (groups[i].of_agent)
			add_agent(t, number);
		else
			rn_text_number(t, number);
	}
}

const char *rn_queue_name(unsigned queue, char *buf, size_t len)
{
	struct rn_text t;
	unsigned pair = queue - RN_QUEUE_SPLIT;

	assert(queue < RN_LIST_COUNT);
	rn_text_init(&t, buf, len);
	if (queue >= RN_QUEUE_SPLIT && queue < RN_QUEUE_STREAM) {
		rn_text_add(&t, "dn:");
		add_agent(&t, pair / RN_AGENT_COUNT);
		rn_text_add(&t, "<");
		add_agent(&t, pair % RN_AGENT_COUNT);
	} else {
		add_group(&t, queue);
	}
	return buf;
}

const char *rn_agent_name(unsigned agent, char *buf, size_t len)
{
	struct rn_text t;

	assert(agent < RN_AGENT_COUNT);
	rn_text_init(&t, buf, len);
	add_agent(&t, agent);
	return buf;
}
