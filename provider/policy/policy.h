/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* policy.h - decides which thread receives packets, when posted requests leave and when
 * an ACK does.
 *
 * A device in software needs a thread that receives. While the threads of the program
 * poll, receiving in these polls costs nothing extra; while they do not, a background
 * thread receives, and each of its wake-ups costs tens of microseconds. The policy
 * predicts what the program does next and decides which of them receives. It is a pure
 * function: it gets a state, an event with what the loop has observed, and a time; it
 * changes the state and returns the actions that the loop (progress.c) is to perform. It
 * reads no clock, takes no lock and calls no other part, so test_policy.c runs it in
 * virtual time against models of programs and machines.
 *
 * Two states (enum rnp_turn) say who receives
 *
 *	RNP_ARMED	The background thread does: it sleeps in epoll_wait() or the
 *			like until a packet makes a socket readable.
 *	RNP_LEASED	The program does, in its polls: the background thread is not
 *			notified of packets, and a timer is pending, the end of the
 *			lease. Each poll may put the end off.
 *
 * "The sockets are on" means that they are enabled in the set that the background thread
 * waits on; they are on in RNP_ARMED and off in RNP_LEASED. "The program looks at memory"
 * means that it waits by reading memory that its peer writes, without any call.
 *
 * RNP_ARMED becomes RNP_LEASED after enough polls in a row; with the first empty poll of
 * a program that is expected to poll until its post is acknowledged; and while a program
 * lingers, that is, goes on polling for a moment before it sleeps for an event.
 * RNP_LEASED becomes RNP_ARMED when the timer fires and the program has not polled; when
 * the program has got the completion that it polled for; when the program arms a CQ; and
 * when it has lingered and no packet came.
 *
 * The policy also decides what a thread of the program does whose polls find nothing
 * (enum rnp_pause). Normally the thread yields the processor, which costs little if the
 * thread that gets it gives it back soon. On a crowded machine, where more threads
 * compute than there are processors, each of these threads first uses up its time slice,
 * so a yield takes tens of milliseconds. There the polling thread goes on polling for a
 * moment and then sleeps, and the background thread receives: a thread that was asleep
 * gets a processor long before one that has yielded.
 *
 * The estimators, each a struct below, answer: Does the program poll? What does its
 * polling thread do between polls? Does the program reply to requests that it finds in
 * memory? How many requests does it post between polls? For each practice that can fail
 * there is a back-off.
 *
 * What must hold, whatever the program does
 *
 * - Whenever the engine's lock is free, the sockets are on or a timer is pending that is
 *   at most a lease ahead. So no packet waits for longer than a lease and a wake-up.
 * - The background thread looks for packets without sleeping for a bounded time only.
 * - An ACK is held for at most RNP_ACK_HOLD while the sockets are on, and until the next
 *   poll or the end of the lease otherwise.
 * - A thread that naps has given the sockets back, and does so for RNP_NAP at most.
 * - Without packets and polls no timer is set, so an idle device uses no processor time.
 */
#ifndef RNP_POLICY_H
#define RNP_POLICY_H

#include "rocin/types.h"

struct rn_qp;

/* --------------------------------------------------------------------- constants */
/* Durations and numbers of polls that decide when the program and the background thread
 * take over receiving from each other. They are fields of a struct, not constants,
 * because a test of races uses much shorter durations.
 */
struct rnp_lease_times {
	/* Length of a lease in ns: the time for which the program's polls receive, and
	 * not the background thread. If the program stops polling without notice, a
	 * packet waits for the rest of the lease and for a wake-up. A shorter lease would
	 * cost more: setting a timer to before the next tick of the scheduler (1 to 4 ms)
	 * takes 12 us on a virtual machine, setting it beyond that tick 1 us. A lease is
	 * renewed after three quarters of its length.
	 */
	rn_ns lease;
	/* Length in ns of the lease of a program that polls steadily. It is renewed after
	 * the time @lease, so its timer is always set to a time beyond the next tick.
	 */
	rn_ns long_lease;
	/* A program that has polled without a gap for this time, in ns, polls steadily.
	 * This is more than a long lease, so that a program that alternately polls and
	 * sleeps gets the short lease.
	 */
	rn_ns steady;
	/* A program that makes this number of polls in a row, while the background
	 * thread waits for packets, gets a lease: from then on its polls receive. The
	 * number is less than a program makes while it waits for a round trip (12 us; a
	 * poll takes half a microsecond), and more than a program makes that polls only
	 * now and then.
	 */
	uint32_t streak;
	/* Upper limit for the number of polls in a row after which a lease begins. That
	 * number grows when the program has often stopped polling. The limit is 8 ms of
	 * polling, as much as @steady.
	 */
	uint32_t streak_max;
};

