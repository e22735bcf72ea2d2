/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* test_cm_random.c - two hosts whose programs connect, refuse, think, disconnect and
 * leave as a seed has it, over a wire that loses, doubles and reorders: what each end
 * sees is a life that a connection can have, both agree on what they agreed on, and in
 * the end nothing is left. usage: test_cm_random [FIRST-SEED COUNT]
 */
#include <errno.h>
#include <stdio.h>

#include "cm_kit.h"

enum {
	CONNS = 32,
	ASKED = 14, /* connections of a run */
	FLIGHT = 256,
	LISTENERS = 2,
	SERVICE_RC = 0x01061c06,
	SERVICE_UD = 0x01111c06,
};

#define SECOND ((rn_ns)1000000000)

/* What a program knows of a connection. */
struct life {
	struct rn_cm_conn *conn; /* NULL: free */
	bool active, sidr;
	bool answered; /* accepted, refused, or confirmed */
	unsigned seen; /* events, by bit */
	rn_ns act_at;  /* when the program does something; RN_NEVER: it waits */
};

struct host {
	struct end *end;
	struct rn_cm_listener listener[LISTENERS];
	struct life life[CONNS];
	uint32_t qpn;
};

struct flight {
	rn_ns at;
	struct host *to;
	struct rn_cm_tx tx;
};

static struct run {
	struct kit kit;
	struct host host[2];
	struct flight flight[FLIGHT];
	unsigned in_flight;
	unsigned left; /* connections still to be asked for */
	uint32_t loss_ppm, double_ppm;
	uint64_t random;
	uint64_t trace;
	unsigned established, resolved;
} run;

static uint32_t draw(uint32_t below)
{
	uint64_t z = run.random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((z ^ z >> 31) % below);
}

static void note(uint64_t what)
{
	run.trace = (run.trace ^ what) * UINT64_C(0x100000001b3);
}

/* ---- The wire ---- */

static void launch(struct host *to, const struct rn_cm_tx *tx)
{
	unsigned copies = draw(1000000) < run.double_ppm ? 2 : 1;

	for (; copies; copies--) {
		rn_ns delay = draw(8) ? draw(2000000) : 3 * SECOND + draw(2000000);

		if (draw(1000000) < run.loss_ppm || run.in_flight == FLIGHT)
			continue;
		run.flight[run.in_flight++] = (struct flight){
			.at = run.kit.now + delay,
			.to = to,
			.tx = *tx,
		};
	}
}

static void land(unsigned i)
{
	struct flight f = run.flight[i];

	run.flight[i] = run.flight[--run.in_flight];
	note((uint64_t)f.at);
	kit_give(&run.kit, f.to->end, &f.tx);
}

/* ---- Programs ---- */

static struct life *life_of(struct host *h, const struct rn_cm_conn *conn)
{
	for (unsigned i = 0; i < CONNS; i++)
		if (h->life[i].conn == conn)
			return &h->life[i];
	return NULL;
}

static rn_ns think(void)
{
	return run.kit.now + (draw(4) ? draw(1000000) : (rn_ns)draw(15) * SECOND);
}

static void begin(struct host *h, struct rn_cm_conn *conn, bool active, bool sidr)
{
	struct life *l = life_of(h, NULL);

	assert_non_null(l);
	*l = (struct life){
		.conn = conn,
		.active = active,
		.sidr = sidr,
		.act_at = active ? RN_NEVER : think(),
	};
}

static struct rn_cm_offer offer_of(struct host *h)
{
	struct rn_cm_offer offer = kit_offer(h->end, ++h->qpn);

	offer.resp_res = (uint8_t)draw(17);
	offer.init_depth = (uint8_t)draw(17);
	offer.psn = draw(1 << 24);
	return offer;
}

