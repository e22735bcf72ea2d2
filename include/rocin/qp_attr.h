/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_attr.h - attributes of a queue pair, for modify and query. */
#ifndef RN_QP_ATTR_H
#define RN_QP_ATTR_H

#include "rocin/qp_types.h"
#include "rocin/work_request.h"

enum {
	/* Largest number of outstanding READ and atomic requests in each direction. 128
	 * is the limit of the kernel's rxe, and the largest value for which 8-bit indices
	 * suffice. NICs have 16 to 128.
	 */
	RN_RD_ATOMIC_MAX = 128,
};

/* The alternate path of a connected QP. */
struct rn_alt_path {
	struct rn_av av;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t timeout; /* local ACK timeout code; used once the QP has migrated */
};

struct rn_qp_attr {
	enum rn_qp_state state, cur_state;
	uint32_t path_mtu; /* bytes */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	uint32_t access; /* RN_ACCESS_* */
	struct rn_av av;
	struct rn_alt_path alt; /* valid with RN_ATTR_ALT_PATH */
	enum rn_mig_state mig_state;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* RNR timer code, IBTA Vol 1 table 45 */
	uint8_t timeout;       /* local ACK timeout code */
	uint8_t retry_cnt, rnr_retry;
	bool en_sqd_async_notify;
	bool sq_draining; /* result of rn_qp_query() only */
};

#endif /* RN_QP_ATTR_H */