extern const struct rnp_lease_times rnp_lease_times;

enum {
	/* After enough polls in a row the program gets a lease, in which its polls
	 * receive and not the background thread. While CQs are armed, the number of polls
	 * needed is multiplied by this. A program that arms CQs waits for events, and
	 * drains its CQ before it sleeps, so its polls do not show that it goes on
	 * polling.
	 */
	RNP_STREAK_EVENTS = 16,
	/* The number of polls needed for a lease is multiplied by this each time that a
	 * lease has run out with packets waiting while the polling thread used its
	 * processor for something else. After five such times it has grown from
	 * rnp_lease_times.streak to its limit, streak_max.
	 */
	RNP_STREAK_FACTOR = 4,

	/* After this number of replies in a row that came in time, an ACK is held until
	 * the program's next reply can carry it along.
	 */
	RNP_REPLIES = 4,
	/* Upper limit of rnp_replies.confidence, a number of replies. From there three
	 * late replies, each of which halves it, bring it below RNP_REPLIES.
	 */
	RNP_REPLIES_MAX = 16,
	/* An early lease begins with the first empty poll after a post: from then on
	 * polls receive, not the background thread. After such a lease has run out, none
	 * is taken for this number of posts. The peer has then waited for 5 ms, a long
	 * lease; spread over so many posts, that is less than 20 us for each.
	 */
	RNP_EARLY_BACKOFF = 256,

	/* After a yield that took long, the background thread does not look again after
	 * this number of wake-ups. The yield may have taken 4 ms, a tick of the
	 * scheduler; spread over so many wake-ups, that is 16 us for each.
	 */
	RNP_LOOK_BACKOFF = 255,

	/* After an expensive yield, or a nap from which the thread came back late, the
	 * thread yields again only after this multiple of the time that was lost: the
	 * duration of the yield, or the lateness of the nap. So such yields take at most
	 * one part in 64 of the time.
	 */
	RNP_CROWD_FACTOR = 64,

	/* An event-driven program may linger, that is, poll for a moment before it
	 * sleeps. After lingering has found no packet this number of times in a row,
	 * the program lingers only now and then, because the events that it waits for
	 * come later.
	 */
	RNP_LINGER_MISSES = 4,
	/* Opportunities at which lingering is left out after RNP_LINGER_MISSES failures
	 * in a row. Lingering in vain costs 50 us; spread over so many opportunities,
	 * that is less than 1 us.
	 */
	RNP_LINGER_BACKOFF = 63,

	/* A program that posts at least this number between two polls posts a stream, so
	 * more requests will follow the first. A program that posts fewer waits for each
	 * of them.
	 */
	RNP_STREAM = 8,
	/* If requests were kept back for a poll of the program, and no poll came before
	 * the end of the lease (the time for which its polls receive), this number of
	 * posts leave at once.
	 */
	RNP_GATHER_BACKOFF = 64,
	/* Bytes that a packet has at least besides its payload: those of BTH and ICRC. */
	RNP_PACKET_OVERHEAD = 16,

	/* Maximum number of short polls, which look only at rings in shared memory, after
	 * a full poll. A full poll takes 800 instructions; spread over so many short
	 * polls, that is 6 for each of them.
	 */
	RNP_SHORT_POLLS = 128,

	/* After this number of received packets (as many as a super-packet holds) ACKs
	 * leave, even if more packets can be received: otherwise a peer with a short send
	 * queue would have to stop.
	 */
	RNP_ACK_EVERY = 64,
	/* Number of packets that takes the place of RNP_ACK_EVERY while the program is
	 * expected to reply to the packets soon, because the ACKs can then leave together
	 * with the reply. The number is what one step of a poll receives at most
	 * (RNP_DRAIN_APP super-packets).
	 */
	RNP_ACK_EVERY_ANSWERED = 512,
};

/* How long, in ns, the background thread looks for more packets after one has come,
 * before it sleeps: a round trip to the program's peer (12 us between processors, twice
 * that on a busy machine). Measured on two processors: a READ of a program that does not
 * poll takes 17 us with this and 40 us without it; a ping-pong with completion events 23
 * us and 48 us.
 */
