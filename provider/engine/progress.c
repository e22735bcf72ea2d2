/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* progress.c - the loop around the policy: it observes, tells the policy what has
 * happened, and performs the actions that the policy asks for. The policy (policy.h)
 * decides which thread receives, and when a post or an ACK leaves. Steps of the device
 * are made by the program's threads, in polls and posts, and by the background thread
 * when it is woken.
 *
 * - No packet is lost when receiving passes from one thread to the other. If the sockets
 * are enabled in the epoll set, packets that are there already wake the background thread
 * (level-triggered). After the sockets are disabled, the timer is set; when it fires, the
 * background thread reads them.
 * - The core's timers expire only when there is nothing to receive: a process that was
 * stopped for a while must not send again what has been acknowledged.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>

#include "engine_internal.h"
#include "rocin/cqe.h"
#include "rocin/opcode.h"
#include "rocin/queue_pair.h"
#include "rocin/transport.h"
#include "rocin/wire.h"
#include "trace_points.h"
#include "transport/io/capture/net_capture.h"
#include "transport/io/fault/net_fault.h"
#include "transport/io/host/log.h"
#include "transport/io/host/own_fd.h"
#include "transport/io/memory/mem_direct.h"
#include "transport/io/rocind/rocind_client.h"

enum {
	SEND_MAX = 32, /* maximum number of super-packets that one step sends */
	/* After so many steps in a row that left packets in the socket, timers expire
	 * although there is something to receive.
	 */
	NOT_DRY_MAX = 64,
	/* length in bytes up to which a packet is probably a whole message, so that it is
	 * not worth another recvmsg() to look for more
	 */
	SMALL = 512,
	/* maximum attempts to collect memory accesses after one batch of packets */
	MOVES_MAX = 256,
	MOVES_IDLE = 4, /* stop after so many attempts in a row that collected nothing */
	/* Time between two checks of the descriptors. A check takes three to four
	 * microseconds, which is 0.4 % of the time. A limit in polls would not bound the
	 * time, as each poll may yield the processor for 20 ms on a busy machine.
	 */
	DESCRIPTORS_EVERY = RN_MSEC(1),
	/* maximum number of steps to receive everything; so many steps receive more than
	 * the sockets can hold
	 */
	TAKE_MAX = 32,
};

static_assert((int)RNP_ACK_EVERY_ANSWERED == RN_SUPER_SEGMENTS * RNP_DRAIN_APP,
	      "as much as one step of a poll finds");

/* Sending to a full socket is tried again after this time, in ns. */
#define RETRY_AFTER RN_USEC(200)

/* If nobody has looked for packets for this time, in ns, more than one acknowledgement
 * has probably come: sending a super-packet takes half of this time.
 */
#define LONG_AGO RN_USEC(20)

/* ---------------------------------------------------- one step of the device */

/* Is the last packet an acknowledgement, and are all packets before it requests? If the
 * packets before it are responses, the ACK must stay behind them: if the ACK were
 * received first, their requester would take the responses for lost.
 */
static bool has_ack_along(const struct rn_rx *rx, unsigned count)
{
	const struct rn_rx *last = &rx[count - 1];

	if (count < 2 || last->len < RN_BTH_LEN || last->data[0] != RN_RC_ACK)
		return false;
	for (unsigned i = 0; i < count - 1; i++)
		if (rx[i].len < RN_BTH_LEN ||
		    !(rn_opcode_info[rx[i].data[0]].flags & RN_OP_REQUEST))
			return false;
	return true;
}

/* Hands received packets to the core. If a peer has sent an acknowledgement along with a
 * request of its own (such as its reply), the ACK is the last packet of the super-packet.
 * The core gets this ACK first, so that the program's own request completes before the
 * reply arrives.
 */
static void receive_batch(struct rnp_engine *e, rn_ns now, const struct rn_rx *rx,
			  unsigned count)
{
	if (has_ack_along(rx, count))
		rn_dev_receive(e->dev, now, &rx[--count], 1);
	rn_dev_receive(e->dev, now, rx, count);
}

