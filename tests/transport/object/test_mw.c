/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_mw.c - memory windows: who may bind what, what a bound one opens, how it ends.
 * IBTA Vol 1, 10.6.7.2.
 */
#include "mw_kit.h"

/* ---------------------------------------------------------------------- bind */
struct bind_case {
	const char *what;
	uint32_t region_access, access;
	uint32_t offset;
	uint64_t len;
	uint32_t pd; /* of the window */
	enum {
		FINE,
		FOREIGN_REGION,
		OLD_KEY,
		NO_WINDOW,
		ON_WINDOW
	} how;
	bool ok[2]; /* type 1, type 2 */
};

#define RW RN_ACCESS_REMOTE_WRITE
#define RR RN_ACCESS_REMOTE_READ
#define RA RN_ACCESS_REMOTE_ATOMIC
#define LW RN_ACCESS_LOCAL_WRITE
#define MB RN_ACCESS_MW_BIND
#define ZB RN_ACCESS_ZERO_BASED
#define FG RN_ACCESS_FLUSH_GLOBAL
/* clang-format off */
static const struct bind_case bind_cases[] = {
	{ "all of it",             LW | MB, RW | RR | RA, 0,    4096, 1, FINE, { true, true } },
	{ "one byte",              LW | MB, RW,           4095, 1,    1, FINE, { true, true } },
	{ "no rights",             LW | MB, 0,            0,    4096, 1, FINE, { true, true } },
	{ "local write",           LW | MB, LW,           0,    4096, 1, FINE, { true, true } },
	{ "read only",             MB,      RR,           0,    4096, 1, FINE, { true, true } },
	{ "flush",                 MB | FG, FG,           0,    4096, 1, FINE, { true, true } },
	{ "0 bytes",               LW | MB, 0,            0,    0,    1, FINE, { true, false } },
	{ "zero based",            LW | MB, RW | ZB,      8,    64,   1, FINE, { false, true } },
	{ "one byte too long",     LW | MB, RW,           0,    4097, 1, FINE, { false, false } },
	{ "behind the end",        LW | MB, RW,           4096, 1,    1, FINE, { false, false } },
	{ "2^64 - 1 bytes",        LW | MB, RW,           1,    ~0ul, 1, FINE, { false, false } },
	{ "no MW_BIND",            LW,      RR,           0,    4096, 1, FINE, { false, false } },
	{ "write to read-only",    MB,      RW,           0,    4096, 1, FINE, { false, false } },
	{ "atomic on read-only",   MB,      RA,           0,    4096, 1, FINE, { false, false } },
	{ "flush of other memory", LW | MB, FG,           0,    4096, 1, FINE, { false, false } },
	{ "MW_BIND of a window",   LW | MB, MB,           0,    4096, 1, FINE, { false, false } },
	{ "zero-based region",     LW | MB | ZB, RW,      0,    64,   1, FINE, { false, false } },
	{ "window of another PD",  LW | MB, RW,           0,    4096, 2, FINE, { false, false } },
	{ "region of another PD",  LW | MB, RW,           0,    4096, 1, FOREIGN_REGION, { false, false } },
	{ "stale L_Key",           LW | MB, RW,           0,    4096, 1, OLD_KEY, { false, false } },
	{ "no such window",        LW | MB, RW,           0,    4096, 1, NO_WINDOW, { false, false } },
	{ "onto a window",         LW | MB, RW,           0,    4096, 1, ON_WINDOW, { false, false } },
};
/* clang-format on */

static void check_bind(const struct bind_case *c, enum rn_mr_kind kind, bool ok)
{
	struct rn_send_wr wr;
	struct rn_mr before;

	win_start(kind, c->region_access, c->pd);
	if (c->how == FOREIGN_REGION)
		w.region->mr.pd++;
	wr = bind_wr(1, 5, c->offset, c->len, c->access);
	if (c->how == OLD_KEY)
		wr.bind_region ^= 1;
	if (c->how == NO_WINDOW)
		wr.rkey = w.region->mr.lkey;
	if (c->how == ON_WINDOW)
		wr.bind_region = MW_KEY;
	before = w.mw;
	post_ok(w.r.q, &wr);
	pair_expect_wc(w.r.q->scq, 1, ok ? RN_WC_SUCCESS : RN_WC_MW_BIND_ERR);
	expect_state(&w.r, ok ? RN_QPS_RTS : RN_QPS_ERR);
	assert_int_equal(w.mw.valid, ok && c->len);
	assert_int_equal(w.region->mr.windows, ok && c->len);
	if (!ok)
		assert_memory_equal(&w.mw, &before, sizeof(before));
	raw_expect_silence(&w.r);
	win_free();
}

