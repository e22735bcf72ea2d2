/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_order.c - the ordering table, cell by cell, and what the knobs add. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pcie/model/order.h"

/* The table of the standard. Letters say when the later TLP (row) may pass the earlier
 * one (column): y always, r with RO, i with IDO and another ID, t in another transaction.
 */
static const char *const expected[RN_TLP_KIND_COUNT][RN_TLP_KIND_COUNT] = {
	/* clang-format off */
	/*	   write read atomic completion */
	/* write */ { "ri", "y", "y", "y" },
	/* read */  { "i",  "y", "y", "y" },
	/* atomic*/ { "ri", "y", "y", "y" },
	/* compl.*/ { "ri", "y", "y", "t" },
	/* clang-format on */
};

enum {
	LATER_RO = 1 << 0,
	LATER_IDO = 1 << 1,
	EARLIER_RO = 1 << 2,
	EARLIER_IDO = 1 << 3,
	OTHER_ID = 1 << 4,
	OTHER_TAG = 1 << 5,
	OTHER_TARGET = 1 << 6,
	CASES = 1 << 7,
};

static bool is_expected(const char *letters, unsigned c)
{
	bool other_txn = c & (OTHER_TAG | OTHER_TARGET);

	return strchr(letters, 'y') || (strchr(letters, 'r') && c & LATER_RO) ||
	       (strchr(letters, 'i') && c & LATER_IDO && c & OTHER_ID) ||
	       (strchr(letters, 't') && other_txn);
}

static void make_pair(unsigned c, unsigned later_kind, unsigned earlier_kind,
		      struct rn_tlp *later, struct rn_tlp *earlier)
{
	*earlier = (struct rn_tlp){
		.kind = (uint8_t)earlier_kind,
		.flags = (c & EARLIER_RO ? RN_TLP_RO : 0) |
			 (c & EARLIER_IDO ? RN_TLP_IDO : 0),
		.requester = RN_AGENT_NIC,
		.target = RN_AGENT_GPU,
		.txn = 7,
		.len = 64,
	};
	*later = (struct rn_tlp){
		.kind = (uint8_t)later_kind,
		.flags =
			(c & LATER_RO ? RN_TLP_RO : 0) | (c & LATER_IDO ? RN_TLP_IDO : 0),
		.requester = c & OTHER_ID ? RN_AGENT_NIC + 1 : RN_AGENT_NIC,
		.target = c & OTHER_TARGET ? RN_AGENT_GPU + 1 : RN_AGENT_GPU,
		.txn = c & OTHER_TAG ? 8 : 7,
		.len = 64,
	};
}

static void every_cell_is_as_the_standard_says(void **state)
{
	struct rn_tlp later, earlier;

	(void)state;
	for (unsigned l = 0; l < RN_TLP_KIND_COUNT; l++)
		for (unsigned e = 0; e < RN_TLP_KIND_COUNT; e++)
			for (unsigned c = 0; c < CASES; c++) {
				make_pair(c, l, e, &later, &earlier);
				if (rn_may_pass(&later, &earlier) !=
				    is_expected(expected[l][e], c))
					fail_msg("later %u earlier %u case 0x%x", l, e,
						 c);
			}
}

static struct rn_pcie_knobs knobs_of(enum rn_place place)
{
	struct rn_pcie_knobs k;

	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	k.place = place;
	return k;
}

static void place_pcie_adds_nothing_to_the_table(void **state)
{
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_PCIE);
	struct rn_tlp later, earlier;

	(void)state;
	for (unsigned l = 0; l < RN_TLP_KIND_COUNT; l++)
		for (unsigned e = 0; e < RN_TLP_KIND_COUNT; e++)
			for (unsigned c = 0; c < CASES; c++) {
				make_pair(c, l, e, &later, &earlier);
				later.flags |= RN_TLP_DATA;
				earlier.flags |= RN_TLP_DATA;
				later.addr = 4096;
				assert_int_equal(rn_order_may_pass(&later, &earlier, &k),
						 rn_may_pass(&later, &earlier));
			}
}

/* Two data writes of one message, side by side. */
static void make_data(struct rn_tlp *later, struct rn_tlp *earlier)
{
	make_pair(0, RN_TLP_WRITE, RN_TLP_WRITE, later, earlier);
	later->flags = earlier->flags = RN_TLP_DATA;
	later->stream = earlier->stream = 3;
	later->msg = earlier->msg = 5;
	later->addr = 64;
}

