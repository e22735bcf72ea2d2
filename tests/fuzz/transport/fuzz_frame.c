/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_frame.c - flow rules as a program gives them, and any Ethernet frames from the
 * wire: parsed, matched, steered, spread, their checksums filled and judged, received by
 * raw packet queue pairs; and frames sent by these.
 *
 * A QP gets a frame once or not at all, and only frames that a rule of its own matches;
 * what it gets is the frame, in the receive that was posted, and no byte more.
 */
#include <infiniband/verbs.h>
#include <stddef.h>

#include "provider/raw/flow.h"
#include "provider/raw/frame.h"
#include "rocin/raw_packet.h"
#include "tests/fuzz/script.h"
#include "tests/kit/device/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	QPS = 2,
	RULES = 6,
	TABLE = 4, /* queues that frames are spread over */
	SPECS = RNP_FLOW_SPECS_MAX + 1,
	STEPS_MAX = 64,
	SLOT = 2048, /* bytes of a receive */
	UNTOUCHED = 0x6b,
};

struct world {
	struct script s;
	struct pair *p;
	struct pair_qp *q[QPS];
	struct pair_mr *recv[QPS], *send;
	unsigned got[QPS]; /* times that the frame was delivered */
	struct rnp_steer steer;
	struct rnp_rule rule[RULES];
	struct rnp_tally tally;
	struct rnp_rss rss;
	void *table[TABLE];
	unsigned rules;
	uint8_t *frame;
	size_t len;
};

/* -------------------------------------------------------------------- rules */
static const struct {
	uint32_t type;
	uint16_t size;
} specs[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth) },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4) },
	{ IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext) },
	{ IBV_FLOW_SPEC_IPV6, sizeof(struct ibv_flow_spec_ipv6) },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp) },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp) },
	{ IBV_FLOW_SPEC_ACTION_TAG, sizeof(struct ibv_flow_spec_action_tag) },
	{ IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop) },
	{ IBV_FLOW_SPEC_ACTION_COUNT, sizeof(struct ibv_flow_spec_counter_action) },
	{ IBV_FLOW_SPEC_ESP, sizeof(struct ibv_flow_spec_esp) },
	{ IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth) },
};

/* A specification, mostly well-formed, its fields from the script. Return: its bytes. */
static size_t take_spec(struct script *s, uint8_t *at)
{
	uint8_t which = take8(s), shape = take8(s);
	struct ibv_spec_header {
		uint32_t type;
		uint16_t size;
	} hdr = { specs[which % RN_ARRAY_SIZE(specs)].type,
		  specs[which % RN_ARRAY_SIZE(specs)].size };
	size_t size = hdr.size;

	/* Filters are a value and a mask of equal size behind the header. */
	take_bytes(s, at + sizeof(hdr), shape % (size - sizeof(hdr) + 1));
	if (shape & 0x80)
		memset(at + size - (size - sizeof(hdr)) / 2, shape & 0x40 ? 0xff : 0,
		       (size - sizeof(hdr)) / 2);
	if (which >= 0xf0)
		hdr.size ^= shape;
	memcpy(at, &hdr.type, sizeof(hdr.type));
	memcpy(at + sizeof(hdr.type), &hdr.size, sizeof(hdr.size));
	return size;
}

/* In memory of its exact size: ASan sees a read one past it. */
static struct ibv_flow_attr *take_attr(struct script *s)
{
	static uint8_t
		buf[sizeof(struct ibv_flow_attr) + SPECS * sizeof(union ibv_gid) * 8];
	uint8_t shape = take8(s);
	struct ibv_flow_attr attr = {
		.type = (enum ibv_flow_attr_type)(shape >= 0xf0 ? shape % 6 : 0),
		.num_of_specs = shape % 16 % (SPECS + 1),
		.port = 1,
		.priority = take8(s) % 4,
		.flags = take8(s) & IBV_FLOW_ATTR_FLAGS_DONT_TRAP,
	};
	size_t len = sizeof(attr);
	void *exact;

	memset(buf, 0, sizeof(buf));
	for (unsigned i = 0; i < attr.num_of_specs; i++)
		len += take_spec(s, buf + len);
	attr.size = (uint16_t)len;
	memcpy(buf, &attr, sizeof(attr));
	exact = malloc(len);
	require(exact != NULL && len <= sizeof(buf));
	memcpy(exact, buf, len);
	return exact;
}

