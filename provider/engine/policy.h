/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* policy.h - who makes progress, when a post leaves and when an ACK does.
 *
 * A device of software needs a thread that receives. The threads of the program do it for
 * nothing while they poll; a background thread does it while they do not, and each of its
 * wake-ups costs tens of microseconds. The policy guesses what the program does next and
 * says who is to receive. It is a pure function: it gets a state, an event with what the
 * loop has observed, and a time; it changes the state and returns the actions that the
 * loop (progress.c) is to perform. It reads no clock, takes no lock and calls nobody, so
 * test_policy.c runs it in virtual time against models of programs and machines.
 *
 * The two turns
 *
 *	RNP_ARMED	the sockets are on in the set that the background thread sleeps
 *			on: a packet wakes it.
 *	RNP_LEASED	the sockets are off, and a timer is pending. It stands for "the
 *			program still polls" and is pushed forward while that is true.
 *
 * ARMED becomes LEASED after enough polls in a row; with the first empty poll of a
 * program that is expected to poll until its post is acknowledged; and while a program
 * lingers. LEASED becomes ARMED when the timer fires and the program has not polled; when
 * the program has what it polled for; when it arms a CQ; when it has lingered in vain.
 *
 * The estimators, each a struct below: whether the program polls, what its polling thread
 * does when it does not, whether it replies to what it finds in memory, how many requests
 * it posts between polls, and for each practice that can fail a back-off.
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
	/* ns. A packet waits for so long, and a wake-up, when the program stops polling
	 * without notice. Shorter is not possible for free: setting a timer to before the
	 * next tick of the scheduler (1 to 4 ms) takes 12 us on a virtual machine, beyond
	 * it 1 us, and a lease is renewed after three quarters of it.
	 */
	rn_ns lease;
	/* ns. Of a program that polls steadily: it sets the timer once in `lease', beyond
	 * the next tick.
	 */
	rn_ns long_lease;
	/* ns. Polling without a gap for so long is steady. More than a long lease, so
	 * that a program that polls and sleeps in turns has the short one.
	 */
	rn_ns steady;
	/* Polls. So many take sockets back that are on. Fewer than a program makes while
	 * it waits for one round trip (12 us, a poll takes half a microsecond), more than
	 * one that looks in now and then.
	 */
	uint32_t streak;
	/* Polls. At most so many, of a program that has often stayed away: 8 ms of
	 * polling, which is what `steady' is for others.
	 */
	uint32_t streak_max;
};

extern const struct rnp_lease_times rnp_lease_times;

enum {
	/* Factor. While CQs are armed events are wanted, and a poll says little: a
	 * program drains its CQ before it sleeps.
	 */
	RNP_STREAK_EVENTS = 16,
	/* Factor on the streak, each time that a program which was busy let a lease run
	 * out with packets waiting. Five of them lead from the least streak to the most.
	 */
	RNP_STREAK_FACTOR = 4,

	/* Replies that came in time before the next one is waited for: what happens that
	 * often in a row is how the program works.
	 */
	RNP_REPLIES = 4,
	/* Replies. Confidence grows no further, so that it is gone after three misses. */
	RNP_REPLIES_MAX = 16,
	/* Posts without an early lease, after one that ran out: it cost its peer a lease
	 * of 5 ms, spread over so many round trips of 12 us that is less than twice of
	 * each.
	 */
	RNP_EARLY_BACKOFF = 256,

	/* Wake-ups that do without looking again after a dear yield: 4 ms, the tick after
	 * which the scheduler takes a processor away, is 16 us for each of them.
	 */
	RNP_LOOK_BACKOFF = 255,

	/* Lingers in a row that found nothing. The program does something else with its
	 * events, so lingering is tried again only now and then.
	 */
	RNP_LINGER_MISSES = 4,
	/* Lingers that are left out then: 50 us each make less than 1 us for an event. */
	RNP_LINGER_BACKOFF = 63,

	/* Requests between two polls: more will follow the first, it is a stream. Less is
	 * a program that posts a few and waits for them.
	 */
	RNP_STREAM = 8,
	/* Posts that leave at once, after one had to wait for the end of a lease. */
	RNP_GATHER_BACKOFF = 64,
	/* Bytes of a packet besides its payload, at least: BTH and ICRC. */
	RNP_PACKET_OVERHEAD = 16,

	/* Packets. ACKs leave at least so often though the wire never runs dry: a peer
	 * with a shallow queue would stand still until it does. One super-packet.
	 */
	RNP_ACK_EVERY = 64,
	/* Packets. Likewise if an answer is expected for the ACKs to go along with: as
	 * much as one step of a poll finds (RNP_DRAIN_APP super-packets).
	 */
	RNP_ACK_EVERY_ANSWERED = 512,
};

