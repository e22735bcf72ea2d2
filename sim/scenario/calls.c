/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls.c - fills in the arguments of verbs for those lines of a scenario that stand for
 * calls of the program.
 */
#include "calls.h"

#include "rocin/opcode.h"
#include "rocin/queue_pair.h"
#include "rocin/wire.h"
#include "scenario.h"

enum {
	/* Unless the line says otherwise, receive N gets the memory at offset (N - 1) *
	 * RECV_ROOM of region r.
	 */
	RECV_ROOM = 4096,
};

static const struct {
	enum rn_scn_field field;
	uint32_t mask;
} attribute[] = {
	{ RN_F_STATE, RN_ATTR_STATE },
	{ RN_F_MTU, RN_ATTR_PATH_MTU },
	{ RN_F_QKEY, RN_ATTR_QKEY },
	{ RN_F_EPSN, RN_ATTR_RQ_PSN },
	{ RN_F_PSN, RN_ATTR_SQ_PSN },
	{ RN_F_TIMEOUT, RN_ATTR_TIMEOUT },
	{ RN_F_RETRY, RN_ATTR_RETRY_CNT },
	{ RN_F_RNR_RETRY, RN_ATTR_RNR_RETRY },
	{ RN_F_RNR_TIMER, RN_ATTR_MIN_RNR_TIMER },
	{ RN_F_RD, RN_ATTR_MAX_RD_ATOMIC },
	{ RN_F_DEST_RD, RN_ATTR_MAX_DEST_RD_ATOMIC },
	{ RN_F_ACCESS, RN_ATTR_ACCESS_FLAGS },
	{ RN_F_CUR, RN_ATTR_CUR_STATE },
	{ RN_F_ALT, RN_ATTR_ALT_PATH },
	{ RN_F_MIG, RN_ATTR_PATH_MIG_STATE },
	{ RN_F_DRAIN_EVENT, RN_ATTR_EN_SQD_ASYNC_NOTIFY },
};

uint8_t rn_scene_timeout(const struct rn_scene_names *n, const struct rn_scn_line *l)
{
	uint32_t code = rn_scn_get(l, RN_F_TIMEOUT, 14) & 31;

	if (code)
		code += n->slower;
	return (uint8_t)(code < 31 ? code : 31);
}

static struct rn_alt_path alternate(const struct rn_scene_names *n,
				    const struct rn_scn_line *l)
{
	return (struct rn_alt_path){
		.av.dgid = rn_scn_get(l, RN_F_ALT, RN_SCN_PEER) == RN_SCN_OTHER ? n->other
										: n->peer,
		.av.hop_limit = 64,
		.port_num = 1,
		.timeout = rn_scene_timeout(n, l),
	};
}

struct rn_qp_attr rn_scene_attr(const struct rn_scene_names *n,
				const struct rn_scn_line *l)
{
	return (struct rn_qp_attr){
		.state = (enum rn_qp_state)rn_scn_get(l, RN_F_STATE, RN_QPS_RESET),
		.cur_state = (enum rn_qp_state)rn_scn_get(l, RN_F_CUR, RN_QPS_RESET),
		.path_mtu = (uint32_t)rn_scn_get(l, RN_F_MTU, 1024),
		.qkey = (uint32_t)rn_scn_get(l, RN_F_QKEY, 0),
		.rq_psn = (uint32_t)rn_scn_get(l, RN_F_EPSN, 0),
		.sq_psn = (uint32_t)rn_scn_get(l, RN_F_PSN, 0),
		.dest_qpn = n->peer_qpn,
		.access = (uint32_t)rn_scn_get(l, RN_F_ACCESS, 0),
		.av = { .dgid = n->peer, .hop_limit = 64 },
		.alt = alternate(n, l),
		.mig_state = (enum rn_mig_state)rn_scn_get(l, RN_F_MIG, RN_MIG_MIGRATED),
		.port_num = 1,
		.max_rd_atomic = (uint8_t)rn_scn_get(l, RN_F_RD, 0),
		.max_dest_rd_atomic = (uint8_t)rn_scn_get(l, RN_F_DEST_RD, 0),
		.min_rnr_timer = (uint8_t)rn_scn_get(l, RN_F_RNR_TIMER, 12),
		.timeout = rn_scene_timeout(n, l),
		.retry_cnt = (uint8_t)rn_scn_get(l, RN_F_RETRY, 7),
		.rnr_retry = (uint8_t)rn_scn_get(l, RN_F_RNR_RETRY, 7),
		.en_sqd_async_notify = rn_scn_has(l, RN_F_DRAIN_EVENT),
	};
}

