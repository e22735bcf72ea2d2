/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* policy.c - decides which thread receives packets, when posted requests leave and when
 * an ACK does. policy.h explains the policy, its invariants and its constants.
 */
#include "policy.h"

#include "rocin/net.h"

static_assert((int)RNP_ACK_EVERY == RN_SUPER_SEGMENTS, "one super-packet");

const struct rnp_lease_times rnp_lease_times = {
	.lease = RN_MSEC(1),
	.long_lease = RN_MSEC(5),
	.steady = RN_MSEC(8),
	.streak = 16,
	.streak_max = 16384,
};

void rnp_policy_init(struct rnp_policy *p)
{
	if (p->times.lease == 0)
		p->times = rnp_lease_times;
	p->turn = RNP_ARMED;
	p->lease.length = p->times.lease;
	p->polling.streak_need = p->times.streak;
}

/* -------------------------------------------------------------------- back-off */
static void back_off(struct rnp_backoff *b, uint32_t opportunities)
{
	b->left = opportunities;
}

static bool is_backed_off(const struct rnp_backoff *b)
{
	return b->left > 0;
}

/* Called on each occasion to use a practice that may have cost more than it saved (struct
 * rnp_backoff). Counts the occasion. Return: true if the practice is still left out.
 */
static bool leave_out(struct rnp_backoff *b)
{
	if (b->left == 0)
		return false;
	b->left--;
	return true;
}

/* ---------------------------------------------------------- the reply predictor */
static bool replies(const struct rnp_policy *p)
{
	return p->replies.confidence >= RNP_REPLIES;
}

/* Does the program reply to each request of its peer with one post? A program that posts
 * several times between polls goes on polling for all completions, and needs a lease in
 * any case (the time for which its polls receive), to gather its posts.
 */
static bool replies_singly(const struct rnp_policy *p)
{
	return replies(p) && p->replies.sees_memory && p->batching.run == 1 &&
	       !is_backed_off(&p->replies.early);
}

/* Called when the background thread has received packets. If they end a request, notes
 * that the program may reply to it. A program replies neither to a part of a message nor
 * to an acknowledgement.
 */
static void expect_reply(struct rnp_replies *r, rn_ns now, bool is_amid_message,
			 uint32_t requests)
{
	if (is_amid_message || requests == r->requests)
		return;
	r->requests = requests;
	if (r->found_at != 0)
		r->confidence /= 2;
	r->found_at = now;
}

/* Called at each post of the program. Judges whether the post is a reply to the request
 * that expect_reply() noted last, and whether it came within RNP_REPLY_WITHIN.
 */
static void judge_reply(struct rnp_replies *r, rn_ns now)
{
	leave_out(&r->early);
	if (r->found_at == 0)
		return;
	if (now - r->found_at > RNP_REPLY_WITHIN)
		r->confidence /= 2;
	else if (r->confidence < RNP_REPLIES_MAX)
		r->confidence++;
	r->found_at = 0;
}

/* Called at each post. Sets @sees_memory if the program can have noticed the requests
 * that came since its previous post only by reading memory. If the requests have
 * completed receive WQEs, the program polls for these completions. If no request came,
 * the program waits for something else, such as READs. In both cases it goes on polling
 * after its post is acknowledged.
 */
static void note_what_came(struct rnp_replies *r, struct rnp_counts counts)
{
	r->sees_memory = counts.requests != r->at_post.requests &&
			 counts.receives == r->at_post.receives;
	r->at_post = counts;
}

/* Called at each poll. If the policy believed that the program had stopped polling, to
 * wait for its peer's reply by reading memory (@has_left), this poll shows that the
 * belief was wrong.
 */
static void note_polls_on(struct rnp_replies *r)
{
	if (!r->has_left)
		return;
	r->has_left = false;
	r->confidence = 0;
	back_off(&r->early, RNP_EARLY_BACKOFF);
}

/* Has the program received nothing that it could reply to now? That is so if no ACK is
 * due, and also in the middle of a message.
 */
static bool has_no_reply(struct rnp_facts f)
{
	return !f.has_acks_due || f.is_amid_message;
}

