/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_ring_faults.c - each value that a hostile peer can put into the shared memory, and
 * what the other end says of it. What is next to a value that is refused is taken.
 */
#include "ring_flood.h"
#include "ring_kit.h"
#include "tests/kit/work.h"

enum {
	LEN = 80,
	RECORD = 128, /* of such a packet */
};

static void set_tail(struct both *b, uint64_t tail)
{
	atomic_store(&b->shared->tail, tail);
}

static void set_head(struct both *b, uint64_t head)
{
	atomic_store(&b->shared->head, head);
}

static void put_record(struct both *b, uint64_t position, uint32_t off, uint32_t length,
		       uint64_t meta)
{
	struct rn_ring_header *h = (void *)(b->data + off);

	atomic_store(&h->what, (uint64_t)rn_ring_tag(position) << 32 | length);
	atomic_store(&h->meta, meta);
}

/* The consumer gives @packets, and then nothing for this reason. */
static void assert_receives(struct both *b, unsigned packets, enum rn_ring_fault fault)
{
	assert_int_equal(both_receive(b), packets);
	assert_int_equal(b->recv.fault, fault);
	if (!fault)
		return;
	assert_int_equal(both_receive(b), 0);
	assert_false(rn_ring_waits(&b->recv));
	assert_int_equal(b->recv.fault, fault);
}

static void assert_send_is(struct both *b, int err, enum rn_ring_fault fault)
{
	assert_int_equal(both_send(b, 0, 1000), err);
	assert_int_equal(b->send.fault, fault);
}

/* ------------------------------------------------------------------ memory */
static void memory_that_is_no_ring_is_refused_by_both(void **state)
{
	struct both *b = *state;
	_Atomic uint32_t *const word[] = { &b->shared->magic, &b->shared->version,
					   &b->shared->capacity };

	for (unsigned i = 0; i < RN_ARRAY_SIZE(word); i++) {
		atomic_fetch_add(word[i], 1);
		assert_int_equal(rn_ring_send_init(&b->send, b->mem, KIT_CAPACITY),
				 RN_RING_BAD_MAGIC);
		assert_int_equal(rn_ring_recv_init(&b->recv, b->mem, KIT_CAPACITY),
				 RN_RING_BAD_MAGIC);
		assert_send_is(b, -EPIPE, RN_RING_BAD_MAGIC);
		assert_receives(b, 0, RN_RING_BAD_MAGIC);
		atomic_fetch_sub(word[i], 1);
	}
	assert_int_equal(rn_ring_recv_init(&b->recv, b->mem, KIT_CAPACITY), RN_RING_OK);
}

/* -------------------------------------------------------------------- head */
static void head_is_nowhere_but_between_where_it_was_and_the_tail(void **state)
{
	struct both *b = *state;
	struct rn_ring_send full;
	uint64_t tail;

	both_fill(b, 0, 1000);
	both_receive(b);
	both_send(b, 0, 1000);
	both_fill(b, 0, 1000);
	full = b->send;
	tail = full.published;
	const struct {
		uint64_t head;
		enum rn_ring_fault fault;
	} rows[] = {
		{ full.head, RN_RING_OK },
		{ full.head - 64, RN_RING_BAD_HEAD },
		{ full.head + 8, RN_RING_BAD_HEAD },
		{ 0, RN_RING_BAD_HEAD },
		{ tail + 64, RN_RING_BAD_HEAD },
		{ UINT64_MAX - 63, RN_RING_BAD_HEAD },
		{ full.head - RN_RING_SIZE_MIN, RN_RING_BAD_HEAD },
	};

	assert_true(full.head > 0);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		b->send = full;
		set_head(b, rows[i].head);
		assert_send_is(b, rows[i].fault ? -EPIPE : -EAGAIN, rows[i].fault);
	}
	b->send = full;
	set_head(b, tail);
	assert_send_is(b, 0, RN_RING_OK);
}

