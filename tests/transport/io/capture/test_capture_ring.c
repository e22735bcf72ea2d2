/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_capture_ring.c - records from one end to the other, and ends that lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/diagnostic.h"
#include "tests/kit/work.h"
#include "transport/io/capture/capture_ring.h"

enum {
	SIZE = RN_CAPTURE_SIZE_MIN,
	/* As capture_ring.c has them. */
	TAIL_AT = 128,
	HEAD_AT = 256,
};

struct rig {
	uint8_t *mem;
	struct rn_capture_writer w;
	struct rn_capture_reader r;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	rig->mem = aligned_alloc(4096, rn_capture_ring_bytes(SIZE));
	memset(rig->mem, 0, rn_capture_ring_bytes(SIZE));
	rn_capture_format(rig->mem, SIZE);
	assert_int_equal(rn_capture_writer_init(&rig->w, rig->mem, SIZE), 0);
	assert_int_equal(rn_capture_reader_init(&rig->r, rig->mem, SIZE), 0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	free(rig->mem);
	free(rig);
	return 0;
}

static uint64_t put(struct rig *rig, uint32_t len)
{
	static uint8_t body[RN_CAPTURE_BODY_MAX];
	struct rn_capture_record rec = {
		.kind = RN_CAPTURE_PACKET, .len = len, .cap = len, .qpn = 7
	};

	memset(body, (int)(rig->w.packets & 0xff), len);
	return rn_capture_put(&rig->w, &rec, body);
}

static void expect(struct rig *rig, uint64_t number, uint32_t len)
{
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.kind, RN_CAPTURE_PACKET);
	assert_int_equal(rig->r.rec.number, number);
	assert_int_equal(rig->r.rec.cap, len);
	assert_int_equal(rig->r.rec.qpn, 7);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(rig->r.body[i], (uint8_t)(number - 1));
	rn_capture_pass(&rig->r);
}

static void nothing_is_seen_before_it_is_published(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
	assert_int_equal(put(rig, 100), 1);
	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
	rn_capture_publish(&rig->w);
	expect(rig, 1, 100);
	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
}

/* All lengths, many times around: pads of every size. */
static void records_go_around_the_end(void **state)
{
	struct rig *rig = *state;
	uint32_t len = 0;

	for (uint64_t n = 1; n < 3000; n++) {
		assert_int_equal(put(rig, len), n);
		rn_capture_publish(&rig->w);
		expect(rig, n, len);
		len = (len * 5 + 13) % 4200;
	}
	assert_true(rig->w.tail > 20 * SIZE);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct rig *rig = *state;
	uint64_t fitted = 0, packets, missed;

	while (put(rig, 4000))
		fitted++;
	assert_true(fitted >= SIZE / 4200 && fitted < SIZE / 4000);
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(put(rig, 4000), 0);
	rn_capture_publish(&rig->w);
	rn_capture_counts(&rig->r, &packets, &missed);
	assert_int_equal(packets, fitted);
	assert_int_equal(missed, 10);
	for (uint64_t n = 1; n <= fitted; n++)
		expect(rig, n, 4000);
	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
	/* The next one says how many were lost before it. */
	assert_int_equal(put(rig, 10), fitted + 1);
	assert_int_equal(put(rig, 10), fitted + 2);
	rn_capture_publish(&rig->w);
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.missed, 10);
	expect(rig, fitted + 1, 10);
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.missed, 0);
}

static void a_gap_lasts_until_the_reader_moves(void **state)
{
	struct rig *rig = *state;
	uint64_t fitted = 0, packets, missed;

	while (put(rig, 4000))
		fitted++;
	assert_true(rn_capture_is_full(&rig->w));
	/* There is room for these, but the gap would be many gaps. */
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(put(rig, 10), 0);
	rn_capture_miss(&rig->w, 7);
	rn_capture_publish(&rig->w);
	rn_capture_counts(&rig->r, &packets, &missed);
	assert_int_equal(missed, 11);
	for (uint64_t n = 1; n <= fitted; n++)
		expect(rig, n, 4000);
	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
	assert_false(rn_capture_is_full(&rig->w));
	assert_int_equal(put(rig, 10), fitted + 1);
	rn_capture_publish(&rig->w);
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.missed, 11);
}