/* Returns true if the program's last post was acknowledged just now and the program will
 * probably stop polling: it is one that waits for its peer's reply by reading memory.
 */
static bool leaves(struct rnp_policy *p, struct rnp_facts f)
{
	struct rnp_replies *r = &p->replies;

	if (!r->asked || f.is_asked_unacked)
		return false;
	r->asked = NULL;
	r->has_left = replies_singly(p) && has_no_reply(f);
	return r->has_left;
}

/* May the program's first empty poll after a post begin a lease (an early one)? During a
 * lease the program's polls receive, and not the background thread.
 */
static bool may_lease_early(const struct rnp_policy *p)
{
	return replies_singly(p) && p->replies.asked;
}

/* ------------------------------------------------------------------------ ACKs */
/* Holds ACKs if the program replies. The peer of such a program polls for the
 * acknowledgement of its request. If the reply and the ACK leave together, the peer
 * receives both in one poll. If the ACK comes alone, the peer stops polling, and the
 * reply waits until the peer's background thread is woken.
 */
enum rnp_acks rnp_policy_acks(const struct rnp_policy *p)
{
	return replies(p) ? RNP_ACKS_HELD : RNP_ACKS_NOW;
}

/* Returns whether ACKs leave in this step. If the program replies to its peer's messages,
 * the ACK of the end of a message waits and leaves with the reply. That holds however
 * long message and reply are, and also while the flow-control window holds back a part of
 * the reply. In the middle of a message ACKs leave, as the peer may need them to go on
 * sending.
 */
bool rnp_policy_acks_leave(const struct rnp_policy *p, rn_ns now, enum rnp_acks acks,
			   unsigned found, bool is_amid_message, bool is_reply_in_part)
{
	bool expects_reply = replies(p) && !is_amid_message;

	switch (acks) {
	case RNP_ACKS_NOW:
		return true;
	case RNP_ACKS_HELD:
		return is_amid_message;
	case RNP_ACKS_IF_DRY:
		break;
	}
	if (found == 0)
		return !expects_reply || !is_reply_in_part ||
		       now - p->replies.asked_at >= RNP_REPLY_FOR;
	return p->acks.packets >=
	       (expects_reply ? RNP_ACK_EVERY_ANSWERED : RNP_ACK_EVERY);
}

unsigned rnp_policy_limit_acks(struct rnp_policy *p, rn_ns now, bool has_acks_due)
{
	rn_ns at;

	if (p->turn != RNP_ARMED || !has_acks_due) {
		p->acks.since = 0;
		return 0;
	}
	if (p->acks.since == 0)
		p->acks.since = now;
	at = p->acks.since + RNP_ACK_HOLD;
	if (p->timer_at != 0 && p->timer_at <= at)
		return 0;
	p->timer_at = at;
	return RNP_SET_TIMER;
}

/* ------------------------------------------------------------------- the lease */
static unsigned set_timer(struct rnp_policy *p, rn_ns at)
{
	p->timer_at = at;
	return RNP_SET_TIMER;
}

unsigned rnp_policy_deadline(struct rnp_policy *p, rn_ns at)
{
	if (p->turn != RNP_ARMED || at == RN_NEVER)
		return 0;
	return p->timer_at == 0 || at < p->timer_at ? set_timer(p, at) : 0;
}

void rnp_policy_account(struct rnp_policy *p, rn_ns cpu)
{
	p->cpu.at_renewal = cpu;
}

/* Begins a lease at @now: from then on the program's polls receive, and not the
 * background thread. The caller has received all packets that had come.
 */
static unsigned take_lease(struct rnp_policy *p, rn_ns now)
{
	p->turn = RNP_LEASED;
	p->lease = (struct rnp_lease){ .length = p->times.lease, .begun = now };
	p->polling.steady_since = p->polling.last = now;
	return RNP_TAKE_SOCKETS | RNP_ACCOUNT_CPU;
}

/* Sets the timer to the end of the lease (the time for which the program's polls
 * receive). A timer that is pending already and fires in the second half of the lease is
 * kept, which saves a system call. The lease then ends when that timer fires.
 */
