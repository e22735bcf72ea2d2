/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mr.c - who may touch what. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "rocin/mr.h"
#include "transport/container/key_table.h"

static_assert(RN_ACCESS_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE, "");
static_assert(RN_ACCESS_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE, "");
static_assert(RN_ACCESS_REMOTE_READ == IBV_ACCESS_REMOTE_READ, "");
static_assert(RN_ACCESS_REMOTE_ATOMIC == IBV_ACCESS_REMOTE_ATOMIC, "");
static_assert(RN_ACCESS_MW_BIND == IBV_ACCESS_MW_BIND, "");
static_assert(RN_ACCESS_ZERO_BASED == IBV_ACCESS_ZERO_BASED, "");
static_assert(RN_ACCESS_ON_DEMAND == IBV_ACCESS_ON_DEMAND, "");
static_assert(RN_ACCESS_HUGETLB == IBV_ACCESS_HUGETLB, "");
static_assert(RN_ACCESS_RELAXED_ORDERING == IBV_ACCESS_RELAXED_ORDERING, "");
static_assert(RN_ACCESS_OPTIONAL_RANGE == IBV_ACCESS_OPTIONAL_RANGE, "");

enum {
	KEY = 0x12345678,
	PD = 5,
	ALL = 0xf
};

#define VA 0x10000u
#define LENGTH 0x1000u
#define IOVA 0x7000000000u

static struct rn_htab tab;
static struct rn_hnode *buckets[16];
static struct rn_mr mr;

static int set_up(void **state)
{
	const struct rn_mr_attr attr = {
		.key = KEY,
		.pd = PD,
		.va = VA,
		.length = LENGTH,
		.iova_base = IOVA,
		.access = ALL,
	};

	(void)state;
	rn_htab_init(&tab, buckets, RN_ARRAY_SIZE(buckets));
	return rn_mr_init(&mr, &attr) || rn_htab_insert(&tab, &mr.node);
}

static const struct rn_key_use good = {
	.key = KEY,
	.pd = PD,
	.va = VA,
	.len = LENGTH,
	.access = RN_ACCESS_REMOTE_WRITE,
};

/* Nothing is written on refusal, so outputs are checked here for all of them. */
static void check_remote(const struct rn_key_use *use, enum rn_key_result want)
{
	struct rn_mr untouched, *found = &untouched;
	rn_iova iova = 0xdead;

	assert_int_equal(rn_mr_check_remote(&tab, use, &iova, &found), want);
	if (want == RN_KEY_OK) {
		assert_ptr_equal(found, &mr);
		assert_int_equal(iova, mr.iova_base + (use->va - mr.va));
	} else {
		assert_ptr_equal(found, &untouched);
		assert_int_equal(iova, 0xdead);
	}
}

static void init_fills_a_valid_region_that_is_found_by_its_index(void **state)
{
	(void)state;
	assert_int_equal(mr.node.key, 0x123456);
	assert_int_equal(mr.lkey, KEY);
	assert_int_equal(mr.kind, RN_MR_KIND_MR);
	assert_true(mr.valid);
	check_remote(&good, RN_KEY_OK);
}

static void a_key_with_another_index_or_key_byte_is_unknown(void **state)
{
	struct rn_key_use use = good;

	(void)state;
	use.key = KEY + 0x100;
	check_remote(&use, RN_KEY_UNKNOWN);
	use.key = KEY + 1;
	check_remote(&use, RN_KEY_UNKNOWN);
	use.key = 0;
	check_remote(&use, RN_KEY_UNKNOWN);
}

static void an_invalidated_region_is_refused(void **state)
{
	(void)state;
	mr.valid = false;
	check_remote(&good, RN_KEY_INVALID);
}

static void a_null_region_has_no_remote_key(void **state)
{
	(void)state;
	mr.kind = RN_MR_KIND_NULL;
	check_remote(&good, RN_KEY_INVALID);
}

