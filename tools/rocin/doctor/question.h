/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* question.h - decides what `rocin doctor --peer` asks next, how long it waits, and what
 * follows from the answers (rocin/peer_info.h). No I/O: times and answers go in.
 *
 * First a short question is asked, several times if need be. If Rocin answers, questions
 * follow that are as long as the packets of a path MTU, from that of the device here
 * down, until one of them is answered. If none is, the short question is asked again as a
 * control: its answer proves that the peer still runs, so that the path is too narrow.
 */
#ifndef ROCIN_QUESTION_H
#define ROCIN_QUESTION_H

#include "rocin/peer_info.h"
#include "rocin/types.h"

struct rn_question {
	/* @mtu is the path MTU that is tried; 0: the short question; @tid: the ID by
	 * which its answer is known; @tries: how often it was asked
	 */
	uint32_t mtu;
	uint64_t tid;
	unsigned tries;
	bool is_control;   /* the short question is asked for the second time */
	unsigned patience; /* factor of all times for which answers are awaited */
	rn_ns asked_at;	   /* when the question was first asked */
	int64_t asked_ms;
	rn_ns due; /* when something has to be done next; RN_NEVER: it is over */
	/* ---- Results ---- */
	enum rn_peer_answer answer; /* RN_PEER_NO_ANSWER: silence */
	struct rn_peer_info info;   /* valid with RN_PEER_ANSWERS */
	rn_ns round_trip;	    /* of the short question, at most */
	/* By how many ms the clock of the peer is ahead, and by how many ms that may be
	 * wrong.
	 */
	int64_t clock_ms, clock_error_ms;
	uint32_t mtu_here;    /* path MTU of the device here */
	uint32_t mtu_through; /* path MTU whose packets get through; 0: none known */
	bool is_damaged;      /* an answer came with a wrong ICRC */
	bool fell_silent;     /* the control question was not answered */
};

/* @tid: a number that nobody else can guess. @mtu: path MTU of the device here.
 * @patience: 1, or more if hosts or networks are slow.
 */
void rn_question_init(struct rn_question *q, uint64_t tid, uint32_t mtu,
		      unsigned patience, rn_ns now);

/* To be called when q->due has come. Returns the length in bytes from BTH to ICRC of the
 * packet to be sent, whose MAD is rn_peer_ask_emit() with q->tid; 0: it is over. @ms:
 * the time since 1970 in ms.
 */
uint32_t rn_question_ask(struct rn_question *q, rn_ns now, int64_t ms);

/* A MAD has come, in a packet of @len bytes from BTH to ICRC. */
void rn_question_hear(struct rn_question *q, const uint8_t *mad, uint32_t len, rn_ns now,
		      int64_t ms);

#endif /* ROCIN_QUESTION_H */