/* Receives packets by at most @max calls of the back end, each of which returns a bounded
 * number of packets. @dry: out: nothing is left to receive. Return: number of calls that
 * returned packets.
 *
 * @eager: go on after a single small packet. Otherwise the loop ends there, as a polling
 * program wants its completion and gets the rest with the next poll. It goes on, however,
 * if the last look was LONG_AGO: a sender that receives only one acknowledgement in each
 * poll would keep its window closed.
 */
static unsigned receive(struct rnp_engine *e, rn_ns now, unsigned max, bool eager,
			bool *dry)
{
	const struct rn_net *net = e->wire.net;
	const bool more = eager || now - e->looked_at > LONG_AGO;
	struct rn_rx rx[RN_RX_BATCH];
	unsigned supers = 0;

	e->looked_at = now;
	*dry = false;
	for (unsigned looks = 0; looks < max; looks++) {
		int n = net->ops->receive(net->ctx, rx);

		if (n == -EAGAIN)
			continue;
		if (n <= 0) {
			*dry = true;
			break;
		}
		rn_trace_receive((uint32_t)n, rx[0].len);
		receive_batch(e, now, rx, (unsigned)n);
		e->policy.acks.packets += (uint32_t)n;
		supers++;
		if (n == 1 && rx[0].len <= SMALL && !more)
			break;
	}
	return supers;
}

struct collector {
	struct rn_dev *dev;
	rn_ns now;
};

static void memory_done(void *arg, uint64_t tag, enum rn_mem_result result)
{
	const struct collector *c = arg;

	rn_dev_mem_done(c->dev, c->now, tag, result);
}

/* Hands completed reads and atomics of memory to the core. Return: their number. */
static unsigned collect_memory(struct rnp_engine *e, rn_ns now)
{
	struct collector c = { .dev = e->dev, .now = now };

	return rnp_pcie_collect(&e->pcie, memory_done, &c);
}

void rnp_engine_take_events(struct rnp_engine *e)
{
	struct rn_event ev;
	int cancel;

	while (rn_dev_event(e->dev, &ev)) {
		rn_trace_event(ev.completion, ev.completion ? 0 : (uint32_t)ev.async);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		e->hooks->on_event(&ev);
		pthread_setcancelstate(cancel, NULL);
	}
}

/* Lets the core build packets, and sends them. Return: nonzero if packets are left. */
static int send_packets(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	int rc = 0;

	if (rnp_tx_batch_is_empty(&e->batch) && !rn_dev_has_packets(e->dev, what))
		return 0;
	/* Requests that were held back may be replies to the peer. So the ACKs of their
	 * QPs are sent along with them (RN_TX_ALONG), and the ACKs of other QPs after all
	 * requests.
	 */
	if (e->policy.batching.held > 0 && (what & RN_TX_WORK))
		rc = rnp_tx_batch_fill(&e->batch, e->wire.net, now,
				       RN_TX_WORK | RN_TX_ALONG, SEND_MAX);
	if (rc == 0)
		rc = rnp_tx_batch_fill(&e->batch, e->wire.net, now, what, SEND_MAX);
	if (rc == 0 && !gather)
		rc = rnp_tx_batch_flush(&e->batch, e->wire.net);
	return rc;
}

static void note_transmitted(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	if (what & RN_TX_ACKS || (what & RN_TX_ALONG && !rn_dev_acks_due(e->dev)))
		e->policy.acks.packets = 0;
	rnp_policy_sent(&e->policy, now, what & RN_TX_WORK,
			gather && !rnp_tx_batch_is_empty(&e->batch));
}

/* Sends, does not receive. @gather: leave the last super-packet open for more packets. */
static void transmit(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	e->clock.now = now;
	if (!e->wire.net)
		return;
	e->is_blocked = send_packets(e, now, what, gather) != 0;
	e->is_raw_blocked = e->raw.raw && !rnp_raw_transmit(&e->raw, now);
	note_transmitted(e, now, what, gather);
}

/* May the next packets leave by a ring in shared memory, with nothing in between that is
 * a cancellation point?
 */