static void a_window_of_type_2_is_of_its_queue_pair_only(void **state)
{
	struct rn_key_use use = good;

	(void)state;
	mr.qpn = use.qpn = 0x11;
	mr.kind = RN_MR_KIND_MW2;
	check_remote(&use, RN_KEY_OK);
	use.qpn = 0x12;
	check_remote(&use, RN_KEY_QP);
	use.pd++;
	check_remote(&use, RN_KEY_PD);
	mr.kind = RN_MR_KIND_MW1;
	check_remote(&good, RN_KEY_OK);
}

static void local_keys_are_those_of_regions(void **state)
{
	static const bool ok[] = {
		[RN_MR_KIND_MR] = true,
		[RN_MR_KIND_MW1] = false,
		[RN_MR_KIND_MW2] = false,
		[RN_MR_KIND_NULL] = true,
	};
	struct rn_key_use use = good;
	rn_iova iova;

	(void)state;
	use.access = 0;
	for (unsigned kind = 0; kind < RN_ARRAY_SIZE(ok); kind++) {
		mr.kind = (enum rn_mr_kind)kind;
		assert_int_equal(rn_mr_check_local(&tab, &use, &iova, NULL),
				 ok[kind] ? RN_KEY_OK : RN_KEY_INVALID);
	}
}

static void a_null_region_has_every_address(void **state)
{
	struct rn_key_use use = good;
	struct rn_mr *found;
	rn_iova iova;

	(void)state;
	rn_htab_remove(&tab, &mr.node);
	rn_mr_init_null(&mr, KEY, PD);
	assert_int_equal(rn_htab_insert(&tab, &mr.node), 0);
	use.access = RN_ACCESS_LOCAL_WRITE;
	use.va = UINT64_MAX - 3;
	assert_int_equal(rn_mr_check_local(&tab, &use, &iova, &found), RN_KEY_OK);
	assert_int_equal(found->kind, RN_MR_KIND_NULL);
	use.pd++;
	assert_int_equal(rn_mr_check_local(&tab, &use, &iova, &found), RN_KEY_PD);
}

static void another_protection_domain_is_refused(void **state)
{
	struct rn_key_use use = good;

	(void)state;
	use.pd = PD + 1;
	check_remote(&use, RN_KEY_PD);
}

static void each_operation_needs_its_own_right(void **state)
{
	static const uint32_t rights[] = {
		RN_ACCESS_REMOTE_WRITE,	    RN_ACCESS_REMOTE_READ,
		RN_ACCESS_REMOTE_ATOMIC,    RN_ACCESS_FLUSH_GLOBAL,
		RN_ACCESS_FLUSH_PERSISTENT,
	};

	(void)state;
	for (size_t have = 0; have < RN_ARRAY_SIZE(rights); have++) {
		for (size_t want = 0; want < RN_ARRAY_SIZE(rights); want++) {
			struct rn_key_use use = good;

			mr.access = RN_ACCESS_LOCAL_WRITE | rights[have];
			use.access = rights[want];
			check_remote(&use, have == want ? RN_KEY_OK : RN_KEY_ACCESS);
		}
	}
}

static void all_rights_asked_for_are_needed(void **state)
{
	struct rn_key_use use = good;

	(void)state;
	mr.access = RN_ACCESS_FLUSH_GLOBAL;
	use.access = RN_ACCESS_FLUSH_GLOBAL | RN_ACCESS_FLUSH_PERSISTENT;
	check_remote(&use, RN_KEY_ACCESS);
}

static void a_range_must_lie_inside_the_region(void **state)
{
	static const struct {
		uint64_t va, len;
		enum rn_key_result want;
	} rows[] = {
		{ VA, 1, RN_KEY_OK },
		{ VA, LENGTH, RN_KEY_OK },
		{ VA + LENGTH - 1, 1, RN_KEY_OK },
		{ VA, LENGTH + 1, RN_KEY_RANGE },
		{ VA - 1, 1, RN_KEY_RANGE },
		{ VA - 1, 2, RN_KEY_RANGE },
		{ VA + 1, LENGTH, RN_KEY_RANGE },
		{ VA + LENGTH, 1, RN_KEY_RANGE },
		{ VA + LENGTH - 1, 2, RN_KEY_RANGE },
		{ 0, UINT64_MAX, RN_KEY_RANGE },
		/* va + len wraps past 2^64 and ends inside */
		{ VA, UINT64_MAX, RN_KEY_RANGE },
		{ VA + 8, UINT64_MAX - 7, RN_KEY_RANGE },
		{ UINT64_MAX, VA + 2, RN_KEY_RANGE },
		{ UINT64_MAX, 1, RN_KEY_RANGE },
		/* nothing, at the edges and beyond */
		{ VA, 0, RN_KEY_OK },
		{ VA + LENGTH, 0, RN_KEY_OK },
		{ VA + LENGTH + 1, 0, RN_KEY_RANGE },
	};

	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rn_key_use use = good;

		use.va = rows[i].va;
		use.len = rows[i].len;
		check_remote(&use, rows[i].want);
	}
}