static void only_what_the_rules_allow_is_bound(void **state)
{
	(void)state;
	for (size_t i = 0; i < RN_ARRAY_SIZE(bind_cases); i++) {
		print_message("%s\n", bind_cases[i].what);
		check_bind(&bind_cases[i], RN_MR_KIND_MW1, bind_cases[i].ok[0]);
		check_bind(&bind_cases[i], RN_MR_KIND_MW2, bind_cases[i].ok[1]);
	}
}

static void type_1_is_bound_anew_and_the_old_key_dies(void **state)
{
	(void)state;
	win_new(RN_MR_KIND_MW1);
	bind_all(1);
	assert_true(opens(MW_KEY | 1, 0, 64));
	bind_part(2, 64, 64, RN_ACCESS_REMOTE_WRITE);
	assert_int_equal(w.region->mr.windows, 1);
	assert_true(opens(MW_KEY | 2, 64, 64));
	assert_false(opens(MW_KEY | 1, 64, 64));
	win_free();
}

static void type_1_of_0_bytes_is_no_window(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW1);
	bind_all(1);
	wr = bind_wr(3, 2, 0, 0, 0);
	wr.bind_region = 0; /* as with no region given */
	post_ok(w.r.q, &wr);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_SUCCESS);
	assert_int_equal(w.region->mr.windows, 0);
	assert_false(opens(MW_KEY | 2, 0, 64));
	win_free();
}

static void type_2_is_bound_when_it_is_free_only(void **state)
{
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	bind_all(1);
	invalidate(w.r.q, MW_KEY | 1, RN_WC_SUCCESS);
	bind_all(1);
	assert_true(opens(MW_KEY | 1, 0, 64));
	wr = bind_wr(3, 2, 0, REGION, RN_ACCESS_REMOTE_WRITE);
	post_ok(w.r.q, &wr);
	pair_expect_wc(w.r.q->scq, 3, RN_WC_MW_BIND_ERR);
	expect_state(&w.r, RN_QPS_ERR);
	assert_int_equal(w.mw.lkey, MW_KEY | 1);
	win_free();
}

/* ------------------------------------------------------------------- access */
static void a_window_opens_its_bytes_and_no_more(void **state)
{
	static const struct {
		uint32_t offset, len;
		bool ok;
	} cases[] = {
		{ 128, 64, true },  { 128, 1, true },  { 191, 1, true },
		{ 127, 1, false },  { 192, 1, false }, { 128, 65, false },
		{ 127, 65, false }, { 0, 64, false },
	};
	static uint8_t bytes[128];

	(void)state;
	for (int kind = RN_MR_KIND_MW1; kind <= RN_MR_KIND_MW2; kind++)
		for (size_t i = 0; i < RN_ARRAY_SIZE(cases); i++) {
			win_new((enum rn_mr_kind)kind);
			bind_part(9, 128, 64, RN_ACCESS_REMOTE_WRITE);
			memset(w.region->data, 0x11, REGION);
			memset(bytes, 0x11, sizeof(bytes));
			if (cases[i].len <= 64)
				assert_int_equal(
					opens(MW_KEY | 9, cases[i].offset, cases[i].len),
					cases[i].ok);
			if (!cases[i].ok)
				assert_memory_equal(w.region->data + 64, bytes, 128);
			else
				assert_int_equal(w.region->data[cases[i].offset], 0xab);
			win_free();
		}
}

