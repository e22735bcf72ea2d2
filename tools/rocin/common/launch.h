/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* launch.h - sets up the environment in which a program finds the Rocin devices, and
 * finds the tests that are installed with rocin.
 *
 * LD_PRELOAD		librocin-kernel.so, after any libraries that are there; with
 *			ROCIN_PCIE_DEVICE, ROCIN_SANITIZE=all or the knob hold=event also
 *			librocin-gpu.so, which wraps system calls on pages that are closed
 *			to the program
 * ROCIN_TREE		generated sysfs and /dev tree of the devices
 * RDMAV_DRIVERS	the provider plugin, before any plugins that are there
 * LD_LIBRARY_PATH	with --gpu: first the folder of the CUDA stand-ins
 * ROCIN_NETDEVS	the interfaces and addresses that become devices
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
	char preload[PATH_MAX]; /* path of librocin-kernel.so */
	char gpu[PATH_MAX];	/* path of librocin-gpu.so */
	char cuda[PATH_MAX];	/* folder of the stand-ins of the CUDA libraries */
	/* entry of RDMAV_DRIVERS: the path of the plugin without -rdmavNN.so */
	char driver[PATH_MAX];
	char tree[PATH_MAX];
	/* True: the settings of the PCIe model require that librocin-gpu.so is preloaded,
	 * too. rn_launch_prepare() sets this to false; the caller may set it to true.
	 */
	bool closes_pages;
	/* True: the stand-ins of the CUDA libraries are found before others. Set as
	 * @closes_pages is.
	 */
	bool has_gpus;
};

/**
 * rn_launch_prepare() - Find the plugin, discover the devices, write the sysfs tree
 * @l:	Out
 * @netdevs:	Specification (rocin/netdev.h); NULL: $ROCIN_NETDEVS, else the default
 * @err:	Out on failure: error text
 *
 * Return: 0 or -errno.
 */
int rn_launch_prepare(struct rn_launch *l, const char *netdevs, char *err,
		      size_t err_len);

/* Sets the environment variables that are listed at the beginning of this file. Returns
 * 0, or -errno with an error text in @err.
 */
int rn_launch_setenv(const struct rn_launch *l, const char *netdevs, char *err,
		     size_t err_len);

/**
 * rn_bank_find() - Find tests that are installed with this program
 * @bank:	"scenario" or "litmus"
 * @name:	A file or directory, as the user has named it; NULL: the whole bank
 * @path:	Room for the result, PATH_MAX bytes
 * @err:	Out on failure: error text
 *
 * The bank of a program that was built and not installed is in the source tree.
 *
 * Return: @name if there is such a file, or if the bank has none of that name; @path, the
 *	   file of that name in the bank; NULL: @name is NULL, and the bank is missing.
 */
const char *rn_bank_find(const char *bank, const char *name, char *path, char *err,
			 size_t err_len);

/* Reasons why LD_PRELOAD does not work in a program. */
enum rn_program_fault {
	RN_PROGRAM_OK,
	RN_PROGRAM_NOT_FOUND,
	RN_PROGRAM_NOT_EXECUTABLE,
	/* the program has the set-user-ID or set-group-ID bit, or file capabilities */
	RN_PROGRAM_SETUID,
	RN_PROGRAM_STATIC,
	RN_PROGRAM_STATIC_GO,
	RN_PROGRAM_OTHER_CLASS,	  /* the program is a 32-bit program */
	RN_PROGRAM_OTHER_MACHINE, /* the program is for another architecture */
	/* The program is linked with another C library (musl) than the library that would
	 * be preloaded.
	 */
	RN_PROGRAM_MUSL,
	/* A program such as sudo or ssh: it runs, but starts other programs without the
	 * environment variables that rocin has set.
	 */
	RN_PROGRAM_DROPS_ENV,
	/* the program is a script whose interpreter does not exist */
	RN_PROGRAM_NO_INTERPRETER,
	/* If the result is one of the following, LD_PRELOAD affects only a part of the
	 * program. In a Go program it affects only the calls of its C libraries.
	 */
	RN_PROGRAM_GO,
	/* LD_PRELOAD does not affect the interpreter of the script, but affects the
	 * programs that the script starts.
	 */
	RN_PROGRAM_SCRIPT,
};

enum {
	RN_PROGRAM_TEXT_MAX = 2 * 4096 + 512
};

static inline bool rn_program_is_fault(enum rn_program_fault fault)
{
	return fault != RN_PROGRAM_OK && fault < RN_PROGRAM_GO;
}

/* Returns true if the program can be run all the same where /sys and /dev show the
 * devices to everything (rocin run --reach=all): it finds their files, but cannot open
 * them.
 */
static inline bool rn_program_is_shown(enum rn_program_fault fault)
{
	return fault >= RN_PROGRAM_SETUID && fault <= RN_PROGRAM_MUSL &&
	       fault != RN_PROGRAM_OTHER_MACHINE;
}

/* Checks whether LD_PRELOAD works in @program. Searches the program in PATH, as execvp()
 * does, and writes the path of its file to @path. If the result is not RN_PROGRAM_OK,
 * writes an error text with the remedy to @text, of at most RN_PROGRAM_TEXT_MAX bytes.
 */
enum rn_program_fault rn_program_check(const char *program, char *path, size_t path_len,
				       char *text, size_t text_len);

/* Returns the ELF machine (EM_*) for which this program was built; 0 if unknown. */
uint16_t rn_program_machine(void);

#endif /* RN_LAUNCH_H */
