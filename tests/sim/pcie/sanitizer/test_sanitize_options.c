/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_sanitize_options.c - ROCIN_SANITIZE, and names in findings. */
#include <errno.h>

#include "sanitize_kit.h"
#include "sim/pcie/sanitizer/sanitize_internal.h"

static void expect(const char *text, enum rn_sanitize_level level, int exit_code,
		   const char *log)
{
	struct rn_sanitize_options o;
	char err[300] = "";

	memset(&o, 0xff, sizeof(o));
	if (rn_sanitize_parse(&o, text, err, sizeof(err)))
		fail_msg("%s: %s", text, err);
	assert_int_equal(o.level, level);
	assert_int_equal(o.report.exit_code, exit_code);
	assert_string_equal(o.report.log, log);
}

static void test_accepted(void **state)
{
	(void)state;
	expect("", RN_SANITIZE_OFF, 66, "");
	expect("on", RN_SANITIZE_ON, 66, "");
	expect("off", RN_SANITIZE_OFF, 66, "");
	expect("all", RN_SANITIZE_ALL, 66, "");
	expect("exitcode=7", RN_SANITIZE_ON, 7, "");
	expect("log=/a/%p", RN_SANITIZE_ON, 66, "/a/%p");
	expect("all,exitcode=0,log=x", RN_SANITIZE_ALL, 0, "x");
	expect("log=x,exitcode=255,all", RN_SANITIZE_ALL, 255, "x");
}

/* Paths of a hunt, in any order with the others. */
static void test_paths(void **state)
{
	struct rn_sanitize_options o;
	char err[300];

	(void)state;
	assert_int_equal(rn_sanitize_parse(&o, "record=/r,log=/l,late=/a/b,exitcode=0",
					   err, sizeof(err)),
			 0);
	assert_string_equal(o.record, "/r");
	assert_string_equal(o.late, "/a/b");
	assert_string_equal(o.report.log, "/l");
	assert_int_equal(o.level, RN_SANITIZE_ON);
	assert_false(o.report.is_raw);
	assert_int_equal(rn_sanitize_parse(&o, "late=", err, sizeof(err)), -EINVAL);
	assert_int_equal(rn_sanitize_parse(&o, "record=", err, sizeof(err)), -EINVAL);
}

static void test_symbolize(void **state)
{
	struct rn_sanitize_options o;
	char err[300];

	(void)state;
	assert_int_equal(rn_sanitize_parse(&o, "symbolize=off", err, sizeof(err)), 0);
	assert_true(o.report.is_raw);
	assert_int_equal(o.level, RN_SANITIZE_ON);
	assert_int_equal(rn_sanitize_parse(&o, "symbolize=on", err, sizeof(err)),
			 -EINVAL);
}

static void test_refused(void **state)
{
	static const char *const words[] = { "yes",	     "on,maybe",    "exitcode=",
					     "exitcode=256", "exitcode=-1", "exitcode=1x",
					     "log=",	     "exitcode",    "ON",
					     "on,,all",	     "exitcode= 3" };
	char longest[400], err[300];

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(words); i++) {
		struct rn_sanitize_options o = { .report.exit_code = 5 };

		*err = '\0';
		if (rn_sanitize_parse(&o, words[i], err, sizeof(err)) != -EINVAL)
			fail_msg("\"%s\" was accepted", words[i]);
		assert_int_equal(o.report.exit_code, 5);
		assert_non_null(strstr(err, "is not on, all, off"));
	}
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "log=", 4);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t len = 250; len < sizeof(longest); len++) {
		struct rn_sanitize_options o;
		char text[sizeof(longest)];

		snprintf(text, sizeof(text), "%.*s", (int)len, longest);
		assert_int_equal(rn_sanitize_parse(&o, text, err, sizeof(err)),
				 len < sizeof(o.report.log) + 4 ? 0 : -EINVAL);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(rn_san_wr_name(RN_WR_RDMA_READ), "RDMA READ");
	assert_string_equal(rn_san_wc_name(RN_WC_RECV), "receive of a SEND");
	for (unsigned i = 0; i < 256; i++) {
		assert_true(strlen(rn_san_wr_name(i)) > 0);
		assert_true(strlen(rn_san_wc_name(i)) > 0);
	}
	for (unsigned i = 0; i < RN_SAN_KIND_COUNT; i++)
		assert_true(strlen(rn_san_kind_text((enum rn_san_kind)i)) > 0);
}

static void test_words_of_an_atomic(void **state)
{
	const struct rn_tlp tlp = { .kind = RN_TLP_WRITE,
				    .flags = RN_TLP_LOCK,
				    .requester = RN_AGENT_NIC };
	struct rn_pcie_knobs k;
	struct rn_san_words words;

	(void)state;
	rn_pcie_preset(&k, RN_PCIE_TYPICAL);
	words = rn_san_words_of(&k, RN_AGENT_CPU, &tlp, false);
	assert_non_null(strstr(words.rule, "V6"));
	assert_non_null(strstr(words.remedy, "IBV_SEND_FENCE"));
}

/* Where a write waits for a kernel decides what helps. */
static void test_remedies(void **state)
{
	static const struct {
		const char *knobs;
		unsigned reader, requester, state;
		const char *remedy;
	} rows[] = {
		{ "typical,gpu.ordering=none", RN_AGENT_GPU, RN_AGENT_NIC, RN_TLP_INSIDE,
		  "rn_gpu_flush()" },
		{ "typical", RN_AGENT_GPU, RN_AGENT_NIC, RN_TLP_QUEUED,
		  "rn_gpu_wait_host()" },
		{ "typical,rc.p2p=split", RN_AGENT_GPU, RN_AGENT_NIC, RN_TLP_QUEUED,
		  "loopback QP" },
		{ "typical,gpu.link=c2c", RN_AGENT_GPU, RN_AGENT_NIC, RN_TLP_QUEUED,
		  "loopback QP" },
		{ "typical,rc.p2p=split", RN_AGENT_GPU, RN_AGENT_NVME, RN_TLP_QUEUED,
		  "bounce" },
		{ "typical,rc.p2p=split", RN_AGENT_NIC + 1, RN_AGENT_NIC, RN_TLP_QUEUED,
		  "loopback QP" },
		{ "typical,rc.p2p=split", RN_AGENT_NIC, RN_AGENT_NVME, RN_TLP_QUEUED,
		  "bounce" },
	};

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(rows); i++) {
		struct rn_tlp tlp = { .requester = (uint8_t)rows[i].requester,
				      .target = RN_AGENT_GPU,
				      .state = (uint8_t)rows[i].state };
		struct rn_pcie_knobs k;
		char err[300];

		rn_pcie_preset(&k, RN_PCIE_STRICT);
		assert_int_equal(rn_pcie_parse(&k, rows[i].knobs, err, sizeof(err)), 0);
		if (!strstr(rn_san_words_of(&k, rows[i].reader, &tlp, true).remedy,
			    rows[i].remedy))
			fail_msg("row %u: %s", i,
				 rn_san_words_of(&k, rows[i].reader, &tlp, true).remedy);
		assert_non_null(
			strstr(rn_san_words_of(&k, rows[i].reader, &tlp, false).remedy,
			       "poll a completion"));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_symbolize),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_remedies),
		cmocka_unit_test(test_words_of_an_atomic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
