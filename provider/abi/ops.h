/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ops.h - the verbs operations of the plugin.
 *
 * While there are fault rules about verbs calls, the contexts of the device use other
 * versions of the operations, which ask the rules first and then do the same.
 */
#ifndef RNP_OPS_H
#define RNP_OPS_H

#include "driver_abi.h"

/* Returns the table of all operations but free_context(). @count: out: entries. */
const struct rnp_abi_op *rnp_ops(unsigned *count);

/* Returns the versions of operations that ask the fault rules first. @count:
 * out: entries.
 */
const struct rnp_abi_op *rnp_fault_ops(unsigned *count);

#endif /* RNP_OPS_H */
