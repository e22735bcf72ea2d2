/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.h - what rocind shows of the ids of rdma_cm, so that nobody need ask.
 *
 * More than a third of the commands that librdmacm writes for a connection ask what
 * rocind knows and nothing else: QUERY_ROUTE and INIT_QP_ATTR. rocind keeps the answers
 * in memory that all programs of its user may read, and brings them up to date before it
 * answers a command or announces an event. Refusals are not shown: who finds no answer
 * here asks. DISCONNECT needs no answer where it cannot be refused (rocin/cmdev.h,
 * @one_way).
 *
 * The memory is a memfd of rocind's, which nobody else can write, sealed so that it never
 * becomes shorter. Ids of high numbers are not shown. Answers are in the layout of
 * <rdma/rdma_user_cm.h>, host byte order.
 */
#ifndef RN_CM_BOARD_H
#define RN_CM_BOARD_H

#include "rocin/types.h"

enum {
	RN_CMBOARD_ROUTE_LEN = 200, /* struct rdma_ucm_query_route_resp to ibdev_index */
	RN_CMBOARD_QP_LEN = 144,    /* struct ib_uverbs_qp_attr */
	RN_CMBOARD_QP_STATES = 3,   /* INIT, RTR, RTS: enum ibv_qp_state from 1 on */
};

/* Of one id. */
struct rn_cm_answers {
	uint64_t channel;  /* number in the name of its descriptor, cmdev.h; 0: no id */
	uint64_t birth;	   /* no other id has it, whatever its number */
	uint32_t has_qp;   /* bit for each of @qp that there is */
	uint32_t has_conn; /* not 0: DISCONNECT gives 0 */
	uint8_t route[RN_CMBOARD_ROUTE_LEN];
	uint8_t qp[RN_CMBOARD_QP_STATES][RN_CMBOARD_QP_LEN];
};
static_assert(sizeof(struct rn_cm_answers) % sizeof(uint64_t) == 0, "whole words");

enum {
	RN_CM_BOARD_IDS = 8192,
};

struct rn_cm_board_memory; /* cm_board.c */

/* ---- rocind's side. Threads: one. ---- */

struct rn_cm_board {
	struct rn_cm_board_memory *mem; /* NULL: there is none */
	int fd;				/* for programs */
	uint32_t reserved;		/* entries that have memory */
};

/**
 * rn_cm_board_open() - Make a board
 * @rocind:	Upper half of the numbers of its channels
 * @now:	Tells boards of one process number apart
 *
 * Return: 0, or -errno: then nothing is shown, and the others work as before.
 */
int rn_cm_board_open(struct rn_cm_board *b, uint32_t rocind, rn_ns now);
void rn_cm_board_close(struct rn_cm_board *b);

/* Show the answers of the id of this number. NULL: there is none. */
void rn_cm_board_show(struct rn_cm_board *b, uint32_t number,
		      const struct rn_cm_answers *answers);

/* ---- A program's side. Threads: any. ---- */

/**
 * rn_cm_board_map() - Map a board that came from rocind
 * @current:	The one that is mapped already, or NULL
 * @fd:		Stays the caller's
 *
 * Return: @current if it is the same; the mapping, for good; or NULL.
 */
const struct rn_cm_board_memory *rn_cm_board_map(const struct rn_cm_board_memory *current,
						 int fd);

/**
 * rn_cm_board_read() - Copy the answers of an id
 * @mem:	May be NULL
 * @channel:	Of the descriptor that the id is asked of
 *
 * Return: false if the board is not that of the channel's rocind, if no id of this number
 *	   is shown that belongs to the channel, or if it changes all the time.
 */
bool rn_cm_board_read(const struct rn_cm_board_memory *mem, uint64_t channel,
		      uint32_t number, struct rn_cm_answers *out);

#endif /* RN_CM_BOARD_H */