#define RNP_LOOK_FOR RN_USEC(30)
/* How long at most, in ns, the background thread looks for packets without a pause, even
 * if packets keep coming. After that it serves the timer and rocind.
 */
#define RNP_LOOK_MAX RN_MSEC(2)
/* A sched_yield() that took longer than this time, in ns, was too expensive: if the
 * thread had slept and been woken instead, that would have cost 25 us, and several times
 * that on a busy machine.
 */
#define RNP_YIELD_DEAR RN_USEC(200)

/* A reply is in time if it comes within this time, in ns, after its request. The time
 * includes the wake-up of the background thread, and the time until the program sees the
 * bytes in memory, for which the program may have to get a processor (25 us each, and
 * several times that on a busy machine).
 */
#define RNP_REPLY_WITHIN RN_USEC(200)
/* How long at most, in ns, an ACK waits for a reply of the program, so that both leave
 * together, while the background thread waits for packets. That is more than the shortest
 * ACK timeout of a requester (8 us), but a requester has to add the Local CA ACK Delay
 * that the device advertises, 16.8 ms (code 12). It is as long as a wake-up, which delays
 * any other ACK of such a program, too.
 */
#define RNP_ACK_HOLD RN_USEC(60)
/* If the first part of a reply has left, and the flow-control window towards the peer
 * holds the rest back, an ACK waits for the rest for at most this time, in ns, so that
 * both leave together. Sending 64 KiB at 1 Gbit/s takes this time.
 */
#define RNP_REPLY_FOR RN_USEC(500)

/* A program that has polled within this time, in ns (half of rnp_lease_times.lease) is
 * expected to poll soon again. So the requests that it posts may wait for that poll.
 */
#define RNP_GATHER_POLLED RN_USEC(500)
/* When the first of the gathered requests has waited for this time, in ns, the next
 * post sends all of them. Sending a super-packet of 64 KiB at 10 Gbit/s takes this time
 * (52 us).
 */
#define RNP_GATHER_FOR RN_USEC(50)

/* If a sched_yield() of a polling thread took longer than this time, in ns, the processor
 * went to threads that compute: the time slices of Linux are 0.7 to 4 ms long. A peer
 * that has work to do gives the processor back sooner.
 */
#define RNP_PAUSE_DEAR RN_MSEC(1)
/* How long, in ns, a thread on a crowded machine polls without a pause after the last
 * packet or post, before it naps. An answer takes this time if its sender has a processor
 * or gets one at once (two wake-ups of background threads, 50 us each).
 */
#define RNP_SPIN_FOR RN_USEC(100)
/* Maximum length of a nap in ns. A packet ends a nap; events of other kinds are noticed
 * later by up to this time.
 */
#define RNP_NAP RN_MSEC(1)

/* The short polls, which look only at rings in shared memory, take no longer than this
 * time, in ns, between two full polls. While the program polls, a datagram or a timer,
 * which no ring shows, is noticed later by up to this time. It is as long as a few yields
 * take. It is a twentieth of the shortest ACK timeout in use (67 us).
 */
#define RNP_SHORT_FOR RN_USEC(4)

/* ----------------------------------------------------------------------- actions */
/* Actions that the loop is to perform, in the order of these bits. */
enum rnp_action {
	/* Disable the sockets in the set that the background thread waits on. From then
	 * on the program receives, in its polls.
	 */
	RNP_TAKE_SOCKETS = 1u << 0,
	/* Enable the sockets in the set that the background thread waits on, tell the
	 * policy by rnp_policy_given() whether that worked, and receive packets that came
	 * in the meantime.
	 */
	RNP_GIVE_SOCKETS = 1u << 1,
	/* Tell the policy by rnp_policy_account() how much CPU time the calling thread,
	 * which polls, has used.
	 */
	RNP_ACCOUNT_CPU = 1u << 2,
	/* Set the timer to rnp_policy.timer_at. */
	RNP_SET_TIMER = 1u << 3,
	/* Remove the sockets from the epoll set: the program polls steadily, so they will
	 * stay off.
	 */
	RNP_REST_SOCKETS = 1u << 4,
	/* Make sure that the memory guard's signal handler is called before any handler
	 * that the program may have installed since the last check. Requested when
	 * polling has just become steady.
	 */
	RNP_CHECK_HANDLER = 1u << 5,
	/* Let the background thread look for packets a few times more before it sleeps.
	 */
	RNP_LOOK_AGAIN = 1u << 6,
	/* With RNP_GIVE_SOCKETS: do not send the ACKs of the packets that are received
	 * now; they wait for a reply of the program.
	 */
	RNP_HOLD_ACKS = 1u << 7,

