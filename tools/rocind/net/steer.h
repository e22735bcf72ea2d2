/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* steer.h - the rule that decides which process gets a packet: as a BPF program, and as
 * the reason for a packet at slot 0.
 *
 * QPN = counter << 8 | slot. Slot 0 is rocind: it gets datagrams that are no RoCEv2
 * packets, packets for the special QPs, and packets for a slot that has no socket.
 */
#ifndef RND_STEER_H
#define RND_STEER_H

#include <linux/filter.h>

#include "transport/io/rocind/rocind_client.h"

enum {
	RND_STEER_PROGRAM_LEN = 10, /* number of instructions */
	/* Length of a BTH in bytes; its destination QPN is the low 24 bits of the 32-bit
	 * word at offset 4.
	 */
	RND_BTH_LEN = 12,
};

/* Writes the program for an SO_REUSEPORT group with @slot_count sockets (1..256). The
 * kernel runs it on the UDP payload and delivers to the socket whose index it returns.
 */
void rnd_steer_program(struct sock_filter prog[RND_STEER_PROGRAM_LEN],
		       unsigned slot_count);

/* Returns the reason why a packet came to slot 0. @len is the length of the packet; only
 * the first min(@len, RND_BTH_LEN) bytes are read.
 */
enum rn_rocind_drop rnd_steer_reason(const uint8_t *payload, size_t len);

#endif /* RND_STEER_H */
