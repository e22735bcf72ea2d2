/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_kit.c - see cm_kit.h. */
#include "cm_kit.h"

struct rn_gid kit_ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct rn_gid){
		{ [10] = 0xff, [11] = 0xff, [12] = a, [13] = b, [14] = c, [15] = d }
	};
}

static bool has_request(void *ctx, const struct rn_cm_info *info, uint32_t qpn)
{
	struct end *e = ctx;

	assert_int_equal(info->qp.rq_psn, 0x100 + qpn); /* see kit_offer() */
	e->asked++;
	return e->sees ? e->sees(info, qpn) : qpn == e->qpn_with_request;
}

static void open_end(struct end *e, uint32_t conns, uint8_t number)
{
	const struct rn_cm_cfg cfg = {
		.conn_max = conns,
		.seed = number,
		.stats = e->stats,
		.has_request = has_request,
		.ctx = e,
	};
	size_t size = (rn_cm_size(conns) + 15) & ~(size_t)15;

	e->block = aligned_alloc(16, size);
	assert_non_null(e->block);
	memset(e->block, 0xa5, size);
	memset(e->stats, 0, sizeof(e->stats));
	e->cm = rn_cm_init(e->block, &cfg);
	e->gid = kit_ipv4(10, 77, 0, number);
	e->guid = 0x0200000000000000u + number;
}

void kit_open(struct kit *k, uint32_t conns)
{
	memset(k, 0, sizeof(*k));
	k->now = 1000;
	open_end(&k->a, conns, 1);
	open_end(&k->b, conns, 2);
	rn_cm_listener_ip(&k->listener, RN_CM_PS_TCP, KIT_PORT, NULL);
	assert_int_equal(rn_cm_listen(k->b.cm, &k->listener), 0);
}

void kit_close(struct kit *k)
{
	free(k->a.block);
	free(k->b.block);
}

struct rn_cm_route kit_route(const struct end *from, const struct end *to)
{
	return (struct rn_cm_route){
		.flow = { .src = from->gid, .dst = to->gid, .ifindex = 1 },
		.mtu = 3,
	};
}

struct rn_cm_offer kit_offer(const struct end *e, uint32_t qpn)
{
	return (struct rn_cm_offer){
		.ca_guid = e->guid,
		.qpn = qpn,
		.psn = 0x100 + qpn,
		.resp_res = 4,
		.init_depth = 2,
		.retry_count = 7,
		.rnr_retry_count = 6,
	};
}

void kit_ip_data(const struct kit *k, uint8_t data[RN_CM_REQ_DATA])
{
	const struct rn_cm_ip_hdr hdr = {
		.src_port = 50000,
		.src = k->a.gid,
		.dst = k->b.gid,
	};
	uint8_t *p = rn_cm_ip_hdr_emit(data, &hdr);

	for (uint8_t c = 'a'; p < data + RN_CM_REQ_DATA; c++)
		*p++ = c;
}

bool kit_transmit(struct end *e, struct kit_message *m)
{
	struct rn_cm_tx tx;

	if (!rn_cm_transmit(e->cm, &tx))
		return false;
	m->flow = tx.flow;
	m->dest_qpn = tx.dest_qpn;
	memcpy(m->mad, tx.pkt + RN_GSI_MAD_AT, sizeof(m->mad));
	return true;
}

struct kit_message kit_take(struct end *e, enum rn_cm_attr attr, struct rn_cm_msg *msg)
{
	static uint8_t taken[KIT_TAKEN][RN_MAD_LEN];
	static unsigned count;
	uint8_t *mad = taken[count++ % KIT_TAKEN];
	struct rn_mad_hdr hdr;
	struct kit_message tx;

	assert_true(kit_transmit(e, &tx));
	memcpy(mad, tx.mad, RN_MAD_LEN);
	rn_mad_hdr_parse(&hdr, mad);
	assert_int_equal(hdr.base_version, 1);
	assert_int_equal(hdr.mgmt_class, 7);
	assert_int_equal(hdr.class_version, 2);
	assert_int_equal(hdr.method, 3);
	assert_int_equal(hdr.status, 0);
	assert_string_equal(rn_cm_msg_name(hdr.attr_id), rn_cm_msg_name((uint16_t)attr));
	assert_int_equal(rn_cm_msg_parse(msg, hdr.attr_id, mad + RN_MAD_HDR_LEN), 0);
	assert_memory_equal(&tx.flow.src, &e->gid, sizeof(e->gid));
	assert_int_equal(tx.dest_qpn, 1);
	return tx;
}

void kit_quiet(struct end *e)
{
	struct kit_message tx;

	assert_false(kit_transmit(e, &tx));
}