/* The rights are the window's: the region has none, or all. */
static void a_window_grants_the_rights_that_it_was_bound_with(void **state)
{
	static const struct {
		uint8_t op;
		uint32_t needs;
	} ops[] = {
		{ RN_RC_WRITE_ONLY, RN_ACCESS_REMOTE_WRITE },
		{ RN_RC_READ_REQUEST, RN_ACCESS_REMOTE_READ },
		{ RN_RC_FETCH_ADD, RN_ACCESS_REMOTE_ATOMIC },
	};

	(void)state;
	for (uint32_t rights = 0; rights <= PEER_RIGHTS; rights += 2)
		for (size_t i = 0; i < RN_ARRAY_SIZE(ops); i++) {
			bool ok = (rights & ops[i].needs) != 0;
			struct raw_packet k;
			uint64_t va;

			win_start(rights & 4 ? RN_MR_KIND_MW1 : RN_MR_KIND_MW2,
				  i & 1 ? BINDABLE : BINDABLE | PEER_RIGHTS, PD);
			bind_part(1, 0, 64, rights);
			va = w.region->mr.va;
			raw_send(&w.r, RAW(.op = ops[i].op, .psn = 100, .ack_req = true,
					   .len = ops[i].op == RN_RC_WRITE_ONLY ? 8 : 0,
					   .reth = { va, MW_KEY | 1, 8 },
					   .atomic = { .va = va, .rkey = MW_KEY | 1 }));
			assert_true(raw_next(&w.r, &k));
			assert_int_equal(k.aeth.syndrome, ok ? 0x1f : NAK_ACCESS);
			win_free();
		}
}

static void a_zero_based_window_starts_at_0(void **state)
{
	(void)state;
	win_new(RN_MR_KIND_MW2);
	bind_part(1, 256, 64, RN_ACCESS_REMOTE_WRITE | RN_ACCESS_ZERO_BASED);
	assert_true(opens_to(w.r.q, w.psn++, MW_KEY | 1, 0, 64));
	assert_int_equal(w.region->data[256], 0xab);
	assert_false(opens(MW_KEY | 1, 256, 64));
	win_free();
}

static void a_window_is_no_local_key(void **state)
{
	struct rn_sge sge;

	(void)state;
	win_new(RN_MR_KIND_MW1);
	bind_all(1);
	sge = pair_sge(w.region, 0, 8);
	sge.lkey = MW_KEY | 1;
	post_sge(&w.r, 4, RN_WR_SEND, sge, RN_SEND_SIGNALED);
	pair_expect_wc(w.r.q->scq, 4, RN_WC_LOC_PROT_ERR);
	win_free();
}

static void type_1_opens_to_all_queue_pairs_and_type_2_to_one(void **state)
{
	(void)state;
	for (int kind = RN_MR_KIND_MW1; kind <= RN_MR_KIND_MW2; kind++) {
		struct pair_qp *other;

		win_new((enum rn_mr_kind)kind);
		other = other_qp();
		bind_all(1);
		assert_int_equal(opens_to(other, 100, MW_KEY | 1, w.region->mr.va, 64),
				 kind == RN_MR_KIND_MW1);
		assert_true(opens(MW_KEY | 1, 0, 64));
		win_free();
	}
}

static void a_window_of_another_domain_opens_nothing(void **state)
{
	(void)state;
	win_new(RN_MR_KIND_MW1);
	bind_all(1);
	w.mw.pd++;
	assert_false(opens(MW_KEY | 1, 0, 64));
	win_free();
}

/* ------------------------------------------------------------- coming, going */
static void a_binding_of_type_2_ends_with_its_queue_pair(void **state)
{
	struct pair_qp *other;
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	other = other_qp();
	wr = bind_wr(1, 1, 0, REGION, PEER_RIGHTS);
	post_ok(other, &wr);
	assert_int_equal(w.region->mr.windows, 1);
	pair_qp_destroy(other);
	assert_false(w.mw.valid);
	assert_int_equal(w.region->mr.windows, 0);
	bind_all(2); /* it is free again */
	win_free();
}

static void a_binding_of_type_1_outlives_its_queue_pair(void **state)
{
	struct pair_qp *other;
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW1);
	other = other_qp();
	wr = bind_wr(1, 1, 0, REGION, PEER_RIGHTS);
	post_ok(other, &wr);
	pair_qp_destroy(other);
	assert_true(opens(MW_KEY | 1, 0, 64));
	win_free();
}

