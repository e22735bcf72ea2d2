/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.h - answers about rdma_cm ids that rocind publishes in shared memory.
 *
 * More than a third of the commands that librdmacm writes for a connection only query
 * what rocind knows: QUERY_ROUTE and INIT_QP_ATTR. rocind keeps the answers in memory
 * that all programs of its user can read, and updates them before it answers a command
 * or announces an event. Refusals are not shown: if there is no answer here, the
 * program asks rocind. DISCONNECT needs no answer where it cannot be refused
 * (rocin/cmdev.h, @one_way).
 *
 * The memory is a memfd of rocind's, which no other process can write, sealed so that it
 * never shrinks. Ids with high numbers are not shown. Answers have the layout of
 * <rdma/rdma_user_cm.h>, in host byte order.
 */
#ifndef RN_CM_BOARD_H
#define RN_CM_BOARD_H

#include "rocin/types.h"

enum {
	/* struct rdma_ucm_query_route_resp up to ibdev_index. */
	RN_CMBOARD_ROUTE_LEN = 200,
	RN_CMBOARD_QP_LEN = 144,  /* struct ib_uverbs_qp_attr */
	RN_CMBOARD_QP_STATES = 3, /* INIT, RTR, RTS: enum ibv_qp_state from 1 on */
};

/* The answers about one id. */
struct rn_cm_answers {
	/* Number in the name of the id's descriptor, cmdev.h; 0: no id. */
	uint64_t channel;
	uint64_t serial;   /* unique number of the id, never used again */
	uint32_t has_qp;   /* bit i: qp[i] is valid */
	uint32_t has_conn; /* not 0: DISCONNECT would return 0 */
	uint8_t route[RN_CMBOARD_ROUTE_LEN];
	uint8_t qp[RN_CMBOARD_QP_STATES][RN_CMBOARD_QP_LEN];
};
static_assert(sizeof(struct rn_cm_answers) % sizeof(uint64_t) == 0, "whole words");

enum {
	RN_CM_BOARD_IDS = 8192,
};

struct rn_cm_board_memory; /* defined in cm_board.c */

/* ---- rocind's side. Threads: one. ---- */

struct rn_cm_board {
	struct rn_cm_board_memory *mem; /* NULL: there is no board */
	int fd;				/* descriptor to be passed to programs */
	uint32_t reserved;		/* number of entries that have memory */
};

/**
 * rn_cm_board_open() - Make a board
 * @rocind:	Upper half of the numbers of its channels
 * @now:	Distinguishes boards of processes with the same number
 *
 * Return: 0, or -errno: then nothing is shown, and the other functions do nothing.
 */
int rn_cm_board_open(struct rn_cm_board *b, uint32_t rocind, rn_ns now);
void rn_cm_board_close(struct rn_cm_board *b);

/* Publish the answers about the id with this number. NULL: there is no such id. */
void rn_cm_board_show(struct rn_cm_board *b, uint32_t number,
		      const struct rn_cm_answers *answers);

/* ---- A program's side. Threads: any. ---- */

/**
 * rn_cm_board_map() - Map a board that came from rocind
 * @current:	The board that is mapped already, or NULL
 * @fd:		Descriptor of a board; stays the caller's
 *
 * Return: @current if it is the same board; otherwise a new mapping, which stays for
 *	   good; NULL if it cannot be mapped.
 */
const struct rn_cm_board_memory *rn_cm_board_map(const struct rn_cm_board_memory *current,
						 int fd);

/**
 * rn_cm_board_read() - Copy the answers about an id
 * @mem:	The board; may be NULL
 * @channel:	Number of the descriptor that the program has used
 *
 * Return: false if the board belongs to another rocind than the channel, if it shows no
 *	   id with this number for the channel, or if the entry changes all the time.
 */
bool rn_cm_board_read(const struct rn_cm_board_memory *mem, uint64_t channel,
		      uint32_t number, struct rn_cm_answers *out);

#endif /* RN_CM_BOARD_H */
