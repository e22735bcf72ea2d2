/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw.c - the test as the peer of a device: encodes and sends packets, and checks the
 * packets that the device sends.
 */
#include "raw.h"

#include "rocin/wire.h"

static void rc0(struct rn_qp_attr *a)
{
	a->sq_psn = RAW_PSN_TX;
	a->rq_psn = RAW_PSN_RX;
	a->max_rd_atomic = 2;
	a->max_dest_rd_atomic = 2;
	a->min_rnr_timer = 12;
	a->timeout = 14;
	a->retry_cnt = 3;
	a->rnr_retry = 3;
}

struct raw raw_new(const struct pair_cfg *cfg, enum rn_qp_type type,
		   enum rn_qp_state state, void (*change)(struct rn_qp_attr *))
{
	struct pair_cfg c = cfg ? *cfg : (struct pair_cfg){ .mtu_max = 1024 };
	struct raw r = { 0 };
	struct rn_qp_attr attr;

	c.devices = 1;
	r.p = pair_new(&c);
	r.q = pair_qp_new(r.p, 0, type);
	r.mr = pair_mr_new(r.p, 0, RAW_MR_LEN,
			   RN_ACCESS_LOCAL_WRITE | RN_ACCESS_REMOTE_WRITE |
				   RN_ACCESS_REMOTE_READ | RN_ACCESS_REMOTE_ATOMIC);
	attr = pair_attr(r.q, 1, RAW_PEER_QPN);
	rc0(&attr);
	if (change)
		change(&attr);
	if (state != RN_QPS_RESET)
		pair_modify_until(r.q, &attr, state);
	return r;
}

void raw_free(struct raw *r)
{
	pair_free(r->p);
}

struct rn_flow raw_flow(const struct raw *r)
{
	return (struct rn_flow){ .src = r->p->gid[1],
				 .dst = r->p->gid[0],
				 .ifindex = 7,
				 .sport = 0xc123,
				 .hop_limit = 64 };
}

static uint8_t *put_headers(const struct raw_packet *k, uint32_t fl, uint8_t *p)
{
	struct rn_deth deth = k->deth;

	if (deth.src_qpn == 0)
		deth.src_qpn = RAW_PEER_QPN;
	if (fl & RN_OP_DETH)
		p = rn_deth_emit(p, &deth);
	if (fl & RN_OP_XRCETH)
		p = rn_xrceth_emit(p, k->srqn);
	if (fl & RN_OP_FETH)
		p = rn_feth_emit(p, &k->feth);
	if (fl & RN_OP_RETH)
		p = rn_reth_emit(p, &k->reth);
	if (fl & RN_OP_ATOMIC_ETH)
		p = rn_atomic_eth_emit(p, &k->atomic);
	if (fl & RN_OP_AETH)
		p = rn_aeth_emit(p, &k->aeth);
	if (fl & RN_OP_ATOMIC_ACK_ETH)
		p = rn_atomic_ack_eth_emit(p, k->atomic_ack);
	if (fl & RN_OP_IMM)
		p = rn_imm_emit(p, k->imm);
	if (fl & RN_OP_IETH)
		p = rn_ieth_emit(p, k->ieth);
	return p;
}

uint32_t raw_encode(const struct raw *r, const struct raw_packet *k, uint8_t *buf)
{
	struct rn_flow flow = raw_flow(r);
	uint8_t pad = k->pad == RAW_AUTO_PAD ? rn_pad_cnt(k->len) : (uint8_t)(k->pad - 1);
	struct rn_bth bth = {
		.opcode = k->op,
		.solicited = k->solicited,
		.migreq = true,
		.ack_req = k->ack_req,
		.fecn = k->fecn,
		.becn = k->becn,
		.pad_cnt = pad,
		.pkey = k->pkey ? k->pkey : RN_PKEY_DEFAULT,
		.dest_qpn = k->dest_qpn ? k->dest_qpn : r->q->qpn,
		.psn = rn_psn(k->psn),
	};
	uint8_t *p = rn_bth_emit(buf, &bth);
	uint32_t len;

	buf[1] = (uint8_t)(buf[1] | k->tver);
	p = put_headers(k, rn_opcode_info[k->op].flags, p);
	for (uint32_t i = 0; i < k->len; i++)
		*p++ = k->payload ? k->payload[i] : (uint8_t)(k->psn + i);
	for (unsigned i = 0; i < pad; i++)
		*p++ = 0;
	len = (uint32_t)(p - buf);
	rn_icrc_seal(&flow, 0, buf, len);
	return len + RN_ICRC_LEN;
}

void raw_send_bytes(struct raw *r, const uint8_t *data, uint32_t len)
{
	struct rn_flow flow = raw_flow(r);

	pair_inject(r->p, 0, &flow, data, len);
}

void raw_send(struct raw *r, const struct raw_packet *k)
{
	uint8_t buf[RN_MTU_MAX * 2];

	assert_true(k->len <= RN_MTU_MAX + 64);
	raw_send_bytes(r, buf, raw_encode(r, k, buf));
}