void kit_give(struct kit *k, struct end *to, const struct kit_message *tx)
{
	uint8_t *mad = malloc(RN_MAD_LEN); /* exact: ASan sees a read one past it */
	struct rn_flow flow = tx->flow;
	const struct rn_cm_rx rx = { .flow = &flow, .src_qpn = 1, .mad = mad };

	assert_non_null(mad);
	flow.ifindex = 1;
	memcpy(mad, tx->mad, RN_MAD_LEN);
	rn_cm_receive(to->cm, k->now, &rx);
	free(mad);
}

struct rn_cm_msg kit_pass(struct kit *k, struct end *from, struct end *to,
			  enum rn_cm_attr attr)
{
	struct rn_cm_msg msg;
	struct kit_message tx = kit_take(from, attr, &msg);

	kit_give(k, to, &tx);
	return msg;
}

struct rn_cm_event kit_event(struct end *e, enum rn_cm_event_type type)
{
	struct rn_cm_event ev = { 0 };

	assert_true(rn_cm_next_event(e->cm, &ev));
	assert_string_equal(rn_cm_event_name(ev.type), rn_cm_event_name(type));
	return ev;
}

void kit_no_event(struct end *e)
{
	struct rn_cm_event ev;

	assert_false(rn_cm_next_event(e->cm, &ev));
}

void kit_next_deadline(struct kit *k, struct end *e)
{
	rn_ns deadline = rn_cm_deadline(e->cm);

	assert_true(deadline != RN_NEVER);
	assert_true(deadline >= k->now);
	rn_cm_expire(e->cm, deadline - 1); /* not before its time */
	assert_true(rn_cm_deadline(e->cm) == deadline);
	k->now = deadline;
	rn_cm_expire(e->cm, k->now);
}

struct rn_cm_conn *kit_connect(struct kit *k)
{
	struct rn_cm_route route = kit_route(&k->a, &k->b);
	struct rn_cm_offer offer = kit_offer(&k->a, 0x11);
	uint8_t data[RN_CM_REQ_DATA];
	struct rn_cm_conn *conn = NULL;

	kit_ip_data(k, data);
	offer.data = data;
	offer.data_len = sizeof(data);
	assert_int_equal(rn_cm_connect(k->a.cm, k->now,
				       rn_cm_service_id(RN_CM_PS_TCP, KIT_PORT), &route,
				       &offer, &conn),
			 0);
	assert_non_null(conn);
	return conn;
}

struct rn_cm_conn *kit_request(struct kit *k, struct rn_cm_conn **active)
{
	*active = kit_connect(k);
	kit_pass(k, &k->a, &k->b, RN_CM_REQ);
	return kit_event(&k->b, RN_CM_EV_REQ).conn;
}

void kit_establish(struct kit *k, struct rn_cm_conn **active, struct rn_cm_conn **passive)
{
	struct rn_cm_offer offer = kit_offer(&k->b, 0x22);

	*passive = kit_request(k, active);
	assert_int_equal(rn_cm_accept(k->b.cm, k->now, *passive, &offer), 0);
	kit_pass(k, &k->b, &k->a, RN_CM_REP);
	assert_ptr_equal(kit_event(&k->a, RN_CM_EV_REP).conn, *active);
	assert_int_equal(rn_cm_ready(k->a.cm, *active, NULL, 0), 0);
	kit_pass(k, &k->a, &k->b, RN_CM_RTU);
	assert_ptr_equal(kit_event(&k->b, RN_CM_EV_ESTABLISHED).conn, *passive);
	assert_int_equal(kit_state(*active), RN_CM_ESTABLISHED);
	assert_int_equal(kit_state(*passive), RN_CM_ESTABLISHED);
}

enum rn_cm_state kit_state(const struct rn_cm_conn *conn)
{
	return rn_cm_conn_info(conn)->state;
}

struct kit_message kit_compose(const struct end *from, const struct end *to,
			       const struct rn_cm_msg *msg, uint64_t tid)
{
	const struct rn_mad_hdr hdr = {
		.base_version = RN_MAD_BASE_VERSION,
		.mgmt_class = RN_MAD_CLASS_CM,
		.class_version = RN_MAD_CM_VERSION,
		.method = RN_MAD_SEND,
		.tid = tid,
		.attr_id = (uint16_t)msg->attr,
	};
	struct kit_message tx = {
		.flow = { .src = from->gid, .dst = to->gid },
		.dest_qpn = 1,
	};

	rn_mad_hdr_emit(tx.mad, &hdr);
	rn_cm_msg_emit(tx.mad + RN_MAD_HDR_LEN, msg);
	return tx;
}