static unsigned set_timer_unless_near(struct rnp_policy *p, rn_ns now)
{
	rn_ns length = p->lease.length;
	unsigned todo = 0;

	if (p->timer_at < now + length / 2 || p->timer_at > now + length)
		todo = set_timer(p, now + length);
	p->lease.begun = p->timer_at - length;
	return todo;
}

/* Begins an early lease: the program's polls receive from the first empty poll after a
 * post on, and not only after many polls in a row. The lease may be long, since the
 * policy notices when the program stops polling, namely when its post is acknowledged.
 */
static unsigned take_early_lease(struct rnp_policy *p, rn_ns now)
{
	unsigned todo = take_lease(p, now);

	p->lease.is_early = true;
	p->lease.length = p->times.long_lease;
	return todo | set_timer_unless_near(p, now);
}

/* Does the program poll steadily, so that its polls may receive for a long time without
 * renewal (a long lease)? The leases of a program that replies to its peer run out often,
 * so it has to poll for longer before it counts as steady.
 */
static bool is_steady(const struct rnp_policy *p, rn_ns now)
{
	return now - p->polling.steady_since >
	       p->times.steady * (1 + p->replies.confidence);
}

static unsigned renew_lease(struct rnp_policy *p, rn_ns now)
{
	bool is_long = p->lease.length == p->times.long_lease;
	rn_ns feed = is_long ? p->times.lease : p->times.lease * 3 / 4;
	unsigned todo = RNP_ACCOUNT_CPU | RNP_REST_SOCKETS;

	if (now - p->lease.begun < feed)
		return 0;
	if (!is_long && is_steady(p, now)) {
		p->lease.length = p->times.long_lease;
		p->polling.streak_need = p->times.streak;
		todo |= RNP_CHECK_HANDLER;
	}
	p->lease.begun = now;
	return todo | set_timer(p, now + p->lease.length);
}

unsigned rnp_policy_given(struct rnp_policy *p, rn_ns now, bool is_on)
{
	p->polling.streak = 0;
	p->lease.length = p->times.lease;
	if (is_on) {
		p->turn = RNP_ARMED;
		return 0;
	}
	p->lease.begun = now;
	return set_timer(p, now + p->lease.length);
}

/* ----------------------------------------------------------------------- polls */
/* Notes that a poll begins, and returns whether ACKs leave in it. If the program has
 * posted a stream of requests since its last poll, it polls for their completions, so a
 * few polls are enough to let its polls receive (a lease).
 */
enum rnp_acks rnp_policy_poll(struct rnp_policy *p)
{
	struct rnp_batching *b = &p->batching;

	if (b->posts > 0)
		b->run = b->posts;
	if (b->posts >= RNP_STREAM)
		p->polling.streak_need = p->times.streak;
	b->posts = 0;
	/* While the background thread waits for packets, a poll must not defer an ACK. If
	 * it was the program's last poll, nothing would send the ACK: no timer that ends
	 * a lease is pending, and perhaps no packet comes that wakes the background
	 * thread.
	 */
	return p->turn == RNP_LEASED || replies(p) ? RNP_ACKS_IF_DRY : RNP_ACKS_NOW;
}

/* Called at a poll that comes after a gap, that is, a time without polls. The program
 * does not poll steadily, so a long lease (the time for which its polls receive) is made
 * short: then the next gap is noticed soon.
 */
static unsigned note_gap(struct rnp_policy *p, rn_ns now)
{
	p->polling.steady_since = now;
	if (p->turn != RNP_LEASED || p->lease.length != p->times.long_lease)
		return 0;
	p->lease.length = p->times.lease;
	return set_timer(p, now + p->lease.length);
}

/* Returns the number of polls in a row after which polls receive, and not the background
 * thread (a lease). Armed CQs raise this number, but not above @streak_max, since the
 * program may have forgotten that it armed them.
 */
static uint32_t streak_needed(const struct rnp_policy *p)
{
	uint32_t need =
		p->polling.streak_need * (p->polling.armed_cqs ? RNP_STREAK_EVENTS : 1);

	return need < p->times.streak_max ? need : p->times.streak_max;
}

