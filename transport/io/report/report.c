/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report.c - writes findings as text, JSON and JUnit; see report.h. */
#include "report.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stacks.h"
#include "transport/io/host/write_all.h"
#include "transport/io/process/stack.h"

/* ----------------------------------------------------- words of the options */
static bool set_exit_code(struct rn_report_options *o, const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value > 255)
		return false;
	o->exit_code = (int)value;
	return true;
}

static bool set_path(char path[RN_REPORT_PATH], const char *text)
{
	if (!*text || strlen(text) >= RN_REPORT_PATH)
		return false;
	memcpy(path, text, strlen(text) + 1);
	return true;
}

bool rn_report_option(struct rn_report_options *o, const char *word)
{
	const struct {
		const char *name;
		char *path;
	} paths[] = { { "log=", o->log },
		      { "json=", o->json },
		      { "junit=", o->junit },
		      { "suppress=", o->suppress } };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (strncmp(word, paths[i].name, strlen(paths[i].name)) == 0)
			return set_path(paths[i].path, word + strlen(paths[i].name));
	if (strncmp(word, "exitcode=", 9) == 0)
		return set_exit_code(o, word + 9);
	if (strcmp(word, "symbolize=off") == 0)
		o->is_raw = true;
	else if (strcmp(word, "summary") == 0)
		o->has_summary = true;
	else if (strcmp(word, "break") == 0)
		o->is_breaking = true;
	else
		return false;
	return true;
}

/* ------------------------------------------------------------- output files */
static int open_file(const struct rn_report *r, const char *path, int flags)
{
	const char *percent = strstr(path, "%p");
	char name[RN_REPORT_PATH + 16];
	int fd;

	if (percent)
		snprintf(name, sizeof(name), "%.*s%d%s", (int)(percent - path), path,
			 (int)getpid(), percent + 2);
	else
		snprintf(name, sizeof(name), "%s", path);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
	if (fd < 0)
		fprintf(stderr, "rocin: %s: %s: %s\n", r->setting, name, strerror(errno));
	return fd;
}

void rn_report_open(struct rn_report *r, const struct rn_rule_names *rules)
{
	const struct rn_report_options *o = &r->options;
	char err[512];

	rn_stacks_init();
	r->process = getpid();
	r->log_fd = *o->log ? open_file(r, o->log, O_APPEND) : STDERR_FILENO;
	if (r->log_fd < 0)
		r->log_fd = STDERR_FILENO;
	r->json_fd = *o->json ? open_file(r, o->json, O_APPEND) : -1;
	r->junit_fd = *o->junit ? open_file(r, o->junit, O_TRUNC) : -1;
	if (*o->suppress &&
	    rn_suppress_read(&r->suppress, o->suppress, rules, err, sizeof(err)))
		fprintf(stderr, "rocin: %s: %s\n", r->setting, err);
}

/* ----------------------------------------------------- the log and its text */
static void __attribute__((format(printf, 4, 0)))
add_v(char *text, size_t len, size_t *used, const char *fmt, va_list ap)
{
	size_t room = len - *used;
	int n = vsnprintf(text + *used, room, fmt, ap);

	if (n > 0)
		*used += (size_t)n < room ? (size_t)n : room - 1;
}

static void __attribute__((format(printf, 4, 5)))
add(char *text, size_t len, size_t *used, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_v(text, len, used, fmt, ap);
	va_end(ap);
}

void rn_report_add(struct rn_report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_v(r->text, sizeof(r->text), &r->used, fmt, ap);
	va_end(ap);
}

void rn_report_line(struct rn_report_body *b, const char *label, const char *fmt, ...)
{
	size_t from;
	va_list ap;

	add(b->text, sizeof(b->text), &b->used, "  %-10s  ", label);
	from = b->used;
	va_start(ap, fmt);
	add_v(b->text, sizeof(b->text), &b->used, fmt, ap);
	va_end(ap);
	for (size_t i = from; i < b->used; i++) {
		static const char indent[] = "              ";
		size_t len = sizeof(indent) - 1;

		if (b->text[i] != '\n' || b->used + len >= sizeof(b->text))
			continue;
		memmove(b->text + i + 1 + len, b->text + i + 1, b->used - i - 1);
		memcpy(b->text + i + 1, indent, len);
		b->used += len;
		i += len;
	}
	b->text[b->used] = '\0';
	add(b->text, sizeof(b->text), &b->used, "\n");
}

void rn_report_stack(struct rn_report_body *b, const char *what, uint32_t stack)
{
	if (!stack)
		return;
	rn_report_line(b, "stack", "%s", what);
	b->used += rn_stacks_text(stack, b->text + b->used, sizeof(b->text) - b->used);
	b->text[b->used] = '\0';
}

/* Writes the text of the finding into r->named, with functions and lines in place of its
 * frames. Returns false if these cannot be found.
 */
