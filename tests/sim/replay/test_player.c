/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_player.c - recordings that have been changed: of a run that cannot have been, or
 * of one that went another way.
 */
#include "replay_kit.h"

#include "rocin/gid.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"
#include "sim/replay/player.h"
#include "sim/world/world.h"

enum {
	STEPS = 12,
	PARTS = 4096, /* records at most, and the header */
};

static char path[] = "/tmp/test_player.XXXXXX";

/* A recording that is cut into its records; the first part is the header. */
struct film {
	unsigned parts;
	struct {
		const uint8_t *at;
		size_t len;
	} part[PARTS];
};

static struct kit_file file;
static struct film whole, film; /* as it was recorded; that which a test changes */
static uint8_t made[1 << 20];	/* records that a test has made */
static size_t made_len;
static uint64_t max_memory; /* of a replay; 0: the usual limit */

/* Two devices and one RC pair; no losses, and no memory that answers later. */
static int record(void)
{
	static struct rn_plan plan = {
		.seed = 1,
		.devices = 2,
		.pairs = 1,
		.window_max = 65536,
		.read_window = 65536,
		.link = { .rate = 1000000000, .delay = 1000 },
		.pair = { { .dev = { 0, 1 },
			    .type = RN_QPT_RC,
			    .psn = { 100, 200 },
			    .mtu = 1024,
			    .timeout = 10,
			    .retry = 7,
			    .rnr_retry = 7,
			    .rnr_timer = 1,
			    .depth = 4,
			    .recvs = 12 } },
		.steps = STEPS,
	};
	struct rn_world *w = rn_world_new();
	struct rn_world_result r;

	for (uint32_t i = 0; i < STEPS; i++)
		plan.step[i] = (struct rn_plan_step){ .at = RN_USEC(10 + 100 * i),
						      .what = RN_DO_SEND,
						      .seed = i };
	plan.end = RN_USEC(10 + 100 * STEPS);
	setenv("ROCIN_RECORD", path, 1);
	if (!w)
		return 1;
	rn_world_run(w, &plan, NULL, NULL, &r);
	rn_world_free(w);
	return r.failed;
}

static void cut(void)
{
	struct rn_rec_header h;
	ssize_t n = rn_rec_get_header(file.data, file.len, &h);
	unsigned kind;
	uint8_t dev;

	for (size_t at = 0; n > 0; at += (size_t)n,
		    n = rn_rec_peek(file.data + at, file.len - at, &kind, &dev)) {
		assert_true(whole.parts < PARTS);
		whole.part[whole.parts].at = file.data + at;
		whole.part[whole.parts++].len = (size_t)n;
	}
	assert_int_equal(n, 0);
}

static int begin(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	kit_in_child(record);
	file = kit_load(path);
	cut();
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(file.data);
	return unlink(path);
}

static int unchanged(void **state)
{
	(void)state;
	film = whole;
	made_len = 0;
	max_memory = 0;
	return 0;
}

/* ------------------------------------------------------------------- cutting room */
/* What it points to stays until the same part is looked at again. */
static struct rn_rec part(unsigned i)
{
	static struct rn_rec_room room[PARTS];
	struct rn_rec rec;

	assert_true(i > 0 && i < film.parts);
	assert_true(rn_rec_get(film.part[i].at, film.part[i].len, &rec, &room[i]) > 0);
	return rec;
}

/* The first part from @from on that is of this kind. */
static unsigned find(unsigned kind, unsigned from)
{
	for (unsigned i = from; i < film.parts; i++)
		if (part(i).kind == kind)
			return i;
	fail_msg("there is no %s", rn_rec_info[kind].name);
	return 0;
}

/* Whose class it is, likewise. */
static unsigned find_class(enum rn_rec_class class, unsigned from)
{
	for (unsigned i = from; i < film.parts; i++)
		if (rn_rec_info[part(i).kind].class == class)
			return i;
	fail_msg("there is no record of class %u", (unsigned)class);
	return 0;
}

static void put(unsigned i, const struct rn_rec *rec)
{
	size_t len = rn_rec_put(rec, made + made_len, sizeof(made) - made_len);

	assert_true(len > 0);
	film.part[i].at = made + made_len;
	film.part[i].len = len;
	made_len += len;
}

