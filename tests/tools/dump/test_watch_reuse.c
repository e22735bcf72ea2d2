/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_reuse.c - nobody is accused where queue pair numbers are used again.
 *
 * Two hosts have a handful of queue pair numbers, and make connections of them and end
 * them, many times: at rest, or with requests that nobody has answered; with random PSNs,
 * or with the same each time; or, at rest and without loss alone, with some of those
 * just before. Both ends keep all rules of the transport. Packets may be lost behind the
 * listener, which sees each that leaves; or, with random PSNs alone, before it, which
 * then sees gaps, packets twice and packets that others have overtaken. With PSNs that
 * were used before nobody could tell the second packet of a connection from a packet of
 * the one before it.
 */
#include "talk.h"

enum {
	QPNS = 4, /* of each host */
	CONNECTIONS = 3,
	PACKETS = 24, /* that a requester sends at most */
	WINDOW = 6,
	ROUNDS = 4000,
	SEEDS = 40,
};

enum start {
	START_RANDOM,
	START_SAME,
	START_NEAR,
};

/* Loss in percent. */
struct faults {
	unsigned
		before; /* the listener, which misses them; as many come twice, or late */
	unsigned behind; /* it */
};

/* A packet: the request it is, or answers; of a READ response its place in the READ. */
struct flying {
	struct step s;
	unsigned i;
	uint32_t k;
};

/* READ responses under way: from packet @from of the READ on, @k is the next. */
struct stream {
	bool is_open;
	unsigned i;
	uint32_t from, k;
};

/* Requests of one end, and what the other makes of them. */
struct half {
	struct step step[PACKETS];
	uint32_t span[PACKETS]; /* PSNs */
	uint32_t messages[PACKETS];
	unsigned count, sent, una;   /* the requester's */
	uint32_t got;		     /* packets of the READ that is @una */
	unsigned expected, answered; /* the responder's: behind the last */
	uint32_t answer_from;	     /* packet of the READ that is @answered */
	bool has_refused, wants_refusal;
	struct stream stream;
	bool holds[2]; /* 0: a request, 1: a response */
	struct flying held[2];
};

struct connection {
	bool is_used;
	unsigned place[2]; /* in the numbers of each host */
	uint32_t mtu;
	struct half half[2]; /* 0: A asks */
};

struct world {
	struct talk talk;
	uint64_t dice;
	enum start start;
	struct faults faults;
	bool is_busy[2][QPNS];
	uint32_t last_psn[2][QPNS];
	struct connection c[CONNECTIONS];
	unsigned made, heard, judged;
	unsigned seed;
};

