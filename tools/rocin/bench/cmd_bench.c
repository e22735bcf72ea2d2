/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_bench.c - `rocin bench`: sets up the environment and executes rocin-bench, which is
 * a program of its own so that `rocin` need not be linked with libibverbs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"
#include "transport/io/rocind/rocind_client.h"

/* Warns if fault rules are active (`rocin fault'), since their effect would be measured
 * as well.
 */
static void tell_of_faults(void)
{
	struct rn_rocind_faults now;
	char err[512];
	struct rn_rocind *r = rn_rocind_connect_running(err, sizeof(err));

	if (r && rn_rocind_faults(r, &now, err, sizeof(err)) == 0 && now.fd >= 0) {
		fprintf(stderr, "rocin bench: rules about faults are in force, which it "
				"measures, too; `rocin fault` lists them, `rocin fault "
				"--clear` removes them\n");
		close(now.fd);
	}
	rn_rocind_close(r);
}

int rn_cmd_bench(int argc, char **argv)
{
	static struct rn_launch launch;
	char err[512], program[PATH_MAX + 16];
	struct rn_bench_args args;

	rn_bench_args_parse(argc, argv, &args);
	if (rn_launch_prepare(&launch, args.netdevs, err, sizeof(err)) ||
	    rn_launch_setenv(&launch, args.netdevs, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	tell_of_faults();
	snprintf(program, sizeof(program), "%s/rocin-bench", launch.plugin_dir);
	execv(program, argv);
	rn_complain("%s: %s; install Rocin again", program, strerror(errno));
	return RN_EXIT_FAILURE;
}