static void a_diagnostic_names_its_packet(void **state)
{
	struct rig *rig = *state;
	const struct rn_diagnostic said = { .kind = RN_DIAGNOSTIC_NAK, .code = 0x60 };
	struct rn_capture_record rec = { .kind = RN_CAPTURE_DIAGNOSTIC,
					 .cap = sizeof(said) };

	rec.number = put(rig, 20);
	rn_capture_put(&rig->w, &rec, &said);
	rn_capture_publish(&rig->w);
	expect(rig, 1, 20);
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	assert_int_equal(rig->r.rec.kind, RN_CAPTURE_DIAGNOSTIC);
	assert_int_equal(rig->r.rec.number, 1);
	assert_memory_equal(rig->r.body, &said, sizeof(said));
}

static void memory_that_is_no_ring_is_refused(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rn_capture_reader_init(&rig->r, rig->mem, 2 * SIZE), -EPROTO);
	assert_int_equal(rn_capture_writer_init(&rig->w, rig->mem, SIZE + 1), -EPROTO);
	memset(rig->mem, 0, 4);
	assert_int_equal(rn_capture_writer_init(&rig->w, rig->mem, SIZE), -EPROTO);
}

/* The first writer dies while it writes a third record. */
static void another_writer_goes_on_behind_what_is_published(void **state)
{
	struct rig *rig = *state;

	put(rig, 100);
	put(rig, 200);
	rn_capture_publish(&rig->w);
	put(rig, 300);
	assert_int_equal(rn_capture_writer_init(&rig->w, rig->mem, SIZE), 0);
	assert_int_equal(put(rig, 400), 3);
	rn_capture_publish(&rig->w);
	expect(rig, 1, 100);
	expect(rig, 2, 200);
	expect(rig, 3, 400);
	assert_int_equal(rn_capture_peek(&rig->r), -EAGAIN);
}

/* A reader can have written anything there. */
static void another_writer_does_not_believe_what_cannot_be(void **state)
{
	static const uint64_t rows[][2] = { /* tail and head */
					    { 1, 0 },
					    { 0, RN_CAPTURE_ALIGN },
					    { SIZE + RN_CAPTURE_ALIGN, 0 }
	};
	struct rig *rig = *state;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		memcpy(rig->mem + TAIL_AT, &rows[i][0], sizeof(rows[i][0]));
		memcpy(rig->mem + HEAD_AT, &rows[i][1], sizeof(rows[i][1]));
		assert_int_equal(rn_capture_writer_init(&rig->w, rig->mem, SIZE),
				 -EPROTO);
	}
}

static void a_reader_that_lies_gets_nothing(void **state)
{
	struct rig *rig = *state;
	const uint64_t far = UINT64_MAX - 15;

	while (put(rig, 4000))
		;
	memcpy(rig->mem + HEAD_AT, &far, sizeof(far));
	assert_int_equal(put(rig, 4000), 0);
	/* Nor does it later: the ring is full for good. */
	memcpy(rig->mem + HEAD_AT, &rig->w.tail, sizeof(far));
	assert_int_equal(put(rig, 10), 0);
	assert_true(rn_capture_is_full(&rig->w));
}

static void spoil(struct rig *rig, size_t at, uint32_t value)
{
	put(rig, 200);
	rn_capture_publish(&rig->w);
	memcpy(rig->mem + RN_CAPTURE_CONTROL + at, &value, sizeof(value));
}

static void a_writer_that_lies_is_not_followed(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
	} lies[] = {
		{ offsetof(struct rn_capture_record, size), 0 },
		{ offsetof(struct rn_capture_record, size), 17 },
		{ offsetof(struct rn_capture_record, size), 4096 },
		{ offsetof(struct rn_capture_record, size), UINT32_MAX - 15 },
		{ offsetof(struct rn_capture_record, kind), 77 },
		{ offsetof(struct rn_capture_record, kind), RN_CAPTURE_DIAGNOSTIC },
		{ offsetof(struct rn_capture_record, cap), 4096 },
		{ offsetof(struct rn_capture_record, cap), UINT32_MAX },
		{ offsetof(struct rn_capture_record, len), 199 },
		{ offsetof(struct rn_capture_record, len), UINT32_MAX },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(lies); i++) {
		struct rig *rig;

		teardown(state);
		setup(state);
		rig = *state;
		spoil(rig, lies[i].at, lies[i].value);
		work_begin();
		assert_int_equal(rn_capture_peek(&rig->r), -EPROTO);
		assert_work(WORK_CALL);
	}
}

