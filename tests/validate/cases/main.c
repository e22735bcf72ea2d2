/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - runs the cases of a category, and reads what the layer has found in each.
 *
 * usage: validate_cases CATEGORY
 *        validate_cases --exit RULE breach|keep
 *        validate_cases --peer
 *
 * VALIDATE_FINDINGS names the file of findings (json=FILE of ROCIN_VALIDATE).
 */
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

#include "cases.h"

static const struct {
	const char *name;
	const struct val_cases *cases;
} categories[] = {
	{ "life", &life_cases },
	{ "state", &state_cases },
	{ "queues", &queues_cases },
	{ "memory", &memory_cases },
	{ "addressing", &addressing_cases },
	{ "portability", &portability_cases },
	{ "performance", &performance_cases },
	{ "extended", &extended_cases },
	{ "ends", &ends_cases },
	{ "legal", &legal_cases },
	{ "legal/queues", &legal_queues_cases },
	{ "legal/memory", &legal_memory_cases },
	{ "legal/windows", &legal_windows_cases },
	{ "legal/xrc", &legal_xrc_cases },
	{ "legal/threads", &legal_threads_cases },
};

enum {
	CATEGORIES = sizeof(categories) / sizeof(*categories),
	TESTS_MAX = 400,
	TEXT_MAX = 1 << 20,
};

extern char **environ;
static const char *program;

/* ----------------------------------------------------------------- findings */
static long read_from; /* where the findings of the running case begin */

static FILE *open_findings(void)
{
	return fopen(getenv("VALIDATE_FINDINGS"), "re");
}

static void begin_findings(void)
{
	FILE *f = open_findings();

	read_from = 0;
	if (!f)
		return;
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	read_from = ftell(f);
	fclose(f);
}

/* Returns what was found since begin_findings(). */
static const char *findings(void)
{
	static char text[TEXT_MAX];
	FILE *f = open_findings();
	size_t len = 0;

	if (f) {
		assert_int_equal(fseek(f, read_from, SEEK_SET), 0);
		len = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[len] = '\0';
	return text;
}

bool val_found(const char *text)
{
	return strstr(findings(), text) != NULL;
}

static bool has_found(const char *rule)
{
	char member[120];

	(void)snprintf(member, sizeof(member), "\"rule\":\"%s\"", rule);
	return strstr(findings(), member) != NULL;
}

/* --------------------------------------------------------------------- cases */
/* Runs a function of a case with a kit of its own. */
static void run_here(void (*fn)(struct kit *), bool is_keeping)
{
	void *k;

	assert_int_equal(kit_setup(&k), 0);
	fn(k);
	if (is_keeping)
		assert_int_equal(kit_teardown(&k), 0);
}

/* Runs a function of a case in a process of its own. */
static void run_apart(const struct val_case *c, bool is_keeping)
{
	char *argv[] = { (char *)(uintptr_t)program, (char[]){ "--exit" },
			 (char *)(uintptr_t)c->rule,
			 is_keeping ? (char[]){ "keep" } : (char[]){ "breach" }, NULL };
	int status;
	pid_t pid;

	assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void run_case(const struct val_case *c, bool is_keeping)
{
	begin_findings();
	if (c->is_at_exit)
		run_apart(c, is_keeping);
	else
		run_here(is_keeping ? c->keep : c->breach, is_keeping);
}

static void breach(void **state)
{
	const struct val_case *c = *state;

	run_case(c, false);
	if (!has_found(c->rule))
		fail_msg("%s was broken, and the layer found: %s", c->rule, findings());
}

static void keep(void **state)
{
	const struct val_case *c = *state;

	run_case(c, true);
	if (has_found(c->rule) || strstr(findings(), "\"severity\":\"error\"") ||
	    strstr(findings(), "\"severity\":\"leak\""))
		fail_msg("%s was kept, and the layer found: %s", c->rule, findings());
}

static const struct val_case *find_case(const char *rule)
{
	for (size_t i = 0; i < CATEGORIES; i++)
		for (size_t k = 0; k < categories[i].cases->count; k++)
			if (!strcmp(categories[i].cases->item[k].rule, rule))
				return &categories[i].cases->item[k];
	return NULL;
}

static const struct val_case *apart;
static bool apart_keeps;

static void run_alone(void **state)
{
	(void)state;
	run_here(apart_keeps ? apart->keep : apart->breach, apart_keeps);
}

static int run_category(const struct val_cases *cases)
{
	static struct CMUnitTest tests[TESTS_MAX];
	static char names[TESTS_MAX][80];
	size_t n = 0;

	for (size_t i = 0; i < cases->count && n + 2 <= TESTS_MAX; i++) {
		const struct val_case *c = &cases->item[i];

		for (unsigned is_keeping = !c->breach; is_keeping < 2;
		     is_keeping++, n++) {
			(void)snprintf(names[n], sizeof(names[n]), "%s %s", c->rule,
				       is_keeping ? "kept" : "broken");
			tests[n] = (struct CMUnitTest){
				.name = names[n],
				.test_func = is_keeping ? keep : breach,
				.initial_state = (void *)(uintptr_t)c
			};
		}
	}
	return _cmocka_run_group_tests("validate", tests, n, NULL, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest alone[] = { cmocka_unit_test(run_alone) };

	program = argv[0];
	if (argc == 2 && !strcmp(argv[1], "--peer"))
		return val_peer_main();
	if (argc == 4) {
		apart = find_case(argv[2]);
		apart_keeps = !strcmp(argv[3], "keep");
		return apart ? cmocka_run_group_tests(alone, NULL, NULL) : 2;
	}
	for (size_t i = 0; argc == 2 && i < CATEGORIES; i++)
		if (!strcmp(argv[1], categories[i].name))
			return run_category(categories[i].cases);
	return 2;
}
