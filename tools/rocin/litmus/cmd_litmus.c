/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_litmus.c - `rocin litmus': runs litmus tests of RDMA memory ordering, and compares
 * the final states that occur with the verdicts in the test files.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tools/rocin/common/files.h"
#include "tools/rocin/common/launch.h"
#include "tools/rocin/common/progress.h"

/* ---- Test files ---- */
enum {
	FILE_MAX = 4 << 20, /* maximum size of a test file in bytes */
};

static int add_test(struct rn_report *r, const char *file,
		    const struct rn_litmus_test *test)
{
	struct rn_report_test **more, *new = calloc(1, sizeof(*new));

	more = realloc(r->test, (r->test_count + 1) * sizeof(void *));
	if (more)
		r->test = more;
	if (new)
		new->file = strdup(file);
	if (!more || !new || !new->file) {
		free(new);
		return -ENOMEM;
	}
	new->test = *test;
	r->test[r->test_count++] = new;
	return 0;
}

/* Checks that each name of a rule in the test is a name that rn_litmus_find_rule() knows.
 * Otherwise prints an error message and returns false.
 */
static bool are_rules_known(const char *file, const struct rn_litmus_test *test)
{
	const char *at = test->rules;

	while (*at) {
		size_t len = strcspn(at, " ,");

		if (len && !rn_litmus_find_rule(at, len)) {
			rn_complain(
				"%s: %s names the rule %.*s, which rocin-visibility(7) "
				"does not have",
				file, test->name, (int)len, at);
			return false;
		}
		at += len;
		at += strspn(at, " ,");
	}
	return true;
}

static int parse_text(struct rn_report *r, const char *file, const char *text, size_t len)
{
	struct rn_litmus_test *test = malloc(sizeof(*test));
	struct rn_litmus_parser p;
	size_t before = r->test_count;
	int rc = test ? 1 : -ENOMEM;

	rn_litmus_parser_init(&p, text, len);
	while (rc == 1) {
		rc = rn_litmus_parse(&p, test);
		if (rc == 1 && !are_rules_known(file, test)) {
			free(test);
			return -EINVAL;
		}
		if (rc == 1 && add_test(r, file, test))
			rc = -ENOMEM;
	}
	free(test);
	if (rc == -EINVAL)
		rn_complain("%s:%u:%u: %s", file, p.error_line, p.error_column, p.error);
	else if (rc)
		rn_complain("%s: %s", file, strerror(-rc));
	if (rc || r->test_count > before)
		return rc;
	rn_complain("%s: no test", file);
	return -ENOENT;
}

static int read_file(struct rn_report *r, const char *file)
{
	char *text;
	ssize_t len = rn_file_read(file, FILE_MAX - 1, &text);
	int rc;

	if (len < 0) {
		rn_complain("%s: %s", file, strerror((int)-len));
		return (int)len;
	}
	rc = parse_text(r, file, text, (size_t)len);
	free(text);
	return rc;
}

/* Returns 1 if the directory entry is a file named *.litmus, otherwise 0. Directories,
 * pipes and the like are skipped, because opening a pipe would wait for its writer.
 */
static int is_litmus(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), end = strlen(".litmus");

	if (entry->d_type != DT_REG && entry->d_type != DT_LNK &&
	    entry->d_type != DT_UNKNOWN)
		return false;
	return len > end && !strcmp(entry->d_name + len - end, ".litmus");
}

static int read_directory(struct rn_report *r, const char *path)
{
	struct dirent **entry;
	int n = scandir(path, &entry, is_litmus, alphasort), rc = 0;

	if (n < 0) {
		rn_complain("%s: %s", path, strerror(errno));
		return -errno;
	}
	if (n == 0) {
		rn_complain("%s: no file *.litmus", path);
		rc = -ENOENT;
	}
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name);
		if (!rc)
			rc = read_file(r, file);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

/**
 * read_tests() - Read the tests of a file, or of all *.litmus files in a directory
 *
 * Files are read in the order of their names.
 *
 * Return: 0, or -errno after an error message; -EINVAL if a file cannot be parsed.
 */
static int read_tests(struct rn_report *r, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return read_directory(r, path);
	return read_file(r, path);
}

static void free_run(struct rn_report_run *run)
{
	for (size_t i = 0; i < run->state_count; i++)
		free(run->state[i].steps);
	free(run->state);
	free(run->verdict);
}

static void free_report(struct rn_report *r)
{
	for (size_t i = 0; i < r->test_count; i++) {
		for (size_t k = 0; k < r->test[i]->run_count; k++)
			free_run(&r->test[i]->run[k]);
		free(r->test[i]->run);
		free(r->test[i]->file);
		free(r->test[i]);
	}
	free(r->test);
	*r = (struct rn_report){ 0 };
}

/* -------------------------------------------- running the tests of the command line */
enum {
	/* exit status if a file cannot be parsed, or if the back end cannot work */
	EXIT_NOT_READ = 2,
	SETS_MAX = 64, /* maximum number of sets of PCIe settings of a test */
};

struct litmus_args {
	struct rn_litmus_options o;
	const char *modes, *knobs, *html, *name;
	bool json, list;
	char **paths;
	int path_count;
};

enum {
	OPT_MODE = 0x100,
	OPT_KNOBS,
	OPT_BACKEND,
	OPT_RUNS,
	OPT_SEED,
	OPT_HTML,
	OPT_WITNESS,
	OPT_TEST,
	OPT_BUDGET,
	OPT_STATE,
	OPT_PROCESSES,
	OPT_LIST,
};

static const struct argp_option options[] = {
	{ "mode", OPT_MODE, "MODE[,MODE...]", 0,
	  "strict, ibta, typical, adversarial or all; default: the knobs that verdicts "
	  "name",
	  0 },
	{ "knobs", OPT_KNOBS, "KNOBS", 0,
	  "These knobs, on top of typical or of each MODE; also relaxed=x+y", 0 },
	{ "backend", OPT_BACKEND, "KIND", 0,
	  "explore: try every schedule of the model (default); model: draw some; live, "
	  "hw: run on the provider, on an RDMA device; facts: print each test for a "
	  "solver",
	  0 },
	{ "runs", OPT_RUNS, "N", 0,
	  "Runs of each test (default 100, model: 1000); explore: bound of states "
	  "(default 20 million)",
	  0 },
	{ "seed", OPT_SEED, "N", 0, "Seed of the first run (default 1)", 0 },
	{ "test", OPT_TEST, "NAME", 0, "Only tests whose name begins so", 0 },
	{ "list", OPT_LIST, NULL, 0,
	  "List the tests with what they are about, and run none", 0 },
	RN_OPTION_JSON(0),
	{ "html", OPT_HTML, "FILE", 0, "Write the report as a page too", 0 },
	{ "witness", OPT_WITNESS, NULL, 0, "Show how each final state comes about", 0 },
	{ "budget", OPT_BUDGET, "SECONDS", 0, "live: stop after that time", 0 },
	{ "state", OPT_STATE, "FILE", 0, "live: continue what an earlier call left", 0 },
	{ "processes", OPT_PROCESSES, NULL, 0, "live: one process per host", 0 },
	{ 0 },
};

static uint64_t number(const char *arg, uint64_t most, struct argp_state *state)
{
	uint64_t n = 0;

	if (!rn_read_number(arg, 0, most, &n))
		argp_error(state, "\"%s\" is not a number", arg);
	return n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct litmus_args *args = state->input;

	switch (key) {
	case OPT_MODE:
		args->modes = arg;
		return 0;
	case OPT_KNOBS:
		args->knobs = arg;
		return 0;
	case OPT_BACKEND:
		args->o.backend = arg;
		return 0;
	case OPT_RUNS:
		args->o.runs = number(arg, UINT64_MAX, state);
		return 0;
	case OPT_SEED:
		args->o.seed = number(arg, UINT64_MAX, state);
		return 0;
	case OPT_TEST:
		args->name = arg;
		return 0;
	case OPT_LIST:
		args->list = true;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case OPT_HTML:
		args->html = arg;
		return 0;
	case OPT_WITNESS:
		args->o.witness = true;
		return 0;
	case OPT_BUDGET:
		args->o.budget_s = (unsigned)number(arg, UINT32_MAX, state);
		return 0;
	case OPT_STATE:
		args->o.state_file = arg;
		return 0;
	case OPT_PROCESSES:
		args->o.processes = true;
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
	.args_doc = "[FILE|DIRECTORY...]",
	.doc = "Run litmus tests of RDMA memory ordering, and compare what can be "
	       "observed with the verdicts of the files. Without FILE or DIRECTORY these "
	       "are all that are installed with Rocin, of which FILE may also be one.\v"
	       "Ends with 1 if a forbidden state occurred or, after every schedule was "
	       "tried, an allowed one did not.",
};

static const struct {
	const char *name;
	rn_litmus_back_end run;
} back_ends[] = {
	{ "explore", rn_litmus_explore_run }, { "model", rn_litmus_model_run },
	{ "live", rn_litmus_live_run },	      { "hw", rn_litmus_live_run },
	{ "facts", rn_litmus_facts_run },
};

static rn_litmus_back_end find_back_end(const char *name)
{
	for (size_t i = 0; i < RN_ARRAY_SIZE(back_ends); i++)
		if (!strcmp(back_ends[i].name, name))
			return back_ends[i].run;
	return NULL;
}

/* ---- Sets of knobs for each test ---- */

/* The sets of PCIe knobs (settings) under which a test is run; each is in it once. */
struct sets {
	struct rn_litmus_setup set[SETS_MAX];
	unsigned count;
};

static void add_set(struct sets *sets, const struct rn_litmus_setup *setup)
{
	for (unsigned i = 0; i < sets->count; i++)
		if (rn_litmus_same_setup(&sets->set[i], setup))
			return;
	assert(sets->count < SETS_MAX);
	sets->set[sets->count++] = *setup;
}

/* Adds a set of knobs to @sets: those of the PCIe mode @mode (@len bytes long), with the
 * changes that the option --knobs demands. Returns 0, or an error after a message.
 */
static int add_mode(const struct litmus_args *args, const struct rn_litmus_test *t,
		    const char *mode, size_t len, struct sets *sets)
{
	char words[512], err[256];
	struct rn_litmus_setup setup;

	if (sets->count == SETS_MAX) {
		rn_complain("too many modes");
		return -EINVAL;
	}
	snprintf(words, sizeof(words), "mode=%.*s%s%s", (int)len, mode,
		 args->knobs ? "," : "", args->knobs ? args->knobs : "");
	if (rn_litmus_setup(t, words, &setup, err, sizeof(err))) {
		rn_complain("%s: %s", t->name, err);
		return -EINVAL;
	}
	add_set(sets, &setup);
	return 0;
}

static int asked_sets(const struct litmus_args *args, const struct rn_litmus_test *t,
		      struct sets *sets)
{
	const char *at = args->modes ? args->modes : "typical";
	int rc = 0;

	if (!strcmp(at, "all"))
		at = "strict,ibta,typical,adversarial";
	if (!*at) {
		rn_complain("--mode= names no mode");
		return -EINVAL;
	}
	while (*at && !rc) {
		size_t len = strcspn(at, ",");

		rc = add_mode(args, t, at, len, sets);
		at += len;
		at += *at == ',';
	}
	return rc;
}

static void verdict_sets(const struct rn_litmus_test *t, struct sets *sets)
{
	for (unsigned i = 0; i < t->verdicts; i++) {
		struct rn_litmus_setup setup;
		char err[256];

		/* This cannot fail, because the parser has checked the verdict. */
		if (!rn_litmus_verdict_setup(t, &t->verdict[i], &setup, err, sizeof(err)))
			add_set(sets, &setup);
	}
}

/* ---- Running tests, and the command's entry point ---- */

static void fill_run(const struct rn_litmus_test *t, const struct rn_litmus_setup *setup,
		     struct rn_report_run *run)
{
	struct rn_litmus_setup other;
	char err[256];

	run->setup = *setup;
	rn_litmus_setup_text(t, setup, run->knobs, sizeof(run->knobs));
	run->verdict = calloc(t->verdicts, sizeof(run->verdict[0]));
	if (!run->verdict)
		return;
	for (unsigned i = 0; i < t->verdicts; i++)
		if (!rn_litmus_verdict_setup(t, &t->verdict[i], &other, err,
					     sizeof(err)) &&
		    rn_litmus_same_setup(&other, setup))
			run->verdict[run->verdict_count++] = (struct rn_report_verdict){
				.verdict = &t->verdict[i],
				.state = SIZE_MAX,
			};
}

static int run_test(const struct litmus_args *args, rn_litmus_back_end back_end,
		    struct rn_report_test *test)
{
	struct sets sets = { .count = 0 };
	int rc = 0;

	if (args->modes || args->knobs)
		rc = asked_sets(args, &test->test, &sets);
	else
		verdict_sets(&test->test, &sets);
	test->run = calloc(sets.count + 1, sizeof(test->run[0]));
	if (!test->run)
		rc = -ENOMEM;
	for (unsigned i = 0; i < sets.count && !rc; i++) {
		struct rn_report_run *run = &test->run[test->run_count++];

		fill_run(&test->test, &sets.set[i], run);
		rc = run->verdict ? back_end(&args->o, test, run) : -ENOMEM;
		if (rc)
			rn_report_judge(run, "the back end failed");
	}
	return rc;
}

/* Reads the tests in the files that the user has named. If the user has named none, reads
 * all tests that are installed with Rocin.
 */
static int read_all(const struct litmus_args *args, struct rn_report *report)
{
	char room[PATH_MAX], err[2 * PATH_MAX];
	int rc = 0;

	for (int i = 0; i < args->path_count && !rc; i++) {
		const char *path =
			rn_bank_find("litmus", args->paths[i], room, err, sizeof(err));

		if (path) {
			rc = read_tests(report, path);
		} else {
			rn_complain("%s", err);
			rc = -ENOENT;
		}
	}
	return rc;
}

static bool is_asked(const struct litmus_args *args, const struct rn_report_test *test)
{
	return !args->name || !strncmp(test->test.name, args->name, strlen(args->name));
}

static int run_all(const struct litmus_args *args, rn_litmus_back_end back_end,
		   struct rn_report *report)
{
	struct rn_progress progress;
	int rc = 0;

	rn_progress_begin(&progress, true);
	for (size_t i = 0; i < report->test_count && !rc; i++) {
		if (!is_asked(args, report->test[i]))
			continue;
		rn_progress_show(&progress, "%zu of %zu: %s", i + 1, report->test_count,
				 report->test[i]->test.name);
		rc = run_test(args, back_end, report->test[i]);
	}
	rn_progress_erase(&progress);
	return rc;
}

/* Prints a line for each test: its name, its file, and what it is about. */
static void print_list(const struct rn_report *r)
{
	for (size_t i = 0; i < r->test_count; i++) {
		const struct rn_report_test *t = r->test[i];
		const char *slash = strrchr(t->file, '/');

		printf("%-38s %-28s %s\n", t->test.name, slash ? slash + 1 : t->file,
		       t->test.about);
	}
}

/* Removes tests from the report: with --list, those that the user has not asked for;
 * otherwise those that have not run.
 */
static void drop_others(const struct litmus_args *args, struct rn_report *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->test_count; i++) {
		if (args->list ? is_asked(args, r->test[i]) : r->test[i]->run_count > 0) {
			r->test[kept++] = r->test[i];
			continue;
		}
		free(r->test[i]->run);
		free(r->test[i]->file);
		free(r->test[i]);
	}
	r->test_count = kept;
}

static bool has_failed(const struct rn_report *r)
{
	for (size_t i = 0; i < r->test_count; i++)
		for (size_t k = 0; k < r->test[i]->run_count; k++)
			for (size_t n = 0; n < r->test[i]->run[k].verdict_count; n++)
				if (rn_report_is_failure(
					    r->test[i]->run[k].verdict[n].status))
					return true;
	return false;
}

static int print_html(FILE *to, const void *report)
{
	return rn_report_html(report, to) ? -EIO : 0;
}

static int write_html(const struct rn_report *r, const char *file)
{
	int rc = rn_file_write(file, print_html, r);

	if (rc)
		rn_complain("%s: %s", file, strerror(-rc));
	return rc;
}

static int write_report(const struct litmus_args *args, const struct rn_report *report)
{
	int rc = args->html ? write_html(report, args->html) : 0;

	if (args->json)
		return rn_report_json(report, stdout, true) ? -EIO : rc;
	if (args->list)
		print_list(report);
	else
		rn_report_text(report, stdout, args->o.witness);
	return rc;
}

/* The entry point of `rocin litmus'. If a back end fails, the results of the tests before
 * it are still reported.
 */
