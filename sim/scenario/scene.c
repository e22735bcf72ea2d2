/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scene.c - runs a scenario: executes its lines, and compares what the device does. */
#include "scene.h"

#include <errno.h>
#include <string.h>

#include "calls.h"
#include "describe.h"
#include "rocin/cqe.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"
#include "sim/pcie/model/text.h"

enum {
	/* how long `end quiet' with RN_F_FOR_GOOD waits: longer than a device's timers */
	FOR_GOOD_S = 100,
	/* In real time: milliseconds between two checks of the device's state. */
	LOOK_MS = 2,
};

struct rn_scene {
	const struct rn_scenario *s;
	const struct rn_scene_ops *ops;
	void *ctx;
	struct rn_scene_names names;
	struct rn_scene_result *r;
	/* when the last line was executed, or when what it expected has come */
	rn_ns at;
	struct rn_repeats repeats;
	struct rn_scene_conn conn[RN_SCN_CONNS];
};

/* ------------------------------------------------------------- failures and times */
static void say(char *buf, size_t size, const char *text)
{
	struct rn_text t;

	rn_text_init(&t, buf, size);
	rn_text_add(&t, text);
}

/* Called when something else has come than the line expects. @word names what has come;
 * it is stored for the error message.
 */
static void came_instead(struct rn_scene *c, const char *word)
{
	say(c->r->came, sizeof(c->r->came), word);
}

/* Each of the following three functions sets the error text for line @l, and returns
 * false.
 */
static bool fail(struct rn_scene *c, const struct rn_scn_line *l, const char *what)
{
	c->r->line = l->number;
	say(c->r->what, sizeof(c->r->what), what);
	return false;
}

static bool fail_number(struct rn_scene *c, const struct rn_scn_line *l, const char *what,
			uint64_t number)
{
	struct rn_text t;

	c->r->line = l->number;
	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	rn_text_add(&t, what);
	rn_text_number(&t, number);
	return false;
}

static bool fail_time(struct rn_scene *c, const struct rn_scn_line *l, const char *what,
		      rn_ns at)
{
	char buf[32];
	struct rn_text t;

	c->r->line = l->number;
	rn_describe_time(at - c->at, buf, sizeof(buf));
	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	rn_text_add(&t, what);
	rn_text_add(&t, buf);
	rn_text_add(&t, " after the line before");
	return false;
}

/* Returns the time for which T stands in line @l: the QP's ACK timeout or, in a line
 * about a connection, the response timeout of the connection manager.
 */
static rn_ns timeout_of(const struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_scn_line *qp = &c->s->qp[l->subject].line;

	if (rn_scn_is_cm_call(l->verb) ||
	    (l->verb >= RN_SCN_MAD_IN && l->verb <= RN_SCN_CM_COUNT))
		return rn_ack_timeout_ns(RN_CM_RESP_TIMEOUT);
	return rn_ack_timeout_ns(rn_scene_timeout(&c->names, qp));
}

/* Returns the time until which the runner waits for what must come by @until. */
static rn_ns patience_until(const struct rn_scene *c, rn_ns until)
{
	return until + c->ops->slack;
}

/* Returns the time (of rn_scene_ops.now) that @t, a time of line @l, stands for. */
static rn_ns time_of(const struct rn_scene *c, const struct rn_scn_line *l,
		     const struct rn_scn_time *t)
{
	return c->at + t->ns + (t->timeouts ? t->timeouts * timeout_of(c, l) : 0);
}

/* Called when something that line @l expects has come at time @at. If @at is in the time
 * range of the line, returns true, and the time of the next line counts from @at.
 */
static bool is_in_time(struct rn_scene *c, const struct rn_scn_line *l, rn_ns at)
{
	rn_ns from = time_of(c, l, &l->from);
	rn_ns to = time_of(c, l, &l->to);

	if (at + c->ops->slack >= from && at <= to + c->ops->slack) {
		c->at = at;
		return true;
	}
	return fail_time(c, l, at < from ? "too early: " : "too late: ", at);
}

/* -------------------------------------------------------------- repeated requests */
enum {
	/* number of the lowest bit of an opcode that belongs to the transport type */
	TYPE_SHIFT = 5,
	KIND_MASK = (1 << TYPE_SHIFT) - 1,
	ACKREQ_AT = 8,
	ACKREQ = 0x80,
	PSN_AT = 9, /* offset in bytes of the PSN, which ends with the BTH */
};

