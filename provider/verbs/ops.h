/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ops.h - the operations of the plugin. */
#ifndef RNP_OPS_H
#define RNP_OPS_H

#include "driver_abi.h"

/* All but free_context(), constant; *@count: how many. */
const struct rnp_abi_op *rnp_ops(unsigned *count);

#endif /* RNP_OPS_H */
