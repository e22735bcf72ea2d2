/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_extcap.c - `rocin extcap`: makes the devices available as interfaces in Wireshark.
 *
 * Wireshark runs each program in its extcap directory, with an option for each question,
 * and reads the answer from standard output, in the format of extcap(4). To capture, it
 * runs the program once more, which then writes packets to a FIFO. To install the
 * command, a link named rocin in the extcap directory suffices: main() recognises the
 * options of extcap(4).
 *
 * Source: extcap(4) and doc/extcap_example.py of Wireshark 4.0.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "rocin/netdev.h"
#include "rocin/types.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/host/log.h"
#include "transport/io/rocind/rocind_client.h"
#include "transport/io/rocind/stats_pages.h"

/* ----------------------------------------------------------------- link for Wireshark */
/* The extcap directory of the user has a link to this program, by which Wireshark finds
 * it. The path of that directory depends on version and settings of Wireshark, so this
 * code runs wireshark or tshark, which print it.
 */

#define LINK_NAME "rocin"

/* Paths of directories, as Wireshark prints them. */
struct folders {
	char personal[PATH_MAX]; /* the user's extcap directory; empty: not printed */
	char config[PATH_MAX];
	char system[PATH_MAX]; /* the extcap directory of the Wireshark installation */
};

static void take_line(struct folders *f, char *line)
{
	const struct {
		const char *name;
		char *path;
	} wanted[] = {
		{ "Personal Extcap path:", f->personal }, /* since Wireshark 4.2 */
		{ "Personal configuration:", f->config },
		{ "Extcap path:", f->system },
		{ "Global Extcap path:", f->system }, /* since Wireshark 4.2 */
	};

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < RN_ARRAY_SIZE(wanted); i++) {
		size_t len = strlen(wanted[i].name);

		if (strncmp(line, wanted[i].name, len) == 0)
			snprintf(wanted[i].path, PATH_MAX, "%s",
				 line + len + strspn(line + len, " \t"));
	}
}

/* Starts @program with options that make it print its directories. Returns its process
 * id, and sets *@from to a stream that reads its standard output. Returns -1 on failure.
 */
