/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* settings.c - parses the options of `rocin run` and `rocin env` and sets
 * the environment.
 */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "provider/persona/persona.h"
#include "provider/settings/watch_options.h"
#include "rocin/pcie.h"
#include "sim/machine/machine.h"
#include "sim/pcie/gpu/declare.h"
#include "sim/pcie/sanitizer/sanitize.h"
#include "transport/io/host/clock.h"
#include "transport/io/host/log.h"

/* Options that only set an environment variable, which the plugin (the verbs provider)
 * reads.
 */
enum {
	OPT_PCAP = 0x100,
	OPT_FAULT,
	OPT_CC,
	OPT_GSO,
	OPT_ICRC,
	OPT_CREDITS,
	OPT_LOCAL,
	OPT_IO,
	OPT_PIN,
	OPT_AS,
	OPT_LOG,
	OPT_TIMEOUT_SCALE,
	OPT_PCIE,
	OPT_DEVICE_MEMORY,
	OPT_GPU,
	OPT_SANITIZE,
	OPT_VALIDATE,
	OPT_RECORD,
	OPT_RECORD_LIMIT,
	OPT_TOPOLOGY,
};

#define DEVICE_MEMORY "ROCIN_PCIE_DEVICE"
#define SANITIZE "ROCIN_SANITIZE"
#define VALIDATE "ROCIN_VALIDATE"
#define RECORD "ROCIN_RECORD"
#define TOPOLOGY "ROCIN_TOPOLOGY"

static const struct {
	int key;
	const char *variable;
} passes[] = {
	{ OPT_CC, "ROCIN_CC" },	      { OPT_PCAP, "ROCIN_PCAP" },
	{ OPT_FAULT, "ROCIN_FAULT" }, { OPT_GSO, "ROCIN_GSO" },
	{ OPT_ICRC, "ROCIN_ICRC" },   { OPT_CREDITS, "ROCIN_CREDITS" },
	{ OPT_LOG, "ROCIN_LOG" },     { OPT_PCIE, "ROCIN_PCIE" },
	{ OPT_LOCAL, "ROCIN_LOCAL" }, { OPT_IO, "ROCIN_IO" },
	{ OPT_PIN, "ROCIN_PIN" },     { OPT_TIMEOUT_SCALE, "ROCIN_TIMEOUT_SCALE" },
	{ OPT_AS, "ROCIN_AS" },	      { OPT_TOPOLOGY, TOPOLOGY },
};

