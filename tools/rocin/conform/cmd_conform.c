/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_conform.c - `rocin conform': runs conformance scenarios, packet-level tests of a
 * RoCEv2 device.
 */
#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"
#include "report.h"
#include "sim/scenario/virtual.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/launch.h"
#include "tools/rocin/common/progress.h"

/* --------------------------------------------------- running the scenarios of files */
enum {
	FILE_MAX = 1 << 16, /* maximum size of a scenario file in bytes */
};

static int add_case(struct rn_conform *c, const char *file, const struct rn_scenario *s,
		    const struct rn_scene_result *result)
{
	struct rn_conform_case *more = realloc(c->run, (c->count + 1) * sizeof(*c->run));
	struct rn_conform_case *new;

	if (!more)
		return -ENOMEM;
	c->run = more;
	new = &c->run[c->count];
	*new = (struct rn_conform_case){ .file = strdup(file), .rules = s->rules };
	if (!new->file)
		return -ENOMEM;
	memcpy(new->title, s->title, sizeof(new->title));
	memcpy(new->rule, s->rule, sizeof(new->rule));
	new->result = *result;
	c->count++;
	if (c->live && rn_conform_has_failed(new))
		new->trace = strdup(rn_live_target_trace(c->live));
	return c->live && rn_conform_has_failed(new) && !new->trace ? -ENOMEM : 0;
}

/* Evaluates scenario @k, which has just run: counts it and, if it has failed, looks its
 * failure up in the profile (the list of known deviations of the device).
 */
static void judge_case(struct rn_conform *c, struct rn_conform_case *k, double seconds)
{
	bool failed = rn_conform_has_failed(k);

	k->deviation = RN_EXPECT_NONE;
	k->seconds = seconds;
	if (failed)
		rn_conform_signature(&k->result, k->signature, sizeof(k->signature));
	if (!k->result.skipped)
		k->deviation =
			rn_expect_note(&c->expect, k->file, failed ? k->signature : NULL);
	c->seconds += seconds;
	c->skipped += k->result.skipped;
	c->expected += failed && k->deviation != RN_EXPECT_NONE;
	c->failed += failed && k->deviation == RN_EXPECT_NONE;
	c->slowly += k->result.slowly;
}

static void show_progress(const struct rn_conform *c)
{
	const struct rn_conform_case *k = &c->run[c->count - 1];

	fprintf(stderr, "%zu of %zu: %s: %s\n", c->count, c->files, k->file,
		k->result.skipped		 ? "skipped"
		: k->result.passed		 ? "passed"
		: k->deviation != RN_EXPECT_NONE ? "failed, as expected"
						 : "failed");
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_scenario(const struct rn_scenario *s, const struct rn_scene_ops *ops,
			 void *ctx, struct rn_scene_result *result)
{
	rn_scene_run(s, ops, ctx, result);
	if (result->passed || result->skipped || result->lost || !ops->slower)
		return;
	rn_scene_run(s, ops->slower, ctx, result);
	result->slowly = result->passed;
}

/* Changes the result of a scenario to "skipped". Called if a packet was too long for the
 * path to the device, because the result then says nothing about the device.
 */
static void skip_result(struct rn_scene_result *r)
{
	*r = (struct rn_scene_result){ .skipped = true };
	snprintf(r->what, sizeof(r->what),
		 "its packets are longer than what the way to the device takes");
}

/* Reads a scenario, which the caller must free. Returns NULL after an error message. */
static struct rn_scenario *read_scenario(const char *file)
{
	struct rn_scenario *s = malloc(sizeof(*s));
	struct rn_scn_error err;
	char *text = NULL;
	ssize_t len = s ? rn_file_read(file, FILE_MAX, &text) : -ENOMEM;
	int rc = len < 0 ? (int)len : rn_scenario_parse(s, text, (size_t)len, &err);

	if (len < 0)
		rn_complain("%s: %s", file, strerror(-rc));
	else if (rc)
		rn_complain("%s:%u:%u: %s", file, err.line, err.column, err.sentence);
	free(text);
	if (rc) {
		free(s);
		s = NULL;
	}
	return s;
}

static int run_file(struct rn_conform *c, const char *file,
		    const struct rn_scene_ops *ops, void *ctx)
{
	struct rn_scenario *s = read_scenario(file);
	struct rn_scene_result result;
	double began = now_s();
	int rc = s ? 0 : -EINVAL;

	if (!rc) {
		run_scenario(s, ops, ctx, &result);
		if (c->live && rn_live_target_was_too_long(c->live))
			skip_result(&result);
		rc = add_case(c, file, s, &result);
	}
	if (!rc)
		judge_case(c, &c->run[c->count - 1], now_s() - began);
	/* clang-analyzer reports a leak in this line, because it does not see that @c
	 * owns the cases.
	 */
	if (!rc && c->progress) // NOLINT(clang-analyzer-unix.Malloc)
		show_progress(c);
	if (!rc && c->live && rn_live_target_is_gone(c->live))
		rc = -EPIPE;
	free(s);
	return rc;
}

static bool is_scenario(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && !strcmp(name + len - 4, ".scn");
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int add_file(struct rn_conform *c, const char *path)
{
	char **more = realloc(c->file, (c->files + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	c->file = more;
	c->file[c->files] = strdup(path);
	return c->file[c->files++] ? 0 : -ENOMEM;
}

/**
 * list_tree() - Add a file, or every *.scn file below a directory, to the list of files
 *
 * The files are added in the order of their names.
 *
 * Return: 0, or -errno after an error message.
 */
static int list_tree(struct rn_conform *c, const char *path)
{
	char *paths[] = { strdup(path), NULL };
	FTS *tree = paths[0] ? fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name) : NULL;
	size_t before = c->files;
	FTSENT *e;
	int rc = tree ? 0 : -errno;

	while (!rc && (e = fts_read(tree))) {
		if (e->fts_info == FTS_F &&
		    (e->fts_level == FTS_ROOTLEVEL || is_scenario(e->fts_name)))
			rc = add_file(c, e->fts_path);
		else if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR ||
			 e->fts_info == FTS_ERR) {
			rc = -e->fts_errno;
			rn_complain("%s: %s", e->fts_path, strerror(-rc));
		}
	}
	if (tree)
		fts_close(tree);
	free(paths[0]);
	if (!rc && c->files == before) {
		rn_complain("%s: no scenario, *.scn", path);
		rc = -ENOENT;
	}
	return rc;
}

/* ---------------------------------------------------------------- the list of rules */
static int add_rule(struct rn_conform *c, const char *at, size_t len)
{
	char **more = realloc(c->rule, (c->rule_count + 1) * sizeof(char *));

	if (!more)
		return -ENOMEM;
	c->rule = more;
	c->rule[c->rule_count] = strndup(at, len);
	return c->rule[c->rule_count++] ? 0 : -ENOMEM;
}

/* Adds the rule that a line of a Markdown table describes: a line "| B5 | ..." describes
 * rule B5.
 */
static int rule_of_line(struct rn_conform *c, const char *line, const char *end)
{
	const char *at = line + 2, *to;

	if (end - line < 5 || strncmp(line, "| ", 2) != 0 || !isupper((unsigned char)*at))
		return 0;
	for (to = at + 1; to < end && isdigit((unsigned char)*to);)
		to++;
	if (to == at + 1 || to >= end || *to != ' ')
		return 0;
	return add_rule(c, at, (size_t)(to - at));
}

/* Reads the names of rules from the first columns of the tables in a Markdown file.
 * Returns 0, or -errno after an error message.
 */
static int read_rules(struct rn_conform *c, const char *path)
{
	char *text = NULL;
	ssize_t len = rn_file_read(path, 1 << 20, &text);
	int rc = len < 0 ? (int)len : 0;

	for (char *line = text; !rc && line < text + len;) {
		char *newline = memchr(line, '\n', (size_t)(text + len - line));
		char *end = newline ? newline : text + len;

		rc = rule_of_line(c, line, end);
		line = end + 1;
	}
	if (!rc && !c->rule_count)
		rc = -ENOMSG;
	if (rc)
		rn_complain("%s: %s", path,
			    rc == -ENOMSG ? "no table with rules" : strerror(-rc));
	free(text);
	return rc;
}

static void free_cases(struct rn_conform *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->run[i].file);
		free(c->run[i].trace);
	}
	for (size_t i = 0; i < c->files; i++)
		free(c->file[i]);
	for (size_t i = 0; i < c->rule_count; i++)
		free(c->rule[i]);
	rn_expect_free(&c->expect);
	free(c->run);
	free(c->file);
	free(c->rule);
	*c = (struct rn_conform){ 0 };
}

/* ----------------------------------- options, reports and the command's entry point */
enum {
	/* exit status: a file cannot be parsed, or the target cannot be reached */
	EXIT_NOT_READ = 2,
	SLACK_MS = 2000,
	CALL_MS = 10000,
	SLACK_MAX_MS = 600000,
	LONGEST_S = 30,
	LONGEST_MAX_S = 3600,
};

struct conform_args {
	const char *rules, *junit, *html, *markdown, *expect;
	bool json, all, progress, list;
	/* options for a live target; .target NULL: run in virtual time */
	struct rn_live_options live;
	char **paths;
	int path_count;
};

enum {
	OPT_RULES = 0x100,
	OPT_JUNIT,
	OPT_TARGET,
	OPT_ADDRESS,
	OPT_SLACK,
	OPT_CALL_TIMEOUT,
	OPT_HTML,
	OPT_MARKDOWN,
	OPT_EXPECT,
	OPT_PROGRESS,
	OPT_LIST,
	OPT_LONGEST,
};

static const struct argp_option options[] = {
	{ "rules", OPT_RULES, "FILE", 0,
	  "List the rules of this file that no scenario covers", 0 },
	{ "junit", OPT_JUNIT, "FILE", 0, "Write the report as JUnit XML too", 0 },
	{ "html", OPT_HTML, "FILE", 0, "Write the report as a page too", 0 },
	{ "markdown", OPT_MARKDOWN, "FILE", 0,
	  "Write the deviations, with their packets, for the people who make the device",
	  0 },
	{ "expect", OPT_EXPECT, "PROFILE", 0,
	  "A file of known deviations, or its name in the directory expect of the suite: "
	  "only others are failures",
	  0 },
	{ "progress", OPT_PROGRESS, NULL, 0, "Say on standard error what was run", 0 },
	RN_OPTION_JSON(0),
	{ "all", 'a', NULL, 0, "Name what passed, too", 0 },
	{ "list", OPT_LIST, NULL, 0,
	  "List the scenarios with their rules and titles, and run none", 0 },
	{ "target", OPT_TARGET, "ADDRESS[:PORT]", 0,
	  "Test the device whose agent listens there", 0 },
	{ "address", OPT_ADDRESS, "ADDRESS", 0,
	  "Ours, to test from (default: of loopback); up to twice for IPv4 and for IPv6: "
	  "the second one is another host",
	  0 },
	{ "slack", OPT_SLACK, "MS", 0,
	  "How much later than said a target may do things (default: 2000)", 0 },
	{ "call-timeout", OPT_CALL_TIMEOUT, "MS", 0,
	  "How long a call of the target may take before it counts as one that does not "
	  "return (default: 10000)",
	  0 },
	{ "longest", OPT_LONGEST, "SECONDS", 0,
	  "Skip scenarios with connections whose timers run longer (default: 30)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct conform_args *args = state->input;
	uint64_t number = 0;

	switch (key) {
	case OPT_RULES:
		args->rules = arg;
		return 0;
	case OPT_JUNIT:
		args->junit = arg;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case OPT_HTML:
		args->html = arg;
		return 0;
	case OPT_MARKDOWN:
		args->markdown = arg;
		return 0;
	case OPT_EXPECT:
		args->expect = arg;
		return 0;
	case OPT_PROGRESS:
		args->progress = true;
		return 0;
	case OPT_LIST:
		args->list = true;
		return 0;
	case OPT_TARGET:
		args->live.target = arg;
		return 0;
	case OPT_ADDRESS:
		if (args->live.addresses == RN_LIVE_ADDRESSES)
			argp_error(state, "%s: too many addresses", arg);
		args->live.address[args->live.addresses++] = arg;
		return 0;
	case OPT_SLACK:
		if (!rn_read_number(arg, 1, SLACK_MAX_MS, &number))
			argp_error(state, "%s: not a number of milliseconds, 1 to %d",
				   arg, SLACK_MAX_MS);
		args->live.slack_ms = (unsigned)number;
		return 0;
	case OPT_CALL_TIMEOUT:
		if (!rn_read_number(arg, 1, SLACK_MAX_MS, &number))
			argp_error(state, "%s: not a number of milliseconds, 1 to %d",
				   arg, SLACK_MAX_MS);
		args->live.call_ms = (unsigned)number;
		return 0;
	case OPT_LONGEST:
		if (!rn_read_number(arg, 1, LONGEST_MAX_S, &number))
			argp_error(state, "%s: not a number of seconds, 1 to %d", arg,
				   LONGEST_MAX_S);
		args->live.longest_s = (unsigned)number;
		return 0;
	case ARGP_KEY_ARGS:
		args->paths = state->argv + state->next;
		args->path_count = state->argc - state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[FILE|DIRECTORY...]\n--agent [--netdev=SPEC] [AGENT-OPTION...]",
	.doc = "Run conformance scenarios, rocin-scenario(5), on the transport in "
	       "virtual time, or on a live device; --agent is what runs on that one's "
	       "side. Without FILE or DIRECTORY these are all that are installed with "
	       "Rocin, of which either may also be the name of one or of a group.\vEnds "
	       "with 1 if a scenario failed, with 2 if one was not "
	       "understood or the target is not there.",
};

/* Writes a report to @file by calling @print. Does nothing if @file is NULL, because the
 * user has not asked for this report. Returns 0, or -errno after an error message.
 */
static int write_report(const struct rn_conform *c, const char *file, rn_file_print print)
{
	int rc = file ? rn_file_write(file, print, c) : 0;

	if (rc)
		rn_complain("%s: %s", file, strerror(-rc));
	return rc;
}

static int write_reports(const struct rn_conform *c, const struct conform_args *args)
{
	int rc = write_report(c, args->junit, rn_conform_print_junit);

	rc = write_report(c, args->html, rn_conform_print_html) || rc;
	rc = write_report(c, args->markdown, rn_conform_print_markdown) || rc;
	return rc ? -EIO : 0;
}

/* Reads the profile (known deviations of a device) that the user has named: the file with
 * this name if there is one, otherwise the installed profile with this name. Returns 0,
 * or -errno after an error message.
 */
static int read_profile(const struct conform_args *args, struct rn_conform *c)
{
	char path[PATH_MAX], room[PATH_MAX], err[2 * PATH_MAX];
	const char *profile;

	if (!args->expect)
		return 0;
	if (strchr(args->expect, '/'))
		return rn_expect_read(&c->expect, args->expect);
	snprintf(path, sizeof(path), "%s/expect/%s", args->paths[0] ? args->paths[0] : "",
		 args->expect);
	if (args->paths[0] && access(path, R_OK) == 0)
		return rn_expect_read(&c->expect, path);
	snprintf(path, sizeof(path), "expect/%s", args->expect);
	profile = rn_bank_find("scenario", path, room, err, sizeof(err));
	return rn_expect_read(&c->expect, access(profile, R_OK) ? args->expect : profile);
}

/* Adds the files that the user has named to @c. If the user has named none, adds all
 * scenarios that are installed with Rocin. Returns 0, or -errno after an error message.
 */
static int find_files(const struct conform_args *args, struct rn_conform *c)
{
	char room[PATH_MAX], err[2 * PATH_MAX];
	int rc = 0;

	for (int i = 0; !rc && i < args->path_count; i++) {
		const char *path =
			rn_bank_find("scenario", args->paths[i], room, err, sizeof(err));

		if (path) {
			rc = list_tree(c, path);
		} else {
			rn_complain("%s", err);
			rc = -ENOENT;
		}
	}
	return rc;
}

static int run_files(const struct conform_args *args, struct rn_conform *c,
		     const struct rn_scene_ops *ops, void *ctx)
{
	int rc = args->rules ? read_rules(c, args->rules) : 0;
	struct rn_progress line;

	/* With --progress there is no progress line, because each scenario has a line of
	 * its own.
	 */
	rn_progress_begin(&line, !args->progress);
	if (!rc)
		rc = read_profile(args, c);
	for (size_t i = 0; !rc && i < c->files; i++) {
		rn_progress_show(&line, "%zu of %zu: %s", i + 1, c->files, c->file[i]);
		rc = run_file(c, c->file[i], ops, ctx);
	}
	rn_progress_erase(&line);
	return rc;
}

static int run_live(const struct conform_args *args, struct rn_conform *c)
{
	struct rn_live_target *t = rn_live_target_open(&args->live);
	int rc;

	c->live = t;
	rc = t ? run_files(args, c, rn_live_target_ops(t), t) : -ENOTCONN;
	rn_live_target_close(t);
	return rc;
}

/* Returns the name by which a user can name an installed file: its path without the
 * directory of the installed scenarios.
 */
static const char *name_in_bank(const char *file)
{
	char room[PATH_MAX], err[2 * PATH_MAX];
	const char *bank = rn_bank_find("scenario", NULL, room, err, sizeof(err));
	size_t len = bank ? strlen(bank) : 0;

	return len && !strncmp(file, bank, len) && file[len] == '/' ? file + len + 1
								    : file;
}

/* Prints a line for each scenario, or JSON. Returns 0, or -errno after a message. */
static int print_list(const struct rn_conform *c, bool as_json)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < c->files; i++) {
		struct rn_scenario *s = read_scenario(c->file[i]);

		rc = s ? rn_conform_print_listed(s, name_in_bank(c->file[i]), i == 0,
						 as_json, stdout)
		       : -EINVAL;
		free(s);
	}
	if (!rc && as_json)
		puts("\n]");
	return rc;
}

static int run_all(const struct conform_args *args, struct rn_conform *c)
{
	struct rn_virtual *v;
	int rc = find_files(args, c);

	if (rc)
		return rc;
	if (args->list)
		return print_list(c, args->json);
	if (args->live.target)
		return run_live(args, c);
	v = rn_virtual_new();
	rc = v ? run_files(args, c, &rn_virtual_ops, v) : -ENOMEM;
	rn_virtual_free(v);
	return rc;
}

/* Implements `rocin conform --agent': sets up the environment, and executes
 * rocin-conform-agent in place of this program.
 */
