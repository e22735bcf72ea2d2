/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_recording.c - records: written and read again, cut off, and rubbish. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/gid.h"
#include "sim/replay/recording.h"

static uint8_t bytes[RN_REC_MAX];
static struct rn_rec_room room; /* of the record read last */

/* All fields of a record as text. */
struct text {
	size_t len;
	char at[65536];
};

static void see(void *arg, const char *name, uint64_t value, const uint8_t *data)
{
	struct text *t = arg;

	t->len += (size_t)snprintf(t->at + t->len, sizeof(t->at) - t->len, " %s=%llu",
				   name, (unsigned long long)value);
	for (uint64_t i = 0; data && i < value; i++)
		t->len += (size_t)snprintf(t->at + t->len, sizeof(t->at) - t->len, "%02x",
					   data[i]);
}

static const char *text_of(struct text *t, const struct rn_rec *rec)
{
	t->len = 0;
	t->at[0] = '\0';
	rn_rec_list(rec, see, t);
	return t->at;
}

static void assert_comes_back(const struct rn_rec *rec)
{
	static struct text before, after;
	size_t len = rn_rec_put(rec, bytes, sizeof(bytes));
	struct rn_rec back;
	unsigned kind;
	uint8_t dev;

	assert_true(len > 0);
	assert_int_equal(rn_rec_get(bytes, len, &back, &room), len);
	assert_int_equal(back.kind, rec->kind);
	assert_string_equal(text_of(&before, rec), text_of(&after, &back));
	assert_int_equal(rn_rec_peek(bytes, len, &kind, &dev), len);
	assert_int_equal(kind, rec->kind);
	assert_int_equal(dev, rec->dev);
}

static void fill_receive(struct rn_rec *rec)
{
	static struct rn_flow flow[2];
	static struct rn_rx rx[2];

	rec->u.call.receive.pkts = rx;
	rec->u.call.receive.count = 2;
	for (unsigned i = 0; i < 2; i++) {
		memset(&flow[i], (int)i + 1, sizeof(flow[i]));
		rx[i].flow = &flow[i];
		rx[i].data = (const uint8_t *)"payload" + i;
		rx[i].len = 7 - i;
		rx[i].gro_idx = (uint16_t)i;
	}
}

static void fill_post(struct rn_rec *rec)
{
	static const struct rn_av av = { .flow_label = 0xfffff };
	/* Like all of a work request, not to be written to. */
	static const struct rn_sge sg[] = {
		{ 0 }, { .addr = (uintptr_t) "abc", .len = 3, .lkey = 9 }
	};
	static const struct rn_send_wr wr = { .wr_id = UINT64_MAX,
					      .flags = RN_SEND_INLINE | RN_SEND_SIGNALED,
					      .swap = UINT64_C(0x8000000000000001),
					      .av = &av,
					      .sg = sg,
					      .num_sge = 2 };

	rec->u.call.send = &wr;
}

static void test_every_kind_comes_back(void **state)
{
	(void)state;
	for (int kind = RN_REC_END_OF_FILE + 1; kind < RN_REC_KINDS; kind++) {
		struct rn_rec rec = { .kind = (unsigned)kind, .dev = 3 };

		rec.id = rec.kind == RN_REC_OVERRUN ? UINT64_C(0x7fff12345678) : 0;
		assert_comes_back(&rec);
		rec.dev = RN_REC_NO_DEV;
		assert_comes_back(&rec);
		assert_string_not_equal(rn_rec_info[rec.kind].name, "");
	}
}

static void test_numbers_keep_their_sign_and_size(void **state)
{
	struct rn_rec rec = { .kind = RN_REC_RESULT, .result = -EINVAL };

	(void)state;
	assert_comes_back(&rec);
	rn_rec_get(bytes, sizeof(bytes), &rec, &room);
	assert_int_equal(rec.result, -EINVAL);
	rec = (struct rn_rec){ .kind = RN_CALL_CQ_MODERATE,
			       .u.call.cq.period = RN_NEVER };
	assert_comes_back(&rec);
}

