/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_rdmacm.h - the functions of librdmacm that the agent calls. The agent loads the
 * library when it opens its device, so that it also runs on hosts without the library.
 */
#ifndef RN_AGENT_RDMACM_H
#define RN_AGENT_RDMACM_H

#include <rdma/rdma_cma.h>

/* clang-format off */
/* Calls X(name) for each function; the name is without `rdma_'. */
#define RN_AGENT_RDMACM(X)                                                            \
	X(create_event_channel) X(destroy_event_channel) X(create_id) X(destroy_id)   \
	X(bind_addr) X(listen) X(resolve_addr) X(resolve_route) X(connect) X(accept)  \
	X(establish) X(reject) X(notify) X(disconnect) X(get_cm_event)                \
	X(ack_cm_event) X(init_qp_attr)
/* clang-format on */

struct rn_agent_rdmacm {
#define X(name) __typeof__(&rdma_##name) name; // NOLINT(bugprone-macro-parentheses)
	RN_AGENT_RDMACM(X)
#undef X
};

/* Loads librdmacm. Returns its functions, or NULL if the library does not exist or lacks
 * one of them. Threads: one at a time.
 */
const struct rn_agent_rdmacm *rn_agent_rdmacm(void);

#endif /* RN_AGENT_RDMACM_H */
