/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_oracle.c - what another implementation's connection manager said, byte for
 * byte: ours understands it, would write the same, and answers the same.
 */
#include <stdio.h>

#include "cm_kit.h"
#include "rocin/gsi.h"

enum {
	PACKETS = 8,
	IP = 14, /* after Ethernet */
	UDP = IP + 20,
	ROCE = UDP + 8,
};

static struct packet {
	struct rn_flow flow;
	uint8_t bytes[RN_GSI_PACKET_LEN];
} packet[PACKETS];
static unsigned count;

static struct rn_gid mapped(const uint8_t *p)
{
	return kit_ipv4(p[0], p[1], p[2], p[3]);
}

/* The packets to QPN 1 of a capture. */
static void load(const char *name)
{
	static uint8_t bytes[1 << 14];
	char path[512];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), RN_CAPTURES "/%s.pcap", name);
	f = fopen(path, "re");
	assert_non_null(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	count = 0;
	for (size_t at = 24; at + 16 < size;) {
		uint32_t len = rn_get_le32(bytes + at + 8);
		const uint8_t *frame = bytes + at + 16;

		assert_true(len <= size - at - 16);
		if (len == ROCE + RN_GSI_PACKET_LEN &&
		    rn_get_be24(frame + ROCE + 5) == RN_QPN_GSI) {
			struct packet *p = &packet[count++];

			assert_true(count <= PACKETS);
			p->flow = (struct rn_flow){
				.src = mapped(frame + IP + 12),
				.dst = mapped(frame + IP + 16),
				.ifindex = 1,
				.sport = rn_get_be16(frame + UDP),
			};
			memcpy(p->bytes, frame + ROCE, RN_GSI_PACKET_LEN);
		}
		at += 16 + len;
	}
}

static struct rn_cm_rx open_packet(const struct packet *p)
{
	struct rn_gsi gsi = { .resp_timeout = 20 };
	struct rn_gsi_mad mad;

	assert_int_equal(rn_gsi_receive(&gsi, &p->flow, p->bytes, sizeof(p->bytes), &mad),
			 RN_GSI_CM);
	assert_int_equal(mad.src_qpn, 1);
	return (struct rn_cm_rx){ .flow = &p->flow, .src_qpn = 1, .mad = mad.mad };
}

static void every_message_is_written_as_it_was_read(void **state)
{
	static const char *const names[] = { "rxe-cm-rping", "rxe-cm-reject" };
	static const char *const kinds[] = { "REQ",  "REP", "RTU", "DREQ",
					     "DREP", "REQ", "REJ" };
	unsigned kind = 0;

	(void)state;
	for (unsigned n = 0; n < RN_ARRAY_SIZE(names); n++) {
		load(names[n]);
		for (unsigned i = 0; i < count; i++) {
			struct rn_cm_rx rx = open_packet(&packet[i]);
			uint8_t out[RN_MAD_LEN];
			struct rn_mad_hdr hdr;
			struct rn_cm_msg msg;

			rn_mad_hdr_parse(&hdr, rx.mad);
			assert_string_equal(rn_cm_msg_name(hdr.attr_id), kinds[kind++]);
			assert_int_equal(rn_cm_msg_parse(&msg, hdr.attr_id,
							 rx.mad + RN_MAD_HDR_LEN),
					 0);
			rn_mad_hdr_emit(out, &hdr);
			rn_cm_msg_emit(out + RN_MAD_HDR_LEN, &msg);
			assert_memory_equal(out, rx.mad, sizeof(out));
		}
	}
	assert_int_equal(kind, RN_ARRAY_SIZE(kinds));
}

static struct rn_cm_msg parse(const uint8_t *mad)
{
	struct rn_mad_hdr hdr;
	struct rn_cm_msg msg;

	rn_mad_hdr_parse(&hdr, mad);
	assert_int_equal(rn_cm_msg_parse(&msg, hdr.attr_id, mad + RN_MAD_HDR_LEN), 0);
	return msg;
}

