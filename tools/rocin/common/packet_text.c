/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* packet_text.c - formats addresses and RoCEv2 packets as text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "packet_text.h"
#include "rocin/mad.h"

/* A line to which text is appended; text that does not fit is cut off. */
struct line {
	char *text;
	size_t len, used;
};

static void add_words(struct line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add_words(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->used, l->len - l->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->used +=
			(size_t)n < l->len - l->used ? (size_t)n : l->len - l->used - 1;
}

static void add_syndrome(struct line *l, uint8_t syndrome)
{
	static const char *const nak[] = { "PSN sequence error", "invalid request",
					   "remote access error",
					   "remote operational error",
					   "invalid RD request" };
	uint8_t value = rn_aeth_value(syndrome);

	switch (rn_aeth_type(syndrome)) {
	case RN_AETH_ACK:
		add_words(l, " ACK");
		if (value != RN_AETH_NO_CREDIT)
			add_words(l, " credits %" PRIu32, rn_aeth_credits(value));
		break;
	case RN_AETH_RNR:
		add_words(l, " RNR NAK %.2f ms", (double)rn_rnr_timer_ns(value) / 1e6);
		break;
	case RN_AETH_NAK:
		add_words(l, " NAK %s",
			  value < RN_ARRAY_SIZE(nak) ? nak[value] : "reserved");
		break;
	case RN_AETH_RESERVED:
		add_words(l, " reserved syndrome 0x%02x", syndrome);
		break;
	}
}

/* Adds the headers behind the BTH, in the order in which they are sent. */
static void add_headers(struct line *l, const struct rn_packet *p)
{
	uint32_t flags = p->op->flags;

	if (flags & RN_OP_DETH)
		add_words(l, " qkey 0x%" PRIx32 " src-qp 0x%" PRIx32, p->deth.qkey,
			  p->deth.src_qpn);
	if (flags & RN_OP_XRCETH)
		add_words(l, " srq 0x%" PRIx32, p->srqn);
	if (flags & RN_OP_FETH)
		add_words(l, "%s%s%s",
			  p->feth.placement & RN_FLUSH_GLOBAL ? " global" : "",
			  p->feth.placement & RN_FLUSH_PERSISTENT ? " persistent" : "",
			  p->feth.selectivity == RN_FLUSH_MR ? " region" : "");
	if (flags & RN_OP_RETH)
		add_words(l, " va 0x%" PRIx64 " rkey 0x%" PRIx32 " dmalen %" PRIu32,
			  p->reth.va, p->reth.rkey, p->reth.dma_len);
	if (flags & RN_OP_ATOMIC_ETH)
		add_words(l,
			  " va 0x%" PRIx64 " rkey 0x%" PRIx32 " swap/add %" PRIu64
			  " compare %" PRIu64,
			  p->atomic.va, p->atomic.rkey, p->atomic.swap_add,
			  p->atomic.compare);
	if (flags & RN_OP_AETH) {
		add_syndrome(l, p->aeth.syndrome);
		add_words(l, " msn %" PRIu32, p->aeth.msn);
	}
	if (flags & RN_OP_ATOMIC_ACK_ETH)
		add_words(l, " original %" PRIu64, p->original);
	if (flags & RN_OP_IMM)
		add_words(l, " imm 0x%08" PRIx32, p->imm);
	if (flags & RN_OP_IETH)
		add_words(l, " invalidate 0x%" PRIx32, p->invalidate);
}

/* ---- Messages of the connection manager ---- */

static void add_req(struct line *l, const struct rn_cm_req *req)
{
	static const char *const transport[] = { "RC", "UC", "RD", "XRC" };

	add_words(l, " id 0x%" PRIx32 " service 0x%" PRIx64 " %s", req->local_id,
		  req->service_id, transport[req->transport & 3]);
	add_words(l,
		  " starting qp 0x%06" PRIx32 " psn %" PRIu32
		  " mtu %u reads %u/%u retry %u/%u",
		  req->qpn, req->start_psn,
		  req->mtu >= 1 && req->mtu <= 5 ? 128u << req->mtu : 0, req->init_depth,
		  req->resp_res, req->retry_count, req->rnr_retry_count);
}

static const char *rej_text(uint16_t reason)
{
	switch (reason) {
	case RN_CM_REJ_NO_QP:
		return ", no queue pair";
	case RN_CM_REJ_NO_RESOURCES:
		return ", no resources";
	case RN_CM_REJ_TIMEOUT:
		return ", timeout";
	case RN_CM_REJ_UNSUPPORTED:
		return ", unsupported request";
	case RN_CM_REJ_INVALID_COMM_ID:
		return ", invalid communication ID";
	case RN_CM_REJ_INVALID_SERVICE_ID:
		return ", nobody listens";
	case RN_CM_REJ_STALE_CONN:
		return ", stale connection";
	case RN_CM_REJ_CONSUMER:
		return ", by the program";
	default:
		return "";
	}
}

static void add_message(struct line *l, const struct rn_cm_msg *m)
{
	switch (m->attr) {
	case RN_CM_REQ:
		add_req(l, &m->req);
		break;
	case RN_CM_REP:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32, m->rep.local_id,
			  m->rep.remote_id);
		add_words(l,
			  " starting qp 0x%06" PRIx32 " psn %" PRIu32
			  " reads %u/%u rnr-retry %u",
			  m->rep.qpn, m->rep.start_psn, m->rep.init_depth,
			  m->rep.resp_res, m->rep.rnr_retry_count);
		break;
	case RN_CM_REJ:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32 " reason %u%s",
			  m->rej.local_id, m->rej.remote_id, m->rej.reason,
			  rej_text(m->rej.reason));
		break;
	case RN_CM_DREQ:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32 " remote-qp 0x%06" PRIx32,
			  m->dreq.local_id, m->dreq.remote_id, m->dreq.remote_qpn);
		break;
	case RN_CM_SIDR_REQ:
		add_words(l, " id 0x%" PRIx32 " service 0x%" PRIx64,
			  m->sidr_req.request_id, m->sidr_req.service_id);
		break;
	case RN_CM_SIDR_REP:
		add_words(l,
			  " id 0x%" PRIx32 " status %u remote-qp 0x%06" PRIx32
			  " remote-qkey 0x%" PRIx32,
			  m->sidr_rep.request_id, m->sidr_rep.status, m->sidr_rep.qpn,
			  m->sidr_rep.qkey);
		break;
	case RN_CM_APR:
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32 " status %u",
			  m->apr.local_id, m->apr.remote_id, m->apr.status);
		break;
	case RN_CM_MRA:
	case RN_CM_RTU:
	case RN_CM_DREP:
	case RN_CM_LAP:
		/* These messages begin with the communication IDs of both sides. */
		add_words(l, " id 0x%" PRIx32 " to 0x%" PRIx32, m->rtu.local_id,
			  m->rtu.remote_id);
		break;
	}
}

