/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmdev.h - what is sent over a descriptor that stands for /dev/infiniband/rdma_cm.
 *
 * The descriptor is one end of a SOCK_SEQPACKET pair, whose other end rocind has. rocind
 * sends one byte for each event that it queues. So the descriptor is readable when there
 * is an event, blocks or not as the program has set it, and may be inherited, duplicated
 * and closed in any way. To take an event, a thread reads one byte and then asks for the
 * event; the bytes are all alike.
 *
 * Commands go over another pair of sockets, one pair per thread: the thread hands one
 * end of it to rocind over the descriptor, with a message of one byte. So threads
 * that share the descriptor need no lock, and an answer wakes no other thread. A
 * command is one message: struct rn_cmdev_call, @in_len bytes that the program wrote
 * behind its command header, and @option_len bytes that the command points at. Unless
 * the command is one-way, there is one answer: struct rn_cmdev_answer and @len bytes.
 * A thread that left a command without waiting for the answer (a signal handler may
 * jump) tells late answers by @seq.
 *
 * If an id is destroyed, the bytes of its events have to be removed; rocind does that,
 * and asks for the program's end of the pair to do so (@wants_end, RN_CMDEV_END).
 *
 * Commands that only query need not go to rocind: cm_board.h.
 *
 * When rocind has gone, the program's end is readable for ever and reports end of file;
 * sim/kernel/cm_ids.h says what the program is told then.
 *
 * Both ends run on one machine as one user, so the byte order is that of the host. rocind
 * checks all that it receives.
 */
#ifndef RN_CMDEV_H
#define RN_CMDEV_H

#include "rocin/types.h"

enum {
	RN_CMDEV_IN_MAX = 512,	   /* longest command of the ABI: 304 */
	RN_CMDEV_OPTION_MAX = 512, /* longest value of SET_OPTION */
	RN_CMDEV_OUT_MAX = 512,	   /* longest answer: 440 */
	/* At most this many events are announced to the program at a time; further
	 * events are announced as the program takes these. The buffer of a socket holds
	 * about 270 messages.
	 */
	RN_CMDEV_MARKS_MAX = 128,
};

/* Not a command of the ABI: the program's end of the pair is passed as a
 * descriptor with it, see above.
 */
#define RN_CMDEV_END UINT32_MAX

struct rn_cmdev_call {
	uint32_t cmd; /* enum in <rdma/rdma_user_cm.h> */
	uint32_t in_len;
	uint32_t out_len; /* room for the answer in the program's buffer */
	uint32_t option_len;
	uint32_t seq;	  /* repeated in the answer */
	uint32_t one_way; /* not 0: no answer is sent */
	/* Of a one-way DISCONNECT: the unique number (cm_board.h) of the id that it
	 * means. When the command arrives, that id may have moved to another descriptor,
	 * and its short number may belong to another id, which is left alone.
	 */
	uint64_t serial;
	/* Of MIGRATE_ID: the number in the name of the descriptor that
	 * the id comes from, or 0.
	 */
	uint64_t from;
};

struct rn_cmdev_answer {
	int32_t rc; /* 0 or -errno */
	uint32_t len;
	uint32_t seq;
	uint32_t wants_end; /* not 0: the program has to send RN_CMDEV_END next */
};

/* The name of the program's end, by which it is recognised (getsockname()): an
 * abstract address of this prefix and 16 hexadecimal digits. The lower half of
 * the number is random, because any user of the network namespace could bind a
 * name that can be guessed.
 */
#define RN_CMDEV_NAME "rocin-rdma_cm-"

enum {
	RN_CMDEV_NAME_LEN = sizeof(RN_CMDEV_NAME) - 1 + 16
};

#endif /* RN_CMDEV_H */