static unsigned polled_with_sockets_on(struct rnp_policy *p, rn_ns now,
				       struct rnp_facts f, rn_ns deadline)
{
	unsigned todo = rnp_policy_limit_acks(p, now, f.has_acks_due);

	if (may_lease_early(p))
		return todo | take_early_lease(p, now);
	if (++p->polling.streak < streak_needed(p))
		return todo | rnp_policy_deadline(p, deadline);
	todo |= take_lease(p, now);
	return todo | set_timer(p, now + p->lease.length);
}

unsigned rnp_policy_polled(struct rnp_policy *p, rn_ns now, struct rnp_facts f,
			   rn_ns deadline)
{
	unsigned todo = 0;

	note_polls_on(&p->replies);
	if (leaves(p, f)) {
		p->polling.last = now;
		if (p->turn == RNP_LEASED)
			return RNP_GIVE_SOCKETS | RNP_HOLD_ACKS;
		todo = rnp_policy_limit_acks(p, now, f.has_acks_due);
		return todo | rnp_policy_deadline(p, deadline);
	}
	if (now - p->polling.last > p->times.lease / 4)
		todo = note_gap(p, now);
	p->polling.last = now;
	return todo |
	       (p->turn == RNP_LEASED ? renew_lease(p, now)
				      : polled_with_sockets_on(p, now, f, deadline));
}

/* ----------------------------------------------------------------- pauses of polls */
static bool is_crowded(const struct rnp_policy *p, rn_ns now)
{
	return now < p->crowd.until;
}

void rnp_policy_paused(struct rnp_policy *p, rn_ns now, rn_ns late)
{
	rn_ns until = now + late * RNP_CROWD_FACTOR;

	if (late > RNP_PAUSE_DEAR && until > p->crowd.until)
		p->crowd.until = until;
}

/* On a crowded machine the peer may be running on the other processor just now. So the
 * thread polls without a pause for as long as an answer to the last packet or post may
 * take (RNP_SPIN_FOR). Packets that come later come from a peer that had to wait for a
 * processor; the thread sleeps until then.
 */
enum rnp_pause rnp_policy_pause(struct rnp_policy *p, rn_ns now, bool is_lively)
{
	if (is_lively) {
		p->crowd.moved = now;
		return is_crowded(p, now) ? RNP_PAUSE_SPIN : RNP_PAUSE_NONE;
	}
	if (!is_crowded(p, now))
		return RNP_PAUSE_YIELD;
	return now - p->crowd.moved < RNP_SPIN_FOR ? RNP_PAUSE_SPIN : RNP_PAUSE_NAP;
}

uint32_t rnp_policy_short_polls(struct rnp_policy *p, rn_ns now, enum rnp_pause pause,
				bool is_all)
{
	struct rnp_short *s = &p->shorts;
	rn_ns took = now - s->full_at;

	s->full_at = now;
	if (took > RNP_SHORT_FOR)
		s->most /= 2;
	else if (is_all && took <= RNP_SHORT_FOR / 2 && s->most < RNP_SHORT_POLLS)
		s->most = s->most == 0 ? 1 : 2 * s->most;
	return p->turn == RNP_LEASED && pause == RNP_PAUSE_YIELD ? s->most : 0;
}

/* ----------------------------------------------------------------------- posts */
/* May the requests of this post be kept back, to be sent in one super-packet with those
 * of later posts? Only if the program is expected to poll soon, because that poll then
 * sends them without a timer. If the program does not poll after all, they leave when the
 * timer ends the lease (the time for which its polls receive).
 */
static bool may_gather(struct rnp_policy *p, rn_ns now, const struct rnp_post *post)
{
	struct rnp_batching *b = &p->batching;

	if (leave_out(&b->backoff))
		return false;
	return p->turn == RNP_LEASED &&
	       (post->is_unacked || b->held > 0 || b->run >= RNP_STREAM) &&
	       now - p->polling.last < RNP_GATHER_POLLED &&
	       (b->since == 0 || now - b->since < RNP_GATHER_FOR);
}