static int become_agent(int argc, char **argv)
{
	static struct rn_launch launch;
	char err[512], program[PATH_MAX + 24];
	const char *netdevs = NULL;

	if (argc > 2 && !strncmp(argv[2], "--netdev=", 9)) {
		netdevs = argv[2] + 9;
		argv++;
	} else if (argc > 3 && !strcmp(argv[2], "--netdev")) {
		netdevs = argv[3];
		argv += 2;
	}
	/* argv[0] of rocin-conform-agent, which shows it in its messages */
	argv[1] = "rocin conform --agent";
	if (rn_launch_prepare(&launch, netdevs, err, sizeof(err)) ||
	    rn_launch_setenv(&launch, netdevs, err, sizeof(err))) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	/* By default, a device of Rocin drops packets that come from other sockets of
	 * this host than those of Rocin. A tester on this host has such sockets.
	 */
	if (setenv("ROCIN_NEIGHBOURS", "all", 0)) {
		rn_complain("out of memory");
		return RN_EXIT_FAILURE;
	}
	snprintf(program, sizeof(program), "%s/rocin-conform-agent", launch.plugin_dir);
	execv(program, argv + 1);
	rn_complain("%s: %s; install Rocin again", program, strerror(errno));
	return RN_EXIT_FAILURE;
}

int rn_cmd_conform(int argc, char **argv)
{
	char *whole_bank = NULL;
	struct conform_args args = { .live.slack_ms = SLACK_MS,
				     .live.call_ms = CALL_MS,
				     .live.longest_s = LONGEST_S,
				     .paths = &whole_bank,
				     .path_count = 1 };
	struct rn_conform c = { 0 };
	bool failed;
	int rc;

	if (argc > 1 && !strcmp(argv[1], "--agent"))
		return become_agent(argc, argv);
	rn_argp_parse(&argp, argc, argv, 0, &args);
	c.progress = args.progress;
	c.target = args.live.target;
	c.profile = args.expect;
	rc = run_all(&args, &c);
	c.live = NULL;
	if (c.count > 0 && args.json)
		rc = rn_conform_print_json(&c, stdout) && !rc ? -EIO : rc;
	else if (c.count > 0)
		rn_conform_print_text(&c, stdout, args.all);
	if (c.count > 0 && write_reports(&c, &args) && !rc)
		rc = -EIO;
	failed = c.failed > 0;
	free_cases(&c);
	if (failed && rc != -EPIPE)
		return RN_EXIT_FAILURE;
	return rc ? EXIT_NOT_READ : 0;
}