/* How long the background thread looks again after a packet before it sleeps: the way of
 * a packet to the program's peer and back (12 us between processors, twice that on a busy
 * machine). A READ of a program that does not poll takes 17 us with it and 40 without, a
 * ping-pong by events 23 and 48 (two processors).
 */
#define RNP_LOOK_FOR RN_USEC(30)
/* Packets without end do not keep it from the timer and from rocind for longer. */
#define RNP_LOOK_MAX RN_MSEC(2)
/* A yield that took longer was dear: sleeping and being woken would have cost 25 us, as
 * the difference of the above says, and several times that on a busy machine.
 */
#define RNP_YIELD_DEAR RN_USEC(200)

/* A reply in time: until then the background thread has woken up, and the program has
 * seen the bytes in memory, for which it may have to get a processor (25 us each, and
 * several times that on a busy machine).
 */
#define RNP_REPLY_WITHIN RN_USEC(200)
/* How long an ACK waits for a reply to go along with while the sockets are on. It is
 * longer than the shortest ACK timeout that a requester may ask for (8 us), and as long
 * as a wake-up, which every other ACK of such a program takes as well. A requester has to
 * add what the device advertises as Local CA ACK Delay, which is 16.8 ms (code 12).
 */
#define RNP_ACK_HOLD RN_USEC(60)
/* How long it waits for the end of a reply that has left in part, as the peer's window
 * lets it: 64 KiB take so long at 1 Gbit/s.
 */
#define RNP_REPLY_FOR RN_USEC(500)

/* A program that polled so recently is about to poll again: the requests that it posts
 * may wait for that. Half a lease.
 */
#define RNP_GATHER_POLLED RN_USEC(500)
/* Once the first has waited for so long, later posts take along what has gathered: the
 * time of a super-packet on a wire of 10 Gbit/s (64 KiB, 52 us).
 */
#define RNP_GATHER_FOR RN_USEC(50)

/* ----------------------------------------------------------------------- actions */
/* What the loop is to do, in the order of these bits. */
enum rnp_action {
	/* Switch the sockets off in the background thread's set: the program has them. */
	RNP_TAKE_SOCKETS = 1u << 0,
	/* Switch them on, tell the policy by rnp_policy_given() whether that worked, and
	 * receive what came in the meantime.
	 */
	RNP_GIVE_SOCKETS = 1u << 1,
	/* Tell by rnp_policy_account() how much CPU time the calling thread has used,
	 * which is the one that polls.
	 */
	RNP_ACCOUNT_CPU = 1u << 2,
	/* Set the timer to rnp_policy.timer_at. */
	RNP_SET_TIMER = 1u << 3,
	/* Polling is steady: the sockets will stay off, so they may leave the set. */
	RNP_REST_SOCKETS = 1u << 4,
	/* It has just become so: make sure that our handler of faults is the first, as
	 * the program may have put its own before it.
	 */
	RNP_CHECK_HANDLER = 1u << 5,
	/* The background thread looks for packets a few times more before it sleeps. */
	RNP_LOOK_AGAIN = 1u << 6,
	/* Of what is received when the sockets are given: ACKs wait for a reply. */
	RNP_HOLD_ACKS = 1u << 7,

	/* Of a post. Keep the request: the core is not asked to send it yet. */
	RNP_HOLD = 1u << 8,
	/* Build packets, and leave the last super-packet open for more. */
	RNP_GATHER = 1u << 9,
	/* The ACK that the QP owes goes along, behind the request. */
	RNP_ACK_ALONG = 1u << 10,
};

/* What becomes of acknowledgements in a step of the device. */
enum rnp_acks {
	RNP_ACKS_IF_DRY, /* they leave if there was nothing to receive */
	RNP_ACKS_NOW,	 /* they leave: nobody may come by soon */
	RNP_ACKS_HELD,	 /* they wait for the program's reply, which is expected */
};

/* ------------------------------------------------------------------------- state */
enum rnp_turn {
	RNP_ARMED,  /* the background thread waits for packets */
	RNP_LEASED, /* the program's threads poll; the timer runs out if they stop */
};

/* A practice that has just cost more than it saves is left out for a while: counted in
 * opportunities, since what it costs is spread over those.
 */
struct rnp_backoff {
	uint32_t left; /* opportunities; 0: it is in use */
};

/* For how long the program's polling counts as serving the sockets. */
struct rnp_lease {
	rn_ns length;  /* times.lease or times.long_lease */
	rn_ns begun;   /* when it was taken or renewed last */
	bool is_early; /* taken by the first poll, as the program will be seen to leave */
};

/* Does the program poll, and steadily? */
struct rnp_polling {
	rn_ns last;	      /* poll */
	rn_ns steady_since;   /* no gap since */
	uint32_t streak;      /* polls and posts with the sockets on */
	uint32_t streak_need; /* that take them back */
	uint32_t armed_cqs;
};