static void ask(struct host *h)
{
	struct host *peer = &run.host[h == run.host];
	struct rn_cm_route route = kit_route(h->end, peer->end);
	struct rn_cm_offer offer = offer_of(h);
	const struct rn_cm_ip_hdr ip = { 1, h->end->gid, peer->end->gid };
	bool sidr = draw(4) == 0;
	uint8_t data[RN_CM_IP_HDR_LEN];
	struct rn_cm_conn *conn;
	int rc;

	rn_cm_ip_hdr_emit(data, &ip);
	offer.data = data;
	offer.data_len = sizeof(data);
	if (sidr)
		rc = rn_cm_sidr_request(h->end->cm, run.kit.now, SERVICE_UD, &route,
					&offer, &conn);
	else
		rc = rn_cm_connect(h->end->cm, run.kit.now, SERVICE_RC, &route, &offer,
				   &conn);
	assert_int_equal(rc, 0);
	begin(h, conn, true, sidr);
}

static void leave(struct host *h, struct life *l)
{
	rn_cm_close(h->end->cm, run.kit.now, l->conn);
	*l = (struct life){ 0 };
}

static void answer(struct host *h, struct life *l)
{
	static const struct rn_cm_no no = { .reason = RN_CM_REJ_CONSUMER };
	struct rn_cm *cm = h->end->cm;
	struct rn_cm_offer offer = offer_of(h);
	bool refuse = draw(6) == 0;

	if (!l->sidr && !draw(4) && rn_cm_mra(cm, l->conn, 21, draw(2)) == 0) {
		l->act_at = think();
		return;
	}
	l->answered = true;
	l->act_at = RN_NEVER;
	if (l->sidr) {
		assert_int_equal(rn_cm_sidr_reply(cm, l->conn, refuse ? 2 : 0, &offer),
				 0);
		l->act_at = think(); /* it has no more to do than to leave */
	} else if (refuse) {
		assert_int_equal(rn_cm_reject(cm, run.kit.now, l->conn, &no), 0);
		l->act_at = think();
	} else if (l->active) {
		assert_int_equal(rn_cm_ready(cm, l->conn, NULL, 0), 0);
		l->act_at = think();
	} else {
		assert_int_equal(rn_cm_accept(cm, run.kit.now, l->conn, &offer), 0);
	}
}

/* It is a program's turn: what can be done depends on the state. */
static void act(struct host *h, struct life *l)
{
	const struct rn_cm_info *info = rn_cm_conn_info(l->conn);
	struct rn_cm_route route = kit_route(h->end, run.host[h == run.host].end);

	note(info->local_id);
	l->act_at = RN_NEVER;
	if (draw(12) == 0) {
		leave(h, l);
		return;
	}
	switch ((unsigned)info->state) {
	case RN_CM_REQ_RCVD:
	case RN_CM_MRA_REQ_SENT:
	case RN_CM_REP_RCVD:
	case RN_CM_MRA_REP_SENT:
	case RN_CM_SIDR_REQ_RCVD:
		answer(h, l);
		return;
	case RN_CM_ESTABLISHED:
		if (draw(3) == 0)
			rn_cm_load_alternate(h->end->cm, run.kit.now, l->conn, &route);
		else
			rn_cm_disconnect(h->end->cm, run.kit.now, l->conn, NULL, 0);
		l->act_at = think();
		return;
	case RN_CM_DREQ_RCVD:
		rn_cm_disconnect(h->end->cm, run.kit.now, l->conn, NULL, 0);
		l->act_at = think();
		return;
	case RN_CM_DREQ_SENT:
	case RN_CM_REP_SENT:
	case RN_CM_MRA_REP_RCVD:
		return; /* an event comes */
	default:
		leave(h, l);
	}
}

/* ---- Events ---- */

