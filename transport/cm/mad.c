/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mad.c - management datagrams: the messages of the CM, by a table with a row for each
 * field; the header of a MAD, and the IP CM header in private data; and the packets of
 * queue pair 1 that carry MADs (gsi.h).
 */
#include <errno.h>
#include <string.h>

#include "rocin/gid.h"
#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "rocin/mad.h"
#include "rocin/opcode.h"
#include "rocin/peer_info.h"
#include "rocin/wire.h"

/* Where a field is in a message, and where the member of struct rn_cm_msg is that holds
 * its value.
 */
struct field {
	/* bits from the start of the message; bit 0 is the most significant bit of byte 0
	 */
	uint16_t bit;
	uint16_t width;	 /* bits of the field; more than 64: an array of bytes */
	uint16_t member; /* offset of the member in struct rn_cm_msg */
	uint16_t size;	 /* bytes of the member */
};

#define FIELD(byte_, bit_, width_, member_)                            \
	{                                                              \
		(byte_) * 8 + (bit_), (width_),                        \
			(uint16_t)offsetof(struct rn_cm_msg, member_), \
			sizeof(((struct rn_cm_msg *)0)->member_)       \
	}
#define BYTES(byte_, member_) \
	FIELD(byte_, 0, sizeof(((struct rn_cm_msg *)0)->member_) * 8, member_)

/* clang-format off */
static const struct field req_fields[] = {
	/*    byte bit width */
	FIELD(   0, 0, 32, req.local_id),
	FIELD(   5, 0, 24, req.vendor_id),
	FIELD(   8, 0, 64, req.service_id),
	FIELD(  16, 0, 64, req.ca_guid),
	FIELD(  28, 0, 32, req.qkey),
	FIELD(  32, 0, 24, req.qpn),
	FIELD(  35, 0,  8, req.resp_res),
	FIELD(  36, 0, 24, req.local_eecn),
	FIELD(  39, 0,  8, req.init_depth),
	FIELD(  40, 0, 24, req.remote_eecn),
	FIELD(  43, 0,  5, req.remote_resp_timeout),
	FIELD(  43, 5,  2, req.transport),
	FIELD(  43, 7,  1, req.flow_control),
	FIELD(  44, 0, 24, req.start_psn),
	FIELD(  47, 0,  5, req.local_resp_timeout),
	FIELD(  47, 5,  3, req.retry_count),
	FIELD(  48, 0, 16, req.pkey),
	FIELD(  50, 0,  4, req.mtu),
	FIELD(  50, 4,  1, req.rdc_exists),
	FIELD(  50, 5,  3, req.rnr_retry_count),
	FIELD(  51, 0,  4, req.max_cm_retries),
	FIELD(  51, 4,  1, req.srq),
	FIELD(  51, 5,  3, req.ext_transport),
	FIELD(  52, 0, 16, req.primary.local_lid),
	FIELD(  54, 0, 16, req.primary.remote_lid),
	BYTES(  56, req.primary.local_gid),
	BYTES(  72, req.primary.remote_gid),
	FIELD(  88, 0, 20, req.primary.flow_label),
	FIELD(  91, 2,  6, req.primary.rate),
	FIELD(  92, 0,  8, req.primary.tclass),
	FIELD(  93, 0,  8, req.primary.hop_limit),
	FIELD(  94, 0,  4, req.primary.sl),
	FIELD(  94, 4,  1, req.primary.subnet_local),
	FIELD(  95, 0,  5, req.primary.ack_timeout),
	FIELD(  96, 0, 16, req.alternate.local_lid),
	FIELD(  98, 0, 16, req.alternate.remote_lid),
	BYTES( 100, req.alternate.local_gid),
	BYTES( 116, req.alternate.remote_gid),
	FIELD( 132, 0, 20, req.alternate.flow_label),
	FIELD( 135, 2,  6, req.alternate.rate),
	FIELD( 136, 0,  8, req.alternate.tclass),
	FIELD( 137, 0,  8, req.alternate.hop_limit),
	FIELD( 138, 0,  4, req.alternate.sl),
	FIELD( 138, 4,  1, req.alternate.subnet_local),
	FIELD( 139, 0,  5, req.alternate.ack_timeout),
	FIELD( 139, 5,  1, req.sap_supported),
};

