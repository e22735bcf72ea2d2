/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* modify.c - attributes and states of queue pairs, and automatic path migration.
 *
 * A table says which modify calls are legal. A transition without an entry in the table
 * (allowed == false) is refused. RTS to SQE has no entry, because a program cannot ask
 * for it: the device makes this transition after an error. The rate limit is an attribute
 * of all QP types whose sending is paced here; in Linux only raw packet QPs have it.
 *
 *   MIGRATED  The MigReq bit is 1 in all packets that leave, and is ignored in
 *             packets that arrive.
 *   REARM     The program has loaded an alternate path. MigReq is 0. The first
 *             packet with MigReq 0 says that the peer has loaded one, too: the QP is
 *             ARMED.
 *   ARMED     MigReq is 0. The QP changes to the alternate path when the program modifies
 *             it to MIGRATED, when no retry is left, or when a packet with MigReq 1
 *             arrives by that path. The QP is then MIGRATED and raises PATH_MIG.
 *
 * A packet with MigReq 1 that arrives by the primary path was sent before the peer
 * migrated and overtaken by newer packets, and is accepted. A packet that arrives by
 * neither path is dropped, because this end does not know that path; the first of them
 * raises PATH_MIG_ERR.
 *
 * Source: IBTA Vol 1, 17.2.8.
 */
#include <errno.h>
#include <string.h>

#include "requester.h"

/* -------------------------------------------------------- legal modify calls */
struct transition {
	bool allowed;
	uint32_t required; /* attributes that must all be given */
	uint32_t optional; /* attributes that may be given; all others are refused */
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

static const struct transition transitions[RN_QPS_COUNT][RN_QPS_COUNT][COLUMN_COUNT] = {
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
	const struct transition *rule;

	if (column < 0 || (unsigned)from >= RN_QPS_COUNT || (unsigned)to >= RN_QPS_COUNT)
		return -EINVAL;
	rule = &transitions[from][to][column];
	if (!rule->allowed)
		return -EINVAL;
	if ((attrs & rule->required) != rule->required)
		return -EINVAL;
	if (attrs & ~(rule->required | rule->optional | RN_ATTR_STATE))
		return -EINVAL;
	return 0;
}

uint32_t rn_qp_required(enum rn_qp_type type, enum rn_qp_state to)
{
	int column = column_of(type);

	assert(column >= 0 && to >= RN_QPS_INIT && to <= RN_QPS_RTS);
	return RN_ATTR_STATE | transitions[to - 1][to][column].required;
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

/* ------------------------------------------------------- checks of attribute values */
enum {
	TIMER_CODE_MAX = 31,
	RETRY_MAX = 7,
};

/* One attribute of a QP: its bit in the mask of a modify call, the function that checks
 * its value, and the member of rn_qp.attr to which the value is copied.
 */
struct attr_rule {
	uint32_t bit;
	bool (*in_range)(const struct rn_dev *dev, const struct rn_qp_attr *a);
	/* Offset and size of the member; size 0: the value is not copied. */
	size_t offset, size;
};

static bool any_value(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	(void)a;
	return true;
}

static bool port_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->port_num == 1;
}

static bool pkey_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->pkey_index == 0;
}

static bool is_path(const struct rn_dev *dev, const struct rn_av *av)
{
	struct rn_flow flow;

	return rn_qp_flow(dev, av, &flow) &&
	       rn_gid_is_ipv4(&flow.src) == rn_gid_is_ipv4(&flow.dst);
}

static bool av_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	return is_path(dev, &a->av);
}

static bool alt_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	return is_path(dev, &a->alt.av) && a->alt.port_num == 1 &&
	       a->alt.pkey_index == 0 && a->alt.timeout <= TIMER_CODE_MAX;
}

static bool mtu_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	uint32_t mtu = a->path_mtu;

	return mtu >= 256 && mtu <= dev->cfg.mtu_max && (mtu & (mtu - 1)) == 0;
}

static bool timeout_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->timeout <= TIMER_CODE_MAX;
}