static const struct argp_option options[] = {
	{ "netdev", 'n', "SPEC", 0,
	  "Make devices of these interfaces and addresses: IF[:ADDR[+ADDR...]][,IF...] "
	  "(default: lo, that is 127.0.0.1 and ::1)",
	  0 },
	{ "pcap", OPT_PCAP, "FILE", 0, "Write every packet to FILE", 0 },
	{ "fault", OPT_FAULT, "SPEC", 0,
	  "Make things go wrong on purpose, e.g. drop=1%,seed=7, or rules as in "
	  "rocin-fault(5), or @FILE",
	  0 },
	{ "cc", OPT_CC, "off|on|observe[:RATE]", 0,
	  "Congestion control: answer ECN marks and obey notifications (DCQCN), or only "
	  "show what they would do; RATE of the link, e.g. on:25G",
	  0 },
	{ "gso", OPT_GSO, "on|off", 0, "Hand packets to the kernel in super-packets", 0 },
	{ "icrc", OPT_ICRC, "solve|exact", 0,
	  "Accept IPv4 identifications that had to be solved for, or refuse them", 0 },
	{ "credits", OPT_CREDITS, "on|off", 0,
	  "Tell requesters how many receives are posted", 0 },
	{ "local", OPT_LOCAL, "auto|off|no-icrc", 0,
	  "Reach other processes of this host and user through shared memory, or by UDP, "
	  "where tcpdump sees the packets; no-icrc: by memory, without ICRCs if the "
	  "other "
	  "process says so as well",
	  0 },
	{ "io", OPT_IO, "auto|epoll|uring", 0,
	  "Move packets by epoll, sendmsg and recvmsg, or by io_uring; auto: by what is "
	  "faster, the former",
	  0 },
	{ "pin", OPT_PIN, "limit[:SIZE][,cost:NS]", 0,
	  "Refuse to register more memory than RLIMIT_MEMLOCK lets a driver pin, or than "
	  "SIZE; take NS for each page that is registered",
	  0 },
	{ "as", OPT_AS, "mlx5|rxe|efa", 0,
	  "Report the capabilities and limits of such a device and refuse what it "
	  "refuses, so "
	  "that programs take the code path that they take there; see rocin(7)",
	  0 },
	{ "log", OPT_LOG, "LEVEL[:FILE]", 0, "error, warn, info, debug or trace", 0 },
	{ "timeout-scale", OPT_TIMEOUT_SCALE, "N", 0,
	  "Wait N times longer than agreed for others that are stopped, in a debugger "
	  "for "
	  "instance; 1 to 1000",
	  0 },
	{ "pcie", OPT_PCIE, "KNOBS", 0,
	  "Place data as PCIe might: strict, ibta, typical or adversarial, then "
	  "KNOB=VALUE separated by commas, or @FILE; see rocin-pcie(7)",
	  0 },
	{ "device-memory", OPT_DEVICE_MEMORY, "RULE", 0,
	  "Treat registered memory that matches RULE as memory of a simulated GPU, e.g. "
	  "'size>=1M;access=relaxed;gpu=0'; may be given several times",
	  0 },
	{ "gpu", OPT_GPU, "N", 0,
	  "Show N simulated GPUs (1 to 4) to programs that use CUDA: stand-ins of its "
	  "libraries come before those of this machine; see rocin-gpu(7)",
	  0 },
	{ "sanitize", OPT_SANITIZE, "WORDS", OPTION_ARG_OPTIONAL,
	  "Report on standard error where the program uses memory before it may, and on "
	  "which machines; e.g. summary, all, or classes of machines that count for the "
	  "status. Without --pcie GPU and NIC share a switch and running kernels are "
	  "promised nothing; see rocin(7)",
	  0 },
	{ "validate", OPT_VALIDATE, "WORDS", OPTION_ARG_OPTIONAL,
	  "Report on standard error what the program does wrong with verbs; WORDS are "
	  "severities (error, portability, performance, leak, or all) and where reports "
	  "go, e.g. all,json=FILE; see rocin-validate(7) and rocin explain",
	  0 },
	{ "topology", OPT_TOPOLOGY, "FILE", 0,
	  "Place GPUs, drives and NICs below the switches and root ports of FILE, see "
	  "rocin-topology(5) and rocin devices --tree",
	  0 },
	{ "record", OPT_RECORD, "FILE", 0,
	  "Record all that the device does in FILE, for rocin sim --replay", 0 },
	{ "record-limit", OPT_RECORD_LIMIT, "SIZE", 0,
	  "End the recording at SIZE bytes; K, M or G may follow [1G]", 0 },
	{ 0 },
};

/* Adds a rule to the environment variable DEVICE_MEMORY, in which rules are separated by
 * '|'.
 */
static int add_rule(const char *rule)
{
	const char *old = getenv(DEVICE_MEMORY);
	char *all;
	int rc;

	if (!old || !*old)
		return setenv(DEVICE_MEMORY, rule, 1) ? errno : 0;
	if (asprintf(&all, "%s|%s", old, rule) < 0)
		return ENOMEM;
	rc = setenv(DEVICE_MEMORY, all, 1) ? errno : 0;
	free(all);
	return rc;
}

/* Sets ROCIN_RECORD_LIMIT, the maximum size of a recording. @text: a number of bytes with
 * an optional unit (K, M or G).
 */
static error_t set_limit(const char *text, struct argp_state *state)
{
	static const char units[] = "KMG";
	const char *unit;
	char bytes[32], *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	for (const char *u = units; unit && u <= unit; u++)
		n = n > UINT64_MAX >> 10 ? UINT64_MAX : n << 10;
	if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])))
		argp_error(state, "\"%s\" is not a size such as 64M", text);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)n);
	return setenv(RECORD "_LIMIT", bytes, 1) ? errno : 0;
}

/* Sets ROCIN_GPUS to the number of simulated GPUs. */
static error_t set_gpus(struct rn_run_settings *settings, const char *text,
			struct argp_state *state)
{
	if (text[0] < '1' || text[0] > '4' || text[1])
		argp_error(state, "\"%s\" is not a number of GPUs: 1 to 4", text);
	settings->has_gpus = true;
	return setenv("ROCIN_GPUS", text, 1) ? errno : 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct rn_run_settings *settings = state->input;

