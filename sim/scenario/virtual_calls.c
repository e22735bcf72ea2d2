/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* virtual_calls.c - the transport as the device of a scenario: objects and calls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "sim/pcie/model/text.h"
#include "virtual_internal.h"

enum {
	QPN = 0x11,	 /* of the first QP */
	PEER_QPN = 0x99, /* what all of them send to */
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
		.icrc_exact = v->s->exact,
		.credits = v->s->credits,
		.window_start = 1 << 20,
		.window_min = 1 << 14,
		.window_max = 1 << 20,
		.read_window = 1 << 20,
		.read_chunk = 1 << 16,
		.cc = v->s->cc ? RN_CC_ON : RN_CC_OFF,
		.mem = &rn_virtual_mem,
		.mem_ctx = v,
		.stats = v->stats,
	};

	return rn_dev_init(v->dev, &cfg);
}

/* ---------------------------------------------------------------- queue pairs */
static int modify_qp(void *ctx, unsigned qp, const struct rn_qp_attr *attr, uint32_t mask)
{
	struct rn_virtual *v = ctx;

	return rn_qp_modify(v->dev, v->qp[qp], v->now, attr, mask);
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
	return rn_scene_bring_up(o->type, rn_scene_attr(v->names, &o->line), i, modify_qp,
				 v);
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
	if (!rc)
		rc = rn_virtual_cm_init(&v->cm, s, n);
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
	rn_virtual_cm_fini(&v->cm);
}

/* ---------------------------------------------------------------------- calls */
/* Inline data is where the program sees it; false: not in the memory of the scenario. */
static bool point_at(const struct rn_virtual *v, struct rn_sge *sge)
{
	uint64_t offset = sge->addr - RN_VIRTUAL_BASE;

	if (offset > sizeof(v->memory) || sge->len > sizeof(v->memory) - offset)
		return false;
	sge->addr = (uintptr_t)(v->memory + offset);
	return true;
}

static int post(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_scene_send send;

	rn_scene_send_wr(v->s, v->names, l, &send);
	if (send.wr.flags & RN_SEND_INLINE && !point_at(v, &send.sge))
		return -EFAULT;
	return rn_qp_post_send(v->dev, v->qp[l->subject], v->now, &send.wr);
}

static int post_recv(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_sge sge = rn_scene_recv_sge(v->names, l);
	const struct rn_recv_wr wr = {
		.wr_id = rn_scn_get(l, RN_F_WR, 0),
		.sg = &sge,
		.num_sge = sge.len ? 1 : 0,
	};

	if (l->of_srq)
		return rn_srq_post_recv(v->srq[l->subject], &wr);
	return rn_qp_post_recv(v->dev, v->qp[l->subject], v->now, &wr);
}

static int modify(struct rn_virtual *v, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr = rn_scene_attr(v->names, l);

	return modify_qp(v, l->subject, &attr, rn_scene_attr_mask(l));
}

static int revive(struct rn_virtual *v, const struct rn_scn_line *l)
{
	const struct rn_scn_object *o = &v->s->qp[l->subject];
	struct rn_scn_line line = rn_scene_revived(o, l);

	return rn_scene_bring_up(o->type, rn_scene_attr(v->names, &line), l->subject,
				 modify_qp, v);
}

/* All may go, or so many. */
static void hold_or_go(struct rn_virtual *v, const struct rn_scn_line *l)
{
	v->let_go = l->verb == RN_SCN_GO ? rn_scn_get(l, RN_F_BY, 0) : 0;
	v->held = l->verb == RN_SCN_HOLD || v->let_go;
}

int rn_virtual_call(void *ctx, const struct rn_scn_line *l)
{
	struct rn_virtual *v = ctx;
	int rc = 0;

	if (rn_scn_is_cm_call(l->verb))
		rc = rn_virtual_cm_call(&v->cm, v->now, l);
	else if (l->verb == RN_SCN_POST)
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
	else if (l->verb == RN_SCN_UNMAP)
		v->unmapped[l->subject] = true;
	else if (l->verb == RN_SCN_HOLD || l->verb == RN_SCN_GO)
		hold_or_go(v, l);
	else if (l->verb == RN_SCN_JOIN || l->verb == RN_SCN_LEAVE)
		rc = rn_virtual_join(v, l->subject, l->verb == RN_SCN_JOIN);
	else
		rn_virtual_remove_region(v, l->subject);
	rn_virtual_flush(v);
	return rc;
}
