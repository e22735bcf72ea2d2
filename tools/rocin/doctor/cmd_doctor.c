/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_doctor.c - `rocin doctor [-- PROGRAM]`: finds out why a program sees no device.
 *
 * The command runs a list of checks; each prints its result, and a remedy if the result
 * is bad.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "provider/settings/settings.h"
#include "rocin/cpu.h"
#include "rocin/crc32.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "transport/io/host/runtime_dir.h"
#include "transport/io/host/uring.h"
#include "transport/io/memory/speed.h"
#include "transport/io/rocind/rocind_client.h"
#include "transport/io/udp/net_udp.h"

/* ---------------------------------------------------------------------------- checks */
static void check_runtime_dir(struct doctor *d)
{
	char dir[RN_RUNTIME_PATH_MAX], err[512];

	if (rn_runtime_dir(dir, sizeof(dir), err, sizeof(err)))
		rn_doctor_find(d, FAULT, "%s", err);
	else
		rn_doctor_find(d, GOOD, "runtime directory %s", dir);
}

/* Checks that there is a route for IPv6 multicast on the interface of @dev. By default
 * the loopback interface has none.
 */
static void check_groups(struct doctor *d, const struct rn_netdev *dev)
{
	static const struct rn_gid group = { .raw = { 0xff, 0x05, [15] = 1 } };
	bool is_lo = !strcmp(dev->ifname, "lo"), has_ipv6 = false;

	for (unsigned i = 0; i < dev->gid_count; i++)
		has_ipv6 |= !rn_gid_is_ipv4(&dev->gid[i]);
	if (has_ipv6 && rn_group_route(&group, dev->ifindex) == -ENETUNREACH)
		rn_doctor_find(
			d, NOTE,
			"%s: IPv6 multicast has no route on %s; ip -6 route add %s "
			"ff00::/8 "
			"dev %s%s",
			dev->ibdev, dev->ifname, is_lo ? "local" : "multicast",
			dev->ifname, is_lo ? "" : " table local");
}

static void check_devices(struct doctor *d)
{
	char err[512];

	if (rn_launch_prepare(&d->launch, d->netdevs, err, sizeof(err))) {
		rn_doctor_find(d, FAULT, "%s", err);
		return;
	}
	d->prepared = true;
	for (unsigned i = 0; i < d->launch.dev_count; i++) {
		const struct rn_netdev *dev = &d->launch.devs[i];

		if (!rn_netdev_path_mtu(dev->mtu))
			rn_doctor_find(
				d, FAULT,
				"%s: MTU %u of %s is too small; set it to 352 or more",
				dev->ibdev, dev->mtu, dev->ifname);
		else if (!dev->up)
			rn_doctor_find(d, FAULT, "%s: %s is down; ip link set %s up",
				       dev->ibdev, dev->ifname, dev->ifname);
		else
			rn_doctor_find(d, GOOD, "%s on %s, %u address%s, path MTU %u",
				       dev->ibdev, dev->ifname, dev->gid_count,
				       dev->gid_count == 1 ? "" : "es",
				       rn_netdev_path_mtu(dev->mtu));
		if (dev->up && strcmp(dev->ifname, "lo") != 0)
			rn_doctor_find(
				d, NOTE,
				"%s: a firewall between it and other hosts must let UDP "
				"port "
				"4791 through, in both directions; try: rocin doctor "
				"--peer=ADDRESS",
				dev->ibdev);
		if (dev->up)
			check_groups(d, dev);
	}
}

/* Reports the result that one line of the output of `rocin probe' contains. */
static void judge_probe_line(struct doctor *d, char *line, unsigned *ours)
{
	char *text = strchr(line, ' ');

	if (text)
		*text++ = '\0';
	else
		text = line + strlen(line);
	if (!strcmp(line, "device")) {
		(*ours)++;
		rn_doctor_find(d, GOOD,
			       "libibverbs lists %s, opens it and makes a queue pair",
			       text);
	} else if (!strcmp(line, "other-device")) {
		rn_doctor_find(d, NOTE, "libibverbs lists %s too, which is not ours",
			       text);
	} else if (!strcmp(line, "no-libibverbs")) {
		rn_doctor_find(
			d, FAULT,
			"libibverbs cannot be loaded (%s); apt install libibverbs1",
			text);
	} else if (!strcmp(line, "no-qp")) {
		(*ours)++;
		rn_doctor_find(d, FAULT, "no queue pair on %s; the reason stands above",
			       text);
	} else if (!strcmp(line, "no-open") || !strcmp(line, "no-list")) {
		rn_doctor_find(d, FAULT,
			       "libibverbs failed: %s %s; the reason stands above", line,
			       text);
	} else {
		text[-1] = text == line ? '\0' : ' ';
		rn_doctor_find(d, NOTE, "%s", line);
	}
}