static uint32_t draw(struct world *w, uint32_t below)
{
	w->dice ^= w->dice >> 12;
	w->dice ^= w->dice << 25;
	w->dice ^= w->dice >> 27;
	return (uint32_t)((w->dice * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static uint32_t qpn_of(unsigned host, unsigned place)
{
	return (host ? 0x200 : 0x100) + place;
}

/* ---- Connections ---- */

/* Messages until no more fit; addresses and keys are those of this connection. */
static void plan(struct world *w, struct half *h, uint32_t psn, uint32_t mtu)
{
	uint32_t rkey = draw(w, 1000), most = 1 + draw(w, PACKETS - 4), messages = 0;

	while (h->count < most) {
		struct step s = { .psn = psn & 0xffffff, .rkey = rkey, .va = 4096 };
		uint32_t packets = 1, span = 1, kind = draw(w, 5);

		switch (kind) {
		case 0:
			s.op = RN_RC_SEND_ONLY;
			s.len = 8 * draw(w, 3);
			break;
		case 1:
			s.op = RN_RC_WRITE_ONLY;
			s.len = s.dma_len = 8 * draw(w, 3);
			break;
		case 2:
			s.op = RN_RC_READ_REQUEST;
			span = 1 + draw(w, 4);
			s.dma_len = mtu * span - draw(w, 8);
			break;
		case 3:
			s.op = RN_RC_FETCH_ADD;
			s.swap_add = draw(w, 2);
			break;
		default:
			s.op = RN_RC_WRITE_FIRST;
			packets = 2 + draw(w, 3);
			s.len = mtu;
			s.dma_len = mtu * (packets - 1) + 8;
			break;
		}
		messages++;
		for (uint32_t i = 0; i < packets; i++) {
			if (i > 0)
				s.op = i + 1 < packets ? RN_RC_WRITE_MIDDLE
						       : RN_RC_WRITE_LAST;
			if (i > 0 && i + 1 == packets)
				s.len = 8;
			s.psn = psn & 0xffffff;
			h->span[h->count] = span;
			h->messages[h->count] = messages - (i + 1 < packets);
			h->step[h->count++] = s;
			psn += span;
		}
	}
}

static uint32_t first_psn(struct world *w, unsigned host, unsigned place)
{
	if (w->start == START_SAME)
		return 0;
	if (w->start == START_NEAR)
		return w->last_psn[host][place] - draw(w, 40);
	return draw(w, 0x1000000);
}

static unsigned take_place(struct world *w, unsigned host)
{
	unsigned place = draw(w, QPNS);

	while (w->is_busy[host][place])
		place = (place + 1) % QPNS;
	w->is_busy[host][place] = true;
	return place;
}

static void make(struct world *w, struct connection *c)
{
	*c = (struct connection){ .is_used = true, .mtu = 256u << draw(w, 3) };
	w->made++;
	for (unsigned host = 0; host < 2; host++)
		c->place[host] = take_place(w, host);
	for (unsigned i = 0; i < 2; i++) {
		uint32_t psn = first_psn(w, !i, c->place[!i]);

		if (i == 0 || draw(w, 2))
			plan(w, &c->half[i], psn, c->mtu);
	}
}

static void end(struct world *w, struct connection *c)
{
	for (unsigned host = 0; host < 2; host++)
		w->is_busy[host][c->place[host]] = false;
	c->is_used = false;
}

/* ---- Packets ---- */

static bool happens(struct world *w, unsigned percent)
{
	return percent && draw(w, 100) < percent;
}

/* What does not break a rule may still be suspect where the listener misses packets. */
static void judge(struct world *w, const struct step *s, const struct rn_watch_verdict *r)
{
	for (unsigned i = 0; i < r->findings; i++) {
		const struct rn_watch_rule_info *rule =
			&rn_watch_rule_info[r->finding[i].rule];

		if (w->faults.before && rule->level != RN_WATCH_VIOLATION)
			continue;
		fail_msg("seed %u: %s of PSN %u to 0x%x: %s: %s", w->seed,
			 rn_opcode_info[s->op].name, s->psn, s->qpn, rule->name,
			 r->finding[i].detail);
	}
	w->heard++;
	if (r->is_response && r->half != RN_WATCH_NONE)
		w->judged++;
}

static void arrive(struct half *h, const struct flying *f);
static void hear(struct half *h, const struct flying *f);

/* It passes the listener. */
static void pass(struct world *w, struct half *h, const struct flying *f)
{
	judge(w, &f->s, talk_step(&w->talk, &f->s));
	if (happens(w, w->faults.behind))
		return;
	if (rn_opcode_info[f->s.op].flags & RN_OP_RESPONSE)
		arrive(h, f);
	else
		hear(h, f);
}

/* Faults ahead of the listener. What is held leaves behind the next of its direction. */
static void send(struct world *w, const struct connection *c, unsigned from,
		 struct half *h, struct flying f)
{
	bool is_response = (rn_opcode_info[f.s.op].flags & RN_OP_RESPONSE) != 0;
	unsigned percent = w->faults.before;

	f.s.is_from_a = is_response && from == 0;
	f.s.is_from_b = !is_response && from == 1;
	f.s.qpn = qpn_of(!from, c->place[!from]);
	if (!is_response)
		w->last_psn[!from][c->place[!from]] = f.s.psn;
	if (happens(w, percent))
		return;
	if (!h->holds[is_response] && happens(w, percent)) {
		h->holds[is_response] = true;
		h->held[is_response] = f;
		return;
	}
	pass(w, h, &f);
	if (happens(w, percent))
		pass(w, h, &f);
	if (h->holds[is_response]) {
		h->holds[is_response] = false;
		f = h->held[is_response];
		pass(w, h, &f);
	}
}

static bool is_answered(const struct step *s)
{
	return s->op == RN_RC_READ_REQUEST || s->op == RN_RC_FETCH_ADD;
}

/* ---- The requester ---- */

static void next_is(struct half *h, unsigned i)
{
	h->una = i;
	h->got = 0;
	if (h->sent < i)
		h->sent = i;
}

/* The packets of a READ are taken in order. Of those from a gap on the rest is asked
 * for again.
 */
static void arrive_read(struct half *h, const struct flying *f)
{
	if (f->k > h->got)
		h->sent = h->una;
	else if (f->k == h->got && ++h->got == h->span[f->i])
		next_is(h, h->una + 1);
}

/* An answer to request @i reaches the requester. READs and atomics ahead of it that have
 * none are asked for again.
 */
static void arrive(struct half *h, const struct flying *f)
{
	unsigned i = f->i;

	if (f->s.syndrome == TALK_NAK_SEQ) {
		if (i > 0)
			arrive(h, &(struct flying){ .s.op = RN_RC_ACK, .i = i - 1 });
		if (h->una >= i)
			h->sent = i > h->una ? i : h->una;
		return;
	}
	while (h->una < i && !is_answered(&h->step[h->una]))
		next_is(h, h->una + 1);
	if (h->una < i)
		h->sent = h->una;
	else if (h->una == i && h->step[i].op != RN_RC_READ_REQUEST)
		next_is(h, h->una + 1);
	else if (h->una == i && f->s.op != RN_RC_ACK)
		arrive_read(h, f);
}

/* Of a READ only what is missing is asked for. */
static void request(struct world *w, const struct connection *c, unsigned from,
		    struct half *h, unsigned i)
{
	struct flying f = { .s = h->step[i], .i = i };

	if (i == h->una && f.s.op == RN_RC_READ_REQUEST) {
		f.k = h->got;
		f.s.psn = (f.s.psn + f.k) & 0xffffff;
		f.s.va += (uint64_t)f.k * c->mtu;
		f.s.dma_len -= f.k * c->mtu;
	}
	send(w, c, from, h, f);
}

/* ---- The responder ---- */

static void answer_read(struct world *w, const struct connection *c, unsigned from,
			struct half *h)
{
	struct stream *a = &h->stream;
	const struct step *s = &h->step[a->i];
	bool is_first = a->k == a->from, is_last = a->k + 1 == h->span[a->i];
	struct flying f = { .i = a->i, .k = a->k };

	f.s = (struct step){ .psn = (s->psn + a->k) & 0xffffff,
			     .syndrome = TALK_ACK,
			     .msn = h->messages[h->expected - 1] };
	f.s.op = is_first && is_last ? RN_RC_READ_RESPONSE_ONLY
		 : is_first	     ? RN_RC_READ_RESPONSE_FIRST
		 : is_last	     ? RN_RC_READ_RESPONSE_LAST
				     : RN_RC_READ_RESPONSE_MIDDLE;
	f.s.len = is_last ? s->dma_len - a->k * c->mtu : c->mtu;
	a->k++;
	a->is_open = !is_last;
	send(w, c, from, h, f);
}

/* The oldest that is not answered, or the newest of those that only want an ACK. */
static void respond(struct world *w, const struct connection *c, unsigned from,
		    struct half *h)
{
	struct flying f = { .s = { .op = RN_RC_ACK, .syndrome = TALK_ACK } };
	unsigned i = h->answered;

	if (h->stream.is_open) {
		answer_read(w, c, from, h);
		return;
	}
	if (i >= h->expected)
		return;
	if (h->step[i].op == RN_RC_READ_REQUEST) {
		h->stream = (struct stream){ .is_open = true,
					     .i = i,
					     .from = h->answer_from,
					     .k = h->answer_from };
		h->answered = i + 1;
		h->answer_from = 0;
		answer_read(w, c, from, h);
		return;
	}
	if (h->step[i].op == RN_RC_FETCH_ADD) {
		f.s.op = RN_RC_ATOMIC_ACK;
	} else {
		while (i + 1 < h->expected && !is_answered(&h->step[i + 1]))
			i++;
	}
	h->answered = i + 1;
	h->answer_from = 0;
	f.i = i;
	f.s.psn = h->step[i].psn;
	f.s.msn = h->messages[h->expected - 1];
	send(w, c, from, h, f);
}

/* What was asked before is answered first. */
static void refuse(struct world *w, const struct connection *c, unsigned from,
		   struct half *h)
{
	struct flying f = { .s = { .op = RN_RC_ACK,
				   .syndrome = TALK_NAK_SEQ,
				   .psn = h->step[h->expected].psn,
				   .msn = h->expected ? h->messages[h->expected - 1]
						      : 0 },
			    .i = h->expected };

	h->wants_refusal = false;
	while (h->stream.is_open || h->answered < h->expected)
		respond(w, c, from, h);
	send(w, c, from, h, f);
}

/* A request arrives. */
static void hear(struct half *h, const struct flying *f)
{
	if (f->i == h->expected) {
		h->expected++;
		h->has_refused = h->wants_refusal = false;
	} else if (f->i < h->expected) {
		if (f->i > h->answered)
			return;
		h->answered = f->i;
		h->answer_from = f->k;
	} else if (!h->has_refused) {
		h->has_refused = h->wants_refusal = true;
	}
}

/* ---- Both ---- */

static void act(struct world *w, struct connection *c, unsigned i)
{
	bool has_loss = w->faults.before || w->faults.behind;
	struct half *h = &c->half[i];

	if (h->wants_refusal) {
		refuse(w, c, !i, h);
		return;
	}
	switch (draw(w, 12)) {
	case 0:
		/* A timeout: everything again. */
		if (has_loss && draw(w, 4) == 0)
			h->sent = h->una;
		break;
	case 1:
	case 2:
	case 3:
	case 4:
		respond(w, c, !i, h);
		break;
	default:
		if (h->sent == h->count || h->sent - h->una >= WINDOW)
			break;
		h->sent++;
		request(w, c, i, h, h->sent - 1);
		break;
	}
}

static bool is_done(const struct connection *c)
{
	return c->half[0].una == c->half[0].count && c->half[1].una == c->half[1].count;
}

static void run(unsigned seed, enum start start, struct faults faults, unsigned *judged)
{
	struct world w = { .talk = talk_new(false),
			   .dice = 0x9e3779b97f4a7c15ull * (seed + 1),
			   .start = start,
			   .faults = faults,
			   .seed = seed };

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct connection *c = &w.c[draw(&w, CONNECTIONS)];

		if (!c->is_used)
			make(&w, c);
		else if (is_done(c) || (start != START_NEAR && draw(&w, 200) == 0))
			end(&w, c);
		else
			act(&w, c, draw(&w, 2));
	}
	assert_true(w.made > 20 && w.heard > ROUNDS / 4);
	*judged += w.judged * 100 / w.heard;
	talk_end(&w.talk);
}

static void nobody_is_accused(enum start start, struct faults faults, unsigned least)
{
	unsigned judged = 0;

	for (unsigned seed = 0; seed < SEEDS; seed++)
		run(seed, start, faults, &judged);
	print_message("%u %% of the packets are responses whose request is known\n",
		      judged / SEEDS);
	assert_true(judged / SEEDS >= least);
}

static const struct faults none, behind = { .behind = 5 }, both = { 3, 3 };

static void with_random_psns(void **state)
{
	(void)state;
	nobody_is_accused(START_RANDOM, none, 20);
	nobody_is_accused(START_RANDOM, behind, 20);
	nobody_is_accused(START_RANDOM, both, 20);
}

static void with_the_same_psns(void **state)
{
	(void)state;
	nobody_is_accused(START_SAME, none, 20);
	nobody_is_accused(START_SAME, behind, 20);
}

static void with_psns_of_just_before(void **state)
{
	(void)state;
	nobody_is_accused(START_NEAR, none, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_random_psns),
		cmocka_unit_test(with_the_same_psns),
		cmocka_unit_test(with_psns_of_just_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