static void acknowledge(void *mem_ctx, uint32_t qpn)
{
	(void)mem_ctx;
	(void)qpn;
}

static enum rn_mem_result read_a_part(void *ctx, void *dst, rn_iova src, uint32_t len,
				      struct rn_mem_attr attr, struct rn_crc32_part *part)
{
	(void)ctx;
	(void)dst;
	(void)src;
	(void)len;
	(void)attr;
	(void)part;
	return RN_MEM_FAULT;
}

/* Of functions of the memory it is known whether there are such. */
static void test_what_memory_can_do_comes_back(void **state)
{
	static const struct rn_mem_ops plain, able = { .read_part = read_a_part };
	struct rn_dev_cfg cfg = { .mem = &able, .before_ack = acknowledge };
	struct rn_rec rec = { .kind = RN_CALL_DEV_INIT, .u.call.cfg = &cfg }, back;

	(void)state;
	assert_comes_back(&rec);
	assert_true(rn_rec_get(bytes, sizeof(bytes), &back, &room) > 0);
	assert_true(back.u.call.cfg->before_ack != NULL);
	assert_true(back.u.call.cfg->mem->read_part != NULL);
	cfg = (struct rn_dev_cfg){ .mem = &plain };
	assert_comes_back(&rec);
	assert_true(rn_rec_get(bytes, sizeof(bytes), &back, &room) > 0);
	assert_true(back.u.call.cfg->before_ack == NULL);
	assert_true(back.u.call.cfg->mem->read_part == NULL);
}