/* May the core build the packets of these requests later? Yes if the requests are a part
 * of a stream, and the packets of all held requests fit into one super-packet. The
 * packets of a few requests are better built at once, so that less is left to do when the
 * program polls.
 */
static bool may_hold(const struct rnp_batching *b, const struct rnp_post *post)
{
	uint32_t count = b->held + post->count;

	return post->is_sending && b->run >= RNP_STREAM && count < RN_SUPER_SEGMENTS &&
	       b->held_bytes + post->bytes + (uint64_t)count * RNP_PACKET_OVERHEAD <
		       RN_SUPER_BYTES;
}

static void hold(struct rnp_batching *b, rn_ns now, const struct rnp_post *post)
{
	b->held += post->count;
	b->held_bytes += post->bytes;
	if (b->since == 0)
		b->since = now;
}

unsigned rnp_policy_post(struct rnp_policy *p, rn_ns now, const struct rnp_post *post)
{
	struct rnp_batching *b = &p->batching;
	bool gather;

	/* A post counts as a poll, since it shows that the program uses the device. */
	p->polling.streak++;
	p->crowd.moved = now;
	b->posts += post->count;
	judge_reply(&p->replies, now);
	gather = may_gather(p, now, post);
	if (b->held == 0)
		b->held_bytes = 0;
	if (gather && may_hold(b, post)) {
		hold(b, now, post);
		return RNP_HOLD;
	}
	return (gather ? RNP_GATHER : 0) | (post->is_unacked ? 0 : RNP_ACK_ALONG);
}

void rnp_policy_posted(struct rnp_policy *p, rn_ns now, const struct rn_qp *qp,
		       struct rnp_facts f, struct rnp_counts counts)
{
	struct rnp_replies *r = &p->replies;

	r->has_left = false;
	r->asked = f.is_asked_unacked ? qp : NULL;
	r->asked_at = now;
	note_what_came(r, counts);
	if (!f.has_acks_due)
		p->acks.since = 0;
}

void rnp_policy_sent(struct rnp_policy *p, rn_ns now, bool work, bool is_open)
{
	struct rnp_batching *b = &p->batching;

	if (work)
		b->held = 0;
	if (!is_open)
		b->since = 0;
	else if (b->since == 0)
		b->since = now;
}

/* ------------------------------------------------------- the background thread */
/* Did the polling thread use its processor for something else than polls since its last
 * poll? If so, it is expected to do so again. If it slept or had no processor, that says
 * nothing about what it will do.
 */
static bool is_poller_busy(const struct rnp_policy *p, rn_ns now, rn_ns cpu)
{
	rn_ns polled = p->polling.last - p->lease.begun, away = now - p->polling.last;

	return cpu - p->cpu.at_renewal > polled + away / 2;
}

unsigned rnp_policy_lease_ends(struct rnp_policy *p, rn_ns now, rn_ns cpu)
{
	if (now - p->polling.last < p->times.lease / 4) {
		p->lease.begun = p->polling.last;
		return set_timer(p, p->polling.last + p->lease.length);
	}
	p->lapse.was_busy = is_poller_busy(p, now, cpu);
	p->lapse.was_gathering = p->batching.since != 0;
	return RNP_GIVE_SOCKETS | (replies(p) ? RNP_HOLD_ACKS : 0);
}

/* Reacts to the end of a lease (the time for which the program's polls receive) while the
 * program used its processor for something else than polls. Such a program looks at
 * memory between its polls. If packets were waiting at the end (@found), early leases are
 * left out for a while or, if the lease was not an early one, the program must poll for
 * longer before it gets a lease again.
 */
void rnp_policy_took_over(struct rnp_policy *p, bool found)
{
	if (!p->lapse.was_busy)
		return;
	if (found && p->lease.is_early)
		back_off(&p->replies.early, RNP_EARLY_BACKOFF);
	else if (found && p->polling.streak_need < p->times.streak_max)
		p->polling.streak_need *= RNP_STREAK_FACTOR;
	if (p->lapse.was_gathering)
		back_off(&p->batching.backoff, RNP_GATHER_BACKOFF);
}

