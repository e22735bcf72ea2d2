/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.h - the queues between an agent and a memory.
 *
 * Two queues on a route suffice to model all orders that PCIe allows: one (up) for all
 * TLPs that leave an agent, and one (dn) for all TLPs that go to the memory of an agent.
 * Host memory has one per requester instead, because root ports do not order each other's
 * TLPs. A longer chain of shared queues would behave like these two.
 */
#ifndef RN_TOPOLOGY_H
#define RN_TOPOLOGY_H

#include "rocin/pcie.h"
#include "tlp.h"

enum {
	/* Number of lists that hold the queues of QPs (knob nic.queues=perqp). As many
	 * lists hold the queues of completion entries. A hash of the QP number selects
	 * the list. TLPs of different QPs in one list may pass each other, see
	 * rn_order_may_pass().
	 */
	RN_STREAM_QUEUES = 64,

	/* This constant and the following ones are the numbers of the first queue of each
	 * kind.
	 *
	 * RN_QUEUE_UP + agent number of the sender: queue of all TLPs that leave this
	 * agent.
	 */
	RN_QUEUE_UP = 0,
	/* RN_QUEUE_HOST + agent number of the requester: queue from this requester to
	 * host memory.
	 */
	RN_QUEUE_HOST = RN_QUEUE_UP + RN_AGENT_COUNT,
	/* RN_QUEUE_DOWN + agent number of the target: queue of all TLPs to the memory of
	 * this agent.
	 */
	RN_QUEUE_DOWN = RN_QUEUE_HOST + RN_AGENT_COUNT,
	/* RN_QUEUE_C2C + agent number of the GPU: queue from the CPU to this GPU with
	 * gpu.link=c2c.
	 */
	RN_QUEUE_C2C = RN_QUEUE_DOWN + RN_AGENT_COUNT,
	/* RN_QUEUE_C2C_UP + agent number of the GPU: queue from this GPU to the CPU with
	 * gpu.link=c2c.
	 */
	RN_QUEUE_C2C_UP = RN_QUEUE_C2C + RN_AGENT_COUNT,
	/* RN_QUEUE_SPLIT + target * RN_AGENT_COUNT + requester: queue through another
	 * root port, used with rc.p2p=split.
	 */
	RN_QUEUE_SPLIT = RN_QUEUE_C2C_UP + RN_AGENT_COUNT,
	/* RN_QUEUE_STREAM + hash of the QP: the QP's queue at its NIC, used with
	 * nic.queues=perqp.
	 */
	RN_QUEUE_STREAM = RN_QUEUE_SPLIT + RN_AGENT_COUNT * RN_AGENT_COUNT,
	/* RN_QUEUE_ENTRY + hash of the QP: the QP's completion entries that are not
	 * written yet, see rn_topology_entry().
	 */
	RN_QUEUE_ENTRY = RN_QUEUE_STREAM + RN_STREAM_QUEUES,
	RN_QUEUE_COUNT = RN_QUEUE_ENTRY + RN_STREAM_QUEUES,
	/* Number of lists: one for each queue, then one for each agent number. Of the
	 * lists of agents only those of GPUs are used: writes that have reached the GPU
	 * and are not visible there yet (RN_TLP_INSIDE).
	 */
	RN_LIST_COUNT = RN_QUEUE_COUNT + RN_AGENT_COUNT,
};

/**
 * rn_topology_route() - Find the route of a request
 * @from:	Requester
 * @to:	Target
 * @stream:	number of the QP; used with nic.queues=perqp only
 * @route:	Out; hops is 0 if the TLP is performed at once (a NIC in its own memory, a
 *	CPU in host memory)
 *
 * Return: false if the knobs allow no route (rc.p2p=deny).
 */
bool rn_topology_route(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
		       uint32_t stream, struct rn_route *route);

/* Puts a queue for CQEs in front of *@route, if the knob is place=any and the agent @nic
 * is a NIC; otherwise does nothing. With place=any a NIC writes a CQE at a time of its
 * own choice, not right after the data. So the CQE waits in this queue, in which only
 * earlier CQEs of its QP are in front of it, and data that the NIC issues meanwhile goes
 * before it.
 */
void rn_topology_entry(const struct rn_pcie_knobs *knobs, unsigned nic, uint32_t stream,
		       struct rn_route *route);

/* Finds the route of a completion from the target @from back to the reader @to.
 * Completions do not use the queues of nic.queues=perqp.
 */
void rn_topology_answer(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
			struct rn_route *route);

/* Writes the name of a queue to @buf: "up:nic0", "dn:gpu0", "dn:gpu0<nic1", "host<nic0",
 * "c2c:gpu0", "c2cup:gpu0", "nq:3", "cq:3", "inside:gpu0". Returns @buf.
 */
const char *rn_queue_name(unsigned queue, char *buf, size_t len);

/* Writes the name of an agent to @buf: "cpu", "gpu0", "nic1", "nvme0". Returns @buf. */
const char *rn_agent_name(unsigned agent, char *buf, size_t len);

#endif /* RN_TOPOLOGY_H */
