/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* policy.h - who makes progress, when a post leaves and when an ACK does.
 *
 * A device in software needs a thread that receives. While the threads of the program
 *poll, receiving in these polls costs nothing extra; while they do not, a background
 *thread receives, and each of its wake-ups costs tens of microseconds. The policy
 *predicts what the program does next and decides which of them receives. It is a pure
 *function: it gets a state, an event with what the loop has observed, and a time; it
 *changes the state and returns the actions that the loop (progress.c) is to perform. It
 *reads no clock, takes no lock and calls nobody, so test_policy.c runs it in virtual time
 *against models of programs and machines.
 *
 * The two turns
 *
 *	RNP_ARMED	the sockets are on in the set that the background thread sleeps
 *			on: a packet wakes it.
 *	RNP_LEASED	the sockets are off, and a timer is pending. It stands for "the
 *			program still polls" and is set anew while that is true.
 *
 * RNP_ARMED becomes RNP_LEASED after enough polls in a row; with the first empty poll of
 *a program that is expected to poll until its post is acknowledged; and while a program
 * lingers. RNP_LEASED becomes RNP_ARMED when the timer fires and the program has not
 *polled; when the program has got the completion that it polled for; when the program
 *arms a CQ; and when it has lingered in vain.
 *
 * The estimators, each a struct below, answer: Does the program poll? What does its
 *polling thread do between polls? Does the program reply to requests that it finds in
 *memory? How many requests does it post between polls? And for each practice that can
 *fail there is a back-off.
 *
 * What must hold, whatever the program does
 *
 * - Whenever the engine's lock is free, the sockets are on or a timer is pending that is
 *   at most a lease ahead. So no packet waits for longer than a lease and a wake-up.
 * - The background thread looks for packets without sleeping for a bounded time only.
 * - An ACK is held for at most RNP_ACK_HOLD while the sockets are on, and until the next
 *   poll or the end of the lease otherwise.
 * - In peace nothing happens: without packets and polls no timer is set.
 */
#ifndef RNP_POLICY_H
#define RNP_POLICY_H

#include "rocin/types.h"

struct rn_qp;

/* --------------------------------------------------------------------- constants */
/* Durations of the hand-over. They are fields, as a test of races has much shorter ones.
 */
struct rnp_lease_times {
	/* ns. When the program stops polling without notice, a packet waits for so long,
	 * and for a wake-up. A shorter lease would cost more: setting a timer to before
	 * the next tick of the scheduler (1 to 4 ms) takes 12 us on a virtual machine,
	 * setting it beyond that tick 1 us. A lease is renewed after three quarters of
	 * it.
	 */
	rn_ns lease;
	/* ns. The lease of a program that polls steadily: its timer is set once in
	 * `lease', to a time beyond the next tick.
	 */
	rn_ns long_lease;
	/* ns. Polling without a gap for so long is steady. It is more than a long lease,
	 * so that a program that polls and sleeps by turns has the short lease.
	 */
	rn_ns steady;
	/* Polls. So many in a row take sockets back that are on: fewer than a program
	 * makes while it waits for a round trip (12 us; a poll takes half a microsecond),
	 * more than a program makes that polls only now and then.
	 */
	uint32_t streak;
	/* Polls. The longest streak, needed of a program that has often stopped polling:
	 * 8 ms of polling, as much as `steady'.
	 */
	uint32_t streak_max;
};

extern const struct rnp_lease_times rnp_lease_times;

enum {
	/* Factor on the streak while CQs are armed. Such a program waits for events, and
	 * drains its CQ before it sleeps, so polls do not show that it goes on polling.
	 */
	RNP_STREAK_EVENTS = 16,
	/* Factor on the streak each time that a busy program let a lease run out while
	 * packets waited. Five times lead from the shortest streak to the longest.
	 */
	RNP_STREAK_FACTOR = 4,

	/* Replies in time. After so many in a row the next reply is waited for. */
	RNP_REPLIES = 4,
	/* Replies. The highest confidence, which three misses in a row bring to nothing.
	 */
	RNP_REPLIES_MAX = 16,
	/* Posts without an early lease after an early lease has run out. That cost the
	 * peer a lease of 5 ms: less than 20 us for each of so many round trips of 12 us.
	 */
	RNP_EARLY_BACKOFF = 256,

