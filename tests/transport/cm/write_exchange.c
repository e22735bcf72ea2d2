/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* write_exchange.c - a capture of every message that the connection manager has, as it
 * leaves QP1, for other people's eyes. usage: write_exchange FILE.pcap
 */
#include <stdio.h>

#include "cm_kit.h"
#include "rocin/gsi.h"
#include "rocin/icrc.h"
#include "transport/io/capture/pcapng.h"

enum {
	LINKTYPE_RAW = 101, /* IP headers first */
	SNAPLEN = 65535,
};

static FILE *file;
static struct kit kit;
static struct rn_gsi gsi[2]; /* of a and b */

static void put(uint32_t v, unsigned len)
{
	uint8_t bytes[4];

	rn_put_le32(bytes, v);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
}

static void open_file(const char *path)
{
	file = fopen(path, "we");
	assert_non_null(file);
	put(0xa1b2c3d4, 4);
	put(2, 2);
	put(4, 2);
	put(0, 4);
	put(0, 4);
	put(SNAPLEN, 4);
	put(LINKTYPE_RAW, 4);
}

static void write_packet(const struct rn_flow *flow, const uint8_t *pkt, size_t len)
{
	uint8_t headers[RN_FRAME_HDR_MAX];
	size_t hdr_len = rn_frame_headers(headers, flow, 0, pkt, len);

	put((uint32_t)(kit.now / 1000000000), 4);
	put((uint32_t)(kit.now % 1000000000 / 1000), 4);
	put((uint32_t)(hdr_len + len), 4);
	put((uint32_t)(hdr_len + len), 4);
	assert_int_equal(fwrite(headers, 1, hdr_len, file), hdr_len);
	assert_int_equal(fwrite(pkt, 1, len, file), len);
	kit.now += 1000000;
}

static void write_mad(struct end *from, struct rn_flow flow, const uint8_t *mad)
{
	uint8_t pkt[RN_GSI_PACKET_LEN];

	memcpy(pkt + RN_GSI_MAD_AT, mad, RN_MAD_LEN);
	rn_gsi_seal(&gsi[from == &kit.b], &flow, RN_QPN_GSI, pkt);
	write_packet(&flow, pkt, sizeof(pkt));
}

/* The next message of @from, of this kind, is written and, if it is to arrive, heard. */
static void pass(struct end *from, struct end *to, enum rn_cm_attr attr)
{
	struct rn_cm_msg msg;
	struct kit_message tx = kit_take(from, attr, &msg);

	write_mad(from, tx.flow, tx.mad);
	if (to)
		kit_give(&kit, to, &tx);
}

static struct rn_cm_offer with_data(const struct end *e, uint32_t qpn, const char *data)
{
	struct rn_cm_offer offer = kit_offer(e, qpn);

	offer.data = (const uint8_t *)data;
	offer.data_len = (uint32_t)strlen(data);
	return offer;
}

static void a_connection(void)
{
	struct rn_cm_offer offer = with_data(&kit.b, 0x22, "private data of the REP");
	struct rn_cm_conn *active = kit_connect(&kit), *passive;
	struct rn_cm_route other = kit_route(&kit.a, &kit.b);

	pass(&kit.a, NULL, RN_CM_REQ); /* lost */
	kit_next_deadline(&kit, &kit.a);
	pass(&kit.a, &kit.b, RN_CM_REQ);
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_mra(kit.b.cm, passive, 21, false), 0);
	pass(&kit.b, &kit.a, RN_CM_MRA);
	assert_int_equal(rn_cm_accept(kit.b.cm, kit.now, passive, &offer), 0);
	pass(&kit.b, &kit.a, RN_CM_REP);
	kit_event(&kit.a, RN_CM_EV_REP);
	assert_int_equal(rn_cm_ready(kit.a.cm, active, NULL, 0), 0);
	pass(&kit.a, &kit.b, RN_CM_RTU);
	kit_event(&kit.b, RN_CM_EV_ESTABLISHED);
	assert_int_equal(rn_cm_load_alternate(kit.a.cm, kit.now, active, &other), 0);
	pass(&kit.a, &kit.b, RN_CM_LAP);
	kit_event(&kit.b, RN_CM_EV_LAP);
	assert_int_equal(rn_cm_answer_alternate(kit.b.cm, passive, 0), 0);
	pass(&kit.b, &kit.a, RN_CM_APR);
	kit_event(&kit.a, RN_CM_EV_APR);
	assert_int_equal(rn_cm_disconnect(kit.b.cm, kit.now, passive, NULL, 0), 0);
	pass(&kit.b, &kit.a, RN_CM_DREQ);
	kit_event(&kit.a, RN_CM_EV_DISCONNECTED);
	assert_int_equal(rn_cm_disconnect(kit.a.cm, kit.now, active, NULL, 0), 0);
	pass(&kit.a, &kit.b, RN_CM_DREP);
}

