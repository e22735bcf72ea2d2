/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* apm.h - automatic path migration: the other path of a connected QP. */
#ifndef RN_APM_H
#define RN_APM_H

#include "rocin/transport.h"

struct rn_packet;

/* Besides attr.alt and attr.mig_state. */
struct rn_apm {
	bool loaded;  /* attr.alt was set since the QP last migrated */
	bool refused; /* PATH_MIG_ERR was raised since the QP was armed */
};

/* Could rn_apm_modify() do what @attr asks for, the QP being in state @to then? */
bool rn_apm_may(const struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask,
		enum rn_qp_state to);
/* RN_ATTR_ALT_PATH, RN_ATTR_PATH_MIG_STATE of a modify call; the state is set, and
 * attr.alt.
 */
void rn_apm_modify(struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask);

/* A packet that came by another path than the QP's: is it a request to migrate to the
 * alternate path?
 */
bool rn_apm_takes(struct rn_qp *qp, const struct rn_packet *p);
/* A packet passed all checks of its headers; it is looked at before anything else is
 * done about it.
 */
void rn_apm_received(struct rn_qp *qp, const struct rn_packet *p);

/* No retry is left. True: the QP has migrated and has as many as at the start. */
bool rn_apm_escape(struct rn_qp *qp);

/* What M is in the packets of @qp. */
bool rn_apm_is_migrated(const struct rn_qp *qp);

/* A packet that came by @in travelled the way of @out, in the other direction. */
bool rn_flow_is_back(const struct rn_flow *in, const struct rn_flow *out);

/* modify.c: attr.av was set or has changed. Nothing of the QP is in flight. */
void rn_qp_set_path(struct rn_qp *qp);

#endif /* RN_APM_H */
