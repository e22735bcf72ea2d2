/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_calls.c - the transport as the device of a scenario: objects and calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "rocin/wire.h"
#include "text.h"
#include "virtual_internal.h"

enum {
	QPN = 0x11,	  /* of the first QP */
	PEER_QPN = 0x99,  /* what all of them send to */
	RECV_ROOM = 4096, /* receive N lands at (N - 1) * this in region r, if not said */
};

static int refuse(char *err, size_t err_len, const char *what, int rc)
{
	struct rn_text t;

	rn_text_init(&t, err, err_len);
	rn_text_add(&t, "the device cannot be prepared: ");
	rn_text_add(&t, what);
	return rc;
}

static struct rn_gid host(const struct rn_scenario *s, uint8_t last)
{
	if (s->ipv6) /* 2001:db8:: */
		return (struct rn_gid){ { 0x20, 0x01, 0x0d, 0xb8, [15] = last } };
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = last }
	};
}

static struct rn_gid group(const struct rn_scenario *s)
{
	if (s->ipv6) /* ff0e::101 */
		return (struct rn_gid){ { 0xff, 0x0e, [14] = 1, [15] = 1 } };
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3 }
	};
}

static int init_device(struct rn_virtual *v, struct rn_scene_names *n)
{
	const struct rn_dev_cfg cfg = {
		.gid = { n->device },
		.gid_count = 1,
		.ifindex = n->ifindex,
		.mtu_max = RN_MTU_MAX,
		.window_start = 1 << 20,
		.window_min = 1 << 14,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 1 << 16,
		.mem = &rn_virtual_mem,
		.mem_ctx = v,
		.stats = v->stats,
	};

	return rn_dev_init(v->dev, &cfg);
}

/* ---------------------------------------------------------------- queue pairs */
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
	{ RN_F_DRAIN_EVENT, RN_ATTR_EN_SQD_ASYNC_NOTIFY },
};

static struct rn_qp_attr attributes(const struct rn_virtual *v,
				    const struct rn_scn_line *l)
{
	return (struct rn_qp_attr){
		.state = (enum rn_qp_state)rn_scn_get(l, RN_F_STATE, RN_QPS_RESET),
		.path_mtu = (uint32_t)rn_scn_get(l, RN_F_MTU, 1024),
		.qkey = (uint32_t)rn_scn_get(l, RN_F_QKEY, 0),
		.rq_psn = (uint32_t)rn_scn_get(l, RN_F_EPSN, 0),
		.sq_psn = (uint32_t)rn_scn_get(l, RN_F_PSN, 0),
		.dest_qpn = v->names->peer_qpn,
		.access = (uint32_t)rn_scn_get(l, RN_F_ACCESS, 0),
		.av = { .dgid = v->names->peer, .hop_limit = 64 },
		.port_num = 1,
		.max_rd_atomic = (uint8_t)rn_scn_get(l, RN_F_RD, 0),
		.max_dest_rd_atomic = (uint8_t)rn_scn_get(l, RN_F_DEST_RD, 0),
		.min_rnr_timer = (uint8_t)rn_scn_get(l, RN_F_RNR_TIMER, 12),
		.timeout = (uint8_t)rn_scn_get(l, RN_F_TIMEOUT, 14),
		.retry_cnt = (uint8_t)rn_scn_get(l, RN_F_RETRY, 7),
		.rnr_retry = (uint8_t)rn_scn_get(l, RN_F_RNR_RETRY, 7),
		.en_sqd_async_notify = rn_scn_has(l, RN_F_DRAIN_EVENT),
	};
}

/* What each step to RTS takes, by type. */
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