/* Returns true if the packet is a request. The low bits of its opcode show that: those of
 * responses are the same for all reliable transports, and requests do not have them.
 */
static bool is_request(const struct rn_scene_packet *p)
{
	unsigned kind = p->bytes[0] & KIND_MASK;

	return p->len >= RN_BTH_LEN &&
	       (kind < RN_RC_READ_RESPONSE_FIRST || kind > RN_RC_ATOMIC_ACK);
}

static void copy_bth(uint8_t *bth, const struct rn_scene_packet *p)
{
	memcpy(bth, p->bytes, RN_BTH_LEN);
	bth[ACKREQ_AT] &= (uint8_t)~ACKREQ;
}

/* Returns true if @p is a READ request; sets *@va and *@end to the range of the READ. */
static bool read_range(const struct rn_scene_packet *p, uint64_t *va, uint64_t *end)
{
	uint32_t class = p->bytes[0] & ~(uint32_t)KIND_MASK;
	uint32_t at = RN_BTH_LEN + (class == RN_CLASS_XRC ? RN_XRCETH_LEN : 0);
	struct rn_reth reth;

	if ((p->bytes[0] & KIND_MASK) != RN_RC_READ_REQUEST || p->len < at ||
	    rn_reth_parse(&reth, p->bytes + at, p->bytes + p->len))
		return false;
	*va = reth.va;
	*end = reth.va + reth.dma_len;
	return true;
}

void rn_repeats_note(struct rn_repeats *r, const struct rn_scene_packet *p)
{
	unsigned at = r->count % RN_REPEATS_MAX;

	if (!is_request(p))
		return;
	copy_bth(r->taken[at].bth, p);
	r->taken[at].len = p->len;
	if (!read_range(p, &r->taken[at].va, &r->taken[at].end))
		r->taken[at].va = r->taken[at].end = 0;
	r->count++;
}

bool rn_repeats_has(const struct rn_repeats *r, const struct rn_scene_packet *p)
{
	unsigned count = r->count < RN_REPEATS_MAX ? r->count : RN_REPEATS_MAX;
	uint8_t bth[RN_BTH_LEN];
	uint64_t va = 0, end = 0;
	bool reads;

	if (!is_request(p))
		return false;
	copy_bth(bth, p);
	reads = read_range(p, &va, &end);
	for (unsigned i = 0; i < count; i++) {
		bool is_rest = reads && end == r->taken[i].end && va > r->taken[i].va &&
			       va < end;

		if (r->taken[i].len == p->len &&
		    memcmp(r->taken[i].bth, bth, is_rest ? PSN_AT : RN_BTH_LEN) == 0)
			return true;
	}
	return false;
}

const struct rn_scene_packet *rn_repeats_skip(const struct rn_repeats *r,
					      const struct rn_scene_ops *ops, void *ctx)
{
	const struct rn_scene_packet *p;

	while ((p = ops->packet(ctx)) && ops->slack &&
	       (rn_repeats_has(r, p) ||
		(ops->cm && ops->cm->is_spare && ops->cm->is_spare(ctx, p))))
		ops->drop_packet(ctx);
	return p;
}

/* ----------------------------------------------------------- unexpected output */
static const struct rn_scene_cm_event *next_cm_event(const struct rn_scene *c)
{
	return c->ops->cm ? c->ops->cm->event(c->ctx) : NULL;
}

static bool no_cm_event(struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_scene_cm_event *ev = next_cm_event(c);

	if (!ev)
		return true;
	fail_time(c, l, "the program learns what no line expects, ", ev->at);
	rn_describe_cm_event(ev, c->r->came, sizeof(c->r->came));
	return false;
}

/* Returns true if lines have accounted for all packets, completions and events that have
 * come from the device so far. Otherwise sets the error text for @l, the next line.
 */
