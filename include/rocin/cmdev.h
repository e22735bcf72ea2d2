/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmdev.h - messages between rocind and a descriptor that a program has in place
 * of /dev/infiniband/rdma_cm.
 *
 * The descriptor is one end of a SOCK_SEQPACKET pair; rocind has the other end. rocind
 * sends one byte for each event that it queues. So the descriptor is readable when there
 * is an event, blocks or not as the program has set it, and may be inherited, duplicated
 * and closed in any way. To get an event, a thread reads one byte and then sends the
 * command GET_EVENT; the value of a byte has no meaning.
 *
 * Commands go over another pair of sockets, one pair per thread: the thread hands one end
 * of that pair to rocind over the descriptor, with a message of one byte. So threads that
 * share the descriptor need no lock, and an answer wakes no other thread. A command is
 * one message: struct rn_cmdev_call, @in_len bytes that the program wrote behind its
 * command header, and @option_len bytes that the command points at. Unless the command is
 * one-way, there is one answer: struct rn_cmdev_answer and @len bytes. A thread may
 * abandon a command before its answer arrives (a signal handler may jump out of the
 * call); it recognises the late answer by its @seq.
 *
 * When an id is destroyed, the bytes of its events have to be removed from the socket.
 * rocind does that, and for this purpose requests the program's end of the pair
 * (@wants_end, RN_CMDEV_END).
 *
 * Commands that only query can be answered without rocind, from the board: memory in
 * which rocind publishes the answers about each id (transport/io/rocind/cm_board.h). When
 * a successor of rocind serves a descriptor, its first answer there carries a descriptor
 * of the successor's board. That may be the same board that the program has already.
 *
 * When rocind has ended, the program's end is always readable and reports end of file;
 * sim/kernel/cm_ids.h describes what the program's calls return then.
 *
 * Both ends run on one machine as one user, so the byte order is that of the host. rocind
 * checks all that it receives.
 */
#ifndef RN_CMDEV_H
#define RN_CMDEV_H

#include "rocin/types.h"

enum {
	/* maximum bytes of a command; the longest one of <rdma/rdma_user_cm.h> has 304 */
	RN_CMDEV_IN_MAX = 512,
	RN_CMDEV_OPTION_MAX = 512, /* maximum bytes of a value of SET_OPTION */
	/* maximum bytes of an answer; the longest one has 440 */
	RN_CMDEV_OUT_MAX = 512,
	/* Largest number of events for which the socket contains a byte at a time.
	 * Further events are announced when the program has read some of these bytes. The
	 * buffer of a socket holds about 270 messages.
	 */
	RN_CMDEV_MARKS_MAX = 128,
};

/* Value of rn_cmdev_call.cmd that is not a command of the ABI. With such a message the
 * program sends rocind its own end of the SOCK_SEQPACKET pair, as a descriptor
 * (SCM_RIGHTS).
 */
#define RN_CMDEV_END UINT32_MAX

struct rn_cmdev_call {
	uint32_t cmd; /* number of the command, an enum of <rdma/rdma_user_cm.h> */
	uint32_t in_len;
	uint32_t out_len; /* bytes of the program's buffer for the answer */
	uint32_t option_len;
	uint32_t seq;	  /* number of the command, repeated in the answer */
	uint32_t one_way; /* not 0: no answer is sent */
	/* For a one-way DISCONNECT: unique number (cm_board.h) of the id. By the time
	 * rocind receives the command, that id may have moved to another descriptor, and
	 * its short number may belong to another id, which must not be disconnected.
	 */
	uint64_t serial;
	/* For MIGRATE_ID: number in the name (RN_CMDEV_NAME) of the descriptor from which
	 * the id is moved; 0 if that descriptor is not one of rdma_cm.
	 */
	uint64_t from;
};

struct rn_cmdev_answer {
	int32_t rc; /* result of the command: 0 or -errno */
	uint32_t len;
	uint32_t seq;
	uint32_t wants_end; /* not 0: the program has to send RN_CMDEV_END next */
};

/* The program's end of the pair is bound to an abstract socket address, by which it is
 * recognised (getsockname()): this prefix and 16 hexadecimal digits. The lower half of
 * that number is random, because any user of the network namespace could bind a name that
 * can be guessed.
 */
#define RN_CMDEV_NAME "rocin-rdma_cm-"

enum {
	RN_CMDEV_NAME_LEN = sizeof(RN_CMDEV_NAME) - 1 + 16
};

/* A command that <rdma/rdma_user_cm.h> of Linux 6.1 does not have: queues an event of the
 * program's own for an id. librdmacm of release 61 and later ends rdma_resolve_addrinfo()
 * with it.
 */
enum {
	RN_CMDEV_WRITE_CM_EVENT = 24,
	/* values of rn_cmdev_write_cm_event.event */
	RN_CMDEV_EVENT_USER = 18,
	RN_CMDEV_EVENT_INTERNAL = 19,
};

struct rn_cmdev_write_cm_event {
	uint32_t id;
	uint32_t reserved;
	uint32_t event;
	uint32_t status;
	uint8_t arg[8]; /* given back with the event */
};

#endif /* RN_CMDEV_H */
