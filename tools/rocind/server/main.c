/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - the program rocind, which owns UDP port 4791 for the rocin devices of
 * one user.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "transport/io/host/log.h"

enum {
	IDLE_MS_DEFAULT = 10000,
	IDLE_MS_MAX = 999999999, /* maximum of --idle-ms: eleven and a half days */
	OPT_IDLE_MS = 0x100,
	OPT_READY_FD,
	OPT_REPLACE,
};

struct options {
	bool foreground;
	bool replace;
	uint32_t idle_ms;
	const char *idle_text; /* argument of --idle-ms on the command line, or NULL */
	/* Descriptor of a pipe to the process that has started rocind and waits for the
	 * result. -1: no process waits.
	 */
	int ready_fd;
};

/* clang-format off */
static const struct argp_option option_list[] = {
	{ "foreground", 'f', NULL, 0, "Stay attached to the terminal; Control-C ends it", 0 },
	{ "idle-ms", OPT_IDLE_MS, "N", 0,
	  "End after N milliseconds without clients; 0 never (default 10000)", 0 },
	{ "replace", OPT_REPLACE, NULL, 0,
	  "Go on in place of the rocind that runs, without a gap for its programs", 0 },
	{ "ready-fd", OPT_READY_FD, "FD", OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};
/* clang-format on */

static unsigned parse_number(const char *text, unsigned long max,
			     struct argp_state *state)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value > max)
		argp_error(state, "\"%s\" is not a number from 0 to %lu", text, max);
	return (unsigned)value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'f':
		options->foreground = true;
		return 0;
	case OPT_IDLE_MS:
		options->idle_ms = parse_number(arg, IDLE_MS_MAX, state);
		options->idle_text = arg;
		return 0;
	case OPT_REPLACE:
		options->replace = true;
		return 0;
	case OPT_READY_FD:
		options->ready_fd = (int)parse_number(arg, INT32_MAX, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_list,
	.parser = parse_option,
	.doc = "Hold UDP port 4791 for the rocin devices of this user and hand its "
	       "packets to "
	       "the programs they are for.\vIt is started on demand and ends by itself; "
	       "there "
	       "is no need to run it by hand. Without --foreground it goes into the "
	       "background. The environment variables ROCIN_RUNTIME_DIR and ROCIN_LOG "
	       "are "
	       "honoured.",
};

static void print_version(FILE *stream, struct argp_state *state)
{
	(void)state;
	fprintf(stream, "rocind %s\n", ROCIN_VERSION);
}

/* Makes sure that a rocind runs in the background, by connecting to it as a client does:
 * rn_rocind_connect() starts one if none runs.
 */
static int go_into_background(const struct options *options)
{
	struct rn_rocind_status status = { 0 };
	char self[PATH_MAX], why[512];
	struct rn_rocind *r;
	int rc;

	if (!realpath("/proc/self/exe", self)) {
		fprintf(stderr, "rocind: /proc is needed to go into the background\n");
		return EXIT_FAILURE;
	}
	if (options->idle_text)
		setenv("ROCIN_IDLE_MS", options->idle_text, 1);
	r = rn_rocind_connect(self, why, sizeof(why));
	rc = r ? rn_rocind_status(r, &status, why, sizeof(why)) : -errno;
	rn_rocind_close(r);
	if (rc) {
		fprintf(stderr, "rocind: %s\n", why);
		return EXIT_FAILURE;
	}
	printf("rocind %s runs as process %d\n", status.version, status.pid);
	return EXIT_SUCCESS;
}

/* Reports to the process that waits for the start of rocind. @words: an empty line ("\n")
 * after success, or an error message.
 */
static void report_start(int ready_fd, const char *words)
{
	if (write(ready_fd, words, strlen(words)) < 0)
		rn_log(RN_LOG_WARN, "whoever started this has gone: %m");
	close(ready_fd);
}

/* Returns true if this rocind must have a keeper (a process that starts a successor if
 * rocind dies). In the foreground it has none, because there the process that has started
 * rocind looks after it.
 */
