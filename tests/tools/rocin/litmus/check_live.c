/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check_live.c - judges what `rocin litmus --backend=live --json` has seen.
 *
 * usage: check_live REPORT LIST PERCENT
 *
 * LIST says, a line each, what a live run does not show or shows otherwise: a word, test,
 * knobs ("*": any), condition without blanks ("*": any), and the reason.
 *
 *	never	allowed, and never observed here; a line that is observed after all fails
 *	rare	allowed, and seldom observed
 *	differs	forbidden by the model, and right for a live device
 *
 * Ends with 1 if a forbidden state was seen that is not listed as `differs', or one that
 * is listed as `never'; with 3 if fewer than PERCENT of the allowed states that are not
 * listed were seen, where more runs may show them; with 4 if nothing else is wrong than
 * that no time was left for some verdicts.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* exit status */
	TOO_FEW = 3,
	UNTIMELY = 4,
	LINES_MAX = 256,
	WORD = 96,
};

struct line {
	char kind[WORD], test[WORD], knobs[WORD], condition[WORD];
	bool is_used;
};

static struct line list[LINES_MAX];
static unsigned lines;

static struct {
	unsigned allowed, seen, rare, rare_seen, never, skipped, untimely, failures;
} total;

static int read_list(const char *path)
{
	FILE *file = fopen(path, "r");
	char text[512];

	if (!file)
		return -1;
	while (lines < LINES_MAX && fgets(text, sizeof(text), file)) {
		struct line *l = &list[lines];

		if (*text == '#' || *text == '\n')
			continue;
		if (sscanf(text, "%95s %95s %95s %95s", l->kind, l->test, l->knobs,
			   l->condition) != 4) {
			printf("%s: not understood: %s", path, text);
			fclose(file);
			return -1;
		}
		lines++;
	}
	fclose(file);
	return 0;
}

static bool matches(const char *pattern, const char *word)
{
	return !strcmp(pattern, "*") || !strcmp(pattern, word);
}

static struct line *find(const char *kind, const char *test, const char *knobs,
			 const char *condition)
{
	for (unsigned i = 0; i < lines; i++)
		if (!strcmp(list[i].kind, kind) && matches(list[i].test, test) &&
		    matches(list[i].knobs, knobs) &&
		    matches(list[i].condition, condition)) {
			list[i].is_used = true;
			return &list[i];
		}
	return NULL;
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text) {
		printf("the report has no \"%s\" where one is due\n", key);
		exit(1);
	}
	return text;
}

static void fold(const char *from, char to[WORD])
{
	size_t n = 0;

	for (; *from && n + 1 < WORD; from++)
		if (*from != ' ')
			to[n++] = *from;
	to[n] = '\0';
}

static void fail(const char *what, const char *test, const char *knobs,
		 const char *condition)
{
	printf("FAILED: %s: %s %s %s\n", what, test, knobs, condition);
	total.failures++;
}

static void judge(const char *test, json_t *run, json_t *verdict)
{
	const char *knobs = text_of(run, "knobs"), *expect = text_of(verdict, "expect"),
		   *status = text_of(verdict, "status");
	json_int_t seen = json_integer_value(json_object_get(verdict, "seen"));
	char condition[WORD];

	fold(text_of(verdict, "condition"), condition);
	if (!strcmp(status, "skipped")) {
		total.skipped++;
		total.untimely += strstr(text_of(run, "why"), "no time") != NULL;
		return;
	}
	if (strcmp(expect, "allowed") != 0) {
		if (json_is_true(json_object_get(verdict, "failure")) &&
		    !find("differs", test, knobs, condition))
			fail("forbidden, and seen", test, knobs, condition);
		return;
	}
	if (find("never", test, knobs, condition)) {
		total.never++;
		if (seen > 0)
			fail("listed as never observed, and seen", test, knobs,
			     condition);
		return;
	}
	if (find("rare", test, knobs, condition)) {
		total.rare++;
		total.rare_seen += seen > 0;
		return;
	}
	total.allowed++;
	total.seen += seen > 0;
	if (seen == 0)
		printf("not seen: %s %s %s\n", test, knobs, condition);
}

static void judge_all(json_t *report)
{
	json_t *test, *run, *verdict;
	size_t i, j, k;

	json_array_foreach(json_object_get(report, "tests"), i, test)
		json_array_foreach(json_object_get(test, "runs"), j, run)
			json_array_foreach(json_object_get(run, "verdicts"), k, verdict)
				judge(text_of(test, "name"), run, verdict);
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *report;
	unsigned percent;

	if (argc != 4 || read_list(argv[2]))
		return 2;
	report = json_load_file(argv[1], 0, &error);
	if (!report) {
		printf("%s:%d: %s\n", argv[1], error.line, error.text);
		return 1;
	}
	judge_all(report);
	percent = total.allowed ? 100 * total.seen / total.allowed : 100;
	printf("%u of %u allowed states seen (%u %%); %u of %u that are rare; %u never "
	       "are; %u verdicts skipped\n",
	       total.seen, total.allowed, percent, total.rare_seen, total.rare,
	       total.never, total.skipped);
	json_decref(report);
	if (total.failures > 0)
		return 1;
	if (total.untimely > 0)
		printf("no time for %u verdicts\n", total.untimely);
	if (percent < (unsigned)atoi(argv[3])) {
		printf("fewer than %s %%\n", argv[3]);
		return TOO_FEW;
	}
	return total.untimely > 0 ? UNTIMELY : 0;
}