static void make_room(unsigned i, unsigned count)
{
	assert_true(i <= film.parts && film.parts + count <= PARTS);
	memmove(&film.part[i + count], &film.part[i],
		(film.parts - i) * sizeof(film.part[0]));
	film.parts += count;
}

static void insert(unsigned i, const struct rn_rec *rec)
{
	make_room(i, 1);
	put(i, rec);
}

/* Parts [@from, @from + @count) stand at @to < @from now. */
static void move(unsigned from, unsigned count, unsigned to)
{
	const struct film before = film;

	memmove(&film.part[to + count], &film.part[to],
		(from - to) * sizeof(film.part[0]));
	memcpy(&film.part[to], &before.part[from], count * sizeof(film.part[0]));
}

static struct rn_replay_result show(void)
{
	const struct rn_replay_cfg cfg = { .max_memory = max_memory };
	struct rn_replay_result r;
	uint8_t *data;
	size_t len = 0;

	for (unsigned i = 0; i < film.parts; i++)
		len += film.part[i].len;
	data = malloc(len);
	assert_non_null(data);
	len = 0;
	for (unsigned i = 0; i < film.parts; i++) {
		memcpy(data + len, film.part[i].at, film.part[i].len);
		len += film.part[i].len;
	}
	rn_replay(data, len, &cfg, &r);
	free(data);
	return r;
}

static void assert_same(void)
{
	struct rn_replay_result r = show();

	assert_string_equal(r.why, "");
	assert_int_equal(r.end, RN_REPLAY_SAME);
}

static void assert_broken(const char *why)
{
	struct rn_replay_result r = show();

	assert_string_equal(r.why, why);
	assert_int_equal(r.end, RN_REPLAY_BROKEN);
}

static struct rn_replay_result assert_different(void)
{
	struct rn_replay_result r = show();

	if (r.end != RN_REPLAY_DIFFERENT)
		fail_msg("it ends as %u: %s", (unsigned)r.end, r.why);
	return r;
}

/* ------------------------------------------------------------------------- tests */
static void calls_of_two_devices_may_overlap(void **state)
{
	unsigned first = 0, second, last;

	(void)state;
	/* Of two calls that reach memory, one after the other, each of its own device. */
	do {
		first = find_class(RN_REC_CALL, first + 1);
		second = find_class(RN_REC_CALL, first + 1);
		last = find_class(RN_REC_OUTCOME, second);
	} while (rn_rec_info[part(first + 1).kind].class != RN_REC_ACCESS ||
		 rn_rec_info[part(second + 1).kind].class != RN_REC_ACCESS ||
		 part(first).dev == part(second).dev);
	move(second, last + 1 - second, first + 1);
	assert_int_not_equal(part(first).dev, part(first + 1).dev);
	assert_same();
}

static void a_call_does_not_begin_within_another(void **state)
{
	unsigned call = find(RN_CALL_POST_SEND, 1);
	struct rn_rec other = part(call);

	(void)state;
	insert(call + 1, &other);
	assert_broken("a call begins within another");
}

static void a_record_that_is_part_of_no_call_is_refused(void **state)
{
	unsigned outcome = find(RN_REC_RESULT, find(RN_CALL_POST_SEND, 1));
	struct rn_rec again = part(outcome);

	(void)state;
	insert(outcome + 1, &again);
	assert_broken("part of a call stands alone");
}

static void an_access_that_is_not_made_is_a_difference(void **state)
{
	unsigned read = find(RN_REC_READ, 1);
	struct rn_rec again = part(read);
	struct rn_replay_result r;

	(void)state;
	assert_int_equal(part(read + 1).kind, RN_REC_PACKET);
	insert(read + 1, &again);
	r = assert_different();
	assert_memory_equal(r.recorded, "read ", 5);
	assert_memory_equal(r.replayed, "packet ", 7);
}

/* Of what the core does now only that is shown which it does not learn from memory. */
static void an_access_of_another_kind_has_no_answer(void **state)
{
	static const uint8_t bytes[8] = { 1, 2, 3 };
	unsigned read = find(RN_REC_READ, 1);
	struct rn_rec other = { .kind = RN_REC_WRITE,
				.dev = part(read).dev,
				.u.access = { .addr = 16,
					      .len = sizeof(bytes),
					      .data = bytes,
					      .data_len = sizeof(bytes) } };
	struct rn_replay_result r;

	(void)state;
	put(read, &other);
	r = assert_different();
	assert_memory_equal(r.recorded, "write ", 6);
	assert_memory_equal(r.replayed, "read ", 5);
	assert_null(strstr(r.replayed, "number="));
	assert_null(strstr(r.replayed, "result="));
	assert_int_equal(r.fields, 0);
}