static void add_mad(struct line *l, const struct rn_packet *p)
{
	const uint8_t *mad = rn_packet_payload(p, RN_MAD_LEN);
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;

	if (!(p->op->flags & RN_OP_DETH) || p->bth.dest_qpn != RN_QPN_GSI || !mad)
		return;
	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.mgmt_class != RN_MAD_CLASS_CM ||
	    rn_cm_msg_parse(&msg, hdr.attr_id, mad + RN_MAD_HDR_LEN)) {
		add_words(l, " MAD class 0x%02x attribute 0x%04x", hdr.mgmt_class,
			  hdr.attr_id);
		return;
	}
	add_words(l, " CM %s", rn_cm_msg_name(hdr.attr_id));
	add_message(l, &msg);
}

/* Adds the part of the packet from its BTH on. */
static void add_transport(struct line *l, const struct rn_packet *p)
{
	const struct rn_bth *bth = &p->bth;

	if (p->form == RN_PACKET_NO_BTH || p->form == RN_PACKET_VERSION ||
	    p->have < RN_BTH_LEN) {
		add_words(l, "malformed BTH, %" PRIu32 " bytes", p->have);
		return;
	}
	if (p->op->flags)
		add_words(l, "%-22s", p->op->name);
	else
		add_words(l, "opcode 0x%02x          ", bth->opcode);
	add_words(l, " qp 0x%06" PRIx32 " psn %" PRIu32, bth->dest_qpn, bth->psn.v);
	if (p->form != RN_PACKET_WHOLE) {
		add_words(l, " %" PRIu32 " bytes%s", p->have,
			  p->form == RN_PACKET_SHORT ? ", shorter than its headers" : "");
		return;
	}
	add_headers(l, p);
	if (p->op->flags & RN_OP_PAYLOAD)
		add_words(l, " len %" PRIu32, p->payload_len);
	add_words(l, "%s%s", bth->ack_req ? " ackreq" : "", bth->solicited ? " se" : "");
	add_mad(l, p);
}

static const char *const icrc_diagnostics[] = {
	[RN_PACKET_ICRC_RIGHT] = "",
	[RN_PACKET_ICRC_WRONG] = " [wrong ICRC]",
	[RN_PACKET_ICRC_NONE] = " [no ICRC]",
	[RN_PACKET_ICRC_CUT] = " [cut off by the capture]",
	[RN_PACKET_ICRC_OPEN] = " [ICRC not judged: IPv4 options]",
};

void rn_packet_words(const struct rn_packet *p, char *text, size_t text_len)
{
	struct line l = { .text = text, .len = text_len };

	text[0] = '\0';
	add_transport(&l, p);
	add_words(&l, "%s", icrc_diagnostics[p->icrc]);
}

bool rn_packet_text(const uint8_t *ip, size_t len, char *text, size_t text_len)
{
	struct line l = { .text = text, .len = text_len };
	char src[RN_GID_TEXT_MAX], dst[RN_GID_TEXT_MAX];
	struct rn_packet p;

	if (!rn_packet_parse(&p, ip, len))
		return false;
	text[0] = '\0';
	add_words(&l, "%s > %s  ", rn_gid_text(&p.flow.src, src),
		  rn_gid_text(&p.flow.dst, dst));
	rn_packet_words(&p, text + l.used, text_len - l.used);
	return true;
}