static bool is_placing(const struct rnp_engine *e)
{
	const struct rnp_label *label = &e->batch.label;
	const struct rnp_wire *w = &e->wire;

	return w->local && w->net == rn_local_net(w->local) && !e->raw.raw &&
	       e->policy.batching.held == 0 &&
	       rnp_tx_batch_may_place(&e->batch, w->net) &&
	       rn_local_is_ready(w->local, &label->flow, label->dest_slot);
}

/* Does what transmit() does, if all packets can leave by a ring in shared memory. Is no
 * cancellation point. Return: false if the caller has to call transmit().
 */
static bool transmit_in_place(struct rnp_engine *e, rn_ns now, unsigned what)
{
	if (!is_placing(e))
		return false;
	e->clock.now = now;
	if (rnp_tx_batch_place(&e->batch, e->wire.net, now, what, SEND_MAX) != 0)
		return false;
	e->is_blocked = e->is_raw_blocked = false;
	note_transmitted(e, now, what, false);
	return true;
}

/* Argument of peer_holds(): the engine, and the time of the step. */
struct moment {
	struct rnp_engine *e;
	rn_ns now;
};

static void peer_holds(void *ctx, const struct rn_rocind_ends *ends, uint64_t taken)
{
	const struct moment *m = ctx;

	rn_dev_peer_holds(m->e->dev, m->now, &ends->peer, (uint8_t)ends->peer_slot,
			  taken);
}

static void expire(struct rnp_engine *e, rn_ns now, bool dry)
{
	e->not_dry = dry ? 0 : e->not_dry + 1;
	if (!dry && e->not_dry < NOT_DRY_MAX)
		return;
	e->not_dry = 0;
	if (rn_dev_deadline(e->dev) <= now) {
		struct moment moment = { e, now };

		rn_trace_expire((uint64_t)(now - rn_dev_deadline(e->dev)));
		if (e->wire.local)
			rn_local_who_holds(e->wire.local, peer_holds, &moment);
		rn_dev_expire(e->dev, now);
		rnp_icmp_probe_silent(e, now);
	}
	if (rnp_wire_has_file(&e->wire) && rnp_wire_flush_due(&e->wire) <= now)
		rnp_wire_flush(&e->wire);
	if (e->wire.local && rn_local_trim_due(e->wire.local) <= now)
		rn_local_trim(e->wire.local);
}

static bool acks_leave(const struct rnp_engine *e, rn_ns now, enum rnp_acks acks,
		       unsigned found)
{
	const struct rnp_policy *p = &e->policy;
	const struct rn_qp *asked = p->replies.asked;
	bool in_part =
		asked && rnp_policy_acks(p) == RNP_ACKS_HELD && rn_qp_unsent(asked);

	return rnp_policy_acks_leave(p, now, acks, found, rn_dev_is_amid_message(e->dev),
				     in_part);
}

unsigned rnp_engine_step(struct rnp_engine *e, rn_ns now, unsigned drain,
			 enum rnp_acks acks)
{
	unsigned found, what = RN_TX_WORK;
	bool dry;

	e->clock.now = now;
	if (!e->wire.net) {
		rnp_engine_take_events(e);
		return 0;
	}
	if (rnp_pcie_is_busy(&e->pcie))
		collect_memory(e, now);
	/* The packet that stops the expired timer may wait in a ring, so all rings are
	 * read first.
	 */
	if (e->wire.local && rn_dev_deadline(e->dev) <= now)
		rn_local_look_everywhere(e->wire.local);
	found = receive(e, now, drain, acks != RNP_ACKS_IF_DRY, &dry);
	if (e->wire.capture)
		rn_capture_flush(e->wire.capture);
	if (e->raw.raw)
		found += rnp_raw_receive(&e->raw, now, drain);
	expire(e, now, dry);
	if (acks_leave(e, now, acks, found))
		what = RN_TX_ALL;
	else if (e->policy.replies.asked)
		what |= RN_TX_ALONG;
	transmit(e, now, what, false);
	rnp_engine_take_events(e);
	return found;
}

static rn_ns earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