/* CPU-time accounting of the thread that polls: what does it do while it does not? One
 * that computes or looks at memory used the processor; if it slept, or had none, its
 * silence says nothing of the program.
 */
struct rnp_cpu {
	rn_ns at_renewal; /* that it had used when the lease was renewed */
	rn_ns at_look;	  /* ... and when that was asked last ... */
	rn_ns looked;	  /* ... which was then */
};

/* How many the core has had so far. */
struct rnp_counts {
	uint32_t requests; /* received */
	uint32_t receives; /* completed by those */
};

/* The reply predictor. A program that looks at memory (ib_write_lat) posts, polls until
 * that is acknowledged, and looks at memory, without calls, for what its peer replies,
 * until it posts again. The background thread would have to receive all of it, and to
 * wake up for each.
 *
 * It does not have to if the ACK waits for the reply and goes along with it: the peer
 * polls for the one and finds the other. Then it has no reason to stop polling, and while
 * both ends do so a round trip takes no longer than that of programs that poll for
 * everything.
 *
 * What disturbs them leads out of that state: an ACK comes alone, the program goes to
 * look at memory and nobody polls. So who replies in time has the sockets from the first
 * empty poll after a post, and they are the background thread's again as soon as the ACK
 * has come without a reply. It then receives one reply, and they find back.
 */
struct rnp_replies {
	uint32_t confidence; /* replies in time, lately; halved by each that was not */
	rn_ns found_at;	     /* a request, by the background thread; no post since */
	uint32_t requests;   /* of the core when it was found */
	/* Of the core at the last post, and what they said: requests came, and none of
	 * them completed a receive, so only memory shows them.
	 */
	struct rnp_counts at_post;
	bool sees_memory;
	const struct rn_qp *asked; /* posted to last and not acknowledged yet, or NULL */
	rn_ns asked_at;
	bool has_left; /* it was seen to leave, and has not posted or polled since */
	struct rnp_backoff early;
};

/* ACKs that have not left. */
struct rnp_ack_hold {
	uint32_t packets; /* received since ACKs left last */
	rn_ns since;	  /* with the sockets on they wait for a reply; 0: none do */
};

/* Doorbell batching: which requests leave in company. */
struct rnp_batching {
	uint32_t posts;	     /* requests since the program polled last */
	uint32_t run;	     /* ... between the polls before, if there were any */
	rn_ns since;	     /* the open super-packet waits; 0: none does */
	uint32_t held;	     /* requests that the core has not been asked to send */
	uint64_t held_bytes; /* of these */
	struct rnp_backoff backoff;
};

/* Looking again after a packet. */
struct rnp_look {
	rn_ns until; /* unless a packet comes */
	rn_ns last;  /* whatever comes */
	struct rnp_backoff backoff;
	bool did_spin; /* the thread that polls, the last time that this was asked */
};

/* Keeping the sockets for a moment when an event-driven program goes to sleep. */
struct rnp_linger {
	uint32_t missed; /* in a row */
	struct rnp_backoff backoff;
};

/* How the program was when its lease ran out. */
struct rnp_lapse {
	bool was_busy;	    /* it used the processor */
	bool was_gathering; /* packets waited for its next poll */
};

