/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state.c - rules about states and attributes of queue pairs; see rules/state.def. */
#include <errno.h>
#include <stdio.h>

#include "model.h"

/* ------------------------------------------------------------------ transitions */
/* Attributes that a transition needs and may have, by type of QP; IBTA Vol 1, table 91.
 */
struct transition {
	enum ibv_qp_state from, to;
	struct {
		int needed, allowed;
	} rc, uc, ud, xrc_send, xrc_recv, raw;
};

enum {
	PATH = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RETRIES = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_MAX_QP_RD_ATOMIC,
	ANSWERS = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	ALT = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE,
	RATE = IBV_QP_RATE_LIMIT,
	INIT_OF = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	RTR_MORE = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	RTS_MORE = ALT | IBV_QP_ACCESS_FLAGS,
};

static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, .rc = { INIT_OF | IBV_QP_ACCESS_FLAGS, 0 },
	  .uc = { INIT_OF | IBV_QP_ACCESS_FLAGS, 0 }, .ud = { INIT_OF | IBV_QP_QKEY, 0 },
	  .xrc_send = { INIT_OF | IBV_QP_ACCESS_FLAGS, 0 },
	  .xrc_recv = { INIT_OF | IBV_QP_ACCESS_FLAGS, 0 }, .raw = { IBV_QP_PORT, 0 } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, .rc = { 0, INIT_OF | IBV_QP_ACCESS_FLAGS },
	  .uc = { 0, INIT_OF | IBV_QP_ACCESS_FLAGS }, .ud = { 0, INIT_OF | IBV_QP_QKEY },
	  .xrc_send = { 0, INIT_OF | IBV_QP_ACCESS_FLAGS },
	  .xrc_recv = { 0, INIT_OF | IBV_QP_ACCESS_FLAGS }, .raw = { 0, IBV_QP_PORT } },
	{ IBV_QPS_INIT, IBV_QPS_RTR, .rc = { PATH | ANSWERS, RTR_MORE },
	  .uc = { PATH, RTR_MORE }, .ud = { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	  .xrc_send = { PATH, RTR_MORE }, .xrc_recv = { PATH | ANSWERS, RTR_MORE } },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  .rc = { RETRIES | IBV_QP_SQ_PSN, RTS_MORE | IBV_QP_MIN_RNR_TIMER | RATE },
	  .uc = { IBV_QP_SQ_PSN, RTS_MORE | RATE },
	  .ud = { IBV_QP_SQ_PSN, IBV_QP_QKEY | RATE },
	  .xrc_send = { RETRIES | IBV_QP_SQ_PSN, RTS_MORE | RATE },
	  .xrc_recv = { IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, RTS_MORE | IBV_QP_MIN_RNR_TIMER },
	  .raw = { 0, RATE } },
};

/* Transitions beside those of the table, and to RESET and ERR, which come from any state.
 */
static bool is_other_transition(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return (from == IBV_QPS_RTS && (to == IBV_QPS_RTS || to == IBV_QPS_SQD)) ||
	       (from == IBV_QPS_SQD && (to == IBV_QPS_SQD || to == IBV_QPS_RTS)) ||
	       (from == IBV_QPS_SQE && to == IBV_QPS_RTS) || to == IBV_QPS_RESET ||
	       to == IBV_QPS_ERR;
}

static const struct transition *find_transition(enum ibv_qp_state from,
						enum ibv_qp_state to)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	return NULL;
}

static bool find_masks(const struct transition *t, enum ibv_qp_type type, int *needed,
		       int *allowed)
{
	switch ((int)type) {
	case IBV_QPT_RC:
		*needed = t->rc.needed, *allowed = t->rc.allowed;
		break;
	case IBV_QPT_UC:
		*needed = t->uc.needed, *allowed = t->uc.allowed;
		break;
	case IBV_QPT_UD:
		*needed = t->ud.needed, *allowed = t->ud.allowed;
		break;
	case IBV_QPT_XRC_SEND:
		*needed = t->xrc_send.needed, *allowed = t->xrc_send.allowed;
		break;
	case IBV_QPT_XRC_RECV:
		*needed = t->xrc_recv.needed, *allowed = t->xrc_recv.allowed;
		break;
	case IBV_QPT_RAW_PACKET:
		*needed = t->raw.needed, *allowed = t->raw.allowed;
		break;
	default:
		return false;
	}
	return true;
}

