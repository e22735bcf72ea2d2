/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_cm.c - any MADs to the connection manager, between any calls and at any time: what
 * parses is written back as it was, what it says is a message, one packet brings no more
 * than two, and when all is closed and over nothing is left.
 */
#include "rocin/cm.h"
#include "rocin/gsi.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CONNS = 6,
	LISTENERS = 3,
	IDS = 4, /* of what it said last, for messages that belong to something */
};

#define SECOND ((rn_ns)1000000000)

static struct world {
	struct rn_cm *cm;
	struct rn_gsi gsi;
	rn_ns now;
	struct rn_flow from_peer;
	struct rn_cm_conn *conn[CONNS];
	struct rn_cm_listener listener[LISTENERS];
	bool listens[LISTENERS];
	uint32_t id[IDS];
	unsigned next_id;
} w;

static _Alignas(16) uint8_t block[1 << 16];

static struct rn_gid address(uint8_t last)
{
	return (struct rn_gid){ { [10] = 0xff, [11] = 0xff, 10, 77, 0, last } };
}

static struct rn_cm_route route(void)
{
	return (struct rn_cm_route){
		.flow = { .src = address(2), .dst = address(1), .ifindex = 1 },
		.mtu = 3,
	};
}

static struct rn_cm_offer offer(struct script *s, uint32_t data_max)
{
	static uint8_t bytes[256];
	uint32_t len = take8(s) % (data_max + 2); /* one too many, too */

	memset(bytes, 0x5a, sizeof(bytes));
	bytes[0] = 0;
	bytes[1] = 0x40;
	return (struct rn_cm_offer){
		.ca_guid = 0x22,
		.qpn = 0x20,
		.psn = (uint32_t)take8(s) << 18,
		.resp_res = 4,
		.init_depth = take8(s),
		.transport = take8(s) % 5,
		.ext_transport = 1,
		.retry_count = take8(s) % 9,
		.data = bytes,
		.data_len = len,
	};
}

/* ---- Outputs ---- */

static unsigned drain_packets(void)
{
	struct rn_cm_tx tx;
	unsigned count = 0;

	for (; rn_cm_transmit(w.cm, &tx); count++) {
		const uint8_t *sent = tx.pkt + RN_GSI_MAD_AT;
		uint8_t again[RN_MAD_DATA_LEN];
		struct rn_mad_hdr hdr;
		struct rn_gsi_mad mad;
		struct rn_cm_msg msg;

		rn_mad_hdr_parse(&hdr, sent);
		require(hdr.mgmt_class == RN_MAD_CLASS_CM && hdr.method == RN_MAD_SEND);
		require(rn_cm_msg_parse(&msg, hdr.attr_id, sent + RN_MAD_HDR_LEN) == 0);
		rn_cm_msg_emit(again, &msg);
		require(memcmp(again, sent + RN_MAD_HDR_LEN, sizeof(again)) == 0);
		rn_gsi_seal(&w.gsi, &tx.flow, tx.dest_qpn, tx.pkt);
		require(memcmp(again, sent + RN_MAD_HDR_LEN, sizeof(again)) == 0);
		require(rn_gsi_receive(&w.gsi, &tx.flow, tx.pkt, RN_GSI_PACKET_LEN,
				       &mad) == RN_GSI_CM ||
			tx.dest_qpn != RN_QPN_GSI);
		w.id[w.next_id++ % IDS] = rn_get_be32(sent + RN_MAD_HDR_LEN);
	}
	return count;
}

static bool holds(const struct rn_cm_conn *conn)
{
	for (unsigned i = 0; i < CONNS; i++)
		if (w.conn[i] == conn)
			return true;
	return false;
}

static void hold(struct rn_cm_conn *conn)
{
	for (unsigned i = 0; i < CONNS; i++) {
		if (w.conn[i])
			continue;
		w.conn[i] = conn;
		return;
	}
	require(false); /* the table has no more than we have room for */
}

static void drain_events(void)
{
	struct rn_cm_event ev;

	while (rn_cm_next_event(w.cm, &ev)) {
		if (ev.type == RN_CM_EV_REQ || ev.type == RN_CM_EV_SIDR_REQ)
			hold(ev.conn);
		require(holds(ev.conn));
		require(ev.data_len <= RN_CM_DATA_MAX && ev.ari_len <= RN_CM_ARI_LEN);
	}
	require(rn_cm_conn_count(w.cm) <= CONNS);
}