	for (size_t i = 0; i < RN_ARRAY_SIZE(passes); i++)
		if (key == passes[i].key)
			return setenv(passes[i].variable, arg, 1) ? errno : 0;
	switch (key) {
	case 'n':
		settings->netdevs = arg;
		return 0;
	case OPT_DEVICE_MEMORY:
		return add_rule(arg);
	case OPT_GPU:
		return set_gpus(settings, arg, state);
	case OPT_SANITIZE:
		return setenv(SANITIZE, arg ? arg : "on", 1) ? errno : 0;
	case OPT_VALIDATE:
		return setenv(VALIDATE, arg ? arg : "on", 1) ? errno : 0;
	case OPT_RECORD:
		return setenv(RECORD, arg, 1) ? errno : 0;
	case OPT_RECORD_LIMIT:
		return set_limit(arg, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp rn_run_settings_argp = { .options = options, .parser = parse_option };

/* Sets ROCIN_PCIE to the knobs (settings of the PCIe model) as text. ROCIN_PCIE may have
 * been the name of a file, which the program might not be able to read: the program may
 * change its directory, and a pipe can be read only once. Returns 0, or -ENOMEM with an
 * error text in @err.
 */
static int hand_on(const struct rn_pcie_knobs *knobs, char *err, size_t err_len)
{
	char words[1024];
	int len = rn_pcie_format(knobs, words, sizeof(words));

	if (len >= 0 && (size_t)len < sizeof(words) && !setenv("ROCIN_PCIE", words, 1))
		return 0;
	snprintf(err, err_len, "no memory for the knobs");
	return -ENOMEM;
}

/* Checks ROCIN_PCIE and the rules about device memory, because with a wrong value the
 * program could open no device. Sets *@parsed to the knobs, the settings of the PCIe
 * model.
 */
static int check_pcie(struct rn_pcie_knobs *parsed, char *err, size_t err_len)
{
	const char *knobs = getenv("ROCIN_PCIE"), *rules = getenv(DEVICE_MEMORY);
	struct rn_declare declared;
	int rc = 0;

	rn_pcie_preset(parsed, RN_PCIE_STRICT);
	if (knobs)
		rc = rn_pcie_parse(parsed, knobs, err, err_len);
	if (!rc && knobs && *knobs == '@')
		rc = hand_on(parsed, err, err_len);
	if (!rc && rules && *rules)
		rc = rn_declare_parse(&declared, rules, err, err_len);
	return rc;
}

/* The PCIe settings of the sanitizer if the user has chosen none. They describe a machine
 * for GPU computing in a data centre: GPU and NIC share a switch, and nothing is ordered
 * for running kernels. All writes are as late as the rules allow.
 */
#define DEFAULT_MACHINE "typical,gpu.ordering=none,driver=adversarial"

/* Checks the file of suppressions @path. If @path is empty, there is no file to check. */
static int check_suppressions(const char *path, char *err, size_t err_len)
{
	static struct rn_suppress suppress;

	return *path ? rn_suppress_read(&suppress, path, &rnp_watch_rules, err, err_len)
		     : 0;
}

/* Checks that the sanitizer, if it is on, has PCIe settings with which data is delayed;
 * without such settings it would find no mistakes.
 */
static int check_sanitize(char *err, size_t err_len)
{
	const char *text = getenv(SANITIZE), *knobs = getenv("ROCIN_PCIE");
	struct rn_sanitize_options o = { .level = RN_SANITIZE_OFF };
	struct rn_pcie_knobs k;

	if (text && rn_sanitize_parse(&o, text, err, err_len))
		return -EINVAL;
	if (o.level == RN_SANITIZE_OFF)
		return 0;
	if (check_suppressions(o.report.suppress, err, err_len))
		return -EINVAL;
	if (!knobs || !*knobs)
		return setenv("ROCIN_PCIE", DEFAULT_MACHINE, 1) ? -errno : 0;
	rn_pcie_preset(&k, RN_PCIE_STRICT);
	if (!rn_pcie_parse(&k, knobs, err, err_len) && k.place != RN_PLACE_NOW)
		return 0;
	snprintf(err, err_len,
		 "--sanitize finds nothing with --pcie=%s, which holds no data "
		 "back; leave --pcie out or take another mode",
		 knobs);
	return -EINVAL;
}

/* Checks ROCIN_VALIDATE and the file of suppressions. If one of them is wrong, the
 * program would run without validation, or it would get reports that the user wants to
 * suppress.
 */
static int check_validate(char *err, size_t err_len)
{
	const char *text = getenv(VALIDATE);
	struct rnp_watch_options o;
	int rc;

	if (!text || !*text)
		return 0;
	rc = rnp_watch_parse(&o, text, err, err_len);
	if (!rc)
		rc = check_suppressions(o.report.suppress, err, err_len);
	return rc;
}

/* Checks the factor for timeouts, because with a wrong value the program could open no
 * device.
 */
static int check_timeout_scale(char *err, size_t err_len)
{
	uint32_t scale;

	return rn_timeout_scale_read(&scale, err, err_len);
}

/* Checks ROCIN_AS, because with a wrong name the program could open no device. */
static int check_persona(char *err, size_t err_len)
{
	const struct rnp_persona *persona;

	return rnp_persona_read(&persona, err, err_len);
}

/* Checks ROCIN_LOG. With a wrong value nothing would be logged. */
static int check_log(char *err, size_t err_len)
{
	const char *spec = getenv("ROCIN_LOG");

	return spec && *spec ? rn_log_check(spec, err, err_len) : 0;
}

/* Checks that the recording can be written; otherwise the program would run and record
 * nothing.
 */
static int check_record(char *err, size_t err_len)
{
	const char *file = getenv(RECORD);
	int fd;

	if (!file || !*file || strstr(file, "%p"))
		return 0;
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) {
		snprintf(err, err_len, "cannot record to %s: %s", file, strerror(errno));
		return -errno;
	}
	close(fd);
	return 0;
}

/* Sets what follows from the topology file, if there is one: variables that the user has
 * set stay. GPUs, drives and NICs that are below different root ports reach each other as
 * rc.p2p=split says, unless the user has chosen rc.p2p=deny.
 */
static int apply_topology(struct rn_pcie_knobs *knobs, char *err, size_t err_len)
{
	static struct rn_machine m;
	const char *file = getenv(TOPOLOGY);
	char text[RN_MACHINE_PATH * (RN_MACHINE_DRIVES + 1)], *path;

	if (!file || !*file)
		return 0;
	if (rn_machine_read(&m, file, err, err_len))
		return -EINVAL;
	path = realpath(file, NULL);
	if (path)
		setenv(TOPOLOGY, path, 1);
	free(path);
	rn_machine_near(&m, text, sizeof(text));
	setenv("ROCIN_STORAGE_NEAR", text, 0);
	rn_machine_nvlinks(&m, text, sizeof(text));
	setenv("ROCIN_STORAGE_NVLINK", text, 0);
	rn_machine_paths(&m, text, sizeof(text));
	setenv("ROCIN_STORAGE_PATHS", text, 0);
	if (rn_machine_gpus(&m) > 0) {
		snprintf(text, sizeof(text), "%u", rn_machine_gpus(&m));
		setenv("ROCIN_GPUS", text, 0);
	}
	if (!rn_machine_has_roots(&m) || knobs->p2p != RN_P2P_SHARED)
		return 0;
	knobs->p2p = RN_P2P_SPLIT;
	return hand_on(knobs, err, err_len);
}

int rn_run_settings_apply(const struct rn_run_settings *settings,
			  struct rn_launch *launch, char *err, size_t err_len)
{
	struct rn_pcie_knobs knobs;

	if (check_pcie(&knobs, err, err_len) || check_sanitize(err, err_len) ||
	    check_validate(err, err_len) || check_timeout_scale(err, err_len) ||
	    check_persona(err, err_len) || check_log(err, err_len) ||
	    check_record(err, err_len) || apply_topology(&knobs, err, err_len))
		return RN_EXIT_USAGE;
	if (rn_launch_prepare(launch, settings->netdevs, err, err_len))
		return RN_EXIT_FAILURE;
	launch->has_gpus = settings->has_gpus;
	/* With GPUs the program may map their memory (GDRCopy). */
	launch->closes_pages =
		knobs.place != RN_PLACE_NOW &&
		(settings->has_gpus || knobs.hold_ns == RN_PCIE_HOLD_EVENT);
	if (rn_launch_setenv(launch, settings->netdevs, err, err_len))
		return RN_EXIT_FAILURE;
	return 0;
}