static void a_refusal(void)
{
	const struct rn_cm_no no = {
		.reason = RN_CM_REJ_CONSUMER,
		.data = (const uint8_t *)"no",
		.data_len = 2,
	};
	struct rn_cm_conn *active, *passive;

	active = kit_connect(&kit);
	pass(&kit.a, &kit.b, RN_CM_REQ);
	kit_event(&kit.b, RN_CM_EV_DISCONNECTED); /* of the connection before */
	passive = kit_event(&kit.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_reject(kit.b.cm, kit.now, passive, &no), 0);
	pass(&kit.b, &kit.a, RN_CM_REJ);
	assert_ptr_equal(kit_event(&kit.a, RN_CM_EV_REJECTED).conn, active);
}

static void a_datagram_service(void)
{
	struct rn_cm_route route = kit_route(&kit.a, &kit.b);
	struct rn_cm_offer question = { 0 }, reply = with_data(&kit.b, 0x33, "udp");
	uint8_t data[RN_CM_REQ_DATA];
	struct rn_cm_listener udp;
	struct rn_cm_conn *active, *passive;

	kit_ip_data(&kit, data);
	question.data = data;
	question.data_len = sizeof(data);
	reply.qkey = 0x01234567;
	rn_cm_listener_ip(&udp, RN_CM_PS_UDP, KIT_PORT, NULL);
	assert_int_equal(rn_cm_listen(kit.b.cm, &udp), 0);
	assert_int_equal(rn_cm_sidr_request(kit.a.cm, kit.now,
					    rn_cm_service_id(RN_CM_PS_UDP, KIT_PORT),
					    &route, &question, &active),
			 0);
	pass(&kit.a, &kit.b, RN_CM_SIDR_REQ);
	passive = kit_event(&kit.b, RN_CM_EV_SIDR_REQ).conn;
	assert_int_equal(rn_cm_sidr_reply(kit.b.cm, passive, 0, &reply), 0);
	pass(&kit.b, &kit.a, RN_CM_SIDR_REP);
	assert_ptr_equal(kit_event(&kit.a, RN_CM_EV_SIDR_REP).conn, active);
}

/* What QP1 answers besides. */
static void a_question(void)
{
	const struct rn_mad_hdr hdr = {
		.base_version = RN_MAD_BASE_VERSION,
		.mgmt_class = RN_MAD_CLASS_CM,
		.class_version = RN_MAD_CM_VERSION,
		.method = RN_MAD_GET,
		.tid = 99,
		.attr_id = RN_MAD_ATTR_CLASS_PORT_INFO,
	};
	struct rn_flow there = { .src = kit.a.gid, .dst = kit.b.gid };
	struct rn_flow back = { .src = kit.b.gid, .dst = kit.a.gid };
	uint8_t pkt[RN_GSI_PACKET_LEN] = { 0 };
	struct rn_gsi_mad in;

	rn_mad_hdr_emit(pkt + RN_GSI_MAD_AT, &hdr);
	rn_gsi_seal(&gsi[0], &there, RN_QPN_GSI, pkt);
	write_packet(&there, pkt, sizeof(pkt));
	assert_int_equal(rn_gsi_receive(&gsi[1], &there, pkt, sizeof(pkt), &in),
			 RN_GSI_REPLY);
	write_mad(&kit.b, back, in.reply + RN_GSI_MAD_AT);
}

static const char *path;

static void write_everything(void **state)
{
	(void)state;
	gsi[0].resp_timeout = gsi[1].resp_timeout = RN_CM_RESP_TIMEOUT;
	open_file(path);
	kit_open(&kit, KIT_CONNS);
	a_connection();
	a_refusal();
	a_datagram_service();
	a_question();
	kit_close(&kit);
	assert_int_equal(fclose(file), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(write_everything) };

	if (argc != 2)
		return 2;
	path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
