/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_types.h - types, states and attributes of queue pairs, with the numbers of verbs. */
#ifndef RN_QP_TYPES_H
#define RN_QP_TYPES_H

#include "rocin/types.h"

/* Numbers of enum ibv_qp_type. GSI, which verbs do not have, has its number in
 * the kernel.
 */
enum rn_qp_type {
	RN_QPT_GSI = 1,
	RN_QPT_RC = 2,
	RN_QPT_UC = 3,
	RN_QPT_UD = 4,
	RN_QPT_RAW_PACKET = 8,
	RN_QPT_XRC_SEND = 9,
	RN_QPT_XRC_RECV = 10,
	RN_QPT_COUNT,
};

/* Numbers of enum ibv_qp_state. */
enum rn_qp_state {
	RN_QPS_RESET,
	RN_QPS_INIT,
	RN_QPS_RTR,
	RN_QPS_RTS,
	RN_QPS_SQD,
	RN_QPS_SQE,
	RN_QPS_ERR,
	RN_QPS_COUNT,
};

/* State of path migration, see transport/qp/modify.c. Numbers of enum ibv_mig_state. */
enum rn_mig_state {
	RN_MIG_MIGRATED,
	RN_MIG_REARM,
	RN_MIG_ARMED, /* only the device sets this state; a program cannot */
};

/* Attributes in a modify call. Numbers of enum ibv_qp_attr_mask. */
#define RN_ATTR_STATE (1u << 0)
#define RN_ATTR_CUR_STATE (1u << 1)
#define RN_ATTR_EN_SQD_ASYNC_NOTIFY (1u << 2)
#define RN_ATTR_ACCESS_FLAGS (1u << 3)
#define RN_ATTR_PKEY_INDEX (1u << 4)
#define RN_ATTR_PORT (1u << 5)
#define RN_ATTR_QKEY (1u << 6)
#define RN_ATTR_AV (1u << 7)
#define RN_ATTR_PATH_MTU (1u << 8)
#define RN_ATTR_TIMEOUT (1u << 9)
#define RN_ATTR_RETRY_CNT (1u << 10)
#define RN_ATTR_RNR_RETRY (1u << 11)
#define RN_ATTR_RQ_PSN (1u << 12)
#define RN_ATTR_MAX_RD_ATOMIC (1u << 13) /* IBV_QP_MAX_QP_RD_ATOMIC */
#define RN_ATTR_ALT_PATH (1u << 14)
#define RN_ATTR_MIN_RNR_TIMER (1u << 15)
#define RN_ATTR_SQ_PSN (1u << 16)
#define RN_ATTR_MAX_DEST_RD_ATOMIC (1u << 17)
#define RN_ATTR_PATH_MIG_STATE (1u << 18)
#define RN_ATTR_CAP (1u << 19)
#define RN_ATTR_DEST_QPN (1u << 20)
#define RN_ATTR_RATE_LIMIT (1u << 25)

/* Return a name for people, such as "RTS" or "RC"; "?" for a number that is not in
 * the enumeration.
 */
const char *rn_qp_state_name(enum rn_qp_state state);
const char *rn_qp_type_name(enum rn_qp_type type);

#endif /* RN_QP_TYPES_H */