static void a_req_holds_what_rping_asked_for(void **state)
{
	struct rn_cm_ip_hdr ip;
	struct rn_cm_msg msg;

	(void)state;
	load("rxe-cm-rping");
	msg = parse(open_packet(&packet[0]).mad);
	assert_int_equal(msg.req.local_id, 0x0355821e);
	assert_int_equal(msg.req.service_id, 0x01061c06);
	assert_true(msg.req.ca_guid == 0x4c5216fffea8689e);
	assert_int_equal(msg.req.qpn, 0x38);
	assert_int_equal(msg.req.resp_res, 1);
	assert_int_equal(msg.req.init_depth, 1);
	assert_int_equal(msg.req.remote_resp_timeout, 20);
	assert_int_equal(msg.req.transport, RN_CM_TRANSPORT_RC);
	assert_int_equal(msg.req.start_psn, 0xfe9f94);
	assert_int_equal(msg.req.local_resp_timeout, 20);
	assert_int_equal(msg.req.retry_count, 7);
	assert_int_equal(msg.req.pkey, 0xffff);
	assert_int_equal(msg.req.mtu, 3);
	assert_int_equal(msg.req.rnr_retry_count, 7);
	assert_int_equal(msg.req.max_cm_retries, 15);
	assert_int_equal(msg.req.primary.local_lid, 0xffff);
	assert_memory_equal(&msg.req.primary.local_gid, &packet[0].flow.src, 16);
	assert_memory_equal(&msg.req.primary.remote_gid, &packet[0].flow.dst, 16);
	assert_int_equal(msg.req.primary.flow_label, 0x08a94);
	assert_int_equal(msg.req.primary.rate, 0);
	assert_int_equal(msg.req.primary.hop_limit, 64);
	assert_int_equal(msg.req.primary.ack_timeout, 19);
	assert_int_equal(rn_cm_ip_hdr_parse(&ip, msg.data), 0);
	assert_memory_equal(&ip.src, &packet[0].flow.src, 16);
	assert_memory_equal(&ip.dst, &packet[0].flow.dst, 16);
}

/* We in the place of the side that was asked. */
static void the_passive_side_answers_as_another_one_did(void **state)
{
	struct rn_cm_offer offer;
	struct rn_cm_msg theirs, ours;
	struct rn_cm_conn *conn;
	struct rn_cm_rx rx;
	struct kit_message tx;
	struct kit k;

	(void)state;
	kit_open(&k, KIT_CONNS);
	load("rxe-cm-rping");
	rx = open_packet(&packet[0]);
	theirs = parse(open_packet(&packet[1]).mad);
	offer = (struct rn_cm_offer){
		.ca_guid = theirs.rep.ca_guid,
		.qpn = theirs.rep.qpn,
		.psn = theirs.rep.start_psn,
		.resp_res = 1,
		.init_depth = 1,
		.rnr_retry_count = 7,
	};
	rn_cm_receive(k.b.cm, k.now, &rx);
	conn = kit_event(&k.b, RN_CM_EV_REQ).conn;
	assert_int_equal(rn_cm_accept(k.b.cm, k.now, conn, &offer), 0);
	tx = kit_take(&k.b, RN_CM_REP, &ours);
	/* But for the ID, which each draws for itself. */
	memcpy(tx.mad + RN_MAD_HDR_LEN, open_packet(&packet[1]).mad + RN_MAD_HDR_LEN, 4);
	assert_memory_equal(tx.mad, open_packet(&packet[1]).mad, RN_MAD_LEN);
	assert_memory_equal(&tx.flow.dst, &packet[0].flow.src, 16);

	load("rxe-cm-reject");
	rn_cm_unlisten(k.b.cm, &k.listener);
	rx = open_packet(&packet[0]);
	rn_cm_receive(k.b.cm, k.now, &rx);
	tx = kit_take(&k.b, RN_CM_REJ, &ours);
	assert_memory_equal(tx.mad, open_packet(&packet[1]).mad, RN_MAD_LEN);
	kit_close(&k);
}

/* We in the place of the side that asked: the same REQ but for the ID and
 * the TID.
 */
static void the_active_side_asks_as_another_one_did(void **state)
{
	struct rn_cm_msg theirs, ours;
	struct rn_cm_route route;
	struct rn_cm_offer offer;
	struct rn_cm_conn *conn;
	struct kit_message tx;
	struct kit k;

	(void)state;
	kit_open(&k, KIT_CONNS);
	load("rxe-cm-rping");
	theirs = parse(open_packet(&packet[0]).mad);
	route = kit_route(&k.a, &k.b);
	route.flow_label = theirs.req.primary.flow_label;
	offer = (struct rn_cm_offer){
		.ca_guid = theirs.req.ca_guid,
		.qpn = theirs.req.qpn,
		.psn = theirs.req.start_psn,
		.resp_res = 1,
		.init_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.data = theirs.data,
		.data_len = theirs.data_len,
	};
	assert_int_equal(rn_cm_connect(k.a.cm, k.now, theirs.req.service_id, &route,
				       &offer, &conn),
			 0);
	tx = kit_take(&k.a, RN_CM_REQ, &ours);
	memcpy(tx.mad + RN_MAD_HDR_LEN, open_packet(&packet[0]).mad + RN_MAD_HDR_LEN, 4);
	assert_memory_equal(tx.mad + RN_MAD_HDR_LEN,
			    open_packet(&packet[0]).mad + RN_MAD_HDR_LEN,
			    RN_MAD_DATA_LEN);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_is_written_as_it_was_read),
		cmocka_unit_test(a_req_holds_what_rping_asked_for),
		cmocka_unit_test(the_passive_side_answers_as_another_one_did),
		cmocka_unit_test(the_active_side_asks_as_another_one_did),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
