/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_args.c - see bench_args.h */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_args.h"

/* clang-format off */
const struct rn_bench_item_info rn_bench_item_info[RN_BENCH_ITEM_COUNT] = {
#define X(sym, name, what, unit) [RN_BENCH_##sym] = { name, what, unit },
	RN_BENCH_ITEMS(X)
#undef X
};
/* clang-format on */

enum {
	OPT_NO_PIN = 0x100
};

static const struct argp_option options[] = {
	{ "rounds", 'r', "N", 0, "Measure each item N times (default 10)", 0 },
	{ "slice-ms", 's', "MS", 0, "Milliseconds of each measurement (default 100)", 0 },
	{ "only", 'o', "NAME", 0, "Measure this item only; may be given several times",
	  0 },
	{ "netdev", 'n', "SPEC", 0, "Interfaces and addresses, as for rocin run", 0 },
	{ "no-pin", OPT_NO_PIN, NULL, 0,
	  "Let the scheduler place the two processes, instead of one processor for each",
	  0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ 0 },
};

static unsigned number(struct argp_state *state, const char *option, const char *arg,
		       unsigned max)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(arg, &end, 10);
	if (errno || *end || end == arg || *arg == '-' || v == 0 || v > max)
		argp_error(state, "--%s takes a number from 1 to %u, not \"%s\"", option,
			   max, arg);
	return (unsigned)v;
}

static uint32_t item_bit(struct argp_state *state, const char *name)
{
	for (unsigned i = 0; i < RN_BENCH_ITEM_COUNT; i++)
		if (!strcmp(name, rn_bench_item_info[i].name))
			return 1u << i;
	argp_error(state, "there is no item \"%s\"", name);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rn_bench_args *args = state->input;

	switch (key) {
	case 'r':
		args->rounds = number(state, "rounds", arg, RN_BENCH_ROUNDS_MAX);
		return 0;
	case 's':
		args->slice_ms = number(state, "slice-ms", arg, 60000);
		return 0;
	case 'o':
		args->items |= item_bit(state, arg);
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
	case ARGP_KEY_END:
		if (!args->items)
			args->items = (1u << RN_BENCH_ITEM_COUNT) - 1;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* clang-format off */
#define X(sym, name, what, unit) "  " name ": " what "\n"
static const char doc[] =
	"Measure bandwidth, latency and message rate of a Rocin device between two "
	"processes, beside TCP and raw UDP sockets in the same run, and print the ratios "
	"with what they are meant to be.\v"
	"Each round measures every item once, so that whatever else the machine is doing "
	"meets them all alike; the ratios are formed within a round. Items:\n"
	RN_BENCH_ITEMS(X);
#undef X
/* clang-format on */

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = doc,
};

void rn_bench_args_parse(int argc, char **argv, struct rn_bench_args *args)
{
	*args = (struct rn_bench_args){ .rounds = 10, .slice_ms = 100, .pin = true };
	if (argp_parse(&argp, argc, argv, 0, NULL, args))
		exit(argp_err_exit_status);
}
