/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_lab_exec.c - `rocin lab-exec': runs a command on another host of the lab as ssh(1)
 * would, for users and for programs such as mpirun.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/files.h"

enum {
	OPT_LAB = 0x100
};

struct exec_args {
	/* If this process is outside of the lab: process id of the `rocin lab' to which
	 * @host belongs. 0: this process is inside the lab.
	 */
	pid_t lab;
	bool no_input;
	char *host, **words;
};

static const struct argp_option options[] = {
	{ "lab", OPT_LAB, "PID", 0,
	  "Enter the lab of this `rocin lab` from outside; by default the lab that the "
	  "command is started in",
	  0 },
	{ NULL, 'n', NULL, 0, "Standard input is empty", 0 },
#define FLAG(c_)                                         \
	{                                                \
		NULL, (c_), NULL, OPTION_HIDDEN, NULL, 0 \
	}
#define VALUE(c_)                                           \
	{                                                   \
		NULL, (c_), "VALUE", OPTION_HIDDEN, NULL, 0 \
	}
	FLAG('4'),
	FLAG('6'),
	FLAG('A'),
	FLAG('a'),
	FLAG('C'),
	FLAG('f'),
	FLAG('K'),
	FLAG('k'),
	FLAG('q'),
	FLAG('T'),
	FLAG('t'),
	FLAG('v'),
	FLAG('X'),
	FLAG('x'),
	FLAG('Y'),
	VALUE('b'),
	VALUE('c'),
	VALUE('E'),
	VALUE('e'),
	VALUE('F'),
	VALUE('i'),
	VALUE('l'),
	VALUE('m'),
	VALUE('o'),
	VALUE('p'),
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct exec_args *args = state->input;
	uint64_t pid = 0;

	switch (key) {
	case OPT_LAB:
		if (!rn_read_number(arg, 2, INT32_MAX, &pid))
			argp_error(state, "\"%s\" is not a process id", arg);
		args->lab = (pid_t)pid;
		return 0;
	case 'n':
		args->no_input = true;
		return 0;
	case ARGP_KEY_ARGS:
		args->host = state->argv[state->next];
		args->words = state->argv + state->next + 1;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which host? For instance: rocin lab-exec h2 hostname");
		return EINVAL;
	case ARGP_KEY_INIT:
	case ARGP_KEY_SUCCESS:
	case ARGP_KEY_ERROR:
	case ARGP_KEY_FINI:
	case ARGP_KEY_END:
		return ARGP_ERR_UNKNOWN;
	default:
		return key < 256 && isalnum(key) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "HOST [COMMAND...]",
	.doc = "Run COMMAND, or a shell, on HOST of the lab of `rocin lab` that this is "
	       "started in, as ssh would. What else launchers give to ssh is passed "
	       "over.",
};

/* -------------------------------------------------------- calls from outside of a lab */
/* Returns the process id of the main process of a lab, which is process 1 in its own PID
 * namespace. It is the child of `rocin lab', which has the process id @outside.
 */
static pid_t find_lab(pid_t outside)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)outside,
		 (int)outside);
	return (pid_t)rn_file_number(path);
}

/* Enters the namespace @name (such as "net") of process @pid, unless this process is in
 * it already. Returns 0 or -errno.
 */
