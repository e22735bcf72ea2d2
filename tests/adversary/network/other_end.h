/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* other_end.h - a process with the other end of a connection, so that the two ends may
 * talk through shared memory; it does what it is told.
 */
#ifndef RN_TEST_OTHER_END_H
#define RN_TEST_OTHER_END_H

#include "tests/provider/kit/verbs_kit.h"

/* Where the bytes go that the other end receives or is written, and how many. */
enum {
	OTHER_LEN = 64,
};

struct other_end {
	uint32_t qpn, rkey;
	uint64_t va; /* of OTHER_LEN bytes, zeros at first */
};

/* Starts the process, before this one opens a device. Return: 0 or -errno. */
int other_end_start(void);
void other_end_stop(void);

/* Makes a queue pair of this type there, in INIT. */
struct other_end other_end_create(enum ibv_qp_type type);
/* Brings it to RTS, and back to nothing. */
void other_end_connect(uint32_t qpn);
void other_end_destroy(void);
/* Posts a receive for OTHER_LEN bytes. */
void other_end_post(void);

/* What there is to see at the other end. */
struct other_sight {
	uint8_t byte;			/* the first one */
	uint8_t is_broken, is_received; /* queue pair in ERR; the receive is completed */
};
struct other_sight other_end_look(void);

/* Stops it, and lets it go on. */
void other_end_freeze(bool is_frozen);

#endif /* RN_TEST_OTHER_END_H */