/* Returns the next time at which a step is needed: for a timer of the core, a socket that
 * was full, or a capture to be written. RN_NEVER: not before a packet comes.
 */
static rn_ns next_deadline(const struct rnp_engine *e, rn_ns now)
{
	rn_ns at = rn_dev_deadline(e->dev);

	if (!e->wire.net)
		return at;
	if (rn_udp_holds(e->wire.udp))
		at = now;
	if (e->is_blocked || e->is_raw_blocked)
		at = earlier(at, now + RETRY_AFTER);
	if (e->wire.local)
		at = earlier(at, rn_local_trim_due(e->wire.local));
	if (rnp_wire_has_file(&e->wire))
		at = earlier(at, rnp_wire_flush_due(&e->wire));
	if (e->wire.fault)
		at = earlier(at, rn_fault_due(e->wire.fault, now));
	return at;
}

/* ------------------------------------------------- observations for the policy */

static rn_ns cpu_time(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return 0; /* The thread whose clock this is has ended. */
	return (rn_ns)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool has_acks_due(const struct rnp_engine *e)
{
	return rnp_has_sockets(e) && rn_dev_acks_due(e->dev);
}

/* -------------------------------------------------------- actions of the policy */

static void take_sockets(struct rnp_engine *e)
{
	rnp_background_listen(e, false);
	if (e->wire.local)
		rn_local_awake(e->wire.local);
}

/* Performs RNP_ACCOUNT_CPU: tells the policy how much CPU time the calling thread has
 * used, whose poll has begun or renewed a lease.
 */
static void account_cpu(struct rnp_engine *e)
{
	rnp_background_outrank(e);
	if (pthread_getcpuclockid(pthread_self(), &e->poller) != 0)
		e->poller = CLOCK_THREAD_CPUTIME_ID;
	rnp_policy_account(&e->policy, cpu_time(e->poller));
}

void rnp_progress_perform(struct rnp_engine *e, unsigned todo)
{
	if (todo & RNP_TAKE_SOCKETS)
		take_sockets(e);
	if (todo & RNP_ACCOUNT_CPU)
		account_cpu(e);
	if (todo & RNP_SET_TIMER)
		rnp_background_set_timer(e, e->policy.timer_at);
	if (todo & RNP_REST_SOCKETS)
		rnp_background_rest(e);
	if (todo & RNP_CHECK_HANDLER)
		rn_mem_direct_init();
}

/* Performs the actions @todo of the policy, if any (most polls have none); not those that
 * receive or look again, which the caller performs.
 */
static inline void perform(struct rnp_engine *e, unsigned todo)
{
	if (todo)
		rnp_progress_perform(e, todo);
}

void rnp_progress_deadline(struct rnp_engine *e, rn_ns now)
{
	if (e->policy.turn == RNP_ARMED && rnp_has_sockets(e))
		perform(e, rnp_policy_deadline(&e->policy, next_deadline(e, now)));
}

static void limit_acks(struct rnp_engine *e, rn_ns now)
{
	perform(e, rnp_policy_limit_acks(&e->policy, now, has_acks_due(e)));
}

/* Lets the simulated PCIe accesses of received packets proceed while the program does not
 * poll. If each access woke the background thread instead, these wake-ups could together
 * take longer than the peer's timeout on a busy machine.
 */
static void move_memory(struct rnp_engine *e, rn_ns now)
{
	unsigned idle = 0;

	for (unsigned i = 0; i < MOVES_MAX && idle < MOVES_IDLE; i++) {
		rnp_pcie_polled_empty(&e->pcie, 0);
		idle = collect_memory(e, now) > 0 ? 0 : idle + 1;
		if (idle == 0)
			transmit(e, now, RN_TX_WORK, false);
	}
	rnp_engine_take_events(e);
}

static void look_everywhere(struct rnp_engine *e)
{
	if (e->wire.local)
		rn_local_look_everywhere(e->wire.local);
	else
		rn_udp_look_everywhere(e->wire.udp);
}

/* Performs one step in the state RNP_ARMED, in which the background thread receives, and
 * not the program's polls. Return: number of super-packets received.
 */
static unsigned serve_sockets(struct rnp_engine *e, rn_ns now, enum rnp_acks acks)
{
	unsigned found;

	look_everywhere(e);
	found = rnp_engine_step(e, now, RNP_DRAIN_BACKGROUND, acks);
	if (found > 0 && rnp_pcie_is_busy(&e->pcie))
		move_memory(e, now);
	rnp_progress_deadline(e, now);
	return found;
}

/* Tells peers on this machine that the background thread may sleep now. From then on they
 * wake it, since packets that they put into a ring in shared memory make no socket
 * readable. If a packet came before, the thread is woken to look once more.
 */
static void announce_sleep(struct rnp_engine *e)
{
	if (e->policy.turn == RNP_ARMED && e->wire.local &&
	    !rn_local_announce(e->wire.local))
		rnp_background_wake(e);
}

unsigned rnp_progress_give_sockets(struct rnp_engine *e, rn_ns now, unsigned todo)
{
	bool is_on = rnp_background_listen(e, true);
	unsigned found;

	perform(e, rnp_policy_given(&e->policy, now, is_on));
	found = serve_sockets(e, now,
			      todo & RNP_HOLD_ACKS ? RNP_ACKS_HELD : RNP_ACKS_NOW);
	announce_sleep(e);
	return found;
}

/* --------------------------------------------------------- polls of the program */

static void after_poll(struct rnp_engine *e, rn_ns now)
{
	struct rnp_policy *p = &e->policy;
	const struct rn_qp *asked = p->replies.asked;
	struct rnp_facts f = { .is_asked_unacked = asked && rn_qp_unacked(asked) };
	rn_ns deadline = RN_NEVER;
	unsigned todo;

	if (rnp_policy_wants_acks(p, f.is_asked_unacked)) {
		f.has_acks_due = has_acks_due(e);
		f.is_amid_message = rn_dev_is_amid_message(e->dev);
	}
	if (p->turn == RNP_ARMED)
		deadline = next_deadline(e, now);
	todo = rnp_policy_polled(p, now, f, deadline);
	perform(e, todo);
	if (todo & RNP_GIVE_SOCKETS) {
		rnp_progress_give_sockets(e, now, todo);
		limit_acks(e, now);
		rnp_progress_deadline(e, now);
	}
}

/* Chooses what the thread does between this poll and its next one (enum rnp_pause).
 * @found: packets were received just now.
 */
static void choose_pause(struct rnp_engine *e, rn_ns now, bool found)
{
	bool is_lively = found || (e->wire.local && rn_local_is_lively(e->wire.local));
	enum rnp_pause pause = rnp_policy_pause(&e->policy, now, is_lively);

	atomic_store_explicit(&e->front.pause, (uint8_t)pause, memory_order_relaxed);
}

/* May the next polls be short ones, which look only at the rings in shared memory? That
 * is so if there is nothing to do until a packet comes, a timer fires or the program
 * posts, and if packets normally come by rings. A packet that comes by a socket is then
 * found later, by the next full poll.
 */
static bool is_settled(struct rnp_engine *e, rn_ns now)
{
	const struct rnp_wire *w = &e->wire;

	return w->local && !rnp_pcie_is_busy(&e->pcie) && !w->capture && !w->fault &&
	       !rnp_wire_has_file(w) && !e->raw.raw && !e->is_blocked &&
	       e->policy.batching.held == 0 && rnp_tx_batch_is_empty(&e->batch) &&
	       !rn_udp_holds(w->udp) && !rn_dev_has_packets(e->dev, RN_TX_ALL) &&
	       rn_dev_deadline(e->dev) > now && rn_local_watch(w->local, &e->front.watch);
}

/* Ends the short polls before a full poll. Return: true if the program made as many short
 * polls as the last full one allowed.
 */
static bool count_short_polls(struct rnp_engine *e)
{
	uint32_t granted = e->front.short_granted;
	uint32_t left = atomic_load_explicit(&e->front.short_polls, memory_order_relaxed);

	rnp_front_end_short_polls(&e->front);
	if (granted > left)
		rn_local_polled_shortly(e->wire.local, granted - left);
	return left == 0 && granted == e->policy.shorts.most;
}

/* Decides after a full poll that found nothing whether the next ones may be short.
 * @is_all: what count_short_polls() returned in this poll.
 */
static void allow_short_polls(struct rnp_engine *e, rn_ns now, bool is_all)
{
	enum rnp_pause pause =
		atomic_load_explicit(&e->front.pause, memory_order_relaxed);

	if (is_settled(e, now))
		e->front.short_granted =
			rnp_policy_short_polls(&e->policy, now, pause, is_all);
	atomic_store_explicit(&e->front.short_polls, e->front.short_granted,
			      memory_order_relaxed);
}

/* Called by a poll that did not get the engine lock. If the thread would poll again at
 * once, makes it yield or nap first, because the thread that holds the lock may need this
 * processor.
 */
static void pause_for_lock(struct rnp_engine *e)
{
	if (atomic_load(&e->front.pause) == RNP_PAUSE_NONE)
		atomic_store(&e->front.pause, RNP_PAUSE_YIELD);
	else if (atomic_load(&e->front.pause) == RNP_PAUSE_SPIN)
		atomic_store(&e->front.pause, RNP_PAUSE_NAP);
}

void rnp_progress_poll(struct rnp_engine *e)
{
	rn_ns now = rnp_clock_poll_time(e);
	enum rnp_acks acks = rnp_policy_poll(&e->policy);
	bool is_all = count_short_polls(e);
	unsigned found;

	if (now - e->descriptors_seen >= DESCRIPTORS_EVERY) {
		e->descriptors_seen = now;
		rnp_check_descriptors(e);
	}
	if (e->realtime)
		e->poller_at = sched_getcpu();
	found = rnp_engine_step(e, now, RNP_DRAIN_APP, acks);
	choose_pause(e, now, found > 0);
	if (found > 0)
		rnp_wait_call(&e->wait);
	if (!rnp_has_sockets(e) || e->closing)
		return;
	after_poll(e, now);
	if (found == 0)
		allow_short_polls(e, now, is_all);
}

bool rnp_engine_poll(struct rnp_engine *e)
{
	if (rnp_is_inherited(e))
		return true;
	if (!rnp_lock_try(&e->front.lock)) {
		pause_for_lock(e);
		return false;
	}
	rnp_progress_poll(e);
	rnp_front_unlock(&e->front);
	return true;
}

/* --------------------------------------------------------- posts of the program */

void rnp_engine_posted(struct rnp_engine *e, struct rn_qp *qp,
		       const struct rnp_posted *posted)
{
	const struct rnp_post post = {
		.count = posted->count,
		.bytes = posted->bytes,
		.is_unacked = rn_qp_unacked(qp),
		.is_sending = rn_qp_state(qp) == RN_QPS_RTS,
	};
	unsigned todo = rnp_policy_post(&e->policy, posted->now, &post);
	unsigned what = RN_TX_WORK | (todo & RNP_ACK_ALONG ? RN_TX_ALONG : 0);
	int cancel;

	if (todo & RNP_HOLD)
		return;
	if (todo & RNP_GATHER || !transmit_in_place(e, posted->now, what)) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		transmit(e, posted->now, what, todo & RNP_GATHER);
		pthread_setcancelstate(cancel, NULL);
	}
	rnp_policy_posted(&e->policy, posted->now, qp,
			  (struct rnp_facts){ .has_acks_due = has_acks_due(e),
					      .is_asked_unacked = rn_qp_unacked(qp) },
			  (struct rnp_counts){ .requests = rn_dev_requests(e->dev),
					       .receives = rn_dev_received(e->dev) });
	rnp_engine_take_events(e);
	rnp_progress_deadline(e, posted->now);
}

