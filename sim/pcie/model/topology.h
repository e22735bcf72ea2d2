/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.h - the queues between an agent and a memory.
 *
 * Two queues suffice: one (up) that all TLPs share which leave an agent, and one (dn)
 * that all TLPs share which go to a memory. Host memory has one per requester instead,
 * because root ports do not order each other's TLPs. A longer chain of shared queues
 * would behave like these two.
 */
#ifndef RN_TOPOLOGY_H
#define RN_TOPOLOGY_H

#include "rocin/pcie.h"
#include "tlp.h"

enum {
	/* Number of queues for nic.queues=perqp, and of queues for completion entries, in
	 * one hierarchy. A QP's queue is found by a hash, so QPs may share one.
	 */
	RN_STREAM_QUEUES = 64,

	/* Plus the number of the agent that sends. */
	RN_QUEUE_UP = 0,
	/* Plus the number of the requester; leads to host memory. */
	RN_QUEUE_HOST = RN_QUEUE_UP + RN_AGENT_COUNT,
	/* Plus the number of the target agent. */
	RN_QUEUE_DOWN = RN_QUEUE_HOST + RN_AGENT_COUNT,
	/* Plus the number of the GPU; leads from CPU to GPU. */
	RN_QUEUE_C2C = RN_QUEUE_DOWN + RN_AGENT_COUNT,
	/* Plus the number of the GPU; leads from GPU to CPU. */
	RN_QUEUE_C2C_UP = RN_QUEUE_C2C + RN_AGENT_COUNT,
	/* Plus target * RN_AGENT_COUNT + requester; leads through another root port
	 * (rc.p2p=split).
	 */
	RN_QUEUE_SPLIT = RN_QUEUE_C2C_UP + RN_AGENT_COUNT,
	RN_QUEUE_STREAM = RN_QUEUE_SPLIT + RN_AGENT_COUNT * RN_AGENT_COUNT,
	/* Plus the hash of a QP; for completion entries not written yet, see
	 * rn_topology_entry().
	 */
	RN_QUEUE_ENTRY = RN_QUEUE_STREAM + RN_STREAM_QUEUES,
	RN_QUEUE_COUNT = RN_QUEUE_ENTRY + RN_STREAM_QUEUES,
	/* Number of lists: all queues, and one list for the inside of each GPU. */
	RN_LIST_COUNT = RN_QUEUE_COUNT + RN_AGENT_COUNT,
};

/**
 * rn_topology_route() - Find the route of a request
 * @from:	Requester
 * @to:	Target
 * @stream:	QP; matters with nic.queues=perqp only
 * @route:	Out; hops is 0 if the TLP is performed at once (a NIC in its own memory, a
 *	CPU in host memory)
 *
 * Return: false if the knobs allow no route (rc.p2p=deny).
 */
bool rn_topology_route(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
		       uint32_t stream, struct rn_route *route);

/* Puts a queue for completion entries in front of @route. With place=any a NIC writes a
 * completion entry at a time of its own choice, not right after the data: the entry waits
 * in this queue, ordered only behind earlier entries of its QP. Data that the NIC issues
 * while the entry waits goes before the entry, in any order. Does nothing for other
 * knobs, and for a requester @nic that is not a NIC.
 */
void rn_topology_entry(const struct rn_pcie_knobs *knobs, unsigned nic, uint32_t stream,
		       struct rn_route *route);

/* The route of a completion from target @from back to reader @to. Completions do not use
 * the queues of nic.queues=perqp.
 */
void rn_topology_answer(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
			struct rn_route *route);

/* The name of a queue: "up:nic0", "dn:gpu0", "dn:gpu0<nic1", "host<nic0", "c2c:gpu0",
 * "c2cup:gpu0", "nq:3", "cq:3", "inside:gpu0". Returns @buf.
 */
const char *rn_queue_name(unsigned queue, char *buf, size_t len);

/* The name of an agent: "cpu", "gpu0", "nic1", "nvme0". Returns @buf. */
const char *rn_agent_name(unsigned agent, char *buf, size_t len);

#endif /* RN_TOPOLOGY_H */
