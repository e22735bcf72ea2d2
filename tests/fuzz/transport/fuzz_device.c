/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_device.c - a script of bytes drives one device: packets forged, lost and repeated,
 * requests posted, states changed, regions and shared receive queues removed, windows
 * bound, time, slow memory.
 *
 * RC and XRC queue pairs are connected in pairs, UC ones to themselves, and UD ones talk
 * to whoever asks. Whatever happens, no byte changes that no valid R_Key, posted receive
 * or own request opens: not beside a region, and not in one that is closed to peers or
 * belongs to another protection domain. And each work request completes once, in order;
 * in the end, with all queue pairs in ERR, none is left. (What the core holds to be
 * impossible, it asserts.)
 */
#include "device_check.h"
#include "rocin/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ------------------------------------------------------------------- states */
static uint32_t peer_of(unsigned i)
{
	return is_reliable(i) ? QPN0 + (i ^ 1) : QPN0 + i;
}

static struct rn_qp_attr connected(const struct world *w, unsigned i)
{
	return (struct rn_qp_attr){
		.path_mtu = MTU,
		.qkey = QKEY,
		.rq_psn = RQ_PSN,
		.sq_psn = RQ_PSN,
		.dest_qpn = peer_of(i),
		.access = RN_ACCESS_REMOTE_WRITE | RN_ACCESS_REMOTE_READ |
			  RN_ACCESS_REMOTE_ATOMIC | RN_ACCESS_FLUSH_GLOBAL,
		.av = { .dgid = w->gid, .hop_limit = 64 },
		.port_num = 1,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 2,
		.min_rnr_timer = 1,
		.timeout = 8,
		.retry_cnt = 2,
		.rnr_retry = 2,
	};
}

static void modify(struct world *w)
{
	unsigned i = take8(w) % QPS;
	struct rn_qp_attr attr = connected(w, i);
	uint32_t mask = take16(w) * 0x21u;

	attr.state = (enum rn_qp_state)(take8(w) % RN_QPS_COUNT);
	take_cqes(w);
	if (rn_qp_modify(w->dev, w->qp[i], w->net->now, &attr, mask | RN_ATTR_STATE) ==
		    0 &&
	    attr.state == RN_QPS_RESET)
		forget_posts(w, i);
}

/* RESET to RTS, which a script of random bytes would hardly find. */
static void connect(struct world *w, unsigned i)
{
	struct rn_qp_attr attr = connected(w, i);

	take_cqes(w);
	rn_qp_modify(w->dev, w->qp[i], w->net->now,
		     &(struct rn_qp_attr){ .state = RN_QPS_RESET }, RN_ATTR_STATE);
	forget_posts(w, i);
	for (unsigned s = RN_QPS_INIT; s <= RN_QPS_RTS; s++) {
		attr.state = (enum rn_qp_state)s;
		require(rn_qp_modify(w->dev, w->qp[i], w->net->now, &attr,
				     rn_qp_required(types[i], attr.state)) == 0);
	}
}

/* ------------------------------------------------------------------ posting */
static struct rn_sge take_sge(struct world *w, enum region region)
{
	return (struct rn_sge){
		.addr = take_addr(w, region),
		.len = take_len(w),
		.lkey = w->mr[region].lkey,
	};
}

/* A key that may open something: of a region, or of a window with some key byte. */
static uint32_t take_key(struct world *w, enum region region)
{
	uint8_t which = take8(w);

	if (which < 0xc0)
		return w->mr[region].lkey;
	return MW_KEY + ((uint32_t)(which % WINDOWS) << RN_KEY_INDEX_SHIFT) +
	       (take8(w) & 1);
}