/* The last field of a device's configuration says whether it wants to know of ACKs. */
static void test_flags_are_0_or_1(void **state)
{
	static const struct rn_mem_ops ops;
	const struct rn_dev_cfg cfg = { .mem = &ops, .before_ack = acknowledge };
	struct rn_rec rec = { .kind = RN_CALL_DEV_INIT, .u.call.cfg = &cfg };
	size_t len = rn_rec_put(&rec, bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(bytes[len - 1], 1);
	for (unsigned flag = 0; flag < 4; flag++) {
		bytes[len - 1] = (uint8_t)flag;
		assert_int_equal(rn_rec_get(bytes, len, &rec, &room),
				 flag < 2 ? (ssize_t)len : -EPROTO);
	}
}

static void test_packets_and_inline_data_come_back(void **state)
{
	struct rn_rec rec = { .kind = RN_CALL_RECEIVE, .now = -1 };

	(void)state;
	fill_receive(&rec);
	assert_comes_back(&rec);
	rec = (struct rn_rec){ .kind = RN_CALL_POST_SEND };
	fill_post(&rec);
	assert_comes_back(&rec);
}

/* The core refuses such a request before it looks at the data. */
static void test_too_much_inline_data_is_not_read(void **state)
{
	const struct rn_sge sg[] = { { .addr = 1, .len = RN_INLINE_MAX },
				     { .addr = 1, .len = 1 } };
	const struct rn_send_wr wr = { .flags = RN_SEND_INLINE, .sg = sg, .num_sge = 2 };
	const struct rn_rec rec = { .kind = RN_CALL_POST_SEND, .u.call.send = &wr };

	(void)state;
	assert_comes_back(&rec);
}

static void test_a_record_says_nothing_that_it_has_not(void **state)
{
	const struct rn_rec done = { .kind = RN_REC_DONE };
	struct rn_rec rec;
	size_t len = rn_rec_put(&done, bytes, sizeof(bytes));

	(void)state;
	memset(&rec, 0x77, sizeof(rec));
	assert_int_equal(rn_rec_get(bytes, len, &rec, &room), len);
	assert_int_equal(rec.id, 0);
	assert_int_equal(rec.now, 0);
	assert_int_equal(rec.result, 0);
	assert_int_equal(rec.u.access.len, 0);
}

static void test_devices_have_numbers_below_64_or_none(void **state)
{
	static const struct {
		uint8_t dev;
		bool is_one;
	} cases[] = {
		{ 0, true },	{ RN_REC_DEVS - 1, true },    { RN_REC_DEVS, false },
		{ 200, false }, { RN_REC_NO_DEV - 1, false }, { RN_REC_NO_DEV, true }
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_rec rec = { .kind = RN_REC_DONE, .dev = cases[i].dev };
		size_t len = rn_rec_put(&rec, bytes, sizeof(bytes));

		assert_int_equal(rn_rec_get(bytes, len, &rec, &room),
				 cases[i].is_one ? (ssize_t)len : -EPROTO);
	}
}

static void test_a_record_has_no_bytes_behind_its_fields(void **state)
{
	(void)state;
	for (int kind = RN_REC_END_OF_FILE + 1; kind < RN_REC_KINDS; kind++) {
		struct rn_rec rec = { .kind = (unsigned)kind, .dev = 3 };
		size_t len = rn_rec_put(&rec, bytes, sizeof(bytes));
		uint32_t longer = (uint32_t)len - 4 + 1;

		bytes[len] = 0;
		bytes[0] = (uint8_t)longer;
		bytes[1] = (uint8_t)(longer >> 8);
		assert_int_equal(rn_rec_get(bytes, len + 1, &rec, &room), -EPROTO);
	}
}

/* A record whose last number, for which @size bytes are there, is @in. Return:
 * its length. */
static size_t make_number(const uint8_t *in, size_t len, size_t size)
{
	size_t at = RN_REC_HEAD;

	memset(bytes, 0, RN_REC_HEAD);
	bytes[4] = size == 1 ? RN_REC_DONE : size == 4 ? RN_REC_RESULT : RN_REC_OVERRUN;
	if (size > 1)
		bytes[at++] = 3; /* the device */
	memcpy(bytes + at, in, len);
	bytes[0] = (uint8_t)(at + len - 4);
	return at + len;
}

static void test_numbers_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		uint8_t in[12];
		size_t len, size;
		bool fits;
		uint64_t value;
	} cases[] = {
		{ { 0xff, 0x01 }, 2, 1, true, UINT8_MAX },
		{ { 0x80, 0x02 }, 2, 1, false, 0 },
		{ { 0x81, 0x00 }, 2, 1, false, 0 }, /* 1, which has one byte */
		{ { 0xff, 0xff, 0xff, 0xff, 0x0f }, 5, 4, true, UINT32_MAX },
		{ { 0x80, 0x80, 0x80, 0x80, 0x10 }, 5, 4, false, 0 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
		  10,
		  8,
		  true,
		  UINT64_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 },
		  10,
		  8,
		  false,
		  0 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 },
		  11,
		  8,
		  false,
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_rec rec;
		size_t len = make_number(cases[i].in, cases[i].len, cases[i].size);
		ssize_t rc = rn_rec_get(bytes, len, &rec, &room);

		assert_int_equal(rc, cases[i].fits ? (ssize_t)len : -EPROTO);
		if (cases[i].fits)
			assert_int_equal(cases[i].size == 1   ? rec.dev
					 : cases[i].size == 4 ? (uint32_t)rec.result
							      : rec.id,
					 cases[i].value);
	}
}

/* A record in a block of its own size: a sanitizer sees what is read behind it. */
static ssize_t get_exactly(const uint8_t *in, size_t len, struct rn_rec *rec)
{
	uint8_t *copy = malloc(len ? len : 1);
	ssize_t rc;

	assert_non_null(copy);
	memcpy(copy, in, len);
	rc = rn_rec_get(copy, len, rec, &room);
	free(copy);
	return rc;
}