static bool nothing_left(struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_scene_packet *p = rn_repeats_skip(&c->repeats, c->ops, c->ctx);
	const struct rn_scene_event *event = c->ops->event(c->ctx);
	const struct rn_scene_wc *wc = c->ops->wc(c->ctx, 0);

	if (p) {
		fail_time(c, l, "a packet left that no line expects, ", p->at);
		rn_describe_received(p, c->r->came, sizeof(c->r->came));
		return false;
	}
	if (!wc)
		wc = c->ops->wc(c->ctx, 1);
	if (wc) {
		fail_time(c, l, "a completion came that no line expects, ", wc->at);
		rn_describe_wc(wc, c->r->came, sizeof(c->r->came));
		return false;
	}
	if (c->ops->comp(c->ctx, 0) || c->ops->comp(c->ctx, 1))
		return fail(c, l, "a completion event came that no line expects");
	if (event) {
		fail(c, l, "an event was raised that no line expects");
		came_instead(c, rn_scn_word_of(rn_scn_events, event->event));
		return false;
	}
	return no_cm_event(c, l);
}

static bool pass_time(struct rn_scene *c, const struct rn_scn_line *l, rn_ns until)
{
	rn_ns longest = c->ops->longest ? c->ops->longest(c->ctx, l) : RN_NEVER;

	if (until - c->at > longest)
		until = c->at + longest;
	if (!nothing_left(c, l))
		return false;
	do {
		c->ops->run(c->ctx, until);
		if (!nothing_left(c, l))
			return false;
	} while (c->ops->now(c->ctx) < until);
	c->at = c->ops->slack ? c->ops->now(c->ctx) : until;
	return true;
}

/* ----------------------------------------------------------- expected packets */
static bool payload_is(struct rn_scene *c, const struct rn_scn_line *l,
		       const uint8_t *payload, uint32_t len)
{
	uint8_t memory[RN_MTU_MAX];
	uint8_t mr = l->region[RN_F_DATA];

	return len <= sizeof(memory) && mr != RN_SCN_ABSOLUTE &&
	       c->ops->memory(c->ctx, mr, l->value[RN_F_DATA], memory, len) &&
	       !memcmp(memory, payload, len);
}

/* Returns the address to which the packet of line @l must go. */
static const struct rn_gid *receiver_of(const struct rn_scene *c,
					const struct rn_scn_line *l)
{
	switch (rn_scn_get(l, RN_F_TO, RN_SCN_TO_ONE)) {
	case RN_SCN_TO_GROUP:
		return &c->names.group;
	case RN_SCN_TO_OTHER:
		return &c->names.other;
	default:
		return &c->names.peer;
	}
}

/* Returns the name of the first field in which the packet @came differs from @want, or
 * NULL if there is none.
 */
static const char *difference(const struct rn_scn_line *want,
			      const struct rn_scn_line *came)
{
	for (unsigned i = 0; i < RN_F_COUNT; i++) {
		bool flag = rn_scn_fields[i].form == RN_SCN_FLAG;

		if (want->given & RN_F_BIT(i) && (came->value[i] != want->value[i] ||
						  !(flag || came->given & RN_F_BIT(i))))
			return rn_scn_fields[i].name;
	}
	return NULL;
}

/* For some packets the specification allows two values of the MSN. In real time, returns
 * true if the packet has the second one. In virtual time the device is Rocin's transport,
 * which always sends the first one.
 */
static bool is_other_msn(const struct rn_scene *c, const struct rn_scn_line *l,
			 const struct rn_scn_line *came)
{
	return c->ops->slack && rn_scn_has(l, RN_F_OR_MSN) &&
	       came->value[RN_F_MSN] == l->value[RN_F_OR_MSN];
}

static void compare_packet(struct rn_scene *c, const struct rn_scn_line *l,
			   const struct rn_scn_line *want,
			   const struct rn_scene_packet *p, struct rn_text *t)
{
	const uint8_t *payload = NULL;
	struct rn_scn_line came;
	const char *field;

	if (rn_scene_decode(p, &came, &payload)) {
		rn_text_add(t, "the packet is not well formed");
		return;
	}
	if (is_other_msn(c, l, &came))
		came.value[RN_F_MSN] = want->value[RN_F_MSN];
	field = difference(want, &came);
	if (came.opcode != want->opcode) {
		rn_text_add(t, "another opcode");
	} else if (field) {
		rn_text_add(t, field);
		rn_text_add(t, " is not as expected");
	} else if (memcmp(&p->flow.dst, receiver_of(c, l), sizeof(p->flow.dst)) != 0) {
		rn_text_add(t, "it went to another address");
	} else if (rn_scn_has(l, RN_F_DATA) &&
		   !payload_is(c, l, payload, (uint32_t)came.value[RN_F_LEN])) {
		rn_text_add(t, "the payload is not what the memory holds");
	}
}