/* Up to the state that was declared: RESET, INIT, RTR, RTS, then whatever it is. */
static int bring_up(struct rn_virtual *v, unsigned i, struct rn_qp_attr attr)
{
	static const enum rn_qp_state steps[] = { RN_QPS_INIT, RN_QPS_RTR, RN_QPS_RTS };
	const struct rn_scn_object *o = &v->s->qp[i];
	enum rn_qp_state goal = attr.state;
	int rc = 0;

	for (size_t k = 0; k < RN_ARRAY_SIZE(steps) && !rc; k++) {
		if (goal == RN_QPS_RESET || (goal < RN_QPS_SQD && steps[k] > goal))
			return 0;
		attr.state = steps[k];
		rc = rn_qp_modify(v->dev, v->qp[i], v->now, &attr,
				  step_mask(o->type, steps[k]));
	}
	attr.state = goal;
	if (!rc && goal > RN_QPS_RTS)
		rc = rn_qp_modify(v->dev, v->qp[i], v->now, &attr, RN_ATTR_STATE);
	return rc;
}

static uint32_t depth(const struct rn_scn_object *o, enum rn_scn_field f)
{
	return (uint32_t)rn_scn_get(&o->line, f, RN_VIRTUAL_WRS);
}

/* One that a queue pair can be made with; NULL: it is of an XRC domain, or no SRQ. */
static struct rn_srq *basic_srq(const struct rn_virtual *v, uint8_t i)
{
	return i < v->s->srqs && !rn_scn_get(&v->s->srq[i].line, RN_F_XRCD, 0) ? v->srq[i]
									       : NULL;
}

static int add_qp(struct rn_virtual *v, unsigned i, struct rn_scene_names *n)
{
	const struct rn_scn_object *o = &v->s->qp[i];
	bool shares = rn_scn_has(&o->line, RN_F_SRQ);
	struct rn_srq *srq = shares ? basic_srq(v, o->line.region[RN_F_SRQ]) : NULL;
	bool sends = o->type != RN_QPT_XRC_RECV;
	bool xrc = o->type == RN_QPT_XRC_RECV || o->type == RN_QPT_XRC_SEND;
	bool receives = !xrc && !srq;
	const struct rn_qp_init init = {
		.type = o->type,
		.qpn = QPN + i,
		.pd = (uint32_t)rn_scn_get(&o->line, RN_F_PD, RN_VIRTUAL_PD),
		.send_cq = sends ? &v->cq[0] : NULL,
		.recv_cq = xrc ? NULL : &v->cq[1],
		.srq = srq,
		.xrcd = (uint32_t)rn_scn_get(&o->line, RN_F_XRCD, 0),
		.max_send_wr = sends ? depth(o, RN_F_SQ) : 0,
		.max_recv_wr = receives ? depth(o, RN_F_RQ) : 0,
		.max_send_sge = sends ? 4 : 0,
		.max_recv_sge = receives ? 4 : 0,
		.max_inline = sends ? 128 : 0,
	};
	size_t size = rn_qp_size(v->dev, &init);
	void *block = size ? aligned_alloc(64, (size + 63) & ~(size_t)63) : NULL;

	if (!block)
		return size ? -ENOMEM : -EINVAL;
	if (shares && !srq) {
		free(block);
		return -EINVAL;
	}
	v->qp[i] = rn_qp_create(v->dev, block, &init);
	n->qpn[i] = init.qpn;
	return bring_up(v, i, attributes(v, &o->line));
}

/* ------------------------------------------------------------ beginning and end */
/* Of both queues: the smallest that a queue pair asks for. */
static uint32_t cqes(const struct rn_scenario *s)
{
	uint64_t count = RN_VIRTUAL_CQES;
	uint32_t power = 1;

	for (unsigned i = 0; i < s->qps; i++) {
		uint64_t wanted = rn_scn_get(&s->qp[i].line, RN_F_CQE, count);

		count = wanted < count ? wanted : count;
	}
	while (power < count)
		power *= 2;
	return power;
}