/* ----------------------------------------------------------- steps for other verbs */

void rnp_engine_kick(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	transmit(e, now, RN_TX_ALL, false);
	rnp_engine_take_events(e);
	rnp_progress_deadline(e, now);
}

void rnp_engine_send_last(struct rnp_engine *e)
{
	/* Sends the ACKs by UDP if their ring is full (rn_local_hurry()). Only the ACKs,
	 * because a peer's socket holds less than a ring does.
	 */
	if (e->wire.local) {
		rn_local_hurry(e->wire.local, true);
		transmit(e, rnp_engine_now(), RN_TX_ACKS, false);
		rn_local_hurry(e->wire.local, false);
	}
	rnp_engine_kick(e);
}

bool rnp_engine_settle(struct rnp_engine *e, uint32_t qpn)
{
	bool ended = false;

	if (!rnp_pcie_is_used(&e->pcie))
		return false;
	for (;;) {
		rnp_pcie_drain(&e->pcie, qpn);
		/* When an atomic access has ended, the next one of its QP begins. */
		if (collect_memory(e, rnp_engine_now()) == 0)
			return ended;
		ended = true;
	}
}

void rnp_engine_receive_all(struct rnp_engine *e)
{
	unsigned found = RNP_DRAIN_BACKGROUND;

	if (!rnp_has_sockets(e))
		return;
	look_everywhere(e);
	for (unsigned i = 0; i < TAKE_MAX && found >= RNP_DRAIN_BACKGROUND; i++)
		found = rnp_engine_step(e, rnp_engine_now(), RNP_DRAIN_BACKGROUND,
					RNP_ACKS_NOW);
	rnp_progress_deadline(e, rnp_engine_now());
}

