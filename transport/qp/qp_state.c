/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* qp_state.c - which modify calls are legal on a queue pair.
 *
 * The table is the rule; the code below it only looks rules up. An absent entry
 * (allowed == false) is a refused transition. RTS to SQE is absent: only the device
 * itself makes it. The rate is an attribute where a kernel has it for raw packets, but of
 * the types that are paced here.
 */
#include <errno.h>

#include "qp_state.h"

struct rule {
	bool allowed;
	uint32_t required; /* every one of these attributes must be given */
	uint32_t optional; /* these may be given; any other is refused */
};

enum column {
	RC,
	UC,
	UD,
	GSI,
	XRC_SEND,
	XRC_RECV,
	RAW,
	COLUMN_COUNT
};

#define CS RN_ATTR_CUR_STATE
#define EN RN_ATTR_EN_SQD_ASYNC_NOTIFY
#define AC RN_ATTR_ACCESS_FLAGS
#define PK RN_ATTR_PKEY_INDEX
#define PO RN_ATTR_PORT
#define QK RN_ATTR_QKEY
#define AV RN_ATTR_AV
#define MTU RN_ATTR_PATH_MTU
#define TO RN_ATTR_TIMEOUT
#define RETRY RN_ATTR_RETRY_CNT
#define RNR RN_ATTR_RNR_RETRY
#define RQ RN_ATTR_RQ_PSN
#define MI RN_ATTR_MAX_RD_ATOMIC
#define AL RN_ATTR_ALT_PATH
#define MINRNR RN_ATTR_MIN_RNR_TIMER
#define SQ RN_ATTR_SQ_PSN
#define MD RN_ATTR_MAX_DEST_RD_ATOMIC
#define PM RN_ATTR_PATH_MIG_STATE
#define DQ RN_ATTR_DEST_QPN
#define RATE RN_ATTR_RATE_LIMIT

/* clang-format off */
#define RULE(req, opt) { .allowed = true, .required = (req), .optional = (opt) }
#define ALL(req, opt)                                                                  \
	{ [RC] = RULE(req, opt), [UC] = RULE(req, opt), [UD] = RULE(req, opt),         \
	  [GSI] = RULE(req, opt), [XRC_SEND] = RULE(req, opt), [XRC_RECV] = RULE(req, opt),                \
	  [RAW] = RULE(req, (opt) & ~EN) }
#define TO_RESET [RN_QPS_RESET] = ALL(0, 0)
#define TO_ERR   [RN_QPS_ERR] = ALL(0, 0)

