/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* recording_fields.c - the fields of every kind of record.
 *
 * What the core is given has its fields visited here, all of them: unit.record-complete
 * looks for each. A new one also raises RN_REC_VERSION.
 */
#include "recording_fields.h"

#define N(member) RN_VISIT_NUMBER(v, s, member)

/* ------------------------------------------------------------------- parts */
static void visit_gid(struct rn_visit *v, const char *name, struct rn_gid *gid)
{
	rn_visit_raw(v, name, gid->raw, sizeof(gid->raw));
}

static void visit_flow(struct rn_visit *v, struct rn_flow *s)
{
	visit_gid(v, "src", &s->src);
	visit_gid(v, "dst", &s->dst);
	N(ifindex);
	N(sport);
	N(tclass);
	N(hop_limit);
}

static void visit_av(struct rn_visit *v, struct rn_av *s)
{
	visit_gid(v, "dgid", &s->dgid);
	N(flow_label);
	N(sgid_index);
	N(hop_limit);
	N(tclass);
	N(sl);
}

static void visit_mem_attr(struct rn_visit *v, struct rn_mem_attr *s)
{
	N(qpn);
	N(flags);
	N(msg);
}

/* ------------------------------------------------------------------ device */
static void visit_dev_init(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_dev_cfg *s = &rec->u.dev_init.cfg;

	for (unsigned i = 0; i < RN_GID_MAX; i++)
		visit_gid(v, "gid", &s->gid[i]);
	N(gid_count);
	N(ifindex);
	N(mtu_max);
	N(icrc_exact);
	N(window_start);
	N(window_min);
	N(window_max);
	N(read_window);
	N(read_chunk);
	N(credits);
	N(cc);
	N(cc_line);
	RN_VISIT_NUMBER(v, &rec->u.dev_init, always_done);
	RN_VISIT_NUMBER(v, &rec->u.dev_init, has_read_part);
	RN_VISIT_NUMBER(v, &rec->u.dev_init, has_before_ack);
	N(timeout_scale);
}

static void visit_set_gid(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_gid *s = &rec->u.gid;

	N(index);
	visit_gid(v, "gid", &s->gid);
}

static void visit_peer_holds(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_peer_holds *s = &rec->u.peer_holds;

	visit_gid(v, "gid", &s->gid);
	N(slot);
	N(taken);
}

static void visit_receive(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_receive *r = &rec->u.receive;

	RN_VISIT_NUMBER(v, r, count);
	if (r->count > RN_REC_RX_MAX) {
		v->failed = true;
		r->count = 0;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		struct rn_rec_rx *s = &r->rx[i];

		visit_flow(v, &s->flow);
		N(gro_idx);
		N(icrc);
		rn_visit_bytes(v, "data", &s->data, &s->len);
	}
}

static void visit_transmit(struct rn_visit *v, struct rn_rec *rec)
{
	RN_VISIT_NUMBER(v, &rec->u, what);
}

static void visit_mem_done(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_mem_done *s = &rec->u.mem_done;

	N(tag);
	N(number);
	N(result);
	rn_visit_bytes(v, "data", &s->data, &s->len);
}

static void visit_grow(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_grow *s = &rec->u.grow;

	N(table);
	N(count);
}

/* ----------------------------------------------------------------- objects */
static void visit_ring(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_cq *s = &rec->u.cq;

	N(ring);
	N(capacity);
}

static void visit_cq_arm(struct rn_visit *v, struct rn_rec *rec)
{
	RN_VISIT_NUMBER(v, &rec->u.cq, arm);
}

static void visit_cq_moderate(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_cq *s = &rec->u.cq;

	N(count);
	N(period);
}

static void visit_qp_create(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_qp_init *s = &rec->u.qp_init.init;

	N(type);
	N(qpn);
	N(pd);
	RN_VISIT_NUMBER(v, &rec->u.qp_init, send_cq);
	RN_VISIT_NUMBER(v, &rec->u.qp_init, recv_cq);
	RN_VISIT_NUMBER(v, &rec->u.qp_init, srq);
	N(xrcd);
	N(max_send_wr);
	N(max_recv_wr);
	N(max_send_sge);
	N(max_recv_sge);
	N(max_inline);
	N(sq_sig_all);
}

