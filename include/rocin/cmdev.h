/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmdev.h - what goes over a descriptor that stands for /dev/infiniband/rdma_cm.
 *
 * The descriptor is one end of a SOCK_SEQPACKET pair; rocind has the other. rocind sends
 * one byte for each event that it queues, so the descriptor is readable when there is an
 * event, blocks or not as the program has set it, and may be inherited, duplicated and
 * closed in any way. Who takes an event reads one byte, and then asks for it; the bytes
 * are all alike.
 *
 * Commands go another way: a pair of sockets of each thread's own, whose one end the
 * thread hands to rocind over the descriptor, as a message of one byte. So threads that
 * share the descriptor need no lock, and an answer wakes nobody else. A command is one
 * message, struct rn_cmdev_call, @in_len bytes of what the program wrote behind its
 * header, @option_len bytes of what that points at; the one answer to it, unless it goes
 * one way, is struct rn_cmdev_answer and @len bytes. A thread that left a command without
 * waiting for its answer (a signal handler may jump) knows by @seq which one it gets.
 *
 * The bytes of events that are gone because their id is are taken back by rocind, which
 * asks for the program's end to do so (@wants_end, RN_CMDEV_END).
 *
 * What commands only ask need not go to rocind: cm_board.h.
 *
 * When rocind has gone, the program's end is readable for ever and gives end of file;
 * what the program is told then is sim/kernel/cm_ids.h.
 *
 * Both ends are of one machine and one user: host byte order. rocind trusts nothing of
 * it.
 */
#ifndef RN_CMDEV_H
#define RN_CMDEV_H

#include "rocin/types.h"

enum {
	RN_CMDEV_IN_MAX = 512,	   /* longest command of the ABI: 304 */
	RN_CMDEV_OPTION_MAX = 512, /* longest value of SET_OPTION */
	RN_CMDEV_OUT_MAX = 512,	   /* longest answer: 440 */
	/* Events that are announced at a time; the others follow as those are taken. The
	 * buffer of a socket holds some 270 messages.
	 */
	RN_CMDEV_MARKS_MAX = 128,
};

/* Not a command of the ABI: the program's end comes as a descriptor with it, see above.
 */
#define RN_CMDEV_END UINT32_MAX

struct rn_cmdev_call {
	uint32_t cmd; /* enum in <rdma/rdma_user_cm.h> */
	uint32_t in_len;
	uint32_t out_len; /* room that the program has for the answer */
	uint32_t option_len;
	uint32_t seq;	  /* the answer has the same */
	uint32_t one_way; /* not 0: nobody waits for an answer, and there is none */
	/* Of a DISCONNECT that goes one way: the id that it means (cm_board.h). By the
	 * time it arrives that may have moved to another descriptor, and one that has
	 * got its number is left alone.
	 */
	uint64_t birth;
	/* Of MIGRATE_ID: the number in the name of the descriptor that it names, or 0. */
	uint64_t from;
};

struct rn_cmdev_answer {
	int32_t rc; /* 0 or -errno */
	uint32_t len;
	uint32_t seq;
	uint32_t about;	    /* of GET_EVENT: number of the id that the event is of */
	uint32_t wants_end; /* not 0: RN_CMDEV_END is to come next */
};

/* The name of the program's end, by which it is recognised (getsockname()): an abstract
 * address of this prefix and a number of 16 hexadecimal digits. Its lower half is drawn
 * by chance: a name that can be guessed could be taken by any user of the network
 * namespace.
 */
#define RN_CMDEV_NAME "rocin-rdma_cm-"

enum {
	RN_CMDEV_NAME_LEN = sizeof(RN_CMDEV_NAME) - 1 + 16
};

#endif /* RN_CMDEV_H */
