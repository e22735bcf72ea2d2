/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_fault_fate.c - the same packets of another run meet the same faults, though their
 * numbers and their order are others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/opcode.h"
#include "transport/io/fault/fault_rules.h"

enum {
	QPS = 3,
	PACKETS = 2000,
};

/* What differs from run to run. */
struct run {
	const char *rules;
	uint32_t qpn[QPS], first[QPS];
	unsigned order; /* of the queue pairs: how many packets of one in a row */
};

struct judge {
	struct rn_fault_rules rules;
	struct rn_fault_fates *fates;
};

static struct judge judge_new(const char *text)
{
	struct judge j = { .fates = rn_fault_fates_new() };
	char err[300] = "";

	assert_non_null(j.fates);
	if (rn_fault_rules_parse(text, "test", &j.rules, err, sizeof(err)))
		fail_msg("%s", err);
	return j;
}

static bool hits(struct judge *j, struct rn_fault_packet p, uint32_t first)
{
	p.has_fate = true;
	p.fate = rn_fault_fate(j->fates, &p, first);
	return rn_fault_judge(&j->rules, &p) != 0;
}

static struct rn_fault_packet request(uint32_t qp, uint32_t qpn, uint32_t psn)
{
	return (struct rn_fault_packet){ .dir = RN_FAULT_TX,
					 .opcode = RN_RC_SEND_ONLY,
					 .qp = qp,
					 .qpn = qpn,
					 .psn = psn & 0xffffff };
}

/* Which packets of which queue pair are hit. */
static void play(const struct run *run, uint8_t hit[QPS][PACKETS])
{
	struct judge j = judge_new(run->rules);
	unsigned next[QPS] = { 0 };

	for (unsigned turn = 0; turn < QPS * PACKETS / run->order + QPS; turn++) {
		unsigned q = turn % QPS;

		for (unsigned i = 0; i < run->order && next[q] < PACKETS; i++, next[q]++)
			hit[q][next[q]] = hits(
				&j, request(q + 1, run->qpn[q], run->first[q] + next[q]),
				run->first[q]);
	}
	for (unsigned q = 0; q < QPS; q++)
		assert_int_equal(next[q], PACKETS);
	rn_fault_fates_free(j.fates);
}

static void another_run_meets_the_same(void **state)
{
	static const struct run runs[] = {
		{ "drop chance=5%; seed=9", { 0x101, 0x201, 0x301 }, { 7, 8, 9 }, 1 },
		{ "drop chance=5%; seed=9",
		  { 0x907, 0xa07, 0xb07 },
		  { 0xfffff0, 0, 0x800000 },
		  16 },
		{ "drop chance=5%; seed=10", { 0x101, 0x201, 0x301 }, { 7, 8, 9 }, 1 },
	};
	static uint8_t hit[RN_ARRAY_SIZE(runs)][QPS][PACKETS];
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(runs); i++)
		play(&runs[i], hit[i]);
	assert_memory_equal(hit[0], hit[1], sizeof(hit[0]));
	assert_memory_not_equal(hit[0], hit[2], sizeof(hit[0]));
	/* And the queue pairs do not all lose the same. */
	assert_memory_not_equal(hit[0][0], hit[0][1], PACKETS);
	for (unsigned q = 0; q < QPS; q++)
		for (unsigned i = 0; i < PACKETS; i++)
			count += hit[0][q][i];
	/* 5 % of 6000, and four times the deviation of 17. */
	assert_in_range(count, 232, 368);
}

/* What is sent again throws again, whatever else was sent again before. */
static void what_is_sent_again_has_another_fate(void **state)
{
	struct judge a = judge_new("drop chance=50%"), b = judge_new("drop chance=50%");
	unsigned times[3] = { 0 };

	(void)state;
	for (uint32_t psn = 0; psn < 600; psn++) {
		bool first = hits(&a, request(1, 0x101, psn), 0);

		assert_int_equal(hits(&b, request(1, 0x201, psn), 0), first);
		/* In one run alone this is sent again by a timeout of its own. */
		if (psn % 7 == 0 && psn > 10)
			(void)hits(&b, request(1, 0x201, psn - 10), 0);
		if (!first)
			continue;
		times[0]++;
		for (unsigned again = 1; hits(&a, request(1, 0x101, psn), 0); again++)
			assert_true(again < 64);
	}
	assert_in_range(times[0], 250, 350);
	rn_fault_fates_free(a.fates);
	rn_fault_fates_free(b.fates);
}

/* Far behind the newest nobody counts each; but nothing is lost for ever. */
static void the_oldest_gets_through_too(void **state)
{
	struct judge j = judge_new("drop chance=90%");
	unsigned tries = 1;

	(void)state;
	for (uint32_t psn = 0; psn < 5000; psn++)
		(void)hits(&j, request(1, 0x101, psn), 0);
	while (hits(&j, request(1, 0x101, 3), 0))
		assert_true(tries++ < 500);
	for (tries = 0; hits(&j, request(1, 0x101, 4999), 0);)
		assert_true(tries++ < 1000);
	rn_fault_fates_free(j.fates);
}

static uint64_t sum_of(struct judge *j, uint32_t first, struct rn_fault_packet p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 64; i++) {
		p.psn = (first + i) & 0xffffff;
		sum = sum << 1 | hits(j, p, first);
	}
	return sum;
}

