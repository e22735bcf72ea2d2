/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cm_board.h - what rocind publishes in shared memory about rdma_cm ids, so that programs
 * need not ask for it or remember it.
 *
 * More than a third of the commands that librdmacm writes for a connection only query
 * what rocind knows: QUERY_ROUTE and INIT_QP_ATTR. rocind keeps the answers in memory
 * that all programs of its user can read, and updates them before it answers a command
 * or announces an event. Refusals are not shown: if there is no answer here, the
 * program asks rocind. DISCONNECT needs no answer where it cannot be refused
 * (rocin/cmdev.h, @one_way).
 *
 * What a program has to know of its ids when rocind has ended is published here as well
 * (struct rn_cm_life), because the memory outlives rocind in each program that has mapped
 * it. So a program keeps no record of its ids (sim/kernel/cm_ids.h).
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

/* Objects of a program that outlive rocind. */
enum rn_cm_kind {
	RN_CM_KIND_ID,
	RN_CM_KIND_GROUP, /* a multicast group that an id has joined */
	RN_CM_KINDS
};

struct rn_cm_life {
	uint64_t channel; /* as rn_cm_answers.channel; for a group, the channel of its id
			   */
	uint64_t uid;	  /* the program's uid of the object; 0: not accepted yet */
	/* An event counts once the answer that reports it has been sent, because
	 * destroying the object waits until the program has acknowledged that many.
	 */
	uint32_t events_reported;
	uint32_t has_device; /* not 0: the program is told when the device goes */
};

enum {
	RN_CM_BOARD_IDS = 8192,	   /* ids whose answers are shown */
	RN_CM_BOARD_LIVES = 65536, /* objects of each kind whose life is shown */
};

struct rn_cm_board_memory; /* defined in cm_board.c */

/* ---- rocind's side. Threads: one. ---- */

struct rn_cm_board {
	struct rn_cm_board_memory *mem; /* NULL: there is no board */
	int fd;				/* descriptor to be passed to programs */
	uint32_t reserved;		/* number of entries that have memory */
	uint32_t lives[RN_CM_KINDS];	/* number of lives that have memory */
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

/* Show what outlives us of the id, or the group, of this number. NULL: there is none. */
void rn_cm_board_show_life(struct rn_cm_board *b, enum rn_cm_kind kind, uint32_t number,
			   const struct rn_cm_life *life);

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

/* Copy what outlives rocind of an id or a group. Return: false as rn_cm_board_read().
 * While rocind is there the parts of it need not be of one moment.
 */
bool rn_cm_board_read_life(const struct rn_cm_board_memory *mem, enum rn_cm_kind kind,
			   uint64_t channel, uint32_t number, struct rn_cm_life *out);

/* All numbers that are shown of a kind are below. */
uint32_t rn_cm_board_lives(const struct rn_cm_board_memory *mem, enum rn_cm_kind kind);

#endif /* RN_CM_BOARD_H */