/* What an end may see before each event; the rest must not have been seen. */
static void check_order(const struct life *l, enum rn_cm_event_type type)
{
	enum {
		END = 1 << RN_CM_EV_REJECTED | 1 << RN_CM_EV_UNREACHABLE |
		      1 << RN_CM_EV_DISCONNECTED | 1 << RN_CM_EV_TIMEWAIT_EXIT,
		REPEATED = 1 << RN_CM_EV_LAP | 1 << RN_CM_EV_APR,
	};
	unsigned bit = 1u << type;

	assert_true(bit & REPEATED || !(l->seen & bit));
	if (type == RN_CM_EV_TIMEWAIT_EXIT)
		return;
	assert_int_equal(l->seen & (END & ~(1u << RN_CM_EV_DISCONNECTED)), 0);
	if (type == RN_CM_EV_REP || type == RN_CM_EV_SIDR_REP)
		assert_true(l->active);
	if (type == RN_CM_EV_ESTABLISHED)
		assert_true(!l->active && l->answered);
	if (type == RN_CM_EV_DISCONNECTED)
		assert_true(l->answered);
}

/* The other end of a connection that was just confirmed says the same of it. */
static void check_agreement(struct host *h, const struct rn_cm_conn *conn)
{
	const struct rn_cm_info *ours = rn_cm_conn_info(conn);
	struct host *peer = &run.host[h == run.host];

	for (unsigned i = 0; i < CONNS; i++) {
		const struct rn_cm_info *theirs;

		if (!peer->life[i].conn)
			continue;
		theirs = rn_cm_conn_info(peer->life[i].conn);
		if (theirs->local_id != ours->remote_id)
			continue;
		assert_int_equal(theirs->remote_id, ours->local_id);
		assert_int_equal(theirs->qp.rq_psn, ours->qp.sq_psn);
		assert_int_equal(theirs->qp.sq_psn, ours->qp.rq_psn);
		assert_int_equal(theirs->qp.path_mtu, ours->qp.path_mtu);
		assert_true(theirs->qp.max_rd_atomic <= ours->qp.max_dest_rd_atomic);
		run.established++;
	}
}

/* A request that is sent again is no new one, unless it was refused meanwhile. */
static void check_is_new(struct host *h, const struct rn_cm_conn *conn)
{
	uint32_t asked_by = rn_cm_conn_info(conn)->remote_id;

	for (unsigned i = 0; i < CONNS; i++) {
		const struct rn_cm_conn *other = h->life[i].conn;

		if (other && !h->life[i].active && kit_state(other) != RN_CM_IDLE)
			assert_int_not_equal(rn_cm_conn_info(other)->remote_id, asked_by);
	}
}

static void hear(struct host *h, const struct rn_cm_event *ev)
{
	struct life *l = life_of(h, ev->conn);

	note((uint64_t)ev->type);
	if (ev->type == RN_CM_EV_REQ || ev->type == RN_CM_EV_SIDR_REQ) {
		assert_null(l);
		assert_ptr_equal(ev->listener,
				 &h->listener[ev->type == RN_CM_EV_SIDR_REQ]);
		check_is_new(h, ev->conn);
		begin(h, ev->conn, false, ev->type == RN_CM_EV_SIDR_REQ);
		return;
	}
	assert_non_null(l);
	check_order(l, ev->type);
	l->seen |= 1u << ev->type;
	l->act_at = think();
	if (ev->type == RN_CM_EV_ESTABLISHED)
		check_agreement(h, ev->conn);
	if (ev->type == RN_CM_EV_SIDR_REP && ev->status == 0)
		run.resolved++;
	if (ev->type == RN_CM_EV_LAP)
		assert_int_equal(rn_cm_answer_alternate(h->end->cm, ev->conn, 0), 0);
}

static void drain(struct host *h)
{
	struct rn_cm_event ev;
	struct rn_cm_tx tx;

	while (rn_cm_next_event(h->end->cm, &ev))
		hear(h, &ev);
	while (rn_cm_transmit(h->end->cm, &tx))
		launch(&run.host[h == run.host], &tx);
}

/* ---- Runs ---- */