static void add_rule(struct world *w)
{
	struct rnp_rule *rule = &w->rule[w->rules];
	struct ibv_flow_attr *attr;
	struct ibv_counters *counters = NULL;
	uint8_t who = take8(&w->s);
	int rc;

	if (w->rules == RULES)
		return;
	attr = take_attr(&w->s);
	rc = rnp_flow_spec_parse(attr, rule, &counters);
	require(rc == 0 || rc == -EINVAL || rc == -EOPNOTSUPP);
	free(attr);
	if (rc)
		return;
	rule->qp = w->q[who % QPS];
	rule->rss = who & 0x80 ? &w->rss : NULL;
	rule->tally = counters ? &w->tally : NULL;
	rnp_steer_add(&w->steer, rule);
	w->rules++;
}

static void remove_rule(struct world *w)
{
	if (w->rules == 0)
		return;
	rnp_steer_remove(&w->steer, &w->rule[--w->rules]);
	require((w->rules == 0) == rnp_steer_is_empty(&w->steer));
}

/* ------------------------------------------------------------------- frames */
/* Mostly what the script has left, sometimes with a long tail. */
static void take_frame(struct world *w)
{
	size_t given = take8(&w->s), tail = take8(&w->s);

	w->len = 1 + given + (tail > 0xf0 ? (tail - 0xf0) * 4300 : tail / 16);
	if (w->len > RN_FRAME_MAX)
		w->len = RN_FRAME_MAX;
	w->frame = malloc(w->len);
	require(w->frame != NULL);
	memset(w->frame, (int)tail, w->len);
	take_bytes(&w->s, w->frame, given);
}

/* What is filled is right, and filling it again changes nothing. */
static void check_checksums(const struct world *w)
{
	bool ok = rnp_checksum_ok(w->frame, w->len);
	uint8_t *once = malloc(w->len), *twice = malloc(w->len);

	require(once && twice);
	memcpy(once, w->frame, w->len);
	rnp_checksum_fill(once, w->len);
	require(!ok || rnp_checksum_ok(once, w->len));
	memcpy(twice, once, w->len);
	rnp_checksum_fill(twice, w->len);
	require(memcmp(once, twice, w->len) == 0);
	free(once);
	free(twice);
}

static bool may_get(const struct world *w, const void *qp)
{
	struct rnp_frame_view view;

	rnp_frame_parse(&view, w->frame, w->len);
	for (unsigned i = 0; i < w->rules; i++) {
		const struct rnp_rule *r = &w->rule[i];

		if ((r->qp == qp || r->rss) &&
		    (r->kind != RNP_RULE_NORMAL || rnp_flow_matches(&r->match, &view)))
			return true;
	}
	return false;
}

/* All receives of a QP use the same slot. */
static void check_receives(struct world *w, unsigned i)
{
	const uint8_t *slot = w->recv[i]->data;
	struct rn_cqe cqe;
	size_t len = 0;

	while (pair_poll(w->q[i]->rcq, &cqe)) {
		enum rn_wc_status status = pair_cqe_status(&cqe);

		require(status == RN_WC_SUCCESS || status == RN_WC_WR_FLUSH_ERR ||
			(status == RN_WC_LOC_LEN_ERR && w->len > SLOT));
		require(status != RN_WC_SUCCESS || cqe.byte_len == w->len);
		if (status == RN_WC_SUCCESS)
			len = w->len;
	}
	require(len <= SLOT && memcmp(slot, w->frame, len) == 0);
	for (size_t k = len; k < SLOT; k++)
		require(slot[k] == UNTOUCHED);
	memset(w->recv[i]->data, UNTOUCHED, SLOT);
}

static void drain(struct pair_cq *cq)
{
	struct rn_cqe cqe;

	while (pair_poll(cq, &cqe))
		;
}

static void deliver(void *arg, void *qp, uint32_t tag)
{
	struct world *w = arg;
	const struct pair_qp *q = qp;
	struct rn_rx_frame f = { .data = w->frame,
				 .len = (uint32_t)w->len,
				 .checksums_ok = rnp_checksum_ok(w->frame, w->len),
				 .tag = tag };

	require(may_get(w, qp));
	w->got[q == w->q[1]]++;
	rn_qp_receive_frame(w->p->dev[0], q->qp, w->p->net->now, &f);
}

static void arrive(struct world *w)
{
	unsigned count;

	for (unsigned i = 0; i < QPS; i++)
		drain(w->q[i]->rcq);
	take_frame(w);
	memset(w->got, 0, sizeof(w->got));
	check_checksums(w);
	count = rnp_steer_frame(&w->steer, w->frame, w->len, deliver, w);
	require(count == w->got[0] + w->got[1]);
	for (unsigned i = 0; i < QPS; i++)
		check_receives(w, i);
	free(w->frame);
}