enum rnp_acks rnp_policy_woken(struct rnp_policy *p, rn_ns now)
{
	if (p->acks.since == 0 || now - p->acks.since < RNP_ACK_HOLD)
		return rnp_policy_acks(p);
	p->acks.since = 0;
	return RNP_ACKS_NOW;
}

/* Decides whether the background thread looks for more packets after it has received
 * some. It does so unless the program is expected to reply: then it sleeps, because the
 * program may need this processor, and a yield may not give it to the program.
 */
unsigned rnp_policy_received(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			     uint32_t requests)
{
	expect_reply(&p->replies, now, is_amid_message, requests);
	return replies(p) ? 0 : RNP_LOOK_AGAIN;
}

/* Has the polling thread used a processor for more than a quarter of the time since the
 * last call?
 */
static bool does_poller_spin(struct rnp_cpu *c, rn_ns now, rn_ns cpu)
{
	bool spins = cpu - c->at_look > (now - c->looked) / 4;

	c->at_look = cpu;
	c->looked = now;
	return spins;
}

/* Does the background thread go to sleep this time without looking for more packets? It
 * does so on a crowded machine, and during the back-off after an expensive yield. The
 * back-off ends early if the polling thread used the processor before and sleeps now.
 */
static bool is_look_left_out(struct rnp_policy *p, rn_ns now, rn_ns cpu)
{
	struct rnp_look *l = &p->look;
	bool spins;

	if (is_crowded(p, now))
		return true;
	if (!is_backed_off(&l->backoff))
		return false;
	spins = does_poller_spin(&p->cpu, now, cpu);
	if (l->did_spin && !spins)
		l->backoff.left = 0;
	l->did_spin = spins;
	return leave_out(&l->backoff);
}

bool rnp_policy_look(struct rnp_policy *p, rn_ns now, rn_ns cpu)
{
	if (is_look_left_out(p, now, cpu))
		return false;
	p->look.until = now + RNP_LOOK_FOR;
	p->look.last = now + RNP_LOOK_MAX;
	return true;
}

bool rnp_policy_looks_on(const struct rnp_policy *p, rn_ns now)
{
	return now < p->look.until && now < p->look.last &&
	       !is_backed_off(&p->look.backoff);
}

void rnp_policy_look_found(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			   uint32_t requests)
{
	expect_reply(&p->replies, now, is_amid_message, requests);
	p->look.until = now + RNP_LOOK_FOR;
}

void rnp_policy_yield_was_dear(struct rnp_policy *p, rn_ns now, rn_ns cpu)
{
	back_off(&p->look.backoff, RNP_LOOK_BACKOFF);
	p->look.did_spin = false;
	does_poller_spin(&p->cpu, now, cpu);
}

/* ---------------------------------------------------------------------- events */
unsigned rnp_policy_cq_armed(struct rnp_policy *p, bool lingers)
{
	p->polling.armed_cqs++;
	p->polling.streak = 0;
	return p->turn == RNP_LEASED && !lingers ? RNP_GIVE_SOCKETS : 0;
}

void rnp_policy_cq_unarmed(struct rnp_policy *p)
{
	assert(p->polling.armed_cqs > 0);
	p->polling.armed_cqs--;
	p->polling.streak = 0;
}

bool rnp_policy_may_linger(struct rnp_policy *p, rn_ns now)
{
	return !is_crowded(p, now) && !leave_out(&p->linger.backoff);
}

unsigned rnp_policy_linger(struct rnp_policy *p, rn_ns now)
{
	unsigned todo;

	if (p->turn == RNP_LEASED)
		return 0;
	todo = take_lease(p, now);
	return todo | set_timer_unless_near(p, now);
}

void rnp_policy_lingered(struct rnp_policy *p, bool found)
{
	struct rnp_linger *l = &p->linger;

	l->missed = found ? 0 : l->missed + 1;
	if (l->missed >= RNP_LINGER_MISSES)
		back_off(&l->backoff, RNP_LINGER_BACKOFF);
}

unsigned rnp_policy_sleeps(const struct rnp_policy *p)
{
	return p->turn == RNP_LEASED ? RNP_GIVE_SOCKETS : 0;
}