/* Returns the RN_ATTR_* flags with which rn_qp_modify() must be called to bring a QP of
 * this type to state @to.
 */
static uint32_t step_mask(enum rn_qp_type type, enum rn_qp_state to)
{
	bool ud = type == RN_QPT_UD;
	bool asks = type == RN_QPT_RC || type == RN_QPT_XRC_SEND;
	bool answers = type == RN_QPT_RC || type == RN_QPT_XRC_RECV;

	switch ((int)to) {
	case RN_QPS_INIT:
		return RN_ATTR_STATE | RN_ATTR_PKEY_INDEX | RN_ATTR_PORT |
		       (ud ? RN_ATTR_QKEY : RN_ATTR_ACCESS_FLAGS);
	case RN_QPS_RTR:
		return RN_ATTR_STATE |
		       (ud ? 0
			   : RN_ATTR_AV | RN_ATTR_PATH_MTU | RN_ATTR_DEST_QPN |
					RN_ATTR_RQ_PSN) |
		       (answers ? RN_ATTR_MAX_DEST_RD_ATOMIC | RN_ATTR_MIN_RNR_TIMER : 0);
	default:
		return RN_ATTR_STATE | RN_ATTR_SQ_PSN |
		       (type == RN_QPT_XRC_RECV ? RN_ATTR_TIMEOUT : 0) |
		       (asks ? RN_ATTR_TIMEOUT | RN_ATTR_RETRY_CNT | RN_ATTR_RNR_RETRY |
					RN_ATTR_MAX_RD_ATOMIC
			     : 0);
	}
}

uint32_t rn_scene_attr_mask(const struct rn_scn_line *l)
{
	uint32_t mask = (uint32_t)rn_scn_get(l, RN_F_WITH, 0);

	for (size_t i = 0; i < RN_ARRAY_SIZE(attribute); i++)
		if (rn_scn_has(l, attribute[i].field))
			mask |= attribute[i].mask;
	return mask;
}

int rn_scene_bring_up(enum rn_qp_type type, struct rn_qp_attr attr, unsigned qp,
		      int (*modify)(void *ctx, unsigned qp, const struct rn_qp_attr *attr,
				    uint32_t mask),
		      void *ctx)
{
	static const enum rn_qp_state steps[] = { RN_QPS_INIT, RN_QPS_RTR, RN_QPS_RTS };
	enum rn_qp_state goal = attr.state;
	int rc = 0;

	for (size_t k = 0; k < RN_ARRAY_SIZE(steps) && !rc; k++) {
		if (goal == RN_QPS_RESET || (goal < RN_QPS_SQD && steps[k] > goal))
			return 0;
		attr.state = steps[k];
		rc = modify(ctx, qp, &attr, step_mask(type, steps[k]));
	}
	attr.state = goal;
	if (!rc && goal > RN_QPS_RTS)
		rc = modify(ctx, qp, &attr, RN_ATTR_STATE);
	return rc;
}

struct rn_scn_line rn_scene_revived(const struct rn_scn_object *o,
				    const struct rn_scn_line *l)
{
	struct rn_scn_line line = o->line;

	for (unsigned i = 0; i < RN_F_COUNT; i++)
		if (l->given & RN_F_BIT(i))
			line.value[i] = l->value[i];
	line.given |= l->given;
	return line;
}

/* Returns the SGE of a request of @len bytes. Its address is the one that line @l gives.
 * If the line gives none, it is @offset in region @mr.
 */