static bool find_lines(struct rn_report *r)
{
	ssize_t len;

	if (r->options.is_raw || !memmem(r->text, r->used, "\n    #0 ", 8))
		return false;
	len = rn_stack_symbolize(r->text, r->used, r->named, sizeof(r->named) - 1);
	if (len <= 0 && !r->is_told)
		rn_report_add(
			r,
			"  stack       without lines: rocin-symbolize, which finds them, "
			"gave no answer (%s)\n",
			strerrordesc_np((int)-len));
	r->is_told = true;
	if (len <= 0)
		return false;
	r->named[len] = '\0';
	return true;
}

/* Returns the text of the report as it will be written. */
static const char *final_text(struct rn_report *r)
{
	bool has_lines = find_lines(r);

	r->text[r->used] = '\0';
	return has_lines ? r->named : r->text;
}

static void write_log(struct rn_report *r, const char *text)
{
	(void)rn_write_all(r->log_fd, text, strlen(text));
	r->used = 0;
}

void rn_report_flush(struct rn_report *r)
{
	write_log(r, final_text(r));
}

/* ----------------------------------------------------------- output as JSON */
struct json {
	struct rn_report *r;
	size_t used;
};

static void put(struct json *j, const char *text)
{
	add(j->r->escaped, sizeof(j->r->escaped), &j->used, "%s", text);
}

/* Puts a string in quotes. A run of blanks and newlines becomes one blank. */
static void put_string(struct json *j, const char *text, size_t len)
{
	bool was_blank = true;

	put(j, "\"");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool is_blank = c == ' ' || c == '\n';

		if (is_blank && (was_blank || i + 1 == len))
			continue;
		was_blank = is_blank;
		if (is_blank)
			put(j, " ");
		else if (c == '"' || c == '\\')
			put(j, (char[]){ '\\', (char)c, 0 });
		else if (c < 0x20 || c == 0x7f)
			put(j, "?");
		else
			put(j, (char[]){ (char)c, 0 });
	}
	put(j, "\"");
}

static void put_member(struct json *j, const char *name, const char *text)
{
	put(j, ",\"");
	put(j, name);
	put(j, "\":");
	put_string(j, text, strlen(text));
}

static const char *end_of_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end : at + strlen(at);
}

static bool is_frame(const char *line)
{
	return strncmp(line, "    #", 5) == 0;
}

/* Puts the frames that begin at @at into an array. Returns where they end. */
static const char *put_frames(struct json *j, const char *at)
{
	const char *separator = "";

	put(j, ",\"frames\":[");
	while (is_frame(at)) {
		const char *end = end_of_line(at);
		const char *words = at + 5 + strspn(at + 5, "0123456789") + 1;

		put(j, separator);
		put_string(j, words, (size_t)(end - words));
		separator = ",";
		at = *end ? end + 1 : end;
	}
	put(j, "]");
	return at;
}

/* Puts the lines of a report, with their labels, into an array. */
static void put_lines(struct json *j, const char *at)
{
	const char *separator = "";

	put(j, ",\"lines\":[");
	while (*at) {
		const char *label = at + strspn(at, " ");
		size_t label_len = strcspn(label, " \n");
		const char *text = label + label_len;
		const char *end = end_of_line(at);

		while (strncmp(end, "\n              ", 15) == 0)
			end = end_of_line(end + 1);
		put(j, separator);
		put(j, "{\"label\":");
		put_string(j, label, label_len);
		put(j, ",\"text\":");
		put_string(j, text, (size_t)(end - text));
		at = *end ? end + 1 : end;
		if (is_frame(at))
			at = put_frames(j, at);
		put(j, "}");
		separator = ",";
	}
	put(j, "]");
}

/* Appends the finding to the JSON file, as an object in one line. */
static void write_json(struct rn_report *r, const struct rn_report_finding *f,
		       const char *report)
{
	struct json j = { .r = r };
	char number[64];

	if (r->json_fd < 0)
		return;
	snprintf(number, sizeof(number), "{\"finding\":%u,\"process\":%d", r->count,
		 (int)r->process);
	put(&j, number);
	put_member(&j, "rule", f->rule);
	put_member(&j, "severity", f->severity);
	put_member(&j, "what", f->what);
	report = end_of_line(report);
	put_lines(&j, *report ? report + 1 : report);
	put(&j, "}\n");
	(void)rn_write_all(r->json_fd, r->escaped, j.used);
}

/* ---------------------------------------------------------- output as JUnit */
static void put_xml(struct json *j, const char *text)
{
	for (; *text; text++) {
		char c[] = { *text, 0 };

		if (*c == '<')
			put(j, "&lt;");
		else if (*c == '&')
			put(j, "&amp;");
		else if (*c == '"')
			put(j, "&quot;");
		else if ((unsigned char)*c < 0x20 && *c != '\n')
			put(j, "?");
		else
			put(j, c);
	}
}

