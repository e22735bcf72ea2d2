/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* portability.c - rules about what other cards do otherwise; see rules/portability.def.
 */
#include "model.h"

enum {
	INLINE_OF_MOST = 96 /* bytes of inline data that bnxt_re takes; irdma takes 101 */
};

void rn_val_check_portability(struct rn_val *v, const struct rn_val_event *e)
{
	if (e->kind == RN_VAL_MAKE && e->make.kind == RN_VAL_QP &&
	    e->make.qp.asked.max_inline_data > INLINE_OF_MOST)
		rn_val_find(v, e, RN_VAL_PORTABILITY_INLINE_LARGE, e->object,
			    "max_inline_data is %u bytes",
			    e->make.qp.asked.max_inline_data);
}