	/* Wake-ups after which the background thread does not look again, since a yield
	 * took long: up to 4 ms, a tick of the scheduler, which is 16 us for each of
	 * these wake-ups.
	 */
	RNP_LOOK_BACKOFF = 255,

	/* Times in a row that lingering found nothing. Then the events of this program
	 * come later, and lingering is tried again only now and then.
	 */
	RNP_LINGER_MISSES = 4,
	/* Times that lingering is left out then. The 50 us of a vain one are less than 1
	 * us for each event.
	 */
	RNP_LINGER_BACKOFF = 63,

	/* Requests between two polls. A program that posts so many posts a stream, so
	 * more requests will follow the first; one that posts fewer waits for each of
	 * them.
	 */
	RNP_STREAM = 8,
	/* Posts that leave at once, after one had to wait for the end of a lease. */
	RNP_GATHER_BACKOFF = 64,
	/* Bytes of a packet besides its payload, at least: BTH and ICRC. */
	RNP_PACKET_OVERHEAD = 16,

	/* Packets, one super-packet. ACKs leave at least so often even if there is always
	 * something to receive: a peer with a short send queue would stop meanwhile.
	 */
	RNP_ACK_EVERY = 64,
	/* Packets. Likewise if a reply is expected that the ACKs can go along with: as
	 * many as one step of a poll finds (RNP_DRAIN_APP super-packets).
	 */
	RNP_ACK_EVERY_ANSWERED = 512,
};

/* For so long after a packet the background thread looks for more before it sleeps: a
 * round trip to the program's peer (12 us between processors, twice that on a busy
 * machine). A READ of a program that does not poll takes 17 us with it and 40 us without;
 * a ping-pong with completion events 23 us and 48 us (two processors).
 */
#define RNP_LOOK_FOR RN_USEC(30)
/* The longest time that it looks even if packets keep coming: then it serves the timer
 * and rocind.
 */
#define RNP_LOOK_MAX RN_MSEC(2)
/* A yield that took longer than this cost too much: to sleep and be woken would have cost
 * 25 us, the difference above, and several times that on a busy machine.
 */
#define RNP_YIELD_DEAR RN_USEC(200)

/* A reply within this time after its request is in time. Meanwhile the background thread
 * wakes up, and the program sees the bytes in memory, for which it may have to get a
 * processor (25 us each, and several times that on a busy machine).
 */
#define RNP_REPLY_WITHIN RN_USEC(200)
/* While the sockets are on, an ACK waits for so long for a reply that it can go along
 * with. That is longer than the shortest ACK timeout of a requester (8 us), and as long
 * as a wake-up, which delays any other ACK of such a program, too. A requester has to add
 * the Local CA ACK Delay that the device advertises, 16.8 ms (code 12).
 */
#define RNP_ACK_HOLD RN_USEC(60)
/* An ACK waits for so long for the end of a reply whose first part has left and whose
 * rest the peer's window holds back: 64 KiB take so long at 1 Gbit/s.
 */
#define RNP_REPLY_FOR RN_USEC(500)

/* A program that polled so recently, half a lease ago, will soon poll again: the requests
 * that it posts may wait for that poll.
 */
#define RNP_GATHER_POLLED RN_USEC(500)
/* Once the first request has waited for so long, the next post sends all that have
 * gathered. A super-packet of 64 KiB takes so long on a wire of 10 Gbit/s (52 us).
 */
#define RNP_GATHER_FOR RN_USEC(50)

