/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmd_tour.c - `rocin tour': an introduction to RDMA, which runs small programs and
 * explains them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/rocin/common/arguments.h"
#include "tools/rocin/common/cmd.h"
#include "tour.h"

enum {
	OPT_NO_COLOR = 0x200,
	WIDTH_PRESET = 80,
	/* minimum width in columns, which the lists of packets and bytes need */
	WIDTH_MIN = 80,
	WIDTH_MAX = 200,
	WORDS_MAX = 256,
};

struct tour_args {
	bool list, batch, json, no_color;
	/* number of the stop (step of the tour) to show, from 1; 0: all stops */
	unsigned stop;
	unsigned width;
	char words[WORDS_MAX]; /* settings as KEY=VALUE words */
};

static const struct argp_option options[] = {
	{ "list", 'l', NULL, 0, "List the stops and their settings", 0 },
	{ "stop", 's', "STOP", 0, "One stop, by number or name, without asking", 0 },
	{ "batch", 'b', NULL, 0, "All stops, without asking", 0 },
	{ "json", 'j', NULL, 0, "Print JSON, an object for each stop", 0 },
	{ "width", 'w', "COLUMNS", 0, "Write lines of at most so many columns", 0 },
	{ "no-color", OPT_NO_COLOR, NULL, 0, "Write no colours", 0 },
	{ 0 },
};

/* Returns the number of the stop (step of the tour) with the name or number @word,
 * counted from 1. Returns 0 if there is none.
 */
static unsigned find_stop(const char *word)
{
	uint64_t number;

	if (rn_read_number(word, 1, RN_TOUR_STOPS, &number))
		return (unsigned)number;
	for (unsigned i = 0; i < RN_TOUR_STOPS; i++)
		if (!strcmp(rn_tour_stops[i].name, word))
			return i + 1;
	return 0;
}

static void add_words(struct tour_args *args, const char *word)
{
	size_t used = strlen(args->words);

	/* If a setting does not fit, it is cut off; check() then rejects it. */
	snprintf(args->words + used, sizeof(args->words) - used, "%s%s", used ? " " : "",
		 word);
}

static void check(const struct tour_args *args, struct argp_state *state)
{
	struct rn_tour_values v;
	char err[256];

	if (!args->words[0])
		return;
	if (!args->stop)
		argp_error(state, "settings such as %s need --stop", args->words);
	rn_tour_presets(&v, &rn_tour_stops[args->stop - 1]);
	if (rn_tour_set(&v, args->words, err, sizeof(err)))
		argp_error(state, "%s", err);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct tour_args *args = state->input;
	uint64_t width = 0;

	switch (key) {
	case 'l':
		args->list = true;
		return 0;
	case 's':
		args->stop = find_stop(arg);
		if (!args->stop)
			argp_error(state, "there is no stop \"%s\"; --list has them",
				   arg);
		return 0;
	case 'b':
		args->batch = true;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case 'w':
		if (!rn_read_number(arg, WIDTH_MIN, WIDTH_MAX, &width))
			argp_error(state, "\"%s\" is no width from %d to %d", arg,
				   WIDTH_MIN, WIDTH_MAX);
		args->width = (unsigned)width;
		return 0;
	case OPT_NO_COLOR:
		args->no_color = true;
		return 0;
	case ARGP_KEY_ARG:
		add_words(args, arg);
		return 0;
	case ARGP_KEY_END:
		check(args, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[SETTING=VALUE...]",
	.doc = "A tour of RDMA in eight stops: what a program calls, what goes over the "
	       "wire, what PCIe does.\vEach stop runs, and what it claims is checked: "
	       "the status is 0 if all of it was so.",
};

static void print_list(void)
{
	for (unsigned i = 0; i < RN_TOUR_STOPS; i++) {
		const struct rn_tour_stop *s = &rn_tour_stops[i];

		printf("%u  %-9s %s\n", i + 1, s->name, s->title);
		for (unsigned k = 0; k < RN_TOUR_SETTINGS_MAX && s->setting[k].key; k++) {
			const struct rn_tour_setting *x = &s->setting[k];
			char range[64];

			snprintf(range, sizeof(range), "%u..%u", x->min, x->max);
			printf("             %s=%s  %s (%s)\n", x->key, x->preset,
			       x->help, x->words ? x->words : range);
		}
	}
}

static unsigned choose_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < WIDTH_MIN)
		return WIDTH_PRESET;
	/* Lines of more than 100 columns are hard to read. */
	return size.ws_col < 100 ? size.ws_col : 100;
}

/* Returns true if standard output is a terminal that supports escape sequences. */
static bool is_able(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return !(no && *no) && is_able();
}

int rn_cmd_tour(int argc, char **argv)
{
	struct tour_args args = { 0 };
	struct rn_tour_look look;

	if (rn_argp_parse(&argp, argc, argv, 0, &args))
		return RN_EXIT_USAGE;
	if (args.list) {
		print_list();
		return 0;
	}
	look = (struct rn_tour_look){
		.width = args.width ? args.width : choose_width(),
		.has_colour = !args.no_color && wants_colour(),
		.can_erase = is_able(),
		.is_json = args.json,
		.is_asking = !args.batch && !args.stop && !args.json &&
			     isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
	};
	if (args.stop)
		return rn_tour_walk(&look, args.stop - 1, args.stop - 1,
				    args.words[0] ? args.words : NULL);
	return rn_tour_walk(&look, 0, RN_TOUR_STOPS - 1, NULL);
}