static const struct rule rules[RN_QPS_COUNT][RN_QPS_COUNT][COLUMN_COUNT] = {
	[RN_QPS_RESET] = {
		TO_RESET,
		[RN_QPS_INIT] = {
			/*                required                optional */
			[RC]       = RULE(PK | PO | AC,           0),
			[UC]       = RULE(PK | PO | AC,           0),
			[UD]       = RULE(PK | PO | QK,           0),
			[GSI]      = RULE(PK | QK,                0),
			[XRC_SEND] = RULE(PK | PO | AC,           0),
			[XRC_RECV] = RULE(PK | PO | AC,           0),
			[RAW]      = RULE(PO,                     0),
		},
	},
	[RN_QPS_INIT] = {
		TO_RESET, TO_ERR,
		[RN_QPS_INIT] = {
			[RC]       = RULE(0,                      PK | PO | AC),
			[UC]       = RULE(0,                      PK | PO | AC),
			[UD]       = RULE(0,                      PK | PO | QK),
			[GSI]      = RULE(0,                      PK | QK),
			[XRC_SEND] = RULE(0,                      PK | PO | AC),
			[XRC_RECV] = RULE(0,                      PK | PO | AC),
			[RAW]      = RULE(0,                      0),
		},
		[RN_QPS_RTR] = {
			[RC]       = RULE(AV | MTU | DQ | RQ | MD | MINRNR, AL | AC | PK),
			[UC]       = RULE(AV | MTU | DQ | RQ,     AL | AC | PK),
			[UD]       = RULE(0,                      PK | QK),
			[GSI]      = RULE(0,                      PK | QK),
			[XRC_SEND] = RULE(AV | MTU | DQ | RQ,     AL | AC | PK),
			[XRC_RECV] = RULE(AV | MTU | DQ | RQ | MD | MINRNR, AL | AC | PK),
			[RAW]      = RULE(0,                      0),
		},
	},
	[RN_QPS_RTR] = {
		TO_RESET, TO_ERR,
		[RN_QPS_RTS] = {
			[RC]       = RULE(TO | RETRY | RNR | SQ | MI, CS | AL | AC | MINRNR | PM | RATE),
			[UC]       = RULE(SQ,                     CS | AL | AC | PM | RATE),
			[UD]       = RULE(SQ,                     CS | QK | RATE),
			[GSI]      = RULE(SQ,                     CS | QK),
			[XRC_SEND] = RULE(TO | RETRY | RNR | SQ | MI, CS | AL | AC | PM),
			[XRC_RECV] = RULE(TO | SQ,                CS | AL | AC | MINRNR | PM),
			[RAW]      = RULE(0,                      0),
		},
	},
	[RN_QPS_RTS] = {
		TO_RESET, TO_ERR,
		[RN_QPS_RTS] = {
			[RC]       = RULE(0,                      CS | AC | AL | PM | MINRNR | RATE),
			[UC]       = RULE(0,                      CS | AC | AL | PM | RATE),
			[UD]       = RULE(0,                      CS | QK | RATE),
			[GSI]      = RULE(0,                      CS | QK),
			[XRC_SEND] = RULE(0,                      CS | AC | AL | PM),
			[XRC_RECV] = RULE(0,                      CS | AC | AL | PM | MINRNR),
			[RAW]      = RULE(0,                      0),
		},
		[RN_QPS_SQD] = ALL(0, EN),
	},
	[RN_QPS_SQD] = {
		TO_RESET, TO_ERR,
		[RN_QPS_RTS] = {
			[RC]       = RULE(0,                      CS | AL | AC | MINRNR | PM),
			[UC]       = RULE(0,                      CS | AL | AC | PM),
			[UD]       = RULE(0,                      CS | QK),
			[GSI]      = RULE(0,                      CS | QK),
			[XRC_SEND] = RULE(0,                      CS | AL | AC | PM),
			[XRC_RECV] = RULE(0,                      CS | AL | AC | MINRNR | PM),
			[RAW]      = RULE(0,                      0),
		},
		[RN_QPS_SQD] = {
			[RC]       = RULE(0, PO | AV | TO | RETRY | RNR | MI | MD | AL | AC | PK |
					     MINRNR | PM),
			[UC]       = RULE(0, AV | AL | AC | PK | PM),
			[UD]       = RULE(0, PK | QK),
			[GSI]      = RULE(0, PK | QK),
			[XRC_SEND] = RULE(0, PO | AV | TO | RETRY | RNR | MI | AL | AC | PK | PM),
			[XRC_RECV] = RULE(0, PO | AV | TO | MD | AL | AC | PK | MINRNR | PM),
			[RAW]      = RULE(0, 0),
		},
	},
	[RN_QPS_SQE] = {
		TO_RESET, TO_ERR,
		/* Reliable transports never enter SQE. */
		[RN_QPS_RTS] = {
			[UC]       = RULE(0,                      CS | AC),
			[UD]       = RULE(0,                      CS | QK),
			[GSI]      = RULE(0,                      CS | QK),
			[RAW]      = RULE(0,                      0),
		},
	},
	[RN_QPS_ERR] = { TO_RESET, TO_ERR },
};
/* clang-format on */

static int column_of(enum rn_qp_type type)
{
	switch (type) {
	case RN_QPT_RC:
		return RC;
	case RN_QPT_UC:
		return UC;
	case RN_QPT_UD:
		return UD;
	case RN_QPT_GSI:
		return GSI;
	case RN_QPT_XRC_SEND:
		return XRC_SEND;
	case RN_QPT_XRC_RECV:
		return XRC_RECV;
	case RN_QPT_RAW_PACKET:
		return RAW;
	case RN_QPT_COUNT:
		break;
	}
	return -EINVAL;
}

int rn_qp_modify_check(enum rn_qp_type type, enum rn_qp_state from, enum rn_qp_state to,
		       uint32_t attrs)
{
	int column = column_of(type);
	const struct rule *rule;

	if (column < 0 || (unsigned)from >= RN_QPS_COUNT || (unsigned)to >= RN_QPS_COUNT)
		return -EINVAL;
	rule = &rules[from][to][column];
	if (!rule->allowed)
		return -EINVAL;
	if ((attrs & rule->required) != rule->required)
		return -EINVAL;
	if (attrs & ~(rule->required | rule->optional | RN_ATTR_STATE))
		return -EINVAL;
	return 0;
}

const char *rn_qp_state_name(enum rn_qp_state state)
{
	static const char *const names[] = {
		[RN_QPS_RESET] = "RESET", [RN_QPS_INIT] = "INIT", [RN_QPS_RTR] = "RTR",
		[RN_QPS_RTS] = "RTS",	  [RN_QPS_SQD] = "SQD",	  [RN_QPS_SQE] = "SQE",
		[RN_QPS_ERR] = "ERR",
	};

	static_assert(RN_ARRAY_SIZE(names) == RN_QPS_COUNT, "one name each");
	return (unsigned)state < RN_QPS_COUNT ? names[state] : "?";
}

const char *rn_qp_type_name(enum rn_qp_type type)
{
	static const char *const names[COLUMN_COUNT] = {
		[RC] = "RC",
		[UC] = "UC",
		[UD] = "UD",
		[GSI] = "GSI",
		[XRC_SEND] = "XRC_SEND",
		[XRC_RECV] = "XRC_RECV",
		[RAW] = "RAW_PACKET",
	};
	int column = column_of(type);

	return column < 0 ? "?" : names[column];
}
