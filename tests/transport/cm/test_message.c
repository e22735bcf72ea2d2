/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_message.c - CM messages and IP CM headers: every bit of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/mad.h"

/* Bits that are not reserved, added up from the specification's tables by hand: fixed
 * fields, additional information, private data.
 */
enum {
	PATH_BITS = 32 + 256 + 20 + 6 + 8 + 8 + 4 + 1 + 5
};

static const struct {
	enum rn_cm_attr attr;
	const char *name;
	unsigned fixed, data; /* bits; bytes */
} rows[] = {
	/* ids 32, vendor 24, service and GUID 128, Q_Key 32, QPN 24, depths 16, EECNs 48,
	 * timeouts 10, transport 2, flow control 1, PSN 24, retry 3, P_Key 16, MTU 4,
	 * RDC 1, RNR 3, CM retries 4, SRQ 1, extended 3, SAP 1, and two paths: LIDs 32,
	 * GIDs 256, flow label 20, rate 6, class 8, hops 8, SL 4, local 1, timeout 5
	 */
	{ RN_CM_REQ, "REQ",
	  32 + 24 + 128 + 32 + 24 + 16 + 48 + 10 + 2 + 1 + 24 + 3 + 16 + 4 + 1 + 3 + 4 +
		  1 + 3 + 2 * PATH_BITS + 1,
	  92 },
	{ RN_CM_MRA, "MRA", 64 + 2 + 5, 222 },
	{ RN_CM_REJ, "REJ", 64 + 2 + 7 + 16 + 72 * 8, 148 },
	{ RN_CM_REP, "REP", 64 + 32 + 24 + 24 + 24 + 24 + 16 + 5 + 2 + 1 + 3 + 1 + 64,
	  196 },
	{ RN_CM_RTU, "RTU", 64, 224 },
	{ RN_CM_DREQ, "DREQ", 64 + 24, 220 },
	{ RN_CM_DREP, "DREP", 64, 224 },
	{ RN_CM_SIDR_REQ, "SIDR_REQ", 32 + 16 + 64, 216 },
	{ RN_CM_SIDR_REP, "SIDR_REP", 32 + 8 + 8 + 16 + 24 + 8 + 64 + 32 + 72 * 8, 136 },
	{ RN_CM_LAP, "LAP", 64 + 24 + 5 + PATH_BITS, 168 },
	{ RN_CM_APR, "APR", 64 + 8 + 8 + 72 * 8, 148 },
};

static void each_bit_is_one_fields_or_reserved(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		unsigned used = 0;

		assert_string_equal(rn_cm_msg_name((uint16_t)rows[i].attr), rows[i].name);
		assert_int_equal(rn_cm_data_len(rows[i].attr), rows[i].data);
		for (unsigned bit = 0; bit < RN_MAD_DATA_LEN * 8; bit++) {
			uint8_t in[RN_MAD_DATA_LEN] = { 0 }, out[RN_MAD_DATA_LEN];
			const uint8_t zeros[RN_MAD_DATA_LEN] = { 0 };
			struct rn_cm_msg msg;

			in[bit / 8] = (uint8_t)(0x80 >> bit % 8);
			assert_int_equal(
				rn_cm_msg_parse(&msg, (uint16_t)rows[i].attr, in), 0);
			memset(out, 0xff, sizeof(out));
			rn_cm_msg_emit(out, &msg);
			if (memcmp(out, zeros, sizeof(out)) == 0)
				continue;
			assert_memory_equal(out, in, sizeof(out));
			used++;
		}
		assert_int_equal(used, rows[i].fixed + 8 * rows[i].data);
	}
}

static void what_is_no_cm_message_is_not_parsed(void **state)
{
	static const uint16_t others[] = { 0, 1, 0x0f, 0x1b, 0x110, 0xffff };
	uint8_t data[RN_MAD_DATA_LEN] = { 0 };
	struct rn_cm_msg msg;

	(void)state;
	memset(&msg, 0x5a, sizeof(msg));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(others); i++) {
		assert_int_equal(rn_cm_msg_parse(&msg, others[i], data), -EPROTO);
		assert_null(rn_cm_msg_name(others[i]));
	}
	assert_int_equal(msg.req.local_id, 0x5a5a5a5a);
}

/* What was read points into the MAD; what is written is followed by zeros. */
static void private_data_is_read_and_written_where_it_stands(void **state)
{
	uint8_t in[RN_MAD_DATA_LEN] = { 0 }, out[RN_MAD_DATA_LEN];
	struct rn_cm_msg msg;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		const uint32_t at = RN_MAD_DATA_LEN - rows[i].data;

		assert_int_equal(rn_cm_msg_parse(&msg, (uint16_t)rows[i].attr, in), 0);
		assert_ptr_equal(msg.data + msg.data_len, in + RN_MAD_DATA_LEN);
		assert_int_equal(msg.data_len, rows[i].data);
		msg.data = (const uint8_t *)"abc";
		msg.data_len = 2;
		memset(out, 0xff, sizeof(out));
		rn_cm_msg_emit(out, &msg);
		assert_memory_equal(out + at, "ab", 2);
		for (uint32_t j = at + 2; j < RN_MAD_DATA_LEN; j++)
			assert_int_equal(out[j], 0);
	}
}