static bool rnr_timer_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->min_rnr_timer <= TIMER_CODE_MAX;
}

static bool retry_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->retry_cnt <= RETRY_MAX;
}

static bool rnr_retry_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->rnr_retry <= RETRY_MAX;
}

static bool rd_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->max_rd_atomic <= RN_RD_ATOMIC_MAX;
}

static bool dest_rd_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->max_dest_rd_atomic <= RN_RD_ATOMIC_MAX;
}

static bool rq_psn_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->rq_psn <= RN_PSN_MASK;
}

static bool sq_psn_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->sq_psn <= RN_PSN_MASK;
}

static bool dest_qpn_in_range(const struct rn_dev *dev, const struct rn_qp_attr *a)
{
	(void)dev;
	return a->dest_qpn <= RN_QPN_MASK;
}

#define FIELD(name) \
	offsetof(struct rn_qp_attr, name), sizeof(((struct rn_qp_attr *)0)->name)

/* clang-format off */
static const struct attr_rule attr_rules[] = {
	{ RN_ATTR_EN_SQD_ASYNC_NOTIFY, any_value,          FIELD(en_sqd_async_notify) },
	{ RN_ATTR_ACCESS_FLAGS,        any_value,          FIELD(access) },
	{ RN_ATTR_PKEY_INDEX,          pkey_in_range,      FIELD(pkey_index) },
	{ RN_ATTR_PORT,                port_in_range,      FIELD(port_num) },
	{ RN_ATTR_QKEY,                any_value,          FIELD(qkey) },
	{ RN_ATTR_AV,                  av_in_range,        FIELD(av) },
	{ RN_ATTR_PATH_MTU,            mtu_in_range,       FIELD(path_mtu) },
	{ RN_ATTR_TIMEOUT,             timeout_in_range,   FIELD(timeout) },
	{ RN_ATTR_RETRY_CNT,           retry_in_range,     FIELD(retry_cnt) },
	{ RN_ATTR_RNR_RETRY,           rnr_retry_in_range, FIELD(rnr_retry) },
	{ RN_ATTR_RQ_PSN,              rq_psn_in_range,    FIELD(rq_psn) },
	{ RN_ATTR_MAX_RD_ATOMIC,       rd_in_range,        FIELD(max_rd_atomic) },
	{ RN_ATTR_MIN_RNR_TIMER,       rnr_timer_in_range, FIELD(min_rnr_timer) },
	{ RN_ATTR_SQ_PSN,              sq_psn_in_range,    FIELD(sq_psn) },
	{ RN_ATTR_MAX_DEST_RD_ATOMIC,  dest_rd_in_range,   FIELD(max_dest_rd_atomic) },
	{ RN_ATTR_DEST_QPN,            dest_qpn_in_range,  FIELD(dest_qpn) },
	{ RN_ATTR_ALT_PATH,            alt_in_range,       FIELD(alt) },
};
/* clang-format on */

static bool values_in_range(const struct rn_dev *dev, const struct rn_qp_attr *attr,
			    uint32_t mask)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(attr_rules); i++)
		if ((mask & attr_rules[i].bit) && !attr_rules[i].in_range(dev, attr))
			return false;
	return true;
}

static void take_values(struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(attr_rules); i++)
		if (mask & attr_rules[i].bit)
			memcpy((uint8_t *)&qp->attr + attr_rules[i].offset,
			       (const uint8_t *)attr + attr_rules[i].offset,
			       attr_rules[i].size);
}

/* ------------------------------------------------------------- path migration */
static bool is_connected(const struct rn_qp *qp)
{
	return qp->type != RN_QPT_UD && qp->type != RN_QPT_RAW_PACKET;
}

static void set_path(struct rn_qp *qp)
{
	if (!is_connected(qp))
		return;
	rn_qp_flow(qp->dev, &qp->attr.av, &qp->flow);
	if (qp->stats) {
		qp->stats->dest_qpn = qp->attr.dest_qpn;
		qp->stats->dest_gid = qp->attr.av.dgid;
	}
	if (rn_qp_is_reliable(qp)) {
		rn_window_leave(qp);
		rn_window_join(qp);
	}
}

