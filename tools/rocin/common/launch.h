/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* launch.h - the environment in which a program finds the Rocin devices.
 *
 *   LD_PRELOAD     librocin-kernel.so, behind whatever is there already; with
 *		    ROCIN_PCIE_DEVICE or ROCIN_SANITIZE=all librocin-gpu.so behind it, for
 *		    system calls on memory that is closed at times
 *   ROCIN_TREE     generated sysfs and /dev tree of the devices
 *   RDMAV_DRIVERS  the provider plugin, before whatever is there already
 *   ROCIN_NETDEVS  which interfaces and addresses the devices are made of
 */
#ifndef RN_LAUNCH_H
#define RN_LAUNCH_H

#include <limits.h>
#include <sys/types.h>

#include "rocin/netdev.h"
#include "rocin/types.h"

struct rn_launch {
	struct rn_netdev devs[RN_NETDEV_MAX];
	unsigned dev_count;
	char plugin_dir[PATH_MAX];
	char preload[PATH_MAX]; /* librocin-kernel.so */
	char gpu[PATH_MAX];	/* librocin-gpu.so */
	char driver[PATH_MAX];	/* what RDMAV_DRIVERS wants: no -rdmavNN.so */
	char tree[PATH_MAX];
};

/**
 * rn_launch_prepare() - Find the plugin, discover the devices, write their tree
 * @l:		Out
 * @netdevs:	Specification (rocin/netdev.h); NULL: $ROCIN_NETDEVS, else the default
 * @err:	Out on failure: one sentence
 *
 * Return: 0 or -errno.
 */
int rn_launch_prepare(struct rn_launch *l, const char *netdevs, char *err,
		      size_t err_len);

/* Put the variables above into this process's environment. Return: 0 or -errno. */
int rn_launch_setenv(const struct rn_launch *l, const char *netdevs, char *err,
		     size_t err_len);

/* What keeps LD_PRELOAD from working in a program. */
enum rn_program_fault {
	RN_PROGRAM_OK,
	RN_PROGRAM_NOT_FOUND,
	RN_PROGRAM_NOT_EXECUTABLE,
	RN_PROGRAM_SETUID, /* set-user-ID, set-group-ID or file capabilities */
	RN_PROGRAM_STATIC,
	RN_PROGRAM_STATIC_GO,
	RN_PROGRAM_OTHER_CLASS,	  /* 32-bit */
	RN_PROGRAM_OTHER_MACHINE, /* of another architecture */
	RN_PROGRAM_MUSL,	  /* of another C library than the preload's */
	RN_PROGRAM_DROPS_ENV, /* sudo, ssh ...: runs, but does not hand the environment on
			       */
	RN_PROGRAM_NO_INTERPRETER, /* a script for a program that is not there */
	/* From here on no faults: it works, as far as the sentence says. */
	RN_PROGRAM_GO,	   /* with C libraries, which are reached */
	RN_PROGRAM_SCRIPT, /* its interpreter is not reached, what it starts is */
};

enum {
	RN_PROGRAM_TEXT_MAX = 2 * 4096 + 512
};

static inline bool rn_program_is_fault(enum rn_program_fault fault)
{
	return fault != RN_PROGRAM_OK && fault < RN_PROGRAM_GO;
}

/* Look at @program (searched in PATH as execvp() would). @path: out, the file found;
 * @text: out, RN_PROGRAM_TEXT_MAX bytes will do: one sentence with the remedy unless
 * RN_PROGRAM_OK.
 */
enum rn_program_fault rn_program_check(const char *program, char *path, size_t path_len,
				       char *text, size_t text_len);

/* EM_* of programs that this one can be loaded into; 0: not known. */
uint16_t rn_program_machine(void);

#endif /* RN_LAUNCH_H */
