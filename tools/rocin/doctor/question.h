/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* question.h - the questions of `rocin doctor --peer' to another host: which is asked
 * next, how long to wait, and what follows from the answers (rocin/peer_info.h). Does no
 * I/O: the caller passes times and answers to it.
 *
 * First a short question is sent, several times if no answer comes. If a rocind answers,
 * questions follow that are as long as packets of a path MTU: first the path MTU of the
 * local device, then smaller ones, until one of the questions is answered. If none is
 * answered, the short question is sent again as a control question. An answer to it shows
 * that the peer still runs, so the path MTUs were too large.
 */
#ifndef ROCIN_QUESTION_H
#define ROCIN_QUESTION_H

#include "rocin/peer_info.h"
#include "rocin/types.h"

struct rn_question {
	/* @mtu: path MTU that is tried; 0: the short question. @tid: transaction ID of
	 * the question and of its answer. @tries: how often the question was sent.
	 */
	uint32_t mtu;
	uint64_t tid;
	unsigned tries;
	bool is_control;   /* the question is the control question */
	unsigned patience; /* factor for all waiting times */
	rn_ns asked_at;	   /* time at which the question was first sent */
	int64_t asked_ms;
	/* time of the next call of rn_question_ask(); RN_NEVER: there are no more
	 * questions
	 */
	rn_ns due;
	/* ---- Results ---- */
	enum rn_peer_answer answer; /* RN_PEER_NO_ANSWER: the peer is silent */
	struct rn_peer_info info;   /* valid with RN_PEER_ANSWERS */
	/* upper limit of the round trip time of the short question */
	rn_ns round_trip;
	/* How many ms the clock of the peer is ahead of the local clock, and the maximum
	 * error of this value.
	 */
	int64_t clock_ms, clock_error_ms;
	uint32_t mtu_here; /* path MTU of the local device */
	/* path MTU whose packets arrive; 0: no such path MTU is known */
	uint32_t mtu_through;
	bool is_damaged;  /* an answer came with a wrong ICRC */
	bool fell_silent; /* the control question was not answered */
};

/* @tid: a number that nobody else can guess. @mtu: path MTU of the local device.
 * @patience: factor for all waiting times: 1, or more if hosts or networks are slow.
 */
void rn_question_init(struct rn_question *q, uint64_t tid, uint32_t mtu,
		      unsigned patience, rn_ns now);

/* Must be called when the time @q->due has come. Returns the length of the packet that
 * the caller must send, in bytes from BTH to ICRC; its MAD is that of rn_peer_ask_emit()
 * with q->tid. Returns 0 if there are no more questions. @ms: time since 1970 in ms.
 */
uint32_t rn_question_ask(struct rn_question *q, rn_ns now, int64_t ms);

/* Must be called when a MAD has come, in a packet of @len bytes from BTH to ICRC. Ignores
 * a MAD that is no answer to the question.
 */
void rn_question_hear(struct rn_question *q, const uint8_t *mad, uint32_t len, rn_ns now,
		      int64_t ms);

#endif /* ROCIN_QUESTION_H */
