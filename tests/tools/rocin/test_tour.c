/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_tour.c - a stop of the tour claims nothing that did not happen. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/rocin/tour/tour.h"

static struct rn_tour_values presets_of(const char *name)
{
	struct rn_tour_values v = { 0 };

	for (unsigned i = 0; i < RN_TOUR_STOPS; i++)
		if (!strcmp(rn_tour_stops[i].name, name))
			rn_tour_presets(&v, &rn_tour_stops[i]);
	assert_non_null(v.stop);
	return v;
}

static void take(struct rn_tour_result *r, const char *const *lines)
{
	char err[256] = "";

	for (; *lines; lines++)
		if (rn_tour_take_line(r, *lines, err, sizeof(err)))
			fail_msg("%s: %s", *lines, err);
}

static unsigned count_so(const struct rn_tour_checks *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->count; i++)
		n += c->claim[i].is_so;
	return n;
}

static void where_nothing_happened_no_stop_is_content(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_TOUR_STOPS; i++) {
		struct rn_tour_result r = { 0 };
		struct rn_tour_checks c;
		struct rn_tour_values v;

		rn_tour_presets(&v, &rn_tour_stops[i]);
		assert_int_equal(rn_tour_finish(&r), 0);
		assert_false(rn_tour_check(&c, &v, &r));
		assert_true(c.count >= 5);
		rn_tour_result_free(&r);
	}
}

/* Also what depends on a setting. */
static void a_packet_that_was_not_sent_is_not_claimed(void **state)
{
	struct rn_tour_values v = presets_of("write");
	struct rn_tour_result r = { 0 };
	struct rn_tour_checks c;
	char err[128];

	(void)state;
	assert_int_equal(rn_tour_set(&v, "imm=yes size=8", err, sizeof(err)), 0);
	assert_int_equal(rn_tour_finish(&r), 0);
	assert_false(rn_tour_check(&c, &v, &r));
	for (unsigned i = 0; i < c.count; i++)
		if (strstr(c.claim[i].text, "WRITE_ONLY_IMM")) {
			assert_false(c.claim[i].is_so);
			rn_tour_result_free(&r);
			return;
		}
	fail_msg("nothing is said of the packet");
}

#define DATA(seq, when)                                              \
	"tlp " seq " " when " MWr 32 nic0 gpu0 4096 4096 up:nic0 0", \
		"tlp " seq " " when "5 MWr 32 nic0 gpu0 4096 4096 inside:gpu0 0"
#define ENTRY "tlp 9 1500 MWr 4 nic0 cpu 64 64 host<nic0 0"

/* A buffer that is stale, or not, as the GPU's kernels saw it. */
static bool judge_gpu(const char *settings, const char *const *lines, unsigned *so)
{
	struct rn_tour_values v = presets_of("gpu");
	struct rn_tour_result r = { 0 };
	struct rn_tour_checks c;
	char err[128];
	bool is_all_so;

	assert_int_equal(rn_tour_set(&v, settings, err, sizeof(err)), 0);
	take(&r, lines);
	assert_int_equal(rn_tour_finish(&r), 0);
	is_all_so = rn_tour_check(&c, &v, &r);
	*so = count_so(&c);
	rn_tour_result_free(&r);
	return is_all_so;
}

static void a_stale_buffer_is_one_that_was_seen(void **state)
{
	const char *const stale[] = { "begin 1000 1000",
				      "range GPU 4096 4096",
				      "wc A IBV_WC_SUCCESS IBV_WC_RDMA_READ 4096 0",
				      "value pending 4096",
				      "value first_count 0",
				      "value second_count 4096",
				      ENTRY,
				      DATA("3", "160"),
				      "end",
				      NULL };
	const char *fresh[RN_ARRAY_SIZE(stale)], *early[RN_ARRAY_SIZE(stale)];
	unsigned so;

	(void)state;
	assert_true(judge_gpu("", stale, &so));
	assert_int_equal(so, 5);
	/* What is right for one setting is wrong for the other. */
	assert_false(judge_gpu("flush=yes", stale, &so));
	memcpy(fresh, stale, sizeof(stale));
	fresh[4] = "value first_count 4096";
	assert_false(judge_gpu("", fresh, &so));
	assert_true(judge_gpu("flush=yes", fresh, &so));
	assert_true(judge_gpu("ordering=owner", fresh, &so));
	/* Data that was there before the completion. */
	memcpy(early, stale, sizeof(stale));
	early[7] = "tlp 3 1100 MWr 32 nic0 gpu0 4096 4096 up:nic0 0";
	early[8] = "tlp 3 1200 MWr 32 nic0 gpu0 4096 4096 inside:gpu0 0";
	assert_false(judge_gpu("", early, &so));
	assert_int_equal(so, 4);
}