static void directions_answers_and_connections_differ(void **state)
{
	struct judge j = judge_new("drop tx rx chance=50%"),
		     k = judge_new("drop tx rx chance=50%");
	struct rn_fault_packet p = request(1, 0x101, 0);
	uint64_t sum[4];

	(void)state;
	assert_false(rn_fault_is_of_peer(&p));
	sum[0] = sum_of(&j, 5, p);
	p.opcode = RN_RC_ACK;
	assert_true(rn_fault_is_of_peer(&p));
	sum[1] = sum_of(&j, 5, p);
	p.dir = RN_FAULT_RX;
	assert_false(rn_fault_is_of_peer(&p));
	sum[2] = sum_of(&j, 5, p);
	/* The queue pair is connected again. */
	sum[3] = sum_of(&j, 9000, request(1, 0x101, 0));
	for (unsigned a = 0; a < 4; a++)
		for (unsigned b = 0; b < a; b++)
			assert_true(sum[a] != sum[b]);
	/* A run in which PSNs begin elsewhere, both times. */
	assert_true(sum_of(&k, 77, request(1, 0x901, 0)) == sum[0]);
	assert_true(sum_of(&k, 70000, request(1, 0x901, 0)) == sum[3]);
	rn_fault_fates_free(j.fates);
	rn_fault_fates_free(k.fates);
}

static uint64_t fate(struct rn_fault_fates *f, enum rn_fault_dir dir, uint32_t qp,
		     uint32_t psn, uint32_t first)
{
	struct rn_fault_packet p = request(qp, qp << 8, psn);

	p.dir = dir;
	return rn_fault_fate(f, &p, first);
}

/* Whatever was sent in the one before, and however often. */
static void a_new_connection_counts_from_its_beginning(void **state)
{
	struct rn_fault_fates *f = rn_fault_fates_new(), *g = rn_fault_fates_new();

	(void)state;
	for (uint32_t psn = 5; psn < 60; psn++) {
		(void)fate(f, RN_FAULT_TX, 1, psn, 5);
		(void)fate(f, RN_FAULT_TX, 1, psn, 5);
	}
	(void)fate(g, RN_FAULT_TX, 1, 5, 5);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(fate(f, RN_FAULT_TX, 1, 9000 + i, 9000) ==
			    fate(g, RN_FAULT_TX, 1, 7000 + i, 7000));
	rn_fault_fates_free(f);
	rn_fault_fates_free(g);
}

/* How the one is doing tells nothing of the other. */
static void directions_are_counted_apart(void **state)
{
	struct rn_fault_fates *f = rn_fault_fates_new(), *g = rn_fault_fates_new();

	(void)state;
	for (uint32_t psn = 5; psn < 100; psn++) {
		uint64_t sent = fate(f, RN_FAULT_TX, 1, psn, 5);
		uint64_t received = fate(f, RN_FAULT_RX, 1, psn, 5);

		assert_true(received == fate(g, RN_FAULT_RX, 1, psn, 5));
		assert_true(received != sent);
	}
	rn_fault_fates_free(f);
	rn_fault_fates_free(g);
}

/* There is room for thousands, not for all that a process may ever make. */
static void what_has_been_there_longest_is_forgotten_first(void **state)
{
	enum {
		FEW = 1000,
		ALL = 20000
	};
	struct rn_fault_fates *f = rn_fault_fates_new();
	uint64_t first = fate(f, RN_FAULT_TX, 1, 5, 5), again;

	(void)state;
	for (uint32_t qp = 2; qp <= FEW; qp++)
		(void)fate(f, RN_FAULT_TX, qp, 5, 5);
	again = fate(f, RN_FAULT_TX, 1, 5, 5);
	assert_true(again != first); /* it is known to have passed before */
	for (uint32_t qp = FEW + 1; qp <= ALL; qp++)
		(void)fate(f, RN_FAULT_TX, qp, 5, 5);
	assert_true(fate(f, RN_FAULT_TX, 1, 5, 5) == first);
	assert_true(fate(f, RN_FAULT_TX, 1, 5, 5) == again);
	rn_fault_fates_free(f);
}

static void datagrams_are_counted(void **state)
{
	struct judge j = judge_new("drop rx chance=50%"),
		     k = judge_new("drop rx chance=50%");
	struct rn_fault_packet p = {
		.dir = RN_FAULT_RX, .opcode = RN_UD_SEND_ONLY, .qp = 1, .qpn = 0x101
	};
	unsigned count = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		bool hit;

		p.psn = i * 7919;
		hit = hits(&j, p, RN_FAULT_NO_PSN);
		p.psn = i;
		assert_int_equal(hits(&k, p, RN_FAULT_NO_PSN), hit);
		count += hit;
	}
	assert_in_range(count, 437, 563);
	rn_fault_fates_free(j.fates);
	rn_fault_fates_free(k.fates);
}

static void as_many_queue_pairs_as_there_are(void **state)
{
	struct judge j = judge_new("drop chance=50%");
	unsigned count = 0;

	(void)state;
	for (uint32_t qpn = 1; qpn <= 20000; qpn++)
		count += hits(&j, request(qpn, qpn << 8, 5), 5);
	assert_in_range(count, 9700, 10300);
	rn_fault_fates_free(j.fates);
	rn_fault_fates_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_run_meets_the_same),
		cmocka_unit_test(what_is_sent_again_has_another_fate),
		cmocka_unit_test(the_oldest_gets_through_too),
		cmocka_unit_test(directions_answers_and_connections_differ),
		cmocka_unit_test(a_new_connection_counts_from_its_beginning),
		cmocka_unit_test(directions_are_counted_apart),
		cmocka_unit_test(what_has_been_there_longest_is_forgotten_first),
		cmocka_unit_test(datagrams_are_counted),
		cmocka_unit_test(as_many_queue_pairs_as_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
