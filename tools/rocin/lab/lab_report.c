/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lab_report.c - see lab_report.h */
#include "lab_report.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lab_net.h"

void rn_lab_say(const struct rn_lab_args *args, const char *fmt, ...)
{
	va_list ap;

	if (args->quiet)
		return;
	fputs("rocin lab: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Rules are the devices' own, so what else crosses the cable is spared. */
static const char *means(unsigned by)
{
	if (by & RN_LAB_BY_NETEM)
		return ", by netem";
	if (by & RN_LAB_BY_RULES && by & RN_LAB_BY_TBF)
		return ": the rate by tbf, the rest by rules about RDMA packets alone, "
		       "since "
		       "this kernel has no netem";
	if (by & RN_LAB_BY_RULES)
		return ", by rules about RDMA packets alone, since this kernel has no "
		       "netem";
	return ", by tbf";
}

void rn_lab_report_begin(const struct rn_lab_args *args, unsigned by)
{
	char link[256], to[64] = "", more[64] = "";
	unsigned n = args->hosts;

	if (n > 1) {
		snprintf(to, sizeof(to), " to h%u", n);
		snprintf(more, sizeof(more), " to " RN_LAB_NET4 "%u, " RN_LAB_NET6 "%x",
			 n, n);
	}
	rn_lab_link_text(&args->link, link, sizeof(link));
	rn_lab_say(args,
		   "h1%s: " RN_LAB_NET4 "1, " RN_LAB_NET6 "1%s on " RN_LAB_INTERFACE
		   ", MTU %u%s%s%s",
		   to, more, args->link.mtu, *link ? "; " : "", link,
		   *link ? means(by) : "");
}

static double seconds(rn_ns time)
{
	return (double)time / 1e9;
}

void rn_lab_report_end(const struct rn_lab_args *args, const struct rn_lab_program *all,
		       unsigned count, const struct rn_lab_program *failed, rn_ns time)
{
	unsigned good = 0;

	for (unsigned i = 0; i < count; i++)
		good += all[i].has_ended && all[i].status == 0;
	if (!failed)
		rn_lab_say(args, "%u of %u ended well, %.2f s", good, count,
			   seconds(time));
	else
		rn_lab_say(
			args,
			"%u of %u ended well, %.2f s; first h%u failed, with status %d "
			"after %.2f s",
			good, count, seconds(time), failed->command->host + 1,
			failed->status, seconds(failed->end - failed->begin));
}

static json_t *program_json(const struct rn_lab_program *p)
{
	char host[16], address[32];
	json_t *argv = json_array();

	snprintf(host, sizeof(host), "h%u", p->command->host + 1);
	snprintf(address, sizeof(address), RN_LAB_NET4 "%u", p->command->host + 1);
	for (char **arg = p->command->argv; *arg; arg++)
		json_array_append_new(argv, json_string(*arg));
	return json_pack("{s:s, s:s, s:o, s:o, s:f}", "host", host, "address", address,
			 "command", argv, "status",
			 p->has_ended ? json_integer(p->status) : json_null(), "seconds",
			 p->pid > 0 ? seconds(p->end - p->begin) : 0.0);
}

int rn_lab_report_json(const struct rn_lab_args *args, const struct rn_lab_program *all,
		       unsigned count, unsigned by, int status, rn_ns time)
{
	bool is_stdout = strcmp(args->json, "-") == 0;
	FILE *f = is_stdout ? stdout : fopen(args->json, "we");
	json_t *list = json_array(), *report;
	char link[256];
	int rc;

	rn_lab_link_text(&args->link, link, sizeof(link));
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(list, program_json(&all[i]));
	report = json_pack("{s:i, s:i, s:s, s:s, s:i, s:f, s:o}", "hosts",
			   (int)args->hosts, "mtu", (int)args->link.mtu, "link", link,
			   "by",
			   by & RN_LAB_BY_NETEM	  ? "netem"
			   : by & RN_LAB_BY_RULES ? "rules"
			   : by & RN_LAB_BY_TBF	  ? "tbf"
						  : "nothing",
			   "status", status, "seconds", seconds(time), "programs", list);
	rc = !f || !report || json_dumpf(report, f, JSON_INDENT(2)) ||
	     fputc('\n', f) == EOF;
	if (f && !is_stdout)
		rc |= fclose(f) != 0;
	json_decref(report);
	if (!rc)
		return 0;
	rn_complain("%s cannot be written: %s", args->json, strerror(errno));
	return -EIO;
}
