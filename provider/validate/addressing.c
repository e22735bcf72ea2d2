/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* addressing.c - rules about address handles, GIDs, MTUs and keys; see
 * rules/addressing.def.
 */
#include "model.h"

static void check_address(struct rn_val *v, const struct rn_val_event *e,
			  const struct ibv_ah_attr *a)
{
	if (!a->is_global)
		rn_val_find(v, e, RN_VAL_ADDRESSING_NO_GRH, e->object,
			    "%s() got an address with is_global 0%s", e->verb,
			    a->dlid ? " and a LID, which RoCE does not have" : "");
}

void rn_val_check_addressing(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_MAKE && e->make.kind == RN_VAL_AH)
		check_address(v, e, &e->make.ah.attr);
	if (e->kind == RN_VAL_MODIFY && e->is_done && e->modify.mask & IBV_QP_AV)
		check_address(v, e, &e->modify.attr->ah_attr);
}
