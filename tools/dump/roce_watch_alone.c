/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* roce_watch_alone.c - what is wrong with a packet whatever came before it. */
#include <inttypes.h>

#include "roce_watch_internal.h"
#include "rocin/gsi.h"

enum {
	PAYLOAD_MAX = 4096,
	PKEY_BASE = 0x7fff,
	DMALEN_MAX = 0x80000000,
};

static bool is_mtu(uint32_t len)
{
	return len >= 256 && len <= PAYLOAD_MAX && (len & (len - 1)) == 0;
}

/* Return: false if there is nothing more to be read. */
static bool check_form(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;

	switch (p->form) {
	case RN_PACKET_NO_BTH:
		rn_watch_say(job, RN_RULE_SHORT, "%" PRIu32 " bytes, a BTH has 12",
			     p->said);
		return false;
	case RN_PACKET_VERSION:
		rn_watch_say(job, RN_RULE_VERSION, "%s", "");
		return false;
	case RN_PACKET_NO_OPCODE:
		/* Those of manufacturers are theirs. */
		if (rn_opcode_class(p->bth.opcode) < RN_CLASS_MANUFACTURER_0)
			rn_watch_say(job, RN_RULE_OPCODE, "0x%02x", p->bth.opcode);
		return false;
	case RN_PACKET_SHORT:
		rn_watch_say(job, RN_RULE_SHORT, "%" PRIu32 " bytes, headers and ICRC %u",
			     p->said, p->op->hdr_len + p->bth.pad_cnt + RN_ICRC_LEN);
		return false;
	case RN_PACKET_CUT:
		return false;
	case RN_PACKET_WHOLE:
		break;
	}
	return true;
}

static void check_bth(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags;

	if (p->bth.dest_qpn == 0)
		rn_watch_say(job, RN_RULE_DEST_QP, "%s", "");
	if ((p->bth.pkey & PKEY_BASE) == 0)
		rn_watch_say(job, RN_RULE_PKEY, "0x%04x", p->bth.pkey);
	if (p->bth.solicited && !(flags & RN_OP_COMPLETES_RECV && flags & RN_OP_REQUEST))
		rn_watch_say(job, RN_RULE_SOLICITED, "%s", p->op->name);
	if (p->bth.dest_qpn == RN_QPN_MULTICAST && !(flags & RN_OP_DETH))
		rn_watch_say(job, RN_RULE_MULTICAST, "%s", p->op->name);
}

/* What the opcode and the place in a message say about the payload. */
static void check_payload(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags, len = p->payload_len;

	if ((len + p->bth.pad_cnt) % 4)
		rn_watch_say(job, RN_RULE_PAD, "%" PRIu32 " bytes, PadCnt %u", len,
			     p->bth.pad_cnt);
	if (!(flags & RN_OP_PAYLOAD)) {
		if (len && !(flags & RN_OP_NOTIFY))
			rn_watch_say(job, RN_RULE_NO_PAYLOAD, "%" PRIu32 " bytes", len);
		return;
	}
	if (len > PAYLOAD_MAX)
		rn_watch_say(job, RN_RULE_PAYLOAD_MAX, "%" PRIu32, len);
	else if (!(flags & RN_OP_LAST) && !is_mtu(len))
		rn_watch_say(job, RN_RULE_MTU_SIZE, "%" PRIu32, len);
	if (!(flags & RN_OP_FIRST) && flags & RN_OP_LAST && len == 0)
		rn_watch_say(job, RN_RULE_LAST_EMPTY, "%s", "");
}

