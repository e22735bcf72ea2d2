/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* question.c - see question.h. */
#include "question.h"

enum {
	/* How often the short question is sent before the peer counts as silent. This
	 * takes a second, which is longer than any round trip between hosts that use
	 * RDMA.
	 */
	SHORT_TRIES = 4,
	/* How often a question of the length of a path MTU is sent. If it were sent only
	 * once, a path that loses one packet in ten would often seem to be too narrow.
	 */
	LONG_TRIES = 3,
	MTU_MIN = 256,
};

#define SHORT_WAIT RN_MSEC(250)
/* Time to wait for the answer to a long question. The short question has shown the round
 * trip time; the rest is for a busy host.
 */
#define LONG_WAIT(q) (4 * (q)->round_trip + RN_MSEC(100))

void rn_question_init(struct rn_question *q, uint64_t tid, uint32_t mtu,
		      unsigned patience, rn_ns now)
{
	*q = (struct rn_question){
		.tid = tid, .mtu_here = mtu, .patience = patience, .due = now
	};
}

/* Turns to the next question, which is as long as packets of the path MTU @mtu. If no
 * path MTU is as small as @mtu, turns to the control question.
 */
static void turn_to(struct rn_question *q, uint32_t mtu, rn_ns now)
{
	q->is_control = mtu < MTU_MIN;
	q->mtu = q->is_control ? 0 : mtu;
	q->tid++;
	q->tries = 0;
	q->due = now;
}

/* Called when the question was sent as often as is permitted, and no answer has come. */
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

/* Called when the short question has been answered. The peer has read its clock at a time
 * between the first transmission of the question and now; all of these times are rounded
 * down to ms.
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
