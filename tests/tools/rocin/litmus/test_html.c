/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The HTML report is well-formed and shows nothing of a test unescaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pcie/model/topology.h"
#include "tools/rocin/litmus/report.h"

static const char nasty[] = "<script>&\"'\x01\xff";
static const char program[] = "RDMA M1-write+write\n\"two WRITEs\"\n"
			      "{ x@B.host=0, y@B.host=0; q: A.nic0->B.nic0; rule A2 }\n"
			      "A.cpu | B.cpu ;\n"
			      "write q x <- #1 | wait y=1 ;\n"
			      "write q y <- #1 | ld r0 x ;\n"
			      "[relaxed=x+y] allowed (B.cpu:r0=0)\n";

/* Rules are looked up by the page; there is one. */
const struct rn_litmus_rule *rn_litmus_find_rule(const char *name, size_t len)
{
	static const struct rn_litmus_rule rule = { .name = "A2",
						    .says = "one & the other",
						    .remedy = "wait" };

	return len == 2 && strncmp(name, rule.name, 2) == 0 ? &rule : NULL;
}

const char *rn_report_status_name(enum rn_report_status status)
{
	return status == RN_REPORT_OK ? "ok" : "other";
}

bool rn_report_is_failure(enum rn_report_status status)
{
	return status == RN_REPORT_FORBIDDEN_SEEN;
}

/* ---- a report with one witness ---- */

static struct rn_litmus_step steps[8];
static size_t step_count;

static void step(uint8_t kind, uint8_t node, uint8_t agent, uint16_t tlp,
		 const char *text)
{
	struct rn_litmus_step *s = &steps[step_count++];

	*s = (struct rn_litmus_step){
		.kind = kind,
		.node = node,
		.agent = agent,
		.thread = RN_LITMUS_NONE,
		.instr = RN_LITMUS_NONE,
		.loc = (uint8_t)tlp,
		.tlp = tlp,
		.from = RN_LIST_COUNT,
		.to = RN_LIST_COUNT,
		.passed = UINT16_MAX,
	};
	strcpy(s->text, text);
}

/* y overtakes x, and the load looks between them. */
static void make_witness(void)
{
	step_count = 0;
	step(RN_STEP_ISSUE, 1, RN_AGENT_NIC, 0, "MWr x RO is sent");
	step(RN_STEP_ISSUE, 1, RN_AGENT_NIC, 1, "MWr y RO is sent");
	step(RN_STEP_MOVE, 1, RN_AGENT_NIC, 1, "MWr y RO  up:nic0 -> there");
	steps[2].from = RN_QUEUE_UP + RN_AGENT_NIC;
	steps[2].passed = 0;
	steps[2].rule = "A2b: a write with RO & no more";
	step(RN_STEP_PERFORM, 1, RN_AGENT_NIC, 1, "MWr y RO is visible");
	step(RN_STEP_INSTR, 1, RN_AGENT_CPU, UINT16_MAX, "ld r0 x -> 0");
	steps[4].thread = 1;
	steps[4].instr = 1;
	steps[4].loc = 0;
	step(RN_STEP_MOVE, 1, RN_AGENT_NIC, 0, "MWr x RO  up:nic0 -> there");
	steps[5].from = RN_QUEUE_UP + RN_AGENT_NIC;
	step(RN_STEP_PERFORM, 1, RN_AGENT_NIC, 0, "MWr x RO is visible");
}

static char *make_page(const char *name)
{
	struct rn_report_state state = { .count = 3, .steps = steps };
	struct rn_report_verdict verdict = { .status = RN_REPORT_OK, .seen = 3 };
	struct rn_report_run run = { .knobs = "typical,relaxed=x+y",
				     .runs = 10,
				     .state = &state,
				     .state_count = 1,
				     .verdict = &verdict,
				     .verdict_count = 1 };
	static struct rn_report_test test;
	struct rn_report_test *tests[] = { &test };
	struct rn_report report = { .backend = name, .test = tests, .test_count = 1 };
	struct rn_litmus_parser parser;
	char *page = NULL;
	size_t len;
	FILE *to;

	rn_litmus_parser_init(&parser, program, strlen(program));
	assert_int_equal(rn_litmus_parse(&parser, &test.test), 1);
	strcpy(test.test.name, name);
	strcpy(test.test.thread[0].instr[0].text, name);
	verdict.verdict = &test.test.verdict[0];
	make_witness();
	state.step_count = step_count;
	test.run = &run;
	test.run_count = 1;
	to = open_memstream(&page, &len);
	assert_non_null(to);
	assert_int_equal(rn_report_html(&report, to), 0);
	fclose(to);
	return page;
}

/* ---- what a page must be ---- */

enum {
	DEPTH_MAX = 32,
	TAG_MAX = 16,
};

