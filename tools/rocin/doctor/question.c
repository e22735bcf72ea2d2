/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* question.c - see question.h. */
#include "question.h"

enum {
	/* Times that the short question is asked. A second passes until silence counts as
	 * such, which is more than any round trip that RDMA is used over.
	 */
	SHORT_TRIES = 4,
	/* A question of a path MTU is asked thrice: a path that loses one packet in ten
	 * would otherwise seem to be too narrow in one case of ten.
	 */
	LONG_TRIES = 3,
	MTU_MIN = 256,
};

#define SHORT_WAIT RN_MSEC(250)
/* Time to wait for the answer to a long question: the round trip of the short one is
 * known, and the rest is for a host that is busy.
 */
#define LONG_WAIT(q) (4 * (q)->round_trip + RN_MSEC(100))

void rn_question_init(struct rn_question *q, uint64_t tid, uint32_t mtu,
		      unsigned patience, rn_ns now)
{
	*q = (struct rn_question){
		.tid = tid, .mtu_here = mtu, .patience = patience, .due = now
	};
}

/* Goes on to the question of path MTU @mtu, or, if no path MTU is as small, to the
 * control question.
 */
static void turn_to(struct rn_question *q, uint32_t mtu, rn_ns now)
{
	q->is_control = mtu < MTU_MIN;
	q->mtu = q->is_control ? 0 : mtu;
	q->tid++;
	q->tries = 0;
	q->due = now;
}

/* The question was asked as often as it may be, and nobody has answered. */
static void note_silence(struct rn_question *q, rn_ns now)
{
	if (q->mtu) {
		turn_to(q, q->mtu / 2, now);
	} else {
		q->fell_silent = q->is_control;
		q->due = RN_NEVER;
	}
}

uint32_t rn_question_ask(struct rn_question *q, rn_ns now, int64_t ms)
{
	const unsigned tries = q->mtu ? LONG_TRIES : SHORT_TRIES;

	if (q->due != RN_NEVER && q->tries == tries)
		note_silence(q, now);
	if (q->due == RN_NEVER)
		return 0;
	if (q->tries++ == 0) {
		q->asked_at = now;
		q->asked_ms = ms;
	}
	q->due = now + (q->mtu ? LONG_WAIT(q) : SHORT_WAIT) * q->patience;
	return q->mtu ? rn_peer_ask_len(q->mtu) : RN_PEER_ASK_MIN;
}

/* The short question is answered. The answer was made at a moment between the first
 * question and now, and its time is rounded down to a ms, as are those here.
 */
static void hear_first(struct rn_question *q, rn_ns now, int64_t ms)
{
	const int64_t span = ms - q->asked_ms;

	q->round_trip = now - q->asked_at;
	q->clock_ms = (int64_t)q->info.time_ms - q->asked_ms - span / 2;
	q->clock_error_ms = span / 2 + 2;
	turn_to(q, q->mtu_here, now);
}

void rn_question_hear(struct rn_question *q, const uint8_t *mad, uint32_t len, rn_ns now,
		      int64_t ms)
{
	struct rn_peer_info info;
	enum rn_peer_answer answer = rn_peer_answer_parse(mad, q->tid, &info);

	if (q->due == RN_NEVER || q->tries == 0 || answer == RN_PEER_NO_ANSWER)
		return;
	if (q->is_control) {
		q->due = RN_NEVER;
	} else if (q->mtu == 0) {
		q->answer = answer;
		q->info = info;
		if (answer == RN_PEER_ANSWERS)
			hear_first(q, now, ms);
		else
			q->due = RN_NEVER;
	} else if (answer == RN_PEER_ANSWERS && len == rn_peer_ask_len(q->mtu)) {
		q->mtu_through = q->mtu;
		q->due = RN_NEVER;
	}
}