/* Not even what it wrote itself, before it said so. */
static void head_beyond_what_was_published_is_a_lie(void **state)
{
	struct both *b = *state;

	assert_int_equal(both_send(b, 0, LEN), 0);
	set_head(b, RECORD);
	assert_false(rn_ring_is_read(&b->send));
	assert_int_equal(b->send.fault, RN_RING_BAD_HEAD);
	assert_false(rn_ring_publish(&b->send));
}

static void bad_head_stops_a_change_of_size(void **state)
{
	struct both *b = *state;

	set_head(b, 64);
	assert_int_equal(rn_ring_resize(&b->send, KIT_CAPACITY), -EPIPE);
	assert_int_equal(b->send.fault, RN_RING_BAD_HEAD);
}

/* -------------------------------------------------------------------- tail */
static void tail_is_nowhere_but_within_the_capacity(void **state)
{
	static const struct {
		uint64_t tail;
		enum rn_ring_fault fault;
	} rows[] = {
		{ RECORD + 1, RN_RING_BAD_TAIL },
		{ RECORD + 32, RN_RING_BAD_TAIL },
		{ KIT_CAPACITY + RECORD + 64, RN_RING_BAD_TAIL },
		{ UINT64_MAX - 63, RN_RING_BAD_TAIL },
		{ 0, RN_RING_BAD_TAIL }, /* before where it was */
		{ RECORD - 64, RN_RING_BAD_TAIL },
		{ RECORD, RN_RING_OK },
		{ KIT_CAPACITY + RECORD, RN_RING_BAD_TAG }, /* the next record's matter */
	};
	struct both *b = *state;
	struct rn_ring_recv one_read;

	both_send(b, 0, LEN);
	rn_ring_publish(&b->send);
	assert_receives(b, 1, RN_RING_OK);
	one_read = b->recv;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		b->recv = one_read;
		set_tail(b, rows[i].tail);
		assert_receives(b, 0, rows[i].fault);
	}
}

/* Also when that was not yet read. */
static void tail_never_goes_back(void **state)
{
	struct both *b = *state;

	both_fill(b, 0, LEN);
	assert_int_equal(rn_ring_receive(&b->recv, b->got, 4, b->room, sizeof(b->room)),
			 4);
	set_tail(b, 5 * RECORD); /* where reading goes on, but fewer than before */
	assert_receives(b, KIT_MANY, RN_RING_OK);
	while (b->recv.head != b->recv.tail)
		both_receive(b);
	assert_receives(b, 0, RN_RING_BAD_TAIL);
}

/* ------------------------------------------------------------------ record */
static void tag_of_another_place_or_time_is_refused(void **state)
{
	static const int64_t wrong[] = { -64, 64, RN_RING_SIZE_MIN, -RN_RING_SIZE_MIN };
	struct both *b = *state;

	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		struct rn_ring_recv fresh = b->recv;

		put_record(b, (uint64_t)wrong[i], 0, LEN, 0);
		set_tail(b, RECORD);
		assert_receives(b, 0, RN_RING_BAD_TAG);
		b->recv = fresh;
	}
	put_record(b, 0, 0, LEN, 0);
	assert_receives(b, 1, RN_RING_OK);
}

/* The producer says that it has written more than it has. */
static void stale_record_is_refused(void **state)
{
	struct both *b = *state;
	unsigned n = both_fill(b, 0, LEN);

	for (unsigned got = 0; got < n;)
		got += both_receive(b);
	set_tail(b, b->recv.head + RECORD);
	assert_receives(b, 0, RN_RING_BAD_TAG);
}