static void test_a_record_that_is_cut_off_is_none(void **state)
{
	struct rn_rec rec = { .kind = RN_CALL_RECEIVE };
	size_t len;

	(void)state;
	fill_receive(&rec);
	len = rn_rec_put(&rec, bytes, sizeof(bytes));
	for (size_t n = 0; n < len; n++) {
		ssize_t rc = get_exactly(bytes, n, &rec);

		assert_int_equal(rc, n < RN_REC_HEAD ? 0 : -EPROTO);
	}
}

static void test_no_room_writes_no_record(void **state)
{
	struct rn_rec rec = { .kind = RN_CALL_POST_SEND };
	size_t len;

	(void)state;
	fill_post(&rec);
	len = rn_rec_put(&rec, bytes, sizeof(bytes));
	for (size_t n = 0; n < len; n++) {
		memset(bytes, 0, len);
		assert_int_equal(rn_rec_put(&rec, bytes, n), 0);
		assert_int_equal(rn_rec_get(bytes, sizeof(bytes), &rec, &room), 0);
		memset(&rec, 0, sizeof(rec));
		rec.kind = RN_CALL_POST_SEND;
		fill_post(&rec);
	}
}

static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ z >> 31;
}

static void test_rubbish_is_refused_or_a_record(void **state)
{
	struct rn_rec rec = { .kind = RN_CALL_POST_SEND };
	uint8_t good[512], bad[512];
	uint64_t seed = 1;
	unsigned refused = 0;
	size_t len;

	(void)state;
	fill_post(&rec);
	len = rn_rec_put(&rec, good, sizeof(good));
	for (unsigned i = 0; i < 20000; i++) {
		ssize_t rc;

		memcpy(bad, good, len);
		for (unsigned n = 0; n < 3; n++)
			bad[next_random(&seed) % len] = (uint8_t)next_random(&seed);
		rc = get_exactly(bad, len, &rec);
		assert_true(rc == -EPROTO || (rc >= 0 && (size_t)rc <= len));
		refused += rc == -EPROTO;
	}
	assert_true(refused > 1000);
}

static void test_header_says_what_was_recorded(void **state)
{
	struct rn_rec_header h = { .version = RN_REC_VERSION,
				   .pid = 77,
				   .rocin = (const uint8_t *)"1.2",
				   .rocin_len = 3,
				   .command = (const uint8_t *)"a\0b",
				   .command_len = 4 };
	struct rn_rec_header back;
	size_t len = rn_rec_put_header(&h, bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(rn_rec_get_header(bytes, len, &back), len);
	assert_int_equal(back.pid, 77);
	assert_memory_equal(back.command, "a\0b", 4);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(rn_rec_get_header(bytes, n, &back), -EBADMSG);
	h.version = RN_REC_VERSION + 1;
	len = rn_rec_put_header(&h, bytes, sizeof(bytes));
	assert_int_equal(rn_rec_get_header(bytes, len, &back), -ENOTSUP);
	assert_int_equal(back.version, RN_REC_VERSION + 1);
	bytes[0] ^= 1;
	assert_int_equal(rn_rec_get_header(bytes, len, &back), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_comes_back),
		cmocka_unit_test(test_numbers_keep_their_sign_and_size),
		cmocka_unit_test(test_what_memory_can_do_comes_back),
		cmocka_unit_test(test_flags_are_0_or_1),
		cmocka_unit_test(test_packets_and_inline_data_come_back),
		cmocka_unit_test(test_too_much_inline_data_is_not_read),
		cmocka_unit_test(test_a_record_says_nothing_that_it_has_not),
		cmocka_unit_test(test_devices_have_numbers_below_64_or_none),
		cmocka_unit_test(test_a_record_has_no_bytes_behind_its_fields),
		cmocka_unit_test(test_numbers_that_do_not_fit_are_refused),
		cmocka_unit_test(test_a_record_that_is_cut_off_is_none),
		cmocka_unit_test(test_no_room_writes_no_record),
		cmocka_unit_test(test_rubbish_is_refused_or_a_record),
		cmocka_unit_test(test_header_says_what_was_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