/* Makes the alternate path the primary one. Packets that were sent by the old path and
 * are not acknowledged will be sent again.
 */
static void migrate(struct rn_qp *qp)
{
	assert(qp->attr.mig_state == RN_MIG_ARMED);
	qp->attr.av = qp->attr.alt.av;
	qp->attr.timeout = qp->attr.alt.timeout;
	qp->attr.mig_state = RN_MIG_MIGRATED;
	qp->apm.loaded = false;
	if (rn_qp_is_reliable(qp)) {
		rn_req_go_back(qp);
		qp->req.retry_left = qp->attr.retry_cnt;
		rn_dev_arm_timer(qp->dev, qp);
	}
	set_path(qp);
	rn_event_raise(qp, RN_EVENT_PATH_MIG);
}

static bool migration_is_legal(const struct rn_qp *qp, const struct rn_qp_attr *attr,
			       uint32_t mask, enum rn_qp_state to)
{
	enum rn_mig_state from = qp->attr.mig_state;

	if (!(mask & RN_ATTR_PATH_MIG_STATE))
		return true;
	switch (attr->mig_state) {
	case RN_MIG_MIGRATED:
		return from != RN_MIG_REARM;
	case RN_MIG_REARM:
		return from != RN_MIG_ARMED && to == RN_QPS_RTS &&
		       (qp->apm.loaded || mask & RN_ATTR_ALT_PATH);
	case RN_MIG_ARMED:
		break;
	}
	return false;
}

static void modify_migration(struct rn_qp *qp, const struct rn_qp_attr *attr,
			     uint32_t mask)
{
	if (mask & RN_ATTR_ALT_PATH)
		qp->apm.loaded = true;
	if (!(mask & RN_ATTR_PATH_MIG_STATE))
		return;
	if (attr->mig_state == RN_MIG_REARM)
		qp->attr.mig_state = RN_MIG_REARM;
	else if (qp->attr.mig_state == RN_MIG_ARMED)
		migrate(qp);
}

static bool asks_to_migrate(const struct rn_qp *qp, const struct rn_packet *p)
{
	struct rn_flow alt;

	return qp->attr.mig_state == RN_MIG_ARMED && p->bth.migreq &&
	       rn_qp_flow(qp->dev, &qp->attr.alt.av, &alt) &&
	       rn_flow_is_back(p->flow, &alt);
}

bool rn_apm_takes(struct rn_qp *qp, const struct rn_packet *p)
{
	if (asks_to_migrate(qp, p))
		return true;
	if (qp->attr.mig_state == RN_MIG_ARMED && p->bth.migreq && !qp->apm.refused) {
		qp->apm.refused = true;
		rn_event_raise(qp, RN_EVENT_PATH_MIG_ERR);
	}
	return false;
}

void rn_apm_received(struct rn_qp *qp, const struct rn_packet *p)
{
	if (asks_to_migrate(qp, p)) {
		migrate(qp);
	} else if (qp->attr.mig_state == RN_MIG_REARM && !p->bth.migreq) {
		qp->attr.mig_state = RN_MIG_ARMED;
		qp->apm.refused = false;
	}
}

bool rn_apm_escape(struct rn_qp *qp)
{
	if (qp->attr.mig_state != RN_MIG_ARMED)
		return false;
	migrate(qp);
	return true;
}

/* ----------------------------------------------------------- modify and query */
static void enter_rts(struct rn_qp *qp, rn_ns now, enum rn_qp_state from)
{
	qp->state = RN_QPS_RTS;
	if (from == RN_QPS_RTR)
		rn_req_rts(qp, now);
	qp->req.draining = false;
	qp->req.drained_event = false;
	rn_dev_schedule(qp->dev, qp);
}

static void enter_sqd(struct rn_qp *qp, rn_ns now, enum rn_qp_state from)
{
	qp->state = RN_QPS_SQD;
	if (from == RN_QPS_RTS)
		rn_req_sqd(qp, now);
}