/* A call that finds no event is not shown at all. */
static void an_event_that_does_not_come_is_a_difference(void **state)
{
	struct rn_event event = { .completion = true };
	unsigned at = find(RN_CALL_DEV_FINI, 1);
	struct rn_rec rec = { .kind = RN_CALL_TAKE_EVENT, .dev = part(at).dev };
	struct rn_replay_result r;

	(void)state;
	make_room(at, 2);
	put(at, &rec);
	rec.kind = RN_REC_EVENT;
	rec.u.call.event = &event;
	put(at + 1, &rec);
	r = assert_different();
	assert_memory_equal(r.recorded, "take_event", 10);
	assert_string_equal(r.replayed, "");
}

/* The first device ends; before that its timers run at @now. */
static void expire_at(rn_ns now)
{
	unsigned at = find(RN_CALL_DEV_FINI, 1);
	struct rn_rec rec = { .kind = RN_CALL_EXPIRE, .dev = part(at).dev, .now = now };

	make_room(at, 2);
	put(at, &rec);
	rec.kind = RN_REC_DONE;
	put(at + 1, &rec);
}

/* Of the device that the first queue pair belongs to, and that ends first. */
static rn_ns last_time(void)
{
	const struct rn_rec create = part(find(RN_CALL_QP_CREATE, 1));
	rn_ns last = 0;

	assert_int_equal(create.dev, part(find(RN_CALL_DEV_FINI, 1)).dev);
	for (unsigned i = 1; i < film.parts; i++) {
		struct rn_rec rec = part(i);

		if (rec.now && (rec.dev == create.dev || rec.id == create.id))
			last = rec.now;
	}
	return last;
}

static void times_are_in_range_and_go_forward(void **state)
{
	const rn_ns max = (rn_ns)1 << 61;
	const rn_ns last = last_time();

	expire_at(-1);
	assert_broken("a time is out of range");
	unchanged(state);
	expire_at(max + 1);
	assert_broken("a time is out of range");
	unchanged(state);
	expire_at(max);
	assert_same();
	unchanged(state);
	expire_at(last - 1);
	assert_broken("time goes backwards");
	unchanged(state);
	expire_at(last);
	assert_same();
}

/* The rate of the first queue pair is set at @now, before any is destroyed. */
static void pace_at(rn_ns now)
{
	struct rn_rec create = part(find(RN_CALL_QP_CREATE, 1));
	struct rn_rec rec = {
		.kind = RN_CALL_QP_PACE, .dev = RN_REC_NO_DEV, .now = now, .id = create.id
	};

	insert(find(RN_CALL_QP_DESTROY, 1), &rec);
}

static void a_rate_is_set_at_a_time_that_goes_forward(void **state)
{
	const rn_ns last = last_time();

	pace_at(last - 1);
	assert_broken("time goes backwards");
	unchanged(state);
	pace_at(0);
	assert_broken("time goes backwards");
	unchanged(state);
	pace_at(last);
	assert_same();
	unchanged(state);
	pace_at(last + 2);
	expire_at(last + 1);
	assert_broken("time goes backwards");
}

static void a_state_that_there_is_not_is_refused(void **state)
{
	unsigned at = find(RN_CALL_QP_MODIFY, 1);
	struct rn_rec rec = part(at);
	struct rn_qp_attr attr = *rec.u.call.modify.attr;

	(void)state;
	attr.state = RN_QPS_COUNT;
	rec.u.call.modify.attr = &attr;
	put(at, &rec);
	assert_broken("there is no such state");
}

static void memory_that_answers_at_once_never_answers_later(void **state)
{
	unsigned read = find(RN_REC_READ, 1);
	struct rn_rec rec = part(read);

	(void)state;
	assert_int_equal(rec.u.access.result, RN_MEM_DONE);
	rec.u.access.result = RN_MEM_PENDING;
	rec.u.access.number = 1;
	put(read, &rec);
	assert_broken("memory has no such answer");
}

