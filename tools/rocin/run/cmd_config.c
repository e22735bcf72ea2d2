/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_config.c - `rocin config`: prints all settings, and where each of them comes from.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "provider/settings/settings.h"
#include "provider/settings/watch_options.h"
#include "rocin/pcie.h"
#include "sim/pcie/gpu/declare.h"
#include "sim/pcie/sanitizer/sanitize.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/launch.h"
#include "transport/io/host/log.h"
#include "transport/io/host/runtime_dir.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	RCVBUF_WISH = 8 << 20
};

struct config_args {
	bool json, set_only;
	pid_t pid; /* id of the process whose settings are shown; 0: this process */
};

static const struct argp_option options[] = {
	RN_OPTION_JSON(0),
	{ "pid", 'p', "PID", 0,
	  "Show what process PID was started with, not what a program started now would "
	  "find",
	  0 },
	{ "set", 's', NULL, 0, "Show only what differs from the default", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct config_args *args = state->input;
	uint64_t pid = 0;

	switch (key) {
	case 'j':
		args->json = true;
		return 0;
	case 's':
		args->set_only = true;
		return 0;
	case 'p':
		if (!rn_read_number(arg, 1, INT_MAX, &pid))
			argp_error(state, "\"%s\" is not a process id", arg);
		args->pid = (pid_t)pid;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Show every setting as a program started by `rocin run` from here would "
	       "find "
	       "it: its value, and whether that is the default, comes from the "
	       "environment, "
	       "or was found on this machine. A value that would not be understood is "
	       "reported, and so is a variable that nothing reads.",
};

/* All ROCIN_* variables that Rocin reads. The code that uses a variable parses its value
 * (for most of them, provider/settings/settings.h); rocin(7) describes the values.
 */
/* clang-format off */
static const struct variable {
	/* @preset: value of the setting if the variable is not set */
	const char *name, *preset, *help;
} variables[] = {
	{ "ROCIN_NETDEVS",        "lo",                "interfaces and addresses of the devices" },
	{ "ROCIN_RUNTIME_DIR",    "",                  "directory of sockets and trees" },
	{ "ROCIN_ROCIND",         "",                  "the rocind to start" },
	{ "ROCIN_IDLE_MS",        "10000",             "how long rocind stays without a client" },
	{ "ROCIN_KEEPER",         "yes",               "whether rocind has a successor if it dies" },
	{ "ROCIN_TREE",           "made by rocin run", "generated tree of sysfs and /dev" },
	{ "ROCIN_GSO",            "on",                "several packets per system call" },
	{ "ROCIN_LOCAL",          "auto",              "packets to processes of this host through shared memory" },
	{ "ROCIN_NEIGHBOURS",     "user",              "whose packets count among those sent on this host" },
	{ "ROCIN_PEER_INFO",      "on",                "whether other hosts that ask are told of this Rocin" },
	{ "ROCIN_IO",             "auto",              "whether packets are moved by io_uring" },
	{ "ROCIN_CPU",            "auto",              "which vector instructions are used" },
	{ "ROCIN_ICRC",           "solve",             "what to do with unguessable IPv4 identifications" },
	{ "ROCIN_CREDITS",        "off",               "acknowledgements tell how many receives there are" },
	{ "ROCIN_AS",             "",                  "device whose capabilities and limits are reported" },
	{ "ROCIN_CC",             "off",               "congestion control" },
	{ "ROCIN_WINDOW",         "192K:64K:1M",       "bytes under way to a process: at first, least and most" },
	{ "ROCIN_RCVBUF",         "",                  "receive buffer of the sockets" },
	{ "ROCIN_LINGER_US",      "50",                "how long the last poll before sleep goes on looking" },
	{ "ROCIN_TIMEOUT_SCALE",  "1",                 "factor on timeouts, for who stops programs to look" },
	{ "ROCIN_PIN",            "off",               "limit on memory that counts as pinned, and time a page" },
	{ "ROCIN_LOG",            "off",               "level and file of the log" },
	{ "ROCIN_PCAP",           "off",               "file to capture packets in" },
	{ "ROCIN_FAULT",          "off",               "what goes wrong on purpose" },
	{ "ROCIN_RECORD",         "off",               "file to record runs in" },
	{ "ROCIN_RECORD_LIMIT",   "1G",                "bytes of a recording at most" },
	{ "ROCIN_PCIE",           "off",               "simulated PCIe layer" },
	{ "ROCIN_PCIE_DEVICE",    "none",              "which registered memory is a GPU's" },
	{ "ROCIN_PCIE_TRAP",      "on",                "whether loads from a GPU's memory are PCIe reads" },
	{ "ROCIN_SANITIZE",       "off",               "reports of memory used too early" },
	{ "ROCIN_VALIDATE",       "off",               "reports of what is wrong with calls of verbs" },
	{ "ROCIN_GPUS",           "4",                 "simulated GPUs" },
	{ "ROCIN_GPU_MEMORY",     "4G",                "bytes of each" },
	{ "ROCIN_STORAGE_POLICY", "direct,gpu,host",   "ways of simulated storage, in order of preference" },
	{ "ROCIN_STORAGE_NEAR",   "none",              "GPUs below the switch of each simulated drive" },
	{ "ROCIN_STORAGE_PATHS",  "none",              "directories of the files of each simulated drive" },
	{ "ROCIN_TOPOLOGY",       "none",              "file of the topology of GPUs, drives and NICs" },
	{ "ROCIN_STORAGE_SERVER", "none",              "directories of network drives, and their servers" },
	{ "ROCIN_STORAGE_NVLINK", "none",              "pairs of simulated GPUs with an NVLink" },
};
/* clang-format on */

/* The value of a setting, and where it comes from (such as "default" or "environment").
 */
struct finding {
	char value[PATH_MAX];
	const char *source;
};

static void find_runtime_dir(struct finding *f)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	char err[512];

	if (rn_runtime_dir(f->value, sizeof(f->value), err, sizeof(err)))
		snprintf(f->value, sizeof(f->value), "none: %.400s", err);
	else if (xdg && *xdg && strncmp(f->value, xdg, strlen(xdg)) == 0)
		f->source = "XDG_RUNTIME_DIR";
	else if (tmp && *tmp && strncmp(f->value, tmp, strlen(tmp)) == 0)
		f->source = "TMPDIR";
}

static void find_rocind(struct finding *f)
{
	char err[512];

	f->source = "found";
	if (rn_rocind_find(NULL, f->value, sizeof(f->value), err, sizeof(err)))
		snprintf(f->value, sizeof(f->value), "none: %.400s", err);
}

/* Finds out how large a receive buffer the kernel grants to a socket that requests it in
 * the same way as a socket of rocind (rocind/net/group.c).
 */
static void find_rcvbuf(struct finding *f)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int size = RCVBUF_WISH;
	socklen_t len = sizeof(size);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len))
		size = 0;
	size /= 2; /* the kernel reports twice the size that it grants */
	if (size < RCVBUF_WISH)
		f->source = "kernel";
	snprintf(f->value, sizeof(f->value), "%dK", size / 1024);
	if (fd >= 0)
		close(fd);
}

