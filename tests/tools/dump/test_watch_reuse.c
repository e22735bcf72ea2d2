/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_watch_reuse.c - nobody is accused where queue pair numbers are used again.
 *
 * Two hosts have a handful of queue pair numbers, and make connections of them and end
 * them, many times: at rest, or with requests that nobody has answered; with random PSNs,
 * or with the same each time; or, at rest alone, with some of those just before. Both
 * ends keep all rules of the transport. Packets may be lost behind the listener, which
 * sees each that leaves.
 */
#include "talk.h"

enum {
	QPNS = 4, /* of each host */
	CONNECTIONS = 3,
	PACKETS = 24, /* that a requester sends at most */
	WINDOW = 6,
	ROUNDS = 4000,
	SEEDS = 60,
};

enum start {
	START_RANDOM,
	START_SAME,
	START_NEAR,
};

/* Requests of one end, and what the other makes of them. */
struct half {
	struct step step[PACKETS];
	uint32_t span[PACKETS]; /* PSNs */
	uint32_t messages[PACKETS];
	unsigned count, sent, una;   /* the requester's */
	unsigned expected, answered; /* the responder's: behind the last */
	bool has_refused;
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
	unsigned loss; /* percent */
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

static bool is_lost(struct world *w)
{
	return w->loss && draw(w, 100) < w->loss;
}

/* Return: true if it arrives. */
static bool send(struct world *w, const struct connection *c, unsigned from,
		 struct step s)
{
	const struct rn_watch_remark *r;

	s.is_from_b = s.is_from_a = false;
	if (rn_opcode_info[s.op].flags & RN_OP_RESPONSE)
		s.is_from_a = from == 0;
	else
		s.is_from_b = from == 1;
	s.qpn = qpn_of(!from, c->place[!from]);
	if (rn_opcode_info[s.op].flags & RN_OP_REQUEST)
		w->last_psn[!from][c->place[!from]] = s.psn;
	r = talk_step(&w->talk, &s);
	if (r->findings)
		fail_msg("seed %u: %s of PSN %u to 0x%x: %s: %s", w->seed,
			 rn_opcode_info[s.op].name, s.psn, s.qpn,
			 rn_watch_rule_info[r->finding[0].rule].name,
			 r->finding[0].detail);
	w->heard++;
	if (r->is_response && r->half != RN_WATCH_NONE)
		w->judged++;
	return !is_lost(w);
}

static bool is_answered(const struct step *s)
{
	return s->op == RN_RC_READ_REQUEST || s->op == RN_RC_FETCH_ADD;
}

/* An answer to request @i reaches the requester. READs and atomics ahead of it that have
 * none are asked for again.
 */
static void arrive(struct half *h, unsigned i)
{
	while (h->una < i && !is_answered(&h->step[h->una]))
		h->una++;
	if (h->una < i)
		h->sent = h->una;
	else if (h->una == i)
		h->una++;
	if (h->sent < h->una)
		h->sent = h->una;
}

static void answer_read(struct world *w, const struct connection *c, unsigned from,
			struct half *h, unsigned i)
{
	struct step r = { .psn = h->step[i].psn,
			  .syndrome = TALK_ACK,
			  .msn = h->messages[h->expected - 1] };
	uint32_t left = h->step[i].dma_len;
	bool all = true;

	for (uint32_t k = 0; k < h->span[i]; k++) {
		bool is_last = k + 1 == h->span[i];

		r.op = h->span[i] == 1 ? RN_RC_READ_RESPONSE_ONLY
		       : k == 0	       ? RN_RC_READ_RESPONSE_FIRST
		       : is_last       ? RN_RC_READ_RESPONSE_LAST
				       : RN_RC_READ_RESPONSE_MIDDLE;
		r.len = is_last ? left : c->mtu;
		left -= r.len;
		all &= send(w, c, from, r);
		r.psn = (r.psn + 1) & 0xffffff;
	}
	if (all)
		arrive(h, i);
}

/* The oldest that is not answered, or the newest of those that only want an ACK. */
static void respond(struct world *w, const struct connection *c, unsigned from,
		    struct half *h)
{
	struct step r = { .op = RN_RC_ACK, .syndrome = TALK_ACK };
	unsigned i = h->answered;

	if (i >= h->expected)
		return;
	if (h->step[i].op == RN_RC_READ_REQUEST) {
		h->answered = i + 1;
		answer_read(w, c, from, h, i);
		return;
	}
	if (h->step[i].op == RN_RC_FETCH_ADD) {
		r.op = RN_RC_ATOMIC_ACK;
	} else {
		while (i + 1 < h->expected && !is_answered(&h->step[i + 1]))
			i++;
	}
	h->answered = i + 1;
	r.psn = h->step[i].psn;
	r.msn = h->messages[h->expected - 1];
	if (send(w, c, from, r))
		arrive(h, i);
}

static void refuse(struct world *w, const struct connection *c, unsigned from,
		   struct half *h)
{
	struct step r = { .op = RN_RC_ACK,
			  .syndrome = TALK_NAK_SEQ,
			  .psn = h->step[h->expected].psn,
			  .msn = h->expected ? h->messages[h->expected - 1] : 0 };

	/* What was asked before is answered first. */
	while (h->answered < h->expected)
		respond(w, c, from, h);
	h->has_refused = true;
	if (send(w, c, from, r) && h->una >= h->expected)
		h->sent = h->expected;
}

/* A request arrives. */
static void hear(struct world *w, const struct connection *c, unsigned from,
		 struct half *h, unsigned i)
{
	if (i == h->expected) {
		h->expected++;
		h->has_refused = false;
	} else if (i < h->expected) {
		h->answered = i < h->answered ? i : h->answered;
	} else if (!h->has_refused) {
		refuse(w, c, from, h);
	}
}

static void act(struct world *w, struct connection *c, unsigned i)
{
	struct half *h = &c->half[i];

	switch (draw(w, 12)) {
	case 0:
		/* A timeout: everything again. */
		if (w->loss && draw(w, 4) == 0)
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
		if (send(w, c, i, h->step[h->sent - 1]))
			hear(w, c, !i, h, h->sent - 1);
		break;
	}
}

static bool is_done(const struct connection *c)
{
	return c->half[0].una == c->half[0].count && c->half[1].una == c->half[1].count;
}

static void run(unsigned seed, enum start start, unsigned loss, unsigned *judged)
{
	struct world w = { .talk = talk_new(false),
			   .dice = 0x9e3779b97f4a7c15ull * (seed + 1),
			   .start = start,
			   .loss = loss,
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
	assert_true(w.made > 30 && w.heard > ROUNDS / 4);
	*judged += w.judged * 100 / w.heard;
	talk_end(&w.talk);
}

static void nobody_is_accused(enum start start, unsigned loss, unsigned least)
{
	unsigned judged = 0;

	for (unsigned seed = 0; seed < SEEDS; seed++)
		run(seed, start, loss, &judged);
	print_message("%u %% of the packets are responses whose request is known\n",
		      judged / SEEDS);
	assert_true(judged / SEEDS >= least);
}

static void with_random_psns(void **state)
{
	(void)state;
	nobody_is_accused(START_RANDOM, 0, 20);
	nobody_is_accused(START_RANDOM, 5, 20);
}

static void with_the_same_psns(void **state)
{
	(void)state;
	nobody_is_accused(START_SAME, 0, 20);
	nobody_is_accused(START_SAME, 5, 20);
}

static void with_psns_of_just_before(void **state)
{
	(void)state;
	nobody_is_accused(START_NEAR, 0, 20);
	nobody_is_accused(START_NEAR, 5, 20);
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
