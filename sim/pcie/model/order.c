/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* order.c - which TLP may pass which: the ordering table of PCIe, and what the knobs of
 * the model add to it.
 */
#include "order.h"
#include "topology.h"

/* Conditions under which the later of two TLPs may pass the earlier one. */
enum condition {
	ALWAYS,
	IF_RO_OR_ID, /* the later TLP has RO, or has IDO and a different requester ID */
	IF_ID,	     /* the later TLP has IDO and a different requester ID */
	IF_OTHER_TXN,
};

struct cell {
	enum condition may;
	const char *no, *yes;
};

/* PCIe base specification 2.4.1. The row is the later TLP, the column the earlier one.
 * Where the specification says "must be able to" or "may", without a condition, the cell
 * is ALWAYS. Rule A5b is left out, because it concerns only bridges from PCIe to PCI.
 */
/* clang-format off */
static const struct cell table[RN_TLP_KIND_COUNT][RN_TLP_KIND_COUNT] = {
	[RN_TLP_WRITE] = {
		[RN_TLP_WRITE] = { IF_RO_OR_ID,
			"A2a: a write does not pass a write",
			"A2b: a write with RO or another ID passes a write" },
		[RN_TLP_READ] = { ALWAYS, NULL, "A3: a write passes a read" },
		[RN_TLP_ATOMIC] = { ALWAYS, NULL, "A4: a write passes an AtomicOp" },
		[RN_TLP_COMPLETION] = { ALWAYS, NULL, "A5a: a write passes a completion" },
	},
	[RN_TLP_READ] = {
		[RN_TLP_WRITE] = { IF_ID,
			"B2a: a read does not pass a write",
			"B2b: a read with another ID passes a write" },
		[RN_TLP_READ] = { ALWAYS, NULL, "B3: a read passes a read" },
		[RN_TLP_ATOMIC] = { ALWAYS, NULL, "B4: a read passes an AtomicOp" },
		[RN_TLP_COMPLETION] = { ALWAYS, NULL, "B5: a read passes a completion" },
	},
	[RN_TLP_ATOMIC] = {
		[RN_TLP_WRITE] = { IF_RO_OR_ID,
			"C2a: an AtomicOp does not pass a write",
			"C2b: an AtomicOp with RO or another ID passes a write" },
		[RN_TLP_READ] = { ALWAYS, NULL, "C3: an AtomicOp passes a read" },
		[RN_TLP_ATOMIC] = { ALWAYS, NULL, "C4: an AtomicOp passes an AtomicOp" },
		[RN_TLP_COMPLETION] = { ALWAYS, NULL, "C5: an AtomicOp passes a completion" },
	},
	[RN_TLP_COMPLETION] = {
		[RN_TLP_WRITE] = { IF_RO_OR_ID,
			"D2a: a completion does not pass a write",
			"D2b: a completion with RO or another ID passes a write" },
		[RN_TLP_READ] = { ALWAYS, NULL, "D3: a completion passes a read" },
		[RN_TLP_ATOMIC] = { ALWAYS, NULL, "D4: a completion passes an AtomicOp" },
		[RN_TLP_COMPLETION] = { IF_OTHER_TXN,
			"D5b: completions of one transaction keep their order",
			"D5a: a completion passes one of another transaction" },
	},
};
/* clang-format on */

static bool has_ro(const struct rn_tlp *later)
{
	return (later->flags & RN_TLP_RO) != 0;
}

/* Returns true if @later has the attribute IDO and an ID that differs from that of
 * @earlier: the requester ID, or in a completion the completer ID.
 */
static bool has_other_id(const struct rn_tlp *later, const struct rn_tlp *earlier)
{
	return (later->flags & RN_TLP_IDO) && later->requester != earlier->requester;
}

/* Returns true if the two completions belong to different requests: they have different
 * transaction IDs, or different agents get them.
 */