static void run_probe(struct doctor *d, int out)
{
	char err[512];

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setenv("ROCIN_LOG", "error", 0);
	if (rn_launch_setenv(&d->launch, d->netdevs, err, sizeof(err)) == 0) {
		execl("/proc/self/exe", "rocin", "probe", (char *)NULL);
		execlp("rocin", "rocin", "probe", (char *)NULL);
	}
	_exit(RN_EXIT_CANNOT_RUN);
}

static void check_libibverbs(struct doctor *d)
{
	char line[1024];
	unsigned ours = 0;
	int pipe_fd[2], status = 0;
	FILE *in;
	pid_t pid;

	if (!d->prepared)
		return;
	fflush(stdout);
	if (pipe(pipe_fd) || (pid = fork()) < 0) {
		rn_doctor_find(d, FAULT, "cannot start a process: %s", strerror(errno));
		return;
	}
	if (pid == 0)
		run_probe(d, pipe_fd[1]);
	close(pipe_fd[1]);
	in = fdopen(pipe_fd[0], "r");
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			judge_probe_line(d, line, &ours);
	}
	if (in)
		fclose(in);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		rn_doctor_find(d, FAULT, "the trial program died of signal %d",
			       WTERMSIG(status));
	else if (ours == 0)
		rn_doctor_find(
			d, FAULT,
			"libibverbs does not list our devices: the preload did not take "
			"effect, or the plugin refused (see above)");
}

static void check_program(struct doctor *d)
{
	char path[PATH_MAX], text[RN_PROGRAM_TEXT_MAX];
	enum rn_program_fault fault;

	if (!d->program)
		return;
	fault = rn_program_check(d->program, path, sizeof(path), text, sizeof(text));
	d->is_partly_reached = fault != RN_PROGRAM_OK && !rn_program_is_fault(fault);
	if (d->is_partly_reached)
		rn_doctor_find(d, NOTE, "%s", text);
	else if (fault == RN_PROGRAM_OK)
		rn_doctor_find(d, GOOD,
			       "LD_PRELOAD reaches %s (unless it loads libibverbs with "
			       "RTLD_DEEPBIND, which nothing can see from outside)",
			       path);
	else
		rn_doctor_find(d, FAULT, "%s", text);
}

static void check_environment(struct doctor *d)
{
	const char *tree = getenv("ROCIN_TREE"), *preload = getenv("LD_PRELOAD");

	if (tree && (!preload || !strstr(preload, "librocin-kernel.so")))
		rn_doctor_find(
			d, FAULT,
			"ROCIN_TREE is set but LD_PRELOAD was lost on the way here "
			"(sudo, "
			"ssh and mpirun do that); put rocin run behind them");
	else if (tree && access(tree, R_OK))
		rn_doctor_find(
			d, FAULT,
			"ROCIN_TREE names %s, which is not there; use rocin run again",
			tree);
	else if (tree)
		rn_doctor_find(d, GOOD, "this shell runs under rocin run");
	else
		rn_doctor_find(
			d, NOTE,
			"programs find the devices only under: rocin run -- PROGRAM");
}

/* If a rocind runs, checks that it has the version of this program. */
static void check_rocind(struct doctor *d)
{
	struct rn_rocind_status status;
	char why[512];
	struct rn_rocind *r = rn_rocind_connect_running(why, sizeof(why));

	if (r ? rn_rocind_status(r, &status, why, sizeof(why)) != 0 : errno != ENOENT)
		rn_doctor_find(d, FAULT, "%s", why);
	else if (r && strcmp(status.version, ROCIN_VERSION) != 0)
		rn_doctor_find(
			d, NOTE,
			"rocind %s runs (process %d), and this is rocin %s: rocind "
			"--replace lets the new one go on in its place, without a "
			"gap for programs",
			status.version, status.pid, ROCIN_VERSION);
	else if (r)
		rn_doctor_find(d, GOOD, "rocind %s runs, process %d", status.version,
			       status.pid);
	rn_rocind_close(r);
}