static void visit_modify(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_qp_attr *s = &rec->u.modify.attr;

	RN_VISIT_NUMBER(v, &rec->u.modify, mask);
	N(state);
	N(cur_state);
	N(path_mtu);
	N(qkey);
	N(rq_psn);
	N(sq_psn);
	N(dest_qpn);
	N(access);
	visit_av(v, &s->av);
	N(pkey_index);
	N(port_num);
	N(max_rd_atomic);
	N(max_dest_rd_atomic);
	N(min_rnr_timer);
	N(timeout);
	N(retry_cnt);
	N(rnr_retry);
	N(en_sqd_async_notify);
	visit_av(v, &s->alt.av);
	RN_VISIT_NUMBER(v, &s->alt, pkey_index);
	RN_VISIT_NUMBER(v, &s->alt, port_num);
	RN_VISIT_NUMBER(v, &s->alt, timeout);
	N(mig_state);
}

static void visit_pace(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_pace *s = &rec->u.pace;

	N(kbps);
	N(burst);
}

static void visit_mr(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_mr *s = &rec->u.mr;

	N(lkey);
	N(pd);
	N(va);
	N(length);
	N(iova_base);
	N(access);
	N(kind);
	N(valid);
}

static void visit_srq_create(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_srq_init *s = &rec->u.srq.init;

	N(srqn);
	N(pd);
	N(max_wr);
	N(max_sge);
	N(xrcd);
	RN_VISIT_NUMBER(v, &rec->u.srq, cq);
}

static void visit_srq_number(struct rn_visit *v, struct rn_rec *rec)
{
	RN_VISIT_NUMBER(v, &rec->u.srq, number);
	RN_VISIT_NUMBER(v, rec, result);
}

static void visit_mcast(struct rn_visit *v, struct rn_rec *rec)
{
	RN_VISIT_NUMBER(v, &rec->u.mcast, qp);
	visit_gid(v, "mgid", &rec->u.mcast.mgid);
}

/* ----------------------------------------------------------- work requests */
static void visit_sg(struct rn_visit *v, struct rn_rec_post *p)
{
	RN_VISIT_NUMBER(v, &p->wr, num_sge);
	RN_VISIT_NUMBER(v, p, count);
	if (p->count > RN_SGE_MAX) {
		v->failed = true;
		p->count = 0;
	}
	for (uint32_t i = 0; i < p->count; i++) {
		struct rn_sge *s = &p->sg[i].sge;

		N(addr);
		N(len);
		N(lkey);
		if (p->wr.flags & RN_SEND_INLINE)
			rn_visit_bytes(v, "data", &p->sg[i].data, &p->sg[i].len);
	}
}

static void visit_post_send(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_post *p = &rec->u.post;
	struct rn_send_wr *s = &p->wr;

	N(wr_id);
	N(opcode);
	N(flags);
	N(imm);
	N(remote_addr);
	N(rkey);
	N(compare_add);
	N(swap);
	N(bind_length);
	N(bind_region);
	N(bind_access);
	N(flush_length);
	N(flush_placement);
	N(flush_selectivity);
	RN_VISIT_NUMBER(v, p, has_av);
	if (p->has_av)
		visit_av(v, &p->av);
	N(remote_qpn);
	N(remote_qkey);
	N(remote_srqn);
	visit_sg(v, p);
}

static void visit_post_recv(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_post *p = &rec->u.post;

	RN_VISIT_NUMBER(v, &p->wr, wr_id);
	visit_sg(v, p);
}

static void visit_srq_post_recv(struct rn_visit *v, struct rn_rec *rec)
{
	visit_post_recv(v, rec);
	RN_VISIT_NUMBER(v, rec, result);
}

static void visit_receive_frame(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_rx_frame *s = &rec->u.rx_frame;

	N(tag);
	N(checksums_ok);
	rn_visit_bytes(v, "data", &s->data, &s->len);
}