static const struct field mra_fields[] = {
	FIELD(   0, 0, 32, mra.local_id),
	FIELD(   4, 0, 32, mra.remote_id),
	FIELD(   8, 0,  2, mra.about),
	FIELD(   9, 0,  5, mra.service_timeout),
};

static const struct field rej_fields[] = {
	FIELD(   0, 0, 32, rej.local_id),
	FIELD(   4, 0, 32, rej.remote_id),
	FIELD(   8, 0,  2, rej.about),
	FIELD(   9, 0,  7, rej.ari_len),
	FIELD(  10, 0, 16, rej.reason),
	BYTES(  12, rej.ari),
};

static const struct field rep_fields[] = {
	FIELD(   0, 0, 32, rep.local_id),
	FIELD(   4, 0, 32, rep.remote_id),
	FIELD(   8, 0, 32, rep.qkey),
	FIELD(  12, 0, 24, rep.qpn),
	FIELD(  15, 0,  8, rep.vendor_hi),
	FIELD(  16, 0, 24, rep.eecn),
	FIELD(  19, 0,  8, rep.vendor_mid),
	FIELD(  20, 0, 24, rep.start_psn),
	FIELD(  23, 0,  8, rep.vendor_low),
	FIELD(  24, 0,  8, rep.resp_res),
	FIELD(  25, 0,  8, rep.init_depth),
	FIELD(  26, 0,  5, rep.ack_delay),
	FIELD(  26, 5,  2, rep.failover),
	FIELD(  26, 7,  1, rep.flow_control),
	FIELD(  27, 0,  3, rep.rnr_retry_count),
	FIELD(  27, 3,  1, rep.srq),
	FIELD(  28, 0, 64, rep.ca_guid),
};

static const struct field ids_fields[] = {
	FIELD(   0, 0, 32, rtu.local_id),
	FIELD(   4, 0, 32, rtu.remote_id),
};

static const struct field dreq_fields[] = {
	FIELD(   0, 0, 32, dreq.local_id),
	FIELD(   4, 0, 32, dreq.remote_id),
	FIELD(   8, 0, 24, dreq.remote_qpn),
};

static const struct field sidr_req_fields[] = {
	FIELD(   0, 0, 32, sidr_req.request_id),
	FIELD(   4, 0, 16, sidr_req.pkey),
	FIELD(   8, 0, 64, sidr_req.service_id),
};

static const struct field sidr_rep_fields[] = {
	FIELD(   0, 0, 32, sidr_rep.request_id),
	FIELD(   4, 0,  8, sidr_rep.status),
	FIELD(   5, 0,  8, sidr_rep.ari_len),
	FIELD(   6, 0, 16, sidr_rep.vendor_hi),
	FIELD(   8, 0, 24, sidr_rep.qpn),
	FIELD(  11, 0,  8, sidr_rep.vendor_low),
	FIELD(  12, 0, 64, sidr_rep.service_id),
	FIELD(  20, 0, 32, sidr_rep.qkey),
	BYTES(  24, sidr_rep.ari),
};

static const struct field lap_fields[] = {
	FIELD(   0, 0, 32, lap.local_id),
	FIELD(   4, 0, 32, lap.remote_id),
	FIELD(  12, 0, 24, lap.remote_qpn),
	FIELD(  15, 0,  5, lap.remote_resp_timeout),
	FIELD(  20, 0, 16, lap.alternate.local_lid),
	FIELD(  22, 0, 16, lap.alternate.remote_lid),
	BYTES(  24, lap.alternate.local_gid),
	BYTES(  40, lap.alternate.remote_gid),
	FIELD(  56, 0, 20, lap.alternate.flow_label),
	FIELD(  59, 0,  8, lap.alternate.tclass),
	FIELD(  60, 0,  8, lap.alternate.hop_limit),
	FIELD(  61, 2,  6, lap.alternate.rate),
	FIELD(  62, 0,  4, lap.alternate.sl),
	FIELD(  62, 4,  1, lap.alternate.subnet_local),
	FIELD(  63, 0,  5, lap.alternate.ack_timeout),
};