/* Reports active fault rules (`rocin fault'), because a user who has forgotten them would
 * think that the network is broken.
 */
static void check_faults(struct doctor *d)
{
	struct rn_rocind *r = rn_rocind_connect_running(NULL, 0);
	const char *own = getenv("ROCIN_FAULT");
	struct rn_rocind_faults now = { .fd = -1 };

	if (own && *own)
		rn_doctor_find(d, NOTE,
			       "ROCIN_FAULT makes things go wrong on purpose: %s", own);
	if (r && rn_rocind_faults(r, &now, NULL, 0) == 0 && now.fd >= 0)
		rn_doctor_find(
			d, NOTE,
			"rules make things go wrong on purpose: rocin fault lists them, "
			"rocin fault --clear removes them");
	if (now.fd >= 0)
		close(now.fd);
	rn_rocind_close(r);
}

static void check_system(struct doctor *d)
{
	long rmem = rn_file_number("/proc/sys/net/core/rmem_max");
	struct rlimit files;

	if (access("/proc/self/fd", X_OK))
		rn_doctor_find(
			d, NOTE,
			"/proc is not mounted: works, but less can be said in messages");
	if (rmem >= 0 && rmem < 1 << 20)
		rn_doctor_find(
			d, NOTE,
			"net.core.rmem_max is %ld: works; 4194304 or more is faster",
			rmem);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 64)
		rn_doctor_find(d, FAULT,
			       "only %lu descriptors may be open; ulimit -n 256",
			       (unsigned long)files.rlim_cur);
}

/* Checks whether the program may open packet sockets, which raw packet QPs need. */
static void check_raw_packets(struct doctor *d)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	else if (errno == EPERM || errno == EACCES)
		rn_doctor_find(
			d, NOTE,
			"no CAP_NET_RAW: all works but raw packet queue pairs, which "
			"answer EPERM; run as root in the namespace of the network");
	else
		rn_doctor_find(d, NOTE,
			       "no packet sockets here (%s): no raw packet queue pairs",
			       strerror(errno));
}

/* Checks that memfd_create() is permitted, because rocind needs it for the shared memory
 * of local wires, and would run in the same sandbox as this process.
 */