void rnp_engine_drain(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	rnp_engine_step(e, now, RNP_DRAIN_APP, RNP_ACKS_NOW);
	rnp_progress_deadline(e, now);
}

/* ------------------------------------------------------------- the end of a device */

/* Makes the device dead. Without rocind no process owns port 4791. Packets that have
 * arrived are received first, such as the last acknowledgement of a peer that ended
 * together with rocind. Then the sockets are closed, so that a new rocind can have the
 * port, and the program gets IBV_EVENT_DEVICE_FATAL.
 */
void rnp_engine_die(struct rnp_engine *e, bool robbed)
{
	rn_ns now = rnp_engine_now();

	if (robbed)
		rn_log(RN_LOG_ERROR,
		       "the program has closed descriptors of the device; %s is dead",
		       e->netdev.ibdev);
	else
		rn_log(RN_LOG_ERROR, "rocind has ended; %s is dead", e->netdev.ibdev);
	rnp_engine_receive_all(e);
	for (unsigned i = 0; i < RN_GID_MAX; i++)
		rnp_background_remove(e, rn_udp_fd(e->wire.udp, i));
	rnp_background_remove(e, rn_udp_groups_fd(e->wire.udp));
	if (e->wire.local)
		rnp_background_remove(e, rn_local_event_fd(e->wire.local));
	rnp_raw_shut(&e->raw);
	rnp_wire_close(&e->wire);
	rnp_tx_batch_drop(&e->batch);
	rnp_background_remove(e, rn_rocind_fd(e->rocind));
	rn_rocind_close(e->rocind);
	e->rocind = NULL;

	atomic_store(&e->dead, true);
	rn_dev_error(e->dev, now);
	rnp_engine_take_events(e);
	for (const struct rnp_owner *o = e->owners; o; o = o->next)
		e->hooks->on_device_event(o->owner, IBV_EVENT_DEVICE_FATAL);
}

