/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cmd_fault.c - `rocin fault` changes the rules that rocind keeps, whoever else does
 * so at the same time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocin/stats.h"
#include "tests/tools/rocin/kit/spoken.h"
#include "transport/io/fault/fault_rules.h"
#include "transport/io/rocind/rocind_client.h"

/* ---- A rocind that keeps rules ---- */

static struct {
	bool runs;
	char text[RN_FAULT_TEXT_MAX]; /* empty: no rules */
	uint64_t generation;
	uint8_t from[RN_ROCIND_RULES_MAX]; /* as told last */
	unsigned others;  /* changes of others that are yet to come, each a rule more */
	unsigned tries;	  /* to change them */
	bool has_program; /* with the rules, of which each has hit once */
} rocind;

static struct rn_rocind *const connection = (struct rn_rocind *)&rocind;

struct rn_rocind *__wrap_rn_rocind_connect(const char *rocind_path, char *err,
					   size_t err_len);
struct rn_rocind *__wrap_rn_rocind_connect_running(char *err, size_t err_len);
void __wrap_rn_rocind_close(struct rn_rocind *r);
int __wrap_rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
			  char *err, size_t err_len);
int __wrap_rn_rocind_faults(struct rn_rocind *r, struct rn_rocind_faults *out, char *err,
			    size_t err_len);
int __wrap_rn_rocind_set_faults(struct rn_rocind *r, struct rn_rocind_faults *now, int fd,
				const uint8_t from[RN_ROCIND_RULES_MAX], char *err,
				size_t err_len);

struct rn_rocind *__wrap_rn_rocind_connect(const char *rocind_path, char *err,
					   size_t err_len)
{
	(void)rocind_path;
	(void)err;
	(void)err_len;
	rocind.runs = true;
	return connection;
}

struct rn_rocind *__wrap_rn_rocind_connect_running(char *err, size_t err_len)
{
	(void)err;
	(void)err_len;
	if (rocind.runs)
		return connection;
	errno = ENOENT;
	return NULL;
}

void __wrap_rn_rocind_close(struct rn_rocind *r)
{
	assert_ptr_equal(r, connection);
}

int __wrap_rn_rocind_list(struct rn_rocind *r, rn_rocind_on_client on_client, void *ctx,
			  char *err, size_t err_len)
{
	struct rn_rocind_client client = { .pid = 77, .ibdev = "rocin0" };
	struct rn_stats_page page = { .comm = "ib_write_bw" };
	struct rn_stats_faults counts = { .generation = rocind.generation };

	(void)r;
	(void)err;
	(void)err_len;
	if (!rocind.has_program)
		return 0;
	client.stats_fd = memfd_create("stats", MFD_CLOEXEC);
	for (unsigned i = 0; i < RN_ARRAY_SIZE(counts.hits); i++)
		counts.hits[i] = 1;
	assert_int_equal(pwrite(client.stats_fd, &page, sizeof(page), 0), sizeof(page));
	assert_int_equal(
		pwrite(client.stats_fd, &counts, sizeof(counts), RN_STATS_FAULTS_OFFSET),
		sizeof(counts));
	return on_client(ctx, &client);
}

int __wrap_rn_rocind_faults(struct rn_rocind *r, struct rn_rocind_faults *out, char *err,
			    size_t err_len)
{
	size_t len = strlen(rocind.text);

	(void)r;
	(void)err;
	(void)err_len;
	*out = (struct rn_rocind_faults){ .generation = rocind.generation, .fd = -1 };
	if (len == 0)
		return 0;
	out->fd = memfd_create("rules", MFD_CLOEXEC);
	assert_int_equal(pwrite(out->fd, rocind.text, len, 0), len);
	return 0;
}

int __wrap_rn_rocind_set_faults(struct rn_rocind *r, struct rn_rocind_faults *now, int fd,
				const uint8_t from[RN_ROCIND_RULES_MAX], char *err,
				size_t err_len)
{
	rocind.tries++;
	if (rocind.others > 0) {
		rocind.others--;
		rocind.generation++;
		strcat(rocind.text, "mark\n");
	}
	if (now->generation != rocind.generation) {
		snprintf(err, err_len, "somebody else was first");
		return -EAGAIN;
	}
	memset(rocind.text, 0, sizeof(rocind.text));
	if (fd >= 0)
		assert_true(pread(fd, rocind.text, sizeof(rocind.text) - 1, 0) > 0);
	memcpy(rocind.from, from, sizeof(rocind.from));
	rocind.generation++;
	return __wrap_rn_rocind_faults(r, now, err, err_len);
}

/* Not what is tested. */
int rn_cmd_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return RN_EXIT_FAILURE;
}

static int fresh(void **state)
{
	(void)state;
	memset(&rocind, 0, sizeof(rocind));
	return 0;
}

/* Rules that are there. */
static void there_are(const char *text)
{
	rocind.runs = true;
	rocind.generation = 1;
	strcpy(rocind.text, text);
}

#define FAULT(...) RUN(rn_cmd_fault, __VA_ARGS__)

