/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mw.h - memory windows: what BIND_MW and the invalidations do.
 *
 * A window is a struct rn_mr in the key table beside the regions, so that whoever checks
 * a key finds it there.
 *
 *   type 1   bound and bound anew at any time; 0 bytes end the binding; the key opens
 *            memory to all queue pairs of the protection domain
 *   type 2B  free -> bound by BIND_MW -> free by an invalidation; the key opens memory to
 *            the queue pair that bound it, and the binding ends with the queue pair
 *
 * Source: IBTA Vol 1, 10.6.7.2; compliance statements stand at the checks.
 */
#ifndef RN_MW_H
#define RN_MW_H

#include "qp.h"

/* Execute a BIND_MW. Return: RN_WC_SUCCESS, or RN_WC_MW_BIND_ERR with nothing changed. */
enum rn_wc_status rn_mw_bind(struct rn_qp *qp, struct rn_send_wqe *wqe);

/* A LOCAL_INV, or a SEND of the peer, ends the binding of the window of type 2 that has
 * exactly this key. A free one stays free. False, with nothing changed: there is no such
 * window, it is of another protection domain, or bound to another queue pair.
 */
bool rn_mw_invalidate(struct rn_qp *qp, uint32_t key);

/* End the binding of a window, if it has one. */
void rn_mw_unbind(struct rn_mr *mw);

/* End the bindings of all windows to the region. */
void rn_mw_end_all(struct rn_dev *dev, const struct rn_mr *region);

/* End the bindings that the queue pair has made of windows of type 2. */
void rn_mw_forget_qp(struct rn_qp *qp);

#endif /* RN_MW_H */