static struct rn_sge sge_of(const struct rn_scene_names *n, const struct rn_scn_line *l,
			    uint64_t len, unsigned mr, uint64_t offset)
{
	uint8_t region = rn_scn_has(l, RN_F_AT) ? l->region[RN_F_AT] : (uint8_t)mr;
	uint64_t at = rn_scn_has(l, RN_F_AT) ? l->value[RN_F_AT] : offset;
	struct rn_sge sge = { .addr = at, .len = (uint32_t)len };

	if (region < RN_SCN_MRS) {
		sge.addr += n->va[region];
		sge.lkey = n->lkey[region];
	}
	return sge;
}

static uint32_t send_flags(const struct rn_scn_line *l)
{
	return (rn_scn_has(l, RN_F_UNSIGNALED) ? 0 : RN_SEND_SIGNALED) |
	       (rn_scn_has(l, RN_F_FENCE) ? RN_SEND_FENCE : 0) |
	       (rn_scn_has(l, RN_F_SE) ? RN_SEND_SOLICITED : 0) |
	       (rn_scn_has(l, RN_F_INLINE) ? RN_SEND_INLINE : 0);
}

static uint64_t said(const struct rn_scene_names *n, const struct rn_scn_line *l,
		     enum rn_scn_field f, uint64_t otherwise)
{
	return rn_scn_has(l, f) ? rn_scene_value(n, l, f) : otherwise;
}

void rn_scene_send_wr(const struct rn_scenario *s, const struct rn_scene_names *n,
		      const struct rn_scn_line *l, struct rn_scene_send *out)
{
	enum rn_wr_opcode kind = (enum rn_wr_opcode)rn_scn_get(l, RN_F_KIND, RN_WR_SEND);
	uint64_t len = rn_scn_get(l, RN_F_LEN, rn_wr_flags(kind) & RN_OP_WORD ? 8 : 0);
	bool brings = rn_wr_brings_data(kind);
	bool to_group = rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE) == RN_SCN_TO_GROUP;

	out->av =
		(struct rn_av){ .dgid = to_group ? n->group : n->peer, .hop_limit = 64 };
	out->sge = sge_of(n, l, len, brings ? 1 : 0, 0);
	out->wr = (struct rn_send_wr){
		.wr_id = rn_scn_get(l, RN_F_WR, 0),
		.opcode = kind,
		.flags = send_flags(l),
		.imm = (uint32_t)said(n, l, RN_F_IMM, said(n, l, RN_F_RKEY_NUMBER, 0)),
		.remote_addr = said(n, l, RN_F_VA, 0x1000),
		.rkey = (uint32_t)said(n, l, RN_F_RKEY, 0x77),
		.bind_length = len,
		.bind_region = (uint32_t)said(n, l, RN_F_REGION, 0),
		.bind_access = (uint32_t)rn_scn_get(l, RN_F_ACCESS, 0),
		.flush_length = (uint32_t)len,
		.flush_placement =
			(uint8_t)rn_scn_get(l, RN_F_PLACEMENT, RN_FLUSH_GLOBAL),
		.flush_selectivity = (uint8_t)rn_scn_get(l, RN_F_SELECT, RN_FLUSH_RANGE),
		.remote_srqn = (uint32_t)said(n, l, RN_F_SRQ, 0),
		.compare_add = rn_scn_get(l, RN_F_COMPARE, rn_scn_get(l, RN_F_ADD, 0)),
		.swap = rn_scn_get(l, RN_F_SWAP, 0),
		.av = s->qp[l->subject].type == RN_QPT_UD ? &out->av : NULL,
		.remote_qpn = to_group ? RN_QPN_MULTICAST : n->peer_qpn,
		.remote_qkey = (uint32_t)rn_scn_get(l, RN_F_QKEY, 0x11111111),
		.sg = &out->sge,
		.num_sge = len && rn_wr_has_data(kind) ? 1 : 0,
	};
}

struct rn_sge rn_scene_recv_sge(const struct rn_scene_names *n,
				const struct rn_scn_line *l)
{
	uint64_t wr_id = rn_scn_get(l, RN_F_WR, 0);

	return sge_of(n, l, rn_scn_get(l, RN_F_LEN, 0), 1,
		      wr_id ? (wr_id - 1) * RECV_ROOM : 0);
}
