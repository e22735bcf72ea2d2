/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state.c - rules about states and attributes of queue pairs; see rules/state.def. */
#include <errno.h>
#include <stdio.h>

#include "model/model.h"

enum {
	PSN_MAX = 0xffffff, /* PSNs and numbers of QPs have 24 bits */
	RNR_FOR_EVER = 7,
};

/* ------------------------------------------------------------------ transitions */
/* Attributes that a transition needs and may have, by type of QP: those of Linux
 * (qp_state_table in drivers/infiniband/core/verbs.c), and the rate limit of all types.
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

/* Is the transition allowed, although the table of transitions does not list it?
 * Transitions to RESET and ERR are allowed from any state.
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

/* ------------------------------------------------------------- what is refused */
/* Returns the name and range of an attribute whose value does not fit its field; NULL:
 * all fit. (The limits of a device may be lower than those of the fields.)
 */
static const char *find_out_of_range(const struct ibv_qp_attr *a, int mask)
{
	const struct {
		int bit;
		bool is_wrong;
		const char *name;
	} checks[] = {
		{ IBV_QP_TIMEOUT, a->timeout > 31, "timeout, 0 to 31" },
		{ IBV_QP_RETRY_CNT, a->retry_cnt > 7, "retry_cnt, 0 to 7" },
		{ IBV_QP_RNR_RETRY, a->rnr_retry > 7, "rnr_retry, 0 to 7" },
		{ IBV_QP_MIN_RNR_TIMER, a->min_rnr_timer > 31, "min_rnr_timer, 0 to 31" },
		{ IBV_QP_PATH_MTU,
		  a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096,
		  "path_mtu, IBV_MTU_256 to IBV_MTU_4096 (and not a number of bytes)" },
		{ IBV_QP_DEST_QPN, a->dest_qp_num > PSN_MAX, "dest_qp_num, 24 bits" },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (mask & checks[i].bit && checks[i].is_wrong)
			return checks[i].name;
	return NULL;
}

/* Looks for values that every device refuses. */
static void check_values(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_qp_attr *a = e->modify.attr;
	const char *wrong = find_out_of_range(a, e->modify.mask);
	struct rn_val_text name;

	if (wrong)
		rn_val_find(v, e, RN_VAL_STATE_OUT_OF_RANGE, e->object, "%s of %s", wrong,
			    rn_val_name(e->object, &name));
	if (e->modify.mask & IBV_QP_PORT && a->port_num != 1)
		rn_val_find(v, e, RN_VAL_STATE_WRONG_PORT, e->object,
			    "port_num of %s is %u, and the device has port 1",
			    rn_val_name(e->object, &name), a->port_num);
	if (e->modify.mask & IBV_QP_CUR_STATE && a->cur_qp_state != e->object->qp.state)
		rn_val_find(v, e, RN_VAL_STATE_CUR_STATE_WRONG, e->object,
			    "cur_qp_state is %s, and %s is in %s",
			    rn_val_state_name(a->cur_qp_state),
			    rn_val_name(e->object, &name),
			    rn_val_state_name(e->object->qp.state));
}

/* ------------------------------------------------------------ what is accepted */
/* Returns the time in ms after which a QP gives up a peer that does not answer. */
static uint64_t patience_ms(const struct ibv_qp_attr *a)
{
	return (4096ULL << (a->timeout & 31)) * (a->retry_cnt + 1U) / 1000000;
}

enum {
	/* timeout code of about 1 ms; a peer in software sometimes needs longer */
	SHORT_TIMEOUT = 8,
	/* time in ms for which no program waits, so a longer timeout is probably
	 * a mistake
	 */
	PATIENCE_MS = 10 * 60 * 1000,
};

static void check_retries(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_qp_attr *a = e->modify.attr;
	int mask = e->modify.mask;
	struct rn_val_text name;

	(void)rn_val_name(e->object, &name);
	if (mask & IBV_QP_TIMEOUT && a->timeout == 0)
		rn_val_find(v, e, RN_VAL_STATE_WAITS_FOR_EVER, e->object,
			    "timeout of %s is 0", name.text);
	else if (mask & IBV_QP_TIMEOUT && a->timeout < SHORT_TIMEOUT)
		rn_val_find(v, e, RN_VAL_STATE_TIMEOUT_SHORT, e->object,
			    "timeout of %s is %u: %u us", name.text, a->timeout,
			    (4096U << a->timeout) / 1000);
	else if (mask & IBV_QP_TIMEOUT && mask & IBV_QP_RETRY_CNT &&
		 patience_ms(a) > PATIENCE_MS)
		rn_val_find(v, e, RN_VAL_STATE_TIMEOUT_LONG, e->object,
			    "timeout %u and retry_cnt %u of %s: %llu s", a->timeout,
			    a->retry_cnt, name.text,
			    (unsigned long long)patience_ms(a) / 1000);
	if (mask & IBV_QP_RETRY_CNT && a->retry_cnt == 0)
		rn_val_find(v, e, RN_VAL_STATE_RETRY_ZERO, e->object,
			    "retry_cnt of %s is 0", name.text);
	if (mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer == 0)
		rn_val_find(v, e, RN_VAL_STATE_RNR_TIMER_ZERO, e->object,
			    "min_rnr_timer of %s is 0, which is 655 ms", name.text);
}

/* Returns the number of outstanding requests that will complete visibly. Unsignaled ones
 * may have completed silently.
 */
static uint32_t telling(const struct rn_val_queue *q)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < q->count; i++)
		count += rn_val_queued(q, i)->is_signaled;
	return count;
}