/* Return: when something happens next. */
static rn_ns next_time(void)
{
	rn_ns next = run.left ? run.kit.now + 1 : RN_NEVER;

	for (unsigned i = 0; i < run.in_flight; i++)
		if (run.flight[i].at < next)
			next = run.flight[i].at;
	for (unsigned n = 0; n < 2; n++) {
		rn_ns deadline = rn_cm_deadline(run.host[n].end->cm);

		if (deadline < next)
			next = deadline;
		for (unsigned i = 0; i < CONNS; i++) {
			const struct life *l = &run.host[n].life[i];

			if (l->conn && l->act_at < next)
				next = l->act_at;
		}
	}
	return next;
}

static void step(void)
{
	if (run.left && draw(3) == 0) {
		run.left--;
		ask(&run.host[draw(2)]);
	}
	for (unsigned i = 0; i < run.in_flight;)
		if (run.flight[i].at <= run.kit.now)
			land(i);
		else
			i++;
	for (unsigned n = 0; n < 2; n++) {
		struct host *h = &run.host[n];

		drain(h);
		rn_cm_expire(h->end->cm, run.kit.now);
		drain(h);
		for (unsigned i = 0; i < CONNS; i++)
			if (h->life[i].conn && h->life[i].act_at <= run.kit.now)
				act(h, &h->life[i]);
		drain(h);
	}
}

static void open_run(uint64_t seed)
{
	memset(&run, 0, sizeof(run));
	kit_open(&run.kit, CONNS);
	rn_cm_unlisten(run.kit.b.cm, &run.kit.listener);
	run.random = seed * 7919;
	run.left = ASKED;
	run.loss_ppm = draw(3) ? draw(300000) : 0;
	run.double_ppm = draw(3) ? draw(400000) : 0;
	for (unsigned n = 0; n < 2; n++) {
		struct host *h = &run.host[n];

		h->end = n ? &run.kit.b : &run.kit.a;
		h->qpn = 0x1000;
		rn_cm_listener_ip(&h->listener[0], RN_CM_PS_TCP, KIT_PORT, NULL);
		rn_cm_listener_ip(&h->listener[1], RN_CM_PS_UDP, KIT_PORT, &h->end->gid);
		for (unsigned i = 0; i < LISTENERS; i++)
			assert_int_equal(rn_cm_listen(h->end->cm, &h->listener[i]), 0);
	}
}

/* Return: a number that is the same for the same run. */
static uint64_t run_seed(uint64_t seed)
{
	rn_ns next;

	open_run(seed);
	while ((next = next_time()) != RN_NEVER) {
		assert_true(next < 3600 * SECOND); /* it ends */
		if (next > run.kit.now)
			run.kit.now = next;
		step();
	}
	for (unsigned n = 0; n < 2; n++) {
		for (unsigned i = 0; i < CONNS; i++)
			assert_null(run.host[n].life[i].conn);
		assert_int_equal(rn_cm_conn_count(run.host[n].end->cm), 0);
		assert_int_equal(run.host[n].listener[0].pending_count, 0);
		assert_int_equal(run.host[n].listener[1].pending_count, 0);
	}
	kit_close(&run.kit);
	return run.trace;
}

static uint64_t first = 1;
static unsigned count = 400;

static void random_lives_end_well(void **state)
{
	unsigned established = 0, resolved = 0;

	(void)state;
	for (uint64_t seed = first; seed < first + count; seed++) {
		/* Shown if it fails. */
		print_message("\rseed %lu ", seed);
		run_seed(seed);
		established += run.established;
		resolved += run.resolved;
	}
	print_message("%u established, %u resolved\n", established, resolved);
	/* Not by being so careful that nothing happens. */
	assert_true(established > count);
	assert_true(resolved > count / 2);
}

static void a_seed_is_a_run(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 10; seed++)
		assert_true(run_seed(seed) == run_seed(seed));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lives_end_well),
		cmocka_unit_test(a_seed_is_a_run),
	};

	if (argc == 3) {
		first = strtoull(argv[1], NULL, 10);
		count = (unsigned)strtoul(argv[2], NULL, 10);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
