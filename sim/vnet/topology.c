/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.c - joins hosts and switches into networks of standard shapes. */
#include "topology.h"

struct tree {
	struct rn_vnet *v;
	uint32_t k, half;
	const struct rn_link_cfg *link;
	uint64_t seed; /* seed of the link direction that is built next */
};

/* The place of a host in the fat tree: pod, edge switch and port. */
struct place {
	uint32_t pod, edge, port;
};

static struct place place_of(const struct tree *t, uint32_t host)
{
	uint32_t nth = (uint32_t)((uint64_t)host * rn_fat_tree_hosts(t->k) / t->v->hosts);
	uint32_t half = t->half, of_pod = half * half;

	assert(half > 0 && of_pod > 0);
	return (struct place){ .pod = nth / of_pod,
			       .edge = nth / half % half,
			       .port = nth % half };
}

static uint32_t edge_node(const struct tree *t, uint32_t pod, uint32_t i)
{
	return RN_VNET_SWITCH | (pod * t->k + i);
}

static uint32_t aggregation_node(const struct tree *t, uint32_t pod, uint32_t i)
{
	return RN_VNET_SWITCH | (pod * t->k + t->half + i);
}

static uint32_t core_node(const struct tree *t, uint32_t i)
{
	return RN_VNET_SWITCH | (t->k * t->k + i);
}

static void join_ports(struct tree *t, uint32_t a, uint32_t port_a, uint32_t b,
		       uint32_t port_b)
{
	const struct rn_vnet_side from = { a, port_a, t->link, t->seed++ };
	const struct rn_vnet_side to = { b, port_b, t->link, t->seed++ };

	rn_vnet_join(t->v, &from, &to);
}

/* Joins the switches of one pod. Ports 0 to k/2 - 1 of an edge or aggregation switch lead
 * down, and the others up; port p of a core switch leads to pod p.
 */
static void join_pod(struct tree *t, uint32_t pod)
{
	for (uint32_t a = 0; a < t->half; a++)
		for (uint32_t i = 0; i < t->half; i++) {
			join_ports(t, edge_node(t, pod, i), t->half + a,
				   aggregation_node(t, pod, a), i);
			join_ports(t, aggregation_node(t, pod, a), t->half + i,
				   core_node(t, a * t->half + i), pod);
		}
}

static void route_in_pod(struct tree *t, uint32_t pod, uint32_t host,
			 const struct place *to)
{
	bool here = pod == to->pod;

	for (uint32_t i = 0; i < t->half; i++) {
		bool at_it = here && i == to->edge;

		rn_vnet_route(t->v, edge_node(t, pod, i), host,
			      at_it ? to->port : t->half, at_it ? 1 : t->half);
		rn_vnet_route(t->v, aggregation_node(t, pod, i), host,
			      here ? to->edge : t->half, here ? 1 : t->half);
	}
}

void rn_vnet_fat_tree(struct rn_vnet *v, uint32_t k, const struct rn_link_cfg *link,
		      uint64_t seed)
{
	struct tree t = { .v = v, .k = k, .half = k / 2, .link = link, .seed = seed };

	assert(k % 2 == 0 && k <= v->cfg.switch_ports &&
	       v->hosts <= rn_fat_tree_hosts(k));
	for (uint32_t i = 0; i < rn_fat_tree_switches(k); i++)
		rn_vnet_add_switch(v);
	for (uint32_t pod = 0; pod < k; pod++)
		join_pod(&t, pod);
	for (uint32_t host = 0; host < v->hosts; host++) {
		const struct place to = place_of(&t, host);

		join_ports(&t, host, 0, edge_node(&t, to.pod, to.edge), to.port);
		for (uint32_t pod = 0; pod < k; pod++)
			route_in_pod(&t, pod, host, &to);
		for (uint32_t i = 0; i < t.half * t.half; i++)
			rn_vnet_route(v, core_node(&t, i), host, to.pod, 1);
	}
}
