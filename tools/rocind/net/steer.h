/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* steer.h - which process gets a packet: the rule, as a kernel filter and as words.
 *
 * QPN = counter << 8 | slot. Slot 0 is rocind: what is no RoCEv2 packet, what is for the
 * special QPs, and what names a slot without a socket.
 */
#ifndef RND_STEER_H
#define RND_STEER_H

#include <linux/filter.h>

#include "transport/io/rocind/rocind_client.h"

enum {
	RND_STEER_PROGRAM_LEN = 10, /* instructions */
	RND_BTH_LEN = 12,	    /* bytes; QPN is the low 24 bits at offset 4 */
};

/* Writes the program of an SO_REUSEPORT group with @slot_count sockets (1..256). The
 * kernel runs it on the UDP payload and takes the socket whose index it returns.
 */
void rnd_steer_program(struct sock_filter prog[RND_STEER_PROGRAM_LEN],
		       unsigned slot_count);

/* Why a packet is at slot 0. @len is its true length; only the first min(@len,
 * RND_BTH_LEN) bytes are looked at.
 */
enum rn_rocind_drop rnd_steer_reason(const uint8_t *payload, size_t len);

#endif /* RND_STEER_H */