/* Returns a text that describes the first difference between a CM message and the
 * expected one, or NULL if there is none.
 */
static const char *wrong_about_mad(const struct rn_scene *c, const struct rn_scn_line *l,
				   const struct rn_scn_line *want,
				   const struct rn_scene_packet *p, struct rn_text *t)
{
	unsigned kind = l->opcode - RN_CM_REQ;
	struct rn_scn_line came;
	const uint8_t *mad = rn_scene_mad_decode(&c->names, p, &came);
	const char *field;

	if (!mad)
		return "it is no CM message";
	if (came.opcode != l->opcode)
		return "another message";
	field = difference(want, &came);
	if (field) {
		rn_text_add(t, field);
		return " is not as expected";
	}
	if (memcmp(&p->flow.dst, receiver_of(c, l), sizeof(p->flow.dst)) != 0)
		return "it went to another address";
	if (rn_scn_has(l, RN_F_AGAIN) &&
	    memcmp(mad, c->conn[l->subject].last[1][kind], RN_MAD_LEN) != 0)
		return "it is not the same message again";
	return NULL;
}

static bool same_mad(struct rn_scene *c, const struct rn_scn_line *l,
		     const struct rn_scene_packet *p)
{
	struct rn_scn_line want = rn_scene_mad_wanted(&c->conn[l->subject], l);
	const char *wrong;
	struct rn_text t;

	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	wrong = wrong_about_mad(c, l, &want, p, &t);
	if (!wrong)
		return true;
	rn_text_add(&t, wrong);
	c->r->line = l->number;
	rn_describe_mad(&want, want.given, c->r->expected, sizeof(c->r->expected));
	rn_describe_received(p, c->r->came, sizeof(c->r->came));
	return false;
}

static void note_mad(struct rn_scene *c, const struct rn_scn_line *l,
		     const struct rn_scene_packet *p)
{
	struct rn_scn_line came;
	const uint8_t *mad = rn_scene_mad_decode(&c->names, p, &came);

	rn_scene_mad_note(&c->conn[l->subject], &came, mad);
}

/* Returns true if the packet is as the line says. Otherwise sets the error text. */
static bool same_packet(struct rn_scene *c, const struct rn_scn_line *l,
			const struct rn_scene_packet *p)
{
	struct rn_scn_line want;
	struct rn_text t;

	if (l->verb == RN_SCN_MAD_OUT)
		return same_mad(c, l, p);
	want = rn_scene_wanted(&c->names, l);
	rn_text_init(&t, c->r->what, sizeof(c->r->what));
	compare_packet(c, l, &want, p, &t);
	if (!t.used)
		return true;
	c->r->line = l->number;
	rn_describe_packet(&want, want.given, c->r->expected, sizeof(c->r->expected));
	rn_describe_received(p, c->r->came, sizeof(c->r->came));
	return false;
}