static bool is_other_txn(const struct rn_tlp *later, const struct rn_tlp *earlier)
{
	return later->txn != earlier->txn || later->target != earlier->target;
}

static const struct cell *cell_of(const struct rn_tlp *later,
				  const struct rn_tlp *earlier)
{
	assert(later->kind < RN_TLP_KIND_COUNT && earlier->kind < RN_TLP_KIND_COUNT);
	return &table[later->kind][earlier->kind];
}

bool rn_may_pass(const struct rn_tlp *later, const struct rn_tlp *earlier)
{
	switch (cell_of(later, earlier)->may) {
	case ALWAYS:
		return true;
	case IF_RO_OR_ID:
		return has_ro(later) || has_other_id(later, earlier);
	case IF_ID:
		return has_other_id(later, earlier);
	case IF_OTHER_TXN:
		return is_other_txn(later, earlier);
	}
	assert(!"condition");
	return false;
}

/* ---- Rules that the knobs add ---- */

static bool is_lock(const struct rn_tlp *tlp)
{
	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_LOCK);
}

static bool is_plain_data(const struct rn_tlp *tlp)
{
	const unsigned other = RN_TLP_CQE | RN_TLP_BELL | RN_TLP_LOCK;

	return tlp->kind == RN_TLP_WRITE && (tlp->flags & RN_TLP_DATA) &&
	       !(tlp->flags & other);
}

/* For nic.ooo: returns true if the two writes belong to different packets of RDMA WRITEs
 * of one QP.
 */
static bool is_other_packet(const struct rn_tlp *later, const struct rn_tlp *earlier)
{
	return later->packet != 0 && earlier->packet != 0 &&
	       later->packet != earlier->packet && later->stream == earlier->stream;
}

/* If a knob allows these two payload writes of a NIC to be reordered, returns a text for
 * a report that names the knob and its value. Otherwise returns NULL.
 */
static const char *pass_reason(const struct rn_tlp *later, const struct rn_tlp *earlier,
			       const struct rn_pcie_knobs *knobs)
{
	if (!is_plain_data(later) || !is_plain_data(earlier))
		return NULL;
	if (later->requester != earlier->requester || !rn_tlp_disjoint(later, earlier))
		return NULL;
	if (knobs->place == RN_PLACE_ANY)
		return "place=any: data for different bytes";
	if (knobs->place == RN_PLACE_MSG && later->stream == earlier->stream &&
	    later->msg == earlier->msg)
		return "place=msg: data inside one message";
	if (knobs->ooo && is_other_packet(later, earlier))
		return "nic.ooo: data of different packets of WRITEs";
	return NULL;
}

/* Returns true if the TLPs are in the queues of different QPs. Both queues may be in one
 * list, because a hash of the QP number selects the list.
 */
static bool are_of_two_qps(const struct rn_tlp *a, const struct rn_tlp *b)
{
	return a->route.queue[a->hop] >= RN_QUEUE_STREAM &&
	       (a->requester != b->requester || a->stream != b->stream);
}

bool rn_order_may_pass(const struct rn_tlp *later, const struct rn_tlp *earlier,
		       const struct rn_pcie_knobs *knobs)
{
	if (are_of_two_qps(later, earlier))
		return true;
	if (is_lock(earlier))
		return false;
	return rn_may_pass(later, earlier) || pass_reason(later, earlier, knobs);
}

const char *rn_order_rule(const struct rn_tlp *later, const struct rn_tlp *earlier,
			  const struct rn_pcie_knobs *knobs)
{
	const struct cell *cell = cell_of(later, earlier);
	const char *why = pass_reason(later, earlier, knobs);

	if (are_of_two_qps(later, earlier))
		return "nic.queues=perqp: each QP has a queue of its own";
	if (is_lock(earlier))
		return "V9: nothing passes the write of a NIC atomic";
	if (rn_may_pass(later, earlier))
		return cell->yes;
	return why ? why : cell->no;
}