/* ---- Inputs ---- */

/* A message: of the script, with IDs that mean something where it says so. */
static void receive(struct script *s)
{
	uint8_t mad[RN_MAD_LEN] = { 0 }, shape = take8(s);
	const struct rn_mad_hdr hdr = {
		.base_version = shape & 0x40 ? take8(s) : RN_MAD_BASE_VERSION,
		.mgmt_class = RN_MAD_CLASS_CM,
		.class_version = RN_MAD_CM_VERSION,
		.method = RN_MAD_SEND,
		.tid = take8(s),
		.attr_id = (uint16_t)(RN_CM_REQ + (shape & 0x0f)),
	};
	const struct rn_cm_rx rx = { .flow = &w.from_peer, .src_qpn = 1, .mad = mad };
	uint8_t *data = mad + RN_MAD_HDR_LEN, which = take8(s);

	rn_mad_hdr_emit(mad, &hdr);
	if (hdr.attr_id == RN_CM_REQ) {
		static const uint8_t ipv4[] = { 0, 0x40 };
		struct rn_cm_msg msg = {
			.attr = RN_CM_REQ,
			.data = ipv4,
			.data_len = sizeof(ipv4),
			.req = { .local_id = 1 + which % 4u,
				 .service_id = rn_cm_service_id(RN_CM_PS_TCP, which % 3),
				 .ca_guid = 0x11,
				 .qpn = 0x10 + take8(s) % 4u,
				 .mtu = 3,
				 .local_resp_timeout = 20,
				 .max_cm_retries = 2,
				 .primary = { .local_gid = address(1),
					      .remote_gid = address(2),
					      .ack_timeout = 19 } },
		};

		rn_cm_msg_emit(data, &msg);
	} else if (hdr.attr_id == RN_CM_SIDR_REQ) {
		rn_put_be32(data, 1 + which % 4u);
		rn_put_be64(data + 8, rn_cm_service_id(RN_CM_PS_TCP, which % 3));
		data[17] = 0x40;
	} else {
		rn_put_be32(data, 1 + which % 4u);
		rn_put_be32(data + 4, w.id[which / 4 % IDS]);
		if (hdr.attr_id == RN_CM_SIDR_REP)
			rn_put_be32(data, w.id[which / 4 % IDS]);
		if (hdr.attr_id == RN_CM_DREQ)
			rn_put_be24(data + 8, 0x20);
		if (hdr.attr_id == RN_CM_LAP)
			rn_put_be24(data + 12, 0x20);
	}
	/* And some bytes as they come. */
	for (unsigned n = take8(s) % 8; n; n--) {
		uint8_t at = take8(s);

		mad[at] = take8(s);
	}
	if (shape & 0x20)
		take_bytes(s, data, RN_MAD_DATA_LEN);
	w.from_peer.src = address(shape & 0x80 ? 3 : 1);
	drain_events();
	drain_packets();
	rn_cm_receive(w.cm, w.now, &rx);
	drain_events();
	require(drain_packets() <= 2);
}

static void raw_packet(struct script *s)
{
	size_t len = take16(s) % (RN_GSI_PACKET_LEN + 8);
	uint8_t *pkt = malloc(len + !len);
	struct rn_gsi_mad mad;

	require(pkt != NULL);
	take_bytes(s, pkt, len);
	rn_gsi_receive(&w.gsi, &w.from_peer, pkt, len, &mad);
	free(pkt);
}