static void check_local_wires(struct doctor *d)
{
	const char *set = getenv("ROCIN_LOCAL");
	int fd = memfd_create("rocin-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (set && !strcmp(set, "off"))
		rn_doctor_find(
			d, NOTE,
			"ROCIN_LOCAL is off: packets between processes of this host "
			"go by UDP");
	else if (fd < 0)
		rn_doctor_find(d, NOTE,
			       "memfd_create fails (%s): packets between processes of "
			       "this host go "
			       "by UDP, which is slower; allow it in the sandbox",
			       strerror(errno));
	else
		rn_doctor_find(d, GOOD,
			       "packets between processes of this host and user go "
			       "through shared "
			       "memory; rocin run --local=off shows them to tcpdump");
	if (fd >= 0)
		close(fd);
}

/* Reports which vector instructions are used to copy packets and to compute their ICRCs.
 */
static void check_cpu(struct doctor *d)
{
	static struct rnp_settings s;
	char err[512];

	if (rnp_settings_read(&s, err, sizeof(err)))
		return; /* check_environment() reports the reason */
	rn_doctor_find(d, GOOD, "vector instructions: level %s%s", rn_cpu_name(s.cpu),
		       s.cpu < rn_cpu_best() ? " (ROCIN_CPU); this processor has more"
					     : "");
}

/* Reports how fast each kind of instructions copies and sums, and which is used. */
static void check_speed(struct doctor *d)
{
	static const char *const name[RN_CRC32_MEANS_COUNT] = {
		[RN_CRC32_PLAIN] = "memcpy and libdeflate",
		[RN_CRC32_BY_16] = "memcpy and 16 bytes at a time",
		[RN_CRC32_BY_32] = "32 bytes at a time, in one pass",
		[RN_CRC32_BY_64] = "64 bytes at a time, in one pass",
	};
	static struct rnp_settings s;
	struct rn_speed speed;
	char err[512];

	if (!d->speed || rnp_settings_read(&s, err, sizeof(err)))
		return;
	rn_cpu_limit(s.cpu);
	if (!rn_speed_measure(&speed)) {
		rn_doctor_find(d, NOTE, "there is no memory to measure speeds in");
		return;
	}
	for (unsigned i = 0; i <= rn_crc32_best(); i++)
		rn_doctor_find(d, GOOD,
			       "copying and summing %u bytes takes %llu ns by %s%s",
			       RN_SPEED_LEN, (unsigned long long)speed.ns[i], name[i],
			       i == rn_speed_fastest(&speed)
				       ? ", which a device would choose now"
				       : "");
}

/* Checks that io_uring works, but only if the user has selected it by ROCIN_IO: a sandbox
 * may kill a process that tries io_uring.
 */
static void check_io(struct doctor *d)
{
	const char *set = getenv("ROCIN_IO");
	struct rn_uring *u;
	char why[300];

	if (!set || strcmp(set, "uring") != 0)
		return;
	u = rn_uring_open(RN_URING_AT_ONCE, 1, why, sizeof(why));
	if (u)
		rn_doctor_find(d, GOOD, "packets by UDP go by io_uring (ROCIN_IO)");
	else
		rn_doctor_find(
			d, NOTE,
			"ROCIN_IO is uring, but %s: devices work by epoll, sendmsg and "
			"recvmsg",
			why);
	rn_uring_close(u);
}

static const struct argp_option options[] = {
	RN_OPTION_JSON(0),
	RN_OPTION_NETDEV(0),
	{ "peer", 'p', "ADDRESS", 0,
	  "Ask the device at ADDRESS: do packets get there and back, of which size, "
	  "and what differs there",
	  0 },
	{ "speed", 's', NULL, 0,
	  "Measure also how fast this machine copies packets and computes their ICRCs",
	  0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	switch (key) {
	case 'n':
		d->netdevs = arg;
		return 0;
	case 'j':
		d->json = d->json ? d->json : json_array();
		return d->json ? 0 : ENOMEM;
	case 'p':
		d->peer = arg;
		return 0;
	case 's':
		d->speed = true;
		return 0;
	case ARGP_KEY_ARGS:
		d->program = state->argv[state->next];
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[-- PROGRAM]",
	.doc = "Check everything that a program needs to find the Rocin devices, and say "
	       "what to "
	       "do where something is missing. With PROGRAM, also whether Rocin can "
	       "reach it.",
};

/* Prints all findings as one JSON object, and frees them. */
static void print_json(struct doctor *d)
{
	json_t *all =
		json_pack("{s:i, s:b, s:o}", "faults", (int)d->faults,
			  "is_partly_reached", d->is_partly_reached, "findings", d->json);

	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
}

int rn_cmd_doctor(int argc, char **argv)
{
	static struct doctor d;

	if (rn_argp_parse(&argp, argc, argv, ARGP_IN_ORDER, &d))
		return RN_EXIT_USAGE;
	check_runtime_dir(&d);
	check_system(&d);
	check_raw_packets(&d);
	check_local_wires(&d);
	check_io(&d);
	check_cpu(&d);
	check_speed(&d);
	check_devices(&d);
	check_libibverbs(&d);
	check_environment(&d);
	check_rocind(&d);
	check_faults(&d);
	check_program(&d);
	rn_doctor_check_peer(&d);
	if (d.json)
		print_json(&d);
	else if (d.faults)
		printf("\n%u fault%s found.\n", d.faults, d.faults == 1 ? "" : "s");
	else if (d.is_partly_reached)
		printf("\nNo fault found, but Rocin does not see all that %s does.\n",
		       d.program);
	else
		puts("\nAll is well. Try: rocin run -- ibv_devices");
	return d.faults ? RN_EXIT_FAILURE : 0;
}