static void check_accepted(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_qp_attr *a = e->modify.attr;
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	check_retries(v, e);
	if (e->modify.mask & IBV_QP_STATE && a->qp_state == IBV_QPS_RESET &&
	    telling(&qp->send) + qp->recv.count)
		rn_val_find(v, e, RN_VAL_STATE_RESET_WITH_WORK, e->object,
			    "%s goes from %s to RESET with %u sends and %u receives that "
			    "were not polled",
			    rn_val_name(e->object, &name), rn_val_state_name(qp->state),
			    telling(&qp->send), qp->recv.count);
}

/* ------------------------------------------------------------------- two ends */
/* Has a connected QP got the attributes that are set by the transition to RTR? */
static bool is_ready(const struct rn_val_object *o)
{
	return o->qp.state == IBV_QPS_RTR || o->qp.state == IBV_QPS_RTS;
}

static void check_psns(struct rn_val *v, const struct rn_val_event *e,
		       const struct rn_val_object *a, const struct rn_val_object *b)
{
	const struct ibv_qp_attr *from = &a->qp.attr, *to = &b->qp.attr;
	struct rn_val_text name, other;

	(void)rn_val_name(a, &name);
	(void)rn_val_name(b, &other);
	if (from->sq_psn % (PSN_MAX + 1) != to->rq_psn % (PSN_MAX + 1))
		rn_val_find2(v, e, RN_VAL_STATE_PSN_MISMATCH, a, b,
			     "sq_psn of %s is %#x, and rq_psn of %s is %#x", name.text,
			     from->sq_psn, other.text, to->rq_psn);
}

static void check_mtus(struct rn_val *v, const struct rn_val_event *e,
		       const struct rn_val_object *a, const struct rn_val_object *b)
{
	struct rn_val_text name, other;

	if (a->qp.attr.path_mtu != b->qp.attr.path_mtu)
		rn_val_find2(v, e, RN_VAL_STATE_MTU_MISMATCH, a, b,
			     "path_mtu of %s is %u bytes, and that of %s %u",
			     rn_val_name(a, &name), 128U << a->qp.attr.path_mtu,
			     rn_val_name(b, &other), 128U << b->qp.attr.path_mtu);
}

/* Compares the attributes of the two ends when a QP sends for the first time, since both
 * are set up then.
 */
static void check_connection(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object, *target = rn_val_target_of(v, o);
	struct rn_val_text name, other;

	if (!target || (o->qp.type != IBV_QPT_RC && o->qp.type != IBV_QPT_UC))
		return;
	if (!is_ready(target)) {
		if (target->qp.state == IBV_QPS_INIT || target->qp.state == IBV_QPS_RESET)
			rn_val_find2(v, e, RN_VAL_STATE_PEER_NOT_READY, o, target,
				     "%s sends, and %s, which it is connected to, is in "
				     "%s",
				     rn_val_name(o, &name), rn_val_name(target, &other),
				     rn_val_state_name(target->qp.state));
		return;
	}
	if (rn_val_peer_of(v, o) != target) {
		if (target->qp.is_to_self || target->process)
			rn_val_find2(v, e, RN_VAL_STATE_NOT_CONNECTED_BACK, o, target,
				     "%s sends to %s, which is connected to QP %#x",
				     rn_val_name(o, &name), rn_val_name(target, &other),
				     target->qp.attr.dest_qp_num);
		return;
	}
	check_psns(v, e, o, target);
	check_mtus(v, e, o, target);
}

