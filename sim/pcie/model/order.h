/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* order.h - decides whether a TLP may overtake an earlier one in the same queue. */
#ifndef RN_ORDER_H
#define RN_ORDER_H

#include "rocin/pcie.h"
#include "tlp.h"

/**
 * rn_may_pass() - May @later pass @earlier by the ordering table of PCIe alone?
 * @later:	A TLP behind @earlier in the same queue
 * @earlier:	A TLP of the same queue and the same traffic class
 *
 * PCIe base specification 2.4.1, rules A2 to D5. The model allows all that the standard
 * allows, so this function returns true where the table permits both.
 */
bool rn_may_pass(const struct rn_tlp *later, const struct rn_tlp *earlier);

/* Returns true if @later may pass @earlier, which is before it in a list of a fabric with
 * these knobs. Differs from rn_may_pass() in three ways: the knobs place and nic.ooo let
 * a NIC write data in a freer order (see rocin/pcie.h), nothing may pass the write half
 * of an atomic that a NIC performs itself, and TLPs in queues of different QPs may pass
 * each other even if they share a list.
 */
bool rn_order_may_pass(const struct rn_tlp *later, const struct rn_tlp *earlier,
		       const struct rn_pcie_knobs *knobs);

/* Returns the rule that decides the result of rn_order_may_pass(), as text for a report,
 * such as "A2a: a write does not pass a write".
 */
const char *rn_order_rule(const struct rn_tlp *later, const struct rn_tlp *earlier,
			  const struct rn_pcie_knobs *knobs);

#endif /* RN_ORDER_H */