	/* After a post: hold the request, that is, do not let the core build its
	 * packets yet.
	 */
	RNP_HOLD = 1u << 8,
	/* After a post: build packets, and leave the last super-packet open for more. */
	RNP_GATHER = 1u << 9,
	/* After a post: if the QP owes an ACK, send it behind the packets of the request,
	 * in the same super-packet.
	 */
	RNP_ACK_ALONG = 1u << 10,
};

/* Says whether acknowledgements are sent in a step of the device. */
enum rnp_acks {
	RNP_ACKS_IF_DRY, /* ACKs leave if there was nothing to receive */
	RNP_ACKS_NOW,	 /* ACKs leave, as the next step may be far off */
	RNP_ACKS_HELD,	 /* ACKs wait for the reply that is expected of the program */
};

/* Says what a thread of the program does after a poll that found nothing, before it polls
 * again.
 */
enum rnp_pause {
	RNP_PAUSE_NONE,	 /* polls again at once: the next packet is expected soon */
	RNP_PAUSE_YIELD, /* yields the processor first */
	/* polls again at once: the machine is crowded, but an answer may come soon */
	RNP_PAUSE_SPIN,
	RNP_PAUSE_NAP, /* sleeps until a packet comes: the machine is crowded */
};

/* ------------------------------------------------------------------------- state */
enum rnp_turn {
	RNP_ARMED, /* the background thread waits for packets */
	/* the program receives in its polls; the timer fires if it stops polling */
	RNP_LEASED,
};

/* Counts on how many further occasions a practice, such as an early lease, is left out,
 * because it has cost more than it saved. So the cost of a failure is spread over many
 * occasions.
 */
struct rnp_backoff {
	/* occasions on which the practice is still left out; 0: it is used */
	uint32_t left;
};

/* The time for which the program is expected to receive in its polls. */
struct rnp_lease {
	rn_ns length; /* length in ns: times.lease or times.long_lease */
	rn_ns begun;  /* time when the lease was taken or renewed last */
	/* taken by the first empty poll after a post, see struct rnp_replies */
	bool is_early;
};

/* Does the program poll, and steadily? */
struct rnp_polling {
	rn_ns last;	    /* time of the last poll */
	rn_ns steady_since; /* time when polls without a gap began */
	/* Number of polls and posts in a row, made while the background thread waits for
	 * packets.
	 */
	uint32_t streak;
	/* value of @streak after which the program's polls receive (a lease) */
	uint32_t streak_need;
	uint32_t armed_cqs;
};

/* CPU-time accounting of the polling thread: what did the thread do when it did not poll?
 * If it used its processor, it computed or looked at memory. If it slept or had no
 * processor, nothing follows about how the program polls.
 */
struct rnp_cpu {
	/* CPU time of the thread when the lease (struct rnp_lease) was renewed */
	rn_ns at_renewal;
	rn_ns at_look; /* CPU time of the thread at the last call of does_poller_spin() */
	rn_ns looked;  /* time of the last call of does_poller_spin() */
};

/* Counters of the transport core. */
struct rnp_counts {
	uint32_t requests; /* number of requests that the device has received */
	uint32_t receives; /* number of receive WQEs that these requests have completed */
};

/* The reply predictor. A program like ib_write_lat posts, polls until the request is
 * acknowledged, and then looks at memory, without any call, for its peer's reply; then it
 * posts again. The background thread would have to receive each of these replies, with a
 * wake-up.
 *
 * No wake-up is needed if the peer holds the ACK until its own reply and sends both
 * together: the program polls for the ACK, and receives the reply with it. Then it posts
 * at once, and while both ends do so a round trip takes no longer than with programs that
 * poll for everything.
 *
 * Any delay ends that state: an ACK comes alone, so the program looks at memory and
 * nobody polls. Therefore a program that replies in time gets a lease with its first
 * empty poll after a post (an early lease), and the lease ends as soon as the ACK has
 * come without a reply. The background thread then receives one reply, and the two
 * programs are in step again.
 */
