/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_storage_route.c - the way of each transfer, and the reason, as a table. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pcie/storage/storage_route.h"

enum {
	HOST = -1,
	OK = 0,
	LOST = -EHOSTUNREACH
};

struct row {
	const char *policy;
	int gpu;
	enum rn_p2p p2p;
	unsigned near, others; /* GPUs, one bit each */
	const char *state;     /* R registered, A aligned, B beyond the BAR */
	int result;
	enum rn_storage_way way;
	enum rn_storage_reason reason;
	int via;
};

#define D "direct,gpu,host"

/* clang-format off */
static const struct row rows[] = {
	/* Below one switch all is direct. */
	{ D, 0,    RN_P2P_SHARED, 0, 0xf, "RA",  OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ D, HOST, RN_P2P_SHARED, 0, 0xf, "RA",  OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ D, HOST, RN_P2P_SPLIT,  0, 0xf, "RA",  OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ D, HOST, RN_P2P_DENY,   0, 0xf, "RA",  OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	/* What no drive can do by itself. */
	{ D, 0,    RN_P2P_SHARED, 0, 0xf, "A",   OK, RN_STORAGE_HOST, RN_STORAGE_UNREGISTERED, -1 },
	{ D, HOST, RN_P2P_SHARED, 0, 0xf, "A",   OK, RN_STORAGE_HOST, RN_STORAGE_UNREGISTERED, -1 },
	{ D, 0,    RN_P2P_SHARED, 0, 0xf, "R",   OK, RN_STORAGE_HOST, RN_STORAGE_UNALIGNED, -1 },
	{ D, 0,    RN_P2P_SHARED, 0, 0xf, "RAB", OK, RN_STORAGE_HOST, RN_STORAGE_BEYOND_BAR, -1 },
	{ D, HOST, RN_P2P_SHARED, 0, 0xf, "RAB", OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ "direct", 0, RN_P2P_SHARED, 0, 0xf, "", OK, RN_STORAGE_HOST, RN_STORAGE_UNREGISTERED, -1 },
	/* Other root ports: through a near GPU if there is one. */
	{ D, 0, RN_P2P_SPLIT, 0x1, 0xf, "RA",  OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ D, 0, RN_P2P_SPLIT, 0x4, 0xf, "RA",  OK, RN_STORAGE_GPU, RN_STORAGE_ROOT_PORTS, 2 },
	{ D, 0, RN_P2P_SPLIT, 0xc, 0xb, "RA",  OK, RN_STORAGE_GPU, RN_STORAGE_ROOT_PORTS, 3 },
	{ D, 0, RN_P2P_SPLIT, 0x4, 0x3, "RA",  OK, RN_STORAGE_HOST, RN_STORAGE_ROOT_PORTS, -1 },
	{ D, 0, RN_P2P_SPLIT, 0,   0xf, "RA",  OK, RN_STORAGE_HOST, RN_STORAGE_ROOT_PORTS, -1 },
	{ D, 0, RN_P2P_DENY,  0,   0xf, "RA",  OK, RN_STORAGE_HOST, RN_STORAGE_NOT_ROUTED, -1 },
	{ D, 0, RN_P2P_DENY,  0x2, 0xf, "RA",  OK, RN_STORAGE_GPU, RN_STORAGE_NOT_ROUTED, 1 },
	{ D, 0, RN_P2P_DENY,  0x1, 0xf, "RA",  OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	/* The policy. */
	{ "p2p",      0, RN_P2P_SPLIT,  0,   0xf, "RA", OK, RN_STORAGE_P2P, RN_STORAGE_PREFERRED, -1 },
	{ "p2p",      0, RN_P2P_SHARED, 0,   0xf, "RA", OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ "p2p",      0, RN_P2P_SPLIT,  0x1, 0xf, "RA", OK, RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, -1 },
	{ "p2p,host", 0, RN_P2P_DENY,   0,   0xf, "RA", OK, RN_STORAGE_HOST, RN_STORAGE_NOT_ROUTED, -1 },
	{ "direct,p2p", 0, RN_P2P_SPLIT, 0,  0xf, "RA", OK, RN_STORAGE_P2P, RN_STORAGE_ROOT_PORTS, -1 },
	{ "host",     0, RN_P2P_SHARED, 0,   0xf, "RA", OK, RN_STORAGE_HOST, RN_STORAGE_PREFERRED, -1 },
	{ "host",  HOST, RN_P2P_SHARED, 0,   0xf, "RA", OK, RN_STORAGE_HOST, RN_STORAGE_PREFERRED, -1 },
	{ "gpu,host", 0, RN_P2P_SHARED, 0,   0xf, "RA", OK, RN_STORAGE_GPU, RN_STORAGE_PREFERRED, 1 },
	{ "gpu,host", 0, RN_P2P_SHARED, 0,   0x1, "RA", OK, RN_STORAGE_HOST, RN_STORAGE_NO_OTHER_GPU, -1 },
	{ "gpu,direct", HOST, RN_P2P_SHARED, 0, 0xf, "RA", OK, RN_STORAGE_DIRECT, RN_STORAGE_NO_OTHER_GPU, -1 },
	{ "direct",   0, RN_P2P_SPLIT,  0,   0xf, "RA", LOST, 0, RN_STORAGE_ROOT_PORTS, 0 },
	{ "p2p",      0, RN_P2P_DENY,   0,   0xf, "RA", LOST, 0, RN_STORAGE_NOT_ROUTED, 0 },
	{ "gpu",   HOST, RN_P2P_SHARED, 0,   0xf, "RA", LOST, 0, RN_STORAGE_NO_OTHER_GPU, 0 },
};
/* clang-format on */

static void each_transfer_takes_its_way(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct rn_storage_facts f = {
			.drive = 1,
			.gpu = r->gpu,
			.p2p = r->p2p,
			.near_gpus = (uint8_t)r->near,
			.other_gpus = (uint8_t)r->others,
			.is_registered = strchr(r->state, 'R') != NULL,
			.is_aligned = strchr(r->state, 'A') != NULL,
			.is_beyond_bar = strchr(r->state, 'B') != NULL,
		};
		struct rn_storage_policy policy;
		struct rn_storage_route route;
		char err[128];

		assert_int_equal(
			rn_storage_policy_parse(&policy, r->policy, err, sizeof(err)), 0);
		if (rn_storage_route_choose(&policy, &f, &route) != r->result)
			fail_msg("row %u: not %d", i, r->result);
		if (route.reason != r->reason)
			fail_msg("row %u: %s", i, rn_storage_reason_text(route.reason));
		if (r->result == OK && route.way != r->way)
			fail_msg("row %u: %s", i, rn_storage_way_name(route.way));
		if (r->result == OK && route.way == RN_STORAGE_GPU)
			assert_int_equal(route.via_gpu, r->via);
		assert_int_equal(route.drive, 1);
		assert_int_equal(route.gpu, r->gpu);
	}
}

static void nvlink_leads_through_linked_gpus(void **state)
{
	static const struct {
		const char *policy;
		unsigned near, links;
		enum rn_storage_way way;
		enum rn_storage_reason reason;
		int via;
	} cases[] = {
		{ "nvlink,gpu,host", 0xe, 0x4, RN_STORAGE_NVLINK, RN_STORAGE_PREFERRED,
		  2 },
		{ "nvlink,gpu,host", 0xa, 0x4, RN_STORAGE_GPU, RN_STORAGE_NO_NVLINK, 1 },
		{ "nvlink,host", 0xa, 0x4, RN_STORAGE_HOST, RN_STORAGE_NO_NVLINK, -1 },
		{ "nvlink,host", 0, 0xf, RN_STORAGE_HOST, RN_STORAGE_NO_NVLINK, -1 },
		{ "direct,nvlink", 0x2, 0x2, RN_STORAGE_NVLINK, RN_STORAGE_ROOT_PORTS,
		  1 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++) {
		struct rn_storage_facts f = { .gpu = 0,
					      .p2p = RN_P2P_SPLIT,
					      .near_gpus = (uint8_t)cases[i].near,
					      .other_gpus = 0xf,
					      .nvlinks = (uint8_t)cases[i].links,
					      .is_registered = true,
					      .is_aligned = true };
		struct rn_storage_policy policy;
		struct rn_storage_route route;
		char err[128];

		assert_int_equal(rn_storage_policy_parse(&policy, cases[i].policy, err,
							 sizeof(err)),
				 0);
		assert_int_equal(rn_storage_route_choose(&policy, &f, &route), 0);
		assert_int_equal(route.way, cases[i].way);
		assert_int_equal(route.reason, cases[i].reason);
		assert_int_equal(route.via_gpu, cases[i].via);
	}
}

static void nvlinks_are_read(void **state)
{
	static const char *const wrong[] = {
		"gpu0",	      "gpu0-",	    "gpu0-gpu0",      "gpu0-gpu4",
		"gpu0-nvme1", "gpu0-gpu1;", "gpu0-gpu1-gpu2", ",gpu0-gpu1",
	};
	struct rn_storage_nvlinks l = { .gpus = { 9 } };
	char err[160];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		if (rn_storage_nvlinks_parse(&l, wrong[i], err, sizeof(err)) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
		assert_int_equal(l.gpus[0], 9);
	}
	assert_non_null(strstr(err, "gpu0-gpu1"));
	assert_int_equal(
		rn_storage_nvlinks_parse(&l, "gpu0-gpu1,gpu3-gpu0", err, sizeof(err)), 0);
	assert_int_equal(l.gpus[0], 0xa);
	assert_int_equal(l.gpus[1], 1);
	assert_int_equal(l.gpus[2], 0);
	assert_int_equal(l.gpus[3], 1);
}

static void files_are_on_the_drive_of_their_directory(void **state)
{
	static const struct {
		const char *paths, *path;
		unsigned drive;
	} cases[] = {
		{ "", "/a/x", 0 },
		{ "nvme1=/a,nvme2=/a/b", "/a/x", 1 },
		{ "nvme1=/a,nvme2=/a/b", "/a/b/x", 2 },
		{ "nvme2=/a/b/,nvme1=/a", "/a/b/x", 2 },
		{ "nvme1=/a", "/ab", 0 },
		{ "nvme1=/a", "/a", 1 },
		{ "nvme1=/", "/x", 1 },
		{ "nvme3=/a,nvme=/a,nvme1,nvme2=a,,nvme1=/a", "/a/x", 1 },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(cases); i++)
		if (rn_storage_drive_of(cases[i].paths, cases[i].path) != cases[i].drive)
			fail_msg("case %u", i);
}

static void policy_is_read_back(void **state)
{
	struct rn_storage_policy p;
	char text[64], err[128];

	(void)state;
	assert_int_equal(rn_storage_policy_parse(&p, "p2p,host,direct", err, sizeof(err)),
			 0);
	assert_int_equal(rn_storage_policy_format(&p, text, sizeof(text)), 15);
	assert_string_equal(text, "p2p,host,direct");
	/* As snprintf(): what would be needed, and what fits. */
	assert_int_equal(rn_storage_policy_format(&p, text, 5), 15);
	assert_string_equal(text, "p2p,");
}

static void wrong_words_are_named(void **state)
{
	static const struct {
		const char *text, *word;
	} wrong[] = {
		{ "", "\"\"" },
		{ "direct,", "\"\"" },
		{ "direct,hots", "\"hots\"" },
		{ "Direct", "\"Direct\"" },
		{ "host,host", "\"host\" stands twice" },
	};
	struct rn_storage_policy p = { .count = 1, .way = { RN_STORAGE_P2P } };
	char err[160];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		assert_int_equal(
			rn_storage_policy_parse(&p, wrong[i].text, err, sizeof(err)),
			-EINVAL);
		if (!strstr(err, wrong[i].word))
			fail_msg("\"%s\": %s", wrong[i].text, err);
		assert_int_equal(p.count, 1);
		assert_int_equal(p.way[0], RN_STORAGE_P2P);
	}
}

static void topology_is_read(void **state)
{
	static const char *const wrong[] = {
		"nvme0",	"nvme0=",      "nvme3=gpu0",  "nvme0=gpu4",
		"nvme0=gpu0+",	"nvme0=gpu0 ", "gpu0=nvme0",  "nvme=gpu0",
		"nvme0=gpu0;b", ",nvme0=gpu0", "nvme0=gpu00", "nvme0=gpu1,,",
	};
	struct rn_storage_near n = { .gpus = { 9 } };
	char err[160];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(wrong); i++) {
		if (rn_storage_near_parse(&n, wrong[i], err, sizeof(err)) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
		assert_int_equal(n.gpus[0], 9);
	}
	assert_non_null(strstr(err, "nvme0=gpu1+gpu2"));
	assert_int_equal(
		rn_storage_near_parse(&n, "nvme0=gpu1+gpu3,nvme2=gpu0", err, sizeof(err)),
		0);
	assert_int_equal(n.gpus[0], 0xa);
	assert_int_equal(n.gpus[1], 0);
	assert_int_equal(n.gpus[2], 1);
	assert_int_equal(rn_storage_near_parse(&n, "", err, sizeof(err)), 0);
	assert_int_equal(n.gpus[0], 0);
}

static void routes_are_told(void **state)
{
	static const struct {
		struct rn_storage_route route;
		const char *text;
	} told[] = {
		{ { RN_STORAGE_DIRECT, RN_STORAGE_PREFERRED, 0, 2, -1 },
		  "nvme0 -> gpu2 (direct): the policy prefers it" },
		{ { RN_STORAGE_HOST, RN_STORAGE_UNREGISTERED, 1, -1, -1 },
		  "nvme1 -> host memory -> host memory (host): the buffer is not "
		  "registered" },
		{ { RN_STORAGE_GPU, RN_STORAGE_ROOT_PORTS, 0, 1, 3 },
		  "nvme0 -> gpu3 -> gpu1 (gpu): drive and GPU are below different root "
		  "ports" },
	};
	char text[160];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(told); i++) {
		assert_int_equal(
			rn_storage_route_text(&told[i].route, text, sizeof(text)),
			strlen(told[i].text));
		assert_string_equal(text, told[i].text);
	}
	assert_string_equal(rn_storage_way_name(RN_STORAGE_WAY_COUNT), "?");
	assert_string_equal(rn_storage_reason_text(RN_STORAGE_REASON_COUNT), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_transfer_takes_its_way),
		cmocka_unit_test(nvlink_leads_through_linked_gpus),
		cmocka_unit_test(nvlinks_are_read),
		cmocka_unit_test(files_are_on_the_drive_of_their_directory),
		cmocka_unit_test(policy_is_read_back),
		cmocka_unit_test(wrong_words_are_named),
		cmocka_unit_test(topology_is_read),
		cmocka_unit_test(routes_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