/* Its header says that it is a packet like any other. */
static void a_body_longer_than_its_record_is_not_read(void **state)
{
	struct rig *rig = *state;
	const struct rn_capture_record lie = {
		.size = 256, .kind = RN_CAPTURE_PACKET, .cap = 256, .len = 256
	};

	assert_true(put(rig, 256 - sizeof(lie)) > 0);
	rn_capture_publish(&rig->w);
	assert_int_equal(rig->w.tail, 256);
	memcpy(rig->mem + RN_CAPTURE_CONTROL, &lie, sizeof(lie));
	assert_int_equal(rn_capture_peek(&rig->r), -EPROTO);
}

static void a_record_over_the_end_of_the_ring_is_not_read(void **state)
{
	struct rig *rig = *state;
	const uint32_t off = SIZE - 256;
	struct rn_capture_record rec = {
		.size = 256, .kind = RN_CAPTURE_PACKET, .cap = 100, .len = 100
	};
	const uint64_t tail = off + 512;

	rig->r.head = rig->r.tail = off;
	memcpy(rig->mem + RN_CAPTURE_CONTROL + off, &rec, sizeof(rec));
	memcpy(rig->mem + TAIL_AT, &tail, sizeof(tail));
	assert_int_equal(rn_capture_peek(&rig->r), 0);
	rig->r.has_record = false;
	rec.size = 512;
	memcpy(rig->mem + RN_CAPTURE_CONTROL + off, &rec, sizeof(rec));
	assert_int_equal(rn_capture_peek(&rig->r), -EPROTO);
}

static void more_than_the_ring_holds_is_not_believed(void **state)
{
	struct rig *rig = *state;
	const uint64_t tail = SIZE + RN_CAPTURE_ALIGN;

	assert_int_equal(put(rig, 100), 1); /* a record that is well */
	rn_capture_publish(&rig->w);
	memcpy(rig->mem + TAIL_AT, &tail, sizeof(tail));
	assert_int_equal(rn_capture_peek(&rig->r), -EPROTO);
}

static void a_tail_that_cannot_be_ends_it(void **state)
{
	static const uint64_t tails[] = { 8, SIZE + 16, UINT64_MAX };

	for (size_t i = 0; i < RN_ARRAY_SIZE(tails); i++) {
		struct rig *rig = *state;

		memcpy(rig->mem + TAIL_AT, &tails[i], sizeof(tails[i]));
		assert_int_equal(rn_capture_peek(&rig->r), -EPROTO);
	}
}

/* As many as the ring has room for, and it would go on with that for as long as the
 * reader does.
 */
static void a_writer_that_only_pads_is_not_followed(void **state)
{
	const struct rn_capture_record pad = { .size = RN_CAPTURE_ALIGN,
					       .kind = RN_CAPTURE_PAD };
	struct rig *rig = *state;
	const uint64_t all = SIZE;

	for (size_t at = 0; at < SIZE; at += RN_CAPTURE_ALIGN)
		memcpy(rig->mem + RN_CAPTURE_CONTROL + at, &pad, RN_CAPTURE_ALIGN);
	memcpy(rig->mem + TAIL_AT, &all, sizeof(all));
	work_begin();
	assert_int_equal(rn_capture_peek(&rig->r), -EPROTO);
	assert_work(WORK_CALL);
	assert_int_equal(rig->r.head, RN_CAPTURE_ALIGN);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_seen_before_it_is_published),
		TEST(records_go_around_the_end),
		TEST(what_does_not_fit_is_counted),
		TEST(a_gap_lasts_until_the_reader_moves),
		TEST(a_diagnostic_names_its_packet),
		TEST(memory_that_is_no_ring_is_refused),
		TEST(another_writer_goes_on_behind_what_is_published),
		TEST(another_writer_does_not_believe_what_cannot_be),
		TEST(a_reader_that_lies_gets_nothing),
		TEST(a_writer_that_lies_is_not_followed),
		TEST(a_body_longer_than_its_record_is_not_read),
		TEST(a_record_over_the_end_of_the_ring_is_not_read),
		TEST(more_than_the_ring_holds_is_not_believed),
		TEST(a_tail_that_cannot_be_ends_it),
		TEST(a_writer_that_only_pads_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