static void length_of_no_packet_is_refused(void **state)
{
	static const struct {
		uint32_t length;
		unsigned packets;
		enum rn_ring_fault fault;
	} rows[] = {
		{ 0, 0, RN_RING_BAD_LENGTH },
		{ RN_RING_PACKET_MIN - 1, 0, RN_RING_BAD_LENGTH },
		{ RN_RING_PACKET_MIN, 1, RN_RING_BAD_TAG }, /* the next record is none */
		{ RN_RING_PACKET_MAX, 1, RN_RING_OK },
		{ RN_RING_PACKET_MAX + 1, 0, RN_RING_BAD_LENGTH },
		{ 0x80000000, 0, RN_RING_BAD_LENGTH },
		{ RN_RING_RESIZE - 1, 0, RN_RING_BAD_LENGTH },
	};
	struct both *b = *state;

	set_tail(b, rn_ring_need(RN_RING_PACKET_MAX));
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rn_ring_recv fresh = b->recv;

		put_record(b, 0, 0, rows[i].length, 0);
		assert_receives(b, rows[i].packets, rows[i].fault);
		b->recv = fresh;
	}
}

static void record_past_the_tail_is_refused(void **state)
{
	struct both *b = *state;

	put_record(b, 0, 0, LEN, 0);
	set_tail(b, RECORD - 64);
	assert_receives(b, 0, RN_RING_BAD_EXTENT);
}

static void pad_past_the_tail_is_refused(void **state)
{
	struct both *b = *state;

	put_record(b, 0, 0, RN_RING_PAD, 0);
	set_tail(b, RN_RING_SIZE_MIN - 64);
	assert_receives(b, 0, RN_RING_BAD_EXTENT);
}

static void pad_up_to_the_tail_is_taken(void **state)
{
	struct both *b = *state;

	put_record(b, 0, 0, RN_RING_PAD, 0);
	set_tail(b, RN_RING_SIZE_MIN);
	assert_receives(b, 0, RN_RING_OK);
	assert_int_equal(b->recv.off, 0);
}

/* At the very end of the memory: one byte more could not be read. */
static void record_past_the_end_of_the_data_is_refused(void **state)
{
	struct both *b = *state;
	uint32_t last = KIT_CAPACITY - RECORD;
	struct rn_ring_recv at_end;

	b->recv.size = KIT_CAPACITY;
	b->recv.head = b->recv.tail = b->recv.published = b->recv.off = last;
	at_end = b->recv;
	set_tail(b, last + 4 * RECORD);
	put_record(b, last, last, RECORD - RN_RING_HEADER + 1, 0);
	assert_receives(b, 0, RN_RING_BAD_EXTENT);

	b->recv = at_end;
	set_tail(b, last + RECORD);
	put_record(b, last, last, RECORD - RN_RING_HEADER, 0);
	assert_receives(b, 1, RN_RING_OK);
	assert_int_equal(b->recv.off, 0);
}

static void size_that_the_ring_cannot_have_is_refused(void **state)
{
	static const struct {
		uint64_t size;
		enum rn_ring_fault fault;
	} rows[] = {
		{ 0, RN_RING_BAD_SIZE },
		{ RN_RING_SIZE_MIN / 2, RN_RING_BAD_SIZE },
		{ RN_RING_SIZE_MIN + 64, RN_RING_BAD_SIZE },
		{ 3 * RN_RING_SIZE_MIN, RN_RING_BAD_SIZE },
		{ 2 * KIT_CAPACITY, RN_RING_BAD_SIZE },
		{ UINT64_C(1) << 32, RN_RING_BAD_SIZE },
		{ UINT64_C(1) << 32 | KIT_CAPACITY, RN_RING_BAD_SIZE },
		{ UINT64_C(1) << 63, RN_RING_BAD_SIZE },
		{ RN_RING_SIZE_MIN, RN_RING_OK },
		{ 2 * RN_RING_SIZE_MIN, RN_RING_OK },
		{ KIT_CAPACITY, RN_RING_OK },
	};
	struct both *b = *state;

	set_tail(b, 64);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rn_ring_recv fresh = b->recv;

		put_record(b, 0, 0, RN_RING_RESIZE, rows[i].size);
		assert_receives(b, 0, rows[i].fault);
		if (!rows[i].fault)
			assert_int_equal(b->recv.size, rows[i].size);
		b->recv = fresh;
	}
}