static bool wants_keeper(const struct options *options)
{
	const char *setting = getenv("ROCIN_KEEPER");

	return !options->foreground && !(setting && strcmp(setting, "no") == 0);
}

static int run_server(const struct options *options)
{
	static struct rnd_server server;
	char why[512];
	int rc;

	rnd_process_prepare();
	rc = rnd_server_open(&server, options->idle_ms, why, sizeof(why));
	if (rc)
		rn_log(RN_LOG_INFO, "%s", why);
	/* -EALREADY: another rocind has started meanwhile, so the caller has one. */
	if (options->ready_fd >= 0)
		report_start(options->ready_fd, rc == 0 || rc == -EALREADY ? "\n" : why);
	else if (rc)
		fprintf(stderr, "rocind: %s\n", why);
	if (rc)
		return rc == -EALREADY && !options->foreground ? EXIT_SUCCESS
							       : EXIT_FAILURE;
	server.awaits_starter = options->ready_fd >= 0;
	server.hand_over = options->foreground ? NULL : rnd_replace_hand_over;
	if (wants_keeper(options))
		rnd_server_start_keeper(&server);
	rnd_server_run(&server);
	rnd_server_close(&server);
	return EXIT_SUCCESS;
}

/* ---- Taking over from a running rocind ---- */

/* Main function of a rocind that takes over from a running one. @say: the pipe to which
 * it writes the result.
 */
static int serve_instead(const struct options *options, int say)
{
	static struct rnd_server server;
	char why[512], result[600];
	int rc, predecessor = 0;

	setsid();
	rnd_process_detach(say);
	rnd_process_prepare();
	rc = rnd_replace_running(&server, &predecessor, why, sizeof(why));
	if (rc == 0)
		snprintf(result, sizeof(result),
			 "=rocind %s goes on as process %d in place of process %d\n",
			 ROCIN_VERSION, (int)getpid(), predecessor);
	else
		snprintf(result, sizeof(result), "%s\n", why);
	server.hand_over = rnd_replace_hand_over;
	if (rc == 0 && wants_keeper(options))
		rnd_server_start_keeper(&server);
	if (rc == 0 && options->idle_text)
		server.idle_ms = options->idle_ms;
	report_start(say,
		     rc == -ENOENT ? "=no rocind runs; nothing is replaced\n" : result);
	/* The running rocind goes on, and still uses the objects that were restored here.
	 * So this process ends without cleaning them up.
	 */
	if (rc)
		_exit(EXIT_FAILURE);
	rnd_server_run(&server);
	rnd_server_close(&server);
	return EXIT_SUCCESS;
}

/* Starts the process that takes over, with /dev/null as its standard files. Prints the
 * report of that process, which begins with "=" after success, and is an error text
 * otherwise. Returns the exit status.
 */
static int replace(const struct options *options)
{
	char words[600] = "";
	int ends[2], null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	ssize_t len;
	pid_t pid;

	if (null_fd < 0 || pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		fprintf(stderr, "rocind: no process can be started: %m\n");
		return EXIT_FAILURE;
	}
	if (pid == 0) {
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			dup2(null_fd, fd);
		exit(serve_instead(options, ends[1]));
	}
	close(ends[1]);
	len = read(ends[0], words, sizeof(words) - 1);
	if (len > 0 && words[0] == '=') {
		fputs(words + 1, stdout);
		return EXIT_SUCCESS;
	}
	fprintf(stderr, "rocind: %s",
		len > 0 ? words : "it ended before it said a word\n");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct options options = { .idle_ms = IDLE_MS_DEFAULT, .ready_fd = -1 };

	argp_program_version_hook = print_version;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return EXIT_FAILURE;
	/* A service manager has started this process and wants it to stay in the
	 * foreground.
	 */
	if (rnd_is_activated())
		options.foreground = true;
	if (options.replace)
		return replace(&options);
	if (options.ready_fd < 0 && !options.foreground)
		return go_into_background(&options);
	if (options.ready_fd >= 0)
		rnd_process_detach(options.ready_fd);
	return run_server(&options);
}
