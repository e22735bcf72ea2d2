/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* args.c - parses the command line of `rocin bench`. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "tools/rocin/common/arguments.h"

enum {
	OPT_NO_PIN = 0x100,
	OPT_BARS,
	OPT_SWEEP,
	OPT_SIZES,
	OPT_QPS,
	OPT_PROCESSES,
	OPT_THREADS,
	OPT_WIRE,
	OPT_BESIDE,
	OPT_PLOT,
	OPT_SAVE,
	OPT_BASELINE
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is measured:", 1 },
	{ "bars", OPT_BARS, NULL, 0, "The rows that say what Rocin is meant to reach",
	  1 },
	{ "sweep", OPT_SWEEP, NULL, 0, "Bandwidth and latency over size, 8 B to 8 MiB",
	  1 },
	{ "only", 'o', "CELL", 0,
	  "This item only, as it is or with what it depends on; "
	  "may be given several times",
	  1 },
	{ "sizes", OPT_SIZES, "LIST", 0, "With messages of these sizes, such as 8,4K,1M",
	  1 },
	{ "qps", OPT_QPS, "LIST", 0, "Spread over so many queue pairs, up to 10000", 1 },
	{ "processes", OPT_PROCESSES, "LIST", 0,
	  "By so many processes at the same time, half of them sending, up to 32; each "
	  "on a processor of its own as far as there are so many",
	  1 },
	{ "threads", OPT_THREADS, "LIST", 0,
	  "By so many threads of each process, up to 32, each with a queue pair: with a "
	  "completion queue each, with thread domains, and with one completion queue",
	  1 },
	{ "wire", OPT_WIRE, "LIST", 0,
	  "Verbs over udp, over the local wire, by the device beside: udp,local,beside",
	  1 },
	{ "beside", OPT_BESIDE, "DEVICE", 0,
	  "The device to measure beside Rocin's; without it the first that is not "
	  "Rocin's",
	  1 },
	{ NULL, 0, NULL, 0, "How:", 2 },
	{ "rounds", 'r', "N", 0, "Measure each item N times (default 10)", 2 },
	{ "slice-ms", 's', "MS", 0,
	  "Milliseconds of each measurement (default 100; 50 for the standard items, 15 "
	  "for a sweep)",
	  2 },
	{ "time", 't', "SECONDS", 0, "Make slices and rounds so that it takes so long",
	  2 },
	RN_OPTION_NETDEV(2),
	{ "no-pin", OPT_NO_PIN, NULL, 0,
	  "Let the scheduler place the processes, instead of one processor for each", 2 },
	{ NULL, 0, NULL, 0, "What is told:", 3 },
	RN_OPTION_JSON(3),
	{ "plot", OPT_PLOT, "FILE", 0,
	  "Draw a picture (SVG); of a sweep if nothing else "
	  "is chosen",
	  3 },
	{ "save", OPT_SAVE, "FILE", 0, "Store the JSON as well", 3 },
	{ "baseline", OPT_BASELINE, "FILE", 0,
	  "Compare the ratios with those of an earlier --save", 3 },
	{ 0 },
};

/* Calls @each for each word of @arg, a list of words separated by commas. */
static void split(struct argp_state *state, char *arg,
		  void (*each)(struct argp_state *state, void *to, const char *word),
		  void *to)
{
	char *copy = strdup(arg), *rest = copy, *word;

	if (!copy)
		argp_failure(state, EXIT_FAILURE, ENOMEM, "options");
	while ((word = strsep(&rest, ",")) != NULL)
		each(state, to, word);
	free(copy);
}

static void append(struct argp_state *state, struct rn_bench_list *list, uint32_t value)
{
	if (list->count == RN_BENCH_LIST_MAX)
		argp_error(state, "a list has at most %d entries", RN_BENCH_LIST_MAX);
	list->value[list->count++] = value;
}

static void add_size(struct argp_state *state, void *to, const char *word)
{
	uint32_t value;

	if (rn_bench_read_size(word, RN_BENCH_LEN_MIN, 8 << 20, &value))
		argp_error(state, "--sizes takes sizes from 8 to 8M, not \"%s\"", word);
	append(state, to, value);
}

static void add_qps(struct argp_state *state, void *to, const char *word)
{
	append(state, to, rn_option_number(state, "qps", word, 1, RN_BENCH_QPS_MAX));
}