/* ------------------------------------------------------------------------- posts */
enum {
	SENDS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
	WRITES = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM,
};

static bool has_opcode(enum ibv_wr_opcode opcode, unsigned set)
{
	return (unsigned)opcode < 32 && set & 1U << opcode;
}

/* Does a QP of that type support such requests? Requests other than SENDs, WRITEs, READs
 * and atomics are not judged.
 */
static bool is_of_type(enum ibv_qp_type type, enum ibv_wr_opcode opcode)
{
	if (!has_opcode(opcode, SENDS | WRITES) && !rn_val_fetches(opcode))
		return true;
	if (type == IBV_QPT_UC)
		return has_opcode(opcode, SENDS | WRITES);
	return type != IBV_QPT_UD || has_opcode(opcode, SENDS);
}

static void check_rd_atomic(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object, *peer = rn_val_peer_of(v, o);
	struct rn_val_text name, other;

	if (peer && is_ready(peer) &&
	    o->qp.attr.max_rd_atomic > peer->qp.attr.max_dest_rd_atomic)
		rn_val_find2(v, e, RN_VAL_STATE_RD_ATOMIC_MISMATCH, o, peer,
			     "max_rd_atomic of %s is %u, and max_dest_rd_atomic of %s is "
			     "%u",
			     rn_val_name(o, &name), o->qp.attr.max_rd_atomic,
			     rn_val_name(peer, &other), peer->qp.attr.max_dest_rd_atomic);
}

static void check_access(struct rn_val *v, const struct rn_val_event *e,
			 const struct rn_val_request *r)
{
	const struct rn_val_object *o = e->object, *peer = rn_val_peer_of(v, o);
	unsigned needed = rn_val_access_of(r->opcode);
	struct rn_val_text name, other;

	if (peer && is_ready(peer) && needed & ~peer->qp.attr.qp_access_flags)
		rn_val_find2(v, e, RN_VAL_STATE_ACCESS_MISSING, o, peer,
			     "%s posts a %s, and the qp_access_flags of %s are %#x",
			     rn_val_name(o, &name), rn_val_opcode_name(r->opcode),
			     rn_val_name(peer, &other),
			     (unsigned)peer->qp.attr.qp_access_flags);
}

static void check_request(struct rn_val *v, const struct rn_val_event *e,
			  const struct rn_val_request *r)
{
	const struct rn_val_qp *qp = &e->object->qp;
	struct rn_val_text name;

	if (!is_of_type(qp->type, r->opcode)) {
		rn_val_find(v, e, RN_VAL_STATE_OPCODE_OF_TYPE, e->object,
			    "a %s is posted to %s, of type %s",
			    rn_val_opcode_name(r->opcode), rn_val_name(e->object, &name),
			    qp->type == IBV_QPT_UC ? "UC" : "UD");
		return;
	}
	if (rn_val_fetches(r->opcode))
		check_rd_atomic(v, e);
	if (rn_val_fetches(r->opcode) && qp->mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	    !qp->attr.max_rd_atomic)
		rn_val_find(v, e, RN_VAL_STATE_RD_ATOMIC_ZERO, e->object,
			    "a %s is posted to %s, of which max_rd_atomic is 0",
			    rn_val_opcode_name(r->opcode), rn_val_name(e->object, &name));
	check_access(v, e, r);
}

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
	if (!is_send)
		return;
	if (state == IBV_QPS_RTS && !e->object->qp.send.posted)
		check_connection(v, e);
	for (uint32_t i = 0; i < e->post.count; i++)
		check_request(v, e, &e->post.request[i]);
}

/* ---------------------------------------------------------------------- the end */
static void check_end(struct rn_val *v, const struct rn_val_event *e)
{
	struct rn_val_text name;

	for (const struct rn_val_object *o = v->living; o; o = o->older)
		if (o->kind == RN_VAL_QP && o->qp.state == IBV_QPS_ERR &&
		    telling(&o->qp.send) + o->qp.recv.count)
			rn_val_find(v, e, RN_VAL_STATE_LEFT_IN_ERR, o,
				    "%s was left in ERR with %u sends and %u receives "
				    "that were not polled",
				    rn_val_name(o, &name), telling(&o->qp.send),
				    o->qp.recv.count);
}

