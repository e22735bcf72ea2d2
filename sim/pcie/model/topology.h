/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* topology.h - which queues lie between an agent and a memory.
 *
 * Two queues suffice: one that everything leaving an agent shares (up), and one that
 * everything going to a memory shares (dn); host memory has one per requester, because
 * root ports do not order each other. A longer chain of shared queues collapses into
 * these.
 */
#ifndef RN_TOPOLOGY_H
#define RN_TOPOLOGY_H

#include "rocin/pcie.h"
#include "tlp.h"

enum {
	/* Of nic.queues=perqp, and of entries, per host; streams share by hash. */
	RN_STREAM_QUEUES = 64,

	RN_QUEUE_UP = 0,				 /* + agent */
	RN_QUEUE_HOST = RN_QUEUE_UP + RN_AGENT_COUNT,	 /* + requester */
	RN_QUEUE_DOWN = RN_QUEUE_HOST + RN_AGENT_COUNT,	 /* + target */
	RN_QUEUE_C2C = RN_QUEUE_DOWN + RN_AGENT_COUNT,	 /* + GPU: CPU -> GPU */
	RN_QUEUE_C2C_UP = RN_QUEUE_C2C + RN_AGENT_COUNT, /* + GPU: GPU -> CPU */
	/* + target * RN_AGENT_COUNT + requester: through another root port */
	RN_QUEUE_SPLIT = RN_QUEUE_C2C_UP + RN_AGENT_COUNT,
	RN_QUEUE_STREAM = RN_QUEUE_SPLIT + RN_AGENT_COUNT * RN_AGENT_COUNT,
	/* Completion entries that a NIC has yet to write; see rn_topology_entry(). */
	RN_QUEUE_ENTRY = RN_QUEUE_STREAM + RN_STREAM_QUEUES,
	RN_QUEUE_COUNT = RN_QUEUE_ENTRY + RN_STREAM_QUEUES,
	RN_LIST_COUNT = RN_QUEUE_COUNT + RN_AGENT_COUNT, /* and the insides, + GPU */
};

/**
 * rn_topology_route() - Way of a request
 * @from:	Requester
 * @to:		Target
 * @stream:	QP; looked at with nic.queues=perqp only
 * @route:	Out; hops 0: performed at once (a NIC in its own memory, a CPU in host
 *		memory)
 *
 * Return: false if the knobs do not route it (rc.p2p=deny).
 */
bool rn_topology_route(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
		       uint32_t stream, struct rn_route *route);

/* With place=any a NIC writes a completion entry when it likes, not in one step with the
 * data before it: the entry waits at the head of its way, behind earlier ones of its
 * stream only. What is sent meanwhile is before it, and free among itself. @nic: any
 * requester; others than NICs have no such place.
 */
void rn_topology_entry(const struct rn_pcie_knobs *knobs, unsigned nic, uint32_t stream,
		       struct rn_route *route);

/* Way of the completion from target @from back to reader @to. The queues of
 * nic.queues=perqp hold requests only.
 */
void rn_topology_answer(const struct rn_pcie_knobs *knobs, unsigned from, unsigned to,
			struct rn_route *route);

/* "up:nic0", "dn:gpu0", "dn:gpu0<nic1", "host<nic0", "c2c:gpu0", "c2cup:gpu0", "nq:3",
 * "cq:3", "inside:gpu0". Returns @buf.
 */
const char *rn_queue_name(unsigned queue, char *buf, size_t len);

/* "cpu", "gpu0", "nic1", "nvme0". Returns @buf. */
const char *rn_agent_name(unsigned agent, char *buf, size_t len);

#endif /* RN_TOPOLOGY_H */