/* ---- Tests ---- */

static void rules_are_added_behind_those_that_are_there(void **state)
{
	(void)state;
	assert_int_equal(FAULT("drop nth=3", "kill"), 0);
	assert_string_equal(rocind.text, "seed=1\ndrop nth=3\nkill\n");
	assert_int_equal(FAULT("mark; seed=7"), 0);
	assert_string_equal(rocind.text, "seed=7\ndrop nth=3\nkill\nmark\n");
	assert_int_equal(rocind.from[1], 1);
	assert_int_equal(rocind.from[2], 255);
}

/* In whatever order they are given: no number changes while others are removed. */
static void rules_are_removed_by_the_numbers_that_are_listed(void **state)
{
	static const char *const orders[][2] = { { "1", "3" }, { "3", "1" } };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		there_are("drop\nkill\ndelay=2ms\nmark\n");
		assert_int_equal(FAULT("--remove", orders[i][0], "-r", orders[i][1]), 0);
		assert_string_equal(rocind.text, "seed=1\nkill\nmark\n");
		assert_int_equal(rocind.from[0], 1);
		assert_int_equal(rocind.from[1], 3);
	}
}

static void a_number_that_is_given_twice_is_one_rule(void **state)
{
	(void)state;
	there_are("drop\nkill\nmark\n");
	assert_int_equal(FAULT("-r", "1", "-r", "3", "-r", "1"), 0);
	assert_string_equal(rocind.text, "seed=1\nkill\n");
	there_are("drop\nkill\n");
	assert_int_equal(FAULT("-r", "2", "-r", "2"), 0);
	assert_string_equal(rocind.text, "seed=1\ndrop\n");
}

static void a_number_that_is_none_changes_nothing(void **state)
{
	(void)state;
	there_are("drop\nkill\n");
	assert_int_equal(FAULT("-r", "1", "-r", "3"), RN_EXIT_FAILURE);
	assert_string_equal(complaint, "there is no rule 3; `rocin fault` lists them");
	assert_string_equal(rocind.text, "drop\nkill\n");
}

static void clearing_leaves_neither_rules_nor_their_seed(void **state)
{
	(void)state;
	there_are("seed=9\ndrop\nkill\n");
	assert_int_equal(FAULT("--clear", "mark"), 0);
	assert_string_equal(rocind.text, "seed=1\nmark\n");
	assert_int_equal(rocind.from[0], 255);
	assert_int_equal(FAULT("--clear"), 0);
	assert_string_equal(rocind.text, "");
}

static void what_others_change_meanwhile_is_kept(void **state)
{
	(void)state;
	there_are("drop\n");
	rocind.others = 5;
	assert_int_equal(FAULT("kill"), 0);
	assert_int_equal(rocind.tries, 6);
	assert_string_equal(rocind.text,
			    "seed=1\ndrop\nmark\nmark\nmark\nmark\nmark\nkill\n");
}

/* Who changes them without end would otherwise keep everybody here. */
static void twenty_changes_of_others_are_enough(void **state)
{
	(void)state;
	there_are("drop\n");
	rocind.others = 60;
	assert_int_equal(FAULT("kill"), RN_EXIT_FAILURE);
	assert_int_equal(rocind.tries, 20);
	assert_string_equal(complaint, "somebody else was first");
	assert_null(strstr(rocind.text, "kill"));
}

static void without_rocind_there_are_no_rules(void **state)
{
	(void)state;
	assert_int_equal(FAULT("--list"), 0);
	assert_string_equal(printed, "there are no rules about faults\n");
	assert_int_equal(FAULT("--clear"), 0);
	assert_string_equal(printed, "");
	assert_int_equal(FAULT("--remove", "1"), RN_EXIT_FAILURE);
	assert_false(rocind.runs);
}

static void each_rule_is_listed_with_what_it_hit(void **state)
{
	(void)state;
	there_are("seed=4\ndrop nth=3\nkill\n");
	rocind.has_program = true;
	assert_int_equal(FAULT("--list"), 0);
	assert_non_null(strstr(printed, "seed 4\n"));
	assert_non_null(strstr(printed, "  1          0          1  drop nth=3\n"));
	assert_non_null(strstr(printed, "  2          0          1  kill\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(rules_are_added_behind_those_that_are_there,
				       fresh),
		cmocka_unit_test_setup(rules_are_removed_by_the_numbers_that_are_listed,
				       fresh),
		cmocka_unit_test_setup(a_number_that_is_given_twice_is_one_rule, fresh),
		cmocka_unit_test_setup(a_number_that_is_none_changes_nothing, fresh),
		cmocka_unit_test_setup(clearing_leaves_neither_rules_nor_their_seed,
				       fresh),
		cmocka_unit_test_setup(what_others_change_meanwhile_is_kept, fresh),
		cmocka_unit_test_setup(twenty_changes_of_others_are_enough, fresh),
		cmocka_unit_test_setup(without_rocind_there_are_no_rules, fresh),
		cmocka_unit_test_setup(each_rule_is_listed_with_what_it_hit, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