static void post_send(struct world *w)
{
	static const enum rn_wr_opcode ops[] = {
		RN_WR_RDMA_WRITE,
		RN_WR_RDMA_WRITE_WITH_IMM,
		RN_WR_SEND,
		RN_WR_SEND_WITH_IMM,
		RN_WR_RDMA_READ,
		RN_WR_ATOMIC_CMP_AND_SWP,
		RN_WR_ATOMIC_FETCH_AND_ADD,
		RN_WR_LOCAL_INV,
		RN_WR_SEND_WITH_INV,
		RN_WR_BIND_MW,
		RN_WR_ATOMIC_WRITE,
		RN_WR_FLUSH,
	};
	unsigned i = take8(w) % QPS;
	enum rn_wr_opcode op = ops[take8(w) % RN_ARRAY_SIZE(ops)];
	/* What a request brings back must not fall into the closed region by request. */
	bool brings = op == RN_WR_RDMA_READ || op == RN_WR_ATOMIC_CMP_AND_SWP ||
		      op == RN_WR_ATOMIC_FETCH_AND_ADD;
	struct rn_sge sg[2] = { take_sge(w, brings ? LOCAL : take_region(w)),
				take_sge(w, LOCAL) };
	enum region far = take_region(w);
	uint32_t key = take_key(w, far);
	const struct rn_av av = { .dgid = w->gid, .hop_limit = 64 };
	const struct rn_send_wr wr = {
		.wr_id = w->wr_id + 1,
		.opcode = op,
		.flags =
			take8(w) & (RN_SEND_FENCE | RN_SEND_SIGNALED | RN_SEND_SOLICITED),
		.imm = key,
		.remote_addr = take_addr(w, far),
		.rkey = key,
		.compare_add = take8(w),
		.swap = take8(w),
		.av = &av,
		.remote_qpn = QPN0 + i,
		.remote_qkey = QKEY,
		.remote_srqn = SRQN_XRC,
		.bind_region = w->mr[far].lkey,
		.bind_length = take_len(w),
		.bind_access = take16(w) & (RN_ACCESS_REMOTE_MASK | RN_ACCESS_ZERO_BASED),
		.flush_length = take_len(w),
		.flush_placement = RN_FLUSH_GLOBAL,
		.flush_selectivity = take8(w) & RN_FLUSH_MR,
		.sg = sg,
		.num_sge = op == RN_WR_ATOMIC_WRITE ? 1 : take8(w) % 3,
	};

	if (op == RN_WR_ATOMIC_WRITE || op == RN_WR_ATOMIC_CMP_AND_SWP ||
	    op == RN_WR_ATOMIC_FETCH_AND_ADD)
		sg[0].len = 8;
	if (rn_qp_post_send(w->dev, w->qp[i], w->net->now, &wr))
		return;
	w->wr_id++;
	note_post(w, i, QUEUE_SEND, wr.flags & RN_SEND_SIGNALED);
}

static void post_recv(struct world *w)
{
	unsigned i = take8(w) % QPS;
	const struct rn_sge sg[2] = { take_sge(w, LOCAL), take_sge(w, LOCAL) };
	const struct rn_recv_wr wr = {
		.wr_id = w->wr_id + 1,
		.sg = sg,
		.num_sge = take8(w) % 3,
	};

	struct rn_srq *srq = w->srq[i == QPS - 1 ? XRC : BASIC];
	int rc = -1;

	if (i % 2 == 0)
		rc = rn_qp_post_recv(w->dev, w->qp[i], w->net->now, &wr);
	else if (srq)
		rc = rn_srq_post_recv(srq, &wr);
	if (rc)
		return;
	w->wr_id++;
	note_post(w, i, i % 2 ? QUEUE_SHARED : QUEUE_RECV, true);
}

static void change_srq(struct world *w, uint8_t how)
{
	if (how & 1) {
		rn_srq_set_limit(w->srq[BASIC], how & 7);
	} else if (!w->srq[XRC]) {
		add_srq(w, XRC);
	} else if (how & 2) {
		remove_srq(w, XRC);
	} else {
		void *ring = alloc(rn_srq_ring_size(how, 2)), *old = ring;

		rn_srq_resize(w->srq[XRC], ring, how, &old);
		if (old != ring)
			w->srq_ring[XRC] = ring;
		free(old);
	}
}