static void a_region_may_reach_to_the_end_of_the_address_space(void **state)
{
	struct rn_key_use use = good;

	(void)state;
	mr.va = 0 - (uint64_t)LENGTH;
	use.va = mr.va;
	check_remote(&use, RN_KEY_OK);
	use.len = LENGTH + 1; /* wraps */
	check_remote(&use, RN_KEY_RANGE);
	use.va = UINT64_MAX;
	use.len = 1;
	check_remote(&use, RN_KEY_OK);
	use.va = 0;
	check_remote(&use, RN_KEY_RANGE);
}

/* rn_mr_init() makes no such region, but the check does not rest on that. */
static void a_start_below_the_region_is_refused_whatever_the_length(void **state)
{
	struct rn_key_use use = good;

	(void)state;
	mr.length = UINT64_MAX;
	use.va = 0;
	use.len = 1;
	check_remote(&use, RN_KEY_RANGE);
	use.va = VA;
	check_remote(&use, RN_KEY_OK);
}

/* Repair the faults one after the other: the objections come in this order. */
static void objections_come_in_the_order_of_the_specification(void **state)
{
	struct rn_key_use use = {
		.key = KEY + 1, .pd = PD + 1, .len = 1, .access = RN_ACCESS_REMOTE_READ
	};

	(void)state;
	mr.valid = false;
	mr.access = RN_ACCESS_LOCAL_WRITE;
	check_remote(&use, RN_KEY_UNKNOWN);
	use.key = KEY;
	check_remote(&use, RN_KEY_INVALID);
	mr.valid = true;
	check_remote(&use, RN_KEY_PD);
	use.pd = PD;
	check_remote(&use, RN_KEY_ACCESS);
	mr.access |= RN_ACCESS_REMOTE_READ;
	check_remote(&use, RN_KEY_RANGE);
	use.va = VA;
	check_remote(&use, RN_KEY_OK);
}

static void a_removed_region_is_unknown(void **state)
{
	(void)state;
	rn_htab_remove(&tab, &mr.node);
	check_remote(&good, RN_KEY_UNKNOWN);
}

static void gathering_needs_no_right_and_scattering_local_write(void **state)
{
	struct rn_key_use gather = good, scatter = good;
	rn_iova iova = 0;

	(void)state;
	gather.access = 0;
	scatter.access = RN_ACCESS_LOCAL_WRITE;
	mr.access = 0;
	assert_int_equal(rn_mr_check_local(&tab, &gather, &iova, NULL), RN_KEY_OK);
	assert_int_equal(iova, IOVA);
	assert_int_equal(rn_mr_check_local(&tab, &scatter, &iova, NULL), RN_KEY_ACCESS);
	mr.access = RN_ACCESS_LOCAL_WRITE;
	assert_int_equal(rn_mr_check_local(&tab, &scatter, &iova, NULL), RN_KEY_OK);
	scatter.pd++;
	assert_int_equal(rn_mr_check_local(&tab, &scatter, &iova, NULL), RN_KEY_PD);
}