static const struct field apr_fields[] = {
	FIELD(   0, 0, 32, apr.local_id),
	FIELD(   4, 0, 32, apr.remote_id),
	FIELD(   8, 0,  8, apr.ari_len),
	FIELD(   9, 0,  8, apr.status),
	BYTES(  12, apr.ari),
};
/* clang-format on */

#define ROW(attr_, fields_)                                                      \
	[RN_CM_##attr_ - RN_CM_REQ] = { #attr_, fields_, RN_ARRAY_SIZE(fields_), \
					RN_CM_##attr_##_DATA }

static const struct layout {
	const char *name;
	const struct field *fields;
	uint16_t count;
	uint16_t data_len; /* bytes of private data, which end each message */
} layouts[] = {
	ROW(REQ, req_fields),		ROW(MRA, mra_fields),
	ROW(REJ, rej_fields),		ROW(REP, rep_fields),
	ROW(RTU, ids_fields),		ROW(DREQ, dreq_fields),
	ROW(DREP, ids_fields),		ROW(SIDR_REQ, sidr_req_fields),
	ROW(SIDR_REP, sidr_rep_fields), ROW(LAP, lap_fields),
	ROW(APR, apr_fields),
};

static const struct layout *layout_of(uint16_t attr)
{
	if (attr < RN_CM_REQ || attr > RN_CM_APR)
		return NULL;
	return &layouts[attr - RN_CM_REQ];
}

const char *rn_cm_msg_name(uint16_t attr)
{
	const struct layout *l = layout_of(attr);

	return l ? l->name : NULL;
}

uint32_t rn_cm_data_len(enum rn_cm_attr attr)
{
	const struct layout *l = layout_of((uint16_t)attr);

	assert(l);
	return l->data_len;
}

/* ---- Reading and writing of bit fields ---- */

static uint64_t get_bits(const uint8_t *p, unsigned bit, unsigned width)
{
	uint64_t value = 0;

	/* Take whole bytes at a time, as long as the field is aligned: most fields
	 * consist of such bytes.
	 */
	while (width >= 8 && bit % 8 == 0) {
		value = value << 8 | p[bit / 8];
		bit += 8;
		width -= 8;
	}
	for (; width; width--, bit++)
		value = value << 1 | (p[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

/* Write a field into bits that are zero. */
static void put_bits(uint8_t *p, unsigned bit, unsigned width, uint64_t value)
{
	assert(width == 64 || value >> width == 0);
	while (width >= 8 && bit % 8 == 0) {
		p[bit / 8] = (uint8_t)(value >> (width - 8));
		bit += 8;
		width -= 8;
	}
	for (; width; width--, bit++)
		p[bit / 8] |= (uint8_t)((value >> (width - 1) & 1) << (7 - bit % 8));
}

/* ---- Members of the parsed form, and whole messages ---- */

static void store(void *member, unsigned size, uint64_t value)
{
	switch (size) {
	case 1: /* also bool, for fields of one bit */
		*(uint8_t *)member = (uint8_t)value;
		return;
	case 2:
		*(uint16_t *)member = (uint16_t)value;
		return;
	case 4:
		*(uint32_t *)member = (uint32_t)value;
		return;
	default:
		assert(size == 8);
		*(uint64_t *)member = value;
	}
}

static uint64_t load(const void *member, unsigned size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		return *(const uint16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		assert(size == 8);
		return *(const uint64_t *)member;
	}
}

int rn_cm_msg_parse(struct rn_cm_msg *msg, uint16_t attr, const uint8_t *data)
{
	const struct layout *l = layout_of(attr);

	if (!l)
		return -EPROTO;
	memset(msg, 0, sizeof(*msg));
	msg->attr = (enum rn_cm_attr)attr;
	for (unsigned i = 0; i < l->count; i++) {
		const struct field *f = &l->fields[i];
		uint8_t *member = (uint8_t *)msg + f->member;

		if (f->width > 64)
			memcpy(member, data + f->bit / 8, f->size);
		else
			store(member, f->size, get_bits(data, f->bit, f->width));
	}
	msg->data = data + RN_MAD_DATA_LEN - l->data_len;
	msg->data_len = l->data_len;
	return 0;
}

void rn_cm_msg_emit(uint8_t *data, const struct rn_cm_msg *msg)
{
	const struct layout *l = layout_of((uint16_t)msg->attr);

	assert(l);
	memset(data, 0, RN_MAD_DATA_LEN);
	for (unsigned i = 0; i < l->count; i++) {
		const struct field *f = &l->fields[i];
		const uint8_t *member = (const uint8_t *)msg + f->member;

		if (f->width > 64)
			memcpy(data + f->bit / 8, member, f->size);
		else
			put_bits(data, f->bit, f->width, load(member, f->size));
	}
	assert(msg->data_len <= l->data_len);
	if (msg->data_len)
		memcpy(data + RN_MAD_DATA_LEN - l->data_len, msg->data, msg->data_len);
}

/* ---- The header of a MAD, and the IP CM header ---- */

/* Offsets in a MAD. */
enum {
	BASE_VERSION = 0,
	MGMT_CLASS = 1,
	CLASS_VERSION = 2,
	METHOD = 3,
	STATUS = 4,
	CLASS_SPECIFIC = 6,
	TID = 8,
	ATTR_ID = 16,
	ATTR_MOD = 20,
};

/* Offsets in an IP CM header. */
enum {
	IP_CM_VERSION = 0, /* upper 4 bits: major version */
	IP_VERSION = 1,	   /* upper 4 bits */
	IP_SRC_PORT = 2,
	IP_SRC = 4,
	IP_DST = 20,
	IP_V4 = 12, /* start of an IPv4 address in the 16 bytes of its field */
};

void rn_mad_hdr_parse(struct rn_mad_hdr *hdr, const uint8_t *mad)
{
	*hdr = (struct rn_mad_hdr){
		.base_version = mad[BASE_VERSION],
		.mgmt_class = mad[MGMT_CLASS],
		.class_version = mad[CLASS_VERSION],
		.method = mad[METHOD],
		.status = rn_get_be16(mad + STATUS),
		.class_specific = rn_get_be16(mad + CLASS_SPECIFIC),
		.tid = rn_get_be64(mad + TID),
		.attr_id = rn_get_be16(mad + ATTR_ID),
		.attr_mod = rn_get_be32(mad + ATTR_MOD),
	};
}

void rn_mad_hdr_emit(uint8_t *mad, const struct rn_mad_hdr *hdr)
{
	mad[BASE_VERSION] = hdr->base_version;
	mad[MGMT_CLASS] = hdr->mgmt_class;
	mad[CLASS_VERSION] = hdr->class_version;
	mad[METHOD] = hdr->method;
	rn_put_be16(mad + STATUS, hdr->status);
	rn_put_be16(mad + CLASS_SPECIFIC, hdr->class_specific);
	rn_put_be64(mad + TID, hdr->tid);
	rn_put_be16(mad + ATTR_ID, hdr->attr_id);
	rn_put_be16(mad + ATTR_ID + 2, 0);
	rn_put_be32(mad + ATTR_MOD, hdr->attr_mod);
}

static struct rn_gid address(const uint8_t *p, bool ipv4)
{
	struct rn_gid gid = { { [10] = 0xff, [11] = 0xff } };

	if (ipv4)
		memcpy(gid.raw + IP_V4, p + IP_V4, sizeof(gid.raw) - IP_V4);
	else
		memcpy(gid.raw, p, sizeof(gid.raw));
	return gid;
}

int rn_cm_ip_hdr_parse(struct rn_cm_ip_hdr *hdr, const uint8_t *p)
{
	uint8_t version = p[IP_VERSION] >> 4;

	if (p[IP_CM_VERSION] >> 4 != 0)
		return -EPROTO;
	if (version != 4 && version != 6)
		return -EPROTO;
	*hdr = (struct rn_cm_ip_hdr){
		.src_port = rn_get_be16(p + IP_SRC_PORT),
		.src = address(p + IP_SRC, version == 4),
		.dst = address(p + IP_DST, version == 4),
	};
	return 0;
}

uint8_t *rn_cm_ip_hdr_emit(uint8_t *p, const struct rn_cm_ip_hdr *hdr)
{
	bool ipv4 = rn_gid_is_ipv4(&hdr->src);
	unsigned skip = ipv4 ? IP_V4 : 0;

	assert(rn_gid_is_ipv4(&hdr->dst) == ipv4);
	memset(p, 0, RN_CM_IP_HDR_LEN);
	p[IP_VERSION] = (uint8_t)((ipv4 ? 4 : 6) << 4);
	rn_put_be16(p + IP_SRC_PORT, hdr->src_port);
	memcpy(p + IP_SRC + skip, hdr->src.raw + skip, sizeof(hdr->src.raw) - skip);
	memcpy(p + IP_DST + skip, hdr->dst.raw + skip, sizeof(hdr->dst.raw) - skip);
	return p + RN_CM_IP_HDR_LEN;
}

/* ---- Packets of queue pair 1 ---- */

enum {
	PKEY_DEFAULT = 0xffff,
	PKEY_DEFAULT_LIMITED = 0x7fff, /* limited members may send to full members */
	/* UDP source port of all packets; one is enough, as their load need not
	 * be distributed
	 */
	SPORT = 0xc001,

	/* Offsets in the data of a ClassPortInfo. */
	CPI_BASE_VERSION = 0,
	CPI_CLASS_VERSION = 1,
	CPI_RESP_TIME = 7, /* low 5 bits */
};

/* Is this the length of a packet that carries a MAD? Packets with another length are
 * dropped silently (IBTA Vol 1, 13.5.3.1), except for those of peer_info.h, for which
 * @pkt has the whole MAD.
 */
static bool is_mad_length(const uint8_t *pkt, size_t len)
{
	if (len == RN_GSI_PACKET_LEN)
		return true;
	return len > RN_GSI_PACKET_LEN && len <= RN_PEER_ASK_MAX && len % 4 == 0 &&
	       pkt[RN_GSI_MAD_AT + MGMT_CLASS] == RN_MAD_CLASS_PEER_INFO;
}

/* Is this a packet to the QP @qpn with a MAD? */
static bool is_mad_packet(const uint8_t *pkt, size_t len, uint32_t qpn,
			  struct rn_deth *deth)
{
	const uint8_t *end = pkt + len;
	struct rn_bth bth;

	if (!is_mad_length(pkt, len) || rn_bth_parse(&bth, pkt, end) ||
	    rn_deth_parse(deth, pkt + RN_BTH_LEN, end))
		return false;
	return bth.opcode == RN_UD_SEND_ONLY && bth.dest_qpn == qpn && bth.pad_cnt == 0 &&
	       deth->qkey == RN_GSI_QKEY &&
	       (bth.pkey == PKEY_DEFAULT || bth.pkey == PKEY_DEFAULT_LIMITED);
}

static bool is_cm(const struct rn_mad_hdr *hdr)
{
	return hdr->mgmt_class == RN_MAD_CLASS_CM;
}

/* Write the data of a ClassPortInfo, which contains the supported version of the CM. */
static void answer_class_port_info(const struct rn_gsi *gsi, uint8_t *reply)
{
	uint8_t *data = reply + RN_MAD_HDR_LEN;

	memset(data, 0, RN_MAD_DATA_LEN);
	data[CPI_BASE_VERSION] = RN_MAD_BASE_VERSION;
	data[CPI_CLASS_VERSION] = RN_MAD_CM_VERSION;
	data[CPI_RESP_TIME] = gsi->resp_timeout & 0x1f;
}

static bool answer(const struct rn_gsi *gsi, const struct rn_mad_hdr *hdr,
		   const uint8_t *mad, uint8_t *pkt)
{
	uint8_t *reply = pkt + RN_GSI_MAD_AT;
	struct rn_mad_hdr to = *hdr;

	if (hdr->method != RN_MAD_GET && hdr->method != RN_MAD_SET)
		return false;
	memcpy(reply, mad, RN_MAD_LEN);
	to.method = RN_MAD_GET_RESP;
	if (is_cm(hdr) && hdr->class_version != RN_MAD_CM_VERSION) {
		to.status = RN_MAD_STATUS_BAD_VERSION;
	} else if (is_cm(hdr) && hdr->method == RN_MAD_GET &&
		   hdr->attr_id == RN_MAD_ATTR_CLASS_PORT_INFO) {
		to.status = 0;
		answer_class_port_info(gsi, reply);
	} else {
		to.status = RN_MAD_STATUS_BAD_METHOD_ATTR;
	}
	rn_mad_hdr_emit(reply, &to);
	return true;
}

const uint8_t *rn_gsi_find_mad(const struct rn_flow *flow, const uint8_t *pkt, size_t len,
			       uint32_t qpn, bool *is_damaged, uint32_t *src_qpn)
{
	struct rn_deth deth;

	*is_damaged = false;
	if (rn_gid_is_multicast(&flow->dst) || !is_mad_packet(pkt, len, qpn, &deth))
		return NULL;
	*is_damaged = rn_icrc_check(NULL, flow, pkt, len, 0, false) == RN_ICRC_BAD;
	*src_qpn = deth.src_qpn;
	return *is_damaged ? NULL : pkt + RN_GSI_MAD_AT;
}

enum rn_gsi_verdict rn_gsi_receive(const struct rn_gsi *gsi, const struct rn_flow *flow,
				   const uint8_t *pkt, size_t len, struct rn_gsi_mad *out)
{
	bool is_damaged;
	const uint8_t *mad =
		rn_gsi_find_mad(flow, pkt, len, RN_QPN_GSI, &is_damaged, &out->src_qpn);
	struct rn_mad_hdr hdr;

	if (!mad)
		return is_damaged ? RN_GSI_DROP_ICRC : RN_GSI_DROP_PACKET;
	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.base_version != RN_MAD_BASE_VERSION ||
	    hdr.mgmt_class == RN_MAD_CLASS_SUBN_LID ||
	    hdr.mgmt_class == RN_MAD_CLASS_SUBN_DIRECTED)
		return RN_GSI_DROP_MAD;
	out->mad = mad;
	if (is_cm(&hdr) && hdr.method == RN_MAD_SEND)
		return RN_GSI_CM;
	if (!answer(gsi, &hdr, mad, out->reply))
		return RN_GSI_DROP_MAD;
	return rn_peer_is_ask(mad) ? RN_GSI_PEER_INFO : RN_GSI_REPLY;
}

struct rn_flow rn_gsi_answer_flow(const struct rn_flow *f)
{
	return (struct rn_flow){
		.src = f->dst,
		.dst = f->src,
		.ifindex = f->ifindex,
		.tclass = f->tclass & 0xfc, /* without the ECN bits */
		.hop_limit = 64,
	};
}

void rn_gsi_seal_long(struct rn_gsi *gsi, struct rn_flow *flow, uint32_t src_qpn,
		      uint32_t dest_qpn, uint8_t *pkt, size_t len)
{
	const struct rn_bth bth = {
		.opcode = RN_UD_SEND_ONLY,
		.migreq = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = dest_qpn,
		.psn = gsi->psn,
	};
	const struct rn_deth deth = { .qkey = RN_GSI_QKEY, .src_qpn = src_qpn };
	uint8_t *p = rn_bth_emit(pkt, &bth);

	gsi->psn = rn_psn_add(gsi->psn, 1);
	if (!flow->sport)
		flow->sport = SPORT;
	rn_deth_emit(p, &deth);
	rn_icrc_seal(flow, 0, pkt, len - RN_ICRC_LEN);
}
