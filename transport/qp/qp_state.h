/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_state.h - which modify calls are legal on a queue pair. */
#ifndef RN_QP_STATE_H
#define RN_QP_STATE_H

#include "rocin/qp_types.h"

/**
 * rn_qp_modify_check() - Is this change of state legal with these attributes?
 * @type:	Type of the queue pair
 * @from:	State it is in
 * @to:		State asked for; @from if the call does not contain RN_ATTR_STATE
 * @attrs:	RN_ATTR_* bits that the call contains
 *
 * Judges which attributes are given, not their values: whether RN_ATTR_CUR_STATE names
 * the present state, and whether a draining queue may be modified, is the caller's.
 *
 * Return: 0; -EINVAL if there is no such transition (or type, or state), an attribute
 *	   that it requires is missing, or one is given that is neither required, optional
 *	   nor RN_ATTR_STATE.
 * IBTA Vol 1, QP state transitions; the sets are those of Linux (ib_modify_qp_is_ok), but
 * for RN_ATTR_RATE_LIMIT.
 */
int rn_qp_modify_check(enum rn_qp_type type, enum rn_qp_state from, enum rn_qp_state to,
		       uint32_t attrs);

#endif /* RN_QP_STATE_H */