/* Writes the names of the bits of a mask. */
static const char *mask_text(int mask, char *text, size_t len)
{
	static const struct {
		int bit;
		const char *name;
	} names[] = { { IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS" },
		      { IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX" },
		      { IBV_QP_PORT, "IBV_QP_PORT" },
		      { IBV_QP_QKEY, "IBV_QP_QKEY" },
		      { IBV_QP_AV, "IBV_QP_AV" },
		      { IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU" },
		      { IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT" },
		      { IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT" },
		      { IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY" },
		      { IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN" },
		      { IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC" },
		      { IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH" },
		      { IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER" },
		      { IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN" },
		      { IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC" },
		      { IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE" },
		      { IBV_QP_CAP, "IBV_QP_CAP" },
		      { IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN" },
		      { IBV_QP_RATE_LIMIT, "IBV_QP_RATE_LIMIT" } };
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (mask & names[i].bit && used < len)
			used += (size_t)snprintf(text + used, len - used, "%s%s",
						 used ? ", " : "", names[i].name);
	return text;
}

static void check_refused(struct rn_val *v, const struct rn_val_event *e)
{
	enum ibv_qp_state from = e->object->qp.state, to = e->modify.attr->qp_state;
	const struct transition *t = find_transition(from, to);
	int needed, allowed, spare, mask = e->modify.mask;
	struct rn_val_text name;
	char bits[200];

	if (!t && !is_other_transition(from, to)) {
		rn_val_find(v, e, RN_VAL_STATE_ILLEGAL_TRANSITION, e->object,
			    "%s cannot go from %s to %s", rn_val_name(e->object, &name),
			    rn_val_state_name(from), rn_val_state_name(to));
		return;
	}
	if (!t || !find_masks(t, e->object->qp.type, &needed, &allowed))
		return;
	spare = mask & ~(needed | allowed | IBV_QP_STATE | IBV_QP_CUR_STATE);
	if (needed & ~mask)
		rn_val_find(v, e, RN_VAL_STATE_ATTR_MISSING, e->object,
			    "%s -> %s of %s lacks %s", rn_val_state_name(from),
			    rn_val_state_name(to), rn_val_name(e->object, &name),
			    mask_text(needed & ~mask, bits, sizeof(bits)));
	if (spare)
		rn_val_find(v, e, RN_VAL_STATE_ATTR_NEEDLESS, e->object,
			    "%s -> %s of %s cannot set %s", rn_val_state_name(from),
			    rn_val_state_name(to), rn_val_name(e->object, &name),
			    mask_text(spare, bits, sizeof(bits)));
}

static void check_accepted(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_text name;

	if (e->modify.mask & IBV_QP_TIMEOUT && e->modify.attr->timeout == 0)
		rn_val_find(v, e, RN_VAL_STATE_WAITS_FOR_EVER, e->object,
			    "timeout of %s is 0", rn_val_name(e->object, &name));
}

/* ------------------------------------------------------------------------- posts */
static void check_post(struct rn_val *v, const struct rn_val_event *e)
{
	enum ibv_qp_state state = e->object->qp.state;
	bool is_send = e->kind == RN_VAL_POST_SEND;
	struct rn_val_text name;

	if (is_send ? state == IBV_QPS_RESET || state == IBV_QPS_INIT ||
			      state == IBV_QPS_RTR
		    : state == IBV_QPS_RESET)
		rn_val_find(v, e, RN_VAL_STATE_POST_WRONG_STATE, e->object, "%s is in %s",
			    rn_val_name(e->object, &name), rn_val_state_name(state));
}

void rn_val_check_state(struct rn_val *v, const struct rn_val_event *e)
{
	bool is_post = e->kind == RN_VAL_POST_SEND || e->kind == RN_VAL_POST_RECV;

	if (!rn_val_is(e->object, RN_VAL_QP) || e->object->is_gone)
		return;
	if (is_post && !e->is_done)
		check_post(v, e);
	if (e->kind == RN_VAL_MODIFY && e->is_done && e->rc == EINVAL &&
	    e->modify.mask & IBV_QP_STATE)
		check_refused(v, e);
	if (e->kind == RN_VAL_MODIFY && e->is_done && !e->rc)
		check_accepted(v, e);
}