/* ----------------------------------------------------------------------- actions */
/* What the loop is to do, in the order of these bits. */
enum rnp_action {
	/* Switch the sockets off in the background thread's set: the program serves them.
	 */
	RNP_TAKE_SOCKETS = 1u << 0,
	/* Switch the sockets on, tell the policy by rnp_policy_given() whether that
	 * worked, and receive packets that came in the meantime.
	 */
	RNP_GIVE_SOCKETS = 1u << 1,
	/* Tell the policy by rnp_policy_account() how much CPU time the calling thread,
	 * which polls, has used.
	 */
	RNP_ACCOUNT_CPU = 1u << 2,
	/* Set the timer to rnp_policy.timer_at. */
	RNP_SET_TIMER = 1u << 3,
	/* Polling is steady: the sockets will stay off, so they may leave the set. */
	RNP_REST_SOCKETS = 1u << 4,
	/* Polling has just become steady: make sure that the memory guard's signal
	 * handler is called first, as the program may have installed its own since.
	 */
	RNP_CHECK_HANDLER = 1u << 5,
	/* The background thread looks for packets a few times more before it sleeps. */
	RNP_LOOK_AGAIN = 1u << 6,
	/* With RNP_GIVE_SOCKETS: ACKs of packets that are received now wait for a reply.
	 */
	RNP_HOLD_ACKS = 1u << 7,

	/* After a post: hold the request; the core is not asked for its packets yet. */
	RNP_HOLD = 1u << 8,
	/* After a post: build packets, and leave the last super-packet open for more. */
	RNP_GATHER = 1u << 9,
	/* After a post: an ACK that this QP has to send goes along behind the request. */
	RNP_ACK_ALONG = 1u << 10,
};

/* What becomes of acknowledgements in a step of the device. */
enum rnp_acks {
	RNP_ACKS_IF_DRY, /* they leave if there was nothing to receive */
	RNP_ACKS_NOW,	 /* they leave, as the next step may be far off */
	RNP_ACKS_HELD,	 /* they wait for a reply of the program, which is expected */
};

/* ------------------------------------------------------------------------- state */
enum rnp_turn {
	RNP_ARMED,  /* the background thread waits for packets */
	RNP_LEASED, /* the program's threads poll; the timer runs out if they stop */
};

/* A practice that has just cost more than it saves is left out for a number of
 * opportunities, so that its cost is spread over them.
 */
struct rnp_backoff {
	uint32_t
		left; /* opportunities that are still left out; 0: the practice is used */
};

/* The time for which the program counts as serving the sockets. */
struct rnp_lease {
	rn_ns length;  /* times.lease or times.long_lease */
	rn_ns begun;   /* when the lease was taken or renewed last */
	bool is_early; /* taken by the first poll, as the end of polling will be noticed
			*/
};

/* Does the program poll, and steadily? */
struct rnp_polling {
	rn_ns last;	      /* time of the last poll */
	rn_ns steady_since;   /* no gap between polls since then */
	uint32_t streak;      /* polls and posts since the sockets are on */
	uint32_t streak_need; /* so many take the sockets back */
	uint32_t armed_cqs;
};

/* CPU-time accounting of the polling thread: what did it do when it did not poll? A
 * thread that computed or looked at memory used its processor. If it slept, or had no
 * processor, that says nothing about how the program polls.
 */
struct rnp_cpu {
	rn_ns at_renewal; /* CPU time that it had used when the lease was renewed */
	rn_ns at_look;	  /* CPU time that it had used at the time ... */
	rn_ns looked;	  /* ... when does_poller_spin() was asked last */
};