static void place_msg_frees_the_bytes_of_one_message(void **state)
{
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_MSG);
	struct rn_tlp later, earlier;

	(void)state;
	make_data(&later, &earlier);
	assert_true(rn_order_may_pass(&later, &earlier, &k));
	later.msg = 6;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	make_data(&later, &earlier);
	later.stream = 4;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	make_data(&later, &earlier);
	later.requester++;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
}

static void place_any_frees_different_bytes(void **state)
{
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_ANY);
	struct rn_tlp later, earlier;

	(void)state;
	make_data(&later, &earlier);
	later.msg = 6;
	later.stream = 4;
	assert_true(rn_order_may_pass(&later, &earlier, &k));
	later.requester++;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
}

static void the_same_bytes_keep_their_order_whatever_the_place(void **state)
{
	struct rn_tlp later, earlier;

	(void)state;
	for (enum rn_place place = RN_PLACE_PCIE; place <= RN_PLACE_ANY; place++) {
		const struct rn_pcie_knobs k = knobs_of(place);

		make_data(&later, &earlier);
		later.addr = 63;
		assert_false(rn_order_may_pass(&later, &earlier, &k));
		later.addr = 0;
		earlier.addr = 63;
		assert_false(rn_order_may_pass(&later, &earlier, &k));
		later.target++;
		assert_int_equal(rn_order_may_pass(&later, &earlier, &k),
				 place != RN_PLACE_PCIE);
	}
}

/* What is no data of a message: by flags and by kind. */
static void packets_of_writes_of_one_qp_are_free_with_nic_ooo(void **state)
{
	struct rn_pcie_knobs k = knobs_of(RN_PLACE_PCIE);
	struct rn_tlp later, earlier;

	(void)state;
	k.ooo = true;
	make_data(&later, &earlier);
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	later.packet = 2;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	earlier.packet = 1;
	assert_true(rn_order_may_pass(&later, &earlier, &k));
	assert_true(rn_order_may_pass(&earlier, &later, &k));
	assert_memory_equal(rn_order_rule(&later, &earlier, &k), "nic.ooo", 7);
	later.msg++;
	assert_true(rn_order_may_pass(&later, &earlier, &k));
	later.stream++;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	later.stream--;
	later.addr = earlier.addr;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	later.addr = 64;
	later.packet = earlier.packet;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
	later.packet = 2;
	k.ooo = false;
	assert_false(rn_order_may_pass(&later, &earlier, &k));
}

static void place_is_for_data_only(void **state)
{
	static const uint8_t flags[] = { 0, RN_TLP_DATA | RN_TLP_CQE,
					 RN_TLP_DATA | RN_TLP_BELL,
					 RN_TLP_DATA | RN_TLP_LOCK, RN_TLP_CQE };
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_ANY);
	struct rn_tlp later, earlier;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(flags); i++) {
		make_data(&later, &earlier);
		later.flags = flags[i];
		assert_false(rn_order_may_pass(&later, &earlier, &k));
		make_data(&later, &earlier);
		earlier.flags = flags[i];
		assert_false(rn_order_may_pass(&later, &earlier, &k));
	}
	for (unsigned kind = RN_TLP_READ; kind < RN_TLP_KIND_COUNT; kind++) {
		make_data(&later, &earlier);
		later.kind = (uint8_t)kind;
		assert_false(rn_order_may_pass(&later, &earlier, &k));
	}
}

static void nothing_passes_the_write_of_a_nic_atomic(void **state)
{
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_ANY);
	struct rn_tlp later, earlier;

	(void)state;
	for (unsigned l = 0; l < RN_TLP_KIND_COUNT; l++)
		for (unsigned c = 0; c < CASES; c++) {
			make_pair(c, l, RN_TLP_WRITE, &later, &earlier);
			later.flags |= RN_TLP_DATA;
			later.addr = 4096;
			earlier.flags |= RN_TLP_LOCK;
			assert_false(rn_order_may_pass(&later, &earlier, &k));
		}
}

/* The flag is a request's: a completion that still has it blocks nothing. */
static void a_lock_is_a_write(void **state)
{
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_PCIE);
	struct rn_tlp later, earlier;

	(void)state;
	for (unsigned e = RN_TLP_READ; e < RN_TLP_KIND_COUNT; e++) {
		make_pair(0, RN_TLP_WRITE, e, &later, &earlier);
		earlier.flags |= RN_TLP_LOCK;
		assert_true(rn_order_may_pass(&later, &earlier, &k));
	}
}