void rnp_check_descriptors(struct rnp_engine *e)
{
	if (!e->rocind || e->closing || rn_own_fd_all_there())
		return;
	rnp_engine_die(e, true);
}

/* -------------------------------------------------------- the background thread */

/* Yields the processor, with the lock released. A program thread that gets it may keep it
 * until the next tick of the scheduler, milliseconds later, while a wake-up would preempt
 * that thread at once. So after a long yield the policy lets the background thread sleep
 * instead, for a number of times.
 */
static void yield_processor(struct rnp_engine *e)
{
	rn_ns before, after;

	rnp_front_unlock(&e->front);
	before = rnp_engine_now();
	sched_yield();
	after = rnp_engine_now();
	rnp_front_lock(&e->front);
	if (after - before > RNP_YIELD_DEAR)
		rnp_policy_yield_was_dear(&e->policy, rnp_engine_now(),
					  cpu_time(e->poller));
}

/* Looks for packets a few times more before the thread sleeps, as a wake-up costs tens of
 * microseconds. Another packet often follows soon: a program that looks at memory sends
 * its reply, and the peer answers that. Releases the lock in between.
 */
static void look_again(struct rnp_engine *e, rn_ns now)
{
	struct rnp_policy *p = &e->policy;
	rn_ns cpu = rnp_policy_wants_cpu(p) ? cpu_time(e->poller) : 0;

	/* The polling thread was last seen on this processor, and yields would not let it
	 * run, as this thread has a higher real-time priority.
	 */
	if (e->realtime && sched_getcpu() == e->poller_at)
		return;
	if (!rnp_policy_look(p, now, cpu))
		return;
	while (rnp_policy_looks_on(p, now)) {
		yield_processor(e);
		if (e->closing || !rnp_has_sockets(e) || p->turn != RNP_ARMED)
			return;
		now = rnp_engine_now();
		if (serve_sockets(e, now, RNP_ACKS_NOW) == 0)
			continue;
		rnp_policy_look_found(p, now, rn_dev_is_amid_message(e->dev),
				      rn_dev_requests(e->dev));
	}
}