/* Fields side by side in one byte. */
static void narrow_fields_stand_where_the_tables_have_them(void **state)
{
	struct rn_cm_msg msg = { .attr = RN_CM_REQ };
	uint8_t d[RN_MAD_DATA_LEN];

	(void)state;
	msg.req.remote_resp_timeout = 20;
	msg.req.transport = 3;
	msg.req.mtu = 3;
	msg.req.rnr_retry_count = 7;
	msg.req.max_cm_retries = 15;
	msg.req.ext_transport = 1;
	msg.req.primary.flow_label = 0x12345;
	msg.req.primary.rate = 0x2a;
	msg.req.primary.ack_timeout = 19;
	msg.req.alternate.sl = 5;
	msg.req.alternate.subnet_local = true;
	rn_cm_msg_emit(d, &msg);
	assert_int_equal(d[43], 20 << 3 | 3 << 1);
	assert_int_equal(d[50], 3 << 4 | 7);
	assert_int_equal(d[51], 15 << 4 | 1);
	assert_int_equal(d[88], 0x12);
	assert_int_equal(d[89], 0x34);
	assert_int_equal(d[90], 0x50);
	assert_int_equal(d[91], 0x2a);
	assert_int_equal(d[95], 19 << 3);
	assert_int_equal(d[138], 5 << 4 | 1 << 3);

	msg = (struct rn_cm_msg){ .attr = RN_CM_REP };
	msg.rep.ack_delay = 15;
	msg.rep.failover = 2;
	msg.rep.flow_control = true;
	msg.rep.rnr_retry_count = 6;
	msg.rep.srq = true;
	rn_cm_msg_emit(d, &msg);
	assert_int_equal(d[26], 15 << 3 | 2 << 1 | 1);
	assert_int_equal(d[27], 6 << 5 | 1 << 4);
}

static void a_mad_header_is_24_bytes(void **state)
{
	static const uint8_t bytes[RN_MAD_HDR_LEN] = {
		1,    7,    2,	  0x83, 0x12, 0x34, 0,	  0x56, /* to class specific */
		0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, /* TID */
		0x00, 0x10, 0,	  0,	0xd1, 0xd2, 0xd3, 0xd4, /* attribute */
	};
	uint8_t out[RN_MAD_HDR_LEN];
	struct rn_mad_hdr hdr;

	(void)state;
	rn_mad_hdr_parse(&hdr, bytes);
	assert_int_equal(hdr.base_version, 1);
	assert_int_equal(hdr.mgmt_class, 7);
	assert_int_equal(hdr.class_version, 2);
	assert_int_equal(hdr.method, 0x83);
	assert_int_equal(hdr.status, 0x1234);
	assert_int_equal(hdr.class_specific, 0x56);
	assert_true(hdr.tid == 0xa1a2a3a4a5a6a7a8);
	assert_int_equal(hdr.attr_id, 0x10);
	assert_int_equal(hdr.attr_mod, 0xd1d2d3d4);
	memset(out, 0xff, sizeof(out));
	rn_mad_hdr_emit(out, &hdr);
	assert_memory_equal(out, bytes, sizeof(out));
}

static void an_ip_cm_header_is_36_bytes(void **state)
{
	static const uint8_t v4[RN_CM_IP_HDR_LEN] = {
		[1] = 0x40, [2] = 0xc3, [3] = 0x50, [16] = 10, [17] = 77,
		[19] = 1,   [32] = 10,	[33] = 77,  [35] = 2,
	};
	static const uint8_t v6[RN_CM_IP_HDR_LEN] = {
		[1] = 0x60, [3] = 9, [4] = 0xfd, [19] = 1, [20] = 0xfd, [35] = 2,
	};
	const struct rn_gid from4 = { { [10] = 0xff, [11] = 0xff, 10, 77, 0, 1 } };
	const struct rn_gid to6 = { { [0] = 0xfd, [15] = 2 } };
	uint8_t out[RN_CM_IP_HDR_LEN];
	struct rn_cm_ip_hdr hdr;

	(void)state;
	assert_int_equal(rn_cm_ip_hdr_parse(&hdr, v4), 0);
	assert_int_equal(hdr.src_port, 50000);
	assert_memory_equal(&hdr.src, &from4, 16);
	memset(out, 0xff, sizeof(out));
	assert_ptr_equal(rn_cm_ip_hdr_emit(out, &hdr), out + RN_CM_IP_HDR_LEN);
	assert_memory_equal(out, v4, sizeof(out));

	assert_int_equal(rn_cm_ip_hdr_parse(&hdr, v6), 0);
	assert_int_equal(hdr.src_port, 9);
	assert_memory_equal(&hdr.dst, &to6, 16);
	rn_cm_ip_hdr_emit(out, &hdr);
	assert_memory_equal(out, v6, sizeof(out));
}

static void services_of_ports(void **state)
{
	(void)state;
	assert_int_equal(rn_cm_service_id(RN_CM_PS_TCP, 7174), 0x01061c06);
	assert_true(rn_cm_service_is_ip(0x01061c06));
	assert_true(rn_cm_service_is_ip(0x01111c06));
	assert_false(rn_cm_service_is_ip(0x02061c06));
	assert_false(rn_cm_service_is_ip(0x1000000001061c06));
	assert_false(rn_cm_service_is_ip(0x1c06));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bit_is_one_fields_or_reserved),
		cmocka_unit_test(what_is_no_cm_message_is_not_parsed),
		cmocka_unit_test(private_data_is_read_and_written_where_it_stands),
		cmocka_unit_test(narrow_fields_stand_where_the_tables_have_them),
		cmocka_unit_test(a_mad_header_is_24_bytes),
		cmocka_unit_test(an_ip_cm_header_is_36_bytes),
		cmocka_unit_test(services_of_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