/* Writes the parts of the JUnit file that precede and follow the findings. */
static void write_junit_ends(struct rn_report *r)
{
	static const char tail[] = "</testsuite>\n";
	char head[256];
	int len = snprintf(head, sizeof(head),
			   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<testsuite name=\"%s\" tests=\"%6u\" failures=\"%6u\" "
			   "skipped=\"%6u\">\n",
			   r->suite, r->count + r->suppressed, r->count, r->suppressed);

	if (!r->junit_end)
		r->junit_end = len;
	(void)!pwrite(r->junit_fd, head, (size_t)len, 0);
	(void)!pwrite(r->junit_fd, tail, sizeof(tail) - 1, r->junit_end);
}

/* Appends the finding to the JUnit file. @report: the text of the finding; NULL if the
 * finding is suppressed.
 */
static void write_junit(struct rn_report *r, const struct rn_report_finding *f,
			const char *report)
{
	struct json j = { .r = r };

	if (r->junit_fd < 0)
		return;
	if (!r->junit_end)
		write_junit_ends(r);
	put(&j, "<testcase classname=\"");
	put_xml(&j, program_invocation_short_name);
	put(&j, "\" name=\"");
	put_xml(&j, f->rule);
	put(&j, report ? "\"><failure type=\"" : "\"><skipped type=\"");
	put_xml(&j, f->severity);
	put(&j, "\" message=\"");
	put_xml(&j, report ? f->what : "suppressed");
	put(&j, "\">");
	put_xml(&j, report ? report : "");
	put(&j, report ? "</failure></testcase>\n" : "</skipped></testcase>\n");
	(void)!pwrite(r->junit_fd, r->escaped, j.used, r->junit_end);
	r->junit_end += (off_t)j.used;
	write_junit_ends(r);
}

/* ------------------------------------------------------ writing of findings */
/* Return: true if a suppression names this frame, which is a line such as "#0 0x55d0c214
 * in start /home/me/server.c:118:7".
 */
static bool is_suppressed_frame(const struct rn_report *r, const char *rule,
				const char *line)
{
	char function[RN_SUPPRESS_WORD], *slash;
	unsigned long long at;
	Dl_info info = { 0 };

	if (sscanf(line, " #%*u %llx in %95[^ +\n]", &at, function) != 2)
		return false;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer was printed */
	if (!dladdr((void *)(uintptr_t)at, &info) || !info.dli_fname)
		info.dli_fname = "";
	slash = strrchr(info.dli_fname, '/');
	return rn_suppress_has_frame(&r->suppress, rule, function,
				     slash ? slash + 1 : info.dli_fname);
}

/* Return: true if a suppression names a frame of the first stack in the report, which is
 * that of the call.
 */
static bool is_suppressed_text(const struct rn_report *r, const char *rule,
			       const char *text)
{
	const char *at = r->suppress.count ? strstr(text, "\n    #") : NULL;

	for (; at && is_frame(at + 1); at = strchr(at + 1, '\n'))
		if (is_suppressed_frame(r, rule, at + 1))
			return true;
	return false;
}

static bool leave_out(struct rn_report *r, const struct rn_report_finding *f)
{
	r->suppressed++;
	write_junit(r, f, NULL);
	return false;
}

bool rn_report_write(struct rn_report *r, const struct rn_report_finding *f)
{
	size_t before = r->used;
	const char *report;

	if (rn_suppress_has(&r->suppress, f->rule, f->stack))
		return leave_out(r, f);
	rn_report_add(r, "rocin: finding %u: %s\n%s", r->count + 1, f->what, f->body);
	rn_report_add(r, "  explain     rocin explain %s\n", f->rule);
	report = final_text(r);
	if (is_suppressed_text(r, f->rule, report)) {
		r->used = before;
		return leave_out(r, f);
	}
	r->count++;
	write_log(r, report);
	write_json(r, f, report);
	write_junit(r, f, report);
	if (r->options.is_breaking && r->count == 1)
		(void)raise(SIGTRAP);
	return true;
}

static void say_summary(struct rn_report *r, const struct rn_report_counts *c)
{
	rn_report_add(r, "rocin: %llu finding%s (%llu occurrence%s)", c->findings,
		      c->findings == 1 ? "" : "s", c->occurrences,
		      c->occurrences == 1 ? "" : "s");
	if (c->suppressed)
		rn_report_add(r, ", and %llu suppressed (%llu)", c->suppressed,
			      c->suppressed_occurrences);
	rn_report_add(r, " in %s, process %d\n", program_invocation_short_name,
		      (int)r->process);
}

void rn_report_summary(struct rn_report *r, const struct rn_report_counts *c,
		       bool is_said)
{
	char line[240];
	int len;

	if (is_said)
		say_summary(r, c);
	if (r->junit_fd >= 0)
		write_junit_ends(r);
	if (r->json_fd < 0)
		return;
	len = snprintf(line, sizeof(line),
		       "{\"process\":%d,\"findings\":%llu,\"occurrences\":%llu,"
		       "\"suppressed\":%llu,\"suppressed_occurrences\":%llu}\n",
		       (int)r->process, c->findings, c->occurrences, c->suppressed,
		       c->suppressed_occurrences);
	(void)rn_write_all(r->json_fd, line, (size_t)len);
}