static void find_value(const struct variable *v, const char *from, struct finding *f)
{
	static const struct {
		const char *name;
		void (*look)(struct finding *f);
	} looks[] = {
		{ "ROCIN_RUNTIME_DIR", find_runtime_dir },
		{ "ROCIN_ROCIND", find_rocind },
		{ "ROCIN_RCVBUF", find_rcvbuf },
	};
	const char *set = getenv(v->name);

	f->source = set && *set ? from : "default";
	snprintf(f->value, sizeof(f->value), "%s", set && *set ? set : v->preset);
	for (size_t i = 0; (!set || !*set) && i < RN_ARRAY_SIZE(looks); i++)
		if (strcmp(looks[i].name, v->name) == 0)
			looks[i].look(f);
}

/* ----------------------------------------------------------- checks of all settings */
static int check_provider(char *err, size_t err_len)
{
	static struct rnp_settings s;

	return rnp_settings_read(&s, err, err_len);
}

static int check_netdevs(char *err, size_t err_len)
{
	static struct rn_netdev devs[RN_NETDEV_MAX];
	int count = rn_netdev_discover(getenv("ROCIN_NETDEVS"), devs, RN_NETDEV_MAX, err,
				       err_len);

	return count < 0 ? count : 0;
}

static int check_runtime_dir(char *err, size_t err_len)
{
	char dir[RN_RUNTIME_PATH_MAX];

	return rn_runtime_dir(dir, sizeof(dir), err, err_len);
}

static int check_idle_time(char *err, size_t err_len)
{
	const char *value = getenv("ROCIN_IDLE_MS");

	if (!value || !*value || rn_rocind_is_idle_time(value))
		return 0;
	return rn_fail(err, err_len, -EINVAL,
		       "ROCIN_IDLE_MS is \"%s\"; it must be a number of milliseconds, of "
		       "at most 9 digits",
		       value);
}

