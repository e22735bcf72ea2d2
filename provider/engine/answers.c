/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* answers.c - what a program that looks at memory does next.
 *
 * Such a program (ib_write_lat) posts, polls until that is acknowledged, and looks at
 * memory for what its peer answers, without calls, until it posts again. The background
 * thread would have to receive all of it, and to wake up for each: tens of microseconds.
 *
 * It does not have to if the acknowledgement waits for the answer and goes along with it:
 * the peer polls for the one and finds the other. Then it has no reason to stop polling,
 * and while both ends do so a round trip takes no longer than that of programs that poll
 * for everything.
 *
 * What disturbs them leads out of that state: an acknowledgement comes alone, the program
 * goes to look at memory and nobody polls. So who answers in time has the sockets
 * from the first empty poll after a post, and they are the background thread's again as
 * soon as the acknowledgement has come without an answer. It then receives one answer,
 * and they find back.
 */
#include "engine_internal.h"

enum {
	ANSWERED = 4, /* posts in time before the next is waited for */
	ANSWERED_MAX = 16,
	EARLY_BAN = 256,
};

#define ANSWER_WITHIN RN_USEC(200) /* the thread, and then the program, must wake up */
#define HOLD_FOR RN_USEC(60)	   /* acknowledgements, for an answer to go along with */
#define ANSWER_FOR RN_USEC(500)	   /* ... that leaves as the peer's window lets it */

static bool answers(const struct rnp_progress *p)
{
	return p->answered >= ANSWERED;
}

/* Who posts many between polls polls for all of them, and has gathered them by a lease.
 */
static bool answers_singly(const struct rnp_progress *p)
{
	return answers(p) && p->sees_memory && p->run == 1 && p->early_ban == 0;
}

/* Who had a completion for what came polls for it, and who had nothing (READs) waits for
 * nobody. Neither stops polling because a post is acknowledged.
 */
static void note_what_came(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;
	uint32_t requests = rn_dev_requests(e->dev), received = rn_dev_received(e->dev);

	p->sees_memory = requests != p->requests_posted && received == p->received_posted;
	p->requests_posted = requests;
	p->received_posted = received;
}

void rnp_answers_expect(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;

	/* Half a message has no answer, and an acknowledgement has none. */
	if (rn_dev_is_amid_message(e->dev) || rn_dev_requests(e->dev) == p->requests)
		return;
	p->requests = rn_dev_requests(e->dev);
	if (p->found_at != 0)
		p->answered /= 2;
	p->found_at = now;
}

/* Was that the program's answer to what the background thread received? */
void rnp_answers_note(struct rnp_progress *p, rn_ns now)
{
	if (p->early_ban > 0)
		p->early_ban--;
	if (p->found_at == 0)
		return;
	if (now - p->found_at > ANSWER_WITHIN)
		p->answered /= 2;
	else if (p->answered < ANSWERED_MAX)
		p->answered++;
	p->found_at = 0;
}

void rnp_answers_posted(struct rnp_engine *e, const struct rn_qp *qp)
{
	struct rnp_progress *p = &e->progress;

	p->has_left = false;
	p->asked = rn_qp_unacked(qp) ? qp : NULL;
	p->asked_at = e->clock.now;
	note_what_came(e);
	if (!rn_dev_acks_due(e->dev))
		p->held_since = 0;
}

/* --------------------------------------------------------------- acknowledgements */
/* A program that looks at memory answers what it finds there. Its peer polls for the
 * acknowledgement, and finds the answer while it does if that comes first: else it stops
 * polling, and the answer must wait for its background thread.
 */
enum rnp_acks rnp_answers_acks(const struct rnp_progress *p)
{
	return answers(p) ? RNP_ACKS_HELD : RNP_ACKS_NOW;
}

void rnp_answers_limit(struct rnp_engine *e, rn_ns now)
{
	struct rnp_progress *p = &e->progress;
	rn_ns at;

	if (p->turn != RNP_ARMED || !rnp_has_sockets(e) || !rn_dev_acks_due(e->dev)) {
		p->held_since = 0;
		return;
	}
	if (p->held_since == 0)
		p->held_since = now;
	at = p->held_since + HOLD_FOR;
	if (p->timer_at == 0 || p->timer_at > at)
		rnp_progress_timer(e, at);
}

bool rnp_answers_waited(struct rnp_progress *p, rn_ns now)
{
	bool waited = p->held_since != 0 && now - p->held_since >= HOLD_FOR;

	if (waited)
		p->held_since = 0;
	return waited;
}

bool rnp_answers_in_part(const struct rnp_engine *e, rn_ns now)
{
	const struct rnp_progress *p = &e->progress;

	return answers(p) && p->asked && rn_qp_unsent(p->asked) &&
	       now - p->asked_at < ANSWER_FOR;
}

/* ------------------------------------------------------------------- the sockets */
/* With something to acknowledge there is something to answer; half a message is not. */
static bool has_no_answer(const struct rnp_engine *e)
{
	return !rn_dev_acks_due(e->dev) || rn_dev_is_amid_message(e->dev);
}

bool rnp_answers_leaves(struct rnp_engine *e)
{
	struct rnp_progress *p = &e->progress;

	if (!p->asked || rn_qp_unacked(p->asked))
		return false;
	p->asked = NULL;
	p->has_left = answers_singly(p) && has_no_answer(e);
	return p->has_left;
}

bool rnp_answers_may_lease(const struct rnp_progress *p)
{
	return answers_singly(p) && p->asked;
}

void rnp_answers_deceived(struct rnp_progress *p)
{
	p->early_ban = EARLY_BAN;
}

/* Who polls on, though what it posted is acknowledged, does not look at memory. */
void rnp_answers_polled(struct rnp_progress *p)
{
	if (!p->has_left)
		return;
	p->has_left = false;
	p->answered = 0;
	rnp_answers_deceived(p);
}