/* Checks a QP that is destroyed while messages wait for one of its receives. */
static void check_waiting(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_object *o = e->object, *peer = rn_val_own_peer_of(v, o);
	struct rn_val_text name, other;

	if (!peer || peer->qp.type == IBV_QPT_XRC_RECV || o->qp.state != IBV_QPS_RTS ||
	    !is_ready(peer) || !o->qp.send.count ||
	    o->qp.attr.rnr_retry != RNR_FOR_EVER || rn_val_receives_of(peer)->posted)
		return;
	if (has_opcode(rn_val_queued(&o->qp.send, 0)->opcode, SENDS))
		rn_val_find2(
			v, e, RN_VAL_STATE_RNR_FOR_EVER, o, peer,
			"%s has waited with rnr_retry 7 until now for %s to post its "
			"first receive",
			rn_val_name(o, &name), rn_val_name(peer, &other));
}

/* Checks that a PSN fits into 24 bits. Some drivers refuse a larger one, and some cut it.
 */
static void check_width(struct rn_val *v, const struct rn_val_event *e)
{
	const struct ibv_qp_attr *a = e->modify.attr;
	struct rn_val_text name;

	if ((e->modify.mask & IBV_QP_SQ_PSN && a->sq_psn > PSN_MAX) ||
	    (e->modify.mask & IBV_QP_RQ_PSN && a->rq_psn > PSN_MAX))
		rn_val_find(v, e, RN_VAL_STATE_PSN_WIDE, e->object,
			    "a PSN of %s has more than 24 bits",
			    rn_val_name(e->object, &name));
}

static void check_modify(struct rn_val *v, const struct rn_val_event *e)
{
	if (!e->is_done)
		return;
	check_width(v, e);
	if (!e->rc && e->modify.mask & (IBV_QP_AV | IBV_QP_DEST_QPN))
		e->object->qp.tally.was_answered = false;
	if (!e->rc)
		check_accepted(v, e);
	if (e->rc == EINVAL)
		check_values(v, e);
	if (e->rc == EINVAL && e->modify.mask & IBV_QP_STATE)
		check_refused(v, e);
}

/* ----------------------------------------------------------------- completions */
static bool is_first_failure(const struct rn_val_completion *c)
{
	return c->wc->status == IBV_WC_RETRY_EXC_ERR && !c->is_recv &&
	       !c->qp->qp.tally.was_answered && !c->qp->qp.tally.rnr_received;
}

/* Checks whether a QP failed because its peer has never answered. If the peer has
 * answered before and stopped, it may have ended, which is no mistake of this program.
 */
static void check_answer(struct rn_val *v, const struct rn_val_event *e)
{
	const struct rn_val_completion *c = &e->completion;
	const struct rn_val_object *target;
	struct rn_val_text name;

	if (!c->qp)
		return;
	if (is_first_failure(c)) {
		target = rn_val_target_of(v, c->qp);
		rn_val_find2(v, e, RN_VAL_STATE_NEVER_ANSWERED, c->qp, target,
			     "request %#llx of %s had no answer of QP %#x%s%s (timeout "
			     "%u, retry_cnt %u)",
			     (unsigned long long)c->wc->wr_id, rn_val_name(c->qp, &name),
			     c->qp->qp.attr.dest_qp_num,
			     target ? ", which was in "
				    : ", which no validated process of this host has",
			     target ? rn_val_state_name(target->qp.state) : "",
			     c->qp->qp.attr.timeout, c->qp->qp.attr.retry_cnt);
	}
	c->qp->qp.tally.was_answered =
		c->qp->qp.tally.was_answered || c->wc->status == IBV_WC_SUCCESS;
}

void rn_val_check_state(struct rn_val *v, const struct rn_val_event *e)
{
	bool is_post = e->kind == RN_VAL_POST_SEND || e->kind == RN_VAL_POST_RECV;

	if (e->kind == RN_VAL_EXIT)
		check_end(v, e);
	if (e->kind == RN_VAL_COMPLETION)
		check_answer(v, e);
	if (!rn_val_is(e->object, RN_VAL_QP) || e->object->is_gone)
		return;
	if (e->kind == RN_VAL_ANSWERED)
		e->object->qp.tally.was_answered = true;
	if (is_post && !e->is_done)
		check_post(v, e);
	if (e->kind == RN_VAL_MODIFY)
		check_modify(v, e);
	if (e->kind == RN_VAL_DESTROY && !e->is_done)
		check_waiting(v, e);
}
