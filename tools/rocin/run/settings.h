/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* settings.h - the options of `rocin run` and `rocin env`, which set environment
 * variables for programs and devices.
 */
#ifndef RN_RUN_SETTINGS_H
#define RN_RUN_SETTINGS_H

#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"

struct rn_run_settings {
	/* value for ROCIN_NETDEVS; NULL: ROCIN_NETDEVS is not changed */
	const char *netdevs;
	/* Programs find the stand-ins of the CUDA libraries (--gpu). */
	bool has_gpus;
};

/* Parser for options. The argp parser of a command has it as a child, whose input is a
 * struct rn_run_settings. Each option but --netdev sets its environment variable when it
 * is parsed.
 */
extern const struct argp rn_run_settings_argp;

/**
 * rn_run_settings_apply() - Check the variables, and set those that a program needs
 * @launch:	Out: devices, files and environment of the program, as rn_launch_prepare()
 *		and rn_launch_setenv() make them
 * @err:	Out on failure: error text
 *
 * Return: 0, RN_EXIT_USAGE for a wrong setting, or RN_EXIT_FAILURE.
 */
int rn_run_settings_apply(const struct rn_run_settings *settings,
			  struct rn_launch *launch, char *err, size_t err_len);

#endif /* RN_RUN_SETTINGS_H */
