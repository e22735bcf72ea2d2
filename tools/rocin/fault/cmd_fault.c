/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_fault.c - `rocin fault`: changes the fault rules of running and future programs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "book.h"
#include "rocin/stats.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	OPT_CLEAR = 0x100,
	OPT_RECORD,
	REMOVES_MAX = RN_FAULT_RULES_MAX,
	/* Maximum number of attempts to change the rules. An attempt fails if another
	 * process has changed them since this process read them.
	 */
	TRIES = 20,
	/* maximum time in ms to wait until all programs have read the new rules */
	AWAIT_MS = 1000,
	AWAIT_STEP_MS = 2,
};

struct fault_args {
	bool list, json, clear;
	const char *file;
	unsigned removes;
	unsigned remove[REMOVES_MAX]; /* numbers of the rules to remove, counted from 0 */
	const char *record;
	/* the rules to add; with --record, the program and its arguments instead */
	char **rules;
	int rule_count;
};

static const struct argp_option options[] = {
	{ "list", 'l', NULL, 0, "Show the rules and what they have hit (the default)",
	  0 },
	RN_OPTION_JSON(0),
	{ "file", 'f', "FILE", 0, "Add the rules of FILE", 0 },
	{ "remove", 'r', "N", 0, "Remove rule N; may be given several times", 0 },
	{ "clear", OPT_CLEAR, NULL, 0, "Remove all rules that were there", 0 },
	{ "record", OPT_RECORD, "FILE", 0,
	  "Run PROGRAM and record all that its devices do in FILE, for rocin sim "
	  "--replay",
	  0 },
	{ 0 },
};