static void call_on(struct script *s, struct rn_cm_conn *conn)
{
	static const uint8_t ari[RN_CM_ARI_LEN + 1];
	struct rn_cm_no no = { .reason = take8(s), .ari = ari, .ari_len = take8(s) % 74 };
	struct rn_cm_offer with = offer(s, RN_CM_DATA_MAX);
	struct rn_cm_route r = route();

	no.data = with.data;
	no.data_len = with.data_len;
	switch (take8(s) % 10) {
	case 0:
		rn_cm_accept(w.cm, w.now, conn, &with);
		break;
	case 1:
		rn_cm_ready(w.cm, conn, with.data, with.data_len);
		break;
	case 2:
		rn_cm_reject(w.cm, w.now, conn, &no);
		break;
	case 3:
		rn_cm_mra(w.cm, conn, take8(s) % 34, take8(s) & 1);
		break;
	case 4:
		rn_cm_established(w.cm, conn);
		break;
	case 5:
		rn_cm_disconnect(w.cm, w.now, conn, with.data, with.data_len);
		break;
	case 6:
		rn_cm_load_alternate(w.cm, w.now, conn, &r);
		break;
	case 7:
		rn_cm_answer_alternate(w.cm, conn, take8(s));
		break;
	case 8:
		rn_cm_sidr_reply(w.cm, conn, take8(s), &with);
		break;
	default:
		rn_cm_taken(conn);
	}
}

static void close_one(unsigned i)
{
	if (w.conn[i])
		rn_cm_close(w.cm, w.now, w.conn[i]);
	w.conn[i] = NULL;
}

static void ask(struct script *s)
{
	struct rn_cm_offer with = offer(s, RN_CM_REQ_DATA);
	struct rn_cm_route r = route();
	struct rn_cm_conn *conn;
	uint64_t service = rn_cm_service_id(RN_CM_PS_TCP, take8(s) % 3);
	int rc = take8(s) & 1
			 ? rn_cm_connect(w.cm, w.now, service, &r, &with, &conn)
			 : rn_cm_sidr_request(w.cm, w.now, service, &r, &with, &conn);

	if (rc == 0)
		hold(conn);
}

static void listen_or_not(struct script *s)
{
	uint8_t which = take8(s);
	unsigned i = which % LISTENERS;
	struct rn_gid addr = address(2);

	if (w.listens[i]) {
		rn_cm_unlisten(w.cm, &w.listener[i]);
		w.listens[i] = false;
		return;
	}
	rn_cm_listener_ip(&w.listener[i], RN_CM_PS_TCP, (uint16_t)(which / 4 % 3),
			  which & 0x80 ? &addr : NULL);
	w.listener[i].backlog = which >> 4 & 3;
	w.listens[i] = rn_cm_listen(w.cm, &w.listener[i]) == 0;
}

static void step(struct script *s)
{
	uint8_t op = take8(s);

	switch (op % 8) {
	case 0:
		w.now += (rn_ns)take8(s) * (op & 0x80 ? SECOND / 4 : 1000);
		rn_cm_expire(w.cm, w.now);
		break;
	case 1:
	case 2:
		receive(s);
		break;
	case 3:
		if (w.conn[op / 8 % CONNS])
			call_on(s, w.conn[op / 8 % CONNS]);
		break;
	case 4:
		close_one(op / 8 % CONNS);
		break;
	case 5:
		ask(s);
		break;
	case 6:
		listen_or_not(s);
		break;
	default:
		raw_packet(s);
	}
	if (op & 0x40) /* sometimes things come together */
		return;
	drain_events();
	drain_packets();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { data, data + size };
	const struct rn_cm_cfg cfg = { .conn_max = CONNS, .seed = 5, .max_retries = 2 };

	memset(&w, 0, sizeof(w));
	require(rn_cm_size(CONNS) <= sizeof(block));
	memset(block, 0xa5, sizeof(block));
	w.cm = rn_cm_init(block, &cfg);
	w.now = 1;
	w.from_peer = (struct rn_flow){ .dst = address(2), .ifindex = 1 };
	w.from_peer.src = address(1);
	while (!script_is_over(&s))
		step(&s);
	drain_events();
	for (unsigned i = 0; i < CONNS; i++)
		close_one(i);
	drain_packets();
	while (rn_cm_deadline(w.cm) != RN_NEVER) {
		require(rn_cm_deadline(w.cm) > w.now - SECOND);
		if (rn_cm_deadline(w.cm) > w.now)
			w.now = rn_cm_deadline(w.cm);
		rn_cm_expire(w.cm, w.now);
		drain_packets();
	}
	drain_events();
	require(rn_cm_conn_count(w.cm) == 0);
	for (unsigned i = 0; i < LISTENERS; i++)
		require(w.listener[i].pending_count == 0);
	return 0;
}
