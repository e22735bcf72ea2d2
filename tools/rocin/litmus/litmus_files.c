/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* litmus_files.c - reads litmus tests into a report, and frees it. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "litmus_files.h"
#include "tools/rocin/common/cmd.h"

enum {
	FILE_MAX = 4 << 20, /* bytes */
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

static int parse_text(struct rn_report *r, const char *file, const char *text, size_t len)
{
	struct rn_litmus_test *test = malloc(sizeof(*test));
	struct rn_litmus_parser p;
	size_t before = r->test_count;
	int rc = test ? 1 : -ENOMEM;

	rn_litmus_parser_init(&p, text, len);
	while (rc == 1) {
		rc = rn_litmus_parse(&p, test);
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
	FILE *f = fopen(file, "re");
	char *text = malloc(FILE_MAX);
	size_t len = 0;
	int rc = 0;

	if (!f || !text)
		rc = -errno;
	if (!rc)
		len = fread(text, 1, FILE_MAX, f);
	if (!rc && ferror(f))
		rc = -EIO;
	if (!rc && len == FILE_MAX)
		rc = -EFBIG;
	if (f)
		fclose(f);
	if (rc)
		rn_complain("%s: %s", file, strerror(-rc));
	else
		rc = parse_text(r, file, text, len);
	free(text);
	return rc;
}

/* What is certainly no file is passed over; opening a pipe would wait for its writer. */
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

int rn_litmus_read(struct rn_report *r, const char *path)
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

void rn_report_free(struct rn_report *r)
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