static void add_processes(struct argp_state *state, void *to, const char *word)
{
	uint32_t n =
		rn_option_number(state, "processes", word, 1, 2 * RN_BENCH_PAIRS_MAX);

	if (n % 2)
		argp_error(state, "--processes takes even numbers, not \"%s\"", word);
	append(state, to, n);
}

static void add_threads(struct argp_state *state, void *to, const char *word)
{
	append(state, to,
	       rn_option_number(state, "threads", word, 1, RN_BENCH_THREADS_MAX));
}

static void add_wire(struct argp_state *state, void *to, const char *word)
{
	static const char *const names[] = {
		[RN_BENCH_OVER_UDP] = "udp",
		[RN_BENCH_OVER_LOCAL] = "local",
		[RN_BENCH_OVER_BESIDE] = "beside",
	};
	bool *wire = to;

	for (unsigned i = 0; i < RN_BENCH_WIRE_COUNT; i++)
		if (strcmp(word, names[i]) == 0) {
			wire[i] = true;
			return;
		}
	argp_error(state, "--wire takes udp, local and beside, not \"%s\"", word);
}

static void add_only(struct argp_state *state, struct rn_bench_args *args,
		     const char *text)
{
	char err[256];

	if (args->only_count == RN_BENCH_ONLY_MAX)
		argp_error(state, "--only may be given %d times", RN_BENCH_ONLY_MAX);
	if (rn_bench_cell_read(&args->only[args->only_count++], text, err, sizeof(err)))
		argp_error(state, "%s", err);
}

static error_t parse_how(int key, char *arg, struct argp_state *state)
{
	struct rn_bench_args *args = state->input;

	switch (key) {
	case 'r':
		args->rounds =
			rn_option_number(state, "rounds", arg, 1, RN_BENCH_ROUNDS_MAX);
		return 0;
	case 's':
		args->slice_ms = rn_option_number(state, "slice-ms", arg, 1, 60000);
		return 0;
	case 't':
		args->time_s = rn_option_number(state, "time", arg, 1, 86400);
		return 0;
	case 'n':
		args->netdevs = arg;
		return 0;
	case OPT_NO_PIN:
		args->pin = false;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case OPT_PLOT:
		args->plot = arg;
		return 0;
	case OPT_SAVE:
		args->save = arg;
		return 0;
	case OPT_BASELINE:
		args->baseline = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct rn_bench_args *args = state->input;

	switch (key) {
	case OPT_BARS:
		args->set = RN_BENCH_BARS;
		return 0;
	case OPT_SWEEP:
		args->set = RN_BENCH_SWEEP;
		return 0;
	case 'o':
		add_only(state, args, arg);
		return 0;
	case OPT_SIZES:
		split(state, arg, add_size, &args->sizes);
		return 0;
	case OPT_QPS:
		split(state, arg, add_qps, &args->qps);
		return 0;
	case OPT_PROCESSES:
		split(state, arg, add_processes, &args->processes);
		return 0;
	case OPT_THREADS:
		split(state, arg, add_threads, &args->threads);
		return 0;
	case OPT_WIRE:
		split(state, arg, add_wire, args->wire);
		return 0;
	case OPT_BESIDE:
		args->beside = arg;
		return 0;
	case ARGP_KEY_END:
		if (args->plot && args->set == RN_BENCH_STANDARD && !args->only_count)
			args->set = RN_BENCH_SWEEP;
		return 0;
	default:
		return parse_how(key, arg, state);
	}
}

/* clang-format off */
#define X(sym, name, what, kind, family, len, most) "  " name ": " what "\n"
static const char doc[] =
	"Measure bandwidth, latency and message rate of a Rocin device between processes, "
	"beside TCP and raw UDP sockets in the same run, and print the ratios.\v"
	"Each round measures every item once, so that whatever else the machine is doing "
	"meets them all alike; the ratios are formed within a round. A CELL is "
	"ITEM[:SIZE][:qps=N][:processes=N[:packed]][:threads=N[:td|:shared]]"
	"[:rcvbuf=BYTES][:local|:beside]. Items:\n"
	RN_BENCH_ITEMS(X);
#undef X
/* clang-format on */

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = doc,
};

void rn_bench_args_parse(int argc, char **argv, struct rn_bench_args *args)
{
	*args = (struct rn_bench_args){ .rounds = 10, .pin = true };
	if (rn_argp_parse(&argp, argc, argv, 0, args))
		exit(argp_err_exit_status);
}