/* ---------------------------------------------------------------- accesses */
static void visit_read(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_read *s = &rec->u.read;

	N(src);
	N(len);
	visit_mem_attr(v, &s->attr);
	N(tag);
	N(at);
	N(result);
	N(number);
	rn_visit_bytes(v, "data", &s->data, &s->data_len);
}

static void visit_write(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_write *s = &rec->u.write;

	N(dst);
	N(len);
	visit_mem_attr(v, &s->attr);
	N(packet);
	N(offset);
	N(result);
	rn_visit_bytes(v, "data", &s->data, &s->data_len);
}

static void visit_atomic(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_atomic *s = &rec->u.atomic;

	RN_VISIT_NUMBER(v, &s->req, op);
	RN_VISIT_NUMBER(v, &s->req, dst);
	RN_VISIT_NUMBER(v, &s->req, operand);
	RN_VISIT_NUMBER(v, &s->req, compare);
	visit_mem_attr(v, &s->attr);
	N(tag);
	N(result);
	N(orig);
	N(number);
}

static void visit_before_ack(struct rn_visit *v, struct rn_rec *rec)
{
	RN_VISIT_NUMBER(v, &rec->u, qpn);
}

/* ---------------------------------------------------------------- outcomes */
static void visit_result(struct rn_visit *v, struct rn_rec *rec)
{
	RN_VISIT_NUMBER(v, rec, result);
}

static void visit_packet(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_packet *s = &rec->u.packet;

	rn_visit_bytes(v, "data", &s->data, &s->len);
	if (s->len == 0)
		return;
	visit_flow(v, &s->flow);
	N(dest_qpn);
	N(src_qpn);
	N(response);
}

static void visit_frame(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_packet *s = &rec->u.packet;

	rn_visit_bytes(v, "data", &s->data, &s->len);
	N(flags);
}

static void visit_event(struct rn_visit *v, struct rn_rec *rec)
{
	struct rn_rec_event *s = &rec->u.event;

	N(some);
	N(completion);
	N(async);
	N(object);
}

