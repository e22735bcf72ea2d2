/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ops.h - the operations of the plugin.
 *
 * While there are fault rules about verbs calls, the contexts of the device have other
 * operations, which ask the rules first and then do the same. Without such rules nothing
 * is asked.
 */
#ifndef RNP_OPS_H
#define RNP_OPS_H

#include "driver_abi.h"

/* All but free_context(), constant; *@count: how many. */
const struct rnp_abi_op *rnp_ops(unsigned *count);

/* Those that fault rules may be about, constant: they ask the rules first. */
const struct rnp_abi_op *rnp_fault_ops(unsigned *count);

#endif /* RNP_OPS_H */
