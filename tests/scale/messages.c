/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* messages.c - so many SENDs of 64 bytes through so many QPs, for whoever counts
 * instructions: valgrind --tool=callgrind --toggle-collect=many_round.
 *
 * usage: messages QPS BURST ROUNDS
 */
#include "tests/kit/device/many.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct many_cfg cfg = { .len = 64, .room = 1 << 13, .step_ns = RN_USEC(10) };
	unsigned burst, rounds;
	struct many *m;
	bool ok;

	if (argc != 4) {
		(void)fprintf(stderr, "usage: messages QPS BURST ROUNDS\n");
		return 2;
	}
	cfg.qps = (unsigned)strtoul(argv[1], NULL, 10);
	burst = cfg.depth = (unsigned)strtoul(argv[2], NULL, 10);
	rounds = (unsigned)strtoul(argv[3], NULL, 10);
	m = many_new(&cfg);
	for (unsigned r = 0; r < rounds; r++)
		many_round(m, burst);
	ok = m->failures == 0 && m->overflows == 0 &&
	     m->side[0].stats[RN_STAT_RETRANSMITTED] == 0;
	(void)printf("%llu messages, %llu packets out, %llu back\n",
		     (unsigned long long)m->completions,
		     (unsigned long long)m->side[0].stats[RN_STAT_TX_PACKETS],
		     (unsigned long long)m->side[1].stats[RN_STAT_TX_PACKETS]);
	many_free(m);
	return ok ? 0 : 1;
}
