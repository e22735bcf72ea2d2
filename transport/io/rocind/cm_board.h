/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.h - the memory in which rocind shows the ids of rdma_cm (rocin/cmboard.h).
 *
 * A memfd of rocind's, which nobody else can write, sealed so that it never becomes
 * shorter. Ids of high numbers are not shown.
 */
#ifndef RN_CM_BOARD_H
#define RN_CM_BOARD_H

#include "rocin/cmboard.h"

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
