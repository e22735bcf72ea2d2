/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pump.c - one step of the device: packets in, core, packets out, events.
 *
 * The clock is read once per step. Timers are looked at only when the socket is dry: a
 * process that was stopped for a while must not send again what has been acknowledged.
 */
#include "engine_internal.h"

#include <errno.h>

#include "rocin/opcode.h"
#include "rocin/wire.h"
#include "trace_points.h"
#include "transport/io/capture/net_capture.h"

enum {
	/* Steps after which timers are served in spite of packets waiting. */
	NOT_DRY_MAX = 64,
	SMALL = 512, /* bytes: likely a whole message, and another recvmsg() would show */
};

static_assert((int)RNP_ACK_EVERY_ANSWERED == RN_SUPER_SEGMENTS * RNP_DRAIN_APP,
	      "as much as one step of a poll finds");

#define RETRY_AFTER RN_USEC(200) /* a socket that was full */

/* Of what was sent meanwhile more than one acknowledgement has likely come: a
 * super-packet takes half of this.
 */
#define LONG_AGO RN_USEC(20)

/* Is the last of these an acknowledgement, and all others requests? Behind responses it
 * would say that one of them is lost.
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

/* An acknowledgement that comes along with an answer is the last of its super-packet. It
 * counts first: to a program its request is complete before it is answered.
 */
static void take(struct rnp_engine *e, rn_ns now, const struct rn_rx *rx, unsigned count)
{
	if (has_ack_along(rx, count))
		rn_dev_receive(e->dev, now, &rx[--count], 1);
	rn_dev_receive(e->dev, now, rx, count);
}

/* At most @max calls of the wire, whatever comes: rn_net_ops.receive bounds each. Return:
 * how many found packets.
 *
 * @eager: go on after a single small packet. A program that polls wants its completion;
 * whatever else has come it gets with the next poll. But a sender that took in but one
 * acknowledgement at a time would never have room for more than what that one is of.
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
		take(e, now, rx, (unsigned)n);
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

unsigned rnp_pump_collect(struct rnp_engine *e, rn_ns now)
{
	struct collector c = { .dev = e->dev, .now = now };

	return rnp_pcie_collect(&e->pcie, memory_done, &c);
}

void rnp_pump_events(struct rnp_engine *e)
{
	struct rn_event ev;

	while (rn_dev_event(e->dev, &ev)) {
		rn_trace_event(ev.completion, ev.completion ? 0 : (uint32_t)ev.async);
		e->hooks->on_event(&ev);
	}
}

/* Let the core build packets, and send them. Return: 0, or not all of it is gone. */
static int transmit(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	int rc = 0;

	if (rnp_stage_is_empty(&e->stage) && !rn_dev_has_packets(e->dev, what))
		return 0;
	/* What has waited may be an answer, so what its QP owes goes along with it. What
	 * others owe is the last packet.
	 */
	if (e->policy.batching.held > 0 && (what & RN_TX_WORK))
		rc = rnp_stage_fill(&e->stage, e->wire.net, now, RN_TX_WORK | RN_TX_ALONG,
				    RNP_SEND_MAX);
	if (rc == 0)
		rc = rnp_stage_fill(&e->stage, e->wire.net, now, what, RNP_SEND_MAX);
	if (rc == 0 && !gather)
		rc = rnp_stage_flush(&e->stage, e->wire.net);
	return rc;
}

void rnp_pump_transmit(struct rnp_engine *e, rn_ns now, unsigned what, bool gather)
{
	rnp_tell_time(e, now);
	if (!e->wire.net)
		return;
	e->is_blocked = transmit(e, now, what, gather) != 0;
	e->is_raw_blocked = !rnp_raw_transmit(&e->raw, now);
	if (what & RN_TX_ACKS || (what & RN_TX_ALONG && !rn_dev_acks_due(e->dev)))
		e->policy.acks.packets = 0;
	rnp_policy_sent(&e->policy, now, what & RN_TX_WORK,
			gather && !rnp_stage_is_empty(&e->stage));
}

/* A moment of an engine, for those who may call back. */
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
		rnp_knock_silent(e, now);
	}
	if (rnp_wire_flush_due(&e->wire) <= now)
		rnp_wire_flush(&e->wire);
	if (e->wire.local && rn_local_rest_due(e->wire.local) <= now)
		rn_local_rest(e->wire.local);
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

unsigned rnp_pump_step(struct rnp_engine *e, rn_ns now, unsigned drain,
		       enum rnp_acks acks)
{
	unsigned found, what = RN_TX_WORK;
	bool dry;

	rnp_tell_time(e, now);
	if (!e->wire.net) {
		rnp_pump_events(e);
		return 0;
	}
	rnp_pump_collect(e, now);
	/* What a timer is about may wait in a socket. */
	if (e->wire.local && rn_dev_deadline(e->dev) <= now)
		rn_local_look_everywhere(e->wire.local);
	found = receive(e, now, drain, acks != RNP_ACKS_IF_DRY, &dry);
	if (e->wire.capture)
		rn_capture_flush(e->wire.capture);
	found += rnp_raw_receive(&e->raw, now, drain);
	expire(e, now, dry);
	if (acks_leave(e, now, acks, found))
		what = RN_TX_ALL;
	else if (e->policy.replies.asked)
		what |= RN_TX_ALONG;
	rnp_pump_transmit(e, now, what, false);
	rnp_pump_events(e);
	return found;
}

static rn_ns earlier(rn_ns a, rn_ns b)
{
	return a < b ? a : b;
}

rn_ns rnp_pump_deadline(const struct rnp_engine *e, rn_ns now)
{
	rn_ns at = rn_dev_deadline(e->dev);

	if (!e->wire.net)
		return at;
	if (rn_udp_holds(e->wire.udp))
		at = now;
	if (e->is_blocked || e->is_raw_blocked)
		at = earlier(at, now + RETRY_AFTER);
	if (e->wire.local)
		at = earlier(at, rn_local_rest_due(e->wire.local));
	at = earlier(at, rnp_wire_flush_due(&e->wire));
	if (e->wire.fault)
		at = earlier(at, rnp_fault_due(e, now));
	return at;
}