static pid_t start_program(char *program, FILE **from)
{
	char option[] = "-G", what[] = "folders";
	char *argv[] = { program, option, what, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
					 0);
	*from = fdopen(fds[0], "r");
	if (*from && posix_spawnp(&pid, program, &actions, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (!*from)
		close(fds[0]);
	else if (pid < 0)
		(void)fclose(*from);
	return pid;
}

static bool read_folders(char *program, struct folders *f)
{
	char line[PATH_MAX + 100];
	FILE *answer;
	pid_t pid = start_program(program, &answer);

	if (pid < 0)
		return false;
	while (fgets(line, sizeof(line), answer))
		take_line(f, line);
	(void)fclose(answer);
	waitpid(pid, NULL, 0);
	return f->config[0] == '/';
}

/* Finds the user's extcap directory, and the path of the link to this program in it. */
static int find_place(struct folders *f, char *dir, char *link, char *text, size_t len)
{
	char tshark[] = "tshark", wireshark[] = "wireshark";

	*f = (struct folders){ 0 };
	if (!read_folders(tshark, f) && !read_folders(wireshark, f))
		return rn_fail(text, len, -ENOENT,
			       "neither tshark nor wireshark says where extcap programs "
			       "belong; install one of them");
	if (f->personal[0] == '/'
		    ? snprintf(dir, PATH_MAX, "%s", f->personal) >= PATH_MAX
		    : snprintf(dir, PATH_MAX, "%s/extcap", f->config) >= PATH_MAX)
		return rn_fail(text, len, -ENAMETOOLONG, "%s: name too long", f->config);
	if (snprintf(link, PATH_MAX, "%s/" LINK_NAME, dir) >= PATH_MAX)
		return rn_fail(text, len, -ENAMETOOLONG, "%s: name too long", dir);
	return 0;
}

static int make_directories(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *slash = path; slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (slash)
			*slash = '/';
	}
	return 0;
}

/* Checks that the path is free for a new link: nothing is there, or an old link, which
 * will be replaced. Returns 0, or -errno with an error text in @text.
 */
static int check_old(const char *link, char *text, size_t len)
{
	struct stat st;

	if (lstat(link, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	return rn_fail(text, len, -EEXIST, "%s is no link: it was left as it is", link);
}

static int replace_link(const char *self, const char *link)
{
	char temp[PATH_MAX];

	if (snprintf(temp, sizeof(temp), "%s.%d", link, getpid()) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	if (symlink(self, temp) < 0)
		return -errno;
	if (rename(temp, link) == 0)
		return 0;
	unlink(temp);
	return -errno;
}

static bool is_installed(const struct folders *f, char *path)
{
	return f->system[0] == '/' &&
	       snprintf(path, PATH_MAX, "%s/" LINK_NAME, f->system) < PATH_MAX &&
	       access(path, X_OK) == 0;
}

/* Installs the link to this program in Wireshark's directory. Writes a sentence to @text
 * that says what was done, or why it failed. Returns 0 or -errno.
 */
static int install_link(char *text, size_t len)
{
	char dir[PATH_MAX], link[PATH_MAX], self[PATH_MAX];
	struct folders f;
	int rc = find_place(&f, dir, link, text, len);

	if (rc)
		return rc;
	if (is_installed(&f, self)) {
		snprintf(text, len, "%s is there: Wireshark finds it, and needs no link",
			 self);
		return 0;
	}
	if (!realpath("/proc/self/exe", self))
		return rn_fail(text, len, -errno, "/proc/self/exe: %m");
	rc = check_old(link, text, len);
	if (rc)
		return rc;
	rc = make_directories(dir);
	if (!rc)
		rc = replace_link(self, link);
	if (rc)
		return rn_fail(text, len, rc, "%s cannot be made: %m", link);
	snprintf(text, len,
		 "%s is a link to %s; Wireshark shows Rocin's devices when it looks for "
		 "interfaces again (F5)",
		 link, self);
	return 0;
}

static int remove_link(char *text, size_t len)
{
	char dir[PATH_MAX], link[PATH_MAX];
	struct folders f;
	int rc = find_place(&f, dir, link, text, len);

	if (!rc)
		rc = check_old(link, text, len);
	if (rc)
		return rc;
	if (unlink(link) == 0)
		snprintf(text, len, "%s was removed", link);
	else if (errno == ENOENT)
		snprintf(text, len, "%s is not there", link);
	else
		rc = rn_fail(text, len, -errno, "%s cannot be removed: %m", link);
	return rc;
}

/* ------------------------------------------------------ options of the command line */
/* Name of the interface that captures all devices. */
#define ALL "rocin"

enum {
	KEY_INTERFACES = 0x100,
	KEY_VERSION,
	KEY_DLTS,
	KEY_CONFIG,
	KEY_RELOAD,
	KEY_INTERFACE,
	KEY_FILTER,
	KEY_CAPTURE,
	KEY_FIFO,
	KEY_PID,
	KEY_QP,
	KEY_SNAPLEN,
	KEY_BUFFER,
	KEY_INSTALL,
	KEY_REMOVE,
};

struct extcap_args {
	bool interfaces, dlts, config, capture, install, remove;
	const char *interface, *filter, *fifo, *reload;
	/* values of options that are passed on to `rocin capture' */
	const char *pid, *qp, *snaplen, *buffer;
};

static const struct argp_option options[] = {
	{ "install", KEY_INSTALL, NULL, 0,
	  "Make Wireshark find this program, by a link in your extcap directory", 0 },
	{ "remove", KEY_REMOVE, NULL, 0, "Take that link away", 0 },
	{ NULL, 0, NULL, 0, "What Wireshark asks:", 1 },
	{ "extcap-interfaces", KEY_INTERFACES, NULL, 0, "List interfaces: the devices",
	  1 },
	{ "extcap-version", KEY_VERSION, "VERSION", OPTION_ARG_OPTIONAL,
	  "Of Wireshark: any will do", 1 },
	{ "extcap-interface", KEY_INTERFACE, "INTERFACE", 0, "Which one", 1 },
	{ "extcap-dlts", KEY_DLTS, NULL, 0, "Tell its link type", 1 },
	{ "extcap-config", KEY_CONFIG, NULL, 0, "Tell its options", 1 },
	{ "extcap-reload-option", KEY_RELOAD, "OPTION", 0, "Of these, one list anew", 1 },
	{ "extcap-capture-filter", KEY_FILTER, "EXPRESSION", 0,
	  "Say what is wrong with this filter, or capture what passes it", 1 },
	{ "capture", KEY_CAPTURE, NULL, 0, "Capture", 1 },
	{ "fifo", KEY_FIFO, "FILE", 0, "Where to", 1 },
	{ "pid", KEY_PID, "PID", 0, "This process alone; 0: every one", 1 },
	{ "qp", KEY_QP, "N", 0, "This queue pair alone, at either end", 1 },
	{ "snaplen", KEY_SNAPLEN, "BYTES", 0, "So much of each packet", 1 },
	{ "buffer", KEY_BUFFER, "KIB", 0, "Memory for packets, for each program", 1 },
	{ 0 },
};

/* Returns @arg, or NULL if it is empty: an empty field of Wireshark's dialog means that
 * the option is not given.
 */
static const char *text_or_null(const char *arg)
{
	return *arg ? arg : NULL;
}

static error_t parse_value(int key, char *arg, struct extcap_args *args)
{
	switch (key) {
	case KEY_INTERFACE:
		args->interface = text_or_null(arg);
		return 0;
	case KEY_FILTER:
		args->filter = arg;
		return 0;
	case KEY_FIFO:
		args->fifo = text_or_null(arg);
		return 0;
	case KEY_RELOAD:
		args->reload = text_or_null(arg);
		return 0;
	case KEY_PID:
		args->pid = strcmp(arg, "0") == 0 ? NULL : text_or_null(arg);
		return 0;
	case KEY_QP:
		args->qp = text_or_null(arg);
		return 0;
	case KEY_SNAPLEN:
		args->snaplen = text_or_null(arg);
		return 0;
	case KEY_BUFFER:
		args->buffer = text_or_null(arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_args(const struct extcap_args *args, struct argp_state *state)
{
	bool needs_interface = args->dlts || args->config || args->capture;

	if (args->install + args->remove > 1)
		argp_error(state, "--install or --remove, not both");
	if (!needs_interface && !args->interfaces && !args->filter && !args->install &&
	    !args->remove)
		argp_error(state,
			   "this is for Wireshark; --install makes it known there");
	if (needs_interface && !args->interface)
		argp_error(state, "--extcap-interface is missing");
	if (args->capture && !args->fifo)
		argp_error(state, "--capture needs --fifo");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct extcap_args *args = state->input;

	switch (key) {
	case KEY_INTERFACES:
		args->interfaces = true;
		return 0;
	case KEY_VERSION:
		return 0;
	case KEY_DLTS:
		args->dlts = true;
		return 0;
	case KEY_CONFIG:
		args->config = true;
		return 0;
	case KEY_CAPTURE:
		args->capture = true;
		return 0;
	case KEY_INSTALL:
		args->install = true;
		return 0;
	case KEY_REMOVE:
		args->remove = true;
		return 0;
	case ARGP_KEY_END:
		check_args(args, state);
		return 0;
	default:
		return parse_value(key, arg, args);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Show the Rocin devices in Wireshark's list of interfaces, as an extcap "
	       "program.",
};

/* ------------------------------------------------------ answer about the interfaces */
/* Lists the programs that have opened a Rocin device; the list may be empty. */
static void find_programs(struct rn_stats_list *list)
{
	struct rn_rocind *rocind = rn_rocind_connect_running(NULL, 0);

	*list = (struct rn_stats_list){ 0 };
	if (rocind)
		(void)rn_stats_gather(rocind, list, NULL, 0);
	rn_rocind_close(rocind);
}

static void print_interface(const char *device, const char *ifname)
{
	printf("interface {value=%s}{display=RDMA device on %s}\n", device, ifname);
}

/* Returns true if the device of entry @at of @programs has not been listed yet: it is in
 * no earlier entry, and not in @devs. A program may have opened a device that is not in
 * @devs if it was started with another ROCIN_NETDEVS than this process.
 */
static bool is_new(const struct rn_netdev *devs, int count,
		   const struct rn_stats_list *programs, size_t at)
{
	const char *device = programs->client[at].id.ibdev;

	for (int i = 0; i < count; i++)
		if (strcmp(devs[i].ibdev, device) == 0)
			return false;
	for (size_t i = 0; i < at; i++)
		if (strcmp(programs->client[i].id.ibdev, device) == 0)
			return false;
	return true;
}

static void print_interfaces(void)
{
	static struct rn_netdev devs[RN_NETDEV_MAX];
	struct rn_stats_list programs;
	int count =
		rn_netdev_discover(getenv("ROCIN_NETDEVS"), devs, RN_NETDEV_MAX, NULL, 0);

	puts("extcap {version=" ROCIN_VERSION "}{display=Rocin}");
	puts("interface {value=" ALL "}{display=RDMA devices of all programs}");
	for (int i = 0; i < count; i++)
		print_interface(devs[i].ibdev, devs[i].ifname);
	puts("interface {value=rocind}{display=RDMA connection manager (QP 1)}");
	find_programs(&programs);
	for (size_t i = 0; i < programs.count; i++)
		if (is_new(devs, count, &programs, i))
			print_interface(programs.client[i].id.ibdev,
					programs.client[i].id.ifname);
	rn_stats_list_free(&programs);
}

/* ---------------------------------------- answers about the options of an interface */
static void print_dlts(void)
{
	printf("dlt {number=%d}{name=LINUX_SLL}{display=Linux cooked mode}\n",
	       RN_CAPTURE_LINK_TYPE);
}

/* Prints a name. Replaces the characters that have a meaning in Wireshark's format by
 * question marks.
 */
static void print_name(const char *name)
{
	for (; *name; name++)
		putchar(strchr("{}\\\n", *name) ? '?' : *name);
}

/* Prints the values of option number @arg, which Wireshark's dialog shows as a list: the
 * programs that have opened the device @interface.
 */
static void print_processes(const char *interface, int arg)
{
	struct rn_stats_list programs;

	printf("value {arg=%d}{value=0}{display=all}{default=true}\n", arg);
	find_programs(&programs);
	for (size_t i = 0; i < programs.count; i++) {
		const struct rn_stats_client *c = &programs.client[i];

		if (strcmp(interface, ALL) != 0 && strcmp(interface, c->id.ibdev) != 0)
			continue;
		printf("value {arg=%d}{value=%" PRId32 "}{display=", arg, c->id.pid);
		print_name(c->copy.page.comm);
		printf(", process %" PRId32 ", %s}\n", c->id.pid, c->id.ibdev);
	}
	rn_stats_list_free(&programs);
}

static void print_config(const struct extcap_args *args)
{
	if (args->reload) {
		if (strcmp(args->reload, "pid") == 0)
			print_processes(args->interface, 0);
		return;
	}
	puts("arg {number=0}{call=--pid}{display=Process}{type=selector}"
	     "{tooltip=Packets of this process alone}{reload=true}"
	     "{placeholder=Look again}{save=false}");
	puts("arg {number=1}{call=--qp}{display=Queue pair}{type=string}"
	     "{tooltip=Packets to or from the queue pair with this number, "
	     "at either end, e.g. 0x1201}"
	     "{validation=^(0[xX][0-9a-fA-F]+|[0-9]*)$}{save=false}");
	puts("arg {number=2}{call=--snaplen}{display=Bytes of each packet}{type=unsigned}"
	     "{range=1,65535}{tooltip=What is longer is cut}");
	printf("arg {number=3}{call=--buffer}{display=Buffer (KiB)}{type=unsigned}"
	       "{range=%d,%d}{default=32768}{tooltip=Memory for packets on their way, "
	       "for each program}\n",
	       RN_CAPTURE_SIZE_MIN >> 10, RN_CAPTURE_SIZE_MAX >> 10);
	print_processes(args->interface, 0);
}

/* Checks a capture filter that the user has typed into Wireshark. Prints an error text if
 * it is wrong, and nothing if it is correct.
 */
static int judge_filter(const char *text)
{
	char why[256];
	struct rn_capture_filter_code *f = rn_capture_filter_new(text, why, sizeof(why));

	if (!f)
		puts(why);
	rn_capture_filter_free(f);
	return 0;
}

/* --------------------------- capturing for Wireshark, and the command's entry point */
static int capture(const struct extcap_args *args)
{
	char name[] = "rocin extcap", quiet[] = "--quiet";
	const struct {
		const char *option, *value;
	} all[] = {
		{ "--write", args->fifo },
		{ "--device",
		  strcmp(args->interface, ALL) == 0 ? NULL : args->interface },
		{ "--pid", args->pid },
		{ "--qp", args->qp },
		{ "--snaplen", args->snaplen },
		{ "--buffer", args->buffer },
		{ "--filter", args->filter ? text_or_null(args->filter) : NULL },
	};
	char *argv[2 + 2 * RN_ARRAY_SIZE(all) + 1] = { name, quiet };
	int argc = 2;

	for (size_t i = 0; i < RN_ARRAY_SIZE(all); i++) {
		if (!all[i].value)
			continue;
		argv[argc++] = (char *)all[i].option;
		argv[argc++] = (char *)all[i].value;
	}
	return rn_cmd_capture(argc, argv);
}

static int link_command(int (*what)(char *text, size_t len))
{
	char text[2 * PATH_MAX + 200];
	int rc = what(text, sizeof(text));

	if (rc) {
		rn_complain("%s", text);
		return RN_EXIT_FAILURE;
	}
	puts(text);
	return 0;
}

int rn_cmd_extcap(int argc, char **argv)
{
	struct extcap_args args = { 0 };

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.install)
		return link_command(install_link);
	if (args.remove)
		return link_command(remove_link);
	if (args.capture)
		return capture(&args);
	if (args.interfaces)
		print_interfaces();
	else if (args.dlts)
		print_dlts();
	else if (args.config)
		print_config(&args);
	else
		return judge_filter(args.filter);
	return 0;
}

bool rn_is_extcap(const char *arg)
{
	return strncmp(arg, "--extcap-", 9) == 0 || strcmp(arg, "--capture") == 0 ||
	       strcmp(arg, "--fifo") == 0;
}