/* Tells the policy that the background thread has received packets; looks for more if the
 * policy says so.
 */
static void after_packets(struct rnp_engine *e, rn_ns now)
{
	unsigned todo = rnp_policy_received(
		&e->policy, now, rn_dev_is_amid_message(e->dev), rn_dev_requests(e->dev));

	if (todo & RNP_LOOK_AGAIN)
		look_again(e, now);
}

/* Called when the timer has fired during a lease (the time for which the program's polls
 * receive, not the background thread). Ends the lease, or extends it.
 */
static void end_lease(struct rnp_engine *e, rn_ns now)
{
	unsigned todo = rnp_policy_lease_ends(&e->policy, now, cpu_time(e->poller));
	bool found;

	perform(e, todo);
	if (!(todo & RNP_GIVE_SOCKETS))
		return;
	found = rnp_progress_give_sockets(e, now, todo) > 0;
	rnp_policy_took_over(&e->policy, found);
	if (found)
		after_packets(e, now);
	limit_acks(e, now);
}

/* Called when the background thread has been woken while it receives (RNP_ARMED). */
static void serve_armed(struct rnp_engine *e, rn_ns now)
{
	if (serve_sockets(e, now, rnp_policy_woken(&e->policy, now)) > 0)
		after_packets(e, now);
	limit_acks(e, now);
	if (rnp_has_sockets(e))
		announce_sleep(e);
}

void rnp_progress_background(struct rnp_engine *e, bool timer_fired)
{
	struct rnp_policy *p = &e->policy;
	rn_ns now = rnp_engine_now();

	if (timer_fired)
		rnp_policy_fired(p);
	if (!rnp_has_sockets(e))
		return;
	if (p->turn == RNP_ARMED)
		serve_armed(e, now);
	else if (p->timer_at == 0)
		end_lease(e, now);
}

void rnp_progress_memory(struct rnp_engine *e)
{
	rn_ns now = rnp_engine_now();

	if (collect_memory(e, now) == 0)
		return;
	transmit(e, now, RN_TX_WORK, false);
	rnp_engine_take_events(e);
	rnp_progress_deadline(e, now);
}

/* ------------------------------------------------------- CQs that are armed */

void rnp_engine_cq_armed(struct rnp_engine *e)
{
	unsigned todo = rnp_policy_cq_armed(&e->policy, e->set.linger_ns != 0);

	if (rnp_has_sockets(e) && todo & RNP_GIVE_SOCKETS)
		rnp_progress_give_sockets(e, rnp_engine_now(), todo);
}

void rnp_engine_cq_unarmed(struct rnp_engine *e)
{
	rnp_policy_cq_unarmed(&e->policy);
}
