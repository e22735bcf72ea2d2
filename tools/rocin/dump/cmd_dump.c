/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_dump.c - `rocin dump FILE`: prints, checks and draws the packets of a capture. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump.h"
#include "ladder.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"

enum {
	EXIT_VIOLATIONS = 2
};

struct dump_args {
	struct rn_dump_source source;
	bool check, rules, stats, json, ladder;
	const char *page, *picture; /* names of files to write, or NULL */
};

enum {
	KEY_CHECK = 0x100,
	KEY_HTML,
	KEY_LADDER,
	KEY_STATS,
	KEY_SVG,
	KEY_STRICT,
	KEY_COPIES,
	KEY_QP,
	KEY_RULES,
};

static const struct argp_option options[] = {
	{ "check", KEY_CHECK, NULL, 0,
	  "Print only packets that break a rule; end with 2 if one is a violation", 0 },
	{ "copies", KEY_COPIES, NULL, 0,
	  "Show what both ends captured twice, as it left and as it arrived", 0 },
	{ "count", 'c', "N", 0, "Stop after N packets", 0 },
	{ "html", KEY_HTML, "FILE", 0,
	  "Write a page: rules that were broken, plots, sequence diagrams", 0 },
	{ "json", 'j', NULL, 0, "Print JSON: an object per packet and line", 0 },
	{ "ladder", KEY_LADDER, NULL, 0, "Draw the exchange as a sequence diagram", 0 },
	{ "qp", KEY_QP, "QPN", 0,
	  "Only packets of this queue pair and of the one that it talks to", 0 },
	{ "read", 'r', "FILE", 0, "The same as FILE alone, as for tcpdump", 0 },
	{ "rules", KEY_RULES, NULL, 0, "Print the rules that are checked", 0 },
	{ "stats", KEY_STATS, NULL, 0,
	  "Print, for each queue pair, what went, what came back, how long it took", 0 },
	{ "svg", KEY_SVG, "FILE", 0,
	  "Write the sequence diagram of the longest exchange as a picture", 0 },
	{ "strict", KEY_STRICT, NULL, 0,
	  "Network and capture lose, double and reorder nothing: each suspicion is a "
	  "violation",
	  0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump_args *args = state->input;

	switch (key) {
	case 'c':
		args->source.count = rn_option_number(state, "count", arg, 1, UINT32_MAX);
		return 0;
	case KEY_QP:
		args->source.qp = rn_option_number(state, "qp", arg, 0, RN_QPN_MASK);
		args->source.has_qp = true;
		return 0;
	case KEY_CHECK:
		args->check = true;
		return 0;
	case KEY_COPIES:
		args->source.has_copies = true;
		return 0;
	case KEY_STRICT:
		args->source.is_strict = true;
		return 0;
	case KEY_HTML:
		args->page = arg;
		return 0;
	case KEY_SVG:
		args->picture = arg;
		return 0;
	case KEY_LADDER:
		args->ladder = true;
		return 0;
	case KEY_STATS:
		args->stats = true;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case KEY_RULES:
		args->rules = true;
		return 0;
	case 'r':
	case ARGP_KEY_ARG:
		if (args->source.file)
			argp_error(state, "one FILE at a time");
		args->source.file = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (args->rules || args->source.file)
			return 0;
		argp_error(state, "which FILE? \"-\" is standard input");
		return EINVAL;
	case ARGP_KEY_END:
		if (args->check + args->stats + args->ladder > 1)
			argp_error(state, "--check, --ladder and --stats: one of them");
		if (args->json && (args->check || args->ladder))
			argp_error(state, "--json shows packets, or with --stats counts");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "FILE",
	.doc = "Print the packets of RoCE (v1 and v2) and InfiniBand in a pcap or pcapng "
	       "FILE, one line each, with what is sent again and why, and each rule of "
	       "the "
	       "transport that a packet breaks. Packets of any device will do.",
};

static void print_rules(void)
{
	for (unsigned i = 0; i < RN_RULE_COUNT; i++) {
		const struct rn_watch_rule_info *r = &rn_watch_rule_info[i];

		printf("%-14s %-9s %-10s %s (IBTA %s)\n", r->name,
		       r->level == RN_WATCH_VIOLATION ? "violation" : "suspicion",
		       r->test, r->says, r->source);
	}
}

/* The forms of output in which the capture is shown. */
struct show {
	const struct dump_args *args;
	/* how packets are written to standard output; form.packet may be NULL: they are
	 * not
	 */
	struct rn_dump_form form;
	struct rn_dump_lines lines;
	struct rn_ladder_text ladder;
	struct rn_dump_page *page; /* the HTML page to be written; NULL: none */
};

static bool show_packet(void *ctx, const struct rn_dump_packet *d)
{
	struct show *s = ctx;

	if (s->page)
		rn_dump_page_packet(s->page, d);
	return s->form.packet ? s->form.packet(s->form.ctx, d) : true;
}

static void show_arrival(void *ctx, const struct rn_dump_arrival *a)
{
	struct show *s = ctx;

	if (s->page)
		rn_dump_page_arrival(s->page, a);
	if (s->form.arrival)
		s->form.arrival(s->form.ctx, a);
}

static int complain_of(const char *path, int rc)
{
	if (rc == -ENODATA)
		rn_complain("%s: no two ends of an exchange are in the capture", path);
	else if (rc)
		rn_complain("%s: %s", path, strerror(-rc));
	return rc;
}

static int show_end(void *ctx, const struct rn_watch *w)
{
	struct show *s = ctx;
	int rc = s->form.end ? s->form.end(s->form.ctx, w) : 0;

	if (!rc && s->args->page)
		rc = complain_of(s->args->page,
				 rn_dump_page_write(s->page, w, s->args->page));
	if (!rc && s->args->picture)
		rc = complain_of(s->args->picture,
				 rn_dump_page_write_ladder(s->page, w, s->args->picture));
	return rc;
}

static struct rn_dump_form choose_form(struct show *s)
{
	const struct dump_args *args = s->args;

	if (args->stats)
		return (struct rn_dump_form){ .end = args->json ? rn_dump_json_stats
								: rn_dump_stats_print,
					      .ctx = stdout };
	if (args->json)
		return (struct rn_dump_form){ .packet = rn_dump_json_packet,
					      .arrival = rn_dump_json_arrival,
					      .ctx = stdout };
	if (args->ladder)
		return (struct rn_dump_form){ .packet = rn_ladder_print,
					      .arrival = rn_ladder_print_arrival,
					      .ctx = &s->ladder };
	if (!args->check && (args->page || args->picture))
		return (struct rn_dump_form){ 0 };
	return (struct rn_dump_form){ .packet = rn_dump_line,
				      .arrival = rn_dump_line_arrival,
				      .ctx = &s->lines };
}

/* If the capture is no regular file, such as a pipe, flushes standard output after each
 * line, because a user may be watching while packets come.
 */
static void flush_lines_of_pipes(const char *file)
{
	struct stat st;
	int rc = strcmp(file, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(file, &st);

	if (rc == 0 && !S_ISREG(st.st_mode))
		setvbuf(stdout, NULL, _IOLBF, 0);
}

/* Returns the width of the terminal in columns. Returns 0 if standard output is no
 * terminal, or if its width is not known.
 */
static unsigned columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col == 0)
		return 0;
	return size.ws_col > RN_LADDER_COLUMNS_MIN ? size.ws_col : RN_LADDER_COLUMNS_MIN;
}

static int show_capture(const struct dump_args *args, struct rn_dump_total *total)
{
	struct show s = {
		.args = args,
		.lines = { .to = stdout, .findings_only = args->check },
		.ladder = { .to = stdout,
			    .has_colour = isatty(STDOUT_FILENO) == 1,
			    .columns = columns(),
			    .ladder = RN_WATCH_NONE },
	};
	const struct rn_dump_form form = { show_packet, show_arrival, show_end, &s };
	int rc;

	s.form = choose_form(&s);
	flush_lines_of_pipes(args->source.file);
	if (args->page || args->picture) {
		s.page = rn_dump_page_open(args->source.file);
		if (!s.page) {
			rn_complain("out of memory");
			return -ENOMEM;
		}
	}
	rc = rn_dump_read(&args->source, &form, total);
	rn_dump_page_close(s.page);
	return rc;
}

/* Reports how many packets were not parsed although a RoCEv2 device may have sent them.
 */
static void tell_skipped(const struct dump_args *args, const struct rn_dump_total *total)
{
	static const char *const why[RN_PACKET_SKIP_COUNT] = {
		[RN_PACKET_SKIP_FRAGMENT] = "that are later fragments of UDP packets: "
					    "only the first has the headers",
		[RN_PACKET_SKIP_EXTENSION] =
			"with IPv6 extension headers, which RoCEv2 does not have",
		[RN_PACKET_SKIP_EMPTY] = "without payload, which ask whether anybody has "
					 "the port",
	};

	for (unsigned i = 0; i < RN_PACKET_SKIP_COUNT; i++)
		if (why[i] && total->skipped[i])
			fprintf(stderr,
				"rocin: %s: passed over %" PRIu64 " packet%s %s\n",
				args->source.file, total->skipped[i],
				total->skipped[i] == 1 ? "" : "s", why[i]);
}

/* Explains why no packet was shown, and which packets the capture contains. */
static void tell_nothing(const struct dump_args *args, const struct rn_dump_total *total)
{
	char text[RN_DUMP_OTHERS_MAX];

	if (total->roce) {
		rn_complain("%s holds no packet of this queue pair; rocin dump "
			    "--stats lists those that it has",
			    args->source.file);
		return;
	}
	rn_dump_others_text(total->other, text);
	rn_complain("%s holds no packet of RoCE or InfiniBand (RoCE v2 is UDP to port "
		    "4791, v1 "
		    "EtherType 0x8915): %s",
		    args->source.file, text);
}

/* Reports packets whose link type is not supported. Returns false if the capture has only
 * such packets.
 */
static bool tell_link(const struct dump_args *args, const struct rn_dump_total *total)
{
	if (!total->no_link)
		return true;
	rn_complain("%s: link type %d is not one that carries RoCE or InfiniBand here",
		    args->source.file, total->link_type);
	return total->packets > 0;
}

int rn_cmd_dump(int argc, char **argv)
{
	struct dump_args args = { 0 };
	struct rn_dump_total total;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.rules) {
		print_rules();
		return 0;
	}
	if (show_capture(&args, &total))
		return RN_EXIT_FAILURE;
	tell_skipped(&args, &total);
	if (!tell_link(&args, &total))
		return RN_EXIT_FAILURE;
	if (total.packets == 0)
		tell_nothing(&args, &total);
	if (args.check)
		printf("%" PRIu64 " packets, %" PRIu64 " violations, %" PRIu64
		       " suspicions\n",
		       total.packets, total.violations, total.suspicions);
	if (args.check && total.violations)
		return EXIT_VIOLATIONS;
	return total.packets ? 0 : RN_EXIT_FAILURE;
}