/* ------------------------------------------------------------- queue pairs */
static void bring_up(struct pair_qp *q)
{
	static const enum rn_qp_state way[] = { RN_QPS_RESET, RN_QPS_INIT, RN_QPS_RTR,
						RN_QPS_RTS };
	struct rn_qp_attr attr = { .port_num = 1 };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(way); i++) {
		attr.state = way[i];
		require(rn_qp_modify(q->p->dev[0], q->qp, q->p->net->now, &attr,
				     RN_ATTR_STATE | (way[i] == RN_QPS_INIT ? RN_ATTR_PORT
									    : 0)) == 0);
	}
}

static void modify(struct world *w)
{
	struct rn_qp_attr attr = { .port_num = 1 };
	uint8_t what = take8(&w->s);

	if (what & 0x80) {
		bring_up(w->q[what % QPS]);
		return;
	}
	attr.state = (enum rn_qp_state)(what / 2 % RN_QPS_COUNT);
	rn_qp_modify(w->p->dev[0], w->q[what % QPS]->qp, w->p->net->now, &attr,
		     RN_ATTR_STATE);
}

static void post_recv(struct world *w)
{
	unsigned i = take8(&w->s) % QPS;

	if (rn_qp_state(w->q[i]->qp) == RN_QPS_RTS)
		pair_post_recv_mr(w->q[i], 1, w->recv[i], 0, SLOT);
}

static void send(struct world *w)
{
	static uint8_t out[RN_FRAME_MAX];
	unsigned i = take8(&w->s) % QPS;
	uint32_t len = take16(&w->s), flags, sent;
	struct rn_sge sge = pair_sge(w->send, 0, len);
	struct rn_send_wr wr = { .wr_id = len,
				 .opcode = RN_WR_SEND,
				 .flags = RN_SEND_SIGNALED | RN_SEND_IP_CSUM,
				 .sg = &sge,
				 .num_sge = 1 };
	struct rn_cqe cqe;

	if (rn_qp_post_send(w->p->dev[0], w->q[i]->qp, w->p->net->now, &wr) == 0)
		while ((sent = rn_dev_transmit_frame(w->p->dev[0], w->p->net->now, out,
						     sizeof(out), &flags))) {
			require(sent >= RN_FRAME_MIN && sent <= RN_FRAME_MAX);
			rnp_checksum_fill(out, sent);
		}
	/* An older one may have waited, in SQD. */
	while (pair_poll(w->q[i]->scq, &cqe))
		require(pair_cqe_status(&cqe) != RN_WC_SUCCESS ||
			cqe.wr_id >= RN_FRAME_MIN);
}

static void step(struct world *w)
{
	uint8_t op = take8(&w->s);

	if (op < 0x80)
		arrive(w);
	else if (op < 0xa0)
		add_rule(w);
	else if (op < 0xa8)
		remove_rule(w);
	else if (op < 0xd0)
		post_recv(w);
	else if (op < 0xe0)
		modify(w);
	else
		send(w);
}

/* Once: a device takes longer to make than a script to run. */
static void make(struct world *w)
{
	static const struct pair_cfg plain;

	w->p = pair_new(&plain);
	w->p->record_off = true;
	for (unsigned i = 0; i < QPS; i++) {
		w->q[i] = pair_qp_new(w->p, 0, RN_QPT_RAW_PACKET);
		w->recv[i] = pair_mr_new(w->p, 0, SLOT, RN_ACCESS_LOCAL_WRITE);
	}
	w->send = pair_mr_new(w->p, 0, RN_FRAME_MAX, RN_ACCESS_LOCAL_WRITE);
	for (unsigned i = 0; i < TABLE; i++)
		w->table[i] = w->q[i % QPS];
	w->rss = (struct rnp_rss){ .size = TABLE, .table = w->table };
}

static void begin(struct world *w)
{
	for (unsigned i = 0; i < QPS; i++) {
		bring_up(w->q[i]);
		drain(w->q[i]->scq);
		drain(w->q[i]->rcq);
		memset(w->recv[i]->data, UNTOUCHED, SLOT);
	}
	rnp_steer_init(&w->steer);
	w->rules = 0;
	w->rss.fields =
		take8(&w->s) & 1 ? RNP_RSS_IP4 | RNP_RSS_UDP : RNP_RSS_IP6 | RNP_RSS_TCP;
	take_bytes(&w->s, w->rss.key, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	if (!w.p)
		make(&w);
	w.s = (struct script){ data, data + size };
	begin(&w);
	for (unsigned n = 0; n < STEPS_MAX && !script_is_over(&w.s); n++)
		step(&w);
	while (w.rules)
		remove_rule(&w);
	require(arena_guards_intact(&w.p->arena[0]));
	return 0;
}
