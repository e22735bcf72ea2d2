/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check_suite.c - run scenario files and print the rules of those that fail, one a line.
 * For transports that were changed on purpose: nothing of the tools is needed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/scenario/virtual.h"

static bool run_file(struct rn_virtual *v, const char *file)
{
	static struct rn_scenario s;
	static char text[1 << 16];
	FILE *f = fopen(file, "re");
	struct rn_scene_result result;
	struct rn_scn_error err;
	size_t len;

	if (!f)
		return false;
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	if (rn_scenario_parse(&s, text, len, &err))
		return false;
	rn_scene_run(&s, &rn_virtual_ops, v, &result);
	for (unsigned i = 0; i < s.rules && !result.passed; i++)
		puts(s.rule[i]);
	return true;
}

int main(int argc, char **argv)
{
	struct rn_virtual *v = rn_virtual_new();
	int rc = v ? 0 : 2;

	for (int i = 1; i < argc && !rc; i++)
		rc = run_file(v, argv[i]) ? 0 : 2;
	rn_virtual_free(v);
	return rc;
}