/* Length of the name of the tag at @at. */
static size_t name_length(const char *at)
{
	return strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
}

/* Every element is closed by its own name; attributes are quoted. */
static void check_nesting(const char *page)
{
	char open[DEPTH_MAX][TAG_MAX];
	unsigned depth = 0;

	page = strchr(page, '\n'); /* past the document type */
	while ((page = strchr(page, '<'))) {
		const char *name = page + 1 + (page[1] == '/'), *end = name;
		size_t len = name_length(name);
		bool is_quoted = false;

		assert_in_range(len, 1, TAG_MAX - 1);
		for (; *end && (is_quoted || *end != '>'); end++)
			is_quoted ^= *end == '\'';
		assert_int_equal(*end, '>');
		if (page[1] == '/') {
			assert_true(depth > 0);
			depth--;
			assert_int_equal(strlen(open[depth]), len);
			assert_memory_equal(open[depth], name, len);
		} else if (end[-1] != '/') {
			assert_true(depth < DEPTH_MAX);
			memcpy(open[depth], name, len);
			open[depth++][len] = '\0';
		}
		page = end;
	}
	assert_int_equal(depth, 0);
}

static void test_well_formed(void **unused)
{
	char *page = make_page("live");

	(void)unused;
	check_nesting(page);
	assert_non_null(strstr(page, "<svg"));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "src="));
	free(page);
}

static void test_escaped(void **unused)
{
	char *page = make_page(nasty);

	(void)unused;
	check_nesting(page);
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "RO & no"));
	assert_non_null(strstr(page, "RO &amp; no"));
	assert_non_null(strstr(page, "&lt;script&gt;&amp;&quot;&#39;??"));
	free(page);
}

/* The load came before x was visible, and the page says where x was. */
static void test_stale(void **unused)
{
	struct rn_report_state state = { .steps = steps };
	struct rn_html_stale stale;
	char *page = make_page("live");
	static struct rn_litmus_test t;
	struct rn_litmus_parser parser;

	(void)unused;
	rn_litmus_parser_init(&parser, program, strlen(program));
	assert_int_equal(rn_litmus_parse(&parser, &t), 1);
	state.step_count = step_count;
	assert_true(rn_html_find_stale(&t, &state, &stale));
	assert_int_equal(stale.step, 4);
	assert_int_equal(stale.tlp, 0);
	assert_int_equal(stale.where, RN_QUEUE_UP + RN_AGENT_NIC);
	assert_non_null(strstr(page, "reads x and finds 0"));
	assert_non_null(strstr(page, "<code>up:nic0</code>"));
	free(page);
	/* What is no data is not what the load should have seen. */
	steps[0].tlp_flags = RN_TLP_CQE;
	assert_false(rn_html_find_stale(&t, &state, &stale));
	steps[0].tlp_flags = RN_TLP_BELL;
	assert_false(rn_html_find_stale(&t, &state, &stale));
	steps[0].tlp_flags = RN_TLP_RO;
	assert_true(rn_html_find_stale(&t, &state, &stale));
	/* Had it been visible before, nothing would have been stale. */
	steps[4].loc = 1;
	assert_false(rn_html_find_stale(&t, &state, &stale));
}

static void test_rules(void **unused)
{
	char *page = make_page("live");

	(void)unused;
	assert_non_null(strstr(page, "<b>A2</b> one &amp; the other.<br/>Remedy: wait."));
	free(page);
}

/* The band of a node is behind all of its lanes. */
static void test_lanes_stand_on_bands(void **unused)
{
	char *page = make_page("live");
	double left[8], right[8], x, width;
	unsigned bands = 0, lanes = 0;

	(void)unused;
	for (const char *at = page; (at = strstr(at, "<rect")); at++) {
		const char *end = strchr(at, '>');
		const char *look = strstr(at, "class='band'");

		if (!look || look > end)
			continue;
		assert_in_range(bands, 0, 7);
		assert_int_equal(sscanf(strstr(at, " x='"), " x='%lf'", &x), 1);
		assert_int_equal(sscanf(strstr(at, " width='"), " width='%lf'", &width),
				 1);
		left[bands] = x;
		right[bands++] = x + width;
	}
	for (const char *at = page; (at = strstr(at, "<line")); at++) {
		const char *end = strchr(at, '>');
		const char *look = strstr(at, "class='lane'");
		unsigned on = 0;

		if (!look || look > end)
			continue;
		lanes++;
		assert_int_equal(sscanf(strstr(at, " x1='"), " x1='%lf'", &x), 1);
		for (unsigned i = 0; i < bands; i++)
			on += x > left[i] && x < right[i];
		assert_int_equal(on, 1);
	}
	assert_true(bands >= 1);
	assert_true(lanes >= 2);
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_lanes_stand_on_bands),
		cmocka_unit_test(test_well_formed),
		cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