/* clang-format off */
const struct rn_rec_kind_info rn_rec_kinds[RN_REC_KINDS] = {
	/*				name	     class	 now   id	  */
	[RN_REC_END_OF_FILE]    = { "end_of_file",    RN_REC_NOTE, 0, 0, NULL },

	[RN_CALL_DEV_INIT]       = { "dev_init",       RN_REC_CALL, 0, 0, visit_dev_init },
	[RN_CALL_DEV_FINI]       = { "dev_fini",       RN_REC_CALL, 0, 0, NULL },
	[RN_CALL_SET_GID]        = { "set_gid",        RN_REC_CALL, 0, 0, visit_set_gid },
	[RN_CALL_RECEIVE]        = { "receive",        RN_REC_CALL, 1, 0, visit_receive },
	[RN_CALL_TRANSMIT]       = { "transmit",       RN_REC_CALL, 1, 0, visit_transmit },
	[RN_CALL_EXPIRE]         = { "expire",         RN_REC_CALL, 1, 0, NULL },
	[RN_CALL_PEER_HOLDS]     = { "peer_holds",     RN_REC_CALL, 1, 0, visit_peer_holds },
	[RN_CALL_MEM_DONE]       = { "mem_done",       RN_REC_CALL, 1, 0, visit_mem_done },
	[RN_CALL_DEV_ERROR]      = { "dev_error",      RN_REC_CALL, 1, 0, NULL },
	[RN_CALL_TAKE_EVENT]     = { "take_event",     RN_REC_CALL, 0, 0, NULL },
	[RN_CALL_GROW]           = { "grow",           RN_REC_CALL, 0, 0, visit_grow },
	[RN_CALL_CQ_INIT]        = { "cq_init",        RN_REC_LONE, 0, 1, visit_ring },
	[RN_CALL_CQ_MOVE]        = { "cq_move",        RN_REC_LONE, 0, 1, visit_ring },
	[RN_CALL_CQ_ARM]         = { "cq_arm",         RN_REC_LONE, 0, 1, visit_cq_arm },
	[RN_CALL_CQ_MODERATE]    = { "cq_moderate",    RN_REC_CALL, 0, 1, visit_cq_moderate },
	[RN_CALL_CQ_FINI]        = { "cq_fini",        RN_REC_CALL, 0, 1, NULL },
	[RN_CALL_QP_CREATE]      = { "qp_create",      RN_REC_CALL, 0, 1, visit_qp_create },
	[RN_CALL_QP_MODIFY]      = { "qp_modify",      RN_REC_CALL, 1, 1, visit_modify },
	[RN_CALL_QP_PACE]        = { "qp_pace",        RN_REC_LONE, 1, 1, visit_pace },
	[RN_CALL_QP_DESTROY]     = { "qp_destroy",     RN_REC_CALL, 0, 1, NULL },
	[RN_CALL_QP_FAIL]        = { "qp_fail",        RN_REC_CALL, 1, 1, NULL },
	[RN_CALL_QP_OVERRUN]     = { "qp_overrun",     RN_REC_CALL, 1, 1, visit_transmit },
	[RN_CALL_POST_SEND]      = { "post_send",      RN_REC_CALL, 1, 1, visit_post_send },
	[RN_CALL_POST_RECV]      = { "post_recv",      RN_REC_CALL, 1, 1, visit_post_recv },
	[RN_CALL_ADD_MR]         = { "add_mr",         RN_REC_CALL, 0, 1, visit_mr },
	[RN_CALL_REMOVE_MR]      = { "remove_mr",      RN_REC_CALL, 0, 1, NULL },
	[RN_CALL_SRQ_CREATE]     = { "srq_create",     RN_REC_CALL, 0, 1, visit_srq_create },
	[RN_CALL_SRQ_POST_RECV]  = { "srq_post_recv",  RN_REC_LONE, 0, 1, visit_srq_post_recv },
	[RN_CALL_SRQ_SET_LIMIT]  = { "srq_set_limit",  RN_REC_LONE, 0, 1, visit_srq_number },
	[RN_CALL_SRQ_RESIZE]     = { "srq_resize",     RN_REC_LONE, 0, 1, visit_srq_number },
	[RN_CALL_SRQ_DESTROY]    = { "srq_destroy",    RN_REC_LONE, 0, 1, NULL },
	[RN_CALL_MCAST_ATTACH]   = { "mcast_attach",   RN_REC_CALL, 0, 1, visit_mcast },
	[RN_CALL_MCAST_DETACH]   = { "mcast_detach",   RN_REC_CALL, 0, 1, NULL },
	[RN_CALL_TRANSMIT_FRAME] = { "transmit_frame", RN_REC_CALL, 1, 0, NULL },
	[RN_CALL_RECEIVE_FRAME]  = { "receive_frame",  RN_REC_CALL, 1, 1, visit_receive_frame },

	[RN_REC_READ]           = { "read",           RN_REC_ACCESS, 0, 0, visit_read },
	[RN_REC_WRITE]          = { "write",          RN_REC_ACCESS, 0, 0, visit_write },
	[RN_REC_ATOMIC]         = { "atomic",         RN_REC_ACCESS, 0, 0, visit_atomic },
	[RN_REC_BEFORE_ACK]     = { "before_ack",     RN_REC_ACCESS, 0, 0, visit_before_ack },
	[RN_REC_OVERRUN]        = { "overrun",        RN_REC_NOTE, 0, 1, NULL },

	[RN_REC_DONE]           = { "done",           RN_REC_OUTCOME, 0, 0, NULL },
	[RN_REC_RESULT]         = { "result",         RN_REC_OUTCOME, 0, 0, visit_result },
	[RN_REC_PACKET]         = { "packet",         RN_REC_OUTCOME, 0, 0, visit_packet },
	[RN_REC_FRAME]          = { "frame",          RN_REC_OUTCOME, 0, 0, visit_frame },
	[RN_REC_EVENT]          = { "event",          RN_REC_OUTCOME, 0, 0, visit_event },

	[RN_REC_LIMIT]          = { "limit",          RN_REC_NOTE, 0, 0, NULL },
};
/* clang-format on */
