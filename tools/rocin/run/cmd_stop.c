/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_stop.c - `rocin stop`: ends the rocind of this user and network namespace. */
#include <errno.h>
#include <stdio.h>

#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/rocind/rocind_client.h"

static const struct argp argp = {
	.doc = "End the rocind of this user and network namespace. Programs that use it "
	       "lose "
	       "their devices (device fatal event); rocind ends by itself when nobody "
	       "uses it.",
};

int rn_cmd_stop(int argc, char **argv)
{
	struct rn_rocind *r;
	char err[512];
	int rc;

	if (rn_argp_parse(&argp, argc, argv, 0, NULL))
		return RN_EXIT_USAGE;
	r = rn_rocind_connect_running(err, sizeof(err));
	if (!r && errno == ENOENT) {
		puts("rocind is not running");
		return 0;
	}
	if (!r) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	rc = rn_rocind_shutdown(r, err, sizeof(err));
	rn_rocind_close(r);
	if (rc) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	puts("rocind has ended");
	return 0;
}