static const char *rule_of(unsigned later_kind, unsigned earlier_kind, unsigned c)
{
	const struct rn_pcie_knobs k = knobs_of(RN_PLACE_PCIE);
	struct rn_tlp later, earlier;

	make_pair(c, later_kind, earlier_kind, &later, &earlier);
	return rn_order_rule(&later, &earlier, &k);
}

static void rules_have_the_names_of_the_standard(void **state)
{
	static const struct {
		unsigned later, earlier, c;
		const char *name;
	} rules[] = {
		{ RN_TLP_WRITE, RN_TLP_WRITE, 0, "A2a: " },
		{ RN_TLP_WRITE, RN_TLP_WRITE, LATER_RO, "A2b: " },
		{ RN_TLP_WRITE, RN_TLP_WRITE, LATER_IDO | OTHER_ID, "A2b: " },
		{ RN_TLP_WRITE, RN_TLP_READ, 0, "A3: " },
		{ RN_TLP_WRITE, RN_TLP_ATOMIC, 0, "A4: " },
		{ RN_TLP_WRITE, RN_TLP_COMPLETION, 0, "A5a: " },
		{ RN_TLP_READ, RN_TLP_WRITE, LATER_RO, "B2a: " },
		{ RN_TLP_READ, RN_TLP_WRITE, LATER_IDO | OTHER_ID, "B2b: " },
		{ RN_TLP_READ, RN_TLP_READ, 0, "B3: " },
		{ RN_TLP_READ, RN_TLP_ATOMIC, 0, "B4: " },
		{ RN_TLP_READ, RN_TLP_COMPLETION, 0, "B5: " },
		{ RN_TLP_ATOMIC, RN_TLP_WRITE, EARLIER_RO, "C2a: " },
		{ RN_TLP_ATOMIC, RN_TLP_WRITE, LATER_RO, "C2b: " },
		{ RN_TLP_ATOMIC, RN_TLP_READ, 0, "C3: " },
		{ RN_TLP_ATOMIC, RN_TLP_ATOMIC, 0, "C4: " },
		{ RN_TLP_ATOMIC, RN_TLP_COMPLETION, 0, "C5: " },
		{ RN_TLP_COMPLETION, RN_TLP_WRITE, 0, "D2a: " },
		{ RN_TLP_COMPLETION, RN_TLP_WRITE, LATER_RO, "D2b: " },
		{ RN_TLP_COMPLETION, RN_TLP_READ, 0, "D3: " },
		{ RN_TLP_COMPLETION, RN_TLP_ATOMIC, 0, "D4: " },
		{ RN_TLP_COMPLETION, RN_TLP_COMPLETION, OTHER_TAG, "D5a: " },
		{ RN_TLP_COMPLETION, RN_TLP_COMPLETION, OTHER_ID, "D5b: " },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rules); i++) {
		const char *rule = rule_of(rules[i].later, rules[i].earlier, rules[i].c);

		if (strncmp(rule, rules[i].name, strlen(rules[i].name)) != 0)
			fail_msg("rule %u is %s, not %s", i, rule, rules[i].name);
	}
}

static void the_knob_is_named_if_it_decided(void **state)
{
	struct rn_pcie_knobs k = knobs_of(RN_PLACE_MSG);
	struct rn_tlp later, earlier;

	(void)state;
	make_data(&later, &earlier);
	assert_memory_equal(rn_order_rule(&later, &earlier, &k), "place=msg", 9);
	k.place = RN_PLACE_ANY;
	assert_memory_equal(rn_order_rule(&later, &earlier, &k), "place=any", 9);
	later.flags |= RN_TLP_RO;
	assert_memory_equal(rn_order_rule(&later, &earlier, &k), "A2b", 3);
	earlier.flags |= RN_TLP_LOCK;
	assert_memory_equal(rn_order_rule(&later, &earlier, &k), "V9", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell_is_as_the_standard_says),
		cmocka_unit_test(place_pcie_adds_nothing_to_the_table),
		cmocka_unit_test(place_msg_frees_the_bytes_of_one_message),
		cmocka_unit_test(place_any_frees_different_bytes),
		cmocka_unit_test(the_same_bytes_keep_their_order_whatever_the_place),
		cmocka_unit_test(packets_of_writes_of_one_qp_are_free_with_nic_ooo),
		cmocka_unit_test(place_is_for_data_only),
		cmocka_unit_test(nothing_passes_the_write_of_a_nic_atomic),
		cmocka_unit_test(a_lock_is_a_write),
		cmocka_unit_test(rules_have_the_names_of_the_standard),
		cmocka_unit_test(the_knob_is_named_if_it_decided),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