struct rnp_replies {
	uint32_t confidence; /* recent replies in time; halved by each late one */
	/* Time when the background thread found a request to which no reply has come yet;
	 * 0: there is none.
	 */
	rn_ns found_at;
	uint32_t requests; /* value of rnp_counts.requests at @found_at */
	/* @at_post: the counters at the last post. @sees_memory: the program can see the
	 * requests that came between the last two posts in memory only, because none of
	 * them completed a receive WQE.
	 */
	struct rnp_counts at_post;
	bool sees_memory;
	/* The QP that was posted to last, if that post is not acknowledged yet; otherwise
	 * NULL.
	 */
	const struct rn_qp *asked;
	rn_ns asked_at;
	/* The policy believes that the program looks at memory: its last post was
	 * acknowledged, and since then it has neither posted nor polled.
	 */
	bool has_left;
	struct rnp_backoff early;
};

/* ACKs that have not left. */
struct rnp_ack_hold {
	uint32_t packets; /* packets received since the last ACKs were sent */
	/* Time when the oldest ACK that waits was due; 0: no ACK waits, or the program's
	 * polls receive (RNP_LEASED).
	 */
	rn_ns since;
};

/* Doorbell batching: decides which requests are sent together. */
struct rnp_batching {
	uint32_t posts; /* number of requests posted since the program polled last */
	/* number of requests posted between the last two polls; 0: none */
	uint32_t run;
	/* time when the oldest request that has not left was posted; 0: all have left */
	rn_ns since;
	/* number of requests whose packets have not been built (RNP_HOLD) */
	uint32_t held;
	uint64_t held_bytes; /* bytes of the @held requests */
	struct rnp_backoff backoff;
};

/* How long the background thread looks for packets after it has received one. */
struct rnp_look {
	rn_ns until; /* time to stop looking, unless a packet comes */
	rn_ns last;  /* time to stop looking in any case */
	struct rnp_backoff backoff;
	bool did_spin; /* result of the last does_poller_spin() */
};

/* Lingering: an event-driven program goes on polling for a moment before it sleeps. */
struct rnp_linger {
	/* number of times in a row that lingering ended without a completion */
	uint32_t missed;
	struct rnp_backoff backoff;
};

/* Finds out whether the machine is crowded: whether threads that compute keep the polling
 * thread from getting its processor back after a yield.
 */
struct rnp_crowd {
	rn_ns until; /* the machine counts as crowded until then */
	rn_ns moved; /* time of the last packet or post */
};

/* Short polls, which look only at the rings in shared memory. */
struct rnp_short {
	uint32_t most; /* maximum number of short polls after a full poll */
	rn_ns full_at; /* time of the last full poll */
};

/* What the program was doing when its lease ran out, that is, when the time for which its
 * polls receive ended without a poll.
 */
struct rnp_lapse {
	bool was_busy;	    /* the polling thread used the processor for something else */
	bool was_gathering; /* posted requests waited to be sent by the next poll */
};

struct rnp_policy {
	struct rnp_lease_times times;
	enum rnp_turn turn;
	/* Time for which the timer is set; 0: it fired and was not set again. */
	rn_ns timer_at;
	struct rnp_lease lease;
	struct rnp_polling polling;
	struct rnp_cpu cpu;
	struct rnp_replies replies;
	struct rnp_ack_hold acks;
	struct rnp_batching batching;
	struct rnp_look look;
	struct rnp_linger linger;
	struct rnp_crowd crowd;
	struct rnp_short shorts;
	struct rnp_lapse lapse;
};

/* ------------------------------------------------------------------------ events */
/* What the loop (progress.c) has observed of the transport core. Each function that takes
 * these facts says which fields it reads. The struct is passed by value, so that a poll
 * has it in registers.
 */
struct rnp_facts {
	bool has_acks_due;     /* there are ACKs to send */
	bool is_amid_message;  /* the last packet was not the end of its message */
	bool is_asked_unacked; /* the QP rnp_replies.asked waits for an acknowledgement */
};

/* Initializes @p: the background thread receives (RNP_ARMED). */
void rnp_policy_init(struct rnp_policy *p);

/* The functions below that return unsigned return bits of enum rnp_action, unless their
 * comment says something else.
 */

/* --- Functions to call when a thread of the program polls. */
/* Notes that a poll of the program begins. Return: whether ACKs are sent in this poll. */
enum rnp_acks rnp_policy_poll(struct rnp_policy *p);