static void enter_state(struct rn_qp *qp, rn_ns now, enum rn_qp_state from,
			enum rn_qp_state to)
{
	switch (to) {
	case RN_QPS_RESET:
		rn_qp_reset(qp);
		break;
	case RN_QPS_RTR:
		qp->state = to;
		set_path(qp);
		rn_rsp_rtr(qp);
		break;
	case RN_QPS_RTS:
		enter_rts(qp, now, from);
		break;
	case RN_QPS_SQD:
		enter_sqd(qp, now, from);
		break;
	case RN_QPS_ERR:
		rn_qp_error(qp, now);
		break;
	case RN_QPS_INIT:
	case RN_QPS_SQE:
		qp->state = to;
		break;
	case RN_QPS_COUNT:
		assert(false);
	}
}

static int check_modify(const struct rn_qp *qp, const struct rn_qp_attr *attr,
			uint32_t mask)
{
	enum rn_qp_state to = mask & RN_ATTR_STATE ? attr->state : qp->state;
	bool leaves_or_changes_sqd = to == RN_QPS_RTS || to == RN_QPS_SQD;
	int rc;

	if ((mask & RN_ATTR_CUR_STATE) && attr->cur_state != qp->state)
		return -EINVAL;
	rc = rn_qp_modify_check(qp->type, qp->state, to, mask);
	if (rc)
		return rc;
	if (qp->state == RN_QPS_SQD && qp->req.draining && leaves_or_changes_sqd)
		return -EINVAL;
	if (!migration_is_legal(qp, attr, mask, to))
		return -EINVAL;
	return values_in_range(qp->dev, attr, mask) ? 0 : -EINVAL;
}

static bool has_room(const struct rn_qp *qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	return (!(mask & RN_ATTR_MAX_DEST_RD_ATOMIC) ||
		attr->max_dest_rd_atomic <= qp->rsp.res_room) &&
	       (!(mask & RN_ATTR_MAX_RD_ATOMIC) ||
		attr->max_rd_atomic <= qp->req.rd_room);
}

static int modify_qp(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		     const struct rn_qp_attr *attr, uint32_t mask)
{
	enum rn_qp_state from = qp->state;
	enum rn_qp_state to = mask & RN_ATTR_STATE ? attr->state : from;
	int rc = check_modify(qp, attr, mask);

	if (rc)
		return rc;
	if (!has_room(qp, attr, mask))
		return -ENOMEM;
	take_values(qp, attr, mask);
	if (from != to)
		enter_state(qp, now, from, to);
	else if (mask & RN_ATTR_AV)
		set_path(qp);
	modify_migration(qp, attr, mask);
	rn_dev_settle(dev, now);
	rn_qp_publish(qp);
	return 0;
}

int rn_qp_modify(struct rn_dev *dev, struct rn_qp *qp, rn_ns now,
		 const struct rn_qp_attr *attr, uint32_t mask)
{
	RN_SHOW_CALL(dev, .kind = RN_CALL_QP_MODIFY, .object = qp, .now = now,
		     .u.modify = { attr, mask });

	return RN_SHOW_RESULT(modify_qp(dev, qp, now, attr, mask));
}

uint32_t rn_qp_msn(const struct rn_qp *qp)
{
	return qp->rsp.msn;
}

uint32_t rn_qp_first_psn(const struct rn_qp *qp, bool of_peer)
{
	return of_peer ? qp->attr.rq_psn : qp->attr.sq_psn;
}

void rn_qp_query(const struct rn_qp *qp, struct rn_qp_attr *attr)
{
	*attr = qp->attr;
	attr->state = qp->state;
	attr->cur_state = qp->state;
	attr->sq_draining = qp->req.draining;
	if (qp->state >= RN_QPS_RTR)
		attr->rq_psn = qp->rsp.exp_psn.v;
	if (qp->state >= RN_QPS_RTS)
		attr->sq_psn = qp->req.next_psn.v;
}
