/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mw.h - memory windows of the plugin.
 *
 * Windows of type 2 are of the kind 2B (domain and queue pair): like almost all devices,
 * and a key that leaks to another queue pair opens nothing.
 */
#ifndef RNP_MW_H
#define RNP_MW_H

#include "provider.h"

struct rnp_mw {
	struct ibv_mw base;
	struct rn_mr core;
	LIST_ENTRY(rnp_mw) link; /* engine lock */
};

static inline struct rnp_mw *to_rnp_mw(struct ibv_mw *mw)
{
	return (struct rnp_mw *)mw;
}

struct ibv_mw *rnp_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int rnp_dealloc_mw(struct ibv_mw *base);
/* Type 1. The new key is in @mw->rkey when the request has been posted, and is good from
 * its completion on.
 */
int rnp_bind_mw(struct ibv_qp *base, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* Remove from the device; engine lock held. */
void rnp_mw_detach(struct rnp_mw *mw);

#endif /* RNP_MW_H */