struct rnp_policy {
	struct rnp_lease_times times;
	enum rnp_turn turn;
	/* True expiry of the timer, never what has only been assumed of it; 0: it fired
	 * and was not set again.
	 */
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
/* What the loop has observed of the core, by value, so that a poll has it in registers.
 * Each event says which fields it reads.
 */
struct rnp_facts {
	bool owes_acks;	       /* ACKs could leave and have not */
	bool is_amid_message;  /* the last packet was not the end of its message */
	bool is_asked_unacked; /* replies.asked waits for an acknowledgement */
};

/* At attach: the background thread is responsible. */
void rnp_policy_init(struct rnp_policy *p);

/* Of the functions below, those without another comment return enum rnp_action. */

/* --- A thread of the program polls. */
/* Before it receives. */
enum rnp_acks rnp_policy_poll(struct rnp_policy *p);

/* It has drained the sockets. A lease is taken and renewed by nothing else, so there is
 * nothing left that the background thread would have to be woken for. @deadline: when
 * somebody has to look, or RN_NEVER; it counts while the sockets are on. Reads
 * is_asked_unacked; owes_acks and is_amid_message if rnp_policy_wants_acks().
 */
unsigned rnp_policy_polled(struct rnp_policy *p, rn_ns now, struct rnp_facts f,
			   rn_ns deadline);

/* Most polls of a program that has the sockets are not about ACKs. */
static inline bool rnp_policy_wants_acks(const struct rnp_policy *p,
					 bool is_asked_unacked)
{
	return p->turn == RNP_ARMED || (p->replies.asked && !is_asked_unacked);
}

/* RNP_ACCOUNT_CPU: so much has the thread that polls used. */
void rnp_policy_account(struct rnp_policy *p, rn_ns cpu);

/* --- The program posts to a send queue. */
struct rnp_post {
	uint32_t count; /* requests */
	uint64_t bytes;
	bool is_unacked; /* its QP waits for an acknowledgement */
	bool is_sending; /* its QP is in RTS; in ERR there are completions to tell of */
};

unsigned rnp_policy_post(struct rnp_policy *p, rn_ns now, const struct rnp_post *post);

/* What was posted to @qp, and not held, has been sent. Reads owes_acks, and
 * is_asked_unacked, of @qp.
 */
void rnp_policy_posted(struct rnp_policy *p, rn_ns now, const struct rn_qp *qp,
		       struct rnp_facts f, struct rnp_counts counts);

/* Packets have left. @work: what was held is among them. @is_open: a super-packet is left
 * open.
 */
void rnp_policy_sent(struct rnp_policy *p, rn_ns now, bool work, bool is_open);

/* --- Both. */
/* Do ACKs leave in this step? @found: super-packets that were received in it.
 * @is_reply_in_part: what replies.asked was posted has not left as a whole; it counts
 * only if rnp_policy_acks() is RNP_ACKS_HELD.
 */
bool rnp_policy_acks_leave(const struct rnp_policy *p, rn_ns now, enum rnp_acks acks,
			   unsigned found, bool is_amid_message, bool is_reply_in_part);

/* With the sockets on the timer carries what the core waits for: @at. */
unsigned rnp_policy_deadline(struct rnp_policy *p, rn_ns at);

/* The sockets are on, and somebody has received: ACKs that are held leave in time. */
unsigned rnp_policy_limit_acks(struct rnp_policy *p, rn_ns now, bool owes_acks);

/* What becomes of ACKs when somebody receives and will not poll. */
enum rnp_acks rnp_policy_acks(const struct rnp_policy *p);

/* RNP_GIVE_SOCKETS was tried. @is_on: it worked, else the kernel had no room and the
 * background thread looks by a timer.
 */
unsigned rnp_policy_given(struct rnp_policy *p, rn_ns now, bool is_on);

/* --- The background thread. */
/* The timer has fired; whoever's turn it is, it is not pending any more. */
static inline void rnp_policy_fired(struct rnp_policy *p)
{
	p->timer_at = 0;
}

/* It fired during a lease. @cpu: what the thread that polled has used by now. */
unsigned rnp_policy_lease_ends(struct rnp_policy *p, rn_ns now, rn_ns cpu);

/* ... it did end, and the background thread has received. @found: something. */
void rnp_policy_took_over(struct rnp_policy *p, bool found);

/* It was woken with the sockets on. */
enum rnp_acks rnp_policy_woken(struct rnp_policy *p, rn_ns now);

/* It has received something: a post should follow. */
unsigned rnp_policy_received(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			     uint32_t requests);

/* RNP_LOOK_AGAIN begins. @cpu: of the thread that polled, if rnp_policy_wants_cpu().
 * Return: whether it may.
 */
bool rnp_policy_look(struct rnp_policy *p, rn_ns now, rn_ns cpu);

static inline bool rnp_policy_wants_cpu(const struct rnp_policy *p)
{
	return p->look.backoff.left > 0;
}

/* Does it go on? Before each yield. */
bool rnp_policy_looks_on(const struct rnp_policy *p, rn_ns now);

/* A yield was dear: it took RNP_YIELD_DEAR or more. */
void rnp_policy_yield_was_dear(struct rnp_policy *p, rn_ns now, rn_ns cpu);

/* A look has found something. */
void rnp_policy_look_found(struct rnp_policy *p, rn_ns now, bool is_amid_message,
			   uint32_t requests);

/* --- Events. */
/* @lingers: the program will linger before it sleeps. */
unsigned rnp_policy_cq_armed(struct rnp_policy *p, bool lingers);
void rnp_policy_cq_unarmed(struct rnp_policy *p);

/* Is lingering worth while? */
bool rnp_policy_may_linger(struct rnp_policy *p);

/* It begins, and the sockets were drained. */
unsigned rnp_policy_linger(struct rnp_policy *p, rn_ns now);

/* It is over. @found: what the program waits for. */
void rnp_policy_lingered(struct rnp_policy *p, bool found);

/* It found nothing, or there was none: the program goes to sleep. */
unsigned rnp_policy_sleeps(const struct rnp_policy *p);

/* A queue pair goes. */
static inline void rnp_policy_forget(struct rnp_policy *p, const struct rn_qp *qp)
{
	if (p->replies.asked == qp)
		p->replies.asked = NULL;
}

#endif /* RNP_POLICY_H */
