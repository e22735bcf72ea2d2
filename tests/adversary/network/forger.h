/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* forger.h - another user of this host, who sends RoCEv2 packets with plain sockets: from
 * the port of RoCEv2, and from any address of the host, which IP_PKTINFO allows.
 *
 * It is a process of its own, which runs beside the one that it attacks. It is started
 * before the test opens a device, so that it inherits nothing of one.
 */
#ifndef RN_TEST_FORGER_H
#define RN_TEST_FORGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rocin/gid.h"

enum {
	FORGER_UID = 65534,
	FORGER_PACKET_MAX = 512,
};

/* What the attacker sends, and what it does not know. */
struct forgery {
	struct rn_gid src, dst;
	uint8_t pkt[FORGER_PACKET_MAX]; /* from the BTH on; its last 4 bytes are the ICRC
					 */
	size_t len;
	/* The number that is guessed: big-endian, @bytes long, at this offset. Its bits
	 * @low .. @low + @bits - 1 are not known, and each value is tried in turn.
	 */
	size_t at;
	unsigned bytes, low, bits;
	uint32_t step; /* distance from one guess to the next; 0 stands for 1 */
};

struct forger_work {
	uint64_t packets, ns;
};

/* Starts the attacker. Return: 0, or -errno where this process cannot become another
 * user.
 */
int forger_start(void);
void forger_stop(void);

/* Sends the packet once, with its number as it is. Returns when it has left. */
void forger_send(const struct forgery *f);

/* Tries all values again and again, beginning at a random one, until forger_end(). */
void forger_begin(const struct forgery *f);
/* Return: how often each value has been tried so far, and by how many packets. */
unsigned forger_rounds(void);
uint64_t forger_packets(void);
struct forger_work forger_end(void);

#endif /* RN_TEST_FORGER_H */
