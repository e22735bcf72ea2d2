/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fuzz_scenario.c - scenario files, and the transport run on whatever can be understood.
 */
#include "sim/scenario/virtual.h"
#include "tests/fuzz/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_terminated(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rn_scenario s;
	struct rn_scene_result result;
	struct rn_scn_error err;
	struct rn_virtual *v;

	if (rn_scenario_parse(&s, (const char *)data, size, &err)) {
		require(is_terminated(err.sentence, sizeof(err.sentence)));
		require(err.line > 0 && err.column > 0 && err.sentence[0]);
		return 0;
	}
	require(s.rules > 0 && s.lines > 0);
	v = rn_virtual_new();
	require(v);
	rn_scene_run(&s, &rn_virtual_ops, v, &result);
	require(result.passed || (result.line > 0 && result.what[0]));
	require(is_terminated(result.what, sizeof(result.what)));
	require(is_terminated(result.expected, sizeof(result.expected)));
	require(is_terminated(result.came, sizeof(result.came)));
	rn_virtual_free(v);
	return 0;
}