static int check_layer(char *err, size_t err_len)
{
	const char *knobs = getenv("ROCIN_PCIE"), *rules = getenv("ROCIN_PCIE_DEVICE");
	const char *sanitize = getenv("ROCIN_SANITIZE");
	const char *validate = getenv("ROCIN_VALIDATE");
	struct rn_sanitize_options o;
	struct rnp_watch_options w;
	struct rn_declare declared;
	struct rn_pcie_knobs k;
	int rc = 0;

	rn_pcie_preset(&k, RN_PCIE_STRICT);
	if (knobs && *knobs)
		rc = rn_pcie_parse(&k, knobs, err, err_len);
	if (!rc && rules && *rules)
		rc = rn_declare_parse(&declared, rules, err, err_len);
	if (!rc && sanitize && *sanitize)
		rc = rn_sanitize_parse(&o, sanitize, err, err_len);
	if (!rc && validate && *validate)
		rc = rnp_watch_parse(&w, validate, err, err_len);
	return rc;
}

/* Checks all settings. Returns true if programs can use the devices with them. */
static bool check_all(void)
{
	static int (*const checks[])(char *, size_t) = { check_provider, check_netdevs,
							 check_runtime_dir,
							 check_idle_time, check_layer };
	bool is_good = true;
	char err[1024];

	for (size_t i = 0; i < RN_ARRAY_SIZE(checks); i++) {
		if (!checks[i](err, sizeof(err)))
			continue;
		rn_complain("%s", err);
		is_good = false;
	}
	return is_good;
}

/* prefix of the variables that `rocin lab' sets for the programs on its hosts */
#define OF_LAB "ROCIN_LAB_"

static bool is_known(const char *name, size_t len)
{
	if (strncmp(name, OF_LAB, strlen(OF_LAB)) == 0)
		return true;
	for (size_t i = 0; i < RN_ARRAY_SIZE(variables); i++)
		if (strlen(variables[i].name) == len &&
		    strncmp(variables[i].name, name, len) == 0)
			return true;
	return false;
}

/* Warns of unknown variables: a setting with a misspelt name would have no effect. */
static void warn_of_unknown(void)
{
	for (char **e = environ; *e; e++) {
		size_t len = strcspn(*e, "=");

		if (strncmp(*e, "ROCIN_", 6) == 0 && !is_known(*e, len))
			rn_complain("%.*s is set, but nothing reads it", (int)len, *e);
	}
}

/* ------------------------------------------ printing, and the command's entry point */
static json_t *as_json(const struct variable *v, const struct finding *f)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "name", v->name, "value", f->value,
			 "source", f->source, "meaning", v->help);
}

static int print(const struct config_args *args)
{
	json_t *list = json_array();
	int rc = 0;

	for (size_t i = 0; i < RN_ARRAY_SIZE(variables); i++) {
		const struct variable *v = &variables[i];
		static struct finding f;

		find_value(v, args->pid ? "process" : "environment", &f);
		if (args->set_only && strcmp(f.source, "default") == 0)
			continue;
		if (args->json)
			json_array_append_new(list, as_json(v, &f));
		else
			printf("%-21s %-24s %-12s %s\n", v->name, f.value, f.source,
			       v->help);
	}
	if (args->json) {
		rc = json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(list);
	return rc;
}

/**
 * take_environment() - Replace the environment of this process by that of another one
 * @pid:	The other process; /proc/PID/environ must be readable. This file has the
 *	variables with which the process was started, without later changes.
 * @err:	Out on failure: error text
 *
 * The old environment is lost; the memory of the new one is never freed.
 *
 * Threads: no other thread may run.
 *
 * Return: 0; -errno of open(), after which the environment is unchanged; -EIO, after
 *	which the environment has only some of the new variables.
 */
static int take_environment(pid_t pid, char *err, size_t err_len)
{
	char path[64], *text = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	if (!f) {
		rc = -errno;
		return rn_fail(err, err_len, rc,
			       "the environment of process %d cannot be read: %s",
			       (int)pid, strerror(-rc));
	}
	clearenv();
	while (getdelim(&text, &size, '\0', f) > 0) {
		/* A string without '=' is skipped: putenv() would remove a variable. */
		if (!strchr(text, '='))
			continue;
		putenv(text);
		text = NULL; /* the memory now belongs to the environment */
		size = 0;
	}
	free(text);
	rc = ferror(f) ? -EIO : 0;
	fclose(f);
	return rc ? rn_fail(err, err_len, rc,
			    "the environment of process %d cannot be read to its end",
			    (int)pid)
		  : 0;
}

int rn_cmd_config(int argc, char **argv)
{
	struct config_args args = { 0 };
	char err[256];
	bool is_good;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.pid && take_environment(args.pid, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	is_good = print(&args) == 0;
	fflush(stdout);
	warn_of_unknown();
	return check_all() && is_good ? 0 : RN_EXIT_FAILURE;
}
