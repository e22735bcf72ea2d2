/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_formats.c - `rocin formats': prints the packet formats of InfiniBand, RoCE v1 and
 * RoCEv2 (over IPv4 and IPv6) side by side.
 */
#include <errno.h>
#include <string.h>

#include "formats.h"
#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"

struct formats_args {
	const char *page, *picture; /* names of files to write, or NULL */
};

enum {
	KEY_HTML = 0x100,
	KEY_SVG,
};

static const struct argp_option options[] = {
	{ "html", KEY_HTML, "FILE", 0, "Write a page with the picture and the tables",
	  0 },
	{ "svg", KEY_SVG, "FILE", 0, "Write the picture alone", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct formats_args *args = state->input;

	switch (key) {
	case KEY_HTML:
		args->page = arg;
		return 0;
	case KEY_SVG:
		args->picture = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is one word too many", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Show the four formats of packets side by side, InfiniBand, RoCE v1, and "
	       "RoCE v2 over IPv4 and IPv6: their headers, what of them the ICRC covers, "
	       "what else is different and why. `rocin dump' reads all of them.",
};

/* Creates the file @path, whose content @write writes. Returns 0, or an exit status after
 * an error message.
 */
static int write_file(const char *path, void (*write)(FILE *to))
{
	FILE *to = fopen(path, "we");
	int failed;

	if (to)
		write(to);
	failed = !to || ferror(to);
	if ((to && fclose(to)) || failed) {
		rn_complain("%s: %s", path, strerror(errno));
		return RN_EXIT_FAILURE;
	}
	return 0;
}

int rn_cmd_formats(int argc, char **argv)
{
	struct formats_args args = { 0 };
	int rc = 0;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (!args.page && !args.picture)
		rn_formats_print(stdout);
	if (args.page)
		rc = write_file(args.page, rn_formats_page);
	if (!rc && args.picture)
		rc = write_file(args.picture, rn_formats_picture);
	return rc;
}