static int enter_namespace(pid_t pid, const char *name, int flag)
{
	char theirs[64], ours[64];
	struct stat a, b;
	int fd, rc = 0;

	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int)pid, name);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	if (stat(theirs, &a) || stat(ours, &b))
		return -errno;
	if (a.st_ino == b.st_ino)
		return 0;
	fd = open(theirs, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, flag))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Enters the namespaces of the lab that `rocin lab' with process id @outside has made. A
 * process cannot change its own PID namespace, so the function forks a child into the
 * namespace of the lab. It returns only in the child, with 0 or -errno; the calling
 * process waits for the child and ends with its status.
 */
static int go_inside(pid_t outside)
{
	pid_t lab = find_lab(outside), pid;
	char dir[PATH_MAX];
	int rc, status;

	if (lab < 0 || !getcwd(dir, sizeof(dir)))
		return -ESRCH;
	rc = enter_namespace(lab, "user", CLONE_NEWUSER);
	if (!rc)
		rc = enter_namespace(lab, "pid_for_children", CLONE_NEWPID);
	if (!rc)
		rc = enter_namespace(lab, "mnt", CLONE_NEWNS);
	if (rc)
		return rc;
	(void)!chdir(dir);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return 0;
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* -------------------------------------------------------------- calls inside of a lab */
static int compare_line(void *name, char *line, unsigned number)
{
	(void)number;
	return strcmp(line, name) == 0 ? 1 : 2;
}

static bool is_called(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	return rn_file_lines(path, compare_line, (void *)name) == 1;
}

/* Returns the number of hosts of the lab in which this process is, or 0 if this process
 * is in no lab. Counts the keepers, the sleeping processes of the hosts (lab.h); their
 * process ids are the same in every lab.
 */
static unsigned count_hosts(void)
{
	unsigned n = 0;
	char name[16];

	if (!is_called(1, "rocin lab"))
		return 0;
	for (; n < RN_LAB_HOSTS_MAX; n++) {
		snprintf(name, sizeof(name), "lab h%u", n + 1);
		if (!is_called(rn_lab_keeper_pid(n), name))
			break;
	}
	return n;
}

/* Returns the number of the host with this name, or -1 if there is none. Accepts
 * "user@h2" for "h2", as ssh does.
 */
static int find_host(const char *name, unsigned hosts)
{
	const char *at = strrchr(name, '@');
	char here[64] = "";

	if (at)
		name = at + 1;
	if (!strcmp(name, "localhost") && gethostname(here, sizeof(here) - 1) == 0)
		name = here;
	return rn_lab_host_number(name, hosts);
}

/* Joins the words to a command line, with spaces between them, as ssh does. Returns
 * memory that the caller must free, or NULL if there is no memory.
 */
static char *join_words(char **words)
{
	size_t len = 1, at = 0;
	char *line;

	for (char **w = words; *w; w++)
		len += strlen(*w) + 1;
	line = calloc(1, len);
	for (char **w = words; *w && line; w++)
		at += (size_t)snprintf(line + at, len - at, "%s%s", at ? " " : "", *w);
	return line;
}

static int run_shell(const struct exec_args *args)
{
	const char *shell = getenv("SHELL");
	char *line = join_words(args->words);
	int null;

	if (!line) {
		rn_complain("out of memory");
		return RN_EXIT_FAILURE;
	}
	if (!shell || access(shell, X_OK))
		shell = "/bin/sh";
	if (args->no_input && (null = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		dup2(null, STDIN_FILENO);
	execl(shell, shell, *line ? "-c" : NULL, line, NULL);
	rn_complain("%s: %s", shell, strerror(errno));
	free(line);
	return RN_EXIT_CANNOT_RUN;
}

int rn_cmd_lab_exec(int argc, char **argv)
{
	static struct rn_launch launch;
	struct rn_run_settings settings = { .netdevs = getenv("ROCIN_NETDEVS") };
	struct rn_lab_args lab = { 0 };
	struct exec_args args = { 0 };
	char err[512];
	int host, rc, status;

	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args))
		return RN_EXIT_USAGE;
	rc = args.lab ? go_inside(args.lab) : 0;
	if (rc) {
		rn_complain("the lab of process %d cannot be entered: %s", (int)args.lab,
			    strerror(-rc));
		return RN_EXIT_FAILURE;
	}
	lab.hosts = count_hosts();
	host = find_host(args.host, lab.hosts);
	if (host < 0) {
		if (lab.hosts)
			rn_complain("\"%s\" is none of the hosts h1 to h%u of this lab",
				    args.host, lab.hosts);
		else
			rn_complain("this is no host of a lab; start it by rocin lab, or "
				    "give --lab=PID");
		return RN_EXIT_FAILURE;
	}
	if (!settings.netdevs)
		settings.netdevs = RN_LAB_INTERFACE;
	status = rn_lab_host_become(&lab, (unsigned)host, err, sizeof(err))
			 ? RN_EXIT_FAILURE
			 : rn_run_settings_apply(&settings, &launch, err, sizeof(err));
	if (status) {
		rn_complain("%s", err);
		return status;
	}
	if (geteuid() != 0)
		(void)rn_lab_keep_capabilities();
	return run_shell(&args);
}