static void addresses_of_a_zero_based_region_are_offsets(void **state)
{
	const struct rn_mr_attr attr = {
		.key = KEY,
		.pd = PD,
		.va = VA,
		.length = LENGTH,
		.iova_base = IOVA,
		.access = ALL | RN_ACCESS_ZERO_BASED,
	};
	struct rn_key_use use = good;

	(void)state;
	rn_htab_remove(&tab, &mr.node);
	assert_int_equal(rn_mr_init(&mr, &attr), 0);
	assert_int_equal(rn_htab_insert(&tab, &mr.node), 0);
	check_remote(&use, RN_KEY_RANGE);
	use.va = 0;
	check_remote(&use, RN_KEY_OK);
	use.va = 1;
	check_remote(&use, RN_KEY_RANGE);
}

static int init_with(uint64_t va, uint64_t length, uint32_t access)
{
	const struct rn_mr_attr attr = {
		.key = KEY, .va = va, .length = length, .access = access
	};
	struct rn_mr other;

	return rn_mr_init(&other, &attr);
}

static void init_refuses_remote_writing_without_local_writing(void **state)
{
	(void)state;
	assert_int_equal(init_with(0, 1, RN_ACCESS_REMOTE_WRITE), -EINVAL);
	assert_int_equal(init_with(0, 1, RN_ACCESS_REMOTE_ATOMIC), -EINVAL);
	assert_int_equal(init_with(0, 1, RN_ACCESS_REMOTE_READ), 0);
	assert_int_equal(init_with(0, 1, RN_ACCESS_REMOTE_WRITE | RN_ACCESS_LOCAL_WRITE),
			 0);
}

static void init_refuses_unknown_rights_but_not_optional_ones(void **state)
{
	(void)state;
	assert_int_equal(init_with(0, 1, 1u << 10), -EINVAL);
	assert_int_equal(init_with(0, 1, 1u << 19), -EINVAL);
	assert_int_equal(init_with(0, 1, 1u << 30), -EINVAL);
	assert_int_equal(init_with(0, 1, 1u << 31), -EINVAL);
	assert_int_equal(init_with(0, 1, RN_ACCESS_OPTIONAL_RANGE), 0);
	assert_int_equal(init_with(0, 1, 0x3ff), 0);
}

static void init_refuses_a_range_that_wraps(void **state)
{
	(void)state;
	assert_int_equal(init_with(UINT64_MAX, 1, 0), 0);
	assert_int_equal(init_with(UINT64_MAX, 2, 0), -EINVAL);
	assert_int_equal(init_with(1, UINT64_MAX, 0), 0);
	assert_int_equal(init_with(2, UINT64_MAX, 0), -EINVAL);
	assert_int_equal(init_with(UINT64_MAX, 0, 0), 0);
}

static void every_result_has_a_name(void **state)
{
	(void)state;
	for (int r = 0; r < RN_KEY_RESULT_COUNT; r++)
		assert_non_null(rn_key_result_name((enum rn_key_result)r));
	assert_string_equal(rn_key_result_name(RN_KEY_UNKNOWN), "unknown key");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, set_up)
	const struct CMUnitTest tests[] = {
		TEST(init_fills_a_valid_region_that_is_found_by_its_index),
		TEST(a_key_with_another_index_or_key_byte_is_unknown),
		TEST(an_invalidated_region_is_refused),
		TEST(a_null_region_has_no_remote_key),
		TEST(a_window_of_type_2_is_of_its_queue_pair_only),
		TEST(local_keys_are_those_of_regions),
		TEST(a_null_region_has_every_address),
		TEST(another_protection_domain_is_refused),
		TEST(each_operation_needs_its_own_right),
		TEST(all_rights_asked_for_are_needed),
		TEST(a_range_must_lie_inside_the_region),
		TEST(a_region_may_reach_to_the_end_of_the_address_space),
		TEST(a_start_below_the_region_is_refused_whatever_the_length),
		TEST(objections_come_in_the_order_of_the_specification),
		TEST(a_removed_region_is_unknown),
		TEST(gathering_needs_no_right_and_scattering_local_write),
		TEST(addresses_of_a_zero_based_region_are_offsets),
		TEST(init_refuses_remote_writing_without_local_writing),
		TEST(init_refuses_unknown_rights_but_not_optional_ones),
		TEST(init_refuses_a_range_that_wraps),
		TEST(every_result_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
