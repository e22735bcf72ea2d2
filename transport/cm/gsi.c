/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gsi.c - parses and builds packets with MADs for queue pair 1; see gsi.h. */
#include "rocin/gsi.h"
#include "rocin/gid.h"

#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

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

/* Is this a packet to QP1 with a MAD? Packets with another length are dropped silently
 * (IBTA Vol 1, 13.5.3.1).
 */
static bool is_mad_packet(const uint8_t *pkt, size_t len, struct rn_deth *deth)
{
	const uint8_t *end = pkt + len;
	struct rn_bth bth;

	if (len != RN_GSI_PACKET_LEN || rn_bth_parse(&bth, pkt, end) ||
	    rn_deth_parse(deth, pkt + RN_BTH_LEN, end))
		return false;
	return bth.opcode == RN_UD_SEND_ONLY && bth.dest_qpn == RN_QPN_GSI &&
	       bth.pad_cnt == 0 && deth->qkey == RN_GSI_QKEY &&
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

enum rn_gsi_verdict rn_gsi_receive(const struct rn_gsi *gsi, const struct rn_flow *flow,
				   const uint8_t *pkt, size_t len, struct rn_gsi_mad *out)
{
	const uint8_t *mad = pkt + RN_GSI_MAD_AT;
	struct rn_mad_hdr hdr;
	struct rn_deth deth;

	if (rn_gid_is_multicast(&flow->dst) || !is_mad_packet(pkt, len, &deth))
		return RN_GSI_DROP_PACKET;
	if (rn_icrc_check(NULL, flow, pkt, len, 0, false) == RN_ICRC_BAD)
		return RN_GSI_DROP_ICRC;
	rn_mad_hdr_parse(&hdr, mad);
	if (hdr.base_version != RN_MAD_BASE_VERSION ||
	    hdr.mgmt_class == RN_MAD_CLASS_SUBN_LID ||
	    hdr.mgmt_class == RN_MAD_CLASS_SUBN_DIRECTED)
		return RN_GSI_DROP_MAD;
	out->src_qpn = deth.src_qpn;
	out->mad = mad;
	if (is_cm(&hdr) && hdr.method == RN_MAD_SEND)
		return RN_GSI_CM;
	return answer(gsi, &hdr, mad, out->reply) ? RN_GSI_REPLY : RN_GSI_DROP_MAD;
}

void rn_gsi_seal(struct rn_gsi *gsi, struct rn_flow *flow, uint32_t dest_qpn,
		 uint8_t *pkt)
{
	const struct rn_bth bth = {
		.opcode = RN_UD_SEND_ONLY,
		.migreq = true,
		.pkey = PKEY_DEFAULT,
		.dest_qpn = dest_qpn,
		.psn = gsi->psn,
	};
	const struct rn_deth deth = { .qkey = RN_GSI_QKEY, .src_qpn = RN_QPN_GSI };
	uint8_t *p = rn_bth_emit(pkt, &bth);

	gsi->psn = rn_psn_add(gsi->psn, 1);
	if (!flow->sport)
		flow->sport = SPORT;
	rn_deth_emit(p, &deth);
	rn_icrc_seal(flow, 0, pkt, RN_GSI_PACKET_LEN - RN_ICRC_LEN);
}