/* Counters of the core. */
struct rnp_counts {
	uint32_t requests; /* received */
	uint32_t receives; /* receive WQEs that these requests have completed */
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
 * A disturbance ends that state: an ACK comes alone, so the program looks at memory and
 * nobody polls. Therefore a program that replies in time gets the sockets with its first
 * empty poll after a post (an early lease), and the background thread gets them back as
 * soon as the ACK has come without a reply. The background thread then receives one
 * reply, and the two programs are in step again.
 */
struct rnp_replies {
	uint32_t confidence; /* recent replies in time; halved by each late one */
	rn_ns found_at;	     /* when the background thread found a request that has no
			      * reply yet; 0: none
			      */
	uint32_t requests;   /* rnp_counts.requests at that time */
	/* Counters at the last post. Since the post before, requests came and none of
	 * them consumed a receive WQE: only memory shows them to the program.
	 */
	struct rnp_counts at_post;
	bool sees_memory;
	const struct rn_qp
		*asked; /* last QP posted to, if not acknowledged yet; or NULL */
	rn_ns asked_at;
	bool has_left; /* the program went to look at memory; no post or poll since */
	struct rnp_backoff early;
};

/* ACKs that have not left. */
struct rnp_ack_hold {
	uint32_t packets; /* packets received since ACKs left last */
	rn_ns since;	  /* since then ACKs wait with the sockets on; 0: none do */
};

/* Doorbell batching: which requests leave together. */
struct rnp_batching {
	uint32_t posts;	     /* requests since the program polled last */
	uint32_t run;	     /* posts between the two polls before that, if any */
	rn_ns since;	     /* since then a super-packet is open; 0: none is */
	uint32_t held;	     /* requests whose packets the core was not asked for */
	uint64_t held_bytes; /* bytes of these requests */
	struct rnp_backoff backoff;
};

/* Looking again after a packet. */
struct rnp_look {
	rn_ns until; /* the end, unless a packet comes */
	rn_ns last;  /* the end in any case */
	struct rnp_backoff backoff;
	bool did_spin; /* what does_poller_spin() said last */
};

/* Keeping the sockets for a moment when an event-driven program goes to sleep. */
struct rnp_linger {
	uint32_t missed; /* times in a row without a packet */
	struct rnp_backoff backoff;
};

/* What the program did when its lease ran out. */
struct rnp_lapse {
	bool was_busy;	    /* its polling thread used the processor */
	bool was_gathering; /* packets waited for its next poll */
};

struct rnp_policy {
	struct rnp_lease_times times;
	enum rnp_turn turn;
	/* The expiry that the timer really has; 0: it fired and was not set again. */
	rn_ns timer_at;
	struct rnp_lease lease;
	struct rnp_polling polling;
	struct rnp_cpu cpu;
	struct rnp_replies replies;
	struct rnp_ack_hold acks;
	struct rnp_batching batching;
	struct rnp_look look;
	struct rnp_linger linger;
	struct rnp_lapse lapse;
};

/* ------------------------------------------------------------------------ events */
/* What the loop has observed of the core. It is passed by value, so that a poll has it in
 * registers. Each event says which fields it reads.
 */
struct rnp_facts {
	bool has_acks_due;     /* there are ACKs to send */
	bool is_amid_message;  /* the last packet was not the end of its message */
	bool is_asked_unacked; /* replies.asked waits for an acknowledgement */
};

/* At attach: the background thread serves the sockets. */
void rnp_policy_init(struct rnp_policy *p);

/* Of the functions below, those without another comment return enum rnp_action. */

/* --- A thread of the program polls. */
/* Before the poll receives. */
enum rnp_acks rnp_policy_poll(struct rnp_policy *p);

/* The poll has drained the sockets. Only this event and lingering take a lease, and only
 * this event renews it, so no packet is left for the background thread when a lease
 * begins.
 * @deadline: the next time at which a step is needed, or RN_NEVER; it counts while the
 * sockets are on. Reads is_asked_unacked, and if rnp_policy_wants_acks() has_acks_due and
 * is_amid_message.
 */
unsigned rnp_policy_polled(struct rnp_policy *p, rn_ns now, struct rnp_facts f,
			   rn_ns deadline);

/* Does rnp_policy_polled() read the facts about ACKs? During a lease it seldom does. */
static inline bool rnp_policy_wants_acks(const struct rnp_policy *p,
					 bool is_asked_unacked)
{
	return p->turn == RNP_ARMED || (p->replies.asked && !is_asked_unacked);
}

/* RNP_ACCOUNT_CPU. @cpu: CPU time that the polling thread has used. */
void rnp_policy_account(struct rnp_policy *p, rn_ns cpu);

/* --- The program posts to a send queue. */
struct rnp_post {
	uint32_t count; /* requests */
	uint64_t bytes;
	bool is_unacked; /* its QP waits for an acknowledgement */
	bool is_sending; /* its QP is in RTS; in ERR there are completions to report */
};

unsigned rnp_policy_post(struct rnp_policy *p, rn_ns now, const struct rnp_post *post);

/* Requests were posted to @qp and not held, and the loop has transmitted. Reads
 * has_acks_due, and is_asked_unacked, which is about @qp.
 */
void rnp_policy_posted(struct rnp_policy *p, rn_ns now, const struct rn_qp *qp,
		       struct rnp_facts f, struct rnp_counts counts);

/* The loop has transmitted. @work: including held requests. @is_open: a super-packet is
 * open. */
void rnp_policy_sent(struct rnp_policy *p, rn_ns now, bool work, bool is_open);

/* --- Both. */
/* Do ACKs leave in this step? @found: super-packets that this step has received.
 * @is_reply_in_part: only a part of the requests of replies.asked has left; it counts
 * only if rnp_policy_acks() is RNP_ACKS_HELD.
 */
bool rnp_policy_acks_leave(const struct rnp_policy *p, rn_ns now, enum rnp_acks acks,
			   unsigned found, bool is_amid_message, bool is_reply_in_part);

/* The core waits for a time, @at; while the sockets are on, the timer is set for it. */
unsigned rnp_policy_deadline(struct rnp_policy *p, rn_ns at);

/* After receiving with the sockets on: sets the timer so that held ACKs leave in time. */
unsigned rnp_policy_limit_acks(struct rnp_policy *p, rn_ns now, bool has_acks_due);

/* What becomes of ACKs when a thread receives that does not poll. */
enum rnp_acks rnp_policy_acks(const struct rnp_policy *p);

/* RNP_GIVE_SOCKETS was tried. @is_on: it worked; otherwise the kernel had no room, and
 * the background thread looks when the timer fires.
 */
unsigned rnp_policy_given(struct rnp_policy *p, rn_ns now, bool is_on);

/* --- The background thread. */
/* The timer has fired, in either turn: it is not pending any more. */
static inline void rnp_policy_fired(struct rnp_policy *p)
{
	p->timer_at = 0;
}

/* The timer fired during a lease. @cpu: CPU time that the polling thread has used. */
unsigned rnp_policy_lease_ends(struct rnp_policy *p, rn_ns now, rn_ns cpu);

/* The lease has ended, and the background thread has received. @found: whether there was
 * a packet.
 */
void rnp_policy_took_over(struct rnp_policy *p, bool found);

/* The background thread was woken with the sockets on. */
enum rnp_acks rnp_policy_woken(struct rnp_policy *p, rn_ns now);

/* The background thread has received packets: a reply may follow. */
unsigned rnp_policy_received(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			     uint32_t requests);

/* RNP_LOOK_AGAIN begins. @cpu: CPU time of the polling thread, if rnp_policy_wants_cpu().
 * Return: false if looking again is left out.
 */
bool rnp_policy_look(struct rnp_policy *p, rn_ns now, rn_ns cpu);

static inline bool rnp_policy_wants_cpu(const struct rnp_policy *p)
{
	return p->look.backoff.left > 0;
}

/* Before each yield: does the thread go on looking? */
bool rnp_policy_looks_on(const struct rnp_policy *p, rn_ns now);

/* A yield took RNP_YIELD_DEAR or more. */
void rnp_policy_yield_was_dear(struct rnp_policy *p, rn_ns now, rn_ns cpu);

/* Looking again has found packets. */
void rnp_policy_look_found(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			   uint32_t requests);

/* --- Events. */
/* @lingers: the program will linger before it sleeps. */
unsigned rnp_policy_cq_armed(struct rnp_policy *p, bool lingers);
void rnp_policy_cq_unarmed(struct rnp_policy *p);

/* Shall the program linger? */
bool rnp_policy_may_linger(struct rnp_policy *p);

/* Lingering begins, and the sockets were drained. */
unsigned rnp_policy_linger(struct rnp_policy *p, rn_ns now);

/* Lingering is over. @found: whether a completion came. */
void rnp_policy_lingered(struct rnp_policy *p, bool found);

/* The program goes to sleep, after lingering in vain or without lingering. */
unsigned rnp_policy_sleeps(const struct rnp_policy *p);

/* A queue pair is destroyed. */
static inline void rnp_policy_forget(struct rnp_policy *p, const struct rn_qp *qp)
{
	if (p->replies.asked == qp)
		p->replies.asked = NULL;
}

#endif /* RNP_POLICY_H */