/* --------------------------------------------------------------------- wire */
/* A copy of the exact length: ASan sees a read one past it. */
static void deliver(struct world *w, const struct rn_flow *flow, const uint8_t *data,
		    uint32_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct rn_rx rx = { .flow = flow, .data = copy, .len = len };

	require(copy != NULL);
	memcpy(copy, data, len);
	rn_dev_receive(w->dev, w->net->now, &rx, 1);
	free(copy);
}

static void transmit(struct world *w, unsigned what, unsigned count)
{
	struct rn_vnet_packet *p;
	struct rn_tx tx;

	while (count-- && (p = rn_vnet_take(w->net, 0, what, &tx))) {
		require(p->len <= RN_PACKET_MAX + RN_ICRC_LEN && p->len % 4 == 0);
		require(rn_opcode_is_known(p->bytes[0]));
		if (w->wire_count == WIRE_MAX)
			rn_vnet_drop(w->net, p);
		else
			w->wire[(w->wire_head + w->wire_count++) % WIRE_MAX] = p;
	}
}

/* The oldest packet under way arrives, or is lost, or stays to arrive again. */
static void arrive(struct world *w, uint8_t how)
{
	struct rn_vnet_packet *p = w->wire[w->wire_head];

	if (!w->wire_count)
		return;
	if ((how & 3) != 1)
		deliver(w, &p->flow, p->bytes, p->len);
	if ((how & 3) == 2)
		return;
	rn_vnet_drop(w->net, p);
	w->wire_head = (w->wire_head + 1) % WIRE_MAX;
	w->wire_count--;
}

static uint8_t *forge_headers(struct world *w, uint32_t flags, uint8_t *p)
{
	enum region region = take_region(w);
	uint64_t va = take_addr(w, region);
	uint32_t rkey = take_key(w, region) ^ (take8(w) == 0xff);

	if (flags & RN_OP_XRCETH)
		p = rn_xrceth_emit(p, SRQN_XRC ^ (take8(w) == 0xff));
	if (flags & RN_OP_DETH)
		p = rn_deth_emit(p, &(struct rn_deth){ QKEY ^ (va & 1), take8(w) });
	if (flags & RN_OP_FETH)
		p = rn_feth_emit(p, &(struct rn_feth){ take8(w) & 0xf, take8(w) & 3 });
	if (flags & RN_OP_RETH)
		p = rn_reth_emit(p, &(struct rn_reth){ va, rkey, take_len(w) });
	if (flags & RN_OP_ATOMIC_ETH)
		p = rn_atomic_eth_emit(
			p, &(struct rn_atomic_eth){ va, rkey, take8(w), take8(w) });
	if (flags & RN_OP_AETH)
		p = rn_aeth_emit(p, &(struct rn_aeth){ take8(w), take8(w) });
	if (flags & RN_OP_ATOMIC_ACK_ETH)
		p = rn_atomic_ack_eth_emit(p, take16(w));
	if (flags & (RN_OP_IMM | RN_OP_IETH))
		p = rn_imm_emit(p, rkey);
	return p;
}

/* A packet with valid ICRC of any opcode, near the PSN that a QP expects or has sent. */
static void forge(struct world *w)
{
	uint8_t buf[RN_PACKET_MAX + MTU], *p = buf;
	struct rn_flow flow = {
		.src = w->gid, .dst = w->gid, .sport = RN_ROCE_PORT, .hop_limit = 64
	};
	unsigned i = take8(w) % QPS;
	uint8_t opcode = take8(w), shape = take8(w), bits = take8(w);
	uint32_t flags = rn_opcode_info[opcode].flags;
	uint32_t len = flags & RN_OP_PAYLOAD ? MTU : 0;
	struct rn_qp_attr attr;
	struct rn_bth bth;

	if (bits >= 0xe0 && !(bits & 4))
		flow.dst = w->group;
	flow.tclass = bits >> 3 & 3; /* ECN */
	rn_qp_query(w->qp[i], &attr);
	if (shape & 1)
		len = take_len(w) % (MTU + 8);
	bth = (struct rn_bth){
		.opcode = opcode,
		.solicited = bits & 1,
		.ack_req = bits & 2,
		.pad_cnt = shape & 2 ? take8(w) & 3 : rn_pad_cnt(len),
		.pkey = RN_PKEY_DEFAULT,
		.dest_qpn = bits >= 0xe0 ? RN_QPN_MULTICAST : QPN0 + i,
		.psn = rn_psn(flags & RN_OP_RESPONSE ? attr.sq_psn - 1 : attr.rq_psn),
	};
	if (shape & 4)
		bth.psn = rn_psn_add(bth.psn, take8(w) - 128u);
	p = rn_bth_emit(p, &bth);
	p = forge_headers(w, flags, p);
	memset(p, take8(w), len + bth.pad_cnt);
	p += len + bth.pad_cnt;
	len = (uint32_t)(p - buf);
	if (shape & 8)
		len -= take8(w) % (len - RN_BTH_LEN + 1);
	rn_icrc_seal(&flow, 0, buf, len);
	deliver(w, &flow, buf, len + RN_ICRC_LEN);
}