static const uint8_t *get_headers(struct raw_packet *k, const uint8_t *p,
				  const uint8_t *end)
{
	uint32_t fl = rn_opcode_info[k->op].flags;

#define GET(flag, parse, field, size)                          \
	if (fl & (flag)) {                                     \
		assert_int_equal(parse(&k->field, p, end), 0); \
		p += (size);                                   \
	}
	GET(RN_OP_DETH, rn_deth_parse, deth, RN_DETH_LEN)
	GET(RN_OP_XRCETH, rn_xrceth_parse, srqn, RN_XRCETH_LEN)
	GET(RN_OP_FETH, rn_feth_parse, feth, RN_FETH_LEN)
	GET(RN_OP_RETH, rn_reth_parse, reth, RN_RETH_LEN)
	GET(RN_OP_ATOMIC_ETH, rn_atomic_eth_parse, atomic, RN_ATOMIC_ETH_LEN)
	GET(RN_OP_AETH, rn_aeth_parse, aeth, RN_AETH_LEN)
	GET(RN_OP_ATOMIC_ACK_ETH, rn_atomic_ack_eth_parse, atomic_ack,
	    RN_ATOMIC_ACK_ETH_LEN)
	GET(RN_OP_IMM, rn_imm_parse, imm, RN_IMM_LEN)
	GET(RN_OP_IETH, rn_ieth_parse, ieth, RN_IETH_LEN)
#undef GET
	return p;
}

static void decode(const struct pair_packet *pkt, struct raw_packet *k)
{
	const uint8_t *end = pkt->data + pkt->len - RN_ICRC_LEN;
	const uint8_t *p = pkt->data;
	struct rn_bth bth;

	assert_int_equal(rn_bth_parse(&bth, p, end), 0);
	assert_true(rn_opcode_is_known(bth.opcode));
	*k = (struct raw_packet){ .op = bth.opcode,
				  .psn = bth.psn.v,
				  .dest_qpn = bth.dest_qpn,
				  .pkey = bth.pkey,
				  .ack_req = bth.ack_req,
				  .solicited = bth.solicited,
				  .becn = bth.becn,
				  .fecn = bth.fecn,
				  .pad = bth.pad_cnt + 1,
				  .at = pkt->at };
	p = get_headers(k, p + RN_BTH_LEN, end);
	assert_true(end - p >= bth.pad_cnt);
	k->len = (uint32_t)(end - p) - bth.pad_cnt;
	for (unsigned i = 0; i < bth.pad_cnt; i++)
		assert_int_equal(end[-1 - (int)i], 0);
	memcpy(k->bytes, p, k->len);
	k->payload = k->bytes;
}

bool raw_next(struct raw *r, struct raw_packet *k)
{
	if (r->p->record_taken == r->p->record_count)
		return false;
	decode(r->p->record[r->p->record_taken++], k);
	return true;
}

const struct raw_packet *raw_expect_at(struct raw *r, uint8_t op, uint32_t psn,
				       const char *file, int line)
{
	static struct raw_packet k;

	if (!raw_next(r, &k)) {
		print_error("no packet, expected %s PSN %u\n", rn_opcode_info[op].name,
			    psn);
		_fail(file, line);
	}
	if (k.op != op || k.psn != psn)
		print_error("got %s PSN %u, expected %s PSN %u\n",
			    rn_opcode_info[k.op].name, k.psn, rn_opcode_info[op].name,
			    psn);
	_assert_int_equal(k.op, op, file, line);
	_assert_int_equal(k.psn, psn, file, line);
	return &k;
}

void raw_expect_aeth_at(struct raw *r, uint8_t syndrome, uint32_t psn, uint32_t msn,
			const char *file, int line)
{
	uint8_t class = r->q->type == RN_QPT_XRC_RECV ? RN_CLASS_XRC : RN_CLASS_RC;
	const struct raw_packet *k = raw_expect_at(r, class | RN_RC_ACK, psn, file, line);

	_assert_int_equal(k->aeth.syndrome, syndrome, file, line);
	_assert_int_equal(k->aeth.msn, msn, file, line);
}

void raw_expect_silence_at(struct raw *r, const char *file, int line)
{
	struct raw_packet k;

	if (!raw_next(r, &k))
		return;
	print_error("unexpected packet: %s PSN %u\n", rn_opcode_info[k.op].name, k.psn);
	_fail(file, line);
}

void raw_ack(struct raw *r, uint32_t psn, uint32_t msn)
{
	raw_send(r, RAW(.op = RN_RC_ACK, .psn = psn,
			.aeth = { .syndrome = RN_AETH_NO_CREDIT, .msn = msn }));
}

void raw_nak(struct raw *r, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	raw_send(r, RAW(.op = RN_RC_ACK, .psn = psn,
			.aeth = { .syndrome = syndrome, .msn = msn }));
}
