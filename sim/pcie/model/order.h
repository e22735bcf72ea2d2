/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* order.h - may a TLP overtake an earlier one in the same queue? */
#ifndef RN_ORDER_H
#define RN_ORDER_H

#include "rocin/pcie.h"
#include "tlp.h"

/**
 * rn_may_pass() - The ordering table
 * @later:	Behind ...
 * @earlier:	... this one, in the same queue, of the same traffic class
 *
 * PCIe base specification 2.4.1, rules A2 to D5. Where the table says "may", the answer
 * is true: the model allows all that the standard allows.
 */
bool rn_may_pass(const struct rn_tlp *later, const struct rn_tlp *earlier);

/* The same with what the knobs add: data of a NIC that may be placed more freely (place
 * and nic.ooo, see rocin/pcie.h), and the write half of a NIC atomic, which nothing
 * overtakes.
 */
bool rn_order_may_pass(const struct rn_tlp *later, const struct rn_tlp *earlier,
		       const struct rn_pcie_knobs *knobs);

/* Name of the rule that decided, for people: "A2a: a write does not pass a write". */
const char *rn_order_rule(const struct rn_tlp *later, const struct rn_tlp *earlier,
			  const struct rn_pcie_knobs *knobs);

#endif /* RN_ORDER_H */