static void a_window_that_goes_leaves_its_region_and_the_others(void **state)
{
	struct rn_mr more[3];

	(void)state;
	win_new(RN_MR_KIND_MW2);
	for (uint32_t i = 0; i < 3; i++) {
		struct rn_send_wr wr = bind_wr(1, 1, 0, REGION, PEER_RIGHTS);

		rn_mw_init(&more[i], RN_MR_KIND_MW2, 0x888800 + (i << 8), PD);
		rn_dev_add_mr(w.r.p->dev[0], &more[i]);
		wr.rkey = more[i].lkey | 1;
		post_ok(w.r.q, &wr);
		pair_expect_wc(w.r.q->scq, 1, RN_WC_SUCCESS);
	}
	assert_int_equal(w.region->mr.windows, 3);
	rn_dev_remove_mr(w.r.p->dev[0], &more[1]);
	assert_int_equal(w.region->mr.windows, 2);
	assert_true(opens(0x888801, 0, 8));
	assert_true(opens(0x888a01, 0, 8));
	rn_dev_remove_mr(w.r.p->dev[0], &more[2]);
	assert_true(opens(0x888801, 0, 8));
	rn_dev_remove_mr(w.r.p->dev[0], &more[0]);
	assert_false(opens(0x888801, 0, 8));
	win_free();
}

/* Its context is closed, and the windows are of another one. */
static void a_region_that_goes_ends_the_bindings_to_it(void **state)
{
	static const enum rn_mr_kind kinds[] = { RN_MR_KIND_MW1, RN_MR_KIND_MW2 };

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(kinds); i++) {
		win_new(kinds[i]);
		bind_all(1);
		rn_dev_remove_mr(w.r.p->dev[0], &w.region->mr);
		assert_int_equal(w.region->mr.windows, 0);
		assert_false(w.mw.valid);
		assert_null(w.mw.region);
		rn_dev_add_mr(w.r.p->dev[0], &w.region->mr);
		assert_false(opens(MW_KEY | 1, 0, 8));
		win_free();
	}
}

/* UC has no invalidation by the peer; a failed bind ends sending only. */
static void a_uc_queue_pair_binds_and_invalidates(void **state)
{
	struct pair_qp *uc;
	struct rn_qp_attr attr;
	struct rn_send_wr wr;

	(void)state;
	win_new(RN_MR_KIND_MW2);
	uc = pair_qp_new(w.r.p, 0, RN_QPT_UC);
	attr = pair_attr(uc, 1, RAW_PEER_QPN);
	pair_modify_until(uc, &attr, RN_QPS_RTS);
	wr = bind_wr(1, 1, 0, REGION, RN_ACCESS_REMOTE_WRITE);
	post_ok(uc, &wr);
	pair_expect_wc(uc->scq, 1, RN_WC_SUCCESS);
	raw_send(&w.r,
		 RAW(.op = RN_UC_WRITE_ONLY, .dest_qpn = uc->qpn, .psn = attr.rq_psn,
		     .len = 8, .reth = { w.region->mr.va, MW_KEY | 1, 8 }));
	assert_int_equal(w.region->data[1], (uint8_t)(attr.rq_psn + 1));
	invalidate(uc, MW_KEY | 1, RN_WC_SUCCESS);
	wr.bind_access = RN_ACCESS_MW_BIND;
	post_ok(uc, &wr);
	pair_expect_wc(uc->scq, 1, RN_WC_MW_BIND_ERR);
	assert_int_equal(rn_qp_state(uc->qp), RN_QPS_SQE);
	win_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_rules_allow_is_bound),
		cmocka_unit_test(type_1_is_bound_anew_and_the_old_key_dies),
		cmocka_unit_test(type_1_of_0_bytes_is_no_window),
		cmocka_unit_test(type_2_is_bound_when_it_is_free_only),
		cmocka_unit_test(a_window_opens_its_bytes_and_no_more),
		cmocka_unit_test(a_window_grants_the_rights_that_it_was_bound_with),
		cmocka_unit_test(a_zero_based_window_starts_at_0),
		cmocka_unit_test(a_window_is_no_local_key),
		cmocka_unit_test(type_1_opens_to_all_queue_pairs_and_type_2_to_one),
		cmocka_unit_test(a_window_of_another_domain_opens_nothing),
		cmocka_unit_test(a_binding_of_type_2_ends_with_its_queue_pair),
		cmocka_unit_test(a_binding_of_type_1_outlives_its_queue_pair),
		cmocka_unit_test(a_window_that_goes_leaves_its_region_and_the_others),
		cmocka_unit_test(a_region_that_goes_ends_the_bindings_to_it),
		cmocka_unit_test(a_uc_queue_pair_binds_and_invalidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
