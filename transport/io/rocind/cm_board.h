/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.h - the board: shared memory in which rocind publishes the state of rdma_cm
 * ids, so that programs need neither ask for that state nor keep a record of it.
 *
 * More than a third of the commands that librdmacm writes for a connection are queries
 * of what rocind knows: QUERY_ROUTE and INIT_QP_ATTR. rocind keeps their answers in
 * memory that all programs of its user can read, and updates them before it answers a
 * command or announces an event. Only successful answers are published. If the answer to
 * a query is not published, the program sends the query to rocind. For DISCONNECT, a
 * program need not wait for an answer if the board shows that rocind cannot refuse it
 * (rocin/cmdev.h, @one_way).
 *
 * After rocind has ended, a program still needs some facts about its ids (struct
 * rn_cm_life). They are published here as well, because the memory exists as long as a
 * program has mapped it. So a program keeps no record of its ids (sim/kernel/cm_ids.h).
 *
 * The memory is a memfd that only rocind can write, and is sealed so that it never
 * shrinks. Ids with high numbers are not published. Answers have the layout of
 * <rdma/rdma_user_cm.h>, in host byte order.
 */
#ifndef RN_CM_BOARD_H
#define RN_CM_BOARD_H

#include "rocin/types.h"

enum {
	/* bytes of struct rdma_ucm_query_route_resp in front of ibdev_index */
	RN_CMBOARD_ROUTE_LEN = 200,
	RN_CMBOARD_QP_LEN = 144, /* bytes of struct ib_uverbs_qp_attr */
	/* number of QP states: INIT, RTR, RTS, that is, enum ibv_qp_state from 1 on */
	RN_CMBOARD_QP_STATES = 3,
};

/* The answers to queries about one id. */
struct rn_cm_answers {
	/* The id belongs to the descriptor of /dev/infiniband/rdma_cm whose name has this
	 * number (RN_CMDEV_NAME in rocin/cmdev.h). 0: there is no id.
	 */
	uint64_t channel;
	uint64_t serial; /* unique number of the id, never used again */
	uint32_t has_qp; /* bit i: qp[i] is valid */
	/* not 0: the id has a connection, so DISCONNECT would return 0 */
	uint32_t has_conn;
	uint8_t route[RN_CMBOARD_ROUTE_LEN];
	uint8_t qp[RN_CMBOARD_QP_STATES][RN_CMBOARD_QP_LEN];
};
static_assert(sizeof(struct rn_cm_answers) % sizeof(uint64_t) == 0, "whole words");

/* Kinds of objects that a program has in rocind and may still use after rocind has
 * ended.
 */
enum rn_cm_kind {
	RN_CM_KIND_ID,
	RN_CM_KIND_GROUP, /* an id's membership in a multicast group */
	RN_CM_KINDS
};

struct rn_cm_life {
	/* Number of the descriptor to which the object belongs, see
	 * rn_cm_answers.channel. For a multicast group: that of the id that has joined
	 * the group.
	 */
	uint64_t channel;
	/* The number by which the program identifies the object (uid). 0: the object is
	 * the id of a connection request that the program has not accepted yet.
	 */
	uint64_t uid;
	/* Number of events of the object that rocind has reported; an event counts when
	 * the answer that carries it is sent. librdmacm waits until the program has
	 * acknowledged this many events before it destroys the object.
	 */
	uint32_t events_reported;
	/* Not 0: the object is bound to a device, so the program must be told when the
	 * device is removed.
	 */
	uint32_t has_device;
};

enum {
	RN_CM_BOARD_IDS = 8192, /* number of ids whose answers are published */
	/* number of objects of each kind for which struct rn_cm_life is published */
	RN_CM_BOARD_LIVES = 65536,
};

struct rn_cm_board_memory; /* defined in cm_board.c */

/* ---- rocind's functions. Threads: one. ---- */

struct rn_cm_board {
	struct rn_cm_board_memory *mem; /* NULL: nothing is published */
	int fd;				/* descriptor to be passed to programs */
	/* number of ids whose entries in the memfd have pages */
	uint32_t reserved;
	/* for each kind, number of struct rn_cm_life that have pages */
	uint32_t lives[RN_CM_KINDS];
};

/**
 * rn_cm_board_open() - Make a board
 * @rocind:	Number of this rocind, the upper half of its channel numbers
 * @now:	Time; distinguishes this rocind from an earlier one with the same number
 *
 * Return: 0, or -errno: then nothing is published, and the other functions do nothing.
 */
int rn_cm_board_open(struct rn_cm_board *b, uint32_t rocind, rn_ns now);
void rn_cm_board_close(struct rn_cm_board *b);

/* Mark every entry as empty. Called by the successor of a rocind that may have died
 * while it wrote an entry. @b has the mapping and the numbers of that rocind's board.
 */
void rn_cm_board_mend(struct rn_cm_board *b);

/* Mark every entry of struct rn_cm_answers as empty. */
void rn_cm_board_hide_answers(struct rn_cm_board *b);

/* Publish the answers to queries about id @number. @answers NULL: the id does not exist
 * any more.
 */
void rn_cm_board_show(struct rn_cm_board *b, uint32_t number,
		      const struct rn_cm_answers *answers);

/* Publish what a program needs to know after rocind has ended about an object: the id or
 * group @number. @life NULL: the object does not exist any more.
 */
void rn_cm_board_show_life(struct rn_cm_board *b, enum rn_cm_kind kind, uint32_t number,
			   const struct rn_cm_life *life);

/* ---- Functions of a program. Threads: any. ---- */

/* Map a board that came from rocind; the caller still owns @fd. Return: the mapping,
 * which is never removed; NULL: the board cannot be mapped.
 */
const struct rn_cm_board_memory *rn_cm_board_map(int fd);

/* Return: true if @fd is a descriptor of the board that is mapped as @mem. */
bool rn_cm_board_is_in(const struct rn_cm_board_memory *mem, int fd);

/**
 * rn_cm_board_read() - Copy the answers about an id
 * @mem:	The board; may be NULL
 * @channel:	Number of the descriptor that the program has used
 *
 * Return: true with the answers in @out; false if the board belongs to another rocind
 *	   than the channel, if it has no id with this number for the channel, or if the
 *	   entry changes all the time.
 */
bool rn_cm_board_read(const struct rn_cm_board_memory *mem, uint64_t channel,
		      uint32_t number, struct rn_cm_answers *out);

/* Return: true if the board belongs to the rocind that has opened this channel, or to a
 * successor of it.
 */
bool rn_cm_board_is_of(const struct rn_cm_board_memory *mem, uint64_t channel);

/* Copy struct rn_cm_life of an id or a group. While rocind runs, the fields of @out may
 * come from different moments. Return: true; false in the same cases as
 * rn_cm_board_read().
 */
bool rn_cm_board_read_life(const struct rn_cm_board_memory *mem, enum rn_cm_kind kind,
			   uint64_t channel, uint32_t number, struct rn_cm_life *out);

/* Return: a number that is higher than those of all published objects of this kind. */
uint32_t rn_cm_board_lives(const struct rn_cm_board_memory *mem, enum rn_cm_kind kind);

#endif /* RN_CM_BOARD_H */
