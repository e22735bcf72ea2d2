/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* main.c - rocin-tour STOP [KEY=VALUE...]: the program that `rocin tour` runs for
 * each stop.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tour.h"

enum {
	SECONDS_MAX = 60, /* time limit of a stop */
	TIMEOUT = 20,	  /* code of the local ACK timeout: 4.3 s */
	/* Code of 537 ms, for the stop `lost'. With a much longer timeout, the device
	 * would find out by other means that the packet was lost, and send it again
	 * before the timeout that the stop shows.
	 */
	TIMEOUT_LOST = 15,
};

static const struct {
	const char *name;
	void (*run)(struct tour *t);
} stops[] = {
	{ "register", tour_register }, { "send", tour_send },	  { "write", tour_write },
	{ "read", tour_read },	       { "atomic", tour_atomic }, { "rnr", tour_rnr },
	{ "lost", tour_lost },	       { "gpu", tour_gpu },
};

/* Parses one argument "KEY=VALUE" of the command line. `rocin tour' has already checked
 * the value.
 */
static void set_option(struct tour *t, const char *word)
{
	const struct {
		const char *key;
		uint32_t *number;
		bool *flag;
	} keys[] = {
		{ "size=", &t->size, NULL },
		{ "offset=", &t->offset, NULL },
		{ "mtu=", &t->mtu, NULL },
		{ "rnr_timer=", &t->rnr_timer, NULL },
		{ "rnr_retry=", &t->rnr_retry, NULL },
		{ "imm=", NULL, &t->imm },
		{ "cswap=", NULL, &t->cswap },
		{ "flush=", NULL, &t->flush },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t len = strlen(keys[i].key);

		if (strncmp(word, keys[i].key, len) != 0)
			continue;
		if (keys[i].number)
			*keys[i].number = (uint32_t)strtoul(word + len, NULL, 10);
		else
			*keys[i].flag = !strcmp(word + len, "yes");
	}
}

int main(int argc, char **argv)
{
	struct tour t = { .mtu = 1024, .size = 64, .rnr_timer = 12, .rnr_retry = 7 };
	unsigned i = 0;

	while (argc > 1 && i < sizeof(stops) / sizeof(*stops) &&
	       strcmp(stops[i].name, argv[1]) != 0)
		i++;
	if (argc < 2 || i == sizeof(stops) / sizeof(*stops)) {
		fputs("run me by: rocin tour\n", stderr);
		return 64;
	}
	for (int k = 2; k < argc; k++)
		set_option(&t, argv[k]);
	/* The kernel kills the program when `rocin tour' ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SECONDS_MAX);
	/* The timeout is long, because on a busy machine a short one could expire
	 * although no packet is lost. Only the stop about a lost packet has a short one.
	 */
	t.timeout = stops[i].run == tour_lost ? TIMEOUT_LOST : TIMEOUT;
	tour_open(&t);
	stops[i].run(&t);
	puts("end");
	fflush(stdout);
	tour_close(&t);
	return 0;
}