/* Notes that the poll has received all packets that had come. Leases (in which polls
 * receive, and not the background thread) begin only here and with lingering, and are
 * renewed only here: so when a lease begins, no packet waits for the background thread.
 *
 * @deadline: the next time at which a step is needed, or RN_NEVER; read only in the state
 * RNP_ARMED. Of @f it reads is_asked_unacked and, if rnp_policy_wants_acks() returns
 * true, has_acks_due and is_amid_message.
 */
unsigned rnp_policy_polled(struct rnp_policy *p, rn_ns now, struct rnp_facts f,
			   rn_ns deadline);

/* Does rnp_policy_polled() read has_acks_due and is_amid_message now? While polls receive
 * (RNP_LEASED) it seldom does, and the loop need not observe them.
 */
static inline bool rnp_policy_wants_acks(const struct rnp_policy *p,
					 bool is_asked_unacked)
{
	return p->turn == RNP_ARMED || (p->replies.asked && !is_asked_unacked);
}

/* Called for RNP_ACCOUNT_CPU. @cpu: CPU time that the polling thread has used. */
void rnp_policy_account(struct rnp_policy *p, rn_ns cpu);

/* Decides what the polling thread does before its next poll, in case this poll finds
 * nothing. @is_lively: packets were received just now, or a ring says that more will
 * come.
 */
enum rnp_pause rnp_policy_pause(struct rnp_policy *p, rn_ns now, bool is_lively);

/* Decides how many of the next polls may be short, that is, look at the rings in shared
 * memory and do nothing else. Called after a full poll that found nothing, if there is
 * nothing to do until a ring changes. @pause: what rnp_policy_pause() has returned.
 * @is_all: the program has made all the short polls that it was allowed since the last
 * full one.
 *
 * Short polls are allowed only while the program's polls receive (RNP_LEASED), as
 * otherwise polls are counted to decide when they shall receive. They are not allowed
 * while the next packet is expected soon: a short poll would find the packet so early
 * that the ACK, which comes 100 ns later, is received by another poll. (SEND ping-pong by
 * shared memory, p50: 2.53 us, and 2.82 with short polls all the time, 16 interleaved
 * runs.) The faster the program polls, the more of them are allowed, so that datagrams
 * and timers, which no ring shows, wait no longer than RNP_SHORT_FOR. If the program
 * stops polling, its lease ends as after a full poll. Return: number of polls, 0 ..
 * RNP_SHORT_POLLS.
 */
uint32_t rnp_policy_short_polls(struct rnp_policy *p, rn_ns now, enum rnp_pause pause,
				bool is_all);

/* Notes that a polling thread has given its processor up, by a yield or a nap. @late, in
 * ns, is how long it was late in getting the processor back: for a yield, the whole
 * duration; for a nap, what exceeds RNP_NAP.
 */
void rnp_policy_paused(struct rnp_policy *p, rn_ns now, rn_ns late);

/* --- Functions to call when the program posts to a send queue. */
struct rnp_post {
	uint32_t count; /* number of requests */
	uint64_t bytes;
	bool is_unacked; /* its QP waits for an acknowledgement of earlier requests */
	/* its QP is in RTS, so packets will leave; false: in ERR, where requests are
	 * only flushed
	 */
	bool is_sending;
};

unsigned rnp_policy_post(struct rnp_policy *p, rn_ns now, const struct rnp_post *post);

/* Notes that requests were posted to @qp, without RNP_HOLD, and that the loop has sent
 * packets. Of @f it reads has_acks_due and is_asked_unacked, which here is about @qp.
 */
void rnp_policy_posted(struct rnp_policy *p, rn_ns now, const struct rn_qp *qp,
		       struct rnp_facts f, struct rnp_counts counts);

/* Notes that the loop has sent packets. @work: packets of requests that were held
 * (RNP_HOLD) were among them. @is_open: the last super-packet is kept open for more
 * packets.
 */
void rnp_policy_sent(struct rnp_policy *p, rn_ns now, bool work, bool is_open);

/* --- Functions to call when the program polls or posts. */
/* Do ACKs leave in this step? @found: super-packets that this step has received.
 * @is_reply_in_part: a part of the packets of the QP replies.asked has left, and a part
 * has not; read only if rnp_policy_acks() returns RNP_ACKS_HELD.
 */
bool rnp_policy_acks_leave(const struct rnp_policy *p, rn_ns now, enum rnp_acks acks,
			   unsigned found, bool is_amid_message, bool is_reply_in_part);