int rn_cmd_litmus(int argc, char **argv)
{
	char *whole_bank = NULL;
	struct litmus_args args = { .o = { .backend = "explore", .seed = 1 },
				    .paths = &whole_bank,
				    .path_count = 1 };
	struct rn_report report = { 0 };
	rn_litmus_back_end back_end;
	bool is_wrong;
	int rc;

	rn_argp_parse(&argp, argc, argv, 0, &args);
	back_end = find_back_end(args.o.backend);
	if (!back_end) {
		rn_complain("there is no back end \"%s\"", args.o.backend);
		return RN_EXIT_USAGE;
	}
	report.backend = args.o.backend;
	report.seed = args.o.seed;
	rc = read_all(&args, &report);
	if (!rc && !args.list)
		rc = run_all(&args, back_end, &report);
	drop_others(&args, &report);
	if (!rc && report.test_count == 0) {
		rn_complain("no test%s%s", args.name ? " begins with " : "",
			    args.name ? args.name : "");
		rc = -ENOENT;
	}
	if (report.test_count > 0 && (args.list || back_end != rn_litmus_facts_run) &&
	    write_report(&args, &report) && !rc)
		rc = -EIO;
	is_wrong = has_failed(&report);
	free_report(&report);
	if (is_wrong)
		return RN_EXIT_FAILURE;
	return rc ? EXIT_NOT_READ : 0;
}