static int add_remove(struct fault_args *args, const char *arg)
{
	uint64_t n;

	if (args->removes == REMOVES_MAX ||
	    !rn_read_number(arg, 1, RN_FAULT_RULES_MAX, &n))
		return EINVAL;
	args->remove[args->removes++] = (unsigned)n - 1;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct fault_args *args = state->input;

	switch (key) {
	case 'l':
		args->list = true;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case 'f':
		args->file = arg;
		return 0;
	case 'r':
		if (add_remove(args, arg))
			argp_error(state, "\"%s\" is not the number of a rule", arg);
		return 0;
	case OPT_CLEAR:
		args->clear = true;
		return 0;
	case OPT_RECORD:
		args->record = arg;
		return 0;
	case ARGP_KEY_ARGS:
		args->rules = state->argv + state->next;
		args->rule_count = state->argc - state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[RULE...]\n--record=FILE -- PROGRAM [ARG...]",
	.doc = "Make packets and calls of running programs go wrong as rules say, and "
	       "count what they hit. Each RULE is one argument, for instance 'drop tx "
	       "qp=2 op=SEND_* nth=3'; see rocin-fault(5).",
};

/* --------------------------------------------------- reading and changing the rules */
static char *read_text(int fd)
{
	char *text = calloc(1, RN_FAULT_TEXT_MAX);

	if (text && fd >= 0 && pread(fd, text, RN_FAULT_TEXT_MAX - 1, 0) < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Writes the rules and the seed to a sealed memfd, for rocind. Returns its descriptor, or
 * -1 with errno.
 */
static int make_file(const struct rn_fault_book *b)
{
	char *text = rn_fault_book_text(b);
	int fd =
		text ? memfd_create("rocin-faults", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	bool done =
		fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) == 0;

	free(text);
	if (fd >= 0 && !done) {
		close(fd);
		return -1;
	}
	return fd;
}

static int add_file(struct rn_fault_book *b, const char *path, char *err, size_t err_len)
{
	char *text =
		rn_fault_file(strcmp(path, "-") == 0 ? "/dev/stdin" : path, err, err_len);
	int rc;

	if (!text)
		return -errno;
	rc = rn_fault_book_add(b, text, path, false, err, err_len);
	free(text);
	return rc;
}

/* Sorts numbers in descending order. Rules are removed in this order, so that those which
 * are still to be removed keep their numbers.
 */
static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x < y) - (x > y);
}

static int change_rules(struct rn_fault_book *b, struct fault_args *args, char *err,
			size_t err_len)
{
	char name[32];
	int rc = 0;

	qsort(args->remove, args->removes, sizeof(args->remove[0]), by_number);
	for (unsigned i = 0; i < args->removes; i++) {
		/* If the user has given a number twice, it is used only once: after the
		 * removal, the number means another rule.
		 */
		if (i > 0 && args->remove[i] == args->remove[i - 1])
			continue;
		if (rn_fault_book_remove(b, args->remove[i]))
			continue;
		snprintf(err, err_len, "there is no rule %u; `rocin fault` lists them",
			 args->remove[i] + 1);
		return -ENOENT;
	}
	if (args->clear) {
		rn_fault_book_free(b);
		b->seed = 1;
	}
	if (args->file)
		rc = add_file(b, args->file, err, err_len);
	for (int i = 0; i < args->rule_count && !rc; i++) {
		snprintf(name, sizeof(name), "rule %d", i + 1);
		rc = rn_fault_book_add(b, args->rules[i], name, false, err, err_len);
	}
	return rc;
}

/* Reads the rules that rocind has into a struct rn_fault_book, and closes the descriptor
 * in @now.
 */
static int open_book(struct rn_fault_book *b, struct rn_rocind_faults *now, char *err,
		     size_t err_len)
{
	char *text = read_text(now->fd);
	int rc = -ENOMEM;

	rn_fault_book_init(b);
	if (text)
		rc = rn_fault_book_add(b, text, "rocind", true, err, err_len);
	else
		snprintf(err, err_len, "the rules cannot be read");
	free(text);
	if (now->fd >= 0)
		close(now->fd);
	now->fd = -1;
	return rc;
}

/* Reads the rules from rocind, changes them as the options say, and sends them back.
 * Returns 0; -EAGAIN if another process has changed them between the two steps; or
 * another -errno with an error text in @err.
 */
static int try_change(struct rn_rocind *r, struct fault_args *args,
		      struct rn_fault_book *b, struct rn_rocind_faults *now, char *err,
		      size_t err_len)
{
	int fd = -1, rc = rn_rocind_faults(r, now, err, err_len);

	if (rc)
		return rc;
	rc = open_book(b, now, err, err_len);
	if (rc)
		return rc;
	rc = change_rules(b, args, err, err_len);
	if (!rc && b->count > 0) {
		fd = make_file(b);
		if (fd < 0)
			rc = -errno;
		if (rc)
			snprintf(err, err_len, "the rules cannot be handed on: %s",
				 strerror(errno));
	}
	if (!rc)
		rc = rn_rocind_set_faults(r, now, fd, b->from, err, err_len);
	if (!rc && now->fd >= 0)
		close(now->fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ----------------------------------- counts of packets that rules have seen and hit */
struct counts {
	const struct rn_rocind_faults *now;
	uint64_t seen[RN_FAULT_RULES_MAX], hits[RN_FAULT_RULES_MAX];
	/* @programs: number of running programs. @late: number of their devices that have
	 * not read the new rules yet.
	 */
	unsigned programs, late;
	json_t *json;
};

static void add_json(struct counts *c, const struct rn_rocind_client *client,
		     const struct rn_stats_faults *f, const char *program)
{
	bool is_late = f->generation != c->now->generation;

	if (!c->json)
		return;
	json_array_append_new(c->json,
			      json_pack("{s:s, s:i, s:s, s:b, s:I}", "device",
					client->ibdev, "pid", (int)client->pid, "program",
					program, "has_rules", !is_late, "own_hits",
					(json_int_t)f->own_hits));
}

static int on_client(void *ctx, const struct rn_rocind_client *client)
{
	struct counts *c = ctx;
	struct rn_stats_faults f = { 0 };
	struct rn_stats_page page = { 0 };
	bool is_read;

	if (client->stats_fd < 0)
		return 0;
	is_read =
		pread(client->stats_fd, &f, sizeof(f), RN_STATS_FAULTS_OFFSET) ==
			(ssize_t)sizeof(f) &&
		pread(client->stats_fd, &page, sizeof(page), 0) == (ssize_t)sizeof(page);
	close(client->stats_fd);
	if (!is_read)
		return 0;
	page.comm[sizeof(page.comm) - 1] = '\0';
	c->programs++;
	add_json(c, client, &f, page.comm);
	if (f.generation != c->now->generation) {
		c->late++;
		return 0;
	}
	for (unsigned i = 0; i < RN_FAULT_RULES_MAX; i++) {
		c->seen[i] += f.seen[i];
		c->hits[i] += f.hits[i];
	}
	return 0;
}

static int gather(struct rn_rocind *r, const struct rn_rocind_faults *now,
		  struct counts *c, bool json, char *err, size_t err_len)
{
	*c = (struct counts){ .now = now, .json = json ? json_array() : NULL };
	memcpy(c->seen, now->seen, sizeof(c->seen));
	memcpy(c->hits, now->hits, sizeof(c->hits));
	return rn_rocind_list(r, on_client, c, err, err_len);
}

/* Waits until every program has read the new rules. Gives up after AWAIT_MS, because a
 * stopped program does not read them.
 */
static int await_programs(struct rn_rocind *r, const struct rn_rocind_faults *now,
			  char *err, size_t err_len)
{
	struct counts c;
	int rc = 0;

	for (int waited = 0; waited < AWAIT_MS; waited += AWAIT_STEP_MS) {
		rc = gather(r, now, &c, false, err, err_len);
		if (rc || c.late == 0)
			return rc;
		poll(NULL, 0, AWAIT_STEP_MS);
	}
	fprintf(stderr, "rocin: %u of %u devices in use have not taken the rules yet\n",
		c.late, c.programs);
	return 0;
}

static void print(const struct rn_fault_book *b, const struct counts *c)
{
	if (b->count == 0) {
		puts("there are no rules about faults");
		return;
	}
	printf("seed %" PRIu64 "\n%3s %10s %10s  %s\n", b->seed, "", "SEEN", "HIT",
	       "RULE");
	for (unsigned i = 0; i < b->count; i++)
		printf("%3u %10" PRIu64 " %10" PRIu64 "  %s\n", i + 1, c->seen[i],
		       c->hits[i], b->line[i]);
}

static void print_json(const struct rn_fault_book *b, const struct counts *c)
{
	json_t *rules = json_array(), *all;

	for (unsigned i = 0; i < b->count; i++)
		json_array_append_new(rules, json_pack("{s:i, s:s, s:I, s:I}", "number",
						       (int)i + 1, "rule", b->line[i],
						       "seen", (json_int_t)c->seen[i],
						       "hits", (json_int_t)c->hits[i]));
	all = json_pack("{s:I, s:o, s:o}", "seed", (json_int_t)b->seed, "rules", rules,
			"devices", c->json);
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

/* ------------------------- listing and editing rules, and the command's entry point */
static int list_rules(struct rn_rocind *r, const struct fault_args *args, char *err,
		      size_t err_len)
{
	struct rn_fault_book b = { 0 };
	struct rn_rocind_faults now;
	struct counts c;
	int rc = rn_rocind_faults(r, &now, err, err_len);

	if (!rc)
		rc = open_book(&b, &now, err, err_len);
	if (!rc)
		rc = gather(r, &now, &c, args->json, err, err_len);
	if (!rc && args->json)
		print_json(&b, &c);
	else if (!rc)
		print(&b, &c);
	rn_fault_book_free(&b);
	return rc;
}

static int edit_rules(struct rn_rocind *r, struct fault_args *args, char *err,
		      size_t err_len)
{
	struct rn_rocind_faults now;
	int rc = -EAGAIN;

	for (unsigned i = 0; rc == -EAGAIN && i < TRIES; i++) {
		struct rn_fault_book b;

		rn_fault_book_init(&b);
		rc = try_change(r, args, &b, &now, err, err_len);
		rn_fault_book_free(&b);
	}
	if (!rc)
		rc = await_programs(r, &now, err, err_len);
	if (!rc && (args->list || args->json))
		rc = list_rules(r, args, err, err_len);
	return rc;
}

static void print_nothing(const struct fault_args *args)
{
	static const struct rn_fault_book none = { .seed = 1 };
	struct counts c = { .json = args->json ? json_array() : NULL };

	if (args->json)
		print_json(&none, &c);
	else
		print(&none, &c);
}

/* Implements `rocin fault --record': runs the program as `rocin run' does, with the
 * option --record of that command.
 */
static int run_recorded(const struct fault_args *args)
{
	int argc = args->rule_count + 4, status = RN_EXIT_FAILURE;
	char **argv = calloc((size_t)argc + 1, sizeof(*argv));

	if (!argv) {
		rn_complain("out of memory");
		return RN_EXIT_FAILURE;
	}
	argv[0] = (char[]){ "rocin fault" };
	argv[1] = (char[]){ "--record" };
	argv[2] = strdup(args->record);
	argv[3] = (char[]){ "--" };
	for (int i = 0; i < args->rule_count; i++)
		argv[4 + i] = args->rules[i];
	if (argv[2])
		status = rn_cmd_run(argc, argv);
	free(argv[2]);
	free(argv);
	return status;
}

int rn_cmd_fault(int argc, char **argv)
{
	struct fault_args args = { 0 };
	struct rn_rocind *r;
	char err[512] = "";
	bool adds, edits;
	int rc;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.record)
		return run_recorded(&args);
	adds = args.file || args.rule_count > 0;
	edits = adds || args.clear || args.removes > 0;
	r = adds ? rn_rocind_connect(NULL, err, sizeof(err))
		 : rn_rocind_connect_running(err, sizeof(err));
	if (!r && errno == ENOENT && !adds && args.removes == 0) {
		if (!args.clear || args.list || args.json)
			print_nothing(&args);
		return 0;
	}
	if (!r) {
		rn_complain("%s", err);
		return RN_EXIT_FAILURE;
	}
	rc = edits ? edit_rules(r, &args, err, sizeof(err))
		   : list_rules(r, &args, err, sizeof(err));
	rn_rocind_close(r);
	if (rc)
		rn_complain("%s", err);
	return rc ? RN_EXIT_FAILURE : 0;
}