/* ------------------------------------------------------------------ and then */
static void packets_before_a_bad_record_are_given(void **state)
{
	struct both *b = *state;

	for (unsigned i = 0; i < 3; i++)
		both_send(b, i, LEN);
	rn_ring_publish(&b->send);
	put_record(b, 2 * RECORD, 2 * RECORD, 5, 0);
	assert_receives(b, 2, RN_RING_BAD_LENGTH);
	assert_packet(&b->got[1], 1, LEN);
}

static void end_in_the_middle_is_the_end(void **state)
{
	struct both *b = *state;

	rn_ring_send_close(&b->send);
	set_tail(b, 3);
	assert_receives(b, 0, RN_RING_BAD_TAIL);
}

static void each_fault_has_a_sentence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_RING_FAULT_COUNT; i++) {
		const char *text = rn_ring_fault_text((enum rn_ring_fault)i);

		assert_true(strlen(text) > 10);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(
				text, rn_ring_fault_text((enum rn_ring_fault)j));
	}
}

/* However many there are, and whatever is put behind them meanwhile. */
static void records_without_packets_are_looked_at_a_few_at_a_time(void **state)
{
	struct both *b = *state;
	uint64_t before = 0;

	for (unsigned i = 0; i < 100; i++) {
		ring_flood(&b->send, (unsigned)(KIT_CAPACITY - (b->send.tail - before)) /
					     RN_RING_ALIGN);
		rn_ring_publish(&b->send);
		work_begin();
		assert_int_equal(both_receive(b), 0);
		assert_work_of(3 * KIT_MANY, WORK_CALL);
		assert_in_range(b->recv.head - before, RN_RING_ALIGN,
				3 * KIT_MANY * RN_RING_ALIGN);
		before = b->recv.head;
		b->send.head = before;
	}
	while (rn_ring_waits(&b->recv))
		assert_int_equal(both_receive(b), 0);
	assert_false(b->recv.fault);
}

static void a_call_with_packets_is_as_much_as_they_are(void **state)
{
	struct both *b = *state;
	unsigned sent = 0, left;

	for (unsigned i = 0; i < 20; i++) {
		sent += both_fill(b, sent, 100 + i * 200);
		for (left = sent; left > 0;) {
			unsigned n;

			work_begin();
			n = (unsigned)both_receive(b);
			assert_in_range(n, 1, left);
			assert_work_of(n, WORK_PACKET);
			left -= n;
		}
		sent = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(memory_that_is_no_ring_is_refused_by_both),
		BOTH_TEST(head_is_nowhere_but_between_where_it_was_and_the_tail),
		BOTH_TEST(head_beyond_what_was_published_is_a_lie),
		BOTH_TEST(bad_head_stops_a_change_of_size),
		BOTH_TEST(tail_is_nowhere_but_within_the_capacity),
		BOTH_TEST(tail_never_goes_back),
		BOTH_TEST(tag_of_another_place_or_time_is_refused),
		BOTH_TEST(stale_record_is_refused),
		BOTH_TEST(length_of_no_packet_is_refused),
		BOTH_TEST(record_past_the_tail_is_refused),
		BOTH_TEST(pad_past_the_tail_is_refused),
		BOTH_TEST(pad_up_to_the_tail_is_taken),
		BOTH_TEST(record_past_the_end_of_the_data_is_refused),
		BOTH_TEST(size_that_the_ring_cannot_have_is_refused),
		BOTH_TEST(packets_before_a_bad_record_are_given),
		BOTH_TEST(end_in_the_middle_is_the_end),
		BOTH_TEST(records_without_packets_are_looked_at_a_few_at_a_time),
		BOTH_TEST(a_call_with_packets_is_as_much_as_they_are),
		cmocka_unit_test(each_fault_has_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