/* If the background thread waits for packets, sets the timer for @at, the next deadline
 * of the core; otherwise does nothing.
 */
unsigned rnp_policy_deadline(struct rnp_policy *p, rn_ns at);

/* Sets the timer so that held ACKs leave in time. The loop (progress.c) calls it after
 * packets were received. Sets no timer unless the background thread receives (RNP_ARMED).
 */
unsigned rnp_policy_limit_acks(struct rnp_policy *p, rn_ns now, bool has_acks_due);

/* Returns whether ACKs are held when the background thread receives. */
enum rnp_acks rnp_policy_acks(const struct rnp_policy *p);

/* Notes that the loop has tried RNP_GIVE_SOCKETS. @is_on: it worked. If it did not, the
 * kernel had no memory to add a socket to the epoll set, and the background thread looks
 * for packets when the timer fires.
 */
unsigned rnp_policy_given(struct rnp_policy *p, rn_ns now, bool is_on);

/* --- Functions to call in the background thread. */
/* Notes that the timer has fired and is no longer pending. */
static inline void rnp_policy_fired(struct rnp_policy *p)
{
	p->timer_at = 0;
}

/* Decides what to do when the timer has fired during a lease, the time for which the
 * program's polls receive: to end the lease, or to extend it if the program has polled
 * lately. @cpu: CPU time that the polling thread has used so far. Returns the actions.
 */
unsigned rnp_policy_lease_ends(struct rnp_policy *p, rn_ns now, rn_ns cpu);

/* Notes that a lease has ended and that the background thread has looked for packets in
 * place of the program's polls. @found: at least one packet was waiting, so the lease was
 * too long.
 */
void rnp_policy_took_over(struct rnp_policy *p, bool found);

/* Notes that the background thread was woken while it waited for packets. Returns whether
 * ACKs leave in the step that it performs now.
 */
enum rnp_acks rnp_policy_woken(struct rnp_policy *p, rn_ns now);

/* Notes that the background thread has received packets, to which the program may reply.
 * Returns RNP_LOOK_AGAIN or 0.
 */
unsigned rnp_policy_received(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			     uint32_t requests);

/* Begins RNP_LOOK_AGAIN, that is, looking for packets a few times more before the sleep.
 * @cpu: CPU time of the polling thread; read only if rnp_policy_wants_cpu() returns true.
 * Return: false if the thread must not look again, because of a back-off.
 */
bool rnp_policy_look(struct rnp_policy *p, rn_ns now, rn_ns cpu);

static inline bool rnp_policy_wants_cpu(const struct rnp_policy *p)
{
	return p->look.backoff.left > 0;
}

/* Does the background thread go on looking for packets? Asked before each yield. */
bool rnp_policy_looks_on(const struct rnp_policy *p, rn_ns now);

/* Notes that the background thread has yielded the processor, and got it back only after
 * more than RNP_YIELD_DEAR.
 */
void rnp_policy_yield_was_dear(struct rnp_policy *p, rn_ns now, rn_ns cpu);

/* Notes that the background thread, looking again before it sleeps (RNP_LOOK_AGAIN), has
 * found packets.
 */
void rnp_policy_look_found(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			   uint32_t requests);

/* --- Functions to call when the program waits for completion events. */
/* Notes that the program has armed a CQ. @lingers: before the program sleeps for the
 * event it will linger, that is, poll for a moment longer.
 */
unsigned rnp_policy_cq_armed(struct rnp_policy *p, bool lingers);
void rnp_policy_cq_unarmed(struct rnp_policy *p);

/* May the program linger? It may not on a crowded machine, since lingering yields the
 * processor.
 */
bool rnp_policy_may_linger(struct rnp_policy *p, rn_ns now);

/* Notes that lingering begins; all packets that had come were received. */
unsigned rnp_policy_linger(struct rnp_policy *p, rn_ns now);

/* Notes that lingering is over. @found: a completion came. */
void rnp_policy_lingered(struct rnp_policy *p, bool found);

/* Notes that the program goes to sleep: for an event (after lingering in vain, or without
 * lingering) or for a nap.
 */
unsigned rnp_policy_sleeps(const struct rnp_policy *p);

/* Notes that @qp is destroyed. */
static inline void rnp_policy_forget(struct rnp_policy *p, const struct rn_qp *qp)
{
	if (p->replies.asked == qp)
		p->replies.asked = NULL;
}

#endif /* RNP_POLICY_H */