static void another_result_is_a_difference(void **state)
{
	unsigned at = find(RN_REC_RESULT, find(RN_CALL_POST_SEND, 1));
	struct rn_rec rec = part(at);
	struct rn_replay_result r;

	(void)state;
	assert_int_equal(rec.result, 0);
	rec.result = 5;
	put(at, &rec);
	r = assert_different();
	assert_int_equal(r.fields, 1);
	assert_string_equal(r.field[0].name, "result");
	assert_string_equal(r.field[0].recorded, "5");
	assert_string_equal(r.field[0].replayed, "0");
}

/* A packet that has as good as nothing in common with the one that left. */
static uint32_t another_packet(uint8_t *bytes, const struct rn_rec_packet *was)
{
	struct rn_bth bth = { .opcode = RN_RC_CMP_SWAP,
			      .solicited = true,
			      .pkey = 0x1234,
			      .fecn = true,
			      .becn = true,
			      .dest_qpn = 0x654321,
			      .psn = rn_psn(0x654321) };
	const struct rn_atomic_eth atomic = {
		.va = 11, .rkey = 12, .swap_add = 13, .compare = 14
	};

	bth.ack_req = !(was->data[8] & 0x80);
	bth.migreq = !(was->data[1] & 0x40);
	return (uint32_t)(rn_atomic_eth_emit(rn_bth_emit(bytes, &bth), &atomic) - bytes);
}

static void of_the_fields_that_differ_so_many_are_told_apart(void **state)
{
	unsigned at = find(RN_REC_PACKET, find(RN_REC_READ, 1));
	struct rn_rec rec = part(at);
	struct rn_rec_packet *p = &rec.u.packet;
	struct rn_tx tx = *p->tx;
	struct rn_flow flow = *tx.flow;
	struct rn_replay_result r;
	uint8_t bytes[64];

	(void)state;
	p->len = another_packet(bytes, p);
	p->data = bytes;
	flow.src.raw[15] ^= 1;
	flow.dst.raw[15] ^= 1;
	flow.ifindex++;
	flow.sport++;
	flow.tclass ^= 8;
	flow.hop_limit++;
	tx.flow = &flow;
	tx.dest_qpn++;
	tx.src_qpn++;
	tx.response = !tx.response;
	p->tx = &tx;
	put(at, &rec);
	r = assert_different();
	assert_int_equal(r.fields, RN_REPLAY_FIELDS);
	assert_string_equal(r.field[0].name, "data");
}

/* The first device gets a table of @count buckets before it ends. */
static void grow_to(uint32_t count)
{
	unsigned at = find(RN_CALL_DEV_FINI, 1);
	struct rn_rec rec = { .kind = RN_CALL_GROW,
			      .dev = part(at).dev,
			      .u.call.grow = { RN_CALL_TABLE_MR, count } };

	make_room(at, 2);
	put(at, &rec);
	rec.kind = RN_REC_DONE;
	put(at + 1, &rec);
}

static void tables_count_towards_the_limit_of_memory(void **state)
{
	(void)state;
	max_memory = 16 << 20;
	assert_same();
	grow_to(1 << 12);
	assert_same();
	grow_to(1 << 22); /* 32 MiB */
	assert_int_equal(show().end, RN_REPLAY_NO_MEMORY);
	max_memory = 64 << 20;
	assert_same();
}

static void the_recording_is_good_before_it_is_changed(void **state)
{
	(void)state;
	assert_same();
}

#define TEST(f) cmocka_unit_test_setup(f, unchanged)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_recording_is_good_before_it_is_changed),
		TEST(calls_of_two_devices_may_overlap),
		TEST(a_call_does_not_begin_within_another),
		TEST(a_record_that_is_part_of_no_call_is_refused),
		TEST(an_access_that_is_not_made_is_a_difference),
		TEST(an_access_of_another_kind_has_no_answer),
		TEST(an_event_that_does_not_come_is_a_difference),
		TEST(times_are_in_range_and_go_forward),
		TEST(a_rate_is_set_at_a_time_that_goes_forward),
		TEST(a_state_that_there_is_not_is_refused),
		TEST(memory_that_answers_at_once_never_answers_later),
		TEST(another_result_is_a_difference),
		TEST(of_the_fields_that_differ_so_many_are_told_apart),
		TEST(tables_count_towards_the_limit_of_memory),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