/* Waits for a packet. Returns false if none has come by @until. */
static bool wait_packet(struct rn_scene *c, rn_ns until)
{
	while (!c->ops->packet(c->ctx) && c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	return c->ops->packet(c->ctx);
}

static bool expect_packet(struct rn_scene *c, const struct rn_scn_line *l)
{
	bool optional = rn_scn_has(l, RN_F_OPTIONAL);
	rn_ns to = time_of(c, l, &l->to);
	struct rn_scene_result before = *c->r;

	while (wait_packet(c,
			   optional ? to + c->ops->slack / 16 : patience_until(c, to))) {
		const struct rn_scene_packet *p = c->ops->packet(c->ctx);

		if (same_packet(c, l, p) && is_in_time(c, l, p->at)) {
			if (l->verb == RN_SCN_MAD_OUT)
				note_mad(c, l, p);
			rn_repeats_note(&c->repeats, p);
			c->ops->drop_packet(c->ctx);
			return true;
		}
		if (!optional && rn_repeats_skip(&c->repeats, c->ops, c->ctx) == p)
			return false;
		*c->r = before;
		if (optional)
			return true;
	}
	if (optional)
		return true;
	if (l->verb == RN_SCN_MAD_OUT)
		rn_describe_mad(l, l->given, c->r->expected, sizeof(c->r->expected));
	else
		rn_describe_packet(l, l->given, c->r->expected, sizeof(c->r->expected));
	return fail(c, l, "nothing left");
}

/* ---------------------------------------------------- completions and events */
static const struct rn_scene_wc *next_wc(struct rn_scene *c, const struct rn_scn_line *l,
					 unsigned *queue)
{
	const struct rn_scene_wc *wc = NULL;

	/* Looks at the first completion of either queue; if one of them has the wr_id
	 * that the line names, returns that.
	 */
	for (*queue = 0; *queue < 2; ++*queue) {
		wc = c->ops->wc(c->ctx, *queue);
		if (wc && wc->wr_id == rn_scn_get(l, RN_F_WR, wc->wr_id))
			return wc;
	}
	*queue = wc ? 1 : 0;
	return wc ? wc : c->ops->wc(c->ctx, 0);
}

static const char *wrong_about_wc(const struct rn_scene *c, const struct rn_scn_line *l,
				  const struct rn_scene_wc *wc)
{
	if (wc->wr_id != rn_scn_get(l, RN_F_WR, wc->wr_id))
		return "a completion of another request";
	if (wc->status != rn_scn_get(l, RN_F_STATUS, RN_WC_SUCCESS))
		return "another status";
	if (wc->qpn != c->names.qpn[l->subject])
		return "a completion of another queue pair";
	if (wc->byte_len != rn_scn_get(l, RN_F_LEN, wc->byte_len))
		return "another length";
	if (rn_scn_has(l, RN_F_IMM) &&
	    (!(wc->flags & RN_WC_WITH_IMM) || wc->imm != l->value[RN_F_IMM]))
		return "another immediate, or none";
	if (rn_scn_has(l, RN_F_RKEY_NUMBER) &&
	    (!(wc->flags & RN_WC_WITH_INV) ||
	     wc->imm != rn_scene_value(&c->names, l, RN_F_RKEY_NUMBER)))
		return "another key was invalidated, or none";
	if (wc->src_qpn != rn_scn_get(l, RN_F_SRC, wc->src_qpn))
		return "another source";
	return NULL;
}

static bool expect_wc(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = patience_until(c, time_of(c, l, &l->to));
	const struct rn_scene_wc *wc;
	const char *wrong;
	unsigned queue;

	/* In real time, of two completions that one packet causes, either may come first
	 * if they are in different queues.
	 */
	while ((!(wc = next_wc(c, l, &queue)) ||
		(c->ops->slack && wrong_about_wc(c, l, wc))) &&
	       c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	if (!wc)
		return fail(c, l, "no completion came");
	wrong = wrong_about_wc(c, l, wc);
	if (wrong) {
		rn_describe_wc(wc, c->r->came, sizeof(c->r->came));
		return fail(c, l, wrong);
	}
	if (!is_in_time(c, l, wc->at))
		return false;
	c->ops->drop_wc(c->ctx, queue);
	return true;
}

static bool expect_event(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = patience_until(c, time_of(c, l, &l->to));
	const struct rn_scene_event *event;
	uint32_t qpn;

	while (!(event = c->ops->event(c->ctx)) && c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	if (!event)
		return fail(c, l, "no event was raised");
	qpn = l->of_srq			   ? c->names.srqn[l->subject]
	      : l->name == RN_EVENT_CQ_ERR ? 0
					   : c->names.qpn[l->subject];
	if (event->event != l->name || event->qpn != qpn) {
		came_instead(c, rn_scn_word_of(rn_scn_events, event->event));
		return fail(c, l, "another event");
	}
	if (!is_in_time(c, l, event->at))
		return false;
	c->ops->drop_event(c->ctx);
	return true;
}

/* -------------------------------------------------------------------- CM events */
/* Returns true if the event is about the connection of line @l. A new connection request
 * has no index yet, so it is recognised by the communication ID of the peer.
 */
static bool is_about(const struct rn_scene *c, const struct rn_scene_cm_event *ev,
		     const struct rn_scn_line *l)
{
	if (ev->type == RN_CM_EV_REQ || ev->type == RN_CM_EV_SIDR_REQ)
		return !ev->remote_id ||
		       ev->remote_id == rn_scene_peer_id(c->names.run, l->subject);
	return ev->conn == l->subject;
}

static const char *wrong_about_cm_event(const struct rn_scene *c,
					const struct rn_scn_line *l,
					const struct rn_scene_cm_event *ev)
{
	int status = rn_scn_has(l, RN_F_TIMED_OUT)
			     ? -ETIMEDOUT
			     : (int)rn_scn_get(l, RN_F_CM_STATUS, 0);
	bool has_header = (l->name == RN_CM_EV_REQ || l->name == RN_CM_EV_SIDR_REQ) &&
			  rn_cm_service_is_ip(rn_scene_service(&c->s->conn[l->subject]));
	uint32_t skip = has_header ? RN_CM_IP_HDR_LEN : 0;
	uint64_t letters =
		ev->data_len > skip + sizeof(uint64_t)
			? rn_scene_letters_of(ev->data + skip, ev->data_len - skip)
			: 0;

	if (ev->type != l->name)
		return "another event";
	if (!is_about(c, ev, l))
		return "an event of another connection";
	if (ev->status != status)
		return "another status";
	if (!ev->hides_data && letters != rn_scn_get(l, RN_F_PRIVATE, 0))
		return "other private data";
	if (!ev->hides_ari && ev->ari_len != rn_scn_get(l, RN_F_ARI, ev->ari_len))
		return "more or less additional information";
	return NULL;
}

static bool expect_cm_event(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = patience_until(c, time_of(c, l, &l->to));
	const struct rn_scene_cm_event *ev;
	const char *wrong;

	while (!(ev = next_cm_event(c)) && c->ops->now(c->ctx) < until)
		c->ops->run(c->ctx, until);
	if (!ev)
		return fail(c, l, "the program learns of nothing");
	wrong = wrong_about_cm_event(c, l, ev);
	if (wrong) {
		rn_describe_cm_event(ev, c->r->came, sizeof(c->r->came));
		return fail(c, l, wrong);
	}
	if (!is_in_time(c, l, ev->at))
		return false;
	c->ops->cm->take_event(c->ctx, l->subject);
	return true;
}

/* ------------------------------------------------- checks of the device's state */
static bool check_qp(struct rn_scene *c, const struct rn_scn_line *l)
{
	struct rn_qp_attr attr;

	c->ops->query(c->ctx, l->subject, &attr);
	if (attr.state != rn_scn_get(l, RN_F_STATE, attr.state)) {
		came_instead(c, rn_scn_word_of(rn_scn_states, attr.state));
		return fail(c, l, "another state");
	}
	if (attr.mig_state != rn_scn_get(l, RN_F_MIG, attr.mig_state))
		return fail_number(c, l, "the state of path migration is ",
				   attr.mig_state);
	if (attr.rq_psn != rn_scn_get(l, RN_F_EPSN, attr.rq_psn))
		return fail_number(c, l, "the PSN expected is ", attr.rq_psn);
	if (attr.sq_psn != rn_scn_get(l, RN_F_PSN, attr.sq_psn))
		return fail_number(c, l, "the next PSN is ", attr.sq_psn);
	return true;
}

static bool expect_comp(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = patience_until(c, time_of(c, l, &l->to));

	while (!c->ops->comp(c->ctx, l->subject)) {
		if (c->ops->now(c->ctx) >= until)
			return fail(c, l, "no completion event came");
		c->ops->run(c->ctx, until);
	}
	return is_in_time(c, l, c->ops->now(c->ctx));
}

/* Sets the error text for line @l: byte @at of the memory that the line is about has the
 * value @came, and not @want. Returns false.
 */
static bool fail_byte(struct rn_scene *c, const struct rn_scn_line *l, uint32_t at,
		      uint8_t want, uint8_t came)
{
	struct rn_text t;

	rn_text_init(&t, c->r->expected, sizeof(c->r->expected));
	rn_text_hex(&t, want);
	rn_text_init(&t, c->r->came, sizeof(c->r->came));
	rn_text_hex(&t, came);
	return fail_number(c, l, "the memory differs from byte ", at);
}

static bool check_memory(struct rn_scene *c, const struct rn_scn_line *l)
{
	uint32_t len = (uint32_t)rn_scn_get(l, RN_F_LEN, sizeof(uint64_t));
	uint8_t buf[256];

	for (uint32_t done = 0, part; done < len; done += part) {
		part = len - done < sizeof(buf) ? len - done : (uint32_t)sizeof(buf);
		if (!c->ops->memory(c->ctx, l->region[RN_F_AT], l->value[RN_F_AT] + done,
				    buf, part))
			return fail(c, l, "that is not in the region");
		for (uint32_t i = 0; i < part; i++) {
			uint8_t want = rn_scene_content(&c->names, l, done + i);

			if (buf[i] != want)
				return fail_byte(c, l, done + i, want, buf[i]);
		}
	}
	return true;
}

static bool check_counter(struct rn_scene *c, const struct rn_scn_line *l)
{
	uint64_t value;

	if (!c->ops->counter(c->ctx, (enum rn_stat)l->name, &value) ||
	    value == rn_scn_get(l, RN_F_BY, 1))
		return true;
	return fail_number(c, l, "the counter is ", value);
}

static bool check_cm_state(struct rn_scene *c, const struct rn_scn_line *l,
			   const struct rn_cm_info *info)
{
	if (info->state == l->name)
		return true;
	came_instead(c, rn_scn_word_of(rn_scn_cm_states, info->state));
	return fail(c, l, "another state");
}

static bool check_cm_info(struct rn_scene *c, const struct rn_scn_line *l,
			  const struct rn_cm_info *info)
{
	const struct rn_cm_qp *qp = &info->qp;
	const struct {
		enum rn_scn_field field;
		uint64_t value;
	} values[] = {
		{ RN_F_DEST, qp->dest_qpn },
		{ RN_F_EPSN, qp->rq_psn },
		{ RN_F_PSN, qp->sq_psn },
		{ RN_F_MTU, qp->path_mtu },
		{ RN_F_RD, qp->max_rd_atomic },
		{ RN_F_DEST_RD, qp->max_dest_rd_atomic },
		{ RN_F_TIMEOUT, qp->timeout },
		{ RN_F_RETRY, qp->retry_cnt },
		{ RN_F_RNR_RETRY, qp->rnr_retry },
		{ RN_F_QKEY, qp->qkey },
	};

	for (size_t i = 0; i < RN_ARRAY_SIZE(values); i++) {
		if (values[i].value == rn_scn_get(l, values[i].field, values[i].value))
			continue;
		came_instead(c, rn_scn_fields[values[i].field].name);
		return fail_number(c, l, "the queue pair is told ", values[i].value);
	}
	return true;
}

static bool check_connection(struct rn_scene *c, const struct rn_scn_line *l)
{
	const struct rn_cm_info *info;
	uint64_t value;

	if (l->verb == RN_SCN_CM_COUNT) {
		if (!c->ops->cm || !c->ops->cm->counter ||
		    !c->ops->cm->counter(c->ctx, (enum rn_cm_stat)l->name, &value) ||
		    value == rn_scn_get(l, RN_F_BY, 1))
			return true;
		return fail_number(c, l, "the counter is ", value);
	}
	if (l->verb == RN_SCN_CM_STATE && c->ops->cm->hides_state)
		return true;
	info = c->ops->cm->info(c->ctx, l->subject);
	if (!info)
		return fail(c, l, "there is no such connection");
	return l->verb == RN_SCN_CM_STATE ? check_cm_state(c, l, info)
					  : check_cm_info(c, l, info);
}

/* ------------------------------------------------------ execution of the lines */
static bool call(struct rn_scene *c, const struct rn_scn_line *l)
{
	int rc = c->ops->call(c->ctx, l);

	if (-rc == (int)rn_scn_get(l, RN_F_ERROR, 0))
		return true;
	return rc ? fail_number(c, l, "the call failed with errno ", (uint64_t)-rc)
		  : fail(c, l, "the call succeeded");
}

/* Makes the check of line @l, which is about the present state of the device. In real
 * time, repeats it for a short time until it succeeds.
 */
static bool look(struct rn_scene *c, const struct rn_scn_line *l)
{
	rn_ns until = patience_until(c, c->at);
	struct rn_scene_result before = *c->r;
	bool good;

	do {
		*c->r = before;
		good = l->verb == RN_SCN_CHECK	  ? check_memory(c, l)
		       : l->verb == RN_SCN_COUNT  ? check_counter(c, l)
		       : l->verb >= RN_SCN_MAD_IN ? check_connection(c, l)
						  : check_qp(c, l);
		if (!good && c->ops->slack)
			c->ops->run(c->ctx, c->ops->now(c->ctx) + RN_MSEC(LOOK_MS));
	} while (!good && c->ops->now(c->ctx) < until);
	return good;
}

static bool is_look(enum rn_scn_verb verb)
{
	return (verb >= RN_SCN_STATE && verb <= RN_SCN_COUNT) ||
	       (verb >= RN_SCN_CM_STATE && verb <= RN_SCN_CM_COUNT);
}

static bool do_line(struct rn_scene *c, const struct rn_scn_line *l)
{
	struct rn_scene_packet packet;

	if (l->verb == RN_SCN_PACKET || l->verb == RN_SCN_MAD_OUT)
		return expect_packet(c, l);
	if (l->verb == RN_SCN_WC)
		return expect_wc(c, l);
	if (l->verb == RN_SCN_EVENT)
		return expect_event(c, l);
	if (l->verb == RN_SCN_COMP)
		return expect_comp(c, l);
	if (l->verb == RN_SCN_CM_EVENT)
		return expect_cm_event(c, l);
	if (is_look(l->verb))
		c->at = time_of(c, l, &l->from);
	else if (!pass_time(c, l, time_of(c, l, &l->from)))
		return false;
	if (rn_scn_is_call(l->verb))
		return call(c, l);
	if (is_look(l->verb))
		return look(c, l);
	switch ((int)l->verb) {
	case RN_SCN_INJECT:
		rn_scene_encode(&c->names, l, &packet);
		c->ops->inject(c->ctx, &packet);
		return true;
	case RN_SCN_MAD_IN:
		rn_scene_mad_encode(&c->names, &c->s->conn[l->subject],
				    &c->conn[l->subject], l, &packet);
		c->ops->inject(c->ctx, &packet);
		return true;
	case RN_SCN_END:
		return !rn_scn_has(l, RN_F_FOR_GOOD) ||
		       pass_time(c, l, c->at + (rn_ns)FOR_GOOD_S * 1000000000);
	default:
		return true;
	}
}

/* Called at the end of a scenario. If the device was lost meanwhile, the scenario fails.
 * @has_failed: the scenario has failed already; then the loss is added to its error text.
 */
static void fail_if_lost(struct rn_scene *c, uint32_t line, bool has_failed)
{
	struct rn_scene_result *r = c->r;
	char what[sizeof(r->what)], before[sizeof(r->what)];
	struct rn_text t;

	if (!c->ops->lost || !c->ops->lost(c->ctx, what, sizeof(what)))
		return;
	r->line = r->line ? r->line : line;
	r->passed = r->skipped = false;
	r->lost = true;
	say(before, sizeof(before), has_failed ? r->what : "");
	rn_text_init(&t, r->what, sizeof(r->what));
	rn_text_add(&t, what);
	if (!has_failed)
		return;
	rn_text_add(&t, "; before that ");
	rn_text_add(&t, before);
}

void rn_scene_run(const struct rn_scenario *s, const struct rn_scene_ops *ops, void *ctx,
		  struct rn_scene_result *result)
{
	struct rn_scene c = { .s = s, .ops = ops, .ctx = ctx, .r = result };
	uint32_t last = s->lines ? s->line[s->lines - 1].number : 1;

	memset(result, 0, sizeof(*result));
	if (ops->skips && ops->skips(ctx, s, result->what, sizeof(result->what))) {
		result->skipped = true;
		fail_if_lost(&c, 1, false);
		return;
	}
	if (ops->begin(ctx, s, &c.names, result->what, sizeof(result->what))) {
		result->line = 1;
		fail_if_lost(&c, 1, false);
		return;
	}
	c.at = ops->now(ctx);
	for (unsigned i = 0; i < RN_SCN_CONNS; i++)
		c.conn[i].run = c.names.run;
	result->passed = true;
	for (unsigned i = 0; i < s->lines && result->passed; i++)
		result->passed = do_line(&c, &s->line[i]);
	fail_if_lost(&c, last, false);
	ops->end(ctx);
	fail_if_lost(&c, last, !result->passed);
}