static void tlps_alike_are_one_row(void **state)
{
	const char *const lines[] = {
		"begin 0 1000",
		"range A 4096 4096",
		"tlp 1 1100 MRd 0 nic0 cpu 4096 256 up:nic0 0",
		"tlp 1 1200 MRd 0 nic0 cpu 4096 256 host<nic0 0",
		"tlp 2 1150 MRd 0 nic0 cpu 4352 44 up:nic0 0",
		"tlp 1 1250 CplD 0 cpu nic0 4096 256 dn:nic0 0",
		"tlp 2 1300 MRd 0 nic0 cpu 4352 44 host<nic0 0",
		"tlp 2 1350 CplD 0 cpu nic0 4352 44 dn:nic0 0",
		NULL,
	};
	struct rn_tour_row row[RN_TOUR_ROWS_MAX];
	struct rn_tour_result r = { 0 };

	(void)state;
	take(&r, lines);
	assert_int_equal(rn_tour_rows(&r, row), 2);
	assert_string_equal(row[0].kind, "MRd");
	assert_string_equal(row[0].from, "A's NIC");
	assert_string_equal(row[0].what, "A's buffer");
	assert_int_equal(row[0].bytes, 300);
	assert_int_equal(row[0].tlps, 2);
	assert_int_equal(row[0].first, 200);
	assert_int_equal(row[0].last, 300);
	assert_string_equal(row[1].kind, "CplD");
	assert_string_equal(row[1].from, "memory");
	assert_int_equal(row[1].last, 350);
	rn_tour_result_free(&r);
}

static void lines_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = { "",
					   "nonsense",
					   "begin 1",
					   "wc A IBV_WC_SUCCESS",
					   "tlp 1 2 MWr",
					   "memory A before",
					   "range A 1",
					   "value x" };
	struct rn_tour_result r = { 0 };
	char err[256];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(bad); i++)
		assert_int_equal(rn_tour_take_line(&r, bad[i], err, sizeof(err)),
				 -EPROTO);
	assert_int_equal(rn_tour_take_line(&r, "error no device", err, sizeof(err)),
			 -ECANCELED);
	assert_string_equal(err, "the program of this stop: no device");
	/* As many as there is room for. */
	for (unsigned i = 0; i < RN_TOUR_WCS_MAX; i++)
		assert_int_equal(rn_tour_take_line(&r, "wc A S O 0 0", err, sizeof(err)),
				 0);
	assert_int_equal(rn_tour_take_line(&r, "wc A S O 0 0", err, sizeof(err)),
			 -EPROTO);
	rn_tour_result_free(&r);
}

static void settings_are_those_of_the_stop(void **state)
{
	static const char *const bad[] = { "size=0",  "size=16385", "size=1x",
					   "size=",   "size",	    "mtu=1000",
					   "mtu=",    "lost=last",  "=3",
					   "size=-1", "mtu=256|512" };
	struct rn_tour_values v = presets_of("send");
	char err[256] = "";

	(void)state;
	assert_int_equal(rn_tour_number(&v, "size"), 64);
	assert_int_equal(rn_tour_set(&v, " size=5000  mtu=256 ", err, sizeof(err)), 0);
	assert_int_equal(rn_tour_number(&v, "size"), 5000);
	assert_string_equal(rn_tour_word(&v, "mtu"), "256");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(bad); i++) {
		err[0] = '\0';
		assert_int_equal(rn_tour_set(&v, bad[i], err, sizeof(err)), -EINVAL);
		assert_true(strlen(err) > 20);
	}
	assert_int_equal(rn_tour_number(&v, "size"), 5000);
	v = presets_of("atomic");
	assert_non_null(strstr(rn_tour_knobs(&v), ",atomic=hca"));
}

static void all_that_can_be_tried_is_understood(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_TOUR_STOPS; i++) {
		const struct rn_tour_stop *s = &rn_tour_stops[i];

		assert_non_null(s->attempt[0].words);
		for (unsigned k = 0; k < RN_TOUR_TRIES_MAX; k++) {
			struct rn_tour_values v;
			char err[256];

			rn_tour_presets(&v, s);
			if (s->attempt[k].words &&
			    rn_tour_set(&v, s->attempt[k].words, err, sizeof(err)))
				fail_msg("%s: %s", s->name, err);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_nothing_happened_no_stop_is_content),
		cmocka_unit_test(a_packet_that_was_not_sent_is_not_claimed),
		cmocka_unit_test(a_stale_buffer_is_one_that_was_seen),
		cmocka_unit_test(tlps_alike_are_one_row),
		cmocka_unit_test(lines_that_are_none_are_refused),
		cmocka_unit_test(settings_are_those_of_the_stop),
		cmocka_unit_test(all_that_can_be_tried_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