int rn_virtual_begin(void *ctx, const struct rn_scenario *s, struct rn_scene_names *n,
		     char *err, size_t err_len)
{
	struct rn_virtual *v = ctx;
	struct rn_dev *dev = v->dev;
	uint64_t used = 0;
	int rc;

	memset(v, 0, sizeof(*v));
	*n = (struct rn_scene_names){
		.device = host(s, 1),
		.peer = host(s, 2),
		.other = host(s, 3),
		.group = group(s),
		.ifindex = 7,
		.peer_qpn = PEER_QPN,
	};
	v->dev = dev;
	v->s = s;
	v->names = n;
	v->now = RN_MSEC(1);
	rc = init_device(v, n);
	if (rc)
		return refuse(err, err_len, "its settings", rc);
	for (unsigned i = 0; i < 2; i++)
		rn_cq_init(&v->cq[i], RN_VIRTUAL_RING + ((uint64_t)i << 20), cqes(s),
			   NULL);
	for (unsigned i = 0; i < s->mrs && !rc; i++) {
		rc = rn_virtual_add_region(v, i, &used, n);
		v->regions += !rc;
	}
	for (unsigned i = 0; i < s->srqs && !rc; i++)
		rc = rn_virtual_add_srq(v, i, n);
	for (unsigned i = 0; i < s->qps && !rc; i++)
		rc = add_qp(v, i, n);
	if (rc) {
		rn_virtual_end(v);
		return refuse(err, err_len, "a region or queue", rc);
	}
	return 0;
}

void rn_virtual_end(void *ctx)
{
	struct rn_virtual *v = ctx;

	for (unsigned i = 0; i < RN_SCN_QPS; i++) {
		if (!v->qp[i])
			continue;
		rn_virtual_join(v, i, false);
		rn_qp_destroy(v->dev, v->qp[i]);
		free(v->qp[i]);
		v->qp[i] = NULL;
	}
	rn_virtual_remove_objects(v);
	for (unsigned i = 0; i < 2; i++)
		rn_cq_fini(v->dev, &v->cq[i]);
	rn_dev_fini(v->dev);
}