/* ------------------------------------------------------------------ the rest */
static void pass_time(struct world *w, uint8_t log2)
{
	w->net->now += (rn_ns)1 << log2 % 32;
	rn_dev_expire(w->dev, w->net->now);
}

static void memory_step(struct world *w)
{
	enum rn_mem_result result;
	uint64_t tag;

	if (arena_deadline(&w->arena) == RN_NEVER)
		return;
	if (w->net->now < arena_deadline(&w->arena))
		w->net->now = arena_deadline(&w->arena);
	if (arena_step(&w->arena, w->net->now, &tag, &result))
		rn_dev_mem_done(w->dev, w->net->now, tag, result);
}

static void poll(struct world *w)
{
	struct rn_event ev;

	take_cqes(w);
	while (rn_dev_event(w->dev, &ev))
		;
}

static void toggle_region(struct world *w)
{
	if (w->open_removed)
		rn_dev_add_mr(w->dev, &w->mr[OPEN]);
	else
		rn_dev_remove_mr(w->dev, &w->mr[OPEN]);
	w->open_removed = !w->open_removed;
}

static void step(struct world *w)
{
	uint8_t op = take8(w);

	switch (op % 16) {
	case 0:
		modify(w);
		break;
	case 1:
		connect(w, take8(w) % QPS);
		break;
	case 2:
	case 3:
		post_send(w);
		break;
	case 4:
		post_recv(w);
		break;
	case 5:
		transmit(w, RN_TX_ALL, 64);
		break;
	case 6:
		transmit(w, RN_TX_WORK, 1 + op / 16);
		break;
	case 7:
		transmit(w, RN_TX_ACKS, 1 + op / 16);
		break;
	case 8:
		for (unsigned n = op / 16; n; n--)
			arrive(w, 0);
		break;
	case 9:
		arrive(w, op / 16);
		break;
	case 10:
	case 11:
		forge(w);
		break;
	case 12:
		pass_time(w, take8(w));
		break;
	case 13:
		for (unsigned n = 1 + op / 16; n; n--)
			memory_step(w);
		break;
	case 14:
		poll(w);
		break;
	case 15:
		if (op & 0x80)
			toggle_region(w);
		else if (op < 0x70)
			change_srq(w, take8(w));
		else if (op == 0x7f)
			arena_unmap(&w->arena, w->bytes[OPEN]);
		break;
	}
}

/* Nothing is left under way, one queue pair after the other. */
static void finish(struct world *w)
{
	for (unsigned i = 0; i < QPS; i++) {
		if (rn_qp_state(w->qp[i]) == RN_QPS_RESET)
			continue;
		rn_qp_modify(w->dev, w->qp[i], w->net->now,
			     &(struct rn_qp_attr){ .state = RN_QPS_ERR }, RN_ATTR_STATE);
		while (arena_deadline(&w->arena) != RN_NEVER)
			memory_step(w);
		take_cqes(w);
		check_flushed(w, i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = world_new(data, size);

	for (unsigned i = 0; i < QPS; i++)
		connect(w, i);
	for (unsigned n = 0; n < STEPS_MAX && w->script < w->end; n++)
		step(w);
	finish(w);
	check_memory(w);
	world_free(w);
	return 0;
}