static void check_reth(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	uint32_t flags = p->op->flags;

	if (p->reth.dma_len > DMALEN_MAX)
		rn_watch_say(job, RN_RULE_DMALEN, "%" PRIu32, p->reth.dma_len);
	if (p->op->kind == RN_OP_KIND_WRITE && flags & RN_OP_LAST &&
	    p->payload_len != p->reth.dma_len)
		rn_watch_say(job, RN_RULE_WRITE_LEN,
			     "DMALen %" PRIu32 ", payload %" PRIu32, p->reth.dma_len,
			     p->payload_len);
	if (p->op->kind == RN_OP_KIND_ATOMIC_WRITE) {
		if (p->reth.va % 8)
			rn_watch_say(job, RN_RULE_ATOMIC_ALIGN, "0x%" PRIx64, p->reth.va);
		if (p->payload_len != 8 || p->reth.dma_len != 8)
			rn_watch_say(job, RN_RULE_ATOMIC_WRITE,
				     "DMALen %" PRIu32 ", payload %" PRIu32,
				     p->reth.dma_len, p->payload_len);
	}
}

static void check_aeth(struct rn_watch_job *job)
{
	uint8_t syndrome = job->p->aeth.syndrome;
	enum rn_aeth_type type = rn_aeth_type(syndrome);

	if (type == RN_AETH_RESERVED)
		rn_watch_say(job, RN_RULE_SYNDROME, "0x%02x", syndrome);
	else if (type == RN_AETH_NAK && rn_aeth_value(syndrome) >= RN_NAK_INVALID_RD_REQ)
		rn_watch_say(job, RN_RULE_NAK_CODE, "%u", rn_aeth_value(syndrome));
	if (job->p->op->kind != RN_OP_KIND_ACK && type != RN_AETH_ACK)
		rn_watch_say(job, RN_RULE_RESPONSE_AETH, "syndrome 0x%02x", syndrome);
}

static void check_datagram(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;

	if (p->bth.dest_qpn != RN_QPN_GSI)
		return;
	if (p->payload_len != RN_MAD_LEN)
		rn_watch_say(job, RN_RULE_MAD, "%" PRIu32 " bytes", p->payload_len);
	else if (p->deth.qkey != RN_GSI_QKEY)
		rn_watch_say(job, RN_RULE_MAD, "Q_Key 0x%" PRIx32, p->deth.qkey);
}

static void check_cnp(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;
	const uint8_t *zero = p->at + RN_BTH_LEN;

	if (!p->bth.becn)
		rn_watch_say(job, RN_RULE_CNP, "BECN is 0");
	if (p->payload_len)
		rn_watch_say(job, RN_RULE_CNP, "%" PRIu32 " bytes too many",
			     p->payload_len);
	for (unsigned i = 0; i < RN_CNP_RESERVED_LEN; i++) {
		if (zero[i] != 0) {
			rn_watch_say(job, RN_RULE_CNP, "byte %u is 0x%02x",
				     RN_BTH_LEN + i, zero[i]);
			break;
		}
	}
}

void rn_watch_alone(struct rn_watch_job *job)
{
	const struct rn_packet *p = job->p;

	if (p->icrc == RN_PACKET_ICRC_WRONG)
		rn_watch_say(job, RN_RULE_ICRC, "%s", "");
	if (p->is_a_part || !p->has_df)
		rn_watch_say(job, RN_RULE_FRAGMENT, "%s",
			     p->is_a_part ? "a fragment" : "DF is 0");
	if (p->has_options)
		rn_watch_say(job, RN_RULE_IP_OPTIONS, "%s", "");
	if (!check_form(job))
		return;
	/* The fields of a damaged packet are nobody's. */
	if (p->icrc == RN_PACKET_ICRC_WRONG || p->icrc == RN_PACKET_ICRC_OPEN)
		return;
	check_bth(job);
	check_payload(job);
	if (p->op->flags & RN_OP_RETH)
		check_reth(job);
	if (p->op->flags & RN_OP_ATOMIC_ETH && p->atomic.va % 8)
		rn_watch_say(job, RN_RULE_ATOMIC_ALIGN, "0x%" PRIx64, p->atomic.va);
	if (p->op->flags & RN_OP_AETH)
		check_aeth(job);
	if (p->op->flags & RN_OP_DETH)
		check_datagram(job);
	if (p->op->flags & RN_OP_NOTIFY)
		check_cnp(job);
}