/* ---------------------------------------------------------------------- calls */
/* Where a request's bytes are: as said, or from the start of region @mr + @offset. */
static struct rn_sge sge_of(const struct rn_virtual *v, const struct rn_scn_line *l,
			    uint64_t len, unsigned mr, uint64_t offset)
{
	uint8_t region = rn_scn_has(l, RN_F_AT) ? l->region[RN_F_AT] : (uint8_t)mr;
	uint64_t at = rn_scn_has(l, RN_F_AT) ? l->value[RN_F_AT] : offset;
	struct rn_sge sge = { .addr = at, .len = (uint32_t)len };

	if (region < RN_SCN_MRS) {
		sge.addr += v->names->va[region];
		sge.lkey = v->names->key[region];
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

static uint64_t said(const struct rn_virtual *v, const struct rn_scn_line *l,
		     enum rn_scn_field f, uint64_t otherwise)
{
	return rn_scn_has(l, f) ? rn_scene_value(v->names, l, f) : otherwise;
}

static int post(struct rn_virtual *v, const struct rn_scn_line *l)
{
	enum rn_wr_opcode kind = (enum rn_wr_opcode)rn_scn_get(l, RN_F_KIND, RN_WR_SEND);
	bool atomic =
		kind == RN_WR_ATOMIC_CMP_AND_SWP || kind == RN_WR_ATOMIC_FETCH_AND_ADD;
	uint64_t len = rn_scn_get(
		l, RN_F_LEN, atomic || kind == RN_WR_ATOMIC_WRITE ? sizeof(uint64_t) : 0);
	bool bare = kind == RN_WR_BIND_MW || kind == RN_WR_FLUSH;
	bool brings = atomic || kind == RN_WR_RDMA_READ;
	bool to_group = rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE) == RN_SCN_TO_GROUP;
	struct rn_av av = { .dgid = to_group ? v->names->group : v->names->peer,
			    .hop_limit = 64 };
	struct rn_sge sge = sge_of(v, l, len, brings ? 1 : 0, 0);
	const struct rn_send_wr wr = {
		.wr_id = rn_scn_get(l, RN_F_WR, 0),
		.opcode = kind,
		.flags = send_flags(l),
		.imm = (uint32_t)said(v, l, RN_F_IMM, said(v, l, RN_F_RKEY_NUMBER, 0)),
		.remote_addr = said(v, l, RN_F_VA, 0x1000),
		.rkey = (uint32_t)said(v, l, RN_F_RKEY, 0x77),
		.bind_length = len,
		.bind_region = (uint32_t)said(v, l, RN_F_REGION, 0),
		.bind_access = (uint32_t)rn_scn_get(l, RN_F_ACCESS, 0),
		.flush_length = (uint32_t)len,
		.flush_placement =
			(uint8_t)rn_scn_get(l, RN_F_PLACEMENT, RN_FLUSH_GLOBAL),
		.flush_selectivity = (uint8_t)rn_scn_get(l, RN_F_SELECT, RN_FLUSH_RANGE),
		.remote_srqn = (uint32_t)said(v, l, RN_F_SRQ, 0),
		.compare_add = rn_scn_get(l, RN_F_COMPARE, rn_scn_get(l, RN_F_ADD, 0)),
		.swap = rn_scn_get(l, RN_F_SWAP, 0),
		.av = v->s->qp[l->subject].type == RN_QPT_UD ? &av : NULL,
		.remote_qpn = to_group ? RN_QPN_MULTICAST : v->names->peer_qpn,
		.remote_qkey = (uint32_t)rn_scn_get(l, RN_F_QKEY, 0x11111111),
		.sg = &sge,
		.num_sge = len && !bare ? 1 : 0,
	};

	return rn_qp_post_send(v->dev, v->qp[l->subject], v->now, &wr);
}

static int post_recv(struct rn_virtual *v, const struct rn_scn_line *l)
{
	uint64_t wr_id = rn_scn_get(l, RN_F_WR, 0);
	struct rn_sge sge = sge_of(v, l, rn_scn_get(l, RN_F_LEN, 0), 1,
				   wr_id ? (wr_id - 1) * RECV_ROOM : 0);
	const struct rn_recv_wr wr = {
		.wr_id = wr_id,
		.sg = &sge,
		.num_sge = sge.len ? 1 : 0,
	};

	if (l->of_srq)
		return rn_srq_post_recv(v->srq[l->subject], &wr);
	return rn_qp_post_recv(v->dev, v->qp[l->subject], v->now, &wr);
}

static int modify(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr = attributes(v, l);
	uint32_t mask = 0;

	for (size_t i = 0; i < RN_ARRAY_SIZE(attribute); i++)
		if (rn_scn_has(l, attribute[i].field))
			mask |= attribute[i].mask;
	return rn_qp_modify(v->dev, v->qp[l->subject], v->now, &attr, mask);
}

/* What is not said is as it was declared. */
static int revive(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_scn_line line = v->s->qp[l->subject].line;

	for (unsigned i = 0; i < RN_F_COUNT; i++)
		if (l->given & RN_F_BIT(i))
			line.value[i] = l->value[i];
	line.given |= l->given;
	return bring_up(v, l->subject, attributes(v, &line));
}

int rn_virtual_call(void *ctx, const struct rn_scn_line *l)
{
	struct rn_virtual *v = ctx;
	int rc = 0;

	if (l->verb == RN_SCN_POST)
		rc = post(v, l);
	else if (l->verb == RN_SCN_RECV)
		rc = post_recv(v, l);
	else if (l->verb == RN_SCN_MODIFY)
		rc = modify(v, l);
	else if (l->verb == RN_SCN_REVIVE)
		rc = revive(v, l);
	else if (l->verb == RN_SCN_ARM)
		rn_cq_arm(&v->cq[l->subject],
			  (enum rn_cq_arm)rn_scn_get(l, RN_F_ARM, RN_CQ_ARM_NEXT));
	else if (l->verb == RN_SCN_LIMIT)
		rc = rn_srq_set_limit(v->srq[l->subject],
				      (uint32_t)rn_scn_get(l, RN_F_BELOW, 0));
	else if (l->verb == RN_SCN_JOIN || l->verb == RN_SCN_LEAVE)
		rc = rn_virtual_join(v, l->subject, l->verb == RN_SCN_JOIN);
	else
		rn_virtual_remove_region(v, l->subject);
	rn_virtual_flush(v);
	return rc;
}
